"""The distill stage as a command: what it writes, that it repeats itself byte for byte, and what it says of bad input."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tasks.distill.__main__ import auc, auc_in_tasks, main
from tasks.distill.contrast import Held
from tasks.records import Rubric, Task, Trajectory, digest_of, read_shards, write_shards
from tests.distill.made import lookup_episode, lookup_task


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "params.yaml").write_text("rounds:\n  r1: {from: warmup}\n")
    (tmp_path / "quiet.yaml").write_text("tracking: {enabled: false}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def roll_out(tasks: list[Task], trajectories: list[Trajectory]) -> None:
    write_shards("data/rollout/r1/tasks", tasks, Task)
    write_shards("data/rollout/r1/trajectories", trajectories, Trajectory)


def run(*more: str) -> int:
    return main(["--round", "r1", "--params", "quiet.yaml", *more])


TASKS = [lookup_task(f"t-{n}", f"acc_{n}") for n in range(4)]
ROLLOUTS = [
    lookup_episode(each, sample, account="acc_999" if sample % 2 else "", digest="wrong" if sample % 2 else "end")
    for each in TASKS
    for sample in range(8)
]


def test_writes_rubrics_their_text_and_metrics(workspace: Path) -> None:
    roll_out(TASKS, ROLLOUTS)
    assert run() == 0
    out = workspace / "data/distill/r1"
    rubrics = read_shards(out / "rubrics", Rubric)
    assert [r.task_id[:6] for r in rubrics] == ["shape:", "t-0", "t-1", "t-2", "t-3"]
    text = (out / "rubrics.md").read_text()
    for rubric in rubrics:
        assert f"## {rubric.task_id}\n" in text
        for item in rubric.items:
            assert f"| {item.kind} | {item.text} | {item.right}/{item.right_of} | {item.wrong}/{item.wrong_of} |" in text
    metrics = json.loads((out / "metrics.json").read_text())
    assert (metrics["shapes"], metrics["tasks"], metrics["trajectories"]) == (1, 4, 32)
    assert sum(metrics["items"].values()) == sum(len(r.items) for r in rubrics)
    assert metrics["auc"] == metrics["auc_in_tasks"] == 1.0
    assert metrics["satisfied"]["pitfall"] == {"right": 0.0, "wrong": 1.0}
    assert metrics["held_out"] == {"right": 8, "wrong": 8}
    assert metrics["seconds"] >= 0


def test_the_same_seed_writes_the_same_bytes_whatever_the_order(workspace: Path) -> None:
    roll_out(TASKS, ROLLOUTS)
    assert run("--out", "one") == 0
    assert run("--out", "two") == 0
    roll_out(TASKS[::-1], random.Random(1).sample(ROLLOUTS, len(ROLLOUTS)))
    assert run("--out", "three") == 0
    for name in ("rubrics", "rubrics.md", "manifest.json"):
        assert len({digest_of(workspace / out / name) for out in ("one", "two", "three")}) == 1, name


def test_nothing_to_contrast_is_said_and_is_no_failure(workspace: Path) -> None:
    roll_out(TASKS[:1], [lookup_episode(TASKS[0], sample) for sample in range(8)])
    assert run() == 0
    out = workspace / "data/distill/r1"
    assert read_shards(out / "rubrics", Rubric) == []
    assert "No group of trajectories has enough" in (out / "rubrics.md").read_text()
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["auc"] is None
    assert metrics["groups_left_out"] == {"no item survived": 1}


def test_no_rollouts_at_all(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 1
    assert "data/rollout/r1/tasks: no Parquet shards of Task here" in capsys.readouterr().err
    assert not (workspace / "data/distill/r1").exists()


def test_trajectories_of_other_tasks(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    roll_out(TASKS[:2], ROLLOUTS)
    assert run() == 1
    message = capsys.readouterr().err
    assert "trajectories of 2 tasks that are not there, for example t-2" in message
    assert "dvc repro" in message


def test_a_damaged_shard(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    roll_out(TASKS, ROLLOUTS)
    shard = workspace / "data/rollout/r1/trajectories/part-00000.parquet"
    shard.write_bytes(shard.read_bytes()[:-20])
    assert run() == 1
    assert "part-00000.parquet: not a readable Parquet file" in capsys.readouterr().err


def test_auc_counts_ties_half_and_needs_both_sides() -> None:
    assert auc([True, True, False, False], [2.0, 1.0, 1.0, 0.0]) == pytest.approx(0.875)
    assert auc([True, True], [1.0, 2.0]) is None
    assert auc([], []) is None


def test_auc_in_tasks_compares_within_a_task_only() -> None:
    def tested(task_id: str, right: bool, total: float) -> Held:
        return Held(task_id, right, total, 0.0)

    easy = [tested("easy", True, 9.0), tested("easy", False, 8.0)]
    hard = [tested("hard", True, 2.0), tested("hard", False, 1.0), tested("hard", False, 2.0)]
    assert auc_in_tasks(easy + hard) == pytest.approx((1.0 + 1.0 + 0.5) / 3)
    assert auc_in_tasks([tested("a", True, 1.0), tested("b", False, 0.0)]) is None
