"""Around the trainer: optimizer groups, the order of prompts, the checkpoint that a run continues from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tasks.grpo.trainer import dataset, last_checkpoint, optimizer
from tests.grpo.made import TASKS, make, sampled, scored, settings
from tests.policy.made import some_tasks, tiny, trained


def grouped(made: Any, model: Any) -> dict[str, float]:
    """The learning rate of every parameter that the optimizer moves."""
    names = {id(p): name for name, p in model.named_parameters()}
    listed = [names[id(p)] for group in made.param_groups for p in group["params"]]
    assert len(listed) == len(set(listed)), "no parameter is in two groups"
    return {names[id(p)]: group["lr"] for group in made.param_groups for p in group["params"]}


@pytest.mark.parametrize("factor", [50.0, 1.0, 0.25])
def test_the_last_norm_learns_at_a_rate_of_its_own(factor: float) -> None:
    model = tiny().model
    rates = grouped(optimizer(model, settings(grpo={"final_norm_factor": factor, "learning_rate": 1e-3})), model)
    assert set(rates) == {name for name, _ in model.named_parameters()}, "every parameter is in a group"
    for name, _ in model.named_parameters():
        assert rates[name] == pytest.approx(1e-3 * factor if name == "model.norm.weight" else 1e-3), name
    assert any("bias" in n for n in rates) and any("norm" in n for n in rates) and any("embed" in n for n in rates)


def test_a_parameter_that_is_frozen_is_in_no_group() -> None:
    model = tiny().model
    frozen = {name for name, p in model.named_parameters() if "mlp" in name or "norm" in name}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
    found = grouped(optimizer(model, settings()), model)
    assert set(found) == {name for name, _ in model.named_parameters()} - frozen and frozen


def test_a_model_of_matrices_only_has_one_group() -> None:
    model = torch.nn.Linear(3, 2, bias=False)
    (group,) = optimizer(model, settings()).param_groups
    assert group["params"] == [model.weight]


def test_an_update_moves_the_last_norm_by_the_factor_and_the_schedule_keeps_it(tmp_path: Path) -> None:
    params = settings(
        grpo={"final_norm_factor": 8.0, "learning_rate": 1e-4, "warmup_steps": 2, "steps": 3, "save_steps": 9, "clip": 1e9}
    )
    policy = trained()
    before = {name: p.detach().clone() for name, p in policy.model.named_parameters()}
    rates: list[list[float]] = []
    made = make(
        tmp_path,
        params,
        some_tasks(TASKS),
        scored(sampled(), lambda t: float(t.sample % 2)),
        lambda step, rolled, figures: rates.append([g["lr"] for g in made.optimizer.param_groups]),
        policy=policy,
    )
    made.train()
    assert [pair[1] / pair[0] for pair in rates] == pytest.approx([8.0] * 3)
    assert [pair[0] for pair in rates] == pytest.approx([0.5e-4, 1e-4, 1e-4]), "the rate of the next step"
    moved = {name: float((p.detach() - before[name]).abs().max()) for name, p in policy.model.named_parameters()}
    # Adam's first two moves are of one rate at most each: half a rate and a whole one.
    for name in before:
        limit = 1.5e-4 * (8.0 if name == "model.norm.weight" else 1.0)
        assert moved[name] <= 1.01 * limit and (moved[name] > 0.1 * limit), name


def test_every_step_has_its_prompts_and_none_twice() -> None:
    params = settings(grpo={"steps": 7, "prompts": 4, "micro_batch": 16})
    prompts = dataset(some_tasks(9), params)["prompt"]
    steps = [prompts[i : i + 4] for i in range(0, len(prompts), 4)]
    assert len(steps) == 7 and all(len(set(step)) == 4 for step in steps)
    for first, second in zip(steps[0::2], steps[1::2], strict=False):
        assert not set(first) & set(second), "an order is gone through before the next one begins"
    assert {each for step in steps for each in step} <= {t.id for t in some_tasks(9)}
    assert len({tuple(step) for step in steps}) == 7


def test_the_order_of_prompts_follows_from_the_seed_and_longer_runs_begin_alike() -> None:
    def order(steps: int, seed: int = 3) -> list[str]:
        changed = settings(grpo={"steps": steps}).model_copy(update={"seed": seed})
        return list(dataset(some_tasks(10), changed)["prompt"])

    assert order(12)[: 5 * TASKS] == order(5) == order(5)
    assert order(5) != order(5, seed=4)


def checkpoint(folder: Path, step: int, state: str | None = '{"global_step": 1}') -> Path:
    made = folder / f"checkpoint-{step}"
    made.mkdir(parents=True)
    (made / "model.safetensors").write_bytes(b"weights")
    if state is not None:
        (made / "trainer_state.json").write_text(state)
    return made


def test_the_newest_complete_checkpoint_is_continued_from(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path / "nothing") is None
    assert last_checkpoint(tmp_path) is None
    nine, ten = checkpoint(tmp_path, 9), checkpoint(tmp_path, 10)
    assert last_checkpoint(tmp_path) == ten, "by number, not by name"
    checkpoint(tmp_path, 11, state=None)
    checkpoint(tmp_path, 12, state='{"global_step": 1')
    checkpoint(tmp_path, 13, state="")
    assert last_checkpoint(tmp_path) == ten, "a kill leaves checkpoints that are not complete"
    (ten / "trainer_state.json").unlink()
    assert last_checkpoint(tmp_path) == nine
