"""What the food delivery server's tools share: opening hours, the cart's sums, orders that move on, and what is shown.

Run: nothing here runs by itself; `tasks.servers.food_delivery` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace

from tasks.servers import food_delivery_types as t
from tasks.servers.food_delivery_rows import (
    ACTIVE,
    RIDE,
    SPEED,
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
)
from tasks.servers.lookup import existing
from tasks.servers.state import Table
from tasks.servers.tool import ToolError
from tasks.servers.typed import money, time_of

DAY = 24 * 60
WEEKDAYS: tuple[t.Weekday, ...] = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "none")


class Kitchens:
    """The tables of the food delivery, and the steps that tools are made of."""

    now: dt.datetime
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

    # -- rows --------------------------------------------------------------------------------------

    def _restaurant(self, restaurant_id: str) -> Restaurant:
        return existing(self.restaurants, restaurant_id, "restaurant", "list_restaurants")

    def _dish(self, dish_id: str) -> Dish:
        return existing(self.dishes, dish_id, "dish", "search_dishes")

    def _place(self, address_id: str) -> Place:
        return existing(self.places, address_id, "delivery address", "list_delivery_addresses")

    def _order(self, food_order_id: str, *statuses: str) -> FoodOrder:
        """The order, when it is in one of `statuses` (any, when none are given)."""
        row = existing(self.orders, food_order_id, "food order", "list_food_orders")
        if statuses and row.status not in statuses:
            raise ToolError("wrong_state", f"the order is {row.status}", f"It must be {' or '.join(statuses)}.")
        return row

    # -- time --------------------------------------------------------------------------------------

    @property
    def _minute(self) -> int:
        return self.clock["clock"].minutes

    def _at(self, minute: int) -> dt.datetime:
        return self.now + dt.timedelta(minutes=minute)

    def _time(self, minute: int) -> str:
        return f"{self._at(minute):%H:%M}"

    def _date(self, minute: int) -> str:
        return f"{self._at(minute):%Y-%m-%d}"

    def _is_open(self, row: Restaurant, minute: int | None = None) -> bool:
        moment = self._at(self._minute if minute is None else minute)
        return moment.weekday() != row.rest_day and row.opens <= moment.hour * 60 + moment.minute < row.closes

    def _cooking_from(self, row: Restaurant, minutes: int, kilometers: int, earliest: int, at: str | None) -> int:
        """When a restaurant starts to cook what takes `minutes`: at once, or so that it arrives at `at` today."""
        start = earliest
        if at is not None:
            moment, now = time_of(at), self._at(self._minute)
            start = self._minute + (moment.hour - now.hour) * 60 + moment.minute - now.minute - minutes - RIDE * kilometers
            if start < earliest:
                soonest = self._time(earliest + minutes + RIDE * kilometers)
                raise ToolError("invalid_value", f"it cannot arrive before {soonest}", "Give a later time of today.")
        if not self._is_open(row, start):
            raise ToolError("wrong_state", f"{row.name} does not cook then", "get_restaurant_hours shows when it does.")
        return start

    # -- restaurants and dishes --------------------------------------------------------------------

    def _rating(self, restaurant_id: str) -> float:
        """The mean of a restaurant's stars, to one decimal; 0 without ratings."""
        stars = [r.stars for r in self.ratings.values() if r.restaurant_id == restaurant_id]
        return round(sum(stars) / len(stars), 1) if stars else 0.0

    def _ranked(self, rows: Iterable[Restaurant]) -> list[Restaurant]:
        return sorted(rows, key=lambda r: (-self._rating(r.restaurant_id), r.name))

    def _rows(self, rows: Iterable[Restaurant]) -> list[t.RestaurantRow]:
        return [
            {
                "restaurant_id": r.restaurant_id,
                "name": r.name,
                "rating": self._rating(r.restaurant_id),
                "open": self._is_open(r),
            }
            for r in rows
        ]

    def _menu(self, restaurant_id: str) -> list[Dish]:
        return sorted(self.dishes.where(lambda d: d.restaurant_id == restaurant_id), key=lambda d: (d.cents, d.name))

    def _kilometers(self, row: Restaurant, place: Place) -> int:
        """From a restaurant to an address. Raises ToolError(denied) when it does not deliver there."""
        kilometers = distance(self.districts[row.district_id], self.districts[place.district_id])
        if kilometers > row.reach:
            message = f"{row.name} delivers {row.reach} km far, and this is {kilometers} km"
            raise ToolError("denied", message, "Use another address, or find_nearest_restaurant.")
        return kilometers

    def _chosen(self, dish_id: str, option_ids: Iterable[str]) -> tuple[str, ...]:
        """Options of one dish, sorted: known, its own, and one side at most."""
        chosen = tuple(sorted(set(option_ids)))
        rows = [existing(self.options, key, "dish option", "list_dish_options") for key in chosen]
        if any(row.dish_id != dish_id for row in rows):
            raise ToolError("invalid_value", "the option belongs to another dish", "list_dish_options shows the dish's.")
        if sum(row.kind == "side" for row in rows) > 1:
            raise ToolError("invalid_value", "a dish comes with one side", "Choose one of the sides.")
        return chosen

    def _piece(self, dish_id: str, options: Iterable[str]) -> int:
        """Cents of one portion with its options."""
        return self.dishes[dish_id].cents + sum(self.options[key].cents for key in options)

    # -- the cart ----------------------------------------------------------------------------------

    def _line(self, line_id: str) -> CartLine:
        return existing(self.cart, line_id, "such dish in the cart:", "list_meal_cart_items")

    @property
    def _cart_restaurant(self) -> str:
        return next((self.dishes[line.dish_id].restaurant_id for line in self.cart.values()), "")

    def _check_portions(self, dish_id: str, wanted: int) -> None:
        left = self.dishes[dish_id].portions
        if left < wanted:
            raise ToolError("insufficient", f"{left} portions are left", "Take fewer, or another dish.")

    def _in_cart(self, dish_id: str, without: str = "") -> int:
        return sum(line.quantity for line in self.cart.values() if line.dish_id == dish_id and line.line_id != without)

    def _add(self, dish_id: str, chosen: tuple[str, ...], quantity: int) -> CartLine:
        """Puts portions into the cart. Raises ToolError: another restaurant's dishes are in it, or too few portions."""
        dish = self._dish(dish_id)
        if self._cart_restaurant not in ("", dish.restaurant_id):
            message = "the cart has dishes of another restaurant"
            raise ToolError("conflict", message, "Use place_food_order or clear_meal_cart first.")
        self._check_portions(dish_id, self._in_cart(dish_id) + quantity)
        line = next((c for c in self.cart.values() if (c.dish_id, c.options) == (dish_id, chosen)), None)
        if line is not None:
            return self.cart.update(line.line_id, quantity=line.quantity + quantity)
        key = self.cart.fresh("mln", dish_id, chosen)
        return self.cart.put(key, CartLine(key, dish_id, chosen, quantity))

    def _cart_sums(self) -> tuple[int, int]:
        """(subtotal, discount) of the cart in cents; a code counts once its minimum is reached and until it expires."""
        subtotal = sum(self._piece(line.dish_id, line.options) * line.quantity for line in self.cart.values())
        promo = self.promos.get(self.basket["cart"].promo_id)
        counts = promo is not None and subtotal >= promo.min_cents and promo.expires >= self._date(self._minute)
        return subtotal, subtotal * promo.percent // 100 if promo and counts else 0

    def _cart_sum(self) -> t.CartSum:
        subtotal, discount = self._cart_sums()
        return {"dishes": sum(line.quantity for line in self.cart.values()), "cart_total": money(subtotal - discount)}

    def _empty_cart(self) -> None:
        for key in list(self.cart):
            self.cart.remove(key)
        self.basket.update("cart", promo_id="")

    # -- money -------------------------------------------------------------------------------------

    def _pay(self, cents: int) -> None:
        """Takes money out of the wallet; a negative amount goes into it. Raises ToolError(insufficient)."""
        row = self.purse["purse"]
        if row.cents < cents:
            message = f"{money(cents)} is needed and {money(row.cents)} is in the wallet"
            raise ToolError("insufficient", message, "Use top_up_meal_wallet.")
        self.purse.update("purse", cents=row.cents - cents)

    def _stock(self, lines: Iterable[OrderLine], sign: int) -> None:
        """Takes the portions of an order off the dishes (-1), or puts them back (1)."""
        for line in lines:
            self.dishes.update(line.dish_id, portions=self.dishes[line.dish_id].portions + sign * line.quantity)

    # -- orders that move on -----------------------------------------------------------------------

    def _active(self) -> list[FoodOrder]:
        return self.orders.where(lambda o: o.status in ACTIVE)

    def _pass_time(self, until: int) -> set[str]:
        """Lets the clock go on to `until`; every order takes the steps that are due, in the order of time. Who took one."""
        moved: set[str] = set()
        while due := [order for order in self._active() if order.due <= until]:
            order = min(due, key=lambda o: (o.due, o.food_order_id))
            step = self._step(order)
            if step.status != order.status:
                moved.add(order.food_order_id)
            self.orders.put(order.food_order_id, step)
        self.clock.update("clock", minutes=until)
        return moved

    def _step(self, order: FoodOrder) -> FoodOrder:
        """An active order after its next step, or the same order that waits for a courier."""
        match order.status:
            case "placed":
                return replace(order, status="accepted", due=order.due + STARTING)
            case "accepted":
                return replace(order, status="cooking", due=order.due + order.minutes)
            case "cooking":
                return self._send(order)
            case _:
                return replace(order, status="delivered")

    def _send(self, order: FoodOrder) -> FoodOrder:
        """Gives a cooked order to the nearest courier who is free; else it waits for the first who will be."""
        home = self.districts[self.restaurants[order.restaurant_id].district_id]
        free = self.couriers.where(lambda c: c.busy_until <= order.due)
        if not free:
            return replace(order, due=min(c.busy_until for c in self.couriers.values()))
        courier = min(free, key=lambda c: (distance(self.districts[c.district_id], home), c.courier_id))
        there = order.due + SPEED[courier.vehicle] * order.distance
        target = self.places[order.address_id].district_id
        self.couriers.update(courier.courier_id, busy_until=there, district_id=target)
        return replace(order, status="out_for_delivery", courier_id=courier.courier_id, due=there)

    # -- shown -------------------------------------------------------------------------------------

    def _order_shown(self, row: FoodOrder) -> t.FoodOrderShown:
        shown: t.FoodOrderShown = {
            "food_order_id": row.food_order_id,
            "restaurant_id": row.restaurant_id,
            "status": row.status,
            "total": money(row.total),
        }
        if row.courier_id:
            shown["courier_id"] = row.courier_id
        if row.status in ACTIVE:
            shown["arrives"] = self._time(arrival(row))
        return shown

    def _courier_rating(self, row: Courier) -> float:
        return round(row.stars / row.ratings, 1) if row.ratings else 0.0

    def _courier_of(self, food_order_id: str) -> tuple[FoodOrder, Courier]:
        order = self._order(food_order_id)
        if not order.courier_id:
            raise ToolError("wrong_state", f"no courier has the order, which is {order.status}", "Use wait_for_food_order.")
        return order, self.couriers[order.courier_id]


def dish_rows(rows: Iterable[Dish]) -> list[t.DishRow]:
    return [{"dish_id": d.dish_id, "name": d.name, "price": money(d.cents)} for d in rows]


def option_shown(row: Option) -> t.OptionShown:
    return {"option_id": row.option_id, "name": row.name, "kind": row.kind, "extra": money(row.cents)}


def promo_shown(row: Promo) -> t.PromoShown:
    return {
        "promo_id": row.promo_id,
        "name": row.name,
        "percent": row.percent,
        "min_spend": money(row.min_cents),
        "expires": row.expires,
    }


def place_shown(row: Place) -> t.PlaceShown:
    return {"address_id": row.address_id, "name": row.name, "street": row.street, "district_id": row.district_id}


def courier_shown(row: Courier, rating: float) -> t.CourierShown:
    return {
        "courier_id": row.courier_id,
        "name": row.name,
        "vehicle": row.vehicle,
        "phone": row.phone,
        "rating": rating,
    }
