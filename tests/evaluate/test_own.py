"""Accuracy, slices and behaviour from hand-made trajectories."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tasks.evaluate.own import behaviour, compare, depth_rows, flat, outcomes, slices
from tasks.evaluate.tables import accuracy_rows, accuracy_table, estimate, markdown, overall_rows, p_value
from tests.evaluate.made import task, trajectory, twelve

TASKS = {t.id: t for t in twelve()}


def sampled(rights: int, samples: int = 4) -> list:
    return [trajectory(t, s, s < rights, bad_call=s >= rights) for t in TASKS.values() for s in range(samples)]


def test_outcomes_are_the_verdicts_in_order() -> None:
    found = outcomes(TASKS, sampled(1))
    assert list(found) == list(TASKS)
    assert all(group == [1.0, 0.0, 0.0, 0.0] for group in found.values())


def test_an_error_is_left_out_and_counted_never_wrong() -> None:
    one = task(0)
    tasks = {one.id: one}
    made = [trajectory(one, 0, True), trajectory(one, 1, True, error=True), trajectory(one, 2, False, error=True)]
    assert outcomes(tasks, made) == {one.id: [1.0]}
    found = behaviour(tasks, made)
    assert (found["episodes"], found["errors"], found["ends"]) == (1, 2, {"stop": 1})


def test_a_task_whose_every_episode_failed_leaves_the_comparison() -> None:
    first, second = task(0), task(1)
    tasks = {t.id: t for t in (first, second)}
    before = [trajectory(first, 0, False), trajectory(second, 0, True, error=True)]
    after = [trajectory(first, 0, True), trajectory(second, 0, True)]
    found = compare(tasks, {"greedy": {"before": before, "after": after}}, 0, 200)["greedy"]["overall"]
    assert (found["before"]["n"], found["after"]["n"], found["gain"]["n"]) == (1, 2, 1)
    assert found["before"]["value"] == 0.0
    assert (found["lost"], found["won"]) == (0, 1)


def test_behaviour_counts_calls_tokens_and_refusals() -> None:
    one = task(0, depth=3)
    found = behaviour({one.id: one}, [trajectory(one, 0), trajectory(one, 1, bad_call=True)])
    assert found["calls_per_task"] == 1.5
    assert found["gold_calls_per_task"] == 3.0
    assert found["invalid_call_rate"] == pytest.approx(1 / 3, abs=1e-6)
    assert found["tokens_per_episode"] == 6.0
    assert behaviour({one.id: one}, [trajectory(one, 0, error=True)])["calls_per_task"] is None


def test_slices_cover_what_they_say() -> None:
    found = slices(TASKS)
    assert list(found["by_depth"]) == ["1", "2", "3", "4", "5", "6"]
    assert all(len(ids) == 2 for ids in found["by_depth"].values())
    assert {name: len(ids) for name, ids in found["by_server"].items()} == {"banking": 12, "calendar": 6}
    assert {name: len(ids) for name, ids in found["by_combination"].items()} == {"seen": 8, "unseen": 4}
    deep = slices({t.id: t for t in (task(0, 10), task(1, 2))})
    assert list(deep["by_depth"]) == ["2", "10"]


def test_compare_both_modes() -> None:
    greedy = {
        when: [trajectory(t, 0, n < k) for n, t in enumerate(TASKS.values())] for when, k in (("before", 3), ("after", 9))
    }
    found = compare(TASKS, {"sampled": {"before": sampled(1), "after": sampled(3)}, "greedy": greedy}, 0, 5000)
    overall = found["sampled"]["overall"]
    assert (overall["before"]["value"], overall["after"]["value"], overall["gain"]["value"]) == (0.25, 0.75, 0.5)
    assert (overall["before"]["n"], overall["before"]["episodes"]) == (12, 48)
    assert overall["before"]["lo"] < 0.25 < overall["before"]["hi"] < overall["after"]["lo"]
    assert overall["p_value"] == pytest.approx(2 / 4096)  # 2^12 sign patterns, two as extreme
    assert found["sampled"]["by_depth"]["4"]["after"]["value"] == 0.75
    assert found["sampled"]["by_depth"]["4"]["after"]["n"] == 2
    # six won of six that changed: 2 / 2^6
    assert found["greedy"]["overall"]["p_value"] == pytest.approx(2 / 64)
    assert found["sampled"]["behaviour"]["after"]["invalid_call_rate"] == pytest.approx(1 / 5)
    assert found == compare(TASKS, {"sampled": {"before": sampled(1), "after": sampled(3)}, "greedy": greedy}, 0, 5000)


def test_rows_metrics_and_table() -> None:
    found = {"samples": 4} | compare(TASKS, {"sampled": {"before": sampled(1), "after": sampled(3)}}, 0, 200)
    rows = depth_rows(found, "sampled")
    assert len(rows) == 12
    assert set(rows[0]) == {"depth", "when", "accuracy", "lo", "hi", "n"}
    assert [(r["depth"], r["when"], r["accuracy"]) for r in rows[:2]] == [(1, "before", 0.25), (1, "after", 0.75)]
    metrics = flat(found)
    assert (metrics["tasks"], metrics["accuracy_before"], metrics["accuracy_after"]) == (12, 0.25, 0.75)
    assert metrics["accuracy_depth_6_after"] == 0.75
    assert not any(name.startswith("greedy") for name in metrics)
    assert all(isinstance(v, int | float) for v in metrics.values())
    console = Console(width=80, file=io.StringIO())
    console.print(accuracy_table(found, "Round x"))
    text = console.file.getvalue()
    assert "depth 6" in text and "0.750 [" in text and "permutation p" in text
    assert "…" not in text  # everything fits
    assert [row[0] for row in overall_rows(found)] == ["sampled avg@4"]
    assert accuracy_rows(found, "sampled")[0][:2] == ("depth 1", "2")


def test_texts() -> None:
    assert estimate({"value": 0.5, "lo": 0.25, "hi": 0.75}) == "0.500 [0.250, 0.750]"
    assert estimate({"value": -0.5, "lo": -0.75, "hi": 0.25}, sign=True) == "-0.500 [-0.750, +0.250]"
    assert estimate({"value": None, "lo": None, "hi": None}) == "-"
    assert (p_value(None), p_value(0.0001), p_value(0.0471)) == ("-", "<0.001", "0.047")
    assert markdown(["a", "b"], [["x|y", "1"]]) == ["| a | b |", "| --- | ---: |", "| x\\|y | 1 |"]
