"""A tree of folders and text files with a current folder, links, archives, tags, permissions and a bin.

    with environment(["filesystem"]).session(7) as session:
        session.call("find_file", {"name": "harbor.txt"})    # {"file": "/tax/forms/harbor.txt", ...}

Every path stays inside the tree (`filesystem_tree.resolve`). Writing keeps to the quota, to the files'
modes and to the folders' locks; each tool checks everything before its first write.

Left out: users other than the session's own, links to folders, and binary files.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from datetime import date
from typing import Annotated

from pydantic import Field

from tasks.servers import filesystem_tree as t
from tasks.servers.filesystem_data import seeded
from tasks.servers.filesystem_state import Tree
from tasks.servers.filesystem_tree import (
    FILE_BYTES,
    ROOT,
    File,
    Folder,
    Link,
    Member,
    Place,
    Trashed,
    base,
    checked_name,
    checked_text,
    join,
    kind,
    lines,
    parent,
    shown,
    size,
    within,
)
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Limit, date_of
from tasks.servers.world import World

Sought = Annotated[str, Field(min_length=1, max_length=60, description="Text to look for; case does not matter.")]
Content = Annotated[str, Field(min_length=1, max_length=200, description="Plain text, of one or several lines.")]
Old = Annotated[str, Field(min_length=1, max_length=60, description="Text to replace, as it is written.")]
New = Annotated[str, Field(max_length=60, description="Text to put in its place.")]
Files = Annotated[list[t.FilePath], Field(min_length=1, max_length=10, description="Paths of files.")]
Tag = Annotated[str, Field(min_length=1, max_length=20, description="A tag, like urgent.")]


class Filesystem(Tree, Server):
    """The server; see the module's docstring."""

    name = "filesystem"
    title = "Folders and text files"

    folders: Table[Folder]
    files: Table[File]
    links: Table[Link]
    bin: Table[Trashed]
    place: Table[Place]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seeded(world)

    # -- looking around --------------------------------------------------------------------------

    @tool(read_only=True)
    def pwd(self) -> t.FolderRef:
        """The current folder."""
        return {"folder": self._here()}

    @tool(idempotent=True)
    def cd(self, folder: t.FolderPath) -> t.FolderRef:
        """Go to a folder: make it the current one."""
        return {"folder": self.place.update("here", folder=self._folder(folder).folder).folder}

    @tool(read_only=True)
    def ls(self, folder: t.FolderPath = ".", limit: Limit = 5) -> t.Listing:
        """List what lies directly in a folder: subfolders, files and links."""
        path = self._folder(folder).folder
        listing: t.Listing = {}
        for key, table in (("folders", self.folders), ("files", self.files), ("links", self.links)):
            inside = sorted(p for p in table if p != ROOT and parent(p) == path)[: int(limit)]
            limit = int(limit) - len(inside)
            if inside:
                listing[key] = inside  # type: ignore[literal-required]
        return listing

    @tool(read_only=True)
    def tree(
        self,
        folder: t.FolderPath = ROOT,
        depth: Annotated[int, Field(ge=1, le=9, description="Levels to go down.")] = 4,
        limit: Limit = 5,
    ) -> list[t.FolderInfo]:
        """List the folders below a folder, at any depth: how many files each holds and whether it is locked."""
        top = self._folder(folder).folder
        level = top.rstrip("/").count("/")
        below = sorted(p for p in self.folders if p not in (top, ROOT) and within(p, top) and p.count("/") - level <= depth)
        rows = [self.folders[p] for p in below[: int(limit)]]
        return [
            {"folder": r.folder, "name": base(r.folder), "files": len(self._inside(r.folder)), "locked": r.locked} for r in rows
        ]

    @tool(read_only=True)
    def list_files(self, folder: t.FolderPath, limit: Limit = 5) -> list[t.Entry]:
        """List the files directly in a folder with their sizes."""
        found = sorted(self._inside(self._folder(folder).folder), key=lambda f: f.file)
        return [{"file": f.file, "name": base(f.file), "bytes": size(f)} for f in found[: int(limit)]]

    @tool(read_only=True)
    def stat(self, file: t.FilePath) -> t.FileInfo:
        """Show a file's type, size, access mode, day of last change and owner."""
        row = self._file(file)
        return {
            "file": row.file,
            "type": kind(row),
            "bytes": size(row),
            "mode": row.mode,
            "modified": row.modified,
            "owner": row.owner,
        }

    @tool(read_only=True)
    def parent_folder(self, file: t.FilePath) -> t.Holder:
        """Tell which folder holds a file."""
        path = self._file(file).file
        return {"folder": parent(path), "file": path}

    @tool(read_only=True)
    def largest_file(self, folder: t.FolderPath) -> t.Largest:
        """Find the largest file directly in a folder."""
        row = self._best(folder, key=lambda f: (-size(f), f.file))
        return {"file": row.file, "largest_in": parent(row.file), "bytes": size(row)}

    @tool(read_only=True)
    def newest_file(self, folder: t.FolderPath) -> t.Newest:
        """Find the most recently changed file directly in a folder."""
        row = self._best(folder, key=lambda f: (-date.fromisoformat(f.modified).toordinal(), f.file))
        return {"file": row.file, "newest_in": parent(row.file), "modified": row.modified}

    @tool(read_only=True)
    def du(self, folder: t.FolderPath) -> t.Usage:
        """Add up the size of a folder: bytes, files and subfolders at any depth."""
        top = self._folder(folder).folder
        rows = self.files.where(lambda f: within(f.file, top))
        below = sum(1 for p in self.folders if p != top and within(p, top))
        return {"bytes": sum(map(size, rows)), "files": len(rows), "folders": below}

    @tool(read_only=True)
    def df(self) -> t.Space:
        """Show how many bytes are used and free, the bin included."""
        used = self._used()
        return {"used": used, "free": self.place["here"].quota - used}

    # -- finding ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_file(self, name: t.FileName) -> t.Found:
        """Find a file anywhere by its name."""
        row = self._only(self.files, name, "file", "Use tree and list_files to see what there is.")
        return {"file": row.file, "bytes": size(row), "mode": row.mode}

    @tool(read_only=True)
    def find_folder(self, name: t.FolderName) -> t.FoundFolder:
        """Find a folder anywhere by its name."""
        row = self._only(self.folders, name, "folder", "Use tree to see the folders.")
        return {"folder": row.folder, "files": len(self._inside(row.folder)), "locked": row.locked}

    @tool(read_only=True)
    def find_link(self, name: t.FileName) -> t.LinkRef:
        """Find a link anywhere by its name."""
        return {"link": self._only(self.links, name, "link", "Use list_links to see the links.").link}

    @tool(read_only=True)
    def find_trashed(self, name: t.FileName) -> t.ItemInfo:
        """Find a deleted file in the bin by the name that it had."""
        rows = [t for t in self.bin.values() if base(t.file.file).lower() == name.lower()]
        if not rows:
            raise ToolError("not_found", f"the bin holds no file {shown(name)}", "Use list_trash to see what it holds.")
        return _item(max(rows, key=lambda t: (t.since, t.item_id)))

    @tool(read_only=True)
    def list_links(self, limit: Limit = 5) -> list[t.LinkInfo]:
        """List all links with the files that they point to."""
        rows = sorted(self.links.values(), key=lambda k: k.link)[: int(limit)]
        return [{"link": k.link, "name": base(k.link), "file": k.file} for k in rows]

    @tool(read_only=True)
    def search_files(self, filter: t.Filter, folder: t.FolderPath = ROOT, limit: Limit = 5) -> list[t.Sized]:
        """List files below a folder that satisfy all conditions of the filter, the largest first."""
        top, since = self._folder(folder).folder, filter.get("since", "")
        if since:
            since = date_of(since).isoformat()
        least, most, tag = filter.get("min_bytes", 0), filter.get("max_bytes", FILE_BYTES * 50), filter.get("tag")
        wanted, owner = filter.get("type"), filter.get("owner", "").lower()
        rows = [
            row
            for row in self.files.values()
            if within(row.file, top)
            and least <= size(row) <= most
            and row.modified >= since
            and (tag is None or tag in row.tags)
            and (wanted is None or kind(row) == wanted)
            and (not owner or row.owner.lower() == owner)
        ]
        return [{"file": f.file, "bytes": size(f)} for f in sorted(rows, key=lambda f: (-size(f), f.file))[: int(limit)]]

    @tool(read_only=True)
    def grep(self, file: t.FilePath, text: Sought, limit: Limit = 5) -> list[t.Line]:
        """List the lines of one file that contain a text."""
        found = [(n, line) for n, line in enumerate(self._read(file), 1) if text.lower() in line.lower()]
        return [{"line": n, "text": line} for n, line in found[: int(limit)]]

    @tool(read_only=True)
    def grep_folder(self, folder: t.FolderPath, text: Sought, limit: Limit = 5) -> list[t.Hit]:
        """List which files below a folder contain a text, with the number of the first such line."""
        top = self._folder(folder).folder
        hits: list[t.Hit] = []
        for row in sorted(self.files.where(lambda f: within(f.file, top) and f.mode != "none"), key=lambda f: f.file):
            at = next((n for n, line in enumerate(lines(row.text), 1) if text.lower() in line.lower()), 0)
            if at:
                hits.append({"file": row.file, "line": at})
        return hits[: int(limit)]

    # -- reading ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def cat(self, file: t.FilePath) -> t.Contents:
        """Show the whole text of a file."""
        return {"text": "\n".join(self._read(file))}

    @tool(read_only=True)
    def head(self, file: t.FilePath, lines: t.Count = 3) -> t.Contents:
        """Show the first lines of a file."""
        return {"text": "\n".join(self._read(file)[: int(lines)])}

    @tool(read_only=True)
    def tail(self, file: t.FilePath, lines: t.Count = 3) -> t.Contents:
        """Show the last lines of a file."""
        return {"text": "\n".join(self._read(file)[-int(lines) :])}

    @tool(read_only=True)
    def wc(self, file: t.FilePath) -> t.Counts:
        """Count the lines, words and characters of a file."""
        text = self._read(file)
        return {"lines": len(text), "words": sum(len(t.split()) for t in text), "chars": len("\n".join(text))}

    @tool(read_only=True)
    def sort(self, file: t.FilePath, reverse: Annotated[bool, Field(description="From last to first.")] = False) -> t.Contents:
        """Show the lines of a file in alphabetical order; the file stays as it is."""
        return {"text": "\n".join(sorted(self._read(file), reverse=reverse))}

    @tool(read_only=True)
    def uniq(self, file: t.FilePath, limit: Limit = 5) -> list[t.Repeated]:
        """Show the distinct lines of a file with how often each occurs, most frequent first."""
        return [{"text": text, "count": n} for text, n in Counter(self._read(file)).most_common(int(limit))]

    @tool(read_only=True)
    def diff(self, first: t.FilePath, second: t.FilePath, limit: Limit = 5) -> t.Difference:
        """Show the lines that only one of two files has."""
        one, two = Counter(self._read(first)), Counter(self._read(second))
        return {
            "first_only": list((one - two).elements())[: int(limit)],
            "second_only": list((two - one).elements())[: int(limit)],
        }

    @tool(read_only=True)
    def compare_files(self, first: t.FilePath, second: t.FilePath) -> t.Comparison:
        """Tell whether two files have the same text, else the first line that differs."""
        one, two = self._read(first), self._read(second)
        if one == two:
            return {"same": True}
        shared = min(len(one), len(two))
        return {"same": False, "line": 1 + next((i for i in range(shared) if one[i] != two[i]), shared)}

    @tool(read_only=True)
    def checksum(self, file: t.FilePath) -> t.Checksum:
        """Compute the checksum of a file (SHA-256, first 8 digits)."""
        row = self._readable(file)
        content = row.text + "".join(f"\n{m.name}\n{m.text}" for m in row.members)
        return {"file": row.file, "sum": hashlib.sha256(content.encode()).hexdigest()[:8]}

    @tool(read_only=True)
    def readlink(self, link: t.LinkPath) -> t.LinkTarget:
        """Show the file that a link points to, and whether it still exists."""
        row = self._link(link)
        return {"file": row.file, "link": row.link, "exists": row.file in self.files}

    # -- making and changing ---------------------------------------------------------------------

    @tool()
    def mkdir(self, name: t.FolderName, folder: t.FolderPath = ".") -> t.FolderRef:
        """Make a folder inside another one."""
        path = self._vacant(folder, name)
        return {"folder": self.folders.put(path, Folder(path, False)).folder}

    @tool(idempotent=True)
    def touch(self, name: t.FileName, folder: t.FolderPath = ".") -> t.FileRef:
        """Create an empty file in a folder, or mark an existing one as changed today."""
        path = join(self._folder(folder).folder, checked_name(name))
        if path in self.files:
            row = self._writable(path)
            return {"file": self.files.put(row.file, replace(row, modified=self._today())).file}
        path = self._vacant(folder, name)
        return {"file": self._put(path, "").file}

    @tool(destructive=True, idempotent=True)
    def write_file(self, file: t.FilePath, text: Content) -> t.Sized:
        """Replace the whole text of an existing file; touch creates one."""
        return self._rewrite(self._editable(file), checked_text(text))

    @tool()
    def append_file(self, file: t.FilePath, text: Content) -> t.Sized:
        """Add lines at the end of an existing file."""
        row = self._editable(file)
        return self._rewrite(row, "\n".join([*lines(row.text), checked_text(text)]))

    @tool(destructive=True)
    def replace_text(self, file: t.FilePath, old: Old, new: New) -> t.Replaced:
        """Replace every occurrence of a text in a file by another text."""
        row = self._editable(file)
        count = row.text.count(old)
        if not count:
            raise ToolError("not_found", f"{shown(old)} does not occur in the file", "Use cat to see its text.")
        self._rewrite(row, checked_text(row.text.replace(old, new)))
        return {"count": count}

    @tool()
    def cp(self, file: t.FilePath, folder: t.FolderPath) -> t.FileRef:
        """Copy a file into a folder."""
        row = self._readable(file)
        path = self._vacant(folder, base(row.file))
        self._room(size(row))
        copied = replace(row, file=path, owner=self.place["here"].user, modified=self._today())
        return {"file": self.files.put(path, copied).file}

    @tool()
    def mv(self, file: t.FilePath, folder: t.FolderPath) -> t.FileRef:
        """Move a file into a folder."""
        row = self._removable(file)
        return {"file": self._move(row, self._vacant(folder, base(row.file)))}

    @tool()
    def rename_file(self, file: t.FilePath, name: t.FileName) -> t.FileRef:
        """Give a file another name; it stays in its folder."""
        row = self._removable(file)
        return {"file": self._move(row, self._vacant(parent(row.file), name))}

    @tool()
    def mv_folder(self, folder: t.FolderPath, target: t.FolderPath) -> t.FolderRef:
        """Move a folder with all that it holds into another folder."""
        path = self._movable(folder)
        if within(self._folder(target).folder, path):
            raise ToolError("invalid_value", "a folder cannot be moved into itself", "Choose a target outside of it.")
        return {"folder": self._move_tree(path, self._vacant(target, base(path)))}

    @tool()
    def rename_folder(self, folder: t.FolderPath, name: t.FolderName) -> t.FolderRef:
        """Give a folder another name; it stays where it is."""
        path = self._movable(folder)
        return {"folder": self._move_tree(path, self._vacant(parent(path), name))}

    @tool(destructive=True)
    def rm(self, file: t.FilePath) -> t.Freed:
        """Delete a file for good; trash_file keeps it in the bin instead."""
        self.files.remove(self._removable(file).file)
        return {"free": self.place["here"].quota - self._used()}

    @tool()
    def rmdir(self, folder: t.FolderPath) -> t.FolderRef:
        """Remove an empty folder; answers with the folder that held it."""
        path = self._movable(folder)
        if any(within(p, path) and p != path for table in (self.folders, self.files, self.links) for p in table):
            raise ToolError("wrong_state", f"{path} is not empty", "Move or delete what it holds first.")
        if within(self._here(), path):
            raise ToolError("wrong_state", f"{path} is the current folder", "Use cd to leave it first.")
        self.folders.remove(path)
        return {"folder": parent(path)}

    # -- the bin ---------------------------------------------------------------------------------

    @tool()
    def trash_file(self, file: t.FilePath) -> t.ItemRef:
        """Move a file to the bin, from where restore_file brings it back."""
        row = self._removable(file)
        key = self.bin.fresh("item", row.file)
        self.files.remove(row.file)
        return {"item_id": self.bin.put(key, Trashed(key, row, self._today())).item_id}

    @tool(read_only=True)
    def list_trash(self, limit: Limit = 5) -> list[t.ItemInfo]:
        """List the deleted files in the bin, latest first."""
        rows = sorted(self.bin.values(), key=lambda t: t.item_id)
        return [_item(t) for t in sorted(rows, key=lambda t: t.since, reverse=True)[: int(limit)]]

    @tool()
    def restore_file(self, item_id: t.ItemId) -> t.FileRef:
        """Bring a deleted file back from the bin to where it was."""
        item = self.bin.get(item_id)
        if item is None:
            raise ToolError("not_found", f"the bin holds no {shown(item_id)}", "Use list_trash to see what it holds.")
        path = self._vacant(parent(item.file.file), base(item.file.file))
        self.bin.remove(item_id)
        return {"file": self.files.put(path, item.file).file}

    @tool(destructive=True, idempotent=True)
    def empty_trash(self) -> t.Emptied:
        """Delete everything in the bin for good."""
        gone = list(self.bin)
        for key in gone:
            self.bin.remove(key)
        return {"items": len(gone), "free": self.place["here"].quota - self._used()}

    # -- permissions, tags, links, archives ------------------------------------------------------

    @tool(idempotent=True)
    def chmod(self, file: t.FilePath, mode: t.Mode) -> t.Access:
        """Set the access mode of a file."""
        row = self.files.update(self._file(file).file, mode=mode)
        return {"file": row.file, "mode": row.mode}

    @tool(idempotent=True)
    def lock_folder(self, folder: t.FolderPath) -> t.Locked:
        """Lock a folder: nothing directly in it can be added, removed or renamed."""
        return self._set_lock(folder, True)

    @tool(idempotent=True)
    def unlock_folder(self, folder: t.FolderPath) -> t.Locked:
        """Unlock a folder, so that it can be changed again."""
        return self._set_lock(folder, False)

    @tool()
    def tag_file(
        self, file: t.FilePath, tags: Annotated[list[Tag], Field(min_length=1, max_length=5, description="Tags, like urgent.")]
    ) -> t.Tagged:
        """Add tags to a file; answers with how many it has now."""
        row = self._file(file)
        together = tuple(sorted({*row.tags, *(checked_name(t) for t in tags)}))
        if len(together) == len(row.tags):
            raise ToolError("conflict", "the file carries these tags already", "Add another tag.")
        if len(together) > 10:
            raise ToolError("insufficient", "a file carries ten tags at most", "Use untag_file first.")
        return {"file": self.files.update(row.file, tags=together).file, "tags": len(together)}

    @tool()
    def untag_file(self, file: t.FilePath, tag: Tag) -> t.Tagged:
        """Take a tag off a file; answers with how many it has now."""
        row = self._file(file)
        if tag not in row.tags:
            raise ToolError("not_found", f"the file has no tag {shown(tag)}", "Use list_tags to see the tags in use.")
        kept = tuple(t for t in row.tags if t != tag)
        return {"file": self.files.update(row.file, tags=kept).file, "tags": len(kept)}

    @tool(read_only=True)
    def list_tags(self, limit: Limit = 5) -> list[t.TagCount]:
        """List the tags in use, the most used first, with how many files carry each."""
        counts = Counter(tag for row in self.files.values() for tag in row.tags)
        ranked = sorted(counts.items(), key=lambda c: (-c[1], c[0]))
        return [{"tag": tag, "files": count} for tag, count in ranked[: int(limit)]]

    @tool()
    def ln(self, file: t.FilePath, name: t.FileName, folder: t.FolderPath = ".") -> t.LinkRef:
        """Make a link to a file, by a name of its own in a folder."""
        target = self._file(file).file
        path = self._vacant(folder, name)
        return {"link": self.links.put(path, Link(path, target)).link}

    @tool()
    def unlink(self, link: t.LinkPath) -> t.FileRef:
        """Remove a link; the file that it points to stays, and is the answer."""
        row = self._link(link)
        self._unlocked(parent(row.link))
        return {"file": self.links.remove(row.link).file}

    @tool()
    def zip(
        self,
        files: Annotated[list[t.FilePath], Field(min_length=1, max_length=10)],
        name: t.FileName,
        folder: t.FolderPath = ".",
    ) -> t.Packed:
        """Pack copies of files into a new archive in a folder; its name gets the ending .zip."""
        rows = [self._readable(f) for f in files]
        if any(row.members for row in rows):
            raise ToolError("wrong_state", "an archive cannot hold another archive", "Use unzip on it first.")
        if len({base(row.file) for row in rows}) < len(rows):
            raise ToolError("conflict", "two of the files have the same name", "Use rename_file on one of them.")
        path = self._vacant(folder, name if name.endswith(".zip") else f"{checked_name(name)}.zip")
        members = tuple(Member(base(row.file), row.text) for row in rows)
        return {"file": self._put(path, "", members).file, "files": len(members)}

    @tool()
    def unzip(self, file: t.FilePath, folder: t.FolderPath) -> t.Unpacked:
        """Unpack the files of an archive into a folder."""
        members = self._archive(file).members
        paths = [self._vacant(folder, member.name) for member in members]
        self._room(sum(len(m.text.encode()) for m in members))
        for path, member in zip(paths, members, strict=True):
            self._put(path, member.text)
        return {"folder": self._folder(folder).folder, "files": len(members)}

    @tool(read_only=True)
    def list_archive(self, file: t.FilePath, limit: Limit = 5) -> list[t.Inside]:
        """List the names and sizes of the files in an archive."""
        return [{"name": m.name, "bytes": len(m.text.encode())} for m in self._archive(file).members[: int(limit)]]


def _item(item: Trashed) -> t.ItemInfo:
    return {"item_id": item.item_id, "name": base(item.file.file), "since": item.since}
