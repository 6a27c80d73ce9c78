"""The evaluate stage: `python -m tasks.evaluate --round NAME`.

Rolls out the first evaluate.tasks held-out tasks with the policy that the round started from and with the one that it
trained: evaluate.samples episodes per task at evaluate.temperature, and one greedy episode. Both policies get the
same tasks and the same random streams, in every round, so that a round's `before` is its predecessor's `after`.

Writes {before,after}/{sampled,greedy}/{trajectories,scores}/ (shards; scores by the training recipe), tasks/ (the
Tasks), results.json (tasks.evaluate.own), plots/by_depth.json and plots/by_depth_greedy.json (DVC plots) and
metrics.json.

Left out: public benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from tasks.console import progress
from tasks.evaluate.own import WHEN, Mode, When, compare, depth_rows, flat
from tasks.evaluate.tables import accuracy_table
from tasks.policy import PolicyError
from tasks.records import Score, Task, Trajectory, read_shards, write_shards
from tasks.reward.recipes import score_all
from tasks.rollout.batches import Job, roll_each
from tasks.seeds import derive
from tasks.servers import environment
from tasks.stage import Stage, StageError, command, start_of, write_json


def models(stage: Stage) -> dict[When, Path]:
    """The folders of the two policies. Raises StageError when one is not there, before any time is spent."""
    found: dict[When, Path] = {"before": stage.start_model(), "after": stage.input("grpo", "model")}
    for folder in found.values():
        if not (folder / "config.json").is_file():
            raise StageError(f"{folder}: no model here (no config.json). Run the stages that write it: `dvc repro`.")
    return found


def held_out(stage: Stage) -> dict[str, Task]:
    """The first evaluate.tasks tasks of the test split. Raises StageError when there are fewer."""
    folder, wanted = stage.input("synthesize", "tasks", "test"), stage.params.evaluate.tasks
    tasks = read_shards(folder, Task)[:wanted]
    if len(tasks) < wanted:
        raise StageError(
            f"{folder}: holds {len(tasks)} tasks, evaluate.tasks asks for {wanted}. Lower it, or raise synthesize.test and "
            "run `dvc repro`."
        )
    return {task.id: task for task in tasks}


def episodes(
    stage: Stage, models: Mapping[When, Path], modes: Sequence[Mode], tasks: Sequence[Task], watch: Callable[[int], None]
) -> dict[str, dict[When, list[Trajectory]]]:
    """Every policy's episodes in every mode. The seed does not name the policy: before and after draw the same numbers."""
    params, settings = stage.params, stage.params.evaluate
    keys = [(when, mode) for when in models for mode in modes]
    rolls = []
    for when, mode in keys:
        job = Job(
            models[when],
            params.policy,
            params.servers.names,
            params.runtime,
            params.rollout.limits,
            settings.temperature if mode == "sampled" else 0.0,
            params.rollout.batch,
            derive(params.seed, "evaluate", mode),
        )
        scratch = stage.scratch / when / mode
        scratch.mkdir(parents=True, exist_ok=True)
        rolls.append((job, [(t, n) for t in tasks for n in range(settings.samples if mode == "sampled" else 1)], scratch))
    try:
        found = roll_each(rolls, watch)
    except PolicyError as error:
        raise StageError(str(error)) from error
    runs: dict[str, dict[When, list[Trajectory]]] = {mode: {} for mode in modes}
    for (when, mode), trajectories in zip(keys, found, strict=True):
        runs[mode][when] = trajectories
    return runs


def run(stage: Stage) -> Mapping[str, Any]:
    """Rolls out, compares and writes."""
    params, settings = stage.params, stage.params.evaluate
    tasks, policies = held_out(stage), models(stage)
    modes: tuple[Mode, ...] = ("sampled", "greedy") if settings.greedy else ("sampled",)
    per_task = settings.samples + settings.greedy
    with progress("evaluate", len(WHEN) * len(tasks) * per_task) as advance:
        runs = episodes(stage, policies, modes, list(tasks.values()), advance)
    write_shards(stage.out / "tasks", tasks.values(), Task)
    scores = {(mode, when): _write(stage, tasks, mode, when, runs[mode][when]) for mode in modes for when in WHEN}
    results = {
        "round": stage.round,
        "start": start_of(params, stage.round or ""),
        "recipe": params.reward.recipe,
        "seed": params.seed,
        "tasks": len(tasks),
        "samples": settings.samples,
        "temperature": settings.temperature,
        "policies": {when: runs["sampled"][when][0].policy for when in WHEN},
        **compare(tasks, runs, derive(params.seed, "evaluate", "statistics"), settings.resamples),
    }
    write_json(stage.out / "results.json", results)
    (stage.out / "plots").mkdir()
    for mode in modes:
        name = "by_depth" if mode == "sampled" else f"by_depth_{mode}"
        write_json(stage.out / "plots" / f"{name}.json", depth_rows(results, mode))
    stage.run.traces(runs["sampled"]["after"], scores["sampled", "after"], params.tracking.traces)
    Console().print(accuracy_table(results, f"Round {stage.round}: held-out accuracy before and after GRPO"))
    return flat(results)


def _write(stage: Stage, tasks: Mapping[str, Task], mode: Mode, when: When, trajectories: Sequence[Trajectory]) -> list[Score]:
    """Writes one policy's trajectories and scores in one mode."""
    reward, folder = stage.params.reward, stage.out / when / mode
    scores = score_all(tasks, trajectories, environment(stage.params.servers.names), reward, reward.recipe)
    write_shards(folder / "trajectories", trajectories, Trajectory)
    write_shards(folder / "scores", scores, Score)
    return scores


def main(argv: Sequence[str] | None = None) -> int:
    return command(
        "evaluate",
        run,
        argv,
        sections=("policy", "servers", "rollout", "reward", "evaluate"),
        needs=("synthesize", "{start}/model", "grpo/{round}/model"),
        rounds=True,
        description=__doc__ or "",
    )


if __name__ == "__main__":
    raise SystemExit(main())
