"""The transformers engine: many conversations generated side by side, with one KV cache over all turns.

    conversations = Conversations(model, stop_ids, pad_id, temperature=1.0, uniforms=[...])
    turns = conversations.turn({0: prompt_ids, 1: ...}, limit=64)       # the first turn of each row
    turns = conversations.turn({0: tool_result_ids}, limit=64)          # the next turn of the rows that go on

Tokens in, tokens out: what the model emitted stays in the cache as it is and is never tokenised again; the
caller hands in only the tokens that come between two turns. A row that is left out of a call has ended, and
its part of the cache is dropped.

Randomness: row r's k-th sampled token is the inverse CDF at uniforms[r][k], so that a row's draws do not depend
on its neighbours (their floating-point noise aside).

Left out: continuous batching; rows wait for the longest turn of the round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicLayer

GROW = 128
"""Columns by which a cache grows: appending copies nothing in between."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model wrote in one turn: token ids with natural-log probabilities, stop token included."""

    ids: list[int]
    logprobs: list[float]
    finish: Literal["stop", "length"]


class _GrowingLayer(DynamicLayer):  # type: ignore[misc]
    """A cache layer with spare columns: DynamicLayer copies the whole cache for every token."""

    def __init__(self) -> None:
        super().__init__()
        self.length = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        shape = (*key_states.shape[:2], 0, key_states.shape[3])
        self.device = key_states.device
        self.keys = key_states.new_empty(shape)
        self.values = value_states.new_empty((*shape[:3], value_states.shape[3]))
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

    def keep(self, rows: torch.Tensor, columns: torch.Tensor) -> None:
        """Drops all other rows and columns."""
        self.keys, self.values = (t[rows][:, :, columns] for t in (self.keys, self.values))
        self.length = len(columns)


def _widen(tensor: torch.Tensor, used: int, width: int) -> torch.Tensor:
    wide = tensor.new_empty((*tensor.shape[:2], width, tensor.shape[3]))
    wide[:, :, :used] = tensor[:, :, :used]
    return wide


class Conversations:
    """Rows of one batch, from their prompts to their ends.

    temperature 0 is greedy. `uniforms` is (rows, at least the most tokens a row may sample) in [0, 1).
    Log-probabilities are those of the distribution sampled from; greedy ones are at temperature 1.
    """

    def __init__(
        self, model: Any, stop_ids: Sequence[int], pad_id: int, temperature: float, uniforms: np.ndarray | None
    ) -> None:
        if temperature > 0 and uniforms is None:
            raise ValueError("sampling needs uniforms, one row per conversation")
        self.model, self.pad_id, self.temperature = model, pad_id, temperature
        self.device = model.device
        self.stop = torch.tensor(sorted(stop_ids), device=self.device)
        self.uniforms = None if uniforms is None else torch.from_numpy(uniforms).to(self.device, torch.float64)
        self.layers = [_GrowingLayer() for _ in range(model.config.num_hidden_layers)]
        self.cache = Cache(layers=self.layers)
        self.rows: list[int] = []
        self.mask = torch.zeros((0, 0), dtype=torch.bool, device=self.device)
        self.position = torch.zeros(0, dtype=torch.long, device=self.device)
        self.drawn = torch.zeros(0, dtype=torch.long, device=self.device)
        self.pending: dict[int, int] = {}

    @torch.inference_mode()
    def turn(self, new: Mapping[int, Sequence[int]], limit: int) -> dict[int, Turn]:
        """Feeds every row its new tokens and lets the model write one turn of at most `limit` tokens.

        `new` maps row -> token ids; all rows are new ones in the first call, and a subset of the last call's rows
        afterwards. Raises ValueError otherwise, and for a row with nothing to feed.
        """
        self._select(list(new))
        fed = [[*([self.pending[r]] if r in self.pending else []), *new[r]] for r in self.rows]
        if any(not ids for ids in fed):
            raise ValueError("a row has no tokens to feed")
        logits = self._feed(*self._left_padded(fed))
        return self._write(logits, limit)

    def _select(self, rows: list[int]) -> None:
        if not self.rows:
            self.rows = rows
            count = len(rows)
            self.mask = torch.zeros((count, 0), dtype=torch.bool, device=self.device)
            self.position = torch.zeros(count, dtype=torch.long, device=self.device)
            self.drawn = torch.zeros(count, dtype=torch.long, device=self.device)
            return
        if unknown := set(rows) - set(self.rows):
            raise ValueError(f"rows {sorted(unknown)} are not part of the last turn")
        index = torch.tensor([self.rows.index(r) for r in rows], device=self.device)
        columns = self.mask[index].any(0).nonzero()[:, 0]
        if len(rows) < len(self.rows) or len(columns) < 0.8 * self.mask.shape[1]:
            for layer in self.layers:
                layer.keep(index, columns)
            self.mask = self.mask[index][:, columns]
            self.position, self.drawn = self.position[index], self.drawn[index]
            self.rows = rows

    def _left_padded(self, fed: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        width = max(len(ids) for ids in fed)
        ids = torch.tensor([[self.pad_id] * (width - len(x)) + x for x in fed], device=self.device)
        real = torch.tensor([[False] * (width - len(x)) + [True] * len(x) for x in fed], device=self.device)
        return ids, real

    def _feed(self, ids: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """Appends ids (B, Q), of which `real` count; returns the last column's logits (B, V) in float32."""
        width = ids.shape[1]
        before = self.mask.shape[1]
        steps = real.cumsum(1)
        positions = (self.position[:, None] + steps - 1).clamp(min=0)
        self.position = self.position + steps[:, -1]
        self.mask = torch.cat([self.mask, real], dim=1)
        allowed = self.mask[:, None, None, :].expand(-1, 1, width, -1)  # (B, 1, Q, T)
        if width > 1:
            causal = torch.ones((width, width), dtype=torch.bool, device=self.device).tril()
            earlier = torch.ones((width, before), dtype=torch.bool, device=self.device)
            # A padding query sees itself, so that its softmax is defined; its output is never used.
            own = torch.cat([torch.zeros_like(earlier), torch.eye(width, dtype=torch.bool, device=self.device)], 1)
            allowed = (allowed & torch.cat([earlier, causal], 1)) | own
        output = self.model(
            input_ids=ids, attention_mask=allowed, position_ids=positions, cache=self.cache, use_cache=True, logits_to_keep=1
        )
        return output.logits[:, -1].float()

    def _write(self, logits: torch.Tensor, limit: int) -> dict[int, Turn]:
        count = len(self.rows)
        going = torch.ones(count, dtype=torch.bool, device=self.device)
        tokens: list[torch.Tensor] = []
        logprobs: list[torch.Tensor] = []
        alive: list[torch.Tensor] = []
        for step in range(limit):
            chosen, logprob = self._sample(logits)
            tokens.append(chosen)
            logprobs.append(logprob)
            alive.append(going)
            self.drawn = self.drawn + going
            going = going & ~torch.isin(chosen, self.stop)
            if step + 1 == limit or not bool(going.any()):
                break
            fed = torch.where(going, chosen, self.pad_id)[:, None]
            logits = self._feed_one(fed, going[:, None])
        return self._turns(torch.stack(tokens, 1), torch.stack(logprobs, 1), torch.stack(alive, 1), going)

    def _feed_one(self, ids: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        logits = self._feed(ids, real)
        return logits

    def _sample(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self.temperature == 0:
            logp = logits.log_softmax(-1)
            chosen = logp.argmax(-1)
        else:
            assert self.uniforms is not None
            logp = (logits / self.temperature).log_softmax(-1)
            rows = torch.tensor(self.rows, device=self.device)
            at = self.uniforms[rows, self.drawn.clamp(max=self.uniforms.shape[1] - 1)]
            cdf = logp.double().exp().cumsum(-1)
            chosen = torch.searchsorted(cdf, (at * cdf[:, -1])[:, None], right=True)[:, 0].clamp(max=logits.shape[-1] - 1)
        return chosen, logp.gather(-1, chosen[:, None])[:, 0]

    def _turns(self, tokens: torch.Tensor, logprobs: torch.Tensor, alive: torch.Tensor, going: torch.Tensor) -> dict[int, Turn]:
        lengths = alive.sum(1).tolist()
        ids, logs, cut = tokens.tolist(), logprobs.tolist(), going.tolist()
        turns = {}
        for index, row in enumerate(self.rows):
            size = lengths[index]
            turns[row] = Turn(ids[index][:size], logs[index][:size], "length" if cut[index] else "stop")
            self.pending[row] = ids[index][size - 1]
        return turns
