"""Recipes: weighted sums, one fixed component schema, three kinds; and which prompts carry a learning signal."""

from __future__ import annotations

import pytest

from tasks.params import ParamsError, Reward, parse
from tasks.records import COMPONENTS, Score, components
from tasks.reward.__main__ import figures, select
from tasks.reward.recipes import score, score_all
from tests.reward.made import CATALOGUE, RIGHT, episode, malformed, payment, refused

TASK = payment()
SETTINGS = Reward(
    recipe="mix",
    recipes={
        "tier": {"tier": 1.0},
        "outcome": {"outcome": 1.0},
        "mix": {"tier": 0.5, "outcome": 2.0},
        "off": {"tier": 1.0, "outcome": 0.0},
    },
)
RIGHT_END = episode(TASK, *RIGHT)
REFUSED = episode(TASK, RIGHT[0], refused("pay", to="pay_9", amount=40), RIGHT[1])  # tier 0.9, outcome 1
WRONG = episode(TASK, *RIGHT, say="Answer: 8")  # tier 0.5, outcome 0
BROKEN = episode(TASK, malformed(), say="Answer: 8")  # tier 0, outcome 0


@pytest.mark.parametrize(
    ("recipe", "totals"),
    [
        ("tier", (1.0, 0.9, 0.5, 0.0)),
        ("outcome", (1.0, 1.0, 0.0, 0.0)),
        ("mix", (0.5 * 1.0 + 2.0, 0.5 * 0.9 + 2.0, 0.5 * 0.5, 0.0)),
        ("off", (1.0, 0.9, 0.5, 0.0)),
    ],
)
def test_a_total_is_the_weighted_sum(recipe: str, totals: tuple[float, ...]) -> None:
    for trajectory, total in zip((RIGHT_END, REFUSED, WRONG, BROKEN), totals, strict=True):
        found = score(TASK, trajectory, CATALOGUE, SETTINGS, recipe)
        assert (found.kind, found.recipe) == ("score", recipe)
        assert found.total == pytest.approx(total, abs=1e-12)


def test_components_are_the_same_for_a_whole_run_and_null_where_unknown() -> None:
    for recipe, known in (
        ("tier", set(COMPONENTS) - {"outcome"}),
        ("outcome", {"outcome"}),
        ("mix", set(COMPONENTS)),
        ("off", set(COMPONENTS)),
    ):
        for trajectory in (RIGHT_END, REFUSED, WRONG, BROKEN):
            found = score(TASK, trajectory, CATALOGUE, SETTINGS, recipe).components
            assert list(found) == list(COMPONENTS)
            assert {name for name, value in found.items() if value is not None} == known


def test_a_failed_environment_is_an_error_and_never_a_score() -> None:
    crashed = episode(TASK, RIGHT[0], say=None, finish="error", error="banking.pay crashed: KeyError")
    for recipe in SETTINGS.recipes:
        found = score(TASK, crashed, CATALOGUE, SETTINGS, recipe)
        assert (found.kind, found.total) == ("error", None)
        assert set(found.components.values()) == {None}
        assert found.reasons == ["banking.pay crashed: KeyError"]
    nameless = score(TASK, episode(TASK, finish="error"), CATALOGUE, SETTINGS, "tier")
    assert nameless.reasons == ["the environment failed"]


def test_a_crash_between_a_call_and_its_result_is_scored_as_an_error() -> None:
    crashed = episode(TASK, RIGHT[0], finish="error", error="x")
    crashed.steps[0].results.clear()
    assert score(TASK, crashed, CATALOGUE, SETTINGS, "mix").kind == "error"


def test_reasons_are_given_once() -> None:
    found = score(TASK, WRONG, CATALOGUE, SETTINGS, "mix")
    assert found.reasons == ["the answer is not the expected one"]


def test_scores_stand_in_the_order_of_the_trajectories() -> None:
    other = payment("t-2")
    trajectories = [WRONG, episode(other, *RIGHT, sample=3), RIGHT_END]
    found = score_all({"t-1": TASK, "t-2": other}, trajectories, CATALOGUE, SETTINGS, "tier")
    assert [(s.task_id, s.sample, s.total) for s in found] == [("t-1", 0, 0.5), ("t-2", 3, 1.0), ("t-1", 0, 1.0)]
    with pytest.raises(KeyError):
        score_all({}, trajectories, CATALOGUE, SETTINGS, "tier")


def test_a_recipe_that_does_not_exist_or_weighs_nothing_is_refused_by_the_settings() -> None:
    base = {"rounds": {"r1": {"from": "warmup"}}}
    with pytest.raises(ParamsError, match="unknown recipe 'nonesuch'"):
        parse(base | {"reward": {"recipe": "nonesuch"}}, "params.yaml")
    with pytest.raises(ParamsError, match="recipe 'zero' has no reward with a weight other than 0"):
        parse(base | {"reward": {"recipe": "zero", "recipes": {"zero": {"tier": 0.0}}}}, "params.yaml")
    with pytest.raises(ParamsError, match=r"reward\.recipes\.x\.prove"):
        parse(base | {"reward": {"recipe": "x", "recipes": {"x": {"prove": 1.0}}}}, "params.yaml")


def made(task_id: str, *totals: float | None) -> list[Score]:
    return [Score(task_id, n, "tier", "error" if t is None else "score", t, components(format=t)) for n, t in enumerate(totals)]


TASKS = {name: payment(name) for name in "abcdefg"}


def test_prompts_with_a_signal_are_those_whose_totals_are_not_all_one() -> None:
    scores = [
        *made("a", 0.5, 0.5, 0.5),
        *made("b", 0.1 + 0.2, 0.3),  # not equal, if only by a rounding
        *made("c", 1.0, 1.0),
        *made("d", 0.5, None, 0.5),  # an error beside equal totals is no spread
        *made("e", None, 0.5, 1.0),
        *made("f", None, None, 0.5),
        *made("g", None, None),
    ]
    chosen, left_out = select(TASKS, scores)
    assert [t.id for t in chosen] == ["b", "e"]
    assert left_out == {"all equal": 2, "all right": 1, "fewer than two scores": 2}


def test_the_order_of_scores_does_not_matter_to_the_choice() -> None:
    scores = [*made("a", 0.0, 1.0), *made("b", 0.5, 0.5)]
    assert [t.id for t in select(TASKS, scores[::-1])[0]] == ["a"]
    assert select(TASKS, []) == ([], {})


def test_figures_leave_errors_out() -> None:
    found = figures([*made("a", 0.0, 1.0), *made("b", 0.5, 0.5), *made("c", None, None)])
    assert found["mean"] == 0.5
    assert found["spread_in_groups"] == 0.25  # (0.5 + 0) / 2
    assert (found["groups"], found["constant_groups"]) == (2, 1)
    assert found["kinds"] == {"error": 2, "score": 4}
    assert found["components"] == {"format": 0.5}
    empty = figures(made("a", None))
    assert empty["mean"] is None and empty["spread_in_groups"] is None and empty["components"] == {}
