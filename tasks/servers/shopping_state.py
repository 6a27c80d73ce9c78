"""What the shopping server's tools share: prices, ratings, the cart's totals, and money going back.

Run: nothing here runs by itself; `tasks.servers.shopping` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace

from tasks.servers import shopping_types as t
from tasks.servers.lookup import existing
from tasks.servers.shopping_rows import (
    Address,
    Basket,
    CartLine,
    Category,
    Coupon,
    Depot,
    GiftCard,
    Method,
    Order,
    OrderLine,
    Product,
    Return,
    Review,
    Shipment,
    Variant,
    Wishlist,
)
from tasks.servers.state import Table
from tasks.servers.tool import ToolError
from tasks.servers.typed import money


class Shop:
    """The tables of the shop, and the steps that tools are made of."""

    now: dt.datetime
    categories: Table[Category]
    products: Table[Product]
    variants: Table[Variant]
    reviews: Table[Review]
    cart: Table[CartLine]
    basket: Table[Basket]
    coupons: Table[Coupon]
    wishlists: Table[Wishlist]
    addresses: Table[Address]
    methods: Table[Method]
    gift_cards: Table[GiftCard]
    orders: Table[Order]
    shipments: Table[Shipment]
    depots: Table[Depot]
    returns: Table[Return]

    def _today(self) -> str:
        return self.now.date().isoformat()

    def _variants(self, product_id: str) -> list[Variant]:
        return self.variants.where(lambda v: v.product_id == product_id)

    def _price(self, product_id: str) -> int:
        """What the cheapest variant of a product costs, in cents."""
        return min(v.cents for v in self._variants(product_id))

    def _rating(self, product_id: str) -> float:
        """The mean of a product's stars, to one decimal; 0 without reviews."""
        stars = [r.stars for r in self.reviews.values() if r.product_id == product_id]
        return round(sum(stars) / len(stars), 1) if stars else 0.0

    def _ranked(self, rows: Iterable[Product], by: str) -> list[Product]:
        if by == "price":
            return sorted(rows, key=lambda p: (self._price(p.product_id), p.name))
        return sorted(rows, key=lambda p: (-self._rating(p.product_id), p.name))

    def _in_category(self, category_id: str, by: str) -> list[Product]:
        existing(self.categories, category_id, "category", "list_categories")
        return self._ranked(self.products.where(lambda p: p.category_id == category_id), by)

    def _shown(self, rows: Iterable[Product]) -> list[t.ProductRow]:
        return [{"product_id": p.product_id, "name": p.name, "price": money(self._price(p.product_id))} for p in rows]

    def _title(self, variant_id: str) -> str:
        return self.products[self.variants[variant_id].product_id].name

    # -- the cart --------------------------------------------------------------------------------

    def _offered(self, variant_id: str, quantity: int) -> Variant:
        row = existing(self.variants, variant_id, "variant", "list_variants")
        if row.stock < quantity:
            raise ToolError("insufficient", f"{row.stock} pieces are in stock", "Take fewer, or another variant.")
        return row

    def _cart_line(self, variant_id: str) -> CartLine:
        return existing(self.cart, variant_id, "such item in the cart:", "list_cart_items")

    def _cart_sums(self) -> tuple[int, int]:
        """(subtotal, discount) of the cart in cents; a coupon counts once its minimum is reached."""
        subtotal = sum(self.variants[line.variant_id].cents * line.quantity for line in self.cart.values())
        coupon = self.coupons.get(self.basket["cart"].coupon_id)
        counts = coupon is not None and subtotal >= coupon.min_cents
        return subtotal, subtotal * coupon.percent // 100 if coupon and counts else 0

    def _cart_shown(self) -> t.CartSum:
        subtotal, discount = self._cart_sums()
        return {"items": len(self.cart), "total": money(subtotal - discount)}

    # -- orders ----------------------------------------------------------------------------------

    def _order(self, order_id: str, *statuses: str) -> Order:
        """The order, when it is in one of `statuses` (any, when none are given)."""
        row = existing(self.orders, order_id, "order", "list_orders")
        if statuses and row.status not in statuses:
            raise ToolError(
                "wrong_state", f"the order is {row.status}, not {' or '.join(statuses)}", "Use get_order to see it."
            )
        return row

    def _line(self, order: Order, variant_id: str) -> OrderLine:
        line = next((line for line in order.lines if line.variant_id == variant_id), None)
        if line is None:
            raise ToolError("not_found", "the order has no such item", "list_order_items shows its items.")
        return line

    def _reserve(self, order: Order, stock: int, reserved: int) -> None:
        """Moves every piece of an order: `stock` and `reserved` are the signs of the change."""
        for line in order.lines:
            row, pieces = self.variants[line.variant_id], line.quantity
            self.variants.update(row.variant_id, stock=row.stock + stock * pieces, reserved=row.reserved + reserved * pieces)

    def _pay_back(self, order: Order, amount: int) -> Order:
        """`amount` cents back to the payment method as far as it paid, the rest to the gift card. The changed order."""
        charged = min(amount, order.charged - order.refunded)
        gifted = amount - charged
        if charged:
            self.methods.update(order.method_id, cents=self.methods[order.method_id].cents + charged)
        if gifted:
            self.gift_cards.update(order.gift_card_id, cents=self.gift_cards[order.gift_card_id].cents + gifted)
        changed = replace(order, refunded=order.refunded + charged, regifted=order.regifted + gifted)
        return self.orders.put(order.order_id, changed)

    def _method_pays(self, method_id: str, amount: int) -> Method:
        row = existing(self.methods, method_id, "payment method", "list_payment_methods")
        if row.cents < amount:
            message = f"{money(amount)} is needed and {money(row.cents)} is available"
            raise ToolError("insufficient", message, "Use another payment method.")
        return row


def coupon_shown(row: Coupon) -> t.CouponShown:
    return {
        "coupon_id": row.coupon_id,
        "name": row.name,
        "percent": row.percent,
        "min_spend": money(row.min_cents),
        "expires": row.expires,
    }


def wishlist_shown(row: Wishlist) -> t.WishlistShown:
    return {"wishlist_id": row.wishlist_id, "name": row.name, "products": len(row.products)}


def method_shown(row: Method) -> t.MethodShown:
    return {"method_id": row.method_id, "name": row.name, "kind": row.kind, "available": money(row.cents)}


def gift_card_shown(row: GiftCard) -> t.GiftCardShown:
    return {"gift_card_id": row.gift_card_id, "name": row.name, "balance": money(row.cents)}


def return_shown(row: Return) -> t.ReturnShown:
    return {"return_id": row.return_id, "order_id": row.order_id, "status": row.status, "refund": money(row.cents)}
