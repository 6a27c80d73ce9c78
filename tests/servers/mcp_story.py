"""One recorded conversation with all servers, and how to replay it over MCP.

    story = record()
    replay(story, lambda name, arguments: client.call_tool(name, arguments))

Tools of all servers are called on one session, each once in random order, with arguments of which some are hostile.
Left out: arguments that JSON text cannot hold (NaN, lone surrogates); no client can send those.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tasks.records import Result
from tasks.servers import NAMES, environment
from tasks.servers.mcp_server import read_result
from tasks.servers.sampler import sample
from tasks.toolbox.execute import render_result
from tests.servers.driver import Driver, random_arguments

ROOT = Path(__file__).parents[2]
SEED = 7
ARGUMENTS = ["-m", "tasks.servers", "serve"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}

Send = Callable[[str, dict[str, Any]], Awaitable[Any]]


@dataclass(frozen=True)
class Story:
    """Calls in order with their results by direct dispatch, and the final digest."""

    calls: list[tuple[str, dict[str, Any], Result]]
    digest: str
    diff: list[str]


def sendable(arguments: Any) -> bool:
    """Whether JSON text can hold the arguments."""
    try:
        json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return False
    return True


def record(seed: int = SEED, tools: int | None = None) -> Story:
    """Calls every tool of the library once, or a random `tools` of them, directly."""
    servers, rng = environment(NAMES), random.Random(seed)
    with servers.session(seed) as session:
        live = sample(session)
    with servers.session(seed) as session:
        driver = Driver(session, rng, live)
        specs = list(servers.specs.values())
        rng.shuffle(specs)
        for spec in specs[:tools]:
            drawn = (random_arguments(spec, live, rng, hostile=0.2) for _ in range(100))
            driver.call(spec.name, next(arguments for arguments in drawn if sendable(arguments)))
        return Story(driver.log, session.digest(), session.diff())


async def replay(story: Story, send: Send) -> None:
    """Sends the same calls and asserts the same answers, in structured content and in text."""
    specs = environment(NAMES).specs
    for name, arguments, expected in story.calls:
        answer = await send(name, arguments)
        assert read_result(answer, specs[name]) == expected, f"{name}({arguments!r})"
        assert [part.text for part in answer.content] == [render_result(expected)]


@contextmanager
def http_server(*options: str, servers: str = ",".join(NAMES)) -> Iterator[str]:
    """The address of an HTTP server in a process of its own, which must end when told to."""
    command = [sys.executable, *ARGUMENTS, servers, "--transport", "http", "--port", "0", *options]
    # A shell starts background commands with SIGINT ignored, and children inherit that.
    restore = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=ENVIRONMENT, preexec_fn=restore) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()
