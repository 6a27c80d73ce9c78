"""Intervals and paired tests for accuracies over tasks. Pure functions; every figure carries its count.

    clustered([[1, 0, 1], [0, 0, 0]])             # avg@k of two tasks: Estimate(value=0.33, lo, hi, n=2, episodes=6)
    gain(before, after, seed=0, resamples=10_000)  # both {task id: [outcome of each sample]}

The samples of one task are not independent: the unit is the task. `clustered` gives the Wilson 95% interval at
the effective number of independent outcomes, which is cluster-robust: it is estimated from the spread of the
per-task means. With one sample per task it is the plain Wilson interval. The paired tests compare the same tasks
before and after: a sign-flip permutation test of per-task means, and McNemar's exact test of single outcomes.

Left out: corrections for several tests at once (only the overall comparison is tested), and unpaired tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

Z = float(stats.norm.ppf(0.975))
"""Two-sided 95% quantile of the normal distribution, 1.959964."""

BATCH = 500
"""Resamples drawn at once, which bounds memory to a few MB."""

Outcomes = Mapping[str, Sequence[float]]
"""task id -> the outcome, in [0, 1], of each of its scored samples"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean outcome in [0, 1] with its 95% interval over `n` tasks and `episodes` samples; all None when n is 0."""

    value: float | None
    lo: float | None
    hi: float | None
    n: int
    episodes: int


@dataclass(frozen=True, slots=True)
class Gain:
    """After minus before, in [-1, 1], over the `n` tasks that both have, with its 95% interval; all None when n is 0."""

    value: float | None
    lo: float | None
    hi: float | None
    n: int


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """The Wilson score interval at 95% of `successes` in `trials` (Wilson 1927). Both may be fractions.

    Raises ValueError unless 0 <= successes <= trials and trials > 0.
    """
    if not 0 <= successes <= trials or trials <= 0:
        raise ValueError(f"{successes} successes of {trials}: give 0 <= successes <= trials, and trials above 0")
    share, square = successes / trials, Z * Z / trials
    middle = (share + square / 2) / (1 + square)
    half = Z * math.sqrt(share * (1 - share) / trials + square / (4 * trials)) / (1 + square)
    # At the ends the formula gives 0 and 1 up to rounding.
    return (0.0 if successes == 0 else max(0.0, middle - half)), (1.0 if successes == trials else min(1.0, middle + half))


def effective(means: Sequence[float], episodes: int) -> float:
    """How many independent outcomes the per-task means are worth: p(1-p) over the mean's estimated variance.

    Lies between the number of tasks (all samples of a task agree) and `episodes` (tasks do not differ). Where
    every task has mean 0, or every task 1, nothing tells how samples hang together: the number of tasks is taken.
    """
    tasks = len(means)
    value = float(np.mean(means))
    if value in (0.0, 1.0) or tasks < 2:
        return float(tasks)
    variance = float(np.var(means, ddof=1)) / tasks
    return float(episodes) if variance == 0 else min(max(value * (1 - value) / variance, float(tasks)), float(episodes))


def clustered(groups: Sequence[Sequence[float]]) -> Estimate:
    """avg@k: the mean of per-task means with its cluster-robust Wilson interval. Tasks without a sample are left out."""
    scored = [group for group in groups if len(group)]
    if not scored:
        return Estimate(None, None, None, 0, 0)
    means = [float(np.mean(group)) for group in scored]
    episodes = sum(map(len, scored))
    value = min(1.0, max(0.0, float(np.mean(means))))
    size = effective(means, episodes)
    lo, hi = wilson(value * size, size)
    return Estimate(value, lo, hi, len(scored), episodes)


def paired_means(before: Outcomes, after: Outcomes) -> tuple[np.ndarray, np.ndarray]:
    """Per-task means (n,), (n,) of the tasks that have a scored sample on both sides, in the order of `before`."""
    common = [task for task, group in before.items() if len(group) and len(after.get(task, ()))]
    return np.array([np.mean(before[t]) for t in common]), np.array([np.mean(after[t]) for t in common])


def gain(before: Outcomes, after: Outcomes, seed: int, resamples: int) -> Gain:
    """The mean paired difference with its percentile bootstrap interval, resampling tasks."""
    first, second = paired_means(before, after)
    difference = second - first
    if not len(difference):
        return Gain(None, None, None, 0)
    value = float(difference.mean())
    if len(difference) == 1:  # one task says nothing about the spread between tasks
        return Gain(value, -1.0, 1.0, 1)
    rng = np.random.default_rng(seed)
    found = stats.bootstrap((difference,), np.mean, n_resamples=resamples, batch=BATCH, method="percentile", rng=rng)
    return Gain(value, float(found.confidence_interval.low), float(found.confidence_interval.high), len(difference))


def permutation_p(before: Outcomes, after: Outcomes, seed: int, resamples: int) -> float | None:
    """Two-sided p of "before and after have the same mean": sign flips of per-task differences of means.

    Exact where 2^n does not exceed `resamples`. None without a common task.
    """
    first, second = paired_means(before, after)
    if not len(first):
        return None
    if np.array_equal(first, second):
        return 1.0
    found = stats.permutation_test(
        (second, first),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=BATCH,
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def mcnemar(before: Outcomes, after: Outcomes) -> tuple[float | None, int, int]:
    """McNemar's exact two-sided p for one outcome per task, with (tasks lost, tasks won). p is None without a common task.

    Raises ValueError for a task with several samples, or an outcome other than 0 and 1.
    """
    wrong = [t for side in (before, after) for t, g in side.items() if len(g) > 1 or any(x not in (0, 1) for x in g)]
    if wrong:
        raise ValueError(f"McNemar's test takes one outcome, 0 or 1, per task; {wrong[0]} has another: use permutation_p")
    first, second = paired_means(before, after)
    if not len(first):
        return None, 0, 0
    lost, won = int(np.sum(first > second)), int(np.sum(first < second))
    return (float(stats.binomtest(won, won + lost, 0.5).pvalue) if won + lost else 1.0), lost, won
