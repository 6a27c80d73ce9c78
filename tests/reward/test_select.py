"""The choice of prompts: by outcome or by spread, what is left out and why, and what the stage does with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tasks.records import Gold, Message, ParseFailure, Score, Step, Task, Trajectory, components, read_shards, write_shards
from tasks.reward.__main__ import main, select
from tests.policy.project import contents, write
from tests.reward.made import payment
from tests.rollout.made import task

ALL = {name: payment(name) for name in "abcdefgh"}
Sample = tuple[float | None, bool]
"""(total, whether the episode achieved what was asked)"""


def made(**groups: Sequence[Sample]) -> tuple[list[Score], list[bool]]:
    """Scores and outcomes of the groups named, in order; a total of None is an error, or an abstention where odd."""
    scores, rights = [], []
    for name, samples in groups.items():
        for number, (total, right) in enumerate(samples):
            kind: Any = ("error", "abstain")[number % 2] if total is None else "score"
            scores.append(Score(name, number, "tier", kind, total, components(), [], []))
            rights.append(right)
    return scores, rights


MIXED = [(1.0, True), (0.5, False), (0.0, False)]
ALL_WRONG_WITH_SPREAD = [(0.5, False), (0.3, False), (0.0, False)]
ALL_RIGHT_WITH_SPREAD = [(1.0, True), (0.9, True), (1.0, True)]


def chosen(rights: bool, **groups: Sequence[Sample]) -> tuple[list[str], dict[str, int]]:
    scores, outcomes = made(**groups)
    found, left_out = select(ALL, scores, outcomes if rights else None)
    return [t.id for t in found], dict(left_out)


def test_spread_is_any_difference_of_totals() -> None:
    groups = {
        "a": MIXED,
        "b": ALL_WRONG_WITH_SPREAD,
        "c": ALL_RIGHT_WITH_SPREAD,
        "d": [(0.5, False)] * 3,
        "e": [(1.0, True)] * 3,
    }
    assert chosen(False, **groups) == (["a", "b", "c"], {"all equal": 1, "all right": 1})


def test_outcome_asks_for_right_and_wrong_samples_as_well() -> None:
    groups = {
        "a": MIXED,
        "b": ALL_WRONG_WITH_SPREAD,
        "c": ALL_RIGHT_WITH_SPREAD,
        "d": [(0.5, False)] * 3,
        "e": [(1.0, True)] * 3,
    }
    assert chosen(True, **groups) == (["a"], {"all wrong": 1, "all right": 2, "all equal": 1})


def test_right_and_wrong_samples_of_one_total_give_no_signal() -> None:
    """A recipe that does not weigh the outcome can score right and wrong alike: there is nothing to learn from that."""
    assert chosen(True, a=[(0.5, True), (0.5, False)]) == ([], {"all equal": 1})


@pytest.mark.parametrize("rights", [True, False])
def test_errors_and_abstentions_take_no_part(rights: bool) -> None:
    groups = {
        "a": [(1.0, True), (None, False), (0.0, False), (None, True)],  # what is left differs
        "b": [(1.0, True), (None, False), (1.0, True)],  # the wrong one is no score
        "c": [(0.0, False), (None, True), (0.0, False)],
        "d": [(None, False), (1.0, True), (None, True)],  # one score is no group
        "e": [(None, False), (None, True)],
    }
    assert chosen(rights, **groups) == (["a"], {"all right": 1, "all equal": 1, "fewer than two scores": 2})


def test_an_outcome_that_only_an_error_had_does_not_count() -> None:
    groups = {"a": [(0.5, False), (0.3, False), (None, True)], "b": [(1.0, True), (0.9, True), (None, False)]}
    assert chosen(True, **groups) == ([], {"all wrong": 1, "all right": 1})
    assert chosen(False, **groups) == (["a", "b"], {})


def test_equality_is_exact() -> None:
    assert chosen(False, a=[(0.1 + 0.2, False), (0.3, False)], b=[(0.3, False), (0.3, False)]) == (["a"], {"all equal": 1})


def test_every_group_is_chosen_or_left_out_once_in_any_order() -> None:
    groups = {"h": MIXED, "a": [(0.0, False)] * 2, "c": MIXED, "b": [(None, False)] * 2}
    scores, rights = made(**groups)
    for order in (
        range(len(scores)),
        range(len(scores) - 1, -1, -1),
        sorted(range(len(scores)), key=lambda i: scores[i].sample),
    ):
        found, left_out = select(ALL, [scores[i] for i in order], [rights[i] for i in order])
        assert {t.id for t in found} == {"h", "c"} and sum(left_out.values()) == 2
    assert [t.id for t in select(ALL, scores, rights)[0]] == ["h", "c"], "in the order of the rollouts"
    assert select(ALL, [], []) == ([], {})


# The stage. Four kinds of episodes of a task that asks for the value 7, with the totals that TIER gives them.
RIGHT, WRONG, BROKEN, CRASHED = "right", "wrong", "broken", "crashed"


def asked(name: str) -> Task:
    return replace(task(name), gold=Gold(answer=7, abstain=True))  # nothing need be called


def played(of: Task, sample: int, kind: str) -> Trajectory:
    says = {RIGHT: "Answer: 7", WRONG: "Answer: 8", BROKEN: "<tool_call>{", CRASHED: "Answer: 7"}[kind]
    failures = [ParseFailure("bad_json", 11)] if kind == BROKEN else []
    return Trajectory(
        task_id=of.id,
        sample=sample,
        policy="made",
        seed=sample,
        messages=[Message("user", of.turns[0]), Message("assistant", says)],
        prompt_ids=[5],
        completion_ids=[6, 7],
        mask=[1, 1],
        logprobs=[-0.5, -0.5],
        steps=[Step(0, 2, [], failures)],
        finish_reason="error" if kind == CRASHED else "stop",
        digest="",
        error="banking.pay crashed" if kind == CRASHED else None,
    )


GROUPS = {
    "mixed": [RIGHT, WRONG, BROKEN],
    "failed": [WRONG, BROKEN, WRONG],  # spread, but nobody was right
    "solved": [RIGHT, RIGHT, RIGHT],
    "same": [WRONG, WRONG, WRONG],
    "crashed": [RIGHT, CRASHED, CRASHED],
    "half": [RIGHT, CRASHED, WRONG],
}


def project(folder: Path, groups: Mapping[str, Sequence[str]], **reward: Any) -> Path:
    """A project whose rollouts are `groups`."""
    write(folder, {"reward": reward}, policy=False)
    tasks = {name: asked(name) for name in groups}
    rollouts = [played(tasks[name], n, kind) for name, kinds in groups.items() for n, kind in enumerate(kinds)]
    write_shards(folder / "data/rollout/r1/tasks", list(tasks.values()), Task)
    write_shards(folder / "data/rollout/r1/trajectories", rollouts, Trajectory)
    return folder


def stage(folder: Path) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return main(["--round", "r1"])


@pytest.mark.parametrize(
    ("signal", "prompts", "left_out"),
    [
        ("outcome", ["mixed", "half"], {"all wrong": 1, "all right": 1, "all equal": 1, "fewer than two scores": 1}),
        ("spread", ["mixed", "failed", "half"], {"all right": 1, "all equal": 1, "fewer than two scores": 1}),
    ],
)
def test_the_stage_chooses_by_the_signal_asked_for(
    tmp_path: Path, signal: str, prompts: list[str], left_out: dict[str, int]
) -> None:
    assert stage(project(tmp_path, GROUPS, signal=signal)) == 0
    out = tmp_path / "data/reward/r1"
    assert read_shards(out / "prompts", Task) == [asked(name) for name in prompts], "whole tasks, in order"
    metrics = json.loads((out / "metrics.json").read_text())
    assert (metrics["prompts"], metrics["left_out"]) == (len(prompts), left_out)
    assert metrics["tier"]["kinds"] == metrics["outcome"]["kinds"] == {"error": 3, "score": 15}
    scores = read_shards(out / "scores", Score)
    assert [(s.recipe, s.task_id, s.sample) for s in scores] == [
        (recipe, name, n) for recipe in ("tier", "outcome") for name, kinds in GROUPS.items() for n in range(len(kinds))
    ]


def test_the_choice_is_by_the_recipe_that_trains(tmp_path: Path) -> None:
    """Under the outcome alone a group of wrong answers has no spread, whichever signal is asked for."""
    assert stage(project(tmp_path, GROUPS, signal="spread", recipe="outcome")) == 0
    out = tmp_path / "data/reward/r1"
    assert [t.id for t in read_shards(out / "prompts", Task)] == ["mixed", "half"]
    assert json.loads((out / "metrics.json").read_text())["left_out"] == {
        "all equal": 2,
        "all right": 1,
        "fewer than two scores": 1,
    }


def test_the_same_rollouts_give_the_same_bytes(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        assert stage(project(tmp_path / name, GROUPS)) == 0
        found.append(contents(tmp_path / name / "data/reward/r1", "**/*.parquet", "manifest.json"))
    assert found[0] == found[1]


@pytest.mark.parametrize("signal", ["outcome", "spread"])
def test_nothing_to_learn_from_ends_the_stage_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], signal: str
) -> None:
    groups = {name: GROUPS[name] for name in ("solved", "same", "crashed")}
    assert stage(project(tmp_path, groups, signal=signal)) == 1
    said = capsys.readouterr().err
    assert "no prompt carries a learning signal under recipe 'tier'" in said
    assert "'all right': 1" in said and "'all equal': 1" in said and "'fewer than two scores': 1" in said
    assert "warmup.steps" in said and not (tmp_path / "data/reward/r1").exists()


def test_all_wrong_groups_end_the_stage_under_outcome_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    groups = {"failed": GROUPS["failed"]}
    assert stage(project(tmp_path / "outcome", groups, signal="outcome")) == 1
    said = capsys.readouterr().err
    assert "no group has right and wrong samples of different totals ({'all wrong': 1})" in said
    assert "set reward.signal to spread" in said
    assert stage(project(tmp_path / "spread", groups, signal="spread")) == 0
    assert [t.id for t in read_shards(tmp_path / "spread/data/reward/r1/prompts", Task)] == ["failed"]


def test_rollouts_that_are_not_there_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, policy=False)
    assert stage(tmp_path) == 1
    assert "data/rollout/r1/tasks: no Parquet shards of Task here" in capsys.readouterr().err


def test_another_signal_is_refused_by_the_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stage(project(tmp_path, GROUPS, signal="any")) == 2
    assert "reward.signal" in capsys.readouterr().err
