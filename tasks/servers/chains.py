"""Chains and DAGs of tools out of a dependency graph, and the entities that fit them.

    graph = dependencies(environment)
    for chain in chains(graph, 4, count=20, rng=rng):           # ("find_account", "get_account_card", ...)
        plan = fit(environment, graph, chain, seed=7, rng=rng)   # calls that succeed one after another, or None
    for dag in dags(graph, 5, count=20, rng=rng): ...            # acyclic and connected networkx graphs

Lengths are from 2 to 10 tools (METHODS.md 3.2 (1) has 2 to 5).

Left out: a tool that occurs twice in a chain.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx

from tasks.servers.fill import UnfillableError, fill, inputs
from tasks.servers.sampler import Live, collect, sample
from tasks.servers.session import Environment, Session
from tasks.toolbox.pointer import get

SHORTEST, LONGEST = 2, 10
PATIENCE = 40
"""Random walks per chain or DAG that is asked for, before fewer are given back."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Calls (tool, arguments) that succeed in this order in a fresh session of `seed`, and the entities that they need at
    the start: kind -> identifiers that no earlier call of the chain shows."""

    seed: int
    calls: tuple[tuple[str, dict[str, Any]], ...]
    entities: dict[str, list[str]]


def _check(length: int) -> None:
    if not SHORTEST <= length <= LONGEST:
        raise ValueError(f"a chain of {length} tools: lengths are from {SHORTEST} to {LONGEST}")


def chains(graph: nx.DiGraph, length: int, count: int, rng: random.Random) -> list[tuple[str, ...]]:
    """Up to `count` different simple paths of `length` tools. Fewer when random walks find no more.

    Raises ValueError for a length outside 2 to 10.
    """
    _check(length)
    starts = [node for node in graph if graph.out_degree(node)]
    found: dict[tuple[str, ...], None] = {}
    for _ in range(PATIENCE * count if starts else 0):
        walk = [rng.choice(starts)]
        while len(walk) < length:
            onward = [node for node in graph.successors(walk[-1]) if node not in walk]
            if not onward:
                break
            walk.append(rng.choice(onward))
        if len(walk) == length:
            found.setdefault(tuple(walk))
        if len(found) == count:
            break
    return list(found)


def dags(graph: nx.DiGraph, size: int, count: int, rng: random.Random) -> list[nx.DiGraph]:
    """Up to `count` different connected acyclic subgraphs of `size` tools, whose nodes stand in an order that respects their
    edges. Raises ValueError for a size outside 2 to 10."""
    _check(size)
    starts = [node for node in graph if graph.degree(node)]
    found: dict[tuple[str, ...], nx.DiGraph] = {}
    for _ in range(PATIENCE * count if starts else 0):
        order = [rng.choice(starts)]
        while len(order) < size:
            after = {v for u in order for v in graph.successors(u)} - set(order)
            before = set(graph.predecessors(order[0])) - set(order)
            choices = [(v, True) for v in sorted(after)] + [(v, False) for v in sorted(before)]
            if not choices:
                break
            node, last = rng.choice(choices)
            order.insert(len(order) if last else 0, node)
        if len(order) < size or tuple(sorted(order)) in found:
            continue
        place = {node: n for n, node in enumerate(order)}
        dag = nx.DiGraph()
        dag.add_nodes_from((node, graph.nodes[node]) for node in order)
        dag.add_edges_from((u, v, graph.edges[u, v]) for u, v in graph.edges if place.get(u, size) < place.get(v, -1))
        found[tuple(sorted(order))] = dag
        if len(found) == count:
            break
    return list(found.values())


def fit(
    environment: Environment, graph: nx.DiGraph, tools: Sequence[str], seed: int, rng: random.Random, tries: int = 30
) -> Fitted | None:
    """Calls of `tools`, in this order, that all succeed in the state of `seed`; each takes from its predecessors what the
    graph's edges between them say. None when `tries` attempts found none: the state has no entities for this chain."""
    with environment.session(seed) as session:
        live = sample(session)
        for _ in range(tries):
            session.reset()
            calls = _attempt(session, graph, tools, live, rng)
            if calls is not None:
                return _fitted(environment, seed, calls)
    return None


def _attempt(
    session: Session, graph: nx.DiGraph, tools: Sequence[str], live: Live, rng: random.Random
) -> list[tuple[str, dict[str, Any]]] | None:
    specs = session.environment.specs
    shown: dict[str, dict[str, list[str]]] = {}  # tool -> kind -> identifiers of its result
    calls: list[tuple[str, dict[str, Any]]] = []
    used: dict[str, dict[str, Any]] = {}
    for name in tools:
        given: dict[str, Any] = {}
        for before in used:
            if not graph.has_edge(before, name):
                continue
            edge = graph.edges[before, name]
            for each in edge["explicit"]:
                if known := shown[before].get(each["entity"]):
                    given[each["pointer"]] = rng.choice(known)
            for each in edge["implicit"]:
                same = _identifiers(specs[before].input_schema, used[before], each["entity"])
                for wanted in inputs(specs[name].input_schema):
                    if wanted.entity == each["entity"] and same:
                        given.setdefault(wanted.pointer, same[0])
        try:
            arguments = fill(specs[name], live, rng, given)
        except UnfillableError:
            return None
        result = session.call(name, arguments)
        if not result.ok:
            return None
        told = Live()
        collect(result.content, specs[name].output_schema, told)
        shown[name] = {kind: list(known) for kind, known in told.entities.items()}
        used[name] = arguments
        calls.append((name, arguments))
    return calls


def _identifiers(schema: dict[str, Any], arguments: dict[str, Any], entity: str) -> list[str]:
    """The identifiers of a kind among a call's arguments."""
    found = (get(arguments, each.pointer) for each in inputs(schema) if each.entity == entity)
    return [value for value in found if isinstance(value, str)]


def _fitted(environment: Environment, seed: int, calls: Sequence[tuple[str, dict[str, Any]]]) -> Fitted:
    """Replays the calls, and keeps the identifiers that were needed before any call had shown them."""
    needed: dict[str, list[str]] = {}
    told = Live()
    with environment.session(seed) as session:
        for name, arguments in calls:
            spec = environment.specs[name]
            for kind in sorted({each.entity for each in inputs(spec.input_schema)}):
                for identifier in _identifiers(spec.input_schema, arguments, kind):
                    if identifier not in told.entities.get(kind, {}) and identifier not in needed.get(kind, []):
                        needed.setdefault(kind, []).append(identifier)
            collect(session.call(name, arguments).content, spec.output_schema, told)
    return Fitted(seed, tuple(calls), needed)
