"""The embedded policy's tokenizer: lossless over any text, the same pieces for a name wherever it stands, saved exactly."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer

from tasks.params import Scratch
from tasks.policy.__main__ import corpus
from tasks.policy.chat import Chat, render_call
from tasks.policy.scratch import build_model, build_tokenizer
from tasks.policy.template import END, PAD, SPECIAL
from tasks.records import Call
from tests.policy.made import SCRATCH, servers, shared_tokenizer, some_tasks
from tests.policy.project import ROOT


def encoded(text: str) -> list[int]:
    return list(shared_tokenizer().encode(text, add_special_tokens=False))


def pieces(text: str) -> list[str]:
    return [shared_tokenizer().decode([i]) for i in encoded(text)]


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
@example("")
@example("  two  spaces \n\ttab\r\n")
@example("\u00e9\u4e2d\u6587\U0001f600\u200d\u0301 \x00\x7f")
@example("don't re-tokenise don 't [CLS] [UNK] ##x")
@example("<|end|>text<|pad|>")
@example("x" * 5000 + "_y" * 3000 + '{"' * 3000)
def test_text_comes_back_as_it_was(text: str) -> None:
    ids = encoded(text)
    assert shared_tokenizer().decode(ids) == text
    if "<|pad|>" not in text:
        assert shared_tokenizer().pad_token_id not in ids, "the unknown token never stands for text"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_text_comes_back_with_special_tokens_switched_off(text: str) -> None:
    spelled = f"{text}<|end|>{text}"
    ids = shared_tokenizer()(spelled, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert shared_tokenizer().decode(ids) == spelled
    assert not set(ids) & set(shared_tokenizer().convert_tokens_to_ids(list(SPECIAL)))


NAMES = ("Zoraida Quimby", "Bartholomew Ngo", "pay_417", "acc_903", "2026-03-09", "1234.56", "Xiu")
AROUND = (
    ("Send 40 to ", ", please."),
    ('{"name":"', '","n":1}'),
    ('<tool_call>{"name": "find_payee", "arguments": {"name": "', '"}}</tool_call>'),
    ('[{"id":"x"},{"id":"', '"}]'),
    ("Is it ", "?"),
    ("(", ")"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_the_same_pieces_wherever_it_stands(name: str) -> None:
    alone = pieces(name)
    for before, after in AROUND:
        found = pieces(before + name + after)
        assert any(found[i : i + len(alone)] == alone for i in range(len(found))), (before, found)


def test_names_that_training_does_not_hold_are_short_pieces() -> None:
    assert all(len(p.strip()) <= 2 for p in pieces("Zqxwv Bnpqr"))


def test_tools_and_the_frame_of_a_call_are_few_tokens() -> None:
    for name in servers().specs:
        assert len(encoded(render_call(Call("0", name, {})))) <= 5, name
    for task in some_tasks(24):
        for gold in task.gold.calls:
            text = render_call(Call("0", gold.name, gold.arguments))
            assert len(encoded(text)) < len(text) / 2.5


def test_the_vocabulary_is_bounded_and_holds_every_byte() -> None:
    settings_ = Scratch(**{**SCRATCH.model_dump(), "vocabulary": 400})
    small = build_tokenizer(settings_, list(corpus(servers(), some_tasks(8))), list(servers().specs.values()))
    assert len(small) == 400
    text = bytes(range(256)).decode("latin-1") + "\u4e2d"
    assert small.decode(small.encode(text, add_special_tokens=False)) == text
    assert small.convert_tokens_to_ids(list(SPECIAL)) == list(range(len(SPECIAL)))
    assert (small.pad_token, small.eos_token) == (PAD, END)


def test_the_same_texts_give_the_same_tokenizer() -> None:
    texts, specs = list(corpus(servers(), some_tasks(8))), list(servers().specs.values())
    one, two = (build_tokenizer(SCRATCH, texts, specs) for _ in range(2))
    assert one.backend_tokenizer.to_str() == two.backend_tokenizer.to_str()


TIES = """
from tasks.params import Scratch
from tasks.policy.scratch import build_tokenizer
texts = ["please move money from savings to wallet now\\n" + '{"from": "Nadia Okoro", "to": "Lena Brandt"}'] * 4
print(build_tokenizer(Scratch(), texts, []).get_vocab())
"""


def test_the_order_of_equally_frequent_pieces_is_the_same_in_every_process() -> None:
    found = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, "-c", TIES], env=environment, capture_output=True, text=True, check=True)
        found.add(str(sorted(ast.literal_eval(done.stdout).items())))
    assert len(found) == 1


def test_saved_and_loaded_it_is_equal(tmp_path: Path) -> None:
    shared_tokenizer().save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.get_vocab() == shared_tokenizer().get_vocab()
    assert loaded.chat_template == shared_tokenizer().chat_template
    assert (loaded.pad_token_id, loaded.eos_token_id, len(loaded)) == (
        shared_tokenizer().pad_token_id,
        shared_tokenizer().eos_token_id,
        len(shared_tokenizer()),
    )
    for text in (*corpus(servers(), some_tasks(8)), "<|user|>Zo\u00eb \u4e2d  x<|end|>", " lead and trail ", "don't"):
        ids = encoded(text)
        assert loaded.encode(text, add_special_tokens=False) == ids
        assert loaded.decode(ids) == text
        split = loaded(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        assert split == shared_tokenizer()(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert Chat(loaded).stop_ids == [loaded.convert_tokens_to_ids(END)]


def test_the_model_has_the_asked_shape_and_follows_its_seed(tmp_path: Path) -> None:
    one, same, other = (build_model(SCRATCH, shared_tokenizer(), seed) for seed in (1, 1, 2))
    weights = [torch.cat([p.flatten() for p in m.parameters()]) for m in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert one.lm_head.weight is one.model.embed_tokens.weight
    assert (one.config.vocab_size, one.config.num_hidden_layers, one.config.hidden_size) == (len(shared_tokenizer()), 2, 32)
    one.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), loaded.state_dict().values(), strict=True))
    assert loaded.config.eos_token_id == shared_tokenizer().eos_token_id


@pytest.mark.parametrize(("heads", "kv_heads"), [(1, 1), (2, 2), (3, 3), (4, 4), (4, 2), (8, 8)])
def test_any_number_of_heads_makes_a_model(heads: int, kv_heads: int) -> None:
    sizes = Scratch(vocabulary=700, layers=2, hidden=48, heads=heads, kv_heads=kv_heads, intermediate=64, context=128)
    model = build_model(sizes, shared_tokenizer(), 0)
    assert model(input_ids=torch.arange(5, 15)[None]).logits.isfinite().all()
