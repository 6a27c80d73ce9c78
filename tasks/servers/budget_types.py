"""The budget server's identifiers, rows and results.

Left out: what the rows hold at the start; budget_data.py seeds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Amount, Date, identifier

EnvelopeId = identifier("envelope", "env")
BudgetId = identifier("budget", "bud")
ExpenseId = identifier("expense", "exp")
IncomeId = identifier("income", "inc")
GoalId = identifier("savings_goal", "goal")

Group = Literal["needs", "wants", "saving"]
NewGroup = Annotated[Group, Field(description="What kind of money.")]
AnyGroup = Annotated[Literal["any", "needs", "wants", "saving"], Field(description="Only these.")]
GoalStatus = Literal["open", "reached", "dropped"]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
Shop = Annotated[str, Field(min_length=1, max_length=60, description="Where the money went.")]
Payer = Annotated[str, Field(min_length=1, max_length=40, description="Where it comes from.")]
Month = Annotated[str, Field(pattern="^20[0-9]{2}-(0[1-9]|1[0-2])$", description="A month, YYYY-MM.")]
ThisMonth = Annotated[Month | None, Field(description="A month, YYYY-MM; this month if not given.")]
Today = Annotated[Date | None, Field(description="Today if not given.")]


# -- rows ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Envelope:
    """`assigned` and `spent` are totals in cents over all months; what is left is their difference."""

    envelope_id: str
    name: str
    group: Group
    assigned: int
    spent: int
    locked: bool = False


@dataclass(frozen=True, slots=True)
class MonthBudget:
    """How many cents an envelope should spend in a month (YYYY-MM) at most; one for an envelope and month."""

    budget_id: str
    envelope_id: str
    month: str
    cents: int


@dataclass(frozen=True, slots=True)
class Expense:
    """`name` is the shop's."""

    expense_id: str
    envelope_id: str
    name: str
    cents: int
    day: str


@dataclass(frozen=True, slots=True)
class Income:
    """`name` says where it comes from."""

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
    status: GoalStatus = "open"


@dataclass(frozen=True, slots=True)
class Book:
    """The one row of the book: the months that are closed."""

    closed: tuple[str, ...] = ()


# -- arguments and results -------------------------------------------------------------------------


class Part(TypedDict):
    """Money for one envelope."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    envelope_id: EnvelopeId
    amount: Amount


class EnvelopeShown(TypedDict):
    envelope_id: EnvelopeId
    name: str
    group: Group
    left: float
    locked: bool


class EnvelopeTold(TypedDict):
    envelope_id: EnvelopeId
    assigned: float
    spent: float
    left: float
    locked: bool


class EnvelopeDone(TypedDict):
    envelope_id: EnvelopeId
    left: float


class EnvelopeLock(TypedDict):
    envelope_id: EnvelopeId
    locked: bool


class Assigned(TypedDict):
    envelopes: list[EnvelopeDone]
    free: float


class Unassigned(TypedDict):
    envelope_id: EnvelopeId
    left: float
    free: float


class Moved(TypedDict):
    source_left: float
    target_left: float


class BudgetShown(TypedDict):
    budget_id: BudgetId
    envelope_id: EnvelopeId
    month: str
    amount: float
    spent: float


class BudgetDone(TypedDict):
    budget_id: BudgetId
    amount: float


class Copied(TypedDict):
    month: str
    budgets: int


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
    status: GoalStatus


class GoalDone(TypedDict):
    goal_id: GoalId
    saved: float
    status: GoalStatus


class Totals(TypedDict):
    income: float
    spent: float
    saved: float
    left: float
    free: float


class MonthTotals(TypedDict):
    month: str
    income: float
    spent: float
    budgeted: float
    closed: bool


class SpentOn(TypedDict):
    name: str
    spent: float
    expenses: int


class MonthDone(TypedDict):
    month: str
    expenses: int
    total: float
