"""The user's own servers, as the ecosystem's file names them: `mcp.json`, read strictly.

    for server in read_config(Path("mcp.json")):
        server.name, server.command, server.deadlines.call

    {"mcpServers": {"notes": {
        "command": "python", "args": ["notes.py", "--data", "${RUNGS_FOLDER}"], "env": {"TOKEN": "${TOKEN}"},
        "rungs": {"template": "seed", "deadlines": {"call": 10}, "limits": {"memory_mb": 1024}, "read_only": ["list_notes"]}
    }}}

`${NAME}` and `${NAME:-default}` in args, env, url and headers stand for variables of our environment; they are filled
when the file is read, and a server gets no variable that its `env` does not name. `${RUNGS_FOLDER}`,
`${RUNGS_SEED}` and `${RUNGS_SESSION}` are filled anew in every session. Paths count from the file's folder.

Left out: other clients' keys (`inputs`, `autoApprove`, `timeout`), and servers over the deprecated `sse` transport.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tasks.toolbox.faults import FaultError
from tasks.toolbox.strictjson import loads

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
"""What a server's name looks like: it stands in names of tools and of files."""
SESSION_NAMES = ("RUNGS_FOLDER", "RUNGS_SEED", "RUNGS_SESSION")
"""References that every session fills: its working folder, its seed, and an identifier of its own."""
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Count = Annotated[int, Field(ge=1, le=2**40)]


class ConfigError(ValueError):
    """An mcp.json that cannot be used; every line names the file, the key and the remedy."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Deadlines(_Section):
    """Seconds. `start`: until the tools are listed; `call`: one call; `stop`: until a server that was told to end is killed."""

    start: Seconds = 60.0
    call: Seconds = 60.0
    stop: Seconds = 4.0


class Limits(_Section):
    """Of each process of a server: address space, CPU time, the largest file that it can write; null lifts one.

    `output_bytes` bounds the answer to one call. A server that writes much more than that at a stretch is ended.
    """

    memory_mb: Count | None = 4096
    cpu_s: Count | None = 600
    file_mb: Count | None = 1024
    output_bytes: Annotated[int, Field(ge=256, le=2**28)] = 262_144


class Settings(_Section):
    """The key `rungs` of a server: what the ecosystem's keys do not say.

    template: the folder that every session's working folder is a copy of. read_only: tools that change nothing, besides
    those that say so themselves. tools: only these are used. ignore: files (patterns over the path in the working folder,
    where * also matches /) that do not count as state. known: values for arguments, by their names, to begin sampling with.
    """

    template: str | None = None
    deadlines: Deadlines = Deadlines()
    limits: Limits = Limits()
    read_only: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    known: dict[str, tuple[str | int | float | bool, ...]] = {}


class _Entry(_Section):
    """One value of `mcpServers`, as it stands in the file."""

    type: Literal["stdio", "http", "streamable-http", "streamableHttp"] | None = None
    command: Annotated[str, Field(min_length=1)] | None = None
    args: tuple[str, ...] = ()
    env: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], str] = {}
    cwd: str | None = None
    url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")] | None = None
    headers: dict[str, str] = {}
    disabled: bool = False
    rungs: Settings = Settings()

    @model_validator(mode="after")
    def _either(self) -> _Entry:
        if (self.command is None) == (self.url is None):
            both = "gives both command and url" if self.command else "gives neither command nor url"
            raise ValueError(f"{both}; give one: command for a program to start, url for a server that runs elsewhere")
        wrong = ("args", "env", "cwd") if self.url else ("headers",)
        for key in wrong:
            if getattr(self, key):
                raise ValueError(f"{key} goes with {'command' if self.url else 'url'}; remove it")
        if self.url and self.rungs.template:
            raise ValueError("rungs.template goes with command: a server elsewhere has no working folder of ours; remove it")
        if self.type is not None and (self.type == "stdio") != (self.command is not None):
            raise ValueError(f"type {self.type!r} goes with {'command' if self.type == 'stdio' else 'url'}; correct one")
        return self


class _File(_Section):
    mcpServers: Annotated[dict[Annotated[str, Field(pattern=NAME)], _Entry], Field(min_length=1)]  # noqa: N815


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server, ready to be started or reached. What may hold secrets is left out of its repr."""

    name: str
    source: Path
    command: str | None = None
    """An absolute path."""
    url: str | None = field(default=None, repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    template: Path | None = None
    """An existing folder, or None for an empty one."""
    subfolder: str = ""
    """Where in the working folder the server starts."""
    settings: Settings = field(default_factory=Settings)

    @property
    def deadlines(self) -> Deadlines:
        """Seconds for start, call and stop."""
        return self.settings.deadlines

    @property
    def limits(self) -> Limits:
        """Bounds on memory, CPU time, files and output."""
        return self.settings.limits


def read_config(path: Path) -> list[ServerConfig]:
    """The servers of an mcp.json in its order, without the disabled ones.

    Raises ConfigError that names the file, the key and the remedy: no such file, not JSON, an unknown key, a missing or
    unknown command, a wrong type, a variable that is not set, a template that is no folder.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; give the path of an mcp.json") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as text: {error}") from error
    try:
        values = loads(text)
    except FaultError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{path}: line {line}: not JSON: {error}") from error
    try:
        file = _File.model_validate(_tuples(values))
    except ValidationError as error:
        raise ConfigError("\n".join(f"{path}: {line}" for line in _explain(error))) from None
    found = [_server(path, name, entry) for name, entry in file.mcpServers.items() if not entry.disabled]
    if not found:
        raise ConfigError(f"{path}: mcpServers: every server is disabled; take `disabled` from one")
    return found


def _server(path: Path, name: str, entry: _Entry) -> ServerConfig:
    key = f"{path}: mcpServers.{name}"
    if entry.url is not None:
        headers = {k: _filled(v, f"{key}.headers.{k}") for k, v in entry.headers.items()}
        return ServerConfig(name, path, url=_filled(entry.url, f"{key}.url"), headers=headers, settings=entry.rungs)
    assert entry.command is not None
    env = {k: _filled(v, f"{key}.env.{k}") for k, v in entry.env.items()}
    args = tuple(_filled(v, f"{key}.args.{i}") for i, v in enumerate(entry.args))
    base = path.absolute().parent
    template, subfolder = _folders(key, base, entry)
    return ServerConfig(
        name,
        path,
        command=_command(key, base, entry.command, env.get("PATH", os.environ.get("PATH", os.defpath))),
        args=args,
        env=env,
        template=template,
        subfolder=subfolder,
        settings=entry.rungs,
    )


def _command(key: str, base: Path, command: str, search: str) -> str:
    # Not resolved: the Python of a virtual environment is a link, and only by the link's path it finds its packages.
    found = shutil.which(str(base / command) if "/" in command else command, path=search)
    if found is None:
        where = f"there is no program {base / command}" if "/" in command else f"there is no {command!r} on the PATH"
        raise ConfigError(f"{key}.command: {where}; install it, or give its path (counted from {base})")
    return str(Path(found).absolute())


def _folders(key: str, base: Path, entry: _Entry) -> tuple[Path | None, str]:
    """(template, subfolder). Without a template `cwd` is it: a session never works in the user's own folder."""
    if entry.rungs.template is None:
        template, where = entry.cwd, f"{key}.cwd"
        subfolder = ""
    else:
        template, where = entry.rungs.template, f"{key}.rungs.template"
        subfolder = entry.cwd or ""
    if template is None:
        return None, ""
    folder = (base / template).resolve()
    if not folder.is_dir():
        raise ConfigError(f"{where}: there is no folder {folder}; give the folder that sessions start from a copy of")
    if subfolder:
        inside = (folder / subfolder).resolve()
        if not inside.is_dir() or not inside.is_relative_to(folder):
            raise ConfigError(f"{key}.cwd: there is no folder {subfolder!r} in the template {folder}; give one inside it")
        subfolder = str(inside.relative_to(folder))
    return folder, subfolder


def _filled(text: str, key: str) -> str:
    """`text` with the variables of our environment; a session's own references stay."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name in SESSION_NAMES:
            return match[0]
        if name in os.environ:
            return os.environ[name]
        if default is None:
            raise ConfigError(f"{key}: the environment variable {name} is not set; set it, or write ${{{name}:-default}}")
        return default

    return _REFERENCE.sub(value, text)


def filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with a session's own references filled from `values`, which has all SESSION_NAMES."""
    return _REFERENCE.sub(lambda match: values[match[1]] if match[1] in SESSION_NAMES else match[0], text)


def _tuples(value: Any) -> Any:
    """JSON's lists as tuples, which is what frozen settings hold."""
    if isinstance(value, Mapping):
        return {key: _tuples(each) for key, each in value.items()}
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value


def _explain(error: ValidationError) -> Iterator[str]:
    for item in error.errors():
        parts = [str(part) if str(part).isprintable() else repr(part) for part in item["loc"]]
        key = ".".join(part for part in parts if part != "[key]") or "the file"
        match item["type"]:
            case "extra_forbidden":
                yield f"{key}: unknown key{_nearest(parts)}"
            case "missing":
                yield f"{key}: missing; add it"
            case "value_error":
                yield f"{key}: {item['ctx']['error']}"
            case "string_pattern_mismatch" if "[key]" in parts:
                yield f"{key}: not a name; use letters, digits, `_`, `-` and `.`, and letters first"
            case "literal_error" if item["input"] == "sse":
                yield f"{key}: 'sse' is no transport here; give the server's streamable HTTP address as url, without type"
            case _:
                wanted = re.sub(r"a valid dictionary or instance of \w+|a valid dictionary", "an object", item["msg"])
                wanted = re.sub("^(Input|String|Dictionary) should", "it should", wanted.replace("a valid tuple", "a list"))
                shown = repr(item["input"])
                yield f"{key}: {shown if len(shown) <= 60 else shown[:57] + '...'} is wrong: {wanted}"


def _nearest(parts: list[str]) -> str:
    section: type[BaseModel] = _File
    for depth, part in enumerate(parts[:-1]):
        known = {1: _Entry, 2: Settings} if depth < 3 else {"deadlines": Deadlines, "limits": Limits}
        section = known.get(depth if depth < 3 else part, section)
    names = list(section.model_fields)
    close = difflib.get_close_matches(parts[-1], names, n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else f"; remove it; known here: {', '.join(names)}"
