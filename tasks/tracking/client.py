"""The stage's side of the recorder: starts the process, sends messages, hands its errors on.

A message is one line of JSON. `send` does not wait; `ask` waits for the reply. An error that the recorder
met is raised as TrackingError by the next call of either.

Left out: restarting a recorder that failed. What it could not record is lost only from MLflow: a stage's
outputs are DVC's, and a rerun records anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from tasks.tracking.pipeline import FOLDER, Store, TrackingError, check_store, workspace

REPLY_SECONDS = 120.0
"""How long `ask` waits. MLflow gives up on its own within half of that (recorder.ENVIRONMENT)."""


class Recorder:
    """A running recorder process. Use it as a context manager, or call `close`.

    Raises TrackingError when the store cannot be reached or written.
    """

    def __init__(self, store: Store) -> None:
        check_store(store)
        self._store = store
        self._log = workspace() / FOLDER / "tracking.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._replies: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._error = ""
        self._lock = threading.Lock()
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tasks.tracking.recorder"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Its own session: Ctrl-C ends the stage, and the recorder lives on to record that.
                start_new_session=True,
                env=_environment(),
            )
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()
        self.send({"do": "open", "uri": store.uri, "experiment": store.experiment, "artifacts": store.artifacts})

    def _read(self, replies: IO[bytes]) -> None:
        for line in replies:
            reply = json.loads(line)
            if "error" in reply:
                self._error = reply["error"]
            self._replies.put(reply)
        self._replies.put({"closed": True})

    def send(self, message: dict[str, Any]) -> None:
        """Sends one message and returns. Raises TrackingError for an error met since the last call."""
        self._raise()
        stdin = self._process.stdin
        assert stdin is not None
        try:
            with self._lock:
                stdin.write(json.dumps(message).encode() + b"\n")
                stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            self._process.wait(timeout=REPLY_SECONDS)
            self._raise()
            raise self._died() from error

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Sends one message and returns its reply. Raises TrackingError, also when none comes in REPLY_SECONDS."""
        self.send(message)
        try:
            reply = self._replies.get(timeout=REPLY_SECONDS)
        except queue.Empty as error:
            raise TrackingError(
                f"MLflow store {self._store.uri}: no answer to {message['do']!r} within {REPLY_SECONDS:.0f} s. See {self._log}."
            ) from error
        self._raise()
        if reply.get("closed"):
            raise self._died()
        return reply

    def _raise(self) -> None:
        if self._error:
            raise TrackingError(self._error)

    def _died(self) -> TrackingError:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return TrackingError(
            f"MLflow store {self._store.uri}: the recorder process ended with code {self._process.poll()}"
            f" ({lines[-1].strip() if lines else 'no message'}). Its log: {self._log}."
        )

    def close(self) -> None:
        """Ends the process. What was sent before is recorded first."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            # A broken pipe: it ended before it read everything, and `send` or `ask` has raised that or will.
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(timeout=REPLY_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _environment() -> dict[str, str]:
    """This process's environment, with this code on the path: the stage may run outside the code's folder."""
    code = str(Path(__file__).resolve().parents[2])
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join([code, *(entry for entry in known if entry)])
    return {**os.environ, "PYTHONPATH": path}
