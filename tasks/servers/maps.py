"""The maps server: places on a road network, routes by several ways of travelling, opening hours, transit, saved places.

    with environment(["maps"]).session(7) as session:
        session.call("find_place", {"name": "Harbor Bakery"})

The network is a seeded graph of crossings; every place stands at one of them. A route is a shortest path (networkx) by time for
the way of travelling, around roads that are closed. Saved places, lists, closures and a trip that is shared are state.

Left out: live traffic that changes by itself, and addresses outside of the seeded towns.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from dataclasses import dataclass
from typing import Annotated, Literal

import networkx as nx
from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Date, Limit, Time, date_of, identifier, plain, time_of
from tasks.servers.world import World, words

PlaceId = identifier("place", "plc")
RoadId = identifier("road", "road")
StopId = identifier("transit_stop", "stop")
LineId = identifier("transit_line", "lin")
ListId = identifier("place_list", "pll")
TripId = identifier("map_trip", "mtr")

Category = Literal["bakery", "museum", "pharmacy", "park", "hotel", "garage"]
AnyCategory = Annotated[
    Literal["any", "bakery", "museum", "pharmacy", "park", "hotel", "garage"], Field(description="Only places of this kind.")
]
Mode = Annotated[Literal["walk", "bike", "drive"], Field(description="The way of travelling.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
SPEEDS = {"walk": 80, "bike": 250, "drive": 600}
"""Metres a minute; on a main road a car is half as fast again."""
TRANSIT_SPEED = 400

NAMES = words(
    """Anchor Beacon Copper Dolphin Ember Falcon Granite Heron Ivy Juniper Kestrel Lantern Marble Nectar Orchard Pebble Quartz
    Robin Saffron Thistle Umber Velvet Willow Yarrow Zephyr Amber Birch Clover Dahlia Elder Fern Garnet Hazel Indigo Jasmine
    Kelp Lotus Maple Nettle Opal"""
)
ROADS = words(
    """Abbey Bridge Castle Dock Elm Forge Gate Hill Island Jubilee King Lake Mill North Oak Park Queen River Station Tower Union
    Valley Well York Ash Brook Church Dale East Field Green High Ivory Lower Meadow New Old Pine
    Quarry Rose Spring Temple Upper Vine Water Walnut Acorn Bell Cedar Dean Ferry Grove Holly Kiln Lime Manor Nun Orchard Pond
    Quay Ridge Spur Thorn Wharf Yew Alder Barley Copse Drove"""
)
LISTS = words(
    """Favorites Weekend Errands Breakfast Visitors Rainy Sunny Kids Dates Quiet Cheap Fancy Family Work Summer Winter Spring
    Autumn Holiday Sports Books Art Music Views Picnic Shopping Someday Tested Friends Coffee"""
)
KINDS: tuple[Category, ...] = ("bakery", "museum", "pharmacy", "park", "hotel", "garage")
ZONES = {"Eastport": 60, "Westport": 0}
"""Minutes ahead of the session's clock, by town."""


@dataclass(frozen=True, slots=True)
class Crossing:
    crossing_id: str
    x: int
    y: int
    town: str


@dataclass(frozen=True, slots=True)
class Road:
    """Between two crossings; `metres` long. Main roads are for cars faster, footpaths for nobody on wheels."""

    road_id: str
    name: str
    start: str
    end: str
    metres: int
    kind: Literal["main", "side", "path"]
    closed: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """`opens` and `closes` are minutes of the local day; 0 and 1440 for always."""

    place_id: str
    name: str
    category: Category
    crossing: str
    house: int
    opens: int
    closes: int
    rating: int


@dataclass(frozen=True, slots=True)
class Stop:
    stop_id: str
    name: str
    crossing: str


@dataclass(frozen=True, slots=True)
class Line:
    line_id: str
    name: str
    stops: tuple[str, ...]
    every: int


@dataclass(frozen=True, slots=True)
class PlaceList:
    list_id: str
    name: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trip:
    """A route that is being travelled: minutes that are left are told to `shared` people."""

    trip_id: str
    start: str
    target: str
    mode: Literal["walk", "bike", "drive"]
    minutes: int
    shared: tuple[str, ...] = ()
    status: Literal["running", "arrived", "cancelled"] = "running"


class PlaceShown(TypedDict):
    place_id: PlaceId
    name: str
    category: Category
    rating: float


class PlaceTold(TypedDict):
    place_id: PlaceId
    address: str
    town: str
    hours: str
    rating: float


class Near(TypedDict):
    place_id: PlaceId
    name: str
    metres: int


class Route(TypedDict):
    metres: int
    minutes: int
    roads: list[str]


class Leg(TypedDict):
    road_id: RoadId
    name: str
    metres: int


class Distance(TypedDict):
    place_id: PlaceId
    metres: int
    minutes: int


class Position(TypedDict):
    place_id: PlaceId
    x: int
    y: int


class Opening(TypedDict):
    place_id: PlaceId
    open: bool
    local_time: str


class ZoneShown(TypedDict):
    place_id: PlaceId
    zone: str
    local_time: str


class RoadShown(TypedDict):
    road_id: RoadId
    name: str
    metres: int
    closed: bool


class StopShown(TypedDict):
    stop_id: StopId
    name: str
    metres: int


class LineShown(TypedDict):
    line_id: LineId
    name: str
    stops: int
    every: int


class Ride(TypedDict):
    line_id: LineId
    stops: int
    minutes: int


class ListShown(TypedDict):
    list_id: ListId
    name: str
    places: int


class ListDone(TypedDict):
    list_id: ListId
    places: int


class TripDone(TypedDict):
    trip_id: TripId
    minutes: int
    arrival: str
    status: Literal["running", "arrived", "cancelled"]


class Moment(TypedDict):
    """A day and a time of day on the session's clock."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    day: Date
    time: Time


class Maps(Server):
    """Two towns and the land between them."""

    name = "maps"
    title = "Places, routes, opening hours, transit and saved places."

    crossings: Table[Crossing]
    roads: Table[Road]
    places: Table[Place]
    stops: Table[Stop]
    lines: Table[Line]
    lists: Table[PlaceList]
    trips: Table[Trip]

    @classmethod
    def seed(cls, world: World) -> Seed:
        size = 5
        crossings = {}
        for row in range(size):
            for column in range(size):
                key = f"cross_{row}{column}"
                town = "Westport" if column < 3 else "Eastport"
                x, y = column * 400 + world.rng.randint(-80, 80), row * 400 + world.rng.randint(-80, 80)
                crossings[key] = Crossing(key, x, y, town)
        pairs = [
            (f"cross_{r}{c}", f"cross_{r + dr}{c + dc}")
            for r in range(size)
            for c in range(size)
            for dr, dc in ((0, 1), (1, 0))
            if r + dr < size and c + dc < size
        ]
        graph = nx.Graph(pairs)
        for pair in world.rng.sample(pairs, 8):
            graph.remove_edge(*pair)
            if not nx.is_connected(graph):
                graph.add_edge(*pair)
        kept = [pair for pair in pairs if graph.has_edge(*pair)]
        names = [f"{name} {kind}" for kind in ("Street", "Avenue", "Road", "Lane", "Way", "Row") for name in world.pool(ROADS)]
        kinds: tuple[Literal["main", "side", "path"], ...] = ("main", "side", "side", "path")
        roads = {}
        for key, name, (start, end) in zip(world.ids("road", len(kept)), world.rng.sample(names, len(kept)), kept, strict=True):
            one, two = crossings[start], crossings[end]
            metres = round(math.hypot(one.x - two.x, one.y - two.y) * world.rng.uniform(1.0, 1.4))
            roads[key] = Road(key, name, start, end, metres, world.choice(kinds))
        wheels = nx.Graph((r.start, r.end) for r in roads.values() if r.kind != "path")
        wheels.add_nodes_from(crossings)
        while not nx.is_connected(wheels):  # everywhere can be reached on wheels
            part = next(iter(nx.connected_components(wheels)))
            road = next(r for r in roads.values() if (r.start in part) != (r.end in part))
            roads[road.road_id] = Road(road.road_id, road.name, road.start, road.end, road.metres, "side")
            wheels.add_edge(road.start, road.end)
        titles = [f"{name} {kind.capitalize()}" for kind in KINDS for name in world.pool(NAMES)]
        places = {}
        for n, (key, title) in enumerate(zip(world.ids("plc", 26), world.rng.sample(titles, 26), strict=True)):
            kind: Category = title.split()[1].lower()  # type: ignore[assignment]
            opens, closes = (
                (0, 1440)
                if kind in ("park", "hotel")
                else (world.choice((420, 480, 540, 600)), world.choice((1020, 1080, 1200)))
            )
            spot = list(crossings)[n % len(crossings)] if n < 25 else world.choice(list(crossings))
            places[key] = Place(key, title, kind, spot, world.rng.randint(1, 90), opens, closes, world.rng.randint(28, 50))
        spots = world.rng.sample(list(crossings), 9)
        stops = {
            key: Stop(key, f"{title} Stop", spot)
            for key, title, spot in zip(
                world.ids("stop", 9), world.rng.sample(world.pool(ROADS), min(9, len(world.pool(ROADS)))), spots, strict=False
            )
        }
        order = list(stops)
        lines = {
            key: Line(key, f"{name} Line", tuple(order[n * 2 : n * 2 + 5]), (6, 10, 15)[n])
            for n, (key, name) in enumerate(zip(world.ids("lin", 3), world.picks(NAMES, 3), strict=True))
        }
        lists = {
            key: PlaceList(key, name, tuple(world.rng.sample(list(places), 3)))
            for key, name in zip(world.ids("pll", 3), world.picks(LISTS, 3), strict=False)
        }
        return {
            "crossings": crossings,
            "roads": roads,
            "places": places,
            "stops": stops,
            "lines": lines,
            "lists": lists,
            "trips": {},
        }

    # -- places ------------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_place(self, name: KnownName) -> PlaceShown:
        """Finds a place by its name."""
        return _place_shown(named(self.places.values(), name, "place", "search_places"))

    @tool(read_only=True)
    def search_places(self, category: AnyCategory = "any", limit: Limit = 5) -> list[PlaceShown]:
        """Lists places, all kinds or one, the best rated first."""
        rows = self.places.where(lambda p: category in ("any", p.category))
        return [_place_shown(p) for p in sorted(rows, key=lambda p: (-p.rating, p.place_id))[: int(limit)]]

    @tool(read_only=True)
    def get_place(self, place_id: PlaceId) -> PlaceTold:
        """A place's address, town, opening hours and rating."""
        row = self._place(place_id)
        hours = "always" if row.closes == 1440 else f"{_clock(row.opens)}-{_clock(row.closes)}"
        return {
            "place_id": place_id,
            "address": f"{row.house} {self._street(row.crossing)}",
            "town": self.crossings[row.crossing].town,
            "hours": hours,
            "rating": row.rating / 10,
        }

    @tool(read_only=True)
    def find_street_address(
        self, address: Annotated[str, Field(min_length=3, max_length=60, description="Number and street.")]
    ) -> Position:
        """Finds the place at a street address, with its coordinates in metres."""
        wanted = plain(address, "address").casefold()
        for row in self.places.values():
            if f"{row.house} {self._street(row.crossing)}".casefold() == wanted:
                return self.get_coordinates(row.place_id)
        raise ToolError("not_found", f"there is no place at {wanted[:40]!r}", "get_place shows a place's address.")

    @tool(read_only=True)
    def get_coordinates(self, place_id: PlaceId) -> Position:
        """Where a place is, in metres east and south."""
        spot = self.crossings[self._place(place_id).crossing]
        return {"place_id": place_id, "x": spot.x, "y": spot.y}

    @tool(read_only=True)
    def find_nearby(
        self,
        place_id: PlaceId,
        category: AnyCategory = "any",
        radius: Annotated[int, Field(ge=50, le=5000, description="Metres on foot at most.")] = 1000,
        limit: Limit = 5,
    ) -> list[Near]:
        """Lists places around a place, the nearest on foot first."""
        row = self._place(place_id)
        reach = nx.single_source_dijkstra_path_length(self._network("walk"), row.crossing, cutoff=int(radius), weight="metres")
        rows = [p for p in self.places.values() if p.crossing in reach and p is not row and category in ("any", p.category)]
        rows.sort(key=lambda p: (reach[p.crossing], p.place_id))
        return [{"place_id": p.place_id, "name": p.name, "metres": reach[p.crossing]} for p in rows[: int(limit)]]

    @tool(read_only=True)
    def is_place_open(
        self, place_id: PlaceId, moment: Annotated[Moment, Field(description="When, on the session's clock.")]
    ) -> Opening:
        """Whether a place is open at a moment, by its town's local time."""
        row, local = self._place(place_id), self._local(place_id, moment)
        minute = local.hour * 60 + local.minute
        return {"place_id": place_id, "open": row.opens <= minute < row.closes, "local_time": f"{local:%H:%M}"}

    @tool(read_only=True)
    def list_open_places(self, category: AnyCategory = "any", limit: Limit = 5) -> list[PlaceShown]:
        """Lists places that are open now, by their towns' local times, the best rated first."""
        rows = []
        for row in self.places.values():
            local = self._local(row.place_id, None)
            if category in ("any", row.category) and row.opens <= local.hour * 60 + local.minute < row.closes:
                rows.append(row)
        return [_place_shown(p) for p in sorted(rows, key=lambda p: (-p.rating, p.place_id))[: int(limit)]]

    @tool(read_only=True)
    def get_time_zone(self, place_id: PlaceId) -> ZoneShown:
        """A place's time zone and the time there now."""
        town = self.crossings[self._place(place_id).crossing].town
        ahead = ZONES[town] // 60
        return {"place_id": place_id, "zone": f"UTC+{ahead}", "local_time": f"{self._local(place_id, None):%H:%M}"}

    # -- routes ------------------------------------------------------------------------------------

    @tool(read_only=True)
    def get_route(self, start_id: PlaceId, target_id: PlaceId, mode: Mode = "drive") -> Route:
        """The fastest route between two places: its length, minutes and the names of its roads."""
        path = self._path(start_id, target_id, mode)
        roads = [self._between(a, b, mode) for a, b in itertools.pairwise(path)]
        names = list(dict.fromkeys(r.name for r in roads))
        return {"metres": sum(r.metres for r in roads), "minutes": self._minutes(roads, mode), "roads": names[:8]}

    @tool(read_only=True)
    def list_route_legs(self, start_id: PlaceId, target_id: PlaceId, mode: Mode = "drive", limit: Limit = 5) -> list[Leg]:
        """The roads of the fastest route in order."""
        path = self._path(start_id, target_id, mode)
        roads = [self._between(a, b, mode) for a, b in itertools.pairwise(path)]
        return [{"road_id": r.road_id, "name": r.name, "metres": r.metres} for r in roads[: int(limit)]]

    @tool(read_only=True)
    def get_distances(
        self,
        start_id: PlaceId,
        target_ids: Annotated[list[PlaceId], Field(min_length=1, max_length=8, description="Places to compare.")],
        mode: Mode = "drive",
    ) -> list[Distance]:
        """How far several places are from one, the fastest first."""
        found: list[Distance] = []
        for target in dict.fromkeys(target_ids):
            route = self.get_route(start_id, target, mode)
            found.append({"place_id": target, "metres": route["metres"], "minutes": route["minutes"]})
        return sorted(found, key=lambda d: (d["minutes"], d["metres"], d["place_id"]))

    @tool(read_only=True)
    def find_midpoint(self, first_id: PlaceId, second_id: PlaceId, category: AnyCategory = "any") -> Near:
        """The place of a kind that two people on foot reach most evenly; `metres` is the longer way."""
        one, two = self._place(first_id), self._place(second_id)
        network = self._network("walk")
        ways = [nx.single_source_dijkstra_path_length(network, p.crossing, weight="metres") for p in (one, two)]
        rows = [
            (max(ways[0][p.crossing], ways[1][p.crossing]), p.place_id, p.name)
            for p in self.places.values()
            if category in ("any", p.category) and p.crossing in ways[0] and p.crossing in ways[1] and p not in (one, two)
        ]
        if not rows:
            raise ToolError("not_found", "both can reach no such place", "Use another category.")
        metres, key, name = min(rows)
        return {"place_id": key, "name": name, "metres": metres}

    @tool(read_only=True)
    def find_road(self, name: KnownName) -> RoadShown:
        """Finds a road by its name."""
        return _road_shown(named(self.roads.values(), name, "road", "list_closed_roads"))

    @tool(read_only=True)
    def list_closed_roads(self, limit: Limit = 5) -> list[RoadShown]:
        """Lists roads that are closed; routes go around them."""
        return [_road_shown(r) for r in self.roads.where(lambda r: bool(r.closed))[: int(limit)]]

    @tool()
    def report_closure(
        self, road_id: RoadId, reason: Annotated[Literal["works", "accident", "flood", "event"], Field(description="Why.")]
    ) -> RoadShown:
        """Reports that a road is closed."""
        row = existing(self.roads, road_id, "road", "find_road")
        if row.closed:
            raise ToolError("conflict", f"{row.name} is closed already", "Nothing is needed.")
        return _road_shown(self.roads.update(road_id, closed=reason))

    @tool()
    def reopen_road(self, road_id: RoadId) -> RoadShown:
        """Reports that a closed road is open again."""
        row = existing(self.roads, road_id, "road", "find_road")
        if not row.closed:
            raise ToolError("wrong_state", f"{row.name} is not closed", "Nothing is needed.")
        return _road_shown(self.roads.update(road_id, closed=""))

    # -- transit -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_stops_near(self, place_id: PlaceId, limit: Limit = 5) -> list[StopShown]:
        """Lists stops around a place, the nearest on foot first."""
        row = self._place(place_id)
        reach = nx.single_source_dijkstra_path_length(self._network("walk"), row.crossing, weight="metres")
        rows = sorted((s for s in self.stops.values() if s.crossing in reach), key=lambda s: (reach[s.crossing], s.stop_id))
        return [{"stop_id": s.stop_id, "name": s.name, "metres": reach[s.crossing]} for s in rows[: int(limit)]]

    @tool(read_only=True)
    def list_lines_at(self, stop_id: StopId, limit: Limit = 5) -> list[LineShown]:
        """Lists the lines that serve a stop, with the minutes between two of their vehicles."""
        self._stop(stop_id)
        rows = self.lines.where(lambda r: stop_id in r.stops)[: int(limit)]
        return [{"line_id": r.line_id, "name": r.name, "stops": len(r.stops), "every": r.every} for r in rows]

    @tool(read_only=True)
    def get_transit_ride(self, start_id: StopId, target_id: StopId) -> Ride:
        """The fastest direct line between two stops: how many stops on, and minutes with half a wait."""
        self._stop(start_id)
        self._stop(target_id)
        if start_id == target_id:
            raise ToolError("invalid_value", "both are the same stop", "Give two different stops.")
        rides = []
        for line in self.lines.values():
            if start_id in line.stops and target_id in line.stops:
                first, last = sorted((line.stops.index(start_id), line.stops.index(target_id)))
                spots = [self.crossings[self.stops[s].crossing] for s in line.stops[first : last + 1]]
                metres = sum(math.hypot(a.x - b.x, a.y - b.y) for a, b in itertools.pairwise(spots))
                rides.append((math.ceil(metres / TRANSIT_SPEED + line.every / 2), last - first, line.line_id))
        if not rides:
            raise ToolError("not_found", "no line serves both stops", "list_lines_at shows a stop's lines.")
        minutes, count, key = min(rides)
        return {"line_id": key, "stops": count, "minutes": minutes}

    # -- saved places and trips --------------------------------------------------------------------

    @tool(read_only=True)
    def find_place_list(self, name: KnownName) -> ListShown:
        """Finds a list of saved places by its name."""
        return _list_shown(named(self.lists.values(), name, "list", "list_place_lists"))

    @tool(read_only=True)
    def list_place_lists(self, limit: Limit = 5) -> list[ListShown]:
        """Lists the user's lists of saved places."""
        return [_list_shown(r) for r in self.lists.values()][: int(limit)]

    @tool(read_only=True)
    def list_saved_places(self, list_id: ListId, limit: Limit = 5) -> list[PlaceShown]:
        """Lists the places on a list."""
        return [_place_shown(self.places[p]) for p in self._list(list_id).places[: int(limit)]]

    @tool()
    def create_place_list(self, name: NewName) -> ListDone:
        """Creates an empty list of places."""
        name = unused(self.lists.values(), name, "list")
        key = self.lists.fresh("pll", name)
        self.lists.put(key, PlaceList(key, name, ()))
        return {"list_id": key, "places": 0}

    @tool()
    def save_place(self, list_id: ListId, place_id: PlaceId) -> ListDone:
        """Puts a place on a list, of at most 30 places."""
        row, place = self._list(list_id), self._place(place_id)
        if place.place_id in row.places:
            raise ToolError("conflict", f"{place.name} is on this list already", "Nothing is needed.")
        if len(row.places) >= 30:
            raise ToolError("insufficient", "this list is full", "Use unsave_place first.")
        self.lists.update(list_id, places=(*row.places, place_id))
        return {"list_id": list_id, "places": len(row.places) + 1}

    @tool()
    def unsave_place(self, list_id: ListId, place_id: PlaceId) -> ListDone:
        """Takes a place off a list."""
        row = self._list(list_id)
        if place_id not in row.places:
            raise ToolError("not_found", f"{place_id} is not on this list", "list_saved_places shows what is.")
        self.lists.update(list_id, places=tuple(p for p in row.places if p != place_id))
        return {"list_id": list_id, "places": len(row.places) - 1}

    @tool(destructive=True)
    def delete_place_list(self, list_id: ListId) -> ListDone:
        """Deletes a list of places."""
        row = self._list(list_id)
        self.lists.remove(list_id)
        return {"list_id": list_id, "places": len(row.places)}

    @tool()
    def start_map_trip(self, start_id: PlaceId, target_id: PlaceId, mode: Mode = "drive") -> TripDone:
        """Sets off on the fastest route; one trip at a time."""
        if any(t.status == "running" for t in self.trips.values()):
            raise ToolError("conflict", "the user is on a trip", "Use finish_map_trip first.")
        minutes = self.get_route(start_id, target_id, mode)["minutes"]
        key = self.trips.fresh("mtr", start_id, target_id, mode, len(self.trips))
        return self._trip_done(self.trips.put(key, Trip(key, start_id, target_id, mode, minutes)))

    @tool()
    def share_arrival(
        self, trip_id: TripId, name: Annotated[str, Field(min_length=1, max_length=60, description="Who is told.")]
    ) -> TripDone:
        """Tells somebody when a running trip arrives."""
        row, person = self._trip(trip_id), plain(name, "name")
        if len(row.shared) >= 10:
            raise ToolError("insufficient", "ten people are told already", "No more can be.")
        return self._trip_done(self.trips.update(trip_id, shared=tuple(dict.fromkeys((*row.shared, person)))))

    @tool()
    def finish_map_trip(self, trip_id: TripId, arrived: Annotated[bool, Field(description="Or given up.")] = True) -> TripDone:
        """Ends a running trip."""
        self._trip(trip_id)
        return self._trip_done(self.trips.update(trip_id, status="arrived" if arrived else "cancelled"))

    # -- helpers -----------------------------------------------------------------------------------

    def _place(self, place_id: str) -> Place:
        return existing(self.places, place_id, "place", "search_places")

    def _stop(self, stop_id: str) -> Stop:
        return existing(self.stops, stop_id, "stop", "list_stops_near")

    def _list(self, list_id: str) -> PlaceList:
        return existing(self.lists, list_id, "list", "list_place_lists")

    def _trip(self, trip_id: str) -> Trip:
        row = existing(self.trips, trip_id, "trip", "start_map_trip")
        if row.status != "running":
            raise ToolError("wrong_state", f"{trip_id} is {row.status}", "Only a running trip can be changed.")
        return row

    def _street(self, crossing: str) -> str:
        return min(r.name for r in self.roads.values() if crossing in (r.start, r.end))

    def _local(self, place_id: str, moment: Moment | None) -> dt.datetime:
        now = self.now
        if moment is not None:
            now = dt.datetime.combine(date_of(moment["day"]), time_of(moment["time"]))
        return now + dt.timedelta(minutes=ZONES[self.crossings[self._place(place_id).crossing].town])

    def _network(self, mode: str) -> nx.Graph:
        """The roads that are open to a way of travelling, with lengths and seconds."""
        graph = nx.Graph()
        graph.add_nodes_from(self.crossings)
        for road in self.roads.values():
            if not road.closed and (road.kind != "path" or mode == "walk"):
                graph.add_edge(road.start, road.end, metres=road.metres, seconds=_seconds(road, mode), road=road)
        return graph

    def _path(self, start_id: str, target_id: str, mode: str) -> list[str]:
        start, target = self._place(start_id), self._place(target_id)
        try:
            return nx.dijkstra_path(self._network(mode), start.crossing, target.crossing, weight="seconds")  # type: ignore[no-any-return]
        except nx.NetworkXNoPath:
            raise ToolError("wrong_state", "closed roads cut the way", "Use reopen_road, or another mode.") from None

    def _between(self, start: str, end: str, mode: str) -> Road:
        return self._network(mode).edges[start, end]["road"]  # type: ignore[no-any-return]

    def _minutes(self, roads: list[Road], mode: str) -> int:
        return math.ceil(sum(_seconds(r, mode) for r in roads) / 60)

    def _trip_done(self, row: Trip) -> TripDone:
        arrival = self.now + dt.timedelta(minutes=row.minutes)
        return {"trip_id": row.trip_id, "minutes": row.minutes, "arrival": f"{arrival:%H:%M}", "status": row.status}


def _seconds(road: Road, mode: str) -> int:
    speed = SPEEDS[mode] * (1.5 if mode == "drive" and road.kind == "main" else 1.0)
    return max(1, round(road.metres / speed * 60))


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _place_shown(row: Place) -> PlaceShown:
    return {"place_id": row.place_id, "name": row.name, "category": row.category, "rating": row.rating / 10}


def _road_shown(row: Road) -> RoadShown:
    return {"road_id": row.road_id, "name": row.name, "metres": row.metres, "closed": bool(row.closed)}


def _list_shown(row: PlaceList) -> ListShown:
    return {"list_id": row.list_id, "name": row.name, "places": len(row.places)}
