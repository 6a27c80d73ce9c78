"""The crm server: leads convert once, deals move one stage at a time, territories give rights, merges lose nothing."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tasks.servers.crm import Crm
from tasks.servers.crm_rows import OPEN, Company, Deal
from tasks.servers.session import Session
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import world
from tests.servers.test_crm_random import check

SEED = 7


def test_the_definition() -> None:
    check_server(Crm, tools=50)
    check_seeding(Crm)


@pytest.fixture
def session() -> Any:
    with world(Crm).session(SEED) as opened:
        ok(opened, "list_sales_reps")
        yield opened
        check(opened)


def later(session: Session, days: int = 30) -> str:
    return (session.now.date() + dt.timedelta(days=days)).isoformat()


def me(session: Session) -> str:
    return next(rep["rep_id"] for rep in ok(session, "list_sales_reps") if rep["is_user"])  # type: ignore[no-any-return]


def mine(session: Session, own: bool = True) -> list[Company]:
    """The companies in (or outside of) the user's territories."""
    crm = state_of(session, Crm)
    return [c for c in crm.companies.values() if crm.reps[crm.territories[c.territory_id].rep_id].user == own]


def deals(session: Session, *stages: str, own: bool = True) -> list[Deal]:
    """The deals of the user (or of others) in these stages."""
    crm = state_of(session, Crm)
    return [d for d in crm.deals.values() if crm.reps[d.rep_id].user == own and d.stage in stages]


def lines(session: Session, *pieces: int) -> list[dict[str, Any]]:
    products = ok(session, "list_crm_products")
    return [{"product_id": p["product_id"], "pieces": n} for p, n in zip(products, pieces, strict=False)]


def opened(session: Session, name: str = "Kiln Trial") -> str:
    company = mine(session)[0].company_id
    return ok(session, "open_deal", company_id=company, name=name, lines=lines(session, 1))["deal_id"]  # type: ignore[no-any-return]


def negotiated(session: Session, name: str = "Kiln Trial") -> str:
    """A deal of the user in negotiation."""
    key = opened(session, name)
    person = ok(session, "list_crm_contacts", company_id=mine(session)[0].company_id)[0]
    ok(session, "set_deal_contact", deal_id=key, contact_id=person["contact_id"])
    for stage in OPEN[1:]:
        ok(session, "move_deal", deal_id=key, stage=stage)
    return key


# -- deals -------------------------------------------------------------------------------------


def test_a_deal_goes_along_the_pipeline_one_stage_at_a_time(session: Session) -> None:
    company, prices = mine(session)[0].company_id, [p["price"] for p in ok(session, "list_crm_products")]
    made = ok(session, "open_deal", company_id=company, name="Piston Refit", lines=lines(session, 3, 1))
    assert made["stage"] == "new" and made["amount"] == pytest.approx(3 * prices[0] + prices[1])
    key = made["deal_id"]
    assert ok(session, "get_deal", deal_id=key)["closes"] == later(session, 60)
    refused(session, "conflict", "open_deal", company_id=company, name="piston refit", lines=lines(session, 1))
    refused(session, "invalid_value", "open_deal", company_id=company, name="Two", lines=lines(session, 1) * 2)
    assert "qualified" in session.call("move_deal", {"deal_id": key, "stage": "proposal"}).error.remedy  # type: ignore[union-attr]
    assert ok(session, "move_deal", deal_id=key, stage="qualified")["stage"] == "qualified"
    refused(session, "wrong_state", "move_deal", deal_id=key, stage="proposal")
    refused(session, "not_found", "get_deal_contact", deal_id=key)
    foreign = next(c for c in state_of(session, Crm).contacts.values() if c.company_id != company)
    refused(session, "conflict", "set_deal_contact", deal_id=key, contact_id=foreign.contact_id)
    person = ok(session, "list_crm_contacts", company_id=company)[0]["contact_id"]
    ok(session, "set_deal_contact", deal_id=key, contact_id=person)
    assert ok(session, "get_deal_contact", deal_id=key)["contact_id"] == person
    refused(session, "wrong_state", "set_deal_discount", deal_id=key, percent=5)
    refused(session, "wrong_state", "win_deal", deal_id=key)
    for stage in ("proposal", "negotiation"):
        ok(session, "move_deal", deal_id=key, stage=stage)
    assert ok(session, "win_deal", deal_id=key)["stage"] == "won"
    assert ok(session, "get_deal", deal_id=key)["closes"] == session.now.date().isoformat()
    assert ok(session, "get_crm_company", company_id=company)["customer"]
    refused(session, "wrong_state", "lose_deal", deal_id=key, reason="price")
    refused(session, "wrong_state", "reopen_deal", deal_id=key, closes=later(session))
    refused(session, "wrong_state", "set_deal_contact", deal_id=key, contact_id=person)


def test_lines_are_fixed_from_negotiation_on(session: Session) -> None:
    key = negotiated(session)
    line = ok(session, "list_deal_lines", deal_id=key)[0]["line_id"]
    extra = lines(session, 1, 4)[1]
    refused(session, "wrong_state", "add_deal_line", deal_id=key, line=extra)
    refused(session, "wrong_state", "set_line_pieces", line_id=line, pieces=2)
    ok(session, "move_deal", deal_id=key, stage="proposal")
    refused(session, "wrong_state", "remove_deal_line", line_id=line)
    before = ok(session, "get_deal", deal_id=key)["amount"]
    added = ok(session, "add_deal_line", deal_id=key, line=extra)
    refused(session, "conflict", "add_deal_line", deal_id=key, line=extra)
    price = ok(session, "list_crm_products")[1]["price"]
    assert added["amount"] == pytest.approx(before + 4 * price)
    assert ok(session, "set_line_pieces", line_id=added["line_id"], pieces=5)["amount"] == pytest.approx(before + 5 * price)
    assert ok(session, "remove_deal_line", line_id=line)["amount"] == pytest.approx(5 * price)
    for n in range(2, 9):
        product = ok(session, "list_crm_products", limit=50)[n]["product_id"]
        ok(session, "add_deal_line", deal_id=key, line={"product_id": product, "pieces": 1})
    product = ok(session, "list_crm_products", limit=50)[9]["product_id"]
    refused(session, "insufficient", "add_deal_line", deal_id=key, line={"product_id": product, "pieces": 1})


def test_a_discount_is_limited_by_the_rep_and_ends_before_the_proposal(session: Session) -> None:
    key = negotiated(session)
    most = next(rep["max_discount"] for rep in ok(session, "list_sales_reps") if rep["is_user"])
    full = ok(session, "get_deal_quote", deal_id=key)["subtotal"]
    assert most < 40
    refused(session, "denied", "set_deal_discount", deal_id=key, percent=most + 1)
    assert ok(session, "set_deal_discount", deal_id=key, percent=most)["amount"] == pytest.approx(
        full * (100 - most) / 100, abs=0.01
    )
    quote = ok(session, "get_deal_quote", deal_id=key)
    assert quote["discount_percent"] == most and quote["total"] < quote["subtotal"] == full
    for stage in ("proposal", "qualified"):
        ok(session, "move_deal", deal_id=key, stage=stage)
    assert ok(session, "get_deal_quote", deal_id=key)["discount_percent"] == 0


def test_a_lost_deal_cancels_what_is_planned_and_can_be_reopened(session: Session) -> None:
    key = negotiated(session)
    activity = {"kind": "call", "subject": "Last questions", "day": later(session, 3)}
    act = ok(session, "plan_activity", deal_id=key, activity=activity)["activity_id"]
    refused(session, "conflict", "plan_activity", deal_id=key, activity=activity)
    refused(session, "wrong_state", "win_deal", deal_id=key)
    ok(session, "set_deal_discount", deal_id=key, percent=5)
    assert ok(session, "lose_deal", deal_id=key, reason="timing")["stage"] == "lost"
    assert ok(session, "list_activities", deal_id=key) == []
    refused(session, "wrong_state", "finish_activity", activity_id=act)
    refused(session, "invalid_value", "reopen_deal", deal_id=key, closes=later(session, -1))
    assert ok(session, "reopen_deal", deal_id=key, closes=later(session))["stage"] == "qualified"
    assert ok(session, "get_deal_quote", deal_id=key)["discount_percent"] == 0
    assert ok(session, "get_deal_contact", deal_id=key)
    refused(session, "wrong_state", "reopen_deal", deal_id=key, closes=later(session))


def test_others_deals_and_territories_are_read_only(session: Session) -> None:
    foreign = mine(session, own=False)[0]
    refused(session, "denied", "open_deal", company_id=foreign.company_id, name="X", lines=lines(session, 1))
    new = {"name": "New firm", "city": "Here"}
    refused(session, "denied", "add_crm_company", territory_id=foreign.territory_id, company=new)
    refused(session, "denied", "rename_crm_company", company_id=foreign.company_id, name="Else")
    deal = deals(session, *OPEN, own=False)[0].deal_id
    refused(session, "denied", "lose_deal", deal_id=deal, reason="price")
    refused(session, "denied", "reschedule_deal", deal_id=deal, closes=later(session))
    refused(session, "denied", "assign_deal", deal_id=deal, rep_id=me(session))
    lead = next(x for x in state_of(session, Crm).leads.values() if x.territory_id == mine(session, own=False)[0].territory_id)
    refused(session, "denied", "score_lead", lead_id=lead.lead_id, score=1)
    assert ok(session, "get_deal", deal_id=deal) and ok(session, "get_lead", lead_id=lead.lead_id)
    assert ok(session, "add_deal_note", deal_id=deal, text="Their buyer called me.")["notes"] >= 1


def test_a_deal_changes_hands(session: Session) -> None:
    key, other = opened(session), next(r["rep_id"] for r in ok(session, "list_sales_reps") if not r["is_user"])
    assert ok(session, "assign_deal", deal_id=key, rep_id=other)["rep_id"] == other
    refused(session, "denied", "move_deal", deal_id=key, stage="qualified")
    assert ok(session, "assign_deal", deal_id=key, rep_id=me(session)), "the territory is still the user's"
    ok(session, "move_deal", deal_id=key, stage="qualified")


def test_a_deal_goes_to_nobody_who_may_not_give_its_discount() -> None:
    for seed in range(30):
        with world(Crm).session(seed) as session:
            reps = ok(session, "list_sales_reps")
            most = next(rep["max_discount"] for rep in reps if rep["is_user"])
            strict = [rep["rep_id"] for rep in reps if rep["max_discount"] < most]
            if strict:
                key = negotiated(session)
                ok(session, "set_deal_discount", deal_id=key, percent=most)
                refused(session, "denied", "assign_deal", deal_id=key, rep_id=strict[0])
                territory = mine(session)[0].territory_id
                refused(session, "denied", "hand_over_territory", territory_id=territory, rep_id=strict[0])
                return
    raise AssertionError("in no world can the user give more than another")


def test_a_territory_goes_with_its_open_deals_and_the_last_one_stays(session: Session) -> None:
    other = next(r["rep_id"] for r in ok(session, "list_sales_reps") if not r["is_user"])
    first, second, last = [x["territory_id"] for x in ok(session, "list_territories", limit=50) if x["rep_id"] == me(session)]
    for deal in deals(session, "proposal", "negotiation"):
        ok(session, "set_deal_discount", deal_id=deal.deal_id, percent=0)
    won, count = (
        deals(session, "won"),
        len(ok(session, "search_deals", filter={"territory_id": first, "stage": "open"}, limit=50)),
    )
    assert ok(session, "hand_over_territory", territory_id=first, rep_id=other)["deals_moved"] == count
    assert deals(session, "won") == won, "what was won stays the user's"
    refused(session, "denied", "hand_over_territory", territory_id=first, rep_id=other)
    ok(session, "hand_over_territory", territory_id=second, rep_id=other)
    refused(session, "denied", "hand_over_territory", territory_id=last, rep_id=other)
    refused(session, "conflict", "hand_over_territory", territory_id=last, rep_id=me(session))


def test_search_puts_all_conditions_together(session: Session) -> None:
    rows = ok(session, "search_deals", filter={}, limit=50)
    assert [r["amount"] for r in rows] == sorted((r["amount"] for r in rows), reverse=True) and len(rows) == 24
    least, rep = rows[10]["amount"], me(session)
    found = ok(session, "search_deals", filter={"rep_id": rep, "stage": "open", "min_amount": least}, limit=50)
    assert {r["deal_id"] for r in found} == {
        r["deal_id"]
        for r in rows
        if r["amount"] >= least and r["stage"] in OPEN and ok(session, "get_deal", deal_id=r["deal_id"])["rep_id"] == rep
    }
    soon = ok(session, "search_deals", filter={"stage": "open", "closes_by": later(session, 20)}, limit=50)
    assert soon and all(ok(session, "get_deal", deal_id=r["deal_id"])["closes"] <= later(session, 20) for r in soon)
    refused(session, "invalid_value", "search_deals", filter={"closes_by": "2026-02-31"})
    refused(session, "invalid_value", "search_deals", filter={"min_amount": 0.001})
    refused(session, "not_found", "search_deals", filter={"rep_id": "rep_000"})


# -- leads -------------------------------------------------------------------------------------


def lead_of(session: Session, status: str) -> Any:
    own = {c.territory_id for c in mine(session)}
    return next(x for x in state_of(session, Crm).leads.values() if x.status == status and x.territory_id in own)


def test_a_lead_is_qualified_step_by_step_and_converted_once(session: Session) -> None:
    crm, lead = state_of(session, Crm), lead_of(session, "new")
    key = lead.lead_id
    refused(session, "wrong_state", "set_lead_status", lead_id=key, status="qualified")
    refused(session, "wrong_state", "convert_lead", lead_id=key)
    for status in ("working", "qualified"):
        assert ok(session, "set_lead_status", lead_id=key, status=status)["status"] == status
    company = next(c.company_id for c in mine(session) if c.territory_id == lead.territory_id)
    elsewhere = next(c.company_id for c in crm.companies.values() if c.territory_id != lead.territory_id)
    refused(session, "conflict", "convert_lead", lead_id=key, company_id=elsewhere)
    made = ok(session, "convert_lead", lead_id=key, company_id=company)
    assert ok(session, "find_crm_contact", name=lead.name)["contact_id"] == made["contact_id"]
    refused(session, "wrong_state", "convert_lead", lead_id=key, company_id=company)
    refused(session, "wrong_state", "set_lead_status", lead_id=key, status="discarded")
    refused(session, "wrong_state", "score_lead", lead_id=key, score=3)


def test_a_lead_without_company_brings_its_own(session: Session) -> None:
    territory = mine(session)[0].territory_id
    new = {"name": "Ann Lee", "employer": "Lee Mills", "city": "Farview", "source": "fair"}
    first = ok(session, "add_lead", territory_id=territory, lead=new)["lead_id"]
    refused(session, "conflict", "add_lead", territory_id=territory, lead=new)
    second = ok(session, "add_lead", territory_id=territory, lead={**new, "name": "Bo Lee"})["lead_id"]
    for key in (first, second):
        for status in ("working", "qualified"):
            ok(session, "set_lead_status", lead_id=key, status=status)
    made = ok(session, "convert_lead", lead_id=first)
    found = ok(session, "find_crm_company", name="lee mills")
    assert found == {"company_id": made["company_id"], "name": "Lee Mills", "city": "Farview", "territory_id": territory}
    refused(session, "conflict", "convert_lead", lead_id=second)
    assert ok(session, "convert_lead", lead_id=second, company_id=made["company_id"])["company_id"] == made["company_id"]
    assert [c["name"] for c in ok(session, "list_crm_contacts", company_id=made["company_id"])] == ["Ann Lee", "Bo Lee"]


def test_leads_are_listed_by_score(session: Session) -> None:
    rows = ok(session, "list_leads", limit=50)
    assert [x["score"] for x in rows] == sorted((x["score"] for x in rows), reverse=True)
    assert ok(session, "list_leads", status="working", limit=50) == [x for x in rows if x["status"] == "working"]
    key = lead_of(session, "new").lead_id
    ok(session, "score_lead", lead_id=key, score=100)
    assert ok(session, "list_leads", least_score=96)[0]["lead_id"] == key


# -- notes, activities, sums -------------------------------------------------------------------


def test_only_own_notes_go(session: Session) -> None:
    crm = state_of(session, Crm)
    foreign = next(n for n in crm.notes.values() if not crm.reps[n.author].user)
    refused(session, "denied", "delete_deal_note", note_id=foreign.note_id)
    key = opened(session)
    assert ok(session, "add_deal_note", deal_id=key, text="Call after Easter.")["notes"] == 1
    refused(session, "invalid_value", "add_deal_note", deal_id=key, text="two\nlines")
    note = ok(session, "list_deal_notes", deal_id=key)[0]
    assert note["text"] == "Call after Easter."
    assert ok(session, "delete_deal_note", note_id=note["note_id"])["notes"] == 0


def test_activities_are_planned_moved_done_and_overdue(session: Session) -> None:
    key = opened(session)
    call = {"kind": "call", "subject": "Prices", "day": later(session, 5)}
    refused(session, "wrong_state", "plan_activity", deal_id=key, activity=call)
    refused(
        session, "invalid_value", "plan_activity", deal_id=key, activity={**call, "kind": "task", "day": later(session, -1)}
    )
    act = ok(session, "plan_activity", deal_id=key, activity={**call, "kind": "task"})["activity_id"]
    assert ok(session, "move_activity", activity_id=act, day=later(session, 1))["day"] == later(session, 1)
    assert [a["activity_id"] for a in ok(session, "list_activities", deal_id=key)] == [act]
    assert act in [a["activity_id"] for a in ok(session, "list_rep_activities", rep_id=me(session), limit=50)]
    assert ok(session, "finish_activity", activity_id=act)["status"] == "done"
    refused(session, "wrong_state", "cancel_activity", activity_id=act)
    refused(session, "wrong_state", "move_activity", activity_id=act, day=later(session))
    today = session.now.date().isoformat()
    assert all(a["day"] < today for a in ok(session, "list_overdue_activities", limit=50))


def test_the_forecast_weighs_by_stage_and_results_add_up(session: Session) -> None:
    found = ok(session, "get_forecast", until=later(session, 900))
    rows = ok(session, "search_deals", filter={"stage": "open"}, limit=50)
    assert found["deals"] == len(rows) and found["amount"] == pytest.approx(sum(d["amount"] for d in rows))
    assert 0 < found["expected"] < found["amount"]
    stages = {s["stage"]: s for s in ok(session, "list_pipeline_stages")}
    weighed = sum(s["amount"] * s["chance_percent"] / 100 for k, s in stages.items() if k in OPEN)
    assert found["expected"] == pytest.approx(weighed, abs=0.3)
    reps = [rep["rep_id"] for rep in ok(session, "list_sales_reps")]
    by_rep = [ok(session, "get_forecast", until=later(session, 900), rep_id=rep) for rep in reps]
    assert sum(f["deals"] for f in by_rep) == found["deals"]
    results = [ok(session, "get_sales_results", rep_id=rep) for rep in reps]
    assert sum(row["won"] for row in results) == pytest.approx(stages["won"]["amount"])
    key = negotiated(session)
    amount = ok(session, "get_deal", deal_id=key)["amount"]
    won = ok(session, "get_sales_results", rep_id=me(session))["won"]
    ok(session, "win_deal", deal_id=key)
    assert ok(session, "get_sales_results", rep_id=me(session))["won"] == pytest.approx(won + amount)


def test_a_company_is_renamed_unless_the_name_is_taken(session: Session) -> None:
    one, two = mine(session)[:2]
    refused(session, "conflict", "rename_crm_company", company_id=one.company_id, name=two.name.upper())
    refused(session, "invalid_value", "rename_crm_company", company_id=one.company_id, name="\u202e")
    assert ok(session, "rename_crm_company", company_id=one.company_id, name=one.name.upper())["name"] == one.name.upper()
    made = ok(session, "add_crm_company", territory_id=one.territory_id, company={"name": "Lee Mills", "city": "Farview"})
    assert ok(session, "get_crm_company", company_id=made["company_id"])["industry"] == "retail"


def test_what_is_done_in_another_order_ends_in_the_same_state() -> None:
    digests = set()
    for turn in (1, -1):
        with world(Crm).session(SEED) as session:
            company, some = mine(session)[0].company_id, lines(session, 2, 3)
            calls: list[tuple[str, dict[str, Any]]] = [
                ("open_deal", {"company_id": company, "name": "One", "lines": some}),
                ("open_deal", {"company_id": company, "name": "Two", "lines": some[::-1]}),
                ("add_crm_contact", {"company_id": company, "contact": {"name": "Ann Lee", "job": "buyer"}}),
            ]
            for name, arguments in calls[::turn]:
                ok(session, name, **arguments)
            digests.add(session.digest())
    assert len(digests) == 1
