"""A server small enough to see through, for tests of sessions and of the protocol.

    with TINY.session(1) as session:
        session.call("add", {"counter_id": "count_100", "amount": 2})

It has what a real one has (typed identifiers, a nested object, an array, defaults) and what a real one must not have:
a tool that crashes after it wrote, and public methods that are no tools.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from tasks.servers.session import Environment, Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import identifier
from tasks.servers.world import World

CounterId = identifier("counter", "count")
FIRST = "count_100"


@dataclass(frozen=True, slots=True)
class Counter:
    """A row."""

    counter_id: str
    total: int


class Shown(TypedDict):
    """A counter as tools show it."""

    counter_id: CounterId
    total: int


class Step(TypedDict):
    """A nested argument."""

    amount: int
    times: NotRequired[int]


class Node(TypedDict):
    """A recursive result, whose schema needs definitions."""

    name: str
    children: list[Node]


class Tiny(Server):
    """Counters."""

    name = "tiny"
    title = "Counters."

    counters: Table[Counter]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return {"counters": {FIRST: Counter(FIRST, world.seed), "count_200": Counter("count_200", 0)}}

    @tool()
    def add(self, counter_id: CounterId, amount: Annotated[int, Field(ge=0, description="How much.")] = 1) -> Shown:
        """Adds to a counter; refuses, after the fact, totals over 100."""
        row = self.counters.update(counter_id, total=self._row(counter_id).total + amount)
        if row.total > 100:
            raise ToolError("invalid_value", f"{row.total} is over 100", "Add less.")
        return {"counter_id": counter_id, "total": row.total}

    @tool()
    def walk(self, steps: Annotated[list[Step], Field(description="The steps.")]) -> int:
        """Adds steps to the first counter and answers with the sum of all counters."""
        for step in steps:
            self.counters.update(FIRST, total=self.counters[FIRST].total + step["amount"] * step.get("times", 1))
        return self.total()

    @tool(destructive=True)
    def drop(self, counter_id: CounterId) -> bool:
        """Removes a counter."""
        self._row(counter_id)
        self.counters.remove(counter_id)
        return True

    @tool(read_only=True)
    def total(self) -> int:
        """The sum of all counters."""
        return sum(row.total for row in self.counters.values())

    @tool(read_only=True)
    def list_counters(self) -> list[Shown]:
        """Lists the counters."""
        return [{"counter_id": row.counter_id, "total": row.total} for row in self.counters.values()]

    @tool(read_only=True)
    def biggest(self) -> str | None:
        """The counter above 50, if there is one."""
        return next((row.counter_id for row in self.counters.values() if row.total > 50), None)

    @tool(read_only=True)
    def tree(self) -> list[Node]:
        """The counters as a tree."""
        return [{"name": "all", "children": [{"name": key, "children": []} for key in self.counters]}]

    @tool()
    def break_down(self) -> int:
        """Writes, then fails like a defective tool."""
        self.counters.update(FIRST, total=-1)
        return 1 // 0

    def public_helper(self) -> int:
        """Public, and no tool."""
        self.counters.update(FIRST, total=99)
        return 99

    def _row(self, counter_id: str) -> Counter:
        row = self.counters.get(counter_id)
        if row is None:
            raise ToolError("not_found", f"there is no counter {counter_id}", "list_counters shows them.")
        return row


TINY = Environment([Tiny])
