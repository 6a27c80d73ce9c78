"""parse_hermes and parse_python: what is a call, and every fault with its exact position.

In the tables § marks the position of the fault; it is taken out before parsing.
"""

from __future__ import annotations

import pytest

from tasks.records import Call
from tasks.toolbox.faults import FAULTS
from tasks.toolbox.parse import ParsedTurn, parse_hermes, parse_python, render_hermes
from tests.toolbox.test_plan import PLAN_FAULTS

GOOD = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'


def block(body: str) -> str:
    return f"<tool_call>{body}</tool_call>"


def arguments(text: str) -> str:
    return block(f'{{"name": "f", "arguments": {text}}}')


HERMES_FAULTS = [
    ("unterminated", '<tool_call>{"name": "f", "arguments": {"a": "x§'),
    ("unterminated", '<tool_call>{"name": "f", "arguments": {}}§'),
    ("unterminated", "text <tool_call>§"),
    ("unterminated", f'{GOOD}<tool_call>{{"name": §'),
    ("unterminated", '<tool_call>{"name": "f", "arguments": {"a": "<tool_call>"}}§'),
    ("unclosed", '<tool_call>{"name": "g", "arguments": {}}§' + GOOD),
    ("unclosed", '<tool_call>{"name": "g", "arguments": {"a": "b}}\n§' + GOOD),
    ("stray_close", "Done.§</tool_call>"),
    ("stray_close", GOOD + " §</tool_call>"),
    ("empty", block("§")),
    ("empty", block("§ \n ")),
    ("untagged", '§{"name": "f", "arguments": {"a": 1}}'),
    ("untagged", 'I call ```json\n§{ "name" : "f\\"" , "arguments" : {"a": 1'),
    ("untagged", '§{"arguments": {}, "name": "f"}'),
    ("untagged", GOOD + ' and §{"name": "f", "arguments": {}}'),
    ("trailing_text", block('{"name": "f", "arguments": {}} §ok')),
    ("trailing_text", block('{"name": "f", "arguments": {}}§, "x"')),
    ("extra_brace", block('{"name": "f", "arguments": {}}§}')),
    ("extra_brace", block('{"name": "f", "arguments": {}}§]')),
    ("several_values", block('{"name": "f", "arguments": {}}\n§{"name": "g", "arguments": {}}')),
    ("several_values", block('{"name": "f", "arguments": {}}§, {"name": "g", "arguments": {}}')),
    ("missing_brace", block('{"name": "f", "arguments": {"a": 1}§')),
    ("missing_brace", block('{"name": "f", "arguments": {"a": [1, 2§\n')),
    ("missing_brace", block("{§")),
    ("missing_brace", block('{"name": "f",§')),
    ("missing_brace", block('{"name":§ ')),
    ("missing_brace", block('{"name"§')),
    ("missing_brace", block("[1,§")),
    ("mismatched_brace", arguments('{"a": [1§}')),
    ("trailing_comma", arguments('{"a": 1§, }')),
    ("trailing_comma", arguments('{"a": [1§,]}')),
    ("single_quotes", block("{§'name': 'f', 'arguments': {}}")),
    ("single_quotes", block('{"name": §\'f\', "arguments": {}}')),
    ("bare_word", block('{§name: "f"}')),
    ("bare_word", arguments('{"a": §True}')),
    ("bare_word", arguments('{"a": §None}')),
    ("bare_word", arguments('{"a": §ten}')),
    ("bare_word", arguments('{"a": §nullx}')),
    ("bare_word", block("§f(a=1)")),
    ("unterminated_string", arguments('{"a": §"x}')),
    ("unterminated_string", arguments('{"a": §"x\\"}')),
    ("unterminated_string", block('{"name": §"\\')),
    ("control_character", arguments('{"a": "x§\ny"}')),
    ("control_character", arguments('{"a": "x§\x00y"}')),
    ("control_character", arguments('{"a§\t": 1}')),
    ("bad_escape", arguments('{"a": "§\\x41"}')),
    ("bad_escape", arguments('{"a": "it§\\\'s"}')),
    ("bad_escape", arguments('{"a": "§\\u12g4"}')),
    ("lone_surrogate", arguments('{"a": "ok§\\ud800"}')),
    ("lone_surrogate", arguments('{"a": "§\\udc00\\ud800"}')),
    ("lone_surrogate", arguments('{"a": "\\ud83d\\ude00§\\ud83d"}')),
    ("lone_surrogate", arguments('{"a": "\\\\§\\uDFFF"}')),
    ("lone_surrogate", arguments('{"a": "§\ud800"}')),
    ("bad_number", arguments('{"a": §01}')),
    ("bad_number", arguments('{"a": §+1}')),
    ("bad_number", arguments('{"a": §.5}')),
    ("bad_number", arguments('{"a": §1.}')),
    ("bad_number", arguments('{"a": §-}')),
    ("bad_number", arguments('{"a": §0x1F}')),
    ("bad_number", arguments('{"a": §1_000}')),
    ("not_finite", arguments('{"a": §NaN}')),
    ("not_finite", arguments('{"a": §-Infinity}')),
    ("not_finite", arguments('{"a": [1, §Infinity]}')),
    ("integer_range", arguments(f'{{"a": §{2**63}}}')),
    ("integer_range", arguments(f'{{"a": §-{2**63}}}')),
    ("integer_range", arguments('{"a": §' + "9" * 5000 + "}")),
    ("number_range", arguments('{"a": §1e999}')),
    ("number_range", arguments('{"a": §0.' + "1" * 2000 + "}")),
    ("duplicate_key", arguments('{"a": 1, §"a": 2}')),
    ("duplicate_key", arguments('{"a": 1, "b": [{"c": 1, §"\\u0063": 1}]}')),
    ("duplicate_key", block('{"name": "f", "arguments": {}, §"name": "g"}')),
    ("depth", block("[" * 64 + "§[" + "]" * 65)),
    ("depth", arguments('{"a":' * 63 + '§{"a": 1' + "}" * 64)),
    ("syntax", arguments('{"a": 1 §"b": 2}')),
    ("syntax", arguments('{"a" §= 1}')),
    ("syntax", arguments("{§1: 1}")),
    ("syntax", arguments('{"a": §}')),
    ("syntax", arguments('{"a": 1,§, "b": 2}')),
    ("not_object", block('§"f"')),
    ("not_object", block('\n§[{"name": "f", "arguments": {}}]')),
    ("not_object", block("§null")),
    ("unknown_key", block('{"name": "f", "arguments": {}, §"id": 1}')),
    ("unknown_key", block('{"name": "f", §"parameters": {}}')),
    ("missing_name", block(' §{"arguments": {}}')),
    ("missing_name", block("§{}")),
    ("name_type", block('{"name": §"", "arguments": {}}')),
    ("name_type", block('{"name": §null, "arguments": {}}')),
    ("missing_arguments", block('§{"name": "f"}')),
    ("arguments_string", block('{"name": "f", "arguments": §"{\\"a\\": 1}"}')),
    ("arguments_type", block('{"name": "f", "arguments": §[1]}')),
    ("arguments_type", block('{"arguments": §null, "name": "f"}')),
]

PYTHON_FAULTS = [
    ("untagged", "§f(a=1)"),
    ("untagged", "§f()"),
    ("untagged", "I call §[f(a=1)]"),
    ("trailing_text", "[f(a=1)] §now"),
    ("trailing_text", "[f(a=1)]§; [g(a=1)]"),
    ("extra_brace", "[f(a=1)] §]"),
    ("missing_brace", "[f(a=1§"),
    ("missing_brace", "[f(a=1)§"),
    ("mismatched_brace", "[f(a=1§]]"),
    ("unterminated_string", "[f(a=§'x)]"),
    ("control_character", "[f(a='x§\n')]"),
    ("bad_escape", "[f(a='§\\q')]"),
    ("bad_escape", "[f(a='§\\N{BULLET}')]"),
    ("lone_surrogate", "[f(a='x§\ud800')]"),
    ("lone_surrogate", "[f(a=§'\\ud800')]"),
    ("bad_number", "[f(a=§007)]"),
    ("bad_number", "[f(a=§0x1F)]"),
    ("bad_number", "[f(a=§1j)]"),
    ("integer_range", f"[f(a=§{2**63})]"),
    ("number_range", "[f(a=§-1e999)]"),
    ("duplicate_key", "[f(a=1, §a=2)]"),
    ("duplicate_key", "[f(a={'x': 1, §'x': 2})]"),
    ("duplicate_key", "[f(a='é', b={'ü': 1, §'ü': 2})]"),
    ("depth", "[f(a=" + "[" * 62 + "§[" + "]" * 63 + ")]"),
    ("bare_word", "[f(a=§true)]"),
    ("bare_word", "[f(a=§x.y)]"),
    ("bare_word", "[f(a=§API_RESPONSE_0)]"),
    ("python_syntax", "[f(a=1§-1)]"),
    ("python_syntax", "[f(a='x' §'y')]"),
    ("python_syntax", "[f(a=f§'x')]"),
    ("python_syntax", "[f(a=§(1, 2))]"),
    ("python_syntax", "[f(a=x§[0])]"),
    ("python_syntax", "[f(a=1 §# one\n)]"),
    ("python_syntax", "[f()§()]"),
    ("python_syntax", "[f(a=b§=1)]"),
    ("python_syntax", "[f(§" + "n" * 300 + "=1)]"),
    ("python_call", "[f(a=1), §g]"),
    ("python_call", "[§'f(a=1)']"),
    ("python_call", '[f(a=1), §"x"]'),
    ("python_positional", "[f(§1)]"),
    ("python_positional", "[f(§'x', a=1)]"),
    ("python_literal", "[f(a=§g())]"),
    ("python_literal", "[f(a=§{1, 2})]"),
    ("python_literal", "[f(a={§1: 2})]"),
    ("python_literal", "[f(§**x)]"),
    ("python_literal", "[f(a=§lambda: 0)]"),
    ("python_literal", "[f(a=§not True)]"),
    ("python_literal", "[f(a=[§*x])]"),
    ("too_long", "[f(a='" + "x" * (65_536 - 6) + "§x')]"),
]


@pytest.mark.parametrize(("kind", "marked"), HERMES_FAULTS)
def test_hermes_fault_and_position(kind: str, marked: str) -> None:
    position, text = marked.index("§"), marked.replace("§", "")
    turn = parse_hermes(text)
    assert [(f.kind, f.position) for f in turn.failures] == [(kind, position)]
    assert turn.failures[0].message
    assert all(call.name == "f" and call.arguments == {} for call in turn.calls)


@pytest.mark.parametrize(("kind", "marked"), PYTHON_FAULTS)
@pytest.mark.parametrize("lead", ["", " \n"])
def test_python_fault_and_position(kind: str, marked: str, lead: str) -> None:
    if kind == "too_long":
        lead = ""
    position, text = (lead + marked).index("§"), lead + marked.replace("§", "")
    turn = parse_python(text)
    assert [(f.kind, f.position) for f in turn.failures] == [(kind, position)]


def test_the_tables_cover_every_kind() -> None:
    covered = {kind for kind, *_ in [*HERMES_FAULTS, *PYTHON_FAULTS, *PLAN_FAULTS]}
    assert covered == set(FAULTS)


def test_calls_spans_and_text() -> None:
    first = block('{"name": "f", "arguments": {"a": [1, 2.5, true, null]}}')
    second = block('\n{"arguments": {"b": "é"}, "name": "g"}\n')
    text = f"  Let me see. {first}\nand {second} done "
    turn = parse_hermes(text)
    assert [(c.id, c.name, c.arguments, text[c.start : c.end]) for c in turn.calls] == [
        ("0", "f", {"a": [1, 2.5, True, None]}, first),
        ("1", "g", {"b": "é"}, second),
    ]
    assert not turn.failures and turn.text == "Let me see. \nand  done"


def test_integers_stay_integers() -> None:
    (call,) = parse_hermes(arguments(f'{{"a": 1, "b": 1.0, "c": {2**63 - 1}, "d": -0, "e": 1e2}}')).calls
    assert call.arguments == {"a": 1, "b": 1.0, "c": 2**63 - 1, "d": 0, "e": 100.0}
    assert [type(v) for v in call.arguments.values()] == [int, float, int, int, float]


def test_no_call() -> None:
    for text in ("", "  \n", "I cannot do that.", 'Answer: {"name": "Ann"}', "Use {braces} and <tags>.", "<tool_call"):
        assert parse_hermes(text) == ParsedTurn([], [], text.strip())
        assert parse_python(text) == ParsedTurn([], [], text.strip())
    for text in ("[]", "[1, 2]", "[Note] f(x) is a function", "f (x) rises"):
        assert parse_python(text) == ParsedTurn([], [], text)


def test_failures_take_an_id_and_the_blocks_after_them_are_read() -> None:
    text = f"{GOOD}{block('{')}{GOOD}</tool_call>{block('')}{GOOD}"
    turn = parse_hermes(text, first_id=7)
    assert [c.id for c in turn.calls] == ["7", "9", "12"]
    assert [f.kind for f in turn.failures] == ["missing_brace", "stray_close", "empty"]
    assert turn.failure_ids() == ["8", "10", "11"]
    assert turn.next_id == 13


def test_quotes_braces_and_tags_inside_strings() -> None:
    hostile = 'a "quoted" {brace} [bracket], \\ <tool_call>{"x"</tool_call> \\" é \u2028 \U0001f600'
    text = render_hermes("f", {hostile: [hostile, {"k": hostile}]})
    turn = parse_hermes(f"{text} and {text}")
    assert [c.arguments for c in turn.calls] == [{hostile: [hostile, {"k": hostile}]}] * 2
    assert not turn.failures and turn.text == "and"


def test_a_tag_in_a_string_of_broken_json_ends_the_block() -> None:
    turn = parse_hermes('<tool_call>{"name": "f", "arguments": {"a": "x}}</tool_call>' + GOOD)
    assert [(f.kind, f.position) for f in turn.failures] == [("unterminated_string", 44)]
    assert [c.id for c in turn.calls] == ["1"]


def test_surrogate_pairs_and_escapes_are_decoded() -> None:
    (call,) = parse_hermes(arguments(r'{"a": "\ud83d\ude00 \\ud800 \/ \u00e9"}')).calls
    assert call.arguments == {"a": "\U0001f600 \\ud800 / é"}


def test_what_stands_in_a_leading_thought_is_no_call() -> None:
    thought = f'<think>I need <tool_call> tags: {GOOD} or {{"name": "f", "arguments": {{}}}}</think>'
    turn = parse_hermes(f"{thought}\n{GOOD}")
    assert [c.id for c in turn.calls] == ["0"] and not turn.failures
    assert turn.text == thought
    never_closed = parse_hermes(f"<think>hm {GOOD}")
    assert len(never_closed.calls) == 1


def test_depth_64_is_accepted() -> None:
    deep = '{"a":' * 62 + "1" + "}" * 62
    assert len(parse_hermes(arguments(f'{{"x": {deep}}}')).calls) == 1
    assert len(parse_python("[f(a=" + "[" * 62 + "]" * 62 + ")]").calls) == 1


def test_python_calls() -> None:
    text = """ [f(a=1, b=-2.5, c="x, (y)", d=None), ns.tool(e={'k': [True, False, {}]},), g()] """
    turn = parse_python(text, first_id=3)
    assert not turn.failures and turn.text == ""
    assert [(c.id, c.name, c.arguments) for c in turn.calls] == [
        ("3", "f", {"a": 1, "b": -2.5, "c": "x, (y)", "d": None}),
        ("4", "ns.tool", {"e": {"k": [True, False, {}]}}),
        ("5", "g", {}),
    ]
    assert [text[c.start : c.end][:2] for c in turn.calls] == ["f(", "ns", "g("]


def test_python_spans_count_characters() -> None:
    text = "[f(a='é😀'),\r\n g(b='ü'), h(c=1)]"
    assert [text[c.start : c.end] for c in parse_python(text).calls] == ["f(a='é😀')", "g(b='ü')", "h(c=1)"]


def test_a_faulty_python_call_does_not_take_the_others_along() -> None:
    turn = parse_python("[f(a=1), g(2), h(b=3)]")
    assert turn.calls == [Call("0", "f", {"a": 1}, 1, 7), Call("2", "h", {"b": 3}, 15, 21)]
    assert turn.failure_ids() == ["1"]
