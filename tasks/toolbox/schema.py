"""Checking arguments against JSON Schema (draft 2020-12), compiled once per schema.

    checker = Checker(spec.input_schema)
    checker.violations({"amount": "ten"})    # [Violation(kind="type", path="/amount", message="amount: 'ten' is not a number")]

`jsonschema` is the authority. `jsonschema-rs`, which is some hundred times faster, answers first: where
it finds a value valid no reasons are needed; where it does not, `jsonschema` decides and gives reasons.

Left out: `format` assertions (draft 2020-12 makes them annotations); formats that matter carry a pattern.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry

from tasks.records import canonical_json

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Kind = Literal["missing", "unknown", "type", "value"]
"""missing: a required property is absent; unknown: a property that the schema does not have; type: the
JSON type is wrong; value: well typed but outside enum, pattern, bounds or another constraint."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One way in which a value breaks its schema; `path` is a JSON Pointer to the offending place."""

    kind: Kind
    path: str
    message: str


class Checker:
    """A compiled schema. Thread-safe.

    Raises ValueError when `schema` is not a valid draft 2020-12 schema, or refers to what it does not contain.
    """

    __slots__ = ("_authority", "_fast", "schema")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        if schema.get("$schema", DIALECT) != DIALECT or not jsonschema_rs.meta.is_valid(dict(schema)):
            try:  # what the fast one does not vouch for the authority decides; it takes 4 ms a schema
                Draft202012Validator.check_schema(schema)
            except SchemaError as error:
                raise ValueError(f"not a valid JSON Schema: {error.message} at {error.json_path}") from error
        self.schema = dict(schema)
        self._authority = Draft202012Validator(self.schema, registry=Registry())
        self._fast = _fast(self.schema)

    def valid(self, value: Any) -> bool:
        """Whether `value` satisfies the schema."""
        return not self.violations(value)

    def violations(self, value: Any) -> list[Violation]:
        """All violations of `value`, in the schema's order; empty when it is valid."""
        try:
            if self._fast is not None and self._fast.is_valid(value):
                return []
        except (ValueError, TypeError, OverflowError, RecursionError, UnicodeError):
            pass  # huge integers, lone surrogates, deep nesting: the authority decides
        try:
            return [*(v for error in self._authority.iter_errors(value) for v in _explain(error)), *_not_finite(value)]
        except RecursionError:
            return [Violation("value", "", "nested too deeply")]


def _fast(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator | None:
    """The fast validator; None for a schema that only the authority can compile (a pattern with Python's own syntax).

    Raises ValueError for a pattern that no validator can use, and for a reference that leads out of the schema.
    """
    try:
        return jsonschema_rs.Draft202012Validator(schema, retriever=_refuse)
    except jsonschema_rs.ValidationError as error:
        if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Referencing):
            raise ValueError(f"not a schema that stands by itself: {error.message}") from error
        for pattern in _patterns(schema):
            try:
                re.compile(pattern)
            except re.error as fault:
                raise ValueError(f"not a valid JSON Schema: the pattern {pattern!r}: {fault}") from error
        return None


def _refuse(uri: str) -> dict[str, Any]:
    """Nothing is fetched: a schema may come from a stranger's server."""
    raise LookupError(f"{uri} is elsewhere; give the definition under $defs")


def _patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(pattern := schema.get("pattern"), str):
            yield pattern
        yield from (name for name in schema.get("patternProperties", ()) if isinstance(name, str))
        for inner in schema.values():
            yield from _patterns(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _patterns(inner)


def _not_finite(value: Any, path: str = "") -> Iterator[Violation]:
    """NaN and infinities, which JSON does not have and which no bound of a schema keeps out (NaN < 1 is false)."""
    if isinstance(value, float) and not math.isfinite(value):
        yield Violation("value", path, f"{path.strip('/').replace('/', '.')}: {value} is not a number that JSON has")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _not_finite(inner, f"{path}/{_escape(str(key))}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _not_finite(inner, f"{path}/{number}")


def _explain(error: ValidationError) -> Iterator[Violation]:
    path = "".join(f"/{_escape(str(part))}" for part in error.absolute_path)
    place = ".".join(str(part) for part in error.absolute_path)
    where = f"{place}: " if place else ""
    value: Any = error.validator_value
    instance: Any = error.instance
    schema: Any = error.schema  # typed as possibly unset, which they never are in what a validator found
    if error.validator == "required":
        absent = [n for n in value if n not in instance]
        name = next((n for n in absent if error.message.startswith(f"{n!r} is a required")), "")
        yield Violation("missing", f"{path}/{_escape(name)}", f"{where}{name} is required")
    elif error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = schema.get("properties", {})
        for name in error.instance:
            if name not in known:
                yield Violation("unknown", f"{path}/{_escape(name)}", f"{where}there is no parameter {_short(name)}")
    elif error.validator == "type":
        yield Violation("type", path, f"{where}{_short(error.instance)} is not {_types(value)}")
    elif error.validator in ("anyOf", "oneOf") and error.context and all(c.validator == "type" for c in error.context):
        wanted = [t for c in error.context for t in _as_list(c.validator_value)]
        yield Violation("type", path, f"{where}{_short(error.instance)} is not {_types(wanted)}")
    else:
        yield Violation("value", path, f"{where}{_short(error.instance)} {_constraint(error)}")


def _constraint(error: ValidationError) -> str:
    value: Any = error.validator_value
    match error.validator:
        case "enum":
            return f"is not one of {', '.join(_short(v) for v in value)}"
        case "const":
            return f"is not {_short(value)}"
        case "pattern":
            return f"does not have the form {value}"
        case "minimum":
            return f"is less than {value}"
        case "maximum":
            return f"is more than {value}"
        case "exclusiveMinimum":
            return f"is not more than {value}"
        case "exclusiveMaximum":
            return f"is not less than {value}"
        case "multipleOf":
            return f"is not a multiple of {value}"
        case _:
            return f"breaks {error.validator} {_short(value)}"


def _types(value: Any) -> str:
    names = [("an " if t[0] in "aio" else "a ") + t if t != "null" else "null" for t in _as_list(value)]
    return " or ".join(dict.fromkeys(names))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _escape(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


def _short(value: Any) -> str:
    """A value as people and models can read it, cut to a line; hostile input never floods a message."""
    try:
        text = repr(value) if isinstance(value, str) else canonical_json(value)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
