"""Identifiers, argument types and result types of the issue_tracker server.

Run: nothing here runs by itself; `tasks.servers.issue_tracker` is the server.

Left out: rows, which results show only in part.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Date, identifier

DeveloperId = identifier("developer", "dev")
ProjectId = identifier("project", "prj")
ComponentId = identifier("component", "cpt")
EpicId = identifier("epic", "epic")
SprintId = identifier("sprint", "spr")
ReleaseId = identifier("release", "rel")
TicketId = identifier("ticket", "tkt")
LinkId = identifier("ticket_link", "lnk")
CommentId = identifier("ticket_comment", "com")
WorklogId = identifier("worklog", "log")

Status = Literal["open", "in_progress", "in_review", "in_testing", "done", "rejected"]
Kind = Literal["bug", "feature", "chore"]
Priority = Literal["low", "medium", "high", "urgent"]
Workflow = Literal["simple", "reviewed", "tested"]
ProjectRole = Literal["lead", "member", "none"]
SprintStatus = Literal["planned", "running", "finished"]
EpicStatus = Literal["open", "closed"]
LinkKind = Literal["blocks", "relates", "duplicates"]
TicketLabel = Literal["backend", "frontend", "security", "performance", "docs", "ux"]

KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=50, description="A name, not yet in use.")]
Title = Annotated[str, Field(min_length=1, max_length=60, description="A title of one line, not yet in use.")]
NewStatus = Annotated[Status, Field(description="The status to move to; list_ticket_moves shows the possible ones.")]
NewPriority = Annotated[Priority, Field(description="How soon it is needed.")]
NewKind = Annotated[Kind, Field(description="What it is.")]
NewLinkKind = Annotated[
    Literal["blocks", "relates"], Field(description="blocks: the second ticket waits for the first; relates: no order.")
]
AnyStatus = Annotated[
    Literal["any", "unclosed", "open", "in_progress", "in_review", "in_testing", "done", "rejected"],
    Field(description="Only tickets of this status; unclosed is all but done and rejected."),
]
Points = Annotated[int, Field(ge=0, le=21, description="Estimated effort in points.")]
Capacity = Annotated[int, Field(ge=5, le=100, description="How many points fit in.")]
Minutes = Annotated[int, Field(ge=5, le=600, description="Minutes of work.")]
WorkDay = Annotated[Date | None, Field(description="The day of the work, YYYY-MM-DD; today if left out.")]
Said = Annotated[str, Field(min_length=1, max_length=200, description="The comment, one line.")]
Labels = Annotated[list[TicketLabel], Field(max_length=4, description="All labels that it is to have.")]
NextSprint = Annotated[
    SprintId | None, Field(description="The planned sprint that takes what is unclosed; no sprint if left out.")
]


# -- arguments ---------------------------------------------------------------------------------


class NewTicket(TypedDict):
    """What a new ticket is about."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    title: Title
    kind: NewKind
    points: Points
    component_id: NotRequired[ComponentId]


class TicketFilter(TypedDict):
    """Which tickets are wanted; all given conditions hold."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    project_id: NotRequired[ProjectId]
    status: NotRequired[AnyStatus]
    kind: NotRequired[Annotated[Kind, Field(description="Only tickets of this kind.")]]
    priority: NotRequired[Annotated[Priority, Field(description="Only tickets of this priority.")]]
    label: NotRequired[Annotated[TicketLabel, Field(description="Only tickets with this label.")]]
    assignee_id: NotRequired[DeveloperId]
    component_id: NotRequired[ComponentId]
    unassigned: NotRequired[Annotated[bool, Field(description="True: only tickets that nobody has; false: that somebody has.")]]


# -- results -----------------------------------------------------------------------------------


class DeveloperShown(TypedDict):
    developer_id: DeveloperId
    name: str
    open_tickets: int


class ProjectShown(TypedDict):
    project_id: ProjectId
    name: str
    workflow: Workflow
    user_role: ProjectRole


class ProjectTold(TypedDict):
    project_id: ProjectId
    lead_id: DeveloperId
    members: int
    open_tickets: int
    blocked_tickets: int


class MemberCount(TypedDict):
    project_id: ProjectId
    members: int


class ComponentShown(TypedDict):
    component_id: ComponentId
    name: str
    project_id: ProjectId
    owner_id: DeveloperId


class ComponentOwner(TypedDict):
    component_id: ComponentId
    owner_id: DeveloperId


class TicketRow(TypedDict):
    ticket_id: TicketId
    name: str
    status: Status
    priority: Priority


class TicketShown(TypedDict):
    ticket_id: TicketId
    project_id: ProjectId
    kind: Kind
    status: Status
    priority: Priority
    points: int
    assignee_id: NotRequired[DeveloperId]


class TicketPlan(TypedDict):
    """Where a ticket belongs; what it is not part of is left out."""

    ticket_id: TicketId
    sprint_id: NotRequired[SprintId]
    release_id: NotRequired[ReleaseId]
    epic_id: NotRequired[EpicId]
    component_id: NotRequired[ComponentId]
    parent_id: NotRequired[TicketId]


class TicketMoves(TypedDict):
    ticket_id: TicketId
    status: Status
    moves: list[Status]


class TicketSet(TypedDict):
    ticket_id: TicketId
    status: Status


class TicketNamed(TypedDict):
    ticket_id: TicketId
    name: str


class TicketAssigned(TypedDict):
    ticket_id: TicketId
    assignee_id: NotRequired[DeveloperId]


class TicketPriority(TypedDict):
    ticket_id: TicketId
    priority: Priority


class TicketPoints(TypedDict):
    ticket_id: TicketId
    points: int


class TicketLabels(TypedDict):
    ticket_id: TicketId
    labels: list[TicketLabel]


class TicketComponent(TypedDict):
    ticket_id: TicketId
    component_id: ComponentId


class Watchers(TypedDict):
    ticket_id: TicketId
    watchers: int


class LinkShown(TypedDict):
    """`ticket_id` is the ticket at the other end."""

    link_id: LinkId
    kind: Literal["blocks", "blocked_by", "relates", "duplicates", "duplicated_by"]
    ticket_id: TicketId


class LinkMade(TypedDict):
    link_id: LinkId
    kind: LinkKind


class LinkGone(TypedDict):
    link_id: LinkId
    links_left: int


class Duplicate(TypedDict):
    ticket_id: TicketId
    status: Status
    link_id: LinkId


class EpicShown(TypedDict):
    epic_id: EpicId
    name: str
    status: EpicStatus
    closed_tickets: int
    tickets: int


class EpicSet(TypedDict):
    epic_id: EpicId
    status: EpicStatus


class EpicCount(TypedDict):
    epic_id: EpicId
    tickets: int


class SprintShown(TypedDict):
    sprint_id: SprintId
    name: str
    status: SprintStatus
    points: int
    capacity: int


class SprintProgress(TypedDict):
    sprint_id: SprintId
    tickets: int
    points: int
    closed_points: int
    room: int


class SprintSet(TypedDict):
    sprint_id: SprintId
    status: SprintStatus
    points: int


class SprintEnded(TypedDict):
    sprint_id: SprintId
    status: SprintStatus
    unclosed: int


class ReleaseShown(TypedDict):
    release_id: ReleaseId
    name: str
    published: bool
    unclosed: int
    tickets: int


class ReleaseCount(TypedDict):
    release_id: ReleaseId
    tickets: int


class ReleaseSet(TypedDict):
    release_id: ReleaseId
    published: bool


class CommentShown(TypedDict):
    comment_id: CommentId
    author: str
    text: str


class CommentMade(TypedDict):
    comment_id: CommentId
    comments: int


class CommentSet(TypedDict):
    comment_id: CommentId
    text: str


class WorkShown(TypedDict):
    worklog_id: WorklogId
    author: str
    day: str
    minutes: int


class WorkMade(TypedDict):
    worklog_id: WorklogId
    ticket_minutes: int


class DeveloperWork(TypedDict):
    developer_id: DeveloperId
    minutes: int
    tickets: int
    last_day: NotRequired[str]
