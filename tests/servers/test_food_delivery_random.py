"""The food delivery server's seeds, and the server under random calls: portions and money are conserved, couriers ride once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tasks.servers.food_delivery import FoodDelivery
from tasks.servers.food_delivery_rows import ACTIVE
from tasks.servers.sampler import Live
from tasks.servers.session import Session
from tasks.servers.world import HELD_OUT_FROM, World
from tests.servers.driver import Driver, drive, ok, state_of
from tests.servers.machine import live_of, world

SEED = 7
LIFE = {
    "placed": {"accepted", "cancelled"},
    "accepted": {"cooking", "cancelled"},
    "cooking": {"out_for_delivery", "cancelled"},
    "out_for_delivery": {"delivered"},
    "delivered": set(),
    "cancelled": set(),
}
"""What an order may become next."""


def portions(food: Any) -> Counter[str]:
    """Portions of every dish, those in orders that were not cancelled in time included: constant."""
    count: Counter[str] = Counter()
    for dish in food.dishes.values():
        count[dish.dish_id] += dish.portions
    for order in food.orders.values():
        if order.status != "cancelled" or order.refunded < order.total:
            for line in order.lines:
                count[line.dish_id] += line.quantity
    return count


def money_of(food: Any) -> int:
    """Cents in the wallet and in orders and tips, less what was brought in: constant."""
    row = food.purse["purse"]
    return row.cents - row.topped_up + sum(o.total + o.tip - o.refunded for o in food.orders.values())  # type: ignore[no-any-return]


BASE: dict[int, tuple[Counter[str], int]] = {}


def check(session: Session) -> None:
    """Portions and money are conserved, nothing is negative, orders keep to their lives, a busy courier has one order."""
    food: Any = state_of(session, FoodDelivery)
    if food is None:
        return
    if session.seed not in BASE:
        fresh = FoodDelivery(FoodDelivery.seed(World(session.seed, "food_delivery")), session.now)
        BASE[session.seed] = portions(fresh), money_of(fresh)
    assert portions(food) == BASE[session.seed][0]
    assert money_of(food) == BASE[session.seed][1]
    assert food.purse["purse"].cents >= 0
    assert all(dish.portions >= 0 for dish in food.dishes.values())
    now = food.clock["clock"].minutes
    for order in food.orders.values():
        assert order.total == sum(line.cents for line in order.lines) + order.fee > 0
        assert 0 <= order.refunded <= order.total
        assert not order.refunded or order.status in ("delivered", "cancelled")
        assert bool(order.courier_id) == (order.status in ("out_for_delivery", "delivered"))
        assert (order.due > now) == (order.status in ACTIVE)
        assert order.placed <= order.start - 5 and order.restaurant_id in food.restaurants
        assert order.status == "delivered" or not (order.stars or order.courier_stars)
        assert not order.tip or order.courier_id
        assert order.status not in ACTIVE or order.address_id in food.places
        assert (order.food_order_id in food.ratings) == bool(order.stars)
        if order.promo_id and (order.status != "cancelled" or order.refunded < order.total):
            assert food.promos[order.promo_id].order_id == order.food_order_id
    riding = [o for o in food.orders.values() if o.status == "out_for_delivery"]
    assert len({o.courier_id for o in riding}) == len(riding)
    assert all(food.couriers[o.courier_id].busy_until == o.due for o in riding)
    for courier in food.couriers.values():
        assert courier.tips == sum(o.tip for o in food.orders.values() if o.courier_id == courier.courier_id)
        assert courier.ratings <= courier.stars <= 5 * courier.ratings
    assert len({food.dishes[line.dish_id].restaurant_id for line in food.cart.values()}) <= 1
    kinds = [(line.dish_id, line.options) for line in food.cart.values()]
    assert len(kinds) == len(set(kinds))
    for line in food.cart.values():
        assert line.quantity >= 1 and list(line.options) == sorted(set(line.options))
        assert all(food.options[key].dish_id == line.dish_id for key in line.options)
        assert sum(food.options[key].kind == "side" for key in line.options) <= 1
    assert all(key in food.restaurants for key in food.favorites)
    for rows in (food.places.values(), food.restaurants.values(), food.dishes.values(), food.promos.values()):
        names = [row.name.casefold() for row in rows]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("seed", [*range(12), *range(HELD_OUT_FROM, HELD_OUT_FROM + 6)])
def test_seeds_are_consistent_and_varied(seed: int) -> None:
    with world(FoodDelivery).session(seed) as session:
        assert len(ok(session, "list_restaurants", open_now=True, limit=50)) >= 5
        check(session)
        food: Any = state_of(session, FoodDelivery)
        assert len(food.restaurants) == 8 and len(food.dishes) == 40 and len(food.options) >= 48
        statuses = Counter(order.status for order in food.orders.values())
        assert statuses["delivered"] == 5 and statuses["placed"] == statuses["out_for_delivery"] == 1
        assert {restaurant.cuisine for restaurant in food.restaurants.values()} >= {"italian", "greek", "american"}
        assert any(ok(session, "find_nearest_restaurant", address_id=p)["distance"] for p in list(food.places)[:1])


def test_every_state_of_an_order_starts_in_some_of_six_worlds() -> None:
    states = [FoodDelivery.seed(World(seed, "food_delivery")) for seed in range(6)]
    assert {order.status for state in states for order in state["orders"].values()} == set(LIFE)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), start=st.sampled_from((SEED, HELD_OUT_FROM + 1)), hostile=st.sampled_from((0.02, 0.1, 0.4)))
def test_random_calls_keep_the_invariants(seed: int, start: int, hostile: float) -> None:
    drive(world(FoodDelivery), start, seed, live_of(FoodDelivery, start), check, calls=40, hostile=hostile)


class Eater(RuleBasedStateMachine):
    """A customer at work: mostly sensible calls, each checked by the driver, then the invariants and the orders' lives."""

    def __init__(self) -> None:
        super().__init__()
        live = live_of(FoodDelivery, SEED)
        self.session = world(FoodDelivery).session(SEED)
        copied = Live({kind: {key: dict(facts) for key, facts in known.items()} for kind, known in live.entities.items()})
        self.driver = Driver(self.session, random.Random(0), copied)
        ok(self.session, "get_meal_wallet")
        self.food: Any = state_of(self.session, FoodDelivery)
        self.lives = self.statuses()

    def teardown(self) -> None:
        with world(FoodDelivery).session(SEED) as again:
            for name, arguments, result in self.driver.log:
                assert again.call(name, arguments) == result, f"{name}({arguments!r}) answered otherwise when repeated"
            assert again.digest() == self.session.digest()
        self.session.close()

    def statuses(self) -> dict[str, str]:
        return {order.food_order_id: order.status for order in self.food.orders.values()}

    def one(self, data: st.DataObject, keys: Iterable[str], kind: str = "") -> str:
        """One of these, or now and then another of that kind."""
        known = sorted(keys)
        others = sorted(self.driver.live.entities.get(kind, {}))
        return data.draw(st.sampled_from(known * 4 + others if known else others))

    def orders(self, *statuses: str) -> list[str]:
        return [row.food_order_id for row in self.food.orders.values() if row.status in statuses]

    @rule(data=st.data(), quantity=st.integers(1, 4), extras=st.integers(0, 3))
    def fill_cart(self, data: st.DataObject, quantity: int, extras: int) -> None:
        home = self.food._cart_restaurant
        fitting = (d.dish_id for d in self.food.dishes.values() if d.portions and home in ("", d.restaurant_id))
        dish = self.one(data, fitting, "dish")
        options = [o.option_id for o in self.food.options.values() if o.dish_id == dish][:extras]
        self.driver.call("add_dish_to_cart", {"dish_id": dish, "quantity": quantity, "option_ids": options})

    @rule(data=st.data(), quantity=st.integers(1, 6))
    def change_cart(self, data: st.DataObject, quantity: int) -> None:
        line = self.one(data, self.food.cart, "meal_line")
        if data.draw(st.booleans()):
            self.driver.call("set_portions", {"line_id": line, "quantity": quantity})
        else:
            self.driver.call("remove_dish_from_cart", {"line_id": line})

    @rule(data=st.data())
    def use_promo_code(self, data: st.DataObject) -> None:
        self.driver.call("apply_promo_code", {"promo_id": self.one(data, self.food.promos)})

    @rule(data=st.data(), later=st.booleans())
    def order(self, data: st.DataObject, later: bool) -> None:
        arguments = {"address_id": self.one(data, self.food.places, "delivery_address")}
        if later:
            arguments["at"] = f"{data.draw(st.integers(9, 21)):02d}:30"
        self.driver.call("place_food_order", arguments)

    @rule(minutes=st.sampled_from((1, 4, 9, 25, 60, 300)))
    def wait(self, minutes: int) -> None:
        self.driver.call("wait_minutes", {"minutes": minutes})

    @rule(data=st.data())
    def wait_for_one(self, data: st.DataObject) -> None:
        self.driver.call("wait_for_food_order", {"food_order_id": self.one(data, self.orders(*ACTIVE), "food_order")})

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        order = self.one(data, self.orders("placed", "accepted", "cooking"), "food_order")
        self.driver.call("cancel_food_order", {"food_order_id": order})

    @rule(data=st.data())
    def redirect(self, data: st.DataObject) -> None:
        order = self.one(data, self.orders("placed", "accepted", "cooking"), "food_order")
        self.driver.call("redirect_food_order", {"food_order_id": order, "address_id": self.one(data, self.food.places)})

    @rule(data=st.data(), problem=st.sampled_from(("missing", "cold")))
    def complain(self, data: st.DataObject, problem: str) -> None:
        order = self.one(data, self.orders("delivered"), "food_order")
        dish = self.one(data, (line.dish_id for line in self.food.orders[order].lines), "dish")
        arguments = {"food_order_id": order, "dish_ids": [dish, dish], "problem": problem}
        self.driver.call("request_food_refund", arguments)

    @rule(data=st.data(), amount=st.integers(1, 3000))
    def tip(self, data: st.DataObject, amount: int) -> None:
        order = self.one(data, self.orders("out_for_delivery", "delivered"), "food_order")
        self.driver.call("tip_courier", {"food_order_id": order, "amount": amount / 100})

    @rule(seed=st.integers(0, 2**32))
    def anything(self, seed: int) -> None:
        self.driver.rng = random.Random(seed)
        self.driver.step()

    @invariant()
    def holds(self) -> None:
        try:
            check(self.session)
            lives = self.statuses()
            for key, before in self.lives.items():
                reached, steps = {before}, {before}
                while steps := {after for step in steps for after in LIFE[step]}:
                    reached |= steps
                assert lives[key] in reached, f"{key} was {before} and is {lives[key]}"
            assert all(lives[key] == "placed" for key in lives.keys() - self.lives.keys())
            self.lives = lives
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.driver.story()}") from error


TestEater = Eater.TestCase
TestEater.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
