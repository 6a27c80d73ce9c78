"""The video_meeting server: one sharer, a host while it is live, nobody recorded who did not agree."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.servers.sampler import sample
from tasks.servers.session import Session
from tasks.servers.video_meeting import VideoMeeting
from tasks.servers.world import HELD_OUT_FROM
from tests.servers.driver import Driver, check_seeding, check_server, ok, random_arguments, refused, state_of
from tests.servers.machine import machine, world


def check(session: Session) -> None:
    """What holds for the meetings in every state."""
    server: Any = state_of(session, VideoMeeting)
    if server is None:
        return
    people = list(server.participants.values())
    for meeting in server.meetings.values():
        own = [row for row in people if row.meeting_id == meeting.meeting_id]
        assert len({row.contact_id for row in own}) == len(own)
        assert meeting.host not in meeting.invited and {meeting.host, *meeting.invited} <= set(server.contacts)
        if meeting.status == "live":
            hosts = [row for row in own if row.role == "host"]
            assert [(row.contact_id, row.state) for row in hosts] == [(meeting.host, "in")]
        else:
            assert not any(row.state in ("waiting", "in") for row in own)
            assert not meeting.sharer and not meeting.locked
        if meeting.sharer:
            sharer = server.participants[meeting.sharer]
            assert (sharer.meeting_id, sharer.state, sharer.breakout_id) == (meeting.meeting_id, "in", "")
        recorded = [r for r in server.recordings.values() if r.meeting_id == meeting.meeting_id and r.status == "recording"]
        assert len(recorded) <= (meeting.status == "live")
        if recorded:
            assert all(row.consent == "yes" for row in own if row.state == "in")
        groups = [row for row in server.breakouts.values() if row.meeting_id == meeting.meeting_id]
        assert len(groups) <= 8 and len({row.name.casefold() for row in groups}) == len(groups)
        assert meeting.status == "live" or not any(row.open for row in groups)
    here = [row.contact_id for row in people if row.state in ("waiting", "in")]
    assert len(set(here)) == len(here), "one meeting at a time"
    for row in people:
        if row.breakout_id:
            group = server.breakouts[row.breakout_id]
            assert group.open and group.meeting_id == row.meeting_id and row.state == "in"
    me = server.me["me"].contact_id
    hosted = sorted((m.begin, m.end) for m in server.meetings.values() if m.host == me and m.status == "scheduled")
    assert all(before[1] <= after[0] for before, after in pairwise(hosted)), "no double booking"
    for poll in server.polls.values():
        assert poll.status == "closed" or server.meetings[poll.meeting_id].status == "live"
        assert len({option.casefold() for option in poll.options}) == len(poll.options) >= 2
    for vote in server.votes.values():
        assert vote.option in server.polls[vote.poll_id].options
    assert all(note.meeting_id in server.meetings and note.sender in server.contacts for note in server.notes.values())


TestVideoMeeting = machine(VideoMeeting, check)


def opened(present: bool) -> Session:
    """A session in which the user hosts a live meeting, where nobody shares and nothing is recorded; or is in none."""
    for seed in range(100):
        session = world(VideoMeeting).session(seed)
        ok(session, "list_video_meetings")
        server: Any = state_of(session, VideoMeeting)
        busy = any(m.sharer for m in server.meetings.values()) or any(
            r.status == "recording" for r in server.recordings.values()
        )
        here = [row.role for row in server.participants.values() if row.contact_id == me(session) and row.state == "in"]
        if here == ["host"] and not busy if present else not here:
            return session
        session.close()
    raise AssertionError("no such seed")


@pytest.fixture
def session() -> Iterator[Session]:
    with opened(present=True) as found:
        yield found


def me(session: Session) -> str:
    return str(state_of(session, VideoMeeting).me["me"].contact_id)


def live(session: Session, mine: bool = True) -> str:
    """A live meeting that the user hosts, or one in which the user is not."""
    server: Any = state_of(session, VideoMeeting)
    return next(str(m.meeting_id) for m in server.meetings.values() if m.status == "live" and (m.host == me(session)) == mine)


def part(session: Session, role: str = "attendee") -> str:
    """Somebody else in the user's meeting, in its main room."""
    rows = state_of(session, VideoMeeting).participants.values()
    here = [row for row in rows if row.meeting_id == live(session) and row.state == "in" and not row.breakout_id]
    return next(str(row.participant_id) for row in here if row.role == role)


def myself(session: Session) -> str:
    server: Any = state_of(session, VideoMeeting)
    return next(str(p.participant_id) for p in server.participants.values() if p.contact_id == me(session) and p.state == "in")


def agree(session: Session) -> None:
    for row in ok(session, "list_participants", meeting_id=live(session), limit=50):
        ok(session, "set_recording_consent", participant_id=row["participant_id"], agrees=True)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_moderation_keeps_the_invariants(seed: int) -> None:
    """Random calls, most of them about the meeting that the user hosts."""
    rng = random.Random(seed)
    writing = sorted(
        spec.name for spec in VideoMeeting.specs.values() if not spec.read_only and spec.name != "end_video_meeting"
    )
    with opened(present=True) as session:
        meeting = live(session)
        driver = Driver(session, rng, sample(session))
        agree(session)
        driver.digest = session.digest()
        for _ in range(40):
            name = rng.choice(writing)
            arguments = random_arguments(world(VideoMeeting).specs[name], driver.live, rng, 0.02)
            if "meeting_id" in arguments and rng.random() < 0.8:
                arguments["meeting_id"] = meeting
            driver.call(name, arguments)
            check(session)


def test_the_definition() -> None:
    check_server(VideoMeeting, tools=10)
    check_seeding(VideoMeeting)


@pytest.mark.parametrize("seed", [*range(12), *range(HELD_OUT_FROM, HELD_OUT_FROM + 6)])
def test_seeds_are_consistent(seed: int) -> None:
    with world(VideoMeeting).session(seed) as found:
        soon = ok(found, "next_video_meeting")
        check(found)
        assert dt.datetime.fromisoformat(soon["start"]) - found.now == dt.timedelta(minutes=10)
        statuses = [row["status"] for row in ok(found, "list_video_meetings", limit=50)]
        assert sorted(statuses) == ["ended"] * 2 + ["live"] * 2 + ["scheduled"] * 4


def test_meetings_are_scheduled_without_overlap_and_moved(session: Session) -> None:
    day = (session.now.date() + dt.timedelta(days=9)).isoformat()
    guests = [row["contact_id"] for row in ok(session, "list_video_contacts")]
    start = {"day": day, "time": "10:00", "minutes": 60}
    made = ok(session, "schedule_video_meeting", name="Budget Talk", start=start, contact_ids=guests)
    shown = ok(session, "get_video_meeting", meeting_id=made["meeting_id"])
    assert (shown["start"], shown["minutes"], shown["passcode"]) == (f"{day} 10:00", 60, made["passcode"])
    again = {"name": "Other Talk", "contact_ids": guests}
    refused(session, "conflict", "schedule_video_meeting", **again, start={"day": day, "time": "10:59"})
    refused(session, "conflict", "schedule_video_meeting", name="budget talk", start=start, contact_ids=guests)
    refused(session, "invalid_value", "schedule_video_meeting", **again, start={"day": "2026-02-31", "time": "10:00"})
    refused(session, "invalid_value", "schedule_video_meeting", **again, start={"day": "2020-02-03", "time": "10:00"})
    refused(session, "not_found", "schedule_video_meeting", name="Other", contact_ids=["vcon_000"], start=start)
    ok(session, "schedule_video_meeting", **again, start={"day": day, "time": "11:00"})
    key = made["meeting_id"]
    refused(session, "conflict", "move_video_meeting", meeting_id=key, start={"day": day, "time": "11:15"})
    ok(session, "move_video_meeting", meeting_id=key, start={"day": day, "time": "10:15"})
    refused(session, "wrong_state", "start_video_meeting", meeting_id=key)
    refused(session, "conflict", "invite_to_video_meeting", meeting_id=key, contact_ids=guests[:1])
    assert ok(session, "cancel_video_meeting", meeting_id=key)["status"] == "cancelled"
    refused(session, "wrong_state", "move_video_meeting", meeting_id=key, start=start)


def test_the_user_is_in_one_meeting_at_a_time(session: Session) -> None:
    soon, other = ok(session, "next_video_meeting")["meeting_id"], live(session, mine=False)
    code = ok(session, "get_video_meeting", meeting_id=other)["passcode"]
    refused(session, "conflict", "start_video_meeting", meeting_id=soon)
    refused(session, "conflict", "join_video_meeting", meeting_id=other, passcode=code)
    refused(session, "denied", "leave_video_meeting", meeting_id=live(session))
    assert ok(session, "hand_over_host", participant_id=part(session))["role"] == "host"
    mine = next(
        m for m in state_of(session, VideoMeeting).participants.values() if m.contact_id == me(session) and m.state == "in"
    )
    assert mine.role == "cohost"
    ok(session, "leave_video_meeting", meeting_id=mine.meeting_id)
    refused(session, "denied", "join_video_meeting", meeting_id=other, passcode="000000")
    joined = ok(session, "join_video_meeting", meeting_id=other, passcode=code)
    assert (joined["state"], joined["role"]) == ("in", "attendee")
    refused(session, "denied", "mute_everyone", meeting_id=other)
    refused(session, "denied", "end_video_meeting", meeting_id=other)
    ok(session, "send_meeting_message", meeting_id=other, text="Hello")
    ok(session, "leave_video_meeting", meeting_id=other)
    assert ok(session, "start_video_meeting", meeting_id=soon)["role"] == "host"
    check(session)


def test_a_user_in_no_meeting_waits_or_starts_one() -> None:
    with opened(present=False) as session:
        server: Any = state_of(session, VideoMeeting)
        meeting = next(m for m in server.meetings.values() if m.status == "live" and m.waiting_room)
        refused(session, "wrong_state", "send_meeting_message", meeting_id=meeting.meeting_id, text="Hello")
        joined = ok(
            session, "join_video_meeting", meeting_id=meeting.meeting_id, passcode=meeting.passcode, accept_recording=True
        )
        assert joined["state"] == "waiting"
        refused(session, "wrong_state", "admit_participant", participant_id=joined["participant_id"])
        ok(session, "leave_video_meeting", meeting_id=meeting.meeting_id)
        assert ok(session, "start_video_meeting", meeting_id=ok(session, "next_video_meeting")["meeting_id"])["state"] == "in"


def test_the_waiting_room_admits_and_a_lock_holds(session: Session) -> None:
    meeting = live(session)
    first, second, *_ = (row["participant_id"] for row in ok(session, "list_waiting_room", meeting_id=meeting))
    ok(session, "lock_video_meeting", meeting_id=meeting, locked=True)
    refused(session, "wrong_state", "admit_participant", participant_id=first)
    ok(session, "lock_video_meeting", meeting_id=meeting, locked=False)
    assert ok(session, "admit_participant", participant_id=first)["state"] == "in"
    refused(session, "wrong_state", "admit_participant", participant_id=first)
    assert ok(session, "remove_participant", participant_id=second)["state"] == "removed"
    contact = state_of(session, VideoMeeting).participants[second].contact_id
    refused(session, "denied", "invite_to_video_meeting", meeting_id=meeting, contact_ids=[contact])
    refused(session, "denied", "remove_participant", participant_id=myself(session))
    busy = {p.contact_id for p in state_of(session, VideoMeeting).participants.values() if p.state in ("waiting", "in")}
    free = next(c for c in state_of(session, VideoMeeting).contacts if c not in busy and c != contact)
    assert ok(session, "invite_to_video_meeting", meeting_id=meeting, contact_ids=[free])["waiting"] == 1
    refused(session, "conflict", "invite_to_video_meeting", meeting_id=meeting, contact_ids=[free])


def test_one_shares_at_a_time(session: Session) -> None:
    meeting, other = live(session), part(session)
    refused(session, "wrong_state", "stop_screen_share", meeting_id=meeting)
    assert ok(session, "start_screen_share", participant_id=other) == {"meeting_id": meeting, "sharer_id": other}
    refused(session, "conflict", "start_screen_share", participant_id=myself(session))
    group = ok(session, "list_breakouts", meeting_id=meeting)[0]["breakout_id"]
    refused(session, "wrong_state", "assign_breakout", participant_id=other, breakout_id=group)
    ok(session, "remove_participant", participant_id=other)
    ok(session, "start_screen_share", participant_id=myself(session))
    assert ok(session, "stop_screen_share", meeting_id=meeting) == {"meeting_id": meeting}


def test_nobody_is_recorded_who_did_not_agree(session: Session) -> None:
    meeting, other = live(session), part(session)
    ok(session, "set_recording_consent", participant_id=other, agrees=False)
    assert "not agreed" in refused(session, "denied", "start_recording", meeting_id=meeting)
    agree(session)
    recording = ok(session, "start_recording", meeting_id=meeting)["recording_id"]
    refused(session, "conflict", "start_recording", meeting_id=meeting)
    refused(session, "wrong_state", "delete_recording", recording_id=recording)
    waiting = ok(session, "list_waiting_room", meeting_id=meeting)[0]["participant_id"]
    ok(session, "set_recording_consent", participant_id=waiting, agrees=False)
    refused(session, "wrong_state", "admit_participant", participant_id=waiting)
    ok(session, "set_recording_consent", participant_id=waiting, agrees=True)
    ok(session, "admit_participant", participant_id=waiting)
    ok(session, "set_recording_consent", participant_id=other, agrees=False)
    refused(session, "wrong_state", "stop_recording", recording_id=recording)
    assert ok(session, "delete_recording", recording_id=recording)["deleted"]


def test_muting(session: Session) -> None:
    other = part(session)
    ok(session, "mute_participant", participant_id=other)
    refused(session, "denied", "unmute_participant", participant_id=other)
    assert ok(session, "unmute_participant", participant_id=myself(session))["muted"] is False
    ok(session, "mute_everyone", meeting_id=live(session))
    rows = ok(session, "list_participants", meeting_id=live(session), limit=50)
    assert [row["participant_id"] for row in rows if not row["muted"]] == [myself(session)]
    shown = ok(session, "find_participant", meeting_id=live(session), name=rows[1]["name"].upper())
    assert shown == rows[1]


def test_breakouts_hold_a_participant_once(session: Session) -> None:
    meeting, other = live(session), part(session)
    refused(session, "invalid_value", "create_breakouts", meeting_id=meeting, names=["One", "one"])
    one, two = (row["breakout_id"] for row in ok(session, "create_breakouts", meeting_id=meeting, names=["One", "Two"]))
    refused(session, "conflict", "create_breakouts", meeting_id=meeting, names=["ONE"])
    refused(session, "insufficient", "create_breakouts", meeting_id=meeting, names=["a", "b", "c", "d"])
    refused(session, "wrong_state", "return_from_breakout", participant_id=other)
    ok(session, "assign_breakout", participant_id=other, breakout_id=one)
    ok(session, "assign_breakout", participant_id=other, breakout_id=two)
    assert ok(session, "find_breakout", meeting_id=meeting, name="one")["participants"] == 0
    assert ok(session, "find_breakout", meeting_id=meeting, name="two")["participants"] == 1
    refused(session, "wrong_state", "start_screen_share", participant_id=other)
    foreign = next(g.breakout_id for g in state_of(session, VideoMeeting).breakouts.values() if g.meeting_id != meeting)
    refused(session, "invalid_value", "assign_breakout", participant_id=other, breakout_id=foreign)
    assert ok(session, "close_breakouts", meeting_id=meeting)["returned"] == 3, "two were in a group before"
    refused(session, "wrong_state", "close_breakouts", meeting_id=meeting)
    refused(session, "wrong_state", "assign_breakout", participant_id=other, breakout_id=two)


def test_polls_count_one_vote_each(session: Session) -> None:
    meeting = live(session)
    refused(session, "invalid_value", "create_meeting_poll", meeting_id=meeting, name="Lunch", options=["Soup", "soup"])
    poll = ok(session, "create_meeting_poll", meeting_id=meeting, name="Lunch", options=["Soup", "Salad"])["poll_id"]
    refused(session, "not_found", "vote_in_meeting_poll", poll_id=poll, option="Cake")
    ok(session, "vote_in_meeting_poll", poll_id=poll, option="soup")
    assert ok(session, "vote_in_meeting_poll", poll_id=poll, option="Salad")["votes"] == 1
    assert ok(session, "list_meeting_poll_votes", poll_id=poll) == [
        {"poll_id": poll, "option": "Salad", "votes": 1},
        {"poll_id": poll, "option": "Soup", "votes": 0},
    ]
    assert ok(session, "close_meeting_poll", poll_id=poll)["status"] == "closed"
    refused(session, "wrong_state", "vote_in_meeting_poll", poll_id=poll, option="Soup")
    for row in ok(session, "list_meeting_polls", meeting_id=meeting):
        results = ok(session, "list_meeting_poll_votes", poll_id=ok(session, "find_meeting_poll", name=row["name"])["poll_id"])
        assert sum(option["votes"] for option in results) == row["votes"]


def test_the_chat_is_a_transcript(session: Session) -> None:
    meeting, other = live(session), part(session)
    ok(session, "send_meeting_message", meeting_id=meeting, text="Welcome")
    sent = ok(session, "send_meeting_message", meeting_id=meeting, text="Just you", to_participant_id=other)
    latest = ok(session, "list_meeting_messages", meeting_id=meeting)[:2]
    assert [(row["text"], row["private"]) for row in latest] == [("Just you", True), ("Welcome", False)]
    assert latest[0]["message_id"] == sent["message_id"]
    refused(session, "invalid_value", "send_meeting_message", meeting_id=meeting, text="x", to_participant_id=myself(session))
    refused(session, "invalid_value", "send_meeting_message", meeting_id=meeting, text="a\nb")


def test_ending_ends_everything(session: Session) -> None:
    meeting = live(session)
    agree(session)
    recording = ok(session, "start_recording", meeting_id=meeting)["recording_id"]
    ok(session, "start_screen_share", participant_id=myself(session))
    assert ok(session, "end_video_meeting", meeting_id=meeting)["status"] == "ended"
    check(session)
    rows = ok(session, "list_recordings", meeting_id=meeting)
    assert {row["recording_id"]: row["status"] for row in rows}[recording] == "stopped"
    assert all(row["state"] == "left" for row in ok(session, "list_participants", meeting_id=meeting))
    refused(session, "wrong_state", "list_waiting_room", meeting_id=meeting)
    refused(session, "wrong_state", "end_video_meeting", meeting_id=meeting)
