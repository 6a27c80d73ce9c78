"""A crew: the records of one process and of two, updates that all see at once, workers that die or fail."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tasks import params as settings
from tasks.params import Params, merge, parse
from tasks.policy import Policy, load
from tasks.records import Trajectory
from tasks.rollout.crew import Crew, CrewError, Pair, parts
from tests.policy.made import some_tasks, trained
from tests.policy.project import BASE

PAIRS: list[Pair] = [(t, s) for t in some_tasks(4) for s in range(2)]
LIMITS = settings.Limits(turn_tokens=48, total_tokens=200, turns=4)


def with_workers(count: int) -> Params:
    return parse(merge(BASE, {"runtime": {"workers": count}, "rollout": {"batch": 3}}), "params.yaml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    trained().save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def policy(folder: Path) -> Policy:
    return load(folder, settings.Policy())


@pytest.fixture
def pair(policy: Policy, folder: Path) -> Iterator[Crew]:
    with Crew(policy, folder, with_workers(2)) as crew:
        yield crew


def sample(crew: Crew, seed: int = 3) -> list[Trajectory]:
    return crew.run(PAIRS, LIMITS, 1.0, seed)


def test_parts_depend_on_the_episodes_alone() -> None:
    assert [len(p) for p in parts(PAIRS, 100)] == [4, 4]
    assert [len(p) for p in parts(PAIRS, 3)] == [3, 3, 2]
    assert [len(p) for p in parts(PAIRS[:1], 3)] == [1]
    assert parts([], 3) == []
    assert [each for part in parts(PAIRS, 3) for each in part] == PAIRS


def test_two_processes_give_the_records_of_one_before_and_after_an_update(pair: Crew, policy: Policy, folder: Path) -> None:
    other = load(folder, settings.Policy())
    first = sample(pair)
    with Crew(other, folder, with_workers(1)) as alone:
        told: list[int] = []
        assert alone.run(PAIRS, LIMITS, 1.0, 3, told.append) == first
        assert told == [3, 3, 2]
        assert [(t.task_id, t.sample) for t in first] == [(t.id, s) for t, s in PAIRS]
        for model in (policy.model, other.model):
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
            loss = model(input_ids=torch.arange(5, 15)[None], labels=torch.arange(5, 15)[None]).loss
            loss.backward()
            optimizer.step()
        second = sample(pair)
        assert second == sample(alone)
    assert [t.logprobs for t in second] != [t.logprobs for t in first], "the update is seen"


def test_the_mode_of_the_model_is_given_back(pair: Crew, policy: Policy) -> None:
    policy.model.train()
    sample(pair)
    assert policy.model.training


def test_a_worker_that_dies_is_an_error_of_the_machine_and_leaves_nobody_waiting(pair: Crew) -> None:
    sample(pair)
    (process, _), *_ = pair.workers
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with pytest.raises(CrewError, match="exit code -9"):
        sample(pair)


def test_a_worker_that_fails_is_named(policy: Policy, tmp_path: Path) -> None:
    with Crew(policy, tmp_path / "nothing-here", with_workers(2)) as crew, pytest.raises(CrewError, match="exit code 1"):
        sample(crew)


def test_closing_ends_the_processes(policy: Policy, folder: Path) -> None:
    crew = Crew(policy, folder, with_workers(2))
    before = multiprocessing.active_children()
    assert crew.workers and crew.workers[0][0] in before
    crew.close()
    crew.close()
    assert not set(before) & set(multiprocessing.active_children())
