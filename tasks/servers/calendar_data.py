"""Seeded data of the calendar server: word lists and the state of one user.

Run: nothing here runs by itself; `tasks.servers.calendar` is the server.

Left out: past events. A session starts at its clock, and everything lies ahead of it.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from tasks.servers.calendar_rows import (
    WEEKDAYS,
    Block,
    Calendar,
    Colleague,
    Event,
    Home,
    Hours,
    Invitation,
    Occurrence,
    Reminder,
    Room,
    Slot,
    expand,
    overlapping,
    stored,
)
from tasks.servers.calendar_types import Repeats, Zone
from tasks.servers.state import Seed
from tasks.servers.world import World, words

CALENDAR_NAMES = words(
    """Choir Volunteer Research Sales Engineering Personal Family Clinic Teaching Consulting Marketing Theater Sports
    Garden Community Editorial Finance Legal Studio Travel Wedding Podcast Hockey Orchestra Startup Thesis Coaching Rowing
    Council Fundraising Parish Museum Rugby Ballet Pottery Robotics Debate Language Nursing Film Cycling Climbing Chess
    School Office Hobby Recruiting Delivery Field Laboratory"""
)
NEW_CALENDAR_NAMES = words(
    """Tennis Sailing Knitting Baking Astronomy Beekeeping Birding Camping Carpentry Ceramics Drawing Embroidery Fencing
    Fishing Foraging Gardening Hiking Juggling Karate Kayaking Origami Painting Parenting Photography Piano Poetry Quilting
    Reading Running Skating Skiing Surfing Swimming Weaving"""
)
TOPICS = words(
    """Budget Roadmap Hiring Marketing Security Release Design Data Pricing Vendor Compliance Onboarding Quality Payroll
    Brand Website Mobile Cloud Audit Customer Support Product Strategy Partner Research Logistics Warehouse Inventory
    Newsletter Podcast Safety Sales Survey Storage Network Analytics Patent Contract Charity Museum Festival Forecast Merger
    Portfolio Prototype Packaging Catalog Translation Accessibility Recycling Insurance Travel Benefits Facilities Telemetry
    Firmware Checkout Search Billing Migration"""
)
KINDS = ("Review", "Workshop", "Planning", "Briefing", "Interview", "Demo", "Retrospective", "Lunch", "Training", "Standup")
NEW_TITLES = words(
    """Dentist Haircut Swimming Physiotherapy Yoga Mentoring Picnic Barbecue Brunch Massage Checkup Rehearsal Bowling
    Karaoke Stocktaking Brainstorming Hackathon Inspection Tasting Housewarming Babysitting Gardening Pilates Kickoff
    Townhall Fitting Vaccination Seminar Fundraiser Reunion Meditation Boxing Archery Debriefing Potluck Graduation"""
)
ROOM_NAMES = words(
    """Aspen Baltic Cypress Danube Everest Fuji Ganges Hudson Indus Jura Kilimanjaro Loire Matterhorn Nile Olympus
    Pacific Rhine Sahara Thames Ural Vesuvius Volga Yukon Zambezi Amazon Andes Atlas Caspian Congo Dolomites Elbe Elbrus
    Etna Gobi Hecla Kalahari Ladoga Lena Mekong Mojave Niagara Oder Orinoco Pamir Rhone Rainier Seine Shasta Snowdon
    Superior Tagus Tiber Tigris Titicaca Vistula Weser"""
)
HOMES: tuple[Zone, ...] = ("Europe/London", "Europe/Berlin", "America/New_York", "America/Chicago", "Asia/Tokyo")
ABROAD: tuple[Zone, ...] = (*HOMES, "Asia/Kolkata", "Australia/Sydney")
SERIES: tuple[tuple[Repeats, int], ...] = (("week", 4), ("week", 6), ("day", 3), ("month", 3), ("week", 3))
LENGTHS = (15, 30, 30, 45, 60, 60, 90)


def seed_rows(world: World) -> Seed:
    """The seeded state of one user: 14 events (5 of them series), 5 calendars, 10 colleagues and 8 rooms."""
    zone = world.choice(HOMES)
    names = world.picks(CALENDAR_NAMES, 5)
    calendars = {key: Calendar(key, name) for key, name in zip(world.ids("cal", 5), names, strict=True)}
    people = world.people()[:10]
    colleagues = {
        key: Colleague(key, person.name, person.email, world.choice(ABROAD))
        for key, person in zip(world.ids("col", 10), people, strict=True)
    }
    rooms = {
        key: Room(key, name, seats, world.rng.randint(1, 6))
        for key, name, seats in zip(
            world.ids("room", 8), world.picks(ROOM_NAMES, 8), world.rng.sample(range(4, 25), 8), strict=True
        )
    }
    titles = _titles(world, 19)
    mornings = _mornings(world, zone)
    events, occurrences = _events(world, mornings, zone, titles[:14], list(calendars)[1:], list(colleagues), rooms)
    blocks = _blocks(world, mornings[:9], events, occurrences, [*colleagues, *rooms])
    invitations = {}
    invited = zip(world.ids("inv", 5), world.rng.sample(list(colleagues), 5), titles[14:], strict=True)
    for key, colleague_id, title in invited:
        start = _start(world, mornings)
        end = start + dt.timedelta(minutes=world.choice(LENGTHS))
        invitations[key] = Invitation(key, colleague_id, title, start, end, "pending")
    reminded = zip(world.ids("rem", 6), world.rng.sample(list(events), 6), strict=True)
    reminders = {key: Reminder(key, event_id, world.choice((5, 10, 15, 30, 60))) for key, event_id in reminded}
    opening = world.rng.choice(("08:00", "08:30", "09:00"))
    hours = {day: Hours(day, opening, world.choice(("16:30", "17:00", "17:30", "18:00"))) for day in WEEKDAYS[:5]}
    return {
        "calendars": _shuffled(world, calendars),
        "events": events,
        "occurrences": occurrences,
        "colleagues": colleagues,
        "rooms": rooms,
        "blocks": blocks,
        "invitations": invitations,
        "reminders": reminders,
        "hours": hours,
        "home": {"home": Home(zone)},
    }


def _shuffled(world: World, rows: dict[str, Any]) -> dict[str, Any]:
    """The rows in random order, so that the place in a list tells nothing."""
    keys = list(rows)
    world.rng.shuffle(keys)
    return {key: rows[key] for key in keys}


def _titles(world: World, count: int) -> list[str]:
    topics = world.pool(TOPICS)
    found: dict[str, None] = {}
    while len(found) < count:
        found[f"{world.rng.choice(topics)} {world.choice(KINDS)}"] = None
    return list(found)


def _mornings(world: World, zone: str) -> list[dt.datetime]:
    """Nine o'clock of each weekday from 1 to 20 days ahead, stored."""
    days = [world.now.replace(hour=9, minute=0) + dt.timedelta(days=ahead) for ahead in range(1, 21)]
    return [stored(day, zone) for day in days if day.weekday() < 5]


def _start(world: World, mornings: list[dt.datetime]) -> dt.datetime:
    """A start on the half hour from 9:00 to 16:30 on one of the mornings' days."""
    return world.rng.choice(mornings) + dt.timedelta(minutes=30 * world.rng.randrange(16))


def _events(
    world: World,
    mornings: list[dt.datetime],
    zone: str,
    titles: list[str],
    calendars: list[str],
    colleagues: list[str],
    rooms: dict[str, Room],
) -> tuple[dict[str, Event], dict[str, Occurrence]]:
    """Events in calendars of the user, none of which overlap; all with a room, most with colleagues."""
    events: dict[str, Event] = {}
    occurrences: dict[str, Occurrence] = {}
    taken: list[Slot] = []
    keys = iter(world.ids("occ", 60))
    for number, (key, title) in enumerate(zip(world.ids("evt", len(titles)), titles, strict=True)):
        repeats, times = SERIES[number] if number < len(SERIES) else ("once", 1)
        minutes = world.choice(LENGTHS)
        length = dt.timedelta(minutes=minutes)
        while True:
            starts = expand(_start(world, mornings), repeats, times, zone)
            if not any(overlapping(taken, start, start + length) for start in starts):
                break
        taken += [(start, start + length) for start in starts]
        attendees = tuple(sorted(world.rng.sample(colleagues, world.choice((0, 1, 2, 2, 3)))))
        room_id = world.choice([key for key, room in rooms.items() if room.seats > len(attendees)])
        events[key] = Event(key, world.choice(calendars), title, minutes, repeats, "busy", room_id, attendees)
        for start in starts:
            occurrence = Occurrence(next(keys), key, start, start + length)
            occurrences[occurrence.occurrence_id] = occurrence
    return _shuffled(world, events), _shuffled(world, occurrences)


def _blocks(
    world: World, mornings: list[dt.datetime], events: dict[str, Event], occurrences: dict[str, Occurrence], owners: list[str]
) -> dict[str, Block]:
    """Two times for each colleague and room in which they are taken, clear of the user's events with them."""
    taken: dict[str, list[Slot]] = {owner: [] for owner in owners}
    for row in occurrences.values():
        event = events[row.event_id]
        for owner in (*event.attendees, *([event.room_id] if event.room_id else [])):
            taken[owner].append((row.start, row.end))
    blocks: dict[str, Block] = {}
    for number, key in enumerate(world.ids("blk", 2 * len(owners))):
        owner = owners[number // 2]
        start = _start(world, mornings)
        end = start + dt.timedelta(minutes=30 * world.rng.randint(1, 4))
        if not overlapping(taken[owner], start, end):
            taken[owner].append((start, end))
            blocks[key] = Block(key, owner, start, end)
    return blocks
