"""Keeping the checkpoint that is best on validation tasks: a TRL callback.

The policy is measured before the first step and whenever a checkpoint is due, by sampled accuracy on the same
validation tasks with the same random streams; its weights are copied when it is better than all before. What it
measured is kept in a file, so that a continued run remembers it.

Left out: early stopping.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from tasks.params import Params
from tasks.policy import Policy
from tasks.records import Task
from tasks.reward.outcome import judge
from tasks.rollout.crew import Crew
from tasks.seeds import derive
from tasks.stage import write_json


class KeepBest(TrainerCallback):
    """Measures the policy and keeps its best weights under `folder`."""

    def __init__(self, policy: Policy, crew: Crew, tasks: Sequence[Task], params: Params, folder: Path) -> None:
        self.policy, self.crew, self.tasks, self.params, self.folder = policy, crew, tasks, params, folder
        self.path = folder.with_suffix(".json")
        self.history: dict[str, float] = json.loads(self.path.read_text()) if self.path.is_file() else {}

    @property
    def best_step(self) -> int:
        """The step that was best (the earliest of equals), 0 for the starting policy."""
        return int(max(self.history, key=lambda step: (self.history[step], -int(step)), default="0"))

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == 0:
            self._measure(0)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step % self.params.grpo.save_steps == 0 or state.global_step == state.max_steps:
            self._measure(state.global_step)

    def _measure(self, step: int) -> None:
        settings = self.params.grpo
        if not settings.keep_best:
            return
        jobs = [(task, sample) for task in self.tasks for sample in range(settings.validation_samples)]
        seed = derive(self.params.seed, "validation")
        trajectories = self.crew.run(jobs, self.params.rollout.limits, settings.temperature, seed)
        right = [judge(task, t).right for (task, _), t in zip(jobs, trajectories, strict=True)]
        self.history = {s: v for s, v in self.history.items() if int(s) < step}
        self.history[str(step)] = sum(right) / len(right)
        if self.best_step == step:
            temporary = self.folder.with_name(".best.tmp")
            shutil.rmtree(temporary, ignore_errors=True)
            self.policy.model.save_pretrained(temporary)
            shutil.rmtree(self.folder, ignore_errors=True)
            temporary.rename(self.folder)
        write_json(self.path, self.history)
