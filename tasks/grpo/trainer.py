"""The GRPO update: a thin subclass of TRL's GRPOTrainer, fed by our own episodes and rewards.

TRL (pinned exactly) is used on these seams, and a test fails loudly when one moves:
- `rollout_func(prompts, trainer)` returns our token ids, log-probabilities, mask (`env_mask`) and one reward per
  completion; the dataset's `prompt` column is the task's id.
- `_generate_and_score_completions` is wrapped, to silence groups of one total and to stop a run that cannot learn.
- `_get_per_token_logps_and_entropies` is wrapped, to log how far the trainer's log-probabilities are from the sampler's.

A Score that is no score (abstention, error) reaches TRL as None: it takes no part in its group's statistics
and its advantage is exactly 0.

Left out: step-wise advantages, LoRA, several processes.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import PrinterCallback
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from tasks.params import Params
from tasks.records import Score, Task, Trajectory
from tasks.seeds import stream

Rolled = tuple[list[Trajectory], list[Score]]
Roll = Callable[[Sequence[tuple[Task, int]], int], Rolled]
"""(jobs, optimisation step) -> trajectories and scores, in order."""


class NoSignalError(Exception):
    """A training run without any learning signal; the message says which cause."""


@dataclass(slots=True)
class Patience:
    """Counts optimisation steps without a learning signal in a row."""

    limit: int = 8
    dry: int = 0

    def see(self, advantages: torch.Tensor, scores: Sequence[Score], trajectories: Sequence[Trajectory]) -> None:
        """Raises NoSignalError when a batch holds no score at all, or after `limit` batches of zero advantages."""
        if not any(score.kind == "score" for score in scores):
            kinds = dict(Counter(score.kind for score in scores))
            reason = next((r for s in scores for r in s.reasons), "no reason given")
            raise NoSignalError(f"no episode of this step could be scored ({kinds}); the first reason: {reason}")
        self.dry = 0 if bool((advantages != 0).any()) else self.dry + 1
        if self.dry >= self.limit:
            cut = sum(t.finish_reason == "length" for t in trajectories) / len(trajectories)
            cause = (
                f"{cut:.0%} of the episodes were cut by the length limit: raise rollout.limits"
                if cut > 0.9
                else "every group has one total: choose prompts of middling difficulty (run `reward` again), or another recipe"
            )
            raise NoSignalError(f"{self.dry} steps in a row gave no learning signal; {cause}")


def config(params: Params, output: Path) -> GRPOConfig:
    """TRL's settings for params.grpo; one update per batch of rollouts."""
    settings, cpu = params.grpo, params.runtime.device == "cpu"
    sequences = settings.prompts * params.rollout.samples
    return GRPOConfig(
        output_dir=str(output),
        max_steps=settings.steps,
        per_device_train_batch_size=settings.micro_batch,
        gradient_accumulation_steps=sequences // settings.micro_batch,
        num_generations=params.rollout.samples,
        num_iterations=1,
        shuffle_dataset=False,
        max_completion_length=params.rollout.limits.total_tokens,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=settings.warmup_steps,
        adam_beta2=0.99,
        weight_decay=0.0,
        max_grad_norm=settings.clip,
        loss_type=settings.loss,
        scale_rewards="group" if settings.scale else "none",
        beta=settings.beta,
        epsilon=settings.epsilon,
        temperature=settings.temperature,
        mask_truncated_completions=False,
        save_strategy="steps",
        save_steps=settings.save_steps,
        save_total_limit=2,
        logging_steps=1,
        seed=params.seed,
        data_seed=params.seed,
        use_cpu=cpu,
        bf16=False,
        gradient_checkpointing=False,
        dataloader_pin_memory=False,
        report_to=[],
        disable_tqdm=True,
        log_completions=False,
    )


def optimizer(model: Any, params: Params) -> torch.optim.AdamW:
    """AdamW in two groups: the decoder's last norm, whose rate is grpo.final_norm_factor times as high, and the rest.

    What a sampled policy has to learn first is how sure to be, and that gain is where it is written: it scales the logits.
    Adam moves every weight by about its rate, which for a small model's matrices (weights of 0.02) is per cents a step and
    for a gain (weights above 1) is nothing. Other gains and biases at a high rate wreck the model (docs/lab.md).
    """
    settings = params.grpo
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    groups = [
        {"params": [p for name, p in trained if not is_final_norm(name, p)], "lr": settings.learning_rate},
        {
            "params": [p for name, p in trained if is_final_norm(name, p)],
            "lr": settings.learning_rate * settings.final_norm_factor,
        },
    ]
    return torch.optim.AdamW([g for g in groups if g["params"]], lr=settings.learning_rate, betas=(0.9, 0.99), weight_decay=0.0)


def is_final_norm(name: str, parameter: torch.Tensor) -> bool:
    """Whether a parameter belongs to the norm between the last layer and the head: one dimension, outside numbered layers."""
    parts = name.split(".")
    return parameter.dim() == 1 and not any(part.isdigit() for part in parts) and "head" not in parts[0]


def dataset(tasks: Sequence[Task], params: Params) -> Dataset:
    """The prompts of every step in order, as TRL takes them: each names its task.

    The tasks are gone through in one random order after another, each step taking grpo.prompts of an order (what is
    left at its end waits for the next one). The list is written out because TRL's own shuffling starts again from its
    first order when a run is continued.
    """
    ids, settings = [task.id for task in tasks], params.grpo
    per_order = len(ids) // settings.prompts
    orders = [stream(params.seed, "prompts", n).sample(ids, len(ids)) for n in range(-(-settings.steps // per_order))]
    chosen = [each for order in orders for each in order[: per_order * settings.prompts]]
    return Dataset.from_list([{"prompt": each} for each in chosen[: settings.steps * settings.prompts]])


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint under `folder` that is complete: its state is written last, and a kill may come before."""
    found = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]), reverse=True)
    return next((path for path in found if _is_complete(path)), None)


def _is_complete(checkpoint: Path) -> bool:
    state = checkpoint / "trainer_state.json"
    if not state.is_file():
        return False
    try:
        json.loads(state.read_bytes())
    except ValueError:  # cut in the middle
        return False
    return True


def silence(advantages: torch.Tensor, scores: Sequence[Score]) -> torch.Tensor:
    """The advantages (B,) with exactly 0 for every episode of a group that has one total only.

    TRL subtracts the mean in float32, which leaves a rounding error there that the division by a tiny deviation blows up.
    """
    totals: dict[str, set[float]] = defaultdict(set)
    for score in scores:
        if score.total is not None:
            totals[score.task_id].add(score.total)
    signal = torch.tensor([len(totals[score.task_id]) > 1 for score in scores], device=advantages.device)
    return torch.where(signal, advantages, 0.0)


CHUNK = 12
"""Sequences that go through the model side by side in an update."""


def by_length(inputs: Mapping[str, Any], size: int) -> list[dict[str, Any]]:
    """A batch (B, ...) as parts of at most `size` rows of similar length, the columns that only pad cut off.

    TRL pads every sequence to the longest prompt and the longest completion of the whole batch; with episodes of one to
    six calls that is three quarters padding.
    """
    prompts, completions = inputs["prompt_mask"].sum(1), inputs["completion_mask"].sum(1)
    order = torch.argsort(prompts + completions, stable=True)
    parts = []
    for rows in (order[i : i + size] for i in range(0, len(order), size)):
        width, length = int(prompts[rows].max()), int(completions[rows].max())
        part = dict(inputs)
        for name, value in inputs.items():
            if not isinstance(value, torch.Tensor) or value.dim() == 0:
                continue
            part[name] = value[rows]
            if value.dim() == 2:
                part[name] = part[name][:, -width:] if name in ("prompt_ids", "prompt_mask") else part[name][:, :length]
        parts.append(part)
    return parts


class Trainer(GRPOTrainer):
    """GRPOTrainer over our episodes. `roll` samples and scores; `keep` gets each step's rollouts."""

    def __init__(
        self, tasks: Mapping[str, Task], roll: Roll, keep: Callable[[int, Rolled, Mapping[str, float]], None], **kwargs: Any
    ) -> None:
        self.tasks, self.roll, self.keep = tasks, roll, keep
        self.patience = Patience()
        self.rolled: Rolled = ([], [])
        self.drift: list[float] = []
        super().__init__(reward_funcs=[_total], rollout_func=_rollout, **kwargs)
        self.remove_callback(PrinterCallback)  # the stage has a health line of its own per step

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        trajectories, scores = self.rolled
        output["advantages"] = silence(output["advantages"], scores)
        self.patience.see(output["advantages"], scores, trajectories)
        return output

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        found = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        self.last_logps = found[0].detach()
        return found

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        # Only the token mean over the whole batch (dapo) is a sum over any parts of it.
        parts = by_length(inputs, CHUNK) if self.loss_type == "dapo" else [inputs]
        return sum(self._part_loss(model, part) for part in parts)

    def _part_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        loss = super()._compute_loss(model, inputs)  # type: ignore[no-untyped-call]
        mask = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
        difference = (self.last_logps - inputs["sampling_per_token_logps"]).abs()[mask]
        self.drift.append(float(difference.mean()) if difference.numel() else 0.0)
        return loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Hands a step's rollouts and figures on; TRL's own log keeps the rest."""
        if "loss" in logs and self.rolled[0]:
            own = {name: sum(values) / len(values) for name, values in self._metrics["train"].items() if values}
            figures = {
                "loss": logs["loss"],
                "grad_norm": float(logs.get("grad_norm", math.nan)),
                "entropy": float(own.get("entropy", math.nan)),
                "kl": float(own.get("kl", 0.0)),
                "logprob_difference": sum(self.drift) / max(1, len(self.drift)),
            }
            self.keep(self.state.global_step, self.rolled, figures)
            self.drift, self.rolled = [], ([], [])
        super().log(logs, start_time)


def _rollout(prompts: list[str], trainer: GRPOTrainer) -> dict[str, Any]:
    """TRL's rollout_func: `prompts` are task ids, each repeated once per sample of its group."""
    assert isinstance(trainer, Trainer)
    seen: Counter[str] = Counter()
    jobs = []
    for prompt in prompts:
        jobs.append((trainer.tasks[prompt], seen[prompt]))
        seen[prompt] += 1
    trajectories, scores = trainer.rolled = trainer.roll(jobs, trainer.state.global_step)
    return {
        "prompt_ids": [t.prompt_ids for t in trajectories],
        "completion_ids": [t.completion_ids for t in trajectories],
        "logprobs": [t.logprobs for t in trajectories],
        "env_mask": [t.mask for t in trajectories],
        "total": [s.total for s in scores],
    }


def _total(total: list[float | None], **_: Any) -> list[float | None]:
    """TRL's reward function: what the rollout already scored."""
    return total
