"""JSON Pointers: what stands where, and nothing where nothing does."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.toolbox.pointer import at, get, parts

VALUE: dict[str, Any] = {"cards": [{"id": 7}, None], "a/b": {"~": 1}, "": 2}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [("", VALUE), ("/cards/0/id", 7), ("/cards/1", None), ("/a~1b/~0", 1), ("/", 2), ("/cards", VALUE["cards"])],
)
def test_what_stands_there_is_found(pointer: str, found: Any) -> None:
    assert at(VALUE, pointer) == found == get(VALUE, pointer)


@pytest.mark.parametrize(
    "pointer", ["/cards/2", "/cards/-1", "/cards/²", "/cards/x", "/none", "/cards/0/id/more", "/cards/1/id"]
)
def test_where_nothing_stands_there_is_nothing(pointer: str) -> None:
    assert get(VALUE, pointer) is None
    with pytest.raises(LookupError):
        at(VALUE, pointer)


def test_parts_are_unescaped_in_the_right_order() -> None:
    assert parts("/~01/a~1b") == ["~1", "a/b"]
    assert parts("") == []
