"""Comparing answers as JSON values, and finding the answer in a final message (METHODS.md (c) 5).

    equal({"a": 1, "b": [1.0]}, {"b": [1], "a": 1})    # True
    equal(True, 1)                                     # False
    final_answer("Done.\\nAnswer: 12.5")                # (True, 12.5)

Iterative throughout, so that a value nested a million levels deep is compared and not a crash.

Left out: answers in prose and mathematical equivalence (tasks.evaluate).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tasks.records import canonical_json
from tasks.toolbox.faults import FaultError
from tasks.toolbox.strictjson import loads

TOLERANCE = 1e-6
"""Relative; applies where at least one of the two numbers is a float."""
MARKER = "Answer:"
"""Begins the line of the final message that holds the answer."""


def equal(a: Any, b: Any) -> bool:
    """Whether two JSON values are the same answer.

    1 == 1.0, True != 1, floats to 1e-6 relative, integers and strings exactly, keys of objects in any order,
    lists in order. NaN equals nothing.
    """
    pending = [(a, b)]
    while pending:
        a, b = pending.pop()
        if isinstance(a, str) or a is None or isinstance(a, bool):
            if type(a) is not type(b) or a != b:
                return False
        elif isinstance(a, (int, float)):
            if isinstance(b, bool) or not isinstance(b, (int, float)) or not _close(a, b):
                return False
        elif isinstance(a, dict):
            if not isinstance(b, dict) or len(a) != len(b):
                return False
            for key, value in a.items():
                if key not in b:
                    return False
                pending.append((value, b[key]))
        elif isinstance(a, (list, tuple)):
            if not isinstance(b, (list, tuple)) or len(a) != len(b):
                return False
            pending.extend(zip(a, b, strict=True))
        else:
            return False
    return True


def _close(a: float, b: float) -> bool:
    if a == b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return False
    try:
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=0.0)
    except OverflowError:  # an integer too large for a double, and not the same number
        return False


def multiset_equal(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether the values of `a` and of `b` can be paired off so that each pair is equal, in whatever order."""
    if len(a) != len(b):
        return False
    left, right = _cancel(a, b)
    if not left:
        return True
    # What is left differs in more than key order: in int against float, or within the tolerance. The
    # tolerance is not transitive, so that pairing greedily could miss a pairing that exists.
    matches = [[j for j, y in enumerate(right) if equal(x, y)] for x in left]
    if not all(matches):
        return False
    return _perfect(matches)


def _cancel(a: Sequence[Any], b: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """What is left of both after pairing off values of the same canonical text."""
    try:
        texts_a, texts_b = [canonical_json(x) for x in a], [canonical_json(x) for x in b]
    except (RecursionError, TypeError, ValueError):  # too deep or not JSON: everything is compared with everything
        return list(a), list(b)
    common = Counter(texts_a) & Counter(texts_b)
    return _without(a, texts_a, common.copy()), _without(b, texts_b, common)


def _without(values: Sequence[Any], texts: list[str], common: Counter[str]) -> list[Any]:
    rest = []
    for value, text in zip(values, texts, strict=True):
        if common[text] > 0 and "null" not in text:  # orjson writes NaN as null, and NaN equals nothing
            common[text] -= 1
        else:
            rest.append(value)
    return rest


def _perfect(matches: list[list[int]]) -> bool:
    """Whether every left value finds a right value of its own: augmenting paths, breadth first."""
    owner: dict[int, int] = {}
    for first in range(len(matches)):
        reached: dict[int, int] = {}  # right value -> the left value that it was reached from
        frontier, free = [first], -1
        while frontier and free < 0:
            left = frontier.pop()
            for right in matches[left]:
                if right in reached:
                    continue
                reached[right] = left
                if right not in owner:
                    free = right
                    break
                frontier.append(owner[right])
        if free < 0:
            return False
        mate = {left: right for right, left in owner.items()}
        right = free
        while True:
            left = reached[right]
            previous = mate.get(left, -1)
            owner[right] = left
            if left == first:
                break
            right = previous
    return True


def final_answer(text: str) -> tuple[bool, Any]:
    """(whether the message gives an answer, the answer).

    The answer stands after the last line that starts with `Answer:`: the rest of that line if it is strict
    JSON; else all that follows, if that is strict JSON (an object over several lines); else the rest of the line
    as a bare string without surrounding white space. An empty rest of the line takes what follows it.
    """
    at = text.rfind("\n" + MARKER)
    if at >= 0:
        at += 1
    elif text.startswith(MARKER):
        at = 0
    else:
        return False, None
    following = text[at + len(MARKER) :].strip()
    line = text[at + len(MARKER) :].partition("\n")[0].strip()
    for candidate in (line, following):
        try:
            return True, loads(candidate)
        except FaultError:
            continue
    return True, line or following
