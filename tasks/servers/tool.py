"""The `@tool` decorator: from a typed method to a ToolSpec. One definition, three uses (DESIGN.md).

The method's signature gives the input schema (pydantic, draft 2020-12, no extra properties), its return
annotation the output schema, its docstring the description. Arguments reach the method as plain JSON
values, already checked against the input schema; what it returns is turned into plain JSON.

Left out: *args/**kwargs and positional-only parameters, which JSON objects cannot express.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, create_model

from tasks.records import ToolSpec

F = TypeVar("F", bound=Callable[..., Any])

FAULT_KINDS = (
    "unknown_tool",  # no tool of that name here
    "invalid_arguments",  # the arguments do not satisfy the input schema
    "invalid_value",  # well typed, but impossible: end before start, a path outside the tree
    "not_found",  # the named entity does not exist
    "conflict",  # clashes with what exists: double booking, a name taken
    "insufficient",  # not enough of something: funds, stock, seats
    "denied",  # not permitted for this user or this entity
    "wrong_state",  # not possible in the entity's current state or mode
    "unavailable",  # an outside server died, or ran over its deadline
)
"""The closed vocabulary of refusals."""


class ToolError(Exception):
    """A refusal by a tool: the call has no effect and the caller gets a structured error.

    `kind` is one of FAULT_KINDS; `remedy` says what would help, naming the tool to use where there is one.
    """

    def __init__(self, kind: str, message: str, remedy: str = "") -> None:
        if kind not in FAULT_KINDS:
            raise ValueError(f"unknown fault kind {kind!r}; one of {', '.join(FAULT_KINDS)}")
        super().__init__(message)
        self.kind, self.message, self.remedy = kind, message, remedy


@dataclass(frozen=True, slots=True)
class ToolMark:
    """What @tool notes on a method."""

    read_only: bool
    destructive: bool
    idempotent: bool


def tool(*, read_only: bool = False, destructive: bool = False, idempotent: bool | None = None) -> Callable[[F], F]:
    """Marks a method of a Server as a tool.

    read_only: never changes the state. destructive: deletes or cancels something that cannot be put
    back by another tool. idempotent: a repeat has no further effect (read-only tools always are).
    """

    def mark(method: F) -> F:
        method.__tool__ = ToolMark(read_only, destructive, read_only if idempotent is None else idempotent)  # type: ignore[attr-defined]
        return method

    return mark


def specs_of(cls: type, server: str) -> dict[str, ToolSpec]:
    """The ToolSpecs of all methods of `cls` that @tool marked, by name, in the order of definition."""
    found: dict[str, ToolSpec] = {}
    for name, method in vars(cls).items():
        mark = getattr(method, "__tool__", None)
        if isinstance(mark, ToolMark):
            found[name] = _spec(name, method, mark, server)
    return found


def _spec(name: str, method: Callable[..., Any], mark: ToolMark, server: str) -> ToolSpec:
    description = inspect.cleandoc(method.__doc__ or "")
    if not description:
        raise TypeError(f"{server}.{name}: a tool needs a docstring that a model can act on")
    hints = typing.get_type_hints(method, include_extras=True)
    output = hints.pop("return", None)
    if output is None:
        raise TypeError(f"{server}.{name}: a tool needs a return annotation")
    fields: dict[str, Any] = {}
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        if parameter.name not in hints:
            raise TypeError(f"{server}.{name}: parameter {parameter.name} has no annotation")
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    model = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    return ToolSpec(
        name=name,
        description=description,
        input_schema=tidy(model.model_json_schema()),
        output_schema=tidy(TypeAdapter(output).json_schema(mode="serialization")),
        server=server,
        read_only=mark.read_only,
        destructive=mark.destructive,
        idempotent=mark.idempotent,
    )


def tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with its local references inlined and pydantic's titles left out. Recursive types keep theirs."""
    definitions = schema.get("$defs", {})
    recursive = {name for name in definitions if _mentions(definitions[name], name, definitions, set())}

    def walk(node: Any, in_properties: bool = False) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref", "")
        target = reference.removeprefix("#/$defs/")
        if reference and target not in recursive:
            rest = {k: v for k, v in node.items() if k != "$ref"}
            return walk({**definitions[target], **rest})
        return {
            key: walk(value, key == "properties" and not in_properties)
            for key, value in node.items()
            if key != "$defs" and (in_properties or key != "title" or not isinstance(value, str))
        }

    tidied: dict[str, Any] = walk(schema)
    if recursive:
        tidied["$defs"] = {name: walk(definitions[name]) for name in sorted(recursive)}
    return tidied


def _mentions(node: Any, name: str, definitions: dict[str, Any], seen: set[str]) -> bool:
    if isinstance(node, list):
        return any(_mentions(item, name, definitions, seen) for item in node)
    if not isinstance(node, dict):
        return False
    target = str(node.get("$ref", "")).removeprefix("#/$defs/")
    if target == name:
        return True
    if target in definitions and target not in seen:
        seen.add(target)
        if _mentions(definitions[target], name, definitions, seen):
            return True
    return any(_mentions(value, name, definitions, seen) for value in node.values())
