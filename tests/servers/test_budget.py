"""The budget server: what came in is assigned, saved or free, and locked envelopes hold."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.servers.budget import Budget
from tasks.servers.session import Session
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import machine, world


def check(session: Session) -> None:
    """Spending is the sum of expenses, free money is what is left of income, goals stay within their targets."""
    book: Any = state_of(session, Budget)
    if book is None:
        return
    for envelope in book.envelopes.values():
        assert envelope.spent == sum(e.cents for e in book.expenses.values() if e.envelope_id == envelope.envelope_id)
        assert envelope.assigned >= 0 and (not envelope.locked or envelope.spent <= envelope.assigned)
    assert all(e.envelope_id in book.envelopes for e in book.expenses.values())
    assert book.book["book"].income == sum(i.cents for i in book.incomes.values())
    for goal in book.goals.values():
        assert 0 <= goal.saved <= goal.target or goal.status == "dropped"
        assert (goal.status == "reached") == (goal.saved == goal.target)
    free = book.book["book"].income - sum(e.assigned for e in book.envelopes.values())
    assert free - sum(g.saved for g in book.goals.values()) >= 0


TestBudget = machine(Budget, check)


def test_the_definition() -> None:
    check_server(Budget, tools=12)
    check_seeding(Budget)


@pytest.fixture
def session() -> Any:
    with world(Budget).session(7) as opened:
        ok(opened, "get_budget")
        yield opened


def test_assigned_money_is_no_longer_free(session: Session) -> None:
    free = ok(session, "get_budget")["free"]
    one, two, *_ = ok(session, "list_envelopes")
    parts = [{"envelope_id": one["envelope_id"], "amount": 1.5}, {"envelope_id": two["envelope_id"], "amount": 2}]
    done = ok(session, "assign_money", parts=parts)
    assert done["free"] == pytest.approx(free - 3.5)
    assert done["envelopes"][0]["left"] == pytest.approx(one["left"] + 1.5)
    refused(session, "insufficient", "assign_money", parts=[{"envelope_id": one["envelope_id"], "amount": free}])
    refused(session, "invalid_value", "assign_money", parts=[parts[0], parts[0]])


def test_a_locked_envelope_is_never_overspent(session: Session) -> None:
    key = ok(session, "create_envelope", name="Night school", group="needs")["envelope_id"]
    assert ok(session, "add_expense", envelope_id=key, amount=3, shop="Kiosk")["left"] == -3
    refused(session, "wrong_state", "lock_envelope", envelope_id=key)
    ok(session, "assign_money", parts=[{"envelope_id": key, "amount": 5}])
    ok(session, "lock_envelope", envelope_id=key)
    refused(session, "insufficient", "add_expense", envelope_id=key, amount=2.01, shop="Kiosk")
    ok(session, "unlock_envelope", envelope_id=key)
    assert ok(session, "add_expense", envelope_id=key, amount=2.01, shop="Kiosk")["left"] == pytest.approx(-0.01)


def test_expenses_move_and_go(session: Session) -> None:
    one, two, *_ = [e["envelope_id"] for e in ok(session, "list_envelopes", limit=9)]
    ok(session, "unlock_envelope", envelope_id=two)
    row = ok(session, "list_expenses", envelope_id=one)[0]
    before = ok(session, "get_envelope", envelope_id=two)["spent"]
    ok(session, "move_expense", expense_id=row["expense_id"], envelope_id=two)
    assert ok(session, "get_envelope", envelope_id=two)["spent"] == pytest.approx(before + row["amount"])
    refused(session, "wrong_state", "move_expense", expense_id=row["expense_id"], envelope_id=two)
    ok(session, "remove_expense", expense_id=row["expense_id"])
    assert ok(session, "get_envelope", envelope_id=two)["spent"] == pytest.approx(before)


def test_a_goal_is_reached_and_not_overfilled(session: Session) -> None:
    goal = ok(session, "create_goal", name="New fence", target=4)["goal_id"]
    key = ok(session, "create_envelope", name="Night school", group="saving")["envelope_id"]
    ok(session, "assign_money", parts=[{"envelope_id": key, "amount": 10}])
    refused(session, "invalid_value", "save_to_goal", goal_id=goal, envelope_id=key, amount=4.01)
    assert ok(session, "save_to_goal", goal_id=goal, envelope_id=key, amount=4)["status"] == "reached"
    refused(session, "wrong_state", "save_to_goal", goal_id=goal, envelope_id=key, amount=1)
    free = ok(session, "get_budget")["free"]
    ok(session, "drop_goal", goal_id=goal)
    assert ok(session, "get_budget")["free"] == pytest.approx(free + 4)


def test_a_closed_month_stays_as_it_is(session: Session) -> None:
    book: Any = state_of(session, Budget)
    now = f"{session.now:%Y-%m}"
    refused(session, "wrong_state", "close_month", month=now)
    day = min(e.day for e in book.expenses.values())
    if day[:7] < now:
        expense = next(e for e in book.expenses.values() if e.day == day)
        assert ok(session, "close_month", month=day[:7])["expenses"] >= 1
        refused(session, "wrong_state", "remove_expense", expense_id=expense.expense_id)
        refused(session, "wrong_state", "add_expense", envelope_id=expense.envelope_id, amount=1, shop="Kiosk", day=day)
    tomorrow = f"{session.now.year + 1}-01-01"
    refused(
        session, "invalid_value", "add_expense", envelope_id=next(iter(book.envelopes)), amount=1, shop="Kiosk", day=tomorrow
    )


def test_income_that_is_assigned_cannot_be_removed(session: Session) -> None:
    made = ok(session, "add_income", name="Found money", amount=50)
    key = ok(session, "list_envelopes")[0]["envelope_id"]
    ok(session, "assign_money", parts=[{"envelope_id": key, "amount": made["free"]}])
    refused(session, "insufficient", "remove_income", income_id=made["income_id"])
