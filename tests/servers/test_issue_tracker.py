"""The issue tracker server: workflows, waiting without circles, sprints within their capacity, releases, rights of leads."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tasks.servers.issue_tracker import IssueTracker
from tasks.servers.issue_tracker_rows import CLOSED, MOST_IN_PROGRESS, WORKFLOWS
from tasks.servers.session import Session
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import world
from tests.servers.test_issue_tracker_random import check

SEED = 7


def test_the_definition() -> None:
    check_server(IssueTracker, tools=60)
    check_seeding(IssueTracker)


def test_every_workflow_leads_to_done_and_back() -> None:
    for moves in WORKFLOWS.values():
        assert all(set(targets) <= set(moves) for targets in moves.values())
        reached, todo = set(), ["open"]
        while todo:
            key = todo.pop()
            todo += [] if key in reached else moves[key]  # type: ignore[index]
            reached.add(key)
        assert reached == set(moves)
        assert all(moves[status] == ("open",) for status in CLOSED)


@pytest.fixture
def session() -> Any:
    with world(IssueTracker).session(SEED) as opened:
        ok(opened, "get_tracker_user")
        yield opened
        check(opened)


def me(session: Session) -> str:
    return ok(session, "get_tracker_user")["developer_id"]  # type: ignore[no-any-return]


def project_of(session: Session, role: str, workflow: str = "") -> str:
    """A project in which the user has this role, and that has a running sprint."""
    rows = [p for p in ok(session, "list_projects") if p["user_role"] == role and workflow in ("", p["workflow"])]
    return next(p["project_id"] for p in rows if session.call("get_running_sprint", {"project_id": p["project_id"]}).ok)  # type: ignore[no-any-return]


def paused(session: Session) -> str:
    """The project without a running sprint."""
    rows = [p["project_id"] for p in ok(session, "list_projects")]
    return next(p for p in rows if not session.call("get_running_sprint", {"project_id": p}).ok)


def fresh(session: Session, project: str, title: str, points: int = 1) -> str:
    new = {"title": title, "kind": "bug", "points": points}
    return ok(session, "create_ticket", project_id=project, ticket=new)["ticket_id"]  # type: ignore[no-any-return]


def begun(session: Session, project: str, title: str) -> str:
    """A ticket of the user in progress; whatever else the user has goes back to open."""
    for row in ok(session, "search_tickets", filter={"assignee_id": me(session), "status": "in_progress"}, limit=50):
        ok(session, "move_ticket", ticket_id=row["ticket_id"], status="open")
    key, sprint = fresh(session, project, title), ok(session, "get_running_sprint", project_id=project)["sprint_id"]
    ok(session, "assign_ticket", ticket_id=key, developer_id=me(session))
    ok(session, "plan_ticket", ticket_id=key, sprint_id=sprint)
    assert ok(session, "move_ticket", ticket_id=key, status="in_progress")["status"] == "in_progress"
    return key


# -- tickets -----------------------------------------------------------------------------------


def test_a_ticket_moves_as_its_workflow_allows(session: Session) -> None:
    project = project_of(session, "lead", "reviewed")
    key = fresh(session, project, "Search glow")
    assert ok(session, "list_ticket_moves", ticket_id=key)["moves"] == ["in_progress", "rejected"]
    refused(session, "wrong_state", "move_ticket", ticket_id=key, status="done")
    refused(session, "wrong_state", "move_ticket", ticket_id=key, status="in_testing")
    assert refused(session, "wrong_state", "move_ticket", ticket_id=key, status="in_progress") == "nobody has this ticket"
    ok(session, "assign_ticket", ticket_id=key, developer_id=me(session))
    assert "no running sprint" in refused(session, "wrong_state", "move_ticket", ticket_id=key, status="in_progress")
    key = begun(session, project, "Login glow")
    refused(session, "wrong_state", "move_ticket", ticket_id=key, status="done")
    refused(session, "wrong_state", "unassign_ticket", ticket_id=key)
    refused(session, "wrong_state", "unplan_ticket", ticket_id=key)
    for status in ("in_review", "in_progress", "in_review", "done"):
        ok(session, "move_ticket", ticket_id=key, status=status)
    refused(session, "wrong_state", "assign_ticket", ticket_id=key, developer_id=me(session))
    refused(session, "wrong_state", "estimate_ticket", ticket_id=key, points=3)
    assert ok(session, "move_ticket", ticket_id=key, status="open")["status"] == "open"


def test_only_who_has_a_ticket_and_the_lead_may_move_it(session: Session) -> None:
    project = project_of(session, "member")
    key = fresh(session, project, "Search glow")
    refused(session, "denied", "move_ticket", ticket_id=key, status="rejected")
    refused(session, "denied", "reject_duplicate", ticket_id=key, original_id=key)
    ok(session, "assign_ticket", ticket_id=key, developer_id=me(session))
    assert ok(session, "move_ticket", ticket_id=key, status="rejected")["status"] == "rejected"


def test_outsiders_read_only(session: Session) -> None:
    project = next(p["project_id"] for p in ok(session, "list_projects") if p["user_role"] == "none")
    key = ok(session, "list_project_tickets", project_id=project)[0]["ticket_id"]
    new = {"title": "X", "kind": "bug", "points": 1}
    refused(session, "denied", "create_ticket", project_id=project, ticket=new)
    for tool, arguments in (
        ("comment_ticket", {"text": "Seen."}),
        ("set_ticket_priority", {"priority": "low"}),
        ("assign_ticket", {"developer_id": me(session)}),
        ("label_ticket", {"labels": []}),
        ("add_subtask", {"title": "Part"}),
    ):
        refused(session, "denied", tool, ticket_id=key, **arguments)
    assert ok(session, "get_ticket", ticket_id=key)["project_id"] == project
    ok(session, "watch_ticket", ticket_id=key)


def test_work_at_once_is_limited(session: Session) -> None:
    project = project_of(session, "lead", "reviewed")
    keys = [begun(session, project, "Part 0")]
    sprint = ok(session, "get_running_sprint", project_id=project)["sprint_id"]
    for n in range(1, MOST_IN_PROGRESS + 1):
        keys.append(fresh(session, project, f"Part {n}"))
        ok(session, "assign_ticket", ticket_id=keys[-1], developer_id=me(session))
        ok(session, "plan_ticket", ticket_id=keys[-1], sprint_id=sprint)
    for key in keys[1:-1]:
        ok(session, "move_ticket", ticket_id=key, status="in_progress")
    refused(session, "insufficient", "move_ticket", ticket_id=keys[-1], status="in_progress")
    ok(session, "move_ticket", ticket_id=keys[0], status="in_review")
    ok(session, "move_ticket", ticket_id=keys[-1], status="in_progress")
    refused(session, "insufficient", "move_ticket", ticket_id=keys[0], status="in_progress")


def test_a_component_owner_gets_its_tickets(session: Session) -> None:
    project = project_of(session, "lead")
    component = ok(session, "list_components", project_id=project)[0]
    new = {"title": "Search glow", "kind": "bug", "points": 2, "component_id": component["component_id"]}
    made = ok(session, "create_ticket", project_id=project, ticket=new, priority="urgent")
    assert made["assignee_id"] == component["owner_id"]
    refused(session, "conflict", "create_ticket", project_id=project, ticket={**new, "title": "SEARCH GLOW"})
    assert ok(session, "get_ticket_plan", ticket_id=made["ticket_id"]) == {
        "ticket_id": made["ticket_id"],
        "component_id": component["component_id"],
    }
    ok(session, "set_component_owner", component_id=component["component_id"], developer_id=me(session))
    again = ok(session, "create_ticket", project_id=project, ticket={**new, "title": "Login glow"})
    assert again["assignee_id"] == me(session)
    elsewhere = next(p["project_id"] for p in ok(session, "list_projects") if p["user_role"] == "member")
    refused(session, "conflict", "create_ticket", project_id=elsewhere, ticket={**new, "title": "Other glow"})
    foreign = ok(session, "list_components", project_id=elsewhere)[0]["component_id"]
    refused(session, "conflict", "set_ticket_component", ticket_id=made["ticket_id"], component_id=foreign)


def test_search_puts_all_conditions_together(session: Session) -> None:
    tracker = state_of(session, IssueTracker)
    project = project_of(session, "lead")
    found = ok(session, "search_tickets", filter={"project_id": project, "status": "unclosed", "kind": "bug"}, limit=50)
    assert {x["ticket_id"] for x in found} == {
        x.ticket_id for x in tracker.tickets.values() if x.project_id == project and not x.closed and x.kind == "bug"
    }
    order = ["urgent", "high", "medium", "low"]
    assert [x["priority"] for x in found] == sorted((x["priority"] for x in found), key=order.index)
    everything = ok(session, "search_tickets", filter={}, limit=50)
    free = ok(session, "search_tickets", filter={"unassigned": True}, limit=50)
    taken = ok(session, "search_tickets", filter={"unassigned": False}, limit=50)
    assert len(free) + len(taken) == len(everything) == 50
    key = fresh(session, project, "Search glow")
    assert ok(session, "label_ticket", ticket_id=key, labels=["ux", "docs", "ux"])["labels"] == ["docs", "ux"]
    assert ok(session, "get_ticket_labels", ticket_id=key)["labels"] == ["docs", "ux"]
    labelled = ok(session, "search_tickets", filter={"label": "ux", "project_id": project, "unassigned": True}, limit=50)
    assert key in {x["ticket_id"] for x in labelled}
    refused(session, "not_found", "search_tickets", filter={"project_id": "prj_000"})
    own = ok(session, "list_assigned_tickets", developer_id=me(session), limit=50)
    assert own == ok(session, "search_tickets", filter={"assignee_id": me(session), "status": "unclosed"}, limit=50)
    assert ok(session, "get_tracker_user")["open_tickets"] == len(own)


def test_a_ticket_is_renamed_and_watched(session: Session) -> None:
    project = project_of(session, "lead")
    one, two = fresh(session, project, "Search glow"), fresh(session, project, "Login glow")
    refused(session, "conflict", "rename_ticket", ticket_id=one, title="login GLOW")
    refused(session, "invalid_value", "rename_ticket", ticket_id=one, title="\x00")
    assert ok(session, "rename_ticket", ticket_id=one, title="SEARCH glow")["name"] == "SEARCH glow"
    assert ok(session, "watch_ticket", ticket_id=two) == {"ticket_id": two, "watchers": 1}
    assert two in [x["ticket_id"] for x in ok(session, "list_watched_tickets", limit=50)]
    assert ok(session, "unwatch_ticket", ticket_id=two)["watchers"] == 0
    refused(session, "wrong_state", "unwatch_ticket", ticket_id=two)


# -- what waits for what -----------------------------------------------------------------------


def test_a_blocked_ticket_waits_and_circles_are_refused(session: Session) -> None:
    project = project_of(session, "lead", "reviewed")
    first, second = fresh(session, project, "One thing"), begun(session, project, "Another thing")
    third = fresh(session, project, "A third thing")
    ok(session, "link_tickets", ticket_id=first, other_id=second, kind="blocks")
    made = ok(session, "link_tickets", ticket_id=second, other_id=third, kind="blocks")
    refused(session, "conflict", "link_tickets", ticket_id=third, other_id=first, kind="blocks")
    refused(session, "conflict", "link_tickets", ticket_id=first, other_id=first, kind="blocks")
    refused(session, "conflict", "link_tickets", ticket_id=first, other_id=second, kind="blocks")
    ok(session, "move_ticket", ticket_id=second, status="in_review")
    assert first in refused(session, "wrong_state", "move_ticket", ticket_id=second, status="done")
    refused(session, "wrong_state", "move_ticket", ticket_id=third, status="rejected")
    refused(session, "wrong_state", "reject_duplicate", ticket_id=third, original_id=first)
    assert [x["ticket_id"] for x in ok(session, "list_blockers", ticket_id=second)] == [first]
    ok(session, "move_ticket", ticket_id=first, status="rejected")
    assert ok(session, "list_blockers", ticket_id=second) == []
    ok(session, "move_ticket", ticket_id=second, status="done")
    refused(session, "wrong_state", "move_ticket", ticket_id=first, status="open")
    refused(session, "wrong_state", "link_tickets", ticket_id=third, other_id=second, kind="blocks")
    assert ok(session, "unlink_tickets", link_id=made["link_id"])["links_left"] == 1
    links = ok(session, "list_ticket_links", ticket_id=second)
    assert [(x["kind"], x["ticket_id"]) for x in links] == [("blocked_by", first)]


def test_a_ticket_waits_for_its_subtasks(session: Session) -> None:
    project = project_of(session, "lead", "reviewed")
    key = begun(session, project, "Big thing")
    part = ok(session, "add_subtask", ticket_id=key, title="Small thing", points=0)["ticket_id"]
    assert ok(session, "get_ticket_plan", ticket_id=part)["parent_id"] == key
    refused(session, "invalid_value", "add_subtask", ticket_id=part, title="Smaller thing")
    refused(session, "conflict", "link_tickets", ticket_id=key, other_id=part, kind="blocks")
    ok(session, "move_ticket", ticket_id=key, status="in_review")
    refused(session, "wrong_state", "move_ticket", ticket_id=key, status="done")
    assert [x["ticket_id"] for x in ok(session, "list_subtasks", ticket_id=key)] == [part]
    ok(session, "move_ticket", ticket_id=part, status="rejected")
    ok(session, "move_ticket", ticket_id=key, status="done")
    refused(session, "wrong_state", "move_ticket", ticket_id=part, status="open")
    refused(session, "wrong_state", "add_subtask", ticket_id=key, title="Late thing")


def test_a_duplicate_is_rejected_and_linked(session: Session) -> None:
    project = project_of(session, "lead")
    one, two = fresh(session, project, "Search glow"), fresh(session, project, "Search shine")
    refused(session, "invalid_value", "reject_duplicate", ticket_id=one, original_id=one)
    made = ok(session, "reject_duplicate", ticket_id=two, original_id=one)
    assert made["status"] == "rejected"
    refused(session, "wrong_state", "reject_duplicate", ticket_id=one, original_id=two)
    refused(session, "wrong_state", "unlink_tickets", link_id=made["link_id"])
    assert ok(session, "list_ticket_links", ticket_id=one) == [
        {"link_id": made["link_id"], "kind": "duplicated_by", "ticket_id": two}
    ]
    ok(session, "link_tickets", ticket_id=two, other_id=one, kind="relates")
    refused(session, "conflict", "link_tickets", ticket_id=one, other_id=two, kind="relates")
    refused(session, "invalid_value", "link_tickets", ticket_id=one, other_id=one, kind="relates")


# -- epics, sprints, releases ------------------------------------------------------------------


def test_an_epic_is_closed_after_its_tickets(session: Session) -> None:
    project = project_of(session, "lead")
    epic = ok(session, "create_epic", project_id=project, name="Faster glow")["epic_id"]
    key = fresh(session, project, "Search glow")
    refused(session, "wrong_state", "remove_from_epic", ticket_id=key)
    assert ok(session, "add_to_epic", epic_id=epic, ticket_id=key)["tickets"] == 1
    assert [x["ticket_id"] for x in ok(session, "list_epic_tickets", epic_id=epic)] == [key]
    refused(session, "wrong_state", "close_epic", epic_id=epic)
    refused(session, "wrong_state", "reopen_epic", epic_id=epic)
    ok(session, "move_ticket", ticket_id=key, status="rejected")
    assert ok(session, "close_epic", epic_id=epic)["status"] == "closed"
    assert ok(session, "find_epic", name="Faster glow")["closed_tickets"] == 1
    refused(session, "wrong_state", "close_epic", epic_id=epic)
    refused(session, "wrong_state", "move_ticket", ticket_id=key, status="open")
    refused(session, "wrong_state", "add_to_epic", epic_id=epic, ticket_id=fresh(session, project, "Late glow"))
    ok(session, "reopen_epic", epic_id=epic)
    ok(session, "move_ticket", ticket_id=key, status="open")
    assert ok(session, "remove_from_epic", ticket_id=key)["tickets"] == 0


def test_a_sprint_has_a_capacity_and_one_runs(session: Session) -> None:
    project = project_of(session, "lead")
    sprint = ok(session, "create_sprint", project_id=project, name="Extra", capacity=30)["sprint_id"]
    keys = [fresh(session, project, f"Part {n}", points=15) for n in range(3)]
    for key in keys[:2]:
        points = ok(session, "plan_ticket", ticket_id=key, sprint_id=sprint)["points"]
    assert points == 30 and ok(session, "get_sprint_progress", sprint_id=sprint)["room"] == 0
    refused(session, "insufficient", "plan_ticket", ticket_id=keys[2], sprint_id=sprint)
    refused(session, "conflict", "plan_ticket", ticket_id=keys[0], sprint_id=sprint)
    refused(session, "insufficient", "estimate_ticket", ticket_id=keys[0], points=16)
    refused(session, "conflict", "start_sprint", sprint_id=sprint)
    running = ok(session, "get_running_sprint", project_id=project)["sprint_id"]
    refused(session, "insufficient", "finish_sprint", sprint_id=running, next_sprint_id=sprint)
    refused(session, "wrong_state", "finish_sprint", sprint_id=running, next_sprint_id=running)
    for key in keys[:2]:
        ok(session, "unplan_ticket", ticket_id=key)
    refused(session, "wrong_state", "unplan_ticket", ticket_id=keys[0])
    empty = ok(session, "create_sprint", project_id=project, name="Empty", capacity=100)["sprint_id"]
    left = [
        x["ticket_id"] for x in ok(session, "list_sprint_tickets", sprint_id=running, limit=50) if x["status"] not in CLOSED
    ]
    assert ok(session, "finish_sprint", sprint_id=running, next_sprint_id=empty)["unclosed"] == len(left) > 0
    assert {x["ticket_id"] for x in ok(session, "list_sprint_tickets", sprint_id=empty, limit=50)} == set(left)
    assert {x["status"] for x in ok(session, "list_sprint_tickets", sprint_id=empty, limit=50)} == {"open"}
    refused(session, "insufficient", "start_sprint", sprint_id=sprint)
    assert ok(session, "start_sprint", sprint_id=empty)["status"] == "running"
    ok(session, "finish_sprint", sprint_id=empty)
    assert ok(session, "get_sprint_progress", sprint_id=empty)["tickets"] == 0
    refused(session, "wrong_state", "plan_ticket", ticket_id=keys[0], sprint_id=empty)


def test_leads_alone_see_to_sprints_releases_and_members(session: Session) -> None:
    project = project_of(session, "member")
    running = ok(session, "get_running_sprint", project_id=project)["sprint_id"]
    release = next(x for x in ok(session, "list_releases", project_id=project) if not x["published"])["release_id"]
    refused(session, "denied", "finish_sprint", sprint_id=running)
    refused(session, "denied", "publish_release", release_id=release)
    refused(session, "denied", "create_sprint", project_id=project, name="Extra", capacity=10)
    refused(session, "denied", "create_release", project_id=project, name="Extra")
    refused(session, "denied", "create_epic", project_id=project, name="Extra")
    refused(session, "denied", "add_project_member", project_id=project, developer_id=me(session))


def test_a_member_leaves_when_nothing_is_left_to_do(session: Session) -> None:
    project, tracker = project_of(session, "lead"), state_of(session, IssueTracker)
    member = next(d for d in tracker.developers if d not in tracker.projects[project].members)
    count = ok(session, "add_project_member", project_id=project, developer_id=member)["members"]
    refused(session, "conflict", "add_project_member", project_id=project, developer_id=member)
    key = fresh(session, project, "Search glow")
    ok(session, "assign_ticket", ticket_id=key, developer_id=member)
    refused(session, "conflict", "remove_project_member", project_id=project, developer_id=member)
    ok(session, "unassign_ticket", ticket_id=key)
    component = ok(session, "list_components", project_id=project)[0]["component_id"]
    ok(session, "set_component_owner", component_id=component, developer_id=member)
    refused(session, "conflict", "remove_project_member", project_id=project, developer_id=member)
    ok(session, "set_component_owner", component_id=component, developer_id=me(session))
    assert ok(session, "remove_project_member", project_id=project, developer_id=member)["members"] == count - 1
    refused(session, "not_found", "remove_project_member", project_id=project, developer_id=member)
    refused(session, "denied", "remove_project_member", project_id=project, developer_id=me(session))
    refused(session, "denied", "assign_ticket", ticket_id=key, developer_id=member)


def test_a_release_is_published_when_all_in_it_is_closed(session: Session) -> None:
    project = project_of(session, "lead")
    release = ok(session, "create_release", project_id=project, name="Extra v9")["release_id"]
    refused(session, "insufficient", "publish_release", release_id=release)
    key, other = fresh(session, project, "Search glow"), fresh(session, project, "Login glow")
    ok(session, "add_to_release", release_id=release, ticket_id=key)
    assert ok(session, "add_to_release", release_id=release, ticket_id=other)["tickets"] == 2
    refused(session, "conflict", "add_to_release", release_id=release, ticket_id=key)
    refused(session, "wrong_state", "publish_release", release_id=release)
    assert ok(session, "remove_from_release", ticket_id=other)["tickets"] == 1
    refused(session, "wrong_state", "remove_from_release", ticket_id=other)
    ok(session, "move_ticket", ticket_id=key, status="rejected")
    assert ok(session, "publish_release", release_id=release)["published"]
    refused(session, "wrong_state", "publish_release", release_id=release)
    refused(session, "wrong_state", "add_to_release", release_id=release, ticket_id=other)
    refused(session, "wrong_state", "remove_from_release", ticket_id=key)
    refused(session, "wrong_state", "move_ticket", ticket_id=key, status="open")
    ready = next(x for x in ok(session, "list_releases", project_id=paused(session)) if not x["published"])
    assert ready["unclosed"] == 0 and ok(session, "publish_release", release_id=ready["release_id"])["published"]


# -- comments and work -------------------------------------------------------------------------


def test_only_own_comments_change(session: Session) -> None:
    tracker, user = state_of(session, IssueTracker), me(session)
    foreign = next(c for c in tracker.comments.values() if c.author != user)
    refused(session, "denied", "delete_ticket_comment", comment_id=foreign.comment_id)
    refused(session, "denied", "edit_ticket_comment", comment_id=foreign.comment_id, text="No.")
    key = fresh(session, project_of(session, "member"), "Search glow")
    made = ok(session, "comment_ticket", ticket_id=key, text="Seen.")
    refused(session, "invalid_value", "comment_ticket", ticket_id=key, text="two\nlines")
    ok(session, "edit_ticket_comment", comment_id=made["comment_id"], text="Seen twice.")
    assert [c["text"] for c in ok(session, "list_ticket_comments", ticket_id=key)] == ["Seen twice."]
    assert ok(session, "delete_ticket_comment", comment_id=made["comment_id"])["comments"] == 0


def test_work_is_logged_by_who_has_the_ticket_while_it_is_under_way(session: Session) -> None:
    project = project_of(session, "lead", "reviewed")
    key, today = begun(session, project, "Search glow"), session.now.date()
    before = ok(session, "get_developer_work", developer_id=me(session))["minutes"]
    made = ok(session, "log_work", ticket_id=key, minutes=600)
    assert "120 minutes" in refused(session, "insufficient", "log_work", ticket_id=key, minutes=121)
    assert ok(session, "log_work", ticket_id=key, minutes=120)["ticket_minutes"] == 720
    refused(session, "invalid_value", "log_work", ticket_id=key, minutes=5, day=(today + dt.timedelta(days=1)).isoformat())
    refused(session, "invalid_value", "log_work", ticket_id=key, minutes=5, day="2026-02-31")
    past = (today - dt.timedelta(days=30)).isoformat()
    assert ok(session, "log_work", ticket_id=key, minutes=5, day=past)["ticket_minutes"] == 725
    assert [w["minutes"] for w in ok(session, "list_worklogs", ticket_id=key)][-1] == 5
    shown = ok(session, "get_developer_work", developer_id=me(session))
    assert shown["minutes"] == before + 725 and shown["last_day"] == today.isoformat()
    assert ok(session, "delete_worklog", worklog_id=made["worklog_id"])["ticket_minutes"] == 125
    idle = fresh(session, project, "Login glow")
    refused(session, "denied", "log_work", ticket_id=idle, minutes=5)
    ok(session, "assign_ticket", ticket_id=idle, developer_id=me(session))
    refused(session, "wrong_state", "log_work", ticket_id=idle, minutes=5)
    tracker, user = state_of(session, IssueTracker), me(session)
    foreign = next(w.worklog_id for w in tracker.worklogs.values() if w.author != user)
    refused(session, "denied", "delete_worklog", worklog_id=foreign)
