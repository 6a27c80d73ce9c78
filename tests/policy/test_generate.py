"""Generation with one KV cache over many turns equals a fresh forward pass over the same ids."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from tasks.policy import Policy
from tasks.policy.generate import GROW, Turn, converse
from tests.policy.made import tiny

LIMIT = 12


@dataclass
class Row:
    """One conversation as a caller keeps it: all ids so far, and (position, log-probability) of the model's own."""

    ids: list[int] = field(default_factory=list)
    own: list[tuple[int, float]] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)

    def take(self, turn: Turn) -> None:
        self.own += [(len(self.ids) + i, logprob) for i, logprob in enumerate(turn.logprobs)]
        self.ids += turn.ids
        self.turns.append(turn)


class Biased(torch.nn.Module):
    """The model with something added to some logits: `bias` maps token -> addition."""

    def __init__(self, model: torch.nn.Module, bias: dict[int, float]) -> None:
        super().__init__()
        self.inner, self.config, self.device = model, model.config, model.device
        self.bias = torch.zeros(model.config.vocab_size)
        for token, value in bias.items():
            self.bias[token] = value
        self.rows: list[int] = []

    def forward(self, *args: object, **kwargs: object) -> object:
        self.rows.append(len(kwargs["input_ids"]))  # type: ignore[arg-type]
        output = self.inner(*args, **kwargs)
        output.logits = output.logits + self.bias
        return output


@pytest.fixture(scope="module")
def policy() -> Policy:
    """A random model with large weights: its choices are far from uniform, so that a wrong mask or position shows."""
    policy = tiny(1)
    with torch.no_grad():
        for name, parameter in policy.model.named_parameters():
            parameter.mul_(20.0 if "embed" in name else 5.0 if parameter.dim() > 1 else 1.0)
    return policy


def fresh(model: torch.nn.Module, ids: Sequence[int], temperature: float) -> torch.Tensor:
    """Log-probabilities (T, V) of the token after each position, without cache, batch or padding."""
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([ids])).logits[0].float()
    return (logits / (temperature or 1.0)).log_softmax(-1)


Hear = Callable[[int, int], list[int] | None]
"""(row, number of its turns so far) -> what it hears next, None when it ends."""


def hearing(row: int, turns: int) -> list[int] | None:
    """Row r ends after 1 + r % 5 turns; until then it hears 1, 2 or 30 tokens a turn."""
    rng = random.Random(100 * row + turns)
    return None if turns > row % 5 else [rng.randrange(6, 300) for _ in range(rng.choice((1, 2, 30)))]


def play(
    policy: Policy,
    model: torch.nn.Module,
    prompts: Sequence[Sequence[int]],
    temperature: float,
    uniforms: np.ndarray | None = None,
    hear: Hear = hearing,
    limit: int = LIMIT,
) -> list[Row]:
    """Every row's conversation to its end."""
    rows = [Row(list(p)) for p in prompts]

    def reply(number: int, turn: Turn) -> list[int] | None:
        rows[number].take(turn)
        heard = hear(number, len(rows[number].turns))
        rows[number].ids += heard or []
        return heard

    converse(
        model,
        prompts,
        reply,
        stop_ids=policy.chat.stop_ids,
        pad_id=policy.chat.pad_id,
        limit=limit,
        temperature=temperature,
        uniforms=uniforms,
    )
    return rows


def ragged(count: int, seed: int = 0) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.randrange(6, 300) for _ in range(rng.choice((1, 9, 40)))] for _ in range(count)]


def once(row: int, turns: int) -> None:
    return None


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_cached_generation_over_many_turns_equals_a_fresh_forward_pass(policy: Policy, temperature: float) -> None:
    stop = policy.chat.stop_ids[0]
    model = Biased(policy.model, {stop: 5.0 if temperature else 9.0})
    uniforms = np.random.default_rng(0).random((10, 100)) if temperature else None
    rows = play(policy, model, ragged(10), temperature, uniforms)
    finishes = set()
    for number, row in enumerate(rows):
        assert len(row.turns) == 1 + number % 5
        logp = fresh(model, row.ids, temperature)
        for position, logprob in row.own:
            assert logp[position - 1, row.ids[position]].item() == pytest.approx(logprob, abs=1e-4)
            if not temperature:
                assert row.ids[position] == logp[position - 1].argmax().item()
        for turn in row.turns:
            assert stop not in turn.ids[:-1]
            assert (turn.ids[-1] == stop) == (turn.finish == "stop")
            assert len(turn.ids) == LIMIT or turn.finish == "stop"
            assert len(turn.ids) == len(turn.logprobs) <= LIMIT
            finishes.add(turn.finish)
    assert finishes == {"stop", "length"}, "the case that is tested: some turns stop, some are cut"


def test_sampled_tokens_are_the_inverse_cdf_at_the_rows_uniforms(policy: Policy) -> None:
    model = Biased(policy.model, {policy.chat.stop_ids[0]: 5.0})
    uniforms = np.random.default_rng(5).random((5, 100))
    for number, row in enumerate(play(policy, model, ragged(5, 3), 1.0, uniforms)):
        logp = fresh(model, row.ids, 1.0).double()
        for k, (position, _) in enumerate(row.own):
            cdf = logp[position - 1].exp().cumsum(-1)
            token = row.ids[position]
            below = cdf[token - 1].item() if token else 0.0
            assert below - 1e-5 <= uniforms[number, k] * cdf[-1].item() <= cdf[token].item() + 1e-5


def test_uniforms_at_the_ends_choose_possible_tokens(policy: Policy) -> None:
    ends = np.array([[0.0] * 20, [np.nextafter(1.0, 0.0)] * 20])
    model = Biased(policy.model, {0: -1e4, policy.model.config.vocab_size - 1: -1e4})
    rows = play(policy, model, [[7], [7]], 1.0, ends, once)
    assert [len(r.own) for r in rows] == [LIMIT, LIMIT] or any(t.finish == "stop" for r in rows for t in r.turns)
    assert all(logprob > -50 for row in rows for _, logprob in row.own)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_row_does_not_depend_on_its_neighbours(policy: Policy, temperature: float) -> None:
    model = Biased(policy.model, {policy.chat.stop_ids[0]: 5.0})
    prompts, uniforms = ragged(7, 7), np.random.default_rng(2).random((7, 100))

    def found(numbers: list[int]) -> dict[int, Row]:
        rows = play(
            policy,
            model,
            [prompts[n] for n in numbers],
            temperature,
            uniforms[numbers] if temperature else None,
            lambda row, turns: hearing(numbers[row], turns),
        )
        return dict(zip(numbers, rows, strict=True))

    together = found(list(range(7)))
    for numbers in ([0], [3], [6], [4, 1, 5]):
        for number, row in found(numbers).items():
            assert row.ids == together[number].ids
            assert [t.finish for t in row.turns] == [t.finish for t in together[number].turns]
            for (_, a), (_, b) in zip(row.own, together[number].own, strict=True):
                assert a == pytest.approx(b, abs=1e-5)


def test_rows_that_have_ended_leave_the_batch(policy: Policy) -> None:
    model = Biased(policy.model, {policy.chat.stop_ids[0]: -1e4})
    play(policy, model, ragged(8), 0.0, hear=lambda row, turns: [9] if row == 2 and turns < 4 else None)
    assert model.rows[0] == 8 and model.rows[-1] == 1
    assert model.rows == sorted(model.rows, reverse=True)


def test_a_reply_is_asked_for_once_a_turn_and_in_the_rows_own_order(policy: Policy) -> None:
    asked: list[tuple[int, int]] = []

    def hear(row: int, turns: int) -> list[int] | None:
        asked.append((row, turns))
        return hearing(row, turns)

    play(policy, Biased(policy.model, {policy.chat.stop_ids[0]: 5.0}), ragged(6), 0.0, hear=hear)
    assert len(asked) == len(set(asked)) == sum(1 + row % 5 for row in range(6))
    for row in range(6):
        assert [turns for r, turns in asked if r == row] == list(range(1, 2 + row % 5))


def test_the_stop_token_ends_a_turn_and_the_limit_cuts_it(policy: Policy) -> None:
    stop = policy.chat.stop_ids[0]
    always, never = Biased(policy.model, {stop: 1e4}), Biased(policy.model, {stop: -1e4})
    assert play(policy, always, [[9, 9]], 0.0, hear=once)[0].turns == [Turn([stop], [0.0], "stop")]
    (cut,) = play(policy, never, [[9, 9]], 0.0, hear=once, limit=5)[0].turns
    assert (len(cut.ids), cut.finish) == (5, "length")
    assert play(policy, always, [[9]], 0.0, hear=once, limit=1)[0].turns[0].finish == "stop", "a stop at the very limit"


def test_any_of_several_stop_tokens_ends_a_turn(policy: Policy) -> None:
    turns: list[Turn] = []
    model = Biased(policy.model, {77: 1e4})
    converse(
        model,
        [[9]],
        lambda row, turn: turns.append(turn),
        stop_ids=[2, 77],
        pad_id=0,
        limit=5,
        temperature=0.0,
        uniforms=None,
    )
    assert [t.ids for t in turns] == [[77]]


def test_a_cache_that_grows_past_its_spare_columns_stays_right(policy: Policy) -> None:
    model = Biased(policy.model, {policy.chat.stop_ids[0]: -1e4})
    rows = play(policy, model, ragged(2, 5), 0.0, hear=lambda r, turns: [8] * 60 if turns <= r else None, limit=GROW)
    for row in rows:
        logp = fresh(model, row.ids, 0.0)
        for position, logprob in row.own:
            assert logp[position - 1, row.ids[position]].item() == pytest.approx(logprob, abs=1e-4)


def test_uses_that_would_go_wrong_are_refused(policy: Policy) -> None:
    with pytest.raises(ValueError, match="sampling needs uniforms"):
        policy.converse([[5]], lambda row, turn: None, 4, 1.0, None)
    with pytest.raises(ValueError, match="needs a prompt"):
        policy.converse([[5], []], lambda row, turn: None, 4, 0.0, None)
