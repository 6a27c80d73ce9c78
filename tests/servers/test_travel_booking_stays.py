"""The travel booking server: hotel stays, rental cars and itineraries."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest

from tasks.servers.session import Session
from tasks.servers.travel_booking import TravelBooking
from tests.servers.driver import ok, refused, state_of
from tests.servers.machine import world
from tests.servers.test_travel_booking import balance, free_traveler, rich, some


@pytest.fixture
def session() -> Iterator[Session]:
    with world(TravelBooking).session(7) as opened:
        ok(opened, "list_airports")
        yield opened


def test_stays(session: Session) -> None:
    card, traveler = rich(session), free_traveler(session).traveler_id
    hotel = ok(session, "find_hotel", name=some(session, "hotels").name)
    room = ok(session, "find_hotel_room", hotel_id=hotel["hotel_id"], kind="suite")["hotel_room_id"]
    far = session.now.date() + dt.timedelta(days=200)
    day = far.isoformat()
    arguments = {"hotel_room_id": room, "traveler_id": traveler, "travel_card_id": card, "day": day, "nights": 3}
    quote = ok(session, "quote_stay", hotel_room_id=room, day=day, nights=3)
    assert quote["free"] and quote["leaves"] == (far + dt.timedelta(days=3)).isoformat()
    stay = ok(session, "book_stay", **arguments)
    assert stay["charged"] == quote["price"] and balance(session, card) == pytest.approx(10_000 - quote["price"])
    refused(session, "conflict", "book_stay", **{**arguments, "day": (far + dt.timedelta(days=2)).isoformat()})
    after = ok(session, "book_stay", **{**arguments, "day": (far + dt.timedelta(days=4)).isoformat(), "nights": 1})
    assert not ok(session, "quote_stay", hotel_room_id=room, day=day)["free"]
    airport = ok(session, "get_hotel", hotel_id=hotel["hotel_id"])["airport_id"]
    offers = ok(session, "search_hotel_rooms", airport_id=airport, day=day, limit=50)
    assert room not in {offer["hotel_room_id"] for offer in offers} and len(offers) == 5
    assert ok(session, "extend_stay", hotel_stay_id=stay["hotel_stay_id"])["nights"] == 4
    refused(session, "conflict", "extend_stay", hotel_stay_id=stay["hotel_stay_id"])
    ok(session, "cancel_stay", hotel_stay_id=after["hotel_stay_id"])
    ok(session, "extend_stay", hotel_stay_id=stay["hotel_stay_id"], nights=14)
    refused(session, "invalid_value", "extend_stay", hotel_stay_id=stay["hotel_stay_id"], nights=14)
    paid = ok(session, "get_hotel_stay", hotel_stay_id=stay["hotel_stay_id"])["paid"]
    assert ok(session, "cancel_stay", hotel_stay_id=stay["hotel_stay_id"])["refund"] == paid
    assert balance(session, card) == 10_000
    refused(session, "wrong_state", "cancel_stay", hotel_stay_id=stay["hotel_stay_id"])
    for day, kind in (("2026-02-31", "invalid_value"), ("2026-01-01", "invalid_value"), ("2099-01-01", "invalid_value")):
        refused(session, kind, "book_stay", **{**arguments, "day": day})


def test_late_cancellations_keep_a_night(session: Session) -> None:
    card, traveler = rich(session), free_traveler(session).traveler_id
    server: Any = state_of(session, TravelBooking)
    for key in list(server.blocks):
        server.blocks.remove(key)
    taken = {s.hotel_room_id for s in server.stays.values()}
    room = some(session, "rooms", lambda r: r.hotel_room_id not in taken)
    here = ok(session, "get_airport", airport_id=server.hotels[room.hotel_id].airport_id)["day"]
    days = [(dt.date.fromisoformat(here) + dt.timedelta(days=n)).isoformat() for n in range(4)]
    stays = [
        ok(
            session,
            "book_stay",
            hotel_room_id=room.hotel_room_id,
            traveler_id=traveler,
            travel_card_id=card,
            day=day,
        )
        for day in days
    ]
    refused(session, "wrong_state", "cancel_stay", hotel_stay_id=stays[0]["hotel_stay_id"])
    assert ok(session, "cancel_stay", hotel_stay_id=stays[1]["hotel_stay_id"])["refund"] == 0
    assert ok(session, "cancel_stay", hotel_stay_id=stays[2]["hotel_stay_id"])["refund"] == stays[2]["charged"]
    yesterday = (dt.date.fromisoformat(here) - dt.timedelta(days=1)).isoformat()
    refused(session, "invalid_value", "quote_stay", hotel_room_id=room.hotel_room_id, day=yesterday)


def test_cars(session: Session) -> None:
    card, traveler = rich(session), free_traveler(session).traveler_id
    car = some(session, "cars")
    assert ok(session, "find_rental_car", name=car.name)["day_price"] == car.cents / 100
    first = session.now.date() + dt.timedelta(days=100)
    arguments = {"rental_car_id": car.rental_car_id, "traveler_id": traveler, "travel_card_id": card}
    rented = ok(session, "rent_car", **arguments, day=first.isoformat(), days=2, insured=True)
    assert rented["charged"] == (2 * car.cents + 3000) / 100
    second = (first + dt.timedelta(days=1)).isoformat()
    refused(session, "conflict", "rent_car", **arguments, day=second)
    found = ok(session, "find_car_rental", rental_car_id=car.rental_car_id)
    assert found["status"] == "booked"
    cancelled = ok(session, "cancel_car_rental", car_rental_id=rented["car_rental_id"])
    assert cancelled["refund"] == rented["charged"] and balance(session, card) == 10_000
    refused(session, "wrong_state", "cancel_car_rental", car_rental_id=rented["car_rental_id"])
    ok(session, "rent_car", **arguments, day=second)


def test_itineraries(session: Session) -> None:
    rows = ok(session, "list_bookings", status="ticketed", limit=50)
    keys = [row["booking_id"] for row in rows]
    made = ok(session, "create_itinerary", name="Long Way", booking_ids=keys[:2])
    key = made["itinerary_id"]
    assert made["items"] == 2 and ok(session, "find_itinerary", name="long way")["itinerary_id"] == key
    refused(session, "conflict", "create_itinerary", name="LONG way", booking_ids=[])
    refused(session, "conflict", "add_to_itinerary", itinerary_id=key, item={"booking_id": keys[0]})
    refused(session, "invalid_value", "add_to_itinerary", itinerary_id=key, item={})
    stay = some(session, "stays", lambda s: s.status == "booked")
    both = {"booking_id": keys[2], "hotel_stay_id": stay.hotel_stay_id}
    refused(session, "invalid_value", "add_to_itinerary", itinerary_id=key, item=both)
    added = ok(session, "add_to_itinerary", itinerary_id=key, item={"hotel_stay_id": stay.hotel_stay_id})
    assert added["items"] == 3
    items = ok(session, "list_itinerary_items", itinerary_id=key)
    assert [i["day"] for i in items] == sorted(i["day"] for i in items)
    totals = [ok(session, "get_booking", booking_id=k)["total"] for k in keys[:2]]
    assert ok(session, "get_itinerary", itinerary_id=key)["total"] == pytest.approx(sum(totals) + stay.paid / 100)
    ok(session, "remove_from_itinerary", itinerary_id=key, item={"booking_id": keys[0]})
    refused(session, "not_found", "remove_from_itinerary", itinerary_id=key, item={"booking_id": keys[0]})
    ok(session, "cancel_stay", hotel_stay_id=stay.hotel_stay_id)
    assert ok(session, "get_itinerary", itinerary_id=key)["items"] == 1
    ok(session, "delete_itinerary", itinerary_id=key)
    refused(session, "not_found", "get_itinerary", itinerary_id=key)
    assert ok(session, "get_booking", booking_id=keys[1])["status"] == "ticketed"


def test_connections_count_real_minutes(session: Session) -> None:
    card = rich(session)
    server: Any = state_of(session, TravelBooking)
    for key in list(server.bookings):
        server.bookings.remove(key)
    traveler = free_traveler(session).traveler_id
    there = some(session, "flights", lambda f: f.departs - session.now > dt.timedelta(hours=30))
    back = some(session, "flights", lambda f: (f.origin_id, f.destination_id) == (there.destination_id, there.origin_id))
    keys = []
    for flight, wait in ((there, 0), (back, 44)):
        if flight is back:
            server.flights.update(back.flight_id, departs=there.arrives + dt.timedelta(minutes=wait))
        fare = ok(session, "find_fare", flight_id=flight.flight_id, fare_class="flex")["fare_id"]
        keys.append(ok(session, "hold_booking", fare_id=fare, traveler_id=traveler)["booking_id"])
    ok(session, "pay_booking", booking_id=keys[0], travel_card_id=card)
    itinerary = ok(session, "create_itinerary", name="There And Back", booking_ids=keys)["itinerary_id"]
    (row,) = ok(session, "list_connections", itinerary_id=itinerary)
    assert row == {"booking_id": keys[0], "next_booking_id": keys[1], "minutes": 44, "possible": False}
    server.flights.update(back.flight_id, departs=there.arrives + dt.timedelta(minutes=45))
    assert ok(session, "list_connections", itinerary_id=itinerary)[0]["possible"]
