"""Strict JSON for text that a model wrote: one value or a FaultError with its exact position.

    loads('{"a": 1}')                  # {"a": 1}
    loads('{"a": 1, "a": 2}')          # FaultError: duplicate_key at 9

Stricter than the json module: duplicated keys, NaN and Infinity, integers of 64 bits and more, numbers that
overflow a double, lone surrogates and nesting beyond MAX_DEPTH are refused. The json module decodes; only
where it refuses, or where it cannot judge, `scan` walks the text by tokens to name the fault. Both are
linear in the text's length, and neither recurses deeper than MAX_DEPTH.

Left out: repair. A lenient reading is for diagnosis only and does not belong here.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tasks.toolbox.faults import FaultError

MAX_DEPTH = 64
"""How many objects and arrays may be open at once."""
INTEGER_BOUND = 2**63
"""Integers n with |n| >= this are refused."""
_INTEGER_DIGITS = 19  # 2**63 has 19 decimal digits; longer text is out of range without being converted
_NUMBER_LENGTH = 1000  # a double needs 17 digits; this only bounds the work

# Groups are never possessive here (`(...)?+`): CPython before 3.11.4 keeps what such a group had read before it failed.
_WHITE = " \t\n\r"
_SPACE = re.compile(r"[ \t\n\r]*+")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f\ud800-\udfff]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_PAIR = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_NUMBER_LIKE = re.compile(r"[0-9A-Za-z_.+-]++")
_WORD = re.compile(r"-?[^\W\d]\w*+")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _RefusedError(ValueError):
    """The decoder saw something that strict JSON does not allow; `scan` finds where."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _RefusedError("duplicated key")
    return value


def _integer(digits: str) -> int:
    if len(digits) <= _INTEGER_DIGITS + 1:
        value = int(digits)
        if -INTEGER_BOUND < value < INTEGER_BOUND:
            return value
    raise _RefusedError("integer out of range")


def _number(digits: str) -> float:
    if len(digits) <= _NUMBER_LENGTH:
        value = float(digits)
        if math.isfinite(value):
            return value
    raise _RefusedError("number out of range")


def _constant(name: str) -> float:
    raise _RefusedError(name)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=_constant)


def loads(text: str) -> Any:
    """The one JSON value that `text` is, with JSON's white space around it allowed.

    Raises FaultError, whose position counts from the start of `text`.
    """
    # The decoder recurses and lets surrogates pass: where either could matter, the scan goes first.
    doubtful = text.count("{") + text.count("[") > MAX_DEPTH or "\\u" in text
    if not doubtful and not text.isascii():
        doubtful = _SURROGATE.search(text) is not None
    if doubtful:
        scan(text)
    stripped = text.strip(_WHITE)
    try:
        value, end = _DECODER.raw_decode(stripped)
        if end == len(stripped):
            return value
        raise _RefusedError("text after the value")
    except json.JSONDecodeError as error:
        scan(text)
        raise FaultError("syntax", error.pos, error.msg) from error  # unreachable while scan knows every fault
    except _RefusedError as error:
        scan(text)
        raise FaultError("syntax", 0, str(error)) from error


Place = tuple[int, int]
"""(position of a key's opening quote, position of its value)."""
_PLACE_DEPTH = 3  # a plan's id, tool name and argument names


def scan(text: str) -> dict[tuple[str, ...], Place]:
    """Checks `text` token by token. Returns where the keys of the outer three levels of objects stand, by path.

    Raises FaultError at the first fault in reading order.
    """
    end = len(text)
    places: dict[tuple[str, ...], Place] = {}
    closers: list[str] = []  # what would close each open container
    keys: list[set[str] | None] = []  # keys seen in each open object; None for an array
    path: list[str] = []  # the current key of each open object; "" for an array
    arrays = 0
    position = _skip(text, 0)
    if position == end:
        raise FaultError("empty", 0)
    while True:
        # A value must begin here.
        if position == end:
            raise FaultError("missing_brace", _content_end(text))
        char = text[position]
        opened = char in "{["
        if opened:
            if len(closers) == MAX_DEPTH:
                raise FaultError("depth", position)
            closers.append("}" if char == "{" else "]")
            keys.append(set() if char == "{" else None)
            path.append("")
            arrays += char == "["
            after = _skip(text, position + 1)
            if after < end and text[after] != closers[-1]:
                position = after
            else:
                position, opened = position + 1, False
        else:
            position = _scalar(text, position)
        # After a value: close what ends here, up to the next comma.
        while not opened:
            after = _skip(text, position)
            if not closers:
                if after < end:
                    raise _trailing(text, after)
                return places
            if after == end:
                raise FaultError("missing_brace", position)
            char = text[after]
            if char == closers[-1]:
                closers.pop()
                path.pop()
                arrays -= keys.pop() is None
                position = after + 1
            elif char == ",":
                position = _skip(text, after + 1)
                if position < end and text[position] == closers[-1]:
                    raise FaultError("trailing_comma", after)
                break
            elif char in "}]":
                raise FaultError("mismatched_brace", after, f"expected {closers[-1]!r}, found {char!r}")
            else:
                raise FaultError("syntax", after, f"expected ',' or {closers[-1]!r}")
        seen = keys[-1]
        if seen is not None:
            key_at = position
            key, position = _key(text, position)
            if key in seen:
                raise FaultError("duplicate_key", key_at, f"the key {key[:40]!r} stands twice in one object")
            seen.add(key)
            path[-1] = key
            if not arrays and len(path) <= _PLACE_DEPTH:
                places[tuple(path)] = (key_at, position)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _content_end(text: str) -> int:
    return len(text.rstrip(_WHITE))


def _key(text: str, position: int) -> tuple[str, int]:
    """(the key at `position`, where its value begins)."""
    if position == len(text):
        raise FaultError("missing_brace", _content_end(text))
    char = text[position]
    if char == "'":
        raise FaultError("single_quotes", position)
    if char != '"':
        if _WORD.match(text, position):
            raise FaultError("bare_word", position, "a key without quotes")
        raise FaultError("syntax", position, "expected a key in double quotes")
    end = _string(text, position)
    raw = text[position + 1 : end - 1]
    key: str = json.loads(text[position:end]) if "\\" in raw else raw
    after = _skip(text, end)
    if after == len(text):
        raise FaultError("missing_brace", end)
    if text[after] != ":":
        raise FaultError("syntax", after, "expected ':' after a key")
    return key, _skip(text, after + 1)


def _string(text: str, position: int) -> int:
    """The end of the string that opens at `position`."""
    match = _STRING.match(text, position)
    end = match.end() if match else position
    if end == len(text):
        raise FaultError("unterminated_string", position)
    char = text[end]
    if char == '"':
        if "\\u" in text[position:end]:
            for pair in _PAIR.finditer(text, position, end):
                if pair.group(1):
                    raise FaultError("lone_surrogate", pair.start())
        return end + 1
    if char == "\\":
        if end + 1 == len(text):
            raise FaultError("unterminated_string", position)
        raise FaultError("bad_escape", end)
    if char < " ":
        raise FaultError("control_character", end, f"a raw control character (U+{ord(char):04X}) inside a string")
    raise FaultError("lone_surrogate", end)


def _scalar(text: str, position: int) -> int:
    """The end of the string, number or word at `position`."""
    char = text[position]
    if char == '"':
        return _string(text, position)
    if char == "'":
        raise FaultError("single_quotes", position)
    word = _WORD.match(text, position)
    if word:
        name = word.group()
        if name in ("true", "false", "null"):
            return word.end()
        if name in ("NaN", "Infinity", "-Infinity", "-NaN"):
            raise FaultError("not_finite", position, f"{name} is not JSON")
        raise FaultError("bare_word", position, f"{name[:40]!r} needs double quotes, or is no JSON word")
    like = _NUMBER_LIKE.match(text, position)
    if not like:
        raise FaultError("syntax", position, "expected a value")
    match = _NUMBER.match(text, position)
    if not match or match.end() != like.end():
        raise FaultError("bad_number", position, f"{like.group()[:40]!r} is not a number as JSON writes it")
    digits = match.group()
    try:
        if match.group(1) or match.group(2):
            _number(digits)
        else:
            _integer(digits)
    except _RefusedError as error:
        kind = "number_range" if match.group(1) or match.group(2) else "integer_range"
        raise FaultError(kind, position) from error
    return match.end()


def _trailing(text: str, position: int) -> FaultError:
    if text[position] in "}]":
        return FaultError("extra_brace", position)
    after = _skip(text, position + 1) if text[position] == "," else position
    if after < len(text) and text[after] in "{[":
        return FaultError("several_values", position)
    return FaultError("trailing_text", position)
