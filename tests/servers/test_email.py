"""The email server: one folder a message, threads that hold together, drafts, rules and blocks."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.servers.email import Mail
from tasks.servers.session import Session
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import machine, world


def check(session: Session) -> None:
    """References resolve; sent messages are the user's; only the inbox snoozes; nobody blocked has mail in the inbox."""
    box: Any = state_of(session, Mail)
    if box is None:
        return
    me = box.owner["owner"].address
    for mail in box.emails.values():
        assert all(key in box.labels for key in mail.labels) and len(set(mail.labels)) == len(mail.labels)
        assert not mail.snoozed or mail.folder == "inbox"
        assert (mail.sender == me) == (mail.folder == "sent" or (mail.folder == "trash" and mail.home == "sent"))
        assert mail.to and mail.thread_id
    for rule in box.rules.values():
        assert not rule.label_id or rule.label_id in box.labels
    assert len({r.address for r in box.rules.values()}) == len(box.rules)
    for rows in (box.labels.values(), box.rules.values(), box.contacts.values()):
        names = [row.name.casefold() for row in rows]
        assert len(names) == len(set(names))
    assert len({c.address for c in box.contacts.values()}) == len(box.contacts)
    threads: dict[str, set[str]] = {}
    for mail in box.emails.values():
        threads.setdefault(mail.thread_id, set()).add(mail.name)
    assert all(len(names) == 1 for names in threads.values()), "a thread has one subject"


TestMail = machine(Mail, check)


def test_the_definition() -> None:
    check_server(Mail, tools=17)
    check_seeding(Mail)


@pytest.fixture
def session() -> Any:
    with world(Mail).session(7) as opened:
        ok(opened, "list_emails")
        yield opened


def test_a_reply_stays_in_its_thread_and_can_be_undone(session: Session) -> None:
    first = ok(session, "list_emails")[0]["email_id"]
    thread = ok(session, "get_email", email_id=first)["thread_id"]
    ok(session, "set_email_signature", text="Yours")
    sent = ok(session, "reply_email", email_id=first, body="Thank you.")
    assert sent["thread_id"] == thread
    assert ok(session, "get_email", email_id=sent["email_id"])["body"] == "Thank you. Yours"
    assert sent["email_id"] in [e["email_id"] for e in ok(session, "get_email_thread", thread_id=thread, limit=50)]
    draft = ok(session, "undo_send", email_id=sent["email_id"])["draft_id"]
    refused(session, "not_found", "undo_send", email_id=sent["email_id"])
    assert ok(session, "send_email_draft", draft_id=draft)["thread_id"] == thread
    old = ok(session, "list_emails", folder="sent", limit=50)[-1]["email_id"]
    refused(session, "wrong_state", "undo_send", email_id=old)


def test_recipients_are_checked(session: Session) -> None:
    message = {"to": ["Ada@Example.com", "ada@example.com"], "subject": "Hello", "body": "Hi"}
    assert ok(session, "send_email", message=message)["recipients"] == 1
    refused(session, "invalid_value", "send_email", message=message | {"to": ["nobody"]})
    blocked = next(c for c in ok(session, "list_email_contacts", limit=50) if c["blocked"])
    refused(session, "denied", "send_email", message=message | {"to": [blocked["address"]]})
    ok(session, "unblock_sender", contact_id=blocked["contact_id"])
    ok(session, "send_email", message=message | {"to": [blocked["address"]]})


def test_trash_gives_back_to_where_it_came_from(session: Session) -> None:
    sent = ok(session, "list_emails", folder="sent")[0]["email_id"]
    ok(session, "trash_email", email_id=sent)
    refused(session, "wrong_state", "trash_email", email_id=sent)
    assert ok(session, "restore_email", email_id=sent)["folder"] == "sent"
    refused(session, "wrong_state", "restore_email", email_id=sent)
    ok(session, "trash_email", email_id=sent)
    assert ok(session, "empty_email_trash")["changed"] >= 1
    refused(session, "not_found", "get_email", email_id=sent)


def test_a_snoozed_message_is_hidden_until_it_is_woken(session: Session) -> None:
    first = ok(session, "list_emails")[0]["email_id"]
    refused(session, "invalid_value", "snooze_email", email_id=first, until=f"{session.now:%Y-%m-%d}")
    ok(session, "snooze_email", email_id=first, until=f"{session.now.year + 1}-01-02")
    assert first not in [e["email_id"] for e in ok(session, "list_emails", limit=50)]
    ok(session, "wake_email", email_id=first)
    assert first in [e["email_id"] for e in ok(session, "list_unread_emails", limit=50)]


def test_rules_sort_and_labels_in_use_stay(session: Session) -> None:
    box: Any = state_of(session, Mail)
    ruled = {r.address for r in box.rules.values()}
    inbox = {e.sender for e in box.emails.values() if e.folder == "inbox"}
    contact = next(c for c in box.contacts.values() if c.address in inbox - ruled)
    label = ok(session, "create_email_label", name="From them")["label_id"]
    arguments = {"contact_id": contact.contact_id, "folder": "archive", "label_id": label}
    rule = ok(session, "create_email_rule", name="Their mail", **arguments)["rule_id"]
    refused(session, "conflict", "create_email_rule", name="Another", **arguments)
    moved = ok(session, "apply_email_rule", rule_id=rule)["changed"]
    assert moved == ok(session, "find_email_label", name="from them")["emails"] >= 1
    refused(session, "wrong_state", "delete_email_label", label_id=label)
    ok(session, "delete_email_rule", rule_id=rule)
    ok(session, "delete_email_label", label_id=label)
    assert not any(label in e.labels for e in box.emails.values())


def test_a_block_moves_to_spam(session: Session) -> None:
    box: Any = state_of(session, Mail)
    mail = next(e for e in box.emails.values() if e.folder == "inbox")
    contact = next(c for c in box.contacts.values() if c.address == mail.sender)
    ok(session, "block_sender", contact_id=contact.contact_id)
    assert ok(session, "get_email", email_id=mail.email_id)["folder"] == "spam"
    refused(session, "denied", "reply_email", email_id=mail.email_id, body="Why?")


def test_own_messages_are_not_sorted_and_several_move_at_once(session: Session) -> None:
    sent = ok(session, "list_emails", folder="sent")[0]["email_id"]
    refused(session, "wrong_state", "move_email", email_id=sent, folder="inbox")
    keys = [e["email_id"] for e in ok(session, "list_emails")]
    assert ok(session, "move_emails", email_ids=[*keys, keys[0]], folder="archive") == {
        "changed": len(keys),
        "folder": "archive",
    }
    refused(session, "wrong_state", "move_emails", email_ids=[keys[0], sent], folder="inbox")
