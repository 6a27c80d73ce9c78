"""Readers of the fields of a check: each takes (value, place, depth) and gives the value back, or refuses it.

    at_least = whole(1)(value, "check.at_least", depth)

A refusal is a CheckError that starts with the place. `depth` is passed through to readers of nested checks.

Left out: which operator has which fields (checks.py).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tasks.distill.arithmetic import equation
from tasks.records import canonical_json
from tasks.servers.tool import FAULT_KINDS
from tasks.toolbox.faults import FAULTS

Reader = Callable[[Any, str, int], Any]
"""(value, place, depth) -> the value; raises CheckError."""

MAX_ITEMS = 64
"""Most entries of a list or an object in a check."""
MAX_TEXT = 500
"""Longest text of a field, in characters."""

_KINDS = (*FAULT_KINDS, *FAULTS)


class CheckError(ValueError):
    """A check that is not one; names the place, the fault and the remedy."""


def fields(
    value: Mapping[Any, Any],
    required: Mapping[str, Reader],
    optional: Mapping[str, Reader],
    what: str,
    where: str,
    depth: int,
) -> dict[str, Any]:
    """The fields of an object, each read by its reader. `what` names the object in messages, `where` its place."""
    known = {**required, **optional}
    for key in value:
        if key not in known:
            raise CheckError(f"{what}: unknown field {short(key)}{nearest(key, known)}")
    for key in required:
        if key not in value:
            raise CheckError(f"{what}: the field {key} is missing; add it")
    return {key: known[key](each, f"{where}.{key}", depth) for key, each in value.items()}


def nearest(name: Any, known: Iterable[str]) -> str:
    """What to use instead of an unknown name: the closest known one, or all of them."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6) if isinstance(name, str) else []
    return f"; did you mean {close[0]}?" if close else f"; known here: {', '.join(known) or 'none'}"


def kind_of(value: Any) -> str:
    """What a value is, for a message."""
    return "null" if value is None else f"of type {type(value).__name__}"


def short(value: Any) -> str:
    """A value for a message, cut short."""
    return repr(value)[:60] if isinstance(value, str) else kind_of(value)


def text(value: Any, where: str, depth: int) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT:
        raise CheckError(f"{where}: {short(value)} should be a text of 1 to {MAX_TEXT} characters")
    return value


def pointer(value: Any, where: str, depth: int) -> str:
    """A JSON Pointer."""
    if not isinstance(value, str) or len(value) > MAX_TEXT or (value and not value.startswith("/")):
        raise CheckError(f'{where}: {short(value)} should be a JSON Pointer: "" for the whole, or one like /items/0/id')
    return value


def flag(value: Any, where: str, depth: int) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise CheckError(f"{where}: {short(value)} should be true or false")
    return value


def whole(least: int) -> Reader:
    """A reader of whole numbers from `least` on, and of "gold"."""

    def read(value: Any, where: str, depth: int) -> int | str:
        if value == "gold":
            return str(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise CheckError(f'{where}: {short(value)} should be a whole number from {least} on, or "gold"')
        return value

    return read


def list_of(inner: Reader) -> Reader:
    """A reader of lists that are not empty, entry by entry."""

    def read(value: Any, where: str, depth: int) -> list[Any]:
        if not isinstance(value, list | tuple) or not 0 < len(value) <= MAX_ITEMS:
            raise CheckError(f"{where}: {kind_of(value)}; it should be a list of 1 to {MAX_ITEMS} entries")
        return [inner(each, f"{where}[{i}]", depth) for i, each in enumerate(value)]

    return read


def json_value(value: Any, where: str, depth: int) -> Any:
    """Any JSON value, nested as deeply as it can be stored."""
    try:
        canonical_json(value)
    except (TypeError, ValueError, RecursionError):
        raise CheckError(f"{where}: is no JSON value, or nested too deeply") from None
    return value


def values(value: Any, where: str, depth: int) -> dict[str, Any]:
    """An object from JSON Pointers to JSON values."""
    if not isinstance(value, Mapping) or not 0 < len(value) <= MAX_ITEMS:
        raise CheckError(f"{where}: {kind_of(value)}; it should map 1 to {MAX_ITEMS} JSON Pointers to values")
    return {pointer(key, where, depth): json_value(each, f"{where}.{key}", depth) for key, each in value.items()}


def fault(value: Any, where: str, depth: int) -> str:
    """A kind of refusal (tasks.servers.tool) or of parse failure (tasks.toolbox.faults)."""
    if not isinstance(value, str) or value not in _KINDS:
        raise CheckError(f"{where}: {short(value)} is no kind of refusal or parse failure{nearest(value, _KINDS)}")
    return str(value)


def true_equation(value: Any, where: str, depth: int) -> str:
    """An equation of numbers that holds."""
    found = equation(text(value, where, depth))
    if found is None or not found.holds:
        reason = "does not hold" if found else "is no equation of numbers, like 12*7=84"
        raise CheckError(f"{where}: {short(value)} {reason}")
    return str(value)
