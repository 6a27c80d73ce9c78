"""The payments server: one person's wallet. Payments to merchants run through authorise, capture, void and refund;
people are paid at once, ask for money, and share bills; subscriptions charge a source when they are due.

    with environment(["payments"]).session(7) as session:
        session.call("list_payment_sources", {})

An authorised amount is held on its source: still there, no longer free. A source's money is what it opened with, less
what was captured, plus what was refunded, always. Blocked sources pay nothing new, cards pay no friends, and refunds end
45 days after the payment.

Left out: fees, currencies, authorisations that run out, and the other side: people whom the user asks for money do not
answer by themselves.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tasks.servers.lookup import existing, named
from tasks.servers.payments_data import seeded
from tasks.servers.payments_state import EARLY_DAYS, REFUND_DAYS, Purse, merchant_shown, source_shown, subscription_shown
from tasks.servers.payments_types import (
    AnyPaymentStatus,
    AnyTrade,
    Direction,
    Friend,
    FriendId,
    FriendShown,
    KnownName,
    Merchant,
    MerchantId,
    MerchantShown,
    Note,
    Part,
    Payment,
    PaymentDone,
    PaymentId,
    PaymentShown,
    PaymentStatus,
    PaymentTold,
    Plan,
    Refund,
    RefundDone,
    RefundShown,
    Request,
    RequestDone,
    RequestId,
    RequestShown,
    RequestTold,
    Share,
    Source,
    SourceDone,
    SourceId,
    SourceShown,
    Split,
    Subscription,
    SubscriptionDone,
    SubscriptionId,
    SubscriptionShown,
    Wallet,
)
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Amount, Limit, cents, money
from tasks.servers.world import World


class Payments(Purse, Server):
    """One person's wallet."""

    name = "payments"
    title = "A wallet: pay merchants and friends, share bills, subscriptions."

    sources: Table[Source]
    merchants: Table[Merchant]
    friends: Table[Friend]
    payments: Table[Payment]
    refunds: Table[Refund]
    requests: Table[Request]
    subscriptions: Table[Subscription]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seeded(world)

    # -- sources, merchants, friends ---------------------------------------------------------------

    @tool(read_only=True)
    def get_payment_wallet(self) -> Wallet:
        """Money on all sources, free and held; how many requests wait for an answer, how many subscriptions are due."""
        rows = list(self.sources.values())
        held = sum(row.held for row in rows)
        waiting = self.requests.where(lambda r: r.direction == "incoming" and r.status == "open")
        due = self.subscriptions.where(lambda s: s.status == "active" and s.due <= self._today())
        free = sum(row.cents for row in rows) - held
        return {"free": money(free), "held": money(held), "requests": len(waiting), "due": len(due)}

    @tool(read_only=True)
    def list_payment_sources(self, limit: Limit = 5) -> list[SourceShown]:
        """Lists what the user can pay from, with the money that is free."""
        return [source_shown(row) for row in self.sources.values()][: int(limit)]

    @tool(read_only=True)
    def find_payment_source(self, name: KnownName) -> SourceShown:
        """Finds a payment source by its name."""
        return source_shown(named(self.sources.values(), name, "payment source", "list_payment_sources"))

    @tool(idempotent=True)
    def block_payment_source(self, source_id: SourceId) -> SourceDone:
        """Blocks a source: nothing new is paid from it. What is authorised can still be captured."""
        self._source(source_id)
        return {"source_id": source_id, "blocked": self.sources.update(source_id, blocked=True).blocked}

    @tool(idempotent=True)
    def unblock_payment_source(self, source_id: SourceId) -> SourceDone:
        """Lets a blocked source pay again."""
        self._source(source_id)
        return {"source_id": source_id, "blocked": self.sources.update(source_id, blocked=False).blocked}

    @tool(read_only=True)
    def list_merchants(self, trade: AnyTrade = "any", limit: Limit = 5) -> list[MerchantShown]:
        """Lists merchants, all or of one trade."""
        return [merchant_shown(r) for r in self.merchants.values() if trade in ("any", r.trade)][: int(limit)]

    @tool(read_only=True)
    def find_merchant(self, name: KnownName) -> MerchantShown:
        """Finds a merchant by name, with the smallest amount that it takes."""
        return merchant_shown(named(self.merchants.values(), name, "merchant", "list_merchants"))

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
        source, value = self._usable(source_id), cents(amount)
        self._merchant(merchant_id, value)
        self._check_free(source, value)
        row = self._new_payment(source_id, merchant_id, value, "authorized")
        self.sources.update(source_id, held=source.held + value)
        return self._done(row)

    @tool()
    def capture_payment(self, payment_id: PaymentId, amount: Part = None) -> PaymentDone:
        """Takes an authorised amount, or a part of it and frees the rest."""
        row = self._payment(payment_id, "authorized")
        value = row.amount if amount is None else cents(amount)
        if value > row.amount:
            raise ToolError("insufficient", f"only {money(row.amount)} is authorised", "Capture that much or less.")
        source = self.sources[row.source_id]
        self.sources.update(row.source_id, cents=source.cents - value, held=source.held - row.amount)
        return self._done(self.payments.update(payment_id, captured=value, status="captured"))

    @tool(destructive=True)
    def void_payment(self, payment_id: PaymentId) -> PaymentDone:
        """Gives up an authorised payment that was not captured."""
        row = self._payment(payment_id, "authorized")
        self.sources.update(row.source_id, held=self.sources[row.source_id].held - row.amount)
        return self._done(self.payments.update(payment_id, status="voided"))

    @tool()
    def refund_payment(self, payment_id: PaymentId, amount: Part = None) -> RefundDone:
        """Gives back what is left of a captured payment, or a part of it, up to 45 days after it."""
        row = self._payment(payment_id, "captured", "partly_refunded")
        if self._days_ahead(row.day) < -REFUND_DAYS:
            raise ToolError("wrong_state", f"it is from {row.day}", f"Refunds end {REFUND_DAYS} days after the payment.")
        left = row.captured - row.refunded
        value = left if amount is None else cents(amount)
        if value > left:
            raise ToolError("insufficient", f"only {money(left)} of it is left to refund", "Refund that much or less.")
        self.sources.update(row.source_id, cents=self.sources[row.source_id].cents + value)
        status: PaymentStatus = "refunded" if value == left else "partly_refunded"
        self.payments.update(payment_id, refunded=row.refunded + value, status=status)
        key = self.refunds.fresh("rfd", payment_id, value)
        self.refunds.put(key, Refund(key, payment_id, value, self._today()))
        return {"refund_id": key, "status": status, "free": self._free(row.source_id)}

    @tool(read_only=True)
    def list_refunds(self, payment_id: PaymentId, limit: Limit = 5) -> list[RefundShown]:
        """Lists what was given back of a payment."""
        self._payment(payment_id)
        rows = self.refunds.where(lambda r: r.payment_id == payment_id)[: int(limit)]
        return [{"refund_id": r.refund_id, "amount": money(r.cents), "day": r.day} for r in rows]

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
        rows = [r for r in self.payments.values() if status in ("any", r.status)]
        rows.sort(key=lambda r: (r.day, r.payment_id), reverse=True)
        return [self._payment_shown(r) for r in rows[: int(limit)]]

    @tool(read_only=True)
    def find_last_payment(self, merchant_id: MerchantId) -> PaymentShown:
        """The newest payment to a merchant."""
        self._merchant(merchant_id)
        rows = self.payments.where(lambda r: r.payee_id == merchant_id)
        if not rows:
            raise ToolError("not_found", "nothing was ever paid to this merchant", "list_payments shows all payments.")
        return self._payment_shown(max(rows, key=lambda r: (r.day, r.payment_id)))

    @tool()
    def pay_friend(self, source_id: SourceId, friend_id: FriendId, amount: Amount) -> PaymentDone:
        """Pays a friend at once from a balance or a bank source."""
        self._friend(friend_id)
        return self._done(self._pay_friend(source_id, friend_id, cents(amount)))

    # -- asking for money --------------------------------------------------------------------------

    @tool(read_only=True)
    def list_payment_requests(self, direction: Direction = "incoming", limit: Limit = 5) -> list[RequestShown]:
        """Lists open requests for money: those that others sent, or the user's own."""
        rows = self.requests.where(lambda r: r.direction == direction and r.status == "open")
        return [self._request_shown(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def find_payment_request(self, friend_id: FriendId, direction: Direction = "incoming") -> RequestShown:
        """Finds the open request for money from a friend, or of the user to that friend."""
        self._friend(friend_id)
        for row in self.requests.values():
            if (row.friend_id, row.direction, row.status) == (friend_id, direction, "open"):
                return self._request_shown(row)
        raise ToolError("not_found", f"there is no open {direction} request", "list_payment_requests shows what there is.")

    @tool(read_only=True)
    def get_payment_request(self, request_id: RequestId) -> RequestTold:
        """One request for money, open or not, with its payment once it is paid."""
        row = existing(self.requests, request_id, "payment request", "list_payment_requests")
        told: RequestTold = {
            "request_id": request_id,
            "friend_id": row.friend_id,
            "direction": row.direction,
            "amount": money(row.amount),
            "status": row.status,
        }
        return {**told, "payment_id": row.payment_id} if row.payment_id else told

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
        """Pays what a friend asks for, from a balance or a bank source."""
        row = self._open_request(request_id, "incoming")
        paid = self._pay_friend(source_id, row.friend_id, row.amount)
        self.requests.update(request_id, status="paid", payment_id=paid.payment_id)
        return self._done(paid)

    @tool(destructive=True)
    def decline_payment_request(self, request_id: RequestId) -> RequestDone:
        """Refuses what a friend asks for."""
        self._open_request(request_id, "incoming")
        self.requests.update(request_id, status="declined")
        return {"request_id": request_id, "status": "declined"}

    @tool(destructive=True)
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
        return [subscription_shown(row) for row in rows]

    @tool(read_only=True)
    def find_subscription(self, name: KnownName) -> SubscriptionShown:
        """Finds a subscription by its merchant's name."""
        rows = self.subscriptions.where(lambda r: r.status != "cancelled")
        return subscription_shown(named(rows, name, "subscription", "list_subscriptions"))

    @tool()
    def start_subscription(
        self, merchant_id: MerchantId, source_id: SourceId, plan: Annotated[Plan, Field(description="Price and period.")]
    ) -> SubscriptionDone:
        """Subscribes to a merchant: pays at once, and is due again after the period."""
        value = cents(plan["price"])
        merchant, source = self._merchant(merchant_id, value), self._usable(source_id)
        if any(s.merchant_id == merchant_id and s.status != "cancelled" for s in self.subscriptions.values()):
            raise ToolError("conflict", f"there is a subscription to {merchant.name} already", "find_subscription shows it.")
        self._pay(source, merchant_id, value)
        key = self.subscriptions.fresh("sub", merchant_id)
        due = self._after(self._today(), plan["every"])
        row = Subscription(key, merchant.name, merchant_id, source_id, value, plan["every"], due, "active")
        self.subscriptions.put(key, row)
        return {"subscription_id": key, "due": due, "status": "active"}

    @tool()
    def pay_subscription(self, subscription_id: SubscriptionId) -> PaymentDone:
        """Pays an active subscription for another period from its own source, at most 7 days before it is due."""
        row = self._subscription(subscription_id, "active")
        if self._days_ahead(row.due) > EARLY_DAYS:
            raise ToolError("wrong_state", f"it is paid until {row.due}", f"Pay it at most {EARLY_DAYS} days before.")
        paid = self._pay(self._usable(row.source_id), row.merchant_id, row.price)
        self.subscriptions.update(subscription_id, due=self._after(row.due, row.every))
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
        self._usable(source_id)
        self.subscriptions.update(subscription_id, source_id=source_id)
        return {"subscription_id": subscription_id, "due": row.due, "status": row.status}
