"""Strict parsing of an assistant turn into calls and parse failures. Pure; linear in the text's length.

    turn = parse_hermes('Sure. <tool_call>{"name": "get_time", "arguments": {"city": "Oslo"}}</tool_call>')
    turn.calls       # [Call(id="0", name="get_time", arguments={"city": "Oslo"}, start=6, end=79)]
    turn.failures    # []
    turn.text        # "Sure."

What looks like a call and is none is a ParseFailure with its kind (FAULTS) and the position of the fault;
it never becomes "no call", and nothing is repaired. A leading `<think>...</think>` is free text: what a model
ponders there is no call.

Left out: whole plans (plan.py), and whether the tool exists and the arguments fit (schema.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tasks.records import Call, ParseFailure, canonical_json
from tasks.toolbox.faults import FAULTS, FaultError
from tasks.toolbox.pycalls import PythonCall, looks_like_calls, read_calls
from tasks.toolbox.strictjson import loads, scan

__all__ = ["BODY", "CLOSE", "FAULTS", "OPEN", "ParsedTurn", "parse_hermes", "parse_python", "render_hermes"]

OPEN, CLOSE = "<tool_call>", "</tool_call>"

# A block's body as far as it can be read with tags inside strings skipped. It ends at the first tag outside a
# string, or before the first thing that no JSON has: a backslash outside a string, an unclosed string.
# Linear over all blocks of a text: two readings that start at different tags disagree on what is a string, so
# at any place one of them stops at the next tag or backslash.
BODY = re.compile(r'(?:[^"\\<]++|"(?:[^"\\\x00-\x1f]++|\\[^\x00-\x1f])*"|<(?!/?tool_call>))*')
_UNTAGGED = re.compile(
    r'\{[ \t\r\n]*+(?:"name"[ \t\r\n]*+:[ \t\r\n]*+"(?:[^"\\]++|\\.)*"[ \t\r\n]*+,[ \t\r\n]*+)?"arguments"[ \t\r\n]*+:'
)
_THOUGHT = re.compile(r"\s*+<think>")


@dataclass(frozen=True, slots=True)
class ParsedTurn:
    """An assistant turn: its calls and failures, each in order, and the text outside the blocks, stripped.

    Calls and failures share one numbering in the order of the text, from `first_id` on.
    """

    calls: list[Call]
    failures: list[ParseFailure]
    text: str
    first_id: int = 0

    @property
    def next_id(self) -> int:
        """The id number that the next turn begins with."""
        return self.first_id + len(self.calls) + len(self.failures)

    def failure_ids(self) -> list[str]:
        """The id of each failure, in order."""
        taken = {call.id for call in self.calls}
        return [str(k) for k in range(self.first_id, self.next_id) if str(k) not in taken]


def render_hermes(name: str, arguments: dict[str, Any]) -> str:
    """One call as parse_hermes reads it, in the canonical JSON of records. The name stands first."""
    return f'{OPEN}{{"name": {canonical_json(name)}, "arguments": {canonical_json(arguments)}}}{CLOSE}'


def parse_hermes(text: str, first_id: int = 0) -> ParsedTurn:
    """Reads `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` blocks with free text around.

    A block holds exactly one JSON object with exactly the keys `name` (a non-empty string) and `arguments`
    (an object), strict JSON throughout (strictjson.py). A tag inside a string of valid JSON is part of the string.
    Where a block is broken it ends at the first tag, so that the blocks after it are still read. Never raises.
    """
    calls: list[Call] = []
    failures: list[ParseFailure] = []
    outside: list[str] = []
    number = first_id
    position = 0
    if _THOUGHT.match(text):
        thought_end = text.find("</think>")
        if thought_end >= 0:
            position = thought_end + len("</think>")
            outside.append(text[:position])
    close = text.find(CLOSE, position)
    while True:
        opened = text.find(OPEN, position)
        until = opened if opened >= 0 else len(text)
        if until > position:
            outside.append(text[position:until])
            for fault in _outside_faults(text, position, until, close):
                failures.append(fault.failure())
                number += 1
        if opened < 0:
            break
        start = opened + len(OPEN)
        if 0 <= close < start:
            close = text.find(CLOSE, start)
        read, position = _block(text, start, close)
        if isinstance(read, FaultError):
            failures.append(read.failure())
        else:
            calls.append(Call(str(number), read[0], read[1], opened, position))
        number += 1
    return ParsedTurn(calls, failures, "".join(outside).strip(), first_id)


def _outside_faults(text: str, start: int, end: int, close: int) -> list[FaultError]:
    """Stray closing tags and calls without tags in text[start:end]. `close`: the first closing tag at or after some
    place before start, or -1."""
    faults: list[FaultError] = []
    if close >= 0:
        at = text.find(CLOSE, start, end)
        while at >= 0:
            faults.append(FaultError("stray_close", at))
            at = text.find(CLOSE, at + len(CLOSE), end)
    if text.find('"arguments"', start, end) >= 0:
        faults += [FaultError("untagged", match.start()) for match in _UNTAGGED.finditer(text, start, end)]
        faults.sort(key=lambda fault: fault.position)
    return faults


def _block(text: str, start: int, close: int) -> tuple[tuple[str, dict[str, Any]] | FaultError, int]:
    """Reads the block whose body begins at `start`; `close` is the first closing tag from there on, or -1.

    Returns (name and arguments, or the fault; where to read on).
    """
    nested = text.find(OPEN, start, close if close >= 0 else len(text))
    fault: FaultError | None = None
    if nested < 0:
        if close < 0:
            return FaultError("unterminated", len(text)), len(text)
        try:
            return _call(text[start:close], start), close + len(CLOSE)
        except FaultError as error:
            if error.kind != "unterminated_string":
                return error, close + len(CLOSE)
            fault = error
    # A tag may stand inside a string. If so, and if all is well otherwise, the string keeps it.
    match = BODY.match(text, start)
    end = match.end() if match else start
    if end > (nested if nested >= 0 else close) and text.startswith(CLOSE, end):
        try:
            return _call(text[start:end], start), end + len(CLOSE)
        except FaultError as error:
            fault = fault or error
    if 0 <= nested < end:
        nested = text.find(OPEN, end, close if close >= 0 else len(text))
    if nested >= 0:
        return FaultError("unclosed", nested), nested
    if close < 0:
        return FaultError("unterminated", len(text)), len(text)
    if fault is None:
        try:
            return _call(text[start:close], start), close + len(CLOSE)
        except FaultError as error:
            fault = error
    return fault, close + len(CLOSE)


def _call(body: str, offset: int) -> tuple[str, dict[str, Any]]:
    """(name, arguments) of a block's body that stands at `offset`. Raises FaultError."""
    try:
        value = loads(body)
    except FaultError as fault:
        raise fault.moved(offset) from None
    if type(value) is dict and len(value) == 2:
        name, arguments = value.get("name"), value.get("arguments")
        if type(name) is str and name and type(arguments) is dict:
            return name, arguments
    raise _misshapen(value, body).moved(offset)


def _misshapen(value: Any, body: str) -> FaultError:
    """Why valid JSON is not a call."""
    start = len(body) - len(body.lstrip(" \t\n\r"))
    if not isinstance(value, dict):
        return FaultError("not_object", start)
    places = scan(body)
    for key in value:
        if key not in ("name", "arguments"):
            message = f"a call has the keys 'name' and 'arguments', not {key[:40]!r}"
            return FaultError("unknown_key", places[(key,)][0], message)
    if "name" not in value:
        return FaultError("missing_name", start)
    if not isinstance(value["name"], str) or not value["name"]:
        return FaultError("name_type", places[("name",)][1])
    if "arguments" not in value:
        return FaultError("missing_arguments", start)
    kind = "arguments_string" if isinstance(value["arguments"], str) else "arguments_type"
    return FaultError(kind, places[("arguments",)][1])


def parse_python(text: str, first_id: int = 0) -> ParsedTurn:
    """Reads a turn that is a list of Python-style calls: `[f(a=1), g(x="y")]`, keyword arguments and literals only.

    The list must be the whole turn. A turn without anything like a call is text; a call in another place or
    another form is a failure. A list that is not Python is one failure; otherwise each call fails for itself.
    Never raises, never evaluates.
    """
    stripped = text.strip()
    offset = text.find(stripped) if stripped else 0
    found = looks_like_calls(stripped)
    if found is None:
        return ParsedTurn([], [], stripped, first_id)
    if found > 0 or not stripped.startswith("["):
        return ParsedTurn([], [FaultError("untagged", offset + found).failure()], stripped, first_id)
    try:
        read = read_calls(stripped)
    except FaultError as fault:
        return ParsedTurn([], [fault.moved(offset).failure()], "", first_id)
    calls: list[Call] = []
    failures: list[ParseFailure] = []
    for number, item in enumerate(read, first_id):
        if isinstance(item, PythonCall):
            calls.append(Call(str(number), item.name, item.arguments, offset + item.start, offset + item.end))
        else:
            failures.append(item.moved(offset).failure())
    return ParsedTurn(calls, failures, "", first_id)
