"""Seeded data of the video_meeting server: word lists, people, and meetings before, during and after.

Run: nothing here runs by itself; `tasks.servers.video_meeting` is the server.

Left out: meetings that repeat.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

from tasks.servers import video_meeting_types as t
from tasks.servers.state import Seed
from tasks.servers.world import World, words

TOPICS = words(
    """Abacus Acoustics Alignment Allhands Analytics Architecture Assembly Audit Benchmark Brainstorm Briefing Campaign
    Capacity Checkpoint Coaching Committee Compliance Contract Council Curriculum Customer Debrief Demo Deployment
    Design Donor Editorial Engineering Escalation Ethics Expansion Facilities Feedback Fieldwork Finance Forecast
    Founders Fundraising Governance Grants Growth Hackathon Handover Hiring Incident Induction Innovation Insights
    Inventory Investor Kickoff Launch Leadership Learning Legal Logistics Maintenance Marketing Mentoring Merger
    Migration Milestone Newsletter Onboarding Operations Outreach Partner Payroll Pipeline Pitch Planning Pricing
    Procurement Product Prototype Publishing Purchasing Quality Recruiting Release Research Retention Retro Review
    Roadmap Rollout Safety Sales Security Showcase Sponsor Staffing Strategy Tactics Training Translation Triage
    Tutorial Usability Vendor Volunteer Warehouse Webinar Wellness"""
)
BREAKOUTS = words(
    """Alpha Amber Anvil Arrow Atlas Banyan Bravo Cedar Cobalt Comet Coral Delta Eagle Echo Ember Falcon Fern Fjord Garnet
    Glacier Harbor Hazel Heron Indigo Iris Ivy Jade Jasper Juniper Kestrel Kiwi Lagoon Lark Lotus Lynx Mango Maple
    Marble Nova Oak Onyx Orchid Osprey Otter Panda Pearl Pebble Pine Quartz Raven Reef Robin Sable Saffron Sequoia
    Spruce Swift Teak Tiger Topaz Tulip Violet Walnut Willow Wolf Zebra"""
)
POLLS = words(
    """Budget Catering Color Commute Deadline Dessert Dinner Drinks Font Format Furniture Gift Holiday Logo Lunch Mascot Menu
    Outing Parking Picnic Playlist Priority Retreat Schedule Seating Slogan Snack Sport Theme Timing Topic Travel
    Vacation Venue Weekday Agenda Cadence City Coffee Game Location Movie Music Office Policy Season Speaker Time Tool"""
)
ANSWERS = ("yes", "no", "later", "undecided", "the first", "the second", "both", "neither")
LINES = (
    "Hello all",
    "Can you hear me?",
    "The slides are shared",
    "I agree",
    "Back in five minutes",
    "Thanks everybody",
    "Good point",
)
PARTS = ("host", "guest", "host", "none", "host", "host")
"""What the user is in a live meeting when a session opens."""
FORMS = ("Call", "Session", "Meeting", "Talk")
DAYS = ((-6, 14), (-2, 15), (0, 0), (0, 0), (0, 0), (1, 11), (2, 14), (5, 16))
"""(days from today, hour) of the eight meetings; those of today are live, but the last, which begins in ten minutes."""
FIRST, SECOND, SOON = 2, 3, 4
"""The live meetings, and the one that begins soon."""
MINE = (0, FIRST, SOON, 5, 7)
"""Which meetings the user hosts."""


def seed_rows(world: World) -> Seed:
    """12 people, the user among them, and 8 meetings: 2 ended, 2 live, 4 scheduled.

    In most worlds the user hosts the first live meeting; in others the user is a guest in the second one, or in none.
    """
    people = zip(world.ids("vcon", 12), world.people(), strict=True)
    contacts = {key: t.Contact(key, person.name, person.email) for key, person in people}
    me, *others = contacts
    part = PARTS[world.seed % len(PARTS)]
    meetings: dict[str, t.Meeting] = {}
    participants: dict[str, t.Participant] = {}
    parts = iter(world.ids("part", 40))
    free = world.rng.sample(others, len(others))
    named = zip(world.ids("vmt", 8), world.picks(TOPICS, 8), world.numbers(8, 6), DAYS, strict=True)
    for number, (key, name, code, (day, hour)) in enumerate(named):
        live = number in (FIRST, SECOND)
        invited = [free.pop() for _ in range(7 if number == FIRST else 3)] if live else world.rng.sample(others, 4)
        host = me if number in MINE and (part == "host" or number != FIRST) else invited[0]
        status: t.MeetingStatus = "live" if live else "ended" if day < 0 else "scheduled"
        start = (world.now + dt.timedelta(days=day)).replace(hour=hour or world.now.hour)
        start += dt.timedelta(minutes=10 if number == SOON else -5 if live else 0)
        waiting_room = number == FIRST or (number != SECOND and world.choice((True, False)))
        meetings[key] = t.Meeting(
            key,
            f"{name} {world.choice(FORMS)}",
            host,
            start.strftime("%Y-%m-%d %H:%M"),
            world.choice((30, 45, 60)),
            str(code),
            waiting_room,
            status,
            tuple(sorted({me, *invited} - {host})),
        )
        if status == "scheduled":
            continue
        guests = [me] if part == "guest" and number == SECOND else []
        for index, contact in enumerate([host, *(person for person in invited if person != host), *guests]):
            role: t.Role = "host" if index == 0 else "cohost" if index == 1 and world.choice((True, False)) else "attendee"
            state: t.State = "left" if status == "ended" else "waiting" if number == FIRST and index > 4 else "in"
            consent: t.Consent = world.choice(("yes", "yes", "yes", "unknown"))
            pid = next(parts)
            participants[pid] = t.Participant(pid, key, contact, role, state, world.choice((True, False)), consent)
    inside = _inside(world, list(meetings.values()), participants)
    first = list(meetings)[FIRST]
    present = [row for row in participants.values() if row.meeting_id == first and row.state == "in"]
    if world.choice((True, False)):
        meetings[first] = replace(meetings[first], sharer=present[-1].participant_id)
    if world.choice((True, False)):
        for row in present:
            participants[row.participant_id] = replace(row, consent="yes")
        recording = next(row for row in inside["recordings"].values() if row.meeting_id == first)
        inside["recordings"][recording.recording_id] = replace(recording, status="recording")
    group = next(iter(inside["breakouts"]))
    for row in present[1:3]:
        participants[row.participant_id] = replace(participants[row.participant_id], breakout_id=group)
    return {
        "me": {"me": t.Me(me)},
        "contacts": contacts,
        "meetings": meetings,
        "participants": participants,
        **inside,
    }


def _inside(world: World, meetings: list[t.Meeting], participants: dict[str, t.Participant]) -> dict[str, dict[str, Any]]:
    """What the meetings hold: recordings, groups, polls with votes, and chats."""
    old, older, first, second, *_ = (row.meeting_id for row in meetings)
    days = {row.meeting_id: row.start[:10] for row in meetings}
    recordings = {
        key: t.Recording(key, meeting, "stopped", days[meeting])
        for key, meeting in zip(world.ids("rcd", 4), (old, older, old, first), strict=True)
    }
    groups = zip(world.ids("brk", 4), (first, first, first, second), world.picks(BREAKOUTS, 4), strict=True)
    breakouts = {key: t.Breakout(key, meeting, name, True) for key, meeting, name in groups}
    polls, votes = {}, {}
    where = zip(world.ids("vpoll", 6), (first, first, first, second, old, older), world.picks(POLLS, 6), strict=True)
    for number, (key, meeting, name) in enumerate(where):
        options = tuple(world.rng.sample(ANSWERS, world.rng.randrange(2, 5)))
        polls[key] = t.Poll(key, meeting, f"{name} Poll", options, "open" if number in (0, 1, 3) else "closed")
        for row in participants.values():
            if row.meeting_id == meeting and row.state in ("in", "left") and row.role != "host":
                votes[f"{key}/{row.contact_id}"] = t.Vote(key, row.contact_id, world.choice(options))
    notes = {}
    for number, key in enumerate(world.ids("vmsg", 10)):
        meeting = world.choice((old, older, first, first, second))
        said = [row.contact_id for row in participants.values() if row.meeting_id == meeting and row.state != "waiting"]
        notes[key] = t.Note(key, meeting, number, world.choice(said), "", world.choice(LINES))
    return {"recordings": recordings, "breakouts": breakouts, "polls": polls, "votes": votes, "notes": notes}
