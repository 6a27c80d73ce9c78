"""The payments server: one person's wallet. Payments to merchants run through authorise, capture, void and refund;
people are paid at once, ask for money, and share bills; subscriptions charge a source when they are due.

    with environment(["payments"]).session(7) as session:
        session.call("list_payment_sources", {})

An authorised amount is held on its source: still there, no longer free. A source's money is what it opened with, less
what was captured, plus what was refunded, always.

Left out: fees, currencies, and the other side: people whom the user asks for money do not answer by themselves.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.lookup import existing, named
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Amount, Limit, cents, identifier, money, plain
from tasks.servers.world import World, words

SourceId = identifier("payment_source", "src")
MerchantId = identifier("merchant", "mer")
FriendId = identifier("friend", "fri")
PaymentId = identifier("payment", "pmt")
RequestId = identifier("payment_request", "req")
SubscriptionId = identifier("subscription", "sub")

SourceKind = Literal["balance", "card", "bank"]
PaymentStatus = Literal["authorized", "captured", "voided", "refunded", "partly_refunded"]
AnyPaymentStatus = Annotated[
    Literal["any", "authorized", "captured", "voided", "refunded", "partly_refunded"],
    Field(description="Only payments in this state."),
]
RequestStatus = Literal["open", "paid", "declined", "withdrawn"]
Direction = Annotated[Literal["incoming", "outgoing"], Field(description="incoming: others ask the user for money.")]
Trade = Literal["food", "travel", "media", "home", "sport"]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
Note = Annotated[str, Field(max_length=60, description="What it is for; may be empty.")]

MERCHANTS = words(
    """Alder Beacon Cinder Drift Echo Flint Grove Hollow Indigo Jasper Kindle Larch Mosaic Nimbus Onyx Prairie Quarry Ripple
    Summit Timber Upland Vista Whisper Yonder Zenith Arbor Bramble Cascade Dune Everly Foxglove Gale Harvest Islet Juno Knoll
    Lumen Mirth Noble Orchard Pebble Quill Ridge Sorrel Terra Umbra Vireo Willowby"""
)
SERVICES = words(
    """Streamly Tunebox Newswire Fitpass Cloudnest Readwell Gamehub Mealkit Safevault Langua Photoloft Petcare Gardenly
    Podium Chessclub Yogaflow Stargaze Craftbox Winecask Teatime Mapmate Docsign Passkeep Weatherly Soundbay Filmhaus Cookline
    Runtrack Sleepwell Mindful Bookden Comicverse"""
)
SOURCES = words(
    """Everyday Backup Travel Business Family Weekend Studio Holiday Rainy Grocery Petty Shared Online Hobby Reserve Daily
    Monthly Garden Project Club Leisure Festive Utility Transit Kitchen Workshop"""
)
TRADES: tuple[Trade, ...] = ("food", "travel", "media", "home", "sport")


@dataclass(frozen=True, slots=True)
class Source:
    """`cents` is `opening` less captures plus refunds; `held` of it is authorised."""

    source_id: str
    name: str
    kind: SourceKind
    opening: int
    cents: int
    held: int = 0


@dataclass(frozen=True, slots=True)
class Merchant:
    merchant_id: str
    name: str
    trade: Trade
    smallest: int
    """Cents below which it takes no payment."""


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
class Request:
    request_id: str
    friend_id: str
    direction: Literal["incoming", "outgoing"]
    amount: int
    note: str
    status: RequestStatus
    payment_id: str = ""


@dataclass(frozen=True, slots=True)
class Subscription:
    subscription_id: str
    name: str
    source_id: str
    price: int
    due: str
    status: Literal["active", "paused", "cancelled"]


class SourceShown(TypedDict):
    source_id: SourceId
    name: str
    kind: SourceKind
    free: float


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


class RequestShown(TypedDict):
    request_id: RequestId
    friend: str
    amount: float
    status: RequestStatus


class RequestDone(TypedDict):
    request_id: RequestId
    status: RequestStatus


class SubscriptionShown(TypedDict):
    subscription_id: SubscriptionId
    name: str
    price: float
    due: str
    status: Literal["active", "paused", "cancelled"]


class SubscriptionDone(TypedDict):
    subscription_id: SubscriptionId
    due: str
    status: Literal["active", "paused", "cancelled"]


class Share(TypedDict):
    """One friend's part of a bill."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    friend_id: FriendId
    amount: Amount


class Split(TypedDict):
    requests: list[RequestDone]
    total: float


class Payments(Server):
    """One person's wallet."""

    name = "payments"
    title = "A wallet: pay merchants and friends, share bills, subscriptions."

    sources: Table[Source]
    merchants: Table[Merchant]
    friends: Table[Friend]
    payments: Table[Payment]
    requests: Table[Request]
    subscriptions: Table[Subscription]

    @classmethod
    def seed(cls, world: World) -> Seed:
        kinds: tuple[SourceKind, ...] = ("balance", "card", "card", "bank", "bank")
        sources = {
            key: Source(key, name, kind, opening := world.amount(300, 2500), opening)
            for key, name, kind in zip(world.ids("src", 5), world.picks(SOURCES, 5), kinds, strict=True)
        }
        merchants = {
            key: Merchant(key, f"{name} {world.choice(('Goods', 'House', 'Supply', 'Works'))}", world.choice(TRADES), 500)
            for key, name in zip(world.ids("mer", 10), world.picks(MERCHANTS, 10), strict=False)
        }
        friends = {
            key: Friend(key, person.name, person.email)
            for key, person in zip(world.ids("fri", 8), world.people()[:8], strict=True)
        }
        payments: dict[str, Payment] = {}
        states: tuple[PaymentStatus, ...] = ("authorized", "authorized", "captured", "partly_refunded", "refunded", "voided")
        for key in world.ids("pmt", 12):
            source_id = world.choice(list(sources))
            amount, status = world.amount(6, 40), world.choice(states)
            captured = 0 if status in ("authorized", "voided") else amount
            refunded = {"refunded": captured, "partly_refunded": captured // 2}.get(status, 0)
            row = sources[source_id]
            sources[source_id] = Source(
                row.source_id,
                row.name,
                row.kind,
                row.opening,
                row.cents - captured + refunded,
                row.held + (amount if status == "authorized" else 0),
            )
            payee = world.choice(list(merchants))
            payments[key] = Payment(key, source_id, payee, amount, captured, refunded, status, world.day(-60, -1))
        requests = {}
        for number, key in enumerate(world.ids("req", 6)):
            direction: Literal["incoming", "outgoing"] = "incoming" if number < 4 else "outgoing"
            requests[key] = Request(key, world.choice(list(friends)), direction, world.amount(5, 90), "", "open")
        subscriptions = {
            key: Subscription(key, name, world.choice(list(sources)), world.amount(3, 30), world.day(-3, 25), "active")
            for key, name in zip(world.ids("sub", 5), world.picks(SERVICES, 5), strict=False)
        }
        return {
            "sources": sources,
            "merchants": merchants,
            "friends": friends,
            "payments": payments,
            "requests": requests,
            "subscriptions": subscriptions,
        }

    # -- who and what there is ---------------------------------------------------------------------

    @tool(read_only=True)
    def list_payment_sources(self, limit: Limit = 5) -> list[SourceShown]:
        """Lists what the user can pay from, with the money that is free."""
        return [self._source_shown(row) for row in self.sources.values()][: int(limit)]

    @tool(read_only=True)
    def find_payment_source(self, name: KnownName) -> SourceShown:
        """Finds a payment source by its name."""
        return self._source_shown(named(self.sources.values(), name, "payment source", "list_payment_sources"))

    @tool(read_only=True)
    def list_merchants(
        self, trade: Literal["any", "food", "travel", "media", "home", "sport"] = "any", limit: Limit = 5
    ) -> list[MerchantShown]:
        """Lists merchants, all or of one trade."""
        return [self._merchant_shown(r) for r in self.merchants.values() if trade in ("any", r.trade)][: int(limit)]

    @tool(read_only=True)
    def find_merchant(self, name: KnownName) -> MerchantShown:
        """Finds a merchant by name, with the smallest amount that it takes."""
        return self._merchant_shown(named(self.merchants.values(), name, "merchant", "list_merchants"))

    @tool(read_only=True)
    def find_friend(self, name: KnownName) -> FriendShown:
        """Finds a friend by the full name."""
        row = named(self.friends.values(), name, "friend", "list_friends")
        return {"friend_id": row.friend_id, "name": row.name, "email": row.email}

    @tool(read_only=True)
    def list_friends(self, limit: Limit = 5) -> list[FriendShown]:
        """Lists the people whom the user pays or asks for money."""
        rows = list(self.friends.values())[: int(limit)]
        return [{"friend_id": r.friend_id, "name": r.name, "email": r.email} for r in rows]

    # -- payments ----------------------------------------------------------------------------------

    @tool()
    def authorize_payment(self, source_id: SourceId, merchant_id: MerchantId, amount: Amount) -> PaymentDone:
        """Holds money on a source for a merchant; capture_payment takes it."""
        source = self._source(source_id)
        merchant = existing(self.merchants, merchant_id, "merchant", "list_merchants")
        value = cents(amount)
        if value < merchant.smallest:
            least = money(merchant.smallest)
            raise ToolError("invalid_value", f"{merchant.name} takes no less than {least}", f"Give {least} or more.")
        self._check_free(source, value)
        row = self._new_payment(source_id, merchant_id, value, "authorized")
        self.sources.update(source_id, held=source.held + value)
        return self._done(row)

    @tool()
    def capture_payment(
        self,
        payment_id: PaymentId,
        amount: Annotated[
            float | None, Field(gt=0, le=1_000_000, description="How much of it; everything if not given.")
        ] = None,
    ) -> PaymentDone:
        """Takes an authorised amount, or a part of it and frees the rest."""
        row = self._payment(payment_id, "authorized")
        value = row.amount if amount is None else cents(amount)
        if value > row.amount:
            raise ToolError("insufficient", f"only {money(row.amount)} is authorised", "Capture that much or less.")
        source = self.sources[row.source_id]
        self.sources.update(row.source_id, cents=source.cents - value, held=source.held - row.amount)
        return self._done(self.payments.update(payment_id, captured=value, status="captured"))

    @tool()
    def void_payment(self, payment_id: PaymentId) -> PaymentDone:
        """Gives up an authorised payment that was not captured."""
        row = self._payment(payment_id, "authorized")
        self.sources.update(row.source_id, held=self.sources[row.source_id].held - row.amount)
        return self._done(self.payments.update(payment_id, status="voided"))

    @tool()
    def refund_payment(self, payment_id: PaymentId, amount: Amount) -> PaymentDone:
        """Gives back all or a part of a captured payment."""
        row = self._payment(payment_id, "captured", "partly_refunded")
        value, left = cents(amount), row.captured - row.refunded
        if value > left:
            raise ToolError("insufficient", f"only {money(left)} of it is left to refund", "Refund that much or less.")
        self.sources.update(row.source_id, cents=self.sources[row.source_id].cents + value)
        status: PaymentStatus = "refunded" if value == left else "partly_refunded"
        return self._done(self.payments.update(payment_id, refunded=row.refunded + value, status=status))

    @tool(read_only=True)
    def get_payment(self, payment_id: PaymentId) -> PaymentTold:
        """One payment: from where, to whom, what was taken and given back."""
        row = self._payment(payment_id)
        return {
            "payment_id": payment_id,
            "source_id": row.source_id,
            "payee": self._payee(row.payee_id),
            "captured": money(row.captured),
            "refunded": money(row.refunded),
            "status": row.status,
        }

    @tool(read_only=True)
    def list_payments(self, status: AnyPaymentStatus = "any", limit: Limit = 5) -> list[PaymentShown]:
        """Lists payments, the newest first."""
        rows = sorted((r for r in self.payments.values() if status in ("any", r.status)), key=lambda r: r.day, reverse=True)
        return [
            {"payment_id": r.payment_id, "amount": money(r.amount), "status": r.status, "day": r.day}
            for r in rows[: int(limit)]
        ]

    @tool(read_only=True)
    def find_last_payment(self, merchant_id: MerchantId) -> PaymentShown:
        """The newest payment to a merchant."""
        existing(self.merchants, merchant_id, "merchant", "list_merchants")
        rows = self.payments.where(lambda r: r.payee_id == merchant_id)
        if not rows:
            raise ToolError("not_found", "nothing was ever paid to this merchant", "list_payments shows all payments.")
        row = max(rows, key=lambda r: (r.day, r.payment_id))
        return {"payment_id": row.payment_id, "amount": money(row.amount), "status": row.status, "day": row.day}

    @tool()
    def pay_friend(self, source_id: SourceId, friend_id: FriendId, amount: Amount) -> PaymentDone:
        """Pays a friend at once."""
        existing(self.friends, friend_id, "friend", "list_friends")
        return self._done(self._pay(self._source(source_id), friend_id, cents(amount)))

    # -- asking for money --------------------------------------------------------------------------

    @tool(read_only=True)
    def list_payment_requests(self, direction: Direction = "incoming", limit: Limit = 5) -> list[RequestShown]:
        """Lists open requests for money: those that others sent, or the user's own."""
        rows = self.requests.where(lambda r: r.direction == direction and r.status == "open")[: int(limit)]
        return [
            {"request_id": r.request_id, "friend": self._payee(r.friend_id), "amount": money(r.amount), "status": r.status}
            for r in rows
        ]

    @tool()
    def ask_friend(self, friend_id: FriendId, amount: Amount, note: Note = "") -> RequestDone:
        """Asks a friend for money."""
        return self._ask(friend_id, cents(amount), note)

    @tool()
    def split_bill(
        self,
        shares: Annotated[list[Share], Field(min_length=1, max_length=8, description="Who owes how much.")],
        note: Note = "",
    ) -> Split:
        """Asks several friends for their parts of one bill."""
        people = [share["friend_id"] for share in shares]
        if len(set(people)) < len(people):
            raise ToolError("invalid_value", "a friend is named twice", "Give every friend one share.")
        amounts = [cents(share["amount"]) for share in shares]
        made = [self._ask(friend, value, note) for friend, value in zip(people, amounts, strict=True)]
        return {"requests": made, "total": money(sum(amounts))}

    @tool()
    def pay_payment_request(self, request_id: RequestId, source_id: SourceId) -> PaymentDone:
        """Pays what a friend asks for."""
        row = self._open_request(request_id, "incoming")
        paid = self._pay(self._source(source_id), row.friend_id, row.amount)
        self.requests.update(request_id, status="paid", payment_id=paid.payment_id)
        return self._done(paid)

    @tool()
    def decline_payment_request(self, request_id: RequestId) -> RequestDone:
        """Refuses what a friend asks for."""
        self._open_request(request_id, "incoming")
        self.requests.update(request_id, status="declined")
        return {"request_id": request_id, "status": "declined"}

    @tool()
    def withdraw_payment_request(self, request_id: RequestId) -> RequestDone:
        """Takes back one of the user's own requests."""
        self._open_request(request_id, "outgoing")
        self.requests.update(request_id, status="withdrawn")
        return {"request_id": request_id, "status": "withdrawn"}

    # -- subscriptions -----------------------------------------------------------------------------

    @tool(read_only=True)
    def list_subscriptions(self, limit: Limit = 5) -> list[SubscriptionShown]:
        """Lists subscriptions that are not cancelled."""
        rows = self.subscriptions.where(lambda r: r.status != "cancelled")[: int(limit)]
        return [self._subscription_shown(row) for row in rows]

    @tool(read_only=True)
    def find_subscription(self, name: KnownName) -> SubscriptionShown:
        """Finds a subscription by the service's name."""
        rows = self.subscriptions.where(lambda r: r.status != "cancelled")
        return self._subscription_shown(named(rows, name, "subscription", "list_subscriptions"))

    @tool()
    def pay_subscription(self, subscription_id: SubscriptionId) -> PaymentDone:
        """Pays an active subscription for another 30 days, from its own source."""
        row = self._subscription(subscription_id, "active")
        paid = self._pay(self.sources[row.source_id], subscription_id, row.price)
        due = dt.date.fromisoformat(row.due) + dt.timedelta(days=30)
        self.subscriptions.update(subscription_id, due=due.isoformat())
        return self._done(paid)

    @tool()
    def pause_subscription(self, subscription_id: SubscriptionId) -> SubscriptionDone:
        """Pauses an active subscription."""
        return self._set_subscription(self._subscription(subscription_id, "active"), "paused")

    @tool()
    def resume_subscription(self, subscription_id: SubscriptionId) -> SubscriptionDone:
        """Goes on with a paused subscription."""
        return self._set_subscription(self._subscription(subscription_id, "paused"), "active")

    @tool(destructive=True)
    def cancel_subscription(self, subscription_id: SubscriptionId) -> SubscriptionDone:
        """Ends a subscription for good."""
        return self._set_subscription(self._subscription(subscription_id, "active", "paused"), "cancelled")

    @tool(idempotent=True)
    def change_subscription_source(self, subscription_id: SubscriptionId, source_id: SourceId) -> SubscriptionDone:
        """Pays a subscription from another source from now on."""
        row = self._subscription(subscription_id, "active", "paused")
        self._source(source_id)
        self.subscriptions.update(subscription_id, source_id=source_id)
        return {"subscription_id": subscription_id, "due": row.due, "status": row.status}

    # -- helpers -----------------------------------------------------------------------------------

    def _source(self, source_id: str) -> Source:
        return existing(self.sources, source_id, "payment source", "list_payment_sources")

    def _source_shown(self, row: Source) -> SourceShown:
        return {"source_id": row.source_id, "name": row.name, "kind": row.kind, "free": money(row.cents - row.held)}

    def _merchant_shown(self, row: Merchant) -> MerchantShown:
        return {"merchant_id": row.merchant_id, "name": row.name, "trade": row.trade, "smallest": money(row.smallest)}

    def _payee(self, key: str) -> str:
        row = self.merchants.get(key) or self.friends.get(key) or self.subscriptions.get(key)
        assert row is not None, "payees are never removed"
        return row.name

    def _payment(self, payment_id: str, *statuses: PaymentStatus) -> Payment:
        row = existing(self.payments, payment_id, "payment", "list_payments")
        if statuses and row.status not in statuses:
            raise ToolError("wrong_state", f"{payment_id} is {row.status}", f"It must be {' or '.join(statuses)}.")
        return row

    def _check_free(self, source: Source, value: int) -> None:
        free = source.cents - source.held
        if value > free:
            raise ToolError("insufficient", f"{source.source_id} has {money(free)} free", "Use another source or less money.")

    def _new_payment(self, source_id: str, payee_id: str, value: int, status: PaymentStatus) -> Payment:
        key = self.payments.fresh("pmt", source_id, payee_id, value)
        captured = value if status == "captured" else 0
        return self.payments.put(key, Payment(key, source_id, payee_id, value, captured, 0, status, f"{self.now:%Y-%m-%d}"))

    def _pay(self, source: Source, payee_id: str, value: int) -> Payment:
        self._check_free(source, value)
        row = self._new_payment(source.source_id, payee_id, value, "captured")
        self.sources.update(source.source_id, cents=source.cents - value)
        return row

    def _done(self, row: Payment) -> PaymentDone:
        source = self.sources[row.source_id]
        return {"payment_id": row.payment_id, "status": row.status, "free": money(source.cents - source.held)}

    def _ask(self, friend_id: str, value: int, note: str) -> RequestDone:
        existing(self.friends, friend_id, "friend", "list_friends")
        text = plain(note, "note") if note else ""
        key = self.requests.fresh("req", friend_id, value, text)
        self.requests.put(key, Request(key, friend_id, "outgoing", value, text, "open"))
        return {"request_id": key, "status": "open"}

    def _open_request(self, request_id: str, direction: str) -> Request:
        row = existing(self.requests, request_id, "payment request", "list_payment_requests")
        if row.status != "open":
            raise ToolError("wrong_state", f"{request_id} is {row.status}", "list_payment_requests shows the open ones.")
        if row.direction != direction:
            raise ToolError("denied", f"{request_id} is {row.direction}", f"Only {direction} requests can be answered so.")
        return row

    def _subscription(self, subscription_id: str, *statuses: str) -> Subscription:
        row = existing(self.subscriptions, subscription_id, "subscription", "list_subscriptions")
        if row.status not in statuses:
            raise ToolError("wrong_state", f"{subscription_id} is {row.status}", f"It must be {' or '.join(statuses)}.")
        return row

    def _subscription_shown(self, row: Subscription) -> SubscriptionShown:
        return {
            "subscription_id": row.subscription_id,
            "name": row.name,
            "price": money(row.price),
            "due": row.due,
            "status": row.status,
        }

    def _set_subscription(self, row: Subscription, status: Literal["active", "paused", "cancelled"]) -> SubscriptionDone:
        self.subscriptions.update(row.subscription_id, status=status)
        return {"subscription_id": row.subscription_id, "due": row.due, "status": status}
