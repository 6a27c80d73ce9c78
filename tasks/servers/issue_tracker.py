"""The issue tracker server: projects, tickets with a workflow, links, epics, sprints with a capacity, releases, work logged.

    with environment(["issue_tracker"]).session(7) as session:
        session.call("find_project", {"name": "Falcon"})

The user is one of the developers, leads some projects and is a member of others; all can be read. A ticket moves as its
project's workflow allows, by who has it or the lead. It cannot be closed while it waits for another or for a subtask, nor be
opened again while something closed counts on it; so links never make a circle. Work begins only in a running sprint.

Left out: attachments, time passing, and developers who act by themselves.
"""

from __future__ import annotations

from tasks.servers import issue_tracker_rows as r
from tasks.servers import issue_tracker_types as t
from tasks.servers.issue_tracker_data import seed_rows
from tasks.servers.issue_tracker_state import Tracker, component_shown, has_status, link_shown, ranked, ticket_row
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Limit, date_of, plain
from tasks.servers.world import World


class IssueTracker(Tracker, Server):
    """The server; see the module's docstring."""

    name = "issue_tracker"
    title = "An issue tracker: tickets, sprints, releases"

    developers: Table[r.Developer]
    projects: Table[r.Project]
    components: Table[r.Component]
    epics: Table[r.Epic]
    sprints: Table[r.Sprint]
    releases: Table[r.Release]
    tickets: Table[r.Ticket]
    links: Table[r.Link]
    comments: Table[r.Comment]
    worklogs: Table[r.Worklog]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- people and projects ---------------------------------------------------------------------

    @tool(read_only=True)
    def get_tracker_user(self) -> t.DeveloperShown:
        """Tell which developer the user is."""
        return self._developer_shown(self.developers[self._me()])

    @tool(read_only=True)
    def list_developers(self, limit: Limit = 5) -> list[t.DeveloperShown]:
        """List the developers with their numbers of unclosed tickets."""
        return [self._developer_shown(row) for row in self.developers.values()][: int(limit)]

    @tool(read_only=True)
    def find_developer(self, name: t.KnownName) -> t.DeveloperShown:
        """Find a developer by the full name."""
        return self._developer_shown(named(self.developers.values(), name, "developer", "list_developers"))

    @tool(read_only=True)
    def list_projects(self, limit: Limit = 5) -> list[t.ProjectShown]:
        """List the projects with their workflows and what the user is in them."""
        return [self._project_shown(row) for row in self.projects.values()][: int(limit)]

    @tool(read_only=True)
    def find_project(self, name: t.KnownName) -> t.ProjectShown:
        """Find a project by its name."""
        return self._project_shown(named(self.projects.values(), name, "project", "list_projects"))

    @tool(read_only=True)
    def get_project(self, project_id: t.ProjectId) -> t.ProjectTold:
        """Show a project: its lead, members, and how many tickets are unclosed and blocked."""
        row = self._project(project_id)
        unclosed = self.tickets.where(lambda x: x.project_id == project_id and not x.closed)
        return {
            "project_id": project_id,
            "lead_id": row.lead,
            "members": len(row.members),
            "open_tickets": len(unclosed),
            "blocked_tickets": sum(bool(self._blockers(x.ticket_id)) for x in unclosed),
        }

    @tool(read_only=True)
    def list_project_members(self, project_id: t.ProjectId, limit: Limit = 5) -> list[t.DeveloperShown]:
        """List the developers in a project."""
        members = self._project(project_id).members[: int(limit)]
        return [self._developer_shown(self.developers[key]) for key in members]

    @tool()
    def add_project_member(self, project_id: t.ProjectId, developer_id: t.DeveloperId) -> t.MemberCount:
        """Take a developer into a project that the user leads."""
        row = self._led(project_id)
        self._developer(developer_id)
        if developer_id in row.members:
            raise ToolError("conflict", "this developer is in the project already", "list_project_members shows who is.")
        row = self.projects.update(project_id, members=tuple(sorted((*row.members, developer_id))))
        return {"project_id": project_id, "members": len(row.members)}

    @tool()
    def remove_project_member(self, project_id: t.ProjectId, developer_id: t.DeveloperId) -> t.MemberCount:
        """Take a developer out of a project that the user leads, who has no component and no unclosed ticket there."""
        row = self._led(project_id)
        self._developer(developer_id)
        if developer_id not in row.members:
            raise ToolError("not_found", "this developer is not in the project", "list_project_members shows who is.")
        if developer_id == row.lead:
            raise ToolError("denied", "the lead stays in the project", "Choose another developer.")
        left = self.tickets.where(lambda x: (x.project_id, x.assignee) == (project_id, developer_id) and not x.closed)
        if left:
            raise ToolError("conflict", f"this developer has {left[0].ticket_id}", "Use assign_ticket to give it to another.")
        owned = self.components.where(lambda c: (c.project_id, c.owner) == (project_id, developer_id))
        if owned:
            raise ToolError("conflict", f"this developer owns {owned[0].component_id}", "Use set_component_owner first.")
        row = self.projects.update(project_id, members=tuple(key for key in row.members if key != developer_id))
        return {"project_id": project_id, "members": len(row.members)}

    @tool(read_only=True)
    def list_components(self, project_id: t.ProjectId, limit: Limit = 5) -> list[t.ComponentShown]:
        """List the components of a project with their owners."""
        self._project(project_id)
        return [component_shown(c) for c in self.components.where(lambda c: c.project_id == project_id)[: int(limit)]]

    @tool(read_only=True)
    def find_component(self, name: t.KnownName) -> t.ComponentShown:
        """Find a component by its name."""
        return component_shown(named(self.components.values(), name, "component", "list_components"))

    @tool(idempotent=True)
    def set_component_owner(self, component_id: t.ComponentId, developer_id: t.DeveloperId) -> t.ComponentOwner:
        """Make a member the owner of a component, who gets its new tickets, in a project that the user leads."""
        project = self._led(self._component(component_id).project_id)
        self._check_member(project, developer_id)
        return {"component_id": component_id, "owner_id": self.components.update(component_id, owner=developer_id).owner}

    # -- tickets ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def search_tickets(self, filter: t.TicketFilter, limit: Limit = 5) -> list[t.TicketRow]:
        """List the tickets that satisfy all conditions of the filter, the most urgent first."""
        return [ticket_row(row) for row in ranked(self._matching(filter))[: int(limit)]]

    @tool(read_only=True)
    def list_project_tickets(
        self, project_id: t.ProjectId, status: t.AnyStatus = "unclosed", limit: Limit = 5
    ) -> list[t.TicketRow]:
        """List a project's tickets of a status, the most urgent first."""
        self._project(project_id)
        rows = self.tickets.where(lambda x: x.project_id == project_id and has_status(x, status))
        return [ticket_row(row) for row in ranked(rows)[: int(limit)]]

    @tool(read_only=True)
    def list_assigned_tickets(self, developer_id: t.DeveloperId, limit: Limit = 5) -> list[t.TicketRow]:
        """List the unclosed tickets that a developer has, the most urgent first."""
        self._developer(developer_id)
        rows = self.tickets.where(lambda x: x.assignee == developer_id and not x.closed)
        return [ticket_row(row) for row in ranked(rows)[: int(limit)]]

    @tool(read_only=True)
    def find_ticket(self, name: t.KnownName) -> t.TicketRow:
        """Find a ticket by its title."""
        return ticket_row(named(self.tickets.values(), name, "ticket", "search_tickets"))

    @tool(read_only=True)
    def get_ticket(self, ticket_id: t.TicketId) -> t.TicketShown:
        """Show a ticket: project, kind, status, priority, points and who has it."""
        row = self._ticket(ticket_id)
        shown: t.TicketShown = {
            "ticket_id": ticket_id,
            "project_id": row.project_id,
            "kind": row.kind,
            "status": row.status,
            "priority": row.priority,
            "points": row.points,
        }
        if row.assignee:
            shown["assignee_id"] = row.assignee
        return shown

    @tool(read_only=True)
    def get_ticket_plan(self, ticket_id: t.TicketId) -> t.TicketPlan:
        """Show the sprint, release, epic, component and parent of a ticket, as far as it has them."""
        row = self._ticket(ticket_id)
        plan: t.TicketPlan = {"ticket_id": ticket_id}
        if row.sprint_id:
            plan["sprint_id"] = row.sprint_id
        if row.release_id:
            plan["release_id"] = row.release_id
        if row.epic_id:
            plan["epic_id"] = row.epic_id
        if row.component_id:
            plan["component_id"] = row.component_id
        if row.parent:
            plan["parent_id"] = row.parent
        return plan

    @tool(read_only=True)
    def list_ticket_moves(self, ticket_id: t.TicketId) -> t.TicketMoves:
        """Show to which statuses a ticket can move by its project's workflow."""
        row = self._ticket(ticket_id)
        return {"ticket_id": ticket_id, "status": row.status, "moves": list(self._moves(row))}

    @tool()
    def create_ticket(
        self, project_id: t.ProjectId, ticket: t.NewTicket, priority: t.NewPriority = "medium"
    ) -> t.TicketAssigned:
        """Create an open ticket in a project of the user; the owner of its component gets it."""
        self._member(project_id)
        title = unused(self.tickets.values(), ticket["title"], "ticket")
        component_id, owner = ticket.get("component_id", ""), ""
        if component_id:
            component = self._component(component_id)
            if component.project_id != project_id:
                raise ToolError("conflict", "the component is of another project", "list_components shows a project's.")
            owner = component.owner
        key, points = self.tickets.fresh("tkt", title), int(ticket["points"])
        row = r.Ticket(key, project_id, title, ticket["kind"], "open", priority, points, owner, component_id)
        return self._assigned(self.tickets.put(key, row))

    @tool()
    def add_subtask(self, ticket_id: t.TicketId, title: t.Title, points: t.Points = 1) -> t.TicketAssigned:
        """Create an open ticket that must be closed before another unclosed one, which is no subtask itself."""
        parent = self._unclosed(ticket_id)
        name = unused(self.tickets.values(), title, "ticket")
        if parent.parent:
            raise ToolError("invalid_value", f"{ticket_id} is a subtask of {parent.parent}", "Use that one instead.")
        if len(self._subtasks(ticket_id)) >= r.MOST_SUBTASKS:
            raise ToolError("insufficient", f"a ticket has {r.MOST_SUBTASKS} subtasks at most", "Use create_ticket.")
        key = self.tickets.fresh("tkt", name)
        row = r.Ticket(key, parent.project_id, name, "chore", "open", parent.priority, int(points), parent=ticket_id)
        return self._assigned(self.tickets.put(key, row))

    @tool(read_only=True)
    def list_subtasks(self, ticket_id: t.TicketId, limit: Limit = 5) -> list[t.TicketRow]:
        """List the subtasks of a ticket."""
        self._ticket(ticket_id)
        return [ticket_row(row) for row in self._subtasks(ticket_id)[: int(limit)]]

    @tool()
    def move_ticket(self, ticket_id: t.TicketId, status: t.NewStatus) -> t.TicketSet:
        """Move a ticket to another status as its workflow allows; only who has it and the lead can."""
        row = self._ticket(ticket_id)
        self._may_move(row)
        moves, sprint_id = self._moves(row), row.sprint_id
        if status not in moves:
            raise ToolError("wrong_state", f"the ticket is {row.status}", f"From there it moves to {' or '.join(moves)}.")
        if status == "in_progress":
            if not row.assignee:
                raise ToolError("wrong_state", "nobody has this ticket", "Use assign_ticket first.")
            if not sprint_id or self.sprints[sprint_id].status != "running":
                raise ToolError("wrong_state", "the ticket is in no running sprint", "Use plan_ticket or start_sprint first.")
            self._check_begin(row.assignee)
        if status in r.CLOSED:
            self._check_close(row)
        if row.closed:
            self._check_reopen(row)
            if sprint_id and self.sprints[sprint_id].status == "finished":
                sprint_id = ""
        return {"ticket_id": ticket_id, "status": self.tickets.update(ticket_id, status=status, sprint_id=sprint_id).status}

    @tool(idempotent=True)
    def rename_ticket(self, ticket_id: t.TicketId, title: t.Title) -> t.TicketNamed:
        """Give an unclosed ticket another title."""
        self._unclosed(ticket_id)
        others = self.tickets.where(lambda x: x.ticket_id != ticket_id)
        return {"ticket_id": ticket_id, "name": self.tickets.update(ticket_id, name=unused(others, title, "ticket")).name}

    @tool(idempotent=True)
    def assign_ticket(self, ticket_id: t.TicketId, developer_id: t.DeveloperId) -> t.TicketAssigned:
        """Give an unclosed ticket to a member of its project."""
        row = self._unclosed(ticket_id)
        self._check_member(self.projects[row.project_id], developer_id)
        if row.status == "in_progress" and developer_id != row.assignee:
            self._check_begin(developer_id)
        return self._assigned(self.tickets.update(ticket_id, assignee=developer_id))

    @tool(idempotent=True)
    def unassign_ticket(self, ticket_id: t.TicketId) -> t.TicketAssigned:
        """Take a ticket that is open from whoever has it."""
        if self._unclosed(ticket_id).status != "open":
            raise ToolError("wrong_state", "somebody works on this ticket", "Use assign_ticket to give it to another.")
        return self._assigned(self.tickets.update(ticket_id, assignee=""))

    @tool(idempotent=True)
    def set_ticket_priority(self, ticket_id: t.TicketId, priority: t.NewPriority) -> t.TicketPriority:
        """Change how soon an unclosed ticket is needed."""
        self._unclosed(ticket_id)
        return {"ticket_id": ticket_id, "priority": self.tickets.update(ticket_id, priority=priority).priority}

    @tool(idempotent=True)
    def estimate_ticket(self, ticket_id: t.TicketId, points: t.Points) -> t.TicketPoints:
        """Change the points of an unclosed ticket; its sprint must have room for them."""
        row = self._unclosed(ticket_id)
        if row.sprint_id:
            self._check_room(self.sprints[row.sprint_id], int(points) - row.points)
        return {"ticket_id": ticket_id, "points": self.tickets.update(ticket_id, points=int(points)).points}

    @tool(idempotent=True)
    def label_ticket(self, ticket_id: t.TicketId, labels: t.Labels) -> t.TicketLabels:
        """Set the labels of a ticket, instead of those that it has."""
        self._mine(ticket_id)
        row = self.tickets.update(ticket_id, labels=tuple(sorted(set(labels))))
        return {"ticket_id": ticket_id, "labels": list(row.labels)}

    @tool(read_only=True)
    def get_ticket_labels(self, ticket_id: t.TicketId) -> t.TicketLabels:
        """Show the labels of a ticket."""
        return {"ticket_id": ticket_id, "labels": list(self._ticket(ticket_id).labels)}

    @tool(idempotent=True)
    def set_ticket_component(self, ticket_id: t.TicketId, component_id: t.ComponentId) -> t.TicketComponent:
        """Put an unclosed ticket under a component of its project."""
        row, component = self._unclosed(ticket_id), self._component(component_id)
        self._in_same(row, "component", component.project_id, "list_components")
        row = self.tickets.update(ticket_id, component_id=component_id)
        return {"ticket_id": ticket_id, "component_id": row.component_id}

    @tool(idempotent=True)
    def watch_ticket(self, ticket_id: t.TicketId) -> t.Watchers:
        """Put a ticket on the user's watch list."""
        row = self._ticket(ticket_id)
        watchers = tuple(sorted({*row.watchers, self._me()}))
        return {"ticket_id": ticket_id, "watchers": len(self.tickets.update(ticket_id, watchers=watchers).watchers)}

    @tool()
    def unwatch_ticket(self, ticket_id: t.TicketId) -> t.Watchers:
        """Take a ticket off the user's watch list."""
        row, me = self._ticket(ticket_id), self._me()
        if me not in row.watchers:
            raise ToolError("wrong_state", "the user does not watch this ticket", "list_watched_tickets shows what is watched.")
        watchers = tuple(key for key in row.watchers if key != me)
        return {"ticket_id": ticket_id, "watchers": len(self.tickets.update(ticket_id, watchers=watchers).watchers)}

    @tool(read_only=True)
    def list_watched_tickets(self, limit: Limit = 5) -> list[t.TicketRow]:
        """List the tickets that the user watches, the most urgent first."""
        me = self._me()
        return [ticket_row(row) for row in ranked(self.tickets.where(lambda x: me in x.watchers))[: int(limit)]]

    # -- links -----------------------------------------------------------------------------------

    @tool()
    def link_tickets(self, ticket_id: t.TicketId, other_id: t.TicketId, kind: t.NewLinkKind) -> t.LinkMade:
        """Link two tickets of the user's projects; for blocks both must be unclosed, and nothing may wait for itself."""
        if kind == "blocks":
            self._unclosed(ticket_id)
            self._unclosed(other_id)
            if self._waits_for(ticket_id, other_id):
                raise ToolError("conflict", f"{ticket_id} would wait for itself", "list_blockers shows what it waits for.")
        else:
            self._mine(ticket_id)
            self._mine(other_id)
            if ticket_id == other_id:
                raise ToolError("invalid_value", "both are the same ticket", "Give two different tickets.")
        row = self._put_link(kind, ticket_id, other_id)
        return {"link_id": row.link_id, "kind": row.kind}

    @tool(destructive=True)
    def unlink_tickets(self, link_id: t.LinkId) -> t.LinkGone:
        """Remove a link of a ticket in a project of the user."""
        row = existing(self.links, link_id, "link", "list_ticket_links")
        self._mine(row.source)
        if row.kind == "duplicates" and self.tickets[row.source].status == "rejected":
            raise ToolError("wrong_state", f"{row.source} is rejected as a duplicate", "Use move_ticket to open it first.")
        self.links.remove(link_id)
        return {"link_id": link_id, "links_left": len(self._links_of(row.source))}

    @tool(read_only=True)
    def list_ticket_links(self, ticket_id: t.TicketId, limit: Limit = 5) -> list[t.LinkShown]:
        """List the links of a ticket with the tickets at the other end."""
        self._ticket(ticket_id)
        return [link_shown(row, ticket_id) for row in self._links_of(ticket_id)[: int(limit)]]

    @tool(read_only=True)
    def list_blockers(self, ticket_id: t.TicketId, limit: Limit = 5) -> list[t.TicketRow]:
        """List the unclosed tickets for which a ticket waits, its subtasks included."""
        self._ticket(ticket_id)
        return [ticket_row(row) for row in self._blockers(ticket_id)[: int(limit)]]

    @tool()
    def reject_duplicate(self, ticket_id: t.TicketId, original_id: t.TicketId) -> t.Duplicate:
        """Reject a ticket that is open, because another one says the same."""
        row, original = self._unclosed(ticket_id), self._ticket(original_id)
        self._may_move(row)
        if ticket_id == original_id:
            raise ToolError("invalid_value", "both are the same ticket", "Give two different tickets.")
        if row.status != "open":
            raise ToolError("wrong_state", f"the ticket is {row.status}", "Use move_ticket to bring it back to open.")
        if original.status == "rejected":
            raise ToolError("wrong_state", f"{original_id} is rejected itself", "list_ticket_links may show its original.")
        self._check_close(row)
        link = self._put_link("duplicates", ticket_id, original_id)
        row = self.tickets.update(ticket_id, status="rejected")
        return {"ticket_id": ticket_id, "status": row.status, "link_id": link.link_id}

    # -- epics -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_epics(self, project_id: t.ProjectId, limit: Limit = 5) -> list[t.EpicShown]:
        """List the epics of a project with how many of their tickets are closed."""
        self._project(project_id)
        return [self._epic_shown(e) for e in self.epics.where(lambda e: e.project_id == project_id)[: int(limit)]]

    @tool(read_only=True)
    def find_epic(self, name: t.KnownName) -> t.EpicShown:
        """Find an epic by its name."""
        return self._epic_shown(named(self.epics.values(), name, "epic", "list_epics"))

    @tool(read_only=True)
    def list_epic_tickets(self, epic_id: t.EpicId, limit: Limit = 5) -> list[t.TicketRow]:
        """List the tickets of an epic, the most urgent first."""
        self._epic(epic_id)
        return [ticket_row(row) for row in ranked(self.tickets.where(lambda x: x.epic_id == epic_id))[: int(limit)]]

    @tool()
    def create_epic(self, project_id: t.ProjectId, name: t.NewName) -> t.EpicSet:
        """Create an open epic in a project that the user leads."""
        self._led(project_id)
        name = unused(self.epics.values(), name, "epic")
        key = self.epics.fresh("epic", name)
        return {"epic_id": key, "status": self.epics.put(key, r.Epic(key, project_id, name)).status}

    @tool(idempotent=True)
    def add_to_epic(self, epic_id: t.EpicId, ticket_id: t.TicketId) -> t.EpicCount:
        """Put an unclosed ticket into an open epic of its project, out of any other."""
        epic, row = self._epic(epic_id), self._unclosed(ticket_id)
        self._in_same(row, "epic", epic.project_id, "list_epics")
        if epic.status == "closed":
            raise ToolError("wrong_state", "the epic is closed", "Use reopen_epic first.")
        self.tickets.update(ticket_id, epic_id=epic_id)
        return self._epic_count(epic_id)

    @tool()
    def remove_from_epic(self, ticket_id: t.TicketId) -> t.EpicCount:
        """Take an unclosed ticket out of its epic."""
        epic_id = self._unclosed(ticket_id).epic_id
        if not epic_id:
            raise ToolError("wrong_state", "the ticket is in no epic", "list_epic_tickets shows which are.")
        self.tickets.update(ticket_id, epic_id="")
        return self._epic_count(epic_id)

    @tool()
    def close_epic(self, epic_id: t.EpicId) -> t.EpicSet:
        """Close an epic whose tickets are all closed, in a project that the user leads."""
        row = self._epic(epic_id)
        self._led(row.project_id)
        if row.status == "closed":
            raise ToolError("wrong_state", "the epic is closed already", "list_epics shows the open ones.")
        left = self.tickets.where(lambda x: x.epic_id == epic_id and not x.closed)
        if left:
            remedy = "Use move_ticket or remove_from_epic first."
            raise ToolError("wrong_state", f"{left[0].ticket_id} is {left[0].status}", remedy)
        return {"epic_id": epic_id, "status": self.epics.update(epic_id, status="closed").status}

    @tool()
    def reopen_epic(self, epic_id: t.EpicId) -> t.EpicSet:
        """Open a closed epic again, in a project that the user leads."""
        row = self._epic(epic_id)
        self._led(row.project_id)
        if row.status == "open":
            raise ToolError("wrong_state", "the epic is open", "Nothing is needed.")
        return {"epic_id": epic_id, "status": self.epics.update(epic_id, status="open").status}

    # -- sprints ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_sprints(self, project_id: t.ProjectId, limit: Limit = 5) -> list[t.SprintShown]:
        """List the sprints of a project with their points and capacities."""
        self._project(project_id)
        return [self._sprint_shown(s) for s in self.sprints.where(lambda s: s.project_id == project_id)[: int(limit)]]

    @tool(read_only=True)
    def find_sprint(self, name: t.KnownName) -> t.SprintShown:
        """Find a sprint by its name."""
        return self._sprint_shown(named(self.sprints.values(), name, "sprint", "list_sprints"))

    @tool(read_only=True)
    def get_running_sprint(self, project_id: t.ProjectId) -> t.SprintShown:
        """Show the sprint that runs in a project."""
        self._project(project_id)
        rows = self.sprints.where(lambda s: s.project_id == project_id and s.status == "running")
        if not rows:
            raise ToolError("not_found", "no sprint of this project runs", "start_sprint begins a planned one.")
        return self._sprint_shown(rows[0])

    @tool(read_only=True)
    def get_sprint_progress(self, sprint_id: t.SprintId) -> t.SprintProgress:
        """Show a sprint's tickets, its points, how many of them are closed, and the room left."""
        sprint, rows, points = self._sprint(sprint_id), self._in_sprint(sprint_id), self._points(sprint_id)
        return {
            "sprint_id": sprint_id,
            "tickets": len(rows),
            "points": points,
            "closed_points": sum(row.points for row in rows if row.closed),
            "room": sprint.capacity - points,
        }

    @tool(read_only=True)
    def list_sprint_tickets(self, sprint_id: t.SprintId, limit: Limit = 5) -> list[t.TicketRow]:
        """List the tickets of a sprint, the most urgent first."""
        self._sprint(sprint_id)
        return [ticket_row(row) for row in ranked(self._in_sprint(sprint_id))[: int(limit)]]

    @tool()
    def create_sprint(self, project_id: t.ProjectId, name: t.NewName, capacity: t.Capacity) -> t.SprintSet:
        """Plan a new sprint in a project that the user leads."""
        self._led(project_id)
        name = unused(self.sprints.values(), name, "sprint")
        key = self.sprints.fresh("spr", name)
        self.sprints.put(key, r.Sprint(key, project_id, name, int(capacity), "planned"))
        return self._sprint_set(key)

    @tool()
    def plan_ticket(self, ticket_id: t.TicketId, sprint_id: t.SprintId) -> t.SprintSet:
        """Put a ticket that is open into a planned or running sprint of its project, out of any other, if there is room."""
        row, sprint = self._unclosed(ticket_id), self._sprint(sprint_id, "planned", "running")
        self._in_same(row, "sprint", sprint.project_id, "list_sprints")
        if row.sprint_id == sprint_id:
            raise ToolError("conflict", "the ticket is in this sprint already", "list_sprint_tickets shows what is.")
        if row.status != "open":
            raise ToolError("wrong_state", f"the ticket is {row.status}", "Only open tickets change their sprint.")
        self._check_room(sprint, row.points)
        self.tickets.update(ticket_id, sprint_id=sprint_id)
        return self._sprint_set(sprint_id)

    @tool()
    def unplan_ticket(self, ticket_id: t.TicketId) -> t.SprintSet:
        """Take a ticket that is open out of its sprint."""
        row = self._unclosed(ticket_id)
        if row.status != "open":
            raise ToolError("wrong_state", f"the ticket is {row.status}", "Use move_ticket to bring it back to open.")
        if not row.sprint_id:
            raise ToolError("wrong_state", "the ticket is in no sprint", "Nothing is needed.")
        self.tickets.update(ticket_id, sprint_id="")
        return self._sprint_set(row.sprint_id)

    @tool()
    def start_sprint(self, sprint_id: t.SprintId) -> t.SprintSet:
        """Start a planned sprint with tickets, in a project that the user leads and in which none runs."""
        sprint = self._sprint(sprint_id, "planned")
        self._led(sprint.project_id)
        running = self.sprints.where(lambda s: s.project_id == sprint.project_id and s.status == "running")
        if running:
            raise ToolError("conflict", f"{running[0].sprint_id} runs in this project", "Use finish_sprint on it first.")
        if not self._in_sprint(sprint_id):
            raise ToolError("insufficient", "the sprint has no tickets", "Use plan_ticket first.")
        self.sprints.update(sprint_id, status="running")
        return self._sprint_set(sprint_id)

    @tool()
    def finish_sprint(self, sprint_id: t.SprintId, next_sprint_id: t.NextSprint = None) -> t.SprintEnded:
        """End the running sprint of a project that the user leads; what is unclosed goes back to open."""
        sprint = self._sprint(sprint_id, "running")
        self._led(sprint.project_id)
        left = [row for row in self._in_sprint(sprint_id) if not row.closed]
        if next_sprint_id is not None:
            later = self._sprint(next_sprint_id, "planned")
            if later.project_id != sprint.project_id:
                raise ToolError("conflict", "the next sprint is of another project", "list_sprints shows a project's.")
            self._check_room(later, sum(row.points for row in left))
        for row in left:
            self.tickets.update(row.ticket_id, status="open", sprint_id=next_sprint_id or "")
        sprint = self.sprints.update(sprint_id, status="finished")
        return {"sprint_id": sprint_id, "status": sprint.status, "unclosed": len(left)}

    # -- releases --------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_releases(self, project_id: t.ProjectId, limit: Limit = 5) -> list[t.ReleaseShown]:
        """List the releases of a project with how many of their tickets are unclosed."""
        self._project(project_id)
        return [self._release_shown(x) for x in self.releases.where(lambda x: x.project_id == project_id)[: int(limit)]]

    @tool(read_only=True)
    def find_release(self, name: t.KnownName) -> t.ReleaseShown:
        """Find a release by its name."""
        return self._release_shown(named(self.releases.values(), name, "release", "list_releases"))

    @tool(read_only=True)
    def list_release_tickets(self, release_id: t.ReleaseId, limit: Limit = 5) -> list[t.TicketRow]:
        """List the tickets of a release, the most urgent first."""
        self._release(release_id)
        return [ticket_row(row) for row in ranked(self.tickets.where(lambda x: x.release_id == release_id))[: int(limit)]]

    @tool()
    def create_release(self, project_id: t.ProjectId, name: t.NewName) -> t.ReleaseSet:
        """Plan a new release of a project that the user leads."""
        self._led(project_id)
        name = unused(self.releases.values(), name, "release")
        key = self.releases.fresh("rel", name)
        return {"release_id": key, "published": self.releases.put(key, r.Release(key, project_id, name)).published}

    @tool()
    def add_to_release(self, release_id: t.ReleaseId, ticket_id: t.TicketId) -> t.ReleaseCount:
        """Put a ticket that is not rejected into an unpublished release of its project, out of any other."""
        release, row = self._unpublished(release_id), self._mine(ticket_id)
        self._in_same(row, "release", release.project_id, "list_releases")
        if row.status == "rejected":
            raise ToolError("wrong_state", "the ticket is rejected", "Use move_ticket to open it again.")
        if row.release_id == release_id:
            raise ToolError("conflict", "the ticket is in this release already", "list_release_tickets shows what is.")
        if row.release_id:
            self._unpublished(row.release_id)
        self.tickets.update(ticket_id, release_id=release_id)
        return self._release_count(release_id)

    @tool()
    def remove_from_release(self, ticket_id: t.TicketId) -> t.ReleaseCount:
        """Take a ticket out of its unpublished release."""
        row = self._mine(ticket_id)
        if not row.release_id:
            raise ToolError("wrong_state", "the ticket is in no release", "list_release_tickets shows which are.")
        self._unpublished(row.release_id)
        self.tickets.update(ticket_id, release_id="")
        return self._release_count(row.release_id)

    @tool(destructive=True)
    def publish_release(self, release_id: t.ReleaseId) -> t.ReleaseSet:
        """Publish a release with at least one ticket, all closed, of a project that the user leads."""
        release = self._unpublished(release_id)
        self._led(release.project_id)
        rows = self.tickets.where(lambda x: x.release_id == release_id)
        left = [row.ticket_id for row in rows if not row.closed]
        if left:
            raise ToolError("wrong_state", f"{left[0]} is not closed", "Use move_ticket or remove_from_release first.")
        if not rows:
            raise ToolError("insufficient", "nothing is in this release", "Use add_to_release first.")
        return {"release_id": release_id, "published": self.releases.update(release_id, published=True).published}

    # -- comments and work -----------------------------------------------------------------------

    @tool(read_only=True)
    def list_ticket_comments(self, ticket_id: t.TicketId, limit: Limit = 5) -> list[t.CommentShown]:
        """List the comments on a ticket."""
        self._ticket(ticket_id)
        rows = self.comments.where(lambda c: c.ticket_id == ticket_id)[: int(limit)]
        return [{"comment_id": c.comment_id, "author": self.developers[c.author].name, "text": c.text} for c in rows]

    @tool()
    def comment_ticket(self, ticket_id: t.TicketId, text: t.Said) -> t.CommentMade:
        """Write a comment on a ticket in a project of the user."""
        self._mine(ticket_id)
        said, count = plain(text, "comment"), self._comments(ticket_id)
        if count >= r.MOST_COMMENTS:
            raise ToolError("insufficient", f"a ticket has {r.MOST_COMMENTS} comments at most", "Use edit_ticket_comment.")
        key = self.comments.fresh("com", ticket_id, said)
        self.comments.put(key, r.Comment(key, ticket_id, self._me(), said))
        return {"comment_id": key, "comments": count + 1}

    @tool(idempotent=True)
    def edit_ticket_comment(self, comment_id: t.CommentId, text: t.Said) -> t.CommentSet:
        """Change the text of one of the user's own comments."""
        self._own_comment(comment_id)
        return {"comment_id": comment_id, "text": self.comments.update(comment_id, text=plain(text, "comment")).text}

    @tool(destructive=True)
    def delete_ticket_comment(self, comment_id: t.CommentId) -> t.CommentMade:
        """Delete one of the user's own comments."""
        row = self._own_comment(comment_id)
        self.comments.remove(comment_id)
        return {"comment_id": comment_id, "comments": self._comments(row.ticket_id)}

    @tool(read_only=True)
    def list_worklogs(self, ticket_id: t.TicketId, limit: Limit = 5) -> list[t.WorkShown]:
        """List the work on a ticket, the latest first."""
        self._ticket(ticket_id)
        rows = self.worklogs.where(lambda w: w.ticket_id == ticket_id)
        rows = sorted(rows, key=lambda w: (w.day, w.worklog_id), reverse=True)
        return [self._work_shown(row) for row in rows[: int(limit)]]

    @tool()
    def log_work(self, ticket_id: t.TicketId, minutes: t.Minutes, day: t.WorkDay = None) -> t.WorkMade:
        """Note work of the user on a ticket that the user has and that is being worked on; 12 hours a day at most."""
        row, me, today = self._unclosed(ticket_id), self._me(), self.now.date()
        when = date_of(day) if day is not None else today
        if row.assignee != me:
            raise ToolError("denied", "the user does not have this ticket", "Use assign_ticket first.")
        if row.status not in r.AT_WORK:
            raise ToolError("wrong_state", "nobody works on this ticket", "Use move_ticket to begin with it.")
        if when > today:
            raise ToolError("invalid_value", f"{when} is in the future", f"Give a day up to {today}.")
        worked = sum(w.minutes for w in self.worklogs.values() if (w.author, w.day) == (me, when.isoformat()))
        if worked + minutes > r.MOST_MINUTES:
            left = r.MOST_MINUTES - worked
            raise ToolError("insufficient", f"{left} minutes are left on that day", "Log less, or another day.")
        key = self.worklogs.fresh("log", ticket_id, int(minutes), when.isoformat())
        self.worklogs.put(key, r.Worklog(key, ticket_id, me, when.isoformat(), int(minutes)))
        return self._work_made(key, ticket_id)

    @tool(destructive=True)
    def delete_worklog(self, worklog_id: t.WorklogId) -> t.WorkMade:
        """Delete a note of the user's own work on an unclosed ticket."""
        row = existing(self.worklogs, worklog_id, "worklog", "list_worklogs")
        if row.author != self._me():
            raise ToolError("denied", f"the work is {self.developers[row.author].name}'s", "Only own work can be deleted.")
        self._unclosed(row.ticket_id)
        self.worklogs.remove(worklog_id)
        return self._work_made(worklog_id, row.ticket_id)

    @tool(read_only=True)
    def get_developer_work(self, developer_id: t.DeveloperId) -> t.DeveloperWork:
        """Show how many minutes a developer has logged, on how many tickets, and on which day last."""
        self._developer(developer_id)
        rows = self.worklogs.where(lambda w: w.author == developer_id)
        shown: t.DeveloperWork = {
            "developer_id": developer_id,
            "minutes": sum(w.minutes for w in rows),
            "tickets": len({w.ticket_id for w in rows}),
        }
        if rows:
            shown["last_day"] = max(w.day for w in rows)
        return shown
