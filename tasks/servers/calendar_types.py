"""Identifiers, argument types and result types of the calendar server.

Run: nothing here runs by itself; `tasks.servers.calendar` is the server.

Left out: rows, which results show only in part.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import identifier

CalendarId = identifier("calendar", "cal")
EventId = identifier("event", "evt")
OccurrenceId = identifier("occurrence", "occ")
ColleagueId = identifier("colleague", "col")
RoomId = identifier("room", "room")
InvitationId = identifier("invitation", "inv")
ReminderId = identifier("reminder", "rem")

Zone = Annotated[
    Literal[
        "UTC",
        "Europe/London",
        "Europe/Berlin",
        "America/New_York",
        "America/Chicago",
        "Asia/Tokyo",
        "Asia/Kolkata",
        "Australia/Sydney",
    ],
    Field(description="A time zone."),
]
Weekday = Annotated[
    Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"], Field(description="A weekday.")
]
Repeats = Literal["once", "day", "week", "month"]
Show = Annotated[Literal["busy", "free"], Field(description="Whether the event takes up the user's time.")]
InvitationStatus = Literal["pending", "accepted", "declined"]
AskedStatus = Annotated[InvitationStatus, Field(description="Only invitations in this state.")]

Minutes = Annotated[int, Field(ge=5, le=720, description="How long, in minutes.")]
Lead = Annotated[int, Field(ge=5, le=1440, description="How many minutes before the event.")]
Seats = Annotated[int, Field(ge=1, le=100, description="At least this many seats.")]
NewTitle = Annotated[str, Field(min_length=1, max_length=40, description="A title, not yet in use.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
KnownTitle = Annotated[str, Field(min_length=1, max_length=60, description="The full title; case does not matter.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
Colleagues = Annotated[list[ColleagueId], Field(min_length=1, max_length=10, description="Colleagues.")]
Weekdays = Annotated[list[Weekday], Field(min_length=1, max_length=7, description="Weekdays.")]


class Rule(TypedDict):
    """How an event repeats."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    every: Annotated[Literal["day", "week", "month"], Field(description="One occurrence each.")]
    times: Annotated[int, Field(ge=2, le=12, description="Occurrences in all, the first included.")]


RuleArgument = Annotated[Rule, Field(description="How it repeats.")]


# -- results -----------------------------------------------------------------------------------


class CalendarShown(TypedDict):
    calendar_id: CalendarId
    name: str


class CalendarFound(TypedDict):
    calendar_id: CalendarId


class CalendarDetails(TypedDict):
    calendar_id: CalendarId
    events: int


class CalendarGone(TypedDict):
    calendar_id: CalendarId
    deleted: bool


class EventShown(TypedDict):
    event_id: EventId
    title: str
    calendar_id: CalendarId


class EventFound(TypedDict):
    event_id: EventId
    calendar_id: CalendarId


class EventDetails(TypedDict):
    event_id: EventId
    day: str
    time: str
    minutes: int
    repeats: Repeats
    attendees: int


class EventTime(TypedDict):
    event_id: EventId
    day: str
    time: str


class EventRow(TypedDict):
    event_id: EventId
    title: str
    day: str
    time: str


class EventMade(TypedDict):
    event_id: EventId
    day: str
    time: str


class EventNamed(TypedDict):
    event_id: EventId
    title: str


class EventLength(TypedDict):
    event_id: EventId
    minutes: int


class EventShow(TypedDict):
    event_id: EventId
    show: Show


class EventGone(TypedDict):
    event_id: EventId
    deleted: bool


class EventRepeats(TypedDict):
    event_id: EventId
    occurrences: int


class EventAttendees(TypedDict):
    event_id: EventId
    attendees: int


class NextOccurrence(TypedDict):
    occurrence_id: OccurrenceId
    event_id: EventId
    day: str
    time: str


class OccurrenceRow(TypedDict):
    occurrence_id: OccurrenceId
    day: str
    time: str
    status: Literal["planned", "cancelled"]


class OccurrenceMoved(TypedDict):
    occurrence_id: OccurrenceId
    day: str
    time: str


class OccurrenceState(TypedDict):
    occurrence_id: OccurrenceId
    status: Literal["planned", "cancelled"]


class ColleagueShown(TypedDict):
    colleague_id: ColleagueId
    name: str


class ColleagueFound(TypedDict):
    colleague_id: ColleagueId


class ColleagueDetails(TypedDict):
    colleague_id: ColleagueId
    email: str
    zone: Zone


class ColleagueFree(TypedDict):
    colleague_id: ColleagueId
    free: bool


class FreeTime(TypedDict):
    time: str


class RoomShown(TypedDict):
    room_id: RoomId
    name: str


class RoomFound(TypedDict):
    room_id: RoomId


class RoomDetails(TypedDict):
    room_id: RoomId
    seats: int
    floor: int


class RoomFree(TypedDict):
    room_id: RoomId
    free: bool


class EventRoom(TypedDict):
    room_id: RoomId
    event_id: EventId
    name: str


class RoomBooked(TypedDict):
    event_id: EventId
    room_id: RoomId


class RoomReleased(TypedDict):
    event_id: EventId
    released: bool


class InvitationShown(TypedDict):
    invitation_id: InvitationId
    colleague_id: ColleagueId
    title: str


class InvitationFound(TypedDict):
    invitation_id: InvitationId
    title: str
    day: str
    time: str


class InvitationState(TypedDict):
    invitation_id: InvitationId
    status: InvitationStatus


class ReminderShown(TypedDict):
    reminder_id: ReminderId
    event_id: EventId


class ReminderFound(TypedDict):
    reminder_id: ReminderId
    minutes: int


class ReminderGone(TypedDict):
    reminder_id: ReminderId
    deleted: bool


class HoursShown(TypedDict):
    start: str
    end: str


class HoursSet(TypedDict):
    days: int
    start: str
    end: str


class ZoneShown(TypedDict):
    zone: Zone
