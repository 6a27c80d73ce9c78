"""Which pipeline run a process belongs to, and where it is recorded.

Stages are separate processes. They share a parent run through a key: the environment variable
RUNGS_PIPELINE when set (a Prefect flow sets it to its flow run's id), else the identity of the nearest
ancestor process that is DVC (one `dvc repro`, one parent), else the stage's own identity (a stage run by
hand). `.rungs/pipeline.json` says which MLflow runs the last pipeline has; when it speaks of another
pipeline, the recorder asks MLflow for a parent tagged with the key, so several machines can share one.

Left out: locking (the recorder does that) and anything that needs MLflow.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from tasks.tracking import process

FOLDER = ".rungs"
"""Folder of the workspace that holds what processes tell each other; not under version control."""

UI = "http://127.0.0.1:5000"
"""Where the workspace's MLflow pages are when no other address is known (`make ui`)."""

_TURN_OFF = "or turn tracking off (`tracking.enabled: false` in params.yaml)"


class TrackingError(Exception):
    """MLflow cannot record; names the store and the remedy."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One pipeline run: its key, the process whose end is its end, and the pages of its flow run if any."""

    key: str
    owner: str
    by_hand: bool = False
    flow_run: str = ""
    flow_name: str = ""


@dataclass(frozen=True, slots=True)
class Store:
    """Where runs go: a tracking URI, the experiment's name, and where its artifacts lie ('': the server decides)."""

    uri: str
    experiment: str
    artifacts: str

    @property
    def remote(self) -> bool:
        return urlsplit(self.uri).scheme in ("http", "https")

    def page(self, experiment_id: str, run_id: str) -> str:
        """The address of a run's page."""
        base = self.uri.rstrip("/") if self.remote else mlflow_ui()
        # Without the query, a browser's first visit shows the run among generative AI's evaluations.
        return f"{base}/#/experiments/{experiment_id}/runs/{run_id}?workflowType=machine_learning"


def workspace() -> Path:
    """The workspace: the nearest folder at or above the current one that DVC was initialised in, else the current one."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".dvc").is_dir()), here)


def current_store(uri: str = "", experiment: str = "") -> Store:
    """Where this process records.

    MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME come first, then the arguments (`tracking.uri` and
    `tracking.experiment` of params.yaml), then the workspace's SQLite store and "rungs".
    """
    uri = os.environ.get("MLFLOW_TRACKING_URI") or uri
    experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or experiment or "rungs"
    if uri:
        return Store(uri, experiment, "")
    folder = workspace() / "mlflow"
    return Store(f"sqlite:///{folder / 'mlflow.db'}", experiment, str(folder / "artifacts"))


def last_store() -> Store:
    """Where the last pipeline run of this workspace was recorded, else `current_store()`."""
    known = last_pipeline()
    here = current_store(experiment=known.get("experiment", ""))
    return here if known.get("uri", here.uri) == here.uri else current_store(known["uri"], known["experiment"])


def mlflow_ui() -> str:
    """The address of the running MLflow pages that `flows.ui` noted, else its default."""
    return str(read_json(workspace() / FOLDER / "ui.json").get("mlflow") or UI)


def current_pipeline(key: str | None = None) -> Pipeline:
    """The pipeline run that this process belongs to (see the module's docstring), or the one with this key."""
    me = process.this_process()
    if key := key or os.environ.get("RUNGS_PIPELINE"):
        return Pipeline(
            key=key,
            owner=os.environ.get("RUNGS_PIPELINE_OWNER", ""),
            flow_run=os.environ.get("RUNGS_FLOW_RUN_URL", ""),
            flow_name=os.environ.get("RUNGS_FLOW_RUN_NAME", ""),
        )
    if dvc := process.dvc_ancestor():
        return Pipeline(key=f"dvc|{dvc.text()}", owner=dvc.text())
    return Pipeline(key=f"hand|{me.text()}", owner=me.text(), by_hand=True)


def check_store(store: Store) -> None:
    """Raises TrackingError within seconds when the store cannot be reached or written, before any work is done."""
    if store.remote:
        _check_server(store.uri)
    elif store.uri.startswith("sqlite:///"):
        _check_file(store, Path(store.uri.removeprefix("sqlite:///")))


def _check_server(uri: str) -> None:
    remedy = f"Start the server, correct MLFLOW_TRACKING_URI, unset it to record in the workspace, {_TURN_OFF}."
    try:
        with urlopen(f"{uri.rstrip('/')}/health", timeout=5):
            return
    except HTTPError as error:
        # A proxy may hide /health or ask for credentials: the server answers, so MLflow will say what it wants.
        if error.code >= 500:
            raise TrackingError(f"MLflow server {uri} answers {error.code} ({error.reason}). {remedy}") from error
    except (URLError, TimeoutError, ConnectionError) as error:
        raise TrackingError(f"MLflow server {uri} cannot be reached ({getattr(error, 'reason', error)}). {remedy}") from error


def _check_file(store: Store, database: Path) -> None:
    folders = {database.parent, Path(store.artifacts)} if store.artifacts else {database.parent}
    try:
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
            # A real write, because permission bits say nothing about a full disk or a read-only mount.
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(b"\0" * 65536)
                probe.flush()
        if database.exists():
            with closing(sqlite3.connect(database, timeout=10)) as connection:
                # MLflow itself would try again for minutes on a file that is damaged, locked or read-only.
                connection.execute("begin immediate")
                connection.rollback()
    except (OSError, sqlite3.Error) as error:
        raise TrackingError(
            f"MLflow store {store.uri} cannot be written: {error}. "
            f"Free space or make it writable, set MLFLOW_TRACKING_URI to another store, {_TURN_OFF}."
        ) from error


def last_pipeline() -> dict[str, Any]:
    """What `.rungs/pipeline.json` says of the last pipeline run; empty when there was none.

    Keys: `pipeline` (its key), `uri`, `experiment`, `experiment_id`, `run_id`, `url`, `status` and `stages`, a mapping
    of stage names to {`run_id`, `url`, `status`}.
    """
    return read_json(workspace() / FOLDER / "pipeline.json")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a small JSON file; empty when there is none."""
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, json.JSONDecodeError):
        # A note for convenience, replaced at once when wrong: MLflow itself holds the truth.
        return {}
    return found if isinstance(found, dict) else {}


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Writes through a temporary sibling, so that a reader sees the old or the new text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(value, indent=1))
    temporary.replace(path)


def finish_pipeline(status: str = "FINISHED", key: str | None = None) -> str | None:
    """Ends the parent run of the pipeline `key` (default: the current one) with an MLflow status.

    Returns the address of its page, None when the pipeline has no run. Raises TrackingError.
    """
    from tasks.tracking.client import Recorder

    pipeline = current_pipeline(key)
    with Recorder(last_store(), pipeline) as recorder:
        url = recorder.ask({"do": "finish", "pipeline": pipeline.key, "status": status}).get("url")
    return str(url) if url else None


def reconcile() -> list[dict[str, Any]]:
    """Ends runs left RUNNING by processes of this host that are gone; returns {name, status, url} of each.

    Raises TrackingError when the store cannot be used.
    """
    from tasks.tracking.client import Recorder

    with Recorder(last_store(), current_pipeline()) as recorder:
        return list(recorder.ask({"do": "reconcile"})["ended"])
