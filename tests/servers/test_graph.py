"""The dependency graph: edges are what execution shows, chains run, entities fit, the cache follows the schemas."""

from __future__ import annotations

import json
import random
from pathlib import Path

import networkx as nx
import pytest

from tasks.servers import environment
from tasks.servers.__main__ import main
from tasks.servers.chains import chains, dags, fit
from tasks.servers.fill import UnfillableError, fill, inputs
from tasks.servers.graph import cached, counts, dependencies
from tasks.servers.sampler import Live, sample
from tasks.servers.session import Environment

BANK = environment(["banking"])


@pytest.fixture(scope="module")
def graph() -> nx.DiGraph:
    return dependencies(BANK)


def explicit(graph: nx.DiGraph, producer: str, consumer: str) -> list[tuple[str, str]]:
    if not graph.has_edge(producer, consumer):
        return []
    return [(e["entity"], e["pointer"]) for e in graph.edges[producer, consumer]["explicit"]]


def test_explicit_edges_join_what_shows_an_identifier_to_what_needs_it(graph: nx.DiGraph) -> None:
    assert explicit(graph, "find_account", "get_balance") == [("account", "/account_id")]
    assert explicit(graph, "get_account_card", "freeze_card") == [("card", "/card_id")]
    assert set(explicit(graph, "list_accounts", "transfer_money")) == {("account", "/source_id"), ("account", "/target_id")}


def test_an_identifier_that_was_given_is_no_news(graph: nx.DiGraph) -> None:
    assert "card_id" in BANK.specs["get_card"].input_schema["required"]
    assert not explicit(graph, "get_card", "freeze_card"), "whoever can call get_card has the card's identifier already"


def test_kinds_never_mix(graph: nx.DiGraph) -> None:
    for producer, consumer, data in graph.edges(data=True):
        wanted = {(i.entity, i.pointer) for i in inputs(BANK.specs[consumer].input_schema) if i.required}
        assert {(e["entity"], e["pointer"]) for e in data["explicit"]} <= wanted, (producer, consumer)


def test_implicit_edges_are_calls_that_the_fresh_state_refuses(graph: nx.DiGraph) -> None:
    found = {(u, v) for u, v, data in graph.edges(data=True) if data["implicit"]}
    assert ("freeze_card", "unfreeze_card") in found
    assert not any(BANK.specs[producer].read_only for producer, _ in found), "who only reads sets up nothing"


def test_the_same_seed_gives_the_same_graph(graph: nx.DiGraph) -> None:
    assert nx.node_link_data(dependencies(BANK), edges="edges") == nx.node_link_data(graph, edges="edges")


def test_the_cache_is_read_until_a_schema_changes(tmp_path: Path) -> None:
    tiny = environment(["shopping"])
    first = cached(tiny, tmp_path)
    path = tmp_path / "shopping.json"
    stored = json.loads(path.read_bytes())
    stored["edges"] = stored["edges"][:1]
    path.write_text(json.dumps(stored))
    assert cached(tiny, tmp_path).number_of_edges() == 1, "what is stored is believed"
    stored["graph"]["schema"] = "another"
    path.write_text(json.dumps(stored))
    assert cached(tiny, tmp_path).number_of_edges() == first.number_of_edges()
    assert counts(first)["tools"] == len(tiny.specs)


@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_chains_are_paths_and_dags_are_acyclic_and_connected(graph: nx.DiGraph, length: int) -> None:
    found = chains(graph, length, 10, random.Random(1))
    assert len(found) == len(set(found)) == 10
    for chain in found:
        assert len(set(chain)) == length and nx.is_path(graph, chain)
    for dag in dags(graph, length, 10, random.Random(1)):
        assert len(dag) == length and nx.is_directed_acyclic_graph(dag) and nx.is_weakly_connected(dag)
        place = {node: n for n, node in enumerate(dag)}
        assert all(place[u] < place[v] for u, v in dag.edges), "in order"


def test_long_dags_are_found(graph: nx.DiGraph) -> None:
    assert [len(d) for d in dags(graph, 10, 3, random.Random(0))] == [10] * 3


@pytest.mark.parametrize("length", [0, 1, 11])
def test_other_lengths_are_refused(graph: nx.DiGraph, length: int) -> None:
    for made in (chains, dags):
        with pytest.raises(ValueError, match="from 2 to 10"):
            made(graph, length, 1, random.Random(0))


def test_a_chain_is_fitted_with_entities_that_exist_and_runs(graph: nx.DiGraph) -> None:
    rng = random.Random(5)
    fitted = [f for chain in chains(graph, 3, 12, rng) if (f := fit(BANK, graph, chain, 3, rng))]
    assert len(fitted) >= 6
    with BANK.session(3) as session:
        live = sample(session)
    for found in fitted:
        for kind, identifiers in found.entities.items():
            assert set(identifiers) <= set(live.entities[kind])
        with BANK.session(found.seed) as session:
            assert all(session.call(name, arguments).ok for name, arguments in found.calls)


def test_the_freed_card_is_the_frozen_one(graph: nx.DiGraph) -> None:
    found = fit(BANK, graph, ["freeze_card", "unfreeze_card"], 4, random.Random(0))
    assert found is not None
    (_, frozen), (_, freed) = found.calls
    assert frozen["card_id"] == freed["card_id"]
    assert found.entities == {"card": [frozen["card_id"]]}


def test_a_chain_that_no_entity_fits_is_none(graph: nx.DiGraph) -> None:
    assert fit(BANK, graph, ["close_account"] * 30, 4, random.Random(0), tries=2) is None


@pytest.mark.parametrize("seed", [0, 7])
def test_filled_arguments_satisfy_every_schema(seed: int) -> None:
    whole: Environment = environment()
    with whole.session(seed) as session:
        live = sample(session)
    rng = random.Random(seed)
    filled = 0
    for spec in whole.specs.values():
        for _ in range(5):
            try:
                arguments = fill(spec, live, rng)
            except UnfillableError:
                continue
            filled += 1
            violations = whole.checkers[spec.name].violations(arguments)
            assert not violations, f"{spec.name}({arguments}): {violations}"
    assert filled >= 0.75 * 5 * len(whole.specs), "what exists only after other calls is not filled, all else is"


def test_a_missing_kind_is_named() -> None:
    with pytest.raises(UnfillableError, match="no card is shown"):
        fill(BANK.specs["freeze_card"], Live(), random.Random(0))


def test_given_values_are_kept_also_inside_objects() -> None:
    spec = BANK.specs["get_balance"]
    assert fill(spec, Live(), random.Random(0), {"/account_id": "acc_123"})["account_id"] == "acc_123"


def test_the_command_writes_json_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "banking", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "banking.png").read_bytes().startswith(b"\x89PNG")
    assert {e["source"] for e in json.loads((tmp_path / "banking.json").read_text())["edges"]} & {"find_account"}
    assert " -> " in capsys.readouterr().out
    assert main(["graph", "bnking", "--out", str(tmp_path)]) == 2
