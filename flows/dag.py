"""The stages of dvc.yaml in the order in which they can run, read by DVC itself.

Use: `read_dag()`. Left out: any knowledge of what the stages are; dvc.yaml is the one place for that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx

from tasks.tracking.values import flatten

POOLS = ("cpu", "cuda")


class DagError(Exception):
    """dvc.yaml cannot be run as a flow; names the stage and the remedy."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: its name as DVC says it (`rollout@r1`), its pool, the stages it needs, and its metrics files."""

    name: str
    pool: str
    needs: tuple[str, ...]
    metrics: tuple[Path, ...]

    @property
    def slug(self) -> str:
        """The name as Prefect's artifacts allow it: lower case, digits and dashes."""
        return "".join(c if c.isalnum() else "-" for c in self.name.lower())


def read_dag(workspace: Path | None = None) -> list[Stage]:
    """The stages of the workspace (default: the current folder) in topological order, ties as in dvc.yaml.

    Raises DagError when there is no pipeline or a stage's `meta.pool` is neither `cpu` nor `cuda`.
    """
    from dvc.exceptions import DvcException, NotDvcRepoError
    from dvc.repo import Repo
    from dvc.stage import PipelineStage

    root = workspace or Path.cwd()
    try:
        with Repo(str(root)) as repo:
            graph = repo.index.graph
            stages = [stage for stage in repo.index.stages if isinstance(stage, PipelineStage)]
            place = {stage: number for number, stage in enumerate(stages)}
            # DVC's edges go from a stage to what it needs; stages of *.dvc files have nothing to run.
            order = nx.lexicographical_topological_sort(graph.subgraph(stages).reverse(), key=place.__getitem__)
            found = [_stage(stage, [need for need in graph.successors(stage) if need in place]) for stage in order]
    except NotDvcRepoError as error:
        raise DagError(f"{root}: no DVC workspace here. Change into the project's folder, or run `dvc init`.") from error
    except DvcException as error:
        raise DagError(f"{root / 'dvc.yaml'} cannot be read: {error}. Check it with `dvc stage list`.") from error
    if not found:
        raise DagError(f"{root / 'dvc.yaml'}: no stages. Check it with `dvc stage list`.")
    return found


def _stage(stage: Any, needs: list[Any]) -> Stage:
    meta = stage.meta if isinstance(stage.meta, dict) else {}
    pool = meta.get("pool", "cpu")
    if pool not in POOLS:
        raise DagError(f"dvc.yaml, stage {stage.name}: meta.pool is {pool!r}; use one of {', '.join(POOLS)}.")
    # A stage's folder holds its metrics.json (tasks.stage); DVC does not allow an output within an output to be flagged.
    metrics = [Path(out.fs_path) if out.metric else Path(out.fs_path, "metrics.json") for out in stage.outs]
    # `name` and not `addressing`, which is relative to the current folder.
    return Stage(stage.name, pool, tuple(need.name for need in needs), tuple(metrics))


def figures(stage: Stage) -> dict[str, str]:
    """The numbers in a stage's metrics files, under dotted names; files that are not there give none."""
    found: dict[str, str] = {}
    for path in stage.metrics:
        if path.is_file():
            values = json.loads(path.read_text())
            found |= flatten(values) if isinstance(values, dict) else {path.name: str(values)}
    return found
