"""The reward stage: `python -m tasks.reward --round NAME`.

Scores the round's stored rollouts with every recipe, generates nothing, and chooses the prompts that carry a learning
signal for the training recipe: those whose group of samples does not all have one total. Writes scores/ (Score
shards), prompts/ (the chosen Tasks) and metrics.json.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.records import COMPONENTS, Score, Task, Trajectory, read_shards, write_shards
from tasks.reward.outcome import judge
from tasks.reward.recipes import score_all
from tasks.servers import environment
from tasks.stage import Stage, StageError, command


def run(stage: Stage) -> Mapping[str, Any]:
    """Scores, selects and writes."""
    params, settings = stage.params, stage.params.reward
    tasks = {t.id: t for t in read_shards(stage.input("rollout", "tasks"), Task)}
    trajectories = read_shards(stage.input("rollout", "trajectories"), Trajectory)
    servers = environment(params.servers.names)
    scores = {name: score_all(tasks, trajectories, servers, settings, name) for name in settings.recipes}
    write_shards(stage.out / "scores", [s for each in scores.values() for s in each], Score)
    rights = [judge(tasks[t.task_id], t).right for t in trajectories] if settings.signal == "outcome" else None
    chosen, left_out = select(tasks, scores[settings.recipe], rights)
    if not chosen:
        lacking, other = (
            ("every group has one total", "use another recipe")
            if rights is None
            else ("no group has right and wrong samples of different totals", "set reward.signal to spread")
        )
        raise StageError(
            f"no prompt carries a learning signal under recipe {settings.recipe!r}: {lacking} ({dict(left_out)}). "
            f"Warm up more or less (warmup.steps), raise rollout.samples or rollout.temperature, or {other}."
        )
    write_shards(stage.out / "prompts", chosen, Task)
    metrics: dict[str, Any] = {"prompts": len(chosen), "left_out": dict(left_out)}
    for name, each in scores.items():
        metrics[name] = figures(each)
    stage.run.traces(trajectories, scores[settings.recipe], params.tracking.traces)
    return metrics


def select(
    tasks: Mapping[str, Task], scores: Sequence[Score], rights: Sequence[bool] | None = None
) -> tuple[list[Task], Counter[str]]:
    """(the tasks whose group has a learning signal, how many were left out for which reason).

    The test is exact inequality of totals, not a small deviation (LESSONS.md). Abstentions and errors take no part.
    With `rights` (per score, whether its episode achieved what was asked) a group must also hold both outcomes: an
    all-failed group has spread only in the shaping terms, and normalising blows that up to full size (LESSONS.md,
    phantom advantages).
    """
    groups: dict[str, list[float]] = defaultdict(list)
    outcomes: dict[str, set[bool]] = defaultdict(set)
    for number, score in enumerate(scores):
        groups[score.task_id] += [score.total] if score.total is not None else []
        if rights is not None and score.total is not None:
            outcomes[score.task_id].add(rights[number])
    chosen = []
    left_out: Counter[str] = Counter()
    for task_id, totals in groups.items():
        if len(totals) < 2:
            left_out["fewer than two scores"] += 1
        elif len(set(totals)) == 1:
            left_out["all right" if totals[0] >= 1.0 else "all equal"] += 1
        elif rights is not None and len(outcomes[task_id]) == 1:
            left_out["all right" if True in outcomes[task_id] else "all wrong"] += 1
        else:
            chosen.append(tasks[task_id])
    return chosen, left_out


def figures(scores: Sequence[Score]) -> dict[str, Any]:
    """Mean total and components, spread inside groups, and how many scores, abstentions and errors there are."""
    totals = [s.total for s in scores if s.total is not None]
    groups: dict[str, list[float]] = defaultdict(list)
    for s in scores:
        if s.total is not None:
            groups[s.task_id].append(s.total)
    spreads = [statistics.pstdev(g) for g in groups.values() if len(g) > 1]
    parts = {name: [v for s in scores if (v := s.components[name]) is not None] for name in COMPONENTS}
    return {
        "mean": statistics.fmean(totals) if totals else None,
        "spread_in_groups": statistics.fmean(spreads) if spreads else None,
        "constant_groups": sum(len(set(g)) == 1 for g in groups.values()),
        "groups": len(groups),
        "kinds": dict(sorted(Counter(s.kind for s in scores).items())),
        "components": {name: statistics.fmean(values) for name, values in parts.items() if values},
    }


def main(argv: Sequence[str] | None = None) -> int:
    return command(
        "reward", run, argv, sections=("servers", "reward"), needs=("rollout/{round}",), rounds=True, description=__doc__ or ""
    )


if __name__ == "__main__":
    raise SystemExit(main())
