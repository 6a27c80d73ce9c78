"""The dataset card, written from the data itself.

Left out: token lengths, which depend on a policy's tokenizer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.records import Task, canonical_json


def write_card(path: Path, made: Mapping[str, Sequence[Task]], metrics: Mapping[str, Any]) -> None:
    """Writes Markdown: counts, drops, and one example per depth of the test split."""
    lines = ["# Tasks", ""]
    lines += [
        "Requests grounded in the live state of the servers; every gold solution was executed twice with equal results.",
        "The test split lives in worlds of its own: none of the names that its requests say occurs in a request of training",
        "or validation. `unseen_by_depth` counts its tasks whose set of two or more tools no training task has.",
        "",
    ]
    for title in ("tasks", "by_depth", "by_chain_depth", "by_server", "unseen_by_depth", "names", "dropped"):
        lines += [f"## {title.replace('_', ' ')}", "", "| | count |", "|---|---|"]
        lines += [f"| {key} | {count} |" for key, count in metrics[title].items()] + [""]
    lines += ["## Examples", ""]
    shown: set[int] = set()
    for task in sorted(made["test"], key=lambda t: (t.depth, t.id)):
        if task.depth not in shown:
            shown.add(task.depth)
            lines += [f"**{task.id}** (depth {task.depth}, chain {task.chain_depth}): {task.turns[0]}", ""]
            lines += [f"{call.id}. `{call.name}` {canonical_json(call.arguments)}" for call in task.gold.calls]
            lines += ["", f"Answer: {canonical_json(task.gold.answer)}", ""]
    path.write_text("\n".join(lines))
