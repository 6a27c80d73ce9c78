"""Trainers over a tiny policy, and episodes whose ends and totals a test decides.

    params = settings(grpo={"beta": 0.1})
    trainer = make(tmp_path, params, some_tasks(2), scored(sampled(), lambda t: t.sample / 3))
    batch = generate(trainer)                    # what TRL makes of one step's rollouts

Left out: rewards (tests/reward) and sampling (tests/rollout) as such.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from tasks.grpo.trainer import Roll, Rolled, Trainer, config, dataset, optimizer
from tasks.params import Params, merge, parse
from tasks.policy import Policy, load
from tasks.records import Message, Score, Step, Task, Trajectory, components
from tasks.rollout.episodes import run
from tests.policy.made import servers, some_tasks, trained
from tests.policy.project import BASE

TASKS, SAMPLES = 4, 4


def settings(**sections: Mapping[str, Any]) -> Params:
    """The tests' settings with some changed; by default a step is TASKS groups of SAMPLES episodes, updated at once."""
    base = merge(BASE, {"rollout": {"samples": SAMPLES}, "grpo": {"prompts": TASKS, "micro_batch": TASKS * SAMPLES}})
    return parse(merge(base, sections), "params.yaml")


@cache
def sampled(temperature: float = 1.0) -> tuple[Trajectory, ...]:
    """SAMPLES episodes of each of TASKS tasks by the policy `trained`, in the order of a step's jobs."""
    jobs = [(task, sample) for task in some_tasks(TASKS) for sample in range(SAMPLES)]
    return tuple(run(trained(), servers(), jobs, settings().rollout.limits, temperature, 0))


def ended(task: Task, sample: int, right: bool) -> Trajectory:
    """An episode without calls that is right or wrong, of some tokens: the model's, the environment's, the model's."""
    text = "Done." if task.gold.answer is None else f"Answer: {task.gold.answer!r}".replace("'", '"')
    mask = [1] * (3 + sample % 4) + [0] * 3 + [1] * 2
    return Trajectory(
        task_id=task.id,
        sample=sample,
        policy="made",
        seed=0,
        messages=[Message("user", task.turns[0]), Message("assistant", text)],
        prompt_ids=list(range(5, 12 + sample % 3)),
        completion_ids=[20 + 7 * n % 50 for n in range(len(mask))],
        mask=mask,
        logprobs=[-0.5 * own for own in mask],
        steps=[Step(0, 3 + sample % 4), Step(len(mask) - 2, len(mask))],
        finish_reason="stop",
        digest=task.gold.digest if right else "another state",
    )


def score_of(trajectory: Trajectory, total: float | None, kind: str = "error") -> Score:
    """A Score of `total`; without one it is of `kind`."""
    reasons = ["nothing could be judged"] if total is None else []
    actual: Any = kind if total is None else "score"
    return Score(trajectory.task_id, trajectory.sample, "tier", actual, total, components(), [], reasons)


def scored(trajectories: Sequence[Trajectory], total: Callable[[Trajectory], float | None]) -> Roll:
    """A roll that finds each job's episode among `trajectories`."""
    found = {(t.task_id, t.sample): t for t in trajectories}

    def roll(jobs: Sequence[tuple[Task, int]], step: int) -> Rolled:
        chosen = [found[task.id, sample] for task, sample in jobs]
        return chosen, [score_of(t, total(t)) for t in chosen]

    return roll


def stored(folder: Path) -> Policy:
    """`trained`, loaded from a folder as a stage loads it: TRL reads the reference of a KL from there too."""
    if not folder.is_dir():
        trained().save(folder)
    return load(folder, settings().policy)


def make(
    folder: Path,
    params: Params,
    tasks: Sequence[Task],
    roll: Roll,
    keep: Callable[[int, Rolled, Mapping[str, float]], None] = lambda step, rolled, figures: None,
    policy: Policy | None = None,
    callbacks: Sequence[Any] = (),
) -> Trainer:
    """A trainer as the stage makes it, over `trained` unless another policy is given."""
    policy = policy or stored(folder / "start")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # as the stage does
    return Trainer(
        {task.id: task for task in tasks},
        roll,
        keep,
        model=policy.model,
        args=config(params, folder),
        train_dataset=dataset(tasks, params),
        processing_class=policy.chat.tokenizer,
        callbacks=list(callbacks),
        optimizers=(optimizer(policy.model, params), None),
    )


def generate(trainer: Trainer, tasks: Sequence[Task]) -> dict[str, Any]:
    """What one step's rollouts become: TRL's padded tensors."""
    trainer.model.train()
    trainer.current_gradient_accumulation_steps = trainer.args.gradient_accumulation_steps  # which `train` sets
    return trainer._generate_and_score_completions([{"prompt": t.id} for t in tasks for _ in range(trainer.num_generations)])


def weights(model: Any) -> torch.Tensor:
    return torch.cat([p.detach().flatten().clone() for p in model.parameters()])


def gradients(model: Any, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    """The gradient of every parameter; the model's own are left empty."""
    model.zero_grad()
    loss.backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    return found
