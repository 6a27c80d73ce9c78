"""Word lists of the crm server, and the seeded book of a sales team.

Run: nothing here runs by itself; `tasks.servers.crm` is the server.

Left out: a past of more than what is won and lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from tasks.servers import crm_rows as r
from tasks.servers import crm_types as t
from tasks.servers.state import Seed
from tasks.servers.world import World, words

MACHINES = words(
    """Beacon Compass Dynamo Engine Filter Gasket Hydrant Inverter Jigsaw Kiln Lathe Magnet Nozzle Oscillator Piston Relay
    Sensor Turbine Valve Winch Actuator Bearing Conveyor Damper Encoder Flange Gearbox Hoist Impeller Lever Manifold Pulley
    Rotor Spindle Thruster Welder Boiler Chiller Drill Grinder"""
)
SORTS = words(
    """Basic Classic Compact Duo Eco Flex Grand Heavy Indoor Junior Light Maxi Mini Modular Outdoor Plus Portable Prime Quick
    Rapid Robust Silent Slim Smart Solid Sport Standard Steady Studio Super Swift Titan Trio Turbo Ultra Vario Versa Vital"""
)
REGIONS = words(
    """Northlands Southmere Eastwick Westmoor Highcliff Lowfield Midvale Uplands Lakeshore Riverbend Coastline Hillcrest
    Woodland Plainview Stonegate Brightwater Fairmeadow Goldcrest Greenhaven Ironridge Maplewood Oakdale Pinehurst Redcliff
    Silverton Springdale Thornbury Wheatland Windhaven Ashgrove Birchwood Clearwater Elmhurst Foxhollow Graymoor Hazelwood
    Juniper Kingsport Larkspur Mossbank"""
)
PLACES = words(
    """Fleet Campus Depot Plant Warehouse Terminal Harbor Stadium Clinic Bakery Brewery Foundry Quarry Nursery Marina Airfield
    Workshop Laboratory Library Theater Museum Garage Hangar Sawmill Vineyard Orchard Dairy Refinery Shipyard Tannery Smelter
    Printshop Cannery Distillery Greenhouse Hospital Hotel Kitchen Mall Observatory"""
)
ACTIONS = words(
    """Renewal Upgrade Pilot Rollout Expansion Retrofit Overhaul Refit Trial Framework Bundle Migration Supply Service License
    Extension Installation Replacement Maintenance Lease Modernization Conversion Relaunch Opening Restart Setup Package
    Program Contract Project Order Refill Rebuild Repair Support Training Audit Purchase Swap Rental"""
)
TOPICS = words(
    """budget delivery warranty training pricing contract samples schedule references drawings safety payment storage
    installation transport insurance licenses spares service returns testing permits staffing energy noise floorplan deadline
    documents approval security inventory invoices packaging certificates support materials quality figures renewal travel"""
)
JOBS = ("buyer", "director", "engineer", "head of purchasing", "manager", "owner", "planner")
INDUSTRIES: tuple[t.Industry, ...] = ("energy", "food", "health", "retail", "software", "transport")
SOURCES: tuple[t.Source, ...] = ("website", "fair", "referral", "campaign")
TWINS = ("Holdings", "International", "Partners")
"""Ends of the names under which a company is in the book a second time."""
LEADS: tuple[t.LeadStatus, ...] = ("new", "working", "qualified", "new", "working", "qualified", "discarded")
STAGES: tuple[t.Stage, ...] = ("new", "qualified", "proposal", "negotiation", "negotiation", "won", "lost", "qualified")


def seed_rows(world: World) -> Seed:
    """4 reps, 6 territories (3 the user's), 14 companies, 22 contacts, 14 leads, 12 products, 24 deals with what they have."""
    people = world.people()
    reps = {
        key: r.Rep(key, people[n].name, n == 0, world.rng.randrange(20, 90) * 100_000, world.choice((10, 15, 20, 25)))
        for n, key in enumerate(world.ids("rep", 4))
    }
    keys = list(reps)
    owners = (keys[0], keys[0], keys[0], *keys[1:])
    territories = {
        key: r.Territory(key, name, rep)
        for key, name, rep in zip(world.ids("ter", 6), world.picks(REGIONS, 6), owners, strict=True)
    }
    companies = _companies(world, list(territories))
    people_names = _distinct(world, 36)
    contacts = _contacts(world, companies, people_names[:20])
    products = {
        key: r.Product(key, name, world.amount(20, 900))
        for key, name in zip(world.ids("cprod", 12), _pairs(world, SORTS, MACHINES, 12), strict=True)
    }
    leads = _leads(world, companies, list(territories), people_names[20:])
    deals, lines = _deals(world, territories, companies, contacts, products)
    return {
        "reps": reps,
        "territories": territories,
        "companies": companies,
        "contacts": contacts,
        "leads": leads,
        "products": products,
        "deals": deals,
        "lines": lines,
        "notes": {
            key: r.Note(key, deal, world.choice(keys), f"They asked about {world.pick(TOPICS)}")
            for key, deal in zip(world.ids("dnote", 18), world.rng.choices(list(deals), k=18), strict=True)
        },
        "activities": _activities(world, deals),
    }


def _pairs(world: World, first: Sequence[str], second: Sequence[str], count: int) -> list[str]:
    """`count` distinct names of two words."""
    seconds = world.pool(second)
    return world.rng.sample([f"{one} {two}" for one in world.pool(first) for two in seconds], count)


def _distinct(world: World, count: int) -> list[str]:
    """`count` people with distinct last names."""
    found: dict[str, str] = {}
    while len(found) < count:
        name = world.person()
        found.setdefault(name.split()[1], name)
    return list(found.values())


def _companies(world: World, territories: list[str]) -> dict[str, r.Company]:
    found: dict[str, str] = {}
    while len(found) < 12:
        name = world.company()
        found.setdefault(name.split()[0], name)
    companies = {}
    ids = world.ids("cmp", 14)
    for n, (key, name) in enumerate(zip(ids, found.values(), strict=False)):
        companies[key] = r.Company(key, name, territories[n % 6], world.city(), world.choice(INDUSTRIES))
    for key, twin in zip(ids[12:], (companies[ids[1]], companies[ids[2]]), strict=True):
        name = f"{twin.name.split()[0]} {world.choice(TWINS)}"
        companies[key] = r.Company(key, name, twin.territory_id, twin.city, twin.industry)
    return companies


def _contacts(world: World, companies: dict[str, r.Company], names: list[str]) -> dict[str, r.Contact]:
    contacts = {}
    ids, firms = world.ids("cct", 22), list(companies)
    for n, (key, name) in enumerate(zip(ids, names, strict=False)):
        company = firms[n] if n < len(firms) else world.choice(firms)
        contacts[key] = r.Contact(key, name, company, world.choice(JOBS), r.address_of(name))
    for key, twin in zip(ids[20:], (contacts[ids[0]], contacts[ids[1]]), strict=True):
        first, last = twin.name.split()
        contacts[key] = r.Contact(key, f"{first[0]} {last}", twin.company_id, twin.job, twin.email)
    return contacts


def _leads(world: World, companies: dict[str, r.Company], territories: list[str], names: list[str]) -> dict[str, r.Lead]:
    leads = {}
    for n, (key, name) in enumerate(zip(world.ids("lead", 14), names, strict=False)):
        territory = territories[(0, 1, 0, 2, 1, 1, 3, 0, 1, 4, 0, 5, 2, 1)[n]]
        known = [c for c in companies.values() if c.territory_id == territory]
        company = world.choice(known)
        employer, city = (company.name, company.city) if n % 2 else (world.company(), world.city())
        status = LEADS[n % len(LEADS)]
        leads[key] = r.Lead(key, name, employer, city, territory, world.choice(SOURCES), world.rng.randint(5, 95), status)
    return leads


def _deals(
    world: World,
    territories: dict[str, r.Territory],
    companies: dict[str, r.Company],
    contacts: dict[str, r.Contact],
    products: dict[str, r.Product],
) -> tuple[dict[str, r.Deal], dict[str, r.Line]]:
    deals: dict[str, r.Deal] = {}
    lines: dict[str, r.Line] = {}
    numbers = iter(world.ids("dln", 72))
    firms = list(companies.values())
    users = [c for c in firms if territories[c.territory_id].rep_id == next(iter(territories.values())).rep_id]
    for n, (key, name) in enumerate(zip(world.ids("deal", 24), _pairs(world, PLACES, ACTIONS, 24), strict=True)):
        company = world.choice(users if n < 12 else firms)
        stage: t.Stage = STAGES[n % len(STAGES)]
        own = [c.contact_id for c in contacts.values() if c.company_id == company.company_id]
        contact = world.choice(own) if stage in (*r.PRICED, "won") or world.rng.random() < 0.4 else ""
        discount = world.choice((0, 0, 5, 10)) if stage in (*r.PRICED, "won") else 0
        closes = world.day(-60, -2) if stage in r.CLOSED else world.day(4, 90)
        reason: t.Reason = world.choice(("price", "timing", "competitor", "no_need"))
        rep = territories[company.territory_id].rep_id
        deals[key] = r.Deal(
            key, name, company.company_id, rep, stage, closes, contact, discount, reason if stage == "lost" else ""
        )
        for product in world.rng.sample(list(products.values()), world.rng.randint(1, 3)):
            line = r.Line(next(numbers), key, product.product_id, world.rng.randint(1, 20), product.price)
            lines[line.line_id] = line
    return deals, lines


def _activities(world: World, deals: dict[str, r.Deal]) -> dict[str, r.Activity]:
    """16 activities: what is planned is for open deals, the rest is done."""
    activities = {}
    picked = world.rng.sample(list(deals.values()), 16)
    for key, deal in zip(world.ids("act", 16), picked, strict=True):
        kind: t.Kind = world.choice(("call", "meeting", "email", "task")) if deal.contact_id else "task"
        planned = deal.stage in r.OPEN and world.rng.random() < 0.8
        day = world.day(-6, 20) if planned else world.day(-40, -1)
        activities[key] = r.Activity(
            key, deal.deal_id, kind, f"Talk about {world.pick(TOPICS)}", day, "planned" if planned else "done"
        )
    return activities
