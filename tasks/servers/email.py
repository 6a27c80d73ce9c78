"""The email server: one user's mailbox with threads, folders, drafts, labels, rules, contacts, snoozing and undoing a send.

    with environment(["email"]).session(7) as session:
        session.call("list_emails", {"folder": "inbox"})

Every message lies in exactly one folder. A sent message can be called back in the same session while nobody has answered; rules
move what they match when they are applied; a snoozed message is hidden from its folder until it is woken. Blocked senders
cannot be written to, and what they sent goes to spam.

Left out: attachments' contents, and people who answer by themselves.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Date, Limit, date_of, identifier, plain
from tasks.servers.world import World, words

EmailId = identifier("email", "eml")
ThreadId = identifier("email_thread", "thr")
DraftId = identifier("email_draft", "dft")
LabelId = identifier("email_label", "lbl")
ContactId = identifier("email_contact", "ect")
RuleId = identifier("email_rule", "rule")

Folder = Literal["inbox", "archive", "sent", "spam", "trash"]
AnyFolder = Annotated[Folder, Field(description="The folder.")]
MovedTo = Annotated[Literal["inbox", "archive", "spam"], Field(description="The folder to move to.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
Address = Annotated[str, Field(min_length=3, max_length=80, description="An email address.")]
Subject = Annotated[str, Field(min_length=1, max_length=80, description="The subject, one line.")]
Body = Annotated[str, Field(min_length=1, max_length=500, description="The text, one line.")]
ADDRESS = re.compile(r"[A-Za-z0-9._%+-]{1,40}@[A-Za-z0-9-]{1,30}(?:\.[A-Za-z0-9-]{1,20}){1,3}")

TOPICS = words(
    """invoice proposal itinerary agenda contract budget survey newsletter receipt schedule deadline workshop interview brochure
    warranty estimate timesheet payslip renewal membership booking delivery refund reminder minutes draft report roadmap
    checklist handbook transcript quotation statement visa syllabus manuscript blueprint inventory"""
)
MATTERS = words(
    """Garden Harbor Marathon Orchestra Pottery Quarry Regatta Safari Telescope Vineyard Winter Yearbook Zoo Archive Bakery
    Canyon Dockside Estuary Festival Gallery Hillside Island Jubilee Kitchen Library Museum Nursery Observatory Parade
    Reunion Seminar Theatre Upland Village Wedding Aviary"""
)
LABELS = words(
    """Urgent Personal Receipts Travel Clients Taxes School Recipes Health Housing Projects Waiting Followup Reading Events
    Family Invoices Legal Press Research Sports Volunteering Warranty Newsletters Orders Payroll Music Garden Archive Ideas"""
)


@dataclass(frozen=True, slots=True)
class Contact:
    contact_id: str
    name: str
    address: str
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class Email:
    """`home` is the folder that a message in the trash came from. `snoozed` is a day, or empty."""

    email_id: str
    thread_id: str
    sender: str
    to: tuple[str, ...]
    name: str
    body: str
    at: str
    folder: Folder
    read: bool = False
    starred: bool = False
    labels: tuple[str, ...] = ()
    snoozed: str = ""
    home: Folder = "inbox"
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    draft_id: str
    thread_id: str
    to: tuple[str, ...]
    name: str
    body: str


@dataclass(frozen=True, slots=True)
class Label:
    label_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Rule:
    """What comes from `address` goes to `folder`, and gets `label_id` if there is one."""

    rule_id: str
    name: str
    address: str
    folder: Literal["inbox", "archive", "spam"]
    label_id: str = ""


@dataclass(frozen=True, slots=True)
class Owner:
    """The one row of the mailbox: the user's address and signature."""

    address: str
    signature: str = ""


class EmailShown(TypedDict):
    email_id: EmailId
    sender: str
    subject: str
    read: bool


class EmailTold(TypedDict):
    email_id: EmailId
    thread_id: ThreadId
    sender: str
    body: str
    folder: Folder
    labels: list[str]


class EmailDone(TypedDict):
    email_id: EmailId
    folder: Folder


class FlagDone(TypedDict):
    email_id: EmailId
    read: bool
    starred: bool


class SnoozeDone(TypedDict):
    email_id: EmailId
    until: str


class ManyDone(TypedDict):
    changed: int
    folder: Folder


class Sent(TypedDict):
    email_id: EmailId
    thread_id: ThreadId
    recipients: int


class ThreadShown(TypedDict):
    thread_id: ThreadId
    subject: str
    emails: int


class DraftShown(TypedDict):
    draft_id: DraftId
    subject: str
    recipients: int


class LabelShown(TypedDict):
    label_id: LabelId
    name: str
    emails: int


class LabelsDone(TypedDict):
    email_id: EmailId
    labels: list[str]


class ContactShown(TypedDict):
    contact_id: ContactId
    name: str
    address: str
    blocked: bool


class RuleShown(TypedDict):
    rule_id: RuleId
    name: str
    address: str
    folder: Literal["inbox", "archive", "spam"]


class Counts(TypedDict):
    folder: Folder
    emails: int
    unread: int


class Signature(TypedDict):
    signature: str


class Message(TypedDict):
    """A message to write."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    to: Annotated[list[Address], Field(min_length=1, max_length=8, description="Who gets it.")]
    subject: Subject
    body: Body


class Mail(Server):
    """One user's mailbox."""

    name = "email"
    title = "Messages, threads, drafts, labels, rules and contacts of a mailbox."

    owner: Table[Owner]
    contacts: Table[Contact]
    emails: Table[Email]
    drafts: Table[Draft]
    labels: Table[Label]
    rules: Table[Rule]

    @classmethod
    def seed(cls, world: World) -> Seed:
        people = world.people()
        me = people[0].email
        contacts = {
            key: Contact(key, p.name, p.email, n == 9)
            for n, (key, p) in enumerate(zip(world.ids("ect", 10), people[1:11], strict=True))
        }
        labels = {key: Label(key, name) for key, name in zip(world.ids("lbl", 5), world.picks(LABELS, 5), strict=False)}
        addresses = [c.address for c in contacts.values()]
        emails: dict[str, Email] = {}
        threads = world.ids("thr", 16)
        titles = list(dict.fromkeys(f"{world.pick(MATTERS)} {world.pick(TOPICS)}" for _ in range(80)))[:16]
        keys = iter(world.ids("eml", 40))
        for n, (thread, title) in enumerate(zip(threads, titles, strict=False)):
            other = addresses[n % len(addresses)]
            folder: Folder = ("inbox", "inbox", "inbox", "archive", "inbox", "spam", "inbox", "trash")[n % 8]  # type: ignore[assignment]
            for step in range(world.rng.randint(1, 3)):
                mine = step % 2 == 1
                sender, to = (me, (other,)) if mine else (other, (me,))
                key = next(keys)
                at = f"{world.day(-30 + step, -3 + step)} {world.rng.randrange(7, 20):02d}:{world.rng.randrange(60):02d}"
                body = f"About the {world.pick(TOPICS)}: please see the {world.pick(TOPICS)}"
                tags = (world.choice(list(labels)),) if world.rng.random() < 0.3 else ()
                place: Folder = "sent" if mine else folder
                emails[key] = Email(
                    key, thread, sender, to, title, body, at, place, mine or world.rng.random() < 0.5, False, tags
                )
        drafts = {
            key: Draft(key, "", (world.choice(addresses),), f"{world.pick(MATTERS)} {world.pick(TOPICS)}", "To be finished")
            for key in world.ids("dft", 3)
        }
        rules = {
            key: Rule(key, f"{name} mail", address, "archive", world.choice(list(labels)))
            for key, name, address in zip(world.ids("rule", 2), world.picks(MATTERS, 2), addresses[3:5], strict=False)
        }
        return {
            "owner": {"owner": Owner(me)},
            "contacts": contacts,
            "emails": emails,
            "drafts": drafts,
            "labels": labels,
            "rules": rules,
        }

    # -- reading -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_emails(self, folder: AnyFolder = "inbox", limit: Limit = 5) -> list[EmailShown]:
        """Lists a folder's messages, the newest first, without snoozed ones."""
        rows = self.emails.where(lambda e: e.folder == folder and not e.snoozed)
        return [_email_shown(e) for e in _newest(rows)[: int(limit)]]

    @tool(read_only=True)
    def list_unread_emails(self, limit: Limit = 5) -> list[EmailShown]:
        """Lists unread messages of the inbox, the newest first."""
        rows = self.emails.where(lambda e: e.folder == "inbox" and not e.read and not e.snoozed)
        return [_email_shown(e) for e in _newest(rows)[: int(limit)]]

    @tool(read_only=True)
    def find_email(
        self, name: Annotated[str, Field(min_length=1, max_length=80, description="Its whole subject.")]
    ) -> EmailShown:
        """Finds the newest message with a subject, outside of spam and trash."""
        wanted = plain(name, "subject").casefold()
        rows = self.emails.where(lambda e: e.name.casefold() == wanted and e.folder not in ("spam", "trash"))
        if not rows:
            raise ToolError("not_found", f"no message has the subject {wanted[:40]!r}", "search_emails looks for words.")
        return _email_shown(_newest(rows)[0])

    @tool(read_only=True)
    def search_emails(
        self,
        text: Annotated[str, Field(min_length=3, max_length=60, description="Words of the subject or the text.")],
        limit: Limit = 5,
    ) -> list[EmailShown]:
        """Finds messages that contain words, the newest first, outside of spam and trash."""
        wanted = plain(text).casefold()
        rows = self.emails.where(lambda e: wanted in f"{e.name} {e.body}".casefold() and e.folder not in ("spam", "trash"))
        return [_email_shown(e) for e in _newest(rows)[: int(limit)]]

    @tool(read_only=True)
    def list_emails_from(self, contact_id: ContactId, limit: Limit = 5) -> list[EmailShown]:
        """Lists what a contact has sent, the newest first."""
        address = self._contact(contact_id).address
        return [_email_shown(e) for e in _newest(self.emails.where(lambda e: e.sender == address))[: int(limit)]]

    @tool(read_only=True)
    def get_email(self, email_id: EmailId) -> EmailTold:
        """A message's text, thread, folder and labels."""
        row = self._email(email_id)
        return {
            "email_id": email_id,
            "thread_id": row.thread_id,
            "sender": row.sender,
            "body": row.body,
            "folder": row.folder,
            "labels": [self.labels[key].name for key in row.labels],
        }

    @tool(read_only=True)
    def get_email_thread(self, thread_id: ThreadId, limit: Limit = 5) -> list[EmailShown]:
        """Lists the messages of a thread, the oldest first."""
        rows = self.emails.where(lambda e: e.thread_id == thread_id)
        if not rows:
            raise ToolError("not_found", f"there is no thread {thread_id}", "get_email shows a message's thread.")
        return [_email_shown(e) for e in _newest(rows)[::-1][: int(limit)]]

    @tool(read_only=True)
    def list_email_threads(self, limit: Limit = 5) -> list[ThreadShown]:
        """Lists threads of the inbox, those with most messages first."""
        counts: dict[str, int] = {}
        for row in self.emails.values():
            counts[row.thread_id] = counts.get(row.thread_id, 0) + 1
        inbox = {e.thread_id: e.name for e in self.emails.values() if e.folder == "inbox"}
        best = sorted(inbox, key=lambda key: (-counts[key], key))[: int(limit)]
        return [{"thread_id": key, "subject": inbox[key], "emails": counts[key]} for key in best]

    @tool(read_only=True)
    def count_emails(self, folder: AnyFolder = "inbox") -> Counts:
        """How many messages a folder has, and how many of them are unread."""
        rows = self.emails.where(lambda e: e.folder == folder)
        return {"folder": folder, "emails": len(rows), "unread": sum(not e.read for e in rows)}

    # -- sorting -----------------------------------------------------------------------------------

    @tool(idempotent=True)
    def mark_email(
        self,
        email_id: EmailId,
        read: Annotated[bool, Field(description="Read or unread.")] = True,
        starred: Annotated[bool, Field(description="With a star.")] = False,
    ) -> FlagDone:
        """Marks a message as read or unread, with a star or without."""
        self._email(email_id)
        self.emails.update(email_id, read=read, starred=starred)
        return {"email_id": email_id, "read": read, "starred": starred}

    @tool()
    def move_email(self, email_id: EmailId, folder: MovedTo) -> EmailDone:
        """Moves a received message to another folder."""
        row = self._received(email_id)
        if row.folder == folder:
            raise ToolError("wrong_state", f"{email_id} is in {folder} already", "Nothing is needed.")
        self.emails.update(email_id, folder=folder, snoozed="")
        return {"email_id": email_id, "folder": folder}

    @tool()
    def move_emails(
        self,
        email_ids: Annotated[list[EmailId], Field(min_length=1, max_length=20, description="Which messages.")],
        folder: MovedTo,
    ) -> ManyDone:
        """Moves several received messages to one folder; those that are there count as not changed."""
        rows = [self._received(key) for key in dict.fromkeys(email_ids)]
        changed = [row for row in rows if row.folder != folder]
        for row in changed:
            self.emails.update(row.email_id, folder=folder, snoozed="")
        return {"changed": len(changed), "folder": folder}

    @tool()
    def trash_email(self, email_id: EmailId) -> EmailDone:
        """Puts a message into the trash."""
        row = self._email(email_id)
        if row.folder == "trash":
            raise ToolError("wrong_state", f"{email_id} is in the trash already", "Nothing is needed.")
        self.emails.update(email_id, folder="trash", home=row.folder, snoozed="")
        return {"email_id": email_id, "folder": "trash"}

    @tool()
    def restore_email(self, email_id: EmailId) -> EmailDone:
        """Takes a message out of the trash, back to where it was."""
        row = self._email(email_id)
        if row.folder != "trash":
            raise ToolError("wrong_state", f"{email_id} is in {row.folder}", "Only messages in the trash can be restored.")
        self.emails.update(email_id, folder=row.home)
        return {"email_id": email_id, "folder": row.home}

    @tool(destructive=True)
    def empty_email_trash(self) -> ManyDone:
        """Deletes everything in the trash for good."""
        rows = self.emails.where(lambda e: e.folder == "trash")
        for row in rows:
            self.emails.remove(row.email_id)
        return {"changed": len(rows), "folder": "trash"}

    @tool()
    def snooze_email(self, email_id: EmailId, until: Date) -> SnoozeDone:
        """Hides a message of the inbox until a later day."""
        row, day = self._email(email_id), date_of(until)
        if row.folder != "inbox":
            raise ToolError("wrong_state", f"{email_id} is in {row.folder}", "Only messages of the inbox can be snoozed.")
        if day <= self.now.date() or day > self.now.date() + dt.timedelta(days=366):
            raise ToolError("invalid_value", f"{until} is not within the next year", "Give a day after today.")
        self.emails.update(email_id, snoozed=day.isoformat())
        return {"email_id": email_id, "until": day.isoformat()}

    @tool()
    def wake_email(self, email_id: EmailId) -> EmailDone:
        """Shows a snoozed message again, as unread."""
        row = self._email(email_id)
        if not row.snoozed:
            raise ToolError("wrong_state", f"{email_id} is not snoozed", "Nothing is needed.")
        self.emails.update(email_id, snoozed="", read=False)
        return {"email_id": email_id, "folder": row.folder}

    # -- writing -----------------------------------------------------------------------------------

    @tool()
    def send_email(self, message: Annotated[Message, Field(description="What to send.")]) -> Sent:
        """Sends a message; it begins a thread."""
        to = self._recipients(message["to"])
        subject, body = plain(message["subject"], "subject"), plain(message["body"])
        return self._send("", to, subject, body)

    @tool()
    def reply_email(self, email_id: EmailId, body: Body) -> Sent:
        """Answers the sender of a received message."""
        row = self._received(email_id)
        to = self._recipients([row.sender])
        self.emails.update(email_id, read=True)
        return self._send(row.thread_id, to, row.name, plain(body))

    @tool()
    def forward_email(
        self, email_id: EmailId, to: Annotated[list[Address], Field(min_length=1, max_length=8, description="Who gets it.")]
    ) -> Sent:
        """Sends a message on to others, in a thread of its own."""
        row = self._email(email_id)
        return self._send("", self._recipients(to), f"Fwd: {row.name}"[:80], row.body)

    @tool(destructive=True)
    def undo_send(self, email_id: EmailId) -> DraftShown:
        """Calls back a message that the user has sent in this session, while nothing follows it; it becomes a draft."""
        row = self._email(email_id)
        if not row.fresh or row.folder != "sent":
            raise ToolError(
                "wrong_state", f"{email_id} was not sent just now", "Only what was sent in this session can be undone."
            )
        later = [
            e for e in self.emails.values() if e.thread_id == row.thread_id and (e.at, e.email_id) > (row.at, row.email_id)
        ]
        if later:
            raise ToolError("wrong_state", f"{later[0].email_id} follows it in the thread", "It cannot be undone any more.")
        self.emails.remove(email_id)
        others = any(e.thread_id == row.thread_id for e in self.emails.values())
        return self._keep(row.thread_id if others else "", row.to, row.name, row.body)

    @tool()
    def create_email_draft(self, message: Annotated[Message, Field(description="What to keep.")]) -> DraftShown:
        """Keeps a message for later."""
        to = self._recipients(message["to"])
        return self._keep("", to, plain(message["subject"], "subject"), plain(message["body"]))

    @tool(read_only=True)
    def list_email_drafts(self, limit: Limit = 5) -> list[DraftShown]:
        """Lists messages that are written and not sent."""
        return [_draft_shown(d) for d in self.drafts.values()][: int(limit)]

    @tool(idempotent=True)
    def edit_email_draft(self, draft_id: DraftId, body: Body) -> DraftShown:
        """Changes the text of a draft."""
        self._draft(draft_id)
        return _draft_shown(self.drafts.update(draft_id, body=plain(body)))

    @tool()
    def send_email_draft(self, draft_id: DraftId) -> Sent:
        """Sends a draft; it is no draft any more."""
        row = self._draft(draft_id)
        to = self._recipients(row.to)
        self.drafts.remove(draft_id)
        return self._send(row.thread_id, to, row.name, row.body)

    @tool(destructive=True)
    def discard_email_draft(self, draft_id: DraftId) -> DraftShown:
        """Deletes a draft."""
        row = self._draft(draft_id)
        self.drafts.remove(draft_id)
        return _draft_shown(row)

    @tool(idempotent=True)
    def set_email_signature(
        self, text: Annotated[str, Field(max_length=60, description="One line; may be empty.")]
    ) -> Signature:
        """Changes the line that ends every message that is sent."""
        line = plain(text) if text else ""
        self.owner.update("owner", signature=line)
        return {"signature": line}

    # -- labels and rules --------------------------------------------------------------------------

    @tool(read_only=True)
    def find_email_label(self, name: KnownName) -> LabelShown:
        """Finds a label by its name."""
        return self._label_shown(named(self.labels.values(), name, "label", "list_email_labels"))

    @tool(read_only=True)
    def list_email_labels(self, limit: Limit = 5) -> list[LabelShown]:
        """Lists labels and how many messages have them."""
        return [self._label_shown(r) for r in self.labels.values()][: int(limit)]

    @tool(read_only=True)
    def list_labeled_emails(self, label_id: LabelId, limit: Limit = 5) -> list[EmailShown]:
        """Lists the messages that have a label, the newest first."""
        self._label(label_id)
        return [_email_shown(e) for e in _newest(self.emails.where(lambda e: label_id in e.labels))[: int(limit)]]

    @tool()
    def create_email_label(self, name: NewName) -> LabelShown:
        """Creates a label."""
        name = unused(self.labels.values(), name, "label")
        key = self.labels.fresh("lbl", name)
        return self._label_shown(self.labels.put(key, Label(key, name)))

    @tool(destructive=True)
    def delete_email_label(self, label_id: LabelId) -> LabelShown:
        """Deletes a label that no rule uses; messages lose it."""
        row = self._label(label_id)
        shown = self._label_shown(row)
        if any(rule.label_id == label_id for rule in self.rules.values()):
            raise ToolError("wrong_state", f"a rule uses {row.name}", "Use delete_email_rule first.")
        for mail in self.emails.where(lambda e: label_id in e.labels):
            self.emails.update(mail.email_id, labels=tuple(key for key in mail.labels if key != label_id))
        self.labels.remove(label_id)
        return shown

    @tool(idempotent=True)
    def label_email(self, email_id: EmailId, label_id: LabelId) -> LabelsDone:
        """Gives a message a label."""
        row = self._email(email_id)
        self._label(label_id)
        return self._set_labels(email_id, (*row.labels, label_id))

    @tool(idempotent=True)
    def unlabel_email(self, email_id: EmailId, label_id: LabelId) -> LabelsDone:
        """Takes a label off a message."""
        row = self._email(email_id)
        self._label(label_id)
        return self._set_labels(email_id, tuple(key for key in row.labels if key != label_id))

    @tool(read_only=True)
    def list_email_rules(self, limit: Limit = 5) -> list[RuleShown]:
        """Lists the rules that sort messages."""
        return [_rule_shown(r) for r in self.rules.values()][: int(limit)]

    @tool()
    def create_email_rule(
        self,
        name: NewName,
        contact_id: ContactId,
        folder: MovedTo,
        label_id: Annotated[LabelId | None, Field(description="A label to give, if any.")] = None,
    ) -> RuleShown:
        """Sorts what a contact sends: into a folder, with a label. One rule a contact."""
        name, contact = unused(self.rules.values(), name, "rule"), self._contact(contact_id)
        if label_id is not None:
            self._label(label_id)
        if any(r.address == contact.address for r in self.rules.values()):
            raise ToolError("conflict", f"there is a rule for {contact.name}", "Use delete_email_rule first.")
        key = self.rules.fresh("rule", name)
        return _rule_shown(self.rules.put(key, Rule(key, name, contact.address, folder, label_id or "")))

    @tool(idempotent=True)
    def apply_email_rule(self, rule_id: RuleId) -> ManyDone:
        """Applies a rule to what is in the inbox."""
        rule = existing(self.rules, rule_id, "rule", "list_email_rules")
        rows = self.emails.where(lambda e: e.sender == rule.address and e.folder == "inbox")
        for row in rows:
            tags = dict.fromkeys((*row.labels, *([rule.label_id] if rule.label_id else [])))
            snoozed = row.snoozed if rule.folder == "inbox" else ""
            self.emails.update(row.email_id, folder=rule.folder, labels=tuple(tags), snoozed=snoozed)
        return {"changed": len(rows), "folder": rule.folder}

    @tool(destructive=True)
    def delete_email_rule(self, rule_id: RuleId) -> RuleShown:
        """Deletes a rule; what it moved stays where it is."""
        row = existing(self.rules, rule_id, "rule", "list_email_rules")
        self.rules.remove(rule_id)
        return _rule_shown(row)

    # -- contacts ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_email_contact(self, name: KnownName) -> ContactShown:
        """Finds a contact by the full name."""
        return _contact_shown(named(self.contacts.values(), name, "contact", "list_email_contacts"))

    @tool(read_only=True)
    def list_email_contacts(self, limit: Limit = 5) -> list[ContactShown]:
        """Lists contacts with their addresses."""
        return [_contact_shown(c) for c in self.contacts.values()][: int(limit)]

    @tool()
    def add_email_contact(self, name: NewName, address: Address) -> ContactShown:
        """Adds a contact with an address that nobody has."""
        name, address = unused(self.contacts.values(), name, "contact"), _address(address)
        if any(c.address == address for c in self.contacts.values()):
            raise ToolError("conflict", f"another contact has {address}", "list_email_contacts shows who.")
        key = self.contacts.fresh("ect", name, address)
        return _contact_shown(self.contacts.put(key, Contact(key, name, address)))

    @tool(idempotent=True)
    def block_sender(self, contact_id: ContactId) -> ContactShown:
        """Blocks a contact: what they sent goes from the inbox to spam, and they cannot be written to."""
        row = self._contact(contact_id)
        for mail in self.emails.where(lambda e: e.sender == row.address and e.folder == "inbox"):
            self.emails.update(mail.email_id, folder="spam", snoozed="")
        return _contact_shown(self.contacts.update(contact_id, blocked=True))

    @tool(idempotent=True)
    def unblock_sender(self, contact_id: ContactId) -> ContactShown:
        """Takes a block back; what is in spam stays there."""
        self._contact(contact_id)
        return _contact_shown(self.contacts.update(contact_id, blocked=False))

    # -- helpers -----------------------------------------------------------------------------------

    def _email(self, email_id: str) -> Email:
        return existing(self.emails, email_id, "message", "list_emails")

    def _received(self, email_id: str) -> Email:
        row = self._email(email_id)
        if row.sender == self.owner["owner"].address:
            raise ToolError("wrong_state", f"{email_id} is the user's own", "Choose a message that they got.")
        if row.folder == "trash":
            raise ToolError("wrong_state", f"{email_id} is in the trash", "Use restore_email first.")
        return row

    def _draft(self, draft_id: str) -> Draft:
        return existing(self.drafts, draft_id, "draft", "list_email_drafts")

    def _label(self, label_id: str) -> Label:
        return existing(self.labels, label_id, "label", "list_email_labels")

    def _contact(self, contact_id: str) -> Contact:
        return existing(self.contacts, contact_id, "contact", "list_email_contacts")

    def _recipients(self, to: list[str] | tuple[str, ...]) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(_address(each) for each in to))
        for row in self.contacts.values():
            if row.blocked and row.address in found:
                raise ToolError("denied", f"{row.name} is blocked", "Use unblock_sender first.")
        return found

    def _send(self, thread_id: str, to: tuple[str, ...], subject: str, body: str) -> Sent:
        signature = self.owner["owner"].signature
        text = f"{body} {signature}" if signature else body
        thread = thread_id or self._new_thread(subject, to)
        key = self.emails.fresh("eml", thread, to, subject, text)
        at = f"{self.now:%Y-%m-%d %H:%M}"
        me = self.owner["owner"].address
        self.emails.put(key, Email(key, thread, me, to, subject, text, at, "sent", True, home="sent", fresh=True))
        return {"email_id": key, "thread_id": thread, "recipients": len(to)}

    def _new_thread(self, subject: str, to: tuple[str, ...]) -> str:
        """An identifier that no message has as its thread."""
        taken = {e.thread_id for e in self.emails.values()} | {d.thread_id for d in self.drafts.values()}
        table: Table[str] = Table("threads", dict.fromkeys(taken, ""))
        return table.fresh("thr", subject, to)

    def _keep(self, thread_id: str, to: tuple[str, ...], subject: str, body: str) -> DraftShown:
        key = self.drafts.fresh("dft", thread_id, to, subject, body)
        return _draft_shown(self.drafts.put(key, Draft(key, thread_id, to, subject, body)))

    def _set_labels(self, email_id: str, labels: tuple[str, ...]) -> LabelsDone:
        chosen = tuple(dict.fromkeys(labels))
        self.emails.update(email_id, labels=chosen)
        return {"email_id": email_id, "labels": [self.labels[key].name for key in chosen]}

    def _label_shown(self, row: Label) -> LabelShown:
        count = sum(row.label_id in e.labels for e in self.emails.values())
        return {"label_id": row.label_id, "name": row.name, "emails": count}


def _address(text: str) -> str:
    address = text.strip(" ").lower()
    if not ADDRESS.fullmatch(address):
        raise ToolError("invalid_value", f"{text[:40]!r} is no email address", "Give one like ada@example.com.")
    return address


def _newest(rows: list[Email]) -> list[Email]:
    return sorted(rows, key=lambda e: (e.at, e.email_id), reverse=True)


def _email_shown(row: Email) -> EmailShown:
    return {"email_id": row.email_id, "sender": row.sender, "subject": row.name, "read": row.read}


def _draft_shown(row: Draft) -> DraftShown:
    return {"draft_id": row.draft_id, "subject": row.name, "recipients": len(row.to)}


def _contact_shown(row: Contact) -> ContactShown:
    return {"contact_id": row.contact_id, "name": row.name, "address": row.address, "blocked": row.blocked}


def _rule_shown(row: Rule) -> RuleShown:
    return {"rule_id": row.rule_id, "name": row.name, "address": row.address, "folder": row.folder}
