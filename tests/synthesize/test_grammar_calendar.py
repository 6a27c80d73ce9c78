"""The calendar grammar against the calendar server."""

from __future__ import annotations

import pytest

from tasks.synthesize.grammar import grammar
from tests.synthesize.grammar_checks import SEEDS, check_form, check_works

CALENDAR = grammar("calendar")
SPARSE = frozenset(
    {
        "accept_invitation",
        "add_reminder",
        "find_free_time",
        "get_invitation",
        "get_reminder",
        "invite_colleagues",
        "list_agenda",
        "set_home_zone",
    }
)
"""Goals that about half of the entities or days cannot serve: no reminder, nothing planned, a weekend, set or taken already."""


def test_form() -> None:
    check_form(CALENDAR, goals=30)


@pytest.mark.parametrize("seed", SEEDS)
def test_referents_resolve_and_goals_execute(seed: int) -> None:
    check_works(CALENDAR, seed, rare=SPARSE)
