"""The calendar server: its mechanics, its refusals, and its invariants under random calls."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.servers.calendar import CalendarServer
from tasks.servers.calendar_rows import expand, local, overlapping, stored
from tasks.servers.sampler import Live, sample
from tasks.servers.session import Environment, Session
from tasks.servers.world import HELD_OUT_FROM, World
from tests.servers.driver import check_seeding, check_server, drive, ok, refused, state_of

WORLD = Environment([CalendarServer])
SEED = 7


@pytest.fixture
def session() -> Iterator[Session]:
    with WORLD.session(SEED) as opened:
        yield opened


def live_of(seed: int) -> Live:
    with WORLD.session(seed) as opened:
        return sample(opened)


def ahead(days: int) -> str:
    """The day so many days after the session's clock."""
    return (World(SEED, "").now.date() + dt.timedelta(days=days)).isoformat()


def make(session: Session, title: str, day: str, time: str, **more: Any) -> str:
    calendar = ok(session, "list_calendars")[0]["calendar_id"]
    return ok(session, "create_event", calendar_id=calendar, title=title, day=day, time=time, **more)["event_id"]


def repeating(session: Session) -> str:
    known = sample(session).entities["event"]
    return next(key for key, facts in known.items() if facts["repeats"] == "week")


def check(session: Session) -> None:
    """Every event has a planned occurrence and a calendar; nobody and no room is booked twice; rows refer to rows."""
    server = state_of(session, CalendarServer)
    planned = [row for row in server.occurrences.values() if row.status == "planned"]
    of_event: dict[str, int] = {}
    for row in server.occurrences.values():
        assert row.event_id in server.events and row.start < row.end
    for row in planned:
        of_event[row.event_id] = of_event.get(row.event_id, 0) + 1
        assert row.end - row.start == dt.timedelta(minutes=server.events[row.event_id].minutes)
    for key, event in server.events.items():
        assert of_event.get(key, 0) >= 1
        assert event.repeats != "once" or sum(r.event_id == key for r in server.occurrences.values()) == 1
        assert event.calendar_id in server.calendars
        assert event.attendees == tuple(sorted(set(event.attendees)))
        assert not event.room_id or server.rooms[event.room_id].seats >= len(event.attendees) + 1
    taken: dict[str, list[tuple[dt.datetime, dt.datetime]]] = {}
    for block in server.blocks.values():
        taken.setdefault(block.owner_id, []).append((block.start, block.end))
    for row in planned:
        event = server.events[row.event_id]
        for owner in ("user" if event.show == "busy" else "", event.room_id, *event.attendees):
            if owner:
                assert not overlapping(taken.get(owner, []), row.start, row.end), f"{owner} is booked twice"
                taken.setdefault(owner, []).append((row.start, row.end))
    for rows in (server.calendars.values(), server.events.values()):
        names = [row.name.casefold() for row in rows]
        assert len(names) == len(set(names))
    reminded = [row.event_id for row in server.reminders.values()]
    assert len(reminded) == len(set(reminded)) and set(reminded) <= set(server.events)


# -- definition and seed -----------------------------------------------------------------------


def test_definition() -> None:
    check_server(CalendarServer, tools=17)


def test_seeding() -> None:
    check_seeding(CalendarServer)


@pytest.mark.parametrize("seed", [*range(12), *range(HELD_OUT_FROM, HELD_OUT_FROM + 6)])
def test_seeded_state_keeps_the_invariants(seed: int) -> None:
    with WORLD.session(seed) as session:
        assert ok(session, "get_next_event")["day"] >= session.now.date().isoformat()
        check(session)


# -- times and recurrence ----------------------------------------------------------------------


def test_a_series_keeps_its_local_time_over_a_change_of_clocks() -> None:
    first = stored(dt.datetime(2026, 3, 27, 9, 0), "Europe/Berlin")
    starts = expand(first, "day", 4, "Europe/Berlin")
    assert [local(s, "Europe/Berlin").hour for s in starts] == [9, 9, 9, 9]
    assert [s.hour for s in starts] == [8, 8, 7, 7]


def test_a_monthly_series_takes_the_last_day_of_shorter_months() -> None:
    first = stored(dt.datetime(2026, 12, 31, 9, 0), "UTC")
    assert [s.date().isoformat() for s in expand(first, "month", 4, "UTC")] == [
        "2026-12-31",
        "2027-01-31",
        "2027-02-28",
        "2027-03-31",
    ]


def test_a_time_that_the_clocks_skip_is_refused(session: Session) -> None:
    calendar = ok(session, "list_calendars")[0]["calendar_id"]
    ok(session, "set_home_zone", zone="Europe/Berlin")
    refused(
        session, "invalid_value", "create_event", calendar_id=calendar, title="Night", day="2026-03-29", time="02:30", minutes=5
    )


def test_an_event_is_shown_in_any_zone(session: Session) -> None:
    ok(session, "set_home_zone", zone="America/New_York")
    event = make(session, "Night Call", ahead(30), "20:00")
    assert ok(session, "get_event_time", event_id=event, zone="America/New_York")["time"] == "20:00"
    tokyo = ok(session, "get_event_time", event_id=event, zone="Asia/Tokyo")
    assert tokyo["day"] == ahead(31) and tokyo["time"] in ("09:00", "10:00")
    ok(session, "set_home_zone", zone="Asia/Tokyo")
    shown = ok(session, "get_event", event_id=event)
    assert (shown["day"], shown["time"]) == (tokyo["day"], tokyo["time"])


def test_repeating_and_back(session: Session) -> None:
    event = make(session, "Yoga", ahead(30), "06:00")
    refused(session, "wrong_state", "get_next_occurrence", event_id=event)
    assert ok(session, "repeat_event", event_id=event, rule={"every": "week", "times": 4})["occurrences"] == 4
    rows = ok(session, "list_occurrences", event_id=event, since=ahead(0), limit=50)
    assert [r["day"] for r in rows] == [ahead(30), ahead(37), ahead(44), ahead(51)]
    assert {r["time"] for r in rows} == {"06:00"}
    refused(session, "wrong_state", "repeat_event", event_id=event, rule={"every": "day", "times": 2})
    assert ok(session, "stop_repeating", event_id=event)["occurrences"] == 1
    refused(session, "wrong_state", "stop_repeating", event_id=event)
    assert len(ok(session, "list_occurrences", event_id=event, since=ahead(0))) == 1


def test_one_occurrence_is_moved_cancelled_and_restored(session: Session) -> None:
    event = make(session, "Yoga", ahead(30), "06:00")
    ok(session, "repeat_event", event_id=event, rule={"every": "day", "times": 3})
    first = ok(session, "get_next_occurrence", event_id=event)["occurrence_id"]
    assert ok(session, "move_occurrence", occurrence_id=first, day=ahead(35), time="06:30")["day"] == ahead(35)
    second = ok(session, "get_next_occurrence", event_id=event)
    assert second["day"] == ahead(31) and second["occurrence_id"] != first
    assert ok(session, "cancel_occurrence", occurrence_id=second["occurrence_id"])["status"] == "cancelled"
    refused(session, "wrong_state", "cancel_occurrence", occurrence_id=second["occurrence_id"])
    refused(session, "wrong_state", "move_occurrence", occurrence_id=second["occurrence_id"], day=ahead(40), time="06:00")
    third = ok(session, "get_next_occurrence", event_id=event)["occurrence_id"]
    ok(session, "cancel_occurrence", occurrence_id=third)
    refused(session, "wrong_state", "cancel_occurrence", occurrence_id=first)
    make(session, "Blocker", ahead(31), "06:10")
    refused(session, "conflict", "restore_occurrence", occurrence_id=second["occurrence_id"])
    assert ok(session, "restore_occurrence", occurrence_id=third)["status"] == "planned"


def test_moving_a_series_moves_all_of_it(session: Session) -> None:
    event = repeating(session)
    count = len(ok(session, "list_occurrences", event_id=event, since=ahead(0), limit=50))
    ok(session, "move_event", event_id=event, day=ahead(60), time="06:00")
    rows = ok(session, "list_occurrences", event_id=event, since=ahead(0), limit=50)
    assert [r["day"] for r in rows] == [ahead(60 + 7 * n) for n in range(count)]


# -- double booking ----------------------------------------------------------------------------


def test_the_user_is_not_booked_twice_unless_free(session: Session) -> None:
    calendar = ok(session, "list_calendars")[0]["calendar_id"]
    make(session, "First", ahead(40), "10:00", minutes=60)
    at = {"calendar_id": calendar, "title": "Second", "day": ahead(40)}
    refused(session, "conflict", "create_event", **at, time="10:45")
    refused(session, "conflict", "create_event", **at, time="09:45")
    touching = ok(session, "create_event", **at, time="11:00")["event_id"]
    refused(session, "conflict", "move_event", event_id=touching, day=ahead(40), time="10:59")
    free = make(session, "Third", ahead(40), "10:15", show="free")
    refused(session, "conflict", "mark_event", event_id=free, show="busy")
    ok(session, "move_event", event_id=free, day=ahead(41), time="10:15")
    assert ok(session, "mark_event", event_id=free, show="busy")["show"] == "busy"


def test_rooms_and_colleagues_are_not_booked_twice(session: Session) -> None:
    colleague = ok(session, "list_colleagues")[0]["colleague_id"]
    room = ok(session, "list_rooms", seats=4)[0]["room_id"]
    first = make(session, "First", ahead(40), "10:00", minutes=60)
    second = make(session, "Second", ahead(40), "10:30", minutes=60, show="free")
    ok(session, "book_room", event_id=first, room_id=room)
    ok(session, "invite_colleagues", event_id=first, colleague_ids=[colleague])
    refused(session, "conflict", "book_room", event_id=second, room_id=room)
    refused(session, "conflict", "invite_colleagues", event_id=second, colleague_ids=[colleague])
    refused(session, "conflict", "invite_colleagues", event_id=first, colleague_ids=[colleague])
    at = {"day": ahead(40), "time": "10:15"}
    assert ok(session, "check_room", room_id=room, **at) == {"room_id": room, "free": False}
    assert ok(session, "check_colleague", colleague_id=colleague, **at)["free"] is False
    assert ok(session, "find_free_room", seats=4, **at)["room_id"] != room
    ok(session, "release_room", event_id=first)
    assert ok(session, "drop_attendee", event_id=first, colleague_id=colleague)["attendees"] == 0
    assert ok(session, "check_room", room_id=room, **at)["free"] is True
    ok(session, "book_room", event_id=second, room_id=room)
    ok(session, "invite_colleagues", event_id=second, colleague_ids=[colleague])
    refused(session, "wrong_state", "release_room", event_id=first)
    refused(session, "not_found", "drop_attendee", event_id=first, colleague_id=colleague)


def test_a_room_needs_a_seat_for_everybody(session: Session) -> None:
    rooms = ok(session, "list_rooms", limit=50)
    small = rooms[0]["room_id"]
    seats = ok(session, "get_room", room_id=small)["seats"]
    everybody = [c["colleague_id"] for c in ok(session, "list_colleagues", limit=50)]
    event = make(session, "Crowd", ahead(50), "10:00")
    ok(session, "book_room", event_id=event, room_id=small)
    assert seats <= len(everybody), "this seed has a small room"
    refused(session, "insufficient", "invite_colleagues", event_id=event, colleague_ids=everybody[:seats])
    ok(session, "invite_colleagues", event_id=event, colleague_ids=everybody[: seats - 1])
    ok(session, "release_room", event_id=event)
    ok(session, "invite_colleagues", event_id=event, colleague_ids=everybody[seats - 1 : seats])
    refused(session, "insufficient", "book_room", event_id=event, room_id=small)
    assert len(ok(session, "list_attendees", event_id=event)) == seats


def test_the_common_free_time_is_the_first_one(session: Session) -> None:
    colleagues = [c["colleague_id"] for c in ok(session, "list_colleagues")]
    day = next(d for d in map(ahead, range(60, 70)) if dt.date.fromisoformat(d).weekday() == 2)
    ok(session, "set_hours", weekdays=["wednesday"], start="09:00", end="12:00")
    assert ok(session, "find_free_time", colleague_ids=colleagues[:2], day=day)["time"] == "09:00"
    make(session, "Morning", day, "09:00", minutes=50)
    assert ok(session, "find_free_time", colleague_ids=colleagues[:2], day=day)["time"] == "10:00"
    refused(session, "not_found", "find_free_time", colleague_ids=colleagues[:2], day=day, minutes=150)
    saturday = (dt.date.fromisoformat(day) + dt.timedelta(days=3)).isoformat()
    refused(session, "not_found", "find_free_time", colleague_ids=colleagues[:2], day=saturday)
    refused(session, "invalid_value", "set_hours", weekdays=["monday"], start="12:00", end="12:00")


# -- the rest ----------------------------------------------------------------------------------


def test_calendars_are_deleted_only_when_empty(session: Session) -> None:
    key = ok(session, "create_calendar", name="Aquarium")["calendar_id"]
    assert ok(session, "find_calendar", name="AQUARIUM")["calendar_id"] == key
    refused(session, "conflict", "create_calendar", name="aquarium")
    event = ok(session, "list_events")[0]["event_id"]
    before = ok(session, "find_event", title=ok(session, "list_events")[0]["title"])["calendar_id"]
    ok(session, "change_calendar", event_id=event, calendar_id=key)
    assert ok(session, "get_calendar", calendar_id=key)["events"] == 1
    refused(session, "wrong_state", "delete_calendar", calendar_id=key)
    ok(session, "change_calendar", event_id=event, calendar_id=before)
    assert ok(session, "delete_calendar", calendar_id=key)["deleted"]
    refused(session, "not_found", "get_calendar", calendar_id=key)


def test_an_accepted_invitation_becomes_an_event(session: Session) -> None:
    calendar = ok(session, "list_calendars")[0]["calendar_id"]
    first, second = ok(session, "list_invitations")[:2]
    shown = ok(session, "get_invitation", colleague_id=first["colleague_id"])
    assert shown["invitation_id"] == first["invitation_id"]
    for row in ok(session, "list_agenda", day=shown["day"], limit=50):
        ok(session, "delete_event", event_id=row["event_id"])
    event = ok(session, "accept_invitation", invitation_id=first["invitation_id"], calendar_id=calendar)["event_id"]
    assert ok(session, "find_event", title=first["title"])["event_id"] == event
    details = ok(session, "get_event", event_id=event)
    assert (details["day"], details["time"]) == (shown["day"], shown["time"])
    refused(session, "wrong_state", "decline_invitation", invitation_id=first["invitation_id"])
    assert ok(session, "decline_invitation", invitation_id=second["invitation_id"])["status"] == "declined"
    refused(session, "not_found", "get_invitation", colleague_id=second["colleague_id"])
    shown_again = ok(session, "list_invitations", status="declined")
    assert [i["invitation_id"] for i in shown_again] == [second["invitation_id"]]


def test_an_invitation_at_a_busy_time_cannot_be_accepted(session: Session) -> None:
    first = ok(session, "list_invitations")[0]
    shown = ok(session, "get_invitation", colleague_id=first["colleague_id"])
    agenda = ok(session, "list_agenda", day=shown["day"], limit=50)
    for row in agenda:
        ok(session, "delete_event", event_id=row["event_id"])
    make(session, "Blocker", shown["day"], shown["time"])
    calendar = ok(session, "list_calendars")[0]["calendar_id"]
    refused(session, "conflict", "accept_invitation", invitation_id=first["invitation_id"], calendar_id=calendar)


def test_reminders(session: Session) -> None:
    event = make(session, "Dentist", ahead(33), "08:00")
    refused(session, "not_found", "get_reminder", event_id=event)
    key = ok(session, "add_reminder", event_id=event)["reminder_id"]
    assert ok(session, "get_reminder", event_id=event) == {"reminder_id": key, "minutes": 15}
    refused(session, "conflict", "add_reminder", event_id=event, minutes=30)
    assert ok(session, "change_reminder", reminder_id=key, minutes=45)["minutes"] == 45
    ok(session, "delete_event", event_id=event)
    refused(session, "not_found", "change_reminder", reminder_id=key, minutes=5)
    refused(session, "not_found", "get_event", event_id=event)


def test_titles_are_unique_in_any_case(session: Session) -> None:
    event = make(session, "Dentist", ahead(33), "08:00")
    calendar = ok(session, "list_calendars")[0]["calendar_id"]
    at = {"calendar_id": calendar, "day": ahead(34), "time": "08:00"}
    refused(session, "conflict", "create_event", title="DENTIST", **at)
    assert ok(session, "rename_event", event_id=event, title="DENTIST")["title"] == "DENTIST"
    other = ok(session, "list_events")[0]
    refused(session, "conflict", "rename_event", event_id=event, title=other["title"].lower())


def test_resizing_never_runs_into_the_next_event(session: Session) -> None:
    first = make(session, "First", ahead(40), "10:00", minutes=30)
    make(session, "Second", ahead(40), "11:00")
    assert ok(session, "resize_event", event_id=first, minutes=60)["minutes"] == 60
    refused(session, "conflict", "resize_event", event_id=first, minutes=61)


@pytest.mark.parametrize("day", ["2026-02-31", "0000-01-01", "9999-12-31", "2001-01-01", "2099-01-01"])
def test_impossible_and_past_days_are_refused(session: Session, day: str) -> None:
    calendar = ok(session, "list_calendars")[0]["calendar_id"]
    refused(session, "invalid_value", "create_event", calendar_id=calendar, title="New", day=day, time="10:00")
    event = ok(session, "list_events")[0]["event_id"]
    refused(session, "invalid_value", "move_event", event_id=event, day=day, time="10:00")


def test_wrong_kinds_and_absent_entities(session: Session) -> None:
    event, room = ok(session, "list_events")[0]["event_id"], ok(session, "list_rooms")[0]["room_id"]
    refused(session, "invalid_arguments", "book_room", event_id=room, room_id=event)
    refused(session, "not_found", "book_room", event_id=event, room_id="room_000")
    refused(session, "invalid_arguments", "repeat_event", event_id=event, rule={"every": "week", "times": 4, "until": "x"})
    refused(session, "invalid_arguments", "get_event_time", event_id=event, zone="Mars/Olympus")
    refused(session, "invalid_value", "find_event", title="\ud800")


def test_writes_in_another_order_end_in_the_same_state() -> None:
    digests = set()
    for titles in (("Dentist", "Haircut"), ("Haircut", "Dentist")):
        with WORLD.session(SEED) as session:
            for title in titles:
                make(session, title, ahead(33), "08:00" if title == "Dentist" else "09:00")
            digests.add(session.digest())
    assert len(digests) == 1


LIVE = {seed: live_of(seed) for seed in (SEED, HELD_OUT_FROM + 1)}


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), world=st.sampled_from(sorted(LIVE)), hostile=st.sampled_from((0.02, 0.1, 0.4)))
def test_random_calls_keep_the_invariants(seed: int, world: int, hostile: float) -> None:
    drive(WORLD, world, seed, LIVE[world], check, calls=40, hostile=hostile)
