"""Contrastive distillation of rubrics (METHODS.md 2.6): items that right trajectories satisfy and wrong ones do not.

    distilled = distill(tasks, trajectories, settings, seed=0)
    distilled.groups[0].rubric.items[0].text     # "Takes `account_id` of `transfer` from the result of `list_accounts`."
    rubric_of(task, {r.task_id: r for r in rubrics})

Trajectories are grouped by plan shape (the tools and edges of their tasks' gold), and by task where a shape has several
tasks and one of them has enough of both sides. Right and wrong are the outcome's (tasks.reward.outcome). A seeded hash
puts each side's trajectories of a shape into a half to mine and a held-out half. An item survives when its satisfaction
rates differ by `min_gap` in its direction where it was mined and again where it was held out; of items that the
evidence does not tell apart the first candidate stays; each kind keeps its best few by the gap where mined.

Plans of several calls are so varied that most shapes have one task. So with `pool` a shape that has too few right or
wrong trajectories of its own is judged by the pool: the same item's evidence from all shapes where it is asked. Without
`pool` it is left out.

Left out: trajectories made up where one side is missing (mutations of gold), and a teacher's items.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tasks.distill.candidates import Candidate, candidates, links, refusals
from tasks.distill.checks import evidence, load
from tasks.distill.view import View
from tasks.params import Distill
from tasks.records import Rubric, RubricItem, Task, Trajectory, canonical_json
from tasks.reward.outcome import judge
from tasks.seeds import derive

BUDGETS = {"suggest": 0.8, "pitfall": -1.0, "bonus": 1.0}
"""What all items of a kind add up to (METHODS.md 2.4). Answer items add nothing: the outcome has its own term."""

MINED, FOLDS = 0, (1, 2)
"""The parts of a shape's trajectories: those that are mined, and the two folds of the held-out ones."""

Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]
"""Evidence: [..., part, side, 0 | 1] is how many trajectories of a part and side (0 right, 1 wrong) satisfy an item | are."""


@dataclass(frozen=True, slots=True)
class Held:
    """One held-out trajectory under its rubric: the sum of its items, and under items that survived without its fold."""

    task_id: str
    right: bool
    total: float
    blind: float


@dataclass(frozen=True, slots=True)
class Group:
    """What came out of one plan shape or task. `tools` and `edges` say the plan; counts are of its own trajectories.

    `pooled` is why the items were judged by the pool; empty where the group's own trajectories were enough.
    """

    rubric: Rubric
    tools: list[str]
    edges: list[str]
    tasks: int
    right: int
    wrong: int
    pooled: str
    held_out: list[Held]


@dataclass(frozen=True, slots=True)
class Distilled:
    """All groups in the order of their names, and how many groups and items were left out for which reason."""

    groups: list[Group]
    groups_left_out: Counter[str]
    items_left_out: Counter[str]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A trajectory that can be contrasted. `lot` is its place in the order that decides which part it goes to."""

    view: View
    right: bool
    lot: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """The items that are asked of a group's trajectories, and the answers. `table` is items x trajectories."""

    name: str
    seen: list[_Seen]
    parts: npt.NDArray[np.int64]
    items: list[Candidate]
    table: Flags

    def counts(self) -> Counts:
        """The group's own evidence, items x 3 x 2 x 2."""
        right = np.array([each.right for each in self.seen])
        counts = np.zeros((len(self.items), 3, 2, 2), dtype=np.int64)
        for part in (MINED, *FOLDS):
            for side in (0, 1):
                there = (self.parts == part) & (right == (side == 0))
                counts[:, part, side, 0] = self.table[:, there].sum(axis=1)
                counts[:, part, side, 1] = there.sum()
        return counts


def shape(task: Task) -> str:
    """The name of a task's plan shape: its gold tools, and a digest of tools and edges (`shape:a+b#1f0c27aa`).

    Equal for tasks whose gold calls have the same tools, as often, with the same edges between them.
    """
    tools = sorted(call.name for call in task.gold.calls)
    edges = [[link.source, link.path, link.tool, link.argument] for link in links(task)]
    digest = hashlib.sha256(canonical_json([task.family, tools, edges]).encode()).hexdigest()[:8]
    return f"shape:{'+'.join(tools) or task.family}#{digest}"


def rubric_of(task: Task, rubrics: Mapping[str, Rubric]) -> Rubric | None:
    """The rubric for a task among rubrics by `task_id`: its own, else its shape's, else none."""
    return rubrics.get(task.id) or rubrics.get(shape(task))


def distill(
    tasks: Mapping[str, Task],
    trajectories: Iterable[Trajectory],
    settings: Distill,
    seed: int,
    watch: Callable[[int], None] = lambda count: None,
) -> Distilled:
    """Rubrics from the trajectories of `tasks` (by id). The order of the trajectories does not matter.

    `watch` is told the tasks of every shape that was asked. Raises KeyError for a trajectory of an unknown task.
    """
    shapes = _by_shape(tasks, trajectories, seed)
    parts = {name: _parts(seen, settings.held_out) for name, seen in shapes.items()}
    mined = (each.view for name, seen in shapes.items() for each, part in zip(seen, parts[name], strict=True) if part == MINED)
    refused = refusals(mined)
    pool: dict[str, Counts] = defaultdict(lambda: np.zeros((3, 2, 2), dtype=np.int64))
    asked = []
    for name, seen in shapes.items():
        asked.append(_ask(name, seen, parts[name], refused))
        for item, counts in zip(asked[-1].items, asked[-1].counts(), strict=True):
            pool[item.key] += counts
        watch(len({each.view.task.id for each in seen}))
    groups = []
    groups_left_out: Counter[str] = Counter()
    items_left_out: Counter[str] = Counter()
    for each in [part for whole in asked for part in (whole, *_by_task(whole))]:
        reason = _too_few(each.seen, settings.min_side)
        if reason and not (settings.pool and each.name.startswith("shape:")):
            groups_left_out[reason] += each.name.startswith("shape:")
            continue
        counts = np.stack([pool[item.key] for item in each.items]) if reason else each.counts()
        group, dropped = _group(each, counts, reason, settings)
        items_left_out += dropped
        if group.rubric.items:
            groups.append(group)
        else:
            groups_left_out["no item survived"] += 1
    groups.sort(key=lambda g: g.rubric.task_id)
    return Distilled(groups, +groups_left_out, items_left_out)


def _by_shape(tasks: Mapping[str, Task], trajectories: Iterable[Trajectory], seed: int) -> dict[str, list[_Seen]]:
    """What can be contrasted, by shape, in the order of names, tasks and samples."""
    shapes: dict[str, list[_Seen]] = defaultdict(list)
    names: dict[str, str] = {}
    for trajectory in sorted(trajectories, key=lambda t: (t.task_id, t.sample)):
        task = tasks[trajectory.task_id]
        name = names.setdefault(task.id, shape(task))
        if trajectory.finish_reason != "error":  # the environment's fault is neither right nor wrong
            lot = derive(seed, "distill", trajectory.task_id, trajectory.sample)
            shapes[name].append(_Seen(View(trajectory, task), judge(task, trajectory).right, lot))
    return dict(sorted(shapes.items()))


def _parts(seen: Sequence[_Seen], share: float) -> npt.NDArray[np.int64]:
    """The part of each trajectory: each side is dealt out in the order of the lots.

    By rank and not by threshold, so that no part lacks a side which has enough. What does not come out even goes where
    the first lot says, so that singles fall on both halves alike.
    """
    parts = np.full(len(seen), MINED, dtype=np.int64)
    for side in (True, False):
        members = sorted((i for i, each in enumerate(seen) if each.right == side), key=lambda i: seen[i].lot)
        if not members:
            continue
        first = seen[members[0]].lot
        held_out = int(share * len(members) + (first % 1009) / 1009)
        if len(members) > 1:
            held_out = min(max(held_out, 1), len(members) - 1)
        for rank, i in enumerate(members[:held_out]):
            parts[i] = FOLDS[(rank + first) % 2]
    return parts


def _too_few(seen: Sequence[_Seen], least: int) -> str:
    """Why a group has nothing to contrast; empty when it has."""
    right = sum(each.right for each in seen)
    for side, count in (("right", right), ("wrong", len(seen) - right)):
        if count < least:
            return f"fewer than {least} {side} trajectories" if count else f"no {side} trajectory"
    return ""


def _ask(name: str, seen: list[_Seen], parts: npt.NDArray[np.int64], refused: set[tuple[str, str]]) -> _Asked:
    tasks = list({each.view.task.id: each.view.task for each in seen}.values())
    items = candidates(tasks, refused)
    checks = [load(item.check) for item in items]
    table = np.array([[evidence(check, each.view)[0] for each in seen] for check in checks], dtype=bool)
    return _Asked(name, seen, parts, items, table)


def _by_task(whole: _Asked) -> list[_Asked]:
    """A shape's trajectories task by task, where it has several tasks."""
    members: dict[str, list[int]] = defaultdict(list)
    for i, each in enumerate(whole.seen):
        members[each.view.task.id].append(i)
    if len(members) < 2:
        return []
    return [
        _Asked(task_id, [whole.seen[i] for i in of], whole.parts[of], whole.items, whole.table[:, of])
        for task_id, of in members.items()
    ]


def _group(asked: _Asked, counts: Counts, pooled: str, settings: Distill) -> tuple[Group, Counter[str]]:
    """One group under the given evidence, and its items left out by reason."""
    kept, dropped = choose(asked.items, asked.table, counts, FOLDS, settings)
    totals = _sums(asked, kept)
    blind = {
        fold: _sums(asked, choose(asked.items, asked.table, counts, FOLDS[::-1][n : n + 1], settings)[0])
        for n, fold in enumerate(FOLDS)
    }
    task = asked.seen[0].view.task
    right = sum(each.right for each in asked.seen)
    group = Group(
        Rubric(asked.name, [_item(asked.items[i], counts[i]) for i in kept]),
        sorted(call.name for call in task.gold.calls),
        [f"{e.source}{e.path} -> {e.tool}{e.argument}" for e in links(task)],
        len({each.view.task.id for each in asked.seen}),
        right,
        len(asked.seen) - right,
        pooled,
        [
            Held(each.view.task.id, each.right, float(totals[i]), float(blind[int(part)][i]))
            for i, (each, part) in enumerate(zip(asked.seen, asked.parts, strict=True))
            if part != MINED
        ],
    )
    return group, dropped


def _item(candidate: Candidate, counts: Counts) -> RubricItem:
    (right, right_of), (wrong, wrong_of) = counts[list(FOLDS)].sum(axis=0).tolist()
    return RubricItem(candidate.kind, candidate.text, candidate.check, right, right_of, wrong, wrong_of)


def gap(kind: str, counts: Counts) -> float:
    """How much more often right trajectories than wrong ones satisfy an item, or for a pitfall less often.

    In [-1, 1]. `counts` are side x (satisfied, all), for example [[9, 10], [2, 10]] for 0.7; 0 when a side is empty.
    """
    (right, right_of), (wrong, wrong_of) = counts.tolist()
    if not right_of or not wrong_of:
        return 0.0
    difference = right / right_of - wrong / wrong_of
    return float(-difference if kind == "pitfall" else difference)


def choose(
    items: Sequence[Candidate], table: Flags, counts: Counts, tested: Sequence[int], settings: Distill
) -> tuple[list[int], Counter[str]]:
    """(the numbers of the surviving items, by kind and gap, how many were dropped for which reason).

    `counts` is the evidence per item; it is mined in the part MINED and tested in the parts `tested`. Two items of one
    kind are the same when the evidence and the group's own `table` (items x trajectories) are.
    """
    least = max(settings.min_gap, 1e-9) - 1e-12  # a gap of 0 is none; 0.6 - 0.4 is 0.2
    dropped: Counter[str] = Counter()
    passed: dict[str, list[tuple[float, int]]] = defaultdict(list)
    told: set[tuple[str, bytes, bytes]] = set()
    for number, item in enumerate(items):
        mark = (item.kind, table[number].tobytes(), counts[number].tobytes())
        where_mined = gap(item.kind, counts[number][MINED])
        if where_mined < least:
            dropped["no gap where mined"] += 1
        elif gap(item.kind, counts[number][list(tested)].sum(axis=0)) < least:
            dropped["no gap where held out"] += 1
        elif mark in told:
            dropped["tells no more than another"] += 1
        else:
            told.add(mark)
            passed[item.kind].append((-where_mined, number))
    kept = []
    for kind, most in settings.items.model_dump().items():
        ranked = [number for _, number in sorted(passed[kind])]
        kept += ranked[:most]
        dropped["beyond the most of its kind"] += len(ranked[most:])
    return kept, +dropped


def _sums(asked: _Asked, kept: Sequence[int]) -> npt.NDArray[np.float64]:
    return item_sums([asked.items[i].kind for i in kept], asked.table[list(kept)])


def item_sums(kinds: Sequence[str], table: Flags) -> npt.NDArray[np.float64]:
    """The sum of satisfied items per trajectory, each item weighing its kind's budget over the number of its kind.

    `table` is items x trajectories.
    """
    counts = Counter(kinds)
    weights = np.array([BUDGETS.get(kind, 0.0) / counts[kind] for kind in kinds])
    return np.asarray(weights @ table.astype(np.float64)) if len(kinds) else np.zeros(table.shape[1])
