"""Demonstrations are what a rollout of the same gold would be, and practice is well formed."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from tasks.params import Limits
from tasks.policy.chat import Chat, render_call
from tasks.records import Call, Message
from tasks.reward.outcome import judge
from tasks.rollout.episodes import run
from tasks.toolbox.parse import parse_hermes
from tasks.warmup.examples import DemonstrationError, closing, demonstration, practice, renamed, tokenised
from tests.policy.made import servers, shared_tokenizer, some_tasks
from tests.rollout.made import Scripted

LIMITS = Limits(turn_tokens=200, total_tokens=4000, turns=20)


def chat() -> Chat:
    return Chat(shared_tokenizer())


@pytest.mark.parametrize("system", ["", "Be exact. It is {now}."])
def test_a_demonstration_is_the_rollout_of_its_gold(system: str) -> None:
    tasks = some_tasks(24)
    assert {t.depth for t in tasks} == {1, 2} and {t.gold.answer is None for t in tasks} == {True, False}
    lines = [[*(render_call(Call("", g.name, g.arguments)) for g in t.gold.calls), closing(t)] for t in tasks]
    policy = Scripted(dict(enumerate(lines)), system=system)
    for t, episode in zip(tasks, run(policy, servers(), [(t, 0) for t in tasks], LIMITS, 1.0, 0), strict=True):  # type: ignore[arg-type]
        messages = demonstration(servers(), t, system)
        example = tokenised(chat(), servers(), t, messages)
        assert messages == episode.messages
        assert example.ids == episode.prompt_ids + episode.completion_ids
        assert example.mask == [0] * len(episode.prompt_ids) + episode.mask
        assert example.depth == t.depth
        assert judge(t, episode).right, "what is taught is right"


def test_gold_that_does_not_execute_is_refused() -> None:
    t = some_tasks(1)[0]
    broken = [replace(t.gold.calls[0], name="no_such_tool"), *t.gold.calls[1:]]
    with pytest.raises(DemonstrationError, match=rf"task {t.id}: gold call no_such_tool is refused .*dvc repro"):
        demonstration(servers(), replace(t, gold=replace(t.gold, calls=broken)), "")


def test_the_closing_is_the_answer_as_json_or_done() -> None:
    t = some_tasks(1)[0]
    for answer, text in ((None, "Done."), ("Ada", 'Answer: "Ada"'), (True, "Answer: true"), (12.5, "Answer: 12.5")):
        assert closing(replace(t, gold=replace(t.gold, answer=answer))) == text


def parsed(messages: list[Message]) -> list[Call]:
    """The calls of all assistant messages; all but the last message must be one call each."""
    said = [m.content for m in messages if m.role == "assistant"]
    turns = [parse_hermes(text) for text in said]
    assert all(not turn.failures for turn in turns)
    assert [len(turn.calls) for turn in turns] == [1] * (len(turns) - 1) + [0]
    return [turn.calls[0] for turn in turns[:-1]]


def keys(value: Any) -> Any:
    """The shape of a JSON value: its keys, and the kinds of its leaves."""
    if isinstance(value, dict):
        return {key: keys(each) for key, each in value.items()}
    return [keys(each) for each in value] if isinstance(value, list) else type(value).__name__


def test_a_renamed_demonstration_keeps_its_shape_and_its_references() -> None:
    changed = 0
    for t in some_tasks(24):
        messages = demonstration(servers(), t, "")
        again = renamed(servers(), t, messages, random.Random(1))
        assert again == renamed(servers(), t, messages, random.Random(1))
        changed += again != messages
        assert [(m.role, m.call_id) for m in again] == [(m.role, m.call_id) for m in messages]
        before, after = parsed(messages), parsed(again)
        assert [c.name for c in after] == [c.name for c in before]
        for old, new in zip(before, after, strict=True):
            assert keys(new.arguments) == keys(old.arguments)
            checker = servers().checkers[new.name]
            assert checker.valid(new.arguments), (new.arguments, checker.violations(new.arguments))
        for old_message, new_message in zip(messages, again, strict=True):
            if old_message.role == "tool":
                assert keys(json.loads(new_message.content)) == keys(json.loads(old_message.content))
        seen, seen_again = "", ""
        for old_message, new_message in zip(messages, again, strict=True):
            if old_message.role == "assistant" and parse_hermes(old_message.content).calls:
                pairs = zip(
                    strings(parse_hermes(old_message.content).calls[0].arguments),
                    strings(parse_hermes(new_message.content).calls[0].arguments),
                    strict=True,
                )
                for old_value, new_value in pairs:
                    assert (old_value in seen) == (new_value in seen_again), (old_value, new_value)
            seen, seen_again = seen + old_message.content, seen_again + new_message.content
    assert changed > 12


def strings(value: Any) -> list[str]:
    """All strings of a JSON value, in order."""
    if isinstance(value, dict):
        return [s for each in value.values() for s in strings(each)]
    if isinstance(value, list):
        return [s for each in value for s in strings(each)]
    return [value] if isinstance(value, str) else []


def test_practice_is_an_echo_or_calls_that_fit_their_schemas() -> None:
    rng, kinds = random.Random(5), set()
    tokenizer = shared_tokenizer()
    for _ in range(60):
        example = practice(chat(), servers(), rng)
        assert len(example.ids) == len(example.mask) and 0 < sum(example.mask) < len(example.ids)
        text = tokenizer.decode(example.ids)
        said = [turn.partition("<|end|>")[0] for turn in text.split("<|assistant|>")[1:]]
        written = tokenizer.decode([i for i, own in zip(example.ids, example.mask, strict=True) if own])
        assert written == "".join(f"{turn}<|end|>" for turn in said), "the mask is what the assistant says"
        calls = [call for turn in said for call in parse_hermes(turn).calls]
        kinds.add(bool(calls))
        if not calls:
            assert text == f"<|user|>{said[0]}<|end|><|assistant|>{said[0]}<|end|>"
        for call in calls:
            kinds_of_fault = {v.kind for v in servers().checkers[call.name].violations(call.arguments)}
            assert not kinds_of_fault & {"missing", "unknown", "type"}
    assert kinds == {True, False}


def test_practice_follows_its_stream() -> None:
    one, two = ([practice(chat(), servers(), rng) for _ in range(5)] for rng in (random.Random(1), random.Random(1)))
    assert one == two
    assert one != [practice(chat(), servers(), random.Random(2)) for _ in range(5)]
