"""A project folder for stage tests: params.yaml, tasks and a policy, written by the record writers; and a kill -9.

write(tmp_path, {"rollout": {"tasks": 4}})
killed(tmp_path, "tasks.rollout", "--round", "r1", when=lambda: ...)       # starts the stage and kills it
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tasks.params import merge
from tasks.records import Task, write_shards
from tests.policy.made import SCRATCH, some_tasks, trained

ROOT = Path(__file__).parents[2]

BASE: dict[str, Any] = {
    "seed": 3,
    "rounds": {"r1": {"from": "warmup"}, "r2": {"from": "warmup"}},
    "runtime": {"workers": 1},
    "tracking": {"enabled": False},
    "servers": {"names": ["banking"]},
    "policy": {"scratch": SCRATCH.model_dump()},
    "synthesize": {"train": 24, "validation": 4, "test": 4, "worlds": 4},
    "warmup": {"steps": 8, "copy_steps": 2, "batch_size": 4, "checkpoint_steps": 3, "renamings": 1},
    "rollout": {"tasks": 4, "samples": 4, "batch": 4, "limits": {"turn_tokens": 48, "total_tokens": 200, "turns": 4}},
    "grpo": {
        "steps": 4,
        "prompts": 2,
        "micro_batch": 4,
        "save_steps": 2,
        "validation_tasks": 2,
        "validation_samples": 2,
        "learning_rate": 1e-3,
        "warmup_steps": 1,
    },
    "evaluate": {"tasks": 4},
}


def write(folder: Path, overrides: Mapping[str, Any] | None = None, policy: bool = True) -> None:
    """params.yaml (BASE with `overrides`), the training and validation tasks, and `trained` as policy and warm-up."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "params.yaml").write_text(json.dumps(merge(BASE, overrides or {})))
    write_shards(folder / "data/synthesize/tasks/train", some_tasks(24), Task)
    write_shards(folder / "data/synthesize/tasks/validation", some_tasks(4), Task)
    for name in ("policy", "warmup") if policy else ():
        trained().save(folder / "data" / name / "model")


def killed(folder: Path, module: str, *args: str, when: Callable[[], bool]) -> None:
    """Starts `python -m MODULE` in `folder` and kills it with SIGKILL as soon as `when` holds."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-m", module, *args], cwd=folder, env=environment)
    try:
        while process.poll() is None and not when():
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL, f"{module} ended by itself (exit code {process.returncode})"


def contents(folder: Path, *patterns: str) -> dict[str, bytes]:
    """The bytes of all files of `folder` that match a pattern (default all), by their relative path."""
    files = sorted({p for pattern in patterns or ("**/*",) for p in folder.glob(pattern) if p.is_file()})
    assert files, f"{folder} holds nothing"
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}
