"""What the email server's tools share: finding rows, checking recipients and files, sending, and what results show.

Run: nothing here runs by itself; `tasks.servers.email` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable

from tasks.servers import email_types as t
from tasks.servers.email_types import Attachment, Contact, Draft, Email, Label, Owner, Rule
from tasks.servers.lookup import existing
from tasks.servers.state import Table
from tasks.servers.tool import ToolError
from tasks.servers.typed import plain

MOST_FILES, MOST_KILOBYTES = 5, 10_000
"""What one message carries at most."""


class Mailbox:
    """The tables of the mailbox, and the steps that tools are made of."""

    now: dt.datetime
    owner: Table[Owner]
    contacts: Table[Contact]
    emails: Table[Email]
    drafts: Table[Draft]
    labels: Table[Label]
    rules: Table[Rule]
    attachments: Table[Attachment]

    # -- rows ----------------------------------------------------------------------------------------

    def _email(self, email_id: str) -> Email:
        return existing(self.emails, email_id, "message", "list_emails")

    def _received(self, email_id: str) -> Email:
        """A message of somebody else that is not in the trash."""
        row = self._email(email_id)
        if row.sender == self._me:
            raise ToolError("wrong_state", f"{email_id} is the user's own", "Choose a message that they got.")
        if row.folder == "trash":
            raise ToolError("wrong_state", f"{email_id} is in the trash", "Use restore_email first.")
        return row

    def _movable(self, email_id: str, folder: t.Place) -> Email:
        row = self._received(email_id)
        if folder == "inbox" and self._is_blocked(row.sender):
            raise ToolError("denied", f"the sender of {email_id} is blocked", "Use unblock_sender first.")
        return row

    def _draft(self, draft_id: str) -> Draft:
        return existing(self.drafts, draft_id, "draft", "list_email_drafts")

    def _label(self, label_id: str) -> Label:
        return existing(self.labels, label_id, "label", "list_email_labels")

    def _contact(self, contact_id: str) -> Contact:
        return existing(self.contacts, contact_id, "contact", "list_email_contacts")

    @property
    def _me(self) -> str:
        return self.owner["owner"].address

    def _is_blocked(self, address: str) -> bool:
        return any(c.blocked and c.address == address for c in self.contacts.values())

    def _threads(self) -> dict[str, list[Email]]:
        """The messages of every thread, the newest first."""
        found: dict[str, list[Email]] = {}
        for row in newest(self.emails.values()):
            found.setdefault(row.thread_id, []).append(row)
        return found

    # -- writing -------------------------------------------------------------------------------------

    def _recipients(self, to: Iterable[str]) -> tuple[str, ...]:
        """The addresses in order, once each. Raises ToolError: invalid_value, or denied for a blocked contact."""
        found = tuple(dict.fromkeys(address_of(each) for each in to))
        for row in self.contacts.values():
            if row.blocked and row.address in found:
                raise ToolError("denied", f"{row.name} is blocked", "Use unblock_sender first.")
        return found

    def _files(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Attachments of one message, once each. Raises ToolError: not_found, or insufficient when they are too many or big."""
        found = tuple(dict.fromkeys(keys))
        rows = [existing(self.attachments, key, "attachment", "list_email_attachments") for key in found]
        if len(rows) > MOST_FILES:
            raise ToolError("insufficient", f"a message carries at most {MOST_FILES} files", "Send the others apart.")
        if sum(row.kilobytes for row in rows) > MOST_KILOBYTES:
            raise ToolError("insufficient", f"the files are over {MOST_KILOBYTES} kilobytes together", "Attach fewer files.")
        return found

    def _send(self, thread_id: str, to: tuple[str, ...], subject: str, body: str, files: tuple[str, ...]) -> t.Sent:
        signature = self.owner["owner"].signature
        text = f"{body} {signature}" if signature else body
        thread = thread_id or self._new_thread(subject, to)
        key = self.emails.fresh("eml", thread, to, subject, text)
        row = Email(
            key,
            thread,
            self._me,
            to,
            subject,
            text,
            f"{self.now:%Y-%m-%d %H:%M}",
            "sent",
            read=True,
            attachments=files,
            home="sent",
            signed=signature,
            fresh=True,
        )
        self.emails.put(key, row)
        return {"email_id": key, "thread_id": thread, "recipients": len(to)}

    def _new_thread(self, subject: str, to: tuple[str, ...]) -> str:
        """An identifier that no message has as its thread."""
        taken = {e.thread_id for e in self.emails.values()} | {d.thread_id for d in self.drafts.values()}
        table: Table[str] = Table("threads", dict.fromkeys(taken, ""))
        return table.fresh("thr", subject, to)

    def _keep(self, thread_id: str, to: tuple[str, ...], subject: str, body: str, files: tuple[str, ...]) -> t.DraftShown:
        key = self.drafts.fresh("dft", thread_id, to, subject, body)
        return draft_shown(self.drafts.put(key, Draft(key, thread_id, to, subject, body, files)))

    def _set_labels(self, email_id: str, labels: Iterable[str]) -> t.LabelsDone:
        chosen = tuple(dict.fromkeys(labels))
        self.emails.update(email_id, labels=chosen)
        return {"email_id": email_id, "labels": [self.labels[key].name for key in chosen]}

    # -- showing -------------------------------------------------------------------------------------

    def _label_shown(self, row: Label) -> t.LabelShown:
        count = sum(row.label_id in e.labels for e in self.emails.values())
        return {"label_id": row.label_id, "name": row.name, "emails": count}


def address_of(text: str) -> str:
    """An email address in lower case. Raises ToolError(invalid_value) when it is none."""
    address = text.lower()
    if not re.fullmatch(t.ADDRESS, address) or address.endswith("\n"):  # which the pattern's end lets through
        raise ToolError("invalid_value", f"{text[:40]!r} is no email address", "Give one like ada@example.com.")
    return address


def newest(rows: Iterable[Email]) -> list[Email]:
    return sorted(rows, key=lambda e: (e.at, e.email_id), reverse=True)


def with_subject(rows: Iterable[Email], subject: str, source: str) -> list[Email]:
    """The messages with that subject outside of spam and trash, the newest first. Raises ToolError(not_found) for none."""
    wanted = plain(subject, "subject").casefold()
    found = [e for e in rows if e.name.casefold() == wanted and e.folder not in ("spam", "trash")]
    if not found:
        raise ToolError("not_found", f"no message has the subject {wanted[:40]!r}", f"{source} shows more.")
    return newest(found)


def email_shown(row: Email) -> t.EmailShown:
    return {"email_id": row.email_id, "sender": row.sender, "subject": row.name, "day": row.at[:10], "read": row.read}


def thread_shown(rows: list[Email]) -> t.ThreadShown:
    return {
        "thread_id": rows[0].thread_id,
        "subject": rows[0].name,
        "emails": len(rows),
        "unread": sum(not e.read for e in rows),
    }


def draft_shown(row: Draft) -> t.DraftShown:
    return {
        "draft_id": row.draft_id,
        "subject": row.name,
        "recipients": len(row.to),
        "attachments": len(row.attachments),
    }


def attachment_shown(row: Attachment) -> t.AttachmentShown:
    return {"attachment_id": row.attachment_id, "name": row.name, "kilobytes": row.kilobytes}


def contact_shown(row: Contact) -> t.ContactShown:
    return {"contact_id": row.contact_id, "name": row.name, "address": row.address, "blocked": row.blocked}


def rule_shown(row: Rule) -> t.RuleShown:
    return {"rule_id": row.rule_id, "name": row.name, "address": row.address, "folder": row.folder}
