"""A hypothesis state machine over one server: random valid and hostile calls, every one checked by the driver.

    TestPayments = machine(Payments, check)      # check(session): the server's own invariant, by assertions

Rules: a call of any tool with mostly sensible arguments; one with hostile arguments; a refused call repeated; and a reset.
At the end the calls since the last reset run again in a fresh session: same results, same digest.

Left out: rules that know a domain's stories; a server's own tests tell those.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tasks.servers.sampler import Live, sample
from tasks.servers.session import Environment, Server, Session
from tests.servers.driver import Driver, random_arguments

SEEDS = (3, 1 << 20)


@cache
def world(kind: type[Server]) -> Environment:
    """The environment of one server."""
    return Environment([kind])


@cache
def live_of(kind: type[Server], seed: int) -> Live:
    """What its read-only tools show at the start."""
    with world(kind).session(seed) as session:
        return sample(session)


def machine(kind: type[Server], check: Callable[[Session], None], examples: int = 12, steps: int = 25) -> type:
    """A unittest class that runs the machine."""

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.open(SEEDS[0])

        def open(self, seed: int) -> None:
            live = live_of(kind, seed)
            copied = Live({k: {key: dict(facts) for key, facts in known.items()} for k, known in live.entities.items()})
            self.session = world(kind).session(seed)
            self.driver = Driver(self.session, random.Random(0), copied)

        def random_call(self, tool: str, seed: int, hostile: float) -> None:
            spec = world(kind).specs[tool]
            self.driver.call(tool, random_arguments(spec, self.driver.live, random.Random(seed), hostile))

        @rule(tool=st.sampled_from(sorted(kind.specs)), seed=st.integers(0, 2**20))
        def call(self, tool: str, seed: int) -> None:
            self.random_call(tool, seed, 0.0)

        @rule(tool=st.sampled_from([s.name for s in kind.specs.values() if not s.read_only]), seed=st.integers(0, 2**20))
        def write(self, tool: str, seed: int) -> None:
            self.random_call(tool, seed, 0.02)

        @rule(tool=st.sampled_from(sorted(kind.specs)), seed=st.integers(0, 2**20))
        def attack(self, tool: str, seed: int) -> None:
            self.random_call(tool, seed, 0.5)

        @rule()
        def repeat_the_last(self) -> None:
            if self.driver.log:
                name, arguments, _ = self.driver.log[-1]
                self.driver.call(name, arguments)

        @rule(seed=st.sampled_from(SEEDS))
        def reset(self, seed: int) -> None:
            self.replay()
            self.session.close()
            self.open(seed)

        @invariant()
        def holds(self) -> None:
            try:
                check(self.session)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{self.driver.story()}") from error

        def replay(self) -> None:
            with world(kind).session(self.session.seed) as again:
                for name, arguments, result in self.driver.log:
                    assert again.call(name, arguments) == result, f"{name}({arguments!r}) answered otherwise when repeated"
                assert again.digest() == self.session.digest()

        def teardown(self) -> None:
            self.replay()
            self.session.close()

    Machine.__name__ = Machine.__qualname__ = f"{kind.__name__}Machine"
    case: Any = Machine.TestCase
    case.settings = settings(max_examples=examples, stateful_step_count=steps, deadline=None)
    return case  # type: ignore[no-any-return]
