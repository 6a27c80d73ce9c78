"""The marketplace server: second-hand listings between people, offers, reservations, escrow, shipping, disputes and ratings.

    with environment(["marketplace"]).session(7) as session:
        session.call("find_listing", {"name": "Walnut Desk"})

The user sells and buys. A purchase puts the buyer's money into escrow; receipt gives it to the seller, a dispute that is upheld
gives it back. A listing has one buyer at most. Only a finished deal is rated, once.

Left out: other people who act by themselves. Sellers answer an offer at once, by their lowest price, which nobody is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Amount, Limit, cents, identifier, money
from tasks.servers.world import World, words

ListingId = identifier("listing", "lst")
TraderId = identifier("trader", "tra")
OfferId = identifier("offer", "off")
EscrowId = identifier("escrow", "esc")
DisputeId = identifier("dispute", "dis")
SearchId = identifier("saved_search", "ssr")

Category = Annotated[
    Literal["furniture", "electronics", "clothing", "books", "sport", "garden"], Field(description="What kind of thing.")
]
AnyCategory = Annotated[
    Literal["any", "furniture", "electronics", "clothing", "books", "sport", "garden"], Field(description="Only these.")
]
CATEGORIES: tuple[Literal["furniture", "electronics", "clothing", "books", "sport", "garden"], ...] = (
    "furniture",
    "electronics",
    "clothing",
    "books",
    "sport",
    "garden",
)
ListingStatus = Literal["active", "reserved", "sold", "withdrawn"]
OfferStatus = Literal["open", "accepted", "declined", "countered", "withdrawn"]
EscrowStatus = Literal["paid", "shipped", "finished", "refunded"]
Condition = Annotated[Literal["new", "good", "used", "worn"], Field(description="How it looks.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]

THINGS = words(
    """Desk Lamp Jacket Novel Racket Shovel Chair Radio Boots Atlas Kayak Planter Sofa Tablet Scarf Dictionary Helmet Trellis
    Bookcase Camera Coat Cookbook Skateboard Wheelbarrow Mirror Speaker Dress Comic Surfboard Hammock Cabinet Monitor Gloves
    Almanac Bicycle Bench Stool Printer Hat Encyclopedia"""
)
STYLES = words(
    """Walnut Crimson Vintage Modern Rustic Nordic Velvet Marble Bamboo Copper Ivory Cobalt Emerald Leather Canvas Woolen
    Folding Antique Tiny Giant Striped Painted Carved Woven Polished Sturdy Slim Classic Retro Handmade"""
)
CARRIERS = ("Parcelway", "Swiftpost", "Boxline")


@dataclass(frozen=True, slots=True)
class Trader:
    """Somebody on the marketplace; one is the user. `money` is what they have in their wallet, in cents."""

    trader_id: str
    name: str
    city: str
    user: bool
    money: int


@dataclass(frozen=True, slots=True)
class Listing:
    """`lowest` is what its seller takes at least, which no tool shows."""

    listing_id: str
    name: str
    seller: str
    category: Literal["furniture", "electronics", "clothing", "books", "sport", "garden"]
    condition: Literal["new", "good", "used", "worn"]
    price: int
    lowest: int
    status: ListingStatus = "active"
    buyer: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    offer_id: str
    listing_id: str
    bidder: str
    price: int
    status: OfferStatus
    counter: int = 0


@dataclass(frozen=True, slots=True)
class Escrow:
    """A purchase: the buyer's money until it is finished or refunded."""

    escrow_id: str
    listing_id: str
    buyer: str
    seller: str
    price: int
    status: EscrowStatus
    carrier: str = ""
    rated: int = 0


@dataclass(frozen=True, slots=True)
class Dispute:
    dispute_id: str
    escrow_id: str
    reason: Literal["not_received", "damaged", "not_as_described"]
    status: Literal["open", "upheld", "rejected"] = "open"


@dataclass(frozen=True, slots=True)
class Search:
    search_id: str
    name: str
    category: str
    most: int


class ListingShown(TypedDict):
    listing_id: ListingId
    name: str
    price: float
    condition: Literal["new", "good", "used", "worn"]
    status: ListingStatus


class ListingTold(TypedDict):
    listing_id: ListingId
    seller_id: TraderId
    price: float
    category: Literal["furniture", "electronics", "clothing", "books", "sport", "garden"]
    offers: int
    status: ListingStatus


class ListingDone(TypedDict):
    listing_id: ListingId
    price: float
    status: ListingStatus


class TraderShown(TypedDict):
    trader_id: TraderId
    name: str
    city: str
    rating: float
    deals: int


class OfferShown(TypedDict):
    offer_id: OfferId
    listing_id: ListingId
    price: float
    status: OfferStatus


class OfferDone(TypedDict):
    offer_id: OfferId
    status: OfferStatus
    price: float


class EscrowShown(TypedDict):
    escrow_id: EscrowId
    listing_id: ListingId
    price: float
    status: EscrowStatus


class EscrowDone(TypedDict):
    escrow_id: EscrowId
    status: EscrowStatus
    wallet: float


class DisputeDone(TypedDict):
    dispute_id: DisputeId
    status: Literal["open", "upheld", "rejected"]


class DisputeShown(TypedDict):
    dispute_id: DisputeId
    escrow_id: EscrowId
    reason: Literal["not_received", "damaged", "not_as_described"]
    status: Literal["open", "upheld", "rejected"]


class SearchShown(TypedDict):
    search_id: SearchId
    name: str
    matches: int


class Wallet(TypedDict):
    wallet: float
    in_escrow: float


class Price(TypedDict):
    """What a thing shall cost."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    asked: Amount
    lowest: Amount


class Marketplace(Server):
    """A marketplace as one user sees it."""

    name = "marketplace"
    title = "Second-hand listings, offers, purchases in escrow and ratings."

    traders: Table[Trader]
    listings: Table[Listing]
    offers: Table[Offer]
    escrows: Table[Escrow]
    disputes: Table[Dispute]
    searches: Table[Search]

    @classmethod
    def seed(cls, world: World) -> Seed:
        ids = world.ids("tra", 8)
        traders = {
            key: Trader(key, p.name, world.city(), n == 0, world.amount(300, 1500))
            for n, (key, p) in enumerate(zip(ids, world.people(), strict=False))
        }
        me, others = ids[0], ids[1:]
        names = list(dict.fromkeys(f"{world.pick(STYLES)} {world.pick(THINGS)}" for _ in range(120)))[:26]
        listings: dict[str, Listing] = {}
        for n, (key, name) in enumerate(zip(world.ids("lst", 26), names, strict=False)):
            price = world.amount(10, 300)
            seller = me if n < 6 else world.choice(others)
            condition = world.choice(("new", "good", "used", "worn"))
            listings[key] = Listing(key, name, seller, world.choice(CATEGORIES), condition, price, price * 8 // 10)
        offers: dict[str, Offer] = {}
        own = [r for r in listings.values() if r.seller == me]
        foreign = [r for r in listings.values() if r.seller != me]
        for n, key in enumerate(world.ids("off", 8)):
            listing = own[n % 3] if n < 5 else foreign[n]
            bidder = others[n % len(others)] if n < 5 else me
            price = listing.price * world.rng.randint(60, 95) // 100
            offers[key] = Offer(key, listing.listing_id, bidder, price, "open" if n < 5 else "declined")
        escrows: dict[str, Escrow] = {}
        states: tuple[EscrowStatus, ...] = ("shipped", "paid", "finished", "paid", "finished", "refunded")
        pool = [*foreign[8:11], *own[4:6], foreign[11]]
        for key, status, listing in zip(world.ids("esc", 6), states, pool, strict=False):
            buyer = world.choice(others) if listing.seller == me else me
            carrier = world.choice(CARRIERS) if status in ("shipped", "finished") else ""
            escrows[key] = Escrow(key, listing.listing_id, buyer, listing.seller, listing.price, status, carrier)
            sold: ListingStatus = "withdrawn" if status == "refunded" else "sold"
            listings[listing.listing_id] = Listing(
                listing.listing_id,
                listing.name,
                listing.seller,
                listing.category,
                listing.condition,
                listing.price,
                listing.lowest,
                sold,
                "" if status == "refunded" else buyer,
            )
        searches = {
            key: Search(key, name, world.choice(CATEGORIES), world.amount(50, 300))
            for key, name in zip(world.ids("ssr", 3), world.picks(THINGS, 3), strict=False)
        }
        return {
            "traders": traders,
            "listings": listings,
            "offers": offers,
            "escrows": escrows,
            "disputes": {},
            "searches": searches,
        }

    # -- listings ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_listing(self, name: KnownName) -> ListingShown:
        """Finds a listing by its title."""
        return _listing_shown(named(self.listings.values(), name, "listing", "search_listings"))

    @tool(read_only=True)
    def search_listings(
        self,
        category: AnyCategory = "any",
        most: Annotated[float, Field(gt=0, le=1_000_000, description="The highest price.")] = 1_000_000,
        limit: Limit = 5,
    ) -> list[ListingShown]:
        """Lists what others sell, the cheapest first."""
        rows = [
            r
            for r in self.listings.values()
            if r.status == "active" and r.seller != self._me and category in ("any", r.category)
        ]
        rows = sorted((r for r in rows if money(r.price) <= most), key=lambda r: (r.price, r.listing_id))
        return [_listing_shown(r) for r in rows[: int(limit)]]

    @tool(read_only=True)
    def list_own_listings(self, limit: Limit = 5) -> list[ListingShown]:
        """Lists what the user sells or sold."""
        return [_listing_shown(r) for r in self.listings.where(lambda r: r.seller == self._me)[: int(limit)]]

    @tool(read_only=True)
    def list_seller_listings(self, seller_id: TraderId, limit: Limit = 5) -> list[ListingShown]:
        """Lists what a seller has on offer."""
        self._trader(seller_id)
        rows = self.listings.where(lambda r: r.seller == seller_id and r.status == "active")
        return [_listing_shown(r) for r in rows[: int(limit)]]

    @tool(read_only=True)
    def get_listing(self, listing_id: ListingId) -> ListingTold:
        """A listing's seller, price, category and number of open offers."""
        row = self._listing(listing_id)
        return {
            "listing_id": listing_id,
            "seller_id": row.seller,
            "price": money(row.price),
            "category": row.category,
            "offers": sum(o.listing_id == listing_id and o.status in ("open", "countered") for o in self.offers.values()),
            "status": row.status,
        }

    @tool(read_only=True)
    def compare_listings(
        self, listing_ids: Annotated[list[ListingId], Field(min_length=2, max_length=6, description="Which to compare.")]
    ) -> list[ListingShown]:
        """Lists several listings side by side, the cheapest first."""
        rows = {key: self._listing(key) for key in listing_ids}
        return [_listing_shown(r) for r in sorted(rows.values(), key=lambda r: (r.price, r.listing_id))]

    @tool()
    def create_listing(
        self,
        name: NewName,
        category: Category,
        price: Annotated[Price, Field(description="What to ask for.")],
        condition: Condition = "used",
    ) -> ListingDone:
        """Offers something of the user's for sale."""
        name = unused(self.listings.values(), name, "listing")
        asked, lowest = cents(price["asked"]), cents(price["lowest"])
        if lowest > asked:
            raise ToolError("invalid_value", "the lowest price is above the asked one", "Give a lower one.")
        key = self.listings.fresh("lst", name)
        return _listing_done(self.listings.put(key, Listing(key, name, self._me, category, condition, asked, lowest)))

    @tool()
    def change_listing_price(self, listing_id: ListingId, price: Amount) -> ListingDone:
        """Changes the price of one of the user's active listings."""
        row, value = self._own(listing_id), cents(price)
        return _listing_done(self.listings.update(listing_id, price=value, lowest=min(row.lowest, value)))

    @tool(destructive=True)
    def withdraw_listing(self, listing_id: ListingId) -> ListingDone:
        """Takes one of the user's active listings down and declines its offers."""
        self._own(listing_id)
        self._decline_all(listing_id)
        return _listing_done(self.listings.update(listing_id, status="withdrawn"))

    # -- offers ------------------------------------------------------------------------------------

    @tool()
    def make_offer(self, listing_id: ListingId, price: Amount) -> OfferDone:
        """Offers a price for somebody's active listing. Accepted at once if it is enough; then it is reserved for the user."""
        row, value = self._foreign(listing_id), cents(price)
        if any(o.listing_id == listing_id and o.bidder == self._me and o.status == "countered" for o in self.offers.values()):
            raise ToolError("conflict", "the seller has answered with a price", "Use accept_counter or withdraw_offer.")
        if value > row.price:
            raise ToolError("invalid_value", f"it costs {money(row.price)}", "Offer that much or less.")
        key = self.offers.fresh("off", listing_id, value)
        if value >= row.lowest:
            self._reserve(listing_id, self._me, value)
            made = self.offers.put(key, Offer(key, listing_id, self._me, value, "accepted"))
        elif value * 2 >= row.lowest:
            made = self.offers.put(key, Offer(key, listing_id, self._me, value, "countered", (value + row.price + 1) // 2))
        else:
            made = self.offers.put(key, Offer(key, listing_id, self._me, value, "declined"))
        return _offer_done(made)

    @tool()
    def accept_counter(self, offer_id: OfferId) -> OfferDone:
        """Agrees to the price with which a seller answered; the thing is reserved for the user."""
        row = self._offer(offer_id, "countered")
        if row.bidder != self._me:
            raise ToolError("denied", f"{offer_id} is somebody else's offer", "list_own_offers shows the user's.")
        self._foreign(row.listing_id)
        self._reserve(row.listing_id, self._me, row.counter)
        return _offer_done(self.offers.update(offer_id, status="accepted", price=row.counter, counter=0))

    @tool()
    def withdraw_offer(self, offer_id: OfferId) -> OfferDone:
        """Takes back one of the user's own offers that is not accepted."""
        row = self._offer(offer_id, "open", "countered")
        if row.bidder != self._me:
            raise ToolError("denied", f"{offer_id} is somebody else's offer", "decline_offer refuses it.")
        return _offer_done(self.offers.update(offer_id, status="withdrawn"))

    @tool(read_only=True)
    def list_own_offers(self, limit: Limit = 5) -> list[OfferShown]:
        """Lists the offers that the user made."""
        return [_offer_shown(o) for o in self.offers.where(lambda o: o.bidder == self._me)[: int(limit)]]

    @tool(read_only=True)
    def list_offers(self, listing_id: ListingId, limit: Limit = 5) -> list[OfferShown]:
        """Lists open offers for one of the user's listings, the best first."""
        if self._listing(listing_id).seller != self._me:
            raise ToolError("denied", "this is somebody else's listing", "list_own_listings shows the user's.")
        rows = self.offers.where(lambda o: o.listing_id == listing_id and o.status == "open")
        return [_offer_shown(o) for o in sorted(rows, key=lambda o: (-o.price, o.offer_id))[: int(limit)]]

    @tool()
    def accept_offer(self, offer_id: OfferId) -> EscrowDone:
        """Sells to somebody who made an offer: their money goes into escrow, other offers are declined."""
        row = self._offer(offer_id, "open")
        listing = self._own(row.listing_id)
        buyer = self.traders[row.bidder]
        if buyer.money < row.price:
            raise ToolError("insufficient", f"{buyer.name} cannot pay that", "Accept another offer.")
        self.offers.update(offer_id, status="accepted")
        return self._buy(listing, buyer.trader_id, row.price)

    @tool()
    def decline_offer(self, offer_id: OfferId) -> OfferDone:
        """Refuses an offer for one of the user's listings."""
        row = self._offer(offer_id, "open")
        if self._listing(row.listing_id).seller != self._me:
            raise ToolError("denied", "this is not the user's listing", "withdraw_offer takes back an own offer.")
        return _offer_done(self.offers.update(offer_id, status="declined"))

    # -- purchases ---------------------------------------------------------------------------------

    @tool()
    def buy_listing(self, listing_id: ListingId) -> EscrowDone:
        """Buys somebody's listing at its price, or the one agreed on; the money goes into escrow."""
        row = self._listing(listing_id)
        if row.seller == self._me:
            raise ToolError("denied", "this is the user's own listing", "search_listings shows others.")
        if row.status != "active" and not (row.status == "reserved" and row.buyer == self._me):
            raise ToolError("wrong_state", f"{listing_id} is {row.status}", "search_listings shows what can be bought.")
        if self.traders[self._me].money < row.price:
            raise ToolError("insufficient", f"the wallet has {money(self.traders[self._me].money)}", "Use add_to_wallet first.")
        return self._buy(row, self._me, row.price)

    @tool(read_only=True)
    def list_purchases(
        self, side: Annotated[Literal["bought", "sold"], Field(description="By or from the user.")] = "bought", limit: Limit = 5
    ) -> list[EscrowShown]:
        """Lists what the user bought or sold."""
        rows = self.escrows.where(lambda e: (e.buyer if side == "bought" else e.seller) == self._me)
        return [_escrow_shown(e) for e in rows[: int(limit)]]

    @tool(read_only=True)
    def find_purchase(self, listing_id: ListingId) -> EscrowShown:
        """The purchase of a listing by or from the user."""
        self._listing(listing_id)
        rows = self.escrows.where(lambda e: e.listing_id == listing_id and self._me in (e.buyer, e.seller))
        if not rows:
            raise ToolError("not_found", "the user has no deal over it", "list_purchases shows their deals.")
        return _escrow_shown(rows[-1])

    @tool()
    def ship_purchase(
        self,
        escrow_id: EscrowId,
        carrier: Annotated[Literal["Parcelway", "Swiftpost", "Boxline"], Field(description="Who brings it.")],
    ) -> EscrowDone:
        """Sends what the user sold to its buyer."""
        row = self._escrow(escrow_id, "paid")
        if row.seller != self._me:
            raise ToolError("denied", "the user is not its seller", "list_purchases shows what they sold.")
        return self._escrow_done(self.escrows.update(escrow_id, status="shipped", carrier=carrier))

    @tool()
    def confirm_receipt(self, escrow_id: EscrowId) -> EscrowDone:
        """Confirms that something bought has arrived; its seller gets the money."""
        row = self._escrow(escrow_id, "shipped")
        self._check_buyer(row)
        if any(d.escrow_id == escrow_id and d.status == "open" for d in self.disputes.values()):
            raise ToolError("wrong_state", "there is an open dispute about it", "Use settle_dispute first.")
        self._pay(row.seller, row.price)
        return self._escrow_done(self.escrows.update(escrow_id, status="finished"))

    @tool()
    def rate_purchase(
        self, escrow_id: EscrowId, stars: Annotated[int, Field(ge=1, le=5, description="1 to 5.")]
    ) -> TraderShown:
        """Rates the seller of a finished purchase of the user, once."""
        row = self._escrow(escrow_id, "finished")
        self._check_buyer(row)
        if row.rated:
            raise ToolError("conflict", "this purchase is rated already", "Nothing is needed.")
        self.escrows.update(escrow_id, rated=int(stars))
        return self._trader_shown(self.traders[row.seller])

    @tool()
    def open_dispute(
        self,
        escrow_id: EscrowId,
        reason: Annotated[Literal["not_received", "damaged", "not_as_described"], Field(description="What is wrong.")],
    ) -> DisputeDone:
        """Complains about a purchase of the user that is paid for or shipped."""
        row = self._escrow(escrow_id, "paid", "shipped")
        self._check_buyer(row)
        if any(d.escrow_id == escrow_id for d in self.disputes.values()):
            raise ToolError("conflict", "there was a dispute about it already", "list_disputes shows it.")
        if reason != "not_received" and row.status == "paid":
            raise ToolError("wrong_state", "it was not sent yet", "Only not_received is possible now.")
        key = self.disputes.fresh("dis", escrow_id, reason)
        self.disputes.put(key, Dispute(key, escrow_id, reason))
        return {"dispute_id": key, "status": "open"}

    @tool(read_only=True)
    def list_disputes(self, limit: Limit = 5) -> list[DisputeShown]:
        """Lists the user's disputes."""
        rows = list(self.disputes.values())[: int(limit)]
        return [{"dispute_id": d.dispute_id, "escrow_id": d.escrow_id, "reason": d.reason, "status": d.status} for d in rows]

    @tool()
    def settle_dispute(self, dispute_id: DisputeId) -> DisputeDone:
        """Has a dispute decided: upheld if nothing was sent or the thing was sold as new, and then refunded."""
        row = existing(self.disputes, dispute_id, "dispute", "list_disputes")
        if row.status != "open":
            raise ToolError("wrong_state", f"{dispute_id} is {row.status}", "list_disputes shows all.")
        escrow = self.escrows[row.escrow_id]
        upheld = escrow.status == "paid" or self.listings[escrow.listing_id].condition == "new"
        if upheld:
            self._pay(escrow.buyer, escrow.price)
            self.escrows.update(escrow.escrow_id, status="refunded")
            self.listings.update(escrow.listing_id, status="withdrawn", buyer="")
        done = self.disputes.update(dispute_id, status="upheld" if upheld else "rejected")
        return {"dispute_id": dispute_id, "status": done.status}

    # -- people, wallet, searches ------------------------------------------------------------------

    @tool(read_only=True)
    def find_trader(self, name: KnownName) -> TraderShown:
        """Finds somebody on the marketplace by the full name, with their rating (0 when nobody rated them)."""
        return self._trader_shown(named(self.traders.values(), name, "trader", "list_traders"))

    @tool(read_only=True)
    def list_traders(self, limit: Limit = 5) -> list[TraderShown]:
        """Lists people on the marketplace."""
        return [self._trader_shown(t) for t in self.traders.where(lambda t: not t.user)[: int(limit)]]

    @tool(read_only=True)
    def get_wallet(self) -> Wallet:
        """The user's money, and what of theirs is in escrow."""
        held = sum(e.price for e in self.escrows.values() if e.buyer == self._me and e.status in ("paid", "shipped"))
        return {"wallet": money(self.traders[self._me].money), "in_escrow": money(held)}

    @tool()
    def add_to_wallet(self, amount: Amount) -> Wallet:
        """Brings money into the user's wallet."""
        self._pay(self._me, cents(amount))
        return self.get_wallet()

    @tool()
    def save_search(self, name: NewName, category: Category, most: Amount) -> SearchShown:
        """Keeps a search for active listings of a category up to a price."""
        name, value = unused(self.searches.values(), name, "saved search"), cents(most)
        key = self.searches.fresh("ssr", name)
        return self._search_shown(self.searches.put(key, Search(key, name, category, value)))

    @tool(read_only=True)
    def list_saved_searches(self, limit: Limit = 5) -> list[SearchShown]:
        """Lists saved searches and how many listings they find now."""
        return [self._search_shown(s) for s in self.searches.values()][: int(limit)]

    @tool(read_only=True)
    def run_saved_search(self, search_id: SearchId, limit: Limit = 5) -> list[ListingShown]:
        """Lists what a saved search finds now."""
        row = existing(self.searches, search_id, "saved search", "list_saved_searches")
        return [_listing_shown(r) for r in self._matches(row)[: int(limit)]]

    @tool(destructive=True)
    def delete_saved_search(self, search_id: SearchId) -> SearchShown:
        """Deletes a saved search."""
        row = existing(self.searches, search_id, "saved search", "list_saved_searches")
        self.searches.remove(search_id)
        return self._search_shown(row)

    # -- helpers -----------------------------------------------------------------------------------

    @property
    def _me(self) -> str:
        return next(t.trader_id for t in self.traders.values() if t.user)

    def _trader(self, trader_id: str) -> Trader:
        return existing(self.traders, trader_id, "trader", "list_traders")

    def _listing(self, listing_id: str) -> Listing:
        return existing(self.listings, listing_id, "listing", "search_listings")

    def _own(self, listing_id: str) -> Listing:
        row = self._listing(listing_id)
        if row.seller != self._me:
            raise ToolError("denied", "this is somebody else's listing", "list_own_listings shows the user's.")
        if row.status != "active":
            raise ToolError("wrong_state", f"{listing_id} is {row.status}", "Only active listings can be changed.")
        return row

    def _foreign(self, listing_id: str) -> Listing:
        row = self._listing(listing_id)
        if row.seller == self._me:
            raise ToolError("denied", "this is the user's own listing", "search_listings shows others.")
        if row.status != "active":
            raise ToolError("wrong_state", f"{listing_id} is {row.status}", "search_listings shows active ones.")
        return row

    def _offer(self, offer_id: str, *statuses: str) -> Offer:
        row = existing(self.offers, offer_id, "offer", "list_own_offers")
        if row.status not in statuses:
            raise ToolError("wrong_state", f"{offer_id} is {row.status}", f"It must be {' or '.join(statuses)}.")
        return row

    def _escrow(self, escrow_id: str, *statuses: str) -> Escrow:
        row = existing(self.escrows, escrow_id, "purchase", "list_purchases")
        if row.status not in statuses:
            raise ToolError("wrong_state", f"{escrow_id} is {row.status}", f"It must be {' or '.join(statuses)}.")
        return row

    def _check_buyer(self, row: Escrow) -> None:
        if row.buyer != self._me:
            raise ToolError("denied", "the user is not its buyer", "list_purchases shows what they bought.")

    def _pay(self, trader_id: str, value: int) -> None:
        self.traders.update(trader_id, money=self.traders[trader_id].money + value)

    def _decline_all(self, listing_id: str) -> None:
        for offer in self.offers.where(lambda o: o.listing_id == listing_id and o.status in ("open", "countered")):
            self.offers.update(offer.offer_id, status="declined")

    def _reserve(self, listing_id: str, buyer: str, price: int) -> None:
        self._decline_all(listing_id)
        self.listings.update(listing_id, status="reserved", buyer=buyer, price=price)

    def _buy(self, row: Listing, buyer: str, price: int) -> EscrowDone:
        self._decline_all(row.listing_id)
        self._pay(buyer, -price)
        self.listings.update(row.listing_id, status="sold", buyer=buyer, price=price, lowest=min(row.lowest, price))
        key = self.escrows.fresh("esc", row.listing_id, buyer, price)
        return self._escrow_done(self.escrows.put(key, Escrow(key, row.listing_id, buyer, row.seller, price, "paid")))

    def _escrow_done(self, row: Escrow) -> EscrowDone:
        return {"escrow_id": row.escrow_id, "status": row.status, "wallet": money(self.traders[self._me].money)}

    def _trader_shown(self, row: Trader) -> TraderShown:
        deals = [e for e in self.escrows.values() if e.seller == row.trader_id and e.status == "finished"]
        stars = [e.rated for e in deals if e.rated]
        rating = round(sum(stars) / len(stars), 1) if stars else 0.0
        return {"trader_id": row.trader_id, "name": row.name, "city": row.city, "rating": rating, "deals": len(deals)}

    def _matches(self, row: Search) -> list[Listing]:
        return self.listings.where(
            lambda r: r.status == "active" and r.seller != self._me and r.category == row.category and r.price <= row.most
        )

    def _search_shown(self, row: Search) -> SearchShown:
        return {"search_id": row.search_id, "name": row.name, "matches": len(self._matches(row))}


def _listing_shown(row: Listing) -> ListingShown:
    return {
        "listing_id": row.listing_id,
        "name": row.name,
        "price": money(row.price),
        "condition": row.condition,
        "status": row.status,
    }


def _listing_done(row: Listing) -> ListingDone:
    return {"listing_id": row.listing_id, "price": money(row.price), "status": row.status}


def _offer_shown(row: Offer) -> OfferShown:
    return {
        "offer_id": row.offer_id,
        "listing_id": row.listing_id,
        "price": money(row.counter or row.price),
        "status": row.status,
    }


def _offer_done(row: Offer) -> OfferDone:
    return {"offer_id": row.offer_id, "status": row.status, "price": money(row.counter or row.price)}


def _escrow_shown(row: Escrow) -> EscrowShown:
    return {"escrow_id": row.escrow_id, "listing_id": row.listing_id, "price": money(row.price), "status": row.status}
