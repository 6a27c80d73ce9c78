"""What happens before a stage's body: tracking off, nothing heavy imported, and stores that cannot be used."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.tracking import NullRun, TrackingError, process, stage_run
from tasks.tracking.pipeline import current_pipeline, current_store
from tests.flows.project import ROOT


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "RUNGS_PIPELINE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".dvc").mkdir()
    return tmp_path


def test_importing_tracking_imports_neither_mlflow_nor_torch() -> None:
    code = "import sys, tasks.tracking; print(sorted({'mlflow', 'torch', 'prefect', 'dvc'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_tracking_off_gives_a_run_that_takes_everything_and_leaves_nothing(workspace: Path) -> None:
    with stage_run("rollout", {"tracking": {"enabled": False}}, round="r1") as run:
        assert isinstance(run, NullRun)
        run.metrics({"a": 1.0}, step=1)
        run.artifact("nowhere")
        run.dataset("d", "p", "x", 1)
        run.traces([], [])
        run.tag("a", "b")
        run.finish_pipeline()
        assert (run.run_id, run.url()) == ("", "")
    assert [path.name for path in workspace.iterdir()] == [".dvc"]


def _refused(params: dict[str, object]) -> str:
    ran = False
    with pytest.raises(TrackingError) as caught, stage_run("rollout", params):
        ran = True
    assert not ran, "the body must not run when nothing can be recorded"
    return str(caught.value)


def test_an_unreachable_server_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        message = _refused({"seed": 1})
    assert uri in message
    assert "MLFLOW_TRACKING_URI" in message
    assert "tracking.enabled: false" in message


def test_params_say_where_to_record_and_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert current_store("http://there", "mine").uri == "http://there"
    assert current_store("http://there", "mine").experiment == "mine"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://here")
    assert current_store("http://there", "mine").uri == "http://here"


def test_a_damaged_store_is_refused_before_the_work(workspace: Path) -> None:
    (workspace / "mlflow").mkdir()
    (workspace / "mlflow" / "mlflow.db").write_bytes(b"not a database, but long enough to be one" * 100)
    assert "mlflow.db cannot be written: file is not a database" in _refused({})


def test_a_store_that_cannot_be_written_is_refused_before_the_work(workspace: Path) -> None:
    (workspace / "mlflow").write_text("a file where the folder should be")
    message = _refused({})
    assert str(workspace / "mlflow" / "mlflow.db") in message
    assert "Free space or make it writable" in message


def test_the_environment_names_the_pipeline_else_the_process_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    own = current_pipeline()
    assert own.by_hand
    assert own.owner == process.this_process().text()
    monkeypatch.setenv("RUNGS_PIPELINE", "flow-1")
    assert current_pipeline().key == "flow-1"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["/usr/bin/python3.11", "/venv/bin/dvc", "repro"], True),
        (["python", "-m", "dvc", "repro", "--single-item", "x"], True),
        (["/opt/dvc/dvc", "repro"], True),
        (["C:\\dvc.exe".replace("C:\\", ""), "repro"], True),
        (["python", "-u", "-m", "dvc", "exp", "run"], True),
        (["/bin/sh", "-c", "dvc repro"], False),
        (["vim", "dvc"], False),
        (["python", "-m", "tasks.rollout", "dvc"], False),
        ([], False),
    ],
)
def test_which_processes_are_dvc(command: list[str], expected: bool) -> None:
    assert process.is_dvc(command) is expected


def test_a_process_is_told_from_a_later_one_with_the_same_id() -> None:
    own = process.this_process()
    assert process.parse(own.text()) == process.ProcessId(own.host, own.pid, round(own.created, 2))
    assert not own.gone()
    assert process.ProcessId(own.host, own.pid, own.created - 100).gone()
    assert not process.ProcessId("another-host", 1, 0.0).gone(), "what runs elsewhere cannot be seen from here"
    assert process.parse("") is None
