"""The synchronous side of an MCP client: one event loop thread, and connections to outside servers over it.

    loop = Loop()
    link = Link(config, loop, seed=7)
    link.open()                                    # starts the server, or reaches it; shakes hands
    link.tools()                                   # tools/list, as plain JSON
    link.call("list_notes", {})                    # tools/call, as plain JSON
    link.close()

Every wait has a deadline. What ends a connection raises OutsideError, names the server and the deadline, and leaves
nothing running. Answers are plain JSON and not the SDK's models, because one odd schema would make all tools of a server
unreadable. The handshake is `initialize`, which every server of today answers.

Left out: resources, prompts, and whatever a server asks of its client (sampling, elicitation, roots: refused).
"""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import httpx2
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import CONNECTION_CLOSED

from tasks.servers.outside_config import ConfigError, ServerConfig, filled
from tasks.servers.outside_folder import TemplateError, WorkFolder
from tasks.servers.outside_pipe import GRACE, MEBI, Pipe
from tasks.servers.session import ToolCrashError

INHERITED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE")
"""Variables of ours that every server gets; all others by name only."""
PAGES = 100
"""Most pages of tools/list."""
SLACK = 2.0
"""Seconds by which our own work may outlast a deadline of a server."""

T = TypeVar("T")


class OutsideError(ToolCrashError):
    """An outside server died, hung, flooded its output, wrote garbage, or cannot be started or reached.

    An infrastructure error, never the model's wrong answer. It names the server and the deadline.
    """


class AnswerError(Exception):
    """A JSON-RPC error by which a server that goes on refuses a call: its code and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Loop:
    """An asyncio event loop on a thread of its own; coroutines from any thread run on it."""

    def __init__(self) -> None:
        self.closed = False
        self._loop = asyncio.new_event_loop()
        # A daemon, because an interpreter that ends waits for all others before it closes any environment.
        self._thread = threading.Thread(target=self._loop.run_forever, name="rungs-outside", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine, or what it raises. Interrupted, it cancels it. Raises OutsideError when closed."""
        if self.closed:
            work.close()
            raise OutsideError("the environment of these outside servers is closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Ends what runs, and the thread. Closing twice is harmless."""
        if not self.closed:
            self.run(_end_others())
            self.closed = True
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


async def _end_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Link:
    """One session's connection to one server. One thread at a time; `close` from any."""

    def __init__(self, config: ServerConfig, loop: Loop, seed: int) -> None:
        self.config = config
        self.folder: WorkFolder | None = None
        self._loop = loop
        self._seed = seed
        self._pipe: Pipe | None = None
        self._dispatcher: JSONRPCDispatcher[Any] | None = None
        self.about = ""
        """The server's own name and version, from the handshake."""
        self._version = ""
        self._holding: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._patience = config.deadlines.stop

    # -- what sessions use --------------------------------------------------------------------

    def open(self) -> None:
        """Starts the server in a copy of its template, or reaches it, and shakes hands. Raises OutsideError, ConfigError."""
        if self.config.url is None:
            try:
                self.folder = WorkFolder.copy_of(self.config.template)
            except TemplateError as error:
                raise ConfigError(f"{self.config.source}: mcpServers.{self.config.name}: {error}") from error
        try:
            self._loop.run(self._open())
        except BaseException:
            self.close(0)
            raise

    def tools(self) -> list[dict[str, Any]]:
        """The tools that the server lists. Raises OutsideError."""
        return self._loop.run(self._tools())

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The result of tools/call. Raises AnswerError when the server refuses by JSON-RPC, OutsideError otherwise."""
        what = f"the call of {tool}"
        return self._loop.run(
            self._ask("tools/call", {"name": tool, "arguments": dict(arguments)}, what, "call", self.config.deadlines.call)
        )

    def close(self, patience: float | None = None) -> None:
        """Ends the server, in `patience` seconds (default: deadlines.stop; 0 kills), and removes its folder."""
        self.end(patience)
        if self.folder is not None:
            self.folder.remove()

    def kill(self) -> None:
        """Kills the server without waiting; `close` has to follow."""
        if self._pipe is not None:
            self._pipe.kill()

    def end(self, patience: float | None = None) -> None:
        """`close` that leaves the folder."""
        if self._loop.closed:
            return  # which ended every server
        self._loop.run(self._end(self.config.deadlines.stop if patience is None else patience))

    # -- on the event loop --------------------------------------------------------------------

    async def _open(self) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        seconds = self.config.deadlines.start
        self._holding = asyncio.create_task(self._hold(ready))
        try:
            await asyncio.wait_for(ready, seconds)
        except TimeoutError:
            await self._end(0)
            raise self._error("did not finish its start", "start", seconds) from None
        except (MCPError, OSError, RuntimeError, ValueError, httpx2.HTTPError) as error:
            await self._end(0)
            raise self._error(self._reason("could not be started", error), "start", seconds) from error

    async def _hold(self, ready: asyncio.Future[None]) -> None:
        """Enters and leaves the SDK's contexts, which has to happen in one task."""
        try:
            async with AsyncExitStack() as stack:
                reading, writing = await self._streams(stack)
                self._dispatcher = JSONRPCDispatcher(reading, writing)
                session = await stack.enter_async_context(ClientSession(dispatcher=self._dispatcher))
                known = await session.initialize()
                self._version = str(known.protocol_version)
                self.about = " ".join(f"{known.server_info.name} {known.server_info.version}".split())[:80]
                ready.set_result(None)
                await self._stop.wait()
        except asyncio.CancelledError:
            if not self._stop.is_set():
                raise
        except Exception as error:
            # The library's task groups wrap what went wrong, which here is whatever a stranger's server causes.
            if not ready.done():
                ready.set_exception(_first(error))
        finally:
            self._dispatcher = None
            if self._pipe is not None:
                await self._pipe.close(self._patience)

    async def _streams(self, stack: AsyncExitStack) -> tuple[Any, Any]:
        values = {"RUNGS_SEED": str(self._seed), "RUNGS_SESSION": uuid.uuid4().hex}
        config = self.config
        if config.url is not None:
            values["RUNGS_FOLDER"] = ""
            headers = {name: filled(value, values) for name, value in config.headers.items()}
            most = 8 * config.limits.output_bytes + MEBI
            # Each request's own deadline bounds it; a stream of events may be silent for as long as it likes.
            timeout = httpx2.Timeout(config.deadlines.start, read=None)
            client = httpx2.AsyncClient(headers=headers, timeout=timeout, transport=_Bounded(most))
            await stack.enter_async_context(client)
            return await stack.enter_async_context(
                streamable_http_client(filled(config.url, values), http_client=client, max_sse_event_size=most)
            )
        assert self.folder is not None and config.command is not None
        values["RUNGS_FOLDER"] = str(self.folder.work)
        env = {name: os.environ[name] for name in INHERITED if name in os.environ}
        env |= {"HOME": str(self.folder.home), "TMPDIR": str(self.folder.scratch), "TZ": "UTC", **values}
        env |= {name: filled(value, values) for name, value in config.env.items()}
        command = [config.command, *(filled(argument, values) for argument in config.args)]
        work = self.folder.work / config.subfolder
        self._pipe = Pipe(command, env, work, self.folder.root, config.limits)
        return await self._pipe.open()

    async def _tools(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        for _ in range(PAGES):
            try:
                page = await self._ask("tools/list", params, "the list of its tools", "start", self.config.deadlines.start)
            except AnswerError as error:
                raise await self._fail(f"refused to list its tools: {error.message[:200]}", "start") from error
            tools = page.get("tools")
            if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
                raise await self._fail("listed tools that are no list of objects", "start")
            found += tools
            if not page.get("nextCursor"):
                return found
            params = {"cursor": page["nextCursor"]}
        raise await self._fail(f"listed more than {PAGES} pages of tools", "start")

    async def _ask(self, method: str, params: dict[str, Any], what: str, name: str, seconds: float) -> dict[str, Any]:
        if self._dispatcher is None:
            raise await self._fail(self._reason("ended"), name)
        if self._pipe is not None:
            self._pipe.expect()
        options: CallOptions = {"headers": {MCP_PROTOCOL_VERSION_HEADER: self._version}, "cancel_on_abandon": False}
        try:
            async with asyncio.timeout(seconds):
                return await self._dispatcher.send_raw_request(method, params, options)
        except TimeoutError:
            raise await self._fail(f"did not answer {what}", name) from None
        except MCPError as error:
            fatal = error.error.code == CONNECTION_CLOSED or (self._pipe is not None and self._pipe.fault)
            if not fatal:
                raise AnswerError(error.error.code, error.error.message) from None
            raise await self._fail(f"{self._reason('closed the connection', error)}, during {what}", name) from error

    async def _fail(self, what: str, deadline: str) -> OutsideError:
        """Ends everything at once; the error to raise."""
        await self._end(0)
        return self._error(what, deadline, getattr(self.config.deadlines, deadline))

    async def _end(self, patience: float) -> None:
        self._patience = patience
        self._stop.set()
        if self._pipe is not None and patience == 0:
            self._pipe.kill()
        holding = self._holding
        if holding is None:
            return
        done, _ = await asyncio.wait({holding}, timeout=patience + GRACE + SLACK)
        while not done:
            # An HTTP server that does not let go, or a start that goes on: its task is cancelled until it has ended.
            holding.cancel()
            done, _ = await asyncio.wait({holding}, timeout=SLACK)

    def _reason(self, otherwise: str, error: BaseException | None = None) -> str:
        if self._pipe is not None and self._pipe.fault:
            return self._pipe.fault
        text = " ".join(str(error).split())[:300] if error is not None else ""
        return f"{otherwise}: {type(error).__name__}: {text}" if text else otherwise

    def _error(self, what: str, deadline: str, seconds: float) -> OutsideError:
        said = f"; its last words: {self._pipe.said[-300:]}" if self._pipe is not None and self._pipe.said else ""
        return OutsideError(f"outside server {self.config.name!r} {what} (deadlines.{deadline}: {seconds:g} s){said}")


def _first(error: BaseException) -> Exception:
    """The first error of nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")


class _Bounded(httpx2.AsyncHTTPTransport):
    """HTTP whose responses may be at most so many bytes long."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self._most)
        return response


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream, self._left = stream, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                raise httpx2.ReadError("flooded its output: the response is larger than limits.output_bytes allows")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
