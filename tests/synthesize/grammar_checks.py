"""Checks that hold for the request grammar of every server, and a printer of filled examples.

    python -m tests.synthesize.grammar_checks banking --seed 7

A goal is filled by the planner itself (tasks.synthesize.plan), so that what is tested here is what synthesis does.

Left out: whether a phrase is good English. Read the examples.
"""

from __future__ import annotations

import argparse
import random
import string
from collections.abc import Iterator, Mapping
from typing import Any

from tasks.servers import Session, environment
from tasks.servers.sampler import Facts, Live, sample
from tasks.servers.typed import ENTITY
from tasks.servers.world import HELD_OUT_FROM, World
from tasks.synthesize.grammar import Constant, Field, Goal, Grammar, Ref, Referent, Slot, grammar
from tasks.synthesize.lexicon import Lexicon
from tasks.synthesize.plan import CannotError, Drawer, Plan
from tasks.synthesize.solve import Outcome, execute
from tasks.synthesize.speak import request
from tasks.toolbox.pointer import at

SEEDS = (0, 1, 2, 3, HELD_OUT_FROM, HELD_OUT_FROM + 1, HELD_OUT_FROM + 2)


def slots_in(phrase: str) -> set[str]:
    """The names in braces of a phrase, dotted ones whole."""
    return {name for _, name, _, _ in string.Formatter().parse(phrase) if name is not None}


def spoken(slots: Mapping[str, Slot]) -> set[str]:
    """What a phrase over `slots` may mention."""
    names: set[str] = set()
    for name, slot in slots.items():
        names |= set(_leaves(slot.value, name)) if isinstance(slot, Constant) else {name}
    return names


def _leaves(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{name}.{number}")
    elif isinstance(value, Slot):
        yield name


def check_form(each: Grammar, goals: int, phrases: int = 4) -> None:
    """Tools, arguments and phrases of a grammar exist and fit the tools' schemas; every entity has a referent."""
    specs = environment([each.server]).specs
    named = {referent.entity for referent in each.referents}
    made_up = {referent.entity for referent in each.referents if referent.of}
    assert len(each.goals) >= goals
    said: dict[str, str] = {}
    for referent in each.referents:
        assert len(referent.phrases) >= (1 if referent.tool is None else 2), referent
        if referent.tool is None:
            assert all(slots_in(p) == {"id"} for p in referent.phrases), referent
            continue
        properties = specs[referent.tool].input_schema.get("properties", {})
        assert set(referent.arguments) <= set(properties), referent
        assert set(specs[referent.tool].input_schema.get("required", [])) <= set(referent.arguments), referent
        for phrase in referent.phrases:
            assert slots_in(phrase) <= spoken(referent.arguments), (phrase, referent.tool)
    for goal in each.goals:
        schema = specs[goal.tool].input_schema
        properties = schema.get("properties", {})
        assert set(goal.slots) <= set(properties), goal.tool
        assert set(schema.get("required", [])) <= set(goal.slots), goal.tool
        assert len(set(goal.phrases)) == len(goal.phrases) >= phrases, goal.tool
        assert bool(goal.answer) or not specs[goal.tool].read_only, f"{goal.tool}: nothing to tell right from wrong by"
        for name, slot in goal.slots.items():
            if isinstance(slot, Ref):
                assert slot.entity in named, (goal.tool, slot)
                kind = properties[name].get(ENTITY)
                assert kind in (None, slot.entity) or slot.entity in made_up, (goal.tool, name, slot)
        for phrase in goal.phrases:
            assert slots_in(phrase) <= spoken(goal.slots), (phrase, goal.tool)
            assert phrase[-1] not in ".?!" and phrase == phrase.strip(), phrase
            assert said.setdefault(phrase, goal.tool) == goal.tool, f"{phrase!r} asks for two tools"


def resolves(referent: Referent, identifier: str, facts: Facts, session: Session) -> bool:
    """Whether a referent finds the entity from its own facts."""
    if referent.tool is None:
        return True
    arguments: dict[str, Any] = {}
    for name, slot in referent.arguments.items():
        match slot:
            case Field(fact):
                arguments[name] = facts.get(fact)
            case Ref(_, via):
                arguments[name] = facts.get(via) if via else identifier
            case Constant(value):
                arguments[name] = value
            case _:
                raise AssertionError(f"{referent.tool}.{name}: {slot!r} in a referent")
    if any(value in (None, "") for value in arguments.values()):
        return False
    result = session.call(referent.tool, arguments)
    expected = facts.get(referent.path.rsplit("/", 1)[-1]) if referent.of else identifier
    try:
        return result.ok and expected is not None and at(result.content, referent.path) == expected
    except LookupError:
        return False


def fill(goal: Goal, lexicon: Lexicon, live: Live, seed: int, rng: random.Random) -> Plan | None:
    """The plan for one goal alone, or None when this draw names something that cannot be named."""
    world = World(seed, "grammar")
    world.rng = rng
    try:
        return Drawer(live, lexicon, world, rng).fill(goal)
    except CannotError:
        return None


def check_works(each: Grammar, seed: int, tries: int = 12, share: float = 0.5, rare: frozenset[str] = frozenset()) -> None:
    """In the world of `seed`: every referent finds something, every goal can be filled and done, most fillings succeed.

    `rare` are the tools whose goals need not succeed for a `share` of the fillings.
    """
    world = environment([each.server])
    with world.session(seed) as session:
        live = sample(session)
        for referent in each.referents:
            known = live.entities.get(referent.of or referent.entity, {})
            assert known, f"no {referent.of or referent.entity} is discovered"
            found = sum(resolves(referent, key, facts, session) for key, facts in known.items())
            assert found, f"seed {seed}: {referent.tool} {referent.arguments} finds no {referent.entity}"
    rng, lexicon = random.Random(seed), Lexicon([each])
    for goal in each.goals:
        done, why = 0, []
        for _ in range(tries):
            plan = fill(goal, lexicon, live, seed, rng)
            if plan is None:
                why.append("unfilled")
                continue
            with world.session(seed) as session:
                outcome = execute(plan, session, session.digest())
            if isinstance(outcome, str):
                why.append(f"{outcome}: {plan.clauses[0].text}")
                continue
            done += 1
        least = 1 if goal.tool in rare else share * tries
        assert done >= least, f"seed {seed}: {goal.tool} succeeds {done} of {tries} times\n" + "\n".join(why)


def examples(each: Grammar, seed: int, rng: random.Random) -> Iterator[tuple[str, Outcome | str]]:
    """(request, outcome) for every goal once."""
    world = environment([each.server])
    with world.session(seed) as session:
        live = sample(session)
    lexicon = Lexicon([each])
    for goal in each.goals:
        plan = fill(goal, lexicon, live, seed, rng)
        if plan is not None:
            with world.session(seed) as session:
                yield request(plan.clauses, rng), execute(plan, session, session.digest())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.synthesize.grammar_checks", description=examples.__doc__)
    parser.add_argument("server")
    parser.add_argument("--seed", type=int, default=7, help="session seed (default 7)")
    parser.add_argument("--calls", action="store_true", help="print the gold calls and results too")
    args = parser.parse_args()
    for text, outcome in examples(grammar(args.server), args.seed, random.Random(args.seed)):
        print(text if not isinstance(outcome, str) else f"[{outcome}] {text}")
        if args.calls and not isinstance(outcome, str):
            for call, result in zip(outcome.calls, outcome.results, strict=True):
                print(f"    {call.name} {call.arguments} -> {result.content}")
            print(f"    answer: {outcome.answer!r}")


if __name__ == "__main__":
    main()
