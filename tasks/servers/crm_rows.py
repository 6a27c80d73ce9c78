"""Rows of the crm server, the pipeline, and pure functions on them.

Run: nothing here runs by itself; `tasks.servers.crm` is the server.

Left out: currencies. Money is in cents of one currency.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from tasks.servers import crm_types as t

OPEN: tuple[t.OpenStage, ...] = ("new", "qualified", "proposal", "negotiation")
CLOSED: tuple[t.Stage, ...] = ("won", "lost")
LINES_OPEN: tuple[t.OpenStage, ...] = ("new", "qualified", "proposal")
"""Stages in which a deal's lines can change."""
PRICED: tuple[t.Stage, ...] = ("proposal", "negotiation")
"""Stages in which a discount can be given."""
CHANCE: Mapping[t.Stage, int] = {"new": 10, "qualified": 30, "proposal": 50, "negotiation": 80, "won": 100, "lost": 0}
"""Percent of a deal's amount that a forecast expects."""
LEAD_MOVES: Mapping[t.LeadStatus, tuple[t.LeadStatus, ...]] = {
    "new": ("working", "discarded"),
    "working": ("qualified", "discarded"),
    "qualified": ("working", "discarded"),
    "discarded": ("working",),
    "converted": (),
}
"""What may become of a lead; only convert_lead makes it converted."""
MOST_LINES = 8
MOST_NOTES = 20


@dataclass(frozen=True, slots=True)
class Rep:
    """`quota` in cents; `max_discount` is the most percent that the rep may give. One rep is the user."""

    rep_id: str
    name: str
    user: bool
    quota: int
    max_discount: int


@dataclass(frozen=True, slots=True)
class Territory:
    territory_id: str
    name: str
    rep_id: str


@dataclass(frozen=True, slots=True)
class Company:
    company_id: str
    name: str
    territory_id: str
    city: str
    industry: t.Industry

    @property
    def alike(self) -> tuple[str, str]:
        """What two records of one company have in common: the first word of the name, and the city."""
        return self.name.split()[0].casefold(), self.city.casefold()


@dataclass(frozen=True, slots=True)
class Contact:
    contact_id: str
    name: str
    company_id: str
    job: str
    email: str


@dataclass(frozen=True, slots=True)
class Lead:
    """`contact_id` is the contact that a converted lead became."""

    lead_id: str
    name: str
    employer: str
    city: str
    territory_id: str
    source: t.Source
    score: int
    status: t.LeadStatus = "new"
    contact_id: str = ""


@dataclass(frozen=True, slots=True)
class Product:
    product_id: str
    name: str
    price: int


@dataclass(frozen=True, slots=True)
class Line:
    """One product of a deal, at the price it had when it was added."""

    line_id: str
    deal_id: str
    product_id: str
    pieces: int
    price: int


@dataclass(frozen=True, slots=True)
class Deal:
    """`rep_id` alone changes it; `reason` is why it was lost."""

    deal_id: str
    name: str
    company_id: str
    rep_id: str
    stage: t.Stage
    closes: str
    contact_id: str = ""
    discount: int = 0
    reason: Literal["", "price", "timing", "competitor", "no_need"] = ""


@dataclass(frozen=True, slots=True)
class Note:
    """`author` is a sales rep."""

    note_id: str
    deal_id: str
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Activity:
    activity_id: str
    deal_id: str
    kind: t.Kind
    subject: str
    day: str
    status: t.ActivityStatus = "planned"


def subtotal_of(lines: Iterable[Line]) -> int:
    """The sum of lines in cents."""
    return sum(line.pieces * line.price for line in lines)


def reduced(subtotal: int, percent: int) -> int:
    """A sum in cents less a discount, rounded down."""
    return subtotal * (100 - percent) // 100


def next_to(stage: t.Stage) -> list[t.OpenStage]:
    """The stages that an open deal can move to: one back, one on."""
    place = OPEN.index(stage)  # type: ignore[arg-type]
    return [OPEN[n] for n in (place - 1, place + 1) if 0 <= n < len(OPEN)]


def address_of(name: str) -> str:
    """The e-mail address of a contact of that name."""
    return f"{'.'.join(name.lower().split())}@example.com"
