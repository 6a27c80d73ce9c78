"""From messages to tokens: a model's own chat template, and what stands between two of its turns.

    chat = Chat(tokenizer)
    ids = chat.prompt([Message("user", "Pay Ada 40.")], specs)
    ids = chat.between([Message("tool", '{"payee_id":"pay_417"}', "0")])     # after the model's stop token

`between` is cut out of the template's own rendering, so it is right for any template that renders a
conversation turn by turn. Message contents are encoded with special tokens switched off: a tool result that
spells `<|end|>` stays text. What a template does to a content (nothing, trimming, writing it as a JSON string) is
found out once per role.

Left out: templates that rewrite earlier turns when later ones come (their history is fixed here as it was
when it was generated, which is what the model saw); templates without a place for tool results.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from jinja2.exceptions import TemplateError

from tasks.policy import PolicyError
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


PROBE = ' "Ada"\n\u00e9 '
"""A content that shows what a template does to contents."""

WRITINGS: tuple[Callable[[str], str], ...] = (
    lambda content: content,
    lambda content: json.dumps(content, ensure_ascii=False)[1:-1],
    lambda content: json.dumps(content)[1:-1],
    str.strip,
)
"""The ways in which templates write a content."""


class ChatError(PolicyError):
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
        self._writings: dict[str, Callable[[str], str]] = {}
        self.stop_ids = self._stop_ids()
        self.pad_id = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else self.stop_ids[0]
        self.prompt([Message("user", PROBE)], [])
        for role in ("tool", "user"):
            self.between([Message(role, PROBE)])  # type: ignore[arg-type]

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
        try:
            rendered = self.tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=prompt)
        except TemplateError as error:
            roles = ", ".join(m["role"] for m in messages)
            raise ChatError(f"the chat template refuses a conversation of {roles} ({error}): use another model") from error
        return str(rendered)

    def _written(self, role: str, content: str) -> str:
        """A content as the template writes it."""
        if role not in self._writings:
            before = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "x"}] if role == "tool" else []
            after = [{"role": "user", "content": "x"}] if role == "system" else []
            text = self._render([*before, {"role": role, "content": PROBE}, *after], prompt=True)
            found = next((writing for writing in WRITINGS if writing(PROBE) in text), None)
            if found is None:
                raise ChatError(f"the chat template drops or rewrites the content of {role} messages: use another model")
            self._writings[role] = found
        return self._writings[role](content)

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
        contents = [self._written(m["role"], m["content"]) for m in plain]
        return self._encode(self._render(_mark(plain), tools or None, prompt=True), contents)

    def between(self, messages: Sequence[Message]) -> list[int]:
        """Token ids after the model's stop token up to where it writes again: tool results or the user's next turn."""
        return self._encode(self._tail(tuple(m.role for m in messages)), [self._written(m.role, m.content) for m in messages])

    def _tail(self, roles: tuple[str, ...]) -> str:
        """The template's text after the stop token of an assistant turn that messages of `roles` follow, marked."""
        if roles not in self._tails:
            first = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "RUNGSTURN"}]
            text = self._render([*first, *_mark([{"role": role} for role in roles])], prompt=True)
            stop = self.tokenizer.convert_ids_to_tokens(self.stop_ids[0])
            _, _, after = text.partition("RUNGSTURN")
            head, found, tail = after.partition(stop)
            if not found or head.strip():
                raise ChatError(
                    f"the chat template does not end an assistant turn with eos_token {stop!r}: "
                    "set eos_token in tokenizer_config.json to the token that ends a turn"
                )
            self._tails[roles] = tail
        return self._tails[roles]

    def _encode(self, text: str, contents: Sequence[str]) -> list[int]:
        """Encodes template text with special tokens, and the marked contents in it without."""
        ids: list[int] = []
        for number, content in enumerate(contents):
            before, found, text = text.partition(_marker(number))
            if not found:
                raise ChatError(f"the chat template drops message {number}, or writes messages in another order")
            ids += self.tokenizer.encode(before, add_special_tokens=False)
            ids += self.tokenizer(content, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return ids + list(self.tokenizer.encode(text, add_special_tokens=False))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a turn's tokens, its stop token left out."""
        kept = [i for i in ids if i not in self.stop_ids]
        return str(self.tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def _marker(number: int) -> str:
    return f"RUNGSCONTENT{number}."


def _mark(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**m, "content": _marker(number)} for number, m in enumerate(messages)]
