"""What the crm server's tools share: rows by identifier, who may change what, sums, rows shown.

Run: nothing here runs by itself; `tasks.servers.crm` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Iterable
from itertools import combinations
from typing import Protocol, TypeVar

from tasks.servers import crm_rows as r
from tasks.servers import crm_types as t
from tasks.servers.lookup import existing
from tasks.servers.state import Table
from tasks.servers.tool import ToolError
from tasks.servers.typed import date_of, money


class _Twin(Protocol):
    @property
    def name(self) -> str: ...


Twin = TypeVar("Twin", bound=_Twin)


class Book:
    """The tables of a sales team's book, and the steps that tools are made of."""

    now: dt.datetime
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

    # -- rows by identifier ----------------------------------------------------------------------

    def _me(self) -> r.Rep:
        return next(rep for rep in self.reps.values() if rep.user)

    def _rep(self, rep_id: str) -> r.Rep:
        return existing(self.reps, rep_id, "sales rep", "list_sales_reps")

    def _territory(self, territory_id: str) -> r.Territory:
        return existing(self.territories, territory_id, "territory", "list_territories")

    def _company(self, company_id: str) -> r.Company:
        return existing(self.companies, company_id, "company", "list_crm_companies")

    def _contact(self, contact_id: str) -> r.Contact:
        return existing(self.contacts, contact_id, "contact", "list_crm_contacts")

    def _lead(self, lead_id: str) -> r.Lead:
        return existing(self.leads, lead_id, "lead", "list_leads")

    def _product(self, product_id: str) -> r.Product:
        return existing(self.products, product_id, "product", "list_crm_products")

    def _deal(self, deal_id: str) -> r.Deal:
        return existing(self.deals, deal_id, "deal", "search_deals")

    # -- who may change what ---------------------------------------------------------------------

    def _my_territory(self, territory_id: str) -> r.Territory:
        """The territory, when it is the user's."""
        row = self._territory(territory_id)
        owner = self.reps[row.rep_id]
        if not owner.user:
            raise ToolError("denied", f"{row.name} is the territory of {owner.name}", f"Ask {owner.name}.")
        return row

    def _my_company(self, company_id: str) -> r.Company:
        """The company, when it is in a territory of the user."""
        row = self._company(company_id)
        self._my_territory(row.territory_id)
        return row

    def _my_contact(self, contact_id: str) -> r.Contact:
        """The contact, when the company is in a territory of the user."""
        row = self._contact(contact_id)
        self._my_company(row.company_id)
        return row

    def _my_lead(self, lead_id: str) -> r.Lead:
        """The lead, when it is in a territory of the user and not converted."""
        row = self._lead(lead_id)
        self._my_territory(row.territory_id)
        if row.status == "converted":
            raise ToolError("wrong_state", "the lead is converted already", f"Its contact is {row.contact_id or 'removed'}.")
        return row

    def _my_deal(self, deal_id: str, *stages: t.Stage) -> r.Deal:
        """The deal, when it is the user's and in one of these stages, or open when none is named."""
        row = self._deal(deal_id)
        owner = self.reps[row.rep_id]
        if not owner.user:
            raise ToolError("denied", f"the deal is {owner.name}'s", f"Ask {owner.name}.")
        if row.stage in (stages or r.OPEN):
            return row
        remedy = "Use reopen_deal first." if row.stage == "lost" else f"It must be {' or '.join(stages or ('open',))}."
        if row.stage in r.OPEN:
            remedy = f"Use move_deal to bring it to {stages[0]}."
        raise ToolError("wrong_state", f"the deal is in stage {row.stage}", remedy)

    def _check_discount(self, row: r.Deal, rep: r.Rep) -> None:
        """Raises ToolError when a rep may not have this deal for its discount."""
        if row.discount > rep.max_discount:
            raise ToolError(
                "denied",
                f"{rep.name} may give {rep.max_discount} percent, {row.deal_id} has more",
                "Use set_deal_discount first.",
            )

    def _planned(self, activity_id: str) -> r.Activity:
        """The activity, when it is planned and for a deal of the user."""
        row = existing(self.activities, activity_id, "activity", "list_activities")
        if row.status != "planned":
            raise ToolError("wrong_state", f"the activity is {row.status}", "list_activities shows the planned ones.")
        self._my_deal(row.deal_id)
        return row

    def _from_today(self, day: str) -> str:
        """A day that is not in the past."""
        found = date_of(day)
        if found < self.now.date():
            raise ToolError("invalid_value", f"{day} is in the past", f"Give a day from {self._today()} on.")
        return found.isoformat()

    def _today(self) -> str:
        return self.now.date().isoformat()

    # -- sums ------------------------------------------------------------------------------------

    def _lines(self, deal_id: str) -> list[r.Line]:
        return self.lines.where(lambda line: line.deal_id == deal_id)

    def _amount(self, row: r.Deal) -> int:
        """What the deal is worth in cents: the sum of its lines less the discount."""
        return r.reduced(r.subtotal_of(self._lines(row.deal_id)), row.discount)

    def _total(self, rows: Iterable[r.Deal]) -> float:
        return money(sum(self._amount(row) for row in rows))

    def _next(self, deals: set[str]) -> list[r.Activity]:
        """What is planned for deals, the next first."""
        rows = self.activities.where(lambda a: a.deal_id in deals and a.status == "planned")
        return sorted(rows, key=lambda a: (a.day, a.activity_id))

    # -- rows shown ------------------------------------------------------------------------------

    def _territory_shown(self, row: r.Territory) -> t.TerritoryShown:
        count = sum(c.territory_id == row.territory_id for c in self.companies.values())
        return {"territory_id": row.territory_id, "name": row.name, "rep_id": row.rep_id, "companies": count}

    def _deal_row(self, row: r.Deal) -> t.DealRow:
        return {"deal_id": row.deal_id, "name": row.name, "stage": row.stage, "amount": money(self._amount(row))}

    def _deal_amount(self, deal_id: str) -> t.DealAmount:
        return {"deal_id": deal_id, "amount": money(self._amount(self.deals[deal_id]))}

    def _line_made(self, row: r.Line) -> t.LineMade:
        amount = money(self._amount(self.deals[row.deal_id]))
        return {"line_id": row.line_id, "deal_id": row.deal_id, "amount": amount}


def twins(rows: Iterable[tuple[Hashable, Twin]]) -> list[tuple[Twin, Twin]]:
    """The pairs of rows that have the same first item, in the order of the rows."""
    return [(one, other) for (key, one), (again, other) in combinations(list(rows), 2) if key == again]


def rep_shown(row: r.Rep) -> t.RepShown:
    return {"rep_id": row.rep_id, "name": row.name, "is_user": row.user, "max_discount": row.max_discount}


def company_row(row: r.Company) -> t.CompanyRow:
    return {"company_id": row.company_id, "name": row.name, "city": row.city, "territory_id": row.territory_id}


def contact_shown(row: r.Contact) -> t.ContactShown:
    return {
        "contact_id": row.contact_id,
        "name": row.name,
        "company_id": row.company_id,
        "job": row.job,
        "email": row.email,
    }


def lead_row(row: r.Lead) -> t.LeadRow:
    return {"lead_id": row.lead_id, "name": row.name, "score": row.score, "status": row.status}


def product_shown(row: r.Product) -> t.ProductShown:
    return {"product_id": row.product_id, "name": row.name, "price": money(row.price)}


def activity_shown(row: r.Activity) -> t.ActivityShown:
    return {
        "activity_id": row.activity_id,
        "kind": row.kind,
        "subject": row.subject,
        "deal_id": row.deal_id,
        "day": row.day,
    }
