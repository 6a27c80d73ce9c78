"""What the payments server's tools share: checks, moving money, requests, and what is shown of rows.

Run: nothing here runs by itself; `tasks.servers.payments` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt

from tasks.servers.lookup import existing
from tasks.servers.payments_types import (
    DAYS,
    Friend,
    Merchant,
    MerchantShown,
    Payment,
    PaymentDone,
    PaymentShown,
    PaymentStatus,
    Refund,
    Request,
    RequestDone,
    RequestShown,
    Source,
    SourceShown,
    Subscription,
    SubscriptionDone,
    SubscriptionShown,
    SubscriptionStatus,
)
from tasks.servers.state import Table
from tasks.servers.tool import ToolError
from tasks.servers.typed import money, plain

REFUND_DAYS = 45
"""For so many days a payment can be refunded."""
EARLY_DAYS = 7
"""So many days before it is due a subscription can be paid."""


class Purse:
    """The tables of the wallet, and the steps that tools are made of."""

    now: dt.datetime
    sources: Table[Source]
    merchants: Table[Merchant]
    friends: Table[Friend]
    payments: Table[Payment]
    refunds: Table[Refund]
    requests: Table[Request]
    subscriptions: Table[Subscription]

    # -- rows and checks ---------------------------------------------------------------------------

    def _today(self) -> str:
        return self.now.date().isoformat()

    def _days_ahead(self, day: str) -> int:
        return (dt.date.fromisoformat(day) - self.now.date()).days

    def _source(self, source_id: str) -> Source:
        return existing(self.sources, source_id, "payment source", "list_payment_sources")

    def _usable(self, source_id: str) -> Source:
        row = self._source(source_id)
        if row.blocked:
            raise ToolError("denied", f"{row.source_id} is blocked", "Use unblock_payment_source, or another source.")
        return row

    def _merchant(self, merchant_id: str, value: int | None = None) -> Merchant:
        """The merchant; refuses a value below the smallest that it takes."""
        row = existing(self.merchants, merchant_id, "merchant", "list_merchants")
        if value is not None and value < row.smallest:
            least = money(row.smallest)
            raise ToolError("invalid_value", f"{row.name} takes no less than {least}", f"Give {least} or more.")
        return row

    def _friend(self, friend_id: str) -> Friend:
        return existing(self.friends, friend_id, "friend", "list_friends")

    def _payee(self, key: str) -> str:
        row = self.merchants.get(key) or self.friends.get(key)
        assert row is not None, "payees are never removed"
        return row.name

    def _payment(self, payment_id: str, *statuses: PaymentStatus) -> Payment:
        row = existing(self.payments, payment_id, "payment", "list_payments")
        if statuses and row.status not in statuses:
            raise ToolError("wrong_state", f"{payment_id} is {row.status}", f"It must be {' or '.join(statuses)}.")
        return row

    def _open_request(self, request_id: str, direction: str) -> Request:
        row = existing(self.requests, request_id, "payment request", "list_payment_requests")
        if row.status != "open":
            raise ToolError("wrong_state", f"{request_id} is {row.status}", "list_payment_requests shows the open ones.")
        if row.direction != direction:
            raise ToolError("denied", f"{request_id} is {row.direction}", f"It takes an {direction} request.")
        return row

    def _subscription(self, subscription_id: str, *statuses: SubscriptionStatus) -> Subscription:
        row = existing(self.subscriptions, subscription_id, "subscription", "list_subscriptions")
        if row.status not in statuses:
            raise ToolError("wrong_state", f"{subscription_id} is {row.status}", f"It must be {' or '.join(statuses)}.")
        return row

    def _check_free(self, source: Source, value: int) -> None:
        free = source.cents - source.held
        if value > free:
            raise ToolError("insufficient", f"{source.source_id} has {money(free)} free", "Use another source or less money.")

    # -- moving money ------------------------------------------------------------------------------

    def _new_payment(self, source_id: str, payee_id: str, value: int, status: PaymentStatus) -> Payment:
        key = self.payments.fresh("pmt", source_id, payee_id, value)
        captured = value if status == "captured" else 0
        return self.payments.put(key, Payment(key, source_id, payee_id, value, captured, 0, status, self._today()))

    def _pay(self, source: Source, payee_id: str, value: int) -> Payment:
        """Pays at once from a source that is not blocked."""
        self._check_free(source, value)
        row = self._new_payment(source.source_id, payee_id, value, "captured")
        self.sources.update(source.source_id, cents=source.cents - value)
        return row

    def _pay_friend(self, source_id: str, friend_id: str, value: int) -> Payment:
        source = self._usable(source_id)
        if source.kind == "card":
            raise ToolError("denied", "a card cannot pay friends", "Use a balance or a bank source.")
        return self._pay(source, friend_id, value)

    def _free(self, source_id: str) -> float:
        row = self.sources[source_id]
        return money(row.cents - row.held)

    def _ask(self, friend_id: str, value: int, note: str) -> RequestDone:
        self._friend(friend_id)
        text = plain(note, "note") if note else ""
        key = self.requests.fresh("req", friend_id, value, text)
        self.requests.put(key, Request(key, friend_id, "outgoing", value, text, "open"))
        return {"request_id": key, "status": "open"}

    def _after(self, day: str, every: str) -> str:
        return (dt.date.fromisoformat(day) + dt.timedelta(days=DAYS[every])).isoformat()

    def _set_subscription(self, row: Subscription, status: SubscriptionStatus) -> SubscriptionDone:
        self.subscriptions.update(row.subscription_id, status=status)
        return {"subscription_id": row.subscription_id, "due": row.due, "status": status}

    # -- results -----------------------------------------------------------------------------------

    def _done(self, row: Payment) -> PaymentDone:
        return {"payment_id": row.payment_id, "status": row.status, "free": self._free(row.source_id)}

    def _payment_shown(self, row: Payment) -> PaymentShown:
        return {
            "payment_id": row.payment_id,
            "payee": self._payee(row.payee_id),
            "amount": money(row.amount),
            "status": row.status,
            "day": row.day,
        }

    def _request_shown(self, row: Request) -> RequestShown:
        return {
            "request_id": row.request_id,
            "friend": self.friends[row.friend_id].name,
            "amount": money(row.amount),
            "note": row.note,
        }


def source_shown(row: Source) -> SourceShown:
    free = money(row.cents - row.held)
    return {"source_id": row.source_id, "name": row.name, "kind": row.kind, "free": free, "blocked": row.blocked}


def merchant_shown(row: Merchant) -> MerchantShown:
    return {"merchant_id": row.merchant_id, "name": row.name, "trade": row.trade, "smallest": money(row.smallest)}


def subscription_shown(row: Subscription) -> SubscriptionShown:
    return {
        "subscription_id": row.subscription_id,
        "name": row.name,
        "price": money(row.price),
        "every": row.every,
        "due": row.due,
        "status": row.status,
    }
