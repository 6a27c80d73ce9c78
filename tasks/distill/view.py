"""A trajectory as checks look at it: calls with their steps and results, and what was there to take values from.

    view = View(trajectory, task)
    view.made[0].step, view.made[0].ok         # 1, True
    view.said("acc_417")                       # whether the request holds it

Built once per trajectory, so that hundreds of checks share the work. Everything here is iterative and total: a
model's arguments may be nested without end, and results may be missing.

Left out: token spans (a step's are in the trajectory).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tasks.distill.arithmetic import Equation, equations
from tasks.records import Call, Result, Task, Trajectory
from tasks.toolbox.answers import equal

STEP_HEADER = re.compile(r"^###[ \t]*Step[ \t]+[0-9]{1,6}[ \t]*:?", re.MULTILINE)
"""Begins a step of a mathematics solution (METHODS.md 2.1)."""
_NUMBER = re.compile(r"(?:(?<![0-9])-)?[0-9]{1,40}+(?:,[0-9]{3})*(?:\.[0-9]{1,40}+)?")


def fingerprint(value: Any) -> str:
    """A text that two JSON values share if and only if they are equal (1 and 1.0 are, true and 1 are not)."""
    parts: list[str] = []
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, _Raw):
            parts.append(item)
        elif isinstance(item, dict):
            keys = sorted(item, key=str)
            pending.append(_Raw("}"))
            for key in reversed(keys):
                pending += [_Raw(","), item[key], _Raw(json.dumps(str(key)) + ":")]
            parts.append("{")
        elif isinstance(item, list | tuple):
            pending.append(_Raw("]"))
            for each in reversed(item):
                pending += [_Raw(","), each]
            parts.append("[")
        else:
            parts.append(_scalar(item))
    return "".join(parts)


class _Raw(str):
    """Text that is part of the fingerprint already."""


def _scalar(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    if isinstance(value, int):
        return hex(value)  # no limit on digits, unlike str
    return json.dumps(value) if isinstance(value, str) else repr(value)


def leaves(value: Any) -> Iterator[Any]:
    """The strings, numbers, booleans and nulls inside a JSON value, in no particular order."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
        else:
            yield item


def values_at(value: Any, pointer: str) -> list[Any]:
    """The values at a JSON Pointer whose parts may be `*`, which stands for any one key or index."""
    found = [value]
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        found = [inner for item in found for inner in _inside(item, part, key)]
    return found


def _inside(item: Any, part: str, key: str) -> list[Any]:
    if isinstance(item, dict):
        return list(item.values()) if part == "*" else [item[key]] if key in item else []
    if isinstance(item, list | tuple):
        if part == "*":
            return list(item)
        if part.isascii() and part.isdigit() and len(part) < 10 and int(part) < len(item):
            return [item[int(part)]]
    return []


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made in step `step` (from 1), with its result; None when the episode ended before it came."""

    step: int
    call: Call
    result: Result | None

    @property
    def ok(self) -> bool:
        return self.result is not None and self.result.ok


class View:
    """One trajectory of one task. Immutable; derived values are made when first asked for."""

    def __init__(self, trajectory: Trajectory, task: Task) -> None:
        self.trajectory = trajectory
        self.task = task
        self.made = [
            Made(number, call, step.results[i] if i < len(step.results) else None)
            for number, step in enumerate(trajectory.steps, 1)
            for i, call in enumerate(step.calls)
        ]
        self._results: dict[tuple[int, str], tuple[frozenset[str], list[Any]]] = {}

    @cached_property
    def malformed(self) -> list[tuple[int, str]]:
        """(step, kind) of every parse failure."""
        return [(n, f.kind) for n, step in enumerate(self.trajectory.steps, 1) for f in step.failures]

    @cached_property
    def prints(self) -> list[str]:
        """A fingerprint per call, of its name and arguments."""
        return [fingerprint([m.call.name, m.call.arguments]) for m in self.made]

    @cached_property
    def sections(self) -> list[tuple[int, str]]:
        """(step, text) of what the model wrote: a tool episode's turns, or the parts under step headers; 0 is before them."""
        texts = [m.content for m in self.trajectory.messages if m.role == "assistant"]
        if self.task.family == "tools":
            return list(enumerate(texts, 1))
        text = "\n".join(texts)
        starts = [m.start() for m in STEP_HEADER.finditer(text)]
        if not starts:
            return [(1, text)]
        bounds = zip(starts, [*starts[1:], len(text)], strict=True)
        return [(0, text[: starts[0]]), *((n, text[a:b]) for n, (a, b) in enumerate(bounds, 1))]

    @cached_property
    def equations(self) -> list[tuple[int, Equation]]:
        """(step, equation) of every equation that the model wrote."""
        return [(step, e) for step, text in self.sections for e in equations(text)]

    # -- where a value may stem from -----------------------------------------------------------

    def traced(self, at: int, value: Any, source: str | None, path: str = "") -> bool:
        """Whether call number `at` could take `value` from the result of an earlier turn's call of `source` (None: of any).

        `path` (a pointer, parts may be `*`) limits where in the result. A container is traced when all its leaves are.
        Results of the same turn do not count: the model had not seen them.
        """
        return all(self._leaf_traced(at, leaf, source, path) for leaf in leaves(value))

    def _leaf_traced(self, at: int, leaf: Any, source: str | None, path: str) -> bool:
        mark = _scalar(leaf)
        for number in range(at):
            made = self.made[number]
            if made.step >= self.made[at].step or not made.ok or (source is not None and made.call.name != source):
                continue
            marks, floats = self._leaves(number, path)
            if mark in marks or (isinstance(leaf, float) and any(equal(leaf, x) for x in floats)):
                return True
        return False

    def _leaves(self, number: int, path: str) -> tuple[frozenset[str], list[Any]]:
        """(fingerprints of the leaves of a result, its numbers)."""
        if (number, path) not in self._results:
            result = self.made[number].result
            content = result.content if result is not None else None
            found = [leaf for value in values_at(content, path) for leaf in leaves(value)]
            numbers = [x for x in found if isinstance(x, int | float) and not isinstance(x, bool)]
            self._results[number, path] = (frozenset(map(_scalar, found)), numbers)
        return self._results[number, path]

    def said(self, value: Any, before_step: int | None = None) -> bool:
        """Whether the system's and user's messages, or a refusal before that step, hold `value` as a word of its own.

        Numbers are compared as numbers; true, false and null are nothing that anybody says.
        """
        refusals = [
            f"{m.result.error.message} {m.result.error.remedy}"
            for m in self.made
            if before_step is not None and m.step < before_step and m.result is not None and m.result.error is not None
        ]
        return all(self._leaf_said(leaf, refusals) for leaf in leaves(value))

    def _leaf_said(self, leaf: Any, refusals: list[str]) -> bool:
        if isinstance(leaf, str):
            wanted = leaf.casefold().strip()
            return bool(wanted) and any(_holds_word(text, wanted) for text in [self._request, *map(str.casefold, refusals)])
        if isinstance(leaf, int | float) and not isinstance(leaf, bool):
            return any(equal(leaf, number) for number in self._request_numbers)
        return False

    @cached_property
    def _request(self) -> str:
        said = [m.content for m in self.trajectory.messages if m.role in ("system", "user")]
        return "\n".join([*said, *self.task.turns]).casefold()

    @cached_property
    def _request_numbers(self) -> list[float]:
        return [float(text.replace(",", "")) for text in _NUMBER.findall(self._request)]


def _holds_word(text: str, wanted: str) -> bool:
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        joined_left = at > 0 and _in_word(text[at - 1]) and _in_word(wanted[0])
        joined_right = end < len(text) and _in_word(text[end]) and _in_word(wanted[-1])
        if not joined_left and not joined_right:
            return True
        at = text.find(wanted, at + 1)
    return False


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"
