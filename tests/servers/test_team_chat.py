"""The team chat server: only members write, private channels stay unseen, counts are those of what exists."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.servers.session import Session
from tasks.servers.team_chat import TeamChat
from tasks.servers.team_chat_data import seed_rows
from tasks.servers.team_chat_types import ME
from tasks.servers.world import HELD_OUT_FROM, World
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
        assert all(person in chat.mates for _, person in message.reactions)
        if message.parent:
            parent = chat.messages[message.parent]
            assert not parent.parent and parent.channel_id == message.channel_id
            assert parent.at <= message.at
        if message.pinned:
            assert message.channel_id
    seeded = chat.messages.base
    for key, message in chat.messages.own.items():
        if key in seeded or key not in chat.messages or not message.channel_id:
            continue
        assert message.author == ME  # nobody but the user writes in a session
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
    refused(session, "denied", "edit_message", message_id=sent["message_id"], text="changed from outside")
    refused(session, "denied", "react_message", message_id=sent["message_id"], emoji="eyes")


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
    foreign = next(m for m in chat.messages.values() if m.author != ME and m.channel_id == own)
    refused(session, "denied", "delete_message", message_id=foreign.message_id)


def test_reactions_count_once_and_pins_have_a_limit(session: Session) -> None:
    own = ok(session, "create_channel", name="Fresh start", mate_ids=[])["channel_id"]
    sent = [ok(session, "post_message", channel_id=own, text=f"note {n}")["message_id"] for n in range(6)]
    assert ok(session, "react_message", message_id=sent[0], emoji="party") == {"message_id": sent[0], "reactions": 1}
    refused(session, "conflict", "react_message", message_id=sent[0], emoji="party")
    for message in sent[:5]:
        ok(session, "pin_message", message_id=message)
    refused(session, "insufficient", "pin_message", message_id=sent[5])
    assert ok(session, "remove_reaction", message_id=sent[0], emoji="party")["reactions"] == 0
    refused(session, "wrong_state", "remove_reaction", message_id=sent[0], emoji="party")
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
    mate_told = ok(session, "get_mate", mate_id=ME)
    assert (mate_told["presence"], mate_told["status"]) == ("busy", "in a call")


def test_an_owner_hands_a_channel_over_and_can_leave(session: Session) -> None:
    mates = [m["mate_id"] for m in ok(session, "list_mates")]
    own = ok(session, "create_channel", name="Handover", mate_ids=mates[:2])["channel_id"]
    refused(session, "denied", "leave_channel", channel_id=own)
    refused(session, "wrong_state", "hand_over_channel", channel_id=own, mate_id=mates[2])
    refused(session, "wrong_state", "hand_over_channel", channel_id=own, mate_id=ME)
    assert ok(session, "hand_over_channel", channel_id=own, mate_id=mates[0])["owner_id"] == mates[0]
    assert ok(session, "get_channel", channel_id=own)["owner_id"] == mates[0]
    refused(session, "denied", "archive_channel", channel_id=own)
    assert ok(session, "leave_channel", channel_id=own)["members"] == 2


def test_members_are_invited_and_removed_by_who_may(session: Session) -> None:
    mates = [m["mate_id"] for m in ok(session, "list_mates")]
    own = ok(session, "create_channel", name="Closed circle", mate_ids=mates[:1], private=True)["channel_id"]
    assert ok(session, "invite_mate", channel_id=own, mate_id=mates[1])["members"] == 3
    refused(session, "conflict", "invite_mate", channel_id=own, mate_id=mates[1])
    assert [m["mate_id"] for m in ok(session, "list_channel_members", channel_id=own)] == mates[:2]
    assert ok(session, "remove_mate", channel_id=own, mate_id=mates[0])["members"] == 2
    refused(session, "wrong_state", "remove_mate", channel_id=own, mate_id=mates[0])
    refused(session, "invalid_value", "remove_mate", channel_id=own, mate_id=ME)
    other = channels(session, mine=False, member=True, private=True)[0]
    outside = next(m for m in mates if m not in other.members)
    refused(session, "denied", "invite_mate", channel_id=other.channel_id, mate_id=outside)
    refused(session, "denied", "remove_mate", channel_id=other.channel_id, mate_id=other.owner)
    refused(session, "conflict", "create_channel", name="closed CIRCLE", mate_ids=[])


def test_in_an_announcement_channel_the_owner_alone_writes(session: Session) -> None:
    (channel,) = channels(session, announce=True)
    assert channel.owner != ME and ME in channel.members
    shown = ok(session, "list_messages", channel_id=channel.channel_id)[0]["message_id"]
    refused(session, "denied", "post_message", channel_id=channel.channel_id, text="me too")
    refused(session, "denied", "reply_message", message_id=shown, text="me too")
    ok(session, "react_message", message_id=shown, emoji="check")
    refused(session, "denied", "restrict_channel", channel_id=channel.channel_id, announce=False)
    refused(session, "denied", "set_channel_topic", channel_id=channel.channel_id, topic="Mine")
    own = channels(session, mine=True)[0].channel_id
    assert ok(session, "restrict_channel", channel_id=own)["announce"] is True
    ok(session, "post_message", channel_id=own, text="the owner still writes")


def test_reactions_are_counted_by_kind(session: Session) -> None:
    chat: Any = state_of(session, TeamChat)
    joined = {c.channel_id for c in channels(session, member=True, archived=False)}
    message = next(m for m in chat.messages.values() if m.channel_id in joined and m.reactions)
    ok(session, "react_message", message_id=message.message_id, emoji="party")
    counts = ok(session, "list_reactions", message_id=message.message_id)
    assert sum(c["count"] for c in counts) == len(message.reactions) + 1
    assert {"emoji": "party", "count": 1, "mine": True} in counts


def test_search_reaches_what_the_user_sees_only(session: Session) -> None:
    chat: Any = state_of(session, TeamChat)
    hidden = channels(session, private=True, member=False)[0].channel_id
    secret = next(m for m in chat.messages.values() if m.channel_id == hidden)
    shown = [m["message_id"] for m in ok(session, "search_messages", text=secret.text, limit=50)]
    assert secret.message_id not in shown
    refused(session, "not_found", "get_message", message_id=secret.message_id)
    own = channels(session, mine=True)[0].channel_id
    first = ok(session, "post_message", channel_id=own, text="Purple elephants")["message_id"]
    mate = ok(session, "list_mates")[0]["mate_id"]
    assert ok(session, "find_message", text="purple ELEPHANTS")["message_id"] == first
    assert [m["message_id"] for m in ok(session, "search_messages", text="elephants", mate_id=ME)] == [first]
    assert ok(session, "search_messages", text="elephants", mate_id=mate) == []
    reply = ok(session, "reply_message", message_id=first, text="Indeed")["message_id"]
    told = ok(session, "get_message", message_id=reply)
    assert (told["channel_id"], told["reply_to"], told["author_id"]) == (own, first, ME)
    ok(session, "pin_message", message_id=reply)
    assert reply in [m["message_id"] for m in ok(session, "list_messages", channel_id=own, pinned=True)]
    assert reply not in [m["message_id"] for m in ok(session, "list_messages", channel_id=own, limit=50)]
    sent = ok(session, "message_mate", mate_id=mate, text="between us")["message_id"]
    assert "channel_id" not in ok(session, "get_message", message_id=sent)


@pytest.mark.parametrize("first", [0, HELD_OUT_FROM])
def test_many_worlds_are_consistent(first: int) -> None:
    for seed in range(first, first + 100):
        rows: Any = seed_rows(World(seed, "team_chat"))
        found, messages = list(rows["channels"].values()), rows["messages"]
        assert len(found) == 10 and len(rows["mates"]) == 9
        assert [c.owner == ME for c in found[:2]] == [True, True]
        assert any(c.private and ME not in c.members for c in found) and any(c.archived for c in found)
        joinable = [c for c in found if not c.private and not c.archived and ME not in c.members]
        assert len(joinable) == 2
        for message in messages.values():
            if message.channel_id:
                channel = rows["channels"][message.channel_id]
                assert message.author in channel.members
                assert {person for _, person in message.reactions} <= set(channel.members)
                assert not channel.announce or message.author == channel.owner
        assert {m.channel_id for m in messages.values()} == {"", *rows["channels"]}
        assert any(m.parent for m in messages.values()) and any(m.to == ME for m in messages.values())
        assert any(m.author == ME and m.to for m in messages.values())
