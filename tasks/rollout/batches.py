"""Many episodes in resumable batches, over several processes.

    trajectories = roll(Job(...), pairs, scratch, watch)

Batches are fixed by the order of the (task, sample) pairs and the batch size, never by the number of processes;
each finished batch is a Parquet shard under `scratch`, so that a killed run asks only for what is missing and
ends with the same records.

Left out: several GPUs; on `cuda` use one worker.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tasks import params as settings
from tasks.policy import Policy, load
from tasks.records import Task, Trajectory, read_shard, write_shard
from tasks.rollout.episodes import run
from tasks.servers import environment

Pair = tuple[Task, int]
"""(task, sample number)"""


@dataclass(frozen=True, slots=True)
class Job:
    """What all batches of a roll have in common."""

    model: Path
    policy: settings.Policy
    servers: tuple[str, ...]
    runtime: settings.Runtime
    limits: settings.Limits
    temperature: float
    batch: int
    seed: int


_loaded: Policy | None = None


def _prepare(job: Job) -> None:
    """Once per worker process: threads and the model."""
    import torch

    global _loaded
    torch.set_num_threads(job.runtime.threads)
    _loaded = load(job.model, job.policy, job.runtime.device)


def _one(job: Job, pairs: Sequence[Pair], path: Path) -> int:
    assert _loaded is not None
    trajectories = run(_loaded, environment(job.servers), pairs, job.limits, job.temperature, job.seed)
    return write_shard(path, trajectories, Trajectory)


def roll(job: Job, pairs: Sequence[Pair], scratch: Path, watch: Callable[[int], None] = lambda count: None) -> list[Trajectory]:
    """One trajectory per pair, in order. `watch` is told the episodes of every finished batch."""
    batches = [pairs[i : i + job.batch] for i in range(0, len(pairs), job.batch)]
    paths = [scratch / f"batch-{number:05d}.parquet" for number in range(len(batches))]
    missing = [number for number, path in enumerate(paths) if not path.is_file()]
    watch(sum(len(batches[n]) for n in range(len(batches)) if n not in missing))
    workers = min(job.runtime.workers if job.runtime.device == "cpu" else 1, len(missing))
    if workers > 1:
        os.environ.setdefault("OMP_NUM_THREADS", str(job.runtime.threads))
        context = multiprocessing.get_context("spawn")  # a forked torch with live threads may hang
        with ProcessPoolExecutor(workers, context, _prepare, (job,)) as pool:
            futures = [pool.submit(_one, job, batches[n], paths[n]) for n in missing]
            for future in as_completed(futures):
                watch(future.result())
    elif workers == 1:
        _prepare(job)
        for number in missing:
            watch(_one(job, batches[number], paths[number]))
    return [trajectory for path in paths for trajectory in read_shard(path, Trajectory)]
