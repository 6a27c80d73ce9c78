"""Typed identifiers and common argument types of the tool servers.

An identifier type carries its entity kind into the JSON Schema as `x-entity`: an AccountId is not an
OrderId, a wrong kind is refused by the schema's pattern, and the dependency graph (an output field
feeds a required input) is derived from equal kinds instead of being guessed from names.

Left out: identifiers with check digits.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any

from pydantic import Field

from tasks.servers.tool import ToolError

ENTITY = "x-entity"
"""The schema keyword that names the entity kind of an identifier."""


def identifier(entity: str, prefix: str, digits: int = 3) -> Any:
    """The type of identifiers of `entity`: `prefix_` and exactly `digits` decimal digits."""
    return Annotated[
        str,
        Field(
            pattern=rf"^{prefix}_[0-9]{{{digits}}}$",
            description=f"Identifier ({entity.replace('_', ' ')}), like {prefix}_{'4173205'[:digits]}.",
            json_schema_extra={ENTITY: entity},
        ),
    ]


Date = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
        description="A date, YYYY-MM-DD.",
        json_schema_extra={"format": "date"},
    ),
]
Time = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", description="A time of day, HH:MM, 24 hours.")]
Amount = Annotated[float, Field(gt=0, le=1_000_000, description="An amount of money, two decimals at most.")]
Limit = Annotated[int, Field(ge=1, le=50, description="At most this many entries.")]
Text = Annotated[str, Field(min_length=1, max_length=200)]


def cents(amount: float) -> int:
    """An amount of money as integer cents. Raises ToolError(invalid_value) when it has more than two decimals."""
    exact = round(amount * 100)
    if abs(amount * 100 - exact) > 1e-6 or (exact == 0 and amount != 0):
        raise ToolError("invalid_value", f"{amount} has more than two decimals", "Give an amount like 12.50.")
    return exact


def money(amount_cents: int) -> float:
    """Integer cents as an amount with two decimals."""
    return round(amount_cents / 100, 2)


def plain(text: str, what: str = "text") -> str:
    """Free text without surrounding spaces. Raises ToolError(invalid_value) for control characters, lone
    surrogates and blank text, which no later result could show on one line."""
    text = text.strip(" ")
    if not text or not text.isprintable():
        raise ToolError("invalid_value", f"the {what} is blank or has control characters", "Give one line of plain text.")
    return text


def date_of(text: str) -> dt.date:
    """A Date argument as a date. Raises ToolError(invalid_value) when it is not in the calendar or not in 2000-2099."""
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        raise ToolError("invalid_value", f"{text[:12]!r} is no date of the calendar", "Give a date like 2026-03-14.") from None
    if not 2000 <= day.year < 2100:
        raise ToolError("invalid_value", f"the year {day.year} is out of range", "Give a year from 2000 to 2099.")
    return day


def time_of(text: str) -> dt.time:
    """A Time argument as a time of day. Raises ToolError(invalid_value) when it is none."""
    try:
        return dt.time.fromisoformat(text)
    except ValueError:
        raise ToolError("invalid_value", f"{text[:12]!r} is no time of day", "Give a time like 14:30.") from None
