"""The XML form of a plan (METHODS.md 1.1), for TIER's comparison of forms.

    <api id="0"><name>Pay</name><param name="amount" type="float">2.5</param></api>
    <api id="1"><name>Send</name><param name="to" type="placeholder"><response api_id="0" api_name="Pay"/></param></api>

Types: string, integer, float, boolean, dict (of `field`), array (of `item`), placeholder, and null, which
the benchmark does not have. A missing type follows from the children, else it is string. `<none/>` is the empty
plan. Read by expat, with no entities but XML's own five, no document type, and bounded depth.

Left out: the tags around (plan.py), and characters that XML 1.0 cannot hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from tasks.toolbox.faults import FaultError
from tasks.toolbox.strictjson import MAX_DEPTH, loads

CALL_ID = re.compile(r"0|[1-9][0-9]{0,8}")
"""A call's id in a plan of any form."""

_ROOT = "<plan>"
_SURROGATE = re.compile("[\ud800-\udfff]")
_REFERENCE = re.compile(r"API_RESPONSE_(0|[1-9][0-9]{0,8})")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


@dataclass(slots=True)
class _Node:
    tag: str
    attributes: dict[str, str]
    position: int  # in bytes of the encoded text
    children: list[_Node] = field(default_factory=list)
    text: list[str] = field(default_factory=list)


class _Reader:
    """One reading of a body: the tree, and byte offsets turned into characters where a fault needs them."""

    def __init__(self, body: str) -> None:
        surrogate = _SURROGATE.search(body)
        if surrogate:
            raise FaultError("lone_surrogate", surrogate.start())
        self.data = body.encode()
        self.root = _Node("plan", {}, 0)
        self.open = [self.root]
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        try:
            self.parser.Parse(f"{_ROOT}{body}</plan>".encode(), True)
        except expat.ExpatError as error:
            at = self.parser.ErrorByteIndex - len(_ROOT)
            raise self.fault("plan_xml", at, f"not well-formed XML: {expat.errors.messages[error.code]}") from None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        at = self.parser.CurrentByteIndex - len(_ROOT)
        if at < 0:
            return
        if len(self.open) > MAX_DEPTH:
            raise self.fault("depth", at)
        node = _Node(tag, attributes, at)
        self.open[-1].children.append(node)
        self.open.append(node)

    def end(self, tag: str) -> None:
        self.open.pop()

    def characters(self, text: str) -> None:
        self.open[-1].text.append(text)

    def fault(self, kind: str, at: int, message: str = "") -> FaultError:
        """A fault at a byte offset."""
        return FaultError(kind, len(self.data[: max(at, 0)].decode(errors="ignore")), message)

    def of(self, kind: str, node: _Node, message: str = "") -> FaultError:
        return self.fault(kind, node.position, message)

    def children(self, node: _Node, *tags: str) -> list[_Node]:
        """The children, which must have these tags and nothing but white space between them."""
        for child in node.children:
            if child.tag not in tags:
                raise self.of("plan_xml", child, f"<{child.tag[:40]}> is not allowed here")
        if "".join(node.text).strip():
            raise self.of("plan_xml", node, f"text between the elements of <{node.tag}>")
        return node.children

    def attribute(self, node: _Node, name: str) -> str:
        value = node.attributes.get(name)
        if value is None:
            raise self.of("plan_xml", node, f"<{node.tag}> needs the attribute {name!r}")
        return value

    def plan(self) -> list[tuple[str, str, dict[str, Any]]]:
        nodes = self.children(self.root, "api", "none")
        if not nodes:
            raise FaultError("empty", 0)
        if nodes[0].tag == "none" and len(nodes) == 1 and not nodes[0].children:
            return []
        found: dict[str, tuple[str, str, dict[str, Any]]] = {}
        for node in nodes:
            if node.tag == "none":
                raise self.of("plan_xml", node, "<none/> stands beside calls")
            call_id = self.attribute(node, "id")
            if not CALL_ID.fullmatch(call_id):
                raise self.of("plan_id", node)
            if call_id in found:
                raise self.of("duplicate_key", node, f"the id {call_id[:40]!r} stands twice")
            name, arguments = self.call(node)
            found[call_id] = (call_id, name, arguments)
        return list(found.values())

    def call(self, node: _Node) -> tuple[str, dict[str, Any]]:
        parts = self.children(node, "name", "param")
        names = [part for part in parts if part.tag == "name"]
        if len(names) != 1:
            raise self.of("plan_call", node, "an <api> has exactly one <name>")
        name = "".join(names[0].text).strip()
        if not name or names[0].children:
            raise self.of("name_type", names[0])
        return name, self.mapping([part for part in parts if part.tag == "param"])

    def mapping(self, nodes: list[_Node]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for node in nodes:
            key = self.attribute(node, "name")
            if key in result:
                raise self.of("duplicate_key", node, f"the name {key[:40]!r} stands twice")
            result[key] = self.value(node)
        return result

    def value(self, node: _Node) -> Any:
        """The JSON value of a param, field or item. Recursion is bounded by MAX_DEPTH."""
        kind = node.attributes.get("type") or _implied(node)
        text = "".join(node.text)
        match kind:
            case "dict":
                return self.mapping(self.children(node, "field"))
            case "array":
                return [self.value(child) for child in self.children(node, "item")]
            case "placeholder":
                responses = self.children(node, "response")
                if len(responses) != 1:
                    raise self.of("plan_xml", node, "a placeholder holds exactly one <response/>")
                return f"API_RESPONSE_{self.attribute(responses[0], 'api_id')}"
        if node.children:
            raise self.of("plan_xml", node.children[0], f"a {kind[:40]} holds no elements")
        match kind:
            case "string":
                return text
            case "boolean" if text.strip() in ("true", "false"):
                return text.strip() == "true"
            case "null" if not text.strip():
                return None
            case "integer" | "float":
                return self.number(node, kind, text)
        raise self.of("plan_xml", node, f"{text[:40]!r} is no {kind[:40]}")

    def number(self, node: _Node, kind: str, text: str) -> int | float:
        try:
            value = loads(text)
        except FaultError as fault:
            known = fault.kind in ("integer_range", "number_range")
            raise self.of(fault.kind if known else "bad_number", node) from None
        if isinstance(value, bool) or not isinstance(value, int if kind == "integer" else (int, float)):
            raise self.of("bad_number", node, f"{text[:40]!r} is no {kind}")
        return value if kind == "integer" else float(value)


def _implied(node: _Node) -> str:
    tags = {child.tag for child in node.children}
    implied = {"field": "dict", "item": "array", "response": "placeholder"}
    return next((kind for tag, kind in implied.items() if tag in tags), "string")


def read_xml(body: str) -> list[tuple[str, str, dict[str, Any]]]:
    """(id, tool name, arguments) of each call, in the order written. Raises FaultError."""
    return _Reader(body).plan()


def render_xml(entries: Sequence[tuple[str, str, Any]]) -> str:
    """The body that read_xml reads back. Raises ValueError for characters that XML cannot hold."""
    if not entries:
        return "<none/>"
    names = {call_id: name for call_id, name, _ in entries}
    lines = []
    for call_id, name, arguments in entries:
        if name != name.strip():
            raise ValueError(f"the XML form cannot hold a name with white space around it: {name!r}")
        params = "".join(_render("param", value, names, key) for key, value in arguments.items())
        lines.append(f"<api id={quoteattr(call_id)}><name>{_text(name)}</name>{params}</api>")
    return "\n".join(lines)


def _render(tag: str, value: Any, names: dict[str, str], key: str | None = None) -> str:
    label = "" if key is None else f" name={quoteattr(_checked(key))}"
    match value:
        case dict():
            kind, content = "dict", "".join(_render("field", item, names, name) for name, item in value.items())
        case list():
            kind, content = "array", "".join(_render("item", item, names) for item in value)
        case None:
            kind, content = "null", ""
        case bool():
            kind, content = "boolean", "true" if value else "false"
        case int():
            kind, content = "integer", str(value)
        case float():
            kind, content = "float", repr(value)
        case _:
            kind, content = _render_string(value, names)
    return f'<{tag}{label} type="{kind}">{content}</{tag}>'


def _render_string(value: str, names: dict[str, str]) -> tuple[str, str]:
    reference = _REFERENCE.fullmatch(value)
    if reference and reference.group(1) in names:
        source = reference.group(1)
        return "placeholder", f'<response api_id="{source}" api_name={quoteattr(_checked(names[source]))}/>'
    return "string", _text(value)


def _text(value: str) -> str:
    return escape(_checked(value), {"\r": "&#13;"})


def _checked(value: str) -> str:
    if _NOT_XML.search(value):
        raise ValueError(f"the XML form cannot hold the characters of {value[:40]!r}")
    return value
