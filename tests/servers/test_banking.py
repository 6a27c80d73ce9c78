"""The banking server: its mechanics, its refusals, and its invariants under random calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.servers.banking import Banking
from tasks.servers.sampler import Live, sample
from tasks.servers.session import Environment, Session
from tasks.servers.world import HELD_OUT_FROM
from tests.servers.driver import check_seeding, check_server, drive, ok, refused, state_of

WORLD = Environment([Banking])
SEED = 7


@pytest.fixture
def session() -> Iterator[Session]:
    with WORLD.session(SEED) as opened:
        yield opened


def live_of(seed: int) -> Live:
    with WORLD.session(seed) as opened:
        return sample(opened)


def account(session: Session, **facts: Any) -> str:
    """The identifier of the first account with these facts."""
    known = sample(session).entities["account"]
    return next(key for key, row in known.items() if all(row.get(k) == v for k, v in facts.items()))


def money_in(session: Session, account_id: str) -> tuple[float, float]:
    shown = ok(session, "get_balance", account_id=account_id)
    return shown["balance"], shown["available"]


def check(session: Session) -> None:
    """Money is conserved, nothing is overdrawn, and no name or standing payment is there twice."""
    bank = state_of(session, Banking)
    posted: dict[str, int] = {}
    for row in bank.transactions.values():
        posted[row.account_id] = posted.get(row.account_id, 0) + row.cents
    held: dict[str, int] = {}
    for row in bank.holds.values():
        assert row.cents > 0
        held[row.account_id] = held.get(row.account_id, 0) + row.cents
    for row in bank.accounts.values():
        assert row.cents == row.opening + posted.get(row.account_id, 0)
        assert row.cents >= 0
        assert held.get(row.account_id, 0) <= row.cents
        assert row.status == "open" or row.cents == 0
    for rows in (bank._open_accounts(), bank.payees.values(), bank.holds.values()):
        names = [row.name.casefold() for row in rows]
        assert len(names) == len(set(names))
    for rows, key in ((bank.standing.values(), "payee_id"), (bank.quotes.where(lambda r: r.status == "open"), "target_id")):
        targets = [getattr(row, key) for row in rows]
        assert len(targets) == len(set(targets))
    for row in bank.standing.values():
        assert row.payee_id in bank.payees and row.day > bank.now.date().isoformat()


# -- definition and seed -----------------------------------------------------------------------


def test_definition() -> None:
    check_server(Banking, tools=17)


def test_seeding() -> None:
    check_seeding(Banking)


@pytest.mark.parametrize("seed", [*range(12), *range(HELD_OUT_FROM, HELD_OUT_FROM + 6)])
def test_seeded_state_keeps_the_invariants(seed: int) -> None:
    with WORLD.session(seed) as session:
        ok(session, "list_accounts")
        check(session)
        assert {a["kind"] for a in ok(session, "list_accounts", limit=50)} == {"checking", "savings", "joint", "foreign"}


# -- mechanics ---------------------------------------------------------------------------------


def test_lookup_by_name_ignores_case(session: Session) -> None:
    first = ok(session, "list_accounts")[0]
    assert ok(session, "find_account", name=first["name"].upper())["account_id"] == first["account_id"]
    assert ok(session, "find_account", name=f" {first['name'].lower()} ")["account_id"] == first["account_id"]
    refused(session, "not_found", "find_account", name=first["name"][:-1])


def test_transfer_moves_money_and_both_sides_show_it(session: Session) -> None:
    source, target = account(session, kind="checking"), account(session, kind="joint")
    before = money_in(session, source)[0], money_in(session, target)[0]
    result = ok(session, "transfer_money", source_id=source, target_id=target, amount=12.5)
    assert result["source_balance"] == pytest.approx(before[0] - 12.5)
    assert result["target_balance"] == pytest.approx(before[1] + 12.5)
    assert ok(session, "list_transactions", account_id=source)[0]["amount"] == 12.5
    assert ok(session, "list_transactions", account_id=target)[0]["direction"] == "in"


def test_transfers_in_another_order_end_in_the_same_state() -> None:
    a, b = account_ids("checking")
    digests = set()
    for amounts in ((10, 20), (20, 10)):
        with WORLD.session(SEED) as session:
            for amount in amounts:
                ok(session, "transfer_money", source_id=a, target_id=b, amount=amount)
            digests.add(session.digest())
    assert len(digests) == 1


def account_ids(kind: str) -> list[str]:
    with WORLD.session(SEED) as session:
        return [a["account_id"] for a in ok(session, "list_accounts", kind=kind)]


def test_transfer_refusals(session: Session) -> None:
    source, euros = account(session, kind="checking"), account(session, currency="EUR")
    other = account(session, kind="joint")
    refused(session, "invalid_value", "transfer_money", source_id=source, target_id=source, amount=5)
    refused(session, "wrong_state", "transfer_money", source_id=source, target_id=euros, amount=5)
    refused(session, "insufficient", "transfer_money", source_id=source, target_id=other, amount=900_000)
    refused(session, "invalid_value", "transfer_money", source_id=source, target_id=other, amount=1.005)
    refused(session, "invalid_value", "transfer_money", source_id=source, target_id=other, amount=1e-9)
    refused(session, "not_found", "transfer_money", source_id=source, target_id="acc_000", amount=5)
    refused(session, "invalid_arguments", "transfer_money", source_id=source, target_id="payee_417", amount=5)
    refused(session, "invalid_arguments", "transfer_money", source_id=source, target_id=other, amount=float("nan"))


def test_money_on_hold_cannot_be_spent(session: Session) -> None:
    source, payee = account(session, kind="checking"), ok(session, "list_payees")[0]["payee_id"]
    balance, available = money_in(session, source)
    hold = ok(session, "place_hold", account_id=source, amount=available - 10, name="Banquet")
    assert money_in(session, source) == (balance, 10)
    refused(session, "insufficient", "send_payment", account_id=source, payee_id=payee, amount=10.5)
    refused(session, "insufficient", "place_hold", account_id=source, amount=11, name="Other")
    refused(session, "conflict", "place_hold", account_id=source, amount=5, name="BANQUET")
    assert ok(session, "find_hold", name="banquet")["hold_id"] == hold["hold_id"]
    ok(session, "release_hold", hold_id=hold["hold_id"])
    assert money_in(session, source) == (balance, available)
    refused(session, "not_found", "release_hold", hold_id=hold["hold_id"])


def test_a_pin_needs_the_code_of_its_card_and_a_code_works_once(session: Session) -> None:
    card = ok(session, "list_cards", status="active")[0]["card_id"]
    other = next(c["card_id"] for c in ok(session, "list_cards") if c["card_id"] != card)
    code, wrong = ok(session, "get_pin_code", card_id=card)["code"], ok(session, "get_pin_code", card_id=other)["code"]
    refused(session, "denied", "change_pin", card_id=card, code=wrong, pin=5937)
    refused(session, "invalid_value", "change_pin", card_id=card, code=code, pin=1111)
    assert ok(session, "change_pin", card_id=card, code=code, pin=5937) == {"card_id": card, "changed": True}
    refused(session, "denied", "change_pin", card_id=card, code=code, pin=5938)
    again = ok(session, "get_pin_code", card_id=card)["code"]
    refused(session, "invalid_value", "change_pin", card_id=card, code=again, pin=5937)
    ok(session, "freeze_card", card_id=card)
    refused(session, "wrong_state", "change_pin", card_id=card, code=again, pin=5938)


def test_a_card_pays_within_its_limit_and_not_when_frozen(session: Session) -> None:
    card, payee = ok(session, "list_cards", status="active")[0], ok(session, "list_payees", kind="person")[0]["payee_id"]
    key = card["card_id"]
    ok(session, "set_card_limit", card_id=key, amount=100)
    before = money_in(session, card["account_id"])[0]
    assert ok(session, "pay_by_card", card_id=key, payee_id=payee, amount=60)["balance"] == pytest.approx(before - 60)
    assert ok(session, "get_card", card_id=key)["left_today"] == 40
    refused(session, "insufficient", "pay_by_card", card_id=key, payee_id=payee, amount=40.01)
    assert ok(session, "freeze_card", card_id=key)["status"] == "frozen"
    refused(session, "wrong_state", "freeze_card", card_id=key)
    refused(session, "wrong_state", "pay_by_card", card_id=key, payee_id=payee, amount=1)
    ok(session, "unfreeze_card", card_id=key)
    ok(session, "pay_by_card", card_id=key, payee_id=payee, amount=40)


def test_which_accounts_pay(session: Session) -> None:
    payee = ok(session, "list_payees")[0]["payee_id"]
    joint, savings = account(session, kind="joint"), account(session, kind="savings")
    refused(session, "wrong_state", "send_payment", account_id=savings, payee_id=payee, amount=1)
    refused(session, "denied", "send_payment", account_id=joint, payee_id=payee, amount=1000.01)
    ok(session, "send_payment", account_id=joint, payee_id=payee, amount=1000, note="rent")
    refused(session, "invalid_value", "send_payment", account_id=joint, payee_id=payee, amount=1, note="a\nb")


def test_bills_are_paid_once_and_together_or_not_at_all(session: Session) -> None:
    source = account(session, kind="checking")
    bills = ok(session, "list_bills", limit=50)
    assert [b["due"] for b in bills] == sorted(b["due"] for b in bills)
    first, second = bills[0], bills[1]
    assert ok(session, "get_due_bill", payee_id=first["payee_id"])["bill_id"] == first["bill_id"]
    before = money_in(session, source)[0]
    paid = ok(session, "pay_bill", bill_id=first["bill_id"], account_id=source)
    assert paid["balance"] == pytest.approx(before - first["amount_due"])
    refused(session, "wrong_state", "pay_bills", bill_ids=[second["bill_id"], first["bill_id"]], account_id=source)
    refused(session, "invalid_value", "pay_bills", bill_ids=[second["bill_id"]] * 2, account_id=source)
    together = ok(session, "pay_bills", bill_ids=[b["bill_id"] for b in bills[1:3]], account_id=source)
    assert together["paid"] == 2
    refused(session, "not_found", "get_due_bill", payee_id=first["payee_id"])
    empty = ok(session, "open_account", name="Marina", kind="checking")["account_id"]
    refused(session, "insufficient", "pay_bills", bill_ids=[bills[3]["bill_id"]], account_id=empty)


def test_payees_are_added_and_removed(session: Session) -> None:
    details = {"bank": "Summit", "number": 12_345_678}
    key = ok(session, "add_payee", name="Ada Novak", details=details)["payee_id"]
    assert ok(session, "find_payee", name="ada novak")["payee_id"] == key
    refused(session, "conflict", "add_payee", name="ADA NOVAK", details={"bank": "Summit", "number": 12_345_679})
    refused(session, "conflict", "add_payee", name="Someone Else", details=details)
    refused(session, "invalid_arguments", "add_payee", name="Eve", details={**details, "iban": "x"})
    assert ok(session, "remove_payee", payee_id=key)["removed"]
    billed, regular = ok(session, "list_bills")[0]["payee_id"], ok(session, "list_standing")[0]["payee_id"]
    refused(session, "conflict", "remove_payee", payee_id=billed)
    refused(session, "conflict", "remove_payee", payee_id=regular)


def test_a_standing_payment_keeps_to_its_day_of_the_month(session: Session) -> None:
    source, payee = account(session, kind="checking"), ok(session, "list_payees", kind="person")[0]["payee_id"]
    made = ok(session, "add_standing", account_id=source, payee_id=payee, amount=20, day="2027-01-31")
    key, days = made["standing_id"], []
    for _ in range(3):
        days.append(ok(session, "skip_standing", standing_id=key)["next_day"])
    assert days == ["2027-02-28", "2027-03-31", "2027-04-30"]
    refused(session, "conflict", "add_standing", account_id=source, payee_id=payee, amount=5, day="2027-01-31")
    ok(session, "change_standing", standing_id=key, amount=25)
    assert ok(session, "get_standing", payee_id=payee)["amount"] == 25
    ok(session, "cancel_standing", standing_id=key)
    refused(session, "not_found", "get_standing", payee_id=payee)


@pytest.mark.parametrize("day", ["2026-02-31", "0000-01-01", "9999-12-31", "2001-01-01", "2027-01-01\n"])
def test_impossible_days_are_refused(session: Session, day: str) -> None:
    source, payee = account(session, kind="checking"), ok(session, "list_payees", kind="person")[0]["payee_id"]
    before = session.digest()
    result = session.call("add_standing", {"account_id": source, "payee_id": payee, "amount": 5, "day": day})
    assert result.error is not None and result.error.kind in ("invalid_value", "invalid_arguments")
    assert session.digest() == before


def test_accounts_open_empty_and_close_only_when_nothing_depends_on_them(session: Session) -> None:
    refused(session, "conflict", "open_account", name=ok(session, "list_accounts")[0]["name"], kind="savings")
    key = ok(session, "open_account", name="Marina", kind="savings")["account_id"]
    assert money_in(session, key) == (0, 0)
    source = account(session, kind="checking")
    ok(session, "transfer_money", source_id=source, target_id=key, amount=7)
    refused(session, "wrong_state", "close_account", account_id=key)
    ok(session, "transfer_money", source_id=key, target_id=source, amount=7)
    assert ok(session, "close_account", account_id=key)["status"] == "closed"
    refused(session, "wrong_state", "get_balance", account_id=key)
    refused(session, "not_found", "find_account", name="Marina")
    everything = money_in(session, source)[1]
    ok(session, "transfer_money", source_id=source, target_id=account(session, kind="joint"), amount=everything)
    refused(session, "wrong_state", "close_account", account_id=source)


def test_a_disputed_charge_is_put_back_once(session: Session) -> None:
    card = ok(session, "list_cards", status="active")[0]
    charge = ok(session, "get_last_charge", card_id=card["card_id"])["transaction_id"]
    amount = ok(session, "get_transaction", transaction_id=charge)["amount"]
    before = money_in(session, card["account_id"])[0]
    done = ok(session, "dispute_charge", transaction_id=charge, reason="duplicate")
    assert done["status"] == "disputed" and done["balance"] == pytest.approx(before + amount)
    refused(session, "wrong_state", "dispute_charge", transaction_id=charge)
    newest = ok(session, "list_transactions", account_id=card["account_id"])[0]["transaction_id"]
    refused(session, "wrong_state", "dispute_charge", transaction_id=newest)


def test_spending_search_and_statement_agree(session: Session) -> None:
    category, since = "groceries", "2025-01-01"
    rows = ok(session, "search_transactions", where={"category": category, "since": since}, limit=50)
    total = ok(session, "sum_spending", category=category, since=since)
    assert total == {"total": pytest.approx(sum(r["amount"] for r in rows)), "count": len(rows)}
    assert [r["amount"] for r in rows] == sorted((r["amount"] for r in rows), reverse=True)
    large = ok(session, "search_transactions", where={"min_amount": 50}, limit=50)
    assert large and all(r["amount"] >= 50 for r in large)
    ok(session, "set_category", transaction_id=large[0]["transaction_id"], category=category)
    assert ok(session, "get_transaction", transaction_id=large[0]["transaction_id"])["category"] == category
    source = account(session, kind="checking")
    statement = ok(session, "get_statement", account_id=source, since=since)
    assert statement["closing"] == money_in(session, source)[0]
    assert statement["opening"] + statement["paid_in"] - statement["paid_out"] == pytest.approx(statement["closing"])


def test_exchange_at_a_quote(session: Session) -> None:
    source, target = account(session, kind="checking"), account(session, currency="EUR")
    rate = ok(session, "get_rate", source="USD", target="EUR")["rate"]
    old = ok(session, "get_open_quote", target_id=target)["quote_id"]
    before = money_in(session, source)[0], money_in(session, target)[0]
    quote = ok(session, "quote_exchange", source_id=source, target_id=target, amount=100)
    assert quote["receives"] == pytest.approx(100 * rate, abs=0.02)
    assert (money_in(session, source)[0], money_in(session, target)[0]) == before
    refused(session, "not_found", "accept_quote", quote_id=old)
    done = ok(session, "accept_quote", quote_id=quote["quote_id"])
    assert done["source_balance"] == pytest.approx(before[0] - 100)
    assert done["target_balance"] == pytest.approx(before[1] + quote["receives"])
    refused(session, "wrong_state", "accept_quote", quote_id=quote["quote_id"])
    refused(session, "wrong_state", "quote_exchange", source_id=source, target_id=account(session, kind="joint"), amount=5)
    refused(session, "not_found", "get_open_quote", target_id=target)


@pytest.mark.parametrize("text", [" ", "a\x00b", "a\nb", "\ud800", "\u202eabc"])
def test_unprintable_text_is_refused_everywhere(session: Session, text: str) -> None:
    source = account(session, kind="checking")
    refused(session, "invalid_value", "open_account", name=text, kind="savings")
    refused(session, "invalid_value", "find_account", name=text)
    refused(session, "invalid_value", "place_hold", account_id=source, amount=5, name=text)
    refused(session, "invalid_value", "add_payee", name="Ok Name", details={"bank": text, "number": 12_345_678})


def test_injections_are_stored_as_text(session: Session) -> None:
    name = "'; DROP TABLE accounts; --"
    key = ok(session, "open_account", name=name, kind="savings")["account_id"]
    assert ok(session, "find_account", name=name)["account_id"] == key


LIVE = {seed: live_of(seed) for seed in (SEED, HELD_OUT_FROM + 1)}


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), world=st.sampled_from(sorted(LIVE)), hostile=st.sampled_from((0.02, 0.1, 0.4)))
def test_random_calls_keep_the_invariants(seed: int, world: int, hostile: float) -> None:
    drive(WORLD, world, seed, LIVE[world], check, calls=40, hostile=hostile)
