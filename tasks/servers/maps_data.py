"""Seeded data of the maps server: word lists, three towns with roads, places and lines, and what a user has saved.

Run: nothing here runs by itself; `tasks.servers.maps` is the server.

Left out: rivers, rails and other things without an entrance.
"""

from __future__ import annotations

import datetime as dt
import math
from itertools import pairwise

from tasks.servers.maps_rows import (
    LINE_SPEED,
    WEEKDAYS,
    Address,
    Closure,
    Frame,
    Friend,
    Junction,
    Line,
    Place,
    PlaceList,
    Road,
    Route,
    Saved,
    Segment,
    Share,
    Stop,
    Town,
    path,
    road_graph,
    seconds_of,
    straight,
)
from tasks.servers.maps_types import Category, LineKind, Mode, Reason, RouteStatus, Weekday
from tasks.servers.state import Seed
from tasks.servers.world import World, words

ZONES = (
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "Europe/London",
    "Europe/Berlin",
    "Asia/Tokyo",
    "Australia/Sydney",
)
HOURS: dict[Category, tuple[tuple[str, str], ...]] = {
    "cafe": (("07:00", "18:00"), ("08:00", "20:00")),
    "restaurant": (("11:30", "23:00"), ("17:00", "01:00")),
    "bakery": (("06:00", "16:00"), ("05:30", "14:00")),
    "pharmacy": (("08:00", "20:00"), ("00:00", "00:00")),
    "museum": (("10:00", "18:00"), ("09:00", "17:00")),
    "library": (("09:00", "19:00"), ("10:00", "17:00")),
    "gym": (("06:00", "22:00"), ("00:00", "00:00")),
    "bank": (("09:00", "16:00"), ("08:30", "17:30")),
    "cinema": (("14:00", "00:30"), ("16:00", "02:00")),
    "bookstore": (("10:00", "20:00"), ("09:00", "18:30")),
    "florist": (("08:00", "18:00"), ("09:00", "17:00")),
}
PLACES = words(
    """Acorn Almond Anchor Apricot Aspen Badger Barley Basil Birch Blossom Bluebird Bramble Butterfly Calico Candle Cardinal
    Carousel Chicory Chimney Cinnamon Citron Cobalt Cobble Copper Corner Cotton Cricket Crimson Daisy Dandelion Dapple
    Dewdrop Domino Driftwood Ember Fennel Fern Fiddle Finch Flagstone Foxglove Gable Garnet Ginger Goldfinch Hazel Hearth
    Heron Hickory Indigo Iris Jasmine Jubilee Kettle Kingfisher Lantern Larkspur Lavender Lemon Lichen Lilac Linnet Lotus
    Magnolia Mallow Maple Marigold Mulberry Mustard Nettle Nutmeg Olive Opal Orchard Paprika Parsley Peppermint Pomegranate
    Poppy Primrose Quince Raspberry Robin Rosemary Saffron Sage Sorrel Sparrow Teal Thistle Thyme Truffle Tulip Turnip Umber
    Vanilla Violet Walnut Willow Woodpecker Yarrow"""
)
STOPS = words(
    """Abbot Academy Arsenal Assembly Bastion Beacon Bishop Brewery Caravel Cathedral Cavalry Chapel Citadel College Consul
    Corn Council Courthouse Crown Customs Deanery Drummer Embassy Exchange Fairground Falcon Ferry Foundry Friary Garrison
    Gasworks Guildhall Hangman Harbor Hermit Hospital Infirmary Jester King Lighthouse Magistrate Mason Mayor Mill Minster
    Monastery Monument Museum Observatory Opera Palace Parliament Pilgrim Poet Prince Priory Quarry Queen Rectory Sailor
    Senate Sheriff Shipyard Squire Tannery Theater Treasury University Vicar Weaver Windmill"""
)
LINES = words(
    """Amaranth Amber Azure Beige Bronze Burgundy Carmine Cerise Cerulean Chartreuse Chestnut Claret Cobalt Coral Cream Crimson
    Cyan Ebony Ecru Emerald Fuchsia Garnet Gold Heliotrope Indigo Ivory Jade Khaki Lavender Lilac Lime Magenta Mahogany
    Maroon Mauve Mint Mustard Ochre Olive Orchid Peach Periwinkle Pistachio Plum Purple Rose Ruby Russet Rust Saffron Salmon
    Sapphire Scarlet Sepia Silver Tan Taupe Teal Terracotta Tomato Topaz Turquoise Ultramarine Umber Vermilion Violet
    Viridian Wheat"""
)
LISTS = words(
    """Afternoon Autumn Bachelor Brunch Budget Classics Clients Commute Cozy Curious Dates Daytrip Dinner Discoveries Errands
    Evenings Everyday Family Favorites Feast Foodie Gems Grandparents Guests Hangout Hidden Holidays Inspiration Kids Layover
    Lazy Lunch Memories Morning Musthave Nearby Nightlife Oldtown Parents Quiet Rainy Recommended Regulars Relax Romantic
    Saturday Scenic Shopping Sightseeing Snacks Spring Studio Summer Sunday Surprise Tasty Tourists Trendy Trips Tryout
    Vacation Views Visitors Weekend Winter Wishlist Workday"""
)
LABELS = words(
    """Accountant Aunt Babysitter Barber Bandroom Boss Bridge Carpool Chess Choir Client Clinic Club Coach Colleague Cousin
    Daycare Dealer Dentist Dietitian Doctor Drummer Editor Exam Framer Garage Godmother Grandma Grandpa Guitar Hairdresser
    Hangout Hideout Interview Jeweler Judo Karate Kindergarten Lawyer Locksmith Mechanic Meetup Mentor Nanny Neighbor Nephew
    Niece Notary Nurse Office Optician Orchestra Painter Parents Pediatrician Pianist Playdate Plumber Pottery Realtor
    Rehearsal School Seamstress Sister Stylist Tailor Teacher Therapist Trainer Tutor Uncle Vet Violin Volunteer Workout
    Yoga"""
)
TAGS = ("Square", "Gate", "Market", "Bridge", "Hill")
SUFFIXES = ("Street", "Road", "Avenue", "Lane", "Way")
REASONS: tuple[Reason, ...] = ("accident", "roadworks", "flooding", "event")
SIDE = 4
"""A town is a grid of SIDE x SIDE junctions."""
LOCAL: tuple[Mode, ...] = ("walk", "bike", "drive")


def seed_rows(world: World) -> Seed:
    """Three towns of 16 junctions with 12 places, 8 roads and 2 lines each, three highways, and one user."""
    towns = _towns(world)
    junctions = _junctions(world, list(towns))
    roads, segments = _roads(world, list(towns), junctions)
    addresses, places = _places(world, towns, junctions, roads, segments)
    stops, lines = _lines(world, list(towns), junctions)
    closures = _closures(world, towns, roads)
    routes = _routes(world, addresses, places, junctions, roads, segments, closures)
    active = next(row for row in routes.values() if row.status == "active")
    friends = {key: Friend(key, person.name) for key, person in zip(world.ids("mfr", 6), world.people()[1:7], strict=True)}
    (share,) = world.ids("eta", 1)
    lists = {key: PlaceList(key, name) for key, name in zip(world.ids("plst", 4), world.picks(LISTS, 4), strict=True)}
    labels, kept = world.picks(LABELS, 9), world.rng.sample(list(places), 9)
    saved = {
        key: Saved(key, label, place, list(lists)[number % 3])
        for number, (key, label, place) in enumerate(zip(world.ids("svp", 9), labels, kept, strict=False))
    }
    frame = Frame(world.rng.randrange(-3000, 4500) / 100, world.rng.randrange(-12000, 14000) / 100, active.from_id)
    return {
        "frame": {"frame": frame},
        "towns": towns,
        "junctions": junctions,
        "roads": roads,
        "segments": segments,
        "addresses": addresses,
        "places": places,
        "stops": stops,
        "lines": lines,
        "closures": closures,
        "routes": routes,
        "friends": friends,
        "shares": {share: Share(share, active.route_id, world.choice(list(friends)))},
        "lists": lists,
        "saved": saved,
    }


def _towns(world: World) -> dict[str, Town]:
    names: dict[str, None] = {}
    while len(names) < 3:
        names[world.city()] = None
    zones = world.rng.sample(ZONES, 3)
    return {key: Town(key, name, zone) for key, name, zone in zip(world.ids("town", 3), names, zones, strict=True)}


def _junctions(world: World, towns: list[str]) -> dict[str, Junction]:
    """Grids some 450 m wide, shaken; the towns lie some 60 km apart."""
    rows = {}
    for number, town in enumerate(towns):
        east, north = ((0, 0), (52_000, 9_000), (20_000, 48_000))[number]
        east, north = east + world.rng.randrange(-9_000, 9_000), north + world.rng.randrange(-9_000, 9_000)
        for index in range(SIDE * SIDE):
            x, y = 450 * (index % SIDE) + world.rng.randrange(-120, 120), 450 * (index // SIDE) + world.rng.randrange(-120, 120)
            rows[f"{town}/{index}"] = Junction(f"{town}/{index}", town, east + x, north + y)
    return rows


def _roads(world: World, towns: list[str], junctions: dict[str, Junction]) -> tuple[dict[str, Road], dict[str, Segment]]:
    """A road for each row and column of each grid, and a highway between each two towns."""
    count = len(towns) * 2 * SIDE
    names: dict[str, None] = {}
    while len(names) < count + 3:
        names[world.last_name()] = None
    firsts = iter(names)
    keys = iter(world.ids("road", count + 3))
    roads: dict[str, Road] = {}
    segments: dict[str, Segment] = {}

    def lay(road: str, stops: list[str], kmh: int) -> None:
        for a, b in pairwise(stops):
            meters = math.ceil(straight(junctions[a], junctions[b]) * world.rng.uniform(1.02, 1.3)) + 1
            segments[f"{road}/{a}"] = Segment(f"{road}/{a}", road, a, b, meters, kmh)

    for town in towns:
        for line in range(2 * SIDE):
            key = next(keys)
            roads[key] = Road(key, f"{next(firsts)} {world.choice(SUFFIXES)}", town, "street")
            start, step = (line * SIDE, 1) if line < SIDE else (line - SIDE, SIDE)
            lay(key, [f"{town}/{start + step * n}" for n in range(SIDE)], world.choice((20, 30, 30, 50)))
    for a, b in ((0, 1), (1, 2), (0, 2)):
        key = next(keys)
        roads[key] = Road(key, f"{next(firsts)} Highway", towns[a], "highway")
        ends = [f"{towns[town]}/{world.rng.randrange(SIDE * SIDE)}" for town in (a, b)]
        lay(key, ends, 110)
    return roads, segments


def _places(
    world: World, towns: dict[str, Town], junctions: dict[str, Junction], roads: dict[str, Road], segments: dict[str, Segment]
) -> tuple[dict[str, Address], dict[str, Place]]:
    """15 addresses a town, at different junctions; 12 of them have a place, two of each of six categories."""
    streets: dict[str, list[str]] = {}
    for row in segments.values():
        if roads[row.road_id].kind == "street":
            for junction in (row.a, row.b):
                streets.setdefault(junction, []).append(row.road_id)
    categories = world.rng.sample(list(HOURS), 6)
    pool, critics = world.pool(PLACES), [person.name for person in world.people()]
    addresses: dict[str, Address] = {}
    places: dict[str, Place] = {}
    taken: set[str] = set()
    keys, place_keys = iter(world.ids("sta", 15 * len(towns))), iter(world.ids("plc", 12 * len(towns)))
    for town in towns:
        for number, index in enumerate(world.rng.sample(range(SIDE * SIDE), 15)):
            junction = f"{town}/{index}"
            road = world.choice(streets[junction])
            key = next(keys)
            while True:
                name = f"{world.rng.randrange(1, 200)} {roads[road].name}"
                if name not in taken:
                    break
            taken.add(name)
            addresses[key] = Address(key, name, road, junction)
            if number >= 12:
                continue
            category = categories[number % 6]
            while True:
                name = f"{world.rng.choice(pool)} {category.capitalize()}"
                if name not in taken:
                    break
            taken.add(name)
            opens, closes = world.choice(HOURS[category])
            off: Weekday | str = world.choice(WEEKDAYS) if opens != closes and world.rng.random() < 0.6 else ""
            ratings = tuple(
                (world.rng.choice((2, 3, 4, 4, 5)), who) for who in world.rng.sample(critics, world.rng.randint(2, 4))
            )
            place = next(place_keys)
            places[place] = Place(place, name, category, key, opens, closes, off, ratings)  # type: ignore[arg-type]
    order = list(places)
    world.rng.shuffle(order)
    return addresses, {key: places[key] for key in order}


def _lines(world: World, towns: list[str], junctions: dict[str, Junction]) -> tuple[dict[str, Stop], dict[str, Line]]:
    """A line along a row and one along a column of each town, with a stop at each junction."""
    stops: dict[str, Stop] = {}
    lines: dict[str, Line] = {}
    pool = world.pool(STOPS)
    names = iter(world.picks(LINES, 2 * len(towns)))
    keys, stop_keys = iter(world.ids("tln", 2 * len(towns))), iter(world.ids("tst", 4 * SIDE * len(towns)))
    taken: set[str] = set()
    for town in towns:
        at: dict[str, str] = {}
        across, along = world.rng.randrange(SIDE), world.rng.randrange(SIDE)
        for first, step in ((across * SIDE, 1), (along, SIDE)):
            passed = [f"{town}/{first + step * n}" for n in range(SIDE)]
            for junction in passed:
                if junction in at:
                    continue
                while True:
                    name = f"{world.rng.choice(pool)} {world.choice(TAGS)}"
                    if name not in taken:
                        break
                taken.add(name)
                at[junction] = next(stop_keys)
                stops[at[junction]] = Stop(at[junction], name, junction)
            kind: LineKind = world.choice(("bus", "tram"))
            seconds = tuple(seconds_of(straight(junctions[a], junctions[b]), LINE_SPEED[kind]) for a, b in pairwise(passed))
            key = next(keys)
            lines[key] = Line(
                key,
                f"{next(names)} Line",
                kind,
                town,
                tuple(at[junction] for junction in passed),
                seconds,
                world.choice(("05:00", "05:30", "06:00")),
                world.choice(("22:30", "23:00", "23:30")),
                world.choice((6, 8, 10, 12, 15)),
            )
    return stops, lines


def _closures(world: World, towns: dict[str, Town], roads: dict[str, Road]) -> dict[str, Closure]:
    """A closed street in each town, one of them reported by the user, and one closure that is over."""
    rows: dict[str, Closure] = {}
    keys = world.ids("clo", 4)
    for number, (key, town) in enumerate(zip(keys, [*towns, next(iter(towns))], strict=True)):
        closed = {row.road_id for row in rows.values()}
        road = world.choice(
            [r.road_id for r in roads.values() if r.town_id == town and r.kind == "street" and r.road_id not in closed]
        )
        hours = -world.rng.randint(1, 20) if number == 3 else world.rng.randint(2, 60)
        rows[key] = Closure(key, road, world.choice(REASONS), world.now + dt.timedelta(hours=hours), number == 1)
    return rows


def _routes(
    world: World,
    addresses: dict[str, Address],
    places: dict[str, Place],
    junctions: dict[str, Junction],
    roads: dict[str, Road],
    segments: dict[str, Segment],
    closures: dict[str, Closure],
) -> dict[str, Route]:
    """Five routes inside towns; one is active, and one more starts where it does."""
    closed = [row.road_id for row in closures.values() if row.until > world.now]
    highways = [row.road_id for row in roads.values() if row.kind == "highway"]
    rows: dict[str, Route] = {}
    by_town: dict[str, list[str]] = {}
    for key, place in places.items():
        by_town.setdefault(junctions[addresses[place.street_address_id].junction_id].town_id, []).append(key)
    ends: list[tuple[str, str]] = []
    for number in range(5):
        a, b = world.rng.sample(world.choice(list(by_town.values())), 2)
        if number == 1:
            a = ends[0][0]
            own = next(group for group in by_town.values() if a in group)
            b = world.choice([key for key in own if key not in ends[0]])
        while (a, b) in ends:
            a, b = world.rng.sample(world.choice(list(by_town.values())), 2)
        ends.append((a, b))
    statuses: tuple[RouteStatus, ...] = ("active", "planned", "planned", "finished", "planned")
    for key, (a, b), status in zip(world.ids("rte", 5), ends, statuses, strict=True):
        mode = world.choice(LOCAL)
        start, goal = (addresses[places[end].street_address_id].junction_id for end in (a, b))
        legs = path(road_graph(segments.values(), highways, mode, closed), start, goal, "seconds")
        assert legs is not None  # one closed street leaves every junction of a grid another
        rows[key] = Route(key, a, b, mode, "fastest", "", legs, status)
    return rows
