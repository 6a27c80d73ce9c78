"""The pages: MLflow's and Prefect's, over this workspace's stores, on the loopback interface.

Run: `python -m flows.ui` (or `make ui`); Ctrl-C stops both. While it runs, `python -m flows.pipeline`
records in its Prefect server, and links to MLflow runs lead to its pages.

Left out: access from other machines (neither server has a password here; use `ssh -L`).
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn
from urllib.error import URLError
from urllib.request import urlopen

import psutil

from flows import server
from flows.command import end_session
from tasks.tracking import TrackingError, reconcile
from tasks.tracking.pipeline import FOLDER, Store, last_pipeline, last_store, workspace, write_json
from tasks.tracking.process import this_process

HOST = "127.0.0.1"
START_SECONDS = 300.0
STOP_SECONDS = 15.0


class UiError(Exception):
    """A page cannot be served; names the port or the log, and the remedy."""


@dataclass(frozen=True, slots=True)
class Page:
    """One server to start: its name, port, command, and environment."""

    name: str
    port: int
    command: tuple[str, ...]
    environment: dict[str, str]

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def log(self) -> Path:
        return workspace() / FOLDER / f"ui-{self.name.lower()}.log"


def mlflow_page(store: Store, port: int) -> Page:
    # Without an artifact root of its own, an experiment made on the page would put artifacts into ./mlruns.
    root = ("--default-artifact-root", Path(store.artifacts).as_uri()) if store.artifacts else ()
    command = (
        "mlflow",
        "server",
        "--backend-store-uri",
        store.uri,
        *root,
        "--host",
        HOST,
        "--port",
        str(port),
        "--workers",
        "1",
    )
    # Its job runner starts eight more processes, for features of language-model evaluation that are not used here.
    environment = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1"}
    return Page("MLflow", port, command, environment)


def prefect_page(port: int) -> Page:
    environment = {
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": server.database(),
        "PREFECT_API_URL": f"http://{HOST}:{port}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    return Page("Prefect", port, ("prefect", "server", "start", "--host", HOST, "--port", str(port)), environment)


def check_port(page: Page) -> None:
    """Raises UiError when the page's port is taken, with who takes it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, page.port))
        except OSError as error:
            raise UiError(
                f"port {page.port}, wanted for {page.name}, is taken{_holder(page.port)} ({error.strerror}). "
                f"Stop that, or choose another port with --{page.name.lower()}-port."
            ) from error


def _holder(port: int) -> str:
    try:
        connections = psutil.net_connections("tcp")
        pids = {c.pid for c in connections if c.laddr and c.laddr.port == port and c.status == psutil.CONN_LISTEN and c.pid}
        names = [f"process {pid} ({' '.join(psutil.Process(pid).cmdline()[:4])})" for pid in sorted(pids)]
    except (psutil.AccessDenied, psutil.NoSuchProcess):
        return ""  # another user's process, or one that is gone: the port's number has to do
    return f" by {', '.join(names)}" if names else ""


@contextmanager
def running(page: Page) -> Iterator[subprocess.Popen[bytes]]:
    """The page's server for the time of the body, in a session of its own so that all its children end with it."""
    page.log.parent.mkdir(parents=True, exist_ok=True)
    with page.log.open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", *page.command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **page.environment},
        )
    try:
        yield child
    finally:
        end_session(child, STOP_SECONDS)


def wait_ready(page: Page, child: subprocess.Popen[bytes]) -> None:
    """Waits until the page answers. Raises UiError when its process ends or START_SECONDS pass."""
    health = f"{page.url}/api/health" if page.name == "Prefect" else f"{page.url}/health"
    start = time.monotonic()
    while time.monotonic() - start < START_SECONDS:
        check_alive(page, child)
        try:
            with urlopen(health, timeout=2):
                return
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(0.3)  # not up yet
    raise UiError(f"{page.name} did not answer at {page.url} within {START_SECONDS:.0f} s. See {page.log}.")


def check_alive(page: Page, child: subprocess.Popen[bytes]) -> None:
    if child.poll() is not None:
        last = page.log.read_text(errors="replace").strip().splitlines()[-3:]
        raise UiError(f"{page.name} ended with code {child.returncode}. See {page.log}; its last lines:\n" + "\n".join(last))


@contextmanager
def announced(mlflow: str, prefect: str) -> Iterator[None]:
    """Notes the addresses in .rungs/ui.json for the time of the body."""
    note = workspace() / FOLDER / "ui.json"
    write_json(note, {"mlflow": mlflow, "prefect": prefect, "process": this_process().text()})
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def serve(pages: list[Page], mlflow_url: str, prefect_url: str, ready: Callable[[], None]) -> None:
    """Runs the pages until this process is interrupted. Raises UiError when one of them cannot or ends."""
    for page in pages:
        check_port(page)
    with ExitStack() as stack:
        children = [(page, stack.enter_context(running(page))) for page in pages]
        for page, child in children:
            wait_ready(page, child)
        stack.enter_context(announced(mlflow_url, prefect_url))
        ready()
        while True:
            for page, child in children:
                check_alive(page, child)
            time.sleep(0.5)


def tidy() -> None:
    """Ends runs that vanished processes left RUNNING, on both pages, and says which."""
    with server.connected():
        for name in server.reconcile():
            print(f"Prefect: flow run {name} had lost its process; it is marked Crashed now.", flush=True)
    try:
        for run in reconcile():
            print(f"MLflow: run {run['name']} had lost its process; it is marked {run['status']} now.", flush=True)
    except TrackingError as error:
        print(f"MLflow: runs could not be checked. {error}", file=sys.stderr)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m flows.ui", description="Serve MLflow's and Prefect's pages for this workspace."
    )
    parser.add_argument("--mlflow-port", type=int, default=5000)
    parser.add_argument("--prefect-port", type=int, default=server.PORT)
    args = parser.parse_args(argv)
    store, prefect = last_store(), prefect_page(args.prefect_port)
    server.home().mkdir(parents=True, exist_ok=True)
    if store.artifacts:
        Path(store.artifacts).mkdir(parents=True, exist_ok=True)
    pages = [prefect] if store.remote else [mlflow_page(store, args.mlflow_port), prefect]
    mlflow_url = store.uri if store.remote else pages[0].url

    known = last_pipeline().get("experiment_id")
    runs = f"{mlflow_url}/#/experiments/{known}?workflowType=machine_learning" if known else mlflow_url

    def ready() -> None:
        print(f"MLflow   {runs}\nPrefect  {prefect.url}\nCtrl-C stops both.", flush=True)
        tidy()

    # Explicit, because a process started in the background of a script inherits an ignored SIGINT.
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    print("Starting the pages (about 15 s) ...", flush=True)
    try:
        serve(pages, mlflow_url, prefect.url, ready)
    except KeyboardInterrupt:
        print("Stopped.")
        return 0
    except UiError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
