"""Goals of the calendar grammar: calendars, events, their repetition, and their reminders."""

from __future__ import annotations

from tasks.servers.calendar_data import NEW_CALENDAR_NAMES, NEW_TITLES
from tasks.synthesize.grammar import Choice, Clock, Constant, Day, Goal, Number, Ref, Words

ZONES = Choice(
    {
        "Europe/London": "London",
        "Europe/Berlin": "Berlin",
        "America/New_York": "New York",
        "America/Chicago": "Chicago",
        "Asia/Tokyo": "Tokyo",
        "Asia/Kolkata": "Kolkata",
        "Australia/Sydney": "Sydney",
    }
)

EVENT_GOALS = [
    # calendars
    Goal(
        "get_calendar",
        {"calendar_id": Ref("calendar")},
        [
            "tell me how many events are in {calendar_id}",
            "how many events are there in {calendar_id}",
            "count the events in {calendar_id}",
            "what is the number of events in {calendar_id}",
        ],
        answer="/events",
    ),
    Goal(
        "create_calendar",
        {"name": Words((NEW_CALENDAR_NAMES,))},
        [
            "create a calendar called {name}",
            "set up a new calendar named {name}",
            "make me a calendar with the name {name}",
            "add a calendar and call it {name}",
        ],
        weight=0.5,
    ),
    Goal(
        "delete_calendar",
        {"calendar_id": Ref("calendar")},
        [
            "delete {calendar_id} since there is nothing in it",
            "get rid of {calendar_id}, which is empty",
            "remove {calendar_id}, which has no events",
            "erase {calendar_id} since it holds no events",
        ],
        needs_state={"calendar_id": {"events": 0}},
        weight=0.4,
    ),
    # reading events
    Goal(
        "list_calendar_events",
        {"calendar_id": Ref("calendar")},
        [
            "tell me the title of the next event in {calendar_id}",
            "what is the next event in {calendar_id} called",
            "which event comes first in {calendar_id}",
            "look up the title of the soonest event in {calendar_id}",
        ],
        answer="/0/title",
    ),
    Goal(
        "list_agenda",
        {"day": Day(1, 9)},
        [
            "tell me the title of my first event on {day}",
            "what is my first event on {day}",
            "which event starts my day on {day}",
            "look up what comes first on my agenda for {day}",
        ],
        answer="/0/title",
        weight=0.5,
    ),
    Goal(
        "list_agenda",
        {"day": Ref("event_day")},
        [
            "tell me the title of my first event on {day}",
            "what is the first event on my agenda for {day}",
            "which event comes first on {day}",
            "look up what my agenda starts with on {day}",
        ],
        answer="/0/title",
        weight=0.6,
    ),
    Goal(
        "get_next_event",
        {},
        [
            "tell me what my next event is",
            "what is the next event that I have",
            "which event do I have next",
            "look up the title of my very next event",
        ],
        answer="/title",
        weight=0.3,
    ),
    Goal(
        "get_event",
        {"event_id": Ref("event")},
        [
            "tell me what day {event_id} is on",
            "what date is {event_id} on",
            "which date is {event_id} on",
            "look up the date of {event_id}",
        ],
        answer="/day",
    ),
    Goal(
        "get_event",
        {"event_id": Ref("event")},
        [
            "tell me at what time {event_id} starts",
            "what time does {event_id} start",
            "when in the day does {event_id} begin",
            "look up the starting time of {event_id}",
        ],
        answer="/time",
    ),
    Goal(
        "get_event",
        {"event_id": Ref("event")},
        [
            "tell me how many minutes {event_id} takes",
            "how long is {event_id}",
            "how many minutes does {event_id} last",
            "look up the length of {event_id} in minutes",
        ],
        answer="/minutes",
        weight=0.7,
    ),
    Goal(
        "get_event",
        {"event_id": Ref("event")},
        [
            "tell me how many colleagues attend {event_id}",
            "how many colleagues are coming to {event_id}",
            "count the attendees of {event_id}",
            "what is the number of colleagues at {event_id}",
        ],
        answer="/attendees",
        weight=0.7,
    ),
    Goal(
        "get_event_time",
        {"event_id": Ref("event"), "zone": ZONES},
        [
            "tell me at what time {event_id} starts in {zone} time",
            "what time is {event_id} in {zone}",
            "when does {event_id} start by the clocks in {zone}",
            "convert the start of {event_id} to {zone} time",
        ],
        answer="/time",
    ),
    Goal(
        "get_event_time",
        {"event_id": Ref("event"), "zone": Ref("colleague_zone")},
        [
            "tell me at what time {event_id} starts in {zone}",
            "what time is {event_id} in {zone}",
            "when does {event_id} start in {zone}",
            "convert the start of {event_id} to {zone}",
        ],
        answer="/time",
        weight=0.7,
    ),
    # writing events
    Goal(
        "create_event",
        {
            "calendar_id": Ref("calendar"),
            "title": Words((NEW_TITLES,)),
            "day": Day(1, 18),
            "time": Clock(7, 19),
            "minutes": Number(15, 90, 15),
        },
        [
            "put {title} into {calendar_id} on {day} at {time} for {minutes} minutes",
            "add {title} to {calendar_id}, {day} at {time}, {minutes} minutes long",
            "schedule {title} in {calendar_id} for {minutes} minutes on {day} at {time}",
            "create an event called {title} in {calendar_id} on {day}, starting at {time} and taking {minutes} minutes",
        ],
        weight=1.4,
    ),
    Goal(
        "create_event",
        {"calendar_id": Ref("calendar"), "title": Words((NEW_TITLES,)), "day": Ref("event_day"), "time": Clock(7, 19)},
        [
            "put {title} into {calendar_id} at {time} on {day}",
            "add {title} to {calendar_id} at {time} on {day}",
            "schedule {title} in {calendar_id}, on {day}, at {time}",
            "create an event called {title} in {calendar_id}, starting at {time} on {day}",
        ],
        weight=0.7,
    ),
    Goal(
        "rename_event",
        {"event_id": Ref("event"), "title": Words((NEW_TITLES,))},
        [
            "rename {event_id} to {title}",
            "change the title of {event_id} to {title}",
            "let {event_id} be called {title} from now on",
            "give {event_id} the title {title}",
        ],
    ),
    Goal(
        "move_event",
        {"event_id": Ref("event"), "day": Day(1, 18), "time": Clock(7, 19)},
        [
            "move {event_id} to {day} at {time}",
            "reschedule {event_id} to {time} on {day}",
            "shift {event_id} to {day}, {time}",
            "change {event_id} so that it starts on {day} at {time}",
        ],
        needs_state={"event_id": {"repeats": "once"}},
        weight=1.3,
    ),
    Goal(
        "resize_event",
        {"event_id": Ref("event"), "minutes": Choice({15: "15", 20: "20", 30: "30", 40: "40", 45: "45", 50: "50"})},
        [
            "make {event_id} last {minutes} minutes",
            "change the length of {event_id} to {minutes} minutes",
            "set the duration of {event_id} to {minutes} minutes",
            "let {event_id} take {minutes} minutes",
        ],
    ),
    Goal(
        "mark_event",
        {"event_id": Ref("event"), "show": Constant("free")},
        [
            "mark {event_id} as free",
            "show me as free during {event_id}",
            "set {event_id} to free so that it does not block my time",
            "let {event_id} count as free time",
        ],
        weight=0.7,
    ),
    Goal(
        "change_calendar",
        {"event_id": Ref("event"), "calendar_id": Ref("calendar")},
        [
            "put {event_id} into {calendar_id} instead",
            "move {event_id} over to {calendar_id}",
            "file {event_id} under {calendar_id}",
            "switch {event_id} to {calendar_id}",
        ],
    ),
    Goal(
        "delete_event",
        {"event_id": Ref("event")},
        [
            "delete {event_id}",
            "take {event_id} off my calendar",
            "remove {event_id} completely",
            "call off {event_id} and delete it",
            "erase {event_id}",
        ],
    ),
    # repetition
    Goal(
        "repeat_event",
        {
            "event_id": Ref("event"),
            "rule": Constant({"every": Choice({"day": "day", "week": "week", "month": "month"}), "times": Number(2, 5)}),
        },
        [
            "repeat {event_id} every {rule.every}, {rule.times} times in all",
            "make {event_id} happen every {rule.every} for a total of {rule.times} times",
            "let {event_id} recur every {rule.every}, {rule.times} occurrences altogether",
            "turn {event_id} into a series, once a {rule.every}, {rule.times} times",
        ],
        needs_state={"event_id": {"repeats": "once"}},
    ),
    Goal(
        "stop_repeating",
        {"event_id": Ref("event")},
        [
            "stop {event_id} from repeating",
            "end the repetition of {event_id}",
            "keep only the next occurrence of {event_id} and end its series",
            "make {event_id} a single event again",
        ],
        needs_state={"event_id": {"repeats": "week"}},
        weight=0.7,
    ),
    Goal(
        "get_next_occurrence",
        {"event_id": Ref("event")},
        [
            "tell me on what day the next occurrence of {event_id} falls",
            "what day is the next occurrence of {event_id}",
            "what date does the next occurrence of {event_id} fall on",
            "look up the date of the next occurrence of {event_id}",
        ],
        answer="/day",
        needs_state={"event_id": {"repeats": "week"}},
        weight=0.5,
    ),
    Goal(
        "move_occurrence",
        {"occurrence_id": Ref("occurrence"), "day": Day(1, 18), "time": Clock(7, 19)},
        [
            "move {occurrence_id} to {day} at {time}",
            "reschedule {occurrence_id} to {time} on {day}",
            "shift {occurrence_id} to {day}, {time}",
            "put {occurrence_id} on {day} at {time} instead",
        ],
    ),
    Goal(
        "cancel_occurrence",
        {"occurrence_id": Ref("occurrence")},
        [
            "cancel {occurrence_id}",
            "call off {occurrence_id}",
            "drop {occurrence_id} and keep the rest of the series",
            "skip {occurrence_id}",
        ],
        weight=1.2,
    ),
    # reminders
    Goal(
        "get_reminder",
        {"event_id": Ref("event")},
        [
            "tell me how many minutes ahead the reminder for {event_id} comes",
            "how many minutes before {event_id} am I reminded",
            "what is the lead time of the reminder for {event_id} in minutes",
            "look up how early the reminder for {event_id} comes",
        ],
        answer="/minutes",
        weight=0.5,
    ),
    Goal(
        "add_reminder",
        {"event_id": Ref("event"), "minutes": Number(5, 60, 5)},
        [
            "remind me {minutes} minutes before {event_id}",
            "add a reminder to {event_id}, {minutes} minutes ahead",
            "set a reminder {minutes} minutes before {event_id}",
            "give {event_id} a reminder {minutes} minutes before it starts",
        ],
    ),
    Goal(
        "change_reminder",
        {"reminder_id": Ref("reminder"), "minutes": Choice({20: "20", 25: "25", 40: "40", 45: "45", 90: "90", 120: "120"})},
        [
            "change {reminder_id} to {minutes} minutes ahead",
            "let {reminder_id} come {minutes} minutes before",
            "set {reminder_id} to {minutes} minutes before the start",
            "adjust {reminder_id} so that it comes {minutes} minutes early",
        ],
    ),
    Goal(
        "delete_reminder",
        {"reminder_id": Ref("reminder")},
        [
            "delete {reminder_id}",
            "turn off {reminder_id}",
            "remove {reminder_id}",
            "drop {reminder_id} because I do not need it",
        ],
    ),
]
