"""A data folder as the pipeline leaves it before the report, small and hand-made."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.evaluate.made import write_round

OFF = {"seed": 0, "rounds": {"r1": {"from": "warmup"}}, "tracking": {"enabled": False}}


def write_params(folder: Path, rounds: Mapping[str, str], **sections: Any) -> None:
    """params.yaml (JSON is YAML) with these rounds and tracking off."""
    values = OFF | {"rounds": {name: {"from": start} for name, start in rounds.items()}} | sections
    (folder / "params.yaml").write_text(json.dumps(values))


def write_csv(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def write_metrics(folder: Path, seconds: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.json").write_text(json.dumps({"seconds": seconds}))


def write_data(data: Path, rounds: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Everything that the report reads, for these rounds (name -> start). Returns their results."""
    write_csv(data / "warmup" / "loss.csv", [("step", "loss"), *((s, 2.0 / (1 + s)) for s in range(0, 100, 20))])
    for number, name in enumerate(("synthesize", "policy", "warmup")):
        write_metrics(data / name, 1.5 + number)
    results = {}
    for number, (name, start) in enumerate(rounds.items()):
        results[name] = write_round(data, name, {"before": number + 1, "after": number + 2}, start=start)
        rows = [(s, 0.5 + 0.01 * s, 0.1 if s % 2 else "", "fine") for s in range(6)]
        write_csv(data / "grpo" / name / "steps.csv", [("step", "reward", "validation_accuracy", "note"), *rows])
        for stage in ("rollout", "distill", "reward", "grpo"):
            write_metrics(data / stage / name, 10.0)
    return results
