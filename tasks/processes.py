"""Worker processes that end when the process that started them does.

    ProcessPoolExecutor(2, context, initializer=end_with_parent)

A process that is killed (`kill -9`, out of memory) cannot tell its workers. Left alone they wait for ever, or go on
writing the files that the next try writes too.

Left out: processes that were not started by multiprocessing.
"""

from __future__ import annotations

import multiprocessing
import os
import threading


def end_with_parent() -> None:
    """Called in a worker: from now on it ends at once, with exit code 1, when its parent has ended."""
    threading.Thread(target=_wait, daemon=True).start()


def _wait() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "not a worker process"
    parent.join()
    os._exit(1)
