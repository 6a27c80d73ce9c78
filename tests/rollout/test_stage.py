"""The rollout stage: what it writes, and that a killed one continues to the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasks.records import Task, Trajectory, read_shards
from tasks.rollout.__main__ import chosen_tasks, figures, main
from tests.policy.made import some_tasks
from tests.policy.project import contents, killed, write
from tests.rollout.made import Cut, Scripted, call, task


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted stage's project."""
    folder = tmp_path_factory.mktemp("whole")
    write(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["--round", "r1"]) == 0
    return folder


def test_the_stage_writes_trajectories_tasks_and_figures(whole: Path) -> None:
    out = whole / "data/rollout/r1"
    tasks, trajectories = read_shards(out / "tasks", Task), read_shards(out / "trajectories", Trajectory)
    assert tasks == chosen_tasks(some_tasks(24), 4, 3, "r1")
    assert [(t.task_id, t.sample) for t in trajectories] == [(t.id, s) for t in tasks for s in range(4)]
    assert len({tuple(t.completion_ids) for t in trajectories}) > 4, "samples differ"
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["episodes"] == sum(metrics["ends"].values()) == 16
    assert 0.0 <= metrics["accuracy"] <= 1.0 and 0.0 <= metrics["invalid_call_rate"] <= 1.0


def test_a_killed_stage_continues_to_the_same_bytes(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    killed(tmp_path, "tasks.rollout", "--round", "r1", when=lambda: any(tmp_path.glob(".rungs/scratch/*/batch-*.parquet")))
    assert not (tmp_path / "data/rollout/r1").exists()
    monkeypatch.chdir(tmp_path)
    assert main(["--round", "r1"]) == 0
    patterns = ("**/*.parquet", "manifest.json")
    assert contents(tmp_path / "data/rollout/r1", *patterns) == contents(whole / "data/rollout/r1", *patterns)
    assert not list(tmp_path.glob(".rungs/scratch/*")), "what a finished stage needed no longer lies there"


def test_another_round_samples_other_tasks_and_other_episodes(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_tasks(some_tasks(24), 4, 3, "r1") != chosen_tasks(some_tasks(24), 4, 3, "r2")
    assert chosen_tasks(some_tasks(24), 99, 3, "r1") == some_tasks(24)
    ids = [t.id for t in chosen_tasks(some_tasks(24), 12, 3, "r1")]
    assert ids == sorted(ids, key=[t.id for t in some_tasks(24)].index) and len(set(ids)) == 12


def test_a_missing_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, policy=False)
    monkeypatch.chdir(tmp_path)
    assert main(["--round", "r1"]) == 1
    assert "data/warmup/model: no model here" in capsys.readouterr().err
    assert not (tmp_path / "data/rollout/r1").exists()


def test_figures_by_hand() -> None:
    from tasks.rollout.episodes import run
    from tests.policy.made import servers
    from tests.rollout.test_episodes import BROKEN, ROOM

    policy = Scripted(
        {
            0: ["Done."],  # right: the task asks for nothing
            1: [call("list_accounts"), call("fly"), "Done."],
            2: [BROKEN, "Done."],
            3: [Cut("Well")],
        }
    )
    trajectories = run(policy, servers(), [(task(), n) for n in range(4)], ROOM, 1.0, 0)  # type: ignore[arg-type]
    found = figures({"t-1": task()}, trajectories)
    assert found["accuracy"] == 0.75
    assert found["calls_per_episode"] == 0.5
    assert found["invalid_call_rate"] == pytest.approx(2 / 3), "one unknown tool and one malformed call of three attempts"
    assert found["ends"] == {"length": 1, "stop": 3}
    assert found["tokens_per_episode"] == sum(sum(t.mask) for t in trajectories) / 4
