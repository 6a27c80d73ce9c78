"""The embedded policy: a tokenizer built from the tasks and a small Llama-shaped decoder. No download.

The tokenizer is made for copying, which is what a tool-using model of under a million parameters must learn:
a word that many tasks use (a tool, a parameter, a common English word) is one token; anything else (names,
identifiers) is cut into pieces of one or two letters and single digits, the same pieces wherever it stands. So a
name that no training task holds is spelled with pieces that training holds in plenty.

Left out: languages other than those of the training texts; other bytes cost one token each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tasks.params import Scratch
from tasks.policy.template import ASSISTANT, END, PAD, SPECIAL, TEMPLATE
from tasks.records import ToolSpec

SCAFFOLD = (
    '<tool_call>{"name": "',
    '", "arguments": {',
    '", "arguments": {"',
    "}}</tool_call>",
    '"}}</tool_call>',
    "Answer: ",
    'Answer: "',
)
"""Strings that every call repeats, one token each."""

WORD = re.compile(r"[A-Za-z]+")


def build_tokenizer(settings: Scratch, texts: Sequence[str], specs: Iterable[ToolSpec]) -> Any:
    """A PreTrainedTokenizerFast from rendered training texts and the catalogue.

    Pieces: bytes, frequent one- and two-letter pieces of words, the scaffold of calls, every tool and
    parameter name with its JSON quoting, and the most frequent words up to settings.vocabulary.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    pieces = pre_tokenizers.Split(Regex(r"[A-Za-z][a-z]?|[0-9]|[^A-Za-z0-9]"), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pieces, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    room = max(512, settings.vocabulary // 2)
    trainer = trainers.BpeTrainer(
        vocab_size=room,
        min_frequency=2,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    whole = list(dict.fromkeys([*SCAFFOLD, *_quoted(specs, texts), *_common(texts)]))
    whole = [w for w in whole if tokenizer.token_to_id(w) is None][: settings.vocabulary - tokenizer.get_vocab_size()]
    tokenizer.add_tokens([AddedToken(w, normalized=False, single_word=bool(WORD.fullmatch(w))) for w in whole])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        model_max_length=settings.context,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = TEMPLATE
    return fast


def _quoted(specs: Iterable[ToolSpec], texts: Sequence[str]) -> list[str]:
    """Tool names, and JSON keys with the punctuation around them, most frequent first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(re.findall(r'(?:", |, |\{|)"[A-Za-z_]+": ?(?:"|)', text))
        counts.update(re.findall(r'(?:",|,|\{|)"[A-Za-z_]+":(?:"|)', text))
        counts.update(re.findall(r"[a-z]+_(?=[0-9])", text))
    names = [spec.name for spec in specs]
    parameters = [p for spec in specs for p in spec.input_schema.get("properties", {}) if "_" in p]
    least = max(3, len(texts) // 400)
    return [*names, *dict.fromkeys(parameters), *[k for k, n in counts.most_common() if n >= least]]


def _common(texts: Sequence[str]) -> list[str]:
    """Words of three letters or more that at least one text in 250 holds, most frequent first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update({w for w in WORD.findall(text) if len(w) > 2})
    least = max(3, len(texts) // 250)
    return [word for word, n in counts.most_common() if n >= least]


def build_model(settings: Scratch, tokenizer: Any, seed: int) -> Any:
    """A LlamaForCausalLM with random weights from `seed`, embeddings tied."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=settings.hidden,
        intermediate_size=settings.intermediate,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.kv_heads,
        max_position_embeddings=settings.context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.convert_tokens_to_ids(END),
        pad_token_id=tokenizer.convert_tokens_to_ids(PAD),
    )
    return LlamaForCausalLM(config)


__all__ = ["ASSISTANT", "build_model", "build_tokenizer"]
