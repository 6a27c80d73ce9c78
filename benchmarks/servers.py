"""Speed of the tool servers, beside the MCP SDK's own dispatch, all measured in one run.

    OMP_NUM_THREADS=1 python -m benchmarks.servers [--json FILE] [--calls 2000]

Direct dispatch and its peers run in turns of small batches, so that a busy machine slows all of them; figures are
the best batch and the median batch. Our tool is get_room of the calendar, a look-up by identifier. The peers are
`MCPServer.call_tool`, the SDK's dispatch without a transport, on a tool that returns a constant (so its own work is
nothing), and the SDK's in-memory client of our server and of that MCPServer. Then: opening and closing a session
of every server, and a call over stdio and HTTP with the SDK's client.

Left out: memory, and many clients at once.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
import mcp
from mcp.server.mcpserver import MCPServer

from tasks.servers import NAMES, environment
from tasks.servers.mcp_server import mcp_server, meta
from tasks.servers.mcp_sessions import Sessions
from tasks.servers.sampler import sample

SEED = 7
BATCHES = 10
SERVE = [sys.executable, "-m", "tasks.servers", "serve", "calendar", "--seed", str(SEED)]

Batch = Callable[[int], Awaitable[None]]


async def seconds(work: Batch, calls: int) -> float:
    """Seconds per call of one batch."""
    start = time.perf_counter()
    await work(calls)
    return (time.perf_counter() - start) / calls


def summary(times: list[float], unit: float, digits: int) -> dict[str, float]:
    """Best and median of some times, in units of `unit` seconds."""
    return {"best": round(min(times) / unit, digits), "median": round(statistics.median(times) / unit, digits)}


def peer() -> MCPServer:
    """The SDK's high-level server with one tool, declared as its users declare tools."""
    server = MCPServer("peer", log_level="WARNING")

    @server.tool(structured_output=True)
    async def get_room(room_id: str) -> dict[str, Any]:
        """A room's name, floor and places."""
        return {"room_id": room_id, "name": "Ash", "floor": 1, "places": 4}

    return server


async def dispatch(calls: int) -> dict[str, Any]:
    """Calls per second of direct dispatch and of its peers, in turns."""
    servers = environment(["calendar"])
    with servers.session(SEED) as session:
        arguments = {"room_id": next(iter(sample(session).entities["room"]))}
        theirs = peer()
        ours = mcp_server(Sessions(servers, SEED, single=True))
        async with mcp.Client(ours) as our_client, mcp.Client(theirs) as their_client:

            async def direct(count: int) -> None:
                for _ in range(count):
                    session.call("get_room", arguments)

            async def sdk(count: int) -> None:
                for _ in range(count):
                    await theirs.call_tool("get_room", arguments)

            async def in_memory_ours(count: int) -> None:
                for _ in range(count):
                    await our_client.call_tool("get_room", arguments)

            async def in_memory_sdk(count: int) -> None:
                for _ in range(count):
                    await their_client.call_tool("get_room", arguments)

            works: dict[str, tuple[Batch, int]] = {
                "direct dispatch": (direct, calls),
                "SDK dispatch without a transport": (sdk, max(calls // 5, 1)),
                "SDK in-memory client, our server": (in_memory_ours, max(calls // 50, 1)),
                "SDK in-memory client, its own server": (in_memory_sdk, max(calls // 50, 1)),
            }
            times: dict[str, list[float]] = {name: [] for name in works}
            for _ in range(BATCHES + 1):
                for name, (work, count) in works.items():
                    times[name].append(await seconds(work, count))
    rates = {n: {"best": round(1 / min(t[1:])), "median": round(1 / statistics.median(t[1:]))} for n, t in times.items()}
    return {
        "calls_per_s": rates,
        "direct_over": {
            n: round(rates["direct dispatch"]["best"] / r["best"], 1) for n, r in rates.items() if n in list(rates)[1:]
        },
    }


def sessions() -> dict[str, Any]:
    """Milliseconds to open and close a session: nothing in between, with a first call, and on a seed never seen."""
    found = {}
    for name in NAMES:
        servers = environment([name])
        first = next(s.name for s in servers.specs.values() if s.read_only and not s.input_schema.get("required"))
        times: dict[str, list[float]] = {"open_close": [], "with_a_call": [], "new_seed": []}
        servers.session(SEED).call(first, {})
        for batch in range(BATCHES):
            start = time.perf_counter()
            for _ in range(200):
                servers.session(SEED).close()
            middle = time.perf_counter()
            for _ in range(200):
                with servers.session(SEED) as session:
                    session.call(first, {})
            end = time.perf_counter()
            with servers.session(10_000 + batch) as session:
                session.call(first, {})
            times["open_close"].append((middle - start) / 200)
            times["with_a_call"].append((end - middle) / 200)
            times["new_seed"].append(time.perf_counter() - end)
        found[name] = {what: summary(t, 1e-3, 4) for what, t in times.items()}
    return found


@contextmanager
def http_address() -> Iterator[str]:
    """The address of an HTTP server in a process of its own."""
    command = [*SERVE, "--transport", "http", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


async def over(transport: Any, calls: int, request_meta: dict[str, Any] | None) -> dict[str, Any]:
    """Milliseconds to connect, and per call."""
    start = time.perf_counter()
    async with mcp.Client(transport) as client:
        opened = time.perf_counter() - start
        listed = await client.call_tool("list_rooms", {"limit": 1}, meta=request_meta)
        arguments = {"room_id": listed.structured_content["result"][0]["room_id"]}
        times = []
        for _ in range(calls):
            begun = time.perf_counter()
            await client.call_tool("get_room", arguments, meta=request_meta)
            times.append(time.perf_counter() - begun)
    return {"open_ms": round(opened * 1e3, 1), "call_ms": summary(times, 1e-3, 2)}


async def transports(calls: int) -> dict[str, Any]:
    """stdio and HTTP, with the SDK's client."""
    stdio = await over(mcp.StdioServerParameters(command=SERVE[0], args=SERVE[1:], cwd=Path.cwd()), calls, None)
    with http_address() as address:
        http = await over(address, calls, meta("benchmark"))
    return {"stdio": stdio, "http": http}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.servers", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--calls", type=int, default=2000, help="direct calls per batch; peers make fewer (default 2000)")
    args = parser.parse_args(argv)
    if args.calls < 1:
        parser.error("--calls must be at least 1")
    before = os.getloadavg()
    figures: dict[str, Any] = {
        "dispatch": anyio.run(dispatch, args.calls),
        "sessions_ms": sessions(),
        "transports": anyio.run(transports, 100),
        "versions": {name: version(name) for name in ("mcp", "pydantic", "jsonschema", "jsonschema-rs", "orjson")},
        "machine": {
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "load_before": before,
            "load_after": os.getloadavg(),
        },
    }
    show(figures)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


def show(figures: dict[str, Any]) -> None:
    """Prints the figures as tables."""
    print(f"{'calls per second':40} {'best':>9} {'median':>9}   direct is faster by")
    for name, rate in figures["dispatch"]["calls_per_s"].items():
        ratio = figures["dispatch"]["direct_over"].get(name)
        print(f"{name:40} {rate['best']:9,} {rate['median']:9,}   {f'{ratio} x' if ratio else ''}")
    print(f"\n{'session, best ms (median)':26} {'open+close':>18} {'with a call':>18} {'new seed':>18}")
    for name, row in figures["sessions_ms"].items():
        print(f"{name:26} " + " ".join(f"{t['best']:9.4f} ({t['median']:.4f})" for t in row.values()))
    print("\ntransport, SDK client")
    for name, row in figures["transports"].items():
        print(f"{name:6} open {row['open_ms']} ms, call {row['call_ms']['best']} ms (median {row['call_ms']['median']})")
    machine = figures["machine"]
    print(f"\npython {machine['python']}, " + ", ".join(f"{n} {v}" for n, v in figures["versions"].items()))
    load = [f"{before:.1f}" for before in (machine["load_before"][0], machine["load_after"][0])]
    print(f"{machine['cores']} cores, load average {load[0]} before and {load[1]} after")


if __name__ == "__main__":
    raise SystemExit(main())
