"""Requests that change the tree of the filesystem server; part of tasks.synthesize.grammar.filesystem.

Left out: requests that take a tag off a file, since no result tells which tags one file carries.
"""

from __future__ import annotations

from tasks.servers.filesystem_data import NEW_FOLDERS, NEW_STEMS, TAGS, TOPICS
from tasks.synthesize.grammar import Choice, Constant, Goal, Ref, Words

NEW_FILES = tuple(f"{stem}.txt" for stem in NEW_STEMS)
LEVELS = Choice({"ERROR": "ERROR", "WARN": "WARN", "INFO": "INFO"})
REMARK = Words([TAGS, TOPICS])

WRITING = [
    Goal(
        "cd",
        {"folder": Ref("folder")},
        [
            "go to {folder}",
            "change to {folder}",
            "switch to {folder}",
            "make {folder} the current folder",
            "take me to {folder}",
        ],
    ),
    Goal(
        "mkdir",
        {"name": Words([NEW_FOLDERS]), "folder": Ref("folder")},
        [
            "make a folder {name} in {folder}",
            "create a folder called {name} inside {folder}",
            "add a subfolder {name} to {folder}",
            "set up a new folder named {name} in {folder}",
        ],
    ),
    Goal(
        "mkdir",
        {"name": Words([NEW_FOLDERS])},
        [
            "make a folder {name} here",
            "create a folder called {name} right here",
            "add a subfolder {name} to where I am now",
            "set up a new folder named {name} where I am",
        ],
        weight=0.5,
    ),
    Goal(
        "touch",
        {"name": Words([NEW_FILES]), "folder": Ref("folder")},
        [
            "create an empty file {name} in {folder}",
            "make a new empty file called {name} in {folder}",
            "start a blank file {name} in {folder}",
            "put an empty file named {name} into {folder}",
        ],
    ),
    Goal(
        "write_file",
        {"file": Ref("file"), "text": REMARK},
        [
            "replace the whole text of {file} with {text}",
            "overwrite {file} with {text}",
            "make {text} the only text in {file}",
            "throw out what {file} says and write {text} instead",
        ],
        needs_state={"file": {"mode": "rw"}},
    ),
    Goal(
        "write_file",
        {"text": Ref("checksum"), "file": Ref("file")},
        [
            "replace the whole text of {file} with {text}",
            "overwrite {file} with {text}",
            "let {file} hold nothing but {text}",
            "make {text} the only text in {file}",
        ],
        needs_state={"file": {"mode": "rw"}},
    ),
    Goal(
        "append_file",
        {"file": Ref("file"), "text": REMARK},
        [
            "add the line {text} to {file}",
            "append {text} to {file}",
            "put {text} at the end of {file}",
            "add {text} as the last line of {file}",
        ],
        needs_state={"file": {"mode": "rw"}},
    ),
    Goal(
        "append_file",
        {"text": Ref("checksum"), "file": Ref("file")},
        [
            "append {text} to {file}",
            "add {text} at the end of {file}",
            "put {text} on a new line at the end of {file}",
            "write {text} below the last line of {file}",
        ],
        needs_state={"file": {"mode": "rw"}},
    ),
    Goal(
        "append_file",
        {"text": Ref("owner"), "file": Ref("file")},
        [
            "append the name of {text} to {file}",
            "add the name of {text} at the end of {file}",
            "put the name of {text} on a new line at the end of {file}",
            "write down the name of {text} below the last line of {file}",
        ],
        needs_state={"file": {"mode": "rw"}},
    ),
    Goal(
        "append_file",
        {"text": Ref("date"), "file": Ref("file")},
        [
            "append {text} to {file}",
            "add {text} at the end of {file}",
            "note {text} on a new line at the end of {file}",
            "write {text} below the last line of {file}",
        ],
        needs_state={"file": {"mode": "rw"}},
    ),
    Goal(
        "replace_text",
        {"file": Ref("file"), "old": LEVELS, "new": Choice({"DONE": "DONE", "FIXED": "FIXED", "SEEN": "SEEN"})},
        [
            "replace {old} with {new} in {file}",
            "change every {old} in {file} to {new}",
            "swap {old} for {new} everywhere in {file}",
            "put {new} wherever {file} says {old}",
        ],
        needs_state={"file": {"type": "log", "mode": "rw"}},
    ),
    Goal(
        "cp",
        {"file": Ref("file"), "folder": Ref("folder")},
        [
            "copy {file} to {folder}",
            "put a copy of {file} into {folder}",
            "make a copy of {file} in {folder}",
            "duplicate {file} into {folder}",
        ],
        weight=1.5,
    ),
    Goal(
        "mv",
        {"file": Ref("file"), "folder": Ref("folder")},
        ["move {file} to {folder}", "put {file} into {folder}", "transfer {file} to {folder}", "bring {file} over to {folder}"],
        needs_state={"file": {"mode": "rw"}},
        weight=1.5,
    ),
    Goal(
        "rename_file",
        {"file": Ref("file"), "name": Words([NEW_FILES])},
        [
            "rename {file} to {name}",
            "give {file} the name {name}",
            "change the name of {file} to {name}",
            "let {file} be called {name} from now on",
        ],
        needs_state={"file": {"mode": "rw"}},
    ),
    Goal(
        "mv_folder",
        {"folder": Ref("folder"), "target": Ref("folder")},
        [
            "move {folder} into {target}",
            "put {folder} inside {target}",
            "make {folder} a subfolder of {target}",
            "move {folder} with everything in it to {target}",
        ],
    ),
    Goal(
        "rename_folder",
        {"folder": Ref("folder"), "name": Words([NEW_FOLDERS])},
        [
            "rename {folder} to {name}",
            "give {folder} the new name {name}",
            "change the name of {folder} to {name}",
            "let {folder} be called {name} from now on",
        ],
    ),
    Goal(
        "rm",
        {"file": Ref("file")},
        [
            "delete {file} for good",
            "permanently delete {file}",
            "erase {file} forever",
            "delete {file} without keeping it in the bin",
        ],
        needs_state={"file": {"mode": "rw"}},
    ),
    Goal(
        "rmdir",
        {"folder": Ref("folder")},
        [
            "remove {folder}, which is empty",
            "get rid of {folder}, since it is empty",
            "delete {folder}, which has nothing in it",
            "remove {folder}, as there is nothing in it",
        ],
        needs_state={"folder": {"files": 0}},
        weight=0.5,
    ),
    Goal(
        "trash_file",
        {"file": Ref("file")},
        ["move {file} to the bin", "put {file} in the trash", "throw {file} in the bin", "send {file} to the trash"],
        needs_state={"file": {"mode": "rw"}},
    ),
    Goal(
        "restore_file",
        {"item_id": Ref("trash_item")},
        [
            "restore {item_id} from the bin",
            "bring back {item_id} from the trash",
            "take {item_id} out of the bin again",
            "undelete {item_id}, which is still in the bin",
        ],
    ),
    Goal(
        "empty_trash",
        {},
        ["empty the bin", "empty the trash", "clear out the bin for good", "delete everything in the trash"],
        weight=0.5,
    ),
    Goal(
        "chmod",
        {"file": Ref("file"), "mode": Choice({"ro": "read-only", "none": "inaccessible"})},
        [
            "make {file} {mode}",
            "set {file} to {mode}",
            "change the access of {file} to {mode}",
            "mark {file} as {mode}",
        ],
        needs_state={"file": {"mode": "rw"}},
    ),
    Goal(
        "chmod",
        {"file": Ref("file"), "mode": Constant("rw")},
        [
            "make {file} writable",
            "give me read and write access to {file}",
            "allow changes to {file}",
            "let me read and write {file}",
        ],
        needs_state={"file": {"mode": "ro"}},
        weight=0.7,
    ),
    Goal(
        "lock_folder",
        {"folder": Ref("folder")},
        [
            "lock {folder}",
            "lock {folder} so that nothing in it can be added or removed",
            "protect {folder} with a lock",
            "put a lock on {folder}",
        ],
        needs_state={"folder": {"locked": False}},
    ),
    Goal(
        "unlock_folder",
        {"folder": Ref("folder")},
        ["unlock {folder}", "take the lock off {folder}", "remove the lock from {folder}", "open up {folder}, which is locked"],
        needs_state={"folder": {"locked": True}},
        weight=0.5,
    ),
    Goal(
        "tag_file",
        {"file": Ref("file"), "tags": Constant([Words([TAGS])])},
        [
            "tag {file} as {tags.0}",
            "add the tag {tags.0} to {file}",
            "mark {file} with the tag {tags.0}",
            "put the tag {tags.0} on {file}",
        ],
    ),
    Goal(
        "tag_file",
        {"file": Ref("file"), "tags": Constant([Words([TAGS]), Words([TAGS])])},
        [
            "tag {file} as {tags.0} and {tags.1}",
            "add the tags {tags.0} and {tags.1} to {file}",
            "mark {file} with the tags {tags.0} and {tags.1}",
            "give {file} two tags, {tags.0} and {tags.1}",
        ],
        weight=0.5,
    ),
    Goal(
        "ln",
        {"file": Ref("file"), "name": Words([NEW_STEMS]), "folder": Ref("folder")},
        [
            "make a link called {name} to {file} in {folder}",
            "create a link {name} in {folder} that points to {file}",
            "put a link named {name} to {file} into {folder}",
            "link {file} as {name} in {folder}",
        ],
    ),
    Goal(
        "unlink",
        {"link": Ref("link")},
        [
            "remove {link}",
            "delete {link} but keep the file behind it",
            "get rid of {link}",
            "take away {link}, not the file it points to",
        ],
        weight=0.7,
    ),
    Goal(
        "zip",
        {"files": Constant([Ref("file"), Ref("file")]), "name": Words([NEW_STEMS]), "folder": Ref("folder")},
        [
            "pack {files.0} and {files.1} into an archive called {name} in {folder}",
            "zip {files.0} together with {files.1} as {name} in {folder}",
            "make an archive {name} in {folder} from {files.0} and {files.1}",
            "bundle {files.0} and {files.1} into a zip archive named {name} in {folder}",
        ],
    ),
    Goal(
        "unzip",
        {"file": Ref("file"), "folder": Ref("folder")},
        [
            "unpack {file} into {folder}",
            "unzip {file} in {folder}",
            "extract the files of {file} to {folder}",
            "extract {file} into {folder}",
        ],
        needs_state={"file": {"type": "zip"}},
    ),
]
