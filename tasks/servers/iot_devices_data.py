"""Seeded data of the iot_devices server: word lists, homes with their devices, scenes, automations and codes.

Run: nothing here runs by itself; `tasks.servers.iot_devices` is the server.

Left out: brands.
"""

from __future__ import annotations

import datetime as dt

from tasks.servers import iot_devices_rows as r
from tasks.servers import iot_devices_types as t
from tasks.servers.state import Seed
from tasks.servers.world import World, words

HOMES = words(
    """Birch Bungalow Cabin Castle Chalet Chateau Cliff Cottage Crofters Dockside Dune Estate Family Farm Forest Grange Harbor
    Haven Heather Hillside Homestead Island Lakeview Lodge Manor Mill Mountain Orchard Palace Parkview Penthouse Pinewood
    Prairie Ranch Rectory River Seaside Summer Sunny Town Treetop Valley Villa Vineyard Waterfront Winter Woodland Canal
    Coast Desert Garden Ivy Meadow Oak Quarry Station Stone Swan Tower Terrace Wharf"""
)
ZONES = words(
    """Alcove Annex Attic Balcony Basement Bathroom Bedroom Boudoir Breezeway Cellar Cloakroom Conservatory Corridor Courtyard
    Cupola Darkroom Deck Den Driveway Entrance Foyer Gallery Garage Greenhouse Guestroom Gym Hallway Kitchen Kitchenette
    Landing Larder Laundry Library Lobby Loft Lounge Mezzanine Mudroom Nook Nursery Office Orangery Pantry Parlor Patio
    Pergola Playroom Pool Porch Roof Salon Sauna Shed Snug Solarium Spa Stairwell Storage Studio Sunroom Veranda Vestibule
    Wardrobe Washroom Workshop Yard Barn Belvedere Carport Closet Gazebo Hobby Music Scullery Stable Theater Utility
    Atelier Boathouse Gatehouse Icehouse Lawn Linen Media Pavilion Stage Teahouse Aviary Ballroom Cinema Bunkroom"""
)
DEVICES = words(
    """Amber Apollo Arrow Aspen Aurora Badger Bamboo Beetle Blossom Bramble Breeze Buttercup Cactus Cedar Cinder Clover Cobalt
    Comet Copper Coral Cricket Daisy Dawn Denim Ember Falcon Fern Finch Flint Frost Ginger Glacier Hazel Heron Indigo Iris
    Ivory Jade Juniper Kestrel Lark Laurel Lily Lotus Lunar Maple Marble Meadow Misty Moss Nectar Nimbus Olive Onyx Opal
    Orbit Otter Pearl Pepper Pine Poppy Quartz Raven Robin Rowan Ruby Saffron Sage Sienna Silver Sparrow Sunny Tango Teal
    Thistle Topaz Tulip Velvet Violet Walnut Willow Wren Zephyr"""
)
SCENES = words(
    """Afterglow Awakening Banquet Bedtime Bliss Breakfast Brunch Calm Candlelight Carnival Celebration Coffee Concert Cooking
    Cozy Dance Daybreak Daydream Departure Dinner Downtime Dusk Early Evening Fiesta Focus Gaming Gathering Goodnight Guests
    Harvest Holiday Homecoming Homework Lullaby Lunch Meditation Midnight Moonlight Morning Movie Nap Noon Painting Party
    Picnic Quiet Rainy Reading Recharge Relax Romance Siesta Snowy Stargazing Storm Studying Summer Sundown Sunrise Sunset
    Supper Teatime Travel Twilight Vacation Wakeup Weekend Workday Workout Yoga Arrival Baking Birthday Cocktail Nightcap
    Piano Practice Serenade Sleepover Tranquil Tropical"""
)
GROUPS = words(
    """Ambient Anchor Avenue Backyard Beacon Bundle Cascade Chain Circle Cluster Collection Constellation Corner Crew Downstairs
    Ensemble Entry Exterior Fleet Galaxy Ground Indoor Kids Nightly Outdoor Parents Perimeter Quartet Rear Row Sector South
    Squad Stack Trio Twins Upstairs Weekday West Window Array Band Bank Batch Cohort Duo Flock Herd Line Ring String Swarm"""
)
NOUNS: dict[t.Kind, str] = {
    "lamp": "Lamp",
    "thermostat": "Thermostat",
    "smart_lock": "Lock",
    "blind": "Blind",
    "camera": "Camera",
    "speaker": "Speaker",
    "plug": "Plug",
    "sensor": "Sensor",
    "vacuum": "Vacuum",
    "sprinkler": "Sprinkler",
}
ROLES: tuple[t.HomeRole, ...] = ("owner", "owner", "guest")
PRESENCES: tuple[t.Presence, ...] = ("home", "away", "night")
PER_HOME: tuple[tuple[t.Kind, ...], ...] = (
    (
        *("lamp", "lamp", "lamp", "thermostat", "thermostat", "smart_lock", "smart_lock", "blind", "blind", "camera"),
        *("speaker", "speaker", "plug", "plug", "sensor", "sensor", "vacuum", "sprinkler"),
    ),
    ("lamp", "lamp", "thermostat", "smart_lock", "blind", "camera", "speaker", "plug", "sensor", "sprinkler"),
    ("lamp", "lamp", "thermostat", "smart_lock", "blind", "plug", "sensor"),
)
"""The kinds of devices in each home."""
TYPICAL: dict[t.Setting, tuple[int, ...]] = {
    "power": (0, 1),
    "brightness": (20, 40, 60, 80, 100),
    "warmth": (2700, 3000, 4000, 5000),
    "temperature": (17, 18, 19, 20, 21, 22, 23),
    "locked": (0, 1),
    "position": (0, 25, 50, 75, 100),
    "recording": (0,),
    "angle": (45, 90, 135),
    "volume": (10, 20, 25, 30),
    "cleaning": (0,),
    "minutes": (0,),
}
READINGS: dict[t.Sense, tuple[int, int]] = {
    "temperature": (16, 27),
    "humidity": (30, 70),
    "moisture": (20, 80),
    "contact": (0, 1),
    "motion": (0, 1),
}


def seed_rows(world: World) -> Seed:
    """3 homes (two of them the user's), 12 zones, 35 devices, 5 groups, 9 scenes, 8 automations, 6 access codes."""
    named = zip(world.ids("home", 3), world.picks(HOMES, 3), ROLES, strict=True)
    homes = {
        key: r.Home(key, f"{name} House", world.city(), world.choice(PRESENCES), role, world.rng.randrange(15, 45))
        for key, name, role in named
    }
    owners = [home for home in homes for _ in range(4)]
    zones = {
        key: r.Zone(key, home, name)
        for key, home, name in zip(world.ids("zone", 12), owners, world.picks(ZONES, 12), strict=True)
    }
    latest: dict[str, r.Latest] = {kind: r.Latest(kind, world.rng.randrange(3, 9)) for kind in r.CAPABILITIES}
    devices = _devices(world, zones, list(homes), latest)
    scenes = _scenes(world, zones, devices, list(homes))
    return {
        "homes": homes,
        "zones": zones,
        "devices": devices,
        "groups": _groups(world, devices),
        "scenes": scenes,
        "automations": _automations(world, zones, devices, scenes),
        "codes": _codes(world, devices),
        "meters": {
            row.device_id: r.Meter(row.device_id, tuple(world.rng.randrange(40, 2400) for _ in range(7)))
            for row in devices.values()
            if row.battery < 0
        },
        "firmware": latest,
    }


def _devices(world: World, zones: dict[str, r.Zone], homes: list[str], latest: dict[str, r.Latest]) -> dict[str, r.Device]:
    kinds = [(home, kind) for home, kinds in zip(homes, PER_HOME, strict=True) for kind in kinds]
    nouns = {kind: iter(world.picks(DEVICES, 8)) for kind in r.CAPABILITIES}
    devices = {}
    for key, (home, kind) in zip(world.ids("dvc", len(kinds)), kinds, strict=True):
        zone = world.choice([row.zone_id for row in zones.values() if row.home_id == home])
        values = tuple(sorted((setting, world.choice(TYPICAL[setting])) for setting in r.CAPABILITIES[kind]))
        fault: r.Fault = world.choice(("", "", "", "", "", "", "no_wifi", "unplugged"))
        battery = -1
        if kind in r.ON_BATTERY:
            battery = world.choice((0, 18, 45, 63, 80, 91, 97))
            fault = "" if fault == "unplugged" else fault
        sense: t.Sense | None = world.choice(tuple(READINGS)) if kind == "sensor" else None
        reading = world.rng.randint(*READINGS[sense]) if sense else 0
        version = latest[kind].version - world.choice((0, 0, 1, 2))
        devices[key] = r.Device(
            key, zone, f"{next(nouns[kind])} {NOUNS[kind]}", kind, fault, battery, version, values, sense, reading
        )
    return devices


def _groups(world: World, devices: dict[str, r.Device]) -> dict[str, r.Group]:
    able = [key for key, row in devices.items() if "power" in dict(row.values)]
    return {
        key: r.Group(key, name, tuple(sorted(world.rng.sample(able, world.rng.randrange(2, 6)))))
        for key, name in zip(world.ids("dgrp", 5), world.picks(GROUPS, 5), strict=True)
    }


def _scenes(world: World, zones: dict[str, r.Zone], devices: dict[str, r.Device], homes: list[str]) -> dict[str, r.Scene]:
    scenes = {}
    for number, (key, name) in enumerate(zip(world.ids("scene", 9), world.picks(SCENES, 9), strict=True)):
        home = homes[number % 3]
        able = [row for row in devices.values() if row.values and zones[row.zone_id].home_id == home]
        settings = []
        for row in world.rng.sample(able, world.rng.randrange(2, 5)):
            setting = world.choice([setting for setting, _ in row.values])
            settings.append((row.device_id, setting, world.choice(TYPICAL[setting])))
        scenes[key] = r.Scene(key, home, name, tuple(sorted(settings)))
    return scenes


def _automations(
    world: World, zones: dict[str, r.Zone], devices: dict[str, r.Device], scenes: dict[str, r.Scene]
) -> dict[str, r.Automation]:
    automations = {}
    triggers: tuple[t.TriggerKind, ...] = ("time", "time", "time", "presence", "presence", "presence", "sensor", "sensor")
    for key, name, trigger in zip(world.ids("autom", 8), world.picks(SCENES, 8), triggers, strict=True):
        scene = world.choice(list(scenes.values()))
        at = f"{world.rng.randrange(5, 24):02d}:{world.choice(('00', '15', '30', '45'))}" if trigger == "time" else ""
        presence = world.choice(PRESENCES) if trigger == "presence" else ""
        sensor = ""
        if trigger == "sensor":
            own = [d for d in devices.values() if d.kind == "sensor" and zones[d.zone_id].home_id == scene.home_id]
            sensor = world.choice(own).device_id
        above, enabled = world.rng.randrange(60) if sensor else 0, world.choice((True, True, False))
        automations[key] = r.Automation(
            key, scene.home_id, f"{name} Routine", scene.scene_id, trigger, at, presence, sensor, above, enabled
        )
    return automations


def _codes(world: World, devices: dict[str, r.Device]) -> dict[str, r.Code]:
    locks = [key for key, row in devices.items() if row.kind == "smart_lock"]
    codes = {}
    for key, person, begins in zip(world.ids("acode", 6), world.people(), (-40, -12, -5, -3, 0, 4), strict=False):
        first = world.now.date() + dt.timedelta(days=begins)
        last = first + dt.timedelta(days=world.rng.randrange(8, 20))
        lock = world.choice(locks)
        codes[key] = r.Code(key, lock, person.name, first.isoformat(), last.isoformat(), 0, False)
    return codes
