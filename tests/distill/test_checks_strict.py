"""Checks that are none are refused with the place and the remedy; no trajectory makes a check fail."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.distill.checks import MAX_DEPTH, OPERATORS, CheckError, evaluate, load, steps
from tasks.records import Message, Result, Step, Trajectory
from tests.distill.made import NOTHING, Fault, episode, lookup_task

TASK = lookup_task()


def nested(depth: int) -> dict[str, Any]:
    check: dict[str, Any] = {"op": "no_error"}
    for _ in range(depth - 1):
        check = {"op": "not", "check": check}
    return check


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (None, "check: is null; a check is an object with op"),
        ([], "check: is of type list; a check is an object with op"),
        ({}, "check: has no op; add one of called, before,"),
        ({"op": "calld", "tool": "a"}, "check: unknown operator 'calld'; did you mean called?"),
        ({"op": ["called"]}, "check: unknown operator of type list; known here: called,"),
        ({"op": "called"}, "check: has neither tool nor gold"),
        ({"op": "called", "tol": "a"}, "check (called): unknown field 'tol'; did you mean tool?"),
        ({"op": "called", "tool": 3}, "check.tool: of type int should be a text"),
        ({"op": "called", "tool": ""}, "check.tool: '' should be a text"),
        ({"op": "called", "tool": "a" * 600}, "check.tool: "),
        ({"op": "called", "tool": "a", "at_least": 0}, "check.at_least: of type int should be a whole number from 1 on"),
        ({"op": "called", "tool": "a", "at_least": True}, "check.at_least: of type bool should be a whole number"),
        ({"op": "called", "tool": "a", "ok": 1}, "check.ok: of type int should be true or false"),
        ({"op": "called", "tool": "a", "arguments": {"amount": 1}}, "check.arguments: 'amount' should be a JSON Pointer"),
        ({"op": "called", "tool": "a", "arguments": {"/a": {1, 2}}}, "check.arguments./a: is no JSON value"),
        ({"op": "called", "tool": "a", "gold": "all"}, "check.gold: of type str; it should be a list"),
        ({"op": "called", "tool": "a", "gold": []}, "check.gold: of type list; it should be a list of 1 to"),
        ({"op": "before", "first": {"tool": "a"}}, "check (before): the field then is missing; add it"),
        ({"op": "before", "first": {}, "then": {"tool": "a"}}, "check.first: has neither tool nor gold"),
        ({"op": "before", "first": "a", "then": {"tool": "a"}}, "check.first: is of type str; it should be an object"),
        (
            {"op": "before", "first": {"tool": "a", "at_least": 2}, "then": {"tool": "a"}},
            "check.first: unknown field 'at_least'",
        ),
        ({"op": "argument_from", "tool": "a"}, "check (argument_from): the field argument is missing; add it"),
        ({"op": "argument_from", "tool": "a", "argument": "id"}, "check.argument: 'id' should be a JSON Pointer"),
        ({"op": "no_repeat", "tools": "a"}, "check (no_repeat): unknown field 'tools'; did you mean tool?"),
        (
            {"op": "no_error", "kinds": ["not_fond"]},
            "check.kinds[0]: 'not_fond' is no kind of refusal or parse failure; did you",
        ),
        ({"op": "no_error", "kinds": [["denied"]]}, "check.kinds[0]: of type list is no kind"),
        ({"op": "max_calls"}, "check (max_calls): the field count is missing; add it"),
        ({"op": "max_calls", "count": -1}, "check.count: of type int should be a whole number from 0 on"),
        ({"op": "max_calls", "count": "all"}, "check.count: 'all' should be a whole number from 0 on, or \"gold\""),
        ({"op": "state_equals", "digest": None}, "check.digest: null should be a text"),
        ({"op": "equation_holds", "equation": "x = 1"}, "check.equation: 'x = 1' is no equation of numbers"),
        ({"op": "equation_holds", "equation": "1+1=3"}, "check.equation: '1+1=3' does not hold"),
        ({"op": "equation_holds", "equation": "1+1=2", "every": True}, "equation and every do not go together"),
        ({"op": "equation_holds", "equation": "__import__('os')"}, "is no equation of numbers"),
        ({"op": "and"}, "check (and): the field checks is missing; add it"),
        ({"op": "and", "checks": []}, "check.checks: of type list; it should be a list of 1 to"),
        ({"op": "or", "checks": [{"op": "no_error"}, {"op": "oops"}]}, "check.checks[1]: unknown operator 'oops'"),
        ({"op": "not", "check": {"op": "max_calls", "count": 1, "tol": "a"}}, "check.check (max_calls): unknown field 'tol'"),
        ({"op": "not", "check": [], "x": 1}, "check (not): unknown field 'x'"),
        (nested(MAX_DEPTH + 1), "nested more deeply than"),
    ],
)
def test_what_is_no_check_is_refused_with_its_place(check: Any, message: str) -> None:
    with pytest.raises(CheckError) as caught:
        load(check)
    assert message in str(caught.value)
    for use in (evaluate, steps):
        with pytest.raises(CheckError):
            use(check, episode(TASK), TASK)


def test_the_place_starts_where_the_caller_says() -> None:
    with pytest.raises(CheckError, match=r"^items\[3\]\.check: has no op"):
        load({}, "items[3].check")


def test_the_deepest_nesting_that_is_allowed_loads() -> None:
    assert evaluate(nested(MAX_DEPTH), episode(TASK), TASK) is (MAX_DEPTH % 2 == 1)


CHECKS: list[dict[str, Any]] = [
    {"op": "called", "tool": "transfer", "arguments": {"/a/b": {"c": [1]}}},
    {"op": "called", "gold": ["", "/amount"], "at_least": "gold"},
    {"op": "before", "first": {"tool": "find_account", "ok": True}, "then": {"tool": "transfer"}, "every": True},
    {"op": "argument_from", "tool": "transfer", "argument": ""},
    {"op": "argument_from", "tool": "transfer", "argument": "/*", "path": "/*/0", "request": True, "every": True},
    {"op": "no_repeat"},
    {"op": "no_error", "kinds": ["denied", "depth"]},
    {"op": "max_calls", "count": 0},
    {"op": "state_equals"},
    {"op": "equation_holds"},
    {"op": "equation_holds", "equation": "1+1=2"},
    {"op": "answer_equals", "value": {"a": [1]}},
]
CHECKS += [{"op": "and", "checks": list(CHECKS)}, {"op": "or", "checks": list(CHECKS)}, {"op": "not", "check": CHECKS[0]}]


def deep(levels: int = 10_000) -> Any:
    value: Any = 1
    for _ in range(levels // 2):
        value = {"a": [value]}
    return value


HOSTILE: dict[str, Any] = {
    "nested without end": deep(),
    "huge integers": {"a": 10**5000, "b": -(10**5000)},
    "not finite": {"a": math.nan, "b": math.inf, "c": [-math.inf]},
    "lone surrogates": {"\ud800": "\udfff"},
    "control characters": {"\x00": "\x1b[2J\r\n"},
    "a list": [1, [2]],
    "a text": "transfer",
    "null": None,
    "empty keys": {"": {"": {"": ""}}},
    "pointers as keys": {"/a/b": 1, "~0": 2, "~1": 3, "*": 4},
    "long": {"a": "x" * 100_000, "b": list(range(10_000))},
}


def survives(trajectory: Trajectory) -> None:
    for check in CHECKS:
        holds, at = evaluate(check, trajectory, TASK), steps(check, trajectory, TASK)
        assert holds is True or holds is False
        assert at == sorted(set(at))
        assert all(0 <= step <= max(1, len(trajectory.steps)) for step in at)
        assert evaluate({"op": "not", "check": check}, trajectory, TASK) is not holds


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_arguments_and_results(name: str) -> None:
    value = HOSTILE[name]
    survives(episode(TASK, ("find_account", value, value), ("transfer", value, value), ("transfer", value, value)))
    survives(episode(TASK, ("transfer", {"account_id": value, "amount": value}, {"a": value})))


@pytest.mark.parametrize("say", ["", "Answer:", "Answer: " + "[" * 100_000, "### Step 1:" * 1000, "\ud800 = 1 + 1", "=" * 1000])
def test_hostile_text(say: str) -> None:
    survives(episode(TASK, say=say))
    survives(episode(TASK, (say, {}, say), say=say))


def test_episodes_that_ended_early() -> None:
    survives(episode(TASK, ("transfer", {}, NOTHING), finish="error"))
    survives(
        episode(TASK, ("transfer", {}, Fault("a kind of an outside server")), failures={1: ["depth"], 2: ["no such kind"]})
    )
    empty = Trajectory("t-1", 0, "made", 0, [], [], [], [], [], [], "error", "")
    survives(empty)
    survives(Trajectory("t-1", 0, "made", 0, [Message("tool", "x")], [], [], [], [], [Step(0, 0)], "length", ""))


def test_more_results_than_calls() -> None:
    step = Step(0, 0, [], [], [Result("0", False), Result("1", True, 3)])
    survives(Trajectory("t-1", 0, "made", 0, [], [], [], [], [], [step], "stop", ""))


def test_a_refusal_without_an_error_is_an_error() -> None:
    trajectory = episode(TASK, ("transfer", {}, Fault("denied")))
    trajectory.steps[0].results[0] = Result("0", False)
    assert steps({"op": "no_error"}, trajectory, TASK) == [1]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "op",
    "tool",
    "arguments",
    "gold",
    "ok",
    "at_least",
    "first",
    "then",
    "every",
    "argument",
    "source",
    "path",
    "request",
]
FIELDS += ["kinds", "count", "digest", "equation", "value", "checks", "check"]
near_checks = st.recursive(
    st.dictionaries(st.sampled_from(FIELDS), json_values | st.sampled_from([*OPERATORS, "/a", "gold"]), max_size=4),
    lambda inner: st.fixed_dictionaries(
        {"op": st.sampled_from(OPERATORS)},
        optional={"check": inner, "checks": st.lists(inner, max_size=3), "first": inner, "then": inner},
    ),
    max_leaves=4,
)


@given(json_values | near_checks)
def test_any_value_loads_or_is_refused(value: Any) -> None:
    try:
        check = load(value)
    except CheckError as error:
        assert str(error).startswith("check")
    else:
        assert load(check) == check
        assert load(json.loads(json.dumps(check))) is not None
        assert evaluate(check, episode(TASK), TASK) in (True, False)


@given(st.lists(st.tuples(st.sampled_from(["find_account", "transfer", "x"]), json_values, json_values), max_size=4), st.text())
def test_any_episode_is_judged(turns: list[tuple[str, Any, Any]], say: str) -> None:
    survives(episode(TASK, *turns, say=say))
