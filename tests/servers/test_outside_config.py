"""mcp.json: what is read, and that every mistake names the file, the key and the remedy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tasks.servers.outside_config import ConfigError, filled, read_config

PYTHON = sys.executable


def read(folder: Path, **servers: Any) -> Any:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return read_config(path)


def test_defaults_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "t0ken")
    (tmp_path / "seed" / "inside").mkdir(parents=True)
    full = {
        "type": "stdio",
        "command": PYTHON,
        "args": ["-c", "${A_TOKEN} ${RUNGS_SEED}"],
        "env": {"TOKEN": "${A_TOKEN}", "PLAIN": "x$y"},
        "cwd": "inside",
        "rungs": {"template": "seed", "deadlines": {"call": 3}, "limits": {"memory_mb": None}, "known": {"a": [1, "b"]}},
    }
    first, second, third = read(
        tmp_path,
        full=full,
        least={"command": "python3"},
        far={"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${A_TOKEN}"}},
        off={"command": "no-such-program", "disabled": True},
    )
    assert (first.name, first.command, first.args) == ("full", PYTHON, ("-c", "t0ken ${RUNGS_SEED}"))
    assert first.env == {"TOKEN": "t0ken", "PLAIN": "x$y"}
    assert (first.template, first.subfolder) == (tmp_path / "seed", "inside")
    assert (first.deadlines.start, first.deadlines.call, first.deadlines.stop) == (60, 3, 4)
    assert (first.limits.memory_mb, first.limits.cpu_s, first.limits.output_bytes) == (None, 600, 262_144)
    assert first.settings.known == {"a": (1, "b")}
    assert (second.args, second.template) == ((), None) and Path(second.command).is_absolute()
    assert (third.url, third.headers) == ("https://example.com/mcp", {"Authorization": "Bearer t0ken"})
    assert "t0ken" not in repr([first, second, third])
    assert filled(first.args[1], {"RUNGS_SEED": "7", "RUNGS_FOLDER": "", "RUNGS_SESSION": ""}) == "t0ken 7"


def test_the_folder_of_the_file_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative cwd is the template, so that a session never works in the user's own folder."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(PYTHON)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir("/")
    (server,) = read(tmp_path, a={"command": "bin/python", "cwd": "project"})
    assert (server.command, server.template) == (str(tmp_path / "bin" / "python"), tmp_path / "project")


COMMAND = {"command": PYTHON}
MISTAKES: dict[str, tuple[Any, str]] = {
    "unknown key": ({"comand": "x"}, "mcpServers.a.comand: unknown key; did you mean command?"),
    "unknown setting": ({**COMMAND, "rungs": {"limit": {}}}, "mcpServers.a.rungs.limit: unknown key; did you mean limits?"),
    "unknown deadline": (
        {**COMMAND, "rungs": {"deadlines": {"cal": 1}}},
        "mcpServers.a.rungs.deadlines.cal: unknown key; did you mean call?",
    ),
    "another client's key": (
        {**COMMAND, "autoApprove": []},
        "mcpServers.a.autoApprove: unknown key; remove it; known here: type",
    ),
    "nothing to start": ({}, "mcpServers.a: gives neither command nor url; give one"),
    "both": ({**COMMAND, "url": "http://x"}, "mcpServers.a: gives both command and url; give one"),
    "no text": ({"command": 3}, "mcpServers.a.command: 3 is wrong: it should be a valid string"),
    "no list": ({**COMMAND, "args": "-v"}, "mcpServers.a.args: '-v' is wrong: it should be a list"),
    "no number": (
        {**COMMAND, "rungs": {"limits": {"memory_mb": "1"}}},
        "mcpServers.a.rungs.limits.memory_mb: '1' is wrong: it should be a valid integer",
    ),
    "no time": (
        {**COMMAND, "rungs": {"deadlines": {"call": 0}}},
        "mcpServers.a.rungs.deadlines.call: 0 is wrong: it should be greater than 0",
    ),
    "no object": (3, "mcpServers.a: 3 is wrong: it should be an object"),
    "no program": ({"command": "no-such-program"}, "mcpServers.a.command: there is no 'no-such-program' on the PATH; install"),
    "no file": ({"command": "./none"}, "mcpServers.a.command: there is no program"),
    "no variable": (
        {**COMMAND, "env": {"T": "${NO_SUCH_VARIABLE}"}},
        "mcpServers.a.env.T: the environment variable NO_SUCH_VARIABLE is not set; set it",
    ),
    "no variable's name": ({**COMMAND, "env": {"A-B": "x"}}, "mcpServers.a.env.A-B: not a name; use letters"),
    "no template": ({**COMMAND, "rungs": {"template": "none"}}, "mcpServers.a.rungs.template: there is no folder"),
    "outside of the template": (
        {**COMMAND, "cwd": "..", "rungs": {"template": "."}},
        "mcpServers.a.cwd: there is no folder '..'",
    ),
    "no address": ({"url": "ftp://x"}, "mcpServers.a.url: 'ftp://x' is wrong: it should match"),
    "headers": ({**COMMAND, "headers": {"a": "b"}}, "mcpServers.a: headers goes with url; remove it"),
    "arguments": ({"url": "http://x", "args": ["a"]}, "mcpServers.a: args goes with command; remove it"),
    "sse": ({"type": "sse", "url": "http://x"}, "mcpServers.a.type: 'sse' is no transport here; give the server's streamable"),
    "type": ({"type": "http", **COMMAND}, "mcpServers.a: type 'http' goes with url; correct one"),
    "all off": ({**COMMAND, "disabled": True}, "mcpServers: every server is disabled; take `disabled` from one"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_names_file_key_and_remedy(tmp_path: Path, case: str) -> None:
    entry, message = MISTAKES[case]
    with pytest.raises(ConfigError) as error:
        read(tmp_path, a=entry)
    assert str(error.value).startswith(f"{tmp_path / 'mcp.json'}: {message}")


TEXTS = {
    "{]": "line 1: not JSON",
    '{"mcpServers": {},\n "mcpServers": {}}': "line 2: not JSON",
    "[]": "the file: .* is wrong: it should be an object",
    "{}": "mcpServers: missing; add it",
    '{"mcpServers": {}}': "mcpServers: {} is wrong: it should have at least 1",
    '{"mcpServers": {"a b": {"command": "x"}}}': "mcpServers.a b: not a name",
    '{"servers": {}, "mcpServers": {"a": {"command": "x"}}}': r"servers: unknown key; did you mean mcpServers\?",
    "\xff": "cannot be read as text",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_file_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=f"^{path}: ({TEXTS[text]})"):
        read_config(path)
    with pytest.raises(ConfigError, match=r"none\.json: no such file; give the path"):
        read_config(tmp_path / "none.json")
