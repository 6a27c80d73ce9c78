"""A tiny embedded policy over the banking server, and tasks that its tests share. Built once per process.

policy = tiny()                    # two layers of width 32, random weights
tasks = some_tasks(6)              # training tasks of depth 1 and 2
"""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from tasks.params import Scratch, Synthesize
from tasks.policy import Policy
from tasks.policy.__main__ import corpus
from tasks.policy.chat import Chat
from tasks.policy.scratch import build_model, build_tokenizer
from tasks.records import Task
from tasks.servers import Environment, environment
from tasks.synthesize.tasks import make
from tasks.warmup.examples import demonstration, tokenised

SCRATCH = Scratch(vocabulary=700, layers=2, hidden=32, heads=4, kv_heads=2, intermediate=64, context=1024)
SYNTHESIZE = Synthesize(train=24, validation=4, test=4, worlds=4, depths={1: 1.0, 2: 1.0}, distractors=(1, 2))


def servers() -> Environment:
    return environment(("banking",))


@cache
def _tasks() -> tuple[Task, ...]:
    return tuple(make(servers(), SYNTHESIZE, 0, "train")[0])


def some_tasks(count: int) -> list[Task]:
    """The first `count` (up to 24) training tasks."""
    return list(_tasks()[:count])


@cache
def shared_tokenizer() -> Any:
    """The tokenizer, one for all tests: not to be changed."""
    return build_tokenizer(SCRATCH, list(corpus(servers(), _tasks())), list(servers().specs.values()))


def tokenizer() -> Any:
    """A tokenizer of the test's own: setting its template or tokens changes no other test."""
    return copy.deepcopy(shared_tokenizer())


def tiny(seed: int = 0, system: str = "") -> Policy:
    """A policy with fresh random weights from `seed`, in evaluation mode."""
    made = tokenizer()
    return Policy(f"tiny-{seed}", build_model(SCRATCH, made, seed).eval(), Chat(made), system)


LEARNED = 4


@cache
def _learned() -> dict[str, Any]:
    """Weights after a few dozen steps on the demonstrations of LEARNED tasks."""
    import torch

    from tasks.warmup.train import collate, loss_of

    policy = tiny(0)
    examples = [tokenised(policy.chat, servers(), t, demonstration(servers(), t, "")) for t in some_tasks(LEARNED)]
    batch = collate(examples, policy.chat.pad_id)
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        (loss_of(policy.model, *batch) / (batch[2] != -100).sum()).backward()
        optimizer.step()
    return dict(policy.model.state_dict())


def trained() -> Policy:
    """A policy that calls tools: often right on the tasks that it learned when greedy, less so when sampled."""
    policy = tiny(0)
    policy.model.load_state_dict(_learned())
    return policy
