"""The travel booking server: its mechanics and its refusals. See also test_travel_booking_stays and _random."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.servers.session import Session
from tasks.servers.travel_booking import TravelBooking
from tasks.servers.travel_booking_rows import (
    CABIN,
    Car,
    HotelRoom,
    bag_cents,
    nights_cents,
    rental_cents,
)
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import world


def test_definition() -> None:
    check_server(TravelBooking, tools=50)


def test_seeding() -> None:
    check_seeding(TravelBooking)


# -- sums --------------------------------------------------------------------------------------


@given(day=st.dates(dt.date(2026, 1, 1), dt.date(2027, 1, 1)), nights=st.integers(1, 14), cents=st.integers(1, 500))
def test_nights_add_up(day: dt.date, nights: int, cents: int) -> None:
    room = HotelRoom("hrm_100", "htl_100", "single", 100 * cents)
    each = [nights_cents(room, (day + dt.timedelta(days=n)).isoformat(), 1) for n in range(nights)]
    assert nights_cents(room, day.isoformat(), nights) == sum(each)
    assert set(each) <= {100 * cents, 120 * cents}


def test_prices_of_bags_and_cars() -> None:
    assert [bag_cents(n, "blue") for n in range(3)] == [0, 3500, 7000]
    assert [bag_cents(n, "gold") for n in range(3)] == [0, 0, 3500]
    car = Car("rcar_100", "Otter", "apt_100", "van", 5000)
    assert rental_cents(car, 6, False) == 30000
    assert rental_cents(car, 8, False) == 38000
    assert rental_cents(car, 2, True) == 13000


# -- bookings ----------------------------------------------------------------------------------


@pytest.fixture
def session() -> Iterator[Session]:
    with world(TravelBooking).session(7) as opened:
        ok(opened, "list_airports")
        yield opened


def some(session: Session, table: str, test: Callable[[Any], bool] = lambda row: True) -> Any:
    """The first row of a table that passes."""
    return next(row for row in state_of(session, TravelBooking).tables[table].values() if test(row))


def rich(session: Session) -> str:
    """A valid card, and money on it."""
    server: Any = state_of(session, TravelBooking)
    card = some(session, "cards", lambda c: c.expires > session.now.date().isoformat())
    server.cards.update(card.travel_card_id, cents=10_000_00)
    return str(card.travel_card_id)


def balance(session: Session, card: str) -> float:
    rows = ok(session, "list_travel_cards", limit=50)
    return float(next(row["balance"] for row in rows if row["travel_card_id"] == card))


def fare_of(session: Session, test: Callable[[Any, Any], bool] = lambda fare, flight: True, hours: float = 30) -> Any:
    """A fare that can be booked, on a flight at least `hours` ahead on which no traveler is; `test(fare, flight)` holds."""
    server: Any = state_of(session, TravelBooking)
    used = {server.fares[b.fare_id].flight_id for b in server.bookings.values()}
    for fare in server.fares.values():
        flight = server.flights[fare.flight_id]
        late = flight.departs - session.now >= dt.timedelta(hours=hours)
        if late and flight.flight_id not in used and server._places(fare) >= 2 and test(fare, flight):
            return fare
    raise AssertionError("no such fare")


def free_traveler(session: Session) -> Any:
    """A blue traveler with a valid passport and no bookings."""
    server: Any = state_of(session, TravelBooking)
    row = next(iter(server.travelers.values()))
    for key, booking in list(server.bookings.items()):
        if booking.traveler_id == row.traveler_id:
            server.bookings.remove(key)
    return server.travelers.update(row.traveler_id, tier="blue", points=0, passport_expires="2090-01-01")


def ticket(session: Session, fare: Any, card: str, **more: Any) -> str:
    held = ok(session, "hold_booking", fare_id=fare.fare_id, traveler_id=free_traveler(session).traveler_id, **more)
    ok(session, "pay_booking", booking_id=held["booking_id"], travel_card_id=card)
    return str(held["booking_id"])


def test_search_shows_what_can_be_booked(session: Session) -> None:
    flight = some(session, "flights")
    route = {"origin_id": flight.origin_id, "destination_id": flight.destination_id}
    found = ok(session, "search_flights", search=route)
    assert [f["price"] for f in found] == sorted(f["price"] for f in found) and found
    first = found[0]
    same_day = ok(session, "search_flights", search={**route, "day": first["day"]})
    assert first in same_day and {f["day"] for f in same_day} == {first["day"]}
    assert ok(session, "search_flights", search={**route, "max_price": 1}) == []
    business = ok(session, "search_flights", search={**route, "fare_class": "business"})
    assert min(f["price"] for f in business) > first["price"]
    assert ok(session, "find_flight", name=first["name"].upper())["flight_id"] == first["flight_id"]
    refused(session, "invalid_value", "search_flights", search={**route, "day": "2026-02-31"})
    refused(session, "not_found", "find_flight", name="Nowhere 1")
    refused(session, "invalid_arguments", "search_flights", search={"origin_id": flight.origin_id})


def test_times_are_local(session: Session) -> None:
    server: Any = state_of(session, TravelBooking)
    for flight in list(server.flights.values())[:6]:
        shown = ok(session, "get_flight", flight_id=flight.flight_id)
        start = dt.datetime.fromisoformat(f"{shown['day']} {shown['time']}")
        shift = server.airports[flight.destination_id], server.airports[flight.origin_id]
        offsets = [
            local_offset(airport.zone, moment) for airport, moment in zip(shift, (flight.arrives, flight.departs), strict=True)
        ]
        expected = start + dt.timedelta(minutes=flight.minutes) + offsets[0] - offsets[1]
        assert shown["arrives"] == expected.strftime("%Y-%m-%d %H:%M")


def local_offset(zone: str, moment: dt.datetime) -> dt.timedelta:
    offset = moment.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone)).utcoffset()
    assert offset is not None
    return offset


def test_hold_pay_seat_bags_cancel(session: Session) -> None:
    card = rich(session)
    fare = fare_of(session, lambda fare, _: fare.fare_class == "flex")
    traveler = free_traveler(session).traveler_id
    held = ok(session, "hold_booking", fare_id=fare.fare_id, traveler_id=traveler, bags=1)
    assert held["total"] == fare.cents / 100 + 35
    booking = held["booking_id"]
    assert balance(session, card) == 10_000
    refused(session, "wrong_state", "check_in_booking", booking_id=booking)
    refused(session, "conflict", "hold_booking", fare_id=fare.fare_id, traveler_id=traveler)
    assert ok(session, "pay_booking", booking_id=booking, travel_card_id=card)["charged"] == held["total"]
    refused(session, "wrong_state", "pay_booking", booking_id=booking, travel_card_id=card)
    assert balance(session, card) == 10_000 - held["total"]
    seat = ok(session, "list_seats", flight_id=fare.flight_id, limit=50)[-1]
    assert ok(session, "select_seat", booking_id=booking, seat_id=seat["seat_id"])["total"] == held["total"], "free on flex"
    assert not ok(session, "find_seat", flight_id=fare.flight_id, label=seat["label"])["free"]
    assert ok(session, "set_bags", booking_id=booking, bags=3)["total"] == held["total"] + 70
    assert balance(session, card) == 10_000 - held["total"] - 70
    quoted = ok(session, "quote_cancellation", booking_id=booking)["refund"]
    assert quoted == fare.cents * fare.refund_percent // 100 / 100 + 105
    assert ok(session, "cancel_booking", booking_id=booking) == {
        "booking_id": booking,
        "status": "cancelled",
        "refund": quoted,
    }
    assert balance(session, card) == pytest.approx(10_000 - held["total"] - 70 + quoted)
    assert ok(session, "find_seat", flight_id=fare.flight_id, label=seat["label"])["free"]
    refused(session, "wrong_state", "cancel_booking", booking_id=booking)
    assert ok(session, "get_booking", booking_id=booking)["total"] == pytest.approx(held["total"] + 70 - quoted)


def test_seats(session: Session) -> None:
    card = rich(session)
    fare = fare_of(session, lambda fare, _: fare.fare_class == "basic")
    booking = ticket(session, fare, card)
    taken = some(session, "seats", lambda s: s.taken and s.flight_id == fare.flight_id and s.cabin == "economy")
    refused(session, "conflict", "select_seat", booking_id=booking, seat_id=taken.seat_id)
    business = some(session, "seats", lambda s: s.flight_id == fare.flight_id and s.cabin == "business")
    refused(session, "invalid_value", "select_seat", booking_id=booking, seat_id=business.seat_id)
    other = some(session, "seats", lambda s: s.flight_id != fare.flight_id and s.cabin == "economy")
    refused(session, "invalid_value", "select_seat", booking_id=booking, seat_id=other.seat_id)
    row = next(s for s in ok(session, "list_seats", flight_id=fare.flight_id, limit=50) if s["fee"])
    seated = ok(session, "select_seat", booking_id=booking, seat_id=row["seat_id"])
    assert seated["total"] == fare.cents / 100 + row["fee"]
    digest = session.digest()
    ok(session, "select_seat", booking_id=booking, seat_id=row["seat_id"])
    assert session.digest() == digest
    refused(session, "not_found", "find_seat", flight_id=fare.flight_id, label="99A")


def test_groups_get_all_places_or_none(session: Session) -> None:
    server: Any = state_of(session, TravelBooking)
    for key in list(server.bookings):
        server.bookings.remove(key)
    fare = fare_of(session, lambda fare, _: fare.fare_class == "business" and server._places(fare) == 2)
    keys = list(server.travelers)
    refused(session, "insufficient", "hold_group", fare_id=fare.fare_id, traveler_ids=keys[:3])
    refused(session, "invalid_value", "hold_group", fare_id=fare.fare_id, traveler_ids=[keys[0]] * 2)
    assert len(ok(session, "hold_group", fare_id=fare.fare_id, traveler_ids=keys[:2])) == 2
    refused(session, "insufficient", "hold_booking", fare_id=fare.fare_id, traveler_id=keys[2])
    assert fare.flight_id not in {
        f["flight_id"]
        for f in ok(
            session,
            "search_flights",
            search={
                "origin_id": server.flights[fare.flight_id].origin_id,
                "destination_id": server.flights[fare.flight_id].destination_id,
                "fare_class": "business",
            },
            limit=50,
        )
    }


def test_holds_run_out(session: Session) -> None:
    (expired,) = ok(session, "list_bookings", status="expired")
    card = rich(session)
    refused(session, "wrong_state", "pay_booking", booking_id=expired["booking_id"], travel_card_id=card)
    refused(session, "wrong_state", "cancel_booking", booking_id=expired["booking_id"])
    server: Any = state_of(session, TravelBooking)
    server.flights.update(expired["flight_id"], departs=session.now + dt.timedelta(minutes=50))
    fare = some(session, "fares", lambda f: f.flight_id == expired["flight_id"])
    message = refused(session, "wrong_state", "hold_booking", fare_id=fare.fare_id, traveler_id=expired["traveler_id"])
    assert "closed" in message


def test_cards(session: Session) -> None:
    fare = fare_of(session)
    held = ok(session, "hold_booking", fare_id=fare.fare_id, traveler_id=free_traveler(session).traveler_id)
    expired = some(session, "cards", lambda c: c.expires < session.now.date().isoformat())
    refused(session, "denied", "pay_booking", booking_id=held["booking_id"], travel_card_id=expired.travel_card_id)
    card = rich(session)
    server: Any = state_of(session, TravelBooking)
    server.cards.update(card, cents=fare.cents - 1)
    refused(session, "insufficient", "pay_booking", booking_id=held["booking_id"], travel_card_id=card)
    server.cards.update(card, cents=fare.cents)
    ok(session, "pay_booking", booking_id=held["booking_id"], travel_card_id=card)
    assert balance(session, card) == 0
    refused(session, "insufficient", "set_bags", booking_id=held["booking_id"], bags=4)


def crosses(session: Session) -> Callable[[Any, Any], bool]:
    airports = state_of(session, TravelBooking).airports
    return lambda _, flight: airports[flight.origin_id].country != airports[flight.destination_id].country


def test_passports(session: Session) -> None:
    card, fare = rich(session), fare_of(session, crosses(session))
    traveler = free_traveler(session)
    state_of(session, TravelBooking).travelers.update(traveler.traveler_id, passport_expires="2020-01-01")
    held = ok(session, "hold_booking", fare_id=fare.fare_id, traveler_id=traveler.traveler_id)
    refused(session, "denied", "pay_booking", booking_id=held["booking_id"], travel_card_id=card)
    passport = {"number": "X1234567", "expires": "2025-01-01"}
    refused(session, "invalid_value", "update_passport", traveler_id=traveler.traveler_id, passport=passport)
    passport["expires"] = "2031-02-30"
    refused(session, "invalid_value", "update_passport", traveler_id=traveler.traveler_id, passport=passport)
    passport["expires"] = "2031-02-28"
    ok(session, "update_passport", traveler_id=traveler.traveler_id, passport=passport)
    ok(session, "pay_booking", booking_id=held["booking_id"], travel_card_id=card)
    other = some(session, "travelers", lambda t: t.traveler_id != traveler.traveler_id)
    refused(session, "conflict", "update_passport", traveler_id=other.traveler_id, passport=passport)


def test_upgrades(session: Session) -> None:
    card = rich(session)
    fare = fare_of(session, lambda fare, _: fare.fare_class == "basic")
    booking = ticket(session, fare, card)
    row = ok(session, "list_seats", flight_id=fare.flight_id, limit=50)[0]
    ok(session, "select_seat", booking_id=booking, seat_id=row["seat_id"])
    flex = ok(session, "find_fare", flight_id=fare.flight_id, fare_class="flex")
    refused(session, "insufficient", "upgrade_booking", booking_id=booking, fare_id=flex["fare_id"], pay_with="points")
    upgraded = ok(session, "upgrade_booking", booking_id=booking, fare_id=flex["fare_id"])
    assert upgraded["total"] == flex["price"], "the seat is free now"
    assert balance(session, card) == 10_000 - flex["price"]
    assert ok(session, "get_booking", booking_id=booking)["seat"] == row["label"]
    refused(session, "invalid_value", "upgrade_booking", booking_id=booking, fare_id=fare.fare_id)
    business = ok(session, "find_fare", flight_id=fare.flight_id, fare_class="business")
    server: Any = state_of(session, TravelBooking)
    traveler = server.bookings[booking].traveler_id
    server.travelers.update(traveler, points=10**6)
    changed = ok(session, "upgrade_booking", booking_id=booking, fare_id=business["fare_id"], pay_with="points")
    assert changed["total"] == flex["price"] and "seat" not in ok(session, "get_booking", booking_id=booking)
    spent = round(100 * (business["price"] - flex["price"]))
    assert ok(session, "get_traveler", traveler_id=traveler)["points"] == 10**6 - spent
    ok(session, "cancel_booking", booking_id=booking)
    assert ok(session, "get_traveler", traveler_id=traveler)["points"] == 10**6
    assert balance(session, card) == 10_000, "business is refunded in full"
    elsewhere = fare_of(session, lambda other, _: other.flight_id != fare.flight_id)
    again = ticket(session, fare, card)
    refused(session, "invalid_value", "upgrade_booking", booking_id=again, fare_id=elsewhere.fare_id)


def test_changes(session: Session) -> None:
    card = rich(session)
    server: Any = state_of(session, TravelBooking)
    for key in list(server.bookings):
        server.bookings.remove(key)
    fare = fare_of(session, lambda fare, _: fare.change_cents > 0)
    flight = server.flights[fare.flight_id]
    booking = ticket(session, fare, card)
    route = (flight.origin_id, flight.destination_id)
    other = fare_of(session, lambda _, f: (f.origin_id, f.destination_id) == route and f != flight, hours=2)
    wrong = fare_of(session, lambda _, f: (f.origin_id, f.destination_id) != route)
    refused(session, "invalid_value", "change_booking", booking_id=booking, fare_id=fare.fare_id)
    refused(session, "invalid_value", "change_booking", booking_id=booking, fare_id=wrong.fare_id)
    changed = ok(session, "change_booking", booking_id=booking, fare_id=other.fare_id)
    assert changed["total"] == (other.cents + fare.change_cents) / 100
    assert balance(session, card) == pytest.approx(10_000 - changed["total"])
    kept = (
        ok(session, "get_booking", booking_id=booking)["total"]
        - ok(session, "quote_cancellation", booking_id=booking)["refund"]
    )
    assert kept >= fare.change_cents / 100
    server.fares.update(other.fare_id, change_cents=-1)
    refused(session, "denied", "change_booking", booking_id=booking, fare_id=fare.fare_id)


def test_check_in(session: Session) -> None:
    rows = ok(session, "list_bookings", status="ticketed", limit=50)
    server: Any = state_of(session, TravelBooking)
    soon, later = rows[0]["booking_id"], rows[-1]["booking_id"]
    assert "check-in opens on" in refused(session, "wrong_state", "check_in_booking", booking_id=later)
    booking = server.bookings[soon]
    server.bookings.update(soon, seat_id="")
    assert "no seat" in refused(session, "wrong_state", "check_in_booking", booking_id=soon)
    server.bookings.put(soon, booking)
    if not booking.seat_id:
        cabin = CABIN[server.fares[booking.fare_id].fare_class]
        seats = ok(session, "list_seats", flight_id=rows[0]["flight_id"], cabin=cabin)
        free = next(s for s in seats if not s["fee"])
        ok(session, "select_seat", booking_id=soon, seat_id=free["seat_id"])
    before = ok(session, "get_traveler", traveler_id=booking.traveler_id)["points"]
    done = ok(session, "check_in_booking", booking_id=soon)
    assert done["status"] == "checked_in" and done["points"] >= booking.price // 100
    assert ok(session, "get_traveler", traveler_id=booking.traveler_id)["points"] == before + done["points"]
    for tool in ("check_in_booking", "cancel_booking", "quote_cancellation"):
        refused(session, "wrong_state", tool, booking_id=soon)


def test_points_are_shared(session: Session) -> None:
    one, other = (row["traveler_id"] for row in ok(session, "list_travelers", limit=2))
    points = [ok(session, "get_traveler", traveler_id=key)["points"] for key in (one, other)]
    refused(session, "insufficient", "share_points", traveler_id=one, to_id=other, points=points[0] + 1)
    refused(session, "invalid_value", "share_points", traveler_id=one, to_id=one, points=1)
    assert ok(session, "share_points", traveler_id=one, to_id=other, points=points[0])["points"] == 0
    assert ok(session, "get_traveler", traveler_id=other)["points"] == sum(points)
