"""The tasks of one world: drawn over its live state, executed, replayed on a fresh session.

    drawn = draw_world(Job(("banking",), settings, seed=0, split="train", world=7, wanted=((7, 2), (11, 5))))

A job is all that one process needs for one world; its result depends on nothing else, so jobs may run in any
order and in any number of processes. Each server's live state is sampled by itself, when a request needs it.

Left out: requests over more than two servers.
"""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import Literal

from tasks.params import Synthesize
from tasks.records import Gold, Task
from tasks.seeds import stream
from tasks.servers import Environment, environment
from tasks.servers.sampler import Live, sample
from tasks.servers.world import World
from tasks.synthesize.grammar import grammar
from tasks.synthesize.lexicon import Lexicon
from tasks.synthesize.plan import CannotError, Drawer, Plan
from tasks.synthesize.solve import Outcome, chain_depth, execute, replays, spare
from tasks.synthesize.speak import request

Split = Literal["train", "validation", "test"]

TRIES = 200
"""Draws per task in one world."""

TWO_SERVERS_FROM = 4
"""The depth from which a request may be about two servers."""

TWO_SERVERS = 0.2
"""The share of draws over two servers at such depths."""

PLENTY = 0.15
"""The probability of a depth from which on a server gets its full share of the tasks of that depth."""


@dataclass(frozen=True, slots=True)
class Job:
    """Tasks wanted of one world, as (number, depth) pairs.

    `round` counts the worlds that were tried for them before, `taken` are requests that may not occur.
    """

    servers: tuple[str, ...]
    settings: Synthesize
    seed: int
    split: Split
    world: int
    wanted: tuple[tuple[int, int], ...]
    round: int = 0
    taken: frozenset[str] = frozenset()


@dataclass(slots=True)
class Drawn:
    """What a world gave: tasks by number (without the numbers that found none), and the drops by reason."""

    tasks: dict[int, Task] = field(default_factory=dict)
    drops: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Here:
    """What the draws in one world share: random numbers, words, live states by server, the digest of the untouched world."""

    job: Job
    environment: Environment
    world: World
    untouched: str
    lives: dict[str, Live] = field(default_factory=dict)

    @classmethod
    def of(cls, job: Job) -> _Here:
        servers = environment(job.servers)
        world = World(job.world, "requests")
        world.rng = stream(job.seed, "tasks", job.split, job.world, job.round)
        with servers.session(job.world) as session:
            return cls(job, servers, world, session.digest())

    def live(self, servers: Sequence[str]) -> Live:
        """The live state of some servers; each is sampled at first use."""
        for name in servers:
            if name not in self.lives:
                with environment((name,)).session(self.job.world) as session:
                    self.lives[name] = sample(session)
        if len(servers) == 1:
            return self.lives[servers[0]]
        merged = Live()
        for name in servers:
            for kind, entities in self.lives[name].entities.items():
                merged.entities[kind] = merged.entities.get(kind, {}) | entities
        return merged


def draw_world(job: Job) -> Drawn:
    """Draws a job's tasks; their requests are distinct. A depth of which a number found nothing is not tried again."""
    here, drawn = _Here.of(job), Drawn()
    texts = set(job.taken)
    spent: set[int] = set()
    for number, depth in job.wanted:
        for task in () if depth in spent else _draws(here, number, depth):
            reason = task if isinstance(task, str) else "duplicate" if task.turns[0] in texts else ""
            if isinstance(task, Task) and not reason:
                drawn.tasks[number] = task
                texts.add(task.turns[0])
                break
            drawn.drops[reason] += 1
        else:
            spent.add(depth)
    return drawn


def _draws(here: _Here, number: int, depth: int) -> Iterator[Task | str]:
    """At most TRIES draws for one number: a task, or the reason why a draw gives none."""
    job, servers, rng = here.job, here.environment, here.world.rng
    options, weights = sources(job.servers, job.settings.tools, depth)
    for _ in range(TRIES if options else 0):
        (chosen,) = rng.choices(options, weights)
        try:
            plan = Drawer(here.live(chosen), lexicon(chosen, job.settings.tools), here.world, rng).draw(depth)
        except CannotError:
            yield "no_plan"
            continue
        if job.split != "test" and kept_out({call.tool for call in plan.calls}, job.settings.unseen_combinations):
            yield "kept_out"
            continue
        with servers.session(job.world) as session:
            outcome = execute(plan, session, here.untouched)
        if isinstance(outcome, str):
            yield outcome
            continue
        text = request(plan.clauses, rng)
        if leaks(outcome.answer, text):
            yield "leak"
        elif not replays(servers, job.world, outcome):
            yield "replay"
        elif spare(servers, job.world, outcome):
            yield "spare_call"
        else:
            yield _task(job, number, plan, outcome, text, rng)


@cache
def lexicon(servers: tuple[str, ...], tools: tuple[str, ...]) -> Lexicon:
    """The lexicon of some servers under an allow-list (empty: all tools); built once per process."""
    return Lexicon([grammar(name) for name in servers], frozenset(tools) or None)


@cache
def sources(
    servers: tuple[str, ...], tools: tuple[str, ...], depth: int
) -> tuple[tuple[tuple[str, ...], ...], tuple[float, ...]]:
    """The servers that a request of that depth may be drawn from, and their weights; none when no plan has that depth.

    Servers get equal shares, but a server whose plans seldom have that depth gets less: it has few of them to tell apart.
    """
    options: list[tuple[str, ...]] = [(name,) for name in servers if lexicon((name,), tools).wants]
    pairs = [] if depth < TWO_SERVERS_FROM else [one + other for one, other in combinations(options, 2)]
    weights = [(1 - TWO_SERVERS) / len(options) for _ in options] + [TWO_SERVERS / len(pairs) for _ in pairs]
    found = {
        each: w * min(lexicon(each, tools).reach[depth], PLENTY) for each, w in zip((*options, *pairs), weights, strict=True)
    }
    return tuple(each for each, weight in found.items() if weight), tuple(weight for weight in found.values() if weight)


def kept_out(tools: set[str], share: float) -> bool:
    """Whether a combination of two or more tools is kept out of training; the same for every run."""
    return len(tools) > 1 and zlib.crc32(" ".join(sorted(tools)).encode()) % 1000 < share * 1000


def leaks(answer: object, text: str) -> bool:
    """Whether the asked value already stands in the request as a word of its own."""
    if answer is None or isinstance(answer, bool):
        return False
    said = str(int(answer)) if isinstance(answer, float) and answer.is_integer() else str(answer)
    return f" {_bare(said)} " in f" {_bare(text)} "


def _bare(text: str) -> str:
    return text.lower().translate(_MARKS)


_MARKS = str.maketrans(dict.fromkeys(",.?!;:'", " "))


def _task(job: Job, number: int, plan: Plan, outcome: Outcome, text: str, rng: random.Random) -> Task:
    specs = environment(job.servers).specs
    gold_tools = list(dict.fromkeys(call.name for call in outcome.calls))
    servers = sorted({specs[name].server for name in gold_tools})
    near = [name for name in _tools(job.servers, tuple(servers)) if name not in gold_tools]
    distractors = sorted(rng.sample(near, min(len(near), rng.randint(*job.settings.distractors))))
    tools = gold_tools + distractors
    rng.shuffle(tools)
    return Task(
        id=f"{job.split}-{number:05d}",
        family="tools",
        split=job.split,
        servers=servers,
        tools=tools,
        distractors=distractors,
        session_seed=job.world,
        turns=[text],
        gold=Gold(outcome.calls, outcome.answer, outcome.digest),
        depth=len(outcome.calls),
        chain_depth=chain_depth(outcome.calls),
        unseen_entities=job.split == "test",
        unseen_combination=job.split == "test" and kept_out(set(gold_tools), job.settings.unseen_combinations),
        provenance={"speaker": "program", "goals": plan.goals, "entities": plan.entities, "names": plan.names},
    )


@cache
def _tools(servers: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    """The tools of the servers `own`, in the environment's order."""
    return tuple(name for name, spec in environment(servers).specs.items() if spec.server in own)
