"""The data contracts of the pipeline: frozen records, their Arrow schemas, and Parquet shards.

Every stage reads and writes these records and nothing else. The Arrow schema of a record is derived
from its annotations, so that the class is the one place where a field is named. JSON-valued fields
(`Json`) are stored as canonical JSON text (sorted keys), which keeps equal records equal byte for byte.

Run: `python -m tasks.records show PATH [-n N]` prints the records of a shard or a folder of shards.

Left out: migration between schema versions. A shard of another version is refused with the remedy
(re-run the stage that wrote it); DVC makes that one command.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

VERSION = 1
"""Version of all record schemas; raised whenever a field changes its name, type or meaning."""

Json = Annotated[Any, "json"]
"""A JSON value (object, array, string, number, true, false, null), stored as canonical JSON text."""

COMPONENTS = (
    "format",  # TIER R_format: the episode's calls are well formed
    "name",  # TIER R_name: every called tool exists
    "param",  # TIER R_param: required present, no unknown extras
    "dtype",  # TIER R_dtype: values have the schema's types
    "exec",  # TIER R_exec: every call executes
    "answer",  # TIER R_answer: final answer and final state are the expected ones
    "outcome",  # outcome-only: 1 when answer and state are the expected ones
)
"""The fixed component schema of Score for a whole run (LESSONS.md): unknown is null, never missing."""

Components = Annotated[dict[str, float | None], "components"]


class RecordError(Exception):
    """A shard that cannot be read as what it should be; names the file and the remedy."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool as the policy sees it. Schemas are JSON Schema draft 2020-12 objects."""

    name: str
    description: str
    input_schema: Json
    output_schema: Json
    server: str
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False

    def openai(self) -> dict[str, Any]:
        """The tool in OpenAI's form, as chat templates and endpoints take it."""
        function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Edge:
    """A dependency between gold calls: `argument` of the later call is `path` in the result of `source`.

    `path` is a JSON Pointer into the source's result, `argument` one into the call's arguments. Both
    are empty for an implicit edge: the source must run first, but hands over no value.
    """

    source: str
    path: str = ""
    argument: str = ""


@dataclass(frozen=True, slots=True)
class GoldCall:
    """One call of the verified solution; `needs` are its incoming dependency edges."""

    id: str
    name: str
    arguments: Json
    needs: list[Edge] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Gold:
    """What a right solution achieves.

    `answer` is the JSON value that the user asked for (None: the request asks for no value),
    `digest` the final state's digest (empty: the state is not compared), `abstain` whether the right
    behaviour is to call nothing.
    """

    calls: list[GoldCall] = field(default_factory=list)
    answer: Json = None
    digest: str = ""
    abstain: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """One task: user turns over a seeded session, with the verified solution.

    `depth` is the number of gold calls and `chain_depth` the longest dependency chain (METHODS.md
    (c) 8). `tools` are all visible tool names in the order shown, distractors included.
    """

    id: str
    family: Literal["tools", "math"]
    split: Literal["train", "validation", "test"]
    servers: list[str]
    tools: list[str]
    distractors: list[str]
    session_seed: int
    turns: list[str]
    gold: Gold
    depth: int
    chain_depth: int
    unseen_entities: bool = False
    unseen_combination: bool = False
    unseen_tools: bool = False
    provenance: Json = None


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. `call_id` is set on tool messages: the call that it answers."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A well-formed call; `start:end` is its span of characters in the assistant's text."""

    id: str
    name: str
    arguments: Json
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """Text that looks like a call and is none: `kind` from tasks.toolbox.parse, `position` in characters."""

    kind: str
    position: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class ToolFault:
    """A structured refusal: what kind it is, what happened, and what would help."""

    kind: str
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a call: `content` when `ok`, else `error`."""

    call_id: str
    ok: bool
    content: Json = None
    error: ToolFault | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One assistant turn: its model tokens `start:end` in completion_ids, its calls and their results.

    `results` answer `calls` in order. The span holds the model's own tokens only.
    """

    start: int
    end: int
    calls: list[Call] = field(default_factory=list)
    failures: list[ParseFailure] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    subgoal: str | None = None
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One episode with its exact tokens.

    completion_ids, mask and logprobs have equal length by construction (checked); mask is 1 on the
    model's own tokens and 0 on tool results, headers and later user turns; logprobs are the sampler's
    natural-log probabilities, 0.0 where mask is 0. No wall-clock time is ever stored here.
    """

    task_id: str
    sample: int
    policy: str
    seed: int
    messages: list[Message]
    prompt_ids: list[int]
    completion_ids: list[int]
    mask: list[int]
    logprobs: list[float]
    steps: list[Step]
    finish_reason: Literal["stop", "length", "turns", "error"]
    digest: str
    error: str | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.completion_ids), len(self.mask), len(self.logprobs)}
        if len(lengths) != 1:
            raise ValueError(f"trajectory {self.task_id}/{self.sample}: unequal token lengths {sorted(lengths)}")

    def calls(self) -> list[Call]:
        """All well-formed calls in the order made."""
        return [call for step in self.steps for call in step.calls]

    def results(self) -> list[Result]:
        """All results, aligned with calls() unless generation ended between the two."""
        return [result for step in self.steps for result in step.results]

    def final_text(self) -> str:
        """The last assistant message, empty when there is none."""
        return next((m.content for m in reversed(self.messages) if m.role == "assistant"), "")


@dataclass(frozen=True, slots=True)
class Score:
    """A reward result of one of three kinds; only a `score` enters a group's statistics (LESSONS.md).

    `total` is None unless kind is `score`. `components` always has every name of COMPONENTS. `steps`
    holds one value per step of the trajectory, or nothing when the reward has no step scores.
    """

    task_id: str
    sample: int
    recipe: str
    kind: Literal["score", "abstain", "error"]
    total: float | None
    components: Components
    steps: list[float | None] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if (self.total is None) == (self.kind == "score"):
            raise ValueError(f"score {self.task_id}/{self.sample}: kind {self.kind!r} with total {self.total!r}")
        unknown = set(self.components) - set(COMPONENTS)
        if unknown:
            raise ValueError(f"score {self.task_id}/{self.sample}: unknown components {sorted(unknown)}")
        if len(self.components) != len(COMPONENTS):
            object.__setattr__(self, "components", {name: self.components.get(name) for name in COMPONENTS})


@dataclass(frozen=True, slots=True)
class RubricItem:
    """One rubric item (METHODS.md 2.2). `check` is a machine-verifiable predicate (tasks.distill.checks).

    The counts are over the held-out trajectories that it was tested on, and not over those that it was mined
    from: how many of the right and of the wrong ones satisfy it (for a pitfall: made the mistake).
    """

    kind: Literal["suggest", "pitfall", "bonus", "answer"]
    text: str
    check: Json = None
    right: int = 0
    right_of: int = 0
    wrong: int = 0
    wrong_of: int = 0


@dataclass(frozen=True, slots=True)
class Rubric:
    """The items of one task, or of one plan shape: `task_id` is the task's id or `shape:NAME`."""

    task_id: str
    items: list[RubricItem]


@dataclass(frozen=True, slots=True)
class SkillFailure:
    """A common failure of a skill, with the score from 0 to 3 that it should get."""

    example: str
    score: int


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill prototype (METHODS.md 4.1); `criteria` are the texts of the levels 0, 1, 2, 3."""

    id: str
    name: str
    applies_when: str
    pattern: str
    criteria: list[str]
    failures: list[SkillFailure] = field(default_factory=list)
    check: Json = None


RECORDS: dict[str, type] = {cls.__name__: cls for cls in (ToolSpec, Task, Trajectory, Score, Rubric, Skill)}
"""The records that are stored in shards of their own."""

R = TypeVar("R")


def canonical_json(value: Any) -> str:
    """`value` as JSON text with sorted keys and no spaces; equal values give equal text.

    Raises TypeError for what JSON cannot hold. NaN and infinities become null, as orjson does: they
    are refused earlier, by the parser.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        # orjson refuses integers over 64 bits and lone surrogates, which a model may well write.
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def components(**known: float | None) -> dict[str, float | None]:
    """A full components mapping: the given values, null elsewhere."""
    return {name: known.get(name) for name in COMPONENTS}


# ---------------------------------------------------------------------------------------------
# Arrow: schema, to rows, from rows, all driven by the annotations


def _unwrap(hint: Any) -> tuple[Any, bool]:
    """(the hint without Optional, whether None is allowed)."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        inner = [arg for arg in typing.get_args(hint) if arg is not type(None)]
        if len(inner) == 1:
            return inner[0], True
    return hint, False


def _read_hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls, include_extras=True)


_hints: Callable[[type], dict[str, Any]] = cache(_read_hints)


_INT32 = {"prompt_ids", "completion_ids"}
_NARROW = {"mask": pa.int8(), "logprobs": pa.float32()}


def _arrow_type(hint: Any, name: str = "") -> pa.DataType:
    hint, _ = _unwrap(hint)
    origin = typing.get_origin(hint)
    if origin is Annotated:
        kind = typing.get_args(hint)[1]
        if kind == "json":
            return pa.string()
        if kind == "components":
            return pa.struct([pa.field(c, pa.float64()) for c in COMPONENTS])
    if origin is Literal or hint is str:
        return pa.string()
    if origin is list:
        item = _NARROW.get(name) or (pa.int32() if name in _INT32 else _arrow_type(typing.get_args(hint)[0]))
        return pa.list_(item)
    if hint is bool:
        return pa.bool_()
    if hint is int:
        return pa.int64()
    if hint is float:
        return pa.float64()
    if dataclasses.is_dataclass(hint):
        return pa.struct([pa.field(n, _arrow_type(h, n)) for n, h in _hints(typing.cast(type, hint)).items()])
    raise TypeError(f"no Arrow type for {hint!r}")


def schema_of(cls: type) -> pa.Schema:
    """The Arrow schema of a record class, with its name and version in the metadata."""
    return _schema(cls)


def _read_schema(cls: type) -> pa.Schema:
    fields = [
        pa.field(n, _arrow_type(h, n), nullable=True) for n, h in _hints(cls).items() if typing.get_origin(h) is not ClassVar
    ]
    return pa.schema(fields, metadata={"rungs.record": cls.__name__, "rungs.version": str(VERSION)})


_schema: Callable[[type], pa.Schema] = cache(_read_schema)


def _encode(value: Any, hint: Any) -> Any:
    hint, optional = _unwrap(hint)
    if value is None and (optional or typing.get_origin(hint) is not Annotated):
        return None
    origin = typing.get_origin(hint)
    if origin is Annotated:
        return canonical_json(value) if typing.get_args(hint)[1] == "json" else value
    if origin is list:
        (item,) = typing.get_args(hint)
        return value if item in (int, float, str) else [_encode(v, item) for v in value]
    if dataclasses.is_dataclass(hint):
        return to_row(value)
    return value


def _decode(value: Any, hint: Any) -> Any:
    hint, _ = _unwrap(hint)
    if value is None:
        return None
    origin = typing.get_origin(hint)
    if origin is Annotated:
        return json.loads(value) if typing.get_args(hint)[1] == "json" else value
    if origin is list:
        (item,) = typing.get_args(hint)
        return value if item in (int, float, str) else [_decode(v, item) for v in value]
    if dataclasses.is_dataclass(hint):
        return from_row(typing.cast(type, hint), value)
    return value


def to_row(record: Any) -> dict[str, Any]:
    """A record as the nested plain values that its Arrow schema describes."""
    return {name: _encode(getattr(record, name), hint) for name, hint in _hints(type(record)).items()}


def from_row(cls: type[R], row: Mapping[str, Any]) -> R:
    """The record of class `cls` that `row` describes; the inverse of to_row."""
    return cls(**{name: _decode(row[name], hint) for name, hint in _hints(cls).items()})


# ---------------------------------------------------------------------------------------------
# Shards


def write_shard(path: str | Path, records: Iterable[Any], cls: type) -> int:
    """Writes records to one Parquet file, through a temporary sibling and a rename. Returns the count."""
    path = Path(path)
    table = pa.Table.from_pylist([to_row(r) for r in records], schema=schema_of(cls))
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)
    except OSError as error:
        raise _named(error, path) from error
    temporary.replace(path)
    return int(table.num_rows)


def read_shard(path: str | Path, cls: type[R]) -> list[R]:
    """All records of one Parquet file.

    Raises RecordError when the file is missing, damaged, of another record or of another version.
    """
    path = Path(path)
    try:
        # Without the checksums, one flipped bit is read as another record (measured: one flip in seven).
        table = pq.read_table(path, page_checksum_verification=True)
    except FileNotFoundError as error:
        raise RecordError(f"{path}: no such shard. Run the stage that writes it: `dvc repro`.") from error
    except PermissionError as error:  # nothing is wrong with the file
        raise _named(error, path) from error
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"{path}: not a readable Parquet file ({_line(error)}). {_REMEDY}") from error
    metadata = table.schema.metadata or {}
    found, version = (metadata.get(key, b"").decode(errors="replace") for key in (b"rungs.record", b"rungs.version"))
    if found != cls.__name__:
        raise RecordError(f"{path}: holds {found or 'no Rungs'} records, not {cls.__name__}. {_REMEDY}")
    if version != str(VERSION):
        raise RecordError(f"{path}: schema version {version}, this program reads {VERSION}. {_REMEDY}")
    if not table.schema.equals(schema_of(cls)):
        raise RecordError(f"{path}: its columns are not those of {cls.__name__} version {VERSION}. {_REMEDY}")
    try:
        return [from_row(cls, row) for row in table.to_pylist()]
    except (ValueError, TypeError) as error:  # text that is not UTF-8 or not JSON, lengths that differ
        raise RecordError(f"{path}: holds what is no {cls.__name__} ({_line(error)}). {_REMEDY}") from error


def _named(error: OSError, path: Path) -> OSError:
    """The error with the file's name, which pyarrow's lack."""
    return OSError(error.errno, os.strerror(error.errno), str(path)) if error.errno else error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


_REMEDY = "Delete it and run `dvc repro`, which writes it again."


def write_shards(folder: str | Path, records: Iterable[Any], cls: type, rows: int = 4096) -> int:
    """Writes `part-00000.parquet`, ... into `folder`, at most `rows` records each. Returns the count."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for number, batch in enumerate(_batches(records, rows)):
        count += write_shard(folder / f"part-{number:05d}.parquet", batch, cls)
    if count == 0:
        write_shard(folder / "part-00000.parquet", [], cls)
    return count


def _batches(records: Iterable[R], rows: int) -> Iterator[list[R]]:
    batch: list[R] = []
    for record in records:
        batch.append(record)
        if len(batch) == rows:
            yield batch
            batch = []
    if batch:
        yield batch


def read_shards(path: str | Path, cls: type[R]) -> list[R]:
    """All records of a folder of shards (in the order of names) or of one file.

    Raises RecordError when there is nothing, or as read_shard does.
    """
    path = Path(path)
    if path.is_file():
        return read_shard(path, cls)
    files = sorted(path.glob("*.parquet"))
    if not files:
        raise RecordError(f"{path}: no Parquet shards of {cls.__name__} here. Run the stage that writes it: `dvc repro`.")
    return [record for file in files for record in read_shard(file, cls)]


def digest_of(path: str | Path) -> str:
    """SHA-256 over a file, or over the names and bytes of all files of a folder in sorted order (16 hex digits)."""
    path = Path(path)
    sha = hashlib.sha256()
    files = [path] if path.is_file() else sorted(f for f in path.rglob("*") if f.is_file())
    for file in files:
        sha.update(str(file.relative_to(path) if file != path else file.name).encode())
        sha.update(hashlib.sha256(file.read_bytes()).digest())
    return sha.hexdigest()[:16]


def main(argv: list[str] | None = None) -> int:
    import argparse

    parser = argparse.ArgumentParser(prog="python -m tasks.records", description="Print stored records as JSON.")
    parser.add_argument("command", choices=["show"])
    parser.add_argument("path", type=Path)
    parser.add_argument("-n", type=int, default=3, help="how many records to print (default 3)")
    args = parser.parse_args(argv)
    try:
        for record in _peek(args.path)[: args.n]:
            print(json.dumps(dataclasses.asdict(record), indent=2, ensure_ascii=False))
    except RecordError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _peek(path: Path) -> list[Any]:
    """The records of a file, or of the folder of the first shard below `path`, whatever record they are."""
    first = path if path.is_file() else next(iter(sorted(path.rglob("*.parquet"))), None)
    if first is None:
        raise RecordError(f"{path}: no Parquet shards here.")
    try:
        metadata = pq.read_schema(first).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"{first}: not a readable Parquet file ({_line(error)}). {_REMEDY}") from error
    name = metadata.get(b"rungs.record", b"").decode(errors="replace")
    if name not in RECORDS:
        raise RecordError(f"{first}: not a shard of Rungs records.")
    return read_shards(path if path.is_file() else first.parent, RECORDS[name])


if __name__ == "__main__":
    raise SystemExit(main())
