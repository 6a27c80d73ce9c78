"""The shopping server: its mechanics and its refusals. Random calls are in test_shopping_random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.servers.sampler import sample
from tasks.servers.session import Session
from tasks.servers.shopping import Shopping
from tasks.servers.shopping_rows import FREE_FROM, OrderLine, refund_of, shares, shipping_cents
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.test_shopping_random import SEED, WORLD, check, live_of, money_of


@pytest.fixture
def session() -> Iterator[Session]:
    with WORLD.session(SEED) as opened:
        yield opened


def ids(session: Session, kind: str, **facts: Any) -> list[str]:
    """The identifiers of the entities with these facts."""
    known = sample(session).entities[kind]
    return [key for key, row in known.items() if all(row.get(k) == v for k, v in facts.items())]


def stock_of(session: Session, variant_id: str) -> int:
    stock: int = ok(session, "get_variant", variant_id=variant_id)["stock"]
    return stock


def available(session: Session, method_id: str) -> float:
    rows = ok(session, "list_payment_methods", limit=50)
    return next(row["available"] for row in rows if row["method_id"] == method_id)


def balance(session: Session, gift_card_id: str) -> float:
    rows = ok(session, "list_gift_cards", limit=50)
    return next(row["balance"] for row in rows if row["gift_card_id"] == gift_card_id)


# -- definition and seed -----------------------------------------------------------------------


def test_definition() -> None:
    check_server(Shopping, tools=23)


def test_seeding() -> None:
    check_seeding(Shopping)


# -- sums --------------------------------------------------------------------------------------


@given(amounts=st.lists(st.integers(1, 100_000), min_size=1, max_size=6), percent=st.integers(0, 100))
def test_discounts_are_shared_to_the_cent(amounts: list[int], percent: int) -> None:
    discount = sum(amounts) * percent // 100
    reduced = shares(amounts, discount)
    assert sum(reduced) == sum(amounts) - discount
    assert all(0 <= new <= old for new, old in zip(reduced, amounts, strict=True))


@given(cents=st.integers(0, 100_000), quantity=st.integers(1, 20))
def test_refunds_of_single_pieces_add_up(cents: int, quantity: int) -> None:
    refunds = [refund_of(OrderLine("var_1", quantity, cents, done), 1) for done in range(quantity)]
    assert sum(refunds) == cents and min(refunds) >= 0


def test_shipping_grows_with_distance_and_is_free_for_large_orders() -> None:
    assert shipping_cents("standard", 0, 100) < shipping_cents("standard", 3, 100) < shipping_cents("express", 3, 100)
    assert shipping_cents("standard", 3, FREE_FROM) == 0 < shipping_cents("express", 0, FREE_FROM)


# -- catalogue ---------------------------------------------------------------------------------


def test_catalogue_answers_agree(session: Session) -> None:
    for category in ok(session, "list_categories", limit=50):
        rows = ok(session, "list_products", category_id=category["category_id"], limit=50)
        assert len(rows) == category["products"]
        assert [row["price"] for row in rows] == sorted(row["price"] for row in rows)
        cheapest = ok(session, "cheapest_product", category_id=category["category_id"])
        assert (cheapest["product_id"], cheapest["price"]) == (rows[0]["product_id"], rows[0]["price"])
        shown = [ok(session, "get_product", product_id=row["product_id"]) for row in rows]
        best = ok(session, "best_rated_product", category_id=category["category_id"])
        assert best["rating"] == max(row["rating"] for row in shown)
        for row in shown:
            variants = ok(session, "list_variants", product_id=row["product_id"], limit=50)
            assert row["price"] == min(variant["price"] for variant in variants)
            stars = [r["stars"] for r in ok(session, "list_reviews", product_id=row["product_id"], limit=50)]
            assert row["rating"] == pytest.approx(sum(stars) / len(stars), abs=0.05)
            first = variants[0]
            found = ok(session, "find_variant", product_id=row["product_id"], color=first["color"].upper())
            assert found["variant_id"] == first["variant_id"]


def test_search(session: Session) -> None:
    every = ok(session, "search_products", filter={}, sort="price", limit=50)
    assert len(every) == 18
    limit = every[8]["price"]
    assert len(ok(session, "search_products", filter={"max_price": limit}, limit=50)) >= 9
    brand = ok(session, "get_product", product_id=every[0]["product_id"])["brand"]
    by_brand = ok(session, "search_products", filter={"brand": brand.lower(), "min_rating": 0}, limit=50)
    assert every[0]["product_id"] in {row["product_id"] for row in by_brand}
    rated = ok(session, "search_products", filter={"min_rating": 4}, limit=50)
    assert all(ok(session, "get_product", product_id=row["product_id"])["rating"] >= 4 for row in rated)
    assert ok(session, "search_products", filter={"max_price": 0}) == []
    refused(session, "not_found", "search_products", filter={"category_id": "cat_000"})
    refused(session, "invalid_arguments", "search_products", filter={"colour": "red"})


def test_lookups_ignore_case_and_refuse_what_is_absent(session: Session) -> None:
    live = sample(session).entities
    for kind, tool, key in (
        ("product", "find_product", "product_id"),
        ("category", "find_category", "category_id"),
        ("coupon", "find_coupon", "coupon_id"),
        ("wishlist", "find_wishlist", "wishlist_id"),
        ("payment_method", "find_payment_method", "method_id"),
        ("gift_card", "find_gift_card", "gift_card_id"),
    ):
        for identifier, facts in live[kind].items():
            assert ok(session, tool, name=facts["name"].upper())[key] == identifier
        refused(session, "not_found", tool, name="No Such Thing")
        refused(session, "invalid_value", tool, name="a\x00b")
    for kind, tool, key in (("address", "find_address", "address_id"), ("depot", "find_depot", "depot_id")):
        for identifier, facts in live[kind].items():
            assert ok(session, tool, city=facts["city"].lower())[key] == identifier
        refused(session, "not_found", tool, city="Nowhere")


def test_reviews_change_the_rating_and_need_a_delivery(session: Session) -> None:
    bought = ok(session, "get_order", order_id=ids(session, "order", status="delivered")[0])["product_id"]
    before = [row["stars"] for row in ok(session, "list_reviews", product_id=bought, limit=50)]
    rated = ok(session, "write_review", product_id=bought, stars=1, text="too small")
    assert rated["rating"] == pytest.approx((sum(before) + 1) / (len(before) + 1), abs=0.05)
    refused(session, "conflict", "write_review", product_id=bought, stars=5)
    other = ok(session, "get_order", order_id=ids(session, "order", status="placed")[0])["product_id"]
    refused(session, "denied", "write_review", product_id=other, stars=5)


# -- cart, coupons, checkout -------------------------------------------------------------------


def empty_cart(session: Session) -> None:
    for item in ok(session, "list_cart_items", limit=50):
        ok(session, "remove_from_cart", variant_id=item["variant_id"])


def in_stock(session: Session, least: int) -> str:
    known = sample(session).entities["variant"]
    return next(key for key, row in known.items() if least <= row["stock"] < 20 and "in_cart" not in row)


def test_cart(session: Session) -> None:
    empty_cart(session)
    variant = in_stock(session, 4)
    price = ok(session, "get_variant", variant_id=variant)["price"]
    assert ok(session, "add_to_cart", variant_id=variant) == {"items": 1, "total": price}
    assert ok(session, "add_to_cart", variant_id=variant, quantity=2.0)["total"] == pytest.approx(3 * price)
    assert ok(session, "set_quantity", variant_id=variant, quantity=2)["total"] == pytest.approx(2 * price)
    refused(session, "insufficient", "set_quantity", variant_id=variant, quantity=stock_of(session, variant) + 1)
    assert ok(session, "remove_from_cart", variant_id=variant) == {"items": 0, "total": 0.0}
    refused(session, "not_found", "remove_from_cart", variant_id=variant)
    refused(session, "not_found", "set_quantity", variant_id=variant, quantity=1)
    sold_out = ids(session, "variant", stock=0)[0]
    refused(session, "insufficient", "add_to_cart", variant_id=sold_out)


def good_coupon(session: Session) -> dict[str, Any]:
    today = session.now.date().isoformat()
    coupon: dict[str, Any] = next(c for c in ok(session, "list_coupons", limit=50) if c["expires"] >= today)
    return coupon


def test_coupons(session: Session) -> None:
    coupon = good_coupon(session)
    cart = ok(session, "get_cart")
    applied = ok(session, "apply_coupon", coupon_id=coupon["coupon_id"])
    assert applied["discount"] == pytest.approx(cart["subtotal"] * coupon["percent"] / 100, abs=0.01)
    expired = ok(session, "list_coupons")[0]
    assert expired["expires"] < session.now.date().isoformat()
    refused(session, "wrong_state", "apply_coupon", coupon_id=expired["coupon_id"])
    empty_cart(session)
    refused(session, "insufficient", "apply_coupon", coupon_id=coupon["coupon_id"])
    address, method = ids(session, "address")[0], ids(session, "payment_method")[0]
    refused(session, "wrong_state", "checkout", address_id=address, method_id=method)


def test_checkout_reserves_charges_and_uses_up_the_coupon(session: Session) -> None:
    coupon = good_coupon(session)
    ok(session, "apply_coupon", coupon_id=coupon["coupon_id"])
    items = ok(session, "list_cart_items")
    before = {item["variant_id"]: stock_of(session, item["variant_id"]) for item in items}
    cart = ok(session, "get_cart")
    address, gift = ids(session, "address")[0], ids(session, "gift_card")[0]
    method = max(ids(session, "payment_method"), key=lambda key: available(session, key))
    quote = ok(session, "quote_shipping", address_id=address, speed="express")
    on_method, on_gift = available(session, method), balance(session, gift)
    order = ok(session, "checkout", address_id=address, method_id=method, speed="express", gift_card_id=gift)
    assert order["total"] == pytest.approx(cart["total"] + quote["price"])
    assert order["charged"] == pytest.approx(max(0.0, order["total"] - on_gift))
    assert available(session, method) == pytest.approx(on_method - order["charged"])
    assert balance(session, gift) == pytest.approx(on_gift - (order["total"] - order["charged"]))
    for item in items:
        assert stock_of(session, item["variant_id"]) == before[item["variant_id"]] - item["in_cart"]
    assert ok(session, "get_cart") == {"items": 0, "subtotal": 0.0, "discount": 0.0, "total": 0.0}
    paid = ok(session, "list_order_items", order_id=order["order_id"])
    assert sum(line["paid"] for line in paid) == pytest.approx(cart["total"])
    assert coupon["coupon_id"] not in {c["coupon_id"] for c in ok(session, "list_coupons", limit=50)}
    ok(session, "add_to_cart", variant_id=in_stock(session, 1))
    refused(session, "wrong_state", "apply_coupon", coupon_id=coupon["coupon_id"])

    cancelled = ok(session, "cancel_order", order_id=order["order_id"])
    assert cancelled["refund"] == order["total"]
    assert (available(session, method), balance(session, gift)) == (pytest.approx(on_method), pytest.approx(on_gift))
    assert all(stock_of(session, variant) == stock for variant, stock in before.items())
    assert coupon["coupon_id"] in {c["coupon_id"] for c in ok(session, "list_coupons", limit=50)}
    refused(session, "wrong_state", "cancel_order", order_id=order["order_id"])


def test_checkout_needs_enough_money_and_stock(session: Session) -> None:
    address, method = ids(session, "address")[0], ids(session, "payment_method")[0]
    gift = ids(session, "gift_card")[0]
    ok(session, "top_up_gift_card", gift_card_id=gift, method_id=method, amount=available(session, method))
    assert available(session, method) == 0
    refused(session, "insufficient", "checkout", address_id=address, method_id=method)
    ok(session, "checkout", address_id=address, method_id=method, gift_card_id=gift)
    refused(session, "insufficient", "top_up_gift_card", gift_card_id=gift, method_id=method, amount=5)
    refused(session, "invalid_value", "top_up_gift_card", gift_card_id=gift, method_id=method, amount=0.001)


def test_what_others_bought_meanwhile_is_refused_at_checkout(session: Session) -> None:
    variant = in_stock(session, 4)
    empty_cart(session)
    stock = stock_of(session, variant)
    address = ids(session, "address")[0]
    method = max(ids(session, "payment_method"), key=lambda key: available(session, key))
    ok(session, "add_to_cart", variant_id=variant, quantity=min(stock, 4))
    state = state_of(session, Shopping)
    state.variants.update(variant, stock=1)
    refused(session, "insufficient", "checkout", address_id=address, method_id=method)


# -- orders, shipments, returns ----------------------------------------------------------------


def test_the_life_of_an_order(session: Session) -> None:
    order, depot = ids(session, "order", status="placed")[0], ids(session, "depot")[0]
    refused(session, "wrong_state", "ship_order", order_id=order, depot_id=depot)
    refused(session, "wrong_state", "confirm_delivery", order_id=order)
    assert ok(session, "pack_order", order_id=order) == {"order_id": order, "status": "packed"}
    refused(session, "wrong_state", "pack_order", order_id=order)
    refused(session, "wrong_state", "change_order_address", order_id=order, address_id=ids(session, "address")[0])
    shipped = ok(session, "ship_order", order_id=order, depot_id=depot)
    assert ok(session, "get_order", order_id=order)["shipment_id"] == shipped["shipment_id"]
    tracked = ok(session, "track_shipment", shipment_id=shipped["shipment_id"])
    assert (tracked["order_id"], tracked["status"], tracked["eta"]) == (order, "in_transit", shipped["eta"])
    assert ok(session, "locate_shipment", shipment_id=shipped["shipment_id"])["depot_id"] == depot
    refused(session, "wrong_state", "cancel_order", order_id=order)
    assert ok(session, "confirm_delivery", order_id=order)["status"] == "delivered"
    assert ok(session, "track_shipment", shipment_id=shipped["shipment_id"])["status"] == "delivered"
    refused(session, "wrong_state", "confirm_delivery", order_id=order)
    check(session)


def test_orders_are_found_by_product_and_listed_by_status(session: Session) -> None:
    rows = ok(session, "list_orders", limit=50)
    assert [row["placed"] for row in rows] == sorted((row["placed"] for row in rows), reverse=True)
    for row in rows:
        shown = ok(session, "get_order", order_id=row["order_id"])
        assert (shown["status"], shown["total"]) == (row["status"], row["total"])
        assert ("shipment_id" in shown) == (row["status"] in ("shipped", "delivered"))
        assert ok(session, "find_order", product_id=shown["product_id"])["order_id"] == row["order_id"]
        first = ok(session, "list_order_items", order_id=row["order_id"], limit=1)[0]
        assert first["variant_id"] == shown["variant_id"]
    delivered = ok(session, "list_orders", status="delivered", limit=50)
    assert [r for r in rows if r["status"] == "delivered"] == delivered
    ordered = {ok(session, "get_order", order_id=row["order_id"])["product_id"] for row in rows}
    every = {row["product_id"] for row in ok(session, "search_products", filter={}, limit=50)}
    never = next(key for key in sorted(every - ordered) if not session.call("find_order", {"product_id": key}).ok)
    refused(session, "not_found", "find_order", product_id=never)


def test_an_order_is_redirected_only_while_it_is_placed(session: Session) -> None:
    order = ids(session, "order", status="placed")[0]
    new = {"name": "Ann Lee", "street": "1 Elm Row", "city": "Farview"}
    address = ok(session, "add_address", address=new)["address_id"]
    assert ok(session, "find_address", city="farview") == {"address_id": address, **new}
    refused(session, "conflict", "add_address", address=new)
    refused(session, "invalid_value", "add_address", address={**new, "city": "\u202e"})
    assert ok(session, "change_order_address", order_id=order, address_id=address)["address_id"] == address
    refused(session, "conflict", "change_order_address", order_id=order, address_id=address)


def test_returns_refund_what_was_paid_and_restock(session: Session) -> None:
    known = sample(session).entities["order"]
    order = next(
        key
        for key, row in known.items()
        if row["status"] == "delivered" and not session.call("find_return", {"order_id": key}).ok
    )
    line = ok(session, "list_order_items", order_id=order)[0]
    refused(
        session,
        "insufficient",
        "request_return",
        order_id=order,
        variant_id=line["variant_id"],
        reason="unwanted",
        quantity=line["quantity"] + 1,
    )
    stock, money = stock_of(session, line["variant_id"]), money_of(state_of(session, Shopping))
    refunds = 0.0
    for _ in range(line["quantity"]):
        opened = ok(session, "request_return", order_id=order, variant_id=line["variant_id"], reason="damaged")
        assert ok(session, "find_return", order_id=order)["return_id"] == opened["return_id"]
        assert ok(session, "receive_return", return_id=opened["return_id"])["status"] == "refunded"
        refused(session, "wrong_state", "receive_return", return_id=opened["return_id"])
        refunds += opened["refund"]
    assert refunds == pytest.approx(line["paid"])
    assert stock_of(session, line["variant_id"]) == stock + line["quantity"]
    assert money_of(state_of(session, Shopping)) == money
    refused(session, "insufficient", "request_return", order_id=order, variant_id=line["variant_id"], reason="damaged")
    placed = ids(session, "order", status="placed")[0]
    item = ok(session, "list_order_items", order_id=placed)[0]["variant_id"]
    refused(session, "wrong_state", "request_return", order_id=placed, variant_id=item, reason="damaged")
    refused(session, "not_found", "request_return", order_id=order, variant_id=item, reason="damaged")
    check(session)


def test_wishlists(session: Session) -> None:
    products = [row["product_id"] for row in ok(session, "search_products", filter={}, sort="price", limit=3)]
    made = ok(session, "create_wishlist", name="For Ann", product_ids=[products[1], products[0], products[1]])
    assert made["products"] == 2
    refused(session, "conflict", "create_wishlist", name="for ann", product_ids=[])
    refused(session, "not_found", "create_wishlist", name="Other", product_ids=["prod_000"])
    key = made["wishlist_id"]
    assert [row["product_id"] for row in ok(session, "list_wishlist_items", wishlist_id=key)] == products[:2]
    refused(session, "conflict", "add_to_wishlist", wishlist_id=key, product_id=products[0])
    assert ok(session, "add_to_wishlist", wishlist_id=key, product_id=products[2])["products"] == 3
    assert ok(session, "remove_from_wishlist", wishlist_id=key, product_id=products[0])["products"] == 2
    refused(session, "not_found", "remove_from_wishlist", wishlist_id=key, product_id=products[0])
    assert ok(session, "find_wishlist", name="FOR ANN")["products"] == 2


def test_what_is_done_in_another_order_ends_in_the_same_state() -> None:
    live = live_of(SEED).entities
    variants = [key for key, row in live["variant"].items() if row["stock"] > 3][:2]
    calls: list[tuple[str, dict[str, Any]]] = [
        *(("add_to_cart", {"variant_id": key}) for key in variants),
        ("create_wishlist", {"name": "New One", "product_ids": []}),
        ("add_address", {"address": {"name": "Ann Lee", "street": "1 Elm Row", "city": "Farview"}}),
    ]
    digests = set()
    for order in (calls, calls[::-1]):
        with WORLD.session(SEED) as session:
            for name, arguments in order:
                ok(session, name, **arguments)
            digests.add(session.digest())
    assert len(digests) == 1
