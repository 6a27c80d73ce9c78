"""Schemas of outside servers: whatever they are, turned into plain draft 2020-12 objects, or refused by the tool's name.

    spec = spec_of(tool, "notes", read_only=False)       # tool: one entry of tools/list, as plain JSON
    input_schema({"$schema": "http://json-schema.org/draft-07/schema#", ...})

No schema, or `true`, is an object with any properties; `false` can never be satisfied and is refused. Keywords of drafts 4
to 2019-09 are translated. Local references are put in place, but for recursive ones, which keep their definitions;
references that lead elsewhere are refused, because nothing is fetched. An output schema that cannot be used counts as none:
it is only a promise.

Left out: `$dynamicRef`, `$recursiveRef`, and `$id` inside of schemas (references count from the root).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from tasks.records import ToolSpec
from tasks.toolbox.schema import Checker

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,127}")
"""What a tool's name looks like: models write it, and it stands in file names."""
NODES = 20_000
"""Most places of one schema after its references are in place. Definitions that use each other twice grow without bound."""
DEPTH = 60
DRAFTS = re.compile(r"https?://json-schema\.org/(draft-0[467]|draft/2019-09|draft/2020-12)/schema#?")

_ONE = frozenset({"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"})
_MORE = frozenset({"unevaluatedItems", "unevaluatedProperties", "contentSchema"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAPPINGS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_DROPPED = frozenset({"$schema", "$id", "id", "$anchor", "$comment", "$vocabulary"})
"""Of no meaning for a schema that stands by itself."""


class SchemaRefusedError(ValueError):
    """A tool that cannot be used; names it, and says why."""


def spec_of(tool: Mapping[str, Any], server: str, name: str, read_only: bool = False) -> ToolSpec:
    """The ToolSpec of an entry of tools/list, under the name `name`. Raises SchemaRefusedError.

    Annotations are hints by the server about itself. `read_only` says so in its place.
    """
    original = tool.get("name")
    assert isinstance(original, str)
    try:
        takes = input_schema(tool.get("inputSchema"))
        Checker(takes)
    except ValueError as error:
        raise SchemaRefusedError(f"tool {original!r} of server {server!r}: its input schema cannot be used: {error}") from error
    given = tool.get("annotations")
    hints: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    reads = read_only or hints.get("readOnlyHint") is True
    description = tool.get("description") or tool.get("title") or hints.get("title") or ""
    return ToolSpec(
        name=name,
        description=description if isinstance(description, str) else "",
        input_schema=takes,
        output_schema=output_schema(tool.get("outputSchema")),
        server=server,
        read_only=reads,
        # The protocol's default for a tool that says nothing is "destructive", which would mark nearly every tool.
        destructive=hints.get("destructiveHint") is True and not reads,
        idempotent=reads or hints.get("idempotentHint") is True,
    )


def input_schema(given: Any) -> dict[str, Any]:
    """The schema of a tool's arguments: always of an object. Raises ValueError that says what cannot be used."""
    if given is None or given is True:
        return {"type": "object"}
    if given is False:
        raise ValueError("it is `false`, which no arguments satisfy")
    schema = plain(given)
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise ValueError(f"it is of type {kind!r}, but arguments are an object")
    return {**schema, "type": "object"}


def output_schema(given: Any) -> dict[str, Any]:
    """The schema of a tool's results, with the wrapping of results that are no objects undone; {} for none."""
    try:
        schema = {} if given is None or isinstance(given, bool) else plain(given)
        Checker(schema)
    except ValueError:
        return {}
    inner = schema.get("properties", {}).get("result") if wrapped(schema) else None
    if isinstance(inner, dict):
        schema = {**inner, **({"$defs": schema["$defs"]} if "$defs" in schema else {})}
    return schema


def wrapped(schema: Any) -> bool:
    """Whether a result is an object only because the protocol wants one: {"result": value} and nothing else."""
    return (
        isinstance(schema, Mapping)
        and isinstance(schema.get("properties"), Mapping)
        and set(schema["properties"]) == {"result"}
        and schema.get("required") == ["result"]
    )


def plain(given: Any) -> dict[str, Any]:
    """Any schema object as draft 2020-12, references in place, titles left out. Raises ValueError."""
    if not isinstance(given, Mapping):
        raise ValueError(f"it is {type(given).__name__}, not an object")
    dialect = given.get("$schema")
    if dialect is not None and not (isinstance(dialect, str) and DRAFTS.fullmatch(dialect)):
        raise ValueError(f"its dialect {str(dialect)[:80]!r} is unknown; drafts 4 to 2020-12 are")
    return _Plain(given).schema


class _Plain:
    """One walk over one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.left = NODES
        self.recursive: dict[str, str] = {}  # the pointers of recursive references -> names of their definitions
        schema = self.walk(root, ())
        definitions: dict[str, Any] = {}
        while len(definitions) < len(self.recursive):
            for pointer, name in list(self.recursive.items()):
                if name not in definitions:
                    definitions[name] = self.walk(self.target(pointer), (pointer,))
        self.schema: dict[str, Any] = schema
        if definitions:
            self.schema["$defs"] = definitions

    def target(self, pointer: str) -> Any:
        """What a local reference points to."""
        if not pointer.startswith("#"):
            raise ValueError(f"its reference {pointer[:80]!r} leads elsewhere, and nothing is fetched")
        place: Any = self.root
        for part in unquote(pointer[1:]).split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            try:
                place = place[int(part)] if isinstance(place, list) else place[part]
            except (KeyError, IndexError, ValueError, TypeError):
                raise ValueError(f"its reference {pointer[:80]!r} leads nowhere") from None
        if pointer != "#" and not pointer.startswith("#/"):
            raise ValueError(f"its reference {pointer[:80]!r} is by anchor; use a path from the root")
        return place

    def walk(self, node: Any, open_: tuple[str, ...]) -> dict[str, Any]:
        """One schema; `open_` are the references that led to it."""
        self.left -= 1
        if self.left < 0 or len(open_) > DEPTH:
            raise ValueError(f"it has more than {NODES} places, or references nested more than {DEPTH} deep")
        if not isinstance(node, Mapping):
            if isinstance(node, bool):
                return {} if node else {"not": {}}
            raise ValueError(f"it has {type(node).__name__} where a schema belongs")
        if "$dynamicRef" in node or "$recursiveRef" in node:
            raise ValueError("it has a dynamic reference, which depends on other schemas")
        reference = node.get("$ref")
        if reference is None:
            return self.keywords(node, open_)
        if not isinstance(reference, str):
            raise ValueError("it has a reference that is no text")
        rest = self.keywords({key: value for key, value in node.items() if key != "$ref"}, open_)
        target = self.target(reference)
        if reference in open_ or reference == "#":
            name = self.recursive.setdefault(reference, f"r{len(self.recursive)}")
            return {"$ref": f"#/$defs/{name}", **rest}
        found = self.walk(target, (*open_, reference))
        if set(rest) & set(found) - {"description", "default", "examples"}:
            return {"allOf": [found], **rest}
        return {**found, **rest}

    def keywords(self, node: Mapping[str, Any], open_: tuple[str, ...]) -> dict[str, Any]:
        """The keywords of one schema, those of older drafts translated."""

        def inner(value: Any) -> dict[str, Any]:
            return self.walk(value, open_)

        found: dict[str, Any] = {}
        for key, value in node.items():
            if key in _DROPPED or (key == "title" and isinstance(value, str)) or key in ("$defs", "definitions"):
                continue
            if key == "items" and isinstance(value, list):
                found["prefixItems"] = [inner(each) for each in value]
                if "additionalItems" in node:
                    found["items"] = inner(node["additionalItems"])
            elif key in _ONE or key in _MORE:
                found[key] = value if isinstance(value, bool) else inner(value)
            elif key in _LISTS and isinstance(value, list):
                found[key] = [inner(each) for each in value]
            elif key in _MAPPINGS and isinstance(value, Mapping):
                found[key] = {str(name): inner(each) for name, each in value.items()}
            elif key == "dependencies" and isinstance(value, Mapping):
                _add(found, "dependentRequired", {n: v for n, v in value.items() if isinstance(v, list)})
                _add(found, "dependentSchemas", {n: inner(v) for n, v in value.items() if not isinstance(v, list)})
            elif key in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
                if value and (bound := node.get(_BOUNDS[key])) is not None:
                    found[key] = bound
            elif key in ("minimum", "maximum") and node.get(_STRICT[key]) is True:
                continue
            elif key == "required" and isinstance(value, bool):
                continue  # draft 3's mark on a property, which some generators still write; the object has its own list
            elif key != "additionalItems":
                found[key] = value
        return found


_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_STRICT: Mapping[str, str] = {bound: strict for strict, bound in _BOUNDS.items()}


def _add(found: dict[str, Any], key: str, value: dict[str, Any]) -> None:
    if value:
        found[key] = value
