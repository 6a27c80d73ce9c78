"""Rows of the calendar server, and its arithmetic of times, zones and recurrence.

All stored times are naive and in UTC, to the minute; what tools take and show is local time in a zone.

Run: nothing here runs by itself; `tasks.servers.calendar` is the server.

Left out: all-day events, and rules richer than every day, week or month.
"""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal
from zoneinfo import ZoneInfo

from tasks.servers.calendar_types import InvitationStatus, Repeats, Show, Weekday, Zone
from tasks.servers.tool import ToolError
from tasks.servers.typed import date_of, time_of

Slot = tuple[dt.datetime, dt.datetime]
"""Start (included) and end (excluded) in UTC."""

WEEKDAYS: tuple[Weekday, ...] = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True)
class Calendar:
    calendar_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Event:
    """What all occurrences of an event share: `name` is the title; `room_id` may be empty; `attendees` are sorted."""

    event_id: str
    calendar_id: str
    name: str
    minutes: int
    repeats: Repeats = "once"
    show: Show = "busy"
    room_id: str = ""
    attendees: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One date of an event; an event that does not repeat has one."""

    occurrence_id: str
    event_id: str
    start: dt.datetime
    end: dt.datetime
    status: Literal["planned", "cancelled"] = "planned"


@dataclass(frozen=True, slots=True)
class Colleague:
    colleague_id: str
    name: str
    email: str
    zone: Zone


@dataclass(frozen=True, slots=True)
class Room:
    room_id: str
    name: str
    seats: int
    floor: int


@dataclass(frozen=True, slots=True)
class Block:
    """A time in which a colleague or a room (`owner_id`) is taken by others than the user."""

    block_id: str
    owner_id: str
    start: dt.datetime
    end: dt.datetime


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation by a colleague; an accepted one has become an event."""

    invitation_id: str
    colleague_id: str
    name: str
    start: dt.datetime
    end: dt.datetime
    status: InvitationStatus


@dataclass(frozen=True, slots=True)
class Reminder:
    """At most one per event."""

    reminder_id: str
    event_id: str
    minutes: int


@dataclass(frozen=True, slots=True)
class Hours:
    """The user's working hours on a weekday, local; a weekday without a row is off."""

    weekday: Weekday
    start: str
    end: str


@dataclass(frozen=True, slots=True)
class Home:
    """The one row of settings: the zone in which times are taken and shown."""

    zone: Zone


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def local(moment: dt.datetime, zone: str) -> dt.datetime:
    """A stored moment as local time of a zone, naive."""
    return moment.replace(tzinfo=dt.UTC).astimezone(_zone(zone)).replace(tzinfo=None)


def stored(moment: dt.datetime, zone: str) -> dt.datetime:
    """A naive local time of a zone as stored. A time that the clocks jump over counts from before the jump."""
    return moment.replace(tzinfo=_zone(zone)).astimezone(dt.UTC).replace(tzinfo=None)


def moment_of(day: str, time: str, zone: str) -> dt.datetime:
    """Day and Time arguments, local in `zone`, as stored. Raises ToolError(invalid_value) for what no clock shows."""
    wanted = dt.datetime.combine(date_of(day), time_of(time))
    moment = stored(wanted, zone)
    if local(moment, zone) != wanted:
        raise ToolError("invalid_value", f"the clocks of {zone} skip {time} on {day}", "Give an hour earlier or later.")
    return moment


def day_and_time(moment: dt.datetime, zone: str) -> tuple[str, str]:
    """A stored moment as local (YYYY-MM-DD, HH:MM)."""
    there = local(moment, zone)
    return there.date().isoformat(), there.strftime("%H:%M")


def expand(first: dt.datetime, repeats: Repeats, times: int, zone: str) -> list[dt.datetime]:
    """The stored starts of `times` occurrences from the stored start `first` on: the same local time each, in `zone`.

    Monthly occurrences keep to the first one's day, or take the last day of a shorter month.
    """
    start = local(first, zone)
    return [first, *(stored(_step(start, repeats, number), zone) for number in range(1, times))]


def _step(start: dt.datetime, repeats: Repeats, number: int) -> dt.datetime:
    if repeats != "month":
        return start + dt.timedelta(days=number * (7 if repeats == "week" else 1))
    months = start.month - 1 + number
    year, month = start.year + months // 12, months % 12 + 1
    return start.replace(year=year, month=month, day=min(start.day, calendar.monthrange(year, month)[1]))


def overlapping(slots: Iterable[Slot], start: dt.datetime, end: dt.datetime) -> bool:
    """Whether any slot shares a moment with start..end."""
    return any(first < end and start < last for first, last in slots)
