"""Orders of the food delivery server: placed, moved on by time, cancelled, redirected, refunded and repeated."""

from __future__ import annotations

from typing import Any

from tasks.servers.food_delivery import FoodDelivery
from tasks.servers.food_delivery_rows import distance, fee_cents
from tasks.servers.session import Session
from tests.servers.driver import ok, refused
from tests.servers.machine import world
from tests.servers.test_food_delivery import buy, kitchen, order_in, session, state, wallet
from tests.servers.test_food_delivery_random import SEED

__all__ = ["session"]


def test_an_order_lives_step_by_step(session: Session) -> None:
    _, dish, place = kitchen(session)
    had = wallet(session)
    placed = buy(session, 2)
    key = placed["food_order_id"]
    assert ok(session, "get_meal_cart")["dishes"] == 0
    assert ok(session, "get_dish", dish_id=dish.dish_id)["portions"] == dish.portions - 2
    assert had - wallet(session) == round(placed["total"] * 100)
    refused(session, "wrong_state", "get_order_courier", food_order_id=key)
    refused(session, "wrong_state", "tip_courier", food_order_id=key, amount=2)
    seen = [ok(session, "wait_for_food_order", food_order_id=key) for _ in range(3)]
    assert [step["status"] for step in seen] == ["accepted", "cooking", "out_for_delivery"]
    refused(session, "wrong_state", "cancel_food_order", food_order_id=key)
    refused(session, "wrong_state", "redirect_food_order", food_order_id=key, address_id=place.address_id)
    refused(session, "wrong_state", "rate_food_order", food_order_id=key, stars=5)
    there = ok(session, "get_food_order", food_order_id=key)
    arrived = ok(session, "wait_for_food_order", food_order_id=key)
    assert arrived["status"] == "delivered" and arrived["time"] == there["arrives"]
    assert ok(session, "get_food_order", food_order_id=key)["courier_id"] == there["courier_id"]
    refused(session, "wrong_state", "wait_for_food_order", food_order_id=key)


def test_waiting_once_or_in_pieces_is_the_same(session: Session) -> None:
    buy(session)
    with world(FoodDelivery).session(SEED) as other:
        ok(other, "top_up_meal_wallet", amount=1000)
        ok(other, "clear_meal_cart")
        buy(other)
        ok(other, "wait_minutes", minutes=90)
        for minutes in (1, 29, 15, 45):
            ok(session, "wait_minutes", minutes=minutes)
        assert session.digest() == other.digest()


def test_a_cooked_order_waits_for_a_free_courier(session: Session) -> None:
    food = state(session)
    keys = [buy(session, 1)["food_order_id"] for _ in range(2)]
    ok(session, "wait_minutes", minutes=4)
    for courier in food.couriers.values():
        food.couriers.update(courier.courier_id, busy_until=200)
    while any(food.orders[key].status != "cooking" for key in keys):
        ok(session, "wait_minutes", minutes=1)
    ok(session, "wait_minutes", minutes=190 - food.clock["clock"].minutes)
    assert [food.orders[key].status for key in keys] == ["cooking", "cooking"]
    ok(session, "wait_minutes", minutes=10)
    assert [food.orders[key].status for key in keys] == ["out_for_delivery", "out_for_delivery"]
    assert len({food.orders[key].courier_id for key in keys}) == 2


def test_cancelling_gives_all_back_until_it_cooks(session: Session) -> None:
    had, (_, dish, _) = wallet(session), kitchen(session)
    first = buy(session)["food_order_id"]
    ok(session, "wait_for_food_order", food_order_id=first)
    ok(session, "cancel_food_order", food_order_id=first)
    assert wallet(session) == had
    assert ok(session, "get_dish", dish_id=dish.dish_id)["portions"] == dish.portions
    second = buy(session)
    for _ in range(2):
        ok(session, "wait_for_food_order", food_order_id=second["food_order_id"])
    refund = ok(session, "cancel_food_order", food_order_id=second["food_order_id"])["refund"]
    assert 0 < refund < second["total"]
    assert had - wallet(session) == round((second["total"] - refund) * 100)
    assert ok(session, "get_dish", dish_id=dish.dish_id)["portions"] == dish.portions - 2
    refused(session, "wrong_state", "cancel_food_order", food_order_id=first)


def test_orders_that_cannot_be(session: Session) -> None:
    food = state(session)
    row, dish, place = kitchen(session)
    refused(session, "wrong_state", "place_food_order", address_id=place.address_id)
    cheap = next((d for d in food._menu(row.restaurant_id) if d.portions and d.cents < row.smallest), None)
    if cheap is not None:
        ok(session, "add_dish_to_cart", dish_id=cheap.dish_id)
        refused(session, "insufficient", "place_food_order", address_id=place.address_id)
        ok(session, "clear_meal_cart")
    ok(session, "add_dish_to_cart", dish_id=dish.dish_id, quantity=2)
    refused(session, "not_found", "place_food_order", address_id="dad_000")
    refused(session, "invalid_value", "place_food_order", address_id=place.address_id, at="09:05")
    refused(session, "wrong_state", "place_food_order", address_id=place.address_id, at="23:59")
    far = [d for d in food.districts.values() if not food_reaches(session, row, d)]
    if far:
        added = ok(
            session, "add_delivery_address", name="Far Away", address={"street": "1 Road", "district_id": far[0].district_id}
        )
        refused(session, "denied", "place_food_order", address_id=added["address_id"])
    food.purse.update("purse", cents=10)
    refused(session, "insufficient", "place_food_order", address_id=place.address_id)


def food_reaches(session: Session, row: Any, district: Any) -> bool:
    return bool(distance(state(session).districts[row.district_id], district) <= row.reach)


def test_an_order_for_later_can_be_moved_until_it_is_accepted(session: Session) -> None:
    key = buy(session, at="13:00")["food_order_id"]
    assert ok(session, "get_food_order", food_order_id=key)["arrives"] == "13:00"
    assert ok(session, "reschedule_food_order", food_order_id=key, at="14:15")["arrives"] == "14:15"
    ok(session, "wait_minutes", minutes=60)
    assert ok(session, "get_food_order", food_order_id=key)["status"] == "placed"
    refused(session, "invalid_value", "reschedule_food_order", food_order_id=key, at="10:01")
    soon = ok(session, "reschedule_food_order", food_order_id=key)["arrives"]
    assert "10:00" < soon < "13:00"
    ok(session, "wait_for_food_order", food_order_id=key)
    refused(session, "wrong_state", "reschedule_food_order", food_order_id=key)


def test_another_address_changes_the_fee(session: Session) -> None:
    food = state(session)
    row, _, place = kitchen(session)
    key = buy(session, 1)["food_order_id"]
    refused(session, "conflict", "redirect_food_order", food_order_id=key, address_id=place.address_id)
    home = food.districts[row.district_id]
    added = ok(session, "add_delivery_address", name="Next Door", address={"street": "2 Lane", "district_id": home.district_id})
    refused(
        session,
        "conflict",
        "add_delivery_address",
        name="next door",
        address={"street": "2 Lane", "district_id": home.district_id},
    )
    had, before = wallet(session), food.orders[key]
    ok(session, "redirect_food_order", food_order_id=key, address_id=added["address_id"])
    after = food.orders[key]
    assert after.distance == 1 and after.fee == fee_cents(row, 1, after.goods)
    assert wallet(session) - had == before.fee - after.fee
    refused(session, "wrong_state", "remove_delivery_address", address_id=added["address_id"])
    ok(session, "cancel_food_order", food_order_id=key)
    ok(session, "remove_delivery_address", address_id=added["address_id"])
    refused(session, "not_found", "find_delivery_address", name="Next Door")


def test_refunds_are_for_recent_dishes_once(session: Session) -> None:
    food = state(session)
    old = min((o for o in food.orders.values() if o.status == "delivered"), key=lambda o: o.due)
    dish = old.lines[0].dish_id
    refused(session, "denied", "request_food_refund", food_order_id=old.food_order_id, dish_ids=[dish], problem="cold")
    recent = max((o for o in food.orders.values() if o.status == "delivered"), key=lambda o: o.due)
    key, (one, two) = recent.food_order_id, recent.lines
    other = next(d for d in food.dishes if d not in (one.dish_id, two.dish_id))
    refused(session, "not_found", "request_food_refund", food_order_id=key, dish_ids=[one.dish_id, other], problem="cold")
    had = wallet(session)
    got = ok(session, "request_food_refund", food_order_id=key, dish_ids=[one.dish_id] * 2, problem="missing")
    assert round(got["refund"] * 100) == one.cents == wallet(session) - had
    refused(session, "conflict", "request_food_refund", food_order_id=key, dish_ids=[one.dish_id], problem="missing")
    half = ok(session, "request_food_refund", food_order_id=key, dish_ids=[two.dish_id], problem="cold")
    assert round(half["refund"] * 100) == two.cents // 2
    placed = order_in(session, "placed")
    refused(session, "wrong_state", "request_food_refund", food_order_id=placed, dish_ids=[one.dish_id], problem="cold")


def test_an_order_can_be_repeated_into_an_empty_cart(session: Session) -> None:
    food = state(session)
    before = next(
        o
        for o in food.orders.values()
        if o.status == "delivered" and all(food.dishes[line.dish_id].portions >= line.quantity for line in o.lines)
    )
    got = ok(session, "reorder_meal", food_order_id=before.food_order_id)
    assert got["dishes"] == sum(line.quantity for line in before.lines)
    assert sorted((c.dish_id, c.options) for c in food.cart.values()) == sorted((c.dish_id, c.options) for c in before.lines)
    refused(session, "conflict", "reorder_meal", food_order_id=before.food_order_id)
    refused(session, "wrong_state", "reorder_meal", food_order_id=order_in(session, "placed"))
