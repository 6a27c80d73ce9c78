"""The embedded policy: a tokenizer built from the tasks and a small Llama-shaped decoder. No download.

The tokenizer is made for copying, which is what a tool-using model of a million parameters must learn. A word of the
language of requests (a tool, a parameter, a common English word, with the space after it) and a piece of JSON around
a key are one token each; anything that stands for an entity (names, identifiers, dates) is cut into pieces of one or
two letters or digits, the same pieces wherever it stands. So a name that no training task holds is spelled with
pieces that training holds in plenty. Text is cut by longest match (WordPiece without a continuation mark), over bytes,
so that decoding is exact.

Left out: languages other than those of the training texts; other bytes cost one token each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tasks.params import Scratch
from tasks.policy.template import END, PAD, SPECIAL, TEMPLATE
from tasks.records import ToolSpec

PIECE = re.compile(
    r'<tool_call>\{"name": "'  # a call opens
    r'|"?\}{0,16}</tool_call>'  # and closes
    r'|[",{}\[\] ]{0,16}"[A-Za-z_]{1,64}":\s?"?'  # a key, with the punctuation of JSON around it
    r"|[A-Za-z]{1,64}(?:_[A-Za-z]{1,64}){0,8}_? ?"  # a word or an identifier's prefix, with the space after it
    r"|[0-9]{1,2}"
    r"|[^A-Za-z0-9]"
)
"""Tokens never cross the borders of these pieces. Their length is bounded, because longest match is quadratic in it."""

WORD = re.compile(r"[A-Za-z]+ ?")
STRING = re.compile(r':\s?"([^"]*)"')
PAIR = re.compile(r"[A-Za-z][a-z]")


def build_tokenizer(settings: Scratch, texts: Sequence[str], specs: Iterable[ToolSpec]) -> Any:
    """A PreTrainedTokenizerFast of at most settings.vocabulary tokens.

    `texts` are rendered training tasks, the request on the first line; `specs` is the catalogue.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    whole = [*_alphabet(), *_names(specs), *_frequent(texts)]
    tokens = list(dict.fromkeys([*SPECIAL, *(w.replace(" ", "\u0120") for w in whole)]))[: settings.vocabulary]
    model = models.WordPiece(
        {token: number for number, token in enumerate(tokens)},
        unk_token=PAD,
        continuing_subword_prefix="",
        max_input_chars_per_word=4096,
    )
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECE.pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(SPECIAL))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        model_max_length=settings.context,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = TEMPLATE
    return fast


def _alphabet() -> list[str]:
    """Every byte (as ByteLevel writes it), and every pair of digits."""
    from tokenizers import pre_tokenizers

    return [*sorted(pre_tokenizers.ByteLevel.alphabet()), *(f"{n:02d}" for n in range(100))]


def _names(specs: Iterable[ToolSpec]) -> list[str]:
    """Tool names, parameter names and enum values, and the words that end an episode."""
    listed = list(specs)
    parameters = {n: p for s in listed for n, p in s.input_schema.get("properties", {}).items()}
    enums = [v for p in parameters.values() for v in p.get("enum", []) if isinstance(v, str)]
    return [*(s.name for s in listed), *parameters, *enums, "Done", "Answer", "true", "false"]


def _frequent(texts: Sequence[str]) -> list[str]:
    """JSON pieces, words of requests, and two-letter pieces of names, by how many texts hold them.

    A word that a text's calls or results hold as a value stands for an entity there and does not count, unless a
    tenth of all texts hold it: then it is a kind or a state, not a name.
    """
    json_pieces: Counter[str] = Counter()
    words: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    held: Counter[str] = Counter()
    for text in texts:
        request, _, rest = text.partition("\n")
        # dict.fromkeys and not sets: the order of equally frequent pieces must not depend on the process's hash seed.
        values = dict.fromkeys(re.findall(r"[A-Za-z]+", " ".join(STRING.findall(rest))))
        held.update(values.keys())
        words.update(dict.fromkeys(w for w in WORD.findall(request) if w.strip() not in values).keys())
        for value in values:
            pairs.update(PAIR.findall(value[i : i + 2])[0] for i in range(0, len(value) - 1, 2) if PAIR.match(value[i : i + 2]))
        pieces = (p for p in PIECE.findall(rest) if len(p) > 1 and not WORD.fullmatch(p) and not p.isdigit())
        json_pieces.update(dict.fromkeys(pieces).keys())
    least = max(3, len(texts) // 400)
    everywhere = [v for v, n in held.items() if n >= len(texts) / 10]
    common = [w for w, n in words.most_common() if n >= least]
    frequent = [p for p, n in json_pieces.most_common() if n >= least]
    return [
        *frequent,
        *everywhere,
        *common,
        *(p for p, n in pairs.most_common() if n >= 3),
        *(w for w, n in pairs.most_common() if n < 3),
    ]


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
        attention_bias=True,
        bos_token_id=None,
        eos_token_id=tokenizer.convert_tokens_to_ids(END),
        pad_token_id=tokenizer.convert_tokens_to_ids(PAD),
    )
    model = LlamaForCausalLM(config)
    if settings.layers >= 2 and settings.heads >= 4 and settings.heads == settings.kv_heads:
        _induce(model)
    return model


LOOK, MATCH, WRITE, COPY = 7.0, 4.0, 0.06, 0.4
"""Sizes of the given circuit's parts: sharpness of looking back and of matching, and what is written to the residual."""


def _induce(model: Any) -> None:
    """Gives the untrained model an induction circuit, which continues a text as it went on the last time.

    Copying takes two layers that work together: one tells every token what stood before it, the next looks for the
    place where the present token stood before, and says what followed. Training alone finds the pair only after a
    large part of a laptop's budget; so it starts with it, and training decides where copying is wanted.

    Layer 0, heads 0 and 1 look one and two places back (constant query and key, turned against each other on the fast
    rotary pairs) and write what they see into subspaces of their own. Layer 1, head 0 matches the present token
    against what stood before each place, head 1 the one before it against what stood two before; both, on the slow rotary
    pairs, copy what stands there to the output. Everything is trained on like any other weight. Four subspaces of a head's
    width have to fit into the residual stream, so four heads are the least.
    """
    import torch

    config = model.config
    width, size = config.hidden_size // config.num_attention_heads, config.hidden_size
    half = width // 2
    theta = config.rope_parameters["rope_theta"] ** (-torch.arange(half) / half)
    fast = (theta > 0.05).float()
    slow = torch.cat([theta < 0.02, theta < 0.02]).float()[:, None]
    basis = torch.linalg.qr(torch.randn(size, size))[0]  # rows: orthonormal directions of the residual stream
    token, back1, back2 = basis[:width], basis[width : 2 * width], basis[2 * width : 3 * width]
    first, second = model.model.layers[0].self_attn, model.model.layers[1].self_attn
    with torch.no_grad():
        for head, target in enumerate((back1, back2)):
            rows = slice(head * width, (head + 1) * width)
            turn = (head + 1) * theta
            first.q_proj.weight[rows] *= 0.1
            first.k_proj.weight[rows] *= 0.1
            first.q_proj.bias[rows] = LOOK * torch.cat([fast * torch.cos(turn), -fast * torch.sin(turn)])
            first.k_proj.bias[rows] = LOOK * torch.cat([fast, torch.zeros(half)])
            first.v_proj.weight[rows] = token
            first.o_proj.weight[:, rows] = WRITE * target.T
        for head, (query, key) in enumerate(((token, back1), (back1, back2))):
            rows = slice(head * width, (head + 1) * width)
            second.q_proj.weight[rows] = MATCH * slow * query
            second.k_proj.weight[rows] = MATCH * slow * key
            second.v_proj.weight[rows] = token if head == 0 else basis[-width:]
            second.o_proj.weight[:, rows] = COPY * second.v_proj.weight[rows].T
