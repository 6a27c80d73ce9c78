"""The grammar of requests: what a user can want from a server, and how people say it.

One module per server, each with two lists: REFERENTS, the ways in which a user who does not know
identifiers names a thing, with the call that finds it; and GOALS, what a user wants done or known. The
planner (tasks.synthesize.plan) picks goals, resolves their slots through referents to the wanted number
of calls, executes every call, and drops what fails; so a slot's range need not be exact.

    Referent("payee", "find_payee", {"name": Field("name")}, "/payee_id", ["{name}", "my payee {name}"])
    Goal("send_payment", {"payee_id": Ref("payee"), "amount": Number(5, 300)},
         ["pay {amount} to {payee_id}", "send {payee_id} {amount} dollars"])

Left out: agreement and inflection beyond what a phrase spells out. Phrases are written so that any filler fits.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from tasks.servers import NAMES


@dataclass(frozen=True, slots=True)
class Ref:
    """An identifier of an entity kind (the `x-entity` of the tool's schema), resolved through a Referent.

    `via`: inside a Referent, the field of the entity's own facts that holds the wanted identifier; empty in a Goal:
    any entity of that kind, different from the goal's other references of the same kind.
    """

    entity: str
    via: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """Inside a Referent: a field of the entity's own facts, as read-only tools show them."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number in [low, high] that is a multiple of `step`; an integer when `step` is one."""

    low: float
    high: float
    step: float = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a closed set: value -> how a person says it. A value may be any JSON value."""

    options: Mapping[str | int | float | bool, str]


@dataclass(frozen=True, slots=True)
class Words:
    """Open text made from one word of each list, joined by spaces; each list is split by held-out (World.pool)."""

    lists: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Name:
    """A name that the state need not hold yet: `kind` is person, company, city or street."""

    kind: str


@dataclass(frozen=True, slots=True)
class Day:
    """A date from `low` to `high` days after the session's clock."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day on the quarter hour, from `low` to `high` o'clock."""

    low: int = 8
    high: int = 18


@dataclass(frozen=True, slots=True)
class Constant:
    """An argument that no phrase mentions; a server's default that the gold spells out, or a list or an object
    whose leaves may themselves be slots (rendered in phrases as {argument.key} or {argument.0})."""

    value: object


Slot = Ref | Field | Number | Choice | Words | Name | Day | Clock | Constant


@dataclass(frozen=True, slots=True)
class Referent:
    """One way to name an entity (or a value that only a result holds) and the call that finds it.

    `tool` with `arguments` must answer with the wanted identifier at JSON Pointer `path`. With `tool` None the
    user knows the identifier and says it: {id} in the phrase. `entity` may also be a made-up kind for values
    (`amount_due`): then the facts come from `of`, the entity kind that the value belongs to.
    """

    entity: str
    tool: str | None
    arguments: Mapping[str, Slot]
    path: str
    phrases: Sequence[str]
    of: str = ""


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that a user wants: one call of `tool`, with the phrases that ask for it.

    Phrases are imperative clauses without a capital or a full stop ("move {amount} from {source_id} to {target_id}"); for a
    question (`answer` set) they are clauses too ("tell me the balance of {account_id}", "what is the balance of
    {account_id}"). `answer` is the JSON Pointer of the asked value in the call's result: a number, a string or a
    boolean. `needs_state` names a fact an entity must satisfy: {"order_id": {"status": "delivered"}}.
    """

    tool: str
    slots: Mapping[str, Slot]
    phrases: Sequence[str]
    answer: str = ""
    needs_state: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Grammar:
    """The grammar of one server."""

    server: str
    referents: Sequence[Referent]
    goals: Sequence[Goal]


@cache
def spoken() -> tuple[str, ...]:
    """The servers that have a grammar, by name: those for which tasks can be made."""
    here = {module.name for module in pkgutil.iter_modules(__path__)}
    return tuple(name for name in NAMES if name in here)


@cache
def grammar(server: str) -> Grammar:
    """The grammar of a library server. Raises ModuleNotFoundError when it has none."""
    module = importlib.import_module(f"tasks.synthesize.grammar.{server}")
    return Grammar(server, tuple(module.REFERENTS), tuple(module.GOALS))
