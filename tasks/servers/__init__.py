"""The library of stateful tool servers.

    from tasks.servers import environment
    with environment(["banking"]).session(seed=7) as session:
        session.call("list_accounts", {})

A server is one module with one `Server` subclass; its name is the module's name. Command line: see
`python -m tasks.servers --help`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import cache
from typing import get_args

from tasks.params import Server as LibraryServer
from tasks.servers.session import Environment, Server, Session, SessionClosedError, ToolCrashError
from tasks.servers.tool import ToolError

NAMES: tuple[str, ...] = get_args(LibraryServer)
"""The servers of the library, in the order in which they are listed; settings hold the list, which they must know early."""

__all__ = [
    "NAMES",
    "Environment",
    "Server",
    "Session",
    "SessionClosedError",
    "ToolCrashError",
    "ToolError",
    "environment",
    "server",
]


@cache
def server(name: str) -> type[Server]:
    """The server class called `name`. Raises ValueError for an unknown name."""
    if name not in NAMES:
        raise ValueError(f"no server {name!r} in the library; one of {', '.join(NAMES)}")
    module = importlib.import_module(f"tasks.servers.{name}")
    found = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, Server) and c is not Server]
    (cls,) = [c for c in found if c.__module__ == module.__name__]
    return cls


@cache
def _environment(names: tuple[str, ...]) -> Environment:
    return Environment(server(name) for name in names)


def environment(names: Iterable[str] = NAMES) -> Environment:
    """The environment of the named servers; built once per set of names."""
    return _environment(tuple(names))
