"""The user's own MCP servers as an environment: rollouts, the sampler and the graph use them like the library's.

    with load(Path("mcp.json")) as environment:
        with environment.session(seed=7) as session:
            session.call("git_status", {"repo_path": "/session"})
            session.digest(), session.diff()

A session starts one process of each server that it calls, in a working folder of its own, copied from a template; it ends
them, with everything that they started, when it is closed, when one of them fails, and when the interpreter ends. The
state that digests and diffs tell of is the content of the working folders. A server by url has no state that we see.

What is never the model's fault is raised as OutsideError (a ToolCrashError): a server that dies, hangs, floods its output
or writes garbage. The session is closed by then, and its digest is that of the folders as the server left them.

Left out: servers of the library and outside ones in one session.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tasks.records import Result, ToolFault, ToolSpec
from tasks.servers import outside_folder as folders
from tasks.servers.outside_answer import inward, outward, read_answer, refused
from tasks.servers.outside_config import ConfigError, ServerConfig, read_config
from tasks.servers.outside_link import AnswerError, Link, Loop, OutsideError
from tasks.servers.outside_listing import Listing, OutsideServer, checked, named
from tasks.servers.session import Environment, Session

__all__ = ["ConfigError", "OutsideEnvironment", "OutsideError", "OutsideServer", "OutsideSession", "load"]

UNSEEN = "0" * 16
"""In place of a digest: the state of a server by url, which nobody sees."""


def load(path: Path, names: Iterable[str] | None = None) -> OutsideEnvironment:
    """The environment of the servers of an mcp.json, of all or of the named ones; close it in the end.

    Every server is started once to list its tools. Raises ConfigError for a file that cannot be used, OutsideError for a
    server that cannot be started or that lists no usable tools.
    """
    configs = {config.name: config for config in read_config(path)}
    wanted = list(configs if names is None else names)
    for name in wanted:
        if name not in configs:
            raise ConfigError(f"{path}: there is no server {name!r}; one of {', '.join(configs)}")
        if wanted.count(name) > 1:
            raise ConfigError(f"{path}: the server {name!r} is wanted twice; name it once")
    return OutsideEnvironment([configs[name] for name in wanted])


class _Open:
    """The open links of an environment and their loop: what is left to end when nobody closes it. Thread-safe."""

    def __init__(self) -> None:
        self.loop = Loop()
        self._links: set[Link] = set()
        self._lock = threading.Lock()
        self._closed = False

    def open(self, config: ServerConfig, seed: int) -> Link:
        """A link that has been opened. Raises as Link.open does."""
        link = Link(config, self.loop, seed)
        with self._lock:
            if self._closed:
                raise OutsideError(f"outside server {config.name!r}: its environment is closed")
            self._links.add(link)
        try:
            link.open()
        except BaseException:
            self._forget(link)
            raise
        return link

    def end(self, link: Link, patience: float | None = None) -> None:
        """Ends a link, as Link.close does. Whoever comes second finds nothing to do."""
        if self._forget(link):
            link.close(patience)

    def _forget(self, link: Link) -> bool:
        with self._lock:
            known = link in self._links
            self._links.discard(link)
            return known

    def close(self) -> None:
        """Kills everything."""
        with self._lock:
            links, self._links, self._closed = list(self._links), set(), True
        for link in links:
            link.kill()
        for link in links:
            link.close(0)
        self.loop.close()


class OutsideEnvironment(Environment):
    """Some outside servers that sessions open together. Context manager; closing it kills all its sessions' servers.

    Tools are called by their own names; those whose name two servers offer are called `SERVER_NAME`.
    """

    servers: tuple[OutsideServer, ...]  # type: ignore[assignment]

    def __init__(self, configs: Iterable[ServerConfig]) -> None:
        self._open = _Open()
        self._finalizer = weakref.finalize(self, self._open.close)  # also when the interpreter ends
        self._manifests: dict[int, folders.Manifest] = {}
        try:
            super().__init__(named([_listed(config, self._open) for config in configs]))  # type: ignore[arg-type]
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> OutsideEnvironment:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Kills the servers of all sessions. Closing twice is harmless."""
        self._finalizer()

    def session(self, seed: int) -> OutsideSession:
        """Opens a session; use as a context manager. Its servers start when they are first called."""
        return OutsideSession(self, seed)

    def with_specs(self, specs: Mapping[str, ToolSpec]) -> OutsideEnvironment:
        """The same servers with other specs of the same names, such as learned ones; closed with this one."""
        other = object.__new__(OutsideEnvironment)
        other._open, other._finalizer, other._manifests = self._open, self._finalizer, self._manifests
        servers = [replace(s, specs={name: specs.get(name, spec) for name, spec in s.specs.items()}) for s in self.servers]
        Environment.__init__(other, servers)  # type: ignore[arg-type]
        return other

    def start(self, index: int, seed: int) -> Link:
        """An open link to a server, for one session. Raises OutsideError, ConfigError."""
        return self._open.open(self.servers[index].config, seed)

    def end(self, link: Link, patience: float | None = None) -> None:
        """Ends a link in `patience` seconds (default: the server's deadline; 0 kills), and removes its folder."""
        self._open.end(link, patience)

    def fresh(self, index: int) -> folders.Manifest:
        """What a server's working folder holds when a session opens; read once."""
        if index not in self._manifests:
            config = self.servers[index].config
            found = folders.manifest(config.template, config.settings.ignore) if config.template is not None else {}
            self._manifests[index] = found
        return self._manifests[index]


def _listed(config: ServerConfig, opened: _Open) -> Listing:
    """The tools of a server, from a process that is started for that."""
    link = opened.open(config, 0)
    try:
        return Listing(config, link.about, checked(config, link.tools()))
    finally:
        opened.end(link)


class OutsideSession(Session):
    """One session over an environment's outside servers. Owned by one thread at a time."""

    __slots__ = ("_fault", "_last", "_links")

    environment: OutsideEnvironment  # type: ignore[assignment]

    def __init__(self, environment: OutsideEnvironment, seed: int) -> None:
        super().__init__(environment, seed)
        self._links: dict[int, Link] = {}
        self._fault: OutsideError | None = None
        self._last: list[folders.Manifest] | None = None

    def __enter__(self) -> OutsideSession:
        return self

    def close(self) -> None:
        """Ends the servers and removes their folders. Closing twice is harmless."""
        super().close()
        self._end_all()

    def reset(self) -> None:
        """Ends the servers, so that the next calls start them on fresh folders, and forgets all idempotency keys."""
        super().reset()
        self._end_all(0)

    def _end_all(self, patience: float | None = None) -> None:
        links, self._links = self._links, {}
        for link in links.values():
            self.environment.end(link, patience)

    def _open(self) -> None:
        if self._fault is not None:
            raise OutsideError(f"this session was closed, because {self._fault}")
        super()._open()

    def _run(self, spec: ToolSpec, arguments: Mapping[str, Any], call_id: str) -> Result:
        unsendable = _unsendable(arguments)
        if unsendable:
            return Result(call_id, False, error=ToolFault("invalid_arguments", unsendable, "Give plain JSON text."))
        try:
            return self._ask(spec, arguments, call_id)
        except OutsideError as error:
            self._fail(error)
            raise

    def _ask(self, spec: ToolSpec, arguments: Mapping[str, Any], call_id: str) -> Result:
        index = self.environment.owner[spec.name]
        server = self.environment.servers[index]
        tool = server.own_names[spec.name]
        link = self._links.get(index)
        if link is None:
            link = self._links[index] = self.environment.start(index, self.seed)
        root = link.folder.root if link.folder is not None else None
        try:
            answer = link.call(tool, arguments if root is None else inward(arguments, root))
        except AnswerError as error:
            told = AnswerError(error.code, str(error) if root is None else outward(str(error), root))
            result = refused(told, call_id)
            if result is None:
                raise OutsideError(f"outside server {server.name!r}: {tool} failed by its own account: {told}") from error
            return result
        try:
            answer = answer if root is None else outward(answer, root)
            return read_answer(answer, spec.name in server.wrapped, server.config.limits.output_bytes, call_id)
        except ValueError as error:
            raise OutsideError(f"outside server {server.name!r}: the answer of {tool} is unusable: {error}") from error

    def _fail(self, error: OutsideError) -> None:
        """Closes the session after a fault; its last state is kept for `digest` and `diff`."""
        try:
            for link in self._links.values():
                link.end(0)
            self._last = self._manifests()
        finally:
            self._end_all(0)
            self._fault = error
            super().close()

    def _manifests(self) -> list[folders.Manifest]:
        """What the working folders hold now; of a server that was not called, what they would hold."""
        found = []
        for index in range(len(self.environment.servers)):
            link = self._links.get(index)
            if link is None or link.folder is None:
                found.append(self.environment.fresh(index))
            else:
                found.append(folders.manifest(link.folder.work, link.config.settings.ignore))
        return found

    def _state(self) -> list[folders.Manifest]:
        if self._last is not None:
            return self._last
        self._open()
        return self._manifests()

    def digest(self) -> str:
        """Digest of the working folders' content (16 hex digits per server, joined): equal content, equal digests."""
        state = zip(self.environment.servers, self._state(), strict=True)
        return "-".join(UNSEEN if server.config.url else folders.digest(entries) for server, entries in state)

    def diff(self) -> list[str]:
        """What the session changed in the working folders, a line a path, for people to read."""
        lines = []
        for index, entries in enumerate(self._state()):
            name = self.environment.servers[index].name
            lines += [f"{line[:2]}{name}/{line[2:]}" for line in folders.diff(self.environment.fresh(index), entries)]
        return lines


def _unsendable(arguments: Mapping[str, Any]) -> str:
    """Why arguments that the schema allows cannot stand in a JSON message; empty when they can."""
    try:
        json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "a text holds half of a surrogate pair"
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""
