"""Seeded data of the banking server: word lists and the state of one customer.

Run: nothing here runs by itself; `tasks.servers.banking` is the server.

Left out: other countries' banks and names.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from tasks.servers.banking_rows import Account, Bill, Card, Hold, Payee, Quote, Rate, Standing, Transaction, converted
from tasks.servers.banking_types import AccountKind, CardStatus, Category, Currency, Every
from tasks.servers.state import Seed
from tasks.servers.world import World, words

ACCOUNT_NAMES = words(
    """Household Vacation Wedding Tuition Renovation Emergency Grocery Holiday Business Everyday Medical Garden Kitchen Studio
    Music Charity Camping Boat Motorcycle Bicycle Nursery Orchard Workshop Freelance Rental Cottage Retirement College Salary
    Insurance Sailing Painting Photography Adventure Honeymoon Birthday Hobby Pottery Bakery Moving Festival Gaming Fitness
    Dental Furniture Laptop Skiing Fishing Diving Farm Barn Cabin Roof Solar Heating Veterinary Horse Puppy Theater Concert
    Library Language Driving Family Garage Pension Piano Surfing Hiking Graduation Anniversary Inheritance"""
)
NEW_ACCOUNT_NAMES = words(
    """Balcony Carpet Dishwasher Aquarium Telescope Greenhouse Caravan Drone Violin Sofa Treadmill Canoe Fireplace Patio
    Scooter Tractor Beehive Printer Guitar Wardrobe Fence Sauna Attic Basement Terrace Hammock Tandem Kayak Cello Freezer
    Chimney Pergola Skylight Driveway"""
)
MERCHANT_WORDS = words(
    """Bluebird Copper Juniper Maple Harbor Willow Cedar Falcon Granite Lantern Meadow Nutmeg Orchid Pelican Quartz Raven
    Saffron Thistle Umber Velvet Walnut Yarrow Zephyr Amber Birch Clover Dahlia Ember Fennel Ginger Hazel Ivory Jasmine Kestrel
    Lavender Marigold Nectar Olive Pepper Quince Rosemary Sequoia Tulip Violet Wren Acorn Basil Cobalt Daisy Elder Fern Garnet
    Heron Iris Jade Kelp Lotus Mango Nettle Opal Poppy Russet Sable Teal"""
)
BANKS = words(
    """Northgate Summit Riverside Keystone Lakeview Pinnacle Heritage Unity Beacon Granary Sterling Meridian Horizon
    Cornerstone Evergreen Frontier Gateway Highland Landmark Monument Oakwood Pioneer Redwood Stonebridge Trident Vanguard
    Westfield Ashford Brookline Castle"""
)
SHOPS: dict[Category, tuple[str, ...]] = {
    "groceries": ("Market", "Grocers"),
    "dining": ("Cafe", "Diner", "Bistro"),
    "transport": ("Taxi", "Fuel", "Rail"),
    "health": ("Pharmacy", "Clinic"),
    "travel": ("Hotel", "Airways"),
    "shopping": ("Books", "Hardware", "Outfitters"),
}
UTILITIES = ("Energy", "Water", "Telecom", "Gas", "Broadband")
RATES: dict[Currency, tuple[int, int]] = {"EUR": (8400, 9600), "GBP": (7200, 8200), "CHF": (7800, 9000)}

KINDS: list[tuple[AccountKind, Currency]] = [
    ("checking", "USD"),
    ("checking", "USD"),
    ("joint", "USD"),
    ("savings", "USD"),
    ("savings", "USD"),
    ("savings", "USD"),
    ("foreign", "EUR"),
    ("foreign", "GBP"),
]
"""The accounts of a customer; they are listed in random order."""
EVERY: tuple[Every, ...] = ("week", "month", "month", "year")


def seed_rows(world: World) -> Seed:
    """The seeded state of one customer: 8 accounts, 5 cards, 15 payees and about 30 transactions."""
    ids, names = world.ids("acc", len(KINDS)), world.picks(ACCOUNT_NAMES, len(KINDS))
    empty = ids[3]  # the first savings account: nothing on it, so that it can be closed
    merchants = _distinct(lambda: _merchant(world), 40)
    transactions, cards = _activity(world, ids, merchants)
    accounts = {}
    for key, name, (kind, currency) in zip(ids, names, KINDS, strict=True):
        own = sum(row.cents for row in transactions.values() if row.account_id == key)
        opening = 0 if key == empty else world.amount(1500, 6000)
        accounts[key] = Account(key, name, kind, currency, opening, opening + own)
    payees = _payees(world)
    companies = [p.payee_id for p in payees.values() if p.kind == "company"]
    billed = [p.payee_id for p in payees.values() if p.kind == "utility"]
    bills = _bills(world, billed)
    standing = {}
    for key, payee_id in zip(world.ids("stand", 4), companies, strict=True):
        day = world.day(2, 25)
        every = world.choice(EVERY)
        payer = world.choice(ids[:3])
        standing[key] = Standing(key, payer, payee_id, world.amount(8, 90), day, int(day[8:]), every)
    holds = {}
    for key, (name, _) in zip(world.ids("hold", 4), merchants[-4:], strict=True):
        holds[key] = Hold(key, world.choice(ids[:3]), name, world.amount(40, 300), world.day(-6, -1))
    rates = {"USD": Rate("USD", 10_000)} | {c: Rate(c, world.rng.randrange(*span)) for c, span in RATES.items()}
    quotes = {}
    for key, target in zip(world.ids("quote", 2), ids[6:], strict=True):
        cents = world.amount(50, 400)
        until = (world.now + dt.timedelta(hours=world.rng.randint(1, 6))).isoformat(timespec="minutes")
        receives = converted(cents, rates["USD"], rates[accounts[target].currency])
        quotes[key] = Quote(key, world.choice(ids[:2]), target, cents, receives, until)
    tables: dict[str, dict[str, Any]] = {
        "accounts": accounts,
        "cards": cards,
        "payees": payees,
        "bills": bills,
        "holds": holds,
        "standing": standing,
        "transactions": transactions,
        "rates": rates,
        "quotes": quotes,
    }
    return {name: _shuffled(world, rows) if name != "rates" else rows for name, rows in tables.items()}


def _shuffled(world: World, rows: dict[str, Any]) -> dict[str, Any]:
    """The rows in random order, so that the place in a list tells nothing."""
    keys = list(rows)
    world.rng.shuffle(keys)
    return {key: rows[key] for key in keys}


def _distinct(make: Callable[[], Any], count: int) -> list[Any]:
    found: dict[Any, None] = {}
    while len(found) < count:
        found[make()] = None
    return list(found)


def _merchant(world: World) -> tuple[str, Category]:
    category = world.choice(tuple(SHOPS))
    return f"{world.pick(MERCHANT_WORDS)} {world.choice(SHOPS[category])}", category


def _activity(world: World, ids: list[str], merchants: list[tuple[str, Category]]) -> Any:
    """(transactions, cards): the spending of the last six weeks, by card where the account has one."""
    carded = [*ids[:3], *ids[6:]]
    states: list[CardStatus] = ["active", "active", "active", "frozen", "frozen"]
    world.rng.shuffle(states)
    cards = {}
    for key, account, last4, state in zip(world.ids("card", 5), carded, world.numbers(5, 4), states, strict=True):
        limit = world.rng.randrange(6, 31) * 5000
        cards[key] = Card(key, account, str(last4), state, limit, world.rng.randrange(1000, 10000), world.rng.getrandbits(40))
    by_account = {card.account_id: card.card_id for card in cards.values()}
    spent = iter(merchants)
    transactions = {}
    keys = iter(world.ids("txn", 40))
    for account, (kind, _) in zip(ids, KINDS, strict=True):
        days = sorted(world.rng.sample(range(-42, 0), 8))
        if kind in ("checking", "joint"):
            key = next(keys)
            employer = world.company()
            transactions[key] = Transaction(key, account, employer, world.amount(1800, 4000), world.day(-43, -43), "income")
        for ago in days[: {"checking": 7, "joint": 6, "foreign": 4}.get(kind, 0)]:
            key, (name, category) = next(keys), next(spent)
            day = (world.now + dt.timedelta(days=ago)).date().isoformat()
            card = by_account[account]
            transactions[key] = Transaction(key, account, name, -world.amount(4, 120), day, category, card)
    return transactions, cards


def _payees(world: World) -> dict[str, Payee]:
    people = [person.name for person in world.people()[:5]]
    companies = _distinct(world.company, 4)
    utilities = _distinct(lambda: f"{world.last_name()} {world.choice(UTILITIES)}", 6)
    named = [(n, "person") for n in people] + [(n, "company") for n in companies] + [(n, "utility") for n in utilities]
    numbers = world.numbers(len(named), 8)
    rows = zip(world.ids("payee", len(named)), named, numbers, strict=True)
    return {key: Payee(key, name, kind, world.pick(BANKS), number) for key, (name, kind), number in rows}


def _bills(world: World, billed: list[str]) -> dict[str, Bill]:
    """One due bill for each payee of `billed`, and some paid ones."""
    keys = iter(world.ids("bill", len(billed) + 4))
    days = world.rng.sample(range(1, 28), len(billed))
    rows = [Bill(next(keys), p, world.amount(15, 180), world.day(d, d), "due") for p, d in zip(billed, days, strict=True)]
    rows += [Bill(next(keys), p, world.amount(15, 180), world.day(-40, -12), "paid") for p in billed[:4]]
    return {row.bill_id: row for row in rows}
