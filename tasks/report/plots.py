"""The report's pictures as PNG: accuracy by depth, training curves, the warm-up's loss.

    by_depth(rounds, folder / "accuracy_by_depth.png")

Drawn on Agg through Figure objects, without pyplot's global state.

Left out: DVC's plots, which the stages write as data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter

from tasks.report.inputs import Curve, Round

COLOURS = ("#8a8f98", "#1f6feb", "#d9480f", "#2b8a3e", "#9c36b5", "#0b7285", "#e8590c")
"""The first is the starting policy's; readable on white, also without colour vision by their lightness."""

PANELS = 12
"""Most panels of the training picture."""

DPI = 130


def _save(figure: Figure, path: Path) -> None:
    # Without the library's version in it, equal pictures are equal files.
    figure.savefig(path, dpi=DPI, metadata={"Software": None})


def _style(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e3e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=3, labelsize=9)


def series(rounds: Sequence[Round], mode: str) -> dict[str, Mapping[str, Any]]:
    """Label -> {depth -> estimate}: the starting policies, then the policy after each round. A chain's middle shows once."""
    found: dict[str, Mapping[str, Any]] = {}
    trained = {f"grpo/{r.name}" for r in rounds}
    for each in rounds:
        if mode not in each.results:
            continue
        depths = each.results[mode]["by_depth"]
        if each.results["start"] not in trained:
            found.setdefault(f"before ({each.results['start']})", {d: e["before"] for d, e in depths.items()})
        found[f"after {each.name}"] = {d: e["after"] for d, e in depths.items()}
    return found


def by_depth(rounds: Sequence[Round], path: Path) -> None:
    """Held-out accuracy by depth with 95% intervals: sampled, and beside it greedy where it was measured."""
    modes = [m for m in ("sampled", "greedy") if any(m in r.results for r in rounds)]
    figure = Figure(figsize=(5.2 * len(modes), 4.1), layout="constrained")
    panels = figure.subplots(1, len(modes), sharey=True, squeeze=False)[0]
    for axes, mode in zip(panels, modes, strict=True):
        _depths(axes, series(rounds, mode))
        samples = rounds[-1].results["samples"]
        axes.set_title(f"Sampled: avg@{samples}" if mode == "sampled" else "Greedy", fontsize=11, loc="left")
    panels[0].set_ylabel("held-out accuracy, 95% interval", fontsize=10)
    panels[0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    # Under both panels, so that it covers no point.
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False, fontsize=10)
    _save(figure, path)


def _depths(axes: Axes, lines: Mapping[str, Mapping[str, Any]]) -> None:
    depths = sorted({int(d) for line in lines.values() for d in line})
    places = {depth: x for x, depth in enumerate(depths)}
    width = min(0.16, 0.6 / max(1, len(lines)))
    for number, (label, line) in enumerate(lines.items()):
        points = [(places[int(d)], e) for d, e in line.items() if e["n"]]
        x = np.array([p for p, _ in points]) + (number - (len(lines) - 1) / 2) * width
        value, lo, hi = (np.array([e[key] for _, e in points], dtype=float) for key in ("value", "lo", "hi"))
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(x, value, color=colour, linewidth=1.0, alpha=0.45)
        errors = np.maximum(0, [value - lo, hi - value])
        axes.errorbar(x, value, yerr=errors, fmt="os^Dvp"[number % 6], markersize=5.5, color=colour, capsize=3, label=label)
    first = next(iter(lines.values()), {})
    axes.set_xticks(range(len(depths)), [f"{d}\nn={first[str(d)]['n'] if str(d) in first else 0}" for d in depths])
    axes.set_xlabel("depth (gold calls per task; n tasks)", fontsize=10)
    axes.set_ylim(-0.02, 1.02)
    _style(axes)


def training(rounds: Sequence[Round], path: Path) -> list[str]:
    """One panel per column of the rounds' steps.csv, `reward` first, at most PANELS. Returns the names left out.

    A column without a finite value is not drawn. Nothing is written when no column is left.
    """
    curves = {r.name: r.curve for r in rounds if r.curve is not None and r.curve.steps}
    names = list(dict.fromkeys(n for c in curves.values() for n, v in c.columns.items() if any(map(math.isfinite, v))))
    names.sort(key=lambda name: name != "reward")
    shown, left_out = names[:PANELS], names[PANELS:]
    if not shown:
        return []
    across = min(3, len(shown))
    down = math.ceil(len(shown) / across)
    figure = Figure(figsize=(4.0 * across, 0.5 + 2.5 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for axes, name in zip(panels, shown, strict=False):
        for number, (label, curve) in enumerate(curves.items()):
            _curve(axes, curve, name, COLOURS[1 + number % (len(COLOURS) - 1)], label)
        axes.set_title(name.replace("_", " "), fontsize=10, loc="left")
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        _style(axes)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    for axes in panels[max(0, len(shown) - across) : len(shown)]:
        axes.set_xlabel("optimisation step", fontsize=9)
    if len(curves) > 1:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)), frameon=False, fontsize=10)
    _save(figure, path)
    return left_out


def _curve(axes: Axes, curve: Curve, name: str, colour: str, label: str) -> None:
    if name not in curve.columns:
        return
    values = np.array(curve.columns[name])
    there = np.isfinite(values)
    x, y = np.array(curve.steps)[there], values[there]
    window = len(y) // 10
    if len(y) < 20:  # few points, such as a validation every tenth step
        axes.plot(x, y, color=colour, linewidth=1.4, marker="o", markersize=3.5, label=label)
    else:
        axes.plot(x, y, color=colour, linewidth=0.8, alpha=0.35)
        axes.plot(x, smooth(y, window), color=colour, linewidth=1.8, label=label)


def smooth(values: np.ndarray, window: int) -> np.ndarray:
    """The mean of the values at most `window // 2` places away on either side; fewer at the ends."""
    half = window // 2
    return np.array([values[max(0, i - half) : i + half + 1].mean() for i in range(len(values))])


def loss(curve: Curve, path: Path) -> bool:
    """The warm-up's loss on a logarithmic scale. Returns False, and writes nothing, when it took no step."""
    values = np.array(curve.columns.get("loss", []))
    if not np.any(values > 0):
        return False
    figure = Figure(figsize=(5.2, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(curve.steps, values, color=COLOURS[0], linewidth=0.8, alpha=0.5)
    axes.plot(curve.steps, smooth(values, len(values) // 15), color=COLOURS[1], linewidth=1.8)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("warm-up step", fontsize=10)
    axes.set_ylabel("loss (nats per token)", fontsize=10)
    _style(axes)
    _save(figure, path)
    return True
