"""One stage as a flow: what a worker of the `cpu` or `cuda` pool runs.

Run: by a worker, through the deployments `stage/cpu` and `stage/cuda` (`python -m flows.deploy`), or here:
`python -m flows.stage rollout@r1`.

Left out: moving data. A worker runs in a workspace that has the stage's inputs (the same folder, or a
clone after `dvc pull`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL

from flows import server
from flows.command import LockBusyError, StageFailedError, run_stage
from flows.dag import DagError, Stage, figures, read_dag
from tasks.tracking import TrackingError, finish_pipeline, last_pipeline
from tasks.tracking.process import this_process


def pipeline_environment() -> dict[str, str]:
    """What the stages' processes must know to share one MLflow parent run with this flow run."""
    return {
        "RUNGS_PIPELINE": str(flow_run.id),
        "RUNGS_PIPELINE_OWNER": this_process().text(),
        # A temporary server's page is gone when somebody follows the link.
        "RUNGS_FLOW_RUN_URL": str(flow_run.ui_url or "") if PREFECT_API_URL.value() else "",
        "RUNGS_FLOW_RUN_NAME": str(flow_run.name),
    }


def execute(stage: Stage, environment: Mapping[str, str]) -> bool:
    """Runs a stage inside a Prefect run: its output becomes the run's log, its figures an artifact.

    Returns whether it ran (False: DVC found it unchanged). Raises StageFailedError or LockBusyError.
    """
    ran = run_stage(stage.name, environment, get_run_logger().info)
    publish(stage, environment, "" if ran else "Unchanged since its last run: DVC had nothing to do.")
    return ran


def publish(stage: Stage, environment: Mapping[str, str], remark: str = "") -> None:
    """Publishes a stage's figures, and a link to its MLflow run if this pipeline made one, as an artifact."""
    lines = [f"### {stage.name}", "", *([remark, ""] if remark else [])]
    if url := mlflow_page(stage.name, environment.get("RUNGS_PIPELINE", "")):
        lines += [f"[MLflow run]({url})", ""]
    if values := figures(stage):
        lines += [
            "| figure | value |",
            "|---|---:|",
            *(f"| {_cell(name)} | {_number(text)} |" for name, text in values.items()),
        ]
    create_markdown_artifact("\n".join(lines), key=stage.slug, description=f"Figures of stage {stage.name}")


def mlflow_page(stage: str, pipeline: str) -> str:
    """The address of the MLflow run of a stage (or of the pipeline: '') in the pipeline run with this key; '' if none."""
    known = last_pipeline()
    if known.get("pipeline") != pipeline:
        return ""
    return str(known["stages"].get(stage, {}).get("url", "") if stage else known["url"])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _number(text: str) -> str:
    """A number as people read it: at most four significant decimals."""
    try:
        value = float(text)
    except ValueError:
        return _cell(text)
    return text if value.is_integer() else f"{value:.4g}"


@flow(name="stage", flow_run_name="{name}", persist_result=False)
def stage(name: str, environment: dict[str, str] | None = None) -> None:
    """Runs one stage of dvc.yaml. `environment` comes from the pipeline that this stage is part of, if any."""
    server.claim(flow_run.id)
    known = {each.name: each for each in read_dag()}
    if name not in known:
        raise DagError(f"no stage {name!r} in dvc.yaml; it has {', '.join(known)}")
    if environment:
        execute(known[name], environment)
        return
    own = pipeline_environment()
    status = "FAILED"
    try:
        execute(known[name], own)
        status = "FINISHED"
    finally:
        end_tracking(own["RUNGS_PIPELINE"], status)


def end_tracking(pipeline: str, status: str) -> None:
    """Ends the MLflow parent run of a pipeline, if it has one that is still live."""
    known = last_pipeline()
    if known.get("pipeline") == pipeline and known.get("status") == "RUNNING":
        finish_pipeline(status, pipeline)


ERRORS: tuple[type[Exception], ...] = (server.ServerError, DagError, LockBusyError, StageFailedError, TrackingError)
"""What these flows report as a message and exit code 1."""


def guarded(run: Any) -> int:
    """Calls `run()`; a known error becomes a message on standard error. Returns the process's exit code."""
    try:
        run()
    except ERRORS as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m flows.stage", description="Run one stage of dvc.yaml as a Prefect flow.")
    parser.add_argument("name", help="the stage, as `dvc stage list` says it")
    name = parser.parse_args(argv).name

    def run() -> None:
        with server.connected():
            stage(name)

    return guarded(run)


if __name__ == "__main__":
    raise SystemExit(main())
