"""What the video_meeting server's tools share: rows by identifier, who may do what, coming and going, rows shown.

Run: nothing here runs by itself; `tasks.servers.video_meeting` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt

from tasks.servers import video_meeting_types as t
from tasks.servers.lookup import existing
from tasks.servers.state import Table
from tasks.servers.tool import ToolError


class Meetings:
    """The tables of the meetings, and the steps that tools are made of."""

    now: dt.datetime
    me: Table[t.Me]
    contacts: Table[t.Contact]
    meetings: Table[t.Meeting]
    participants: Table[t.Participant]
    recordings: Table[t.Recording]
    breakouts: Table[t.Breakout]
    polls: Table[t.Poll]
    votes: Table[t.Vote]
    notes: Table[t.Note]

    # -- rows by identifier ----------------------------------------------------------------------

    def _me(self) -> str:
        return self.me["me"].contact_id

    def _contact(self, contact_id: str) -> t.Contact:
        return existing(self.contacts, contact_id, "person", "list_video_contacts")

    def _meeting(self, meeting_id: str) -> t.Meeting:
        return existing(self.meetings, meeting_id, "meeting", "list_video_meetings")

    def _live(self, meeting_id: str) -> t.Meeting:
        row = self._meeting(meeting_id)
        if row.status != "live":
            raise ToolError("wrong_state", f"the meeting is {row.status}, not live", "list_video_meetings shows the live ones.")
        return row

    def _people(self, meeting_id: str, *states: t.State) -> list[t.Participant]:
        return self.participants.where(lambda p: p.meeting_id == meeting_id and p.state in states)

    def _participant(self, participant_id: str, *states: t.State) -> t.Participant:
        """The participant of a live meeting, in one of these states."""
        row = existing(self.participants, participant_id, "participant", "list_participants")
        self._live(row.meeting_id)
        if row.state not in states:
            raise ToolError(
                "wrong_state", f"the participant is {row.state}, not {states[0]}", "list_participants shows who is in."
            )
        return row

    def _participant_of(self, meeting_id: str, contact_id: str) -> t.Participant | None:
        found = self.participants.where(lambda p: (p.meeting_id, p.contact_id) == (meeting_id, contact_id))
        return found[0] if found else None

    def _mine(self, meeting_id: str, *states: t.State) -> t.Participant:
        """The user as participant of a meeting, in one of these states."""
        row = self._participant_of(meeting_id, self._me())
        if row is None or row.state not in states:
            raise ToolError("wrong_state", "the user is not in this meeting", "Use join_video_meeting first.")
        return row

    def _poll(self, poll_id: str, status: t.PollStatus | None = None) -> t.Poll:
        row = existing(self.polls, poll_id, "poll", "list_meeting_polls")
        if status and row.status != status:
            raise ToolError("wrong_state", f"the poll is {row.status}", "list_meeting_polls shows the open ones.")
        return row

    def _groups(self, meeting_id: str) -> list[t.Breakout]:
        return self.breakouts.where(lambda b: b.meeting_id == meeting_id)

    def _recording(self, meeting_id: str) -> t.Recording | None:
        """The recording under way."""
        found = self.recordings.where(lambda r: r.meeting_id == meeting_id and r.status == "recording")
        return found[0] if found else None

    def _recording_of(self, recording_id: str) -> t.Recording:
        return existing(self.recordings, recording_id, "recording", "list_recordings")

    # -- who may do what -------------------------------------------------------------------------

    def _hosted(self, meeting_id: str, status: t.MeetingStatus | None = None) -> t.Meeting:
        """The meeting, when the user is its host and it has that status."""
        row = self._meeting(meeting_id)
        if row.host != self._me():
            raise ToolError("denied", f"{self.contacts[row.host].name} hosts it, not the user", "Ask the host.")
        if status and row.status != status:
            raise ToolError("wrong_state", f"the meeting is {row.status}, not {status}", "list_video_meetings shows others.")
        return row

    def _moderated(self, meeting_id: str) -> t.Meeting:
        """The live meeting, when the user is in it as host or cohost."""
        row = self._live(meeting_id)
        if self._mine(meeting_id, "in").role == "attendee":
            raise ToolError("denied", "only host and cohosts may do this", "Ask the host.")
        return row

    def _may_act_for(self, row: t.Participant) -> None:
        """Raises ToolError unless it is the user, or the user moderates the meeting."""
        if row.contact_id != self._me():
            self._moderated(row.meeting_id)

    # -- coming and going ------------------------------------------------------------------------

    def _arrives(self, meeting: t.Meeting, contact_id: str) -> None:
        """Raises ToolError when a person cannot come into a meeting now."""
        busy = self.participants.where(lambda p: p.contact_id == contact_id and p.state in ("waiting", "in"))
        if busy:
            where = "this meeting" if busy[0].meeting_id == meeting.meeting_id else busy[0].meeting_id
            raise ToolError(
                "conflict", f"{contact_id} is in {where} already", "Use leave_video_meeting or end_video_meeting first."
            )
        before = self._participant_of(meeting.meeting_id, contact_id)
        if before is not None and before.state == "removed":
            raise ToolError("denied", f"{contact_id} was removed from this meeting", "Nobody who was removed comes back.")
        if meeting.locked:
            raise ToolError("wrong_state", "the meeting is locked", "Its host can use lock_video_meeting to unlock it.")

    def _enter(
        self, meeting_id: str, contact_id: str, state: t.State, consent: t.Consent, role: t.Role = "attendee"
    ) -> t.Participant:
        before = self._participant_of(meeting_id, contact_id)
        key = before.participant_id if before else self.participants.fresh("part", meeting_id, contact_id)
        return self.participants.put(key, t.Participant(key, meeting_id, contact_id, role, state, True, consent))

    def _out(self, row: t.Participant, state: t.State) -> t.Participant:
        """The participant goes; so does what he shares."""
        if self.meetings[row.meeting_id].sharer == row.participant_id:
            self.meetings.update(row.meeting_id, sharer="")
        return self.participants.update(row.participant_id, state=state, breakout_id="")

    def _stop_recording(self, meeting_id: str) -> None:
        row = self._recording(meeting_id)
        if row:
            self.recordings.update(row.recording_id, status="stopped")

    # -- how rows are shown ----------------------------------------------------------------------

    def _joined(self, row: t.Participant) -> t.Joined:
        return {"participant_id": row.participant_id, "state": row.state, "role": row.role}

    def _participant_shown(self, row: t.Participant) -> t.ParticipantShown:
        return {
            "participant_id": row.participant_id,
            "name": self.contacts[row.contact_id].name,
            "role": row.role,
            "state": row.state,
            "muted": row.muted,
        }

    def _breakout_shown(self, row: t.Breakout) -> t.BreakoutShown:
        count = len(self.participants.where(lambda p: p.breakout_id == row.breakout_id))
        return {"breakout_id": row.breakout_id, "name": row.name, "participants": count, "open": row.open}

    def _votes(self, poll_id: str) -> int:
        return len(self.votes.where(lambda v: v.poll_id == poll_id))

    def _poll_shown(self, row: t.Poll) -> t.PollShown:
        return {"poll_id": row.poll_id, "name": row.name, "status": row.status, "votes": self._votes(row.poll_id)}

    def _poll_set(self, row: t.Poll) -> t.PollSet:
        return {"poll_id": row.poll_id, "status": row.status, "votes": self._votes(row.poll_id)}


def contact_shown(row: t.Contact) -> t.ContactShown:
    return {"contact_id": row.contact_id, "name": row.name, "email": row.email}


def meeting_row(row: t.Meeting) -> t.MeetingRow:
    return {"meeting_id": row.meeting_id, "name": row.name, "start": row.start, "status": row.status}
