"""Identifiers, rows, argument types and result types of the video_meeting server.

Run: nothing here runs by itself; `tasks.servers.video_meeting` is the server.

Left out: audio and video.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Date, Time, identifier

MeetingId = identifier("video_meeting", "vmt")
ContactId = identifier("video_contact", "vcon")
ParticipantId = identifier("participant", "part")
RecordingId = identifier("recording", "rcd")
BreakoutId = identifier("breakout", "brk")
PollId = identifier("meeting_poll", "vpoll")
NoteId = identifier("meeting_message", "vmsg")

MeetingStatus = Literal["scheduled", "live", "ended", "cancelled"]
Role = Literal["host", "cohost", "attendee"]
State = Literal["waiting", "in", "left", "removed"]
Consent = Literal["unknown", "yes", "no"]
RecordingStatus = Literal["recording", "stopped"]
PollStatus = Literal["open", "closed"]

AnyStatus = Annotated[
    Literal["any", "scheduled", "live", "ended", "cancelled"], Field(description="Only meetings in this state.")
]
NewRole = Annotated[Literal["cohost", "attendee"], Field(description="What the participant is to be.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
Passcode = Annotated[str, Field(pattern="^[0-9]{6}$", description="The meeting's six digits; get_video_meeting shows them.")]
Contacts = Annotated[list[ContactId], Field(min_length=1, max_length=12, description="Whom to invite.")]
Names = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=40, description="A name.")]],
    Field(min_length=1, max_length=8, description="The names of the groups."),
]
Options = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=40, description="An answer.")]],
    Field(min_length=2, max_length=6, description="The answers to choose from."),
]
Option = Annotated[str, Field(min_length=1, max_length=40, description="One of the poll's answers.")]
Words = Annotated[str, Field(min_length=1, max_length=200, description="What to say.")]
WaitingRoom = Annotated[bool, Field(description="Whether people wait until they are admitted.")]
Locked = Annotated[bool, Field(description="Whether nobody else gets in.")]
Agrees = Annotated[bool, Field(description="Whether the participant agrees to being recorded.")]
Accepts = Annotated[bool, Field(description="Whether the user agrees to being recorded.")]
OneParticipant = Annotated[ParticipantId | None, Field(description="Only this participant sees it; all if left out.")]


# -- rows --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contact:
    contact_id: str
    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Me:
    """Who the user of the session is."""

    contact_id: str


@dataclass(frozen=True, slots=True)
class Meeting:
    """`host` is a contact; `start` is YYYY-MM-DD HH:MM; `sharer` is a participant (empty: nobody shares)."""

    meeting_id: str
    name: str
    host: str
    start: str
    minutes: int
    passcode: str
    waiting_room: bool
    status: MeetingStatus
    invited: tuple[str, ...]
    locked: bool = False
    sharer: str = ""

    @property
    def begin(self) -> dt.datetime:
        return dt.datetime.fromisoformat(self.start)

    @property
    def end(self) -> dt.datetime:
        return self.begin + dt.timedelta(minutes=self.minutes)


@dataclass(frozen=True, slots=True)
class Participant:
    """A contact in a meeting; `breakout_id` is empty in the main room."""

    participant_id: str
    meeting_id: str
    contact_id: str
    role: Role
    state: State
    muted: bool
    consent: Consent
    breakout_id: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    recording_id: str
    meeting_id: str
    status: RecordingStatus
    day: str


@dataclass(frozen=True, slots=True)
class Breakout:
    breakout_id: str
    meeting_id: str
    name: str
    open: bool


@dataclass(frozen=True, slots=True)
class Poll:
    poll_id: str
    meeting_id: str
    name: str
    options: tuple[str, ...]
    status: PollStatus


@dataclass(frozen=True, slots=True)
class Vote:
    poll_id: str
    contact_id: str
    option: str


@dataclass(frozen=True, slots=True)
class Note:
    """A message in a meeting's chat from one contact to another (`to`; empty: to all)."""

    message_id: str
    meeting_id: str
    number: int
    sender: str
    to: str
    text: str


# -- arguments ---------------------------------------------------------------------------------


class Start(TypedDict):
    """When a meeting is."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    day: Date
    time: Time
    minutes: NotRequired[Annotated[int, Field(ge=15, le=240, description="How long; 30 if left out.")]]


# -- results -----------------------------------------------------------------------------------


class ContactShown(TypedDict):
    contact_id: ContactId
    name: str
    email: str


class MeetingRow(TypedDict):
    meeting_id: MeetingId
    name: str
    start: str
    status: MeetingStatus


class MeetingShown(TypedDict):
    meeting_id: MeetingId
    host: str
    start: str
    minutes: int
    passcode: str
    status: MeetingStatus


class MeetingMade(TypedDict):
    meeting_id: MeetingId
    passcode: str


class MeetingMoved(TypedDict):
    meeting_id: MeetingId
    start: str


class MeetingSet(TypedDict):
    meeting_id: MeetingId
    status: MeetingStatus


class MeetingLocked(TypedDict):
    meeting_id: MeetingId
    locked: bool


class Invited(TypedDict):
    meeting_id: MeetingId
    invited: int
    waiting: int


class Joined(TypedDict):
    participant_id: ParticipantId
    state: State
    role: Role


class ParticipantShown(TypedDict):
    participant_id: ParticipantId
    name: str
    role: Role
    state: State
    muted: bool


class Waiting(TypedDict):
    participant_id: ParticipantId
    name: str


class ParticipantState(TypedDict):
    participant_id: ParticipantId
    state: State


class ParticipantRole(TypedDict):
    participant_id: ParticipantId
    role: Role


class ParticipantMuted(TypedDict):
    participant_id: ParticipantId
    muted: bool


class AllMuted(TypedDict):
    meeting_id: MeetingId
    newly_muted: int


class Sharing(TypedDict):
    meeting_id: MeetingId
    sharer_id: NotRequired[ParticipantId]


class Consented(TypedDict):
    participant_id: ParticipantId
    consent: Consent


class RecordingShown(TypedDict):
    recording_id: RecordingId
    status: RecordingStatus
    day: Date


class RecordingSet(TypedDict):
    recording_id: RecordingId
    status: RecordingStatus


class RecordingGone(TypedDict):
    recording_id: RecordingId
    deleted: bool


class BreakoutShown(TypedDict):
    breakout_id: BreakoutId
    name: str
    participants: int
    open: bool


class Assigned(TypedDict):
    participant_id: ParticipantId
    breakout_id: NotRequired[BreakoutId]


class BreakoutsClosed(TypedDict):
    meeting_id: MeetingId
    returned: int


class PollShown(TypedDict):
    poll_id: PollId
    name: str
    status: PollStatus
    votes: int


class PollOption(TypedDict):
    poll_id: PollId
    option: str
    votes: int


class PollSet(TypedDict):
    poll_id: PollId
    status: PollStatus
    votes: int


class NoteShown(TypedDict):
    message_id: NoteId
    sender: str
    text: str
    private: bool


class NoteSent(TypedDict):
    message_id: NoteId
    private: bool
