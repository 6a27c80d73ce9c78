"""The pages: a busy port is named; both servers start, answer, and end with the command."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

from flows import ui
from tests.flows.conftest import free_port
from tests.flows.project import make, wait_until


def test_a_busy_port_is_named_with_its_holder_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    try:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            assert ui.main(["--mlflow-port", str(port)]) == 1
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
    message = capsys.readouterr().err
    assert f"port {port}, wanted for MLflow, is taken by process {os.getpid()}" in message
    assert "--mlflow-port" in message


@pytest.mark.slow
def test_both_pages_answer_until_ctrl_c(tmp_path: Path) -> None:
    project = make(tmp_path / "project")
    assert project.run("work.py", "policy")[0] == 0
    ports = {"mlflow": free_port(), "prefect": free_port()}
    options = [word for name, port in ports.items() for word in (f"--{name}-port", str(port))]
    process = project.start("-m", "flows.ui", *options, PREFECT_HOME=str(tmp_path / "prefect"))
    note = project.folder / ".rungs" / "ui.json"
    try:
        wait_until(lambda: note.exists() or process.poll() is not None, "the pages", 400)
        assert process.poll() is None, process.communicate()[0]
        for port in ports.values():
            with urlopen(f"http://127.0.0.1:{port}/", timeout=30) as page:
                assert page.status == 200
        children = psutil.Process(process.pid).children(recursive=True)
    finally:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    assert f"http://127.0.0.1:{ports['mlflow']}/#/experiments/1" in output
    assert f"http://127.0.0.1:{ports['prefect']}" in output
    assert not note.exists()
    assert len(children) >= 2
    assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
