"""The warmup stage: `python -m tasks.warmup`. Trains the policy on verified demonstrations of the training tasks.

Writes model/, loss.csv (a DVC plot) and metrics.json. Resumes from its checkpoint after a kill. With steps 0 the
policy passes through as it is.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.console import progress
from tasks.policy import Policy, PolicyError, load
from tasks.records import Task, read_shards
from tasks.seeds import stream
from tasks.servers import Environment, environment
from tasks.stage import Stage, StageError, command
from tasks.warmup.examples import DemonstrationError, Example, demonstration, practice, renamed, tokenised
from tasks.warmup.train import Data, total_steps, train

EVERY = 20
"""Steps per row of loss.csv."""

PRACTICE = 4000
"""Most examples of copying practice; longer practice sees them again."""


def examples_of(policy: Policy, servers: Environment, tasks: Sequence[Task], renamings: int, seed: int) -> list[Example]:
    """Every task's demonstration, and `renamings` more of it about other entities; those that fit the model's context."""
    context = policy.model.config.max_position_embeddings
    made = []
    for task in tasks:
        messages = demonstration(servers, task, policy.system)
        rng = stream(seed, "renamed", task.id)
        for version in [messages, *(renamed(servers, task, messages, rng) for _ in range(renamings))]:
            made.append(tokenised(policy.chat, servers, task, version))
    return [e for e in made if len(e.ids) <= context]


def run(stage: Stage) -> Mapping[str, Any]:
    """Trains and saves."""
    import torch

    params, settings = stage.params, stage.params.warmup
    torch.set_num_threads(params.runtime.threads)
    torch.manual_seed(params.seed)
    servers = environment(params.servers.names)
    try:
        policy = load(stage.input("policy", "model"), params.policy, params.runtime.device)
    except PolicyError as error:
        raise StageError(str(error)) from error
    tasks = read_shards(stage.input("synthesize", "tasks", "train"), Task)
    try:
        examples = examples_of(policy, servers, tasks, settings.renamings, params.seed)
    except DemonstrationError as error:
        raise StageError(str(error)) from error
    if not examples:
        raise StageError("no demonstration fits the policy's context: raise policy.scratch.context or lower synthesize.depths")

    rng = stream(params.seed, "practice")
    copying = [practice(policy.chat, servers, rng) for _ in range(min(settings.copy_steps * settings.batch_size, PRACTICE))]
    data = Data(examples, copying, settings, params.seed, policy.chat.pad_id)
    losses: list[float] = []
    done = 0
    with progress("warmup", total_steps(settings)) as advance:
        for step in train(policy.model, data, params.runtime.workers, stage.scratch, losses):
            advance(step + 1 - done, f"loss {losses[step]:.3f}")
            done = step + 1
    with (stage.out / "loss.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("step", "loss"), *list(enumerate(losses))[::EVERY]])
    policy.save(stage.out / "model")
    return {
        "examples": len(examples),
        "left_out_too_long": len(tasks) * (1 + settings.renamings) - len(examples),
        "loss": losses[-1] if losses else 0.0,
    }


def main(argv: Sequence[str] | None = None) -> int:
    return command(
        "warmup", run, argv, sections=("policy", "servers", "warmup"), needs=("policy", "synthesize"), description=__doc__ or ""
    )


if __name__ == "__main__":
    raise SystemExit(main())
