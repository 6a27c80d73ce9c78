"""The warm-up's training loop: next-token prediction on the masked tokens of verified demonstrations.

Batches hold examples of similar length. Copying practice comes first; then deeper tasks come in over the first
`ramp` of the steps. The loop's whole state (weights, optimiser, step) is checkpointed, and the data order follows
from the step number alone, so a killed run continues to the same weights.

Left out: mixed precision; the embedded policy trains in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from tasks.params import Warmup
from tasks.seeds import stream
from tasks.warmup.examples import Example


def batch_of(examples: Sequence[Example], settings: Warmup, seed: int, step: int) -> list[Example]:
    """The examples of one step: a window of similar lengths out of what the curriculum allows by now."""
    rng = stream(seed, "warmup", step)
    allowed = examples
    if settings.ramp > 0:
        reach = 1 + 9 * min(1.0, step / max(1, settings.ramp * settings.steps))
        allowed = [e for e in examples if e.depth <= reach]
        allowed = allowed or examples
    pool = sorted(
        rng.sample(range(len(allowed)), min(len(allowed), 8 * settings.batch_size)), key=lambda i: len(allowed[i].ids)
    )
    start = rng.randrange(0, max(1, len(pool) - settings.batch_size + 1))
    return [allowed[i] for i in pool[start : start + settings.batch_size]]


def collate(batch: Sequence[Example], pad_id: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(ids (B, T), attention mask (B, T), labels (B, T) with -100 where nothing is to be learned)."""
    width = max(len(e.ids) for e in batch)
    ids = torch.tensor([e.ids + [pad_id] * (width - len(e.ids)) for e in batch])
    mask = torch.tensor([[1] * len(e.ids) + [0] * (width - len(e.ids)) for e in batch])
    wanted = torch.tensor([e.mask + [0] * (width - len(e.ids)) for e in batch])
    return ids, mask, torch.where(wanted == 1, ids, -100)


def rate(settings: Warmup, step: int) -> float:
    """Learning rate at a step: linear warm-up over 50 steps, then a cosine to a tenth."""
    total = settings.copy_steps + settings.steps
    progress = step / max(1, total)
    return settings.learning_rate * min(1.0, (step + 1) / 50) * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress)))


def train(
    model: Any,
    pad_id: int,
    practice: Callable[[int], list[Example]],
    examples: Sequence[Example],
    settings: Warmup,
    seed: int,
    scratch: Path,
) -> Iterator[tuple[int, float]]:
    """Trains in place, yielding (step, loss). `practice(step)` gives the batch of a copying step.

    Continues from the newest checkpoint under `scratch`.
    """
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate, betas=(0.9, 0.98), weight_decay=settings.weight_decay, fused=True
    )
    start = _resume(model, optimizer, scratch)
    total = settings.copy_steps + settings.steps
    model.train()
    for step in range(start, total):
        copying = step < settings.copy_steps
        batch = practice(step) if copying else batch_of(examples, settings, seed, step - settings.copy_steps)
        ids, mask, labels = collate(batch, pad_id)
        for group in optimizer.param_groups:
            group["lr"] = rate(settings, step)
        loss = loss_of(model, ids, mask, labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        yield step, float(loss.detach())
        if (step + 1) % settings.checkpoint_steps == 0 and step + 1 < total:
            _save(model, optimizer, step + 1, scratch)
    model.eval()


def loss_of(model: Any, ids: torch.Tensor, mask: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy over the labelled tokens. Logits are computed only where a label stands."""
    hidden = model.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state[:, :-1]
    wanted = labels[:, 1:] != -100
    logits = model.lm_head(hidden[wanted])
    return torch.nn.functional.cross_entropy(logits.float(), labels[:, 1:][wanted])


def _save(model: Any, optimizer: torch.optim.Optimizer, step: int, scratch: Path) -> None:
    temporary = scratch / ".checkpoint.tmp"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, temporary)
    temporary.replace(scratch / "checkpoint.pt")


def _resume(model: Any, optimizer: torch.optim.Optimizer, scratch: Path) -> int:
    path = scratch / "checkpoint.pt"
    if not path.is_file():
        return 0
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["step"])
