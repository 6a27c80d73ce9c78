"""Creates what the Prefect pages and workers need: work pools, deployments, and a schedule.

Run: `python -m flows.deploy` in the workspace, with a Prefect server running (`python -m flows.ui`). It
makes the pools `cpu` and `cuda` (type process), the deployments `stage/cpu`, `stage/cuda` and
`pipeline/rungs`, and a schedule that stays inactive until `--active` or the page's switch. Running it
again brings everything up to date. Then start workers: `prefect worker start --pool cpu`.

Left out: containers and cluster pools. A pool of that kind with the same name is kept as it is.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.objects import ConcurrencyLimitConfig
from prefect.client.schemas.schedules import CronSchedule
from prefect.deployments.runner import EntrypointType, RunnerDeployment
from prefect.exceptions import ObjectNotFound
from prefect.flows import Flow
from prefect.runner.storage import LocalStorage
from prefect.schedules import Cron
from prefect.workers.process import ProcessWorker
from pydantic import ValidationError

from flows import server
from flows.dag import POOLS, read_dag
from flows.pipeline import pipeline
from flows.stage import guarded, stage

NIGHTLY = "0 3 * * *"


def make_pools(client: SyncPrefectClient, gpus: int) -> list[str]:
    """Makes the pools, or updates their limits. The cuda pool runs at most `gpus` stages at once."""
    said = []
    for name in POOLS:
        limit = gpus if name == "cuda" else None
        try:
            known = client.read_work_pool(name)
            client.update_work_pool(name, WorkPoolUpdate(concurrency_limit=limit))
            said.append(f"work pool {name} (type {known.type}) was there")
        except ObjectNotFound:
            client.create_work_pool(
                WorkPoolCreate(
                    name=name,
                    type="process",
                    base_job_template=ProcessWorker.get_default_base_job_template(),
                    concurrency_limit=limit,
                    description=f"Stages with `meta: {{pool: {name}}}` in dvc.yaml",
                )
            )
            said.append(f"work pool {name} (type process) made")
    return said


def make_deployments(workspace: Path, cron: str, active: bool, dispatch: bool) -> list[str]:
    """Makes or updates the deployments; their runs work in `workspace`."""
    for pool in POOLS:
        _apply(stage, pool, pool, workspace, f"One stage of dvc.yaml on the {pool} pool")
    _apply(
        pipeline,
        "rungs",
        "cpu",
        workspace,
        "The whole DAG of dvc.yaml",
        parameters={"dispatch": dispatch},
        schedules=[Cron(cron, active=active, slug="nightly")],
        # One DVC process per workspace: a second run waits for the first.
        concurrency_limit=ConcurrencyLimitConfig(limit=1),
    )
    schedule = f"deployment pipeline/rungs, schedule {cron!r} {'active' if active else 'inactive'}"
    return [*(f"deployment stage/{pool}" for pool in POOLS), schedule]


def _apply(flow: Flow[..., None], name: str, pool: str, workspace: Path, description: str, **more: Any) -> None:
    code = str(Path(__file__).resolve().parents[1])
    deployment = RunnerDeployment.from_flow(
        flow,
        name=name,
        work_pool_name=pool,
        # A worker starts a plain Python, which must find this code from the workspace.
        job_variables={"working_dir": str(workspace), "env": {"PYTHONPATH": code}},
        entrypoint_type=EntrypointType.MODULE_PATH,
        description=description,
        **more,
    )
    # Without this, a run begins by copying the folder, data and all, to where it works.
    deployment.storage = LocalStorage(str(workspace))
    deployment.apply()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m flows.deploy", description="Make work pools, deployments and a schedule.")
    parser.add_argument(
        "--workspace", type=Path, default=Path.cwd(), help="the project's folder that runs work in (default: here)"
    )
    parser.add_argument("--cron", default=NIGHTLY, help=f"when the schedule runs the pipeline (default {NIGHTLY!r})")
    parser.add_argument("--active", action="store_true", help="switch the schedule on")
    parser.add_argument("--gpus", type=int, default=1, help="stages that the cuda pool runs at once (default 1)")
    parser.add_argument("--here", action="store_true", help="pipeline/rungs runs all stages itself instead of dispatching them")
    args = parser.parse_args(argv)
    try:
        CronSchedule(cron=args.cron)
    except ValidationError:
        parser.error(f"--cron {args.cron!r} is no cron expression; {NIGHTLY!r} means 03:00 every night")

    def run() -> None:
        workspace = args.workspace.resolve()
        read_dag(workspace)
        with server.connected(need_server=True) as url, get_client(sync_client=True) as client:
            done = make_pools(client, args.gpus) + make_deployments(workspace, args.cron, args.active, not args.here)
        print("\n".join(done))
        print("Start a worker for each pool, each in a terminal of its own:")
        for pool in POOLS:
            print(f"  PREFECT_API_URL={url} prefect worker start --pool {pool}")
        print("Run it: prefect deployment run pipeline/rungs")

    return guarded(run)


if __name__ == "__main__":
    raise SystemExit(main())
