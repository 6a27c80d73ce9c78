"""The trading server: one user's cash and shares, and an order book of other people's orders for every stock.

    with environment(["trading"]).session(7) as session:
        session.call("get_quote", {"stock_id": "stk_417"})

Orders match by price, then by age, at the older order's price; what is not filled of a limit order rests in the book with its
cash or shares held. A market order fills what it can and gives up the rest. A fill 5% or more off the day's first price halts
the stock; halted stocks take no orders. Cash moves by fills, deposits and withdrawals only, nobody sells what they do not
hold, and nobody trades with themselves.

Left out: other people who trade by themselves, short sales, fees, halts that end; prices move by the user's own fills.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.trading_data import seeded
from tasks.servers.trading_state import Market, alert_shown, beyond, list_shown, order_shown, stock_shown
from tasks.servers.trading_types import (
    Account,
    Alert,
    AlertDone,
    AlertId,
    AlertShown,
    Balance,
    Direction,
    Fill,
    FillShown,
    KnownName,
    Level,
    LimitTerms,
    NewName,
    Order,
    OrderDone,
    OrderId,
    OrderShown,
    Position,
    PositionShown,
    Quote,
    Shares,
    Side,
    Stock,
    StockId,
    StockShown,
    Watchlist,
    WatchlistDone,
    WatchlistId,
    WatchlistShown,
)
from tasks.servers.typed import Amount, Limit, cents, money
from tasks.servers.world import World


class Trading(Market, Server):
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
        return seeded(world)

    # -- stocks ------------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_stock(self, name: KnownName) -> StockShown:
        """Finds a stock by its company's name or its symbol."""
        bare = name.strip().casefold()
        known = next((s for s in self.stocks.values() if s.symbol.casefold() == bare), None)
        return stock_shown(known or named(self.stocks.values(), name, "stock", "list_stocks"))

    @tool(read_only=True)
    def list_stocks(
        self,
        sector: Annotated[
            Literal["any", "energy", "health", "tech", "retail", "transport"], Field(description="Only these.")
        ] = "any",
        limit: Limit = 5,
    ) -> list[StockShown]:
        """Lists stocks with their last prices."""
        return [stock_shown(s) for s in self.stocks.values() if sector in ("any", s.sector)][: int(limit)]

    @tool(read_only=True)
    def get_quote(self, stock_id: StockId) -> Quote:
        """A stock's last price, the best bid and ask (0 when there is none), and whether it is halted."""
        row = self._stock(stock_id)
        bids, asks = self._book(stock_id, "buy"), self._book(stock_id, "sell")
        return {
            "stock_id": row.stock_id,
            "last": money(row.last),
            "bid": money(bids[0].price) if bids else 0.0,
            "ask": money(asks[0].price) if asks else 0.0,
            "halted": row.halted,
        }

    @tool(read_only=True)
    def get_order_book(self, stock_id: StockId, side: Side, limit: Limit = 5) -> list[Level]:
        """The open orders on one side of a stock's order book, summed by price, the best price first."""
        self._stock(stock_id)
        levels: dict[int, int] = {}
        for order in self._book(stock_id, side):
            levels[order.price] = levels.get(order.price, 0) + order.left
        shown: list[Level] = [{"price": money(price), "shares": shares} for price, shares in levels.items()]
        return shown[: int(limit)]

    # -- account -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def get_cash(self) -> Balance:
        """The user's cash, how much of it no order holds, and what their shares are worth."""
        row = self._account
        worth = sum(p.shares * self.stocks[p.stock_id].last for p in self.positions.values())
        return {"cash": money(row.cash), "free": money(row.cash - row.held), "invested": money(worth)}

    @tool()
    def deposit_cash(self, amount: Amount) -> Balance:
        """Brings money into the account."""
        value, row = cents(amount), self._account
        self.account.update("account", cash=row.cash + value, deposits=row.deposits + value)
        return self.get_cash()

    @tool()
    def withdraw_cash(self, amount: Amount) -> Balance:
        """Takes free cash out of the account."""
        value, row = cents(amount), self._account
        self._check_cash(value)
        self.account.update("account", cash=row.cash - value, deposits=row.deposits - value)
        return self.get_cash()

    @tool(read_only=True)
    def list_positions(self, limit: Limit = 5) -> list[PositionShown]:
        """Lists the stocks that the user holds."""
        return [self._position_shown(p) for p in self.positions.where(lambda p: p.shares > 0)[: int(limit)]]

    @tool(read_only=True)
    def get_position(self, stock_id: StockId) -> PositionShown:
        """The user's shares of a stock, how many of them no order holds, their value, and the gain since they were bought."""
        row = self._position(self._stock(stock_id).stock_id)
        if not row.shares:
            raise ToolError("not_found", "the user has no shares of it", "list_positions shows what they have.")
        return self._position_shown(row)

    # -- orders ------------------------------------------------------------------------------------

    @tool()
    def place_market_order(self, stock_id: StockId, side: Side, shares: Shares) -> OrderDone:
        """Trades at once at the best prices there are; what finds no partner is cancelled."""
        stock, pieces = self._tradable(stock_id), int(shares)
        if not self._partners(stock_id, side, None):
            raise ToolError("insufficient", f"nobody trades {stock.name} with it", "Use place_limit_order.")
        return self._place(stock_id, side, pieces, None)

    @tool()
    def place_limit_order(
        self, stock_id: StockId, side: Side, terms: Annotated[LimitTerms, Field(description="How many at which price.")]
    ) -> OrderDone:
        """Trades at a price or a better one; the rest waits in the book, with its cash or shares held."""
        self._tradable(stock_id)
        return self._place(stock_id, side, int(terms["shares"]), cents(terms["price"]))

    @tool(read_only=True)
    def list_trade_orders(
        self,
        status: Annotated[Literal["open", "filled", "cancelled"], Field(description="Only these.")] = "open",
        limit: Limit = 5,
    ) -> list[OrderShown]:
        """Lists the user's orders, open ones if not told otherwise."""
        return [order_shown(o) for o in self.orders.values() if o.own and o.status == status][: int(limit)]

    @tool(read_only=True)
    def find_trade_order(self, stock_id: StockId) -> OrderShown:
        """The user's oldest open order for a stock."""
        self._stock(stock_id)
        rows = self.orders.where(lambda o: o.own and o.status == "open" and o.stock_id == stock_id)
        if not rows:
            raise ToolError("not_found", "there is no open order for it", "list_trade_orders shows open orders.")
        return order_shown(min(rows, key=lambda o: o.age))

    @tool(destructive=True)
    def cancel_trade_order(self, order_id: OrderId) -> OrderDone:
        """Cancels what is left of an open order and frees what it held."""
        row = self._open_order(order_id)
        self._hold(row, -row.left)
        return self._done(self.orders.update(order_id, status="cancelled"))

    @tool()
    def amend_trade_order(
        self,
        order_id: OrderId,
        shares: Annotated[int, Field(ge=1, le=1000, description="How many shares it shall wait for.")],
        price: Annotated[float | None, Field(gt=0, le=1_000_000, description="Another price; the same if not given.")] = None,
    ) -> OrderDone:
        """Changes an open order. With fewer shares it keeps its place; with more, or at another price, it queues anew."""
        row, pieces = self._open_order(order_id), int(shares)
        value = row.price if price is None else cents(price)
        if (pieces, value) == (row.left, row.price):
            raise ToolError("invalid_value", "the order says that already", "Give another number of shares or price.")
        if pieces < row.left and value == row.price:
            self._hold(row, pieces - row.left)
            return self._done(self.orders.update(order_id, shares=row.shares - row.left + pieces, left=pieces))
        self._tradable(row.stock_id)
        self._check_own(row.stock_id, row.side, pieces, value)
        self._check_means(row.stock_id, row.side, pieces, pieces * value, row)
        self._hold(row, -row.left)
        changed = replace(
            row, shares=row.shares - row.left + pieces, left=pieces, price=value, age=self._next_age(row.stock_id)
        )
        return self._match(changed, value)

    @tool(read_only=True)
    def list_fills(self, order_id: OrderId, limit: Limit = 5) -> list[FillShown]:
        """Lists the trades that one of the user's orders led to."""
        order = self._own_order(order_id)
        rows = self.fills.where(lambda f: f.order_id == order.order_id)[: int(limit)]
        return [{"fill_id": f.fill_id, "shares": f.shares, "price": money(f.price)} for f in rows]

    # -- watchlists and alerts ---------------------------------------------------------------------

    @tool(read_only=True)
    def find_watchlist(self, name: KnownName) -> WatchlistShown:
        """Finds a watchlist by its name."""
        return list_shown(named(self.watchlists.values(), name, "watchlist", "list_watchlists"))

    @tool(read_only=True)
    def list_watchlists(self, limit: Limit = 5) -> list[WatchlistShown]:
        """Lists the user's watchlists."""
        return [list_shown(w) for w in self.watchlists.values()][: int(limit)]

    @tool(read_only=True)
    def list_watched_stocks(self, watchlist_id: WatchlistId, limit: Limit = 5) -> list[StockShown]:
        """Lists the stocks on a watchlist."""
        return [stock_shown(self.stocks[s]) for s in self._watchlist(watchlist_id).stocks[: int(limit)]]

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
        """Puts a stock on a watchlist, which holds at most 10."""
        row = self._watchlist(watchlist_id)
        stocks = tuple(sorted({*row.stocks, self._stock(stock_id).stock_id}))
        if len(stocks) > 10:
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
        """Deletes a watchlist; tells how many stocks were on it."""
        row = self._watchlist(watchlist_id)
        self.watchlists.remove(watchlist_id)
        return {"watchlist_id": watchlist_id, "stocks": len(row.stocks)}

    @tool()
    def set_price_alert(self, stock_id: StockId, direction: Direction, price: Amount) -> AlertDone:
        """Asks to be told once a stock trades above or below a price that its last price is not beyond."""
        row, value = self._stock(stock_id), cents(price)
        if beyond(row.last, direction, value):
            raise ToolError("wrong_state", f"the price is {direction} that already", "Give a price that it has not reached.")
        if any((a.stock_id, a.direction, a.price) == (stock_id, direction, value) for a in self.alerts.values()):
            raise ToolError("conflict", "there is such an alert already", "list_price_alerts shows it.")
        key = self.alerts.fresh("alr", stock_id, direction, value)
        self.alerts.put(key, Alert(key, stock_id, direction, value))
        return {"alert_id": key, "reached": False}

    @tool(read_only=True)
    def list_price_alerts(self, limit: Limit = 5) -> list[AlertShown]:
        """Lists price alerts and whether their price was reached."""
        return [alert_shown(a) for a in self.alerts.values()][: int(limit)]

    @tool(read_only=True)
    def find_price_alert(self, stock_id: StockId) -> AlertShown:
        """The first price alert for a stock."""
        self._stock(stock_id)
        for row in self.alerts.values():
            if row.stock_id == stock_id:
                return alert_shown(row)
        raise ToolError("not_found", "there is no alert for it", "list_price_alerts shows all.")

    @tool(destructive=True)
    def remove_price_alert(self, alert_id: AlertId) -> AlertDone:
        """Removes a price alert; tells whether its price was reached."""
        row = existing(self.alerts, alert_id, "price alert", "list_price_alerts")
        self.alerts.remove(alert_id)
        return {"alert_id": alert_id, "reached": row.reached}
