"""The pipeline's own benchmark: held-out tasks, before and after a round's training. Pure functions on records.

    results = compare(tasks, {"sampled": {"before": trajectories, "after": trajectories}, "greedy": {...}}, seed, resamples)

An episode is right when its answer and its final state are the expected ones (tasks.reward.outcome). One that
ended by an infrastructure error (finish_reason `error`) is left out of every figure and counted in `errors`.

The result, as results.json holds it (an ESTIMATE is {value, lo, hi, n, episodes}, a GAIN {value, lo, hi, n}; see
tasks.evaluate.statistics):

    {MODE: {"overall": {"before": ESTIMATE, "after": ESTIMATE, "gain": GAIN, "p_value", "test"},
            "by_depth" | "by_chain_depth" | "by_server" | "by_combination": {NAME: {"before", "after", "gain"}},
            "behaviour": {"before" | "after": {figures of `behaviour`}}}}

A task of two servers counts under both. `by_combination` tells tool combinations that training held (`seen`) from
those kept out of it (`unseen`).

Left out: robustness slices and public benchmarks, which are modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from tasks.evaluate.statistics import Estimate, Gain, Outcomes, clustered, gain, mcnemar, permutation_p
from tasks.records import Task, Trajectory
from tasks.reward.outcome import judge
from tasks.rollout.__main__ import figures
from tasks.seeds import derive

Mode = Literal["sampled", "greedy"]
When = Literal["before", "after"]
WHEN: tuple[When, When] = ("before", "after")

SLICES = ("by_depth", "by_chain_depth", "by_server", "by_combination")
"""The keys of a mode's results that hold slices of the tasks."""

Runs = Mapping[str, Mapping[When, Sequence[Trajectory]]]
"""mode -> when -> its trajectories"""


def scored(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """Those that tell something about the policy: the environment did not fail."""
    return [t for t in trajectories if t.finish_reason != "error"]


def outcomes(tasks: Mapping[str, Task], trajectories: Sequence[Trajectory]) -> dict[str, list[float]]:
    """Per task, in the order of `tasks`: 1.0 or 0.0 of each scored sample; empty where every sample failed."""
    found: dict[str, list[float]] = {task_id: [] for task_id in tasks}
    for trajectory in scored(trajectories):
        found[trajectory.task_id].append(float(judge(tasks[trajectory.task_id], trajectory).right))
    return found


def slices(tasks: Mapping[str, Task]) -> dict[str, dict[str, list[str]]]:
    """The ids of each slice's tasks, by kind of slice (SLICES) and name, names in natural order."""
    names: dict[str, Callable[[Task], Sequence[int | str]]] = {
        "by_depth": lambda t: [t.depth],
        "by_chain_depth": lambda t: [t.chain_depth],
        "by_server": lambda t: t.servers,
        "by_combination": lambda t: ["unseen" if t.unseen_combination else "seen"],
    }
    made: dict[str, dict[str, list[str]]] = {}
    for kind, name_of in names.items():
        groups: dict[Any, list[str]] = {}
        for task in tasks.values():
            for name in name_of(task):
                groups.setdefault(name, []).append(task.id)
        made[kind] = {str(name): groups[name] for name in sorted(groups)}
    return made


def compare(tasks: Mapping[str, Task], runs: Runs, seed: int, resamples: int) -> dict[str, Any]:
    """Accuracies, tests and behaviour of every mode of `runs` (see the module's docstring)."""
    return {mode: _compare_mode(tasks, mode, by_when, seed, resamples) for mode, by_when in runs.items()}


def _compare_mode(
    tasks: Mapping[str, Task], mode: str, by_when: Mapping[When, Sequence[Trajectory]], seed: int, resamples: int
) -> dict[str, Any]:
    before, after = (outcomes(tasks, by_when[when]) for when in WHEN)

    def side_by_side(kind: str, name: str, ids: Sequence[str]) -> dict[str, Any]:
        first, second = {i: before[i] for i in ids}, {i: after[i] for i in ids}
        found: dict[str, Estimate | Gain] = {
            "before": clustered(list(first.values())),
            "after": clustered(list(second.values())),
            "gain": gain(first, second, derive(seed, "gain", mode, kind, name), resamples),
        }
        return {key: rounded(asdict(value)) for key, value in found.items()}

    overall = side_by_side("overall", "", list(tasks)) | _test(mode, before, after, derive(seed, "test", mode), resamples)
    by_slice = {
        kind: {name: side_by_side(kind, name, ids) for name, ids in groups.items()} for kind, groups in slices(tasks).items()
    }
    return {"overall": overall, **by_slice, "behaviour": {when: behaviour(tasks, by_when[when]) for when in WHEN}}


def _test(mode: str, before: Outcomes, after: Outcomes, seed: int, resamples: int) -> dict[str, Any]:
    if mode == "greedy":
        p, lost, won = mcnemar(before, after)
        return {"p_value": p, "test": "McNemar", "lost": lost, "won": won}
    return {"p_value": permutation_p(before, after, seed, resamples), "test": "permutation"}


def behaviour(tasks: Mapping[str, Task], trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """How episodes went, errors left out: calls and tokens per episode, the share of attempted calls that failed to
    parse or were refused, how episodes ended, and how many errors were left out. None where there is no episode."""
    kept = scored(trajectories)
    counts = {"episodes": len(kept), "errors": len(trajectories) - len(kept)}
    names = ("calls_per_task", "gold_calls_per_task", "invalid_call_rate", "tokens_per_episode")
    if not kept:
        return {**counts, **dict.fromkeys(names), "ends": {}}
    found = figures(tasks, kept)
    gold = sum(len(tasks[t.task_id].gold.calls) for t in kept) / len(kept)
    values = (found["calls_per_episode"], gold, found["invalid_call_rate"], found["tokens_per_episode"])
    return {**counts, **rounded(dict(zip(names, values, strict=True))), "ends": found["ends"]}


def rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Floats to six decimals."""
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in values.items()}


def depth_rows(results: Mapping[str, Any], mode: str) -> list[dict[str, Any]]:
    """Accuracy by depth as rows {depth, when, accuracy, lo, hi, n} for a DVC plot."""
    return [
        {"depth": int(depth), "when": when, "accuracy": e["value"], "lo": e["lo"], "hi": e["hi"], "n": e["n"]}
        for depth, found in results[mode]["by_depth"].items()
        for when in WHEN
        if (e := found[when])["n"]
    ]


def flat(results: Mapping[str, Any]) -> dict[str, Any]:
    """The main figures under one name each, for metrics.json and MLflow. What was not measured is left out."""
    found: dict[str, Any] = {}
    for mode, prefix in (("sampled", ""), ("greedy", "greedy_")):
        if mode not in results:
            continue
        overall = results[mode]["overall"]
        found[f"{prefix}gain"], found[f"{prefix}p_value"] = overall["gain"]["value"], overall["p_value"]
        for when in WHEN:
            found[f"{prefix}accuracy_{when}"] = overall[when]["value"]
            for name, value in results[mode]["behaviour"][when].items():
                if name not in ("ends", "gold_calls_per_task"):
                    found[f"{prefix}{name}_{when}"] = value
        for depth, entry in results[mode]["by_depth"].items():
            for when in WHEN:
                found[f"{prefix}accuracy_depth_{depth}_{when}"] = entry[when]["value"]
    return {"tasks": results["sampled"]["overall"]["gain"]["n"], **{k: v for k, v in found.items() if v is not None}}
