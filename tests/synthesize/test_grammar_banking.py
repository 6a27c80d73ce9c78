"""The banking grammar against the banking server."""

from __future__ import annotations

import pytest

from tasks.synthesize.grammar import grammar
from tests.synthesize.grammar_checks import SEEDS, check_form, check_works

BANKING = grammar("banking")


def test_form() -> None:
    check_form(BANKING, goals=30)


@pytest.mark.parametrize("seed", SEEDS)
def test_referents_resolve_and_goals_execute(seed: int) -> None:
    check_works(BANKING, seed)
