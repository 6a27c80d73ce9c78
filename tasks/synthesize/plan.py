"""Grounded plans: goals of the grammar, resolved through live state to a wanted number of calls.

    plan = draw(session_state, grammars, depth=4, rng)   # None when this draw cannot be completed
    outcome = execute(plan, session)                     # None when a call fails or finds another entity

A plan names entities as a user would (by what read-only tools show of them) and leaves every identifier
to the call that finds it: so later calls need values that only earlier results hold. Nothing here looks
at a server's state except through its tools.

Left out: plans whose shape is asked for (funnel, tree, parallel); shapes follow from the goals drawn.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.records import Edge, GoldCall, Result, canonical_json
from tasks.servers import Session
from tasks.servers.sampler import Facts, Live
from tasks.servers.world import World
from tasks.synthesize.grammar import (
    Choice,
    Clock,
    Constant,
    Day,
    Field,
    Goal,
    Grammar,
    Name,
    Number,
    Ref,
    Referent,
    Slot,
    Words,
)

NESTING = 3
"""Deepest nesting of referents in one noun phrase."""


class CannotError(Exception):
    """This draw cannot be completed: no entity fits, or the budget of calls is wrong. Drawn again, never shown."""


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
    """One goal as said: a phrase with its slots filled, and whether it is a question."""

    text: str
    question: bool


@dataclass(slots=True)
class Plan:
    """Calls in order, what the user says, and where the answer lies (call id, JSON Pointer), if one is asked for."""

    calls: list[Planned] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    answer: tuple[str, str] | None = None
    goals: list[str] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A plan that was executed: gold calls with literal arguments and edges, their results, the answer."""

    calls: list[GoldCall]
    results: list[Result]
    answer: Any


class Drawer:
    """Draws one plan over one live state. Holds what the request has named so far."""

    def __init__(
        self, live: Live, grammars: Sequence[Grammar], world: World, rng: random.Random, tools: frozenset[str] | None = None
    ) -> None:
        """`tools` restricts the calls that a plan may hold; None allows all."""
        self.live, self.world, self.rng = live, world, rng
        self.referents: dict[str, list[Referent]] = {}
        self.goals = [goal for g in grammars for goal in g.goals if tools is None or goal.tool in tools]
        for each in grammars:
            for referent in each.referents:
                if tools is not None and referent.tool is not None and referent.tool not in tools:
                    continue
                self.referents.setdefault(referent.entity, []).append(referent)
        self.plan = Plan()
        self.known: dict[tuple[str, str], Bound | str] = {}
        self.made: dict[str, str] = {}
        self.naming: list[tuple[str, str]] = []  # what is being named: "the folder of the largest file in the folder of ..."

    def draw(self, depth: int) -> Plan:
        """A plan of exactly `depth` calls. Raises CannotError when this draw came out otherwise."""
        while len(self.plan.calls) < depth:
            if self.plan.answer is not None:
                raise CannotError("a question ends the request")
            self._goal(self._choose(depth))
            if len(self.plan.calls) > depth:
                raise CannotError("too many calls")
        return self.plan

    def _choose(self, depth: int) -> Goal:
        fresh = [g for g in self.goals if g.tool not in self.plan.goals]
        if not fresh:
            raise CannotError("no goals left")
        named = {kind for kind, _ in self.known}
        weights = [g.weight * (3.0 if named & _kinds(g) else 1.0) for g in fresh]
        return self.rng.choices(fresh, weights)[0]

    def _goal(self, goal: Goal) -> None:
        fill = _Fill(taken={}, words={})
        arguments = {name: self._value(slot, name, fill, goal) for name, slot in goal.slots.items()}
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

    def _value(self, slot: Slot, name: str, fill: _Fill, goal: Goal) -> Any:
        if isinstance(slot, Ref):
            value, words = self._reference(slot, name, fill, goal)
            fill.words[name] = words
            return value
        if isinstance(slot, Constant):
            return self._constant(slot.value, name, fill, goal)
        value, words = self._literal(slot)
        fill.words[name] = words
        return value

    def _constant(self, value: Any, name: str, fill: _Fill, goal: Goal) -> Any:
        if isinstance(value, Mapping):
            return {k: self._constant(v, f"{name}.{k}", fill, goal) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self._constant(v, f"{name}.{i}", fill, goal) for i, v in enumerate(value)]
        return self._value(value, name, fill, goal) if isinstance(value, Slot) else value

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
                return text, text
            case Name(kind):
                text = str(getattr(self.world, kind)())
                return text, text
            case Day(low, high):
                day = self.world.day(low, high)
                return day, day
            case Clock(low, high):
                text = f"{self.rng.randint(low, high - 1):02d}:{self.rng.choice(('00', '15', '30', '45'))}"
                return text, text
            case _:
                raise TypeError(f"{slot!r} cannot fill a goal's slot")

    def _reference(self, slot: Ref, name: str, fill: _Fill, goal: Goal) -> tuple[Any, str]:
        options = self.referents.get(slot.entity, [])
        if not options:
            raise CannotError(f"no referent for {slot.entity}")
        kind = next((r.of for r in options if r.of), slot.entity)
        taken = fill.taken.setdefault(kind, [])
        if kind != slot.entity and taken:
            identifier = taken[-1]  # a value of the entity that the goal is about
        else:
            identifier = self._entity(kind, goal.needs_state.get(name, {}), taken, goal.tool)
            taken.append(identifier)
        return self._name(slot.entity, kind, identifier, NESTING)

    def _entity(self, kind: str, needs: Mapping[str, object], taken: Sequence[str], tool: str) -> str:
        fitting = [
            key
            for key, facts in self.live.entities.get(kind, {}).items()
            if key not in taken and all(facts.get(k) == v for k, v in needs.items())
        ]
        if not fitting:
            raise CannotError(f"no {kind} fits {tool}")
        named = [key for key in fitting if (kind, key) in self.known]
        if named and self.rng.random() < 0.6:
            return self.rng.choice(named)
        return self.rng.choice(fitting)

    def _name(self, entity: str, kind: str, identifier: str, nesting: int) -> tuple[Any, str]:
        """(the argument's value, the noun phrase) for one entity."""
        facts = self.live.entities[kind][identifier]
        if (entity, identifier) in self.known:
            return self.known[entity, identifier], self._again(entity, identifier)
        usable = [
            r for r in self.referents.get(entity, []) if nesting or not any(isinstance(s, Ref) for s in r.arguments.values())
        ]
        self.rng.shuffle(usable)
        for referent in usable:
            inner = [(s.entity, str(facts.get(s.via, identifier))) for s in referent.arguments.values() if isinstance(s, Ref)]
            circular = any(named in self.naming for named in inner)
            if not circular and all(_has(facts, slot) for slot in referent.arguments.values()):
                self.naming.append((entity, identifier))
                value, words = self._refer(referent, identifier, facts, nesting)
                self.naming.pop()
                self.known[entity, identifier] = value
                self.plan.entities.append(entity)
                return value, words
        raise CannotError(f"nothing is known by which to name {entity} {identifier}")

    def _again(self, entity: str, identifier: str) -> str:
        others = [key for kind, key in self.known if kind == entity and key != identifier]
        noun = entity.replace("_", " ")
        if others:
            raise CannotError(f"'that {noun}' would be ambiguous")
        return self.rng.choice((f"that {noun}", f"the same {noun}", f"this {noun}"))

    def _refer(self, referent: Referent, identifier: str, facts: Facts, nesting: int) -> tuple[Any, str]:
        words: dict[str, str] = {k: _say(v) for k, v in facts.items()} | {"id": identifier}
        if referent.tool is None:
            return identifier, self.rng.choice(referent.phrases).format_map(_Words(words))
        arguments: dict[str, Any] = {}
        for name, slot in referent.arguments.items():
            match slot:
                case Field(fact):
                    arguments[name] = facts[fact]
                    words[name] = _say(facts[fact])
                case Ref(entity, via):
                    key = str(facts[via]) if via else identifier
                    if key not in self.live.entities.get(entity, {}):
                        raise CannotError(f"{entity} {key} was not discovered")
                    arguments[name], words[name] = self._name(entity, entity, key, nesting - 1)
                    words.setdefault(entity, words[name])
                case Constant(value):
                    arguments[name] = value
                case _:
                    arguments[name], words[name] = self._literal(slot)
        expected = facts.get(referent.path.rsplit("/", 1)[-1], identifier) if referent.of else identifier
        source = self._add(referent.tool, arguments)
        return Bound(source, referent.path, expected), self.rng.choice(referent.phrases).format_map(_Words(words))


@dataclass(slots=True)
class _Fill:
    taken: dict[str, list[str]]
    words: dict[str, str]


class _Words(dict[str, str]):
    """Phrase fillers; dotted names ({when.start}) are looked up as they stand."""

    def __missing__(self, key: str) -> Any:
        inner = {k.removeprefix(f"{key}."): v for k, v in self.items() if k.startswith(f"{key}.")}
        if not inner:
            raise CannotError(f"a phrase asks for {{{key}}}, which has no words")
        return _Dotted(inner)


class _Dotted:
    def __init__(self, words: Mapping[str, str]) -> None:
        self.words = words

    def __getattr__(self, name: str) -> Any:
        return _Words(self.words)[name]

    def __getitem__(self, name: object) -> Any:
        return _Words(self.words)[str(name)]


def _kinds(goal: Goal) -> set[str]:
    return {slot.entity for slot in goal.slots.values() if isinstance(slot, Ref)}


def _has(facts: Facts, slot: Slot) -> bool:
    if isinstance(slot, Field):
        return facts.get(slot.name) not in (None, "")
    return not (isinstance(slot, Ref) and slot.via) or slot.via in facts


def _say(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _plain(value: Any) -> Any:
    """Arguments with Bound leaves as their sources, for comparing calls."""
    if isinstance(value, Bound):
        return {"from": value.source, "path": value.path}
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list) else value


def at(content: Any, pointer: str) -> Any:
    """The value at a JSON Pointer. Raises LookupError when there is none."""
    for part in pointer.split("/")[1:]:
        if isinstance(content, list):
            content = content[int(part)] if part.isdigit() else content[len(content)]
        elif isinstance(content, dict):
            content = content[part.replace("~1", "/").replace("~0", "~")]
        else:
            raise LookupError(pointer)
    return content


def execute(plan: Plan, session: Session) -> Outcome | str:
    """Runs a plan on a fresh session. Returns the reason instead when it does not hold.

    Reasons: `refused` (a call fails), `other_entity` (a lookup finds another entity than the one named),
    `no_answer` (the asked value is absent or empty).
    """
    results: dict[str, Result] = {}
    gold: list[GoldCall] = []
    for call in plan.calls:
        edges: list[Edge] = []
        try:
            arguments = _bind(call.arguments, "", results, edges)
        except LookupError:
            return "other_entity"
        result = session.call(call.tool, arguments, call.id)
        if not result.ok:
            return "refused"
        results[call.id] = result
        gold.append(GoldCall(call.id, call.tool, arguments, edges))
    answer = None
    if plan.answer is not None:
        try:
            answer = at(results[plan.answer[0]].content, plan.answer[1])
        except LookupError:
            return "no_answer"
        if answer is None or answer == "" or isinstance(answer, dict | list):
            return "no_answer"
    return Outcome(gold, list(results.values()), answer)


def _bind(value: Any, path: str, results: Mapping[str, Result], edges: list[Edge]) -> Any:
    if isinstance(value, Bound):
        found = at(results[value.source].content, value.path)
        if found != value.value:
            raise LookupError(value.path)
        edges.append(Edge(value.source, value.path, path))
        return found
    if isinstance(value, Mapping):
        return {k: _bind(v, f"{path}/{k}", results, edges) for k, v in value.items()}
    if isinstance(value, list):
        return [_bind(v, f"{path}/{i}", results, edges) for i, v in enumerate(value)]
    return value


def chain_depth(calls: Sequence[GoldCall]) -> int:
    """The longest dependency chain, in calls; 0 for no calls."""
    depth: dict[str, int] = {}
    for call in calls:
        depth[call.id] = 1 + max((depth[edge.source] for edge in call.needs), default=0)
    return max(depth.values(), default=0)
