"""The policy stage: `python -m tasks.policy`. Puts the model of policy.source into DATA/policy/model.

The embedded policy's tokenizer is built from the training tasks as the model will see them, so this stage
depends on `synthesize`; other sources bring their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tasks.policy import PolicyError, sources
from tasks.policy.chat import render_call
from tasks.records import Call, Task, read_shards
from tasks.servers import Environment, environment
from tasks.stage import Stage, StageError, command
from tasks.toolbox.execute import render_result

CORPUS = 3000
"""Training tasks that the embedded tokenizer is built from."""


def corpus(servers: Environment, tasks: Sequence[Task]) -> Iterator[str]:
    """One text per task: the request, and the calls and results of its gold solution as they are written."""
    for task in tasks:
        parts = list(task.turns)
        with servers.session(task.session_seed) as session:
            for gold in task.gold.calls:
                parts.append(render_call(Call(gold.id, gold.name, gold.arguments)))
                parts.append(render_result(session.call(gold.name, gold.arguments, gold.id)))
        yield "\n".join(parts)


def run(stage: Stage) -> Mapping[str, Any]:
    """Obtains the model and saves it with its tokenizer."""
    params = stage.params
    servers = environment(params.servers.names)
    texts: list[str] = []
    if params.policy.source == "scratch":
        texts = list(corpus(servers, read_shards(stage.input("synthesize", "tasks", "train"), Task)[:CORPUS]))
    try:
        model, tokenizer = sources.obtain(params.policy, texts, list(servers.specs.values()), params.seed)
    except PolicyError as error:
        raise StageError(str(error)) from error
    model.save_pretrained(stage.out / "model")
    tokenizer.save_pretrained(stage.out / "model")
    return {"parameters": sum(p.numel() for p in model.parameters()), "vocabulary": len(tokenizer)}


def main(argv: Sequence[str] | None = None) -> int:
    return command("policy", run, argv, sections=("policy", "servers"), needs=("synthesize",), description=__doc__ or "")


if __name__ == "__main__":
    raise SystemExit(main())
