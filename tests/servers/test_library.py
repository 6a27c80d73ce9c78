"""The library as a whole: names, documentation, schemas and identifiers of all servers."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tasks.records import ToolSpec
from tasks.servers import NAMES, Environment, Server, environment, server
from tasks.servers.tool import specs_of, tool
from tasks.servers.typed import ENTITY
from tasks.toolbox.schema import Checker
from tests.servers.driver import check_server, refused
from tests.servers.tiny import Tiny

ALL = environment(NAMES)
SPECS = list(ALL.specs.values())


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object inside a schema, itself included."""
    if isinstance(schema, list):
        for item in schema:
            yield from parts(item)
    elif isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from parts(value)


def entities(schema: Any) -> set[str]:
    return {part[ENTITY] for part in parts(schema) if isinstance(part.get(ENTITY), str)}


def test_there_are_enough_tools() -> None:
    assert ALL.names == list(NAMES)
    assert len(SPECS) >= 50
    assert {spec.server for spec in SPECS} == set(NAMES)


def test_tool_names_are_unique() -> None:
    counts = Counter(name for each in NAMES for name in server(each).specs)
    assert max(counts.values()) == 1
    assert list(counts) == [spec.name for spec in SPECS]


@pytest.mark.parametrize("name", NAMES)
def test_each_server(name: str) -> None:
    found = server(name)
    assert found.name == name and found.title and found.__doc__
    check_server(found, tools=10)


@pytest.mark.parametrize("name", NAMES)
def test_each_tool(name: str) -> None:
    for spec in server(name).specs.values():
        check_tool(spec)


def check_tool(spec: ToolSpec) -> None:
    """What holds for every tool."""
    assert re.fullmatch(r"[a-z][a-z0-9_]{1,40}", spec.name)
    assert spec.description[:1].isupper() and spec.description.isascii(), spec.name
    for schema in (spec.input_schema, spec.output_schema):
        Draft202012Validator.check_schema(schema)
        assert "$ref" not in str(schema) or "$defs" in schema, spec.name
    assert spec.input_schema["type"] == "object", spec.name
    assert spec.input_schema["additionalProperties"] is False, spec.name
    assert not (spec.read_only and spec.destructive), spec.name
    assert spec.idempotent or not spec.read_only, spec.name
    checker = Checker(spec.input_schema)
    for parameter, schema in spec.input_schema["properties"].items():
        if schema.get("default") is not None:
            assert Checker(schema).valid(schema["default"]), f"the default of {spec.name}.{parameter}"
    assert not checker.valid({"no_such_parameter": 1}), spec.name


def test_identifiers_are_typed() -> None:
    """An identifier of one kind is no identifier of another, and every kind that a tool needs is shown by another."""
    patterns: dict[str, set[str]] = {}
    for spec in SPECS:
        for part in parts([spec.input_schema, spec.output_schema]):
            if isinstance(part.get(ENTITY), str):
                patterns.setdefault(part[ENTITY], set()).add(part.get("pattern", "path"))
    assert len(patterns) >= 10
    assert all(len(found) == 1 for found in patterns.values()), patterns
    assert {kind for kind, found in patterns.items() if found == {"path"}} == {"file", "folder", "link"}
    assert len({pattern for found in patterns.values() for pattern in found - {"path"}}) == len(patterns) - 3
    for spec in SPECS:
        others = [other.output_schema for other in SPECS if other.name != spec.name]
        assert entities(spec.input_schema) <= entities(others), spec.name


@pytest.mark.parametrize("name", NAMES)
def test_each_server_has_identifiers_and_chains(name: str) -> None:
    specs = server(name).specs.values()
    shown = entities([spec.output_schema for spec in specs])
    needing = [spec.name for spec in specs if entities(spec.input_schema) & shown]
    assert len(shown) >= 2
    assert len(needing) >= 5


def test_an_unknown_server_is_refused() -> None:
    with pytest.raises(ValueError, match="no server 'bank' in the library; one of banking"):
        server("bank")


# -- what the decorator refuses, and what the servers' base does -------------------------------


def test_a_tool_needs_words_and_types() -> None:
    class Silent:
        @tool()
        def act(self) -> int:
            return 1

    class Untyped:
        @tool()
        def act(self, amount) -> int:  # type: ignore[no-untyped-def]
            """Acts."""
            return 1

    class Unanswered:
        @tool()
        def act(self):  # type: ignore[no-untyped-def]
            """Acts."""

    for cls, fault in ((Silent, "docstring"), (Untyped, "parameter amount"), (Unanswered, "return annotation")):
        with pytest.raises(TypeError, match=rf"s\.act: .*{fault}"):
            specs_of(cls, "s")


def test_only_own_and_marked_methods_become_tools() -> None:
    class Derived(Tiny):
        name = "derived"

        @tool(read_only=True)
        def more(self) -> int:
            """One more."""
            return 1

        def helper(self) -> int:
            """No tool."""
            return 1

    assert list(Derived.specs) == ["more"]
    assert "public_helper" not in Tiny.specs
    assert not hasattr(Server, "specs")


def test_the_documented_server_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "docs" / "servers.md").read_text(encoding="utf-8")
    (source,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "class Notes" in block]
    path = tmp_path / "documented_notes.py"
    path.write_text(source, encoding="utf-8")
    described = importlib.util.spec_from_file_location("documented_notes", path)
    assert described is not None and described.loader is not None
    module = importlib.util.module_from_spec(described)
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where dataclasses look for it
    described.loader.exec_module(module)
    with Environment([module.Notes]).session(7) as session:
        notes = session.call("list_notes", {"limit": 50}).content
        assert len(notes) == 8
        renamed = {"note_id": notes[0]["note_id"], "title": "Else"}
        assert session.call("rename_note", renamed).content == renamed
        assert session.call("list_notes", {"limit": 1}).content == [renamed]
        missing = next(f"note_{n}" for n in range(100, 999) if f"note_{n}" not in {note["note_id"] for note in notes})
        assert refused(session, "not_found", "rename_note", note_id=missing, title="x") == f"there is no note {missing}"
        assert specs_of(module.Notes, "notes")["rename_note"].input_schema["properties"]["note_id"][ENTITY] == "note"
