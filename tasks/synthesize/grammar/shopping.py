"""Requests to the shopping server: how its things are named, and what a customer asks about them.

Left out: requests whose answer is a whole list. Those that change something are in shopping_writing.
"""

from __future__ import annotations

from tasks.synthesize.grammar import Choice, Constant, Field, Goal, Number, Ref, Referent
from tasks.synthesize.grammar.shopping_writing import SPEEDS, WRITING

REFERENTS = [
    Referent(
        "category",
        "find_category",
        {"name": Field("name")},
        "/category_id",
        ["the {name} category", "the category {name}", "the {name} section"],
    ),
    Referent("product", "find_product", {"name": Field("name")}, "/product_id", ["the {name}", "the product {name}"]),
    Referent(
        "product",
        "cheapest_product",
        {"category_id": Ref("category", via="cheapest_in")},
        "/product_id",
        ["the cheapest product in {category_id}", "the least expensive product in {category_id}"],
    ),
    Referent(
        "product",
        "best_rated_product",
        {"category_id": Ref("category", via="best_in")},
        "/product_id",
        ["the best rated product in {category_id}", "the top rated product in {category_id}"],
    ),
    Referent(
        "variant",
        "find_variant",
        {"product_id": Ref("product", via="product_id"), "color": Field("color")},
        "/variant_id",
        ["{product_id} in {color}", "the {color} version of {product_id}"],
    ),
    Referent("coupon", "find_coupon", {"name": Field("name")}, "/coupon_id", ["the {name} coupon", "the coupon {name}"]),
    Referent(
        "wishlist",
        "find_wishlist",
        {"name": Field("name")},
        "/wishlist_id",
        ["my wishlist {name}", "the {name} wishlist", "my {name} wishlist"],
    ),
    Referent(
        "address", "find_address", {"city": Field("city")}, "/address_id", ["my address in {city}", "the address in {city}"]
    ),
    Referent(
        "payment_method",
        "find_payment_method",
        {"name": Field("name")},
        "/method_id",
        ["the payment method {name}", "my {name} payment method"],
    ),
    Referent(
        "gift_card",
        "find_gift_card",
        {"name": Field("name")},
        "/gift_card_id",
        ["the gift card from {name}", "{name}'s gift card", "the gift card that {name} gave me"],
    ),
    Referent("order", None, {}, "", ["order {id}", "my order {id}", "the order {id}"]),
    Referent(
        "order",
        "find_order",
        {"product_id": Ref("product", via="product_id")},
        "/order_id",
        ["the order with {product_id}", "my latest order of {product_id}", "the order that contains {product_id}"],
    ),
    Referent(
        "shipment",
        "get_order",
        {"order_id": Ref("order", via="order_id")},
        "/shipment_id",
        ["the shipment of {order_id}", "the parcel of {order_id}"],
    ),
    Referent("depot", "find_depot", {"city": Field("city")}, "/depot_id", ["the depot in {city}", "the {city} depot"]),
    Referent(
        "depot",
        "locate_shipment",
        {"shipment_id": Ref("shipment", via="shipment_id")},
        "/depot_id",
        ["the depot that handles {shipment_id}", "the depot responsible for {shipment_id}"],
    ),
    Referent(
        "return",
        "find_return",
        {"order_id": Ref("order", via="order_id")},
        "/return_id",
        ["the return of {order_id}", "the return from {order_id}"],
    ),
    Referent(
        "item",
        "list_order_items",
        {"order_id": Ref("order")},
        "/0/variant_id",
        ["the first item", "the item listed first"],
        of="order",
    ),
    Referent(
        "purchase",
        "get_order",
        {"order_id": Ref("order")},
        "/product_id",
        ["the first product of {order_id}", "the product that comes first in {order_id}"],
        of="order",
    ),
    Referent(
        "order_total",
        "get_order",
        {"order_id": Ref("order")},
        "/total",
        ["the total of {order_id}", "the amount of {order_id}"],
        of="order",
    ),
    Referent(
        "price",
        "get_product",
        {"product_id": Ref("product")},
        "/price",
        ["the price of {product_id}", "the lowest price of {product_id}"],
        of="product",
    ),
]

READING = [
    Goal(
        "get_product",
        {"product_id": Ref("product")},
        [
            "how much does {product_id} cost at least",
            "what is the lowest price of {product_id}",
            "tell me the lowest price of {product_id}",
            "find out how much {product_id} costs at least",
        ],
        answer="/price",
    ),
    Goal(
        "get_product",
        {"product_id": Ref("product")},
        [
            "which brand makes {product_id}",
            "what is the brand of {product_id}",
            "tell me who makes {product_id}",
            "find out the brand of {product_id}",
        ],
        answer="/brand",
    ),
    Goal(
        "get_variant",
        {"variant_id": Ref("variant")},
        [
            "how many pieces of {variant_id} are in stock",
            "tell me how many of {variant_id} are left",
            "what is the stock of {variant_id}",
            "check how many pieces of {variant_id} you have",
        ],
        answer="/stock",
    ),
    Goal(
        "list_products",
        {"category_id": Ref("category")},
        [
            "what is the name of the cheapest product in {category_id}",
            "tell me the name of the least expensive product in {category_id}",
            "which product of {category_id} has the lowest price",
            "find the name of the cheapest thing in {category_id}",
        ],
        answer="/0/name",
    ),
    Goal(
        "cheapest_product",
        {"category_id": Ref("category")},
        [
            "what does the cheapest product in {category_id} cost",
            "how much is the cheapest product in {category_id}",
            "tell me the price of the cheapest product in {category_id}",
            "find the lowest price in {category_id}",
        ],
        answer="/price",
    ),
    Goal(
        "best_rated_product",
        {"category_id": Ref("category")},
        [
            "what is the highest rating in {category_id}",
            "tell me the rating of the best rated product in {category_id}",
            "how well is the best product in {category_id} rated",
            "find the top rating in {category_id}",
        ],
        answer="/rating",
    ),
    Goal(
        "search_products",
        {"filter": Constant({"category_id": Ref("category"), "max_price": Number(60, 150, 10)})},
        [
            "what is the best rated product in {filter.category_id} for at most {filter.max_price}",
            "tell me the best rated product in {filter.category_id} that costs {filter.max_price} or less",
            "which product in {filter.category_id} up to {filter.max_price} has the best rating",
            "find me the top rated product in {filter.category_id} for {filter.max_price} at most",
        ],
        answer="/0/name",
    ),
    Goal(
        "search_products",
        {"filter": Constant({"min_rating": Number(2, 4, 0.5)}), "sort": Constant("price")},
        [
            "what is the cheapest product rated {filter.min_rating} or better",
            "tell me the cheapest product with a rating of at least {filter.min_rating}",
            "which product rated at least {filter.min_rating} costs the least",
            "find me the least expensive product that is rated {filter.min_rating} or more",
        ],
        answer="/0/name",
    ),
    Goal(
        "search_products",
        {"filter": Constant({"max_price": Ref("price")})},
        [
            "what is the best rated product that costs no more than {filter.max_price}",
            "tell me the best rated product for at most {filter.max_price}",
            "which product up to {filter.max_price} has the best rating",
            "find me the top rated product that costs {filter.max_price} or less",
        ],
        answer="/0/name",
    ),
    Goal(
        "list_reviews",
        {"product_id": Ref("product")},
        [
            "who gave {product_id} its best review",
            "tell me who likes {product_id} best in the reviews",
            "what is the name of the person with the best review of {product_id}",
            "find out who wrote the most favorable review of {product_id}",
        ],
        answer="/0/author",
        weight=0.7,
    ),
    Goal(
        "get_cart",
        {},
        [
            "what is the total of my cart",
            "how much is my cart worth in all",
            "tell me the total of what is in my cart",
            "how much would I pay for my cart without shipping",
        ],
        answer="/total",
        weight=0.5,
    ),
    Goal(
        "list_coupons",
        {},
        [
            "which of my coupons expires first",
            "tell me the name of the coupon that expires first",
            "what is the name of my coupon with the earliest expiry date",
            "find the coupon that runs out first and tell me its name",
        ],
        answer="/0/name",
        weight=0.5,
    ),
    Goal(
        "list_wishlist_items",
        {"wishlist_id": Ref("wishlist")},
        [
            "what is the cheapest product on {wishlist_id}",
            "tell me the name of the cheapest thing on {wishlist_id}",
            "which product on {wishlist_id} costs the least",
            "find the least expensive product on {wishlist_id}",
        ],
        answer="/0/name",
    ),
    Goal(
        "quote_shipping",
        {"address_id": Ref("address"), "speed": SPEEDS},
        [
            "how much would {speed} shipping of my cart to {address_id} cost",
            "what is the price of {speed} shipping to {address_id}",
            "tell me what {speed} shipping to {address_id} costs",
            "find out the cost of {speed} shipping of my cart to {address_id}",
        ],
        answer="/price",
    ),
    Goal(
        "quote_shipping",
        {"address_id": Ref("address"), "speed": SPEEDS},
        [
            "when would {speed} shipping of my cart to {address_id} arrive",
            "what day would my cart arrive at {address_id} with {speed} shipping",
            "tell me on what day {speed} shipping would reach {address_id}",
            "find out when {speed} shipping to {address_id} would arrive",
        ],
        answer="/arrives",
        weight=0.5,
    ),
    Goal(
        "get_order",
        {"order_id": Ref("order")},
        [
            "what is the total of {order_id}",
            "how much did {order_id} cost in all",
            "tell me the total of {order_id}",
            "find out how much I paid for {order_id}",
        ],
        answer="/total",
    ),
    Goal(
        "get_order",
        {"order_id": Ref("order")},
        [
            "what is the status of {order_id}",
            "tell me the status of {order_id}",
            "how far along is {order_id}",
            "check the status of {order_id}",
        ],
        answer="/status",
    ),
    Goal(
        "list_orders",
        {"status": Choice({s: s for s in ("placed", "packed", "shipped", "delivered", "cancelled")})},
        [
            "when did I place my latest order that is {status} now",
            "tell me the day when my latest {status} order was placed",
            "what is the date of my latest {status} order",
            "find the date of the newest of my {status} orders",
        ],
        answer="/0/placed",
        weight=0.7,
    ),
    Goal(
        "list_order_items",
        {"order_id": Ref("order")},
        [
            "what is the name of the first item in {order_id}",
            "which product comes first in {order_id}",
            "tell me the name of the first item of {order_id}",
            "look into {order_id} and tell me the name of the first item",
        ],
        answer="/0/name",
    ),
    Goal(
        "list_order_items",
        {"order_id": Ref("order")},
        [
            "how much did I pay for the first item in {order_id}",
            "what did the first item of {order_id} cost me",
            "tell me what I paid for the first item of {order_id}",
            "find out how much the first item in {order_id} came to",
        ],
        answer="/0/paid",
    ),
    Goal(
        "track_shipment",
        {"shipment_id": Ref("shipment")},
        [
            "when is {shipment_id} due to arrive",
            "what is the expected day of arrival of {shipment_id}",
            "tell me the arrival date of {shipment_id}",
            "find out when {shipment_id} should arrive",
        ],
        answer="/eta",
    ),
    Goal(
        "track_shipment",
        {"shipment_id": Ref("shipment")},
        [
            "which carrier has {shipment_id}",
            "what is the carrier of {shipment_id}",
            "tell me which carrier delivers {shipment_id}",
            "find out the name of the carrier of {shipment_id}",
        ],
        answer="/carrier",
    ),
    Goal(
        "get_depot",
        {"depot_id": Ref("depot")},
        [
            "what is the phone number of {depot_id}",
            "tell me the phone number of {depot_id}",
            "which number do I call to reach {depot_id}",
            "find the phone number of {depot_id}",
        ],
        answer="/phone",
    ),
]

GOALS = [*READING, *WRITING]
