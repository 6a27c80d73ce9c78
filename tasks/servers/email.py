"""The email server: one user's mailbox with threads, folders, drafts, attachments, labels, rules, contacts and snoozing.

    with environment(["email"]).session(7) as session:
        session.call("list_emails", {"folder": "inbox"})

Every message lies in exactly one folder. A message sent in this session can be called back while it is among the sent ones;
rules move what they match when they are applied; a snoozed message is hidden from its folder until it is woken. Blocked
senders cannot be written to, and nothing of theirs is in the inbox.

Left out: attachments' contents, and people who answer by themselves.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated

from pydantic import Field

from tasks.servers import email_types as t
from tasks.servers.email_data import seed_rows
from tasks.servers.email_state import (
    Mailbox,
    address_of,
    attachment_shown,
    contact_shown,
    draft_shown,
    email_shown,
    newest,
    rule_shown,
    thread_shown,
    with_subject,
)
from tasks.servers.email_types import Attachment, Contact, Draft, Email, Label, Owner, Rule
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Date, Limit, date_of, plain
from tasks.servers.world import World

SNOOZE = 366
"""Days for which a message can be snoozed at most."""


class Mail(Mailbox, Server):
    """One user's mailbox."""

    name = "email"
    title = "Messages, threads, drafts, attachments, labels, rules and contacts of a mailbox."

    owner: Table[Owner]
    contacts: Table[Contact]
    emails: Table[Email]
    drafts: Table[Draft]
    labels: Table[Label]
    rules: Table[Rule]
    attachments: Table[Attachment]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- reading -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_emails(self, folder: t.AnyFolder = "inbox", limit: Limit = 5) -> list[t.EmailShown]:
        """Lists a folder's messages, the newest first, without snoozed ones."""
        rows = self.emails.where(lambda e: e.folder == folder and not e.snoozed)
        return [email_shown(e) for e in newest(rows)[: int(limit)]]

    @tool(read_only=True)
    def list_unread_emails(self, limit: Limit = 5) -> list[t.EmailShown]:
        """Lists unread messages of the inbox, the newest first."""
        rows = self.emails.where(lambda e: e.folder == "inbox" and not e.read and not e.snoozed)
        return [email_shown(e) for e in newest(rows)[: int(limit)]]

    @tool(read_only=True)
    def list_starred_emails(self, limit: Limit = 5) -> list[t.EmailShown]:
        """Lists messages with a star, the newest first."""
        return [email_shown(e) for e in newest(self.emails.where(lambda e: e.starred))[: int(limit)]]

    @tool(read_only=True)
    def find_email(self, subject: t.KnownSubject) -> t.EmailShown:
        """Finds the newest message with a subject, outside of spam and trash."""
        return email_shown(with_subject(self.emails.values(), subject, "search_emails")[0])

    @tool(read_only=True)
    def search_emails(
        self,
        text: Annotated[str, Field(min_length=3, max_length=60, description="Words of the subject or the text.")],
        limit: Limit = 5,
    ) -> list[t.EmailShown]:
        """Finds messages that contain words, the newest first, outside of spam and trash."""
        wanted = plain(text).casefold()
        rows = self.emails.where(lambda e: wanted in f"{e.name} {e.body}".casefold() and e.folder not in ("spam", "trash"))
        return [email_shown(e) for e in newest(rows)[: int(limit)]]

    @tool(read_only=True)
    def list_emails_from(self, contact_id: t.ContactId, limit: Limit = 5) -> list[t.EmailShown]:
        """Lists what a contact has sent, the newest first."""
        address = self._contact(contact_id).address
        return [email_shown(e) for e in newest(self.emails.where(lambda e: e.sender == address))[: int(limit)]]

    @tool(read_only=True)
    def get_email(self, email_id: t.EmailId) -> t.EmailTold:
        """A message's text, thread, folder, labels and number of attachments."""
        row = self._email(email_id)
        return {
            "email_id": email_id,
            "thread_id": row.thread_id,
            "body": row.body,
            "folder": row.folder,
            "labels": [self.labels[key].name for key in row.labels],
            "attachments": len(row.attachments),
        }

    @tool(read_only=True)
    def find_email_thread(self, subject: t.KnownSubject) -> t.ThreadShown:
        """Finds the newest thread with a subject, outside of spam and trash."""
        row = with_subject(self.emails.values(), subject, "list_email_threads")[0]
        return thread_shown(self._threads()[row.thread_id])

    @tool(read_only=True)
    def get_email_thread(self, thread_id: t.ThreadId, limit: Limit = 5) -> list[t.EmailShown]:
        """Lists the messages of a thread, the oldest first."""
        rows = self._threads().get(thread_id)
        if rows is None:
            raise ToolError("not_found", f"there is no thread {thread_id.strip()}", "list_email_threads shows what there is.")
        return [email_shown(e) for e in rows[::-1][: int(limit)]]

    @tool(read_only=True)
    def list_email_threads(self, limit: Limit = 5) -> list[t.ThreadShown]:
        """Lists threads of the inbox, those with most messages first."""
        inside = [rows for rows in self._threads().values() if any(e.folder == "inbox" for e in rows)]
        return [thread_shown(rows) for rows in sorted(inside, key=lambda rows: (-len(rows), rows[0].thread_id))[: int(limit)]]

    @tool(read_only=True)
    def count_emails(self, folder: t.AnyFolder = "inbox") -> t.Counts:
        """How many messages a folder has, and how many of them are unread."""
        rows = self.emails.where(lambda e: e.folder == folder)
        return {"folder": folder, "emails": len(rows), "unread": sum(not e.read for e in rows)}

    # -- sorting -----------------------------------------------------------------------------------

    @tool(idempotent=True)
    def mark_email(
        self, email_id: t.EmailId, read: Annotated[bool, Field(description="Read, or unread.")] = True
    ) -> t.ReadDone:
        """Marks a message as read or unread."""
        self._email(email_id)
        self.emails.update(email_id, read=read)
        return {"email_id": email_id, "read": read}

    @tool(idempotent=True)
    def star_email(
        self, email_id: t.EmailId, starred: Annotated[bool, Field(description="With a star, or without.")] = True
    ) -> t.StarDone:
        """Gives a message a star or takes it away."""
        self._email(email_id)
        self.emails.update(email_id, starred=starred)
        return {"email_id": email_id, "starred": starred}

    @tool()
    def move_email(self, email_id: t.EmailId, folder: t.MovedTo) -> t.EmailDone:
        """Moves a received message to another folder."""
        row = self._movable(email_id, folder)
        if row.folder == folder:
            raise ToolError("wrong_state", f"{email_id} is in {folder} already", "Nothing is needed.")
        self.emails.update(email_id, folder=folder, snoozed="")
        return {"email_id": email_id, "folder": folder}

    @tool()
    def move_emails(
        self,
        email_ids: Annotated[list[t.EmailId], Field(min_length=1, max_length=20, description="Which messages.")],
        folder: t.MovedTo,
    ) -> t.ManyDone:
        """Moves several received messages to one folder; those that are there count as not changed."""
        rows = [self._movable(key, folder) for key in dict.fromkeys(email_ids)]
        changed = [row for row in rows if row.folder != folder]
        for row in changed:
            self.emails.update(row.email_id, folder=folder, snoozed="")
        return {"changed": len(changed), "folder": folder}

    @tool()
    def trash_email(self, email_id: t.EmailId) -> t.EmailDone:
        """Puts a message into the trash."""
        row = self._email(email_id)
        if row.folder == "trash":
            raise ToolError("wrong_state", f"{email_id} is in the trash already", "Nothing is needed.")
        self.emails.update(email_id, folder="trash", home=row.folder, snoozed="")
        return {"email_id": email_id, "folder": "trash"}

    @tool()
    def restore_email(self, email_id: t.EmailId) -> t.EmailDone:
        """Takes a message out of the trash, back to where it was; that of a blocked sender goes to spam."""
        row = self._email(email_id)
        if row.folder != "trash":
            raise ToolError("wrong_state", f"{email_id} is in {row.folder}", "Only messages in the trash can be restored.")
        home: t.Folder = "spam" if row.home == "inbox" and self._is_blocked(row.sender) else row.home
        self.emails.update(email_id, folder=home)
        return {"email_id": email_id, "folder": home}

    @tool(destructive=True)
    def empty_email_trash(self) -> t.ManyDone:
        """Deletes everything in the trash for good."""
        rows = self.emails.where(lambda e: e.folder == "trash")
        for row in rows:
            self.emails.remove(row.email_id)
        return {"changed": len(rows), "folder": "trash"}

    @tool(idempotent=True)
    def snooze_email(self, email_id: t.EmailId, until: Date) -> t.Snoozed:
        """Hides a message of the inbox until a later day."""
        row, day = self._email(email_id), date_of(until)
        if row.folder != "inbox":
            raise ToolError("wrong_state", f"{email_id} is in {row.folder}", "Only messages of the inbox can be snoozed.")
        if not self.now.date() < day <= self.now.date() + dt.timedelta(days=SNOOZE):
            raise ToolError("invalid_value", f"{day} is not within the next year", "Give a day after today.")
        self.emails.update(email_id, snoozed=day.isoformat())
        return {"email_id": email_id, "until": day.isoformat()}

    @tool(read_only=True)
    def list_snoozed_emails(self, limit: Limit = 5) -> list[t.Snoozed]:
        """Lists snoozed messages, those first that come back first."""
        rows = sorted(self.emails.where(lambda e: bool(e.snoozed)), key=lambda e: (e.snoozed, e.email_id))
        return [{"email_id": e.email_id, "until": e.snoozed} for e in rows[: int(limit)]]

    @tool()
    def wake_email(self, email_id: t.EmailId) -> t.EmailDone:
        """Shows a snoozed message again, as unread."""
        row = self._email(email_id)
        if not row.snoozed:
            raise ToolError("wrong_state", f"{email_id} is not snoozed", "list_snoozed_emails shows which are.")
        self.emails.update(email_id, snoozed="", read=False)
        return {"email_id": email_id, "folder": row.folder}

    # -- writing -----------------------------------------------------------------------------------

    @tool()
    def send_email(self, message: Annotated[t.Message, Field(description="What to send.")]) -> t.Sent:
        """Sends a message; it begins a thread."""
        to, files = self._recipients(message["to"]), self._files(message.get("attachment_ids", ()))
        return self._send("", to, plain(message["subject"], "subject"), plain(message["body"]), files)

    @tool()
    def reply_email(
        self,
        email_id: t.EmailId,
        body: t.Body,
        to_all: Annotated[bool, Field(description="Also to the others who got it.")] = False,
    ) -> t.Sent:
        """Answers the sender of a received message, in its thread."""
        row = self._received(email_id)
        others = [address for address in row.to if address != self._me] if to_all else []
        to, text = self._recipients([row.sender, *others]), plain(body)
        self.emails.update(email_id, read=True)
        return self._send(row.thread_id, to, row.name, text, ())

    @tool()
    def forward_email(self, email_id: t.EmailId, to: t.Recipients) -> t.Sent:
        """Sends a message with its attachments on to others, in a thread of its own."""
        row = self._email(email_id)
        subject = row.name if row.name.startswith("Fwd: ") else f"Fwd: {row.name}"
        return self._send("", self._recipients(to), subject, row.body, row.attachments)

    @tool(destructive=True)
    def undo_send(self, email_id: t.EmailId) -> t.DraftShown:
        """Calls back a message that the user sent in this session; it becomes a draft again."""
        row = self._email(email_id)
        if not row.fresh or row.folder != "sent":
            remedy = "Only what was sent in this session, and is not in the trash, can be called back."
            raise ToolError("wrong_state", f"{email_id} was not sent just now", remedy)
        self.emails.remove(email_id)
        others = any(e.thread_id == row.thread_id for e in self.emails.values())
        body = row.body.removesuffix(f" {row.signed}") if row.signed else row.body
        return self._keep(row.thread_id if others else "", row.to, row.name, body, row.attachments)

    @tool()
    def create_email_draft(self, message: Annotated[t.Message, Field(description="What to keep.")]) -> t.DraftShown:
        """Keeps a message for later."""
        to, files = self._recipients(message["to"]), self._files(message.get("attachment_ids", ()))
        return self._keep("", to, plain(message["subject"], "subject"), plain(message["body"]), files)

    @tool(read_only=True)
    def find_email_draft(self, subject: t.KnownSubject) -> t.DraftShown:
        """Finds a draft by its subject."""
        return draft_shown(named(self.drafts.values(), subject, "draft", "list_email_drafts"))

    @tool(read_only=True)
    def list_email_drafts(self, limit: Limit = 5) -> list[t.DraftShown]:
        """Lists messages that are written and not sent."""
        return [draft_shown(d) for d in self.drafts.values()][: int(limit)]

    @tool(read_only=True)
    def get_email_draft(self, draft_id: t.DraftId) -> t.DraftTold:
        """A draft's recipients, text and files."""
        row = self._draft(draft_id)
        files = [self.attachments[key].name for key in row.attachments]
        return {"draft_id": draft_id, "to": list(row.to), "body": row.body, "attachments": files}

    @tool(idempotent=True)
    def edit_email_draft(self, draft_id: t.DraftId, body: t.Body) -> t.DraftShown:
        """Changes the text of a draft."""
        self._draft(draft_id)
        return draft_shown(self.drafts.update(draft_id, body=plain(body)))

    @tool(idempotent=True)
    def readdress_email_draft(self, draft_id: t.DraftId, to: t.Recipients) -> t.DraftShown:
        """Changes who gets a draft."""
        self._draft(draft_id)
        return draft_shown(self.drafts.update(draft_id, to=self._recipients(to)))

    @tool()
    def send_email_draft(self, draft_id: t.DraftId) -> t.Sent:
        """Sends a draft; it is no draft any more."""
        row = self._draft(draft_id)
        to = self._recipients(row.to)
        self.drafts.remove(draft_id)
        return self._send(row.thread_id, to, row.name, row.body, row.attachments)

    @tool(destructive=True)
    def discard_email_draft(self, draft_id: t.DraftId) -> t.DraftShown:
        """Deletes a draft."""
        row = self._draft(draft_id)
        self.drafts.remove(draft_id)
        return draft_shown(row)

    @tool(idempotent=True)
    def set_email_signature(
        self, text: Annotated[str, Field(max_length=60, description="One line; may be empty.")]
    ) -> t.Signature:
        """Changes the line that ends every message that is sent from now on."""
        line = plain(text) if text else ""
        self.owner.update("owner", signature=line)
        return {"signature": line}

    # -- attachments -------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_email_attachments(self, email_id: t.EmailId) -> list[t.AttachmentShown]:
        """Lists the files that a message carries."""
        return [attachment_shown(self.attachments[key]) for key in self._email(email_id).attachments]

    @tool(read_only=True)
    def find_email_attachment(self, name: t.KnownName) -> t.AttachmentShown:
        """Finds a file of the mailbox by its whole name."""
        return attachment_shown(named(self.attachments.values(), name, "attachment", "list_email_attachments"))

    @tool()
    def attach_to_draft(self, draft_id: t.DraftId, attachment_id: t.AttachmentId) -> t.DraftShown:
        """Adds a file of another message to a draft; 5 files and 10000 kilobytes at most."""
        row = self._draft(draft_id)
        files = self._files((*row.attachments, attachment_id))
        if attachment_id in row.attachments:
            raise ToolError("conflict", f"{draft_id} has this file already", "Nothing is needed.")
        return draft_shown(self.drafts.update(draft_id, attachments=files))

    @tool()
    def detach_from_draft(self, draft_id: t.DraftId, attachment_id: t.AttachmentId) -> t.DraftShown:
        """Takes a file off a draft."""
        row = self._draft(draft_id)
        existing(self.attachments, attachment_id, "attachment", "get_email_draft")
        if attachment_id not in row.attachments:
            raise ToolError("wrong_state", f"{draft_id} does not have this file", "get_email_draft shows its files.")
        files = tuple(key for key in row.attachments if key != attachment_id)
        return draft_shown(self.drafts.update(draft_id, attachments=files))

    # -- labels and rules --------------------------------------------------------------------------

    @tool(read_only=True)
    def find_email_label(self, name: t.KnownName) -> t.LabelShown:
        """Finds a label by its name."""
        return self._label_shown(named(self.labels.values(), name, "label", "list_email_labels"))

    @tool(read_only=True)
    def list_email_labels(self, limit: Limit = 5) -> list[t.LabelShown]:
        """Lists labels and how many messages have them."""
        return [self._label_shown(r) for r in self.labels.values()][: int(limit)]

    @tool(read_only=True)
    def list_labeled_emails(self, label_id: t.LabelId, limit: Limit = 5) -> list[t.EmailShown]:
        """Lists the messages that have a label, the newest first."""
        self._label(label_id)
        return [email_shown(e) for e in newest(self.emails.where(lambda e: label_id in e.labels))[: int(limit)]]

    @tool()
    def create_email_label(self, name: t.NewName) -> t.LabelShown:
        """Creates a label."""
        name = unused(self.labels.values(), name, "label")
        key = self.labels.fresh("lbl", name)
        return self._label_shown(self.labels.put(key, Label(key, name)))

    @tool(destructive=True)
    def delete_email_label(self, label_id: t.LabelId) -> t.LabelShown:
        """Deletes a label that no rule uses; messages lose it."""
        row = self._label(label_id)
        shown = self._label_shown(row)
        if any(rule.label_id == label_id for rule in self.rules.values()):
            raise ToolError("wrong_state", f"a rule uses {row.name}", "Use delete_email_rule first.")
        for mail in self.emails.where(lambda e: label_id in e.labels):
            self._set_labels(mail.email_id, (key for key in mail.labels if key != label_id))
        self.labels.remove(label_id)
        return shown

    @tool(idempotent=True)
    def label_email(self, email_id: t.EmailId, label_id: t.LabelId) -> t.LabelsDone:
        """Gives a message a label."""
        row = self._email(email_id)
        self._label(label_id)
        return self._set_labels(email_id, (*row.labels, label_id))

    @tool(idempotent=True)
    def unlabel_email(self, email_id: t.EmailId, label_id: t.LabelId) -> t.LabelsDone:
        """Takes a label off a message."""
        row = self._email(email_id)
        self._label(label_id)
        return self._set_labels(email_id, (key for key in row.labels if key != label_id))

    @tool(read_only=True)
    def find_email_rule(self, name: t.KnownName) -> t.RuleShown:
        """Finds a rule by its name."""
        return rule_shown(named(self.rules.values(), name, "rule", "list_email_rules"))

    @tool(read_only=True)
    def list_email_rules(self, limit: Limit = 5) -> list[t.RuleShown]:
        """Lists the rules that sort messages."""
        return [rule_shown(r) for r in self.rules.values()][: int(limit)]

    @tool()
    def create_email_rule(
        self,
        name: t.NewName,
        contact_id: t.ContactId,
        folder: t.MovedTo,
        label_id: Annotated[t.LabelId | None, Field(description="A label to give, if any.")] = None,
    ) -> t.RuleShown:
        """Sorts what a contact sends: into a folder, with a label. One rule a contact."""
        name, contact = unused(self.rules.values(), name, "rule"), self._contact(contact_id)
        if label_id is not None:
            self._label(label_id)
        if any(r.address == contact.address for r in self.rules.values()):
            raise ToolError("conflict", f"there is a rule for {contact.name}", "Use delete_email_rule first.")
        key = self.rules.fresh("rule", name)
        return rule_shown(self.rules.put(key, Rule(key, name, contact.address, folder, label_id or "")))

    @tool(idempotent=True)
    def apply_email_rule(self, rule_id: t.RuleId) -> t.ManyDone:
        """Applies a rule to what is in the inbox."""
        rule = existing(self.rules, rule_id, "rule", "list_email_rules")
        rows = self.emails.where(lambda e: e.sender == rule.address and e.folder == "inbox")
        for row in rows:
            tags = dict.fromkeys((*row.labels, *([rule.label_id] if rule.label_id else [])))
            snoozed = row.snoozed if rule.folder == "inbox" else ""
            self.emails.update(row.email_id, folder=rule.folder, labels=tuple(tags), snoozed=snoozed)
        return {"changed": len(rows), "folder": rule.folder}

    @tool(destructive=True)
    def delete_email_rule(self, rule_id: t.RuleId) -> t.RuleShown:
        """Deletes a rule; what it moved stays where it is."""
        row = existing(self.rules, rule_id, "rule", "list_email_rules")
        self.rules.remove(rule_id)
        return rule_shown(row)

    # -- contacts ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_email_contact(self, name: t.KnownName) -> t.ContactShown:
        """Finds a contact by the full name."""
        return contact_shown(named(self.contacts.values(), name, "contact", "list_email_contacts"))

    @tool(read_only=True)
    def list_email_contacts(self, limit: Limit = 5) -> list[t.ContactShown]:
        """Lists contacts with their addresses."""
        return [contact_shown(c) for c in self.contacts.values()][: int(limit)]

    @tool()
    def add_email_contact(self, name: t.NewName, email_address: t.Address) -> t.ContactShown:
        """Adds a contact with an address that nobody has."""
        name, address = unused(self.contacts.values(), name, "contact"), address_of(email_address)
        if address == self._me or any(c.address == address for c in self.contacts.values()):
            raise ToolError("conflict", f"{address} is the user's own or another contact's", "list_email_contacts shows whose.")
        key = self.contacts.fresh("ect", name, address)
        return contact_shown(self.contacts.put(key, Contact(key, name, address)))

    @tool(idempotent=True)
    def block_sender(self, contact_id: t.ContactId) -> t.ContactShown:
        """Blocks a contact: what they sent goes from the inbox to spam, and they cannot be written to."""
        row = self._contact(contact_id)
        for mail in self.emails.where(lambda e: e.sender == row.address and e.folder == "inbox"):
            self.emails.update(mail.email_id, folder="spam", snoozed="")
        return contact_shown(self.contacts.update(contact_id, blocked=True))

    @tool(idempotent=True)
    def unblock_sender(self, contact_id: t.ContactId) -> t.ContactShown:
        """Takes a block back; what is in spam stays there."""
        self._contact(contact_id)
        return contact_shown(self.contacts.update(contact_id, blocked=False))
