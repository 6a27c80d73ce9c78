"""The seeded tree of the filesystem server: word lists and `seeded(world)`.

Left out: binary files. Every file is text of a few short lines, or an archive of such files.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from tasks.servers.filesystem_tree import ROOT, File, Folder, Link, Member, Place, Trashed, join, parent, size
from tasks.servers.world import World, words

FOLDER_NAMES = words(
    """accounts admin archive assets audits backups banking board bridge budget campus charts clients clinic contracts courses
    design desk drafts energy events exports family farm finance fleet forms freight gallery garden grants guides harvest
    health hiring history home imports insurance inventory invoices island kitchen labs lectures ledger legal letters
    library logistics maps market media meetings mobile models museum music orders outreach partners payroll permits photos
    plans policy portal press private projects public quality quotes recipes records repairs reports research retail review
    safety sales samples school science scripts service shared shipping staff stock storage studio survey tax team tenders
    tickets training travel treasury vendors video volunteers warehouse website weekly wedding workshop yearbook"""
)
FILE_STEMS = words(
    """acorn agenda alloy amber anchor apple apron arrow ashes aspen atlas attic autumn badge bamboo banner barley basil basket
    beacon beetle birch bishop blossom bonnet border bottle boulder bracket branch brass breeze brick bronze brook bucket
    butter button cabin cactus camel candle canoe canyon carbon carpet castle cedar cello chalk cherry chisel cider cinder
    clover cobalt cocoa comet compass copper coral cotton cradle crater crayon creek cricket crown crystal curtain cypress
    daisy dancer delta desert diamond dragon drum eagle echo elbow elm ember emerald engine fabric falcon feather fennel fern
    fiddle finch flame flint flute forest fossil fountain fox galaxy garlic garnet geyser ginger glacier glove goblet granite
    grape gravel guitar hammer hamlet harbor hazel heron hickory hollow honey hornet igloo indigo iris iron ivory jacket jasmine
    jersey jewel jungle juniper kettle kiwi ladder lagoon lantern laurel lemon lilac linen lizard lobster locket lotus magnet
    mango maple marble meadow melon meteor mint mirror mitten moss mustard nectar needle nickel nutmeg oasis ocean olive onion
    onyx opal orbit orchid otter oyster paddle panda paper parrot pebble pepper pillow pine piper planet plaza plum pocket
    pollen poplar poppy prairie prism puzzle quartz quill rabbit radish raven ribbon ridge river robin rocket ruby saffron
    salmon sandal satin scarf shadow shell shovel silk silver spark spice spruce squash statue stone storm sugar summit sunset
    swan tango temple thistle thunder tiger timber topaz torch trumpet tulip tunnel turtle valley vanilla velvet violet walnut
    whale willow window winter wolf zebra zinc zipper"""
)
NEW_STEMS = words(
    """backlog bulletin capture checklist chronicle circular concept cookbook crib digest dossier essay excerpt factsheet
    gazette glossary handout headline inbox intro itinerary journal keynote leaflet logbook manifest memo menu minutes
    notebook notice novella outline overview pamphlet playlist postcard primer prologue readme recap register roster scratch
    script sketch snippet storyboard summary syllabus tally template timetable todo transcript tutorial verdict wishes
    worksheet writeup"""
)
NEW_FOLDERS = words(
    """alumni annex arcade arena ateliers barracks bazaar bureau cellar chapel cloister closet corner cottage crates deck depot
    drawer enclave foyer garage hangar hatch kiosk larder lobby locker lodge loft lounge manor nook pantry parlor patio
    pavilion pier porch quarry ranch sandbox shed shelf silo spare stable stall tavern terrace tower vault veranda villa
    wharf yard"""
)
TAGS = words(
    """active annual approved blocked bold bright broken calm cheap clean closed cold complete current daily dated deep deferred
    done dormant double early easy fast final flagged frozen hidden hot idle important internal large late light local loose
    main minor missing monthly narrow new obsolete old open ordered paid partial pending planned prime quick quiet ready
    recent rough secret shared sharp short signed slow small solid special stale strict sunny tight urgent vital warm
    weak wide yearly"""
)
TOPICS = words(
    """airport alarm balcony battery bicycle bill blanket boiler brochure cable calendar camera canvas carton catalog ceiling
    chimney coffee concert contract cupboard deadline deposit dinner elevator fence festival filter flight freezer furnace
    gutter heater helmet hinge hotel invoice keyboard ladle lamp laptop lawn lease luggage mattress mileage mortgage motor
    mower oven paint parcel parking passport payment pension permit piano picnic pipe plumbing printer projector pump radiator
    receipt refund rent roof router schedule sensor server shower signature sofa speaker stapler stove sweater switch tablet
    theater ticket tile tire towel tractor trailer tutor umbrella vaccine valve voucher wallet warranty"""
)

LEVELS = ("INFO", "WARN", "ERROR")
"""The words that log lines start with; every log has each of them."""
SHAPE: tuple[tuple[int, ...], ...] = ((0, 1), (1,), (0,), (0, 0))
"""Subfolders of each top folder, and how many folders each of those holds."""
FILES = 22
QUOTA = 20_000
"""Bytes that the whole tree may hold, its bin included."""


def _notes(world: World) -> list[str]:
    verbs = ("call", "ask", "meet", "thank", "remind", "email")
    return [
        f"{world.choice(verbs)} {world.first_name()} about the {world.pick(TOPICS)}" for _ in range(world.rng.randint(2, 5))
    ]


def _items(world: World) -> list[str]:
    things = world.picks(TOPICS, world.rng.randint(2, 4))
    return [world.choice(things) for _ in range(world.rng.randint(3, 7))]


def _csv(world: World) -> list[str]:
    return [f"{word},{world.rng.randint(2, 99)}" for word in world.picks(TOPICS, world.rng.randint(2, 5))]


def _log(world: World) -> list[str]:
    levels = [*LEVELS, *(world.choice(LEVELS) for _ in range(world.rng.randint(0, 3)))]
    world.rng.shuffle(levels)
    return [f"{level} {world.pick(TOPICS)} {world.rng.randint(100, 599)}" for level in levels]


WRITERS: tuple[tuple[str, Callable[[World], list[str]]], ...] = (
    ("txt", _notes),
    ("txt", _items),
    ("md", _notes),
    ("csv", _csv),
    ("log", _log),
)


def _folders(world: World) -> list[str]:
    names = iter(world.picks(FOLDER_NAMES, 4 + sum(len(t) + sum(t) for t in SHAPE)))
    paths = []
    tops = 4 if world.rng.random() < 0.5 else 3
    for subs in SHAPE[:tops]:
        top = join(ROOT, next(names))
        paths.append(top)
        for deeper in subs:
            sub = join(top, next(names))
            paths.append(sub)
            paths += [join(sub, next(names)) for _ in range(deeper)]
    return paths


def _file(world: World, number: int, path: str, owners: list[str]) -> File:
    suffix, writer = WRITERS[number % len(WRITERS)]
    mode = world.choice(("rw", "rw", "rw", "rw", "rw", "ro"))
    tags = tuple(sorted(world.picks(TAGS, world.choice((0, 0, 1, 1, 2)))))
    return File(f"{path}.{suffix}", "\n".join(writer(world)), mode, world.choice(owners), world.day(-60, -1), tags)


def _archive(world: World, path: str, stems: list[str], owners: list[str]) -> File:
    members = tuple(Member(f"{stem}.txt", world.pick(TOPICS)) for stem in stems)
    return File(f"{path}.zip", "", "rw", world.choice(owners), world.day(-60, -1), (), members)


def seeded(world: World) -> dict[str, dict[str, Any]]:
    """Tables of about a dozen folders and two dozen files, two archives, three links and three files in the bin."""
    owners = [person.name for person in world.people()[:4]]
    folders = _folders(world)
    filled = folders[:-1]  # the last is a leaf and stays empty
    locked = world.choice([path for path in filled if path != parent(folders[-1])])
    free = [path for path in filled if path != locked]
    stems = iter(world.picks(FILE_STEMS, FILES + 12))
    places = [*filled, *(world.choice(free) for _ in range(FILES - len(filled)))]
    world.rng.shuffle(places)
    plain = [_file(world, number, join(folder, next(stems)), owners) for number, folder in enumerate(places)]
    rows = plain + [
        _archive(world, join(world.choice(free), next(stems)), [next(stems), next(stems)], owners) for _ in range(2)
    ]
    links = [Link(join(world.choice(free), next(stems)), row.file) for row in world.rng.sample(plain, 3)]
    gone = [_file(world, number, join(world.choice(free), next(stems)), owners) for number in range(3)]
    binned = [
        Trashed(key, row, (world.now - dt.timedelta(days=world.rng.randint(0, 20))).date().isoformat())
        for key, row in zip(world.ids("item", len(gone)), gone, strict=True)
    ]
    used = sum(map(size, rows)) + sum(map(size, gone))
    return {
        "folders": {ROOT: Folder(ROOT, False)} | {path: Folder(path, path == locked) for path in folders},
        "files": {row.file: row for row in rows},
        "links": {row.link: row for row in links},
        "bin": {row.item_id: row for row in binned},
        "place": {"here": Place(ROOT, owners[0], used + QUOTA)},
    }
