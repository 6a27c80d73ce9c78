"""Outside servers that die, hang, flood, write garbage, fork, eat memory or burn CPU time: one error that names the
server and the deadline, the session closed, nothing left running. All over real stdio."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.records import Result, Task
from tasks.rollout.episodes import run
from tasks.servers.outside import OutsideEnvironment, OutsideError, load
from tasks.servers.session import ToolCrashError
from tests.rollout.made import Scripted, call
from tests.rollout.test_episodes import ROOM
from tests.servers.mcp_story import ENVIRONMENT, ROOT
from tests.servers.outside_made import bad, folders, leftovers, written

MARK = f"rungs-test-{uuid.uuid4().hex}"
LIMITS = {"memory_mb": 400, "cpu_s": 1, "file_mb": 8, "output_bytes": 4096}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Working folders lie where a test can see what is left of them."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OutsideEnvironment]:
    folder = tmp_path_factory.mktemp("bad")
    with load(written(folder, bad=bad(mark=MARK, limits=LIMITS, deadlines={"call": 30, "stop": 1}))) as found:
        yield found
    assert leftovers(MARK) == []


FAULTS = {
    "die": "ended with exit code 3.*broken heart",
    "killed": "was ended by SIGKILL",
    "flood": "flooded its output",
    "flood of messages": "flooded its output",
    "garbage": "no MCP message.*'Loading model... done'",
    "wrong shape": "answer of misbehave is unusable: its content is no list of objects",
    "internal error": "failed by its own account: stack overflow",
    "memory": "ended with exit code 1.*MemoryError",
    "cpu": "was ended by SIGXCPU .more than limits.cpu_s = 1 s",
    "big file": "ended with exit code 1.*File too large",
    "children, then die": "ended with exit code 3",
}


@pytest.mark.parametrize("how", FAULTS)
def test_a_fault_closes_the_session_and_leaves_nothing(environment: OutsideEnvironment, how: str) -> None:
    with environment.session(1) as session:
        assert session.call("fine", {"a": 1}) == Result("", True, content={"a": 1})
        with pytest.raises(ToolCrashError, match=f"(?s)outside server 'bad'.*{FAULTS[how]}") as error:
            session.call("misbehave", {"how": how})
        assert isinstance(error.value, OutsideError)
        if how not in ("wrong shape", "internal error"):  # of which the server told in time
            assert "(deadlines.call: 30 s)" in str(error.value)
        assert leftovers(MARK) == [] and folders() == []
        with pytest.raises(OutsideError, match="this session was closed, because outside server 'bad'"):
            session.call("fine", {})
        touched = how in ("children, then die", "big file")
        assert bool(session.diff()) == touched, "the last state is still told"
        with environment.session(2) as other:
            assert (session.digest() != other.digest()) == touched
            assert other.call("fine", {}).ok, "another session is not concerned"


def test_a_server_that_hangs_is_given_up_at_its_deadline(tmp_path: Path) -> None:
    with (
        load(written(tmp_path, slow=bad(mark=MARK, deadlines={"call": 0.7}))) as environment,
        environment.session(1) as session,
    ):
        with pytest.raises(OutsideError, match=r"'slow' did not answer the call of misbehave \(deadlines.call: 0.7 s\)"):
            session.call("misbehave", {"how": "hang"})
        assert leftovers(MARK) == [] and folders() == []


@pytest.mark.parametrize("how", ["children", "detached children", "deaf"])
def test_closing_kills_all_children(environment: OutsideEnvironment, how: str) -> None:
    with environment.session(1) as session:
        assert session.call("misbehave", {"how": how}).ok
        assert len(leftovers(MARK)) >= (2 if how == "deaf" else 5), "the guard, the server and its children"
    assert leftovers(MARK) == [] and folders() == []


def test_closing_the_environment_ends_its_sessions(tmp_path: Path) -> None:
    environment = load(written(tmp_path, bad=bad(mark=MARK)))
    sessions = [environment.session(seed) for seed in range(3)]
    for session in sessions:
        assert session.call("misbehave", {"how": "detached children"}).ok
    environment.close()
    environment.close()
    assert leftovers(MARK) == [] and folders() == []
    for session in sessions:
        with pytest.raises(OutsideError):
            session.call("fine", {})
        session.close()
    with environment.session(1) as session, pytest.raises(OutsideError, match="its environment is closed"):
        session.call("fine", {})


STARTS = {
    "die": "ended with exit code 3",
    "hang": "did not finish its start",
    "flood": "flooded its output",
    "garbage": "no MCP message",
    "children, then die": "ended with exit code 3",
    "wrong shape": "could not be started",
    "refuse": "could not be started",
}


@pytest.mark.parametrize("how", STARTS)
def test_a_server_that_cannot_start_is_named(tmp_path: Path, how: str) -> None:
    start = 1.5 if how == "hang" else 40
    with pytest.raises(OutsideError, match=rf"(?s)outside server 'bad' .*{STARTS[how]}.*\(deadlines.start: {start} s\)"):
        load(written(tmp_path, bad=bad(how, mark=MARK, deadlines={"start": start})))
    assert leftovers(MARK) == [] and folders() == []


def test_what_is_no_fault_of_the_server(environment: OutsideEnvironment) -> None:
    with environment.session(1) as session:
        answers = {how: session.call("misbehave", {"how": how}, "c") for how in ("refuse", "bad params", "unknown answers")}
        assert session.call("misbehave", {"how": "flood of errors"}).ok, "standard error is not looked at"
        assert session.call("misbehave", {"how": 3}).error is not None
        assert session.call("misbehave", {"how": "\ud800"}).error is not None
    kinds = {how: (result.ok, result.error.kind if result.error else "") for how, result in answers.items()}
    assert kinds == {"refuse": (False, "not_found"), "bad params": (False, "invalid_arguments"), "unknown answers": (True, "")}


ENDS = {
    "exit": "sys.exit(0)",
    "crash": "raise ValueError",
    "kill": "os.kill(os.getpid(), signal.SIGKILL)",
    "interrupt": "os.kill(os.getpid(), signal.SIGINT)",
    "term": "os.kill(os.getpid(), signal.SIGTERM)",
}
PROGRAM = """
import os, signal, sys
from pathlib import Path
from tasks.servers.outside import load
session = load(Path(sys.argv[1])).session(1)
assert session.call("misbehave", {"how": "detached children"}).ok
print("open", flush=True)
sys.stdin.read(1)
"""


@pytest.mark.parametrize("how", ENDS)
def test_nothing_outlives_the_interpreter(tmp_path: Path, how: str) -> None:
    """However the process ends that never closed its session."""
    mark = f"rungs-test-{uuid.uuid4().hex}"
    config = written(tmp_path, bad=bad(mark=mark))
    command = [sys.executable, "-c", PROGRAM + ENDS[how], str(config)]
    surroundings = {**ENVIRONMENT, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, env=surroundings
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            assert process.stdout.readline() == b"open\n"
            assert len(leftovers(mark)) == 5 and len(folders()) == 1
            process.stdin.write(b"x")
            process.stdin.close()
            process.wait(60)
        finally:
            process.kill()
    assert leftovers(mark, 20) == []
    until_gone(tmp_path)


def until_gone(folder: Path) -> None:
    import time

    until = time.monotonic() + 20
    while folders() and time.monotonic() < until:
        time.sleep(0.05)
    assert folders() == [], f"left in {folder}"


def test_a_rollout_counts_a_fault_as_an_error_and_not_as_the_models(environment: OutsideEnvironment) -> None:
    task = Task("t", "tools", "train", ["bad"], ["misbehave", "fine"], [], 7, ["Please."], None, 0, 0)  # type: ignore[arg-type]
    policy = Scripted({0: [call("fine", a=1), call("misbehave", how="die"), "Done."], 1: [call("fine"), "Done."]})
    broken, whole = run(policy, environment, [(task, 0), (task, 1)], ROOM, 1.0, 0)  # type: ignore[arg-type]
    assert broken.finish_reason == "error" and broken.error is not None and "outside server 'bad'" in broken.error
    assert [len(step.results) for step in broken.steps] == [1, 0]
    assert (whole.finish_reason, whole.error) == ("stop", None)
    assert whole.digest == broken.digest != ""
    assert leftovers(MARK) == []
