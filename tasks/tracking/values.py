"""What MLflow accepts: names, parameters, metrics and traces as plain values. Pure functions.

Left out: anything that needs MLflow; the recorder turns these values into calls.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from tasks.records import Score, Trajectory

NAME_LIMIT = 250
"""The longest name that MLflow stores, in characters."""

TEXT_LIMIT = 8000
"""The longest text of one message or tool result in a trace, in characters."""


def clean_name(name: str) -> str:
    """`name` as MLflow allows it: letters, digits, `_ - . / space :`; brackets and the rest become `_`.

    The result is also a normal relative path, because MLflow may store a name as a file: no empty,
    `.` or `..` part. An empty name becomes `_`.
    """
    text = re.sub(r"[^0-9A-Za-z_\-./ :]+", "_", name)
    parts = [part.strip("_ ") for part in text.split("/")]
    clean = "/".join(part for part in parts if part not in ("", ".", "..")) or "_"
    return clean if len(clean) <= NAME_LIMIT else clean_name(clean[:NAME_LIMIT])


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A parameter tree as dotted names and text: `{"grpo": {"steps": 3}}` gives `{"grpo.steps": "3"}`.

    Lists of mappings are numbered (`rounds.0.name`); other lists are written as JSON.
    """
    flat: dict[str, str] = {}
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{name}.")
        elif isinstance(value, list | tuple) and value and all(isinstance(item, Mapping) for item in value):
            for index, item in enumerate(value):
                flat |= flatten(item, f"{name}.{index}.")
        else:
            flat[clean_name(name)] = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    return flat


def clean_metrics(values: Mapping[str, Any]) -> tuple[dict[str, float], int]:
    """(the finite values under clean names, how many were dropped because they are NaN or infinite).

    A value of None means "not measured" (LESSONS.md: unknown is null): it is left out and not counted.
    Names that become equal by cleaning are told apart by `_2`, `_3`, ... so that none is lost.
    """
    finite: dict[str, float] = {}
    dropped = 0
    for raw, value in values.items():
        if value is None:
            continue
        number = float(value)
        if not math.isfinite(number):
            dropped += 1
            continue
        base = name = clean_name(raw)
        count = 1
        while name in finite:
            count += 1
            name = f"{base}_{count}"
        finite[name] = number
    return finite, dropped


def plain(value: Any) -> Any:
    """`value`, from a model's output, as JSON that any database takes: no lone surrogates, no NUL, bounded texts."""
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode().replace("\0", "\N{SYMBOL FOR NULL}")
        return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]} [{len(text) - TEXT_LIMIT} more characters]"
    if isinstance(value, Mapping):
        return {plain(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def sample_by_score(trajectories: Sequence[Trajectory], scores: Iterable[Score], limit: int) -> list[dict[str, Any]]:
    """At most `limit` trajectories as trace values, evenly spread over their scores, so that failures show too.

    Those without a score come first in that order. Deterministic.
    """
    by_key = {(score.task_id, score.sample): score for score in scores}

    def rank(trajectory: Trajectory) -> tuple[float, str, int]:
        score = by_key.get((trajectory.task_id, trajectory.sample))
        total = score.total if score is not None else None
        return (-math.inf if total is None else total, trajectory.task_id, trajectory.sample)

    ranked = sorted(trajectories, key=rank)
    count = min(limit, len(ranked))
    # Evenly spaced positions that include the worst and the best.
    positions = [round(i * (len(ranked) - 1) / max(count - 1, 1)) for i in range(count)]
    return [trace_of(ranked[p], by_key.get((ranked[p].task_id, ranked[p].sample))) for p in positions]


def trace_of(trajectory: Trajectory, score: Score | None) -> dict[str, Any]:
    """One trajectory as JSON values: the root's inputs and outputs, one span per call, one feedback per component."""
    spans: list[dict[str, Any]] = []
    for number, step in enumerate(trajectory.steps):
        results = {result.call_id: result for result in step.results}
        for call in step.calls:
            result = results.get(call.id)
            output: Any = {"not executed": trajectory.finish_reason}
            if result is not None and result.ok:
                output = result.content
            elif result is not None and result.error is not None:
                fault = result.error
                output = {"kind": fault.kind, "message": fault.message, "remedy": fault.remedy}
            spans.append(
                {
                    "name": plain(call.name)[:NAME_LIMIT] or "(empty name)",
                    "kind": "TOOL",
                    "inputs": plain(call.arguments),
                    "outputs": plain(output),
                    "ok": result is not None and result.ok,
                    "step": number,
                }
            )
        for failure in step.failures:
            output = {"kind": failure.kind, "position": failure.position, "message": failure.message}
            spans.append(
                {"name": "parse failure", "kind": "PARSER", "inputs": {}, "outputs": plain(output), "ok": False, "step": number}
            )
    return {
        "name": f"{trajectory.task_id}/{trajectory.sample}",
        "inputs": {
            "messages": [{"role": m.role, "content": plain(m.content)} for m in trajectory.messages if m.role == "user"]
        },
        "outputs": plain(trajectory.final_text()),
        "ok": trajectory.finish_reason == "stop",
        "tags": {
            "rungs.task": trajectory.task_id,
            "rungs.sample": str(trajectory.sample),
            "rungs.policy": trajectory.policy,
            "rungs.finish_reason": trajectory.finish_reason,
        },
        "spans": spans,
        "feedback": _feedback(score) if score is not None else [],
    }


def _feedback(score: Score) -> list[dict[str, Any]]:
    values = {"total": score.total, **score.components}
    reasons = plain("; ".join(score.reasons))
    known = [
        {"name": name, "value": value, "source": score.recipe, "why": reasons if name == "total" else ""}
        for name, value in values.items()
        if value is not None and math.isfinite(value)
    ]
    kind = {"name": "kind", "value": score.kind, "source": score.recipe, "why": "" if known else reasons}
    return [*known, kind]
