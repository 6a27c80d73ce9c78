"""Examples: which are chosen, how they read, and that hostile text stays text."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from markdown_it import MarkdownIt

from tasks.records import Call, Message, ParseFailure, Step
from tasks.report.examples import Example, choose, conversation, fenced, load, page, show, visible
from tasks.report.pages import html
from tasks.reward.outcome import Verdict
from tests.evaluate.made import score, task, trajectory, twelve, write_round


def example(number: int, depth: int, before: bool, after: bool) -> Example:
    of = task(number, depth)
    made = trajectory(of, right=after)
    return Example(of, made, score(made, after), Verdict(after, () if after else ("no",)), Verdict(before))


def test_kinds_take_turns_and_depths_differ() -> None:
    pool = [example(n, n % 3 + 1, before, after) for n, (before, after) in enumerate([(False, True), (True, True)] * 6)]
    chosen = choose(pool, 4)
    assert [e.kind for e in chosen] == ["gained", "right", "gained", "right"]
    assert {e.task.depth for e in chosen} == {1, 2, 3}
    assert len({e.task.id for e in chosen}) == 4
    assert choose(pool, 100) and len(choose(pool, 100)) == 12
    assert choose([], 4) == []


def test_load_pairs_episodes_by_task_and_sample(tmp_path: Path) -> None:
    write_round(tmp_path, "r1", {"before": 1, "after": 3})
    found = load(tmp_path / "evaluate" / "r1")
    assert len(found) == 48
    assert {e.trajectory.sample: e.kind for e in found} == {0: "right", 1: "gained", 2: "gained", 3: "wrong"}
    assert all(e.score is not None and e.score.sample == e.trajectory.sample for e in found)


def test_an_episode_reads_from_start_to_end(tmp_path: Path) -> None:
    write_round(tmp_path, "r1", {"before": 0, "after": 4})
    text = page(tmp_path / "evaluate" / "r1", "r1", 2)
    assert text.count("\n## ") == 2
    for piece in (
        "USER     Do thing",
        'CALL     tool_0 {"id":0}',
        "RESULT   {",
        "MODEL    Answer:",
        "**Verdict**: right",
        "answer 1",
        "expected answer:",
        "**Before training**: wrong: the answer is not the expected one",
    ):
        assert piece in text
    assert text.index("USER") < text.index("CALL") < text.index("RESULT") < text.index("MODEL    Answer")


def test_refusals_broken_calls_and_calls_that_did_not_run() -> None:
    made = trajectory(task(0), right=False, bad_call=True)
    assert "REFUSED  unknown_tool: no tool no_such_tool" in list(conversation(made))
    broken = Step(5, 8, [], [ParseFailure("bad_json", 17, "a brace is missing")])
    messages = [*made.messages[:-1], Message("assistant", '<tool_call>{"name": ')]
    lines = list(conversation(dataclasses.replace(made, steps=[made.steps[0], broken], messages=messages)))
    assert 'MODEL    <tool_call>{"name":' in lines
    assert "BROKEN   bad_json at character 17. a brace is missing" in lines
    crashed = Step(0, 3, [Call("0", "tool_0", {})], [], [])
    assert "(not executed)" in "\n".join(conversation(dataclasses.replace(made, steps=[crashed])))


def test_what_stands_beside_a_call_is_shown_without_it() -> None:
    body = '<tool_call>{"name": "a", "arguments": {}}</tool_call>'
    text = f"I will look. {body} Then more."
    start = text.index("{")
    step = Step(0, 3, [Call("0", "a", {}, start, text.index("</tool_call>"))], [], [])
    made = dataclasses.replace(trajectory(task(0)), messages=[Message("assistant", text)], steps=[step])
    assert next(conversation(made)) == "MODEL    I will look.  Then more."


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    evil = "```\n# Owned\n<script>alert(1)</script>\n![x](http://example.invalid/p.png)\n\x1b[31m\x00\u202e\ud800 ````` end"
    base = example(0, 1, False, False)
    call = Call("0", "x```<b>", {"k": "\ud800</pre><script>1</script>"})
    messages = [Message("user", evil), Message("assistant", evil), Message("tool", "{}"), Message("assistant", evil)]
    made = dataclasses.replace(base.trajectory, messages=messages, steps=[Step(0, 3, [call], [], []), Step(5, 8)])
    reasons = dataclasses.replace(base.score, reasons=[evil])
    text = "\n".join(["# Examples", "", *show(dataclasses.replace(base, trajectory=made, score=reasons), 1)])
    text.encode("utf-8")
    assert "\x1b" not in text and "\x00" not in text and "\u202e" not in text
    headings = [t for t in MarkdownIt().parse(text) if t.type == "heading_open"]
    assert len(headings) == 2
    rendered = html([text], tmp_path)
    assert "<script" not in rendered and "<img" not in rendered and "&lt;script&gt;" in rendered


def test_long_texts_are_bounded_and_fences_hold() -> None:
    assert visible("x" * 5000).endswith("[3000 more characters]")
    assert visible("a\tb\nc") == "a\tb\nc"
    assert fenced("a ```` b")[0] == "`````text"
    assert fenced("")[0] == "```text"


def test_errors_are_no_examples(tmp_path: Path) -> None:
    from tasks.records import Trajectory, write_shards

    write_round(tmp_path, "r1", {"before": 1, "after": 3})
    folder = tmp_path / "evaluate" / "r1"
    failed = [trajectory(t, s, error=True) for t in twelve() for s in range(4)]
    write_shards(folder / "after" / "sampled" / "trajectories", failed, Trajectory)
    assert load(folder) == []
    assert "No examples" in page(folder, "r1", 4)
