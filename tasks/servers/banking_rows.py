"""Rows of the banking server, and pure functions on them.

Run: nothing here runs by itself; `tasks.servers.banking` is the server.

Left out: more than one customer. All accounts belong to the user of the session.
"""

from __future__ import annotations

import calendar
import datetime as dt
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tasks.servers.banking_types import AccountKind, CardStatus, Category, Currency, Every, PayeeKind, TransactionRow
from tasks.servers.typed import money


@dataclass(frozen=True, slots=True)
class Account:
    """`cents` is `opening` plus the sum of the account's transactions, always."""

    account_id: str
    name: str
    kind: AccountKind
    currency: Currency
    opening: int
    cents: int
    status: Literal["open", "closed"] = "open"


@dataclass(frozen=True, slots=True)
class Card:
    """`secret` and the number of PIN changes determine the code that the next change needs."""

    card_id: str
    account_id: str
    last4: str
    status: CardStatus
    limit: int
    pin: int
    secret: int
    changes: int = 0

    def code(self) -> str:
        return f"code_{1000 + zlib.crc32(f'{self.secret}/{self.changes}'.encode()) % 9000}"


@dataclass(frozen=True, slots=True)
class Payee:
    payee_id: str
    name: str
    kind: PayeeKind
    bank: str
    number: int


@dataclass(frozen=True, slots=True)
class Bill:
    bill_id: str
    payee_id: str
    cents: int
    due: str
    status: Literal["due", "paid"]


@dataclass(frozen=True, slots=True)
class Hold:
    """Money set aside: it counts in the balance, and not in what is available."""

    hold_id: str
    account_id: str
    name: str
    cents: int
    day: str


@dataclass(frozen=True, slots=True)
class Standing:
    """A standing payment; `day` is the next one, `first` the day of the month that it keeps to."""

    standing_id: str
    account_id: str
    payee_id: str
    cents: int
    day: str
    first: int
    every: Every


@dataclass(frozen=True, slots=True)
class Transaction:
    """`cents` is negative when money leaves the account; `card_id` is empty when no card was used."""

    transaction_id: str
    account_id: str
    name: str
    cents: int
    day: str
    category: Category
    card_id: str = ""
    status: Literal["posted", "disputed"] = "posted"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rate:
    """Ten-thousandths of a unit of the currency for one US dollar."""

    currency: Currency
    per_dollar: int


@dataclass(frozen=True, slots=True)
class Quote:
    quote_id: str
    source_id: str
    target_id: str
    cents: int
    receives: int
    until: str
    status: Literal["open", "used"] = "open"


def converted(cents: int, source: Rate, target: Rate) -> int:
    """`cents` of one currency in cents of another, rounded down."""
    return cents * target.per_dollar // source.per_dollar


def latest(rows: Iterable[Transaction]) -> list[Transaction]:
    """Transactions, the latest first."""
    return sorted(rows, key=lambda r: (r.day, r.transaction_id), reverse=True)


def shown(rows: Iterable[Transaction]) -> list[TransactionRow]:
    """Transactions as lists show them."""
    return [
        {
            "transaction_id": r.transaction_id,
            "name": r.name,
            "amount": money(abs(r.cents)),
            "direction": "in" if r.cents > 0 else "out",
            "day": r.day,
        }
        for r in rows
    ]


def following(day: dt.date, every: Every, first: int) -> dt.date:
    """The next day of a standing payment; a day that the month lacks becomes the month's last."""
    if every == "week":
        return day + dt.timedelta(days=7)
    months = day.month + (1 if every == "month" else 12)
    year, month = day.year + (months - 1) // 12, (months - 1) % 12 + 1
    return dt.date(year, month, min(first, calendar.monthrange(year, month)[1]))
