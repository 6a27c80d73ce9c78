"""The travel booking server under random calls: no seat or room night twice, and every cent is somewhere."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from tasks.servers.session import Session
from tasks.servers.travel_booking import TravelBooking
from tasks.servers.travel_booking_rows import CABIN, Seat, clash, days_of, nights_cents
from tasks.servers.world import HELD_OUT_FROM, World
from tests.servers.driver import drive, ok, state_of
from tests.servers.machine import live_of, machine, world

WORLD = world(TravelBooking)
BASE: dict[int, int] = {}


def money_of(server: Any) -> int:
    """Cents on cards, and in bookings, stays and rentals: constant."""
    paid = sum(row.paid for rows in (server.bookings, server.stays, server.rentals) for row in rows.values())
    return paid + sum(card.cents for card in server.cards.values())


def check(session: Session) -> None:
    """What holds for the agency in every state."""
    server: Any = state_of(session, TravelBooking)
    if server is None:
        return
    if session.seed not in BASE:
        BASE[session.seed] = money_of(TravelBooking(TravelBooking.seed(World(session.seed, "travel_booking")), session.now))
    assert money_of(server) == BASE[session.seed]
    assert all(card.cents >= 0 for card in server.cards.values())
    assert all(traveler.points >= 0 for traveler in server.travelers.values())
    active = [b for b in server.bookings.values() if server._active(b)]
    chosen = [b.seat_id for b in active if b.seat_id]
    assert len(chosen) == len(set(chosen)), "a seat has one traveler"
    sold: Counter[tuple[str, str]] = Counter()
    for row in server.bookings.values():
        fare = server.fares[row.fare_id]
        cabin = CABIN[fare.fare_class]
        assert row.traveler_id in server.travelers and row.itinerary_id in ("", *server.itineraries)
        if row in active:
            sold[fare.flight_id, cabin] += 1
            if row.seat_id:
                seat: Seat = server.seats[row.seat_id]
                assert not seat.taken and (seat.flight_id, seat.cabin) == (fare.flight_id, cabin)
        if row.status in ("ticketed", "checked_in"):
            assert row.paid == server._total(row) and row.travel_card_id in server.cards
        elif row.status == "held":
            assert row.paid == row.points == row.fees == 0 and not row.travel_card_id
        else:
            assert row.paid >= row.fees >= 0 and not row.itinerary_id and not row.seat_id
        assert row.status != "checked_in" or row.seat_id
    for (flight_id, cabin), count in sold.items():
        seats = [s for s in server.seats.values() if (s.flight_id, s.cabin, s.taken) == (flight_id, cabin, False)]
        assert count <= len(seats), "every traveler can sit"
    for one, other in combinations(active, 2):
        if one.traveler_id == other.traveler_id:
            first, second = sorted((server.flights[server.fares[b.fare_id].flight_id] for b in (one, other)), key=leaves)
            assert first.arrives <= second.departs, "a traveler is on one flight at a time"
    taken: dict[str, list[tuple[dt.date, dt.date]]] = {}
    for block in server.blocks.values():
        taken.setdefault(block.owner_id, []).append(days_of(block.day, block.days))
    for stay in server.stays.values():
        if stay.status == "booked":
            assert stay.paid == nights_cents(server.rooms[stay.hotel_room_id], stay.day, stay.nights)
            taken.setdefault(stay.hotel_room_id, []).append(days_of(stay.day, stay.nights))
    for rental in server.rentals.values():
        if rental.status == "booked":
            taken.setdefault(rental.rental_car_id, []).append(days_of(rental.day, rental.days))
    for slots in taken.values():
        assert not any(clash(one, [other]) for one, other in combinations(slots, 2)), "a room or car is booked twice"
    names = [row.name.casefold() for row in server.itineraries.values()]
    assert len(names) == len(set(names))


def leaves(flight: Any) -> dt.datetime:
    departs: dt.datetime = flight.departs
    return departs


TestTravelBooking = machine(TravelBooking, check)


@pytest.mark.parametrize("seed", range(4))
def test_many_random_calls(seed: int) -> None:
    drive(WORLD, 3, seed, live_of(TravelBooking, 3), check, calls=60)


@pytest.mark.parametrize("seed", [*range(10), *range(HELD_OUT_FROM, HELD_OUT_FROM + 5)])
def test_seeds_are_consistent_and_varied(seed: int) -> None:
    with WORLD.session(seed) as session:
        statuses = Counter(row["status"] for row in ok(session, "list_bookings", limit=50))
        assert statuses == {"ticketed": 4, "checked_in": 1, "held": 2, "expired": 1, "cancelled": 1}
        check(session)
        for airport in ok(session, "list_airports", limit=50):
            assert ok(session, "list_flights", airport_id=airport["airport_id"])
            assert len(ok(session, "list_hotels", airport_id=airport["airport_id"])) == 2
            assert len(ok(session, "list_rental_cars", airport_id=airport["airport_id"])) == 2
        for table in ("airports", "flights", "travelers", "cards", "hotels", "cars", "itineraries"):
            names = [row.name.casefold() for row in state_of(session, TravelBooking).tables[table].values()]
            assert len(names) == len(set(names))
