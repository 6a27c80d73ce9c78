"""TIER: rewards from schemas and execution, never from a reference trajectory (METHODS.md section 1).

    terms = score(task, trajectory, specs, settings)

Paper form (METHODS.md 1.2), over all calls of a multi-turn trajectory (decision (c) 10), each term in its range
and the weighted sum divided by the maximum, so that a total lies in [0, 1]:

    format {0,1}  every turn's calls are well formed, and no turn was cut; 0 ends the scoring
    name   {0,1}  every called tool is one of the task's; 0 makes param and dtype 0 too
    param  [0,1]  1 - penalty x (missing required + unknown parameters, over all calls)
    dtype  [0,1]  1 - penalty x (wrong types, over all calls)
    exec   {0,1}  every call succeeded (an error result is no success, decision (c) 2)
    answer {0,1} x answer_weight  the answer and the final state are the expected ones

An episode without calls earns name, param, dtype and exec only where the right behaviour is to call nothing
(decision (c) 4).

Left out: the `release` variant, the ablations and the single-plan form.
"""

from __future__ import annotations

from collections.abc import Mapping

from tasks.params import Tier
from tasks.records import Components, Task, ToolSpec, Trajectory, components
from tasks.reward.outcome import judge
from tasks.toolbox.schema import Checker, Violation

Terms = tuple[float, Components, list[str]]
"""(total in [0, 1], components, reasons)"""


def score(
    task: Task, trajectory: Trajectory, specs: Mapping[str, ToolSpec], checkers: Mapping[str, Checker], settings: Tier
) -> Terms:
    """TIER of one trajectory. `specs` and `checkers` are the environment's; the task's tools decide what exists."""
    reasons = [f"{f.kind} at character {f.position}" for step in trajectory.steps for f in step.failures]
    if trajectory.finish_reason == "length" and not trajectory.steps[-1].calls:
        reasons.append("the last turn was cut by the length limit")
    if reasons:
        return 0.0, components(format=0.0, name=0.0, param=0.0, dtype=0.0, exec=0.0, answer=0.0), reasons
    calls = trajectory.calls()
    acted = 1.0 if calls or task.gold.abstain else 0.0
    if not acted:
        reasons.append("no tool was called where the request needs one")
    unknown = [call.name for call in calls if call.name not in task.tools or call.name not in specs]
    reasons += [f"{name[:60]}: there is no such tool" for name in unknown]
    name = acted * (not unknown)
    param = dtype = 0.0
    if name:
        violations = [(call.name, v) for call in calls for v in checkers[call.name].violations(call.arguments)]
        reasons += [f"{tool}: {v.message}" for tool, v in violations]
        param = _penalised(violations, ("missing", "unknown"), settings)
        dtype = _penalised(violations, ("type",), settings)
    failed = [(call, result) for call, result in zip(calls, trajectory.results(), strict=True) if not result.ok]
    reasons += [f"{call.name[:60]} failed: {result.error.message}" for call, result in failed if result.error]
    executed = acted * (not failed)
    verdict = judge(task, trajectory)
    answer = float(verdict.right)
    reasons += verdict.reasons
    weighted = 1.0 + name + param + dtype + executed + settings.answer_weight * answer
    found = components(format=1.0, name=float(name), param=param, dtype=dtype, exec=float(executed), answer=answer)
    return weighted / (5.0 + settings.answer_weight), found, reasons


def _penalised(violations: list[tuple[str, Violation]], kinds: tuple[str, ...], settings: Tier) -> float:
    count = sum(1 for _, violation in violations if violation.kind in kinds)
    return min(1.0, max(0.0, 1.0 - settings.penalty * count))
