"""The crm server's records that are double: merges and removals lose nothing, and every reference still resolves."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.servers.crm import Crm
from tasks.servers.session import Session
from tests.servers.driver import ok, refused, state_of
from tests.servers.machine import world
from tests.servers.test_crm import SEED, later, lead_of, lines, mine
from tests.servers.test_crm_random import check


@pytest.fixture
def session() -> Any:
    with world(Crm).session(SEED) as opened:
        ok(opened, "list_sales_reps")
        yield opened
        check(opened)


def test_a_merge_of_companies_moves_everything(session: Session) -> None:
    pair = ok(session, "list_duplicate_companies")[0]
    kept, merged = pair["company_id"], pair["duplicate_id"]
    refused(session, "invalid_value", "merge_crm_companies", kept_id=kept, merged_id=kept)
    foreign = mine(session, own=False)[0].company_id
    refused(session, "denied", "merge_crm_companies", kept_id=kept, merged_id=foreign)
    ok(session, "open_deal", company_id=merged, name="Twin deal", lines=lines(session, 2))
    people = [ok(session, "list_crm_contacts", company_id=key, limit=50) for key in (kept, merged)]
    count = [len(ok(session, "list_company_deals", company_id=key, limit=50)) for key in (kept, merged)]
    done = ok(session, "merge_crm_companies", kept_id=kept, merged_id=merged)
    assert done == {"company_id": kept, "deals": count[1], "contacts": len(people[1])}
    assert len(ok(session, "list_company_deals", company_id=kept, limit=50)) == sum(count)
    assert len(ok(session, "list_crm_contacts", company_id=kept, limit=50)) == len(people[0]) + len(people[1])
    refused(session, "not_found", "find_crm_company", name=pair["duplicate_name"])
    refused(session, "not_found", "get_crm_company", company_id=merged)


def test_a_merge_of_contacts_keeps_deals_and_leads(session: Session) -> None:
    pair = ok(session, "list_duplicate_contacts")[0]
    kept, merged = pair["contact_id"], pair["duplicate_id"]
    company = ok(session, "find_crm_contact", name=pair["name"])["company_id"]
    deal = ok(session, "open_deal", company_id=company, name="Kiln Trial", lines=lines(session, 1))["deal_id"]
    ok(session, "set_deal_contact", deal_id=deal, contact_id=merged)
    refused(session, "conflict", "remove_crm_contact", contact_id=merged)
    elsewhere = next(c.company_id for c in mine(session) if c.company_id != company)
    refused(session, "conflict", "move_crm_contact", contact_id=merged, company_id=elsewhere)
    third = ok(session, "add_crm_contact", company_id=elsewhere, contact={"name": "Ann Lee", "job": "buyer"})["contact_id"]
    refused(session, "conflict", "merge_crm_contacts", kept_id=kept, merged_id=third)
    refused(session, "invalid_value", "merge_crm_contacts", kept_id=kept, merged_id=kept)
    assert ok(session, "merge_crm_contacts", kept_id=kept, merged_id=merged)["deals"] >= 1
    assert ok(session, "get_deal_contact", deal_id=deal)["contact_id"] == kept
    refused(session, "not_found", "find_crm_contact", name=pair["duplicate_name"])
    assert ok(session, "move_crm_contact", contact_id=third, company_id=company)["company_id"] == company
    left = len(ok(session, "list_crm_contacts", company_id=company, limit=50)) - 1
    assert ok(session, "remove_crm_contact", contact_id=third)["contacts_left"] == left


def converted(session: Session) -> tuple[str, str, str]:
    """A lead that was converted, its contact and the company."""
    lead = lead_of(session, "qualified")
    company = next(c.company_id for c in mine(session) if c.territory_id == lead.territory_id)
    made = ok(session, "convert_lead", lead_id=lead.lead_id, company_id=company)
    return lead.lead_id, made["contact_id"], company


def test_a_lead_points_to_the_contact_that_was_kept(session: Session) -> None:
    lead, contact, company = converted(session)
    kept = next(c["contact_id"] for c in ok(session, "list_crm_contacts", company_id=company) if c["contact_id"] != contact)
    ok(session, "merge_crm_contacts", kept_id=kept, merged_id=contact)
    assert state_of(session, Crm).leads[lead].contact_id == kept
    assert kept in session.call("score_lead", {"lead_id": lead, "score": 1}).error.remedy  # type: ignore[union-attr]


def test_a_converted_lead_outlives_its_contact(session: Session) -> None:
    lead, contact, _ = converted(session)
    ok(session, "remove_crm_contact", contact_id=contact)
    assert state_of(session, Crm).leads[lead].contact_id == ""
    refused(session, "wrong_state", "convert_lead", lead_id=lead)


def test_a_reopened_deal_forgets_a_contact_who_left(session: Session) -> None:
    company, elsewhere = (c.company_id for c in mine(session)[:2])
    person = ok(session, "add_crm_contact", company_id=company, contact={"name": "Ann Lee", "job": "buyer"})["contact_id"]
    deal = ok(session, "open_deal", company_id=company, name="Kiln Trial", lines=lines(session, 1))["deal_id"]
    ok(session, "set_deal_contact", deal_id=deal, contact_id=person)
    ok(session, "lose_deal", deal_id=deal, reason="no_need")
    ok(session, "move_crm_contact", contact_id=person, company_id=elsewhere)
    assert ok(session, "get_deal_contact", deal_id=deal)["contact_id"] == person
    ok(session, "reopen_deal", deal_id=deal, closes=later(session))
    refused(session, "not_found", "get_deal_contact", deal_id=deal)
