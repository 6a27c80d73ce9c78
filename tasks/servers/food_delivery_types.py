"""Identifiers, argument types and result types of the food delivery server.

Run: nothing here runs by itself; `tasks.servers.food_delivery` is the server.

Left out: rows, which results show only in part.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Date, Time, identifier

RestaurantId = identifier("restaurant", "rst")
DishId = identifier("dish", "dish")
OptionId = identifier("dish_option", "dopt")
LineId = identifier("meal_line", "mln")
PromoId = identifier("promo_code", "prc")
DistrictId = identifier("district", "dst")
PlaceId = identifier("delivery_address", "dad")
FoodOrderId = identifier("food_order", "fo")
CourierId = identifier("courier", "cou")

Cuisine = Literal["italian", "indian", "mexican", "japanese", "greek", "american"]
Section = Literal["starter", "main", "dessert"]
OptionKind = Literal["side", "topping"]
Vehicle = Literal["bike", "scooter", "car"]
OrderStatus = Literal["placed", "accepted", "cooking", "out_for_delivery", "delivered", "cancelled"]
Weekday = Literal["none", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

SomeCuisine = Annotated[Cuisine, Field(description="A kind of cooking.")]
AnyCuisine = Annotated[
    Literal["any", "italian", "indian", "mexican", "japanese", "greek", "american"], Field(description="Only this cooking.")
]
AnySection = Annotated[Literal["any", "starter", "main", "dessert"], Field(description="Only this part of the menu.")]
AnyStatus = Annotated[
    Literal["any", "placed", "accepted", "cooking", "out_for_delivery", "delivered", "cancelled"],
    Field(description="Only orders in this state."),
]
OpenNow = Annotated[bool, Field(description="Only restaurants that are open now.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
Portions = Annotated[int, Field(ge=1, le=20, description="How many portions.")]
Options = Annotated[list[OptionId], Field(max_length=6, description="Options of the dish: one side at most, any toppings.")]
Dishes = Annotated[list[DishId], Field(min_length=1, max_length=10, description="Dishes of the order.")]
Minutes = Annotated[int, Field(ge=1, le=720, description="How many minutes.")]
Stars = Annotated[int, Field(ge=1, le=5, description="From 1, bad, to 5, good.")]
Comment = Annotated[str, Field(max_length=120, description="What to say about it; may be empty.")]
Problem = Annotated[Literal["missing", "wrong_dish", "cold"], Field(description="What was wrong; cold food gives half back.")]
When = Annotated[Time | None, Field(description="When it shall arrive today, HH:MM; as soon as possible if left out.")]


# -- arguments ---------------------------------------------------------------------------------


class DishFilter(TypedDict):
    """Which dishes are wanted; all given conditions hold."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    cuisine: NotRequired[SomeCuisine]
    section: NotRequired[Annotated[Section, Field(description="A part of the menu.")]]
    max_price: NotRequired[Annotated[float, Field(ge=0, le=1_000_000, description="At most this price.")]]
    vegetarian: NotRequired[Annotated[bool, Field(description="Only dishes without meat and fish.")]]
    open_now: NotRequired[OpenNow]


class NewPlace(TypedDict):
    """Where it is."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    street: Annotated[str, Field(min_length=1, max_length=60, description="Street and number.")]
    district_id: DistrictId


# -- results -----------------------------------------------------------------------------------


class RestaurantRow(TypedDict):
    restaurant_id: RestaurantId
    name: str
    rating: float
    open: bool


class RestaurantFound(TypedDict):
    restaurant_id: RestaurantId
    rating: float
    open: bool


class RestaurantShown(TypedDict):
    restaurant_id: RestaurantId
    name: str
    cuisine: Cuisine
    district_id: DistrictId
    rating: float
    smallest_order: float


class Hours(TypedDict):
    restaurant_id: RestaurantId
    opens: Time
    closes: Time
    closed_on: Weekday
    open: bool


class BestRestaurant(TypedDict):
    restaurant_id: RestaurantId
    best_rating: float


class NearestRestaurant(TypedDict):
    restaurant_id: RestaurantId
    distance: int


class RatingShown(TypedDict):
    author: str
    stars: int
    comment: NotRequired[str]


class DishRow(TypedDict):
    dish_id: DishId
    name: str
    price: float


class DishFound(TypedDict):
    dish_id: DishId
    restaurant_id: RestaurantId
    price: float


class DishShown(TypedDict):
    dish_id: DishId
    restaurant_id: RestaurantId
    name: str
    price: float
    vegetarian: bool
    portions: int


class CheapestDish(TypedDict):
    dish_id: DishId
    lowest_price: float


class OptionShown(TypedDict):
    option_id: OptionId
    name: str
    kind: OptionKind
    extra: float


class LineShown(TypedDict):
    line_id: LineId
    name: str
    in_cart: int
    price: float


class CartTotals(TypedDict):
    restaurant_id: NotRequired[RestaurantId]
    dishes: int
    subtotal: float
    discount: float
    total: float


class CartAdded(TypedDict):
    line_id: LineId
    in_cart: int
    cart_total: float


class CartSum(TypedDict):
    dishes: int
    cart_total: float


class PromoShown(TypedDict):
    promo_id: PromoId
    name: str
    percent: int
    min_spend: float
    expires: Date


class DistrictShown(TypedDict):
    district_id: DistrictId
    name: str
    restaurants: int


class PlaceShown(TypedDict):
    address_id: PlaceId
    name: str
    street: str
    district_id: DistrictId


class PlaceDone(TypedDict):
    address_id: PlaceId
    district_id: DistrictId


class Removed(TypedDict):
    address_id: PlaceId
    addresses_left: int


class DeliveryQuote(TypedDict):
    fee: float
    distance: int
    arrives: Time


class MealWallet(TypedDict):
    wallet: float


class FoodOrderPlaced(TypedDict):
    food_order_id: FoodOrderId
    total: float
    arrives: Time


class FoodOrderRow(TypedDict):
    food_order_id: FoodOrderId
    restaurant_id: RestaurantId
    status: OrderStatus
    total: float
    placed: Date


class FoodOrderShown(TypedDict):
    food_order_id: FoodOrderId
    restaurant_id: RestaurantId
    status: OrderStatus
    total: float
    courier_id: NotRequired[CourierId]
    arrives: NotRequired[Time]


class FoodOrderFound(TypedDict):
    food_order_id: FoodOrderId
    status: OrderStatus


class OrderedDish(TypedDict):
    dish_id: DishId
    name: str
    quantity: int
    paid: float


class Moved(TypedDict):
    food_order_id: FoodOrderId
    status: OrderStatus
    time: Time


class Waited(TypedDict):
    time: Time
    orders_changed: int


class FoodOrderCancelled(TypedDict):
    food_order_id: FoodOrderId
    status: OrderStatus
    refund: float


class Redirected(TypedDict):
    food_order_id: FoodOrderId
    total: float
    arrives: Time


class Refunded(TypedDict):
    food_order_id: FoodOrderId
    refund: float
    wallet: float


class OrderCourier(TypedDict):
    courier_id: CourierId
    name: str
    vehicle: Vehicle


class CourierShown(TypedDict):
    courier_id: CourierId
    name: str
    vehicle: Vehicle
    phone: str
    rating: float


class Tipped(TypedDict):
    food_order_id: FoodOrderId
    courier_id: CourierId
    tip: float


class CourierRated(TypedDict):
    courier_id: CourierId
    rating: float


class RestaurantRated(TypedDict):
    restaurant_id: RestaurantId
    rating: float


class Favorites(TypedDict):
    restaurant_id: RestaurantId
    favorites: int
