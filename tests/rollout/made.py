"""A policy that says what a script says, and tasks over the banking server for it.

policy = scripted({0: [CALL, "Done."], 1: [cut("<tool_call>...")]})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tasks.policy.chat import Chat, render_call
from tasks.policy.generate import Reply, Turn
from tasks.records import Call, Gold, Task
from tests.policy.made import shared_tokenizer


@dataclass(frozen=True)
class Cut:
    """A turn that the length limit cuts: its tokens end without a stop token."""

    text: str


Line = str | Cut


@dataclass
class Scripted:
    """Quacks like tasks.policy.Policy; row r says script[r], turn by turn, and its last line for ever."""

    script: Mapping[int, Sequence[Line]]
    system: str = ""
    name: str = "scripted"
    chat: Chat = field(default_factory=lambda: Chat(shared_tokenizer()))
    heard: dict[int, list[list[int]]] = field(default_factory=dict)
    fail: Exception | None = None

    def converse(
        self, prompts: Sequence[Sequence[int]], reply: Reply, limit: int, temperature: float, uniforms: np.ndarray | None
    ) -> None:
        if self.fail:
            raise self.fail
        for row in range(len(prompts)):
            self.heard[row] = []
            number = 0
            while (ids := reply(row, self.turn(self.script[row][min(number, len(self.script[row]) - 1)]))) is not None:
                self.heard[row].append(list(ids))
                number += 1

    def turn(self, line: Line) -> Turn:
        text = line.text if isinstance(line, Cut) else line
        ids = list(self.chat.tokenizer.encode(text, add_special_tokens=False))
        ids += [] if isinstance(line, Cut) else self.chat.stop_ids
        return Turn(ids, [-0.1 * (n + 1) for n in range(len(ids))], "length" if isinstance(line, Cut) else "stop")


def call(name: str, /, **arguments: Any) -> str:
    return render_call(Call("", name, arguments))


def task(
    id: str = "t-1", turns: Sequence[str] = ("Please.",), tools: Sequence[str] = ("list_accounts", "transfer_money")
) -> Task:
    return Task(id, "tools", "train", ["banking"], list(tools), [], 7, list(turns), Gold(), 0, 0)
