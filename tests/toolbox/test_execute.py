"""Execution of turns and plans on a real session, and the texts that the model reads."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass

import pytest

from tasks.records import ParseFailure, Result, ToolFault
from tasks.servers.session import Environment, Server, Session, ToolCrashError
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.world import World
from tasks.toolbox.execute import execute, execute_plan, fault_message, render_result
from tasks.toolbox.faults import FAULTS
from tasks.toolbox.parse import parse_hermes, render_hermes
from tasks.toolbox.plan import parse_plan


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    value: int


class Shelf(Server):
    """A shelf of numbers."""

    name = "shelf"
    title = "Numbers by name."
    rows: Table[Row]

    def __init__(self, seed: Seed, now: dt.datetime) -> None:
        super().__init__(seed, now)

    @classmethod
    def seed(cls, world: World) -> Seed:
        return {"rows": {"a": Row("a", 1)}}

    @tool()
    def put(self, key: str, value: int) -> dict[str, int]:
        """Puts a value."""
        if value < 0:
            raise ToolError("invalid_value", "a value is not negative", "Give 0 or more.")
        self.rows.put(key, Row(key, value))
        return {"value": value}

    @tool(read_only=True)
    def get(self, key: str) -> dict[str, int]:
        """Gets a value."""
        row = self.rows.get(key)
        if row is None:
            raise ToolError("not_found", f"nothing under {key}")
        return {"value": row.value}

    @tool(read_only=True)
    def broken(self) -> int:
        """A defect of ours."""
        raise ZeroDivisionError


@pytest.fixture
def session() -> Session:
    return Environment([Shelf]).session(1)


def test_calls_run_in_the_order_written_and_failures_do_not(session: Session) -> None:
    text = (
        render_hermes("put", {"key": "b", "value": 5})
        + '<tool_call>{"name": "put", "arguments": {"key": "b", "value": 6, "value": 6}}</tool_call>'
        + render_hermes("get", {"key": "b"})
        + render_hermes("get", {"key": "zz"})
        + render_hermes("nothing", {})
        + render_hermes("put", {"key": "c", "value": "ten"})
        + render_hermes("put", {"key": "b", "value": -1})
    )
    turn = parse_hermes(text, first_id=4)
    results = execute(session, turn)
    assert [(r.call_id, r.ok, r.content, r.error.kind if r.error else None) for r in results] == [
        ("4", True, {"value": 5}, None),
        ("6", True, {"value": 5}, None),
        ("7", False, None, "not_found"),
        ("8", False, None, "unknown_tool"),
        ("9", False, None, "invalid_arguments"),
        ("10", False, None, "invalid_value"),
    ]
    assert turn.failure_ids() == ["5"]


def test_a_defect_of_a_tool_is_not_hidden(session: Session) -> None:
    with pytest.raises(ToolCrashError, match="ZeroDivisionError"):
        execute(session, parse_hermes(render_hermes("broken", {})))


def test_a_plan_runs_with_its_references(session: Session) -> None:
    body = {
        "0": {"get": {"key": "a"}},
        "1": {"put": {"key": "b", "value": "API_RESPONSE_0"}},
        "2": {"get": {"key": "zz"}},
        "3": {"put": {"key": "c", "value": "API_RESPONSE_2"}},
        "4": {"put": {"key": "c", "value": "API_RESPONSE_5"}},
        "5": {"get": {"key": "b"}},
    }
    plan = parse_plan(f'<think></think><tool_call return="one">{json.dumps(body)}</tool_call>')
    results = execute_plan(session, plan)
    assert [(r.call_id, r.ok, r.error.kind if r.error else None) for r in results] == [
        ("0", True, None),
        ("1", True, None),
        ("2", False, "not_found"),
        ("3", False, "invalid_reference"),
        ("4", False, "invalid_reference"),
        ("5", True, None),
    ]
    assert results[-1].content == {"value": 1}
    assert "call 2 failed" in render_result(results[3]) and "no call 5 has run" in render_result(results[4])


@pytest.mark.parametrize("kind", FAULTS)
def test_every_fault_has_a_message_for_the_model(kind: str) -> None:
    message = json.loads(fault_message(ParseFailure(kind, 12, "")))
    assert message["error"]["kind"] == kind and message["error"]["position"] == 12
    assert FAULTS[kind] in message["error"]["message"]


def test_fault_messages_are_short_and_exact() -> None:
    hostile = '<tool_call>{"name": "f", "arguments": {"' + "k" * 5000 + '": 1, "' + "k" * 5000 + '": 2}}</tool_call>'
    (failure,) = parse_hermes(hostile).failures
    assert len(fault_message(failure)) < 300
    assert fault_message(ParseFailure("empty", 3, "x" * 5000)).count("x") == 200
    with pytest.raises(KeyError):
        fault_message(ParseFailure("no such kind", 0))


def test_render_result() -> None:
    assert render_result(Result("0", True, {"b": [1, 2.5, "é"], "a": None})) == '{"b":[1,2.5,"é"],"a":null}'
    assert render_result(Result("0", True, 2**70)) == str(2**70)
    assert json.loads(render_result(Result("0", True, "\ud800"))) == "\ud800"
    refused = Result("0", False, error=ToolFault("not_found", "no such key", "Use list_keys."))
    assert render_result(refused) == '{"error":{"kind":"not_found","message":"no such key","remedy":"Use list_keys."}}'
    bare = Result("0", False, error=ToolFault("denied", "no"))
    assert render_result(bare) == '{"error":{"kind":"denied","message":"no"}}'
