"""Word lists of the issue_tracker server, and the seeded projects.

Run: nothing here runs by itself; `tasks.servers.issue_tracker` is the server.

Left out: the history of a ticket. It starts in the status that it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.servers import issue_tracker_rows as r
from tasks.servers import issue_tracker_types as t
from tasks.servers.state import Seed
from tasks.servers.world import World, words

PROJECTS = words(
    """Falcon Harbor Juniper Kestrel Lantern Meridian Nebula Orchid Pelican Quasar Rocket Saturn Tundra Umbra Vortex Willow
    Zephyr Aurora Basalt Comet Delta Ember Fjord Glacier Halo Inca Jigsaw Krypton Lotus Mosaic Nimbus Osprey Phoenix Raptor
    Sierra Topaz Unicorn Viking Walnut Yukon"""
)
AREAS = words(
    """login search checkout export import dashboard billing profile upload mobile email report calendar cache backup sync
    settings invite filter payment avatar banner cursor drawer footer gallery header keyboard layout menu navbar onboarding
    password queue router sidebar tooltip webhook printer download autosave clipboard"""
)
DEFECTS = words(
    """crash freeze leak timeout typo flicker overlap regression deadlock corruption overflow duplicate mismatch latency outage
    redirect truncation glitch spike drift stutter warning rewrite cleanup redesign upgrade migration audit refactor benchmark
    rollback toggle shortcut preview wizard template reminder limit"""
)
GOALS = words(
    """Accessible Adaptive Automatic Better Calm Cheaper Clean Clear Collaborative Compact Complete Custom Durable Easier Faster
    Flexible Friendly Global Guided Instant Leaner Lighter Local Modern Offline Open Personal Portable Private Quieter
    Reliable Resilient Safer Scalable Seamless Shared Simpler Smarter Smooth Stable"""
)
LAYERS = ("Client", "Engine", "Gateway", "Service", "Store")
REMARKS = words(
    """Monday staging production logs screenshot browser tablet phone Linux Windows proxy firewall customer partner weekend
    midnight deploy restart reload rename resize zoom scroll paste undo locale currency encoding timezone daylight cookies
    session token certificate printer headset"""
)
ROLES = ("lead", "lead", "member", "lead", "none")
"""What the user is in each project."""
FLOWS: tuple[t.Workflow, ...] = ("reviewed", "simple", "tested", "reviewed", "simple")
STATUSES: tuple[t.Status, ...] = (
    *("open", "open", "in_progress", "in_review", "done"),
    *("open", "rejected", "done", "in_testing", "in_progress"),
)
"""The tickets of a project; their numbers are used below."""
FALLBACK: dict[t.Status, t.Status] = {"in_review": "in_progress", "in_testing": "open"}
"""What a ticket is instead, where the workflow is simple."""
SPRINT_OF = {1: "running", 2: "running", 3: "running", 8: "running", 9: "running", 5: "planned", 4: "finished", 7: "finished"}
PARENT_OF = {5: 0, 8: 2}
BLOCKS = ((1, 2), (1, 0), (9, 8), (0, 3), (5, 3))
SPRINTS: tuple[t.SprintStatus, ...] = ("finished", "running", "planned")
PAUSED = 3
"""This project is between two sprints: nothing is under way, a release is ready, an epic is closed."""


def seed_rows(world: World) -> Seed:
    """8 developers; 5 projects, three led by the user, each with 2 components, epics and releases, 3 sprints, 10 tickets."""
    people = world.people()
    developers = {key: r.Developer(key, people[n].name, n == 0) for n, key in enumerate(world.ids("dev", 8))}
    me, *others = developers
    projects = {}
    for key, name, role, flow in zip(world.ids("prj", 5), world.picks(PROJECTS, 5), ROLES, FLOWS, strict=True):
        team = world.rng.sample(others, 4)
        members = team if role == "none" else [me, *team[:3]]
        projects[key] = r.Project(key, name, flow, me if role == "lead" else team[0], tuple(sorted(members)))
    owned = list(projects.values())
    components = {
        key: r.Component(key, owned[n // 2].project_id, name, world.choice(owned[n // 2].members))
        for n, (key, name) in enumerate(zip(world.ids("cpt", 10), _pairs(world, AREAS, LAYERS, 10), strict=True))
    }
    epics = {
        key: r.Epic(key, owned[n // 2].project_id, name, "closed" if n == 2 * PAUSED else "open")
        for n, (key, name) in enumerate(zip(world.ids("epic", 10), _pairs(world, GOALS, world.pool(AREAS), 10), strict=True))
    }
    sprints = {}
    for n, key in enumerate(world.ids("spr", 15)):
        project, status = owned[n // 3], "finished" if n == 3 * PAUSED + 1 else SPRINTS[n % 3]
        sprints[key] = r.Sprint(key, project.project_id, f"{project.name} {n % 3 + 1}", world.choice((45, 50, 55)), status)
    releases = {
        key: r.Release(key, owned[n // 2].project_id, f"{owned[n // 2].name} v{n % 2 + 1}", n % 2 == 0)
        for n, key in enumerate(world.ids("rel", 10))
    }
    tickets, links = _tickets(world, me, owned, components, epics, sprints, releases)
    return {
        "developers": developers,
        "projects": projects,
        "components": components,
        "epics": epics,
        "sprints": sprints,
        "releases": releases,
        "tickets": tickets,
        "links": links,
        "comments": _comments(world, projects, tickets),
        "worklogs": _worklogs(world, tickets),
    }


def _pairs(world: World, first: Sequence[str], second: Sequence[str], count: int) -> list[str]:
    """`count` distinct names of two words, the first drawn from this world's part of `first`."""
    return world.rng.sample([f"{one} {two}".capitalize() for one in world.pool(first) for two in second], count)


def _tickets(
    world: World,
    me: str,
    projects: list[r.Project],
    components: dict[str, r.Component],
    epics: dict[str, r.Epic],
    sprints: dict[str, r.Sprint],
    releases: dict[str, r.Release],
) -> tuple[dict[str, r.Ticket], dict[str, r.Link]]:
    tickets: dict[str, r.Ticket] = {}
    links: dict[str, r.Link] = {}
    ids, numbers = world.ids("tkt", 50), iter(world.ids("lnk", 20))
    titles = _pairs(world, AREAS, world.pool(DEFECTS), 50)
    busy: Counter[str] = Counter()
    for n, (key, title) in enumerate(zip(ids, titles, strict=True)):
        project, place = projects[n // 10], n % 10
        status = STATUSES[place]
        if n // 10 == PAUSED and status in r.AT_WORK:
            status = "done" if place == 3 else "open"
        if status not in r.WORKFLOWS[project.workflow]:
            status = FALLBACK[status] if project.workflow == "simple" else "in_review"
        free = [m for m in project.members if busy[m] < r.MOST_IN_PROGRESS - (m == me)]  # the user can begin something
        if status == "in_progress" and not free:
            status = "open"
        assignee = ""
        if status == "in_progress":
            own = place == 2 and me in free
            assignee = me if own else min(free, key=lambda m: (busy[m], world.rng.random()))
            busy[assignee] += 1
        elif status in (*r.AT_WORK, "done") or world.rng.random() < 0.4:
            assignee = world.choice(project.members)
        tickets[key] = r.Ticket(
            key,
            project.project_id,
            title,
            world.choice(("bug", "bug", "feature", "chore")),
            status,
            world.choice(("low", "medium", "medium", "high", "urgent")),
            world.choice((1, 2, 3, 5, 8)),
            assignee,
            component_id=world.choice(["", *_of(components, project)]),
            epic_id=world.choice(["", *(e for e in _of(epics, project) if status in r.CLOSED or epics[e].status == "open")]),
            sprint_id=next(
                (s for s in _of(sprints, project) if sprints[s].status == SPRINT_OF.get(place)),
                "",
            ),
            release_id=_of(releases, project)[0] if place == 7 else _of(releases, project)[1] if place in (3, 4) else "",
            parent=ids[n - place + PARENT_OF[place]] if place in PARENT_OF else "",
            labels=tuple(sorted(world.rng.sample(r.LABELS, world.rng.randint(0, 2)))),
            watchers=(me,) if world.rng.random() < 0.2 else (),
        )
    for n in range(len(projects)):
        first = 10 * n
        for source, target in world.rng.sample(BLOCKS[:3] if n == PAUSED else BLOCKS, 2):
            key = next(numbers)
            links[key] = r.Link(key, "blocks", ids[first + source], ids[first + target])
        key = next(numbers)
        source_id, target_id = sorted((ids[first + n], ids[(first + 14) % 50]))
        links[key] = r.Link(key, "relates", source_id, target_id)
        key = next(numbers)
        links[key] = r.Link(key, "duplicates", ids[first + 6], ids[first + 1])
    return tickets, links


def _of(rows: Mapping[str, Any], project: r.Project) -> list[str]:
    """The keys of a project's rows."""
    return [key for key, row in rows.items() if row.project_id == project.project_id]


def _comments(world: World, projects: dict[str, r.Project], tickets: dict[str, r.Ticket]) -> dict[str, r.Comment]:
    comments = {}
    for key, ticket in zip(world.ids("com", 24), world.rng.choices(list(tickets.values()), k=24), strict=True):
        author = world.choice(projects[ticket.project_id].members)
        comments[key] = r.Comment(key, ticket.ticket_id, author, f"Seen with {world.pick(REMARKS)} and {world.pick(REMARKS)}")
    return comments


def _worklogs(world: World, tickets: dict[str, r.Ticket]) -> dict[str, r.Worklog]:
    worked = [ticket for ticket in tickets.values() if ticket.assignee and ticket.status in (*r.AT_WORK, "done")]
    logs = {}
    for key, ticket in zip(world.ids("log", 24), world.rng.choices(worked, k=24), strict=True):
        minutes = world.choice((15, 20, 25, 30))  # so few that no day overflows
        logs[key] = r.Worklog(key, ticket.ticket_id, ticket.assignee, world.day(-12, -1), minutes)
    return logs
