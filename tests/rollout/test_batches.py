"""Batches: the same records from one process and from two, and from a run that was killed and continued."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tasks import params as settings
from tasks.policy import PolicyError
from tasks.records import RecordError, Trajectory, read_shard
from tasks.rollout.batches import Job, Pair, roll
from tests.policy.made import some_tasks, trained

PAIRS: list[Pair] = [(t, s) for t in some_tasks(5) for s in range(2)]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    folder = tmp_path_factory.mktemp("model")
    trained().save(folder)
    limits = settings.Limits(turn_tokens=48, total_tokens=200, turns=4)
    return Job(folder, settings.Policy(), ("banking",), settings.Runtime(workers=1), limits, 1.0, 4, 11)


@pytest.fixture(scope="module")
def alone(job: Job, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Trajectory]]:
    """The shards and records of one process."""
    scratch = tmp_path_factory.mktemp("alone")
    return scratch, roll(job, PAIRS, scratch)


def test_there_is_one_trajectory_per_pair_in_order(alone: tuple[Path, list[Trajectory]]) -> None:
    scratch, found = alone
    assert [(t.task_id, t.sample) for t in found] == [(t.id, s) for t, s in PAIRS]
    assert [len(read_shard(p, Trajectory)) for p in sorted(scratch.iterdir())] == [4, 4, 2]


def test_a_continued_run_asks_for_what_is_missing_and_gives_the_same_bytes(
    job: Job, alone: tuple[Path, list[Trajectory]], tmp_path: Path
) -> None:
    scratch, expected = alone
    for number in (0, 2):
        name = f"batch-{number:05d}.parquet"
        (tmp_path / name).write_bytes((scratch / name).read_bytes())
    (tmp_path / ".batch-00001.parquet.tmp").write_bytes(b"half of a shard")
    told: list[int] = []
    assert roll(job, PAIRS, tmp_path, told.append) == expected
    assert told == [6, 4], "what is there counts at once"
    for path in scratch.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    told.clear()
    nothing = replace(job, model=tmp_path / "no-model")
    assert roll(nothing, PAIRS, tmp_path, told.append) == expected, "a finished roll needs no model"
    assert told == [10]


def test_a_damaged_shard_is_named(job: Job, alone: tuple[Path, list[Trajectory]], tmp_path: Path) -> None:
    for path in alone[0].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "batch-00001.parquet").write_bytes(b"PAR1 not at all")
    with pytest.raises(RecordError, match=r"batch-00001\.parquet: not a readable Parquet file"):
        roll(job, PAIRS, tmp_path)


def test_two_processes_give_the_bytes_of_one(job: Job, alone: tuple[Path, list[Trajectory]], tmp_path: Path) -> None:
    told: list[int] = []
    two = replace(job, runtime=settings.Runtime(workers=2))
    assert roll(two, PAIRS, tmp_path, told.append) == alone[1]
    assert sorted(told) == [0, 2, 4, 4]
    for path in alone[0].iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_policy_that_cannot_be_loaded_is_named_from_any_process(job: Job, tmp_path: Path, workers: int) -> None:
    broken = replace(job, model=tmp_path / "nothing", runtime=settings.Runtime(workers=workers))
    with pytest.raises(PolicyError, match="nothing: no model here"):
        roll(broken, PAIRS, tmp_path)
    assert not list(tmp_path.glob("*.parquet"))
