"""Copy-on-write tables: the whole state of a server session.

A seed's state is built once and shared, immutable, by every session of that seed; a session holds only
what it changed. So opening a session costs the same for any amount of data, and sessions are isolated
by construction: rows are frozen dataclasses, and nothing a session does can reach the shared rows.

Left out: indexes. Tables hold tens to hundreds of rows; a scan is microseconds.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

import orjson

from tasks.servers.tool import ToolError

Row = TypeVar("Row")
Seed = Mapping[str, Mapping[str, Any]]
"""A server's seeded state: table name -> key -> frozen row."""

_GONE: Any = object()


class Table(Generic[Row]):
    """Rows by key over a shared base. Iteration follows the base's order, then insertion order."""

    __slots__ = ("base", "name", "own")

    def __init__(self, name: str, base: Mapping[str, Row]) -> None:
        self.name = name
        self.base = base
        self.own: dict[str, Row] = {}

    def get(self, key: str) -> Row | None:
        """The row of `key`, or None."""
        row = self.own.get(key)
        if row is None:
            return self.base.get(key)
        return None if row is _GONE else row

    def __getitem__(self, key: str) -> Row:
        row = self.get(key)
        if row is None:
            raise KeyError(key)
        return row

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        return sum(1 for _ in self.items())

    def items(self) -> Iterator[tuple[str, Row]]:
        """(key, row) of every live row. Safe against changes made while iterating."""
        if not self.own:
            yield from self.base.items()
            return
        own = dict(self.own)
        for key, row in self.base.items():
            row = own.pop(key, row)
            if row is not _GONE:
                yield key, row
        for key, row in own.items():
            if row is not _GONE:
                yield key, row

    def values(self) -> Iterator[Row]:
        for _, row in self.items():
            yield row

    def __iter__(self) -> Iterator[str]:
        for key, _ in self.items():
            yield key

    def where(self, test: Callable[[Row], bool]) -> list[Row]:
        """The rows that satisfy `test`, in order."""
        return [row for row in self.values() if test(row)]

    def put(self, key: str, row: Row) -> Row:
        """Adds or replaces a row and returns it."""
        self.own[key] = row
        return row

    def update(self, key: str, **changes: Any) -> Row:
        """Replaces fields of an existing row and returns the new row. Raises KeyError when absent."""
        return self.put(key, replace(self[key], **changes))  # type: ignore[type-var]

    def remove(self, key: str) -> Row:
        """Removes a row and returns it. Raises KeyError when absent."""
        row = self[key]
        if key in self.base:
            self.own[key] = _GONE
        else:
            del self.own[key]
        return row

    def fresh(self, prefix: str, *content: Any, digits: int = 3) -> str:
        """An unused key `prefix_NNN` that follows from `content` and not from the order of calls.

        Two sessions that create the same things in another order end in equal states, so an order-free
        task has one final digest. Collisions take the next free number. Raises ToolError(insufficient)
        when all numbers are taken.
        """
        low, span = 10 ** (digits - 1), 9 * 10 ** (digits - 1)
        number = zlib.crc32(orjson.dumps([prefix, *content])) % span
        for step in range(span):
            key = f"{prefix}_{low + (number + step) % span}"
            if key not in self.base and key not in self.own:
                return key
        raise ToolError("insufficient", f"{self.name} is full: all {span} identifiers are taken", "Remove some first.")

    def changes(self) -> dict[str, Row | None]:
        """What differs from the seed: key -> row, None where removed. Rows put back equal are no change."""
        return {
            key: None if row is _GONE else row
            for key, row in sorted(self.own.items())
            if (row is not _GONE and self.base.get(key) != row) or (row is _GONE and key in self.base)
        }


def seed_digest(seed: Seed) -> bytes:
    """SHA-256 of a seeded state in canonical JSON."""
    return hashlib.sha256(orjson.dumps({t: dict(rows) for t, rows in seed.items()}, option=orjson.OPT_SORT_KEYS)).digest()


def digest(base: bytes, tables: Mapping[str, Table[Any]]) -> str:
    """Digest of a session's state (16 hex digits): equal for equal states of one seed, whatever led there."""
    changed = {name: changes for name, table in sorted(tables.items()) if (changes := table.changes())}
    return hashlib.sha256(base + orjson.dumps(changed, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
