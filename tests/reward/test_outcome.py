"""Whether an episode achieved what was asked: by its own end, whatever its path."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.reward.outcome import judge
from tests.reward.made import DIGEST, GOLD, RIGHT, episode, malformed, ok, payment, refused, task

TASK = payment()


@pytest.mark.parametrize(
    "turns",
    [RIGHT, RIGHT[::-1], (list(RIGHT),), (refused("fly"), *RIGHT), (malformed(), *RIGHT), (*RIGHT, ok("hidden"))],
)
def test_any_path_to_the_right_end_is_right(turns: Any) -> None:
    assert judge(TASK, episode(TASK, *turns)).right


@pytest.mark.parametrize("finish", ["length", "turns", "error"])
def test_what_did_not_end_by_itself_is_wrong(finish: Any) -> None:
    verdict = judge(TASK, episode(TASK, *RIGHT, finish=finish))
    assert not verdict.right
    assert verdict.reasons == (f"the episode did not end by itself ({finish})",)


def test_every_reason_is_given() -> None:
    verdict = judge(TASK, episode(TASK, say="Answer: 8", digest="other", finish="turns"))
    assert len(verdict.reasons) == 3


@pytest.mark.parametrize(
    ("gold", "said", "right"),
    [
        (1, "1", True),
        (1, "true", False),
        (True, "true", True),
        (True, "1", False),
        (12.5, "12.50", True),
        (3, "3.0", True),
        ("Ada", '"Ada"', True),
        ("Ada", "Ada", True),
        ("Ada", "ada", False),
        ("7", "7", False),
        (["a", "b"], '["a", "b"]', True),
        (["a", "b"], '["b", "a"]', False),
        ({"a": 1, "b": 2}, '{"b": 2, "a": 1}', True),
        (False, "null", False),
        (0, "false", False),
    ],
)
def test_answers_compare_as_json(gold: Any, said: str, right: bool) -> None:
    of = task("t", GOLD, gold)
    assert judge(of, episode(of, *RIGHT, say=f"Answer: {said}")).right is right


def test_where_nothing_is_to_be_called_any_attempt_is_wrong() -> None:
    idle = task("t", abstain=True)
    assert judge(idle, episode(idle, say="No.")).right
    for move in (RIGHT[0], refused("fly"), malformed()):
        verdict = judge(idle, episode(idle, move, say="No."))
        assert verdict.reasons == ("a tool was called where nothing should be called",), "a failed attempt is no abstention"


def test_a_task_that_compares_no_state_and_asks_no_value_is_right_when_it_ends() -> None:
    free = task("t", GOLD)
    assert judge(free, episode(free, *RIGHT, say="Done.", digest="anything")).right
    assert not judge(payment(), episode(payment(), *RIGHT, say="Done.", digest=DIGEST)).right
