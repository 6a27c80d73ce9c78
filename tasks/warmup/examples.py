"""Supervised examples: verified demonstrations as exact tokens, with the mask on what the model should write.

    messages = demonstration(environment, task, system="")             # the gold solution, executed
    messages = renamed(environment, task, messages, stream)            # the same about other entities
    example = tokenised(chat, environment, task, messages)             # Example(ids, mask)
    example = practice(chat, environment, stream)                      # random records, for copying

A demonstration executes the gold calls on a fresh session, one call a turn, and ends as the task asks:
`Answer: VALUE` where a value was asked for, `Done.` otherwise. Prompt and tool results are tokenised by the same
code as in a rollout, so that training sees exactly what generation sees.

Left out: demonstrations of recovery from errors.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.policy.chat import Chat, render_call
from tasks.records import Call, Message, Task, canonical_json
from tasks.rollout.episodes import system_message, visible
from tasks.servers import Environment
from tasks.toolbox.execute import render_result


class DemonstrationError(Exception):
    """A gold call failed when it was executed again: the task's shard does not belong to this program's servers."""


@dataclass(frozen=True, slots=True)
class Example:
    """Token ids and, of equal length, 1 where the model is to write the token."""

    ids: list[int]
    mask: list[int]
    depth: int


def closing(task: Task) -> str:
    """The final assistant message of a right solution."""
    return "Done." if task.gold.answer is None else f"Answer: {json.dumps(task.gold.answer)}"


def demonstration(environment: Environment, task: Task, system: str) -> list[Message]:
    """The messages of a task's gold solution, executed. Raises DemonstrationError when it does not execute."""
    with environment.session(task.session_seed) as session:
        messages = [*system_message(system, session), Message("user", task.turns[0])]
        for gold in task.gold.calls:
            messages.append(Message("assistant", render_call(Call(gold.id, gold.name, gold.arguments))))
            result = session.call(gold.name, gold.arguments, gold.id)
            if not result.ok:
                raise DemonstrationError(f"task {task.id}: gold call {gold.name} is refused ({result.error}). Run `dvc repro`.")
            messages.append(Message("tool", render_result(result), gold.id))
        return [*messages, Message("assistant", closing(task))]


def tokenised(chat: Chat, environment: Environment, task: Task, messages: Sequence[Message]) -> Example:
    """A demonstration's messages as an example, by the code that a rollout uses."""
    first = next(i for i, m in enumerate(messages) if m.role == "assistant")
    ids = chat.prompt(messages[:first], visible(environment, task))
    mask = [0] * len(ids)
    for message in messages[first:]:
        if message.role == "assistant":
            _write(chat, ids, mask, message.content)
        else:
            _hear(chat, ids, mask, message)
    return Example(ids, mask, task.depth)


def renamed(environment: Environment, task: Task, messages: Sequence[Message], rng: random.Random) -> list[Message]:
    """The same demonstration about other entities: names and identifiers are replaced, each the same way everywhere.

    A model that sees a few thousand names learns the names; one that never sees a name twice learns to copy.
    Values of a closed set (enums, dates, numbers) stay.
    """
    names = {
        word for call in task.gold.calls for word in _open_words(environment.specs[call.name].input_schema, call.arguments)
    }
    for message in messages:
        if message.role == "tool":
            names |= set(CAPITALISED.findall(message.content))
    new: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        old = match[0]
        if old not in new:
            prefix, underscore, _ = old.rpartition("_")
            word = _word(rng)
            new[old] = f"{prefix}_{rng.randrange(100, 1000)}" if underscore else word.capitalize() if old[0].isupper() else word
        return new[old]

    pattern = re.compile("|".join([IDENTIFIER, *(rf"\b{re.escape(n)}\b" for n in sorted(names, key=len, reverse=True))]))
    return [replace_content(m, pattern.sub(replace, m.content)) for m in messages]


IDENTIFIER = r"\b[a-z]+_[0-9]{3}\b"
CAPITALISED = re.compile(r"\b[A-Z][a-z]+\b")


def replace_content(message: Message, content: str) -> Message:
    """The message with another content."""
    return Message(message.role, content, message.call_id)


def _open_words(schema: Mapping[str, Any], arguments: Any) -> set[str]:
    """The words of two letters or more in string arguments that are free text, neither enum nor pattern."""
    if isinstance(arguments, Mapping):
        properties = schema.get("properties", {})
        return {w for key, value in arguments.items() for w in _open_words(properties.get(key, {}), value)}
    if isinstance(arguments, list):
        return {w for value in arguments for w in _open_words(schema.get("items", {}), value)}
    if not isinstance(arguments, str) or "enum" in schema or "pattern" in schema:
        return set()
    return set(re.findall(r"[A-Za-z]{2,}", arguments))


def _write(chat: Chat, ids: list[int], mask: list[int], text: str) -> None:
    new = [*chat.tokenizer.encode(text, add_special_tokens=False), chat.stop_ids[0]]
    ids += new
    mask += [1] * len(new)


def _hear(chat: Chat, ids: list[int], mask: list[int], message: Message) -> None:
    new = chat.between([message])
    ids += new
    mask += [0] * len(new)


def practice(chat: Chat, environment: Environment, rng: random.Random) -> Example:
    """Copying practice: half echoes, half calls (see both)."""
    return _echo(chat, rng) if rng.random() < 0.5 else _calls(chat, environment, rng)


def _echo(chat: Chat, rng: random.Random) -> Example:
    """The user says random names, identifiers, dates and numbers; the assistant says the same."""
    kinds = (
        {"type": "string"},
        {"type": "string"},
        {"pattern": "^id_[", "x-entity": "id"},
        {"format": "date"},
        {"type": "number"},
    )
    text = ", ".join(_plain(_value(rng.choice(kinds), rng)) for _ in range(rng.randint(3, 10)))
    ids = chat.prompt([Message("user", text)], [])
    mask = [0] * len(ids)
    _write(chat, ids, mask, text)
    return Example(ids, mask, 1)


def _calls(chat: Chat, environment: Environment, rng: random.Random) -> Example:
    """From the schemas alone: the user spells out values, results hold identifiers, calls use both.

    The calls' values are random and their results made up, so nothing of any world's state is in it.
    """
    specs = rng.sample(list(environment.specs.values()), min(4, len(environment.specs)))
    known: dict[str, str] = {}
    calls: list[tuple[str, dict[str, Any], dict[str, str]]] = []
    said: list[str] = []
    for spec in specs[: rng.randint(1, 3)]:
        arguments: dict[str, Any] = {}
        for name, schema in spec.input_schema.get("properties", {}).items():
            if name not in spec.input_schema.get("required", []) and rng.random() < 0.7:
                continue
            prefix = _prefix(schema)
            if prefix in known and rng.random() < 0.8:
                arguments[name] = known[prefix]
                continue
            arguments[name] = _value(schema, rng)
            said.append(f"{name.replace('_', ' ')} {_plain(arguments[name])}")
        result = {f"{p}_id": f"{p}_{rng.randrange(100, 1000)}" for p in _prefixes(environment, rng)}
        known |= {v.split("_")[0] + "_": v for v in result.values()}
        calls.append((spec.name, arguments, result))
    text = f"{', then '.join(name.replace('_', ' ') for name, _, _ in calls)}: {', '.join(said)}."
    ids = chat.prompt([Message("user", text)], sorted(specs, key=lambda s: rng.random()))
    mask = [0] * len(ids)
    for number, (name, arguments, result) in enumerate(calls):
        _write(chat, ids, mask, render_call(Call(str(number), name, arguments)))
        _hear(chat, ids, mask, Message("tool", canonical_json(result), str(number)))
    _write(chat, ids, mask, "Done.")
    return Example(ids, mask, len(calls))


def _prefix(schema: Mapping[str, Any]) -> str:
    return str(schema.get("pattern", "")).removeprefix("^").split("[")[0] if "x-entity" in schema else ""


def _prefixes(environment: Environment, rng: random.Random) -> list[str]:
    found = {
        _prefix(schema).rstrip("_")
        for spec in environment.specs.values()
        for schema in spec.input_schema.get("properties", {}).values()
        if _prefix(schema).endswith("_")
    }
    return rng.sample(sorted(found), min(2, len(found)))


_SYLLABLES = [c + v + e for c in "bcdfghjklmnprstvwz" for v in "aeiou" for e in ("", "n", "r", "l", "s")]


def _value(schema: Mapping[str, Any], rng: random.Random) -> Any:
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if prefix := _prefix(schema):
        return f"{prefix}{rng.randrange(100, 1000)}" if prefix.endswith("_") else f"/{_word(rng)}/{_word(rng)}"
    match schema.get("type"):
        case "integer":
            return rng.randrange(1, 50)
        case "number":
            return rng.choice((rng.randrange(1, 900), rng.randrange(1, 900) + 0.5))
        case "boolean":
            return rng.random() < 0.5
        case "array":
            return [_value(schema.get("items", {}), rng) for _ in range(rng.randint(1, 2))]
        case "object":
            return {k: _value(v, rng) for k, v in schema.get("properties", {}).items()}
        case _ if schema.get("format") == "date":
            return f"2026-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"
        case _:
            return " ".join(_word(rng).capitalize() for _ in range(rng.randint(1, 2)))


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(rng.randint(1, 3)))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
