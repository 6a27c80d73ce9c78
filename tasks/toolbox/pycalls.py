"""Python-style calls, `[f(a=1), g(x="y")]`, read through the `ast` module and never evaluated.

`read_calls` first walks the text by tokens and lets pass only what lists of calls with literal arguments can
hold: so what reaches `ast.parse` is short, shallow, balanced, and without operators, keywords or prefixes of
any kind. Used by parse.parse_python and by the direct form of plans (plan.py).

Left out: positional arguments (they need the schema's order), tuples and sets (JSON has none), string
prefixes, implicit concatenation, comments.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from tasks.toolbox.faults import FAULTS, FaultError
from tasks.toolbox.strictjson import INTEGER_BOUND, MAX_DEPTH

MAX_LENGTH = 65_536
"""Longer texts (in characters) are refused: nobody writes them, and ast needs about 100 bytes a character."""
_NAME_LENGTH = 200

_ESCAPE = r"""\\(?:[\\'"abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|[0-7]{1,3})"""
_TOKEN = re.compile(
    rf"""(?P<space>[ \t\r\n]++)
    |(?P<string>"(?:[^"\\\x00-\x1f\ud800-\udfff]++|{_ESCAPE})*"|'(?:[^'\\\x00-\x1f\ud800-\udfff]++|{_ESCAPE})*')
    |(?P<number>[+-]?(?:0|[1-9][0-9]*+)(?P<point>\.[0-9]++)?(?P<power>[eE][+-]?[0-9]++)?(?![0-9A-Za-z_.]))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*+(?:\.[A-Za-z_][A-Za-z0-9_]*+)*)
    |(?P<punctuation>[\[\](){{}},=:])""",
    re.VERBOSE,
)
_HEAD = re.compile(r"""\[\s*+["']?[A-Za-z_][\w.]*+\s*+\(|\A[A-Za-z_][\w.]*+\((?:\)|[A-Za-z_]\w*+\s*+=)""")
_REFERENCE = re.compile(r"API_RESPONSE_[0-9]+(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CLOSES = {"]": "[", ")": "(", "}": "{"}


@dataclass(frozen=True, slots=True)
class PythonCall:
    """One call; `start:end` is its span of characters."""

    name: str
    arguments: dict[str, Any]
    start: int
    end: int


def looks_like_calls(text: str) -> int | None:
    """Where the first thing stands that looks like a Python-style call or a list of them; None: nowhere."""
    match = _HEAD.search(text)
    return match.start() if match else None


def read_calls(text: str, references: bool = False) -> list[PythonCall | FaultError]:
    """The calls of a text that is one list of calls and nothing else; a FaultError in place of each faulty call.

    `references`: a bare name `API_RESPONSE_k` (with an optional dotted path) is the string of that text.
    Raises FaultError when the text is no list at all.
    """
    _check_tokens(text)
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        position = _Positions(text).at(error.lineno or 1, (error.offset or 1) - 1, in_bytes=False)
        raise FaultError("python_syntax", min(position, len(text)), f"not Python: {error.msg}") from None
    if not isinstance(tree, ast.List):
        raise FaultError("python_syntax", 0)
    places = _Positions(text)
    return [_read_call(node, places, references) for node in tree.elts]


def _check_tokens(text: str) -> None:
    """Raises FaultError unless `text` has only the tokens of literal calls, in an order that cannot nest without brackets."""
    if len(text) > MAX_LENGTH:
        raise FaultError("too_long", MAX_LENGTH)
    stack: list[str] = []
    previous = ""  # what the last token was: "", "operand", "name", "open" or "separator"
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unreadable(text, position)
        token, group = match.group(), match.lastgroup
        if group == "space":
            position = match.end()
            continue
        if group != "punctuation":
            if previous in ("operand", "name"):
                raise FaultError("python_syntax", position, "two values without a comma between them")
            _check_word(match, position)
            previous = "name" if group == "name" else "operand"
        elif token in "[({":
            if (previous == "name") != (token == "(") or previous == "operand":
                raise FaultError("python_syntax", position, f"{token!r} is not allowed here")
            if len(stack) == MAX_DEPTH:
                raise FaultError("depth", position)
            stack.append(token)
            previous = "open"
        elif token in "])}":
            if not stack:
                raise FaultError("extra_brace", position)
            if stack.pop() != _CLOSES[token]:
                raise FaultError("mismatched_brace", position)
            if not stack and text[match.end() :].strip():
                after = _skip_space(text, match.end())
                if text[after] in "])}":
                    raise FaultError("extra_brace", after)
                raise FaultError("trailing_text", after, "text follows the list of calls")
            previous = "operand"
        else:
            previous = "separator"
        position = match.end()
    if stack:
        raise FaultError("missing_brace", len(text.rstrip()))


def _check_word(match: re.Match[str], position: int) -> None:
    """Bounds on one name or number."""
    token = match.group()
    if match.lastgroup == "name":
        if len(token) > _NAME_LENGTH:
            raise FaultError("python_syntax", position, f"a name of more than {_NAME_LENGTH} characters")
        for part in token.split("."):
            if keyword.iskeyword(part) and token not in ("True", "False", "None"):
                raise FaultError("python_literal", position, f"the Python keyword {part!r} is no literal")
    elif match.group("number"):
        if match.group("point") or match.group("power"):
            if len(token) > 1000 or not math.isfinite(float(token)):
                raise FaultError("number_range", position)
        elif len(token) > 20 or not -INTEGER_BOUND < int(token) < INTEGER_BOUND:
            raise FaultError("integer_range", position)


def _unreadable(text: str, position: int) -> FaultError:
    """The fault of a place where no token begins."""
    char = text[position]
    if char in "'\"":
        body = re.compile(rf"[^{char}\\\x00-\x1f\ud800-\udfff]*+(?:{_ESCAPE}[^{char}\\\x00-\x1f\ud800-\udfff]*+)*")
        match = body.match(text, position + 1)
        end = match.end() if match else len(text)
        if end == len(text):
            return FaultError("unterminated_string", position)
        if text[end] == "\\":
            return FaultError("bad_escape", end)
        return FaultError("control_character" if text[end] < " " else "lone_surrogate", end)
    if char in "+-.0123456789":
        return FaultError("bad_number", position)
    if char == "*":
        return FaultError("python_literal", position, "unpacking is not allowed")
    return FaultError("python_syntax", position, f"the character {char!r} is not allowed outside a string")


def _skip_space(text: str, position: int) -> int:
    return len(text) - len(text[position:].lstrip())


class _Positions:
    """Turns ast's lines and UTF-8 columns into positions in characters."""

    def __init__(self, text: str) -> None:
        # The tokenizer of Python ends lines at \n, \r\n and \r; control characters in strings were refused.
        self.lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
        self.starts = list(accumulate((len(line) for line in self.lines), initial=0))
        self.widths: dict[int, list[int]] = {}

    def at(self, line: int, column: int, in_bytes: bool = True) -> int:
        """The position of a column (from 0) on a line (from 1)."""
        index = min(line, len(self.lines)) - 1
        content = self.lines[index]
        if in_bytes and not content.isascii():
            if index not in self.widths:
                self.widths[index] = list(accumulate((len(char.encode()) for char in content), initial=0))
            column = bisect_right(self.widths[index], column) - 1
        return self.starts[index] + column

    def of(self, node: ast.expr | ast.keyword) -> int:
        return self.at(node.lineno, node.col_offset)


def _read_call(node: ast.expr, places: _Positions, references: bool) -> PythonCall | FaultError:
    name = _dotted(node.func) if isinstance(node, ast.Call) else ""
    if not isinstance(node, ast.Call) or not name:
        return FaultError("python_call", places.of(node))
    arguments: dict[str, Any] = {}
    try:
        if node.args:
            raise FaultError("python_positional", places.of(node.args[0]))
        for argument in node.keywords:
            if argument.arg is None:
                raise FaultError("python_literal", places.of(argument), "unpacking is not allowed")
            if argument.arg in arguments:
                raise FaultError("duplicate_key", places.of(argument), f"the argument {argument.arg[:40]!r} stands twice")
            arguments[argument.arg] = _literal(argument.value, places, references)
    except FaultError as fault:
        return fault
    end = places.at(node.end_lineno or node.lineno, node.end_col_offset or 0)
    return PythonCall(name, arguments, places.of(node), end)


def _dotted(node: ast.expr) -> str:
    """`a.b.c` of a name or of attributes of a name; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def _literal(node: ast.expr, places: _Positions, references: bool) -> Any:
    """The JSON value of a literal. Recursion is bounded by _check_tokens. Raises FaultError."""
    match node:
        case ast.Constant(value=str(text)):
            if not text.isascii() and _SURROGATE.search(text):
                raise FaultError("lone_surrogate", places.of(node))
            return text
        case ast.Constant(value=None | bool() | int() | float()):
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.UnaryOp(op=ast.UAdd(), operand=ast.Constant(value=int() | float() as number)):
            return number
        case ast.List(elts=items):
            return [_literal(item, places, references) for item in items]
        case ast.Dict(keys=keys, values=values):
            return _mapping(keys, values, places, references)
        case ast.Name() | ast.Attribute():
            name = _dotted(node)
            if references and _REFERENCE.fullmatch(name):
                return name
            raise FaultError("bare_word", places.of(node), f"{name[:40]!r} needs quotes, or is no Python literal")
        case ast.Call():
            raise FaultError("python_literal", places.of(node), "a call as an argument")
    raise FaultError("python_literal", places.of(node), FAULTS["python_literal"])


def _mapping(keys: list[ast.expr | None], values: list[ast.expr], places: _Positions, references: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in zip(keys, values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise FaultError("python_literal", places.of(key or value), "a dictionary key that is not a string")
        if key.value in result:
            raise FaultError("duplicate_key", places.of(key), f"the key {key.value[:40]!r} stands twice in one dictionary")
        result[_literal(key, places, references)] = _literal(value, places, references)
    return result


def render_calls(calls: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """A list of (name, arguments) as read_calls reads it with references. Raises ValueError for what it cannot hold."""
    return f"[{', '.join(_render_call(name, arguments) for name, arguments in calls)}]"


def _render_call(name: str, arguments: dict[str, Any]) -> str:
    for word in (*name.split("."), *arguments):
        if not word.isascii() or not word.isidentifier() or keyword.iskeyword(word):
            raise ValueError(f"{word[:40]!r} is no Python name, so the direct form cannot hold it")
    return f"{name}({', '.join(f'{key}={_render_literal(value)}' for key, value in arguments.items())})"


def _render_literal(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_render_literal(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_render_literal(item) for item in value)}]"
    if isinstance(value, str) and _REFERENCE.fullmatch(value) and not any(map(keyword.iskeyword, value.split("."))):
        return value
    return repr(value)
