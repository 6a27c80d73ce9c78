"""Seeded data of the shopping server: word lists, the catalogue, and one customer's cart, orders and cards.

Run: nothing here runs by itself; `tasks.servers.shopping` is the server.

Left out: other countries' addresses.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

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
    shares,
    shipping_cents,
)
from tasks.servers.shopping_types import MethodKind, OrderStatus, Reason
from tasks.servers.state import Seed
from tasks.servers.world import World, words

GOODS: dict[str, tuple[str, ...]] = {
    "Kitchen": words("Kettle Skillet Ladle Toaster Teapot"),
    "Garden": words("Rake Spade Planter Trellis Hose"),
    "Lighting": words("Lamp Lantern Chandelier Torch Candle"),
    "Bedding": words("Pillow Blanket Quilt Duvet Mattress"),
    "Camping": words("Tent Stove Cooler Hammock Canteen"),
    "Cycling": words("Helmet Saddle Pump Pannier Bell"),
    "Fitness": words("Dumbbell Mat Rower Bench Skipper"),
    "Fishing": words("Rod Reel Net Wader Creel"),
    "Footwear": words("Boot Sandal Sneaker Slipper Clog"),
    "Outerwear": words("Jacket Parka Raincoat Vest Poncho"),
    "Knitwear": words("Sweater Scarf Cardigan Mitten Beanie"),
    "Luggage": words("Suitcase Backpack Duffel Satchel Trunk"),
    "Stationery": words("Notebook Pen Stapler Binder Ruler"),
    "Audio": words("Speaker Headset Radio Turntable Microphone"),
    "Photography": words("Camera Tripod Lens Flash Frame"),
    "Computing": words("Keyboard Monitor Mouse Router Webcam"),
    "Furniture": words("Chair Table Shelf Stool Sofa"),
    "Bathroom": words("Towel Mirror Basin Bathrobe Scale"),
    "Cleaning": words("Broom Mop Bucket Duster Vacuum"),
    "Tools": words("Hammer Drill Wrench Saw Chisel"),
    "Toys": words("Puzzle Kite Robot Doll Marble"),
    "Games": words("Chessboard Dartboard Domino Yoyo Frisbee"),
    "Music": words("Guitar Flute Drum Ukulele Harmonica"),
    "Painting": words("Easel Brush Canvas Palette Sketchpad"),
    "Baking": words("Whisk Mixer Tin Rollingpin Sieve"),
    "Coffee": words("Grinder Mug Espresso Filter Tamper"),
    "Pets": words("Leash Collar Bowl Kennel Perch"),
    "Sailing": words("Anchor Compass Rope Lifejacket Paddle"),
    "Skiing": words("Goggles Ski Glove Sled Snowshoe"),
    "Swimming": words("Swimsuit Flipper Snorkel Float Cap"),
    "Watches": words("Watch Clock Timer Bracelet Sundial"),
    "Heating": words("Heater Radiator Fan Thermostat Fireplace"),
    "Storage": words("Crate Basket Chest Hanger Jar"),
    "Sewing": words("Needle Thimble Bobbin Scissors Loom"),
    "Barbecue": words("Grill Tongs Smoker Skewer Apron"),
    "Nursery": words("Crib Stroller Highchair Rattle Bib"),
    "Office": words("Desk Drawer Lectern Whiteboard Shredder"),
    "Automotive": words("Jack Wiper Dashcam Tire Charger"),
    "Travel": words("Adapter Wallet Umbrella Thermos Eyemask"),
    "Beauty": words("Comb Razor Perfume Hairdryer Tweezers"),
}
STYLES = words(
    """Alpine Amber Antique Arctic Atlas Aurora Avalon Baltic Bamboo Baron Bavarian Bistro Bohemian Boreal Breton Canyon Cascade
    Celtic Classic Coastal Comet Copper Coral Cosmic Cottage Crystal Cypress Danish Desert Dynamo Eclipse Ember Empire Everest
    Fable Falcon Fjord Fusion Galaxy Gaucho Geneva Gothic Granite Harbor Highland Horizon Iberian Island Ivory Jasper Jubilee
    Jungle Kodiak Lagoon Lunar Lynx Maple Marina Matterhorn Meadow Metro Midnight Modena Mojave Monarch Montana Mosaic Nomad
    Nordic Normandy Nova Oasis Oceanic Odyssey Onyx Orbit Orchard Orient Pacific Palermo Panther Patagonia Pebble Phoenix
    Pilgrim Pioneer Polar Prairie Prism Provence Quantum Quartz Ranger Regal Riviera Rustic Sahara Savanna Scout Sequoia
    Sierra Solar Sonoma Spartan Summit Tahoe Tempest Terra Tropic Tundra Tuscan Twilight Urban Valencia Velvet Venice Verona
    Viking Vintage Vista Voyager Wicker Wildwood Yukon Zenith Zephyr"""
)
BRANDS = words(
    """Abbeyfield Arbolet Axwell Bergholm Bexley Brantford Calderon Corvane Dunmore Eastlake Eldridge Fairmont Fenwick Garrison
    Glenrock Halden Harwick Inverell Jarrow Kelmore Kirkwall Langdale Lorimer Marbeck Norwell Oakhurst Orvane Pembrook Quillon
    Ravensby Rosedale Selkirk Sorrento Stanmore Tarrant Thornbury Underhill Valmont Wexford Winslow Yarmouth Zellwood"""
)
COUPONS = words(
    """Avocado Bonfire Breeze Carnival Clover Confetti Daybreak Dragonfly Festival Firefly Fireworks Fortune Garland Glacier
    Gumdrop Harvest Honeybee Jackpot Jamboree Ladybug Lollipop Magnolia Meteor Moonlight Parade Peacock Pinwheel Popcorn
    Pumpkin Rainbow Raindrop Sailboat Snowfall Sparkler Starlight Sunrise Sunshine Treasure Tulip Waterfall Wildfire Windmill"""
)
WISHLISTS = words(
    """Anniversary Attic Balcony Basement Beach Birthday Bonus Cabin Camper Christmas College Cottage Dorm Dreams Engagement
    Farmhouse Gifts Graduation Hobbies Holiday Home Homecoming Housewarming Ideas Kids Later Loft Moving Newborn Patio
    Picnic Porch Renovation Retirement Roadtrip School Someday Spring Studio Summer Thanksgiving Valentine Weekend Winter"""
)
NEW_WISHLISTS = words(
    """Acreage Apartment Aunt Barn Boat Brother Caravan Cousin Daughter Easter Expedition Father Festive Garage Grandma Grandpa
    Greenhouse Halloween Honeymoon Hostel Journey Mother Nephew Niece Orchard Parents Pension Reunion Sabbatical Sister
    Son Stable Terrace Treehouse Uncle Vineyard Wedding Workshop Atrium Bachelor Bungalow Camp Chalet Clubhouse
    Deck Den Fiesta Folks Friends Gala Gazebo Godson Guestroom Gym Hideaway Inlaws Jamboree Kitchenette Landing Lounge Mansion
    Neighbors Nook Outing Pantry Penthouse Playroom Potluck Regatta Retreat Safari Shower Solstice Sunroom Trek Twins"""
)
ISSUERS = words(
    """Aegis Alder Argent Bastion Beacon Capstone Citadel Compass Crescent Diamond Drake Elm Fortress Frontier Garnet Hallmark
    Heritage Ironwood Keystone Lantern Liberty Lighthouse Marlin Meridian Mutual Northstar Oxbow Paragon Pelican Pinnacle
    Premier Redwood Sentinel Sapphire Sterling Talisman Trident Unity Vanguard Westgate Whitestone Wolfram"""
)
CARRIERS = words(
    """Arrowline Bluecart Coachway Cargopoint Dashway Eagleline Fleetfoot Freightly Gohaul Hopscotch Jetpost Keelway Lightship
    Moverly Northpost Overland Packmule Parcelway Quickcart Roadrunner Shipwell Speedpost Swiftline Trackway Truckline
    Turtlepost Unipost Vanway Waggon Zipcart"""
)
COLORS = ("red", "blue", "green", "black", "white", "gray", "yellow", "orange", "pink", "brown")
OPINIONS = ("works well", "as described", "better than I hoped", "not bad", "a little small", "broke after a week", "")
KINDS: tuple[MethodKind, ...] = ("card", "card", "wallet", "bank")
REASONS: tuple[Reason, ...] = ("damaged", "wrong_item", "unwanted")
STATUSES: tuple[OrderStatus, ...] = (
    "placed",
    "placed",
    "placed",
    "packed",
    "packed",
    "shipped",
    "shipped",
    "delivered",
    "delivered",
    "delivered",
    "cancelled",
)
AGES = {"placed": (0, 2), "packed": (1, 3), "shipped": (2, 5), "delivered": (8, 40), "cancelled": (5, 30)}
"""Days since an order of each status was placed."""


def seed_rows(world: World) -> Seed:
    """One shop and one customer: 6 categories, 18 products, some 40 variants, 11 orders."""
    people = world.people()
    cities = _cities(world, 8)
    categories, products, variants = _catalogue(world)
    addresses = {
        key: Address(key, person.name, world.street(), city, world.rng.randrange(4))
        for key, person, city in zip(world.ids("addr", 4), people, cities[:4], strict=False)
    }
    issuers = world.picks(ISSUERS, len(KINDS))
    methods = {
        key: Method(key, name, kind, world.amount(600, 2000))
        for key, name, kind in zip(world.ids("pay", len(KINDS)), issuers, world.rng.sample(KINDS, len(KINDS)), strict=True)
    }
    gift_cards = {
        key: GiftCard(key, person.name, world.amount(10, 90))
        for key, person in zip(world.ids("gift", 3), people[5:8], strict=True)
    }
    depots = {
        key: Depot(key, city, f"555-{number}")
        for key, city, number in zip(world.ids("dep", 4), cities[4:], world.numbers(4, 4), strict=True)
    }
    goods = _one_of_each(world, variants)
    orders, shipments = _orders(world, goods[:16], variants, addresses, methods, gift_cards, list(depots))
    cart = {
        key: CartLine(key, quantity)
        for key, quantity in zip([k for k in goods[16:] if variants[k].stock > 2][:2], (1, 2), strict=False)
    }
    wishlists = {
        key: Wishlist(key, name, tuple(world.rng.sample(sorted(products), world.rng.randint(2, 4))))
        for key, name in zip(world.ids("wish", 4), world.picks(WISHLISTS, 4), strict=True)
    }
    return {
        "categories": categories,
        "products": products,
        "variants": variants,
        "reviews": _reviews(world, products, [person.name for person in people[1:]]),
        "cart": cart,
        "basket": {"cart": Basket(people[0].name, "")},
        "coupons": _coupons(world),
        "wishlists": wishlists,
        "addresses": addresses,
        "methods": methods,
        "gift_cards": gift_cards,
        "orders": orders,
        "shipments": shipments,
        "depots": depots,
        "returns": _returns(world, orders),
    }


def _cities(world: World, count: int) -> list[str]:
    cities: dict[str, None] = {}
    while len(cities) < count:
        cities[world.city()] = None
    return list(cities)


def _catalogue(world: World) -> tuple[dict[str, Category], dict[str, Product], dict[str, Variant]]:
    names = world.picks(tuple(GOODS), 6)
    categories = {key: Category(key, name) for key, name in zip(world.ids("cat", len(names)), names, strict=True)}
    kinds = [(key, noun) for key, row in categories.items() for noun in world.rng.sample(GOODS[row.name], 3)]
    brands = world.picks(BRANDS, 6)
    styles = world.picks(STYLES, len(kinds))
    products = {
        key: Product(key, category, f"{style} {noun}", world.choice(brands))
        for key, style, (category, noun) in zip(world.ids("prod", len(kinds)), styles, kinds, strict=True)
    }
    offered = [(key, color) for key in products for color in world.rng.sample(COLORS, world.rng.choice((2, 2, 3)))]
    base = {key: world.amount(8, 160) for key in products}
    variants = {
        key: Variant(
            key, product, color, base[product] + 100 * world.rng.randrange(5), world.rng.choice((0, 4, 7, 12, 25, 40)), 0
        )
        for key, (product, color) in zip(world.ids("var", len(offered)), offered, strict=True)
    }
    return categories, products, variants


def _one_of_each(world: World, variants: dict[str, Variant]) -> list[str]:
    """One variant of every product, so that a product is in one order at most."""
    first: dict[str, str] = {}
    for key, row in variants.items():
        first.setdefault(row.product_id, key)
    keys = list(first.values())
    world.rng.shuffle(keys)
    return sorted(keys, key=lambda key: variants[key].stock > 2)  # the cart takes from the end, and needs stock


def _orders(
    world: World,
    goods: list[str],
    variants: dict[str, Variant],
    addresses: dict[str, Address],
    methods: dict[str, Method],
    gift_cards: dict[str, GiftCard],
    depots: list[str],
) -> tuple[dict[str, Order], dict[str, Shipment]]:
    """Orders of one or two items each; `variants` gets what they reserve."""
    orders, shipments = {}, {}
    sizes = [2] * (len(goods) - len(STATUSES)) + [1] * (2 * len(STATUSES) - len(goods))
    world.rng.shuffle(sizes)
    delivered, double = STATUSES.index("delivered"), sizes.index(2)
    sizes[delivered], sizes[double] = 2, sizes[delivered]  # one delivered order has an item more, for the return
    carriers = world.picks(CARRIERS, 3)
    parcels = iter(world.ids("shp", len(STATUSES)))
    left = iter(goods)
    for key, status, size in zip(world.ids("ord", len(STATUSES)), STATUSES, sizes, strict=True):
        items = [(next(left), world.rng.choice((1, 1, 2, 3))) for _ in range(size)]
        costs = [variants[variant].cents * quantity for variant, quantity in items]
        reduced = shares(costs, sum(costs) // 10 if world.rng.random() < 0.3 else 0)
        lines = tuple(OrderLine(v, q, cents, 0) for (v, q), cents in zip(items, reduced, strict=True))
        address, speed = world.choice(list(addresses)), world.choice(("standard", "standard", "express"))
        shipping = shipping_cents(speed, addresses[address].zone, sum(reduced))
        total = sum(reduced) + shipping
        gift = world.choice(list(gift_cards)) if world.rng.random() < 0.3 else ""
        gifted = min(total, world.amount(5, 20)) if gift else 0
        placed = world.now.date() - dt.timedelta(days=world.rng.randint(*AGES[status]))
        parcel = ""
        if status in ("shipped", "delivered"):
            parcel = next(parcels)
            eta = placed + dt.timedelta(days=world.rng.randint(6, 8))
            moving = "delivered" if status == "delivered" else "in_transit"
            shipments[parcel] = Shipment(parcel, key, world.choice(depots), world.choice(carriers), moving, eta.isoformat())
        back = (total - gifted, gifted) if status == "cancelled" else (0, 0)
        method = world.choice(list(methods))
        orders[key] = Order(
            key,
            status,
            address,
            method,
            gift,
            lines,
            shipping,
            speed,
            total - gifted,
            gifted,
            placed.isoformat(),
            parcel,
            *back,
        )
        if status in ("placed", "packed"):
            for variant, quantity in items:
                variants[variant] = replace(variants[variant], reserved=variants[variant].reserved + quantity)
    return orders, shipments


def _returns(world: World, orders: dict[str, Order]) -> dict[str, Return]:
    """One return on its way, of all pieces of the last item of a delivered order; that order notes it."""
    order = next(o for o in orders.values() if o.status == "delivered" and len(o.lines) > 1)
    line = order.lines[-1]
    (key,) = world.ids("ret", 1)
    orders[order.order_id] = replace(order, lines=(*order.lines[:-1], replace(line, returning=line.quantity)))
    return {key: Return(key, order.order_id, line.variant_id, line.quantity, line.cents, world.choice(REASONS), "requested")}


def _coupons(world: World) -> dict[str, Coupon]:
    names = world.picks(COUPONS, 5)
    rows = {}
    for number, (key, name) in enumerate(zip(world.ids("cpn", len(names)), names, strict=True)):
        expires = world.day(-20, -2) if number == 0 else world.day(5, 90)
        rows[key] = Coupon(key, name, world.choice((5, 10, 15, 20)), world.choice((500, 1000, 2000)), expires, "")
    return rows


def _reviews(world: World, products: dict[str, Product], authors: list[str]) -> dict[str, Review]:
    rows = {}
    for product in products:
        for author in world.rng.sample(authors, world.rng.randint(1, 3)):
            stars = world.rng.choice((1, 2, 3, 4, 4, 5, 5))
            rows[f"{product}/{author}"] = Review(product, author, stars, world.choice(OPINIONS))
    return rows
