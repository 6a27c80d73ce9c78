"""Properties of the parsers: rendered calls parse back, hostile text never raises, every cut is a failure."""

from __future__ import annotations

import json
import keyword
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.records import Call
from tasks.toolbox.faults import FAULTS, FaultError
from tasks.toolbox.parse import CLOSE, OPEN, parse_hermes, parse_python, render_hermes
from tasks.toolbox.plan import Form, parse_plan, render_plan
from tasks.toolbox.strictjson import loads, scan

TEXT = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [OPEN, CLOSE, f"{CLOSE}{OPEN}", '"', '\\"', "{}", "]}", "\\", "</think>", "API_RESPONSE_0", "NaN", "'''", "\x00", "\ufeff"]
)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8)
ARGUMENTS = st.dictionaries(TEXT, JSON, max_size=4)
NAMES = st.text("abcXYZ_09.é ", min_size=1, max_size=8)
IDENTIFIERS = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True).filter(
    lambda n: n.isidentifier() and not keyword.iskeyword(n)
)
PYTHON_CALLS = st.tuples(IDENTIFIERS, st.dictionaries(IDENTIFIERS, JSON, max_size=3))
# Free text that cannot open or close a block, a thought or a call.
PROSE = st.text("abc ,.\n{}[]\"'\\é", max_size=12)


@given(st.lists(st.tuples(NAMES, ARGUMENTS), max_size=4), st.lists(PROSE, min_size=5, max_size=5))
def test_hermes_round_trip(calls: list[tuple[str, dict[str, Any]]], prose: list[str]) -> None:
    text = prose[0]
    for (name, arguments), after in zip(calls, prose[1:], strict=False):
        text += render_hermes(name, arguments) + after
    turn = parse_hermes(text)
    assert turn.failures == []
    assert [(c.id, c.name, c.arguments) for c in turn.calls] == [(str(k), n, a) for k, (n, a) in enumerate(calls)]
    assert all(text[c.start : c.end].startswith(OPEN) and text[c.start : c.end].endswith(CLOSE) for c in turn.calls)


@given(st.lists(st.tuples(NAMES, ARGUMENTS), max_size=4), st.sampled_from(["one", "all"]), PROSE)
def test_json_plan_round_trip(calls: list[tuple[str, dict[str, Any]]], returns: Any, thought: str) -> None:
    plan = [Call(str(k), name, arguments) for k, (name, arguments) in enumerate(calls)]
    read = parse_plan(render_plan(plan, returns, thought))
    assert read.failure is None and read.returns == returns and read.thought == thought.strip()
    assert [(c.id, c.name, c.arguments) for c in read.calls] == [(c.id, c.name, c.arguments) for c in plan]


@given(
    st.lists(PYTHON_CALLS, max_size=3),
    st.sampled_from(["xml", "direct"]),
)
def test_other_plan_round_trips(calls: list[tuple[str, dict[str, Any]]], form: Form) -> None:
    plan = [Call(str(k), name, arguments) for k, (name, arguments) in enumerate(calls)]
    try:
        text = render_plan(plan, "one", "", form)
    except ValueError:
        return
    read = parse_plan(text, form)
    assert read.failure is None
    assert [(c.id, c.name, c.arguments) for c in read.calls] == [(c.id, c.name, c.arguments) for c in plan]


@given(st.lists(PYTHON_CALLS, min_size=1, max_size=3))
def test_python_round_trip(calls: list[tuple[str, dict[str, Any]]]) -> None:
    text = "[" + ", ".join(f"{n}({', '.join(f'{k}={v!r}' for k, v in a.items())})" for n, a in calls) + "]"
    turn = parse_python(text)
    assert turn.failures == []
    assert [(c.name, c.arguments) for c in turn.calls] == calls


VALID = [
    'Sure.\n<tool_call>{"name": "pay", "arguments": {"to": "acc_1", "amount": 12.5, "tags": ["a", {"b": null}]}}</tool_call>',
    '<think>I pay.</think>\n<tool_call return="one">'
    '{"0": {"Get": {}}, "1": {"Pay": {"to": "API_RESPONSE_0", "n": [1, -2]}}}</tool_call>',
    '<think>x</think><tool_call return="all">'
    '<api id="0"><name>Get</name><param name="a" type="integer">5</param></api></tool_call>',
    "[pay(to='acc_1', amount=12.5, tags=['a', {'b': None}]), get()]",
    '<think>x</think><tool_call return="one">[get(), pay(to=API_RESPONSE_0, n=[1, -2])]</tool_call>',
]
PIECES = [
    *(OPEN, CLOSE, "<think>", "</think>", '"', "'", "\\", "\\u", "\\ud800", "{", "}", "[", "]", "(", ")", ",", ":", "=", "-"),
    *(
        "NaN",
        "Infinity",
        "1e999",
        "9" * 30,
        "true",
        "True",
        "None",
        "\n",
        "\x00",
        "\ud800",
        "é",
        "\U0001f600",
        "<",
        "&",
        "&lt;",
    ),
    *(
        '"name"',
        '"arguments"',
        '{"name": "f", "arguments": {}}',
        "[" * 70,
        "lambda:",
        "*",
        "f(",
        "<api>",
        "</api>",
        "<!--",
        "0",
    ),
]
KINDS = ["insert", "delete", "replace", "repeat", "cut"]
EDITS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.floats(0, 1), st.floats(0, 0.2), st.sampled_from(PIECES)),
    min_size=1,
    max_size=6,
)


def edit(text: str, edits: list[tuple[str, float, float, str]]) -> str:
    """A valid completion with some of its structure inserted, removed, replaced, repeated or cut off."""
    for kind, where, length, piece in edits:
        start = int(where * len(text))
        end = start + int(length * len(text)) + 1
        match kind:
            case "insert":
                text = text[:start] + piece + text[start:]
            case "delete":
                text = text[:start] + text[end:]
            case "replace":
                text = text[:start] + piece + text[end:]
            case "repeat":
                text = text[:end] + text[start:end] * 3 + text[end:]
            case "cut":
                text = text[:start]
    return text


@settings(max_examples=600)
@given(st.sampled_from(VALID), EDITS)
def test_mutations_never_raise_and_nothing_is_lost(valid: str, edits: list[tuple[str, float, float, str]]) -> None:
    text = edit(valid, edits)
    for turn in (parse_hermes(text, 3), parse_python(text, 3)):
        spans = [(c.start, c.end) for c in turn.calls]
        assert spans == sorted(spans) and all(0 <= a < b <= len(text) for a, b in spans)
        assert all(f.kind in FAULTS and 0 <= f.position <= len(text) for f in turn.failures)
        ids = [c.id for c in turn.calls] + turn.failure_ids()
        assert sorted(ids, key=int) == [str(k) for k in range(3, turn.next_id)]
        assert all(isinstance(c.name, str) and c.name and isinstance(c.arguments, dict) for c in turn.calls)
    if not text.lstrip().startswith("<think>") and (OPEN in text or CLOSE in text):
        turn = parse_hermes(text)
        assert turn.calls or turn.failures
    for form in ("json", "xml", "direct"):
        plan = parse_plan(text, form)
        if plan.failure:
            assert not plan.calls and plan.failure.kind in FAULTS and 0 <= plan.failure.position <= len(text)


@pytest.mark.parametrize("length", range(len("Sure.\n") + len(OPEN), len(VALID[0])))
def test_every_cut_inside_a_call_is_an_unterminated_call(length: int) -> None:
    turn = parse_hermes(VALID[0][:length])
    assert turn.calls == [] and [f.kind for f in turn.failures] == ["unterminated"]


@given(st.text(st.characters(), max_size=40))
def test_any_text(text: str) -> None:
    for body in (text, OPEN + text, OPEN + text + CLOSE, f"[{text}]", f"[f(a={text})]"):
        parse_hermes(body)
        parse_python(body)
        for form in ("json", "xml", "direct"):
            parse_plan(f'<think></think><tool_call return="one">{body}</tool_call>', form)


@settings(max_examples=400)
@given(JSON, EDITS, st.sampled_from([None, 1]))
def test_strict_json_is_json_and_stricter(value: Any, edits: list[tuple[str, float, float, str]], indent: int | None) -> None:
    valid = json.dumps(value, indent=indent)
    assert loads(valid) == value
    text = edit(valid, edits)
    try:
        read = loads(text)
    except FaultError as fault:
        with pytest.raises(FaultError) as scanned:
            scan(text)
        assert (scanned.value.kind, scanned.value.position) == (fault.kind, fault.position)
    else:
        scan(text)
        assert read == json.loads(text)


def test_numbers_keep_their_value() -> None:
    assert loads("-0.0") == 0 and math.copysign(1, loads("-0.0")) == -1
    assert loads("1e-400") == 0.0
    assert loads("[123456789012345678, 0.1, 1E5]") == [123456789012345678, 0.1, 100000.0]


def test_no_pattern_has_a_possessive_group() -> None:
    """CPython before 3.11.4 keeps what a possessive group had read before it failed: `1.` was a number there, and a crash."""
    possessive = re.compile(r"(?<!\\)(?:\)|\)\{[0-9,]+\})[?*+]\+|\)\{[0-9,]+\}\+|\(\?>")
    assert possessive.search(r"(\.[0-9]+)?+") and possessive.search("(a){2}+") and not possessive.search(r"[0-9]++(a)?")
    for path in Path("tasks").rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert line.lstrip().startswith("#") or not possessive.search(line), f"{path}:{number}: {line.strip()}"


@pytest.mark.parametrize("text", ["1691.", "1e", "1e+", "-0.", "12.3e", '"a\\u12', '"ab\\uD83', '"a\\q', '"\\'])
def test_scalars_cut_short_are_faults_wherever_they_stand(text: str) -> None:
    for whole in (text, f"[{text}", f"[{text}]", f'{{"a": {text}}}', f'{{"a": {text}, "b": 1}}'):
        with pytest.raises(FaultError):
            loads(whole)
