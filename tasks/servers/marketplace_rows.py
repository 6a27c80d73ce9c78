"""Rows of the marketplace server, and pure functions on them.

Run: nothing here runs by itself; `tasks.servers.marketplace` is the server.

Days are counted from the session's clock; what happened before the session is negative. Amounts are cents.

Left out: what other people trade among themselves; they deal with the user only.
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.servers.marketplace_types import (
    Carrier,
    Category,
    Condition,
    DisputeStatus,
    EscrowStatus,
    Evidence,
    ListingStatus,
    OfferStatus,
    Reason,
)

CARRIERS: dict[Carrier, int] = {"Parcelway": 2, "Swiftpost": 1, "Boxline": 3}
"""Days that they take."""
RESERVED_FOR, OFFERED_FOR = 2, 5
"""Days that a reservation and an offer last."""
MOST_RESERVED = 3
"""Reservations that the user may have at a time."""
RELEASED_AFTER = 7
"""Days after arrival in which a purchase finishes by itself."""
ANSWERED_AFTER, UPHELD_AFTER = 2, 5
"""Days in which another seller answers a dispute, and in which the user must."""
ROUNDS = 2
"""How often a price is haggled over."""
PROOF: dict[Reason, Evidence] = {"not_received": "receipt", "damaged": "photo", "not_as_described": "chat"}
"""The evidence that decides a dispute."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How many days of the session have passed."""

    day: int


@dataclass(frozen=True, slots=True)
class Seller:
    """Somebody on the marketplace; one is the user. `money` is their wallet. Who is `fair` grants what buyers claim."""

    seller_id: str
    name: str
    city: str
    user: bool
    money: int
    fair: bool
    past_deals: int


@dataclass(frozen=True, slots=True)
class Listing:
    """`lowest` is what the seller takes at least, which no tool shows. Reserved for `buyer` at `agreed` to the day `until`."""

    listing_id: str
    name: str
    seller: str
    category: Category
    condition: Condition
    price: int
    lowest: int
    postage: int
    posted: int
    status: ListingStatus = "active"
    buyer: str = ""
    agreed: int = 0
    until: int = 0


@dataclass(frozen=True, slots=True)
class Offer:
    """`counter` is what the seller wants instead; `limit` is what another bidder pays at most, which no tool shows."""

    offer_id: str
    listing_id: str
    bidder: str
    price: int
    status: OfferStatus
    expires: int
    counter: int = 0
    limit: int = 0
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class Escrow:
    """A purchase: its money waits until it is finished or given back. A `lost` parcel never arrives."""

    escrow_id: str
    listing_id: str
    buyer: str
    seller: str
    price: int
    postage: int
    pickup: bool
    status: EscrowStatus
    paid: int
    carrier: Carrier | None = None
    arrives: int = 0
    lost: bool = False
    released: int = 0
    refunded: int = 0

    @property
    def total(self) -> int:
        return self.price + self.postage

    @property
    def waiting(self) -> bool:
        """Whether its money is in escrow."""
        return self.status in ("paid", "shipped", "arrived")


@dataclass(frozen=True, slots=True)
class Dispute:
    """A buyer's claim to `claim` cents of a purchase; `proposed` is what the seller would give."""

    dispute_id: str
    escrow_id: str
    reason: Reason
    claim: int
    opened: int
    status: DisputeStatus = "open"
    proposed: int = 0
    evidence: tuple[Evidence, ...] = ()

    @property
    def running(self) -> bool:
        return self.status in ("open", "proposed")


@dataclass(frozen=True, slots=True)
class Rating:
    """What one side of a finished deal says of the other; of deals before the session, `escrow_id` is empty."""

    rating_id: str
    escrow_id: str
    author: str
    subject: str
    stars: int
    comment: str
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """A kept filter; empty text and 0 mean anything."""

    search_id: str
    name: str
    category: str
    condition: str
    most: int
    city: str


def counter_price(offered: int, wanted: int, lowest: int) -> int:
    """What a seller answers to an offer that is too low: halfway, and never below what they take."""
    return max(lowest, (offered + wanted + 1) // 2)
