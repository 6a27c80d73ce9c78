"""The stage's side of the recorder: finds or starts the process, sends messages, hands its errors on.

A pipeline run has one recorder, started by its first stage and used by the following ones, over a Unix
socket that only this user can open. A message is one line of JSON. `send` does not wait; `ask` waits for
the reply. An error that the recorder met is raised as TrackingError by the next call of either.

Left out: restarting a recorder that failed. What it could not record is lost only from MLflow: a stage's
outputs are DVC's, and a rerun records anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from filelock import FileLock

from tasks.tracking.pipeline import FOLDER, Pipeline, Store, TrackingError, check_store, read_json, workspace, write_json

REPLY_SECONDS = 120.0
"""How long `ask` waits. MLflow gives up on its own within half of that (recorder.ENVIRONMENT)."""

LOCK_SECONDS = 60.0

ONCE = "once"
"""Told to a recorder instead of the pipeline's process: leave after the first connection."""


class Recorder:
    """A connection to the recorder of a pipeline run. Use it as a context manager, or call `close`.

    Raises TrackingError when the store cannot be reached or written.
    """

    def __init__(self, store: Store, pipeline: Pipeline) -> None:
        check_store(store)
        self._store = store
        self._replies: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._error = ""
        self._lock = threading.Lock()
        self._socket = _connect(store, pipeline)
        threading.Thread(target=self._read, args=(self._socket.makefile("rb"),), daemon=True).start()
        self.send({"do": "open", "uri": store.uri, "experiment": store.experiment, "artifacts": store.artifacts})

    def _read(self, replies: IO[bytes]) -> None:
        with contextlib.suppress(ConnectionError):  # the recorder died: the same as the end of its replies
            for line in replies:
                reply = json.loads(line)
                self._error = self._error or reply.get("error", "")
                self._replies.put(reply)
        self._replies.put({"closed": True})

    def send(self, message: dict[str, Any]) -> None:
        """Sends one message and returns. Raises TrackingError for an error met since the last call."""
        self._raise()
        try:
            with self._lock:
                self._socket.sendall(json.dumps(message).encode() + b"\n")
        except (BrokenPipeError, ConnectionError) as error:
            while not self._replies.get(timeout=REPLY_SECONDS).get("closed"):
                pass  # the recorder's last words, which `_read` looks at
            self._raise()
            raise self._died() from error

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Sends one message and returns its reply. Raises TrackingError, also when none comes in REPLY_SECONDS."""
        self.send(message)
        try:
            reply = self._replies.get(timeout=REPLY_SECONDS)
        except queue.Empty as error:
            what = f"no answer to {message['do']!r} within {REPLY_SECONDS:.0f} s"
            raise TrackingError(f"MLflow store {self._store.uri}: {what}. See {_log()}.") from error
        self._raise()
        if reply.get("closed"):
            raise self._died()
        return reply

    def _raise(self) -> None:
        if self._error:
            raise TrackingError(self._error)

    def _died(self) -> TrackingError:
        lines = _log().read_text(errors="replace").strip().splitlines()
        last = lines[-1].strip() if lines else "no message"
        return TrackingError(f"MLflow store {self._store.uri}: the recorder process ended ({last}). Its log: {_log()}.")

    def close(self) -> None:
        """Ends the connection; the recorder stays for the pipeline's next stage."""
        self._socket.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _folder() -> Path:
    return workspace() / FOLDER


def _log() -> Path:
    return _folder() / "tracking.log"


def lock() -> FileLock:
    """Held while a recorder is looked for, started, or leaves."""
    _folder().mkdir(parents=True, exist_ok=True)
    return FileLock(_folder() / "recorder.lock", timeout=LOCK_SECONDS)


def note() -> Path:
    """The file that says which recorder the workspace has: `pipeline`, `socket`, `process`."""
    return _folder() / "recorder.json"


def _connect(store: Store, pipeline: Pipeline) -> socket.socket:
    with lock():
        known = read_json(note())
        if known.get("pipeline") == pipeline.key and known.get("uri") == store.uri:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(known["socket"])
                return connection
            except (ConnectionRefusedError, FileNotFoundError):
                connection.close()  # that recorder was killed; another takes its place
        return _start(store, pipeline)


def _start(store: Store, pipeline: Pipeline) -> socket.socket:
    # Not in the workspace: a socket's path holds 107 bytes at most.
    folder = Path(tempfile.gettempdir()) / f"rungs-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{uuid.uuid4().hex[:12]}.sock"
    # The socket listens before the process runs, so that there is nothing to wait for.
    with socket.socket(socket.AF_UNIX) as listener, _log().open("w") as log:
        listener.bind(str(path))
        listener.listen()
        owner = ONCE if pipeline.by_hand else pipeline.owner
        child = subprocess.Popen(
            [sys.executable, "-m", "tasks.tracking.recorder", str(listener.fileno()), str(path), owner],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[listener.fileno()],
            # Its own session: Ctrl-C ends the stage, and the recorder lives on to record that.
            start_new_session=True,
            env=_environment(),
        )
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(path))
    # Nobody waits for it: it leaves by itself after the pipeline's process. Told so that Popen does not warn.
    child.returncode = 0
    write_json(note(), {"pipeline": pipeline.key, "uri": store.uri, "socket": str(path), "pid": child.pid})
    return connection


def _environment() -> dict[str, str]:
    """This process's environment, with this code on the path: the stage may run outside the code's folder."""
    code = str(Path(__file__).resolve().parents[2])
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join([code, *(entry for entry in known if entry)])
    return {**os.environ, "PYTHONPATH": path}
