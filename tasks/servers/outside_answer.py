"""Answers of outside servers as Results: structured content, else text; bounded; refusals with a kind.

    result = read_answer(answer, False, most=262_144, call_id="c1")     # answer: the result of tools/call, as plain JSON

Text that is JSON is read as JSON; several parts of content are a list. Pictures and sounds are told of by their type and
size. A refusal of an outside server is free text, so that its kind is read from its words, or from the protocol's code.

Left out: fetching of linked resources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mcp_types as types

from tasks.records import Result, ToolFault, canonical_json
from tasks.servers.outside_link import AnswerError
from tasks.servers.tool import FAULT_KINDS
from tasks.toolbox.faults import FaultError
from tasks.toolbox.strictjson import loads

FOLDER = "/session"
"""The name by which callers know the working folder of any session: paths in answers are the same in all sessions."""
PRIVATE = "/session-private"
"""The same of what lies beside it: HOME and TMPDIR."""
MESSAGE = 1_000
"""Most characters of a refusal that are kept."""

_KINDS = (
    ("not_found", r"not found|no such|does ?n[o']t exist|do ?n[o']t exist|unknown|cannot find|could ?n[o']t find|there is no"),
    ("conflict", r"already|conflict|duplicate|unique constraint|in use\b|exists\b"),
    ("denied", r"denied|forbidden|not allowed|not permitted|unauthori[sz]ed|permission|outside (of )?(the )?allowed"),
    ("insufficient", r"insufficient|not enough|out of stock|exceed|quota"),
    ("wrong_state", r"not (open|active|running|initiali[sz]ed|ready|staged)|nothing to|closed|locked|busy|empty\b"),
    (
        "invalid_arguments",
        r"validation error|missing (required )?(argument|parameter)|is a required property|invalid arguments?",
    ),
)
_FAULTY = frozenset({types.PARSE_ERROR, types.METHOD_NOT_FOUND, types.INTERNAL_ERROR})


def read_answer(answer: Mapping[str, Any], unwrap: bool, most: int, call_id: str) -> Result:
    """The Result of a call. `unwrap`: structured content is {"result": value}. `most`: bytes of content as JSON.

    Raises ValueError when the answer is not one of the protocol's.
    """
    parts = answer.get("content", [])
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        raise ValueError("its content is no list of objects")
    structured = answer.get("structuredContent")
    if answer.get("isError") is True:
        return Result(call_id, False, error=_refusal(structured, parts))
    if isinstance(structured, Mapping):
        content: Any = structured["result"] if unwrap and set(structured) == {"result"} else dict(structured)
    else:
        read = [_part(part) for part in parts]
        content = read[0] if len(read) == 1 else read or None
    size = len(canonical_json(content).encode(errors="replace"))
    if size > most:
        message = f"the answer has {size} bytes, more than the {most} that are read; the call has taken effect"
        return Result(call_id, False, error=ToolFault("unavailable", message, "Ask for less at a time."))
    return Result(call_id, True, content=content)


def _part(part: Mapping[str, Any]) -> Any:
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        return _text(part["text"])
    if kind == "resource" and isinstance(part.get("resource"), Mapping):
        resource = part["resource"]
        if isinstance(resource.get("text"), str):
            return _text(resource["text"])
        return {"type": "resource", "uri": str(resource.get("uri", "")), "bytes": _size(resource.get("blob"))}
    if kind == "resource_link":
        return {"type": "resource_link", "uri": str(part.get("uri", "")), "name": str(part.get("name", ""))}
    return {"type": str(kind), "mime_type": str(part.get("mimeType", "")), "bytes": _size(part.get("data"))}


def _size(encoded: Any) -> int:
    """Bytes of base64 text."""
    return len(encoded.rstrip("=")) * 3 // 4 if isinstance(encoded, str) else 0


def _text(text: str) -> Any:
    try:
        return loads(text)
    except FaultError:
        return text


def _refusal(structured: Any, parts: list[Any]) -> ToolFault:
    told = structured.get("error") if isinstance(structured, Mapping) else None
    if isinstance(told, Mapping) and told.get("kind") in FAULT_KINDS:  # a server that refuses as ours do
        return ToolFault(told["kind"], str(told.get("message", ""))[:MESSAGE], str(told.get("remedy", ""))[:MESSAGE])
    texts = [part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)]
    message = "\n".join(texts).strip() or (canonical_json(structured) if structured else "refused without a reason")
    return ToolFault(kind_of(message), message[:MESSAGE])


def kind_of(message: str) -> str:
    """The kind of a refusal by the words of its message; `invalid_value` when they tell nothing."""
    text = message[:MESSAGE].lower()
    return next((kind for kind, words in _KINDS if re.search(words, text)), "invalid_value")


def refused(error: AnswerError, call_id: str) -> Result | None:
    """The Result of a JSON-RPC error; None when the server says that the fault is its own."""
    if error.code in _FAULTY:
        return None
    kind = "invalid_arguments" if error.code == types.INVALID_PARAMS else kind_of(str(error))
    return Result(call_id, False, error=ToolFault(kind, str(error)[:MESSAGE]))


# -- the working folder's name ----------------------------------------------------------------


def outward(value: Any, root: Path) -> Any:
    """JSON of a server with the session's own paths under the names that they have in all sessions."""
    work, private = str(root / "work"), str(root)
    return _over(value, lambda text: text.replace(work, FOLDER).replace(private, PRIVATE))


_NAMED = re.compile(rf"(?<![\w.-]){re.escape(FOLDER)}(?![\w.-])")


def inward(value: Any, root: Path) -> Any:
    """JSON for a server with the common name of the working folder as this session's path."""
    work = str(root / "work")
    return _over(value, lambda text: _NAMED.sub(lambda match: work, text))


def _over(value: Any, change: Callable[[str], str]) -> Any:
    """The same JSON with every text, keys too, changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {_over(key, change): _over(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_over(inner, change) for inner in value]
    return value
