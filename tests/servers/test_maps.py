"""The maps server: routes are shortest paths whose legs add up, closures are gone around, hours are local."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import networkx as nx
import pytest

from tasks.servers.maps import Maps
from tasks.servers.session import Session
from tasks.servers.world import HELD_OUT_FROM
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import machine, world


def check(session: Session) -> None:
    """References resolve, lists hold no place twice, one trip runs at most."""
    maps: Any = state_of(session, Maps)
    if maps is None:
        return
    assert all(p.crossing in maps.crossings for p in maps.places.values())
    assert all(r.start in maps.crossings and r.end in maps.crossings and r.metres > 0 for r in maps.roads.values())
    assert all(s in maps.stops for line in maps.lines.values() for s in line.stops)
    for row in maps.lists.values():
        assert len(set(row.places)) == len(row.places) <= 30 and all(p in maps.places for p in row.places)
    assert sum(t.status == "running" for t in maps.trips.values()) <= 1
    for rows in (maps.lists.values(), maps.places.values(), maps.roads.values()):
        names = [row.name.casefold() for row in rows]
        assert len(names) == len(set(names))


TestMaps = machine(Maps, check)


def test_the_definition() -> None:
    check_server(Maps, tools=16)
    check_seeding(Maps)


@pytest.fixture
def session() -> Any:
    with world(Maps).session(7) as opened:
        ok(opened, "list_place_lists")
        yield opened


def some(session: Session, count: int) -> list[str]:
    """Places at different crossings."""
    maps: Any = state_of(session, Maps)
    spots = {p.crossing: p.place_id for p in maps.places.values()}
    return list(spots.values())[:count]


@pytest.mark.parametrize("seed", [0, 7, HELD_OUT_FROM, HELD_OUT_FROM + 3])
def test_everything_can_be_reached_in_every_way(seed: int) -> None:
    with world(Maps).session(seed) as session:
        ok(session, "list_place_lists")
        maps: Any = state_of(session, Maps)
        for mode in ("walk", "bike", "drive"):
            assert nx.is_connected(maps._network(mode))


@pytest.mark.parametrize("mode", ["walk", "bike", "drive"])
def test_a_route_is_as_long_as_its_legs_and_no_detour_is_faster(session: Session, mode: str) -> None:
    maps: Any = state_of(session, Maps)
    network = maps._network(mode)
    times = dict(nx.all_pairs_dijkstra_path_length(network, weight="seconds"))
    for start, target in permutations(some(session, 5), 2):
        route = ok(session, "get_route", start_id=start, target_id=target, mode=mode)
        legs = ok(session, "list_route_legs", start_id=start, target_id=target, mode=mode, limit=50)
        assert route["metres"] == sum(leg["metres"] for leg in legs)
        one, two = (maps.places[p].crossing for p in (start, target))
        assert route["minutes"] == -(-times[one][two] // 60)
        assert all(times[one][two] <= times[one][mid] + times[mid][two] for mid in network)


def test_a_closed_road_is_gone_around_until_it_opens(session: Session) -> None:
    start, target = some(session, 9)[::8]
    before = ok(session, "get_route", start_id=start, target_id=target)
    leg = ok(session, "list_route_legs", start_id=start, target_id=target)[0]
    ok(session, "report_closure", road_id=leg["road_id"], reason="flood")
    refused(session, "conflict", "report_closure", road_id=leg["road_id"], reason="works")
    result = session.call("list_route_legs", {"start_id": start, "target_id": target, "limit": 50})
    if result.ok:
        assert leg["road_id"] not in [each["road_id"] for each in result.content]
    else:
        assert result.error is not None and result.error.kind == "wrong_state"
    assert ok(session, "list_closed_roads")[0]["road_id"] == leg["road_id"]
    ok(session, "reopen_road", road_id=leg["road_id"])
    assert ok(session, "get_route", start_id=start, target_id=target) == before


def test_distances_are_sorted_and_equal_the_routes(session: Session) -> None:
    start, *targets = some(session, 6)
    rows = ok(session, "get_distances", start_id=start, target_ids=[*targets, targets[0]], mode="walk")
    assert len(rows) == len(targets)
    assert [r["minutes"] for r in rows] == sorted(r["minutes"] for r in rows)
    for row in rows:
        route = ok(session, "get_route", start_id=start, target_id=row["place_id"], mode="walk")
        assert (row["metres"], row["minutes"]) == (route["metres"], route["minutes"])


def test_nearby_places_are_within_the_radius(session: Session) -> None:
    start = some(session, 1)[0]
    rows = ok(session, "find_nearby", place_id=start, radius=900, limit=50)
    assert rows and all(r["metres"] <= 900 and r["place_id"] != start for r in rows)
    assert [r["metres"] for r in rows] == sorted(r["metres"] for r in rows)
    assert len(ok(session, "find_nearby", place_id=start, radius=5000, limit=50)) > len(rows)


def test_hours_are_local(session: Session) -> None:
    maps: Any = state_of(session, Maps)
    shops = [p for p in maps.places.values() if p.closes < 1440]
    for place in shops[:6]:
        ahead = 60 if maps.crossings[place.crossing].town == "Eastport" else 0
        for minute, opened in ((place.opens, True), (place.opens - 1, False), (place.closes - 1, True), (place.closes, False)):
            clock = minute - ahead
            moment = {"day": "2026-05-04", "time": f"{clock // 60:02d}:{clock % 60:02d}"}
            assert ok(session, "is_place_open", place_id=place.place_id, moment=moment)["open"] == opened
    place_id = shops[0].place_id
    refused(session, "invalid_value", "is_place_open", place_id=place_id, moment={"day": "2026-02-31", "time": "10:00"})


def test_an_address_leads_back_to_a_place(session: Session) -> None:
    for place in some(session, 4):
        address = ok(session, "get_place", place_id=place)["address"]
        found = ok(session, "find_street_address", address=address.upper())["place_id"]
        assert ok(session, "get_place", place_id=found)["address"] == address


def test_transit_rides_use_one_line(session: Session) -> None:
    maps: Any = state_of(session, Maps)
    line = next(iter(maps.lines.values()))
    ride = ok(session, "get_transit_ride", start_id=line.stops[0], target_id=line.stops[-1])
    assert line.stops[0] in maps.lines[ride["line_id"]].stops and ride["minutes"] > 0
    refused(session, "invalid_value", "get_transit_ride", start_id=line.stops[0], target_id=line.stops[0])


def test_one_trip_at_a_time_and_lists_hold_a_place_once(session: Session) -> None:
    start, target = some(session, 2)
    trip = ok(session, "start_map_trip", start_id=start, target_id=target)
    refused(session, "conflict", "start_map_trip", start_id=start, target_id=target)
    ok(session, "share_arrival", trip_id=trip["trip_id"], name="Ada")
    assert ok(session, "finish_map_trip", trip_id=trip["trip_id"])["status"] == "arrived"
    refused(session, "wrong_state", "share_arrival", trip_id=trip["trip_id"], name="Bob")
    made = ok(session, "create_place_list", name="Late night")["list_id"]
    ok(session, "save_place", list_id=made, place_id=start)
    refused(session, "conflict", "save_place", list_id=made, place_id=start)
    ok(session, "unsave_place", list_id=made, place_id=start)
    refused(session, "not_found", "unsave_place", list_id=made, place_id=start)
    ok(session, "delete_place_list", list_id=made)
