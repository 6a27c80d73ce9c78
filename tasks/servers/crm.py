"""The customer relations server: companies, leads that become contacts, deals on a pipeline, activities and territories.

    with environment(["crm"]).session(7) as session:
        session.call("find_lead", {"name": "Ada Lovelace"})

A lead is converted once, into a contact of a company. A deal's amount is the sum of its lines, and it moves along the pipeline
one stage at a time; won or lost, it stays so. The user sells in their own territories and sees all of them. Merging
companies moves everything of one to the other.

Left out: campaigns, files, and customers who act by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Amount, Date, Limit, cents, date_of, identifier, money, plain
from tasks.servers.world import World, words

CompanyId = identifier("crm_company", "cmp")
LeadId = identifier("lead", "lead")
ContactId = identifier("crm_contact", "cct")
DealId = identifier("deal", "deal")
LineId = identifier("deal_line", "dln")
ActivityId = identifier("activity", "act")
RepId = identifier("sales_rep", "rep")
TerritoryId = identifier("territory", "ter")

STAGES = ("new", "qualified", "proposal", "negotiation")
Stage = Literal["new", "qualified", "proposal", "negotiation", "won", "lost"]
AnyStage = Annotated[
    Literal["any", "new", "qualified", "proposal", "negotiation", "won", "lost"], Field(description="Only deals in this stage.")
]
Kind = Annotated[Literal["call", "meeting", "email", "task"], Field(description="What is to be done.")]
LeadStatus = Literal["open", "converted", "discarded"]
ActivityStatus = Literal["planned", "done", "cancelled"]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=50, description="A name, not yet in use.")]
Line = Annotated[str, Field(min_length=1, max_length=80, description="One line of text.")]

PRODUCTS = words(
    """Beacon Compass Dynamo Engine Filter Gasket Hydrant Inverter Jigsaw Kiln Lathe Magnet Nozzle Oscillator Piston Relay
    Sensor Turbine Valve Winch Actuator Bearing Conveyor Damper Encoder Flange Gearbox Hoist Impeller Lever Manifold Pulley"""
)
REGIONS = words(
    """Northlands Southmere Eastwick Westmoor Highcliff Lowfield Midvale Uplands Lakeshore Riverbend Coastline Hillcrest
    Woodland Plainview Stonegate Brightwater Fairmeadow Goldcrest Greenhaven Ironridge Maplewood Oakdale Pinehurst Redcliff
    Silverton Springdale Thornbury Wheatland Windhaven Ashgrove Birchwood Clearwater"""
)
DEALS = words(
    """Renewal Upgrade Pilot Rollout Expansion Retrofit Overhaul Refit Trial Framework Bundle Migration Supply Service License
    Fleet Campus Depot Plant Warehouse Terminal Harbor Stadium Clinic Bakery Brewery Foundry Quarry Nursery Marina Airfield"""
)


@dataclass(frozen=True, slots=True)
class Territory:
    territory_id: str
    name: str
    rep_id: str


@dataclass(frozen=True, slots=True)
class Rep:
    rep_id: str
    name: str
    user: bool = False


@dataclass(frozen=True, slots=True)
class Company:
    company_id: str
    name: str
    territory_id: str
    city: str


@dataclass(frozen=True, slots=True)
class Lead:
    lead_id: str
    name: str
    employer: str
    territory_id: str
    score: int
    status: LeadStatus = "open"
    contact_id: str = ""


@dataclass(frozen=True, slots=True)
class Contact:
    contact_id: str
    name: str
    company_id: str
    email: str


@dataclass(frozen=True, slots=True)
class Product:
    """One line of a deal."""

    line_id: str
    deal_id: str
    name: str
    pieces: int
    price: int


@dataclass(frozen=True, slots=True)
class Deal:
    deal_id: str
    name: str
    company_id: str
    stage: Stage
    closes: str
    contact_id: str = ""
    discount: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Activity:
    activity_id: str
    kind: Literal["call", "meeting", "email", "task"]
    name: str
    deal_id: str
    day: str
    status: ActivityStatus = "planned"


class CompanyShown(TypedDict):
    company_id: CompanyId
    name: str
    city: str
    territory_id: TerritoryId


class LeadShown(TypedDict):
    lead_id: LeadId
    name: str
    employer: str
    score: int
    status: LeadStatus


class LeadDone(TypedDict):
    lead_id: LeadId
    status: LeadStatus


class Converted(TypedDict):
    contact_id: ContactId
    company_id: CompanyId


class ContactShown(TypedDict):
    contact_id: ContactId
    name: str
    company_id: CompanyId
    email: str


class DealShown(TypedDict):
    deal_id: DealId
    name: str
    stage: Stage
    amount: float
    closes: str


class DealTold(TypedDict):
    deal_id: DealId
    company_id: CompanyId
    stage: Stage
    amount: float
    discount: int
    contact: str


class DealDone(TypedDict):
    deal_id: DealId
    stage: Stage
    amount: float


class LineShown(TypedDict):
    line_id: LineId
    name: str
    pieces: int
    price: float


class ActivityShown(TypedDict):
    activity_id: ActivityId
    kind: Literal["call", "meeting", "email", "task"]
    name: str
    deal_id: DealId
    day: str


class ActivityDone(TypedDict):
    activity_id: ActivityId
    status: ActivityStatus


class RepShown(TypedDict):
    rep_id: RepId
    name: str
    territories: int


class TerritoryShown(TypedDict):
    territory_id: TerritoryId
    name: str
    rep_id: RepId


class Forecast(TypedDict):
    deals: int
    amount: float
    expected: float


class StageShown(TypedDict):
    stage: Stage
    deals: int
    amount: float


class Merged(TypedDict):
    company_id: CompanyId
    deals: int
    contacts: int


class NewLine(TypedDict):
    """A product with its number of pieces and the price of one."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    name: Annotated[str, Field(min_length=1, max_length=40, description="The product.")]
    pieces: Annotated[int, Field(ge=1, le=1000, description="How many.")]
    price: Amount


CHANCE = {"new": 10, "qualified": 30, "proposal": 50, "negotiation": 80, "won": 100, "lost": 0}
"""Per cent of a deal's amount that a forecast expects."""


class Crm(Server):
    """One sales team's book; the user is one of its representatives."""

    name = "crm"
    title = "Companies, leads, contacts, deals and activities of a sales team."

    territories: Table[Territory]
    reps: Table[Rep]
    companies: Table[Company]
    leads: Table[Lead]
    contacts: Table[Contact]
    deals: Table[Deal]
    lines: Table[Product]
    activities: Table[Activity]

    @classmethod
    def seed(cls, world: World) -> Seed:
        people = world.people()
        reps = {key: Rep(key, people[n].name, n == 0) for n, key in enumerate(world.ids("rep", 4))}
        keys = list(reps)
        territories = {
            key: Territory(key, name, keys[n % 4] if n > 1 else keys[0])
            for n, (key, name) in enumerate(zip(world.ids("ter", 5), world.picks(REGIONS, 5), strict=False))
        }
        places = list(territories)
        firms = list(dict.fromkeys(world.company() for _ in range(30)))[:10]
        companies = {
            key: Company(key, name, places[n % len(places)], world.city())
            for n, (key, name) in enumerate(zip(world.ids("cmp", 10), firms, strict=False))
        }
        names = list(dict.fromkeys(world.person() for _ in range(60)))
        contacts = {
            key: Contact(key, name, world.choice(list(companies)), f"{name.replace(' ', '.').lower()}@example.com")
            for key, name in zip(world.ids("cct", 14), names[:14], strict=False)
        }
        leads = {
            key: Lead(key, name, world.company(), world.choice(places), world.rng.randint(5, 95))
            for key, name in zip(world.ids("lead", 12), names[14:26], strict=False)
        }
        titles = list(dict.fromkeys(f"{world.pick(PRODUCTS)} {world.pick(DEALS)}" for _ in range(60)))[:16]
        deals: dict[str, Deal] = {}
        lines: dict[str, Product] = {}
        numbers = iter(world.ids("dln", 60))
        stages: tuple[Stage, ...] = ("new", "new", "qualified", "qualified", "proposal", "negotiation", "won", "lost")
        for n, (key, title) in enumerate(zip(world.ids("deal", 16), titles, strict=False)):
            company = world.choice(list(companies))
            own = [c.contact_id for c in contacts.values() if c.company_id == company]
            stage = stages[n % len(stages)]
            contact = world.choice(own) if own else ""
            if stage in ("proposal", "negotiation") and not contact:
                stage = "qualified"
            deals[key] = Deal(key, title, company, stage, world.day(5, 90), contact, 0, "price" if stage == "lost" else "")
            for product in world.picks(PRODUCTS, world.rng.randint(1, 3)):
                line = Product(next(numbers), key, product, world.rng.randint(1, 20), world.amount(20, 400))
                lines[line.line_id] = line
        activities = {
            key: Activity(key, kind, f"{kind} about {world.pick(PRODUCTS)}", world.choice(list(deals)), world.day(-5, 20))
            for key, kind in zip(world.ids("act", 10), ("call", "meeting", "email", "task") * 3, strict=False)
        }
        activities = {k: a for k, a in activities.items() if deals[a.deal_id].stage not in ("won", "lost")}
        return {
            "territories": territories,
            "reps": reps,
            "companies": companies,
            "leads": leads,
            "contacts": contacts,
            "deals": deals,
            "lines": lines,
            "activities": activities,
        }

    # -- companies and people ----------------------------------------------------------------------

    @tool(read_only=True)
    def find_company(self, name: KnownName) -> CompanyShown:
        """Finds a company by its name."""
        return _company_shown(named(self.companies.values(), name, "company", "list_companies"))

    @tool(read_only=True)
    def list_companies(
        self, territory_id: Annotated[TerritoryId | None, Field(description="Only of this territory.")] = None, limit: Limit = 5
    ) -> list[CompanyShown]:
        """Lists companies, all or those of one territory."""
        if territory_id is not None:
            self._territory(territory_id)
        rows = self.companies.where(lambda c: territory_id in (None, c.territory_id))
        return [_company_shown(row) for row in rows[: int(limit)]]

    @tool()
    def add_company(
        self,
        name: NewName,
        territory_id: TerritoryId,
        city: Annotated[str, Field(min_length=1, max_length=40, description="Where it is.")],
    ) -> CompanyShown:
        """Adds a company to one of the user's territories."""
        self._check_mine(territory_id)
        name = unused(self.companies.values(), name, "company")
        place = plain(city, "city")
        key = self.companies.fresh("cmp", name)
        return _company_shown(self.companies.put(key, Company(key, name, territory_id, place)))

    @tool(destructive=True)
    def merge_companies(self, kept_id: CompanyId, merged_id: CompanyId) -> Merged:
        """Moves all deals and contacts of one company to another of the same territory, and removes the first."""
        kept, merged = self._company(kept_id), self._company(merged_id)
        if kept_id == merged_id:
            raise ToolError("invalid_value", "both are the same company", "Give two different companies.")
        if kept.territory_id != merged.territory_id:
            raise ToolError("conflict", "they are in different territories", "Merge companies of one territory.")
        self._check_mine(kept.territory_id)
        for deal in self.deals.where(lambda d: d.company_id == merged_id):
            self.deals.update(deal.deal_id, company_id=kept_id)
        for contact in self.contacts.where(lambda c: c.company_id == merged_id):
            self.contacts.update(contact.contact_id, company_id=kept_id)
        self.companies.remove(merged_id)
        return {
            "company_id": kept_id,
            "deals": sum(d.company_id == kept_id for d in self.deals.values()),
            "contacts": sum(c.company_id == kept_id for c in self.contacts.values()),
        }

    @tool(read_only=True)
    def find_contact(self, name: KnownName) -> ContactShown:
        """Finds a contact by the full name."""
        return _contact_shown(named(self.contacts.values(), name, "contact", "list_company_contacts"))

    @tool(read_only=True)
    def list_company_contacts(self, company_id: CompanyId, limit: Limit = 5) -> list[ContactShown]:
        """Lists the contacts at a company."""
        self._company(company_id)
        return [_contact_shown(c) for c in self.contacts.where(lambda c: c.company_id == company_id)[: int(limit)]]

    @tool(read_only=True)
    def find_lead(self, name: KnownName) -> LeadShown:
        """Finds a lead by the full name."""
        return _lead_shown(named(self.leads.values(), name, "lead", "list_leads"))

    @tool(read_only=True)
    def list_leads(
        self,
        least_score: Annotated[int, Field(ge=0, le=100, description="Only leads of this score or more.")] = 0,
        limit: Limit = 5,
    ) -> list[LeadShown]:
        """Lists open leads, the best first."""
        rows = self.leads.where(lambda r: r.status == "open" and r.score >= least_score)
        return [_lead_shown(row) for row in sorted(rows, key=lambda r: (-r.score, r.lead_id))[: int(limit)]]

    @tool()
    def convert_lead(self, lead_id: LeadId, company_id: CompanyId) -> Converted:
        """Makes an open lead a contact of a company in the lead's territory."""
        lead, company = self._lead(lead_id), self._company(company_id)
        self._check_mine(lead.territory_id)
        if company.territory_id != lead.territory_id:
            raise ToolError("conflict", "the company is in another territory", "list_companies shows a territory's companies.")
        key = self.contacts.fresh("cct", lead.name, company_id)
        email = f"{lead.name.replace(' ', '.').lower()}@example.com"
        self.contacts.put(key, Contact(key, lead.name, company_id, email))
        self.leads.update(lead_id, status="converted", contact_id=key)
        return {"contact_id": key, "company_id": company_id}

    @tool()
    def discard_lead(self, lead_id: LeadId) -> LeadDone:
        """Gives up an open lead of the user's territories."""
        self._check_mine(self._lead(lead_id).territory_id)
        self.leads.update(lead_id, status="discarded")
        return {"lead_id": lead_id, "status": "discarded"}

    @tool(idempotent=True)
    def score_lead(self, lead_id: LeadId, score: Annotated[int, Field(ge=0, le=100, description="0 to 100.")]) -> LeadShown:
        """Changes how promising an open lead is."""
        self._lead(lead_id)
        return _lead_shown(self.leads.update(lead_id, score=int(score)))

    # -- deals -------------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_deal(self, name: KnownName) -> DealShown:
        """Finds a deal by its name."""
        return self._deal_shown(named(self.deals.values(), name, "deal", "list_deals"))

    @tool(read_only=True)
    def list_deals(self, stage: AnyStage = "any", limit: Limit = 5) -> list[DealShown]:
        """Lists deals, in all stages or one."""
        return [self._deal_shown(d) for d in self.deals.values() if stage in ("any", d.stage)][: int(limit)]

    @tool(read_only=True)
    def list_company_deals(self, company_id: CompanyId, limit: Limit = 5) -> list[DealShown]:
        """Lists a company's deals."""
        self._company(company_id)
        return [self._deal_shown(d) for d in self.deals.where(lambda d: d.company_id == company_id)[: int(limit)]]

    @tool(read_only=True)
    def get_deal(self, deal_id: DealId) -> DealTold:
        """A deal's company, stage, amount, discount in per cent and contact."""
        row = self._deal(deal_id)
        return {
            "deal_id": deal_id,
            "company_id": row.company_id,
            "stage": row.stage,
            "amount": money(self._amount(row)),
            "discount": row.discount,
            "contact": self.contacts[row.contact_id].name if row.contact_id else "nobody",
        }

    @tool()
    def open_deal(
        self,
        name: NewName,
        company_id: CompanyId,
        lines: Annotated[list[NewLine], Field(min_length=1, max_length=6, description="What is sold.")],
    ) -> DealDone:
        """Opens a new deal with a company of the user's territories, to close in 60 days."""
        self._check_mine(self._company(company_id).territory_id)
        name = unused(self.deals.values(), name, "deal")
        products = [(plain(line["name"], "name"), int(line["pieces"]), cents(line["price"])) for line in lines]
        key = self.deals.fresh("deal", name)
        closes = self.now.date().fromordinal(self.now.date().toordinal() + 60).isoformat()
        row = self.deals.put(key, Deal(key, name, company_id, "new", closes))
        for n, (product, pieces, price) in enumerate(products):
            line_id = self.lines.fresh("dln", key, n, product)
            self.lines.put(line_id, Product(line_id, key, product, pieces, price))
        return self._done(row)

    @tool(read_only=True)
    def list_deal_lines(self, deal_id: DealId, limit: Limit = 5) -> list[LineShown]:
        """Lists what a deal sells."""
        self._deal(deal_id)
        rows = self.lines.where(lambda r: r.deal_id == deal_id)[: int(limit)]
        return [{"line_id": r.line_id, "name": r.name, "pieces": r.pieces, "price": money(r.price)} for r in rows]

    @tool()
    def add_deal_line(self, deal_id: DealId, line: Annotated[NewLine, Field(description="What is sold.")]) -> DealDone:
        """Adds a product to a deal that is open."""
        row = self._open(deal_id)
        product, price = plain(line["name"], "name"), cents(line["price"])
        count = sum(r.deal_id == deal_id for r in self.lines.values())
        if count >= 12:
            raise ToolError("insufficient", "a deal has 12 lines at most", "Use remove_deal_line first.")
        key = self.lines.fresh("dln", deal_id, product, int(line["pieces"]), price)
        self.lines.put(key, Product(key, deal_id, product, int(line["pieces"]), price))
        return self._done(row)

    @tool(destructive=True)
    def remove_deal_line(self, line_id: LineId) -> DealDone:
        """Removes a product from an open deal; the last one stays."""
        line = existing(self.lines, line_id, "line", "list_deal_lines")
        row = self._open(line.deal_id)
        if sum(r.deal_id == line.deal_id for r in self.lines.values()) == 1:
            raise ToolError("wrong_state", "this is the deal's only line", "Add another one first, or lose the deal.")
        self.lines.remove(line_id)
        return self._done(row)

    @tool()
    def advance_deal(self, deal_id: DealId) -> DealDone:
        """Moves an open deal one stage on; a proposal needs a contact."""
        row = self._open(deal_id)
        if row.stage == STAGES[-1]:
            raise ToolError("wrong_state", f"{deal_id} is in negotiation", "Use win_deal or lose_deal.")
        after = STAGES[STAGES.index(row.stage) + 1]
        if after == "proposal" and not row.contact_id:
            raise ToolError("wrong_state", "nobody gets this proposal", "Use set_deal_contact first.")
        return self._done(self.deals.update(deal_id, stage=after))

    @tool(idempotent=True)
    def set_deal_contact(self, deal_id: DealId, contact_id: ContactId) -> DealTold:
        """Names the contact of an open deal, somebody at its company."""
        row = self._open(deal_id)
        contact = existing(self.contacts, contact_id, "contact", "list_company_contacts")
        if contact.company_id != row.company_id:
            raise ToolError("conflict", f"{contact.name} is at another company", "list_company_contacts shows who is there.")
        self.deals.update(deal_id, contact_id=contact_id)
        return self.get_deal(deal_id)

    @tool(idempotent=True)
    def set_deal_discount(
        self, deal_id: DealId, percent: Annotated[int, Field(ge=0, le=40, description="Off the amount.")]
    ) -> DealDone:
        """Changes the discount of an open deal; above 20 only in negotiation."""
        row = self._open(deal_id)
        if percent > 20 and row.stage != "negotiation":
            raise ToolError("denied", "more than 20 per cent needs negotiation", "Use advance_deal first, or give less.")
        return self._done(self.deals.update(deal_id, discount=int(percent)))

    @tool(idempotent=True)
    def reschedule_deal(self, deal_id: DealId, day: Date) -> DealShown:
        """Changes the day by which an open deal should close."""
        self._open(deal_id)
        when = date_of(day)
        if when < self.now.date():
            raise ToolError("invalid_value", f"{day} is in the past", "Give a day from today on.")
        return self._deal_shown(self.deals.update(deal_id, closes=when.isoformat()))

    @tool()
    def win_deal(self, deal_id: DealId) -> DealDone:
        """Closes a deal in negotiation as won; nothing planned may be left."""
        row = self._open(deal_id)
        if row.stage != "negotiation":
            raise ToolError("wrong_state", f"{deal_id} is {row.stage}", "advance_deal brings it to negotiation.")
        left = [a.activity_id for a in self.activities.values() if a.deal_id == deal_id and a.status == "planned"]
        if left:
            raise ToolError("wrong_state", f"{left[0]} is still planned", "Use finish_activity or cancel_activity first.")
        return self._done(self.deals.update(deal_id, stage="won"))

    @tool(destructive=True)
    def lose_deal(
        self, deal_id: DealId, reason: Annotated[Literal["price", "timing", "competitor", "no_need"], Field(description="Why.")]
    ) -> DealDone:
        """Closes an open deal as lost and cancels what is planned for it."""
        self._open(deal_id)
        for activity in self.activities.where(lambda a: a.deal_id == deal_id and a.status == "planned"):
            self.activities.update(activity.activity_id, status="cancelled")
        return self._done(self.deals.update(deal_id, stage="lost", reason=reason))

    # -- activities --------------------------------------------------------------------------------

    @tool()
    def plan_activity(self, deal_id: DealId, kind: Kind, subject: Line, day: Date) -> ActivityDone:
        """Plans something to do for an open deal, today or later."""
        self._open(deal_id)
        text, when = plain(subject), date_of(day)
        if when < self.now.date():
            raise ToolError("invalid_value", f"{day} is in the past", "Give a day from today on.")
        key = self.activities.fresh("act", deal_id, kind, text, day)
        self.activities.put(key, Activity(key, kind, text, deal_id, when.isoformat()))
        return {"activity_id": key, "status": "planned"}

    @tool(read_only=True)
    def list_activities(self, deal_id: DealId, limit: Limit = 5) -> list[ActivityShown]:
        """Lists what is planned for a deal, the next first."""
        self._deal(deal_id)
        rows = self.activities.where(lambda a: a.deal_id == deal_id and a.status == "planned")
        return [_activity_shown(a) for a in sorted(rows, key=lambda a: (a.day, a.activity_id))[: int(limit)]]

    @tool(read_only=True)
    def list_overdue_activities(self, limit: Limit = 5) -> list[ActivityShown]:
        """Lists planned activities whose day is over."""
        today = f"{self.now:%Y-%m-%d}"
        return [
            _activity_shown(a) for a in self.activities.where(lambda a: a.status == "planned" and a.day < today)[: int(limit)]
        ]

    @tool()
    def finish_activity(self, activity_id: ActivityId) -> ActivityDone:
        """Notes that a planned activity was done."""
        self._planned(activity_id)
        self.activities.update(activity_id, status="done")
        return {"activity_id": activity_id, "status": "done"}

    @tool()
    def cancel_activity(self, activity_id: ActivityId) -> ActivityDone:
        """Cancels a planned activity."""
        self._planned(activity_id)
        self.activities.update(activity_id, status="cancelled")
        return {"activity_id": activity_id, "status": "cancelled"}

    # -- team and forecast -------------------------------------------------------------------------

    @tool(read_only=True)
    def find_rep(self, name: KnownName) -> RepShown:
        """Finds a sales representative by the full name."""
        return self._rep_shown(named(self.reps.values(), name, "representative", "list_reps"))

    @tool(read_only=True)
    def list_reps(self, limit: Limit = 5) -> list[RepShown]:
        """Lists the sales representatives; the user is the first."""
        return [self._rep_shown(r) for r in self.reps.values()][: int(limit)]

    @tool(read_only=True)
    def list_territories(self, limit: Limit = 5) -> list[TerritoryShown]:
        """Lists territories with their representatives."""
        rows = list(self.territories.values())[: int(limit)]
        return [{"territory_id": t.territory_id, "name": t.name, "rep_id": t.rep_id} for t in rows]

    @tool(read_only=True)
    def find_territory(self, name: KnownName) -> TerritoryShown:
        """Finds a territory by its name."""
        row = named(self.territories.values(), name, "territory", "list_territories")
        return {"territory_id": row.territory_id, "name": row.name, "rep_id": row.rep_id}

    @tool()
    def hand_over_territory(self, territory_id: TerritoryId, rep_id: RepId) -> TerritoryShown:
        """Gives one of the user's territories to another representative; the last one stays."""
        row = self._check_mine(territory_id)
        if existing(self.reps, rep_id, "representative", "list_reps").user:
            raise ToolError("conflict", "the territory is the user's already", "Name another representative.")
        if sum(t.rep_id == row.rep_id for t in self.territories.values()) == 1:
            raise ToolError("denied", "this is the user's only territory", "It cannot be given away.")
        self.territories.update(territory_id, rep_id=rep_id)
        return {"territory_id": territory_id, "name": row.name, "rep_id": rep_id}

    @tool(read_only=True)
    def get_forecast(self, until: Date) -> Forecast:
        """Open deals that should close by a day: their amount, and what of it is expected by stage."""
        last = date_of(until).isoformat()
        rows = self.deals.where(lambda d: d.stage in STAGES and d.closes <= last)
        amounts = [(self._amount(d), CHANCE[d.stage]) for d in rows]
        expected = sum(value * chance // 100 for value, chance in amounts)
        return {"deals": len(rows), "amount": money(sum(v for v, _ in amounts)), "expected": money(expected)}

    @tool(read_only=True)
    def list_pipeline(self) -> list[StageShown]:
        """How many deals each stage has, and what they are worth."""
        shown: list[StageShown] = []
        for stage in (*STAGES, "won", "lost"):
            rows = [d for d in self.deals.values() if d.stage == stage]
            shown.append({"stage": stage, "deals": len(rows), "amount": money(sum(map(self._amount, rows)))})  # type: ignore[typeddict-item]
        return shown

    # -- helpers -----------------------------------------------------------------------------------

    def _company(self, company_id: str) -> Company:
        return existing(self.companies, company_id, "company", "list_companies")

    def _territory(self, territory_id: str) -> Territory:
        return existing(self.territories, territory_id, "territory", "list_territories")

    def _check_mine(self, territory_id: str) -> Territory:
        row = self._territory(territory_id)
        if not self.reps[row.rep_id].user:
            raise ToolError("denied", f"{row.name} is the territory of {self.reps[row.rep_id].name}", "Ask them.")
        return row

    def _lead(self, lead_id: str) -> Lead:
        row = existing(self.leads, lead_id, "lead", "list_leads")
        if row.status != "open":
            raise ToolError("wrong_state", f"{lead_id} is {row.status}", "list_leads shows the open ones.")
        return row

    def _deal(self, deal_id: str) -> Deal:
        return existing(self.deals, deal_id, "deal", "list_deals")

    def _open(self, deal_id: str) -> Deal:
        row = self._deal(deal_id)
        self._check_mine(self.companies[row.company_id].territory_id)
        if row.stage in ("won", "lost"):
            raise ToolError("wrong_state", f"{deal_id} is {row.stage}", "Only open deals can be changed.")
        return row

    def _planned(self, activity_id: str) -> Activity:
        row = existing(self.activities, activity_id, "activity", "list_activities")
        if row.status != "planned":
            raise ToolError("wrong_state", f"{activity_id} is {row.status}", "list_activities shows the planned ones.")
        return row

    def _amount(self, row: Deal) -> int:
        return sum(r.pieces * r.price for r in self.lines.values() if r.deal_id == row.deal_id) * (100 - row.discount) // 100

    def _deal_shown(self, row: Deal) -> DealShown:
        return {
            "deal_id": row.deal_id,
            "name": row.name,
            "stage": row.stage,
            "amount": money(self._amount(row)),
            "closes": row.closes,
        }

    def _done(self, row: Deal) -> DealDone:
        return {"deal_id": row.deal_id, "stage": row.stage, "amount": money(self._amount(row))}

    def _rep_shown(self, row: Rep) -> RepShown:
        return {
            "rep_id": row.rep_id,
            "name": row.name,
            "territories": sum(t.rep_id == row.rep_id for t in self.territories.values()),
        }


def _company_shown(row: Company) -> CompanyShown:
    return {"company_id": row.company_id, "name": row.name, "city": row.city, "territory_id": row.territory_id}


def _contact_shown(row: Contact) -> ContactShown:
    return {"contact_id": row.contact_id, "name": row.name, "company_id": row.company_id, "email": row.email}


def _lead_shown(row: Lead) -> LeadShown:
    return {"lead_id": row.lead_id, "name": row.name, "employer": row.employer, "score": row.score, "status": row.status}


def _activity_shown(row: Activity) -> ActivityShown:
    return {"activity_id": row.activity_id, "kind": row.kind, "name": row.name, "deal_id": row.deal_id, "day": row.day}
