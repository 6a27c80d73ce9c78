"""The distill stage: `python -m tasks.distill --round NAME`.

Contrasts the round's right and wrong rollouts and writes rubrics/ (Rubric shards, one per plan shape and one per task
with enough samples of both kinds), rubrics.md (the same for people, with counts) and metrics.json. Asks no model.

`auc` is how well the sum of the surviving items tells held-out right from wrong trajectories, without the answer
items, which repeat the outcome; `auc_in_tasks` compares only within a task. The items were chosen on those trajectories:
`auc_blind` has the items of each trajectory chosen on the half of them that it is not in. All are null where there is
nothing to compare.

Left out: skills, and rubrics written by a teacher.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.console import progress
from tasks.distill.contrast import Distilled, Group, Held, distill
from tasks.records import Rubric, Task, Trajectory, read_shards, write_shards
from tasks.stage import Stage, StageError, command

KINDS = ("suggest", "pitfall", "bonus", "answer")


def run(stage: Stage) -> Mapping[str, Any]:
    """Contrasts and writes."""
    tasks = {t.id: t for t in read_shards(stage.input("rollout", "tasks"), Task)}
    trajectories = read_shards(stage.input("rollout", "trajectories"), Trajectory)
    unknown = {t.task_id for t in trajectories} - set(tasks)
    if unknown:
        raise StageError(
            f"{stage.input('rollout')}: trajectories of {len(unknown)} tasks that are not there, for example "
            f"{min(unknown)}. Delete the folder and run `dvc repro`, which writes it again."
        )
    with progress("distill", len({t.task_id for t in trajectories})) as advance:
        distilled = distill(tasks, trajectories, stage.params.distill, stage.params.seed, advance)
    write_shards(stage.out / "rubrics", [group.rubric for group in distilled.groups], Rubric)
    metrics = {"trajectories": len(trajectories), **figures(distilled)}
    (stage.out / "rubrics.md").write_text(markdown(distilled), encoding="utf-8")
    stage.run.artifact(stage.out / "rubrics.md")
    return metrics


def figures(distilled: Distilled) -> dict[str, Any]:
    """Rubrics, items by kind, what was left out, how often held-out trajectories satisfy items, and the AUCs."""
    groups = distilled.groups
    names = {group.rubric.task_id for group in groups}
    # A task's own rubric goes before its shape's, as in use.
    held_out = [t for g in groups for t in g.held_out if g.rubric.task_id == t.task_id or t.task_id not in names]
    right = [t.right for t in held_out]
    return {
        "shapes": sum(name.startswith("shape:") for name in names),
        "tasks": sum(not name.startswith("shape:") for name in names),
        "pooled": dict(sorted(Counter(group.pooled for group in groups if group.pooled).items())),
        "items": {kind: sum(item.kind == kind for g in groups for item in g.rubric.items) for kind in KINDS},
        "satisfied": {kind: satisfied(groups, kind) for kind in KINDS},
        "groups_left_out": dict(sorted(distilled.groups_left_out.items())),
        "items_left_out": dict(sorted(distilled.items_left_out.items())),
        "held_out": {"right": sum(right), "wrong": len(right) - sum(right)},
        "auc": auc(right, [t.total for t in held_out]),
        "auc_blind": auc(right, [t.blind for t in held_out]),
        "auc_in_tasks": auc_in_tasks(held_out),
    }


def satisfied(groups: Sequence[Group], kind: str) -> dict[str, float | None]:
    """The mean rates, over all items of a kind, at which held-out right and wrong trajectories satisfy them."""
    items = [item for group in groups for item in group.rubric.items if item.kind == kind]
    if not items:
        return {"right": None, "wrong": None}
    return {
        "right": statistics.fmean(item.right / item.right_of for item in items),
        "wrong": statistics.fmean(item.wrong / item.wrong_of for item in items),
    }


def auc_in_tasks(held_out: Sequence[Held]) -> float | None:
    """As auc, over pairs of one task only, which is what a group of samples compares; None where there is no pair."""
    by_task: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for each in held_out:
        by_task[each.task_id][each.right].append(each.total)
    wins = [(a > b) + 0.5 * (a == b) for wrong, right in by_task.values() for a in right for b in wrong]
    return statistics.fmean(wins) if wins else None


def auc(right: Sequence[bool], totals: Sequence[float]) -> float | None:
    """The probability that a right trajectory has a higher sum than a wrong one; None where a side is missing."""
    if len(set(right)) < 2:
        return None
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(right, totals))


def markdown(distilled: Distilled) -> str:
    """All rubrics for people to read."""
    lines = ["# Rubrics", ""]
    lines += [
        "From right and wrong trajectories of the current policy. Behind an item: how many of the held-out right and "
        "wrong trajectories satisfy it (a pitfall is satisfied by making the mistake).",
        "",
    ]
    if not distilled.groups:
        lines += ["No group of trajectories has enough right and wrong ones to contrast, or no item tells them apart.", ""]
    for group in distilled.groups:
        lines += _section(group)
    for title, counts in (("Groups left out", distilled.groups_left_out), ("Items left out", distilled.items_left_out)):
        lines += [f"## {title}", "", *_table(counts), ""]
    return "\n".join(lines)


def _section(group: Group) -> list[str]:
    tools = ", ".join(f"`{tool}`" for tool in group.tools) or "none"
    lines = [f"## {group.rubric.task_id}", "", f"Tools: {tools}. "]
    lines[-1] += f"{group.tasks} task{'s' * (group.tasks != 1)}; {group.right} right and {group.wrong} wrong trajectories."
    if group.pooled:
        lines[-1] += f" Judged by the pool: {group.pooled}."
    lines += ["", *(f"- `{edge}`" for edge in group.edges), ""] if group.edges else [""]
    lines += ["| kind | item | right | wrong |", "|---|---|---|---|"]
    for item in group.rubric.items:
        lines.append(f"| {item.kind} | {item.text} | {item.right}/{item.right_of} | {item.wrong}/{item.wrong_of} |")
    return [*lines, ""]


def _table(counts: Counter[str]) -> list[str]:
    return ["| reason | count |", "|---|---|", *(f"| {reason} | {count} |" for reason, count in sorted(counts.items()))]


def main(argv: Sequence[str] | None = None) -> int:
    return command(
        "distill",
        run,
        argv,
        sections=("servers", "distill"),
        needs=("rollout/{round}",),
        rounds=True,
        description=__doc__ or "",
    )


if __name__ == "__main__":
    raise SystemExit(main())
