"""Pictures: which lines and panels are drawn."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from tasks.report.inputs import Curve, Round
from tasks.report.plots import PANELS, by_depth, loss, series, smooth, training
from tests.evaluate.made import write_round


def made_round(data: Path, name: str, start: str, curve: Curve | None = None) -> Round:
    results = write_round(data, name, {"before": 1, "after": 2}, start=start)
    return Round(name, data / "evaluate" / name, results, curve, True)


def test_a_chain_of_rounds_shows_each_policy_once(tmp_path: Path) -> None:
    rounds = [made_round(tmp_path, "r1", "warmup"), made_round(tmp_path, "r2", "grpo/r1")]
    assert list(series(rounds, "sampled")) == ["before (warmup)", "after r1", "after r2"]
    apart = [rounds[0], made_round(tmp_path, "r3", "policy")]
    assert list(series(apart, "sampled")) == ["before (warmup)", "after r1", "before (policy)", "after r3"]


def test_equal_data_gives_equal_pictures(tmp_path: Path) -> None:
    rounds = [made_round(tmp_path, "r1", "warmup")]
    for name in ("a.png", "b.png"):
        by_depth(rounds, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_training_leaves_out_what_does_not_fit_and_what_is_empty(tmp_path: Path) -> None:
    columns = {f"c{n:02d}": [0.0, 1.0] for n in range(PANELS + 1)} | {"reward": [0.1, math.nan], "empty": [math.nan] * 2}
    rounds = [made_round(tmp_path, "r1", "warmup", Curve([0, 1], columns))]
    left_out = training(rounds, tmp_path / "t.png")
    assert left_out == [f"c{PANELS - 1:02d}", f"c{PANELS:02d}"]
    assert (tmp_path / "t.png").stat().st_size > 1000
    assert training([made_round(tmp_path, "r2", "warmup", Curve([], {"reward": []}))], tmp_path / "none.png") == []
    assert not (tmp_path / "none.png").exists()


def test_loss_needs_a_step(tmp_path: Path) -> None:
    assert not loss(Curve([], {"loss": []}), tmp_path / "l.png")
    assert loss(Curve([0, 20], {"loss": [2.0, 1.0]}), tmp_path / "l.png")


def test_smooth_is_a_centred_mean() -> None:
    assert smooth(np.array([0.0, 3.0, 6.0, 9.0]), 3).tolist() == [1.5, 3.0, 6.0, 7.5]
    assert smooth(np.array([1.0, 5.0]), 0).tolist() == [1.0, 5.0]
