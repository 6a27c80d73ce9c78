"""Hostile inputs of a megabyte, by operation: the parsers end, do not recurse, and count what they must.

Quadratic work on any of these would take hours, and the test's time limit is the assertion.
"""

from __future__ import annotations

import pytest

from tasks.toolbox.answers import equal, final_answer, multiset_equal
from tasks.toolbox.parse import parse_hermes, parse_python
from tasks.toolbox.plan import parse_plan

SIZE = 1_000_000
OPEN, CLOSE = "<tool_call>", "</tool_call>"
GOOD = OPEN + '{"name":"a","arguments":{}}' + CLOSE


def many(piece: str) -> str:
    return piece * (SIZE // len(piece))


HERMES = {
    "opening tags": (many(OPEN), 0),
    "opening tags and one closing": (many(OPEN) + CLOSE, 0),
    "closing tags": (many(CLOSE), 0),
    "an unclosed string in every block": (many(f'{OPEN}"{CLOSE}'), 0),
    "an escaped quote in every block": (many(f'{OPEN}{{"\\"{CLOSE}'), 0),
    "blocks of odd and even quotes": (many(f'{OPEN}"{CLOSE}' + f'{OPEN}""{CLOSE}' * 3), 0),
    "tags inside strings": (OPEN + '{"name":"a","arguments":{"x":"' + many(CLOSE + OPEN) + '"}}' + CLOSE, 1),
    "tags inside strings of a broken object": (OPEN + "{" + many(f'"{CLOSE}":1,"{OPEN}":2,') + CLOSE, 0),
    "nested tags inside strings": (many(f'{OPEN}"{OPEN}"\\') + CLOSE, 0),
    "open braces": (OPEN + "{" * SIZE + CLOSE, 0),
    "open brackets, cut": (OPEN + "[" * SIZE, 0),
    "nested objects": (OPEN + many('{"a":') + CLOSE, 0),
    "many small lists": (OPEN + '{"name":"a","arguments":{"x":[' + many("[],") + "1]}}" + CLOSE, 1),
    "duplicated keys": (OPEN + "{" + many('"a":1,') + CLOSE, 0),
    "digits": (OPEN + '{"name":"a","arguments":{"x":' + "1" * SIZE + "}}" + CLOSE, 0),
    "digits with a point": (OPEN + '{"name":"a","arguments":{"x":' + "1" * SIZE + ".0}}" + CLOSE, 0),
    "escaped quotes, cut": (OPEN + '{"name":"' + many('\\"'), 0),
    "escaped quotes": (OPEN + '{"name":"' + many('\\"') + CLOSE, 0),
    "surrogate pairs": (OPEN + '{"name":"' + many("\\ud83d\\ude00") + '","arguments":{}}' + CLOSE, 1),
    "heads of untagged calls": (many('{"name":"a","arguments":'), 0),
    "names of untagged calls": (many('{"name":"\\"') + '"arguments"', 0),
    "white space": (OPEN + " " * SIZE + CLOSE, 0),
    "thoughts": (many("<think>"), 0),
    "one long string": (OPEN + '{"name":"a","arguments":{"x":"' + "y" * SIZE + '"}}' + CLOSE, 1),
    "good calls": (many(GOOD), SIZE // len(GOOD)),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", HERMES)
def test_hermes(name: str) -> None:
    text, calls = HERMES[name]
    turn = parse_hermes(text)
    assert len(turn.calls) == calls
    assert turn.failures or calls or OPEN not in text
    assert len(turn.failures) < len(text) / 10


PLAN_HEAD = '<think>x</think><tool_call return="one">'
PLANS = {
    "thoughts": many("<think>"),
    "closed thoughts": "<think>" + many("</think>"),
    "spaced thoughts": "<think>" + many("</think>" + " " * 200),
    "braces": PLAN_HEAD + "{" * SIZE + CLOSE,
    "closing tags in a string": PLAN_HEAD + '{"a":"' + many(CLOSE),
    "elements": PLAN_HEAD + many("<a>") + CLOSE,
    "attributes": PLAN_HEAD + "<api " + " ".join(f'a{i}=""' for i in range(SIZE // 12)) + "/>" + CLOSE,
    "brackets": PLAN_HEAD + "[" * SIZE + CLOSE,
    "a bad id at the end": PLAN_HEAD
    + "{"
    + ",".join(f'"{i}":{{"f":{{}}}}' for i in range(SIZE // 40))
    + ',"01":{"f":{}}}'
    + CLOSE,
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("form", ["json", "xml", "direct"])
def test_plans(name: str, form: str) -> None:
    plan = parse_plan(PLANS[name], form)
    assert plan.failure is not None


LIMIT = 65_000
PYTHON = {
    "a megabyte": "[f(a='" + "x" * SIZE + "')]",
    "brackets": "[" * LIMIT,
    "calls in calls": "[" + "f(a=" * 10_000,
    "nested dictionaries": "[f(a=" + "{'a':" * 60 + "=" + "}" * 60 + ")]",
    "nested lists with colons": "[f(a=" + "[" * 60 + "1:" + "]" * 60 + ")]",
    "minus signs": "[f(a=" + "-" * 60_000 + "1)]",
    "not": "[f(a=" + "not " * 15_000 + "1)]",
    "lambdas": "[f(a=" + "lambda:" * 9_000 + "1)]",
    "attributes": "[f(a=" + "a." * 30_000 + "b)]",
    "subscripts": "[f(a=a" + "[0]" * 20_000 + ")]",
    "powers": "[f(a=9" + "**9" * 20_000 + ")]",
    "sums": "[f(a=1" + "+1" * 30_000 + ")]",
    "strings": "[f(a=" + "'x' " * 16_000 + ")]",
    "keywords": "[f(" + "a=b," * 16_000 + ")]",
    "assignments": "[f(" + "a=" * 30_000 + "1)]",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", PYTHON)
def test_python(name: str) -> None:
    turn = parse_python(PYTHON[name])
    assert turn.calls == [] and (len(turn.failures) == 1 or name == "brackets")


@pytest.mark.timeout(60)
def test_answers() -> None:
    deep_a: list[object] = []
    deep_b: list[object] = []
    for _ in range(200_000):
        deep_a, deep_b = [deep_a], [deep_b]
    assert equal(deep_a, deep_b) and multiset_equal([deep_a, 1], [1, deep_b])
    assert not equal(deep_a, [deep_b])
    assert final_answer("Answer: " + "[" * SIZE)[0]
    assert final_answer(many("Answer:\n"))[0]
    assert not final_answer(many("Answer "))[0]
