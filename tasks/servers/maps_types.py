"""Identifiers, argument types and result types of the maps server.

Run: nothing here runs by itself; `tasks.servers.maps` is the server.

Left out: rows, which results show only in part.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Date, Time, identifier

TownId = identifier("town", "town")
PlaceId = identifier("place", "plc")
StreetAddressId = identifier("street_address", "sta")
RoadId = identifier("road", "road")
RoadClosureId = identifier("road_closure", "clo")
RouteId = identifier("route", "rte")
SavedPlaceId = identifier("saved_place", "svp")
PlaceListId = identifier("place_list", "plst")
TransitStopId = identifier("transit_stop", "tst")
TransitLineId = identifier("transit_line", "tln")
MapFriendId = identifier("map_friend", "mfr")
EtaShareId = identifier("eta_share", "eta")

Category = Literal[
    "cafe", "restaurant", "bakery", "pharmacy", "museum", "library", "gym", "bank", "cinema", "bookstore", "florist", "pin"
]
Mode = Literal["walk", "bike", "drive", "transit"]
RouteStatus = Literal["planned", "active", "finished", "stopped"]
RoadKind = Literal["street", "highway"]
LineKind = Literal["bus", "tram"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
Reason = Literal["accident", "roadworks", "flooding", "event"]

OfCategory = Annotated[Category, Field(description="Kind of place; pins are the user's own.")]
AnyCategory = Annotated[
    Literal[
        "any",
        "cafe",
        "restaurant",
        "bakery",
        "pharmacy",
        "museum",
        "library",
        "gym",
        "bank",
        "cinema",
        "bookstore",
        "florist",
        "pin",
    ],
    Field(description="Only places of this kind."),
]
ByMode = Annotated[Mode, Field(description="How to travel.")]
OnRoads = Annotated[Literal["walk", "bike", "drive"], Field(description="How to travel.")]
Prefer = Annotated[Literal["fastest", "shortest"], Field(description="Least time, or least distance.")]
Avoided = Annotated[RoadId | None, Field(description="A road not to take.")]
InTown = Annotated[TownId | None, Field(description="Only in this town.")]
Because = Annotated[Reason, Field(description="Why the road is closed.")]
Hours = Annotated[int, Field(ge=1, le=72, description="For how many hours.")]
InMinutes = Annotated[int, Field(ge=0, le=1440, description="Minutes from now until the start.")]
Stars = Annotated[int, Field(ge=1, le=5, description="From 1, bad, to 5, good.")]
OpenNow = Annotated[bool, Field(description="Only places that are open now.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
Places = Annotated[list[PlaceId], Field(max_length=8, description="Identifiers of places.")]
FewPlaces = Annotated[list[PlaceId], Field(min_length=1, max_length=3, description="Where from: identifiers of places.")]
Stops = Annotated[list[PlaceId], Field(min_length=1, max_length=5, description="Where to: identifiers of places.")]


# -- arguments ---------------------------------------------------------------------------------


class Near(TypedDict):
    """A circle around a place."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    place_id: PlaceId
    meters: Annotated[int, Field(ge=50, le=20_000, description="Radius in meters, as the crow flies.")]


class Point(TypedDict):
    """Coordinates in degrees."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    lat: Annotated[float, Field(ge=-90, le=90, description="Latitude.")]
    lon: Annotated[float, Field(ge=-180, le=180, description="Longitude.")]


# -- results: places ---------------------------------------------------------------------------


class TownShown(TypedDict):
    town_id: TownId
    name: str
    zone: str


class PlaceRow(TypedDict):
    place_id: PlaceId
    name: str
    category: Category


class PlaceShown(TypedDict):
    place_id: PlaceId
    name: str
    category: Category
    town_id: TownId
    street_address_id: StreetAddressId
    stars: float


class PlaceRated(TypedDict):
    place_id: PlaceId
    stars: float


class PlaceNear(TypedDict):
    place_id: PlaceId
    name: str
    meters: int


class NearestPlace(TypedDict):
    place_id: PlaceId
    meters: int


class OpeningHours(TypedDict):
    place_id: PlaceId
    opens: Time
    closes: Time
    closed_on: NotRequired[Weekday]
    open_now: bool


class OpenThen(TypedDict):
    place_id: PlaceId
    open: bool


class LocalTime(TypedDict):
    place_id: PlaceId
    zone: str
    day: Date
    time: Time


class PinGone(TypedDict):
    place_id: PlaceId
    removed: bool


class AddressRow(TypedDict):
    street_address_id: StreetAddressId
    name: str


class AddressShown(TypedDict):
    street_address_id: StreetAddressId
    name: str
    road_id: RoadId
    town_id: TownId
    lat: float
    lon: float


class AddressNear(TypedDict):
    street_address_id: StreetAddressId
    name: str
    meters: int


# -- results: roads and routes -----------------------------------------------------------------


class RoadRow(TypedDict):
    road_id: RoadId
    name: str
    kind: RoadKind
    closed: bool


class RoadShown(TypedDict):
    road_id: RoadId
    town_id: TownId
    kind: RoadKind
    meters: int
    closed: bool


class ClosureRow(TypedDict):
    road_closure_id: RoadClosureId
    road_id: RoadId
    reason: Reason
    until: str
    mine: bool


class ClosureOpened(TypedDict):
    road_closure_id: RoadClosureId
    until: str


class ClosureGone(TypedDict):
    road_closure_id: RoadClosureId
    removed: bool


class Here(TypedDict):
    place_id: PlaceId
    name: str


class RouteRow(TypedDict):
    route_id: RouteId
    from_id: PlaceId
    to_id: PlaceId
    mode: Mode
    status: RouteStatus


class RoutePlanned(TypedDict):
    route_id: RouteId
    meters: int
    minutes: int


class RouteFound(TypedDict):
    route_id: RouteId
    mode: Mode
    status: RouteStatus


class RouteShown(TypedDict):
    route_id: RouteId
    status: RouteStatus
    meters: int
    minutes: int
    legs: int
    blocked: bool


class RouteLeg(TypedDict):
    """A stretch along one road or on one line."""

    road_id: NotRequired[RoadId]
    transit_line_id: NotRequired[TransitLineId]
    name: str
    meters: int


class RouteChanged(TypedDict):
    route_id: RouteId
    status: RouteStatus


class RouteGone(TypedDict):
    route_id: RouteId
    removed: bool


class Arrival(TypedDict):
    route_id: RouteId
    day: Date
    time: Time


class Distance(TypedDict):
    from_id: PlaceId
    to_id: PlaceId
    meters: int


class NextStop(TypedDict):
    place_id: PlaceId
    meters: int


# -- results: friends, lists, transit ----------------------------------------------------------


class FriendRow(TypedDict):
    map_friend_id: MapFriendId
    name: str


class Shared(TypedDict):
    eta_share_id: EtaShareId
    arrives: Time


class ShareRow(TypedDict):
    eta_share_id: EtaShareId
    map_friend_id: MapFriendId
    route_id: RouteId


class ShareGone(TypedDict):
    eta_share_id: EtaShareId
    removed: bool


class ListRow(TypedDict):
    place_list_id: PlaceListId
    name: str
    places: int


class ListGone(TypedDict):
    place_list_id: PlaceListId
    removed: int


class SavedRow(TypedDict):
    saved_place_id: SavedPlaceId
    name: str
    place_id: PlaceId


class SavedShown(TypedDict):
    saved_place_id: SavedPlaceId
    place_id: PlaceId
    place_list_id: PlaceListId


class SavedGone(TypedDict):
    saved_place_id: SavedPlaceId
    removed: bool


class LineRow(TypedDict):
    transit_line_id: TransitLineId
    name: str
    kind: LineKind


class LineShown(TypedDict):
    transit_line_id: TransitLineId
    stops: int
    first: Time
    last: Time
    every_minutes: int
    running: bool


class StopRow(TypedDict):
    transit_stop_id: TransitStopId
    name: str


class StopNear(TypedDict):
    transit_stop_id: TransitStopId
    meters: int


class Departure(TypedDict):
    transit_line_id: TransitLineId
    toward: str
    time: Time
