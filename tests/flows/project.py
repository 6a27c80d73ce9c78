"""A small DVC project whose stages record in MLflow, for the tests of tracking and of the flows.

`make(folder)` builds it in its own git repository. Three stages, policy (cpu) -> rollout@r1 (cuda) ->
report (cpu), run `work.py`; each depends on its own control file, so that `Project.control` changes what
a stage does (sleep, fail, tracking) and makes DVC run it again. Left out: models; nothing here takes time by itself.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

WORK = """
import json, math, os, pathlib, sys, time
from tasks.records import COMPONENTS, Call, Message, ParseFailure, Result, Score, Step, ToolFault, Trajectory
from tasks.tracking import stage_run

NAME, ROUND = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
CONTROL = json.loads(pathlib.Path(f"control/{NAME}.json").read_text())
PARAMS = {"seed": 7, "rounds": {"r1": {"from": "warmup"}}, "policy": {"size": 3}, "rollout": {"samples": 2}}
if not CONTROL.get("tracking", True):
    PARAMS["tracking"] = {"enabled": False}
OUT = pathlib.Path("data") / NAME / (ROUND or "")


def trajectory(number):
    calls = [Call("c1", "move", {"amount": number, "to": "a\\ud800"}), Call("c2", "balance", {})]
    fault = ToolFault("not_found", "no account", "list_accounts")
    results = [Result("c1", True, {"id": "t1"}), Result("c2", False, None, fault)]
    steps = [Step(0, 1, calls, [ParseFailure("bad_json", 3, "expected ,")], results)]
    messages = [Message("user", f"Move {number} euros."), Message("assistant", "Done.")]
    return Trajectory(f"bank-{number}", 0, "warmup", 0, messages, [1], [2], [1], [-0.5], steps, "stop", "d")


with stage_run(NAME, PARAMS, ROUND) as run:
    print(f"working on {NAME}", flush=True)
    OUT.mkdir(parents=True, exist_ok=True)
    pathlib.Path(f"{NAME}.pid").write_text(str(os.getpid()))
    if CONTROL.get("corrupt"):
        run.url()
        pathlib.Path("mlflow/mlflow.db").write_bytes(b"no database" * 1000)
    time.sleep(CONTROL.get("sleep", 0))
    if CONTROL.get("fail"):
        raise RuntimeError(f"{NAME} broke")
    for step in range(5):
        run.metrics({"reward[0]/mean": step / 4, "loss": math.nan if step == 3 else 1.0, "unknown": None}, step=step)
    run.metrics({"accuracy": 0.5, "tasks": 64})
    if NAME == "rollout":
        scores = [Score(f"bank-{n}", 0, "tier", "score", n / 9, dict.fromkeys(COMPONENTS, 1.0 if n > 4 else 0.0), [], ["why"])
                  for n in range(10)]
        run.traces([trajectory(n) for n in range(10)], scores, limit=3)
        run.dataset("rollout/r1", OUT, "0123456789abcdef", 10)
        run.tag("note", "from the stage")
    (OUT / "metrics.json").write_text(json.dumps({"accuracy": 0.5, "by_depth": {"2": 0.25}}))
    run.artifact(OUT / "metrics.json")
    if NAME == "report":
        run.finish_pipeline()
"""

DVC = """
vars:
- python: {python}
- rounds:
    r1: {{from: warmup}}
stages:
  report:
    cmd: ${{python}} work.py report
    deps: [work.py, control/report.json, data/rollout/r1]
    outs: [data/report]
    meta: {{pool: cpu}}
  rollout:
    foreach: ${{rounds}}
    do:
      cmd: ${{python}} work.py rollout ${{key}}
      deps: [work.py, control/rollout.json, data/policy]
      outs: ["data/rollout/${{key}}"]
      meta: {{pool: cuda}}
  policy:
    cmd: ${{python}} work.py policy
    deps: [work.py, control/policy.json]
    outs: [data/policy]
    meta: {{pool: cpu}}
"""


@dataclass(frozen=True)
class Project:
    """The project's folder and the ways to run things in it."""

    folder: Path

    @property
    def env(self) -> dict[str, str]:
        hidden = ("MLFLOW_", "PREFECT_", "RUNGS_")
        known = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
        return {**known, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "DVC_NO_ANALYTICS": "1", "DO_NOT_TRACK": "1"}

    @property
    def store(self) -> str:
        return f"sqlite:///{self.folder / 'mlflow' / 'mlflow.db'}"

    def control(self, stage: str, **what: Any) -> None:
        (self.folder / "control" / f"{stage}.json").write_text(json.dumps({**what, "at": time.time_ns()}))

    def start(self, *command: str, **env: str) -> subprocess.Popen[str]:
        """Starts `python COMMAND` here, in a session of its own."""
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=self.folder,
            env={**self.env, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *command: str, **env: str) -> tuple[int, str]:
        """Runs `python COMMAND` here. Returns its exit code and output."""
        process = self.start(*command, **env)
        output, _ = process.communicate(timeout=180)
        return process.returncode, output

    def wait_for_stage(self, stage: str, process: subprocess.Popen[str]) -> int:
        """Waits until a stage's body runs, which `process` leads to. Returns the stage's process id."""
        file = self.folder / f"{stage}.pid"

        def started() -> bool:
            assert process.poll() is None, process.stdout.read() if process.stdout else ""
            return file.exists() and file.read_text().isdigit()

        wait_until(started, f"stage {stage} to start")
        return int(file.read_text())

    def forget_stage(self, stage: str) -> None:
        (self.folder / f"{stage}.pid").unlink(missing_ok=True)


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.1)


def kill_group(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    os.killpg(process.pid, number)
    process.wait(timeout=60)


def make(folder: Path) -> Project:
    """Builds the project in a new folder."""
    (folder / "control").mkdir(parents=True)
    (folder / "work.py").write_text(WORK)
    (folder / "dvc.yaml").write_text(DVC.format(python=sys.executable))
    (folder / ".gitignore").write_text("/mlflow/\n/.rungs/\n/data/\n*.pid\n")
    project = Project(folder)
    for stage in ("policy", "rollout", "report"):
        project.control(stage)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
    assert project.run("-m", "dvc", "init", "-q")[0] == 0
    subprocess.run([*git, "add", "."], cwd=folder, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "project"], cwd=folder, check=True)
    return project
