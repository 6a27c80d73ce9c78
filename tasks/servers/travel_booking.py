"""A travel agency: flights with fares and seats, hotels, rental cars, travelers, travel cards, itineraries.

    with environment(["travel_booking"]).session(7) as session:
        session.call("find_airport", {"name": "Smithport"})

A place on a flight is held, paid and checked in; its fare's rules say what a change or a cancellation costs. Days
and times are local to their airport. A seat has one traveler, a traveler one flight at a time, and a room or a
car one party a day; money moves between travel cards and bookings and is never lost.

Left out: connecting flights sold as one, and airlines that cancel.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from tasks.servers import travel_booking_types as t
from tasks.servers.calendar_rows import day_and_time
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.travel_booking_data import seed_rows, today_at
from tasks.servers.travel_booking_rows import (
    CABIN,
    CLASSES,
    TIER_POINTS,
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
    clash,
    days_of,
    nights_cents,
    rental_cents,
)
from tasks.servers.travel_booking_state import CHECK_IN, Agency, card_shown
from tasks.servers.typed import Date, Limit, date_of, money
from tasks.servers.world import World

LONGEST_STAY = 28
MOST_ITINERARIES = 30
LAYOVER = 45
"""Minutes that a traveler needs between two flights."""


class TravelBooking(Agency, Server):
    """The server; see the module's docstring."""

    name = "travel_booking"
    title = "Flights, hotels, rental cars and itineraries"

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

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- flights ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_airports(self, limit: Limit = 5) -> list[t.AirportRow]:
        """List the airports; each has its city's name."""
        rows = list(self.airports.values())[: int(limit)]
        return [{"airport_id": a.airport_id, "name": a.name, "country": a.country} for a in rows]

    @tool(read_only=True)
    def find_airport(self, name: t.KnownName) -> t.AirportRow:
        """Find an airport by its city."""
        row = named(self.airports.values(), name, "airport", "list_airports")
        return {"airport_id": row.airport_id, "name": row.name, "country": row.country}

    @tool(read_only=True)
    def get_airport(self, airport_id: t.AirportId) -> t.AirportShown:
        """Show an airport's time zone, and the day and time there now."""
        row = self._airport(airport_id)
        day, time = day_and_time(self.now, row.zone)
        return {"airport_id": row.airport_id, "name": row.name, "zone": row.zone, "day": day, "time": time}

    @tool(read_only=True)
    def search_flights(self, search: t.FlightSearch, limit: Limit = 5) -> list[t.FlightOffer]:
        """List the flights between two airports that can be booked, cheapest first."""
        origin, destination = self._airport(search["origin_id"]), self._airport(search["destination_id"])
        day = date_of(search["day"]).isoformat() if "day" in search else ""
        most, wanted = search.get("max_price", float("inf")), search.get("fare_class")
        found: list[tuple[int, t.FlightOffer]] = []
        for flight in self.flights.values():
            if (flight.origin_id, flight.destination_id) != (origin.airport_id, destination.airport_id):
                continue
            prices = [
                f.cents for f in self._fares_of(flight.flight_id) if wanted in (None, f.fare_class) and self._places(f) > 0
            ]
            row = self._flight_row(flight)
            if prices and money(min(prices)) <= most and day in ("", row["day"]):
                found.append((min(prices), {**row, "price": money(min(prices))}))
        return [offer for _, offer in sorted(found, key=lambda f: (f[0], f[1]["flight_id"]))[: int(limit)]]

    @tool(read_only=True)
    def list_flights(self, airport_id: t.AirportId, limit: Limit = 5) -> list[t.FlightRow]:
        """List the flights that leave an airport, the soonest first."""
        self._airport(airport_id)
        rows = sorted(self.flights.where(lambda f: f.origin_id == airport_id), key=lambda f: (f.departs, f.flight_id))
        return [self._flight_row(f) for f in rows[: int(limit)]]

    @tool(read_only=True)
    def find_flight(self, name: t.KnownName) -> t.FlightRow:
        """Find a flight by its airline and number, like Skylark 417."""
        return self._flight_row(named(self.flights.values(), name, "flight", "list_flights"))

    @tool(read_only=True)
    def get_flight(self, flight_id: t.FlightId) -> t.FlightShown:
        """Show where a flight goes, when it leaves and when it arrives, in local times."""
        row = self._flight(flight_id)
        day, time = self._departure(row)
        arrival = day_and_time(row.arrives, self.airports[row.destination_id].zone)
        return {
            "flight_id": row.flight_id,
            "origin_id": row.origin_id,
            "destination_id": row.destination_id,
            "day": day,
            "time": time,
            "arrives": " ".join(arrival),
        }

    @tool(read_only=True)
    def list_fares(self, flight_id: t.FlightId) -> list[t.FareRow]:
        """List the fares of a flight, cheapest first."""
        self._flight(flight_id)
        rows = sorted(self._fares_of(flight_id), key=lambda f: f.cents)
        return [{"fare_id": f.fare_id, "fare_class": f.fare_class, "price": money(f.cents)} for f in rows]

    @tool(read_only=True)
    def find_fare(self, flight_id: t.FlightId, fare_class: t.OfClass) -> t.FareRow:
        """Find the fare of a class on a flight."""
        self._flight(flight_id)
        row = next(f for f in self._fares_of(flight_id) if f.fare_class == fare_class)
        return {"fare_id": row.fare_id, "fare_class": row.fare_class, "price": money(row.cents)}

    @tool(read_only=True)
    def get_fare_rules(self, fare_id: t.FareId) -> t.FareRules:
        """Show a fare's rules: refund on cancellation, fee for a change, free bags."""
        row = self._fare(fare_id)
        shown: t.FareRules = {
            "fare_id": row.fare_id,
            "flight_id": row.flight_id,
            "refund_percent": row.refund_percent,
            "changeable": row.change_cents >= 0,
            "free_bags": row.bags,
        }
        if row.change_cents >= 0:
            shown["change_fee"] = money(row.change_cents)
        return shown

    @tool(read_only=True)
    def list_seats(self, flight_id: t.FlightId, cabin: t.OfCabin = "economy", limit: Limit = 5) -> list[t.SeatRow]:
        """List the free seats of a cabin on a flight; basic fares pay the fee."""
        self._flight(flight_id)
        rows = self._free_seats(flight_id, cabin)[: int(limit)]
        return [{"seat_id": s.seat_id, "label": s.label, "fee": money(s.cents)} for s in rows]

    @tool(read_only=True)
    def find_seat(self, flight_id: t.FlightId, label: t.SeatLabel) -> t.SeatShown:
        """Find a seat of a flight by its label, and whether it is free."""
        self._flight(flight_id)
        row = next((s for s in self.seats.values() if s.flight_id == flight_id and s.label == label), None)
        if row is None:
            raise ToolError("not_found", f"the flight has no seat {label.strip()}", "list_seats shows its free seats.")
        free = row in self._free_seats(flight_id, row.cabin)
        return {"seat_id": row.seat_id, "cabin": row.cabin, "fee": money(row.cents), "free": free}

    # -- travelers and cards ---------------------------------------------------------------------

    @tool(read_only=True)
    def list_travelers(self, limit: Limit = 5) -> list[t.TravelerRow]:
        """List the travelers with their loyalty tiers."""
        rows = list(self.travelers.values())[: int(limit)]
        return [{"traveler_id": r.traveler_id, "name": r.name, "tier": r.tier} for r in rows]

    @tool(read_only=True)
    def find_traveler(self, name: t.KnownName) -> t.TravelerRow:
        """Find a traveler by name."""
        row = named(self.travelers.values(), name, "traveler", "list_travelers")
        return {"traveler_id": row.traveler_id, "name": row.name, "tier": row.tier}

    @tool(read_only=True)
    def get_traveler(self, traveler_id: t.TravelerId) -> t.TravelerShown:
        """Show a traveler's loyalty tier and points, and the passport."""
        row = self._traveler(traveler_id)
        return {
            "traveler_id": row.traveler_id,
            "name": row.name,
            "tier": row.tier,
            "points": row.points,
            "passport": row.passport,
            "passport_expires": row.passport_expires,
        }

    @tool(idempotent=True)
    def update_passport(self, traveler_id: t.TravelerId, passport: t.Passport) -> t.PassportChanged:
        """Enter a traveler's new passport, which must be valid."""
        self._traveler(traveler_id)
        expires, number = date_of(passport["expires"]).isoformat(), passport["number"].strip()
        if expires <= self.now.date().isoformat():
            raise ToolError("invalid_value", f"the passport expired on {expires}", "Give a passport that is valid.")
        if any(r.passport == number for r in self.travelers.values() if r.traveler_id != traveler_id):
            raise ToolError("conflict", "another traveler has this passport number", "Check the number.")
        self.travelers.update(traveler_id, passport=number, passport_expires=expires)
        return {"traveler_id": traveler_id, "passport_expires": expires}

    @tool()
    def share_points(self, traveler_id: t.TravelerId, to_id: t.TravelerId, points: t.Points) -> t.TravelerPoints:
        """Give loyalty points of a traveler to another one; answers with what is left."""
        giver, taker = self._traveler(traveler_id), self._traveler(to_id)
        if traveler_id == to_id:
            raise ToolError("invalid_value", "giver and receiver are the same traveler", "Choose two travelers.")
        if giver.points < points:
            raise ToolError("insufficient", f"the traveler has {giver.points} points", "Give fewer points.")
        self.travelers.update(to_id, points=taker.points + int(points))
        left = self.travelers.update(traveler_id, points=giver.points - int(points))
        return {"traveler_id": traveler_id, "points": left.points}

    @tool(read_only=True)
    def list_travel_cards(self, limit: Limit = 5) -> list[t.CardShown]:
        """List the travel cards with their balances."""
        return [card_shown(c) for c in list(self.cards.values())[: int(limit)]]

    @tool(read_only=True)
    def find_travel_card(self, name: t.KnownName) -> t.CardShown:
        """Find a travel card by its name."""
        return card_shown(named(self.cards.values(), name, "travel card", "list_travel_cards"))

    # -- bookings --------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_bookings(self, status: t.AnyStatus = "any", limit: Limit = 5) -> list[t.BookingRow]:
        """List the flight bookings, the earliest flight first."""
        rows = [b for b in self.bookings.values() if status in ("any", self._status(b))]
        rows.sort(key=lambda b: (self.flights[self.fares[b.fare_id].flight_id].departs, b.booking_id))
        return [
            {
                "booking_id": b.booking_id,
                "flight_id": self.fares[b.fare_id].flight_id,
                "traveler_id": b.traveler_id,
                "status": self._status(b),
            }
            for b in rows[: int(limit)]
        ]

    @tool(read_only=True)
    def find_booking(self, traveler_id: t.TravelerId, flight_id: t.FlightId) -> t.BookingFound:
        """Find a traveler's booking on a flight."""
        self._traveler(traveler_id)
        self._flight(flight_id)
        rows = self.bookings.where(lambda b: b.traveler_id == traveler_id and self.fares[b.fare_id].flight_id == flight_id)
        if not rows:
            raise ToolError("not_found", "the traveler has no booking on this flight", "list_bookings shows what there is.")
        row = min(rows, key=lambda b: (not self._active(b), b.booking_id))
        return {"booking_id": row.booking_id, "status": self._status(row)}

    @tool(read_only=True)
    def get_booking(self, booking_id: t.BookingId) -> t.BookingShown:
        """Show a booking: fare, status, total price, extra bags, and the seat if one is selected."""
        row = self._booking(booking_id)
        shown: t.BookingShown = {
            "booking_id": row.booking_id,
            "fare_id": row.fare_id,
            "status": self._status(row),
            "total": money(row.paid if row.status == "cancelled" else self._total(row)),
            "bags": row.bags,
        }
        if row.seat_id:
            shown["seat"] = self.seats[row.seat_id].label
        return shown

    @tool()
    def hold_booking(self, fare_id: t.FareId, traveler_id: t.TravelerId, bags: t.Bags = 0) -> t.Held:
        """Hold a place on a flight for a traveler; pay_booking within a day makes it a ticket."""
        fare = self._fare(fare_id)
        self._traveler(traveler_id)
        self._check_open(fare)
        self._check_apart(traveler_id, self.flights[fare.flight_id])
        row = self._hold(fare, traveler_id, int(bags))
        return {"booking_id": row.booking_id, "total": money(self._total(row))}

    @tool()
    def hold_group(self, fare_id: t.FareId, traveler_ids: t.Travelers) -> list[t.Held]:
        """Hold places on one flight for several travelers, for all of them or for none."""
        fare = self._fare(fare_id)
        if len(set(traveler_ids)) != len(traveler_ids):
            raise ToolError("invalid_value", "a traveler is named twice", "Name each traveler once.")
        self._check_open(fare, len(traveler_ids))
        for traveler_id in traveler_ids:
            self._traveler(traveler_id)
            self._check_apart(traveler_id, self.flights[fare.flight_id])
        rows = [self._hold(fare, traveler_id, 0) for traveler_id in sorted(traveler_ids)]
        return [{"booking_id": r.booking_id, "total": money(self._total(r))} for r in rows]

    @tool()
    def pay_booking(self, booking_id: t.BookingId, travel_card_id: t.TravelCardId) -> t.Paid:
        """Pay a held booking with a travel card, which makes it a ticket."""
        row = self._booking(booking_id, "held")
        self._check_passport(self.travelers[row.traveler_id], self.flights[self.fares[row.fare_id].flight_id])
        row = self._settle(replace(row, status="ticketed", travel_card_id=travel_card_id))
        return {"booking_id": booking_id, "status": row.status, "charged": money(row.paid)}

    @tool(idempotent=True)
    def select_seat(self, booking_id: t.BookingId, seat_id: t.SeatId) -> t.Seated:
        """Put a held or ticketed booking on a free seat of its cabin; a fee goes to the booking's card."""
        row = self._booking(booking_id, "held", "ticketed")
        seat, fare = existing(self.seats, seat_id, "seat", "list_seats"), self.fares[row.fare_id]
        if (seat.flight_id, seat.cabin) != (fare.flight_id, CABIN[fare.fare_class]):
            raise ToolError("invalid_value", "the seat is in another cabin or flight", "list_seats shows the free seats.")
        if seat_id != row.seat_id and seat not in self._free_seats(seat.flight_id, seat.cabin):
            raise ToolError("conflict", f"seat {seat.label} is taken", "list_seats shows the free seats.")
        row = self._settle(replace(row, seat_id=seat_id))
        return {"booking_id": booking_id, "seat": seat.label, "total": money(self._total(row))}

    @tool(idempotent=True)
    def set_bags(self, booking_id: t.BookingId, bags: t.Bags) -> t.Bagged:
        """Set the extra bags of a held or ticketed booking; the booking's card pays or gets back the difference."""
        row = self._settle(replace(self._booking(booking_id, "held", "ticketed"), bags=int(bags)))
        return {"booking_id": booking_id, "bags": row.bags, "total": money(self._total(row))}

    @tool()
    def upgrade_booking(self, booking_id: t.BookingId, fare_id: t.FareId, pay_with: t.PayWith = "card") -> t.Changed:
        """Move a ticketed booking to a higher fare of its flight; a point is worth a cent. In another cabin the seat goes."""
        row, fare = self._booking(booking_id, "ticketed"), self._fare(fare_id)
        old = self.fares[row.fare_id]
        if fare.flight_id != old.flight_id:
            raise ToolError("invalid_value", "the fare is of another flight", "Use change_booking to change the flight.")
        if CLASSES.index(fare.fare_class) <= CLASSES.index(old.fare_class):
            raise ToolError(
                "invalid_value", f"{fare.fare_class} is not above {old.fare_class}", "Use list_fares to choose one."
            )
        same = CABIN[fare.fare_class] == CABIN[old.fare_class]
        if not same:
            self._check_open(fare)
        more = max(0, fare.cents - row.price)
        traveler = self.travelers[row.traveler_id]
        if pay_with == "points" and traveler.points < more:
            raise ToolError("insufficient", f"{more} points are needed, there are {traveler.points}", "Pay with the card.")
        price, spent = (row.price, more) if pay_with == "points" else (row.price + more, 0)
        seat_id = row.seat_id if same else ""
        row = self._settle(replace(row, fare_id=fare_id, price=price, points=row.points + spent, seat_id=seat_id))
        self.travelers.update(row.traveler_id, points=traveler.points - spent)
        return {"booking_id": booking_id, "fare_id": fare_id, "total": money(self._total(row))}

    @tool()
    def change_booking(self, booking_id: t.BookingId, fare_id: t.FareId) -> t.Changed:
        """Move a ticketed booking to another flight of the same route; its card pays the change fee and the difference."""
        row, fare = self._booking(booking_id, "ticketed"), self._fare(fare_id)
        old = self.fares[row.fare_id]
        before, after = self.flights[old.flight_id], self.flights[fare.flight_id]
        if before == after:
            raise ToolError("invalid_value", "the fare is of the same flight", "Use upgrade_booking for a higher fare.")
        if (before.origin_id, before.destination_id) != (after.origin_id, after.destination_id):
            raise ToolError("invalid_value", "the flight is on another route", "Use search_flights for this route.")
        if old.change_cents < 0:
            raise ToolError("denied", "the fare does not allow changes", "Use cancel_booking, or keep the booking.")
        self._check_open(fare)
        self._check_apart(row.traveler_id, after, besides=booking_id)
        self._check_passport(self.travelers[row.traveler_id], after)
        fees = row.fees + old.change_cents
        row = self._settle(replace(row, fare_id=fare_id, price=fare.cents, fees=fees, seat_id=""))
        return {"booking_id": booking_id, "fare_id": fare_id, "total": money(self._total(row))}

    @tool(read_only=True)
    def quote_cancellation(self, booking_id: t.BookingId) -> t.Refund:
        """Tell what would be refunded if a booking were cancelled now."""
        row = self._booking(booking_id, "held", "ticketed")
        return {"booking_id": booking_id, "refund": money(self._refund_of(row))}

    @tool(destructive=True)
    def cancel_booking(self, booking_id: t.BookingId) -> t.BookingCancelled:
        """Cancel a held or ticketed booking; the refund follows its fare's rules, and points that were spent come back."""
        row = self._booking(booking_id, "held", "ticketed")
        refund = self._refund_of(row)
        if refund:
            self._charge(row.travel_card_id, -refund)
        traveler = self.travelers[row.traveler_id]
        self.travelers.update(row.traveler_id, points=traveler.points + row.points)
        gone = replace(row, status="cancelled", paid=row.paid - refund, points=0, seat_id="", itinerary_id="")
        self.bookings.put(booking_id, gone)
        return {"booking_id": booking_id, "status": "cancelled", "refund": money(refund)}

    @tool()
    def check_in_booking(self, booking_id: t.BookingId) -> t.CheckedIn:
        """Check in a ticketed booking with a seat, in the last day before the flight; the traveler earns points."""
        row = self._booking(booking_id, "ticketed")
        fare = self.fares[row.fare_id]
        flight, traveler = self.flights[fare.flight_id], self.travelers[row.traveler_id]
        if flight.departs - self.now > CHECK_IN:
            day, time = day_and_time(flight.departs - CHECK_IN, self.airports[flight.origin_id].zone)
            raise ToolError("wrong_state", f"check-in opens on {day} at {time}", "Check in later.")
        if not row.seat_id:
            raise ToolError("wrong_state", "the booking has no seat", "Use select_seat first.")
        self._check_passport(traveler, flight)
        earned = row.price // 100 * TIER_POINTS[traveler.tier]
        self.bookings.update(booking_id, status="checked_in")
        self.travelers.update(row.traveler_id, points=traveler.points + earned)
        return {"booking_id": booking_id, "status": "checked_in", "seat": self.seats[row.seat_id].label, "points": earned}

    # -- hotels ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_hotels(self, airport_id: t.AirportId, limit: Limit = 5) -> list[t.HotelRow]:
        """List the hotels in an airport's city, most stars first."""
        self._airport(airport_id)
        rows = sorted(self.hotels.where(lambda h: h.airport_id == airport_id), key=lambda h: (-h.stars, h.name))
        return [{"hotel_id": h.hotel_id, "name": h.name, "stars": h.stars} for h in rows[: int(limit)]]

    @tool(read_only=True)
    def find_hotel(self, name: t.KnownName) -> t.HotelRow:
        """Find a hotel by its name."""
        row = named(self.hotels.values(), name, "hotel", "list_hotels")
        return {"hotel_id": row.hotel_id, "name": row.name, "stars": row.stars}

    @tool(read_only=True)
    def get_hotel(self, hotel_id: t.HotelId) -> t.HotelShown:
        """Show a hotel: its city's airport, stars, and its lowest price for a night."""
        row = existing(self.hotels, hotel_id, "hotel", "list_hotels")
        return {
            "hotel_id": row.hotel_id,
            "name": row.name,
            "airport_id": row.airport_id,
            "stars": row.stars,
            "from_price": money(min(r.cents for r in self._rooms_of(hotel_id))),
        }

    @tool(read_only=True)
    def list_hotel_rooms(self, hotel_id: t.HotelId, limit: Limit = 5) -> list[t.RoomRow]:
        """List the rooms of a hotel with their prices for a night, cheapest first."""
        existing(self.hotels, hotel_id, "hotel", "list_hotels")
        return [room_row(r) for r in sorted(self._rooms_of(hotel_id), key=lambda r: r.cents)[: int(limit)]]

    @tool(read_only=True)
    def find_hotel_room(self, hotel_id: t.HotelId, kind: t.OfKind) -> t.RoomRow:
        """Find the room of a kind in a hotel."""
        existing(self.hotels, hotel_id, "hotel", "list_hotels")
        return room_row(next(r for r in self._rooms_of(hotel_id) if r.kind == kind))

    @tool(read_only=True)
    def search_hotel_rooms(
        self, airport_id: t.AirportId, day: Date, nights: t.Nights = 1, limit: Limit = 5
    ) -> list[t.RoomOffer]:
        """List the rooms in an airport's city that are free from a day on, cheapest first."""
        first = self._from(day, self._airport(airport_id))
        rooms = [r for r in self.rooms.values() if self.hotels[r.hotel_id].airport_id == airport_id]
        free = [r for r in rooms if not clash(days_of(first, int(nights)), self._taken(r.hotel_room_id))]
        priced = sorted((nights_cents(r, first, int(nights)), r.hotel_room_id, r) for r in free)
        return [
            {"hotel_room_id": key, "hotel_id": r.hotel_id, "kind": r.kind, "price": money(price)}
            for price, key, r in priced[: int(limit)]
        ]

    @tool(read_only=True)
    def quote_stay(self, hotel_room_id: t.HotelRoomId, day: Date, nights: t.Nights = 1) -> t.StayQuote:
        """Tell what nights in a room cost from a day on, and whether the room is free."""
        room, airport = self._room(hotel_room_id)
        first = self._from(day, airport)
        wanted = days_of(first, int(nights))
        return {
            "price": money(nights_cents(room, first, int(nights))),
            "leaves": wanted[1].isoformat(),
            "free": not clash(wanted, self._taken(hotel_room_id)),
        }

    @tool()
    def book_stay(
        self,
        hotel_room_id: t.HotelRoomId,
        traveler_id: t.TravelerId,
        travel_card_id: t.TravelCardId,
        day: Date,
        nights: t.Nights = 1,
    ) -> t.StayBooked:
        """Book a room for a traveler from a day on and pay with a travel card."""
        room, airport = self._room(hotel_room_id)
        self._traveler(traveler_id)
        first, count = self._from(day, airport), int(nights)
        self._check_free(hotel_room_id, days_of(first, count), "room")
        price = nights_cents(room, first, count)
        self._charge(travel_card_id, price)
        key = self.stays.fresh("stay", hotel_room_id, first)
        self.stays.put(key, Stay(key, hotel_room_id, traveler_id, first, count, "booked", price, travel_card_id))
        return {"hotel_stay_id": key, "charged": money(price)}

    @tool(read_only=True)
    def list_hotel_stays(self, limit: Limit = 5) -> list[t.StayRow]:
        """List the hotel stays, the earliest first."""
        rows = sorted(self.stays.values(), key=lambda s: (s.day, s.hotel_stay_id))[: int(limit)]
        return [
            {"hotel_stay_id": s.hotel_stay_id, "hotel_room_id": s.hotel_room_id, "status": s.status, "day": s.day} for s in rows
        ]

    @tool(read_only=True)
    def find_hotel_stay(self, hotel_id: t.HotelId) -> t.StayShown:
        """Find the next stay in a hotel; a cancelled one only if there is no other."""
        existing(self.hotels, hotel_id, "hotel", "list_hotels")
        rows = [s for s in self.stays.values() if self.rooms[s.hotel_room_id].hotel_id == hotel_id]
        if not rows:
            raise ToolError("not_found", "there is no stay in this hotel", "list_hotel_stays shows what there is.")
        return self._stay_shown(min(rows, key=lambda s: (s.status != "booked", s.day, s.hotel_stay_id)))

    @tool(read_only=True)
    def get_hotel_stay(self, hotel_stay_id: t.HotelStayId) -> t.StayShown:
        """Show a stay: hotel, first day, nights and what is paid."""
        return self._stay_shown(self._stay(hotel_stay_id))

    @tool()
    def extend_stay(self, hotel_stay_id: t.HotelStayId, nights: t.Nights = 1) -> t.StayExtended:
        """Add nights to the end of a stay, on its travel card."""
        row = self._stay(hotel_stay_id, booked=True)
        together = row.nights + int(nights)
        if together > LONGEST_STAY:
            raise ToolError("invalid_value", f"a stay takes {LONGEST_STAY} nights at most", "Add fewer nights.")
        self._check_free(row.hotel_room_id, days_of(row.day, together), "room", besides=hotel_stay_id)
        price = nights_cents(self.rooms[row.hotel_room_id], row.day, together)
        more = price - row.paid
        self._charge(row.travel_card_id, more)
        self.stays.update(hotel_stay_id, nights=together, paid=price)
        return {"hotel_stay_id": hotel_stay_id, "nights": together, "charged": money(more)}

    @tool(destructive=True)
    def cancel_stay(self, hotel_stay_id: t.HotelStayId) -> t.StayCancelled:
        """Cancel a stay before its first day; on the last day before it, the first night is not refunded."""
        row = self._stay(hotel_stay_id, booked=True)
        room, airport = self._room(row.hotel_room_id)
        ahead = (dt.date.fromisoformat(row.day) - dt.date.fromisoformat(today_at(self.now, airport))).days
        if ahead < 1:
            raise ToolError("wrong_state", "the stay begins today or has begun", "It cannot be cancelled any more.")
        kept = nights_cents(room, row.day, 1) if ahead == 1 else 0
        self._charge(row.travel_card_id, kept - row.paid)
        self.stays.update(hotel_stay_id, status="cancelled", paid=kept, itinerary_id="")
        return {"hotel_stay_id": hotel_stay_id, "status": "cancelled", "refund": money(row.paid - kept)}

    # -- rental cars -----------------------------------------------------------------------------

    @tool(read_only=True)
    def list_rental_cars(self, airport_id: t.AirportId, limit: Limit = 5) -> list[t.CarRow]:
        """List the cars to rent at an airport, cheapest first."""
        self._airport(airport_id)
        rows = sorted(self.cars.where(lambda c: c.airport_id == airport_id), key=lambda c: (c.cents, c.name))[: int(limit)]
        return [
            {"rental_car_id": c.rental_car_id, "name": c.name, "car_class": c.car_class, "day_price": money(c.cents)}
            for c in rows
        ]

    @tool(read_only=True)
    def find_rental_car(self, name: t.KnownName) -> t.CarShown:
        """Find a car to rent by its model."""
        row = named(self.cars.values(), name, "rental car", "list_rental_cars")
        return {
            "rental_car_id": row.rental_car_id,
            "name": row.name,
            "airport_id": row.airport_id,
            "car_class": row.car_class,
            "day_price": money(row.cents),
        }

    @tool()
    def rent_car(
        self,
        rental_car_id: t.RentalCarId,
        traveler_id: t.TravelerId,
        travel_card_id: t.TravelCardId,
        day: Date,
        days: t.Days = 1,
        insured: t.Insured = False,
    ) -> t.CarRented:
        """Rent a car for a traveler from a day on and pay with a travel card."""
        car = existing(self.cars, rental_car_id, "rental car", "list_rental_cars")
        self._traveler(traveler_id)
        first, count = self._from(day, self.airports[car.airport_id]), int(days)
        self._check_free(rental_car_id, days_of(first, count), "car")
        price = rental_cents(car, count, insured)
        self._charge(travel_card_id, price)
        key = self.rentals.fresh("rent", rental_car_id, first)
        row = Rental(key, rental_car_id, traveler_id, first, count, insured, "booked", price, travel_card_id)
        self.rentals.put(key, row)
        return {"car_rental_id": key, "charged": money(price)}

    @tool(read_only=True)
    def list_car_rentals(self, limit: Limit = 5) -> list[t.RentalRow]:
        """List the car rentals, the earliest first."""
        rows = sorted(self.rentals.values(), key=lambda r: (r.day, r.car_rental_id))
        return [rental_row(r) for r in rows[: int(limit)]]

    @tool(read_only=True)
    def find_car_rental(self, rental_car_id: t.RentalCarId) -> t.RentalRow:
        """Find the next rental of a car; a cancelled one only if there is no other."""
        existing(self.cars, rental_car_id, "rental car", "list_rental_cars")
        rows = self.rentals.where(lambda r: r.rental_car_id == rental_car_id)
        if not rows:
            raise ToolError("not_found", "this car is not rented", "list_car_rentals shows what there is.")
        return rental_row(min(rows, key=lambda r: (r.status != "booked", r.day, r.car_rental_id)))

    @tool(destructive=True)
    def cancel_car_rental(self, car_rental_id: t.CarRentalId) -> t.RentalCancelled:
        """Cancel a car rental before its first day; all of it is refunded."""
        row = self._rental(car_rental_id, booked=True)
        if row.day <= today_at(self.now, self.airports[self.cars[row.rental_car_id].airport_id]):
            raise ToolError("wrong_state", "the rental begins today or has begun", "It cannot be cancelled any more.")
        self._charge(row.travel_card_id, -row.paid)
        self.rentals.update(car_rental_id, status="cancelled", paid=0, itinerary_id="")
        return {"car_rental_id": car_rental_id, "status": "cancelled", "refund": money(row.paid)}

    # -- itineraries -----------------------------------------------------------------------------

    @tool(read_only=True)
    def list_itineraries(self, limit: Limit = 5) -> list[t.ItineraryRow]:
        """List the itineraries with their numbers of items."""
        return [self._itinerary_row(r) for r in list(self.itineraries.values())[: int(limit)]]

    @tool(read_only=True)
    def find_itinerary(self, name: t.KnownName) -> t.ItineraryRow:
        """Find an itinerary by its name."""
        return self._itinerary_row(named(self.itineraries.values(), name, "itinerary", "list_itineraries"))

    @tool(read_only=True)
    def get_itinerary(self, itinerary_id: t.ItineraryId) -> t.ItineraryShown:
        """Show an itinerary: how many items it has, what they cost together, and when the first one starts."""
        row, items = self._itinerary(itinerary_id), self._items_of(itinerary_id)
        total = money(sum(amount for _, _, amount in items))
        shown: t.ItineraryShown = {"itinerary_id": itinerary_id, "name": row.name, "items": len(items), "total": total}
        if items:
            shown["starts"] = items[0][1]["day"]
        return shown

    @tool(read_only=True)
    def list_itinerary_items(self, itinerary_id: t.ItineraryId, limit: Limit = 5) -> list[t.ItemRow]:
        """List the flights, stays and rentals of an itinerary in the order of local time."""
        self._itinerary(itinerary_id)
        return [row for _, row, _ in self._items_of(itinerary_id)[: int(limit)]]

    @tool(read_only=True)
    def list_connections(self, itinerary_id: t.ItineraryId, limit: Limit = 5) -> list[t.Connection]:
        """List the minutes between each two flights of a traveler in an itinerary, and whether the change is possible."""
        self._itinerary(itinerary_id)
        found: list[t.Connection] = []
        last: dict[str, tuple[Booking, Flight]] = {}
        for booking, flight in self._flights_of(itinerary_id):
            if booking.traveler_id in last:
                before, arrived = last[booking.traveler_id]
                minutes = int((flight.departs - arrived.arrives).total_seconds()) // 60
                possible = arrived.destination_id == flight.origin_id and minutes >= LAYOVER
                ids = {"booking_id": before.booking_id, "next_booking_id": booking.booking_id}
                found.append({**ids, "minutes": minutes, "possible": possible})  # type: ignore[typeddict-item]
            last[booking.traveler_id] = booking, flight
        return found[: int(limit)]

    @tool()
    def create_itinerary(self, name: t.NewName, booking_ids: t.Bookings) -> t.ItineraryRow:
        """Make an itinerary of some flight bookings, or an empty one."""
        name = unused(self.itineraries.values(), name, "itinerary")
        if len(self.itineraries) >= MOST_ITINERARIES:
            raise ToolError("insufficient", f"there are {MOST_ITINERARIES} itineraries", "Use delete_itinerary first.")
        for booking_id in booking_ids:
            self._booking(booking_id, "held", "ticketed", "checked_in")
        key = self.itineraries.fresh("itin", name)
        row = self.itineraries.put(key, Itinerary(key, name))
        for booking_id in booking_ids:
            self.bookings.update(booking_id, itinerary_id=key)
        return self._itinerary_row(row)

    @tool()
    def add_to_itinerary(self, itinerary_id: t.ItineraryId, item: t.ItineraryItem) -> t.ItineraryRow:
        """Put a flight booking, hotel stay or car rental into an itinerary; it leaves any other one."""
        row = self._itinerary(itinerary_id)
        table, key, present = self._item(item)
        if present == itinerary_id:
            raise ToolError("conflict", "the itinerary has this item already", "list_itinerary_items shows its items.")
        self.tables[table].update(key, itinerary_id=itinerary_id)
        return self._itinerary_row(row)

    @tool()
    def remove_from_itinerary(self, itinerary_id: t.ItineraryId, item: t.ItineraryItem) -> t.ItineraryRow:
        """Take an item out of an itinerary; the item stays booked."""
        row = self._itinerary(itinerary_id)
        table, key, present = self._item(item)
        if present != itinerary_id:
            raise ToolError("not_found", "the itinerary has no such item", "list_itinerary_items shows its items.")
        self.tables[table].update(key, itinerary_id="")
        return self._itinerary_row(row)

    @tool(destructive=True)
    def delete_itinerary(self, itinerary_id: t.ItineraryId) -> t.ItineraryGone:
        """Delete an itinerary; what is in it stays booked."""
        self._itinerary(itinerary_id)
        for table in ("bookings", "stays", "rentals"):
            for key in [key for key, row in self.tables[table].items() if row.itinerary_id == itinerary_id]:
                self.tables[table].update(key, itinerary_id="")
        self.itineraries.remove(itinerary_id)
        return {"itinerary_id": itinerary_id, "deleted": True}

    # -- steps -----------------------------------------------------------------------------------

    def _rooms_of(self, hotel_id: str) -> list[HotelRoom]:
        return self.rooms.where(lambda r: r.hotel_id == hotel_id)

    def _stay_shown(self, row: Stay) -> t.StayShown:
        return {
            "hotel_stay_id": row.hotel_stay_id,
            "hotel_id": self.rooms[row.hotel_room_id].hotel_id,
            "status": row.status,
            "day": row.day,
            "nights": row.nights,
            "paid": money(row.paid),
        }


def room_row(row: HotelRoom) -> t.RoomRow:
    return {"hotel_room_id": row.hotel_room_id, "kind": row.kind, "night_price": money(row.cents)}


def rental_row(row: Rental) -> t.RentalRow:
    return {
        "car_rental_id": row.car_rental_id,
        "rental_car_id": row.rental_car_id,
        "status": row.status,
        "day": row.day,
        "days": row.days,
    }
