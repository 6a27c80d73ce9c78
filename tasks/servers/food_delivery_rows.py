"""Rows of the food delivery server, and pure functions on them.

Run: nothing here runs by itself; `tasks.servers.food_delivery` is the server.

Moments are whole minutes since the session's clock; what happened before the session is negative. Amounts are cents.

Left out: more than one customer. Other people's orders show only in couriers that are busy.
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.servers.food_delivery_types import Cuisine, OptionKind, OrderStatus, Section, Vehicle

ACCEPTING, STARTING = 3, 2
"""Minutes until a restaurant accepts an order, and from then until it cooks."""
RIDE = 4
"""Minutes a kilometer that an estimate reckons with, before the courier is known."""
SPEED: dict[Vehicle, int] = {"bike": 5, "scooter": 3, "car": 4}
"""Minutes a kilometer."""
PER_KM = 60
"""Cents of the delivery fee for every kilometer."""
FREE_FROM = 6000
"""Cents of dishes from which the delivery is free."""
CLAIM_WITHIN = 2 * 24 * 60
"""Minutes after delivery in which a refund can be asked for."""
ACTIVE: tuple[OrderStatus, ...] = ("placed", "accepted", "cooking", "out_for_delivery")


@dataclass(frozen=True, slots=True)
class Clock:
    """How many minutes of the session have passed."""

    minutes: int


@dataclass(frozen=True, slots=True)
class Purse:
    """The user: the money in their wallet, and all that they ever put into it since the start."""

    user: str
    cents: int
    topped_up: int = 0


@dataclass(frozen=True, slots=True)
class District:
    """A part of the city; `x` and `y` are kilometers."""

    district_id: str
    name: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Restaurant:
    """Open from `opens` to `closes` (minutes of the day), but not on `rest_day` (0 is monday, 7 is never)."""

    restaurant_id: str
    name: str
    cuisine: Cuisine
    district_id: str
    opens: int
    closes: int
    rest_day: int
    fee: int
    smallest: int
    reach: int


@dataclass(frozen=True, slots=True)
class Dish:
    """`minutes` is how long it cooks, `portions` how many are left."""

    dish_id: str
    restaurant_id: str
    name: str
    section: Section
    cents: int
    vegetarian: bool
    minutes: int
    portions: int


@dataclass(frozen=True, slots=True)
class Option:
    option_id: str
    dish_id: str
    name: str
    kind: OptionKind
    cents: int


@dataclass(frozen=True, slots=True)
class CartLine:
    """Portions of one dish with the same options, which are sorted."""

    line_id: str
    dish_id: str
    options: tuple[str, ...]
    quantity: int


@dataclass(frozen=True, slots=True)
class Basket:
    promo_id: str


@dataclass(frozen=True, slots=True)
class Promo:
    """A code for one order; `order_id` is the order that used it."""

    promo_id: str
    name: str
    percent: int
    min_cents: int
    expires: str
    order_id: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    address_id: str
    name: str
    street: str
    district_id: str


@dataclass(frozen=True, slots=True)
class Courier:
    """At work until `busy_until`; then in `district_id`. `tips` are cents, `stars` the sum of `ratings` ratings."""

    courier_id: str
    name: str
    phone: str
    vehicle: Vehicle
    district_id: str
    busy_until: int
    tips: int
    stars: int
    ratings: int


@dataclass(frozen=True, slots=True)
class OrderLine:
    """`cents` is what was paid for all portions, the discount taken off."""

    dish_id: str
    options: tuple[str, ...]
    quantity: int
    cents: int
    claimed: bool = False


@dataclass(frozen=True, slots=True)
class FoodOrder:
    """`due` is when the next step happens, of a finished order when it was delivered or cancelled. A scheduled order
    cooks from `start` on. `tip`, `stars` and `courier_stars` are 0 until they are given."""

    food_order_id: str
    restaurant_id: str
    address_id: str
    status: OrderStatus
    lines: tuple[OrderLine, ...]
    fee: int
    promo_id: str
    placed: int
    start: int
    minutes: int
    distance: int
    due: int
    courier_id: str = ""
    refunded: int = 0
    tip: int = 0
    stars: int = 0
    courier_stars: int = 0

    @property
    def goods(self) -> int:
        return sum(line.cents for line in self.lines)

    @property
    def total(self) -> int:
        return self.goods + self.fee


@dataclass(frozen=True, slots=True)
class Rating:
    restaurant_id: str
    author: str
    stars: int
    comment: str


@dataclass(frozen=True, slots=True)
class Favorite:
    restaurant_id: str


def distance(one: District, other: District) -> int:
    """Kilometers by road between two districts; 1 within one."""
    return 1 + abs(one.x - other.x) + abs(one.y - other.y)


def fee_cents(restaurant: Restaurant, kilometers: int, goods: int) -> int:
    """What it costs to bring dishes worth `goods` cents."""
    return 0 if goods >= FREE_FROM else restaurant.fee + PER_KM * kilometers


def arrival(order: FoodOrder) -> int:
    """When an active order will be there, as far as is known: a courier may be late."""
    if order.status == "out_for_delivery":
        return order.due
    cooked = order.due if order.status == "cooking" else order.start + order.minutes
    return cooked + RIDE * order.distance


def refund_at_cancelling(order: FoodOrder) -> int:
    """All of it until the restaurant cooks; then the fee and half of the dishes."""
    return order.total if order.status in ("placed", "accepted") else order.fee + order.goods // 2
