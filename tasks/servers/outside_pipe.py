"""A stdio transport for servers that are not trusted: one guarded process, with every stream bounded.

    pipe = Pipe(command, env, folder.work, folder.root, limits)
    read, write = await pipe.open()          # streams for the SDK's dispatcher
    ...
    await pipe.close(patience=4.0)
    pipe.fault                               # why the connection ended, if that was not our doing

The SDK's own stdio client reads lines of any length, passes over garbage, and leaves what left its process group. Here
the process runs under outside_guard.py; the first line that is no message, or more than `flood` bytes since `expect()`
was last called, is a fault that ends the connection. What the server writes to stderr is kept for messages, its end only.

Left out: systems without process groups.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from tasks.servers.outside_config import Limits

GUARD = Path(__file__).with_name("outside_guard.py")
CHUNK = 65_536
SAID = 2_000
"""Bytes of stderr that are kept."""
GRACE = 5.0
"""Seconds that a guard has to kill and to end. It takes milliseconds; only a process that cannot be killed takes longer."""
MEBI = 2**20

Reading = MemoryObjectReceiveStream[SessionMessage | Exception]
Writing = MemoryObjectSendStream[SessionMessage]


class Pipe:
    """One process of one server. All methods but `kill` belong to the event loop."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], work: Path, root: Path, limits: Limits) -> None:
        self.command, self.env, self.work, self.root, self.limits = list(command), dict(env), work, root, limits
        self.flood = 8 * limits.output_bytes + MEBI
        self.fault = ""
        self._heard = 0
        self._said = bytearray()
        self._lifeline: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = False

    @property
    def said(self) -> str:
        """The end of what the server wrote to stderr, as one line."""
        return " ".join(self._said.decode(errors="replace").split())

    def expect(self) -> None:
        """Called before a request: from now on the server may write as much as one answer may take."""
        self._heard = 0

    async def open(self) -> tuple[Reading, Writing]:
        """Starts the process. Raises OSError when that is not possible."""
        self._lifeline, theirs = socket.socketpair()
        limits = (self.limits.memory_mb or 0) * MEBI, self.limits.cpu_s or 0, (self.limits.file_mb or 0) * MEBI
        guarded = [sys.executable, "-I", "-S", str(GUARD), str(theirs.fileno()), str(self.root), *map(str, limits)]
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *guarded,
                *self.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self.env,
                cwd=self.work,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )
        received, reading = anyio.create_memory_object_stream[SessionMessage | Exception]()
        writing, sent = anyio.create_memory_object_stream[SessionMessage]()
        jobs = (self._read(received), self._write(sent), self._listen())
        self._tasks = [asyncio.create_task(job) for job in jobs]
        return reading, writing

    async def _read(self, received: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        assert self._process is not None and self._process.stdout is not None
        async with received:
            await self._pass_on(self._process.stdout, received)
        # Read on to the end, because asyncio tells of the end of a process only when its pipes have ended too.
        while await self._process.stdout.read(CHUNK):
            pass

    async def _pass_on(
        self, stdout: asyncio.StreamReader, received: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        """Messages, until the output ends or is none; then says why."""
        rest = bytearray()
        while chunk := await stdout.read(CHUNK):
            self._heard += len(chunk)
            if self._heard > self.flood:
                self._broke(f"flooded its output: more than {self.flood} bytes (limits.output_bytes bounds an answer)")
                return
            *lines, last = chunk.split(b"\n")
            for line in lines:
                text = bytes(rest + line).strip()
                rest.clear()
                if text and not await self._deliver(text, received):
                    return
            rest += last
        if not self._closing:
            self._broke(await self._ending())

    async def _deliver(self, line: bytes, received: MemoryObjectSendStream[SessionMessage | Exception]) -> bool:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            shown = line[:80].decode(errors="replace")
            self._broke(f"wrote what is no MCP message to its standard output: {shown!r}")
            return False
        try:
            await received.send(SessionMessage(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return False  # nobody listens any more: the connection is being closed
        return True

    def _broke(self, fault: str) -> None:
        self.fault = self.fault or fault

    async def _ending(self) -> str:
        """How the server ended, from the guard, which ends as the server did."""
        assert self._process is not None
        try:
            status = await asyncio.wait_for(self._process.wait(), GRACE)
        except TimeoutError:
            return "closed its standard output"
        await asyncio.wait(self._tasks[-1:], timeout=GRACE)  # the end of what it said
        return _ended(status, self.limits)

    async def _write(self, sent: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert self._process is not None and self._process.stdin is not None
        async with sent:
            async for message in sent:
                try:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self._process.stdin.write(text.encode() + b"\n")
                    await self._process.stdin.drain()
                except (BrokenPipeError, ConnectionResetError):
                    return  # it has ended, which the reader sees too

    async def _listen(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        while chunk := await self._process.stderr.read(CHUNK):
            self._said += chunk
            del self._said[:-SAID]

    def kill(self) -> None:
        """Kills the server and all that it started; from any thread, and without waiting."""
        self._tell(b"K")

    def _tell(self, byte: bytes) -> None:
        if self._lifeline is not None:
            try:
                self._lifeline.send(byte, socket.MSG_NOSIGNAL)
            except OSError:
                return  # the guard has ended, and with it everything else

    async def close(self, patience: float) -> None:
        """Ends the process: by the end of its input, then SIGTERM, then SIGKILL, in `patience` seconds; 0 kills at once."""
        self._closing = True
        if self._process is None:
            self._hang_up()
            return
        try:
            assert self._process.stdin is not None
            self._process.stdin.close()
            if patience > 0 and not await self._ends(patience / 2):
                self._tell(b"T")
                await self._ends(patience / 2)
        finally:
            try:
                if self._process.returncode is None:
                    self.kill()
                    if not await self._ends(GRACE):
                        self._process.kill()  # the guard; the kernel then kills the server
            finally:
                for task in self._tasks:
                    task.cancel()
                self._hang_up()
                # Pipes that a process still holds which nobody can kill would keep the transport open for ever.
                self._process._transport.close()  # type: ignore[attr-defined]

    async def _ends(self, seconds: float) -> bool:
        assert self._process is not None
        try:
            await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _hang_up(self) -> None:
        if self._lifeline is not None:
            self._lifeline.close()
            self._lifeline = None


def _ended(status: int, limits: Limits) -> str:
    if status >= 0:
        return f"ended with exit code {status}"
    if -status not in set(signal.Signals):
        return f"was ended by signal {-status}"
    number = signal.Signals(-status)
    reasons = {
        signal.SIGXCPU: f" (more than limits.cpu_s = {limits.cpu_s} s of CPU time)",
        signal.SIGXFSZ: f" (a file of more than limits.file_mb = {limits.file_mb} MiB)",
    }
    return f"was ended by {number.name}{reasons.get(number, '')}"
