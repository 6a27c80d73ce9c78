"""Maps of three towns and one user: places, addresses, roads, closures, routes, transit, saved places, shared arrivals.

    with environment(["maps"]).session(7) as session:
        session.call("find_place", {"name": "Juniper Cafe"})

Routes are shortest paths over the roads that are open now. A route is planned, started from where the user is, and
finished there where it leads; one at a time. Times are local to their town.

Left out: progress along a route, because a session's clock stands still.
"""

from __future__ import annotations

import datetime as dt
import math
from itertools import pairwise, permutations

from tasks.servers import maps_types as t
from tasks.servers.calendar_rows import day_and_time, local
from tasks.servers.lookup import existing, named, unused
from tasks.servers.maps_data import seed_rows
from tasks.servers.maps_rows import (
    DEGREE,
    Address,
    Closure,
    Frame,
    Friend,
    Junction,
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
    departures,
    open_at,
    shortest,
    straight,
)
from tasks.servers.maps_state import Map, line_row, place_row, stars_of
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Date, Limit, Time, date_of, time_of
from tasks.servers.world import World

MOST = 60
"""Routes, saved places, pins and lists, each."""
FAR = 2000
"""Meters from which on no address is near a point."""


class Maps(Map, Server):
    """The server; see the module's docstring."""

    name = "maps"
    title = "Places, roads, routes, transit and saved places"

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

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- places ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_towns(self, limit: Limit = 5) -> list[t.TownShown]:
        """List the towns with their time zones."""
        rows = list(self.towns.values())[: int(limit)]
        return [{"town_id": r.town_id, "name": r.name, "zone": r.zone} for r in rows]

    @tool(read_only=True)
    def find_town(self, name: t.KnownName) -> t.TownShown:
        """Find a town by its name."""
        row = named(self.towns.values(), name, "town", "list_towns")
        return {"town_id": row.town_id, "name": row.name, "zone": row.zone}

    @tool(read_only=True)
    def list_places(self, town_id: t.InTown = None, category: t.AnyCategory = "any", limit: Limit = 5) -> list[t.PlaceRow]:
        """List the places of a town, or of all, in the order of names."""
        if town_id is not None:
            self._town(town_id)
        rows = sorted(self._of(category, town_id or ""), key=lambda p: p.name)
        return [place_row(p) for p in rows[: int(limit)]]

    @tool(read_only=True)
    def find_place(self, name: t.KnownName) -> t.PlaceRow:
        """Find a place by its name."""
        return place_row(named(self.places.values(), name, "place", "list_places"))

    @tool(read_only=True)
    def get_place(self, place_id: t.PlaceId) -> t.PlaceShown:
        """Show a place: its kind, town, address and rating."""
        row = self._place(place_id)
        return {
            "place_id": row.place_id,
            "name": row.name,
            "category": row.category,
            "town_id": self._at(row).town_id,
            "street_address_id": row.street_address_id,
            "stars": stars_of(row),
        }

    @tool(read_only=True)
    def nearest_place(self, place_id: t.PlaceId, category: t.OfCategory) -> t.NearestPlace:
        """Find the place of a kind that is nearest to another place, as the crow flies."""
        rows = self._by_distance(self._of(category), self._place(place_id))
        if not rows:
            raise ToolError("not_found", f"there is no other {category}", "list_places shows what there is.")
        return {"place_id": rows[0][1].place_id, "meters": rows[0][0]}

    @tool(read_only=True)
    def best_place(self, town_id: t.TownId, category: t.OfCategory) -> t.PlaceRated:
        """Find the best rated place of a kind in a town."""
        self._town(town_id)
        rows = self._of(category, town_id)
        if not rows:
            raise ToolError("not_found", f"the town has no {category}", "list_places shows what there is.")
        row = min(rows, key=lambda p: (-stars_of(p), p.name))
        return {"place_id": row.place_id, "stars": stars_of(row)}

    @tool(read_only=True)
    def search_nearby(
        self, near: t.Near, category: t.AnyCategory = "any", open_now: t.OpenNow = False, limit: Limit = 5
    ) -> list[t.PlaceNear]:
        """List the places around a place, the nearest first."""
        rows = self._by_distance(self._of(category), self._place(near["place_id"]))
        near_by = [(m, p) for m, p in rows if m <= near["meters"] and (not open_now or self._open(p))]
        return [{"place_id": p.place_id, "name": p.name, "meters": m} for m, p in near_by[: int(limit)]]

    @tool(idempotent=True)
    def rate_place(self, place_id: t.PlaceId, stars: t.Stars) -> t.PlaceRated:
        """Give a place stars, instead of any the user gave before; answers with its mean rating."""
        row = self._place(place_id)
        if row.category == "pin":
            raise ToolError("denied", "a pin cannot be rated", "Rate a place.")
        others = tuple(rating for rating in row.ratings if rating[1])
        row = self.places.update(place_id, ratings=(*others, (int(stars), "")))
        return {"place_id": place_id, "stars": stars_of(row)}

    @tool(read_only=True)
    def get_opening_hours(self, place_id: t.PlaceId) -> t.OpeningHours:
        """Show when a place opens and closes, and whether it is open now; equal times mean day and night."""
        row = self._place(place_id)
        shown: t.OpeningHours = {
            "place_id": place_id,
            "opens": row.opens,
            "closes": row.closes,
            "open_now": self._open(row),
        }
        if row.closed_on:
            shown["closed_on"] = row.closed_on
        return shown

    @tool(read_only=True)
    def check_opening(self, place_id: t.PlaceId, day: Date, time: Time) -> t.OpenThen:
        """Tell whether a place is open on a day at a local time."""
        row = self._place(place_id)
        return {"place_id": place_id, "open": open_at(row, dt.datetime.combine(date_of(day), time_of(time)))}

    @tool(read_only=True)
    def get_local_time(self, place_id: t.PlaceId) -> t.LocalTime:
        """Tell a place's time zone, and the day and time there now."""
        zone = self._zone(self._place(place_id))
        day, time = day_and_time(self.now, zone)
        return {"place_id": place_id, "zone": zone, "day": day, "time": time}

    # -- addresses -------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_street_addresses(self, road_id: t.RoadId, limit: Limit = 5) -> list[t.AddressRow]:
        """List the addresses on a road."""
        self._road(road_id)
        rows = sorted(self.addresses.where(lambda a: a.road_id == road_id), key=lambda a: int(a.name.split()[0]))
        return [{"street_address_id": a.street_address_id, "name": a.name} for a in rows[: int(limit)]]

    @tool(read_only=True)
    def geocode_address(self, name: t.KnownName) -> t.AddressShown:
        """Find an address by number and road, like 12 Miller Street, with its coordinates."""
        rows: list[Address] = list(self.addresses.values())
        return self._address_shown(named(rows, name, "address", "list_street_addresses"))

    @tool(read_only=True)
    def get_street_address(self, street_address_id: t.StreetAddressId) -> t.AddressShown:
        """Show an address: number and road, town and coordinates."""
        return self._address_shown(self._address(street_address_id))

    @tool(read_only=True)
    def reverse_geocode(self, point: t.Point) -> t.AddressNear:
        """Find the address that is nearest to coordinates, within two kilometers."""
        frame = self.frame["frame"]
        x = (point["lon"] - frame.lon) * DEGREE * math.cos(math.radians(frame.lat))
        here = Junction("", "", round(x), round((point["lat"] - frame.lat) * DEGREE))
        meters, _, row = min(
            (straight(here, self.junctions[a.junction_id]), a.street_address_id, a) for a in self.addresses.values()
        )
        if meters > FAR:
            raise ToolError("not_found", "there is no address near this point", "geocode_address tells coordinates.")
        return {"street_address_id": row.street_address_id, "name": row.name, "meters": meters}

    @tool()
    def drop_pin(self, street_address_id: t.StreetAddressId, name: t.NewName) -> t.PlaceRow:
        """Make a place of the user's own at an address, so that routes can lead there."""
        self._address(street_address_id)
        name = unused(self.places.values(), name, "place")
        self._check_room(len(self._of("pin")), "pins", "remove_pin")
        key = self.places.fresh("plc", name, street_address_id)
        return place_row(self.places.put(key, Place(key, name, "pin", street_address_id, "00:00", "00:00", "", ())))

    @tool(destructive=True)
    def remove_pin(self, place_id: t.PlaceId) -> t.PinGone:
        """Remove a pin of the user that no route, list or location uses."""
        row = self._place(place_id)
        if row.category != "pin":
            raise ToolError("denied", "the place is not a pin", "Only pins of the user can be removed.")
        routes = [r.route_id for r in self.routes.values() if place_id in (r.from_id, r.to_id)]
        saved = [s.saved_place_id for s in self.saved.values() if s.place_id == place_id]
        if routes or saved or self.frame["frame"].place_id == place_id:
            used = (routes + saved or ["the location"])[0]
            raise ToolError("wrong_state", f"{used} uses the pin", "Use discard_route, unsave_place or set_location first.")
        self.places.remove(place_id)
        return {"place_id": place_id, "removed": True}

    # -- roads -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_roads(self, town_id: t.InTown = None, limit: Limit = 5) -> list[t.RoadRow]:
        """List the roads of a town, or of all, in the order of names, and whether they are closed now."""
        if town_id is not None:
            self._town(town_id)
        closed = self._closed()
        rows = sorted(self.roads.where(lambda r: town_id in (None, r.town_id)), key=lambda r: r.name)[: int(limit)]
        return [{"road_id": r.road_id, "name": r.name, "kind": r.kind, "closed": r.road_id in closed} for r in rows]

    @tool(read_only=True)
    def find_road(self, name: t.KnownName) -> t.RoadRow:
        """Find a road by its name."""
        row = named(self.roads.values(), name, "road", "list_roads")
        return {"road_id": row.road_id, "name": row.name, "kind": row.kind, "closed": row.road_id in self._closed()}

    @tool(read_only=True)
    def get_road(self, road_id: t.RoadId) -> t.RoadShown:
        """Show a road: its town, kind and length, and whether it is closed now."""
        row = self._road(road_id)
        return {
            "road_id": road_id,
            "town_id": row.town_id,
            "kind": row.kind,
            "meters": sum(s.meters for s in self.segments.values() if s.road_id == road_id),
            "closed": road_id in self._closed(),
        }

    @tool(read_only=True)
    def list_road_closures(self, limit: Limit = 5) -> list[t.ClosureRow]:
        """List the roads that are closed now, until when in local time, the first to open first."""
        return [self._closure_row(c) for c in self._closures()[: int(limit)]]

    @tool(read_only=True)
    def find_road_closure(self, road_id: t.RoadId) -> t.ClosureRow:
        """Find the closure of a road that is closed now."""
        self._road(road_id)
        row = next((c for c in self._closures() if c.road_id == road_id), None)
        if row is None:
            raise ToolError("not_found", "the road is open", "list_road_closures shows what is closed.")
        return self._closure_row(row)

    @tool()
    def report_closure(self, road_id: t.RoadId, reason: t.Because, hours: t.Hours = 2) -> t.ClosureOpened:
        """Report that a road is closed from now on; routes then avoid it."""
        self._road(road_id)
        if road_id in self._closed():
            raise ToolError("conflict", "the road is closed already", "Use find_road_closure to see it.")
        key = self.closures.fresh("clo", road_id, reason, int(hours))
        until = self.now + dt.timedelta(hours=int(hours))
        row = self.closures.put(key, Closure(key, road_id, reason, until, True))
        return {"road_closure_id": key, "until": self._until(row)}

    @tool(destructive=True)
    def clear_closure(self, road_closure_id: t.RoadClosureId) -> t.ClosureGone:
        """Take back a closure that the user reported; the road is open again."""
        row = existing(self.closures, road_closure_id, "road closure", "list_road_closures")
        if not row.mine:
            raise ToolError("denied", "the closure was reported by someone else", "Only the user's own can be taken back.")
        self.closures.remove(road_closure_id)
        return {"road_closure_id": road_closure_id, "removed": True}

    # -- routes ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def get_location(self) -> t.Here:
        """Tell at which place the user is."""
        row = self.places[self.frame["frame"].place_id]
        return {"place_id": row.place_id, "name": row.name}

    @tool(idempotent=True)
    def set_location(self, place_id: t.PlaceId) -> t.Here:
        """Set at which place the user is; not while a route is active."""
        row, active = self._place(place_id), self._active()
        if active:
            raise ToolError("wrong_state", f"{active.route_id} is active", "Use finish_route or stop_route first.")
        self.frame.update("frame", place_id=place_id)
        return {"place_id": place_id, "name": row.name}

    @tool()
    def plan_route(
        self,
        from_id: t.PlaceId,
        to_id: t.PlaceId,
        mode: t.ByMode = "drive",
        prefer: t.Prefer = "fastest",
        avoid_id: t.Avoided = None,
    ) -> t.RoutePlanned:
        """Plan a route between two places over the roads that are open now."""
        if from_id == to_id:
            raise ToolError("invalid_value", "the route starts where it ends", "Choose two places.")
        if avoid_id is not None:
            self._road(avoid_id)
        legs = self._legs(from_id, to_id, mode, prefer, avoid_id or "")
        self._check_room(len(self.routes), "routes", "discard_route")
        key = self.routes.fresh("rte", from_id, to_id, mode, prefer, avoid_id)
        row = self.routes.put(key, Route(key, from_id, to_id, mode, prefer, avoid_id or "", legs, "planned"))
        return {"route_id": key, "meters": row.meters, "minutes": row.minutes}

    @tool(read_only=True)
    def list_routes(self, limit: Limit = 5) -> list[t.RouteRow]:
        """List the user's routes, the active one first, then those that are planned."""
        order = ("active", "planned", "finished", "stopped")
        rows = sorted(self.routes.values(), key=lambda r: (order.index(r.status), r.route_id))[: int(limit)]
        return [
            {"route_id": r.route_id, "from_id": r.from_id, "to_id": r.to_id, "mode": r.mode, "status": r.status} for r in rows
        ]

    @tool(read_only=True)
    def find_route(self, from_id: t.PlaceId, to_id: t.PlaceId) -> t.RouteFound:
        """Find the user's route between two places, one that is active or planned if there are several."""
        self._place(from_id)
        self._place(to_id)
        rows = self.routes.where(lambda r: (r.from_id, r.to_id) == (from_id, to_id))
        if not rows:
            raise ToolError("not_found", "there is no such route", "Use plan_route, or list_routes to see the others.")
        row = min(rows, key=lambda r: (r.status not in ("active", "planned"), r.status, r.route_id))
        return {"route_id": row.route_id, "mode": row.mode, "status": row.status}

    @tool(read_only=True)
    def get_route(self, route_id: t.RouteId) -> t.RouteShown:
        """Show a route: status, length, minutes, number of legs, and whether a closed road blocks it."""
        row = self._route(route_id)
        return {
            "route_id": route_id,
            "status": row.status,
            "meters": row.meters,
            "minutes": row.minutes,
            "legs": len(row.legs),
            "blocked": self._blocked(row),
        }

    @tool(read_only=True)
    def list_route_legs(self, route_id: t.RouteId, limit: Limit = 5) -> list[t.RouteLeg]:
        """List the roads and lines that a route takes, in order."""
        found: list[t.RouteLeg] = []
        for leg in self._route(route_id).legs[: int(limit)]:
            if leg.key in self.roads:
                found.append({"road_id": leg.key, "name": self.roads[leg.key].name, "meters": leg.meters})
            else:
                found.append({"transit_line_id": leg.key, "name": self.lines[leg.key].name, "meters": leg.meters})
        return found

    @tool(idempotent=True)
    def replan_route(self, route_id: t.RouteId) -> t.RoutePlanned:
        """Plan a planned or active route anew over the roads that are open now."""
        row = self._route(route_id, "planned", "active")
        row = self.routes.update(route_id, legs=self._legs(row.from_id, row.to_id, row.mode, row.prefer, row.avoid))
        return {"route_id": route_id, "meters": row.meters, "minutes": row.minutes}

    @tool()
    def start_route(self, route_id: t.RouteId) -> t.RouteChanged:
        """Start a planned route from where the user is; one route at a time."""
        row, active = self._route(route_id, "planned"), self._active()
        if active:
            raise ToolError("wrong_state", f"{active.route_id} is active", "Use finish_route or stop_route first.")
        if row.from_id != self.frame["frame"].place_id:
            raise ToolError("wrong_state", "the user is not where the route starts", "Use set_location first.")
        if self._blocked(row):
            raise ToolError("wrong_state", "a road of the route is closed", "Use replan_route first.")
        return {"route_id": route_id, "status": self.routes.update(route_id, status="active").status}

    @tool()
    def finish_route(self, route_id: t.RouteId) -> t.RouteChanged:
        """Finish the active route: the user is at its destination, and shared arrivals end."""
        row = self._end(self._route(route_id, "active").route_id, "finished")
        self.frame.update("frame", place_id=row.to_id)
        return {"route_id": route_id, "status": row.status}

    @tool()
    def stop_route(self, route_id: t.RouteId) -> t.RouteChanged:
        """Break off the active route: the user is where it started, and shared arrivals end."""
        row = self._end(self._route(route_id, "active").route_id, "stopped")
        return {"route_id": route_id, "status": row.status}

    @tool(destructive=True)
    def discard_route(self, route_id: t.RouteId) -> t.RouteGone:
        """Delete a route that is not active."""
        self._route(route_id, "planned", "finished", "stopped")
        self.routes.remove(route_id)
        return {"route_id": route_id, "removed": True}

    @tool(read_only=True)
    def get_arrival(self, route_id: t.RouteId, in_minutes: t.InMinutes = 0) -> t.Arrival:
        """Tell when a planned or active route arrives, in local time there, leaving now or in some minutes."""
        day, time = self._arrival(self._route(route_id, "planned", "active"), int(in_minutes))
        return {"route_id": route_id, "day": day, "time": time}

    @tool(read_only=True)
    def measure_distances(self, from_ids: t.FewPlaces, to_ids: t.Stops, mode: t.OnRoads = "drive") -> list[t.Distance]:
        """Tell the shortest distances over open roads from each of some places to each of others; no way, no entry."""
        goals = [(key, self._at(self._place(key)).junction_id) for key in to_ids]
        starts = [(key, self._at(self._place(key)).junction_id) for key in from_ids]
        graph = self._graph(mode)
        found: list[t.Distance] = []
        for from_id, start in starts:
            sums, _ = shortest(graph, start, "meters")
            found += [{"from_id": from_id, "to_id": to_id, "meters": sums[goal]} for to_id, goal in goals if goal in sums]
        return found

    @tool(read_only=True)
    def order_stops(self, from_id: t.PlaceId, place_ids: t.Stops, mode: t.OnRoads = "drive") -> list[t.NextStop]:
        """Put places in the order that makes a tour from a place shortest; each with the distance from the one before."""
        keys = sorted({*place_ids} - {from_id})
        nodes = {key: self._at(self._place(key)).junction_id for key in (from_id, *keys)}
        graph = self._graph(mode)
        sums = {key: shortest(graph, node, "meters")[0] for key, node in nodes.items()}
        if any(nodes[key] not in sums[from_id] for key in keys):
            raise ToolError("not_found", "no open way leads to some of the places", "Choose another mode, or other places.")

        def steps(order: tuple[str, ...]) -> list[int]:
            return [sums[a][nodes[b]] for a, b in pairwise((from_id, *order))]

        best = min(permutations(keys), key=lambda order: (sum(steps(order)), order))
        return [{"place_id": key, "meters": meters} for key, meters in zip(best, steps(best), strict=True)]

    # -- shared arrivals -------------------------------------------------------------------------

    @tool(read_only=True)
    def list_map_friends(self, limit: Limit = 5) -> list[t.FriendRow]:
        """List the friends with whom the user can share an arrival."""
        return [{"map_friend_id": f.map_friend_id, "name": f.name} for f in list(self.friends.values())[: int(limit)]]

    @tool(read_only=True)
    def find_map_friend(self, name: t.KnownName) -> t.FriendRow:
        """Find a friend by name."""
        row = named(self.friends.values(), name, "friend", "list_map_friends")
        return {"map_friend_id": row.map_friend_id, "name": row.name}

    @tool()
    def share_eta(self, route_id: t.RouteId, map_friend_id: t.MapFriendId) -> t.Shared:
        """Share the arrival of the active route with a friend."""
        row = self._route(route_id, "active")
        existing(self.friends, map_friend_id, "friend", "list_map_friends")
        if any(s.map_friend_id == map_friend_id for s in self.shares.values()):
            raise ToolError("conflict", "the arrival is shared with this friend already", "list_eta_shares shows with whom.")
        key = self.shares.fresh("eta", route_id, map_friend_id)
        self.shares.put(key, Share(key, route_id, map_friend_id))
        return {"eta_share_id": key, "arrives": self._arrival(row)[1]}

    @tool(read_only=True)
    def list_eta_shares(self, limit: Limit = 5) -> list[t.ShareRow]:
        """List with whom the arrival of the active route is shared."""
        rows = sorted(self.shares.values(), key=lambda s: s.eta_share_id)[: int(limit)]
        return [{"eta_share_id": s.eta_share_id, "map_friend_id": s.map_friend_id, "route_id": s.route_id} for s in rows]

    @tool(destructive=True)
    def stop_sharing(self, eta_share_id: t.EtaShareId) -> t.ShareGone:
        """Stop sharing an arrival with a friend."""
        self.shares.remove(existing(self.shares, eta_share_id, "shared arrival", "list_eta_shares").eta_share_id)
        return {"eta_share_id": eta_share_id, "removed": True}

    # -- saved places ----------------------------------------------------------------------------

    @tool(read_only=True)
    def list_place_lists(self, limit: Limit = 5) -> list[t.ListRow]:
        """List the user's lists of places."""
        return [self._list_row(r) for r in list(self.lists.values())[: int(limit)]]

    @tool(read_only=True)
    def find_place_list(self, name: t.KnownName) -> t.ListRow:
        """Find a list of places by its name."""
        return self._list_row(named(self.lists.values(), name, "place list", "list_place_lists"))

    @tool()
    def create_place_list(self, name: t.NewName, place_ids: t.Places) -> t.ListRow:
        """Make a list of some places, each saved under its own name, or an empty list."""
        name = unused(self.lists.values(), name, "place list")
        places = [self._place(key) for key in sorted(set(place_ids))]
        for place in places:
            unused(self.saved.values(), place.name, "saved place")
        self._check_room(len(self.lists), "lists", "delete_place_list")
        self._check_room(len(self.saved) + len(places) - 1, "saved places", "unsave_place")
        key = self.lists.fresh("plst", name)
        row = self.lists.put(key, PlaceList(key, name))
        for place in places:
            saved = self.saved.fresh("svp", place.name)
            self.saved.put(saved, Saved(saved, place.name, place.place_id, key))
        return self._list_row(row)

    @tool(idempotent=True)
    def rename_place_list(self, place_list_id: t.PlaceListId, name: t.NewName) -> t.ListRow:
        """Give a list of places another name."""
        self._list(place_list_id)
        name = unused([r for r in self.lists.values() if r.place_list_id != place_list_id], name, "place list")
        return self._list_row(self.lists.update(place_list_id, name=name))

    @tool(destructive=True)
    def delete_place_list(self, place_list_id: t.PlaceListId) -> t.ListGone:
        """Delete a list and what is saved in it; tells how many saved places are gone."""
        self._list(place_list_id)
        rows = self._in_list(place_list_id)
        for row in rows:
            self.saved.remove(row.saved_place_id)
        self.lists.remove(place_list_id)
        return {"place_list_id": place_list_id, "removed": len(rows)}

    @tool(read_only=True)
    def list_saved_places(self, place_list_id: t.PlaceListId, limit: Limit = 5) -> list[t.SavedRow]:
        """List what is saved in a list, in the order of names."""
        self._list(place_list_id)
        rows = sorted(self._in_list(place_list_id), key=lambda s: s.name)[: int(limit)]
        return [{"saved_place_id": s.saved_place_id, "name": s.name, "place_id": s.place_id} for s in rows]

    @tool(read_only=True)
    def find_saved_place(self, name: t.KnownName) -> t.SavedShown:
        """Find a saved place by the user's name for it."""
        row = named(self.saved.values(), name, "saved place", "list_saved_places")
        return {"saved_place_id": row.saved_place_id, "place_id": row.place_id, "place_list_id": row.place_list_id}

    @tool()
    def save_place(self, place_id: t.PlaceId, place_list_id: t.PlaceListId, name: t.NewName) -> t.SavedShown:
        """Save a place in a list under the user's own name for it."""
        self._place(place_id)
        self._list(place_list_id)
        self._check_new_in_list(place_list_id, place_id)
        name = unused(self.saved.values(), name, "saved place")
        self._check_room(len(self.saved), "saved places", "unsave_place")
        key = self.saved.fresh("svp", name)
        self.saved.put(key, Saved(key, name, place_id, place_list_id))
        return {"saved_place_id": key, "place_id": place_id, "place_list_id": place_list_id}

    @tool()
    def move_saved_place(self, saved_place_id: t.SavedPlaceId, place_list_id: t.PlaceListId) -> t.SavedShown:
        """Move a saved place into another list."""
        row = self._saved(saved_place_id)
        self._list(place_list_id)
        self._check_new_in_list(place_list_id, row.place_id)
        self.saved.update(saved_place_id, place_list_id=place_list_id)
        return {"saved_place_id": saved_place_id, "place_id": row.place_id, "place_list_id": place_list_id}

    @tool(destructive=True)
    def unsave_place(self, saved_place_id: t.SavedPlaceId) -> t.SavedGone:
        """Remove a saved place from its list; the place stays on the map."""
        self.saved.remove(self._saved(saved_place_id).saved_place_id)
        return {"saved_place_id": saved_place_id, "removed": True}

    # -- transit ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_transit_lines(self, town_id: t.TownId, limit: Limit = 5) -> list[t.LineRow]:
        """List the bus and tram lines of a town."""
        self._town(town_id)
        return [line_row(r) for r in self.lines.where(lambda r: r.town_id == town_id)[: int(limit)]]

    @tool(read_only=True)
    def find_transit_line(self, name: t.KnownName) -> t.LineRow:
        """Find a bus or tram line by its name."""
        return line_row(named(self.lines.values(), name, "line", "list_transit_lines"))

    @tool(read_only=True)
    def get_transit_line(self, transit_line_id: t.TransitLineId) -> t.LineShown:
        """Show a line's number of stops, first and last departure, interval, and whether it runs now."""
        row = self._line(transit_line_id)
        return {
            "transit_line_id": transit_line_id,
            "stops": len(row.stops),
            "first": row.first,
            "last": row.last,
            "every_minutes": row.minutes,
            "running": self._running(row),
        }

    @tool(read_only=True)
    def list_line_stops(self, transit_line_id: t.TransitLineId, limit: Limit = 5) -> list[t.StopRow]:
        """List the stops of a line in order."""
        rows = [self.stops[key] for key in self._line(transit_line_id).stops[: int(limit)]]
        return [{"transit_stop_id": s.transit_stop_id, "name": s.name} for s in rows]

    @tool(read_only=True)
    def find_transit_stop(self, name: t.KnownName) -> t.StopRow:
        """Find a bus or tram stop by its name."""
        row: Stop = named(self.stops.values(), name, "stop", "list_line_stops")
        return {"transit_stop_id": row.transit_stop_id, "name": row.name}

    @tool(read_only=True)
    def nearest_stop(self, place_id: t.PlaceId) -> t.StopNear:
        """Find the stop that is nearest to a place, as the crow flies."""
        at = self._at(self._place(place_id))
        meters, key = min((straight(at, self.junctions[s.junction_id]), s.transit_stop_id) for s in self.stops.values())
        return {"transit_stop_id": key, "meters": meters}

    @tool(read_only=True)
    def list_departures(self, transit_stop_id: t.TransitStopId, limit: Limit = 5) -> list[t.Departure]:
        """List the next departure of each line and direction from a stop today, in local time, the soonest first."""
        existing(self.stops, transit_stop_id, "stop", "list_line_stops")
        found: list[tuple[int, str, str]] = []
        for line in self.lines.values():
            if transit_stop_id in line.stops:
                time = local(self.now, self.towns[line.town_id].zone).strftime("%H:%M")
                next_ones = departures(line, line.stops.index(transit_stop_id), time)
                found += [(leaves, line.transit_line_id, self.stops[last].name) for leaves, last in next_ones]
        return [
            {"transit_line_id": key, "toward": toward, "time": f"{leaves // 60 % 24:02d}:{leaves % 60:02d}"}
            for leaves, key, toward in sorted(found)[: int(limit)]
        ]

    # -- steps -----------------------------------------------------------------------------------

    def _address(self, street_address_id: str) -> Address:
        return existing(self.addresses, street_address_id, "address", "list_street_addresses")

    def _line(self, transit_line_id: str) -> Line:
        return existing(self.lines, transit_line_id, "line", "list_transit_lines")

    def _check_room(self, count: int, what: str, remedy: str) -> None:
        if count >= MOST:
            raise ToolError("insufficient", f"there are {MOST} {what} at most", f"Use {remedy} first.")
