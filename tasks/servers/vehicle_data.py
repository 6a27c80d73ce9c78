"""Seeded data of the vehicle server: word lists, the car as its drivers left it, and what surrounds it.

Run: nothing here runs by itself; `tasks.servers.vehicle` is the server.

Left out: other cars.
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from tasks.servers import vehicle_types as t
from tasks.servers.state import Seed
from tasks.servers.typed import date_of
from tasks.servers.vehicle_rows import (
    PRICES,
    Car,
    CarKey,
    CarSeat,
    Charge,
    Climate,
    Destination,
    Door,
    Garage,
    Profile,
    Route,
    Station,
    Tire,
    Trip,
    Visit,
    Window,
    cost,
)
from tasks.servers.world import World, words

PLACES = words(
    """Ashgrove Birchwood Brookside Cedarhill Chestnut Claremont Coppergate Dovecote Eastgate Fairview Fernbank Foxhollow
    Glenview Goldcrest Greenfield Hawthorn Hazelwood Hillcrest Ivybridge Kingsway Lakeside Lindenhof Longmeadow Millbrook
    Mossbank Northfield Oakdale Parkside Pinehurst Quarryside Redwater Ridgeway Riverside Rosehill Sandbank Silverlake
    Southgate Springhill Stonebridge Sunnybank Thornhill Valleyfield Waterside Westbrook Whitecliff Willowbank Windmere
    Woodlands Wrenfield Yewtree Ambleside Beechmount Bramblewood Bridgeford Grangewood Wildrose"""
)
STATIONS = words(
    """Amperia Arcline Boltway Brightplug Chargely Coulomb Currentis Dynamo Electra Emberplug Evolta Fastvolt Flowatt Greencell
    Gridpoint Ionway Jouleport Kilovolt Lightning Megaplug Neonvolt Ohmstead Plugwise Powerbay Quickamp Rapidwatt Recharge
    Sparkway Sunplug Surgepoint Teravolt Thundercell Turbocharge Ultravolt Voltaire Voltana Wattage Zapstop
    Zephyrcell Circuitry Easyplug Farad Galvani Maxwatt Powernest Roadwatt Solarbay Starplug Unicharge"""
)
GARAGES = words(
    """Axleworks Autocraft Bearings Benchmark Bodyshop Camshaft Carburet Carcare Chassis Clutchman Cogwheel Crankcase Drivewell
    Enginery Fanbelt Flywheel Fullthrottle Gasket Gearbox Greasemonkey Gridline Handbrake Hubcap Ignition Jumpstart Kickstart
    Lugnut Manifold Motorhaus Overdrive Pistonry Pitstop Quicklane Radialworks Roadworthy Sparkplug Speedshop Springworks
    Steering Torque Tuneup Turnpike Valvework Wheelhouse Wrenchmen"""
)
SUFFIXES: dict[t.PlaceKind, str] = {
    "home": "House",
    "work": "Office",
    "shop": "Mall",
    "school": "School",
    "sport": "Gym",
    "health": "Clinic",
    "leisure": "Park",
}
KINDS: tuple[t.PlaceKind, ...] = ("home", "work", "shop", "school", "sport", "health", "leisure", "shop", "leisure", "sport")
ROLES: tuple[t.Role, ...] = ("owner", "family", "family", "family", "valet")
PURPOSES: tuple[t.Purpose, ...] = get_args(t.Purpose)
STAGES = ("parked", "parked", "braked", "ready", "driving", "charging")
"""What the car is doing when a session opens; braked: parked with the brake pressed."""
KEYS: tuple[t.KeyKind, ...] = get_args(t.KeyKind)


def seed_rows(world: World) -> Seed:
    """One car: 5 drivers with 8 keys, 10 destinations, 6 charge stations, 5 garages, 12 trips, 6 charges, 5 visits.

    The car stands where a charger is; worlds differ in what it is doing.
    """
    stage = STAGES[world.seed % len(STAGES)]
    profiles, keys = _drivers(world)
    destinations = _destinations(world)
    stations = {
        key: Station(
            key,
            name,
            world.choice(list(destinations)),
            world.choice((11, 22, 50, 150)),
            world.rng.randrange(25, 80),
            world.choice((0, 1, 2, 3, 4)),
        )
        for key, name in zip(world.ids("chst", 6), world.picks(STATIONS, 6), strict=True)
    }
    near = next(iter(stations.values()))
    stations[near.station_id] = replace(near, free=1 if stage == "charging" else 2)
    charges = {}
    for number, key in enumerate(world.ids("chg", 6)):
        station, wh = world.choice(list(stations.values())), world.rng.randrange(4_000, 42_000)
        charges[key] = Charge(key, station.station_id, world.day(-60, -1), wh, cost(wh, station.price), "finished")
        if number == 5 and stage == "charging":
            wh, today = wh // 10, world.now.date().isoformat()
            charges[key] = Charge(key, near.station_id, today, wh, cost(wh, near.price), "charging")
    place = destinations[near.destination_id]
    away = [row.destination_id for row in destinations.values() if row is not place]
    goal = (world.choice(away),) if stage == "driving" or world.choice((True, False)) else ()
    trips = {
        key: Trip(
            key,
            world.choice(list(profiles)),
            world.day(-40, 0),
            (length := world.rng.randrange(15, 900)),
            length * world.rng.randrange(14, 22),
            world.choice(PURPOSES),
        )
        for key in world.ids("tlog", 12)
    }
    garages = _garages(world)
    return {
        "car": {"car": _car(world, stage, profiles, keys, place, charges)},
        "climate": {"climate": Climate(False, world.rng.randrange(18, 24), world.rng.randrange(1, 6), "face")},
        "route": {"route": Route(goal)},
        "doors": _doors(world, stage),
        "windows": {
            key: Window(key, place, world.choice((0, 0, 0, 30, 100)))
            for key, place in zip(world.ids("win", 5), get_args(t.WindowPlace), strict=True)
        },
        "seats": _seats(world, stage),
        "tires": {
            key: Tire(key, place, world.rng.randrange(19, 25) * 10, 230 if place.startswith("front") else 240)
            for key, place in zip(world.ids("tire", 4), get_args(t.TirePlace), strict=True)
        },
        "profiles": profiles,
        "keys": keys,
        "destinations": destinations,
        "stations": stations,
        "charges": charges,
        "trips": trips,
        "garages": garages,
        "visits": _visits(world, garages),
    }


def _drivers(world: World) -> tuple[dict[str, Profile], dict[str, CarKey]]:
    profiles = {
        key: Profile(
            key,
            person.name,
            role,
            {"owner": 180, "family": world.choice((110, 130, 150)), "valet": 60}[role],
            world.rng.randrange(18, 24),
            world.rng.randrange(2, 9),
        )
        for key, person, role in zip(world.ids("drv", 5), world.people(), ROLES, strict=False)
    }
    owners = [*profiles, *list(profiles)[:3]]
    keys = {
        key: CarKey(key, profile, KEYS[number // 5 + number % 2], number < 6 or world.choice((True, False)))
        for number, (key, profile) in enumerate(zip(world.ids("ckey", 8), owners, strict=True))
    }
    return profiles, keys


def _destinations(world: World) -> dict[str, Destination]:
    spots = world.rng.sample(range(30 * 30), len(KINDS))
    named = zip(world.ids("dest", len(KINDS)), world.picks(PLACES, len(KINDS)), KINDS, spots, strict=False)
    return {
        key: Destination(key, f"{name} {SUFFIXES[kind]}", kind, spot % 30 * 10 + 3, spot // 30 * 10 + 7)
        for key, name, kind, spot in named
    }


def _garages(world: World) -> dict[str, Garage]:
    garages = {}
    for key, name in zip(world.ids("gar", 5), world.picks(GARAGES, 5), strict=True):
        works = tuple(sorted(world.rng.sample(list(PRICES), world.rng.randrange(4, 6))))
        full = tuple(sorted({world.day(1, 30) for _ in range(8)}))
        garages[key] = Garage(key, name, works, world.rng.randrange(80, 130), world.rng.randrange(7), full)
    return garages


def _visits(world: World, garages: dict[str, Garage]) -> dict[str, Visit]:
    statuses: tuple[t.VisitStatus, ...] = ("done", "done", "done", "cancelled", "booked")
    visits = {}
    for key, garage, status in zip(world.ids("svc", 5), garages.values(), statuses, strict=True):
        works = tuple(sorted(world.rng.sample(garage.works, 2)))
        price = sum(PRICES[work] for work in works) * garage.level // 100
        day = world.day(31, 50) if status == "booked" else world.day(-90, -2)
        while status == "booked" and date_of(day).weekday() == garage.weekday:
            day = world.day(31, 50)
        visits[key] = Visit(key, garage.garage_id, day, works, price, status)
    return visits


def _car(
    world: World,
    stage: str,
    profiles: dict[str, Profile],
    keys: dict[str, CarKey],
    place: Destination,
    charges: dict[str, Charge],
) -> Car:
    running = stage in ("ready", "driving")
    profile = list(profiles)[world.choice((0, 0, 0, 1, 4))]
    key = next(k for k in keys.values() if k.profile_id == profile and k.active).key_id if running else ""
    capacity = world.choice((52_000, 64_000, 77_000))
    odometer = world.rng.randrange(20_000, 900_000)
    return Car(
        profile_id=profile,
        key_id=key,
        gear="D" if stage == "driving" else "P",
        brake=stage in ("braked", "ready"),
        parking_brake=stage != "driving" and world.choice((True, True, False)),
        speed=world.choice((30, 40, 50)) if stage == "driving" else 0,
        cruise=0,
        x=place.x,
        y=place.y,
        odometer=odometer,
        battery=capacity * world.rng.randrange(15, 78) // 100,
        capacity=capacity,
        charge_id=next((row.charge_id for row in charges.values() if row.status == "charging"), ""),
        charge_limit=80,
        since=odometer,
        used=0,
        lights=world.choice(("off", "off", "low")) if running else "off",
        wipers="off",
    )


def _seats(world: World, stage: str) -> dict[str, CarSeat]:
    seats = {}
    for key, place in zip(world.ids("cseat", 5), get_args(t.SeatPlace), strict=True):
        occupied = place == "driver" or world.choice((True, False, False))
        seats[key] = CarSeat(key, place, occupied, occupied and (stage == "driving" or world.choice((True, False))))
    return seats


def _doors(world: World, stage: str) -> dict[str, Door]:
    doors = {}
    locked = world.choice((True, False))
    for key, place in zip(world.ids("door", 5), get_args(t.DoorPlace), strict=True):
        opened = stage != "driving" and not locked and world.choice((True, False, False, False))
        doors[key] = Door(key, place, opened, locked)
    return doors
