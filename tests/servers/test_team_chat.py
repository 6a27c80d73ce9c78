"""The team chat server: only members write, private channels stay unseen, counts are those of what exists."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.servers.session import Session
from tasks.servers.team_chat import ME, TeamChat
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import machine, world


def check(session: Session) -> None:
    """References resolve, the user's messages stand where they may write, pins and reactions keep their rules."""
    chat: Any = state_of(session, TeamChat)
    if chat is None:
        return
    for channel in chat.channels.values():
        assert channel.owner in channel.members and len(set(channel.members)) == len(channel.members)
        assert all(m in chat.mates for m in channel.members)
    names = [c.name.casefold() for c in chat.channels.values()]
    assert len(names) == len(set(names))
    for message in chat.messages.values():
        assert bool(message.channel_id) != bool(message.to)
        assert message.author in chat.mates and message.author != message.to
        assert len(set(message.reactions)) == len(message.reactions)
        if message.parent:
            parent = chat.messages[message.parent]
            assert not parent.parent and parent.channel_id == message.channel_id
        if message.pinned:
            assert message.channel_id
    for channel in chat.channels.values():
        assert sum(m.pinned for m in chat.messages.values() if m.channel_id == channel.channel_id) <= 5


TestTeamChat = machine(TeamChat, check)


def test_the_definition() -> None:
    check_server(TeamChat, tools=11)
    check_seeding(TeamChat)


@pytest.fixture
def session() -> Any:
    with world(TeamChat).session(7) as opened:
        ok(opened, "list_channels")
        yield opened


def channels(session: Session, **wanted: Any) -> list[Any]:
    chat: Any = state_of(session, TeamChat)
    found = {"mine": lambda c: c.owner == ME, "member": lambda c: ME in c.members}
    return [
        c
        for c in chat.channels.values()
        if all(found[k](c) == v if k in found else getattr(c, k) == v for k, v in wanted.items())
    ]


def test_only_members_write_and_joining_lets_them(session: Session) -> None:
    channel = channels(session, member=False, private=False, archived=False)[0].channel_id
    refused(session, "denied", "post_message", channel_id=channel, text="hello")
    ok(session, "join_channel", channel_id=channel)
    sent = ok(session, "post_message", channel_id=channel, text="hello")
    refused(session, "wrong_state", "join_channel", channel_id=channel)
    assert ok(session, "list_messages", channel_id=channel)[0]["message_id"] == sent["message_id"]
    ok(session, "leave_channel", channel_id=channel)
    refused(session, "denied", "reply_message", message_id=sent["message_id"], text="me again")


def test_private_channels_of_others_do_not_exist_for_the_user(session: Session) -> None:
    chat: Any = state_of(session, TeamChat)
    hidden = channels(session, private=True, member=False)[0]
    refused(session, "not_found", "get_channel", channel_id=hidden.channel_id)
    refused(session, "not_found", "find_channel", name=hidden.name)
    inside = [m for m in chat.messages.values() if m.channel_id == hidden.channel_id]
    for message in inside:
        refused(session, "not_found", "react_message", message_id=message.message_id, emoji="heart")
    shown = {c["channel_id"] for c in ok(session, "list_channels", limit=50)}
    assert hidden.channel_id not in shown


def test_an_archived_channel_is_read_only(session: Session) -> None:
    own = channels(session, mine=True, archived=False)[0].channel_id
    sent = ok(session, "post_message", channel_id=own, text="the last word")
    ok(session, "archive_channel", channel_id=own)
    refused(session, "wrong_state", "post_message", channel_id=own, text="one more")
    refused(session, "wrong_state", "edit_message", message_id=sent["message_id"], text="changed")
    assert ok(session, "list_messages", channel_id=own)[0]["text"] == "the last word"
    other = channels(session, mine=False, member=True, archived=False)[0].channel_id
    refused(session, "denied", "archive_channel", channel_id=other)


def test_own_messages_change_and_those_with_replies_stay(session: Session) -> None:
    own = channels(session, mine=True)[0].channel_id
    sent = ok(session, "post_message", channel_id=own, text="draft")["message_id"]
    ok(session, "edit_message", message_id=sent, text="final")
    reply = ok(session, "reply_message", message_id=sent, text="noted")["message_id"]
    refused(session, "wrong_state", "reply_message", message_id=reply, text="deeper")
    refused(session, "wrong_state", "delete_message", message_id=sent)
    ok(session, "delete_message", message_id=reply)
    ok(session, "delete_message", message_id=sent)
    refused(session, "not_found", "list_replies", message_id=sent)
    chat: Any = state_of(session, TeamChat)
    foreign = next(m for m in chat.messages.values() if (m.author != ME and m.channel_id == own) or m.to == ME)
    refused(session, "denied", "delete_message", message_id=foreign.message_id)


def test_reactions_count_once_and_pins_have_a_limit(session: Session) -> None:
    own = ok(session, "create_channel", name="Fresh start", mate_ids=[])["channel_id"]
    sent = [ok(session, "post_message", channel_id=own, text=f"note {n}")["message_id"] for n in range(6)]
    assert ok(session, "react_message", message_id=sent[0], emoji="party") == {"message_id": sent[0], "reactions": 1}
    refused(session, "conflict", "react_message", message_id=sent[0], emoji="party")
    for message in sent[:5]:
        ok(session, "pin_message", message_id=message)
    refused(session, "insufficient", "pin_message", message_id=sent[5])
    ok(session, "unpin_message", message_id=sent[0])
    ok(session, "pin_message", message_id=sent[5])
    assert len(ok(session, "list_messages", channel_id=own, pinned=True)) == 5


def test_direct_messages_and_presence(session: Session) -> None:
    mate = ok(session, "list_mates")[0]
    sent = ok(session, "message_mate", mate_id=mate["mate_id"], text="lunch?")["message_id"]
    assert ok(session, "list_direct_messages", mate_id=mate["mate_id"])[0]["message_id"] == sent
    refused(session, "invalid_value", "message_mate", mate_id=ME, text="me")
    refused(session, "wrong_state", "pin_message", message_id=sent)
    assert ok(session, "set_presence", status={"presence": "busy", "text": "in a call"})["presence"] == "busy"
    refused(session, "invalid_arguments", "set_presence", status={"presence": "busy", "text": "", "until": "noon"})
