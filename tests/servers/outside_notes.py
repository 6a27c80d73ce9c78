"""A well-behaved outside server for tests: notes as files in its working folder. Run: `python outside_notes.py`.

Its reading tools promise a result type, its writing tools do not. It also tells what a session gave it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

server = MCPServer("notes")
FOLDER = Path("notes")
READS = ToolAnnotations(read_only_hint=True)


def _path(note_id: int) -> Path:
    path = FOLDER / f"{note_id}.json"
    if not path.is_file():
        raise ToolError(f"note {note_id} not found")
    return path


@server.tool(annotations=READS)
def list_notes() -> list[dict[str, Any]]:
    """Lists all notes with their numbers and titles."""
    return [
        {"id": int(path.stem), "title": json.loads(path.read_text())["title"]}
        for path in sorted(FOLDER.glob("*.json"), key=lambda p: int(p.stem))
    ]


@server.tool(structured_output=False)
def read_note(note_id: int) -> str:
    """Reads one note, as JSON text."""
    return _path(note_id).read_text()


@server.tool()
def write_note(title: str, text: str) -> dict[str, Any]:
    """Writes a new note."""
    FOLDER.mkdir(exist_ok=True)
    number = max((int(path.stem) for path in FOLDER.glob("*.json")), default=0) + 1
    (FOLDER / f"{number}.json").write_text(json.dumps({"id": number, "title": title, "text": text}))
    return {"id": number, "title": title}


@server.tool(annotations=ToolAnnotations(destructive_hint=True), structured_output=False)
def delete_note(note_id: int) -> str:
    """Deletes a note."""
    _path(note_id).unlink()
    return f"deleted note {note_id}"


@server.tool(annotations=READS)
def surroundings() -> dict[str, Any]:
    """The server's environment, working folder and process."""
    return {"env": dict(os.environ), "folder": str(Path.cwd()), "pid": os.getpid()}


@server.tool(annotations=READS, structured_output=False)
def echo(text: str) -> str:
    """Gives a text back, and whether it names a file."""
    return f"{Path(text).exists()} {text}"


@server.tool(annotations=READS, structured_output=False)
def blob(size: int) -> str:
    """A text of so many characters."""
    return "x" * size


if __name__ == "__main__":
    server.run()
