"""Seeded data of the marketplace server: word lists, sellers with their listings, and the user's deals.

Run: nothing here runs by itself; `tasks.servers.marketplace` is the server.

Left out: pictures and descriptions of what is sold.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.servers.marketplace_rows import CARRIERS, Clock, Dispute, Escrow, Listing, Offer, Rating, Search, Seller
from tasks.servers.marketplace_types import Carrier, Category, Condition, EscrowStatus
from tasks.servers.state import Seed
from tasks.servers.world import World, words

THINGS: dict[Category, tuple[str, ...]] = {
    "furniture": words("Chair Sofa Bookcase Mirror Cabinet Bench Stool Wardrobe Desk Armchair"),
    "electronics": words("Radio Tablet Camera Speaker Monitor Printer Headset Projector Keyboard Turntable"),
    "clothing": words("Jacket Boots Scarf Coat Dress Gloves Hat Sweater Blazer Cardigan"),
    "books": words("Novel Atlas Dictionary Cookbook Comic Almanac Encyclopedia Biography Songbook Thesaurus"),
    "sport": words("Racket Kayak Helmet Skateboard Surfboard Bicycle Dumbbell Rowboat Snowboard Trampoline"),
    "garden": words("Shovel Planter Trellis Wheelbarrow Hammock Parasol Birdhouse Sundial Fountain Lawnmower"),
}
STYLES = words(
    """Walnut Crimson Vintage Modern Rustic Nordic Velvet Marble Bamboo Copper Ivory Cobalt Emerald Leather Canvas Woolen
    Folding Antique Tiny Giant Striped Painted Carved Woven Polished Sturdy Slim Classic Retro Handmade Amber Golden Silver
    Scarlet Turquoise Maroon Olive Indigo Lavender Charcoal Birch Cedar Oaken Bronze Chrome Wicker Checkered Spotted Dotted
    Floral Quilted Padded Portable Compact Elegant Sleek Shiny Weathered Original Imported Colonial Victorian Baroque Alpine"""
)
SEARCHES = words(
    """Bargains Gifts Attic Studio Nursery Balcony Kitchen Cabin Holiday Office Hobby Winter Summer Weekend Camping Party
    Wedding Birthday Garage Terrace Hallway Library Workshop Boathouse Guestroom Festival Reading Moving Starter Collector
    Upgrade Spare Retreat Picnic Roadtrip Newhome Deals Wishes Someday Clubhouse"""
)
CITIES = 3
"""In how many cities people live."""
CONDITIONS: tuple[Condition, ...] = ("new", "good", "good", "used", "used", "worn")
POSTAGE: dict[Category, int] = {
    "furniture": 1490,
    "electronics": 590,
    "clothing": 390,
    "books": 290,
    "sport": 790,
    "garden": 990,
}
REMARKS = ("friendly", "quick to answer", "well packed", "as described", "slow to ship", "a fair price", "")
DEALS: tuple[tuple[str, EscrowStatus], ...] = (
    ("bought", "paid"),
    ("bought", "shipped"),
    ("bought", "arrived"),
    ("bought", "arrived"),
    ("bought", "arrived"),
    ("bought", "finished"),
    ("bought", "finished"),
    ("bought", "refunded"),
    ("sold", "paid"),
    ("sold", "paid"),
    ("sold", "arrived"),
    ("sold", "finished"),
)
"""Purchases at the start: the user's side and the state. One of those shipped to the user is lost."""


def seed_rows(world: World) -> Seed:
    """Ten people, 38 listings (10 of them the user's), 9 offers, 13 purchases, three disputes, some 20 ratings."""
    sellers = _sellers(world)
    me, *others = sellers
    listings = _listings(world, me, others)
    mine = [key for key, row in listings.items() if row.seller == me]
    foreign = [key for key, row in listings.items() if row.seller != me]
    listings[mine[9]] = replace(listings[mine[9]], status="withdrawn")
    offers = _offers(world, listings, mine[:3], foreign[:3], me, others)
    escrows = _escrows(world, listings, mine[4:], foreign[4:], me, others)
    return {
        "clock": {"clock": Clock(0)},
        "sellers": sellers,
        "listings": listings,
        "offers": offers,
        "escrows": escrows,
        "disputes": _disputes(world, escrows, me),
        "ratings": _ratings(world, sellers, escrows, me, others),
        "searches": _searches(world),
    }


def _sellers(world: World) -> dict[str, Seller]:
    cities: dict[str, None] = {}
    while len(cities) < CITIES:
        cities[world.city()] = None
    towns = list(cities)
    rows = {}
    for n, (key, person) in enumerate(zip(world.ids("sel", 10), world.people(), strict=False)):
        town = towns[n % CITIES]
        rows[key] = Seller(key, person.name, town, n == 0, world.amount(400, 1200), n % 3 != 2, world.rng.randint(1, 40))
    return rows


def _listings(world: World, me: str, others: list[str]) -> dict[str, Listing]:
    taken: set[str] = set()
    rows = {}
    for n, key in enumerate(world.ids("lst", 38)):
        category = world.choice(tuple(THINGS))
        while (name := f"{world.pick(STYLES)} {world.choice(THINGS[category])}") in taken:
            pass
        taken.add(name)
        price = world.amount(10, 180)
        lowest = price * world.rng.randint(70, 90) // 100
        seller = me if n < 10 else others[n % len(others)]
        condition = world.choice(CONDITIONS)
        postage, posted = POSTAGE[category], -world.rng.randint(1, 60)
        rows[key] = Listing(key, name, seller, category, condition, price, lowest, postage, posted)
    return rows


def _offers(
    world: World, listings: dict[str, Listing], mine: list[str], foreign: list[str], me: str, others: list[str]
) -> dict[str, Offer]:
    """Six open bids for three of the user's listings; of the user's own, one countered, one declined, one accepted."""
    rows = {}
    for n, key in enumerate(world.ids("off", 9)):
        listing = listings[mine[n % 3] if n < 6 else foreign[n - 6]]
        price, expires = listing.price * world.rng.randint(55, 85) // 100, world.rng.randint(2, 5)
        if n < 6:
            limit = max(price, listing.price * world.rng.randint(70, 100) // 100)
            bidder = others[(n + 2) % len(others)]
            rows[key] = Offer(key, listing.listing_id, bidder, price, "open", expires, limit=limit)
        elif n == 6:
            price = listing.lowest * 8 // 10
            counter = (listing.lowest + listing.price) // 2
            rows[key] = Offer(key, listing.listing_id, me, price, "countered", expires, counter)
        elif n == 7:
            rows[key] = Offer(key, listing.listing_id, me, listing.lowest // 3, "declined", -3)
        else:
            rows[key] = Offer(key, listing.listing_id, me, listing.lowest, "accepted", expires)
            kept = replace(listing, status="reserved", buyer=me, agreed=listing.lowest, until=2)
            listings[listing.listing_id] = kept
    return rows


def _escrows(
    world: World, listings: dict[str, Listing], mine: list[str], foreign: list[str], me: str, others: list[str]
) -> dict[str, Escrow]:
    """The deals, and the listings that they sold. A late parcel is one that is lost."""
    rows: dict[str, Escrow] = {}
    bought, sold = iter(foreign), iter(mine)
    deals = (*DEALS, ("bought", "shipped"))
    for n, (key, (side, status)) in enumerate(zip(world.ids("esc", len(deals)), deals, strict=True)):
        listing = listings[next(bought if side == "bought" else sold)]
        buyer = me if side == "bought" else others[(n + 4) % len(others)]
        lost = n == len(deals) - 1
        carrier: Carrier | None = world.choice(tuple(CARRIERS)) if status != "paid" else None
        paid = {"paid": 0, "shipped": -9 if lost else -1, "arrived": -4}.get(status, -world.rng.randint(12, 40))
        arrives = (paid + 1 + CARRIERS[carrier] + (status == "shipped" and not lost)) if carrier else 0
        row = Escrow(
            key,
            listing.listing_id,
            buyer,
            listing.seller,
            listing.price,
            listing.postage,
            False,
            status,
            paid,
            carrier,
            arrives,
            lost,
        )
        if status == "finished":
            row = replace(row, released=row.total)
        if status == "refunded":
            row = replace(row, refunded=row.total)
        rows[key] = row
        back = status == "refunded"
        listings[listing.listing_id] = replace(
            listing, status="withdrawn" if back else "sold", buyer="" if back else buyer, agreed=0 if back else listing.price
        )
    return rows


def _disputes(world: World, escrows: dict[str, Escrow], me: str) -> dict[str, Dispute]:
    """Two that the user opened, one of them answered, and one about something that the user sold."""
    _, own, answered = [e for e in escrows.values() if e.buyer == me and e.status == "arrived"]
    against = next(e for e in escrows.values() if e.seller == me and e.status == "arrived")
    first, second, third = world.ids("dis", 3)
    return {
        first: Dispute(first, own.escrow_id, "damaged", own.total, -1),
        second: Dispute(second, answered.escrow_id, "not_as_described", answered.total, -3, "proposed", answered.total // 2),
        third: Dispute(third, against.escrow_id, "not_as_described", against.price // 2, -1),
    }


def _ratings(
    world: World, sellers: dict[str, Seller], escrows: dict[str, Escrow], me: str, others: list[str]
) -> dict[str, Rating]:
    """Of deals before the session, two or three a seller; the user has rated one finished purchase."""
    keys = iter(world.ids("rtg", 40))
    rows = {}
    for seller in sellers:
        for author in world.rng.sample([o for o in others if o != seller], world.rng.randint(2, 3)):
            key = next(keys)
            rows[key] = Rating(key, "", author, seller, world.choice((2, 3, 4, 4, 5, 5)), world.choice(REMARKS))
    done = next(e for e in escrows.values() if e.buyer == me and e.status == "finished")
    key = next(keys)
    rows[key] = Rating(key, done.escrow_id, me, done.seller, world.rng.randint(3, 5), world.choice(REMARKS))
    return rows


def _searches(world: World) -> dict[str, Search]:
    names: dict[str, None] = {}
    while len(names) < 4:
        names[world.pick(SEARCHES)] = None
    return {
        key: Search(key, name, world.choice(tuple(THINGS)), world.choice(("", "good")), world.amount(60, 250), "")
        for key, name in zip(world.ids("ssr", 4), names, strict=True)
    }
