"""The dependency graph of an environment's tools: which tool must run before which, confirmed by running them.

    graph = dependencies(environment(["banking"]))
    graph.edges["find_account", "get_balance"]["explicit"]     # [{"entity": "account", "pointer": "/account_id"}]

Nodes are tools (`server`, `read_only`). An edge from A to B has
- `explicit`: an identifier that A's result holds, and that was not among A's arguments, feeds a required input of B. The
  candidates follow from equal identifier kinds in the schemas; one counts when some session saw A succeed, and B succeed
  with what A had shown.
- `implicit`: A must run first to set up state. One counts when a call of B that the fresh state refuses succeeds after A, in
  a session of the same seed, with the same arguments.
Candidates that were never seen to work are counted in `graph.graph["unconfirmed"]`. METHODS.md 3.2 (1), where a language
model labels the pairs; here nothing is believed that was not executed.

`cached` keeps the graph in a folder, under a digest of all schemas. Command line: `python -m tasks.servers graph NAME`.

Left out: edges between three tools at once (A and B must both run before C).
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx

from tasks.records import ToolSpec, canonical_json
from tasks.seeds import stream
from tasks.servers.fill import Input, UnfillableError, fill, inputs
from tasks.servers.sampler import Live, collect, sample
from tasks.servers.session import Environment

VERSION = 1
"""Of the algorithm; part of the cache's key."""

SEEDS = 6
"""Sessions of different seeds in which candidates are tried."""
TRIES = 8
"""Fillings of a call that are tried in one session."""
STATEFUL = frozenset({"wrong_state", "conflict", "insufficient", "not_found", "denied"})
"""Refusals that another state could lift."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A call that succeeded in the fresh state of `seed`: what it showed that it had not been given, by kind."""

    seed: int
    arguments: dict[str, Any]
    shown: dict[str, list[str]]


def schema_digest(environment: Environment) -> str:
    """Of all that the graph follows from: names, schemas and marks of the tools, and this module's version."""
    specs = [[s.name, s.input_schema, s.output_schema, s.read_only] for s in environment.specs.values()]
    return hashlib.sha256(canonical_json([VERSION, SEEDS, TRIES, specs]).encode()).hexdigest()


def dependencies(environment: Environment, seed: int = 0) -> nx.DiGraph:
    """The confirmed graph of `environment`; the same for the same seed."""
    specs = environment.specs
    graph = nx.DiGraph(schema=schema_digest(environment), unconfirmed=0)
    for spec in specs.values():
        graph.add_node(spec.name, server=spec.server, read_only=spec.read_only)
    lives = _lives(environment)
    seen = {spec.name: list(_successes(environment, spec, lives, stream(seed, "seen", spec.name))) for spec in specs.values()}
    for producer in specs:
        for consumer in specs.values():
            if producer == consumer.name:
                continue
            found = _explicit(environment, producer, seen[producer], consumer, lives, graph, seed)
            if found:
                graph.add_edge(producer, consumer.name, explicit=found, implicit=[])
    for consumer in specs.values():
        for producer, entity in _implicit(environment, consumer, lives, stream(seed, "implicit", consumer.name)):
            if not graph.has_edge(producer, consumer.name):
                graph.add_edge(producer, consumer.name, explicit=[], implicit=[])
            graph.edges[producer, consumer.name]["implicit"].append({"entity": entity})
    return graph


def _lives(environment: Environment) -> dict[int, Live]:
    found = {}
    for seed in range(SEEDS):
        with environment.session(seed) as session:
            found[seed] = sample(session)
    return found


def _successes(environment: Environment, spec: ToolSpec, lives: dict[int, Live], rng: random.Random) -> Iterator[_Seen]:
    """For every seed a call of the tool that succeeds in the fresh state, as far as one is found."""
    for seed, live in lives.items():
        for _ in range(TRIES):
            try:
                arguments = fill(spec, live, rng)
            except UnfillableError:
                break
            with environment.session(seed) as session:
                result = session.call(spec.name, arguments)
            if result.ok:
                yield _Seen(seed, arguments, _shown(spec, result.content, arguments))
                break


def _shown(spec: ToolSpec, content: Any, arguments: dict[str, Any]) -> dict[str, list[str]]:
    live = Live()
    collect(content, spec.output_schema, live)
    given = set(_strings(arguments))
    return {kind: new for kind, known in live.entities.items() if (new := [i for i in known if i not in given])}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(inner)


def _explicit(
    environment: Environment,
    producer: str,
    seen: Sequence[_Seen],
    consumer: ToolSpec,
    lives: dict[int, Live],
    graph: nx.DiGraph,
    seed: int,
) -> list[dict[str, str]]:
    """The consumer's required identifiers that results of the producer were seen to feed."""
    kinds = {kind for each in seen for kind in each.shown}
    found = []
    for wanted in inputs(consumer.input_schema):
        if not wanted.required or wanted.entity not in kinds:
            continue
        rng = stream(seed, "explicit", producer, consumer.name, wanted.pointer)
        if any(_feeds(environment, producer, each, consumer, wanted, lives[each.seed], rng) for each in seen):
            found.append({"entity": wanted.entity, "pointer": wanted.pointer})
        else:
            graph.graph["unconfirmed"] += 1
    return found


def _feeds(
    environment: Environment, producer: str, seen: _Seen, consumer: ToolSpec, wanted: Input, live: Live, rng: random.Random
) -> bool:
    for _ in range(TRIES):
        if wanted.entity not in seen.shown:
            return False
        try:
            arguments = fill(consumer, live, rng, {wanted.pointer: rng.choice(seen.shown[wanted.entity])})
        except UnfillableError:
            return False
        with environment.session(seen.seed) as session:
            if session.call(producer, seen.arguments).ok and session.call(consumer.name, arguments).ok:
                return True
    return False


def _implicit(
    environment: Environment, consumer: ToolSpec, lives: dict[int, Live], rng: random.Random
) -> Iterator[tuple[str, str]]:
    """(producer, the kind of the entity whose state it sets up) for calls that only the producer makes possible."""
    kinds = {i.entity: i.pointer for i in inputs(consumer.input_schema)}
    writers = [
        (spec, i)
        for spec in environment.specs.values()
        if not spec.read_only and spec.name != consumer.name
        for i in inputs(spec.input_schema)
        if i.entity in kinds
    ]
    done: set[str] = set()
    for seed, live in lives.items():
        for _ in range(TRIES):
            try:
                arguments = fill(consumer, live, rng)
            except UnfillableError:
                return
            with environment.session(seed) as session:
                refusal = session.call(consumer.name, arguments).error
            if refusal is None or refusal.kind not in STATEFUL:
                continue
            known = set(_strings(arguments))
            for spec, wanted in writers:
                shared = [i for i in live.entities.get(wanted.entity, ()) if i in known]
                if spec.name in done or not shared:
                    continue
                if _opens(environment, seed, spec, wanted, rng.choice(shared), consumer, arguments, live, rng):
                    done.add(spec.name)
                    yield spec.name, wanted.entity


def _opens(
    environment: Environment,
    seed: int,
    spec: ToolSpec,
    wanted: Input,
    identifier: str,
    consumer: ToolSpec,
    arguments: dict[str, Any],
    live: Live,
    rng: random.Random,
) -> bool:
    for _ in range(2):
        try:
            before = fill(spec, live, rng, {wanted.pointer: identifier})
        except UnfillableError:
            return False
        with environment.session(seed) as session:
            if session.call(spec.name, before).ok and session.call(consumer.name, arguments).ok:
                return True
    return False


def cached(environment: Environment, folder: Path, seed: int = 0) -> nx.DiGraph:
    """`dependencies`, kept as `folder`/NAMES.json and made again when a schema has changed."""
    path = folder / f"{'+'.join(environment.names)}.json"
    if path.is_file():
        stored = json.loads(path.read_bytes())
        if stored["graph"].get("schema") == schema_digest(environment) and stored["graph"].get("seed") == seed:
            return nx.node_link_graph(stored, edges="edges")
    graph = dependencies(environment, seed)
    graph.graph["seed"] = seed
    folder.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(json.dumps(nx.node_link_data(graph, edges="edges"), indent=1))
    temporary.replace(path)
    return graph


def counts(graph: nx.DiGraph) -> dict[str, int]:
    """How many tools, edges of either kind, and unconfirmed candidates there are."""
    found: dict[str, int] = defaultdict(int)
    for _, _, edge in graph.edges(data=True):
        found["explicit"] += bool(edge["explicit"])
        found["implicit"] += bool(edge["implicit"])
    return {
        "tools": len(graph),
        "explicit": found["explicit"],
        "implicit": found["implicit"],
        "unconfirmed": graph.graph["unconfirmed"],
    }
