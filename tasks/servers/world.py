"""The seeded source of everything random in a server's state: names, amounts, the session's clock.

`World(seed, server)` gives the same values for the same seed, and different ones for another seed or
server; the people of a seed are shared by all its servers, so that conversations can cross servers.

Word lists come from Faker. Each list is cut in two by a stable hash: worlds whose seed is at least
HELD_OUT_FROM draw from the held-out fifth, all others from the rest, so no name of a held-out world
ever occurs in a training world. Every name in a server's seed data must therefore go through
`World.pool` (directly or through person, company, city, ...).

Left out: locales other than en_US.
"""

from __future__ import annotations

import datetime as dt
import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

HELD_OUT_FROM = 1 << 20
"""Seeds from here on are held-out worlds."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Person:
    """A person of the world, known to all servers of a session."""

    name: str
    email: str
    phone: str


def words(text: str) -> tuple[str, ...]:
    """A word list written as text: its words, in order."""
    return tuple(text.split())


@cache
def _split(words: tuple[str, ...], held_out: bool) -> tuple[str, ...]:
    chosen = tuple(w for w in words if (zlib.crc32(w.lower().encode()) % 5 == 0) == held_out)
    if len(chosen) < 2:
        part = "held-out" if held_out else "training"
        raise ValueError(f"a word list of {len(words)} leaves {len(chosen)} {part} words: {words[:5]}")
    return chosen


@cache
def _faker_words() -> dict[str, tuple[str, ...]]:
    from faker.providers.address.en_US import Provider as Address
    from faker.providers.company.en_US import Provider as Company
    from faker.providers.person.en_US import Provider as People

    def usable(values: object) -> tuple[str, ...]:
        return tuple(sorted({v for v in values if isinstance(v, str) and v.isascii() and v.isalpha()}))  # type: ignore[attr-defined]

    return {
        "first": usable(People.first_names),
        "last": usable(People.last_names),
        "suffix": usable(Company.company_suffixes),
        "state": usable(Address.states),
        "city_prefix": usable(Address.city_prefixes),
        "city_suffix": usable(Address.city_suffixes),
        "street_suffix": usable(Address.street_suffixes),
    }


class World:
    """Seeded choices for one server of one session seed. Not thread-safe; used while seeding only."""

    def __init__(self, seed: int, server: str) -> None:
        self.seed = seed
        self.held_out = seed >= HELD_OUT_FROM
        self.rng = random.Random(f"{seed}/{server}")
        start = dt.datetime(2026, 1, 5, 9, 0)
        self.now = start + dt.timedelta(days=random.Random(f"{seed}/clock").randrange(330))

    def pool(self, words: Sequence[str]) -> tuple[str, ...]:
        """The part of `words` that this world may use. Raises ValueError when a part has under 2 words."""
        return _split(tuple(words), self.held_out)

    def pick(self, words: Sequence[str]) -> str:
        """One word of this world's part of `words`."""
        return self.rng.choice(self.pool(words))

    def picks(self, words: Sequence[str], count: int) -> list[str]:
        """`count` distinct words of this world's part (fewer when the part is smaller), in random order."""
        pool = self.pool(words)
        return self.rng.sample(pool, min(count, len(pool)))

    def choice(self, options: Sequence[T]) -> T:
        """One of a closed set of options (kinds, states, currencies): not split by held-out."""
        return self.rng.choice(options)

    def first_name(self) -> str:
        return self.pick(_faker_words()["first"])

    def last_name(self) -> str:
        return self.pick(_faker_words()["last"])

    def person(self) -> str:
        """A full name."""
        return f"{self.first_name()} {self.last_name()}"

    def company(self) -> str:
        """A company's name."""
        return f"{self.last_name()} {self.choice(_faker_words()['suffix'])}"

    def city(self) -> str:
        """A city's name."""
        return self.last_name() + self.choice(_faker_words()["city_suffix"])

    def street(self) -> str:
        """A street with a number."""
        return f"{self.rng.randrange(1, 200)} {self.last_name()} {self.choice(_faker_words()['street_suffix'])}"

    def people(self, count: int = 12) -> list[Person]:
        """The people of this seed, the same for all servers; first names are distinct."""
        rng = random.Random(f"{self.seed}/people")
        firsts = rng.sample(self.pool(_faker_words()["first"]), count)
        lasts = rng.sample(self.pool(_faker_words()["last"]), count)
        return [
            Person(f"{first} {last}", f"{first}.{last}@example.com".lower(), f"555-{rng.randrange(1000, 9999)}")
            for first, last in zip(firsts, lasts, strict=True)
        ]

    def numbers(self, count: int, digits: int = 3) -> list[int]:
        """`count` distinct numbers of exactly `digits` digits with no leading zero, for identifiers."""
        return self.rng.sample(range(10 ** (digits - 1), 10**digits), count)

    def ids(self, prefix: str, count: int, digits: int = 3) -> list[str]:
        """`count` distinct identifiers `prefix_NNN`."""
        return [f"{prefix}_{n}" for n in self.numbers(count, digits)]

    def amount(self, low: float, high: float) -> int:
        """A random amount in cents, from `low` to `high` given in whole units; ends in .00, .50 or .99 mostly."""
        whole = self.rng.randrange(int(low), int(high) + 1)
        return whole * 100 + self.rng.choice((0, 0, 0, 50, 99))

    def day(self, low: int, high: int) -> str:
        """A date from `low` to `high` days after the session's clock, YYYY-MM-DD."""
        return (self.now + dt.timedelta(days=self.rng.randint(low, high))).date().isoformat()
