"""Identifiers, argument types and result types of the travel booking server.

Run: nothing here runs by itself; `tasks.servers.travel_booking` is the server.

Left out: rows, which results show only in part.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Date, Time, identifier

AirportId = identifier("airport", "apt")
FlightId = identifier("flight", "flt")
FareId = identifier("fare", "fare")
SeatId = identifier("seat", "seat")
TravelerId = identifier("traveler", "trav")
TravelCardId = identifier("travel_card", "tcard")
BookingId = identifier("booking", "bkg")
HotelId = identifier("hotel", "htl")
HotelRoomId = identifier("hotel_room", "hrm")
HotelStayId = identifier("hotel_stay", "stay")
RentalCarId = identifier("rental_car", "rcar")
CarRentalId = identifier("car_rental", "rent")
ItineraryId = identifier("itinerary", "itin")

FareClass = Literal["basic", "flex", "business"]
Cabin = Literal["economy", "business"]
Tier = Literal["blue", "silver", "gold"]
BookingStatus = Literal["held", "expired", "ticketed", "checked_in", "cancelled"]
StayStatus = Literal["booked", "cancelled"]
RoomKind = Literal["single", "double", "suite"]
CarClass = Literal["compact", "estate", "van"]

OfClass = Annotated[FareClass, Field(description="Basic and flex are in economy.")]
OfCabin = Annotated[Cabin, Field(description="Which cabin.")]
OfKind = Annotated[RoomKind, Field(description="Which kind of room.")]
PayWith = Annotated[Literal["card", "points"], Field(description="What pays: the booking's card, or loyalty points.")]
AnyStatus = Annotated[
    Literal["any", "held", "expired", "ticketed", "checked_in", "cancelled"], Field(description="Only bookings in this state.")
]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
SeatLabel = Annotated[str, Field(pattern=r"^[1-9][0-9]?[A-D]$", description="Row and letter, like 12C.")]
Bags = Annotated[int, Field(ge=0, le=4, description="Bags to check in beyond those of the fare.")]
Nights = Annotated[int, Field(ge=1, le=14, description="How many nights.")]
Days = Annotated[int, Field(ge=1, le=30, description="How many days.")]
Insured = Annotated[bool, Field(description="Whether to add insurance, 15.00 a day.")]
Points = Annotated[int, Field(ge=1, le=1_000_000, description="How many points.")]
Travelers = Annotated[list[TravelerId], Field(min_length=1, max_length=4, description="Identifiers of travelers.")]
Bookings = Annotated[list[BookingId], Field(max_length=6, description="Identifiers of flight bookings.")]


# -- arguments ---------------------------------------------------------------------------------


class FlightSearch(TypedDict):
    """Which flights are wanted; all given conditions hold."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    origin_id: AirportId
    destination_id: AirportId
    day: NotRequired[Date]
    fare_class: NotRequired[OfClass]
    max_price: NotRequired[Annotated[float, Field(ge=0, le=1_000_000, description="At most this fare.")]]


class Passport(TypedDict):
    """A traveler's passport."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    number: Annotated[str, Field(pattern=r"^[A-Z][0-9]{7}$", description="A letter and seven digits, like P1234567.")]
    expires: Date


class ItineraryItem(TypedDict):
    """What to add: one of the three."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    booking_id: NotRequired[BookingId]
    hotel_stay_id: NotRequired[HotelStayId]
    car_rental_id: NotRequired[CarRentalId]


# -- results: flights --------------------------------------------------------------------------


class AirportRow(TypedDict):
    airport_id: AirportId
    name: str
    country: str


class AirportShown(TypedDict):
    airport_id: AirportId
    name: str
    zone: str
    day: Date
    time: Time


class FlightRow(TypedDict):
    flight_id: FlightId
    name: str
    day: Date
    time: Time


class FlightOffer(TypedDict):
    flight_id: FlightId
    name: str
    day: Date
    time: Time
    price: float


class FlightShown(TypedDict):
    flight_id: FlightId
    origin_id: AirportId
    destination_id: AirportId
    day: Date
    time: Time
    arrives: str


class FareRow(TypedDict):
    fare_id: FareId
    fare_class: FareClass
    price: float


class FareRules(TypedDict):
    fare_id: FareId
    flight_id: FlightId
    refund_percent: int
    changeable: bool
    change_fee: NotRequired[float]
    free_bags: int


class SeatRow(TypedDict):
    seat_id: SeatId
    label: str
    fee: float


class SeatShown(TypedDict):
    seat_id: SeatId
    cabin: Cabin
    fee: float
    free: bool


# -- results: travelers and cards --------------------------------------------------------------


class TravelerRow(TypedDict):
    traveler_id: TravelerId
    name: str
    tier: Tier


class TravelerShown(TypedDict):
    traveler_id: TravelerId
    name: str
    tier: Tier
    points: int
    passport: str
    passport_expires: Date


class TravelerPoints(TypedDict):
    traveler_id: TravelerId
    points: int


class PassportChanged(TypedDict):
    traveler_id: TravelerId
    passport_expires: Date


class CardShown(TypedDict):
    travel_card_id: TravelCardId
    name: str
    balance: float
    expires: Date


# -- results: bookings -------------------------------------------------------------------------


class BookingRow(TypedDict):
    booking_id: BookingId
    flight_id: FlightId
    traveler_id: TravelerId
    status: BookingStatus


class BookingFound(TypedDict):
    booking_id: BookingId
    status: BookingStatus


class BookingShown(TypedDict):
    booking_id: BookingId
    fare_id: FareId
    status: BookingStatus
    total: float
    bags: int
    seat: NotRequired[str]


class Held(TypedDict):
    booking_id: BookingId
    total: float


class Paid(TypedDict):
    booking_id: BookingId
    status: BookingStatus
    charged: float


class Seated(TypedDict):
    booking_id: BookingId
    seat: str
    total: float


class Bagged(TypedDict):
    booking_id: BookingId
    bags: int
    total: float


class Changed(TypedDict):
    booking_id: BookingId
    fare_id: FareId
    total: float


class Refund(TypedDict):
    booking_id: BookingId
    refund: float


class BookingCancelled(TypedDict):
    booking_id: BookingId
    status: BookingStatus
    refund: float


class CheckedIn(TypedDict):
    booking_id: BookingId
    status: BookingStatus
    seat: str
    points: int


# -- results: hotels and cars ------------------------------------------------------------------


class HotelRow(TypedDict):
    hotel_id: HotelId
    name: str
    stars: int


class HotelShown(TypedDict):
    hotel_id: HotelId
    name: str
    airport_id: AirportId
    stars: int
    from_price: float


class RoomRow(TypedDict):
    hotel_room_id: HotelRoomId
    kind: RoomKind
    night_price: float


class RoomOffer(TypedDict):
    hotel_room_id: HotelRoomId
    hotel_id: HotelId
    kind: RoomKind
    price: float


class StayQuote(TypedDict):
    price: float
    leaves: Date
    free: bool


class StayBooked(TypedDict):
    hotel_stay_id: HotelStayId
    charged: float


class StayRow(TypedDict):
    hotel_stay_id: HotelStayId
    hotel_room_id: HotelRoomId
    status: StayStatus
    day: Date


class StayShown(TypedDict):
    hotel_stay_id: HotelStayId
    hotel_id: HotelId
    status: StayStatus
    day: Date
    nights: int
    paid: float


class StayExtended(TypedDict):
    hotel_stay_id: HotelStayId
    nights: int
    charged: float


class StayCancelled(TypedDict):
    hotel_stay_id: HotelStayId
    status: StayStatus
    refund: float


class CarRow(TypedDict):
    rental_car_id: RentalCarId
    name: str
    car_class: CarClass
    day_price: float


class CarShown(TypedDict):
    rental_car_id: RentalCarId
    name: str
    airport_id: AirportId
    car_class: CarClass
    day_price: float


class CarRented(TypedDict):
    car_rental_id: CarRentalId
    charged: float


class RentalRow(TypedDict):
    car_rental_id: CarRentalId
    rental_car_id: RentalCarId
    status: StayStatus
    day: Date
    days: int


class RentalCancelled(TypedDict):
    car_rental_id: CarRentalId
    status: StayStatus
    refund: float


# -- results: itineraries ----------------------------------------------------------------------


class ItineraryRow(TypedDict):
    itinerary_id: ItineraryId
    name: str
    items: int


class ItineraryShown(TypedDict):
    itinerary_id: ItineraryId
    name: str
    items: int
    total: float
    starts: NotRequired[Date]


class ItemRow(TypedDict):
    """One of the three identifiers, and when it starts in local time."""

    booking_id: NotRequired[BookingId]
    hotel_stay_id: NotRequired[HotelStayId]
    car_rental_id: NotRequired[CarRentalId]
    name: str
    day: Date
    time: NotRequired[Time]


class Connection(TypedDict):
    booking_id: BookingId
    next_booking_id: BookingId
    minutes: int
    possible: bool


class ItineraryGone(TypedDict):
    itinerary_id: ItineraryId
    deleted: bool
