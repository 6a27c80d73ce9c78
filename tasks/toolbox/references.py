"""References from a call to an earlier result: `API_RESPONSE_k` as an argument value (METHODS.md 1.1, (c) 1).

    resolve({"location": "API_RESPONSE_0"}, {"0": {"status_code": 200, "Location": "Oslo"}})
    # {"location": "Oslo"}

A bare reference takes the field of result k that is named like the argument (ignoring case and a trailing
"s"), else the only field other than `status_code` and `error`, else the whole result. `API_RESPONSE_k.path.to.field`
names the place itself; a number in the path indexes a list. The argument's name is the nearest key above the
reference.

Left out: references inside longer strings. A string is a reference as a whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Protocol

from tasks.records import Edge, canonical_json
from tasks.toolbox.pointer import get
from tasks.toolbox.schema import Violation
from tasks.toolbox.strictjson import MAX_DEPTH

PREFIX = "API_RESPONSE_"
"""Every string argument that begins with this is a reference, or an error."""
MAX_REFERENCES = 256
"""References in one call; more are refused."""
MAX_SIZE = 1_000_000
"""Total length (in bytes of JSON) of what the references of one call stand for. Without it, results that
repeat their arguments could grow without bound from call to call."""

_REFERENCE = re.compile(rf"{PREFIX}(0|[1-9][0-9]{{0,8}})((?:\.[^.\[\]]++|\[[0-9]{{1,9}}\])*)")
_STEP = re.compile(r"\.([^.\[\]]++)|\[([0-9]++)\]")
_TOO_DEEP = f"arguments nested more deeply than {MAX_DEPTH} levels"
_STATUS = ("status_code", "error")


class UnresolvedReferenceError(ValueError):
    """A reference that stands for nothing: malformed, to a call that is missing, comes later or failed, or to a
    place that its result does not have. The message names the reference and the reason."""


class HasArguments(Protocol):
    """What `edges` needs of a call: records.Call and records.GoldCall both have it."""

    @property
    def id(self) -> str: ...
    @property
    def arguments(self) -> Any: ...


def is_reference(value: Any) -> bool:
    """Whether a value claims to be a reference."""
    return isinstance(value, str) and value.startswith(PREFIX)


def parse_reference(text: str) -> tuple[str, list[str]]:
    """(call id, steps of the explicit path; none for a bare reference). Raises UnresolvedReferenceError."""
    match = _REFERENCE.fullmatch(text)
    if not match:
        raise UnresolvedReferenceError(f"{text[:60]!r} is not of the form {PREFIX}k or {PREFIX}k.field")
    return match.group(1), [field or index for field, index in _STEP.findall(match.group(2))]


def resolve(arguments: Any, results: Mapping[str, Any], failed: Collection[str] = ()) -> Any:
    """`arguments` with every reference replaced by what it stands for; the input is left as it is.

    `results`: content by call id, of the calls that have run and succeeded; `failed`: ids of those that have
    run and did not. Raises UnresolvedReferenceError.
    """
    if not _has_reference(arguments):
        return arguments
    return _resolve(arguments, "", results, failed, _Budget())


def _has_reference(arguments: Any) -> bool:
    pending = [(arguments, 0)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, str):
            if value.startswith(PREFIX):
                return True
        elif isinstance(value, (dict, list)):
            if depth > MAX_DEPTH:
                raise UnresolvedReferenceError(_TOO_DEEP)
            pending.extend([(item, depth + 1) for item in (value.values() if isinstance(value, dict) else value)])
    return False


class _Budget:
    """Counts what the references of one call bring in."""

    def __init__(self) -> None:
        self.references = 0
        self.size = 0

    def spend(self, value: Any) -> None:
        self.references += 1
        self.size += len(value) if isinstance(value, str) else len(canonical_json(value))
        if self.references > MAX_REFERENCES:
            raise UnresolvedReferenceError(f"more than {MAX_REFERENCES} references in one call")
        if self.size > MAX_SIZE:
            raise UnresolvedReferenceError(f"the references of one call stand for more than {MAX_SIZE} bytes")


def _resolve(value: Any, name: str, results: Mapping[str, Any], failed: Collection[str], budget: _Budget) -> Any:
    if isinstance(value, dict):
        return {key: _resolve(item, key, results, failed, budget) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolve(item, name, results, failed, budget) for item in value]
    if not is_reference(value):
        return value
    source, steps = parse_reference(value)
    if source in failed:
        raise UnresolvedReferenceError(f"{value[:60]!r}: call {source} failed, so it has no result")
    if source not in results:
        raise UnresolvedReferenceError(f"{value[:60]!r}: no call {source} has run before this one")
    content = results[source]
    found = _follow(content, steps, value) if steps else _follow(content, field_for(name, content), value)
    budget.spend(found)
    return found


def field_for(name: str, content: Any) -> list[str]:
    """Where in `content` a bare reference under the argument `name` points: one field, or [] for the whole result."""
    if not isinstance(content, dict):
        return []
    if name in content:
        return [name]
    folded = name.lower()
    for fold in (str.lower, _singular):
        for field in content:
            if fold(field) == fold(folded):
                return [field]
    fields = [field for field in content if field not in _STATUS]
    return fields if len(fields) == 1 else []


def _singular(name: str) -> str:
    return name.lower().removesuffix("s")


def _follow(content: Any, steps: list[str], reference: str) -> Any:
    for step in steps:
        if isinstance(content, dict) and step in content:
            content = content[step]
        elif isinstance(content, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(content):
            content = content[int(step[:9])]
        else:
            raise UnresolvedReferenceError(f"{reference[:60]!r}: the result has no {step[:40]!r} there")
    return content


def find_references(arguments: Any) -> Iterator[tuple[str, str, str]]:
    """(JSON Pointer, name of the argument, reference) of every reference in `arguments`, in the order written.

    Raises UnresolvedReferenceError when `arguments` are nested more deeply than the parser allows.
    """
    pending: list[tuple[Any, str, str, int]] = [(arguments, "", "", 0)]
    while pending:
        value, pointer, name, depth = pending.pop()
        if isinstance(value, str):
            if value.startswith(PREFIX):
                yield pointer, name, value
            continue
        if depth > MAX_DEPTH:
            raise UnresolvedReferenceError(_TOO_DEEP)
        if isinstance(value, dict):
            items = [(item, f"{pointer}/{_escape(key)}", key, depth + 1) for key, item in value.items()]
            pending.extend(reversed(items))
        elif isinstance(value, list):
            entries = [(item, f"{pointer}/{index}", name, depth + 1) for index, item in enumerate(value)]
            pending.extend(reversed(entries))


def edges(calls: Iterable[HasArguments], contents: Mapping[str, Any] | None = None) -> dict[str, list[Edge]]:
    """The dependency edges into each call, by call id, as records.GoldCall.needs takes them.

    `contents`: results by call id, or anything with the same fields. With it, a bare reference's path is the
    field that it resolves to; without, or when the field is not there, the path is empty: the whole result.
    Raises UnresolvedReferenceError when a call refers to itself, to a later call or to one that is not there.
    """
    found: dict[str, list[Edge]] = {}
    for call in calls:
        needs = []
        for pointer, name, reference in find_references(call.arguments):
            source, steps = parse_reference(reference)
            if source not in found:
                raise UnresolvedReferenceError(f"{reference[:60]!r} in call {call.id}: no call {source} stands before it")
            if not steps and contents is not None:
                steps = field_for(name, contents.get(source))
            needs.append(Edge(source, "".join(f"/{_escape(step)}" for step in steps), pointer))
        found[call.id] = needs
    return found


def chain_depth(needs: Mapping[str, Iterable[Edge]]) -> int:
    """Calls on the longest dependency chain; 0 without calls. `needs` in execution order, as `edges` gives it."""
    depth: dict[str, int] = {}
    for call, incoming in needs.items():
        depth[call] = 1 + max((depth[edge.source] for edge in incoming), default=0)
    return max(depth.values(), default=0)


def literal_violations(violations: Iterable[Violation], arguments: Any) -> list[Violation]:
    """`violations` without the types and values of references, which have neither before they are resolved."""
    return [v for v in violations if v.kind not in ("type", "value") or not is_reference(get(arguments, v.path))]


def _escape(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")
