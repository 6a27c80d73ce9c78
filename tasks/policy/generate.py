"""The transformers engine: many conversations generated side by side, with one KV cache over all their turns.

    converse(model, prompts, reply, stop_ids=[...], pad_id=0, limit=64, temperature=1.0, uniforms=array)

Every row takes one token a step, its own or a given one: when a row's turn ends, `reply(row, turn)` says at once what it
hears (tool results, the user's next turn), and those tokens are fed while its neighbours go on writing. So no row waits
for another, and only the prompts are padded. Rows that have ended leave the batch.

Tokens in, tokens out: what the model emitted stays in the cache as it is and is never tokenised again.

Randomness: row r's k-th sampled token is the inverse CDF at uniforms[r, k], so that a row's draws do not depend on its
neighbours (floating-point noise aside).

Left out: admitting new rows into a running batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicLayer

GROW = 128
"""Columns by which a cache grows: appending copies nothing in between."""

CROWD = 0.75
"""The batch is packed when no more than this share of its rows goes on."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model wrote in one turn: token ids with natural-log probabilities, stop token included."""

    ids: list[int]
    logprobs: list[float]
    finish: Literal["stop", "length"]


Reply = Callable[[int, Turn], Sequence[int] | None]
"""(row, its turn) -> the tokens to feed before its next turn, or None when the row has ended."""


class _GrowingLayer(DynamicLayer):  # type: ignore[misc]
    """A cache layer with spare columns: DynamicLayer copies the whole cache for every token."""

    def __init__(self) -> None:
        super().__init__()
        self.length = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.device = key_states.device
        self.keys = key_states.new_empty((*key_states.shape[:2], 0, key_states.shape[3]))
        self.values = value_states.new_empty((*value_states.shape[:2], 0, value_states.shape[3]))
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[2]
        if end > self.keys.shape[2]:
            self.keys, self.values = (_widen(t, self.length, end + GROW) for t in (self.keys, self.values))
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_seq_length(self) -> int:
        return self.length

    def keep(self, rows: torch.Tensor, first: int) -> None:
        """Drops all other rows, and the columns before `first`."""
        self.keys, self.values = (t[rows, :, first : self.length] for t in (self.keys, self.values))
        self.length -= first


def _widen(tensor: torch.Tensor, used: int, width: int) -> torch.Tensor:
    wide = tensor.new_empty((*tensor.shape[:2], width, tensor.shape[3]))
    wide[:, :, :used] = tensor[:, :, :used]
    return wide


@dataclass(slots=True)
class _Row:
    """One conversation: what it wrote in this turn, what is still to be fed, how many tokens it sampled in all."""

    number: int
    queue: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    drawn: int = 0
    ended: bool = False


class _Batch:
    """The cache, mask and positions of the rows that go on."""

    def __init__(self, model: Any, count: int) -> None:
        self.model, self.device = model, model.device
        self.layers = [_GrowingLayer() for _ in range(model.config.num_hidden_layers)]
        self.cache = Cache(layers=self.layers)
        self.mask = torch.zeros((count, 0), dtype=torch.bool, device=self.device)
        self.position = torch.zeros(count, dtype=torch.long, device=self.device)

    def feed(self, ids: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """Appends ids (B, Q), of which `real` count; returns the last column's logits (B, V) in float32."""
        width, before = ids.shape[1], self.mask.shape[1]
        steps = real.cumsum(1)
        positions = (self.position[:, None] + steps - 1).clamp(min=0)
        self.position = self.position + steps[:, -1]
        self.mask = torch.cat([self.mask, real], dim=1)
        allowed = self.mask[:, None, None, :].expand(-1, 1, width, -1)  # (B, 1, Q, T)
        if width > 1:
            ones = torch.ones((width, before + width), dtype=torch.bool, device=self.device)
            allowed = allowed & ones.tril(before)
        if not bool(real.all()):
            # A padding query sees itself, so that its softmax is defined; its output is never used.
            own = torch.zeros((width, before + width), dtype=torch.bool, device=self.device)
            own[:, before:].fill_diagonal_(True)
            allowed = allowed | own
        output = self.model(
            input_ids=ids, attention_mask=allowed, position_ids=positions, cache=self.cache, use_cache=True, logits_to_keep=1
        )
        return output.logits[:, -1].float()

    def keep(self, rows: list[int]) -> None:
        """Drops all other rows, and the columns that none of the kept rows uses."""
        index = torch.tensor(rows, device=self.device)
        mask = self.mask[index]
        first = int(mask.any(0).int().argmax())
        for layer in self.layers:
            layer.keep(index, first)
        self.mask, self.position = mask[:, first:], self.position[index]


@torch.inference_mode()
def converse(
    model: Any,
    prompts: Sequence[Sequence[int]],
    reply: Reply,
    *,
    stop_ids: Sequence[int],
    pad_id: int,
    limit: int,
    temperature: float,
    uniforms: np.ndarray | None,
) -> None:
    """Runs all conversations to their ends. A turn is at most `limit` tokens.

    temperature 0 is greedy. `uniforms` (rows, the most tokens that a row may sample), in [0, 1), decides sampling.
    Log-probabilities are those of the distribution that was sampled from; greedy ones are at temperature 1.
    Raises ValueError for an empty prompt, or for sampling without uniforms.
    """
    if temperature > 0 and uniforms is None:
        raise ValueError("sampling needs uniforms, one row per conversation")
    if not all(prompts):
        raise ValueError("a conversation needs a prompt of one token at least")
    stops = frozenset(stop_ids)
    batch = _Batch(model, len(prompts))
    rows = [_Row(number) for number in range(len(prompts))]
    logits = batch.feed(*_left_padded(prompts, pad_id, batch.device))
    while True:
        writing = [row for row in rows if not row.ended and not row.queue]
        if writing:
            _write(rows, writing, logits, temperature, uniforms, stops, limit, reply)
        going = [index for index, row in enumerate(rows) if not row.ended]
        if not going:
            return
        if len(going) <= CROWD * len(rows):
            batch.keep(going)
            rows = [rows[index] for index in going]
        width = min(len(row.queue) for row in rows if not row.ended)
        fed = [[pad_id] * width if row.ended else row.queue[:width] for row in rows]
        for row in rows:
            del row.queue[:width]
        real = torch.tensor([not row.ended for row in rows], device=batch.device)[:, None].expand(-1, width)
        logits = batch.feed(torch.tensor(fed, device=batch.device), real)


def _left_padded(prompts: Sequence[Sequence[int]], pad_id: int, device: Any) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(len(ids) for ids in prompts)
    ids = torch.tensor([[pad_id] * (width - len(x)) + list(x) for x in prompts], device=device)
    lengths = torch.tensor([len(x) for x in prompts], device=device)
    real = torch.arange(width, device=device)[None] >= (width - lengths)[:, None]
    return ids, real


def _write(
    rows: Sequence[_Row],
    writing: Sequence[_Row],
    logits: torch.Tensor,
    temperature: float,
    uniforms: np.ndarray | None,
    stops: frozenset[int],
    limit: int,
    reply: Reply,
) -> None:
    """Samples one token for every row that writes; a row whose turn ends hears its reply at once."""
    if len(writing) < len(rows):
        index = {id(row): number for number, row in enumerate(rows)}
        logits = logits[torch.tensor([index[id(row)] for row in writing], device=logits.device)]
    at = None
    if temperature > 0:
        assert uniforms is not None
        at = torch.tensor(
            [float(uniforms[row.number, row.drawn]) for row in writing], dtype=torch.float64, device=logits.device
        )
    chosen, logprobs = _sample(logits, temperature, at)
    for row, token, logprob in zip(writing, chosen.tolist(), logprobs.tolist(), strict=True):
        row.ids.append(token)
        row.logprobs.append(logprob)
        row.drawn += 1
        row.queue.append(token)
        if token in stops or len(row.ids) == limit:
            heard = reply(row.number, Turn(row.ids, row.logprobs, "stop" if token in stops else "length"))
            row.ids, row.logprobs = [], []
            if heard is None:
                row.ended = True
                row.queue.clear()
            else:
                row.queue.extend(heard)


def _sample(logits: torch.Tensor, temperature: float, at: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    if at is None:
        logp = logits.log_softmax(-1)
        chosen = logp.argmax(-1)
    else:
        logp = (logits / temperature).log_softmax(-1)
        cdf = logp.double().exp().cumsum(-1)
        chosen = torch.searchsorted(cdf, (at * cdf[:, -1])[:, None], right=True)[:, 0].clamp(max=logits.shape[-1] - 1)
    return chosen, logp.gather(-1, chosen[:, None])[:, 0]
