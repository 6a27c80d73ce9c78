"""Candidate rubric items of one group of tasks that share a plan: what its trajectories may differ in, as checks.

    items = candidates(tasks, refusals(views))

A candidate is a question worth asking, and says nothing yet: contrast.py keeps those that separate right from wrong.
They follow from the plan (its calls, its edges, the tools that it does not need) and from the refusals that were seen.
Names in texts and checks come from the tasks and from closed vocabularies, never from a model's output. Checks speak of
"the task's gold" where they can, so that one item can be asked in many shapes. Candidates stand in the order in which
equally good ones are preferred.

Left out: items that only a judge can verify, and mathematics beyond its equations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tasks.distill.view import View
from tasks.records import Edge, Task, canonical_json
from tasks.servers.tool import FAULT_KINDS
from tasks.toolbox.faults import FAULTS
from tasks.toolbox.pointer import parts

Kind = Literal["suggest", "pitfall", "bonus", "answer"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One item to be tested."""

    kind: Kind
    text: str
    check: dict[str, Any]

    @property
    def key(self) -> str:
        """What two candidates share when they are the same item."""
        return f"{self.kind} {canonical_json(self.check)}"


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """An edge between tools instead of calls; indices of lists in the pointers are `*`."""

    source: str
    path: str
    tool: str
    argument: str


def links(task: Task) -> list[Link]:
    """The dependency edges of a task's gold, sorted."""
    names = {call.id: call.name for call in task.gold.calls}
    return sorted(_link(names, call.name, edge) for call in task.gold.calls for edge in call.needs)


def _link(names: dict[str, str], tool: str, edge: Edge) -> Link:
    return Link(names[edge.source], any_index(edge.path), tool, any_index(edge.argument))


def any_index(pointer: str) -> str:
    """A JSON Pointer with `*` for every part that is a number."""
    return "/".join("*" if part.isdigit() else part for part in pointer.split("/"))


def refusals(views: Iterable[View]) -> set[tuple[str, str]]:
    """(tool, kind) of every refusal that was seen, of the kinds that are known."""
    return {
        (made.call.name, made.result.error.kind)
        for view in views
        for made in view.made
        if made.result is not None and made.result.error is not None and made.result.error.kind in FAULT_KINDS
    }


def candidates(tasks: Sequence[Task], refused: Collection[tuple[str, str]]) -> list[Candidate]:
    """The candidates of tasks that share a plan shape; `refused` are the refusals that are worth asking about."""
    counts = Counter(call.name for call in tasks[0].gold.calls)
    needless = sorted({tool for task in tasks for tool in task.tools} - set(counts))
    found = [
        *_from_edges(list(dict.fromkeys(links(tasks[0])))),
        *_from_calls(tasks, counts),
        *(
            Candidate("pitfall", f"Calls `{tool}`, which the request does not need.", {"op": "called", "tool": tool})
            for tool in needless
        ),
        *_repeats([*counts, *needless]),
        *_errors([*counts, *needless], refused),
        *_calls_in_all(tasks[0], counts),
        *_equations(tasks[0]),
        Candidate("answer", "Ends with the expected answer and in the expected state.", _OUTCOME),
    ]
    distinct: dict[str, Candidate] = {}
    for candidate in found:
        distinct.setdefault(candidate.key, candidate)
    return list(distinct.values())


_OUTCOME = {"op": "and", "checks": [{"op": "answer_equals"}, {"op": "state_equals"}]}


def negated(check: dict[str, Any]) -> dict[str, Any]:
    """The check that holds where `check` does not."""
    return {"op": "not", "check": check}


def _from_edges(edges: Sequence[Link]) -> Iterator[Candidate]:
    for edge in edges:
        if edge.argument:
            check = {"op": "argument_from", "tool": edge.tool, "argument": edge.argument, "source": edge.source}
            what = f"{_name(edge.argument)} of `{edge.tool}`"
            yield Candidate("suggest", f"Takes {what} from the result of `{edge.source}`.", check)
            invented = _invented(edge.tool, edge.argument)
            yield Candidate("pitfall", f"Invents {what}: no earlier result and no request holds it.", invented)
            elsewhere = negated({**check, "every": True})
            yield Candidate("pitfall", f"Takes {what} from elsewhere than the result of `{edge.source}`.", elsewhere)
    for source, tool in dict.fromkeys((edge.source, edge.tool) for edge in edges):
        order = {"op": "before", "first": {"tool": source, "ok": True}, "then": {"tool": tool}}
        yield Candidate("pitfall", f"Calls `{tool}` before `{source}` has succeeded.", negated({**order, "every": True}))
        yield Candidate("suggest", f"Calls `{tool}` after `{source}` has succeeded.", order)


def _invented(tool: str, argument: str) -> dict[str, Any]:
    return negated({"op": "argument_from", "tool": tool, "argument": argument, "request": True, "every": True})


def _from_calls(tasks: Sequence[Task], counts: Counter[str]) -> Iterator[Candidate]:
    for tool in counts:
        all_of = {"op": "called", "tool": tool, "at_least": "gold"}
        right = {**all_of, "gold": [""], "ok": True}
        yield Candidate("suggest", f"Calls `{tool}` with the arguments that the request needs.", right)
        places = _arguments(tasks, tool)
        for place in places if len(places) > 1 else ():
            yield Candidate("suggest", f"Gives `{tool}` the right {_name(place)}.", {**all_of, "gold": [place]})
        yield Candidate("suggest", f"Calls `{tool}` successfully.", {**all_of, "ok": True})
        for place in places:
            text = f"Invents {_name(place)} of `{tool}`: no earlier result and no request holds it."
            yield Candidate("pitfall", text, _invented(tool, place))


def _arguments(tasks: Sequence[Task], tool: str) -> list[str]:
    """The pointers to the top-level arguments that the gold calls of a tool give, sorted."""
    calls = [call for task in tasks for call in task.gold.calls if call.name == tool]
    return sorted({f"/{name.replace('~', '~0').replace('/', '~1')}" for call in calls for name in call.arguments})


def _calls_in_all(task: Task, counts: Counter[str]) -> Iterator[Candidate]:
    if task.family != "tools":
        return
    few = {"op": "max_calls", "count": "gold"}
    if not counts:
        yield Candidate("suggest", "Calls nothing.", few)
        return
    every = {"op": "called", "gold": [""], "ok": True, "at_least": "gold"}
    yield Candidate("suggest", "Makes every call that the request needs, with its arguments.", every)
    check = {"op": "and", "checks": [every, few]}
    yield Candidate("bonus", "Makes the calls that the request needs, and no other.", check)
    for tool in counts:
        check = negated({"op": "max_calls", "tool": tool, "count": "gold"})
        yield Candidate("pitfall", f"Calls `{tool}` more often than the request needs.", check)
    yield Candidate("pitfall", "Makes more calls than the request needs.", negated(few))


def _repeats(tools: Sequence[str]) -> Iterator[Candidate]:
    for tool in tools:
        check = negated({"op": "no_repeat", "tool": tool})
        yield Candidate("pitfall", f"Makes a call of `{tool}` again after it succeeded.", check)
    yield Candidate("pitfall", "Makes a call again after it succeeded.", negated({"op": "no_repeat"}))


def _errors(tools: Sequence[str], refused: Collection[tuple[str, str]]) -> Iterator[Candidate]:
    for tool, kind in sorted((t, k) for t, k in refused if t in tools):
        check = negated({"op": "no_error", "tool": tool, "kinds": [kind]})
        yield Candidate("pitfall", f"A call of `{tool}` is refused: {_words(kind)}.", check)
    for kind in sorted({kind for _, kind in refused}):
        check = negated({"op": "no_error", "kinds": [kind]})
        yield Candidate("pitfall", f"A call is refused: {_words(kind)}.", check)
    yield Candidate("pitfall", "A call is malformed.", negated({"op": "no_error", "kinds": sorted(FAULTS)}))
    yield Candidate("pitfall", "A call is refused or malformed.", negated({"op": "no_error"}))


def _equations(task: Task) -> Iterator[Candidate]:
    if task.family == "math":
        wrong = negated({"op": "equation_holds", "every": True})
        yield Candidate("pitfall", "Writes an equation that does not hold.", wrong)
        yield Candidate("suggest", "Works the numbers out in an equation that holds.", {"op": "equation_holds"})


def _name(pointer: str) -> str:
    return f"`{'.'.join(parts(pointer))}`"


def _words(kind: str) -> str:
    return kind.replace("_", " ")
