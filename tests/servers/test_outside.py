"""Outside servers as environments: sessions, isolation, state, names, surroundings, HTTP, the command line."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks.records import Result, ToolFault
from tasks.servers.__main__ import main
from tasks.servers.outside import ConfigError, OutsideEnvironment, OutsideError, OutsideSession, load
from tasks.servers.session import KeyReusedError, SessionClosedError
from tasks.toolbox.execute import execute
from tasks.toolbox.parse import parse_hermes
from tests.rollout.made import call
from tests.servers.mcp_story import http_server
from tests.servers.outside_made import GARDEN, ROOF, bad, folders, notes, written


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Working folders lie where a test can see what is left of them."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert folders() == []


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OutsideEnvironment]:
    folder = tmp_path_factory.mktemp("notes")
    with load(written(folder, notes=notes(folder))) as found:
        yield found


def story(session: OutsideSession, title: str = "Boat") -> list[Result]:
    calls = [("write_note", {"title": title, "text": "New sail."}), ("delete_note", {"note_id": 1}), ("list_notes", {})]
    return [session.call(name, arguments) for name, arguments in calls]


def test_specs_are_those_that_the_server_lists(environment: OutsideEnvironment) -> None:
    assert environment.names == ["notes"]
    assert environment.servers[0].title == "Outside server: notes."
    marks = {name: (s.read_only, s.destructive, s.idempotent) for name, s in environment.specs.items()}
    assert marks["list_notes"] == (True, False, True)
    assert marks["read_note"] == (True, False, True), "by the settings, not by the server"
    assert marks["delete_note"] == (False, True, False)
    assert marks["write_note"] == (False, False, False)
    assert environment.specs["list_notes"].output_schema["type"] == "array", "unwrapped"
    assert environment.specs["read_note"].output_schema == {}
    assert environment.specs["read_note"].input_schema["properties"] == {"note_id": {"type": "integer"}}
    assert all(spec.server == "notes" and spec.description for spec in environment.specs.values())


def test_a_session_has_state_of_its_own(environment: OutsideEnvironment) -> None:
    with environment.session(7) as session, environment.session(7) as other:
        fresh = session.digest()
        assert (session.diff(), other.digest()) == ([], fresh)
        listed = [{"id": 1, "title": "Garden"}, {"id": 2, "title": "Roof"}]
        assert session.call("list_notes", {}, "c1") == Result("c1", True, content=listed)
        assert session.call("read_note", {"note_id": 2}).content == ROOF, "text that is JSON is read as JSON"
        assert session.digest() == fresh
        written_, deleted, left = story(session)
        assert written_.content == {"id": 3, "title": "Boat"}
        assert deleted.content == "deleted note 1"
        assert [note["id"] for note in left.content] == [2, 3]
        assert [line.split()[:2] for line in session.diff()] == [["-", "notes/notes/1.json"], ["+", "notes/notes/3.json"]]
        assert session.digest() != fresh
        assert (other.digest(), other.call("read_note", {"note_id": 1}).content) == (fresh, GARDEN)
        session.reset()
        assert (session.digest(), session.diff()) == (fresh, [])
        assert session.call("read_note", {"note_id": 1}).content == GARDEN
        assert session.now == other.now
    with pytest.raises(SessionClosedError):
        session.call("list_notes", {})
    session.close()


def test_refusals_are_structured_and_change_nothing(environment: OutsideEnvironment) -> None:
    with environment.session(7) as session:
        fresh = session.digest()
        missing = session.call("read_note", {"note_id": 9}, "c")
        assert missing.error == ToolFault("not_found", "Error executing tool read_note: note 9 not found")
        assert missing.call_id == "c" and not missing.ok
        for name, arguments, kind in (
            ("read_note", {"note_id": "1"}, "invalid_arguments"),
            ("read_note", {}, "invalid_arguments"),
            ("fly", {}, "unknown_tool"),
            ("echo", {"text": "\ud800"}, "invalid_arguments"),
            ("blob", {"size": 300_000}, "unavailable"),
        ):
            error = session.call(name, arguments).error
            assert error is not None and error.kind == kind, name
        assert session.digest() == fresh


def test_one_key_takes_effect_once(environment: OutsideEnvironment) -> None:
    with environment.session(7) as session:
        boat = {"title": "Boat", "text": ""}
        first = session.call("write_note", boat, key="k")
        assert session.call("write_note", boat, "again", key="k").content == first.content == {"id": 3, "title": "Boat"}
        assert len(session.diff()) == 1
        with pytest.raises(KeyReusedError):
            session.call("write_note", {"title": "Car", "text": ""}, key="k")


def test_a_models_turn_runs_on_it(environment: OutsideEnvironment) -> None:
    with environment.session(7) as session:
        turn = call("read_note", note_id=1) + call("read_note", note_id=1.5)
        found = execute(session, parse_hermes(turn))
    assert [result.ok for result in found] == [True, False]


def test_sessions_on_many_threads_end_as_they_would_alone(environment: OutsideEnvironment) -> None:
    titles = [f"Boat {number % 3}" for number in range(6)]
    together = threading.Barrier(len(titles), timeout=120)

    def play(title: str) -> tuple[str, list[Result]]:
        with environment.session(7) as session:
            together.wait()
            results = story(session, title)
            return session.digest(), results

    with ThreadPoolExecutor(len(titles)) as pool:
        found = list(pool.map(play, titles))
    for title, got in zip(titles[:3], found[:3], strict=True):
        with environment.session(1) as session:
            results = story(session, title)
            assert got == (session.digest(), results)
    assert found[:3] == found[3:] and len({digest for digest, _ in found}) == 3


def test_the_working_folder_has_one_name_in_all_sessions(environment: OutsideEnvironment) -> None:
    answers = []
    for seed in (1, 2):
        with environment.session(seed) as session:
            where = session.call("surroundings", {}).content
            assert where["folder"] == where["env"]["RUNGS_FOLDER"] == "/session"
            told = ["/session/notes/1.json", "file:///session/x /session", "/sessions", "a/session", "/session.txt"]
            answers.append([session.call("echo", {"text": text}).content for text in told])
    assert answers[0] == answers[1]
    assert answers[0] == ["True " + told[0], *(f"False {text}" for text in told[1:])]


def test_a_server_gets_the_variables_that_its_file_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMED_TOKEN", "t0ken")
    monkeypatch.setenv("SECRET_TOKEN", "never")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    env = {
        "TOKEN": "${NAMED_TOKEN}",
        "PLAIN": "as it stands",
        "OTHER": "${UNSET_VARIABLE:-default}",
        "DATA": "${RUNGS_FOLDER}/d",
    }
    with load(written(tmp_path, notes=notes(tmp_path, env))) as environment, environment.session(41) as session:
        given = session.call("surroundings", {}).content["env"]
    inherited = {name for name in ("PATH", "LANG", "LC_ALL", "LC_CTYPE") if name in os.environ}
    ours = {"HOME", "TMPDIR", "TZ", "RUNGS_SEED", "RUNGS_FOLDER", "RUNGS_SESSION"}
    assert set(given) - {"LC_CTYPE"} == (inherited | ours | set(env)) - {"LC_CTYPE"}  # Python sets LC_CTYPE by itself
    assert [given[name] for name in env] == ["t0ken", "as it stands", "default", "/session/d"]
    assert (given["RUNGS_SEED"], given["TZ"], given["HOME"]) == ("41", "UTC", "/session-private/home")


def test_files_that_are_ignored_are_no_state(tmp_path: Path) -> None:
    config = written(tmp_path, notes=notes(tmp_path, ignore=["notes/3.json", "*.log"]))
    with load(config) as environment, environment.session(7) as session:
        fresh = session.digest()
        assert session.call("write_note", {"title": "Boat", "text": ""}).content["id"] == 3
        assert (session.digest(), session.diff()) == (fresh, [])
        session.call("write_note", {"title": "Car", "text": ""})
        assert session.digest() != fresh and len(session.diff()) == 1


def test_names_get_a_prefix_where_two_servers_offer_them(tmp_path: Path) -> None:
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("list_notes", "fine")]
    with load(written(tmp_path, notes=notes(tmp_path), other=bad(tools=tools))) as environment:
        assert set(environment.specs) >= {"notes_list_notes", "other_list_notes", "fine", "read_note"}
        assert "list_notes" not in environment.specs
        with environment.session(7) as session:
            assert session.call("other_list_notes", {"a": 1}).content == {"a": 1}
            assert len(session.call("notes_list_notes", {}).content) == 2
            assert len(session.digest().split("-")) == 2
    with load(tmp_path / "mcp.json", ["notes"]) as environment:
        assert "list_notes" in environment.specs and environment.names == ["notes"]
    with pytest.raises(ConfigError, match=r"mcp.json: there is no server 'nots'; one of notes, other"):
        load(tmp_path / "mcp.json", ["nots"])


def test_tools_can_be_left_out(tmp_path: Path) -> None:
    odd = [{"name": "good"}, {"name": "bad one", "inputSchema": {}}, {"name": "never", "inputSchema": False}]
    with load(written(tmp_path, odd=bad(tools=odd) | {"rungs": {"tools": ["good"]}})) as environment:
        assert list(environment.specs) == ["good"]
        with environment.session(1) as session:
            assert session.call("good", {"any": [1]}).content == {"any": [1]}
    for tools, wrong in (
        (["good", "bad one"], "its tool 'bad one' has a name that no model can write"),
        (["good", "never"], "tool 'never' of server 'odd': its input schema cannot be used: it is `false`"),
    ):
        with pytest.raises(OutsideError, match=f"{wrong}.*mcpServers.odd.rungs.tools"):
            load(written(tmp_path, odd=bad(tools=odd) | {"rungs": {"tools": tools}}))
    with pytest.raises(ConfigError, match=r"mcpServers.odd.rungs.read_only: odd has no tool 'god'; did you mean good\?"):
        load(written(tmp_path, odd=bad(tools=odd) | {"rungs": {"tools": ["good"], "read_only": ["god"]}}))
    with pytest.raises(OutsideError, match="lists no tools"):
        load(written(tmp_path, odd=bad(tools=[])))


def test_a_server_by_url(tmp_path: Path) -> None:
    """Our own server over HTTP, as a stranger's: every session of ours is one of its own."""
    headers = {"Rungs-Session": "${RUNGS_SESSION}", "Rungs-Seed": "${RUNGS_SEED}"}
    with http_server(servers="banking") as address:
        with load(written(tmp_path, bank={"url": address, "headers": headers})) as environment:
            opened = {"name": "Boat", "kind": "savings"}
            with environment.session(7) as session, environment.session(7) as other:
                before = session.call("list_accounts", {"limit": 50}).content
                assert session.call("open_account", opened).ok
                conflict = session.call("open_account", opened).error
                assert conflict is not None and conflict.kind == "conflict" and conflict.remedy
                assert other.call("list_accounts", {"limit": 50}).content == before != session.call("list_accounts", {}).content
                assert (session.digest(), session.diff()) == ("0" * 16, []), "its state is not ours to see"
            with environment.session(8) as session:
                assert session.call("list_accounts", {"limit": 50}).content != before
        small = {"url": address, "headers": headers, "rungs": {"limits": {"output_bytes": 256}, "tools": ["list_accounts"]}}
        with load(written(tmp_path, bank=small)) as environment, environment.session(7) as session:
            error = session.call("list_accounts", {"limit": 50}).error
            assert error is not None and error.kind == "unavailable"
    with pytest.raises(OutsideError, match=r"(?s)'bank' could not be started.*\(deadlines.start: 5 s\)"):
        load(written(tmp_path, bank={"url": address, "rungs": {"deadlines": {"start": 5}}}))


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(written(tmp_path, notes=notes(tmp_path), bad=bad()))

    def run(*argv: str) -> tuple[int, str, str]:
        status = main([*argv, "--config", config])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    status, out, _ = run("list", "--json")
    assert status == 0 and [entry["name"] for entry in json.loads(out)] == ["notes", "bad"]
    assert json.loads(out)[1] == {"name": "bad", "tools": ["misbehave", "fine"]}
    status, out, _ = run("list")
    assert status == 0 and [line.split()[:3] for line in out.splitlines()] == [["notes", "7", "tools"], ["bad", "2", "tools"]]
    status, out, _ = run("show", "notes")
    assert status == 0 and "read_note  [read-only]" in out and "note_id: integer" in out
    assert run("call", "notes", "read_note", '{"note_id": 1}')[:2] == (0, json.dumps(GARDEN, separators=(",", ":")) + "\n")
    status, out, _ = run("call", "notes", "read_note", '{"note_id": 9}')
    assert status == 1 and json.loads(out)["error"]["kind"] == "not_found"
    status, _, err = run("call", "bad", "misbehave", '{"how": "die"}')
    assert status == 1 and "outside server 'bad' ended with exit code 3" in err
    assert run("call", "notes", "reed_note", "{}")[2].startswith(
        "error: notes has no tool 'reed_note'. Did you mean read_note?"
    )
    status, _, err = run("show", "nots")
    assert status == 2 and "there is no server 'nots'" in err
    (tmp_path / "mcp.json").write_text("{")
    status, _, err = run("list")
    assert status == 2 and "mcp.json: line 1: not JSON" in err
