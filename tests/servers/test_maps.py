"""The maps server: routes equal their legs, shortest paths obey the triangle inequality, times are local."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from itertools import pairwise, permutations
from typing import Any

import networkx as nx
import pytest

from tasks.servers.maps import Maps
from tasks.servers.maps_rows import Line, Place, departures, open_at, road_graph, shortest, straight
from tasks.servers.session import Session
from tasks.servers.world import HELD_OUT_FROM
from tests.servers.driver import check_seeding, check_server, drive, ok, refused, state_of
from tests.servers.machine import live_of, machine, world


def check(session: Session) -> None:
    """What holds for the map in every state."""
    server: Any = state_of(session, Maps)
    if server is None:
        return
    active = [row for row in server.routes.values() if row.status == "active"]
    assert len(active) <= 1, "one route at a time"
    for row in server.routes.values():
        assert row.from_id in server.places and row.to_id in server.places and row.from_id != row.to_id
        start, goal = (server._at(server.places[key]) for key in (row.from_id, row.to_id))
        assert row.meters >= straight(start, goal) - len(row.legs), "no way is shorter than the straight line"
        assert all(a.key != b.key for a, b in pairwise(row.legs))
        for leg in row.legs:
            assert leg.meters >= 0 and leg.seconds > 0
            assert leg.key in server.roads or (row.mode == "transit" and leg.key in server.lines)
    for share in server.shares.values():
        assert [share.route_id] == [row.route_id for row in active] and share.map_friend_id in server.friends
    assert len({s.map_friend_id for s in server.shares.values()}) == len(server.shares)
    closed = [row.road_id for row in server.closures.values() if row.until > session.now]
    assert len(closed) == len(set(closed))
    held = [(row.place_list_id, row.place_id) for row in server.saved.values()]
    assert len(held) == len(set(held)), "a place is once in a list"
    assert all(key in server.lists and place in server.places for key, place in held)
    assert server.frame["frame"].place_id in server.places
    assert all(p.street_address_id in server.addresses for p in server.places.values())
    for rows in (server.places, server.lists, server.saved, server.roads, server.addresses, server.stops, server.lines):
        names = [row.name.casefold() for row in rows.values()]
        assert len(names) == len(set(names))


TestMaps = machine(Maps, check)


@pytest.mark.parametrize("seed", range(3))
def test_many_random_calls(seed: int) -> None:
    drive(world(Maps), 3, seed, live_of(Maps, 3), check, calls=60)


def test_definition() -> None:
    check_server(Maps, tools=50)
    check_seeding(Maps)


@pytest.fixture
def session() -> Iterator[Session]:
    with world(Maps).session(7) as opened:
        ok(opened, "list_towns")
        yield opened


def some(session: Session, table: str, test: Callable[[Any], bool] = lambda row: True) -> Any:
    """The first row of a table that passes."""
    return next(row for row in state_of(session, Maps).tables[table].values() if test(row))


def in_town(session: Session, number: int = 0) -> list[str]:
    """The places of a town."""
    town = ok(session, "list_towns")[number]["town_id"]
    return [row["place_id"] for row in ok(session, "list_places", town_id=town, limit=50)]


@pytest.mark.parametrize("seed", [*range(8), *range(HELD_OUT_FROM, HELD_OUT_FROM + 4)])
def test_seeds_are_consistent_and_agree_with_networkx(seed: int) -> None:
    with world(Maps).session(seed) as session:
        assert len(ok(session, "list_places", limit=50)) == 36
        check(session)
        server: Any = state_of(session, Maps)
        assert sorted(r.status for r in server.routes.values()) == ["active", "finished", "planned", "planned", "planned"]
        graph = road_graph(server.segments.values(), (), "drive", server._closed())
        theirs = nx.Graph()
        for row in server.segments.values():
            if row.road_id not in server._closed():
                theirs.add_edge(row.a, row.b, meters=row.meters)
        start = next(iter(server.junctions))
        assert shortest(graph, start, "meters")[0] == nx.single_source_dijkstra_path_length(theirs, start, weight="meters")


# -- routes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["walk", "bike", "drive"])
def test_distances_obey_the_triangle_inequality(session: Session, mode: str) -> None:
    keys = in_town(session)[:2] + (in_town(session, 1)[:1] if mode == "drive" else in_town(session)[2:3])
    rows = ok(session, "measure_distances", from_ids=keys, to_ids=keys, mode=mode)
    far = {(row["from_id"], row["to_id"]): row["meters"] for row in rows}
    assert len(far) == 9
    for a, b, c in permutations(keys, 3):
        assert far[a, a] == 0 and far[a, b] == far[b, a]
        assert far[a, c] <= far[a, b] + far[b, c]


def test_routes_equal_their_legs_and_the_distances(session: Session) -> None:
    a, b, *_ = in_town(session)
    for mode in ("walk", "bike", "drive"):
        planned = ok(session, "plan_route", from_id=a, to_id=b, mode=mode, prefer="shortest")
        legs = ok(session, "list_route_legs", route_id=planned["route_id"], limit=50)
        assert planned["meters"] == sum(leg["meters"] for leg in legs)
        (row,) = ok(session, "measure_distances", from_ids=[a], to_ids=[b], mode=mode)
        assert planned["meters"] == row["meters"]
        fast = ok(session, "plan_route", from_id=a, to_id=b, mode=mode)
        assert fast["minutes"] <= planned["minutes"] and fast["meters"] >= planned["meters"]
    refused(session, "invalid_value", "plan_route", from_id=a, to_id=a)


def test_walkers_take_no_highways(session: Session) -> None:
    here, there = in_town(session)[0], in_town(session, 1)[0]
    refused(session, "not_found", "plan_route", from_id=here, to_id=there, mode="walk")
    assert ok(session, "measure_distances", from_ids=[here], to_ids=[there], mode="bike") == []
    refused(session, "not_found", "order_stops", from_id=here, place_ids=[there], mode="bike")
    route = ok(session, "plan_route", from_id=here, to_id=there)["route_id"]
    kinds = {ok(session, "get_road", road_id=leg["road_id"])["kind"] for leg in route_legs(session, route)}
    assert "highway" in kinds


def route_legs(session: Session, route: str) -> list[dict[str, Any]]:
    legs: list[dict[str, Any]] = ok(session, "list_route_legs", route_id=route, limit=50)
    return legs


def test_routes_go_around_closed_and_avoided_roads(session: Session) -> None:
    a, b, *_ = in_town(session)
    route = ok(session, "plan_route", from_id=a, to_id=b)["route_id"]
    road = route_legs(session, route)[0]["road_id"]
    avoiding = ok(session, "plan_route", from_id=a, to_id=b, avoid_id=road)["route_id"]
    assert road not in {leg["road_id"] for leg in route_legs(session, avoiding)}
    closure = ok(session, "report_closure", road_id=road, reason="flooding", hours=3)["road_closure_id"]
    assert ok(session, "get_road", road_id=road)["closed"] and ok(session, "get_route", route_id=route)["blocked"]
    refused(session, "conflict", "report_closure", road_id=road, reason="event")
    ok(session, "stop_route", route_id=some(session, "routes", lambda r: r.status == "active").route_id)
    ok(session, "set_location", place_id=a)
    refused(session, "wrong_state", "start_route", route_id=route)
    ok(session, "replan_route", route_id=route)
    assert road not in {leg["road_id"] for leg in route_legs(session, route)}
    ok(session, "start_route", route_id=route)
    found = ok(session, "find_road_closure", road_id=road)
    assert found["road_closure_id"] == closure and found["mine"]
    ok(session, "clear_closure", road_closure_id=closure)
    refused(session, "not_found", "find_road_closure", road_id=road)
    other = some(session, "closures", lambda c: not c.mine)
    refused(session, "denied", "clear_closure", road_closure_id=other.road_closure_id)


def test_closures_that_are_over_close_nothing(session: Session) -> None:
    over = some(session, "closures", lambda c: c.until <= session.now)
    shown = {row["road_closure_id"] for row in ok(session, "list_road_closures", limit=50)}
    assert over.road_closure_id not in shown and len(shown) == 3


def test_one_route_from_where_the_user_is(session: Session) -> None:
    active = some(session, "routes", lambda r: r.status == "active")
    here = ok(session, "get_location")["place_id"]
    assert here == active.from_id
    refused(session, "wrong_state", "set_location", place_id=active.to_id)
    planned = some(session, "routes", lambda r: r.status == "planned")
    refused(session, "wrong_state", "start_route", route_id=planned.route_id)
    refused(session, "wrong_state", "discard_route", route_id=active.route_id)
    ok(session, "finish_route", route_id=active.route_id)
    assert ok(session, "get_location")["place_id"] == active.to_id and ok(session, "list_eta_shares") == []
    refused(session, "wrong_state", "get_arrival", route_id=active.route_id)
    assert planned.from_id != active.to_id
    refused(session, "wrong_state", "start_route", route_id=planned.route_id)
    ok(session, "set_location", place_id=planned.from_id)
    assert ok(session, "start_route", route_id=planned.route_id)["status"] == "active"
    assert ok(session, "find_route", from_id=planned.from_id, to_id=planned.to_id)["route_id"] == planned.route_id


def test_arrivals_are_shared_while_on_the_way(session: Session) -> None:
    (share,) = ok(session, "list_eta_shares")
    route = share["route_id"]
    refused(session, "conflict", "share_eta", route_id=route, map_friend_id=share["map_friend_id"])
    friend = some(session, "friends", lambda f: f.map_friend_id != share["map_friend_id"])
    shared = ok(session, "share_eta", route_id=route, map_friend_id=friend.map_friend_id)
    assert shared["arrives"] == ok(session, "get_arrival", route_id=route)["time"]
    ok(session, "stop_sharing", eta_share_id=share["eta_share_id"])
    assert [row["eta_share_id"] for row in ok(session, "list_eta_shares")] == [shared["eta_share_id"]]
    planned = some(session, "routes", lambda r: r.status == "planned")
    refused(session, "wrong_state", "share_eta", route_id=planned.route_id, map_friend_id=friend.map_friend_id)


def test_tours_are_no_longer_than_other_orders(session: Session) -> None:
    start, *stops = in_town(session)[:4]
    best = sum(row["meters"] for row in ok(session, "order_stops", from_id=start, place_ids=stops))
    for order in permutations(stops):
        pairs = list(pairwise((start, *order)))
        rows = [ok(session, "measure_distances", from_ids=[a], to_ids=[b])[0]["meters"] for a, b in pairs]
        assert best <= sum(rows)


def test_transit_rides_while_lines_run(session: Session) -> None:
    server: Any = state_of(session, Maps)
    line: Line = some(session, "lines")
    for key in [key for key in server.lines if key != line.transit_line_id]:
        server.lines.remove(key)
    server.lines.update(line.transit_line_id, first="00:00", last="23:59", minutes=2)
    ends = [server.stops[key].junction_id for key in (line.stops[0], line.stops[-1])]
    pins = []
    for end in ends:
        address = next(iter(server.addresses.values())).street_address_id
        server.addresses.put(
            f"sta_{len(pins)}", server.addresses[address].__class__(f"sta_{len(pins)}", f"{len(pins)} X", "", end)
        )
        pins.append(
            server.places.put(
                f"plc_{len(pins)}", Place(f"plc_{len(pins)}", f"P{len(pins)}", "pin", f"sta_{len(pins)}", "", "", "", ())
            )
        )
    legs = server._legs(pins[0].place_id, pins[1].place_id, "transit", "fastest", "")
    assert [leg.key for leg in legs] == [line.transit_line_id]
    assert legs[0].seconds == sum(line.seconds) + 60
    server.lines.update(line.transit_line_id, first="00:00", last="00:00")
    walked = server._legs(pins[0].place_id, pins[1].place_id, "transit", "fastest", "")
    assert all(leg.key in server.roads for leg in walked)


def test_departures_in_both_directions() -> None:
    line = Line("tln_100", "Teal Line", "bus", "town_100", ("a", "b", "c"), (90, 150), "06:00", "22:00", 10)
    assert departures(line, 0, "05:00") == [(360, "c")]
    assert departures(line, 1, "12:00") == [(722, "c"), (723, "a")]
    assert departures(line, 1, "12:03") == [(732, "c"), (723, "a")]
    assert departures(line, 2, "22:00") == [(1320, "a")] and departures(line, 2, "22:03") == []
    assert departures(line, 0, "22:01") == []


# -- places ------------------------------------------------------------------------------------


def test_opening_hours_by_local_time(session: Session) -> None:
    late = Place("plc_100", "Moon Cinema", "cinema", "sta_100", "16:00", "02:00", "monday", ())
    sunday = dt.datetime(2026, 3, 1, 23, 0)
    assert sunday.weekday() == 6 and open_at(late, sunday)
    assert open_at(late, sunday + dt.timedelta(hours=2)), "monday at one belongs to sunday"
    assert not open_at(late, sunday + dt.timedelta(hours=20)) and not open_at(late, sunday + dt.timedelta(hours=26))
    assert not open_at(late, sunday + dt.timedelta(hours=3))
    for key in in_town(session):
        here = ok(session, "get_local_time", place_id=key)
        hours = ok(session, "get_opening_hours", place_id=key)
        assert hours["open_now"] == ok(session, "check_opening", place_id=key, day=here["day"], time=here["time"])["open"]
    refused(session, "invalid_value", "check_opening", place_id=in_town(session)[0], day="2026-02-31", time="10:00")


def test_towns_have_their_own_time(session: Session) -> None:
    times = {ok(session, "get_local_time", place_id=in_town(session, n)[0])["time"] for n in range(3)}
    assert len(times) == 3


def test_searching_nearby(session: Session) -> None:
    key = in_town(session)[0]
    rows = ok(session, "search_nearby", near={"place_id": key, "meters": 20000}, limit=50)
    assert [r["meters"] for r in rows] == sorted(r["meters"] for r in rows) and len(rows) == 11
    near = ok(session, "search_nearby", near={"place_id": key, "meters": rows[3]["meters"]}, limit=50)
    assert near == [r for r in rows if r["meters"] <= rows[3]["meters"]]
    opened = ok(session, "search_nearby", near={"place_id": key, "meters": 20000}, open_now=True, limit=50)
    assert opened == [r for r in rows if ok(session, "get_opening_hours", place_id=r["place_id"])["open_now"]]
    category = ok(session, "get_place", place_id=rows[0]["place_id"])["category"]
    assert ok(session, "nearest_place", place_id=key, category=category)["meters"] == rows[0]["meters"]
    refused(session, "not_found", "nearest_place", place_id=key, category="pin")


def test_geocoding_there_and_back(session: Session) -> None:
    for row in list(state_of(session, Maps).addresses.values())[:10]:
        shown = ok(session, "geocode_address", name=row.name.lower())
        near = ok(session, "reverse_geocode", point={"lat": shown["lat"], "lon": shown["lon"]})
        assert near["street_address_id"] == row.street_address_id and near["meters"] <= 2
        assert ok(session, "get_street_address", street_address_id=row.street_address_id) == shown
    refused(session, "not_found", "reverse_geocode", point={"lat": 89.9, "lon": 0})
    refused(session, "invalid_arguments", "reverse_geocode", point={"lat": 91, "lon": 0})
    refused(session, "not_found", "geocode_address", name="0 Nowhere Street")


def test_ratings_replace_the_user_s_own(session: Session) -> None:
    row = some(session, "places")
    ok(session, "rate_place", place_id=row.place_id, stars=1)
    stars = ok(session, "rate_place", place_id=row.place_id, stars=5)["stars"]
    assert stars == round((sum(s for s, _ in row.ratings) + 5) / (len(row.ratings) + 1), 1)
    best = ok(session, "best_place", town_id=ok(session, "get_place", place_id=row.place_id)["town_id"], category=row.category)
    assert best["stars"] >= stars


def test_pins(session: Session) -> None:
    address = some(session, "addresses").street_address_id
    pin = ok(session, "drop_pin", street_address_id=address, name="Old Oak")["place_id"]
    refused(session, "conflict", "drop_pin", street_address_id=address, name="OLD oak")
    refused(session, "denied", "rate_place", place_id=pin, stars=3)
    route = ok(session, "plan_route", from_id=in_town(session)[0], to_id=pin)["route_id"]
    refused(session, "wrong_state", "remove_pin", place_id=pin)
    ok(session, "discard_route", route_id=route)
    ok(session, "remove_pin", place_id=pin)
    refused(session, "not_found", "get_place", place_id=pin)
    refused(session, "denied", "remove_pin", place_id=in_town(session)[0])


def test_lists_of_places(session: Session) -> None:
    keys = in_town(session)[:3]
    made = ok(session, "create_place_list", name="Long Walk", place_ids=[*keys[:2], keys[0]])
    key = made["place_list_id"]
    assert made["places"] == 2
    refused(session, "conflict", "create_place_list", name="long walk", place_ids=[])
    refused(session, "conflict", "save_place", place_id=keys[0], place_list_id=key, name="Again")
    saved = ok(session, "save_place", place_id=keys[2], place_list_id=key, name="Third")
    refused(session, "conflict", "move_saved_place", saved_place_id=saved["saved_place_id"], place_list_id=key)
    other = ok(session, "create_place_list", name="Short Walk", place_ids=[])["place_list_id"]
    ok(session, "move_saved_place", saved_place_id=saved["saved_place_id"], place_list_id=other)
    assert ok(session, "find_saved_place", name="third")["place_list_id"] == other
    ok(session, "unsave_place", saved_place_id=saved["saved_place_id"])
    refused(session, "conflict", "rename_place_list", place_list_id=other, name="LONG WALK")
    assert ok(session, "rename_place_list", place_list_id=key, name="Longer")["name"] == "Longer"
    assert ok(session, "delete_place_list", place_list_id=key)["removed"] == 2
    refused(session, "not_found", "list_saved_places", place_list_id=key)
