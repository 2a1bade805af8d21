"""The guard of URLs while something is fetched: real requests over loopback."""

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

import httpx2
import pytest

from mcp_ghost.errors import UrlRefusedError
from mcp_ghost.guard import Address, GuardedTransport, Range, check_url
from movie_generator.errors import PageError
from movie_generator.pages.robots import Robots
from movie_generator.pages.urls import PUBLIC, UrlPolicy
from tests.support import PATIENCE

PRIVATE = UrlPolicy(allow_private=True)
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


def get(
    url: str, policy: UrlPolicy = PUBLIC, *, verify: ssl.SSLContext | bool = True
) -> httpx2.Response:
    async def fetch() -> httpx2.Response:
        transport = GuardedTransport(policy, verify=verify)
        async with httpx2.AsyncClient(transport=transport, follow_redirects=True) as client:
            return await client.get(url)

    return asyncio.run(fetch())


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
    with pytest.raises(UrlRefusedError, match="a special-purpose address"):
        asyncio.run(check_url(url, PRIVATE))
    with pytest.raises(UrlRefusedError, match="a special-purpose address"):
        get(url, PRIVATE)


@pytest.mark.parametrize(
    ("hosts", "url", "passes"),
    [
        (["8.8.8.8"], "http://8.8.8.8/", True),
        (["8.8.8.8"], "http://8.8.4.4/", False),
        (["2606:4700::1111"], "http://[2606:4700::1111]/", True),
        (["[2606:4700::1111]"], "http://[2606:4700::1111]/", True),
        (["Page.test"], "http://PAGE.test./", True),
        (["page.test"], "http://www.page.test/", False),
        (["*.page.test"], "http://a.www.page.test/", True),
        (["*.page.test"], "http://page.test/", False),
        (["*.page.test"], "http://evilpage.test/", False),
        (["*.page.test", "page.test"], "http://page.test/", True),
        (["bücher.test"], "http://xn--bcher-kva.test/", True),
        (["*.bücher.test"], "http://www.bücher.test/", True),
        ([], "http://anything.test/", True),
    ],
)
def test_where_hosts_are_listed_no_others_pass(
    monkeypatch: pytest.MonkeyPatch, hosts: list[str], url: str, passes: bool
) -> None:
    install(
        Names(
            **{
                it: [[FRIEND]]
                for it in ("page", "www", "a", "PAGE", "evilpage", "xn--bcher-kva", "anything")
            }
        ),
        monkeypatch,
    )
    if passes:
        asyncio.run(check_url(url, UrlPolicy.of(hosts)))
    else:
        with pytest.raises(UrlRefusedError, match="MOVIE_ALLOWED_HOSTS"):
            asyncio.run(check_url(url, UrlPolicy.of(hosts)))


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
        with pytest.raises((UrlRefusedError, httpx2.UnsupportedProtocol)):
            get(f"http://page.test:{port}/to?{target.replace('PORT', str(port))}")


def test_a_name_that_changes_its_address_before_a_redirect_is_not_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    with serving(FRIEND, seen=seen) as port, serving(FOE, port, seen=seen):
        install(Names(page=[[FRIEND], [FOE]]), monkeypatch)
        with pytest.raises(UrlRefusedError, match=f"page.test leads to {FOE}"):
            get(f"http://page.test:{port}/to?/here")
    assert seen == [f"{FRIEND} /to?/here"]


def test_redirects_keep_to_the_hosts_that_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    with serving(FRIEND, seen=seen) as port:
        install(Names(page=[[FRIEND]], other=[[FRIEND]]), monkeypatch)
        with pytest.raises(UrlRefusedError, match=r"other\.test is not one of the hosts"):
            get(
                f"http://page.test:{port}/to?http://other.test:{port}/", UrlPolicy.of(["page.test"])
            )
    assert len(seen) == 1


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
        monkeypatch.setattr(Range, "of", lambda _: Range.PUBLIC)
        assert get(f"http://page.test:{port}/").status_code == 200
        with pytest.raises(httpx2.ConnectError):
            get(f"http://127.0.0.3:{port}/")


def test_with_private_addresses_allowed_loopback_is_fetched() -> None:
    with serving(FOE) as port:
        assert get(f"http://{FOE}:{port}/", PRIVATE).status_code == 200
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
        with pytest.raises(httpx2.ConnectError, match="certificate"):
            get(f"https://other.test:{port}/", verify=trusted)


def test_a_page_with_a_certificate_that_nobody_trusts_is_not_tried_again(tmp_path: Path) -> None:
    server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_tls.load_cert_chain(_certificate("page.test", tmp_path))
    with serving(FRIEND, tls=server_tls) as port, pytest.raises(PageError, match="CERT") as caught:
        asyncio.run(Robots(PRIVATE, timeout=PATIENCE).check(f"https://{FRIEND}:{port}/"))
    assert not caught.value.passes


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
