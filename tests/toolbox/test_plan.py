"""Whole plans in their three forms: the format rules of METHODS.md 1.1, and every fault with its position."""

from __future__ import annotations

import pytest

from tasks.records import Call
from tasks.toolbox.plan import Form, Plan, parse_plan, render_plan

HEAD = '<think>t</think><tool_call return="one">'
TAIL = "</tool_call>"


def marked(body: str) -> str:
    return HEAD + body + TAIL


def api(inner: str) -> str:
    return marked(f'<api id="0"><name>f</name>{inner}</api>')


PLAN_FAULTS: list[tuple[str, Form, str]] = [
    ("plan_thought", "json", "§I cannot do that."),
    ("plan_thought", "json", 'x §<tool_call return="one">{}</tool_call>'),
    ("plan_thought", "json", "<think>I think and§"),
    ("plan_block", "json", "<think>t</think>\n§No."),
    ("plan_block", "json", "<think>t</think>§"),
    ("plan_block", "json", '<think>t</think> §text <tool_call return="one">{}</tool_call>'),
    ("plan_return", "json", "<think>t</think><tool_call§>{}</tool_call>"),
    ("plan_return", "json", '<think>t</think><tool_call§ return="both">{}</tool_call>'),
    ("plan_return", "json", "<think>t</think><tool_call§ return=one>{}</tool_call>"),
    ("unterminated", "json", HEAD + '{"0": {"f": {}}}§'),
    ("not_object", "json", marked(' §["f"]')),
    ("empty", "json", marked("§")),
    ("plan_id", "json", marked('{§"a": {"f": {}}}')),
    ("plan_id", "json", marked('{"0": {"f": {}}, §"01": {"f": {}}}')),
    ("plan_id", "json", marked('{§"²": {"f": {}}}')),
    ("plan_call", "json", marked('{"0": §"f"}')),
    ("plan_call", "json", marked('{"0": §{}}')),
    ("plan_call", "json", marked('{"0": §{"f": {}, "g": {}}}')),
    ("name_type", "json", marked('{"0": {§"": {}}}')),
    ("arguments_type", "json", marked('{"0": {"f": §null}}')),
    ("arguments_string", "json", marked('{"0": {"f": §"{}"}}')),
    ("duplicate_key", "json", marked('{"0": {"f": {}}, §"0": {"g": {}}}')),
    ("duplicate_key", "json", marked('{"0": {"f": {"a": 1, §"a": 2}}}')),
    ("not_finite", "json", marked('{"0": {"f": {"a": §NaN}}}')),
    ("missing_brace", "json", marked('{"0": {"f": {}}§\n')),
    ("unterminated_string", "json", marked('{"0": {"f": {"a": §"x}}}')),
    ("plan_xml", "xml", marked('<api id="0"><name>f</§api>')),
    ("plan_xml", "xml", marked('é<api id="0"><name>f</§api>')),
    ("plan_xml", "xml", marked("§<call/>")),
    (
        "plan_xml",
        "xml",
        marked('<none/>§<api id="0"><name>f</name></api>')[:0] + marked('§<none/><api id="0"><name>f</name></api>'),
    ),
    ("plan_xml", "xml", marked("§<api><name>f</name></api>")),
    ("plan_xml", "xml", marked('§<api id="0">text<name>f</name></api>')),
    ("plan_xml", "xml", api('<param name="a">§<b/></param>')),
    ("plan_xml", "xml", api('§<param name="a" type="boolean">True</param>')),
    ("plan_xml", "xml", api('§<param name="a" type="tuple">1</param>')),
    ("plan_xml", "xml", api('§<param name="a" type="placeholder">0</param>')),
    ("plan_xml", "xml", api("§<param>1</param>")),
    ("plan_xml", "xml", marked("§&x;")),
    ("plan_call", "xml", marked('§<api id="0"></api>')),
    ("plan_id", "xml", marked('§<api id="one"><name>f</name></api>')),
    ("name_type", "xml", marked('<api id="0">§<name> </name></api>')),
    ("duplicate_key", "xml", marked('<api id="0"><name>f</name></api>§<api id="0"><name>f</name></api>')),
    ("duplicate_key", "xml", api('<param name="a">1</param>§<param name="a">2</param>')),
    ("bad_number", "xml", api('§<param name="a" type="integer">1.5</param>')),
    ("bad_number", "xml", api('§<param name="a" type="float">ten</param>')),
    ("integer_range", "xml", api(f'§<param name="a" type="integer">{2**63}</param>')),
    ("depth", "xml", marked("<a>" * 64 + "§<a>" + "</a>" * 65)),
    ("lone_surrogate", "xml", marked("é§\udc00")),
    ("empty", "xml", marked("§")),
    ("python_syntax", "direct", marked("\n§f(a=1)")),
    ("python_positional", "direct", marked("[f(§1)]")),
    ("bare_word", "direct", marked("[f(a=§API_RESPONSE_x)]")),
    ("empty", "direct", marked("§ ")),
]


@pytest.mark.parametrize(("kind", "form", "text"), PLAN_FAULTS)
def test_fault_and_position(kind: str, form: Form, text: str) -> None:
    plan = parse_plan(text.replace("§", ""), form)
    assert plan.failure is not None
    assert (plan.failure.kind, plan.failure.position) == (kind, text.index("§"))
    assert plan.calls == [] and plan.failure.message


CALLS = [
    Call("0", "GetLocation", {}),
    Call("1", "Find", {"location": "API_RESPONSE_0", "price": {"min": 1, "max": 2.5}, "tags": ["a", None, True]}),
    Call("2", "Book", {"id": "API_RESPONSE_1.items.id", "note": 'é & <b> "q" \\ \n\t\r ]]>', "none": [], "more": {}}),
]


@pytest.mark.parametrize("form", ["json", "xml", "direct"])
@pytest.mark.parametrize("returns", ["one", "all"])
def test_render_and_parse(form: Form, returns: str) -> None:
    text = render_plan(CALLS, returns, "First <here>,\nthen there.", form)
    plan = parse_plan(f"Well.\n{text}\nThat is it.", form)
    assert plan.failure is None and plan.returns == returns and plan.thought == "First <here>,\nthen there."
    assert [(c.id, c.name, c.arguments) for c in plan.calls] == [(c.id, c.name, c.arguments) for c in CALLS]
    assert {f"Well.\n{text}"[c.start : c.end][:10] for c in plan.calls} == {"<tool_call"}


@pytest.mark.parametrize("form", ["json", "xml", "direct"])
def test_the_empty_plan_is_no_failure(form: Form) -> None:
    assert parse_plan(render_plan([], "one", "", form), form) == Plan([], "one")


def test_format_rules() -> None:
    plan = parse_plan(
        """<think a="b">x</think> \n <tool_call return = 'all' >{"2": {"g": {}}, "10": {"h": {}}, "1": {"f": {}}}</tool_call>"""
    )
    assert [(c.id, c.name) for c in plan.calls] == [("1", "f"), ("2", "g"), ("10", "h")] and plan.returns == "all"
    twice = parse_plan(marked('{"0": {"f": {}}}') + marked('{"0": {"g": {}}}'))
    assert [c.name for c in twice.calls] == ["f"]
    quoted = parse_plan('<think>not </think> yet</think><tool_call return="one">{}</tool_call>')
    assert quoted.failure is None and quoted.thought == "not </think> yet"


def test_a_closing_tag_inside_a_string() -> None:
    text = 'a </tool_call> b "c" \\'
    plan = parse_plan(render_plan([Call("0", "f", {"x": text})], "one", "t"))
    assert plan.calls[0].arguments == {"x": text}


def test_xml_types_follow_from_the_children() -> None:
    plan = parse_plan(
        api(
            '<param name="a"><field name="k" type="integer"> 5 </field><field name="l">x</field></param>'
            '<param name="b"><item><field name="m" type="float">5</field></item><item>y</item></param>'
            '<param name="c"><response api_id="3" api_name="g"/></param>'
        ),
        "xml",
    )
    assert plan.calls[0].arguments == {"a": {"k": 5, "l": "x"}, "b": [{"m": 5.0}, "y"], "c": "API_RESPONSE_3"}


@pytest.mark.parametrize(
    ("call", "thought", "form"),
    [
        (Call("0", "f", {}), "</think>", "json"),
        (Call("0", "f", {"a": "\x00"}), "", "xml"),
        (Call("0", " f", {}), "", "xml"),
        (Call("0", "f", {"a b": 1}), "", "direct"),
        (Call("0", "f", {"class": 1}), "", "direct"),
        (Call("0", "f", {"a": "</tool_call>"}), "", "direct"),
    ],
)
def test_what_a_form_cannot_hold_is_refused(call: Call, thought: str, form: Form) -> None:
    with pytest.raises(ValueError):
        render_plan([call], "one", thought, form)
