"""Rows of the maps server, and its geometry: positions, the graph of roads and lines, shortest paths, opening hours.

Positions are meters east (x) and north (y) of the frame's point. Lengths are whole meters and durations whole
seconds, so that a route's sums are exact. No road is shorter than the straight line between its ends.

Run: nothing here runs by itself; `tasks.servers.maps` is the server.

Left out: one-way roads and turn restrictions; lines have tracks of their own and ignore closures.
"""

from __future__ import annotations

import datetime as dt
import heapq
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from tasks.servers.maps_types import Category, LineKind, Mode, Reason, RoadKind, RouteStatus, Weekday

WEEKDAYS: tuple[Weekday, ...] = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SPEED: dict[Mode, float] = {"walk": 5, "bike": 15, "transit": 5}
"""Kilometers an hour, of those who do not go at the road's speed; in transit, of the walks."""
LINE_SPEED: dict[LineKind, float] = {"bus": 22, "tram": 28}
DEGREE = 111_320
"""Meters in a degree of latitude."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The one row of settings: where x = y = 0 lies, in degrees, and where the user is."""

    lat: float
    lon: float
    place_id: str


@dataclass(frozen=True, slots=True)
class Town:
    town_id: str
    name: str
    zone: str


@dataclass(frozen=True, slots=True)
class Junction:
    """A crossing of roads; everything on the map stands at one."""

    junction_id: str
    town_id: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Road:
    road_id: str
    name: str
    town_id: str
    kind: RoadKind


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a road between two junctions, in both directions."""

    segment_id: str
    road_id: str
    a: str
    b: str
    meters: int
    kmh: int


@dataclass(frozen=True, slots=True)
class Address:
    """Its name is the number and the road."""

    street_address_id: str
    name: str
    road_id: str
    junction_id: str


@dataclass(frozen=True, slots=True)
class Place:
    """Equal opening and closing times mean always open; a closing time before the opening time is after midnight.

    `ratings` are (stars, who); the user's own has the name "".
    """

    place_id: str
    name: str
    category: Category
    street_address_id: str
    opens: str
    closes: str
    closed_on: Weekday | Literal[""]
    ratings: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Closure:
    """A closed road until a moment in UTC; `mine` when the user reported it."""

    road_closure_id: str
    road_id: str
    reason: Reason
    until: dt.datetime
    mine: bool


@dataclass(frozen=True, slots=True)
class Stop:
    transit_stop_id: str
    name: str
    junction_id: str


@dataclass(frozen=True, slots=True)
class Line:
    """Runs both ways between its ends, from `first` to `last` local time; `seconds` are between neighboring stops."""

    transit_line_id: str
    name: str
    kind: LineKind
    town_id: str
    stops: tuple[str, ...]
    seconds: tuple[int, ...]
    first: str
    last: str
    minutes: int


@dataclass(frozen=True, slots=True)
class Leg:
    """A stretch of a route along one road or on one line (`key`); the wait for a line is in its seconds."""

    key: str
    meters: int
    seconds: int


@dataclass(frozen=True, slots=True)
class Route:
    route_id: str
    from_id: str
    to_id: str
    mode: Mode
    prefer: Literal["fastest", "shortest"]
    avoid: str
    legs: tuple[Leg, ...]
    status: RouteStatus

    @property
    def meters(self) -> int:
        return sum(leg.meters for leg in self.legs)

    @property
    def seconds(self) -> int:
        return sum(leg.seconds for leg in self.legs)

    @property
    def minutes(self) -> int:
        """Rounded up."""
        return -(-self.seconds // 60)


@dataclass(frozen=True, slots=True)
class Friend:
    map_friend_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Share:
    eta_share_id: str
    route_id: str
    map_friend_id: str


@dataclass(frozen=True, slots=True)
class PlaceList:
    place_list_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Saved:
    """A place in a list, under the user's own name for it."""

    saved_place_id: str
    name: str
    place_id: str
    place_list_id: str


def straight(a: Junction, b: Junction) -> int:
    """Meters between two junctions as the crow flies."""
    return round(math.hypot(a.x - b.x, a.y - b.y))


def degrees(frame: Frame, at: Junction) -> tuple[float, float]:
    """Latitude and longitude of a junction, to a meter."""
    lon = frame.lon + at.x / (DEGREE * math.cos(math.radians(frame.lat)))
    return round(frame.lat + at.y / DEGREE, 5), round(lon, 5)


def seconds_of(meters: int, kmh: float) -> int:
    return math.ceil(meters * 3.6 / kmh)


# -- shortest paths ----------------------------------------------------------------------------

Edge = tuple[str, str, int, int]
"""Where to, along what (a road or a line), meters, seconds."""
Graph = dict[str, list[Edge]]
Weight = Literal["meters", "seconds"]


def road_graph(segments: Iterable[Segment], highways: Iterable[str], mode: Mode, closed: Iterable[str]) -> Graph:
    """The ways that are open for a mode: walkers, cyclists and passengers take no highways."""
    shut = set(closed) if mode == "drive" else {*closed, *highways}
    graph: Graph = {}
    for row in segments:
        if row.road_id not in shut:
            seconds = seconds_of(row.meters, SPEED.get(mode, row.kmh))
            graph.setdefault(row.a, []).append((row.b, row.road_id, row.meters, seconds))
            graph.setdefault(row.b, []).append((row.a, row.road_id, row.meters, seconds))
    return graph


def add_lines(graph: Graph, lines: Iterable[Line], stops: Mapping[str, Stop], junctions: Mapping[str, Junction]) -> None:
    """Adds lines: getting on takes half the time between two departures, and a ride is as long as the straight line."""
    for line in lines:
        key = line.transit_line_id
        at = [stops[stop].junction_id for stop in line.stops]
        for number, junction in enumerate(at):
            graph.setdefault(junction, []).append((f"{key}#{number}", key, 0, line.minutes * 30))
            graph.setdefault(f"{key}#{number}", []).append((junction, key, 0, 0))
        for number, (a, b) in enumerate(pairwise(at)):
            meters = straight(junctions[a], junctions[b])
            graph[f"{key}#{number}"].append((f"{key}#{number + 1}", key, meters, line.seconds[number]))
            graph[f"{key}#{number + 1}"].append((f"{key}#{number}", key, meters, line.seconds[number]))


def shortest(graph: Graph, start: str, weight: Weight) -> tuple[dict[str, int], dict[str, tuple[str, Edge]]]:
    """Dijkstra over `weight`. Returns the least sums, and how each node is reached."""
    sums, came = {start: 0}, {}
    done: set[str] = set()
    heap = [(0, start)]
    while heap:
        total, node = heapq.heappop(heap)
        if node in done:
            continue
        done.add(node)
        for edge in graph.get(node, ()):
            further = total + (edge[2] if weight == "meters" else edge[3])
            if edge[0] not in sums or further < sums[edge[0]]:
                sums[edge[0]] = further
                came[edge[0]] = node, edge
                heapq.heappush(heap, (further, edge[0]))
    return sums, came


def path(graph: Graph, start: str, goal: str, weight: Weight) -> tuple[Leg, ...] | None:
    """The best way as legs, one a road or line in a row; None when there is none."""
    sums, came = shortest(graph, start, weight)
    if goal not in sums:
        return None
    edges: list[Edge] = []
    node = goal
    while node != start:
        node, edge = came[node]
        edges.append(edge)
    legs: list[Leg] = []
    for _, key, meters, seconds in reversed(edges):
        if legs and legs[-1].key == key:
            last = legs.pop()
            meters, seconds = last.meters + meters, last.seconds + seconds
        legs.append(Leg(key, meters, seconds))
    return tuple(legs)


# -- time --------------------------------------------------------------------------------------


def open_at(place: Place, moment: dt.datetime) -> bool:
    """Whether a place is open at a local moment. Hours past midnight belong to the day before."""
    if place.opens == place.closes:
        return True
    time, today = moment.strftime("%H:%M"), WEEKDAYS[moment.weekday()]
    if place.opens < place.closes:
        return place.opens <= time < place.closes and place.closed_on != today
    if time >= place.opens:
        return place.closed_on != today
    return time < place.closes and place.closed_on != WEEKDAYS[moment.weekday() - 1]


def running(line: Line, time: str) -> bool:
    """Whether a line runs at a local time of day."""
    return line.first <= time <= line.last


def departures(line: Line, number: int, time: str) -> list[tuple[int, str]]:
    """Next departures from a line's stop, as (minutes after midnight, the last stop): one for each direction, if any today."""
    now = _minutes(time)
    found = []
    for before, last in ((line.seconds[:number], line.stops[-1]), (line.seconds[number:], line.stops[0])):
        if last == line.stops[number]:
            continue
        offset = -(-sum(before) // 60)
        first, final = _minutes(line.first) + offset, _minutes(line.last) + offset
        runs = max(0, -(-(now - first) // line.minutes))
        leaves = first + runs * line.minutes
        if leaves <= final:
            found.append((leaves, last))
    return found


def _minutes(time: str) -> int:
    hours, minutes = time.split(":")
    return 60 * int(hours) + int(minutes)
