"""The shopping server's seeds, and the server under random calls: stock and money are conserved, whatever is asked of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tasks.servers.sampler import Live, sample
from tasks.servers.session import Environment, Session
from tasks.servers.shopping import Shopping
from tasks.servers.world import HELD_OUT_FROM, World
from tests.servers.driver import Driver, drive, ok, state_of

WORLD = Environment([Shopping])
SEED = 7


def live_of(seed: int) -> Live:
    with WORLD.session(seed) as opened:
        return sample(opened)


def pieces(shop: Any) -> Counter[str]:
    """Pieces of every variant that the shop has, or that a customer has: constant."""
    count: Counter[str] = Counter()
    for row in shop.variants.values():
        count[row.variant_id] += row.stock + row.reserved
    for order in shop.orders.values():
        if order.status in ("shipped", "delivered"):
            for line in order.lines:
                count[line.variant_id] += line.quantity
    for row in shop.returns.values():
        if row.status == "refunded":
            count[row.variant_id] -= row.quantity
    return count


def money_of(shop: Any) -> int:
    """Cents on payment methods and gift cards, and in orders as far as not refunded: constant."""
    held = sum(row.cents for row in shop.methods.values()) + sum(row.cents for row in shop.gift_cards.values())
    return held + sum(order.total - order.refunded - order.regifted for order in shop.orders.values())


BASE: dict[int, tuple[Counter[str], int]] = {}


def check(session: Session) -> None:
    """Stock and money are conserved, nothing is negative, orders add up, and their reservations are what is reserved."""
    shop = state_of(session, Shopping)
    if session.seed not in BASE:
        fresh = Shopping(Shopping.seed(World(session.seed, "shopping")), session.now)
        BASE[session.seed] = pieces(fresh), money_of(fresh)
    assert pieces(shop) == BASE[session.seed][0]
    assert money_of(shop) == BASE[session.seed][1]
    reserved: Counter[str] = Counter()
    for order in shop.orders.values():
        assert order.total == sum(line.cents for line in order.lines) + order.shipping
        assert 0 <= order.refunded <= order.charged and 0 <= order.regifted <= order.gifted
        assert (order.status in ("shipped", "delivered")) == (order.shipment_id in shop.shipments)
        if order.status == "cancelled":
            assert order.refunded + order.regifted == order.total
        for line in order.lines:
            returned = sum(
                r.quantity for r in shop.returns.values() if (r.order_id, r.variant_id) == (order.order_id, line.variant_id)
            )
            assert returned == line.returning <= line.quantity
            if order.status in ("placed", "packed"):
                reserved[line.variant_id] += line.quantity
    for row in shop.variants.values():
        assert row.stock >= 0
        assert row.reserved == reserved[row.variant_id]
    for row in (*shop.methods.values(), *shop.gift_cards.values()):
        assert row.cents >= 0
    for line in shop.cart.values():
        assert line.quantity >= 1 and line.variant_id in shop.variants
    for shipment in shop.shipments.values():
        order = shop.orders[shipment.order_id]
        assert order.shipment_id == shipment.shipment_id
        assert (shipment.status == "delivered") == (order.status == "delivered")
    for rows in (shop.wishlists.values(), shop.coupons.values(), shop.products.values()):
        names = [row.name.casefold() for row in rows]
        assert len(names) == len(set(names))
    cities = [row.city.casefold() for row in shop.addresses.values()]
    assert len(cities) == len(set(cities))
    cart = ok(session, "get_cart")
    assert cart["total"] == pytest.approx(cart["subtotal"] - cart["discount"]) and 0 <= cart["discount"] <= cart["subtotal"]


@pytest.mark.parametrize("seed", [*range(12), *range(HELD_OUT_FROM, HELD_OUT_FROM + 6)])
def test_seeds_are_consistent_and_varied(seed: int) -> None:
    with WORLD.session(seed) as session:
        check(session)
        shop = state_of(session, Shopping)
        assert len(shop.products) == 18 and len(shop.categories) == 6
        assert {order.status for order in shop.orders.values()} == {"placed", "packed", "shipped", "delivered", "cancelled"}
        assert len(shop.cart) == 2 and len(shop.returns) == 1
        for line in shop.cart.values():
            assert shop.variants[line.variant_id].stock >= line.quantity


LIVE = {seed: live_of(seed) for seed in (SEED, HELD_OUT_FROM + 1)}


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), world=st.sampled_from(sorted(LIVE)), hostile=st.sampled_from((0.02, 0.1, 0.4)))
def test_random_calls_keep_the_invariants(seed: int, world: int, hostile: float) -> None:
    drive(WORLD, world, seed, LIVE[world], check, calls=40, hostile=hostile)


class Customer(RuleBasedStateMachine):
    """A customer and the shop's staff at work: mostly sensible calls, each checked by the driver, then the invariants."""

    def __init__(self) -> None:
        super().__init__()
        live = LIVE[SEED]
        self.session = WORLD.session(SEED)
        copied = Live({kind: {key: dict(facts) for key, facts in known.items()} for kind, known in live.entities.items()})
        self.driver = Driver(self.session, random.Random(0), copied)
        ok(self.session, "get_cart")
        self.shop = state_of(self.session, Shopping)

    def teardown(self) -> None:
        self.session.close()

    def one(self, data: st.DataObject, keys: Iterable[str], kind: str = "") -> str:
        """One of these, or now and then another of that kind."""
        known = sorted(keys)
        others = sorted(self.driver.live.entities.get(kind, {}))
        return data.draw(st.sampled_from(known * 4 + others if known else others))

    def orders(self, *statuses: str) -> list[str]:
        return [row.order_id for row in self.shop.orders.values() if row.status in statuses]

    @rule(data=st.data(), quantity=st.integers(1, 6))
    def fill_cart(self, data: st.DataObject, quantity: int) -> None:
        variant = self.one(data, (row.variant_id for row in self.shop.variants.values() if row.stock), "variant")
        self.driver.call("add_to_cart", {"variant_id": variant, "quantity": quantity})

    @rule(data=st.data(), quantity=st.integers(1, 6))
    def change_cart(self, data: st.DataObject, quantity: int) -> None:
        variant = self.one(data, self.shop.cart, "variant")
        if data.draw(st.booleans()):
            self.driver.call("set_quantity", {"variant_id": variant, "quantity": quantity})
        else:
            self.driver.call("remove_from_cart", {"variant_id": variant})

    @rule(data=st.data())
    def use_coupon(self, data: st.DataObject) -> None:
        self.driver.call("apply_coupon", {"coupon_id": self.one(data, self.shop.coupons)})

    @rule(data=st.data(), speed=st.sampled_from(("standard", "express")), gift=st.booleans())
    def buy(self, data: st.DataObject, speed: str, gift: bool) -> None:
        arguments = {
            "address_id": self.one(data, self.shop.addresses),
            "method_id": self.one(data, self.shop.methods),
            "speed": speed,
            "gift_card_id": self.one(data, self.shop.gift_cards) if gift else None,
        }
        self.driver.call("checkout", arguments)

    @rule(data=st.data())
    def top_up(self, data: st.DataObject) -> None:
        method = self.one(data, self.shop.methods)
        amount = data.draw(st.integers(1, 2 * self.shop.methods[method].cents + 1)) / 100
        gift = self.one(data, self.shop.gift_cards)
        self.driver.call("top_up_gift_card", {"gift_card_id": gift, "method_id": method, "amount": amount})

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.driver.call("cancel_order", {"order_id": self.one(data, self.orders("placed", "packed"), "order")})

    @rule(data=st.data())
    def move_on(self, data: st.DataObject) -> None:
        order = self.one(data, self.orders("placed", "packed", "shipped"), "order")
        match self.shop.orders[order].status:
            case "placed":
                self.driver.call("pack_order", {"order_id": order})
            case "packed":
                self.driver.call("ship_order", {"order_id": order, "depot_id": self.one(data, self.shop.depots)})
            case _:
                self.driver.call("confirm_delivery", {"order_id": order})

    @rule(data=st.data(), quantity=st.integers(1, 3))
    def send_back(self, data: st.DataObject, quantity: int) -> None:
        order = self.one(data, self.orders("delivered"), "order")
        variant = self.one(data, (line.variant_id for line in self.shop.orders[order].lines), "variant")
        arguments = {"order_id": order, "variant_id": variant, "reason": "damaged", "quantity": quantity}
        self.driver.call("request_return", arguments)

    @rule(data=st.data())
    def take_in(self, data: st.DataObject) -> None:
        self.driver.call("receive_return", {"return_id": self.one(data, self.shop.returns)})

    @rule(seed=st.integers(0, 2**32))
    def anything(self, seed: int) -> None:
        self.driver.rng = random.Random(seed)
        self.driver.step()

    @invariant()
    def holds(self) -> None:
        check(self.session)


TestCustomer = Customer.TestCase
TestCustomer.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
