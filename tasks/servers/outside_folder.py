"""Working folders of outside sessions: a private copy of a template, and what of it counts as state.

    folder = WorkFolder.copy_of(template)
    folder.work                       # where the server starts; `home` and `private` lie beside it
    manifest(folder.work, ignore)     # {"notes.md": Entry("file", 120, "5d41...")}

The state of an outside server is what we can see of it: the paths and contents of its working folder. Times, owners and
permissions do not count. Files are cloned where the file system can do that (reflink), else copied.

Left out: a bound on the size of the whole folder; the limit on each file is the process's.
"""

from __future__ import annotations

import fcntl
import fnmatch
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FICLONE = 0x40049409
"""The ioctl that makes one file share another's blocks (linux/fs.h)."""
PREFIX = "rungs-outside-"


class TemplateError(ValueError):
    """A template that sessions cannot start from; names the path and the remedy."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands at one path: `file` with its size in bytes and SHA-256, `link` with its target, `folder`, or `other`."""

    kind: str
    size: int = 0
    content: str = ""


Manifest = Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """The folders of one server in one session, all below `root`, which is removed with them."""

    root: Path

    @property
    def work(self) -> Path:
        """The working folder, a copy of the template: the state."""
        return self.root / "work"

    @property
    def home(self) -> Path:
        """HOME of the server."""
        return self.root / "home"

    @property
    def scratch(self) -> Path:
        """TMPDIR of the server."""
        return self.root / "tmp"

    @classmethod
    def copy_of(cls, template: Path | None) -> WorkFolder:
        """A new one, from a template or empty. Raises TemplateError, OSError."""
        folder = cls(Path(tempfile.mkdtemp(prefix=PREFIX)).resolve())
        try:
            folder.home.mkdir()
            folder.scratch.mkdir()
            if template is None:
                folder.work.mkdir()
            else:
                check_template(template)
                shutil.copytree(template, folder.work, symlinks=True, copy_function=_copy)
        except BaseException:
            folder.remove()
            raise
        return folder

    def remove(self) -> None:
        """Removes everything, also what its owner may not write to. Raises OSError when something cannot be removed."""
        if not self.root.exists():
            return
        for path, folders, _ in os.walk(self.root):
            for each in (Path(path, name) for name in folders):
                if not each.is_symlink():
                    each.chmod(0o700)
        shutil.rmtree(self.root)


def check_template(template: Path) -> None:
    """Raises TemplateError for what must not be in a template: sockets, pipes, devices, links that lead out of it."""
    for path in _walk(template):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            target = path.readlink()
            if target.is_absolute() or not Path(os.path.normpath(path.parent / target)).is_relative_to(template):
                raise TemplateError(f"{path}: the link leads out of the template {template}, to {target}; put a copy there")
        elif not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise TemplateError(f"{path}: neither file nor folder; take it out of the template {template}")


def _copy(source: str, target: str) -> str:
    """One file with its mode and times; its blocks are shared where that is possible."""
    with Path(source).open("rb") as read, Path(target).open("wb") as write:
        try:
            fcntl.ioctl(write.fileno(), FICLONE, read.fileno())
        except OSError:  # another file system, or one without reflinks
            shutil.copyfileobj(read, write)
    shutil.copystat(source, target)
    return target


def _walk(folder: Path) -> Iterator[Path]:
    """Everything below a folder, in the order of names; links are not followed. Runs along when files vanish."""
    for path, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted([*folders, *files]):
            yield Path(path) / name


def manifest(folder: Path, ignore: Sequence[str] = ()) -> dict[str, Entry]:
    """Relative path -> Entry of everything in a folder, besides what matches a pattern of `ignore` or lies below it."""
    found: dict[str, Entry] = {}
    for path in _walk(folder):
        name = path.relative_to(folder).as_posix()
        if ignore and _ignored(name, ignore):
            continue
        try:
            found[name] = _entry(path)
        except FileNotFoundError:
            continue  # a server may still be removing its temporary files
    return found


def _ignored(name: str, patterns: Sequence[str]) -> bool:
    parts = name.split("/")
    every = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return any(fnmatch.fnmatchcase(part, pattern) for part in every for pattern in patterns)


def _entry(path: Path) -> Entry:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return Entry("link", content=os.fsdecode(path.readlink()))
    if stat.S_ISDIR(mode):
        return Entry("folder")
    if not stat.S_ISREG(mode):  # opening a pipe would wait for its other end
        return Entry("other")
    try:
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
            return Entry("file", os.fstat(file.fileno()).st_size, content)
    except PermissionError:
        return Entry("file", path.lstat().st_size, "unreadable")


def digest(entries: Manifest) -> str:
    """16 hexadecimal digits: equal paths and contents, equal digests."""
    sha = hashlib.sha256()
    for name in sorted(entries):
        entry = entries[name]
        for part in (os.fsencode(name), entry.kind.encode(), os.fsencode(entry.content)):
            sha.update(len(part).to_bytes(8, "big"))
            sha.update(part)
    return sha.hexdigest()[:16]


def diff(before: Manifest, after: Manifest) -> Iterator[str]:
    """What changed, a line a path, for people to read."""
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        sign = "+" if old is None else "-" if new is None else "~"
        shown = name if name.isprintable() else repr(name)
        yield f"{sign} {shown} {' -> '.join(_say(entry) for entry in (old, new) if entry is not None)}"


def _say(entry: Entry) -> str:
    if entry.kind == "file":
        return f"{entry.size} bytes ({entry.content[:8]})"
    return f"link to {entry.content!r}" if entry.kind == "link" else entry.kind
