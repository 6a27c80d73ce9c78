"""Identifiers, argument types and result types of the banking server.

Run: nothing here runs by itself; `tasks.servers.banking` is the server.

Left out: rows, which results show only in part.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Amount, Date, identifier

AccountId = identifier("account", "acc")
CardId = identifier("card", "card")
PayeeId = identifier("payee", "payee")
BillId = identifier("bill", "bill")
HoldId = identifier("hold", "hold")
StandingId = identifier("standing_payment", "stand")
TransactionId = identifier("transaction", "txn")
QuoteId = identifier("exchange_quote", "quote")
PinCode = identifier("pin_code", "code", digits=4)

AccountKind = Literal["checking", "savings", "joint", "foreign"]
CardStatus = Literal["active", "frozen"]
Direction = Literal["in", "out"]
Currency = Annotated[Literal["USD", "EUR", "GBP", "CHF"], Field(description="A currency.")]
PayeeKind = Annotated[Literal["person", "company", "utility"], Field(description="What the payee is.")]
Every = Annotated[Literal["week", "month", "year"], Field(description="How often it repeats.")]
Category = Annotated[
    Literal["groceries", "dining", "transport", "health", "travel", "shopping", "bills", "income", "transfer", "other"],
    Field(description="What the money was for."),
]
Reason = Annotated[
    Literal["fraud", "duplicate", "wrong_amount", "not_received"], Field(description="What is wrong with the charge.")
]
AnyAccountKind = Annotated[
    Literal["any", "checking", "savings", "joint", "foreign"], Field(description="Only accounts of this kind.")
]
AnyCardStatus = Annotated[Literal["any", "active", "frozen"], Field(description="Only cards in this state.")]
AnyPayeeKind = Annotated[Literal["any", "person", "company", "utility"], Field(description="Only payees of this kind.")]
NewAccountKind = Annotated[Literal["checking", "savings", "joint"], Field(description="The kind of account.")]

NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
LastDigits = Annotated[str, Field(pattern="^[0-9]{4}$", description="The last four digits of its number.")]
Note = Annotated[str, Field(max_length=60, description="Text for the other side; may be empty.")]


# -- arguments ---------------------------------------------------------------------------------


class BankDetails(TypedDict):
    """Where a payee's money goes."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    bank: Annotated[str, Field(min_length=1, max_length=40, description="The payee's bank.")]
    number: Annotated[int, Field(ge=10_000_000, le=99_999_999, description="Account number, 8 digits.")]


class TransactionFilter(TypedDict):
    """Which transactions are wanted; all given conditions hold."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    account_id: NotRequired[AccountId]
    category: NotRequired[Category]
    since: NotRequired[Date]
    min_amount: NotRequired[Amount]


# -- results -----------------------------------------------------------------------------------


class AccountShown(TypedDict):
    account_id: AccountId
    name: str
    kind: AccountKind
    currency: Currency


class AccountFound(TypedDict):
    account_id: AccountId
    kind: AccountKind


class AccountOpened(TypedDict):
    account_id: AccountId
    status: Literal["open", "closed"]


class Balance(TypedDict):
    account_id: AccountId
    balance: float
    available: float


class Posted(TypedDict):
    transaction_id: TransactionId
    balance: float


class Transferred(TypedDict):
    transaction_id: TransactionId
    source_balance: float
    target_balance: float


class HoldShown(TypedDict):
    hold_id: HoldId
    account_id: AccountId
    name: str
    amount: float


class HoldFound(TypedDict):
    hold_id: HoldId
    amount: float
    since: str


class Available(TypedDict):
    account_id: AccountId
    available: float


class HoldPlaced(TypedDict):
    hold_id: HoldId
    available: float


class CardShown(TypedDict):
    card_id: CardId
    account_id: AccountId
    last4: str
    status: CardStatus


class CardFound(TypedDict):
    card_id: CardId
    account_id: AccountId


class AccountCard(TypedDict):
    card_id: CardId
    last4: str


class CardDetails(TypedDict):
    card_id: CardId
    status: CardStatus
    limit: float
    left_today: float


class CardState(TypedDict):
    card_id: CardId
    status: CardStatus


class CardLimit(TypedDict):
    card_id: CardId
    limit: float


class CardCode(TypedDict):
    card_id: CardId
    code: PinCode


class PinChanged(TypedDict):
    card_id: CardId
    changed: bool


class LastCharge(TypedDict):
    transaction_id: TransactionId
    card_id: CardId
    name: str


class PayeeShown(TypedDict):
    payee_id: PayeeId
    name: str
    kind: PayeeKind


class PayeeFound(TypedDict):
    payee_id: PayeeId
    kind: PayeeKind


class PayeeGone(TypedDict):
    payee_id: PayeeId
    removed: bool


class BillShown(TypedDict):
    bill_id: BillId
    payee_id: PayeeId
    amount_due: float
    due: str


class BillFound(TypedDict):
    bill_id: BillId
    amount_due: float
    due: str


class BillPaid(TypedDict):
    bill_id: BillId
    status: Literal["due", "paid"]
    balance: float


class BillsPaid(TypedDict):
    account_id: AccountId
    paid: int
    balance: float


class StandingShown(TypedDict):
    standing_id: StandingId
    payee_id: PayeeId
    amount: float
    every: Every


class StandingFound(TypedDict):
    standing_id: StandingId
    amount: float
    next_day: str
    every: Every


class StandingState(TypedDict):
    standing_id: StandingId
    next_day: str


class StandingGone(TypedDict):
    standing_id: StandingId
    cancelled: bool


class TransactionFound(TypedDict):
    transaction_id: TransactionId
    account_id: AccountId


class TransactionDetails(TypedDict):
    transaction_id: TransactionId
    amount: float
    direction: Direction
    day: str
    category: Category
    status: Literal["posted", "disputed"]


class TransactionRow(TypedDict):
    transaction_id: TransactionId
    name: str
    amount: float
    direction: Direction
    day: str


class Categorised(TypedDict):
    transaction_id: TransactionId
    category: Category


class Disputed(TypedDict):
    transaction_id: TransactionId
    status: Literal["posted", "disputed"]
    balance: float


class Spending(TypedDict):
    total: float
    count: int


class Statement(TypedDict):
    account_id: AccountId
    opening: float
    paid_in: float
    paid_out: float
    closing: float


class RateShown(TypedDict):
    rate: float


class QuoteShown(TypedDict):
    quote_id: QuoteId
    target_id: AccountId
    receives: float


class QuoteFound(TypedDict):
    quote_id: QuoteId
    pays: float
    receives: float
