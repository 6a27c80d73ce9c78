"""Rows of the shopping server, and pure functions on them.

Run: nothing here runs by itself; `tasks.servers.shopping` is the server.

Left out: taxes, and more than one customer. Cart, orders, addresses and cards belong to the user of the session.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.servers.shopping_types import MethodKind, OrderStatus, Reason, ReturnStatus, ShipmentStatus

SHIPPING = {"standard": (299, 100, 4), "express": (799, 200, 1)}
"""Speed -> cents for the nearest zone, cents for each further one, days."""
FREE_FROM = 20_000
"""Cents of goods from which standard shipping is free."""


@dataclass(frozen=True, slots=True)
class Category:
    category_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Product:
    product_id: str
    category_id: str
    name: str
    brand: str


@dataclass(frozen=True, slots=True)
class Variant:
    """`stock` pieces can be bought; `reserved` ones wait in orders that are placed or packed."""

    variant_id: str
    product_id: str
    color: str
    cents: int
    stock: int
    reserved: int


@dataclass(frozen=True, slots=True)
class Review:
    product_id: str
    author: str
    stars: int
    text: str


@dataclass(frozen=True, slots=True)
class CartLine:
    variant_id: str
    quantity: int


@dataclass(frozen=True, slots=True)
class Basket:
    """The one cart: who shops, and the coupon put on it (empty: none)."""

    user: str
    coupon_id: str


@dataclass(frozen=True, slots=True)
class Coupon:
    """`order_id`: the order that used it up (empty: none yet)."""

    coupon_id: str
    name: str
    percent: int
    min_cents: int
    expires: str
    order_id: str


@dataclass(frozen=True, slots=True)
class Wishlist:
    wishlist_id: str
    name: str
    products: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Address:
    """`zone`, from 0 to 3, is the distance that shipping is charged by."""

    address_id: str
    name: str
    street: str
    city: str
    zone: int


@dataclass(frozen=True, slots=True)
class Method:
    method_id: str
    name: str
    kind: MethodKind
    cents: int


@dataclass(frozen=True, slots=True)
class GiftCard:
    """`name` is who gave it."""

    gift_card_id: str
    name: str
    cents: int


@dataclass(frozen=True, slots=True)
class OrderLine:
    """`cents` were paid for all pieces, after the discount; `returning` pieces are on their way back or were received."""

    variant_id: str
    quantity: int
    cents: int
    returning: int


@dataclass(frozen=True, slots=True)
class Order:
    """`charged` cents came from the payment method and `gifted` from the gift card: together the goods and the shipping.

    `refunded` and `regifted` went back to them.
    """

    order_id: str
    status: OrderStatus
    address_id: str
    method_id: str
    gift_card_id: str
    lines: tuple[OrderLine, ...]
    shipping: int
    speed: str
    charged: int
    gifted: int
    placed: str
    shipment_id: str
    refunded: int = 0
    regifted: int = 0

    @property
    def total(self) -> int:
        return self.charged + self.gifted


@dataclass(frozen=True, slots=True)
class Shipment:
    shipment_id: str
    order_id: str
    depot_id: str
    carrier: str
    status: ShipmentStatus
    eta: str


@dataclass(frozen=True, slots=True)
class Depot:
    depot_id: str
    city: str
    phone: str


@dataclass(frozen=True, slots=True)
class Return:
    return_id: str
    order_id: str
    variant_id: str
    quantity: int
    cents: int
    reason: Reason
    status: ReturnStatus


def shares(amounts: Sequence[int], discount: int) -> list[int]:
    """Each amount less its share of the discount, in cents; the shares add up exactly."""
    total, passed, given, reduced = sum(amounts), 0, 0, []
    for amount in amounts:
        passed += amount
        upto = discount * passed // total if total else 0
        reduced.append(amount - (upto - given))
        given = upto
    return reduced


def refund_of(line: OrderLine, quantity: int) -> int:
    """What `quantity` further pieces of a line give back; all of its pieces together give back all of it."""
    before, after = line.returning, line.returning + quantity
    return line.cents * after // line.quantity - line.cents * before // line.quantity


def shipping_cents(speed: str, zone: int, goods: int) -> int:
    base, further, _ = SHIPPING[speed]
    return 0 if speed == "standard" and goods >= FREE_FROM else base + further * zone


def zone_of(city: str) -> int:
    """The zone of a city that is new to the shop."""
    return zlib.crc32(city.casefold().encode()) % 4
