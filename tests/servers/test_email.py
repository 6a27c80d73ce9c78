"""The email server: one folder a message, threads that hold together, drafts, rules and blocks."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.servers.email import Mail
from tasks.servers.email_data import seed_rows
from tasks.servers.email_state import MOST_FILES, MOST_KILOBYTES
from tasks.servers.session import Session
from tasks.servers.world import HELD_OUT_FROM, World
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
        assert not (mail.folder == "inbox" and mail.sender in {c.address for c in box.contacts.values() if c.blocked})
    for row in (*box.emails.values(), *box.drafts.values()):
        assert all(key in box.attachments for key in row.attachments) and len(set(row.attachments)) == len(row.attachments)
        assert len(row.attachments) <= MOST_FILES
        assert sum(box.attachments[key].kilobytes for key in row.attachments) <= MOST_KILOBYTES
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
    assert ok(session, "get_email_draft", draft_id=draft)["body"] == "Thank you."
    again = ok(session, "send_email_draft", draft_id=draft)
    assert again["thread_id"] == thread
    assert ok(session, "get_email", email_id=again["email_id"])["body"] == "Thank you. Yours", "signed once"
    ok(session, "trash_email", email_id=again["email_id"])
    refused(session, "wrong_state", "undo_send", email_id=again["email_id"])
    old = ok(session, "list_emails", folder="sent", limit=50)[-1]["email_id"]
    refused(session, "wrong_state", "undo_send", email_id=old)


def test_recipients_are_checked(session: Session) -> None:
    message = {"to": ["Ada@Example.com", "ada@example.com"], "subject": "Hello", "body": "Hi"}
    assert ok(session, "send_email", message=message)["recipients"] == 1
    for wrong in ("nobody", "a@b", "ada@example.com, bob@example.com", "@example.com", "ada@example.com "):
        refused(session, "invalid_arguments", "send_email", message=message | {"to": [wrong]})
    refused(session, "invalid_value", "send_email", message=message | {"to": ["ada@example.com\n"]})
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
    assert first in [e["email_id"] for e in ok(session, "list_snoozed_emails", limit=50)]
    refused(session, "invalid_value", "snooze_email", email_id=first, until="2026-02-31")
    ok(session, "wake_email", email_id=first)
    refused(session, "wrong_state", "wake_email", email_id=first)
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
    refused(session, "denied", "move_email", email_id=mail.email_id, folder="inbox")
    refused(session, "denied", "move_emails", email_ids=[mail.email_id], folder="inbox")
    ok(session, "unblock_sender", contact_id=contact.contact_id)
    ok(session, "move_email", email_id=mail.email_id, folder="inbox")
    ok(session, "trash_email", email_id=mail.email_id)
    ok(session, "block_sender", contact_id=contact.contact_id)
    assert ok(session, "restore_email", email_id=mail.email_id)["folder"] == "spam", "the inbox has nothing of theirs"


def test_own_messages_are_not_sorted_and_several_move_at_once(session: Session) -> None:
    sent = ok(session, "list_emails", folder="sent")[0]["email_id"]
    refused(session, "wrong_state", "move_email", email_id=sent, folder="inbox")
    keys = [e["email_id"] for e in ok(session, "list_emails")]
    assert ok(session, "move_emails", email_ids=[*keys, keys[0]], folder="archive") == {
        "changed": len(keys),
        "folder": "archive",
    }
    refused(session, "wrong_state", "move_emails", email_ids=[keys[0], sent], folder="inbox")


def test_reading_and_stars_are_apart(session: Session) -> None:
    first = ok(session, "list_unread_emails")[0]["email_id"]
    ok(session, "star_email", email_id=first)
    ok(session, "mark_email", email_id=first)
    assert first in [e["email_id"] for e in ok(session, "list_starred_emails", limit=50)]
    assert first not in [e["email_id"] for e in ok(session, "list_unread_emails", limit=50)]
    ok(session, "star_email", email_id=first, starred=False)
    assert first not in [e["email_id"] for e in ok(session, "list_starred_emails", limit=50)]


def test_a_reply_to_all_reaches_the_others(session: Session) -> None:
    box: Any = state_of(session, Mail)
    mail = next(e for e in box.emails.values() if e.sender != box._me and len(e.to) == 2 and e.folder != "trash")
    assert ok(session, "reply_email", email_id=mail.email_id, body="To you.")["recipients"] == 1
    sent = ok(session, "reply_email", email_id=mail.email_id, body="To all.", to_all=True)
    assert sent["recipients"] == 2 and box._me not in box.emails[sent["email_id"]].to


def test_files_travel_with_messages(session: Session) -> None:
    box: Any = state_of(session, Mail)
    mail = next(e for e in box.emails.values() if e.attachments and e.folder != "trash")
    (file,) = ok(session, "list_email_attachments", email_id=mail.email_id)
    assert ok(session, "find_email_attachment", name=file["name"].upper()) == file
    sent = ok(session, "forward_email", email_id=mail.email_id, to=["ada@example.com"])["email_id"]
    assert ok(session, "list_email_attachments", email_id=sent) == [file]
    again = ok(session, "forward_email", email_id=sent, to=["bob@example.com"])["email_id"]
    assert box.emails[again].name == f"Fwd: {mail.name}"
    message = {
        "to": ["ada@example.com"],
        "subject": "Files",
        "body": "See these",
        "attachment_ids": [file["attachment_id"]] * 2,
    }
    draft = ok(session, "create_email_draft", message=message)
    assert draft["attachments"] == 1
    gone = next(f"eat_{n}" for n in range(100, 999) if f"eat_{n}" not in box.attachments)
    refused(session, "not_found", "send_email", message=message | {"attachment_ids": [gone]})
    refused(session, "conflict", "attach_to_draft", draft_id=draft["draft_id"], attachment_id=file["attachment_id"])
    ok(session, "detach_from_draft", draft_id=draft["draft_id"], attachment_id=file["attachment_id"])
    refused(session, "wrong_state", "detach_from_draft", draft_id=draft["draft_id"], attachment_id=file["attachment_id"])
    assert ok(session, "get_email_draft", draft_id=draft["draft_id"])["attachments"] == []


def test_a_message_carries_so_much(session: Session) -> None:
    box: Any = state_of(session, Mail)
    draft = ok(session, "list_email_drafts")[-1]["draft_id"]
    for key in sorted(box.attachments, key=lambda k: box.attachments[k].kilobytes):
        carried = box.drafts[draft].attachments
        kilobytes = sum(box.attachments[k].kilobytes for k in (*carried, key))
        if len(carried) < MOST_FILES and kilobytes <= MOST_KILOBYTES:
            ok(session, "attach_to_draft", draft_id=draft, attachment_id=key)
        else:
            refused(session, "insufficient", "attach_to_draft", draft_id=draft, attachment_id=key)
            break
    else:
        pytest.fail("everything fits into one message: nothing was refused")


def test_drafts_are_found_addressed_and_sent(session: Session) -> None:
    draft = ok(session, "list_email_drafts")[0]
    assert ok(session, "find_email_draft", subject=draft["subject"].lower()) == draft
    ok(session, "readdress_email_draft", draft_id=draft["draft_id"], to=["Ada@Example.com", "bob@example.com"])
    assert ok(session, "get_email_draft", draft_id=draft["draft_id"])["to"] == ["ada@example.com", "bob@example.com"]
    sent = ok(session, "send_email_draft", draft_id=draft["draft_id"])
    refused(session, "not_found", "send_email_draft", draft_id=draft["draft_id"])
    found = ok(session, "find_email_thread", subject=draft["subject"])
    assert found == {"thread_id": sent["thread_id"], "subject": draft["subject"], "emails": 1, "unread": 0}


def test_nobody_gets_into_the_contacts_twice(session: Session) -> None:
    box: Any = state_of(session, Mail)
    known = ok(session, "list_email_contacts")[0]
    refused(session, "conflict", "add_email_contact", name="Someone Else", email_address=known["address"].upper())
    refused(session, "conflict", "add_email_contact", name=known["name"], email_address="new@example.com")
    refused(session, "conflict", "add_email_contact", name="Myself", email_address=box._me)
    known = {c.address for c in box.contacts.values()} | {box._me}
    (stranger,) = {e.sender for e in box.emails.values()} - known
    added = ok(session, "add_email_contact", name="New Person", email_address=stranger)["contact_id"]
    assert ok(session, "list_emails_from", contact_id=added)


@pytest.mark.parametrize("first", [0, HELD_OUT_FROM])
def test_many_worlds_are_consistent(first: int) -> None:
    """2439 is a world that once ran out of identifiers."""
    for seed in [*range(first, first + 150), first + 2439]:
        rows: Any = seed_rows(World(seed, "email"))
        now = f"{World(seed, 'email').now:%Y-%m-%d %H:%M}"
        blocked = {c.address for c in rows["contacts"].values() if c.blocked}
        threads: dict[str, list[str]] = {}
        for mail in rows["emails"].values():
            threads.setdefault(mail.thread_id, []).append(mail.at)
            assert mail.at < now and not (mail.sender in blocked and mail.folder == "inbox")
            assert mail.sender not in mail.to and not blocked & set(mail.to) - {mail.sender}
        assert all(times == sorted(times) for times in threads.values()), "a thread is in order"
        assert {e.folder for e in rows["emails"].values()} == {"inbox", "archive", "sent", "spam", "trash"}
        assert sum(bool(e.snoozed) for e in rows["emails"].values()) == 1
