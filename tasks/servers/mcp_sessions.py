"""Sessions by name: how one process serves many MCP clients of whom no two meet.

    sessions = Sessions(environment(["banking"]))
    with sessions.use(Address("run-1", seed=7)) as session:
        session.call("list_accounts", {})

The protocol has no sessions, so a client names its own (see mcp_server.py for where). The first request with
a name opens the session, on the seed that it gives or else on the default one; every request with that name
goes to it, one at a time. Sessions are bounded in number and in idle time. A session that ran out of idle time
is never silently begun anew: its name is refused until it is closed by name. Thread-safe.

Left out: authentication. Whoever knows a session's name can use it; serve on loopback.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tasks.servers.session import Environment, Session

NAME = re.compile(r"[!-~]{1,128}")
"""What a session's name, and an idempotency key, look like: printable ASCII without spaces."""

EXPIRED_NAMES = 4096
"""How many names of expired sessions are remembered, the latest ones."""

SESSION_KINDS = (
    "session_missing",  # the request names no session
    "session_invalid",  # the name, seed or key is malformed, or names are not used here
    "session_conflict",  # the session is open on another seed, or the key was used for another call
    "session_expired",  # closed because nobody used it
    "session_limit",  # as many sessions as allowed are open
)
"""The closed vocabulary of SessionError: faults of the client's program, never of the model that calls tools."""


class SessionError(Exception):
    """A request that reaches no session. `kind` is one of SESSION_KINDS; `remedy` says what would help."""

    def __init__(self, kind: str, message: str, remedy: str) -> None:
        if kind not in SESSION_KINDS:
            raise ValueError(f"unknown kind {kind!r}; one of {', '.join(SESSION_KINDS)}")
        super().__init__(message)
        self.kind, self.message, self.remedy = kind, message, remedy


@dataclass(frozen=True, slots=True)
class Address:
    """Which session a request is for. Without a seed: the session's own, or the default one when it opens."""

    name: str | None = None
    seed: int | None = None


@dataclass(slots=True)
class _Held:
    session: Session
    used: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    closed: bool = False

    def close(self) -> None:
        """Call with the lock held."""
        self.closed = True
        self.session.close()


class Sessions:
    """The open sessions of one process over one environment.

    seed: what a session opens on when its first request gives none. single: the process is one session, without a
    name and without an end (stdio). most: how many may be open at once. idle: seconds without a request after which
    a session is closed. clock: seconds, monotonic.
    """

    def __init__(
        self,
        environment: Environment,
        seed: int = 0,
        *,
        single: bool = False,
        most: int = 1024,
        idle: float = 3600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.environment = environment
        self.seed = seed
        self.single = single
        self.most = most
        self.idle = math.inf if single else idle
        self._clock = clock
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _Held] = OrderedDict()  # in the order of their last use
        self._expired: OrderedDict[str, None] = OrderedDict()

    @property
    def count(self) -> int:
        """How many sessions are open."""
        return len(self._open)

    @contextmanager
    def use(self, address: Address) -> Iterator[Session]:
        """The session of an address, opened if need be, for the caller alone. Raises SessionError."""
        held = self._find(address)
        with held.lock:
            if held.closed:
                raise SessionError("session_expired", f"session {address.name!r} was closed just now", "Use another name.")
            yield held.session

    def close(self, address: Address) -> bool:
        """Ends a session and forgets its name. Returns whether it was open. Raises SessionError without a name."""
        name = self._name(address)
        if self.single:
            raise SessionError("session_invalid", "the process is the session", "End it by closing the process's input.")
        with self._lock:
            self._expired.pop(name, None)
            held = self._open.pop(name, None)
        if held is None:
            return False
        with held.lock:
            held.close()
        return True

    def close_all(self) -> None:
        """Ends all sessions."""
        with self._lock:
            every = list(self._open.values())
            self._open.clear()
        for held in every:
            with held.lock:
                held.close()

    def _name(self, address: Address) -> str:
        if self.single:
            if address.name is not None:
                raise SessionError("session_invalid", "this process is one session, without a name", "Leave the name out.")
            return ""
        if address.name is None:
            raise SessionError("session_missing", "the request names no session", "Choose a name; see docs/servers.md.")
        if not NAME.fullmatch(address.name):
            wrong = f"{address.name[:60]!r} is no session name"
            raise SessionError("session_invalid", wrong, "Give 1 to 128 printable ASCII characters without spaces.")
        return address.name

    def _find(self, address: Address) -> _Held:
        name = self._name(address)
        with self._lock:
            now = self._clock()
            self._expire(now)
            held = self._open.get(name)
            if held is None:
                if name in self._expired:
                    expired = f"session {name!r} was closed after {self.idle:.0f} s without a request"
                    raise SessionError("session_expired", expired, "Use another name, or close this one by name first.")
                if len(self._open) >= self.most:
                    raise SessionError("session_limit", f"{self.most} sessions are open", "Close one, or try again later.")
                seed = self.seed if address.seed is None else address.seed
                held = self._open[name] = _Held(self.environment.session(seed), now)
            elif address.seed not in (None, held.session.seed):
                wrong = f"the session is open on seed {held.session.seed}, not {address.seed}"
                raise SessionError("session_conflict", wrong, "Use another session for another seed.")
            held.used = now
            self._open.move_to_end(name)
            return held

    def _expire(self, now: float) -> None:
        while self._open:
            name, held = next(iter(self._open.items()))
            if now - held.used <= self.idle:
                return
            if not held.lock.acquire(blocking=False):  # a call runs, so it is in use
                held.used = now
                self._open.move_to_end(name)
                continue
            try:
                held.close()
            finally:
                held.lock.release()
            del self._open[name]
            self._expired[name] = None
            while len(self._expired) > EXPIRED_NAMES:
                self._expired.popitem(last=False)
