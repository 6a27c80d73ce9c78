"""The whole DAG through real DVC in a workspace of its own, with the fast preset: minutes, so marked slow.

What is shown: a full rebuild writes what the issue names; a second one does nothing; a changed reward parameter generates
nothing; processes killed in rollout and in grpo are continued to the same result; the same seed gives the same bytes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.records import digest_of

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ENV = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "OMP_NUM_THREADS": "1",
    "DVC_NO_ANALYTICS": "1",
}
SAME = (
    "synthesize/tasks",
    "warmup/model",
    "rollout/r1/trajectories",
    "reward/r1/scores",
    "distill/r1/rubrics",
    "grpo/r1/model",
    "grpo/r1/rollouts",
    "evaluate/r1/results.json",
)
"""Outputs that equal runs hold byte for byte."""


def workspace(folder: Path) -> Path:
    """A git repository with this tree's files, set to the fast preset."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / "dvc.lock").unlink(missing_ok=True)
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "start"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    run(folder, sys.executable, "-m", "tasks.params", "use", "presets/fast.yaml")
    return folder


def run(folder: Path, *command: str, code: int = 0) -> str:
    done = subprocess.run(command, cwd=folder, env=ENV, capture_output=True, text=True)
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def repro(folder: Path, *arguments: str) -> str:
    return run(folder, "dvc", "repro", *arguments)


def results(folder: Path) -> dict[str, str]:
    return {name: digest_of(folder / "data" / name) for name in SAME}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = workspace(tmp_path_factory.mktemp("pipeline"))
    repro(folder)
    yield folder


def test_a_full_rebuild_writes_the_headline(built: Path) -> None:
    headline = json.loads((built / "data/report/headline.json").read_text())
    assert {
        "before",
        "after",
        "by_depth",
        "p_value",
        "invalid_call_rate",
        "calls_per_task",
        "seconds",
        "seed",
        "recipe",
    } <= set(headline)
    for side in ("before", "after"):
        assert set(headline[side]) >= {"value", "lo", "hi", "n"}
        assert 0 <= headline[side]["lo"] <= headline[side]["value"] <= headline[side]["hi"] <= 1
    assert headline["recipe"] == "tier" and headline["seed"] == 0
    assert set(headline["seconds"]) >= {"synthesize", "policy", "warmup", "rollout@r1", "reward@r1", "grpo@r1", "evaluate@r1"}


def test_a_second_rebuild_does_nothing(built: Path) -> None:
    assert "Data and pipelines are up to date" in repro(built)


def test_a_changed_reward_generates_nothing(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(built, folder, symlinks=True)
    text = (folder / "params.yaml").read_text()
    assert "penalty: 0.25" in text
    (folder / "params.yaml").write_text(text.replace("penalty: 0.25", "penalty: 0.5"))
    output = repro(folder, "reward@r1")
    assert "Running stage 'reward@r1'" in output
    for stage in ("synthesize", "policy", "warmup", "rollout@r1"):
        assert f"Running stage '{stage}'" not in output
    todo = run(folder, "dvc", "status")
    assert "grpo@r1" in todo and "distill@r1" not in todo


def test_the_same_seed_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    before = results(built)
    folder = workspace(tmp_path / "again")
    repro(folder)
    assert results(folder) == before


@pytest.mark.parametrize("stage", ["rollout", "grpo"])
def test_killed_and_continued_equals_uninterrupted(built: Path, tmp_path: Path, stage: str) -> None:
    folder = tmp_path / "killed"
    shutil.copytree(built, folder, symlinks=True)
    wanted = results(built)
    shutil.rmtree(folder / f"data/{stage}/r1")
    shutil.rmtree(folder / ".dvc/cache", ignore_errors=True)
    run(folder, "git", "clean", "-fdq", ".rungs/scratch")
    process = subprocess.Popen(
        ["dvc", "repro", "--no-run-cache", "--force", "--single-item", f"{stage}@r1"],
        cwd=folder,
        env=ENV,
        start_new_session=True,
    )
    mark = {"rollout": "batch-*.parquet", "grpo": "checkpoints/checkpoint-*"}[stage]
    deadline = time.monotonic() + 300
    while not list((folder / ".rungs/scratch").glob(f"{stage}-r1-*/{mark}")):
        assert process.poll() is None, "the stage ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (folder / f"data/{stage}/r1/manifest.json").exists()
    repro(folder, "--no-run-cache", "--force", "--single-item", f"{stage}@r1")
    kept = {name: digest for name, digest in results(folder).items() if name.startswith(stage)}
    assert kept == {name: digest for name, digest in wanted.items() if name.startswith(stage)}
