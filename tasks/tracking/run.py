"""A stage's run, as stage code sees it: `stage_run`, and the run object that it yields.

Use: see the package's docstring. Left out: everything that needs MLflow (`tasks.tracking.recorder`).
"""

from __future__ import annotations

import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, Protocol

from tasks.params import Params
from tasks.records import Score, Trajectory
from tasks.tracking import values
from tasks.tracking.client import Recorder
from tasks.tracking.pipeline import Pipeline, TrackingError, current_pipeline, current_store
from tasks.tracking.process import this_process


class Run(Protocol):
    """What a stage may say about itself. Every method raises TrackingError when MLflow cannot record."""

    @property
    def run_id(self) -> str:
        """MLflow's id of this stage's run; empty when tracking is off."""

    def url(self) -> str:
        """The address of the run's page; empty when tracking is off."""

    def metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Records numbers at one step; without a step, as the stage's final figures, on the pipeline's run too.

        None is left out; NaN and infinities are left out and counted.
        """

    def artifact(self, path: str | Path, folder: str = "") -> None:
        """Copies a file or a folder's content into the run's artifacts, under `folder`. Waits until it is copied."""

    def dataset(self, name: str, path: str | Path, digest: str, rows: int) -> None:
        """Notes a data set that the stage read or wrote: its digest (at most 36 characters) and its number of rows."""

    def traces(self, trajectories: Sequence[Trajectory], scores: Iterable[Score] = (), limit: int = 16) -> None:
        """Records at most `limit` trajectories as traces, spread over their scores."""

    def tag(self, key: str, value: str) -> None:
        """Sets a tag. `mlflow.note.content` is the description on the run's page (Markdown)."""

    def finish_pipeline(self) -> None:
        """The pipeline ends with this stage: when it succeeds, its parent run ends FINISHED."""


class NullRun:
    """The run when tracking is off: takes everything, records nothing."""

    run_id = ""

    def url(self) -> str:
        return ""

    def metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        pass

    def artifact(self, path: str | Path, folder: str = "") -> None:
        pass

    def dataset(self, name: str, path: str | Path, digest: str, rows: int) -> None:
        pass

    def traces(self, trajectories: Sequence[Trajectory], scores: Iterable[Score] = (), limit: int = 16) -> None:
        pass

    def tag(self, key: str, value: str) -> None:
        pass

    def finish_pipeline(self) -> None:
        pass


class StageRun:
    """A stage's run in MLflow. Made by `stage_run`."""

    def __init__(self, recorder: Recorder, begin: dict[str, Any]) -> None:
        self._recorder = recorder
        self._page: dict[str, str] = {}
        self._dropped = 0
        self._last = False
        recorder.send(begin)

    def _where(self) -> dict[str, str]:
        if not self._page:
            self._page = self._recorder.ask({"do": "where"})
        return self._page

    @property
    def run_id(self) -> str:
        return self._where()["run_id"]

    def url(self) -> str:
        return self._where()["url"]

    def metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        finite, dropped = values.clean_metrics(metrics)
        if dropped:
            self._dropped += dropped
            finite["nonfinite_values_dropped"] = float(self._dropped)
        if finite:
            self._recorder.send({"do": "metrics", "values": finite, "step": step, "time": int(time.time() * 1000)})

    def artifact(self, path: str | Path, folder: str = "") -> None:
        if not Path(path).exists():
            raise FileNotFoundError(f"{path}: no such file, so it cannot be kept as an artifact of this run")
        self._recorder.ask({"do": "artifact", "path": str(Path(path).resolve()), "folder": folder})

    def dataset(self, name: str, path: str | Path, digest: str, rows: int) -> None:
        self._recorder.send({"do": "dataset", "name": name, "path": str(path), "digest": digest, "rows": rows})

    def traces(self, trajectories: Sequence[Trajectory], scores: Iterable[Score] = (), limit: int = 16) -> None:
        self._recorder.send({"do": "traces", "traces": values.sample_by_score(trajectories, scores, limit)})

    def tag(self, key: str, value: str) -> None:
        self._recorder.send({"do": "tag", "key": values.clean_name(key), "value": value})

    def finish_pipeline(self) -> None:
        self._last = True

    def end(self, status: str, error: BaseException | None) -> None:
        """Ends the run and waits until everything is recorded."""
        message = {"do": "end", "status": status, "last": self._last}
        if error is not None:
            message["error"] = f"{type(error).__name__}: {error}"
            message["traceback"] = "".join(traceback.format_exception(error))
        self._recorder.ask(message)
        self._recorder.close()


def _begin(name: str, params: Mapping[str, Any], round: str | None, pipeline: Pipeline) -> dict[str, Any]:
    own = {key: value for key, value in params.items() if key == name or not isinstance(value, Mapping | list | tuple)}
    return {
        "do": "begin",
        "stage": name if round is None else f"{name}@{round}",
        "round": round or "",
        "parameters": values.flatten(params),
        "own_parameters": values.flatten(own),
        "command": f"python -m tasks.{name} {' '.join(sys.argv[1:])}".strip(),
        "process": this_process().text(),
        "pipeline": pipeline.key,
        "owner": pipeline.owner,
        "by_hand": pipeline.by_hand,
        "flow_run": pipeline.flow_run,
        "flow_name": pipeline.flow_name,
    }


@contextmanager
def stage_run(name: str, params: Params | Mapping[str, Any], round: str | None = None) -> Iterator[Run]:
    """The MLflow run of one stage, for the time of the body.

    `params` is the whole parameter tree: the parent run gets all of it, the stage's run its own section
    and the top-level values. Its `tracking` section says whether and where to record
    (`pipeline.current_store`); with `tracking.enabled: false`, yields a NullRun.

    The run ends FINISHED; FAILED when the body raises; KILLED on Ctrl-C, on SIGTERM (which becomes
    SystemExit(143) in the body, so that it can tidy up), or when the process vanishes. The exception
    goes on. Raises TrackingError before the body runs when the store cannot be reached or written.
    """
    tree = params.model_dump(mode="json", by_alias=True) if isinstance(params, Params) else params
    tracking = tree.get("tracking", {})
    if not tracking.get("enabled", True):
        yield NullRun()
        return
    pipeline = current_pipeline()
    recorder = Recorder(current_store(tracking.get("uri", ""), tracking.get("experiment", "")), pipeline)
    run = StageRun(recorder, _begin(name, tree, round, pipeline))
    try:
        with _sigterm_raises():
            yield run
    except BaseException as error:
        status = _status_of(error)
        if isinstance(error, TrackingError):
            recorder.close()  # the recorder has ended the run, or cannot
            raise
        try:
            run.end(status, None if status == "FINISHED" else error)
        except TrackingError as second:
            error.add_note(f"Besides, this failure could not be recorded. {second}")
        raise
    run.end("FINISHED", None)


def _status_of(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "FINISHED" if error.code in (None, 0) else "KILLED" if error.code == 128 + signal.SIGTERM else "FAILED"
    return "KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED"


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """SIGTERM raises SystemExit(143) in the main thread, unless somebody handles it already."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def terminate(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
