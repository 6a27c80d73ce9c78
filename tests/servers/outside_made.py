"""What the tests of outside servers share: an mcp.json for our own test servers, and a look for leftovers.

config = written(tmp_path, notes=notes(tmp_path), bad=bad("die"))
with load(config) as environment: ...
assert leftovers(mark) == [] and folders() == []
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from tasks.servers.outside_folder import PREFIX

HERE = Path(__file__).parent
GARDEN = {"id": 1, "title": "Garden", "text": "Water the plants."}
ROOF = {"id": 2, "title": "Roof", "text": "Call the roofer."}


def written(folder: Path, **servers: dict[str, Any]) -> Path:
    """An mcp.json of these servers."""
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def seeded(folder: Path) -> Path:
    """A template with two notes."""
    notes = folder / "seed" / "notes"
    if not notes.exists():
        notes.mkdir(parents=True)
        for note in (GARDEN, ROOF):
            (notes / f"{note['id']}.json").write_text(json.dumps(note))
    return folder / "seed"


def notes(folder: Path, env: dict[str, str] | None = None, **rungs: Any) -> dict[str, Any]:
    """The entry of the notes server, with a template of two notes."""
    seeded(folder)
    settings = {"template": "seed", "read_only": ["read_note"], **rungs}
    return {"command": sys.executable, "args": [str(HERE / "outside_notes.py")], "env": env or {}, "rungs": settings}


def bad(*how: str, mark: str = "", tools: Any = None, **rungs: Any) -> dict[str, Any]:
    """The entry of the server that misbehaves; `how` at its start. `tools`: what it lists instead of its own."""
    env = {"MARK": mark} | ({} if tools is None else {"TOOLS": json.dumps(tools)})
    return {"command": sys.executable, "args": [str(HERE / "outside_bad.py"), *how], "env": env, "rungs": rungs}


def leftovers(mark: str, seconds: float = 0.0) -> list[str]:
    """Command lines of processes that a server with that mark is or has started; waits until there are none."""
    until = time.monotonic() + seconds
    while True:
        found = [" ".join(process.info["cmdline"]) for process in _marked(mark)]
        if not found or time.monotonic() >= until:
            return found
        time.sleep(0.05)


def _marked(mark: str) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["environ", "cmdline", "status"])
        if (process.info["environ"] or {}).get("MARK") == mark or mark in (process.info["cmdline"] or [])
        if process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def folders() -> list[Path]:
    """Working folders that are left."""
    return sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*"))
