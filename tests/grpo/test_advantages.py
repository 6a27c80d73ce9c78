"""Advantages: a group's scores against each other; what is no score takes no part; a run that cannot learn stops."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tasks.grpo.trainer import NoSignalError, Patience, Rolled, silence
from tasks.records import Trajectory
from tests.grpo.made import ended, generate, make, score_of, settings
from tests.policy.made import some_tasks, trained

Totals = list[float | None]
GROUPS: list[Totals] = [
    [1.0, 0.0, 0.5, 0.0, 1.0, 0.25],
    [1.0, None, 0.0, None, 0.5, 0.0],  # what is no score moves nobody
    [0.9, 0.9, 0.9, 0.9, 0.9, 0.9],  # constant, with a rounding error in float32's mean
    [0.1, None, 0.1, None, 0.1, None],  # constant where there are scores
    [None, 0.9, None, None, None, None],  # one score alone
    [None, None, None, None, None, None],
]
KINDS = ("error", "abstain")


def batch_of(folder: Path, groups: list[Totals], **grpo: Any) -> dict[str, Any]:
    """What TRL makes of one step whose totals are `groups`, one group per task."""
    tasks = some_tasks(len(groups))
    totals = {task.id: group for task, group in zip(tasks, groups, strict=True)}
    size = len(groups) * len(groups[0])
    params = settings(rollout={"samples": len(groups[0])}, grpo={"prompts": len(groups), "micro_batch": size, **grpo})

    def roll(jobs: Any, step: int) -> Rolled:
        found = [ended(task, sample, right=False) for task, sample in jobs]
        return found, [score_of(t, totals[t.task_id][t.sample], KINDS[t.sample % 2]) for t in found]

    made = make(folder, params, tasks, roll, policy=trained())
    return generate(made, tasks)


def by_hand(group: Totals, scale: bool) -> list[float]:
    scores = [t for t in group if t is not None]
    if len(set(scores)) < 2:
        return [0.0] * len(group)
    mean, spread = statistics.fmean(scores), statistics.stdev(scores) + 1e-4 if scale else 1.0
    return [0.0 if t is None else (t - mean) / spread for t in group]


@pytest.mark.parametrize("scale", [True, False])
def test_an_advantage_is_the_distance_from_the_mean_of_the_groups_scores(tmp_path: Path, scale: bool) -> None:
    batch = batch_of(tmp_path, GROUPS, scale=scale)
    found = batch["advantages"].view(len(GROUPS), -1).tolist()
    for group, advantages in zip(GROUPS, found, strict=True):
        assert advantages == pytest.approx(by_hand(group, scale), abs=1e-5)
    assert max(map(abs, found[0])) > 0.4
    for row in found[2:]:
        assert row == [0.0] * len(row), "exactly, not about"
    assert [a for a, t in zip(found[1], GROUPS[1], strict=True) if t is None] == [0.0, 0.0]


def test_an_episode_without_a_score_moves_no_sibling(tmp_path: Path) -> None:
    with_errors = batch_of(tmp_path, [[1.0, None, 0.0, None, 0.5, 0.0], GROUPS[0]])
    without = batch_of(tmp_path, [[1.0, 0.0, 0.5, 0.0], [0.0, 1.0, 0.0, 1.0]])
    scored = with_errors["advantages"][:6][[0, 2, 4, 5]]
    assert torch.allclose(scored, without["advantages"][:4], atol=1e-6)


def test_groups_of_one_total_are_silenced_exactly_and_others_are_left_alone() -> None:
    task, other = some_tasks(2)
    scores = [score_of(ended(task, n, True), 0.7) for n in range(3)] + [
        score_of(ended(other, n, True), t) for n, t in enumerate([0.1 + 0.2, 0.3, None])
    ]
    given = torch.tensor([3e-4, -3e-4, 1.0, 0.5, -0.5, 0.0])
    assert silence(given, scores).tolist() == [0.0, 0.0, 0.0, 0.5, -0.5, 0.0]


def test_trl_alone_leaves_a_rounding_error_where_silence_writes_zero() -> None:
    totals = torch.full((1, 6), 0.9)
    assert (totals - totals.nanmean(1)).abs().max() > 0, "or silence is no longer needed"


FOUND = [ended(some_tasks(1)[0], n, right=False) for n in range(4)]
FLAT = [score_of(t, 0.5) for t in FOUND]
NONE, SOME = torch.zeros(4), torch.tensor([0.0, 0.5, -0.5, 0.0])


def test_patience_ends_after_so_many_steps_in_a_row_without_a_signal() -> None:
    patience = Patience(limit=3)
    for advantages in (NONE, NONE, SOME, NONE, NONE):
        patience.see(advantages, FLAT, FOUND)
    with pytest.raises(
        NoSignalError, match="3 steps in a row gave no learning signal; every group has one total: choose prompts"
    ):
        patience.see(NONE, FLAT, FOUND)


def test_the_length_limit_is_named_where_it_cut_nearly_all_episodes() -> None:
    cut = [replace(t, finish_reason="length") for t in FOUND]
    with pytest.raises(NoSignalError, match=r"100% of the episodes were cut by the length limit: raise rollout.limits"):
        Patience(limit=1).see(NONE, FLAT, cut)
    with pytest.raises(NoSignalError, match="every group has one total"):
        Patience(limit=1).see(NONE, FLAT, [*cut[:3], FOUND[3]])


def test_a_step_without_any_score_ends_at_once_and_says_why() -> None:
    errors = [replace(score_of(t, None), reasons=["banking.pay crashed"]) for t in FOUND]
    errors[3] = score_of(FOUND[3], None, "abstain")
    with pytest.raises(
        NoSignalError, match=r"no episode .* \({'error': 3, 'abstain': 1}\); the first reason: banking.pay crashed"
    ):
        Patience().see(NONE, errors, FOUND)
    Patience().see(NONE, [*errors[:3], FLAT[3]], FOUND)


def trained_on(folder: Path, total: Any, steps: int = 12, limit: int = 3) -> list[tuple[int, Mapping[str, float]]]:
    """The steps (number, figures) of a run whose episode of a step scores total(step, sample)."""
    tasks = some_tasks(2)
    params = settings(
        rollout={"samples": 4}, grpo={"prompts": 2, "micro_batch": 8, "steps": steps, "save_steps": 99, "keep_best": False}
    )
    kept: list[tuple[int, Mapping[str, float]]] = []

    def roll(jobs: Any, step: int) -> Rolled:
        found: list[Trajectory] = [ended(task, sample, right=False) for task, sample in jobs]
        return found, [score_of(t, total(step, t.sample)) for t in found]

    made = make(folder, params, tasks, roll, lambda step, _, figures: kept.append((step, dict(figures))), policy=trained())
    made.patience.limit = limit
    try:
        made.train()
    except NoSignalError as error:
        assert "no learning signal" in str(error) or "could be scored" in str(error)
        kept.append((-1, {}))
    return kept


def test_a_run_stops_when_nothing_more_can_be_learned(tmp_path: Path) -> None:
    kept = trained_on(tmp_path, lambda step, sample: float(sample % 2) if step < 2 else 0.5)
    assert [step for step, _ in kept] == [1, 2, 3, 4, -1], "two good steps, two dry ones, and the third dry one ends it"
    assert kept[0][1]["grad_norm"] > 0 and kept[1][1]["grad_norm"] > 0
    assert kept[2][1]["grad_norm"] == kept[3][1]["grad_norm"] == 0.0, "a constant group adds nothing to the gradient"
    assert all(math.isfinite(value) for step, figures in kept[:-1] for value in figures.values())


def test_a_run_stops_at_a_step_that_could_not_be_scored(tmp_path: Path) -> None:
    kept = trained_on(tmp_path, lambda step, sample: float(sample % 2) if step < 1 else None)
    assert [step for step, _ in kept] == [1, -1]


def test_episodes_without_a_score_leave_loss_and_gradient_finite(tmp_path: Path) -> None:
    ((_, figures),) = trained_on(tmp_path, lambda step, sample: None if sample == 2 else float(sample % 2), steps=1)
    assert all(math.isfinite(value) for value in figures.values()) and figures["grad_norm"] > 0
