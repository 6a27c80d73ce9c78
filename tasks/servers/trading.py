"""The trading server: one user's cash and shares, and an order book of other people's orders for every stock.

    with environment(["trading"]).session(7) as session:
        session.call("get_quote", {"stock_id": "stk_417"})

Orders match by price, then by age, at the older order's price; what is not filled of a limit order rests in the book with its
cash or shares held. A market order fills what it can and gives up the rest. Halted stocks take no orders. Cash moves by fills
and deposits only, and nobody sells what they do not hold.

Left out: other people who trade by themselves, short sales, fees; prices move by the user's own fills.
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

StockId = identifier("stock", "stk")
OrderId = identifier("trade_order", "tord")
WatchlistId = identifier("watchlist", "wat")
AlertId = identifier("price_alert", "alr")
FillId = identifier("fill", "fil")

Side = Annotated[Literal["buy", "sell"], Field(description="Buy or sell.")]
OrderStatus = Literal["open", "filled", "cancelled"]
Sector = Literal["energy", "health", "tech", "retail", "transport"]
Direction = Annotated[Literal["above", "below"], Field(description="When the price is above or below it.")]
Shares = Annotated[int, Field(ge=1, le=1000, description="How many shares.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]

COMPANIES = words(
    """Aldercore Brightwell Cindertech Dunmore Elmstone Fennwick Glenhart Holloway Ironbark Juniperus Kelvaris Lumenta Marlowe
    Northvale Oakhurst Penrose Quillon Ravenna Silverline Thornhill Umbrion Verdant Wexford Xanthe Yarrow Zephyrus Ashmont
    Blackwood Corvus Driftwood Everglen Foxmoor Greystone Harrowgate Inverness Jadestone Kingsley Larkspur Meridia Novalis"""
)
LISTS = words(
    """Favorites Dividends Growth Ideas Retirement Tech Green Bargains Research Safe Risky Longterm Family Weekend Swing Radar
    Candidates Exits Income Core Satellite Momentum Value Smallcaps Exporters Turnaround Defensive Cyclical Speculative
    Shortlist"""
)
SECTORS: tuple[Sector, ...] = ("energy", "health", "tech", "retail", "transport")


@dataclass(frozen=True, slots=True)
class Account:
    """Cash in cents; `opening` plus deposits, less withdrawals and buys, plus sales. `held` is for open buy orders."""

    opening: int
    cash: int
    held: int = 0
    deposits: int = 0
    clock: int = 0


@dataclass(frozen=True, slots=True)
class Stock:
    stock_id: str
    name: str
    symbol: str
    sector: Sector
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
    """`age` orders those of one price. Of the user, or of the market (`own` false)."""

    order_id: str
    stock_id: str
    side: Literal["buy", "sell"]
    shares: int
    left: int
    price: int
    age: int
    own: bool
    status: OrderStatus = "open"


@dataclass(frozen=True, slots=True)
class Fill:
    fill_id: str
    order_id: str
    stock_id: str
    side: Literal["buy", "sell"]
    shares: int
    price: int


@dataclass(frozen=True, slots=True)
class Watchlist:
    watchlist_id: str
    name: str
    stocks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alert:
    alert_id: str
    stock_id: str
    direction: Literal["above", "below"]
    price: int


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
    side: Literal["buy", "sell"]
    price: float
    shares: int


class PositionShown(TypedDict):
    stock_id: StockId
    shares: int
    free: int
    value: float


class Balance(TypedDict):
    cash: float
    free: float
    invested: float


class OrderShown(TypedDict):
    order_id: OrderId
    stock_id: StockId
    side: Literal["buy", "sell"]
    left: int
    price: float
    status: OrderStatus


class OrderDone(TypedDict):
    order_id: OrderId
    status: OrderStatus
    filled: int
    left: int
    paid: float


class FillShown(TypedDict):
    fill_id: FillId
    order_id: OrderId
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
    direction: Literal["above", "below"]
    price: float
    reached: bool


class LimitTerms(TypedDict):
    """What a limit order asks for."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    shares: Shares
    price: Amount


class Trading(Server):
    """One user's account at a broker."""

    name = "trading"
    title = "Stocks, order books, positions, watchlists and price alerts."

    account: Table[Account]
    stocks: Table[Stock]
    positions: Table[Position]
    orders: Table[Order]
    fills: Table[Fill]
    watchlists: Table[Watchlist]
    alerts: Table[Alert]

    @classmethod
    def seed(cls, world: World) -> Seed:
        stocks: dict[str, Stock] = {}
        for n, (key, name) in enumerate(zip(world.ids("stk", 12), world.picks(COMPANIES, 12), strict=False)):
            symbol = (name[:3] + name[-1]).upper()
            stocks[key] = Stock(key, name, symbol, world.choice(SECTORS), world.amount(8, 180), n == 7)
        orders: dict[str, Order] = {}
        numbers = iter(world.ids("tord", 120))
        age = 0
        for stock in stocks.values():
            for side, sign in (("buy", -1), ("sell", 1)):
                for step in range(1, 5):
                    age += 1
                    key, pieces = next(numbers), world.rng.randint(2, 25)
                    price = stock.last + sign * step * max(5, stock.last // 200)
                    orders[key] = Order(key, stock.stock_id, side, pieces, pieces, price, age, False)  # type: ignore[arg-type]
        positions = {}
        for stock_id in world.rng.sample(list(stocks), min(5, len(stocks))):
            shares = world.rng.randint(3, 40)
            cost = shares * stocks[stock_id].last * world.rng.randint(70, 120) // 100
            positions[stock_id] = Position(stock_id, shares, 0, cost)
        cash = world.amount(2000, 9000)
        held = 0
        tradable = [s for s in stocks.values() if not s.halted]
        for stock in world.rng.sample(tradable, 2):
            age += 1
            key, pieces, price = next(numbers), world.rng.randint(2, 6), stock.last * 8 // 10
            orders[key] = Order(key, stock.stock_id, "buy", pieces, pieces, price, age, True)
            held += pieces * price
        selling = next(p for p in positions.values() if not stocks[p.stock_id].halted)
        age += 1
        key = next(numbers)
        orders[key] = Order(key, selling.stock_id, "sell", 2, 2, stocks[selling.stock_id].last * 13 // 10, age, True)
        positions[selling.stock_id] = Position(selling.stock_id, selling.shares, 2, selling.cost)
        watchlists = {
            key: Watchlist(key, name, tuple(sorted(world.rng.sample(list(stocks), min(3, len(stocks))))))
            for key, name in zip(world.ids("wat", 3), world.picks(LISTS, 3), strict=False)
        }
        alerts = {
            key: Alert(key, stock.stock_id, "above", stock.last * 11 // 10)
            for key, stock in zip(world.ids("alr", 3), world.rng.sample(list(stocks.values()), 3), strict=True)
        }
        return {
            "account": {"account": Account(max(cash, held + 50_000), max(cash, held + 50_000), held, 0, age)},
            "stocks": stocks,
            "positions": positions,
            "orders": orders,
            "fills": {},
            "watchlists": watchlists,
            "alerts": alerts,
        }

    # -- stocks ------------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_stock(self, name: KnownName) -> StockShown:
        """Finds a stock by its company's name."""
        return _stock_shown(named(self.stocks.values(), name, "stock", "list_stocks"))

    @tool(read_only=True)
    def list_stocks(
        self,
        sector: Annotated[
            Literal["any", "energy", "health", "tech", "retail", "transport"], Field(description="Only these.")
        ] = "any",
        limit: Limit = 5,
    ) -> list[StockShown]:
        """Lists stocks with their last prices."""
        return [_stock_shown(s) for s in self.stocks.values() if sector in ("any", s.sector)][: int(limit)]

    @tool(read_only=True)
    def get_quote(self, stock_id: StockId) -> Quote:
        """A stock's last price, the best bid and ask (0 when there is none), and whether it is halted."""
        row = self._stock(stock_id)
        bids, asks = self._book(stock_id, "buy"), self._book(stock_id, "sell")
        return {
            "stock_id": stock_id,
            "last": money(row.last),
            "bid": money(bids[0].price) if bids else 0.0,
            "ask": money(asks[0].price) if asks else 0.0,
            "halted": row.halted,
        }

    @tool(read_only=True)
    def get_order_book(self, stock_id: StockId, side: Side, limit: Limit = 5) -> list[Level]:
        """One side of a stock's order book, the best price first."""
        self._stock(stock_id)
        levels: dict[int, int] = {}
        for order in self._book(stock_id, side):
            levels[order.price] = levels.get(order.price, 0) + order.left
        return [{"side": side, "price": money(price), "shares": shares} for price, shares in levels.items()][: int(limit)]

    # -- account -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def get_cash(self) -> Balance:
        """The user's cash, what of it is free, and what their shares are worth."""
        row = self._account
        worth = sum(p.shares * self.stocks[p.stock_id].last for p in self.positions.values())
        return {"cash": money(row.cash), "free": money(row.cash - row.held), "invested": money(worth)}

    @tool()
    def deposit_cash(self, amount: Amount) -> Balance:
        """Brings money into the account."""
        row, value = self._account, cents(amount)
        self.account.update("account", cash=row.cash + value, deposits=row.deposits + value)
        return self.get_cash()

    @tool()
    def withdraw_cash(self, amount: Amount) -> Balance:
        """Takes free money out of the account."""
        row, value = self._account, cents(amount)
        self._check_cash(value)
        self.account.update("account", cash=row.cash - value, deposits=row.deposits - value)
        return self.get_cash()

    @tool(read_only=True)
    def list_positions(self, limit: Limit = 5) -> list[PositionShown]:
        """Lists the stocks that the user holds."""
        return [self._position_shown(p) for p in self.positions.where(lambda p: p.shares > 0)[: int(limit)]]

    @tool(read_only=True)
    def get_position(self, stock_id: StockId) -> PositionShown:
        """How many shares of a stock the user holds, and how many are not held for a sale."""
        self._stock(stock_id)
        row = self._position(stock_id)
        if not row.shares:
            raise ToolError("not_found", "the user has no shares of it", "list_positions shows what they have.")
        return self._position_shown(row)

    # -- orders ------------------------------------------------------------------------------------

    @tool()
    def place_market_order(self, stock_id: StockId, side: Side, shares: Shares) -> OrderDone:
        """Trades at once at the best prices there are; what finds no partner is cancelled."""
        self._tradable(stock_id)
        pieces = int(shares)
        partners = self._book(stock_id, "sell" if side == "buy" else "buy")
        if not partners:
            raise ToolError("insufficient", "nobody is on the other side", "Use place_limit_order.")
        if side == "buy":
            self._check_cash(_cost(partners, pieces))
        else:
            self._check_shares(stock_id, pieces)
        return self._trade(stock_id, side, pieces, None)

    @tool()
    def place_limit_order(
        self, stock_id: StockId, side: Side, terms: Annotated[LimitTerms, Field(description="How many at which price.")]
    ) -> OrderDone:
        """Trades at a price or a better one; the rest waits in the book, with its cash or shares held."""
        self._tradable(stock_id)
        pieces, price = int(terms["shares"]), cents(terms["price"])
        if any(o.own and o.side != side and o.status == "open" and o.stock_id == stock_id for o in self.orders.values()):
            raise ToolError("conflict", "the user has an order on the other side", "Use cancel_trade_order first.")
        if side == "buy":
            self._check_cash(pieces * price)
        else:
            self._check_shares(stock_id, pieces)
        return self._trade(stock_id, side, pieces, price)

    @tool(read_only=True)
    def list_trade_orders(
        self,
        status: Annotated[Literal["open", "filled", "cancelled"], Field(description="Only these.")] = "open",
        limit: Limit = 5,
    ) -> list[OrderShown]:
        """Lists the user's orders, open ones if not told otherwise."""
        return [_order_shown(o) for o in self.orders.values() if o.own and o.status == status][: int(limit)]

    @tool(read_only=True)
    def find_trade_order(self, stock_id: StockId) -> OrderShown:
        """The user's oldest open order for a stock."""
        self._stock(stock_id)
        rows = self.orders.where(lambda o: o.own and o.status == "open" and o.stock_id == stock_id)
        if not rows:
            raise ToolError("not_found", "there is no open order for it", "list_trade_orders shows open orders.")
        return _order_shown(min(rows, key=lambda o: o.age))

    @tool()
    def cancel_trade_order(self, order_id: OrderId) -> OrderDone:
        """Cancels an open order of the user and frees what it held."""
        row = self._own(order_id)
        self._release(row, row.left)
        row = self.orders.update(order_id, status="cancelled")
        return self._done(row)

    @tool()
    def amend_trade_order(self, order_id: OrderId, shares: Shares) -> OrderDone:
        """Reduces an open order to fewer shares; it keeps its place in the book."""
        row, wanted = self._own(order_id), int(shares)
        if wanted >= row.left:
            raise ToolError("invalid_value", f"{row.left} shares are left of it", "Give fewer, or place another order.")
        self._release(row, row.left - wanted)
        return self._done(self.orders.update(order_id, shares=row.shares - row.left + wanted, left=wanted))

    @tool(read_only=True)
    def list_fills(self, order_id: OrderId, limit: Limit = 5) -> list[FillShown]:
        """Lists the trades of one of the user's orders."""
        order = existing(self.orders, order_id, "order", "list_trade_orders")
        if not order.own:
            raise ToolError("denied", f"{order_id} is somebody else's order", "list_trade_orders shows the user's.")
        rows = self.fills.where(lambda f: f.order_id == order_id)[: int(limit)]
        return [{"fill_id": f.fill_id, "order_id": order_id, "shares": f.shares, "price": money(f.price)} for f in rows]

    # -- watchlists and alerts ---------------------------------------------------------------------

    @tool(read_only=True)
    def find_watchlist(self, name: KnownName) -> WatchlistShown:
        """Finds a watchlist by its name."""
        return _list_shown(named(self.watchlists.values(), name, "watchlist", "list_watchlists"))

    @tool(read_only=True)
    def list_watchlists(self, limit: Limit = 5) -> list[WatchlistShown]:
        """Lists the user's watchlists."""
        return [_list_shown(w) for w in self.watchlists.values()][: int(limit)]

    @tool(read_only=True)
    def list_watched_stocks(self, watchlist_id: WatchlistId, limit: Limit = 5) -> list[StockShown]:
        """Lists the stocks on a watchlist."""
        return [_stock_shown(self.stocks[s]) for s in self._watchlist(watchlist_id).stocks[: int(limit)]]

    @tool()
    def create_watchlist(
        self, name: NewName, stock_ids: Annotated[list[StockId], Field(max_length=10, description="Stocks on it.")]
    ) -> WatchlistDone:
        """Creates a watchlist."""
        name = unused(self.watchlists.values(), name, "watchlist")
        stocks = tuple(sorted({self._stock(s).stock_id for s in stock_ids}))
        key = self.watchlists.fresh("wat", name)
        self.watchlists.put(key, Watchlist(key, name, stocks))
        return {"watchlist_id": key, "stocks": len(stocks)}

    @tool(idempotent=True)
    def watch_stock(self, watchlist_id: WatchlistId, stock_id: StockId) -> WatchlistDone:
        """Puts a stock on a watchlist of at most 20."""
        row = self._watchlist(watchlist_id)
        stocks = tuple(sorted({*row.stocks, self._stock(stock_id).stock_id}))
        if len(stocks) > 20:
            raise ToolError("insufficient", "this watchlist is full", "Use unwatch_stock first.")
        self.watchlists.update(watchlist_id, stocks=stocks)
        return {"watchlist_id": watchlist_id, "stocks": len(stocks)}

    @tool()
    def unwatch_stock(self, watchlist_id: WatchlistId, stock_id: StockId) -> WatchlistDone:
        """Takes a stock off a watchlist."""
        row = self._watchlist(watchlist_id)
        if stock_id not in row.stocks:
            raise ToolError("not_found", "this stock is not on the list", "list_watched_stocks shows what is.")
        self.watchlists.update(watchlist_id, stocks=tuple(s for s in row.stocks if s != stock_id))
        return {"watchlist_id": watchlist_id, "stocks": len(row.stocks) - 1}

    @tool(destructive=True)
    def delete_watchlist(self, watchlist_id: WatchlistId) -> WatchlistDone:
        """Deletes a watchlist."""
        row = self._watchlist(watchlist_id)
        self.watchlists.remove(watchlist_id)
        return {"watchlist_id": watchlist_id, "stocks": len(row.stocks)}

    @tool()
    def set_price_alert(self, stock_id: StockId, direction: Direction, price: Amount) -> AlertShown:
        """Asks to be told when a stock's price is above or below a price that it has not reached."""
        row, value = self._stock(stock_id), cents(price)
        if _reached(row, direction, value):
            raise ToolError("wrong_state", f"the price is {direction} that already", "Give another price.")
        key = self.alerts.fresh("alr", stock_id, direction, value)
        return self._alert_shown(self.alerts.put(key, Alert(key, stock_id, direction, value)))

    @tool(read_only=True)
    def list_price_alerts(self, limit: Limit = 5) -> list[AlertShown]:
        """Lists price alerts and whether their price was reached."""
        return [self._alert_shown(a) for a in self.alerts.values()][: int(limit)]

    @tool(destructive=True)
    def remove_price_alert(self, alert_id: AlertId) -> AlertShown:
        """Removes a price alert."""
        row = existing(self.alerts, alert_id, "price alert", "list_price_alerts")
        self.alerts.remove(alert_id)
        return self._alert_shown(row)

    # -- helpers -----------------------------------------------------------------------------------

    @property
    def _account(self) -> Account:
        return self.account["account"]

    def _stock(self, stock_id: str) -> Stock:
        return existing(self.stocks, stock_id, "stock", "list_stocks")

    def _tradable(self, stock_id: str) -> Stock:
        row = self._stock(stock_id)
        if row.halted:
            raise ToolError("wrong_state", f"trading in {row.name} is halted", "Choose another stock.")
        return row

    def _watchlist(self, watchlist_id: str) -> Watchlist:
        return existing(self.watchlists, watchlist_id, "watchlist", "list_watchlists")

    def _position(self, stock_id: str) -> Position:
        return self.positions.get(stock_id) or Position(stock_id, 0, 0, 0)

    def _own(self, order_id: str) -> Order:
        row = existing(self.orders, order_id, "order", "list_trade_orders")
        if not row.own:
            raise ToolError("denied", f"{order_id} is somebody else's order", "list_trade_orders shows the user's.")
        if row.status != "open":
            raise ToolError("wrong_state", f"{order_id} is {row.status}", "Only open orders can be changed.")
        return row

    def _check_cash(self, value: int) -> None:
        free = self._account.cash - self._account.held
        if value > free:
            raise ToolError("insufficient", f"it takes {money(value)}, {money(free)} is free", "Use deposit_cash, or less.")

    def _check_shares(self, stock_id: str, pieces: int) -> None:
        row = self._position(stock_id)
        if pieces > row.shares - row.held:
            raise ToolError("insufficient", f"{row.shares - row.held} shares are free", "Sell fewer, or cancel an order.")

    def _book(self, stock_id: str, side: str) -> list[Order]:
        rows = self.orders.where(lambda o: o.stock_id == stock_id and o.side == side and o.status == "open")
        return sorted(rows, key=lambda o: (o.price if side == "sell" else -o.price, o.age))

    def _trade(self, stock_id: str, side: Literal["buy", "sell"], pieces: int, price: int | None) -> OrderDone:
        """Fills against the other side's orders, and lets the rest of a limit order wait. All checks are done."""
        clock = self._account.clock + 1
        self.account.update("account", clock=clock)
        key = self.orders.fresh("tord", stock_id, side, pieces, price, clock)
        left = pieces
        for other in self._book(stock_id, "sell" if side == "buy" else "buy"):
            better = price is None or (other.price <= price if side == "buy" else other.price >= price)
            if not left or not better or other.own:
                break
            count = min(left, other.left)
            left -= count
            self._fill(key, stock_id, side, count, other.price)
            done = other.left == count
            self.orders.update(other.order_id, left=other.left - count, status="filled" if done else "open")
        status: OrderStatus = "filled" if not left else "open" if price is not None else "cancelled"
        order = Order(key, stock_id, side, pieces, left, price or 0, clock, True, status)
        self.orders.put(key, order)
        if status == "open":
            self._hold(order, left)
        return self._done(order)

    def _fill(self, order_id: str, stock_id: str, side: Literal["buy", "sell"], count: int, price: int) -> None:
        account, row = self._account, self._position(stock_id)
        sign = 1 if side == "buy" else -1
        self.account.update("account", cash=account.cash - sign * count * price)
        cost = count * price if side == "buy" else -(row.cost * count // row.shares)
        self.positions.put(stock_id, Position(stock_id, row.shares + sign * count, row.held, row.cost + cost))
        self.stocks.update(stock_id, last=price)
        key = self.fills.fresh("fil", order_id, len(self.fills))
        self.fills.put(key, Fill(key, order_id, stock_id, side, count, price))

    def _hold(self, row: Order, count: int) -> None:
        if row.side == "buy":
            self.account.update("account", held=self._account.held + count * row.price)
        else:
            position = self._position(row.stock_id)
            self.positions.update(row.stock_id, held=position.held + count)

    def _release(self, row: Order, count: int) -> None:
        self._hold(row, -count)

    def _done(self, row: Order) -> OrderDone:
        paid = sum(f.shares * f.price for f in self.fills.values() if f.order_id == row.order_id)
        filled = row.shares - row.left
        return {"order_id": row.order_id, "status": row.status, "filled": filled, "left": row.left, "paid": money(paid)}

    def _position_shown(self, row: Position) -> PositionShown:
        worth = row.shares * self.stocks[row.stock_id].last
        return {"stock_id": row.stock_id, "shares": row.shares, "free": row.shares - row.held, "value": money(worth)}

    def _alert_shown(self, row: Alert) -> AlertShown:
        return {
            "alert_id": row.alert_id,
            "stock_id": row.stock_id,
            "direction": row.direction,
            "price": money(row.price),
            "reached": _reached(self.stocks[row.stock_id], row.direction, row.price),
        }


def _cost(partners: list[Order], pieces: int) -> int:
    """What a market order for `pieces` would pay, as far as there are partners."""
    total = 0
    for order in partners:
        count = min(pieces, order.left)
        total, pieces = total + count * order.price, pieces - count
    return total


def _reached(row: Stock, direction: str, price: int) -> bool:
    return row.last > price if direction == "above" else row.last < price


def _stock_shown(row: Stock) -> StockShown:
    return {"stock_id": row.stock_id, "name": row.name, "symbol": row.symbol, "sector": row.sector, "price": money(row.last)}


def _order_shown(row: Order) -> OrderShown:
    return {
        "order_id": row.order_id,
        "stock_id": row.stock_id,
        "side": row.side,
        "left": row.left,
        "price": money(row.price),
        "status": row.status,
    }


def _list_shown(row: Watchlist) -> WatchlistShown:
    return {"watchlist_id": row.watchlist_id, "name": row.name, "stocks": len(row.stocks)}
