"""A strict model server on loopback, for tests and for trying things out without a provider.

    def script(request):
        return tool_reply([("clock.now", {})]) if request.last["role"] == "user" else "It is noon."

    with ModelServer(script) as server:
        ...  # point any OpenAI-compatible client at server.base_url

It speaks /chat/completions and refuses with status 400 what real providers refuse
(:mod:`mcp_ghost.refusals`). Every request is kept in ``server.requests``.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias

import httpx

from mcp_ghost.refusals import ServerDialect, refusal

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class ModelRequest:
    """What arrived."""

    body: Json
    headers: dict[str, str]
    """Names in lower case."""
    refusal: str | None = None
    """Why the script did not see it."""

    @property
    def messages(self) -> list[Json]:
        """The conversation."""
        return list(self.body.get("messages") or ())

    @property
    def last(self) -> Json:
        """The latest message."""
        return self.messages[-1]

    @property
    def tool_names(self) -> list[str]:
        """The tools on offer, spelled as on the wire."""
        if self.body.get("tool_choice") == "none":
            return []
        return [tool["function"]["name"] for tool in self.body.get("tools") or ()]


@dataclass(frozen=True)
class Reply:
    """What is sent back; the functions below make the usual ones."""

    body: Json | bytes = b""
    """With a Content-Length beyond these bytes, the answer is cut off."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the first byte."""
    drop: bool = False
    """Cut the connection instead of answering."""

    def after(self, seconds: float) -> Reply:
        """The same, later."""
        return replace(self, delay=seconds)


Script: TypeAlias = Callable[[ModelRequest], Reply | str] | Iterable[Reply | str]
"""From request to reply, or the replies in order; a string is content."""


def content_reply(
    text: object, *, finish_reason: str = "stop", usage: Json | None = None, **message: object
) -> Reply:
    """An answer; ``message`` adds fields beside the content, such as ``reasoning``."""
    return _completion({"content": text, **message}, finish_reason, usage)


def tool_reply(
    calls: Sequence[tuple[str, object]], text: str | None = None, *, usage: Json | None = None
) -> Reply:
    """Calls of tools as (name, arguments); "server.tool" is spelled as on the wire."""
    encoded = [_call(name, arguments) for name, arguments in calls]
    return _completion({"content": text, "tool_calls": encoded}, "tool_calls", usage)


def action_reply(action: str, thinking: str = "As planned.") -> Reply:
    """A game command in the form that ZorkGPT's agent answers in."""
    answer = {"thinking": thinking, "action": action, "new_objective": None}
    return content_reply(json.dumps(answer))


def error_reply(
    status: int, message: str = "made to fail", headers: dict[str, str] | None = None
) -> Reply:
    """A failure in OpenAI's shape."""
    error = {"message": message, "type": "server_error", "param": None, "code": None}
    return Reply({"error": error}, status, headers or {})


def walkthrough(
    commands: Iterable[str], calls: Sequence[tuple[str, object]] = ()
) -> Callable[[ModelRequest], Reply]:
    """A model that plays ``commands`` in order; where tools are on offer, ``calls`` come first."""
    remaining = iter(commands)

    def answer(request: ModelRequest) -> Reply:
        if calls and request.tool_names and request.last["role"] != "tool":
            return tool_reply(calls)
        return action_reply(next(remaining, "look"))

    return answer


class ModelServer:
    """Serves one script while its ``with`` block runs."""

    def __init__(
        self, script: Script = (), *, dialect: ServerDialect = "generic", port: int = 0
    ) -> None:
        self.requests: list[ModelRequest] = []
        self._dialect = dialect
        self._lock = threading.Lock()
        self._next = script if callable(script) else _in_order(script)
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
        """What to give to a client."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def refusals(self) -> list[str]:
        """Why requests were refused; empty is good."""
        return [request.refusal for request in self.requests if request.refusal]

    def transport(self) -> httpx.BaseTransport:
        """An httpx transport that ends here whatever the URL, to play any provider."""
        return _Rerouted(self._http.server_port)

    def answer(self, body: object, headers: dict[str, str]) -> Reply:
        """The reply to one request, which is recorded."""
        objection = refusal(body, self._dialect)
        request = ModelRequest(body if isinstance(body, dict) else {}, headers, objection)
        with self._lock:
            self.requests.append(request)
            if objection:
                return _refused(objection)
            try:
                reply = self._next(request)
            except Exception as exc:  # noqa: BLE001  the script is foreign code; raised at the end
                self._faults.append(exc)
                return _refused(f"The script failed: {exc!r}")
        reply = content_reply(reply) if isinstance(reply, str) else reply
        if isinstance(reply.body, dict) and "choices" in reply.body:
            return replace(reply, body=_completed(reply.body, request))
        return reply


def _call(name: str, arguments: object) -> Json:
    wire = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": wire, "arguments": text}
    return {"id": f"call_{uuid.uuid4().hex[:12]}", "type": "function", "function": function}


def _completion(message: Json, finish_reason: str, usage: Json | None) -> Reply:
    said = {"role": "assistant", **message}
    choice = {"index": 0, "message": said, "finish_reason": finish_reason}
    body: Json = {"object": "chat.completion", "choices": [choice]}
    return Reply(body if usage is None else {**body, "usage": usage})


def _completed(body: Json, request: ModelRequest) -> Json:
    prompt = len(json.dumps(request.messages)) // 4
    usage = {"prompt_tokens": prompt, "completion_tokens": 8, "total_tokens": prompt + 8}
    head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": 0, "model": request.body["model"]}
    return {**head, "usage": usage, **body}


def _refused(message: str) -> Reply:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return Reply({"error": error}, 400)


def _in_order(replies: Iterable[Reply | str]) -> Callable[[ModelRequest], Reply | str]:
    remaining = iter(replies)

    def answer(_request: ModelRequest) -> Reply | str:
        for reply in remaining:
            return reply
        raise AssertionError("more requests than the script has replies")

    return answer


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
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.path.endswith("/chat/completions"):
            self._send(error_reply(404, f"No such address: {self.path}"))
            return
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        self._send(self.server.model.answer(body, {k.lower(): v for k, v in self.headers.items()}))

    def _send(self, reply: Reply) -> None:
        if reply.delay:
            self.server.stopping.wait(reply.delay)
        if reply.drop:
            self.close_connection = True
            return
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        self.send_response(reply.status)
        for name, value in {**headers, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        if int(reply.headers.get("Content-Length", len(body))) != len(body):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  inherited name
        """Requests are in ``server.requests``."""


class _Rerouted(httpx.BaseTransport):
    def __init__(self, port: int) -> None:
        self._port = port
        self._inner = httpx.HTTPTransport(verify=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()
