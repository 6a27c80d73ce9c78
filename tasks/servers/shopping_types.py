"""Identifiers, argument types and result types of the shopping server.

Run: nothing here runs by itself; `tasks.servers.shopping` is the server.

Left out: rows, which results show only in part.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Date, identifier

CategoryId = identifier("category", "cat")
ProductId = identifier("product", "prod")
VariantId = identifier("variant", "var")
CouponId = identifier("coupon", "cpn")
WishlistId = identifier("wishlist", "wish")
AddressId = identifier("address", "addr")
MethodId = identifier("payment_method", "pay")
GiftCardId = identifier("gift_card", "gift")
OrderId = identifier("order", "ord")
ShipmentId = identifier("shipment", "shp")
DepotId = identifier("depot", "dep")
ReturnId = identifier("return", "ret")

OrderStatus = Literal["placed", "packed", "shipped", "delivered", "cancelled"]
ShipmentStatus = Literal["in_transit", "delivered"]
ReturnStatus = Literal["requested", "refunded"]
MethodKind = Literal["card", "wallet", "bank"]

Speed = Annotated[Literal["standard", "express"], Field(description="How fast to ship.")]
Reason = Annotated[Literal["damaged", "wrong_item", "unwanted"], Field(description="Why it goes back.")]
AnyStatus = Annotated[
    Literal["any", "placed", "packed", "shipped", "delivered", "cancelled"], Field(description="Only orders in this state.")
]
Sort = Annotated[Literal["rating", "price"], Field(description="Best rated first, or cheapest first.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
City = Annotated[str, Field(min_length=1, max_length=40, description="A city.")]
Color = Annotated[str, Field(min_length=1, max_length=20, description="A color, like red.")]
Quantity = Annotated[int, Field(ge=1, le=20, description="How many pieces.")]
Stars = Annotated[int, Field(ge=1, le=5, description="From 1, bad, to 5, good.")]
Comment = Annotated[str, Field(max_length=120, description="What to say about it; may be empty.")]
PaysFirst = Annotated[GiftCardId | None, Field(description="A gift card that pays first.")]
Products = Annotated[list[ProductId], Field(max_length=10, description="Identifiers of products.")]


# -- arguments ---------------------------------------------------------------------------------


class ProductFilter(TypedDict):
    """Which products are wanted; all given conditions hold."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    category_id: NotRequired[CategoryId]
    brand: NotRequired[Annotated[str, Field(max_length=40, description="The maker's name.")]]
    max_price: NotRequired[Annotated[float, Field(ge=0, description="At most this price.")]]
    min_rating: NotRequired[Annotated[float, Field(ge=0, le=5, description="At least this rating.")]]
    in_stock: NotRequired[Annotated[bool, Field(description="Only products that can be bought now.")]]


class NewAddress(TypedDict):
    """Where to ship to."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    name: Annotated[str, Field(min_length=1, max_length=60, description="Who receives.")]
    street: Annotated[str, Field(min_length=1, max_length=60, description="Street and number.")]
    city: City


# -- results -----------------------------------------------------------------------------------


class CategoryShown(TypedDict):
    category_id: CategoryId
    name: str
    products: int


class ProductRow(TypedDict):
    product_id: ProductId
    name: str
    price: float


class ProductFound(TypedDict):
    product_id: ProductId
    rating: float


class ProductShown(TypedDict):
    product_id: ProductId
    name: str
    brand: str
    category_id: CategoryId
    price: float
    rating: float


class Cheapest(TypedDict):
    product_id: ProductId
    price: float
    cheapest_in: CategoryId


class BestRated(TypedDict):
    product_id: ProductId
    rating: float
    best_in: CategoryId


class VariantRow(TypedDict):
    variant_id: VariantId
    color: str
    price: float


class VariantShown(TypedDict):
    variant_id: VariantId
    product_id: ProductId
    color: str
    price: float
    stock: int


class VariantRef(TypedDict):
    variant_id: VariantId
    price: float


class ReviewShown(TypedDict):
    author: str
    stars: int
    text: NotRequired[str]


class Rated(TypedDict):
    product_id: ProductId
    rating: float


class CartItem(TypedDict):
    variant_id: VariantId
    name: str
    in_cart: int
    price: float


class CartTotals(TypedDict):
    items: int
    subtotal: float
    discount: float
    total: float


class CartSum(TypedDict):
    items: int
    total: float


class CouponShown(TypedDict):
    coupon_id: CouponId
    name: str
    percent: int
    min_spend: float
    expires: Date


class WishlistShown(TypedDict):
    wishlist_id: WishlistId
    name: str
    products: int


class AddressRow(TypedDict):
    address_id: AddressId
    name: str
    city: str


class AddressShown(TypedDict):
    address_id: AddressId
    name: str
    street: str
    city: str


class MethodShown(TypedDict):
    method_id: MethodId
    name: str
    kind: MethodKind
    available: float


class GiftCardShown(TypedDict):
    gift_card_id: GiftCardId
    name: str
    balance: float


class ToppedUp(TypedDict):
    gift_card_id: GiftCardId
    balance: float


class ShippingQuote(TypedDict):
    price: float
    arrives: Date


class Placed(TypedDict):
    order_id: OrderId
    total: float
    charged: float


class OrderRow(TypedDict):
    order_id: OrderId
    status: OrderStatus
    total: float
    placed: Date


class OrderShown(TypedDict):
    order_id: OrderId
    status: OrderStatus
    total: float
    product_id: ProductId
    variant_id: VariantId
    shipment_id: NotRequired[ShipmentId]


class OrderFound(TypedDict):
    order_id: OrderId
    status: OrderStatus


class OrderItem(TypedDict):
    variant_id: VariantId
    name: str
    quantity: int
    paid: float


class OrderChanged(TypedDict):
    order_id: OrderId
    status: OrderStatus


class Cancelled(TypedDict):
    order_id: OrderId
    status: OrderStatus
    refund: float


class Readdressed(TypedDict):
    order_id: OrderId
    address_id: AddressId


class Shipped(TypedDict):
    shipment_id: ShipmentId
    eta: Date


class ShipmentShown(TypedDict):
    shipment_id: ShipmentId
    order_id: OrderId
    status: ShipmentStatus
    carrier: str
    eta: Date


class Located(TypedDict):
    depot_id: DepotId
    shipment_id: ShipmentId


class DepotRow(TypedDict):
    depot_id: DepotId
    city: str


class DepotShown(TypedDict):
    depot_id: DepotId
    city: str
    phone: str


class ReturnShown(TypedDict):
    return_id: ReturnId
    order_id: OrderId
    status: ReturnStatus
    refund: float


class ReturnOpened(TypedDict):
    return_id: ReturnId
    refund: float


class ReturnChanged(TypedDict):
    return_id: ReturnId
    status: ReturnStatus
