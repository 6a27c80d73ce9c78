"""The trading server's identifiers, rows and results.

Left out: what the rows hold at the start; trading_data.py seeds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Amount, identifier

StockId = identifier("stock", "stk")
OrderId = identifier("trade_order", "tord")
WatchlistId = identifier("watchlist", "wat")
AlertId = identifier("price_alert", "alr")
FillId = identifier("fill", "fil")

OneSide = Literal["buy", "sell"]
Side = Annotated[OneSide, Field(description="Buy or sell.")]
OrderStatus = Literal["open", "filled", "cancelled"]
Sector = Literal["energy", "health", "tech", "retail", "transport"]
Way = Literal["above", "below"]
Direction = Annotated[Way, Field(description="When the price is above or below it.")]
Shares = Annotated[int, Field(ge=1, le=1000, description="How many shares.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]


# -- rows ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Account:
    """Cash in cents, all of it; `held` of it is for open buy orders. `deposits` less withdrawals came in since the seed."""

    cash: int
    held: int = 0
    deposits: int = 0


@dataclass(frozen=True, slots=True)
class Stock:
    """`opened` is the day's first price, from which the band of prices is measured; `last` the newest fill's."""

    stock_id: str
    name: str
    symbol: str
    sector: Sector
    opened: int
    last: int
    halted: bool = False


@dataclass(frozen=True, slots=True)
class Position:
    """The user's shares of one stock; the key is the stock. `cost` is what those shares were bought for."""

    stock_id: str
    shares: int
    held: int
    cost: int


@dataclass(frozen=True, slots=True)
class Order:
    """Of the user, or of the market (`own` false). `age` orders those of one stock and price, the lowest first.

    `price` is the limit; of a market order that is done, the last price that it got.
    """

    order_id: str
    stock_id: str
    side: OneSide
    shares: int
    left: int
    price: int
    age: int
    own: bool
    status: OrderStatus = "open"


@dataclass(frozen=True, slots=True)
class Fill:
    """One trade of one of the user's orders."""

    fill_id: str
    order_id: str
    stock_id: str
    side: OneSide
    shares: int
    price: int


@dataclass(frozen=True, slots=True)
class Watchlist:
    watchlist_id: str
    name: str
    stocks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alert:
    """`reached` stays true once a fill was beyond the price."""

    alert_id: str
    stock_id: str
    direction: Way
    price: int
    reached: bool = False


# -- results ---------------------------------------------------------------------------------------


class StockShown(TypedDict):
    stock_id: StockId
    name: str
    symbol: str
    sector: Sector
    price: float


class Quote(TypedDict):
    stock_id: StockId
    last: float
    bid: float
    ask: float
    halted: bool


class Level(TypedDict):
    price: float
    shares: int


class PositionShown(TypedDict):
    stock_id: StockId
    shares: int
    free: int
    value: float
    gain: float


class Balance(TypedDict):
    cash: float
    free: float
    invested: float


class OrderShown(TypedDict):
    order_id: OrderId
    stock_id: StockId
    side: OneSide
    left: int
    price: float
    status: OrderStatus


class OrderDone(TypedDict):
    order_id: OrderId
    status: OrderStatus
    filled: int
    left: int
    total: float


class FillShown(TypedDict):
    fill_id: FillId
    shares: int
    price: float


class WatchlistShown(TypedDict):
    watchlist_id: WatchlistId
    name: str
    stocks: int


class WatchlistDone(TypedDict):
    watchlist_id: WatchlistId
    stocks: int


class AlertShown(TypedDict):
    alert_id: AlertId
    stock_id: StockId
    direction: Way
    price: float
    reached: bool


class AlertDone(TypedDict):
    alert_id: AlertId
    reached: bool


class LimitTerms(TypedDict):
    """What a limit order asks for."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    shares: Shares
    price: Amount
