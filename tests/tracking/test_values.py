"""Names, parameters, metrics and trace values: pure functions."""

from __future__ import annotations

import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.records import Call, Message, ParseFailure, Result, Score, Step, Trajectory, components
from tasks.tracking import values


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("reward/mean", "reward/mean"),
        ("reward[0]/mean", "reward_0/mean"),
        ("rollout@r1", "rollout_r1"),
        ("/a//b/", "a/b"),
        ("../../etc", "etc"),
        ("", "_"),
        ("[]", "_"),
    ],
)
def test_names_that_mlflow_refuses_are_cleaned(name: str, clean: str) -> None:
    assert values.clean_name(name) == clean


@given(st.text(max_size=400))
def test_every_name_becomes_a_plain_relative_path(name: str) -> None:
    clean = values.clean_name(name)
    assert 0 < len(clean) <= values.NAME_LIMIT
    assert set(clean) <= set(string.ascii_letters + string.digits + "_-./ :")
    assert all(part not in ("", ".", "..") for part in clean.split("/"))
    assert values.clean_name(clean) == clean


def test_parameters_are_flattened_to_dotted_names() -> None:
    tree = {"seed": 1, "grpo": {"lr": 1e-3, "on": True}, "rounds": [{"name": "r1"}], "names": ["a", "b"], "none": None}
    assert values.flatten(tree) == {
        "seed": "1",
        "grpo.lr": "0.001",
        "grpo.on": "true",
        "rounds.0.name": "r1",
        "names": '["a","b"]',
        "none": "null",
    }


def test_metrics_lose_only_what_is_not_finite_and_say_how_many() -> None:
    finite, dropped = values.clean_metrics({"a": 1, "b": math.nan, "c": math.inf, "d": None, "e": True})
    assert finite == {"a": 1.0, "e": 1.0}
    assert dropped == 2


def test_metrics_with_names_that_become_equal_are_all_kept() -> None:
    finite, _ = values.clean_metrics({"a[0]": 1, "a(0)": 2, "a_0": 3})
    assert sorted(finite.values()) == [1.0, 2.0, 3.0]


def _trajectory(number: int, text: str = "Done.") -> Trajectory:
    step = Step(0, 1, [Call("c1", "move", {"amount": number})], [ParseFailure("bad_json", 3)], [Result("c1", True, {"id": 1})])
    messages = [Message("system", "s"), Message("user", "Move it."), Message("assistant", text)]
    return Trajectory(f"t{number}", 0, "p", 0, messages, [1], [2], [1], [0.0], [step], "stop", "d")


def _score(number: int) -> Score:
    return Score(f"t{number}", 0, "tier", "score", number / 10, components(format=1.0, answer=0.0), [], ["why"])


def test_the_sample_spreads_from_the_worst_to_the_best() -> None:
    sample = values.sample_by_score([_trajectory(n) for n in (3, 0, 9, 6, 1)], [_score(n) for n in range(10)], 3)
    assert [trace["name"] for trace in sample] == ["t0/0", "t3/0", "t9/0"]
    assert values.sample_by_score([], [], 3) == []


def test_a_trace_has_a_span_per_call_and_a_feedback_per_known_component() -> None:
    trace = values.trace_of(_trajectory(4), _score(4))
    assert [(span["name"], span["ok"]) for span in trace["spans"]] == [("move", True), ("parse failure", False)]
    assert trace["spans"][0]["inputs"] == {"amount": 4}
    assert {item["name"]: item["value"] for item in trace["feedback"]} == {
        "total": 0.4,
        "format": 1.0,
        "answer": 0.0,
        "kind": "score",
    }


def test_an_abstention_has_no_numbers_but_its_reason() -> None:
    score = Score("t1", 0, "tier", "abstain", None, components(), [], ["nothing to judge"])
    feedback = values.trace_of(_trajectory(1), score)["feedback"]
    assert [(item["name"], item["value"], item["why"]) for item in feedback] == [("kind", "abstain", "nothing to judge")]


def test_hostile_text_becomes_text_that_a_database_takes() -> None:
    trace = values.trace_of(_trajectory(1, "a\ud800b\0c" + "x" * 9000), None)
    text = trace["outputs"]
    text.encode("utf-8")
    assert "\0" not in text
    assert len(text) < 9000
