"""Word lists and seeded rows of the social media server.

    rows = seed_rows(World(7, "social_media"))

In every world the user's profile is private and is asked by two others, follows some and has asked another, has blocked one,
keeps bookmarks and has a draft that is scheduled; so each tool has something to work on.

Left out: profiles that block the user, which would be found by nobody.
"""

from __future__ import annotations

import datetime as dt

from tasks.servers.social_media_types import Audience, Comment, Draft, Link, Post, PrivateMessage, Profile, User
from tasks.servers.state import Seed
from tasks.servers.world import World, words

HANDLES = words(
    """Acorn Breeze Cedar Drizzle Echo Fable Glint Haze Iris Jolt Karma Lilac Mellow Nomad Opal Plume Quirk Rove Sprig Tidal
    Umber Vivid Wander Xenia Yarn Zest Amble Bliss Crisp Dapple Eddy Frost Gleam Hush Inlet Jade Kite Lull Mirth Nook"""
)
PLACES = words(
    """Lane Studio Garden Kitchen Trail Press Lab Corner Loft Works Notes Diary Club Yard Bench Shelf Porch Attic Harbor Mill
    Grove Market Parlor Tower Cabin Bakery Gallery Orchard Terrace Library Balcony Cellar Courtyard Dock Forge Hut"""
)
THINGS = words(
    """bread sunrise marathon orchid bicycle harbour violin mural canyon espresso lighthouse sketch tomato glacier quilt falcon
    ramen telescope cottage tulip canoe lantern waffle sculpture meadow comet pottery sourdough waterfall penguin typewriter
    dumpling aurora cactus postcard"""
)
OPENERS = (
    "Today I found the {}",
    "Look at this {}",
    "Still thinking about the {}",
    "My first look at the {}",
    "Nothing beats the {}",
    "A whole day with the {}",
)
REMARKS = ("What a lovely {}", "More {} please", "Where did you find the {}", "I want a {} too", "The {} is the best part")
NOTES = ("Did you see the {}", "Thanks for the {}", "Shall we share the {}", "Tell me about the {}")
TAGS = ("food", "travel", "music", "nature", "art", "sport", "craft", "pets")
PROFILES = 12
ME, ASKED, BLOCKED = 0, 7, 10
"""The user; a private profile that they have asked; the profile that they block."""
PRIVATE = (ME, 3, ASKED, 11)
FOLLOWED = (2, 3, 5)
FOLLOWERS = (2, 4)
ASKING = (1, 6)
"""Profiles that the user follows from the start, some that follow the user, and those that ask to."""


def seed_rows(world: World) -> Seed:
    """All tables of one world."""
    profiles = _profiles(world)
    links = _links(world, list(profiles))
    posts = _posts(world, profiles, links)
    drafts = {key: Draft(key, f"{_line(world)}, more soon", "everyone", (world.choice(TAGS),)) for key in world.ids("pdr", 4)}
    planned = next(iter(drafts))
    due = dt.datetime.combine(world.now.date() + dt.timedelta(days=world.rng.randint(1, 20)), dt.time(world.rng.randint(8, 19)))
    drafts[planned] = Draft(planned, drafts[planned].text, "everyone", drafts[planned].tags, f"{due:%Y-%m-%d %H:%M}")
    ids = list(profiles)
    return {
        "profiles": profiles,
        "links": links,
        "posts": posts,
        "comments": _comments(world, posts),
        "drafts": drafts,
        "messages": {
            key: PrivateMessage(key, ids[FOLLOWED[n % 3]], n % 2 == 1, world.choice(NOTES).format(world.pick(THINGS)), at)
            for n, (key, at) in enumerate(zip(world.ids("pms", 8), _times(world, 8), strict=True))
        },
        "user": {"user": User(ids[ME])},
    }


def _line(world: World) -> str:
    return world.choice(OPENERS).format(world.pick(THINGS))


def _times(world: World, count: int) -> list[str]:
    """Minutes of the last month, the earliest first."""
    return sorted(f"{world.day(-30, -1)} {world.rng.randrange(7, 23):02d}:{world.rng.randrange(60):02d}" for _ in range(count))


def _profiles(world: World) -> dict[str, Profile]:
    firsts, places = world.picks(HANDLES, PROFILES), world.picks(PLACES, PROFILES)
    pairs = [f"{first} {place}" for first in firsts for place in places]
    names = world.rng.sample(pairs, PROFILES)
    rows = {}
    for n, (key, name) in enumerate(zip(world.ids("prof", PROFILES), names, strict=True)):
        one, other = world.picks(THINGS, 2)
        rows[key] = Profile(key, name, f"All about {one} and {other}", n in PRIVATE)
    return rows


def _links(world: World, ids: list[str]) -> dict[str, Link]:
    private = {ids[n] for n in PRIVATE}
    rows: list[Link] = []
    for n, source in enumerate(ids):
        if n == ME:
            rows += [Link("follow", source, ids[k]) for k in FOLLOWED]
            rows += [Link("follow", source, ids[ASKED], True), Link("block", source, ids[BLOCKED])]
            continue
        if n in ASKING:
            rows.append(Link("follow", source, ids[ME], True))
        if n in FOLLOWERS:
            rows.append(Link("follow", source, ids[ME]))
        for target in world.rng.sample(ids, 5):
            to_user = target == ids[ME] and (n in ASKING or n == BLOCKED)
            if source != target and not to_user:
                pending = target in private and target != ids[ME] and world.rng.random() < 0.3
                rows.append(Link("follow", source, target, pending))
    return {f"{row.kind}/{row.source}/{row.target}": row for row in rows}


def _posts(world: World, profiles: dict[str, Profile], links: dict[str, Link]) -> dict[str, Post]:
    ids = list(profiles)
    rows: dict[str, Post] = {}
    open_posts: list[str] = []
    for n, (key, at) in enumerate(zip(world.ids("post", 36), _times(world, 36), strict=True)):
        author = ids[n % PROFILES] if n < 2 * PROFILES else world.choice(ids)
        audience: Audience = "followers" if profiles[author].private or n % 5 == 4 else "everyone"
        friends = [p for p in ids if (link := links.get(f"follow/{p}/{author}")) is not None and not link.pending]
        likes = tuple(p for p in friends if world.rng.random() < 0.4)
        tags = tuple(sorted(world.rng.sample(TAGS, world.rng.randint(0, 2))))
        options = tuple(world.picks(THINGS, 3)) if n % 6 == 2 else ()
        votes = tuple((p, world.rng.randint(1, len(options))) for p in friends if p != ids[ME]) if options else ()
        # some of the later public posts share an earlier one, as share_post would let them
        shared = world.choice(open_posts) if n % 7 == 6 and open_posts and not options and audience == "everyone" else ""
        saved = (ids[ME],) if n in (2, 14, 17) else ()
        rows[key] = Post(key, author, _line(world), at, audience, tags, likes, saved, shared, options, votes)
        if audience == "everyone" and not shared:
            open_posts.append(key)
    return rows


def _comments(world: World, posts: dict[str, Post]) -> dict[str, Comment]:
    rows = {}
    for key in world.ids("pcom", 24):
        post = world.choice(list(posts.values()))
        author = world.choice([*post.likes, post.author])
        rows[key] = Comment(key, post.post_id, author, world.choice(REMARKS).format(world.pick(THINGS)))
    return rows
