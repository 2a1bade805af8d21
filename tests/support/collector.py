"""A Langfuse host on loopback: takes OTLP traces, decodes them and keeps them."""

from __future__ import annotations

import base64
import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support import PATIENCE

PUBLIC_KEY, SECRET_KEY = "pk-lf-made-up-0123456789", "sk-lf-made-up-9876543210"
_AUTHORIZATION = "Basic " + base64.b64encode(f"{PUBLIC_KEY}:{SECRET_KEY}".encode()).decode()


@dataclass(frozen=True)
class Span:
    """A span as it arrived."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    started: int
    """Nanoseconds since 1970."""
    attributes: dict[str, object]
    """Values of JSON text are decoded."""

    @property
    def type(self) -> object:
        """Langfuse's type of the observation."""
        return self.attributes["langfuse.observation.type"]

    @property
    def session_id(self) -> object:
        """The session that the span belongs to."""
        return self.attributes["session.id"]


@dataclass
class Collector:
    """What arrived so far."""

    base_url: str = ""
    spans: list[Span] = field(default_factory=list)
    objections: list[str] = field(default_factory=list)
    """What Langfuse would have refused."""

    def named(self, name: str) -> list[Span]:
        """The spans called ``name``, in the order of arrival."""
        return [span for span in self.spans if span.name == name]

    def children(self, parent: Span) -> list[Span]:
        """The spans directly below ``parent``."""
        return [
            span
            for span in self.spans
            if (span.trace_id, span.parent_id) == (parent.trace_id, parent.span_id)
        ]


@contextmanager
def running_collector() -> Iterator[Collector]:
    """A host that takes traces."""
    collector = Collector()

    def take(handler: BaseHTTPRequestHandler, body: bytes) -> int:
        collector.objections += _objections(handler)
        if handler.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        collector.spans += _decoded(body)
        return 200

    with _serving(take) as collector.base_url:
        yield collector


@contextmanager
def refusing_host(status: int) -> Iterator[str]:
    """The URL of a host that answers everything with ``status``."""
    with _serving(lambda _handler, _body: status) as base_url:
        yield base_url


@contextmanager
def silent_host() -> Iterator[str]:
    """The URL of a host that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def closed_port() -> Iterator[str]:
    """A URL on which connections are refused."""
    with socket.socket() as unheard:  # bound, so that nobody else listens there meanwhile
        unheard.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{unheard.getsockname()[1]}"


@contextmanager
def _serving(answer: Callable[[BaseHTTPRequestHandler, bytes], int]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(answer(self, body))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name there
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join(PATIENCE)
        server.server_close()


def _objections(handler: BaseHTTPRequestHandler) -> list[str]:
    expected = {"Authorization": _AUTHORIZATION, "Content-Type": "application/x-protobuf"}
    found = [name for name, value in expected.items() if handler.headers.get(name) != value]
    return found if handler.path == "/api/public/otel/v1/traces" else [handler.path, *found]


def _decoded(body: bytes) -> list[Span]:
    request = ExportTraceServiceRequest.FromString(body)
    return [
        Span(
            span.trace_id,
            span.span_id,
            span.parent_span_id,
            span.name,
            span.start_time_unix_nano,
            {pair.key: _value(pair.value) for pair in span.attributes},
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _value(value: Any) -> object:  # noqa: ANN401  protobuf makes its class at run time
    """An attribute's value in Python's terms."""
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    if kind == "array_value":
        return [_value(each) for each in found.values]
    try:
        return json.loads(found) if kind == "string_value" else found
    except ValueError:
        return found
