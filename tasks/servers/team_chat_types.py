"""Identifiers, rows, argument types and result types of the team chat server.

Run: nothing here runs by itself; `tasks.servers.team_chat` is the server.

Left out: rows of reactions and pins; they are parts of their message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import identifier

ChannelId = identifier("channel", "chan")
MateId = identifier("teammate", "mate")
ChatMessageId = identifier("chat_message", "msg")

Presence = Literal["online", "away", "busy", "offline"]
Emoji = Annotated[Literal["thumbs_up", "heart", "eyes", "party", "check"], Field(description="The reaction.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
Words = Annotated[str, Field(min_length=3, max_length=80, description="A part of its text.")]
MessageText = Annotated[str, Field(min_length=1, max_length=300, description="What to write, one line.")]

ME = "mate_100"
"""The user of the session."""


@dataclass(frozen=True, slots=True)
class Channel:
    """`announce`: its owner alone writes, and the others reply to nothing; they react."""

    channel_id: str
    name: str
    private: bool
    owner: str
    members: tuple[str, ...]
    topic: str = ""
    archived: bool = False
    announce: bool = False


@dataclass(frozen=True, slots=True)
class Mate:
    mate_id: str
    name: str
    presence: Presence
    status: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """In a channel, or direct: then `channel_id` is empty and `to` is the other person. `reactions` are (emoji, person)."""

    message_id: str
    channel_id: str
    to: str
    author: str
    text: str
    at: str
    parent: str = ""
    pinned: bool = False
    reactions: tuple[tuple[str, str], ...] = ()


class ChannelShown(TypedDict):
    channel_id: ChannelId
    name: str
    private: bool
    members: int


class ChannelTold(TypedDict):
    channel_id: ChannelId
    owner_id: MateId
    topic: str
    messages: int
    archived: bool
    announce: bool


class ChannelDone(TypedDict):
    channel_id: ChannelId
    members: int


class MateShown(TypedDict):
    mate_id: MateId
    name: str
    presence: Presence


class MessageShown(TypedDict):
    message_id: ChatMessageId
    author: str
    text: str
    replies: int
    reactions: int


class MateTold(TypedDict):
    mate_id: MateId
    presence: Presence
    status: str
    shared_channels: int


class MessageTold(TypedDict):
    """`channel_id` and `reply_to` are there for messages of channels and for replies."""

    message_id: ChatMessageId
    author_id: MateId
    at: str
    pinned: bool
    channel_id: NotRequired[ChannelId]
    reply_to: NotRequired[ChatMessageId]


class ReactionShown(TypedDict):
    emoji: str
    count: int
    mine: bool


class ChannelMode(TypedDict):
    channel_id: ChannelId
    announce: bool


class ChannelOwner(TypedDict):
    channel_id: ChannelId
    owner_id: MateId


class MessageDone(TypedDict):
    message_id: ChatMessageId
    at: str


class PinDone(TypedDict):
    message_id: ChatMessageId
    pinned: bool


class ReactionDone(TypedDict):
    message_id: ChatMessageId
    reactions: int


class Status(TypedDict):
    """What others see of the user."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    presence: Annotated[Presence, Field(description="Reachable or not.")]
    text: Annotated[str, Field(max_length=40, description="A short line; may be empty.")]


class StatusDone(TypedDict):
    presence: Presence
    text: str
