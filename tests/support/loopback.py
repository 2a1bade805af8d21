"""Sites at two loopback addresses, names that lead to them, and a certificate."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.guard import Address, Range
from tests.support import PATIENCE

FRIEND, FOE = "127.0.0.1", "127.0.0.2"
"""In these tests the first counts as a public address."""


class Names:
    """A resolver that may change its mind from one question to the next."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    def getaddrinfo(self, host: str, port: int | None, *_: object, **__: object) -> list[Any]:
        self.asked.append(host)
        answers = self._answers.get(host.partition(".")[0], [[host]])
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (it, port or 0)) for it in addresses]


def install(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    def friend_is_public(address: Address) -> Range:
        return Range.PUBLIC if address == ip_address(FRIEND) else of(address)

    of = Range.of
    monkeypatch.setattr(socket, "getaddrinfo", names.getaddrinfo)
    monkeypatch.setattr(Range, "of", friend_is_public)


class Page(BaseHTTPRequestHandler):
    """Says where it is and who was asked for; ``/to?URL`` leads there."""

    seen: list[str]

    def do_GET(self) -> None:
        path, _, target = self.path.partition("?")
        where = self.connection.getsockname()[0]
        self.seen.append(f"{where} {self.path}")
        self.send_response(302 if path == "/to" else 200)
        if path == "/to":
            self.send_header("Location", target)
        body = f"{self.headers['Host']} at {where}".encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing to see."""


@contextmanager
def serving(
    host: str,
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    seen: list[str] | None = None,
) -> Iterator[int]:
    """A site at ``host``; its port. What it is asked for it adds to ``seen``."""
    page = type("SeenPage", (Page,), {"seen": [] if seen is None else seen})
    server = ThreadingHTTPServer((host, port), page)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join(PATIENCE)
        server.server_close()


def certificate_of(name: str, folder: Path) -> Path:
    """A file with a key and a certificate for ``name`` that it signed itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "site.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    return file
