"""Where a model comes from, and how it generates.

    policy = load(folder, params.policy)          # a folder that this pipeline or anybody else saved
    policy.converse(temperature, uniforms)        # many conversations side by side (tasks.policy.generate)

The `policy` stage (python -m tasks.policy) puts a model of any source into data/policy/model; every later
stage loads folders only.

Left out: the vLLM engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks import params as settings

if TYPE_CHECKING:
    import numpy as np

    from tasks.policy.chat import Chat
    from tasks.policy.generate import Conversations


class PolicyError(Exception):
    """A model that cannot be loaded or used; names the folder or package and the remedy."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A model with its chat format. `name` identifies the weights in records."""

    name: str
    model: Any
    chat: Chat
    system: str

    def converse(self, temperature: float, uniforms: np.ndarray | None) -> Conversations:
        """Opens a batch of conversations on the transformers engine."""
        from tasks.policy.generate import Conversations

        return Conversations(self.model, self.chat.stop_ids, self.chat.pad_id, temperature, uniforms)

    def save(self, folder: Path) -> None:
        """Writes model and tokenizer as transformers loads them."""
        self.model.save_pretrained(folder)
        self.chat.tokenizer.save_pretrained(folder)


def load(folder: Path, policy: settings.Policy, device: str = "cpu") -> Policy:
    """The policy in `folder`, in evaluation mode. Raises PolicyError naming what is missing."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tasks.policy.chat import Chat, ChatError
    from tasks.records import digest_of

    if not (folder / "config.json").is_file():
        raise PolicyError(f"{folder}: no model here (no config.json). Run `dvc repro`, or set policy.name to a model's folder.")
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json", "tokenizer.model")):
        raise PolicyError(f"{folder}: has a model but no tokenizer. Save the model's tokenizer into the same folder.")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, policy.dtype)).to(device).eval()
    try:
        chat = Chat(tokenizer)
    except ChatError as error:
        raise PolicyError(f"{folder}: {error}") from error
    weights = next(iter(sorted(folder.glob("*.safetensors"))), folder / "config.json")
    return Policy(f"{policy.source}-{digest_of(weights)}", model, chat, policy.system)
