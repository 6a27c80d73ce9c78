"""The budget server's seeded household: envelopes, what was spent from them in about two months, income and goals.

Left out: money that was moved between envelopes before the session.
"""

from __future__ import annotations

import datetime as dt

from tasks.servers.budget_types import Book, Envelope, Expense, Goal, Group, Income, MonthBudget
from tasks.servers.state import Seed
from tasks.servers.world import World, words

ENVELOPES = words(
    """Groceries Rent Utilities Commute Dining Clothing Gifts Health Pets Hobbies Childcare Insurance Phone Internet Repairs
    Books Fitness Beauty Garden Coffee Streaming Games Laundry Parking Fuel Dentist Haircut Stationery Snacks Tools Cleaning
    Furniture Charity School Toys Pharmacy Bakery Butcher Fishmonger Subscriptions Cinema Concerts Museums Daycare Optician
    Heating Water Electricity Trains Taxis Lunches Breakfasts Cosmetics Shoes Music Crafts Swimming Tennis Vet Plants Wine
    Cheese Spices Batteries Postage Printing Magazines Newspapers Birthdays Weddings Firewood Storage Elevator Chimney"""
)
GOALS = words(
    """Bicycle Camera Piano Kayak Laptop Wedding Holiday Sofa Car Roof Kitchen Boat Telescope Drone Violin Caravan Greenhouse
    Sauna Motorbike Tractor Cottage Tuition Renovation Anniversary Safari Cruise Marathon Workshop Studio Patio Fireplace
    Aquarium Treadmill Solar Heatpump"""
)
SHOPS = words(
    """Alpine Bluebell Corner Daisy Eagle Forest Golden Harbour Island Jubilee Kings Lakeside Market Northern Oak Park Queens
    River Station Tower Union Valley Windmill York Abbey Bridge Castle Dock Elm Fountain Gate Hilltop Ivy Junction Kestrel
    Lantern Meadow Nutmeg Orchid Pavilion Quayside Rosebud Sunrise Terrace Uptown Village Wharf Yardley Arcade Boulevard
    Chapel Downtown Eastside Flagship Garrison Hamlet"""
)
PAYERS = words(
    """Salary Bonus Refund Tutoring Rental Dividend Royalty Pension Stipend Allowance Commission Freelance Interest Prize
    Scholarship Cashback Reimbursement Overtime Grant Translation Babysitting Gardening Coaching Editing Photography Catering
    Consulting Proofreading Lottery Inheritance Subletting Carpentry Sewing Baking Dogwalking Modelling
    Woodworking Illustration Bookkeeping Petsitting Housesitting Painting Songwriting Ghostwriting Research Surveying Tipping
    Busking Farming Fishing"""
)
GROUPS: tuple[Group, ...] = ("needs", "wants", "saving")
DAYS_BACK = 50


def seeded(world: World) -> Seed:
    """The tables of a household: every envelope, what came in covers what was assigned and saved."""
    this = f"{world.now:%Y-%m}"
    last = f"{world.now.replace(day=1) - dt.timedelta(days=1):%Y-%m}"
    envelopes: dict[str, Envelope] = {}
    expenses: dict[str, Expense] = {}
    budgets: dict[str, MonthBudget] = {}
    expense_ids, budget_ids = iter(world.ids("exp", 60)), iter(world.ids("bud", 30))
    for number, (key, name) in enumerate(zip(world.ids("env", 9), world.picks(ENVELOPES, 9), strict=True)):
        months = {this: 0, last: 0}
        spent = 0
        for shop in world.picks(SHOPS, world.rng.randint(2, 6)):
            row = Expense(next(expense_ids), key, shop, world.amount(4, 60), world.day(-DAYS_BACK, 0))
            expenses[row.expense_id] = row
            spent += row.cents
            months[row.day[:7]] = months.get(row.day[:7], 0) + row.cents
        over = number == 3
        assigned = spent - world.rng.randrange(1, 4) * 100 if over else spent + world.amount(10, 150)
        envelopes[key] = Envelope(key, name, world.choice(GROUPS), assigned, spent, number % 4 == 1)
        for month in (last, this)[number % 3 == 2 :]:
            cents = months[month] + world.amount(5, 60)
            budget = MonthBudget(next(budget_ids), key, month, cents)
            budgets[budget.budget_id] = budget
    goals: dict[str, Goal] = {}
    for key, name in zip(world.ids("goal", 6), world.picks(GOALS, 6), strict=True):
        target = world.amount(300, 2000)
        goals[key] = Goal(key, name, target, world.rng.randrange(0, target // 200) * 100)
    return {
        "envelopes": envelopes,
        "budgets": budgets,
        "expenses": expenses,
        "incomes": _incomes(world, sum(e.assigned for e in envelopes.values()) + sum(g.saved for g in goals.values())),
        "goals": goals,
        "book": {"book": Book(tuple(sorted({e.day[:7] for e in expenses.values()} - {this, last})))},
    }


def _incomes(world: World, needed: int) -> dict[str, Income]:
    """Six incomes that come to more than `needed` cents, the newest and largest this month's or the last's."""
    needed += world.amount(100, 700)
    keys, names = world.ids("inc", 6), world.picks(PAYERS, 6)
    amounts = [world.amount(50, 300) for _ in keys[1:]]
    rows = [Income(keys[0], names[0], max(needed - sum(amounts), 100_000), world.day(-20, 0))]
    rows += [
        Income(key, name, cents, world.day(-DAYS_BACK, 0))
        for key, name, cents in zip(keys[1:], names[1:], amounts, strict=True)
    ]
    return {row.income_id: row for row in rows}
