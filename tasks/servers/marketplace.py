"""The marketplace server: second-hand listings between people, offers, reservations, escrow, shipping, disputes and ratings.

    with environment(["marketplace"]).session(7) as session:
        session.call("find_listing", {"name": "Walnut Desk"})

The user sells and buys. A purchase puts the buyer's money into escrow; receipt gives it to the seller, a dispute may give
some or all of it back. A listing has one buyer at most, and only a finished deal is rated, once by either side. Days pass in
`wait_days` only: then others ship and confirm, parcels arrive, reservations and offers end, and disputes are answered.

Left out: other people who list and bid anew. They answer the user's bids at once, by prices that no tool shows.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.servers import marketplace_types as t
from tasks.servers.lookup import existing, named, unused
from tasks.servers.marketplace_data import POSTAGE, seed_rows
from tasks.servers.marketplace_rows import (
    CARRIERS,
    OFFERED_FOR,
    ROUNDS,
    Clock,
    Dispute,
    Escrow,
    Listing,
    Offer,
    Rating,
    Search,
    Seller,
    counter_price,
)
from tasks.servers.marketplace_state import (
    Market,
    dispute_shown,
    escrow_row,
    listing_found,
    listing_row,
    offer_done,
    offer_row,
    rating_shown,
)
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Amount, Limit, cents, money, plain
from tasks.servers.world import World


class Marketplace(Market, Server):
    """A marketplace as one user sees it."""

    name = "marketplace"
    title = "Second-hand listings, offers, purchases in escrow and ratings."

    clock: Table[Clock]
    sellers: Table[Seller]
    listings: Table[Listing]
    offers: Table[Offer]
    escrows: Table[Escrow]
    disputes: Table[Dispute]
    ratings: Table[Rating]
    searches: Table[Search]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- listings ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_listing(self, name: t.KnownName) -> t.ListingFound:
        """Finds a listing, also one of the user's, by its title."""
        return listing_found(named(self.listings.values(), name, "listing", "list_listings"))

    @tool(read_only=True)
    def list_listings(self, category: t.AnyCategory = "any", limit: Limit = 5) -> list[t.ListingRow]:
        """Lists what others sell, the newest first."""
        rows = [r for r in self._matches(Search("", "", "", "", 0, "")) if category in ("any", r.category)]
        return [listing_row(r) for r in sorted(rows, key=lambda r: (-r.posted, r.name))[: int(limit)]]

    @tool(read_only=True)
    def search_listings(self, filter: t.ListingFilter, sort: t.Sort = "price", limit: Limit = 5) -> list[t.ListingRow]:
        """Lists what others sell that satisfies all conditions of the filter, the cheapest first unless told otherwise."""
        rows = self._matches(self._search("", filter))
        if sort == "newest":
            rows = sorted(rows, key=lambda r: (-r.posted, r.name))
        return [listing_row(r) for r in rows[: int(limit)]]

    @tool(read_only=True)
    def find_cheapest_listing(self, category: t.SomeCategory) -> t.CheapestListing:
        """Finds the cheapest thing of a category that others sell."""
        rows = self._matches(Search("", "", category, "", 0, ""))
        if not rows:
            raise ToolError("not_found", f"nobody sells {category} now", "list_listings shows what there is.")
        return {"listing_id": rows[0].listing_id, "lowest_price": money(rows[0].price)}

    @tool(read_only=True)
    def list_own_listings(self, status: t.AnyListingStatus = "any", limit: Limit = 5) -> list[t.ListingRow]:
        """Lists what the user sells or sold, the newest first."""
        rows = self.listings.where(lambda r: r.seller == self._me and status in ("any", r.status))
        return [listing_row(r) for r in sorted(rows, key=lambda r: (-r.posted, r.name))[: int(limit)]]

    @tool(read_only=True)
    def list_seller_listings(self, seller_id: t.SellerId, limit: Limit = 5) -> list[t.ListingRow]:
        """Lists what a seller has on offer, the cheapest first."""
        self._seller(seller_id)
        rows = self.listings.where(lambda r: r.seller == seller_id and r.status == "active")
        return [listing_row(r) for r in sorted(rows, key=lambda r: (r.price, r.name))[: int(limit)]]

    @tool(read_only=True)
    def get_listing(self, listing_id: t.ListingId) -> t.ListingShown:
        """Shows a listing: its seller, price, category, number of open offers and state."""
        row = self._listing(listing_id)
        return {
            "listing_id": listing_id,
            "seller_id": row.seller,
            "price": money(row.price),
            "category": row.category,
            "open_offers": sum(o.listing_id == listing_id and o.status in ("open", "countered") for o in self.offers.values()),
            "status": row.status,
        }

    @tool(read_only=True)
    def compare_listings(self, listing_ids: t.Several) -> list[t.ListingRow]:
        """Lists several listings side by side, the cheapest first."""
        rows = {key: self._listing(key) for key in listing_ids}
        return [listing_row(r) for r in sorted(rows.values(), key=lambda r: (r.price, r.listing_id))]

    @tool()
    def create_listing(
        self, name: t.NewName, category: t.SomeCategory, price: t.Price, condition: t.SomeCondition = "used"
    ) -> t.ListingFound:
        """Offers something of the user's for sale."""
        name = unused(self.listings.values(), name, "listing")
        asked = cents(price["asked"])
        lowest = cents(price["lowest"]) if "lowest" in price else asked
        if lowest > asked:
            raise ToolError("invalid_value", "the lowest price is above the asked one", "Give a lower one.")
        key = self.listings.fresh("lst", name)
        row = Listing(key, name, self._me, category, condition, asked, lowest, POSTAGE[category], self._day)
        return listing_found(self.listings.put(key, row))

    @tool(idempotent=True)
    def change_listing_price(self, listing_id: t.ListingId, price: Amount) -> t.ListingFound:
        """Changes the price of one of the user's active listings."""
        row, value = self._own(listing_id), cents(price)
        return listing_found(self.listings.update(listing_id, price=value, lowest=min(row.lowest, value)))

    @tool()
    def withdraw_listing(self, listing_id: t.ListingId) -> t.ListingFound:
        """Takes one of the user's active listings down and declines its offers; relist_listing puts it back."""
        self._own(listing_id)
        self._decline_others(listing_id)
        return listing_found(self.listings.update(listing_id, status="withdrawn"))

    @tool()
    def relist_listing(self, listing_id: t.ListingId) -> t.ListingFound:
        """Offers something again that the user took down, or that came back to them."""
        self._own(listing_id, "withdrawn")
        return listing_found(self.listings.update(listing_id, status="active", posted=self._day))

    # -- offers that the user makes ----------------------------------------------------------------

    @tool()
    def make_offer(self, listing_id: t.ListingId, price: Amount) -> t.OfferDone:
        """Offers a price for somebody's active listing. If it is enough it is accepted and the thing reserved for two days."""
        row, value = self._foreign(listing_id), cents(price)
        if any(o.listing_id == listing_id and o.bidder == self._me and o.status == "countered" for o in self.offers.values()):
            raise ToolError("conflict", "the seller has answered with a price", "Use accept_counter or raise_offer.")
        if value > row.price:
            raise ToolError("invalid_value", f"it costs {money(row.price)}", "Offer that much or less.")
        key = self.offers.fresh("off", listing_id, value, self._day)
        return offer_done(self._bid(Offer(key, listing_id, self._me, value, "declined", self._day + OFFERED_FOR), row))

    @tool()
    def raise_offer(self, offer_id: t.OfferId, price: Amount) -> t.OfferDone:
        """Offers more where the seller has answered with a price; sellers haggle twice at most."""
        offer, value = self._offer(offer_id, "countered", own=True), cents(price)
        if not offer.price < value <= offer.counter:
            message = f"the offer was {money(offer.price)} and the seller wants {money(offer.counter)}"
            raise ToolError("invalid_value", message, "Offer something in between.")
        raised = replace(offer, price=value, rounds=offer.rounds + 1, expires=self._day + OFFERED_FOR)
        return offer_done(self._bid(raised, self._foreign(offer.listing_id)))

    def _bid(self, offer: Offer, row: Listing) -> Offer:
        """The seller's answer to a bid of the user: yes from their lowest price on, a counter-offer to half of it or more."""
        if offer.price >= row.lowest:
            self._reserve(row.listing_id, offer.price, offer.offer_id)
            answered = replace(offer, status="accepted")
        elif offer.price * 2 >= row.lowest and offer.rounds < ROUNDS:
            counter = counter_price(offer.price, offer.counter or row.price, row.lowest)
            answered = replace(offer, status="countered", counter=counter)
        else:
            answered = replace(offer, status="declined")
        return self.offers.put(offer.offer_id, answered)

    @tool()
    def accept_counter(self, offer_id: t.OfferId) -> t.OfferDone:
        """Agrees to the price with which a seller answered; the thing is reserved for the user for two days."""
        offer = self._offer(offer_id, "countered", own=True)
        self._foreign(offer.listing_id)
        self._reserve(offer.listing_id, offer.counter, offer_id)
        return offer_done(self.offers.update(offer_id, status="accepted", price=offer.counter))

    @tool()
    def withdraw_offer(self, offer_id: t.OfferId) -> t.OfferDone:
        """Takes back an offer of the user to which the seller has answered with a price."""
        self._offer(offer_id, "countered", own=True)
        return offer_done(self.offers.update(offer_id, status="withdrawn"))

    @tool(read_only=True)
    def list_own_offers(self, limit: Limit = 5) -> list[t.OfferRow]:
        """Lists the offers that the user made, those that wait for the user first."""
        rows = sorted(self.offers.where(lambda o: o.bidder == self._me), key=lambda o: (o.status != "countered", o.offer_id))
        return [offer_row(o) for o in rows[: int(limit)]]

    @tool(read_only=True)
    def get_offer(self, offer_id: t.OfferId) -> t.OfferShown:
        """Shows an offer by or to the user: its price, the counter-offer if there is one, and when it expires."""
        row = existing(self.offers, offer_id, "offer", "list_own_offers")
        return self._offer_shown(row)

    @tool(read_only=True)
    def find_offer(self, listing_id: t.ListingId) -> t.OfferRow:
        """Finds the user's own offer for a listing, the best if there are several."""
        self._listing(listing_id)
        rows = self.offers.where(lambda o: o.listing_id == listing_id and o.bidder == self._me)
        if not rows:
            raise ToolError("not_found", "the user made no offer for it", "list_own_offers shows their offers.")
        return offer_row(max(rows, key=lambda o: (o.status in ("accepted", "countered"), o.price, o.offer_id)))

    @tool()
    def reserve_listing(self, listing_id: t.ListingId) -> t.Reserved:
        """Keeps somebody's active listing for the user for two days, at its price; three at a time."""
        row = self._foreign(listing_id)
        row = self._reserve(listing_id, row.price)
        return {"listing_id": listing_id, "price": money(row.agreed), "until": self._date(row.until)}

    @tool()
    def release_reservation(self, listing_id: t.ListingId) -> t.ListingFound:
        """Gives up a reservation of the user."""
        row = self._listing(listing_id)
        if row.status != "reserved" or row.buyer != self._me:
            raise ToolError("wrong_state", "it is not reserved for the user", "list_reservations shows what is.")
        return listing_found(self._free(listing_id))

    @tool(read_only=True)
    def list_reservations(self, limit: Limit = 5) -> list[t.Reserved]:
        """Lists what is reserved for the user, the price agreed on, and until when."""
        rows = self.listings.where(lambda r: r.status == "reserved" and r.buyer == self._me)
        return [
            {"listing_id": r.listing_id, "price": money(r.agreed), "until": self._date(r.until)}
            for r in sorted(rows, key=lambda r: (r.until, r.listing_id))[: int(limit)]
        ]

    # -- offers that others make -------------------------------------------------------------------

    @tool(read_only=True)
    def list_offers(self, listing_id: t.ListingId, limit: Limit = 5) -> list[t.OfferRow]:
        """Lists open offers for one of the user's listings, the best first."""
        if self._listing(listing_id).seller != self._me:
            raise ToolError("denied", "this is somebody else's listing", "list_own_listings shows the user's.")
        rows = self.offers.where(lambda o: o.listing_id == listing_id and o.status == "open")
        return [offer_row(o) for o in sorted(rows, key=lambda o: (-o.price, o.offer_id))[: int(limit)]]

    @tool(read_only=True)
    def get_bidder(self, offer_id: t.OfferId) -> t.SellerShown:
        """Shows who made an offer, with rating (0 when nobody rated them) and number of deals."""
        row = existing(self.offers, offer_id, "offer", "list_offers")
        return self._seller_shown(self.sellers[row.bidder])

    @tool()
    def accept_offer(self, offer_id: t.OfferId) -> t.EscrowDone:
        """Sells to somebody who made an offer: their money goes into escrow, other offers are declined."""
        offer = self._offer(offer_id, "open", own=False)
        return self._escrow_done(self._sell(offer, offer.price))

    @tool()
    def counter_offer(self, offer_id: t.OfferId, price: Amount) -> t.OfferAnswered:
        """Asks a bidder for more: they buy at once, or raise their offer a little, or give up."""
        offer, value = self._offer(offer_id, "open", own=False), cents(price)
        row = self._own(offer.listing_id)
        if not offer.price < value <= row.price:
            message = f"the offer is {money(offer.price)} and the listing costs {money(row.price)}"
            raise ToolError("invalid_value", message, "Ask for something in between, or use accept_offer.")
        if value <= min(offer.limit, self.sellers[offer.bidder].money - row.postage):
            bought = self._sell(offer, value)
            return {"offer_id": offer_id, "status": "accepted", "price": money(value), "escrow_id": bought.escrow_id}
        raised = (offer.price + offer.limit + 1) // 2
        if offer.rounds < ROUNDS and raised > offer.price:
            offer = self.offers.update(offer_id, price=raised, rounds=offer.rounds + 1, expires=self._day + OFFERED_FOR)
        else:
            offer = self.offers.update(offer_id, status="withdrawn")
        return {"offer_id": offer_id, "status": offer.status, "price": money(offer.price)}

    def _sell(self, offer: Offer, price: int) -> Escrow:
        """Sells one of the user's listings to a bidder."""
        row = self._own(offer.listing_id)
        self.offers.update(offer.offer_id, status="accepted", price=price)
        return self._buy(row, offer.bidder, price, False)

    @tool()
    def decline_offer(self, offer_id: t.OfferId) -> t.OfferDone:
        """Refuses an offer for one of the user's listings."""
        self._offer(offer_id, "open", own=False)
        return offer_done(self.offers.update(offer_id, status="declined"))

    # -- purchases ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def quote_purchase(self, listing_id: t.ListingId, pickup: t.Pickup = False) -> t.Quote:
        """What buying a listing would cost the user now, with postage or fetched."""
        row = self._listing(listing_id)
        price, postage = self._offered(row), self._postage(row, pickup)
        return {"price": money(price), "postage": money(postage), "total": money(price + postage)}

    @tool()
    def buy_listing(self, listing_id: t.ListingId, pickup: t.Pickup = False) -> t.EscrowDone:
        """Buys somebody's listing at its price, or the one agreed on, plus postage; the money goes into escrow."""
        row = self._listing(listing_id)
        price = self._offered(row)
        self._postage(row, pickup)
        return self._escrow_done(self._buy(row, self._me, price, pickup))

    def _offered(self, row: Listing) -> int:
        """What the user would pay for a listing. Raises ToolError when they cannot buy it."""
        if row.seller == self._me:
            raise ToolError("denied", "this is the user's own listing", "list_listings shows others.")
        if row.status != "active" and not (row.status == "reserved" and row.buyer == self._me):
            raise ToolError("wrong_state", f"the listing is {row.status}", "list_listings shows what can be bought.")
        return row.agreed or row.price

    def _postage(self, row: Listing, pickup: bool) -> int:
        if pickup and self.sellers[row.seller].city != self.sellers[self._me].city:
            raise ToolError("denied", "the seller lives in another city", "Leave pickup out.")
        return 0 if pickup else row.postage

    @tool(read_only=True)
    def list_purchases(self, side: t.Side = "bought", limit: Limit = 5) -> list[t.EscrowRow]:
        """Lists what the user bought or sold, what is not finished first."""
        rows = self.escrows.where(lambda e: (e.buyer if side == "bought" else e.seller) == self._me)
        return [escrow_row(e) for e in sorted(rows, key=lambda e: (not e.waiting, -e.paid, e.escrow_id))[: int(limit)]]

    @tool(read_only=True)
    def find_purchase(self, listing_id: t.ListingId) -> t.EscrowRow:
        """Finds the latest purchase of a listing by or from the user."""
        self._listing(listing_id)
        rows = self.escrows.where(lambda e: e.listing_id == listing_id)
        if not rows:
            raise ToolError("not_found", "the user has no deal over it", "list_purchases shows their deals.")
        return escrow_row(max(rows, key=lambda e: (e.waiting, e.paid, e.escrow_id)))

    @tool(read_only=True)
    def get_purchase(self, escrow_id: t.EscrowId) -> t.EscrowShown:
        """Shows a purchase: listing, total, state, and who is on the other side."""
        row = self._escrow(escrow_id, None)
        other = row.seller if row.buyer == self._me else row.buyer
        return {**escrow_row(row), "partner_id": other}

    @tool(read_only=True)
    def track_parcel(self, escrow_id: t.EscrowId) -> t.Parcel:
        """Shows who brings a purchase that was sent, and when it arrives or should have."""
        row = self._escrow(escrow_id, None)
        if row.carrier is None:
            raise ToolError("wrong_state", f"nothing was sent: the purchase is {row.status}", "get_purchase shows its state.")
        return {
            "escrow_id": escrow_id,
            "carrier": row.carrier,
            "arrives": self._date(row.arrives),
            "overdue": row.status == "shipped" and self._day > row.arrives,
        }

    @tool()
    def ship_purchase(self, escrow_id: t.EscrowId, carrier: t.SomeCarrier) -> t.EscrowDone:
        """Sends something that the user sold to its buyer."""
        row = self._escrow(escrow_id, False, "paid")
        done = self.escrows.update(row.escrow_id, status="shipped", carrier=carrier, arrives=self._day + CARRIERS[carrier])
        return self._escrow_done(done)

    @tool(destructive=True)
    def cancel_purchase(self, escrow_id: t.EscrowId) -> t.EscrowDone:
        """Cancels a purchase or sale of the user that was not sent yet; the buyer gets all money back."""
        row = self._escrow(escrow_id, None, "paid")
        self._check_undisputed(escrow_id)
        return self._escrow_done(self._settle(row, row.total, "cancelled"))

    @tool()
    def confirm_receipt(self, escrow_id: t.EscrowId) -> t.EscrowDone:
        """Confirms that something bought has arrived or was fetched; its seller gets the money."""
        row = self._escrow(escrow_id, True, "paid", "arrived")
        if row.status == "paid" and not row.pickup:
            raise ToolError("wrong_state", "it was not sent yet", "Use wait_days.")
        self._check_undisputed(escrow_id)
        return self._escrow_done(self._settle(row, 0))

    @tool()
    def wait_days(self, days: t.Days) -> t.Waited:
        """Lets days pass: parcels arrive, others ship and answer, offers and reservations expire. How much changed."""
        changes = sum(self._next_day() for _ in range(int(days)))
        return {"day": self._date(self._day), "changes": changes}

    # -- disputes ----------------------------------------------------------------------------------

    @tool()
    def open_dispute(self, escrow_id: t.EscrowId, reason: t.SomeReason, claim: t.Claim = None) -> t.DisputeShown:
        """Complains about a purchase of the user: not_received once it is overdue, other reasons once it has arrived."""
        row = self._escrow(escrow_id, True, "shipped", "arrived")
        value = row.total if claim is None else cents(claim)
        if value > row.total:
            raise ToolError("invalid_value", f"it cost {money(row.total)}", "Claim that much or less.")
        if any(d.escrow_id == escrow_id for d in self.disputes.values()):
            raise ToolError("conflict", "there was a dispute about it already", "find_dispute shows it.")
        if (reason == "not_received") != (row.status == "shipped"):
            raise ToolError("wrong_state", f"the purchase is {row.status}", "get_purchase shows it; choose a fitting reason.")
        if row.status == "shipped" and self._day <= row.arrives:
            raise ToolError("wrong_state", f"it is due on {self._date(row.arrives)}", "Use wait_days.")
        key = self.disputes.fresh("dis", escrow_id)
        return dispute_shown(self.disputes.put(key, Dispute(key, escrow_id, reason, value, self._day)))

    @tool()
    def add_dispute_evidence(self, dispute_id: t.DisputeId, evidence: t.SomeEvidence) -> t.EvidenceDone:
        """Adds evidence to a dispute that the user opened: a photo shows damage, a chat what was promised."""
        row, _ = self._dispute(dispute_id, True, "open", "proposed")
        pieces = tuple(sorted({*row.evidence, *evidence}))
        if pieces == row.evidence:
            raise ToolError("conflict", "this evidence is there already", "Add another kind.")
        self.disputes.update(dispute_id, evidence=pieces)
        return {"dispute_id": dispute_id, "pieces": len(pieces)}

    @tool(read_only=True)
    def list_disputes(self, limit: Limit = 5) -> list[t.DisputeShown]:
        """Lists disputes about purchases and sales of the user, the running ones first."""
        rows = sorted(self.disputes.values(), key=lambda d: (not d.running, -d.opened, d.dispute_id))
        return [dispute_shown(d) for d in rows[: int(limit)]]

    @tool(read_only=True)
    def find_dispute(self, escrow_id: t.EscrowId) -> t.DisputeShown:
        """Finds the dispute about a purchase or sale of the user."""
        self._escrow(escrow_id, None)
        row = next((d for d in self.disputes.values() if d.escrow_id == escrow_id), None)
        if row is None:
            raise ToolError("not_found", "there is no dispute about it", "list_disputes shows which there are.")
        return dispute_shown(row)

    @tool()
    def accept_settlement(self, dispute_id: t.DisputeId) -> t.DisputeClosed:
        """Takes what a seller proposes in a dispute; the rest of the money goes to them."""
        row, _ = self._dispute(dispute_id, True, "proposed")
        return self._dispute_closed(self._close(row, "settled", row.proposed))

    @tool()
    def escalate_dispute(self, dispute_id: t.DisputeId) -> t.DisputeClosed:
        """Has the marketplace decide a dispute with whose proposal the user does not agree; evidence decides."""
        row, escrow = self._dispute(dispute_id, True, "proposed")
        proved = self._proved(row, escrow)
        return self._dispute_closed(self._close(row, "upheld" if proved else "rejected", row.claim if proved else 0))

    @tool()
    def withdraw_dispute(self, dispute_id: t.DisputeId) -> t.DisputeDone:
        """Takes back a dispute that the user opened; the purchase goes on."""
        self._dispute(dispute_id, True, "open", "proposed")
        return {"dispute_id": dispute_id, "status": self.disputes.update(dispute_id, status="withdrawn").status}

    @tool()
    def grant_claim(self, dispute_id: t.DisputeId) -> t.DisputeClosed:
        """Gives a buyer what they claim back for something that the user sold; the user gets the rest."""
        row, _ = self._dispute(dispute_id, False, "open")
        return self._dispute_closed(self._close(row, "settled", row.claim))

    # -- people and ratings ------------------------------------------------------------------------

    @tool(read_only=True)
    def find_seller(self, name: t.KnownName) -> t.SellerShown:
        """Finds somebody on the marketplace by the full name, with rating (0 when nobody rated them) and deals."""
        return self._seller_shown(named(self.sellers.values(), name, "seller", "list_sellers"))

    @tool(read_only=True)
    def get_listing_seller(self, listing_id: t.ListingId) -> t.SellerShown:
        """Shows who sells a listing, with city, rating and number of deals."""
        return self._seller_shown(self.sellers[self._listing(listing_id).seller])

    @tool(read_only=True)
    def list_sellers(self, limit: Limit = 5) -> list[t.SellerRef]:
        """Lists people on the marketplace, the best rated first."""
        rows = self.sellers.where(lambda s: not s.user)
        rows = sorted(rows, key=lambda s: (-self._rating(s.seller_id), s.name))
        return [{"seller_id": s.seller_id, "name": s.name} for s in rows[: int(limit)]]

    @tool(read_only=True)
    def list_seller_ratings(self, seller_id: t.SellerId, limit: Limit = 5) -> list[t.RatingShown]:
        """Lists what others say of a seller, the worst first."""
        self._seller(seller_id)
        rows = sorted(self.ratings.where(lambda r: r.subject == seller_id), key=lambda r: (r.stars, r.rating_id))
        return [rating_shown(r) for r in rows[: int(limit)]]

    @tool(read_only=True)
    def list_own_ratings(self, limit: Limit = 5) -> list[t.RatingShown]:
        """Lists what others say of the user, those without a reply first."""
        rows = sorted(self.ratings.where(lambda r: r.subject == self._me), key=lambda r: (bool(r.reply), r.stars, r.rating_id))
        return [rating_shown(r) for r in rows[: int(limit)]]

    @tool(read_only=True)
    def find_rating(self, escrow_id: t.EscrowId) -> t.RatingShown:
        """Finds the rating that the user gave for a deal."""
        self._escrow(escrow_id, None)
        row = self._given(escrow_id)
        if row is None:
            raise ToolError("not_found", "the user has not rated it", "Use rate_deal once it is finished.")
        return rating_shown(row)

    def _given(self, escrow_id: str) -> Rating | None:
        return next((r for r in self.ratings.values() if (r.escrow_id, r.author) == (escrow_id, self._me)), None)

    @tool()
    def rate_deal(self, escrow_id: t.EscrowId, stars: t.Stars, comment: t.Comment = "") -> t.RatingDone:
        """Rates the other side of a finished purchase or sale, once; answers with their new rating."""
        row = self._escrow(escrow_id, None, "finished")
        said = plain(comment, "comment") if comment else ""
        if self._given(escrow_id):
            raise ToolError("conflict", "the user has rated it already", "Use change_rating.")
        subject = row.seller if row.buyer == self._me else row.buyer
        key = self.ratings.fresh("rtg", escrow_id, self._me)
        self.ratings.put(key, Rating(key, escrow_id, self._me, subject, int(stars), said))
        return {"rating_id": key, "seller_id": subject, "rating": self._rating(subject)}

    @tool(idempotent=True)
    def change_rating(self, rating_id: t.RatingId, stars: t.Stars) -> t.RatingDone:
        """Changes the stars of a rating that the user gave and nobody has replied to."""
        row = existing(self.ratings, rating_id, "rating", "list_seller_ratings")
        if row.author != self._me:
            raise ToolError("denied", "this is somebody else's rating", "find_rating shows the user's.")
        if row.reply:
            raise ToolError("wrong_state", "there is a reply to it", "Nothing can be done.")
        self.ratings.update(rating_id, stars=int(stars))
        return {"rating_id": rating_id, "seller_id": row.subject, "rating": self._rating(row.subject)}

    @tool()
    def reply_to_rating(self, rating_id: t.RatingId, reply: t.Reply) -> t.Replied:
        """Replies, once, to a rating of the user."""
        row, said = existing(self.ratings, rating_id, "rating", "list_own_ratings"), plain(reply, "reply")
        if row.subject != self._me:
            raise ToolError("denied", "this rating is of somebody else", "list_own_ratings shows those of the user.")
        if row.reply:
            raise ToolError("conflict", "the user has replied already", "Nothing is needed.")
        self.ratings.update(rating_id, reply=said)
        return {"rating_id": rating_id, "replied": True}

    # -- wallet and searches -----------------------------------------------------------------------

    @tool(read_only=True)
    def get_wallet(self) -> t.Wallet:
        """Shows the user's money, and what of theirs is in escrow."""
        held = sum(e.total for e in self.escrows.values() if e.buyer == self._me and e.waiting)
        return {"wallet": money(self.sellers[self._me].money), "in_escrow": money(held)}

    @tool()
    def add_to_wallet(self, amount: Amount) -> t.Wallet:
        """Brings money into the user's wallet."""
        self._pay(self._me, cents(amount))
        return self.get_wallet()

    @tool()
    def withdraw_from_wallet(self, amount: Amount) -> t.Wallet:
        """Takes money out of the user's wallet, to their bank."""
        self._pay(self._me, -cents(amount))
        return self.get_wallet()

    @tool()
    def save_search(self, name: t.NewName, filter: t.ListingFilter) -> t.SearchShown:
        """Keeps a search for listings of others under a name."""
        row = self._search(unused(self.searches.values(), name, "saved search"), filter)
        if "city" in filter:
            plain(filter["city"], "city")
        key = self.searches.fresh("ssr", row.name)
        return self._search_shown(self.searches.put(key, replace(row, search_id=key)))

    @tool(read_only=True)
    def find_saved_search(self, name: t.KnownName) -> t.SearchShown:
        """Finds a saved search by its name, with how many listings it finds now."""
        return self._search_shown(named(self.searches.values(), name, "saved search", "list_saved_searches"))

    @tool(read_only=True)
    def list_saved_searches(self, limit: Limit = 5) -> list[t.SearchShown]:
        """Lists saved searches with how many listings they find now."""
        return [self._search_shown(s) for s in sorted(self.searches.values(), key=lambda s: s.name)[: int(limit)]]

    @tool(read_only=True)
    def run_saved_search(self, search_id: t.SearchId, limit: Limit = 5) -> list[t.ListingRow]:
        """Lists what a saved search finds now, the cheapest first."""
        row = existing(self.searches, search_id, "saved search", "list_saved_searches")
        return [listing_row(r) for r in self._matches(row)[: int(limit)]]

    @tool(idempotent=True)
    def change_saved_search(self, search_id: t.SearchId, filter: t.ListingFilter) -> t.SearchShown:
        """Replaces the filter of a saved search."""
        row = existing(self.searches, search_id, "saved search", "list_saved_searches")
        if "city" in filter:
            plain(filter["city"], "city")
        return self._search_shown(self.searches.put(search_id, replace(self._search(row.name, filter), search_id=search_id)))

    @tool(destructive=True)
    def delete_saved_search(self, search_id: t.SearchId) -> t.SearchShown:
        """Deletes a saved search."""
        row = existing(self.searches, search_id, "saved search", "list_saved_searches")
        self.searches.remove(search_id)
        return self._search_shown(row)
