"""What the maps server's tools share: where things are, local time, which roads are open, and ways along them.

Run: nothing here runs by itself; `tasks.servers.maps` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from tasks.servers import maps_types as t
from tasks.servers.calendar_rows import day_and_time, local
from tasks.servers.lookup import existing
from tasks.servers.maps_rows import (
    Address,
    Closure,
    Frame,
    Friend,
    Graph,
    Junction,
    Leg,
    Line,
    Place,
    PlaceList,
    Road,
    Route,
    Saved,
    Segment,
    Share,
    Stop,
    Town,
    Weight,
    add_lines,
    degrees,
    open_at,
    path,
    road_graph,
    running,
    straight,
)
from tasks.servers.state import Table
from tasks.servers.tool import ToolError


class Map:
    """The tables of the map, and the steps that tools are made of."""

    now: dt.datetime
    frame: Table[Frame]
    towns: Table[Town]
    junctions: Table[Junction]
    roads: Table[Road]
    segments: Table[Segment]
    addresses: Table[Address]
    places: Table[Place]
    stops: Table[Stop]
    lines: Table[Line]
    closures: Table[Closure]
    routes: Table[Route]
    friends: Table[Friend]
    shares: Table[Share]
    lists: Table[PlaceList]
    saved: Table[Saved]

    # -- places ----------------------------------------------------------------------------------

    def _town(self, town_id: str) -> Town:
        return existing(self.towns, town_id, "town", "list_towns")

    def _place(self, place_id: str) -> Place:
        return existing(self.places, place_id, "place", "list_places")

    def _at(self, place: Place) -> Junction:
        """Where a place stands."""
        return self.junctions[self.addresses[place.street_address_id].junction_id]

    def _zone(self, place: Place) -> str:
        return self.towns[self._at(place).town_id].zone

    def _open(self, place: Place) -> bool:
        return open_at(place, local(self.now, self._zone(place)))

    def _of(self, category: str, town_id: str = "") -> list[Place]:
        """The places of a category (all, for any), in one town or in all."""
        return self.places.where(lambda p: category in ("any", p.category) and (not town_id or self._at(p).town_id == town_id))

    def _by_distance(self, rows: Iterable[Place], place: Place) -> list[tuple[int, Place]]:
        """Other places with their straight distances in meters, the nearest first."""
        center = self._at(place)
        found = [(straight(center, self._at(row)), row) for row in rows if row.place_id != place.place_id]
        return sorted(found, key=lambda pair: (pair[0], pair[1].place_id))

    def _address_shown(self, row: Address) -> t.AddressShown:
        at = self.junctions[row.junction_id]
        lat, lon = degrees(self.frame["frame"], at)
        return {
            "street_address_id": row.street_address_id,
            "name": row.name,
            "road_id": row.road_id,
            "town_id": at.town_id,
            "lat": lat,
            "lon": lon,
        }

    # -- roads -----------------------------------------------------------------------------------

    def _road(self, road_id: str) -> Road:
        return existing(self.roads, road_id, "road", "list_roads")

    def _closures(self) -> list[Closure]:
        """The closures that are not over, the first to end first."""
        rows = self.closures.where(lambda c: c.until > self.now)
        return sorted(rows, key=lambda c: (c.until, c.road_closure_id))

    def _closed(self) -> set[str]:
        return {row.road_id for row in self._closures()}

    def _until(self, row: Closure) -> str:
        return " ".join(day_and_time(row.until, self.towns[self.roads[row.road_id].town_id].zone))

    def _closure_row(self, row: Closure) -> t.ClosureRow:
        return {
            "road_closure_id": row.road_closure_id,
            "road_id": row.road_id,
            "reason": row.reason,
            "until": self._until(row),
            "mine": row.mine,
        }

    # -- routes ----------------------------------------------------------------------------------

    def _graph(self, mode: t.Mode, avoid: str = "") -> Graph:
        highways = [row.road_id for row in self.roads.values() if row.kind == "highway"]
        graph = road_graph(self.segments.values(), highways, mode, {*self._closed(), avoid})
        if mode == "transit":
            lines = [line for line in self.lines.values() if self._running(line)]
            add_lines(graph, lines, self.stops, self.junctions)  # type: ignore[arg-type]
        return graph

    def _running(self, line: Line) -> bool:
        return running(line, day_and_time(self.now, self.towns[line.town_id].zone)[1])

    def _legs(self, from_id: str, to_id: str, mode: t.Mode, prefer: str, avoid: str) -> tuple[Leg, ...]:
        start, goal = self._at(self._place(from_id)), self._at(self._place(to_id))
        weight: Weight = "meters" if prefer == "shortest" else "seconds"
        found = path(self._graph(mode, avoid), start.junction_id, goal.junction_id, weight)
        if found is None:
            raise ToolError("not_found", "no open way leads there", "Choose another mode, or other places.")
        return found

    def _route(self, route_id: str, *statuses: str) -> Route:
        """The route, when it is in one of `statuses` (any, when none are given)."""
        row = existing(self.routes, route_id, "route", "list_routes")
        if statuses and row.status not in statuses:
            raise ToolError(
                "wrong_state", f"the route is {row.status}, not {' or '.join(statuses)}", "Use get_route to see it."
            )
        return row

    def _active(self) -> Route | None:
        return next((row for row in self.routes.values() if row.status == "active"), None)

    def _blocked(self, row: Route) -> bool:
        """Whether a route goes along a road that is closed now."""
        return row.status in ("planned", "active") and bool({leg.key for leg in row.legs} & self._closed())

    def _arrival(self, row: Route, minutes: int = 0) -> tuple[str, str]:
        """Local day and time at the destination, when the route starts in some minutes."""
        return day_and_time(self.now + dt.timedelta(minutes=minutes + row.minutes), self._zone(self.places[row.to_id]))

    def _end(self, route_id: str, status: t.RouteStatus) -> Route:
        """Ends an active route; nobody follows it any more."""
        for key in [key for key, share in self.shares.items() if share.route_id == route_id]:
            self.shares.remove(key)
        return self.routes.update(route_id, status=status)

    # -- lists -----------------------------------------------------------------------------------

    def _list(self, place_list_id: str) -> PlaceList:
        return existing(self.lists, place_list_id, "place list", "list_place_lists")

    def _in_list(self, place_list_id: str) -> list[Saved]:
        return self.saved.where(lambda s: s.place_list_id == place_list_id)

    def _list_row(self, row: PlaceList) -> t.ListRow:
        return {"place_list_id": row.place_list_id, "name": row.name, "places": len(self._in_list(row.place_list_id))}

    def _saved(self, saved_place_id: str) -> Saved:
        return existing(self.saved, saved_place_id, "saved place", "list_saved_places")

    def _check_new_in_list(self, place_list_id: str, place_id: str) -> None:
        if any(row.place_id == place_id for row in self._in_list(place_list_id)):
            raise ToolError("conflict", "the place is in this list already", "list_saved_places shows what is in it.")


def stars_of(place: Place) -> float:
    """The mean of the ratings, to one decimal; 0 without any."""
    return round(sum(stars for stars, _ in place.ratings) / len(place.ratings), 1) if place.ratings else 0.0


def place_row(row: Place) -> t.PlaceRow:
    return {"place_id": row.place_id, "name": row.name, "category": row.category}


def line_row(row: Line) -> t.LineRow:
    return {"transit_line_id": row.transit_line_id, "name": row.name, "kind": row.kind}
