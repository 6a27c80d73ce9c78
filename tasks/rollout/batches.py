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
from dataclasses import dataclass, replace
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


@lru_cache(maxsize=2)
def _kept(job: Job) -> Policy:
    """In a worker process: a policy is loaded once. Jobs that differ elsewhere share it (see `_work`)."""
    return _load(job)


def _work(job: Job, pairs: Sequence[Pair], path: Path) -> int:
    """One batch in a worker process."""
    return _one(_kept(replace(job, temperature=1.0, seed=0)), job, pairs, path)


def _one(policy: Policy, job: Job, pairs: Sequence[Pair], path: Path) -> int:
    trajectories = run(policy, environment(job.servers), pairs, job.limits, job.temperature, job.seed)
    return write_shard(path, trajectories, Trajectory)


def roll(job: Job, pairs: Sequence[Pair], scratch: Path, watch: Callable[[int], None] = lambda count: None) -> list[Trajectory]:
    """One trajectory per pair, in order. `watch` is told the episodes of every finished batch."""
    return roll_each([(job, pairs, scratch)], watch)[0]


def roll_each(
    rolls: Sequence[tuple[Job, Sequence[Pair], Path]], watch: Callable[[int], None] = lambda count: None
) -> list[list[Trajectory]]:
    """`roll` for several jobs in one set of processes, which start once and have no idle end between jobs.

    Each (job, pairs, scratch) has a folder of its own; how many processes there are, the first job's runtime says.
    """
    paths: list[list[Path]] = []
    missing: list[tuple[Job, Sequence[Pair], Path]] = []
    for job, pairs, scratch in rolls:
        batches = [pairs[i : i + job.batch] for i in range(0, len(pairs), job.batch)]
        paths.append([scratch / f"batch-{number:05d}.parquet" for number in range(len(batches))])
        work = [(job, *each) for each in zip(batches, paths[-1], strict=True)]
        watch(sum(len(batch) for _, batch, path in work if path.is_file()))
        missing += [each for each in work if not each[2].is_file()]
    if missing:
        runtime = missing[0][0].runtime
        workers = min(runtime.workers if runtime.device == "cpu" else 1, len(missing))
        if workers > 1:
            _side_by_side(missing, workers, watch)
        else:
            for each in missing:
                watch(_work(*each))
            _kept.cache_clear()
    return [[trajectory for path in each for trajectory in read_shard(path, Trajectory)] for each in paths]


def _side_by_side(work: Sequence[tuple[Job, Sequence[Pair], Path]], workers: int, watch: Callable[[int], None]) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", str(work[0][0].runtime.threads))
    context = multiprocessing.get_context("spawn")  # a forked torch with live threads may hang
    pool = ProcessPoolExecutor(workers, context, end_with_parent)
    try:
        for future in as_completed([pool.submit(_work, *each) for each in work]):
            watch(future.result())
    finally:
        pool.shutdown(cancel_futures=True)  # after a failure the batches that nobody has begun are not wanted
