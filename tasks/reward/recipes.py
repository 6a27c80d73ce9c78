"""Recipes: weighted sums of named rewards, as three-valued Scores.

    scores = score_all(tasks, trajectories, environment, params.reward, recipe="tier")

Left out: outcome gates and per-component normalisation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tasks.params import Reward
from tasks.records import Score, Task, ToolSpec, Trajectory, components
from tasks.reward import tier
from tasks.reward.outcome import judge
from tasks.toolbox.schema import Checker


class Catalogue(Protocol):
    """What a reward needs of an environment."""

    @property
    def specs(self) -> Mapping[str, ToolSpec]: ...

    @property
    def checkers(self) -> Mapping[str, Checker]: ...


def score(task: Task, trajectory: Trajectory, catalogue: Catalogue, settings: Reward, recipe: str) -> Score:
    """One Score. An episode that ended by an infrastructure error is an error, never a wrong answer."""
    if trajectory.finish_reason == "error":
        reason = trajectory.error or "the environment failed"
        return Score(task.id, trajectory.sample, recipe, "error", None, components(), [], [reason])
    total, found, reasons = 0.0, components(), []
    for name, weight in settings.recipes[recipe].items():
        if name == "tier":
            value, parts, why = tier.score(task, trajectory, catalogue.specs, catalogue.checkers, settings.tier)
            found |= {k: v for k, v in parts.items() if v is not None}
        else:
            verdict = judge(task, trajectory)
            value, why = float(verdict.right), list(verdict.reasons)
            found["outcome"] = value
        total += weight * value
        reasons += [reason for reason in why if reason not in reasons]
    return Score(task.id, trajectory.sample, recipe, "score", total, found, [], reasons)


def score_all(
    tasks: Mapping[str, Task], trajectories: Sequence[Trajectory], catalogue: Catalogue, settings: Reward, recipe: str
) -> list[Score]:
    """Scores in the order of the trajectories. Raises KeyError for a trajectory of an unknown task."""
    return [score(tasks[t.task_id], t, catalogue, settings, recipe) for t in trajectories]
