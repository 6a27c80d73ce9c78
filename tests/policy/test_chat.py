"""From messages to tokens: turn by turn gives the tokens of the whole conversation, in our template and in others' own."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import trl
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.policy.chat import Chat, ChatError, render_call
from tasks.policy.template import SPECIAL, TEMPLATE
from tasks.records import Call, Message, ToolSpec
from tasks.toolbox.parse import parse_hermes
from tests.policy.made import tokenizer

FOLDER = Path(trl.__file__).parent / "chat_templates"

STOPS = {"qwen": "<|im_end|>", "nemotron": "<|im_end|>", "lfm2": "<|im_end|>", "llama3": "<|eot_id|>", "gemma4": "<turn|>"}
STOPS |= {"gemma": "<end_of_turn>", "phi3": "<|end|>", "cohere": "<|END_OF_TURN_TOKEN|>", "gptoss": "<|return|>"}
STOPS |= {"idefics": "<end_of_utterance>"}
"""The token that ends an assistant turn, by how a template's name begins (the longest that fits)."""

TURN_BY_TURN = ("qwen2_5", "qwen3", "qwen3_instruct_2507", "qwen3_vl", "qwen3_5_nothink_training", "lfm2", "lfm2_v2")
TURN_BY_TURN += ("lfm2_2_5", "llama3_1", "llama3_2", "gemma4_v2")
"""Templates that render tools and keep earlier turns as they were."""

REWRITE = ("qwen3_5_think", "qwen3_6", "nemotron_3_nano", "nemotron_3_super")
"""Templates whose prompt opens a thought that they drop from earlier turns."""

WITHOUT_TOOLS = ("llama3", "qwen2_5_vl")

SPECS = [
    ToolSpec(
        "find_payee",
        "Finds a payee.",
        {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        {},
        "",
    ),
    ToolSpec(
        "pay",
        "Pays.",
        {"type": "object", "properties": {"to": {"type": "string"}, "memo": {"type": "string"}}, "required": ["to"]},
        {},
        "",
    ),
]
CALL = render_call(Call("0", "find_payee", {"name": "Ada Lang"}))
CONVERSATION = [
    Message("system", "Be exact. It is Monday."),
    Message("user", "Pay Ada Lang 40, please."),
    Message("assistant", f"{CALL}{CALL}"),
    Message("tool", '{"payee_id":"pay_417","note":"said \\"hi\\"","who":"J\u00f3n \u2603"}', "0"),
    Message("tool", "[]", "1"),
    Message("assistant", "Sure?"),
    Message("user", "  yes, 40 "),
]


def chat_of(name: str) -> Chat:
    """One of TRL's stored templates of real models on our tokenizer, its special tokens added."""
    made = tokenizer()
    made.chat_template = (FOLDER / f"{name}.jinja").read_text()
    stop = STOPS[max((family for family in STOPS if name.startswith(family)), key=len)]
    made.add_special_tokens(
        {
            "additional_special_tokens": sorted({*re.findall(r"<[|｜][^<>{}'\" ]*[|｜]>", made.chat_template), stop}),
            "bos_token": "<|begin|>",
            "eos_token": stop,
        }
    )
    made.model_max_length = 1 << 20
    return Chat(made)


def turn_by_turn(chat: Chat, messages: Sequence[Message], specs: Sequence[ToolSpec]) -> list[int]:
    """Prompt, then every assistant turn as its own tokens and what comes between."""
    at = next(i for i, m in enumerate(messages) if m.role == "assistant")
    ids = chat.prompt(messages[:at], specs)
    while at < len(messages):
        ids += [*chat.tokenizer.encode(messages[at].content, add_special_tokens=False), *chat.stop_ids]
        following = next((i for i in range(at + 1, len(messages)) if messages[i].role == "assistant"), len(messages))
        ids += chat.between(messages[at + 1 : following])
        at = following
    return ids


def plain(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [{"role": m.role, "content": m.content} for m in messages]


def whole(chat: Chat, messages: Sequence[dict[str, Any]], specs: Sequence[ToolSpec]) -> str:
    tools = [s.openai() for s in specs] or None
    return str(chat.tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=True))


def encoded(chat: Chat, text: str) -> list[int]:
    return list(chat.tokenizer.encode(text, add_special_tokens=False))


def test_our_template_turn_by_turn_is_the_whole_conversation() -> None:
    chat = Chat(tokenizer())
    ids = turn_by_turn(chat, CONVERSATION, SPECS)
    assert ids == encoded(chat, whole(chat, plain(CONVERSATION), SPECS))
    text = chat.tokenizer.decode(ids)
    assert text.startswith(
        "<|system|>Be exact. It is Monday. find_payee(name) pay(to,memo?)<|end|><|user|>Pay Ada Lang 40, please."
    )
    assert text.endswith("<|assistant|>Sure?<|end|><|user|>  yes, 40 <|end|><|assistant|>")


def test_our_template_writes_structured_calls_as_the_model_writes_them() -> None:
    chat = Chat(tokenizer())
    call = {"type": "function", "function": {"name": "find_payee", "arguments": {"name": "Ada Lang"}}}
    structured = plain(CONVERSATION)
    structured[2] = {"role": "assistant", "content": "", "tool_calls": [call, call]}
    assert whole(chat, structured, SPECS) == whole(chat, plain(CONVERSATION), SPECS)


@pytest.mark.parametrize("messages", [[Message("user", "Hi.")], [Message("system", "S."), Message("user", "Hi.")]])
def test_our_template_without_tools_or_system(messages: list[Message]) -> None:
    chat = Chat(tokenizer())
    text = chat.tokenizer.decode(chat.prompt(messages, []))
    assert text == ("<|system|>S.<|end|>" if len(messages) == 2 else "") + "<|user|>Hi.<|end|><|assistant|>"


@pytest.mark.parametrize("name", TURN_BY_TURN)
def test_real_templates_turn_by_turn_are_the_whole_conversation(name: str) -> None:
    chat = chat_of(name)
    assert chat.takes_tools
    assert turn_by_turn(chat, CONVERSATION, SPECS) == encoded(chat, whole(chat, plain(CONVERSATION), SPECS))


@pytest.mark.parametrize("name", REWRITE)
def test_templates_that_rewrite_history_are_right_from_the_last_turn_on(name: str) -> None:
    chat = chat_of(name)
    found = encoded(chat, whole(chat, plain(CONVERSATION), SPECS))
    last = chat.between(CONVERSATION[-1:])
    assert found[-len(last) :] == last
    first = chat.prompt(CONVERSATION[:2], SPECS)
    assert first == encoded(chat, whole(chat, plain(CONVERSATION[:2]), SPECS))


@pytest.mark.parametrize("name", WITHOUT_TOOLS)
@pytest.mark.parametrize("system", [True, False])
def test_templates_without_tools_get_the_listing_in_the_system_message(name: str, system: bool) -> None:
    chat = chat_of(name)
    assert not chat.takes_tools
    messages = CONVERSATION if system else CONVERSATION[1:]
    ids = turn_by_turn(chat, messages, SPECS)
    text = chat.tokenizer.decode(ids)
    for spec in SPECS:
        assert json.dumps(spec.openai()) in text
    assert text.count("<tools>") == 1 and '<tool_call>{"name": NAME, "arguments": ARGUMENTS}</tool_call>' in text
    listing = text[text.index("You may call") : text.index("of arguments.") + len("of arguments.")]
    first = f"{CONVERSATION[0].content}\n\n{listing}" if system else listing
    assert ids == encoded(chat, whole(chat, [{"role": "system", "content": first}, *plain(CONVERSATION[1:])], []))
    assert "You may call" not in chat.tokenizer.decode(chat.prompt(messages[:2], []))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gemma", "refuses a conversation of user, assistant, tool"),
        ("gptoss", "refuses a conversation of user, assistant, tool"),
        ("phi3_5", "drops or rewrites the content of tool messages"),
        ("idefics3", "drops or rewrites the content of user messages"),
        ("cohere2", "does not end an assistant turn with eos_token '<|END_OF_TURN_TOKEN|>'"),
    ],
)
def test_templates_that_cannot_carry_a_tool_conversation_are_refused_at_once(name: str, message: str) -> None:
    with pytest.raises(ChatError, match=re.escape(message)):
        chat_of(name)


def test_a_system_message_that_the_template_refuses_is_a_chat_error() -> None:
    made = tokenizer()
    made.chat_template = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + TEMPLATE
    chat = Chat(made)
    assert chat.prompt([Message("user", "Hi.")], SPECS)
    with pytest.raises(ChatError, match=r"refuses a conversation of system, user \(no system\)"):
        chat.prompt([Message("system", "S."), Message("user", "Hi.")], SPECS)


def test_a_tokenizer_without_template_or_stop_token_is_refused() -> None:
    made = tokenizer()
    made.chat_template = None
    with pytest.raises(ChatError, match="no chat template"):
        Chat(made)
    made = tokenizer()
    made.eos_token = None
    with pytest.raises(ChatError, match="no end-of-turn token"):
        Chat(made)


@pytest.mark.parametrize(
    ("filtered", "written"),
    [
        ("m.content", lambda c: c),
        ("m.content | trim", str.strip),
        ("m.content | tojson if m.role == 'tool' else m.content", lambda c: json.dumps(c, ensure_ascii=False)),
    ],
)
def test_contents_are_written_as_the_template_writes_them(filtered: str, written: Any) -> None:
    made = tokenizer()
    made.chat_template = TEMPLATE.replace("{{ m.content or '' }}", f"{{{{ {filtered} }}}}")
    chat = Chat(made)
    content = ' "a"\n\u00e9\u2603 <|end|> '
    assert chat.tokenizer.decode(chat.between([Message("tool", content)])) == f"<|tool|>{written(content)}<|end|><|assistant|>"
    made.chat_template = TEMPLATE.replace("{{ m.content or '' }}", "{{ m.content | upper }}")
    with pytest.raises(ChatError, match="rewrites the content of user"):
        Chat(made)


TEXT = st.lists(st.one_of(st.sampled_from(SPECIAL), st.text(max_size=8)), max_size=6).map("".join)


@settings(max_examples=60, deadline=None)
@given(TEXT)
def test_what_a_tool_result_spells_stays_text(text: str) -> None:
    chat = shared()
    special = set(chat.tokenizer.convert_tokens_to_ids(list(SPECIAL)))
    for role, ids in (("tool", chat.between([Message("tool", text)])), ("user", chat.prompt([Message("user", text)], []))):
        assert sum(i in special for i in ids) == 3
        assert chat.tokenizer.decode(ids) == f"<|{role}|>{text}<|end|><|assistant|>"
    assert encoded(chat, "<|end|>") == chat.stop_ids, "the next text is read with special tokens again"


@cache
def shared() -> Chat:
    return Chat(tokenizer())


def test_a_turn_is_decoded_without_its_stop_token_and_with_all_others() -> None:
    ids = [*encoded(shared(), "a <|user|>  b"), *shared().stop_ids]
    assert shared().decode(ids) == "a <|user|>  b"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=10), st.dictionaries(st.text(max_size=6), VALUES, max_size=3))
def test_a_rendered_call_parses_as_itself(name: str, arguments: dict[str, Any]) -> None:
    turn = parse_hermes(render_call(Call("0", name, arguments)))
    assert not turn.failures
    assert [(c.name, c.arguments) for c in turn.calls] == [(name, arguments)]
