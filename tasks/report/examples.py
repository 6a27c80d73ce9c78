"""Trajectories as a person reads them: request, calls, results, answer, verdict, score components. Markdown.

    text = page(round_folder, count=4)

The examples are sampled episodes of the trained policy, chosen to differ: one that was wrong before training and is
right now (`gained`), one right both times, one wrong both times, one `lost`, and so on, over different depths. What
the model wrote stands in code blocks with control characters made visible, so that it can neither break the page nor
the terminal.

Left out: token ids and log-probabilities (`python -m tasks.records show` prints them).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from tasks.records import Call, Result, Score, Step, Task, Trajectory, canonical_json, read_shards
from tasks.reward.outcome import Verdict, judge

LONGEST = 2000
"""Characters of one text that are shown."""

KINDS = ("gained", "right", "wrong", "lost")
MEANING = {
    "gained": "wrong before training, right after it",
    "right": "right before and after training",
    "wrong": "wrong before and after training",
    "lost": "right before training, wrong after it",
}


@dataclass(frozen=True, slots=True)
class Example:
    """One episode of the trained policy, with the same task and random stream's verdict before training."""

    task: Task
    trajectory: Trajectory
    score: Score | None
    verdict: Verdict
    before: Verdict

    @property
    def kind(self) -> str:
        return {(False, True): "gained", (True, True): "right", (False, False): "wrong", (True, False): "lost"}[
            self.before.right, self.verdict.right
        ]


def load(folder: Path) -> list[Example]:
    """All sampled episodes of a round that both policies ended without an infrastructure error.

    Raises RecordError for a missing or damaged shard.
    """
    tasks = {t.id: t for t in read_shards(folder / "tasks", Task)}
    before = {(t.task_id, t.sample): t for t in read_shards(folder / "before" / "sampled" / "trajectories", Trajectory)}
    scores = {(s.task_id, s.sample): s for s in read_shards(folder / "after" / "sampled" / "scores", Score)}
    found = []
    for after in read_shards(folder / "after" / "sampled" / "trajectories", Trajectory):
        key, task = (after.task_id, after.sample), tasks[after.task_id]
        earlier = before.get(key)
        if earlier is not None and "error" not in (after.finish_reason, earlier.finish_reason):
            found.append(Example(task, after, scores.get(key), judge(task, after), judge(task, earlier)))
    return found


def choose(examples: Sequence[Example], count: int) -> list[Example]:
    """At most `count`, the kinds in turn; within a kind a depth and a task not shown yet, the deepest first."""
    left = {kind: [e for e in examples if e.kind == kind] for kind in KINDS}
    chosen: list[Example] = []
    while len(chosen) < count and any(left.values()):
        for kind in KINDS:
            if not left[kind] or len(chosen) == count:
                continue
            depths, ids = {e.task.depth for e in chosen}, {e.task.id for e in chosen}
            best = max(left[kind], key=lambda e: (e.task.id not in ids, e.task.depth not in depths, e.task.depth))
            left[kind].remove(best)
            chosen.append(best)
    return chosen


def page(folder: Path, name: str, count: int) -> str:
    """The Markdown page of a round's examples."""
    chosen = choose(load(folder), count) if count else []
    lines = [
        "# Examples",
        "",
        f"Sampled episodes of the policy that round {name} trained, from start to end."
        if chosen
        else "No examples: `report.examples` is 0, or no episode ended without an infrastructure error.",
        "",
    ]
    for number, example in enumerate(chosen, 1):
        lines += [*show(example, number), ""]
    return "\n".join(lines)


def show(example: Example, number: int) -> list[str]:
    """One example as Markdown lines."""
    task, trajectory = example.task, example.trajectory
    text = "\n".join(conversation(trajectory))
    expected = [f"  {gold.name} {canonical_json(gold.arguments)}" for gold in task.gold.calls]
    gold = ["one way to do it:", *expected, f"expected answer: {canonical_json(task.gold.answer)}"]
    if task.gold.abstain:
        gold = ["expected: no call"]
    if example.score is not None and example.score.reasons:
        gold += ["", "what the score names:", *(f"  {visible(reason)}" for reason in example.score.reasons)]
    return [
        f"## {number}. {example.kind.capitalize()}: depth {task.depth}, {' and '.join(task.servers)}",
        "",
        f"Task `{task.id}`, sample {trajectory.sample}: {MEANING[example.kind]}. Longest dependency chain {task.chain_depth}; "
        f"{len(task.tools)} visible tools, {len(task.distractors)} of them distractors.",
        "",
        *fenced(text),
        "",
        f"- **Verdict**: {_verdict(example.verdict)}",
        f"- **Score**: {_score(example.score)}",
        f"- **Ended**: {trajectory.finish_reason}, after {len(trajectory.steps)} turns of the model and "
        f"{sum(trajectory.mask)} of its own tokens",
        *([] if example.before.right else [f"- **Before training**: {_verdict(example.before)}"]),
        "",
        *fenced("\n".join(gold)),
    ]


def _verdict(verdict: Verdict) -> str:
    return "right" if verdict.right else f"wrong: {'; '.join(verdict.reasons)}"


def _score(score: Score | None) -> str:
    if score is None:
        return "none stored"
    if score.total is None:
        return f"none ({score.kind})"
    parts = ", ".join(f"{name} {value:g}" for name, value in score.components.items() if value is not None)
    return f"{score.total:.3f} by recipe {score.recipe} ({parts})"


def conversation(trajectory: Trajectory) -> Iterator[str]:
    """The episode line by line. Calls and results come from the steps, all else from the messages."""
    steps = iter(trajectory.steps)
    for message in trajectory.messages:
        if message.role == "assistant":
            yield from _turn(message.content, next(steps, None))
        elif message.role != "tool":
            yield from _labelled(message.role.upper(), message.content)


def _turn(text: str, step: Step | None) -> Iterator[str]:
    calls: Sequence[Call] = step.calls if step else []
    failures = step.failures if step else []
    results: Sequence[Result] = step.results if step else []
    # With a broken call in it, the turn is shown as it was written: that is what went wrong.
    said = text if failures else _outside(text, calls)
    if said.strip() or not calls:
        yield from _labelled("MODEL", said.strip())
    for failure in failures:
        yield from _labelled("BROKEN", f"{failure.kind} at character {failure.position}. {failure.message}".strip())
    for call, result in zip_longest(calls, results):
        if call is not None:
            yield from _labelled("CALL", f"{call.name} {canonical_json(call.arguments)}")
        if result is None:
            yield from _labelled("", "(not executed)")
        elif result.ok:
            yield from _labelled("RESULT", canonical_json(result.content))
        else:
            error = result.error
            yield from _labelled("REFUSED", f"{error.kind}: {error.message} {error.remedy}".strip() if error else "")


def _outside(text: str, calls: Sequence[Call]) -> str:
    """What an assistant's text says beside its calls."""
    at, parts = 0, []
    for call in sorted(calls, key=lambda c: c.start):
        if at <= call.start < call.end <= len(text):
            parts.append(text[at : call.start])
            at = call.end
    rest = "".join([*parts, text[at:]])
    return re.sub(r"</?tool_call>", "", rest)


def _labelled(label: str, text: str) -> Iterator[str]:
    first, *more = visible(text).split("\n")
    yield f"{label:8} {first}".rstrip()
    yield from (f"{'':8} {line}".rstrip() for line in more)


def visible(text: str) -> str:
    """`text`, bounded, with control characters and lone surrogates as symbols, so that any file and terminal takes it."""
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]} [{len(text) - LONGEST} more characters]"
    text = re.sub(r"[\0-\x08\x0b-\x1f]", lambda match: chr(0x2400 + ord(match[0])), text)
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)


_UNSEEN = re.compile("[\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""C1 controls, line separators, marks that reorder text, and lone surrogates."""


def fenced(text: str) -> list[str]:
    """A code block that nothing in `text` can end."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return [f"{fence}text", text, fence]
