"""What the marketplace server's tools share: who may do what, sales and their money, days that pass, and what is shown.

Run: nothing here runs by itself; `tasks.servers.marketplace` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from tasks.servers import marketplace_types as t
from tasks.servers.lookup import existing
from tasks.servers.marketplace_rows import (
    ANSWERED_AFTER,
    CARRIERS,
    MOST_RESERVED,
    PROOF,
    RELEASED_AFTER,
    RESERVED_FOR,
    UPHELD_AFTER,
    Clock,
    Dispute,
    Escrow,
    Listing,
    Offer,
    Rating,
    Search,
    Seller,
)
from tasks.servers.state import Table
from tasks.servers.tool import ToolError
from tasks.servers.typed import cents, money


class Market:
    """The tables of the marketplace, and the steps that tools are made of."""

    now: dt.datetime
    clock: Table[Clock]
    sellers: Table[Seller]
    listings: Table[Listing]
    offers: Table[Offer]
    escrows: Table[Escrow]
    disputes: Table[Dispute]
    ratings: Table[Rating]
    searches: Table[Search]

    # -- rows and checks ---------------------------------------------------------------------------

    @property
    def _me(self) -> str:
        return next(s.seller_id for s in self.sellers.values() if s.user)

    @property
    def _day(self) -> int:
        return self.clock["clock"].day

    def _date(self, day: int) -> str:
        return f"{self.now + dt.timedelta(days=day):%Y-%m-%d}"

    def _seller(self, seller_id: str) -> Seller:
        return existing(self.sellers, seller_id, "seller", "list_sellers")

    def _listing(self, listing_id: str) -> Listing:
        return existing(self.listings, listing_id, "listing", "list_listings")

    def _own(self, listing_id: str, status: str = "active") -> Listing:
        """A listing of the user's in that state."""
        row = self._listing(listing_id)
        if row.seller != self._me:
            raise ToolError("denied", "this is somebody else's listing", "list_own_listings shows the user's.")
        if row.status != status:
            raise ToolError("wrong_state", f"the listing is {row.status}, not {status}", "list_own_listings shows others.")
        return row

    def _foreign(self, listing_id: str) -> Listing:
        """An active listing of somebody else."""
        row = self._listing(listing_id)
        if row.seller == self._me:
            raise ToolError("denied", "this is the user's own listing", "list_listings shows others.")
        if row.status != "active":
            raise ToolError("wrong_state", f"the listing is {row.status}", "list_listings shows active ones.")
        return row

    def _offer(self, offer_id: str, status: str, own: bool) -> Offer:
        """An offer in that state, by the user (`own`) or for one of the user's listings."""
        row = existing(self.offers, offer_id, "offer", "list_own_offers")
        if own and row.bidder != self._me:
            raise ToolError("denied", "this is somebody else's offer", "list_own_offers shows the user's.")
        if not own and self.listings[row.listing_id].seller != self._me:
            raise ToolError("denied", "this is no offer for a listing of the user", "list_offers shows those.")
        if row.status != status:
            raise ToolError("wrong_state", f"the offer is {row.status}, not {status}", "Choose another offer.")
        return row

    def _escrow(self, escrow_id: str, buyer: bool | None, *statuses: str) -> Escrow:
        """A purchase of the user (`buyer`), a sale, or either (None), in one of `statuses`."""
        row = existing(self.escrows, escrow_id, "purchase", "list_purchases")
        if buyer is not None and (row.buyer == self._me) != buyer:
            side = "bought" if buyer else "sold"
            raise ToolError("denied", f"the user has not {side} it", f"list_purchases shows what they {side}.")
        if statuses and row.status not in statuses:
            raise ToolError("wrong_state", f"the purchase is {row.status}", f"It must be {' or '.join(statuses)}.")
        return row

    def _disputed(self, escrow_id: str) -> bool:
        return any(d.escrow_id == escrow_id and d.running for d in self.disputes.values())

    def _check_undisputed(self, escrow_id: str) -> None:
        if self._disputed(escrow_id):
            raise ToolError("wrong_state", "there is a dispute about it", "find_dispute shows it.")

    def _dispute(self, dispute_id: str, buyer: bool, *statuses: str) -> tuple[Dispute, Escrow]:
        """A dispute in one of `statuses`, which the user opened (`buyer`) or which is about a sale of the user."""
        row = existing(self.disputes, dispute_id, "dispute", "list_disputes")
        escrow = self.escrows[row.escrow_id]
        if (escrow.buyer == self._me) != buyer:
            who = "the user opened no such dispute" if buyer else "this dispute is not about a sale of the user"
            raise ToolError("denied", who, "list_disputes shows which there are.")
        if row.status not in statuses:
            raise ToolError("wrong_state", f"the dispute is {row.status}", f"It must be {' or '.join(statuses)}.")
        return row, escrow

    # -- money and sales ---------------------------------------------------------------------------

    def _pay(self, seller_id: str, value: int) -> None:
        """Into somebody's wallet, or out of it. Raises ToolError(insufficient)."""
        row = self.sellers[seller_id]
        if row.money + value < 0:
            remedy = "Use add_to_wallet." if row.user else "Choose another offer."
            raise ToolError("insufficient", f"{money(-value)} is needed and the wallet has less", remedy)
        self.sellers.update(seller_id, money=row.money + value)

    def _decline_others(self, listing_id: str, keep: str = "") -> None:
        for offer in self.offers.where(lambda o: o.listing_id == listing_id and o.status in ("open", "countered")):
            if offer.offer_id != keep:
                self.offers.update(offer.offer_id, status="declined")

    def _reserve(self, listing_id: str, price: int, keep: str = "") -> Listing:
        """Keeps a listing for the user at a price. Raises ToolError(denied) when they have kept too many."""
        me = self._me
        if sum(r.status == "reserved" and r.buyer == me for r in self.listings.values()) >= MOST_RESERVED:
            message = f"{MOST_RESERVED} listings are reserved for the user already"
            raise ToolError("denied", message, "Use buy_listing or release_reservation first.")
        self._decline_others(listing_id, keep)
        return self.listings.update(listing_id, status="reserved", buyer=me, agreed=price, until=self._day + RESERVED_FOR)

    def _free(self, listing_id: str, status: t.ListingStatus = "active") -> Listing:
        """Ends a reservation or a sale, and the offer that led to it."""
        for offer in self.offers.where(lambda o: o.listing_id == listing_id and o.status == "accepted"):
            self.offers.update(offer.offer_id, status="expired")
        return self.listings.update(listing_id, status=status, buyer="", agreed=0, until=0)

    def _buy(self, row: Listing, buyer: str, price: int, pickup: bool) -> Escrow:
        """A purchase: its money goes into escrow, other offers are declined. Raises ToolError(insufficient)."""
        postage = 0 if pickup else row.postage
        self._pay(buyer, -(price + postage))
        self._decline_others(row.listing_id)
        self.listings.update(row.listing_id, status="sold", buyer=buyer, agreed=price, until=0)
        key = self.escrows.fresh("esc", row.listing_id, buyer, self._day)
        return self.escrows.put(key, Escrow(key, row.listing_id, buyer, row.seller, price, postage, pickup, "paid", self._day))

    def _settle(self, row: Escrow, refund: int, status: t.EscrowStatus | None = None) -> Escrow:
        """Ends a purchase: `refund` goes to the buyer, the rest to the seller. All given back, the thing is not sold."""
        if refund:
            self._pay(row.buyer, refund)
        if refund < row.total:
            self._pay(row.seller, row.total - refund)
        else:
            self._free(row.listing_id, "active" if status == "cancelled" else "withdrawn")
        status = status or ("refunded" if refund == row.total else "finished")
        return self.escrows.update(row.escrow_id, status=status, released=row.total - refund, refunded=refund)

    def _close(self, row: Dispute, status: t.DisputeStatus, refund: int) -> Dispute:
        """Ends a dispute, and with it the purchase."""
        self._settle(self.escrows[row.escrow_id], refund)
        return self.disputes.update(row.dispute_id, status=status)

    def _proved(self, row: Dispute, escrow: Escrow) -> bool:
        """Whether the marketplace believes the buyer: a parcel that is late needs no evidence."""
        return (row.reason == "not_received" and escrow.status == "shipped") or PROOF[row.reason] in row.evidence

    # -- days that pass ----------------------------------------------------------------------------

    def _next_day(self) -> int:
        """One day passes: others ship and confirm, parcels arrive, offers and reservations end, disputes are answered.

        How many things changed.
        """
        day, me = self._day + 1, self._me
        self.clock.update("clock", day=day)
        changes = 0
        for row in [e for e in self.escrows.values() if e.waiting]:
            changes += self._move_on(row, day, me)
        for listing in self.listings.where(lambda r: r.status == "reserved" and r.until < day):
            self._free(listing.listing_id)
            changes += 1
        for offer in self.offers.where(lambda o: o.status in ("open", "countered") and o.expires < day):
            self.offers.update(offer.offer_id, status="expired")
            changes += 1
        for dispute in [d for d in self.disputes.values() if d.status == "open"]:
            changes += self._answer(dispute, day, me)
        return changes

    def _move_on(self, row: Escrow, day: int, me: str) -> bool:
        """What happens to a waiting purchase on a day. Whether anything did."""
        if self._disputed(row.escrow_id):
            return False
        if row.pickup:
            return day >= row.paid + RELEASED_AFTER and bool(self._settle(row, 0))
        if row.status == "paid" and row.seller != me:
            carrier = tuple(CARRIERS)[int(row.escrow_id[-3:]) % len(CARRIERS)]
            self.escrows.update(row.escrow_id, status="shipped", carrier=carrier, arrives=day + CARRIERS[carrier])
            return True
        if row.status == "shipped" and day >= row.arrives and not row.lost:
            row = self.escrows.update(row.escrow_id, status="arrived")
            if row.buyer != me:
                self._settle(row, 0)
            return True
        return row.status == "arrived" and day >= row.arrives + RELEASED_AFTER and bool(self._settle(row, 0))

    def _answer(self, row: Dispute, day: int, me: str) -> bool:
        """What the other side, or the marketplace, does about an open dispute on a day. Whether anything."""
        escrow = self.escrows[row.escrow_id]
        if escrow.seller == me:
            return day >= row.opened + UPHELD_AFTER and bool(self._close(row, "upheld", row.claim))
        if day < row.opened + ANSWERED_AFTER:
            return False
        if self.sellers[escrow.seller].fair:
            self._close(row, "settled", row.claim)
        else:
            self.disputes.update(row.dispute_id, status="proposed", proposed=row.claim // 2)
        return True

    # -- searches ----------------------------------------------------------------------------------

    def _search(self, name: str, wanted: Mapping[str, object]) -> Search:
        """A filter as it is kept. Raises ToolError(invalid_value) for a price with more than two decimals."""
        most, city = wanted.get("max_price"), wanted.get("city", "")
        return Search(
            "",
            name,
            str(wanted.get("category", "")),
            str(wanted.get("condition", "")),
            cents(most) if isinstance(most, int | float) else 0,
            str(city),
        )

    def _matches(self, wanted: Search) -> list[Listing]:
        """Active listings of others that a search finds, the cheapest first."""
        me, city = self._me, wanted.city.strip().casefold()
        rows = self.listings.where(
            lambda r: (
                r.status == "active"
                and r.seller != me
                and wanted.category in ("", r.category)
                and wanted.condition in ("", r.condition)
                and (not wanted.most or r.price <= wanted.most)
                and city in ("", self.sellers[r.seller].city.casefold())
            )
        )
        return sorted(rows, key=lambda r: (r.price, r.name))

    # -- shown -------------------------------------------------------------------------------------

    def _rating(self, seller_id: str) -> float:
        """The mean of somebody's stars, to one decimal; 0 without ratings."""
        stars = [r.stars for r in self.ratings.values() if r.subject == seller_id]
        return round(sum(stars) / len(stars), 1) if stars else 0.0

    def _seller_shown(self, row: Seller) -> t.SellerShown:
        me = row.seller_id
        deals = sum(me in (e.buyer, e.seller) and e.status == "finished" for e in self.escrows.values())
        return {
            "seller_id": me,
            "name": row.name,
            "city": row.city,
            "rating": self._rating(me),
            "deals": row.past_deals + deals,
        }

    def _offer_shown(self, row: Offer) -> t.OfferShown:
        shown: t.OfferShown = {
            "offer_id": row.offer_id,
            "listing_id": row.listing_id,
            "price": money(row.price),
            "status": row.status,
        }
        if row.counter:
            shown["counter"] = money(row.counter)
        if row.status in ("open", "countered"):
            shown["expires"] = self._date(row.expires)
        return shown

    def _escrow_done(self, row: Escrow) -> t.EscrowDone:
        return {"escrow_id": row.escrow_id, "status": row.status, "wallet": money(self.sellers[self._me].money)}

    def _dispute_closed(self, row: Dispute) -> t.DisputeClosed:
        return {"dispute_id": row.dispute_id, "status": row.status, "wallet": money(self.sellers[self._me].money)}

    def _search_shown(self, row: Search) -> t.SearchShown:
        return {"search_id": row.search_id, "name": row.name, "matches": len(self._matches(row))}


def listing_row(row: Listing) -> t.ListingRow:
    return {
        "listing_id": row.listing_id,
        "name": row.name,
        "price": money(row.price),
        "condition": row.condition,
        "status": row.status,
    }


def listing_found(row: Listing) -> t.ListingFound:
    return {"listing_id": row.listing_id, "price": money(row.price), "status": row.status}


def offer_row(row: Offer) -> t.OfferRow:
    return {"offer_id": row.offer_id, "listing_id": row.listing_id, "price": money(row.price), "status": row.status}


def offer_done(row: Offer) -> t.OfferDone:
    price = row.counter if row.status == "countered" else row.price
    return {"offer_id": row.offer_id, "status": row.status, "price": money(price)}


def escrow_row(row: Escrow) -> t.EscrowRow:
    return {"escrow_id": row.escrow_id, "listing_id": row.listing_id, "total": money(row.total), "status": row.status}


def dispute_shown(row: Dispute) -> t.DisputeShown:
    shown: t.DisputeShown = {
        "dispute_id": row.dispute_id,
        "escrow_id": row.escrow_id,
        "reason": row.reason,
        "claim": money(row.claim),
        "status": row.status,
    }
    if row.status == "proposed":
        shown["proposed"] = money(row.proposed)
    return shown


def rating_shown(row: Rating) -> t.RatingShown:
    shown: t.RatingShown = {"rating_id": row.rating_id, "stars": row.stars}
    if row.comment:
        shown["comment"] = row.comment
    if row.reply:
        shown["reply"] = row.reply
    return shown
