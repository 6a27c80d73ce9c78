"""A worker ends when the process that started it is killed."""

from __future__ import annotations

import subprocess
import sys

import psutil

PARENT = """
import multiprocessing, time
from tasks.processes import end_with_parent
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    pool = context.Pool(1, end_with_parent)
    print(pool.apply(__import__("os").getpid), flush=True)
    time.sleep(600)
"""


def test_a_worker_ends_with_its_killed_parent(tmp_path) -> None:  # type: ignore[no-untyped-def]
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": "."})
    assert parent.stdout is not None
    worker = psutil.Process(int(parent.stdout.readline()))
    assert worker.is_running()
    parent.kill()
    parent.wait()
    worker.wait(timeout=60)
    assert not worker.is_running()
