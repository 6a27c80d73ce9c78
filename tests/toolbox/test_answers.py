"""JSON value equality and the final answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.toolbox.answers import equal, final_answer, multiset_equal

SAME = [
    (1, 1.0),
    (0.1 + 0.2, 0.3),
    (1_000_000.0, 1_000_000.5),
    (-5, -5.000001),
    (10**400, 10**400),
    ("a", "a"),
    (None, None),
    (True, True),
    ({"a": 1, "b": [2, {"c": None}]}, {"b": [2.0, {"c": None}], "a": 1}),
    ([], []),
    ({}, {}),
]
DIFFERENT = [
    (1, True),
    (0, False),
    (0.0, False),
    (1, "1"),
    (1_000_000, 1_000_001),  # integers exactly
    (1.0, 1.00001),
    (0.0, 1e-12),  # the tolerance is relative
    (float("nan"), float("nan")),
    (float("inf"), 1e308),
    (10**400, 1.5),
    ("a", "A"),
    ("a", "a "),
    (None, False),
    (None, 0),
    ("", None),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ([], {}),
    ({"a": None}, {}),
    ({"a": 1}, {"b": 1}),
    ({"a": 1}, {"a": 1, "b": 1}),
    ([[1]], [[True]]),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_same(a: Any, b: Any) -> None:
    assert equal(a, b) and equal(b, a) and multiset_equal([a, "x"], ["x", b])


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_different(a: Any, b: Any) -> None:
    assert not equal(a, b) and not equal(b, a)
    assert not multiset_equal([a], [b]) and not multiset_equal(["x", a], [b, "x"])


def test_multisets_count() -> None:
    assert multiset_equal([], [])
    assert not multiset_equal([1], [])
    assert not multiset_equal([1, 1, 2], [1, 2, 2])
    assert multiset_equal([{"a": 1, "b": 2}, 1, 1.0], [1, {"b": 2.0, "a": 1}, 1])
    assert not multiset_equal([1, True], [1, 1])
    assert not multiset_equal([float("nan")], [None])
    assert not multiset_equal([float("nan")], [float("nan")])


def test_pairing_finds_the_pairing_that_exists() -> None:
    # b equals both a and c, a and c differ: pairing b with the first that fits would fail in one of the orders.
    a, b, c = 1.0, 1.0 + 0.8e-6, 1.0 + 1.6e-6
    assert equal(a, b) and equal(b, c) and not equal(a, c)
    for left in ([b, a], [a, b]):
        for right in ([b + 1e-9, c], [c, b + 1e-9]):
            assert multiset_equal(left, right)
    assert not multiset_equal([a, a], [b, c])


NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 1.0 + 5e-7, -1.0, 2.0, True, None, "1"])


@given(st.lists(NUMBERS | st.lists(NUMBERS, max_size=2), max_size=5), st.randoms())
def test_order_does_not_matter(values: list[Any], random: Any) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    assert multiset_equal(values, shuffled)
    assert not values or not multiset_equal(values, [*shuffled[1:], "other"]) or shuffled[0] == "other"


@pytest.mark.parametrize(
    ("text", "found", "value"),
    [
        ("Answer: 12", True, 12),
        ("Answer:12.50", True, 12.5),
        ("I looked.\n\nAnswer: true\n", True, True),
        ('Answer: "12"', True, "12"),
        ("Answer: Ann Lee ", True, "Ann Lee"),
        ('Answer: {"a": [1]}\nThat is all.', True, {"a": [1]}),
        ('Answer: {\n "a": 1\n}', True, {"a": 1}),
        ("Answer:\n[1, 2]", True, [1, 2]),
        ("Answer: 1\nAnswer: 2", True, 2),
        ("Answer: 1\r\nbye", True, 1),
        ("Answer: NaN", True, "NaN"),
        ('Answer: {"a": 1, "a": 2}', True, '{"a": 1, "a": 2}'),
        ("Answer:", True, ""),
        ("Answer: null", True, None),
        ("Answer: two\nor three", True, "two"),
        ("The Answer: 12", False, None),
        (" Answer: 12", False, None),
        ("answer: 12", False, None),
        ("", False, None),
    ],
)
def test_final_answer(text: str, found: bool, value: Any) -> None:
    assert final_answer(text) == (found, value)
