"""Grounded plans: goals of the grammar, resolved through live state to a wanted number of calls.

    plan = Drawer(live, lexicon, world, rng).draw(depth=4)   # CannotError when this draw cannot be completed
    outcome = execute(plan, session)                         # tasks.synthesize.solve

A plan names entities as a user would (by what read-only tools show of them) and leaves every identifier
to the call that finds it: so later calls need values that only earlier results hold. Nothing here looks
at a server's state except through its tools.

How many calls each goal and each noun phrase takes is decided before it is filled, from the distributions of
the lexicon; where the live state or an entity that is named already makes a phrase cheaper, the calls that are
left over go to what follows.

Left out: plans whose shape is asked for (funnel, tree, parallel); shapes follow from the goals drawn.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.records import canonical_json
from tasks.servers.sampler import Facts, Live
from tasks.servers.world import World
from tasks.synthesize.grammar import Choice, Clock, Constant, Day, Field, Goal, Name, Number, Ref, Slot, Words
from tasks.synthesize.lexicon import NESTING, Lexicon, Spread, Want, Way, share

AGAIN = 0.6
"""How likely a reference takes an entity that the request has named already, where one fits."""

OTHER_KINDS = 1 / 3
"""Weight of goals over none of the kinds that the request has named already, against the others' weight of one."""

CANDIDATES = 8
"""Entities that are tried for one reference."""


class CannotError(Exception):
    """This draw cannot be completed: no entity fits, or the number of calls is wrong. Drawn again, never shown."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An argument that the result of an earlier call holds at a JSON Pointer, expected to be `value`."""

    source: str
    path: str
    value: Any


@dataclass(frozen=True, slots=True)
class Planned:
    """One call of a plan; arguments are JSON values in which leaves may be Bound."""

    id: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Clause:
    """One goal as said: a phrase with its slots filled, and whether it asks for a value."""

    text: str
    question: bool


@dataclass(slots=True)
class Plan:
    """Calls in order, what the user says, and where the answer lies (call id, JSON Pointer), if one is asked for.

    `goals` are the tools of the goals, `entities` the kinds named, `names` the names said: of entities that a lookup
    finds by name, and of what the user makes up.
    """

    calls: list[Planned] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    answer: tuple[str, str] | None = None
    goals: list[str] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


class Drawer:
    """Draws one plan over one live state. Holds what the request has named so far."""

    def __init__(self, live: Live, lexicon: Lexicon, world: World, rng: random.Random) -> None:
        """`world` gives words to made-up names; its random numbers must be `rng`."""
        self.live, self.lexicon, self.world, self.rng = live, lexicon, world, rng
        self.plan = Plan()
        self.known: dict[tuple[str, str], Bound | str] = {}
        self.made: dict[str, str] = {}
        self.naming: list[tuple[str, str]] = []  # what is being named: "the folder of the largest file in the folder of ..."

    def draw(self, depth: int) -> Plan:
        """A plan of exactly `depth` calls. Raises CannotError when this draw came out otherwise."""
        while left := depth - len(self.plan.calls):
            if left < 0 or self.plan.answer is not None:
                raise CannotError("another number of calls")
            chosen = self.lexicon.choose(left, self._accepts, self.rng)
            if chosen is None:
                raise CannotError("no goal fits")
            self._goal(*chosen)
        return self.plan

    def fill(self, goal: Goal) -> Plan:
        """A plan of one goal, whatever its number of calls. Raises CannotError when this draw cannot name something."""
        self._goal(self.lexicon.want(goal), None)
        return self.plan

    def _accepts(self, want: Want) -> bool:
        if want.goal.tool in self.plan.goals:
            return False
        named = {kind for kind, _ in self.known}
        return not named or bool(named & want.kinds) or self.rng.random() < OTHER_KINDS

    def _goal(self, want: Want, calls: int | None) -> None:
        goal = want.goal
        end = None if calls is None else len(self.plan.calls) + calls - 1
        fill = _Fill(want, end)
        arguments = {name: self._value(slot, name, fill) for name, slot in goal.slots.items()}
        phrase = self.rng.choice(goal.phrases)
        identifier = self._add(goal.tool, arguments, reuse=False)
        self.plan.goals.append(goal.tool)
        self.plan.clauses.append(Clause(phrase.format_map(_Words(fill.words)), bool(goal.answer)))
        if goal.answer:
            self.plan.answer = (identifier, goal.answer)

    def _add(self, tool: str, arguments: Mapping[str, Any], reuse: bool = True) -> str:
        key = tool + canonical_json(_plain(arguments))
        if key in self.made:
            if not reuse:
                raise CannotError("the goal repeats a call")
            return self.made[key]
        identifier = str(len(self.plan.calls))
        self.plan.calls.append(Planned(identifier, tool, arguments))
        self.made[key] = identifier
        return identifier

    # -- slots ---------------------------------------------------------------------------------

    def _value(self, slot: Slot, name: str, fill: _Fill) -> Any:
        if isinstance(slot, Constant):
            return self._constant(slot.value, name, fill)
        if isinstance(slot, Ref):
            value, words = self._reference(slot, name, fill)
        else:
            value, words = self._literal(slot)
        fill.words[name] = words
        return value

    def _constant(self, value: Any, name: str, fill: _Fill) -> Any:
        if isinstance(value, Mapping):
            return {k: self._constant(v, f"{name}.{k}", fill) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self._constant(v, f"{name}.{i}", fill) for i, v in enumerate(value)]
        return self._value(value, name, fill) if isinstance(value, Slot) else value

    def _literal(self, slot: Slot) -> tuple[Any, str]:
        match slot:
            case Number(low, high, step):
                steps = int((high - low) / step + 1e-9)
                number = round(low + self.rng.randint(0, steps) * step, 2)
                number = int(number) if number == int(number) else number
                return number, str(number)
            case Choice(options):
                value = self.rng.choice(list(options))
                return value, options[value]
            case Words(lists):
                text = " ".join(self.rng.choice(self.world.pool(tuple(words))) for words in lists)
                self.plan.names.append(text)
                return text, text
            case Name(kind):
                text = str(getattr(self.world, kind)())
                self.plan.names.append(text)
                return text, text
            case Day(low, high):
                day = self.world.day(low, high)
                return day, day
            case Clock(low, high):
                text = f"{self.rng.randint(low, high - 1):02d}:{self.rng.choice(('00', '15', '30', '45'))}"
                return text, text
            case _:
                raise TypeError(f"{slot!r} cannot fill a goal's slot")

    def _reference(self, slot: Ref, name: str, fill: _Fill) -> tuple[Any, str]:
        want, part = fill.want, fill.part
        fill.part += 1
        calls = self._share(want.spreads[part], want.rest[part + 1], fill.end)
        kind = self.lexicon.owner(slot.entity)
        taken = fill.taken.setdefault(kind, [])
        if kind != slot.entity and taken:
            return self._name(slot.entity, kind, taken[-1], NESTING, None)  # of what is named: its calls follow
        slack = calls is None or not want.goal.answer or want.rest[part + 1][fill.end - len(self.plan.calls)] > 0
        for identifier in self._entities(slot.entity, kind, fill, name, calls, slack):
            if (slot.entity, identifier) in self.known or self._possible(slot.entity, kind, identifier, NESTING, calls):
                taken.append(identifier)
                return self._name(slot.entity, kind, identifier, NESTING, calls)
        raise CannotError(f"no {kind} fits {want.goal.tool}")

    def _share(self, spread: Spread, after: Spread, end: int | None) -> int | None:
        """How many of the calls up to number `end` one reference takes (tasks.synthesize.lexicon.share)."""
        if end is None:
            return None
        calls = share(spread, after, end - len(self.plan.calls), self.rng)
        if calls is None:
            raise CannotError("too few calls are left")
        return calls

    def _entities(self, entity: str, kind: str, fill: _Fill, name: str, calls: int | None, slack: bool) -> Sequence[str]:
        """Entities to try for a reference, in this order."""
        needs, taken = fill.want.goal.needs_state.get(name), fill.taken[kind]
        entities = self.live.entities.get(kind, {})
        fitting: Sequence[str] = list(entities)
        if needs:
            fitting = [key for key, facts in entities.items() if all(facts.get(k) == v for k, v in needs.items())]
        if taken:
            fitting = [key for key in fitting if key not in taken]
        if self.known:
            named = [key for key in fitting if (kind, key) in self.known and not self._ambiguous(kind, key)]
            if named and (slack or calls == int(kind != entity)) and self.rng.random() < AGAIN:
                return [self.rng.choice(named)]
            fitting = [key for key in fitting if (kind, key) not in self.known]
        return self.rng.sample(fitting, min(CANDIDATES, len(fitting)))

    # -- naming --------------------------------------------------------------------------------

    def _name(self, entity: str, kind: str, identifier: str, nesting: int, calls: int | None) -> tuple[Any, str]:
        """(the argument's value, the noun phrase) for one entity, in `calls` calls where it is not known yet."""
        if (entity, identifier) in self.known:
            return self.known[entity, identifier], self._again(entity, identifier)
        ways = self._possible(entity, kind, identifier, nesting, calls)
        if not ways:
            raise CannotError(f"nothing is known by which to name {entity} {identifier}")
        (way,) = self.rng.choices([way for way, _ in ways], [weight for _, weight in ways])
        self.naming.append((entity, identifier))
        value, words = self._refer(way, kind, identifier, nesting, calls)
        self.naming.pop()
        self.known[entity, identifier] = value
        self.plan.entities.append(entity)
        return value, words

    def _possible(self, entity: str, kind: str, identifier: str, nesting: int, calls: int | None) -> list[tuple[Way, float]]:
        """The weighted ways that can name this entity, by what is known of it and of the entities that they mention."""
        facts = self.live.entities[kind][identifier]
        self.naming.append((entity, identifier))
        ways = [
            (way, weight)
            for way, weight in self.lexicon.weighted(entity, nesting, calls)
            if self._fits(way, identifier, facts, nesting, calls)
        ]
        self.naming.pop()
        return ways

    def _fits(self, way: Way, identifier: str, facts: Facts, nesting: int, calls: int | None) -> bool:
        for slot in way.referent.arguments.values():
            if isinstance(slot, Field) and facts.get(slot.name) in (None, ""):
                return False
            if isinstance(slot, Ref):
                key = _via(slot, identifier, facts)
                if key not in self.live.entities.get(slot.entity, {}) or (slot.entity, key) in self.naming:
                    return False
                if (slot.entity, key) in self.known:
                    if self._ambiguous(slot.entity, key):
                        return False
                    continue
                left = None if calls is None or len(way.inner) > 1 else calls - 1
                if not self._possible(slot.entity, slot.entity, key, nesting - 1, left):
                    return False
        return True

    def _ambiguous(self, entity: str, identifier: str) -> bool:
        """Whether 'that <entity>' could mean another one."""
        return any(kind == entity and key != identifier for kind, key in self.known)

    def _again(self, entity: str, identifier: str) -> str:
        noun = entity.replace("_", " ")
        if self._ambiguous(entity, identifier):
            raise CannotError(f"'that {noun}' would be ambiguous")
        return self.rng.choice((f"that {noun}", f"the same {noun}", f"this {noun}"))

    def _refer(self, way: Way, kind: str, identifier: str, nesting: int, calls: int | None) -> tuple[Any, str]:
        referent, facts = way.referent, self.live.entities[kind][identifier]
        if referent.tool is None:
            return identifier, self.rng.choice(referent.phrases).format_map(_Words({"id": identifier}))
        end = None if calls is None else len(self.plan.calls) + calls - 1
        arguments: dict[str, Any] = {}
        words: dict[str, str] = {}
        part = 0
        for name, slot in referent.arguments.items():
            match slot:
                case Field(fact):
                    arguments[name], words[name] = facts[fact], _say(facts[fact])
                    if len(referent.arguments) == 1 and any(map(str.isalpha, words[name])):
                        self.plan.names.append(words[name])
                case Ref(entity):
                    share_of = self._share(way.spreads[part], way.rest[part + 1], end)
                    part += 1
                    key = _via(slot, identifier, facts)
                    arguments[name], words[name] = self._name(entity, entity, key, nesting - 1, share_of)
                case Constant(value):
                    arguments[name] = value
                case _:
                    arguments[name], words[name] = self._literal(slot)
        expected = facts.get(referent.path.rsplit("/", 1)[-1], identifier) if referent.of else identifier
        source = self._add(referent.tool, arguments)
        return Bound(source, referent.path, expected), self.rng.choice(referent.phrases).format_map(_Words(words))


@dataclass(slots=True)
class _Fill:
    """A goal that is being filled: the next reference's number, and the number of calls at which its own call follows."""

    want: Want
    end: int | None
    part: int = 0
    taken: dict[str, list[str]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)


class _Words(dict[str, str]):
    """Phrase fillers; dotted names ({when.start}) are looked up as they stand."""

    def __missing__(self, key: str) -> Any:
        inner = {k.removeprefix(f"{key}."): v for k, v in self.items() if k.startswith(f"{key}.")}
        if not inner:
            raise KeyError(f"a phrase asks for {{{key}}}, which has no words")
        return _Dotted(inner)


class _Dotted:
    def __init__(self, words: Mapping[str, str]) -> None:
        self.words = words

    def __getattr__(self, name: str) -> Any:
        return _Words(self.words)[name]

    def __getitem__(self, name: object) -> Any:
        return _Words(self.words)[str(name)]


def _via(slot: Ref, identifier: str, facts: Facts) -> str:
    return str(facts.get(slot.via)) if slot.via else identifier


def _say(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _plain(value: Any) -> Any:
    """Arguments with Bound leaves as their sources, for comparing calls."""
    if isinstance(value, Bound):
        return {"from": value.source, "path": value.path}
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list) else value
