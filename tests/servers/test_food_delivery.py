"""The food delivery server: its mechanics and its refusals. Random calls are in test_food_delivery_random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tasks.servers.food_delivery import FoodDelivery
from tasks.servers.food_delivery_rows import FREE_FROM, PER_KM, FoodOrder, OrderLine, fee_cents, refund_at_cancelling
from tasks.servers.session import Session
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import live_of, world
from tests.servers.test_food_delivery_random import SEED, check


@pytest.fixture
def session() -> Iterator[Session]:
    with world(FoodDelivery).session(SEED) as opened:
        ok(opened, "top_up_meal_wallet", amount=1000)
        ok(opened, "clear_meal_cart")
        yield opened


def state(session: Session) -> Any:
    return state_of(session, FoodDelivery)


def kitchen(session: Session, at: int = 0) -> tuple[Any, Any, Any]:
    """A restaurant that is open, one of its main dishes with portions and a side, and an address that it reaches."""
    food = state(session)
    found = [
        (food.restaurants[d.restaurant_id], d, place)
        for d in food.dishes.values()
        if d.section == "main" and d.portions >= 6 and food._is_open(food.restaurants[d.restaurant_id])
        for place in food.places.values()
        if session.call("quote_delivery", {"restaurant_id": d.restaurant_id, "address_id": place.address_id}).ok
    ]
    one = found[0]
    return one if at == 0 else next(f for f in found if f[0] != one[0])


def buy(session: Session, portions: int = 2, **more: Any) -> Any:
    _, dish, place = kitchen(session)
    ok(session, "add_dish_to_cart", dish_id=dish.dish_id, quantity=portions)
    return ok(session, "place_food_order", address_id=place.address_id, **more)


def wallet(session: Session) -> int:
    return round(float(ok(session, "get_meal_wallet")["wallet"]) * 100)


def order_in(session: Session, status: str) -> str:
    return ok(session, "list_food_orders", status=status)[0]["food_order_id"]  # type: ignore[no-any-return]


# -- definition --------------------------------------------------------------------------------


def test_the_definition() -> None:
    check_server(FoodDelivery, tools=17)
    check_seeding(FoodDelivery)


def test_what_is_shown_leads_to_every_kind() -> None:
    counts = {kind: len(found) for kind, found in live_of(FoodDelivery, SEED).entities.items()}
    assert counts == {
        "restaurant": 8,
        "district": 6,
        "dish": 40,
        "dish_option": len(state_options(SEED)),
        "meal_line": 1,
        "promo_code": 4,
        "delivery_address": 4,
        "food_order": 9,
        "courier": 5,
    }


def state_options(seed: int) -> Any:
    with world(FoodDelivery).session(seed) as opened:
        ok(opened, "get_meal_wallet")
        return state(opened).options


# -- sums --------------------------------------------------------------------------------------


def test_the_fee_grows_with_the_distance_and_is_waived_for_large_orders(session: Session) -> None:
    row, _, place = kitchen(session)
    assert fee_cents(row, 3, FREE_FROM - 1) == row.fee + 3 * PER_KM
    assert fee_cents(row, 3, FREE_FROM) == 0
    quote = ok(session, "quote_delivery", restaurant_id=row.restaurant_id, address_id=place.address_id)
    assert round(quote["fee"] * 100) == row.fee + quote["distance"] * PER_KM


def test_what_a_cancelled_order_gives_back() -> None:
    order = FoodOrder("", "", "", "placed", (OrderLine("", (), 1, 1001), OrderLine("", (), 1, 1000)), 150, "", 0, 5, 9, 1, 3)
    assert refund_at_cancelling(order) == refund_at_cancelling(replace(order, status="accepted")) == 2151
    assert refund_at_cancelling(replace(order, status="cooking")) == 150 + 1000


# -- restaurants and menus ---------------------------------------------------------------------


def test_restaurants_open_and_close_as_time_passes(session: Session) -> None:
    food = state(session)
    opening = min((r for r in food.restaurants.values() if r.opens > 9 * 60 and not r.rest_day < 7), key=lambda r: r.opens)
    hours = ok(session, "get_restaurant_hours", restaurant_id=opening.restaurant_id)
    assert not hours["open"] and hours["closed_on"] == "none"
    minutes = opening.opens - 9 * 60
    ok(session, "wait_minutes", minutes=minutes - 1)
    assert not ok(session, "get_restaurant_hours", restaurant_id=opening.restaurant_id)["open"]
    assert ok(session, "wait_minutes", minutes=1)["time"] == hours["opens"]
    assert ok(session, "find_restaurant", name=opening.name.upper()) == {
        "restaurant_id": opening.restaurant_id,
        "rating": food._rating(opening.restaurant_id),
        "open": True,
    }
    ok(session, "wait_minutes", minutes=opening.closes - opening.opens)
    assert not ok(session, "find_restaurant", name=opening.name)["open"]


def test_a_restaurant_is_closed_on_its_day_off(session: Session) -> None:
    food = state(session)
    resting = next(r for r in food.restaurants.values() if r.rest_day == session.now.weekday())
    ok(session, "wait_minutes", minutes=resting.opens + 30 - 9 * 60)
    shown = ok(session, "get_restaurant_hours", restaurant_id=resting.restaurant_id)
    assert not shown["open"] and shown["closed_on"] == f"{session.now:%A}".lower()
    for _ in range(2):
        ok(session, "wait_minutes", minutes=720)
    assert ok(session, "get_restaurant_hours", restaurant_id=resting.restaurant_id)["open"]


def test_lists_agree_with_each_other(session: Session) -> None:
    best = ok(session, "list_restaurants", cuisine="greek", limit=50)[0]
    assert ok(session, "find_best_restaurant", cuisine="greek")["restaurant_id"] == best["restaurant_id"]
    menu = ok(session, "list_menu", restaurant_id=best["restaurant_id"])
    assert [row["price"] for row in menu] == sorted(row["price"] for row in menu) and len(menu) == 5
    rows = ok(session, "search_dishes", filter={"cuisine": "greek", "vegetarian": True, "max_price": 12}, limit=50)
    for row in rows:
        shown = ok(session, "get_dish", dish_id=row["dish_id"])
        assert shown["vegetarian"] and shown["portions"] and shown["price"] <= 12
        assert ok(session, "get_restaurant", restaurant_id=shown["restaurant_id"])["cuisine"] == "greek"
    refused(session, "not_found", "find_dish", name="No Such Dish")


def test_the_nearest_restaurant_is_open_and_near(session: Session) -> None:
    place = ok(session, "list_delivery_addresses")[0]
    near = ok(session, "find_nearest_restaurant", address_id=place["address_id"])
    quoted = {"restaurant_id": near["restaurant_id"], "address_id": place["address_id"]}
    assert ok(session, "quote_delivery", **quoted)["distance"] == near["distance"]
    for row in ok(session, "list_restaurants", open_now=True, limit=50):
        other = session.call("quote_delivery", {**quoted, "restaurant_id": row["restaurant_id"]})
        assert not other.ok or other.content["distance"] >= near["distance"]


# -- the cart ----------------------------------------------------------------------------------


def test_portions_with_the_same_options_are_one_line(session: Session) -> None:
    _, dish, _ = kitchen(session)
    (side, *_) = ok(session, "list_dish_options", dish_id=dish.dish_id)
    plain = ok(session, "add_dish_to_cart", dish_id=dish.dish_id)
    rich = ok(session, "add_dish_to_cart", dish_id=dish.dish_id, option_ids=[side["option_id"]])
    assert plain["line_id"] != rich["line_id"]
    again = ok(session, "add_dish_to_cart", dish_id=dish.dish_id, option_ids=[side["option_id"]] * 2)
    assert again == {
        "line_id": rich["line_id"],
        "in_cart": 2,
        "cart_total": pytest.approx(3 * dish.cents / 100 + 2 * side["extra"]),
    }
    rows = {row["line_id"]: row for row in ok(session, "list_meal_cart_items")}
    assert rows[rich["line_id"]]["price"] == pytest.approx(dish.cents / 100 + side["extra"])
    ok(session, "remove_dish_from_cart", line_id=plain["line_id"])
    refused(session, "not_found", "set_portions", line_id=plain["line_id"], quantity=2)
    assert ok(session, "set_portions", line_id=rich["line_id"], quantity=1)["dishes"] == 1


def test_a_cart_is_of_one_restaurant(session: Session) -> None:
    (_, one, _), (_, two, _) = kitchen(session), kitchen(session, 1)
    ok(session, "add_dish_to_cart", dish_id=one.dish_id)
    refused(session, "conflict", "add_dish_to_cart", dish_id=two.dish_id)
    ok(session, "clear_meal_cart")
    ok(session, "add_dish_to_cart", dish_id=two.dish_id)
    assert ok(session, "get_meal_cart")["restaurant_id"] == two.restaurant_id


def test_options_belong_to_a_dish_which_takes_one_side(session: Session) -> None:
    food = state(session)
    sides: dict[str, list[str]] = {}
    for option in food.options.values():
        if option.kind == "side" and food.dishes[option.dish_id].portions:
            sides.setdefault(option.dish_id, []).append(option.option_id)
    dish, two = next((key, found) for key, found in sides.items() if len(found) == 2)
    other = next(key for key in sides if key != dish)
    refused(session, "invalid_value", "add_dish_to_cart", dish_id=dish, option_ids=two)
    refused(session, "invalid_value", "add_dish_to_cart", dish_id=other, option_ids=two[:1])
    refused(session, "not_found", "add_dish_to_cart", dish_id=dish, option_ids=["dopt_000"])
    ok(session, "add_dish_to_cart", dish_id=dish, option_ids=two[:1])


def test_no_more_portions_than_are_left(session: Session) -> None:
    _, dish, _ = kitchen(session)
    food = state(session)
    line = ok(session, "add_dish_to_cart", dish_id=dish.dish_id, quantity=3)["line_id"]
    topping = next(o.option_id for o in food.options.values() if o.dish_id == dish.dish_id)
    ok(session, "add_dish_to_cart", dish_id=dish.dish_id, quantity=3, option_ids=[topping])
    room = dish.portions - 6
    refused(session, "insufficient", "add_dish_to_cart", dish_id=dish.dish_id, quantity=min(20, room + 1))
    if 3 + room < 20:
        refused(session, "insufficient", "set_portions", line_id=line, quantity=4 + room)
        ok(session, "set_portions", line_id=line, quantity=3 + room)


def test_promo_codes_count_once_and_until_they_expire(session: Session) -> None:
    food = state(session)
    used = next(p for p in food.promos.values() if p.order_id)
    expired = next(p for p in food.promos.values() if p.expires < f"{session.now:%Y-%m-%d}")
    fresh = next(p for p in food.promos.values() if not p.order_id and p != expired)
    refused(session, "wrong_state", "apply_promo_code", promo_id=used.promo_id)
    refused(session, "wrong_state", "apply_promo_code", promo_id=expired.promo_id)
    refused(session, "insufficient", "apply_promo_code", promo_id=fresh.promo_id)
    _, dish, place = kitchen(session)
    ok(session, "add_dish_to_cart", dish_id=dish.dish_id, quantity=5)
    reduced = ok(session, "apply_promo_code", promo_id=fresh.promo_id)["cart_total"]
    assert round(reduced * 100) == 5 * dish.cents - 5 * dish.cents * fresh.percent // 100
    assert ok(session, "drop_promo_code")["cart_total"] == pytest.approx(5 * dish.cents / 100)
    refused(session, "wrong_state", "drop_promo_code")
    ok(session, "apply_promo_code", promo_id=fresh.promo_id)
    had = wallet(session)
    placed = ok(session, "place_food_order", address_id=place.address_id)
    assert had - wallet(session) == round(placed["total"] * 100)
    ok(session, "add_dish_to_cart", dish_id=dish.dish_id)
    refused(session, "wrong_state", "apply_promo_code", promo_id=fresh.promo_id)
    ok(session, "cancel_food_order", food_order_id=placed["food_order_id"])
    assert fresh.promo_id in [row["promo_id"] for row in ok(session, "list_promo_codes")]


# -- couriers, ratings, favorites --------------------------------------------------------------


def test_tips_reach_the_courier(session: Session) -> None:
    key = order_in(session, "out_for_delivery")
    courier = ok(session, "get_order_courier", food_order_id=key)
    had = wallet(session)
    ok(session, "tip_courier", food_order_id=key, amount=2.5)
    assert ok(session, "tip_courier", food_order_id=key, amount=1)["tip"] == 3.5
    assert had - wallet(session) == 350
    assert ok(session, "find_courier", name=courier["name"])["courier_id"] == courier["courier_id"]
    refused(session, "invalid_value", "tip_courier", food_order_id=key, amount=0.001)
    refused(session, "insufficient", "tip_courier", food_order_id=key, amount=900_000)
    check(session)


def test_ratings_are_for_delivered_orders_once(session: Session) -> None:
    food = state(session)
    key = order_in(session, "out_for_delivery")
    refused(session, "wrong_state", "rate_courier", food_order_id=key, stars=5)
    ok(session, "wait_for_food_order", food_order_id=key)
    order = food.orders[key]
    courier = food.couriers[order.courier_id]
    rated = ok(session, "rate_courier", food_order_id=key, stars=1)
    assert rated["rating"] == round((courier.stars + 1) / (courier.ratings + 1), 1)
    refused(session, "conflict", "rate_courier", food_order_id=key, stars=5)
    stars = [r.stars for r in food.ratings.values() if r.restaurant_id == order.restaurant_id] + [2]
    refused(session, "invalid_value", "rate_food_order", food_order_id=key, stars=2, comment="\x07")
    assert ok(session, "rate_food_order", food_order_id=key, stars=2, comment="cold")["rating"] == round(
        sum(stars) / len(stars), 1
    )
    refused(session, "conflict", "rate_food_order", food_order_id=key, stars=2)
    said = ok(session, "list_restaurant_ratings", restaurant_id=order.restaurant_id, limit=50)
    assert {"author": food.purse["purse"].user, "stars": 2, "comment": "cold"} in said


def test_favorites(session: Session) -> None:
    rows = ok(session, "list_favorite_restaurants")
    new = next(r["restaurant_id"] for r in ok(session, "list_restaurants", limit=50) if r not in rows)
    assert ok(session, "add_favorite_restaurant", restaurant_id=new)["favorites"] == len(rows) + 1
    refused(session, "conflict", "add_favorite_restaurant", restaurant_id=new)
    ok(session, "remove_favorite_restaurant", restaurant_id=new)
    refused(session, "not_found", "remove_favorite_restaurant", restaurant_id=new)
    assert ok(session, "list_favorite_restaurants") == rows
