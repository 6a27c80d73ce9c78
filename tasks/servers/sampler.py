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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tasks.records import ToolSpec, canonical_json
from tasks.servers.session import Session
from tasks.servers.typed import ENTITY

Facts = dict[str, Any]


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


def sample(session: Session, limit: int = 1000) -> Live:
    """Discovers the entities of all servers of a session with at most `limit` read-only calls."""
    live = Live()
    asked: set[tuple[str, str]] = set()
    tools = [spec for spec in session.environment.specs.values() if spec.read_only and _shows_entity(spec.output_schema)]
    while True:
        before = len(asked)
        for spec in tools:
            for arguments in _known_arguments(spec, live):
                key = (spec.name, canonical_json(arguments))
                if key in asked or len(asked) >= limit:
                    continue
                asked.add(key)
                result = session.call(spec.name, arguments)
                if result.ok:
                    collect(result.content, spec.output_schema, live)
        if len(asked) == before or len(asked) >= limit:
            return live


def _shows_entity(schema: Any) -> bool:
    """Whether results of this schema can hold an identifier; one without tells nothing about entities."""
    if isinstance(schema, list):
        return any(map(_shows_entity, schema))
    return isinstance(schema, dict) and (ENTITY in schema or any(map(_shows_entity, schema.values())))


def _known_arguments(spec: ToolSpec, live: Live) -> Iterator[dict[str, Any]]:
    """Arguments that can be filled by what is known: none at all, or one required identifier."""
    properties = spec.input_schema.get("properties", {})
    required = spec.input_schema.get("required", [])
    if not required:
        limit = properties.get("limit", {}).get("maximum")
        yield {"limit": limit} if limit else {}
    elif len(required) == 1 and ENTITY in properties[required[0]]:
        for identifier in list(live.entities.get(properties[required[0]][ENTITY], {})):
            yield {required[0]: identifier}


def collect(content: Any, schema: Mapping[str, Any], live: Live) -> None:
    """Adds every entity that `content` (of output `schema`) shows to `live`.

    In an object, the first property that is an identifier names the object; the other scalar properties are
    its facts. Further identifiers in it are entities of their own, about which nothing more is told.
    """
    if isinstance(content, list):
        for item in content:
            collect(item, schema.get("items", {}), live)
        return
    if not isinstance(content, dict):
        if isinstance(content, str) and ENTITY in schema:
            live.add(schema[ENTITY], content, {})
        return
    properties = schema.get("properties", {})
    own = next((name for name, s in properties.items() if ENTITY in s and isinstance(content.get(name), str)), None)
    facts = {k: v for k, v in content.items() if isinstance(v, (str, int, float, bool))}
    for name, value in content.items():
        inner = properties.get(name, {})
        if name == own:
            live.add(inner[ENTITY], value, facts)
        elif isinstance(value, (dict, list)) or ENTITY in inner:
            collect(value, inner, live)
