"""The live-state sampler: what it finds, what it may call, and where it stops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tasks.records import Result
from tasks.servers import NAMES, environment
from tasks.servers.sampler import Live, collect, sample
from tasks.servers.session import Session
from tasks.servers.typed import ENTITY
from tests.servers.tiny import TINY


class Watched(Session):
    """A session that notes its calls."""

    __slots__ = ("calls",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.calls: list[str] = []

    def call(self, name: str, arguments: Mapping[str, Any], call_id: str = "", *, key: str | None = None) -> Result:
        self.calls.append(name)
        return super().call(name, arguments, call_id, key=key)


def test_facts_of_a_small_server() -> None:
    with TINY.session(3) as session:
        live = sample(session)
    assert live.entities == {
        "counter": {
            "count_100": {"counter_id": "count_100", "total": 3},
            "count_200": {"counter_id": "count_200", "total": 0},
        }
    }


@pytest.mark.parametrize("name", NAMES)
def test_found_entities_exist(name: str) -> None:
    """Every identifier found is accepted by a tool that takes just that kind."""
    servers = environment([name])
    with servers.session(7) as session:
        live = sample(session)
        assert len(live.entities) >= 2
        assert sum(map(len, live.entities.values())) >= 20
        asked = 0
        for spec in servers.specs.values():
            required = spec.input_schema.get("required", [])
            kinds = [spec.input_schema["properties"][r].get(ENTITY) for r in required]
            if spec.read_only and len(kinds) == 1 and kinds[0] in live.entities:
                for identifier in list(live.entities[kinds[0]])[:5]:
                    result = session.call(spec.name, {required[0]: identifier})
                    # a known entity may still lack what is asked: a card without charges
                    assert result.ok or result.error is not None
                    assert result.ok or f"there is no {kinds[0]} {identifier}" not in result.error.message
                    asked += 1
    assert asked >= 10


@pytest.mark.parametrize("name", NAMES)
def test_sampling_only_reads(name: str) -> None:
    servers = environment([name])
    with Watched(servers, 7) as session:
        before = session.digest()
        sample(session)
        assert session.digest() == before
        assert all(servers.specs[called].read_only for called in session.calls)
        assert len(session.calls) <= 1000


@pytest.mark.parametrize("limit", [0, 1, 10])
def test_the_bound_on_calls_holds(limit: int) -> None:
    with Watched(environment(NAMES), 7) as session:
        sample(session, limit=limit)
        assert len(session.calls) == limit


def test_same_seed_same_view_another_seed_another() -> None:
    views = []
    for seed in (5, 5, 6):
        with environment(["banking"]).session(seed) as session:
            views.append(sample(session).entities)
    assert views[0] == views[1] != views[2]
    assert list(views[0]["account"]) == list(views[1]["account"])


def test_what_a_session_did_is_seen() -> None:
    with environment(["banking"]).session(7) as session:
        key = session.call("open_account", {"name": "Boat", "kind": "savings"}).content["account_id"]
        assert sample(session).entities["account"][key]["name"] == "Boat"


def test_facts_are_merged_and_the_first_wins() -> None:
    live = Live()
    assert live.add("card", "card_1", {"limit": 5, "status": None})
    assert not live.add("card", "card_1", {"limit": 6, "status": "active"})
    assert live.entities == {"card": {"card_1": {"limit": 5, "status": "active"}}}


def test_collecting_from_a_nested_result() -> None:
    card = {"type": "string", ENTITY: "card"}
    account = {"type": "string", ENTITY: "account"}
    inner = {"type": "object", "properties": {"account_id": account, "name": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {
            "card_id": card,
            "limit": {"type": "number"},
            "owner": inner,
            "others": {"type": "array", "items": account},
        },
    }
    live = Live()
    content = {
        "card_id": "card_1",
        "limit": 5.0,
        "owner": {"account_id": "acc_1", "name": "Joint"},
        "others": ["acc_2", None, "acc_1"],
    }
    collect([content, {"card_id": None, "limit": 1.0}], {"type": "array", "items": schema}, live)
    assert live.entities == {
        "card": {"card_1": {"card_id": "card_1", "limit": 5.0}},
        "account": {"acc_1": {"account_id": "acc_1", "name": "Joint"}, "acc_2": {}},
    }
