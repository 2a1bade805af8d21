"""An MCP server that knows the revisions it is told to know; standard library only.

Usage: versions.py stdio|http VERSION,... [DISCOVER]

DISCOVER is what becomes of ``server/discover`` where no listed version has it: a code of an error
("-32601", the default), "ignore", "die", or "die later" (at the next message, as servers on the
Python SDK before 1.7 do). SLEEP is seconds before a line is read, LATE seconds before
``server/discover`` is answered, STRICT the words with which a handshake in another version is
refused. SERVER_LOG names a file that gets a line for each start and each
message.
Over HTTP, the port is printed once it listens, and REJECT has the first request refused with a
status and the versions that are known.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_ghost.results import JSONObject

    Send = Callable[[JSONObject], None]

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
CHANGED = "notifications/tools/list_changed"
NOT_FOUND, INVALID, MISMATCH, UNSUPPORTED = -32601, -32602, -32020, -32022
TRANSPORT, KNOWN = sys.argv[1], sys.argv[2].split(",")
DISCOVER = sys.argv[3] if len(sys.argv) > 3 else "-32601"
INFO = {"name": "versions", "version": "1.0"}
CAPABILITIES = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}, "logging": {}}
"""More than there is: nobody is to ask for it."""
OBJECT = {"type": "object"}
FORM = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "default": "brass"},
        "lamps": {"type": "integer", "default": 2},
    },
    "required": ["colour"],
}
READ = {"readOnlyHint": True, "idempotentHint": True}
TOOLS = [
    {"name": "echo", "inputSchema": OBJECT, "annotations": {**READ, "title": "Echo"}},
    {"name": "pay", "inputSchema": OBJECT, "annotations": {"destructiveHint": True}},
    {"name": "ask", "inputSchema": OBJECT},
    {"name": "count", "inputSchema": OBJECT},
    {"name": "grow", "inputSchema": OBJECT},
]
ROUTED = {"type": "object", "properties": {"to": {"type": "string", "x-mcp-header": "To"}}}


class RefusedError(Exception):
    """Answered with an error: code, message, data."""


def log(**entry: object) -> None:
    if path := os.environ.get("SERVER_LOG"):
        line = json.dumps({"pid": os.getpid(), **entry}) + "\n"
        os.write(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY), line.encode())


class Server:
    """Answers messages; one for all who talk to it."""

    def __init__(self) -> None:
        self.tools: list[JSONObject] = [*TOOLS]
        self.is_doomed = False
        self.has_shaken_hands = False
        self.listeners: dict[object, Send] = {}
        """By the ids of their requests to listen."""
        self.asked: dict[str, object] = {}
        """What calls wait for in the handshake's revisions: id of the question -> of the call."""

    def receive(self, message: JSONObject, send: Send) -> None:
        """Answer through ``send``, which reaches whoever sent ``message``."""
        method, id_ = message.get("method"), message.get("id")
        params = message.get("params") or {}
        log(event="message", method=method, params=params)
        if self.is_doomed:
            os._exit(7)
        if method is None and (call := self.asked.pop(str(id_), None)) is not None:
            send(reply(call, text(json.dumps(message.get("result") or message.get("error", {})))))
        if method is None or id_ is None:
            return
        is_modern = f"{META}protocolVersion" in params.get("_meta", {})
        try:
            if is_modern and MODERN in KNOWN:
                result = self.modern(str(method), params, id_, send)
            else:
                result = self.handshake(str(method), params, id_, send)
        except RefusedError as refusal:
            code, words, *data = refusal.args
            error = {"code": code, "message": words, **({"data": data[0]} if data else {})}
            send({"jsonrpc": "2.0", "id": id_, "error": error})
            return
        if result is not None:
            send(reply(id_, result))

    def modern(self, method: str, params: JSONObject, id_: object, send: Send) -> JSONObject | None:
        """The result for a request of 2026-07-28; None where it comes later, or never."""
        wanted = params["_meta"][f"{META}protocolVersion"]
        if wanted not in KNOWN:
            raise RefusedError(
                UNSUPPORTED, "Unsupported", {"supported": KNOWN, "requested": wanted}
            )
        done = {"resultType": "complete", "_meta": {f"{META}serverInfo": INFO}}
        fresh = {"ttlMs": int(os.environ.get("TTL", "0")), "cacheScope": "private"}
        if method == "server/discover":
            time.sleep(float(os.environ.get("LATE", "0")))
            offered = {"supportedVersions": KNOWN, "capabilities": CAPABILITIES}
            return {**done, **fresh, **offered}
        if method == "tools/list":
            return {**done, **fresh, "tools": self.tools}
        if method == "subscriptions/listen":
            stamp = {f"{META}subscriptionId": id_}
            self.listeners[id_] = lambda event: send({**event, "params": {"_meta": stamp}})
            honoured = {"notifications": {"toolsListChanged": True}, "_meta": stamp}
            acknowledged = "notifications/subscriptions/acknowledged"
            send({"jsonrpc": "2.0", "method": acknowledged, "params": honoured})
            return None
        if method != "tools/call":
            raise RefusedError(NOT_FOUND, f"unknown method: {method}")
        if params["name"] == "ask":
            answers, wanted = params.get("inputResponses"), params.get("arguments") or {}
            if answers is None or wanted.get("for_ever"):
                question = {"method": "elicitation/create", "params": elicitation()}
                asked = wanted.get("asked", {"form": question})
                requests = {"inputRequests": asked, "requestState": "s1"}
                return {"resultType": "input_required", **requests}
            return {**done, **text(json.dumps([answers["form"], params.get("requestState")]))}
        result = self.call(params, send)
        return result and {**done, **result}

    def handshake(
        self, method: str, params: JSONObject, id_: object, send: Send
    ) -> JSONObject | None:
        """The same for the revisions that begin with ``initialize``."""
        older = [version for version in KNOWN if version != MODERN]
        if method == "server/discover" or not older:
            self.puzzled(method)
            return None
        if method == "initialize":
            wanted = params["protocolVersion"]
            version = wanted if wanted in older else older[-1]
            if version != wanted and (words := os.environ.get("STRICT")):
                raise RefusedError(INVALID, words)
            self.has_shaken_hands = True
            return {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": INFO}
        if not self.has_shaken_hands:
            raise RefusedError(INVALID, "initialize comes first")
        if method == "tools/list":
            return {"tools": self.tools}
        if method != "tools/call":
            raise RefusedError(NOT_FOUND, f"unknown method: {method}")
        if params["name"] == "ask":
            question = f"q{id_}"
            self.asked[question] = id_
            request = {"id": question, "method": "elicitation/create", "params": elicitation()}
            send({"jsonrpc": "2.0", **request})
            return None
        return self.call(params, send)

    def puzzled(self, method: str) -> None:
        """A request of an unknown method."""
        if MODERN in KNOWN and method == "initialize":
            supported = {"supported": KNOWN, "requested": "2025-11-25"}
            raise RefusedError(UNSUPPORTED, "Unsupported protocol version", supported)
        if DISCOVER == "die":
            os._exit(7)
        if DISCOVER == "die later":
            self.is_doomed = True
        elif DISCOVER != "ignore":
            raise RefusedError(int(DISCOVER), "what is that?")

    def call(self, params: JSONObject, send: Send) -> JSONObject | None:
        """The result of a tool that answers at once."""
        arguments, token = (
            params.get("arguments") or {},
            params.get("_meta", {}).get("progressToken"),
        )
        if params["name"] == "never":
            return None
        if params["name"] == "count":
            for step in range(1, arguments["to"] + 1):
                time.sleep(arguments.get("pause", 0))
                said = {"progressToken": token, "progress": step, "message": f"step {step}"}
                send({"jsonrpc": "2.0", "method": "notifications/progress", "params": said})
            time.sleep(arguments.get("then", 0))
        if params["name"] == "grow":
            name = arguments.get("name", "new")
            self.tools = [tool for tool in self.tools if tool["name"] != name]
            self.tools.append({"name": name, "inputSchema": ROUTED})
            changed = {"jsonrpc": "2.0", "method": CHANGED}
            for told in [*self.listeners.values()] if MODERN in KNOWN else [send]:
                told(changed)
        return {**text(str(arguments.get("text", params["name"]))), "structuredContent": arguments}


def text(words: str) -> JSONObject:
    return {"content": [{"type": "text", "text": words}]}


def reply(id_: object, result: JSONObject) -> JSONObject:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def elicitation() -> JSONObject:
    if url := os.environ.get("URL_TO_OPEN"):
        return {"mode": "url", "message": "Sign in", "url": url, "elicitationId": "e1"}
    return {"mode": "form", "message": "Which lamp?", "requestedSchema": FORM}


# --- over stdio, and over HTTP ------------------------------------------------------------------


def over_stdio() -> None:
    def send(message: JSONObject) -> None:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()

    time.sleep(float(os.environ.get("SLEEP", "0")))
    for line in sys.stdin:
        SERVER.receive(json.loads(line), send)
    log(event="end of input")


SERVER = Server()
WAITING: queue.SimpleQueue[JSONObject] = queue.SimpleQueue()
"""What answers to the server's questions lead to, over HTTP."""

if TRANSPORT == "http":
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            log(event="request", method=message.get("method"), headers=dict(self.headers.items()))
            if "id" not in message or "method" not in message:
                SERVER.receive(message, WAITING.put)
                self.answer(202, b"", "text/plain")
                return
            if error := self.mismatch(message):
                body = {"jsonrpc": "2.0", "id": message["id"], "error": error}
                self.answer(400, json.dumps(body).encode(), "application/json")
                return
            self.stream(message)

        def mismatch(self, message: JSONObject) -> JSONObject | None:
            """What is wrong with a request of 2026-07-28."""
            params = message.get("params") or {}
            version = params.get("_meta", {}).get(f"{META}protocolVersion")
            if version is None:
                return None
            if os.environ.pop("REJECT", None):
                data = {"supported": KNOWN, "requested": version}
                return {"code": UNSUPPORTED, "message": "Unsupported", "data": data}
            wanted = {"mcp-protocol-version": version, "mcp-method": message["method"]}
            listed = {tool["name"]: tool for tool in SERVER.tools}
            tool = listed.get(params.get("name"), {})
            if tool.get("inputSchema") == ROUTED:
                wanted["mcp-param-to"] = params["arguments"]["to"]
            for name, value in wanted.items():
                if self.headers.get(name) != value:
                    return {"code": MISMATCH, "message": f"{name} is not {value}"}
            return None

        def stream(self, message: JSONObject) -> None:
            """The answer as events, the last of which ends the response."""
            events: queue.SimpleQueue[JSONObject] = queue.SimpleQueue()
            threading.Thread(target=SERVER.receive, args=(message, events.put), daemon=True).start()
            first = events.get()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            if message["method"] == "initialize":
                self.send_header("mcp-session-id", "session-1")
            self.end_headers()
            self.close_connection = True
            while True:
                self.wfile.write(f"event: message\ndata: {json.dumps(first)}\n\n".encode())
                self.wfile.flush()
                if first.get("id") == message["id"]:
                    return
                first = (WAITING if first.get("id") in SERVER.asked else events).get()

        def do_GET(self) -> None:
            self.answer(405, b"", "text/plain")

        def do_DELETE(self) -> None:
            self.answer(200, b"", "text/plain")

        def answer(self, status: int, body: bytes, type_: str) -> None:
            self.send_response(status)
            self.send_header("content-type", type_)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


def over_http() -> None:
    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    print(listener.server_port, flush=True)
    listener.serve_forever()


if __name__ == "__main__":
    log(event="start")
    (over_stdio if TRANSPORT == "stdio" else over_http)()
