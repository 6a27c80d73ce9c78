"""Word lists and seeded rows of the email server.

    rows = seed_rows(World(7, "email"))

Every world has threads in the inbox, the archive, spam and the trash, a snoozed message, starred ones, attachments, drafts,
a label for every rule, one blocked sender whose messages are in spam, and one sender who is no contact yet.

Left out: newsletters, which nobody answers.
"""

from __future__ import annotations

import datetime as dt

from tasks.servers.email_types import Attachment, Contact, Draft, Email, Folder, Label, Owner, Rule
from tasks.servers.state import Seed
from tasks.servers.world import World, words

TOPICS = words(
    """invoice proposal itinerary agenda contract budget survey newsletter receipt schedule deadline workshop interview brochure
    warranty estimate timesheet payslip renewal membership booking delivery refund reminder minutes draft report roadmap
    checklist handbook transcript quotation statement visa syllabus manuscript blueprint inventory"""
)
MATTERS = words(
    """Garden Harbor Marathon Orchestra Pottery Quarry Regatta Safari Telescope Vineyard Winter Yearbook Zoo Archive Bakery
    Canyon Dockside Estuary Festival Gallery Hillside Island Jubilee Kitchen Library Museum Nursery Observatory Parade Reunion
    Seminar Theatre Upland Village Wedding Aviary"""
)
LABELS = words(
    """Urgent Personal Receipts Travel Clients Taxes School Recipes Health Housing Projects Waiting Followup Reading Events
    Family Invoices Legal Press Research Sports Volunteering Warranty Newsletters Orders Payroll Music Garden Archive Ideas
    Banking Insurance Neighbours Hobbies Contracts Meetings Photos Pets Shopping Tickets"""
)
ASKS = (
    "Could you send me the {}?",
    "Here is the {}, as promised.",
    "Please check the {} by Friday.",
    "The {} is not what we agreed on.",
    "I have a question about the {}.",
    "We still need the {}.",
)
ANSWERS = (
    "Thank you, the {} is fine.",
    "I will look at the {} tomorrow.",
    "Can we talk about the {}?",
    "The {} is on its way.",
)
ENDINGS = ("pdf", "docx", "xlsx", "png")
FOLDERS: tuple[Folder, ...] = ("inbox", "inbox", "inbox", "archive", "inbox", "trash", "inbox", "archive")
THREADS, CONTACTS, LONGEST = 18, 10, 3
BLOCKED = 9
"""The contact who is blocked; threads go round the contacts."""


def seed_rows(world: World) -> Seed:
    """All tables of one world."""
    me, *others = world.people()
    contacts = {
        key: Contact(key, person.name, person.email, n == BLOCKED)
        for n, (key, person) in enumerate(zip(world.ids("ect", CONTACTS), others, strict=False))
    }
    labels = {key: Label(key, name) for key, name in zip(world.ids("lbl", 6), world.picks(LABELS, 6), strict=True)}
    attachments = {
        key: Attachment(key, name, world.rng.randint(40, 4000))
        for key, name in zip(world.ids("eat", 14), _files(world, 14), strict=True)
    }
    senders, blocked = [person.email for person in others[: CONTACTS + 1]], others[BLOCKED].email
    emails = _emails(world, me.email, senders, blocked, list(labels), list(attachments))
    addresses = [c.address for c in contacts.values() if not c.blocked]
    drafts = {
        key: Draft(key, "", (world.choice(addresses),), title, _line(world), (world.choice(list(attachments)),) * (n == 0))
        for n, (key, title) in enumerate(zip(world.ids("dft", 4), _titles(world, 4), strict=True))
    }
    rules = {
        key: Rule(key, f"{name} mail", address, "archive", label)
        for key, name, address, label in zip(
            world.ids("rule", 2), world.picks(MATTERS, 2), addresses[3:5], list(labels), strict=False
        )
    }
    carried = {file for row in (*emails.values(), *drafts.values()) for file in row.attachments}
    return {
        "owner": {"owner": Owner(me.email)},
        "contacts": contacts,
        "emails": emails,
        "drafts": drafts,
        "labels": labels,
        "rules": rules,
        "attachments": {key: row for key, row in attachments.items() if key in carried},
    }


def _line(world: World) -> str:
    return world.choice(ASKS).format(world.pick(TOPICS))


def _titles(world: World, count: int) -> list[str]:
    """Distinct subjects."""
    pairs = [f"{matter} {topic}" for matter in world.picks(MATTERS, 6) for topic in world.picks(TOPICS, 6)]
    return world.rng.sample(pairs, count)


def _files(world: World, count: int) -> list[str]:
    return [f"{title.replace(' ', '_')}.{world.choice(ENDINGS)}" for title in _titles(world, count)]


def _emails(world: World, me: str, senders: list[str], blocked: str, labels: list[str], files: list[str]) -> dict[str, Email]:
    rows: dict[str, Email] = {}
    keys = iter(world.ids("eml", THREADS * LONGEST))
    unused = iter(files)
    for n, (thread, title) in enumerate(zip(world.ids("thr", THREADS), _titles(world, THREADS), strict=True)):
        other = senders[n % len(senders)]
        folder: Folder = "spam" if other == blocked else FOLDERS[n % len(FOLDERS)]
        also = senders[(n + 1) % len(senders)]
        at = world.now - dt.timedelta(days=world.rng.randint(4, 30), minutes=world.rng.randrange(600))
        for step in range(1 if other == blocked else world.rng.randint(1, LONGEST)):
            mine = step == 1
            sender, to = (me, (other,)) if mine else (other, (me, also) if n % 6 == 1 else (me,))
            body = world.choice(ANSWERS if mine else ASKS).format(world.pick(TOPICS))
            tags = (world.choice(labels),) if world.rng.random() < 0.3 else ()
            carried = next(unused, "") if not mine and world.rng.random() < 0.5 else ""
            key = next(keys)
            rows[key] = Email(
                key,
                thread,
                sender,
                to,
                title,
                body,
                f"{at:%Y-%m-%d %H:%M}",
                "sent" if mine else folder,
                mine or world.rng.random() < 0.5,
                not mine and n % 5 == 0,
                tags,
                (carried,) if carried else (),
                (world.now + dt.timedelta(days=2)).date().isoformat() if n == 4 and step == 0 else "",
                "sent" if mine else "inbox",
            )
            at += dt.timedelta(hours=world.rng.randint(1, 30), minutes=world.rng.randrange(60))
    return rows
