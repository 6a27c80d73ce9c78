"""A web shop and one customer: catalogue, cart, coupons, wishlists, payment, orders, shipments, returns, gift cards.

    with environment(["shopping"]).session(7) as session:
        session.call("find_product", {"name": "Nordic Lamp"})

Stock is reserved when an order is placed and released when it is cancelled; what an order costs is charged
to a gift card and a payment method, and a refund goes back the same way, to the cent. Pack, ship and confirm
move an order on, as the shop's staff would.

Left out: taxes, several carts, and prices that change.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from tasks.servers import shopping_types as t
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.shopping_data import CARRIERS, seed_rows
from tasks.servers.shopping_rows import (
    SHIPPING,
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
    refund_of,
    shares,
    shipping_cents,
    zone_of,
)
from tasks.servers.shopping_state import Shop, coupon_shown, gift_card_shown, method_shown, return_shown, wishlist_shown
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Amount, Limit, cents, money, plain
from tasks.servers.world import World


class Shopping(Shop, Server):
    """The server; see the module's docstring."""

    name = "shopping"
    title = "A web shop: products, cart, orders and returns"

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

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- catalogue -------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_categories(self, limit: Limit = 5) -> list[t.CategoryShown]:
        """List the categories with their numbers of products."""
        return [self._category(c) for c in list(self.categories.values())[: int(limit)]]

    @tool(read_only=True)
    def find_category(self, name: t.KnownName) -> t.CategoryShown:
        """Find a category by its name."""
        return self._category(named(self.categories.values(), name, "category", "list_categories"))

    @tool(read_only=True)
    def list_products(self, category_id: t.CategoryId, limit: Limit = 5) -> list[t.ProductRow]:
        """List the products of a category, cheapest first."""
        return self._shown(self._in_category(category_id, "price")[: int(limit)])

    @tool(read_only=True)
    def search_products(self, filter: t.ProductFilter, sort: t.Sort = "rating", limit: Limit = 5) -> list[t.ProductRow]:
        """List the products that satisfy all conditions of the filter, best rated first unless sorted by price."""
        category, brand = filter.get("category_id"), filter.get("brand", "").casefold()
        if category is not None:
            existing(self.categories, category, "category", "list_categories")
        most = filter.get("max_price", float("inf"))
        rows = self.products.where(
            lambda p: (
                (category is None or p.category_id == category)
                and (not brand or p.brand.casefold() == brand)
                and money(self._price(p.product_id)) <= most
                and self._rating(p.product_id) >= filter.get("min_rating", 0)
                and (not filter.get("in_stock") or any(v.stock for v in self._variants(p.product_id)))
            )
        )
        return self._shown(self._ranked(rows, sort)[: int(limit)])

    @tool(read_only=True)
    def find_product(self, name: t.KnownName) -> t.ProductFound:
        """Find a product by its name."""
        row = named(self.products.values(), name, "product", "search_products")
        return {"product_id": row.product_id, "rating": self._rating(row.product_id)}

    @tool(read_only=True)
    def get_product(self, product_id: t.ProductId) -> t.ProductShown:
        """Show a product: its brand, category, lowest price and rating."""
        row = existing(self.products, product_id, "product", "search_products")
        return {
            "product_id": row.product_id,
            "name": row.name,
            "brand": row.brand,
            "category_id": row.category_id,
            "price": money(self._price(product_id)),
            "rating": self._rating(product_id),
        }

    @tool(read_only=True)
    def cheapest_product(self, category_id: t.CategoryId) -> t.Cheapest:
        """Find the cheapest product of a category."""
        row = self._in_category(category_id, "price")[0]
        return {"product_id": row.product_id, "price": money(self._price(row.product_id)), "cheapest_in": category_id}

    @tool(read_only=True)
    def best_rated_product(self, category_id: t.CategoryId) -> t.BestRated:
        """Find the product of a category with the highest rating."""
        row = self._in_category(category_id, "rating")[0]
        return {"product_id": row.product_id, "rating": self._rating(row.product_id), "best_in": category_id}

    @tool(read_only=True)
    def list_variants(self, product_id: t.ProductId, limit: Limit = 5) -> list[t.VariantRow]:
        """List the colors in which a product comes, with their prices."""
        existing(self.products, product_id, "product", "search_products")
        rows = self._variants(product_id)[: int(limit)]
        return [{"variant_id": v.variant_id, "color": v.color, "price": money(v.cents)} for v in rows]

    @tool(read_only=True)
    def find_variant(self, product_id: t.ProductId, color: t.Color) -> t.VariantRef:
        """Find the variant of a product in one color."""
        existing(self.products, product_id, "product", "search_products")
        wanted = plain(color, "color").casefold()
        row = next((v for v in self._variants(product_id) if v.color == wanted), None)
        if row is None:
            raise ToolError("not_found", "the product does not come in this color", "list_variants shows its colors.")
        return {"variant_id": row.variant_id, "price": money(row.cents)}

    @tool(read_only=True)
    def get_variant(self, variant_id: t.VariantId) -> t.VariantShown:
        """Show a variant: its product, color, price and how many pieces are in stock."""
        row = existing(self.variants, variant_id, "variant", "list_variants")
        return {
            "variant_id": row.variant_id,
            "product_id": row.product_id,
            "color": row.color,
            "price": money(row.cents),
            "stock": row.stock,
        }

    @tool(read_only=True)
    def list_reviews(self, product_id: t.ProductId, limit: Limit = 5) -> list[t.ReviewShown]:
        """List the reviews of a product, best first."""
        existing(self.products, product_id, "product", "search_products")
        rows = sorted(self.reviews.where(lambda r: r.product_id == product_id), key=lambda r: (-r.stars, r.author))
        return [
            {"author": r.author, "stars": r.stars, "text": r.text} if r.text else {"author": r.author, "stars": r.stars}
            for r in rows[: int(limit)]
        ]

    @tool()
    def write_review(self, product_id: t.ProductId, stars: t.Stars, text: t.Comment = "") -> t.Rated:
        """Review a product that was delivered to the user; answers with its new rating."""
        existing(self.products, product_id, "product", "search_products")
        said = plain(text, "comment") if text else ""
        had = any(
            self.variants[line.variant_id].product_id == product_id
            for order in self.orders.values()
            if order.status == "delivered"
            for line in order.lines
        )
        if not had:
            raise ToolError("denied", "only products that were delivered can be reviewed", "Use list_orders to see what was.")
        author = self.basket["cart"].user
        key = f"{product_id}/{author}"
        if key in self.reviews:
            raise ToolError("conflict", "the user has reviewed this product already", "Use list_reviews to see it.")
        self.reviews.put(key, Review(product_id, author, int(stars), said))
        return {"product_id": product_id, "rating": self._rating(product_id)}

    # -- cart and coupons ------------------------------------------------------------------------

    @tool(read_only=True)
    def list_cart_items(self, limit: Limit = 5) -> list[t.CartItem]:
        """List what is in the cart, with quantities and prices per piece."""
        lines = sorted(self.cart.values(), key=lambda line: line.variant_id)[: int(limit)]
        return [
            {
                "variant_id": line.variant_id,
                "name": self._title(line.variant_id),
                "in_cart": line.quantity,
                "price": money(self.variants[line.variant_id].cents),
            }
            for line in lines
        ]

    @tool(read_only=True)
    def get_cart(self) -> t.CartTotals:
        """Show the cart's number of items, subtotal, discount and total, shipping left out."""
        subtotal, discount = self._cart_sums()
        return {
            "items": len(self.cart),
            "subtotal": money(subtotal),
            "discount": money(discount),
            "total": money(subtotal - discount),
        }

    @tool()
    def add_to_cart(self, variant_id: t.VariantId, quantity: t.Quantity = 1) -> t.CartSum:
        """Put pieces of a variant into the cart, in addition to what is there."""
        line = self.cart.get(variant_id)
        together = int(quantity) + (line.quantity if line else 0)
        self._offered(variant_id, together)
        self.cart.put(variant_id, CartLine(variant_id, together))
        return self._cart_shown()

    @tool(idempotent=True)
    def set_quantity(self, variant_id: t.VariantId, quantity: t.Quantity) -> t.CartSum:
        """Set how many pieces of a variant that is in the cart are wanted."""
        self._cart_line(variant_id)
        self._offered(variant_id, int(quantity))
        self.cart.update(variant_id, quantity=int(quantity))
        return self._cart_shown()

    @tool()
    def remove_from_cart(self, variant_id: t.VariantId) -> t.CartSum:
        """Take a variant out of the cart."""
        self.cart.remove(self._cart_line(variant_id).variant_id)
        return self._cart_shown()

    @tool(read_only=True)
    def list_coupons(self, limit: Limit = 5) -> list[t.CouponShown]:
        """List the coupons that are not used up, the next to expire first."""
        rows = sorted((c for c in self.coupons.values() if not c.order_id), key=lambda c: (c.expires, c.coupon_id))
        return [coupon_shown(c) for c in rows[: int(limit)]]

    @tool(read_only=True)
    def find_coupon(self, name: t.KnownName) -> t.CouponShown:
        """Find a coupon by its name."""
        return coupon_shown(named(self.coupons.values(), name, "coupon", "list_coupons"))

    @tool(idempotent=True)
    def apply_coupon(self, coupon_id: t.CouponId) -> t.CartTotals:
        """Put a coupon on the cart, instead of any other; one that is expired, used or below its minimum is refused."""
        coupon = existing(self.coupons, coupon_id, "coupon", "list_coupons")
        if coupon.order_id:
            raise ToolError("wrong_state", "the coupon is used up", "list_coupons shows the others.")
        if coupon.expires < self._today():
            raise ToolError("wrong_state", f"the coupon expired on {coupon.expires}", "list_coupons shows the others.")
        if self._cart_sums()[0] < coupon.min_cents:
            raise ToolError("insufficient", f"the cart is below {money(coupon.min_cents)}", "Use add_to_cart first.")
        self.basket.update("cart", coupon_id=coupon_id)
        return self.get_cart()

    # -- wishlists -------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_wishlists(self, limit: Limit = 5) -> list[t.WishlistShown]:
        """List the user's wishlists."""
        return [wishlist_shown(w) for w in list(self.wishlists.values())[: int(limit)]]

    @tool(read_only=True)
    def find_wishlist(self, name: t.KnownName) -> t.WishlistShown:
        """Find a wishlist by its name."""
        return wishlist_shown(named(self.wishlists.values(), name, "wishlist", "list_wishlists"))

    @tool(read_only=True)
    def list_wishlist_items(self, wishlist_id: t.WishlistId, limit: Limit = 5) -> list[t.ProductRow]:
        """List the products on a wishlist, cheapest first."""
        row = existing(self.wishlists, wishlist_id, "wishlist", "list_wishlists")
        return self._shown(self._ranked((self.products[p] for p in row.products), "price")[: int(limit)])

    @tool()
    def create_wishlist(self, name: t.NewName, product_ids: t.Products) -> t.WishlistShown:
        """Make a wishlist with some products on it, or none."""
        name = unused(self.wishlists.values(), name, "wishlist")
        for product_id in product_ids:
            existing(self.products, product_id, "product", "search_products")
        key = self.wishlists.fresh("wish", name)
        return wishlist_shown(self.wishlists.put(key, Wishlist(key, name, tuple(sorted(set(product_ids))))))

    @tool()
    def add_to_wishlist(self, wishlist_id: t.WishlistId, product_id: t.ProductId) -> t.WishlistShown:
        """Put a product on a wishlist."""
        row = existing(self.wishlists, wishlist_id, "wishlist", "list_wishlists")
        existing(self.products, product_id, "product", "search_products")
        if product_id in row.products:
            raise ToolError("conflict", "the product is on this wishlist already", "Choose another product or wishlist.")
        return wishlist_shown(self.wishlists.update(wishlist_id, products=tuple(sorted((*row.products, product_id)))))

    @tool()
    def remove_from_wishlist(self, wishlist_id: t.WishlistId, product_id: t.ProductId) -> t.WishlistShown:
        """Take a product off a wishlist."""
        row = existing(self.wishlists, wishlist_id, "wishlist", "list_wishlists")
        if product_id not in row.products:
            raise ToolError("not_found", "the product is not on this wishlist", "list_wishlist_items shows what is.")
        return wishlist_shown(self.wishlists.update(wishlist_id, products=tuple(p for p in row.products if p != product_id)))

    # -- addresses, payment, gift cards ----------------------------------------------------------

    @tool(read_only=True)
    def list_addresses(self, limit: Limit = 5) -> list[t.AddressRow]:
        """List the addresses that orders can be shipped to."""
        rows = list(self.addresses.values())[: int(limit)]
        return [{"address_id": a.address_id, "name": a.name, "city": a.city} for a in rows]

    @tool(read_only=True)
    def find_address(self, city: t.City) -> t.AddressShown:
        """Find the user's address in a city."""
        wanted = plain(city, "city").casefold()
        row = next((a for a in self.addresses.values() if a.city.casefold() == wanted), None)
        if row is None:
            raise ToolError("not_found", f"there is no address in {city.strip()[:40]!r}", "list_addresses shows the cities.")
        return {"address_id": row.address_id, "name": row.name, "street": row.street, "city": row.city}

    @tool()
    def add_address(self, address: t.NewAddress) -> t.AddressRow:
        """Add an address in a city where there is none yet."""
        name, street, city = (plain(address[part], part) for part in ("name", "street", "city"))
        if any(a.city.casefold() == city.casefold() for a in self.addresses.values()):
            raise ToolError("conflict", "there is an address in this city already", "Use find_address.")
        key = self.addresses.fresh("addr", name, street, city)
        self.addresses.put(key, Address(key, name, street, city, zone_of(city)))
        return {"address_id": key, "name": name, "city": city}

    @tool(read_only=True)
    def list_payment_methods(self, limit: Limit = 5) -> list[t.MethodShown]:
        """List the user's payment methods with the amounts available on them."""
        return [method_shown(m) for m in list(self.methods.values())[: int(limit)]]

    @tool(read_only=True)
    def find_payment_method(self, name: t.KnownName) -> t.MethodShown:
        """Find a payment method by its name."""
        return method_shown(named(self.methods.values(), name, "payment method", "list_payment_methods"))

    @tool(read_only=True)
    def list_gift_cards(self, limit: Limit = 5) -> list[t.GiftCardShown]:
        """List the user's gift cards by who gave them, with balances."""
        return [gift_card_shown(g) for g in list(self.gift_cards.values())[: int(limit)]]

    @tool(read_only=True)
    def find_gift_card(self, name: t.KnownName) -> t.GiftCardShown:
        """Find a gift card by the name of who gave it."""
        return gift_card_shown(named(self.gift_cards.values(), name, "gift card", "list_gift_cards"))

    @tool()
    def top_up_gift_card(self, gift_card_id: t.GiftCardId, method_id: t.MethodId, amount: Amount) -> t.ToppedUp:
        """Load an amount from a payment method onto a gift card."""
        card, added = existing(self.gift_cards, gift_card_id, "gift card", "list_gift_cards"), cents(amount)
        method = self._method_pays(method_id, added)
        self.methods.update(method_id, cents=method.cents - added)
        changed = self.gift_cards.update(gift_card_id, cents=card.cents + added)
        return {"gift_card_id": gift_card_id, "balance": money(changed.cents)}

    # -- orders ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def quote_shipping(self, address_id: t.AddressId, speed: t.Speed = "standard") -> t.ShippingQuote:
        """Tell what it costs to ship the cart to an address, and when it would arrive."""
        zone = existing(self.addresses, address_id, "address", "list_addresses").zone
        subtotal, discount = self._cart_sums()
        return {"price": money(shipping_cents(speed, zone, subtotal - discount)), "arrives": self._arrival(speed)}

    @tool()
    def checkout(
        self,
        address_id: t.AddressId,
        method_id: t.MethodId,
        speed: t.Speed = "standard",
        gift_card_id: t.PaysFirst = None,
    ) -> t.Placed:
        """Order what is in the cart. A gift card, if given, pays first; the rest is charged to the payment method."""
        zone = existing(self.addresses, address_id, "address", "list_addresses").zone
        if not len(self.cart):
            raise ToolError("wrong_state", "the cart is empty", "Use add_to_cart first.")
        lines = sorted(self.cart.values(), key=lambda line: line.variant_id)
        costs = [self._offered(line.variant_id, line.quantity).cents * line.quantity for line in lines]
        subtotal, discount = self._cart_sums()
        shipping = shipping_cents(speed, zone, subtotal - discount)
        total = subtotal - discount + shipping
        gift = existing(self.gift_cards, gift_card_id, "gift card", "list_gift_cards") if gift_card_id else None
        gifted = min(total, gift.cents) if gift else 0
        method = self._method_pays(method_id, total - gifted)
        bought = tuple(
            OrderLine(line.variant_id, line.quantity, paid, 0)
            for line, paid in zip(lines, shares(costs, discount), strict=True)
        )
        key = self.orders.fresh("ord", [(b.variant_id, b.quantity) for b in bought], address_id, method_id)
        card = gift_card_id or ""
        order = Order(
            key, "placed", address_id, method_id, card, bought, shipping, speed, total - gifted, gifted, self._today(), ""
        )
        self._reserve(self.orders.put(key, order), stock=-1, reserved=1)
        self.methods.update(method_id, cents=method.cents - order.charged)
        if gift:
            self.gift_cards.update(card, cents=gift.cents - gifted)
        if discount:
            self.coupons.update(self.basket["cart"].coupon_id, order_id=key)
        for line in lines:
            self.cart.remove(line.variant_id)
        self.basket.update("cart", coupon_id="")
        return {"order_id": key, "total": money(total), "charged": money(order.charged)}

    @tool(read_only=True)
    def list_orders(self, status: t.AnyStatus = "any", limit: Limit = 5) -> list[t.OrderRow]:
        """List the user's orders, the latest first."""
        rows = sorted(self.orders.where(lambda o: status in ("any", o.status)), key=lambda o: o.order_id)
        rows = sorted(rows, key=lambda o: o.placed, reverse=True)[: int(limit)]
        return [{"order_id": o.order_id, "status": o.status, "total": money(o.total), "placed": o.placed} for o in rows]

    @tool(read_only=True)
    def get_order(self, order_id: t.OrderId) -> t.OrderShown:
        """Show an order: status, total, first item, and shipment once there is one."""
        row = self._order(order_id)
        first = row.lines[0].variant_id
        shown: t.OrderShown = {
            "order_id": row.order_id,
            "status": row.status,
            "total": money(row.total),
            "product_id": self.variants[first].product_id,
            "variant_id": first,
        }
        if row.shipment_id:
            shown["shipment_id"] = row.shipment_id
        return shown

    @tool(read_only=True)
    def find_order(self, product_id: t.ProductId) -> t.OrderFound:
        """Find the latest order that has a product in it."""
        existing(self.products, product_id, "product", "search_products")
        rows = [o for o in self.orders.values() if any(self.variants[i.variant_id].product_id == product_id for i in o.lines)]
        if not rows:
            raise ToolError("not_found", "no order has this product in it", "list_orders shows the orders.")
        row = max(rows, key=lambda o: (o.placed, o.order_id))
        return {"order_id": row.order_id, "status": row.status}

    @tool(read_only=True)
    def list_order_items(self, order_id: t.OrderId, limit: Limit = 5) -> list[t.OrderItem]:
        """List the items of an order, with what was paid for them."""
        return [
            {
                "variant_id": line.variant_id,
                "name": self._title(line.variant_id),
                "quantity": line.quantity,
                "paid": money(line.cents),
            }
            for line in self._order(order_id).lines[: int(limit)]
        ]

    @tool(destructive=True)
    def cancel_order(self, order_id: t.OrderId) -> t.Cancelled:
        """Cancel an order that is placed or packed; all of it is refunded."""
        order = self._order(order_id, "placed", "packed")
        self._reserve(order, stock=1, reserved=-1)
        self._pay_back(replace(order, status="cancelled"), order.total)
        for coupon in self.coupons.where(lambda c: c.order_id == order_id):
            self.coupons.update(coupon.coupon_id, order_id="")
        return {"order_id": order_id, "status": "cancelled", "refund": money(order.total)}

    @tool(idempotent=True)
    def change_order_address(self, order_id: t.OrderId, address_id: t.AddressId) -> t.Readdressed:
        """Send an order that is only placed to another address, at the same price."""
        order = self._order(order_id, "placed")
        existing(self.addresses, address_id, "address", "list_addresses")
        if order.address_id == address_id:
            raise ToolError("conflict", "the order goes to this address already", "Choose another address.")
        self.orders.update(order_id, address_id=address_id)
        return {"order_id": order_id, "address_id": address_id}

    @tool()
    def pack_order(self, order_id: t.OrderId) -> t.OrderChanged:
        """Mark a placed order as packed."""
        self._order(order_id, "placed")
        return {"order_id": order_id, "status": self.orders.update(order_id, status="packed").status}

    @tool()
    def ship_order(self, order_id: t.OrderId, depot_id: t.DepotId) -> t.Shipped:
        """Hand a packed order over to a depot; answers with its shipment."""
        order = self._order(order_id, "packed")
        existing(self.depots, depot_id, "depot", "list_depots")
        key = self.shipments.fresh("shp", order_id)
        carriers = sorted({s.carrier for s in self.shipments.values()}) or [CARRIERS[0]]
        carrier = carriers[int(order_id[-1]) % len(carriers)]
        self._reserve(order, stock=0, reserved=-1)
        self.orders.update(order_id, status="shipped", shipment_id=key)
        row = self.shipments.put(key, Shipment(key, order_id, depot_id, carrier, "in_transit", self._arrival(order.speed)))
        return {"shipment_id": key, "eta": row.eta}

    @tool()
    def confirm_delivery(self, order_id: t.OrderId) -> t.OrderChanged:
        """Mark a shipped order as delivered."""
        order = self._order(order_id, "shipped")
        self.shipments.update(order.shipment_id, status="delivered")
        return {"order_id": order_id, "status": self.orders.update(order_id, status="delivered").status}

    # -- shipments and returns -------------------------------------------------------------------

    @tool(read_only=True)
    def track_shipment(self, shipment_id: t.ShipmentId) -> t.ShipmentShown:
        """Show a shipment's status, carrier and expected day of arrival."""
        row = existing(self.shipments, shipment_id, "shipment", "get_order")
        return {
            "shipment_id": row.shipment_id,
            "order_id": row.order_id,
            "status": row.status,
            "carrier": row.carrier,
            "eta": row.eta,
        }

    @tool(read_only=True)
    def locate_shipment(self, shipment_id: t.ShipmentId) -> t.Located:
        """Tell which depot handles a shipment."""
        row = existing(self.shipments, shipment_id, "shipment", "get_order")
        return {"depot_id": row.depot_id, "shipment_id": row.shipment_id}

    @tool(read_only=True)
    def list_depots(self, limit: Limit = 5) -> list[t.DepotRow]:
        """List the depots that ship orders."""
        rows = list(self.depots.values())[: int(limit)]
        return [{"depot_id": d.depot_id, "city": d.city} for d in rows]

    @tool(read_only=True)
    def find_depot(self, city: t.City) -> t.DepotRow:
        """Find the depot in a city."""
        wanted = plain(city, "city").casefold()
        row = next((d for d in self.depots.values() if d.city.casefold() == wanted), None)
        if row is None:
            raise ToolError("not_found", f"there is no depot in {city.strip()[:40]!r}", "list_depots shows the cities.")
        return {"depot_id": row.depot_id, "city": row.city}

    @tool(read_only=True)
    def get_depot(self, depot_id: t.DepotId) -> t.DepotShown:
        """Show a depot's city and phone number."""
        row = existing(self.depots, depot_id, "depot", "list_depots")
        return {"depot_id": row.depot_id, "city": row.city, "phone": row.phone}

    @tool()
    def request_return(
        self, order_id: t.OrderId, variant_id: t.VariantId, reason: t.Reason, quantity: t.Quantity = 1
    ) -> t.ReturnOpened:
        """Ask to send back pieces of an item of a delivered order; receive_return pays the refund."""
        order = self._order(order_id, "delivered")
        line, pieces = self._line(order, variant_id), int(quantity)
        if line.returning + pieces > line.quantity:
            raise ToolError("insufficient", f"{line.quantity - line.returning} pieces can go back", "Return fewer pieces.")
        refund = refund_of(line, pieces)
        changed = replace(line, returning=line.returning + pieces)
        self.orders.update(order_id, lines=tuple(changed if i is line else i for i in order.lines))
        key = self.returns.fresh("ret", order_id, variant_id, line.returning)
        self.returns.put(key, Return(key, order_id, variant_id, pieces, refund, reason, "requested"))
        return {"return_id": key, "refund": money(refund)}

    @tool(read_only=True)
    def list_returns(self, limit: Limit = 5) -> list[t.ReturnShown]:
        """List the returns, with what they refund."""
        return [return_shown(r) for r in sorted(self.returns.values(), key=lambda r: r.return_id)[: int(limit)]]

    @tool(read_only=True)
    def find_return(self, order_id: t.OrderId) -> t.ReturnShown:
        """Find the return of an order, the one not refunded yet if there are several."""
        self._order(order_id)
        rows = self.returns.where(lambda r: r.order_id == order_id)
        if not rows:
            raise ToolError("not_found", "nothing of this order goes back", "list_returns shows the returns.")
        return return_shown(min(rows, key=lambda r: (r.status != "requested", r.return_id)))

    @tool()
    def receive_return(self, return_id: t.ReturnId) -> t.ReturnChanged:
        """Take in a requested return: its pieces are in stock again and its refund is paid."""
        row = existing(self.returns, return_id, "return", "list_returns")
        if row.status != "requested":
            raise ToolError("wrong_state", f"the return is {row.status}", "list_returns shows the open ones.")
        self._pay_back(self.orders[row.order_id], row.cents)
        self.variants.update(row.variant_id, stock=self.variants[row.variant_id].stock + row.quantity)
        return {"return_id": return_id, "status": self.returns.update(return_id, status="refunded").status}

    # -- how results are shown -------------------------------------------------------------------

    def _arrival(self, speed: str) -> str:
        return (self.now.date() + dt.timedelta(days=SHIPPING[speed][2])).isoformat()

    def _category(self, row: Category) -> t.CategoryShown:
        count = len(self.products.where(lambda p: p.category_id == row.category_id))
        return {"category_id": row.category_id, "name": row.name, "products": count}
