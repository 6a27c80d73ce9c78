"""From what outside servers list to the servers of an environment: names, specs, and who is asked for what.

    tools = checked(config, link.tools())
    servers = named([Listing(config, link.about, tools), ...])

Left out: tools that a server adds later (`list_changed`): the tools of an environment are those of its first listing.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.records import ToolSpec
from tasks.servers.outside_config import ConfigError, ServerConfig
from tasks.servers.outside_link import OutsideError
from tasks.servers.outside_schema import NAME, SchemaRefusedError, spec_of, wrapped

Tools = list[dict[str, Any]]
"""Entries of tools/list, as plain JSON."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What one server said: its own name and version, and its tools."""

    config: ServerConfig
    about: str
    tools: Tools


@dataclass(frozen=True, slots=True)
class OutsideServer:
    """One server of an environment: its specs by the names under which they are called, and its own names of them."""

    name: str
    title: str
    specs: Mapping[str, ToolSpec]
    own_names: Mapping[str, str]
    wrapped: frozenset[str]
    """Tools whose structured content is {"result": value}."""
    config: ServerConfig


def checked(config: ServerConfig, tools: Tools) -> Tools:
    """The tools that the settings keep. Raises ConfigError for a setting that names none, OutsideError for bad names."""
    where = f"{config.source}: mcpServers.{config.name}.rungs"
    names = [tool.get("name") for tool in tools]
    settings = config.settings
    for key, wanted in (("read_only", settings.read_only), ("tools", settings.tools or ())):
        for name in wanted:
            if name not in names:
                known = [known for known in names if isinstance(known, str)]
                close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
                hint = f"did you mean {close[0]}?" if close else f"one of {', '.join(known)}"
                raise ConfigError(f"{where}.{key}: {config.name} has no tool {name!r}; {hint}")
    kept = [tool for tool in tools if settings.tools is None or tool.get("name") in settings.tools]
    for name, count in Counter(str(tool.get("name")) for tool in kept).items():
        if count > 1 or not NAME.fullmatch(name):
            wrong = "is listed twice" if count > 1 else "has a name that no model can write"
            remedy = f"to leave it out, name the others in {where}.tools"
            raise OutsideError(f"outside server {config.name!r}: its tool {name[:80]!r} {wrong}; {remedy}")
    if not kept:
        raise OutsideError(f"outside server {config.name!r} lists no tools")
    return kept


def named(listed: Sequence[Listing]) -> list[OutsideServer]:
    """The servers, with prefixes for the names that more than one of them offers. Raises OutsideError for a bad schema."""
    offered = Counter(tool["name"] for each in listed for tool in each.tools)
    servers = []
    for each in listed:
        config = each.config
        specs: dict[str, ToolSpec] = {}
        own_names: dict[str, str] = {}
        packed = set()
        for tool in each.tools:
            own = tool["name"]
            name = own if offered[own] == 1 else f"{config.name}_{own}"
            try:
                specs[name] = spec_of(tool, config.name, name, own in config.settings.read_only)
            except SchemaRefusedError as error:
                where = f"{config.source}: mcpServers.{config.name}.rungs.tools"
                raise OutsideError(f"{error}; to leave it out, name the others in {where}") from error
            own_names[name] = own
            if wrapped(tool.get("outputSchema")):
                packed.add(name)
        servers.append(
            OutsideServer(config.name, f"Outside server: {each.about}.", specs, own_names, frozenset(packed), config)
        )
    return servers
