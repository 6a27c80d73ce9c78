"""Every operator on hand-made trajectories: the verdict, and the steps that it rests on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tasks.distill.checks import OPERATORS, evaluate, steps
from tasks.records import GoldCall, Message, Task, Trajectory
from tests.distill.made import NOTHING, Fault, answer, episode, lookup_task, task

TASK = lookup_task(account="acc_111", amount=50)
FOUND = ("find_account", {"name": "Rent"}, {"account_id": "acc_111", "items": [{"id": "it_1", "price": 2.5}]})
MOVED = ("transfer", {"account_id": "acc_111", "amount": 50}, {"ok": True})
RIGHT = episode(TASK, FOUND, MOVED)


def moved(**arguments: Any) -> tuple[str, Any, Any]:
    return ("transfer", {"account_id": "acc_111", "amount": 50, **arguments}, {"ok": True})


def run(*turns: Any, **more: Any) -> Trajectory:
    return episode(TASK, *turns, **more)


def paid(*ids: str) -> tuple[str, Any, Any]:
    return ("pay", {"ids": list(ids)}, {})


def named(name: str) -> tuple[str, Any, Any]:
    return ("find_account", {"name": name}, {})


def verdict(check: dict[str, Any], trajectory: Trajectory, of: Task = TASK) -> tuple[bool, list[int]]:
    return evaluate(check, trajectory, of), steps(check, trajectory, of)


INVENTED = moved(account_id="acc_9")
TURNED = ("transfer", {"amount": 50.0, "account_id": "acc_111"}, {})
DENIED = ("transfer", {}, Fault("denied"))
NO_RESULT = ("transfer", {}, NOTHING)
MAYBE = ("find_account", {}, Fault("not_found", "did you mean acc_7?"))
CALLED = {"op": "called", "tool": "transfer"}
NOT_CALLED = {"op": "called", "tool": "pay"}
ONE_CALL = {"op": "max_calls", "count": 1}
ORDER = {"op": "before", "first": {"tool": "find_account"}, "then": {"tool": "transfer"}}
AFTER_SUCCESS = {**ORDER, "first": {"tool": "find_account", "ok": True}}
ACCOUNT = {"op": "argument_from", "tool": "transfer", "argument": "/account_id"}
AMOUNT = {"op": "argument_from", "tool": "transfer", "argument": "/amount"}
NAME = {"op": "argument_from", "tool": "find_account", "argument": "/name", "request": True}
IDS = {"op": "argument_from", "tool": "pay", "argument": "/ids"}

CASES: list[tuple[str, dict[str, Any], Trajectory, tuple[bool, list[int]]]] = [
    # called
    ("made", CALLED, RIGHT, (True, [2])),
    ("not made", NOT_CALLED, RIGHT, (False, [0])),
    ("made twice", {**CALLED, "at_least": 2}, run(MOVED, FOUND, MOVED), (True, [1, 3])),
    ("made once of two", {**CALLED, "at_least": 2}, RIGHT, (False, [0])),
    ("with the value", {**CALLED, "arguments": {"/amount": 50.0}}, RIGHT, (True, [2])),
    ("with another value", {**CALLED, "arguments": {"/amount": 51}}, RIGHT, (False, [0])),
    ("true is not 1", {**CALLED, "arguments": {"/amount": True}}, run(moved(amount=1)), (False, [0])),
    ("like gold", {**CALLED, "gold": [""]}, RIGHT, (True, [2])),
    ("unlike gold", {**CALLED, "gold": [""]}, run(FOUND, moved(amount=5)), (False, [0])),
    ("like gold in one", {**CALLED, "gold": ["/account_id"]}, run(moved(amount=5)), (True, [1])),
    ("a gold call counts once", {"op": "called", "gold": [""], "at_least": 2}, run(MOVED, MOVED), (False, [0])),
    ("all of gold", {"op": "called", "gold": [""], "ok": True, "at_least": "gold"}, RIGHT, (True, [1, 2])),
    ("not all of gold", {"op": "called", "gold": [""], "at_least": "gold"}, run(MOVED), (False, [0])),
    ("succeeded", {**CALLED, "ok": True}, run(DENIED, MOVED), (True, [2])),
    ("was refused", {**CALLED, "ok": False}, run(DENIED, MOVED), (True, [1])),
    ("no result is no success", {**CALLED, "ok": True}, run(NO_RESULT), (False, [0])),
    ("no result is no refusal", {**CALLED, "ok": False}, run(NO_RESULT), (False, [0])),
    # before
    ("in order", ORDER, RIGHT, (True, [1, 2])),
    ("out of order", ORDER, run(MOVED, FOUND), (False, [1])),
    ("the first is missing", ORDER, run(MOVED), (False, [1])),
    ("the second is missing", ORDER, run(FOUND), (False, [0])),
    ("too early once", {**ORDER, "every": True}, run(MOVED, FOUND, moved(amount=1)), (False, [1])),
    ("too early once, and then in order", ORDER, run(MOVED, FOUND, moved(amount=1)), (True, [2, 3])),
    ("none to be early", {**ORDER, "every": True}, run(FOUND), (True, [1])),
    ("a refused first does not count", AFTER_SUCCESS, run(MAYBE, MOVED), (False, [2])),
    ("a call is not before itself", {**ORDER, "first": {"tool": "transfer"}}, run(MOVED), (False, [1])),
    ("in one turn", ORDER, run([FOUND, MOVED]), (True, [1])),
    # argument_from
    ("taken", {**ACCOUNT, "source": "find_account"}, RIGHT, (True, [2])),
    ("taken at its place", {**ACCOUNT, "source": "find_account", "path": "/account_id"}, RIGHT, (True, [2])),
    ("not at that place", {**ACCOUNT, "path": "/items"}, RIGHT, (False, [2])),
    ("deep inside", {**AMOUNT, "path": "/items/*/price"}, run(FOUND, moved(amount=2.5)), (True, [2])),
    ("a float within the tolerance", AMOUNT, run(FOUND, moved(amount=2.5000000001)), (True, [2])),
    ("invented", ACCOUNT, run(FOUND, INVENTED), (False, [2])),
    ("a part of a value is not the value", ACCOUNT, run(FOUND, moved(account_id="acc_1")), (False, [2])),
    ("from another tool", {**ACCOUNT, "source": "list_cards"}, RIGHT, (False, [2])),
    ("before the result", ACCOUNT, run(MOVED, FOUND), (False, [1])),
    ("in the turn of the result", ACCOUNT, run([FOUND, MOVED]), (False, [1])),
    ("from the request", {**AMOUNT, "request": True}, RIGHT, (True, [2])),
    ("not without the request", AMOUNT, RIGHT, (False, [2])),
    ("a word of the request", NAME, run(named("rent")), (True, [1])),
    ("half a word of the request", NAME, run(named("Ren")), (False, [1])),
    ("from a refusal", {**ACCOUNT, "request": True}, run(MAYBE, moved(account_id="acc_7")), (True, [2])),
    ("from a refusal in its turn", {**ACCOUNT, "request": True}, run([MAYBE, moved(account_id="acc_7")]), (False, [1])),
    ("one of two", ACCOUNT, run(FOUND, INVENTED, MOVED), (True, [3])),
    ("not every one", {**ACCOUNT, "every": True}, run(FOUND, INVENTED, MOVED), (False, [2])),
    ("every one of none", {**ACCOUNT, "every": True}, run(FOUND), (True, [0])),
    ("no such argument", {"op": "argument_from", "tool": "transfer", "argument": "/iban"}, RIGHT, (False, [0])),
    ("a list half of which is invented", IDS, run(FOUND, paid("acc_111", "acc_9")), (False, [2])),
    ("a list all of which was shown", IDS, run(FOUND, paid("acc_111", "it_1")), (True, [2])),
    # no_repeat
    ("once each", {"op": "no_repeat"}, RIGHT, (True, [0])),
    ("again after success", {"op": "no_repeat"}, run(FOUND, MOVED, FOUND), (False, [3])),
    ("again in another order of keys", {"op": "no_repeat"}, run(MOVED, TURNED), (False, [2])),
    ("again with other arguments", {"op": "no_repeat"}, run(MOVED, moved(amount=51)), (True, [0])),
    ("again after a refusal", {"op": "no_repeat"}, run(("transfer", MOVED[1], Fault("denied")), MOVED), (True, [0])),
    ("again, another tool", {"op": "no_repeat", "tool": "transfer"}, run(FOUND, FOUND), (True, [0])),
    # no_error
    ("none", {"op": "no_error"}, RIGHT, (True, [0])),
    ("refused", {"op": "no_error"}, run(FOUND, DENIED), (False, [2])),
    ("malformed", {"op": "no_error"}, run(FOUND, failures={2: ["missing_brace"]}), (False, [2])),
    ("malformed, of no tool", {"op": "no_error", "tool": "transfer"}, run(FOUND, failures={2: ["missing_brace"]}), (True, [0])),
    ("of another kind", {"op": "no_error", "kinds": ["not_found"]}, run(DENIED), (True, [0])),
    ("of that kind", {"op": "no_error", "kinds": ["not_found", "denied"]}, run(DENIED), (False, [1])),
    ("of that tool", {"op": "no_error", "tool": "transfer"}, run(DENIED), (False, [1])),
    ("without a result", {"op": "no_error"}, run(NO_RESULT, finish="error"), (True, [0])),
    # max_calls
    ("as many", {"op": "max_calls", "count": 2}, RIGHT, (True, [0])),
    ("one beyond", {"op": "max_calls", "count": 2}, run(FOUND, FOUND, MOVED), (False, [3])),
    ("of a tool", {"op": "max_calls", "count": 1, "tool": "transfer"}, run(FOUND, FOUND, MOVED), (True, [0])),
    ("as many as gold", {"op": "max_calls", "count": "gold"}, RIGHT, (True, [0])),
    ("of a tool beside gold", {"op": "max_calls", "count": "gold", "tool": "pay"}, run(FOUND, ("pay", {}, {})), (False, [2])),
    # state_equals
    ("the gold state", {"op": "state_equals"}, RIGHT, (True, [0])),
    ("another state", {"op": "state_equals"}, run(FOUND, digest="other"), (False, [0])),
    ("the state that is named", {"op": "state_equals", "digest": "other"}, run(FOUND, digest="other"), (True, [0])),
    # and, or, not
    ("both", {"op": "and", "checks": [{**CALLED, "tool": "find_account"}, CALLED]}, RIGHT, (True, [1, 2])),
    ("the failing one places it", {"op": "and", "checks": [{**CALLED, "tool": "find_account"}, ONE_CALL]}, RIGHT, (False, [2])),
    ("the holding one places it", {"op": "or", "checks": [NOT_CALLED, CALLED]}, RIGHT, (True, [2])),
    ("neither", {"op": "or", "checks": [NOT_CALLED, ONE_CALL]}, RIGHT, (False, [2])),
    ("a mistake and its place", {"op": "not", "check": {"op": "no_repeat"}}, run(FOUND, FOUND), (True, [2])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "check", "trajectory", "expected"), CASES, ids=[f"{c[1]['op']}: {c[0]}" for c in CASES])
def test_operator(name: str, check: dict[str, Any], trajectory: Trajectory, expected: tuple[bool, list[int]]) -> None:
    assert verdict(check, trajectory) == expected


def test_not_flips_the_verdict_and_keeps_the_place() -> None:
    for _, check, trajectory, (holds, at) in CASES:
        assert verdict({"op": "not", "check": check}, trajectory) == (not holds, at)


def test_every_operator_has_a_case() -> None:
    here = {check["op"] for _, check, _, _ in CASES}
    assert here | {"answer_equals", "equation_holds"} == set(OPERATORS)


@pytest.mark.parametrize(
    ("say", "check", "expected"),
    [
        (answer(12.5), {"op": "answer_equals"}, (True, [2])),
        (answer(12), {"op": "answer_equals"}, (False, [2])),
        ("12.5", {"op": "answer_equals"}, (False, [2])),
        (answer({"b": [1], "a": None}), {"op": "answer_equals", "value": {"a": None, "b": [1.0]}}, (True, [2])),
        (answer(None), {"op": "answer_equals", "value": None}, (True, [2])),
        ("Done.", {"op": "answer_equals", "value": None}, (False, [2])),
    ],
)
def test_answer_equals(say: str, check: dict[str, Any], expected: tuple[bool, list[int]]) -> None:
    asked = task(GoldCall("0", "get", {}), answer=12.5)
    assert verdict(check, episode(asked, ("get", {}, 12.5), say=say), asked) == expected


def test_without_an_expected_answer_or_state_nothing_can_be_wrong() -> None:
    open_task = task(answer=None, digest="")
    said = episode(open_task, say=answer("anything"), digest="whatever")
    assert verdict({"op": "and", "checks": [{"op": "answer_equals"}, {"op": "state_equals"}]}, said, open_task) == (True, [0])


SUM = task(family="math", answer=14)
WORKED = (
    "Let me think: 1 + 1 = 2.\n### Step 1: twice\n2 * 3 = 6\n### Step 2:\n6 + 8 = 15\n### Step 3: sum 6 + 8 = 14\nAnswer: 14"
)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ({"op": "equation_holds"}, (True, [1, 3])),
        ({"op": "equation_holds", "every": True}, (False, [2])),
        ({"op": "not", "check": {"op": "equation_holds", "every": True}}, (True, [2])),
        ({"op": "equation_holds", "equation": "6 + 8 = 14"}, (True, [3])),
        ({"op": "equation_holds", "equation": "7 + 7 = 14"}, (False, [0])),
        ({"op": "answer_equals"}, (True, [3])),
    ],
)
def test_mathematics_by_step_headers(check: dict[str, Any], expected: tuple[bool, list[int]]) -> None:
    assert verdict(check, episode(SUM, say=WORKED), SUM) == expected


def test_without_step_headers_a_solution_is_one_step() -> None:
    assert verdict({"op": "equation_holds", "every": True}, episode(SUM, say="2 * 7 = 15"), SUM) == (False, [1])
    assert verdict({"op": "equation_holds"}, episode(SUM, say="fourteen"), SUM) == (False, [0])


def test_equations_of_a_tool_episode_lie_on_its_turns() -> None:
    assert verdict({"op": "equation_holds"}, episode(TASK, FOUND, say="2 * 25 = 50")) == (True, [2])


def test_what_a_refused_call_returned_is_no_source() -> None:
    trajectory = run(FOUND, MOVED)
    trajectory.steps[0].results[0] = replace(trajectory.steps[0].results[0], ok=False)
    assert verdict(ACCOUNT, trajectory) == (False, [2])


def test_the_system_message_counts_as_said() -> None:
    trajectory = episode(TASK, ("find_account", {"name": "2026-03-14"}, {}))
    check = {"op": "argument_from", "tool": "find_account", "argument": "/name", "request": True}
    assert not evaluate(check, trajectory, TASK)
    trajectory.messages.insert(0, Message("system", "Today is 2026-03-14."))
    assert evaluate(check, trajectory, TASK)
