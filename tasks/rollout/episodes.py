"""Episodes: policy x environment -> trajectories with exact tokens. The one rollout code of the pipeline:
the rollout stage, every GRPO step and the evaluation run it.

    trajectories = run(policy, environment, [(task, sample), ...], limits, temperature=1.0, seed=0)

One assistant turn is one step: its calls run in the order written on the episode's own session, their results
are tokenised once and appended with mask 0. A turn cut by the length limit is never executed. The stored user
turns are replayed: the next one is said when the model answers without a call.

Left out: simulated users.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np

from tasks.params import Limits
from tasks.policy import Policy
from tasks.policy.generate import Turn
from tasks.records import Message, Step, Task, ToolSpec, Trajectory
from tasks.seeds import derive
from tasks.servers import Environment, Session, ToolCrashError
from tasks.toolbox.execute import execute, fault_message, render_result
from tasks.toolbox.parse import parse_hermes

FinishReason = str


@dataclass(slots=True)
class _Episode:
    """One episode in progress."""

    task: Task
    sample: int
    session: Session
    messages: list[Message]
    prompt_ids: list[int]
    seed: int
    completion_ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    turn: int = 0
    calls: int = 0
    faults: int = 0
    finish: FinishReason | None = None
    error: str | None = None

    def wrote(self, turn: Turn) -> tuple[int, int]:
        start = len(self.completion_ids)
        self.completion_ids += turn.ids
        self.mask += [1] * len(turn.ids)
        self.logprobs += turn.logprobs
        return start, len(self.completion_ids)

    def heard(self, ids: Sequence[int]) -> None:
        self.completion_ids += ids
        self.mask += [0] * len(ids)
        self.logprobs += [0.0] * len(ids)


def system_message(text: str, session: Session) -> list[Message]:
    """The system message, `{now}` filled with the session's clock; none for an empty text."""
    return [Message("system", text.replace("{now}", f"{session.now:%A %Y-%m-%d %H:%M}"))] if text else []


def visible(environment: Environment, task: Task) -> list[ToolSpec]:
    """The ToolSpecs that a task shows. Raises KeyError for a tool that the environment does not have."""
    return [environment.specs[name] for name in task.tools]


def run(
    policy: Policy,
    environment: Environment,
    jobs: Sequence[tuple[Task, int]],
    limits: Limits,
    temperature: float,
    seed: int,
    watch: Callable[[int], None] | None = None,
) -> list[Trajectory]:
    """One trajectory per job, in order. `watch` is told of every episode that ends.

    `seed` and the job's task and sample name its random stream: an episode draws the same uniforms in any batch.
    """
    with ExitStack() as sessions:
        episodes = [_open(policy, environment, task, sample, seed, sessions) for task, sample in jobs]
        uniforms = None
        if temperature > 0:
            uniforms = np.stack(
                [np.random.default_rng(e.seed).random(limits.total_tokens + limits.turn_tokens) for e in episodes]
            )

        def reply(row: int, turn: Turn) -> list[int] | None:
            heard = _advance(policy, episodes[row], turn, limits)
            if heard is None and watch is not None:
                watch(1)
            return heard

        policy.converse([e.prompt_ids for e in episodes], reply, limits.turn_tokens, temperature, uniforms)
        return [_close(policy, episode) for episode in episodes]


def _open(policy: Policy, environment: Environment, task: Task, sample: int, seed: int, sessions: ExitStack) -> _Episode:
    session = sessions.enter_context(environment.session(task.session_seed))
    messages = [*system_message(policy.system, session), Message("user", task.turns[0])]
    prompt = policy.chat.prompt(messages, visible(environment, task))
    return _Episode(task, sample, session, messages, prompt, derive(seed, "episode", task.id, sample))


def _advance(policy: Policy, episode: _Episode, turn: Turn, limits: Limits) -> list[int] | None:
    """Takes in one turn; the tokens to feed before the next, or None when the episode has ended."""
    start, end = episode.wrote(turn)
    text = policy.chat.decode(turn.ids)
    episode.messages.append(Message("assistant", text))
    if turn.finish == "length":
        episode.steps.append(Step(start, end, turn=episode.turn))
        episode.finish = "length"
        return None
    parsed = parse_hermes(text, episode.calls)
    episode.calls += len(parsed.calls) + len(parsed.failures)
    try:
        results = execute(episode.session, parsed)
    except ToolCrashError as error:
        episode.steps.append(Step(start, end, parsed.calls, parsed.failures, turn=episode.turn))
        episode.finish, episode.error = "error", str(error)
        return None
    episode.steps.append(Step(start, end, parsed.calls, parsed.failures, results, turn=episode.turn))
    heard = [Message("tool", render_result(r), r.call_id) for r in results]
    heard += [Message("tool", fault_message(f)) for f in parsed.failures]
    if not heard:
        episode.turn += 1
        if episode.turn == len(episode.task.turns):
            episode.finish = "stop"
            return None
        heard = [Message("user", episode.task.turns[episode.turn])]
    episode.faults += sum(not r.ok for r in results) + len(parsed.failures)
    if len(episode.steps) == limits.turns or episode.faults >= limits.faults:
        episode.finish = "turns"
        return None
    ids = policy.chat.between(heard)
    if len(episode.completion_ids) + len(ids) >= limits.total_tokens:
        episode.finish = "length"
        return None
    episode.messages += heard
    episode.heard(ids)
    return ids


def _close(policy: Policy, episode: _Episode) -> Trajectory:
    assert episode.finish is not None
    return Trajectory(
        task_id=episode.task.id,
        sample=episode.sample,
        policy=policy.name,
        seed=episode.seed,
        messages=episode.messages,
        prompt_ids=episode.prompt_ids,
        completion_ids=episode.completion_ids,
        mask=episode.mask,
        logprobs=[float(np.float32(x)) for x in episode.logprobs],
        steps=episode.steps,
        finish_reason=episode.finish,  # type: ignore[arg-type]
        digest=episode.session.digest(),
        error=episode.error,
    )
