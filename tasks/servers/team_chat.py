"""The team chat server: channels with members, messages with replies, reactions and pins, direct messages.

    with environment(["team_chat"]).session(7) as session:
        session.call("list_channels", {})

The user sees public channels and the private ones that they are in; only members write, edit and react. An archived channel
is read only, and in one for announcements the owner alone writes. A channel's owner alone invites to a private one, removes
members, hands it over and archives it.

Left out: files, threads inside threads, and teammates who answer by themselves.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tasks.servers import team_chat_types as t
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.team_chat_data import seed_rows
from tasks.servers.team_chat_types import ME, Channel, Mate, Message
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Limit, plain
from tasks.servers.world import World


class TeamChat(Server):
    """One team's chat, as one member sees it."""

    name = "team_chat"
    title = "Channels, messages, reactions and direct messages of a team."

    channels: Table[Channel]
    mates: Table[Mate]
    messages: Table[Message]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- channels ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_channel(self, name: t.KnownName) -> t.ChannelShown:
        """Finds a channel by its name."""
        return _channel_shown(named(self._visible(), name, "channel", "list_channels"))

    @tool(read_only=True)
    def list_channels(
        self, joined: Annotated[bool, Field(description="Only those that the user is in.")] = False, limit: Limit = 5
    ) -> list[t.ChannelShown]:
        """Lists the channels that the user can see, or only those that they are in."""
        return [_channel_shown(r) for r in self._visible() if not joined or ME in r.members][: int(limit)]

    @tool(read_only=True)
    def get_channel(self, channel_id: t.ChannelId) -> t.ChannelTold:
        """Owner, topic and size of a channel."""
        row = self._channel(channel_id)
        count = sum(m.channel_id == channel_id for m in self.messages.values())
        return {
            "channel_id": channel_id,
            "owner_id": row.owner,
            "topic": row.topic,
            "messages": count,
            "archived": row.archived,
            "announce": row.announce,
        }

    @tool()
    def create_channel(
        self,
        name: t.NewName,
        mate_ids: Annotated[list[t.MateId], Field(max_length=8, description="Who is in it besides the user.")],
        private: Annotated[bool, Field(description="Only members see it.")] = False,
    ) -> t.ChannelDone:
        """Creates a channel that the user owns."""
        name = unused(self.channels.values(), name, "channel")
        members = tuple(dict.fromkeys([ME, *(self._mate(m).mate_id for m in mate_ids)]))
        key = self.channels.fresh("chan", name)
        self.channels.put(key, Channel(key, name, private, ME, members))
        return {"channel_id": key, "members": len(members)}

    @tool()
    def join_channel(self, channel_id: t.ChannelId) -> t.ChannelDone:
        """Joins a public channel."""
        row = self._open(channel_id)
        if ME in row.members:
            raise ToolError("wrong_state", "the user is in this channel already", "Nothing is needed.")
        return self._members(row, (*row.members, ME))

    @tool()
    def leave_channel(self, channel_id: t.ChannelId) -> t.ChannelDone:
        """Leaves a channel. Its owner cannot leave before handing it over."""
        row = self._channel(channel_id)
        if ME not in row.members:
            raise ToolError("wrong_state", "the user is not in this channel", "Nothing is needed.")
        if row.owner == ME:
            raise ToolError("denied", "the owner cannot leave a channel", "Use hand_over_channel or archive_channel.")
        return self._members(row, tuple(m for m in row.members if m != ME))

    @tool()
    def invite_mate(self, channel_id: t.ChannelId, mate_id: t.MateId) -> t.ChannelDone:
        """Adds a teammate to a channel that the user is in; only its owner invites to a private one."""
        row, mate = self._writable(channel_id), self._mate(mate_id)
        if row.private and row.owner != ME:
            raise ToolError("denied", "only the owner invites to a private channel", f"Ask {self.mates[row.owner].name}.")
        if mate.mate_id in row.members:
            raise ToolError("conflict", f"{mate_id} is in this channel already", "Nothing is needed.")
        return self._members(row, (*row.members, mate_id))

    @tool(idempotent=True)
    def set_channel_topic(
        self, channel_id: t.ChannelId, topic: Annotated[str, Field(min_length=1, max_length=80, description="The new topic.")]
    ) -> t.ChannelTold:
        """Changes a channel's topic."""
        self._heard(channel_id)
        self.channels.update(channel_id, topic=plain(topic, "topic"))
        return self.get_channel(channel_id)

    @tool(read_only=True)
    def list_channel_members(self, channel_id: t.ChannelId, limit: Limit = 5) -> list[t.MateShown]:
        """Lists the teammates in a channel, without the user."""
        members = [self.mates[key] for key in self._channel(channel_id).members if key != ME]
        return [_mate_shown(m) for m in members[: int(limit)]]

    @tool()
    def remove_mate(self, channel_id: t.ChannelId, mate_id: t.MateId) -> t.ChannelDone:
        """Takes a teammate out of a channel that the user owns; their messages stay."""
        row, mate = self._mine(channel_id), self._mate(mate_id)
        if mate.mate_id == ME:
            raise ToolError("invalid_value", "the user owns this channel", "Use hand_over_channel, then leave_channel.")
        if mate_id not in row.members:
            raise ToolError("wrong_state", f"{mate_id} is not in this channel", "list_channel_members shows who is.")
        return self._members(row, tuple(m for m in row.members if m != mate_id))

    @tool()
    def hand_over_channel(self, channel_id: t.ChannelId, mate_id: t.MateId) -> t.ChannelOwner:
        """Makes another member the owner of a channel that the user owns."""
        row, mate = self._mine(channel_id), self._mate(mate_id)
        if mate.mate_id == ME:
            raise ToolError("wrong_state", "the user owns this channel already", "Nothing is needed.")
        if mate_id not in row.members:
            raise ToolError("wrong_state", f"{mate_id} is not in this channel", "Use invite_mate first.")
        self.channels.update(channel_id, owner=mate_id)
        return {"channel_id": channel_id, "owner_id": mate_id}

    @tool(idempotent=True)
    def restrict_channel(
        self, channel_id: t.ChannelId, announce: Annotated[bool, Field(description="Only the owner writes.")] = True
    ) -> t.ChannelMode:
        """Lets only the owner write in a channel that the user owns, or everybody again."""
        self._mine(channel_id)
        self.channels.update(channel_id, announce=announce)
        return {"channel_id": channel_id, "announce": announce}

    @tool(destructive=True)
    def archive_channel(self, channel_id: t.ChannelId) -> t.ChannelDone:
        """Makes the user's own channel read only for good."""
        row = self._mine(channel_id)
        self.channels.update(channel_id, archived=True)
        return {"channel_id": channel_id, "members": len(row.members)}

    # -- messages ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_messages(
        self, channel_id: t.ChannelId, pinned: Annotated[bool, Field(description="Only pinned ones.")] = False, limit: Limit = 5
    ) -> list[t.MessageShown]:
        """Lists a channel's messages without replies, the newest first; or what is pinned in it."""
        self._channel(channel_id)
        rows = self.messages.where(lambda m: m.channel_id == channel_id and (m.pinned if pinned else not m.parent))
        return [self._shown(m) for m in self._newest(rows)[: int(limit)]]

    @tool(read_only=True)
    def list_replies(self, message_id: t.ChatMessageId, limit: Limit = 5) -> list[t.MessageShown]:
        """Lists the replies to a message, the newest first."""
        self._message(message_id)
        return [self._shown(m) for m in self._newest(self.messages.where(lambda m: m.parent == message_id))[: int(limit)]]

    @tool(read_only=True)
    def find_message(self, text: t.Words) -> t.MessageShown:
        """Finds the newest message that has these words."""
        rows = self._having(text)
        if not rows:
            raise ToolError("not_found", f"no message has {text[:40]!r}", "list_messages shows a channel's messages.")
        return self._shown(rows[0])

    @tool(read_only=True)
    def search_messages(
        self,
        text: t.Words,
        mate_id: Annotated[t.MateId | None, Field(description="Only what this teammate wrote.")] = None,
        limit: Limit = 5,
    ) -> list[t.MessageShown]:
        """Lists messages that have these words, the newest first."""
        author = self._mate(mate_id).mate_id if mate_id is not None else ""
        return [self._shown(m) for m in self._having(text) if author in ("", m.author)][: int(limit)]

    @tool(read_only=True)
    def get_message(self, message_id: t.ChatMessageId) -> t.MessageTold:
        """Who wrote a message, when and where."""
        row = self._message(message_id)
        told: t.MessageTold = {"message_id": message_id, "author_id": row.author, "at": row.at, "pinned": row.pinned}
        if row.channel_id:
            told["channel_id"] = row.channel_id
        if row.parent:
            told["reply_to"] = row.parent
        return told

    @tool()
    def post_message(self, channel_id: t.ChannelId, text: t.MessageText) -> t.MessageDone:
        """Writes into a channel that the user is in."""
        self._heard(channel_id)
        return self._write(channel_id, "", plain(text), "")

    @tool()
    def reply_message(self, message_id: t.ChatMessageId, text: t.MessageText) -> t.MessageDone:
        """Replies to a message of a channel, or to a direct one."""
        row = self._message(message_id)
        if row.parent:
            raise ToolError("wrong_state", f"{message_id} is itself a reply", f"Reply to {row.parent}.")
        if not row.channel_id:
            return self._write("", row.to if row.author == ME else row.author, plain(text), message_id)
        self._heard(row.channel_id)
        return self._write(row.channel_id, "", plain(text), message_id)

    @tool(idempotent=True)
    def edit_message(self, message_id: t.ChatMessageId, text: t.MessageText) -> t.MessageDone:
        """Changes the text of one of the user's own messages."""
        row = self._own(message_id)
        self.messages.update(message_id, text=plain(text))
        return {"message_id": message_id, "at": row.at}

    @tool(destructive=True)
    def delete_message(self, message_id: t.ChatMessageId) -> t.MessageDone:
        """Deletes one of the user's own messages that nobody has replied to."""
        row = self._own(message_id)
        if any(m.parent == message_id for m in self.messages.values()):
            raise ToolError("wrong_state", f"{message_id} has replies", "edit_message can change its text.")
        self.messages.remove(message_id)
        return {"message_id": message_id, "at": row.at}

    @tool()
    def react_message(self, message_id: t.ChatMessageId, emoji: t.Emoji) -> t.ReactionDone:
        """Adds the user's reaction to a message, once each."""
        row = self._message(message_id)
        if row.channel_id:
            self._writable(row.channel_id)
        if (emoji, ME) in row.reactions:
            raise ToolError("conflict", "the user reacted like this already", "Use another reaction.")
        self.messages.update(message_id, reactions=(*row.reactions, (emoji, ME)))
        return {"message_id": message_id, "reactions": len(row.reactions) + 1}

    @tool()
    def remove_reaction(self, message_id: t.ChatMessageId, emoji: t.Emoji) -> t.ReactionDone:
        """Takes one of the user's reactions back."""
        row = self._message(message_id)
        if row.channel_id:
            self._writable(row.channel_id)
        if (emoji, ME) not in row.reactions:
            raise ToolError("wrong_state", "the user has not reacted like this", "list_reactions shows who did.")
        self.messages.update(message_id, reactions=tuple(r for r in row.reactions if r != (emoji, ME)))
        return {"message_id": message_id, "reactions": len(row.reactions) - 1}

    @tool(read_only=True)
    def list_reactions(self, message_id: t.ChatMessageId) -> list[t.ReactionShown]:
        """Counts the reactions to a message by kind, and says which are the user's."""
        given = self._message(message_id).reactions
        kinds = sorted({emoji for emoji, _ in given})
        return [{"emoji": k, "count": sum(e == k for e, _ in given), "mine": (k, ME) in given} for k in kinds]

    @tool(idempotent=True)
    def pin_message(self, message_id: t.ChatMessageId) -> t.PinDone:
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
    def unpin_message(self, message_id: t.ChatMessageId) -> t.PinDone:
        """Takes a message off its channel's pins."""
        row = self._message(message_id)
        if row.channel_id:
            self._writable(row.channel_id)
        self.messages.update(message_id, pinned=False)
        return {"message_id": message_id, "pinned": False}

    # -- people ------------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_mate(self, name: t.KnownName) -> t.MateShown:
        """Finds a teammate by the full name."""
        return _mate_shown(named((m for m in self.mates.values() if m.mate_id != ME), name, "teammate", "list_mates"))

    @tool(read_only=True)
    def get_mate(self, mate_id: t.MateId) -> t.MateTold:
        """A teammate's presence and status line, and how many channels they share with the user."""
        row = self._mate(mate_id)
        shared = sum({ME, mate_id} <= set(c.members) for c in self.channels.values())
        return {"mate_id": mate_id, "presence": row.presence, "status": row.status, "shared_channels": shared}

    @tool(read_only=True)
    def list_mates(
        self,
        presence: Annotated[
            Literal["any", "online", "away", "busy", "offline"], Field(description="Only those reachable like this.")
        ] = "any",
        limit: Limit = 5,
    ) -> list[t.MateShown]:
        """Lists teammates, all or those in one presence."""
        rows = [m for m in self.mates.values() if m.mate_id != ME and presence in ("any", m.presence)][: int(limit)]
        return [_mate_shown(m) for m in rows]

    @tool()
    def message_mate(self, mate_id: t.MateId, text: t.MessageText) -> t.MessageDone:
        """Writes a direct message."""
        if self._mate(mate_id).mate_id == ME:
            raise ToolError("invalid_value", "the user cannot write to themselves", "list_mates shows the others.")
        return self._write("", mate_id, plain(text), "")

    @tool(read_only=True)
    def list_direct_messages(self, mate_id: t.MateId, limit: Limit = 5) -> list[t.MessageShown]:
        """Lists direct messages with a teammate, the newest first."""
        self._mate(mate_id)
        rows = self.messages.where(lambda m: not m.channel_id and not m.parent and mate_id in (m.author, m.to))
        return [self._shown(m) for m in self._newest(rows)[: int(limit)]]

    @tool(idempotent=True)
    def set_presence(self, status: Annotated[t.Status, Field(description="What others see.")]) -> t.StatusDone:
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

    def _writable(self, channel_id: str) -> Channel:
        row = self._open(channel_id)
        if ME not in row.members:
            raise ToolError("denied", "the user is not in this channel", "Use join_channel first.")
        return row

    def _heard(self, channel_id: str) -> None:
        """Refuses unless the user may write messages there."""
        row = self._writable(channel_id)
        if row.announce and row.owner != ME:
            raise ToolError("denied", "only its owner writes in this channel", f"Ask {self.mates[row.owner].name}.")

    def _mine(self, channel_id: str) -> Channel:
        """A channel that the user owns and that is not archived."""
        row = self._open(channel_id)
        if row.owner != ME:
            raise ToolError("denied", "only its owner does that in a channel", f"Ask {self.mates[row.owner].name}.")
        return row

    def _members(self, row: Channel, members: tuple[str, ...]) -> t.ChannelDone:
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
            self._writable(row.channel_id)
        return row

    def _having(self, text: str) -> list[Message]:
        """What the user sees that has these words, the newest first."""
        wanted = plain(text).casefold()
        return self._newest([m for m in self.messages.values() if wanted in m.text.casefold() and self._sees(m)])

    def _newest(self, rows: list[Message]) -> list[Message]:
        return sorted(rows, key=lambda m: (m.at, m.message_id), reverse=True)

    def _shown(self, row: Message) -> t.MessageShown:
        replies = sum(m.parent == row.message_id for m in self.messages.values())
        return {
            "message_id": row.message_id,
            "author": "you" if row.author == ME else self.mates[row.author].name,
            "text": row.text,
            "replies": replies,
            "reactions": len(row.reactions),
        }

    def _write(self, channel_id: str, to: str, text: str, parent: str) -> t.MessageDone:
        key = self.messages.fresh("msg", channel_id, to, text, parent)
        at = f"{self.now:%Y-%m-%d %H:%M}"
        self.messages.put(key, Message(key, channel_id, to, ME, text, at, parent))
        return {"message_id": key, "at": at}


def _channel_shown(row: Channel) -> t.ChannelShown:
    return {"channel_id": row.channel_id, "name": row.name, "private": row.private, "members": len(row.members)}


def _mate_shown(row: Mate) -> t.MateShown:
    return {"mate_id": row.mate_id, "name": row.name, "presence": row.presence}
