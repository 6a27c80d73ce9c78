"""One update: TRL's tensors hold our tokens, what the environment wrote carries no loss, and parts of a batch add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from trl.trainer.grpo_trainer import GRPOTrainer

from tasks.grpo import trainer as module
from tasks.grpo.trainer import Trainer, by_length
from tasks.records import Trajectory
from tests.grpo.made import SAMPLES, TASKS, generate, gradients, make, sampled, scored, settings
from tests.policy.made import some_tasks

TOTALS = (0.0, 1.0, 0.5, 0.0)


def total(trajectory: Trajectory) -> float:
    return TOTALS[trajectory.sample]


def one(folder: Path, **grpo: Any) -> tuple[Trainer, dict[str, Any]]:
    """A trainer and a batch of TASKS groups of sampled episodes."""
    made = make(folder, settings(grpo=grpo), some_tasks(TASKS), scored(sampled(grpo.get("temperature", 1.0)), total))
    return made, generate(made, some_tasks(TASKS))


def test_the_sampled_episodes_hold_what_the_tests_need() -> None:
    assert len(sampled()) == TASKS * SAMPLES > module.CHUNK, "more than one part"
    assert sum(0 in t.mask for t in sampled()) > 8, "the environment wrote something"
    assert len({len(t.completion_ids) for t in sampled()}) > 5
    assert len({len(t.prompt_ids) for t in sampled()}) > 2


def test_trl_trains_on_the_tokens_that_were_sampled(tmp_path: Path) -> None:
    _, batch = one(tmp_path)
    width, length = batch["prompt_ids"].shape[1], batch["completion_ids"].shape[1]
    for row, t in enumerate(sampled()):
        prompt, size = len(t.prompt_ids), len(t.completion_ids)
        assert batch["prompt_ids"][row, width - prompt :].tolist() == t.prompt_ids
        assert batch["prompt_mask"][row].tolist() == [0] * (width - prompt) + [1] * prompt
        assert batch["completion_ids"][row, :size].tolist() == t.completion_ids
        assert batch["completion_mask"][row].tolist() == [1] * size + [0] * (length - size)
        assert batch["tool_mask"][row, :size].tolist() == t.mask
        assert batch["sampling_per_token_logps"][row, :size].tolist() == pytest.approx(t.logprobs, abs=1e-6)
    assert batch["num_items_in_batch"].item() == sum(sum(t.mask) for t in sampled())


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_sampled_log_probabilities_are_the_trainers(tmp_path: Path, temperature: float) -> None:
    made, batch = one(tmp_path, temperature=temperature)
    logps, _, _ = made._get_per_token_logps_and_entropies(
        made.model,
        torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1),
        torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1),
        batch["completion_ids"].shape[1],
    )
    own = (batch["completion_mask"] * batch["tool_mask"]).bool()
    assert (logps - batch["sampling_per_token_logps"])[own].abs().max() <= 1e-4
    made._compute_loss(made.model, batch)
    assert max(made.drift) <= 1e-5, "and the figure that is logged says so"


def test_the_logged_difference_is_that_of_the_models_own_tokens(tmp_path: Path) -> None:
    made, batch = one(tmp_path)
    shifted = batch["sampling_per_token_logps"] + 0.25 * batch["tool_mask"] + 99.0 * (1 - batch["tool_mask"])
    made._compute_loss(made.model, batch | {"sampling_per_token_logps": shifted})
    assert made.drift == pytest.approx([0.25] * len(made.drift), abs=1e-5) and made.drift


def test_what_the_environment_wrote_gets_no_gradient(tmp_path: Path) -> None:
    made, batch = one(tmp_path)
    states: list[torch.Tensor] = []

    def catch(_: Any, __: Any, output: Any) -> None:
        output.last_hidden_state.retain_grad()
        states.append(output.last_hidden_state)

    handle = made.model.model.register_forward_hook(catch)
    parts = by_length(batch, module.CHUNK)
    made._compute_loss(made.model, batch).backward()
    handle.remove()
    assert len(states) == len(parts) == 2
    silent = 0
    for part, state in zip(parts, states, strict=True):
        # The last hidden state at a position feeds the logits of the next token and nothing else.
        moved = (state.grad != 0).any(-1)[:, :-1]
        own = torch.cat([torch.zeros_like(part["prompt_mask"]), part["completion_mask"] * part["tool_mask"]], 1)[:, 1:]
        expected = own.bool() & (part["advantages"] != 0)[:, None]
        assert torch.equal(moved, expected)
        silent += int((part["completion_mask"] * (1 - part["tool_mask"])).sum())
    assert silent == sum(t.mask.count(0) for t in sampled()) > 0


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_the_gradient_is_that_of_the_policy_gradient_by_hand(tmp_path: Path, temperature: float) -> None:
    made, batch = one(tmp_path, temperature=temperature)
    found = gradients(made.model, made._compute_loss(made.model, batch))
    loss = torch.zeros(())
    episodes = sampled(temperature)
    for t, advantage in zip(episodes, batch["advantages"], strict=True):
        ids = torch.tensor([t.prompt_ids + t.completion_ids])
        logits = made.model(input_ids=ids).logits[0, len(t.prompt_ids) - 1 : -1] / temperature
        logp = logits.log_softmax(-1).gather(-1, ids[0, len(t.prompt_ids) :, None])[:, 0]
        loss = loss - advantage * (logp * torch.tensor(t.mask)).sum()
    expected = gradients(made.model, loss / sum(sum(t.mask) for t in episodes))
    for name, gradient in expected.items():
        assert torch.allclose(found[name], gradient, atol=1e-6, rtol=1e-3), name
    assert max(g.abs().max() for g in expected.values()) > 1e-3, "there is a gradient to compare"


@pytest.mark.parametrize(("chunk", "beta"), [(1, 0.0), (5, 0.3), (12, 0.0), (12, 0.3), (99, 0.0)])
def test_parts_of_a_batch_add_up_to_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, beta: float) -> None:
    made, batch = one(tmp_path, loss="dapo", beta=beta)
    if beta:
        batch["ref_per_token_logps"] = batch["ref_per_token_logps"] - 0.3  # so that the KL has a gradient
    whole = GRPOTrainer._compute_loss(made, made.model, batch)
    expected = gradients(made.model, whole)
    monkeypatch.setattr(module, "CHUNK", chunk)
    loss = made._compute_loss(made.model, batch)
    assert loss.item() == pytest.approx(whole.item(), abs=1e-6)
    for name, gradient in gradients(made.model, loss).items():
        assert torch.allclose(gradient, expected[name], atol=1e-6, rtol=1e-5), name
    assert max(g.abs().max() for g in expected.values()) > 1e-3


@pytest.mark.parametrize("loss", ["grpo", "bnpo", "dr_grpo"])
def test_a_loss_that_is_no_sum_over_parts_is_trls_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: str) -> None:
    made, batch = one(tmp_path, loss=loss)
    whole = GRPOTrainer._compute_loss(made, made.model, batch)
    expected = gradients(made.model, whole)
    monkeypatch.setattr(module, "CHUNK", 5)
    found = made._compute_loss(made.model, batch)
    assert len(made.drift) == 1, "the batch goes through in one piece"
    assert found.item() == whole.item()
    assert all(torch.equal(gradient, expected[name]) for name, gradient in gradients(made.model, found).items())


def test_a_batch_is_cut_by_length_and_only_padding_is_dropped(tmp_path: Path) -> None:
    _, batch = one(tmp_path)
    parts = by_length(batch, 5)
    assert [len(p["advantages"]) for p in parts] == [5, 5, 5, 1]
    rows, lengths = [], []
    for part in parts:
        assert {n: p.shape for n, p in part.items() if n.startswith("prompt")}.keys() == {"prompt_ids", "prompt_mask"}
        assert (part["prompt_mask"][:, 0] == 1).any() and (part["completion_mask"][:, -1] == 1).any(), "no empty column"
        assert part["num_items_in_batch"] is batch["num_items_in_batch"], "what belongs to the whole batch stays"
        for row in range(len(part["advantages"])):
            there = part["completion_mask"][row].bool()
            prompt = part["prompt_ids"][row][part["prompt_mask"][row].bool()]
            columns = (part[n][row][there] for n in ("completion_ids", "tool_mask", "sampling_per_token_logps"))
            rows.append((prompt.tolist(), *(c.tolist() for c in columns), part["advantages"][row].item()))
            lengths.append(len(prompt) + int(there.sum()))
    advantages = batch["advantages"].tolist()
    given = [
        (t.prompt_ids, t.completion_ids, t.mask, torch.tensor(t.logprobs).tolist(), a)
        for t, a in zip(sampled(), advantages, strict=True)
    ]
    assert sorted(rows) == sorted(given), "every row once, with all its own tokens"
    assert lengths == sorted(lengths)


@pytest.mark.parametrize("micro_batch", [4, 8])
def test_an_update_does_not_depend_on_the_micro_batch(tmp_path: Path, micro_batch: int) -> None:
    norms = []
    for size in (micro_batch, TASKS * SAMPLES):
        kept: list[float] = []
        made = make(
            tmp_path,
            settings(grpo={"micro_batch": size, "steps": 1, "save_steps": 9}),
            some_tasks(TASKS),
            scored(sampled(), total),
            lambda step, rolled, figures, kept=kept: kept.extend((figures["grad_norm"], figures["logprob_difference"])),
        )
        made.train()
        norms.append(kept)
    assert norms[0] == pytest.approx(norms[1], rel=1e-4, abs=1e-6) and norms[1][0] > 0.01
