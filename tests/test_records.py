"""The data contracts: what is written is what is read, byte for byte, and what is damaged is named and refused."""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import random
import shutil
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Union

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks import records
from tasks.records import (
    COMPONENTS,
    RECORDS,
    VERSION,
    Edge,
    Gold,
    GoldCall,
    RecordError,
    Rubric,
    Score,
    Task,
    Trajectory,
    canonical_json,
    components,
    digest_of,
    from_row,
    main,
    read_shard,
    read_shards,
    schema_of,
    to_row,
    write_shard,
    write_shards,
)

# -- any record -----------------------------------------------------------------------------------

numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of an annotation; a field that is added to a record is thereby tested."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        if arguments[1] == "json":
            return json_values
        return st.dictionaries(st.sampled_from(COMPONENTS), st.none() | numbers, max_size=4)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of(*(st.none() if a is type(None) else values_of(a) for a in arguments))
    if origin is list:
        return st.lists(values_of(arguments[0]), max_size=3)
    if dataclasses.is_dataclass(hint):
        return made(typing.cast(type, hint))
    return {str: texts, int: st.integers(-(2**63), 2**63 - 1), float: numbers, bool: st.booleans()}[hint]


def made(cls: type) -> st.SearchStrategy[Any]:
    """Records of a class, within what its constructor demands."""
    fields = {name: values_of(hint) for name, hint in typing.get_type_hints(cls, include_extras=True).items()}
    if cls is Trajectory:
        return st.integers(0, 4).flatmap(lambda n: st.builds(cls, **fields | tokens(n)))
    if cls is Score:
        total = {"score": numbers, "abstain": st.none(), "error": st.none()}
        return st.sampled_from(sorted(total)).flatmap(
            lambda kind: st.builds(cls, **fields | {"kind": st.just(kind), "total": total[kind]})
        )
    return st.builds(cls, **fields)


def tokens(n: int) -> dict[str, st.SearchStrategy[Any]]:
    def exactly(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
        return st.lists(inner, min_size=n, max_size=n)

    ids = st.integers(0, 2**31 - 1)
    return {
        "prompt_ids": st.lists(ids, max_size=4),
        "completion_ids": exactly(ids),
        "mask": exactly(st.sampled_from([0, 1])),
        "logprobs": exactly(st.floats(-100, 0, width=32)),
    }


def same(a: Any, b: Any) -> bool:
    """Equality that tells 1 from 1.0 and true, as JSON does, but not 0.0 from -0.0."""
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("cls", RECORDS.values(), ids=RECORDS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_what_is_written_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, cls: type, data: st.DataObject) -> None:
    written = data.draw(st.lists(made(cls), max_size=3))
    folder = tmp_path_factory.mktemp("shard")
    path = folder / "a.parquet"
    assert write_shard(path, written, cls) == len(written)
    read = read_shard(path, cls)
    assert same(read, written)
    again = folder / "b.parquet"
    write_shard(again, read, cls)
    assert again.read_bytes() == path.read_bytes()
    assert all(same(from_row(cls, to_row(each)), each) for each in written)
    shutil.rmtree(folder)


def task(number: int = 0, **changes: Any) -> Task:
    find = GoldCall("0", "find", {"q": "Zürich 東京 🙂"})
    pay = GoldCall("1", "pay", {"to": {"ids": [1, 2.5, None]}}, [Edge("0", "/id", "/to")])
    gold = Gold([find, pay], {"total": number}, "d1")
    values: dict[str, Any] = {"id": f"train-{number:05d}", "family": "tools", "split": "train", "servers": ["bank"]}
    values |= {"tools": ["find", "pay"], "distractors": [], "session_seed": number, "turns": ["Pay it.\n\0"], "gold": gold}
    return Task(**values | {"depth": 2, "chain_depth": 2} | changes)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        0,
        False,
        [],
        {},
        [None],
        {"": None},
        2**63,
        -(10**40),
        1.0,
        1e-320,
        "\ud800",
        {"\udfff": "\ud83d"},
        "𝄞\u2028\x00\x7f",
        {"b": 1, "a": {"d": [], "c": None}},
        json.loads("[" * 64 + "]" * 64),
    ],
)
def test_json_fields_keep_any_json(tmp_path: Path, value: Any) -> None:
    write_shard(tmp_path / "a.parquet", [task(provenance=value)], Task)
    (read,) = read_shard(tmp_path / "a.parquet", Task)
    assert same(read.provenance, value)


def test_canonical_json_is_one_text_for_equal_values() -> None:
    assert canonical_json({"b": [1, 2.5, None, True], "a": "é"}) == '{"a":"é","b":[1,2.5,null,true]}'
    assert canonical_json({"a": 1, "b": 2}) == canonical_json({"b": 2, "a": 1})
    assert canonical_json({"b": 2**70, "a": "\ud800"}) == '{"a":"\\ud800","b":1180591620717411303424}'
    assert canonical_json(math.nan) == canonical_json(math.inf) == "null"
    for value in ({1, 2}, object(), b"bytes"):
        with pytest.raises(TypeError):
            canonical_json(value)


def test_equal_records_are_equal_files_whatever_the_order_of_keys(tmp_path: Path) -> None:
    write_shard(tmp_path / "a.parquet", [task(provenance={"x": 1, "y": {"a": 1, "b": 2}})], Task)
    write_shard(tmp_path / "b.parquet", [task(provenance={"y": {"b": 2, "a": 1}, "x": 1})], Task)
    write_shard(tmp_path / "c.parquet", [task(provenance={"x": 1, "y": {"a": 1, "b": 3}})], Task)
    one, two, other = ((tmp_path / name).read_bytes() for name in ("a.parquet", "b.parquet", "c.parquet"))
    assert one == two != other


# -- what constructors refuse ---------------------------------------------------------------------


def score(**changes: Any) -> Score:
    values: dict[str, Any] = {"task_id": "t", "sample": 0, "recipe": "tier", "kind": "score", "total": 1.0, "components": {}}
    return Score(**values | changes)


def test_tokens_mask_and_logprobs_are_equally_long() -> None:
    with pytest.raises(ValueError, match=r"trajectory t-1/3: unequal token lengths \[1, 2\]"):
        Trajectory("t-1", 3, "p", 0, [], [], [1, 2], [1, 1], [0.0], [], "stop", "")


def test_only_a_score_has_a_total() -> None:
    with pytest.raises(ValueError, match="score t/0: kind 'score' with total None"):
        score(total=None)
    for kind in ("abstain", "error"):
        with pytest.raises(ValueError, match=f"score t/0: kind '{kind}' with total 1.0"):
            score(kind=kind)
        assert score(kind=kind, total=None).total is None


def test_a_score_has_every_component_and_no_other() -> None:
    assert score(components={"answer": 1.0}).components == components(answer=1.0)
    assert list(score().components) == list(COMPONENTS)
    with pytest.raises(ValueError, match=r"score t/0: unknown components \['speed'\]"):
        score(components={"speed": 1.0})


# -- shards ---------------------------------------------------------------------------------------


def test_shards_are_cut_and_read_back_in_order(tmp_path: Path) -> None:
    tasks = [task(n) for n in range(11)]
    assert write_shards(tmp_path / "tasks", iter(tasks), Task, rows=4) == 11
    assert sorted(p.name for p in (tmp_path / "tasks").iterdir()) == [f"part-0000{n}.parquet" for n in range(3)]
    assert read_shards(tmp_path / "tasks", Task) == tasks
    assert read_shards(tmp_path / "tasks" / "part-00001.parquet", Task) == tasks[4:8]


def test_no_records_are_a_shard_too(tmp_path: Path) -> None:
    assert write_shards(tmp_path / "rubrics", [], Rubric) == 0
    assert read_shards(tmp_path / "rubrics", Rubric) == []


def test_a_failed_write_leaves_the_old_shard(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_shard(path, [task(1)], Task)
    with pytest.raises(UnicodeEncodeError):
        write_shard(path, [task(2, turns=["\ud800"])], Task)
    with pytest.raises((TypeError, pa.ArrowException)):
        write_shard(path, [task(2, depth="deep")], Task)
    assert read_shard(path, Task) == [task(1)]


def test_a_full_disk_names_the_file_and_leaves_the_old_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    write_shard(path, [task(1)], Task)

    def full(*args: Any, **more: Any) -> None:
        raise OSError(errno.ENOSPC, "Error writing bytes to file")  # as pyarrow says it, without the file's name

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_shard(path, [task(2)], Task)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert read_shard(path, Task) == [task(1)]


def refusal(path: Path, cls: type = Task, read: Callable[..., Any] = read_shards) -> str:
    with pytest.raises(RecordError) as caught:
        read(path, cls)
    message = str(caught.value)
    assert message.startswith(f"{path}")
    assert "dvc repro" in message
    return message


def test_a_missing_folder_an_empty_one_and_a_missing_file(tmp_path: Path) -> None:
    assert "no Parquet shards of Task here. Run the stage" in refusal(tmp_path / "none")
    assert "no Parquet shards of Task here. Run the stage" in refusal(tmp_path)
    assert "no such shard. Run the stage" in refusal(tmp_path / "none.parquet", read=read_shard)


def test_another_record(tmp_path: Path) -> None:
    write_shard(tmp_path / "a.parquet", [task()], Task)
    assert "a.parquet: holds Task records, not Rubric. Delete it" in refusal(tmp_path, Rubric)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    assert "a.parquet: holds no Rungs records, not Task." in refusal(tmp_path)


def test_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.Table.from_pylist([to_row(task())], schema=schema_of(Task))
    old = table.replace_schema_metadata({"rungs.record": "Task", "rungs.version": "0"})
    pq.write_table(old, tmp_path / "a.parquet")
    assert f"schema version 0, this program reads {VERSION}. Delete it and run `dvc repro`" in refusal(tmp_path)


def test_other_columns(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([to_row(task())], schema=schema_of(Task))
    pq.write_table(table.drop_columns(["depth"]), tmp_path / "a.parquet")
    assert "its columns are not those of Task version" in refusal(tmp_path)


def test_rows_that_no_record_can_hold(tmp_path: Path) -> None:
    row = to_row(task()) | {"provenance": "{not json"}
    pq.write_table(pa.Table.from_pylist([row], schema=schema_of(Task)), tmp_path / "a.parquet")
    assert "a.parquet: holds what is no Task (" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all" * 10])
def test_a_file_that_is_no_parquet(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(content)
    assert "a.parquet: not a readable Parquet file (" in refusal(tmp_path)


def test_no_damage_is_ever_read_as_other_records(tmp_path: Path) -> None:
    """One flipped bit, or a lost end, anywhere: the same records are read, or the file is refused."""
    path = tmp_path / "a.parquet"
    tasks = [task(n) for n in range(50)]
    write_shard(path, tasks, Task)
    whole = path.read_bytes()
    rng = random.Random(0)
    refused = 0
    for attempt in range(200):
        damaged = bytearray(whole)
        if attempt % 10:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        else:
            del damaged[rng.randrange(len(damaged)) :]
        path.write_bytes(damaged)
        try:
            assert read_shard(path, Task) == tasks
        except RecordError as error:
            assert str(error).startswith(f"{path}: ")
            refused += 1
    assert refused > 100


def test_the_digest_follows_names_and_bytes_and_nothing_else(tmp_path: Path) -> None:
    write_shards(tmp_path / "one", [task(1), task(2)], Task)
    write_shards(tmp_path / "two", [task(1), task(2)], Task)
    assert digest_of(tmp_path / "one") == digest_of(tmp_path / "two")
    (tmp_path / "two" / "part-00000.parquet").rename(tmp_path / "two" / "part-1.parquet")
    assert digest_of(tmp_path / "one") != digest_of(tmp_path / "two")
    (tmp_path / "file").write_bytes(b"x")
    before = digest_of(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"y")
    assert digest_of(tmp_path / "file") != before


# -- the command ----------------------------------------------------------------------------------


def test_show_prints_any_record_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_shards(tmp_path / "tasks", [task(n) for n in range(5)], Task, rows=2)
    assert main(["show", str(tmp_path), "-n", "1"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["gold"]["calls"][0]["arguments"] == {"q": "Zürich 東京 🙂"}
    assert main(["show", str(tmp_path / "tasks" / "part-00002.parquet")]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "train-00004"


@pytest.mark.parametrize("content", [None, b"junk"])
def test_show_says_what_it_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "a.parquet").write_bytes(content)
    assert main(["show", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(str(tmp_path))
    assert captured.out == ""


def test_every_record_that_is_stored_has_a_schema() -> None:
    for name, cls in RECORDS.items():
        metadata = schema_of(cls).metadata
        assert metadata == {b"rungs.record": name.encode(), b"rungs.version": str(records.VERSION).encode()}
        assert schema_of(cls).names == [f.name for f in dataclasses.fields(cls)]
