"""What a request can say, and in how many calls: the grammars filtered by the allowed tools, with their costs.

    lexicon = Lexicon(grammars, tools=None)
    goal, calls = lexicon.choose(left=4, accepts=..., rng=rng)   # a goal and its number of calls, its lookups included

Naming an entity costs the calls of the chain of lookups that finds it. From the grammar alone the distribution
of that cost is known (every way of naming equally likely, lookups nested at most NESTING deep), and so is the
probability that a request which may still take `left` calls comes out at exactly that number. Plans are drawn
from these distributions top-down, so that nearly every draw has the wanted number of calls; the outcome is
distributed as if plans were drawn freely and those of another length thrown away.

Left out: what the live state lacks. A draw may still fail there (tasks.synthesize.plan).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from tasks.synthesize.grammar import Constant, Goal, Grammar, Ref, Referent, Slot

NESTING = 3
"""Deepest nesting of lookups in one noun phrase."""

MOST = 10
"""Most calls of a plan; params.Synthesize.depths allows no more."""

Spread = tuple[float, ...]
"""The probability of taking 0, 1, ..., MOST calls; what takes more is left out, so the sum may be under 1."""

NOTHING: Spread = (0.0,) * (MOST + 1)
FREE: Spread = (1.0,) + (0.0,) * MOST


@dataclass(frozen=True, slots=True)
class Way:
    """One way to name an entity, the entities that it mentions itself, and how many calls it takes."""

    referent: Referent
    inner: tuple[Ref, ...]
    spreads: tuple[Spread, ...]
    rest: tuple[Spread, ...]
    """rest[i]: the calls of the inner references from i on, together."""
    cost: Spread


@dataclass(frozen=True, slots=True)
class Want:
    """A goal with the costs of its references, in the order in which they are resolved."""

    goal: Goal
    kinds: frozenset[str]
    spreads: tuple[Spread, ...]
    rest: tuple[Spread, ...]
    cost: Spread
    """Calls of the whole goal, its own included."""


@dataclass(frozen=True, slots=True)
class _Table:
    """Weighted (want, calls) pairs for one number of calls left."""

    pairs: list[tuple[Want, int]] = field(default_factory=list)
    cumulative: list[float] = field(default_factory=list)


class Lexicon:
    """The goals and ways of naming of some grammars. Read-only once built; shared by all draws."""

    def __init__(self, grammars: Sequence[Grammar], tools: frozenset[str] | None = None) -> None:
        """`tools` restricts the calls that a plan may hold; None allows all."""
        self.referents: dict[str, tuple[Referent, ...]] = {}
        for each in grammars:
            for referent in each.referents:
                if tools is None or referent.tool is None or referent.tool in tools:
                    self.referents[referent.entity] = (*self.referents.get(referent.entity, ()), referent)
        self._ways: dict[tuple[str, int], tuple[Way, ...]] = {}
        self._weighted: dict[tuple[str, int, int | None], tuple[tuple[Way, float], ...]] = {}
        goals = [goal for g in grammars for goal in g.goals if tools is None or goal.tool in tools]
        self.wants = [self.want(goal) for goal in goals]
        self._tables, self.reach = self._lengths()

    # -- naming ----------------------------------------------------------------------------------

    def owner(self, entity: str) -> str:
        """The entity kind whose facts name `entity`: itself, or the kind that a made-up value belongs to."""
        return next((r.of for r in self.referents.get(entity, ()) if r.of), entity)

    def ways(self, entity: str, nesting: int = NESTING) -> tuple[Way, ...]:
        """All ways to name an entity of that kind with at most `nesting` lookups inside each other."""
        key = (entity, nesting)
        if key not in self._ways:
            options = ((r, tuple(references(r.arguments))) for r in self.referents.get(entity, ()))
            ways = [self._way(r, inner, nesting) for r, inner in options if nesting or not inner]
            self._ways[key] = tuple(way for way in ways if any(way.cost))
        return self._ways[key]

    def weighted(self, entity: str, nesting: int, calls: int | None) -> tuple[tuple[Way, float], ...]:
        """The ways that can take exactly `calls`, each with its probability; with None all, equally likely."""
        key = (entity, nesting, calls)
        if key not in self._weighted:
            found = ((way, 1.0 if calls is None else way.cost[calls]) for way in self.ways(entity, nesting))
            self._weighted[key] = tuple((way, weight) for way, weight in found if weight)
        return self._weighted[key]

    def _way(self, referent: Referent, inner: tuple[Ref, ...], nesting: int) -> Way:
        spreads = tuple(self._naming(ref.entity, nesting - 1) for ref in inner)
        rest = _rest(spreads)
        return Way(referent, inner, spreads, rest, rest[0] if referent.tool is None else _later(rest[0]))

    def _naming(self, entity: str, nesting: int) -> Spread:
        return _mean([way.cost for way in self.ways(entity, nesting)])

    # -- goals -----------------------------------------------------------------------------------

    def want(self, goal: Goal) -> Want:
        """A goal with its costs. A value of an entity that the goal has named already needs no second naming."""
        named: set[str] = set()
        looked: set[str | None] = set()
        spreads, kinds = [], set()
        for ref in references(goal.slots):
            kind = self.owner(ref.entity)
            kinds.add(ref.entity)
            if kind != ref.entity and kind in named:
                spreads.append(self._value_of(ref.entity, kind, looked))
            else:
                spreads.append(self._naming(ref.entity, NESTING))
            if kind != ref.entity:
                looked |= {r.tool for r in self.referents.get(ref.entity, ())}
            named.add(kind)
        rest = _rest(spreads)
        return Want(goal, frozenset(kinds), tuple(spreads), rest, _later(rest[0]))

    def _value_of(self, entity: str, kind: str, looked: set[str | None]) -> Spread:
        costs = []
        for way in self.ways(entity):
            outside = [s for ref, s in zip(way.inner, way.spreads, strict=True) if ref.entity != kind]
            cost = _rest(outside)[0]
            costs.append(cost if way.referent.tool is None or way.referent.tool in looked else _later(cost))
        return _mean(costs)

    def _lengths(self) -> tuple[list[_Table], Spread]:
        """For every number of calls left: the weighted choices, and the probability of coming out at that number."""
        total = sum(want.goal.weight for want in self.wants)
        reach = [1.0]
        tables = [_Table()]
        for left in range(1, MOST + 1):
            table, weights = _Table(), []
            for want in self.wants:
                for calls in range(1, left + 1):
                    after = float(calls == left) if want.goal.answer else reach[left - calls]
                    if weight := want.goal.weight / total * want.cost[calls] * after:
                        table.pairs.append((want, calls))
                        weights.append(weight)
            table.cumulative.extend(accumulate(weights))
            tables.append(table)
            reach.append(sum(weights))
        return tables, tuple(reach)

    def choose(
        self, left: int, accepts: Callable[[Want], bool], rng: random.Random, tries: int = 50
    ) -> tuple[Want, int] | None:
        """A goal that `accepts`, with a number of calls after which exactly `left` can still be reached.

        Drawn again until accepted, at most `tries` times; None then, or when nothing reaches `left`.
        """
        table = self._tables[left]
        for _ in range(tries if table.pairs else 0):
            want, calls = rng.choices(table.pairs, cum_weights=table.cumulative)[0]
            if accepts(want):
                return want, calls
        return None


def references(slots: Mapping[str, Slot]) -> Iterator[Ref]:
    """The references in slots, in the order in which they are resolved; those in lists and objects too."""
    for slot in slots.values():
        yield from _references(slot)


def _references(value: object) -> Iterator[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, Constant):
        yield from _references(value.value)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _references(inner)


def share(spread: Spread, after: Spread, left: int, rng: random.Random) -> int | None:
    """How many of `left` calls one reference takes (`spread`), so that those `after` it can take the others.

    When they cannot, because what was named already took fewer calls than foreseen, some remain; None: not even one way.
    """
    weights = [spread[calls] * after[left - calls] for calls in range(left + 1)]
    if not any(weights):
        weights = list(spread[: max(left + 1, 0)])
    return rng.choices(range(left + 1), weights)[0] if any(weights) else None


def _rest(spreads: Sequence[Spread]) -> tuple[Spread, ...]:
    rest = [FREE]
    for spread in reversed(spreads):
        rest.insert(0, _sum(spread, rest[0]))
    return tuple(rest)


def _sum(one: Spread, other: Spread) -> Spread:
    """The distribution of the sum of two independent numbers of calls."""
    return tuple(sum(one[i] * other[n - i] for i in range(n + 1)) for n in range(MOST + 1))


def _later(spread: Spread) -> Spread:
    """One call more."""
    return (0.0, *spread[:-1])


def _mean(spreads: Sequence[Spread]) -> Spread:
    return tuple(sum(column) / len(spreads) for column in zip(*spreads, strict=True)) if spreads else NOTHING
