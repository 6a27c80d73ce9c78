"""Servers, environments and sessions: the in-process use of a tool server.

    with environment(["banking", "calendar"]).session(seed=7) as session:
        result = session.call("list_accounts", {})
        session.digest(), session.diff()

A session checks arguments against the tool's schema, runs the tool as a transaction (a refused call
changes nothing) and answers with a Result. What it raises is never the model's fault: SessionClosedError for
use after close, ToolCrashError for a defective tool, KeyReusedError for one idempotency key on two calls.

Left out: transports (see mcp_server.py) and outside servers.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, get_origin

import orjson

from tasks.records import Result, ToolFault, ToolSpec, canonical_json
from tasks.servers.state import Seed, Table, digest, seed_digest
from tasks.servers.tool import ToolError, specs_of
from tasks.servers.world import World
from tasks.toolbox.schema import Checker


class SessionClosedError(RuntimeError):
    """A session was used after it was closed."""


class ToolCrashError(RuntimeError):
    """A tool failed in a way that no argument excuses: an infrastructure error, never the model's wrong answer."""


class KeyReusedError(ValueError):
    """One idempotency key was given to two different calls."""


class Server:
    """Base of all tool servers: a subclass declares its tables by annotation, seeds them, and has tools.

    All state lives in tables of frozen dataclasses; `self.now` is the session's clock (never the wall
    clock). Money is kept in integer cents inside and shown with two decimals.
    """

    name: ClassVar[str]
    """The server's name, its module's name."""
    title: ClassVar[str]
    """One line: what the server is for."""

    specs: ClassVar[Mapping[str, ToolSpec]]
    table_names: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.specs = MappingProxyType(specs_of(cls, cls.name))
        cls.table_names = tuple(n for n, hint in cls.__annotations__.items() if _is_table(hint))

    def __init__(self, seed: Seed, now: dt.datetime) -> None:
        self.now = now
        self.tables = {name: Table(name, seed[name]) for name in self.table_names}
        for name, table in self.tables.items():
            setattr(self, name, table)

    @classmethod
    def seed(cls, world: World) -> Seed:
        """The seeded state: table name -> key -> frozen row. Pure: same world, same state."""
        raise NotImplementedError


def _is_table(hint: Any) -> bool:
    return hint.startswith("Table[") if isinstance(hint, str) else get_origin(hint) is Table


@lru_cache(maxsize=512)
def _seeded(server: type[Server], seed: int) -> tuple[Seed, dt.datetime, bytes]:
    world = World(seed, server.name)
    state = server.seed(world)
    missing = set(server.table_names) ^ set(state)
    if missing:
        raise TypeError(f"{server.name}: tables declared and seeded differ in {sorted(missing)}")
    return state, world.now, seed_digest(state)


class Environment:
    """A set of servers that sessions open together. Tool names are unique across it.

    Raises ValueError when two servers offer a tool of the same name.
    """

    def __init__(self, servers: Iterable[type[Server]]) -> None:
        self.servers = tuple(servers)
        self.specs: dict[str, ToolSpec] = {}
        self.owner: dict[str, int] = {}
        for index, server in enumerate(self.servers):
            for name, spec in server.specs.items():
                if name in self.specs:
                    raise ValueError(f"tool {name!r} is offered by {self.specs[name].server} and by {server.name}")
                self.specs[name] = spec
                self.owner[name] = index
        self.checkers = {name: Checker(spec.input_schema) for name, spec in self.specs.items()}

    @property
    def names(self) -> list[str]:
        """The servers' names."""
        return [server.name for server in self.servers]

    def session(self, seed: int) -> Session:
        """Opens a session on the seeded state; use as a context manager."""
        return Session(self, seed)


class Session:
    """One isolated session over an environment's servers. Owned by one thread at a time."""

    __slots__ = ("_answers", "_closed", "_running", "environment", "seed")

    def __init__(self, environment: Environment, seed: int) -> None:
        self.environment = environment
        self.seed = seed
        self._running: list[Server | None] = [None] * len(environment.servers)
        self._answers: dict[str, tuple[str, Result, bytes]] | None = None  # key -> (call, answer, its content)
        self._closed = False

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the session and drops its state. Closing twice is harmless."""
        self._closed = True
        self._running = []
        self._answers = None

    def reset(self) -> None:
        """Puts the state back to the seed's, and forgets all idempotency keys."""
        self._open()
        self._running = [None] * len(self.environment.servers)
        self._answers = None

    def _open(self) -> None:
        if self._closed:
            raise SessionClosedError("this session is closed; open another with environment.session(seed)")

    def _server(self, index: int) -> Server:
        server = self._running[index]
        if server is None:
            cls = self.environment.servers[index]
            state, now, _ = _seeded(cls, self.seed)
            server = self._running[index] = cls(state, now)
        return server

    @property
    def now(self) -> dt.datetime:
        """The session's clock."""
        return World(self.seed, "").now

    def call(self, name: str, arguments: Mapping[str, Any], call_id: str = "", *, key: str | None = None) -> Result:
        """Runs one call and answers with its Result; a refusal is a Result with an error, and changes nothing.

        `key` is an idempotency key: a call repeated with its key takes effect once and gets the same answer, for
        as long as the session is open. Raises KeyReusedError when the key was given to another call.
        """
        self._open()
        environment = self.environment
        spec = environment.specs.get(name)
        if spec is None:
            return _refused(call_id, "unknown_tool", f"there is no tool {name[:60]!r}", "Use one of the tools listed.")
        violations = environment.checkers[name].violations(arguments)
        if violations:
            message = "; ".join(v.message for v in violations[:3])
            return _refused(call_id, "invalid_arguments", message, f"Follow the input schema of {name}.")
        if key is None:
            return self._run(spec, arguments, call_id)
        # Refusals above depend on the call alone, so a repeat gets the same answer without being remembered.
        return self._run_once(spec, arguments, call_id, key)

    def _run_once(self, spec: ToolSpec, arguments: Mapping[str, Any], call_id: str, key: str) -> Result:
        if self._answers is None:
            self._answers = {}
        call = canonical_json([spec.name, arguments])
        known = self._answers.get(key)
        if known is None:
            result = self._run(spec, arguments, call_id)
            self._answers[key] = (call, result, orjson.dumps(result.content))
            return result
        if known[0] != call:
            raise KeyReusedError(f"the idempotency key {key[:60]!r} was used for another call; give every call its own")
        # Read anew, because whoever got the first answer may have changed it.
        return replace(known[1], call_id=call_id, content=orjson.loads(known[2]))

    def _run(self, spec: ToolSpec, arguments: Mapping[str, Any], call_id: str) -> Result:
        """Runs a call with valid arguments as a transaction."""
        name = spec.name
        server = self._server(self.environment.owner[name])
        saved = None if spec.read_only else [(table, dict(table.own)) for table in server.tables.values()]
        try:
            content = orjson.loads(orjson.dumps(getattr(server, name)(**arguments)))
        except BaseException as error:
            for table, own in saved or ():
                table.own = own
            if isinstance(error, ToolError):
                return _refused(call_id, error.kind, error.message, error.remedy)
            if isinstance(error, Exception):
                raise ToolCrashError(f"{server.name}.{name} crashed: {type(error).__name__}: {error}") from error
            raise
        return Result(call_id, True, content=content)

    def digest(self) -> str:
        """Digest of the state of all servers (16 hex digits per server, joined): equal states, equal digests."""
        self._open()
        parts = []
        for index, cls in enumerate(self.environment.servers):
            base = _seeded(cls, self.seed)[2]
            running = self._running[index]
            parts.append(digest(base, running.tables if running else {}))
        return "-".join(parts)

    def diff(self) -> list[str]:
        """What the session changed since its seed, a line a row, for people to read."""
        self._open()
        lines = []
        for server in self._running:
            for table in server.tables.values() if server else ():
                for key, row in table.changes().items():
                    before = table.base.get(key)
                    sign = "-" if row is None else "+" if before is None else "~"
                    lines.append(f"{sign} {table.name}[{key}] {_difference(before, row)}")
        return lines


def _refused(call_id: str, kind: str, message: str, remedy: str) -> Result:
    return Result(call_id, False, error=ToolFault(kind, message, remedy))


def _difference(before: Any, after: Any) -> str:
    old = orjson.loads(orjson.dumps(before)) if before is not None else {}
    new = orjson.loads(orjson.dumps(after)) if after is not None else {}
    keys = [k for k in {**old, **new} if old.get(k) != new.get(k)]
    if not old or not new:
        return canonical_json(new or old)
    return ", ".join(f"{k}: {canonical_json(old.get(k))} -> {canonical_json(new.get(k))}" for k in keys)
