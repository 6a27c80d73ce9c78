"""Arithmetic equations in text that a model wrote: found, and checked exactly. Nothing is ever run as code.

    equations("So 12 * 7 = 84, and 84 / 5 = 16.8.")
    # [Equation("12*7=84", True), Equation("84/5=16.8", True)]

An equation is two neighbouring sides of a chain (`2 + 2 = 4 = 1 + 3` has two), of which one at least computes
something. Sides hold decimal literals, + - * / ** ^ and parentheses; they are computed as fractions, within bounds on
length and size. A side that is one decimal literal may be rounded: 10 / 3 = 3.33 holds. Dividing by zero never holds.
Where it cannot be told what a side is (a variable or a unit glued to it, a bracket left open, a number beyond the
bounds) there is no equation: what is not understood is never called wrong.

Left out: variables, functions, percentages, words that compute ("half of 10 + 2 = 7"), and LaTeX beyond \\times, \\cdot
and \\div.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

MAX_TOKENS = 100
"""Most tokens of one side."""
MAX_DIGITS = 40
"""Most characters of one number."""
MAX_EXPONENT = 64
"""Largest absolute value of an exponent, which must be whole."""
MAX_BITS = 4096
"""Largest size of a numerator or denominator."""

_SPELLINGS = (("\\times", "*"), ("\\cdot", "*"), ("\\div", "/"), ("×", "*"), ("·", "*"), ("÷", "/"), ("−", "-"))
_TIMES = re.compile(r"(?<=[0-9])([ \t]*)[xX]([ \t]*)(?=[0-9])")
_TOKEN = re.compile(
    r"(?P<number>[0-9]{1,3}+(?:,[0-9]{3})+(?![0-9]|,[0-9]{3})(?:\.[0-9]++)?|[0-9]++(?:\.[0-9]++)?)"
    r"|(?P<operator>\*\*|[-+*/^()=])|(?P<space>[ \t]++)|(?P<money>[$€£])"
)
_RUN = re.compile(r"(?:[0-9]++(?:[.,][0-9]++)*|[-+*/^()= \t$€£]++)+")
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "minus": 3, "plus": 3, "**": 4}


class _UnclearError(Exception):
    """What stands there is no arithmetic that this module understands."""


@dataclass(frozen=True, slots=True)
class Equation:
    """`text` without spaces and with plain numbers; `holds`: both sides are the same number."""

    text: str
    holds: bool


@dataclass(frozen=True, slots=True)
class _Side:
    text: str
    value: Fraction | None
    """None where it divides by zero."""
    computes: bool
    decimals: int | None
    """How many decimals the side's one literal has; None for anything else."""


def equations(text: str) -> list[Equation]:
    """All equations of a text, in order. Linear in its length."""
    if "=" not in text:
        return []
    for spelling, plain in _SPELLINGS:
        text = text.replace(spelling, plain)
    text = _TIMES.sub(r"\1*\2", text)
    return [equation for run in _RUN.finditer(text) if "=" in run.group() for equation in _chain(text, run.start(), run.end())]


def equation(text: str) -> Equation | None:
    """The one equation that `text` is, or None."""
    found = equations(text)
    return found[0] if len(found) == 1 and _bare(text) == found[0].text else None


def _bare(text: str) -> str:
    return "".join(text.split())


def _chain(text: str, start: int, end: int) -> list[Equation]:
    """The equations of one run of arithmetic characters."""
    tokens = [(m.lastgroup or "", m.group()) for m in _TOKEN.finditer(text, start, end)]
    if sum(len(value) for _, value in tokens) != end - start:
        return []  # a stray comma or dot, as in 1,23
    tokens, glued_left = _left(tokens, text[start - 1] if start else "\n", _before(text, start))
    tokens, glued_right = _right(tokens, text[end] if end < len(text) else "\n")
    sides: list[list[str]] = [[]]
    for kind, value in tokens:
        if value == "=":
            sides.append([])
        elif kind in ("number", "operator"):
            sides[-1].append(value)
    read = [_side(side) for side in sides]
    if glued_left:
        read[0] = None
    if glued_right:
        read[-1] = None
    return [
        Equation(f"{a.text}={b.text}", _same(a, b))
        for a, b in pairwise(read)
        if a is not None and b is not None and (a.computes or b.computes)
    ]


Tokens = list[tuple[str, str]]


def _before(text: str, start: int) -> str:
    """The last character before `start` that is no blank; a line's start is a newline."""
    while start and text[start - 1] in " \t":
        start -= 1
    return text[start - 1] if start else "\n"


def _left(tokens: Tokens, touching: str, before: str) -> tuple[Tokens, bool]:
    """(the run without a bullet or emphasis in front, whether its first side belongs to something before it)."""
    at = next((i for i, (kind, _) in enumerate(tokens) if kind != "space"), len(tokens))
    tokens, spaced = tokens[at:], at > 0
    if not tokens:
        return tokens, True
    first = tokens[0][1]
    if before == "\n" and (first in ("**", "*") or (first in "-+" and tokens[1:2] and tokens[1][0] == "space")):
        tokens = tokens[1:]  # Markdown: emphasis, or a bullet
    elif first in ("**", "*") and not (before.isalnum() or before in ")]}"):
        tokens = tokens[1:]
    elif first in "+-*/^**" and (before.isalnum() or before in ")]}%_|"):
        return tokens, True  # x + 3 = 7
    if not spaced and touching not in "\n([{<>\"'`*_~;":
        return tokens, True  # f(2) = 4, 3:4 = 0.75
    return tokens, False


def _right(tokens: Tokens, touching: str) -> tuple[Tokens, bool]:
    """(the run without emphasis or an opening bracket behind it, whether its last side goes on after it)."""
    spaced = False
    while tokens and (tokens[-1][0] == "space" or tokens[-1][1] in ("(", "$", "**") or (tokens[-1][1] == "*" and not spaced)):
        spaced = spaced or tokens[-1][0] == "space"
        tokens = tokens[:-1]
    return tokens, not spaced and (touching.isalnum() or touching in "%!_^\\")


def _side(tokens: list[str]) -> _Side | None:
    if not tokens or len(tokens) > MAX_TOKENS:
        return None
    plain = ["**" if t == "^" else _number_text(t) for t in tokens]
    literal = plain[-1] if len(plain) == 1 or (len(plain) == 2 and plain[0] in "+-") else ""
    if literal and not literal[0].isdigit():
        return None
    decimals = len(tokens[-1].partition(".")[2]) if literal else None
    try:
        value: Fraction | None = _value(plain)
    except ZeroDivisionError:
        value = None
    except _UnclearError:
        return None
    return _Side("".join(plain), value, not literal, decimals)


def _number_text(token: str) -> str:
    token = token.replace(",", "")
    return token.rstrip("0").rstrip(".") if "." in token else token


def _same(a: _Side, b: _Side) -> bool:
    if a.value is None or b.value is None:
        return False
    difference = abs(a.value - b.value)
    # A decimal literal beside a computation may be rounded to half a unit of its last place.
    rounded = next((s.decimals for s, other in ((a, b), (b, a)) if s.decimals and other.computes), 0)
    return difference == 0 or (rounded > 0 and difference <= Fraction(1, 2 * 10**rounded))


def _value(tokens: list[str]) -> Fraction:
    """The value of an expression by two stacks (shunting yard), so that no nesting can exhaust the program's own.

    Raises _UnclearError, and ZeroDivisionError.
    """
    numbers: list[Fraction] = []
    waiting: list[str] = []
    operand = False  # whether the last token ended an operand
    for token in tokens:
        if token[0].isdigit():
            if operand:
                raise _UnclearError
            numbers.append(_number(token))
            operand = True
        elif token == "(":
            if operand:  # 2(3 + 4)
                _push("*", numbers, waiting)
            waiting.append("(")
            operand = False
        elif token == ")":
            if not operand:
                raise _UnclearError
            while waiting and waiting[-1] != "(":
                _apply(waiting.pop(), numbers)
            if not waiting:
                raise _UnclearError
            waiting.pop()
        elif not operand:
            if token not in "+-":
                raise _UnclearError
            waiting.append("minus" if token == "-" else "plus")
        else:
            _push(token, numbers, waiting)
            operand = False
    if not operand:
        raise _UnclearError
    while waiting:
        if waiting[-1] == "(":
            raise _UnclearError
        _apply(waiting.pop(), numbers)
    (value,) = numbers
    return value


def _push(operator: str, numbers: list[Fraction], waiting: list[str]) -> None:
    mine = _PRECEDENCE[operator]
    while waiting and waiting[-1] != "(":
        theirs = _PRECEDENCE[waiting[-1]]
        if theirs < mine or (theirs == mine and operator == "**"):
            break
        _apply(waiting.pop(), numbers)
    waiting.append(operator)


def _apply(operator: str, numbers: list[Fraction]) -> None:
    b = numbers.pop()
    if operator in ("minus", "plus"):
        numbers.append(-b if operator == "minus" else b)
        return
    a = numbers.pop()
    match operator:
        case "+":
            value = a + b
        case "-":
            value = a - b
        case "*":
            value = a * b
        case "/":
            value = a / b
        case _:
            value = _power(a, b)
    numbers.append(_bounded(value))


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1 or abs(exponent) > MAX_EXPONENT:
        raise _UnclearError
    if _bits(base) * abs(int(exponent)) > MAX_BITS:
        raise _UnclearError
    return Fraction(base ** int(exponent))


def _number(token: str) -> Fraction:
    if len(token) > MAX_DIGITS:
        raise _UnclearError
    return Fraction(token)


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _bounded(value: Fraction) -> Fraction:
    if _bits(value) > MAX_BITS:
        raise _UnclearError
    return value
