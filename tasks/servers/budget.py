"""The budget server: one household's envelopes, monthly budgets, expenses, income and savings goals.

    with environment(["budget"]).session(7) as session:
        session.call("list_envelopes", {})

Income is money to assign; an envelope holds what was assigned to it less what was spent from it. A budget says what an
envelope should spend in a month. A locked envelope refuses to go below zero or beyond the month's budget; another one may. A
savings goal is filled out of envelopes. Money is never made: what came in is assigned, saved or still free.

Left out: several currencies, and months that close by themselves; close_budget_month does it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tasks.servers import budget_types as t
from tasks.servers.budget_data import seeded
from tasks.servers.budget_state import Household, envelope_shown, expense_shown, goal_shown, income_shown, left_of
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Amount, Limit, cents, money, plain
from tasks.servers.world import World


class Budget(Household, Server):
    """One household's budget."""

    name = "budget"
    title = "Envelopes, budgets, expenses, income and savings goals of a household."

    envelopes: Table[t.Envelope]
    budgets: Table[t.MonthBudget]
    expenses: Table[t.Expense]
    incomes: Table[t.Income]
    goals: Table[t.Goal]
    book: Table[t.Book]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seeded(world)

    # -- envelopes ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_envelope(self, name: t.KnownName) -> t.EnvelopeShown:
        """Finds an envelope by its name."""
        return envelope_shown(named(self.envelopes.values(), name, "envelope", "list_envelopes"))

    @tool(read_only=True)
    def list_envelopes(
        self,
        group: t.AnyGroup = "any",
        limit: Limit = 5,
    ) -> list[t.EnvelopeShown]:
        """Lists envelopes with what is left in them."""
        return [envelope_shown(r) for r in self.envelopes.values() if group in ("any", r.group)][: int(limit)]

    @tool(read_only=True)
    def get_envelope(self, envelope_id: t.EnvelopeId) -> t.EnvelopeTold:
        """An envelope's money: assigned, spent and left, over all months."""
        row = self._envelope(envelope_id)
        return {
            "envelope_id": row.envelope_id,
            "assigned": money(row.assigned),
            "spent": money(row.spent),
            "left": left_of(row),
            "locked": row.locked,
        }

    @tool()
    def create_envelope(self, name: t.NewName, group: t.NewGroup) -> t.EnvelopeDone:
        """Creates an empty envelope."""
        name = unused(self.envelopes.values(), name, "envelope")
        key = self.envelopes.fresh("env", name)
        self.envelopes.put(key, t.Envelope(key, name, group, 0, 0))
        return {"envelope_id": key, "left": 0.0}

    @tool(destructive=True)
    def delete_envelope(self, envelope_id: t.EnvelopeId) -> t.EnvelopeDone:
        """Deletes an envelope without expenses, and its budgets; what was left in it is free again."""
        row = self._envelope(envelope_id)
        if any(e.envelope_id == envelope_id for e in self.expenses.values()):
            raise ToolError("wrong_state", f"{envelope_id} has expenses", "Use move_expense for each of them first.")
        for budget in self.budgets.where(lambda b: b.envelope_id == envelope_id):
            self.budgets.remove(budget.budget_id)
        self.envelopes.remove(envelope_id)
        return {"envelope_id": envelope_id, "left": left_of(row)}

    @tool(idempotent=True)
    def lock_envelope(self, envelope_id: t.EnvelopeId) -> t.EnvelopeLock:
        """Locks an envelope: nothing can be spent beyond what is left in it and beyond the month's budget."""
        row = self._envelope(envelope_id)
        if row.spent > row.assigned:
            raise ToolError("wrong_state", f"{envelope_id} is overspent", "Use assign_money first.")
        for budget in self.budgets.where(lambda b: b.envelope_id == envelope_id):
            if self._spent_in(envelope_id, budget.month) > budget.cents:
                raise ToolError("wrong_state", f"it is beyond its budget for {budget.month}", "Use set_budget first.")
        self.envelopes.update(envelope_id, locked=True)
        return {"envelope_id": envelope_id, "locked": True}

    @tool(idempotent=True)
    def unlock_envelope(self, envelope_id: t.EnvelopeId) -> t.EnvelopeLock:
        """Lets an envelope be overspent."""
        self._envelope(envelope_id)
        self.envelopes.update(envelope_id, locked=False)
        return {"envelope_id": envelope_id, "locked": False}

    @tool()
    def assign_money(
        self, parts: Annotated[list[t.Part], Field(min_length=1, max_length=10, description="How much for which envelope.")]
    ) -> t.Assigned:
        """Puts free money into envelopes."""
        wanted = [(self._envelope(p["envelope_id"]), cents(p["amount"])) for p in parts]
        if len({row.envelope_id for row, _ in wanted}) < len(wanted):
            raise ToolError("invalid_value", "an envelope is named twice", "Give every envelope one amount.")
        self._check_free(sum(value for _, value in wanted))
        done: list[t.EnvelopeDone] = []
        for row, value in wanted:
            new = self.envelopes.update(row.envelope_id, assigned=row.assigned + value)
            done.append({"envelope_id": row.envelope_id, "left": left_of(new)})
        return {"envelopes": done, "free": money(self._free())}

    @tool()
    def unassign_money(self, envelope_id: t.EnvelopeId, amount: Amount) -> t.Unassigned:
        """Takes money that is left in an envelope out of it; it is free again."""
        row, value = self._envelope(envelope_id), cents(amount)
        self._check_left(row, value)
        row = self.envelopes.update(envelope_id, assigned=row.assigned - value)
        return {"envelope_id": envelope_id, "left": left_of(row), "free": money(self._free())}

    @tool()
    def move_envelope_money(self, source_id: t.EnvelopeId, target_id: t.EnvelopeId, amount: Amount) -> t.Moved:
        """Moves money that is left in one envelope to another."""
        source, target, value = self._envelope(source_id), self._envelope(target_id), cents(amount)
        if source_id == target_id:
            raise ToolError("invalid_value", "source and target are the same envelope", "Give two different envelopes.")
        self._check_left(source, value)
        source = self.envelopes.update(source_id, assigned=source.assigned - value)
        target = self.envelopes.update(target_id, assigned=target.assigned + value)
        return {"source_left": left_of(source), "target_left": left_of(target)}

    # -- budgets -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_budgets(self, month: t.ThisMonth = None, limit: Limit = 5) -> list[t.BudgetShown]:
        """Lists a month's budgets with what was spent of them, this month's if no month is given."""
        wanted = self._month(month)
        return [self._budget_shown(b) for b in self.budgets.where(lambda b: b.month == wanted)[: int(limit)]]

    @tool(read_only=True)
    def find_budget(self, envelope_id: t.EnvelopeId, month: t.ThisMonth = None) -> t.BudgetShown:
        """Finds an envelope's budget for a month, this month if none is given."""
        row = self._budget_of(self._envelope(envelope_id).envelope_id, self._month(month))
        if row is None:
            raise ToolError("not_found", "this envelope has no budget for that month", "set_budget makes one.")
        return self._budget_shown(row)

    @tool(idempotent=True)
    def set_budget(self, envelope_id: t.EnvelopeId, amount: Amount, month: t.ThisMonth = None) -> t.BudgetDone:
        """Sets what an envelope should spend in a month at most, this month if none is given."""
        envelope, value, when = self._envelope(envelope_id), cents(amount), self._month(month)
        self._check_month(when)
        if envelope.locked and value < (spent := self._spent_in(envelope_id, when)):
            raise ToolError("wrong_state", f"{money(spent)} is spent and it is locked", "Give more, or use unlock_envelope.")
        known = self._budget_of(envelope_id, when)
        key = known.budget_id if known else self.budgets.fresh("bud", envelope_id, when)
        self.budgets.put(key, t.MonthBudget(key, envelope_id, when, value))
        return {"budget_id": key, "amount": money(value)}

    @tool(destructive=True)
    def remove_budget(self, budget_id: t.BudgetId) -> t.BudgetDone:
        """Removes an envelope's budget for a month."""
        row = existing(self.budgets, budget_id, "budget", "list_budgets")
        self._check_month(row.month)
        self.budgets.remove(budget_id)
        return {"budget_id": budget_id, "amount": money(row.cents)}

    @tool()
    def copy_budgets(self, source: t.Month, target: t.Month) -> t.Copied:
        """Gives envelopes without a budget in the target month the one that they have in the source month."""
        start, end = self._month(source), self._month(target)
        self._check_month(end)
        rows = self.budgets.where(lambda b: b.month == start and self._budget_of(b.envelope_id, end) is None)
        if not rows:
            raise ToolError("not_found", f"{start} has no budget that {end} lacks", "list_budgets shows a month's budgets.")
        for row in rows:
            if self.envelopes[row.envelope_id].locked and self._spent_in(row.envelope_id, end) > row.cents:
                raise ToolError("wrong_state", f"{row.envelope_id} spent more and is locked", "Use unlock_envelope first.")
        for row in rows:
            key = self.budgets.fresh("bud", row.envelope_id, end)
            self.budgets.put(key, t.MonthBudget(key, row.envelope_id, end, row.cents))
        return {"month": end, "budgets": len(rows)}

    # -- expenses and income -----------------------------------------------------------------------

    @tool()
    def add_expense(self, envelope_id: t.EnvelopeId, amount: Amount, shop: t.Shop, day: t.Today = None) -> t.ExpenseDone:
        """Notes money that was spent from an envelope, today if no day is given."""
        row, value, where, when = self._envelope(envelope_id), cents(amount), plain(shop, "shop"), self._day(day)
        self._check_lock(row, when[:7], value)
        key = self.expenses.fresh("exp", envelope_id, where, value, when)
        self.expenses.put(key, t.Expense(key, envelope_id, where, value, when))
        return {"expense_id": key, "left": left_of(self.envelopes.update(envelope_id, spent=row.spent + value))}

    @tool(read_only=True)
    def list_expenses(self, envelope_id: t.EnvelopeId, limit: Limit = 5) -> list[t.ExpenseShown]:
        """Lists what was spent from an envelope, the newest first."""
        self._envelope(envelope_id)
        rows = sorted(self.expenses.where(lambda e: e.envelope_id == envelope_id), key=lambda e: (e.day, e.expense_id))
        return [expense_shown(row) for row in rows[::-1][: int(limit)]]

    @tool(read_only=True)
    def find_expense(self, name: t.KnownName) -> t.ExpenseShown:
        """Finds the newest expense at a shop."""
        wanted = plain(name, "name").casefold()
        rows = self.expenses.where(lambda e: e.name.casefold() == wanted)
        if not rows:
            raise ToolError("not_found", "nothing was spent there", "list_expenses shows an envelope's expenses.")
        return expense_shown(max(rows, key=lambda e: (e.day, e.expense_id)))

    @tool()
    def move_expense(self, expense_id: t.ExpenseId, envelope_id: t.EnvelopeId) -> t.ExpenseDone:
        """Books an expense on another envelope; tells what is left there."""
        expense, target = self._expense(expense_id), self._envelope(envelope_id)
        if expense.envelope_id == envelope_id:
            raise ToolError("wrong_state", f"{expense_id} is booked there already", "Nothing is needed.")
        self._check_lock(target, expense.day[:7], expense.cents)
        source = self.envelopes[expense.envelope_id]
        self.envelopes.update(source.envelope_id, spent=source.spent - expense.cents)
        self.expenses.update(expense_id, envelope_id=envelope_id)
        target = self.envelopes.update(envelope_id, spent=target.spent + expense.cents)
        return {"expense_id": expense_id, "left": left_of(target)}

    @tool(idempotent=True)
    def correct_expense(self, expense_id: t.ExpenseId, amount: Amount) -> t.ExpenseDone:
        """Corrects the amount of an expense."""
        expense, value = self._expense(expense_id), cents(amount)
        row, more = self.envelopes[expense.envelope_id], value - expense.cents
        if more > 0:
            self._check_lock(row, expense.day[:7], more)
        self.expenses.update(expense_id, cents=value)
        return {"expense_id": expense_id, "left": left_of(self.envelopes.update(row.envelope_id, spent=row.spent + more))}

    @tool(destructive=True)
    def remove_expense(self, expense_id: t.ExpenseId) -> t.ExpenseDone:
        """Removes an expense that was noted by mistake."""
        expense = self._expense(expense_id)
        row = self.envelopes[expense.envelope_id]
        self.expenses.remove(expense_id)
        row = self.envelopes.update(row.envelope_id, spent=row.spent - expense.cents)
        return {"expense_id": expense_id, "left": left_of(row)}

    @tool()
    def add_income(self, name: t.Payer, amount: Amount, day: t.Today = None) -> t.IncomeDone:
        """Notes money that came in, today if no day is given; it is free to assign."""
        text, value, when = plain(name, "name"), cents(amount), self._day(day)
        key = self.incomes.fresh("inc", text, value, when)
        self.incomes.put(key, t.Income(key, text, value, when))
        return {"income_id": key, "free": money(self._free())}

    @tool(read_only=True)
    def list_income(self, limit: Limit = 5) -> list[t.IncomeShown]:
        """Lists money that came in, the newest first."""
        rows = sorted(self.incomes.values(), key=lambda r: (r.day, r.income_id), reverse=True)
        return [income_shown(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def find_income(self, name: t.KnownName) -> t.IncomeShown:
        """Finds the newest income from somewhere."""
        wanted = plain(name, "name").casefold()
        rows = self.incomes.where(lambda r: r.name.casefold() == wanted)
        if not rows:
            raise ToolError("not_found", "nothing came in from there", "list_income shows what came in.")
        return income_shown(max(rows, key=lambda r: (r.day, r.income_id)))

    @tool(destructive=True)
    def remove_income(self, income_id: t.IncomeId) -> t.IncomeDone:
        """Removes income that was noted by mistake, while its money is still free."""
        row = existing(self.incomes, income_id, "income", "list_income")
        self._check_month(row.day)
        self._check_free(row.cents)
        self.incomes.remove(income_id)
        return {"income_id": income_id, "free": money(self._free())}

    # -- savings goals -----------------------------------------------------------------------------

    @tool(read_only=True)
    def find_savings_goal(self, name: t.KnownName) -> t.GoalShown:
        """Finds a savings goal by its name."""
        rows = self.goals.where(lambda g: g.status != "dropped")
        return goal_shown(named(rows, name, "savings goal", "list_savings_goals"))

    @tool(read_only=True)
    def list_savings_goals(self, limit: Limit = 5) -> list[t.GoalShown]:
        """Lists savings goals that were not given up."""
        return [goal_shown(row) for row in self.goals.where(lambda g: g.status != "dropped")[: int(limit)]]

    @tool()
    def create_savings_goal(self, name: t.NewName, target: Amount) -> t.GoalDone:
        """Starts saving for something."""
        name = unused(self.goals.where(lambda g: g.status != "dropped"), name, "savings goal")
        value = cents(target)
        key = self.goals.fresh("goal", name)
        self.goals.put(key, t.Goal(key, name, value, 0))
        return {"goal_id": key, "saved": 0.0, "status": "open"}

    @tool()
    def fund_savings_goal(self, goal_id: t.GoalId, envelope_id: t.EnvelopeId, amount: Amount) -> t.GoalDone:
        """Moves money that is left in an envelope into an open goal, up to its target."""
        goal, row, value = self._goal(goal_id, "open"), self._envelope(envelope_id), cents(amount)
        missing = goal.target - goal.saved
        if value > missing:
            raise ToolError("invalid_value", f"only {money(missing)} is missing", "Save that much or less.")
        self._check_left(row, value)
        self.envelopes.update(envelope_id, assigned=row.assigned - value)
        goal = self.goals.update(goal_id, saved=goal.saved + value, status="reached" if value == missing else "open")
        return {"goal_id": goal_id, "saved": money(goal.saved), "status": goal.status}

    @tool()
    def take_from_savings_goal(self, goal_id: t.GoalId, envelope_id: t.EnvelopeId, amount: Amount) -> t.GoalDone:
        """Moves money that was saved for a goal back into an envelope; a reached goal is open again."""
        goal, row, value = self._goal(goal_id, "open", "reached"), self._envelope(envelope_id), cents(amount)
        if value > goal.saved:
            raise ToolError("insufficient", f"only {money(goal.saved)} is saved", "Take that much or less.")
        self.envelopes.update(envelope_id, assigned=row.assigned + value)
        goal = self.goals.update(goal_id, saved=goal.saved - value, status="open")
        return {"goal_id": goal_id, "saved": money(goal.saved), "status": goal.status}

    @tool(destructive=True)
    def drop_savings_goal(self, goal_id: t.GoalId) -> t.GoalDone:
        """Gives up a goal; what was saved is free money again."""
        self._goal(goal_id, "open", "reached")
        self.goals.update(goal_id, saved=0, status="dropped")
        return {"goal_id": goal_id, "saved": 0.0, "status": "dropped"}

    # -- sums and months ---------------------------------------------------------------------------

    @tool(read_only=True)
    def get_budget_totals(self) -> t.Totals:
        """The whole household: what came in, was spent and saved, is left in envelopes, and is free to assign."""
        rows = list(self.envelopes.values())
        spent = sum(e.spent for e in rows)
        return {
            "income": money(self._came_in()),
            "spent": money(spent),
            "saved": money(sum(g.saved for g in self.goals.values())),
            "left": money(sum(e.assigned for e in rows) - spent),
            "free": money(self._free()),
        }

    @tool(read_only=True)
    def get_month_totals(self, month: t.ThisMonth = None) -> t.MonthTotals:
        """What came in, was spent and was budgeted in a month, this month if none is given."""
        when = self._month(month)
        return {
            "month": when,
            "income": money(sum(i.cents for i in self.incomes.values() if i.day[:7] == when)),
            "spent": money(sum(e.cents for e in self.expenses.values() if e.day[:7] == when)),
            "budgeted": money(sum(b.cents for b in self.budgets.values() if b.month == when)),
            "closed": when in self.book["book"].closed,
        }

    @tool(read_only=True)
    def summarize_spending(
        self,
        by: Annotated[Literal["envelope", "group", "shop"], Field(description="What to sum by.")] = "envelope",
        month: t.ThisMonth = None,
        limit: Limit = 5,
    ) -> list[t.SpentOn]:
        """Sums a month's expenses by envelope, group or shop, the largest first; this month if none is given."""
        when = self._month(month)
        sums: dict[str, tuple[int, int]] = {}
        for row in self.expenses.where(lambda e: e.day[:7] == when):
            envelope = self.envelopes[row.envelope_id]
            name = row.name if by == "shop" else envelope.group if by == "group" else envelope.name
            spent, count = sums.get(name, (0, 0))
            sums[name] = spent + row.cents, count + 1
        ordered = sorted(sums.items(), key=lambda item: (-item[1][0], item[0]))[: int(limit)]
        return [{"name": name, "spent": money(spent), "expenses": count} for name, (spent, count) in ordered]

    @tool()
    def close_budget_month(self, month: t.Month) -> t.MonthDone:
        """Closes a month that is over: its expenses, income and budgets stay as they are from then on."""
        when = self._month(month)
        if when >= f"{self.now:%Y-%m}":
            raise ToolError("wrong_state", f"{when} is not over", "Close an earlier month.")
        self._check_month(when)
        rows = self.expenses.where(lambda e: e.day[:7] == when)
        self.book.update("book", closed=tuple(sorted({*self.book["book"].closed, when})))
        return {"month": when, "expenses": len(rows), "total": money(sum(r.cents for r in rows))}
