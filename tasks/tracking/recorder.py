"""The recorder process: takes messages from the stages of one pipeline run and turns them into MLflow calls.

Started by `tasks.tracking.client` with a listening socket; not run by hand. The first message of a
connection is `open`; the `do` of the others names a method of `session.Session`. A message that expects
an answer gets one line of JSON, and an error is one such line too. A connection that ends before its
stage said `end` means that the stage vanished: its run, and the pipeline's, end KILLED.

The process leaves when nobody is connected and the pipeline's process (DVC, a Prefect flow) is gone, and
then ends the pipeline's run as its stages ended, if that was not done. That of a stage run by hand leaves
with the stage. Left out: retries of its own.
MLflow retries what can be retried.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import select
import signal
import socket
import socketserver
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from tasks.tracking import client, process
from tasks.tracking.pipeline import Store, read_json

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

IDLE_SECONDS = 600.0
"""How long to wait for a next stage when the pipeline's process is on another host, or unknown."""

LOOK_SECONDS = 0.5
"""How often to look whether the pipeline's process is gone."""

Message = dict[str, Any]


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Serves the stages of one pipeline run, each connection in a thread of its own."""

    daemon_threads = True

    def __init__(self, descriptor: int, path: str, owner: str) -> None:
        super().__init__(path, Connection, bind_and_activate=False)
        self.socket.close()
        self.socket = socket.socket(fileno=descriptor)
        self.path = Path(path)
        self.turn = threading.RLock()
        self.store: Store | None = None
        self._owner = process.parse(owner)
        self.once = owner == client.ONCE
        self._counting = threading.Lock()
        self._served = False
        self._connected = 0
        self._last = time.monotonic()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self._counting:
            self._connected += 1
            self._served = True
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._counting:
                self._connected -= 1
                self._last = time.monotonic()

    def service_actions(self) -> None:
        """Called between connections: leaves when no stage will come any more."""
        if self._connected or not self._over():
            return
        with client.lock():  # so that no stage connects just now
            if select.select([self.socket], [], [], 0)[0]:
                return
            self.path.unlink(missing_ok=True)
            if read_json(client.note()).get("socket") == str(self.path):
                client.note().unlink()
        threading.Thread(target=self.shutdown, daemon=True).start()

    def _over(self) -> bool:
        if self.once and self._served:
            return True
        gone = self._owner is not None and self._owner.gone()
        return gone or time.monotonic() - self._last > IDLE_SECONDS


class Connection(socketserver.StreamRequestHandler):
    """One stage's connection."""

    server: Server

    def handle(self) -> None:
        lines: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()
        try:
            with self.server.turn:
                from tasks.tracking.session import serve  # imports MLflow, while `_read` takes what the stage sends
        except ModuleNotFoundError as error:
            remedy = "Install it into this environment, or turn tracking off (`tracking.enabled: false` in params.yaml)."
            self._reply({"error": f"MLflow cannot be imported by {sys.executable} ({error}). {remedy}"})
            return
        gc.enable()
        self.server.store = serve(lines, self._reply, self.server.turn) or self.server.store

    def _read(self, lines: queue.SimpleQueue[Message | None]) -> None:
        try:
            for line in self.rfile:
                lines.put(json.loads(line))
        except (ConnectionError, json.JSONDecodeError):
            traceback.print_exc()  # the stage was killed, perhaps within a line: the same as the end
        lines.put(None)

    def _reply(self, value: Message) -> None:
        try:
            self.wfile.write(json.dumps(value).encode() + b"\n")
        except ConnectionError:
            traceback.print_exc()  # the stage is gone, which the end of its messages says too


def main(descriptor: str, path: str, owner: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    gc.disable()  # collections while importing hundreds of modules free nothing and take a tenth of the time
    with Server(int(descriptor), path, owner) as server:
        server.serve_forever(LOOK_SECONDS)
        if server.store is not None and not server.once:
            from tasks.tracking.session import leave

            leave(server.store)


if __name__ == "__main__":
    main(*sys.argv[1:])
