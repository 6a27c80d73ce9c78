"""The recorder process: reads messages from standard input and turns them into MLflow calls.

Started by `tasks.tracking.client`; not run by hand. A message is one line of JSON. The first is `open`;
the `do` of the others names a method of `session.Session`. A message that expects an answer gets one line
of JSON on standard output, and an error is one such line too. The end of the input before `end` means
that the stage vanished: its run, and the pipeline's, end KILLED.

Left out: retries of its own. MLflow retries what can be retried.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import signal
import sys
import threading
import traceback
from typing import Any

from tasks.tracking.pipeline import FOLDER, Store, workspace

ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "15",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false",  # else traces are lost when the process ends
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "1",
}
"""Defaults for MLflow's own settings, where the user's environment does not say otherwise."""

Message = dict[str, Any]


def _read(lines: queue.SimpleQueue[Message | None]) -> None:
    for line in sys.stdin.buffer:
        lines.put(json.loads(line))
    lines.put(None)


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


def _reply(value: Message) -> None:
    try:
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # The stage is gone, which the end of the input says too; nobody reads replies any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def serve() -> int:
    """Answers messages until the input ends. Returns the exit code."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    from tasks.tracking.session import Session

    gc.enable()
    failures = (MlflowException, SQLAlchemyError, OSError)
    lines: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    held: list[Message | None] = []
    opening = lines.get()
    if opening is None:
        return 0
    target = Store(opening["uri"], opening["experiment"], opening["artifacts"])
    session = None
    try:
        session = Session(target)
        while (message := _next(lines, held)) is not None:
            answer = getattr(session, message["do"])(message)
            if answer is not None:
                _reply(answer)
        session.vanished()
    except failures as error:
        traceback.print_exc()
        what = _message(target.uri, error)
        if session is not None:
            try:
                session.abandon("FAILED", what)
            except failures:
                traceback.print_exc()  # the store is out of reach: the next start reconciles the run
        _reply({"error": what})
        return 1
    return 0


def _message(uri: str, error: Exception) -> str:
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return (
        f"MLflow store {uri}: {first.rstrip('.')}. Make it reachable and writable, set MLFLOW_TRACKING_URI to another store,"
        f" or turn tracking off (`tracking.enabled: false` in params.yaml). Details: {workspace() / FOLDER / 'tracking.log'}."
    )


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    gc.disable()  # collections while importing hundreds of modules free nothing and take a tenth of the time
    try:
        import mlflow  # noqa: F401 - here, so that its absence is told from other errors
    except ModuleNotFoundError as error:
        remedy = "Install it into this environment, or turn tracking off (`tracking.enabled: false` in params.yaml)."
        _reply({"error": f"MLflow cannot be imported by {sys.executable} ({error}). {remedy}"})
        return 1
    return serve()


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Everything is committed and answered; taking MLflow's modules down properly would keep the stage waiting for 0.8 s.
    os._exit(code)
