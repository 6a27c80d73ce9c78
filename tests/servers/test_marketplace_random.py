"""The marketplace server's seeds, and the server under random calls: money is conserved and a thing has one buyer."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tasks.servers.marketplace import Marketplace
from tasks.servers.marketplace_rows import MOST_RESERVED
from tasks.servers.sampler import Live
from tasks.servers.session import Session
from tasks.servers.world import HELD_OUT_FROM
from tests.servers.driver import Driver, ok, state_of
from tests.servers.machine import live_of, machine, world

SEED = 7
LIFE = {
    "paid": {"shipped", "finished", "cancelled"},
    "shipped": {"arrived", "finished", "refunded"},
    "arrived": {"finished", "refunded"},
    "finished": set(),
    "refunded": set(),
    "cancelled": set(),
}
"""What a purchase may become next."""


def total(market: Any) -> int:
    """Cents in all wallets and in escrow."""
    held = sum(e.total for e in market.escrows.values() if e.waiting)
    return sum(s.money for s in market.sellers.values()) + held  # type: ignore[no-any-return]


def check(session: Session) -> None:
    """A sold thing has one live purchase, all money is somewhere, offers of sold things are closed, ratings follow deals."""
    market: Any = state_of(session, Marketplace)
    if market is None:
        return
    me, day = market._me, market._day
    for listing in market.listings.values():
        deals = [
            e
            for e in market.escrows.values()
            if e.listing_id == listing.listing_id and e.status not in ("refunded", "cancelled")
        ]
        assert len(deals) == (listing.status == "sold")
        assert (listing.status in ("sold", "reserved")) == bool(listing.buyer) == bool(listing.agreed)
        assert all(e.buyer == listing.buyer and e.price == listing.agreed for e in deals)
        assert listing.buyer != listing.seller and 0 < listing.lowest <= listing.price
        assert listing.status != "reserved" or (listing.buyer == me and listing.until >= day)
    assert sum(r.status == "reserved" for r in market.listings.values()) <= MOST_RESERVED
    for offer in market.offers.values():
        listing = market.listings[offer.listing_id]
        assert offer.bidder != listing.seller and me in (offer.bidder, listing.seller)
        if offer.status in ("open", "countered"):
            assert listing.status == "active" and offer.expires >= day
        if offer.status == "accepted":
            assert listing.status in ("sold", "reserved") and listing.buyer == offer.bidder
        assert offer.status != "countered" or listing.lowest <= offer.counter <= listing.price
        assert not offer.limit or offer.price <= max(offer.limit, listing.price)
    assert all(s.money >= 0 for s in market.sellers.values())
    for escrow in market.escrows.values():
        assert escrow.buyer != escrow.seller and me in (escrow.buyer, escrow.seller) and escrow.price > 0
        assert escrow.released + escrow.refunded == (0 if escrow.waiting else escrow.total)
        assert (escrow.status == "finished") <= (escrow.refunded < escrow.total)
        assert escrow.status not in ("refunded", "cancelled") or escrow.refunded == escrow.total
        assert escrow.status not in ("shipped", "arrived") or escrow.carrier
    assert len({d.escrow_id for d in market.disputes.values()}) == len(market.disputes)
    for dispute in market.disputes.values():
        escrow = market.escrows[dispute.escrow_id]
        assert 0 < dispute.claim <= escrow.total
        assert not dispute.running or escrow.status in ("shipped", "arrived")
        assert dispute.status not in ("settled", "upheld", "rejected") or not escrow.waiting
    given = [(r.escrow_id, r.author) for r in market.ratings.values() if r.escrow_id]
    assert len(given) == len(set(given))
    for rating in market.ratings.values():
        assert rating.author != rating.subject and 1 <= rating.stars <= 5
        if rating.escrow_id:
            escrow = market.escrows[rating.escrow_id]
            assert escrow.status == "finished" and {rating.author, rating.subject} == {escrow.buyer, escrow.seller}
    for rows in (market.listings.values(), market.searches.values(), market.sellers.values()):
        names = [r.name.casefold() for r in rows]
        assert len(names) == len(set(names))


TestMarketplace = machine(Marketplace, check)


@pytest.mark.parametrize("seed", [*range(12), *range(HELD_OUT_FROM, HELD_OUT_FROM + 6)])
def test_seeds_are_consistent_and_varied(seed: int) -> None:
    with world(Marketplace).session(seed) as session:
        ok(session, "get_wallet")
        check(session)
        market: Any = state_of(session, Marketplace)
        assert len(market.listings) == 38 and len(market.sellers) == 10
        assert {e.status for e in market.escrows.values()} == set(LIFE) - {"cancelled"}
        assert {o.status for o in market.offers.values()} == {"open", "countered", "declined", "accepted"}
        assert {r.status for r in market.listings.values() if r.seller == market._me} == {"active", "sold", "withdrawn"}
        assert len(ok(session, "list_listings", limit=50)) >= 12
        for offer in market.offers.values():
            assert not offer.limit or offer.limit >= offer.price
        for dispute in ok(session, "list_disputes"):
            assert ok(session, "find_dispute", escrow_id=dispute["escrow_id"]) == dispute
        ok(session, "wait_days", days=30)
        check(session)


class Trader(RuleBasedStateMachine):
    """The user at work: mostly sensible calls, each checked by the driver, then the invariants and the purchases' lives."""

    def __init__(self) -> None:
        super().__init__()
        live = live_of(Marketplace, SEED)
        self.session = world(Marketplace).session(SEED)
        copied = Live({kind: {key: dict(facts) for key, facts in known.items()} for kind, known in live.entities.items()})
        self.driver = Driver(self.session, random.Random(0), copied)
        ok(self.session, "get_wallet")
        self.market: Any = state_of(self.session, Marketplace)
        self.money = total(self.market)
        self.lives = self.statuses()

    def teardown(self) -> None:
        with world(Marketplace).session(SEED) as again:
            for name, arguments, result in self.driver.log:
                assert again.call(name, arguments) == result, f"{name}({arguments!r}) answered otherwise when repeated"
            assert again.digest() == self.session.digest()
        self.session.close()

    def statuses(self) -> dict[str, str]:
        return {row.escrow_id: row.status for row in self.market.escrows.values()}

    def one(self, data: st.DataObject, keys: Iterable[str], kind: str) -> str:
        """One of these, or now and then another of that kind."""
        known = sorted(keys)
        others = sorted(self.driver.live.entities.get(kind, {}))
        return data.draw(st.sampled_from(known * 4 + others if known else others))

    def escrows(self, *statuses: str) -> list[str]:
        return [row.escrow_id for row in self.market.escrows.values() if row.status in statuses]

    def offers(self, *statuses: str) -> list[str]:
        return [row.offer_id for row in self.market.offers.values() if row.status in statuses]

    def foreign(self) -> list[str]:
        me = self.market._me
        return [r.listing_id for r in self.market.listings.values() if r.seller != me and r.status == "active"]

    @rule(data=st.data(), share=st.integers(30, 105))
    def bid(self, data: st.DataObject, share: int) -> None:
        listing = self.one(data, self.foreign(), "listing")
        price = max(1, self.market.listings[listing].price * share // 100)
        self.driver.call("make_offer", {"listing_id": listing, "price": price / 100})

    @rule(data=st.data(), share=st.integers(0, 110), accept=st.booleans())
    def haggle(self, data: st.DataObject, share: int, accept: bool) -> None:
        offer = self.one(data, self.offers("countered"), "offer")
        row = self.market.offers[offer]
        if accept:
            self.driver.call("accept_counter", {"offer_id": offer})
        else:
            price = max(1, row.price + (row.counter - row.price) * share // 100)
            self.driver.call("raise_offer", {"offer_id": offer, "price": price / 100})

    @rule(data=st.data(), share=st.integers(0, 110), accept=st.integers(0, 2))
    def answer(self, data: st.DataObject, share: int, accept: int) -> None:
        offer = self.one(data, self.offers("open"), "offer")
        row = self.market.offers[offer]
        if accept == 0:
            self.driver.call("accept_offer", {"offer_id": offer})
        else:
            price = max(1, row.price + (self.market.listings[row.listing_id].price - row.price) * share // 100)
            self.driver.call("counter_offer", {"offer_id": offer, "price": price / 100})

    @rule(data=st.data(), pickup=st.booleans(), reserve=st.booleans())
    def buy(self, data: st.DataObject, pickup: bool, reserve: bool) -> None:
        kept = [r.listing_id for r in self.market.listings.values() if r.status == "reserved"]
        if reserve:
            self.driver.call("reserve_listing", {"listing_id": self.one(data, self.foreign(), "listing")})
        else:
            listing = self.one(data, kept * 3 + self.foreign(), "listing")
            self.driver.call("buy_listing", {"listing_id": listing, "pickup": pickup})

    @rule(data=st.data(), tool=st.sampled_from(("confirm_receipt", "cancel_purchase", "ship_purchase")))
    def move_on(self, data: st.DataObject, tool: str) -> None:
        arguments = {"escrow_id": self.one(data, self.escrows("paid", "shipped", "arrived"), "escrow")}
        if tool == "ship_purchase":
            arguments["carrier"] = data.draw(st.sampled_from(("Swiftpost", "Boxline")))
        self.driver.call(tool, arguments)

    @rule(data=st.data(), reason=st.sampled_from(("not_received", "damaged", "not_as_described")), claim=st.integers(0, 9000))
    def complain(self, data: st.DataObject, reason: str, claim: int) -> None:
        arguments: dict[str, Any] = {
            "escrow_id": self.one(data, self.escrows("shipped", "arrived"), "escrow"),
            "reason": reason,
        }
        if claim:
            arguments["claim"] = claim / 100
        self.driver.call("open_dispute", arguments)

    @rule(data=st.data(), tool=st.sampled_from(("accept_settlement", "escalate_dispute", "withdraw_dispute", "grant_claim")))
    def end_a_dispute(self, data: st.DataObject, tool: str) -> None:
        running = [d.dispute_id for d in self.market.disputes.values() if d.running]
        self.driver.call(tool, {"dispute_id": self.one(data, running, "dispute")})

    @rule(data=st.data(), stars=st.integers(1, 5))
    def rate(self, data: st.DataObject, stars: int) -> None:
        self.driver.call("rate_deal", {"escrow_id": self.one(data, self.escrows("finished"), "escrow"), "stars": stars})

    @rule(days=st.integers(1, 9))
    def wait(self, days: int) -> None:
        self.driver.call("wait_days", {"days": days})

    @rule(seed=st.integers(0, 2**32))
    def anything(self, seed: int) -> None:
        self.driver.rng = random.Random(seed)
        before = total(self.market)
        self.driver.step()
        name, arguments, result = self.driver.log[-1]
        if result.ok and name in ("add_to_wallet", "withdraw_from_wallet"):
            amount = round(arguments["amount"] * 100)
            assert total(self.market) == before + (amount if name == "add_to_wallet" else -amount)
            self.money = total(self.market)

    @invariant()
    def holds(self) -> None:
        try:
            check(self.session)
            assert total(self.market) == self.money
            lives = self.statuses()
            for key, before in self.lives.items():
                reached, steps = {before}, {before}
                while steps := {after for step in steps for after in LIFE[step]}:
                    reached |= steps
                assert lives[key] in reached, f"{key} was {before} and is {lives[key]}"
            assert all(lives[key] == "paid" for key in lives.keys() - self.lives.keys())
            self.lives = lives
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.driver.story()}") from error


TestTrader = Trader.TestCase
TestTrader.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
