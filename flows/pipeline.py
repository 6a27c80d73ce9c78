"""The whole DAG as a Prefect flow: every stage of dvc.yaml once, in order, as a task of the stage's name.

Run: `python -m flows.pipeline` runs the stages here, one `dvc repro --single-item` each. With
`--dispatch`, each goes to the work pool that its `meta: {pool: ...}` in dvc.yaml names, through the
deployments `stage/cpu` and `stage/cuda`; that needs a Prefect server, `python -m flows.deploy`, and a
worker per pool.

Left out: parallel stages (DVC allows one process per workspace) and results in Prefect (DVC is the cache).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from uuid import UUID

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun, State, WorkerStatus
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound
from prefect.runtime import flow_run
from prefect.states import Cancelling
from prefect.utilities.urls import url_for

from flows import server
from flows.command import StageFailedError, check_lock
from flows.dag import Stage, read_dag
from flows.stage import end_tracking, execute, guarded, mlflow_page, pipeline_environment, publish

POLL_SECONDS = 1.0
"""How often a dispatched stage's run is looked at."""

PATIENCE_SECONDS = 60.0
"""How long a dispatched stage may wait for a worker when its pool has none that is online."""


@task(cache_policy=NO_CACHE, persist_result=False)
def run_here(stage: Stage, environment: Mapping[str, str]) -> None:
    """Runs a stage in this process's workspace."""
    execute(stage, environment)


@task(cache_policy=NO_CACHE, persist_result=False)
def run_there(stage: Stage, environment: Mapping[str, str]) -> None:
    """Runs a stage by the deployment of its pool, and waits for it. Raises StageFailedError."""
    logger = get_run_logger()
    started = run_deployment(
        f"stage/{stage.pool}",
        parameters={"name": stage.name, "environment": dict(environment)},
        flow_run_name=stage.name,
        timeout=0,
    )
    assert isinstance(started, FlowRun)
    logger.info("Stage %s goes to the work pool %s, flow run %s", stage.name, stage.pool, started.id)
    with get_client(sync_client=True) as client:
        try:
            finished = _wait(client, stage, started.id)
        except BaseException:
            # This flow is being cancelled or gives up: the stage must not go on without it.
            client.set_flow_run_state(started.id, Cancelling(message="The pipeline ended."))
            raise
    state = finished.state
    if state is None or not state.is_completed():
        raise StageFailedError(
            f"stage {stage.name} on pool {stage.pool}: {state.name if state else '?'}. {state.message if state else ''}"
        )
    page = url_for(started)
    where = f"[flow run {started.name}]({page})" if page else f"flow run {started.id}"
    publish(stage, environment, f"Ran on the work pool {stage.pool}: {where}, which holds its log.")


def _wait(client: SyncPrefectClient, stage: Stage, run_id: UUID) -> FlowRun:
    """Waits until a flow run is final. Raises StageFailedError when its pool has no worker for PATIENCE_SECONDS."""
    alone_since = time.monotonic()
    while True:
        run = client.read_flow_run(run_id)
        if run.state is not None and run.state.is_final():
            return run
        if run.state is None or not run.state.is_scheduled() or _has_worker(client, stage.pool):
            alone_since = time.monotonic()
        if time.monotonic() - alone_since > PATIENCE_SECONDS:
            raise StageFailedError(
                f"stage {stage.name} waited {PATIENCE_SECONDS:.0f} s for a worker of the pool {stage.pool}, and none is"
                f" online. Start one: `prefect worker start --pool {stage.pool}`."
            )
        time.sleep(POLL_SECONDS)


def _has_worker(client: SyncPrefectClient, pool: str) -> bool:
    return any(worker.status == WorkerStatus.ONLINE for worker in client.read_workers_for_work_pool(pool))


def _check_deployments(stages: list[Stage]) -> None:
    """Raises ServerError when a pool's deployment is missing, before any stage runs."""
    with get_client(sync_client=True) as client:
        for pool in sorted({stage.pool for stage in stages}):
            try:
                client.read_deployment_by_name(f"stage/{pool}")
            except ObjectNotFound as error:
                raise server.ServerError(
                    f"Prefect has no deployment stage/{pool}. Make it with `python -m flows.deploy`, or run without dispatch."
                ) from error


@flow(name="pipeline", persist_result=False)
def pipeline(dispatch: bool = False) -> None:
    """Runs every stage of dvc.yaml that is not up to date, in order. `dispatch`: by the workers of its pool."""
    server.claim(flow_run.id)
    for name in server.reconcile():
        get_run_logger().warning("Flow run %s had lost its process; it is marked Crashed now", name)
    check_lock()
    stages = read_dag()
    if dispatch:
        _check_deployments(stages)
    environment = pipeline_environment()
    status = "FAILED"
    try:
        _run_all(stages, environment, dispatch)
        status = "FINISHED"
    finally:
        end_tracking(environment["RUNGS_PIPELINE"], status)
        _link(environment["RUNGS_PIPELINE"])


def _run_all(stages: list[Stage], environment: Mapping[str, str], dispatch: bool) -> None:
    run = run_there if dispatch else run_here
    states: dict[str, State[None]] = {}
    for stage in stages:
        named = run.with_options(name=stage.name, task_run_name=stage.name)
        # The states say to Prefect which stage waited for which, so that its page draws DVC's graph.
        states[stage.name] = named(stage, environment, wait_for=[states[need] for need in stage.needs], return_state=True)
        states[stage.name].result()


def _link(key: str) -> None:
    """Publishes the address of the pipeline's MLflow run, if it made one."""
    if url := mlflow_page("", key):
        create_markdown_artifact(f"[MLflow run of this pipeline]({url})", key="pipeline", description="MLflow run")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m flows.pipeline", description="Run the DAG of dvc.yaml as a Prefect flow.")
    parser.add_argument("--dispatch", action="store_true", help="run each stage by a worker of its pool (needs flows.deploy)")
    dispatch = parser.parse_args(argv).dispatch

    def run() -> None:
        with server.connected(need_server=dispatch) as url:
            print(f"Prefect: {url.removesuffix('/api') or 'a temporary server; `python -m flows.ui` shows its runs later'}")
            pipeline(dispatch=dispatch)

    return guarded(run)


if __name__ == "__main__":
    raise SystemExit(main())
