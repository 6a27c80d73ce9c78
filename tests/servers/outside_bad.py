"""An outside server that misbehaves as it is told. Run: `python outside_bad.py [HOW]`; HOW misbehaves at the start.

It speaks the protocol by hand, because the SDK's servers do not let a tool do these things. It lists one tool,
`misbehave`, and `fine`, which answers. Whatever it starts has MARK in its command line, so that tests find leftovers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SLEEPER = "import time, sys; time.sleep(3600)"
TEXT: dict[str, Any] = {"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]}
TOOLS = [{"name": "misbehave", "inputSchema": TEXT}, {"name": "fine", "inputSchema": {"type": "object"}}]
MARK = os.environ.get("MARK", "")


def send(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(number: Any, text: str) -> None:
    send({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}]}})


def start(*, detached: bool) -> None:
    """A child that outlives its parent; detached, it leaves the group, the session and the parent."""
    if not detached:
        subprocess.Popen([sys.executable, "-c", SLEEPER, MARK])
        return
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, [sys.executable, "-c", SLEEPER, MARK])
        os._exit(0)
    os.wait()


def misbehave(how: str, number: Any) -> None:
    """One kind of misbehaviour; returns when the server is to go on."""
    if how == "die":
        print("I am dying of a broken heart", file=sys.stderr, flush=True)
        os._exit(3)
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "hang":
        time.sleep(3600)
    if how == "deaf":  # cannot be ended by anything but SIGKILL
        for number_ in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number_, signal.SIG_IGN)
        answer(number, "deaf")
        while True:
            time.sleep(3600)
    if how == "flood":
        while True:
            os.write(1, b"x" * 65536)
    if how == "flood of messages":
        while True:
            send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 1000}})
    if how == "flood of errors":
        for _ in range(300):
            os.write(2, b"y" * 65536)
        answer(number, "done")
    if how == "garbage":
        print("Loading model... done", flush=True)
        answer(number, "ok")
    if how == "unknown answers":
        send({"jsonrpc": "2.0", "id": 10**6, "result": {}})
        answer(number, "ok")
    if how == "wrong shape":
        send({"jsonrpc": "2.0", "id": number, "result": {"content": "text"}})
    if how == "internal error":
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": "stack overflow"}})
    if how == "bad params":
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -32602, "message": "how: no such way"}})
    if how == "refuse":
        result = {"content": [{"type": "text", "text": "there is no such way"}], "isError": True}
        send({"jsonrpc": "2.0", "id": number, "result": result})
    if how in ("children", "detached children"):
        for _ in range(3):
            start(detached=how.startswith("detached"))
        Path("touched").write_text("by a call")
        answer(number, "started")
    if how == "children, then die":
        start(detached=False)
        start(detached=True)
        Path("touched").write_text("by a call")
        os._exit(3)
    if how == "memory":
        kept = []
        while True:
            kept.append(bytearray(32 * 2**20))
    if how == "cpu":
        while True:
            pass
    if how == "big file":
        with Path("big").open("wb") as file:
            for _ in range(64):
                file.write(b"z" * 2**20)
        answer(number, "written")


def main() -> None:
    at_start = sys.argv[1] if len(sys.argv) > 1 else ""
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        if method == "initialize":
            if at_start:
                misbehave(at_start, number)
            about = {"name": "bad", "version": "1"}
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
            send({"jsonrpc": "2.0", "id": number, "result": result})
        elif method == "tools/list":
            tools = json.loads(os.environ["TOOLS"]) if "TOOLS" in os.environ else TOOLS
            send({"jsonrpc": "2.0", "id": number, "result": {"tools": tools}})
        elif method == "tools/call":
            params = message["params"]
            if params["name"] == "misbehave":
                misbehave(params["arguments"]["how"], number)
            else:
                answer(number, json.dumps(params["arguments"]))


if __name__ == "__main__":
    main()
