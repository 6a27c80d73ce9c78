"""The marketplace server: one buyer a listing, money in escrow until receipt or refund, ratings of finished deals only."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.servers.marketplace import Marketplace
from tasks.servers.session import Session
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import machine, world


def check(session: Session) -> None:
    """A sold thing has one live purchase, money is never negative, offers of sold things are closed, references resolve."""
    market: Any = state_of(session, Marketplace)
    if market is None:
        return
    for listing in market.listings.values():
        deals = [e for e in market.escrows.values() if e.listing_id == listing.listing_id and e.status != "refunded"]
        assert len(deals) == (listing.status == "sold")
        assert (listing.status in ("sold", "reserved")) == bool(listing.buyer)
        assert listing.buyer != listing.seller and listing.lowest > 0
        waiting = [
            o for o in market.offers.values() if o.listing_id == listing.listing_id and o.status in ("open", "countered")
        ]
        assert listing.status == "active" or not waiting
    assert all(t.money >= 0 for t in market.traders.values())
    for escrow in market.escrows.values():
        assert escrow.buyer != escrow.seller and escrow.price > 0
        assert escrow.rated == 0 or escrow.status == "finished"
        assert bool(escrow.carrier) == (escrow.status in ("shipped", "finished")) or escrow.status == "refunded"
    assert len({d.escrow_id for d in market.disputes.values()}) == len(market.disputes)
    names = [r.name.casefold() for r in market.listings.values()]
    assert len(names) == len(set(names))


TestMarketplace = machine(Marketplace, check)


def test_the_definition() -> None:
    check_server(Marketplace, tools=13)
    check_seeding(Marketplace)


@pytest.fixture
def session() -> Any:
    with world(Marketplace).session(7) as opened:
        ok(opened, "get_wallet")
        ok(opened, "add_to_wallet", amount=1000)
        yield opened


def total(session: Session) -> int:
    """All money, in wallets and in escrow."""
    market: Any = state_of(session, Marketplace)
    held = sum(e.price for e in market.escrows.values() if e.status in ("paid", "shipped"))
    return sum(t.money for t in market.traders.values()) + held  # type: ignore[no-any-return]


def cheap(session: Session) -> Any:
    return ok(session, "search_listings", most=500)[0]


def test_a_purchase_waits_in_escrow_until_it_is_received(session: Session) -> None:
    market: Any = state_of(session, Marketplace)
    before = total(session)
    shipped = next(e for e in market.escrows.values() if e.buyer == market._me and e.status == "shipped")
    had = market.traders[shipped.seller].money
    assert ok(session, "confirm_receipt", escrow_id=shipped.escrow_id)["status"] == "finished"
    assert market.traders[shipped.seller].money == had + shipped.price
    refused(session, "wrong_state", "confirm_receipt", escrow_id=shipped.escrow_id)
    assert ok(session, "rate_purchase", escrow_id=shipped.escrow_id, stars=4)["rating"] == 4
    refused(session, "conflict", "rate_purchase", escrow_id=shipped.escrow_id, stars=5)
    made = ok(session, "buy_listing", listing_id=cheap(session)["listing_id"])
    refused(session, "wrong_state", "rate_purchase", escrow_id=made["escrow_id"], stars=1)
    assert total(session) == before


def test_a_thing_is_sold_once(session: Session) -> None:
    row = cheap(session)
    made = ok(session, "buy_listing", listing_id=row["listing_id"])
    refused(session, "wrong_state", "buy_listing", listing_id=row["listing_id"])
    refused(session, "wrong_state", "make_offer", listing_id=row["listing_id"], price=row["price"])
    assert ok(session, "find_purchase", listing_id=row["listing_id"])["escrow_id"] == made["escrow_id"]


def test_offers_are_accepted_countered_or_declined(session: Session) -> None:
    one, two, three, *_ = ok(session, "search_listings")
    done = ok(session, "make_offer", listing_id=one["listing_id"], price=one["price"])
    assert done["status"] == "accepted" and ok(session, "get_listing", listing_id=one["listing_id"])["status"] == "reserved"
    ok(session, "buy_listing", listing_id=one["listing_id"])
    half = ok(session, "make_offer", listing_id=two["listing_id"], price=round(two["price"] / 2, 2))
    assert half["status"] == "countered" and two["price"] / 2 < half["price"] < two["price"]
    refused(session, "conflict", "make_offer", listing_id=two["listing_id"], price=two["price"])
    assert ok(session, "accept_counter", offer_id=half["offer_id"])["price"] == half["price"]
    wallet = ok(session, "get_wallet")["wallet"]
    assert ok(session, "buy_listing", listing_id=two["listing_id"])["wallet"] == pytest.approx(wallet - half["price"])
    assert ok(session, "make_offer", listing_id=three["listing_id"], price=0.5)["status"] == "declined"
    refused(session, "invalid_value", "make_offer", listing_id=three["listing_id"], price=three["price"] + 1)


def test_selling_to_the_best_offer_declines_the_others(session: Session) -> None:
    market: Any = state_of(session, Marketplace)
    before = total(session)
    offer = next(o for o in market.offers.values() if o.status == "open" and market.traders[o.bidder].money >= o.price)
    others = [o.offer_id for o in market.offers.values() if o.listing_id == offer.listing_id and o.status == "open"]
    sold = ok(session, "accept_offer", offer_id=offer.offer_id)
    assert {market.offers[o].status for o in others} == {"accepted"} | ({"declined"} if len(others) > 1 else set())
    ok(session, "ship_purchase", escrow_id=sold["escrow_id"], carrier="Boxline")
    refused(session, "denied", "confirm_receipt", escrow_id=sold["escrow_id"])
    refused(session, "wrong_state", "withdraw_listing", listing_id=offer.listing_id)
    assert total(session) == before


def test_a_dispute_over_what_was_never_sent_is_upheld(session: Session) -> None:
    before = ok(session, "get_wallet")["wallet"]
    made = ok(session, "buy_listing", listing_id=cheap(session)["listing_id"])
    refused(session, "wrong_state", "open_dispute", escrow_id=made["escrow_id"], reason="damaged")
    dispute = ok(session, "open_dispute", escrow_id=made["escrow_id"], reason="not_received")["dispute_id"]
    assert ok(session, "settle_dispute", dispute_id=dispute)["status"] == "upheld"
    assert ok(session, "get_wallet")["wallet"] == before
    refused(session, "wrong_state", "settle_dispute", dispute_id=dispute)


def test_listings_are_compared_by_price(session: Session) -> None:
    keys = [r["listing_id"] for r in ok(session, "search_listings")]
    assert [r["listing_id"] for r in ok(session, "compare_listings", listing_ids=keys[::-1] + keys[:1])] == keys
    refused(session, "invalid_arguments", "compare_listings", listing_ids=keys[:1])
    refused(session, "not_found", "compare_listings", listing_ids=[*keys[:1], "lst_000"])


def test_own_listings(session: Session) -> None:
    price = {"asked": 20, "lowest": 15}
    made = ok(session, "create_listing", name="Odd Teapot", category="garden", price=price)
    refused(session, "conflict", "create_listing", name="odd teapot", category="garden", price=price)
    refused(session, "invalid_value", "create_listing", name="Other", category="garden", price={"asked": 2, "lowest": 3})
    refused(session, "denied", "buy_listing", listing_id=made["listing_id"])
    assert ok(session, "change_listing_price", listing_id=made["listing_id"], price=10)["price"] == 10
    assert ok(session, "withdraw_listing", listing_id=made["listing_id"])["status"] == "withdrawn"


def test_a_saved_search_finds_what_the_search_does(session: Session) -> None:
    row = cheap(session)
    category = ok(session, "get_listing", listing_id=row["listing_id"])["category"]
    made = ok(session, "save_search", name="Cheap things", category=category, most=row["price"])
    assert row["listing_id"] in [
        r["listing_id"] for r in ok(session, "run_saved_search", search_id=made["search_id"], limit=50)
    ]
    ok(session, "delete_saved_search", search_id=made["search_id"])
    refused(session, "not_found", "run_saved_search", search_id=made["search_id"])
