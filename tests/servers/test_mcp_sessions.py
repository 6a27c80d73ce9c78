"""Sessions by name, and what a client of the MCP server sees of them: errors, keys, crashes, wrapping, closing."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import anyio
import mcp
import mcp_types as types
import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from tasks.records import Result, ToolFault
from tasks.servers.mcp_server import CLOSE, DIFF, DIGEST, address_of, mcp_server, meta, output_schema, read_result
from tasks.servers.mcp_sessions import EXPIRED_NAMES, Address, SessionError, Sessions
from tasks.servers.session import SessionClosedError
from tests.servers.driver import ok
from tests.servers.tiny import FIRST, TINY

ADD = {"counter_id": FIRST, "amount": 5}
A, B = Address("a"), Address("b")


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def fault(sessions: Sessions, address: Address) -> str:
    """The kind of fault with which an address is refused."""
    with pytest.raises(SessionError) as caught, sessions.use(address):
        pass
    assert caught.value.message and caught.value.remedy
    return caught.value.kind


# -- the registry ------------------------------------------------------------------------------


def test_a_name_opens_a_session_and_keeps_it() -> None:
    sessions = Sessions(TINY, seed=4)
    with sessions.use(Address("a", 7)) as one:
        ok(one, "add", **ADD)
    with sessions.use(A) as again, sessions.use(B) as other:
        assert again is one and again.seed == 7
        assert other.seed == 4 and ok(other, "total") == 4
    assert sessions.count == 2


def test_addresses_that_are_refused() -> None:
    sessions = Sessions(TINY)
    with sessions.use(Address("a", 7)):
        pass
    assert fault(sessions, Address()) == "session_missing"
    assert fault(sessions, Address("a", 8)) == "session_conflict"
    for name in ("", " ", "x" * 129, "a b", "a\n", "é", "\x00"):
        assert fault(sessions, Address(name)) == "session_invalid"
    assert sessions.count == 1


def test_one_process_may_be_one_session() -> None:
    sessions = Sessions(TINY, seed=7, single=True)
    with sessions.use(Address()) as one:
        ok(one, "add", **ADD)
    with sessions.use(Address(seed=7)) as again:
        assert again is one
    assert fault(sessions, Address(seed=8)) == "session_conflict"
    assert fault(sessions, A) == "session_invalid"
    with pytest.raises(SessionError, match="the process is the session"):
        sessions.close(Address())


def test_idle_sessions_are_closed_and_never_begun_anew() -> None:
    clock = Clock()
    sessions = Sessions(TINY, idle=10, clock=clock)
    with sessions.use(A) as first:
        pass
    clock.now = 8
    with sessions.use(B):
        pass
    clock.now = 11
    assert fault(sessions, A) == "session_expired"
    assert sessions.count == 1
    with pytest.raises(SessionClosedError):
        first.digest()
    assert sessions.close(A) is False  # forgets the name
    with sessions.use(A) as second:
        assert second is not first


def test_use_keeps_a_session_from_idling() -> None:
    clock = Clock()
    sessions = Sessions(TINY, idle=10, clock=clock)
    for clock.now in (0, 9, 18, 27):
        with sessions.use(A):
            pass
    with sessions.use(A) as used:
        clock.now = 100
        with sessions.use(B):  # a call that runs is not idle, however long
            pass
        assert ok(used, "total") == 0
    with sessions.use(A) as still:
        assert still is used


def test_expired_names_are_bounded() -> None:
    clock = Clock()
    sessions = Sessions(TINY, idle=1, clock=clock, most=2 * EXPIRED_NAMES)
    for number in range(EXPIRED_NAMES + 5):
        with sessions.use(Address(f"s{number}")):
            pass
    clock.now = 5
    assert fault(sessions, Address(f"s{EXPIRED_NAMES}")) == "session_expired"
    assert sessions.count == 0
    with sessions.use(Address("s0")):
        pass


def test_the_number_of_sessions_is_bounded() -> None:
    clock = Clock()
    sessions = Sessions(TINY, most=2, idle=10, clock=clock)
    for address in (A, B, A):
        with sessions.use(address):
            pass
    assert fault(sessions, Address("c")) == "session_limit"
    assert sessions.close(A) is True
    with sessions.use(Address("c")):
        pass
    clock.now = 11
    with sessions.use(Address("d")):
        pass
    assert sessions.count == 1


def test_closing() -> None:
    sessions = Sessions(TINY)
    held = {}
    for name in "ab":
        with sessions.use(Address(name)) as held[name]:
            pass
    assert sessions.close(A) is True
    assert sessions.close(A) is False
    sessions.close_all()
    assert sessions.count == 0
    for session in held.values():
        with pytest.raises(SessionClosedError):
            session.digest()


def test_a_session_serves_one_at_a_time() -> None:
    sessions = Sessions(TINY)
    inside, most = 0, 0
    lock = threading.Lock()

    def add(number: int) -> None:
        nonlocal inside, most
        with sessions.use(Address(f"s{number % 2}")) as session:
            with lock:
                inside += 1
                most = max(most, inside)
            assert session.call("add", {"counter_id": FIRST, "amount": 1}).ok
            with lock:
                inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(160)))
    assert most <= 2
    for name in ("s0", "s1"):
        with sessions.use(Address(name)) as session:
            assert ok(session, "total") == 80


def test_a_session_that_is_closed_while_a_call_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(TINY)
    held = sessions._find(A)
    sessions.close(A)
    monkeypatch.setattr(sessions, "_find", lambda address: held)
    assert fault(sessions, A) == "session_expired"


# -- through the protocol ----------------------------------------------------------------------

Ask = Callable[[mcp.Client], Awaitable[Any]]


def asked(ask: Ask, sessions: Sessions | None = None, mode: str = "auto") -> Any:
    """What `ask` returns, given a client of an in-memory server."""
    sessions = Sessions(TINY, seed=1) if sessions is None else sessions

    async def connect() -> Any:
        async with mcp.Client(mcp_server(sessions), mode=mode) as client:
            return await ask(client)

    return anyio.run(connect)


def error_of(ask: Ask, sessions: Sessions | None = None) -> types.ErrorData:
    """The JSON-RPC error with which `ask` fails."""

    async def caught(client: mcp.Client) -> types.ErrorData:
        with pytest.raises(mcp.MCPError) as error:
            await ask(client)
        return error.value.error

    found: types.ErrorData = asked(caught, sessions)
    return found


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (None, "session_missing"),
        ({"rungs/seed": 1}, "session_missing"),
        ({"rungs/session": None}, "session_missing"),
        ({"rungs/session": 3}, "session_invalid"),
        ({"rungs/session": "a b"}, "session_invalid"),
        ({"rungs/session": "a", "rungs/seed": -1}, "session_invalid"),
        ({"rungs/session": "a", "rungs/seed": 1.5}, "session_invalid"),
        ({"rungs/session": "a", "rungs/seed": True}, "session_invalid"),
        ({"rungs/session": "a", "rungs/seed": 2**63}, "session_invalid"),
        ({"rungs/session": "a", "rungs/seed": "seven"}, "session_invalid"),
        ({"rungs/session": "a", "rungs/key": 3}, "session_invalid"),
        ({"rungs/session": "a", "rungs/key": "x" * 200}, "session_invalid"),
        ({"rungs/session": "open", "rungs/seed": 2}, "session_conflict"),
    ],
)
def test_requests_that_reach_no_session(given: Any, kind: str) -> None:
    sessions = Sessions(TINY, seed=1)
    with sessions.use(Address("open")):
        pass
    error = error_of(lambda client: client.call_tool("add", ADD, meta=given), sessions)
    assert error.code == types.INVALID_PARAMS
    assert error.data["kind"] == kind and error.data["message"] and error.data["remedy"]
    with sessions.use(Address("open")) as session:
        assert session.diff() == []


def test_headers_name_a_session_and_meta_wins() -> None:
    def address(meta: Any, **headers: str) -> Address:
        return address_of(SimpleNamespace(meta=meta, request=SimpleNamespace(headers=headers)))  # type: ignore[arg-type]

    both = {"rungs-session": "h", "rungs-seed": "5"}
    assert address(None, **both) == Address("h", 5)
    assert address({"rungs/seed": 6}, **both) == Address("h", 6)
    assert address({"rungs/session": "m"}, **both) == Address("m", None)
    assert address({"rungs/session": "m", "rungs/seed": 7}, **both) == Address("m", 7)
    for seed in ("", "-1", "1.0", "٣", "9" * 40):
        with pytest.raises(SessionError, match="not a seed"):
            address(None, **{"rungs-session": "h", "rungs-seed": seed})


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_refusal_is_a_structured_error(mode: str) -> None:
    for name, arguments, kind in (
        ("add", {"counter_id": "count_999"}, "not_found"),
        ("add", {"counter_id": 1}, "invalid_arguments"),
        ("public_helper", {}, "unknown_tool"),
        ("seed", {"world": 1}, "unknown_tool"),
    ):
        answer = asked(lambda client, n=name, a=arguments: client.call_tool(n, a, meta=meta("a")), mode=mode)
        assert answer.is_error
        assert set(answer.structured_content["error"]) == {"kind", "message", "remedy"}
        assert answer.structured_content["error"]["kind"] == kind


def test_a_key_takes_effect_once() -> None:
    async def ask(client: mcp.Client) -> list[Any]:
        keyed = [await client.call_tool("add", ADD, meta=meta("a", key="k")) for _ in range(3)]
        return [answer.structured_content for answer in keyed]

    sessions = Sessions(TINY, seed=1)
    assert asked(ask, sessions) == [{"counter_id": FIRST, "total": 6}] * 3
    error = error_of(lambda client: client.call_tool("drop", {"counter_id": FIRST}, meta=meta("a", key="k")), sessions)
    assert error.data["kind"] == "session_conflict" and "'k'" in error.message


def test_a_crash_is_no_answer_to_the_model() -> None:
    sessions = Sessions(TINY, seed=1)
    error = error_of(lambda client: client.call_tool("break_down", {}, meta=meta("a")), sessions)
    assert error.code == types.INTERNAL_ERROR and "tiny.break_down crashed: ZeroDivisionError" in error.message
    with sessions.use(A) as session:
        assert session.diff() == []


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_results_that_are_no_objects_travel_wrapped(mode: str) -> None:
    """Lists, numbers, null and a recursive type; the SDK's client checks each against its output schema."""
    calls = [("total", {}), ("biggest", {}), ("tree", {}), ("list_counters", {}), ("walk", {"steps": [{"amount": 60}]})]
    calls += [("biggest", {}), ("drop", {"counter_id": FIRST}), ("add", {"counter_id": "count_200"})]

    async def ask(client: mcp.Client) -> list[Any]:
        return [await client.call_tool(name, arguments, meta=meta("a")) for name, arguments in calls]

    answers = asked(ask, mode=mode)
    with TINY.session(1) as session:
        for (name, arguments), answer in zip(calls, answers, strict=True):
            expected = session.call(name, arguments, "id")
            assert read_result(answer, TINY.specs[name], "id") == expected
            assert isinstance(answer.structured_content, dict)
            Draft202012Validator(output_schema(TINY.specs[name])).validate(answer.structured_content)
    assert answers[1].structured_content == {"result": None}
    assert answers[-1].structured_content == {"counter_id": "count_200", "total": 1}


def test_reading_an_answer_that_is_not_ours() -> None:
    spec = TINY.specs["total"]
    refusal = SimpleNamespace(is_error=True, structured_content={"error": {"kind": "not_found", "message": "gone"}})
    assert read_result(refusal, spec, "c") == Result("c", False, error=ToolFault("not_found", "gone"))
    for content, is_error in ((None, False), ([1], False), ({"error": "text"}, True), ({}, True)):
        with pytest.raises(ValueError, match="of total"):
            read_result(SimpleNamespace(structured_content=content, is_error=is_error), spec)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_state_is_shown_and_closed_by_requests_that_are_no_tools(mode: str) -> None:
    close = types.Request[types.RequestParams, str](method=CLOSE, params=types.RequestParams(_meta=meta("a")))

    async def ask(client: mcp.Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == set(TINY.specs)
        assert [str(r.uri) for r in (await client.list_resources()).resources] == [DIGEST, DIFF]
        await client.call_tool("add", ADD, meta=meta("a"))
        with TINY.session(1) as session:
            session.call("add", ADD)
            for uri, text in ((DIGEST, session.digest()), (DIFF, "~ counters[count_100] total: 1 -> 6")):
                assert (await client.read_resource(uri, meta=meta("a"))).contents[0].text == text
        with pytest.raises(mcp.MCPError, match="no resource"):
            await client.read_resource("rungs://session/state", meta=meta("a"))
        closed = [(await client.session.send_request(close, TypeAdapter(dict[str, Any])))["closed"] for _ in range(2)]
        assert closed == [True, False]
        assert (await client.call_tool("total", {}, meta=meta("a"))).structured_content == {"result": 1}

    asked(ask, mode=mode)
