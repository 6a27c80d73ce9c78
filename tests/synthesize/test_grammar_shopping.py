"""The shopping grammar against the shopping server."""

from __future__ import annotations

import pytest

from tasks.synthesize.grammar import grammar
from tests.synthesize.grammar_checks import SEEDS, check_form, check_works

SHOPPING = grammar("shopping")


def test_form() -> None:
    check_form(SHOPPING, goals=40)


@pytest.mark.parametrize("seed", SEEDS)
def test_referents_resolve_and_goals_execute(seed: int) -> None:
    check_works(SHOPPING, seed)
