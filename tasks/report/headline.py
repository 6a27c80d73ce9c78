"""headline.json: the last round's figures under fixed names, for programs that compare runs.

    {"before": {"value", "lo", "hi", "n"}, "after": {...}, "by_depth": {DEPTH: {"before": {...}, "after": {...}}},
     "p_value", "invalid_call_rate": {"before", "after"}, "calls_per_task": {"before", "after"},
     "seconds": {STAGE: s}, "seed", "recipe", "greedy": {"before": {...}, "after": {...}, "p_value"} or null}

`before` and `after` are the sampled accuracy avg@k, `n` counts tasks. `greedy` is null when it was not measured.

Left out: earlier rounds (report.md has them).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEYS = ("value", "lo", "hi", "n")
WHEN = ("before", "after")


def headline(results: Mapping[str, Any], seconds: Mapping[str, float]) -> dict[str, Any]:
    """The headline of one round's results.json."""
    sampled = results["sampled"]
    behaviour = sampled["behaviour"]
    return {
        **_pair(sampled["overall"]),
        "by_depth": {depth: _pair(found) for depth, found in sampled["by_depth"].items()},
        "p_value": sampled["overall"]["p_value"],
        "invalid_call_rate": {when: behaviour[when]["invalid_call_rate"] for when in WHEN},
        "calls_per_task": {when: behaviour[when]["calls_per_task"] for when in WHEN},
        "seconds": dict(seconds),
        "seed": results["seed"],
        "recipe": results["recipe"],
        "greedy": _pair(results["greedy"]["overall"]) | {"p_value": results["greedy"]["overall"]["p_value"]}
        if "greedy" in results
        else None,
    }


def _pair(found: Mapping[str, Any]) -> dict[str, Any]:
    return {when: {key: found[when][key] for key in KEYS} for when in WHEN}
