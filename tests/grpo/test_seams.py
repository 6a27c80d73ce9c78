"""TRL's and transformers' seams: names, arguments, keys and orders that tasks.grpo stands on and no public API promises.

A failure here after an upgrade says what moved; compare tasks/grpo/trainer.py with the new code before the pin is raised.
"""

from __future__ import annotations

import inspect
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import TrainerCallback, TrainerState
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from tasks.grpo import trainer as module
from tasks.grpo.trainer import Trainer, config
from tasks.grpo.validate import KeepBest
from tests.grpo.made import SAMPLES, TASKS, generate, make, sampled, scored, settings
from tests.policy.made import some_tasks
from tests.policy.project import ROOT

OVERRIDDEN = {
    "_generate_and_score_completions": ["self", "inputs"],
    "_get_per_token_logps_and_entropies": ["self", "model", "input_ids", "attention_mask", "logits_to_keep"],
    "_compute_loss": ["self", "model", "inputs"],
    "log": ["self", "logs", "start_time"],
}
"""The methods of GRPOTrainer that Trainer overrides, with the arguments that it counts on."""

KEYS = {
    "prompt_ids",
    "prompt_mask",
    "completion_ids",
    "completion_mask",
    "advantages",
    "num_items_in_batch",
    "sampling_per_token_logps",
    "tool_mask",
}
"""What a batch holds. A new key must be one that by_length cuts rightly."""


def trainer(folder: Path, **grpo: Any) -> Trainer:
    return make(folder, settings(grpo=grpo), some_tasks(TASKS), scored(sampled(), lambda t: float(t.sample % 2)))


def test_trl_is_the_version_that_was_read_and_is_pinned_to_it() -> None:
    assert version("trl") == "1.16.0"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "trl==1.16.0" in project["dependencies"]
    assert "trl==1.16.0" in (ROOT / "requirements.txt").read_text().splitlines()


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_an_overridden_method_has_the_arguments_that_it_had(name: str) -> None:
    arguments = list(inspect.signature(GRPOTrainer.__dict__[name]).parameters)
    assert arguments[: len(OVERRIDDEN[name])] == OVERRIDDEN[name]
    if name != "_get_per_token_logps_and_entropies":  # handed on whole by the override
        assert arguments == OVERRIDDEN[name]


def test_the_trainer_overrides_these_methods_and_no_others() -> None:
    base = {name for cls in GRPOTrainer.__mro__ for name in cls.__dict__}
    own = {name for name, value in Trainer.__dict__.items() if inspect.isfunction(value)}
    assert own & base == {*OVERRIDDEN, "__init__"}
    assert not {"tasks", "roll", "keep", "patience", "rolled", "drift", "last_logps"} & base, "its own names are not taken"


def test_the_trainer_takes_what_it_is_given() -> None:
    taken = inspect.signature(GRPOTrainer.__init__).parameters
    given = {"model", "reward_funcs", "args", "train_dataset", "processing_class", "callbacks", "optimizers", "rollout_func"}
    assert given <= set(taken)


@pytest.mark.parametrize("missing", ["prompt_ids", "completion_ids", "logprobs"])
def test_a_rollout_without_a_required_key_is_refused(tmp_path: Path, missing: str) -> None:
    made = trainer(tmp_path)
    rollout = made.rollout_func
    made.rollout_func = lambda prompts, trainer: {k: v for k, v in rollout(prompts, trainer).items() if k != missing}
    with pytest.raises(ValueError, match=missing):
        generate(made, some_tasks(TASKS))


def test_the_rollout_is_asked_for_every_sample_of_every_prompt_in_order(tmp_path: Path) -> None:
    asked: list[Any] = []
    inner = scored(sampled(), lambda t: float(t.sample % 2))

    def roll(jobs: Any, step: int) -> Any:
        asked.append((step, [(task.id, sample) for task, sample in jobs]))
        return inner(jobs, step)

    made = make(tmp_path, settings(), some_tasks(TASKS), roll)
    output = made.rollout_func([t.id for t in some_tasks(TASKS) for _ in range(SAMPLES)], made)
    assert asked == [(0, [(t.id, n) for t in some_tasks(TASKS) for n in range(SAMPLES)])]
    assert set(output) == {"prompt_ids", "completion_ids", "logprobs", "env_mask", "total"}
    assert output["env_mask"] == [t.mask for t in sampled()]
    assert output["total"] == [float(t.sample % 2) for t in sampled()]
    assert made.rolled[0] == list(sampled())


def test_a_batch_has_the_keys_that_are_known(tmp_path: Path) -> None:
    assert set(generate(trainer(tmp_path), some_tasks(TASKS))) == KEYS
    assert set(generate(trainer(tmp_path, beta=0.1), some_tasks(TASKS))) == KEYS | {"ref_per_token_logps"}


def test_a_batch_has_rows_everywhere_but_in_its_count(tmp_path: Path) -> None:
    batch = generate(trainer(tmp_path, beta=0.1), some_tasks(TASKS))
    rows = {name: value.shape[0] for name, value in batch.items() if value.dim()}
    assert rows == dict.fromkeys(set(batch) - {"num_items_in_batch"}, TASKS * SAMPLES)
    prompt, completion = batch["prompt_ids"].shape, batch["completion_ids"].shape
    for name, value in batch.items():
        if value.dim() == 2:
            assert value.shape == (prompt if name.startswith("prompt") else completion), name


def test_without_a_mask_the_environments_tokens_would_be_trained_on(tmp_path: Path) -> None:
    made = trainer(tmp_path)
    rollout = made.rollout_func
    made.rollout_func = lambda prompts, trainer: {k: v for k, v in rollout(prompts, trainer).items() if k != "env_mask"}
    assert "tool_mask" not in made._prepare_inputs([{"prompt": t.id} for t in some_tasks(TASKS) for _ in range(SAMPLES)])


def test_log_probabilities_come_first_and_cover_the_completion(tmp_path: Path) -> None:
    made = trainer(tmp_path)
    batch = generate(made, some_tasks(TASKS))
    found = made._get_per_token_logps_and_entropies(
        made.model,
        torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1),
        torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1),
        batch["completion_ids"].shape[1],
        compute_entropy=True,
    )
    assert len(found) == 3
    assert found[0].shape == found[1].shape == batch["completion_ids"].shape
    assert made.last_logps.equal(found[0]) and not made.last_logps.requires_grad


def test_a_step_is_one_generation_and_one_update_of_the_same_policy(tmp_path: Path) -> None:
    for params in (settings(), settings(grpo={"micro_batch": 4}), settings(grpo={"scale": False, "loss": "grpo"})):
        made = config(params, tmp_path)
        assert isinstance(made, GRPOConfig)
        assert made.generation_batch_size == params.grpo.prompts * params.rollout.samples
        assert made.steps_per_generation == made.gradient_accumulation_steps
        assert (made.num_iterations, made.shuffle_dataset, made.mask_truncated_completions) == (1, False, False)
        assert made.scale_rewards == ("group" if params.grpo.scale else "none")
        assert (made.loss_type, made.max_steps) == (params.grpo.loss, params.grpo.steps)


def test_the_hooks_that_keep_the_best_are_transformers_own() -> None:
    for name in ("on_train_begin", "on_step_end"):
        assert list(inspect.signature(getattr(TrainerCallback, name)).parameters)[:4] == ["self", "args", "state", "control"]
        assert name in KeepBest.__dict__


def test_a_checkpoints_state_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[str]] = []
    real = TrainerState.save_to_json

    def save(self: TrainerState, path: str) -> None:
        seen.append({p.name for p in Path(path).parent.iterdir()})
        real(self, path)

    monkeypatch.setattr(TrainerState, "save_to_json", save)
    params = settings(grpo={"steps": 2, "save_steps": 1})
    made = make(tmp_path, params, some_tasks(TASKS), scored(sampled(), lambda t: float(t.sample % 2)))
    made.train()
    for step, files in enumerate(seen, 1):
        assert files | {"trainer_state.json"} == {p.name for p in (tmp_path / f"checkpoint-{step}").iterdir()}
        assert files >= {"model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth"}
    assert len(seen) == 2 and module.last_checkpoint(tmp_path) == tmp_path / "checkpoint-2"


def test_a_steps_figures_are_read_from_trls_own_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept: dict[str, float] = {}
    params = settings(grpo={"steps": 2, "save_steps": 9, "beta": 0.5, "learning_rate": 0.05, "warmup_steps": 0})
    made = make(
        tmp_path,
        params,
        some_tasks(TASKS),
        scored(sampled(), lambda t: float(t.sample % 2)),
        lambda step, rolled, figures: kept.update({f"{name}@{step}": value for name, value in figures.items()}),
    )
    made.train()
    names = ("loss", "grad_norm", "entropy", "kl", "logprob_difference")
    assert set(kept) == {f"{name}@{step}" for name in names for step in (1, 2)}
    assert 0.1 < kept["entropy@1"] < 3.0
    assert abs(kept["kl@1"]) < 1e-6 < 1e-3 < kept["kl@2"], "at first the policy is the one that the KL is measured from"
    # The second step's episodes are those of the policy before the update: the figure tells.
    assert kept["logprob_difference@1"] < 1e-5 < 1e-3 < kept["logprob_difference@2"]
    assert capsys.readouterr().out == "", "the stage prints a health line of its own"
