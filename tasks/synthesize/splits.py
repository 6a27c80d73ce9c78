"""What keeps the test split apart from training: names that training never says, combinations that it never shows.

    leaked = shared_names(train, test)      # must be empty
    test = mark_unseen(train, test)

A name is what a request says to point at an entity by its name alone, or makes up for a new one; it is noted in
a task's provenance. Numbers (amounts, last digits of a card) and identifiers are no names: they recur by chance.

Left out: words inside names. "Terra Lamp" and "Terra Rake" are different names; each server draws its words from
the world's part of its lists (tasks.servers.world), so that words are apart where they carry the identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tasks.records import Task


def names_in(tasks: Iterable[Task]) -> set[str]:
    """The names that the tasks' requests say, in lower case."""
    return {name.casefold() for task in tasks for name in task.provenance["names"]}


def shared_names(train: Iterable[Task], test: Iterable[Task]) -> list[str]:
    """Names that occur in the requests of both, sorted."""
    return sorted(names_in(train) & names_in(test))


def combination(task: Task) -> frozenset[str]:
    """The set of tools that the gold solution calls."""
    return frozenset(call.name for call in task.gold.calls)


def mark_unseen(train: Iterable[Task], test: Sequence[Task]) -> list[Task]:
    """The test tasks, with `unseen_combination` set where two or more gold tools never occur together in training."""
    seen = {combination(task) for task in train}
    return [replace(task, unseen_combination=len(combination(task)) > 1 and combination(task) not in seen) for task in test]
