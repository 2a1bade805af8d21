"""An MCP server whose answers to calls are wild; standard library only.

Usage: wild.py stdio|json|events|sse. All but the first listen on a port of this machine and print
it: "json" and "events" are the two forms of streamable HTTP, "sse" is the older transport.
The tool "answer" takes ``kind``, one of KINDS, and ``last``: whether its id comes after the result.
The kind "raw" is the bytes in ``hex``, in which ID stands for the call's, and then a good answer.
TOOLS is how many tools are listed beside it, TOOL_SIZE how long the description of one more is,
TASKS whether there is one that runs as a task: "optional" or "required".
"""

from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MIB = 1024 * 1024


def text(said: bytes) -> bytes:
    return b'{"content":[{"type":"text","text":"%b"}]}' % said


def many(block: bytes, number: int) -> bytes:
    return b'{"content":[%b%b]}' % ((block + b",") * (number - 1), block)


KINDS: dict[str, Callable[[], bytes]] = {
    "fine": lambda: text(b"on"),
    "large": lambda: text(b"x," * (4 * MIB - 1000)),
    "long": lambda: text(b"x" * (9 * MIB)),
    "blocks": lambda: many(b'{"type":"text","text":""}', 2_000_000),
    "brackets": lambda: many(b"[]", 19_000_000),
    "values": lambda: many(b"[]", 300_000),
    "nested": lambda: b"[" * 90_000 + b"]" * 90_000,
    "not UTF-8": lambda: text(b"\xff"),
    "digits": lambda: b'{"content":[],"structuredContent":{"a":%b}}' % (b"1" * 5000),
    "endless": lambda: text(b"x" * (100 * MIB)),
    "last words": lambda: sys.exit("\x1b[31mfatal\x1b]0;title\x07 --token hunter22hunter22"),
    "failing": lambda: (
        b'{"isError":true,"content":[{"type":"text","text":"%b"}]}'
        % rb"\u001b[31mwrong api_key: hunter22hunter22"
    ),
}

BETWEEN = {
    "stdio": b"\n",
    "json": b"",
    "events": b"\n\ndata: ",
    "sse": b"\n\nevent: message\ndata: ",
}


def written(id_: object, result: bytes, *, last: bool = False) -> bytes:
    number = json.dumps(id_).encode()
    if last:
        return b'{"result":%b,"jsonrpc":"2.0","id":%b}' % (result, number)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (number, result)


def tools() -> list[dict[str, Any]]:
    schema = {"type": "object"}
    more = int(os.environ.get("TOOLS", "0"))
    named = [{"name": f"tool{number}", "inputSchema": schema} for number in range(more)]
    said = "x" * int(os.environ.get("TOOL_SIZE", "0"))
    is_title = os.environ.get("PLACE") == "title"
    large = {"inputSchema": {**schema, "title": said}} if is_title else {"description": said}
    big = [{"name": "big", "inputSchema": schema, **large}] if said else []
    if support := os.environ.get("TASKS"):
        task = {"name": "task", "inputSchema": schema, "execution": {"taskSupport": support}}
        named.append(task)
    return [{"name": "answer", "inputSchema": schema}, *big, *named]


def answer(message: dict[str, Any]) -> bytes | None:
    method, id_, params = message.get("method"), message.get("id"), message.get("params") or {}
    if id_ is None or method is None:
        return None
    if method == "tools/call":
        asked = params["arguments"]
        if asked["kind"] == "raw":
            raw = bytes.fromhex(asked["hex"]).replace(b"ID", json.dumps(id_).encode())
            return raw + BETWEEN[sys.argv[1]] + written(id_, text(b"on"))
        return written(id_, KINDS[asked["kind"]](), last=asked.get("last", False))
    if method == "tools/list":
        return written(id_, json.dumps({"tools": tools()}).encode())
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": "wild", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        return written(id_, json.dumps(result).encode())
    error = {"code": -32601, "message": "Method not found"}
    return json.dumps({"jsonrpc": "2.0", "id": id_, "error": error}).encode()


def on_stdio() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if (said := answer(message)) is not None:
            is_endless = (message.get("params") or {}).get("arguments") == {"kind": "endless"}
            sys.stdout.buffer.write(said + (b"" if is_endless else b"\n"))
            sys.stdout.flush()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    streams: list[Handler] = []  # noqa: RUF012 - of the process
    closed = threading.Event()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        if sys.argv[1] != "sse":
            self._send(405, b"", "text/plain")
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"event: endpoint\ndata: /messages\n\n")
        self.streams.append(self)
        self.closed.wait()

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = answer(message)
        if said is None:
            self._send(202, b"", "text/plain")
        elif sys.argv[1] == "json":
            self._send(200, said, "application/json")
        elif sys.argv[1] == "events":
            self._send(200, b"data: %b\n\n" % said, "text/event-stream")
        else:
            self._send(202, b"", "text/plain")
            self.streams[-1].wfile.write(b"event: message\ndata: %b\n\n" % said)

    def do_DELETE(self) -> None:
        self._send(200, b"x" * MIB, "text/plain")

    def _send(self, status: int, body: bytes, type_: str) -> None:
        self.send_response(status)
        self.send_header("content-type", type_)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    if sys.argv[1] == "stdio":
        on_stdio()
        return
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    print(server.server_port, flush=True)
    server.serve_forever()


main()
