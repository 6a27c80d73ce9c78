"""TIER's whole-plan form: one completion holds a thought and the whole plan (METHODS.md 1.1).

    plan = parse_plan('<think>Easy.</think><tool_call return="one">{"0": {"GetTime": {}}}</tool_call>')
    plan.calls, plan.returns, plan.failure      # [Call(id="0", name="GetTime", ...)], "one", None

Three forms: `json` (the default), `xml` (plan_xml.py) and `direct` (a Python-style list, pycalls.py). An empty
plan is the right answer where nothing is to be called; text without a plan is a failure.

As in the released format check, the first `<think>...</think>` that a `<tool_call return="one|all">` follows
counts, with text before and after tolerated, and ids need not be contiguous. Stricter than it: JSON is strict, an
entry has exactly one tool, ids have no leading zeros. More lenient: the body is plain JSON, so that `&`
and `<` may stand in it, where the released check runs it through an XML parser.

Left out: the hidden `tag` argument of the benchmark's simulator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tasks.records import Call, ParseFailure, canonical_json
from tasks.toolbox.faults import FaultError
from tasks.toolbox.parse import BODY, CLOSE
from tasks.toolbox.plan_xml import CALL_ID, read_xml, render_xml
from tasks.toolbox.pycalls import PythonCall, read_calls, render_calls
from tasks.toolbox.strictjson import loads, scan

Returns = Literal["one", "all"]
Form = Literal["json", "xml", "direct"]

_THOUGHT = re.compile(r"<think(?:\s[^<>]*+)?>")
_JOINT = re.compile(r"</think\s*+>\s*+<tool_call(?=[\s>])([^<>]*+)>")
_THOUGHT_END = re.compile(r"</think\s*+>\s*+")
_RETURN = re.compile(r"""\s++return\s*+=\s*+(?:"(one|all)"|'(one|all)')\s*+""")

Entry = tuple[str, str, dict[str, Any]]
"""(call id, tool name, arguments)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole plan: its calls in order of execution, and whether the last value or all of them answer.

    With a `failure` there are no calls. Each call's span is the span of the whole block.
    """

    calls: list[Call]
    returns: Returns
    failure: ParseFailure | None = None
    thought: str = ""


def parse_plan(text: str, form: Form = "json") -> Plan:
    """Reads the plan of a completion. Never raises; linear in the text's length."""
    try:
        thought, returns, start, close, entries = _read(text, form)
    except FaultError as fault:
        return Plan([], "one", fault.failure())
    calls = [Call(call_id, name, arguments, start, close + len(CLOSE)) for call_id, name, arguments in entries]
    return Plan(calls, returns, None, thought)


def render_plan(calls: Iterable[Call], returns: Returns, thought: str, form: Form = "json") -> str:
    """The completion that parse_plan reads back to the same calls, return and thought.

    Raises ValueError for what the form cannot hold: a thought that closes itself, a name or argument that is no
    identifier in the direct form, control characters in XML. The direct form has no ids: calls are numbered anew.
    """
    if "</think" in thought:
        raise ValueError("the thought holds '</think': leave it out")
    entries = [(call.id, call.name, call.arguments) for call in calls]
    match form:
        case "json":
            items = (f"{canonical_json(i)}: {{{canonical_json(n)}: {canonical_json(a)}}}" for i, n, a in entries)
            body = f"{{{', '.join(items)}}}"
        case "xml":
            body = render_xml(entries)
        case "direct":
            body = render_calls([(name, arguments) for _, name, arguments in entries])
            if CLOSE in body:
                raise ValueError(f"the direct form cannot hold {CLOSE!r}")
    return f'<think>\n{thought}\n</think>\n<tool_call return="{returns}">\n{body}\n{CLOSE}'


def _read(text: str, form: Form) -> tuple[str, Returns, int, int, list[Entry]]:
    """(thought, return, start of the block, where its closing tag stands, entries). Raises FaultError."""
    opened = _THOUGHT.search(text)
    if opened is None:
        raise FaultError("plan_thought", max(text.find("<tool_call"), 0))
    joint = _JOINT.search(text, opened.end())
    if joint is None:
        end = _THOUGHT_END.search(text, opened.end())
        if end is None:
            raise FaultError("plan_thought", len(text), "the thought is never closed")
        raise FaultError("plan_block", end.end())
    attribute = _RETURN.fullmatch(joint.group(1))
    if attribute is None:
        raise FaultError("plan_return", joint.start(1))
    returns: Returns = "all" if "all" in attribute.groups() else "one"
    start = joint.end()
    close = text.find(CLOSE, start)
    if close < 0:
        raise FaultError("unterminated", len(text))
    thought = text[opened.end() : joint.start()].strip()
    block = text.rindex("<", 0, start)
    try:
        return thought, returns, block, close, _ENTRIES[form](text[start:close])
    except FaultError as fault:
        moved = fault.moved(start)
    if form == "json" and moved.kind == "unterminated_string":
        match = BODY.match(text, start)
        end_of_body = match.end() if match else start
        if end_of_body > close and text.startswith(CLOSE, end_of_body):  # the closing tag stands in a string
            try:
                return thought, returns, block, end_of_body, _json_entries(text[start:end_of_body])
            except FaultError as fault:
                moved = fault.moved(start)
    raise moved


def _json_entries(body: str) -> list[Entry]:
    value = loads(body)
    if not isinstance(value, dict):
        raise FaultError("not_object", len(body) - len(body.lstrip(" \t\n\r")))
    entries: list[Entry] = []
    for call_id, entry in value.items():
        if not CALL_ID.fullmatch(call_id):
            raise FaultError("plan_id", scan(body)[(call_id,)][0])
        if not isinstance(entry, dict) or len(entry) != 1:
            raise FaultError("plan_call", scan(body)[(call_id,)][1])
        ((name, arguments),) = entry.items()
        if not name:
            raise FaultError("name_type", scan(body)[(call_id, name)][0])
        if not isinstance(arguments, dict):
            kind = "arguments_string" if isinstance(arguments, str) else "arguments_type"
            raise FaultError(kind, scan(body)[(call_id, name)][1])
        entries.append((call_id, name, arguments))
    return sorted(entries, key=lambda entry: int(entry[0]))


def _xml_entries(body: str) -> list[Entry]:
    return sorted(read_xml(body), key=lambda entry: int(entry[0]))


def _direct_entries(body: str) -> list[Entry]:
    stripped = body.strip()
    if not stripped:
        raise FaultError("empty", 0)
    offset = body.find(stripped)
    try:
        items = read_calls(stripped, references=True)
    except FaultError as fault:
        raise fault.moved(offset) from None
    entries: list[Entry] = []
    for number, item in enumerate(items):
        if not isinstance(item, PythonCall):
            raise item.moved(offset)
        entries.append((str(number), item.name, item.arguments))
    return entries


_ENTRIES = {"json": _json_entries, "xml": _xml_entries, "direct": _direct_entries}
