"""The marketplace server after a deal: disputes and who gets the money, ratings and replies."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.servers.session import Session
from tests.servers.driver import ok, refused
from tests.servers.test_marketplace import deal, session, state, wallet

__all__ = ["session"]


@pytest.mark.parametrize("fair", [True, False])
def test_a_late_parcel_is_refunded(session: Session, fair: bool) -> None:
    market = state(session)
    lost = next(e for e in market.escrows.values() if e.lost)
    market.sellers.update(lost.seller, fair=fair)
    assert ok(session, "track_parcel", escrow_id=lost.escrow_id)["overdue"]
    refused(session, "wrong_state", "open_dispute", escrow_id=lost.escrow_id, reason="damaged")
    refused(session, "invalid_value", "open_dispute", escrow_id=lost.escrow_id, reason="not_received", claim=9000)
    key = ok(session, "open_dispute", escrow_id=lost.escrow_id, reason="not_received")["dispute_id"]
    refused(session, "conflict", "open_dispute", escrow_id=lost.escrow_id, reason="not_received")
    refused(session, "wrong_state", "escalate_dispute", dispute_id=key)
    ok(session, "wait_days", days=2)
    shown = ok(session, "find_dispute", escrow_id=lost.escrow_id)
    assert shown["status"] == ("settled" if fair else "proposed")
    if not fair:
        assert round(shown["proposed"] * 100) == lost.total // 2
        assert ok(session, "escalate_dispute", dispute_id=key)["status"] == "upheld"
    assert market.escrows[lost.escrow_id].refunded == lost.total
    assert ok(session, "get_purchase", escrow_id=lost.escrow_id)["status"] == "refunded"


def test_a_parcel_that_is_not_due_cannot_be_missed(session: Session) -> None:
    row = deal(session, "buyer", "shipped")
    message = refused(session, "wrong_state", "open_dispute", escrow_id=row.escrow_id, reason="not_received")
    assert ok(session, "track_parcel", escrow_id=row.escrow_id)["arrives"] in message


def answered(session: Session) -> Any:
    return next(d for d in state(session).disputes.values() if d.status == "proposed")


@pytest.mark.parametrize(("evidence", "status"), [("photo", "rejected"), ("chat", "upheld")])
def test_evidence_that_fits_decides(session: Session, evidence: str, status: str) -> None:
    row, had = answered(session), wallet(session)
    assert ok(session, "add_dispute_evidence", dispute_id=row.dispute_id, evidence=[evidence] * 2)["pieces"] == 1
    refused(session, "conflict", "add_dispute_evidence", dispute_id=row.dispute_id, evidence=[evidence])
    assert ok(session, "escalate_dispute", dispute_id=row.dispute_id)["status"] == status
    assert wallet(session) - had == (row.claim if status == "upheld" else 0)
    refused(session, "wrong_state", "accept_settlement", dispute_id=row.dispute_id)


def test_a_settlement_shares_the_money(session: Session) -> None:
    market, row, had = state(session), answered(session), wallet(session)
    escrow = market.escrows[row.escrow_id]
    seller = market.sellers[escrow.seller].money
    refused(session, "wrong_state", "confirm_receipt", escrow_id=row.escrow_id)
    ok(session, "accept_settlement", dispute_id=row.dispute_id)
    assert wallet(session) - had == row.proposed
    assert market.sellers[escrow.seller].money - seller == escrow.total - row.proposed
    assert market.escrows[row.escrow_id].status == "finished"


def test_a_dispute_that_is_withdrawn_lets_the_purchase_go_on(session: Session) -> None:
    row = answered(session)
    ok(session, "withdraw_dispute", dispute_id=row.dispute_id)
    assert ok(session, "confirm_receipt", escrow_id=row.escrow_id)["status"] == "finished"


@pytest.mark.parametrize("granted", [True, False])
def test_a_buyers_claim_is_granted_or_upheld(session: Session, granted: bool) -> None:
    market = state(session)
    row = next(d for d in market.disputes.values() if market.escrows[d.escrow_id].seller == market._me)
    escrow, had = market.escrows[row.escrow_id], wallet(session)
    refused(session, "denied", "withdraw_dispute", dispute_id=row.dispute_id)
    refused(session, "denied", "grant_claim", dispute_id=answered(session).dispute_id)
    if granted:
        assert ok(session, "grant_claim", dispute_id=row.dispute_id)["status"] == "settled"
        assert wallet(session) - had == escrow.total - row.claim
    else:
        ok(session, "wait_days", days=3)
        assert market.disputes[row.dispute_id].status == "open"
        ok(session, "wait_days", days=1)
        assert market.disputes[row.dispute_id].status == "upheld"
    assert market.escrows[row.escrow_id].released == escrow.total - row.claim


# -- ratings -----------------------------------------------------------------------------------


def test_a_finished_deal_is_rated_once(session: Session) -> None:
    market = state(session)
    rated = {r.escrow_id for r in market.ratings.values()}
    row = next(e for e in market.escrows.values() if e.status == "finished" and e.escrow_id not in rated)
    refused(session, "not_found", "find_rating", escrow_id=row.escrow_id)
    refused(session, "invalid_value", "rate_deal", escrow_id=row.escrow_id, stars=4, comment="\x00")
    given = ok(session, "rate_deal", escrow_id=row.escrow_id, stars=1, comment="so so")
    other = row.seller if row.buyer == market._me else row.buyer
    stars = [r.stars for r in market.ratings.values() if r.subject == other]
    assert given["seller_id"] == other and given["rating"] == round(sum(stars) / len(stars), 1)
    refused(session, "conflict", "rate_deal", escrow_id=row.escrow_id, stars=5)
    ok(session, "change_rating", rating_id=given["rating_id"], stars=5)
    shown = {"rating_id": given["rating_id"], "stars": 5, "comment": "so so"}
    assert ok(session, "find_rating", escrow_id=row.escrow_id) == shown
    assert shown in ok(session, "list_seller_ratings", seller_id=other, limit=50)


def test_replies_are_to_ratings_of_the_user(session: Session) -> None:
    market = state(session)
    own = ok(session, "list_own_ratings")[0]
    ok(session, "reply_to_rating", rating_id=own["rating_id"], reply="Thank you")
    assert {**own, "reply": "Thank you"} in ok(session, "list_own_ratings")
    refused(session, "conflict", "reply_to_rating", rating_id=own["rating_id"], reply="Again")
    foreign = next(r for r in market.ratings.values() if market._me not in (r.subject, r.author))
    refused(session, "denied", "reply_to_rating", rating_id=foreign.rating_id, reply="No")
    refused(session, "denied", "change_rating", rating_id=foreign.rating_id, stars=1)
