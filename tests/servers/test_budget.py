"""The budget server: what came in is assigned, saved or free, locked envelopes hold, and closed months stay as they are."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.servers.budget import Budget
from tasks.servers.session import Session
from tasks.servers.world import HELD_OUT_FROM
from tests.servers.driver import Driver, check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import live_of, machine, world


def check(session: Session) -> None:
    """Spending is the sum of expenses, free money is what is left of income, goals stay within their targets."""
    book: Any = state_of(session, Budget)
    if book is None:
        return
    expenses = list(book.expenses.values())
    for envelope in book.envelopes.values():
        own = [e for e in expenses if e.envelope_id == envelope.envelope_id]
        assert envelope.spent == sum(e.cents for e in own)
        assert envelope.locked <= (envelope.spent <= envelope.assigned)
        for budget in book.budgets.values():
            if envelope.locked and budget.envelope_id == envelope.envelope_id:
                assert sum(e.cents for e in own if e.day[:7] == budget.month) <= budget.cents
    assert all(e.envelope_id in book.envelopes and e.cents > 0 for e in expenses)
    assert all(e.day <= session.now.date().isoformat() for e in (*expenses, *book.incomes.values()))
    assert all(b.envelope_id in book.envelopes and b.cents > 0 for b in book.budgets.values())
    assert len({(b.envelope_id, b.month) for b in book.budgets.values()}) == len(book.budgets)
    for goal in book.goals.values():
        assert 0 <= goal.saved <= goal.target
        assert (goal.status == "reached") == (goal.saved == goal.target)
    came_in = sum(i.cents for i in book.incomes.values())
    assigned = sum(e.assigned for e in book.envelopes.values())
    assert came_in - assigned - sum(g.saved for g in book.goals.values()) >= 0
    assert all(month < f"{session.now:%Y-%m}" for month in book.book["book"].closed)


TestBudget = machine(Budget, check, examples=15, steps=40)


def step(driver: Driver, rng: random.Random) -> None:
    """One call that moves some money about as large as what there is."""
    book: Any = state_of(driver.session, Budget)
    envelopes, amount = list(book.envelopes), rng.choice((1, 5.5, 20, 80))
    one, two = rng.choice(envelopes), rng.choice(envelopes)
    goal, day = rng.choice(list(book.goals)), (driver.session.now.date() - dt.timedelta(days=rng.randint(0, 70))).isoformat()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("add_expense", {"envelope_id": one, "amount": amount, "shop": "Kiosk", "day": day}),
        ("move_envelope_money", {"source_id": one, "target_id": two, "amount": amount}),
        ("assign_money", {"parts": [{"envelope_id": one, "amount": amount}, {"envelope_id": two, "amount": 1}]}),
        ("unassign_money", {"envelope_id": one, "amount": amount}),
        ("fund_savings_goal", {"goal_id": goal, "envelope_id": one, "amount": amount}),
        ("take_from_savings_goal", {"goal_id": goal, "envelope_id": one, "amount": amount}),
        ("drop_savings_goal", {"goal_id": goal}),
        ("set_budget", {"envelope_id": one, "amount": amount, "month": day[:7]}),
        ("copy_budgets", {"source": f"{driver.session.now:%Y-%m}", "target": day[:7]}),
        (rng.choice(("lock_envelope", "unlock_envelope")), {"envelope_id": one}),
        ("close_budget_month", {"month": day[:7]}),
    ]
    if book.expenses:
        expense = rng.choice(list(book.expenses))
        calls.append(("move_expense", {"expense_id": expense, "envelope_id": two}))
        calls.append(("correct_expense", {"expense_id": expense, "amount": amount}))
        calls.append(("remove_expense", {"expense_id": expense}))
    driver.call(*rng.choice(calls))


@given(seed=st.integers(0, 2**20))
@settings(max_examples=12, deadline=None)
def test_random_sums_about_as_large_as_what_there_is(seed: int) -> None:
    rng = random.Random(seed)
    with world(Budget).session(3) as opened:
        driver = Driver(opened, rng, live_of(Budget, 3))
        driver.call("get_budget_totals", {})
        for _ in range(40):
            step(driver, rng)
            try:
                check(opened)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{driver.story()}") from error
        assert sum(r.ok for _, _, r in driver.log) >= 10
        final = opened.digest()
    with world(Budget).session(3) as again:
        for name, arguments, result in driver.log:
            assert again.call(name, arguments) == result
        assert again.digest() == final


def test_the_definition() -> None:
    check_server(Budget, tools=12)
    check_seeding(Budget)


@pytest.mark.parametrize("seed", [*range(12), *range(HELD_OUT_FROM, HELD_OUT_FROM + 4)])
def test_every_world_starts_in_order(seed: int) -> None:
    with world(Budget).session(seed) as opened:
        totals = ok(opened, "get_budget_totals")
        check(opened)
        book: Any = state_of(opened, Budget)
        assert len(book.envelopes) == 9 and len(book.goals) == 6 and len(book.budgets) >= 12
        assert totals["free"] > 0 and totals["left"] > 0
        assert sum(e.locked for e in book.envelopes.values()) == 2
        assert sum(e.spent > e.assigned for e in book.envelopes.values()) == 1


def test_what_is_shown_leads_to_every_kind() -> None:
    assert set(live_of(Budget, 7).entities) == {"envelope", "budget", "expense", "income", "savings_goal"}


@pytest.fixture
def session() -> Any:
    with world(Budget).session(7) as opened:
        ok(opened, "get_budget_totals")
        yield opened


def last_month(session: Session) -> str:
    """The last day of the month before the session's."""
    return (session.now.date().replace(day=1) - dt.timedelta(days=1)).isoformat()


def test_assigned_money_is_no_longer_free(session: Session) -> None:
    free = ok(session, "get_budget_totals")["free"]
    one, two, *_ = ok(session, "list_envelopes")
    parts = [{"envelope_id": one["envelope_id"], "amount": 1.5}, {"envelope_id": two["envelope_id"], "amount": 2}]
    done = ok(session, "assign_money", parts=parts)
    assert done["free"] == pytest.approx(free - 3.5)
    assert done["envelopes"][0]["left"] == pytest.approx(one["left"] + 1.5)
    refused(session, "insufficient", "assign_money", parts=[{"envelope_id": one["envelope_id"], "amount": free}])
    refused(session, "invalid_value", "assign_money", parts=[parts[0], parts[0]])
    refused(session, "invalid_arguments", "assign_money", parts=[{**parts[0], "more": 1}])
    done = ok(session, "unassign_money", envelope_id=one["envelope_id"], amount=1.5)
    assert done == {"envelope_id": one["envelope_id"], "left": one["left"], "free": pytest.approx(free - 2)}
    refused(session, "insufficient", "unassign_money", envelope_id=one["envelope_id"], amount=one["left"] + 0.01)


def test_a_locked_envelope_is_never_overspent(session: Session) -> None:
    key = ok(session, "create_envelope", name="Night school", group="needs")["envelope_id"]
    assert ok(session, "add_expense", envelope_id=key, amount=3, shop="Kiosk")["left"] == -3
    refused(session, "wrong_state", "lock_envelope", envelope_id=key)
    ok(session, "assign_money", parts=[{"envelope_id": key, "amount": 5}])
    ok(session, "lock_envelope", envelope_id=key)
    refused(session, "insufficient", "add_expense", envelope_id=key, amount=2.01, shop="Kiosk")
    ok(session, "unlock_envelope", envelope_id=key)
    assert ok(session, "add_expense", envelope_id=key, amount=2.01, shop="Kiosk")["left"] == pytest.approx(-0.01)


def test_a_locked_envelope_keeps_to_its_budget_for_the_month(session: Session) -> None:
    key = ok(session, "create_envelope", name="Night school", group="needs")["envelope_id"]
    ok(session, "assign_money", parts=[{"envelope_id": key, "amount": 50}])
    budget = ok(session, "set_budget", envelope_id=key, amount=10)
    assert ok(session, "set_budget", envelope_id=key, amount=12)["budget_id"] == budget["budget_id"]
    ok(session, "lock_envelope", envelope_id=key)
    spent = ok(session, "add_expense", envelope_id=key, amount=10, shop="Kiosk")["expense_id"]
    assert "2.0 left" in refused(session, "insufficient", "add_expense", envelope_id=key, amount=2.5, shop="Kiosk")
    ok(session, "add_expense", envelope_id=key, amount=2.5, shop="Kiosk", day=last_month(session))
    refused(session, "insufficient", "correct_expense", expense_id=spent, amount=12.01)
    assert ok(session, "correct_expense", expense_id=spent, amount=12)["left"] == pytest.approx(50 - 14.5)
    refused(session, "wrong_state", "set_budget", envelope_id=key, amount=11.99)
    assert ok(session, "find_budget", envelope_id=key)["spent"] == 12
    ok(session, "unlock_envelope", envelope_id=key)
    ok(session, "set_budget", envelope_id=key, amount=11)
    refused(session, "wrong_state", "lock_envelope", envelope_id=key)
    ok(session, "remove_budget", budget_id=budget["budget_id"])
    refused(session, "not_found", "find_budget", envelope_id=key)
    ok(session, "lock_envelope", envelope_id=key)


def test_budgets_are_copied_to_where_there_are_none(session: Session) -> None:
    month, year = f"{session.now:%Y-%m}", session.now.year
    rows = ok(session, "list_budgets", limit=50)
    target = f"{year + 1}-01"
    ok(session, "set_budget", envelope_id=rows[0]["envelope_id"], amount=1, month=target)
    assert ok(session, "copy_budgets", source=month, target=target) == {"month": target, "budgets": len(rows) - 1}
    copied = ok(session, "list_budgets", month=target, limit=50)
    assert {c["envelope_id"]: c["amount"] for c in copied} == {
        r["envelope_id"]: 1 if r is rows[0] else r["amount"] for r in rows
    }
    refused(session, "not_found", "copy_budgets", source=month, target=target)
    refused(session, "invalid_arguments", "copy_budgets", source=month, target="2026-13")


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


def test_an_envelope_with_expenses_stays(session: Session) -> None:
    free = ok(session, "get_budget_totals")["free"]
    key = ok(session, "create_envelope", name="Night school", group="wants")["envelope_id"]
    refused(session, "conflict", "create_envelope", name="night SCHOOL", group="wants")
    ok(session, "set_budget", envelope_id=key, amount=10)
    ok(session, "assign_money", parts=[{"envelope_id": key, "amount": 10}])
    spent = ok(session, "add_expense", envelope_id=key, amount=1, shop="Kiosk")["expense_id"]
    refused(session, "wrong_state", "delete_envelope", envelope_id=key)
    ok(session, "remove_expense", expense_id=spent)
    ok(session, "delete_envelope", envelope_id=key)
    assert ok(session, "get_budget_totals")["free"] == free
    assert all(b["envelope_id"] != key for b in ok(session, "list_budgets", limit=50))


def test_a_goal_is_reached_and_not_overfilled(session: Session) -> None:
    goal = ok(session, "create_savings_goal", name="New fence", target=4)["goal_id"]
    key = ok(session, "create_envelope", name="Night school", group="saving")["envelope_id"]
    ok(session, "assign_money", parts=[{"envelope_id": key, "amount": 10}])
    refused(session, "invalid_value", "fund_savings_goal", goal_id=goal, envelope_id=key, amount=4.01)
    assert ok(session, "fund_savings_goal", goal_id=goal, envelope_id=key, amount=4)["status"] == "reached"
    refused(session, "wrong_state", "fund_savings_goal", goal_id=goal, envelope_id=key, amount=1)
    refused(session, "insufficient", "take_from_savings_goal", goal_id=goal, envelope_id=key, amount=4.01)
    taken = ok(session, "take_from_savings_goal", goal_id=goal, envelope_id=key, amount=1)
    assert (taken["saved"], taken["status"]) == (3, "open")
    assert ok(session, "get_envelope", envelope_id=key)["left"] == 7
    free = ok(session, "get_budget_totals")["free"]
    ok(session, "drop_savings_goal", goal_id=goal)
    assert ok(session, "get_budget_totals")["free"] == pytest.approx(free + 3)
    refused(session, "not_found", "find_savings_goal", name="New fence")
    refused(session, "wrong_state", "drop_savings_goal", goal_id=goal)
    assert ok(session, "create_savings_goal", name="new fence", target=9)["goal_id"] != goal


def test_a_closed_month_stays_as_it_is(session: Session) -> None:
    now, day = f"{session.now:%Y-%m}", last_month(session)
    refused(session, "wrong_state", "close_budget_month", month=now)
    key = ok(session, "create_envelope", name="Night school", group="needs")["envelope_id"]
    spent = ok(session, "add_expense", envelope_id=key, amount=1, shop="Kiosk", day=day)["expense_id"]
    income = ok(session, "add_income", name="Found money", amount=50, day=day)["income_id"]
    budget = ok(session, "set_budget", envelope_id=key, amount=5, month=day[:7])["budget_id"]
    totals = ok(session, "get_month_totals", month=day[:7])
    done = ok(session, "close_budget_month", month=day[:7])
    assert done["total"] == totals["spent"] and ok(session, "get_month_totals", month=day[:7]) == {**totals, "closed": True}
    other = ok(session, "list_envelopes")[0]["envelope_id"]
    for tool, arguments in (
        ("close_budget_month", {"month": day[:7]}),
        ("remove_expense", {"expense_id": spent}),
        ("correct_expense", {"expense_id": spent, "amount": 2}),
        ("move_expense", {"expense_id": spent, "envelope_id": other}),
        ("add_expense", {"envelope_id": key, "amount": 1, "shop": "Kiosk", "day": day}),
        ("add_income", {"name": "Found money", "amount": 1, "day": day}),
        ("remove_income", {"income_id": income}),
        ("set_budget", {"envelope_id": key, "amount": 1, "month": day[:7]}),
        ("remove_budget", {"budget_id": budget}),
        ("copy_budgets", {"source": now, "target": day[:7]}),
    ):
        assert "is closed" in refused(session, "wrong_state", tool, **arguments)


def test_days_are_of_the_calendar_and_not_ahead(session: Session) -> None:
    key = ok(session, "list_envelopes")[0]["envelope_id"]
    tomorrow = (session.now.date() + dt.timedelta(days=1)).isoformat()
    for day in (tomorrow, "2026-02-31", "1999-12-31"):
        refused(session, "invalid_value", "add_expense", envelope_id=key, amount=1, shop="Kiosk", day=day)
    refused(session, "invalid_value", "add_expense", envelope_id=key, amount=1, shop="a\nb")
    refused(session, "invalid_value", "add_expense", envelope_id=key, amount=1.005, shop="Kiosk")


def test_income_that_is_assigned_cannot_be_removed(session: Session) -> None:
    made = ok(session, "add_income", name="Found money", amount=50)
    assert ok(session, "find_income", name="found MONEY")["income_id"] == made["income_id"]
    key = ok(session, "list_envelopes")[0]["envelope_id"]
    ok(session, "assign_money", parts=[{"envelope_id": key, "amount": made["free"]}])
    refused(session, "insufficient", "remove_income", income_id=made["income_id"])
    ok(session, "unassign_money", envelope_id=key, amount=50)
    assert ok(session, "remove_income", income_id=made["income_id"])["free"] == 0


def test_a_month_is_summed_three_ways(session: Session) -> None:
    month = f"{session.now:%Y-%m}"
    spent = ok(session, "get_month_totals")["spent"]
    for by in ("envelope", "group", "shop"):
        rows = ok(session, "summarize_spending", by=by, limit=50)
        assert sum(r["spent"] for r in rows) == pytest.approx(spent)
        assert [r["spent"] for r in rows] == sorted((r["spent"] for r in rows), reverse=True)
    key = ok(session, "list_envelopes")[0]["envelope_id"]
    ok(session, "add_expense", envelope_id=key, amount=5000, shop="Kiosk")
    assert ok(session, "summarize_spending", by="shop", month=month)[0] == {"name": "Kiosk", "spent": 5000, "expenses": 1}
    assert ok(session, "summarize_spending", month="2001-01") == []
