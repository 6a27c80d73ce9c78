"""DepthBench's own data: all 1,710 gold plans convert, parse, and pass TIER's format and schema terms.

Skipped where the benchmark's data is not beside the repository; RUNGS_SHARED names another shared folder.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tasks.evaluate.depthbench import FILES, DepthBenchError, json_schema, load
from tasks.records import Call, Task, ToolSpec, read_shard, write_shard
from tasks.toolbox.answers import equal, multiset_equal
from tasks.toolbox.plan import Form, parse_plan, render_plan
from tasks.toolbox.references import literal_violations, resolve
from tasks.toolbox.schema import Checker

SHARED = Path(os.environ.get("RUNGS_SHARED") or Path(__file__).parents[2].parent / "shared")
FOLDER = SHARED / "data" / "depthbench"

needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no DepthBench data at {FOLDER}; set RUNGS_SHARED")


@pytest.fixture(scope="module")
def loaded() -> tuple[list[Task], list[ToolSpec]]:
    return load(FOLDER)


@needs_data
def test_counts(loaded: tuple[list[Task], list[ToolSpec]]) -> None:
    tasks, specs = loaded
    assert len(tasks) == 1710 and len({task.id for task in tasks}) == 1710 and len(specs) == 163
    labels = {split: Counter(t.provenance["label"] for t in tasks if t.split == split) for split in ("train", "validation")}
    assert labels["train"] == {0: 50, 1: 410, 2: 55, 3: 184, 4: 145, 5: 60, 6: 40}
    assert labels["validation"] == {0: 51, 1: 480, 2: 95, 3: 75, 4: 45, 5: 10, 6: 10}
    assert Counter(t.depth for t in tasks) == {0: 130, 1: 870, 2: 150, 3: 255, 4: 185, 5: 70, 6: 50}
    assert sum(t.chain_depth > 1 for t in tasks) == 620
    assert Counter(t.chain_depth for t in tasks) == {0: 130, 1: 960, 2: 150, 3: 210, 4: 150, 5: 70, 6: 40}
    assert sum(t.provenance["returns"] == "all" for t in tasks) == 90


@needs_data
def test_nothing_to_call(loaded: tuple[list[Task], list[ToolSpec]]) -> None:
    tasks, _ = loaded
    unanswerable = [t for t in tasks if t.provenance["unanswerable"]]
    assert len(unanswerable) == 29 and Counter(t.split for t in unanswerable) == {"train": 19, "validation": 10}
    assert all(t.gold.abstain and t.gold.calls == [] and t.gold.answer is None for t in unanswerable)
    assert sum(t.gold.abstain for t in tasks) == 29 + 101
    assert all(t.gold.answer is not None for t in tasks if not t.gold.abstain)


@needs_data
def test_the_splits_share_no_tool_and_a_task_shows_what_it_needs(loaded: tuple[list[Task], list[ToolSpec]]) -> None:
    tasks, specs = loaded
    names = {spec.name for spec in specs}
    called = {s: {c.name for t in tasks if t.split == s for c in t.gold.calls} for s in ("train", "validation")}
    assert len(called["train"]) == 21 and len(called["validation"]) == 19
    assert not called["train"] & called["validation"]
    for task in tasks:
        assert {c.name for c in task.gold.calls} <= set(task.tools) <= names
        assert len(task.distractors) == 3 and len(set(task.tools)) == len(task.tools)
        assert not {"GetLocation", "GetCurrentLocation"} <= set(task.tools) or not task.gold.calls
        assert not any("tag" in c.arguments for c in task.gold.calls)


@needs_data
@pytest.mark.parametrize("form", ["json", "xml", "direct"])
def test_format_term_of_all_gold_plans(loaded: tuple[list[Task], list[ToolSpec]], form: Form) -> None:
    passed = 0
    for task in loaded[0]:
        calls = [Call(c.id, c.name, c.arguments) for c in task.gold.calls]
        plan = parse_plan(render_plan(calls, task.provenance["returns"], "t", form), form)
        assert plan.failure is None and plan.returns == task.provenance["returns"]
        assert [(c.id, c.name, c.arguments) for c in plan.calls] == [(c.id, c.name, c.arguments) for c in calls]
        passed += 1
    assert passed == 1710


@needs_data
def test_schema_terms_of_all_gold_plans(loaded: tuple[list[Task], list[ToolSpec]]) -> None:
    tasks, specs = loaded
    checkers = {spec.name: Checker(spec.input_schema) for spec in specs}
    for spec in specs:
        Checker(spec.output_schema)
    checked, references, reasons = 0, 0, []
    for task in tasks:
        for call in task.gold.calls:
            violations = checkers[call.name].violations(call.arguments)
            reasons += [(task.id, v.message) for v in literal_violations(violations, call.arguments)]
            checked += 1
            references += len(call.needs)
    # The benchmark's own gold breaks none of its definitions: nothing is to be listed.
    assert reasons == []
    assert (checked, references) == (3325, 1565)


@needs_data
def test_gold_answers_replay(loaded: tuple[list[Task], list[ToolSpec]]) -> None:
    """The recorded calls of the benchmark's simulator, with references resolved, give all 1,710 gold answers."""
    recorded: dict[str, Any] = {}
    for line in (FOLDER / "api_io_examples.jsonl").read_text(encoding="utf-8").splitlines():
        example = json.loads(line)
        recorded[json.dumps([example["api"], example["args"]], sort_keys=True)] = example["response"]
    fields = json.loads((FOLDER / "gold_reference_fields.json").read_text(encoding="utf-8"))
    solved = 0
    for task in loaded[0]:
        results: dict[str, Any] = {}
        names = {call.id: call.name for call in task.gold.calls}
        for call in task.gold.calls:
            for edge in call.needs:
                assert edge.path == f"/{fields[names[edge.source]]}"
            arguments = resolve(call.arguments, results)
            results[call.id] = _play(recorded, call.name, arguments, task.provenance["tag"])
        values = list(results.values())
        if task.gold.abstain:
            solved += values == []
        elif task.provenance["returns"] == "all":
            solved += multiset_equal(values, task.gold.answer)
        else:
            solved += equal(values[-1], task.gold.answer)
    assert solved == 1710


def _play(recorded: dict[str, Any], name: str, arguments: dict[str, Any], tag: str) -> Any:
    name = "GetLocation" if name == "GetCurrentLocation" else name
    if name in ("GetLocation", "GetTime", "GetDate"):
        arguments = {"tag": tag}
    return recorded[json.dumps([name, arguments], sort_keys=True)]


@needs_data
def test_tasks_are_the_same_every_time_and_survive_storage(loaded: tuple[list[Task], list[ToolSpec]], tmp_path: Path) -> None:
    tasks, specs = loaded
    assert load(FOLDER) == loaded
    assert [t.distractors for t in load(FOLDER, seed=1)[0]] != [t.distractors for t in tasks]
    assert all(t.distractors == [] for t in load(FOLDER, distractors=0)[0])
    write_shard(tmp_path / "tasks.parquet", tasks, Task)
    write_shard(tmp_path / "specs.parquet", specs, ToolSpec)
    assert read_shard(tmp_path / "tasks.parquet", Task) == tasks
    assert read_shard(tmp_path / "specs.parquet", ToolSpec) == specs


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder in the benchmark's layout with one row."""
    call = {"0": {"GetTime": {"tag": "A"}}, "1": {"Wait": {"until": {"time": "API_RESPONSE_0"}}}}
    row = {
        "prompt": "Wait.",
        "num_calls": 2,
        "follow_up": False,
        "return_all": False,
        "tag": "A",
        "apis": ["Wait", "GetTime"],
        "api_calls": json.dumps(call),
        "response": json.dumps({"1": {"status_code": 200}}),
    }
    time = {"type": "dict", "properties": {"time": {"type": "string"}}, "required": ["time"]}
    wait = {"type": "dict", "properties": {"until": time}}
    tools = {
        "GetTime": {"name": "GetTime", "description": "d", "parameters": {"type": "dict", "properties": {}, "required": []}},
        "Wait": {"name": "Wait", "description": "d", "parameters": {**wait, "required": ["until"]}},
    }
    for tool in tools.values():
        tool["returns"] = {"type": "dict", "index": "Time", "properties": {"Time": {"type": "string"}}}
    (tmp_path / "prompts").mkdir()
    for name, content in zip(FILES, ({"0": row}, tools, {"train_ids": ["0"], "validation_ids": []}), strict=True):
        (tmp_path / name).write_text(json.dumps(content))
    return tmp_path


def test_a_row(small: Path) -> None:
    (task,), specs = load(small)
    assert task.gold.calls[0].arguments == {} and task.provenance["tag"] == "A"
    assert [(e.source, e.path, e.argument) for e in task.gold.calls[1].needs] == [("0", "/Time", "/until/time")]
    assert (task.depth, task.chain_depth, task.gold.answer, task.distractors) == (2, 2, {"status_code": 200}, [])
    assert specs[1].input_schema == {
        "type": "object",
        "properties": {"until": {"type": "object", "properties": {"time": {"type": "string"}}, "additionalProperties": False}},
        "additionalProperties": False,
        "required": ["until"],
    }


def test_types() -> None:
    assert json_schema({"type": "float", "minimum": 0}) == {"type": "number", "minimum": 0}
    assert json_schema({"type": "pandas.DataFrame"}) == {"type": "array", "items": {"type": "object"}}
    assert json_schema({"type": "array", "items": {"type": "dict"}}) == {"type": "array", "items": {"type": "object"}}


@pytest.mark.parametrize("name", FILES)
def test_a_missing_or_cut_file_is_named(small: Path, name: str) -> None:
    text = (small / name).read_text()
    (small / name).write_text(text[: len(text) // 2])
    with pytest.raises(DepthBenchError, match=name):
        load(small)
    (small / name).write_text("{}")
    with pytest.raises(DepthBenchError, match=name):
        load(small)
    (small / name).unlink()
    with pytest.raises(DepthBenchError, match=f"{name}: no such file"):
        load(small)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DepthBenchError, match="no such folder"):
        load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"api_calls": "{"}, "row 0: JSONDecodeError"),
        ({"api_calls": '{"0": {"Fly": {}}}'}, "no definition of Fly"),
        ({"api_calls": '{"0": {"Wait": {"until": "API_RESPONSE_1"}}}'}, "no call 1 stands before it"),
        ({"response": ""}, "2 gold calls and 0 gold values"),
        ({"prompt": None, "apis": 5}, "row 0: TypeError"),
    ],
)
def test_a_damaged_row_is_named(small: Path, change: dict[str, Any], message: str) -> None:
    rows = json.loads((small / FILES[0]).read_text())
    rows["0"].update(change)
    (small / FILES[0]).write_text(json.dumps(rows))
    with pytest.raises(DepthBenchError, match=message):
        load(small)


def test_a_row_in_no_split_and_a_row_without_a_key(small: Path) -> None:
    rows = json.loads((small / FILES[0]).read_text())
    (small / FILES[0]).write_text(json.dumps({**rows, "1": rows["0"]}))
    with pytest.raises(DepthBenchError, match="1 rows are in no split"):
        load(small)
    del rows["0"]["apis"]
    (small / FILES[0]).write_text(json.dumps(rows))
    with pytest.raises(DepthBenchError, match="row 0: KeyError: 'apis'"):
        load(small)


def test_copying_one_file_is_not_enough(small: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("partial")
    shutil.copy(small / FILES[0], other)
    with pytest.raises(DepthBenchError, match="function_definitions"):
        load(other)
