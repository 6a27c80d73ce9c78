"""What the budget server's tools share: checks, sums over months, and what is shown of rows.

Run: nothing here runs by itself; `tasks.servers.budget` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt

from tasks.servers.budget_types import (
    Book,
    BudgetShown,
    Envelope,
    EnvelopeShown,
    Expense,
    ExpenseShown,
    Goal,
    GoalShown,
    GoalStatus,
    Income,
    IncomeShown,
    MonthBudget,
)
from tasks.servers.lookup import existing
from tasks.servers.state import Table
from tasks.servers.tool import ToolError
from tasks.servers.typed import date_of, money


class Household:
    """The tables of the household, and the steps that tools are made of."""

    now: dt.datetime
    envelopes: Table[Envelope]
    budgets: Table[MonthBudget]
    expenses: Table[Expense]
    incomes: Table[Income]
    goals: Table[Goal]
    book: Table[Book]

    # -- rows --------------------------------------------------------------------------------------

    def _envelope(self, envelope_id: str) -> Envelope:
        return existing(self.envelopes, envelope_id, "envelope", "list_envelopes")

    def _expense(self, expense_id: str) -> Expense:
        """An expense of a month that is not closed."""
        row = existing(self.expenses, expense_id, "expense", "list_expenses")
        self._check_month(row.day)
        return row

    def _goal(self, goal_id: str, *statuses: GoalStatus) -> Goal:
        row = existing(self.goals, goal_id, "savings goal", "list_savings_goals")
        if row.status not in statuses:
            raise ToolError("wrong_state", f"{goal_id} is {row.status}", f"It must be {' or '.join(statuses)}.")
        return row

    def _budget_of(self, envelope_id: str, month: str) -> MonthBudget | None:
        rows = self.budgets.where(lambda b: b.envelope_id == envelope_id and b.month == month)
        return rows[0] if rows else None

    def _month(self, month: str | None) -> str:
        """The month of an argument; this one when none is given."""
        return f"{self.now:%Y-%m}" if month is None else month[:7]

    def _day(self, day: str | None) -> str:
        """The day of an argument, today when none is given. Refuses the future and closed months."""
        today = self.now.date().isoformat()
        when = today if day is None else date_of(day).isoformat()
        if when > today:
            raise ToolError("invalid_value", f"{when} is in the future", "Give today or a day before.")
        self._check_month(when)
        return when

    # -- sums --------------------------------------------------------------------------------------

    def _spent_in(self, envelope_id: str, month: str) -> int:
        return sum(e.cents for e in self.expenses.values() if e.envelope_id == envelope_id and e.day[:7] == month)

    def _came_in(self) -> int:
        return sum(i.cents for i in self.incomes.values())

    def _free(self) -> int:
        """Cents that came in and are neither assigned nor saved."""
        assigned = sum(e.assigned for e in self.envelopes.values())
        return self._came_in() - assigned - sum(g.saved for g in self.goals.values())

    # -- checks ------------------------------------------------------------------------------------

    def _check_month(self, day: str) -> None:
        if day[:7] in self.book["book"].closed:
            raise ToolError("wrong_state", f"{day[:7]} is closed", "Only open months can be changed.")

    def _check_left(self, row: Envelope, value: int) -> None:
        if value > row.assigned - row.spent:
            left = money(max(0, row.assigned - row.spent))
            raise ToolError("insufficient", f"{row.envelope_id} has {left} left", "Use assign_money first, or less.")

    def _check_lock(self, row: Envelope, month: str, value: int) -> None:
        """Refuses what a locked envelope, or its budget for the month, has no room for."""
        if not row.locked:
            return
        self._check_left(row, value)
        budget = self._budget_of(row.envelope_id, month)
        if budget is None:
            return
        room = budget.cents - self._spent_in(row.envelope_id, month)
        if value > room:
            raise ToolError("insufficient", f"its budget for {month} has {money(room)} left", "Use set_budget, or less.")

    def _check_free(self, value: int) -> None:
        free = self._free()
        if value > free:
            raise ToolError("insufficient", f"only {money(max(0, free))} is free", "Use add_income first, or less.")

    # -- results -----------------------------------------------------------------------------------

    def _budget_shown(self, row: MonthBudget) -> BudgetShown:
        return {
            "budget_id": row.budget_id,
            "envelope_id": row.envelope_id,
            "month": row.month,
            "amount": money(row.cents),
            "spent": money(self._spent_in(row.envelope_id, row.month)),
        }


def left_of(row: Envelope) -> float:
    return money(row.assigned - row.spent)


def envelope_shown(row: Envelope) -> EnvelopeShown:
    return {
        "envelope_id": row.envelope_id,
        "name": row.name,
        "group": row.group,
        "left": left_of(row),
        "locked": row.locked,
    }


def expense_shown(row: Expense) -> ExpenseShown:
    return {
        "expense_id": row.expense_id,
        "envelope_id": row.envelope_id,
        "name": row.name,
        "amount": money(row.cents),
        "day": row.day,
    }


def income_shown(row: Income) -> IncomeShown:
    return {"income_id": row.income_id, "name": row.name, "amount": money(row.cents), "day": row.day}


def goal_shown(row: Goal) -> GoalShown:
    return {
        "goal_id": row.goal_id,
        "name": row.name,
        "saved": money(row.saved),
        "target": money(row.target),
        "status": row.status,
    }
