"""The closed vocabulary of parse faults, shared by every call form.

`FAULTS[kind]` says in one line what the kind means; it is shown to the model and in score reasons. `FaultError`
carries one fault from a scanner to the parser, which turns it into a `records.ParseFailure`: it never
leaves `tasks.toolbox`'s parsing functions, except from `strictjson.loads`.

Left out: faults of meaning (unknown tool, wrong argument type). Those are found by `schema` and by the session.
"""

from __future__ import annotations

from tasks.records import ParseFailure

FAULTS: dict[str, str] = {
    # Blocks and tags
    "unterminated": "the text ends inside a call: it was cut, or the closing tag is missing",
    "unclosed": "another <tool_call> opens before this one is closed",
    "stray_close": "a closing tag </tool_call> without an opening one",
    "empty": "nothing stands where one JSON value should",
    "untagged": "a call outside the form in which calls are written, so it is not read as one",
    # JSON
    "trailing_text": "text follows the JSON object",
    "extra_brace": "one closing brace or bracket too many",
    "several_values": "more than one JSON value in one block",
    "missing_brace": "the value ends before its last brace or bracket",
    "mismatched_brace": "a closing brace or bracket that does not match the open one",
    "trailing_comma": "a comma before a closing brace or bracket",
    "single_quotes": "single quotes instead of double quotes",
    "bare_word": "a word without quotes that is not true, false or null",
    "unterminated_string": "a string that is never closed",
    "control_character": "a raw control character, such as a newline, inside a string",
    "bad_escape": "a backslash that begins no valid escape",
    "lone_surrogate": "half of a surrogate pair, which is no character",
    "bad_number": "not a number as JSON writes it",
    "not_finite": "NaN or Infinity, which JSON does not have",
    "integer_range": "an integer beyond 64 bits",
    "number_range": "a number too large or too long for a double",
    "duplicate_key": "the same key twice in one object",
    "depth": "nested more deeply than 64 levels",
    "syntax": "not valid JSON",
    # The call object
    "not_object": "the block is valid JSON but not one object",
    "unknown_key": "a key other than name and arguments",
    "missing_name": "the call has no name",
    "name_type": "the name is not a non-empty string",
    "missing_arguments": "the call has no arguments",
    "arguments_string": "the arguments are a JSON string instead of an object (encoded twice)",
    "arguments_type": "the arguments are not an object",
    # Python-style calls
    "python_syntax": "not a list of calls in Python's syntax",
    "python_call": "an element of the list that is not a call of a named tool",
    "python_positional": "an argument without a name",
    "python_literal": "an argument that is not a literal",
    "too_long": "longer than the parser accepts",
    # Whole plans
    "plan_thought": "the plan does not begin with <think>...</think>",
    "plan_block": "no <tool_call> follows the thought",
    "plan_return": "the return attribute is not one or all",
    "plan_id": "a call id that is not a decimal number without leading zeros",
    "plan_call": "a plan entry that is not one object with exactly one tool name",
    "plan_xml": "not the XML of a plan",
}
"""Kind of a ParseFailure -> what it means, in one line."""


class FaultError(ValueError):
    """One fault: `kind` is a key of FAULTS, `position` counts characters from the start of the text."""

    def __init__(self, kind: str, position: int, message: str = "") -> None:
        super().__init__(f"{message or FAULTS[kind]} (at character {position})")
        self.kind, self.position, self.message = kind, position, message or FAULTS[kind]

    def moved(self, offset: int) -> FaultError:
        """The same fault `offset` characters further on."""
        return FaultError(self.kind, self.position + offset, self.message)

    def failure(self) -> ParseFailure:
        """The record of this fault."""
        return ParseFailure(self.kind, self.position, self.message)
