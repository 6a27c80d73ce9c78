"""Rows of the issue_tracker server, the workflows, and what they allow.

Run: nothing here runs by itself; `tasks.servers.issue_tracker` is the server.

Left out: workflows that people define; there are three.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from tasks.servers import issue_tracker_types as t

CLOSED: tuple[t.Status, ...] = ("done", "rejected")
AT_WORK: tuple[t.Status, ...] = ("in_progress", "in_review", "in_testing")
LABELS: tuple[t.TicketLabel, ...] = get_args(t.TicketLabel)
URGENCY: Mapping[t.Priority, int] = {"urgent": 0, "high": 1, "medium": 2, "low": 3}

WORKFLOWS: Mapping[t.Workflow, Mapping[t.Status, tuple[t.Status, ...]]] = {
    "simple": {
        "open": ("in_progress", "rejected"),
        "in_progress": ("open", "done"),
        "done": ("open",),
        "rejected": ("open",),
    },
    "reviewed": {
        "open": ("in_progress", "rejected"),
        "in_progress": ("open", "in_review"),
        "in_review": ("in_progress", "done"),
        "done": ("open",),
        "rejected": ("open",),
    },
    "tested": {
        "open": ("in_progress", "rejected"),
        "in_progress": ("open", "in_review"),
        "in_review": ("in_progress", "in_testing"),
        "in_testing": ("in_progress", "done"),
        "done": ("open",),
        "rejected": ("open",),
    },
}
"""Which status a ticket may move to, by its project's workflow."""

MOST_IN_PROGRESS = 3
"""How many tickets a developer has in progress at once."""
MOST_MINUTES = 720
"""How many minutes a developer works a day."""
MOST_LINKS = 10
MOST_SUBTASKS = 10
MOST_COMMENTS = 30


@dataclass(frozen=True, slots=True)
class Developer:
    """One developer is the user."""

    developer_id: str
    name: str
    user: bool


@dataclass(frozen=True, slots=True)
class Project:
    """`lead`, one of the `members`, alone sees to sprints, releases, epics and members."""

    project_id: str
    name: str
    workflow: t.Workflow
    lead: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Component:
    """`owner` gets its new tickets."""

    component_id: str
    project_id: str
    name: str
    owner: str


@dataclass(frozen=True, slots=True)
class Epic:
    epic_id: str
    project_id: str
    name: str
    status: t.EpicStatus = "open"


@dataclass(frozen=True, slots=True)
class Sprint:
    sprint_id: str
    project_id: str
    name: str
    capacity: int
    status: t.SprintStatus


@dataclass(frozen=True, slots=True)
class Release:
    release_id: str
    project_id: str
    name: str
    published: bool = False


@dataclass(frozen=True, slots=True)
class Ticket:
    """Empty text where a ticket has no such thing; `parent` is the ticket of which this is a subtask."""

    ticket_id: str
    project_id: str
    name: str
    kind: t.Kind
    status: t.Status
    priority: t.Priority
    points: int
    assignee: str = ""
    component_id: str = ""
    epic_id: str = ""
    sprint_id: str = ""
    release_id: str = ""
    parent: str = ""
    labels: tuple[t.TicketLabel, ...] = ()
    watchers: tuple[str, ...] = ()

    @property
    def closed(self) -> bool:
        return self.status in CLOSED


@dataclass(frozen=True, slots=True)
class Link:
    """`source` blocks, relates to, or duplicates `target`."""

    link_id: str
    kind: t.LinkKind
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Comment:
    comment_id: str
    ticket_id: str
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Worklog:
    worklog_id: str
    ticket_id: str
    author: str
    day: str
    minutes: int
