"""The filesystem server's seeds, and the server under random calls: the tree stays well formed, whatever is asked of it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tasks.servers.filesystem import Filesystem
from tasks.servers.filesystem_tree import FILE_BYTES, LONGEST, ROOT, base, checked_name, parent, size
from tasks.servers.sampler import Live, sample
from tasks.servers.session import Environment, Session
from tasks.servers.world import HELD_OUT_FROM, World
from tests.servers.driver import Driver, drive, ok, state_of

WORLD = Environment([Filesystem])
SEED = 7


def live_of(seed: int) -> Live:
    with WORLD.session(seed) as opened:
        return sample(opened)


def check(session: Session) -> None:
    """Every entry lies in a folder, no path is taken twice, names are names, and the quota is kept."""
    state = state_of(session, Filesystem)
    paths = [*state.folders, *state.files, *state.links]
    assert len(paths) == len(set(paths))
    assert ROOT in state.folders
    for table, key in ((state.folders, "folder"), (state.files, "file"), (state.links, "link")):
        for path, row in table.items():
            assert getattr(row, key) == path
            assert len(path) <= LONGEST
            if path != ROOT:
                assert path.startswith("/") and checked_name(base(path))
                assert parent(path) in state.folders
    for row in state.files.values():
        assert row.members or size(row) <= FILE_BYTES
        assert not (row.members and row.text)
    for row in state.links.values():
        assert row.file.startswith("/")
    place = state.place["here"]
    assert place.folder in state.folders
    used = sum(size(row) for row in state.files.values()) + sum(size(item.file) for item in state.bin.values())
    assert used <= place.quota
    assert ok(session, "df") == {"used": used, "free": place.quota - used}


def names_in(seed: int) -> set[str]:
    state = Filesystem.seed(World(seed, "filesystem"))
    paths = [*state["folders"], *state["files"], *state["links"], *(item.file.file for item in state["bin"].values())]
    return {part for path in paths for part in path.removeprefix("/").split("/") if part}


def test_seeding() -> None:
    assert Filesystem.seed(World(5, "filesystem")) == Filesystem.seed(World(5, "filesystem"))
    assert Filesystem.seed(World(5, "filesystem")) != Filesystem.seed(World(6, "filesystem"))
    training = set().union(*map(names_in, range(40)))
    held_out = set().union(*(names_in(HELD_OUT_FROM + seed) for seed in range(40)))
    assert training and held_out and not training & held_out


@pytest.mark.parametrize("seed", [*range(12), *range(HELD_OUT_FROM, HELD_OUT_FROM + 6)])
def test_seeds_give_a_well_formed_tree_with_telling_names(seed: int) -> None:
    with WORLD.session(seed) as session:
        ok(session, "pwd")
        check(session)
        state = state_of(session, Filesystem)
        for table in (state.folders, state.files, state.links):
            names = [base(path) for path in table]
            assert len(names) == len(set(names))
        assert len(state.files) == 24 and len(state.links) == 3 and len(state.bin) == 3
        assert max(path.count("/") for path in state.folders) >= 2
        for link in state.links.values():
            assert link.file in state.files


def test_what_is_done_in_another_order_ends_in_the_same_state() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("mkdir", {"name": "a", "folder": ROOT}),
        ("touch", {"name": "b.txt", "folder": ROOT}),
        ("trash_file", {"file": next(f for f, row in _files(SEED).items() if row["mode"] == "rw" and row["free"])}),
    ]
    digests = set()
    for order in (calls, calls[::-1]):
        with WORLD.session(SEED) as session:
            for name, arguments in order:
                ok(session, name, **arguments)
            digests.add(session.digest())
    assert len(digests) == 1


def _files(seed: int) -> dict[str, dict[str, Any]]:
    live = live_of(seed)
    locked = {key for key, facts in live.entities["folder"].items() if facts.get("locked")}
    return {key: {**facts, "free": parent(key) not in locked} for key, facts in live.entities["file"].items()}


LIVE = {seed: live_of(seed) for seed in (SEED, HELD_OUT_FROM + 1)}


NAMES = st.sampled_from(("a", "b", "c.txt", "d.zip", ".."))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), world=st.sampled_from(sorted(LIVE)), hostile=st.sampled_from((0.02, 0.1, 0.4)))
def test_random_calls_keep_the_tree_well_formed(seed: int, world: int, hostile: float) -> None:
    drive(WORLD, world, seed, LIVE[world], check, calls=40, hostile=hostile)


class Keeper(RuleBasedStateMachine):
    """A person at work in a tree with few names, so that clashes, links and locks meet; each call checked by the driver."""

    def __init__(self) -> None:
        super().__init__()
        live = LIVE[SEED]
        self.session = WORLD.session(SEED)
        copied = Live({kind: {key: dict(facts) for key, facts in known.items()} for kind, known in live.entities.items()})
        self.driver = Driver(self.session, random.Random(0), copied)
        ok(self.session, "pwd")
        self.state = state_of(self.session, Filesystem)

    def teardown(self) -> None:
        self.session.close()

    @rule(data=st.data(), tool=st.sampled_from(("mkdir", "touch")), name=NAMES)
    def make(self, data: st.DataObject, tool: str, name: str) -> None:
        self.driver.call(tool, {"name": name, "folder": self.folder(data)})

    @rule(data=st.data(), tool=st.sampled_from(("cp", "mv", "unzip")))
    def bring(self, data: st.DataObject, tool: str) -> None:
        self.driver.call(tool, {"file": self.file(data), "folder": self.folder(data)})

    @rule(data=st.data(), name=NAMES)
    def rename(self, data: st.DataObject, name: str) -> None:
        if data.draw(st.booleans()):
            self.driver.call("rename_file", {"file": self.file(data), "name": name})
        else:
            self.driver.call("rename_folder", {"folder": self.folder(data), "name": name})

    @rule(data=st.data())
    def move_folder(self, data: st.DataObject) -> None:
        self.driver.call("mv_folder", {"folder": self.folder(data), "target": self.folder(data)})

    @rule(data=st.data(), tool=st.sampled_from(("cd", "rmdir", "lock_folder", "unlock_folder")))
    def on_folder(self, data: st.DataObject, tool: str) -> None:
        self.driver.call(tool, {"folder": self.folder(data)})

    @rule(data=st.data(), tool=st.sampled_from(("rm", "trash_file", "cat", "list_archive", "stat")))
    def on_file(self, data: st.DataObject, tool: str) -> None:
        self.driver.call(tool, {"file": self.file(data)})

    @rule(data=st.data(), text=st.text("ab\n é", min_size=1, max_size=20), old=st.sampled_from(("a", "b", "e")))
    def edit(self, data: st.DataObject, text: str, old: str) -> None:
        tool = data.draw(st.sampled_from(("write_file", "append_file", "replace_text")))
        more = {"old": old, "new": text} if tool == "replace_text" else {"text": text}
        self.driver.call(tool, {"file": self.file(data), **more})

    @rule(data=st.data(), mode=st.sampled_from(("rw", "ro", "none")), tag=NAMES)
    def mark(self, data: st.DataObject, mode: str, tag: str) -> None:
        file = self.file(data)
        match data.draw(st.sampled_from(("chmod", "tag_file", "untag_file"))):
            case "chmod":
                self.driver.call("chmod", {"file": file, "mode": mode})
            case "tag_file":
                self.driver.call("tag_file", {"file": file, "tags": [tag]})
            case _:
                self.driver.call("untag_file", {"file": file, "tag": tag})

    @rule(data=st.data(), name=NAMES)
    def link_or_pack(self, data: st.DataObject, name: str) -> None:
        if data.draw(st.booleans()):
            self.driver.call("ln", {"file": self.file(data), "name": name, "folder": self.folder(data)})
        else:
            self.driver.call("zip", {"files": [self.file(data), self.file(data)], "name": name, "folder": self.folder(data)})

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        items = sorted(self.state.bin) or ["item_100"]
        self.driver.call("restore_file", {"item_id": data.draw(st.sampled_from(items))})

    @rule(seed=st.integers(0, 2**32))
    def anything(self, seed: int) -> None:
        self.driver.rng = random.Random(seed)
        self.driver.step()

    @invariant()
    def holds(self) -> None:
        check(self.session)

    def folder(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from([*sorted(self.state.folders), ".", "..", "a"]))

    def file(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from([*sorted(self.state.files), *sorted(self.state.links), "a", "../b"]))


TestKeeper = Keeper.TestCase
TestKeeper.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
