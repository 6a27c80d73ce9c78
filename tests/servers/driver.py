"""Random calls against a tool server, and the checks that hold for every server of the library.

    def test_random_calls(seed): drive(environment(["banking"]), session_seed=3, seed=seed, invariant=check)

Arguments are drawn from a tool's input schema and from identifiers that earlier results showed; a share of them
is hostile: schema-valid extremes (blank and control characters, absurd dates, integral floats, repeated array
items) and plainly invalid values. After every call: the result satisfies the output schema, a refusal is
structured and changed nothing, a read-only call changed nothing, and the server's own invariant holds.

Left out: shrinking. A failure prints the calls that led to it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tasks.records import Result, ToolSpec
from tasks.servers.sampler import Live, collect
from tasks.servers.session import Environment, Server, Session
from tasks.servers.tool import FAULT_KINDS
from tasks.servers.typed import ENTITY
from tasks.toolbox.schema import Checker

HOSTILE_TEXT = (
    "",
    " ",
    "\x00",
    "a\nb",
    "\u202e",
    "\ud800",
    "x" * 200,
    "x" * 5000,
    "'; DROP TABLE accounts; --",
    "{{7*7}}",
    "../../etc/passwd",
    "Ünïcødé",
    "🙂",
)
HOSTILE_DATES = ("2026-02-31", "0000-01-01", "9999-12-31", "2026-06-31", "2026-03-14\n", "1900-01-01")
HOSTILE_TIMES = ("00:00", "23:59", "09:30\n")
INVALID: tuple[Any, ...] = (None, True, -1, 10**30, float("nan"), float("inf"), [], {}, "", "nonsense", [[[]]], {"a": {"b": 1}})

Invariant = Callable[[Session], None]


def random_arguments(spec: ToolSpec, live: Live, rng: random.Random, hostile: float = 0.1) -> dict[str, Any]:
    """Arguments for one call; each value is hostile or invalid with probability `hostile`."""
    arguments = random_value(spec.input_schema, live, rng, hostile)
    if isinstance(arguments, dict) and rng.random() < hostile / 4:
        arguments["no_such_parameter"] = 1
    return arguments if isinstance(arguments, dict) else {}


def random_value(schema: Mapping[str, Any], live: Live, rng: random.Random, hostile: float) -> Any:
    """A value of a JSON Schema of the kinds that tools use: mostly valid, see `random_arguments`."""
    if "anyOf" in schema:
        return random_value(rng.choice(schema["anyOf"]), live, rng, hostile)
    kind = schema.get("type")
    if kind == "object":
        required = schema.get("required", [])
        chosen = [n for n in schema.get("properties", {}) if n in required or rng.random() < 0.5]
        dropped = {n for n in chosen if rng.random() < hostile / 8}
        return {n: random_value(schema["properties"][n], live, rng, hostile) for n in chosen if n not in dropped}
    if rng.random() < hostile / 3:
        return rng.choice(INVALID)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    if kind == "array":
        most = min(schema.get("maxItems", 3), 4)
        items = [random_value(schema.get("items", {}), live, rng, hostile) for _ in range(rng.randint(0, most))]
        return items * 2 if rng.random() < hostile else items
    if kind == "boolean":
        return rng.random() < 0.5
    if kind in ("integer", "number"):
        return _number(schema, rng, hostile)
    if kind == "string":
        return _text(schema, live, rng, hostile)
    return rng.choice(INVALID)


def _number(schema: Mapping[str, Any], rng: random.Random, hostile: float) -> Any:
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, 0) + 1000))
    if rng.random() < hostile:
        return rng.choice((low, high, low - 1, high + 1, 0.005, 1e-9, -0.0))
    near = min(high, low + 400)
    if schema["type"] == "integer":
        value = rng.randint(int(low), int(rng.choice((near, high))))
        return float(value) if rng.random() < hostile else value
    return round(rng.uniform(low, rng.choice((near, high))), 2) or 1


def _text(schema: Mapping[str, Any], live: Live, rng: random.Random, hostile: float) -> Any:
    if ENTITY in schema:
        known = list(live.entities.get(schema[ENTITY], {}))
        if known and rng.random() >= hostile:
            return rng.choice(known)
        every = [key for entities in live.entities.values() for key in entities]
        prefix = schema.get("pattern", "^x_").removeprefix("^").split("_", 1)[0]
        return rng.choice([f"{prefix}_999", f"{prefix}_0000", f"{prefix}_999\n", *every[:20]])
    if schema.get("format") == "date":
        if rng.random() < hostile:
            return rng.choice(HOSTILE_DATES)
        days = [v for known in live.entities.values() for facts in known.values() if isinstance(v := facts.get("day"), str)]
        near = rng.choice(days)[:8] if days and rng.random() < 0.7 else f"2026-{rng.randint(1, 12):02d}-"
        return f"{near}{rng.randint(1, 28):02d}"
    if rng.random() < hostile:
        return rng.choice(HOSTILE_TEXT + HOSTILE_TIMES)
    names = [
        v for entities in live.entities.values() for facts in entities.values() for v in facts.values() if isinstance(v, str)
    ]
    if "pattern" in schema:
        fitting = [name for name in names if re.search(schema["pattern"], name)]
        # the one pattern that several tools share without an entity is the time of day
        time = f"{rng.randint(7, 19):02d}:{rng.choice(('00', '15', '30', '45'))}"
        return rng.choice(fitting) if fitting and rng.random() < 0.5 else time
    return rng.choice(names) if names and rng.random() < 0.6 else f"{rng.choice(('New thing ', 'new'))}{rng.randint(1, 30)}"


@cache
def output_checkers(environment: Environment) -> dict[str, Checker]:
    """The compiled output schemas of an environment."""
    return {spec.name: Checker(spec.output_schema) for spec in environment.specs.values()}


class Driver:
    """Random calls on one session, checked one by one; learns identifiers from the results."""

    def __init__(self, session: Session, rng: random.Random, live: Live, hostile: float = 0.1) -> None:
        self.session, self.rng, self.live, self.hostile = session, rng, live, hostile
        self.specs = list(session.environment.specs.values())
        self.outputs = output_checkers(session.environment)
        self.log: list[tuple[str, dict[str, Any], Result]] = []
        self.digest = session.digest()

    def step(self) -> Result:
        """One random call with all checks."""
        spec = self.rng.choice(self.specs)
        return self.call(spec.name, random_arguments(spec, self.live, self.rng, self.hostile))

    def call(self, name: str, arguments: dict[str, Any]) -> Result:
        """One given call with all checks."""
        spec = self.session.environment.specs[name]
        try:
            result = self.session.call(name, arguments)
        except Exception as error:
            raise AssertionError(f"{name}({arguments!r}) raised {error!r}\n{self.story()}") from error
        self.log.append((name, arguments, result))
        digest = self.session.digest()
        if result.ok:
            violations = self.outputs[name].violations(result.content)
            assert not violations, f"{name}({arguments!r}) -> {result.content!r}: {violations}\n{self.story()}"
            assert not spec.read_only or digest == self.digest, f"read-only {name} changed the state\n{self.story()}"
            collect(result.content, spec.output_schema, self.live)
        else:
            assert result.error is not None
            assert result.error.kind in FAULT_KINDS
            assert result.error.message and result.error.remedy, f"{name}: {result.error}"
            assert len(result.error.message) <= 600, f"{name}: a refusal floods the context: {result.error.message[:200]}"
            assert digest == self.digest, f"refused {name} changed the state: {result.error}\n{self.story()}"
        self.digest = digest
        return result

    def story(self) -> str:
        """The calls so far, for a failure's message."""
        return "\n".join(f"  {n}({a!r}) -> {r.content if r.ok else r.error!r}" for n, a, r in self.log)


def drive(
    environment: Environment,
    session_seed: int,
    seed: int,
    live: Live,
    invariant: Invariant,
    calls: int = 40,
    hostile: float = 0.1,
) -> Driver:
    """`calls` random calls with all checks, then the same calls again: same results, same digest. Returns the driver."""
    live = Live({kind: {key: dict(facts) for key, facts in known.items()} for kind, known in live.entities.items()})
    with environment.session(session_seed) as session:
        driver = Driver(session, random.Random(seed), live, hostile)
        for _ in range(calls):
            driver.step()
            try:
                invariant(session)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{driver.story()}") from error
        final = session.digest()
    with environment.session(session_seed) as again:
        for name, arguments, result in driver.log:
            assert again.call(name, arguments) == result, f"{name}({arguments!r}) answered otherwise when repeated"
        assert again.digest() == final
    return driver


def ok(session: Session, tool: str, /, **arguments: Any) -> Any:
    """The content of a call that must succeed."""
    result = session.call(tool, arguments)
    assert result.ok, f"{tool}({arguments!r}): {result.error}"
    return result.content


def refused(session: Session, kind: str, tool: str, /, **arguments: Any) -> str:
    """The message of a call that must be refused with that kind of fault, and change nothing."""
    before = session.digest()
    result = session.call(tool, arguments)
    assert result.error is not None, f"{tool}({arguments!r}) was not refused: {result.content}"
    assert result.error.kind == kind, f"{tool}({arguments!r}): {result.error}"
    assert session.digest() == before
    return result.error.message


def state_of(session: Session, kind: type[Server]) -> Any:
    """The running server of a class inside a session, for invariants over its tables."""
    return session._server(session.environment.servers.index(kind))


def check_server(kind: type[Server], tools: int) -> None:
    """What holds for the definition of every server: enough tools, described inputs, the three kinds of argument."""
    specs = list(kind.specs.values())
    assert len(specs) >= tools
    nested = array = default = False
    for spec in specs:
        assert len(spec.description) <= 200, f"{spec.name}: a long description"
        for name, schema in spec.input_schema.get("properties", {}).items():
            assert _described(schema), f"{spec.name}.{name} has no description"
            nested |= "object" in (schema.get("type"), schema.get("items", {}).get("type"))
            array |= schema.get("type") == "array"
            default |= "default" in schema
    assert nested and array and default
    assert sum(spec.read_only for spec in specs) >= 3


def _described(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("description") or schema.get("enum") or schema.get("items", {}).get("description"))


def check_seeding(kind: type[Server]) -> None:
    """Same seed, same state; another seed, another; names and identifiers of held-out worlds never occur in training."""
    from tasks.servers.world import HELD_OUT_FROM, World

    assert kind.seed(World(5, kind.name)) == kind.seed(World(5, kind.name))
    assert kind.seed(World(5, kind.name)) != kind.seed(World(6, kind.name))
    training = {name for seed in range(40) for name in names_of(kind.seed(World(seed, kind.name)))}
    held_out = {name for seed in range(40) for name in names_of(kind.seed(World(HELD_OUT_FROM + seed, kind.name)))}
    assert training and held_out
    assert not training & held_out, f"names of both: {sorted(training & held_out)[:10]}"
    for name in training | held_out:
        assert name.isascii() and name.isprintable() and 1 <= len(name.split()) <= 3, name


def names_of(state: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The values of all fields called name or title."""
    return [
        getattr(row, field)
        for rows in state.values()
        for row in rows.values()
        for field in ("name", "title")
        if getattr(row, field, "")
    ]
