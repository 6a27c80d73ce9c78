"""Arguments for calls, from what a session shows: valid by the tool's schema, and about entities that exist.

    live = sample(session)
    fill(spec, live, rng)                                   # {"account_id": "acc_417", "amount": 12.5}
    fill(spec, live, rng, {"/account_id": "acc_032"})       # one value is given, by JSON Pointer

Left out: values that only a person could know (a search text that means something); they are made up.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tasks.servers.sampler import Live
from tasks.servers.typed import ENTITY

WORDS = ("quarterly review", "spare key", "green tea", "north window", "weekly summary", "red folder", "travel plan")
"""Free text where nothing better is known."""

OPTIONAL = 0.25
"""The share of optional arguments that are given."""


class UnfillableError(LookupError):
    """A required identifier's kind has no entity in this state, or a text's form has no known example; names which."""


@dataclass(frozen=True, slots=True)
class Input:
    """An identifier among a tool's arguments: its JSON Pointer, its entity kind, whether every call needs it."""

    pointer: str
    entity: str
    required: bool


def inputs(schema: Mapping[str, Any], pointer: str = "", required: bool = True) -> Iterator[Input]:
    """The identifiers that a tool takes; of an array, the first item's stands for all."""
    if ENTITY in schema:
        yield Input(pointer, schema[ENTITY], required)
    needed = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        yield from inputs(inner, f"{pointer}/{name}", required and name in needed)
    if isinstance(schema.get("items"), Mapping):
        yield from inputs(schema["items"], f"{pointer}/0", required and schema.get("minItems", 0) > 0)
    for choice in schema.get("anyOf", ()):
        yield from inputs(choice, pointer, False)


def fill(spec: Any, live: Live, rng: random.Random, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Arguments for one call of `spec` (a ToolSpec). `given`: JSON Pointer -> value that is kept as it is.

    Raises UnfillableError when a required identifier's kind is nowhere in `live`, or a required text has a form of which
    nothing known is an example.
    """
    value = _value(spec.input_schema, "", "", spec.name, live, rng, given or {})
    assert isinstance(value, dict), f"{spec.name} takes no object"
    return value


def _value(
    schema: Mapping[str, Any], pointer: str, name: str, tool: str, live: Live, rng: random.Random, given: Mapping[str, Any]
) -> Any:
    if pointer in given:
        return given[pointer]
    if "anyOf" in schema:
        choices = [s for s in schema["anyOf"] if s.get("type") != "null"] or list(schema["anyOf"])
        return _value(rng.choice(choices), pointer, name, tool, live, rng, given)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        needed = schema.get("required", ())
        wanted = [
            n
            for n in schema.get("properties", {})
            if n in needed or any(g.startswith(f"{pointer}/{n}") for g in given) or rng.random() < OPTIONAL
        ]
        found = {}
        for n in wanted:
            try:
                found[n] = _value(schema["properties"][n], f"{pointer}/{n}", n, tool, live, rng, given)
            except UnfillableError:
                if n in needed:
                    raise
        return found
    if kind == "array":
        count = rng.randint(max(1, schema.get("minItems", 0)), max(1, min(3, schema.get("maxItems", 3))))
        items = [_value(schema["items"], f"{pointer}/{i}", name, tool, live, rng, given) for i in range(count)]
        return [item for i, item in enumerate(items) if item not in items[:i]] if schema.get("minItems", 0) < 2 else items
    if kind == "boolean":
        return rng.random() < 0.5
    if kind in ("integer", "number"):
        return _number(schema, name, live, rng)
    if ENTITY in schema:
        known = list(live.entities.get(schema[ENTITY], ()))
        if not known:
            raise UnfillableError(f"no {schema[ENTITY]} is shown by any tool")
        return rng.choice(known)
    return _text(schema, name, tool, live, rng)


def _facts(live: Live, name: str, tool: str) -> list[Any]:
    """Values that entities have under `name`; those of kinds that the tool's name speaks of, when there are any."""
    words = set(tool.split("_"))
    near = [k for k in live.entities if set(k.split("_")) <= words]
    for kinds in (near, live.entities):
        found = [facts[name] for kind in kinds for facts in live.entities[kind].values() if name in facts]
        if found:
            return found
    return []


def _number(schema: Mapping[str, Any], name: str, live: Live, rng: random.Random) -> Any:
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", low + 1000))
    known = [v for v in _facts(live, name, "") if isinstance(v, int | float) and not isinstance(v, bool) and low <= v <= high]
    if schema["type"] == "integer":
        whole = [v for v in known if isinstance(v, int)]
        first = int(low) + ("exclusiveMinimum" in schema)
        return rng.choice(whole) if whole and rng.random() < 0.5 else rng.randint(first, int(min(high, first + 4)))
    if known and rng.random() < 0.3:
        return rng.choice(known)
    return round(rng.uniform(low, min(high, low + rng.choice((20, 200)))), 2) or min(1.0, high)


def _text(schema: Mapping[str, Any], name: str, tool: str, live: Live, rng: random.Random) -> str:
    known = [v for v in _facts(live, name, tool) if isinstance(v, str)]
    longest = schema.get("maxLength", 200)
    if "pattern" in schema or "format" in schema:
        pattern = schema.get("pattern", "")
        fitting = [v for v in known if re.search(pattern, v)]
        if not fitting:  # a date or a time that some other entity has
            every = (v for e in live.entities.values() for facts in e.values() for v in facts.values() if isinstance(v, str))
            fitting = [v for v in every if pattern and re.search(pattern, v)]
        if fitting:
            return rng.choice(fitting)
        day = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
        made = (day, day[:7], f"{rng.randint(8, 18):02d}:{rng.choice(('00', '30'))}", str(rng.randint(1000, 9999)), *WORDS)
        usable = [v for v in made if re.search(pattern, v) and schema.get("minLength", 0) <= len(v) <= longest]
        if not usable:
            raise UnfillableError(f"nothing is known that has the form {pattern}")
        return usable[0]
    if known and rng.random() < 0.8:
        return str(rng.choice(known))
    return rng.choice(WORDS)[:longest]
