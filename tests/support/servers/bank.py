"""An MCP server whose tools say what they may do, and whose calls run side by side.

Usage: bank.py FOLDER; standard library only. Whatever a tool does is a line in FOLDER/book, also
when the server then dies of it, which the first calls with ``deaths`` do, as many as it says, as
soon as the lines in ``once`` are in the book.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import sys
import threading
import time
import zlib
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_ghost.results import JSONObject

FOLDER = Path(sys.argv[1])
BOOK = FOLDER / "book"
TOGETHER = threading.Condition()
waiting = 0
WRITING = threading.Lock()


def note(line: str) -> int:
    """Write a line into the book; returns how many of it there are now."""
    with WRITING:
        with BOOK.open("a") as book:
            book.write(f"{line}\n")
        return BOOK.read_text().splitlines().count(line)


def text(words: str) -> JSONObject:
    return {"content": [{"type": "text", "text": words}]}


# --- tools -----------------------------------------------------------------------------------


def act(arguments: JSONObject) -> JSONObject:
    """Note it, die of it if told to, sleep if told to, and note the end."""
    name = arguments.get("name", "it")
    if note(name) <= arguments.get("deaths", 0):
        while not {*arguments.get("once", ())} <= {*BOOK.read_text().splitlines()}:
            time.sleep(0.01)
        os._exit(9)
    time.sleep(arguments.get("seconds", 0))
    note(f"end of {name}")
    return text(f"done: {name}")


def meet(arguments: JSONObject) -> JSONObject:
    """Wait until as many calls as ``size`` are here at the same time; say how many came."""
    global waiting
    with TOGETHER:
        waiting += 1
        TOGETHER.notify_all()
        TOGETHER.wait_for(lambda: waiting >= arguments["size"], 60)
        return text(f"{waiting} met")


def crowd(arguments: JSONObject) -> JSONObject:
    """How many calls were ever here at the same time."""
    global waiting
    with TOGETHER:
        waiting += 1
    note(f"{waiting} here")
    time.sleep(0.2)
    with TOGETHER:
        waiting -= 1
    return text("here")


def flood(arguments: JSONObject) -> JSONObject:
    return text("x" * arguments["size"])


def png(size: int) -> bytes:
    """A picture of one row of ``size`` pixels, one byte each."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    header = struct.pack(">IIBBBBB", size, 1, 8, 0, 0, 0, 0)
    row = zlib.compress(b"\0" + bytes(size), level=0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(*it) for it in ((b"IHDR", header), (b"IDAT", row), (b"IEND", b""))
    )


def show(arguments: JSONObject) -> JSONObject:
    """A text, and a picture of ``size`` pixels or a sound."""
    type_ = arguments.get("type", "image/png")
    content = arguments.get("size", 3000)
    data = base64.b64encode(b"RIFF" if type_ == "audio/wav" else png(content)).decode()
    media = {"type": type_.partition("/")[0], "data": data, "mimeType": type_}
    content = [*text("Look at this:")["content"], media]
    return {"content": content, "isError": arguments.get("fails", False)}


READ = {"readOnlyHint": True}
TOOLS: dict[str, tuple[Callable[[JSONObject], JSONObject], JSONObject | None]] = {
    "balance": (act, READ),
    "put": (act, {"idempotentHint": True}),
    "transfer": (act, {"destructiveHint": True}),
    "insert": (act, None),
    "meet": (meet, READ),
    "crowd": (crowd, READ),
    "flood": (flood, READ),
    "show": (show, READ),
}


# --- the protocol ----------------------------------------------------------------------------


def schema(name: str) -> JSONObject:
    _, annotations = TOOLS[name]
    said = {} if annotations is None else {"annotations": annotations}
    return {"name": name, "inputSchema": {"type": "object"}, **said}


def answer(id_: object, method: str, params: JSONObject) -> None:
    result: JSONObject = {}  # for what it does not know
    if method == "initialize":
        info = {"name": "bank", "version": "1.0"}
        capabilities: JSONObject = {"tools": {}}
        result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
    elif method == "tools/list":
        result = {"tools": [schema(name) for name in TOOLS]}
    elif method == "tools/call":
        result = TOOLS[params["name"]][0](params.get("arguments") or {})
    with WRITING:
        print(json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}), flush=True)


FOLDER.mkdir(exist_ok=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        asked = (message["id"], message["method"], message.get("params") or {})
        threading.Thread(target=answer, args=asked, daemon=True).start()
