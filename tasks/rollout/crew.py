"""Episodes of a policy that is being trained, over several processes that share its weights.

    with Crew(policy, model_folder, params) as crew:
        trajectories = crew.run([(task, sample), ...], limits, temperature=1.0, seed=0)

The processes see every update at once, because the weights lie in shared memory and optimizers write in place. How the
episodes are split does not depend on the number of processes, so records do not either.

Left out: devices other than the CPU, where one process is enough.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tasks import params as settings
from tasks.policy import Policy, load
from tasks.processes import end_with_parent
from tasks.records import Task, Trajectory
from tasks.rollout.episodes import run
from tasks.servers import environment

Pair = tuple[Task, int]
"""(task, sample number)"""


class CrewError(RuntimeError):
    """A worker failed or died: infrastructure, never the model's fault. The message holds its exit code."""


def parts(pairs: Sequence[Pair], most: int) -> list[Sequence[Pair]]:
    """The episodes that run side by side: halves, or parts of at most `most`."""
    size = max(1, min(most, -(-len(pairs) // 2)))
    return [pairs[i : i + size] for i in range(0, len(pairs), size)]


class Crew:
    """This process and params.runtime.workers - 1 others. `folder` is where `policy` was loaded from."""

    def __init__(self, policy: Policy, folder: Path, params: settings.Params) -> None:
        self.policy, self.most = policy, params.rollout.batch
        self.servers = environment(params.servers.names)
        others = params.runtime.workers - 1 if params.runtime.device == "cpu" else 0
        self.workers: list[tuple[Any, Connection]] = []
        context = multiprocessing.get_context("spawn")
        if others:
            policy.model.share_memory()
        weights = {name: p.data for name, p in policy.model.named_parameters()}
        for _ in range(others):
            here, there = context.Pipe()
            arguments = (there, folder, params.policy, params.servers.names, params.runtime.threads, weights)
            process = context.Process(target=_serve, args=arguments, daemon=True)
            process.start()
            there.close()
            self.workers.append((process, here))

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def run(
        self,
        pairs: Sequence[Pair],
        limits: settings.Limits,
        temperature: float,
        seed: int,
        watch: Callable[[int], None] | None = None,
    ) -> list[Trajectory]:
        """One trajectory per pair, in order; `watch` is told of finished episodes. Raises CrewError when a worker fails."""
        training = self.policy.model.training
        self.policy.model.eval()
        waiting = list(enumerate(parts(pairs, self.most)))
        count = len(waiting)
        found: dict[int, list[Trajectory]] = {}
        busy: dict[int, int] = {}  # worker -> the part that it has

        def give(worker: int) -> None:
            if waiting:
                busy[worker], part = waiting.pop(0)
                self._ask(worker, (part, limits, temperature, seed))

        for worker in range(len(self.workers)):
            give(worker)
        while len(found) < count:
            if waiting:  # this process works too; the others are asked afterwards
                number, part = waiting.pop(0)
                found[number] = run(self.policy, self.servers, part, limits, temperature, seed)
                if watch is not None:
                    watch(len(part))
            for worker in list(busy):
                if not waiting or self.workers[worker][1].poll():
                    found[busy[worker]] = answer = self._receive(worker)
                    if watch is not None:
                        watch(len(answer))
                    del busy[worker]
                    give(worker)
        self.policy.model.train(training)
        return [trajectory for number in sorted(found) for trajectory in found[number]]

    def _ask(self, worker: int, work: tuple[Any, ...]) -> None:
        process, connection = self.workers[worker]
        try:
            connection.send(work)
        except BrokenPipeError:
            raise _ended(process) from None

    def _receive(self, worker: int) -> list[Trajectory]:
        process, connection = self.workers[worker]
        try:
            return connection.recv()  # type: ignore[no-any-return]
        except (EOFError, ConnectionResetError):
            raise _ended(process) from None

    def close(self) -> None:
        """Ends the other processes. Closing twice is harmless."""
        for process, connection in self.workers:
            connection.close()
            process.terminate()
            process.join()
        self.workers = []


def _ended(process: Any) -> CrewError:
    process.join()
    return CrewError(
        f"a rollout worker ended with exit code {process.exitcode}; its traceback stands above "
        "(none and -9: killed, perhaps for memory)"
    )


def _serve(
    connection: Connection,
    folder: Path,
    policy: settings.Policy,
    servers: tuple[str, ...],
    threads: int,
    weights: dict[str, Any],
) -> None:
    """A worker's life: parts of episodes in, trajectories out. A failure ends it, and its traceback goes to stderr."""
    import torch

    end_with_parent()
    torch.set_num_threads(threads)
    loaded = load(folder, policy)
    for name, parameter in loaded.model.named_parameters():
        parameter.data = weights[name]
    known = environment(servers)
    while True:
        try:
            part, limits, temperature, seed = connection.recv()
        except EOFError:  # closed
            return
        connection.send(run(loaded, known, part, limits, temperature, seed))
