"""The grpo stage: `python -m tasks.grpo --round NAME`.

Trains the round's starting policy on-policy on the prompts that `reward` chose: every step rolls out, scores and
updates, through the same rollout and reward code as the stages. Writes model/ (the best checkpoint on validation
tasks, or the last), rollouts/ and scores/ (a Parquet shard per step), steps.csv (a DVC plot), health.md and
metrics.json. Killed, it continues from its checkpoint to the same result.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tasks.console import progress
from tasks.grpo.watch import Recorder, health_line
from tasks.policy import Policy, PolicyError, load
from tasks.records import Task, read_shards
from tasks.reward.recipes import score_all
from tasks.rollout.crew import Crew
from tasks.seeds import derive
from tasks.servers import environment
from tasks.stage import Stage, StageError, command

if TYPE_CHECKING:
    from tasks.grpo.trainer import Rolled


def run(stage: Stage) -> Mapping[str, Any]:
    """Trains and writes."""
    import torch

    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    from tasks.grpo.trainer import NoSignalError, Trainer, config, dataset, last_checkpoint, optimizer
    from tasks.grpo.validate import KeepBest

    params, settings = stage.params, stage.params.grpo
    assert stage.round is not None
    torch.set_num_threads(params.runtime.threads)
    prompts = read_shards(stage.input("reward", "prompts"), Task)
    validation = read_shards(stage.input("synthesize", "tasks", "validation"), Task)[: settings.validation_tasks]
    if len(prompts) < settings.prompts:
        raise StageError(
            f"{len(prompts)} prompts carry a learning signal, a step needs {settings.prompts}: "
            "raise rollout.tasks or lower grpo.prompts"
        )
    if settings.keep_best and not validation:
        raise StageError(
            f"{stage.input('synthesize', 'tasks', 'validation')}: holds no task to choose the best policy by. "
            "Run `dvc repro synthesize`, or set grpo.keep_best to false"
        )
    servers = environment(params.servers.names)
    unknown = sorted({tool for task in (*prompts, *validation) for tool in task.tools} - set(servers.specs))
    if unknown:
        raise StageError(
            f"tasks show tools that servers.names ({', '.join(params.servers.names)}) does not have: {', '.join(unknown)}. "
            "Add their servers, or run `dvc repro`"
        )
    try:
        policy = load(stage.start_model(), params.policy, params.runtime.device)
    except PolicyError as error:
        raise StageError(str(error)) from error
    tasks = {task.id: task for task in prompts}
    recorder = Recorder(stage.scratch / "steps", stage.run)

    def roll(jobs: Sequence[tuple[Task, int]], step: int) -> Rolled:
        seed = derive(params.seed, "grpo", stage.round or "", step)
        trajectories = crew.run(jobs, params.rollout.limits, settings.temperature, seed)
        return trajectories, score_all(tasks, trajectories, servers, params.reward, params.reward.recipe)

    with Crew(policy, stage.start_model(), params) as crew, progress("grpo", settings.steps) as advance:

        def keep(step: int, rolled: Rolled, figures: Mapping[str, float]) -> None:
            trajectories, scores = rolled
            row = recorder.keep(step, trajectories, scores, tasks, figures)
            advance(1, health_line(row))

        checkpoints = stage.scratch / "checkpoints"
        best = KeepBest(policy, crew, validation, params, stage.scratch / "best")
        trainer = Trainer(
            tasks,
            roll,
            keep,
            model=policy.model,
            args=config(params, checkpoints),
            train_dataset=dataset(prompts, params),
            processing_class=policy.chat.tokenizer,
            callbacks=[best],
            optimizers=(optimizer(policy.model, params), None),
        )
        last = last_checkpoint(checkpoints)
        if last is not None:
            advance(int(last.name.rpartition("-")[2]), "continued")
        try:
            if settings.steps:  # transformers takes 0 for "whole epochs"
                trainer.train(resume_from_checkpoint=None if last is None else str(last))
        except NoSignalError as error:
            raise StageError(str(error)) from error
    return _write(stage, policy, recorder, best)


def _write(stage: Stage, policy: Policy, recorder: Recorder, best: Any) -> Mapping[str, Any]:
    rows = recorder.publish(stage.out, stage.params.grpo.steps)
    with (stage.out / "steps.csv").open("w", newline="") as file:  # without steps too: DVC expects it
        names = ("step", "reward", "accuracy", *(name for row in rows for name in row))
        writer = csv.DictWriter(file, list(dict.fromkeys(names)))
        writer.writeheader()
        writer.writerows(rows)
    lines = [f"- step {row['step']}: {health_line(row)}" for row in rows]
    (stage.out / "health.md").write_text("\n".join(["# Health of every step", "", *lines, ""]))
    if stage.params.grpo.keep_best and best.folder.is_dir():
        shutil.copytree(best.folder, stage.out / "model")
    else:
        policy.model.save_pretrained(stage.out / "model")
    policy.chat.tokenizer.save_pretrained(stage.out / "model")
    tail = rows[-5:]
    mean = {k: sum(float(r[k]) for r in tail) / len(tail) for k in ("reward", "accuracy", "entropy")} if tail else {}
    return {"steps": len(rows), "best_step": best.best_step, "validation": best.history, **mean}


def main(argv: Sequence[str] | None = None) -> int:
    return command(
        "grpo",
        run,
        argv,
        sections=("policy", "servers", "rollout", "reward", "grpo"),
        needs=("synthesize", "reward/{round}", "{start}/model"),
        rounds=True,
        description=__doc__ or "",
    )


if __name__ == "__main__":
    raise SystemExit(main())
