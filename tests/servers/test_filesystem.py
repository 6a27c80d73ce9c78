"""The filesystem server: its mechanics and its refusals. Random calls are in test_filesystem_random."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from tasks.servers.filesystem import Filesystem
from tasks.servers.filesystem_tree import FILE_BYTES, LONGEST, ROOT
from tasks.servers.session import Session
from tests.servers.driver import check_server, ok, refused, state_of
from tests.servers.test_filesystem_random import SEED, WORLD, check


@pytest.fixture
def session() -> Iterator[Session]:
    with WORLD.session(SEED) as opened:
        yield opened


@pytest.fixture
def home(session: Session) -> str:
    """A new folder with the files one.txt (b, a, b) and two.txt (a, c), which is also the current one."""
    path: str = ok(session, "mkdir", name="home", folder=ROOT)["folder"]
    ok(session, "cd", folder=path)
    for name, text in (("one.txt", "b\na\nb"), ("two.txt", "a\nc")):
        ok(session, "touch", name=name)
        ok(session, "write_file", file=name, text=text)
    return path


def text_of(session: Session, file: str) -> str:
    text: str = ok(session, "cat", file=file)["text"]
    return text


# -- definition and seed -----------------------------------------------------------------------


def test_definition() -> None:
    check_server(Filesystem, tools=40)


# -- paths -------------------------------------------------------------------------------------


def test_paths_are_absolute_or_start_at_the_current_folder(session: Session, home: str) -> None:
    sub = ok(session, "mkdir", name="sub")["folder"]
    assert sub == f"{home}/sub"
    ok(session, "cd", folder="sub")
    assert ok(session, "pwd") == {"folder": sub}
    for spelling in ("../one.txt", "../sub/../one.txt", f"{home}//one.txt", f"{home}/./one.txt", "/home/one.txt"):
        assert text_of(session, spelling) == "b\na\nb"
    assert ok(session, "cd", folder="..") == {"folder": home}
    assert ok(session, "cd", folder="../") == {"folder": ROOT}
    assert ok(session, "ls", folder="home") == {"folders": [sub], "files": [f"{home}/one.txt", f"{home}/two.txt"]}


HOSTILE_PATHS = (
    "..",
    "/..",
    "../../etc/passwd",
    "/home/../../etc/passwd",
    "/home/../..",
    "....//....//etc",
    "..\\..\\windows",
    "C:\\x",
    "~/x",
    "$HOME",
    "file:///etc/passwd",
    "one.txt\x00.png",
    "one.txt\n",
    "\x00",
    "\ud800",
    "%2e%2e/etc",
    "．．/etc",
    "a b",
    "x" * LONGEST,
    "x" * 5000,
    "",
    " ",
)


@pytest.mark.parametrize("path", HOSTILE_PATHS)
def test_no_path_leaves_the_tree(session: Session, home: str, path: str) -> None:
    ok(session, "cd", folder=ROOT)
    before = session.digest()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("cat", {"file": path}),
        ("stat", {"file": path}),
        ("cd", {"folder": path}),
        ("ls", {"folder": path}),
        ("tree", {"folder": path}),
        ("mkdir", {"name": path}),
        ("mkdir", {"name": "new", "folder": path}),
        ("touch", {"name": path}),
        ("write_file", {"file": path, "text": "x"}),
        ("cp", {"file": f"{home}/one.txt", "folder": path}),
        ("mv", {"file": f"{home}/one.txt", "folder": path}),
        ("mv_folder", {"folder": home, "target": path}),
        ("rename_file", {"file": f"{home}/one.txt", "name": path}),
        ("rename_folder", {"folder": home, "name": path}),
        ("rm", {"file": path}),
        ("rmdir", {"folder": path}),
        ("ln", {"file": f"{home}/one.txt", "name": path}),
        ("readlink", {"link": path}),
        ("zip", {"files": [f"{home}/one.txt"], "name": path}),
        ("find_file", {"name": path}),
    ]
    for name, arguments in calls:
        result = session.call(name, arguments)
        assert not result.ok, (name, path, result.content)
        assert result.error is not None
        assert result.error.kind in ("invalid_value", "invalid_arguments", "not_found"), (name, result.error)
        assert result.error.remedy
    assert session.digest() == before


def test_names_that_lead_elsewhere_are_refused(session: Session, home: str) -> None:
    for name in ("a/b", "..", ".", "...", "../x", "/x"):
        refused(session, "invalid_value", "mkdir", name=name)
        refused(session, "invalid_value", "rename_file", file="one.txt", name=name)


def test_kinds_of_paths_are_told_apart(session: Session, home: str) -> None:
    refused(session, "invalid_value", "cat", file=home)
    refused(session, "invalid_value", "cd", folder="one.txt")
    refused(session, "not_found", "readlink", link="one.txt")
    refused(session, "not_found", "cat", file="three.txt")


# -- reading -----------------------------------------------------------------------------------


def test_reading(session: Session, home: str) -> None:
    assert text_of(session, "one.txt") == "b\na\nb"
    assert ok(session, "head", file="one.txt", lines=1) == {"text": "b"}
    assert ok(session, "tail", file="one.txt", lines=2.0) == {"text": "a\nb"}
    assert ok(session, "wc", file="one.txt") == {"lines": 3, "words": 3, "chars": 5}
    assert ok(session, "sort", file="one.txt") == {"text": "a\nb\nb"}
    assert ok(session, "sort", file="one.txt", reverse=True) == {"text": "b\nb\na"}
    assert ok(session, "uniq", file="one.txt") == [{"text": "b", "count": 2}, {"text": "a", "count": 1}]
    assert ok(session, "diff", first="one.txt", second="two.txt") == {"first_only": ["b", "b"], "second_only": ["c"]}
    assert ok(session, "compare_files", first="one.txt", second="two.txt") == {"same": False, "line": 1}
    assert ok(session, "compare_files", first="one.txt", second="one.txt") == {"same": True}
    digest = hashlib.sha256(b"b\na\nb").hexdigest()[:8]
    assert ok(session, "checksum", file="one.txt") == {"file": f"{home}/one.txt", "sum": digest}
    assert ok(session, "grep", file="one.txt", text="B") == [{"line": 1, "text": "b"}, {"line": 3, "text": "b"}]
    assert ok(session, "grep_folder", folder=home, text="a") == [
        {"file": f"{home}/one.txt", "line": 2},
        {"file": f"{home}/two.txt", "line": 1},
    ]
    assert ok(session, "du", folder=home) == {"bytes": 8, "files": 2, "folders": 0}
    assert ok(session, "largest_file", folder=".")["file"] == f"{home}/one.txt"


def test_an_empty_file_has_no_lines(session: Session, home: str) -> None:
    ok(session, "touch", name="none.txt")
    assert ok(session, "wc", file="none.txt") == {"lines": 0, "words": 0, "chars": 0}
    assert ok(session, "uniq", file="none.txt") == []
    ok(session, "append_file", file="none.txt", text="x")
    assert text_of(session, "none.txt") == "x"
    assert ok(session, "compare_files", first="none.txt", second="one.txt") == {"same": False, "line": 1}


def test_finding_by_name_and_by_filter(session: Session, home: str) -> None:
    assert ok(session, "find_file", name="ONE.TXT") == {"file": f"{home}/one.txt", "bytes": 5, "mode": "rw"}
    assert ok(session, "find_folder", name="Home")["folder"] == home
    refused(session, "not_found", "find_file", name="one")
    assert ok(session, "search_files", filter={}, folder=home) == [
        {"file": f"{home}/one.txt", "bytes": 5},
        {"file": f"{home}/two.txt", "bytes": 3},
    ]
    assert ok(session, "search_files", filter={"max_bytes": 4}, folder=home) == [{"file": f"{home}/two.txt", "bytes": 3}]
    ok(session, "tag_file", file="two.txt", tags=["draft", "tax"])
    assert ok(session, "search_files", filter={"tag": "tax"}) == [{"file": f"{home}/two.txt", "bytes": 3}]
    owner = ok(session, "stat", file="one.txt")["owner"]
    found = ok(session, "search_files", filter={"owner": owner.upper(), "since": session.now.date().isoformat()})
    assert {row["file"] for row in found} == {f"{home}/one.txt", f"{home}/two.txt"}
    refused(session, "invalid_value", "search_files", filter={"since": "2026-02-31"})
    ok(session, "cp", file="one.txt", folder=ROOT)
    refused(session, "conflict", "find_file", name="one.txt")


def test_tree_lists_folders_by_depth(session: Session) -> None:
    every = ok(session, "tree", limit=50)
    assert len(every) == len(state_of(session, Filesystem).folders) - 1
    top = ok(session, "tree", depth=1, limit=50)
    assert [row["folder"] for row in top] == [row["folder"] for row in every if row["folder"].count("/") == 1]
    below = ok(session, "tree", folder=top[0]["folder"], limit=50)
    assert all(row["folder"].startswith(top[0]["folder"] + "/") for row in below)


# -- writing -----------------------------------------------------------------------------------


def test_writing(session: Session, home: str) -> None:
    assert ok(session, "append_file", file="two.txt", text="d\ne\n") == {"file": f"{home}/two.txt", "bytes": 7}
    assert text_of(session, "two.txt") == "a\nc\nd\ne"
    assert ok(session, "replace_text", file="one.txt", old="b", new="bee") == {"count": 2}
    assert text_of(session, "one.txt") == "bee\na\nbee"
    refused(session, "not_found", "replace_text", file="one.txt", old="zebra", new="")
    for bad in ("a\x00b", "\ud800", "a\rb", "\x1b[31m"):
        refused(session, "invalid_value", "write_file", file="one.txt", text=bad)
    injected = "'; rm -rf / #{{7*7}}"
    ok(session, "write_file", file="one.txt", text=injected)
    assert text_of(session, "one.txt") == injected


def test_a_file_and_the_disk_fill_up(session: Session, home: str) -> None:
    for _ in range(FILE_BYTES // 200):
        result = session.call("append_file", {"file": "one.txt", "text": "x" * 190})
    refused(session, "insufficient", "append_file", file="one.txt", text="y" * 200)
    assert result.ok or ok(session, "stat", file="one.txt")["bytes"] <= FILE_BYTES
    copies = 0
    while session.call("cp", {"file": "one.txt", "folder": ok(session, "mkdir", name=f"c{copies}")["folder"]}).ok:
        copies += 1
    assert copies > 3
    refused(session, "insufficient", "cp", file="one.txt", folder=f"c{copies}")
    ok(session, "rm", file="c0/one.txt")
    ok(session, "cp", file="one.txt", folder=f"c{copies}")


def test_copy_move_and_rename(session: Session, home: str) -> None:
    sub = ok(session, "mkdir", name="sub")["folder"]
    assert ok(session, "cp", file="one.txt", folder=sub) == {"file": f"{sub}/one.txt"}
    refused(session, "conflict", "cp", file="one.txt", folder=sub)
    refused(session, "conflict", "mv", file="one.txt", folder="sub")
    assert ok(session, "mv", file="two.txt", folder=sub) == {"file": f"{sub}/two.txt"}
    refused(session, "not_found", "cat", file="two.txt")
    assert ok(session, "rename_file", file="sub/two.txt", name="three.txt") == {"file": f"{sub}/three.txt"}
    assert text_of(session, f"{sub}/three.txt") == "a\nc"
    ok(session, "write_file", file="sub/one.txt", text="changed")
    assert text_of(session, "one.txt") == "b\na\nb"


def test_folders_move_with_all_that_they_hold(session: Session, home: str) -> None:
    ok(session, "mkdir", name="sub")
    ok(session, "ln", file="one.txt", name="alias", folder="sub")
    ok(session, "cd", folder="sub")
    target = ok(session, "mkdir", name="target", folder=ROOT)["folder"]
    refused(session, "invalid_value", "mv_folder", folder=home, target=f"{home}/sub")
    refused(session, "invalid_value", "mv_folder", folder=home, target=home)
    refused(session, "denied", "mv_folder", folder=ROOT, target=target)
    assert ok(session, "mv_folder", folder=home, target=target) == {"folder": "/target/home"}
    assert ok(session, "pwd") == {"folder": "/target/home/sub"}
    assert text_of(session, "../one.txt") == "b\na\nb"
    refused(session, "not_found", "cd", folder=home)
    assert ok(session, "readlink", link="alias") == {"file": "/home/one.txt", "link": "/target/home/sub/alias", "exists": False}
    assert ok(session, "rename_folder", folder="/target", name="targets") == {"folder": "/targets"}
    assert ok(session, "pwd") == {"folder": "/targets/home/sub"}
    check(session)


def test_paths_never_grow_over_their_length(session: Session) -> None:
    folder = ROOT
    for _ in range(20):
        result = session.call("mkdir", {"name": "d" * 38, "folder": folder})
        if not result.ok:
            break
        folder = result.content["folder"]
    refused(session, "invalid_value", "mkdir", name="d" * 38, folder=folder)
    ok(session, "mkdir", name="t" * 38, folder=ROOT)
    first = "/" + "d" * 38
    refused(session, "invalid_value", "mv_folder", folder=first, target="/" + "t" * 38)
    check(session)


def test_only_empty_folders_are_removed(session: Session, home: str) -> None:
    sub = ok(session, "mkdir", name="sub")["folder"]
    refused(session, "wrong_state", "rmdir", folder=home)
    ok(session, "cd", folder=sub)
    refused(session, "wrong_state", "rmdir", folder=sub)
    ok(session, "cd", folder="..")
    assert ok(session, "rmdir", folder="sub") == {"folder": home}
    refused(session, "not_found", "cd", folder=sub)
    refused(session, "denied", "rmdir", folder=ROOT)


# -- permissions, bin, links, archives ---------------------------------------------------------


def test_modes_and_locks(session: Session, home: str) -> None:
    ok(session, "chmod", file="one.txt", mode="ro")
    assert text_of(session, "one.txt") == "b\na\nb"
    for name, more in (
        ("write_file", {"text": "x"}),
        ("append_file", {"text": "x"}),
        ("replace_text", {"old": "b", "new": "c"}),
        ("rm", {}),
        ("trash_file", {}),
        ("mv", {"folder": ROOT}),
        ("rename_file", {"name": "x"}),
    ):
        refused(session, "denied", name, file="one.txt", **more)
    ok(session, "chmod", file="one.txt", mode="none")
    refused(session, "denied", "cat", file="one.txt")
    refused(session, "denied", "cp", file="one.txt", folder=ROOT)
    assert ok(session, "grep_folder", folder=home, text="b") == []
    ok(session, "chmod", file="one.txt", mode="rw")
    assert ok(session, "lock_folder", folder=home) == {"folder": home, "locked": True}
    for name, arguments in (
        ("rm", {"file": "one.txt"}),
        ("touch", {"name": "new.txt"}),
        ("mkdir", {"name": "new"}),
        ("ln", {"file": "one.txt", "name": "new"}),
        ("rename_file", {"file": "one.txt", "name": "new.txt"}),
        ("zip", {"files": ["one.txt"], "name": "new"}),
    ):
        refused(session, "denied", name, **arguments)
    ok(session, "write_file", file="one.txt", text="still writable")
    ok(session, "unlock_folder", folder=home)
    ok(session, "rm", file="one.txt")


def test_the_bin(session: Session, home: str) -> None:
    free = ok(session, "df")["free"]
    item = ok(session, "trash_file", file="one.txt")["item_id"]
    assert ok(session, "df")["free"] == free
    refused(session, "not_found", "cat", file="one.txt")
    assert ok(session, "find_trashed", name="one.txt")["item_id"] == item
    ok(session, "touch", name="one.txt")
    refused(session, "conflict", "restore_file", item_id=item)
    ok(session, "rm", file="one.txt")
    assert ok(session, "restore_file", item_id=item) == {"file": f"{home}/one.txt"}
    assert text_of(session, "one.txt") == "b\na\nb"
    refused(session, "not_found", "restore_file", item_id=item)
    ok(session, "trash_file", file="one.txt")
    emptied = ok(session, "empty_trash")
    assert emptied["items"] == 4 and emptied["free"] > free
    assert ok(session, "list_trash") == [] and ok(session, "empty_trash")["items"] == 0


def test_a_file_is_not_restored_into_a_folder_that_is_gone(session: Session, home: str) -> None:
    sub = ok(session, "mkdir", name="sub")["folder"]
    ok(session, "mv", file="one.txt", folder=sub)
    item = ok(session, "trash_file", file=f"{sub}/one.txt")["item_id"]
    ok(session, "rmdir", folder=sub)
    refused(session, "not_found", "restore_file", item_id=item)
    ok(session, "mkdir", name="sub")
    ok(session, "restore_file", item_id=item)


def test_links_lead_to_files_and_may_dangle(session: Session, home: str) -> None:
    link = ok(session, "ln", file="one.txt", name="alias")["link"]
    assert text_of(session, link) == "b\na\nb"
    ok(session, "append_file", file=link, text="via")
    assert text_of(session, "one.txt").endswith("via")
    refused(session, "wrong_state", "rm", file=link)
    refused(session, "wrong_state", "mv", file=link, folder=ROOT)
    second = ok(session, "ln", file=link, name="alias2")["link"]
    assert ok(session, "readlink", link=second)["file"] == f"{home}/one.txt"
    ok(session, "rm", file="one.txt")
    assert ok(session, "readlink", link=link)["exists"] is False
    refused(session, "not_found", "cat", file=link)
    assert ok(session, "unlink", link=link) == {"file": f"{home}/one.txt"}
    refused(session, "not_found", "unlink", link=link)


def test_a_link_that_leads_to_itself_ends(session: Session, home: str) -> None:
    other = ok(session, "mkdir", name="other", folder=ROOT)["folder"]
    ok(session, "touch", name="f", folder=other)
    ok(session, "ln", file=f"{other}/f", name="f", folder=home)
    ok(session, "rm", file=f"{other}/f")
    ok(session, "rmdir", folder=other)
    ok(session, "rename_folder", folder=home, name="other")
    assert ok(session, "readlink", link="/other/f")["file"] == "/other/f"
    refused(session, "not_found", "cat", file="/other/f")


def test_archives(session: Session, home: str) -> None:
    packed = ok(session, "zip", files=["one.txt", "two.txt"], name="both")
    assert packed == {"file": f"{home}/both.zip", "files": 2}
    assert ok(session, "list_archive", file="both.zip") == [{"name": "one.txt", "bytes": 5}, {"name": "two.txt", "bytes": 3}]
    assert ok(session, "stat", file="both.zip")["type"] == "zip"
    refused(session, "wrong_state", "cat", file="both.zip")
    refused(session, "wrong_state", "append_file", file="both.zip", text="x")
    refused(session, "wrong_state", "zip", files=["both.zip"], name="nested")
    refused(session, "wrong_state", "list_archive", file="one.txt")
    refused(session, "conflict", "zip", files=["one.txt", "one.txt"], name="twice")
    refused(session, "conflict", "unzip", file="both.zip", folder=".")
    ok(session, "rm", file="one.txt")
    refused(session, "conflict", "unzip", file="both.zip", folder=".")
    refused(session, "not_found", "cat", file="one.txt")
    sub = ok(session, "mkdir", name="sub")["folder"]
    assert ok(session, "unzip", file="both.zip", folder=sub) == {"folder": sub, "files": 2}
    assert text_of(session, "sub/one.txt") == "b\na\nb"


def test_tags(session: Session, home: str) -> None:
    assert ok(session, "tag_file", file="one.txt", tags=["tax", "urgent"]) == {"file": f"{home}/one.txt", "tags": 2}
    refused(session, "conflict", "tag_file", file="one.txt", tags=["tax"])
    refused(session, "invalid_value", "tag_file", file="one.txt", tags=["no spaces"])
    ok(session, "tag_file", file="two.txt", tags=["a1", "a2", "a3", "a4", "a5"])
    ok(session, "tag_file", file="two.txt", tags=["b1", "b2", "b3", "b4", "b5"])
    refused(session, "insufficient", "tag_file", file="two.txt", tags=["c1"])
    assert ok(session, "untag_file", file="one.txt", tag="tax") == {"file": f"{home}/one.txt", "tags": 1}
    refused(session, "not_found", "untag_file", file="one.txt", tag="tax")
