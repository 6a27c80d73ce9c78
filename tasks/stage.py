"""The door of every stage: one command line, atomic outputs, a place for resumable work, an MLflow run.

    def run(stage: Stage) -> Mapping[str, float]: ...      # writes under stage.out, returns its metrics
    def main(argv=None) -> int:
        return command("rollout", run, argv, rounds=True, needs=("synthesize", "{from}"))

`python -m tasks.<stage> [--params OVERLAY] [--out DIR] [--data DIR] [--round NAME]`

A stage writes to a temporary sibling of its folder; the manifest is written last, then the folder is
renamed into place. Killed anywhere, it leaves the old output or none, and what it put under
`stage.scratch` (named by a digest of its settings and inputs, outside DVC's outputs, which DVC deletes)
is found by the next try.

Left out: locking. DVC allows one process per workspace.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.params import PATH, Params, ParamsError, load
from tasks.records import RecordError, canonical_json, digest_of

SCRATCH = Path(".rungs/scratch")
BIG = 64 << 20
"""Files from this size on enter a key by name, size and time, not by content."""


class StageError(Exception):
    """A stage cannot go on, for a reason that its message names together with the remedy."""


@dataclass(frozen=True)
class Stage:
    """What a stage's function gets. Write under `out`; keep what must survive a kill under `scratch`."""

    name: str
    round: str | None
    params: Params
    data: Path
    out: Path
    scratch: Path
    run: Any

    def input(self, stage: str, *parts: str) -> Path:
        """A path in another stage's output; that of a stage in a round lies in this round's folder."""
        base = self.data / stage / self.round if self.round and stage in IN_ROUNDS else self.data / stage
        return base.joinpath(*parts)

    @property
    def final(self) -> Path:
        """Where what is written under `out` will lie when the stage has succeeded, for messages."""
        return self.out.with_name(self.out.name.removeprefix(".").removesuffix(".tmp"))

    def start_model(self) -> Path:
        """The folder of the policy that this stage's round starts from."""
        if self.round is None:
            raise StageError(f"{self.name} is not part of a round")
        return self.data / start_of(self.params, self.round) / "model"


IN_ROUNDS = ("rollout", "distill", "reward", "grpo", "evaluate")
"""The stages that exist once per round."""


def start_of(params: Params, round_name: str) -> str:
    """Where a round's starting policy lies under the data folder: `warmup`, `policy`, or `grpo/NAME`."""
    return params.rounds[round_name].from_


def command(
    name: str,
    run: Callable[[Stage], Mapping[str, Any]],
    argv: Sequence[str] | None,
    *,
    sections: Sequence[str],
    needs: Sequence[str] = (),
    rounds: bool = False,
    description: str = "",
) -> int:
    """Parses the command line, runs the stage and returns the process's exit code.

    `sections` are the sections of Params, and `needs` the folders under the data folder, that its result
    depends on; they name the resumable scratch. Known failures end as a message and code 1, bad settings as
    code 2; anything else propagates with its traceback.
    """
    from tasks.tracking import TrackingError

    args = _arguments(name, argv, rounds, description)
    try:
        params = load(PATH, args.params)
        if args.round is not None and args.round not in params.rounds:
            raise ParamsError(f"--round {args.round}: no such round; params.yaml has {', '.join(params.rounds)}")
        _run(name, run, args, params, sections, needs)
    except ParamsError as error:
        print(error, file=sys.stderr)
        return 2
    except (StageError, RecordError, TrackingError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if (reason := _disk(error)) is None:
            raise
        print(f"{name}: {reason}", file=sys.stderr)
        return 1
    return 0


def _arguments(name: str, argv: Sequence[str] | None, rounds: bool, description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m tasks.{name}", description=description.split("\n\n")[0])
    parser.add_argument("--params", metavar="OVERLAY", type=Path, help="settings merged over params.yaml for this run")
    parser.add_argument("--out", metavar="DIR", type=Path, help=f"where to write (default DATA/{name})")
    parser.add_argument("--data", metavar="DIR", type=Path, default=Path("data"), help="the stages' folder (default data)")
    if rounds:
        parser.add_argument("--round", required=True, help="the round, a key of params.rounds")
    args = parser.parse_args(argv)
    args.round = getattr(args, "round", None)
    args.chosen = args.out is not None
    args.out = args.out or (args.data / name / args.round if args.round else args.data / name)
    if args.out.name in ("", ".."):
        args.out = args.out.resolve()
    return args


def _run(
    name: str,
    run: Callable[[Stage], Mapping[str, Any]],
    args: argparse.Namespace,
    params: Params,
    sections: Sequence[str],
    needs: Sequence[str],
) -> None:
    from tasks.tracking import stage_run

    start = time.monotonic()
    _replaceable(args.out, args.chosen)
    key = _key(params, args, sections, needs)
    scratch = SCRATCH / f"{name}{'-' + args.round if args.round else ''}-{key}"
    temporary = args.out.with_name(f".{args.out.name}.tmp")
    if temporary.exists():
        shutil.rmtree(temporary)
    temporary.mkdir(parents=True)
    scratch.mkdir(parents=True, exist_ok=True)
    with stage_run(name, params.model_dump(mode="json", by_alias=True), args.round) as tracked:
        metrics = dict(run(Stage(name, args.round, params, args.data, temporary, scratch, tracked)))
        metrics["seconds"] = round(time.monotonic() - start, 1)
        tracked.metrics(flat(metrics))
        write_json(temporary / "metrics.json", metrics)
        write_json(temporary / "manifest.json", _manifest(name, args.round, temporary))
        publish(temporary, args.out)
    shutil.rmtree(scratch, ignore_errors=True)


def _replaceable(out: Path, chosen: bool) -> None:
    """Refuses to replace what no stage wrote where --out named the folder, which may be anything.

    A stage's own folder may lack a manifest: DVC removes the outputs that it knows before it runs a stage.
    """
    if out.is_file():
        raise StageError(f"{out}: is a file. Give --out a folder, or remove the file.")
    if chosen and out.is_dir() and any(out.iterdir()) and not (out / "manifest.json").is_file():
        raise StageError(
            f"{out}: holds files that no stage wrote, and would be replaced. Give --out another folder, or empty it."
        )


def flat(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of nested metrics as `outer/inner`; texts, lists and None are left out."""
    numbers: dict[str, float] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            numbers |= flat(value, f"{prefix}{name}/")
        elif isinstance(value, int | float):
            numbers[f"{prefix}{name}"] = value
    return numbers


def _manifest(name: str, round_name: str | None, folder: Path) -> dict[str, Any]:
    """What the stage wrote, by content; without its timings, so that equal results have equal manifests."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "metrics.json")
    return {"stage": name, "round": round_name, "files": {str(p.relative_to(folder)): digest_of(p) for p in files}}


def publish(temporary: Path, target: Path) -> None:
    """Puts a finished folder in place of `target`."""
    if target.exists():
        shutil.rmtree(target)
    temporary.rename(target)


def write_json(path: Path, value: Any) -> None:
    """Indented JSON through a temporary sibling and a rename."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    temporary.replace(path)


def _key(params: Params, args: argparse.Namespace, sections: Sequence[str], needs: Sequence[str]) -> str:
    values = params.model_dump(mode="json", by_alias=True, include={"seed", "runtime", *sections})
    sha = hashlib.sha256(canonical_json(values).encode())
    for need in needs:
        folder = args.data / need.format(round=args.round, start=start_of(params, args.round) if args.round else "")
        for file in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "metrics.json"):
            status = file.stat()
            mark = digest_of(file) if status.st_size < BIG else f"{status.st_size}/{status.st_mtime_ns}"
            sha.update(f"{file.relative_to(args.data)}={mark};".encode())
    return sha.hexdigest()[:12]


def _disk(error: OSError) -> str | None:
    import errno

    where = error.filename or "the data folder"
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return (
                f"{where}: the disk is full. Free space (`dvc gc --workspace` drops old cached outputs), then run `dvc repro`."
            )
        case errno.EROFS | errno.EACCES | errno.EPERM:
            return f"{where}: no access ({os.strerror(error.errno)}). Let this user read and write it, then run `dvc repro`."
        case _:
            return None
