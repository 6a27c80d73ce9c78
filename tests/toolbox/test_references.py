"""References to earlier results: decision 1 of METHODS.md (c), edges, and what a reference must not do."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.records import Call, Edge
from tasks.toolbox.references import (
    MAX_REFERENCES,
    UnresolvedReferenceError,
    chain_depth,
    edges,
    literal_violations,
    resolve,
)
from tasks.toolbox.schema import Checker

RESULTS: dict[str, Any] = {
    "0": {"status_code": 200, "Location": "Oslo"},
    "1": {"status_code": 200, "count": 2, "Listings": [{"id": 7}, {"id": 8}]},
    "2": "plain",
    "3": {"status_code": 200, "error": None, "only": [1]},
    "4": {"item": 1, "items": 2, "ITEM": 3},
    "10": 10,
}


@pytest.mark.parametrize(
    ("name", "reference", "value"),
    [
        ("location", "API_RESPONSE_0", "Oslo"),
        ("locations", "API_RESPONSE_0", "Oslo"),
        ("city", "API_RESPONSE_0", "Oslo"),  # the only field other than the status
        ("listing", "API_RESPONSE_1", [{"id": 7}, {"id": 8}]),
        ("COUNTS", "API_RESPONSE_1", 2),
        ("other", "API_RESPONSE_1", RESULTS["1"]),
        ("other", "API_RESPONSE_2", "plain"),
        ("other", "API_RESPONSE_3", [1]),
        ("items", "API_RESPONSE_4", 2),  # an exact name comes before a likeness
        ("Item", "API_RESPONSE_4", 1),
        ("x", "API_RESPONSE_10", 10),
        ("x", "API_RESPONSE_0.status_code", 200),
        ("x", "API_RESPONSE_1.Listings.1.id", 8),
        ("x", "API_RESPONSE_1.Listings[0].id", 7),
        ("x", "see API_RESPONSE_0", "see API_RESPONSE_0"),
        ("x", "api_response_0", "api_response_0"),
    ],
)
def test_one_reference(name: str, reference: str, value: Any) -> None:
    assert resolve({name: reference}, RESULTS) == {name: value}


def test_references_anywhere_and_the_input_stays_as_it_is() -> None:
    arguments = {"items": [{"location": "API_RESPONSE_0", "n": 2}, {"count": "API_RESPONSE_1"}], "listings": ["API_RESPONSE_1"]}
    before = repr(arguments)
    assert resolve(arguments, RESULTS) == {
        "items": [{"location": "Oslo", "n": 2}, {"count": 2}],
        "listings": [[{"id": 7}, {"id": 8}]],
    }
    assert repr(arguments) == before


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("API_RESPONSE_7", "no call 7 has run before this one"),
        ("API_RESPONSE_9", "call 9 failed"),
        ("API_RESPONSE_0.nothing", "has no 'nothing'"),
        ("API_RESPONSE_1.Listings.2", "has no '2'"),
        ("API_RESPONSE_1.Listings.-1", "has no '-1'"),
        ("API_RESPONSE_2.x", "has no 'x'"),
        ("API_RESPONSE_", "not of the form"),
        ("API_RESPONSE_x", "not of the form"),
        ("API_RESPONSE_00", "not of the form"),
        ("API_RESPONSE_0.", "not of the form"),
        ("API_RESPONSE_0 ", "not of the form"),
        ("API_RESPONSE_" + "9" * 5000, "not of the form"),
    ],
)
def test_unresolved(reference: str, message: str) -> None:
    with pytest.raises(UnresolvedReferenceError, match=message):
        resolve({"a": [reference]}, RESULTS, failed={"9"})


def test_growth_is_bounded() -> None:
    with pytest.raises(UnresolvedReferenceError, match="more than 256 references"):
        resolve({"a": ["API_RESPONSE_10"] * (MAX_REFERENCES + 1)}, RESULTS)
    with pytest.raises(UnresolvedReferenceError, match="bytes"):
        resolve({"a": ["API_RESPONSE_0"] * 11}, {"0": "x" * 100_000})
    deep: Any = "API_RESPONSE_0"
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(UnresolvedReferenceError, match="nested"):
        resolve({"a": deep}, RESULTS)


def test_edges() -> None:
    calls = [
        Call("0", "GetLocation", {}),
        Call("1", "Find", {"location": "API_RESPONSE_0"}),
        Call("2", "Cart", {"items": [{"a/b": "API_RESPONSE_0.x.y"}, {"q": "API_RESPONSE_1"}]}),
    ]
    assert edges(calls) == {
        "0": [],
        "1": [Edge("0", "", "/location")],
        "2": [Edge("0", "/x/y", "/items/0/a~1b"), Edge("1", "", "/items/1/q")],
    }
    assert edges(calls, {"0": {"Location": 1}})["1"] == [Edge("0", "/Location", "/location")]
    assert chain_depth(edges(calls)) == 3
    assert chain_depth(edges([Call("0", "f", {}), Call("1", "f", {})])) == 1
    assert chain_depth({}) == 0


@pytest.mark.parametrize("reference", ["API_RESPONSE_1", "API_RESPONSE_2", "API_RESPONSE_9"])
def test_edges_refuse_references_forward(reference: str) -> None:
    calls = [Call("0", "f", {}), Call("1", "f", {"a": reference}), Call("2", "f", {})]
    with pytest.raises(UnresolvedReferenceError, match="stands before it"):
        edges(calls)


def test_references_have_no_type_yet() -> None:
    item = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    checker = Checker(
        {
            "type": "object",
            "properties": {"rows": {"type": "array"}, "items": {"type": "array", "items": item}, "n": {"type": "integer"}},
            "required": ["rows", "m"],
            "additionalProperties": False,
        }
    )
    arguments = {"rows": "API_RESPONSE_0", "items": [{"n": "API_RESPONSE_1"}, {"n": "x"}], "n": "API_", "k": "API_RESPONSE_0"}
    found = literal_violations(checker.violations(arguments), arguments)
    assert sorted((v.kind, v.path) for v in found) == [
        ("missing", "/m"),
        ("type", "/items/1/n"),
        ("type", "/n"),
        ("unknown", "/k"),
    ]
