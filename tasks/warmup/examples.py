"""Supervised examples: verified demonstrations as exact tokens, with the mask on what the model should write.

    example = demonstration(chat, environment, task, system="")       # Example(ids, mask)
    example = practice(chat, environment, stream)                     # random records, for copying

A demonstration executes the gold calls on a fresh session, one call a turn, and ends as the task asks:
`Answer: VALUE` where a value was asked for, `Done.` otherwise. Prompt and tool results are tokenised by the same
code as in a rollout, so that training sees exactly what generation sees.

Left out: demonstrations of recovery from errors.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
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


def demonstration(chat: Chat, environment: Environment, task: Task, system: str) -> Example:
    """The gold solution of a task as one example. Raises DemonstrationError when it does not execute."""
    with environment.session(task.session_seed) as session:
        messages = [*system_message(system, session), Message("user", task.turns[0])]
        ids = chat.prompt(messages, visible(environment, task))
        mask = [0] * len(ids)
        for gold in task.gold.calls:
            _write(chat, ids, mask, render_call(Call(gold.id, gold.name, gold.arguments)))
            result = session.call(gold.name, gold.arguments, gold.id)
            if not result.ok:
                raise DemonstrationError(f"task {task.id}: gold call {gold.name} is refused ({result.error}). Run `dvc repro`.")
            _hear(chat, ids, mask, render_result(result), gold.id)
        _write(chat, ids, mask, closing(task))
    return Example(ids, mask, task.depth)


def _write(chat: Chat, ids: list[int], mask: list[int], text: str) -> None:
    new = [*chat.tokenizer.encode(text, add_special_tokens=False), chat.stop_ids[0]]
    ids += new
    mask += [1] * len(new)


def _hear(chat: Chat, ids: list[int], mask: list[int], text: str, call_id: str) -> None:
    new = chat.between([Message("tool", text, call_id)])
    ids += new
    mask += [0] * len(new)


def practice(chat: Chat, environment: Environment, rng: random.Random) -> Example:
    """Copying practice from the schemas alone: the user spells out values, results hold identifiers, calls use both.

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
        _hear(chat, ids, mask, canonical_json(result), str(number))
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
