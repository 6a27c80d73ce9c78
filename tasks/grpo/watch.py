"""What a training run tells about itself: a row of figures and a line in plain words per step, and its rollouts.

    recorder = Recorder(scratch / "steps", stage.run)
    row = recorder.keep(step, trajectories, scores, tasks, {"loss": ...})
    health_line(row)

Rows and rollouts are files named by the step, so a run that is killed and continued from a checkpoint writes the
same ones again. No wall-clock time is in them; times go to MLflow.

Left out: figures per tool.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.records import COMPONENTS, Score, Task, Trajectory, write_shard
from tasks.reward.outcome import judge

Row = dict[str, float]


def figures(trajectories: Sequence[Trajectory], scores: Sequence[Score], tasks: Mapping[str, Task]) -> Row:
    """One step's figures: reward and its components, groups, ends, calls and tokens."""
    totals = [s.total for s in scores if s.total is not None]
    groups: dict[str, list[float]] = defaultdict(list)
    for s in scores:
        if s.total is not None:
            groups[s.task_id].append(s.total)
    attempts = sum(len(t.calls()) + sum(len(s.failures) for s in t.steps) for t in trajectories)
    refused = sum(not r.ok for t in trajectories for r in t.results())
    malformed = sum(len(s.failures) for t in trajectories for s in t.steps)
    own = sum(sum(t.mask) for t in trajectories)
    count = max(1, len(trajectories))
    row: Row = {
        "reward": statistics.fmean(totals) if totals else math.nan,
        "reward_std": statistics.pstdev(totals) if totals else math.nan,
        "accuracy": sum(judge(tasks[t.task_id], t).right for t in trajectories) / count,
        "constant_groups": sum(len(set(g)) == 1 for g in groups.values()) / max(1, len(groups)),
        "abstentions": float(sum(s.kind == "abstain" for s in scores)),
        "errors": float(sum(s.kind == "error" for s in scores)),
        "clipped": sum(t.finish_reason in ("length", "turns") for t in trajectories) / count,
        "masked_tokens": 1 - own / max(1, sum(len(t.mask) for t in trajectories)),
        "tokens": own / count,
        "calls": attempts / count,
        "invalid_calls": (refused + malformed) / max(1, attempts),
    }
    for name in COMPONENTS:
        values = [v for s in scores if (v := s.components[name]) is not None]
        if values:
            row[f"component_{name}"] = statistics.fmean(values)
    return row


def health_line(row: Mapping[str, float]) -> str:
    """One step in plain words."""
    parts = [f"reward {float(row['reward']):.3f}", f"right {float(row['accuracy']):.0%}"]
    parts.append(f"{float(row['constant_groups']):.0%} of groups constant")
    for name, words in (("abstentions", "abstained"), ("errors", "errors")):
        if float(row[name]):
            parts.append(f"{float(row[name]):.0f} {words}")
    parts.append(f"{float(row['clipped']):.0%} cut")
    parts.append(f"{float(row['masked_tokens']):.0%} of tokens masked")
    parts.append(f"sampler and trainer differ by {float(row['logprob_difference']):.1e}")
    return ", ".join(parts)


class Recorder:
    """Keeps every step's row and rollouts under a scratch folder, and tells MLflow."""

    def __init__(self, folder: Path, run: Any) -> None:
        self.folder, self.run = folder, run
        self.folder.mkdir(parents=True, exist_ok=True)
        self.last = time.monotonic()

    def keep(
        self,
        step: int,
        trajectories: Sequence[Trajectory],
        scores: Sequence[Score],
        tasks: Mapping[str, Task],
        training: Mapping[str, float],
    ) -> Row:
        """Writes one step (numbered from 1) and returns its row."""
        row: Row = {"step": float(step), **figures(trajectories, scores, tasks), **training}
        write_shard(self.folder / f"rollouts-{step:05d}.parquet", trajectories, Trajectory)
        write_shard(self.folder / f"scores-{step:05d}.parquet", scores, Score)
        (self.folder / f"row-{step:05d}.json").write_text(json.dumps(row))
        now = time.monotonic()
        self.run.metrics({**row, "seconds_per_step": now - self.last}, step=step)
        self.last = now
        return row

    def publish(self, out: Path, steps: int) -> list[Row]:
        """Copies the rollouts and scores of steps 1 to `steps` under `out`; returns their rows."""
        rows = []
        for kind in ("rollouts", "scores"):
            (out / kind).mkdir()
        for step in range(1, steps + 1):
            row = json.loads((self.folder / f"row-{step:05d}.json").read_text())
            rows.append({**row, "step": int(row["step"])})
            for kind in ("rollouts", "scores"):
                shutil.copy(self.folder / f"{kind}-{step:05d}.parquet", out / kind / f"step-{step:05d}.parquet")
        return rows
