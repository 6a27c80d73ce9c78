"""Running a parsed turn, or a whole plan, on a session, and writing results for the model to read.

    results = execute(session, parse_hermes(text))
    messages = [render_result(result) for result in results]

Calls run in the order written. A failure does not run: the model is told of it by `fault_message`. What a
defective tool raises passes through: it is a fault of the program, never of the model.

Left out: the decision whether to run a turn at all. Generation that stopped at the length limit is never run;
the rollout knows that, this module does not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

import orjson

from tasks.records import ParseFailure, Result, ToolFault
from tasks.toolbox.faults import FAULTS
from tasks.toolbox.parse import ParsedTurn
from tasks.toolbox.plan import Plan
from tasks.toolbox.references import UnresolvedReferenceError, resolve

MESSAGE_LENGTH = 200
"""Longest text (in characters) of a fault's message that is shown to the model."""


class Session(Protocol):
    """What a turn runs on: tasks.servers.session.Session, or an outside server's session."""

    def call(self, name: str, arguments: Mapping[str, Any], call_id: str = "") -> Result:
        """Runs one call; refusals are Results with an error."""
        ...


def execute(session: Session, parsed: ParsedTurn) -> list[Result]:
    """Runs the turn's calls in the order written; one Result per call, in order, with the call's id."""
    return [session.call(call.name, call.arguments, call.id) for call in parsed.calls]


def execute_plan(session: Session, plan: Plan) -> list[Result]:
    """Runs a plan's calls in order, with references resolved; one Result per call, in order.

    A call whose reference cannot be resolved does not run: its result is an error of kind `invalid_reference`.
    """
    contents: dict[str, Any] = {}
    failed: set[str] = set()
    results: list[Result] = []
    for call in plan.calls:
        try:
            arguments = resolve(call.arguments, contents, failed)
        except UnresolvedReferenceError as error:
            result = Result(call.id, False, error=ToolFault("invalid_reference", str(error), _REFERENCE_REMEDY))
        else:
            result = session.call(call.name, arguments, call.id)
        results.append(result)
        if result.ok:
            contents[call.id] = result.content
        else:
            failed.add(call.id)
    return results


_REFERENCE_REMEDY = "Refer to the result of an earlier call that succeeded, as API_RESPONSE_k or API_RESPONSE_k.field."


def fault_message(failure: ParseFailure) -> str:
    """A parse failure as the short JSON text that the environment sends back to the model.

    It has the shape of render_result's errors, with the kind of the failure and its position in characters.
    Raises KeyError for a kind that no parser makes.
    """
    meaning = FAULTS[failure.kind]
    message = (failure.message or meaning)[:MESSAGE_LENGTH]
    error = {"kind": failure.kind, "message": f"not run: {message}", "position": failure.position}
    return _compact({"error": error})


def render_result(result: Result) -> str:
    """A result as compact JSON for the tool message: its content, or {"error": {kind, message, remedy}}."""
    if result.ok:
        return _compact(result.content)
    return _compact({"error": _error(result.error)})


def _error(fault: ToolFault | None) -> dict[str, str]:
    if fault is None:
        return {"kind": "unavailable", "message": "the call failed without a reason"}
    error = {"kind": fault.kind, "message": fault.message}
    if fault.remedy:
        error["remedy"] = fault.remedy
    return error


def _compact(value: Any) -> str:
    """JSON without spaces, keys in the order of the value."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        # orjson refuses integers over 64 bits and lone surrogates, which an outside server may send.
        return json.dumps(value, separators=(",", ":"), ensure_ascii=True)
