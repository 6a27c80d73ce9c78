"""What a user wants from the banking server, and how people say it (see the package's docstring).

Left out: goals for lists in no particular order (list_payees, list_holds): no single answer tells right from wrong.
"""

from __future__ import annotations

from tasks.synthesize.grammar import Field, Ref, Referent
from tasks.synthesize.grammar.banking_accounts import ACCOUNT_GOALS
from tasks.synthesize.grammar.banking_payments import PAYMENT_GOALS

REFERENTS = [
    Referent(
        "account",
        "find_account",
        {"name": Field("name")},
        "/account_id",
        ["my {name} account", "the {name} account", "the account called {name}", "the account named {name}"],
    ),
    Referent("account", None, {}, "", ["{id}", "account {id}"]),
    Referent(
        "card",
        "find_card",
        {"last4": Field("last4")},
        "/card_id",
        ["the card ending in {last4}", "my card ending in {last4}", "the card that ends in {last4}"],
    ),
    Referent(
        "card",
        "get_account_card",
        {"account_id": Ref("account", via="account_id")},
        "/card_id",
        ["the card of {account_id}", "the card for {account_id}", "the card that belongs to {account_id}"],
    ),
    Referent("card", None, {}, "", ["{id}"]),
    Referent(
        "payee",
        "find_payee",
        {"name": Field("name")},
        "/payee_id",
        ["{name}", "my payee {name}", "the payee {name}"],
    ),
    Referent("payee", None, {}, "", ["{id}"]),
    Referent(
        "bill",
        "get_due_bill",
        {"payee_id": Ref("payee", via="payee_id")},
        "/bill_id",
        ["the bill from {payee_id}", "the open bill from {payee_id}", "the bill that is due to {payee_id}"],
    ),
    Referent("bill", None, {}, "", ["{id}"]),
    Referent(
        "amount_due",
        "get_due_bill",
        {"payee_id": Ref("payee", via="payee_id")},
        "/amount_due",
        ["what I owe {payee_id}", "the amount that I owe {payee_id}", "as much as the bill from {payee_id} comes to"],
        of="bill",
    ),
    Referent(
        "available_balance",
        "get_balance",
        {"account_id": Ref("account", via="account_id")},
        "/available",
        ["everything available in {account_id}", "all the available money of {account_id}"],
        of="account",
    ),
    Referent(
        "pin_code",
        "get_pin_code",
        {"card_id": Ref("card", via="card_id")},
        "/code",
        ["the PIN code of {card_id}", "the one-time code of {card_id}"],
        of="card",
    ),
    Referent(
        "hold",
        "find_hold",
        {"name": Field("name")},
        "/hold_id",
        ["the hold for {name}", "the {name} hold", "the hold that {name} placed"],
    ),
    Referent("hold", None, {}, "", ["{id}"]),
    Referent(
        "standing_payment",
        "get_standing",
        {"payee_id": Ref("payee", via="payee_id")},
        "/standing_id",
        ["the standing payment to {payee_id}", "my standing payment to {payee_id}", "the regular payment to {payee_id}"],
    ),
    Referent("standing_payment", None, {}, "", ["{id}", "standing payment {id}"]),
    Referent(
        "transaction",
        "find_transaction",
        {"name": Field("name")},
        "/transaction_id",
        ["the transaction with {name}", "the latest transaction with {name}", "the {name} transaction"],
    ),
    Referent(
        "transaction",
        "get_last_charge",
        {"card_id": Ref("card", via="card_id")},
        "/transaction_id",
        ["the last charge on {card_id}", "the most recent charge on {card_id}"],
    ),
    Referent("transaction", None, {}, "", ["{id}", "transaction {id}"]),
    Referent(
        "exchange_quote",
        "get_open_quote",
        {"target_id": Ref("account", via="target_id")},
        "/quote_id",
        ["the exchange quote into {target_id}", "the open exchange quote for {target_id}"],
    ),
    Referent("exchange_quote", None, {}, "", ["{id}"]),
]

GOALS = [*ACCOUNT_GOALS, *PAYMENT_GOALS]
