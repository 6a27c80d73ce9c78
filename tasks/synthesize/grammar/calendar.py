"""What a user wants from the calendar server, and how people say it (see the package's docstring).

Left out: restoring a cancelled occurrence and dropping an attendee, which nobody names without having looked first.
"""

from __future__ import annotations

from tasks.synthesize.grammar import Field, Ref, Referent
from tasks.synthesize.grammar.calendar_events import EVENT_GOALS
from tasks.synthesize.grammar.calendar_people import PEOPLE_GOALS

REFERENTS = [
    Referent(
        "calendar",
        "find_calendar",
        {"name": Field("name")},
        "/calendar_id",
        ["my {name} calendar", "the {name} calendar", "the calendar called {name}", "the calendar named {name}"],
    ),
    Referent("calendar", None, {}, "", ["{id}", "calendar {id}"]),
    Referent(
        "event",
        "find_event",
        {"title": Field("title")},
        "/event_id",
        ["the {title}", "my {title}", "the {title} event", "the event called {title}"],
    ),
    Referent("event", None, {}, "", ["{id}", "event {id}"]),
    Referent(
        "event_day",
        "get_event",
        {"event_id": Ref("event", via="event_id")},
        "/day",
        ["the day of {event_id}", "the same day as {event_id}"],
        of="event",
    ),
    Referent(
        "event_start",
        "get_event",
        {"event_id": Ref("event", via="event_id")},
        "/time",
        ["the start of {event_id}", "the time when {event_id} starts"],
        of="event",
    ),
    Referent(
        "occurrence",
        "get_next_occurrence",
        {"event_id": Ref("event", via="event_id")},
        "/occurrence_id",
        ["the next occurrence of {event_id}", "the coming occurrence of {event_id}", "only the next date of {event_id}"],
    ),
    Referent(
        "colleague",
        "find_colleague",
        {"name": Field("name")},
        "/colleague_id",
        ["{name}", "my colleague {name}"],
    ),
    Referent("colleague", None, {}, "", ["{id}", "colleague {id}"]),
    Referent(
        "colleague_zone",
        "get_colleague",
        {"colleague_id": Ref("colleague", via="colleague_id")},
        "/zone",
        ["the time zone of {colleague_id}", "the zone that {colleague_id} is in"],
        of="colleague",
    ),
    Referent(
        "room",
        "find_room",
        {"name": Field("name")},
        "/room_id",
        ["the {name} room", "room {name}", "the room called {name}"],
    ),
    Referent(
        "room",
        "get_event_room",
        {"event_id": Ref("event", via="event_id")},
        "/room_id",
        ["the room of {event_id}", "the room where {event_id} takes place"],
    ),
    Referent("room", None, {}, "", ["{id}"]),
    Referent(
        "invitation",
        "get_invitation",
        {"colleague_id": Ref("colleague", via="colleague_id")},
        "/invitation_id",
        ["the invitation from {colleague_id}", "the invitation that {colleague_id} sent", "the invitation by {colleague_id}"],
    ),
    Referent("invitation", None, {}, "", ["{id}", "invitation {id}"]),
    Referent(
        "reminder",
        "get_reminder",
        {"event_id": Ref("event", via="event_id")},
        "/reminder_id",
        ["the reminder for {event_id}", "my reminder about {event_id}", "the reminder of {event_id}"],
    ),
    Referent("reminder", None, {}, "", ["{id}", "reminder {id}"]),
]

GOALS = [*EVENT_GOALS, *PEOPLE_GOALS]
