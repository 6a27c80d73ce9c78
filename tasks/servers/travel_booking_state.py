"""What the travel booking server's tools share: who sits where, what is free, what a booking costs, and money moving.

Run: nothing here runs by itself; `tasks.servers.travel_booking` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from tasks.servers import travel_booking_types as t
from tasks.servers.calendar_rows import day_and_time
from tasks.servers.lookup import existing
from tasks.servers.state import Table
from tasks.servers.tool import ToolError
from tasks.servers.travel_booking_data import today_at
from tasks.servers.travel_booking_rows import (
    CABIN,
    Airport,
    Block,
    Booking,
    Car,
    Days,
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
    seat_cents,
)
from tasks.servers.typed import date_of, money

HORIZON = dt.timedelta(days=330)
CLOSES = dt.timedelta(hours=1)
"""Bookings for a flight end this long before it leaves."""
CHECK_IN = dt.timedelta(hours=24)
HOLD = dt.timedelta(hours=24)


class Agency:
    """The tables of the agency, and the steps that tools are made of."""

    now: dt.datetime
    airports: Table[Airport]
    flights: Table[Flight]
    fares: Table[Fare]
    seats: Table[Seat]
    travelers: Table[Traveler]
    cards: Table[TravelCard]
    bookings: Table[Booking]
    hotels: Table[Hotel]
    rooms: Table[HotelRoom]
    blocks: Table[Block]
    stays: Table[Stay]
    cars: Table[Car]
    rentals: Table[Rental]
    itineraries: Table[Itinerary]

    # -- flights ---------------------------------------------------------------------------------

    def _flight(self, flight_id: str) -> Flight:
        return existing(self.flights, flight_id, "flight", "search_flights")

    def _fare(self, fare_id: str) -> Fare:
        return existing(self.fares, fare_id, "fare", "list_fares")

    def _departure(self, flight: Flight) -> tuple[str, str]:
        """Local day and time."""
        return day_and_time(flight.departs, self.airports[flight.origin_id].zone)

    def _flight_row(self, flight: Flight) -> t.FlightRow:
        day, time = self._departure(flight)
        return {"flight_id": flight.flight_id, "name": flight.name, "day": day, "time": time}

    def _fares_of(self, flight_id: str) -> list[Fare]:
        return self.fares.where(lambda f: f.flight_id == flight_id)

    def _free_seats(self, flight_id: str, cabin: str) -> list[Seat]:
        """The seats of a cabin that nobody sits in, in the order of labels."""
        chosen = {b.seat_id for b in self.bookings.values() if self._active(b)}
        rows = self.seats.where(
            lambda s: s.flight_id == flight_id and s.cabin == cabin and not s.taken and s.seat_id not in chosen
        )
        return sorted(rows, key=lambda s: (len(s.label), s.label))

    def _places(self, fare: Fare) -> int:
        """How many more bookings the cabin of a fare can take now."""
        flight, cabin = self.flights[fare.flight_id], CABIN[fare.fare_class]
        if flight.departs - self.now <= CLOSES:
            return 0
        seats = self.seats.where(lambda s: s.flight_id == flight.flight_id and s.cabin == cabin and not s.taken)
        fares = [self.fares[b.fare_id] for b in self.bookings.values() if self._active(b)]
        return len(seats) - sum(f.flight_id == flight.flight_id and CABIN[f.fare_class] == cabin for f in fares)

    def _check_open(self, fare: Fare, count: int = 1) -> None:
        """Raises ToolError unless the fare can be booked now, `count` times."""
        if self.flights[fare.flight_id].departs - self.now <= CLOSES:
            raise ToolError("wrong_state", "the flight is closed for booking", "Use search_flights to find a later one.")
        if self._places(fare) < count:
            raise ToolError("insufficient", "the cabin has not enough seats left", "Choose another fare or flight.")

    def _check_apart(self, traveler_id: str, flight: Flight, besides: str = "") -> None:
        """Raises ToolError when the traveler is on another flight at that time."""
        for row in self.bookings.values():
            if row.traveler_id == traveler_id and row.booking_id != besides and self._active(row):
                other = self.flights[self.fares[row.fare_id].flight_id]
                if other.departs < flight.arrives and flight.departs < other.arrives:
                    raise ToolError(
                        "conflict", f"the traveler is on {other.name} at that time", f"Use cancel_booking on {row.booking_id}."
                    )

    def _check_passport(self, traveler: Traveler, flight: Flight) -> None:
        """Raises ToolError when the flight leaves the country and the passport is not valid until it lands."""
        crosses = self.airports[flight.origin_id].country != self.airports[flight.destination_id].country
        if crosses and traveler.passport_expires < flight.arrives.date().isoformat():
            raise ToolError("denied", f"the passport expired on {traveler.passport_expires}", "Use update_passport first.")

    def _traveler(self, traveler_id: str) -> Traveler:
        return existing(self.travelers, traveler_id, "traveler", "list_travelers")

    # -- bookings --------------------------------------------------------------------------------

    def _status(self, row: Booking) -> t.BookingStatus:
        return "expired" if row.status == "held" and row.held_until <= self.now else row.status

    def _active(self, row: Booking) -> bool:
        return self._status(row) in ("held", "ticketed", "checked_in")

    def _booking(self, booking_id: str, *statuses: str) -> Booking:
        """The booking, when it is in one of `statuses` (any, when none are given)."""
        row = existing(self.bookings, booking_id, "booking", "list_bookings")
        status = self._status(row)
        if statuses and status not in statuses:
            raise ToolError(
                "wrong_state", f"the booking is {status}, not {' or '.join(statuses)}", "Use get_booking to see it."
            )
        return row

    def _total(self, row: Booking) -> int:
        """What the booking costs in cents, as long as it is not cancelled."""
        fare, tier = self.fares[row.fare_id], self.travelers[row.traveler_id].tier
        seat = seat_cents(self.seats.get(row.seat_id), fare, tier)
        return row.price + row.fees + seat + bag_cents(row.bags, tier)

    def _settle(self, row: Booking) -> Booking:
        """Stores a changed booking; once ticketed, its card pays or gets back the difference at once."""
        if row.status == "ticketed":
            total = self._total(row)
            self._charge(row.travel_card_id, total - row.paid)
            row = replace(row, paid=total)
        return self.bookings.put(row.booking_id, row)

    def _refund_of(self, row: Booking) -> int:
        """What a cancellation gives back: the fare by its rules, seat and bags in full, fees for changes not at all."""
        if row.status != "ticketed":
            return 0
        return row.paid - row.fees - row.price + row.price * self.fares[row.fare_id].refund_percent // 100

    def _hold(self, fare: Fare, traveler_id: str, bags: int) -> Booking:
        """A new hold; everything is checked before."""
        key = self.bookings.fresh("bkg", fare.fare_id, traveler_id)
        until = min(self.now + HOLD, self.flights[fare.flight_id].departs - CLOSES)
        return self.bookings.put(key, Booking(key, fare.fare_id, traveler_id, "held", fare.cents, until, bags))

    # -- money -----------------------------------------------------------------------------------

    def _charge(self, travel_card_id: str, amount: int) -> None:
        """Takes `amount` cents from a card; gives them back when negative."""
        card = existing(self.cards, travel_card_id, "travel card", "list_travel_cards")
        if amount > 0 and card.expires < self.now.date().isoformat():
            raise ToolError("denied", f"the card expired on {card.expires}", "list_travel_cards shows the others.")
        if amount > card.cents:
            message = f"{money(amount)} is needed and {money(card.cents)} is on the card"
            raise ToolError("insufficient", message, "Use another travel card.")
        self.cards.update(travel_card_id, cents=card.cents - amount)

    # -- hotels and cars -------------------------------------------------------------------------

    def _airport(self, airport_id: str) -> Airport:
        return existing(self.airports, airport_id, "airport", "list_airports")

    def _room(self, hotel_room_id: str) -> tuple[HotelRoom, Airport]:
        room = existing(self.rooms, hotel_room_id, "hotel room", "list_hotel_rooms")
        return room, self.airports[self.hotels[room.hotel_id].airport_id]

    def _from(self, day: str, airport: Airport) -> str:
        """A day argument, when it is not past at the airport and not too far ahead."""
        wanted, today = date_of(day), today_at(self.now, airport)
        if wanted.isoformat() < today:
            raise ToolError("invalid_value", f"{day} is past; today is {today}", "Give a later day.")
        if wanted > self.now.date() + HORIZON:
            raise ToolError("invalid_value", f"{day} is too far ahead", f"Give a day within {HORIZON.days} days.")
        return wanted.isoformat()

    def _taken(self, owner_id: str, besides: str = "") -> Iterable[Days]:
        """The days on which a room or a car is taken, one stay or rental left aside."""
        for block in self.blocks.values():
            if block.owner_id == owner_id:
                yield days_of(block.day, block.days)
        for stay in self.stays.values():
            if stay.hotel_room_id == owner_id and stay.status == "booked" and stay.hotel_stay_id != besides:
                yield days_of(stay.day, stay.nights)
        for rental in self.rentals.values():
            if rental.rental_car_id == owner_id and rental.status == "booked":
                yield days_of(rental.day, rental.days)

    def _check_free(self, owner_id: str, wanted: Days, what: str, besides: str = "") -> None:
        if clash(wanted, self._taken(owner_id, besides)):
            raise ToolError("conflict", f"the {what} is taken on some of these days", f"Choose other days or another {what}.")

    def _stay(self, hotel_stay_id: str, booked: bool = False) -> Stay:
        row = existing(self.stays, hotel_stay_id, "hotel stay", "list_hotel_stays")
        if booked and row.status != "booked":
            raise ToolError("wrong_state", "the stay is cancelled", "list_hotel_stays shows the others.")
        return row

    def _rental(self, car_rental_id: str, booked: bool = False) -> Rental:
        row = existing(self.rentals, car_rental_id, "car rental", "list_car_rentals")
        if booked and row.status != "booked":
            raise ToolError("wrong_state", "the rental is cancelled", "list_car_rentals shows the others.")
        return row

    # -- itineraries -----------------------------------------------------------------------------

    def _itinerary(self, itinerary_id: str) -> Itinerary:
        return existing(self.itineraries, itinerary_id, "itinerary", "list_itineraries")

    def _flights_of(self, itinerary_id: str) -> list[tuple[Booking, Flight]]:
        """The flights of an itinerary in the order of time."""
        rows = self.bookings.where(lambda b: b.itinerary_id == itinerary_id and self._active(b))
        pairs = [(b, self.flights[self.fares[b.fare_id].flight_id]) for b in rows]
        return sorted(pairs, key=lambda pair: (pair[1].departs, pair[0].booking_id))

    def _items_of(self, itinerary_id: str) -> list[tuple[str, t.ItemRow, int]]:
        """Everything in an itinerary: a key that sorts by local time, the row, and its cents."""
        found: list[tuple[str, t.ItemRow, int]] = []
        for booking, flight in self._flights_of(itinerary_id):
            day, time = self._departure(flight)
            row: t.ItemRow = {"booking_id": booking.booking_id, "name": flight.name, "day": day, "time": time}
            found.append((f"{day} {time}", row, self._total(booking)))
        for stay in self.stays.where(lambda s: s.itinerary_id == itinerary_id and s.status == "booked"):
            hotel = self.hotels[self.rooms[stay.hotel_room_id].hotel_id]
            row = {"hotel_stay_id": stay.hotel_stay_id, "name": hotel.name, "day": stay.day}
            found.append((f"{stay.day} 15:00", row, stay.paid))
        for rental in self.rentals.where(lambda r: r.itinerary_id == itinerary_id and r.status == "booked"):
            car = self.cars[rental.rental_car_id]
            row = {"car_rental_id": rental.car_rental_id, "name": car.name, "day": rental.day}
            found.append((f"{rental.day} 10:00", row, rental.paid))
        return sorted(found, key=lambda item: (item[0], item[1]["name"]))

    def _itinerary_row(self, row: Itinerary) -> t.ItineraryRow:
        return {"itinerary_id": row.itinerary_id, "name": row.name, "items": len(self._items_of(row.itinerary_id))}

    def _item(self, item: t.ItineraryItem) -> tuple[Literal["bookings", "stays", "rentals"], str, str]:
        """Table, key and present itinerary of the one thing an ItineraryItem names."""
        if len(item) != 1:
            raise ToolError("invalid_value", "the item needs exactly one identifier", "Add one thing at a time.")
        if "booking_id" in item:
            return (
                "bookings",
                item["booking_id"],
                self._booking(item["booking_id"], "held", "ticketed", "checked_in").itinerary_id,
            )
        if "hotel_stay_id" in item:
            return "stays", item["hotel_stay_id"], self._stay(item["hotel_stay_id"], booked=True).itinerary_id
        return "rentals", item["car_rental_id"], self._rental(item["car_rental_id"], booked=True).itinerary_id


def card_shown(row: TravelCard) -> t.CardShown:
    return {"travel_card_id": row.travel_card_id, "name": row.name, "balance": money(row.cents), "expires": row.expires}
