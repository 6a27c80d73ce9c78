"""Where a model comes from, and how it generates.

    policy = load(folder, params.policy)          # a folder that this pipeline or anybody else saved
    policy.converse(prompts, reply, ...)          # many conversations side by side (tasks.policy.generate)

The `policy` stage (python -m tasks.policy) puts a model of any source into data/policy/model; every later
stage loads folders only.

Left out: the vLLM engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks import params as settings

if TYPE_CHECKING:
    import numpy as np

    from tasks.policy.chat import Chat
    from tasks.policy.generate import Reply


class PolicyError(Exception):
    """A model that cannot be loaded or used; names the folder or package and the remedy."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A model with its chat format. `name` identifies the weights in records."""

    name: str
    model: Any
    chat: Chat
    system: str

    def converse(
        self, prompts: Sequence[Sequence[int]], reply: Reply, limit: int, temperature: float, uniforms: np.ndarray | None
    ) -> None:
        """Runs a batch of conversations to their ends on the transformers engine (tasks.policy.generate.converse)."""
        from tasks.policy.generate import converse

        converse(
            self.model,
            prompts,
            reply,
            stop_ids=self.chat.stop_ids,
            pad_id=self.chat.pad_id,
            limit=limit,
            temperature=temperature,
            uniforms=uniforms,
        )

    def save(self, folder: Path) -> None:
        """Writes model and tokenizer as transformers loads them."""
        self.model.save_pretrained(folder)
        self.chat.tokenizer.save_pretrained(folder)


def load(folder: Path, policy: settings.Policy, device: str = "cpu") -> Policy:
    """The policy in `folder`, in evaluation mode. Raises PolicyError naming what is missing or damaged."""
    from tasks.policy.chat import Chat, ChatError
    from tasks.records import digest_of

    require(folder)
    model, tokenizer = read(str(folder), policy.dtype)
    try:
        chat = Chat(tokenizer)
    except ChatError as error:
        raise PolicyError(f"{folder}: {error}") from error
    weights = next(iter(sorted(folder.glob("*.safetensors"))), folder / "config.json")
    return Policy(f"{policy.source}-{digest_of(weights)}", model.to(device).eval(), chat, policy.system)


def require(folder: Path) -> None:
    """Raises PolicyError when `folder` lacks a model or its tokenizer."""
    if not (folder / "config.json").is_file():
        raise PolicyError(f"{folder}: no model here (no config.json). Run `dvc repro`, or set policy.name to a model's folder.")
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json", "tokenizer.model")):
        raise PolicyError(f"{folder}: has a model but no tokenizer. Save the model's tokenizer into the same folder.")


def quiet() -> None:
    """Turns transformers' progress bars off: one per file of weights, also when saving, hides the stage's own."""
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()


def read(name: str, dtype: str, revision: str | None = None) -> tuple[Any, Any]:
    """(model, tokenizer) of a folder, or of a hub id at `revision`. Raises PolicyError naming the part that fails."""
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer

    quiet()
    remedy = "Check the folder's files." if revision is None else "Check the id, the revision and the network."
    part = "tokenizer"
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, revision=revision)
        part = "model"
        # tasks.policy.generate hands in a mask of its own, which other attention would misread.
        model = AutoModelForCausalLM.from_pretrained(
            name, revision=revision, dtype=getattr(torch, dtype), attn_implementation="sdpa"
        )
    except (OSError, ValueError, SafetensorError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise PolicyError(f"{name}: its {part} cannot be loaded ({reason}). {remedy}") from error
    kinds = set(getattr(model.config, "layer_types", None) or ()) - {"full_attention"}
    if kinds:
        raise PolicyError(
            f"{name}: has layers of {', '.join(sorted(kinds))}; the engine transformers knows full attention only."
        )
    return model, tokenizer
