"""Identifiers, argument types and result types of the marketplace server.

Run: nothing here runs by itself; `tasks.servers.marketplace` is the server.

Left out: rows, which results show only in part.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Amount, Date, identifier

ListingId = identifier("listing", "lst")
SellerId = identifier("seller", "sel")
OfferId = identifier("offer", "off")
EscrowId = identifier("escrow", "esc")
DisputeId = identifier("dispute", "dis")
RatingId = identifier("rating", "rtg")
SearchId = identifier("saved_search", "ssr")

Category = Literal["furniture", "electronics", "clothing", "books", "sport", "garden"]
Condition = Literal["new", "good", "used", "worn"]
Reason = Literal["not_received", "damaged", "not_as_described"]
Evidence = Literal["photo", "chat", "receipt"]
Carrier = Literal["Parcelway", "Swiftpost", "Boxline"]
ListingStatus = Literal["active", "reserved", "sold", "withdrawn"]
OfferStatus = Literal["open", "countered", "accepted", "declined", "withdrawn", "expired"]
EscrowStatus = Literal["paid", "shipped", "arrived", "finished", "refunded", "cancelled"]
DisputeStatus = Literal["open", "proposed", "settled", "upheld", "rejected", "withdrawn"]

SomeCategory = Annotated[Category, Field(description="What kind of thing.")]
AnyCategory = Annotated[
    Literal["any", "furniture", "electronics", "clothing", "books", "sport", "garden"], Field(description="Only these.")
]
SomeCondition = Annotated[Condition, Field(description="How it looks.")]
AnyListingStatus = Annotated[Literal["any", "active", "reserved", "sold", "withdrawn"], Field(description="Only these.")]
SomeReason = Annotated[Reason, Field(description="What is wrong.")]
SomeEvidence = Annotated[list[Evidence], Field(min_length=1, max_length=3, description="What shows it.")]
SomeCarrier = Annotated[Carrier, Field(description="Who brings it.")]
Side = Annotated[Literal["bought", "sold"], Field(description="By the user, or from the user.")]
Sort = Annotated[Literal["price", "newest"], Field(description="Cheapest first, or newest first.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
Days = Annotated[int, Field(ge=1, le=30, description="How many days.")]
Stars = Annotated[int, Field(ge=1, le=5, description="From 1, bad, to 5, good.")]
Comment = Annotated[str, Field(max_length=120, description="What to say about it; may be empty.")]
Reply = Annotated[str, Field(min_length=1, max_length=120, description="What to answer.")]
Pickup = Annotated[bool, Field(description="Fetch it in the seller's city instead of paying postage.")]
Several = Annotated[list[ListingId], Field(min_length=2, max_length=6, description="Which to compare.")]
Claim = Annotated[Amount | None, Field(description="How much to get back; all that was paid if left out.")]


# -- arguments ---------------------------------------------------------------------------------


class Price(TypedDict):
    """What a thing shall cost."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    asked: Amount
    lowest: NotRequired[Annotated[Amount, Field(description="What is accepted at least; nobody is shown it.")]]


class ListingFilter(TypedDict):
    """Which listings are wanted; all given conditions hold."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    category: NotRequired[SomeCategory]
    condition: NotRequired[SomeCondition]
    max_price: NotRequired[Annotated[float, Field(gt=0, le=1_000_000, description="At most this price.")]]
    city: NotRequired[Annotated[str, Field(min_length=1, max_length=40, description="Only from this city.")]]


# -- results -----------------------------------------------------------------------------------


class ListingRow(TypedDict):
    listing_id: ListingId
    name: str
    price: float
    condition: Condition
    status: ListingStatus


class ListingFound(TypedDict):
    listing_id: ListingId
    price: float
    status: ListingStatus


class ListingShown(TypedDict):
    listing_id: ListingId
    seller_id: SellerId
    price: float
    category: Category
    open_offers: int
    status: ListingStatus


class CheapestListing(TypedDict):
    listing_id: ListingId
    lowest_price: float


class Quote(TypedDict):
    price: float
    postage: float
    total: float


class Reserved(TypedDict):
    listing_id: ListingId
    price: float
    until: Date


class SellerShown(TypedDict):
    seller_id: SellerId
    name: str
    city: str
    rating: float
    deals: int


class SellerRef(TypedDict):
    seller_id: SellerId
    name: str


class OfferRow(TypedDict):
    offer_id: OfferId
    listing_id: ListingId
    price: float
    status: OfferStatus


class OfferShown(TypedDict):
    offer_id: OfferId
    listing_id: ListingId
    price: float
    status: OfferStatus
    counter: NotRequired[float]
    expires: NotRequired[Date]


class OfferDone(TypedDict):
    offer_id: OfferId
    status: OfferStatus
    price: float


class OfferAnswered(TypedDict):
    offer_id: OfferId
    status: OfferStatus
    price: float
    escrow_id: NotRequired[EscrowId]


class EscrowRow(TypedDict):
    escrow_id: EscrowId
    listing_id: ListingId
    total: float
    status: EscrowStatus


class EscrowShown(TypedDict):
    escrow_id: EscrowId
    listing_id: ListingId
    total: float
    status: EscrowStatus
    partner_id: SellerId


class EscrowDone(TypedDict):
    escrow_id: EscrowId
    status: EscrowStatus
    wallet: float


class Parcel(TypedDict):
    escrow_id: EscrowId
    carrier: Carrier
    arrives: Date
    overdue: bool


class DisputeShown(TypedDict):
    dispute_id: DisputeId
    escrow_id: EscrowId
    reason: Reason
    claim: float
    status: DisputeStatus
    proposed: NotRequired[float]


class DisputeDone(TypedDict):
    dispute_id: DisputeId
    status: DisputeStatus


class DisputeClosed(TypedDict):
    dispute_id: DisputeId
    status: DisputeStatus
    wallet: float


class EvidenceDone(TypedDict):
    dispute_id: DisputeId
    pieces: int


class RatingShown(TypedDict):
    rating_id: RatingId
    stars: int
    comment: NotRequired[str]
    reply: NotRequired[str]


class RatingDone(TypedDict):
    rating_id: RatingId
    seller_id: SellerId
    rating: float


class Replied(TypedDict):
    rating_id: RatingId
    replied: bool


class SearchShown(TypedDict):
    search_id: SearchId
    name: str
    matches: int


class Wallet(TypedDict):
    wallet: float
    in_escrow: float


class Waited(TypedDict):
    day: Date
    changes: int
