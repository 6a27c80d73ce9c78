"""The budget server: one household's envelopes, expenses, income and savings goals, month by month.

    with environment(["budget"]).session(7) as session:
        session.call("list_envelopes", {})

Income is money to assign; an envelope holds what was assigned to it less what was spent from it, and a locked one refuses to
go below zero. A savings goal is filled out of envelopes. Money is never made: what came in is assigned, saved or still free.

Left out: several currencies, and months that close by themselves; close_month does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Amount, Date, Limit, cents, date_of, identifier, money, plain
from tasks.servers.world import World, words

EnvelopeId = identifier("envelope", "env")
ExpenseId = identifier("expense", "exp")
IncomeId = identifier("income", "inc")
GoalId = identifier("savings_goal", "goal")

Group = Literal["needs", "wants", "saving"]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
Shop = Annotated[str, Field(min_length=1, max_length=60, description="Where the money went.")]

ENVELOPES = words(
    """Groceries Rent Utilities Commute Dining Clothing Gifts Health Pets Hobbies Childcare Insurance Phone Internet Repairs
    Books Fitness Beauty Garden Coffee Streaming Games Laundry Parking Fuel Dentist Haircut Stationery Snacks Tools Cleaning
    Furniture Charity School Toys Pharmacy Bakery Butcher Fishmonger Subscriptions"""
)
GOALS = words(
    """Bicycle Camera Piano Kayak Laptop Wedding Holiday Sofa Car Roof Kitchen Boat Telescope Drone Violin Caravan Greenhouse
    Sauna Motorbike Tractor Cottage Tuition Renovation Anniversary Safari Cruise Marathon Workshop Studio Patio Fireplace
    Aquarium Treadmill Solar Heatpump"""
)
SHOPS = words(
    """Alpine Bluebell Corner Daisy Eagle Forest Golden Harbour Island Jubilee Kings Lakeside Market Northern Oak Park Queens
    River Station Tower Union Valley Windmill York Abbey Bridge Castle Dock Elm Fountain Gate Hilltop"""
)
PAYERS = words(
    """Salary Bonus Refund Tutoring Rental Dividend Royalty Pension Stipend Allowance Commission Freelance Interest Prize
    Scholarship Cashback Reimbursement Overtime Grant Translation Babysitting Gardening Coaching Editing Photography Catering"""
)
GROUPS: tuple[Group, ...] = ("needs", "wants", "saving")


@dataclass(frozen=True, slots=True)
class Envelope:
    """`assigned` and `spent` are totals in cents; what is left is their difference."""

    envelope_id: str
    name: str
    group: Group
    assigned: int
    spent: int
    target: int
    locked: bool = False


@dataclass(frozen=True, slots=True)
class Expense:
    expense_id: str
    envelope_id: str
    name: str
    cents: int
    day: str


@dataclass(frozen=True, slots=True)
class Income:
    income_id: str
    name: str
    cents: int
    day: str


@dataclass(frozen=True, slots=True)
class Goal:
    goal_id: str
    name: str
    target: int
    saved: int
    status: Literal["open", "reached", "dropped"] = "open"


@dataclass(frozen=True, slots=True)
class Book:
    """The one row of totals: what came in, and the months that are closed."""

    income: int
    closed: tuple[str, ...] = ()


class EnvelopeShown(TypedDict):
    envelope_id: EnvelopeId
    name: str
    group: Group
    left: float


class EnvelopeTold(TypedDict):
    envelope_id: EnvelopeId
    assigned: float
    spent: float
    left: float
    target: float
    locked: bool


class EnvelopeDone(TypedDict):
    envelope_id: EnvelopeId
    left: float


class ExpenseShown(TypedDict):
    expense_id: ExpenseId
    envelope_id: EnvelopeId
    name: str
    amount: float
    day: str


class ExpenseDone(TypedDict):
    expense_id: ExpenseId
    left: float


class IncomeShown(TypedDict):
    income_id: IncomeId
    name: str
    amount: float
    day: str


class IncomeDone(TypedDict):
    income_id: IncomeId
    free: float


class GoalShown(TypedDict):
    goal_id: GoalId
    name: str
    saved: float
    target: float
    status: Literal["open", "reached", "dropped"]


class GoalDone(TypedDict):
    goal_id: GoalId
    saved: float
    status: Literal["open", "reached", "dropped"]


class Summary(TypedDict):
    income: float
    spent: float
    saved: float
    free: float


class GroupShown(TypedDict):
    group: Group
    assigned: float
    spent: float


class MonthDone(TypedDict):
    month: str
    expenses: int
    total: float


class Moved(TypedDict):
    source_left: float
    target_left: float


class Assigned(TypedDict):
    envelopes: list[EnvelopeDone]
    free: float


class Part(TypedDict):
    """Money for one envelope."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    envelope_id: EnvelopeId
    amount: Amount


class Budget(Server):
    """One household's budget."""

    name = "budget"
    title = "Envelopes, expenses, income and savings goals of a household."

    envelopes: Table[Envelope]
    expenses: Table[Expense]
    incomes: Table[Income]
    goals: Table[Goal]
    book: Table[Book]

    @classmethod
    def seed(cls, world: World) -> Seed:
        envelopes: dict[str, Envelope] = {}
        expenses: dict[str, Expense] = {}
        keys = world.ids("env", 9)
        numbers = iter(world.ids("exp", 40))
        for number, (key, name) in enumerate(zip(keys, world.picks(ENVELOPES, 9), strict=False)):
            spent = 0
            for shop in world.picks(SHOPS, world.rng.randint(1, 4)):
                row = Expense(next(numbers), key, shop, world.amount(4, 60), world.day(-25, 0))
                expenses[row.expense_id] = row
                spent += row.cents
            assigned = spent + world.amount(0, 150)
            envelopes[key] = Envelope(key, name, world.choice(GROUPS), assigned, spent, assigned, number % 4 == 1)
        goals = {
            key: Goal(key, name, target := world.amount(300, 2000), world.rng.randrange(0, target // 200) * 100)
            for key, name in zip(world.ids("goal", 5), world.picks(GOALS, 5), strict=False)
        }
        incomes = {
            key: Income(key, name, 0, world.day(-25, 0))
            for key, name in zip(world.ids("inc", 4), world.picks(PAYERS, 4), strict=False)
        }
        needed = sum(e.assigned for e in envelopes.values()) + sum(g.saved for g in goals.values()) + world.amount(100, 700)
        first, *rest = incomes
        for key in rest:
            incomes[key] = Income(key, incomes[key].name, world.amount(50, 300), incomes[key].day)
        others = sum(i.cents for i in incomes.values())
        incomes[first] = Income(first, incomes[first].name, max(needed - others, 10_000), incomes[first].day)
        total = sum(i.cents for i in incomes.values())
        return {
            "envelopes": envelopes,
            "expenses": expenses,
            "incomes": incomes,
            "goals": goals,
            "book": {"book": Book(total)},
        }

    # -- envelopes ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_envelope(self, name: KnownName) -> EnvelopeShown:
        """Finds an envelope by its name."""
        return _envelope_shown(named(self.envelopes.values(), name, "envelope", "list_envelopes"))

    @tool(read_only=True)
    def list_envelopes(
        self, group: Literal["any", "needs", "wants", "saving"] = "any", limit: Limit = 5
    ) -> list[EnvelopeShown]:
        """Lists envelopes with what is left in them."""
        return [_envelope_shown(r) for r in self.envelopes.values() if group in ("any", r.group)][: int(limit)]

    @tool(read_only=True)
    def get_envelope(self, envelope_id: EnvelopeId) -> EnvelopeTold:
        """An envelope's money: assigned, spent, left, and what a month should have."""
        row = self._envelope(envelope_id)
        return {
            "envelope_id": envelope_id,
            "assigned": money(row.assigned),
            "spent": money(row.spent),
            "left": money(row.assigned - row.spent),
            "target": money(row.target),
            "locked": row.locked,
        }

    @tool()
    def create_envelope(self, name: NewName, group: Annotated[Group, Field(description="What kind of money.")]) -> EnvelopeDone:
        """Creates an empty envelope."""
        name = unused(self.envelopes.values(), name, "envelope")
        key = self.envelopes.fresh("env", name)
        self.envelopes.put(key, Envelope(key, name, group, 0, 0, 0))
        return {"envelope_id": key, "left": 0.0}

    @tool(destructive=True)
    def delete_envelope(self, envelope_id: EnvelopeId) -> EnvelopeDone:
        """Deletes an envelope that has no expense; its money is free again."""
        row = self._envelope(envelope_id)
        if any(e.envelope_id == envelope_id for e in self.expenses.values()):
            raise ToolError("wrong_state", f"{envelope_id} has expenses", "Use move_envelope_money to empty it instead.")
        self.envelopes.remove(envelope_id)
        return {"envelope_id": envelope_id, "left": money(row.assigned)}

    @tool(idempotent=True)
    def lock_envelope(self, envelope_id: EnvelopeId) -> EnvelopeTold:
        """Locks an envelope: nothing can be spent beyond what is in it."""
        row = self._envelope(envelope_id)
        if row.spent > row.assigned:
            raise ToolError("wrong_state", f"{envelope_id} is overspent", "Use assign_money first.")
        self.envelopes.update(envelope_id, locked=True)
        return self.get_envelope(envelope_id)

    @tool(idempotent=True)
    def unlock_envelope(self, envelope_id: EnvelopeId) -> EnvelopeTold:
        """Lets an envelope be overspent."""
        self._envelope(envelope_id)
        self.envelopes.update(envelope_id, locked=False)
        return self.get_envelope(envelope_id)

    @tool(idempotent=True)
    def set_envelope_target(self, envelope_id: EnvelopeId, amount: Amount) -> EnvelopeTold:
        """Says what an envelope should get a month."""
        self._envelope(envelope_id)
        self.envelopes.update(envelope_id, target=cents(amount))
        return self.get_envelope(envelope_id)

    @tool()
    def assign_money(
        self, parts: Annotated[list[Part], Field(min_length=1, max_length=10, description="How much for which envelope.")]
    ) -> Assigned:
        """Puts free money into envelopes."""
        wanted = [(self._envelope(p["envelope_id"]), cents(p["amount"])) for p in parts]
        if len({row.envelope_id for row, _ in wanted}) < len(wanted):
            raise ToolError("invalid_value", "an envelope is named twice", "Give every envelope one amount.")
        self._check_free(sum(value for _, value in wanted))
        done: list[EnvelopeDone] = []
        for row, value in wanted:
            new = self.envelopes.update(row.envelope_id, assigned=row.assigned + value)
            done.append({"envelope_id": row.envelope_id, "left": money(new.assigned - new.spent)})
        return {"envelopes": done, "free": money(self._free())}

    @tool()
    def move_envelope_money(self, source_id: EnvelopeId, target_id: EnvelopeId, amount: Amount) -> Moved:
        """Moves money that is left in one envelope to another."""
        source, target, value = self._envelope(source_id), self._envelope(target_id), cents(amount)
        if source_id == target_id:
            raise ToolError("invalid_value", "source and target are the same envelope", "Give two different envelopes.")
        self._check_left(source, value)
        source = self.envelopes.update(source_id, assigned=source.assigned - value)
        target = self.envelopes.update(target_id, assigned=target.assigned + value)
        return {"source_left": money(source.assigned - source.spent), "target_left": money(target.assigned - target.spent)}

    # -- expenses and income -----------------------------------------------------------------------

    @tool()
    def add_expense(
        self,
        envelope_id: EnvelopeId,
        amount: Amount,
        shop: Shop,
        day: Annotated[Date | None, Field(description="Today if not given.")] = None,
    ) -> ExpenseDone:
        """Notes money that was spent from an envelope, today if no day is given."""
        row, value, where = self._envelope(envelope_id), cents(amount), plain(shop, "shop")
        when = f"{self.now:%Y-%m-%d}" if day is None else date_of(day).isoformat()
        if when > f"{self.now:%Y-%m-%d}":
            raise ToolError("invalid_value", f"{when} is in the future", "Give today or a day before.")
        self._check_month(when)
        if row.locked:
            self._check_left(row, value)
        key = self.expenses.fresh("exp", envelope_id, where, value, when)
        self.expenses.put(key, Expense(key, envelope_id, where, value, when))
        row = self.envelopes.update(envelope_id, spent=row.spent + value)
        return {"expense_id": key, "left": money(row.assigned - row.spent)}

    @tool(read_only=True)
    def list_expenses(self, envelope_id: EnvelopeId, limit: Limit = 5) -> list[ExpenseShown]:
        """Lists what was spent from an envelope, the newest first."""
        self._envelope(envelope_id)
        rows = sorted(self.expenses.where(lambda e: e.envelope_id == envelope_id), key=lambda e: (e.day, e.expense_id))
        return [_expense_shown(row) for row in rows[::-1][: int(limit)]]

    @tool(read_only=True)
    def find_expense(self, name: KnownName) -> ExpenseShown:
        """Finds the newest expense at a shop."""
        wanted = plain(name, "name").casefold()
        rows = self.expenses.where(lambda e: e.name.casefold() == wanted)
        if not rows:
            raise ToolError("not_found", "nothing was spent there", "list_expenses shows an envelope's expenses.")
        return _expense_shown(max(rows, key=lambda e: (e.day, e.expense_id)))

    @tool()
    def move_expense(self, expense_id: ExpenseId, envelope_id: EnvelopeId) -> ExpenseDone:
        """Books an expense on another envelope."""
        expense, target = self._expense(expense_id), self._envelope(envelope_id)
        if expense.envelope_id == envelope_id:
            raise ToolError("wrong_state", f"{expense_id} is booked there already", "Nothing is needed.")
        if target.locked:
            self._check_left(target, expense.cents)
        source = self.envelopes[expense.envelope_id]
        self.envelopes.update(source.envelope_id, spent=source.spent - expense.cents)
        target = self.envelopes.update(envelope_id, spent=target.spent + expense.cents)
        self.expenses.update(expense_id, envelope_id=envelope_id)
        return {"expense_id": expense_id, "left": money(target.assigned - target.spent)}

    @tool(destructive=True)
    def remove_expense(self, expense_id: ExpenseId) -> ExpenseDone:
        """Removes an expense that was noted by mistake."""
        expense = self._expense(expense_id)
        row = self.envelopes[expense.envelope_id]
        self.expenses.remove(expense_id)
        row = self.envelopes.update(row.envelope_id, spent=row.spent - expense.cents)
        return {"expense_id": expense_id, "left": money(row.assigned - row.spent)}

    @tool()
    def add_income(
        self, name: Annotated[str, Field(min_length=1, max_length=40, description="Where it comes from.")], amount: Amount
    ) -> IncomeDone:
        """Notes money that came in today; it is free to assign."""
        text, value = plain(name, "name"), cents(amount)
        key = self.incomes.fresh("inc", text, value)
        self.incomes.put(key, Income(key, text, value, f"{self.now:%Y-%m-%d}"))
        self.book.update("book", income=self.book["book"].income + value)
        return {"income_id": key, "free": money(self._free())}

    @tool(read_only=True)
    def list_income(self, limit: Limit = 5) -> list[IncomeShown]:
        """Lists money that came in, the newest first."""
        rows = sorted(self.incomes.values(), key=lambda r: (r.day, r.income_id), reverse=True)[: int(limit)]
        return [{"income_id": r.income_id, "name": r.name, "amount": money(r.cents), "day": r.day} for r in rows]

    @tool(destructive=True)
    def remove_income(self, income_id: IncomeId) -> IncomeDone:
        """Removes income that was noted by mistake, while its money is still free."""
        row = existing(self.incomes, income_id, "income", "list_income")
        self._check_free(row.cents)
        self.incomes.remove(income_id)
        self.book.update("book", income=self.book["book"].income - row.cents)
        return {"income_id": income_id, "free": money(self._free())}

    # -- goals -------------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_goal(self, name: KnownName) -> GoalShown:
        """Finds a savings goal by its name."""
        return _goal_shown(named(self.goals.values(), name, "savings goal", "list_goals"))

    @tool(read_only=True)
    def list_goals(self, limit: Limit = 5) -> list[GoalShown]:
        """Lists savings goals."""
        return [_goal_shown(row) for row in self.goals.values()][: int(limit)]

    @tool()
    def create_goal(self, name: NewName, target: Amount) -> GoalDone:
        """Starts saving for something."""
        name = unused(self.goals.values(), name, "savings goal")
        key = self.goals.fresh("goal", name)
        self.goals.put(key, Goal(key, name, cents(target), 0))
        return {"goal_id": key, "saved": 0.0, "status": "open"}

    @tool()
    def save_to_goal(self, goal_id: GoalId, envelope_id: EnvelopeId, amount: Amount) -> GoalDone:
        """Moves money that is left in an envelope into an open goal, up to its target."""
        goal, row, value = self._goal(goal_id), self._envelope(envelope_id), cents(amount)
        if value > goal.target - goal.saved:
            most = money(goal.target - goal.saved)
            raise ToolError("invalid_value", f"only {most} is missing", "Save that much or less.")
        self._check_left(row, value)
        self.envelopes.update(envelope_id, assigned=row.assigned - value)
        reached = goal.saved + value == goal.target
        goal = self.goals.update(goal_id, saved=goal.saved + value, status="reached" if reached else "open")
        return {"goal_id": goal_id, "saved": money(goal.saved), "status": goal.status}

    @tool(destructive=True)
    def drop_goal(self, goal_id: GoalId) -> GoalDone:
        """Gives up a goal; what was saved is free money again."""
        if existing(self.goals, goal_id, "savings goal", "list_goals").status == "dropped":
            raise ToolError("wrong_state", f"{goal_id} was given up before", "list_goals shows the others.")
        goal = self.goals.update(goal_id, saved=0, status="dropped")
        return {"goal_id": goal_id, "saved": 0.0, "status": goal.status}

    # -- the whole ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def get_budget(self) -> Summary:
        """The whole budget: what came in, was spent and saved, and what is free to assign."""
        spent = sum(e.spent for e in self.envelopes.values())
        saved = sum(g.saved for g in self.goals.values())
        return {
            "income": money(self.book["book"].income),
            "spent": money(spent),
            "saved": money(saved),
            "free": money(self._free()),
        }

    @tool(read_only=True)
    def list_groups(self) -> list[GroupShown]:
        """Assigned and spent money by kind."""
        shown: list[GroupShown] = []
        for group in GROUPS:
            rows = self.envelopes.where(lambda e, group=group: e.group == group)  # type: ignore[misc]
            assigned, spent = sum(e.assigned for e in rows), sum(e.spent for e in rows)
            shown.append({"group": group, "assigned": money(assigned), "spent": money(spent)})
        return shown

    @tool()
    def close_month(
        self, month: Annotated[str, Field(pattern="^20[0-9]{2}-(0[1-9]|1[0-2])$", description="A month, YYYY-MM.")]
    ) -> MonthDone:
        """Closes a month that is over: its expenses stay as they are from then on."""
        month = month[:7]
        if month >= f"{self.now:%Y-%m}":
            raise ToolError("wrong_state", f"{month} is not over", "Close an earlier month.")
        self._check_month(month)
        rows = self.expenses.where(lambda e: e.day.startswith(month))
        self.book.update("book", closed=tuple(sorted({*self.book["book"].closed, month})))
        return {"month": month, "expenses": len(rows), "total": money(sum(r.cents for r in rows))}

    # -- helpers -----------------------------------------------------------------------------------

    def _envelope(self, envelope_id: str) -> Envelope:
        return existing(self.envelopes, envelope_id, "envelope", "list_envelopes")

    def _expense(self, expense_id: str) -> Expense:
        row = existing(self.expenses, expense_id, "expense", "list_expenses")
        self._check_month(row.day)
        return row

    def _goal(self, goal_id: str) -> Goal:
        row = existing(self.goals, goal_id, "savings goal", "list_goals")
        if row.status != "open":
            raise ToolError("wrong_state", f"{goal_id} is {row.status}", "Choose an open goal.")
        return row

    def _check_month(self, day: str) -> None:
        if day[:7] in self.book["book"].closed:
            raise ToolError("wrong_state", f"{day[:7]} is closed", "Only open months can be changed.")

    def _check_left(self, row: Envelope, value: int) -> None:
        if value > row.assigned - row.spent:
            left = money(max(0, row.assigned - row.spent))
            raise ToolError("insufficient", f"{row.envelope_id} has {left} left", "Use assign_money first, or less.")

    def _check_free(self, value: int) -> None:
        if value > self._free():
            raise ToolError("insufficient", f"only {money(max(0, self._free()))} is free", "Use add_income first, or less.")

    def _free(self) -> int:
        assigned = sum(e.assigned for e in self.envelopes.values())
        return self.book["book"].income - assigned - sum(g.saved for g in self.goals.values())


def _envelope_shown(row: Envelope) -> EnvelopeShown:
    return {"envelope_id": row.envelope_id, "name": row.name, "group": row.group, "left": money(row.assigned - row.spent)}


def _expense_shown(row: Expense) -> ExpenseShown:
    return {
        "expense_id": row.expense_id,
        "envelope_id": row.envelope_id,
        "name": row.name,
        "amount": money(row.cents),
        "day": row.day,
    }


def _goal_shown(row: Goal) -> GoalShown:
    return {
        "goal_id": row.goal_id,
        "name": row.name,
        "saved": money(row.saved),
        "target": money(row.target),
        "status": row.status,
    }
