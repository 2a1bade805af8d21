"""An MCP server that keeps notes as files in the folder NOTES; standard library only.

SERVER_LOG names a file that gets a line for each start, each message and the end of input, as
with ``faulty.py``. Counters of tools that fail or die at first are files in the same folder.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_ghost.results import JSONObject

ANNOTATIONS = {
    "read": {"readOnlyHint": True},
    "count": {"readOnlyHint": True},
    "die_at_first": {"idempotentHint": True},
}
FOLDER = Path(os.environ["NOTES"])


def log(**entry: object) -> None:
    if path := os.environ.get("SERVER_LOG"):
        line = json.dumps({"pid": os.getpid(), **entry}) + "\n"
        os.write(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY), line.encode())


def counted(name: str) -> int:
    """How often this was asked for ``name``, this time included."""
    counter = FOLDER / f"{name}.count"
    counter.write_text((counter.read_text() if counter.exists() else "") + "x")
    return counter.stat().st_size


# --- tools: arguments -> text, or an exception -------------------------------------------------


def write(arguments: dict[str, str]) -> str:
    (FOLDER / arguments["name"]).write_text(arguments["text"])
    return f"wrote {arguments['name']}"


def read(arguments: dict[str, str]) -> str:
    path = FOLDER / arguments["name"]
    if not path.exists():
        raise LookupError(f"there is no note '{arguments['name']}'")
    return path.read_text()


def count(arguments: JSONObject) -> JSONObject:
    return {"notes": len([*FOLDER.glob("*")])}


def remove(arguments: JSONObject) -> str:
    (FOLDER / arguments["name"]).unlink()
    return "gone"


def tick(arguments: JSONObject) -> str:
    """A different answer each time."""
    return f"tick {counted('tick')}"


def die_at_first(arguments: JSONObject) -> str:
    """Die in the first calls, as many as ``times``."""
    if counted("die_at_first") <= arguments.get("times", 1):
        os._exit(9)
    return "survived"


def fail_at_first(arguments: JSONObject) -> str:
    if counted("fail_at_first") <= arguments.get("times", 1):
        raise LookupError("not yet")
    return "at last"


def sleep(arguments: JSONObject) -> str:
    log(event="sleeping")
    time.sleep(arguments["seconds"])
    return "awake"


TOOLS = {
    f.__name__: f for f in (write, read, count, remove, tick, die_at_first, fail_at_first, sleep)
}


# --- the protocol ----------------------------------------------------------------------------


def schema(name: str) -> JSONObject:
    text = {"type": "string"}
    properties = {"name": text, "text": text, "times": {"type": "integer"}, "seconds": {}}
    return {
        "name": name,
        "description": f"{name} notes",
        "inputSchema": {"type": "object", "properties": properties},
        "annotations": ANNOTATIONS.get(name, {}),
    }


def call(params: JSONObject) -> JSONObject:
    try:
        result = TOOLS[params["name"]](params.get("arguments") or {})
    except (LookupError, OSError) as error:
        message = str(error.args[0]) if isinstance(error, LookupError) else str(error)
        return {"content": [{"type": "text", "text": message}], "isError": True}
    if isinstance(result, str):
        return {"content": [{"type": "text", "text": result}]}
    text = json.dumps(result)
    return {"content": [{"type": "text", "text": text}], "structuredContent": result}


def answer(method: str, params: JSONObject) -> JSONObject:
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1.0"},
        }
    if method == "tools/list":
        return {"tools": [schema(name) for name in TOOLS]}
    if method != "tools/call":
        return {}  # it knows no other
    return call(params)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    log(event="start")
    for line in sys.stdin:
        message = json.loads(line)
        log(event="message", method=message.get("method"), params=message.get("params"))
        if "id" in message and "method" in message:
            result = answer(message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    log(event="end of input")


main()
