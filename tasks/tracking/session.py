"""What the recorder does with messages: each public method of Session is one, and `serve` runs them in order.

Needs MLflow; imported by the recorder process only. Left out: the socket (`recorder`).
"""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlflow
from filelock import FileLock
from mlflow import MlflowClient
from mlflow.entities import Metric
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from tasks.tracking import store
from tasks.tracking.pipeline import FOLDER, Store, last_pipeline, workspace, write_json
from tasks.tracking.values import clean_name

METRICS_PER_BATCH = 1000
"""The most metrics that MLflow takes in one call."""

FAILURES = (MlflowException, SQLAlchemyError, OSError)
"""What MLflow raises when its store is out of reach, full, damaged, or refuses a value."""

Message = dict[str, Any]

LOCK_SECONDS = 60.0
"""How long to wait for another stage of this workspace that is starting its run."""


class Session:
    """One stage's conversation with MLflow. Methods are the messages; a returned mapping is the reply."""

    def __init__(self, target: Store) -> None:
        self.target = target
        mlflow.set_tracking_uri(target.uri)  # for traces, whose feedback call takes no client
        self._client = MlflowClient(target.uri)
        with _lock():
            self._experiment = store.open_experiment(self._client, target)
        self._begin: Message = {}
        self._parent = ""
        self._run = ""

    def begin(self, message: Message) -> None:
        with _lock():
            store.reconcile(self._client, self._experiment)
            parent = store.find_parent(self._client, self._experiment, message["pipeline"])
            if parent is None:
                parent = store.start_parent(self._client, self._experiment, message)
                parent = self._client.get_run(parent.info.run_id)
            elif parent.info.status not in store.LIVE:
                self._client.update_run(parent.info.run_id, "RUNNING")  # a retry of a stage that failed
            self._begin, self._parent = message, str(parent.info.run_id)
            self._run = str(store.start_stage(self._client, self._experiment, parent, message).info.run_id)
            self._note("RUNNING", "RUNNING")

    def _note(self, status: str, pipeline_status: str) -> None:
        """Brings .rungs/pipeline.json up to date; the caller holds the lock."""
        known = last_pipeline()
        if known.get("run_id") != self._parent:
            known = {"stages": {}}
        stage = {"run_id": self._run, "url": self.target.page(self._experiment, self._run), "status": status}
        note = {
            "pipeline": self._begin["pipeline"],
            "uri": self.target.uri,
            "experiment": self.target.experiment,
            "experiment_id": self._experiment,
            "run_id": self._parent,
            "url": self.target.page(self._experiment, self._parent),
            "status": pipeline_status,
            "stages": {**known["stages"], self._begin["stage"]: stage},
        }
        write_json(folder() / "pipeline.json", note)

    def _note_pipeline(self, run_id: str, status: str) -> None:
        """Writes a pipeline's end into .rungs/pipeline.json if that speaks of it; the caller holds the lock."""
        known = last_pipeline()
        if known.get("run_id") == run_id:
            write_json(folder() / "pipeline.json", {**known, "status": status})

    def where(self, message: Message) -> dict[str, str]:
        return {"run_id": self._run, "url": self.target.page(self._experiment, self._run)}

    def metrics(self, message: Message) -> None:
        items = message.get("merged", [message])
        self._log_metrics(self._run, [Metric(n, v, i["time"], i["step"] or 0) for i in items for n, v in i["values"].items()])
        # A stage's final figures also stand on the pipeline's run, where pipelines are compared.
        place = clean_name(self._begin["stage"].replace("@", "/"))
        final = [item for item in items if item["step"] is None]
        self._log_metrics(
            self._parent, [Metric(f"{place}/{n}", v, i["time"], 0) for i in final for n, v in i["values"].items()]
        )

    def _log_metrics(self, run_id: str, metrics: list[Metric]) -> None:
        for start in range(0, len(metrics), METRICS_PER_BATCH):
            self._client.log_batch(run_id, metrics=metrics[start : start + METRICS_PER_BATCH])

    def artifact(self, message: Message) -> dict[str, str]:
        path, place = Path(message["path"]), message["folder"] or None
        if path.is_dir():
            self._client.log_artifacts(self._run, str(path), place)
        else:
            self._client.log_artifact(self._run, str(path), place)
        return {}

    def dataset(self, message: Message) -> None:
        store.log_dataset(self._client, self._run, self._parent, message)

    def traces(self, message: Message) -> None:
        for trace in message["traces"]:
            store.log_trace(self._client, self._experiment, self._run, trace)

    def tag(self, message: Message) -> None:
        self._client.set_tag(self._run, message["key"], message["value"])

    def end(self, message: Message) -> dict[str, str]:
        status = message["status"]
        if message.get("traceback"):
            self._client.log_text(self._run, message["traceback"], "traceback.txt")
        store.end_run(self._client, self._run, status, message.get("error", ""))
        over = message["last"] or self._begin["by_hand"] or status != "FINISHED"
        if over:
            why = f"Stage {self._begin['stage']} ended {status}." if status != "FINISHED" else ""
            store.end_run(self._client, self._parent, status, why)
        with _lock():
            self._note(status, status if over else "RUNNING")
        self._run = ""
        return {}

    def abandon(self, status: str, why: str) -> None:
        """Ends the run, if it is still live, with a status and a reason."""
        if self._run:
            self.end({"status": status, "last": False, "error": why})

    def finish(self, message: Message) -> dict[str, str]:
        parent = store.find_parent(self._client, self._experiment, message["pipeline"])
        if parent is None:
            return {}
        if parent.info.status in store.LIVE:
            store.end_run(self._client, parent.info.run_id, message["status"])
            with _lock():
                self._note_pipeline(parent.info.run_id, message["status"])
        return {"url": self.target.page(self._experiment, parent.info.run_id)}

    def reconcile(self, message: Message) -> Message:
        with _lock():
            ended = store.reconcile(self._client, self._experiment)
            for run in ended:
                self._note_pipeline(run.info.run_id, run.info.status)
        pages = [(run, self.target.page(self._experiment, run.info.run_id)) for run in ended]
        return {"ended": [{"name": run.info.run_name, "status": run.info.status, "url": url} for run, url in pages]}


def serve(lines: queue.SimpleQueue[Message | None], reply: Callable[[Message], None], turn: threading.RLock) -> Store | None:
    """Takes one stage's messages until they end (None). Returns where it recorded, None if nothing came.

    `turn` is held while MLflow works, so that connections take turns. An error of MLflow's ends the run
    FAILED if it can, and the conversation with it.
    """
    opening = lines.get()
    if opening is None:
        return None
    target = Store(opening["uri"], opening["experiment"], opening["artifacts"])
    held: list[Message | None] = []
    session = None
    try:
        with turn:
            session = Session(target)
        while (message := _next(lines, held)) is not None:
            with turn:
                answer = getattr(session, message["do"])(message)
            if answer is not None:
                reply(answer)
        with turn:
            session.abandon("KILLED", store.VANISHED)
    except FAILURES as error:
        traceback.print_exc()
        what = _message(target.uri, error)
        if session is not None:
            try:
                with turn:
                    session.abandon("FAILED", what)
            except FAILURES:
                traceback.print_exc()  # the store is out of reach: the next start reconciles the run
        reply({"error": what})
    return target


def _next(lines: queue.SimpleQueue[Message | None], held: list[Message | None]) -> Message | None:
    """The next message. Metrics that wait in a row become one: a loop may send hundreds while MLflow is imported."""
    message = held.pop() if held else lines.get()
    if message is None or message["do"] != "metrics":
        return message
    merged = [message]
    while not lines.empty():
        following = lines.get()
        if following is None or following["do"] != "metrics":
            held.append(following)
            break
        merged.append(following)
    return {"do": "metrics", "merged": merged}


def _message(uri: str, error: Exception) -> str:
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return (
        f"MLflow store {uri}: {first.rstrip('.')}. Make it reachable and writable, set MLFLOW_TRACKING_URI to another store,"
        f" or turn tracking off (`tracking.enabled: false` in params.yaml). Details: {folder() / 'tracking.log'}."
    )


def leave(target: Store) -> None:
    """The last act of a recorder: ends what the pipeline's process left live, because it stopped before the end."""
    try:
        Session(target).reconcile({})
    except FAILURES:
        traceback.print_exc()  # nobody listens any more; the next start does it


def folder() -> Path:
    return workspace() / FOLDER


def _lock() -> FileLock:
    folder().mkdir(parents=True, exist_ok=True)
    return FileLock(folder() / "pipeline.lock", timeout=LOCK_SECONDS)
