"""TIER by hand: every case's terms and total are worked out in the test (penalty 0.25, answer weight 5, maximum 10)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.params import Tier
from tasks.records import Task, Trajectory
from tasks.reward import tier
from tests.reward.made import CATALOGUE, DIGEST, RIGHT, Move, episode, malformed, ok, payment, refused, task

DEFAULT = Tier()
TASK = payment()


def scored(of: Task, trajectory: Trajectory, settings: Tier = DEFAULT) -> tier.Terms:
    return tier.score(of, trajectory, CATALOGUE.specs, CATALOGUE.checkers, settings)


def check(of: Task, trajectory: Trajectory, total: float, **terms: float) -> list[str]:
    """Compares exactly; terms that are not named are 1. Returns the reasons."""
    found, components, reasons = scored(of, trajectory)
    expected = {"format": 1.0, "name": 1.0, "param": 1.0, "dtype": 1.0, "exec": 1.0, "answer": 1.0} | terms
    assert {name: components[name] for name in expected} == expected
    assert found == pytest.approx(total, abs=1e-12)
    assert components["outcome"] is None
    return reasons


def test_all_right_is_one() -> None:
    assert check(TASK, episode(TASK, *RIGHT), 1.0) == []
    assert scored(TASK, episode(TASK, *RIGHT))[0] == 1.0, "exactly"
    assert check(TASK, episode(TASK, list(RIGHT)), 1.0) == [], "both calls in one turn"


NOTHING = {"format": 0.0, "name": 0.0, "param": 0.0, "dtype": 0.0, "exec": 0.0, "answer": 0.0}


@pytest.mark.parametrize(
    "turns",
    [
        (malformed(),),
        (*RIGHT, malformed()),
        ([RIGHT[0], malformed("several_values")], RIGHT[1]),
    ],
)
def test_a_format_failure_anywhere_is_zero_even_with_the_right_end(turns: tuple[Any, ...]) -> None:
    reasons = check(TASK, episode(TASK, *turns), 0.0, **NOTHING)
    assert any("at character 20" in reason for reason in reasons)


def test_a_last_turn_cut_by_the_length_is_zero() -> None:
    reasons = check(TASK, episode(TASK, *RIGHT, finish="length"), 0.0, **NOTHING)
    assert reasons == ["the last turn was cut by the length limit"]


def test_an_episode_out_of_room_after_whole_calls_keeps_their_credit() -> None:
    check(TASK, episode(TASK, *RIGHT, say=None, finish="length"), 0.5, answer=0.0)  # (1 + 1 + 1 + 1 + 1 + 0) / 10


def test_the_turn_limit_is_no_format_failure_but_no_answer_either() -> None:
    reasons = check(TASK, episode(TASK, *RIGHT, say=None, finish="turns"), 0.5, answer=0.0)
    assert "the episode did not end by itself (turns)" in reasons


def test_an_unknown_tool_leaves_a_tenth() -> None:
    trajectory = episode(TASK, refused("fly", to="moon", x=1), say="Done.")
    reasons = check(TASK, trajectory, 0.1, name=0.0, param=0.0, dtype=0.0, exec=0.0, answer=0.0)  # 1 / 10
    assert reasons[0] == "fly: there is no such tool"
    check(TASK, episode(TASK, *RIGHT, refused("fly")), 0.6, name=0.0, param=0.0, dtype=0.0, exec=0.0)  # (1 + 5) / 10


def test_a_tool_that_exists_but_is_not_the_tasks_is_unknown() -> None:
    check(TASK, episode(TASK, ok("hidden"), say="Done."), 0.2, name=0.0, param=0.0, dtype=0.0, answer=0.0)  # (1 + 1) / 10


@pytest.mark.parametrize(("missing", "param"), [(1, 0.75), (2, 0.5), (3, 0.25), (4, 0.0), (5, 0.0)])
def test_each_missing_parameter_costs_a_quarter_of_param(missing: int, param: float) -> None:
    arguments = dict.fromkeys("abcdef"[missing:], 1)
    trajectory = episode(TASK, refused("form", **arguments), say="Done.")
    check(TASK, trajectory, (1 + 1 + param + 1) / 10, param=param, exec=0.0, answer=0.0)


@pytest.mark.parametrize(("extra", "param"), [(1, 0.75), (2, 0.5), (3, 0.25), (4, 0.0), (7, 0.0)])
def test_each_unknown_parameter_costs_a_quarter_of_param(extra: int, param: float) -> None:
    arguments = dict.fromkeys("abcdef", 1) | {f"x{n}": 1 for n in range(extra)}
    trajectory = episode(TASK, refused("form", **arguments), say="Done.")
    check(TASK, trajectory, (1 + 1 + param + 1) / 10, param=param, exec=0.0, answer=0.0)


@pytest.mark.parametrize(("wrong", "dtype"), [(1, 0.75), (2, 0.5), (3, 0.25), (4, 0.0), (6, 0.0)])
def test_each_wrong_type_costs_a_quarter_of_dtype(wrong: int, dtype: float) -> None:
    arguments: dict[str, Any] = {letter: "1" if n < wrong else 1 for n, letter in enumerate("abcdef")}
    trajectory = episode(TASK, refused("form", **arguments), say="Done.")
    check(TASK, trajectory, (1 + 1 + 1 + dtype) / 10, dtype=dtype, exec=0.0, answer=0.0)


def test_mistakes_count_over_all_calls_of_the_episode() -> None:
    trajectory = episode(
        TASK,
        refused("find_payee"),  # one missing
        refused("pay", to="pay_1", amount="40", now=True),  # one unknown, one wrong type
        refused("pay", to=1, amount=40.5),  # two wrong types
        say="Done.",
    )
    check(TASK, trajectory, (1 + 1 + 0.5 + 0.25) / 10, param=0.5, dtype=0.25, exec=0.0, answer=0.0)


@pytest.mark.parametrize("value", [True, False, "1", 1.5, None, [1], {"a": 1}])
def test_true_is_not_one_nor_is_anything_else_an_integer(value: Any) -> None:
    trajectory = episode(TASK, refused("pay", to="pay_1", amount=value), say="Done.")
    check(TASK, trajectory, 0.375, dtype=0.75, exec=0.0, answer=0.0)  # (1 + 1 + 1 + 0.75) / 10


def test_a_value_outside_its_enum_costs_execution_only() -> None:
    trajectory = episode(TASK, refused("pay", to="pay_1", amount=40, kind="never"), say="Done.")
    check(TASK, trajectory, 0.4, exec=0.0, answer=0.0)  # (1 + 1 + 1 + 1) / 10


def test_one_refused_call_of_many_is_no_execution() -> None:
    reasons = check(TASK, episode(TASK, RIGHT[0], refused("pay", to="pay_9", amount=40), RIGHT[1]), 0.9, exec=0.0)
    assert reasons == ["pay failed: it is refused"]


@pytest.mark.parametrize(
    ("say", "reason"),
    [
        ("Answer: 8", "the answer is not the expected one"),
        ("Answer: true", "the answer is not the expected one"),
        ('Answer: "7"', "the answer is not the expected one"),
        ("7", "no answer is given"),
        ("", "no answer is given"),
    ],
)
def test_a_wrong_answer_leaves_half(say: str, reason: str) -> None:
    assert check(TASK, episode(TASK, *RIGHT, say=say), 0.5, answer=0.0) == [reason]


def test_an_equal_number_is_the_answer() -> None:
    check(TASK, episode(TASK, *RIGHT, say="Here it is.\nAnswer: 7.0"), 1.0)


def test_true_is_not_the_answer_one() -> None:
    one = task("t", TASK.gold.calls, 1)
    check(one, episode(one, *RIGHT, say="Answer: 1"), 1.0)
    check(one, episode(one, *RIGHT, say="Answer: true"), 0.5, answer=0.0)


def test_a_wrong_state_leaves_half() -> None:
    assert check(TASK, episode(TASK, *RIGHT, digest="other"), 0.5, answer=0.0) == ["the final state is not the expected one"]
    free = task("t", TASK.gold.calls, 7, "")
    check(free, episode(free, *RIGHT, digest="other"), 1.0)


def test_a_task_without_an_answer_asks_for_the_state_only() -> None:
    silent = task("t", TASK.gold.calls, None, DIGEST)
    check(silent, episode(silent, *RIGHT, say="Done."), 1.0)
    check(silent, episode(silent, *RIGHT, say="Answer: 9"), 1.0)


def test_doing_nothing_where_calls_are_needed_earns_the_format_only() -> None:
    reasons = check(TASK, episode(TASK, say="Done."), 0.1, name=0.0, param=0.0, dtype=0.0, exec=0.0, answer=0.0)
    assert "no tool was called where the request needs one" in reasons
    assert scored(TASK, episode(TASK, say="Done."))[0] < scored(TASK, episode(TASK, refused("pay"), say="Done."))[0]


def test_doing_nothing_where_nothing_is_to_be_done_is_all_right() -> None:
    idle = task("t", abstain=True)
    assert check(idle, episode(idle, say="I cannot do that."), 1.0) == []
    reasons = check(idle, episode(idle, RIGHT[0], say="Done."), 0.5, answer=0.0)
    assert reasons == ["a tool was called where nothing should be called"]
    check(idle, episode(idle, malformed(), say="Done."), 0.0, **NOTHING)


def test_penalty_and_answer_weight_are_settings() -> None:
    trajectory = episode(TASK, refused("find_payee"), RIGHT[1])  # one missing parameter, the right end
    total, components, _ = scored(TASK, trajectory, Tier(penalty=0.5, answer_weight=1.0))
    assert (components["param"], components["answer"]) == (0.5, 1.0)
    assert total == pytest.approx((1 + 1 + 0.5 + 1 + 0 + 1) / 6)
    assert scored(TASK, episode(TASK, *RIGHT), Tier(penalty=0.0, answer_weight=0.0))[0] == 1.0


MOVES = st.sampled_from(
    [
        *RIGHT,
        ok("pay", to="pay_1", amount=41, kind="now"),
        refused("find_payee"),
        refused("pay", to=1, amount=True, x=2),
        refused("fly"),
        ok("hidden"),
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(MOVES, min_size=1, max_size=4), MOVES, st.integers(0, 4), st.sampled_from(["Answer: 7", "Answer: 8", "Done."]))
def test_a_superfluous_call_never_raises_the_total(moves: list[Move], extra: Move, at: int, say: str) -> None:
    more = [*moves[:at], extra, *moves[at:]]
    for of in (TASK, task("t", abstain=True)):
        before, after = (scored(of, episode(of, *m, say=say))[0] for m in (moves, more))
        assert 0.0 <= after <= before <= 1.0


@settings(max_examples=200, deadline=None)
@given(
    st.lists(MOVES | st.just(malformed()), max_size=5), st.sampled_from(["Answer: 7", "Done."]), st.sampled_from([DIGEST, "x"])
)
def test_the_best_gets_the_most_and_nothing_leaves_the_range(moves: list[Move], say: str, digest: str) -> None:
    total, components, reasons = scored(TASK, episode(TASK, *moves, say=say, digest=digest))
    assert 0.0 <= total <= 1.0 == scored(TASK, episode(TASK, *RIGHT))[0]
    assert all(value is None or 0.0 <= value <= 1.0 for value in components.values())
    assert (total == 1.0) == (not reasons)
