"""The vehicle server: its mechanics and its refusals. Random calls are in test_vehicle_random."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tasks.servers.session import Session
from tasks.servers.vehicle import Vehicle
from tasks.servers.vehicle_rows import PRICES
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import world


def opened(parked: bool) -> Session:
    """A session whose owner is the driver, in a car that is ready, or parked with nothing under way."""
    for seed in range(200):
        session = world(Vehicle).session(seed)
        mode = ok(session, "get_vehicle_status")["mode"]
        server = state_of(session, Vehicle)
        car = server.car["car"]
        idle = not (car.brake or car.charge_id or server.route["route"].stops)
        if server.profiles[car.profile_id].role == "owner" and (idle and mode == "parked" if parked else mode == "ready"):
            return session
        session.close()
    raise AssertionError("no such seed")


@pytest.fixture
def session() -> Iterator[Session]:
    with opened(parked=True) as found:
        yield found


def owner_key(session: Session) -> str:
    owner = next(p["profile_id"] for p in ok(session, "list_driver_profiles") if p["role"] == "owner")
    return next(str(k["key_id"]) for k in ok(session, "list_car_keys", profile_id=owner) if k["active"])


def make_ready(session: Session) -> None:
    """Engine on, doors closed, belts fastened, brake pressed, parking brake off."""
    for door in ok(session, "list_doors"):
        ok(session, "close_door", door_id=door["door_id"])
    for seat in ok(session, "list_car_seats"):
        if seat["occupied"]:
            ok(session, "fasten_seat_belt", seat_id=seat["seat_id"])
    ok(session, "press_brake")
    ok(session, "start_engine", key_id=owner_key(session))
    ok(session, "set_parking_brake", engaged=False)


def drive_off(session: Session, speed: int = 50) -> None:
    make_ready(session)
    ok(session, "shift_gear", gear="D")
    ok(session, "release_brake")
    ok(session, "set_driving_speed", speed=speed)


def test_the_definition() -> None:
    check_server(Vehicle, tools=20)
    check_seeding(Vehicle)


def test_the_engine_starts_with_the_brake_pressed_and_an_active_key(session: Session) -> None:
    key = owner_key(session)
    assert "brake" in refused(session, "wrong_state", "start_engine", key_id=key)
    ok(session, "press_brake")
    refused(session, "not_found", "start_engine", key_id="ckey_000")
    started = ok(session, "start_engine", key_id=key)
    assert started["mode"] == "ready"
    refused(session, "wrong_state", "start_engine", key_id=key)
    refused(session, "wrong_state", "set_car_key", key_id=key, active=False)
    assert ok(session, "stop_engine") == {"mode": "parked"}, "no distance, no trip"
    other = next(
        k["key_id"]
        for p in ok(session, "list_driver_profiles")
        if p["role"] != "owner"
        for k in ok(session, "list_car_keys", profile_id=p["profile_id"])
        if k["active"]
    )
    ok(session, "set_car_key", key_id=other, active=False)
    refused(session, "denied", "start_engine", key_id=other)


def test_gears_need_brake_doors_and_belts(session: Session) -> None:
    refused(session, "wrong_state", "shift_gear", gear="D")
    make_ready(session)
    ok(session, "release_brake")
    assert "brake" in refused(session, "wrong_state", "shift_gear", gear="D")
    ok(session, "press_brake")
    door = ok(session, "find_door", place="rear_left")["door_id"]
    ok(session, "unlock_doors", door_ids=[door])
    ok(session, "open_door", door_id=door)
    refused(session, "wrong_state", "lock_doors", door_ids=[door])
    assert door in refused(session, "wrong_state", "shift_gear", gear="D")
    ok(session, "close_door", door_id=door)
    seat = ok(session, "find_car_seat", place="driver")["seat_id"]
    ok(session, "unfasten_seat_belt", seat_id=seat)
    assert seat in refused(session, "wrong_state", "shift_gear", gear="R")
    ok(session, "fasten_seat_belt", seat_id=seat)
    assert ok(session, "shift_gear", gear="D") == {"gear": "D", "mode": "driving"}
    for tool, arguments in (
        ("open_door", {"door_id": door}),
        ("unlock_doors", {"door_ids": [door]}),
        ("unfasten_seat_belt", {"seat_id": seat}),
        ("stop_engine", {}),
        ("inflate_tire", {"tire_id": ok(session, "find_tire", place="front_left")["tire_id"], "pressure": 240}),
    ):
        refused(session, "wrong_state", tool, **arguments)


def test_speed_cruise_and_brakes(session: Session) -> None:
    make_ready(session)
    refused(session, "wrong_state", "set_driving_speed", speed=30)
    ok(session, "shift_gear", gear="R")
    refused(session, "wrong_state", "set_driving_speed", speed=10)
    ok(session, "release_brake")
    refused(session, "invalid_value", "set_driving_speed", speed=21)
    ok(session, "set_driving_speed", speed=20)
    refused(session, "wrong_state", "set_parking_brake", engaged=True)
    refused(session, "wrong_state", "set_cruise", speed=60)
    assert ok(session, "press_brake") == {"brake_pressed": True, "speed": 0}
    ok(session, "shift_gear", gear="D")
    ok(session, "set_parking_brake", engaged=True)
    ok(session, "release_brake")
    refused(session, "wrong_state", "set_parking_brake", engaged=False)
    refused(session, "wrong_state", "set_driving_speed", speed=50)
    ok(session, "press_brake")
    ok(session, "set_parking_brake", engaged=False)
    ok(session, "release_brake")
    ok(session, "set_driving_speed", speed=120)
    roof = ok(session, "find_window", place="sunroof")["window_id"]
    refused(session, "wrong_state", "set_window", window_id=roof, open_percent=10)
    assert ok(session, "set_cruise", speed=100) == {"speed": 100, "cruise": 100}
    ok(session, "set_window", window_id=roof, open_percent=10)
    assert ok(session, "cancel_cruise") == {"speed": 100, "cruise": 0}
    refused(session, "wrong_state", "cancel_cruise")
    refused(session, "wrong_state", "set_vehicle_lights", mode="off")


def test_driving_along_a_route_costs_energy_and_is_logged(session: Session) -> None:
    near, far, goal = ok(session, "list_destinations", limit=50)[1:4]
    drive_off(session)
    refused(session, "wrong_state", "drive_distance", distance_km=1)
    here = ok(session, "list_destinations")[0]["destination_id"]
    refused(session, "conflict", "start_navigation", destination_id=here)
    refused(session, "invalid_value", "start_navigation", destination_id=here, via=[here])
    route = ok(session, "start_navigation", destination_id=goal["destination_id"], via=[near["destination_id"]])
    assert route["stops"] == 1 and route["left_km"] >= near["distance_km"]
    before = state_of(session, Vehicle).car["car"]
    driven = ok(session, "drive_distance", distance_km=near["distance_km"])
    assert driven["left_km"] == pytest.approx(route["left_km"] - near["distance_km"])
    assert ok(session, "get_navigation")["stops"] == 0
    assert ok(session, "find_destination", name=near["name"])["distance_km"] == 0.0
    ok(session, "drive_distance", distance_km=100)
    assert ok(session, "find_destination", name=goal["name"])["distance_km"] == 0.0
    status = ok(session, "get_vehicle_status")
    assert (status["speed"], status["gear"]) == (0, "D"), "it stops where it arrives"
    refused(session, "wrong_state", "get_navigation")
    after = state_of(session, Vehicle).car["car"]
    assert after.odometer - before.odometer == round(route["left_km"] * 10)
    assert before.battery - after.battery == after.used > 0
    ok(session, "press_brake")
    ok(session, "shift_gear", gear="P")
    trip = ok(session, "stop_engine")["trip_log_id"]
    shown = ok(session, "get_trip_log", trip_log_id=trip)
    assert shown["km"] == pytest.approx(route["left_km"]) and shown["purpose"] == "private"
    assert ok(session, "set_trip_purpose", trip_log_id=trip, purpose="business")["purpose"] == "business"
    assert far["destination_id"] not in (near["destination_id"], goal["destination_id"])


def test_the_battery_ends_the_drive(session: Session) -> None:
    drive_off(session, speed=150)
    there, back = (row["destination_id"] for row in ok(session, "list_destinations", limit=50)[-2:])
    for _ in range(60):
        if not state_of(session, Vehicle).route["route"].stops:
            ok(session, "start_navigation", destination_id=there)
            there, back = back, there
            ok(session, "set_driving_speed", speed=150)
        result = session.call("drive_distance", {"distance_km": 100})
        if not result.ok:
            break
    assert result.error is not None and result.error.kind == "insufficient"
    assert ok(session, "get_vehicle_status")["battery_percent"] < 20
    assert not ok(session, "get_navigation")["enough_energy"]


def test_charging_takes_a_plug_fills_up_to_the_limit_and_is_paid(session: Session) -> None:
    rows = ok(session, "list_charge_stations", limit=50)
    here = rows[0]
    away = next(row for row in rows if row["distance_km"])
    refused(session, "wrong_state", "start_charge", station_id=away["station_id"])
    before = ok(session, "get_vehicle_status")["battery_percent"]
    station = next(row for row in rows if row["distance_km"] == 0 and row["free_plugs"])
    shown = ok(session, "find_charge_station", name=station["name"].upper())
    charge = ok(session, "start_charge", station_id=station["station_id"])["charge_id"]
    assert ok(session, "find_charge_station", name=station["name"])["free_plugs"] == station["free_plugs"] - 1
    ok(session, "press_brake")
    assert charge in refused(session, "wrong_state", "start_engine", key_id=owner_key(session))
    ok(session, "set_climate", settings={"temperature": 21})
    first = ok(session, "continue_charge", charge_id=charge, minutes=1)
    assert first["kwh"] == pytest.approx(shown["power_kw"] / 60, abs=0.01)
    while (result := session.call("continue_charge", {"charge_id": charge, "minutes": 600})).ok:
        assert result.content["battery_percent"] <= 80
    assert result.error is not None and result.error.kind == "wrong_state"
    done = ok(session, "finish_charge", charge_id=charge)
    assert done["cost"] == pytest.approx(done["kwh"] * shown["price_per_kwh"], abs=0.02)
    assert before < 80 == ok(session, "get_vehicle_status")["battery_percent"]
    assert not ok(session, "get_climate")["on"]
    refused(session, "wrong_state", "finish_charge", charge_id=charge)
    assert ok(session, "get_charge", charge_id=charge)["station_id"] == station["station_id"]
    assert here["distance_km"] == 0


def test_climate_needs_energy_from_the_engine_or_a_plug(session: Session) -> None:
    refused(session, "wrong_state", "set_climate", settings={"temperature": 20})
    make_ready(session)
    refused(session, "invalid_arguments", "set_climate", settings={"temperature": 20.3})
    refused(session, "invalid_arguments", "set_climate", settings={"temperature": 20, "color": "red"})
    range_before = ok(session, "get_vehicle_status")["range_km"]
    shown = ok(session, "set_climate", settings={"temperature": 20, "fan": 4, "flow": "feet"})
    assert shown == {"on": True, "temperature": 20, "fan": 4, "flow": "feet"}
    assert ok(session, "get_vehicle_status")["range_km"] < range_before
    ok(session, "turn_off_climate")
    assert ok(session, "get_vehicle_status")["range_km"] == range_before


def test_only_the_owner_manages_drivers_and_keys(session: Session) -> None:
    made = ok(session, "create_driver_profile", name="Robin Vale", settings={"temperature": 21, "max_speed": 90})
    refused(session, "conflict", "create_driver_profile", name="robin vale", settings={"temperature": 21, "max_speed": 90})
    robin = made["profile_id"]
    refused(session, "denied", "activate_driver_profile", profile_id=robin)
    key = ok(session, "pair_car_key", profile_id=robin, kind="phone")["key_id"]
    refused(session, "conflict", "pair_car_key", profile_id=robin, kind="phone")
    ok(session, "press_brake")
    assert ok(session, "start_engine", key_id=key)["profile_id"] == robin
    assert "owner" in refused(session, "denied", "set_profile_speed_limit", profile_id=robin, max_speed=180)
    ok(session, "stop_engine")
    make_ready(session)
    ok(session, "set_profile_speed_limit", profile_id=robin, max_speed=40)
    assert ok(session, "delete_driver_profile", profile_id=robin) == {"profile_id": robin, "keys_removed": 1}
    refused(session, "not_found", "list_car_keys", profile_id=robin)


def test_a_valet_is_slow_and_stays_the_driver(session: Session) -> None:
    profiles = ok(session, "list_driver_profiles")
    valet = next(p["profile_id"] for p in profiles if p["role"] == "valet")
    owner = next(p["profile_id"] for p in profiles if p["role"] == "owner")
    drive_off(session)
    ok(session, "press_brake")
    ok(session, "shift_gear", gear="P")
    ok(session, "stop_engine")
    key = ok(session, "list_car_keys", profile_id=valet)[0]["key_id"]
    ok(session, "set_car_key", key_id=key, active=True)
    ok(session, "start_engine", key_id=key)
    ok(session, "shift_gear", gear="D")
    ok(session, "release_brake")
    assert "60" in refused(session, "denied", "set_driving_speed", speed=61)
    ok(session, "press_brake")
    ok(session, "shift_gear", gear="P")
    ok(session, "stop_engine")
    refused(session, "denied", "activate_driver_profile", profile_id=owner)
    refused(session, "denied", "set_car_key", key_id=key, active=False)


def test_the_owner_keeps_a_key(session: Session) -> None:
    owner = next(p["profile_id"] for p in ok(session, "list_driver_profiles") if p["role"] == "owner")
    keys = [k["key_id"] for k in ok(session, "list_car_keys", profile_id=owner) if k["active"]]
    for key in keys[:-1]:
        ok(session, "set_car_key", key_id=key, active=False)
    refused(session, "denied", "set_car_key", key_id=keys[-1], active=False)
    refused(session, "denied", "delete_driver_profile", profile_id=owner)


def test_tires_and_windows(session: Session) -> None:
    tire = ok(session, "list_tires")[0]
    refused(session, "invalid_value", "inflate_tire", tire_id=tire["tire_id"], pressure=tire["wanted"] + 41)
    for row in ok(session, "list_tires", only_low=True):
        assert row["pressure"] < row["wanted"]
        ok(session, "inflate_tire", tire_id=row["tire_id"], pressure=row["wanted"])
    assert ok(session, "list_tires", only_low=True) == []
    window = ok(session, "list_windows")[0]["window_id"]
    refused(session, "wrong_state", "set_window", window_id=window, open_percent=1)
    ok(session, "set_window", window_id=window, open_percent=0)
    refused(session, "wrong_state", "set_wipers", mode="fast")
    refused(session, "wrong_state", "set_vehicle_lights", mode="high")


def test_service_visits_have_one_slot_a_day(session: Session) -> None:
    garage = ok(session, "list_garages", limit=50)[0]
    key, work = garage["garage_id"], garage["works"][0]
    day = ok(session, "next_service_day", garage_id=key)["day"]
    visit = ok(session, "book_service_visit", garage_id=key, works=[work, work])
    assert visit["price"] > 0 and visit["day"] == day, "the first free day, unless told otherwise"
    refused(session, "conflict", "book_service_visit", garage_id=key, day=day, works=[work])
    later = ok(session, "next_service_day", garage_id=key, after=day)["day"]
    assert later > day
    absent = next(w for w in PRICES if w not in garage["works"])
    assert absent in refused(session, "invalid_value", "book_service_visit", garage_id=key, day=later, works=[absent])
    refused(session, "invalid_value", "book_service_visit", garage_id=key, day="2026-02-31", works=[work])
    refused(session, "invalid_value", "move_service_visit", service_visit_id=visit["service_visit_id"], day="2099-12-31")
    after = ok(session, "next_service_day", garage_id=key, after=later)["day"]
    ok(session, "move_service_visit", service_visit_id=visit["service_visit_id"], day=after)
    assert ok(session, "find_service_visit", garage_id=key)["day"] >= after
    assert ok(session, "cancel_service_visit", service_visit_id=visit["service_visit_id"])["status"] == "cancelled"
    refused(session, "wrong_state", "move_service_visit", service_visit_id=visit["service_visit_id"], day=day)
    ok(session, "book_service_visit", garage_id=key, day=later, works=[work])


def test_trips_add_up_and_belong_to_their_drivers(session: Session) -> None:
    for profile in ok(session, "list_driver_profiles"):
        key = profile["profile_id"]
        trips = [ok(session, "get_trip_log", trip_log_id=t["trip_log_id"]) for t in ok(session, "list_trip_logs", limit=50)]
        own = [trip for trip in trips if trip["profile_id"] == key]
        total = ok(session, "sum_trip_logs", profile_id=key)
        assert total["trips"] == len(own) and total["km"] == pytest.approx(sum(trip["km"] for trip in own))
        if own:
            longest = ok(session, "find_longest_trip", profile_id=key)
            assert longest["km"] == max(trip["km"] for trip in own)
            refused(session, "conflict" if profile["role"] != "owner" else "denied", "delete_driver_profile", profile_id=key)


def test_a_running_car_is_ready() -> None:
    with opened(parked=False) as session:
        assert ok(session, "get_vehicle_status")["mode"] == "ready"
        profile = ok(session, "list_driver_profiles")[1]["profile_id"]
        refused(session, "wrong_state", "activate_driver_profile", profile_id=profile)
        refused(session, "wrong_state", "start_charge", station_id=ok(session, "list_charge_stations")[0]["station_id"])
