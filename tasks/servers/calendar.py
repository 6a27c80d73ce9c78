"""The calendar server: calendars, events and their occurrences, rooms, invitations, reminders, working hours and zones.

    with environment(["calendar"]).session(7) as session:
        session.call("find_event", {"title": "Budget Review"})

A day and a time are always local to the user's home zone, unless a tool takes a zone. Every event has at
least one planned occurrence, and no call may double-book: neither the user (events shown as free aside), nor
a room, nor a colleague. Nothing can be placed in the past or over HORIZON ahead.

Left out: all-day events, and colleagues who answer: whom the user invites attends.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import replace

from tasks.servers import calendar_types as cal
from tasks.servers.calendar_data import seed_rows
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
    day_and_time,
    expand,
    moment_of,
    overlapping,
    stored,
)
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Date, Limit, Time, date_of, plain, time_of
from tasks.servers.world import World

HORIZON = dt.timedelta(days=400)
MOST_EVENTS = 60
"""More would fill the numbers of identifiers, and no user's calendar is searched by a small model beyond that."""


class CalendarServer(Server):
    """One user's calendars."""

    name = "calendar"
    title = "Calendars, events, rooms, invitations and reminders of one user."

    calendars: Table[Calendar]
    events: Table[Event]
    occurrences: Table[Occurrence]
    colleagues: Table[Colleague]
    rooms: Table[Room]
    blocks: Table[Block]
    invitations: Table[Invitation]
    reminders: Table[Reminder]
    hours: Table[Hours]
    home: Table[Home]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- calendars -----------------------------------------------------------------------------

    @tool(read_only=True)
    def find_calendar(self, name: cal.KnownName) -> cal.CalendarFound:
        """Finds a calendar by its name."""
        return {"calendar_id": named(self.calendars.values(), name, "calendar", "list_calendars").calendar_id}

    @tool(read_only=True)
    def list_calendars(self, limit: Limit = 5) -> list[cal.CalendarShown]:
        """Lists the user's calendars."""
        return [{"calendar_id": r.calendar_id, "name": r.name} for r in list(self.calendars.values())[: int(limit)]]

    @tool(read_only=True)
    def get_calendar(self, calendar_id: cal.CalendarId) -> cal.CalendarDetails:
        """How many events a calendar has."""
        self._calendar(calendar_id)
        return {"calendar_id": calendar_id, "events": len(self._events_of(calendar_id))}

    @tool()
    def create_calendar(self, name: cal.NewName) -> cal.CalendarFound:
        """Creates an empty calendar."""
        name = unused(self.calendars.values(), name, "calendar")
        key = self.calendars.fresh("cal", name)
        self.calendars.put(key, Calendar(key, name))
        return {"calendar_id": key}

    @tool(destructive=True)
    def delete_calendar(self, calendar_id: cal.CalendarId) -> cal.CalendarGone:
        """Deletes a calendar that has no events."""
        self._calendar(calendar_id)
        if self._events_of(calendar_id):
            raise ToolError("wrong_state", f"{calendar_id} still has events", "Use delete_event or change_calendar first.")
        self.calendars.remove(calendar_id)
        return {"calendar_id": calendar_id, "deleted": True}

    # -- reading events ------------------------------------------------------------------------

    @tool(read_only=True)
    def find_event(self, title: cal.KnownTitle) -> cal.EventFound:
        """Finds an event by its title."""
        row = named(self.events.values(), title, "event", "list_events")
        return {"event_id": row.event_id, "calendar_id": row.calendar_id}

    @tool(read_only=True)
    def list_events(self, limit: Limit = 5) -> list[cal.EventShown]:
        """Lists events of all calendars, the soonest first."""
        rows = self._soonest(self.events.values())[: int(limit)]
        return [{"event_id": r.event_id, "title": r.name, "calendar_id": r.calendar_id} for r in rows]

    @tool(read_only=True)
    def list_calendar_events(self, calendar_id: cal.CalendarId, limit: Limit = 5) -> list[cal.EventRow]:
        """Lists the events of one calendar, the soonest first."""
        self._calendar(calendar_id)
        return [self._shown(self._next(r.event_id)) for r in self._soonest(self._events_of(calendar_id))[: int(limit)]]

    @tool(read_only=True)
    def list_agenda(self, day: Date, limit: Limit = 5) -> list[cal.EventRow]:
        """Lists what is planned on a day, in the order of time."""
        wanted = date_of(day).isoformat()
        rows = [r for r in self._planned() if day_and_time(r.start, self._home())[0] == wanted]
        return [self._shown(r) for r in _by_time(rows)[: int(limit)]]

    @tool(read_only=True)
    def get_next_event(self) -> cal.EventRow:
        """The user's next event."""
        rows = _by_time(self._planned())
        if not rows:
            raise ToolError("not_found", "nothing is planned", "create_event plans something.")
        return self._shown(rows[0])

    @tool(read_only=True)
    def get_event(self, event_id: cal.EventId) -> cal.EventDetails:
        """When an event is next, how long it takes, how it repeats, and how many colleagues attend."""
        row = self._event(event_id)
        day, time = day_and_time(self._next(event_id).start, self._home())
        return {
            "event_id": event_id,
            "day": day,
            "time": time,
            "minutes": row.minutes,
            "repeats": row.repeats,
            "attendees": len(row.attendees),
        }

    @tool(read_only=True)
    def get_event_time(self, event_id: cal.EventId, zone: cal.Zone) -> cal.EventTime:
        """When an event is next, in local time of a zone."""
        self._event(event_id)
        day, time = day_and_time(self._next(event_id).start, zone)
        return {"event_id": event_id, "day": day, "time": time}

    # -- writing events ------------------------------------------------------------------------

    @tool()
    def create_event(
        self,
        calendar_id: cal.CalendarId,
        title: cal.NewTitle,
        day: Date,
        time: Time,
        minutes: cal.Minutes = 30,
        show: cal.Show = "busy",
    ) -> cal.EventMade:
        """Plans an event in a calendar, where the user is free."""
        self._calendar(calendar_id)
        title, start = unused(self.events.values(), title, "event"), self._moment(day, time)
        key = self.events.fresh("evt", calendar_id, title, start.isoformat(), int(minutes))
        self._put(Event(key, calendar_id, title, int(minutes), show=show), start)
        return {"event_id": key, "day": day, "time": time}

    @tool(idempotent=True)
    def rename_event(self, event_id: cal.EventId, title: cal.NewTitle) -> cal.EventNamed:
        """Changes the title of an event."""
        row = self._event(event_id)
        if plain(title, "title").casefold() != row.name.casefold():
            unused(self.events.values(), title, "event")
        row = self.events.update(event_id, name=plain(title, "title"))
        return {"event_id": event_id, "title": row.name}

    @tool()
    def move_event(self, event_id: cal.EventId, day: Date, time: Time) -> cal.EventTime:
        """Moves an event to another day and time; a repeating one with all its occurrences."""
        row, start = self._event(event_id), self._moment(day, time)
        planned = self._planned_of(event_id)
        starts = expand(start, row.repeats, len(planned), self._home())
        length = dt.timedelta(minutes=row.minutes)
        self._check_free(row, [(s, s + length) for s in starts], {r.occurrence_id for r in planned})
        for occurrence, first in zip(planned, starts, strict=True):
            self.occurrences.update(occurrence.occurrence_id, start=first, end=first + length)
        return {"event_id": event_id, "day": day, "time": time}

    @tool(idempotent=True)
    def resize_event(self, event_id: cal.EventId, minutes: cal.Minutes) -> cal.EventLength:
        """Changes how long an event takes, from the same start."""
        row, planned = self._event(event_id), self._planned_of(event_id)
        length = dt.timedelta(minutes=int(minutes))
        slots = [(r.start, r.start + length) for r in planned]
        if any(overlapping(slots[:number], *slot) for number, slot in enumerate(slots)):
            raise ToolError("conflict", f"occurrences of {event_id} would overlap", "Choose a shorter time.")
        self._check_free(row, slots, {r.occurrence_id for r in planned})
        self.events.update(event_id, minutes=int(minutes))
        for occurrence in planned:
            self.occurrences.update(occurrence.occurrence_id, end=occurrence.start + length)
        return {"event_id": event_id, "minutes": int(minutes)}

    @tool(idempotent=True)
    def mark_event(self, event_id: cal.EventId, show: cal.Show) -> cal.EventShow:
        """Marks an event as taking up the user's time (busy) or not (free)."""
        row = self._event(event_id)
        self._recheck(replace(row, show=show))
        self.events.update(event_id, show=show)
        return {"event_id": event_id, "show": show}

    @tool(idempotent=True)
    def change_calendar(self, event_id: cal.EventId, calendar_id: cal.CalendarId) -> cal.EventFound:
        """Puts an event into another calendar."""
        self._event(event_id)
        self._calendar(calendar_id)
        self.events.update(event_id, calendar_id=calendar_id)
        return {"event_id": event_id, "calendar_id": calendar_id}

    @tool(destructive=True)
    def delete_event(self, event_id: cal.EventId) -> cal.EventGone:
        """Deletes an event with all its occurrences and its reminder."""
        self._event(event_id)
        for table in (self.occurrences, self.reminders):
            for key in [key for key, row in table.items() if row.event_id == event_id]:
                table.remove(key)
        self.events.remove(event_id)
        return {"event_id": event_id, "deleted": True}

    # -- recurrence ----------------------------------------------------------------------------

    @tool()
    def repeat_event(self, event_id: cal.EventId, rule: cal.RuleArgument) -> cal.EventRepeats:
        """Makes an event that happens once repeat by a rule."""
        row = self._event(event_id)
        if row.repeats != "once":
            raise ToolError("wrong_state", f"{event_id} repeats already", "Use stop_repeating first.")
        starts = expand(self._next(event_id).start, rule["every"], int(rule["times"]), self._home())[1:]
        length = dt.timedelta(minutes=row.minutes)
        self._check_free(row, [(s, s + length) for s in starts], set())
        self.events.update(event_id, repeats=rule["every"])
        for start in starts:
            self._put_occurrence(event_id, start, length)
        return {"event_id": event_id, "occurrences": len(starts) + 1}

    @tool(destructive=True)
    def stop_repeating(self, event_id: cal.EventId) -> cal.EventRepeats:
        """Ends the repetition of an event: only its next occurrence stays."""
        if self._event(event_id).repeats == "once":
            raise ToolError("wrong_state", f"{event_id} does not repeat", "Use delete_event to take it off.")
        kept = self._next(event_id).occurrence_id
        for key in [key for key, row in self.occurrences.items() if row.event_id == event_id and key != kept]:
            self.occurrences.remove(key)
        self.events.update(event_id, repeats="once")
        return {"event_id": event_id, "occurrences": 1}

    @tool(read_only=True)
    def get_next_occurrence(self, event_id: cal.EventId) -> cal.NextOccurrence:
        """The next occurrence of an event that repeats."""
        if self._event(event_id).repeats == "once":
            raise ToolError("wrong_state", f"{event_id} does not repeat", "get_event shows when it is.")
        row = self._next(event_id)
        day, time = day_and_time(row.start, self._home())
        return {"occurrence_id": row.occurrence_id, "event_id": event_id, "day": day, "time": time}

    @tool(read_only=True)
    def list_occurrences(self, event_id: cal.EventId, since: Date, limit: Limit = 5) -> list[cal.OccurrenceRow]:
        """Lists the occurrences of an event from a day on, cancelled ones too."""
        self._event(event_id)
        first = stored(dt.datetime.combine(date_of(since), dt.time()), self._home())
        rows = _by_time(self.occurrences.where(lambda r: r.event_id == event_id and r.start >= first))[: int(limit)]
        found: list[cal.OccurrenceRow] = []
        for row in rows:
            day, time = day_and_time(row.start, self._home())
            found.append({"occurrence_id": row.occurrence_id, "day": day, "time": time, "status": row.status})
        return found

    @tool()
    def move_occurrence(self, occurrence_id: cal.OccurrenceId, day: Date, time: Time) -> cal.OccurrenceMoved:
        """Moves one occurrence of an event and leaves the others."""
        row, start = self._occurrence(occurrence_id, "planned"), self._moment(day, time)
        end = start + (row.end - row.start)
        self._check_free(self.events[row.event_id], [(start, end)], {occurrence_id})
        self.occurrences.update(occurrence_id, start=start, end=end)
        return {"occurrence_id": occurrence_id, "day": day, "time": time}

    @tool()
    def cancel_occurrence(self, occurrence_id: cal.OccurrenceId) -> cal.OccurrenceState:
        """Cancels one occurrence of an event and leaves the others."""
        row = self._occurrence(occurrence_id, "planned")
        if len(self._planned_of(row.event_id)) == 1:
            raise ToolError("wrong_state", f"{occurrence_id} is the only one planned", f"Use delete_event on {row.event_id}.")
        self.occurrences.update(occurrence_id, status="cancelled")
        return {"occurrence_id": occurrence_id, "status": "cancelled"}

    @tool()
    def restore_occurrence(self, occurrence_id: cal.OccurrenceId) -> cal.OccurrenceState:
        """Takes back the cancellation of an occurrence, if its time is still free."""
        row = self._occurrence(occurrence_id, "cancelled")
        event = self.events[row.event_id]
        end = row.start + dt.timedelta(minutes=event.minutes)
        self._check_free(event, [(row.start, end)], set())
        self.occurrences.update(occurrence_id, status="planned", end=end)
        return {"occurrence_id": occurrence_id, "status": "planned"}

    # -- colleagues ----------------------------------------------------------------------------

    @tool(read_only=True)
    def find_colleague(self, name: cal.KnownName) -> cal.ColleagueFound:
        """Finds a colleague by full name."""
        return {"colleague_id": named(self.colleagues.values(), name, "colleague", "list_colleagues").colleague_id}

    @tool(read_only=True)
    def list_colleagues(self, limit: Limit = 5) -> list[cal.ColleagueShown]:
        """Lists colleagues."""
        return [{"colleague_id": r.colleague_id, "name": r.name} for r in list(self.colleagues.values())[: int(limit)]]

    @tool(read_only=True)
    def get_colleague(self, colleague_id: cal.ColleagueId) -> cal.ColleagueDetails:
        """The e-mail address and the time zone of a colleague."""
        row = self._colleague(colleague_id)
        return {"colleague_id": row.colleague_id, "email": row.email, "zone": row.zone}

    @tool(read_only=True)
    def check_colleague(
        self, colleague_id: cal.ColleagueId, day: Date, time: Time, minutes: cal.Minutes = 30
    ) -> cal.ColleagueFree:
        """Whether a colleague is free at a time."""
        self._colleague(colleague_id)
        start = self._moment(day, time)
        free = not overlapping(self._taken_by({colleague_id}), start, _end(start, minutes))
        return {"colleague_id": colleague_id, "free": free}

    @tool()
    def invite_colleagues(self, event_id: cal.EventId, colleague_ids: cal.Colleagues) -> cal.EventAttendees:
        """Adds colleagues who are free then to an event."""
        row = self._event(event_id)
        for colleague_id in colleague_ids:
            self._colleague(colleague_id)
            if colleague_id in row.attendees or colleague_ids.count(colleague_id) > 1:
                raise ToolError("conflict", f"{colleague_id} is in already, or named twice", "Name each new colleague once.")
        attendees = tuple(sorted((*row.attendees, *colleague_ids)))
        self._check_seats(row.room_id, attendees)
        self._recheck(replace(row, attendees=attendees))
        self.events.update(event_id, attendees=attendees)
        return {"event_id": event_id, "attendees": len(attendees)}

    @tool()
    def drop_attendee(self, event_id: cal.EventId, colleague_id: cal.ColleagueId) -> cal.EventAttendees:
        """Takes a colleague off an event."""
        row = self._event(event_id)
        self._colleague(colleague_id)
        if colleague_id not in row.attendees:
            raise ToolError("not_found", f"{colleague_id} does not attend {event_id}", "list_attendees shows who does.")
        attendees = tuple(key for key in row.attendees if key != colleague_id)
        self.events.update(event_id, attendees=attendees)
        return {"event_id": event_id, "attendees": len(attendees)}

    @tool(read_only=True)
    def list_attendees(self, event_id: cal.EventId) -> list[cal.ColleagueShown]:
        """Lists the colleagues who attend an event."""
        return [{"colleague_id": key, "name": self.colleagues[key].name} for key in self._event(event_id).attendees]

    @tool(read_only=True)
    def find_free_time(self, colleague_ids: cal.Colleagues, day: Date, minutes: cal.Minutes = 30) -> cal.FreeTime:
        """The first time of a day, within working hours, when the user and all these colleagues are free."""
        for colleague_id in colleague_ids:
            self._colleague(colleague_id)
        wanted = date_of(day)
        hours = self._hours(WEEKDAYS[wanted.weekday()])
        taken = [*self._taken_by(set(colleague_ids)), *((r.start, r.end) for r in self._planned() if self._busy(r))]
        start = self._stored(dt.datetime.combine(wanted, time_of(hours.start)))
        last = self._stored(dt.datetime.combine(wanted, time_of(hours.end)))
        while _end(start, minutes) <= last:
            if start > self.now and not overlapping(taken, start, _end(start, minutes)):
                return {"time": day_and_time(start, self._home())[1]}
            start += dt.timedelta(minutes=15)
        raise ToolError("not_found", f"no common free time on {day.strip()}", "Try another day or a shorter time.")

    # -- rooms ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_room(self, name: cal.KnownName) -> cal.RoomFound:
        """Finds a meeting room by its name."""
        return {"room_id": named(self.rooms.values(), name, "room", "list_rooms").room_id}

    @tool(read_only=True)
    def list_rooms(self, seats: cal.Seats = 1, limit: Limit = 5) -> list[cal.RoomShown]:
        """Lists meeting rooms with enough seats, the smallest first."""
        rows = sorted(self.rooms.where(lambda r: r.seats >= seats), key=lambda r: (r.seats, r.room_id))[: int(limit)]
        return [{"room_id": r.room_id, "name": r.name} for r in rows]

    @tool(read_only=True)
    def get_room(self, room_id: cal.RoomId) -> cal.RoomDetails:
        """The seats and the floor of a room."""
        row = self._room(room_id)
        return {"room_id": row.room_id, "seats": row.seats, "floor": row.floor}

    @tool(read_only=True)
    def get_event_room(self, event_id: cal.EventId) -> cal.EventRoom:
        """The room of an event."""
        room_id = self._event(event_id).room_id
        if not room_id:
            raise ToolError("not_found", f"{event_id} has no room", "book_room gives it one.")
        return {"room_id": room_id, "event_id": event_id, "name": self.rooms[room_id].name}

    @tool(read_only=True)
    def check_room(self, room_id: cal.RoomId, day: Date, time: Time, minutes: cal.Minutes = 30) -> cal.RoomFree:
        """Whether a room is free at a time."""
        self._room(room_id)
        start = self._moment(day, time)
        return {"room_id": room_id, "free": not overlapping(self._taken_by({room_id}), start, _end(start, minutes))}

    @tool(read_only=True)
    def find_free_room(self, seats: cal.Seats, day: Date, time: Time, minutes: cal.Minutes = 30) -> cal.RoomShown:
        """The smallest room with enough seats that is free at a time."""
        start = self._moment(day, time)
        for row in sorted(self.rooms.where(lambda r: r.seats >= seats), key=lambda r: (r.seats, r.room_id)):
            if not overlapping(self._taken_by({row.room_id}), start, _end(start, minutes)):
                return {"room_id": row.room_id, "name": row.name}
        raise ToolError("not_found", f"no room with {int(seats)} seats is free then", "Try another time or fewer seats.")

    @tool(idempotent=True)
    def book_room(self, event_id: cal.EventId, room_id: cal.RoomId) -> cal.RoomBooked:
        """Books a free room with enough seats for an event, in place of the room that it had."""
        row, room = self._event(event_id), self._room(room_id)
        self._check_seats(room.room_id, row.attendees)
        self._recheck(replace(row, room_id=room_id))
        self.events.update(event_id, room_id=room_id)
        return {"event_id": event_id, "room_id": room_id}

    @tool()
    def release_room(self, event_id: cal.EventId) -> cal.RoomReleased:
        """Gives back the room of an event."""
        if not self._event(event_id).room_id:
            raise ToolError("wrong_state", f"{event_id} has no room", "Nothing is left to do.")
        self.events.update(event_id, room_id="")
        return {"event_id": event_id, "released": True}

    # -- invitations ---------------------------------------------------------------------------

    @tool(read_only=True)
    def list_invitations(self, status: cal.AskedStatus = "pending", limit: Limit = 5) -> list[cal.InvitationShown]:
        """Lists invitations by colleagues, the soonest first."""
        rows = sorted(self.invitations.where(lambda r: r.status == status), key=lambda r: (r.start, r.invitation_id))
        found = rows[: int(limit)]
        return [{"invitation_id": r.invitation_id, "colleague_id": r.colleague_id, "title": r.name} for r in found]

    @tool(read_only=True)
    def get_invitation(self, colleague_id: cal.ColleagueId) -> cal.InvitationFound:
        """The pending invitation by a colleague: to what, and when."""
        self._colleague(colleague_id)
        rows = self.invitations.where(lambda r: r.colleague_id == colleague_id and r.status == "pending")
        if not rows:
            raise ToolError("not_found", f"no pending invitation by {colleague_id}", "list_invitations shows them.")
        day, time = day_and_time(rows[0].start, self._home())
        return {"invitation_id": rows[0].invitation_id, "title": rows[0].name, "day": day, "time": time}

    @tool()
    def accept_invitation(self, invitation_id: cal.InvitationId, calendar_id: cal.CalendarId) -> cal.EventFound:
        """Accepts a pending invitation and puts its event into a calendar, if the user is free then."""
        row = self._invitation(invitation_id)
        self._calendar(calendar_id)
        title = unused(self.events.values(), row.name, "event")
        minutes = int((row.end - row.start).total_seconds()) // 60
        key = self.events.fresh("evt", invitation_id)
        self._put(Event(key, calendar_id, title, minutes), row.start)
        self.invitations.update(invitation_id, status="accepted")
        return {"event_id": key, "calendar_id": calendar_id}

    @tool()
    def decline_invitation(self, invitation_id: cal.InvitationId) -> cal.InvitationState:
        """Declines a pending invitation."""
        self._invitation(invitation_id)
        self.invitations.update(invitation_id, status="declined")
        return {"invitation_id": invitation_id, "status": "declined"}

    # -- reminders -----------------------------------------------------------------------------

    @tool(read_only=True)
    def list_reminders(self, limit: Limit = 5) -> list[cal.ReminderShown]:
        """Lists reminders with their events."""
        return [{"reminder_id": r.reminder_id, "event_id": r.event_id} for r in list(self.reminders.values())[: int(limit)]]

    @tool(read_only=True)
    def get_reminder(self, event_id: cal.EventId) -> cal.ReminderFound:
        """The reminder of an event, and how many minutes before it comes."""
        self._event(event_id)
        rows = self.reminders.where(lambda r: r.event_id == event_id)
        if not rows:
            raise ToolError("not_found", f"{event_id} has no reminder", "add_reminder adds one.")
        return {"reminder_id": rows[0].reminder_id, "minutes": rows[0].minutes}

    @tool()
    def add_reminder(self, event_id: cal.EventId, minutes: cal.Lead = 15) -> cal.ReminderFound:
        """Adds a reminder to an event that has none."""
        self._event(event_id)
        if self.reminders.where(lambda r: r.event_id == event_id):
            raise ToolError("conflict", f"{event_id} has a reminder", "Use get_reminder and change_reminder.")
        key = self.reminders.fresh("rem", event_id)
        self.reminders.put(key, Reminder(key, event_id, int(minutes)))
        return {"reminder_id": key, "minutes": int(minutes)}

    @tool(idempotent=True)
    def change_reminder(self, reminder_id: cal.ReminderId, minutes: cal.Lead) -> cal.ReminderFound:
        """Changes how many minutes before its event a reminder comes."""
        existing(self.reminders, reminder_id, "reminder", "list_reminders")
        self.reminders.update(reminder_id, minutes=int(minutes))
        return {"reminder_id": reminder_id, "minutes": int(minutes)}

    @tool(destructive=True)
    def delete_reminder(self, reminder_id: cal.ReminderId) -> cal.ReminderGone:
        """Deletes a reminder."""
        existing(self.reminders, reminder_id, "reminder", "list_reminders")
        self.reminders.remove(reminder_id)
        return {"reminder_id": reminder_id, "deleted": True}

    # -- working hours and zones ---------------------------------------------------------------

    @tool(read_only=True)
    def get_hours(self, weekday: cal.Weekday) -> cal.HoursShown:
        """The user's working hours on a weekday."""
        row = self._hours(weekday)
        return {"start": row.start, "end": row.end}

    @tool(idempotent=True)
    def set_hours(self, weekdays: cal.Weekdays, start: Time, end: Time) -> cal.HoursSet:
        """Sets the user's working hours on some weekdays."""
        if time_of(start) >= time_of(end):
            raise ToolError("invalid_value", f"{start} is not before {end}", "Give a start before the end.")
        for weekday in weekdays:
            self.hours.put(weekday, Hours(weekday, start, end))
        return {"days": len(set(weekdays)), "start": start, "end": end}

    @tool(read_only=True)
    def get_home_zone(self) -> cal.ZoneShown:
        """The time zone in which days and times are taken and shown."""
        return {"zone": self._home()}

    @tool(idempotent=True)
    def set_home_zone(self, zone: cal.Zone) -> cal.ZoneShown:
        """Changes the user's time zone. Events stay at the same moment."""
        self.home.put("home", Home(zone))
        return {"zone": zone}

    # -- shared by the tools -------------------------------------------------------------------

    def _home(self) -> cal.Zone:
        return self.home["home"].zone

    def _stored(self, moment: dt.datetime) -> dt.datetime:
        return stored(moment, self._home())

    def _moment(self, day: str, time: str) -> dt.datetime:
        """Arguments as a stored moment after now and within the horizon."""
        moment = moment_of(day, time, self._home())
        if moment <= self.now:
            now = " ".join(day_and_time(self.now, self._home()))
            raise ToolError("invalid_value", f"{day} {time} is past: it is {now}", "Give a later time.")
        if moment > self.now + HORIZON:
            raise ToolError("invalid_value", f"{day} is over {HORIZON.days} days ahead", "Give an earlier day.")
        return moment

    def _calendar(self, calendar_id: str) -> Calendar:
        return existing(self.calendars, calendar_id, "calendar", "list_calendars")

    def _event(self, event_id: str) -> Event:
        return existing(self.events, event_id, "event", "list_events")

    def _colleague(self, colleague_id: str) -> Colleague:
        return existing(self.colleagues, colleague_id, "colleague", "list_colleagues")

    def _room(self, room_id: str) -> Room:
        return existing(self.rooms, room_id, "room", "list_rooms")

    def _occurrence(self, occurrence_id: str, status: str) -> Occurrence:
        row = existing(self.occurrences, occurrence_id, "occurrence", "list_occurrences")
        if row.status != status:
            raise ToolError("wrong_state", f"{occurrence_id} is {row.status}", "list_occurrences shows their state.")
        return row

    def _invitation(self, invitation_id: str) -> Invitation:
        row = existing(self.invitations, invitation_id, "invitation", "list_invitations")
        if row.status != "pending":
            raise ToolError("wrong_state", f"{invitation_id} is {row.status} already", "list_invitations shows pending ones.")
        return row

    def _hours(self, weekday: cal.Weekday) -> Hours:
        row = self.hours.get(weekday)
        if row is None:
            raise ToolError("not_found", f"the user does not work on {weekday}", "Choose another day, or use set_hours.")
        return row

    def _events_of(self, calendar_id: str) -> list[Event]:
        return self.events.where(lambda r: r.calendar_id == calendar_id)

    def _planned(self) -> list[Occurrence]:
        return self.occurrences.where(lambda r: r.status == "planned")

    def _planned_of(self, event_id: str) -> list[Occurrence]:
        """The planned occurrences of an event in the order of time; at least one, always."""
        return _by_time(r for r in self.occurrences.values() if r.event_id == event_id and r.status == "planned")

    def _next(self, event_id: str) -> Occurrence:
        return self._planned_of(event_id)[0]

    def _soonest(self, events: Iterable[Event]) -> list[Event]:
        first: dict[str, dt.datetime] = {}
        for row in self._planned():
            first[row.event_id] = min(row.start, first.get(row.event_id, row.start))
        return sorted(events, key=lambda r: (first[r.event_id], r.event_id))

    def _shown(self, row: Occurrence) -> cal.EventRow:
        day, time = day_and_time(row.start, self._home())
        return {"event_id": row.event_id, "title": self.events[row.event_id].name, "day": day, "time": time}

    def _busy(self, row: Occurrence) -> bool:
        return self.events[row.event_id].show == "busy"

    def _taken_by(self, owners: Collection[str], skip: Collection[str] = ()) -> list[Slot]:
        """When any of these colleagues and rooms is taken, occurrences in `skip` aside."""
        slots = [(r.start, r.end) for r in self.blocks.values() if r.owner_id in owners]
        for row in self._planned():
            event = self.events[row.event_id]
            if row.occurrence_id not in skip and (event.room_id in owners or not set(owners).isdisjoint(event.attendees)):
                slots.append((row.start, row.end))
        return slots

    def _check_free(self, event: Event, slots: Iterable[Slot], skip: Collection[str]) -> None:
        """Refuses slots of `event` in which the user, its room or an attendee is taken by what is not in `skip`."""
        slots = list(slots)
        if event.show == "busy":
            for row in self._planned():
                if row.occurrence_id not in skip and self._busy(row) and overlapping(slots, row.start, row.end):
                    day, time = day_and_time(row.start, self._home())
                    clash = f"clashes with {row.event_id} on {day} at {time}"
                    raise ToolError("conflict", clash, "Choose another time; list_agenda shows a day.")
        for owner in (event.room_id, *event.attendees):
            if owner and any(overlapping(slots, *slot) for slot in self._taken_by({owner}, skip)):
                remedy = "Try find_free_room." if owner == event.room_id else "find_free_time finds a common time."
                raise ToolError("conflict", f"{owner} is taken then", remedy)

    def _recheck(self, event: Event) -> None:
        """Refuses an event as changed, where it is."""
        planned = self._planned_of(event.event_id)
        self._check_free(event, [(r.start, r.end) for r in planned], {r.occurrence_id for r in planned})

    def _check_seats(self, room_id: str, attendees: Collection[str]) -> None:
        if room_id and self.rooms[room_id].seats < len(attendees) + 1:
            few = f"{room_id} has {self.rooms[room_id].seats} seats, not {len(attendees) + 1}"
            raise ToolError("insufficient", few, "list_rooms shows larger rooms.")

    def _put(self, event: Event, start: dt.datetime) -> None:
        """Adds a new event with one occurrence."""
        if len(self.events) >= MOST_EVENTS:
            raise ToolError("insufficient", f"{MOST_EVENTS} events are planned already", "Use delete_event first.")
        length = dt.timedelta(minutes=event.minutes)
        self._check_free(event, [(start, start + length)], set())
        self.events.put(event.event_id, event)
        self._put_occurrence(event.event_id, start, length)

    def _put_occurrence(self, event_id: str, start: dt.datetime, length: dt.timedelta) -> None:
        key = self.occurrences.fresh("occ", event_id, start.isoformat())
        self.occurrences.put(key, Occurrence(key, event_id, start, start + length))


def _by_time(rows: Iterable[Occurrence]) -> list[Occurrence]:
    return sorted(rows, key=lambda r: (r.start, r.occurrence_id))


def _end(start: dt.datetime, minutes: float) -> dt.datetime:
    return start + dt.timedelta(minutes=int(minutes))
