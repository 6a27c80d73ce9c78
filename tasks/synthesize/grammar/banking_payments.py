"""Goals of the banking grammar: cards, payees, payments, bills and standing payments."""

from __future__ import annotations

from tasks.servers.banking_data import BANKS
from tasks.servers.world import words
from tasks.synthesize.grammar import Choice, Constant, Day, Goal, Name, Number, Ref, Words

NOTES = words(
    """rent dinner lunch tickets groceries books flowers lessons repairs petrol coffee deposit invoice thanks membership
    parking babysitting haircut concert taxi donation laundry catering plumbing painting gardening tutoring cleaning
    breakfast festival"""
)
CHECKING = {"kind": "checking"}

PAYMENT_GOALS = [
    # cards
    Goal(
        "get_card",
        {"card_id": Ref("card")},
        [
            "tell me the daily limit of {card_id}",
            "what is the daily limit of {card_id}",
            "how much may {card_id} spend in a day",
            "look up the spending limit per day on {card_id}",
        ],
        answer="/limit",
    ),
    Goal(
        "get_card",
        {"card_id": Ref("card")},
        [
            "tell me whether {card_id} is active or frozen",
            "check if {card_id} is frozen",
            "what is the status of {card_id}",
            "find out if {card_id} is active",
        ],
        answer="/status",
    ),
    Goal(
        "get_account_card",
        {"account_id": Ref("account")},
        [
            "tell me the last four digits of the card of {account_id}",
            "what are the last four digits of the card for {account_id}",
            "which four digits does the card of {account_id} end in",
            "look up the last digits of the card linked to {account_id}",
        ],
        answer="/last4",
        needs_state={"account_id": CHECKING},
        weight=0.5,
    ),
    Goal(
        "get_last_charge",
        {"card_id": Ref("card")},
        [
            "tell me where {card_id} was last used",
            "where was the last charge on {card_id} made",
            "which shop was the latest charge on {card_id} from",
            "look up the name behind the most recent charge on {card_id}",
        ],
        answer="/name",
    ),
    Goal(
        "freeze_card",
        {"card_id": Ref("card")},
        [
            "freeze {card_id}",
            "block {card_id} for now",
            "put a freeze on {card_id}",
            "lock {card_id} because I cannot find it",
            "stop {card_id} from being used for a while",
        ],
        needs_state={"card_id": {"status": "active"}},
    ),
    Goal(
        "unfreeze_card",
        {"card_id": Ref("card")},
        [
            "unfreeze {card_id}",
            "unblock {card_id}",
            "make {card_id} usable again",
            "unlock {card_id} because I found it",
            "lift the freeze on {card_id}",
        ],
        needs_state={"card_id": {"status": "frozen"}},
    ),
    Goal(
        "set_card_limit",
        {"card_id": Ref("card"), "amount": Number(100, 3000, 50)},
        [
            "set the daily limit of {card_id} to {amount}",
            "change the daily limit on {card_id} to {amount}",
            "let {card_id} spend at most {amount} a day",
            "make {amount} the daily limit of {card_id}",
            "cap {card_id} at {amount} per day",
        ],
    ),
    Goal(
        "change_pin",
        {"card_id": Ref("card"), "code": Ref("pin_code"), "pin": Number(1001, 9998)},
        [
            "change the PIN of {card_id} to {pin}",
            "set the PIN of {card_id} to {pin}",
            "give {card_id} the new PIN {pin}",
            "make {pin} the PIN of {card_id}",
            "set {pin} as the new PIN for {card_id}",
        ],
        needs_state={"card_id": {"status": "active"}},
    ),
    Goal(
        "pay_by_card",
        {"card_id": Ref("card"), "payee_id": Ref("payee"), "amount": Number(5, 150, 5)},
        [
            "pay {payee_id} {amount} dollars with {card_id}",
            "use {card_id} to pay {amount} to {payee_id}",
            "charge {amount} to {card_id} for {payee_id}",
            "put a payment of {amount} to {payee_id} on {card_id}",
        ],
        needs_state={"card_id": {"status": "active"}},
    ),
    # payees, payments, bills
    Goal(
        "add_payee",
        {"name": Name("person"), "details": Constant({"bank": Words((BANKS,)), "number": Number(10_000_001, 99_999_998)})},
        [
            "add {name} as a payee, account number {details.number} at {details.bank}",
            "save {name} as a new payee with account {details.number} at the bank {details.bank}",
            "create a payee {name} whose account is {details.number} at {details.bank}",
            "set up {name} as a payee, bank {details.bank}, account number {details.number}",
        ],
        weight=0.7,
    ),
    Goal(
        "remove_payee",
        {"payee_id": Ref("payee")},
        [
            "remove {payee_id} from my payees",
            "delete {payee_id} from my list of payees",
            "take {payee_id} off my payees",
            "drop {payee_id} from the payees that I have saved",
        ],
        needs_state={"payee_id": {"kind": "person"}},
        weight=0.6,
    ),
    Goal(
        "send_payment",
        {"account_id": Ref("account"), "payee_id": Ref("payee"), "amount": Number(5, 300, 5)},
        [
            "pay {amount} to {payee_id} from {account_id}",
            "send {payee_id} {amount} dollars from {account_id}",
            "send {amount} to {payee_id} out of {account_id}",
            "make a payment of {amount} to {payee_id} from {account_id}",
            "use {account_id} to pay {payee_id} {amount} dollars",
        ],
        needs_state={"account_id": CHECKING},
        weight=1.5,
    ),
    Goal(
        "send_payment",
        {"account_id": Ref("account"), "payee_id": Ref("payee"), "amount": Number(5, 300, 5), "note": Words((NOTES,))},
        [
            "pay {amount} to {payee_id} from {account_id} with the note {note}",
            "send {payee_id} {amount} dollars from {account_id} and write {note} as the note",
            "make a payment of {amount} from {account_id} to {payee_id}, note {note}",
            "send {amount} from {account_id} to {payee_id}, marked with the note {note}",
        ],
        needs_state={"account_id": CHECKING},
        weight=0.6,
    ),
    Goal(
        "get_due_bill",
        {"payee_id": Ref("payee")},
        [
            "tell me how much I owe {payee_id}",
            "how much is the bill from {payee_id}",
            "what do I owe {payee_id}",
            "look up the amount of the bill from {payee_id}",
        ],
        answer="/amount_due",
        needs_state={"payee_id": {"kind": "utility"}},
    ),
    Goal(
        "get_due_bill",
        {"payee_id": Ref("payee")},
        [
            "tell me when the bill from {payee_id} is due",
            "when is the bill from {payee_id} due",
            "what is the last day for paying the bill from {payee_id}",
            "look up the due date of the bill from {payee_id}",
        ],
        answer="/due",
        needs_state={"payee_id": {"kind": "utility"}},
        weight=0.6,
    ),
    Goal(
        "list_bills",
        {},
        [
            "tell me when my next bill is due",
            "when is my next bill due",
            "what is the due date of my earliest bill",
            "look up the date by which I have to pay the next bill",
        ],
        answer="/0/due",
        weight=0.3,
    ),
    Goal(
        "pay_bill",
        {"bill_id": Ref("bill"), "account_id": Ref("account")},
        [
            "pay {bill_id} from {account_id}",
            "settle {bill_id} with money from {account_id}",
            "use {account_id} to pay {bill_id}",
            "pay off {bill_id} out of {account_id}",
            "take care of {bill_id} using {account_id}",
        ],
        needs_state={"account_id": CHECKING},
        weight=1.3,
    ),
    Goal(
        "pay_bills",
        {"bill_ids": Constant([Ref("bill"), Ref("bill")]), "account_id": Ref("account")},
        [
            "pay both {bill_ids.0} and {bill_ids.1} from {account_id} in one go",
            "settle {bill_ids.0} and {bill_ids.1} together from {account_id}",
            "pay {bill_ids.0} together with {bill_ids.1}, both out of {account_id}",
            "use {account_id} to pay {bill_ids.0} and {bill_ids.1} at once",
        ],
        needs_state={"account_id": CHECKING},
        weight=0.7,
    ),
    # standing payments
    Goal(
        "get_standing",
        {"payee_id": Ref("payee")},
        [
            "tell me how much my standing payment to {payee_id} is",
            "how much is the standing payment to {payee_id}",
            "what amount do I regularly pay to {payee_id}",
            "look up the amount of the standing payment to {payee_id}",
        ],
        answer="/amount",
        needs_state={"payee_id": {"kind": "company"}},
        weight=0.7,
    ),
    Goal(
        "get_standing",
        {"payee_id": Ref("payee")},
        [
            "tell me the day of my next standing payment to {payee_id}",
            "when does the next standing payment to {payee_id} go out",
            "what is the next date of the standing payment to {payee_id}",
            "look up when {payee_id} gets my next standing payment",
        ],
        answer="/next_day",
        needs_state={"payee_id": {"kind": "company"}},
        weight=0.5,
    ),
    Goal(
        "add_standing",
        {
            "account_id": Ref("account"),
            "payee_id": Ref("payee"),
            "amount": Number(5, 120, 5),
            "day": Day(1, 30),
            "every": Choice({"week": "week", "month": "month", "year": "year"}),
        },
        [
            "set up a standing payment of {amount} from {account_id} to {payee_id} every {every}, starting on {day}",
            "pay {payee_id} {amount} dollars from {account_id} every {every} from {day} on",
            "send {amount} from {account_id} to {payee_id} every {every}, from {day} on",
            "arrange for {payee_id} to get {amount} from {account_id} every {every}, beginning {day}",
        ],
        needs_state={"account_id": CHECKING, "payee_id": {"kind": "person"}},
    ),
    Goal(
        "change_standing",
        {"standing_id": Ref("standing_payment"), "amount": Number(10, 150, 5)},
        [
            "change {standing_id} to {amount}",
            "set the amount of {standing_id} to {amount}",
            "let {standing_id} be {amount} from now on",
            "adjust {standing_id} so that it is {amount} each time",
        ],
    ),
    Goal(
        "skip_standing",
        {"standing_id": Ref("standing_payment")},
        [
            "skip the next round of {standing_id}",
            "skip {standing_id} once",
            "leave out {standing_id} the next time only",
            "pass over {standing_id} one time",
        ],
    ),
    Goal(
        "cancel_standing",
        {"standing_id": Ref("standing_payment")},
        [
            "cancel {standing_id}",
            "stop {standing_id} for good",
            "end {standing_id} altogether",
            "put an end to {standing_id}",
        ],
    ),
]
