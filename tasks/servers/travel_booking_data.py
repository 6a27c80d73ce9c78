"""Seeded data of the travel booking server: word lists, airports, flights, hotels, cars, and what a family has booked.

Run: nothing here runs by itself; `tasks.servers.travel_booking` is the server.

Left out: connecting flights sold as one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Literal

from tasks.servers.calendar_rows import local
from tasks.servers.state import Seed
from tasks.servers.travel_booking_rows import (
    Airport,
    Block,
    Booking,
    Car,
    Fare,
    Flight,
    Hotel,
    HotelRoom,
    Itinerary,
    Rental,
    Seat,
    Stay,
    TravelCard,
    Traveler,
    bag_cents,
    clash,
    days_of,
    nights_cents,
    rental_cents,
    seat_cents,
)
from tasks.servers.travel_booking_types import CarClass, RoomKind, StayStatus, Tier
from tasks.servers.world import World, words

PLACES = (
    ("USA", "America/New_York"),
    ("USA", "America/Chicago"),
    ("USA", "America/Los_Angeles"),
    ("UK", "Europe/London"),
    ("Germany", "Europe/Berlin"),
    ("Greece", "Europe/Athens"),
    ("India", "Asia/Kolkata"),
    ("Japan", "Asia/Tokyo"),
    ("Australia", "Australia/Sydney"),
    ("Brazil", "America/Sao_Paulo"),
)
AIRLINES = words(
    """Aerolark Airbridge Albatross Altair Aquilo Arrowair Asterfly Aurorajet Blueswift Boreas Cirrus Cloudline Condoria
    Contrail Corsair Cumulus Daystar Eagleair Etherjet Falconair Feather Finchair Flyaway Galeair Gannet Goldwing Gullwing
    Halcyon Heronjet Highway Horizonair Icarus Jetstream Kestrel Larkair Longbow Meridia Mistral Nimbus Northwind Ospreyair
    Pegasair Petrel Plover Redwing Sable Seabird Silverjet Skyferry Skylark Solair Starling Stratus Sunjet Swallow Swiftair
    Tailwind Tradewind Turnstone Vespera Voyair Westwind Whirlwind Zephyrjet"""
)
HOTELS = words(
    """Abbey Acacia Alhambra Amber Arcadia Astoria Balmoral Belvedere Bluebell Boulevard Bridgeview Canal Carlton Castle
    Cavendish Cedar Centennial Chestnut Clarendon Cloister Colonnade Corona Cosmopolitan Dolphin Dunes Elmwood Esplanade
    Excelsior Fountain Georgian Granary Grosvenor Hawthorn Imperial Ivory Juniper Kings Lakeside Lancaster Laurel
    Linden Majestic Manor Marina Metropole Milton Mirabel Monarch Myrtle Oakwood Observatory Olive Orchid Palisade Panorama
    Parkside Pavilion Peninsula Plaza Promenade Quayside Regency Riverside Rosewood Rotunda Savoy Seaview Sheldon Stables
    Sycamore Terrace Tivoli Tower Trinity Victoria Waterside Wellington Westbury Wharf Windsor"""
)
CARS = words(
    """Acorn Adder Badger Bandit Bison Bobcat Bolero Breeze Bronco Brook Caribou Cicada Cobra Colt Comet Corsa Cougar Dash
    Dingo Dune Duster Ferret Flint Gazelle Gecko Hawk Ibex Impala Jackal Jaunt Jay Koala Lancer Lemur Leopard Lion Magpie
    Marten Mink Mistral Mustang Newt Ocelot Otter Panda Pika Pronto Puma Quokka Raven Roamer Robin Rover Sabre Sparrow
    Stag Stoat Swift Tapir Tiger Tracker Vixen Wolf Wombat Wren Zebra"""
)
CARDS = words(
    """Aviator Backpack Barefoot Boarding Caravan Compass Concorde Discovery Drifter Equator Explorer Farland Ferryman
    Gateway Getaway Globe Gondola Highroad Hitchhike Itinerant Jetset Journey Landfall Latitude Longitude Mapmaker Marco
    Milepost Mileage Nomad Odyssey Outbound Overland Passage Pathfinder Pilgrim Polaris Postcard Quest Rambler Roadside
    Rover Runway Safari Seaway Sojourn Steamer Stopover Suitcase Tourist Trailhead Transit Trekker Vagabond Voyage Wanderer
    Waypoint Windrose Worldwide Yonder"""
)
TRIPS = words(
    """Adventure Alps Anniversary Archipelago Backpacking Beaches Bicycle Birdwatching Canyons Carnival Castles Cherryblossom
    Christmas Conference Congress Coral Cruise Culinary Desert Diving Easter Exchange Expo Family Festival Fishing Fjords
    Football Glaciers Golf Graduation Halloween Harvest Hiking Honeymoon Islands Jazz Jungle Kayak Lakes Marathon Museums
    Northern Opera Orchard Pilgrimage Pyramids Rafting Regatta Retreat Reunion Sabbatical Safari Sailing Skiing Snorkel
    Spa Summit Sunflower Surf Temples Thanksgiving Trekking Vineyards Volcano Wedding Whales Wildlife Winter Workshop"""
)
TIERS: tuple[Tier, ...] = ("blue", "blue", "silver", "gold", "blue", "silver")
KINDS: dict[RoomKind, int] = {"single": 100, "double": 150, "suite": 260}
"""Kind of room -> price in percent of the hotel's."""
CLASSES: tuple[CarClass, ...] = ("compact", "estate", "van")
PAIRS = ((0, 1), (2, 3), (4, 5), (0, 2), (1, 4))
"""Which of the six airports have flights to each other."""
STATUSES: tuple[Literal["ticketed", "checked_in", "held", "cancelled"], ...] = (
    "ticketed",
    "ticketed",
    "checked_in",
    "held",
    "held",
    "ticketed",
    "ticketed",
    "cancelled",
    "held",
)
"""Seeded bookings by number; the first three leave within a day, and the fifth is a hold that ran out."""


def seed_rows(world: World) -> Seed:
    """Six airports, 20 flights, 12 hotels with 36 rooms, 12 cars; six travelers with nine bookings."""
    airports = _airports(world)
    flights, fares, seats = _flights(world, list(airports))
    travelers = _travelers(world)
    cards = _cards(world)
    hotels, rooms = _hotels(world, list(airports))
    cars = _cars(world, list(airports))
    owners = [*rooms, *cars]
    blocks = {
        key: Block(key, owner, world.day(0, 25), world.rng.randint(1, 4))
        for key, owner in zip(world.ids("blk", len(owners)), owners, strict=True)
    }
    itineraries = {key: Itinerary(key, name) for key, name in zip(world.ids("itin", 4), world.picks(TRIPS, 4), strict=True)}
    valid = [key for key, card in cards.items() if card.expires > world.day(0, 0)]
    bookings = _bookings(world, flights, fares, seats, travelers, valid, list(itineraries))
    return {
        "airports": airports,
        "flights": flights,
        "fares": fares,
        "seats": seats,
        "travelers": travelers,
        "cards": cards,
        "bookings": bookings,
        "hotels": hotels,
        "rooms": rooms,
        "blocks": blocks,
        "stays": _stays(world, rooms, blocks, list(travelers), valid, list(itineraries)),
        "cars": cars,
        "rentals": _rentals(world, cars, blocks, list(travelers), valid, list(itineraries)),
        "itineraries": itineraries,
    }


def _airports(world: World) -> dict[str, Airport]:
    cities: dict[str, None] = {}
    while len(cities) < 6:
        cities[world.city()] = None
    places = world.rng.sample(PLACES, 6)
    return {
        key: Airport(key, city, country, zone)
        for key, city, (country, zone) in zip(world.ids("apt", 6), cities, places, strict=True)
    }


def _flights(world: World, airports: list[str]) -> tuple[dict[str, Flight], dict[str, Fare], dict[str, Seat]]:
    """Two flights each way between paired airports; the first of the first four ways leave within a day."""
    airlines = world.picks(AIRLINES, 4)
    ways = [(airports[a], airports[b], minutes) for (a, b) in PAIRS for minutes in [5 * world.rng.randint(14, 130)]]
    ways = [
        way for origin, destination, minutes in ways for way in ((origin, destination, minutes), (destination, origin, minutes))
    ]
    flights: dict[str, Flight] = {}
    numbers = world.numbers(2 * len(ways))
    for index, (key, number) in enumerate(zip(world.ids("flt", 2 * len(ways)), numbers, strict=True)):
        origin, destination, minutes = ways[index % len(ways)]
        hours = world.rng.uniform(4, 22) if index < 4 else world.rng.uniform(26, 14 * 24)
        departs = world.now + dt.timedelta(minutes=5 * int(hours * 12))
        flights[key] = Flight(key, f"{world.choice(airlines)} {number}", origin, destination, departs, minutes)
    fares: dict[str, Fare] = {}
    seats: dict[str, Seat] = {}
    fare_keys, seat_keys = iter(world.ids("fare", 3 * len(flights))), iter(world.ids("seat", 12 * len(flights)))
    for key, flight in flights.items():
        base = 100 * (40 + flight.minutes // 2 + world.rng.randrange(0, 60))
        basic = (0, world.choice((-1, 60_00)), world.choice((0, 0, 1)))
        flex = (world.choice((50, 80)), world.choice((0, 30_00)), 1)
        for name, cents, rules in (
            ("basic", base, basic),
            ("flex", base * 3 // 2, flex),
            ("business", base * world.choice((3, 4)), (100, 0, 2)),
        ):
            fare = next(fare_keys)
            fares[fare] = Fare(fare, key, name, cents, *rules)  # type: ignore[arg-type]
        for row, cabin in ((1, "business"), (10, "economy"), (11, "economy")):
            for letter in "ABCD":
                seat = next(seat_keys)
                fee = 0 if row == 1 else (25_00 if row == 10 else 0) + (8_00 if letter == "A" else 0)
                taken = letter != "B" and world.rng.random() < 0.4
                seats[seat] = Seat(seat, key, cabin, f"{row}{letter}", fee, taken)  # type: ignore[arg-type]
    return flights, fares, seats


def _travelers(world: World) -> dict[str, Traveler]:
    """Six travelers; the last one's passport has expired."""
    people = world.people()[:6]
    rows = {}
    for index, (key, person, tier) in enumerate(zip(world.ids("trav", 6), people, world.rng.sample(TIERS, 6), strict=True)):
        expires = world.day(-200, -5) if index == 5 else world.day(200, 2500)
        passport = f"{world.choice('CKLPX')}{world.rng.randrange(10**6, 10**7)}"
        rows[key] = Traveler(key, person.name, passport, expires, tier, world.rng.randrange(20, 900) * 100)
    return rows


def _cards(world: World) -> dict[str, TravelCard]:
    """Five cards, one of them expired."""
    rows = {}
    for index, (key, name) in enumerate(zip(world.ids("tcard", 5), world.picks(CARDS, 5), strict=True)):
        expires = world.day(-90, -3) if index == 2 else world.day(100, 1200)
        rows[key] = TravelCard(key, name, world.amount(500, 6000), expires)
    return rows


def _hotels(world: World, airports: list[str]) -> tuple[dict[str, Hotel], dict[str, HotelRoom]]:
    hotels, rooms = {}, {}
    keys, names = world.ids("htl", 2 * len(airports)), world.picks(HOTELS, 2 * len(airports))
    room_keys = iter(world.ids("hrm", len(KINDS) * len(keys)))
    for index, (key, name) in enumerate(zip(keys, names, strict=True)):
        stars = world.rng.randint(2, 5)
        suffix = world.choice(("Hotel", "Inn", "House", "Lodge"))
        hotels[key] = Hotel(key, f"{name} {suffix}", airports[index % len(airports)], stars)
        price = 20 * stars + world.rng.randrange(0, 30)
        for kind, percent in KINDS.items():
            room = next(room_keys)
            rooms[room] = HotelRoom(room, key, kind, price * percent // 100 * 100)
    return hotels, rooms


def _cars(world: World, airports: list[str]) -> dict[str, Car]:
    keys, names = world.ids("rcar", 2 * len(airports)), world.picks(CARS, 2 * len(airports))
    return {
        key: Car(key, name, airports[index % len(airports)], world.choice(CLASSES), world.amount(25, 110))
        for index, (key, name) in enumerate(zip(keys, names, strict=True))
    }


def _bookings(
    world: World,
    flights: Mapping[str, Flight],
    fares: Mapping[str, Fare],
    seats: Mapping[str, Seat],
    travelers: Mapping[str, Traveler],
    cards: list[str],
    itineraries: list[str],
) -> dict[str, Booking]:
    """One booking each for different flights; the first five travelers take turns, and none flies twice at a time."""
    rows: dict[str, Booking] = {}
    order = [*list(flights)[:3], *world.rng.sample(list(flights)[4:], len(STATUSES) - 3)]
    busy: dict[str, list[tuple[dt.datetime, dt.datetime]]] = {key: [] for key in travelers}
    keys = list(travelers)
    for number, (key, flight_id, status) in enumerate(zip(world.ids("bkg", len(STATUSES)), order, STATUSES, strict=True)):
        flight = flights[flight_id]
        slot = (flight.departs, flight.arrives)
        traveler = next(
            keys[(number + step) % 5]
            for step in range(5)
            if all(slot[1] <= first or last <= slot[0] for first, last in busy[keys[(number + step) % 5]])
        )
        busy[traveler].append(slot)
        tier = travelers[traveler].tier
        fare = world.choice([f for f in fares.values() if f.flight_id == flight_id])
        until = world.now + dt.timedelta(hours=-5 if number == 4 else world.rng.randint(6, 20))
        if status == "held":
            rows[key] = Booking(key, fare.fare_id, traveler, "held", fare.cents, until)
            continue
        bags = world.choice((0, 0, 1, 2))
        seat_id = ""
        if status == "checked_in" or number == 0 or (status == "ticketed" and world.rng.random() < 0.5):
            cabin = "business" if fare.fare_class == "business" else "economy"
            free = [s for s in seats.values() if s.flight_id == flight_id and s.cabin == cabin and not s.taken]
            seat_id = world.choice(free).seat_id
        paid = fare.cents + seat_cents(seats.get(seat_id), fare, tier) + bag_cents(bags, tier)
        if status == "cancelled":
            paid = fare.cents - fare.cents * fare.refund_percent // 100
        itinerary = world.choice(itineraries[:3]) if status != "cancelled" else ""
        rows[key] = Booking(
            key, fare.fare_id, traveler, status, fare.cents, until, bags, seat_id, 0, paid, 0, world.choice(cards), itinerary
        )
    return rows


def _free_day(world: World, blocks: Mapping[str, Block], owner: str, low: int, high: int, count: int) -> str:
    """A day from which the owner is free for `count` days."""
    taken = [days_of(b.day, b.days) for b in blocks.values() if b.owner_id == owner]
    while True:
        day = world.day(low, high)
        if not clash(days_of(day, count), taken):
            return day


def _stays(
    world: World,
    rooms: Mapping[str, HotelRoom],
    blocks: Mapping[str, Block],
    travelers: list[str],
    cards: list[str],
    itineraries: list[str],
) -> dict[str, Stay]:
    """Four stays in rooms of different hotels, one of them cancelled."""
    rows: dict[str, Stay] = {}
    hotels = world.rng.sample(sorted({room.hotel_id for room in rooms.values()}), 4)
    for number, (key, hotel) in enumerate(zip(world.ids("stay", 4), hotels, strict=True)):
        room = world.choice([r for r in rooms.values() if r.hotel_id == hotel])
        nights = world.rng.randint(1, 4)
        day = _free_day(world, blocks, room.hotel_room_id, 3, 40, nights)
        status: StayStatus = "cancelled" if number == 3 else "booked"
        paid = nights_cents(room, day, nights) if number < 3 else 0
        itinerary = world.choice(itineraries[:3]) if number < 3 else ""
        rows[key] = Stay(
            key, room.hotel_room_id, world.choice(travelers), day, nights, status, paid, world.choice(cards), itinerary
        )
    return rows


def _rentals(
    world: World,
    cars: Mapping[str, Car],
    blocks: Mapping[str, Block],
    travelers: list[str],
    cards: list[str],
    itineraries: list[str],
) -> dict[str, Rental]:
    """Three rentals of different cars, one of them cancelled."""
    rows: dict[str, Rental] = {}
    for number, (key, car_id) in enumerate(zip(world.ids("rent", 3), world.rng.sample(sorted(cars), 3), strict=True)):
        days, insured = world.rng.randint(1, 9), world.rng.random() < 0.5
        day = _free_day(world, blocks, car_id, 3, 40, days)
        status: StayStatus = "cancelled" if number == 2 else "booked"
        paid = rental_cents(cars[car_id], days, insured) if number < 2 else 0
        itinerary = world.choice(itineraries[:3]) if number < 2 else ""
        rows[key] = Rental(
            key, car_id, world.choice(travelers), day, days, insured, status, paid, world.choice(cards), itinerary
        )
    return rows


def today_at(now: dt.datetime, airport: Airport) -> str:
    """The local date at an airport."""
    return local(now, airport.zone).date().isoformat()
