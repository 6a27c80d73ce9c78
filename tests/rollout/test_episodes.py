"""Episodes: exact tokens and masks, what is executed and what is not, how an episode ends, and that sessions close."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.params import Limits
from tasks.records import Message, Task, Trajectory
from tasks.rollout.episodes import run
from tasks.servers import Environment, Session, ToolCrashError
from tasks.toolbox.execute import render_result
from tasks.toolbox.faults import FAULTS
from tests.policy.made import servers, some_tasks, trained
from tests.rollout.made import Cut, Scripted, call, task

LIMITS = Limits(turn_tokens=48, total_tokens=256, turns=5)
ROOM = Limits(turn_tokens=48, total_tokens=4000, turns=9)
LIST = call("list_accounts", kind="savings")
OPEN = call("open_account", name="Boat", kind="savings")


def fresh_digest(of: Task) -> str:
    with servers().session(of.session_seed) as session:
        return session.digest()


def play(*lines: Any, of: Task | None = None, limits: Limits = ROOM) -> Trajectory:
    """One scripted episode."""
    policy = Scripted({0: lines})
    (trajectory,) = run(policy, servers(), [(of or task(), 0)], limits, 1.0, 0)  # type: ignore[arg-type]
    return trajectory


@pytest.fixture(scope="module")
def sampled() -> list[Trajectory]:
    """Sixteen sampled episodes of a policy that has learned some calls: right, wrong, malformed and cut ones."""
    jobs = [(t, s) for t in some_tasks(4) for s in range(4)]
    return run(trained(), servers(), jobs, LIMITS, 1.0, 0)


def test_stored_log_probabilities_are_those_of_the_stored_tokens(sampled: list[Trajectory]) -> None:
    model = trained().model
    for t in sampled:
        ids = torch.tensor([t.prompt_ids + t.completion_ids])
        with torch.inference_mode():
            logp = model(input_ids=ids).logits[0, :-1].log_softmax(-1).gather(-1, ids[0, 1:, None])[:, 0]
        own = torch.tensor(t.mask).bool()
        again, stored = logp[len(t.prompt_ids) - 1 :], torch.tensor(t.logprobs)
        assert torch.allclose(again[own], stored[own], atol=1e-4)
        assert (stored[~own] == 0.0).all()


def test_the_mask_is_the_models_own_tokens_and_the_rest_is_what_it_heard(sampled: list[Trajectory]) -> None:
    chat = trained().chat
    assert {t.finish_reason for t in sampled} >= {"stop", "length"} and max(len(t.steps) for t in sampled) > 2
    for t in sampled:
        assert t.mask == [int(any(s.start <= i < s.end for s in t.steps)) for i in range(len(t.mask))]
        assert [s.start for s in t.steps] == sorted(s.start for s in t.steps) and t.steps[0].start == 0
        assert t.steps[-1].end == len(t.completion_ids), "an episode ends with the model's own token"
        assert chat.prompt(t.messages[:1], [servers().specs[n] for n in by_id()[t.task_id].tools]) == t.prompt_ids
        said = [i for i, m in enumerate(t.messages) if m.role == "assistant"]
        assert len(said) == len(t.steps)
        for number, step in enumerate(t.steps):
            assert chat.decode(t.completion_ids[step.start : step.end]) == t.messages[said[number]].content
            if number + 1 < len(t.steps):
                heard = t.messages[said[number] + 1 : said[number + 1]]
                assert t.completion_ids[step.end : t.steps[number + 1].start] == chat.between(heard)
                assert [m.content for m in heard][: len(step.results)] == [render_result(r) for r in step.results]


def by_id() -> dict[str, Task]:
    return {t.id: t for t in some_tasks(24)}


def test_an_episode_is_the_same_in_any_batch_and_in_any_run(sampled: list[Trajectory]) -> None:
    policy, tasks = trained(), some_tasks(4)
    assert run(policy, servers(), [(t, s) for t in tasks for s in range(4)], LIMITS, 1.0, 0) == sampled
    jobs = [(tasks[2], 1), (tasks[0], 3)]
    for found, at in zip(run(policy, servers(), jobs, LIMITS, 1.0, 0), (9, 3), strict=True):
        expected = sampled[at]
        assert (found.completion_ids, found.seed, found.digest) == (expected.completion_ids, expected.seed, expected.digest)
        assert found.logprobs == pytest.approx(expected.logprobs, abs=1e-5)
    assert len({t.seed for t in sampled}) == len(sampled)
    other = run(policy, servers(), jobs, LIMITS, 1.0, 1)
    assert [t.seed for t in other] != [sampled[9].seed, sampled[3].seed]


def test_a_call_is_executed_and_its_result_heard() -> None:
    of = task()
    t = play(LIST, "Answer: 3", of=of)
    assert (t.finish_reason, len(t.steps)) == ("stop", 2)
    with servers().session(of.session_seed) as session:
        expected = session.call("list_accounts", {"kind": "savings"}, "0")
    assert t.results() == [expected]
    assert [m.role for m in t.messages] == ["user", "assistant", "tool", "assistant"]
    assert t.messages[2] == Message("tool", render_result(expected), "0")
    assert t.logprobs[: t.steps[0].end] == [pytest.approx(-0.1 * (n + 1)) for n in range(t.steps[0].end)]


def test_several_calls_of_a_turn_run_in_the_order_written_with_ids_of_their_own() -> None:
    t = play(f"{OPEN} and {LIST}", f"{LIST}{LIST}", "Done.")
    assert [c.id for c in t.calls()] == [r.call_id for r in t.results()] == ["0", "1", "2", "3"]
    assert any(a["name"] == "Boat" for a in t.results()[1].content), "the second call sees what the first did"
    assert [m.call_id for m in t.messages if m.role == "tool"] == ["0", "1", "2", "3"]


def test_a_state_that_is_changed_shows_in_the_digest_and_no_other_episode_sees_it() -> None:
    of = task()
    policy = Scripted({0: [OPEN, "Done."], 1: [LIST, "Done."]})
    changed, untouched = run(policy, servers(), [(of, 0), (of, 1)], LIMITS, 1.0, 0)  # type: ignore[arg-type]
    assert changed.digest != fresh_digest(of) == untouched.digest
    assert all(a["name"] != "Boat" for a in untouched.results()[0].content)


@pytest.mark.parametrize("text", [OPEN, f"{OPEN}{OPEN}", OPEN[:-6], "I think that"])
def test_a_turn_that_the_length_cuts_is_never_executed(text: str) -> None:
    of = task()
    t = play(Cut(text), of=of)
    assert (t.finish_reason, t.calls(), t.results()) == ("length", [], [])
    assert t.digest == fresh_digest(of)
    assert t.mask == [1] * len(t.completion_ids) and (t.steps[-1].start, t.steps[-1].end) == (0, len(t.completion_ids))


BROKEN = '<tool_call>{"name": "open_account", "arguments": {"name": "Boat", "kind": "savings"}</tool_call>'


def test_a_parse_failure_is_told_to_the_model_and_is_not_no_call() -> None:
    of = task()
    t = play(BROKEN, "Done.", of=of)
    assert (t.finish_reason, len(t.steps)) == ("stop", 2), "the episode goes on after the failure"
    (failure,) = t.steps[0].failures
    assert failure.kind == "missing_brace" and not t.steps[0].calls
    told = json.loads(t.messages[2].content)
    assert (t.messages[2].role, told["error"]["kind"]) == ("tool", "missing_brace")
    assert FAULTS["missing_brace"] in told["error"]["message"]
    assert t.digest == fresh_digest(of), "nothing was repaired and run"


def test_a_turn_of_calls_and_failures_runs_the_calls_and_tells_of_the_failures() -> None:
    t = play(f"{BROKEN}{LIST}", LIST, "Done.")
    assert [m.role for m in t.messages[2:4]] == ["tool", "tool"]
    assert t.messages[2].content == render_result(t.results()[0])
    assert "missing_brace" in t.messages[3].content
    assert [c.id for c in t.calls()] == ["1", "2"], "a failure takes a number too, so that ids never repeat"


def test_refusals_go_back_to_the_model_as_errors() -> None:
    t = play(call("fly", to="moon"), call("list_accounts", kind=3), "Done.")
    kinds = [r.error.kind for r in t.results() if r.error]
    assert kinds == ["unknown_tool", "invalid_arguments"]
    assert [json.loads(m.content)["error"]["kind"] for m in t.messages if m.role == "tool"] == kinds


def test_a_tool_that_crashes_ends_its_own_episode_as_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Session.call

    def broken(self: Session, name: str, arguments: Any, call_id: str = "") -> Any:
        if name == "open_account":
            raise ToolCrashError("banking.open_account crashed: KeyError: 'x'")
        return real(self, name, arguments, call_id)

    monkeypatch.setattr(Session, "call", broken)
    policy = Scripted({0: [f"{LIST}{OPEN}", "Done."], 1: [LIST, "Done."]})
    crashed, other = run(policy, servers(), [(task(), 0), (task(), 1)], LIMITS, 1.0, 0)  # type: ignore[arg-type]
    assert (crashed.finish_reason, crashed.error) == ("error", "banking.open_account crashed: KeyError: 'x'")
    assert [c.name for c in crashed.calls()] == ["list_accounts", "open_account"]
    assert (other.finish_reason, other.error) == ("stop", None)


def test_the_turn_limit_is_said_as_such() -> None:
    t = play(LIST, limits=Limits(turn_tokens=48, total_tokens=2000, turns=3))
    assert (t.finish_reason, len(t.steps)) == ("turns", 3)
    assert t.messages[-1].role == "assistant" and t.mask[-1] == 1


FLY = call("fly", to="moon")
WRONG_TYPE = call("list_accounts", kind=3)


def bounded(faults: int) -> Limits:
    return Limits(turn_tokens=48, total_tokens=4000, turns=20, faults=faults)


@pytest.mark.parametrize("line", [FLY, WRONG_TYPE, BROKEN])
def test_so_many_refused_or_malformed_calls_end_the_episode(line: str) -> None:
    t = play(line, limits=bounded(3))
    assert (t.finish_reason, len(t.steps)) == ("turns", 3)
    assert sum(not r.ok for r in t.results()) + sum(len(s.failures) for s in t.steps) == 3, "the last one is on record"
    assert t.messages[-1].role == "assistant" and t.mask[-1] == 1, "what it would hear next is not written down"


def test_refused_and_malformed_calls_count_together_and_good_ones_do_not() -> None:
    t = play(FLY, LIST, BROKEN, LIST, LIST, "Done.", limits=bounded(3))
    assert (t.finish_reason, len(t.steps)) == ("stop", 6), "two of three"
    t = play(FLY, LIST, BROKEN, LIST, WRONG_TYPE, "Done.", limits=bounded(3))
    assert (t.finish_reason, len(t.steps)) == ("turns", 5), "the third"


def test_calls_of_one_turn_count_each_and_all_run_before_the_end() -> None:
    t = play(f"{FLY}{BROKEN}{OPEN}{WRONG_TYPE}", "Done.", limits=bounded(2))
    assert (t.finish_reason, len(t.steps)) == ("turns", 1)
    assert [r.ok for r in t.results()] == [False, True, False] and len(t.steps[0].failures) == 1
    assert t.digest != fresh_digest(task()), "the good one among them took effect"


def test_faults_count_over_all_user_turns_and_for_each_episode_alone() -> None:
    of = task(turns=["First.", "Second."])
    policy = Scripted({0: [FLY, "One.", FLY, "Two."], 1: [FLY, "One.", LIST, "Two."]})
    ended, other = run(policy, servers(), [(of, 0), (of, 1)], bounded(2), 1.0, 0)  # type: ignore[arg-type]
    assert (ended.finish_reason, len(ended.steps)) == ("turns", 3)
    assert other.finish_reason == "stop"


def test_a_limit_of_no_faults_is_refused_and_of_one_forgives_none() -> None:
    for faults in (0, None, -1):
        with pytest.raises(ValidationError, match="faults"):
            bounded(faults)  # type: ignore[arg-type]
    assert play(FLY, "Done.", limits=bounded(1)).finish_reason == "turns"
    assert play(LIST, "Done.", limits=bounded(1)).finish_reason == "stop"
    t = play(FLY, limits=Limits(turn_tokens=48, total_tokens=4000, turns=99))
    assert (t.finish_reason, len(t.steps)) == ("turns", 8), "unless said otherwise"


def test_an_answer_in_the_last_turn_that_is_allowed_is_a_stop() -> None:
    t = play(LIST, "Done.", limits=Limits(turn_tokens=48, total_tokens=2000, turns=2))
    assert t.finish_reason == "stop"


def test_results_that_do_not_fit_end_the_episode_by_length() -> None:
    t = play(LIST, limits=Limits(turn_tokens=48, total_tokens=120, turns=99))
    assert t.finish_reason == "length"
    assert t.steps[-1].calls and t.steps[-1].results, "the last calls did run"
    assert t.messages[-1].role == "assistant" and len(t.completion_ids) <= 120 + 48


def test_the_stored_user_turns_are_replayed_when_the_model_answers() -> None:
    of = task(turns=["First.", "Second.", "Third."])
    t = play(LIST, "One.", "Two.", LIST, "Three.", of=of)
    assert t.finish_reason == "stop"
    assert [m.content for m in t.messages if m.role == "user"] == of.turns
    assert [m.role for m in t.messages] == (
        ["user", "assistant", "tool", "assistant", "user", "assistant", "user", "assistant", "tool", "assistant"]
    )
    assert [s.turn for s in t.steps] == [0, 0, 1, 2, 2]
    assert t.final_text() == "Three."


def test_the_system_message_tells_the_sessions_time() -> None:
    of = task()
    policy = Scripted({0: ["Done."]}, system="Now: {now}.")
    (t,) = run(policy, servers(), [(of, 0)], LIMITS, 1.0, 0)  # type: ignore[arg-type]
    with servers().session(of.session_seed) as session:
        assert t.messages[0] == Message("system", f"Now: {session.now:%A %Y-%m-%d %H:%M}.")
    assert policy.chat.tokenizer.decode(t.prompt_ids).startswith(f"<|system|>{t.messages[0].content}")


def test_every_ended_episode_is_told_once() -> None:
    told: list[int] = []
    policy = Scripted({0: ["Done."], 1: [LIST, "Done."], 2: [Cut("x")]})
    jobs = [(task(), n) for n in range(3)]
    run(policy, servers(), jobs, LIMITS, 1.0, 0, told.append)  # type: ignore[arg-type]
    assert sum(told) == 3
    assert run(policy, servers(), [], LIMITS, 0.0, 0) == []  # type: ignore[arg-type]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Session]:
    """All sessions that are opened during the test."""
    sessions: list[Session] = []
    real = Environment.session

    def session(self: Environment, seed: int) -> Session:
        sessions.append(real(self, seed))
        return sessions[-1]

    monkeypatch.setattr(Environment, "session", session)
    return sessions


def test_sessions_are_closed_after_a_run(opened: list[Session]) -> None:
    play(LIST, "Done.")
    assert [s._closed for s in opened] == [True]


def test_sessions_are_closed_when_generation_fails(opened: list[Session]) -> None:
    policy = Scripted({}, fail=RuntimeError("out of memory"))
    with pytest.raises(RuntimeError, match="out of memory"):
        run(policy, servers(), [(task(), 0), (task(), 1)], LIMITS, 1.0, 0)  # type: ignore[arg-type]
    assert [s._closed for s in opened] == [True, True]


def test_sessions_are_closed_when_a_later_one_cannot_be_opened(opened: list[Session]) -> None:
    jobs = [(task(), 0), (task(tools=["no_such_tool"]), 0)]
    with pytest.raises(KeyError, match="no_such_tool"):
        run(Scripted({0: ["Done."]}), servers(), jobs, LIMITS, 1.0, 0)  # type: ignore[arg-type]
    assert opened and all(s._closed for s in opened)


PIECES = st.sampled_from(
    [
        "<tool_call>",
        "</tool_call>",
        '{"name": "list_accounts", "arguments": {}}',
        '{"name": "open_account", "arguments": {"name": "\\ud800", "kind": "savings"}}',
        '{"name": "list_accounts", "arguments": {"limit": 1' + "0" * 400 + "}}",
        '{"name": "list_accounts", "arguments": {"limit": NaN}}',
        '{"name": "list_accounts", "arguments": {"kind": ' + "[" * 90 + "]" * 90 + "}}",
        '{"name": "__class__", "arguments": {"self": 1}}',
        '{"name": "list_accounts", "arguments": "{}"}',
        "<|end|>",
        "<|tool|>",
        "Answer: ",
        "\x00\ufffd\u2028",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(PIECES | st.text(max_size=6), max_size=5).map("".join), min_size=1, max_size=4))
def test_no_output_crashes_an_episode(lines: list[str]) -> None:
    t = play(*lines, "Done.", limits=Limits(turn_tokens=48, total_tokens=4000, turns=6))
    assert t.finish_reason in ("stop", "turns", "length")
    assert len(t.completion_ids) == len(t.mask) == len(t.logprobs)
    assert len(t.calls()) == len(t.results())
