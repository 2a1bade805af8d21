"""The model server itself: one script, served over HTTP on loopback."""

from __future__ import annotations

import json
import re
import socket
import threading
import uuid
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2

from mcp_ghost.results import JSONObject, parsed
from mcp_ghost.testing.anthropic import ANTHROPIC
from mcp_ghost.testing.gemini import GEMINI
from mcp_ghost.testing.refusals import ServerDialect
from mcp_ghost.testing.replies import ModelRequest, Reply, Script, content_reply, in_order
from mcp_ghost.testing.responses import responses_wire
from mcp_ghost.testing.wires import Wire, WireName, openai_wire

_FOREIGN = {"anthropic": ANTHROPIC, "gemini": GEMINI}
"""The wires into which OpenAI's shape is translated."""


class ModelServer:
    """Serves one script while its ``with`` block runs.

    Args:
        script: What to answer; the same script plays on every wire.
        wire: The provider whose format is spoken.
        dialect: With OpenAI's format, which of its dialects; "openai" serves both of its wires.
        namespace: Prefix of the tool names in the script, as a client may want it.
        port: By default, any free one.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        wire: WireName = "openai",
        dialect: ServerDialect = "generic",
        namespace: str = "",
        port: int = 0,
    ) -> None:
        self.requests: list[ModelRequest] = []
        of_openai = (openai_wire(dialect), responses_wire(dialect))
        self._wire = _FOREIGN.get(wire) or of_openai[wire == "responses"]
        self._wires = of_openai if dialect == "openai" else (self._wire,)
        self._prefix = re.sub(r"[^A-Za-z0-9_-]", "_", f"{namespace}.") if namespace else ""
        self._lock = threading.Lock()
        self._next = script if callable(script) else in_order(script)
        self._faults: list[Exception] = []
        self._http = _HTTPServer(self, port)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, exc_type: object, *_: object) -> None:
        self._http.stop()
        self._thread.join()
        if self._faults and exc_type is None:
            raise self._faults[0]

    @property
    def base_url(self) -> str:
        """The address to give to a client."""
        return f"http://127.0.0.1:{self._http.server_port}{self._wire.base_path}"

    @property
    def refusals(self) -> list[str]:
        """Why requests were refused; empty if none was."""
        return [request.refusal for request in self.requests if request.refusal]

    def async_transport(self) -> httpx2.AsyncBaseTransport:
        """Return an httpx2 transport that leads here whatever the URL, to play any provider."""
        return _Rerouted(self._http.server_port)

    def serves(self, path: str) -> bool:
        """Return whether completions are asked for at ``path``."""
        return self._wire_at(path) is not None

    def _wire_at(self, path: str) -> Wire | None:
        plain = urlsplit(path).path
        return next((wire for wire in self._wires if wire.path.fullmatch(plain)), None)

    def answer(self, body: object, headers: dict[str, str]) -> Reply:
        """Record one request and return the reply; ``headers`` contain its ":path", too."""
        wire = self._wire_at(headers.get(":path", "")) or self._wire
        try:
            objection = wire.refusal(body, headers)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            objection = f"The request is malformed: {error!r}"
        known = body if isinstance(body, dict) else {}
        chat = {} if objection else wire.read(known, headers)
        translation = chat if chat is not known else None
        request = ModelRequest(known, headers, objection, translation)
        with self._lock:
            self.requests.append(request)
            if objection:
                return self.failure(400, objection)
            try:
                reply = self._next(request)
            except Exception as error:  # noqa: BLE001  the script is foreign code; raised at the end
                self._faults.append(error)
                return self.failure(400, f"The script failed: {error!r}")
        reply = content_reply(reply) if isinstance(reply, str) else reply
        if isinstance(reply.body, dict) and "choices" in reply.body:
            body = wire.write(self._completed(reply.body, request))
            if not wire.streams(known, headers):
                return replace(reply, body=body)
            return replace(reply, pieces=tuple(wire.events(body, known)))
        failure = reply.body.get("error") if isinstance(reply.body, dict) else None
        if isinstance(failure, dict) and wire in _FOREIGN.values():
            return replace(reply, body=wire.error(reply.status, str(failure.get("message"))))
        return reply

    def failure(self, status: int, message: str) -> Reply:
        """Return a failure in the provider's format."""
        return Reply(self._wire.error(status, message), status)

    def _completed(self, body: JSONObject, request: ModelRequest) -> JSONObject:
        prompt = len(json.dumps(request.messages)) // 4
        usage = {"prompt_tokens": prompt, "completion_tokens": 8, "total_tokens": prompt + 8}
        head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": 0, "model": request.chat["model"]}
        choices = deepcopy(body["choices"])
        for choice in choices if self._prefix else ():
            for call in choice["message"].get("tool_calls") or ():
                call["function"]["name"] = self._prefix + call["function"]["name"]
        return {**head, "usage": usage, **body, "choices": choices}


class _HTTPServer(ThreadingHTTPServer):
    """Threads that end with their connections, which end with the server."""

    daemon_threads = False

    def __init__(self, model: ModelServer, port: int) -> None:
        self.model = model
        self.stopping = threading.Event()
        self._connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        self._connections.add(request)
        super().finish_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Clients that hang up are part of the game."""

    def stop(self) -> None:
        self.stopping.set()
        self.shutdown()
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: _HTTPServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        content = self.rfile.read(length)
        if len(content) < length:  # whoever asks was killed in the middle of it
            self.close_connection = True
            return
        model = self.server.model
        if not model.serves(self.path):
            self._send(model.failure(404, f"No such address: {self.path}"))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(model.answer(parsed(content), {**headers, ":path": self.path}))

    def _send(self, reply: Reply) -> None:
        if reply.delay:
            self.server.stopping.wait(reply.delay)
        if reply.drop:
            self.close_connection = True
            return
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        if reply.pieces is not None:
            headers = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
        self.send_response(reply.status)
        for name, value in {**headers, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if reply.pieces is None:
            self.wfile.write(body)
            if int(reply.headers.get("Content-Length", len(body))) != len(body):
                self.close_connection = True
            return
        for piece in reply.pieces[: reply.cut_after]:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
            if reply.pace:
                self.server.stopping.wait(reply.pace)
        if reply.cut_after is None:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  inherited name
        """Requests are in ``server.requests``."""


class _Rerouted(httpx2.AsyncHTTPTransport):
    def __init__(self, port: int) -> None:
        super().__init__(verify=False)
        self._port = port

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
        return await super().handle_async_request(request)
