"""JSON Pointers (RFC 6901): what stands at a place of a value.

    at({"cards": [{"id": 7}]}, "/cards/0/id")       # 7; LookupError where nothing stands
    get({"cards": []}, "/cards/0/id")               # None where nothing stands

Left out: `-`, the place after an array's end, and writing.
"""

from __future__ import annotations

from typing import Any


def parts(pointer: str) -> list[str]:
    """The keys and indices of a pointer, unescaped; none for the whole value."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def at(value: Any, pointer: str) -> Any:
    """The value at a pointer. Raises LookupError when there is none."""
    for part in parts(pointer):
        if isinstance(value, dict):
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise LookupError(pointer)
    return value


def get(value: Any, pointer: str) -> Any:
    """The value at a pointer; None where nothing stands."""
    try:
        return at(value, pointer)
    except LookupError:
        return None
