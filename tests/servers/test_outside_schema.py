"""Schemas, answers and folders of outside servers: odd ones are handled, or refused by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tasks.records import Result, ToolFault
from tasks.servers import outside_folder as folders
from tasks.servers.outside_answer import inward, kind_of, outward, read_answer
from tasks.servers.outside_schema import SchemaRefusedError, input_schema, output_schema, spec_of
from tasks.toolbox.schema import Checker

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
NODE = {"type": "object", "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}}}

ODD: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "none": (None, [{}, {"a": 1}], [[], 1]),
    "true": (True, [{}, {"a": 1}], [1]),
    "empty": ({}, [{}, {"a": 1}], [[]]),
    "a property that may be anything": ({"properties": {"a": True, "b": False}}, [{"a": [1]}], [{"b": 1}]),
    "references": (
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A", "description": "x"}}, "$defs": {"A": {"type": "integer"}}},
        [{"a": 1}],
        [{"a": "x"}],
    ),
    "a reference to a property": (
        {"properties": {"a": {"type": "integer"}, "b": {"$ref": "#/properties/a"}}},
        [{"b": 1}],
        [{"b": "x"}],
    ),
    "recursion": (
        {"properties": {"node": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": NODE}},
        [{"node": {"value": 1, "next": {"value": 2, "next": {"next": {"value": 3}}}}}],
        [{"node": {"value": 1, "next": {"value": 2, "next": {"next": {"value": "x"}}}}}],
    ),
    "recursion of the root": (
        {"type": "object", "properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}},
        [{"child": {"child": {"n": 1}}}],
        [{"child": {"child": {"n": "x"}}}, {"child": 3}],
    ),
    "draft 7": (
        {
            "$schema": DRAFT_7,
            "$id": "http://example.com/x",
            "definitions": {"A": {"type": "integer"}},
            "properties": {
                "a": {"$ref": "#/definitions/A"},
                "pair": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}], "additionalItems": False},
                "rest": {"type": "array", "items": [{"type": "integer"}], "additionalItems": {"type": "string"}},
            },
            "dependencies": {"a": ["pair"], "rest": {"required": ["a"]}},
        },
        [{}, {"pair": [1, "x"]}, {"a": 1, "pair": [1]}, {"rest": [1, "x", "y"], "a": 1, "pair": []}],
        [{"a": 1}, {"pair": ["x"]}, {"pair": [1, "x", 2]}, {"rest": [1, 2], "a": 1, "pair": []}, {"rest": []}],
    ),
    "draft 4": (
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "id": "x",
            "properties": {"a": {"minimum": 1, "exclusiveMinimum": True}, "b": {"maximum": 1, "exclusiveMaximum": False}},
        },
        [{"a": 2, "b": 1}],
        [{"a": 1}, {"b": 2}],
    ),
    "required as a mark": ({"properties": {"a": {"type": "string", "required": True}}}, [{}, {"a": "x"}], [{"a": 1}]),
    "types": ({"type": ["object", "null"], "required": ["a"]}, [{"a": 1}], [{}, None]),
    "a property called $ref": (
        {"properties": {"$ref": {"type": "integer"}, "title": {"type": "integer"}}},
        [{"$ref": 1}],
        [{"title": "x"}],
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_schemas_mean_what_they_say(case: str) -> None:
    given, right, wrong = ODD[case]
    schema = input_schema(given)
    assert schema["type"] == "object" and "$schema" not in schema
    checker = Checker(schema)
    assert [value for value in right if not checker.valid(value)] == []
    assert [value for value in wrong if checker.valid(value)] == []


def bomb(levels: int) -> dict[str, Any]:
    """Definitions each of which uses the next one twice."""
    definitions: dict[str, Any] = {f"d{levels}": {"type": "integer"}}
    for level in range(levels):
        reference = {"$ref": f"#/$defs/d{level + 1}"}
        definitions[f"d{level}"] = {"properties": {"a": reference, "b": reference}}
    return {"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions}


REFUSED: dict[str, tuple[Any, str]] = {
    "false": (False, "it is `false`"),
    "a list": ([], "it is list, not an object"),
    "an array": ({"type": "array"}, "of type 'array', but arguments are an object"),
    "a dialect": ({"$schema": "https://example.com/mine"}, "its dialect 'https://example.com/mine' is unknown"),
    "elsewhere": ({"properties": {"a": {"$ref": "https://example.com/a.json"}}}, "leads elsewhere, and nothing is fetched"),
    "nowhere": ({"properties": {"a": {"$ref": "#/$defs/None"}}}, "leads nowhere"),
    "an anchor": ({"properties": {"a": {"$ref": "#here"}}}, "is by anchor"),
    "dynamic": ({"properties": {"a": {"$dynamicRef": "#a"}}}, "dynamic reference"),
    "no schema": ({"properties": {"a": 3}}, "int where a schema belongs"),
    "no type": ({"properties": {"a": {"type": "integr"}}}, "not a valid JSON Schema"),
    "no pattern": ({"properties": {"a": {"type": "string", "pattern": "("}}}, "pattern"),
    "a bomb": (bomb(30), "more than 20000 places"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused_by_name(case: str) -> None:
    given, reason = REFUSED[case]
    with pytest.raises(
        SchemaRefusedError, match=f"(?s)^tool 'odd' of server 'far': its input schema cannot be used: .*{reason}"
    ):
        spec_of({"name": "odd", "inputSchema": given}, "far", "far_odd")
    assert spec_of({"name": "odd", "outputSchema": given}, "far", "x").output_schema in ({}, {"type": "array"}), (
        "only a promise"
    )


def test_titles_go_and_descriptions_stay() -> None:
    given = {
        "title": "fooArguments",
        "properties": {"title": {"title": "Title", "description": "Of the note.", "type": "string"}},
    }
    assert input_schema(given) == {"type": "object", "properties": {"title": {"description": "Of the note.", "type": "string"}}}
    wrapped = {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/A"}}},
        "required": ["result"],
    }
    assert output_schema({**wrapped, "$defs": {"A": {"type": "string"}}}) == {"type": "array", "items": {"type": "string"}}


def test_annotations_are_hints() -> None:
    def marks(read_only: bool = False, **hints: Any) -> tuple[bool, bool, bool]:
        spec = spec_of({"name": "t", "annotations": hints or None}, "s", "t", read_only)
        return spec.read_only, spec.destructive, spec.idempotent

    assert marks() == (False, False, False)
    assert marks(readOnlyHint=True, destructiveHint=True) == (True, False, True)
    assert marks(destructiveHint=True, idempotentHint=True) == (False, True, True)
    assert marks(read_only=True) == (True, False, True)
    assert marks(readOnlyHint="yes") == (False, False, False)


def text(*texts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": each} for each in texts]


ANSWERS: list[tuple[dict[str, Any], Any]] = [
    ({"content": text("plain")}, "plain"),
    ({"content": text('{"a": [1]}')}, {"a": [1]}),
    ({"content": text('{"a": 1, "a": 2}')}, '{"a": 1, "a": 2}'),
    ({"content": text("NaN")}, "NaN"),
    ({"content": text("1", "two")}, [1, "two"]),
    ({"content": []}, None),
    ({}, None),
    ({"content": text("x"), "structuredContent": {"a": 1}}, {"a": 1}),
    ({"content": text("x"), "structuredContent": None}, "x"),
    (
        {"content": [{"type": "image", "mimeType": "image/png", "data": "AAAA"}]},
        {"type": "image", "mime_type": "image/png", "bytes": 3},
    ),
    ({"content": [{"type": "resource", "resource": {"uri": "a:b", "text": "[1]"}}]}, [1]),
    (
        {"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": "AA=="}}]},
        {"type": "resource", "uri": "a:b", "bytes": 1},
    ),
    ({"content": [{"type": "resource_link", "uri": "a:b", "name": "n"}]}, {"type": "resource_link", "uri": "a:b", "name": "n"}),
]


@pytest.mark.parametrize(("answer", "content"), ANSWERS)
def test_answers(answer: dict[str, Any], content: Any) -> None:
    assert read_answer(answer, False, 1000, "c") == Result("c", True, content=content)


def test_answers_that_are_wrapped_bounded_refused_or_wrong() -> None:
    assert read_answer({"structuredContent": {"result": [1]}}, True, 100, "").content == [1]
    assert read_answer({"structuredContent": {"result": [1]}}, False, 100, "").content == {"result": [1]}
    large = read_answer({"content": text("x" * 100)}, False, 101, "")
    assert large.error is not None and large.error.kind == "unavailable" and "102 bytes" in large.error.message
    assert read_answer({"content": text("x" * 99)}, False, 101, "").ok
    ours = {"error": {"kind": "conflict", "message": "taken", "remedy": "Another."}}
    told = read_answer({"isError": True, "structuredContent": ours, "content": text("x")}, False, 100, "")
    assert told.error == ToolFault("conflict", "taken", "Another.")
    assert read_answer({"isError": True, "content": text("a" * 9000)}, False, 100, "").error == ToolFault(
        "invalid_value", "a" * 1000
    )
    for wrong in ("text", [3], None):
        with pytest.raises(ValueError, match="no list of objects"):
            read_answer({"content": wrong}, False, 100, "")


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("no such table: users", "not_found"),
        ("Branch 'x' already exists", "conflict"),
        ("Access denied - path outside allowed directories", "denied"),
        ("Database is locked", "wrong_state"),
        ("1 validation error for GitLog", "invalid_arguments"),
        ("near 'SELEC': syntax error", "invalid_value"),
    ],
)
def test_kinds_are_read_from_words(message: str, kind: str) -> None:
    assert kind_of(message) == kind


def test_paths_are_renamed_in_both_directions() -> None:
    root = Path("/tmp/rungs-outside-1")
    shown = {"/session/a": ["in /session/b", "/session-private/home", 3, None]}
    real = {f"{root}/work/a": [f"in {root}/work/b", f"{root}/home", 3, None]}
    assert outward(real, root) == shown
    assert inward({"p": "/session/a", "q": ["/session", "/sessions", "x/session", "/session-private"]}, root) == {
        "p": f"{root}/work/a",
        "q": [f"{root}/work", "/sessions", "x/session", "/session-private"],
    }


# -- folders ----------------------------------------------------------------------------------


def test_a_folder_is_a_private_copy_and_its_content_is_its_digest(tmp_path: Path) -> None:
    template = tmp_path / "seed"
    (template / "deep" / "empty").mkdir(parents=True)
    (template / "deep" / "a.txt").write_text("a")
    (template / "link").symlink_to("deep/a.txt")
    fresh = folders.manifest(template)
    assert list(fresh) == ["deep", "link", "deep/a.txt", "deep/empty"]
    copy = folders.WorkFolder.copy_of(template)
    try:
        assert folders.manifest(copy.work) == fresh and folders.digest(fresh) == folders.digest(folders.manifest(copy.work))
        (copy.work / "deep" / "a.txt").write_text("b")
        (copy.work / "deep" / "empty").rmdir()
        (copy.work / "new").mkdir()
        os.mkfifo(copy.work / "pipe")
        (copy.work / "away").symlink_to("/etc")
        now = folders.manifest(copy.work)
        shown = [line.split(" (")[0] for line in folders.diff(fresh, now)]
        assert shown == ["+ away link to '/etc'", "~ deep/a.txt 1 bytes", "- deep/empty folder", "+ new folder", "+ pipe other"]
        assert folders.digest(now) != folders.digest(fresh)
        assert (template / "deep" / "a.txt").read_text() == "a"
        os.utime(copy.work / "new", (0, 0))
        assert folders.manifest(copy.work) == now, "times do not count"
        (copy.work / "new").chmod(0)
    finally:
        copy.remove()
    assert not copy.root.exists() and Path("/etc").is_dir()
    copy.remove()


def test_templates_that_lead_out_are_refused(tmp_path: Path) -> None:
    template = tmp_path / "seed"
    template.mkdir()
    for target in ("/etc/passwd", "../other"):
        (template / "link").symlink_to(target)
        with pytest.raises(folders.TemplateError, match=r"link: the link leads out of the template .*; put a copy there"):
            folders.WorkFolder.copy_of(template)
        (template / "link").unlink()
    os.mkfifo(template / "pipe")
    with pytest.raises(folders.TemplateError, match="pipe: neither file nor folder; take it out"):
        folders.WorkFolder.copy_of(template)
