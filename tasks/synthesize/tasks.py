"""Tasks from plans: drawn over live state, executed, replayed on a fresh session, told apart by split.

    tasks, drops = make(environment, settings, seed=0, split="train")

Training and validation tasks live in worlds of the training word lists, test tasks in held-out worlds,
whose names never occur in training (tasks.servers.world). A share of tool combinations, chosen by a hash
of their names, is kept out of training, so that the test split has a slice of unseen combinations.

Every drop is counted by its reason; what is kept was executed twice with equal results.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass
from itertools import count
from typing import Literal

from tasks.params import Synthesize
from tasks.records import Gold, Task
from tasks.seeds import derive, stream
from tasks.servers import Environment
from tasks.servers.sampler import Live, sample
from tasks.servers.world import HELD_OUT_FROM, World
from tasks.synthesize.grammar import Grammar, grammar
from tasks.synthesize.plan import CannotError, Drawer, Outcome, Plan, chain_depth, execute
from tasks.synthesize.speak import request

Split = Literal["train", "validation", "test"]
VALIDATION_FROM = 1 << 16
"""World seeds of the validation split start here, those of the test split at HELD_OUT_FROM."""

TRIES = 400
"""Draws per task before the servers are declared unable to give one of that depth."""


class TooFewError(Exception):
    """The servers' goals do not give enough distinct tasks of some depth."""


@dataclass(slots=True)
class Worlds:
    """Live states by world seed, sampled once each."""

    environment: Environment
    seen: dict[int, Live]

    def live(self, seed: int) -> Live:
        if seed not in self.seen:
            with self.environment.session(seed) as session:
                self.seen[seed] = sample(session)
        return self.seen[seed]


def kept_out(tools: tuple[str, ...], share: float) -> bool:
    """Whether a combination of two or more tools is kept out of training; the same for every run."""
    return len(tools) > 1 and zlib.crc32(" ".join(tools).encode()) % 1000 < share * 1000


def make(environment: Environment, settings: Synthesize, seed: int, split: Split) -> tuple[list[Task], Counter[str]]:
    """`settings.<split>` tasks and the drops by reason. Raises TooFewError."""
    wanted = {"train": settings.train, "validation": settings.validation, "test": settings.test}[split]
    grammars = [grammar(name) for name in environment.names]
    worlds = Worlds(environment, {})
    depths = _depths(settings, wanted)
    drops: Counter[str] = Counter()
    texts: set[str] = set()
    tasks = []
    for number, depth in enumerate(depths):
        for attempt in count():
            if attempt == TRIES:
                raise TooFewError(
                    f"no new task of depth {depth} in {TRIES} draws (have {number} of {wanted} for {split}; "
                    f"drops: {dict(drops)}). Lower synthesize.{split}, raise synthesize.worlds, or lower the weight of "
                    f"depth {depth} in synthesize.depths."
                )
            drawn = _draw(environment, worlds, grammars, settings, seed, split, number, attempt, depth)
            reason = drawn if isinstance(drawn, str) else "duplicate" if drawn.turns[0] in texts else ""
            if not reason:
                break
            drops[reason] += 1
        assert isinstance(drawn, Task)
        texts.add(drawn.turns[0])
        tasks.append(drawn)
    return tasks, drops


def _depths(settings: Synthesize, wanted: int) -> list[int]:
    """The depth of every task, in the exact proportions of the weights, mixed."""
    total = sum(settings.depths.values())
    bounds, passed = [], 0.0
    for depth, weight in sorted(settings.depths.items()):
        passed += weight / total
        bounds.append((round(passed * wanted), depth))
    depths: list[int] = []
    for bound, depth in bounds:
        depths += [depth] * (bound - len(depths))
    stream(0, "depths", wanted).shuffle(depths)
    return depths


def _world_seed(settings: Synthesize, split: Split, number: int) -> int:
    match split:
        case "train":
            return number % settings.worlds
        case "validation":
            return VALIDATION_FROM + number // 4
        case "test":
            return HELD_OUT_FROM + number // 4


def _draw(
    environment: Environment,
    worlds: Worlds,
    grammars: list[Grammar],
    settings: Synthesize,
    seed: int,
    split: Split,
    number: int,
    attempt: int,
    depth: int,
) -> Task | str:
    """One task, or the reason why this draw gives none."""
    rng = stream(seed, "task", split, number, attempt)
    session_seed = _world_seed(settings, split, number)
    world = World(session_seed, "requests")
    world.rng = rng
    chosen = [rng.choice(grammars)]
    if depth >= 4 and len(grammars) > 1 and rng.random() < 0.2:
        chosen = rng.sample(grammars, 2)
    try:
        allowed = frozenset(settings.tools) or None
        plan = Drawer(worlds.live(session_seed), chosen, world, rng, allowed).draw(depth)
    except CannotError:
        return "no_plan"
    tools = tuple(sorted({call.tool for call in plan.calls}))
    if split != "test" and kept_out(tools, settings.unseen_combinations):
        return "kept_out"
    with environment.session(session_seed) as session:
        outcome = execute(plan, session)
        if isinstance(outcome, str):
            return outcome
        digest = session.digest()
    text = request(plan.clauses, rng)
    if leaks(outcome.answer, text):
        return "leak"
    if not replays(environment, session_seed, outcome, digest):
        return "replay"
    return _task(environment, settings, split, number, session_seed, plan, outcome, digest, text)


def leaks(answer: object, text: str) -> bool:
    """Whether the asked value already stands in the request as a word of its own."""
    if answer is None or isinstance(answer, bool):
        return False
    said = str(int(answer)) if isinstance(answer, float) and answer.is_integer() else str(answer)
    return f" {said.lower()} " in f" {text.lower().translate(_MARKS)} "


_MARKS = str.maketrans(dict.fromkeys(",.?!;:'", " "))


def replays(environment: Environment, session_seed: int, outcome: Outcome, digest: str) -> bool:
    """Whether the literal gold calls give the same results and the same final state on a fresh session."""
    with environment.session(session_seed) as session:
        again = [session.call(call.name, call.arguments, call.id) for call in outcome.calls]
        return again == outcome.results and session.digest() == digest


def _task(
    environment: Environment,
    settings: Synthesize,
    split: Split,
    number: int,
    session_seed: int,
    plan: Plan,
    outcome: Outcome,
    digest: str,
    text: str,
) -> Task:
    gold_tools = list(dict.fromkeys(call.name for call in outcome.calls))
    picker = stream(derive(session_seed, text), "tools")
    others = [name for name in environment.specs if name not in gold_tools]
    near = [name for name in others if environment.specs[name].server in {environment.specs[g].server for g in gold_tools}]
    distractors = sorted(picker.sample(near, min(len(near), picker.randint(*settings.distractors))))
    tools = gold_tools + distractors
    picker.shuffle(tools)
    return Task(
        id=f"{split}-{number:05d}",
        family="tools",
        split=split,
        servers=sorted({environment.specs[name].server for name in gold_tools}),
        tools=tools,
        distractors=distractors,
        session_seed=session_seed,
        turns=[text],
        gold=Gold(outcome.calls, outcome.answer, digest),
        depth=len(outcome.calls),
        chain_depth=chain_depth(outcome.calls),
        unseen_entities=split == "test",
        unseen_combination=kept_out(tuple(sorted(gold_tools)), settings.unseen_combinations),
        provenance={"speaker": "program", "goals": plan.goals, "entities": plan.entities},
    )
