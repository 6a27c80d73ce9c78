"""Runs one outside server under limits, and sees to it that nothing of it is left. A program, not a module:

    python -I -S outside_guard.py LIFELINE FOLDER MEMORY CPU FILE COMMAND [ARGUMENT...]

LIFELINE is the number of an inherited descriptor, one end of a socket pair. The guard starts COMMAND with its own standard
streams and the limits (bytes, seconds, bytes; 0: none), and then waits for the first of
- the end of COMMAND: it kills what COMMAND left, and ends as COMMAND did (same exit code, same signal);
- a byte `T`: it sends SIGTERM to COMMAND's process group, and goes on waiting;
- a byte `K`: it kills COMMAND with all its descendants, and ends;
- the end of the lifeline, that is, the death of the process that holds the other end, however it died: it kills them,
  removes FOLDER, and ends.

Descendants are found by their parents. The guard is the subreaper of what it starts, so that a process which left its
group, its session and its parent is still found. Only the standard library is used, and little of it: this program
starts once per session. Left out: systems other than Linux, where only the process group is killed.
"""

import ctypes
import os
import resource
import select
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
NOT_STARTED = 127


def main() -> None:
    lifeline, folder = int(sys.argv[1]), sys.argv[2]
    memory, cpu, file = (int(text) for text in sys.argv[3:6])
    os.set_inheritable(lifeline, False)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):  # only the lifeline ends a guard
        signal.signal(number, signal.SIG_IGN)
    guard = os.getpid()
    server = os.fork()
    if server == 0:
        _become(sys.argv[6:], guard, memory, cpu, file)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # the server's alone: their other ends see when it closes them
        os.dup2(nothing, stream)
    status = None
    orphaned = False
    while status is None:
        ready, _, _ = select.select([lifeline, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
        status = _reap(server)
        if status is None and lifeline in ready:
            said = os.read(lifeline, 1)
            if said == b"T":
                _signal(os.killpg, server, signal.SIGTERM)
                continue
            orphaned = said == b""
            break
    status = _kill_all(server, status)
    if orphaned or _hung_up(lifeline):
        import shutil

        shutil.rmtree(folder, ignore_errors=True)  # nobody is left to tell of a file that cannot be removed
    _end_like(status)


def _become(command: list[str], guard: int, memory: int, cpu: int, file: int) -> None:
    os.setsid()
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(1)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    for kind, value in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, file), (resource.RLIMIT_CPU, cpu)):
        if value:
            hard = resource.getrlimit(kind)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            # A second later than SIGXCPU, which a program may ignore, comes SIGKILL.
            resource.setrlimit(kind, (value, value + 1 if kind == resource.RLIMIT_CPU and value != hard else value))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {os.strerror(error.errno or 0)}\n".encode())
    os._exit(NOT_STARTED)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _reap(server: int) -> int | None:
    """Waits for every child that has ended; the server's wait status, when it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == server:
            found = status


def _kill_all(server: int, status: int | None) -> int:
    """Kills all descendants until there are none; the server's wait status."""
    while True:
        _signal(os.killpg, server, signal.SIGKILL)
        for pid in _descendants():
            _signal(os.kill, pid, signal.SIGKILL)
        try:
            pid, ended = os.waitpid(-1, 0)  # orphans of what was killed are children by now
        except ChildProcessError:
            return signal.SIGKILL if status is None else status
        if pid == server:
            status = ended


def _signal(send: Callable[[int, int], None], pid: int, number: int) -> None:
    try:  # noqa: SIM105
        send(pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # it has ended, or it has become another user's, whom we may not touch


def _descendants() -> list[int]:
    """All processes below this one, by the parents that /proc names."""
    parents: dict[int, int] = {}
    # pathlib would take as long to import as everything else here.
    for entry in os.listdir("/proc") if sys.platform == "linux" else ():  # noqa: PTH208
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as stat:  # noqa: PTH123
                    parents[int(entry)] = int(stat.read().rsplit(b")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue  # it ended meanwhile
    found = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        if not more:
            return sorted(found - {os.getpid()})
        found |= more


def _hung_up(lifeline: int) -> bool:
    ready, _, _ = select.select([lifeline], [], [], 0)
    return bool(ready) and os.read(lifeline, 4096) == b""


def _end_like(status: int) -> None:
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
