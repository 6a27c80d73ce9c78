"""Rows, typed paths and path arithmetic of the filesystem server. Pure functions on strings and rows.

A path is absolute in every result; in an argument it may be relative to the current folder. `resolve`
gives an absolute path below the root or refuses: no spelling of a path reaches outside the tree.

Left out: names with spaces or other than ASCII letters, digits, dot, dash and underscore.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.tool import ToolError
from tasks.servers.typed import ENTITY, Date, identifier

ROOT = "/"
LONGEST = 160
"""Most characters of a path."""
FILE_BYTES = 2000
"""Most bytes of one file."""
HOPS = 8
"""Most links followed one after another."""


def _path(entity: str, like: str) -> Field:
    about = f"Path of a {entity}, like {like}; relative ones start at the current folder."
    return Field(min_length=1, max_length=LONGEST, description=about, json_schema_extra={ENTITY: entity})


FilePath = Annotated[str, _path("file", "/tax/plan.txt")]
FolderPath = Annotated[str, _path("folder", "/tax")]
LinkPath = Annotated[str, _path("link", "/tax/latest")]
ItemId = identifier("trash_item", "item")
FileName = Annotated[str, Field(min_length=1, max_length=40, description="A file name, like plan.txt.")]
FolderName = Annotated[str, Field(min_length=1, max_length=40, description="A folder name, like tax.")]
Mode = Annotated[Literal["rw", "ro", "none"], Field(description="Access: rw read and write, ro read only, none.")]
Kind = Literal["txt", "md", "csv", "log", "zip", "other"]
Count = Annotated[int, Field(ge=1, le=50, description="How many lines.")]


@dataclass(frozen=True, slots=True)
class Folder:
    folder: str
    locked: bool


@dataclass(frozen=True, slots=True)
class Member:
    """One file inside an archive."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class File:
    """A text file, or an archive when it has members. Lines are joined by newlines, with none at the end."""

    file: str
    text: str
    mode: Literal["rw", "ro", "none"]
    owner: str
    modified: str
    tags: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link to a file; it dangles when that file is moved or removed."""

    link: str
    file: str


@dataclass(frozen=True, slots=True)
class Trashed:
    item_id: str
    file: File
    since: str


@dataclass(frozen=True, slots=True)
class Place:
    """The session's current folder, its user, and the bytes that the tree may hold."""

    folder: str
    user: str
    quota: int


# -- what the tools answer with --------------------------------------------------------------------


class FileRef(TypedDict):
    file: FilePath


class FolderRef(TypedDict):
    folder: FolderPath


class LinkRef(TypedDict):
    link: LinkPath


class Sized(TypedDict):
    file: FilePath
    bytes: int


class Entry(TypedDict):
    file: FilePath
    name: str
    bytes: int


class FileInfo(TypedDict):
    file: FilePath
    type: Kind
    bytes: int
    mode: Mode
    modified: Date
    owner: str


class Found(TypedDict):
    file: FilePath
    bytes: int
    mode: Mode


class Largest(TypedDict):
    file: FilePath
    largest_in: FolderPath
    bytes: int


class Newest(TypedDict):
    file: FilePath
    newest_in: FolderPath
    modified: Date


class FolderInfo(TypedDict):
    folder: FolderPath
    name: str
    files: int
    locked: bool


class FoundFolder(TypedDict):
    folder: FolderPath
    files: int
    locked: bool


class Holder(TypedDict):
    folder: FolderPath
    file: FilePath


class Listing(TypedDict, total=False):
    folders: list[FolderPath]
    files: list[FilePath]
    links: list[LinkPath]


class LinkInfo(TypedDict):
    link: LinkPath
    name: str
    file: FilePath


class LinkTarget(TypedDict):
    file: FilePath
    link: LinkPath
    exists: bool


class ItemInfo(TypedDict):
    item_id: ItemId
    name: str
    since: Date


class ItemRef(TypedDict):
    item_id: ItemId


class Contents(TypedDict):
    text: str


class Line(TypedDict):
    line: int
    text: str


class Hit(TypedDict):
    file: FilePath
    line: int


class Repeated(TypedDict):
    text: str
    count: int


class Counts(TypedDict):
    lines: int
    words: int
    chars: int


class Difference(TypedDict):
    first_only: list[str]
    second_only: list[str]


class Comparison(TypedDict):
    same: bool
    line: NotRequired[int]


class Checksum(TypedDict):
    file: FilePath
    sum: str


class Usage(TypedDict):
    bytes: int
    files: int
    folders: int


class Space(TypedDict):
    used: int
    free: int


class Replaced(TypedDict):
    count: int


class Access(TypedDict):
    file: FilePath
    mode: Mode


class Locked(TypedDict):
    folder: FolderPath
    locked: bool


class Tagged(TypedDict):
    file: FilePath
    tags: int


class TagCount(TypedDict):
    tag: str
    files: int


class Packed(TypedDict):
    file: FilePath
    files: int


class Unpacked(TypedDict):
    folder: FolderPath
    files: int


class Inside(TypedDict):
    name: str
    bytes: int


class Freed(TypedDict):
    free: int


class Emptied(TypedDict):
    items: int
    free: int


class Filter(TypedDict, total=False):
    """What files must satisfy; a condition that is left out holds for all."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    type: Annotated[Kind, Field(description="The type of file.")]
    tag: Annotated[str, Field(max_length=30, description="A tag that they carry.")]
    owner: Annotated[str, Field(max_length=60, description="Full name of the owner.")]
    min_bytes: Annotated[int, Field(ge=0, description="At least this large.")]
    max_bytes: Annotated[int, Field(ge=0, description="At most this large.")]
    since: Annotated[Date, Field(description="Changed on or after this day.")]


# -- paths and texts -------------------------------------------------------------------------------

_NAME = re.compile(r"[A-Za-z0-9._-]{1,40}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def shown(value: str) -> str:
    """A hostile string as a short printable one, for messages."""
    return ascii(value if len(value) <= 40 else value[:37] + "...")


def join(folder: str, name: str) -> str:
    return f"/{name}" if folder == ROOT else f"{folder}/{name}"


def parent(path: str) -> str:
    return path.rpartition("/")[0] or ROOT


def base(path: str) -> str:
    return path.rpartition("/")[2] or ROOT


def within(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it at any depth."""
    return path == folder or folder == ROOT or path.startswith(folder + "/")


def rebased(path: str, old: str, new: str) -> str:
    """`path`, which lies within `old`, after `old` has become `new`."""
    return new + path[len(old) :]


def checked_name(name: str) -> str:
    """`name` when it can name a file or folder. Raises ToolError(invalid_value)."""
    if not _NAME.fullmatch(name) or name.strip(".") == "":
        raise ToolError(
            "invalid_value", f"{shown(name)} is no file or folder name", "Use letters, digits, dot, dash, underscore."
        )
    return name


def resolve(here: str, path: str) -> str:
    """The absolute path that `path` means from `here`. Raises ToolError(invalid_value) for one that leaves the tree."""
    parts = [] if path.startswith("/") or here == ROOT else here.split("/")[1:]
    for part in path.split("/"):
        if part == "..":
            if not parts:
                raise ToolError("invalid_value", f"{shown(path)} leads above the root folder", "Give a path below /.")
            parts.pop()
        elif part not in ("", "."):
            parts.append(checked_name(part))
    found = "/" + "/".join(parts)
    if len(found) > LONGEST:
        raise ToolError("invalid_value", f"a path may have {LONGEST} characters, not {len(found)}", "Use shorter names.")
    return found


def checked_text(text: str) -> str:
    """`text` as a file may hold it, without newlines at its end. Raises ToolError(invalid_value)."""
    bad = _CONTROL.search(text)
    if bad:
        raise ToolError("invalid_value", f"character {ord(bad[0])} at {bad.start()} is not text", "Send plain text.")
    return text.rstrip("\n")


def lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def size(file: File) -> int:
    """Bytes that a file takes; an archive's are its members'."""
    return len(file.text.encode()) + sum(len(m.text.encode()) for m in file.members)


def kind(file: File) -> Kind:
    """An archive's type is zip; another file's follows from the ending of its name."""
    if file.members:
        return "zip"
    suffix = base(file.file).rpartition(".")[2]
    return suffix if suffix in ("txt", "md", "csv", "log") else "other"  # type: ignore[return-value]
