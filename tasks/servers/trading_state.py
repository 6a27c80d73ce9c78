"""What the trading server's tools share: checks, the order book, matching, holds, and what is shown of rows.

Run: nothing here runs by itself; `tasks.servers.trading` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.servers.lookup import existing
from tasks.servers.state import Table
from tasks.servers.tool import ToolError
from tasks.servers.trading_types import (
    Account,
    Alert,
    AlertShown,
    Fill,
    OneSide,
    Order,
    OrderDone,
    OrderShown,
    OrderStatus,
    Position,
    PositionShown,
    Stock,
    StockShown,
    Watchlist,
    WatchlistShown,
)
from tasks.servers.typed import money

BAND = 20
"""A fill off the day's first price by one part in BAND or more halts the stock."""


class Market:
    """The tables of the user's account and the market, and the steps that tools are made of."""

    account: Table[Account]
    stocks: Table[Stock]
    positions: Table[Position]
    orders: Table[Order]
    fills: Table[Fill]
    watchlists: Table[Watchlist]
    alerts: Table[Alert]

    # -- rows and checks ---------------------------------------------------------------------------

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

    def _own_order(self, order_id: str) -> Order:
        row = existing(self.orders, order_id, "order", "list_trade_orders")
        if not row.own:
            raise ToolError("denied", f"{order_id} is somebody else's order", "list_trade_orders shows the user's.")
        return row

    def _open_order(self, order_id: str) -> Order:
        row = self._own_order(order_id)
        if row.status != "open":
            raise ToolError("wrong_state", f"{order_id} is {row.status}", "Only open orders can be changed.")
        return row

    def _check_cash(self, value: int, freed: int = 0) -> None:
        free = self._account.cash - self._account.held + freed
        if value > free:
            raise ToolError("insufficient", f"it takes {money(value)}, {money(free)} is free", "Use deposit_cash, or less.")

    def _check_means(self, stock_id: str, side: str, pieces: int, value: int, freed: Order | None = None) -> None:
        """Refuses what free cash (to buy for `value`) or free shares do not cover, with what `freed` holds counted in."""
        left = freed.left if freed else 0
        if side == "buy":
            self._check_cash(value, left * freed.price if freed else 0)
            return
        row = self._position(stock_id)
        if pieces > row.shares - row.held + left:
            raise ToolError("insufficient", f"{row.shares - row.held + left} shares are free", "Sell fewer shares.")

    # -- matching ----------------------------------------------------------------------------------

    def _book(self, stock_id: str, side: str) -> list[Order]:
        """The open orders of one side, the first to trade first."""
        rows = self.orders.where(lambda o: o.stock_id == stock_id and o.side == side and o.status == "open")
        return sorted(rows, key=lambda o: (o.price if side == "sell" else -o.price, o.age))

    def _partners(self, stock_id: str, side: str, price: int | None) -> list[Order]:
        """The orders that one of this side, at this price or any, trades with, in order."""
        if side == "buy":
            return [o for o in self._book(stock_id, "sell") if price is None or o.price <= price]
        return [o for o in self._book(stock_id, "buy") if price is None or o.price >= price]

    def _check_own(self, stock_id: str, side: str, pieces: int, price: int | None) -> int:
        """What the partners of an order take in cents. Refuses one that would come to an order of the user's own."""
        total = 0
        for other in self._partners(stock_id, side, price):
            if not pieces:
                break
            if other.own:
                raise ToolError("conflict", f"it would trade with the user's {other.order_id}", "Use cancel_trade_order first.")
            count = min(pieces, other.left)
            total, pieces = total + count * other.price, pieces - count
        return total

    def _next_age(self, stock_id: str) -> int:
        return 1 + max((o.age for o in self.orders.values() if o.stock_id == stock_id), default=0)

    def _place(self, stock_id: str, side: OneSide, pieces: int, price: int | None) -> OrderDone:
        cost = self._check_own(stock_id, side, pieces, price)
        self._check_means(stock_id, side, pieces, cost if price is None else pieces * price)
        age = self._next_age(stock_id)
        key = self.orders.fresh("tord", stock_id, side, pieces, price, age)
        return self._match(Order(key, stock_id, side, pieces, pieces, price or 0, age, True), price)

    def _match(self, order: Order, price: int | None) -> OrderDone:
        """Fills an order that holds nothing, and lets the rest wait when it has a price. All checks are done."""
        left, last = order.left, order.price
        for other in self._partners(order.stock_id, order.side, price):
            if not left or self.stocks[order.stock_id].halted:
                break
            count, last = min(left, other.left), other.price
            left -= count
            self._fill(order, count, last)
            self.orders.update(other.order_id, left=other.left - count, status="filled" if count == other.left else "open")
        status: OrderStatus = "filled" if not left else "open" if price else "cancelled"
        row = self.orders.put(order.order_id, replace(order, left=left, price=price or last, status=status))
        if status == "open":
            self._hold(row, left)
        return self._done(row)

    def _fill(self, order: Order, count: int, price: int) -> None:
        """Moves cash and shares, and the price: alerts notice, and beyond the band the stock is halted."""
        account, row, sign = self._account, self._position(order.stock_id), 1 if order.side == "buy" else -1
        self.account.update("account", cash=account.cash - sign * count * price)
        cost = count * price if order.side == "buy" else -(row.cost * count // row.shares)
        self.positions.put(row.stock_id, Position(row.stock_id, row.shares + sign * count, row.held, row.cost + cost))
        stock = self.stocks[order.stock_id]
        self.stocks.update(stock.stock_id, last=price, halted=abs(price - stock.opened) * BAND >= stock.opened)
        for alert in self.alerts.where(lambda a: a.stock_id == stock.stock_id and beyond(price, a.direction, a.price)):
            self.alerts.update(alert.alert_id, reached=True)
        earlier = sum(f.order_id == order.order_id for f in self.fills.values())
        key = self.fills.fresh("fil", order.order_id, earlier)
        self.fills.put(key, Fill(key, order.order_id, stock.stock_id, order.side, count, price))

    def _hold(self, row: Order, count: int) -> None:
        """Holds what `count` shares of an order need; frees it when negative."""
        if row.side == "buy":
            self.account.update("account", held=self._account.held + count * row.price)
        else:
            self.positions.update(row.stock_id, held=self._position(row.stock_id).held + count)

    # -- results -----------------------------------------------------------------------------------

    def _done(self, row: Order) -> OrderDone:
        total = sum(f.shares * f.price for f in self.fills.values() if f.order_id == row.order_id)
        filled = row.shares - row.left
        return {"order_id": row.order_id, "status": row.status, "filled": filled, "left": row.left, "total": money(total)}

    def _position_shown(self, row: Position) -> PositionShown:
        worth = row.shares * self.stocks[row.stock_id].last
        return {
            "stock_id": row.stock_id,
            "shares": row.shares,
            "free": row.shares - row.held,
            "value": money(worth),
            "gain": money(worth - row.cost),
        }


def beyond(last: int, direction: str, price: int) -> bool:
    return last > price if direction == "above" else last < price


def stock_shown(row: Stock) -> StockShown:
    return {"stock_id": row.stock_id, "name": row.name, "symbol": row.symbol, "sector": row.sector, "price": money(row.last)}


def order_shown(row: Order) -> OrderShown:
    return {
        "order_id": row.order_id,
        "stock_id": row.stock_id,
        "side": row.side,
        "left": row.left,
        "price": money(row.price),
        "status": row.status,
    }


def list_shown(row: Watchlist) -> WatchlistShown:
    return {"watchlist_id": row.watchlist_id, "name": row.name, "stocks": len(row.stocks)}


def alert_shown(row: Alert) -> AlertShown:
    return {
        "alert_id": row.alert_id,
        "stock_id": row.stock_id,
        "direction": row.direction,
        "price": money(row.price),
        "reached": row.reached,
    }
