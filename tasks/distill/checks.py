"""Checks: machine-verifiable predicates over a trajectory. A closed vocabulary in JSON, with no code in it.

    check = {"op": "argument_from", "tool": "transfer", "argument": "/source", "source": "list_accounts"}
    evaluate(check, trajectory, task)    # True: a transfer takes its source from what list_accounts returned
    steps(check, trajectory, task)       # [2]: the steps where that shows, from 1; [0] is the whole trajectory

A check is an object with `op` and the fields of its operator; fields in brackets may be left out:

    called          PATTERN, [at_least]                       so many calls match (1)
    before          first: PATTERN, then: PATTERN, [every]     a call of `then` comes after one of `first`
    argument_from   tool, argument, [source, path, request, every]
                                                               an argument's value stems from an earlier turn's result
    no_repeat       [tool]                                     no call is made again after it succeeded
    no_error        [tool, kinds]                              no call is refused, none is malformed
    max_calls       count, [tool]                              at most so many calls
    state_equals    [digest]                                   the final state is that one (the task's gold state)
    equation_holds  [equation, every]                          an equation that the model wrote holds
    answer_equals   [value]                                    the final answer is that one (the task's gold answer)
    and, or         checks: [CHECK, ...]
    not             check: CHECK

PATTERN is `[tool, arguments, gold, ok]`: a call of that tool, where `arguments` maps JSON Pointers to the values that
stand there, `gold` lists JSON Pointers where it agrees with a gold call of the same tool ("" is all arguments; calls
and gold calls pair off one to one in the order made), and `ok` wants a call that succeeded (true) or was refused
(false). Without `tool` a pattern needs `gold`. `at_least` and `count` are numbers, or "gold" for the number of the
task's gold calls (of that tool).
`source` and `path` limit which result and where in it (parts of a path may be `*`); `request: true` lets a value stem
from the system's or user's messages too, and from an earlier refusal's text.
`every: false` (default) asks for one such call, argument or equation; `every: true` asks it of all there are, and
holds where there is none, so that `not` of it places the blame on exactly the steps that broke the rule.

Pure and total: no trajectory makes a check fail, whatever a model wrote into it.

Left out: counting over several trajectories, and texts (a judge reads those).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.distill.arithmetic import equation
from tasks.distill.readers import (
    CheckError,
    Reader,
    fault,
    fields,
    flag,
    json_value,
    kind_of,
    list_of,
    nearest,
    pointer,
    short,
    text,
    true_equation,
    values,
    whole,
)
from tasks.distill.view import View, leaves, values_at
from tasks.records import Task, Trajectory
from tasks.toolbox.answers import equal, final_answer

Check = Mapping[str, Any]
"""A check that `load` has passed."""
Evidence = tuple[bool, Sequence[int]]
"""(whether the check holds, the steps that show it; none where nothing in particular shows it)."""

MAX_DEPTH = 8
"""Deepest nesting of and, or and not."""


def load(value: Any, where: str = "check") -> Check:
    """The check that a JSON value is. Raises CheckError, whose message starts with the place, under `where`."""
    return _load(value, where, 1)


def evaluate(check: Any, trajectory: Trajectory, task: Task) -> bool:
    """Whether a trajectory of a task satisfies a check. Raises CheckError for what is no check."""
    return evidence(load(check), View(trajectory, task))[0]


def steps(check: Any, trajectory: Trajectory, task: Task) -> list[int]:
    """The steps on which a check's verdict rests, whichever it is: ascending, from 1; [0] is the whole trajectory.

    Where a check holds, the steps that make it hold; where it does not, those that break it. What is absent has no
    place: the missing call of `called` gives [0]. Raises CheckError for what is no check.
    """
    return places(evidence(load(check), View(trajectory, task))[1])


def places(shown: Sequence[int]) -> list[int]:
    """Evidence as `steps` gives it."""
    return sorted({step for step in shown if step > 0}) or [0]


def evidence(check: Check, view: View) -> Evidence:
    """The verdict and its steps, for a check that was loaded, on a view that may be shared by many checks."""
    return _OPERATORS[check["op"]].judge(check, view)


# ---------------------------------------------------------------------------------------------
# Judging


def _matches(pattern: Check, view: View) -> list[int]:
    """The numbers of the calls that match a pattern, in order."""
    tool, arguments, ok = pattern.get("tool"), pattern.get("arguments", {}), pattern.get("ok")
    found = [
        number
        for number, made in enumerate(view.made)
        if tool in (None, made.call.name)
        and (ok is None or (made.ok if ok else made.result is not None and not made.ok))
        and all(_stands(made.call.arguments, pointer, value) for pointer, value in arguments.items())
    ]
    return _pair_off(found, pattern, view) if "gold" in pattern else found


def _stands(value: Any, pointer: str, wanted: Any) -> bool:
    return any(equal(found, wanted) for found in values_at(value, pointer))


def _pair_off(found: Sequence[int], pattern: Check, view: View) -> list[int]:
    """The calls that agree with a gold call of their own at the pattern's pointers, greedily in the order made."""
    free = list(view.task.gold.calls)
    paired = []
    for number in found:
        call = view.made[number].call
        for i, gold in enumerate(free):
            if gold.name == call.name and all(
                equal(values_at(call.arguments, p), values_at(gold.arguments, p)) for p in pattern["gold"]
            ):
                paired.append(number)
                del free[i]
                break
    return paired


def _number(value: int | str, check: Check, view: View) -> int:
    if isinstance(value, int):
        return value
    return sum(check.get("tool") in (None, gold.name) for gold in view.task.gold.calls)


def _steps_of(numbers: Sequence[int], view: View) -> list[int]:
    return [view.made[number].step for number in numbers]


def _called(check: Check, view: View) -> Evidence:
    found = _matches(check, view)
    holds = len(found) >= _number(check.get("at_least", 1), check, view)
    return holds, _steps_of(found, view) if holds else ()


def _before(check: Check, view: View) -> Evidence:
    firsts, thens = _matches(check["first"], view), _matches(check["then"], view)
    good = [number for number in thens if firsts and firsts[0] < number]
    bad = [number for number in thens if number not in good]
    if check.get("every"):
        return not bad, _steps_of(bad or [*firsts[:1], *good], view)
    return bool(good), _steps_of([firsts[0], good[0]] if good else bad, view)


def _argument_from(check: Check, view: View) -> Evidence:
    good: list[int] = []
    bad: list[int] = []
    for number, made in enumerate(view.made):
        if made.call.name == check["tool"]:
            values = values_at(made.call.arguments, check["argument"])
            if values:
                (good if all(_stems(check, view, number, value) for value in values) else bad).append(made.step)
    if check.get("every"):
        return not bad, bad or good
    return bool(good), good or bad


def _stems(check: Check, view: View, number: int, value: Any) -> bool:
    source, path = check.get("source"), check.get("path", "")
    request, step = check.get("request"), view.made[number].step
    return all(view.traced(number, leaf, source, path) or (bool(request) and view.said(leaf, step)) for leaf in leaves(value))


def _no_repeat(check: Check, view: View) -> Evidence:
    done: set[str] = set()
    repeated = []
    for made, mark in zip(view.made, view.prints, strict=True):
        if check.get("tool") in (None, made.call.name):
            if mark in done:
                repeated.append(made.step)
            elif made.ok:
                done.add(mark)
    return not repeated, repeated


def _no_error(check: Check, view: View) -> Evidence:
    tool, kinds = check.get("tool"), check.get("kinds")
    refused = [
        (made.step, made.result.error.kind if made.result.error else "unavailable")
        for made in view.made
        if made.result is not None and not made.ok and tool in (None, made.call.name)
    ]
    found = refused if tool is not None else refused + view.malformed
    at = [step for step, kind in found if kinds is None or kind in kinds]
    return not at, at


def _max_calls(check: Check, view: View) -> Evidence:
    made = [m.step for m in view.made if check.get("tool") in (None, m.call.name)]
    beyond = made[_number(check["count"], check, view) :]
    return not beyond, beyond


def _state_equals(check: Check, view: View) -> Evidence:
    wanted = check.get("digest", view.task.gold.digest)
    return not wanted or view.trajectory.digest == wanted, ()


def _equation_holds(check: Check, view: View) -> Evidence:
    if "equation" in check:
        wanted = equation(check["equation"])
        at = [step for step, found in view.equations if found == wanted]
        return bool(at), at
    good = [step for step, found in view.equations if found.holds]
    bad = [step for step, found in view.equations if not found.holds]
    if check.get("every"):
        return not bad, bad or good
    return bool(good), good or bad


def _answer_equals(check: Check, view: View) -> Evidence:
    wanted = check.get("value", view.task.gold.answer)
    last = [step for step, _ in view.sections[-1:]]
    if wanted is None and "value" not in check:
        return True, ()
    found, value = final_answer(view.trajectory.final_text())
    return found and equal(value, wanted), last


def _and(check: Check, view: View) -> Evidence:
    return _join([evidence(inner, view) for inner in check["checks"]], all)


def _or(check: Check, view: View) -> Evidence:
    return _join([evidence(inner, view) for inner in check["checks"]], any)


def _join(inner: Sequence[Evidence], quantifier: Callable[[list[bool]], bool]) -> Evidence:
    """The verdict over several, shown by those that agree with it."""
    holds = quantifier([verdict for verdict, _ in inner])
    return holds, [step for verdict, shown in inner if verdict == holds for step in shown]


def _not(check: Check, view: View) -> Evidence:
    holds, shown = evidence(check["check"], view)
    return not holds, shown


# ---------------------------------------------------------------------------------------------
# Loading


@dataclass(frozen=True, slots=True)
class _Operator:
    judge: Callable[[Check, View], Evidence]
    required: Mapping[str, Reader]
    optional: Mapping[str, Reader]


def _load(value: Any, where: str, depth: int) -> Check:
    if not isinstance(value, Mapping):
        raise CheckError(f"{where}: is {kind_of(value)}; a check is an object with op")
    if depth > MAX_DEPTH:
        raise CheckError(f"{where}: nested more deeply than {MAX_DEPTH}; flatten the ands and ors")
    if "op" not in value:
        raise CheckError(f"{where}: has no op; add one of {', '.join(_OPERATORS)}")
    name = value["op"]
    operator = _OPERATORS.get(name) if isinstance(name, str) else None
    if operator is None:
        raise CheckError(f"{where}: unknown operator {short(name)}{nearest(name, _OPERATORS)}")
    given = {k: v for k, v in value.items() if k != "op"}
    loaded = {"op": name, **fields(given, operator.required, operator.optional, f"{where} ({name})", where, depth)}
    if "equation" in loaded and "every" in loaded:
        raise CheckError(f"{where} ({name}): equation and every do not go together; leave one out")
    if name == "called":
        _specific(loaded, where)
    return loaded


def _pattern(value: Any, where: str, depth: int) -> Check:
    if not isinstance(value, Mapping):
        raise CheckError(f"{where}: is {kind_of(value)}; it should be an object with tool or gold")
    return _specific(fields(value, {}, _PATTERN, where, where, depth), where)


def _specific(pattern: Check, where: str) -> Check:
    if "tool" not in pattern and "gold" not in pattern:
        raise CheckError(f"{where}: has neither tool nor gold, and would match any call; add one")
    return pattern


def _inner(value: Any, where: str, depth: int) -> Check:
    return _load(value, where, depth + 1)


_PATTERN: dict[str, Reader] = {"tool": text, "arguments": values, "gold": list_of(pointer), "ok": flag}
_OPERATORS: dict[str, _Operator] = {
    "called": _Operator(_called, {}, {**_PATTERN, "at_least": whole(1)}),
    "before": _Operator(_before, {"first": _pattern, "then": _pattern}, {"every": flag}),
    "argument_from": _Operator(
        _argument_from,
        {"tool": text, "argument": pointer},
        {"source": text, "path": pointer, "request": flag, "every": flag},
    ),
    "no_repeat": _Operator(_no_repeat, {}, {"tool": text}),
    "no_error": _Operator(_no_error, {}, {"tool": text, "kinds": list_of(fault)}),
    "max_calls": _Operator(_max_calls, {"count": whole(0)}, {"tool": text}),
    "state_equals": _Operator(_state_equals, {}, {"digest": text}),
    "equation_holds": _Operator(_equation_holds, {}, {"equation": true_equation, "every": flag}),
    "answer_equals": _Operator(_answer_equals, {}, {"value": json_value}),
    "and": _Operator(_and, {"checks": list_of(_inner)}, {}),
    "or": _Operator(_or, {"checks": list_of(_inner)}, {}),
    "not": _Operator(_not, {"check": _inner}, {}),
}
OPERATORS = tuple(_OPERATORS)
"""The names of all operators."""
