"""Servers of the library as a real MCP server: over stdio, over streamable HTTP, or in memory.

    python -m tasks.servers serve banking,calendar --transport http --port 8765     # from the command line
    async with mcp.Client(mcp_server(Sessions(environment(["banking"]), single=True))) as client: ...

tools/list and tools/call stand on the same ToolSpecs and the same Session.call as direct dispatch, so the answers
are equal. A refusal is a result with isError and {"error": {kind, message, remedy}}. Structured content must be an
object, so other results travel as {"result": value}; `read_result` gives back the Result of direct dispatch.

Over stdio the process is the session. Over HTTP a request names its session (mcp_sessions.py) in its `_meta`, or by
headers of the connection, which any client's mcp.json can set; `_meta` wins:

    _meta           header          meaning
    rungs/session   Rungs-Session   name of the session, chosen by the client; required
    rungs/seed      Rungs-Seed      seed to open it on; default: the server's --seed
    rungs/key       -               idempotency key of this call

The resources rungs://session/digest and rungs://session/diff show the state's digest and changes; the request
rungs/close ends a session. None of the three is a tool, so no model calls them. A request that reaches no session
gets a JSON-RPC error whose data is {kind, message, remedy}: it is never the model's fault.

Left out: authentication, notifications, and prompts.
"""

from __future__ import annotations

import json
import logging
import socket
import sys
from typing import Any

import anyio
import mcp_types as types
import orjson
import uvicorn
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from starlette.applications import Starlette

from tasks.records import Result, ToolFault, ToolSpec
from tasks.servers.mcp_sessions import NAME, Address, SessionError, Sessions
from tasks.servers.session import KeyReusedError, ToolCrashError
from tasks.toolbox.execute import render_result

SESSION, SEED, KEY = "rungs/session", "rungs/seed", "rungs/key"
"""Keys of a request's `_meta`."""
SESSION_HEADER, SEED_HEADER = "rungs-session", "rungs-seed"
"""Headers of a connection."""
DIGEST, DIFF = "rungs://session/digest", "rungs://session/diff"
"""Resources of a session."""
CLOSE = "rungs/close"
"""The request that ends a session; its result is {"closed": whether it was open}."""

PATH = "/mcp"
"""Where the HTTP server answers."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]


# -- what a client needs -----------------------------------------------------------------------


def meta(session: str | None = None, seed: int | None = None, key: str | None = None) -> dict[str, Any]:
    """The `_meta` of a request to our server."""
    return {name: value for name, value in ((SESSION, session), (SEED, seed), (KEY, key)) if value is not None}


def read_result(answer: Any, spec: ToolSpec, call_id: str = "") -> Result:
    """The Result that an answer to tools/call carries, equal to the one of direct dispatch.

    `answer` is the CallToolResult of the SDK's client or of fastmcp's. Raises ValueError when it is not one of ours.
    """
    content = answer.structured_content
    if not isinstance(content, dict):
        raise ValueError(f"the answer of {spec.name} has no structured content")
    if answer.is_error:
        error = content.get("error")
        if not isinstance(error, dict) or not {"kind", "message"} <= error.keys():
            raise ValueError(f"the refusal of {spec.name} is not {{kind, message, remedy}}")
        return Result(call_id, False, error=ToolFault(error["kind"], error["message"], error.get("remedy", "")))
    return Result(call_id, True, content=content[WRAPPED] if wraps(spec) else content)


# -- from ToolSpecs and Results to the protocol ------------------------------------------------

WRAPPED = "result"
"""The property that holds a result which is no object, as in the SDK's own servers."""


def wraps(spec: ToolSpec) -> bool:
    """Whether results of a tool travel wrapped: all that its output schema does not make objects."""
    return bool(spec.output_schema.get("type") != "object")


def output_schema(spec: ToolSpec) -> dict[str, Any]:
    """The output schema as the protocol has it: always of an object."""
    if not wraps(spec):
        return dict(spec.output_schema)
    inner = {key: value for key, value in spec.output_schema.items() if key != "$defs"}
    schema = {"type": "object", "properties": {WRAPPED: inner}, "required": [WRAPPED], "x-fastmcp-wrap-result": True}
    if "$defs" in spec.output_schema:  # references count from the root
        schema["$defs"] = spec.output_schema["$defs"]
    return schema


def as_tool(spec: ToolSpec) -> types.Tool:
    """A ToolSpec as tools/list shows it."""
    return types.Tool(
        name=spec.name,
        description=spec.description,
        input_schema=dict(spec.input_schema),
        output_schema=output_schema(spec),
        annotations=types.ToolAnnotations(
            read_only_hint=spec.read_only,
            destructive_hint=spec.destructive,
            idempotent_hint=spec.idempotent,
            open_world_hint=False,
        ),
    )


def as_answer(result: Result, spec: ToolSpec | None) -> types.CallToolResult:
    """A Result as the answer to tools/call; the text is what a model reads in training (render_result)."""
    text = render_result(result)
    structured: Any = orjson.loads(text) if not result.ok else result.content
    if result.ok and spec is not None and wraps(spec):
        structured = {WRAPPED: structured}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=structured, is_error=not result.ok
    )


def refusal(error: SessionError) -> MCPError:
    """A SessionError as a JSON-RPC error."""
    data = {"kind": error.kind, "message": error.message, "remedy": error.remedy}
    return MCPError(types.INVALID_PARAMS, f"{error.message}. {error.remedy}", data)


def address_of(ctx: Context) -> Address:
    """The session that a request is for. Raises SessionError for a malformed name or seed."""
    given: dict[str, Any] = {**(ctx.meta or {})}
    headers = getattr(ctx.request, "headers", None) or {}
    name = given.get(SESSION, headers.get(SESSION_HEADER))
    seed = given.get(SEED, headers.get(SEED_HEADER) if SESSION not in given else None)
    if name is not None and not isinstance(name, str):
        raise SessionError("session_invalid", f"{SESSION} is not text", "Give the session's name.")
    if isinstance(seed, str) and seed.isascii() and seed.isdigit() and len(seed) < 19:
        seed = int(seed)
    if seed is not None and (type(seed) is not int or not 0 <= seed < 2**63):
        raise SessionError("session_invalid", f"{SEED} is not a seed", "Give an integer from 0 to 2**63 - 1.")
    return Address(name, seed)


def key_of(ctx: Context) -> str | None:
    """A request's idempotency key. Raises SessionError for a malformed one."""
    given: dict[str, Any] = {**(ctx.meta or {})}
    key = given.get(KEY)
    if key is not None and not (isinstance(key, str) and NAME.fullmatch(key)):
        raise SessionError("session_invalid", f"{KEY} is no key", "Give 1 to 128 printable ASCII characters without spaces.")
    return key


# -- the server --------------------------------------------------------------------------------


def mcp_server(sessions: Sessions) -> Server[Any]:
    """The SDK's low-level server over some sessions; for any transport."""
    specs = sessions.environment.specs
    tools = [as_tool(spec) for spec in specs.values()]

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    # A call takes microseconds, less than a change of threads: it runs where it arrives, under the session's lock.
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            with sessions.use(address_of(ctx)) as session:
                result = session.call(params.name, params.arguments or {}, key=key_of(ctx))
        except SessionError as error:
            raise refusal(error) from error
        except KeyReusedError as error:
            raise refusal(SessionError("session_conflict", str(error), "Repeat a key only with its own call.")) from error
        except ToolCrashError as error:
            log.exception("a tool crashed; its session is as before the call")
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error
        return as_answer(result, specs.get(params.name))

    async def list_resources(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        about = (
            (DIGEST, "digest", "Digest of the session's state."),
            (DIFF, "diff", "What the session changed, a line a row."),
        )
        found = [types.Resource(uri=u, name=n, description=d, mime_type="text/plain") for u, n, d in about]
        return types.ListResourcesResult(resources=found)

    async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        if uri not in (DIGEST, DIFF):
            raise MCPError(
                types.INVALID_PARAMS, f"there is no resource {uri[:100]!r}; one of {DIGEST}, {DIFF}", {"uri": uri[:100]}
            )
        try:
            with sessions.use(address_of(ctx)) as session:
                text = session.digest() if uri == DIGEST else "\n".join(session.diff())
        except SessionError as error:
            raise refusal(error) from error
        found = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[found])

    async def close(ctx: Context, params: types.RequestParams) -> dict[str, Any]:
        try:
            return {"closed": sessions.close(address_of(ctx))}
        except SessionError as error:
            raise refusal(error) from error

    server: Server[Any] = Server(
        "rungs",
        title="Rungs",
        instructions="\n".join(f"{s.name}: {s.title}" for s in sessions.environment.servers),
        cache_hints={"tools/list": CacheHint(ttl_ms=3_600_000, scope="public")},
        get_tool_input_schema=lambda name: specs[name].input_schema if name in specs else None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )
    server.add_request_handler(CLOSE, types.RequestParams, close)
    return server


def http_app(sessions: Sessions, host: str = "127.0.0.1") -> Starlette:
    """The ASGI application that answers at PATH. On loopback hosts, requests from web pages elsewhere are refused."""
    # Stateless and plain JSON: all state hangs on our own sessions, and no tool sends anything but its answer.
    return mcp_server(sessions).streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, host=host
    )


def serve_stdio(sessions: Sessions) -> None:
    """Serves this process's standard input and output until the input ends."""

    async def serve() -> None:
        server = mcp_server(sessions)
        async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
            requests, readable = anyio.create_memory_object_stream[SessionMessage | Exception]()
            tasks.start_soon(_sift, read, requests, write)
            await server.run(readable, write, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    try:
        anyio.run(serve)
    finally:
        sessions.close_all()


async def _sift(read: Any, requests: Any, write: Any) -> None:
    """Passes messages on, and answers lines that are none: the SDK drops those, and their sender waits for ever."""
    async with requests:
        async for item in read:
            if isinstance(item, SessionMessage):
                await requests.send(item)
            elif isinstance(item, ValidationError):
                await write.send(SessionMessage(not_a_message(item)))


def not_a_message(error: ValidationError) -> types.JSONRPCError:
    """The answer to a line that is no message, to the request's id as far as there is one."""
    faults = error.errors(include_url=False, include_context=False)
    found: Any = next((f["input"] for f in faults if isinstance(f["input"], dict) and "id" in f["input"]), None)
    code, message = types.INVALID_REQUEST, "not a JSON-RPC message"
    if faults[0]["type"] == "json_invalid":
        code, message = types.PARSE_ERROR, faults[0]["msg"]
        try:
            found = json.loads(faults[0]["input"])
        except (ValueError, RecursionError):
            found = None
    known = found.get("id") if isinstance(found, dict) else None
    known = known if isinstance(known, (str, int)) and not isinstance(known, bool) and str(known).isprintable() else None
    return types.JSONRPCError(jsonrpc="2.0", id=known, error=types.ErrorData(code=code, message=message))


def serve_http(sessions: Sessions, host: str = "127.0.0.1", port: int = 0) -> None:
    """Serves HTTP until SIGINT or SIGTERM; prints the address first. Port 0 takes a free one. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listening:
        # asyncio does so only for sockets that it made itself; without it every answer waits 40 ms for an ACK.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        shown = f"[{host}]" if ":" in host else host
        print(f"http://{shown}:{listening.getsockname()[1]}{PATH}", flush=True)
        if host not in LOOPBACK:
            print("anyone who reaches this address can use every session: there is no authentication", file=sys.stderr)
        config = uvicorn.Config(http_app(sessions, host), log_level="warning", access_log=False, timeout_graceful_shutdown=2)
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            sessions.close_all()
