"""The filesystem grammar against the filesystem server."""

from __future__ import annotations

import pytest

from tasks.synthesize.grammar import grammar
from tests.synthesize.grammar_checks import SEEDS, check_form, check_works

FILESYSTEM = grammar("filesystem")


def test_form() -> None:
    check_form(FILESYSTEM, goals=40)


@pytest.mark.parametrize("seed", SEEDS)
def test_referents_resolve_and_goals_execute(seed: int) -> None:
    check_works(FILESYSTEM, seed, share=0.25, rare=frozenset({"grep_folder"}))
