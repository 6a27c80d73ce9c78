"""What the recorder does in MLflow, with explicit run ids: runs, their ends, data sets, traces.

Needs MLflow; imported by the recorder process only. Functions take an MlflowClient and an experiment id.
Runs carry tags that say whose they are: `rungs.role` (pipeline | stage), `rungs.pipeline` (the key of
tasks.tracking.pipeline) and `rungs.process` (host|pid|created of the process whose end is theirs).

Left out: deletion and retention (MLflow's own `mlflow gc`).
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import mlflow
import psutil
from mlflow import MlflowClient
from mlflow.entities import (
    AssessmentSource,
    Dataset,
    DatasetInput,
    InputTag,
    Param,
    Run,
    RunTag,
    SpanStatusCode,
    SpanType,
    ViewType,
)
from mlflow.exceptions import MlflowException

from tasks.tracking import process
from tasks.tracking.pipeline import Store

PARAMS_PER_BATCH = 100
"""The most parameters or tags that MLflow takes in one call."""

LIVE = ("RUNNING", "SCHEDULED")

VANISHED = "The process ended without a word: killed, or out of memory."


def open_experiment(client: MlflowClient, store: Store) -> str:
    """The id of the store's experiment, made when missing."""
    experiment = client.get_experiment_by_name(store.experiment)
    if experiment is not None:
        if experiment.lifecycle_stage != "active":
            raise MlflowException(
                f"experiment {store.experiment!r} is deleted; restore it with"
                f" `mlflow experiments restore -x {experiment.experiment_id}` or set MLFLOW_EXPERIMENT_NAME"
            )
        return str(experiment.experiment_id)
    location = Path(store.artifacts).resolve().as_uri() if store.artifacts else None
    # The kind decides which of MLflow's two faces the page shows: runs first, not generative AI's dashboards.
    tags = {"mlflow.experimentKind": "custom_model_development"}
    return str(client.create_experiment(store.experiment, artifact_location=location, tags=tags))


def start_parent(client: MlflowClient, experiment_id: str, begin: Mapping[str, Any]) -> Run:
    """Makes the parent run of the pipeline that `begin` belongs to, with all parameters and the git commit."""
    when = datetime.now().strftime("%Y-%m-%d %H:%M")
    if begin["flow_name"]:
        name, how = f"flow {begin['flow_name']}", f"Prefect flow run [{begin['flow_name']}]({begin['flow_run']})"
    elif begin["by_hand"]:
        name, how = f"by hand {when}", f"One stage by hand: `{begin['command']}`"
    else:
        name, how = f"pipeline {when}", "One run of the pipeline by DVC"
    tags = {
        "rungs.role": "pipeline",
        "rungs.pipeline": begin["pipeline"],
        "rungs.process": begin["owner"],
        "mlflow.source.name": begin["command"] if begin["by_hand"] else "dvc.yaml",
        "mlflow.source.type": "LOCAL",
        "mlflow.user": _user(),
        "mlflow.note.content": f"{how}. The stages are the runs nested below.",
        **git_tags(),
    }
    if begin["flow_run"]:
        tags["rungs.flow_run"] = begin["flow_run"]
    run = client.create_run(experiment_id, tags=tags, run_name=name)
    log_params(client, run.info.run_id, begin["parameters"])
    return run


def start_stage(client: MlflowClient, experiment_id: str, parent: Run, begin: Mapping[str, Any]) -> Run:
    """Makes the run of one stage below `parent`."""
    inherited = ("mlflow.source.git.commit", "rungs.git.dirty", "rungs.flow_run")
    tags = {
        "rungs.role": "stage",
        "rungs.pipeline": begin["pipeline"],
        "rungs.process": begin["process"],
        "rungs.stage": begin["stage"],
        "rungs.round": begin["round"],
        "mlflow.parentRunId": parent.info.run_id,
        "mlflow.source.name": begin["command"],
        "mlflow.source.type": "LOCAL",
        "mlflow.user": _user(),
        **{key: parent.data.tags[key] for key in inherited if key in parent.data.tags},
    }
    run = client.create_run(experiment_id, tags=tags, run_name=begin["stage"])
    log_params(client, run.info.run_id, begin["own_parameters"])
    return run


def _user() -> str:
    # Not getpass: in a container the user may have no name, and then psutil gives its number.
    return psutil.Process().username()


def git_tags() -> dict[str, str]:
    """The commit of the current folder and whether tracked files differ from it (dvc.lock aside); empty outside git."""
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10)
        if commit.returncode != 0:
            return {}
        # dvc.lock changes with every stage of the very run that this describes.
        differs = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", ".", ":!dvc.lock"], capture_output=True, timeout=30)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return {}
    return {"mlflow.source.git.commit": commit.stdout.strip(), "rungs.git.dirty": str(differs.returncode != 0).lower()}


def log_params(client: MlflowClient, run_id: str, params: Mapping[str, str]) -> None:
    items = [Param(key, value) for key, value in params.items()]
    for start in range(0, len(items), PARAMS_PER_BATCH):
        client.log_batch(run_id, params=items[start : start + PARAMS_PER_BATCH])


def find_parent(client: MlflowClient, experiment_id: str, key: str) -> Run | None:
    """The parent run of the pipeline `key`, None when there is none."""
    quoted = key.replace("'", "")
    query = f"tags.`rungs.pipeline` = '{quoted}' and tags.`rungs.role` = 'pipeline'"
    found = client.search_runs([experiment_id], query, ViewType.ACTIVE_ONLY, max_results=1)
    return found[0] if found else None


def children(client: MlflowClient, experiment_id: str, parent_id: str) -> list[Run]:
    return list(client.search_runs([experiment_id], f"tags.`mlflow.parentRunId` = '{parent_id}'", max_results=1000))


def end_run(client: MlflowClient, run_id: str, status: str, why: str = "") -> None:
    if why:
        client.log_batch(run_id, tags=[RunTag("rungs.error", why[:4000]), RunTag("mlflow.note.content", why[:4000])])
    client.set_terminated(run_id, status)


def reconcile(client: MlflowClient, experiment_id: str) -> list[Run]:
    """Ends live runs whose process ran on this host and is gone. Returns them as they are now.

    A stage without its process was killed: whatever Python can report, it reports. A pipeline without
    its process ended as its stages did, for instance a `dvc repro` that stopped before the last stage.
    """
    live = list(client.search_runs([experiment_id], "attributes.status = 'RUNNING'", max_results=1000))
    gone = [run for run in live if (owner := process.parse(run.data.tags.get("rungs.process", ""))) and owner.gone()]
    for run in gone:
        if run.data.tags.get("rungs.role") != "pipeline":
            end_run(client, run.info.run_id, "KILLED", VANISHED)
    for run in gone:
        if run.data.tags.get("rungs.role") == "pipeline":
            statuses = {child.info.status for child in children(client, experiment_id, run.info.run_id)}
            end_run(client, run.info.run_id, worst(statuses))
    return [client.get_run(run.info.run_id) for run in gone]


def worst(statuses: set[str]) -> str:
    """The status of a pipeline from those of its stages; without one, it was killed before it did anything."""
    if not statuses:
        return "KILLED"
    return next((status for status in ("FAILED", "KILLED") if status in statuses), "FINISHED")


def log_dataset(client: MlflowClient, run_id: str, parent_id: str, message: Mapping[str, Any]) -> None:
    """Notes a data set on the stage's run, and its digest as a tag of the pipeline's."""
    source = Dataset(
        name=message["name"],
        digest=message["digest"],
        source_type="local",
        source=message["path"],
        profile=f'{{"rows": {int(message["rows"])}}}',
    )
    inputs = [DatasetInput(source, [InputTag("mlflow.data.context", "stage")])]
    client.log_inputs(run_id, inputs)
    client.set_tag(parent_id, f"data.{message['name']}", message["digest"])


def log_trace(client: MlflowClient, experiment_id: str, run_id: str, trace: Mapping[str, Any]) -> str:
    """Records one trajectory (values.trace_of) and returns the trace's id.

    Records hold no clock times, so the spans' times say only their order: one millisecond each.
    """
    start = time.time_ns()
    spans = trace["spans"]
    root = client.start_trace(
        trace["name"],
        span_type=SpanType.AGENT,
        inputs=trace["inputs"],
        tags=trace["tags"],
        experiment_id=experiment_id,
        start_time_ns=start,
        run_id=run_id,
    )
    for index, span in enumerate(spans):
        child = client.start_span(
            span["name"],
            trace_id=root.trace_id,
            parent_id=root.span_id,
            span_type=SpanType.TOOL if span["kind"] == "TOOL" else SpanType.PARSER,
            inputs=span["inputs"],
            attributes={"step": span["step"]},
            start_time_ns=start + index * 1_000_000,
        )
        client.end_span(
            root.trace_id,
            child.span_id,
            outputs=span["outputs"],
            status=SpanStatusCode.OK if span["ok"] else SpanStatusCode.ERROR,
            end_time_ns=start + (index + 1) * 1_000_000,
        )
    client.end_trace(
        root.trace_id,
        outputs=trace["outputs"],
        status=SpanStatusCode.OK if trace["ok"] else SpanStatusCode.ERROR,
        end_time_ns=start + (len(spans) + 1) * 1_000_000,
    )
    for item in trace["feedback"]:
        mlflow.log_feedback(
            trace_id=root.trace_id,
            name=item["name"],
            value=item["value"],
            source=AssessmentSource("CODE", item["source"]),
            rationale=item["why"] or None,
        )
    return str(root.trace_id)
