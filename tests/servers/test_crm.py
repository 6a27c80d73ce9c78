"""The customer relations server: leads convert once, deals add up and move one way, territories give rights."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.servers.crm import STAGES, Crm
from tasks.servers.session import Session
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import machine, world


def check(session: Session) -> None:
    """References resolve also after merges; converted leads have contacts; deals have lines; the user has a territory."""
    crm: Any = state_of(session, Crm)
    if crm is None:
        return
    for deal in crm.deals.values():
        assert deal.company_id in crm.companies
        assert any(line.deal_id == deal.deal_id for line in crm.lines.values())
        if deal.contact_id:
            assert crm.contacts[deal.contact_id].company_id == deal.company_id
        assert deal.contact_id or deal.stage in ("new", "qualified", "won", "lost")
        assert 0 <= deal.discount <= 40
        assert (deal.stage == "lost") == bool(deal.reason)
        planned = [a for a in crm.activities.values() if a.deal_id == deal.deal_id and a.status == "planned"]
        assert deal.stage in STAGES or not planned
    for contact in crm.contacts.values():
        assert contact.company_id in crm.companies
    for lead in crm.leads.values():
        assert (lead.status == "converted") == (lead.contact_id in crm.contacts)
    for rows in (crm.companies.values(), crm.deals.values()):
        names = [row.name.casefold() for row in rows]
        assert len(names) == len(set(names))
    (user,) = (r.rep_id for r in crm.reps.values() if r.user)
    assert any(t.rep_id == user for t in crm.territories.values())
    assert all(c.territory_id in crm.territories for c in crm.companies.values())


TestCrm = machine(Crm, check)


def test_the_definition() -> None:
    check_server(Crm, tools=16)
    check_seeding(Crm)


@pytest.fixture
def session() -> Any:
    with world(Crm).session(7) as opened:
        ok(opened, "list_reps")
        yield opened


def mine(session: Session, own: bool = True) -> list[Any]:
    """Companies in (or outside of) the user's territories."""
    crm: Any = state_of(session, Crm)
    return [c for c in crm.companies.values() if crm.reps[crm.territories[c.territory_id].rep_id].user == own]


def test_a_deal_goes_along_the_pipeline(session: Session) -> None:
    crm: Any = state_of(session, Crm)
    company = next(c for c in mine(session) if any(p.company_id == c.company_id for p in crm.contacts.values()))
    lines = [{"name": "Piston", "pieces": 3, "price": 10.5}, {"name": "Kiln", "pieces": 1, "price": 100}]
    made = ok(session, "open_deal", name="Piston Refit", company_id=company.company_id, lines=lines)
    assert made["amount"] == 131.5
    key = made["deal_id"]
    refused(session, "conflict", "open_deal", name="piston refit", company_id=company.company_id, lines=lines)
    assert ok(session, "advance_deal", deal_id=key)["stage"] == "qualified"
    refused(session, "wrong_state", "advance_deal", deal_id=key)
    contact = ok(session, "list_company_contacts", company_id=company.company_id)[0]["contact_id"]
    foreign = next(p.contact_id for p in crm.contacts.values() if p.company_id != company.company_id)
    refused(session, "conflict", "set_deal_contact", deal_id=key, contact_id=foreign)
    ok(session, "set_deal_contact", deal_id=key, contact_id=contact)
    refused(session, "denied", "set_deal_discount", deal_id=key, percent=30)
    refused(session, "wrong_state", "win_deal", deal_id=key)
    for stage in ("proposal", "negotiation"):
        assert ok(session, "advance_deal", deal_id=key)["stage"] == stage
    assert ok(session, "set_deal_discount", deal_id=key, percent=40)["amount"] == pytest.approx(78.9)
    day = f"{session.now.year + 1}-01-10"
    act = ok(session, "plan_activity", deal_id=key, kind="call", subject="Last questions", day=day)["activity_id"]
    refused(session, "wrong_state", "win_deal", deal_id=key)
    ok(session, "finish_activity", activity_id=act)
    assert ok(session, "win_deal", deal_id=key)["stage"] == "won"
    refused(session, "wrong_state", "add_deal_line", deal_id=key, line=lines[0])


def test_a_lost_deal_cancels_what_is_planned(session: Session) -> None:
    company = mine(session)[0].company_id
    key = ok(session, "open_deal", name="Kiln Trial", company_id=company, lines=[{"name": "Kiln", "pieces": 1, "price": 9}])[
        "deal_id"
    ]
    act = ok(session, "plan_activity", deal_id=key, kind="task", subject="Send papers", day=f"{session.now.year + 1}-01-10")
    line = ok(session, "list_deal_lines", deal_id=key)[0]["line_id"]
    refused(session, "wrong_state", "remove_deal_line", line_id=line)
    ok(session, "lose_deal", deal_id=key, reason="timing")
    refused(session, "wrong_state", "finish_activity", activity_id=act["activity_id"])


def test_a_lead_is_converted_once_in_its_territory(session: Session) -> None:
    crm: Any = state_of(session, Crm)
    places = {c.territory_id: c.company_id for c in mine(session)}
    lead = next(r for r in crm.leads.values() if r.territory_id in places)
    elsewhere = next(c.company_id for c in crm.companies.values() if c.territory_id != lead.territory_id)
    refused(session, "conflict", "convert_lead", lead_id=lead.lead_id, company_id=elsewhere)
    made = ok(session, "convert_lead", lead_id=lead.lead_id, company_id=places[lead.territory_id])
    assert ok(session, "find_contact", name=lead.name)["contact_id"] == made["contact_id"]
    refused(session, "wrong_state", "convert_lead", lead_id=lead.lead_id, company_id=places[lead.territory_id])
    refused(session, "wrong_state", "discard_lead", lead_id=lead.lead_id)


def test_others_territories_are_read_only(session: Session) -> None:
    foreign = mine(session, own=False)[0]
    refused(
        session,
        "denied",
        "open_deal",
        name="X deal",
        company_id=foreign.company_id,
        lines=[{"name": "A", "pieces": 1, "price": 1}],
    )
    refused(session, "denied", "add_company", name="New firm", territory_id=foreign.territory_id, city="Here")
    assert ok(session, "list_company_deals", company_id=foreign.company_id) is not None


def test_a_merge_moves_everything(session: Session) -> None:
    one = mine(session)[0]
    two = ok(session, "add_company", name="Twin firm", territory_id=one.territory_id, city="Here")["company_id"]
    ok(session, "open_deal", name="Twin deal", company_id=two, lines=[{"name": "A", "pieces": 1, "price": 1}])
    before = len(ok(session, "list_company_deals", company_id=one.company_id, limit=50))
    assert ok(session, "merge_companies", kept_id=one.company_id, merged_id=two)["deals"] == before + 1
    refused(session, "not_found", "find_company", name="Twin firm")
    refused(session, "invalid_value", "merge_companies", kept_id=one.company_id, merged_id=one.company_id)


def test_a_forecast_weighs_by_stage_and_the_last_territory_stays(session: Session) -> None:
    found = ok(session, "get_forecast", until=f"{session.now.year + 1}-12-31")
    total = sum(d["amount"] for s in STAGES for d in ok(session, "list_deals", stage=s, limit=50))
    assert found["amount"] == pytest.approx(total) and 0 < found["expected"] < found["amount"]
    crm: Any = state_of(session, Crm)
    other = next(r.rep_id for r in crm.reps.values() if not r.user)
    own = [t.territory_id for t in crm.territories.values() if crm.reps[t.rep_id].user]
    for territory in own[:-1]:
        ok(session, "hand_over_territory", territory_id=territory, rep_id=other)
    refused(session, "denied", "hand_over_territory", territory_id=own[-1], rep_id=other)
