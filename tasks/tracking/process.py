"""Which process is which: an identity that outlives the process, and the DVC that a stage runs under.

A process id alone is reused by the system; with the time of creation and the host it names one process
for ever. Left out: containers that share a host name and a process namespace.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import PurePath

import psutil


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process: host name, process id, creation time in seconds since the epoch."""

    host: str
    pid: int
    created: float

    def text(self) -> str:
        """`host|pid|created`, as environment variables and tags hold it."""
        return f"{self.host}|{self.pid}|{self.created:.2f}"

    def gone(self) -> bool:
        """True when the process ran on this host and is there no more; False when alive or on another host."""
        if self.host != socket.gethostname():
            return False
        try:
            process = psutil.Process(self.pid)
            # A second of slack: the time is derived from the boot time, which clock corrections move.
            other = abs(process.create_time() - self.created) > 1.0
            return other or process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True


def parse(text: str) -> ProcessId | None:
    """The inverse of ProcessId.text; None for what is no such text."""
    host, _, rest = text.partition("|")
    pid, _, created = rest.partition("|")
    try:
        return ProcessId(host, int(pid), float(created))
    except ValueError:
        return None


def identify(process: psutil.Process) -> ProcessId:
    return ProcessId(socket.gethostname(), process.pid, process.create_time())


def this_process() -> ProcessId:
    return identify(psutil.Process(os.getpid()))


def dvc_ancestor() -> ProcessId | None:
    """The nearest ancestor of this process that is DVC, None when there is none."""
    for process in psutil.Process(os.getpid()).parents():
        try:
            if is_dvc(process.cmdline()):
                return identify(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            # An ancestor that ended meanwhile, or another user's: not the DVC that waits for this stage.
            continue
    return None


def is_dvc(command: list[str]) -> bool:
    """True for `dvc ...`, `python .../bin/dvc ...` and `python -m dvc ...`."""
    names = [PurePath(word).stem if PurePath(word).suffix == ".exe" else PurePath(word).name for word in command[:4]]
    if "dvc" in names[:1]:
        return True
    is_python = bool(names) and names[0].startswith("python")
    rest = [word for word in command[1:4] if word == "-m" or not word.startswith("-")]
    return is_python and bool(rest) and (PurePath(rest[0]).name == "dvc" or rest[:2] == ["-m", "dvc"])
