"""The customer relations server: companies, leads that become contacts, deals on a pipeline, activities and territories.

    with environment(["crm"]).session(7) as session:
        session.call("find_lead", {"name": "Ada Lovelace"})

The user is one of the sales reps: companies, contacts and leads can be changed in the user's own territories, deals by the
rep who has them; all can be read. A deal's amount is the sum of its lines less the discount. It moves one stage at a time,
its lines are fixed from negotiation on, and it is won only from there. Merging moves everything of one record to the other.

Left out: campaigns, files, and customers who act by themselves.
"""

from __future__ import annotations

import datetime as dt

from tasks.servers import crm_rows as r
from tasks.servers import crm_types as t
from tasks.servers.crm_data import seed_rows
from tasks.servers.crm_state import (
    Book,
    activity_shown,
    company_row,
    contact_shown,
    lead_row,
    product_shown,
    rep_shown,
    twins,
)
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Limit, cents, date_of, money, plain
from tasks.servers.world import World

USUAL = dt.timedelta(days=60)
"""After how long a new deal should close."""


class Crm(Book, Server):
    """The server; see the module's docstring."""

    name = "crm"
    title = "A sales team's companies, leads, contacts and deals"

    reps: Table[r.Rep]
    territories: Table[r.Territory]
    companies: Table[r.Company]
    contacts: Table[r.Contact]
    leads: Table[r.Lead]
    products: Table[r.Product]
    deals: Table[r.Deal]
    lines: Table[r.Line]
    notes: Table[r.Note]
    activities: Table[r.Activity]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- territories and reps --------------------------------------------------------------------

    @tool(read_only=True)
    def list_territories(self, limit: Limit = 5) -> list[t.TerritoryShown]:
        """List the territories with their sales reps and numbers of companies."""
        return [self._territory_shown(row) for row in self.territories.values()][: int(limit)]

    @tool(read_only=True)
    def find_territory(self, name: t.KnownName) -> t.TerritoryShown:
        """Find a territory by its name."""
        return self._territory_shown(named(self.territories.values(), name, "territory", "list_territories"))

    @tool()
    def hand_over_territory(self, territory_id: t.TerritoryId, rep_id: t.RepId) -> t.HandedOver:
        """Give one of the user's territories, with the user's open deals there, to another sales rep; the last one stays."""
        self._my_territory(territory_id)
        me = self._me().rep_id
        rep = self._rep(rep_id)
        if rep.user:
            raise ToolError("conflict", "the territory is the user's already", "Name another sales rep.")
        if sum(row.rep_id == me for row in self.territories.values()) == 1:
            raise ToolError("denied", "this is the user's only territory", "It cannot be handed over.")
        moved = [
            row
            for row in self.deals.values()
            if row.rep_id == me and row.stage in r.OPEN and self.companies[row.company_id].territory_id == territory_id
        ]
        for row in moved:
            self._check_discount(row, rep)
        for row in moved:
            self.deals.update(row.deal_id, rep_id=rep_id)
        self.territories.update(territory_id, rep_id=rep_id)
        return {"territory_id": territory_id, "rep_id": rep_id, "deals_moved": len(moved)}

    @tool(read_only=True)
    def list_sales_reps(self, limit: Limit = 5) -> list[t.RepShown]:
        """List the sales reps with the most percent of discount that each may give."""
        return [rep_shown(row) for row in self.reps.values()][: int(limit)]

    @tool(read_only=True)
    def find_sales_rep(self, name: t.KnownName) -> t.RepShown:
        """Find a sales rep by the full name."""
        return rep_shown(named(self.reps.values(), name, "sales rep", "list_sales_reps"))

    @tool(read_only=True)
    def get_sales_results(self, rep_id: t.RepId) -> t.RepResults:
        """Show the sums of a sales rep's won and open deals, and the quota."""
        row = self._rep(rep_id)
        own = self.deals.where(lambda d: d.rep_id == rep_id)
        return {
            "rep_id": rep_id,
            "won": self._total(d for d in own if d.stage == "won"),
            "open": self._total(d for d in own if d.stage in r.OPEN),
            "quota": money(row.quota),
        }

    # -- companies -------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_crm_companies(self, territory_id: t.OfTerritory = None, limit: Limit = 5) -> list[t.CompanyRow]:
        """List the companies, all or those of one territory."""
        if territory_id is not None:
            self._territory(territory_id)
        rows = self.companies.where(lambda c: territory_id in (None, c.territory_id))
        return [company_row(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def find_crm_company(self, name: t.KnownName) -> t.CompanyRow:
        """Find a company by its name."""
        return company_row(named(self.companies.values(), name, "company", "list_crm_companies"))

    @tool(read_only=True)
    def get_crm_company(self, company_id: t.CompanyId) -> t.CompanyShown:
        """Show a company: industry, territory, whether it has bought, and how many deals are open."""
        row = self._company(company_id)
        deals = self.deals.where(lambda d: d.company_id == company_id)
        return {
            "company_id": company_id,
            "name": row.name,
            "industry": row.industry,
            "territory_id": row.territory_id,
            "customer": any(d.stage == "won" for d in deals),
            "open_deals": sum(d.stage in r.OPEN for d in deals),
        }

    @tool()
    def add_crm_company(self, territory_id: t.TerritoryId, company: t.NewCompany) -> t.CompanyMade:
        """Add a company to one of the user's territories."""
        self._my_territory(territory_id)
        name, city = unused(self.companies.values(), company["name"], "company"), plain(company["city"], "city")
        return self._add_company(name, territory_id, city, company.get("industry", "retail"))

    def _add_company(self, name: str, territory_id: str, city: str, industry: t.Industry) -> t.CompanyMade:
        key = self.companies.fresh("cmp", name)
        self.companies.put(key, r.Company(key, name, territory_id, city, industry))
        return {"company_id": key, "territory_id": territory_id}

    @tool(idempotent=True)
    def rename_crm_company(self, company_id: t.CompanyId, name: t.NewName) -> t.CompanyNamed:
        """Give a company of the user's territories another name."""
        self._my_company(company_id)
        others = self.companies.where(lambda c: c.company_id != company_id)
        row = self.companies.update(company_id, name=unused(others, name, "company"))
        return {"company_id": company_id, "name": row.name}

    @tool(read_only=True)
    def list_duplicate_companies(self, limit: Limit = 5) -> list[t.CompanyTwin]:
        """List pairs of companies in one city whose names begin with the same word."""
        pairs = twins((row.alike, row) for row in self.companies.values())
        return [
            {
                "company_id": one.company_id,
                "name": one.name,
                "duplicate_id": other.company_id,
                "duplicate_name": other.name,
            }
            for one, other in pairs[: int(limit)]
        ]

    @tool(destructive=True)
    def merge_crm_companies(self, kept_id: t.CompanyId, merged_id: t.CompanyId) -> t.CompanyMerged:
        """Move all contacts and deals of the second company to the first, and remove the second; both must be the user's."""
        self._my_company(kept_id)
        self._my_company(merged_id)
        if kept_id == merged_id:
            raise ToolError("invalid_value", "both are the same company", "Give two different companies.")
        deals = self.deals.where(lambda d: d.company_id == merged_id)
        contacts = self.contacts.where(lambda c: c.company_id == merged_id)
        for deal in deals:
            self.deals.update(deal.deal_id, company_id=kept_id)
        for contact in contacts:
            self.contacts.update(contact.contact_id, company_id=kept_id)
        self.companies.remove(merged_id)
        return {"company_id": kept_id, "deals": len(deals), "contacts": len(contacts)}

    # -- contacts --------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_crm_contacts(self, company_id: t.CompanyId, limit: Limit = 5) -> list[t.ContactRow]:
        """List the contacts at a company."""
        self._company(company_id)
        rows = self.contacts.where(lambda c: c.company_id == company_id)
        return [{"contact_id": row.contact_id, "name": row.name, "job": row.job} for row in rows[: int(limit)]]

    @tool(read_only=True)
    def find_crm_contact(self, name: t.KnownName) -> t.ContactShown:
        """Find a contact by the full name."""
        return contact_shown(named(self.contacts.values(), name, "contact", "list_crm_contacts"))

    @tool()
    def add_crm_contact(self, company_id: t.CompanyId, contact: t.NewContact) -> t.ContactAt:
        """Add a person at a company of the user's territories."""
        self._my_company(company_id)
        name, job = unused(self.contacts.values(), contact["name"], "contact"), plain(contact["job"], "job")
        return self._add_contact(name, company_id, job)

    def _add_contact(self, name: str, company_id: str, job: str) -> t.ContactAt:
        key = self.contacts.fresh("cct", name)
        self.contacts.put(key, r.Contact(key, name, company_id, job, r.address_of(name)))
        return {"contact_id": key, "company_id": company_id}

    @tool(idempotent=True)
    def move_crm_contact(self, contact_id: t.ContactId, company_id: t.CompanyId) -> t.ContactAt:
        """Note that a contact of the user's territories works for another company; not while on an open deal."""
        self._my_contact(contact_id)
        self._company(company_id)
        busy = self.deals.where(lambda d: d.contact_id == contact_id and d.stage in r.OPEN)
        if busy and self.contacts[contact_id].company_id != company_id:
            raise ToolError("conflict", f"this is the contact of {busy[0].deal_id}", "Use set_deal_contact on it first.")
        self.contacts.update(contact_id, company_id=company_id)
        return {"contact_id": contact_id, "company_id": company_id}

    @tool(destructive=True)
    def remove_crm_contact(self, contact_id: t.ContactId) -> t.ContactGone:
        """Remove a contact of the user's territories who is on no deal."""
        row = self._my_contact(contact_id)
        busy = self.deals.where(lambda d: d.contact_id == contact_id)
        if busy:
            raise ToolError("conflict", f"this is the contact of {busy[0].deal_id}", "Use merge_crm_contacts if it is double.")
        for lead in self.leads.where(lambda x: x.contact_id == contact_id):
            self.leads.update(lead.lead_id, contact_id="")
        self.contacts.remove(contact_id)
        left = sum(c.company_id == row.company_id for c in self.contacts.values())
        return {"contact_id": contact_id, "contacts_left": left}

    @tool(read_only=True)
    def list_duplicate_contacts(self, limit: Limit = 5) -> list[t.ContactTwin]:
        """List pairs of contacts with the same e-mail address."""
        pairs = twins((row.email, row) for row in self.contacts.values())
        return [
            {
                "contact_id": one.contact_id,
                "name": one.name,
                "duplicate_id": other.contact_id,
                "duplicate_name": other.name,
            }
            for one, other in pairs[: int(limit)]
        ]

    @tool(destructive=True)
    def merge_crm_contacts(self, kept_id: t.ContactId, merged_id: t.ContactId) -> t.ContactMerged:
        """Put the first contact on all deals of the second, at the same company of the user, and remove the second."""
        kept, merged = self._my_contact(kept_id), self._my_contact(merged_id)
        if kept_id == merged_id:
            raise ToolError("invalid_value", "both are the same contact", "Give two different contacts.")
        if kept.company_id != merged.company_id:
            raise ToolError("conflict", "they are at different companies", "Use merge_crm_companies or move_crm_contact first.")
        deals = self.deals.where(lambda d: d.contact_id == merged_id)
        for deal in deals:
            self.deals.update(deal.deal_id, contact_id=kept_id)
        for lead in self.leads.where(lambda x: x.contact_id == merged_id):
            self.leads.update(lead.lead_id, contact_id=kept_id)
        self.contacts.remove(merged_id)
        return {"contact_id": kept_id, "deals": len(deals)}

    # -- leads -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_leads(self, status: t.AnyLeadStatus = "any", least_score: t.LeastScore = 0, limit: Limit = 5) -> list[t.LeadRow]:
        """List the leads, the most promising first."""
        rows = self.leads.where(lambda x: status in ("any", x.status) and x.score >= least_score)
        return [lead_row(row) for row in sorted(rows, key=lambda x: (-x.score, x.lead_id))[: int(limit)]]

    @tool(read_only=True)
    def find_lead(self, name: t.KnownName) -> t.LeadRow:
        """Find a lead by the full name."""
        return lead_row(named(self.leads.values(), name, "lead", "list_leads"))

    @tool(read_only=True)
    def get_lead(self, lead_id: t.LeadId) -> t.LeadShown:
        """Show a lead: employer, territory, score and status."""
        row = self._lead(lead_id)
        return {
            "lead_id": lead_id,
            "name": row.name,
            "employer": row.employer,
            "territory_id": row.territory_id,
            "score": row.score,
            "status": row.status,
        }

    @tool()
    def add_lead(self, territory_id: t.TerritoryId, lead: t.NewLead) -> t.LeadSet:
        """Add a new lead to one of the user's territories."""
        self._my_territory(territory_id)
        name = unused(self.leads.values(), lead["name"], "lead")
        employer, city = plain(lead["employer"], "employer"), plain(lead["city"], "city")
        key = self.leads.fresh("lead", name)
        row = self.leads.put(key, r.Lead(key, name, employer, city, territory_id, lead["source"], 50))
        return {"lead_id": key, "status": row.status}

    @tool(idempotent=True)
    def score_lead(self, lead_id: t.LeadId, score: t.Score) -> t.LeadScored:
        """Change how promising a lead of the user's territories is."""
        self._my_lead(lead_id)
        return {"lead_id": lead_id, "score": self.leads.update(lead_id, score=int(score)).score}

    @tool()
    def set_lead_status(self, lead_id: t.LeadId, status: t.NewLeadStatus) -> t.LeadSet:
        """Move a lead of the user on, from new to working to qualified, or discard it."""
        row = self._my_lead(lead_id)
        allowed = r.LEAD_MOVES[row.status]
        if status not in allowed:
            raise ToolError("wrong_state", f"the lead is {row.status}", f"It can become {' or '.join(allowed)}.")
        return {"lead_id": lead_id, "status": self.leads.update(lead_id, status=status).status}

    @tool()
    def convert_lead(self, lead_id: t.LeadId, company_id: t.IntoCompany = None) -> t.Converted:
        """Make a qualified lead a contact of a company in its territory, or of a new company."""
        lead = self._my_lead(lead_id)
        if lead.status != "qualified":
            raise ToolError("wrong_state", f"the lead is {lead.status}", "Use set_lead_status to qualify it.")
        name = unused(self.contacts.values(), lead.name, "contact")
        if company_id is None:
            known = next((c for c in self.companies.values() if c.name.casefold() == lead.employer.casefold()), None)
            if known is not None:
                raise ToolError("conflict", f"{lead.employer} is in the book already", f"Give company_id {known.company_id}.")
            company_id = self._add_company(lead.employer, lead.territory_id, lead.city, "retail")["company_id"]
        elif self._company(company_id).territory_id != lead.territory_id:
            raise ToolError("conflict", "the company is in another territory", "list_crm_companies shows a territory's.")
        made = self._add_contact(name, company_id, "buyer")
        self.leads.update(lead_id, status="converted", contact_id=made["contact_id"])
        return {"contact_id": made["contact_id"], "company_id": company_id}

    # -- deals -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def search_deals(self, filter: t.DealFilter, limit: Limit = 5) -> list[t.DealRow]:
        """List the deals that satisfy all conditions of the filter, the largest first."""
        rep, territory, stage = filter.get("rep_id"), filter.get("territory_id"), filter.get("stage", "any")
        if rep is not None:
            self._rep(rep)
        if territory is not None:
            self._territory(territory)
        least = cents(filter["min_amount"]) if "min_amount" in filter else 0
        last = date_of(filter["closes_by"]).isoformat() if "closes_by" in filter else "9999"
        rows = [
            (self._amount(d), d)
            for d in self.deals.values()
            if rep in (None, d.rep_id)
            and territory in (None, self.companies[d.company_id].territory_id)
            and (stage in ("any", d.stage) or (stage == "open" and d.stage in r.OPEN))
            and d.closes <= last
        ]
        rows = sorted((row for row in rows if row[0] >= least), key=lambda row: (-row[0], row[1].deal_id))
        return [self._deal_row(d) for _, d in rows[: int(limit)]]

    @tool(read_only=True)
    def list_company_deals(self, company_id: t.CompanyId, limit: Limit = 5) -> list[t.DealRow]:
        """List the deals with a company."""
        self._company(company_id)
        return [self._deal_row(d) for d in self.deals.where(lambda d: d.company_id == company_id)[: int(limit)]]

    @tool(read_only=True)
    def find_deal(self, name: t.KnownName) -> t.DealRow:
        """Find a deal by its name."""
        return self._deal_row(named(self.deals.values(), name, "deal", "search_deals"))

    @tool(read_only=True)
    def get_deal(self, deal_id: t.DealId) -> t.DealShown:
        """Show a deal: company, sales rep, stage, amount and the day by which it should close."""
        row = self._deal(deal_id)
        return {
            "deal_id": deal_id,
            "company_id": row.company_id,
            "rep_id": row.rep_id,
            "stage": row.stage,
            "amount": money(self._amount(row)),
            "closes": row.closes,
        }

    @tool()
    def open_deal(self, company_id: t.CompanyId, name: t.NewName, lines: t.Lines) -> t.DealMade:
        """Open a deal of the user with a company of the user's territories, to close in 60 days."""
        self._my_company(company_id)
        name = unused(self.deals.values(), name, "deal")
        prices = {line["product_id"]: self._product(line["product_id"]).price for line in lines}
        if len(prices) < len(lines):
            raise ToolError("invalid_value", "a product is named twice", "Add its pieces up on one line.")
        key = self.deals.fresh("deal", name)
        closes = (self.now + USUAL).date().isoformat()
        row = self.deals.put(key, r.Deal(key, name, company_id, self._me().rep_id, "new", closes))
        for line in lines:
            self._put_line(key, line["product_id"], int(line["pieces"]))
        return {"deal_id": key, "stage": row.stage, "amount": money(self._amount(row))}

    def _put_line(self, deal_id: str, product_id: str, pieces: int) -> r.Line:
        key = self.lines.fresh("dln", deal_id, product_id)
        return self.lines.put(key, r.Line(key, deal_id, product_id, pieces, self.products[product_id].price))

    @tool(idempotent=True)
    def assign_deal(self, deal_id: t.DealId, rep_id: t.RepId) -> t.DealOwner:
        """Give an open deal to a sales rep; only its rep and the rep of its territory can."""
        row, rep = self._deal(deal_id), self._rep(rep_id)
        territory = self.territories[self.companies[row.company_id].territory_id]
        if not (self.reps[row.rep_id].user or self.reps[territory.rep_id].user):
            raise ToolError("denied", "neither the deal nor its territory is the user's", f"Ask {self.reps[row.rep_id].name}.")
        if row.stage not in r.OPEN:
            raise ToolError("wrong_state", f"the deal is {row.stage}", "search_deals shows the open ones.")
        self._check_discount(row, rep)
        return {"deal_id": deal_id, "rep_id": self.deals.update(deal_id, rep_id=rep_id).rep_id}

    @tool()
    def move_deal(self, deal_id: t.DealId, stage: t.NewStage) -> t.DealStage:
        """Move an open deal of the user one stage on or back; a proposal needs a contact, a discount ends before it."""
        row = self._my_deal(deal_id)
        allowed = r.next_to(row.stage)
        if stage not in allowed:
            raise ToolError("wrong_state", f"the deal is in stage {row.stage}", f"It can move to {' or '.join(allowed)}.")
        if stage == "proposal" and not row.contact_id:
            raise ToolError("wrong_state", "the deal has no contact", "Use set_deal_contact first.")
        row = self.deals.update(deal_id, stage=stage, discount=row.discount if stage in r.PRICED else 0)
        return {"deal_id": deal_id, "stage": row.stage}

    @tool(read_only=True)
    def get_deal_contact(self, deal_id: t.DealId) -> t.DealContact:
        """Show whom to talk to about a deal."""
        row = self._deal(deal_id)
        if not row.contact_id:
            raise ToolError("not_found", "the deal has no contact", "Use set_deal_contact.")
        return {"deal_id": deal_id, "contact_id": row.contact_id, "name": self.contacts[row.contact_id].name}

    @tool(idempotent=True)
    def set_deal_contact(self, deal_id: t.DealId, contact_id: t.ContactId) -> t.DealContact:
        """Name the contact of an open deal of the user, somebody at its company."""
        row, contact = self._my_deal(deal_id), self._contact(contact_id)
        if contact.company_id != row.company_id:
            raise ToolError("conflict", f"{contact.name} is at another company", "list_crm_contacts shows who is there.")
        self.deals.update(deal_id, contact_id=contact_id)
        return {"deal_id": deal_id, "contact_id": contact_id, "name": contact.name}

    @tool(idempotent=True)
    def reschedule_deal(self, deal_id: t.DealId, closes: t.Closes) -> t.DealCloses:
        """Change the day by which an open deal of the user should close."""
        self._my_deal(deal_id)
        return {"deal_id": deal_id, "closes": self.deals.update(deal_id, closes=self._from_today(closes)).closes}

    @tool()
    def win_deal(self, deal_id: t.DealId) -> t.DealStage:
        """Close a deal of the user in negotiation as won; nothing may be planned for it."""
        self._my_deal(deal_id, "negotiation")
        planned = self._next({deal_id})
        if planned:
            raise ToolError(
                "wrong_state", f"{planned[0].activity_id} is still planned", "Use finish_activity or cancel_activity first."
            )
        return {"deal_id": deal_id, "stage": self.deals.update(deal_id, stage="won", closes=self._today()).stage}

    @tool()
    def lose_deal(self, deal_id: t.DealId, reason: t.Lost) -> t.DealStage:
        """Close an open deal of the user as lost, and cancel what is planned for it."""
        self._my_deal(deal_id)
        for activity in self._next({deal_id}):
            self.activities.update(activity.activity_id, status="cancelled")
        row = self.deals.update(deal_id, stage="lost", reason=reason, closes=self._today())
        return {"deal_id": deal_id, "stage": row.stage}

    @tool()
    def reopen_deal(self, deal_id: t.DealId, closes: t.Closes) -> t.DealStage:
        """Open a lost deal of the user again, in stage qualified and without discount."""
        row = self._my_deal(deal_id, "lost")
        there = row.contact_id and self.contacts[row.contact_id].company_id == row.company_id
        row = self.deals.update(
            deal_id,
            stage="qualified",
            reason="",
            discount=0,
            closes=self._from_today(closes),
            contact_id=row.contact_id if there else "",
        )
        return {"deal_id": deal_id, "stage": row.stage}

    # -- lines and quotes ------------------------------------------------------------------------

    @tool(read_only=True)
    def list_crm_products(self, limit: Limit = 5) -> list[t.ProductShown]:
        """List the products that can be sold, cheapest first."""
        rows = sorted(self.products.values(), key=lambda p: (p.price, p.product_id))
        return [product_shown(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def find_crm_product(self, name: t.KnownName) -> t.ProductShown:
        """Find a product by its name, with its price."""
        return product_shown(named(self.products.values(), name, "product", "list_crm_products"))

    @tool(read_only=True)
    def list_deal_lines(self, deal_id: t.DealId, limit: Limit = 5) -> list[t.LineShown]:
        """List what a deal sells, with prices per piece."""
        self._deal(deal_id)
        return [
            {
                "line_id": line.line_id,
                "product_id": line.product_id,
                "name": self.products[line.product_id].name,
                "pieces": line.pieces,
                "price": money(line.price),
            }
            for line in self._lines(deal_id)[: int(limit)]
        ]

    @tool(read_only=True)
    def get_deal_quote(self, deal_id: t.DealId) -> t.DealQuote:
        """Show what a deal costs: the sum of its lines, the discount and the total."""
        row, lines = self._deal(deal_id), self._lines(deal_id)
        return {
            "deal_id": deal_id,
            "lines": len(lines),
            "subtotal": money(r.subtotal_of(lines)),
            "discount_percent": row.discount,
            "total": money(self._amount(row)),
        }

    @tool()
    def add_deal_line(self, deal_id: t.DealId, line: t.NewLine) -> t.LineMade:
        """Add a product to a deal of the user that is not yet in negotiation."""
        self._my_deal(deal_id, *r.LINES_OPEN)
        product, lines = self._product(line["product_id"]), self._lines(deal_id)
        if any(x.product_id == product.product_id for x in lines):
            raise ToolError("conflict", f"{product.name} is in the deal already", "Use set_line_pieces instead.")
        if len(lines) >= r.MOST_LINES:
            raise ToolError("insufficient", f"a deal has {r.MOST_LINES} lines at most", "Use remove_deal_line first.")
        return self._line_made(self._put_line(deal_id, product.product_id, int(line["pieces"])))

    @tool(idempotent=True)
    def set_line_pieces(self, line_id: t.LineId, pieces: t.Pieces) -> t.LineMade:
        """Change how many pieces a line of a deal of the user has; not from negotiation on."""
        row = existing(self.lines, line_id, "line", "list_deal_lines")
        self._my_deal(row.deal_id, *r.LINES_OPEN)
        return self._line_made(self.lines.update(line_id, pieces=int(pieces)))

    @tool(destructive=True)
    def remove_deal_line(self, line_id: t.LineId) -> t.DealAmount:
        """Remove a product from a deal of the user; not from negotiation on, and the last one stays."""
        row = existing(self.lines, line_id, "line", "list_deal_lines")
        self._my_deal(row.deal_id, *r.LINES_OPEN)
        if len(self._lines(row.deal_id)) == 1:
            raise ToolError("wrong_state", "this is the deal's only line", "Use add_deal_line first, or lose_deal.")
        self.lines.remove(line_id)
        return self._deal_amount(row.deal_id)

    @tool(idempotent=True)
    def set_deal_discount(self, deal_id: t.DealId, percent: t.Percent) -> t.DealAmount:
        """Change the discount of a deal of the user in proposal or negotiation, up to what the user may give."""
        self._my_deal(deal_id, *r.PRICED)
        most = self._me().max_discount
        if percent > most:
            raise ToolError("denied", f"the user may give {most} percent at most", "Give less, or use assign_deal.")
        self.deals.update(deal_id, discount=int(percent))
        return self._deal_amount(deal_id)

    # -- notes and activities --------------------------------------------------------------------

    @tool(read_only=True)
    def list_deal_notes(self, deal_id: t.DealId, limit: Limit = 5) -> list[t.NoteShown]:
        """List the notes on a deal."""
        self._deal(deal_id)
        rows = self.notes.where(lambda n: n.deal_id == deal_id)
        return [{"note_id": n.note_id, "author": self.reps[n.author].name, "text": n.text} for n in rows[: int(limit)]]

    @tool()
    def add_deal_note(self, deal_id: t.DealId, text: t.NoteText) -> t.NoteCount:
        """Write a note on any deal."""
        self._deal(deal_id)
        said = plain(text, "note")
        count = sum(n.deal_id == deal_id for n in self.notes.values())
        if count >= r.MOST_NOTES:
            raise ToolError("insufficient", f"a deal has {r.MOST_NOTES} notes at most", "Use delete_deal_note first.")
        key = self.notes.fresh("dnote", deal_id, said)
        self.notes.put(key, r.Note(key, deal_id, self._me().rep_id, said))
        return {"deal_id": deal_id, "notes": count + 1}

    @tool(destructive=True)
    def delete_deal_note(self, note_id: t.NoteId) -> t.NoteCount:
        """Delete one of the user's own notes."""
        row = existing(self.notes, note_id, "note", "list_deal_notes")
        if not self.reps[row.author].user:
            raise ToolError("denied", f"the note is {self.reps[row.author].name}'s", "Only own notes can be deleted.")
        self.notes.remove(note_id)
        return {"deal_id": row.deal_id, "notes": sum(n.deal_id == row.deal_id for n in self.notes.values())}

    @tool(read_only=True)
    def list_activities(self, deal_id: t.DealId, limit: Limit = 5) -> list[t.ActivityShown]:
        """List what is planned for a deal, the next first."""
        self._deal(deal_id)
        return [activity_shown(row) for row in self._next({deal_id})[: int(limit)]]

    @tool(read_only=True)
    def list_rep_activities(self, rep_id: t.RepId, limit: Limit = 5) -> list[t.ActivityShown]:
        """List what is planned for the deals of a sales rep, the next first."""
        self._rep(rep_id)
        own = {d.deal_id for d in self.deals.values() if d.rep_id == rep_id}
        return [activity_shown(row) for row in self._next(own)[: int(limit)]]

    @tool(read_only=True)
    def list_overdue_activities(self, limit: Limit = 5) -> list[t.ActivityShown]:
        """List planned activities whose day is over, the oldest first."""
        today = self._today()
        rows = [a for a in self._next(set(self.deals)) if a.day < today]
        return [activity_shown(row) for row in rows[: int(limit)]]

    @tool()
    def plan_activity(self, deal_id: t.DealId, activity: t.NewActivity) -> t.ActivitySet:
        """Plan a call, meeting, e-mail or task for an open deal of the user."""
        deal, kind = self._my_deal(deal_id), activity["kind"]
        subject, day = plain(activity["subject"], "subject"), self._from_today(activity["day"])
        if kind != "task" and not deal.contact_id:
            raise ToolError("wrong_state", "the deal has no contact", "Use set_deal_contact first, or plan a task.")
        if any((a.kind, a.subject, a.day) == (kind, subject, day) for a in self._next({deal_id})):
            raise ToolError("conflict", "just this is planned already", "list_activities shows what is.")
        key = self.activities.fresh("act", deal_id, kind, subject, day)
        row = self.activities.put(key, r.Activity(key, deal_id, kind, subject, day))
        return {"activity_id": key, "status": row.status}

    @tool(idempotent=True)
    def move_activity(self, activity_id: t.ActivityId, day: t.Day) -> t.ActivityMoved:
        """Put a planned activity of the user off to another day."""
        self._planned(activity_id)
        return {"activity_id": activity_id, "day": self.activities.update(activity_id, day=self._from_today(day)).day}

    @tool()
    def finish_activity(self, activity_id: t.ActivityId) -> t.ActivitySet:
        """Note that a planned activity of the user was done."""
        self._planned(activity_id)
        return {"activity_id": activity_id, "status": self.activities.update(activity_id, status="done").status}

    @tool(destructive=True)
    def cancel_activity(self, activity_id: t.ActivityId) -> t.ActivitySet:
        """Cancel a planned activity of the user."""
        self._planned(activity_id)
        return {"activity_id": activity_id, "status": self.activities.update(activity_id, status="cancelled").status}

    # -- forecast --------------------------------------------------------------------------------

    @tool(read_only=True)
    def get_forecast(self, until: t.Until, rep_id: t.OfRep = None) -> t.Forecast:
        """Sum up the open deals that should close by a day: their amount, and what is expected by their stages."""
        last = date_of(until).isoformat()
        if rep_id is not None:
            self._rep(rep_id)
        rows = self.deals.where(lambda d: d.stage in r.OPEN and d.closes <= last and rep_id in (None, d.rep_id))
        expected = sum(self._amount(d) * r.CHANCE[d.stage] // 100 for d in rows)
        return {"deals": len(rows), "amount": self._total(rows), "expected": money(expected)}

    @tool(read_only=True)
    def list_pipeline_stages(self, limit: Limit = 6) -> list[t.StageShown]:
        """List the stages of the pipeline with their deals, and the chance that a deal of the stage is won."""
        shown: list[t.StageShown] = []
        for stage in (*r.OPEN, *r.CLOSED)[: int(limit)]:
            rows = self.deals.where(lambda d, stage=stage: d.stage == stage)  # type: ignore[misc]
            shown.append(
                {
                    "stage": stage,
                    "deals": len(rows),
                    "amount": self._total(rows),
                    "chance_percent": r.CHANCE[stage],
                }
            )
        return shown
