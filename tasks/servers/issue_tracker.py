"""The issue tracker server: projects, tickets with a workflow, sprints with a capacity, links, comments and work logged.

    with environment(["issue_tracker"]).session(7) as session:
        session.call("find_project", {"name": "Falcon"})

A ticket moves along its project's workflow only; one that others block cannot be closed; links never make a circle; a
sprint takes tickets up to its capacity, and only a running one lets work begin. Leads alone plan sprints and publish releases.

Left out: attachments, time passing, and teammates who work by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Limit, identifier, plain
from tasks.servers.world import World, words

ProjectId = identifier("project", "prj")
TicketId = identifier("ticket", "tkt")
SprintId = identifier("sprint", "spr")
DeveloperId = identifier("developer", "dev")
CommentId = identifier("ticket_comment", "com")
ReleaseId = identifier("release", "rel")
WorklogId = identifier("worklog", "log")

Status = Literal["open", "in_progress", "in_review", "done", "rejected"]
Kind = Literal["bug", "feature", "chore", "epic"]
Priority = Annotated[Literal["low", "medium", "high", "urgent"], Field(description="How soon it is needed.")]
AnyStatus = Annotated[
    Literal["any", "open", "in_progress", "in_review", "done", "rejected"], Field(description="Only tickets in this state.")
]
NewStatus = Annotated[Status, Field(description="The state to move to.")]
SprintStatus = Literal["planned", "running", "finished"]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
Title = Annotated[str, Field(min_length=1, max_length=60, description="A short title, one line.")]
Points = Annotated[int, Field(ge=0, le=21, description="Estimated effort in points.")]
Words = Annotated[str, Field(min_length=1, max_length=300, description="The text, one line.")]

WORKFLOWS: dict[str, dict[str, tuple[str, ...]]] = {
    "reviewed": {
        "open": ("in_progress", "rejected"),
        "in_progress": ("open", "in_review"),
        "in_review": ("in_progress", "done"),
        "done": ("open",),
        "rejected": ("open",),
    },
    "simple": {
        "open": ("in_progress", "rejected", "done"),
        "in_progress": ("open", "done"),
        "in_review": ("in_progress", "done"),
        "done": ("open",),
        "rejected": ("open",),
    },
}
"""Which state a ticket may move to, by the project's workflow."""
CLOSED = ("done", "rejected")

PROJECTS = words(
    """Falcon Harbor Juniper Kestrel Lantern Meridian Nebula Orchid Pelican Quasar Rocket Saturn Tundra Umbra Vortex Willow
    Zephyr Aurora Basalt Comet Delta Ember Fjord Glacier Halo Inca Jigsaw Krypton Lotus Mosaic Nimbus Osprey Phoenix Raptor"""
)
AREAS = words(
    """login search checkout export import dashboard billing profile upload mobile email report calendar cache backup sync
    settings invite filter payment avatar banner cursor drawer footer gallery header keyboard layout menu navbar onboarding
    password queue router sidebar tooltip webhook"""
)
DEFECTS = words(
    """crash freeze leak timeout typo flicker overlap regression deadlock corruption overflow duplicate mismatch latency outage
    redirect truncation glitch spike drift stutter warning rewrite cleanup redesign upgrade migration audit refactor benchmark
    rollback toggle"""
)
LABELS = ("backend", "frontend", "security", "performance", "docs", "ux")
Label = Annotated[Literal["backend", "frontend", "security", "performance", "docs", "ux"], Field(description="A label.")]


@dataclass(frozen=True, slots=True)
class Developer:
    developer_id: str
    name: str
    role: Literal["user", "lead", "member"]


@dataclass(frozen=True, slots=True)
class Project:
    """`lead` alone plans its sprints and publishes its releases; `members` can be given its tickets."""

    project_id: str
    name: str
    workflow: str
    lead: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ticket:
    """`blocks` are tickets that wait for this one; `parent` is an epic of the same project."""

    ticket_id: str
    project_id: str
    name: str
    kind: Kind
    status: Status
    priority: str
    points: int
    assignee: str = ""
    sprint_id: str = ""
    release_id: str = ""
    parent: str = ""
    labels: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    watchers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sprint:
    sprint_id: str
    project_id: str
    name: str
    capacity: int
    status: SprintStatus


@dataclass(frozen=True, slots=True)
class Release:
    release_id: str
    project_id: str
    name: str
    published: bool = False


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
    minutes: int


class ProjectShown(TypedDict):
    project_id: ProjectId
    name: str
    lead_id: DeveloperId
    workflow: str


class DeveloperShown(TypedDict):
    developer_id: DeveloperId
    name: str
    tickets: int


class TicketShown(TypedDict):
    ticket_id: TicketId
    name: str
    status: Status
    priority: str


class TicketTold(TypedDict):
    ticket_id: TicketId
    project_id: ProjectId
    kind: Kind
    status: Status
    points: int
    assignee: str
    labels: list[str]


class TicketDone(TypedDict):
    ticket_id: TicketId
    status: Status


class Assigned(TypedDict):
    ticket_id: TicketId
    assignee_id: DeveloperId


class LabelsDone(TypedDict):
    ticket_id: TicketId
    labels: list[str]


class LinkDone(TypedDict):
    ticket_id: TicketId
    blocks: list[TicketId]


class SprintShown(TypedDict):
    sprint_id: SprintId
    name: str
    status: SprintStatus
    points: int
    capacity: int


class SprintDone(TypedDict):
    sprint_id: SprintId
    status: SprintStatus
    points: int


class CommentShown(TypedDict):
    comment_id: CommentId
    author: str
    text: str


class CommentDone(TypedDict):
    comment_id: CommentId
    comments: int


class WorkDone(TypedDict):
    worklog_id: WorklogId
    minutes: int


class Logged(TypedDict):
    ticket_id: TicketId
    minutes: int


class ReleaseShown(TypedDict):
    release_id: ReleaseId
    name: str
    tickets: int
    published: bool


class Progress(TypedDict):
    ticket_id: TicketId
    done: int
    tickets: int


class Watchers(TypedDict):
    ticket_id: TicketId
    watchers: int


class NewTicket(TypedDict):
    """What a ticket is about."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    title: Title
    kind: Annotated[Kind, Field(description="What it is.")]
    points: Points


class IssueTracker(Server):
    """One company's tracker; the user is one of its developers, and leads some projects."""

    name = "issue_tracker"
    title = "Projects, tickets, sprints, links and releases."

    developers: Table[Developer]
    projects: Table[Project]
    tickets: Table[Ticket]
    sprints: Table[Sprint]
    releases: Table[Release]
    comments: Table[Comment]
    worklogs: Table[Worklog]

    @classmethod
    def seed(cls, world: World) -> Seed:
        ids = world.ids("dev", 8)
        developers = {
            key: Developer(key, person.name, "user" if n == 0 else "member")
            for n, (key, person) in enumerate(zip(ids, world.people(), strict=False))
        }
        me, others = ids[0], ids[1:]
        projects = {}
        for n, (key, name) in enumerate(zip(world.ids("prj", 4), world.picks(PROJECTS, 4), strict=False)):
            lead = me if n < 2 else world.choice(others)
            members = tuple(dict.fromkeys([lead, me, *world.rng.sample(others, 3)]))
            projects[key] = Project(key, name, ("reviewed", "simple")[n % 2], lead, members)
        sprints, releases = {}, {}
        numbers, versions = iter(world.ids("spr", 12)), iter(world.ids("rel", 8))
        for project in projects.values():
            for n, state in enumerate(("finished", "running", "planned")):
                key = next(numbers)
                sprints[key] = Sprint(key, project.project_id, f"{project.name} {n + 1}", 30, state)  # type: ignore[arg-type]
            for n in range(2):
                key = next(versions)
                releases[key] = Release(key, project.project_id, f"{project.name} v{n + 1}", n == 0)
        pairs = zip(world.picks(AREAS, 26) * 2, world.picks(DEFECTS, 22) * 2, strict=False)
        titles = [f"{area} {defect}" for area, defect in pairs]
        tickets: dict[str, Ticket] = {}
        load: dict[str, int] = {}
        for n, (key, title) in enumerate(zip(world.ids("tkt", 36), dict.fromkeys(titles), strict=False)):
            project = list(projects.values())[n % 4]
            epics = [t for t in tickets.values() if t.project_id == project.project_id and t.kind == "epic"]
            kind: Kind = "epic" if n < 4 else world.choice(("bug", "feature", "chore"))
            status: Status = world.choice(("open", "open", "in_progress", "in_review", "done", "rejected"))
            if project.workflow == "simple" and status == "in_review":
                status = "in_progress"
            if kind == "epic":
                status = "open"
            points = 0 if kind == "epic" else world.choice((1, 2, 3, 5, 8))
            running = [s for s in sprints.values() if s.project_id == project.project_id and s.status == "running"]
            sprint = ""
            if kind != "epic" and status in ("in_progress", "in_review"):
                sprint = running[0].sprint_id
            if sprint and load.get(sprint, 0) + points > 30:
                sprint, status = "", "open"
            load[sprint] = load.get(sprint, 0) + points
            tickets[key] = Ticket(
                key,
                project.project_id,
                title,
                kind,
                status,
                world.choice(("low", "medium", "high", "urgent")),
                points,
                world.choice(project.members) if sprint or world.rng.random() < 0.4 else "",
                sprint,
                "",
                epics[0].ticket_id if epics and world.rng.random() < 0.4 else "",
                tuple(sorted(world.rng.sample(LABELS, world.rng.randint(0, 2)))),
            )
        waiting = [t for t in tickets.values() if t.status == "open" and t.kind != "epic"]
        for blocker, blocked in zip(waiting[::2], waiting[1::2], strict=False):
            tickets[blocker.ticket_id] = replace(blocker, blocks=(blocked.ticket_id,))
        comments = {}
        for key in world.ids("com", 12):
            ticket = world.choice(list(tickets.values()))
            text = f"The {world.pick(AREAS)} needs another {world.pick(DEFECTS)} check"
            comments[key] = Comment(key, ticket.ticket_id, world.choice(ids), text)
        worklogs = {}
        for key in world.ids("log", 8):
            ticket = world.choice([t for t in tickets.values() if t.sprint_id] or list(tickets.values()))
            worklogs[key] = Worklog(key, ticket.ticket_id, ticket.assignee or me, world.choice((30, 60, 90, 120)))
        return {
            "developers": developers,
            "projects": projects,
            "tickets": tickets,
            "sprints": sprints,
            "releases": releases,
            "comments": comments,
            "worklogs": worklogs,
        }

    # -- projects and people -----------------------------------------------------------------------

    @tool(read_only=True)
    def find_project(self, name: KnownName) -> ProjectShown:
        """Finds a project by its name."""
        return _project_shown(named(self.projects.values(), name, "project", "list_projects"))

    @tool(read_only=True)
    def list_projects(self, limit: Limit = 5) -> list[ProjectShown]:
        """Lists projects with their leads."""
        return [_project_shown(row) for row in self.projects.values()][: int(limit)]

    @tool(read_only=True)
    def find_developer(self, name: KnownName) -> DeveloperShown:
        """Finds a developer by the full name, with how many open tickets they have."""
        return self._developer_shown(named(self.developers.values(), name, "developer", "list_developers"))

    @tool(read_only=True)
    def list_developers(self, project_id: ProjectId, limit: Limit = 5) -> list[DeveloperShown]:
        """Lists the developers of a project."""
        members = self._project(project_id).members
        return [self._developer_shown(self.developers[m]) for m in members][: int(limit)]

    # -- tickets -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_ticket(self, name: KnownName) -> TicketShown:
        """Finds a ticket by its whole title."""
        return _ticket_shown(named(self.tickets.values(), name, "ticket", "list_tickets"))

    @tool(read_only=True)
    def list_tickets(self, project_id: ProjectId, status: AnyStatus = "any", limit: Limit = 5) -> list[TicketShown]:
        """Lists a project's tickets, in all states or one."""
        self._project(project_id)
        rows = self.tickets.where(lambda t: t.project_id == project_id and status in ("any", t.status))
        return [_ticket_shown(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def list_assigned_tickets(self, developer_id: DeveloperId, limit: Limit = 5) -> list[TicketShown]:
        """Lists the tickets that a developer has and that are not closed."""
        existing(self.developers, developer_id, "developer", "list_developers")
        rows = self.tickets.where(lambda t: t.assignee == developer_id and t.status not in CLOSED)
        return [_ticket_shown(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def get_ticket(self, ticket_id: TicketId) -> TicketTold:
        """A ticket's kind, state, effort, labels and who has it."""
        row = self._ticket(ticket_id)
        return {
            "ticket_id": ticket_id,
            "project_id": row.project_id,
            "kind": row.kind,
            "status": row.status,
            "points": row.points,
            "assignee": self.developers[row.assignee].name if row.assignee else "nobody",
            "labels": list(row.labels),
        }

    @tool()
    def create_ticket(
        self,
        project_id: ProjectId,
        ticket: Annotated[NewTicket, Field(description="The new ticket.")],
        priority: Priority = "medium",
    ) -> TicketDone:
        """Creates an open ticket in a project."""
        self._project(project_id)
        title = unused(self.tickets.values(), ticket["title"], "ticket")
        key = self.tickets.fresh("tkt", project_id, title)
        points = 0 if ticket["kind"] == "epic" else int(ticket["points"])
        self.tickets.put(key, Ticket(key, project_id, title, ticket["kind"], "open", priority, points))
        return {"ticket_id": key, "status": "open"}

    @tool()
    def move_ticket(self, ticket_id: TicketId, status: NewStatus) -> TicketDone:
        """Moves a ticket to another state, as its project's workflow allows."""
        row = self._ticket(ticket_id)
        allowed = WORKFLOWS[self.projects[row.project_id].workflow][row.status]
        if status not in allowed:
            raise ToolError("wrong_state", f"{ticket_id} is {row.status}", f"From there it goes to {' or '.join(allowed)}.")
        if status == "in_progress":
            if not row.assignee:
                raise ToolError("wrong_state", "nobody has this ticket", "Use assign_ticket first.")
            if row.kind != "epic" and (not row.sprint_id or self.sprints[row.sprint_id].status != "running"):
                raise ToolError("wrong_state", "this ticket is in no running sprint", "Use plan_ticket or start_sprint first.")
        if status == "done":
            waits = [t.ticket_id for t in self.tickets.values() if ticket_id in t.blocks and t.status not in CLOSED]
            waits += [t.ticket_id for t in self.tickets.values() if t.parent == ticket_id and t.status not in CLOSED]
            if waits:
                raise ToolError("wrong_state", f"{ticket_id} waits for {waits[0]}", "Close that one first.")
        self.tickets.update(ticket_id, status=status)
        return {"ticket_id": ticket_id, "status": status}

    @tool(idempotent=True)
    def assign_ticket(self, ticket_id: TicketId, developer_id: DeveloperId) -> Assigned:
        """Gives an open ticket to a developer of its project."""
        row = self._unclosed(ticket_id)
        existing(self.developers, developer_id, "developer", "list_developers")
        if developer_id not in self.projects[row.project_id].members:
            raise ToolError("denied", f"{developer_id} is not in this project", "list_developers shows who is.")
        self.tickets.update(ticket_id, assignee=developer_id)
        return {"ticket_id": ticket_id, "assignee_id": developer_id}

    @tool(idempotent=True)
    def set_ticket_priority(self, ticket_id: TicketId, priority: Priority) -> TicketDone:
        """Changes how soon a ticket is needed."""
        row = self._unclosed(ticket_id)
        self.tickets.update(ticket_id, priority=priority)
        return {"ticket_id": ticket_id, "status": row.status}

    @tool(idempotent=True)
    def estimate_ticket(self, ticket_id: TicketId, points: Points) -> TicketTold:
        """Changes a ticket's effort; its sprint must have room for it."""
        row = self._unclosed(ticket_id)
        if row.kind == "epic":
            raise ToolError("wrong_state", "an epic has no effort of its own", "Estimate its tickets.")
        if row.sprint_id:
            self._check_room(self.sprints[row.sprint_id], int(points) - row.points)
        self.tickets.update(ticket_id, points=int(points))
        return self.get_ticket(ticket_id)

    @tool(idempotent=True)
    def label_ticket(
        self, ticket_id: TicketId, labels: Annotated[list[Label], Field(max_length=6, description="All that it shall have.")]
    ) -> LabelsDone:
        """Sets a ticket's labels."""
        self._ticket(ticket_id)
        chosen = sorted(set(labels))
        self.tickets.update(ticket_id, labels=tuple(chosen))
        return {"ticket_id": ticket_id, "labels": chosen}

    @tool(idempotent=True)
    def set_ticket_epic(self, ticket_id: TicketId, epic_id: TicketId) -> Progress:
        """Puts a ticket under an epic of the same project."""
        row, epic = self._unclosed(ticket_id), self._unclosed(epic_id)
        if epic.kind != "epic" or row.kind == "epic":
            raise ToolError("invalid_value", f"{epic_id} is a {epic.kind}, {ticket_id} a {row.kind}", "Name an epic.")
        if epic.project_id != row.project_id:
            raise ToolError("conflict", "the epic is of another project", "list_tickets shows a project's epics.")
        self.tickets.update(ticket_id, parent=epic_id)
        return self.get_epic_progress(epic_id)

    @tool(read_only=True)
    def get_epic_progress(self, epic_id: TicketId) -> Progress:
        """How many of an epic's tickets are closed."""
        self._ticket(epic_id)
        rows = self.tickets.where(lambda t: t.parent == epic_id)
        return {"ticket_id": epic_id, "done": sum(t.status in CLOSED for t in rows), "tickets": len(rows)}

    @tool()
    def block_ticket(self, ticket_id: TicketId, blocked_id: TicketId) -> LinkDone:
        """Says that one ticket must be closed before another."""
        row, other = self._unclosed(ticket_id), self._unclosed(blocked_id)
        if blocked_id in row.blocks:
            raise ToolError("conflict", f"{ticket_id} blocks {blocked_id} already", "Nothing is needed.")
        if self._reaches(other.ticket_id, ticket_id):
            raise ToolError("conflict", f"{blocked_id} blocks {ticket_id}: a circle", "Use unblock_ticket on the other link.")
        if len(row.blocks) >= 8:
            raise ToolError("insufficient", "a ticket blocks 8 others at most", "Use unblock_ticket first.")
        self.tickets.update(ticket_id, blocks=(*row.blocks, blocked_id))
        return {"ticket_id": ticket_id, "blocks": [*row.blocks, blocked_id]}

    @tool()
    def unblock_ticket(self, ticket_id: TicketId, blocked_id: TicketId) -> LinkDone:
        """Takes back that one ticket blocks another."""
        row = self._ticket(ticket_id)
        if blocked_id not in row.blocks:
            raise ToolError("not_found", f"{ticket_id} does not block {blocked_id}", "list_blockers shows what does.")
        left = tuple(b for b in row.blocks if b != blocked_id)
        self.tickets.update(ticket_id, blocks=left)
        return {"ticket_id": ticket_id, "blocks": list(left)}

    @tool(read_only=True)
    def list_blockers(self, ticket_id: TicketId, limit: Limit = 5) -> list[TicketShown]:
        """Lists the tickets that a ticket waits for."""
        self._ticket(ticket_id)
        rows = self.tickets.where(lambda t: ticket_id in t.blocks and t.status not in CLOSED)
        return [_ticket_shown(row) for row in rows[: int(limit)]]

    @tool(idempotent=True)
    def watch_ticket(self, ticket_id: TicketId, developer_id: DeveloperId) -> Watchers:
        """Tells a developer of every change of a ticket."""
        row = self._ticket(ticket_id)
        existing(self.developers, developer_id, "developer", "list_developers")
        watchers = tuple(sorted({*row.watchers, developer_id}))
        self.tickets.update(ticket_id, watchers=watchers)
        return {"ticket_id": ticket_id, "watchers": len(watchers)}

    # -- comments and work -------------------------------------------------------------------------

    @tool()
    def comment_ticket(self, ticket_id: TicketId, text: Words) -> CommentDone:
        """Writes a comment on a ticket."""
        self._ticket(ticket_id)
        line = plain(text)
        key = self.comments.fresh("com", ticket_id, line)
        self.comments.put(key, Comment(key, ticket_id, self._me, line))
        return {"comment_id": key, "comments": sum(c.ticket_id == ticket_id for c in self.comments.values())}

    @tool(read_only=True)
    def list_ticket_comments(self, ticket_id: TicketId, limit: Limit = 5) -> list[CommentShown]:
        """Lists a ticket's comments."""
        self._ticket(ticket_id)
        rows = self.comments.where(lambda c: c.ticket_id == ticket_id)[: int(limit)]
        return [{"comment_id": c.comment_id, "author": self.developers[c.author].name, "text": c.text} for c in rows]

    @tool(destructive=True)
    def delete_ticket_comment(self, comment_id: CommentId) -> CommentDone:
        """Deletes one of the user's own comments."""
        row = existing(self.comments, comment_id, "comment", "list_ticket_comments")
        if row.author != self._me:
            raise ToolError("denied", "this is somebody else's comment", "Only own comments can be deleted.")
        self.comments.remove(comment_id)
        return {"comment_id": comment_id, "comments": sum(c.ticket_id == row.ticket_id for c in self.comments.values())}

    @tool()
    def log_work(self, ticket_id: TicketId, minutes: Annotated[int, Field(ge=5, le=600, description="How long.")]) -> WorkDone:
        """Notes work of the user on a ticket that is being worked on."""
        row = self._ticket(ticket_id)
        if row.status not in ("in_progress", "in_review"):
            raise ToolError("wrong_state", f"{ticket_id} is {row.status}", "Use move_ticket to begin with it.")
        key = self.worklogs.fresh("log", ticket_id, int(minutes))
        self.worklogs.put(key, Worklog(key, ticket_id, self._me, int(minutes)))
        return {"worklog_id": key, "minutes": self._minutes(ticket_id)}

    @tool(read_only=True)
    def get_logged_work(self, ticket_id: TicketId) -> Logged:
        """How many minutes were worked on a ticket."""
        self._ticket(ticket_id)
        return {"ticket_id": ticket_id, "minutes": self._minutes(ticket_id)}

    # -- sprints and releases ----------------------------------------------------------------------

    @tool(read_only=True)
    def list_sprints(self, project_id: ProjectId, limit: Limit = 5) -> list[SprintShown]:
        """Lists a project's sprints with their points."""
        self._project(project_id)
        return [self._sprint_shown(s) for s in self.sprints.where(lambda s: s.project_id == project_id)[: int(limit)]]

    @tool(read_only=True)
    def find_running_sprint(self, project_id: ProjectId) -> SprintShown:
        """The sprint that a project is in."""
        self._project(project_id)
        rows = self.sprints.where(lambda s: s.project_id == project_id and s.status == "running")
        if not rows:
            raise ToolError("not_found", "no sprint of this project runs", "start_sprint begins a planned one.")
        return self._sprint_shown(rows[0])

    @tool(read_only=True)
    def list_sprint_tickets(self, sprint_id: SprintId, limit: Limit = 5) -> list[TicketShown]:
        """Lists a sprint's tickets."""
        self._sprint(sprint_id)
        return [_ticket_shown(t) for t in self.tickets.where(lambda t: t.sprint_id == sprint_id)[: int(limit)]]

    @tool()
    def plan_ticket(self, ticket_id: TicketId, sprint_id: SprintId) -> SprintDone:
        """Puts an open ticket into a sprint of its project that has room."""
        row, sprint = self._unclosed(ticket_id), self._sprint(sprint_id, "planned", "running")
        if row.kind == "epic":
            raise ToolError("wrong_state", "an epic is in no sprint", "Plan its tickets.")
        if sprint.project_id != row.project_id:
            raise ToolError("conflict", "the sprint is of another project", "list_sprints shows a project's sprints.")
        if row.sprint_id == sprint_id:
            raise ToolError("wrong_state", f"{ticket_id} is in this sprint already", "Nothing is needed.")
        if row.status != "open":
            raise ToolError("wrong_state", f"{ticket_id} is {row.status}", "Only open tickets change their sprint.")
        self._check_room(sprint, row.points)
        self.tickets.update(ticket_id, sprint_id=sprint_id)
        return self._sprint_done(sprint_id)

    @tool()
    def unplan_ticket(self, ticket_id: TicketId) -> TicketDone:
        """Takes an open ticket out of its sprint."""
        row = self._unclosed(ticket_id)
        if not row.sprint_id or row.status != "open":
            raise ToolError("wrong_state", f"{ticket_id} is no open ticket of a sprint", "list_sprint_tickets shows those.")
        self.tickets.update(ticket_id, sprint_id="")
        return {"ticket_id": ticket_id, "status": row.status}

    @tool()
    def start_sprint(self, sprint_id: SprintId) -> SprintDone:
        """Begins a planned sprint of a project that the user leads; one runs at a time."""
        sprint = self._sprint(sprint_id, "planned")
        self._check_lead(sprint.project_id)
        if any(s.status == "running" and s.project_id == sprint.project_id for s in self.sprints.values()):
            raise ToolError("conflict", "another sprint of this project runs", "Use finish_sprint on it first.")
        self.sprints.update(sprint_id, status="running")
        return self._sprint_done(sprint_id)

    @tool()
    def finish_sprint(self, sprint_id: SprintId) -> SprintDone:
        """Ends the running sprint of a project that the user leads; what is not closed goes back to open."""
        sprint = self._sprint(sprint_id, "running")
        self._check_lead(sprint.project_id)
        for ticket in self.tickets.where(lambda t: t.sprint_id == sprint_id and t.status not in CLOSED):
            self.tickets.update(ticket.ticket_id, status="open", sprint_id="")
        self.sprints.update(sprint_id, status="finished")
        return self._sprint_done(sprint_id)

    @tool(read_only=True)
    def list_releases(self, project_id: ProjectId, limit: Limit = 5) -> list[ReleaseShown]:
        """Lists a project's releases."""
        self._project(project_id)
        return [self._release_shown(r) for r in self.releases.where(lambda r: r.project_id == project_id)[: int(limit)]]

    @tool()
    def add_to_release(self, release_id: ReleaseId, ticket_id: TicketId) -> ReleaseShown:
        """Puts a done ticket into a release of its project that is not published."""
        release, row = self._release(release_id), self._ticket(ticket_id)
        if row.project_id != release.project_id:
            raise ToolError("conflict", "the release is of another project", "list_releases shows a project's releases.")
        if row.status != "done":
            raise ToolError("wrong_state", f"{ticket_id} is {row.status}", "Only done tickets are released.")
        if row.release_id:
            raise ToolError("conflict", f"{ticket_id} is in {row.release_id}", "A ticket is released once.")
        self.tickets.update(ticket_id, release_id=release_id)
        return self._release_shown(release)

    @tool(destructive=True)
    def publish_release(self, release_id: ReleaseId) -> ReleaseShown:
        """Publishes a release with at least one ticket, in a project that the user leads."""
        release = self._release(release_id)
        self._check_lead(release.project_id)
        if not any(t.release_id == release_id for t in self.tickets.values()):
            raise ToolError("insufficient", "nothing is in this release", "Use add_to_release first.")
        return self._release_shown(self.releases.update(release_id, published=True))

    # -- helpers -----------------------------------------------------------------------------------

    @property
    def _me(self) -> str:
        return next(d.developer_id for d in self.developers.values() if d.role == "user")

    def _project(self, project_id: str) -> Project:
        return existing(self.projects, project_id, "project", "list_projects")

    def _ticket(self, ticket_id: str) -> Ticket:
        return existing(self.tickets, ticket_id, "ticket", "list_tickets")

    def _unclosed(self, ticket_id: str) -> Ticket:
        row = self._ticket(ticket_id)
        if row.status in CLOSED:
            raise ToolError("wrong_state", f"{ticket_id} is {row.status}", "Use move_ticket to open it again.")
        return row

    def _sprint(self, sprint_id: str, *statuses: str) -> Sprint:
        row = existing(self.sprints, sprint_id, "sprint", "list_sprints")
        if statuses and row.status not in statuses:
            raise ToolError("wrong_state", f"{sprint_id} is {row.status}", f"It must be {' or '.join(statuses)}.")
        return row

    def _release(self, release_id: str) -> Release:
        row = existing(self.releases, release_id, "release", "list_releases")
        if row.published:
            raise ToolError("wrong_state", f"{release_id} is published", "Choose one that is not.")
        return row

    def _check_lead(self, project_id: str) -> None:
        lead = self.projects[project_id].lead
        if lead != self._me:
            raise ToolError("denied", "the user does not lead this project", f"Ask {self.developers[lead].name}.")

    def _points(self, sprint_id: str) -> int:
        return sum(t.points for t in self.tickets.values() if t.sprint_id == sprint_id)

    def _check_room(self, sprint: Sprint, more: int) -> None:
        room = sprint.capacity - self._points(sprint.sprint_id)
        if more > room:
            raise ToolError("insufficient", f"{sprint.sprint_id} has room for {room} points", "Use unplan_ticket first.")

    def _minutes(self, ticket_id: str) -> int:
        return sum(w.minutes for w in self.worklogs.values() if w.ticket_id == ticket_id)

    def _reaches(self, start: str, goal: str) -> bool:
        """Whether `goal` waits, over any number of links, for `start`; a ticket waits for itself."""
        todo, seen = [start], set()
        while todo:
            key = todo.pop()
            if key == goal:
                return True
            if key not in seen:
                seen.add(key)
                todo += self.tickets[key].blocks
        return False

    def _developer_shown(self, row: Developer) -> DeveloperShown:
        count = sum(t.assignee == row.developer_id and t.status not in CLOSED for t in self.tickets.values())
        return {"developer_id": row.developer_id, "name": row.name, "tickets": count}

    def _sprint_shown(self, row: Sprint) -> SprintShown:
        return {
            "sprint_id": row.sprint_id,
            "name": row.name,
            "status": row.status,
            "points": self._points(row.sprint_id),
            "capacity": row.capacity,
        }

    def _sprint_done(self, sprint_id: str) -> SprintDone:
        return {"sprint_id": sprint_id, "status": self.sprints[sprint_id].status, "points": self._points(sprint_id)}

    def _release_shown(self, row: Release) -> ReleaseShown:
        count = sum(t.release_id == row.release_id for t in self.tickets.values())
        return {"release_id": row.release_id, "name": row.name, "tickets": count, "published": row.published}


def _project_shown(row: Project) -> ProjectShown:
    return {"project_id": row.project_id, "name": row.name, "lead_id": row.lead, "workflow": row.workflow}


def _ticket_shown(row: Ticket) -> TicketShown:
    return {"ticket_id": row.ticket_id, "name": row.name, "status": row.status, "priority": row.priority}
