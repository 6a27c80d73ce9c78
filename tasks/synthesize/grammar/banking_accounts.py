"""Goals of the banking grammar: accounts, holds, transactions and exchange."""

from __future__ import annotations

from tasks.servers.banking_data import NEW_ACCOUNT_NAMES
from tasks.servers.world import words
from tasks.synthesize.grammar import Choice, Constant, Day, Goal, Number, Ref, Words

HOLD_NAMES = words(
    """Deposit Scaffold Banquet Marquee Limousine Chalet Excavator Projector Piano Trailer Minibus Ballroom Yacht
    Generator Sculpture Carousel Orchestra Bouquet Photographer Caterer Florist Jeweller Tailor Upholsterer Locksmith
    Roofer Electrician Plumber Gardener Decorator"""
)

SPENDING = Choice(
    {
        "groceries": "groceries",
        "dining": "dining",
        "transport": "transport",
        "health": "health",
        "travel": "travel",
        "shopping": "shopping",
    }
)
CHECKING = {"kind": "checking"}
DOLLARS = {"currency": "USD"}

ACCOUNT_GOALS = [
    # accounts
    Goal(
        "get_balance",
        {"account_id": Ref("account")},
        [
            "tell me the balance of {account_id}",
            "what is the balance of {account_id}",
            "how much money is in {account_id}",
            "check how much {account_id} holds in total",
            "look up the total balance of {account_id}",
        ],
        answer="/balance",
    ),
    Goal(
        "get_balance",
        {"account_id": Ref("account")},
        [
            "tell me how much of {account_id} I can spend right now",
            "what is the available amount in {account_id}",
            "how much is available in {account_id}",
            "check how much money in {account_id} is free of holds",
        ],
        answer="/available",
        weight=0.6,
    ),
    Goal(
        "list_accounts",
        {"kind": Constant("joint")},
        [
            "tell me what my joint account is called",
            "what is the name of my joint account",
            "look up the name of my joint account",
            "which of my accounts is the joint one",
        ],
        answer="/0/name",
        weight=0.3,
    ),
    Goal(
        "open_account",
        {"name": Words((NEW_ACCOUNT_NAMES,)), "kind": Choice({"checking": "checking", "savings": "savings", "joint": "joint"})},
        [
            "open a {kind} account called {name}",
            "open a new {kind} account named {name}",
            "set up a {kind} account with the name {name}",
            "create a {kind} account for me and call it {name}",
        ],
        weight=0.6,
    ),
    Goal(
        "close_account",
        {"account_id": Ref("account")},
        [
            "close {account_id}",
            "shut down {account_id} for good",
            "permanently close {account_id}",
            "get rid of {account_id} since it is empty",
        ],
        needs_state={"account_id": {"kind": "savings", "balance": 0}},
        weight=0.4,
    ),
    Goal(
        "transfer_money",
        {"source_id": Ref("account"), "target_id": Ref("account"), "amount": Number(5, 300, 5)},
        [
            "move {amount} from {source_id} to {target_id}",
            "transfer {amount} from {source_id} into {target_id}",
            "take {amount} out of {source_id} and put it into {target_id}",
            "shift {amount} dollars over from {source_id} to {target_id}",
            "top up {target_id} with {amount} from {source_id}",
        ],
        needs_state={"source_id": DOLLARS, "target_id": DOLLARS},
        weight=1.5,
    ),
    Goal(
        "transfer_money",
        {"source_id": Ref("account"), "amount": Ref("available_balance"), "target_id": Ref("account")},
        [
            "move everything that is available in {source_id} to {target_id}",
            "empty all available money of {source_id} into {target_id}",
            "transfer the full available amount of {source_id} to {target_id}",
            "sweep all that is available in {source_id} over to {target_id}",
        ],
        needs_state={"source_id": DOLLARS, "target_id": DOLLARS},
        weight=0.7,
    ),
    Goal(
        "transfer_money",
        {"amount": Ref("amount_due"), "source_id": Ref("account"), "target_id": Ref("account")},
        [
            "move {amount} from {source_id} to {target_id}",
            "transfer {amount} from {source_id} into {target_id}",
            "put {amount} into {target_id}, taken from {source_id}",
            "shift {amount} from {source_id} over to {target_id}",
        ],
        needs_state={"source_id": DOLLARS, "target_id": DOLLARS},
        weight=0.5,
    ),
    # holds
    Goal(
        "place_hold",
        {"account_id": Ref("account"), "amount": Number(10, 200, 5), "name": Words((HOLD_NAMES,))},
        [
            "place a hold of {amount} on {account_id} for {name}",
            "put {amount} in {account_id} on hold under the name {name}",
            "reserve {amount} in {account_id} with a hold called {name}",
            "set {amount} aside in {account_id} as a hold named {name}",
        ],
        needs_state={"account_id": CHECKING},
    ),
    Goal(
        "release_hold",
        {"hold_id": Ref("hold")},
        [
            "release {hold_id}",
            "lift {hold_id}",
            "free the money from {hold_id}",
            "end {hold_id} so that I can use the money",
            "remove {hold_id}",
        ],
    ),
    # transactions
    Goal(
        "list_transactions",
        {"account_id": Ref("account")},
        [
            "tell me who the latest transaction of {account_id} was with",
            "what is the name on the newest transaction of {account_id}",
            "look up the other side of the latest transaction in {account_id}",
            "who was the most recent transaction in {account_id} with",
        ],
        answer="/0/name",
        needs_state={"account_id": CHECKING},
        weight=0.6,
    ),
    Goal(
        "search_transactions",
        {"where": Constant({"category": SPENDING, "since": Day(-42, -25)})},
        [
            "tell me where I made my largest {where.category} payment since {where.since}",
            "where was my biggest {where.category} payment since {where.since}",
            "who got my largest single payment for {where.category} since {where.since}",
            "look up the name on my biggest {where.category} payment since {where.since}",
        ],
        answer="/0/name",
        weight=0.7,
    ),
    Goal(
        "get_transaction",
        {"transaction_id": Ref("transaction")},
        [
            "tell me how much {transaction_id} was",
            "how much was {transaction_id}",
            "what is the amount of {transaction_id}",
            "look up the amount of {transaction_id}",
        ],
        answer="/amount",
    ),
    Goal(
        "get_transaction",
        {"transaction_id": Ref("transaction")},
        [
            "tell me what category {transaction_id} is in",
            "what category does {transaction_id} have",
            "which category was given to {transaction_id}",
            "look up the category of {transaction_id}",
        ],
        answer="/category",
        weight=0.7,
    ),
    Goal(
        "set_category",
        {"transaction_id": Ref("transaction"), "category": SPENDING},
        [
            "file {transaction_id} under {category}",
            "change the category of {transaction_id} to {category}",
            "mark {transaction_id} as {category}",
            "put {transaction_id} into the category {category}",
        ],
    ),
    Goal(
        "dispute_charge",
        {
            "transaction_id": Ref("transaction"),
            "reason": Choice(
                {
                    "fraud": "fraud",
                    "duplicate": "a duplicate",
                    "wrong_amount": "a wrong amount",
                    "not_received": "something never received",
                }
            ),
        },
        [
            "dispute {transaction_id} as {reason}",
            "contest {transaction_id} as {reason}",
            "file a dispute about {transaction_id}, giving {reason} as the reason",
            "report {transaction_id} to the bank as {reason}",
        ],
    ),
    Goal(
        "sum_spending",
        {"category": SPENDING, "since": Day(-40, -10)},
        [
            "tell me how much I spent on {category} since {since}",
            "how much did I spend on {category} since {since}",
            "what did I pay for {category} in total since {since}",
            "add up my {category} spending since {since}",
        ],
        answer="/total",
    ),
    Goal(
        "sum_spending",
        {"category": SPENDING, "since": Day(-40, -10)},
        [
            "tell me how many times I paid for {category} since {since}",
            "how many {category} payments did I make since {since}",
            "count my {category} payments since {since}",
            "how often did I pay for {category} since {since}",
        ],
        answer="/count",
        weight=0.6,
    ),
    Goal(
        "get_statement",
        {"account_id": Ref("account"), "since": Day(-41, -6)},
        [
            "tell me how much was paid out of {account_id} since {since}",
            "what was paid out of {account_id} in total since {since}",
            "how much money left {account_id} since {since}",
            "look up the total paid out of {account_id} since {since}",
        ],
        answer="/paid_out",
        weight=0.7,
    ),
    Goal(
        "get_statement",
        {"account_id": Ref("account"), "since": Day(-41, -6)},
        [
            "tell me the opening balance of {account_id} on {since}",
            "what was the opening balance of {account_id} on {since}",
            "how much was in {account_id} at the start of {since}",
            "look up with how much money {account_id} started on {since}",
        ],
        answer="/opening",
        weight=0.5,
    ),
    # exchange
    Goal(
        "get_rate",
        {"source": Constant("USD"), "target": Choice({"EUR": "euros", "GBP": "pounds", "CHF": "francs"})},
        [
            "tell me the exchange rate from dollars to {target}",
            "what is the exchange rate from dollars to {target}",
            "how many {target} do I get for a dollar",
            "look up the rate for changing dollars into {target}",
        ],
        answer="/rate",
        weight=0.5,
    ),
    Goal(
        "quote_exchange",
        {"source_id": Ref("account"), "target_id": Ref("account"), "amount": Number(20, 300, 10)},
        [
            "get me an exchange quote for {amount} from {source_id} into {target_id}",
            "ask for a quote to exchange {amount} from {source_id} into {target_id}",
            "fix an exchange rate for {amount} going from {source_id} to {target_id}",
            "request an exchange quote over {amount} out of {source_id} into {target_id}",
        ],
        needs_state={"source_id": CHECKING, "target_id": {"kind": "foreign"}},
        weight=0.7,
    ),
    Goal(
        "get_open_quote",
        {"target_id": Ref("account")},
        [
            "tell me how much {target_id} would receive by its open exchange quote",
            "how much would the open exchange quote bring into {target_id}",
            "what does {target_id} receive under its open exchange quote",
            "look up what the open exchange quote into {target_id} would pay in",
        ],
        answer="/receives",
        needs_state={"target_id": {"kind": "foreign"}},
        weight=0.4,
    ),
    Goal(
        "accept_quote",
        {"quote_id": Ref("exchange_quote")},
        [
            "accept {quote_id}",
            "take {quote_id} and exchange the money",
            "go ahead with {quote_id}",
            "exchange the money on the terms of {quote_id}",
        ],
    ),
]
