"""The crm server's seeds, and the book under random calls: references resolve, deals add up, each rep keeps to the limits."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.servers.crm import Crm
from tasks.servers.crm_rows import CLOSED, MOST_LINES, MOST_NOTES, OPEN, PRICED
from tasks.servers.sampler import sample
from tasks.servers.session import Session
from tasks.servers.world import HELD_OUT_FROM
from tests.servers.driver import Driver, drive, ok, state_of
from tests.servers.machine import live_of, machine, world


def check(session: Session) -> None:
    """What holds for the book in every state."""
    crm: Any = state_of(session, Crm)
    (me,) = (rep.rep_id for rep in crm.reps.values() if rep.user)
    assert any(row.rep_id == me for row in crm.territories.values())
    assert all(row.rep_id in crm.reps for row in crm.territories.values())
    assert all(row.territory_id in crm.territories for row in (*crm.companies.values(), *crm.leads.values()))
    assert all(row.company_id in crm.companies for row in crm.contacts.values())
    for lead in crm.leads.values():
        assert not lead.contact_id or lead.contact_id in crm.contacts
        assert lead.status == "converted" or not lead.contact_id
        assert 0 <= lead.score <= 100
    lines = Counter(line.deal_id for line in crm.lines.values())
    assert set(lines) == set(crm.deals) and max(lines.values()) <= MOST_LINES
    assert len({(line.deal_id, line.product_id) for line in crm.lines.values()}) == len(crm.lines)
    for deal in crm.deals.values():
        assert deal.company_id in crm.companies and deal.rep_id in crm.reps
        assert not deal.contact_id or deal.contact_id in crm.contacts
        if deal.contact_id and deal.stage in OPEN:
            assert crm.contacts[deal.contact_id].company_id == deal.company_id
        assert deal.contact_id or deal.stage not in (*PRICED, "won")
        assert not deal.discount or deal.stage not in ("new", "qualified")
        if deal.stage in OPEN:
            assert 0 <= deal.discount <= crm.reps[deal.rep_id].max_discount
        assert (deal.stage == "lost") == bool(deal.reason)
        full = sum(line.pieces * line.price for line in crm.lines.values() if line.deal_id == deal.deal_id)
        shown = ok(session, "get_deal", deal_id=deal.deal_id)
        assert round(shown["amount"] * 100) == full * (100 - deal.discount) // 100
    for line in crm.lines.values():
        assert line.price == crm.products[line.product_id].price and line.pieces >= 1
    for activity in crm.activities.values():
        assert activity.status != "planned" or crm.deals[activity.deal_id].stage in OPEN
    notes = Counter(note.deal_id for note in crm.notes.values())
    assert set(notes) <= set(crm.deals) and max(notes.values()) <= MOST_NOTES
    for rows in (crm.reps, crm.territories, crm.companies, crm.contacts, crm.leads, crm.products, crm.deals):
        names = [row.name.casefold() for row in rows.values()]
        assert len(names) == len(set(names))
    stages = ok(session, "list_pipeline_stages", limit=50)
    assert sum(row["deals"] for row in stages) == len(crm.deals)


TestCrm = machine(Crm, check)


@pytest.mark.parametrize("seed", [*range(8), *range(HELD_OUT_FROM, HELD_OUT_FROM + 4)])
def test_seeds_are_consistent_and_varied(seed: int) -> None:
    with world(Crm).session(seed) as session:
        check(session)
        crm = state_of(session, Crm)
        (me,) = (rep.rep_id for rep in crm.reps.values() if rep.user)
        assert len(crm.companies) == 14 and len(crm.contacts) == 22 and len(crm.leads) == 14 and len(crm.deals) == 24
        assert {d.stage for d in crm.deals.values() if d.rep_id == me} == {*OPEN, *CLOSED}, "the user can try everything"
        mine = {t.territory_id for t in crm.territories.values() if t.rep_id == me}
        assert {"new", "qualified", "working"} <= {x.status for x in crm.leads.values() if x.territory_id in mine}
        assert ok(session, "list_duplicate_companies") and ok(session, "list_duplicate_contacts")
        assert any(a.status == "planned" for a in crm.activities.values())


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32), hostile=st.sampled_from((0.02, 0.4)))
def test_random_calls_keep_the_invariants(seed: int, hostile: float) -> None:
    drive(world(Crm), 3, seed, live_of(Crm, 3), check, calls=40, hostile=hostile)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_selling_keeps_the_invariants(seed: int) -> None:
    """A rep at work: deals go up and down the pipeline, lines and contacts change, records are merged and handed over."""
    rng = random.Random(seed)
    with world(Crm).session(seed % 20) as session:
        driver = Driver(session, rng, sample(session))
        crm = state_of(session, Crm)
        (me,) = (rep.rep_id for rep in crm.reps.values() if rep.user)
        today = session.now.date().isoformat()
        for _ in range(30):
            deals = crm.deals.where(lambda d: d.rep_id == me and d.stage != "won")
            if not deals:
                break
            deal = rng.choice(deals)
            key = {"deal_id": deal.deal_id}
            contacts = sorted(c.contact_id for c in crm.contacts.values() if c.company_id == deal.company_id)
            leads = sorted(x.lead_id for x in crm.leads.values() if x.status == "qualified")
            line = {"product_id": rng.choice(sorted(crm.products)), "pieces": rng.randint(1, 9)}
            own = sorted(x.line_id for x in crm.lines.values() if x.deal_id == deal.deal_id)
            planned = sorted(a.activity_id for a in crm.activities.values() if a.deal_id == deal.deal_id)
            activity = {"kind": rng.choice(("task", "call")), "subject": "Prices", "day": today}
            firms, people = sorted(crm.companies), sorted(crm.contacts)
            calls: list[tuple[str, dict[str, Any]]] = [
                *[("move_deal", {**key, "stage": rng.choice(OPEN)})] * 4,
                *[("set_deal_contact", {**key, "contact_id": rng.choice(contacts or people)})] * 2,
                ("set_deal_discount", {**key, "percent": rng.choice((0, 5, 10, 20, 25, 40))}),
                ("assign_deal", {**key, "rep_id": rng.choice(sorted(crm.reps))}),
                ("add_deal_line", {**key, "line": line}),
                ("set_line_pieces", {"line_id": rng.choice(own), "pieces": rng.randint(1, 50)}),
                ("remove_deal_line", {"line_id": rng.choice(own)}),
                ("win_deal", key),
                ("lose_deal", {**key, "reason": "timing"}),
                ("reopen_deal", {**key, "closes": today}),
                ("plan_activity", {**key, "activity": activity}),
                ("finish_activity", {"activity_id": rng.choice(planned or sorted(crm.activities))}),
                ("merge_crm_companies", {"kept_id": rng.choice(firms), "merged_id": rng.choice(firms)}),
                ("merge_crm_contacts", {"kept_id": rng.choice(people), "merged_id": rng.choice(contacts or people)}),
                ("move_crm_contact", {"contact_id": rng.choice(people), "company_id": deal.company_id}),
                ("remove_crm_contact", {"contact_id": rng.choice(people)}),
                ("convert_lead", {"lead_id": rng.choice(leads or sorted(crm.leads))}),
                (
                    "hand_over_territory",
                    {"territory_id": rng.choice(sorted(crm.territories)), "rep_id": rng.choice(sorted(crm.reps))},
                ),
            ]
            driver.call(*rng.choice(calls))
            assert {d.rep_id for d in crm.deals.values()} <= set(crm.reps)
            check(session)
