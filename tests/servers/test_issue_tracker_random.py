"""The issue tracker's seeds, and the tracker under random calls: workflows, waiting, sprints and releases stay consistent."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.servers.issue_tracker import IssueTracker
from tasks.servers.issue_tracker_rows import AT_WORK, CLOSED, MOST_IN_PROGRESS, MOST_LINKS, MOST_MINUTES, WORKFLOWS
from tasks.servers.sampler import sample
from tasks.servers.session import Session
from tasks.servers.world import HELD_OUT_FROM
from tests.servers.driver import Driver, drive, ok, state_of
from tests.servers.machine import live_of, machine, world


def check(session: Session) -> None:
    """What holds for the tracker in every state."""
    tracker: Any = state_of(session, IssueTracker)
    tickets, projects = tracker.tickets, tracker.projects
    for project in projects.values():
        assert project.lead in project.members and set(project.members) <= set(tracker.developers)
        running = [s for s in tracker.sprints.values() if s.project_id == project.project_id and s.status == "running"]
        assert len(running) <= 1
    for component in tracker.components.values():
        assert component.owner in projects[component.project_id].members
    waits = nx.DiGraph()
    for ticket in tickets.values():
        project = projects[ticket.project_id]
        assert ticket.status in WORKFLOWS[project.workflow]
        for table, key in (
            (tracker.components, ticket.component_id),
            (tracker.epics, ticket.epic_id),
            (tracker.sprints, ticket.sprint_id),
            (tracker.releases, ticket.release_id),
            (tickets, ticket.parent),
        ):
            assert not key or table[key].project_id == ticket.project_id
        if ticket.status in AT_WORK:
            assert ticket.assignee in project.members and tracker.sprints[ticket.sprint_id].status == "running"
        if not ticket.closed:
            assert not ticket.assignee or ticket.assignee in project.members
            assert not ticket.sprint_id or tracker.sprints[ticket.sprint_id].status != "finished"
            assert not ticket.epic_id or tracker.epics[ticket.epic_id].status == "open"
            assert not ticket.release_id or not tracker.releases[ticket.release_id].published
        if ticket.parent:
            assert not tickets[ticket.parent].parent, "subtasks have no subtasks"
            waits.add_edge(ticket.ticket_id, ticket.parent)
    links = list(tracker.links.values())
    assert len({(x.kind, x.source, x.target) for x in links}) == len(links)
    ends = Counter(key for x in links for key in (x.source, x.target))
    assert set(ends) <= set(tickets) and max(ends.values(), default=0) <= MOST_LINKS
    waits.add_edges_from((x.source, x.target) for x in links if x.kind == "blocks")
    assert nx.is_directed_acyclic_graph(waits)
    for first, after in waits.edges:
        assert not tickets[after].closed or tickets[first].closed, "what waits is closed last"
    assert all(x.source != x.target for x in links)
    busy = Counter(x.assignee for x in tickets.values() if x.status == "in_progress")
    assert max(busy.values(), default=0) <= MOST_IN_PROGRESS
    for sprint in tracker.sprints.values():
        rows = [x for x in tickets.values() if x.sprint_id == sprint.sprint_id]
        shown = ok(session, "get_sprint_progress", sprint_id=sprint.sprint_id)
        assert shown["points"] == sum(x.points for x in rows) <= sprint.capacity
        assert shown["room"] == sprint.capacity - shown["points"] and shown["tickets"] == len(rows)
    days = Counter[tuple[str, str]]()
    for work in tracker.worklogs.values():
        days[work.author, work.day] += work.minutes
        assert work.ticket_id in tickets and work.day <= session.now.date().isoformat()
    assert max(days.values(), default=0) <= MOST_MINUTES
    assert all(c.ticket_id in tickets and c.author in tracker.developers for c in tracker.comments.values())
    for table in (projects, tracker.components, tracker.epics, tracker.sprints, tracker.releases, tickets):
        names = [row.name.casefold() for row in table.values()]
        assert len(names) == len(set(names))


TestIssueTracker = machine(IssueTracker, check)


@pytest.mark.parametrize("seed", [*range(8), *range(HELD_OUT_FROM, HELD_OUT_FROM + 4)])
def test_seeds_are_consistent_and_varied(seed: int) -> None:
    with world(IssueTracker).session(seed) as session:
        check(session)
        tracker = state_of(session, IssueTracker)
        assert len(tracker.tickets) == 50 and len(tracker.links) == 20
        assert {p.workflow for p in tracker.projects.values()} == set(WORKFLOWS)
        assert {x.status for x in tracker.tickets.values()} == {"open", *AT_WORK, *CLOSED}
        assert {row["user_role"] for row in ok(session, "list_projects")} == {"lead", "member", "none"}
        me = ok(session, "get_tracker_user")["developer_id"]
        mine = ok(session, "search_tickets", filter={"assignee_id": me, "status": "in_progress"}, limit=50)
        assert 1 <= len(mine) < MOST_IN_PROGRESS, "the user is at work and can begin more"


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32), hostile=st.sampled_from((0.02, 0.4)))
def test_random_calls_keep_the_invariants(seed: int, hostile: float) -> None:
    drive(world(IssueTracker), 3, seed, live_of(IssueTracker, 3), check, calls=40, hostile=hostile)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_work_keeps_the_invariants(seed: int) -> None:
    """A lead at work: every move is one that the workflow allows, or is refused and changes nothing."""
    rng = random.Random(seed)
    with world(IssueTracker).session(seed % 20) as session:
        driver = Driver(session, rng, sample(session))
        tracker = state_of(session, IssueTracker)
        me = ok(session, "get_tracker_user")["developer_id"]
        led = [p for p in tracker.projects.values() if p.lead == me]
        for step in range(35):
            project = tracker.projects[rng.choice(led).project_id]
            here = {"project_id": project.project_id}

            def some(table: Any, project_id: str = project.project_id) -> str:
                return rng.choice(sorted(key for key, row in table.items() if row.project_id == project_id))

            one, other = some(tracker.tickets), some(tracker.tickets)
            ticket = {"ticket_id": one}
            sprint, release, epic = some(tracker.sprints), some(tracker.releases), some(tracker.epics)
            member, link = rng.choice(project.members), rng.choice(sorted(tracker.links) or ["lnk_999"])
            new = {
                "title": f"Thing {step}",
                "kind": "bug",
                "points": rng.randint(0, 21),
                "component_id": some(tracker.components),
            }
            calls: list[tuple[str, dict[str, Any]]] = [
                *[("move_ticket", {**ticket, "status": rng.choice(list(WORKFLOWS["tested"]))})] * 6,
                *[("plan_ticket", {**ticket, "sprint_id": sprint})] * 3,
                *[("assign_ticket", {**ticket, "developer_id": rng.choice((me, member))})] * 2,
                ("link_tickets", {**ticket, "other_id": other, "kind": rng.choice(("blocks", "blocks", "relates"))}),
                ("unlink_tickets", {"link_id": link}),
                ("reject_duplicate", {**ticket, "original_id": other}),
                ("estimate_ticket", {**ticket, "points": rng.randint(0, 21)}),
                ("unassign_ticket", ticket),
                ("unplan_ticket", ticket),
                ("create_ticket", {**here, "ticket": new}),
                ("add_subtask", {**ticket, "title": f"Part {step}"}),
                ("add_to_epic", {**ticket, "epic_id": epic}),
                ("remove_from_epic", ticket),
                ("close_epic", {"epic_id": epic}),
                ("reopen_epic", {"epic_id": epic}),
                ("start_sprint", {"sprint_id": sprint}),
                ("finish_sprint", {"sprint_id": sprint, "next_sprint_id": rng.choice((None, some(tracker.sprints)))}),
                ("add_to_release", {**ticket, "release_id": release}),
                ("remove_from_release", ticket),
                ("publish_release", {"release_id": release}),
                ("log_work", {**ticket, "minutes": rng.choice((60, 600))}),
                ("add_project_member", {**here, "developer_id": rng.choice(sorted(tracker.developers))}),
                ("remove_project_member", {**here, "developer_id": member}),
            ]
            name, arguments = rng.choice(calls)
            before = {key: row.status for key, row in tracker.tickets.items()}
            result = driver.call(name, arguments)
            if name == "move_ticket" and result.ok:
                assert arguments["status"] in WORKFLOWS[project.workflow][before[one]]
            elif name not in ("finish_sprint", "reject_duplicate"):
                assert all(tracker.tickets[key].status == status for key, status in before.items())
            check(session)
