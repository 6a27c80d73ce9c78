"""One stage as a process: `dvc repro --single-item STAGE`, its output line by line, its errors by name.

Use: `run_stage("rollout@r1", environment, print)`. Left out: Prefect. DVC's lock allows one process per
workspace, and this module says who holds it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tasks.tracking.pipeline import read_json
from tasks.tracking.process import is_dvc

LAST_LINES = 15
"""How many lines of a failed stage's output its error repeats."""

GRACE_SECONDS = 20.0
"""How long a stage may tidy up after SIGTERM; Prefect's workers wait for 30 s before they kill."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_BUSY = ("Unable to acquire lock", "it is being blocked by")


class StageFailedError(Exception):
    """A stage's process failed; holds its last lines."""


class LockBusyError(Exception):
    """Another DVC process works in this workspace; names it and the remedy."""


def run_stage(name: str, environment: Mapping[str, str], say: Callable[[str], object]) -> bool:
    """Runs one stage if DVC finds it changed, and hands each line of its output to `say`.

    Returns whether it ran (False: unchanged). Raises LockBusyError or StageFailedError. When the caller is
    interrupted, the stage and all its children are ended first.
    """
    command = [sys.executable, "-m", "dvc", "repro", "--single-item", name]
    last: deque[str] = deque(maxlen=LAST_LINES)
    ran = busy = False
    with _process(command, environment) as process:
        for line in _lines(process):
            say(line)
            last.append(line)
            ran = ran or line.startswith("Running stage")
            busy = busy or any(sign in line for sign in _BUSY)
        code = process.wait()
    if code == 0:
        return ran
    if busy and not ran:
        raise LockBusyError(busy_message())
    raise StageFailedError(f"stage {name} ended with code {code}. Its last lines:\n" + "\n".join(last))


@contextmanager
def _process(command: list[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A child in a session of its own, ended with all its children when the body is left early."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        # dvc.yaml says `python`: this one, also when its environment is not activated (a worker's is not).
        env={**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1", "DVC_NO_ANALYTICS": "1", **environment},
    )
    try:
        yield process
    finally:
        end_session(process, GRACE_SECONDS)
        if process.stdout is not None:
            process.stdout.close()


def end_session(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Ends a process that leads a session, and all its children: SIGTERM, and SIGKILL for what is left after `seconds`."""
    if process.poll() is not None:
        return
    members = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    os.killpg(process.pid, signal.SIGTERM)
    _, left = psutil.wait_procs(members, timeout=seconds)
    for member in left:
        with suppress(psutil.NoSuchProcess):
            member.kill()
    process.wait()


def _lines(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """The output's lines without colours; of a line redrawn in place (carriage returns), its last state."""
    assert process.stdout is not None
    for raw in process.stdout:
        text = _ESCAPES.sub("", raw.decode(errors="replace")).rstrip()
        line = text.rsplit("\r", 1)[-1].rstrip()
        if line:
            yield line


def lock_holders(workspace: Path) -> list[str]:
    """The DVC processes that work in a folder, as `process 123 (dvc repro)`; other users' cannot be seen."""
    found = []
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            if is_dvc(command) and Path(process.cwd()).resolve() == workspace.resolve():
                found.append(f"process {process.pid} ({' '.join(['dvc', *command[command.index(_dvc_word(command)) + 1 :]])})")
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


def _dvc_word(command: list[str]) -> str:
    return next(word for word in command if Path(word).name.removesuffix(".exe") == "dvc")


def busy_message() -> str:
    """What to say when DVC's lock on the current workspace is taken."""
    holders = lock_holders(Path.cwd())
    who = ", ".join(holders) if holders else "another process (perhaps another user's)"
    return (
        f"{Path.cwd() / '.dvc' / 'tmp' / 'lock'} is held by {who}: one DVC process per workspace. "
        "Wait for it to end or stop it, then start again; nothing was changed."
    )


def check_lock() -> None:
    """Raises LockBusyError when another DVC process works in the current workspace."""
    from dvc.lock import LockError
    from dvc.repo import Repo

    with Repo() as repo:
        try:
            with repo.lock:
                # While a stage's command runs, DVC holds locks on its paths only, listed in this file.
                paths = read_json(Path(repo.tmp_dir, "rwlock"))
        except LockError as error:
            raise LockBusyError(busy_message()) from error
    holders = [*paths.get("write", {}).values(), *(each for readers in paths.get("read", {}).values() for each in readers)]
    if any(psutil.pid_exists(holder["pid"]) for holder in holders):
        raise LockBusyError(busy_message())
