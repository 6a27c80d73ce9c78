"""The command line of the servers."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest

from tasks.servers import NAMES, environment, server
from tasks.servers.__main__ import main
from tasks.toolbox.execute import render_result
from tests.servers.mcp_story import ENVIRONMENT, ROOT

Out = pytest.CaptureFixture[str]


def run(capsys: Out, *argv: str) -> tuple[int, str, str]:
    """(exit status, standard output, standard error)."""
    try:
        status = main(argv)
    except SystemExit as error:  # argparse
        assert isinstance(error.code, int)
        status = error.code
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_list(capsys: Out) -> None:
    status, out, _ = run(capsys, "list", "--json")
    assert status == 0
    assert json.loads(out) == [{"name": name, "tools": list(server(name).specs)} for name in NAMES]
    status, out, _ = run(capsys, "list")
    assert [line.split()[0] for line in out.splitlines()] == list(NAMES)
    assert all(server(line.split()[0]).title in line for line in out.splitlines())


def test_show(capsys: Out) -> None:
    status, out, _ = run(capsys, "show", "banking,calendar")
    assert status == 0
    for name in ("banking", "calendar"):
        for spec in server(name).specs.values():
            assert f"\n{spec.name}" in out and spec.description.split(".")[0] in " ".join(out.split())
    assert "close_account  [destructive]" in out
    assert '    kind: "any" | "checking" | "savings" | "joint" | "foreign" = "any"\n    limit: integer = 5\n' in out
    assert "    account_id: account id\n" in out


@pytest.mark.parametrize(
    ("arguments", "status"), [({"limit": 2}, 0), ({"limit": 0}, 1), ({"limit": 2, "what": "\n"}, 1), ({"kind": "joint"}, 0)]
)
def test_call_prints_what_a_model_reads(capsys: Out, arguments: dict[str, object], status: int) -> None:
    found, out, err = run(capsys, "call", "banking", "list_accounts", json.dumps(arguments), "--seed", "3")
    with environment(["banking"]).session(3) as session:
        assert out == render_result(session.call("list_accounts", arguments)) + "\n"
    assert (found, err) == (status, "")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["show", "bankin"], "there is no server 'bankin'. Did you mean banking? One of banking"),
        (["show", ""], "there is no server ''. One of"),
        (["serve", "banking,banking"], "banking is named twice"),
        (["serve", "nowhere"], "there is no server 'nowhere'"),
        (["serve", "banking", "--port", "1"], "--port and --host go with --transport http"),
        (["serve", "banking", "--transport", "http", "--port", "70000"], "70000 is not from 0 to 65535"),
        (["serve", "banking", "--transport", "sse"], "invalid choice: 'sse'"),
        (["serve", "banking", "--seed", "-1"], "-1 is not from 0"),
        (["serve", "banking", "--seed", "x"], "'x' is not an integer"),
        (["call", "banking", "get_balanc", "{}"], "banking has no tool 'get_balanc'. Did you mean get_balance?"),
        (["call", "banking", "list_accounts", "[]"], "not a JSON object"),
        (["call", "banking", "list_accounts", ""], "(at character 0)"),
        (["call", "banking", "list_accounts", '{"limit": 2,}'], '(at character 11)\n  {"limit": 2,}\n             ^\n'),
        (["call", "banking", "list_accounts", '{"limit": NaN}'], "NaN is not JSON (at character 10)"),
        (["call", "banking", "list_accounts", '{"limit": 1, "limit": 2}'], "twice in one object (at character 13)"),
        (["call", "banking", "list_accounts", "[" * 100_000], "nested more deeply"),
        (["call", "banking", "list_accounts"], "required: JSON"),
        ([], "required: COMMAND"),
        (["grap", "banking"], "invalid choice: 'grap'"),
        (["graph", "bank"], "there is no server 'bank'. Did you mean banking?"),
    ],
)
def test_wrong_command_lines(capsys: Out, argv: list[str], message: str) -> None:
    status, out, err = run(capsys, *argv)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err) < 1000


def test_a_port_that_is_taken(capsys: Out) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        status, out, err = run(capsys, "serve", "banking", "--transport", "http", "--port", port)
    assert (status, out) == (1, "")
    assert f"cannot serve 127.0.0.1 port {port}: Address already in use; --port 0 takes a free one" in err


def test_a_reader_that_has_enough() -> None:
    command = [sys.executable, "-m", "tasks.servers", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=ENVIRONMENT) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
