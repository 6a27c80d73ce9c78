"""Food delivery and one customer: restaurants, menus, a cart, orders on their way, couriers, refunds and ratings.

    with environment(["food_delivery"]).session(7) as session:
        session.call("find_restaurant", {"name": "Copper Spoon"})

An order is placed, accepted, cooking, out for delivery and delivered, as the session's time goes on: it passes in the wait
tools only. Cooked orders wait for a free courier. Portions and the money of an order are taken when it is placed; until the
restaurant cooks, a cancelled order gives all of it back.

Left out: other customers, and restaurants that refuse orders.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.servers import food_delivery_types as t
from tasks.servers.food_delivery_data import seed_rows
from tasks.servers.food_delivery_rows import (
    ACCEPTING,
    ACTIVE,
    CLAIM_WITHIN,
    RIDE,
    STARTING,
    Basket,
    CartLine,
    Clock,
    Courier,
    Dish,
    District,
    Favorite,
    FoodOrder,
    Option,
    OrderLine,
    Place,
    Promo,
    Purse,
    Rating,
    Restaurant,
    arrival,
    distance,
    fee_cents,
    refund_at_cancelling,
)
from tasks.servers.food_delivery_state import (
    WEEKDAYS,
    Kitchens,
    courier_shown,
    dish_rows,
    option_shown,
    place_shown,
    promo_shown,
)
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.shopping_rows import shares
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Amount, Limit, cents, money, plain
from tasks.servers.world import World


class FoodDelivery(Kitchens, Server):
    """The server; see the module's docstring."""

    name = "food_delivery"
    title = "Restaurants, menus, food orders and their couriers."

    clock: Table[Clock]
    purse: Table[Purse]
    districts: Table[District]
    restaurants: Table[Restaurant]
    dishes: Table[Dish]
    options: Table[Option]
    cart: Table[CartLine]
    basket: Table[Basket]
    promos: Table[Promo]
    places: Table[Place]
    couriers: Table[Courier]
    orders: Table[FoodOrder]
    ratings: Table[Rating]
    favorites: Table[Favorite]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- restaurants -----------------------------------------------------------------------------

    @tool(read_only=True)
    def list_restaurants(
        self, cuisine: t.AnyCuisine = "any", open_now: t.OpenNow = False, limit: Limit = 5
    ) -> list[t.RestaurantRow]:
        """List restaurants, the best rated first."""
        rows = self.restaurants.where(lambda r: cuisine in ("any", r.cuisine) and (not open_now or self._is_open(r)))
        return self._rows(self._ranked(rows)[: int(limit)])

    @tool(read_only=True)
    def find_restaurant(self, name: t.KnownName) -> t.RestaurantFound:
        """Find a restaurant by its name."""
        row = named(self.restaurants.values(), name, "restaurant", "list_restaurants")
        return {"restaurant_id": row.restaurant_id, "rating": self._rating(row.restaurant_id), "open": self._is_open(row)}

    @tool(read_only=True)
    def get_restaurant(self, restaurant_id: t.RestaurantId) -> t.RestaurantShown:
        """Show a restaurant: its cuisine, district, rating and smallest order."""
        row = self._restaurant(restaurant_id)
        return {
            "restaurant_id": row.restaurant_id,
            "name": row.name,
            "cuisine": row.cuisine,
            "district_id": row.district_id,
            "rating": self._rating(restaurant_id),
            "smallest_order": money(row.smallest),
        }

    @tool(read_only=True)
    def get_restaurant_hours(self, restaurant_id: t.RestaurantId) -> t.Hours:
        """Show when a restaurant opens and closes, its day off, and whether it is open now."""
        row = self._restaurant(restaurant_id)
        return {
            "restaurant_id": row.restaurant_id,
            "opens": f"{row.opens // 60:02d}:{row.opens % 60:02d}",
            "closes": f"{row.closes // 60:02d}:{row.closes % 60:02d}",
            "closed_on": WEEKDAYS[row.rest_day],
            "open": self._is_open(row),
        }

    @tool(read_only=True)
    def find_best_restaurant(self, cuisine: t.SomeCuisine, open_now: t.OpenNow = False) -> t.BestRestaurant:
        """Find the best rated restaurant of a cuisine."""
        rows = self.restaurants.where(lambda r: r.cuisine == cuisine and (not open_now or self._is_open(r)))
        if not rows:
            raise ToolError("not_found", f"there is no such {cuisine} restaurant", "list_restaurants shows others.")
        best = self._ranked(rows)[0].restaurant_id
        return {"restaurant_id": best, "best_rating": self._rating(best)}

    @tool(read_only=True)
    def find_nearest_restaurant(self, address_id: t.PlaceId, cuisine: t.AnyCuisine = "any") -> t.NearestRestaurant:
        """Find the restaurant nearest to an address that is open now and delivers there, and its distance in km."""
        target = self.districts[self._place(address_id).district_id]
        near = [
            (kilometers, r.name, r.restaurant_id)
            for r in self.restaurants.values()
            if cuisine in ("any", r.cuisine)
            and self._is_open(r)
            and (kilometers := distance(self.districts[r.district_id], target)) <= r.reach
        ]
        if not near:
            raise ToolError("not_found", "no open restaurant delivers there", "Use wait_minutes, or another address.")
        kilometers, _, nearest = min(near)
        return {"restaurant_id": nearest, "distance": kilometers}

    @tool(read_only=True)
    def list_restaurant_ratings(self, restaurant_id: t.RestaurantId, limit: Limit = 5) -> list[t.RatingShown]:
        """List what people say of a restaurant, the best first."""
        self._restaurant(restaurant_id)
        rows = self.ratings.where(lambda r: r.restaurant_id == restaurant_id)
        return [
            {"author": r.author, "stars": r.stars, "comment": r.comment}
            if r.comment
            else {"author": r.author, "stars": r.stars}
            for r in sorted(rows, key=lambda r: (-r.stars, r.author, r.comment))[: int(limit)]
        ]

    # -- favorites -------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_favorite_restaurants(self, limit: Limit = 5) -> list[t.RestaurantRow]:
        """List the user's favorite restaurants, the best rated first."""
        return self._rows(self._ranked(self.restaurants[key] for key in self.favorites)[: int(limit)])

    @tool()
    def add_favorite_restaurant(self, restaurant_id: t.RestaurantId) -> t.Favorites:
        """Make a restaurant one of the user's favorites."""
        self._restaurant(restaurant_id)
        if restaurant_id in self.favorites:
            raise ToolError("conflict", "it is a favorite already", "list_favorite_restaurants shows them.")
        self.favorites.put(restaurant_id, Favorite(restaurant_id))
        return {"restaurant_id": restaurant_id, "favorites": len(self.favorites)}

    @tool()
    def remove_favorite_restaurant(self, restaurant_id: t.RestaurantId) -> t.Favorites:
        """Take a restaurant off the user's favorites."""
        existing(self.favorites, restaurant_id, "such favorite:", "list_favorite_restaurants")
        self.favorites.remove(restaurant_id)
        return {"restaurant_id": restaurant_id, "favorites": len(self.favorites)}

    # -- menus -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_menu(self, restaurant_id: t.RestaurantId, section: t.AnySection = "any", limit: Limit = 5) -> list[t.DishRow]:
        """List the dishes of a restaurant, the cheapest first."""
        self._restaurant(restaurant_id)
        return dish_rows([d for d in self._menu(restaurant_id) if section in ("any", d.section)][: int(limit)])

    @tool(read_only=True)
    def find_dish(self, name: t.KnownName) -> t.DishFound:
        """Find a dish of any restaurant by its name."""
        row = named(self.dishes.values(), name, "dish", "search_dishes")
        return {"dish_id": row.dish_id, "restaurant_id": row.restaurant_id, "price": money(row.cents)}

    @tool(read_only=True)
    def get_dish(self, dish_id: t.DishId) -> t.DishShown:
        """Show a dish: its restaurant, price, and how many portions are left."""
        row = self._dish(dish_id)
        return {
            "dish_id": row.dish_id,
            "restaurant_id": row.restaurant_id,
            "name": row.name,
            "price": money(row.cents),
            "vegetarian": row.vegetarian,
            "portions": row.portions,
        }

    @tool(read_only=True)
    def search_dishes(self, filter: t.DishFilter, limit: Limit = 5) -> list[t.DishRow]:
        """List the dishes of all restaurants that satisfy the filter and are not sold out, the cheapest first."""
        most = filter.get("max_price", float("inf"))

        def fits(dish: Dish) -> bool:
            place = self.restaurants[dish.restaurant_id]
            return (
                dish.portions > 0
                and money(dish.cents) <= most
                and filter.get("cuisine", place.cuisine) == place.cuisine
                and filter.get("section", dish.section) == dish.section
                and (not filter.get("vegetarian") or dish.vegetarian)
                and (not filter.get("open_now") or self._is_open(place))
            )

        return dish_rows(sorted(self.dishes.where(fits), key=lambda d: (d.cents, d.name))[: int(limit)])

    @tool(read_only=True)
    def find_cheapest_dish(self, restaurant_id: t.RestaurantId, section: t.AnySection = "any") -> t.CheapestDish:
        """Find the cheapest dish of a restaurant that is not sold out."""
        self._restaurant(restaurant_id)
        rows = [d for d in self._menu(restaurant_id) if d.portions and section in ("any", d.section)]
        if not rows:
            raise ToolError("not_found", "there is no such dish today", "list_menu shows the restaurant's dishes.")
        return {"dish_id": rows[0].dish_id, "lowest_price": money(rows[0].cents)}

    @tool(read_only=True)
    def list_dish_options(self, dish_id: t.DishId, limit: Limit = 5) -> list[t.OptionShown]:
        """List the sides and toppings of a dish and what they cost."""
        self._dish(dish_id)
        rows = sorted(self.options.where(lambda o: o.dish_id == dish_id), key=lambda o: (o.kind, o.name))
        return [option_shown(o) for o in rows[: int(limit)]]

    @tool(read_only=True)
    def find_dish_option(self, dish_id: t.DishId, name: t.KnownName) -> t.OptionShown:
        """Find a side or topping of a dish by its name."""
        self._dish(dish_id)
        rows = self.options.where(lambda o: o.dish_id == dish_id)
        return option_shown(named(rows, name, "option of this dish", "list_dish_options"))

    # -- the cart --------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_meal_cart_items(self, limit: Limit = 5) -> list[t.LineShown]:
        """List what is in the cart, with prices per portion, options included."""
        lines = sorted(self.cart.values(), key=lambda c: c.line_id)[: int(limit)]
        return [
            {
                "line_id": c.line_id,
                "name": self.dishes[c.dish_id].name,
                "in_cart": c.quantity,
                "price": money(self._piece(c.dish_id, c.options)),
            }
            for c in lines
        ]

    @tool(read_only=True)
    def get_meal_cart(self) -> t.CartTotals:
        """Show the cart's restaurant, dishes, discount and total, the delivery fee left out."""
        subtotal, discount = self._cart_sums()
        totals: t.CartTotals = {
            "dishes": sum(c.quantity for c in self.cart.values()),
            "subtotal": money(subtotal),
            "discount": money(discount),
            "total": money(subtotal - discount),
        }
        return {"restaurant_id": self._cart_restaurant, **totals} if self._cart_restaurant else totals

    @tool()
    def add_dish_to_cart(self, dish_id: t.DishId, quantity: t.Portions = 1, option_ids: t.Options = []) -> t.CartAdded:  # noqa: B006
        """Put portions of a dish into the cart, with options. All dishes of a cart come from one restaurant."""
        self._dish(dish_id)
        line = self._add(dish_id, self._chosen(dish_id, option_ids), int(quantity))
        return {"line_id": line.line_id, "in_cart": line.quantity, "cart_total": self._cart_sum()["cart_total"]}

    @tool(idempotent=True)
    def set_portions(self, line_id: t.LineId, quantity: t.Portions) -> t.CartSum:
        """Set how many portions of a dish that is in the cart are wanted."""
        line = self._line(line_id)
        self._check_portions(line.dish_id, self._in_cart(line.dish_id, without=line_id) + int(quantity))
        self.cart.update(line_id, quantity=int(quantity))
        return self._cart_sum()

    @tool()
    def remove_dish_from_cart(self, line_id: t.LineId) -> t.CartSum:
        """Take a dish out of the cart."""
        self.cart.remove(self._line(line_id).line_id)
        return self._cart_sum()

    @tool(destructive=True)
    def clear_meal_cart(self) -> t.CartSum:
        """Take everything out of the cart, its promo code too."""
        if not len(self.cart):
            raise ToolError("wrong_state", "the cart is empty", "Nothing is needed.")
        self._empty_cart()
        return self._cart_sum()

    # -- promo codes -----------------------------------------------------------------------------

    @tool(read_only=True)
    def list_promo_codes(self, limit: Limit = 5) -> list[t.PromoShown]:
        """List the user's promo codes that are not used up, the next to expire first."""
        rows = sorted(self.promos.where(lambda p: not p.order_id), key=lambda p: (p.expires, p.promo_id))
        return [promo_shown(p) for p in rows[: int(limit)]]

    @tool(read_only=True)
    def find_promo_code(self, name: t.KnownName) -> t.PromoShown:
        """Find a promo code by its word."""
        return promo_shown(named(self.promos.values(), name, "promo code", "list_promo_codes"))

    @tool(idempotent=True)
    def apply_promo_code(self, promo_id: t.PromoId) -> t.CartSum:
        """Put a promo code on the cart, instead of any other; one that is expired, used or below its minimum is refused."""
        row = existing(self.promos, promo_id, "promo code", "list_promo_codes")
        if row.order_id:
            raise ToolError("wrong_state", "the code is used up", "list_promo_codes shows the others.")
        if row.expires < self._date(self._minute):
            raise ToolError("wrong_state", f"the code expired on {row.expires}", "list_promo_codes shows the others.")
        if self._cart_sums()[0] < row.min_cents:
            raise ToolError("insufficient", f"the cart is below {money(row.min_cents)}", "Use add_dish_to_cart first.")
        self.basket.update("cart", promo_id=promo_id)
        return self._cart_sum()

    @tool()
    def drop_promo_code(self) -> t.CartSum:
        """Take the promo code off the cart."""
        if not self.basket["cart"].promo_id:
            raise ToolError("wrong_state", "there is no promo code on the cart", "Nothing is needed.")
        self.basket.update("cart", promo_id="")
        return self._cart_sum()

    # -- addresses and money ---------------------------------------------------------------------

    @tool(read_only=True)
    def list_districts(self, limit: Limit = 5) -> list[t.DistrictShown]:
        """List the districts of the city with their numbers of restaurants."""
        return [self._district(d) for d in sorted(self.districts.values(), key=lambda d: d.name)[: int(limit)]]

    @tool(read_only=True)
    def find_district(self, name: t.KnownName) -> t.DistrictShown:
        """Find a district of the city by its name."""
        return self._district(named(self.districts.values(), name, "district", "list_districts"))

    def _district(self, row: District) -> t.DistrictShown:
        count = sum(r.district_id == row.district_id for r in self.restaurants.values())
        return {"district_id": row.district_id, "name": row.name, "restaurants": count}

    @tool(read_only=True)
    def list_delivery_addresses(self, limit: Limit = 5) -> list[t.PlaceShown]:
        """List the places where the user has food brought to."""
        return [place_shown(p) for p in sorted(self.places.values(), key=lambda p: p.name)[: int(limit)]]

    @tool(read_only=True)
    def find_delivery_address(self, name: t.KnownName) -> t.PlaceShown:
        """Find one of the user's delivery addresses by its name."""
        return place_shown(named(self.places.values(), name, "delivery address", "list_delivery_addresses"))

    @tool()
    def add_delivery_address(self, name: t.NewName, address: t.NewPlace) -> t.PlaceDone:
        """Add a place where the user has food brought to."""
        name, street = unused(self.places.values(), name, "delivery address"), plain(address["street"], "street")
        existing(self.districts, address["district_id"], "district", "list_districts")
        key = self.places.fresh("dad", name)
        self.places.put(key, Place(key, name, street, address["district_id"]))
        return {"address_id": key, "district_id": address["district_id"]}

    @tool(destructive=True)
    def remove_delivery_address(self, address_id: t.PlaceId) -> t.Removed:
        """Delete a delivery address; not while an order is on its way there."""
        self._place(address_id)
        if any(order.address_id == address_id for order in self._active()):
            raise ToolError(
                "wrong_state", "an order is on its way there", "Use redirect_food_order or cancel_food_order first."
            )
        self.places.remove(address_id)
        return {"address_id": address_id, "addresses_left": len(self.places)}

    @tool(read_only=True)
    def quote_delivery(self, restaurant_id: t.RestaurantId, address_id: t.PlaceId) -> t.DeliveryQuote:
        """What bringing a small order to an address costs, its distance in km, and when a quick dish would be there."""
        row, place = self._restaurant(restaurant_id), self._place(address_id)
        kilometers = self._kilometers(row, place)
        quickest = min(d.minutes for d in self._menu(restaurant_id))
        start = self._cooking_from(row, quickest, kilometers, self._minute + ACCEPTING + STARTING, None)
        there = self._time(start + quickest + RIDE * kilometers)
        return {"fee": money(fee_cents(row, kilometers, 0)), "distance": kilometers, "arrives": there}

    @tool(read_only=True)
    def get_meal_wallet(self) -> t.MealWallet:
        """Show how much money the user has for food."""
        return {"wallet": money(self.purse["purse"].cents)}

    @tool()
    def top_up_meal_wallet(self, amount: Amount) -> t.MealWallet:
        """Bring money into the wallet."""
        value, row = cents(amount), self.purse["purse"]
        self.purse.update("purse", cents=row.cents + value, topped_up=row.topped_up + value)
        return self.get_meal_wallet()

    # -- orders ----------------------------------------------------------------------------------

    @tool()
    def place_food_order(self, address_id: t.PlaceId, at: t.When = None) -> t.FoodOrderPlaced:
        """Order what is in the cart and pay from the wallet. The restaurant must be open when it cooks, and deliver there."""
        if not len(self.cart):
            raise ToolError("wrong_state", "the cart is empty", "Use add_dish_to_cart first.")
        row, place = self.restaurants[self._cart_restaurant], self._place(address_id)
        subtotal, discount = self._cart_sums()
        if subtotal < row.smallest:
            raise ToolError("insufficient", f"{row.name} takes orders from {money(row.smallest)}", "Use add_dish_to_cart.")
        kilometers = self._kilometers(row, place)
        cart = sorted(self.cart.values(), key=lambda c: (c.dish_id, c.options))
        for line in cart:
            self._check_portions(line.dish_id, self._in_cart(line.dish_id))
        minutes = max(self.dishes[line.dish_id].minutes for line in cart)
        start = self._cooking_from(row, minutes, kilometers, self._minute + ACCEPTING + STARTING, at)
        paid = shares([self._piece(c.dish_id, c.options) * c.quantity for c in cart], discount)
        lines = tuple(OrderLine(c.dish_id, c.options, c.quantity, p) for c, p in zip(cart, paid, strict=True))
        fee = fee_cents(row, kilometers, sum(paid))
        promo = self.basket["cart"].promo_id if discount else ""
        key = self.orders.fresh("fo", [(c.dish_id, c.options, c.quantity) for c in cart], address_id, self._minute)
        order = FoodOrder(
            key,
            row.restaurant_id,
            address_id,
            "placed",
            lines,
            fee,
            promo,
            self._minute,
            start,
            minutes,
            kilometers,
            start - STARTING,
        )
        self._pay(order.total)
        self._stock(lines, -1)
        if promo:
            self.promos.update(promo, order_id=key)
        self._empty_cart()
        self.orders.put(key, order)
        return {"food_order_id": key, "total": money(order.total), "arrives": self._time(arrival(order))}

    @tool(read_only=True)
    def list_food_orders(self, status: t.AnyStatus = "any", limit: Limit = 5) -> list[t.FoodOrderRow]:
        """List the user's food orders, the newest first."""
        rows = self.orders.where(lambda o: status in ("any", o.status))
        return [
            {
                "food_order_id": o.food_order_id,
                "restaurant_id": o.restaurant_id,
                "status": o.status,
                "total": money(o.total),
                "placed": self._date(o.placed),
            }
            for o in sorted(rows, key=lambda o: (-o.placed, o.food_order_id))[: int(limit)]
        ]

    @tool(read_only=True)
    def find_food_order(self, restaurant_id: t.RestaurantId) -> t.FoodOrderFound:
        """Find the user's latest order from a restaurant."""
        self._restaurant(restaurant_id)
        rows = self.orders.where(lambda o: o.restaurant_id == restaurant_id)
        if not rows:
            raise ToolError("not_found", "the user ordered nothing there", "list_food_orders shows all orders.")
        row = max(rows, key=lambda o: (o.placed, o.food_order_id))
        return {"food_order_id": row.food_order_id, "status": row.status}

    @tool(read_only=True)
    def get_food_order(self, food_order_id: t.FoodOrderId) -> t.FoodOrderShown:
        """Show an order: its restaurant, state and total, its courier if it has one, and when it arrives."""
        return self._order_shown(self._order(food_order_id))

    @tool(read_only=True)
    def list_food_order_dishes(self, food_order_id: t.FoodOrderId, limit: Limit = 5) -> list[t.OrderedDish]:
        """List the dishes of an order and what was paid for them."""
        return [
            {
                "dish_id": line.dish_id,
                "name": self.dishes[line.dish_id].name,
                "quantity": line.quantity,
                "paid": money(line.cents),
            }
            for line in self._order(food_order_id).lines[: int(limit)]
        ]

    @tool()
    def wait_minutes(self, minutes: t.Minutes) -> t.Waited:
        """Let time pass; orders move on, restaurants open and close. Answers with the time and how many orders moved on."""
        moved = self._pass_time(self._minute + int(minutes))
        return {"time": self._time(self._minute), "orders_changed": len(moved)}

    @tool()
    def wait_for_food_order(self, food_order_id: t.FoodOrderId) -> t.Moved:
        """Let time pass until an order takes its next step: accepted, cooking, out for delivery, delivered."""
        before = self._order(food_order_id, *ACTIVE)
        while self.orders[food_order_id].status == before.status:
            self._pass_time(self.orders[food_order_id].due)
        after = self.orders[food_order_id]
        return {"food_order_id": food_order_id, "status": after.status, "time": self._time(self._minute)}

    @tool(destructive=True)
    def cancel_food_order(self, food_order_id: t.FoodOrderId) -> t.FoodOrderCancelled:
        """Cancel an order. All money comes back until it is cooking, then the fee and half; not once it is out for delivery."""
        row = self._order(food_order_id, "placed", "accepted", "cooking")
        refund = refund_at_cancelling(row)
        self._pay(-refund)
        if row.status != "cooking":
            self._stock(row.lines, 1)
            if row.promo_id:
                self.promos.update(row.promo_id, order_id="")
        self.orders.update(food_order_id, status="cancelled", refunded=refund, due=self._minute)
        return {"food_order_id": food_order_id, "status": "cancelled", "refund": money(refund)}

    @tool()
    def redirect_food_order(self, food_order_id: t.FoodOrderId, address_id: t.PlaceId) -> t.Redirected:
        """Have an order brought to another address before it is out for delivery; the fee changes with the distance."""
        row, place = self._order(food_order_id, "placed", "accepted", "cooking"), self._place(address_id)
        if row.address_id == address_id:
            raise ToolError("conflict", "the order goes there already", "Nothing is needed.")
        restaurant = self.restaurants[row.restaurant_id]
        kilometers = self._kilometers(restaurant, place)
        fee = fee_cents(restaurant, kilometers, row.goods)
        self._pay(fee - row.fee)
        row = self.orders.update(food_order_id, address_id=address_id, distance=kilometers, fee=fee)
        return {"food_order_id": food_order_id, "total": money(row.total), "arrives": self._time(arrival(row))}

    @tool()
    def reschedule_food_order(self, food_order_id: t.FoodOrderId, at: t.When = None) -> t.Redirected:
        """Have an order that the restaurant has not accepted yet arrive at another time of today."""
        row = self._order(food_order_id, "placed")
        earliest = self._minute + ACCEPTING + STARTING
        restaurant = self.restaurants[row.restaurant_id]
        start = self._cooking_from(restaurant, row.minutes, row.distance, earliest, at)
        row = self.orders.update(food_order_id, start=start, due=start - STARTING)
        return {"food_order_id": food_order_id, "total": money(row.total), "arrives": self._time(arrival(row))}

    @tool()
    def reorder_meal(self, food_order_id: t.FoodOrderId) -> t.CartSum:
        """Put the dishes of an earlier order into the empty cart, with the same options, at today's prices."""
        row = self._order(food_order_id, "delivered", "cancelled")
        if len(self.cart):
            raise ToolError("conflict", "the cart is not empty", "Use clear_meal_cart or place_food_order first.")
        for line in row.lines:
            self._add(line.dish_id, line.options, line.quantity)
        return self._cart_sum()

    @tool()
    def request_food_refund(self, food_order_id: t.FoodOrderId, dish_ids: t.Dishes, problem: t.Problem) -> t.Refunded:
        """Complain about dishes of an order within two days of its delivery; the money comes back into the wallet, once."""
        row = self._order(food_order_id, "delivered")
        if self._minute - row.due > CLAIM_WITHIN:
            raise ToolError("denied", "it was delivered more than two days ago", "Nothing can be done.")
        for dish_id in dish_ids:
            lines = [line for line in row.lines if line.dish_id == dish_id]
            if not lines:
                raise ToolError("not_found", f"{dish_id} is not in the order", "list_food_order_dishes shows its dishes.")
            if any(line.claimed for line in lines):
                raise ToolError("conflict", f"{dish_id} was refunded already", "Choose other dishes.")
        wanted = [line for line in row.lines if line.dish_id in dish_ids]
        refund = sum(line.cents // 2 if problem == "cold" else line.cents for line in wanted)
        changed = tuple(replace(line, claimed=line.claimed or line.dish_id in dish_ids) for line in row.lines)
        self.orders.update(food_order_id, lines=changed, refunded=row.refunded + refund)
        self._pay(-refund)
        return {"food_order_id": food_order_id, "refund": money(refund), "wallet": money(self.purse["purse"].cents)}

    # -- couriers and ratings --------------------------------------------------------------------

    @tool(read_only=True)
    def get_order_courier(self, food_order_id: t.FoodOrderId) -> t.OrderCourier:
        """Show who brings or brought an order."""
        _, row = self._courier_of(food_order_id)
        return {"courier_id": row.courier_id, "name": row.name, "vehicle": row.vehicle}

    @tool(read_only=True)
    def get_courier(self, courier_id: t.CourierId) -> t.CourierShown:
        """Show a courier: name, vehicle, phone and rating."""
        row = existing(self.couriers, courier_id, "courier", "list_couriers")
        return courier_shown(row, self._courier_rating(row))

    @tool(read_only=True)
    def find_courier(self, name: t.KnownName) -> t.CourierShown:
        """Find a courier by the full name."""
        row = named(self.couriers.values(), name, "courier", "list_couriers")
        return courier_shown(row, self._courier_rating(row))

    @tool(read_only=True)
    def list_couriers(self, limit: Limit = 5) -> list[t.OrderCourier]:
        """List the couriers of the city."""
        rows = sorted(self.couriers.values(), key=lambda c: c.name)[: int(limit)]
        return [{"courier_id": c.courier_id, "name": c.name, "vehicle": c.vehicle} for c in rows]

    @tool()
    def tip_courier(self, food_order_id: t.FoodOrderId, amount: Amount) -> t.Tipped:
        """Tip the courier of an order from the wallet; a further tip adds to it."""
        value = cents(amount)
        order, courier = self._courier_of(food_order_id)
        self._pay(value)
        self.couriers.update(courier.courier_id, tips=courier.tips + value)
        order = self.orders.update(food_order_id, tip=order.tip + value)
        return {"food_order_id": food_order_id, "courier_id": courier.courier_id, "tip": money(order.tip)}

    @tool()
    def rate_courier(self, food_order_id: t.FoodOrderId, stars: t.Stars) -> t.CourierRated:
        """Rate the courier of a delivered order, once; answers with the new rating."""
        order = self._order(food_order_id, "delivered")
        if order.courier_stars:
            raise ToolError("conflict", "the courier was rated for this order", "Nothing is needed.")
        courier = self.couriers[order.courier_id]
        self.orders.update(food_order_id, courier_stars=int(stars))
        done = self.couriers.update(courier.courier_id, stars=courier.stars + int(stars), ratings=courier.ratings + 1)
        return {"courier_id": courier.courier_id, "rating": self._courier_rating(done)}

    @tool()
    def rate_food_order(self, food_order_id: t.FoodOrderId, stars: t.Stars, comment: t.Comment = "") -> t.RestaurantRated:
        """Rate the restaurant for a delivered order, once; answers with its new rating."""
        order = self._order(food_order_id, "delivered")
        said = plain(comment, "comment") if comment else ""
        if order.stars:
            raise ToolError("conflict", "this order was rated already", "Nothing is needed.")
        self.orders.update(food_order_id, stars=int(stars))
        author = self.purse["purse"].user
        self.ratings.put(food_order_id, Rating(order.restaurant_id, author, int(stars), said))
        return {"restaurant_id": order.restaurant_id, "rating": self._rating(order.restaurant_id)}
