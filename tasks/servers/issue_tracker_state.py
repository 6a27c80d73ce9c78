"""What the issue_tracker server's tools share: rows by identifier, who may do what, what waits for what, rows shown.

Run: nothing here runs by itself; `tasks.servers.issue_tracker` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from tasks.servers import issue_tracker_rows as r
from tasks.servers import issue_tracker_types as t
from tasks.servers.lookup import existing
from tasks.servers.state import Table
from tasks.servers.tool import ToolError


class Tracker:
    """The tables of the tracker, and the steps that tools are made of."""

    now: dt.datetime
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

    # -- rows by identifier ----------------------------------------------------------------------

    def _me(self) -> str:
        return next(row.developer_id for row in self.developers.values() if row.user)

    def _developer(self, developer_id: str) -> r.Developer:
        return existing(self.developers, developer_id, "developer", "list_developers")

    def _project(self, project_id: str) -> r.Project:
        return existing(self.projects, project_id, "project", "list_projects")

    def _component(self, component_id: str) -> r.Component:
        return existing(self.components, component_id, "component", "list_components")

    def _epic(self, epic_id: str) -> r.Epic:
        return existing(self.epics, epic_id, "epic", "list_epics")

    def _sprint(self, sprint_id: str, *statuses: t.SprintStatus) -> r.Sprint:
        """The sprint, in one of these statuses, or any when none is named."""
        row = existing(self.sprints, sprint_id, "sprint", "list_sprints")
        if statuses and row.status not in statuses:
            raise ToolError("wrong_state", f"the sprint is {row.status}", f"Choose one that is {' or '.join(statuses)}.")
        return row

    def _release(self, release_id: str) -> r.Release:
        return existing(self.releases, release_id, "release", "list_releases")

    def _unpublished(self, release_id: str) -> r.Release:
        row = self._release(release_id)
        if row.published:
            raise ToolError("wrong_state", "the release is published", "list_releases shows those that are not.")
        return row

    def _ticket(self, ticket_id: str) -> r.Ticket:
        return existing(self.tickets, ticket_id, "ticket", "search_tickets")

    def _in_same(self, row: r.Ticket, what: str, project_id: str, source: str) -> None:
        """Raises ToolError when a component, epic, sprint or release is of another project than the ticket."""
        if row.project_id != project_id:
            raise ToolError("conflict", f"the {what} is of another project than the ticket", f"{source} shows a project's.")

    def _matching(self, filter: t.TicketFilter) -> list[r.Ticket]:
        """The tickets that satisfy all conditions."""
        project, assignee, component = filter.get("project_id"), filter.get("assignee_id"), filter.get("component_id")
        if project is not None:
            self._project(project)
        if assignee is not None:
            self._developer(assignee)
        if component is not None:
            self._component(component)
        label = filter.get("label")
        return self.tickets.where(
            lambda x: (
                project in (None, x.project_id)
                and assignee in (None, x.assignee)
                and component in (None, x.component_id)
                and has_status(x, filter.get("status", "any"))
                and filter.get("kind") in (None, x.kind)
                and filter.get("priority") in (None, x.priority)
                and (label is None or label in x.labels)
                and filter.get("unassigned") in (None, not x.assignee)
            )
        )

    # -- who may do what -------------------------------------------------------------------------

    def _member(self, project_id: str) -> r.Project:
        """The project, when the user is in it."""
        row = self._project(project_id)
        if self._me() not in row.members:
            raise ToolError("denied", f"the user is not in {row.name}", f"Ask {self.developers[row.lead].name}, its lead.")
        return row

    def _led(self, project_id: str) -> r.Project:
        """The project, when the user leads it."""
        row = self._project(project_id)
        if self._me() != row.lead:
            raise ToolError("denied", f"the user does not lead {row.name}", f"Ask {self.developers[row.lead].name}, its lead.")
        return row

    def _mine(self, ticket_id: str) -> r.Ticket:
        """The ticket, when it is in a project of the user."""
        row = self._ticket(ticket_id)
        self._member(row.project_id)
        return row

    def _unclosed(self, ticket_id: str) -> r.Ticket:
        """The ticket, when it is in a project of the user and not closed."""
        row = self._mine(ticket_id)
        if row.closed:
            raise ToolError("wrong_state", f"{ticket_id} is {row.status}", "Use move_ticket to open it again.")
        return row

    def _may_move(self, row: r.Ticket) -> None:
        """Raises ToolError unless the user has the ticket or leads its project."""
        project = self._member(row.project_id)
        if self._me() not in (row.assignee, project.lead):
            raise ToolError("denied", "only who has the ticket and the lead may move it", "Use assign_ticket first.")

    def _check_member(self, project: r.Project, developer_id: str) -> None:
        """Raises ToolError unless the developer exists and is in the project."""
        if self._developer(developer_id).developer_id not in project.members:
            raise ToolError("denied", f"this developer is not in {project.name}", "list_project_members shows who is.")

    def _own_comment(self, comment_id: str) -> r.Comment:
        """The comment, when the user wrote it."""
        row = existing(self.comments, comment_id, "comment", "list_ticket_comments")
        if row.author != self._me():
            raise ToolError("denied", f"the comment is {self.developers[row.author].name}'s", "Use comment_ticket to answer.")
        return row

    def _moves(self, row: r.Ticket) -> tuple[t.Status, ...]:
        return r.WORKFLOWS[self.projects[row.project_id].workflow][row.status]

    # -- what waits for what ---------------------------------------------------------------------

    def _blockers(self, ticket_id: str) -> list[r.Ticket]:
        """The unclosed tickets that a ticket waits for: those that block it, and its subtasks."""
        linked = [self.tickets[x.source] for x in self.links.values() if x.kind == "blocks" and x.target == ticket_id]
        return [row for row in (*linked, *self._subtasks(ticket_id)) if not row.closed]

    def _waiting(self, ticket_id: str) -> list[r.Ticket]:
        """The tickets that wait for a ticket, closed or not: those that it blocks, and its parent."""
        after = [self.tickets[x.target] for x in self.links.values() if x.kind == "blocks" and x.source == ticket_id]
        parent = self.tickets[ticket_id].parent
        return [*after, self.tickets[parent]] if parent else after

    def _waits_for(self, ticket_id: str, other_id: str) -> bool:
        """Whether one ticket waits, over any number of steps, for another or is it."""
        todo, seen = [other_id], set[str]()
        while todo:
            key = todo.pop()
            if key == ticket_id:
                return True
            if key not in seen:
                seen.add(key)
                todo += [row.ticket_id for row in self._waiting(key)]
        return False

    def _check_close(self, row: r.Ticket) -> None:
        """Raises ToolError while a ticket waits for another."""
        blockers = self._blockers(row.ticket_id)
        if blockers:
            raise ToolError(
                "wrong_state", f"the ticket waits for {blockers[0].ticket_id}", "list_blockers shows all; close them first."
            )

    def _check_reopen(self, row: r.Ticket) -> None:
        """Raises ToolError when something that is closed or published counts on this ticket being closed."""
        after = next((other for other in self._waiting(row.ticket_id) if other.closed), None)
        if after is not None:
            raise ToolError("wrong_state", f"{after.ticket_id} waited for it and is {after.status}", "Open that one first.")
        if row.epic_id and self.epics[row.epic_id].status == "closed":
            raise ToolError("wrong_state", f"its epic {row.epic_id} is closed", "Use reopen_epic first.")
        if row.release_id and self.releases[row.release_id].published:
            raise ToolError("wrong_state", f"it was published in {row.release_id}", "Use create_ticket for a new one.")

    def _check_begin(self, developer_id: str) -> None:
        """Raises ToolError when a developer has as many tickets in progress as anybody may have."""
        count = sum(row.assignee == developer_id and row.status == "in_progress" for row in self.tickets.values())
        if count >= r.MOST_IN_PROGRESS:
            name = self.developers[developer_id].name
            raise ToolError(
                "insufficient", f"{name} has {count} tickets in progress", "Move one of them on, or assign another developer."
            )

    # -- counts ----------------------------------------------------------------------------------

    def _subtasks(self, ticket_id: str) -> list[r.Ticket]:
        return self.tickets.where(lambda row: row.parent == ticket_id)

    def _in_sprint(self, sprint_id: str) -> list[r.Ticket]:
        return self.tickets.where(lambda row: row.sprint_id == sprint_id)

    def _points(self, sprint_id: str) -> int:
        return sum(row.points for row in self._in_sprint(sprint_id))

    def _check_room(self, sprint: r.Sprint, more: int) -> None:
        room = sprint.capacity - self._points(sprint.sprint_id)
        if more > room:
            raise ToolError(
                "insufficient", f"the sprint has room for {room} points, not {more}", "Use unplan_ticket on another."
            )

    def _comments(self, ticket_id: str) -> int:
        return sum(row.ticket_id == ticket_id for row in self.comments.values())

    def _links_of(self, ticket_id: str) -> list[r.Link]:
        return self.links.where(lambda x: ticket_id in (x.source, x.target))

    def _put_link(self, kind: t.LinkKind, source: str, target: str) -> r.Link:
        """Adds a link. Raises ToolError when there is one of its kind, or too many."""
        if kind == "relates":
            source, target = sorted((source, target))
        if any((x.kind, x.source, x.target) == (kind, source, target) for x in self.links.values()):
            raise ToolError("conflict", "the tickets are linked so already", "list_ticket_links shows it.")
        for key in (source, target):
            if len(self._links_of(key)) >= r.MOST_LINKS:
                raise ToolError("insufficient", f"{key} has {r.MOST_LINKS} links, the most", "Use unlink_tickets first.")
        key = self.links.fresh("lnk", kind, source, target)
        return self.links.put(key, r.Link(key, kind, source, target))

    # -- rows shown ------------------------------------------------------------------------------

    def _developer_shown(self, row: r.Developer) -> t.DeveloperShown:
        count = sum(x.assignee == row.developer_id and not x.closed for x in self.tickets.values())
        return {"developer_id": row.developer_id, "name": row.name, "open_tickets": count}

    def _project_shown(self, row: r.Project) -> t.ProjectShown:
        me = self._me()
        role: t.ProjectRole = "lead" if me == row.lead else "member" if me in row.members else "none"
        return {"project_id": row.project_id, "name": row.name, "workflow": row.workflow, "user_role": role}

    def _epic_shown(self, row: r.Epic) -> t.EpicShown:
        own = self.tickets.where(lambda x: x.epic_id == row.epic_id)
        return {
            "epic_id": row.epic_id,
            "name": row.name,
            "status": row.status,
            "closed_tickets": sum(x.closed for x in own),
            "tickets": len(own),
        }

    def _epic_count(self, epic_id: str) -> t.EpicCount:
        return {"epic_id": epic_id, "tickets": sum(row.epic_id == epic_id for row in self.tickets.values())}

    def _sprint_shown(self, row: r.Sprint) -> t.SprintShown:
        return {
            "sprint_id": row.sprint_id,
            "name": row.name,
            "status": row.status,
            "points": self._points(row.sprint_id),
            "capacity": row.capacity,
        }

    def _sprint_set(self, sprint_id: str) -> t.SprintSet:
        return {"sprint_id": sprint_id, "status": self.sprints[sprint_id].status, "points": self._points(sprint_id)}

    def _release_shown(self, row: r.Release) -> t.ReleaseShown:
        own = self.tickets.where(lambda x: x.release_id == row.release_id)
        return {
            "release_id": row.release_id,
            "name": row.name,
            "published": row.published,
            "unclosed": sum(not x.closed for x in own),
            "tickets": len(own),
        }

    def _release_count(self, release_id: str) -> t.ReleaseCount:
        return {"release_id": release_id, "tickets": sum(row.release_id == release_id for row in self.tickets.values())}

    def _assigned(self, row: r.Ticket) -> t.TicketAssigned:
        if row.assignee:
            return {"ticket_id": row.ticket_id, "assignee_id": row.assignee}
        return {"ticket_id": row.ticket_id}

    def _work_shown(self, row: r.Worklog) -> t.WorkShown:
        author = self.developers[row.author].name
        return {"worklog_id": row.worklog_id, "author": author, "day": row.day, "minutes": row.minutes}

    def _work_made(self, worklog_id: str, ticket_id: str) -> t.WorkMade:
        minutes = sum(row.minutes for row in self.worklogs.values() if row.ticket_id == ticket_id)
        return {"worklog_id": worklog_id, "ticket_minutes": minutes}


def ticket_row(row: r.Ticket) -> t.TicketRow:
    return {"ticket_id": row.ticket_id, "name": row.name, "status": row.status, "priority": row.priority}


def has_status(row: r.Ticket, status: str) -> bool:
    """Whether a ticket has a status, or is unclosed when that is asked."""
    return status in ("any", row.status) or (status == "unclosed" and not row.closed)


def ranked(rows: Iterable[r.Ticket]) -> list[r.Ticket]:
    """Tickets in the order of urgency."""
    return sorted(rows, key=lambda row: (r.URGENCY[row.priority], row.ticket_id))


def component_shown(row: r.Component) -> t.ComponentShown:
    return {
        "component_id": row.component_id,
        "name": row.name,
        "project_id": row.project_id,
        "owner_id": row.owner,
    }


def link_shown(row: r.Link, ticket_id: str) -> t.LinkShown:
    """A link as seen from one of its tickets."""
    if row.source == ticket_id:
        return {"link_id": row.link_id, "kind": row.kind, "ticket_id": row.target}
    if row.kind == "relates":
        return {"link_id": row.link_id, "kind": "relates", "ticket_id": row.source}
    return {
        "link_id": row.link_id,
        "kind": "blocked_by" if row.kind == "blocks" else "duplicated_by",
        "ticket_id": row.source,
    }
