"""Identifiers, argument types and result types of the crm server.

Run: nothing here runs by itself; `tasks.servers.crm` is the server.

Left out: rows, which results show only in part.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Amount, Date, identifier

CompanyId = identifier("crm_company", "cmp")
ContactId = identifier("crm_contact", "cct")
LeadId = identifier("lead", "lead")
ProductId = identifier("crm_product", "cprod")
DealId = identifier("deal", "deal")
LineId = identifier("deal_line", "dln")
NoteId = identifier("deal_note", "dnote")
ActivityId = identifier("activity", "act")
RepId = identifier("sales_rep", "rep")
TerritoryId = identifier("territory", "ter")

Stage = Literal["new", "qualified", "proposal", "negotiation", "won", "lost"]
OpenStage = Literal["new", "qualified", "proposal", "negotiation"]
LeadStatus = Literal["new", "working", "qualified", "converted", "discarded"]
Kind = Literal["call", "meeting", "email", "task"]
ActivityStatus = Literal["planned", "done", "cancelled"]
Reason = Literal["price", "timing", "competitor", "no_need"]
Source = Literal["website", "fair", "referral", "campaign"]
Industry = Literal["energy", "food", "health", "retail", "software", "transport"]

KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=50, description="A name, not yet in use.")]
Score = Annotated[int, Field(ge=0, le=100, description="How promising, 0 to 100.")]
LeastScore = Annotated[int, Field(ge=0, le=100, description="Only leads of this score or more.")]
AnyLeadStatus = Annotated[
    Literal["any", "new", "working", "qualified", "converted", "discarded"], Field(description="Only leads of this status.")
]
NewLeadStatus = Annotated[Literal["working", "qualified", "discarded"], Field(description="The status to move to.")]
NewStage = Annotated[OpenStage, Field(description="The stage to move to, next to the present one.")]
AnyStage = Annotated[
    Literal["any", "open", "new", "qualified", "proposal", "negotiation", "won", "lost"],
    Field(description="Only deals of this stage; open is all but won and lost."),
]
Lost = Annotated[Reason, Field(description="Why the deal was lost.")]
Percent = Annotated[int, Field(ge=0, le=40, description="Percent off the sum of the lines.")]
Pieces = Annotated[int, Field(ge=1, le=500, description="How many pieces.")]
Closes = Annotated[Date, Field(description="The day by which the deal should close, YYYY-MM-DD.")]
Day = Annotated[Date, Field(description="The day, YYYY-MM-DD, from today on.")]
Until = Annotated[Date, Field(description="Only deals that should close by this day, YYYY-MM-DD.")]
NoteText = Annotated[str, Field(min_length=1, max_length=120, description="The note, one line.")]
OfTerritory = Annotated[TerritoryId | None, Field(description="Only of this territory.")]
OfRep = Annotated[RepId | None, Field(description="Only deals of this sales rep.")]
IntoCompany = Annotated[CompanyId | None, Field(description="The company; a new one of the employer's name if left out.")]


# -- arguments ---------------------------------------------------------------------------------


class NewCompany(TypedDict):
    """A company to be added."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    name: NewName
    city: Annotated[str, Field(min_length=1, max_length=40, description="The city it is in.")]
    industry: NotRequired[Annotated[Industry, Field(description="What it does; retail if left out.")]]


class NewContact(TypedDict):
    """A person at a company."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    name: NewName
    job: Annotated[str, Field(min_length=1, max_length=40, description="What the person does there.")]


class NewLead(TypedDict):
    """Somebody who may buy."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    name: NewName
    employer: Annotated[str, Field(min_length=1, max_length=50, description="The company's name.")]
    city: Annotated[str, Field(min_length=1, max_length=40, description="The city the person is in.")]
    source: Annotated[Source, Field(description="Where the lead came from.")]


class NewLine(TypedDict):
    """A product and its number of pieces."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    product_id: ProductId
    pieces: Pieces


class NewActivity(TypedDict):
    """Something to be done."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    kind: Annotated[Kind, Field(description="What is to be done; all but a task need the deal's contact.")]
    subject: Annotated[str, Field(min_length=1, max_length=60, description="What it is about.")]
    day: Day


class DealFilter(TypedDict):
    """Which deals are wanted; all given conditions hold."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    rep_id: NotRequired[RepId]
    territory_id: NotRequired[TerritoryId]
    stage: NotRequired[AnyStage]
    min_amount: NotRequired[Amount]
    closes_by: NotRequired[Closes]


Lines = Annotated[list[NewLine], Field(min_length=1, max_length=6, description="What is sold, each product once.")]


# -- results -----------------------------------------------------------------------------------


class TerritoryShown(TypedDict):
    territory_id: TerritoryId
    name: str
    rep_id: RepId
    companies: int


class HandedOver(TypedDict):
    territory_id: TerritoryId
    rep_id: RepId
    deals_moved: int


class RepShown(TypedDict):
    rep_id: RepId
    name: str
    is_user: bool
    max_discount: int


class RepResults(TypedDict):
    rep_id: RepId
    won: float
    open: float
    quota: float


class CompanyRow(TypedDict):
    company_id: CompanyId
    name: str
    city: str
    territory_id: TerritoryId


class CompanyShown(TypedDict):
    company_id: CompanyId
    name: str
    industry: Industry
    territory_id: TerritoryId
    customer: bool
    open_deals: int


class CompanyMade(TypedDict):
    company_id: CompanyId
    territory_id: TerritoryId


class CompanyNamed(TypedDict):
    company_id: CompanyId
    name: str


class CompanyTwin(TypedDict):
    """Two companies that may be one."""

    company_id: CompanyId
    name: str
    duplicate_id: CompanyId
    duplicate_name: str


class CompanyMerged(TypedDict):
    company_id: CompanyId
    deals: int
    contacts: int


class ContactRow(TypedDict):
    contact_id: ContactId
    name: str
    job: str


class ContactShown(TypedDict):
    contact_id: ContactId
    name: str
    company_id: CompanyId
    job: str
    email: str


class ContactAt(TypedDict):
    contact_id: ContactId
    company_id: CompanyId


class ContactTwin(TypedDict):
    """Two contacts with one e-mail address."""

    contact_id: ContactId
    name: str
    duplicate_id: ContactId
    duplicate_name: str


class ContactMerged(TypedDict):
    contact_id: ContactId
    deals: int


class ContactGone(TypedDict):
    contact_id: ContactId
    contacts_left: int


class LeadRow(TypedDict):
    lead_id: LeadId
    name: str
    score: int
    status: LeadStatus


class LeadShown(TypedDict):
    lead_id: LeadId
    name: str
    employer: str
    territory_id: TerritoryId
    score: int
    status: LeadStatus


class LeadSet(TypedDict):
    lead_id: LeadId
    status: LeadStatus


class LeadScored(TypedDict):
    lead_id: LeadId
    score: int


class Converted(TypedDict):
    contact_id: ContactId
    company_id: CompanyId


class ProductShown(TypedDict):
    product_id: ProductId
    name: str
    price: float


class DealRow(TypedDict):
    deal_id: DealId
    name: str
    stage: Stage
    amount: float


class DealShown(TypedDict):
    deal_id: DealId
    company_id: CompanyId
    rep_id: RepId
    stage: Stage
    amount: float
    closes: str


class DealQuote(TypedDict):
    deal_id: DealId
    lines: int
    subtotal: float
    discount_percent: int
    total: float


class DealContact(TypedDict):
    deal_id: DealId
    contact_id: ContactId
    name: str


class DealAmount(TypedDict):
    deal_id: DealId
    amount: float


class DealStage(TypedDict):
    deal_id: DealId
    stage: Stage


class DealCloses(TypedDict):
    deal_id: DealId
    closes: str


class DealOwner(TypedDict):
    deal_id: DealId
    rep_id: RepId


class DealMade(TypedDict):
    deal_id: DealId
    stage: Stage
    amount: float


class LineShown(TypedDict):
    line_id: LineId
    product_id: ProductId
    name: str
    pieces: int
    price: float


class LineMade(TypedDict):
    line_id: LineId
    deal_id: DealId
    amount: float


class NoteShown(TypedDict):
    note_id: NoteId
    author: str
    text: str


class NoteCount(TypedDict):
    deal_id: DealId
    notes: int


class ActivityShown(TypedDict):
    activity_id: ActivityId
    kind: Kind
    subject: str
    deal_id: DealId
    day: str


class ActivitySet(TypedDict):
    activity_id: ActivityId
    status: ActivityStatus


class ActivityMoved(TypedDict):
    activity_id: ActivityId
    day: str


class Forecast(TypedDict):
    deals: int
    amount: float
    expected: float


class StageShown(TypedDict):
    stage: Stage
    deals: int
    amount: float
    chance_percent: int
