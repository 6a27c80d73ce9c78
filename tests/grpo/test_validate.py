"""Keeping the best: what is measured when, which weights are kept, and that a continued run ends with the same ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tasks.grpo.trainer import last_checkpoint
from tasks.grpo.validate import KeepBest
from tasks.params import Params
from tasks.records import Task, Trajectory
from tasks.reward.outcome import judge
from tasks.rollout.crew import Crew
from tests.grpo.made import SAMPLES, TASKS, ended, make, sampled, scored, settings, stored
from tests.policy.made import some_tasks, tiny
from tests.policy.project import contents

VALIDATION = some_tasks(24)[20:]
SAVE = {"save_steps": 2, "steps": 7, "validation_samples": 4}
Call = tuple[list[tuple[str, int]], float, int]


class Graded:
    """A run of KeepBest whose accuracies a test gives: the weights of step N are all N."""

    def __init__(self, folder: Path, accuracy: Mapping[int, float], **grpo: Any) -> None:
        self.policy, self.accuracy = tiny(), accuracy
        self.calls: list[Call] = []
        self.measured: list[int] = []
        crew: Any = SimpleNamespace(run=self._run)
        self.best = KeepBest(self.policy, crew, VALIDATION, settings(grpo=SAVE | grpo), folder / "best")

    def _run(self, jobs: Sequence[tuple[Task, int]], limits: Any, temperature: float, seed: int) -> list[Trajectory]:
        self.calls.append(([(t.id, s) for t, s in jobs], temperature, seed))
        self.measured.append(int(next(self.policy.model.parameters()).flatten()[0]))
        right = round(self.accuracy[self.measured[-1]] * len(jobs))
        return [ended(task, sample, number < right) for number, (task, sample) in enumerate(jobs)]

    def set(self, step: int) -> None:
        with torch.no_grad():
            for parameter in self.policy.model.parameters():
                parameter.fill_(float(step))

    def go(self, first: int, last: int, steps: int = 7) -> Graded:
        """The callbacks of training from step `first` (where a checkpoint was, or 0) to the end of step `last`."""
        self.set(first)
        self.best.on_train_begin(None, SimpleNamespace(global_step=first, max_steps=steps), None)
        for step in range(first + 1, last + 1):
            self.set(step)
            self.best.on_step_end(None, SimpleNamespace(global_step=step, max_steps=steps), None)
        return self


def kept(folder: Path) -> set[float]:
    """The values of the kept weights."""
    return {float(v) for tensor in load_file(folder / "best" / "model.safetensors").values() for v in tensor.unique()}


def test_the_episodes_of_these_tests_are_right_and_wrong_as_said() -> None:
    assert {t.gold.answer is None for t in VALIDATION} == {True, False}
    assert all(judge(t, ended(t, n, right)).right is right for t in VALIDATION for n in range(4) for right in (True, False))


def test_the_best_weights_are_kept_and_the_first_of_equals(tmp_path: Path) -> None:
    run = Graded(tmp_path, {0: 0.25, 2: 0.5, 4: 0.75, 6: 0.75, 7: 0.5}).go(0, 7)
    assert run.measured == [0, 2, 4, 6, 7], "before the first step, where a checkpoint is due, and at the end"
    assert run.best.best_step == 4 and kept(tmp_path) == {4.0}
    assert run.best.history == {"0": 0.25, "2": 0.5, "4": 0.75, "6": 0.75, "7": 0.5}
    assert json.loads((tmp_path / "best.json").read_text()) == run.best.history


def test_the_starting_policy_is_kept_when_training_only_harms(tmp_path: Path) -> None:
    run = Graded(tmp_path, {0: 0.5, 2: 0.5, 4: 0.25, 6: 0.0, 7: 0.0}).go(0, 7)
    assert run.best.best_step == 0 and kept(tmp_path) == {0.0}


def test_every_measurement_is_of_the_same_samples(tmp_path: Path) -> None:
    run = Graded(tmp_path, dict.fromkeys(range(8), 0.5), temperature=0.7).go(0, 7)
    assert len(run.calls) == 5 and all(call == run.calls[0] for call in run.calls)
    jobs, temperature, _ = run.calls[0]
    assert jobs == [(t.id, n) for t in VALIDATION for n in range(4)] and temperature == 0.7


@pytest.mark.parametrize("killed_after", [1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize(
    ("accuracy", "best"),
    [
        ({0: 0.25, 2: 0.75, 4: 0.5, 6: 0.5, 7: 0.75}, 2),
        ({0: 0.25, 2: 0.5, 4: 0.75, 6: 1.0, 7: 0.0}, 6),
        ({0: 1.0, 2: 0.5, 4: 0.5, 6: 0.5, 7: 0.5}, 0),
    ],
)
def test_a_continued_run_keeps_the_same(tmp_path: Path, accuracy: dict[int, float], best: int, killed_after: int) -> None:
    Graded(tmp_path, accuracy).go(0, killed_after)
    checkpoint = 2 * ((killed_after - 1) // 2)  # that of the step itself was still to be written when the kill came
    run = Graded(tmp_path, accuracy).go(checkpoint, 7)
    assert min(run.measured) > checkpoint or checkpoint == 0, "what was measured is remembered"
    assert list(run.best.history.items()) == [(str(step), value) for step, value in accuracy.items()]
    assert run.best.best_step == best and kept(tmp_path) == {float(best)}


def test_what_was_measured_after_the_checkpoint_does_not_count_any_more(tmp_path: Path) -> None:
    """On a GPU the same steps need not end in the same weights."""
    Graded(tmp_path, {0: 0.25, 2: 0.25, 4: 0.25, 6: 1.0}).go(0, 6)
    run = Graded(tmp_path, {4: 0.75, 6: 0.5, 7: 0.5}).go(2, 7)
    assert run.best.history == {"0": 0.25, "2": 0.25, "4": 0.75, "6": 0.5, "7": 0.5}
    assert run.best.best_step == 4 and kept(tmp_path) == {4.0}


def test_a_kill_while_the_best_is_being_replaced_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accuracy = {0: 0.25, 2: 0.5, 4: 0.75, 6: 0.5, 7: 0.5}
    run = Graded(tmp_path, accuracy).go(0, 3)
    with monkeypatch.context() as patch:

        def stopped(*_: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(Path, "rename", stopped)
        with pytest.raises(KeyboardInterrupt):
            run.go(3, 4)
    assert not (tmp_path / "best").exists(), "the old one is gone and the new one not yet in place"
    run = Graded(tmp_path, accuracy).go(2, 7)
    assert run.best.best_step == 4 and kept(tmp_path) == {4.0}
    assert not list(tmp_path.glob(".best*"))


def test_without_keep_best_nothing_is_measured(tmp_path: Path) -> None:
    run = Graded(tmp_path, {}, keep_best=False).go(0, 7)
    assert run.measured == [] and run.best.history == {} and run.best.best_step == 0
    assert not list(tmp_path.iterdir())


def trained_with(folder: Path, params: Params, stop: int | None) -> KeepBest:
    """A run of the real trainer, continued from its last checkpoint, which ends after step `stop` as by a kill."""

    def keep(step: int, *_: Any) -> None:
        if step == stop:
            raise KeyboardInterrupt

    policy = stored(folder / "start")
    best = KeepBest(policy, Crew(policy, folder, params), some_tasks(TASKS), params, folder / "best")
    roll = scored(sampled(), lambda t: float(t.sample % 2))
    made = make(folder / "checkpoints", params, some_tasks(TASKS), roll, keep, policy, [best])
    last = last_checkpoint(folder / "checkpoints")
    try:
        made.train(resume_from_checkpoint=None if last is None else str(last))
    except KeyboardInterrupt:
        assert stop is not None
    return best


def test_a_real_run_that_is_stopped_twice_keeps_the_best_of_the_whole(tmp_path: Path) -> None:
    params = settings(
        grpo=SAVE | {"steps": 5, "validation_samples": 2, "learning_rate": 5e-3, "warmup_steps": 0, "final_norm_factor": 4.0}
    )
    whole = trained_with(tmp_path / "whole", params, None)
    shutil.copytree(tmp_path / "whole/start", tmp_path / "parts/start")
    for stop in (3, 5, None):
        best = trained_with(tmp_path / "parts", params, stop)
    assert len(set(whole.history.values())) > 1, "accuracy moves"
    assert (best.history, best.best_step) == (whole.history, whole.best_step)
    assert contents(tmp_path / "parts/best") == contents(tmp_path / "whole/best")
    assert len(whole.history) == 4 and TASKS * SAMPLES == 16
