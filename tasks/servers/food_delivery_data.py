"""Seeded data of the food delivery server: word lists, restaurants with their dishes, and one customer's orders.

Run: nothing here runs by itself; `tasks.servers.food_delivery` is the server.

Left out: streets as places. A district is a point of the city's map.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tasks.servers.food_delivery_rows import (
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
    distance,
    fee_cents,
)
from tasks.servers.food_delivery_types import Cuisine, OptionKind, OrderStatus, Section, Vehicle
from tasks.servers.shopping_rows import shares
from tasks.servers.state import Seed
from tasks.servers.world import World, words

CUISINES: tuple[Cuisine, ...] = ("italian", "indian", "mexican", "japanese", "greek", "american")
SECTIONS: tuple[Section, ...] = ("starter", "main", "main", "main", "dessert")
"""The menu of every restaurant."""
MENUS: dict[Cuisine, dict[Section, tuple[str, ...]]] = {
    "italian": {
        "starter": words("Bruschetta Carpaccio Caponata Focaccia Minestrone"),
        "main": words("Lasagna Risotto Pizza Ravioli Gnocchi Spaghetti Calzone Saltimbocca"),
        "dessert": words("Tiramisu Panettone Gelato Cannoli Semifreddo"),
    },
    "indian": {
        "starter": words("Samosas Pakoras Chaat Raita Bhajis"),
        "main": words("Biryani Korma Dal Vindaloo Tikka Saag Dosa Thali"),
        "dessert": words("Kulfi Halwa Kheer Barfi Jalebi"),
    },
    "mexican": {
        "starter": words("Nachos Guacamole Quesadillas Ceviche Elote"),
        "main": words("Burrito Tacos Enchiladas Fajitas Tamales Chilaquiles Pozole Mole"),
        "dessert": words("Churros Flan Bunuelos Arroz Sopapillas"),
    },
    "japanese": {
        "starter": words("Edamame Gyoza Miso Tempura Sunomono"),
        "main": words("Ramen Udon Sushi Katsu Donburi Soba Teriyaki Okonomiyaki"),
        "dessert": words("Mochi Dorayaki Taiyaki Matcha Dango"),
    },
    "greek": {
        "starter": words("Tzatziki Dolmades Hummus Meze Saganaki"),
        "main": words("Moussaka Gyros Souvlaki Pastitsio Gemista Kleftiko Keftedes Spanakopita"),
        "dessert": words("Baklava Galaktoboureko Loukoumades Halva Kataifi"),
    },
    "american": {
        "starter": words("Wings Chowder Slaw Cornbread Skewers"),
        "main": words("Burger Brisket Meatloaf Jambalaya Ribs Pancakes Hotdog Sandwich"),
        "dessert": words("Cheesecake Brownie Cobbler Sundae Donuts"),
    },
}
MEATY = set(
    words(
        """Carpaccio Lasagna Saltimbocca Biryani Vindaloo Tikka Ceviche Fajitas Tamales Pozole Mole Gyoza Ramen Sushi Katsu
        Donburi Moussaka Gyros Souvlaki Pastitsio Kleftiko Keftedes Wings Chowder Skewers Burger Brisket Meatloaf Jambalaya
        Ribs Hotdog"""
    )
)
"""Dishes with meat or fish."""
FLAVORS = words(
    """Smoky Spicy Golden Crispy Garlic Lemon Honey Ginger Basil Saffron Pepper Rosemary Sesame Maple Chili Truffle Coconut
    Peanut Tomato Spinach Mushroom Pumpkin Almond Walnut Mango Orange Cherry Apple Caramel Vanilla Cinnamon Cardamom Mint
    Parsley Thyme Oregano Paprika Turmeric Cumin Fennel Mustard Olive Caper Onion Leek Celery Carrot Radish Beet Barley Quinoa
    Lentil Chickpea Avocado Lime Papaya Melon Berry Plum Apricot Fig Date Pistachio Hazelnut Cashew Roasted Grilled Braised
    Glazed Stuffed Toasted Marinated Velvety Rustic Country Village Harvest Summer Winter Festive Royal Imperial Classic
    Secret Fiery Sweet Tangy Zesty Creamy Hearty Rainbow Sunset Midnight Garden Island Mountain Harbor Meadow"""
)
STYLES = words(
    """Copper Silver Hungry Lucky Merry Happy Jolly Sleepy Dancing Singing Flying Rolling Red Blue Green Yellow Purple Crimson
    Scarlet Amber Ivory Velvet Marble Wooden Iron Bronze Crooked Hidden Secret Little Tiny Grand Royal Rusty Sunny Rainy Stormy
    Misty Frosty Wandering Laughing Whistling Curious Clever Humble Noble Gentle Brave Quiet Busy Lazy Twisted Painted
    Polished Steaming Sizzling Bubbling Blazing"""
)
HOUSES = words(
    """Spoon Fork Kettle Skillet Ladle Oven Table Plate Bowl Kitchen Pantry Cellar Tavern Bistro Canteen Diner Grill Lantern
    Anchor Barrel Wagon Rooster Goose Fox Badger Bear Otter Heron Sparrow Owl Tortoise Dragon Whale Crab Lobster Oyster Pepper
    Onion Garlic Olive Fig Lemon Pumpkin Chestnut Clover Thistle Nettle Orchard Mill Bakery"""
)
SIDES = words(
    """Fries Rice Salad Coleslaw Potatoes Beans Noodles Couscous Bread Naan Tortilla Polenta Bulgur Wedges Crisps Plantain
    Cucumber Cabbage Corn Peas Asparagus Broccoli Zucchini Eggplant Squash Hushpuppies Biscuit Roti Pita Yams Kale Okra
    Cauliflower Lentils Quinoa Artichokes"""
)
TOPPINGS = words(
    """Cheese Bacon Egg Avocado Jalapenos Olives Mushrooms Onions Pickles Peppers Pineapple Anchovies Capers Feta Parmesan
    Mozzarella Salsa Pesto Gravy Chutney Wasabi Seaweed Sesame Peanuts Cashews Cilantro Basil Chives Truffles Tofu Shrimp
    Tahini Aioli Sriracha Mayonnaise Ketchup Mustard Sprouts"""
)
DISTRICTS = words(
    """Riverside Oldtown Harborview Hilltop Greenfield Stonegate Millbrook Parkside Lakeshore Westend Eastgate Northbank
    Southfield Kingsway Queensbury Fairview Brookside Meadowlark Foxhollow Elmwood Oakdale Pinecrest Cedarville Mapleton
    Ashford Birchwood Willowbank Rosemount Highgate Bridgeton Canalside Dockland Marketside Castlehill Abbeywood Churchend
    Windmere Sunnyside Claypit Redhill Whitecliff Silverlake"""
)
PLACES = words(
    """Home Office Studio Workshop Cabin Loft Garage Dorm Library Clinic Gym Warehouse Cottage Penthouse Boathouse Classroom
    Lab Salon Bakery Bookshop Gallery Farmhouse Houseboat Kiosk Stadium Museum Theater Greenhouse Lighthouse Nursery Barracks
    Chapel Ranch Villa Bungalow Hostel Motel Campsite Marina Depot"""
)
CODES = words(
    """Appetite Banquet Bonanza Brunch Buffet Cravings Crumbs Delish Feast Flavors Foodie Gourmet Gravytrain Hungerstop Jackpot
    Kitchenluck Leftovers Lunchtime Midnightsnack Morsels Munchies Nibbles Nomnom Picnic Potluck Savory Seconds Sizzle Snackbar
    Supper Tasty Tidbit Treats Umami Welcome Yummy Zestful Bigbite Fullplate Goodforks"""
)
REMARKS = ("tasty", "good value", "large portions", "a bit salty", "arrived cold", "the best in town", "nothing special", "")
VEHICLES: tuple[Vehicle, ...] = ("bike", "bike", "scooter", "scooter", "car")
EARLY, LATE = (7 * 60, 7 * 60 + 30, 8 * 60, 8 * 60 + 30), (11 * 60, 11 * 60 + 30, 12 * 60, 16 * 60 + 30)
NINE = 9 * 60
"""The minute of the day at which sessions begin."""


def distinct(make: Callable[[], str], count: int) -> list[str]:
    """`count` different names."""
    names: dict[str, None] = {}
    while len(names) < count:
        names[make()] = None
    return list(names)


def seed_rows(world: World) -> Seed:
    """One city and one customer: 8 restaurants, 40 dishes, some 60 options, 5 couriers, 9 orders."""
    people = world.people()
    spots = world.rng.sample([(x, y) for x in range(4) for y in range(4)], 6)
    districts = {
        key: District(key, name, x, y)
        for key, name, (x, y) in zip(world.ids("dst", 6), distinct(lambda: world.pick(DISTRICTS), 6), spots, strict=True)
    }
    restaurants = _restaurants(world, list(districts))
    dishes = _dishes(world, restaurants)
    options = _options(world, dishes)
    places = {
        key: Place(key, name, world.street(), world.choice(list(districts)))
        for key, name in zip(world.ids("dad", 4), distinct(lambda: world.pick(PLACES), 4), strict=True)
    }
    couriers = {
        key: Courier(
            key, p.name, p.phone, vehicle, world.choice(list(districts)), 0, 0, count * 4 + world.rng.randrange(count), count
        )
        for key, p, vehicle, count in zip(world.ids("cou", 5), people[1:6], VEHICLES, (3, 5, 2, 6, 4), strict=True)
    }
    promos = _promos(world)
    orders = _orders(world, restaurants, dishes, options, places, couriers, districts, promos)
    ratings = _ratings(world, restaurants, orders, [p.name for p in people])
    return {
        "clock": {"clock": Clock(0)},
        "purse": {"purse": Purse(people[0].name, world.amount(70, 160))},
        "districts": districts,
        "restaurants": restaurants,
        "dishes": dishes,
        "options": options,
        "cart": _cart(world, restaurants, dishes),
        "basket": {"cart": Basket("")},
        "promos": promos,
        "places": places,
        "couriers": couriers,
        "orders": orders,
        "ratings": ratings,
        "favorites": {key: Favorite(key) for key in world.rng.sample(list(restaurants), 3)},
    }


def _restaurants(world: World, districts: list[str]) -> dict[str, Restaurant]:
    """The first five are open when the session begins, the sixth has its day off."""
    names = distinct(lambda: f"{world.pick(STYLES)} {world.pick(HOUSES)}", 8)
    cuisines = [*world.rng.sample(CUISINES, 6), *(world.choice(CUISINES) for _ in range(2))]
    today = world.now.weekday()
    rest = [world.rng.choice([d for d in (0, 1, 2, 3, 7) if d != today]) for _ in range(5)] + [
        today,
        7,
        world.rng.choice((0, 7)),
    ]
    rows = {}
    for n, (key, name) in enumerate(zip(world.ids("rst", 8), names, strict=True)):
        opens = world.choice(EARLY if n < 5 else LATE)
        closes = world.choice((20, 21, 22, 23)) * 60
        fee, smallest, reach = world.choice((99, 149, 199)), world.choice((800, 1000, 1200, 1500)), world.rng.randint(4, 7)
        rows[key] = Restaurant(key, name, cuisines[n], world.choice(districts), opens, closes, rest[n], fee, smallest, reach)
    return rows


def _dishes(world: World, restaurants: dict[str, Restaurant]) -> dict[str, Dish]:
    taken: set[str] = set()
    keys = iter(world.ids("dish", len(restaurants) * len(SECTIONS)))
    rows = {}
    for place in restaurants.values():
        for section in SECTIONS:
            while (name := f"{world.pick(FLAVORS)} {(noun := world.choice(MENUS[place.cuisine][section]))}") in taken:
                pass
            taken.add(name)
            cost = world.amount(9, 21) if section == "main" else world.amount(3, 8)
            minutes, left = world.rng.randint(8, 30), world.choice((0, 3, 6, 10, 15, 25))
            key = next(keys)
            rows[key] = Dish(key, place.restaurant_id, name, section, cost, noun not in MEATY, minutes, left)
    return rows


def _options(world: World, dishes: dict[str, Dish]) -> dict[str, Option]:
    """A side or two and a topping for every main dish."""
    wanted: list[tuple[str, str, OptionKind]] = []
    for dish in dishes.values():
        if dish.section == "main":
            wanted += [(dish.dish_id, name, "side") for name in world.picks(SIDES, world.rng.randint(1, 2))]
            wanted += [(dish.dish_id, name, "topping") for name in world.picks(TOPPINGS, 1)]
    return {
        key: Option(key, dish, name, kind, world.choice((50, 99, 150, 200, 250)))
        for key, (dish, name, kind) in zip(world.ids("dopt", len(wanted)), wanted, strict=True)
    }


def _promos(world: World) -> dict[str, Promo]:
    rows = {}
    for n, (key, name) in enumerate(zip(world.ids("prc", 5), distinct(lambda: world.pick(CODES), 5), strict=True)):
        expires = world.day(-20, -2) if n == 0 else world.day(3, 60)
        rows[key] = Promo(
            key, name, world.choice((10, 15, 20, 25)), 800 if n == 2 else world.choice((1000, 1500, 2500)), expires
        )
    return rows


def _orders(
    world: World,
    restaurants: dict[str, Restaurant],
    dishes: dict[str, Dish],
    options: dict[str, Option],
    places: dict[str, Place],
    couriers: dict[str, Courier],
    districts: dict[str, District],
    promos: dict[str, Promo],
) -> dict[str, FoodOrder]:
    """Five delivered, one cancelled, one for noon, one in the kitchen and one on its way, whose courier it keeps busy."""
    kitchen: OrderStatus = world.choice(("accepted", "cooking"))
    statuses: list[OrderStatus] = [*("delivered",) * 5, "cancelled", "placed", kitchen, "out_for_delivery"]
    early = list(restaurants.values())[:5]
    rows: dict[str, FoodOrder] = {}
    for n, (key, status) in enumerate(zip(world.ids("fo", len(statuses)), statuses, strict=True)):
        place = early[n % 5]
        home = districts[place.district_id]
        near = [p for p in places.values() if distance(home, districts[p.district_id]) <= place.reach]
        target = world.choice(near or list(places.values()))
        kilometers = distance(home, districts[target.district_id])
        menu = [d for d in dishes.values() if d.restaurant_id == place.restaurant_id and d.section != "dessert"]
        chosen = world.rng.sample(menu, 2)
        lines = []
        for dish in chosen:
            extras = [o for o in options.values() if o.dish_id == dish.dish_id][: world.rng.randrange(2)]
            quantity = world.choice((1, 1, 2))
            cost = (dish.cents + sum(o.cents for o in extras)) * quantity
            lines.append(OrderLine(dish.dish_id, tuple(o.option_id for o in extras), quantity, cost))
        promo = ""
        if n == 0:
            promo = list(promos)[1]
            promos[promo] = replace(promos[promo], order_id=key)
            paid = shares([line.cents for line in lines], sum(line.cents for line in lines) * promos[promo].percent // 100)
            lines = [replace(line, cents=cost) for line, cost in zip(lines, paid, strict=True)]
        minutes = max(dish.minutes for dish in chosen)
        fee = fee_cents(place, kilometers, sum(line.cents for line in lines))
        placed, start, due, courier = _moments(world, status, n, minutes, kilometers), 0, 0, ""
        if status in ("delivered", "out_for_delivery"):
            free = [c for c in couriers.values() if not c.busy_until]
            courier = world.choice(free).courier_id
        ride = SPEED[couriers[courier].vehicle] * kilometers if courier else 0
        start = placed + 5
        if status == "placed":
            start = 12 * 60 - NINE + world.rng.randint(0, 30)
            due = start - STARTING
        elif status == "accepted":
            due = start
        elif status == "cancelled":
            due = placed + 4
        else:
            due = start + minutes + ride
        order = FoodOrder(
            key,
            place.restaurant_id,
            target.address_id,
            status,
            tuple(lines),
            fee,
            promo,
            placed,
            start,
            minutes,
            kilometers,
            due,
            courier,
        )
        if status == "out_for_delivery":
            couriers[courier] = replace(couriers[courier], busy_until=due, district_id=target.district_id)
        if status == "cancelled":
            order = replace(order, refunded=order.total)
        if status == "delivered" and n in (0, 1):
            order = replace(order, stars=world.rng.randint(3, 5))
        if status == "delivered" and n == 1:
            order = replace(order, courier_stars=4, tip=200)
            couriers[courier] = replace(couriers[courier], tips=200)
        rows[key] = order
    return rows


def _moments(world: World, status: OrderStatus, n: int, minutes: int, kilometers: int) -> int:
    """When an order was placed that is in this state now; the fifth is of yesterday."""
    if status == "placed":
        return -world.rng.randint(5, 60)
    if status == "accepted":
        return -4
    if status == "cooking":
        return -5 - world.rng.randint(1, minutes - 1)
    if status == "out_for_delivery":
        return -5 - minutes - world.rng.randint(1, 2)
    return -24 * 60 * (1 if n == 4 else world.rng.randint(4, 40)) + world.rng.randint(120, 600)


def _ratings(
    world: World, restaurants: dict[str, Restaurant], orders: dict[str, FoodOrder], people: list[str]
) -> dict[str, Rating]:
    rows = {}
    for key in restaurants:
        for author in world.rng.sample(people[6:], world.rng.randint(2, 4)):
            rows[f"{key}/{author}"] = Rating(key, author, world.choice((2, 3, 3, 4, 4, 5, 5)), world.choice(REMARKS))
    for order in orders.values():
        if order.stars:
            rows[order.food_order_id] = Rating(order.restaurant_id, people[0], order.stars, world.choice(REMARKS))
    return rows


def _cart(world: World, restaurants: dict[str, Restaurant], dishes: dict[str, Dish]) -> dict[str, CartLine]:
    """Two portions of a main dish of a restaurant that is open, if one has them left."""
    early = list(restaurants)[:5]
    dish = next((d for d in dishes.values() if d.restaurant_id in early and d.section == "main" and d.portions > 2), None)
    if dish is None:
        return {}
    (key,) = world.ids("mln", 1)
    return {key: CartLine(key, dish.dish_id, (), 2)}
