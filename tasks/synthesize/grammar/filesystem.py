"""Requests to the filesystem server: files and folders by name, by place and by size; what to do with them.

Reading goals ask for one value, so that doing nothing never passes for doing right; tools whose results
are whole texts or lists (cat, ls, sort) are left to the model's own use.
"""

from __future__ import annotations

from tasks.synthesize.grammar import Choice, Constant, Day, Field, Goal, Number, Ref, Referent
from tasks.synthesize.grammar.filesystem_writing import LEVELS, WRITING

TYPES = Choice({"csv": "csv", "log": "log", "md": "md", "txt": "txt"})

REFERENTS = [
    Referent("file", "find_file", {"name": Field("name")}, "/file", ["{name}", "the file {name}", "my file {name}"]),
    Referent(
        "file",
        "largest_file",
        {"folder": Ref("folder", via="largest_in")},
        "/file",
        ["the largest file in {folder}", "the biggest file in {folder}", "the file with the most bytes in {folder}"],
    ),
    Referent(
        "file",
        "newest_file",
        {"folder": Ref("folder", via="newest_in")},
        "/file",
        ["the newest file in {folder}", "the most recently changed file in {folder}", "the latest file in {folder}"],
    ),
    Referent(
        "file",
        "readlink",
        {"link": Ref("link", via="link")},
        "/file",
        ["the file behind {link}", "the file that {link} points to", "the target of {link}"],
    ),
    Referent(
        "folder",
        "find_folder",
        {"name": Field("name")},
        "/folder",
        ["the {name} folder", "the folder {name}", "the folder called {name}", "my {name} folder"],
    ),
    Referent(
        "folder",
        "parent_folder",
        {"file": Ref("file", via="file")},
        "/folder",
        ["the folder that holds {file}", "the folder of {file}", "the folder that contains {file}"],
    ),
    Referent(
        "link", "find_link", {"name": Field("name")}, "/link", ["the link {name}", "the link called {name}", "my link {name}"]
    ),
    Referent(
        "trash_item",
        "find_trashed",
        {"name": Field("name")},
        "/item_id",
        ["the deleted file {name}", "the deleted {name}", "{name}"],
    ),
    Referent(
        "checksum",
        "checksum",
        {"file": Ref("file")},
        "/sum",
        ["the checksum of {file}", "the SHA-256 checksum of {file}"],
        of="file",
    ),
    Referent(
        "owner", "stat", {"file": Ref("file")}, "/owner", ["the owner of {file}", "the person who owns {file}"], of="file"
    ),
    Referent(
        "date",
        "stat",
        {"file": Ref("file")},
        "/modified",
        ["the day when {file} was last changed", "the date of the last change to {file}"],
        of="file",
    ),
]

READING = [
    Goal(
        "df",
        {},
        [
            "how many bytes are still free",
            "how much space is left on the disk",
            "tell me how many bytes of space are free",
            "how much free space do I have",
        ],
        answer="/free",
        weight=0.5,
    ),
    Goal(
        "list_trash",
        {},
        [
            "which file was deleted last",
            "tell me the name of the file that went to the bin most recently",
            "what is the name of the most recently deleted file in the bin",
            "what did I throw in the bin last",
        ],
        answer="/0/name",
        weight=0.5,
    ),
    Goal(
        "list_tags",
        {},
        [
            "which tag is used most",
            "what is the most common tag on my files",
            "tell me the tag that the most files carry",
            "which tag do I use the most often",
        ],
        answer="/0/tag",
        weight=0.5,
    ),
    Goal(
        "stat",
        {"file": Ref("file")},
        ["who owns {file}", "tell me who the owner of {file} is", "who is the owner of {file}", "find out who owns {file}"],
        answer="/owner",
    ),
    Goal(
        "stat",
        {"file": Ref("file")},
        [
            "when was {file} last changed",
            "what day was {file} last modified on",
            "tell me when {file} was last changed",
            "what is the date of the last change to {file}",
        ],
        answer="/modified",
    ),
    Goal(
        "wc",
        {"file": Ref("file")},
        [
            "how many lines does {file} have",
            "count the lines of {file}",
            "tell me the number of lines in {file}",
            "what is the line count of {file}",
        ],
        answer="/lines",
    ),
    Goal(
        "wc",
        {"file": Ref("file")},
        [
            "how many words are in {file}",
            "count the words of {file}",
            "tell me the number of words in {file}",
            "what is the word count of {file}",
        ],
        answer="/words",
    ),
    Goal(
        "head",
        {"file": Ref("file"), "lines": Constant(1)},
        [
            "what is the first line of {file}",
            "tell me the first line of {file}",
            "read me the top line of {file}",
            "what does {file} say in its first line",
        ],
        answer="/text",
    ),
    Goal(
        "tail",
        {"file": Ref("file"), "lines": Constant(1)},
        [
            "what is the last line of {file}",
            "tell me the last line of {file}",
            "read me the bottom line of {file}",
            "what does {file} say in its last line",
        ],
        answer="/text",
    ),
    Goal(
        "uniq",
        {"file": Ref("file")},
        [
            "how often does the most repeated line of {file} occur",
            "how many times does the most frequent line of {file} occur",
            "tell me how often the most common line of {file} comes up",
            "what is the highest number of repeats of one line in {file}",
        ],
        answer="/0/count",
        weight=0.5,
    ),
    Goal(
        "grep",
        {"file": Ref("file"), "text": LEVELS},
        [
            "what is the line number where {file} first has {text}",
            "what is the number of the first line with {text} in {file}",
            "tell me the line number where {text} first shows up in {file}",
            "find the number of the first line of {file} that contains {text}",
        ],
        answer="/0/line",
        needs_state={"file": {"type": "log"}},
    ),
    Goal(
        "grep",
        {"file": Ref("file"), "text": LEVELS},
        [
            "what does the first line with {text} in {file} say",
            "read me the first line of {file} that contains {text}",
            "what is the text of the first {text} line in {file}",
            "tell me what the first line marked {text} in {file} says",
        ],
        answer="/0/text",
        needs_state={"file": {"type": "log"}},
    ),
    Goal(
        "diff",
        {"first": Ref("file"), "second": Ref("file")},
        [
            "what is the first line of {first} that {second} lacks",
            "tell me the first line that is in {first} but not in {second}",
            "what is the first line that {first} has and {second} does not",
            "find the first line of {first} that is missing from {second}",
        ],
        answer="/first_only/0",
    ),
    Goal(
        "compare_files",
        {"first": Ref("file"), "second": Ref("file")},
        [
            "is the text of {first} the same as that of {second}",
            "are {first} and {second} identical",
            "tell me whether {first} and {second} are the same",
            "do {first} and {second} have the same text",
        ],
        answer="/same",
        weight=0.3,
    ),
    Goal(
        "checksum",
        {"file": Ref("file")},
        [
            "what is the checksum of {file}",
            "compute the checksum of {file}",
            "tell me the checksum of {file}",
            "work out the SHA-256 checksum of {file}",
        ],
        answer="/sum",
    ),
    Goal(
        "du",
        {"folder": Ref("folder")},
        [
            "how many bytes does {folder} take up in all",
            "what is the total size of {folder}",
            "tell me how much space {folder} takes",
            "add up the size of everything in {folder}",
        ],
        answer="/bytes",
    ),
    Goal(
        "du",
        {"folder": Ref("folder")},
        [
            "how many files are there in {folder}, subfolders included",
            "count all files in {folder}, those in subfolders too",
            "tell me how many files {folder} holds at any depth",
            "how many files are in {folder} and below it",
        ],
        answer="/files",
    ),
    Goal(
        "list_files",
        {"folder": Ref("folder")},
        [
            "which file comes first by name in {folder}",
            "tell me the name of the alphabetically first file in {folder}",
            "what is the first file in {folder} in alphabetical order",
            "find the name of the file that comes first in {folder}",
        ],
        answer="/0/name",
        weight=0.5,
    ),
    Goal(
        "largest_file",
        {"folder": Ref("folder")},
        [
            "what is the size in bytes of the largest file in {folder}",
            "how many bytes does the largest file in {folder} have",
            "how large is the biggest file directly in {folder}",
            "tell me the size of the largest file in {folder}",
        ],
        answer="/bytes",
    ),
    Goal(
        "newest_file",
        {"folder": Ref("folder")},
        [
            "what is the path of the newest file in {folder}",
            "give me the path of the file in {folder} that was changed most recently",
            "tell me the path of the file in {folder} that was changed last",
            "find the path of the most recently changed file in {folder}",
        ],
        answer="/file",
    ),
    Goal(
        "search_files",
        {"filter": Constant({"type": TYPES})},
        [
            "give me the path of the largest {filter.type} file there is",
            "what is the path of the largest {filter.type} file on the disk",
            "find the path of the biggest of all {filter.type} files",
            "tell me the path of my largest {filter.type} file",
        ],
        answer="/0/file",
    ),
    Goal(
        "search_files",
        {"filter": Constant({"owner": Ref("owner")})},
        [
            "what is the path of the largest file that belongs to {filter.owner}",
            "find the path of the largest file owned by {filter.owner}",
            "tell me the path of the biggest file belonging to {filter.owner}",
            "give me the path of the largest file of {filter.owner}",
        ],
        answer="/0/file",
    ),
    Goal(
        "search_files",
        {"filter": Constant({"since": Day(-25, -5)})},
        [
            "what is the path of the largest file changed since {filter.since}",
            "find the path of the largest file that was changed on or after {filter.since}",
            "tell me the path of the biggest file modified since {filter.since}",
            "give me the path of the largest of the files changed since {filter.since}",
        ],
        answer="/0/file",
    ),
    Goal(
        "search_files",
        {"filter": Constant({"type": TYPES, "max_bytes": Number(60, 140, 10)})},
        [
            "what is the path of the largest {filter.type} file of at most {filter.max_bytes} bytes",
            "find the path of the largest {filter.type} file that has no more than {filter.max_bytes} bytes",
            "tell me the path of the biggest {filter.type} file up to {filter.max_bytes} bytes",
            "give me the path of the largest {filter.type} file with {filter.max_bytes} bytes or less",
        ],
        answer="/0/file",
    ),
    Goal(
        "grep_folder",
        {"folder": Ref("folder"), "text": LEVELS},
        [
            "what is the path of the first file in {folder} that contains {text}",
            "give me the path of the first file below {folder} that mentions {text}",
            "search {folder} for {text} and tell me the path of the first file found",
            "look through {folder} and tell me the path of the first file with {text} in it",
        ],
        answer="/0/file",
        weight=0.5,
    ),
    Goal(
        "readlink",
        {"link": Ref("link")},
        [
            "which path does {link} point to",
            "tell me the path that {link} points to",
            "what is the path behind {link}",
            "what is the path of the file that {link} leads to",
        ],
        answer="/file",
        weight=0.7,
    ),
    Goal(
        "list_archive",
        {"file": Ref("file")},
        [
            "what is the name of the first file packed in {file}",
            "tell me the name of the first file inside {file}",
            "which file comes first inside {file}",
            "look into {file} and tell me the name of its first file",
        ],
        answer="/0/name",
        needs_state={"file": {"type": "zip"}},
        weight=0.7,
    ),
]

GOALS = [*READING, *WRITING]
