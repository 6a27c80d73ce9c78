"""Intervals and tests against scipy, hand-worked values and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tasks.evaluate.statistics import clustered, effective, gain, mcnemar, paired_means, permutation_p, wilson


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (10, 10), (81, 263), (599, 600)])
def test_wilson_equals_scipys(k: int, n: int) -> None:
    expected = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
    assert wilson(k, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_of_a_published_example() -> None:
    # Newcombe 1998, table I: 15 of 148 gives 0.0624 to 0.1605.
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, 0)])
def test_wilson_refuses_impossible_counts(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="successes"):
        wilson(k, n)


def test_one_sample_per_task_is_the_plain_wilson_interval() -> None:
    found = clustered([[1.0]] * 7 + [[0.0]] * 13)
    assert (found.value, found.n, found.episodes) == (0.35, 20, 20)
    assert (found.lo, found.hi) == pytest.approx(wilson(7, 20), abs=1e-12)


def test_samples_that_agree_count_once_per_task() -> None:
    agreeing = clustered([[1.0] * 8] * 7 + [[0.0] * 8] * 13)
    assert agreeing.episodes == 160
    assert (agreeing.lo, agreeing.hi) == pytest.approx(wilson(7, 20), abs=1e-12)


def test_equal_tasks_count_every_sample() -> None:
    found = clustered([[1.0, 0.0]] * 30)
    assert (found.lo, found.hi) == pytest.approx(wilson(30, 60), abs=1e-12)


def test_effective_size_worked_by_hand() -> None:
    # means 0, 0.5, 0.5, 1: p 0.5, sample variance 1/6, variance of the mean 1/24: 0.25 / (1/24) = 6
    assert effective([0.0, 0.5, 0.5, 1.0], 16) == pytest.approx(6.0)


def test_all_right_and_none_right_stay_open_ended() -> None:
    none, every = clustered([[0.0] * 8] * 10), clustered([[1.0] * 8] * 10)
    assert (none.lo, none.hi) == (0.0, pytest.approx(wilson(0, 10)[1]))
    assert (every.lo, every.hi) == (pytest.approx(wilson(10, 10)[0]), 1.0)


def test_tasks_without_a_scored_sample_are_left_out() -> None:
    found = clustered([[1.0], [], [0.0, 1.0]])
    assert (found.value, found.n, found.episodes) == (0.75, 2, 3)
    empty = clustered([[], []])
    assert (empty.value, empty.lo, empty.hi, empty.n) == (None, None, None, 0)


@pytest.mark.parametrize(("n", "a", "b"), [(20, 0.5, 0.5), (100, 0.3, 1.0), (60, 20.0, 20.0)])
def test_the_interval_covers_the_truth_about_95_times_in_100(n: int, a: float, b: float) -> None:
    rng = np.random.default_rng(5)
    truth, hits, naive = a / (a + b), 0, 0
    for _ in range(400):
        rates = rng.beta(a, b, n)
        outcomes = (rng.random((n, 8)) < rates[:, None]).astype(float)
        found = clustered(list(outcomes))
        hits += found.lo <= truth <= found.hi
        lo, hi = wilson(outcomes.sum(), outcomes.size)
        naive += lo <= truth <= hi
    assert 0.92 <= hits / 400 <= 0.98
    if a < 1:  # tasks differ, so that an interval over episodes is far too narrow
        assert naive / 400 < 0.8


def test_the_interval_agrees_with_a_bootstrap_over_tasks() -> None:
    rng = np.random.default_rng(1)
    outcomes = (rng.random((600, 8)) < rng.beta(0.5, 0.5, 600)[:, None]).astype(float)
    found = clustered(list(outcomes))
    means = outcomes.mean(1)
    resampled = means[rng.integers(0, 600, (4000, 600))].mean(1)
    assert (found.lo, found.hi) == pytest.approx(np.quantile(resampled, [0.025, 0.975]), abs=0.003)


def test_paired_means_take_the_common_tasks() -> None:
    first, second = paired_means({"a": [1, 0], "b": [1], "c": []}, {"b": [0], "a": [1, 1], "c": [1]})
    assert first.tolist() == [0.5, 1.0]
    assert second.tolist() == [1.0, 0.0]


def test_permutation_is_exact_for_few_tasks() -> None:
    # Six tasks, each better by the same amount: of 2^6 sign patterns, two are as extreme.
    before = {str(i): [0.0, 0.0] for i in range(6)}
    after = {str(i): [1.0, 0.0] for i in range(6)}
    assert permutation_p(before, after, 0, 1000) == pytest.approx(2 / 64)


def test_permutation_agrees_with_a_paired_t_test_and_is_seeded() -> None:
    rng = np.random.default_rng(3)
    before = {str(i): list(rng.random(8) < 0.40) for i in range(300)}
    after = {str(i): list(rng.random(8) < 0.44) for i in range(300)}
    p = permutation_p(before, after, 7, 4000)
    first, second = paired_means(before, after)
    assert p == pytest.approx(stats.ttest_rel(second, first).pvalue, rel=0.25)
    assert p == permutation_p(before, after, 7, 4000)


def test_no_difference_and_no_tasks() -> None:
    same = {"a": [1.0], "b": [0.0]}
    assert permutation_p(same, same, 0, 1000) == 1.0
    assert permutation_p({"a": []}, {"a": [1.0]}, 0, 1000) is None
    assert gain({"a": []}, {"a": [1.0]}, 0, 1000).n == 0


def test_gain_agrees_with_the_normal_interval() -> None:
    rng = np.random.default_rng(4)
    before = {str(i): list((rng.random(8) < 0.4).astype(float)) for i in range(400)}
    after = {str(i): list((rng.random(8) < 0.5).astype(float)) for i in range(400)}
    found = gain(before, after, 0, 4000)
    first, second = paired_means(before, after)
    difference = second - first
    half = 1.96 * difference.std(ddof=1) / 20
    assert found.n == 400
    assert found.value == pytest.approx(difference.mean())
    assert (found.lo, found.hi) == pytest.approx((difference.mean() - half, difference.mean() + half), abs=0.003)


def test_gain_of_one_task_claims_nothing() -> None:
    found = gain({"a": [0.0]}, {"a": [1.0]}, 0, 1000)
    assert (found.value, found.lo, found.hi, found.n) == (1.0, -1.0, 1.0, 1)


def test_mcnemar_worked_by_hand() -> None:
    # 8 won, 1 lost, 3 unchanged: p = 2 * (C(9,0) + C(9,1)) / 2^9 = 20/512
    before = {str(i): [0.0] for i in range(8)} | {"8": [1.0]} | {str(i): [1.0] for i in range(9, 12)}
    after = {str(i): [1.0] for i in range(8)} | {"8": [0.0]} | {str(i): [1.0] for i in range(9, 12)}
    p, lost, won = mcnemar(before, after)
    assert (p, lost, won) == (pytest.approx(20 / 512), 1, 8)
    assert mcnemar(before, before) == (1.0, 0, 0)
    assert mcnemar({}, {}) == (None, 0, 0)


def test_mcnemar_refuses_several_samples() -> None:
    with pytest.raises(ValueError, match="one outcome"):
        mcnemar({"a": [1.0, 0.0]}, {"a": [1.0]})
