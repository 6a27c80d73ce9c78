"""report.md, and report.html made from it: one file with its pictures inside, readable offline.

    text = report(inputs, pictures, left_out_curves)
    page = html([text, examples], folder)

Model output reaches the pages only inside code blocks, and HTML in Markdown is escaped, never passed on.

Left out: interactive plots (`make ui` has MLflow's).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from tasks.evaluate.tables import HEADER, accuracy_rows, equals, estimate, markdown, overall_rows
from tasks.report.inputs import Inputs, Round

SLICES = {
    "by_chain_depth": ("By longest dependency chain", "chain"),
    "by_server": ("By server (a task of two servers counts under both)", ""),
    "by_combination": ("By tool combination: seen in training, or kept out of it", ""),
}

BEHAVIOUR = {
    "invalid_call_rate": ("attempted calls that failed to parse or were refused", ".1%"),
    "calls_per_task": ("calls per episode", ".2f"),
    "gold_calls_per_task": ("gold calls per task", ".2f"),
    "tokens_per_episode": ("tokens of the model per episode", ".1f"),
    "episodes": ("episodes scored", "d"),
    "errors": ("episodes left out: the environment failed", "d"),
}

HOW = """\
An episode is right when its final answer and its final state are the expected ones. Sampled accuracy is avg@k: the
mean over tasks of the share of right samples. Its interval is a Wilson 95% interval at the effective number of
independent outcomes, estimated from the spread between tasks, because the samples of one task are not independent; n
counts tasks. The interval of a gain is a paired bootstrap over tasks. Tests are paired and two-sided: sampled, a
sign-flip permutation of per-task means; greedy, McNemar's exact test. Before and after see the same tasks with the
same random streams."""


def verdict(found: Mapping[str, Any]) -> str:
    """In words: whether accuracy rose, fell, or shows no significant difference (p < 0.05)."""
    value, p = found["gain"]["value"], found["p_value"]
    if value is None or p is None:
        return "was not measured on both sides"
    if p >= 0.05:
        return "shows no significant difference"
    return "rose" if value > 0 else "fell"


def report(inputs: Inputs, pictures: Mapping[str, str], left_out: Sequence[str]) -> str:
    """The Markdown report. `pictures` maps titles to file names beside it; `left_out` are curves without a panel."""
    last = inputs.last
    lines = ["# Report", "", *_summary(last), "", *_pictures(pictures, "Accuracy by depth")]
    if len(inputs.rounds) > 1:
        lines += ["## Rounds", "", *_rounds(inputs.rounds), ""]
    for each in reversed(inputs.rounds):
        lines += _round(each)
    lines += ["## Training", "", *_pictures(pictures, "GRPO, per optimisation step"), *_pictures(pictures, "Warm-up loss")]
    if "GRPO, per optimisation step" not in pictures:
        lines += ["GRPO took no optimisation step.", ""]
    else:
        lines += ["Bold lines are running means over a tenth of the steps.", ""]
    if left_out:
        lines += [f"Not drawn, see steps.csv: {', '.join(left_out)}.", ""]
    lines += ["## Time", "", *markdown(["stage", "seconds"], [(n, f"{s:.1f}") for n, s in inputs.seconds.items()])]
    lines += ["", f"In all {sum(inputs.seconds.values()):.0f} seconds.", "", "## How to read this", "", HOW, ""]
    lines += ["Whole episodes stand in [examples.md](examples.md). `make ui` opens the MLflow and Prefect pages.", ""]
    return "\n".join(lines)


def _summary(last: Round) -> list[str]:
    results = last.results
    lines = [f"Round {last.name}, from {results['start']}, recipe {results['recipe']}, seed {results['seed']}.", ""]
    for mode, name in (("sampled", f"sampled accuracy (avg@{results['samples']})"), ("greedy", "greedy accuracy")):
        if mode in results:
            found = results[mode]["overall"]
            lines.append(
                f"- Held-out {name} {verdict(found)}: {estimate(found['before'])} before and "
                f"{estimate(found['after'])} after GRPO, on {found['gain']['n']} tasks; "
                f"gain {estimate(found['gain'], sign=True)}, {found['test']} test p {equals(found['p_value'])}."
            )
    return lines


def _rounds(rounds: Sequence[Round]) -> list[str]:
    header = ["round", "from", "recipe", "n", "before [95%]", "after [95%]", "gain", "p"]
    rows = []
    for each in rounds:
        name = each.name if each.listed else f"{each.name} (not in params.yaml)"
        row = next(iter(overall_rows(each.results)))
        rows.append((name, each.results["start"], each.results["recipe"], *row[1:]))
    return markdown(header, rows)


def _round(each: Round) -> list[str]:
    results = each.results
    lines = [f"## Round {each.name}", "", f"### By depth, sampled (avg@{results['samples']})", ""]
    lines += markdown(HEADER, [*accuracy_rows(results, "sampled"), *list(overall_rows(results))[:1]])
    if "greedy" in results:
        lines += ["", "### By depth, greedy", ""]
        lines += markdown(HEADER, [*accuracy_rows(results, "greedy"), *list(overall_rows(results))[1:]])
    for kind, (title, label) in SLICES.items():
        if kind in results["sampled"]:
            rows = [row[:-1] for row in accuracy_rows(results, "sampled", kind, label)]
            lines += ["", f"### {title}", "", *markdown(HEADER[:-1], rows)]
    return [*lines, "", "### What episodes look like", "", *_behaviour(results), ""]


def _behaviour(results: Mapping[str, Any]) -> list[str]:
    columns = [(mode, when) for mode in ("sampled", "greedy") if mode in results for when in ("before", "after")]
    measured = [results[mode]["behaviour"][when] for mode, when in columns]
    rows = [
        (title, *("-" if m[name] is None else f"{m[name]:{form}}" for m in measured))
        for name, (title, form) in BEHAVIOUR.items()
    ]
    for end in sorted({end for m in measured for end in m["ends"]}):
        rows.append((f"ended by {end}", *(f"{m['ends'].get(end, 0) / max(1, m['episodes']):.1%}" for m in measured)))
    return markdown(["", *(f"{mode}, {when}" for mode, when in columns)], rows)


def _pictures(pictures: Mapping[str, str], title: str) -> list[str]:
    return [f"![{title}]({pictures[title]})", ""] if title in pictures else []


def html(texts: Sequence[str], folder: Path) -> str:
    """One page from Markdown texts. Pictures are read from `folder` and put into the page; links to .md files, which
    the page holds itself, become links into it."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parts = []
    for text in texts:
        tokens = parser.parse(text)
        for token in (child for t in tokens for child in t.children or ()):
            if token.type == "image":
                data = base64.b64encode((folder / str(token.attrs["src"])).read_bytes()).decode()
                token.attrs["src"] = f"data:image/png;base64,{data}"
            elif token.type == "link_open" and str(token.attrs["href"]).endswith(".md"):
                token.attrs["href"] = f"#{str(token.attrs['href']).removesuffix('.md')}"
        title = next((tokens[i + 1].content for i, t in enumerate(tokens) if t.type == "heading_open"), "")
        parts.append(f'<section id="{title.lower()}">\n{parser.renderer.render(tokens, parser.options, {})}</section>')
    return _PAGE.replace("<!--body-->", "\n".join(parts))


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rungs: report</title>
<style>
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1c2128; background: #fff; max-width: 62rem; margin: 2rem auto;
  padding: 0 1.2rem; }
h1 { font-size: 1.8rem; } h2 { margin-top: 2.4rem; border-bottom: 1px solid #d8dee4; padding-bottom: .3rem; }
h3 { margin-top: 1.6rem; font-size: 1.05rem; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
th, td { padding: .28rem .8rem; border-bottom: 1px solid #e3e6ea; white-space: nowrap; }
th { border-bottom: 2px solid #afb8c1; } tbody tr:hover { background: #f6f8fa; }
img { max-width: 100%; height: auto; }
pre { background: #f6f8fa; border: 1px solid #e3e6ea; border-radius: 6px; padding: .8rem 1rem; font-size: .85rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
code { font-family: ui-monospace, monospace; }
</style>
</head>
<body>
<!--body-->
</body>
</html>
"""
