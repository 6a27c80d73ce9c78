"""The Prefect API from the outside: which one, whether it answers, and runs that nobody runs any more.

Use `with connected():` around a flow: it decides where runs are recorded. Left out: Prefect
Cloud accounts; its address and key come from Prefect's own profile.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen
from uuid import UUID

import psutil

from tasks.tracking import process
from tasks.tracking.pipeline import FOLDER, workspace

FLOWS = ("pipeline", "stage")
LABEL = "rungs.process"
"""The label of a flow run that says which process runs it (tasks.tracking.process)."""

PORT = 4200


class ServerError(Exception):
    """Prefect cannot be used; names the address and the remedy."""


def home() -> Path:
    """The folder of the workspace's own Prefect server."""
    return workspace() / FOLDER / "prefect"


def database() -> str:
    """The database of the workspace's own Prefect server, as Prefect's setting wants it."""
    return f"sqlite+aiosqlite:///{home() / 'prefect.db'}"


@contextmanager
def connected(need_server: bool = False) -> Iterator[str]:
    """Settles which Prefect API flows in the body use, and yields its address ('': a temporary server).

    PREFECT_API_URL or Prefect's profile come first, then the server of `python -m flows.ui` if one runs
    here, else a temporary server over the workspace's database, unless `need_server`. Raises ServerError
    when the API does not answer.
    """
    from prefect import settings

    url = settings.PREFECT_API_URL.value() or _noted()
    if url:
        key = settings.PREFECT_API_KEY.value()
        _check(url, key if isinstance(key, str) or key is None else key.get_secret_value())
        with settings.temporary_settings({settings.PREFECT_API_URL: url}):
            yield str(url)
        return
    if need_server:
        raise ServerError(
            "no Prefect server: PREFECT_API_URL is not set and `python -m flows.ui` does not run here. Start it"
            f" (or `prefect server start`) and set PREFECT_API_URL=http://127.0.0.1:{PORT}/api."
        )
    home().mkdir(parents=True, exist_ok=True)
    temporary = {
        settings.PREFECT_API_DATABASE_CONNECTION_URL: database(),
        settings.PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: True,
        settings.PREFECT_SERVER_ANALYTICS_ENABLED: False,
    }
    with settings.temporary_settings(temporary):
        yield ""


def _noted() -> str:
    """The address of this workspace's own server if it runs."""
    try:
        note = json.loads((workspace() / FOLDER / "ui.json").read_bytes())
    except (FileNotFoundError, json.JSONDecodeError):
        return ""
    owner = process.parse(note["process"])
    return "" if owner is None or owner.gone() else f"{note['prefect']}/api"


def _check(url: str, key: str | None) -> None:
    request = Request(f"{url.rstrip('/')}/health", headers={"Authorization": f"Bearer {key}"} if key else {})
    try:
        with urlopen(request, timeout=5):
            return
    except (URLError, TimeoutError, ConnectionError, ValueError) as error:
        raise ServerError(
            f"Prefect API {url} (PREFECT_API_URL) cannot be reached: {getattr(error, 'reason', error)}. Start it"
            " (`python -m flows.ui` or `prefect server start`), correct PREFECT_API_URL, or run without Prefect: `dvc repro`."
        ) from error


def claim(flow_run_id: UUID) -> None:
    """Writes onto a flow run which process runs it, so that `reconcile` can tell when that is gone."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        client.update_flow_run_labels(flow_run_id, {LABEL: process.this_process().text()})


def reconcile() -> list[str]:
    """Ends flow runs of this project that a vanished process of this host left live; returns their names.

    A killed worker leaves its runs "Running" and their slots taken. A run that a worker took and whose
    process died before the flow began is known by its infrastructure id (host:pid).
    """
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import (
        FlowFilter,
        FlowFilterName,
        FlowRunFilter,
        FlowRunFilterState,
        FlowRunFilterStateType,
    )
    from prefect.client.schemas.objects import FlowRun, StateType
    from prefect.states import Crashed

    live = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]
    state = FlowRunFilterState(type=FlowRunFilterStateType(any_=live))
    ended = []
    with get_client(sync_client=True) as client:
        runs: list[FlowRun] = client.read_flow_runs(
            flow_filter=FlowFilter(name=FlowFilterName(any_=list(FLOWS))), flow_run_filter=FlowRunFilter(state=state)
        )
        for run in runs:
            if _vanished(str(run.labels.get(LABEL, "")), run.infrastructure_pid):
                client.set_flow_run_state(run.id, Crashed(message="The process that ran it is gone (killed?)."), force=True)
                ended.append(run.name)
    return ended


def _vanished(label: str, infrastructure: str | None) -> bool:
    owner = process.parse(label)
    if owner is not None:
        return owner.gone()
    host, _, pid = (infrastructure or "").partition(":")
    return host == socket.gethostname() and pid.isdigit() and not psutil.pid_exists(int(pid))
