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
from functools import lru_cache
from pathlib import Path

from tasks import params as settings
from tasks.policy import Policy, load
from tasks.processes import end_with_parent
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


def _load(job: Job) -> Policy:
    """The job's policy, with the threads that it asks for."""
    import torch

    torch.set_num_threads(job.runtime.threads)
    return load(job.model, job.policy, job.runtime.device)


_kept = lru_cache(maxsize=1)(_load)
"""In a worker process, which serves one job: the policy is loaded once."""


def _work(job: Job, pairs: Sequence[Pair], path: Path) -> int:
    """One batch in a worker process."""
    return _one(_kept(job), job, pairs, path)


def _one(policy: Policy, job: Job, pairs: Sequence[Pair], path: Path) -> int:
    trajectories = run(policy, environment(job.servers), pairs, job.limits, job.temperature, job.seed)
    return write_shard(path, trajectories, Trajectory)


def roll(job: Job, pairs: Sequence[Pair], scratch: Path, watch: Callable[[int], None] = lambda count: None) -> list[Trajectory]:
    """One trajectory per pair, in order. `watch` is told the episodes of every finished batch."""
    batches = [pairs[i : i + job.batch] for i in range(0, len(pairs), job.batch)]
    paths = [scratch / f"batch-{number:05d}.parquet" for number in range(len(batches))]
    missing = [number for number, path in enumerate(paths) if not path.is_file()]
    watch(sum(len(batches[n]) for n in range(len(batches)) if n not in missing))
    workers = min(job.runtime.workers if job.runtime.device == "cpu" else 1, len(missing))
    if workers > 1:
        _side_by_side(job, [(batches[n], paths[n]) for n in missing], workers, watch)
    elif workers == 1:
        policy = _load(job)
        for number in missing:
            watch(_one(policy, job, batches[number], paths[number]))
    return [trajectory for path in paths for trajectory in read_shard(path, Trajectory)]


def _side_by_side(job: Job, work: Sequence[tuple[Sequence[Pair], Path]], workers: int, watch: Callable[[int], None]) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", str(job.runtime.threads))
    context = multiprocessing.get_context("spawn")  # a forked torch with live threads may hang
    pool = ProcessPoolExecutor(workers, context, end_with_parent)
    try:
        for future in as_completed([pool.submit(_work, job, pairs, path) for pairs, path in work]):
            watch(future.result())
    finally:
        pool.shutdown(cancel_futures=True)  # after a failure the batches that nobody has begun are not wanted
