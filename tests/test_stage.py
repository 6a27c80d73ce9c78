"""The stages' door: what a run leaves behind when it ends well, fails, is killed, or finds no room."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import tasks.tracking
from tasks.params import ParamsError, parse
from tasks.records import RecordError, Rubric, read_shards, write_shards
from tasks.stage import SCRATCH, Stage, StageError, command, flat, publish, start_of, write_json
from tasks.tracking import TrackingError

ROOT = Path(__file__).parents[1]
SECTIONS = ("rollout",)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "params.yaml").write_text("rounds:\n  r1: {from: warmup}\n  r2: {from: grpo/r1}\n")
    monkeypatch.chdir(tmp_path)
    overlay(tmp_path)
    return tmp_path


def overlay(folder: Path, more: str = "") -> None:
    (folder / "quiet.yaml").write_text("tracking: {enabled: false}\n" + more)


def go(run: Any, *argv: str, name: str = "rollout", rounds: bool = True, needs: tuple[str, ...] = ("synthesize",)) -> int:
    given = ["--params", "quiet.yaml", *(["--round", "r1"] if rounds else []), *argv]
    return command(name, run, given, sections=SECTIONS, needs=needs, rounds=rounds)


def writes(text: str, **metrics: Any) -> Any:
    def run(stage: Stage) -> Mapping[str, Any]:
        (stage.out / "deep").mkdir()
        (stage.out / "deep" / "result.txt").write_text(text)
        return metrics

    return run


def fails(error: BaseException) -> Any:
    def run(stage: Stage) -> Mapping[str, Any]:
        (stage.out / "half.txt").write_text("half")
        (stage.scratch / "done.txt").write_text("kept")
        raise error

    return run


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def remembers(seen: list[Any]) -> Any:
    """Notes the scratch's path and what it holds; leaves something there."""

    def run(stage: Stage) -> Mapping[str, Any]:
        seen.append((stage.scratch, sorted(p.name for p in stage.scratch.iterdir())))
        (stage.scratch / f"batch-{len(seen)}").write_text("x")
        raise StageError("stop here")

    return run


# -- a run that ends well -------------------------------------------------------------------------


def test_the_output_lies_in_the_rounds_folder_with_metrics_and_manifest(workspace: Path) -> None:
    assert go(writes("one", accuracy=0.5, nested={"a": 1})) == 0
    out = workspace / "data/rollout/r1"
    assert sorted(tree(out)) == ["deep/result.txt", "manifest.json", "metrics.json"]
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics.pop("seconds") >= 0
    assert metrics == {"accuracy": 0.5, "nested": {"a": 1}}
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["stage"], manifest["round"], list(manifest["files"])) == ("rollout", "r1", ["deep/result.txt"])


def test_nothing_else_is_left_behind(workspace: Path) -> None:
    assert go(writes("one")) == 0
    assert [p.name for p in (workspace / "data/rollout").iterdir()] == ["r1"]
    assert list((workspace / SCRATCH).iterdir()) == []


def test_equal_results_have_equal_manifests_whatever_the_metrics(workspace: Path) -> None:
    assert go(writes("one", seconds_of_something=1.0), "--out", "a") == 0
    assert go(writes("one", seconds_of_something=2.0), "--out", "b") == 0
    assert go(writes("two"), "--out", "c") == 0
    one, same, other = ((workspace / name / "manifest.json").read_text() for name in "abc")
    assert one == same != other


def test_a_new_run_replaces_the_output_as_a_whole(workspace: Path) -> None:
    assert go(writes("one")) == 0

    def other(stage: Stage) -> Mapping[str, Any]:
        (stage.out / "other.txt").write_text("two")
        return {}

    assert go(other) == 0
    assert sorted(tree(workspace / "data/rollout/r1")) == ["manifest.json", "metrics.json", "other.txt"]


def test_where_stages_read_and_write(workspace: Path) -> None:
    seen: list[Stage] = []

    def run(stage: Stage) -> Mapping[str, Any]:
        seen.append(stage)
        return {}

    assert go(run, "--data", "elsewhere", "--round", "r2") == 0
    assert go(run, name="synthesize", rounds=False, needs=()) == 0
    in_round, outside = seen
    assert in_round.final == Path("elsewhere/rollout/r2")
    assert in_round.input("rollout", "tasks") == Path("elsewhere/rollout/r2/tasks")
    assert in_round.input("synthesize", "tasks", "train") == Path("elsewhere/synthesize/tasks/train")
    assert in_round.start_model() == Path("elsewhere/grpo/r1/model")
    assert outside.final == Path("data/synthesize")
    assert outside.input("rollout") == Path("data/rollout")
    with pytest.raises(StageError, match="synthesize is not part of a round"):
        outside.start_model()


def test_where_a_round_starts() -> None:
    params = parse({"rounds": {"r1": {"from": "policy"}, "r2": {"from": "grpo/r1"}}}, "x")
    assert [start_of(params, name) for name in params.rounds] == ["policy", "grpo/r1"]


# -- a run that fails -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (StageError("no tasks. Run `dvc repro`."), 1, "rollout: no tasks. Run `dvc repro`."),
        (RecordError("a.parquet: damaged"), 1, "rollout: a.parquet: damaged"),
        (TrackingError("MLflow cannot be reached"), 1, "rollout: MLflow cannot be reached"),
        (ParamsError("rollout.samples: wrong"), 2, "rollout.samples: wrong"),
    ],
)
def test_a_known_failure_is_a_message_and_the_old_output_stays(
    workspace: Path, capsys: pytest.CaptureFixture[str], error: Exception, code: int, message: str
) -> None:
    assert go(writes("one")) == 0
    before = tree(workspace / "data/rollout/r1")
    assert go(fails(error)) == code
    assert capsys.readouterr().err == message + "\n"
    assert tree(workspace / "data/rollout/r1") == before


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("defect"), KeyboardInterrupt(), FileNotFoundError(errno.ENOENT, "gone", "x")]
)
def test_anything_else_keeps_its_traceback_and_the_old_output_stays(workspace: Path, error: BaseException) -> None:
    assert go(writes("one")) == 0
    before = tree(workspace / "data/rollout/r1")
    with pytest.raises(type(error)):
        go(fails(error))
    assert tree(workspace / "data/rollout/r1") == before
    assert go(writes("two")) == 0
    assert tree(workspace / "data/rollout/r1")["deep/result.txt"] == b"two"


KILLED = """
import os, signal, sys
from tasks.stage import command

def run(stage):
    if (stage.scratch / "batch-0").exists():
        (stage.out / "whole.txt").write_text((stage.scratch / "batch-0").read_text())
        return {}
    (stage.out / "half.txt").write_text("half")
    (stage.scratch / "batch-0").write_text("from the first try")
    os.kill(os.getpid(), signal.SIGKILL)

argv = ["--params", "quiet.yaml", "--round", "r1"]
sys.exit(command("rollout", run, argv, sections=("rollout",), needs=("synthesize",), rounds=True))
"""


def test_killed_without_warning_the_old_output_stays_and_the_next_try_goes_on(workspace: Path) -> None:
    assert go(writes("one")) == 0
    before = tree(workspace / "data/rollout/r1")
    killed = script(workspace, KILLED)
    assert killed.returncode == -9
    assert tree(workspace / "data/rollout/r1") == before
    again = script(workspace, KILLED)
    assert (again.returncode, again.stderr) == (0, "")
    after = tree(workspace / "data/rollout/r1")
    assert sorted(after) == ["manifest.json", "metrics.json", "whole.txt"]
    assert after["whole.txt"] == b"from the first try"
    assert list((workspace / SCRATCH).iterdir()) == []


def script(workspace: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=workspace,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


# -- scratch --------------------------------------------------------------------------------------


def test_what_was_kept_is_found_by_the_next_try(workspace: Path) -> None:
    seen: list[Any] = []
    for _ in range(3):
        assert go(remembers(seen)) == 1
    assert [kept for _, kept in seen] == [[], ["batch-1"], ["batch-1", "batch-2"]]
    assert seen[0][0].parent == SCRATCH
    assert seen[0][0].name.startswith("rollout-r1-")


def test_scratch_is_named_by_settings_and_inputs(workspace: Path) -> None:
    source = workspace / "data/synthesize/tasks"
    source.mkdir(parents=True)
    (source / "part.parquet").write_text("one")
    (workspace / "data/synthesize/metrics.json").write_text('{"seconds": 1}')

    def name(more: str = "", *argv: str) -> str:
        overlay(workspace, more)
        seen: list[Any] = []
        go(remembers(seen), *argv)
        return str(seen[0][0])

    first = name()
    assert name() == first
    assert name("evaluate: {samples: 3}\n") == first, "a section that the stage does not read"
    assert name("report: {examples: 1}\n") == first
    (workspace / "data/synthesize/metrics.json").write_text('{"seconds": 2}')
    assert name() == first, "timings of an input"
    others = [name("rollout: {samples: 4}\ngrpo: {micro_batch: 64}\n"), name("seed: 5\n"), name("runtime: {threads: 2}\n")]
    others.append(name("", "--round", "r2"))
    (source / "part.parquet").write_text("two")
    others.append(name())
    (source / "more.parquet").write_text("three")
    others.append(name())
    (source / "more.parquet").rename(source / "else.parquet")
    others.append(name())
    assert len({first, *others}) == 1 + len(others)


# -- the command line -----------------------------------------------------------------------------


def test_a_bad_setting_ends_with_code_2_before_anything_is_touched(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overlay(workspace, "rollout: {sampels: 4}\n")
    assert go(writes("one")) == 2
    assert capsys.readouterr().err == "quiet.yaml: rollout.sampels: unknown key; did you mean rollout.samples?\n"
    assert not (workspace / "data").exists()


def test_an_unknown_round_and_a_missing_one(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert go(writes("one"), "--round", "r9") == 2
    assert capsys.readouterr().err == "--round r9: no such round; params.yaml has r1, r2\n"
    with pytest.raises(SystemExit) as ended:
        command("rollout", writes("one"), [], sections=SECTIONS, rounds=True)
    assert ended.value.code == 2


def test_no_params_file(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / "params.yaml").unlink()
    assert go(writes("one")) == 2
    assert capsys.readouterr().err.startswith("params.yaml: no such file. Run from the project's folder")


@pytest.mark.parametrize("out", ["mine", ".", "mine/..", "params.yaml"])
def test_out_never_replaces_what_no_stage_wrote(workspace: Path, capsys: pytest.CaptureFixture[str], out: str) -> None:
    (workspace / "mine").mkdir()
    (workspace / "mine/thesis.txt").write_text("years")
    before = tree(workspace)
    assert go(writes("one"), "--out", out) == 1
    message = capsys.readouterr().err
    assert "no stage wrote" in message or "is a file" in message
    assert "Give --out" in message
    assert tree(workspace) == before


def test_what_dvc_leaves_of_a_stages_own_folder_is_no_obstacle(workspace: Path) -> None:
    own = workspace / "data/rollout/r1"
    own.mkdir(parents=True)
    (own / ".gitignore").write_text("/trajectories\n")
    assert go(writes("one")) == 0
    assert sorted(tree(own)) == ["deep/result.txt", "manifest.json", "metrics.json"]


def test_an_empty_folder_may_be_replaced(workspace: Path) -> None:
    (workspace / "empty").mkdir()
    assert go(writes("one"), "--out", "empty") == 0
    assert "manifest.json" in tree(workspace / "empty")


# -- disks ----------------------------------------------------------------------------------------


def test_a_full_disk_is_named_and_the_old_output_stays(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(stage: Stage) -> Mapping[str, Any]:
        write_shards(stage.out / "rubrics", [Rubric("t", [])], Rubric)
        return {}

    assert go(run) == 0
    before = tree(workspace / "data/rollout/r1")

    def full(*args: Any, **more: Any) -> None:
        raise OSError(errno.ENOSPC, "Error writing bytes to file")

    with monkeypatch.context() as patch:
        patch.setattr(pq, "write_table", full)
        assert go(run) == 1
    message = capsys.readouterr().err
    assert message.startswith("rollout: data/rollout/.r1.tmp/rubrics/part-00000.parquet: the disk is full. Free space")
    assert "then run `dvc repro`" in message
    assert tree(workspace / "data/rollout/r1") == before
    assert go(run) == 0
    assert read_shards(workspace / "data/rollout/r1/rubrics", Rubric) == [Rubric("t", [])]


def test_a_full_disk_that_no_file_is_known_for(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert go(fails(OSError(errno.ENOSPC, "No space left on device"))) == 1
    assert capsys.readouterr().err.startswith("rollout: the data folder: the disk is full.")


UNPRIVILEGED = """
import os, sys
import tasks.tracking
from tasks.params import load
from tasks.stage import command

load("params.yaml", "quiet.yaml")  # whatever it imports must be there before the rights are gone
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)

def run(stage):
    raise AssertionError("unreachable")

sys.exit(command("rollout", run, ["--params", "quiet.yaml", "--round", "r1"], sections=("rollout",), rounds=True))
"""


def test_a_read_only_data_folder_is_named(workspace: Path) -> None:
    folder = Path(tempfile.mkdtemp())  # tmp_path lies in a folder that other users may not enter
    try:
        for name in ("params.yaml", "quiet.yaml"):
            shutil.copy(workspace / name, folder)
        (folder / "data/rollout/r1").mkdir(parents=True)
        for each in (folder / "data/rollout/r1", folder / "data/rollout", folder / "data", folder):
            each.chmod(0o555)
        ended = script(folder, UNPRIVILEGED)
        assert ended.stderr == (
            "rollout: data/rollout/.r1.tmp: no access (Permission denied). "
            "Let this user read and write it, then run `dvc repro`.\n"
        )
        assert ended.returncode == 1
    finally:
        for each in (folder, folder / "data", folder / "data/rollout"):
            each.chmod(0o755)
        shutil.rmtree(folder)


def test_other_errors_of_the_system_are_not_taken_for_a_disk(workspace: Path) -> None:
    with pytest.raises(OSError, match="Too many open files"):
        go(fails(OSError(errno.EMFILE, "Too many open files")))


# -- tracking -------------------------------------------------------------------------------------


def test_tracking_gets_plain_settings_and_flat_numbers(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    told: list[Mapping[str, float]] = []
    published: list[bool] = []

    class Recorder:
        def metrics(self, metrics: Mapping[str, float]) -> None:
            told.append(metrics)

    @contextmanager
    def stage_run(name: str, params: Any, round: str | None = None) -> Iterator[Recorder]:
        begun.append((name, params, round))
        yield Recorder()
        published.append((workspace / "data/rollout/r1/manifest.json").is_file())

    monkeypatch.setattr(tasks.tracking, "stage_run", stage_run)
    assert go(writes("one", accuracy=0.5, items={"suggest": 2, "best": None, "note": "x"}, ends=[1])) == 0
    ((name, params, round_name),) = begun
    assert (name, round_name) == ("rollout", "r1")
    assert params["rounds"] == {"r1": {"from": "warmup"}, "r2": {"from": "grpo/r1"}}
    assert json.loads(json.dumps(params)) == params
    (numbers,) = told
    assert numbers.pop("seconds") >= 0
    assert numbers == {"accuracy": 0.5, "items/suggest": 2}
    assert published == [True], "a run whose output could not be published must not end as a success"


def test_flat_takes_numbers_only() -> None:
    assert flat({"a": 1, "b": {"c": {"d": 2.5}, "e": "x"}, "f": None, "g": [1], "h": {}}) == {"a": 1, "b/c/d": 2.5}


# -- pieces ---------------------------------------------------------------------------------------


def test_publish_replaces_a_folder(tmp_path: Path) -> None:
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").write_text(name)
    publish(tmp_path / "new", tmp_path / "old")
    assert tree(tmp_path) == {"old/new.txt": b"new"}


def test_json_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"a": "é"})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert path.read_text(encoding="utf-8") == '{\n  "a": "é"\n}\n'
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
