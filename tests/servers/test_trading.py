"""The trading server: price and age decide, holds cover what waits, cash and shares move by fills alone."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.servers.session import Session
from tasks.servers.trading import Trading
from tasks.servers.trading_state import BAND
from tasks.servers.world import HELD_OUT_FROM, World
from tests.servers.driver import Driver, check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import live_of, machine, world


def check(session: Session) -> None:
    """Cash and shares follow from the seed and the fills since, holds from open orders; no book is crossed while it trades."""
    market: Any = state_of(session, Trading)
    if market is None:
        return
    seeded: Any = Trading.seed(World(session.seed, "trading"))
    account = market.account["account"]
    fills = [f for f in market.fills.values() if f.fill_id not in seeded["fills"]]
    bought = sum(f.shares * f.price * (1 if f.side == "buy" else -1) for f in fills)
    assert account.cash == seeded["account"]["account"].cash + account.deposits - bought
    own = [o for o in market.orders.values() if o.own and o.status == "open"]
    assert account.held == sum(o.left * o.price for o in own if o.side == "buy")
    assert 0 <= account.held <= account.cash
    for stock in market.stocks.values():
        row = market._position(stock.stock_id)
        start = seeded["positions"][stock.stock_id].shares if stock.stock_id in seeded["positions"] else 0
        moved = sum(f.shares * (1 if f.side == "buy" else -1) for f in fills if f.stock_id == stock.stock_id)
        assert row.shares == start + moved
        assert row.held == sum(o.left for o in own if o.side == "sell" and o.stock_id == stock.stock_id)
        assert 0 <= row.held <= row.shares and row.cost >= 0 and (row.shares or not row.cost)
        bids, asks = market._book(stock.stock_id, "buy"), market._book(stock.stock_id, "sell")
        assert not bids or not asks or bids[0].price < asks[0].price or stock.halted
        assert stock.halted or abs(stock.last - stock.opened) * BAND < stock.opened
        assert len({o.age for o in market.orders.values() if o.stock_id == stock.stock_id}) == sum(
            o.stock_id == stock.stock_id for o in market.orders.values()
        )
    traded = sum(f.shares for f in fills)
    strangers = [o for o in market.orders.values() if not o.own]
    assert traded == sum(seeded["orders"][o.order_id].left - o.left for o in strangers), "every share has another side"
    for order in market.orders.values():
        assert 0 <= order.left <= order.shares
        assert (order.status == "filled") == (order.left == 0)
        filled = sum(f.shares for f in market.fills.values() if f.order_id == order.order_id)
        assert filled == (order.shares - order.left if order.own else 0)
    for row in market.watchlists.values():
        assert len(set(row.stocks)) == len(row.stocks) <= 10 and all(s in market.stocks for s in row.stocks)
    assert all(a.stock_id in market.stocks for a in market.alerts.values())


TestTrading = machine(Trading, check, examples=15, steps=40)


def trade(driver: Driver, rng: random.Random) -> None:
    """One order near the price of some stock, or a change to one of the user's; checked."""
    market: Any = state_of(driver.session, Trading)
    open_ones = [o for o in market.orders.values() if o.own and o.status == "open"]
    if open_ones and rng.random() < 0.4:
        order = rng.choice(open_ones)
        if rng.random() < 0.3:
            driver.call("cancel_trade_order", {"order_id": order.order_id})
            return
        arguments: dict[str, Any] = {"order_id": order.order_id, "shares": rng.randint(1, order.left + 10)}
        if rng.random() < 0.5:
            arguments["price"] = order.price / 100 + rng.randint(-30, 30) / 100
        driver.call("amend_trade_order", arguments)
        return
    stock = rng.choice(list(market.stocks.values())[:4])
    arguments = {"stock_id": stock.stock_id, "side": rng.choice(("buy", "buy", "sell"))}
    shares = rng.choice((1, 5, 20, 60))
    if rng.random() < 0.4:
        driver.call("place_market_order", {**arguments, "shares": shares})
    else:
        price = round(stock.last * rng.uniform(0.96, 1.04)) / 100
        driver.call("place_limit_order", {**arguments, "terms": {"shares": shares, "price": price}})


@given(seed=st.integers(0, 2**20))
@settings(max_examples=12, deadline=None)
def test_random_orders_near_the_price(seed: int) -> None:
    rng = random.Random(seed)
    with world(Trading).session(3) as opened:
        driver = Driver(opened, rng, live_of(Trading, 3))
        driver.call("deposit_cash", {"amount": 20_000})
        for _ in range(40):
            trade(driver, rng)
            try:
                check(opened)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{driver.story()}") from error
        assert sum(r.ok for _, _, r in driver.log) >= 10
        final = opened.digest()
    with world(Trading).session(3) as again:
        for name, arguments, result in driver.log:
            assert again.call(name, arguments) == result
        assert again.digest() == final


def test_the_definition() -> None:
    check_server(Trading, tools=13)
    check_seeding(Trading)


@pytest.mark.parametrize("seed", [*range(12), *range(HELD_OUT_FROM, HELD_OUT_FROM + 4)])
def test_every_world_starts_in_order(seed: int) -> None:
    with world(Trading).session(seed) as opened:
        ok(opened, "get_cash")
        check(opened)
        market: Any = state_of(opened, Trading)
        assert len(market.stocks) == 12 and sum(s.halted for s in market.stocks.values()) == 1
        assert len(ok(opened, "list_trade_orders")) >= 4
        (row, *_) = ok(opened, "list_trade_orders", status="filled")
        position = ok(opened, "get_position", stock_id=row["stock_id"])
        assert sum(f["shares"] for f in ok(opened, "list_fills", order_id=row["order_id"])) == position["shares"]
        assert position["gain"] <= position["value"]


def test_what_is_shown_leads_to_every_kind() -> None:
    live = live_of(Trading, 7)
    assert {kind: len(found) for kind, found in live.entities.items()}.items() >= {
        "stock": 12,
        "watchlist": 4,
        "price_alert": 5,
    }.items()
    assert len(live.entities["trade_order"]) == 5


@pytest.fixture
def session() -> Any:
    with world(Trading).session(7) as opened:
        ok(opened, "get_cash")
        yield opened


def tradable(session: Session) -> str:
    """A stock that trades and without an open order of the user's."""
    market: Any = state_of(session, Trading)
    busy = {o.stock_id for o in market.orders.values() if o.own and o.status == "open"}
    return next(s.stock_id for s in market.stocks.values() if not s.halted and s.stock_id not in busy)


def test_a_market_order_takes_the_best_prices_first(session: Session) -> None:
    stock = tradable(session)
    levels = ok(session, "get_order_book", stock_id=stock, side="sell")
    assert [level["price"] for level in levels] == sorted(level["price"] for level in levels)
    ok(session, "deposit_cash", amount=100_000)
    cash = ok(session, "get_cash")["cash"]
    done = ok(session, "place_market_order", stock_id=stock, side="buy", shares=levels[0]["shares"] + 1)
    paid = levels[0]["shares"] * levels[0]["price"] + levels[1]["price"]
    assert done["total"] == pytest.approx(paid) and done["status"] == "filled"
    assert ok(session, "get_cash")["cash"] == pytest.approx(cash - paid)
    assert [f["shares"] for f in ok(session, "list_fills", order_id=done["order_id"])] == [levels[0]["shares"], 1]
    quote = ok(session, "get_quote", stock_id=stock)
    assert quote["last"] == quote["ask"] == levels[1]["price"]
    assert ok(session, "get_order_book", stock_id=stock, side="sell")[0]["shares"] == levels[1]["shares"] - 1


def test_a_market_order_that_moves_the_price_too_far_halts_the_stock(session: Session) -> None:
    stock = tradable(session)
    ok(session, "deposit_cash", amount=1_000_000)
    done = ok(session, "place_market_order", stock_id=stock, side="buy", shares=1000)
    assert done["status"] == "cancelled" and done["left"] == 1000 - done["filled"] > 0
    quote = ok(session, "get_quote", stock_id=stock)
    market: Any = state_of(session, Trading)
    assert quote["halted"] and quote["last"] * 100 >= market.stocks[stock].opened * 1.05
    refused(session, "wrong_state", "place_market_order", stock_id=stock, side="sell", shares=1)
    refused(session, "wrong_state", "place_limit_order", stock_id=stock, side="buy", terms={"shares": 1, "price": 1})
    assert not ok(session, "list_trade_orders", status="cancelled")[0]["price"] < quote["last"]


def test_cash_must_cover_a_buy(session: Session) -> None:
    stock, free = tradable(session), ok(session, "get_cash")["free"]
    ok(session, "withdraw_cash", amount=round(free - 1, 2))
    assert "it takes" in refused(session, "insufficient", "place_market_order", stock_id=stock, side="buy", shares=1)
    refused(session, "insufficient", "place_limit_order", stock_id=stock, side="buy", terms={"shares": 1, "price": 1.01})
    ok(session, "place_limit_order", stock_id=stock, side="buy", terms={"shares": 1, "price": 1})
    refused(session, "insufficient", "withdraw_cash", amount=0.01)


def test_a_limit_order_waits_with_its_cash_held(session: Session) -> None:
    stock = tradable(session)
    quote = ok(session, "get_quote", stock_id=stock)
    free = ok(session, "get_cash")["free"]
    price = round(quote["bid"] - 0.01, 2)
    done = ok(session, "place_limit_order", stock_id=stock, side="buy", terms={"shares": 3, "price": price})
    assert (done["status"], done["filled"]) == ("open", 0)
    assert ok(session, "get_cash")["free"] == pytest.approx(free - 3 * price)
    assert ok(session, "find_trade_order", stock_id=stock)["order_id"] == done["order_id"]
    ok(session, "cancel_trade_order", order_id=done["order_id"])
    assert ok(session, "get_cash")["free"] == pytest.approx(free)
    refused(session, "wrong_state", "cancel_trade_order", order_id=done["order_id"])
    refused(session, "not_found", "find_trade_order", stock_id=stock)


def test_a_limit_order_fills_in_part_at_the_resting_price_and_the_rest_waits(session: Session) -> None:
    stock = tradable(session)
    best, second, *_ = ok(session, "get_order_book", stock_id=stock, side="sell")
    ok(session, "deposit_cash", amount=100_000)
    free = ok(session, "get_cash")["free"]
    price = round(second["price"] - 0.01, 2)
    done = ok(session, "place_limit_order", stock_id=stock, side="buy", terms={"shares": best["shares"] + 4, "price": price})
    assert (done["status"], done["filled"], done["left"]) == ("open", best["shares"], 4)
    assert done["total"] == pytest.approx(best["shares"] * best["price"])
    assert ok(session, "get_cash")["free"] == pytest.approx(free - done["total"] - 4 * price)
    assert ok(session, "get_quote", stock_id=stock)["bid"] == price


def test_nobody_trades_with_themselves(session: Session) -> None:
    stock = tradable(session)
    quote = ok(session, "get_quote", stock_id=stock)
    ok(session, "deposit_cash", amount=100_000)
    ok(session, "place_market_order", stock_id=stock, side="buy", shares=2)
    price = round(quote["bid"] + 0.01, 2)
    mine = ok(session, "place_limit_order", stock_id=stock, side="sell", terms={"shares": 2, "price": price})
    assert ok(session, "get_quote", stock_id=stock)["ask"] == price
    for tool, arguments in (
        ("place_market_order", {"shares": 1}),
        ("place_limit_order", {"terms": {"shares": 1, "price": price}}),
    ):
        assert mine["order_id"] in refused(session, "conflict", tool, stock_id=stock, side="buy", **arguments)
    below = {"shares": 1, "price": round(price - 0.02, 2)}
    bid = ok(session, "place_limit_order", stock_id=stock, side="buy", terms=below)["order_id"]
    refused(session, "conflict", "amend_trade_order", order_id=bid, shares=1, price=price)
    ok(session, "cancel_trade_order", order_id=mine["order_id"])
    assert ok(session, "amend_trade_order", order_id=bid, shares=1, price=price)["status"] == "open"


def test_fewer_shares_keep_the_place_and_another_price_queues_anew(session: Session) -> None:
    stock, market = tradable(session), state_of(session, Trading)
    price = round(ok(session, "get_quote", stock_id=stock)["bid"] + 0.01, 2)
    ok(session, "deposit_cash", amount=100_000)
    free = ok(session, "get_cash")["free"]
    first, second = (
        ok(session, "place_limit_order", stock_id=stock, side="buy", terms={"shares": n, "price": price})["order_id"]
        for n in (3, 5)
    )

    def queue() -> list[str]:
        return [o.order_id for o in market._book(stock, "buy")[:2]]

    assert queue() == [first, second]
    assert ok(session, "amend_trade_order", order_id=first, shares=2)["left"] == 2
    assert queue() == [first, second]
    refused(session, "invalid_value", "amend_trade_order", order_id=first, shares=2, price=price)
    assert ok(session, "amend_trade_order", order_id=first, shares=4)["left"] == 4
    assert queue() == [second, first]
    assert ok(session, "get_cash")["free"] == pytest.approx(free - 9 * price)
    ask = ok(session, "get_quote", stock_id=stock)["ask"]
    done = ok(session, "amend_trade_order", order_id=second, shares=1, price=round(ask + 1, 2))
    assert (done["status"], done["total"]) == ("filled", ask)
    assert ok(session, "get_cash")["free"] == pytest.approx(free - 4 * price - ask)
    refused(session, "insufficient", "amend_trade_order", order_id=first, shares=1000, price=ask * 1000)


def test_shares_on_sale_cannot_be_sold_twice(session: Session) -> None:
    market: Any = state_of(session, Trading)
    row = next(p for p in market.positions.values() if not market.stocks[p.stock_id].halted and not p.held)
    high = market.stocks[row.stock_id].last / 50
    ok(session, "place_limit_order", stock_id=row.stock_id, side="sell", terms={"shares": row.shares, "price": high})
    refused(session, "insufficient", "place_market_order", stock_id=row.stock_id, side="sell", shares=1)
    assert ok(session, "get_position", stock_id=row.stock_id)["free"] == 0


def test_selling_everything_empties_the_position(session: Session) -> None:
    stock = tradable(session)
    market: Any = state_of(session, Trading)
    count = market._position(stock).shares
    ok(session, "deposit_cash", amount=10_000)
    ok(session, "place_market_order", stock_id=stock, side="buy", shares=1)
    value = ok(session, "get_position", stock_id=stock)["value"]
    assert value == pytest.approx((count + 1) * ok(session, "get_quote", stock_id=stock)["last"])
    cash = ok(session, "get_cash")["cash"]
    bids = ok(session, "get_order_book", stock_id=stock, side="buy")
    done = ok(session, "place_market_order", stock_id=stock, side="sell", shares=min(count + 1, bids[0]["shares"]))
    assert ok(session, "get_cash")["cash"] == pytest.approx(cash + done["total"])
    if done["filled"] == count + 1:
        refused(session, "not_found", "get_position", stock_id=stock)


def test_a_halted_stock_and_strangers_orders_are_left_alone(session: Session) -> None:
    market: Any = state_of(session, Trading)
    halted = next(s.stock_id for s in market.stocks.values() if s.halted)
    refused(session, "wrong_state", "place_market_order", stock_id=halted, side="buy", shares=1)
    foreign = next(o.order_id for o in market.orders.values() if not o.own)
    refused(session, "denied", "cancel_trade_order", order_id=foreign)
    refused(session, "denied", "amend_trade_order", order_id=foreign, shares=1)
    refused(session, "denied", "list_fills", order_id=foreign)


def test_orders_for_different_stocks_may_come_in_any_order(session: Session) -> None:
    market: Any = state_of(session, Trading)
    one, two = [s.stock_id for s in market.stocks.values() if not s.halted][:2]
    digests = []
    for order in ((one, two), (two, one)):
        with world(Trading).session(7) as other:
            ok(other, "deposit_cash", amount=100_000)
            for stock in order:
                ok(other, "place_limit_order", stock_id=stock, side="buy", terms={"shares": 1, "price": 1})
            digests.append(other.digest())
    assert digests[0] == digests[1]


def test_alerts_notice_when_their_price_is_passed_and_stay(session: Session) -> None:
    stock = tradable(session)
    quote = ok(session, "get_quote", stock_id=stock)
    refused(session, "wrong_state", "set_price_alert", stock_id=stock, direction="above", price=0.5)
    for row in ok(session, "list_price_alerts"):
        ok(session, "remove_price_alert", alert_id=row["alert_id"])
    price = round(quote["ask"] - 0.01, 2)
    made = ok(session, "set_price_alert", stock_id=stock, direction="above", price=price)
    refused(session, "conflict", "set_price_alert", stock_id=stock, direction="above", price=price)
    assert ok(session, "find_price_alert", stock_id=stock) == {
        "alert_id": made["alert_id"],
        "stock_id": stock,
        "direction": "above",
        "price": price,
        "reached": False,
    }
    ok(session, "place_market_order", stock_id=stock, side="buy", shares=1)
    assert ok(session, "find_price_alert", stock_id=stock)["reached"]
    ok(session, "place_market_order", stock_id=stock, side="sell", shares=1)
    assert ok(session, "get_quote", stock_id=stock)["last"] < price
    assert ok(session, "remove_price_alert", alert_id=made["alert_id"])["reached"]
    refused(session, "not_found", "find_price_alert", stock_id=stock)


def test_a_stock_is_found_by_name_and_by_symbol(session: Session) -> None:
    row = ok(session, "list_stocks")[2]
    assert ok(session, "find_stock", name=row["name"].upper()) == ok(session, "find_stock", name=row["symbol"].lower()) == row
    refused(session, "not_found", "find_stock", name=row["name"][:-1] + "zz")
    assert {s["sector"] for s in ok(session, "list_stocks", sector=row["sector"])} == {row["sector"]}


def test_watchlists(session: Session) -> None:
    stocks = [s["stock_id"] for s in ok(session, "list_stocks", limit=12)]
    made = ok(session, "create_watchlist", name="Late night", stock_ids=[stocks[0], stocks[0]])
    assert made["stocks"] == 1
    refused(session, "conflict", "create_watchlist", name="late night", stock_ids=[])
    key = made["watchlist_id"]
    for stock in stocks[:10]:
        ok(session, "watch_stock", watchlist_id=key, stock_id=stock)
    refused(session, "insufficient", "watch_stock", watchlist_id=key, stock_id=stocks[10])
    assert ok(session, "watch_stock", watchlist_id=key, stock_id=stocks[0])["stocks"] == 10
    assert len(ok(session, "list_watched_stocks", watchlist_id=key)) == 5
    ok(session, "unwatch_stock", watchlist_id=key, stock_id=stocks[0])
    refused(session, "not_found", "unwatch_stock", watchlist_id=key, stock_id=stocks[0])
    ok(session, "delete_watchlist", watchlist_id=key)
    refused(session, "not_found", "list_watched_stocks", watchlist_id=key)
    refused(session, "not_found", "find_watchlist", name="Late night")
