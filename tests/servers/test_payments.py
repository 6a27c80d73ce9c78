"""The payments server: money is held, taken, freed and given back, and never made."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tasks.servers.payments import Payments
from tasks.servers.session import Session
from tasks.servers.world import HELD_OUT_FROM
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import live_of, machine, world


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
        assert (p.status == "partly_refunded") == (0 < p.refunded < p.captured)
        assert p.refunded == sum(r.cents for r in wallet.refunds.values() if r.payment_id == p.payment_id)
        assert p.source_id in wallet.sources and wallet._payee(p.payee_id)
        if p.payee_id in wallet.friends:
            assert wallet.sources[p.source_id].kind != "card"
    for r in wallet.refunds.values():
        assert r.cents > 0 and r.day >= wallet.payments[r.payment_id].day
    paid_requests = [r.payment_id for r in wallet.requests.values() if r.status == "paid"]
    assert len(set(paid_requests)) == len(paid_requests), "a payment answers one request"
    for request in wallet.requests.values():
        assert (request.status == "paid") == (request.payment_id in wallet.payments)
        assert request.status != "paid" or wallet.payments[request.payment_id].captured == request.amount
        assert request.status != "withdrawn" or request.direction == "outgoing"
        assert request.status not in ("paid", "declined") or request.direction == "incoming"
    live = [s.merchant_id for s in wallet.subscriptions.values() if s.status != "cancelled"]
    assert len(set(live)) == len(live)
    for s in wallet.subscriptions.values():
        assert s.source_id in wallet.sources and s.name == wallet.merchants[s.merchant_id].name


TestPayments = machine(Payments, check, examples=15, steps=40)


def test_the_definition() -> None:
    check_server(Payments, tools=10)
    check_seeding(Payments)


@pytest.mark.parametrize("seed", [*range(12), *range(HELD_OUT_FROM, HELD_OUT_FROM + 4)])
def test_every_world_starts_in_order(seed: int) -> None:
    with world(Payments).session(seed) as opened:
        ok(opened, "list_payments")
        check(opened)
        wallet: Any = state_of(opened, Payments)
        assert {p.status for p in wallet.payments.values()} == {
            "authorized",
            "captured",
            "partly_refunded",
            "refunded",
            "voided",
        }
        assert len(wallet.merchants) == 16 and len(wallet.subscriptions) == 5
        assert ok(opened, "get_payment_wallet")["requests"] == 4
        assert ok(opened, "get_payment_wallet")["free"] > 500


def test_what_is_shown_leads_to_every_kind() -> None:
    live = live_of(Payments, 7)
    assert set(live.entities) == {
        "payment_source",
        "merchant",
        "friend",
        "payment",
        "refund",
        "payment_request",
        "subscription",
    }


@pytest.fixture
def session() -> Any:
    with world(Payments).session(7) as opened:
        ok(opened, "list_payments")
        yield opened


def rich(session: Session, *kinds: str) -> dict[str, Any]:
    """The source with most free money, of these kinds if any are given."""
    rows = [s for s in ok(session, "list_payment_sources") if not s["blocked"] and s["kind"] in (kinds or s["kind"])]
    return max(rows, key=lambda s: s["free"])  # type: ignore[no-any-return]


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
    source, merchant = rich(session, "bank", "balance"), ok(session, "list_merchants")[0]
    friend = ok(session, "list_friends")[0]
    ok(session, "authorize_payment", source_id=source["source_id"], merchant_id=merchant["merchant_id"], amount=source["free"])
    refused(session, "insufficient", "pay_friend", source_id=source["source_id"], friend_id=friend["friend_id"], amount=0.01)


def test_a_merchant_has_a_smallest_amount(session: Session) -> None:
    source, merchant = rich(session), ok(session, "list_merchants")[0]
    arguments = {"source_id": source["source_id"], "merchant_id": merchant["merchant_id"]}
    refused(session, "invalid_value", "authorize_payment", **arguments, amount=merchant["smallest"] - 0.01)
    refused(session, "invalid_value", "authorize_payment", **arguments, amount=10.001)


def test_requests_are_answered_by_the_side_that_was_asked(session: Session) -> None:
    source = rich(session, "bank", "balance")["source_id"]
    first, second, *_ = ok(session, "list_payment_requests")
    friend = ok(session, "find_friend", name=first["friend"])["friend_id"]
    assert ok(session, "find_payment_request", friend_id=friend)["friend"] == first["friend"]
    paid = ok(session, "pay_payment_request", request_id=first["request_id"], source_id=source)
    assert ok(session, "get_payment", payment_id=paid["payment_id"])["payee"] == first["friend"]
    assert ok(session, "get_payment_request", request_id=first["request_id"]) == {
        "request_id": first["request_id"],
        "friend_id": friend,
        "direction": "incoming",
        "amount": first["amount"],
        "status": "paid",
        "payment_id": paid["payment_id"],
    }
    refused(session, "wrong_state", "decline_payment_request", request_id=first["request_id"])
    ok(session, "decline_payment_request", request_id=second["request_id"])
    mine = ok(session, "list_payment_requests", direction="outgoing")[0]["request_id"]
    refused(session, "denied", "pay_payment_request", request_id=mine, source_id=source)
    assert ok(session, "withdraw_payment_request", request_id=mine)["status"] == "withdrawn"
    refused(session, "denied", "withdraw_payment_request", request_id=ok(session, "list_payment_requests")[0]["request_id"])


def test_a_card_pays_merchants_and_no_friends(session: Session) -> None:
    card, friend = rich(session, "card"), ok(session, "list_friends")[0]["friend_id"]
    refused(session, "denied", "pay_friend", source_id=card["source_id"], friend_id=friend, amount=1)
    request = ok(session, "list_payment_requests")[0]["request_id"]
    refused(session, "denied", "pay_payment_request", source_id=card["source_id"], request_id=request)
    bank = rich(session, "bank")
    done = ok(session, "pay_friend", source_id=bank["source_id"], friend_id=friend, amount=1)
    assert done["free"] == pytest.approx(bank["free"] - 1)


def test_a_blocked_source_pays_nothing_new(session: Session) -> None:
    source, merchant = rich(session)["source_id"], ok(session, "list_merchants")[0]["merchant_id"]
    held = ok(session, "authorize_payment", source_id=source, merchant_id=merchant, amount=20)["payment_id"]
    assert ok(session, "block_payment_source", source_id=source)["blocked"]
    refused(session, "denied", "authorize_payment", source_id=source, merchant_id=merchant, amount=20)
    subscription = ok(session, "list_subscriptions")[0]["subscription_id"]
    refused(session, "denied", "change_subscription_source", subscription_id=subscription, source_id=source)
    assert ok(session, "capture_payment", payment_id=held)["status"] == "captured"
    assert ok(session, "refund_payment", payment_id=held, amount=5)["status"] == "partly_refunded"
    assert not ok(session, "unblock_payment_source", source_id=source)["blocked"]
    ok(session, "authorize_payment", source_id=source, merchant_id=merchant, amount=20)


def test_refunds_end() -> None:
    refundable = ("captured", "partly_refunded")
    for seed in range(8):
        with world(Payments).session(seed) as opened:
            ok(opened, "list_payments")
            wallet: Any = state_of(opened, Payments)
            for row in [p for p in wallet.payments.values() if p.status in refundable]:
                age = (opened.now.date() - dt.date.fromisoformat(row.day)).days
                if age > 45:
                    refused(opened, "wrong_state", "refund_payment", payment_id=row.payment_id)
                else:
                    done = ok(opened, "refund_payment", payment_id=row.payment_id)
                    assert done["status"] == "refunded"
                    assert done["refund_id"] in [r["refund_id"] for r in ok(opened, "list_refunds", payment_id=row.payment_id)]


def test_a_bill_is_split_once_a_friend(session: Session) -> None:
    one, two, *_ = (f["friend_id"] for f in ok(session, "list_friends"))
    shares = [{"friend_id": one, "amount": 10.5}, {"friend_id": two, "amount": 4.25}]
    made = ok(session, "split_bill", shares=shares, note="dinner")
    assert made["total"] == 14.75 and len(made["requests"]) == 2
    refused(session, "invalid_value", "split_bill", shares=[shares[0], shares[0]])
    refused(session, "not_found", "split_bill", shares=[shares[0], {"friend_id": "fri_000", "amount": 1}])
    refused(session, "invalid_arguments", "split_bill", shares=[{**shares[0], "more": 1}])


def test_subscriptions_pause_resume_and_end(session: Session) -> None:
    row = next(s for s in ok(session, "list_subscriptions") if s["status"] == "active")
    key = row["subscription_id"]
    ok(session, "pause_subscription", subscription_id=key)
    refused(session, "wrong_state", "pay_subscription", subscription_id=key)
    refused(session, "wrong_state", "pause_subscription", subscription_id=key)
    assert ok(session, "resume_subscription", subscription_id=key)["due"] == row["due"]
    assert ok(session, "find_subscription", name=row["name"].upper())["subscription_id"] == key
    ok(session, "cancel_subscription", subscription_id=key)
    refused(session, "not_found", "find_subscription", name=row["name"])
    refused(session, "wrong_state", "resume_subscription", subscription_id=key)


def test_a_subscription_is_paid_from_its_source_when_it_is_due() -> None:
    paid, early = 0, 0
    for seed in range(6):
        with world(Payments).session(seed) as opened:
            source = rich(opened)["source_id"]
            for row in [s for s in ok(opened, "list_subscriptions") if s["status"] == "active"]:
                key = row["subscription_id"]
                ok(opened, "change_subscription_source", subscription_id=key, source_id=source)
                if (dt.date.fromisoformat(row["due"]) - opened.now.date()).days > 7:
                    refused(opened, "wrong_state", "pay_subscription", subscription_id=key)
                    early += 1
                    continue
                done = ok(opened, "pay_subscription", subscription_id=key)
                told = ok(opened, "get_payment", payment_id=done["payment_id"])
                assert (told["source_id"], told["payee"], told["captured"]) == (source, row["name"], row["price"])
                due = ok(opened, "find_subscription", name=row["name"])["due"]
                days = {"week": 7, "month": 30, "year": 365}[row["every"]]
                assert dt.date.fromisoformat(due) == dt.date.fromisoformat(row["due"]) + dt.timedelta(days=days)
                paid += 1
    assert paid > 3 and early > 3


def test_a_merchant_is_subscribed_to_once(session: Session) -> None:
    source = rich(session)
    merchant = ok(session, "list_merchants")[0]
    arguments = {"merchant_id": merchant["merchant_id"], "source_id": source["source_id"]}
    made = ok(session, "start_subscription", **arguments, plan={"price": 12, "every": "year"})
    assert free(session, source["source_id"]) == pytest.approx(source["free"] - 12)
    assert made["due"] == (session.now.date() + dt.timedelta(days=365)).isoformat()
    refused(session, "conflict", "start_subscription", **arguments, plan={"price": 12, "every": "week"})
    refused(session, "invalid_arguments", "start_subscription", **arguments, plan={"price": 12, "every": "day"})
    refused(session, "wrong_state", "pay_subscription", subscription_id=made["subscription_id"])
    ok(session, "cancel_subscription", subscription_id=made["subscription_id"])
    again = ok(session, "start_subscription", **arguments, plan={"price": 12, "every": "week"})
    assert again["subscription_id"] != made["subscription_id"]
    assert ok(session, "find_last_payment", merchant_id=merchant["merchant_id"])["amount"] == 12


def test_the_wallet_sums_its_sources(session: Session) -> None:
    before = ok(session, "get_payment_wallet")
    assert before["free"] == pytest.approx(sum(s["free"] for s in ok(session, "list_payment_sources")))
    source, merchant = rich(session)["source_id"], ok(session, "list_merchants")[0]["merchant_id"]
    ok(session, "authorize_payment", source_id=source, merchant_id=merchant, amount=20)
    ok(session, "decline_payment_request", request_id=ok(session, "list_payment_requests")[0]["request_id"])
    after = ok(session, "get_payment_wallet")
    assert after["held"] == pytest.approx(before["held"] + 20) and after["free"] == pytest.approx(before["free"] - 20)
    assert after["requests"] == before["requests"] - 1


def test_identifiers_have_kinds(session: Session) -> None:
    friend = ok(session, "list_friends")[0]["friend_id"]
    refused(session, "invalid_arguments", "get_payment", payment_id=friend)
    refused(session, "not_found", "get_payment", payment_id="pmt_000")
