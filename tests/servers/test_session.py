"""Sessions: isolation, transactions, idempotency keys, closing, digests and differences."""

from __future__ import annotations

import copy
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tasks.servers import NAMES, environment
from tasks.servers.sampler import Live, sample
from tasks.servers.session import Environment, KeyReusedError, Session, SessionClosedError, ToolCrashError
from tests.servers.driver import Driver, ok, refused, state_of
from tests.servers.tiny import FIRST, TINY, Tiny

OTHER = "count_200"


def changed(session: Session) -> Session:
    ok(session, "add", counter_id=FIRST, amount=5)
    return session


# -- opening, resetting, closing ---------------------------------------------------------------


def test_a_session_begins_at_its_seed() -> None:
    with TINY.session(7) as session:
        assert (session.seed, session.environment) == (7, TINY)
        assert ok(session, "total") == 7
        assert session.diff() == []


def test_sessions_do_not_meet() -> None:
    with TINY.session(1) as one, TINY.session(1) as two:
        before = two.digest()
        changed(one)
        assert ok(two, "total") == 1
        assert two.digest() == before != one.digest()


def test_reset_goes_back_to_the_seed() -> None:
    with TINY.session(1) as session:
        before = session.digest()
        changed(session)
        session.reset()
        assert session.digest() == before
        assert ok(session, "total") == 1


def test_a_closed_session_answers_nothing() -> None:
    session = changed(TINY.session(1))
    session.close()
    session.close()
    for use in (lambda: session.call("total", {}), session.digest, session.diff, session.reset):
        with pytest.raises(SessionClosedError, match="closed"):
            use()


def test_leaving_the_block_closes_even_after_an_error() -> None:
    session = TINY.session(1)
    with pytest.raises(LookupError), session:
        raise LookupError
    with pytest.raises(SessionClosedError):
        session.call("total", {})


def test_two_servers_with_one_tool_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'add' is offered by tiny and by tiny"):
        Environment([Tiny, Tiny])


# -- transactions ------------------------------------------------------------------------------


def test_a_refused_call_leaves_no_trace() -> None:
    with TINY.session(1) as session:
        changed(session)
        assert refused(session, "invalid_value", "add", counter_id=FIRST, amount=100) == "106 is over 100"
        refused(session, "not_found", "drop", counter_id="count_999")
        assert ok(session, "total") == 6


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("no_such_tool", {}, "unknown_tool"),
        ("x" * 5000, {}, "unknown_tool"),
        ("add", {}, "invalid_arguments"),
        ("add", {"counter_id": FIRST, "extra": 1}, "invalid_arguments"),
        ("add", {"counter_id": "acc_100"}, "invalid_arguments"),
        ("add", {"counter_id": FIRST, "amount": float("nan")}, "invalid_arguments"),
        ("add", {"counter_id": FIRST, "amount": True}, "invalid_arguments"),
        ("add", {"counter_id": FIRST, "amount": -1}, "invalid_arguments"),
        ("add", {"counter_id": "\ud800"}, "invalid_arguments"),
        ("walk", {"steps": [{"amount": 1, "time": 2}]}, "invalid_arguments"),
        ("walk", {"steps": [[[[[[]]]]]]}, "invalid_arguments"),
        ("add", [], "invalid_arguments"),
    ],
)
def test_bad_calls(name: str, arguments: Any, kind: str) -> None:
    with TINY.session(1) as session:
        before = session.digest()
        result = session.call(name, arguments, "call-1")
        assert result.call_id == "call-1"
        assert result.error is not None and result.error.kind == kind
        assert result.error.message and result.error.remedy and len(result.error.message) < 600
        assert session.digest() == before


@pytest.mark.parametrize("name", ["public_helper", "seed", "close", "_row", "__init__", "name", "counters", "specs", "now"])
def test_only_marked_methods_are_tools(name: str) -> None:
    assert name not in TINY.specs
    with TINY.session(1) as session:
        refused(session, "unknown_tool", name)


def test_a_crash_is_raised_and_rolled_back() -> None:
    with TINY.session(1) as session:
        changed(session)
        before = session.digest()
        with pytest.raises(ToolCrashError, match=r"tiny\.break_down crashed: ZeroDivisionError"):
            session.call("break_down", {})
        assert session.digest() == before
        assert ok(session, "total") == 6


def test_results_are_the_callers_own() -> None:
    with TINY.session(1) as session:
        ok(session, "list_counters")[0]["total"] = 1000
        assert ok(session, "list_counters")[0]["total"] == 1


# -- idempotency keys --------------------------------------------------------------------------


def test_a_repeated_key_takes_effect_once() -> None:
    arguments = {"counter_id": FIRST, "amount": 5}
    with TINY.session(1) as session:
        first = session.call("add", arguments, "a", key="k1")
        again = session.call("add", {"amount": 5, "counter_id": FIRST}, "b", key="k1")
        assert first.content == again.content == {"counter_id": FIRST, "total": 6}
        assert (first.call_id, again.call_id) == ("a", "b")
        assert session.call("add", arguments, key="k2").content["total"] == 11
        assert session.call("add", arguments).content["total"] == 16
        first.content["total"] = again.content["total"] = -1
        assert session.call("add", arguments, key="k1").content["total"] == 6


def test_a_repeated_key_repeats_a_refusal() -> None:
    with TINY.session(1) as session:
        refusal = session.call("add", {"counter_id": FIRST, "amount": 100}, key="k")
        session.call("drop", {"counter_id": FIRST})
        assert session.call("add", {"counter_id": FIRST, "amount": 100}, key="k") == refusal
        assert refusal.error is not None and refusal.error.kind == "invalid_value"


def test_a_key_belongs_to_one_call() -> None:
    with TINY.session(1) as session:
        session.call("add", {"counter_id": FIRST}, key="k")
        before = session.digest()
        for name, arguments in (("add", {"counter_id": OTHER}), ("drop", {"counter_id": FIRST})):
            with pytest.raises(KeyReusedError, match="'k' was used for another call"):
                session.call(name, arguments, key="k")
        assert session.digest() == before


def test_a_crash_does_not_use_up_a_key() -> None:
    with TINY.session(1) as session:
        for _ in range(2):
            with pytest.raises(ToolCrashError):
                session.call("break_down", {}, key="k")


def test_keys_are_forgotten_by_reset_and_not_shared() -> None:
    with TINY.session(1) as session, TINY.session(1) as other:
        session.call("add", {"counter_id": FIRST}, key="k")
        assert other.call("drop", {"counter_id": OTHER}, key="k").ok
        session.reset()
        assert session.call("drop", {"counter_id": OTHER}, key="k").ok


def test_keys_leave_the_digest_alone() -> None:
    with TINY.session(1) as plain, TINY.session(1) as keyed:
        plain.call("add", {"counter_id": FIRST})
        keyed.call("add", {"counter_id": FIRST}, key="k")
        assert plain.digest() == keyed.digest()


# -- digests and differences -------------------------------------------------------------------


def test_the_order_of_independent_writes_leaves_no_trace() -> None:
    writes = [("open_account", {"name": "Boat", "kind": "savings"}), ("open_account", {"name": "Roof", "kind": "checking"})]
    digests = set()
    for order in (writes, writes[::-1]):
        with environment(["banking"]).session(3) as session:
            for name, arguments in order:
                assert session.call(name, arguments).ok
            digests.add(session.digest())
    assert len(digests) == 1


def test_undone_changes_leave_no_trace() -> None:
    with TINY.session(1) as session:
        before = session.digest()
        ok(session, "walk", steps=[{"amount": 3, "times": 2}])
        ok(session, "walk", steps=[{"amount": -6}])
        assert session.digest() == before
        assert session.diff() == []


def test_digests_tell_seeds_and_servers_apart() -> None:
    with TINY.session(1) as one, TINY.session(2) as two:
        assert one.digest() != two.digest()
    with environment(["banking", "calendar"]).session(1) as session:
        banking, calendar = session.digest().split("-")
        assert len(banking) == len(calendar) == 16
        assert ok(session, "open_account", name="Boat", kind="savings")
        assert session.digest().split("-")[1] == calendar
        assert session.digest().split("-")[0] != banking


def test_differences_read_as_lines() -> None:
    with TINY.session(1) as session:
        ok(session, "add", counter_id=FIRST, amount=4)
        ok(session, "drop", counter_id=OTHER)
        assert session.diff() == [
            "~ counters[count_100] total: 1 -> 5",
            '- counters[count_200] {"counter_id":"count_200","total":0}',
        ]
    with environment(["banking"]).session(3) as session:
        key = ok(session, "open_account", name="Boat", kind="savings")["account_id"]
        (line,) = session.diff()
        assert line.startswith(f"+ accounts[{key}] {{") and '"name":"Boat"' in line


def test_a_session_has_a_clock_of_its_own() -> None:
    with TINY.session(1) as session, TINY.session(1) as again:
        assert session.now == again.now == state_of(session, Tiny).now


# -- many at once ------------------------------------------------------------------------------


def run(seed: int, live: Live) -> tuple[str, list[Any]]:
    """Twelve random calls on a session over all servers: the final digest, and the results."""
    with environment(NAMES).session(seed % SEEDS) as session:
        driver = Driver(session, random.Random(seed), copy.deepcopy(live))
        for _ in range(12):
            driver.step()
        return driver.digest, [(result.ok, result.content, result.error) for _, _, result in driver.log]


SEEDS = 2


def test_threads_give_what_one_thread_gives() -> None:
    lives = []
    for seed in range(SEEDS):
        with environment(NAMES).session(seed) as session:
            lives.append(sample(session, limit=150))
    jobs = [(number, lives[number % SEEDS]) for number in range(32)]
    serial = [run(*job) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, *zip(*jobs, strict=True))) == serial
    assert len({digest for digest, _ in serial}) > len(jobs) // 4, "many of the calls change something"
