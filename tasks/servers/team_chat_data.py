"""Word lists and seeded rows of the team chat server.

    rows = seed_rows(World(7, "team_chat"))

Every world has public and private channels that the user owns, is in, or is not in; an archived one, one for announcements,
replies, pins, reactions (some the user's) and direct messages.

Left out: channels without messages by their members.
"""

from __future__ import annotations

import datetime as dt

from tasks.servers.state import Seed
from tasks.servers.team_chat_types import ME, Channel, Mate, Message, Presence
from tasks.servers.world import World, words

CHANNELS = words(
    """Design Launch Support Hiring Finance Platform Mobile Research Sales Marketing Legal Onboarding Security Data Growth
    Payroll Release Quality Partner Office Travel Events Brand Content Community Billing Search Infra Analytics Roadmap
    Feedback Incident Newsletter Workshop Facilities Training Compliance Localization
    Firmware Operations Alumni Robotics Translation Storage Announcements Helpdesk Privacy Ethics Music Backups Inventory
    Strategy Hardware Logistics Wellness Interns Cloud Network"""
)
TOPICS = words(
    """agenda budget draft estimate forecast handover invoice kickoff layout migration notes outage plan quote report schedule
    survey template upgrade version whitepaper backlog contract deadline checklist mockup rollout summary timeline vendor"""
)
OPENERS = ("Please look at the", "Who has the latest", "I finished the", "Let us move the", "Can we discuss the")
ANSWERS = ("I will send the", "Not before the", "Done, see the", "Thanks for the")
STATUSES = ("", "In a meeting", "At lunch", "On a call", "Working from home", "Back tomorrow")
CHANNEL_COUNT, MATES = 10, 9
OWNED, JOINED = (0, 1), range(7)
PRIVATE, ARCHIVED, ANNOUNCED = (1, 5, 8), 4, 3
"""Channels by number: the user owns some of those that they are in; 8 is private without them, 7 and 9 can be joined."""
MESSAGES = 58
"""Every sixth is direct."""


def seed_rows(world: World) -> Seed:
    """All tables of one world."""
    people = world.people()
    ids = [ME, *(key for key in world.ids("mate", MATES) if key != ME)][:MATES]
    states: tuple[Presence, ...] = ("online", "away", "busy", "offline")
    mates = {
        key: Mate(key, person.name, world.choice(states), world.choice(STATUSES))
        for key, person in zip(ids, people, strict=False)
    }
    channels = _channels(world, ids[1:])
    return {"channels": channels, "mates": mates, "messages": _messages(world, list(channels.values()), ids[1:])}


def _channels(world: World, others: list[str]) -> dict[str, Channel]:
    rows = {}
    names = world.picks(CHANNELS, CHANNEL_COUNT)
    for n, (key, name) in enumerate(zip(world.ids("chan", len(names)), names, strict=True)):
        owner = ME if n in OWNED else world.choice(others)
        some = world.rng.sample(others, world.rng.randint(3, 5))
        members = tuple(dict.fromkeys([owner, *([ME] if n in JOINED else []), *some]))
        rows[key] = Channel(key, name, n in PRIVATE, owner, members, _topic(world), n == ARCHIVED, n == ANNOUNCED)
    return rows


def _topic(world: World) -> str:
    return " ".join(world.picks(TOPICS, 2))


def _messages(world: World, channels: list[Channel], others: list[str]) -> dict[str, Message]:
    rows: dict[str, Message] = {}
    starts: dict[str, list[str]] = {}
    keys = world.ids("msg", MESSAGES)
    minutes = sorted(world.rng.sample(range(60, 20 * 24 * 60), len(keys)), reverse=True)
    for n, (key, ago) in enumerate(zip(keys, minutes, strict=True)):  # the earliest first, so that replies follow
        at = f"{world.now - dt.timedelta(minutes=ago):%Y-%m-%d %H:%M}"
        if n % 6 == 5:
            author, to = (ME, world.choice(others)) if n % 4 == 1 else (world.choice(others), ME)
            rows[key] = Message(key, "", to, author, f"{world.choice(OPENERS)} {_topic(world)}", at)
            continue
        channel = channels[n % len(channels)] if n < 2 * len(channels) else world.choice(channels)
        before = starts.setdefault(channel.channel_id, [])
        parent = world.choice(before) if before and n % 4 == 3 else ""
        if not parent:
            before.append(key)
        author = channel.owner if channel.announce else world.choice(channel.members)
        text = f"{world.choice(ANSWERS if parent else OPENERS)} {_topic(world)}"
        likes = tuple((emoji, m) for emoji in ("heart", "eyes") for m in channel.members if world.rng.random() < 0.12)
        rows[key] = Message(key, channel.channel_id, "", author, text, at, parent, n % 9 == 1, likes)
    return rows
