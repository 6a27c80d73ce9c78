"""The trading server: price and age decide, holds cover what waits, cash and shares move by fills alone."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.servers.session import Session
from tasks.servers.trading import Trading
from tasks.servers.world import World
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import machine, world


def check(session: Session) -> None:
    """Cash follows from fills, shares from fills and the seed, holds from open orders; the book is never crossed by others."""
    market: Any = state_of(session, Trading)
    if market is None:
        return
    account = market.account["account"]
    bought = sum(f.shares * f.price * (1 if f.side == "buy" else -1) for f in market.fills.values())
    assert account.cash == account.opening + account.deposits - bought
    own = [o for o in market.orders.values() if o.own and o.status == "open"]
    assert account.held == sum(o.left * o.price for o in own if o.side == "buy")
    assert 0 <= account.held <= account.cash
    seeded = Trading.seed(World(session.seed, "trading"))["positions"]
    for stock in market.stocks:
        row = market._position(stock)
        start = seeded[stock].shares if stock in seeded else 0
        moved = sum(f.shares * (1 if f.side == "buy" else -1) for f in market.fills.values() if f.stock_id == stock)
        assert row.shares == start + moved
        assert row.held == sum(o.left for o in own if o.side == "sell" and o.stock_id == stock)
        assert 0 <= row.held <= row.shares and row.cost >= 0
        bids, asks = market._book(stock, "buy"), market._book(stock, "sell")
        assert not bids or not asks or bids[0].price < asks[0].price or market.stocks[stock].halted
    for order in market.orders.values():
        assert 0 <= order.left <= order.shares
        assert (order.status == "filled") == (order.left == 0)
        filled = sum(f.shares for f in market.fills.values() if f.order_id == order.order_id)
        assert not order.own or filled == order.shares - order.left


TestTrading = machine(Trading, check)


def test_the_definition() -> None:
    check_server(Trading, tools=13)
    check_seeding(Trading)


@pytest.fixture
def session() -> Any:
    with world(Trading).session(7) as opened:
        ok(opened, "get_cash")
        yield opened


def tradable(session: Session) -> str:
    """A stock without an own order."""
    market: Any = state_of(session, Trading)
    busy = {o.stock_id for o in market.orders.values() if o.own}
    return next(s.stock_id for s in market.stocks.values() if not s.halted and s.stock_id not in busy)


def test_a_market_order_takes_the_best_prices_first(session: Session) -> None:
    stock = tradable(session)
    levels = ok(session, "get_order_book", stock_id=stock, side="sell")
    ok(session, "deposit_cash", amount=100_000)
    cash = ok(session, "get_cash")["cash"]
    count = levels[0]["shares"] + 1
    done = ok(session, "place_market_order", stock_id=stock, side="buy", shares=count)
    paid = levels[0]["shares"] * levels[0]["price"] + levels[1]["price"]
    assert done["paid"] == pytest.approx(paid) and done["status"] == "filled"
    assert ok(session, "get_cash")["cash"] == pytest.approx(cash - paid)
    assert [f["shares"] for f in ok(session, "list_fills", order_id=done["order_id"])] == [levels[0]["shares"], 1]
    assert ok(session, "get_quote", stock_id=stock)["last"] == levels[1]["price"]
    everything = ok(session, "place_market_order", stock_id=stock, side="buy", shares=1000)
    assert everything["status"] == "cancelled" and everything["left"] > 0
    refused(session, "insufficient", "place_market_order", stock_id=stock, side="buy", shares=1)


def test_a_limit_order_waits_with_its_cash_held(session: Session) -> None:
    stock = tradable(session)
    quote = ok(session, "get_quote", stock_id=stock)
    free = ok(session, "get_cash")["free"]
    price = round(quote["bid"] - 0.01, 2)
    done = ok(session, "place_limit_order", stock_id=stock, side="buy", terms={"shares": 3, "price": price})
    assert (done["status"], done["filled"]) == ("open", 0)
    assert ok(session, "get_cash")["free"] == pytest.approx(free - 3 * price)
    refused(session, "conflict", "place_limit_order", stock_id=stock, side="sell", terms={"shares": 1, "price": 1})
    refused(session, "invalid_value", "amend_trade_order", order_id=done["order_id"], shares=3)
    assert ok(session, "amend_trade_order", order_id=done["order_id"], shares=1)["left"] == 1
    assert ok(session, "get_cash")["free"] == pytest.approx(free - price)
    ok(session, "cancel_trade_order", order_id=done["order_id"])
    assert ok(session, "get_cash")["free"] == pytest.approx(free)
    refused(session, "wrong_state", "cancel_trade_order", order_id=done["order_id"])


def test_a_limit_order_that_crosses_is_filled_at_the_resting_price(session: Session) -> None:
    stock = tradable(session)
    quote = ok(session, "get_quote", stock_id=stock)
    done = ok(
        session, "place_limit_order", stock_id=stock, side="buy", terms={"shares": 1, "price": round(quote["ask"] + 1, 2)}
    )
    assert done["status"] == "filled" and done["paid"] == quote["ask"]


def test_shares_on_sale_cannot_be_sold_twice(session: Session) -> None:
    market: Any = state_of(session, Trading)
    row = next(p for p in market.positions.values() if not market.stocks[p.stock_id].halted and not p.held)
    if any(o.own and o.stock_id == row.stock_id for o in market.orders.values()):
        ok(session, "cancel_trade_order", order_id=ok(session, "find_trade_order", stock_id=row.stock_id)["order_id"])
    high = market.stocks[row.stock_id].last / 50
    ok(session, "place_limit_order", stock_id=row.stock_id, side="sell", terms={"shares": row.shares, "price": high})
    refused(session, "insufficient", "place_market_order", stock_id=row.stock_id, side="sell", shares=1)
    assert ok(session, "get_position", stock_id=row.stock_id)["free"] == 0


def test_a_halted_stock_and_strangers_orders_are_left_alone(session: Session) -> None:
    market: Any = state_of(session, Trading)
    halted = next(s.stock_id for s in market.stocks.values() if s.halted)
    refused(session, "wrong_state", "place_market_order", stock_id=halted, side="buy", shares=1)
    foreign = next(o.order_id for o in market.orders.values() if not o.own)
    refused(session, "denied", "cancel_trade_order", order_id=foreign)
    refused(session, "insufficient", "withdraw_cash", amount=ok(session, "get_cash")["free"] + 0.01)


def test_alerts_tell_when_their_price_is_reached(session: Session) -> None:
    stock = tradable(session)
    ask = ok(session, "get_quote", stock_id=stock)["ask"]
    refused(session, "wrong_state", "set_price_alert", stock_id=stock, direction="above", price=0.5)
    made = ok(session, "set_price_alert", stock_id=stock, direction="above", price=round(ask - 0.01, 2))
    assert not made["reached"]
    ok(session, "place_market_order", stock_id=stock, side="buy", shares=1)
    assert {a["alert_id"]: a["reached"] for a in ok(session, "list_price_alerts")}[made["alert_id"]]


def test_watchlists(session: Session) -> None:
    stock = tradable(session)
    made = ok(session, "create_watchlist", name="Late night", stock_ids=[stock, stock])
    assert made["stocks"] == 1
    refused(session, "conflict", "create_watchlist", name="late night", stock_ids=[])
    ok(session, "unwatch_stock", watchlist_id=made["watchlist_id"], stock_id=stock)
    refused(session, "not_found", "unwatch_stock", watchlist_id=made["watchlist_id"], stock_id=stock)
    ok(session, "delete_watchlist", watchlist_id=made["watchlist_id"])
    refused(session, "not_found", "list_watched_stocks", watchlist_id=made["watchlist_id"])
