"""Rows of the travel booking server, and its arithmetic: prices, refunds, and which days overlap.

Stored moments are naive and in UTC; days of hotels and cars are local days of their airport's city.

Run: nothing here runs by itself; `tasks.servers.travel_booking` is the server.

Left out: taxes, currencies, and fares that change while the session lasts.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tasks.servers.travel_booking_types import Cabin, CarClass, FareClass, RoomKind, StayStatus, Tier

BAG_CENTS = 35_00
INSURANCE_CENTS = 15_00
CLASSES: tuple[FareClass, ...] = ("basic", "flex", "business")
"""From the cheapest to the dearest."""
CABIN: dict[FareClass, Cabin] = {"basic": "economy", "flex": "economy", "business": "business"}
TIER_BAGS: dict[Tier, int] = {"blue": 0, "silver": 1, "gold": 1}
"""Extra bags that are free for a traveler of the tier."""
TIER_POINTS: dict[Tier, int] = {"blue": 1, "silver": 2, "gold": 3}
"""Points per whole unit of the fare, earned at check-in."""

Days = tuple[dt.date, dt.date]
"""First day or night (included) and last (excluded)."""


@dataclass(frozen=True, slots=True)
class Airport:
    """An airport; its name is the city's."""

    airport_id: str
    name: str
    country: str
    zone: str


@dataclass(frozen=True, slots=True)
class Flight:
    flight_id: str
    name: str
    origin_id: str
    destination_id: str
    departs: dt.datetime
    minutes: int

    @property
    def arrives(self) -> dt.datetime:
        return self.departs + dt.timedelta(minutes=self.minutes)


@dataclass(frozen=True, slots=True)
class Fare:
    """What one seat of a class costs on a flight; `change_cents` is -1 where changes are not allowed."""

    fare_id: str
    flight_id: str
    fare_class: FareClass
    cents: int
    refund_percent: int
    change_cents: int
    bags: int


@dataclass(frozen=True, slots=True)
class Seat:
    """A seat of a flight; `taken` by others than the travelers of this server."""

    seat_id: str
    flight_id: str
    cabin: Cabin
    label: str
    cents: int
    taken: bool


@dataclass(frozen=True, slots=True)
class Traveler:
    traveler_id: str
    name: str
    passport: str
    passport_expires: str
    tier: Tier
    points: int


@dataclass(frozen=True, slots=True)
class TravelCard:
    travel_card_id: str
    name: str
    cents: int
    expires: str


@dataclass(frozen=True, slots=True)
class Booking:
    """One traveler's place on a flight. A hold that is not paid by `held_until` counts as expired.

    `price` is the fare as agreed, `fees` are for changes. `paid` is what the card has paid, less refunds: the
    total while ticketed, what the fare's rules keep once cancelled. `points` were spent on it.
    """

    booking_id: str
    fare_id: str
    traveler_id: str
    status: Literal["held", "ticketed", "checked_in", "cancelled"]
    price: int
    held_until: dt.datetime
    bags: int = 0
    seat_id: str = ""
    fees: int = 0
    paid: int = 0
    points: int = 0
    travel_card_id: str = ""
    itinerary_id: str = ""


@dataclass(frozen=True, slots=True)
class Hotel:
    hotel_id: str
    name: str
    airport_id: str
    stars: int


@dataclass(frozen=True, slots=True)
class HotelRoom:
    """One room; `cents` are for a night from Sunday to Thursday."""

    hotel_room_id: str
    hotel_id: str
    kind: RoomKind
    cents: int


@dataclass(frozen=True, slots=True)
class Block:
    """Days on which others have a room or a car (`owner_id`)."""

    block_id: str
    owner_id: str
    day: str
    days: int


@dataclass(frozen=True, slots=True)
class Stay:
    """Nights in a room; `paid` is what the card has paid, less refunds."""

    hotel_stay_id: str
    hotel_room_id: str
    traveler_id: str
    day: str
    nights: int
    status: StayStatus
    paid: int
    travel_card_id: str
    itinerary_id: str = ""


@dataclass(frozen=True, slots=True)
class Car:
    rental_car_id: str
    name: str
    airport_id: str
    car_class: CarClass
    cents: int


@dataclass(frozen=True, slots=True)
class Rental:
    """Days with a car; `paid` is what the card has paid, less refunds."""

    car_rental_id: str
    rental_car_id: str
    traveler_id: str
    day: str
    days: int
    insured: bool
    status: StayStatus
    paid: int
    travel_card_id: str
    itinerary_id: str = ""


@dataclass(frozen=True, slots=True)
class Itinerary:
    itinerary_id: str
    name: str


def days_of(day: str, count: int) -> Days:
    """The days from `day` on."""
    first = dt.date.fromisoformat(day)
    return first, first + dt.timedelta(days=count)


def clash(wanted: Days, taken: Iterable[Days]) -> bool:
    """Whether any of the taken days is among the wanted."""
    return any(wanted[0] < last and first < wanted[1] for first, last in taken)


def seat_cents(seat: Seat | None, fare: Fare, tier: Tier) -> int:
    """The fee for a seat: none on flex and business fares, and none for gold travelers."""
    return seat.cents if seat and fare.fare_class == "basic" and tier != "gold" else 0


def bag_cents(bags: int, tier: Tier) -> int:
    """What extra bags cost."""
    return BAG_CENTS * max(0, bags - TIER_BAGS[tier])


def nights_cents(room: HotelRoom, day: str, nights: int) -> int:
    """What nights in a room cost; Friday and Saturday nights are a fifth dearer."""
    first, _ = days_of(day, nights)
    weekdays = [(first + dt.timedelta(days=n)).weekday() for n in range(nights)]
    return sum(room.cents * 6 // 5 if weekday in (4, 5) else room.cents for weekday in weekdays)


def rental_cents(car: Car, days: int, insured: bool) -> int:
    """What a car costs; from the seventh day on, a day is a fifth cheaper."""
    full = min(days, 6)
    return car.cents * full + car.cents * 4 // 5 * (days - full) + (INSURANCE_CENTS * days if insured else 0)
