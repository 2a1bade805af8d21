"""MCP servers on loopback HTTP: a real one in a process of its own, and one with faults."""

from __future__ import annotations

import json
import logging
import os
import queue
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.config import ServerConfig
from tests.support import PATIENCE
from tests.support.warm import WarmPopen

SECRET = "correct-horse-7"
"""For whatever a configuration hides."""
BARE = {"inputSchema": {"type": "object"}}
REMOTE = Path(__file__).parent / "remote.py"


@pytest.fixture(autouse=True)
def silent_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever happens: no warning, no traceback, and no secret at any level."""
    caplog.set_level(logging.DEBUG)
    yield
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []
    assert [r for r in caplog.records if SECRET in r.getMessage()] == []


@dataclass
class Remote:
    """A running ``remote.py``."""

    port: int
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def config(self, query: str = "", **headers: str) -> ServerConfig:
        return ServerConfig(url=self.url + query, headers=headers or None)


@contextmanager
def remote(*arguments: str, **env: str) -> Iterator[Remote]:
    """``remote.py`` with ``arguments``; its upper-case variables as keywords."""
    with WarmPopen(
        [sys.executable, str(REMOTE), *arguments],
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout is not None
            yield Remote(int(process.stdout.readline()), process)
        finally:
            process.kill()


class Faulty(ThreadingHTTPServer):
    """A server that answers ``initialize`` and ``tools/list`` properly, and calls with ``fault``.

    Faults that begin with "init " or "list " hit ``initialize`` or the list instead, those with
    "once:" the first.
    Its tool "write" says nothing of its effects.
    """

    daemon_threads = True

    def __init__(self, fault: str, certificate: Path | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._scheme = "https" if certificate else "http"
        if certificate:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            # The handshake is for the thread of the request, not for the one that accepts.
            self.socket = tls.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
        self.fault = fault
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        """HTTP method, target and headers of each request."""
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.server_port}/mcp"

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - theirs
        """Say nothing: clients that give up are part of the tests."""


@contextmanager
def faulty_http(fault: str, certificate: Path | None = None) -> Iterator[Faulty]:
    """A running server; with ``certificate`` (and key, in one file) over HTTPS."""
    server = Faulty(fault, certificate)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


class Older(ThreadingHTTPServer):
    """A server of the first revision, whose URL answers every POST with ``status``.

    It learns that a stream was closed only when it writes; with 200, the answer is a stream, too.
    """

    daemon_threads = True

    def __init__(self, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _OlderHandler)
        self.status = status
        self.refuses = False
        """Whether it no longer knows its sessions."""
        self.requests: list[tuple[str, str]] = []
        self.answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.open_streams: set[object] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mcp"

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - theirs
        """Say nothing: clients that give up are part of the tests."""


@contextmanager
def older_http(status: int) -> Iterator[Older]:
    """A running server of the older transport."""
    server = Older(status)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        for _ in range(4):
            server.answers.put(None)
        server.shutdown()
        thread.join()
        server.server_close()


class _OlderHandler(BaseHTTPRequestHandler):
    server: Older

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        self.server.requests.append((self.command, self.path))
        self._stream()

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.server.open_streams.add(self)
        try:
            self.wfile.write(b"event: endpoint\ndata: /messages?session_id=1\n\n")
            is_of_a_post = self.command == "POST"
            while not is_of_a_post and (answer := self.server.answers.get()) is not None:
                event = f"event: message\ndata: {json.dumps(answer)}\n\n"
                self.wfile.write(event.encode())
        finally:
            self.server.open_streams.discard(self)

    def do_POST(self) -> None:
        self.server.requests.append((self.command, self.path))
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/mcp" and self.server.status == 200:
            self._stream()
            return
        is_message = self.path != "/mcp" and not self.server.refuses
        self.send_response(202 if is_message else self.server.status)
        self.end_headers()
        if is_message and "id" in message:
            info = {"name": "older", "version": "1"}
            results: dict[str, Any] = {
                "initialize": {
                    "protocolVersion": "2024-11-05",
                    "capabilities": {},
                    "serverInfo": info,
                },
                "tools/list": {"tools": [{"name": "echo", **BARE}]},
                "tools/call": {"content": [{"type": "text", "text": "on"}]},
                "ping": {},
            }
            result = results[message["method"]]
            self.server.answers.put({"jsonrpc": "2.0", "id": message["id"], "result": result})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Faulty

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        self._note()
        if "last-event-id" not in self.headers:
            self._send(405, "")
            return
        result = {"content": [{"type": "text", "text": "resumed"}]}
        event = json.dumps({"jsonrpc": "2.0", "id": 0, "result": result})
        self._send(200, f"id: 2\ndata: {event}\n\n", "text/event-stream")

    def do_DELETE(self) -> None:
        self._note()
        if self.server.fault == "mute goodbye":
            self.server.released.wait(PATIENCE)
        self._send(200, "")

    def do_POST(self) -> None:
        self._note()
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, id_ = message.get("method"), message.get("id")
        fault = self.server.fault
        if method == "initialize" and fault.startswith("init ") and self.path != "/other":
            if "once:" in fault:
                self.server.fault = ""
            self._misbehave(fault.removeprefix("init ").removeprefix("once:"))
        elif method == "initialize":
            info = {"name": "faulty", "version": "1.0"}
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {}, "serverInfo": info}
            self._answer(id_, result, **{"mcp-session-id": "session-1"})
        elif method == "tools/list" and fault.startswith("list once:"):
            self.server.fault = ""
            self._misbehave(fault.removeprefix("list once:"))
        elif method == "tools/list":
            described = {**BARE, "annotations": {"idempotentHint": True}}
            tools = [{"name": name, **described} for name in ("echo", "odd")]
            self._answer(id_, {"tools": [*tools, {"name": "write", **BARE}]})
        elif method == "tools/call" and message["params"]["name"] != "echo" and fault:
            if fault.startswith("once:"):
                self.server.fault = ""
            self._misbehave(fault.removeprefix("once:"))
        elif method == "tools/call":
            self._answer(id_, {"content": [{"type": "text", "text": "on"}]})
        else:
            self._send(202, "")

    def _misbehave(self, fault: str) -> None:
        kind, _, rest = fault.partition(":")
        if kind == "mute":
            self.server.released.wait(PATIENCE)
        elif kind == "status":  # status:CODE:BODY
            code, _, body = rest.partition(":")
            self._send(int(code), body, "application/json" if body.startswith("{") else "text/html")
        elif kind == "events":  # events:DATA
            self._send(200, f"event: message\ndata: {rest}\n\n", "text/event-stream")
        elif kind == "redirect":
            self._send(307, "", location=rest)
        elif kind == "cut":  # cut:TYPE, after the first half of the body
            self._send(200, '{"jsonrpc": "2.0"', rest, **{"content-length": "100"})
            self.close_connection = True
        elif kind == "resume":  # what GET brings to its end
            head = "id: 1\nretry: 10\ndata:\n\n"
            self._send(200, head, "text/event-stream", **{"content-length": "100"})
            self.close_connection = True
        elif kind == "garbled":
            self._send(200, "{}", "application/json", **{"content-encoding": "gzip"})
        elif kind == "close":
            self.close_connection = True
        else:
            raise ValueError(fault)

    def _note(self) -> None:
        self.server.requests.append((self.command, self.path, dict(self.headers.items())))

    def _answer(self, id_: object, result: object, **headers: str) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": id_, "result": result})
        self._send(200, body, "application/json", **headers)

    def _send(self, status: int, body: str, type_: str = "text/plain", **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", type_)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())
