"""The synthesize stage: `python -m tasks.synthesize [--params OVERLAY] [--out DIR]`.

Writes tasks/{train,validation,test}/ (Task shards), catalogue.parquet (ToolSpecs), card.md, plots/ and
metrics.json. Reads nothing but the servers of the library.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.console import progress
from tasks.records import Task, ToolSpec, digest_of, write_shard, write_shards
from tasks.servers import environment
from tasks.stage import Stage, StageError, command, write_json
from tasks.synthesize.card import write_card
from tasks.synthesize.tasks import Split, TooFewError, make

SPLITS: tuple[Split, ...] = ("train", "validation", "test")


def run(stage: Stage) -> Mapping[str, Any]:
    """Makes, checks and writes the tasks of all splits."""
    params = stage.params
    servers = environment(params.servers.names)
    made: dict[str, list[Task]] = {}
    drops: Counter[str] = Counter()
    with progress("synthesize", len(SPLITS)) as advance:
        for split in SPLITS:
            try:
                made[split], dropped = make(servers, params.synthesize, params.seed, split)
            except TooFewError as error:
                raise StageError(str(error)) from error
            drops += dropped
            write_shards(stage.out / "tasks" / split, made[split], Task)
            advance(1, f"{len(made[split])} {split} tasks")
    write_shard(stage.out / "catalogue.parquet", servers.specs.values(), ToolSpec)
    leaked = leaked_entities(made["train"], made["test"])
    if leaked:
        raise StageError(
            f"{len(leaked)} held-out requests also occur in training, for example {leaked[0]!r}: a defect, report it"
        )
    metrics = figures(made, drops)
    write_card(stage.out / "card.md", made, metrics)
    (stage.out / "plots").mkdir()
    rows = [{"split": s, "depth": d, "tasks": n} for s in SPLITS for d, n in sorted(Counter(t.depth for t in made[s]).items())]
    write_json(stage.out / "plots" / "depth.json", rows)
    stage.run.dataset("tasks", stage.final / "tasks", digest_of(stage.out / "tasks"), sum(map(len, made.values())))
    return metrics


def leaked_entities(train: Sequence[Task], test: Sequence[Task]) -> list[str]:
    """Requests of the test split whose text also stands in the training split."""
    known = {turn for task in train for turn in task.turns}
    return [turn for task in test for turn in task.turns if turn in known]


def figures(made: Mapping[str, Sequence[Task]], drops: Counter[str]) -> dict[str, Any]:
    """Counts of what was made and dropped."""
    everything = [task for tasks in made.values() for task in tasks]
    return {
        "tasks": {split: len(tasks) for split, tasks in made.items()},
        "by_depth": {str(d): n for d, n in sorted(Counter(t.depth for t in everything).items())},
        "by_chain_depth": {str(d): n for d, n in sorted(Counter(t.chain_depth for t in everything).items())},
        "by_server": dict(sorted(Counter(s for t in everything for s in t.servers).items())),
        "questions": sum(t.gold.answer is not None for t in everything),
        "unseen_combinations": sum(t.unseen_combination for t in made["test"]),
        "tools_used": len({c.name for t in everything for c in t.gold.calls}),
        "gold_execution_errors": 0,
        "dropped": dict(sorted(drops.items())),
    }


def main(argv: Sequence[str] | None = None) -> int:
    return command("synthesize", run, argv, sections=("servers", "synthesize"), description=__doc__ or "")


if __name__ == "__main__":
    raise SystemExit(main())
