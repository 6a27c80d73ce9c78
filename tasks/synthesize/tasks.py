"""The tasks of one split: depths as weighed, spread over worlds, drawn world by world, distinct.

    tasks, drops = make(environment, settings, seed=0, split="train")

Training and validation tasks live in worlds of the training word lists, test tasks in held-out worlds,
whose names never occur in training (tasks.servers.world). A share of tool combinations, chosen by a hash
of their names, is kept out of training, so that the test split has a slice of unseen combinations.

Every drop is counted by its reason; what is kept was executed twice with equal results. The result does not
depend on where the worlds' jobs run: a request that two worlds gave is kept for the first of them, and the
other number is drawn again in another world, as is a number that found nothing in its own.

Left out: worlds that grow with what earlier tasks did; each task starts from its world's seed.
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Executor

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

STRIDE = 7
"""Worlds between those that one round and the next start from."""

ENOUGH = 0.05
"""The share of the missing tasks that a later round must find for another one to be worth trying."""


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
        jobs = _jobs(environment, settings, seed, split, [(number, depths[number]) for number in missing], round_number, texts)
        for drawn in _run(jobs, pool):
            drops += drawn.drops
            advance(_keep(drawn, tasks, texts, drops))
        found = len(missing) - (wanted - len(tasks))
        if len(tasks) == wanted or (round_number and found < ENOUGH * len(missing)):
            break
    if len(tasks) < wanted:
        raise TooFewError(_too_few(split, [depth for number, depth in enumerate(depths) if number not in tasks], wanted, drops))
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
    known = {tool: name for name in NAMES for tool in server(name).specs}
    for tool in tools:  # tools of library servers that servers.names leaves out are harmless: overlays choose servers
        if tool not in known:
            here = [name for name, owner in known.items() if owner in servers]
            near = difflib.get_close_matches(tool, here, n=1, cutoff=0.0)
            raise SynthesisError(f"synthesize.tools: no server has a tool {tool!r}; the nearest name is {near[0]}.")
    if tools and not any(lexicon((name,), tuple(tools)).wants for name in servers):
        raise SynthesisError(
            f"synthesize.tools: no request to {', '.join(servers)} can be made with {', '.join(tools)} alone. Allow tools that "
            "users ask for, or leave the list empty."
        )


def _jobs(
    environment: Environment,
    settings: Synthesize,
    seed: int,
    split: Split,
    wanted: Sequence[tuple[int, int]],
    round_number: int,
    texts: Collection[str],
) -> list[Job]:
    """The wanted (number, depth) pairs by world, in the order of the worlds.

    The first round spreads the numbers over all worlds of the split. Later ones take few worlds for the few that are left,
    and know the requests (`texts`) that are there.
    """
    start, worlds, each = _worlds(settings, split)
    by_world: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, (number, depth) in enumerate(wanted):
        index = round_number * STRIDE + place // PER_WORLD if round_number else number // each
        by_world[start + index % worlds].append((number, depth))
    taken = frozenset(texts) if round_number else frozenset()
    names = tuple(environment.names)
    return [
        Job(names, settings, seed, split, world, tuple(pairs), round_number, taken) for world, pairs in sorted(by_world.items())
    ]


def _worlds(settings: Synthesize, split: Split) -> tuple[int, int, int]:
    """(the first world's seed, how many worlds, how many numbers in a row go to one)."""
    if split == "train":
        return 0, settings.worlds, 1
    if split == "validation":
        return VALIDATION_FROM, -(-settings.validation // PER_WORLD), PER_WORLD
    return HELD_OUT_FROM, -(-settings.test // PER_WORLD), PER_WORLD


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


def _too_few(split: Split, lacking: Sequence[int], wanted: int, drops: Counter[str]) -> str:
    """What to say of the depths of the tasks that were not found."""
    depth, count = Counter(lacking).most_common(1)[0]
    reason, dropped = drops.most_common(1)[0]
    remedy = {
        "duplicate": "Raise synthesize.worlds, allow more tools",
        "kept_out": "Lower synthesize.unseen_combinations, allow more tools",
    }.get(reason, "Allow more tools")
    return (
        f"{len(lacking)} of {wanted} {split} tasks were not found, {count} of them of depth {depth} (most draws were dropped "
        f"as {reason}: {dropped} of {drops.total()}). {remedy}, lower synthesize.{split}, or lower the weight of depth {depth} "
        "in synthesize.depths."
    )
