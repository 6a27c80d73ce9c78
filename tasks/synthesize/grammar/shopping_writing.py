"""Requests that change something at the shopping server; part of tasks.synthesize.grammar.shopping.

Left out: requests to take a product off a wishlist, since no result tells which lists a product is on.
"""

from __future__ import annotations

from tasks.servers.shopping_data import NEW_WISHLISTS
from tasks.synthesize.grammar import Choice, Constant, Goal, Name, Number, Ref, Words

SPEEDS = Choice({"standard": "standard", "express": "express"})
REASONS = Choice({"damaged": "it is damaged", "wrong_item": "it is the wrong item", "unwanted": "I do not want it any more"})

WRITING = [
    Goal(
        "add_to_cart",
        {"variant_id": Ref("variant")},
        [
            "put {variant_id} in my cart",
            "add {variant_id} to my cart",
            "add one piece of {variant_id} to the cart",
            "place {variant_id} in the shopping cart",
        ],
        weight=1.5,
    ),
    Goal(
        "add_to_cart",
        {"variant_id": Ref("variant"), "quantity": Number(2, 4)},
        [
            "put {quantity} pieces of {variant_id} in my cart",
            "add {quantity} of {variant_id} to my cart",
            "add {quantity} pieces of {variant_id} to the cart",
            "get {quantity} of {variant_id} into my cart",
        ],
    ),
    Goal(
        "set_quantity",
        {"variant_id": Ref("variant"), "quantity": Number(2, 4)},
        [
            "change the quantity of {variant_id} in my cart to {quantity}",
            "set the number of pieces of {variant_id} in my cart to {quantity}",
            "make it {quantity} pieces of {variant_id} in my cart",
            "raise the quantity of {variant_id} in my cart to {quantity}",
        ],
        needs_state={"variant_id": {"in_cart": 1}},
        weight=0.7,
    ),
    Goal(
        "remove_from_cart",
        {"variant_id": Ref("variant")},
        [
            "take {variant_id} out of my cart",
            "remove {variant_id} from my cart",
            "drop {variant_id} from the cart",
            "delete {variant_id} from the shopping cart",
        ],
        needs_state={"variant_id": {"in_cart": 2}},
        weight=0.7,
    ),
    Goal(
        "apply_coupon",
        {"coupon_id": Ref("coupon")},
        [
            "apply {coupon_id} to my cart",
            "use {coupon_id} on my cart",
            "put {coupon_id} on the cart",
            "redeem {coupon_id} for what is in my cart",
        ],
    ),
    Goal(
        "checkout",
        {"address_id": Ref("address"), "method_id": Ref("payment_method")},
        [
            "order what is in my cart, ship it to {address_id} and pay with {method_id}",
            "check out my cart with {method_id} and send it to {address_id}",
            "buy everything in my cart with {method_id} and have it sent to {address_id}",
            "place the order for my cart, to {address_id}, paid by {method_id}",
        ],
        weight=1.5,
    ),
    Goal(
        "checkout",
        {"address_id": Ref("address"), "method_id": Ref("payment_method"), "speed": Constant("express")},
        [
            "order what is in my cart with express shipping to {address_id} and pay with {method_id}",
            "check out my cart with {method_id} and send it to {address_id} by express",
            "buy everything in my cart with {method_id} and have it sent express to {address_id}",
            "place the order for my cart, express to {address_id}, paid by {method_id}",
        ],
    ),
    Goal(
        "checkout",
        {"address_id": Ref("address"), "method_id": Ref("payment_method"), "gift_card_id": Ref("gift_card")},
        [
            "order what is in my cart to {address_id}, use {gift_card_id} and pay the rest with {method_id}",
            "check out my cart to {address_id}, first using {gift_card_id} and then {method_id}",
            "buy everything in my cart with {gift_card_id}, the rest with {method_id}, and have it sent to {address_id}",
            "place the order for my cart to {address_id}, paid by {gift_card_id} and otherwise by {method_id}",
        ],
    ),
    Goal(
        "create_wishlist",
        {"name": Words([NEW_WISHLISTS]), "product_ids": Constant([Ref("product")])},
        [
            "make a wishlist called {name} with {product_ids.0} on it",
            "create a wishlist named {name} that has {product_ids.0} on it",
            "start a new wishlist {name} with {product_ids.0}",
            "set up a {name} wishlist and put {product_ids.0} on it",
        ],
    ),
    Goal(
        "create_wishlist",
        {"name": Words([NEW_WISHLISTS]), "product_ids": Constant([Ref("product"), Ref("product")])},
        [
            "make a wishlist called {name} with {product_ids.0} and {product_ids.1} on it",
            "create a wishlist named {name} that has {product_ids.0} and {product_ids.1} on it",
            "start a new wishlist {name} with {product_ids.0} and {product_ids.1}",
            "set up a {name} wishlist and put {product_ids.0} and {product_ids.1} on it",
        ],
        weight=0.7,
    ),
    Goal(
        "add_to_wishlist",
        {"wishlist_id": Ref("wishlist"), "product_id": Ref("product")},
        [
            "put {product_id} on {wishlist_id}",
            "add {product_id} to {wishlist_id}",
            "save {product_id} to {wishlist_id}",
            "note {product_id} on {wishlist_id}",
        ],
    ),
    Goal(
        "add_address",
        {"address": Constant({"name": Name("person"), "street": Name("street"), "city": Name("city")})},
        [
            "add an address for {address.name} at {address.street} in {address.city}",
            "save a new address: {address.name}, {address.street}, {address.city}",
            "store {address.street} in {address.city} as a shipping address for {address.name}",
            "remember {address.name} at {address.street}, {address.city}, as a shipping address",
        ],
    ),
    Goal(
        "top_up_gift_card",
        {"gift_card_id": Ref("gift_card"), "method_id": Ref("payment_method"), "amount": Number(10, 80, 5)},
        [
            "load {amount} onto {gift_card_id} from {method_id}",
            "top up {gift_card_id} by {amount} with {method_id}",
            "put {amount} on {gift_card_id} and charge {method_id}",
            "add {amount} to {gift_card_id}, paid by {method_id}",
        ],
    ),
    Goal(
        "top_up_gift_card",
        {"gift_card_id": Ref("gift_card"), "method_id": Ref("payment_method"), "amount": Ref("order_total")},
        [
            "load {amount} onto {gift_card_id} from {method_id}",
            "top up {gift_card_id} by {amount} with {method_id}",
            "put {amount} on {gift_card_id} and charge {method_id}",
            "add {amount} to {gift_card_id}, paid by {method_id}",
        ],
        weight=0.7,
    ),
    Goal(
        "cancel_order",
        {"order_id": Ref("order")},
        ["cancel {order_id}", "call off {order_id}", "cancel all of {order_id}", "withdraw {order_id}"],
        needs_state={"order_id": {"status": "placed"}},
    ),
    Goal(
        "cancel_order",
        {"order_id": Ref("order")},
        ["cancel {order_id}", "call off {order_id}", "stop {order_id} before it ships", "withdraw {order_id}"],
        needs_state={"order_id": {"status": "packed"}},
        weight=0.5,
    ),
    Goal(
        "change_order_address",
        {"order_id": Ref("order"), "address_id": Ref("address")},
        [
            "send {order_id} to {address_id} instead",
            "change the address of {order_id} to {address_id}",
            "have {order_id} delivered to {address_id} instead",
            "redirect {order_id} to {address_id}",
        ],
        needs_state={"order_id": {"status": "placed"}},
    ),
    Goal(
        "pack_order",
        {"order_id": Ref("order")},
        [
            "mark {order_id} as packed",
            "set {order_id} to packed",
            "note that {order_id} has been packed",
            "record that {order_id} is packed now",
        ],
        needs_state={"order_id": {"status": "placed"}},
        weight=0.7,
    ),
    Goal(
        "ship_order",
        {"order_id": Ref("order"), "depot_id": Ref("depot")},
        [
            "ship {order_id} through {depot_id}",
            "hand over {order_id} to {depot_id} for shipping",
            "send off {order_id} through {depot_id}",
            "dispatch {order_id} by way of {depot_id}",
        ],
        needs_state={"order_id": {"status": "packed"}},
    ),
    Goal(
        "confirm_delivery",
        {"order_id": Ref("order")},
        [
            "confirm that {order_id} was delivered",
            "mark {order_id} as delivered",
            "note that {order_id} has arrived",
            "record the delivery of {order_id}",
        ],
        needs_state={"order_id": {"status": "shipped"}},
        weight=0.7,
    ),
    Goal(
        "request_return",
        {"order_id": Ref("order"), "variant_id": Ref("item"), "reason": REASONS},
        [
            "request a return of {variant_id} in {order_id} because {reason}",
            "ask to send back {variant_id} in {order_id} because {reason}",
            "ask to return one piece of {variant_id} in {order_id}, since {reason}",
            "start a return for {variant_id} in {order_id} because {reason}",
        ],
        needs_state={"order_id": {"status": "delivered"}},
    ),
    Goal(
        "receive_return",
        {"return_id": Ref("return")},
        [
            "take in {return_id} and pay the refund",
            "mark {return_id} as received and refund it",
            "complete {return_id} so that the money is refunded",
            "note that {return_id} has arrived and refund it",
        ],
        needs_state={"return_id": {"status": "requested"}},
        weight=0.5,
    ),
    Goal(
        "write_review",
        {"product_id": Ref("purchase"), "stars": Number(1, 5)},
        [
            "review {product_id} with {stars} stars",
            "give {product_id} a rating of {stars} stars",
            "write a review of {product_id} with {stars} out of 5 stars",
            "rate {product_id} with {stars} of 5 stars",
        ],
        needs_state={"product_id": {"status": "delivered"}},
    ),
]
