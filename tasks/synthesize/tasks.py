"""The tasks of one split: depths as weighed, spread over worlds, drawn world by world, distinct.

    tasks, drops = make(environment, settings, seed=0, split="train")

Training and validation tasks live in worlds of the training word lists, test tasks in held-out worlds,
whose names never occur in training (tasks.servers.world). A share of tool combinations, chosen by a hash
of their names, is kept out of training, so that the test split has a slice of unseen combinations.

Every drop is counted by its reason; what is kept was executed twice with equal results. The result does not
depend on where the worlds' jobs run: a request that two worlds gave is kept for the lower number, and the
other number is drawn again in the next world, as is a number that found nothing in its own.

Left out: worlds that grow with what earlier tasks did; each task starts from its world's seed.
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace

from tasks.params import Synthesize
from tasks.records import Task
from tasks.seeds import stream
from tasks.servers import NAMES, Environment, server
from tasks.servers.world import HELD_OUT_FROM
from tasks.synthesize.grammar import grammar
from tasks.synthesize.worlds import Drawn, Job, Split, draw_world, lexicon, sources

VALIDATION_FROM = 1 << 16
"""World seeds of the validation split start here, those of the test split at HELD_OUT_FROM."""

PER_WORLD = 12
"""Tasks per world of the validation and the test split."""

ROUNDS = 8
"""Worlds that are tried for one task."""


class SynthesisError(Exception):
    """The settings ask for tasks that cannot be made; the message names the setting to change."""


class TooFewError(SynthesisError):
    """The servers' goals do not give enough distinct tasks of some depth."""


def make(
    environment: Environment,
    settings: Synthesize,
    seed: int,
    split: Split,
    *,
    pool: Executor | None = None,
    taken: Collection[str] = (),
    advance: Callable[[int], object] = lambda count: None,
) -> tuple[list[Task], Counter[str]]:
    """`settings.<split>` tasks in the order of their numbers, and the drops by reason.

    `pool` runs the worlds' jobs (None: this process does); `taken` are requests that may not occur; `advance`
    is told how many tasks were made. Raises SynthesisError for settings that cannot work, TooFewError when too
    few distinct tasks are found.
    """
    check(environment.names, settings)
    wanted = {"train": settings.train, "validation": settings.validation, "test": settings.test}[split]
    depths = _depths(settings, wanted)
    drops: Counter[str] = Counter()
    texts = set(taken)
    tasks: dict[int, Task] = {}
    for round_number in range(ROUNDS):
        missing = [number for number in range(wanted) if number not in tasks]
        if not missing:
            break
        jobs = _jobs(environment, settings, seed, split, depths, missing, round_number)
        for drawn in _run(jobs, pool):
            drops += drawn.drops
            advance(_keep(drawn, tasks, texts, drops))
    missing = [number for number in range(wanted) if number not in tasks]
    if missing:
        raise TooFewError(_too_few(split, depths, missing, drops))
    return [tasks[number] for number in range(wanted)], drops


def check(servers: Sequence[str], settings: Synthesize) -> None:
    """Raises SynthesisError for a server without a grammar, an unknown tool, or a depth that no plan can have."""
    for name in servers:
        try:
            grammar(name)
        except ModuleNotFoundError as error:
            if error.name != f"tasks.synthesize.grammar.{name}":
                raise
            raise SynthesisError(
                f"servers.names: {name} has no grammar of requests (tasks/synthesize/grammar/{name}.py), so no task can be "
                "made for it. Leave it out, or write its grammar."
            ) from error
    _check_tools(servers, settings.tools)
    names = tuple(servers)
    allowed = " with the tools of synthesize.tools" if settings.tools else ""
    for depth, weight in sorted(settings.depths.items()):
        if weight and not sources(names, settings.tools, depth)[0]:
            raise SynthesisError(
                f"synthesize.depths: no request of {', '.join(names)} takes {depth} calls{allowed}. "
                + (f"Set the weight of depth {depth} to 0, or allow more tools." if settings.tools else "Set its weight to 0.")
            )


def _check_tools(servers: Sequence[str], tools: Sequence[str]) -> None:
    owner = {tool: name for name in NAMES for tool in server(name).specs}
    for tool in tools:
        if owner.get(tool) in servers:
            continue
        if tool in owner:
            raise SynthesisError(
                f"synthesize.tools: {tool} is a tool of {owner[tool]}, which servers.names leaves out. Add it."
            )
        here = [name for name, its in owner.items() if its in servers]
        near = difflib.get_close_matches(tool, here, n=1, cutoff=0.0)
        raise SynthesisError(f"synthesize.tools: no server has a tool {tool!r}; the nearest name is {near[0]}.")
    if tools and not any(lexicon((name,), tuple(tools)).wants for name in servers):
        raise SynthesisError(
            f"synthesize.tools: no request can be made with {', '.join(tools)} alone. Allow tools that users ask for, "
            "or leave the list empty."
        )


def _jobs(
    environment: Environment,
    settings: Synthesize,
    seed: int,
    split: Split,
    depths: Sequence[int],
    numbers: Iterable[int],
    round_number: int,
) -> list[Job]:
    """The numbers by world, in the order of the worlds."""
    by_world: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for number in numbers:
        by_world[_world(settings, split, number, len(depths), round_number)].append((number, depths[number]))
    first = Job(tuple(environment.names), settings, seed, split, 0, (), round_number)
    return [replace(first, world=world, wanted=tuple(wanted)) for world, wanted in sorted(by_world.items())]


def _world(settings: Synthesize, split: Split, number: int, total: int, round_number: int) -> int:
    if split == "train":
        return (number + round_number) % settings.worlds
    start = VALIDATION_FROM if split == "validation" else HELD_OUT_FROM
    return start + (number // PER_WORLD + round_number) % -(-total // PER_WORLD)


def _run(jobs: Sequence[Job], pool: Executor | None) -> Iterable[Drawn]:
    """The jobs' results in the jobs' order."""
    return map(draw_world, jobs) if pool is None else pool.map(draw_world, jobs, chunksize=4)


def _keep(drawn: Drawn, tasks: dict[int, Task], texts: set[str], drops: Counter[str]) -> int:
    """Takes over the tasks with new requests. Returns how many."""
    kept = 0
    for number, task in drawn.tasks.items():
        if task.turns[0] in texts:
            drops["duplicate"] += 1
            continue
        texts.add(task.turns[0])
        tasks[number] = task
        kept += 1
    return kept


def _depths(settings: Synthesize, wanted: int) -> list[int]:
    """The depth of every task, in the exact proportions of the weights, mixed."""
    total = sum(settings.depths.values())
    depths: list[int] = []
    passed = 0.0
    for depth, weight in sorted(settings.depths.items()):
        passed += weight / total
        depths += [depth] * (round(passed * wanted) - len(depths))
    stream(0, "depths", wanted).shuffle(depths)
    return depths


def _too_few(split: Split, depths: Sequence[int], missing: Sequence[int], drops: Counter[str]) -> str:
    lacking = Counter(depths[number] for number in missing)
    depth, count = lacking.most_common(1)[0]
    (reason, dropped), *_ = drops.most_common(1) or [("no_plan", 0)]
    remedy = {
        "duplicate": "Raise synthesize.worlds, allow more tools",
        "kept_out": "Lower synthesize.unseen_combinations, allow more tools",
    }.get(reason, "Allow more tools")
    return (
        f"{len(missing)} of {len(depths)} {split} tasks were not found, {count} of them of depth {depth} (most draws were "
        f"dropped as {reason}: {dropped} of {drops.total()}). {remedy}, lower synthesize.{split}, or lower the weight of "
        f"depth {depth} in synthesize.depths."
    )
