"""From messages to tokens: a model's own chat template, and what stands between two of its turns.

    chat = Chat(tokenizer)
    ids = chat.prompt([Message("user", "Pay Ada 40.")], specs)
    ids = chat.between([Message("tool", '{"payee_id":"pay_417"}', "0")])     # after the model's stop token

`between` is cut out of the template's own rendering, so it is right for any template that renders a
conversation turn by turn. Message contents are encoded with special tokens switched off: a tool result that
spells `<|end|>` stays text.

Left out: templates that rewrite earlier turns when later ones come (their history is fixed here as it was
when it was generated, which is what the model saw).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from tasks.records import Call, Message, ToolSpec

HERMES = (
    "You may call one or more functions to help with the user's request. The functions, one a line, as JSON:\n"
    "<tools>\n{tools}\n</tools>\n"
    'For each call write <tool_call>{{"name": NAME, "arguments": ARGUMENTS}}</tool_call> with a JSON object of arguments.'
)
"""For templates that take no tools: said in the system message."""

INSTRUCTION = (
    "Use the tools to do what the user asks. When you are done, reply without a call; "
    "if the user asked for a value, end with a line `Answer: ` followed by the value as JSON."
)
"""The task's rules, for models that were not trained on them by the warm-up."""


class ChatError(Exception):
    """A tokenizer or template that cannot carry a tool conversation."""


def render_call(call: Call) -> str:
    """A call in Hermes form."""
    body = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
    return f"<tool_call>{body}</tool_call>"


class Chat:
    """A tokenizer with its chat template. Raises ChatError when it has none."""

    def __init__(self, tokenizer: Any) -> None:
        if not tokenizer.chat_template:
            raise ChatError("the tokenizer has no chat template: use an instruct model, or set one in tokenizer_config.json")
        self.tokenizer = tokenizer
        self._tails: dict[tuple[str, ...], str] = {}
        self.stop_ids = self._stop_ids()
        self.pad_id = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else self.stop_ids[0]

    def _stop_ids(self) -> list[int]:
        if self.tokenizer.eos_token_id is None:
            raise ChatError("the tokenizer has no end-of-turn token (eos_token): set one in tokenizer_config.json")
        return [self.tokenizer.eos_token_id]

    @cached_property
    def takes_tools(self) -> bool:
        """Whether the template renders tools itself."""
        probe = ToolSpec("rungs_probe", "", {"type": "object", "properties": {}}, {}, "")
        return "rungs_probe" in self._render([{"role": "user", "content": "x"}], tools=[probe.openai()])

    def _render(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None, prompt: bool = False) -> str:
        rendered = self.tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=prompt)
        return str(rendered)

    def prompt(self, messages: Sequence[Message], specs: Sequence[ToolSpec]) -> list[int]:
        """Token ids from the start to the point where the model begins to write."""
        plain = [{"role": m.role, "content": m.content} for m in messages]
        tools = [spec.openai() for spec in specs]
        if tools and not self.takes_tools:
            listing = HERMES.format(tools="\n".join(json.dumps(t) for t in tools))
            if plain[0]["role"] == "system":
                plain[0]["content"] += "\n\n" + listing
            else:
                plain.insert(0, {"role": "system", "content": listing})
            tools = []
        marked, contents = _mark(plain)
        return self._encode(self._render(marked, tools or None, prompt=True), contents)

    def between(self, messages: Sequence[Message]) -> list[int]:
        """Token ids after the model's stop token up to where it writes again: tool results or the user's next turn."""
        return self._encode(self._tail(tuple(m.role for m in messages)), [m.content for m in messages])

    def _tail(self, roles: tuple[str, ...]) -> str:
        """The template's text after the stop token of an assistant turn that messages of `roles` follow, marked."""
        if roles not in self._tails:
            first = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "RUNGSTURN"}]
            marked, _ = _mark([{"role": role, "content": ""} for role in roles])
            text = self._render([*first, *marked], prompt=True)
            stop = self.tokenizer.convert_ids_to_tokens(self.stop_ids[0])
            _, _, after = text.partition("RUNGSTURN")
            head, found, tail = after.partition(stop)
            if not found or head.strip():
                raise ChatError(f"the template does not end an assistant turn with {stop!r}")
            self._tails[roles] = tail
        return self._tails[roles]

    def _encode(self, text: str, contents: Sequence[str]) -> list[int]:
        """Encodes template text with special tokens, and the marked contents in it without."""
        ids: list[int] = []
        for number, content in enumerate(contents):
            before, found, text = text.partition(_marker(number))
            if not found:
                raise ChatError(f"the chat template drops or changes message {number}")
            ids += self.tokenizer.encode(before, add_special_tokens=False)
            ids += self.tokenizer(content, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return ids + list(self.tokenizer.encode(text, add_special_tokens=False))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a turn's tokens, its stop token left out."""
        kept = [i for i in ids if i not in self.stop_ids]
        return str(self.tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def _marker(number: int) -> str:
    return f"RUNGSCONTENT{number}."


def _mark(messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    marked = [{**m, "content": _marker(number)} for number, m in enumerate(messages)]
    return marked, [m["content"] for m in messages]
