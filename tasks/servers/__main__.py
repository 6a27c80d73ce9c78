"""The tool servers from the command line.

    python -m tasks.servers list [--json]
    python -m tasks.servers show banking
    python -m tasks.servers serve banking,calendar --transport stdio --seed 7
    python -m tasks.servers serve banking --transport http --port 8765
    python -m tasks.servers call banking find_account '{"name": "Garden"}' --seed 7
    python -m tasks.servers graph banking --out data/graph
    python -m tasks.servers list|show|call ... --config mcp.json       # the servers of an mcp.json (docs/outside.md)

`list --json` prints a list of {"name", "tools": [names]}. `call` prints the result as a model reads it. `graph` writes
which tool must run before which, as JSON and as a picture (tasks.servers.graph). Exit status:
0 done, 1 the tool refused, an outside server failed or the address cannot be served, 2 the command line is wrong.

Left out: several calls in one session; use `serve` with an MCP client for that.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tasks.records import ToolSpec
from tasks.servers import NAMES, Environment, ToolCrashError, environment
from tasks.servers.typed import ENTITY
from tasks.toolbox.execute import render_result
from tasks.toolbox.faults import FaultError
from tasks.toolbox.strictjson import loads


class UsageError(Exception):
    """A command line that cannot run; says what is wrong and what would be right."""


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        status = _run(args)
        sys.stdout.flush()
        return status
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except ToolCrashError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever read the output, `head` for example, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def _run(args: argparse.Namespace) -> int:
    if args.command in ("list", "show", "call"):
        with opened(getattr(args, "name", None), args.config) as servers:
            if args.command == "list":
                return list_servers(servers, args.json)
            if args.command == "show":
                return show(servers)
            return call(servers, args.tool, args.arguments, args.seed)
    if args.command == "graph":
        return graph(args.name, args.out, args.seed)
    return serve(args)


@contextmanager
def opened(names: str | None, config: Path | None) -> Iterator[Environment]:
    """The named servers, or all, of the library or of an mcp.json. Raises UsageError, ToolCrashError."""
    if config is None:
        yield named_servers(",".join(NAMES) if names is None else names)
        return
    # Late, because the protocol's library takes a second to import.
    from tasks.servers.outside import ConfigError, load

    try:
        found = load(config, None if names is None else [name.strip() for name in names.split(",")])
    except ConfigError as error:
        raise UsageError(str(error)) from error
    with found:
        yield found


def list_servers(servers: Environment, as_json: bool) -> int:
    """Prints servers with their tools."""
    if as_json:
        print(json.dumps([{"name": found.name, "tools": list(found.specs)} for found in servers.servers], indent=1))
        return 0
    for found in servers.servers:
        print(f"{found.name:14} {len(found.specs):3} tools  {found.title}")
    return 0


def show(servers: Environment) -> int:
    """Prints the tools of some servers with their arguments."""
    for found in servers.servers:
        print(f"{found.name}: {found.title}\n")
        for spec in found.specs.values():
            _show_tool(spec)
    return 0


def _show_tool(spec: ToolSpec) -> None:
    marks = [mark for mark, known in (("read-only", spec.read_only), ("destructive", spec.destructive)) if known]
    if spec.idempotent and not spec.read_only:
        marks.append("idempotent")
    print(f"{spec.name}  [{', '.join(marks)}]" if marks else spec.name)
    print(f"    {' '.join(spec.description.split())}")
    required = spec.input_schema.get("required", [])
    for parameter, schema in spec.input_schema.get("properties", {}).items():
        default = "" if parameter in required else f" = {json.dumps(schema.get('default'))}"
        print(f"    {parameter}: {_kind(schema)}{default}")
    print(f"    -> {_kind(spec.output_schema)}")


def _kind(schema: Mapping[str, Any]) -> str:
    """A schema in a few words."""
    if ENTITY in schema:
        return f"{schema[ENTITY]} id"
    if "enum" in schema:
        return " | ".join(json.dumps(v) for v in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_kind(s) for s in schema["anyOf"])
    if schema.get("type") == "array":
        return f"[{_kind(schema.get('items', {}))}]"
    if schema.get("type") == "object" and schema.get("properties"):
        optional = set(schema["properties"]) - set(schema.get("required", []))
        return "{" + ", ".join(f"{n}{'?' * (n in optional)}: {_kind(s)}" for n, s in schema["properties"].items()) + "}"
    return str(schema.get("format") or schema.get("type") or "any")


def call(servers: Environment, tool: str, text: str, seed: int) -> int:
    """Runs one call on a new session and prints its result."""
    if tool not in servers.specs:
        names = ",".join(servers.names)
        raise UsageError(f"{names} has no tool {tool!r}.{_nearest(tool, servers.specs)} See: show {servers.names[0]}")
    try:
        arguments = loads(text)
    except FaultError as error:
        before, after = text[max(0, error.position - 60) : error.position], text[error.position : error.position + 20]
        shown = "".join(c if c.isprintable() else " " for c in before + after)
        raise UsageError(f"the arguments are not JSON: {error}\n  {shown}\n  {' ' * len(before)}^") from error
    if not isinstance(arguments, dict):
        raise UsageError(f"the arguments are not a JSON object, such as {{}}: {text[:60]}")
    with servers.session(seed) as session:
        result = session.call(tool, arguments)
    print(render_result(result))
    return 0 if result.ok else 1


def graph(names: str, out: Path, seed: int) -> int:
    """Writes the dependency graph, cached by schema, with its picture; prints counts and some chains."""
    servers = named_servers(names)
    # Late, because they take a second to import.
    from tasks.servers.chains import chains
    from tasks.servers.graph import cached, counts
    from tasks.servers.picture import draw

    found = cached(servers, out, seed)
    stem = "+".join(servers.names)
    draw(found, out / f"{stem}.png")
    print(", ".join(f"{count} {name}" for name, count in counts(found).items()))
    for length in (2, 3, 4):
        for chain in chains(found, length, 3, random.Random(seed)):
            print("  " + " -> ".join(chain))
    print(f"{out / stem}.json and .png")
    return 0


def serve(args: argparse.Namespace) -> int:
    """Serves until the client goes, or until a signal."""
    servers = named_servers(args.name)
    if args.transport == "stdio" and (args.port is not None or args.host is not None):
        raise UsageError("--port and --host go with --transport http")
    # Late, because the protocol's library takes a second to import.
    from tasks.servers.mcp_server import serve_http, serve_stdio
    from tasks.servers.mcp_sessions import Sessions

    if args.transport == "stdio":
        # A read of standard input cannot be interrupted, so Ctrl-C would wait for a line; there is nothing to save.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        serve_stdio(Sessions(servers, args.seed, single=True))
        return 0
    host, port = args.host or "127.0.0.1", 8765 if args.port is None else args.port
    try:
        serve_http(Sessions(servers, args.seed, most=args.sessions, idle=args.idle), host, port)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error  # strerror of create_server says all of this again
        print(f"error: cannot serve {host} port {port}: {reason}; --port 0 takes a free one", file=sys.stderr)
        return 1
    return 0


def named_servers(text: str) -> Environment:
    """The environment of a comma-separated list of servers. Raises UsageError for an unknown or repeated name."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in NAMES:
            raise UsageError(f"there is no server {name!r}.{_nearest(name, NAMES)} One of {', '.join(NAMES)}")
        if names.count(name) > 1:
            raise UsageError(f"{name} is named twice")
    return environment(names)


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f" Did you mean {close[0]}?" if close else ""


def _bounded(low: int, high: int) -> Any:
    def integer(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{value} is not from {low} to {high}")
        return value

    return integer


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tasks.servers", description="The library of stateful tool servers.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    seed: dict[str, Any] = {"type": _bounded(0, 2**63 - 1), "default": 0, "help": "seed of the state (default 0)"}

    config: dict[str, Any] = {"type": Path, "metavar": "MCP.JSON", "help": "the servers of this file, not the library's"}

    one = commands.add_parser("list", help="all servers")
    one.add_argument("--json", action="store_true", help='a list of {"name", "tools": [names]}')
    one.add_argument("--config", **config)

    one = commands.add_parser("show", help="one server's tools")
    one.add_argument("name", metavar="NAME[,NAME]")
    one.add_argument("--config", **config)

    one = commands.add_parser("serve", help="as an MCP server")
    one.add_argument("name", metavar="NAME[,NAME]")
    one.add_argument("--transport", choices=["stdio", "http"], default="stdio")
    one.add_argument("--seed", **seed)
    one.add_argument("--port", type=_bounded(0, 65535), help="http: default 8765; 0 takes a free one")
    one.add_argument("--host", help="http: default 127.0.0.1; another one opens all sessions to whoever reaches it")
    one.add_argument("--sessions", type=_bounded(1, 10**6), default=1024, help="http: most sessions at once (default 1024)")
    one.add_argument("--idle", type=_bounded(1, 10**7), default=3600, help="http: seconds until an unused session is closed")

    one = commands.add_parser("call", help="one call on a new session")
    one.add_argument("name", metavar="NAME")
    one.add_argument("tool", metavar="TOOL")
    one.add_argument("arguments", metavar="JSON", help="the arguments, one JSON object")
    one.add_argument("--seed", **seed)
    one.add_argument("--config", **config)

    one = commands.add_parser("graph", help="which tool must run before which")
    one.add_argument("name", metavar="NAME[,NAME]")
    one.add_argument("--out", type=Path, default=Path("data/graph"), help="folder of the JSON and the picture")
    one.add_argument("--seed", **seed)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
