"""A catalogue of three tools, and tasks and trajectories made by hand.

    task = payment()                                             # find_payee, then pay, then `Answer: 7`
    trajectory = episode(task, ok("find_payee", name="Ada"), ok("pay", to="pay_1", amount=40), say="Answer: 7")

A turn is one move or a list of moves; a move is what ok, refused and malformed make.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tasks.records import Call, Gold, GoldCall, Message, ParseFailure, Result, Step, Task, ToolFault, ToolSpec, Trajectory
from tasks.toolbox.schema import Checker

TEXT, INTEGER = {"type": "string"}, {"type": "integer"}


def spec(name: str, properties: dict[str, Any], required: list[str]) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return ToolSpec(name, name, schema, {}, "bank")


SPECS = {
    s.name: s
    for s in (
        spec("find_payee", {"name": TEXT}, ["name"]),
        spec("pay", {"to": TEXT, "amount": INTEGER, "kind": {"enum": ["now", "later"]}}, ["to", "amount"]),
        spec("form", dict.fromkeys("abcdef", INTEGER), list("abcdef")),
        spec("hidden", {}, []),
    )
}


@dataclass(frozen=True)
class Catalogue:
    """What a reward needs of an environment."""

    specs: Mapping[str, ToolSpec] = field(default_factory=lambda: SPECS)
    checkers: Mapping[str, Checker] = field(default_factory=lambda: {n: Checker(s.input_schema) for n, s in SPECS.items()})


CATALOGUE = Catalogue()
GOLD = [GoldCall("0", "find_payee", {"name": "Ada"}), GoldCall("1", "pay", {"to": "pay_1", "amount": 40})]
DIGEST = "state-after"


def task(
    id: str = "t-1", calls: list[GoldCall] | None = None, answer: Any = None, digest: str = "", abstain: bool = False
) -> Task:
    gold = Gold(calls or [], answer, digest, abstain)
    depth = len(gold.calls)
    return Task(id, "tools", "train", ["bank"], ["find_payee", "pay", "form"], [], 0, ["Pay Ada."], gold, depth, depth)


def payment(id: str = "t-1") -> Task:
    """Asks for a value and changes the state."""
    return task(id, GOLD, 7, DIGEST)


@dataclass(frozen=True)
class Move:
    call: Call | None = None
    result: Result | None = None
    failure: ParseFailure | None = None


def ok(name: str, /, **arguments: Any) -> Move:
    return Move(Call("", name, arguments), Result("", True, {"done": True}))


def refused(name: str, /, **arguments: Any) -> Move:
    return Move(Call("", name, arguments), Result("", False, error=ToolFault("invalid", "it is refused")))


def malformed(kind: str = "missing_brace") -> Move:
    return Move(failure=ParseFailure(kind, 20))


RIGHT = (ok("find_payee", name="Ada"), ok("pay", to="pay_1", amount=40))


def episode(
    of: Task,
    *turns: Move | list[Move],
    say: str | None = "Answer: 7",
    digest: str = DIGEST,
    finish: Literal["stop", "length", "turns", "error"] = "stop",
    sample: int = 0,
    error: str | None = None,
) -> Trajectory:
    """One step per turn and, unless `say` is None, a last one that says it. Each step is two of the model's tokens."""
    messages = [Message("user", of.turns[0])]
    steps: list[Step] = []
    for turn in turns:
        moves = turn if isinstance(turn, list) else [turn]
        calls = [m.call for m in moves if m.call]
        results = [m.result for m in moves if m.result]
        failures = [m.failure for m in moves if m.failure]
        steps.append(Step(2 * len(steps), 2 * len(steps) + 2, calls, failures, results))
        messages.append(Message("assistant", "<tool_call>...</tool_call>"))
        messages += [Message("tool", "{}", r.call_id) for r in results]
    if say is not None:
        steps.append(Step(2 * len(steps), 2 * len(steps) + 2))
        messages.append(Message("assistant", say))
    count = 2 * len(steps)
    return Trajectory(
        task_id=of.id,
        sample=sample,
        policy="made",
        seed=sample,
        messages=messages,
        prompt_ids=[1],
        completion_ids=[3] * count,
        mask=[1] * count,
        logprobs=[-0.5] * count,
        steps=steps,
        finish_reason=finish,
        digest=digest,
        error=error,
    )
