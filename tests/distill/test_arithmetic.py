"""Equations in text: which are found, which hold, and that no text is too much."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.distill.arithmetic import Equation, equation, equations


def found(text: str) -> list[tuple[str, bool]]:
    return [(e.text, e.holds) for e in equations(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("So 12 * 7 = 84, and 84 / 5 = 16.8.", [("12*7=84", True), ("84/5=16.8", True)]),
        ("3 + 4 = 8", [("3+4=8", False)]),
        ("2 + 2 = 4 = 1 + 3", [("2+2=4", True), ("4=1+3", True)]),
        ("total = 3 + 4 = 7 apples", [("3+4=7", True)]),
        ("1,200 + 1 = 1,201", [("1200+1=1201", True)]),
        ("$5 * 3 = $15", [("5*3=15", True)]),
        ("3 \\times 4 = 12 and 8 ÷ 2 = 4 and 2 x 3 = 6", [("3*4=12", True), ("8/2=4", True), ("2*3=6", True)]),
        ("**3 + 4 = 7**", [("3+4=7", True)]),
        ("- 3 + 4 = 7\n* 1 + 1 = 3", [("3+4=7", True), ("1+1=3", False)]),
        ("2(3 + 4) = 14", [("2(3+4)=14", True)]),
        ("-2**2 = -4; 2^3^2 = 512; 2**-1 = 0.5", [("-2**2=-4", True), ("2**3**2=512", True), ("2**-1=0.5", True)]),
        ("8 - 3 - 2 = 3 and 8 / 4 / 2 = 1", [("8-3-2=3", True), ("8/4/2=1", True)]),
        ("7.5 * 2 = 15.0", [("7.5*2=15", True)]),
        ("3 + 4 = 7.", [("3+4=7", True)]),
    ],
)
def test_equations_are_found_and_judged(text: str, expected: list[tuple[str, bool]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "holds"),
    [("10/3 = 3.33", True), ("10/3 = 3.34", False), ("10/3 = 3", False), ("0.1 + 0.2 = 0.3", True), ("2/3 = 0.7", True)],
)
def test_a_decimal_result_may_be_rounded_and_a_whole_one_may_not(text: str, holds: bool) -> None:
    assert [e.holds for e in equations(text)] == [holds]


def test_dividing_by_zero_never_holds() -> None:
    assert found("1/0 = 1/0") == [("1/0=1/0", False)]


@pytest.mark.parametrize(
    "text",
    [
        "x + 3 = 7",
        "2x + 3 = 7",
        "f(2) = 4 * 1",
        "sqrt(16) = 2 + 2",
        "20 - 5 = 15 - y",
        "3 + 4 = 7x",
        "5% * 2 = 10",
        "3:4 = 0.75 * 1",
        "12 = 12",
        "3 + 4 == 7",
        "(1 + 1 = 2",
        "1 + 1) = 2",
        "3 + = 4 * 1",
        "1,2 + 3 = 6",
        "2 ** 0.5 = 1 * 1",
        "",
        "=",
        "= = =",
    ],
)
def test_what_is_not_understood_is_no_equation(text: str) -> None:
    assert equations(text) == []


@pytest.mark.parametrize(
    "text",
    ["9**9**9 = 1", "9**64**64 = 2", "1" * 5000 + " + 1 = 2", "(" * 1000 + "1" + ")" * 1000 + " = 1", "2 ** 99999999999 = 0"],
)
def test_numbers_and_nesting_beyond_the_bounds_are_no_equation(text: str) -> None:
    assert equations(text) == []


def test_code_is_never_run() -> None:
    assert equations("__import__('os').system('true') = 1 + 1\nexec(1) = 1 * 1") == []


@pytest.mark.parametrize(
    ("piece", "each"), [("1+1=2; ", 1), ("1 ", 0), ("=", 0), ("(", 0), ("- ", 0), ("3 x ", 0), ("1,", 0), ("1.", 0), (" ", 0)]
)
def test_long_texts_end(piece: str, each: int) -> None:
    """Quadratic work on any of these would run into the test's time limit."""
    count = 200_000 // len(piece)
    assert len(equations(piece * count + "=")) == each * count


def test_one_equation_alone() -> None:
    assert equation("12 * 7 = 84") == Equation("12*7=84", True)
    assert equation("12*7=85") == Equation("12*7=85", False)
    assert equation("so 12*7=84") is None
    assert equation("12*7") is None
    assert equation("1+1=2=2*1") is None


numbers = st.integers(0, 999)


@given(numbers, st.sampled_from("+-*"), numbers, st.sampled_from("+-*"), numbers, st.integers(-1, 1))
def test_agrees_with_fractions(a: int, first: str, b: int, second: str, c: int, slip: int) -> None:
    apply = {"+": Fraction.__add__, "-": Fraction.__sub__, "*": Fraction.__mul__}
    left, middle, right = Fraction(a), Fraction(b), Fraction(c)
    if second == "*" and first != "*":
        value = apply[first](left, apply[second](middle, right))
    else:
        value = apply[second](apply[first](left, middle), right)
    assert [e.holds for e in equations(f"{a} {first} {b} {second} {c} = {value + slip}")] == [slip == 0]


@given(st.text(alphabet="0123456789+-*/^()=., xX$%\n\\timescdot", max_size=60))
def test_an_equation_that_was_found_is_one_when_written_alone(text: str) -> None:
    for each in equations(text):
        again = equation(each.text)
        assert again is not None
        assert again.text == each.text
