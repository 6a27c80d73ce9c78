"""The marketplace server: its mechanics and its refusals. Random calls are in test_marketplace_random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.servers.marketplace import Marketplace
from tasks.servers.marketplace_rows import CARRIERS, RELEASED_AFTER, counter_price
from tasks.servers.session import Session
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import live_of, world
from tests.servers.test_marketplace_random import SEED, check, total


@pytest.fixture
def session() -> Iterator[Session]:
    with world(Marketplace).session(SEED) as opened:
        ok(opened, "add_to_wallet", amount=1000)
        yield opened
        check(opened)


def state(session: Session) -> Any:
    return state_of(session, Marketplace)


def wallet(session: Session) -> int:
    return round(float(ok(session, "get_wallet")["wallet"]) * 100)


def new(session: Session, count: int = 1) -> list[Any]:
    """Active listings of others for which nobody has made an offer."""
    market = state(session)
    taken = {o.listing_id for o in market.offers.values()}
    rows = ok(session, "search_listings", filter={}, limit=50)
    return [market.listings[row["listing_id"]] for row in rows if row["listing_id"] not in taken][-count:]


def deal(session: Session, side: str, status: str) -> Any:
    """A purchase (buyer) or sale (seller) of the user in that state about which there is no dispute."""
    market = state(session)
    return next(
        e
        for e in market.escrows.values()
        if getattr(e, side) == market._me and e.status == status and not market._disputed(e.escrow_id) and not e.lost
    )


# -- definition --------------------------------------------------------------------------------


def test_the_definition() -> None:
    check_server(Marketplace, tools=13)
    check_seeding(Marketplace)


def test_what_is_shown_leads_to_every_kind() -> None:
    counts = {kind: len(found) for kind, found in live_of(Marketplace, SEED).entities.items()}
    assert counts == {
        "listing": 38,
        "seller": 10,
        "offer": 9,
        "escrow": 13,
        "dispute": 3,
        "rating": len(world_ratings()),
        "saved_search": 4,
    }


def world_ratings() -> Any:
    with world(Marketplace).session(SEED) as opened:
        ok(opened, "get_wallet")
        return state(opened).ratings


@given(lowest=st.integers(1, 10_000), more=st.integers(0, 10_000), share=st.floats(0, 1))
def test_a_counter_offer_is_between_what_is_offered_and_what_is_wanted(lowest: int, more: int, share: float) -> None:
    wanted = lowest + more
    offered = max(1, int(lowest * share))
    assert max(lowest, offered) <= counter_price(offered, wanted, lowest) <= wanted


# -- listings ----------------------------------------------------------------------------------


def test_searches_agree_with_each_other(session: Session) -> None:
    rows = ok(session, "search_listings", filter={"category": "books", "max_price": 90}, limit=50)
    assert rows and [r["price"] for r in rows] == sorted(r["price"] for r in rows) and rows[-1]["price"] <= 90
    assert ok(session, "find_cheapest_listing", category="books")["listing_id"] == rows[0]["listing_id"]
    seller = ok(session, "get_listing_seller", listing_id=rows[0]["listing_id"])
    assert rows[0] in ok(session, "list_seller_listings", seller_id=seller["seller_id"], limit=50)
    here = ok(session, "search_listings", filter={"city": f" {seller['city'].upper()} "}, limit=50)
    assert {ok(session, "get_listing_seller", listing_id=r["listing_id"])["city"] for r in here} == {seller["city"]}
    saved = ok(session, "save_search", name="Books", filter={"category": "books", "max_price": 90})
    assert saved["matches"] == len(rows)
    assert ok(session, "run_saved_search", search_id=saved["search_id"], limit=50) == rows
    changed = ok(session, "change_saved_search", search_id=saved["search_id"], filter={"max_price": 1})
    assert changed["matches"] == 0 and ok(session, "find_saved_search", name="books") == changed
    refused(session, "conflict", "save_search", name="BOOKS", filter={})
    refused(session, "invalid_value", "search_listings", filter={"max_price": 1e-9})
    ok(session, "delete_saved_search", search_id=saved["search_id"])
    refused(session, "not_found", "run_saved_search", search_id=saved["search_id"])


def test_a_listing_is_put_up_taken_down_and_put_back(session: Session) -> None:
    price = {"asked": 20, "lowest": 15}
    made = ok(session, "create_listing", name="Odd Teapot", category="garden", price=price)
    key = made["listing_id"]
    refused(session, "conflict", "create_listing", name="odd teapot", category="garden", price=price)
    refused(session, "invalid_value", "create_listing", name="Other", category="garden", price={"asked": 2, "lowest": 3})
    refused(session, "denied", "buy_listing", listing_id=key)
    assert ok(session, "change_listing_price", listing_id=key, price=10)["price"] == 10
    assert state(session).listings[key].lowest == 1000
    assert ok(session, "withdraw_listing", listing_id=key)["status"] == "withdrawn"
    refused(session, "wrong_state", "change_listing_price", listing_id=key, price=9)
    assert ok(session, "relist_listing", listing_id=key)["status"] == "active"
    foreign = new(session)[0].listing_id
    refused(session, "denied", "withdraw_listing", listing_id=foreign)
    refused(session, "denied", "list_offers", listing_id=foreign)


def test_listings_are_compared_by_price(session: Session) -> None:
    keys = [r["listing_id"] for r in ok(session, "search_listings", filter={})]
    assert [r["listing_id"] for r in ok(session, "compare_listings", listing_ids=keys[::-1] + keys[:1])] == keys
    refused(session, "invalid_arguments", "compare_listings", listing_ids=keys[:1])
    refused(session, "not_found", "compare_listings", listing_ids=[*keys[:1], "lst_000"])


# -- offers that the user makes ----------------------------------------------------------------


def test_an_offer_is_accepted_countered_or_declined(session: Session) -> None:
    one, two, three = new(session, 3)
    done = ok(session, "make_offer", listing_id=one.listing_id, price=one.lowest / 100)
    assert done["status"] == "accepted"
    assert ok(session, "get_listing", listing_id=one.listing_id)["status"] == "reserved"
    low = ok(session, "make_offer", listing_id=two.listing_id, price=(two.lowest - 1) / 100)
    assert low["status"] == "countered" and two.lowest <= round(low["price"] * 100) <= two.price
    refused(session, "conflict", "make_offer", listing_id=two.listing_id, price=two.price / 100)
    assert ok(session, "make_offer", listing_id=three.listing_id, price=0.5)["status"] == "declined"
    refused(session, "invalid_value", "make_offer", listing_id=three.listing_id, price=three.price / 100 + 1)


def test_sellers_haggle_twice(session: Session) -> None:
    (row,) = new(session)
    first = ok(session, "make_offer", listing_id=row.listing_id, price=(row.lowest - 30) / 100)
    key, wanted = first["offer_id"], [first["price"]]
    refused(session, "invalid_value", "raise_offer", offer_id=key, price=(row.lowest - 30) / 100)
    refused(session, "invalid_value", "raise_offer", offer_id=key, price=first["price"] + 0.01)
    second = ok(session, "raise_offer", offer_id=key, price=(row.lowest - 20) / 100)
    wanted.append(second["price"])
    assert second["status"] == "countered" and row.lowest <= round(wanted[1] * 100) <= round(wanted[0] * 100)
    assert ok(session, "raise_offer", offer_id=key, price=(row.lowest - 10) / 100)["status"] == "declined"
    refused(session, "wrong_state", "accept_counter", offer_id=key)


def test_what_was_agreed_is_what_is_paid(session: Session) -> None:
    (row,) = new(session)
    offer = ok(session, "make_offer", listing_id=row.listing_id, price=(row.lowest - 1) / 100)
    agreed = ok(session, "accept_counter", offer_id=offer["offer_id"])
    assert agreed == {"offer_id": offer["offer_id"], "status": "accepted", "price": offer["price"]}
    assert ok(session, "find_offer", listing_id=row.listing_id)["price"] == offer["price"]
    quote = ok(session, "quote_purchase", listing_id=row.listing_id)
    assert quote["price"] == offer["price"] and quote["total"] == pytest.approx(offer["price"] + row.postage / 100)
    had = wallet(session)
    ok(session, "buy_listing", listing_id=row.listing_id)
    assert had - wallet(session) == round(quote["total"] * 100)


def test_reservations_are_three_at_most_and_end(session: Session) -> None:
    keys = [r.listing_id for r in new(session, 4)]
    already = len(ok(session, "list_reservations"))
    for key in keys[: 3 - already]:
        until = ok(session, "reserve_listing", listing_id=key)["until"]
    refused(session, "denied", "reserve_listing", listing_id=keys[3])
    refused(session, "denied", "make_offer", listing_id=keys[3], price=state(session).listings[keys[3]].price / 100)
    refused(session, "wrong_state", "reserve_listing", listing_id=keys[0])
    ok(session, "release_reservation", listing_id=keys[0])
    refused(session, "wrong_state", "release_reservation", listing_id=keys[0])
    ok(session, "reserve_listing", listing_id=keys[3])
    assert ok(session, "wait_days", days=2)["day"] == until
    assert ok(session, "get_listing", listing_id=keys[3])["status"] == "reserved"
    ok(session, "wait_days", days=1)
    assert ok(session, "get_listing", listing_id=keys[3])["status"] == "active"
    assert ok(session, "list_reservations") == []
    assert "accepted" not in [o["status"] for o in ok(session, "list_own_offers", limit=50)]


# -- offers that others make -------------------------------------------------------------------


def test_selling_to_the_best_offer_declines_the_others(session: Session) -> None:
    market, before = state(session), total(state(session))
    listing = next(o.listing_id for o in market.offers.values() if o.status == "open")
    best, *others = ok(session, "list_offers", listing_id=listing)
    bidder = ok(session, "get_bidder", offer_id=best["offer_id"])["seller_id"]
    had, postage = market.sellers[bidder].money, market.listings[listing].postage
    sold = ok(session, "accept_offer", offer_id=best["offer_id"])
    assert market.sellers[bidder].money == had - round(best["price"] * 100) - postage
    assert [ok(session, "get_offer", offer_id=o["offer_id"])["status"] for o in others] == ["declined"] * len(others)
    assert ok(session, "get_purchase", escrow_id=sold["escrow_id"])["partner_id"] == bidder
    refused(session, "wrong_state", "withdraw_listing", listing_id=listing)
    assert total(market) == before


def test_a_bidder_answers_a_counter_offer_by_their_limit(session: Session) -> None:
    market = state(session)
    for offer in [o for o in market.offers.values() if o.status == "open"]:
        listing = market.listings[offer.listing_id]
        if offer.price < offer.limit < listing.price:
            break
    refused(session, "invalid_value", "counter_offer", offer_id=offer.offer_id, price=offer.price / 100)
    refused(session, "invalid_value", "counter_offer", offer_id=offer.offer_id, price=(listing.price + 1) / 100)
    raised = ok(session, "counter_offer", offer_id=offer.offer_id, price=listing.price / 100)
    assert raised["status"] == "open" and offer.price < round(raised["price"] * 100) <= offer.limit
    with world(Marketplace).session(SEED) as other:
        answer = ok(other, "counter_offer", offer_id=offer.offer_id, price=offer.limit / 100)
        assert answer["status"] == "accepted" and answer["price"] == offer.limit / 100
        assert ok(other, "get_purchase", escrow_id=answer["escrow_id"])["status"] == "paid"
        check(other)
    for _ in range(2):
        last = ok(session, "counter_offer", offer_id=offer.offer_id, price=listing.price / 100)
        if last["status"] == "withdrawn":
            break
    assert last["status"] == "withdrawn"


def test_offers_expire(session: Session) -> None:
    market = state(session)
    waiting = [o.offer_id for o in market.offers.values() if o.status in ("open", "countered")]
    ok(session, "wait_days", days=6)
    assert {market.offers[key].status for key in waiting} == {"expired"}
    refused(session, "wrong_state", "decline_offer", offer_id=next(k for k in waiting if market.offers[k].bidder != market._me))


# -- purchases ---------------------------------------------------------------------------------


def test_a_purchase_waits_in_escrow_until_it_is_received(session: Session) -> None:
    market, (row,) = state(session), new(session)
    before, had = total(market), market.sellers[row.seller].money
    key = ok(session, "buy_listing", listing_id=row.listing_id)["escrow_id"]
    refused(session, "wrong_state", "buy_listing", listing_id=row.listing_id)
    refused(session, "wrong_state", "make_offer", listing_id=row.listing_id, price=1)
    refused(session, "wrong_state", "confirm_receipt", escrow_id=key)
    refused(session, "wrong_state", "track_parcel", escrow_id=key)
    refused(session, "wrong_state", "rate_deal", escrow_id=key, stars=4)
    ok(session, "wait_days", days=1)
    parcel = ok(session, "track_parcel", escrow_id=key)
    refused(session, "wrong_state", "cancel_purchase", escrow_id=key)
    assert ok(session, "wait_days", days=CARRIERS[parcel["carrier"]])["day"] == parcel["arrives"]
    assert ok(session, "get_purchase", escrow_id=key)["status"] == "arrived"
    assert market.sellers[row.seller].money == had
    assert ok(session, "confirm_receipt", escrow_id=key)["status"] == "finished"
    assert market.sellers[row.seller].money == had + row.price + row.postage
    refused(session, "wrong_state", "confirm_receipt", escrow_id=key)
    assert total(market) == before


def test_what_arrived_is_paid_for_after_a_week(session: Session) -> None:
    row = deal(session, "buyer", "arrived")
    ok(session, "wait_days", days=RELEASED_AFTER + row.arrives - 1)
    assert ok(session, "get_purchase", escrow_id=row.escrow_id)["status"] == "arrived"
    ok(session, "wait_days", days=1)
    assert ok(session, "get_purchase", escrow_id=row.escrow_id)["status"] == "finished"


def test_a_sale_is_paid_when_its_buyer_has_it(session: Session) -> None:
    row, had = deal(session, "seller", "paid"), wallet(session)
    refused(session, "denied", "confirm_receipt", escrow_id=row.escrow_id)
    ok(session, "ship_purchase", escrow_id=row.escrow_id, carrier="Boxline")
    ok(session, "wait_days", days=2)
    assert ok(session, "get_purchase", escrow_id=row.escrow_id)["status"] == "shipped"
    money = wallet(session)
    ok(session, "wait_days", days=1)
    assert ok(session, "get_purchase", escrow_id=row.escrow_id)["status"] == "finished"
    assert wallet(session) - money >= row.total and money >= had
    assert ok(session, "rate_deal", escrow_id=row.escrow_id, stars=5)["seller_id"] == row.buyer


def test_cancelling_before_it_is_sent_gives_all_back(session: Session) -> None:
    (row,) = new(session)
    had = wallet(session)
    key = ok(session, "buy_listing", listing_id=row.listing_id)["escrow_id"]
    done = ok(session, "cancel_purchase", escrow_id=key)
    assert done["status"] == "cancelled" and wallet(session) == had
    again = ok(session, "buy_listing", listing_id=row.listing_id)["escrow_id"]
    assert again != key and ok(session, "find_purchase", listing_id=row.listing_id)["escrow_id"] == again


def test_pickup_is_for_the_same_city_and_without_postage(session: Session) -> None:
    market = state(session)
    city = market.sellers[market._me].city
    rows = new(session, 50)
    near = next(r for r in rows if market.sellers[r.seller].city == city)
    far = next(r for r in rows if market.sellers[r.seller].city != city)
    refused(session, "denied", "buy_listing", listing_id=far.listing_id, pickup=True)
    refused(session, "denied", "quote_purchase", listing_id=far.listing_id, pickup=True)
    had = wallet(session)
    key = ok(session, "buy_listing", listing_id=near.listing_id, pickup=True)["escrow_id"]
    assert had - wallet(session) == near.price
    assert ok(session, "confirm_receipt", escrow_id=key)["status"] == "finished"


def test_nobody_pays_what_they_do_not_have(session: Session) -> None:
    ok(session, "withdraw_from_wallet", amount=wallet(session) / 100)
    refused(session, "insufficient", "withdraw_from_wallet", amount=0.01)
    refused(session, "insufficient", "buy_listing", listing_id=new(session)[0].listing_id)
