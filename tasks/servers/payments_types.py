"""The payments server's identifiers, rows and results.

Left out: what the rows hold at the start; payments_data.py seeds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Amount, identifier

SourceId = identifier("payment_source", "src")
MerchantId = identifier("merchant", "mer")
FriendId = identifier("friend", "fri")
PaymentId = identifier("payment", "pmt")
RefundId = identifier("refund", "rfd")
RequestId = identifier("payment_request", "req")
SubscriptionId = identifier("subscription", "sub")

SourceKind = Literal["balance", "card", "bank"]
PaymentStatus = Literal["authorized", "captured", "voided", "refunded", "partly_refunded"]
AnyPaymentStatus = Annotated[
    Literal["any", "authorized", "captured", "voided", "refunded", "partly_refunded"],
    Field(description="Only payments in this state."),
]
RequestStatus = Literal["open", "paid", "declined", "withdrawn"]
SubscriptionStatus = Literal["active", "paused", "cancelled"]
Way = Literal["incoming", "outgoing"]
Direction = Annotated[Way, Field(description="incoming: others ask the user for money.")]
Trade = Literal["food", "travel", "media", "home", "sport"]
AnyTrade = Annotated[Literal["any", "food", "travel", "media", "home", "sport"], Field(description="Only these.")]
Period = Literal["week", "month", "year"]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
Note = Annotated[str, Field(max_length=60, description="What it is for; may be empty.")]
Part = Annotated[float | None, Field(gt=0, le=1_000_000, description="How much of it; everything if not given.")]

DAYS: dict[str, int] = {"week": 7, "month": 30, "year": 365}


# -- rows ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """`cents` is `opening` less captures plus refunds; `held` of it is authorised. A blocked one pays nothing new."""

    source_id: str
    name: str
    kind: SourceKind
    opening: int
    cents: int
    held: int = 0
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class Merchant:
    """`smallest` is what it takes at least, in cents."""

    merchant_id: str
    name: str
    trade: Trade
    smallest: int


@dataclass(frozen=True, slots=True)
class Friend:
    friend_id: str
    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Payment:
    """To a merchant or a friend. `amount` was authorised, `captured` taken, `refunded` given back of it."""

    payment_id: str
    source_id: str
    payee_id: str
    amount: int
    captured: int
    refunded: int
    status: PaymentStatus
    day: str


@dataclass(frozen=True, slots=True)
class Refund:
    refund_id: str
    payment_id: str
    cents: int
    day: str


@dataclass(frozen=True, slots=True)
class Request:
    """Paid exactly when it has a payment."""

    request_id: str
    friend_id: str
    direction: Way
    amount: int
    note: str
    status: RequestStatus
    payment_id: str = ""


@dataclass(frozen=True, slots=True)
class Subscription:
    """`name` is the merchant's. `due` is the day of the next payment."""

    subscription_id: str
    name: str
    merchant_id: str
    source_id: str
    price: int
    every: Period
    due: str
    status: SubscriptionStatus


# -- arguments and results -------------------------------------------------------------------------


class Share(TypedDict):
    """One friend's part of a bill."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    friend_id: FriendId
    amount: Amount


class Plan(TypedDict):
    """What a subscription costs, and how often."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    price: Amount
    every: Annotated[Period, Field(description="How often it is paid.")]


class Wallet(TypedDict):
    free: float
    held: float
    requests: int
    due: int


class SourceShown(TypedDict):
    source_id: SourceId
    name: str
    kind: SourceKind
    free: float
    blocked: bool


class SourceDone(TypedDict):
    source_id: SourceId
    blocked: bool


class MerchantShown(TypedDict):
    merchant_id: MerchantId
    name: str
    trade: Trade
    smallest: float


class FriendShown(TypedDict):
    friend_id: FriendId
    name: str
    email: str


class PaymentShown(TypedDict):
    payment_id: PaymentId
    payee: str
    amount: float
    status: PaymentStatus
    day: str


class PaymentTold(TypedDict):
    payment_id: PaymentId
    source_id: SourceId
    payee: str
    captured: float
    refunded: float
    status: PaymentStatus


class PaymentDone(TypedDict):
    payment_id: PaymentId
    status: PaymentStatus
    free: float


class RefundShown(TypedDict):
    refund_id: RefundId
    amount: float
    day: str


class RefundDone(TypedDict):
    refund_id: RefundId
    status: PaymentStatus
    free: float


class RequestShown(TypedDict):
    request_id: RequestId
    friend: str
    amount: float
    note: str


class RequestTold(TypedDict):
    request_id: RequestId
    friend_id: FriendId
    direction: Way
    amount: float
    status: RequestStatus
    payment_id: NotRequired[PaymentId]


class RequestDone(TypedDict):
    request_id: RequestId
    status: RequestStatus


class Split(TypedDict):
    requests: list[RequestDone]
    total: float


class SubscriptionShown(TypedDict):
    subscription_id: SubscriptionId
    name: str
    price: float
    every: Period
    due: str
    status: SubscriptionStatus


class SubscriptionDone(TypedDict):
    subscription_id: SubscriptionId
    due: str
    status: SubscriptionStatus
