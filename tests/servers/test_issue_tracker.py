"""The issue tracker server: workflows, blocks without circles, sprints within their capacity, leads' rights."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest

from tasks.servers.issue_tracker import CLOSED, WORKFLOWS, IssueTracker
from tasks.servers.session import Session
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import machine, world


def check(session: Session) -> None:
    """References resolve and stay inside a project, no circle of blocks, sprints fit, work has somebody who does it."""
    tracker: Any = state_of(session, IssueTracker)
    if tracker is None:
        return
    tickets = tracker.tickets
    graph = nx.DiGraph((t.ticket_id, b) for t in tickets.values() for b in t.blocks)
    assert nx.is_directed_acyclic_graph(graph) and set(graph) <= set(tickets)
    names = [t.name.casefold() for t in tickets.values()]
    assert len(names) == len(set(names))
    for ticket in tickets.values():
        project = tracker.projects[ticket.project_id]
        assert not ticket.assignee or ticket.assignee in project.members
        if ticket.sprint_id:
            assert tracker.sprints[ticket.sprint_id].project_id == ticket.project_id and ticket.kind != "epic"
        if ticket.parent:
            assert tickets[ticket.parent].kind == "epic" and tickets[ticket.parent].project_id == ticket.project_id
        if ticket.status in ("in_progress", "in_review") and ticket.kind != "epic":
            assert ticket.assignee and tracker.sprints[ticket.sprint_id].status == "running"
        assert not ticket.release_id or tracker.releases[ticket.release_id].project_id == ticket.project_id
    for sprint in tracker.sprints.values():
        assert sum(t.points for t in tickets.values() if t.sprint_id == sprint.sprint_id) <= sprint.capacity
    for project in tracker.projects.values():
        running = [s for s in tracker.sprints.values() if s.project_id == project.project_id and s.status == "running"]
        assert len(running) <= 1


TestIssueTracker = machine(IssueTracker, check)


def test_the_definition() -> None:
    check_server(IssueTracker, tools=20)
    check_seeding(IssueTracker)


def test_every_workflow_leads_somewhere() -> None:
    for moves in WORKFLOWS.values():
        assert set(moves) == {"open", "in_progress", "in_review", "done", "rejected"}
        assert all(set(targets) <= set(moves) for targets in moves.values())


@pytest.fixture
def session() -> Any:
    with world(IssueTracker).session(7) as opened:
        ok(opened, "list_projects")
        yield opened


def led(session: Session) -> tuple[str, Any]:
    """The first project that the user leads, and its state."""
    tracker: Any = state_of(session, IssueTracker)
    return next(p.project_id for p in tracker.projects.values() if p.lead == tracker._me and p.workflow == "reviewed"), tracker


def fresh(session: Session, project: str, title: str, kind: str = "bug", points: int = 1) -> str:
    ticket = {"title": title, "kind": kind, "points": points}
    return ok(session, "create_ticket", project_id=project, ticket=ticket)["ticket_id"]  # type: ignore[no-any-return]


def started(session: Session, project: str, title: str) -> str:
    """A ticket in progress, in a sprint with room."""
    tracker: Any = state_of(session, IssueTracker)
    key, sprint = fresh(session, project, title), ok(session, "find_running_sprint", project_id=project)["sprint_id"]
    for ticket in list(tracker.tickets.values()):
        if ticket.sprint_id == sprint and ticket.status == "open":
            ok(session, "unplan_ticket", ticket_id=ticket.ticket_id)
    ok(session, "assign_ticket", ticket_id=key, developer_id=tracker._me)
    ok(session, "plan_ticket", ticket_id=key, sprint_id=sprint)
    ok(session, "move_ticket", ticket_id=key, status="in_progress")
    return key


def test_the_way_of_a_ticket(session: Session) -> None:
    project, tracker = led(session)
    key = fresh(session, project, "search glow")
    refused(session, "wrong_state", "move_ticket", ticket_id=key, status="done")
    refused(session, "wrong_state", "move_ticket", ticket_id=key, status="in_progress")
    refused(session, "wrong_state", "log_work", ticket_id=key, minutes=10)
    key = started(session, project, "login glow")
    assert ok(session, "log_work", ticket_id=key, minutes=10)["minutes"] == 10
    ok(session, "move_ticket", ticket_id=key, status="in_review")
    ok(session, "move_ticket", ticket_id=key, status="done")
    refused(session, "wrong_state", "assign_ticket", ticket_id=key, developer_id=tracker._me)
    release = next(r for r in ok(session, "list_releases", project_id=project) if not r["published"])["release_id"]
    refused(session, "insufficient", "publish_release", release_id=release)
    ok(session, "add_to_release", release_id=release, ticket_id=key)
    assert ok(session, "publish_release", release_id=release)["published"]
    refused(session, "wrong_state", "add_to_release", release_id=release, ticket_id=key)


def test_a_blocked_ticket_waits_and_circles_are_refused(session: Session) -> None:
    project, _ = led(session)
    first, second = fresh(session, project, "one thing"), started(session, project, "another thing")
    third = fresh(session, project, "a third thing")
    ok(session, "block_ticket", ticket_id=first, blocked_id=second)
    ok(session, "block_ticket", ticket_id=second, blocked_id=third)
    refused(session, "conflict", "block_ticket", ticket_id=third, blocked_id=first)
    refused(session, "conflict", "block_ticket", ticket_id=first, blocked_id=first)
    refused(session, "conflict", "block_ticket", ticket_id=first, blocked_id=second)
    ok(session, "move_ticket", ticket_id=second, status="in_review")
    assert first in refused(session, "wrong_state", "move_ticket", ticket_id=second, status="done")
    assert [t["ticket_id"] for t in ok(session, "list_blockers", ticket_id=second)] == [first]
    ok(session, "move_ticket", ticket_id=first, status="rejected")
    ok(session, "move_ticket", ticket_id=second, status="done")


def test_a_sprint_has_a_capacity_and_one_runs(session: Session) -> None:
    project, tracker = led(session)
    planned = next(s for s in ok(session, "list_sprints", project_id=project) if s["status"] == "planned")["sprint_id"]
    keys = [fresh(session, project, f"part {n}", points=15) for n in range(3)]
    for key in keys[:2]:
        ok(session, "plan_ticket", ticket_id=key, sprint_id=planned)
    refused(session, "insufficient", "plan_ticket", ticket_id=keys[2], sprint_id=planned)
    refused(session, "insufficient", "estimate_ticket", ticket_id=keys[0], points=16)
    refused(session, "conflict", "start_sprint", sprint_id=planned)
    running = ok(session, "find_running_sprint", project_id=project)["sprint_id"]
    ok(session, "finish_sprint", sprint_id=running)
    assert not [t for t in tracker.tickets.values() if t.sprint_id == running and t.status not in CLOSED]
    assert ok(session, "start_sprint", sprint_id=planned) == {"sprint_id": planned, "status": "running", "points": 30}


def test_leads_alone_plan(session: Session) -> None:
    tracker: Any = state_of(session, IssueTracker)
    foreign = [p.project_id for p in tracker.projects.values() if p.lead != tracker._me]
    for project in foreign:
        running = ok(session, "find_running_sprint", project_id=project)["sprint_id"]
        refused(session, "denied", "finish_sprint", sprint_id=running)


def test_an_epic_counts_its_tickets_and_waits_for_them(session: Session) -> None:
    project, _ = led(session)
    epic, part = fresh(session, project, "big plan", kind="epic"), fresh(session, project, "small part")
    assert ok(session, "set_ticket_epic", ticket_id=part, epic_id=epic) == {"ticket_id": epic, "done": 0, "tickets": 1}
    refused(session, "invalid_value", "set_ticket_epic", ticket_id=epic, epic_id=part)
    ok(session, "move_ticket", ticket_id=part, status="rejected")
    assert ok(session, "get_epic_progress", epic_id=epic)["done"] == 1


def test_only_own_comments_go(session: Session) -> None:
    tracker: Any = state_of(session, IssueTracker)
    foreign = next(c for c in tracker.comments.values() if c.author != tracker._me)
    refused(session, "denied", "delete_ticket_comment", comment_id=foreign.comment_id)
    made = ok(session, "comment_ticket", ticket_id=foreign.ticket_id, text="Seen.")
    assert ok(session, "delete_ticket_comment", comment_id=made["comment_id"])["comments"] == made["comments"] - 1
