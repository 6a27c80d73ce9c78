"""Video meetings of one user: scheduling, waiting room, participants, screen sharing, recording, breakouts, polls, chat.

    with environment(["video_meeting"]).session(7) as session:
        session.call("list_video_meetings", {"status": "live"})

The user hosts some meetings and is invited to others, and is in one live meeting at a time. Host and cohosts moderate;
others only act for themselves. One participant shares at a time; nobody is recorded who did not agree.

Left out: time that passes, and other people acting by themselves: who is invited to a live meeting comes at once.
"""

from __future__ import annotations

import datetime as dt
import zlib

from tasks.servers import video_meeting_types as t
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Limit, date_of, plain, time_of
from tasks.servers.video_meeting_data import seed_rows
from tasks.servers.video_meeting_state import Meetings, contact_shown, meeting_row
from tasks.servers.world import World

EARLY = dt.timedelta(minutes=15)
"""How long before its start a meeting can be started."""
MOST_BREAKOUTS = 8


class VideoMeeting(Meetings, Server):
    """The server; see the module's docstring."""

    name = "video_meeting"
    title = "Video meetings: schedule, moderate, record, poll"

    me: Table[t.Me]
    contacts: Table[t.Contact]
    meetings: Table[t.Meeting]
    participants: Table[t.Participant]
    recordings: Table[t.Recording]
    breakouts: Table[t.Breakout]
    polls: Table[t.Poll]
    votes: Table[t.Vote]
    notes: Table[t.Note]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- people and meetings ---------------------------------------------------------------------

    @tool(read_only=True)
    def list_video_contacts(self, limit: Limit = 5) -> list[t.ContactShown]:
        """List the people who can be invited."""
        rows = self.contacts.where(lambda c: c.contact_id != self._me())
        return [contact_shown(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def find_video_contact(self, name: t.KnownName) -> t.ContactShown:
        """Find a person by the full name."""
        return contact_shown(named(self.contacts.values(), name, "person", "list_video_contacts"))

    @tool(read_only=True)
    def list_video_meetings(self, status: t.AnyStatus = "any", limit: Limit = 5) -> list[t.MeetingRow]:
        """List the user's meetings, the latest start first."""
        rows = self.meetings.where(lambda m: status in ("any", m.status))
        rows = sorted(rows, key=lambda m: (m.start, m.meeting_id), reverse=True)
        return [meeting_row(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def find_video_meeting(self, name: t.KnownName) -> t.MeetingRow:
        """Find a meeting by its name."""
        return meeting_row(named(self.meetings.values(), name, "meeting", "list_video_meetings"))

    @tool(read_only=True)
    def next_video_meeting(self) -> t.MeetingRow:
        """Tell which scheduled meeting starts next."""
        rows = self.meetings.where(lambda m: m.status == "scheduled")
        if not rows:
            raise ToolError("not_found", "no meeting is scheduled", "Use schedule_video_meeting.")
        return meeting_row(min(rows, key=lambda m: (m.start, m.meeting_id)))

    @tool(read_only=True)
    def get_video_meeting(self, meeting_id: t.MeetingId) -> t.MeetingShown:
        """Show a meeting: host, start, length, passcode and status."""
        row = self._meeting(meeting_id)
        return {
            "meeting_id": row.meeting_id,
            "host": self.contacts[row.host].name,
            "start": row.start,
            "minutes": row.minutes,
            "passcode": row.passcode,
            "status": row.status,
        }

    @tool()
    def schedule_video_meeting(
        self, name: t.NewName, start: t.Start, contact_ids: t.Contacts, waiting_room: t.WaitingRoom = True
    ) -> t.MeetingMade:
        """Schedule a meeting that the user hosts; it may not overlap another one of them."""
        name = unused(self.meetings.values(), name, "meeting")
        for key in contact_ids:
            self._contact(key)
        begin, minutes = self._free_time(start)
        key = self.meetings.fresh("vmt", name)
        code = str(100_000 + zlib.crc32(f"{key}/{name}".encode()) % 900_000)
        invited = tuple(sorted({*contact_ids} - {self._me()}))
        self.meetings.put(key, t.Meeting(key, name, self._me(), begin, minutes, code, waiting_room, "scheduled", invited))
        return {"meeting_id": key, "passcode": code}

    @tool(idempotent=True)
    def move_video_meeting(self, meeting_id: t.MeetingId, start: t.Start) -> t.MeetingMoved:
        """Move a scheduled meeting of the user to another time."""
        self._hosted(meeting_id, "scheduled")
        begin, minutes = self._free_time(start, meeting_id)
        return {"meeting_id": meeting_id, "start": self.meetings.update(meeting_id, start=begin, minutes=minutes).start}

    @tool(destructive=True)
    def cancel_video_meeting(self, meeting_id: t.MeetingId) -> t.MeetingSet:
        """Cancel a scheduled meeting of the user."""
        self._hosted(meeting_id, "scheduled")
        return {"meeting_id": meeting_id, "status": self.meetings.update(meeting_id, status="cancelled").status}

    @tool()
    def invite_to_video_meeting(self, meeting_id: t.MeetingId, contact_ids: t.Contacts) -> t.Invited:
        """Invite people to a scheduled meeting of the user, or to a live one that the user moderates: they come at once."""
        row = self._meeting(meeting_id)
        if row.status == "live":
            self._moderated(meeting_id)
        else:
            self._hosted(meeting_id, "scheduled")
        new = sorted({*contact_ids} - {row.host})
        for key in new:
            self._contact(key)
            if key in row.invited and row.status == "scheduled":
                raise ToolError("conflict", f"{key} is invited already", "Leave this person out.")
            if row.status == "live":
                self._arrives(row, key)
        waiting = 0
        if row.status == "live":
            waits = row.waiting_room or self._recording(meeting_id) is not None
            waiting = len(new) if waits else 0
            for key in new:
                self._enter(meeting_id, key, "waiting" if waits else "in", "unknown")
        invited = tuple(sorted({*row.invited, *new}))
        self.meetings.update(meeting_id, invited=invited)
        return {"meeting_id": meeting_id, "invited": len(invited), "waiting": waiting}

    @tool()
    def start_video_meeting(self, meeting_id: t.MeetingId) -> t.Joined:
        """Start a scheduled meeting of the user, at most 15 minutes early; the user must be in no other."""
        row = self._hosted(meeting_id, "scheduled")
        if row.begin - self.now > EARLY:
            raise ToolError("wrong_state", f"it starts at {row.start}", "Use move_video_meeting to have it earlier.")
        self._arrives(row, self._me())
        self.meetings.update(meeting_id, status="live")
        return self._joined(self._enter(meeting_id, self._me(), "in", "unknown", "host"))

    @tool()
    def join_video_meeting(
        self, meeting_id: t.MeetingId, passcode: t.Passcode, accept_recording: t.Accepts = False
    ) -> t.Joined:
        """Join a live meeting with its passcode, into its waiting room if it has one; the user must be in no other."""
        row = self._live(meeting_id)
        if passcode != row.passcode:
            raise ToolError("denied", "the passcode is wrong", "get_video_meeting shows it.")
        self._arrives(row, self._me())
        if self._recording(meeting_id) and not accept_recording:
            raise ToolError("denied", "the meeting is recorded", "Set accept_recording to join.")
        state: t.State = "waiting" if row.waiting_room else "in"
        return self._joined(self._enter(meeting_id, self._me(), state, "yes" if accept_recording else "unknown"))

    @tool()
    def leave_video_meeting(self, meeting_id: t.MeetingId) -> t.ParticipantState:
        """Leave a live meeting; its host uses hand_over_host first, or end_video_meeting."""
        row = self._mine(self._live(meeting_id).meeting_id, "waiting", "in")
        if row.role == "host":
            raise ToolError("denied", "the host cannot leave", "Use hand_over_host first, or end_video_meeting.")
        return {"participant_id": row.participant_id, "state": self._out(row, "left").state}

    @tool(destructive=True)
    def end_video_meeting(self, meeting_id: t.MeetingId) -> t.MeetingSet:
        """End a live meeting of the user for all: recording, polls and breakouts end too."""
        self._hosted(meeting_id, "live")
        self._stop_recording(meeting_id)
        for poll in self.polls.where(lambda p: p.meeting_id == meeting_id and p.status == "open"):
            self.polls.update(poll.poll_id, status="closed")
        for group in self.breakouts.where(lambda b: b.meeting_id == meeting_id and b.open):
            self.breakouts.update(group.breakout_id, open=False)
        for row in self._people(meeting_id, "waiting", "in"):
            self._out(row, "left")
        return {"meeting_id": meeting_id, "status": self.meetings.update(meeting_id, status="ended", locked=False).status}

    @tool(idempotent=True)
    def lock_video_meeting(self, meeting_id: t.MeetingId, locked: t.Locked) -> t.MeetingLocked:
        """Let nobody else into a live meeting, or let people in again."""
        self._moderated(meeting_id)
        return {"meeting_id": meeting_id, "locked": self.meetings.update(meeting_id, locked=locked).locked}

    # -- participants ----------------------------------------------------------------------------

    @tool(read_only=True)
    def list_participants(self, meeting_id: t.MeetingId, limit: Limit = 5) -> list[t.ParticipantShown]:
        """List who is in a live meeting, or who was in one that ended."""
        state: t.State = "left" if self._meeting(meeting_id).status == "ended" else "in"
        return [self._participant_shown(row) for row in self._people(meeting_id, state)[: int(limit)]]

    @tool(read_only=True)
    def find_participant(self, meeting_id: t.MeetingId, name: t.KnownName) -> t.ParticipantShown:
        """Find a participant of a meeting by the person's full name."""
        self._meeting(meeting_id)
        contact = named(self.contacts.values(), name, "person", "list_participants")
        row = self._participant_of(meeting_id, contact.contact_id)
        if row is None:
            raise ToolError("not_found", "this person is not in the meeting", "list_participants shows who is.")
        return self._participant_shown(row)

    @tool(read_only=True)
    def list_waiting_room(self, meeting_id: t.MeetingId, limit: Limit = 5) -> list[t.Waiting]:
        """List who waits to be admitted to a live meeting."""
        self._live(meeting_id)
        return [
            {"participant_id": row.participant_id, "name": self.contacts[row.contact_id].name}
            for row in self._people(meeting_id, "waiting")[: int(limit)]
        ]

    @tool()
    def admit_participant(self, participant_id: t.ParticipantId) -> t.ParticipantState:
        """Let somebody in who waits; while the meeting is recorded, only with consent."""
        row = self._participant(participant_id, "waiting")
        if self._moderated(row.meeting_id).locked:
            raise ToolError("wrong_state", "the meeting is locked", "Use lock_video_meeting to unlock it.")
        if self._recording(row.meeting_id) and row.consent != "yes":
            raise ToolError("wrong_state", "it is recorded and this person has not agreed", "Use set_recording_consent first.")
        return {"participant_id": participant_id, "state": self.participants.update(participant_id, state="in").state}

    @tool(destructive=True)
    def remove_participant(self, participant_id: t.ParticipantId) -> t.ParticipantState:
        """Put somebody out of a live meeting, who cannot come back; neither host nor the user."""
        row = self._participant(participant_id, "waiting", "in")
        self._moderated(row.meeting_id)
        if row.role == "host" or row.contact_id == self._me():
            raise ToolError("denied", "neither the host nor the user can be removed", "Use leave_video_meeting instead.")
        return {"participant_id": participant_id, "state": self._out(row, "removed").state}

    @tool(idempotent=True)
    def set_participant_role(self, participant_id: t.ParticipantId, role: t.NewRole) -> t.ParticipantRole:
        """Make a participant a cohost, or an attendee again; only the host can."""
        row = self._participant(participant_id, "in")
        self._hosted(row.meeting_id, "live")
        if row.role == "host":
            raise ToolError("denied", "the host stays the host", "Use hand_over_host instead.")
        return {"participant_id": participant_id, "role": self.participants.update(participant_id, role=role).role}

    @tool()
    def hand_over_host(self, participant_id: t.ParticipantId) -> t.ParticipantRole:
        """Make another participant the host; the user becomes a cohost."""
        row = self._participant(participant_id, "in")
        meeting = self._hosted(row.meeting_id, "live")
        if row.role == "host":
            raise ToolError("conflict", "the user is the host already", "Choose another participant.")
        self.participants.update(self._mine(row.meeting_id, "in").participant_id, role="cohost")
        invited = tuple(sorted({*meeting.invited, self._me()} - {row.contact_id}))
        self.meetings.update(row.meeting_id, host=row.contact_id, invited=invited)
        return {"participant_id": participant_id, "role": self.participants.update(participant_id, role="host").role}

    @tool(idempotent=True)
    def mute_participant(self, participant_id: t.ParticipantId) -> t.ParticipantMuted:
        """Mute the user, or anybody in a meeting that the user moderates."""
        self._may_act_for(self._participant(participant_id, "in"))
        return {"participant_id": participant_id, "muted": self.participants.update(participant_id, muted=True).muted}

    @tool(idempotent=True)
    def unmute_participant(self, participant_id: t.ParticipantId) -> t.ParticipantMuted:
        """Unmute the user; nobody unmutes others."""
        if self._participant(participant_id, "in").contact_id != self._me():
            raise ToolError("denied", "people unmute themselves", "Use send_meeting_message to ask for it.")
        return {"participant_id": participant_id, "muted": self.participants.update(participant_id, muted=False).muted}

    @tool(idempotent=True)
    def mute_everyone(self, meeting_id: t.MeetingId) -> t.AllMuted:
        """Mute all participants but the user."""
        self._moderated(meeting_id)
        rows = [row for row in self._people(meeting_id, "in") if not row.muted and row.contact_id != self._me()]
        for row in rows:
            self.participants.update(row.participant_id, muted=True)
        return {"meeting_id": meeting_id, "newly_muted": len(rows)}

    # -- sharing and recording -------------------------------------------------------------------

    @tool()
    def start_screen_share(self, participant_id: t.ParticipantId) -> t.Sharing:
        """Share the screen of the user, or of anybody in a meeting that the user moderates; one shares at a time."""
        row = self._participant(participant_id, "in")
        self._may_act_for(row)
        if self.meetings[row.meeting_id].sharer:
            raise ToolError("conflict", "somebody shares already", "Use stop_screen_share first.")
        if row.breakout_id:
            raise ToolError("wrong_state", f"the participant is in {row.breakout_id}", "Use return_from_breakout first.")
        self.meetings.update(row.meeting_id, sharer=participant_id)
        return {"meeting_id": row.meeting_id, "sharer_id": participant_id}

    @tool()
    def stop_screen_share(self, meeting_id: t.MeetingId) -> t.Sharing:
        """Stop the screen sharing of the user, or anybody's in a meeting that the user moderates."""
        sharer = self._live(meeting_id).sharer
        if not sharer:
            raise ToolError("wrong_state", "nobody shares", "Use start_screen_share.")
        self._may_act_for(self.participants[sharer])
        self.meetings.update(meeting_id, sharer="")
        return {"meeting_id": meeting_id}

    @tool(idempotent=True)
    def set_recording_consent(self, participant_id: t.ParticipantId, agrees: t.Agrees) -> t.Consented:
        """Note whether a participant agrees to being recorded; a refusal stops a recording under way."""
        row = self._participant(participant_id, "waiting", "in")
        self._may_act_for(row)
        row = self.participants.update(participant_id, consent="yes" if agrees else "no")
        if not agrees and row.state == "in":
            self._stop_recording(row.meeting_id)
        return {"participant_id": participant_id, "consent": row.consent}

    @tool()
    def start_recording(self, meeting_id: t.MeetingId) -> t.RecordingSet:
        """Record a live meeting of the user in which all participants have agreed."""
        self._hosted(meeting_id, "live")
        if self._recording(meeting_id):
            raise ToolError("conflict", "the meeting is recorded already", "Use stop_recording first.")
        for row in self._people(meeting_id, "in"):
            if row.consent != "yes":
                raise ToolError("denied", f"{row.participant_id} has not agreed", "Use set_recording_consent first.")
        number = len(self.recordings.where(lambda r: r.meeting_id == meeting_id))
        key = self.recordings.fresh("rcd", meeting_id, number)
        self.recordings.put(key, t.Recording(key, meeting_id, "recording", self.now.date().isoformat()))
        return {"recording_id": key, "status": "recording"}

    @tool()
    def stop_recording(self, recording_id: t.RecordingId) -> t.RecordingSet:
        """Stop a recording under way."""
        row = self._recording_of(recording_id)
        if row.status != "recording":
            raise ToolError("wrong_state", "the recording is stopped", "list_recordings shows the recordings.")
        self._moderated(row.meeting_id)
        return {"recording_id": recording_id, "status": self.recordings.update(recording_id, status="stopped").status}

    @tool(read_only=True)
    def list_recordings(self, meeting_id: t.MeetingId, limit: Limit = 5) -> list[t.RecordingShown]:
        """List the recordings of a meeting."""
        self._meeting(meeting_id)
        rows = self.recordings.where(lambda r: r.meeting_id == meeting_id)[: int(limit)]
        return [{"recording_id": row.recording_id, "status": row.status, "day": row.day} for row in rows]

    @tool(destructive=True)
    def delete_recording(self, recording_id: t.RecordingId) -> t.RecordingGone:
        """Delete a stopped recording of a meeting that the user hosts or hosted."""
        row = self._recording_of(recording_id)
        self._hosted(row.meeting_id)
        if row.status == "recording":
            raise ToolError("wrong_state", "it is being recorded", "Use stop_recording first.")
        self.recordings.remove(recording_id)
        return {"recording_id": recording_id, "deleted": True}

    # -- breakouts -------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_breakouts(self, meeting_id: t.MeetingId, limit: Limit = 5) -> list[t.BreakoutShown]:
        """List the breakout groups of a meeting."""
        self._meeting(meeting_id)
        return [self._breakout_shown(row) for row in self._groups(meeting_id)[: int(limit)]]

    @tool(read_only=True)
    def find_breakout(self, meeting_id: t.MeetingId, name: t.KnownName) -> t.BreakoutShown:
        """Find a breakout group of a meeting by its name."""
        self._meeting(meeting_id)
        return self._breakout_shown(named(self._groups(meeting_id), name, "breakout", "list_breakouts"))

    @tool()
    def create_breakouts(self, meeting_id: t.MeetingId, names: t.Names) -> list[t.BreakoutShown]:
        """Open breakout groups in a live meeting that the user moderates, at most eight in all."""
        self._moderated(meeting_id)
        groups = self._groups(meeting_id)
        new = [unused(groups, name, "breakout") for name in names]
        if len({name.casefold() for name in new}) < len(new):
            raise ToolError("invalid_value", "a name comes twice", "Give each group its own name.")
        if len(groups) + len(new) > MOST_BREAKOUTS:
            raise ToolError("insufficient", f"a meeting has {MOST_BREAKOUTS} groups at most", "Open fewer groups.")
        made = []
        for name in new:
            key = self.breakouts.fresh("brk", meeting_id, name)
            made.append(self._breakout_shown(self.breakouts.put(key, t.Breakout(key, meeting_id, name, True))))
        return made

    @tool(idempotent=True)
    def assign_breakout(self, participant_id: t.ParticipantId, breakout_id: t.BreakoutId) -> t.Assigned:
        """Put a participant into an open breakout group of the same meeting, out of any other; not who shares."""
        row = self._participant(participant_id, "in")
        group = existing(self.breakouts, breakout_id, "breakout", "list_breakouts")
        if group.meeting_id != row.meeting_id:
            raise ToolError("invalid_value", "the group is of another meeting", "list_breakouts shows a meeting's groups.")
        if not group.open:
            raise ToolError("wrong_state", "the group is closed", "Use create_breakouts for new ones.")
        if self._moderated(row.meeting_id).sharer == participant_id:
            raise ToolError("wrong_state", "the participant shares the screen", "Use stop_screen_share first.")
        self.participants.update(participant_id, breakout_id=breakout_id)
        return {"participant_id": participant_id, "breakout_id": breakout_id}

    @tool()
    def return_from_breakout(self, participant_id: t.ParticipantId) -> t.Assigned:
        """Bring a participant back from a breakout group."""
        row = self._participant(participant_id, "in")
        self._may_act_for(row)
        if not row.breakout_id:
            raise ToolError("wrong_state", "the participant is in no group", "Use assign_breakout first.")
        self.participants.update(participant_id, breakout_id="")
        return {"participant_id": participant_id}

    @tool()
    def close_breakouts(self, meeting_id: t.MeetingId) -> t.BreakoutsClosed:
        """Close all breakout groups of a live meeting; everybody comes back."""
        self._moderated(meeting_id)
        groups = [row for row in self._groups(meeting_id) if row.open]
        if not groups:
            raise ToolError("wrong_state", "no group is open", "Use create_breakouts.")
        for group in groups:
            self.breakouts.update(group.breakout_id, open=False)
        away = [row for row in self._people(meeting_id, "in") if row.breakout_id]
        for row in away:
            self.participants.update(row.participant_id, breakout_id="")
        return {"meeting_id": meeting_id, "returned": len(away)}

    # -- polls and chat --------------------------------------------------------------------------

    @tool(read_only=True)
    def list_meeting_polls(self, meeting_id: t.MeetingId, limit: Limit = 5) -> list[t.PollShown]:
        """List the polls of a meeting."""
        self._meeting(meeting_id)
        return [self._poll_shown(row) for row in self.polls.where(lambda p: p.meeting_id == meeting_id)[: int(limit)]]

    @tool(read_only=True)
    def find_meeting_poll(self, name: t.KnownName) -> t.PollShown:
        """Find a poll by its name."""
        return self._poll_shown(named(self.polls.values(), name, "poll", "list_meeting_polls"))

    @tool(read_only=True)
    def list_meeting_poll_votes(self, poll_id: t.PollId) -> list[t.PollOption]:
        """List a poll's answers with their votes, the most first."""
        row = self._poll(poll_id)
        cast = [vote.option for vote in self.votes.values() if vote.poll_id == poll_id]
        counted = sorted(row.options, key=lambda option: -cast.count(option))
        return [{"poll_id": poll_id, "option": option, "votes": cast.count(option)} for option in counted]

    @tool()
    def create_meeting_poll(self, meeting_id: t.MeetingId, name: t.NewName, options: t.Options) -> t.PollSet:
        """Open a poll in a live meeting that the user moderates."""
        self._moderated(meeting_id)
        name = unused(self.polls.values(), name, "poll")
        answers = tuple(plain(option, "answer") for option in options)
        if len({answer.casefold() for answer in answers}) < len(answers):
            raise ToolError("invalid_value", "an answer comes twice", "Give each answer once.")
        key = self.polls.fresh("vpoll", meeting_id, name)
        return self._poll_set(self.polls.put(key, t.Poll(key, meeting_id, name, answers, "open")))

    @tool(idempotent=True)
    def vote_in_meeting_poll(self, poll_id: t.PollId, option: t.Option) -> t.PollSet:
        """Vote as the user, who is in the meeting, in an open poll; a second vote replaces the first."""
        row = self._poll(poll_id, "open")
        self._mine(row.meeting_id, "in")
        wanted = plain(option, "answer").casefold()
        chosen = next((answer for answer in row.options if answer.casefold() == wanted), None)
        if chosen is None:
            raise ToolError("not_found", "the poll has no such answer", "list_meeting_poll_votes shows the answers.")
        self.votes.put(f"{poll_id}/{self._me()}", t.Vote(poll_id, self._me(), chosen))
        return self._poll_set(row)

    @tool()
    def close_meeting_poll(self, poll_id: t.PollId) -> t.PollSet:
        """Close an open poll of a meeting that the user moderates."""
        self._moderated(self._poll(poll_id, "open").meeting_id)
        return self._poll_set(self.polls.update(poll_id, status="closed"))

    @tool()
    def send_meeting_message(
        self, meeting_id: t.MeetingId, text: t.Words, to_participant_id: t.OneParticipant = None
    ) -> t.NoteSent:
        """Write into the chat of the live meeting in which the user is, to all or to one participant."""
        self._live(meeting_id)
        self._mine(meeting_id, "in")
        text, to = plain(text), ""
        if to_participant_id is not None:
            other = self._participant(to_participant_id, "in")
            if other.meeting_id != meeting_id or other.contact_id == self._me():
                raise ToolError("invalid_value", "this is no other participant of the meeting", "Use find_participant.")
            to = other.contact_id
        number = 1 + max((note.number for note in self.notes.values()), default=0)
        key = self.notes.fresh("vmsg", meeting_id, text, to, number)
        self.notes.put(key, t.Note(key, meeting_id, number, self._me(), to, text))
        return {"message_id": key, "private": bool(to)}

    @tool(read_only=True)
    def list_meeting_messages(self, meeting_id: t.MeetingId, limit: Limit = 5) -> list[t.NoteShown]:
        """List what was written in a meeting's chat, the latest first."""
        self._meeting(meeting_id)
        rows = sorted(self.notes.where(lambda n: n.meeting_id == meeting_id), key=lambda n: -n.number)
        return [
            {"message_id": n.message_id, "sender": self.contacts[n.sender].name, "text": n.text, "private": bool(n.to)}
            for n in rows[: int(limit)]
        ]

    # -- times -----------------------------------------------------------------------------------

    def _free_time(self, start: t.Start, moved: str = "") -> tuple[str, int]:
        """(start, minutes) when the user hosts nothing else then; `moved` is the meeting that moves there."""
        minutes = int(start.get("minutes", 30))
        begin = dt.datetime.combine(date_of(start["day"]), time_of(start["time"]))
        end = begin + dt.timedelta(minutes=minutes)
        if not self.now < begin <= self.now + dt.timedelta(days=365):
            raise ToolError("invalid_value", "the start is not within the next year", "Give a later or an earlier start.")
        for row in self.meetings.values():
            own = row.host == self._me() and row.status == "scheduled" and row.meeting_id != moved
            if own and row.begin < end and begin < row.end:
                raise ToolError("conflict", f"the user hosts {row.meeting_id} at that time", "Choose another time.")
        return begin.strftime("%Y-%m-%d %H:%M"), minutes
