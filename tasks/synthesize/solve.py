"""Plans carried out: gold calls with literal arguments and dependency edges, their results, and the answer.

    with environment.session(seed) as session:
        outcome = execute(plan, session, session.digest())     # an Outcome, or the reason why the plan does not hold

Left out: plans of which only some order works; calls run in the order in which the plan lists them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.records import Edge, GoldCall, Result
from tasks.servers import Environment, Session
from tasks.synthesize.plan import Bound, Plan
from tasks.toolbox.pointer import at


@dataclass(frozen=True, slots=True)
class Outcome:
    """A plan that was executed: gold calls with literal arguments and edges, their results, the answer, the final state."""

    calls: list[GoldCall]
    results: list[Result]
    answer: Any
    digest: str


def execute(plan: Plan, session: Session, untouched: str) -> Outcome | str:
    """Runs a plan on a fresh session, whose digest is `untouched`. Returns the reason instead when it does not hold.

    Reasons: `refused` (a call fails), `other_entity` (a lookup finds another entity than the one named),
    `no_effect` (what should change leaves the state as it was, so that doing nothing would pass), `no_answer` (the
    asked value is absent or empty).
    """
    results: dict[str, Result] = {}
    gold: list[GoldCall] = []
    for call in plan.calls:
        edges: list[Edge] = []
        try:
            arguments = _bind(call.arguments, "", results, edges)
        except LookupError:
            return "other_entity"
        result = session.call(call.tool, arguments, call.id)
        if not result.ok:
            return "refused"
        results[call.id] = result
        gold.append(GoldCall(call.id, call.tool, arguments, edges))
    digest = session.digest()
    specs = session.environment.specs
    if digest == untouched and not all(specs[call.tool].read_only for call in plan.calls):
        return "no_effect"
    answer = None
    if plan.answer is not None:
        try:
            answer = at(results[plan.answer[0]].content, plan.answer[1])
        except LookupError:
            return "no_answer"
        if answer is None or answer == "" or isinstance(answer, dict | list):
            return "no_answer"
    return Outcome(gold, list(results.values()), answer, digest)


def _bind(value: Any, path: str, results: Mapping[str, Result], edges: list[Edge]) -> Any:
    if isinstance(value, Bound):
        found = at(results[value.source].content, value.path)
        if found != value.value:
            raise LookupError(value.path)
        edges.append(Edge(value.source, value.path, path))
        return found
    if isinstance(value, Mapping):
        return {k: _bind(v, f"{path}/{k}", results, edges) for k, v in value.items()}
    if isinstance(value, list):
        return [_bind(v, f"{path}/{i}", results, edges) for i, v in enumerate(value)]
    return value


def chain_depth(calls: Sequence[GoldCall]) -> int:
    """The longest dependency chain, in calls; 0 for no calls."""
    depth: dict[str, int] = {}
    for call in calls:
        depth[call.id] = 1 + max((depth[edge.source] for edge in call.needs), default=0)
    return max(depth.values(), default=0)


def replays(environment: Environment, seed: int, outcome: Outcome) -> bool:
    """Whether the literal gold calls give the same results and the same final state on a fresh session."""
    with environment.session(seed) as session:
        again = [session.call(call.name, call.arguments, call.id) for call in outcome.calls]
        return again == outcome.results and session.digest() == outcome.digest


def spare(environment: Environment, seed: int, outcome: Outcome) -> bool:
    """Whether one of several changes could be left out for the same final state: a renaming before a deletion, or a change
    to what is already so."""
    specs = environment.specs
    changes = [call for call in outcome.calls if not specs[call.name].read_only]
    needed = {edge.source for call in outcome.calls for edge in call.needs}
    return len(changes) > 1 and any(_ends_alike(environment, seed, outcome, call) for call in changes if call.id not in needed)


def _ends_alike(environment: Environment, seed: int, outcome: Outcome, without: GoldCall) -> bool:
    with environment.session(seed) as session:
        calls = [call for call in outcome.calls if call is not without]
        return all(session.call(call.name, call.arguments).ok for call in calls) and session.digest() == outcome.digest
