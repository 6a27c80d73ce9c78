"""What a step tells: its figures by hand, its line in words, and its files, which a continued run writes again."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tasks.grpo.watch import Recorder, figures, health_line
from tasks.records import COMPONENTS, Score, Trajectory, components, read_shard
from tests.reward.made import RIGHT, episode, malformed, payment, refused

TASKS = {name: payment(name) for name in ("a", "b", "c")}
TRAINING = {"loss": 0.1, "grad_norm": 0.5, "entropy": 0.7, "kl": 0.0, "logprob_difference": 2e-7}


def score(task_id: str, total: float | None, kind: Any = "score", **parts: float) -> Score:
    return Score(task_id, 0, "tier", kind, total, components(**parts), [], [])


EPISODES = [
    episode(TASKS["a"], *RIGHT),  # three steps, two calls
    episode(TASKS["a"], refused("pay"), say="Answer: 8"),  # two steps, one refused call
    episode(TASKS["b"], malformed(), say=None, finish="length"),  # one step, one malformed call
    episode(TASKS["b"], say=None, finish="turns"),
    episode(TASKS["c"], RIGHT[0], say=None, finish="error", error="x"),  # one step, one call
]
SCORES = [
    score("a", 1.0, format=1.0, answer=1.0),
    score("a", 0.5, format=1.0, answer=0.0),
    score("b", 0.0, format=0.0),
    score("b", 0.0, "score", format=0.0),
    score("c", None, "error"),
]


def test_a_steps_figures_by_hand() -> None:
    episodes = [*EPISODES]
    episodes[0] = replace(EPISODES[0], mask=[1, 1, 1, 0, 0, 1])  # two of its six tokens are the environment's
    row = figures(episodes, SCORES, TASKS)
    assert row["reward"] == 0.375 and row["reward_std"] == pytest.approx(0.4146, abs=1e-4)
    assert row["accuracy"] == 0.2, "one of five: an episode without a score is still not right"
    assert row["constant_groups"] == 0.5, "b's; c has no score and is no group"
    assert (row["abstentions"], row["errors"]) == (0.0, 1.0)
    assert row["clipped"] == 0.4
    assert row["tokens"] == (4 + 4 + 2 + 0 + 2) / 5
    assert row["masked_tokens"] == pytest.approx(2 / 14)
    assert row["calls"] == (2 + 1 + 1 + 0 + 1) / 5
    assert row["invalid_calls"] == pytest.approx(2 / 5)
    assert (row["component_format"], row["component_answer"]) == (0.5, 0.5)
    assert {n for n in row if n.startswith("component_")} == {"component_format", "component_answer"}, "the known ones"
    assert {"format", "answer"} < set(COMPONENTS)


def test_a_step_without_any_score_or_episode_has_figures_too() -> None:
    row = figures(EPISODES[4:], SCORES[4:], TASKS)
    assert math.isnan(row["reward"]) and row["constant_groups"] == 0.0 and row["errors"] == 1.0
    assert health_line({**row, **TRAINING})
    assert figures([], [], {})["tokens"] == 0.0


def test_the_line_names_what_is_wrong_and_is_silent_otherwise() -> None:
    good = {
        "reward": 0.5,
        "accuracy": 0.25,
        "constant_groups": 0.125,
        "abstentions": 0.0,
        "errors": 0.0,
        "clipped": 0.0,
        "masked_tokens": 0.4,
        "logprob_difference": 2e-7,
    }
    assert health_line(good) == (
        "reward 0.500, right 25%, 12% of groups constant, 0% cut, 40% of tokens masked, sampler and trainer differ by 2.0e-07"
    )
    bad = health_line({**good, "abstentions": 3.0, "errors": 2.0, "clipped": 0.95})
    assert "3 abstained" in bad and "2 errors" in bad and "95% cut" in bad


class Run:
    """A tracked run that remembers its metrics."""

    def __init__(self) -> None:
        self.logged: list[tuple[int, dict[str, float]]] = []

    def metrics(self, values: dict[str, float], step: int) -> None:
        self.logged.append((step, values))


def test_a_step_is_kept_as_files_and_told_to_the_tracker(tmp_path: Path) -> None:
    run = Run()
    recorder = Recorder(tmp_path / "steps", run)
    rows = [recorder.keep(step, EPISODES, SCORES, TASKS, TRAINING | {"loss": float(step)}) for step in (1, 2, 3)]
    recorder.keep(2, EPISODES[:2], SCORES[:2], TASKS, TRAINING)  # a continued run comes by again
    assert [step for step, _ in run.logged] == [1, 2, 3, 2]
    assert run.logged[0][1].items() >= rows[0].items() and run.logged[0][1]["seconds_per_step"] >= 0
    published = recorder.publish(_folder(tmp_path / "out"), 3)
    assert [row["step"] for row in published] == [1, 2, 3] and all(isinstance(row["step"], int) for row in published)
    assert [row["loss"] for row in published] == [1.0, 0.1, 3.0]
    assert "seconds_per_step" not in published[0], "no times in what is compared byte by byte"
    for kind, cls, records in (("rollouts", Trajectory, EPISODES), ("scores", Score, SCORES)):
        shards = sorted((tmp_path / "out" / kind).iterdir())
        assert [s.name for s in shards] == ["step-00001.parquet", "step-00002.parquet", "step-00003.parquet"]
        assert [read_shard(s, cls) for s in shards] == [records, records[:2], records]


def test_steps_beyond_the_last_are_not_published(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "steps", Run())
    for step in (1, 2, 3):
        recorder.keep(step, EPISODES, SCORES, TASKS, TRAINING)
    assert len(recorder.publish(_folder(tmp_path / "out"), 2)) == 2
    assert len(list((tmp_path / "out/rollouts").iterdir())) == 2
    assert recorder.publish(_folder(tmp_path / "none"), 0) == [] and (tmp_path / "none/scores").is_dir()


def test_equal_steps_are_equal_bytes(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        Recorder(tmp_path / name, Run()).keep(1, EPISODES, SCORES, TASKS, TRAINING)
        found.append({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()})
    assert found[0] == found[1] and len(found[0]) == 3
    assert json.loads(found[0]["row-00001.json"])["step"] == 1.0


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
