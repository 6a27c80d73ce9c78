"""Schemas that come from strangers: valid ones work, all others are refused with the reason, nothing is fetched."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.toolbox.schema import Checker


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "nope"}, "'nope' is not valid"),
        ({"properties": 3}, "3 is not of type 'object'"),
        ({"type": "object", "required": "x"}, "'x' is not of type 'array'"),
        ({"$schema": 3}, "3 is not of type 'string'"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "strin"}, "'strin' is not valid"),
        ({"properties": {"a": {"pattern": "("}}}, "the pattern '('"),
        ({"$ref": "#/$defs/absent"}, "stands by itself"),
        ({"$ref": "http://127.0.0.1:1/schema.json"}, "stands by itself"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_the_reason(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)schema") as caught:
        Checker(schema)
    assert said.lower() in str(caught.value).lower()


def test_a_pattern_that_only_python_knows_is_left_to_the_authority() -> None:
    checker = Checker({"type": "string", "pattern": "^(?P<half>ab)(?P=half)$"})
    assert checker.valid("abab")
    assert [v.kind for v in checker.violations("abba")] == ["value"]


def test_a_property_called_pattern_is_no_pattern() -> None:
    assert Checker({"properties": {"pattern": {"type": "string"}, "other": {"pattern": "(?P<a>x)(?P=a)"}}}).valid(
        {"pattern": "("}
    )


def test_an_older_dialect_is_read_as_2020_12() -> None:
    checker = Checker({"$schema": "http://json-schema.org/draft-07/schema#", "type": "integer"})
    assert checker.valid(3)
    assert not checker.valid("3")
