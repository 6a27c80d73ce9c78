"""Goals of the calendar grammar: colleagues, rooms, invitations, working hours and the home zone."""

from __future__ import annotations

from tasks.synthesize.grammar import Choice, Clock, Constant, Day, Goal, Number, Ref
from tasks.synthesize.grammar.calendar_events import ZONES

EARLY = Choice({"monday": "Monday", "tuesday": "Tuesday", "wednesday": "Wednesday"})
LATE = Choice({"thursday": "Thursday", "friday": "Friday", "saturday": "Saturday"})
WORKDAYS = Choice({**EARLY.options, "thursday": "Thursday", "friday": "Friday"})
HALF_HOURS = Choice({30: "30", 60: "60", 90: "90"})

PEOPLE_GOALS = [
    # colleagues
    Goal(
        "get_colleague",
        {"colleague_id": Ref("colleague")},
        [
            "tell me the e-mail address of {colleague_id}",
            "what is the e-mail address of {colleague_id}",
            "look up the e-mail address of {colleague_id}",
            "which e-mail address does {colleague_id} have",
        ],
        answer="/email",
    ),
    Goal(
        "get_colleague",
        {"colleague_id": Ref("colleague")},
        [
            "tell me what time zone {colleague_id} is in",
            "what time zone is {colleague_id} in",
            "look up the time zone of {colleague_id}",
            "which time zone does {colleague_id} work in",
        ],
        answer="/zone",
        weight=0.7,
    ),
    Goal(
        "check_colleague",
        {"colleague_id": Ref("colleague"), "day": Day(1, 14), "time": Clock(8, 17), "minutes": HALF_HOURS},
        [
            "tell me whether {colleague_id} is free on {day} at {time} for {minutes} minutes",
            "is {colleague_id} free on {day} at {time} for {minutes} minutes",
            "does {colleague_id} have {minutes} minutes on {day} at {time}",
            "check if {colleague_id} has time for {minutes} minutes on {day} at {time}",
        ],
        answer="/free",
    ),
    Goal(
        "check_colleague",
        {"colleague_id": Ref("colleague"), "time": Ref("event_start"), "day": Ref("event_day")},
        [
            "tell me whether {colleague_id} is free at {time}",
            "is {colleague_id} free at {time}",
            "does {colleague_id} have time at {time}",
            "check if {colleague_id} is free at {time}",
        ],
        answer="/free",
        weight=0.6,
    ),
    Goal(
        "invite_colleagues",
        {"event_id": Ref("event"), "colleague_ids": Constant([Ref("colleague")])},
        [
            "invite {colleague_ids.0} to {event_id}",
            "add {colleague_ids.0} to {event_id}",
            "ask {colleague_ids.0} to join {event_id}",
            "put {colleague_ids.0} on the list of attendees of {event_id}",
        ],
        weight=1.3,
    ),
    Goal(
        "invite_colleagues",
        {"event_id": Ref("event"), "colleague_ids": Constant([Ref("colleague"), Ref("colleague")])},
        [
            "invite both {colleague_ids.0} and {colleague_ids.1} to {event_id}",
            "add {colleague_ids.0} and {colleague_ids.1} to {event_id}",
            "ask {colleague_ids.0} and also {colleague_ids.1} to join {event_id}",
            "bring {colleague_ids.0} and {colleague_ids.1} into {event_id}",
        ],
        weight=0.7,
    ),
    Goal(
        "list_attendees",
        {"event_id": Ref("event")},
        [
            "tell me who the one colleague at {event_id} is",
            "which colleague attends {event_id}",
            "who is coming to {event_id} besides me",
            "look up the name of the colleague who attends {event_id}",
        ],
        answer="/0/name",
        needs_state={"event_id": {"attendees": 1}},
        weight=0.6,
    ),
    Goal(
        "find_free_time",
        {"colleague_ids": Constant([Ref("colleague")]), "day": Day(1, 12), "minutes": HALF_HOURS},
        [
            "tell me the first time on {day} when {colleague_ids.0} and I are both free for {minutes} minutes",
            "when on {day} can I first meet {colleague_ids.0} for {minutes} minutes",
            "what is the earliest time on {day} for {minutes} minutes with {colleague_ids.0}",
            "find the first free time on {day} for {colleague_ids.0} and me, {minutes} minutes long",
        ],
        answer="/time",
        weight=0.8,
    ),
    Goal(
        "find_free_time",
        {"colleague_ids": Constant([Ref("colleague"), Ref("colleague")]), "day": Day(1, 12), "minutes": HALF_HOURS},
        [
            "tell me when {colleague_ids.0}, {colleague_ids.1} and I first have {minutes} minutes together on {day}",
            "when on {day} are {colleague_ids.0}, {colleague_ids.1} and I first all free for {minutes} minutes",
            "what is the earliest time on {day} for {minutes} minutes with {colleague_ids.0} and {colleague_ids.1}",
            "find the first {minutes} minutes on {day} when {colleague_ids.0} and {colleague_ids.1} can meet me",
        ],
        answer="/time",
        weight=0.6,
    ),
    # rooms
    Goal(
        "get_room",
        {"room_id": Ref("room")},
        [
            "tell me how many seats {room_id} has",
            "how many people fit into {room_id}",
            "what is the number of seats in {room_id}",
            "look up how many seats there are in {room_id}",
        ],
        answer="/seats",
    ),
    Goal(
        "get_room",
        {"room_id": Ref("room")},
        [
            "tell me what floor {room_id} is on",
            "which floor is {room_id} on",
            "what floor do I have to go to for {room_id}",
            "look up the floor of {room_id}",
        ],
        answer="/floor",
    ),
    Goal(
        "get_event_room",
        {"event_id": Ref("event")},
        [
            "tell me the name of the room for {event_id}",
            "which room is {event_id} in",
            "what is the room of {event_id} called",
            "where does {event_id} take place",
        ],
        answer="/name",
    ),
    Goal(
        "list_rooms",
        {"seats": Number(2, 12)},
        [
            "tell me which is the smallest room that seats {seats}",
            "what is the smallest room with at least {seats} seats called",
            "which room is the smallest one that has {seats} seats or more",
            "look up the name of the smallest room for {seats} people",
        ],
        answer="/0/name",
        weight=0.5,
    ),
    Goal(
        "check_room",
        {"room_id": Ref("room"), "day": Day(1, 14), "time": Clock(8, 17), "minutes": HALF_HOURS},
        [
            "tell me whether {room_id} is free on {day} at {time} for {minutes} minutes",
            "is {room_id} free on {day} at {time} for {minutes} minutes",
            "find out whether I can have {room_id} for {minutes} minutes on {day} at {time}",
            "check if nobody uses {room_id} on {day} at {time} for {minutes} minutes",
        ],
        answer="/free",
    ),
    Goal(
        "find_free_room",
        {"seats": Number(3, 12), "day": Day(1, 14), "time": Clock(8, 17)},
        [
            "find me a free room with {seats} seats on {day} at {time}, and tell me its name",
            "which room for {seats} people is free on {day} at {time}",
            "what is the smallest room with {seats} seats that is free on {day} at {time}",
            "look for a room that seats {seats} and is free on {day} at {time}, and tell me what it is called",
        ],
        answer="/name",
        weight=0.5,
    ),
    Goal(
        "book_room",
        {"event_id": Ref("event"), "room_id": Ref("room")},
        [
            "book {room_id} for {event_id}",
            "reserve {room_id} for {event_id}",
            "let {event_id} take place in {room_id}",
            "make {room_id} the room of {event_id}",
            "hold {event_id} in {room_id}",
        ],
        weight=1.2,
    ),
    Goal(
        "release_room",
        {"event_id": Ref("event")},
        [
            "give back the room of {event_id}",
            "release the room that is booked for {event_id}",
            "cancel the room booking for {event_id}",
            "free up the room of {event_id} because we meet online",
        ],
    ),
    # invitations
    Goal(
        "list_invitations",
        {},
        [
            "tell me the title of the soonest invitation that I have not answered",
            "what is the soonest pending invitation about",
            "which event is my soonest pending invitation for",
            "look up the title of the earliest invitation still waiting for an answer",
        ],
        answer="/0/title",
        weight=0.3,
    ),
    Goal(
        "get_invitation",
        {"colleague_id": Ref("colleague")},
        [
            "tell me what {colleague_id} has invited me to",
            "what did {colleague_id} invite me to",
            "which event is the invitation from {colleague_id} for",
            "look up the title of the invitation from {colleague_id}",
        ],
        answer="/title",
        weight=0.6,
    ),
    Goal(
        "accept_invitation",
        {"invitation_id": Ref("invitation"), "calendar_id": Ref("calendar")},
        [
            "accept {invitation_id} and put it into {calendar_id}",
            "say yes to {invitation_id} and keep it in {calendar_id}",
            "accept {invitation_id} with {calendar_id} as its calendar",
            "take up {invitation_id} and file it in {calendar_id}",
        ],
        weight=1.2,
    ),
    Goal(
        "decline_invitation",
        {"invitation_id": Ref("invitation")},
        [
            "decline {invitation_id}",
            "say no to {invitation_id}",
            "turn down {invitation_id}",
            "refuse {invitation_id}",
        ],
    ),
    # working hours and zones
    Goal(
        "get_hours",
        {"weekday": WORKDAYS},
        [
            "tell me when I stop working on {weekday}",
            "when do my working hours end on {weekday}",
            "what time is the end of my working day on {weekday}",
            "look up when my working hours end on {weekday}",
        ],
        answer="/end",
        weight=0.5,
    ),
    Goal(
        "get_hours",
        {"weekday": WORKDAYS},
        [
            "tell me when I start working on {weekday}",
            "when do my working hours begin on {weekday}",
            "what time does my working day start on {weekday}",
            "look up when my working hours begin on {weekday}",
        ],
        answer="/start",
        weight=0.4,
    ),
    Goal(
        "set_hours",
        {"weekdays": Constant([EARLY, LATE]), "start": Clock(7, 11), "end": Clock(15, 20)},
        [
            "set my working hours on {weekdays.0} and {weekdays.1} to {start} until {end}",
            "change my working hours to {start} until {end} on {weekdays.0} and {weekdays.1}",
            "let me work from {start} to {end} on {weekdays.0} and {weekdays.1}",
            "make my working hours {start} to {end} on {weekdays.0} and {weekdays.1}",
        ],
        weight=0.7,
    ),
    Goal(
        "get_home_zone",
        {},
        [
            "tell me which time zone my calendar is set to",
            "what time zone is my calendar in",
            "which time zone am I set to",
            "look up my own time zone setting",
        ],
        answer="/zone",
        weight=0.3,
    ),
    Goal(
        "set_home_zone",
        {"zone": ZONES},
        [
            "set my time zone to {zone}",
            "switch my calendar to {zone} time",
            "change my own time zone to {zone}",
            "show my calendar in {zone} time from now on",
        ],
        weight=0.5,
    ),
    Goal(
        "set_home_zone",
        {"zone": Ref("colleague_zone")},
        [
            "set my time zone to {zone}",
            "switch my calendar to {zone}",
            "change my own time zone to {zone}",
            "show my calendar in {zone} from now on",
        ],
        weight=0.6,
    ),
]
