"""What the filesystem server's tools share: finding rows by path, refusing, and the writes that keep the tree well formed.

Left out: everything that a tool's schema already refuses.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from tasks.servers.filesystem_tree import (
    FILE_BYTES,
    HOPS,
    LONGEST,
    ROOT,
    File,
    Folder,
    Link,
    Locked,
    Member,
    Place,
    Sized,
    Trashed,
    base,
    checked_name,
    join,
    lines,
    parent,
    rebased,
    resolve,
    shown,
    size,
    within,
)
from tasks.servers.state import Table
from tasks.servers.tool import ToolError

Row = TypeVar("Row")


class Tree:
    """The tables of the tree, and the steps that tools are made of. Nothing here is a tool."""

    now: dt.datetime
    folders: Table[Folder]
    files: Table[File]
    links: Table[Link]
    bin: Table[Trashed]
    place: Table[Place]

    def _here(self) -> str:
        return self.place["here"].folder

    def _today(self) -> str:
        return self.now.date().isoformat()

    def _used(self) -> int:
        return sum(map(size, self.files.values())) + sum(size(t.file) for t in self.bin.values())

    def _inside(self, folder: str) -> list[File]:
        return self.files.where(lambda f: parent(f.file) == folder)

    def _folder(self, path: str) -> Folder:
        absolute = resolve(self._here(), path)
        row = self.folders.get(absolute)
        if row is not None:
            return row
        if absolute in self.files or absolute in self.links:
            raise ToolError("invalid_value", f"{absolute} is not a folder", "Give the path of a folder.")
        raise ToolError("not_found", f"there is no folder {absolute}", "Use find_folder or tree.")

    def _file(self, path: str) -> File:
        """The file at a path, through links."""
        absolute = resolve(self._here(), path)
        for _ in range(HOPS):
            row, link = self.files.get(absolute), self.links.get(absolute)
            if row is not None:
                return row
            if link is None:
                break
            absolute = link.file
        if absolute in self.folders:
            raise ToolError("invalid_value", f"{absolute} is a folder, not a file", "Give the path of a file.")
        raise ToolError("not_found", f"there is no file {absolute}", "Use find_file or list_files.")

    def _link(self, path: str) -> Link:
        absolute = resolve(self._here(), path)
        row = self.links.get(absolute)
        if row is None:
            raise ToolError("not_found", f"there is no link {absolute}", "Use find_link or list_links.")
        return row

    def _only(self, table: Table[Row], name: str, what: str, remedy: str) -> Row:
        rows = [row for path, row in table.items() if base(path).lower() == name.lower() and path != ROOT]
        if not rows:
            raise ToolError("not_found", f"there is no {what} named {shown(name)}", remedy)
        if len(rows) > 1:
            raise ToolError(
                "conflict",
                f"{len(rows)} places hold a {what} named {shown(name)}",
                "Use tree and list_files to tell them apart.",
            )
        return rows[0]

    def _best(self, folder: str, key: Callable[[File], object]) -> File:
        path = self._folder(folder).folder
        rows = self._inside(path)
        if not rows:
            raise ToolError("not_found", f"{path} holds no files", "Use tree to see which folders do.")
        return min(rows, key=key)  # type: ignore[type-var,arg-type]

    def _readable(self, path: str) -> File:
        row = self._file(path)
        if row.mode == "none":
            raise ToolError("denied", f"{row.file} may not be read", "Use chmod to allow it.")
        return row

    def _read(self, path: str) -> list[str]:
        row = self._readable(path)
        if row.members:
            raise ToolError("wrong_state", f"{row.file} is an archive", "Use list_archive or unzip.")
        return lines(row.text)

    def _archive(self, path: str) -> File:
        row = self._readable(path)
        if not row.members:
            raise ToolError("wrong_state", f"{row.file} is no archive", "Give an archive, or use cat.")
        return row

    def _writable(self, path: str) -> File:
        row = self._file(path)
        if row.mode != "rw":
            raise ToolError("denied", f"{row.file} may not be changed", "Use chmod to allow it.")
        return row

    def _editable(self, path: str) -> File:
        row = self._writable(path)
        if row.members:
            raise ToolError("wrong_state", f"{row.file} is an archive", "Use unzip and change its files.")
        return row

    def _removable(self, path: str) -> File:
        """A file that may leave its place: not through a link, writable, in a folder that is not locked."""
        absolute = resolve(self._here(), path)
        if absolute in self.links:
            raise ToolError("wrong_state", f"{absolute} is a link", "Use readlink for its file, or unlink.")
        row = self._writable(absolute)
        self._unlocked(parent(row.file))
        return row

    def _movable(self, path: str) -> str:
        absolute = self._folder(path).folder
        if absolute == ROOT:
            raise ToolError("denied", "the root folder stays where it is", "Give a folder below it.")
        self._unlocked(parent(absolute))
        return absolute

    def _unlocked(self, folder: str) -> None:
        if self.folders[folder].locked:
            raise ToolError("denied", f"{folder} is locked", "Use unlock_folder first.")

    def _vacant(self, folder: str, name: str) -> str:
        """The path of a new entry called `name` in a folder that can take it."""
        holder = self._folder(folder).folder
        path = join(holder, checked_name(name))
        self._unlocked(holder)
        if any(path in table for table in (self.folders, self.files, self.links)):
            raise ToolError("conflict", f"{path} exists already", "Choose another name or folder.")
        if len(path) > LONGEST:
            raise ToolError("invalid_value", f"the path would have over {LONGEST} characters", "Choose a folder less deep.")
        return path

    def _room(self, more: int) -> None:
        free = self.place["here"].quota - self._used()
        if more > free:
            raise ToolError("insufficient", f"{more} bytes are needed and {free} are free", "Delete files, or use empty_trash.")

    def _put(self, path: str, text: str, members: tuple[Member, ...] = ()) -> File:
        row = File(path, text, "rw", self.place["here"].user, self._today(), (), members)
        self._room(size(row))
        return self.files.put(path, row)

    def _rewrite(self, row: File, text: str) -> Sized:
        changed = replace(row, text=text, modified=self._today())
        if size(changed) > FILE_BYTES:
            raise ToolError("insufficient", f"a file may hold {FILE_BYTES} bytes", "Write less, or to another file.")
        self._room(size(changed) - size(row))
        return {"file": self.files.put(row.file, changed).file, "bytes": size(changed)}

    def _move(self, row: File, path: str) -> str:
        self.files.remove(row.file)
        return self.files.put(path, replace(row, file=path)).file

    def _move_tree(self, old: str, new: str) -> str:
        tables: tuple[tuple[Table[Any], str], ...] = ((self.folders, "folder"), (self.files, "file"), (self.links, "link"))
        inside = [(table, field, path) for table, field in tables for path in table if within(path, old)]
        if any(len(rebased(path, old, new)) > LONGEST for _, _, path in inside):
            raise ToolError(
                "invalid_value", f"a path inside would have over {LONGEST} characters", "Choose a folder less deep."
            )
        for table, field, path in inside:
            moved = rebased(path, old, new)
            table.put(moved, replace(table.remove(path), **{field: moved}))
        if within(self._here(), old):
            self.place.update("here", folder=rebased(self._here(), old, new))
        return new

    def _set_lock(self, folder: str, locked: bool) -> Locked:
        row = self.folders.update(self._folder(folder).folder, locked=locked)
        return {"folder": row.folder, "locked": row.locked}
