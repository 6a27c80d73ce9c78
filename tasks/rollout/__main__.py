"""The rollout stage: `python -m tasks.rollout --round NAME`.

Samples rollout.samples episodes for each of rollout.tasks training tasks from the round's starting policy, and
writes trajectories/ (Trajectory shards), tasks/ (their Tasks) and metrics.json.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.console import progress
from tasks.policy import PolicyError
from tasks.records import Task, Trajectory, read_shards, write_shards
from tasks.reward.outcome import judge
from tasks.rollout.batches import Job, roll
from tasks.seeds import derive, stream
from tasks.stage import Stage, StageError, command


def chosen_tasks(tasks: Sequence[Task], count: int, seed: int, round_name: str) -> list[Task]:
    """`count` training tasks, another sample in every round, in the order of their numbers."""
    rng = stream(seed, "rollout", round_name)
    return [tasks[i] for i in sorted(rng.sample(range(len(tasks)), min(count, len(tasks))))]


def run(stage: Stage) -> Mapping[str, Any]:
    """Rolls out and writes."""
    params, settings = stage.params, stage.params.rollout
    assert stage.round is not None
    tasks = chosen_tasks(
        read_shards(stage.input("synthesize", "tasks", "train"), Task), settings.tasks, params.seed, stage.round
    )
    job = Job(
        stage.start_model(),
        params.policy,
        params.servers.names,
        params.runtime,
        settings.limits,
        settings.temperature,
        settings.batch,
        derive(params.seed, "rollout", stage.round),
    )
    pairs = [(task, sample) for task in tasks for sample in range(settings.samples)]
    try:
        with progress("rollout", len(pairs)) as advance:
            trajectories = roll(job, pairs, stage.scratch, advance)
    except PolicyError as error:
        raise StageError(str(error)) from error
    write_shards(stage.out / "trajectories", trajectories, Trajectory)
    write_shards(stage.out / "tasks", tasks, Task)
    return figures({t.id: t for t in tasks}, trajectories)


def figures(tasks: Mapping[str, Task], trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Accuracy, length, calls and ends of a set of trajectories."""
    count = max(1, len(trajectories))
    calls = sum(len(t.calls()) for t in trajectories)
    bad = sum(not r.ok for t in trajectories for r in t.results()) + sum(len(s.failures) for t in trajectories for s in t.steps)
    attempts = calls + sum(len(s.failures) for t in trajectories for s in t.steps)
    return {
        "episodes": len(trajectories),
        "accuracy": sum(judge(tasks[t.task_id], t).right for t in trajectories) / count,
        "tokens_per_episode": sum(sum(t.mask) for t in trajectories) / count,
        "calls_per_episode": calls / count,
        "invalid_call_rate": bad / max(1, attempts),
        "ends": dict(sorted(Counter(t.finish_reason for t in trajectories).items())),
    }


def main(argv: Sequence[str] | None = None) -> int:
    return command(
        "rollout",
        run,
        argv,
        sections=("policy", "servers", "rollout"),
        needs=("synthesize", "{start}/model"),
        rounds=True,
        description=__doc__ or "",
    )


if __name__ == "__main__":
    raise SystemExit(main())
