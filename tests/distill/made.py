"""Hand-made tasks and trajectories for the tests of the distill room.

    task = lookup_task("t-1")                        # find_account, then transfer from it
    good = episode(task, ("find_account", {"name": "Rent"}, {"account_id": "acc_111"}), ..., answer=5)

An episode's turn is one call (name, arguments, result), or a list of such calls for a turn of several. A result that is
a Fault is a refusal, NOTHING means that the episode ended before it came.
"""

from __future__ import annotations

from typing import Any, Literal

from tasks.records import (
    Call,
    Edge,
    Gold,
    GoldCall,
    Message,
    ParseFailure,
    Result,
    Step,
    Task,
    ToolFault,
    Trajectory,
    canonical_json,
)

Turn = tuple[str, Any, Any]
NOTHING = object()


class Fault:
    def __init__(self, kind: str, message: str = "refused") -> None:
        self.kind, self.message = kind, message


def task(
    *calls: GoldCall,
    id: str = "t-1",
    text: str = "please",
    answer: Any = None,
    digest: str = "end",
    tools: tuple[str, ...] = (),
    family: Literal["tools", "math"] = "tools",
    abstain: bool = False,
) -> Task:
    names = list(dict.fromkeys([*(c.name for c in calls), *tools]))
    gold = Gold(list(calls), answer, digest, abstain)
    return Task(id, family, "train", ["bank"], names, list(tools), 0, [text], gold, len(calls), len(calls))


def lookup_task(id: str = "t-1", account: str = "acc_111", amount: int = 50) -> Task:
    """Two calls: the account is found by its name, then money is moved from it."""
    return task(
        GoldCall("0", "find_account", {"name": "Rent"}),
        GoldCall("1", "transfer", {"account_id": account, "amount": amount}, [Edge("0", "/account_id", "/account_id")]),
        id=id,
        text=f"Move {amount} out of the account Rent.",
        answer=None,
        tools=("list_cards",),
    )


def episode(
    task: Task,
    *turns: Turn | list[Turn],
    say: str = "Done.",
    sample: int = 0,
    digest: str = "end",
    failures: dict[int, list[str]] | None = None,
    finish: Literal["stop", "length", "turns", "error"] = "stop",
) -> Trajectory:
    """One step per turn, and a last one that says `say`. `failures` are kinds of parse failures by step."""
    messages = [Message("user", text) for text in task.turns]
    steps: list[Step] = []
    number = 0
    for turn in turns:
        calls, results = [], []
        for name, arguments, content in turn if isinstance(turn, list) else [turn]:
            calls.append(Call(str(number), name, arguments))
            if isinstance(content, Fault):
                results.append(Result(str(number), False, error=ToolFault(content.kind, content.message)))
            elif content is not NOTHING:
                results.append(Result(str(number), True, content))
            number += 1
        messages.append(Message("assistant", "calling"))
        messages += [Message("tool", "result", r.call_id) for r in results]
        steps.append(_step(len(steps), calls, results, failures))
    messages.append(Message("assistant", say))
    steps.append(_step(len(steps), [], [], failures))
    tokens = 2 * len(steps)
    return Trajectory(
        task.id, sample, "made", 0, messages, [1], [1] * tokens, [1] * tokens, [-0.5] * tokens, steps, finish, digest
    )


def _step(at: int, calls: list[Call], results: list[Result], failures: dict[int, list[str]] | None) -> Step:
    kinds = (failures or {}).get(at + 1, [])
    return Step(2 * at, 2 * at + 2, calls, [ParseFailure(kind, 0) for kind in kinds], results)


def answer(value: Any) -> str:
    return f"Answer: {canonical_json(value)}"


def lookup_episode(of: Task, sample: int, *, account: str = "", repeat: bool = False, digest: str = "end") -> Trajectory:
    """The lookup task done right, or with another account than the one that was found."""
    gold = of.gold.calls[1].arguments
    found = ("find_account", {"name": "Rent"}, {"account_id": gold["account_id"], "kind": "current"})
    moved = ("transfer", {**gold, "account_id": account or gold["account_id"]}, {"ok": True})
    return episode(of, found, *([found] if repeat else []), moved, sample=sample, digest=digest)
