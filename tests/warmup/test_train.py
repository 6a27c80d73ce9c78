"""The training loop: its gradient, its data by step, several workers, and continuing after a kill to the same weights."""

from __future__ import annotations

import os
import signal
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from tasks.params import Warmup
from tasks.warmup import train as module
from tasks.warmup.examples import Example, demonstration, tokenised
from tasks.warmup.train import Data, collate, loss_of, rate, total_steps, train
from tests.policy.made import servers, some_tasks, tiny

SETTINGS = Warmup(steps=7, copy_steps=2, batch_size=4, checkpoint_steps=3, learning_rate=5e-3)


@cache
def examples() -> tuple[Example, ...]:
    chat = tiny().chat
    return tuple(tokenised(chat, servers(), t, demonstration(servers(), t, "")) for t in some_tasks(12))


def data(settings: Warmup = SETTINGS, seed: int = 0) -> Data:
    return Data(examples()[:10], examples()[10:], settings, seed, tiny().chat.pad_id)


def weights(model: Any) -> torch.Tensor:
    return torch.cat([p.detach().flatten().clone() for p in model.parameters()])


def run(scratch: Path, settings: Warmup = SETTINGS, workers: int = 1) -> tuple[torch.Tensor, list[float]]:
    """(weights, losses) of a whole run from the same start."""
    model, losses = tiny(2).model, []
    assert list(train(model, data(settings), workers, scratch, losses)) == list(range(total_steps(settings)))
    assert not model.training
    return weights(model), losses


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[torch.Tensor, list[float]]:
    return run(tmp_path_factory.mktemp("whole"))


def test_the_loss_is_that_of_the_labelled_tokens_only() -> None:
    model = tiny().model
    ids, mask, labels = collate(examples()[:4], 0)
    expected = model(input_ids=ids, attention_mask=mask, labels=labels).loss * (labels[:, 1:] != -100).sum()
    assert loss_of(model, ids, mask, labels).item() == pytest.approx(expected.item(), rel=1e-5)
    for row, example in enumerate(examples()[:4]):
        size = len(example.ids)
        assert ids[row, :size].tolist() == example.ids and mask[row].sum() == size
        assert labels[row, :size].tolist() == [i if own else -100 for i, own in zip(example.ids, example.mask, strict=True)]
        assert (labels[row, size:] == -100).all()


def test_the_data_of_a_step_follow_from_its_number() -> None:
    steps = [data().batch(step) for step in range(9)]
    assert [data().batch(step) for step in reversed(range(9))] == steps[::-1]
    assert steps != [data(seed=1).batch(step) for step in range(9)]
    assert all(e in examples()[10:] for batch in steps[:2] for e in batch), "practice comes first"
    assert all(e in examples()[:10] for batch in steps[2:] for e in batch)
    assert all(len(batch) == 4 for batch in steps[2:])


def test_deeper_examples_come_in_over_the_ramp() -> None:
    settings = Warmup(steps=100, copy_steps=0, batch_size=4, ramp=0.5)
    deep = [Example([1, 2], [0, 1], depth) for depth in (1, 1, 1, 1, 2, 3, 6, 10) for _ in range(8)]
    made = Data(deep, [], settings, 0, 0)
    deepest = [max(e.depth for step in range(at, at + 10) for e in made.batch(step)) for at in range(0, 100, 10)]
    assert deepest[0] <= 2 and deepest == sorted(deepest) and deepest[-1] == 10
    only_deep = Data(deep[-8:], [], settings, 0, 0)
    assert len(only_deep.batch(0)) == 4, "where nothing is shallow, all is allowed"


def test_the_rate_rises_and_falls_to_a_tenth() -> None:
    settings = Warmup(steps=1000, copy_steps=0, learning_rate=1.0)
    rates = [rate(settings, step) for step in range(1000)]
    assert rates[0] == pytest.approx(1 / 50, rel=0.01) and max(rates) == rates[rates.index(max(rates))] > 0.98
    assert rates[:49] == sorted(rates[:49]) and rates[50:] == sorted(rates[50:], reverse=True)
    assert rates[-1] == pytest.approx(0.1, rel=0.01)


def test_the_loss_falls_on_a_tiny_set(tmp_path: Path) -> None:
    settings = Warmup(steps=60, copy_steps=0, batch_size=8, learning_rate=1e-2, checkpoint_steps=1000)
    _, losses = run(tmp_path, settings)
    assert sum(losses[-5:]) < 0.5 * sum(losses[:5])


def test_two_workers_are_as_good_as_one(whole: tuple[torch.Tensor, list[float]], tmp_path: Path) -> None:
    found, losses = run(tmp_path, workers=2)
    assert losses == pytest.approx(whole[1], rel=1e-4)
    assert torch.allclose(found, whole[0], atol=1e-4)
    # Python's own resource tracker stays until the process ends; a worker must not.
    left = [p for p in psutil.Process().children() if "spawn_main" in " ".join(p.cmdline())]
    assert not left, "its processes have ended"


def test_a_worker_without_a_share_of_a_batch_adds_nothing(tmp_path: Path) -> None:
    settings = Warmup(steps=3, copy_steps=0, batch_size=1, checkpoint_steps=1000, learning_rate=5e-3)
    one, two = (run(tmp_path / str(n), settings, n) for n in (1, 2))
    assert two[1] == pytest.approx(one[1], rel=1e-4)


def test_a_worker_that_dies_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = train(tiny(2).model, data(), 2, tmp_path, [])
    next(steps)
    before = {p.pid for p in psutil.Process().children()}
    worker = next(p for p in psutil.Process().children() if "spawn_main" in " ".join(p.cmdline()))
    os.kill(worker.pid, signal.SIGKILL)
    monkeypatch.setattr(module, "PATIENCE", 1.0)
    with pytest.raises(RuntimeError, match=r"a warm-up worker stopped \(exit codes \[-9\]\)"):
        list(steps)
    assert before and not any(p.pid == worker.pid and p.status() != psutil.STATUS_ZOMBIE for p in psutil.Process().children())


@pytest.mark.parametrize("stop", [1, 3, 4, 8])
def test_a_run_that_was_stopped_continues_to_the_same_weights(
    whole: tuple[torch.Tensor, list[float]], tmp_path: Path, stop: int
) -> None:
    steps = train(tiny(2).model, data(), 1, tmp_path, [])
    for _ in range(stop):
        next(steps)
    steps.close()
    losses: list[float] = []
    model = tiny(2).model
    resumed = list(train(model, data(), 1, tmp_path, losses))
    checkpoint = 3 * ((stop - 1) // 3)  # the step after which it was written, given that the generator stood at a yield
    assert resumed == list(range(checkpoint, 9))
    assert losses == whole[1]
    assert torch.equal(weights(model), whole[0])


def test_no_steps_leave_the_policy_as_it_is(tmp_path: Path) -> None:
    model = tiny(2).model
    before = weights(model)
    settings = Warmup(steps=0, copy_steps=50)
    assert list(train(model, data(settings), 2, tmp_path, [])) == []
    assert torch.equal(weights(model), before) and total_steps(settings) == 0
