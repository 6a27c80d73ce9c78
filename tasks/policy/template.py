"""The embedded policy's chat template: tools as compact signatures, calls as Hermes JSON.

    <|system|>find_payee(name) send_payment(account_id,payee_id,amount,memo?)<|end|>
    <|user|>Pay 40 to Ada Lang.<|end|>
    <|assistant|><tool_call>{"name": "find_payee", "arguments": {"name": "Ada Lang"}}</tool_call><|end|>
    <|tool|>{"payee_id":"pay_417"}<|end|>
    <|assistant|>...

(without the line breaks). A signature's names are the schema's properties; optional ones end in `?`.
"""

from __future__ import annotations

PAD, SYSTEM, USER, ASSISTANT, TOOL, END = "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>"
SPECIAL = (PAD, SYSTEM, USER, ASSISTANT, TOOL, END)

TEMPLATE = (
    "{%- if tools or (messages and messages[0].role == 'system') %}{{ '<|system|>' }}"
    "{%- if messages[0].role == 'system' %}{{ messages[0].content }}{% if tools %}{{ ' ' }}{% endif %}{% endif %}"
    "{%- for tool in tools or [] %}{%- set f = tool.function %}{%- set required = f.parameters.required or [] %}"
    "{{ f.name }}({% for name in f.parameters.properties or {} %}{{ name }}{% if name not in required %}?{% endif %}"
    "{% if not loop.last %},{% endif %}{% endfor %}){% if not loop.last %}{{ ' ' }}{% endif %}"
    "{%- endfor %}{{ '<|end|>' }}{% endif %}"
    "{%- for m in messages %}{%- if m.role != 'system' %}{{ '<|' + m.role + '|>' }}{{ m.content or '' }}"
    "{%- for call in m.tool_calls or [] %}{%- set c = call.function or call %}"
    '{{ \'<tool_call>{"name": "\' + c.name + \'", "arguments": \' }}'
    "{{ c.arguments if c.arguments is string else c.arguments | tojson }}{{ '}</tool_call>' }}{%- endfor %}"
    "{{ '<|end|>' }}{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
"""Jinja, as tokenizers keep it in chat_template."""
