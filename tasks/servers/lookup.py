"""Finding rows as tools do it: by identifier, by name, and names that are still free.

    row = existing(self.accounts, account_id, "account", "list_accounts")
    row = named(self.accounts.values(), name, "account", "list_accounts")

Left out: fuzzy matching. A name is the whole name, in any case.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from tasks.servers.state import Table
from tasks.servers.tool import ToolError
from tasks.servers.typed import plain

Row = TypeVar("Row")


class Named(Protocol):
    """A row that a user knows by its name."""

    @property
    def name(self) -> str: ...


NamedRow = TypeVar("NamedRow", bound=Named)


def existing(table: Table[Row], key: str, kind: str, source: str) -> Row:
    """The row of `key`. Raises ToolError(not_found) that names the tool `source` as the remedy."""
    row = table.get(key)
    if row is None:
        raise ToolError("not_found", f"there is no {kind} {key.strip()}", f"{source} shows what there is.")
    return row


def named(rows: Iterable[NamedRow], name: str, kind: str, source: str) -> NamedRow:
    """The first row of that name, in any case. Raises ToolError: not_found, or invalid_value for unprintable text."""
    wanted = plain(name, "name").casefold()
    for row in rows:
        if row.name.casefold() == wanted:
            return row
    raise ToolError("not_found", f"there is no {kind} called {name.strip()[:40]!r}", f"{source} shows the names.")


def unused(rows: Iterable[NamedRow], name: str, kind: str) -> str:
    """The name, trimmed, when no row has it. Raises ToolError: conflict, or invalid_value for unprintable text."""
    name = plain(name, "name")
    if any(row.name.casefold() == name.casefold() for row in rows):
        raise ToolError("conflict", f"there is a {kind} called {name[:40]!r} already", "Choose another name.")
    return name
