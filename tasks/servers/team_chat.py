"""The team chat server: channels with members, messages with replies, reactions and pins, direct messages.

    with environment(["team_chat"]).session(7) as session:
        session.call("list_channels", {})

The user sees public channels and the private ones that they are in; only members write. An archived channel is read only. A
channel's owner alone invites to a private one and archives.

Left out: files, threads inside threads, and teammates who answer by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Limit, identifier, plain
from tasks.servers.world import World, words

ChannelId = identifier("channel", "chan")
MateId = identifier("teammate", "mate")
ChatMessageId = identifier("chat_message", "msg")

Presence = Literal["online", "away", "busy", "offline"]
Emoji = Annotated[Literal["thumbs_up", "heart", "eyes", "party", "check"], Field(description="The reaction.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
MessageText = Annotated[str, Field(min_length=1, max_length=300, description="What to write, one line.")]

CHANNELS = words(
    """Design Launch Support Hiring Finance Platform Mobile Research Sales Marketing Legal Onboarding Security Data Growth
    Payroll Release Quality Partner Office Travel Events Brand Content Community Billing Search Infra Analytics Roadmap
    Feedback Incident Newsletter Workshop Facilities Training Compliance Localization"""
)
TOPICS = words(
    """agenda budget draft estimate forecast handover invoice kickoff layout migration notes outage plan quote report schedule
    survey template upgrade version whitepaper backlog contract deadline checklist mockup rollout summary timeline vendor"""
)
OPENERS = ("Please look at the", "Who has the latest", "I finished the", "Let us move the", "Can we discuss the")
ME = "mate_100"
"""The user of the session."""


@dataclass(frozen=True, slots=True)
class Channel:
    channel_id: str
    name: str
    private: bool
    owner: str
    members: tuple[str, ...]
    topic: str = ""
    archived: bool = False


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


class TeamChat(Server):
    """One team's chat, as one member sees it."""

    name = "team_chat"
    title = "Channels, messages, reactions and direct messages of a team."

    channels: Table[Channel]
    mates: Table[Mate]
    messages: Table[Message]

    @classmethod
    def seed(cls, world: World) -> Seed:
        people = world.people()
        ids = [ME, *(i for i in world.ids("mate", 9) if i != ME)][:9]
        states: tuple[Presence, ...] = ("online", "away", "busy", "offline")
        mates = {key: Mate(key, p.name, world.choice(states)) for key, p in zip(ids, people, strict=False)}
        others = [key for key in mates if key != ME]
        channels: dict[str, Channel] = {}
        for number, (key, name) in enumerate(zip(world.ids("chan", 9), world.picks(CHANNELS, 9), strict=False)):
            mine = number < 6
            owner = ME if number in (0, 1) else world.choice(others)
            some = [o for o in world.rng.sample(others, world.rng.randint(2, 5)) if o != owner]
            members = dict.fromkeys([owner, *([ME] if mine else []), *some])
            channels[key] = Channel(key, name, number in (1, 5, 8), owner, tuple(members), world.pick(TOPICS), number == 4)
        messages: dict[str, Message] = {}
        keys = world.ids("msg", 44)
        for number, key in enumerate(keys):
            at = f"{world.day(-20, -1)} {world.rng.randrange(8, 18):02d}:{world.rng.randrange(60):02d}"
            text = f"{world.choice(OPENERS)} {world.pick(TOPICS)} {world.pick(TOPICS)}"
            if number < 36:
                channel = world.choice(list(channels.values()))
                before = [m.message_id for m in messages.values() if m.channel_id == channel.channel_id and not m.parent]
                parent = world.choice(before) if before and number % 4 == 0 else ""
                likes = tuple((e, m) for e in ("heart", "eyes") for m in channel.members if world.rng.random() < 0.1)
                author = world.choice(channel.members)
                messages[key] = Message(key, channel.channel_id, "", author, text, at, parent, number % 9 == 1, likes)
            else:
                other = world.choice(others)
                author, to = (other, ME) if number % 2 else (ME, other)
                messages[key] = Message(key, "", to, author, text, at)
        return {"channels": channels, "mates": mates, "messages": messages}

    # -- channels ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_channel(self, name: KnownName) -> ChannelShown:
        """Finds a channel by its name."""
        return _channel_shown(named(self._visible(), name, "channel", "list_channels"))

    @tool(read_only=True)
    def list_channels(
        self, joined: Annotated[bool, Field(description="Only those that the user is in.")] = False, limit: Limit = 5
    ) -> list[ChannelShown]:
        """Lists the channels that the user can see, or only those that they are in."""
        return [_channel_shown(r) for r in self._visible() if not joined or ME in r.members][: int(limit)]

    @tool(read_only=True)
    def get_channel(self, channel_id: ChannelId) -> ChannelTold:
        """Owner, topic and size of a channel."""
        row = self._channel(channel_id)
        count = sum(m.channel_id == channel_id for m in self.messages.values())
        return {
            "channel_id": channel_id,
            "owner_id": row.owner,
            "topic": row.topic,
            "messages": count,
            "archived": row.archived,
        }

    @tool()
    def create_channel(
        self,
        name: NewName,
        mate_ids: Annotated[list[MateId], Field(max_length=8, description="Who is in it besides the user.")],
        private: Annotated[bool, Field(description="Only members see it.")] = False,
    ) -> ChannelDone:
        """Creates a channel that the user owns."""
        name = unused(self.channels.values(), name, "channel")
        members = tuple(dict.fromkeys([ME, *(self._mate(m).mate_id for m in mate_ids)]))
        key = self.channels.fresh("chan", name)
        self.channels.put(key, Channel(key, name, private, ME, members))
        return {"channel_id": key, "members": len(members)}

    @tool()
    def join_channel(self, channel_id: ChannelId) -> ChannelDone:
        """Joins a public channel."""
        row = self._open(channel_id)
        if ME in row.members:
            raise ToolError("wrong_state", "the user is in this channel already", "Nothing is needed.")
        return self._members(row, (*row.members, ME))

    @tool()
    def leave_channel(self, channel_id: ChannelId) -> ChannelDone:
        """Leaves a channel. Its owner cannot leave; archive_channel ends it."""
        row = self._channel(channel_id)
        if ME not in row.members:
            raise ToolError("wrong_state", "the user is not in this channel", "Nothing is needed.")
        if row.owner == ME:
            raise ToolError("denied", "the owner cannot leave a channel", "Use archive_channel.")
        return self._members(row, tuple(m for m in row.members if m != ME))

    @tool()
    def invite_mate(self, channel_id: ChannelId, mate_id: MateId) -> ChannelDone:
        """Adds a teammate to a channel that the user is in; only its owner invites to a private one."""
        row, mate = self._writable(channel_id), self._mate(mate_id)
        if row.private and row.owner != ME:
            raise ToolError("denied", "only the owner invites to a private channel", f"Ask {self.mates[row.owner].name}.")
        if mate.mate_id in row.members:
            raise ToolError("conflict", f"{mate_id} is in this channel already", "Nothing is needed.")
        return self._members(row, (*row.members, mate_id))

    @tool(idempotent=True)
    def set_channel_topic(
        self, channel_id: ChannelId, topic: Annotated[str, Field(min_length=1, max_length=80, description="The new topic.")]
    ) -> ChannelTold:
        """Changes a channel's topic."""
        self._writable(channel_id)
        self.channels.update(channel_id, topic=plain(topic, "topic"))
        told: ChannelTold = TeamChat.get_channel(self, channel_id)
        return told

    @tool(destructive=True)
    def archive_channel(self, channel_id: ChannelId) -> ChannelDone:
        """Makes the user's own channel read only for good."""
        row = self._open(channel_id)
        if row.owner != ME:
            raise ToolError("denied", "only its owner archives a channel", f"Ask {self.mates[row.owner].name}.")
        self.channels.update(channel_id, archived=True)
        return {"channel_id": channel_id, "members": len(row.members)}

    # -- messages ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_messages(
        self, channel_id: ChannelId, pinned: Annotated[bool, Field(description="Only pinned ones.")] = False, limit: Limit = 5
    ) -> list[MessageShown]:
        """Lists a channel's messages, the newest first, without replies."""
        self._readable(channel_id)
        rows = self.messages.where(lambda m: m.channel_id == channel_id and not m.parent and (m.pinned or not pinned))
        return [self._shown(m) for m in self._newest(rows)[: int(limit)]]

    @tool(read_only=True)
    def list_replies(self, message_id: ChatMessageId, limit: Limit = 5) -> list[MessageShown]:
        """Lists the replies to a message, the newest first."""
        self._message(message_id)
        return [self._shown(m) for m in self._newest(self.messages.where(lambda m: m.parent == message_id))[: int(limit)]]

    @tool(read_only=True)
    def find_message(
        self, text: Annotated[str, Field(min_length=3, max_length=80, description="A part of its text.")]
    ) -> MessageShown:
        """Finds the newest message that has these words."""
        wanted = plain(text).casefold()
        rows = [m for m in self.messages.values() if wanted in m.text.casefold() and self._sees(m)]
        if not rows:
            raise ToolError("not_found", f"no message has {wanted[:40]!r}", "list_messages shows a channel's messages.")
        return self._shown(self._newest(rows)[0])

    @tool()
    def post_message(self, channel_id: ChannelId, text: MessageText) -> MessageDone:
        """Writes into a channel that the user is in."""
        self._writable(channel_id)
        return self._write(channel_id, "", plain(text), "")

    @tool()
    def reply_message(self, message_id: ChatMessageId, text: MessageText) -> MessageDone:
        """Replies to a message of a channel, or to a direct one."""
        row = self._message(message_id)
        if row.parent:
            raise ToolError("wrong_state", f"{message_id} is itself a reply", f"Reply to {row.parent}.")
        if not row.channel_id:
            return self._write("", row.to if row.author == ME else row.author, plain(text), message_id)
        self._writable(row.channel_id)
        return self._write(row.channel_id, "", plain(text), message_id)

    @tool(idempotent=True)
    def edit_message(self, message_id: ChatMessageId, text: MessageText) -> MessageDone:
        """Changes the text of one of the user's own messages."""
        row = self._own(message_id)
        self.messages.update(message_id, text=plain(text))
        return {"message_id": message_id, "at": row.at}

    @tool(destructive=True)
    def delete_message(self, message_id: ChatMessageId) -> MessageDone:
        """Deletes one of the user's own messages that nobody has replied to."""
        row = self._own(message_id)
        if any(m.parent == message_id for m in self.messages.values()):
            raise ToolError("wrong_state", f"{message_id} has replies", "edit_message can change its text.")
        self.messages.remove(message_id)
        return {"message_id": message_id, "at": row.at}

    @tool()
    def react_message(self, message_id: ChatMessageId, emoji: Emoji) -> ReactionDone:
        """Adds the user's reaction to a message, once each."""
        row = self._message(message_id)
        if row.channel_id:
            self._writable(row.channel_id)
        if (emoji, ME) in row.reactions:
            raise ToolError("conflict", "the user reacted like this already", "Use another reaction.")
        self.messages.update(message_id, reactions=(*row.reactions, (emoji, ME)))
        return {"message_id": message_id, "reactions": len(row.reactions) + 1}

    @tool(idempotent=True)
    def pin_message(self, message_id: ChatMessageId) -> PinDone:
        """Pins a message in its channel; a channel has at most 5 pins."""
        row = self._message(message_id)
        if not row.channel_id:
            raise ToolError("wrong_state", "a direct message cannot be pinned", "Pin messages of channels.")
        self._writable(row.channel_id)
        others = sum(m.pinned for m in self.messages.values() if m.channel_id == row.channel_id and m.message_id != message_id)
        if others >= 5:
            raise ToolError("insufficient", "this channel has 5 pins already", "unpin_message frees one.")
        self.messages.update(message_id, pinned=True)
        return {"message_id": message_id, "pinned": True}

    @tool(idempotent=True)
    def unpin_message(self, message_id: ChatMessageId) -> PinDone:
        """Takes a message off its channel's pins."""
        row = self._message(message_id)
        if row.channel_id:
            self._writable(row.channel_id)
        self.messages.update(message_id, pinned=False)
        return {"message_id": message_id, "pinned": False}

    # -- people ------------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_mate(self, name: KnownName) -> MateShown:
        """Finds a teammate by the full name."""
        row = named((m for m in self.mates.values() if m.mate_id != ME), name, "teammate", "list_mates")
        return {"mate_id": row.mate_id, "name": row.name, "presence": row.presence}

    @tool(read_only=True)
    def list_mates(
        self, presence: Literal["any", "online", "away", "busy", "offline"] = "any", limit: Limit = 5
    ) -> list[MateShown]:
        """Lists teammates, all or those in one presence."""
        rows = [m for m in self.mates.values() if m.mate_id != ME and presence in ("any", m.presence)][: int(limit)]
        return [{"mate_id": m.mate_id, "name": m.name, "presence": m.presence} for m in rows]

    @tool()
    def message_mate(self, mate_id: MateId, text: MessageText) -> MessageDone:
        """Writes a direct message."""
        if self._mate(mate_id).mate_id == ME:
            raise ToolError("invalid_value", "the user cannot write to themselves", "list_mates shows the others.")
        return self._write("", mate_id, plain(text), "")

    @tool(read_only=True)
    def list_direct_messages(self, mate_id: MateId, limit: Limit = 5) -> list[MessageShown]:
        """Lists direct messages with a teammate, the newest first."""
        self._mate(mate_id)
        rows = self.messages.where(lambda m: not m.channel_id and not m.parent and mate_id in (m.author, m.to))
        return [self._shown(m) for m in self._newest(rows)[: int(limit)]]

    @tool(idempotent=True)
    def set_presence(self, status: Annotated[Status, Field(description="What others see.")]) -> StatusDone:
        """Changes what others see of the user."""
        text = plain(status["text"], "text") if status["text"] else ""
        self.mates.update(ME, presence=status["presence"], status=text)
        return {"presence": status["presence"], "text": text}

    # -- helpers -----------------------------------------------------------------------------------

    def _visible(self) -> list[Channel]:
        return self.channels.where(lambda r: not r.private or ME in r.members)

    def _channel(self, channel_id: str) -> Channel:
        row = existing(self.channels, channel_id, "channel", "list_channels")
        if row.private and ME not in row.members:  # as if it did not exist
            raise ToolError("not_found", f"there is no channel {channel_id}", "list_channels shows what there is.")
        return row

    def _open(self, channel_id: str) -> Channel:
        row = self._channel(channel_id)
        if row.archived:
            raise ToolError("wrong_state", f"{channel_id} is archived", "Use another channel.")
        return row

    def _readable(self, channel_id: str) -> Channel:
        return self._channel(channel_id)

    def _writable(self, channel_id: str) -> Channel:
        row = self._open(channel_id)
        if ME not in row.members:
            raise ToolError("denied", "the user is not in this channel", "Use join_channel first.")
        return row

    def _members(self, row: Channel, members: tuple[str, ...]) -> ChannelDone:
        self.channels.update(row.channel_id, members=members)
        return {"channel_id": row.channel_id, "members": len(members)}

    def _mate(self, mate_id: str) -> Mate:
        return existing(self.mates, mate_id, "teammate", "list_mates")

    def _sees(self, row: Message) -> bool:
        if not row.channel_id:
            return ME in (row.author, row.to)
        channel = self.channels[row.channel_id]
        return not channel.private or ME in channel.members

    def _message(self, message_id: str) -> Message:
        row = existing(self.messages, message_id, "message", "list_messages")
        if not self._sees(row):
            raise ToolError("not_found", f"there is no message {message_id}", "list_messages shows what there is.")
        return row

    def _own(self, message_id: str) -> Message:
        row = self._message(message_id)
        if row.author != ME:
            raise ToolError("denied", "this is somebody else's message", "Only own messages can be changed.")
        if row.channel_id:
            self._open(row.channel_id)
        return row

    def _newest(self, rows: list[Message]) -> list[Message]:
        return sorted(rows, key=lambda m: (m.at, m.message_id), reverse=True)

    def _shown(self, row: Message) -> MessageShown:
        replies = sum(m.parent == row.message_id for m in self.messages.values())
        return {
            "message_id": row.message_id,
            "author": "you" if row.author == ME else self.mates[row.author].name,
            "text": row.text,
            "replies": replies,
            "reactions": len(row.reactions),
        }

    def _write(self, channel_id: str, to: str, text: str, parent: str) -> MessageDone:
        key = self.messages.fresh("msg", channel_id, to, text, parent)
        at = f"{self.now:%Y-%m-%d %H:%M}"
        self.messages.put(key, Message(key, channel_id, to, ME, text, at, parent))
        return {"message_id": key, "at": at}


def _channel_shown(row: Channel) -> ChannelShown:
    return {"channel_id": row.channel_id, "name": row.name, "private": row.private, "members": len(row.members)}
