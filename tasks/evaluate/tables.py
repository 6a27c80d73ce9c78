"""Accuracies as text: the table at the end of the evaluate and report stages, and the report's Markdown tables.

    Console().print(accuracy_table(results, "Round r1"))
    markdown(["", "before"], accuracy_rows(results, "sampled"))

Left out: plots (tasks.report.plots).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

HEADER = ("", "n", "before [95%]", "after [95%]", "gain", "p")


def estimate(found: Mapping[str, Any], sign: bool = False) -> str:
    """`0.412 [0.380, 0.445]`; `-` where nothing was measured. With `sign`, as a difference."""
    if found["value"] is None:
        return "-"
    form = "+.3f" if sign else ".3f"
    return f"{found['value']:{form}} [{found['lo']:{form}}, {found['hi']:{form}}]"


def p_value(p: float | None) -> str:
    """Three digits, or `<0.001`; `-` for none."""
    return "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def count(found: Mapping[str, Any]) -> str:
    """The number of tasks, on both sides where they differ (tasks whose every sample failed are left out)."""
    before, after = found["before"]["n"], found["after"]["n"]
    return str(before) if before == after else f"{before}/{after}"


def _row(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    gain = estimate(found["gain"], sign=True)
    p = p_value(found["p_value"]) if "p_value" in found else ""
    return (name, count(found), estimate(found["before"]), estimate(found["after"]), gain, p)


def accuracy_rows(results: Mapping[str, Any], mode: str, kind: str = "by_depth", label: str = "depth") -> list[tuple[str, ...]]:
    """One row per name of a kind of slice, in HEADER's columns."""
    return [_row(f"{label} {name}".strip(), found) for name, found in results[mode][kind].items()]


def overall_rows(results: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """One row per mode that was measured."""
    names = {"sampled": f"sampled avg@{results['samples']}", "greedy": "greedy"}
    for mode, name in names.items():
        if mode in results:
            yield _row(name, results[mode]["overall"])


def accuracy_table(results: Mapping[str, Any], title: str) -> RenderableType:
    """Held-out accuracy by depth, sampled, and overall in both modes, with the tests below. At most 80 columns wide."""
    table = Table(title=title, title_justify="left")
    table.box, table.show_edge, table.padding = SIMPLE_HEAD, False, (0, 1, 0, 0)
    for number, name in enumerate(HEADER[:5]):
        table.add_column(name, justify="left" if number == 0 else "right", no_wrap=True)
    for row in accuracy_rows(results, "sampled"):
        table.add_row(*_short(row))
    table.add_section()
    for row in overall_rows(results):
        table.add_row(*_short(row))
    return Group(table, *map(Text, _tests(results)))


def _short(row: tuple[str, ...]) -> tuple[str, ...]:
    """A row whose gain has no interval."""
    return (*row[:4], row[4].partition(" ")[0])


def _tests(results: Mapping[str, Any]) -> Iterator[str]:
    for mode in ("sampled", "greedy"):
        if mode in results:
            found = results[mode]["overall"]
            gain = estimate(found["gain"], sign=True)
            yield f"{mode}: gain {gain}, {found['test']} p {equals(found['p_value'])}, {found['gain']['n']} tasks"


def equals(p: float | None) -> str:
    """`= 0.047` or `<0.001`, to stand after "p"."""
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table; the first column is aligned left, the others right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return [f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
