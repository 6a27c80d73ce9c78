"""The vehicle server's seeds, and the car under random calls: nothing moves in the wrong mode, no energy is made or owed."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.servers.sampler import sample
from tasks.servers.session import Session
from tasks.servers.vehicle import Vehicle
from tasks.servers.vehicle_rows import PRICES
from tasks.servers.world import HELD_OUT_FROM, World, words
from tests.servers.driver import Driver, ok, random_arguments, state_of
from tests.servers.machine import machine, world
from tests.servers.test_vehicle import drive_off, opened

PLUGS: dict[int, dict[str, int]] = {}


def check(session: Session) -> None:
    """What holds for the car in every state."""
    server: Any = state_of(session, Vehicle)
    if server is None:
        return
    car, route = server.car["car"], server.route["route"]
    under_way = [row for row in server.charges.values() if row.status == "charging"]
    used = {row.station_id for row in under_way}
    if session.seed not in PLUGS:
        seeded = Vehicle.seed(World(session.seed, "vehicle"))
        first = {row.station_id for row in seeded["charges"].values() if row.status == "charging"}
        PLUGS[session.seed] = {key: row.free + (key in first) for key, row in seeded["stations"].items()}
    assert 0 <= car.battery <= car.capacity
    assert car.profile_id in server.profiles
    if car.gear != "P":
        assert car.key_id, "only a running car leaves park"
    if car.key_id:
        assert server.keys[car.key_id].active and server.keys[car.key_id].profile_id == car.profile_id
        assert not car.charge_id, "no running engine at the plug"
    if car.speed:
        assert car.mode == "driving" and not car.brake and not car.parking_brake
        assert car.speed <= server.profiles[car.profile_id].max_speed
    assert car.cruise in (0, car.speed)
    if car.mode == "driving":
        assert not any(door.open for door in server.doors.values())
        assert all(seat.belted for seat in server.seats.values() if seat.occupied)
    assert not any(door.open and door.locked for door in server.doors.values())
    if car.wipers != "off" or car.lights in ("low", "high"):
        assert car.key_id
    if server.climate["climate"].on:
        assert car.key_id or car.charge_id
    assert len(set(route.stops)) == len(route.stops) and all(stop in server.destinations for stop in route.stops)
    assert [row.charge_id for row in under_way] == ([car.charge_id] if car.charge_id else [])
    for station in server.stations.values():
        assert station.free == PLUGS[session.seed][station.station_id] - (station.station_id in used) >= 0
    owner = next(row.profile_id for row in server.profiles.values() if row.role == "owner")
    assert any(key.active and key.profile_id == owner for key in server.keys.values())
    assert all(key.profile_id in server.profiles for key in server.keys.values())
    assert all(trip.profile_id in server.profiles and trip.length > 0 for trip in server.trips.values())
    booked = [visit for visit in server.visits.values() if visit.status == "booked"]
    assert len({visit.day for visit in booked}) == len(booked), "one visit a day"
    for visit in booked:
        garage = server.garages[visit.garage_id]
        assert set(visit.works) <= set(garage.works)
        assert visit.day not in garage.full and dt.date.fromisoformat(visit.day).weekday() != garage.weekday
        assert visit.cents == sum(PRICES[work] for work in visit.works) * garage.level // 100


TestVehicle = machine(Vehicle, check)


MOVES = words(
    """press_brake release_brake shift_gear shift_gear set_driving_speed set_driving_speed set_cruise set_parking_brake
    drive_distance drive_distance drive_distance start_navigation stop_engine start_engine close_door open_door set_climate"""
)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_drives_keep_the_invariants(seed: int) -> None:
    """From a driving car on, where calls that are random from the start hardly come."""
    rng = random.Random(seed)
    with opened(parked=True) as session:
        driver = Driver(session, rng, sample(session))
        drive_off(session)
        ok(session, "start_navigation", destination_id=ok(session, "list_destinations")[1]["destination_id"])
        driver.digest = session.digest()
        for _ in range(30):
            name = rng.choice(MOVES) if rng.random() < 0.8 else rng.choice(sorted(Vehicle.specs))
            driver.call(name, random_arguments(world(Vehicle).specs[name], driver.live, rng, 0.03))
            check(session)


@pytest.mark.parametrize("seed", [*range(24), *range(HELD_OUT_FROM, HELD_OUT_FROM + 6)])
def test_seeds_are_consistent(seed: int) -> None:
    with world(Vehicle).session(seed) as found:
        nearest = ok(found, "list_charge_stations")[0]
        check(found)
        assert nearest["distance_km"] == 0.0, "a charger is where the car stands"
        places = [(d.x, d.y) for d in state_of(found, Vehicle).destinations.values()]
        assert len(places) == len(set(places)) == 10
