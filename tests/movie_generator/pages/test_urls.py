"""The guard of URLs, with real requests over loopback."""

from __future__ import annotations

import asyncio
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

import httpx
import pytest

from mcp_ghost.network import Address, is_public
from movie_generator.pages import urls
from movie_generator.pages.urls import (
    GuardedTransport,
    UrlRefusedError,
    UrlUnresolvedError,
    check_url,
    parse_url,
)
from tests.support import PATIENCE

FRIEND, FOE = "127.0.0.1", "127.0.0.2"
"""In these tests the first counts as a public address."""


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://017700000001/",
        "http://0/",
        "http://localhost:8080/",
        "HTTP://LOCALHOST/",
        "http://①②⑦.0.0.1/",
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://168.63.129.16/",
        "http://198.18.0.1/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://[::1]/",
        "http://[::]/",
        "http://[::127.0.0.1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[64:ff9b::127.0.0.1]/",
        "http://[64:ff9b:1::10.0.0.1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:7f00:1::]/",
        "http://[fe80::1]/",
        "http://[fc00::1]/",
        "http://[fd00:ec2::254]/",
        "http://[ff02::1]/",
        "http://192.88.99.1/",
        "http://192.0.0.9/",
        "http://[fec0::1]/",
        "http://[3fff::1]/",
        "http://[5f00::1]/",
        "http://[100::1]/",
        "http://[2001:db8::1]/",
        "http://[64:ff9b:1::8.8.8.8]/",
        "http://[::ffff:0:10.0.0.1]/",
    ],
)
def test_addresses_inside_are_refused_in_every_spelling(url: str) -> None:
    with pytest.raises(UrlRefusedError) as caught:
        asyncio.run(check_url(url))
    assert not isinstance(caught.value, UrlUnresolvedError)


@pytest.mark.parametrize(
    "url",
    [
        "http://8.8.8.8/",
        "https://[2606:4700::1111]:8443/x",
        "http://[64:ff9b::8.8.8.8]/?q=10.0.0.1",
    ],
)
def test_public_addresses_pass(url: str) -> None:
    asyncio.run(check_url(url))


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("", "not an http://"),
        ("example.com", "not an http://"),
        ("ftp://example.com/", "not an http://"),
        ("file:///etc/passwd", "not an http://"),
        ("javascript:alert(1)", "not an http://"),
        ("https:///path", "names no host"),
        ("http://exa%6dple.com/", "names no host"),
        ("http://8.8.8.8\\@127.0.0.1/", "holds a user or password|names no host"),
        ("http://8.8.8.8 /", "is not a URL|names no host"),
        ("http://[fe80::1%25eth0]/", "is not a URL|names no host"),
        ("http://8.8.8.8/\n", "is not a URL|names no host"),
        ("http://8.8.8.8:0/", "has no port"),
        ("http://8.8.8.8:70000/", "has no port"),
        ("http://8.8.8.8:x/", "is not a URL"),
        ("http://example.com/" + "a" * 5000, "longer than 4096"),
        ("https://user:hunter22@example.com/", "holds a user or password"),
        ("http://\udcff.com/", "is not a URL"),
    ],
)
def test_what_is_not_a_plain_url_is_refused(url: str, complaint: str) -> None:
    with pytest.raises(UrlRefusedError, match=complaint) as caught:
        parse_url(url)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://name.invalid/", "http://a..b/", "http://xn--/"])
def test_a_name_without_an_address_is_told_apart(url: str) -> None:
    with pytest.raises(UrlUnresolvedError, match="was not found"):
        asyncio.run(check_url(url))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "0", "localhost", "10.0.0.1", "100.64.0.1", "[::1]", "[fc00::1]",
     "[::ffff:10.0.0.1]", "[64:ff9b::192.168.1.1]", "[2002:a00:1::]"],
)  # fmt: skip
def test_private_addresses_are_allowed_on_request(host: str) -> None:
    asyncio.run(check_url(f"http://{host}:8000/", allow_private=True))


def test_what_is_no_web_address_is_refused_with_private_addresses_allowed() -> None:
    with pytest.raises(UrlRefusedError):
        asyncio.run(check_url("file:///etc/passwd", allow_private=True))


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "169.254.0.1", "168.63.129.16", "100.100.100.200", "192.0.0.192",
     "[fe80::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "[::ffff:169.254.169.254]",
     "[::169.254.169.254]", "[::ffff:0:169.254.169.254]", "[64:ff9b::169.254.169.254]",
     "[64:ff9b:1::169.254.169.254]", "[2002:a9fe:a9fe::]", "0xa9fea9fe", "192.88.99.1",
     "[fec0::1]", "[3fff::1]"],
)  # fmt: skip
def test_link_local_and_metadata_addresses_are_refused_always(host: str) -> None:
    url = f"http://{host}/"
    with pytest.raises(UrlRefusedError, match="with a special purpose"):
        asyncio.run(check_url(url, allow_private=True))
    with pytest.raises(UrlRefusedError, match="with a special purpose"):
        get(url, allow_private=True)


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
    def friend_is_public(address: Address) -> bool:
        return address == ip_address(FRIEND) or is_public(address)

    monkeypatch.setattr(socket, "getaddrinfo", names.getaddrinfo)
    monkeypatch.setattr(urls, "is_public", friend_is_public)


class Page(BaseHTTPRequestHandler):
    """Says where it is and who was asked for; ``/to?URL`` leads there."""

    def do_GET(self) -> None:
        path, _, target = self.path.partition("?")
        self.send_response(302 if path == "/to" else 200)
        if path == "/to":
            self.send_header("Location", target)
        body = f"{self.headers['Host']} at {self.connection.getsockname()[0]}".encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing to see."""


@contextmanager
def serving(host: str, port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """A site at ``host``; its port."""
    server = ThreadingHTTPServer((host, port), Page)
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


def get(
    url: str, *, allow_private: bool = False, verify: ssl.SSLContext | bool = True
) -> httpx.Response:
    async def fetch() -> httpx.Response:
        transport = GuardedTransport(allow_private=allow_private, verify=verify)
        async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
            return await client.get(url)

    return asyncio.run(fetch())


def test_the_address_that_was_checked_is_the_one_that_is_fetched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = Names(page=[[FRIEND], [FOE]])
    with serving(FRIEND) as port, serving(FOE, port):
        install(names, monkeypatch)
        response = get(f"http://page.test:{port}/")
        assert response.text == f"page.test:{port} at {FRIEND}"
        assert str(response.url) == f"http://page.test:{port}/"
        assert names.asked.count("page.test") == 1
        with pytest.raises(UrlRefusedError, match=f"page.test leads to {FOE}"):
            get(f"http://page.test:{port}/")


@pytest.mark.parametrize("target", [f"http://{FOE}:PORT/", "http://inside.test:PORT/", "ftp://x/"])
def test_redirects_into_a_private_network_are_refused(
    monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    with serving(FRIEND) as port, serving(FOE, port):
        install(Names(page=[[FRIEND]], inside=[[FOE]]), monkeypatch)
        with pytest.raises((UrlRefusedError, httpx.UnsupportedProtocol)):
            get(f"http://page.test:{port}/to?{target.replace('PORT', str(port))}")


def test_redirects_to_public_pages_are_followed_also_relative_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(FRIEND) as port:
        install(Names(page=[[FRIEND]], other=[[FRIEND]]), monkeypatch)
        page = f"http://page.test:{port}"
        assert str(get(f"{page}/to?/here").url) == f"{page}/here"
        assert get(f"{page}/to?http://other.test:{port}/").text.startswith(f"other.test:{port} ")


def test_a_name_that_leads_inside_and_outside_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(Names(page=[[FRIEND, FOE]]), monkeypatch)
    with pytest.raises(UrlRefusedError, match=FOE):
        get("http://page.test:1/")


def test_the_next_address_is_tried_when_one_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(FRIEND) as port:
        install(Names(page=[["127.0.0.3", FRIEND]]), monkeypatch)
        monkeypatch.setattr(urls, "is_public", lambda _: True)
        assert get(f"http://page.test:{port}/").status_code == 200
        with pytest.raises(httpx.ConnectError):
            get(f"http://127.0.0.3:{port}/")


def test_with_private_addresses_allowed_loopback_is_fetched() -> None:
    with serving(FOE) as port:
        assert get(f"http://{FOE}:{port}/", allow_private=True).status_code == 200
        with pytest.raises(UrlRefusedError, match="MOVIE_ALLOW_PRIVATE_URLS"):
            get(f"http://{FOE}:{port}/")


def test_certificates_are_checked_for_the_name_and_not_for_the_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = _certificate("page.test", tmp_path)
    server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_tls.load_cert_chain(certificate)
    trusted = ssl.create_default_context(cafile=str(certificate))
    with serving(FRIEND, tls=server_tls) as port:
        install(Names(page=[[FRIEND]], other=[[FRIEND]]), monkeypatch)
        assert get(f"https://page.test:{port}/", verify=trusted).status_code == 200
        with pytest.raises(httpx.ConnectError, match="certificate"):
            get(f"https://other.test:{port}/", verify=trusted)


def _certificate(name: str, folder: Path) -> Path:
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
