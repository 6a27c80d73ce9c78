"""The banking server: accounts, holds, cards, payees, bills, standing payments, transactions and exchange.

    with environment(["banking"]).session(7) as session:
        session.call("find_account", {"name": "Vacation"})

Money moves only by posting transactions, so every balance is its opening balance plus the sum of the
account's transactions. Money on hold stays in the balance and is not available. Savings and foreign
accounts pay nobody; a joint account pays up to JOINT_LIMIT alone. A PIN change needs the card's current code.

Left out: interest, fees, and time passing: standing payments are planned here and not carried out.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated

from pydantic import Field

from tasks.servers import banking_types as bank
from tasks.servers.banking_data import seed_rows
from tasks.servers.banking_rows import (
    Account,
    Bill,
    Card,
    Hold,
    Payee,
    Quote,
    Rate,
    Standing,
    Transaction,
    converted,
    following,
    latest,
    shown,
)
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Amount, Date, Limit, cents, date_of, money, plain
from tasks.servers.world import World

JOINT_LIMIT = 100_000
"""Cents that a joint account pays in one payment without its other owner."""

PAYMENT: dict[str, bank.Category] = {"person": "other", "company": "other", "utility": "bills"}
"""The category of a payment by the kind of its payee."""


class Banking(Server):
    """One customer's bank."""

    name = "banking"
    title = "Accounts, cards, payments and currency exchange at a bank."

    accounts: Table[Account]
    cards: Table[Card]
    payees: Table[Payee]
    bills: Table[Bill]
    holds: Table[Hold]
    standing: Table[Standing]
    transactions: Table[Transaction]
    rates: Table[Rate]
    quotes: Table[Quote]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- accounts ------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_account(self, name: bank.KnownName) -> bank.AccountFound:
        """Finds an open account by its name."""
        row = named(self._open_accounts(), name, "account", "list_accounts")
        return {"account_id": row.account_id, "kind": row.kind}

    @tool(read_only=True)
    def list_accounts(self, kind: bank.AnyAccountKind = "any", limit: Limit = 5) -> list[bank.AccountShown]:
        """Lists open accounts, all kinds or one."""
        rows = [r for r in self._open_accounts() if kind in ("any", r.kind)][: int(limit)]
        return [{"account_id": r.account_id, "name": r.name, "kind": r.kind, "currency": r.currency} for r in rows]

    @tool(read_only=True)
    def get_balance(self, account_id: bank.AccountId) -> bank.Balance:
        """The balance of an account, and what of it is not on hold."""
        row = self._account(account_id)
        return {"account_id": row.account_id, "balance": money(row.cents), "available": money(self._available(row))}

    @tool()
    def open_account(self, name: bank.NewName, kind: bank.NewAccountKind) -> bank.AccountOpened:
        """Opens an empty account in US dollars."""
        name = unused(self._open_accounts(), name, "account")
        key = self.accounts.fresh("acc", name, kind)
        self.accounts.put(key, Account(key, name, kind, "USD", 0, 0))
        return {"account_id": key, "status": "open"}

    @tool(destructive=True)
    def close_account(self, account_id: bank.AccountId) -> bank.AccountOpened:
        """Closes an account for good. Its balance must be 0 and nothing may depend on it."""
        row = self._account(account_id)
        if row.cents:
            raise ToolError("wrong_state", f"{account_id} still has {money(row.cents)}", "Use transfer_money first.")
        tables = (self.cards, self.standing, self.holds)
        if any(row.account_id == account_id for table in tables for row in table.values()):
            raise ToolError("wrong_state", f"{account_id} has a card, hold or standing payment", "Cancel or release it first.")
        self.accounts.update(account_id, status="closed")
        return {"account_id": account_id, "status": "closed"}

    @tool()
    def transfer_money(self, source_id: bank.AccountId, target_id: bank.AccountId, amount: Amount) -> bank.Transferred:
        """Moves money between two of the user's own accounts of one currency."""
        source, target, paid = self._account(source_id), self._account(target_id), cents(amount)
        if source is target:
            raise ToolError("invalid_value", "source and target are the same account", "Give two different accounts.")
        if source.currency != target.currency:
            wrong = f"{source_id} is in {source.currency}, {target_id} in {target.currency}"
            raise ToolError("wrong_state", wrong, "Use quote_exchange and accept_quote.")
        self._check_funds(source, paid)
        row = self._post(source, -paid, target.name, "transfer")
        self._post(target, paid, source.name, "transfer")
        balances = money(self.accounts[source_id].cents), money(self.accounts[target_id].cents)
        return {"transaction_id": row.transaction_id, "source_balance": balances[0], "target_balance": balances[1]}

    # -- holds ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_hold(self, name: bank.KnownName) -> bank.HoldFound:
        """Finds a hold by the name that it is for."""
        row = named(self.holds.values(), name, "hold", "list_holds")
        return {"hold_id": row.hold_id, "amount": money(row.cents), "since": row.day}

    @tool(read_only=True)
    def list_holds(self, limit: Limit = 5) -> list[bank.HoldShown]:
        """Lists money on hold."""
        rows = list(self.holds.values())[: int(limit)]
        return [{"hold_id": r.hold_id, "account_id": r.account_id, "name": r.name, "amount": money(r.cents)} for r in rows]

    @tool()
    def place_hold(self, account_id: bank.AccountId, amount: Amount, name: bank.NewName) -> bank.HoldPlaced:
        """Sets money of an account aside under a name."""
        account, held = self._account(account_id), cents(amount)
        name = unused(self.holds.values(), name, "hold")
        self._check_funds(account, held)
        key = self.holds.fresh("hold", account_id, held, name)
        self.holds.put(key, Hold(key, account_id, name, held, self._today()))
        return {"hold_id": key, "available": money(self._available(account))}

    @tool(destructive=True)
    def release_hold(self, hold_id: bank.HoldId) -> bank.Available:
        """Ends a hold: its money becomes available again."""
        account_id = existing(self.holds, hold_id, "hold", "list_holds").account_id
        self.holds.remove(hold_id)
        return {"account_id": account_id, "available": money(self._available(self.accounts[account_id]))}

    # -- cards ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_card(self, last4: bank.LastDigits) -> bank.CardFound:
        """Finds a card by its last four digits."""
        found = self.cards.where(lambda r: r.last4 == last4)
        if not found:
            raise ToolError("not_found", f"no card ends in {last4.strip()}", "list_cards shows the cards.")
        return {"card_id": found[0].card_id, "account_id": found[0].account_id}

    @tool(read_only=True)
    def list_cards(self, status: bank.AnyCardStatus = "any", limit: Limit = 5) -> list[bank.CardShown]:
        """Lists cards with their accounts."""
        rows = self.cards.where(lambda r: status in ("any", r.status))[: int(limit)]
        return [{"card_id": r.card_id, "account_id": r.account_id, "last4": r.last4, "status": r.status} for r in rows]

    @tool(read_only=True)
    def get_account_card(self, account_id: bank.AccountId) -> bank.AccountCard:
        """The card of an account."""
        self._account(account_id)
        found = self.cards.where(lambda r: r.account_id == account_id)
        if not found:
            raise ToolError("not_found", f"{account_id} has no card", "list_cards shows which accounts have one.")
        return {"card_id": found[0].card_id, "last4": found[0].last4}

    @tool(read_only=True)
    def get_card(self, card_id: bank.CardId) -> bank.CardDetails:
        """A card's state, its daily limit and what is left of it today."""
        row = self._card(card_id)
        left = max(0, row.limit - self._spent_today(row))
        return {"card_id": row.card_id, "status": row.status, "limit": money(row.limit), "left_today": money(left)}

    @tool()
    def freeze_card(self, card_id: bank.CardId) -> bank.CardState:
        """Blocks an active card until it is unfrozen."""
        return self._switch(card_id, "active", "frozen")

    @tool()
    def unfreeze_card(self, card_id: bank.CardId) -> bank.CardState:
        """Makes a frozen card usable again."""
        return self._switch(card_id, "frozen", "active")

    @tool(idempotent=True)
    def set_card_limit(
        self, card_id: bank.CardId, amount: Annotated[int, Field(ge=50, le=5000, description="New daily limit, whole units.")]
    ) -> bank.CardLimit:
        """Sets how much a card may spend in a day."""
        row = self._card(card_id)
        self.cards.update(row.card_id, limit=int(amount) * 100)
        return {"card_id": row.card_id, "limit": float(amount)}

    @tool(read_only=True)
    def get_pin_code(self, card_id: bank.CardId) -> bank.CardCode:
        """The one-time code with which the PIN of a card can be changed."""
        row = self._card(card_id)
        return {"card_id": row.card_id, "code": row.code()}

    @tool()
    def change_pin(
        self,
        card_id: bank.CardId,
        code: bank.PinCode,
        pin: Annotated[int, Field(ge=1000, le=9999, description="The new PIN, four digits.")],
    ) -> bank.PinChanged:
        """Changes the PIN of an active card, with the card's code from get_pin_code."""
        row, pin = self._card(card_id), int(pin)
        if row.status != "active":
            raise ToolError("wrong_state", f"{card_id} is frozen", "Use unfreeze_card first.")
        if code != row.code():
            raise ToolError("denied", f"{code.strip()} is not the code of {card_id}", "get_pin_code issues it.")
        if pin == row.pin or len(set(str(pin))) == 1 or str(pin) in ("1234", "4321"):
            raise ToolError("invalid_value", "the PIN is the present one, or too easy", "Choose another PIN.")
        self.cards.update(row.card_id, pin=pin, changes=row.changes + 1)
        return {"card_id": row.card_id, "changed": True}

    @tool()
    def pay_by_card(self, card_id: bank.CardId, payee_id: bank.PayeeId, amount: Amount) -> bank.Posted:
        """Pays a payee with an active card, within its daily limit."""
        card, payee, paid = self._card(card_id), self._payee(payee_id), cents(amount)
        account = self._account(card.account_id)
        if card.status != "active":
            raise ToolError("wrong_state", f"{card_id} is frozen", "Use unfreeze_card first.")
        if self._spent_today(card) + paid > card.limit:
            raise ToolError("insufficient", f"over the daily limit of {money(card.limit)}", "Raise it with set_card_limit.")
        self._check_funds(account, paid)
        return self._posted(self._post(account, -paid, payee.name, PAYMENT[payee.kind], card.card_id))

    @tool(read_only=True)
    def get_last_charge(self, card_id: bank.CardId) -> bank.LastCharge:
        """The latest transaction of a card."""
        self._card(card_id)
        rows = self.transactions.where(lambda r: r.card_id == card_id)
        if not rows:
            raise ToolError("not_found", f"{card_id} has no charges", "Try another card from list_cards.")
        row = latest(rows)[0]
        return {"transaction_id": row.transaction_id, "card_id": card_id, "name": row.name}

    # -- payees, payments and bills ------------------------------------------------------------

    @tool(read_only=True)
    def find_payee(self, name: bank.KnownName) -> bank.PayeeFound:
        """Finds a payee by name."""
        row = named(self.payees.values(), name, "payee", "list_payees")
        return {"payee_id": row.payee_id, "kind": row.kind}

    @tool(read_only=True)
    def list_payees(self, kind: bank.AnyPayeeKind = "any", limit: Limit = 5) -> list[bank.PayeeShown]:
        """Lists payees, all kinds or one."""
        rows = self.payees.where(lambda r: kind in ("any", r.kind))[: int(limit)]
        return [{"payee_id": r.payee_id, "name": r.name, "kind": r.kind} for r in rows]

    @tool()
    def add_payee(
        self,
        name: bank.NewName,
        details: Annotated[bank.BankDetails, Field(description="The payee's bank and account number.")],
        kind: bank.PayeeKind = "person",
    ) -> bank.PayeeFound:
        """Adds a payee, to whom payments can then be sent."""
        name, number = unused(self.payees.values(), name, "payee"), int(details["number"])
        place = plain(details["bank"], "bank")
        if self.payees.where(lambda r: r.number == number):
            raise ToolError("conflict", f"a payee with account number {number} exists", "list_payees shows the payees.")
        key = self.payees.fresh("payee", name, place, number)
        self.payees.put(key, Payee(key, name, kind, place, number))
        return {"payee_id": key, "kind": kind}

    @tool(destructive=True)
    def remove_payee(self, payee_id: bank.PayeeId) -> bank.PayeeGone:
        """Removes a payee with no due bill and no standing payment."""
        self._payee(payee_id)
        if any(r.payee_id == payee_id and r.status == "due" for r in self.bills.values()):
            raise ToolError("conflict", f"{payee_id} has a due bill", "Pay it with pay_bill first.")
        if any(r.payee_id == payee_id for r in self.standing.values()):
            raise ToolError("conflict", f"{payee_id} has a standing payment", "Use cancel_standing first.")
        self.payees.remove(payee_id)
        return {"payee_id": payee_id, "removed": True}

    @tool()
    def send_payment(
        self, account_id: bank.AccountId, payee_id: bank.PayeeId, amount: Amount, note: bank.Note = ""
    ) -> bank.Posted:
        """Sends money from a checking or joint account to a payee."""
        account, payee, paid = self._account(account_id), self._payee(payee_id), cents(amount)
        note = plain(note, "note") if note else ""
        self._check_payer(account, paid)
        return self._posted(self._post(account, -paid, payee.name, PAYMENT[payee.kind], note=note))

    @tool(read_only=True)
    def list_bills(self, limit: Limit = 5) -> list[bank.BillShown]:
        """Lists due bills, the earliest first."""
        rows = sorted(self.bills.where(lambda r: r.status == "due"), key=lambda r: (r.due, r.bill_id))[: int(limit)]
        return [{"bill_id": r.bill_id, "payee_id": r.payee_id, "amount_due": money(r.cents), "due": r.due} for r in rows]

    @tool(read_only=True)
    def get_due_bill(self, payee_id: bank.PayeeId) -> bank.BillFound:
        """The due bill of a payee: how much, and until when."""
        self._payee(payee_id)
        rows = self.bills.where(lambda r: r.status == "due" and r.payee_id == payee_id)
        if not rows:
            raise ToolError("not_found", f"no bill of {payee_id} is due", "list_bills shows the due bills.")
        return {"bill_id": rows[0].bill_id, "amount_due": money(rows[0].cents), "due": rows[0].due}

    @tool()
    def pay_bill(self, bill_id: bank.BillId, account_id: bank.AccountId) -> bank.BillPaid:
        """Pays a due bill in full from a checking or joint account."""
        bill, account = self._due(bill_id), self._account(account_id)
        self._check_payer(account, bill.cents)
        self._settle(bill, account)
        return {"bill_id": bill_id, "status": "paid", "balance": money(self.accounts[account_id].cents)}

    @tool()
    def pay_bills(
        self,
        bill_ids: Annotated[list[bank.BillId], Field(min_length=1, max_length=10, description="The bills to pay.")],
        account_id: bank.AccountId,
    ) -> bank.BillsPaid:
        """Pays several due bills from one account: all of them or none."""
        bills, account = [self._due(key) for key in bill_ids], self._account(account_id)
        if len(set(bill_ids)) < len(bill_ids):
            raise ToolError("invalid_value", "a bill is named twice", "Name each bill once.")
        for bill in bills:
            self._check_payer(account, bill.cents)
        self._check_funds(account, sum(bill.cents for bill in bills))
        for bill in bills:
            self._settle(bill, self.accounts[account_id])
        return {"account_id": account_id, "paid": len(bills), "balance": money(self.accounts[account_id].cents)}

    # -- standing payments ---------------------------------------------------------------------

    @tool(read_only=True)
    def get_standing(self, payee_id: bank.PayeeId) -> bank.StandingFound:
        """The standing payment to a payee: how much, how often, and when next."""
        self._payee(payee_id)
        rows = self.standing.where(lambda r: r.payee_id == payee_id)
        if not rows:
            raise ToolError("not_found", f"no standing payment to {payee_id}", "list_standing shows them.")
        row = rows[0]
        return {"standing_id": row.standing_id, "amount": money(row.cents), "next_day": row.day, "every": row.every}

    @tool(read_only=True)
    def list_standing(self, limit: Limit = 5) -> list[bank.StandingShown]:
        """Lists standing payments, the next one first."""
        rows = sorted(self.standing.values(), key=lambda r: (r.day, r.standing_id))[: int(limit)]
        return [
            {"standing_id": r.standing_id, "payee_id": r.payee_id, "amount": money(r.cents), "every": r.every} for r in rows
        ]

    @tool()
    def add_standing(
        self,
        account_id: bank.AccountId,
        payee_id: bank.PayeeId,
        amount: Amount,
        day: Date,
        every: bank.Every = "month",
    ) -> bank.StandingState:
        """Sets up a standing payment to a payee that has none, from a day after today on."""
        account, paid, first = self._account(account_id), cents(amount), date_of(day)
        self._payee(payee_id)
        self._check_kind(account, paid)
        if first <= self.now.date():
            raise ToolError("invalid_value", f"{first} is not after today, {self._today()}", "Give a later day.")
        if self.standing.where(lambda r: r.payee_id == payee_id):
            raise ToolError("conflict", f"{payee_id} has a standing payment", "Use change_standing or cancel_standing.")
        key = self.standing.fresh("stand", account_id, payee_id, paid, first.isoformat(), every)
        self.standing.put(key, Standing(key, account_id, payee_id, paid, first.isoformat(), first.day, every))
        return {"standing_id": key, "next_day": first.isoformat()}

    @tool(idempotent=True)
    def change_standing(self, standing_id: bank.StandingId, amount: Amount) -> bank.StandingState:
        """Changes the amount of a standing payment."""
        row, paid = self._standing(standing_id), cents(amount)
        self._check_kind(self.accounts[row.account_id], paid)
        self.standing.update(standing_id, cents=paid)
        return {"standing_id": standing_id, "next_day": row.day}

    @tool()
    def skip_standing(self, standing_id: bank.StandingId) -> bank.StandingState:
        """Leaves out the next payment of a standing payment."""
        row = self._standing(standing_id)
        day = following(dt.date.fromisoformat(row.day), row.every, row.first)
        if day > self.now.date() + dt.timedelta(days=1500):
            raise ToolError("invalid_value", "skipped too far ahead", "Use cancel_standing instead.")
        self.standing.update(standing_id, day=day.isoformat())
        return {"standing_id": standing_id, "next_day": day.isoformat()}

    @tool(destructive=True)
    def cancel_standing(self, standing_id: bank.StandingId) -> bank.StandingGone:
        """Ends a standing payment for good."""
        self._standing(standing_id)
        self.standing.remove(standing_id)
        return {"standing_id": standing_id, "cancelled": True}

    # -- transactions --------------------------------------------------------------------------

    @tool(read_only=True)
    def find_transaction(self, name: bank.KnownName) -> bank.TransactionFound:
        """Finds the latest transaction with a shop, an employer or a payee."""
        row = named(latest(self.transactions.values()), name, "transaction", "list_transactions")
        return {"transaction_id": row.transaction_id, "account_id": row.account_id}

    @tool(read_only=True)
    def list_transactions(self, account_id: bank.AccountId, limit: Limit = 5) -> list[bank.TransactionRow]:
        """Lists the transactions of an account, the latest first."""
        self._account(account_id)
        return shown(latest(self.transactions.where(lambda r: r.account_id == account_id))[: int(limit)])

    @tool(read_only=True)
    def search_transactions(
        self, where: Annotated[bank.TransactionFilter, Field(description="What must hold.")], limit: Limit = 5
    ) -> list[bank.TransactionRow]:
        """Lists payments out of all accounts that meet the conditions, the largest first."""
        since = date_of(where["since"]).isoformat() if "since" in where else ""
        if "account_id" in where:
            self._account(where["account_id"])
        least = cents(where["min_amount"]) if "min_amount" in where else 0
        account_id, category = where.get("account_id"), where.get("category")
        rows = self.transactions.where(
            lambda r: (
                r.cents < 0
                and r.day >= since
                and -r.cents >= least
                and account_id in (None, r.account_id)
                and category in (None, r.category)
            )
        )
        return shown(sorted(rows, key=lambda r: (r.cents, r.transaction_id))[: int(limit)])

    @tool(read_only=True)
    def get_transaction(self, transaction_id: bank.TransactionId) -> bank.TransactionDetails:
        """The amount, day, category and state of a transaction."""
        r = self._transaction(transaction_id)
        return {
            "transaction_id": r.transaction_id,
            "amount": money(abs(r.cents)),
            "direction": "in" if r.cents > 0 else "out",
            "day": r.day,
            "category": r.category,
            "status": r.status,
        }

    @tool(idempotent=True)
    def set_category(self, transaction_id: bank.TransactionId, category: bank.Category) -> bank.Categorised:
        """Changes the category of a transaction."""
        self._transaction(transaction_id)
        self.transactions.update(transaction_id, category=category)
        return {"transaction_id": transaction_id, "category": category}

    @tool()
    def dispute_charge(self, transaction_id: bank.TransactionId, reason: bank.Reason = "fraud") -> bank.Disputed:
        """Disputes a card charge: its money is put back for the time being."""
        row = self._transaction(transaction_id)
        if not row.card_id or row.cents >= 0:
            raise ToolError("wrong_state", f"{transaction_id} is not a card charge", "get_last_charge finds charges.")
        if row.status == "disputed":
            raise ToolError("wrong_state", f"{transaction_id} is disputed already", "Nothing is left to do.")
        account = self._account(row.account_id)
        self.transactions.update(transaction_id, status="disputed")
        self._post(account, -row.cents, f"Dispute {reason}", "other")
        balance = money(self.accounts[account.account_id].cents)
        return {"transaction_id": transaction_id, "status": "disputed", "balance": balance}

    @tool(read_only=True)
    def sum_spending(self, category: bank.Category, since: Date) -> bank.Spending:
        """How much left all accounts for a category since a day, and in how many payments."""
        start = date_of(since).isoformat()
        rows = self.transactions.where(lambda r: r.cents < 0 and r.category == category and r.day >= start)
        return {"total": money(-sum(r.cents for r in rows)), "count": len(rows)}

    @tool(read_only=True)
    def get_statement(self, account_id: bank.AccountId, since: Date) -> bank.Statement:
        """The statement of an account from a day until today: opening and closing balance, sums paid in and out."""
        account, start = self._account(account_id), date_of(since).isoformat()
        moved = [r.cents for r in self.transactions.values() if r.account_id == account_id and r.day >= start]
        return {
            "account_id": account_id,
            "opening": money(account.cents - sum(moved)),
            "paid_in": money(sum(c for c in moved if c > 0)),
            "paid_out": money(-sum(c for c in moved if c < 0)),
            "closing": money(account.cents),
        }

    # -- exchange ------------------------------------------------------------------------------

    @tool(read_only=True)
    def get_rate(self, source: bank.Currency, target: bank.Currency) -> bank.RateShown:
        """How much of one currency a unit of another buys now."""
        return {"rate": round(self.rates[target].per_dollar / self.rates[source].per_dollar, 4)}

    @tool()
    def quote_exchange(self, source_id: bank.AccountId, target_id: bank.AccountId, amount: Amount) -> bank.QuoteShown:
        """Fixes a rate for an amount of the source's currency; replaces the target's open quote. Moves no money."""
        source, target, paid = self._account(source_id), self._account(target_id), cents(amount)
        if source.currency == target.currency:
            raise ToolError("wrong_state", f"both accounts are in {source.currency}", "Use transfer_money.")
        receives = converted(paid, self.rates[source.currency], self.rates[target.currency])
        if receives == 0:
            raise ToolError("invalid_value", f"{amount} buys nothing", "Give a larger amount.")
        for old in self._open_quotes(target_id):
            self.quotes.remove(old.quote_id)
        key = self.quotes.fresh("quote", source_id, target_id, paid)
        until = (self.now + dt.timedelta(hours=1)).isoformat(timespec="minutes")
        self.quotes.put(key, Quote(key, source_id, target_id, paid, receives, until))
        return {"quote_id": key, "target_id": target_id, "receives": money(receives)}

    @tool(read_only=True)
    def get_open_quote(self, target_id: bank.AccountId) -> bank.QuoteFound:
        """The open exchange quote into an account: what it pays and what it receives."""
        self._account(target_id)
        rows = self._open_quotes(target_id)
        if not rows:
            raise ToolError("not_found", f"no open quote into {target_id}", "quote_exchange makes one.")
        return {"quote_id": rows[0].quote_id, "pays": money(rows[0].cents), "receives": money(rows[0].receives)}

    @tool(read_only=True)
    def list_quotes(self, limit: Limit = 5) -> list[bank.QuoteShown]:
        """Lists the open exchange quotes."""
        rows = self.quotes.where(lambda r: r.status == "open")[: int(limit)]
        return [{"quote_id": r.quote_id, "target_id": r.target_id, "receives": money(r.receives)} for r in rows]

    @tool()
    def accept_quote(self, quote_id: bank.QuoteId) -> bank.Transferred:
        """Exchanges money at an open quote."""
        quote = existing(self.quotes, quote_id, "quote", "list_quotes")
        if quote.status != "open":
            raise ToolError("wrong_state", f"{quote_id} was used", "quote_exchange makes a new quote.")
        if quote.until < self.now.isoformat(timespec="minutes"):
            raise ToolError("wrong_state", f"{quote_id} ended at {quote.until}", "quote_exchange makes a new quote.")
        source, target = self._account(quote.source_id), self._account(quote.target_id)
        self._check_funds(source, quote.cents)
        self.quotes.update(quote_id, status="used")
        row = self._post(source, -quote.cents, target.name, "transfer")
        self._post(target, quote.receives, source.name, "transfer")
        balances = money(self.accounts[source.account_id].cents), money(self.accounts[target.account_id].cents)
        return {"transaction_id": row.transaction_id, "source_balance": balances[0], "target_balance": balances[1]}

    # -- shared by the tools -------------------------------------------------------------------

    def _today(self) -> str:
        return self.now.date().isoformat()

    def _open_accounts(self) -> list[Account]:
        return self.accounts.where(lambda r: r.status == "open")

    def _account(self, account_id: str) -> Account:
        row = existing(self.accounts, account_id, "account", "list_accounts")
        if row.status != "open":
            raise ToolError("wrong_state", f"{account_id} is closed", "list_accounts shows the open accounts.")
        return row

    def _card(self, card_id: str) -> Card:
        return existing(self.cards, card_id, "card", "list_cards")

    def _payee(self, payee_id: str) -> Payee:
        return existing(self.payees, payee_id, "payee", "list_payees")

    def _standing(self, standing_id: str) -> Standing:
        return existing(self.standing, standing_id, "standing payment", "list_standing")

    def _transaction(self, transaction_id: str) -> Transaction:
        return existing(self.transactions, transaction_id, "transaction", "list_transactions")

    def _due(self, bill_id: str) -> Bill:
        row = existing(self.bills, bill_id, "bill", "list_bills")
        if row.status != "due":
            raise ToolError("wrong_state", f"{bill_id} is paid already", "list_bills shows the due bills.")
        return row

    def _open_quotes(self, target_id: str) -> list[Quote]:
        return self.quotes.where(lambda r: r.status == "open" and r.target_id == target_id)

    def _available(self, account: Account) -> int:
        return account.cents - sum(r.cents for r in self.holds.values() if r.account_id == account.account_id)

    def _spent_today(self, card: Card) -> int:
        today = self._today()
        rows = self.transactions.where(lambda r: r.card_id == card.card_id and r.day == today)
        return -sum(r.cents for r in rows)

    def _check_funds(self, account: Account, wanted: int) -> None:
        available = self._available(account)
        if wanted > available:
            short = f"{account.account_id} has {money(available)} available, not {money(wanted)}"
            raise ToolError("insufficient", short, "Choose a smaller amount or another account.")

    def _check_kind(self, account: Account, paid: int) -> None:
        if account.kind in ("savings", "foreign"):
            wrong = f"{account.account_id} is a {account.kind} account and pays nobody"
            raise ToolError("wrong_state", wrong, "Use a checking account, or transfer_money to one first.")
        if account.kind == "joint" and paid > JOINT_LIMIT:
            over = f"{account.account_id} is joint: over {money(JOINT_LIMIT)} needs the other owner"
            raise ToolError("denied", over, "Use a checking account.")

    def _check_payer(self, account: Account, paid: int) -> None:
        self._check_kind(account, paid)
        self._check_funds(account, paid)

    def _post(
        self, account: Account, amount: int, name: str, category: bank.Category, card_id: str = "", note: str = ""
    ) -> Transaction:
        """The only way in which a balance changes."""
        key = self.transactions.fresh("txn", account.account_id, amount, name, category, card_id, note)
        self.accounts.update(account.account_id, cents=account.cents + amount)
        row = Transaction(key, account.account_id, name, amount, self._today(), category, card_id, note=note)
        return self.transactions.put(key, row)

    def _posted(self, row: Transaction) -> bank.Posted:
        return {"transaction_id": row.transaction_id, "balance": money(self.accounts[row.account_id].cents)}

    def _settle(self, bill: Bill, account: Account) -> None:
        self.bills.update(bill.bill_id, status="paid")
        payee = self.payees.get(bill.payee_id)
        self._post(account, -bill.cents, payee.name if payee else "Bill", "bills")

    def _switch(self, card_id: str, before: bank.CardStatus, after: bank.CardStatus) -> bank.CardState:
        row = self._card(card_id)
        if row.status != before:
            raise ToolError("wrong_state", f"{card_id} is {row.status} already", "get_card shows its state.")
        self.cards.update(row.card_id, status=after)
        return {"card_id": row.card_id, "status": after}
