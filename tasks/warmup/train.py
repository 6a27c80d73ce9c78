"""The warm-up's training loop: next-token prediction on the masked tokens of verified demonstrations.

Copying practice comes first; then deeper tasks come in over the first `ramp` of the steps. Batches hold examples of
similar length. The data of a step follow from its number alone, and the loop's state (weights, optimiser, losses) is
checkpointed, so a killed run continues to the same weights.

With several workers each computes the gradient of its slice of every batch in a process of its own, with one
meeting a step: on few cores this is faster and far steadier than threads inside operators, which meet a thousand
times a step and stall together whenever the machine takes one core away.

Left out: mixed precision; the embedded policy trains in float32.
"""

from __future__ import annotations

import math
import multiprocessing
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tasks.params import Warmup
from tasks.processes import end_with_parent
from tasks.seeds import stream
from tasks.warmup.examples import Example

PATIENCE = 600.0
"""Seconds to wait for another worker before giving up on it."""


@dataclass(frozen=True)
class Data:
    """What batches are drawn from: demonstrations, and copying practice for the first steps."""

    examples: Sequence[Example]
    practice: Sequence[Example]
    settings: Warmup
    seed: int
    pad_id: int

    def batch(self, step: int) -> list[Example]:
        """The examples of one step: a window of similar lengths out of what the curriculum allows by now."""
        rng = stream(self.seed, "warmup", step)
        settings = self.settings
        allowed = self.practice if step < settings.copy_steps else self._allowed(step - settings.copy_steps)
        size = min(len(allowed), 8 * settings.batch_size)
        pool = sorted(rng.sample(range(len(allowed)), size), key=lambda i: len(allowed[i].ids))
        start = rng.randrange(0, max(1, len(pool) - settings.batch_size + 1))
        return [allowed[i] for i in pool[start : start + settings.batch_size]]

    def _allowed(self, step: int) -> Sequence[Example]:
        reach = 1 + 9 * step / max(1.0, self.settings.ramp * self.settings.steps)
        if reach >= 10:
            return self.examples
        return [e for e in self.examples if e.depth <= reach] or self.examples


def collate(batch: Sequence[Example], pad_id: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(ids (B, T), attention mask (B, T), labels (B, T) with -100 where nothing is to be learned)."""
    width = max(len(e.ids) for e in batch)
    ids = torch.tensor([e.ids + [pad_id] * (width - len(e.ids)) for e in batch])
    mask = torch.tensor([[1] * len(e.ids) + [0] * (width - len(e.ids)) for e in batch])
    wanted = torch.tensor([e.mask + [0] * (width - len(e.ids)) for e in batch])
    return ids, mask, torch.where(wanted == 1, ids, -100)


def total_steps(settings: Warmup) -> int:
    """Steps of practice and of demonstrations; with `steps` 0 there is neither."""
    return settings.copy_steps + settings.steps if settings.steps else 0


def rate(settings: Warmup, step: int) -> float:
    """Learning rate at a step: linear warm-up over 50 steps, then a cosine to a tenth."""
    progress = step / max(1, total_steps(settings))
    return settings.learning_rate * min(1.0, (step + 1) / 50) * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress)))


def loss_of(model: Any, ids: torch.Tensor, mask: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Summed cross-entropy over the labelled tokens. Logits are computed only where a label stands."""
    hidden = model.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state[:, :-1]
    wanted = labels[:, 1:] != -100
    logits = model.lm_head(hidden[wanted])
    return torch.nn.functional.cross_entropy(logits.float(), labels[:, 1:][wanted], reduction="sum")


def _slice_loss(model: Any, data: Data, step: int, worker: int, workers: int) -> float:
    """Leaves a worker's share of the batch's mean gradient in .grad; returns its share of the mean loss."""
    batch = data.batch(step)
    labelled = sum(sum(e.mask) for e in batch)
    model.zero_grad(set_to_none=False)
    mine = batch[worker::workers]
    if not mine:
        return 0.0
    loss = loss_of(model, *collate(mine, data.pad_id)) / labelled
    loss.backward()
    return float(loss.detach())


class _Team:
    """The other workers: processes that share the weights and write gradients where worker 0 reads them."""

    def __init__(self, model: Any, data: Data, workers: int, start: int) -> None:
        context = multiprocessing.get_context("spawn")
        model.share_memory()
        size = sum(p.numel() for p in model.parameters())
        self.grads = torch.zeros(workers - 1, size).share_memory_()
        self.losses = torch.zeros(workers - 1).share_memory_()
        self.barrier = context.Barrier(workers)
        self.processes = [
            context.Process(
                target=_work, args=(model, data, n, workers, start, self.grads[n - 1], self.losses, self.barrier), daemon=True
            )
            for n in range(1, workers)
        ]
        for process in self.processes:
            process.start()

    def meet(self) -> None:
        """Waits for the others. Raises RuntimeError when one of them died."""
        try:
            self.barrier.wait(PATIENCE)
        except threading.BrokenBarrierError:
            codes = [p.exitcode for p in self.processes]
            raise RuntimeError(f"a warm-up worker stopped (exit codes {codes}); its traceback stands above") from None

    def add(self, model: Any) -> float:
        """Adds the others' gradients to the model's; returns the sum of their losses."""
        for row in self.grads:
            at = 0
            for parameter in model.parameters():
                parameter.grad += row[at : at + parameter.numel()].view_as(parameter)
                at += parameter.numel()
        return float(self.losses.sum())

    def close(self) -> None:
        self.barrier.abort()
        for process in self.processes:
            process.terminate()
            process.join()


def _work(
    model: Any, data: Data, worker: int, workers: int, start: int, row: torch.Tensor, losses: torch.Tensor, barrier: Any
) -> None:
    end_with_parent()
    torch.set_num_threads(1)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    with ExitStack() as failing:
        failing.callback(barrier.abort)  # nobody waits for a worker that fails
        for step in range(start, total_steps(data.settings)):
            losses[worker - 1] = _slice_loss(model, data, step, worker, workers)
            torch.cat([p.grad.flatten() for p in model.parameters()], out=row)
            try:
                barrier.wait(PATIENCE)  # gradients are there
                barrier.wait(PATIENCE)  # weights are updated
            except threading.BrokenBarrierError:
                return
        failing.pop_all()


def train(model: Any, data: Data, workers: int, scratch: Path, losses: list[float]) -> Iterator[int]:
    """Trains in place, yielding each step's number.

    Continues from the newest checkpoint under `scratch`. `losses` gets one mean loss per step, those before a kill included.
    """
    settings = data.settings
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate, betas=(0.9, 0.98), weight_decay=settings.weight_decay, fused=True
    )
    losses[:] = _resume(model, optimizer, scratch)
    total = total_steps(settings)
    model.train()
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    team = _Team(model, data, workers, len(losses)) if workers > 1 and len(losses) < total else None
    try:
        for step in range(len(losses), total):
            loss = _slice_loss(model, data, step, 0, workers)
            if team is not None:
                team.meet()
                loss += team.add(model)
            torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
            for group in optimizer.param_groups:
                group["lr"] = rate(settings, step)
            optimizer.step()
            if team is not None:
                team.meet()
            losses.append(loss)
            yield step
            if (step + 1) % settings.checkpoint_steps == 0 and step + 1 < total:
                _save(model, optimizer, losses, scratch)
    finally:
        if team is not None:
            team.close()
    model.eval()


def _save(model: Any, optimizer: torch.optim.Optimizer, losses: Sequence[float], scratch: Path) -> None:
    temporary = scratch / ".checkpoint.tmp"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "losses": list(losses)}, temporary)
    temporary.replace(scratch / "checkpoint.pt")


def _resume(model: Any, optimizer: torch.optim.Optimizer, scratch: Path) -> list[float]:
    path = scratch / "checkpoint.pt"
    if not path.is_file():
        return []
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return list(state["losses"])
