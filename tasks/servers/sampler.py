"""The live-state sampler: what a session's read-only tools show of its entities.

    with environment(["banking"]).session(7) as session:
        live = sample(session)
        live.entities["account"]["acc_417"]     # {"account_id": "acc_417", "name": ..., "balance": ...}

Discovery is generic: read-only tools whose required arguments are known are called, first with no
arguments, then with identifiers that were found, until nothing new turns up or the bound on calls is
reached. Facts about one identifier from several tools are merged. Only what tools show is used, never
the state behind them.

Left out: numeric ranges and the choice of entities for a chain of tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tasks.servers.session import Environment, Session
from tasks.servers.typed import ENTITY

Facts = dict[str, Any]
SCALAR = (str, int, float, bool)
"""Types of values that are facts."""


@dataclass(slots=True)
class Live:
    """A compact view of live state: entity kind -> identifier -> facts, in the order of discovery."""

    entities: dict[str, dict[str, Facts]] = field(default_factory=dict)

    def add(self, kind: str, identifier: str, facts: Mapping[str, Any]) -> bool:
        """Merges facts about one entity; the first tool to tell a fact wins. Returns whether the entity is new."""
        known = self.entities.setdefault(kind, {})
        new = identifier not in known
        merged = known.setdefault(identifier, {})
        for key, value in facts.items():
            if value is not None:
                merged.setdefault(key, value)
        return new


@dataclass(frozen=True, slots=True)
class _Tool:
    """A read-only tool that shows entities: how to call it and how to read its result.

    `argument` is the one required identifier, of kind `kind`; without one the tool is called once with `fixed`.
    """

    name: str
    fixed: dict[str, Any]
    argument: str
    kind: str
    read: _Reader


def sample(session: Session, limit: int = 4000) -> Live:
    """Discovers the entities of all servers of a session with at most `limit` read-only calls."""
    live = Live()
    asked: set[tuple[str, str]] = set()
    tools = _tools(session.environment)
    while True:
        before = len(asked)
        for tool in tools:
            for identifier in list(live.entities.get(tool.kind, ())) if tool.argument else ("",):
                if (tool.name, identifier) in asked or len(asked) >= limit:
                    continue
                asked.add((tool.name, identifier))
                result = session.call(tool.name, {tool.argument: identifier} if tool.argument else tool.fixed)
                if result.ok:
                    tool.read(result.content, live)
        if len(asked) == before or len(asked) >= limit:
            return live


@lru_cache(maxsize=32)
def _tools(environment: Environment) -> tuple[_Tool, ...]:
    """The tools whose required arguments can be filled by what is found: none at all, or one identifier."""
    found = []
    for spec in environment.specs.values():
        read = _Reader(spec.output_schema)
        if not spec.read_only or not read.tells:
            continue
        properties = spec.input_schema.get("properties", {})
        required = spec.input_schema.get("required", [])
        if not required:
            most = properties.get("limit", {}).get("maximum")
            found.append(_Tool(spec.name, {"limit": most} if most else {}, "", "", read))
        elif len(required) == 1 and ENTITY in properties[required[0]]:
            found.append(_Tool(spec.name, {}, required[0], properties[required[0]][ENTITY], read))
    return tuple(found)


def collect(content: Any, schema: Mapping[str, Any], live: Live) -> None:
    """Adds every entity that `content` (of output `schema`) shows to `live`.

    In an object, the first property that is an identifier names the object; the other scalar properties are
    its facts. Further identifiers in it are entities of their own, about which nothing more is told.
    """
    _Reader(schema)(content, live)


class _Reader:
    """`collect` for one schema, which is walked once."""

    __slots__ = ("inner", "items", "kind", "own", "tells")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        properties = schema.get("properties", {})
        self.kind: str = schema.get(ENTITY, "")
        self.items = _Reader(schema["items"]) if isinstance(schema.get("items"), Mapping) else None
        self.own = [(name, each[ENTITY]) for name, each in properties.items() if ENTITY in each]
        readers = {name: _Reader(each) for name, each in properties.items()}
        self.inner = {name: reader for name, reader in readers.items() if reader.tells}
        self.tells = bool(self.kind or self.inner or (self.items and self.items.tells))

    def __call__(self, content: Any, live: Live) -> None:
        if isinstance(content, list):
            if self.items is not None and self.items.tells:
                for item in content:
                    self.items(item, live)
        elif isinstance(content, dict):
            own, kind = next(((name, kind) for name, kind in self.own if isinstance(content.get(name), str)), ("", ""))
            for name, reader in self.inner.items():
                if name == own:
                    live.add(kind, content[name], {k: v for k, v in content.items() if isinstance(v, SCALAR)})
                elif content.get(name) is not None:
                    reader(content[name], live)
        elif isinstance(content, str) and self.kind:
            live.add(self.kind, content, {})
