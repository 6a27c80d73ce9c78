"""The trading server's seeded market: stocks with a book of other people's orders, and the user's account in it.

Left out: rows without a history; every position was bought by an order whose fills are listed.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.servers.state import Seed
from tasks.servers.trading_types import Account, Alert, Fill, OneSide, Order, Position, Sector, Stock, Watchlist
from tasks.servers.world import World, words

COMPANIES = words(
    """Aldercore Brightwell Cindertech Dunmore Elmstone Fennwick Glenhart Holloway Ironbark Juniperus Kelvaris Lumenta Marlowe
    Northvale Oakhurst Penrose Quillon Ravenna Silverline Thornhill Umbrion Verdant Wexford Xanthe Yarrow Zephyrus Ashmont
    Blackwood Corvus Driftwood Everglen Foxmoor Greystone Harrowgate Inverness Jadestone Kingsley Larkspur Meridia Novalis
    Orrinco Palisade Questra Redfern Stellara Tidewater Ulmaris Vantage Windrose Yellowtail Zircona Amberlynn Basalt Calypsor
    Deltaform Epsilon Fairmont Gravita Hyperion Isotherm"""
)
LISTS = words(
    """Favorites Dividends Growth Ideas Retirement Tech Green Bargains Research Safe Risky Longterm Family Weekend Swing Radar
    Candidates Exits Income Core Satellite Momentum Value Smallcaps Exporters Turnaround Defensive Cyclical Speculative
    Shortlist Giants Pioneers Recovery Watchdogs Contrarian Homegrown Newcomers Steady"""
)
SECTORS: tuple[Sector, ...] = ("energy", "health", "tech", "retail", "transport")
SIDES: tuple[tuple[OneSide, int], ...] = (("buy", -1), ("sell", 1))
LEVELS = 6
"""Price levels of other people's orders on each side of a book; the outer ones lie beyond the band of prices."""


def seeded(world: World) -> Seed:
    """The tables of a fresh market."""
    stocks = _stocks(world)
    numbers = iter(world.ids("tord", 300))
    ages = dict.fromkeys(stocks, 0)

    def age(stock_id: str) -> int:
        ages[stock_id] += 1
        return ages[stock_id]

    orders: dict[str, Order] = {}
    for row in stocks.values():
        for side, sign in SIDES:
            for step in range(1, LEVELS + 1):
                key, shares = next(numbers), world.rng.randint(2, 25)
                price = row.last + sign * step * max(5, row.last // 100)
                orders[key] = Order(key, row.stock_id, side, shares, shares, price, age(row.stock_id), False)

    # What the user has, bought by orders of earlier days.
    positions: dict[str, Position] = {}
    fills: dict[str, Fill] = {}
    trades = iter(world.ids("fil", 20))
    owned = world.rng.sample(sorted(stocks), 5)
    for stock_id in owned:
        key, bought, last = next(numbers), 0, stocks[stock_id].last
        cost = 0
        for _ in range(world.rng.randint(1, 3)):
            fill, shares = next(trades), world.rng.randint(3, 15)
            price = last * world.rng.randint(70, 120) // 100
            fills[fill] = Fill(fill, key, stock_id, "buy", shares, price)
            bought, cost = bought + shares, cost + shares * price
        orders[key] = Order(key, stock_id, "buy", bought, 0, last * 12 // 10, age(stock_id), True, "filled")
        positions[stock_id] = Position(stock_id, bought, 0, cost)

    # What waits in the book for the user.
    held = 0
    for stock_id in world.rng.sample([s for s in sorted(stocks) if s not in owned and not stocks[s].halted], 3):
        key, shares, price = next(numbers), world.rng.randint(2, 6), stocks[stock_id].last * world.rng.randint(75, 90) // 100
        orders[key] = Order(key, stock_id, "buy", shares, shares, price, age(stock_id), True)
        held += shares * price
    for stock_id in [s for s in owned if not stocks[s].halted][:2]:
        key, shares, price = next(numbers), 2, stocks[stock_id].last * world.rng.randint(110, 130) // 100
        orders[key] = Order(key, stock_id, "sell", shares, shares, price, age(stock_id), True)
        positions[stock_id] = replace(positions[stock_id], held=shares)

    watchlists = {
        key: Watchlist(key, name, tuple(sorted(world.rng.sample(sorted(stocks), world.rng.randint(2, 5)))))
        for key, name in zip(world.ids("wat", 4), world.picks(LISTS, 4), strict=True)
    }
    alerts = {}
    for key, stock_id in zip(world.ids("alr", 5), world.rng.sample(sorted(stocks), 5), strict=True):
        last = stocks[stock_id].last
        if world.rng.random() < 0.5:
            alerts[key] = Alert(key, stock_id, "above", last * world.rng.randint(102, 112) // 100)
        else:
            alerts[key] = Alert(key, stock_id, "below", last * world.rng.randint(88, 98) // 100)
    return {
        "account": {"account": Account(world.amount(2000, 9000) + held, held)},
        "stocks": stocks,
        "positions": positions,
        "orders": orders,
        "fills": fills,
        "watchlists": watchlists,
        "alerts": alerts,
    }


def _stocks(world: World) -> dict[str, Stock]:
    """Twelve stocks, one of them halted."""
    stocks: dict[str, Stock] = {}
    for number, (key, name) in enumerate(zip(world.ids("stk", 12), world.picks(COMPANIES, 12), strict=True)):
        price, symbol = world.amount(8, 180), (name[:3] + name[-1]).upper()
        stocks[key] = Stock(key, name, symbol, world.choice(SECTORS), price, price, number == 7)
    return stocks
