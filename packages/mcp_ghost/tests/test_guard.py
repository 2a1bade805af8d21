"""The guard of addresses while something is fetched: real requests over loopback."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import httpx2
import pytest

from mcp_ghost.errors import UrlRefusedError
from mcp_ghost.guard import AddressPolicy, GuardedTransport, Range, check_url
from tests.support.loopback import FOE, FRIEND, Names, certificate_of, install, serving


class Inside(AddressPolicy):
    """Lets requests go to this machine and into private networks, too."""

    def allows(self, host: str, found: Range) -> bool:
        return bool(host and found)


PUBLIC, PRIVATE = AddressPolicy(), Inside()


def get(
    url: str, policy: AddressPolicy = PUBLIC, *, verify: ssl.SSLContext | bool = True
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
        with pytest.raises(UrlRefusedError, match="inside this machine or its network"):
            get(f"http://{FOE}:{port}/")


def test_certificates_are_checked_for_the_name_and_not_for_the_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = certificate_of("page.test", tmp_path)
    server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_tls.load_cert_chain(certificate)
    trusted = ssl.create_default_context(cafile=str(certificate))
    with serving(FRIEND, tls=server_tls) as port:
        install(Names(page=[[FRIEND]], other=[[FRIEND]]), monkeypatch)
        assert get(f"https://page.test:{port}/", verify=trusted).status_code == 200
        with pytest.raises(httpx2.ConnectError, match="certificate"):
            get(f"https://other.test:{port}/", verify=trusted)
