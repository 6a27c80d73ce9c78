"""What the report is made from: every evaluated round, training curves, and the seconds of each stage.

    found = collect(data, rounds=("r1", "r2"))      # StageError names what is missing and the remedy
    found.last.results["sampled"]["overall"]

Every round of params.yaml must have been evaluated. Other rounds that lie in the folder are shown too, before those,
and are never the headline.

Left out: MLflow. Everything is read from the data folder, so that DVC knows what the report depends on.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.stage import IN_ROUNDS, StageError

ONCE = ("synthesize", "policy", "warmup")
"""The stages before the rounds, in the DAG's order."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The numeric columns of a CSV, one row per step: `steps` and, per column, as many values; NaN where a cell is empty."""

    steps: list[float]
    columns: dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Round:
    """One evaluated round: `folder` is DATA/evaluate/NAME, `listed` whether params.yaml has it."""

    name: str
    folder: Path
    results: dict[str, Any]
    curve: Curve | None
    listed: bool


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that a report shows. `rounds` ends with the last round of params.yaml."""

    rounds: list[Round]
    loss: Curve
    seconds: dict[str, float]

    @property
    def last(self) -> Round:
        """The round whose figures are the headline."""
        return self.rounds[-1]


def collect(data: Path, rounds: Sequence[str]) -> Inputs:
    """Reads the data folder. Raises StageError for a listed round without results or curves, or a damaged file."""
    others = sorted(p.parent.name for p in data.glob("evaluate/*/results.json") if p.parent.name not in rounds)
    found = [_round(data, name, listed=False) for name in others] + [_round(data, name, listed=True) for name in rounds]
    loss = data / "warmup" / "loss.csv"
    _require(loss, "warmup")
    return Inputs(found, read_curve(loss, "warmup"), seconds(data, [*others, *rounds]))


def _round(data: Path, name: str, listed: bool) -> Round:
    folder, steps = data / "evaluate" / name, data / "grpo" / name / "steps.csv"
    if listed:
        _require(folder / "results.json", f"evaluate@{name}")
        _require(steps, f"grpo@{name}")
    results = _read_json(folder / "results.json", f"evaluate@{name}")
    missing = [key for key in ("start", "recipe", "seed", "samples", "sampled") if key not in results]
    if missing:
        raise StageError(f"{folder / 'results.json'}: has no {missing[0]!r}. {_remedy(f'evaluate@{name}')}")
    curve = read_curve(steps, f"grpo@{name}") if steps.is_file() else None
    return Round(name, folder, results, curve, listed)


def _remedy(stage: str) -> str:
    return f"Run the stage that writes it: `dvc repro {stage}`."


def _require(path: Path, stage: str) -> None:
    if not path.is_file():
        raise StageError(f"{path}: no such file. {_remedy(stage)}")


def _read_json(path: Path, stage: str) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StageError(f"{path}: not JSON ({error}). Delete it. {_remedy(stage)}") from error
    if not isinstance(found, dict):
        raise StageError(f"{path}: holds a {type(found).__name__}, not an object. Delete it. {_remedy(stage)}")
    return found


def read_curve(path: Path, stage: str) -> Curve:
    """The numeric columns of `path`; a column with a cell that is no number is left out.

    Raises StageError when there is no numeric column `step`, or when a row has more or fewer cells than the header.
    """
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    header, body = (rows[0], rows[1:]) if rows else ([], [])
    if "step" not in header:
        raise StageError(f"{path}: has no column 'step'. {_remedy(stage)}")
    ragged = next((number for number, row in enumerate(body, 2) if len(row) != len(header)), None)
    if ragged is not None:
        raise StageError(f"{path}: line {ragged} does not have the header's {len(header)} cells. {_remedy(stage)}")
    columns = {name: values for i, name in enumerate(header) if (values := _numbers([row[i] for row in body])) is not None}
    steps = columns.pop("step", None)
    if steps is None or any(map(math.isnan, steps)):
        raise StageError(f"{path}: column 'step' holds something other than numbers. {_remedy(stage)}")
    return Curve(steps, columns)


def _numbers(cells: Sequence[str]) -> list[float] | None:
    try:
        return [float(cell) if cell.strip() else math.nan for cell in cells]
    except ValueError:
        return None


def seconds(data: Path, rounds: Sequence[str]) -> dict[str, float]:
    """The wall-clock seconds of each stage that has run, by its DVC name (`warmup`, `grpo@r1`), in the DAG's order."""
    places = {name: data / name for name in ONCE} | {f"{s}@{r}": data / s / r for r in rounds for s in IN_ROUNDS}
    found: dict[str, float] = {}
    for name, folder in places.items():
        if (folder / "metrics.json").is_file():
            value: Mapping[str, Any] = _read_json(folder / "metrics.json", name)
            if isinstance(value.get("seconds"), int | float):
                found[name] = value["seconds"]
    return found
