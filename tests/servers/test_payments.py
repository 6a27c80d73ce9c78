"""The payments server: money is held, taken, freed and given back, and never made."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.servers.payments import Payments
from tasks.servers.session import Session
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import machine, world


def check(session: Session) -> None:
    """Every source: its money is what it opened with less captures plus refunds; what is held is what is authorised."""
    wallet: Any = state_of(session, Payments)
    if wallet is None:
        return
    payments = list(wallet.payments.values())
    for source in wallet.sources.values():
        own = [p for p in payments if p.source_id == source.source_id]
        assert source.cents == source.opening - sum(p.captured - p.refunded for p in own)
        assert source.held == sum(p.amount for p in own if p.status == "authorized")
        assert 0 <= source.held <= source.cents
    for p in payments:
        assert 0 <= p.refunded <= p.captured <= p.amount
        assert (p.status in ("authorized", "voided")) == (p.captured == 0)
        assert (p.status == "refunded") == (p.captured > 0 and p.refunded == p.captured)
    for request in wallet.requests.values():
        assert (request.status == "paid") == (request.payment_id in wallet.payments)


TestPayments = machine(Payments, check)


def test_the_definition() -> None:
    check_server(Payments, tools=10)
    check_seeding(Payments)


@pytest.fixture
def session() -> Any:
    with world(Payments).session(7) as opened:
        ok(opened, "list_payments")
        yield opened


def rich(session: Session) -> dict[str, Any]:
    return max(ok(session, "list_payment_sources"), key=lambda s: s["free"])  # type: ignore[no-any-return]


def free(session: Session, source_id: str) -> float:
    return next(s["free"] for s in ok(session, "list_payment_sources") if s["source_id"] == source_id)  # type: ignore[no-any-return]


def test_authorise_capture_a_part_and_refund(session: Session) -> None:
    source, merchant = rich(session), ok(session, "list_merchants")[0]
    held = ok(session, "authorize_payment", source_id=source["source_id"], merchant_id=merchant["merchant_id"], amount=50)
    assert held == {"payment_id": held["payment_id"], "status": "authorized", "free": pytest.approx(source["free"] - 50)}
    assert "only 50.0 is authorised" in refused(
        session, "insufficient", "capture_payment", payment_id=held["payment_id"], amount=51
    )
    refused(session, "wrong_state", "refund_payment", payment_id=held["payment_id"], amount=1)
    taken = ok(session, "capture_payment", payment_id=held["payment_id"], amount=30)
    assert taken["free"] == pytest.approx(source["free"] - 30), "the rest is free again"
    refused(session, "wrong_state", "void_payment", payment_id=held["payment_id"])
    assert ok(session, "refund_payment", payment_id=held["payment_id"], amount=10)["status"] == "partly_refunded"
    refused(session, "insufficient", "refund_payment", payment_id=held["payment_id"], amount=20.01)
    assert ok(session, "refund_payment", payment_id=held["payment_id"], amount=20)["status"] == "refunded"
    assert free(session, source["source_id"]) == pytest.approx(source["free"])


def test_held_money_cannot_be_spent_twice(session: Session) -> None:
    source, merchant, friend = rich(session), ok(session, "list_merchants")[0], ok(session, "list_friends")[0]
    ok(session, "authorize_payment", source_id=source["source_id"], merchant_id=merchant["merchant_id"], amount=source["free"])
    refused(session, "insufficient", "pay_friend", source_id=source["source_id"], friend_id=friend["friend_id"], amount=0.01)


def test_a_merchant_has_a_smallest_amount(session: Session) -> None:
    source, merchant = rich(session), ok(session, "list_merchants")[0]
    arguments = {"source_id": source["source_id"], "merchant_id": merchant["merchant_id"]}
    refused(session, "invalid_value", "authorize_payment", **arguments, amount=merchant["smallest"] - 0.01)
    refused(session, "invalid_value", "authorize_payment", **arguments, amount=10.001)


def test_requests_are_answered_by_the_side_that_was_asked(session: Session) -> None:
    source = rich(session)["source_id"]
    first, second, *_ = ok(session, "list_payment_requests")
    paid = ok(session, "pay_payment_request", request_id=first["request_id"], source_id=source)
    assert ok(session, "get_payment", payment_id=paid["payment_id"])["payee"] == first["friend"]
    refused(session, "wrong_state", "decline_payment_request", request_id=first["request_id"])
    ok(session, "decline_payment_request", request_id=second["request_id"])
    mine = ok(session, "list_payment_requests", direction="outgoing")[0]["request_id"]
    refused(session, "denied", "pay_payment_request", request_id=mine, source_id=source)
    assert ok(session, "withdraw_payment_request", request_id=mine)["status"] == "withdrawn"


def test_a_bill_is_split_once_a_friend(session: Session) -> None:
    one, two, *_ = (f["friend_id"] for f in ok(session, "list_friends"))
    shares = [{"friend_id": one, "amount": 10.5}, {"friend_id": two, "amount": 4.25}]
    made = ok(session, "split_bill", shares=shares, note="dinner")
    assert made["total"] == 14.75 and len(made["requests"]) == 2
    refused(session, "invalid_value", "split_bill", shares=[shares[0], shares[0]])
    refused(session, "not_found", "split_bill", shares=[shares[0], {"friend_id": "fri_000", "amount": 1}])
    refused(session, "invalid_arguments", "split_bill", shares=[{**shares[0], "more": 1}])


def test_subscriptions_pause_resume_and_end(session: Session) -> None:
    row = ok(session, "list_subscriptions")[0]
    key = row["subscription_id"]
    ok(session, "pause_subscription", subscription_id=key)
    refused(session, "wrong_state", "pay_subscription", subscription_id=key)
    ok(session, "resume_subscription", subscription_id=key)
    source = rich(session)["source_id"]
    ok(session, "change_subscription_source", subscription_id=key, source_id=source)
    paid = ok(session, "pay_subscription", subscription_id=key)
    assert ok(session, "get_payment", payment_id=paid["payment_id"])["source_id"] == source
    assert ok(session, "find_subscription", name=row["name"].upper())["due"] > row["due"]
    ok(session, "cancel_subscription", subscription_id=key)
    refused(session, "not_found", "find_subscription", name=row["name"])
    refused(session, "wrong_state", "resume_subscription", subscription_id=key)


def test_identifiers_have_kinds(session: Session) -> None:
    friend = ok(session, "list_friends")[0]["friend_id"]
    refused(session, "invalid_arguments", "get_payment", payment_id=friend)
    refused(session, "not_found", "get_payment", payment_id="pmt_000")
