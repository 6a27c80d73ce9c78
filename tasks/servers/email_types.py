"""Identifiers, rows, argument types and result types of the email server.

Run: nothing here runs by itself; `tasks.servers.email` is the server.

Left out: the state of a thread, which is that of its messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import identifier

EmailId = identifier("email", "eml")
ThreadId = identifier("email_thread", "thr")
DraftId = identifier("email_draft", "dft")
LabelId = identifier("email_label", "lbl")
ContactId = identifier("email_contact", "ect")
RuleId = identifier("email_rule", "rule")
AttachmentId = identifier("email_attachment", "eat")

Folder = Literal["inbox", "archive", "sent", "spam", "trash"]
Place = Literal["inbox", "archive", "spam"]
AnyFolder = Annotated[Folder, Field(description="The folder.")]
MovedTo = Annotated[Place, Field(description="The folder to move to.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
KnownSubject = Annotated[str, Field(min_length=1, max_length=90, description="The whole subject; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
ADDRESS = r"^[A-Za-z0-9._%+-]{1,40}@[A-Za-z0-9-]{1,30}(\.[A-Za-z0-9-]{1,20}){1,3}$"
Address = Annotated[str, Field(pattern=ADDRESS, description="An email address, like ada@example.com.")]
Recipients = Annotated[list[Address], Field(min_length=1, max_length=8, description="Who gets it.")]
Subject = Annotated[str, Field(min_length=1, max_length=80, description="The subject, one line.")]
Body = Annotated[str, Field(min_length=1, max_length=500, description="The text, one line.")]


@dataclass(frozen=True, slots=True)
class Contact:
    contact_id: str
    name: str
    address: str
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class Email:
    """A message. `name` is its subject, `home` the folder from which it went to the trash, `snoozed` a day or empty.

    `signed` is the signature at the end of `body`; `fresh` says that the user sent it in this session.
    """

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
    attachments: tuple[str, ...] = ()
    snoozed: str = ""
    home: Folder = "inbox"
    signed: str = ""
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to be finished; `thread_id` is empty when sending it begins a thread."""

    draft_id: str
    thread_id: str
    to: tuple[str, ...]
    name: str
    body: str
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that messages and drafts carry."""

    attachment_id: str
    name: str
    kilobytes: int


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
    folder: Place
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
    day: str
    read: bool


class EmailTold(TypedDict):
    email_id: EmailId
    thread_id: ThreadId
    body: str
    folder: Folder
    labels: list[str]
    attachments: int


class EmailDone(TypedDict):
    email_id: EmailId
    folder: Folder


class ReadDone(TypedDict):
    email_id: EmailId
    read: bool


class StarDone(TypedDict):
    email_id: EmailId
    starred: bool


class Snoozed(TypedDict):
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
    unread: int


class DraftShown(TypedDict):
    draft_id: DraftId
    subject: str
    recipients: int
    attachments: int


class DraftTold(TypedDict):
    draft_id: DraftId
    to: list[str]
    body: str
    attachments: list[str]


class AttachmentShown(TypedDict):
    attachment_id: AttachmentId
    name: str
    kilobytes: int


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
    folder: Place


class Counts(TypedDict):
    folder: Folder
    emails: int
    unread: int


class Signature(TypedDict):
    signature: str


class Message(TypedDict):
    """A message to write."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    to: Recipients
    subject: Subject
    body: Body
    attachment_ids: NotRequired[Annotated[list[AttachmentId], Field(max_length=5, description="Files of other messages.")]]
