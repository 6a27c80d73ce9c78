"""What a stage shows while it works: a live bar on a terminal, plain lines elsewhere (CI, Prefect logs).

    with progress("rollout", total=200) as advance:
        advance(8, "accuracy 0.41")

Left out: nested bars.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LINE_SECONDS = 10.0
"""Without a terminal, a line at most this often."""

Advance = Callable[..., None]


@contextmanager
def progress(label: str, total: int) -> Iterator[Advance]:
    """Yields `advance(count=1, note="")`."""
    if sys.stderr.isatty():
        yield from _bar(label, total)
    else:
        yield from _lines(label, total)


def _bar(label: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total, note="")

        def advance(count: int = 1, note: str | None = None) -> None:
            bar.update(task, advance=count, **({} if note is None else {"note": note}))

        yield advance


def _lines(label: str, total: int) -> Iterator[Advance]:
    done, last, start = 0, time.monotonic(), time.monotonic()

    def advance(count: int = 1, note: str | None = None) -> None:
        nonlocal done, last
        done += count
        now = time.monotonic()
        if now - last >= LINE_SECONDS or done >= total:
            last = now
            print(f"{label}: {done}/{total} in {now - start:.0f} s {note or ''}".rstrip(), file=sys.stderr, flush=True)

    yield advance
