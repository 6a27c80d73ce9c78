"""DepthBench (TIER's benchmark) as our records: 1,710 tasks over 163 tools, from a folder that the user has.

    tasks, specs = load("../shared/data/depthbench")
    python -m tasks.evaluate.depthbench FOLDER      # prints the rows by split and label

The folder holds `full_dataset.json`, `prompts/function_definitions.json` and `split_seen_unseen.json` (which ids
are train and which validation). Schemas become JSON Schema: `dict` -> object, `float` -> number,
`pandas.DataFrame` -> array of objects; unknown properties are refused; nested `required` lists are left out, as
the released check ignores them. The hidden `tag` of the state tools is taken out of the gold arguments and kept
in the provenance. In validation rows GetLocation is GetCurrentLocation, as in the released loader.

`depth` is the number of gold calls (METHODS.md (c) 8). The benchmark's own label, by which its reports count,
is `provenance["label"]`; the two differ in 29 rows whose request lacks a needed value: gold calls nothing there.

Left out: the simulator behind the tools (a session over it), and upstream's own draw of distractors, which
depends on the order of a set and cannot be repeated.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tasks.records import Call, Gold, GoldCall, Task, ToolSpec, digest_of
from tasks.toolbox.references import UnresolvedReferenceError, chain_depth, edges

SERVER = "depthbench"
FILES = ("full_dataset.json", "prompts/function_definitions.json", "split_seen_unseen.json")
TAGGED = ("GetLocation", "GetCurrentLocation", "GetTime", "GetDate")
"""State tools: the benchmark's parser gives them the row's hidden `tag`, so that they answer differently by row."""
TWINS = {"GetLocation": "GetCurrentLocation"}
"""Renamed in validation rows, so that no tool is shared between the splits."""
SOURCE = "https://github.com/anaykulkarni/TIER (data/depthbench), Apache-2.0"

_TYPES = {"dict": "object", "float": "number", "pandas.DataFrame": "array"}
_KEYS = ("prompt", "num_calls", "return_all", "tag", "apis", "api_calls", "response")


class DepthBenchError(Exception):
    """The folder does not hold the benchmark as expected; names the file or row and the remedy."""


def load(path: str | Path, distractors: int = 3, seed: int = 0) -> tuple[list[Task], list[ToolSpec]]:
    """All rows of the benchmark as tasks, in the order of their ids, and its tools in the order of definition.

    `distractors`: tools shown beside each row's own, drawn from all others by `seed` and row (0 to 100).
    A row's answer is the last call's value, or the list of all values where provenance["returns"] is "all".
    Raises DepthBenchError.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise DepthBenchError(f"{folder}: no such folder. {_REMEDY}")
    rows, definitions, split = (_read(folder / name) for name in FILES)
    specs = {name: _spec(name, definition) for name, definition in definitions.items()}
    splits = dict.fromkeys(split.get("train_ids", []), "train")
    splits |= dict.fromkeys(split.get("validation_ids", []), "validation")
    if set(splits) != set(rows):
        lacking, unknown = sorted(set(rows) - set(splits)), sorted(set(splits) - set(rows))
        raise DepthBenchError(
            f"{folder}: {FILES[0]} and {FILES[2]} are not of the same release: {len(lacking)} rows are in no split "
            f"{lacking[:3]}, {len(unknown)} ids of the split have no row {unknown[:3]}. {_REMEDY}"
        )
    digest = digest_of(folder / FILES[0])
    tasks = []
    for row in sorted(rows, key=int):
        try:
            tasks.append(_task(row, rows[row], splits[row], specs, digest, distractors, seed))
        except (KeyError, TypeError, ValueError, UnresolvedReferenceError) as error:
            raise DepthBenchError(f"{folder / FILES[0]}: row {row}: {type(error).__name__}: {error}. {_REMEDY}") from error
    return tasks, list(specs.values())


_REMEDY = f"DepthBench is a folder with {', '.join(FILES)}, unchanged from {SOURCE}; the split file is derived from it."


def _read(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DepthBenchError(f"{file}: no such file. {_REMEDY}") from error
    except (OSError, ValueError) as error:
        raise DepthBenchError(f"{file}: cannot be read as JSON ({error}). {_REMEDY}") from error
    if not isinstance(value, dict) or not value:
        raise DepthBenchError(f"{file}: holds no object with entries. {_REMEDY}")
    return value


def _spec(name: str, definition: Mapping[str, Any]) -> ToolSpec:
    try:
        parameters, returns = definition["parameters"], definition["returns"]
        return ToolSpec(
            name=name,
            description=definition["description"],
            input_schema=json_schema(parameters, parameters.get("required", [])),
            output_schema=json_schema(returns),
            server=SERVER,
        )
    except (KeyError, AttributeError, TypeError) as error:
        raise DepthBenchError(f"{FILES[1]}: {name}: {type(error).__name__}: {error}. {_REMEDY}") from error


def json_schema(schema: Mapping[str, Any], required: Iterable[str] = ()) -> dict[str, Any]:
    """One of the benchmark's schemas as JSON Schema draft 2020-12. `required` is what the outermost object requires."""
    kind = schema.get("type", "string")
    result: dict[str, Any] = {"type": _TYPES.get(kind, kind)}
    if kind == "pandas.DataFrame":
        result["items"] = {"type": "object"}
    for key, value in schema.items():
        match key:
            case "type" | "required" | "index":  # `index` names the field that a reference takes
                continue
            case "properties":
                result["properties"] = {name: json_schema(inner) for name, inner in value.items()}
                result["additionalProperties"] = False
            case "items":
                result["items"] = json_schema(value)
            case _:
                result[key] = value
    if required:
        result["required"] = list(required)
    return result


def _task(
    row: str, record: Mapping[str, Any], split: str, specs: Mapping[str, ToolSpec], digest: str, distractors: int, seed: int
) -> Task:
    prompt, label, every, tag, apis, gold_text, response = (record[key] for key in _KEYS)
    rename = TWINS if split == "validation" else {}
    needed = list(dict.fromkeys(rename.get(name, name) for name in apis))  # some rows name a tool once per call
    calls = [_call(call_id, entry, rename) for call_id, entry in json.loads(gold_text).items()]
    unknown = sorted({name for name in needed if name not in specs} | {call.name for call in calls if call.name not in specs})
    if unknown:
        raise ValueError(f"no definition of {', '.join(unknown)}")
    # A bare reference's field follows from the fields that the producing tool declares.
    fields = {call.id: specs[call.name].output_schema.get("properties", {}) for call in calls}
    needs = edges(calls, fields)
    values = list(json.loads(response).values()) if response else []
    if len(values) != (len(calls) if every else min(len(calls), 1)):
        raise ValueError(f"{len(calls)} gold calls and {len(values)} gold values do not fit together")
    drawn = _draw(specs, needed, distractors, seed, int(row))
    shown = needed + drawn
    order = np.random.default_rng([seed, int(row), 1]).permutation(len(shown))
    return Task(
        id=f"{SERVER}-{int(row):04d}",
        family="tools",
        split="train" if split == "train" else "validation",
        servers=[SERVER],
        tools=[shown[index] for index in order],
        distractors=drawn,
        session_seed=0,
        turns=[prompt],
        gold=Gold(
            calls=[GoldCall(call.id, call.name, call.arguments, needs[call.id]) for call in calls],
            answer=(values if every else values[-1]) if values else None,
            abstain=not calls,
        ),
        depth=len(calls),
        chain_depth=chain_depth(needs),
        unseen_tools=split == "validation",
        provenance={
            "benchmark": "DepthBench",
            "digest": digest,
            "row": row,
            "label": label,
            "returns": "all" if every else "one",
            "tag": tag,
            "unanswerable": bool(label and not calls),
        },
    )


def _call(call_id: str, entry: Mapping[str, Any], rename: Mapping[str, str]) -> Call:
    ((name, arguments),) = entry.items()
    if name in TAGGED:
        arguments = {key: value for key, value in arguments.items() if key != "tag"}
    return Call(call_id, rename.get(name, name), arguments)


def _draw(specs: Mapping[str, ToolSpec], needed: list[str], count: int, seed: int, row: int) -> list[str]:
    """`count` other tools for a row. The twin of a needed tool is never one: it would be as right as the tool itself."""
    twins = {**TWINS, **{new: old for old, new in TWINS.items()}}
    barred = {*needed, *(twins.get(name, "") for name in needed)}
    others = sorted(name for name in specs if name not in barred)
    chosen = np.random.default_rng([seed, row]).choice(len(others), size=min(count, len(others)), replace=False)
    return [others[index] for index in chosen]


def main(argv: list[str] | None = None) -> int:
    import argparse

    parser = argparse.ArgumentParser(prog="python -m tasks.evaluate.depthbench", description="Count DepthBench's rows.")
    parser.add_argument("folder", type=Path)
    tasks, specs = load(parser.parse_args(argv).folder)
    print(f"{len(tasks)} tasks, {len(specs)} tools, {sum(task.gold.abstain for task in tasks)} with nothing to call")
    counts = Counter((task.split, task.provenance["label"]) for task in tasks)
    for split in ("train", "validation"):
        print(split, *(f"{label}:{counts[split, label]}" for label in range(7)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
