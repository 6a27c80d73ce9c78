"""The servers over MCP: direct dispatch, in memory, stdio and HTTP give equal answers; clients do not meet."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import fastmcp
import httpx
import mcp
import psutil
import pytest

from tasks.servers import NAMES, environment
from tasks.servers.mcp_server import DIFF, DIGEST, mcp_server, meta, output_schema
from tasks.servers.mcp_sessions import Sessions
from tests.servers.mcp_story import ARGUMENTS, ENVIRONMENT, ROOT, SEED, Story, http_server, record, replay

ALL = ",".join(NAMES)
STDIO = [*ARGUMENTS, ALL, "--seed", str(SEED)]


@pytest.fixture(scope="module")
def story() -> Story:
    return record()


@pytest.fixture(scope="module")
def short() -> Story:
    """For the second client of each transport."""
    return record(tools=80)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with http_server("--seed", "3") as found:
        assert found.startswith("http://127.0.0.1:")
        yield found
    assert our_processes() == []
    with pytest.raises(httpx.ConnectError):
        httpx.post(found, json={})


def our_processes() -> list[psutil.Process]:
    """Servers that this test process started and that still run."""
    return [child for child in psutil.Process().children(recursive=True) if "tasks.servers" in child.cmdline()]


# -- equal answers -----------------------------------------------------------------------------


def test_the_story_is_worth_telling(story: Story) -> None:
    assert {name for name, _, _ in story.calls} == set(environment(NAMES).specs)
    refusals = {result.error.kind for _, _, result in story.calls if result.error is not None}
    assert refusals >= {"invalid_arguments", "not_found"}
    assert sum(result.ok for _, _, result in story.calls) >= len(story.calls) // 3
    assert len(story.diff) >= 10


async def sdk(client: AbstractAsyncContextManager[mcp.Client], story: Story, request_meta: dict[str, Any] | None) -> None:
    async with client as connected:
        await replay(story, lambda name, arguments: connected.call_tool(name, arguments, meta=request_meta))
        digest = await connected.read_resource(DIGEST, meta=request_meta)
        diff = await connected.read_resource(DIFF, meta=request_meta)
    assert digest.contents[0].text == story.digest
    assert diff.contents[0].text.splitlines() == story.diff


async def fast(client: fastmcp.Client[Any], story: Story) -> None:
    async with client:
        await replay(story, lambda name, arguments: client.call_tool_mcp(name=name, arguments=arguments))
        (digest,) = await client.read_resource(DIGEST)
    assert digest.text == story.digest


def test_in_memory(story: Story, short: Story) -> None:
    for mode, told in (("auto", story), ("legacy", short)):
        server = mcp_server(Sessions(environment(NAMES), SEED, single=True))
        anyio.run(sdk, mcp.Client(server, mode=mode), told, None)


def test_stdio_with_the_sdks_client(story: Story) -> None:
    command = mcp.StdioServerParameters(command=sys.executable, args=STDIO, cwd=ROOT, env={"OMP_NUM_THREADS": "1"})
    anyio.run(sdk, mcp.Client(command), story, None)
    assert our_processes() == []


def pasted() -> tuple[dict[str, Any], dict[str, Any]]:
    """The two mcp.json of the documentation, stdio and HTTP, as they stand."""
    text = (ROOT / "docs" / "servers.md").read_text(encoding="utf-8")
    stdio, http = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]
    return stdio, http


def test_stdio_with_fastmcps_client(short: Story) -> None:
    """With the lines to paste: this checkout's paths, and all servers instead of two."""
    config, _ = pasted()
    rungs = config["mcpServers"]["rungs"]
    rungs["command"] = rungs["command"].replace("/path/to/rungs/.venv/bin/python", sys.executable)
    rungs["env"] = {name: value.replace("/path/to/rungs", str(ROOT)) for name, value in rungs["env"].items()}
    rungs["args"] = [argument.replace("banking,calendar", ALL) for argument in rungs["args"]]
    assert rungs["args"][:4] == STDIO[:4]
    anyio.run(fast, fastmcp.Client({"mcpServers": {"rungs": {**rungs, "keep_alive": False}}}), short)
    assert our_processes() == []


def test_http_with_the_sdks_client(story: Story, short: Story, address: str) -> None:
    for mode, told in (("auto", story), ("legacy", short)):
        anyio.run(sdk, mcp.Client(address, mode=mode), told, meta(f"sdk-{mode}", SEED))


def test_http_with_fastmcps_client(short: Story, address: str) -> None:
    """With the lines to paste, at this server's address."""
    _, config = pasted()
    assert config["mcpServers"]["rungs"]["url"].endswith("/mcp")
    config["mcpServers"]["rungs"]["url"] = address
    anyio.run(fast, fastmcp.Client(config), short)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_are_listed_as_specified(mode: str) -> None:
    servers = environment(NAMES)

    async def listed() -> list[Any]:
        async with mcp.Client(mcp_server(Sessions(servers, single=True)), mode=mode) as client:
            return (await client.list_tools()).tools

    tools = anyio.run(listed)
    assert [tool.name for tool in tools] == list(servers.specs)
    for tool, spec in zip(tools, servers.specs.values(), strict=True):
        assert (tool.description, tool.input_schema) == (spec.description, spec.input_schema)
        assert tool.output_schema == output_schema(spec)
        assert tool.output_schema["type"] == "object"
        hints = tool.annotations
        assert (hints.read_only_hint, hints.destructive_hint) == (spec.read_only, spec.destructive)
        assert (hints.idempotent_hint, hints.open_world_hint) == (spec.idempotent, False)


# -- HTTP: clients do not meet -----------------------------------------------------------------


def test_two_clients_do_not_meet(address: str) -> None:
    """Clients that write at the same time on one seed end where each would end alone."""
    names = ["Boat", "Roof", "Garden shed", "Piano"]

    def alone(name: str) -> str:
        with environment(NAMES).session(SEED) as session:
            for kind in ("savings", "checking"):
                assert session.call("open_account", {"name": f"{name} {kind}", "kind": kind}).ok
            return session.digest()

    async def client(name: str, found: dict[str, str]) -> None:
        mine = meta(f"isolated-{name.replace(' ', '-')}", SEED)
        async with mcp.Client(address) as connected:
            for kind in ("savings", "checking"):
                answer = await connected.call_tool("open_account", {"name": f"{name} {kind}", "kind": kind}, meta=mine)
                assert not answer.is_error
            found[name] = (await connected.read_resource(DIGEST, meta=mine)).contents[0].text

    async def together() -> dict[str, str]:
        found: dict[str, str] = {}
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(client, name, found)
        return found

    found = anyio.run(together)
    assert found == {name: alone(name) for name in names}
    assert len(set(found.values())) == len(names)


def test_one_connection_may_hold_several_sessions(address: str) -> None:
    async def digests() -> list[str]:
        async with mcp.Client(address) as client:
            await client.call_tool("open_account", {"name": "Boat", "kind": "savings"}, meta=meta("several-1", SEED))
            wanted = [meta("several-1"), meta("several-2", SEED), meta("several-3")]
            return [(await client.read_resource(DIGEST, meta=m)).contents[0].text for m in wanted]

    changed, fresh, default = anyio.run(digests)
    with environment(NAMES).session(SEED) as session:
        assert fresh == session.digest() != changed
    with environment(NAMES).session(3) as session:  # the server's --seed
        assert default == session.digest()


def test_hostile_requests_leave_the_http_server_up(address: str) -> None:
    deep = b"[" * 900 + b"]" * 900
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_balance","arguments":{"account_id":%s}}}'
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    with httpx.Client(headers=headers, timeout=60) as client:
        for body in (b"garbage", b"", b"[]", b"{}", b"\xff\xfe", call % deep, call % b'"\\ud800"', b"9" * 5000):
            answer = client.post(address, content=body)
            assert answer.status_code in (400, 413)
            assert answer.json()["error"]["code"] < 0
        elsewhere = client.post(address, content=call % b"1", headers={"origin": "http://elsewhere.example"})
        assert elsewhere.status_code == 403
        renamed = client.post(address, content=call % b"1", headers={"host": "elsewhere.example"})
        assert renamed.status_code == 421
        known = client.post(address, content=call % b"1", headers={"rungs-session": "raw"}).json()["result"]
    assert known["isError"] and known["structuredContent"]["error"]["kind"] == "invalid_arguments"


# -- stdio: garbage, and the death of the client -----------------------------------------------

CLIENT = """
import subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(server.pid, flush=True)
for line in sys.stdin.buffer:
    server.stdin.write(line)
    server.stdin.flush()
    sys.stdout.buffer.write(server.stdout.readline())
    sys.stdout.buffer.flush()
"""
"""A client that passes lines on: one request, one answer. Killed, it leaves its server without a word."""

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


def test_garbage_and_the_death_of_the_client() -> None:
    command = [sys.executable, "-c", CLIENT, sys.executable, *ARGUMENTS, "banking"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=ENVIRONMENT) as client:
        try:
            assert client.stdin is not None and client.stdout is not None
            server = psutil.Process(int(client.stdout.readline()))
            ask = asker(client.stdin, client.stdout)
            assert ask(request(0, "initialize", HELLO))["result"]["serverInfo"]["name"] == "rungs"
            for line in (b"garbage", b"\xff\xfe\x00", b"[]", b"{}", b"", b"[" * 100_000, b'"' + b"x" * 1_000_000):
                answer = ask(line)
                assert answer["id"] is None and answer["error"]["code"] in (-32700, -32600)
            for line in (
                b'{"jsonrpc": "2.0", "id": 5, "method": 5}',
                call_text(5, b"[" * 250 + b"]" * 250),
                call_text(5, b'"\\ud800"'),
            ):
                answer = ask(line)
                assert answer["id"] == 5 and answer["error"]["code"] in (-32700, -32600)
            refusal = ask(call_text(6, b"NaN"))["result"]
            assert refusal["isError"] and refusal["structuredContent"]["error"]["kind"] == "invalid_arguments"
            assert ask(request(7, "no/such/method", {}))["error"]["code"] == -32601
            assert not ask(request(8, "tools/call", {"name": "list_accounts", "arguments": {}}))["result"]["isError"]
        finally:
            client.kill()
        assert psutil.wait_procs([server], timeout=60)[1] == [], "the server outlived its client"


def asker(stdin: Any, stdout: Any) -> Callable[[bytes], Any]:
    def ask(line: bytes) -> Any:
        stdin.write(line + b"\n")
        stdin.flush()
        return json.loads(stdout.readline())

    return ask


def request(number: int, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def call_text(number: int, argument: bytes) -> bytes:
    """A call of get_balance with the argument's JSON text as it is."""
    wrapped = request(number, "tools/call", {"name": "get_balance", "arguments": {"account_id": "HERE"}})
    return wrapped.replace(b'"HERE"', argument)
