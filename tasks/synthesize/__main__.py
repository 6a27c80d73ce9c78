"""The synthesize stage: `python -m tasks.synthesize [--params OVERLAY] [--out DIR]`.

Writes tasks/{train,validation,test}/ (Task shards), catalogue.parquet (ToolSpecs), card.md, plots/ and
metrics.json. Reads nothing but the servers of the library. `runtime.workers` processes draw the tasks, a world
at a time; the result is the same for any number of them.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, get_args

from tasks.console import progress
from tasks.params import Params
from tasks.processes import end_with_parent
from tasks.records import Task, ToolSpec, digest_of, write_shard, write_shards
from tasks.servers import environment
from tasks.stage import Stage, StageError, command, write_json
from tasks.synthesize.card import write_card
from tasks.synthesize.splits import mark_unseen, names_in, shared_names
from tasks.synthesize.tasks import Split, SynthesisError, make

SPLITS: tuple[Split, ...] = get_args(Split)

ALONE = 500
"""Up to this many tasks one process is faster than starting several."""


def run(stage: Stage) -> Mapping[str, Any]:
    """Makes, checks and writes the tasks of all splits."""
    servers = environment(stage.params.servers.names)
    try:
        made, drops = make_all(stage.params)
    except SynthesisError as error:
        raise StageError(str(error)) from error
    leaked = shared_names([*made["train"], *made["validation"]], made["test"])
    if leaked:
        raise StageError(
            f"{len(leaked)} names of held-out worlds also occur in training requests, for example {leaked[0]!r}. A server "
            "draws names without World.pool: mend its seed data or its grammar."
        )
    for split in SPLITS:
        write_shards(stage.out / "tasks" / split, made[split], Task)
    write_shard(stage.out / "catalogue.parquet", servers.specs.values(), ToolSpec)
    metrics = figures(made, drops)
    write_card(stage.out / "card.md", made, metrics)
    (stage.out / "plots").mkdir()
    rows = [{"split": s, "depth": d, "tasks": n} for s in SPLITS for d, n in sorted(Counter(t.depth for t in made[s]).items())]
    write_json(stage.out / "plots" / "depth.json", rows)
    stage.run.dataset("tasks", stage.final / "tasks", digest_of(stage.out / "tasks"), sum(map(len, made.values())))
    return metrics


def make_all(params: Params) -> tuple[dict[str, list[Task]], Counter[str]]:
    """The tasks of all splits, with no request in two of them, and the drops. Raises SynthesisError."""
    settings = params.synthesize
    total = settings.train + settings.validation + settings.test
    made: dict[str, list[Task]] = {}
    drops: Counter[str] = Counter()
    taken: set[str] = set()
    with _pool(params.runtime.workers if total > ALONE else 1) as pool, progress("synthesize", total) as advance:
        for split in SPLITS:
            made[split], dropped = make(
                environment(params.servers.names), settings, params.seed, split, pool=pool, taken=taken, advance=advance
            )
            drops += dropped
            taken.update(turn for task in made[split] for turn in task.turns)
    made["test"] = mark_unseen(made["train"], made["test"])
    return made, drops


@contextmanager
def _pool(workers: int) -> Iterator[Executor | None]:
    if workers == 1:
        yield None
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=end_with_parent) as pool:
        yield pool


def figures(made: Mapping[str, Sequence[Task]], drops: Counter[str]) -> dict[str, Any]:
    """Counts of what was made and dropped."""
    everything = [task for tasks in made.values() for task in tasks]
    unseen = Counter(task.depth for task in made["test"] if task.unseen_combination)
    return {
        "tasks": {split: len(tasks) for split, tasks in made.items()},
        "by_depth": _counted(task.depth for task in everything),
        "by_chain_depth": _counted(task.chain_depth for task in everything),
        "by_server": _counted(server for task in everything for server in task.servers),
        "questions": sum(task.gold.answer is not None for task in everything),
        "unseen_combinations": unseen.total(),
        "unseen_by_depth": {str(depth): unseen[depth] for depth in sorted({task.depth for task in made["test"]})},
        "names": {split: len(names_in(tasks)) for split, tasks in made.items()},
        "tools_used": len({call.name for task in everything for call in task.gold.calls}),
        "dropped": dict(sorted(drops.items())),
    }


def _counted(values: Iterator[Any]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(Counter(values).items())}


def main(argv: Sequence[str] | None = None) -> int:
    return command("synthesize", run, argv, sections=("servers", "synthesize"), description=__doc__ or "")


if __name__ == "__main__":
    raise SystemExit(main())
