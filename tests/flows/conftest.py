"""A real Prefect server with two real process workers, one per pool, for the whole test session.

    def test_x(prefect, tmp_path):
        prefect.deploy(workspace)                      # python -m flows.deploy, for any DVC workspace
        run = prefect.finish("pipeline/rungs")         # a flow run in its final state
        prefect.task_states(run), prefect.stage_runs(run), prefect.logs(run)

The workers run whatever is deployed, in the workspace that was deployed last. Everything Prefect writes
goes to a temporary folder. Left out: several workspaces at once (deployments have one name each).
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowRunFilter,
    FlowRunFilterId,
    FlowRunFilterParentFlowRunId,
    LogFilter,
    LogFilterFlowRunId,
    WorkPoolFilter,
    WorkPoolFilterName,
)
from prefect.client.schemas.objects import FlowRun, WorkerStatus
from prefect.settings import PREFECT_API_URL, temporary_settings

from tests.flows.project import ROOT, wait_until

POOLS = ("cpu", "cuda")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def background(command: list[str], env: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process for the time of the body; ended by SIGTERM, by SIGKILL when that does not help within 30 s."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Prefect's worker ignores SIGTERM when it inherits an ignored SIGINT, as after `pytest &` in a script.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@dataclass(frozen=True)
class Prefect:
    """The running server, as tests see it."""

    url: str
    env: dict[str, str]
    client: SyncPrefectClient

    def deploy(self, workspace: Path, *options: str) -> str:
        """Makes the pools and deployments for a workspace, by the command that users run. Returns what it said."""
        command = [sys.executable, "-m", "flows.deploy", "--workspace", str(workspace), *options]
        done = subprocess.run(command, env=self.env, cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def finish(self, deployment: str, seconds: float = 300.0, **parameters: object) -> FlowRun:
        """Runs a deployment and waits for its final state."""
        found = self.client.read_deployment_by_name(deployment)
        run = self.client.create_flow_run_from_deployment(found.id, parameters=parameters)
        wait_until(lambda: self.is_final(run), f"{deployment} to end", seconds)
        return self.client.read_flow_run(run.id)

    def is_final(self, run: FlowRun) -> bool:
        state = self.client.read_flow_run(run.id).state
        return state is not None and state.is_final()

    def task_states(self, run: FlowRun) -> dict[str, str]:
        """The states of a flow run's tasks by name, in the order in which they started; subflows left out."""
        tasks = [task for task in self.client.read_task_runs(flow_run_filter=self._only(run)) if task.state and task.start_time]
        # Prefect represents a dispatched flow run by one more task run, which knows its child.
        own = [task for task in tasks if task.state.state_details.child_flow_run_id is None]
        return {task.name: task.state.name for task in sorted(own, key=lambda task: task.start_time)}

    def stage_runs(self, run: FlowRun) -> dict[str, FlowRun]:
        """The flow runs that a pipeline's run dispatched, by stage."""
        parent = FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[run.id]))
        return {each.name: each for each in self.client.read_flow_runs(flow_run_filter=parent)}

    def told(self, run: FlowRun, line: str, seconds: float = 15.0) -> bool:
        """Whether a line is among a flow run's logs; they reach the server some seconds after they were written."""
        end = time.monotonic() + seconds
        while line not in self.logs(run):
            if time.monotonic() > end:
                return False
            time.sleep(0.5)
        return True

    def logs(self, run: FlowRun) -> list[str]:
        found = self.client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run.id])))
        return [entry.message for entry in found]

    def artifacts(self, run: FlowRun) -> dict[str, str]:
        """The texts of the artifacts that a flow run and its tasks published, by key."""
        found = self.client.read_artifacts(artifact_filter=ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run.id])))
        return {str(artifact.key): str(artifact.data) for artifact in found}

    def _only(self, run: FlowRun) -> FlowRunFilter:
        return FlowRunFilter(id=FlowRunFilterId(any_=[run.id]))


@pytest.fixture(scope="session")
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prefect]:
    """The server and its two workers; started once, workers stopped before the server."""
    home = tmp_path_factory.mktemp("prefect")
    port = free_port()
    url = f"http://127.0.0.1:{port}/api"
    hidden = ("MLFLOW_", "PREFECT_", "RUNGS_")
    env = {key: value for key, value in os.environ.items() if not key.startswith(hidden)} | {
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": url,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "DO_NOT_TRACK": "1",
        "OMP_NUM_THREADS": "1",
        "DVC_NO_ANALYTICS": "1",
        "PYTHONPATH": str(ROOT),
    }
    server = ["prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with ExitStack() as stack:
        running = stack.enter_context(background(server, env, home / "server.log"))

        def answers() -> bool:
            assert running.poll() is None, (home / "server.log").read_text()
            try:
                with urlopen(f"{url}/health", timeout=2):
                    return True
            except (URLError, TimeoutError, ConnectionError):
                return False

        wait_until(answers, "the Prefect server")
        stack.enter_context(temporary_settings({PREFECT_API_URL: url}))
        client = stack.enter_context(get_client(sync_client=True))
        for pool in POOLS:
            command = ["prefect", "worker", "start", "--pool", pool, "--type", "process", "--name", f"worker-{pool}"]
            stack.enter_context(background(command, env, home / f"worker-{pool}.log"))
        wait_until(lambda: all(_online(client, pool) for pool in POOLS), "the workers")
        yield Prefect(url, env, client)


def _online(client: SyncPrefectClient, pool: str) -> bool:
    if not client.read_work_pools(work_pool_filter=WorkPoolFilter(name=WorkPoolFilterName(any_=[pool]))):
        return False  # the worker makes the pool when it starts
    return any(worker.status == WorkerStatus.ONLINE for worker in client.read_workers_for_work_pool(pool))
