"""Hand-made tasks and trajectories, and a data folder of evaluated rounds written by the record writers. No model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.evaluate.own import WHEN, When, compare, flat
from tasks.records import (
    Call,
    Edge,
    Gold,
    GoldCall,
    Message,
    Result,
    Score,
    Step,
    Task,
    ToolFault,
    Trajectory,
    components,
    write_shards,
)
from tasks.stage import write_json

DIGEST = "state-after"


def task(number: int, depth: int = 1, servers: Sequence[str] = ("banking",), unseen: bool = False) -> Task:
    calls = [GoldCall(str(i), f"tool_{i}", {"id": i}, [Edge(str(i - 1), "/id", "/id")] if i else []) for i in range(depth)]
    return Task(
        id=f"test-{number:05d}",
        family="tools",
        split="test",
        servers=list(servers),
        tools=[c.name for c in calls],
        distractors=[],
        session_seed=number,
        turns=[f"Do thing {number} and tell me the value."],
        gold=Gold(calls, 7 + number, DIGEST),
        depth=depth,
        chain_depth=max(1, depth - 1),
        unseen_combination=unseen,
    )


def trajectory(
    of: Task, sample: int = 0, right: bool = True, policy: str = "made", error: bool = False, bad_call: bool = False
) -> Trajectory:
    """One call and an answer; `bad_call` adds a refused one before. Six tokens of the model's own, two of the environment."""
    calls = [Call(str(i), g.name, g.arguments) for i, g in enumerate(of.gold.calls[:1])]
    results = [Result("0", True, {"value": of.gold.answer})]
    messages = [
        Message("user", of.turns[0]),
        Message("assistant", f'<tool_call>{{"name": "{calls[0].name}", "arguments": {{}}}}</tool_call>'),
        Message("tool", json.dumps({"value": of.gold.answer}), "0"),
    ]
    if bad_call:
        calls.insert(0, Call("x", "no_such_tool", {"a": [1, "two"]}))
        results.insert(0, Result("x", False, error=ToolFault("unknown_tool", "no tool no_such_tool")))
    messages.append(Message("assistant", f"Answer: {of.gold.answer if right else -1}"))
    return Trajectory(
        task_id=of.id,
        sample=sample,
        policy=policy,
        seed=sample,
        messages=messages,
        prompt_ids=[1, 2],
        completion_ids=[3] * 8,
        mask=[1, 1, 1, 0, 0, 1, 1, 1],
        logprobs=[-0.5, -0.5, -0.5, 0.0, 0.0, -0.5, -0.5, -0.5],
        steps=[Step(0, 3, calls, [], results), Step(5, 8)],
        finish_reason="error" if error else "stop",
        digest=DIGEST,
        error="the session crashed" if error else None,
    )


def score(of: Trajectory, right: bool) -> Score:
    if of.finish_reason == "error":
        return Score(of.task_id, of.sample, "tier", "error", None, components(), [], [of.error or ""])
    reasons = [] if right else ["the answer is not the expected one"]
    parts = components(format=1.0, name=1.0, param=1.0, dtype=1.0, exec=1.0, answer=float(right))
    return Score(of.task_id, of.sample, "tier", "score", 1.0 if right else 0.5, parts, [], reasons)


def twelve() -> list[Task]:
    """Two tasks of each depth from 1 to 6; every third is an unseen combination, depths above 3 use two servers."""
    return [task(n, n // 2 + 1, ("banking", "calendar") if n > 5 else ("banking",), unseen=n % 3 == 0) for n in range(12)]


def write_round(
    data: Path,
    name: str,
    rights: Mapping[When, int],
    samples: int = 4,
    start: str = "warmup",
    tasks: Sequence[Task] | None = None,
    greedy: bool = True,
) -> dict[str, Any]:
    """DATA/evaluate/NAME as the stage writes it: `rights[when]` of the `samples` of every task are right, and greedy
    is right where the task's number is below it. Returns results.json's content."""
    folder = data / "evaluate" / name
    by_id = {t.id: t for t in tasks or twelve()}
    runs: dict[str, dict[When, list[Trajectory]]] = {"sampled": {}, "greedy": {}} if greedy else {"sampled": {}}
    for when in WHEN:
        policy = f"{start if when == 'before' else name}-policy"
        for mode in runs:
            made = [
                (trajectory(t, s, right, policy, bad_call=not right), right)
                for number, t in enumerate(by_id.values())
                for s in range(samples if mode == "sampled" else 1)
                for right in [s < rights[when] if mode == "sampled" else number < rights[when]]
            ]
            runs[mode][when] = [t for t, _ in made]
            write_shards(folder / when / mode / "trajectories", runs[mode][when], Trajectory)
            write_shards(folder / when / mode / "scores", [score(t, right) for t, right in made], Score)
    write_shards(folder / "tasks", by_id.values(), Task)
    results = {
        "round": name,
        "start": start,
        "recipe": "tier",
        "seed": 0,
        "tasks": len(by_id),
        "samples": samples,
        "temperature": 1.0,
        "policies": {when: runs["sampled"][when][0].policy for when in WHEN},
        **compare(by_id, runs, 0, 200),
    }
    write_json(folder / "results.json", results)
    write_json(folder / "metrics.json", flat(results) | {"seconds": 12.5})
    return results
