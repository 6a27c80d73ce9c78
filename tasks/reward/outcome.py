"""Whether an episode achieved what was asked: the answer is the expected one and the final state too.

The rule is the trajectory's own end and nothing about its path (METHODS.md (c) 5 and 10): any calls that lead
to the same answer and the same state are as good.
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.records import Task, Trajectory
from tasks.toolbox.answers import equal, final_answer


@dataclass(frozen=True, slots=True)
class Verdict:
    """`right`, and in words why not."""

    right: bool
    reasons: tuple[str, ...] = ()


def judge(task: Task, trajectory: Trajectory) -> Verdict:
    """The verdict on a trajectory that ended by itself or by a limit. An episode that was cut off is wrong."""
    reasons = []
    gold = task.gold
    if trajectory.finish_reason != "stop":
        reasons.append(f"the episode did not end by itself ({trajectory.finish_reason})")
    if gold.abstain and any(step.calls or step.failures for step in trajectory.steps):
        reasons.append("a tool was called where nothing should be called")
    if gold.digest and trajectory.digest != gold.digest:
        reasons.append("the final state is not the expected one")
    if gold.answer is not None:
        found, value = final_answer(trajectory.final_text())
        if not found:
            reasons.append("no answer is given")
        elif not equal(value, gold.answer):
            reasons.append("the answer is not the expected one")
    return Verdict(not reasons, tuple(reasons))
