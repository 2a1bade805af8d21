"""The guard of URLs: what is refused for its spelling, its host or where that leads."""

from __future__ import annotations

import asyncio
import socket

import httpx2
import pytest

from mcp_ghost.errors import UrlRefusedError, UrlUnresolvedError
from mcp_ghost.guard import GuardedTransport, check_url, parse_url
from movie_generator.errors import SettingsError
from movie_generator.pages.urls import UrlPolicy
from movie_generator.queue.failures import Failure
from tests.support.loopback import FRIEND, Names, install, serving

PUBLIC, PRIVATE = UrlPolicy(), UrlPolicy(allow_private=True)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8080/",
        "HTTP://LOCALHOST/",
        "http://198.18.0.1/",
        "http://224.0.0.1/",
        "http://[64:ff9b:1::10.0.0.1]/",
        "http://[fc00::1]/",
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
def test_addresses_that_are_not_public_are_refused(url: str) -> None:
    with pytest.raises(UrlRefusedError) as caught:
        asyncio.run(check_url(url, PUBLIC))
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
    asyncio.run(check_url(url, PUBLIC))


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("", "not an http://"),
        ("example.com", "not an http://"),
        ("ftp://example.com/", "not an http://"),
        ("file:///etc/passwd", "not an http://"),
        ("javascript:alert(1)", "not an http://"),
        ("https:///path", "has no host"),
        ("http://exa%6dple.com/", "has no host"),
        ("http://8.8.8.8\\@127.0.0.1/", "contains a user name or password|has no host"),
        ("http://8.8.8.8 /", "is not a URL|has no host"),
        ("http://8.8.8.8/a b", "contains a space or a backslash.* write %20"),
        ("http://[fe80::1%25eth0]/", "is not a URL|has no host"),
        ("http://8.8.8.8/\n", "is not a URL|has no host"),
        ("http://8.8.8.8:0/", "is not between 1 and 65535"),
        ("http://8.8.8.8:70000/", "is not between 1 and 65535"),
        ("http://8.8.8.8:x/", "is not a URL"),
        ("http://example.com/" + "a" * 5000, "longer than 4096"),
        ("https://user:hunter22@example.com/", "contains a user name or password"),
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
        asyncio.run(check_url(url, PUBLIC))


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), True),
        (TimeoutError(), True),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), False),
        (UnicodeError("label too long"), False),
    ],
)
def test_a_name_that_cannot_be_looked_up_just_now_is_looked_up_again_later(
    monkeypatch: pytest.MonkeyPatch, error: Exception, *, passes: bool
) -> None:
    def lookup(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with pytest.raises(UrlUnresolvedError, match="was not found") as caught:
        asyncio.run(check_url("http://example.com/", PUBLIC))
    assert Failure.of(caught.value).passes == passes


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "0", "localhost", "10.0.0.1", "100.64.0.1", "[::1]", "[fc00::1]",
     "[::ffff:10.0.0.1]", "[64:ff9b::192.168.1.1]", "[2002:a00:1::]"],
)  # fmt: skip
def test_private_addresses_are_allowed_on_request(host: str) -> None:
    asyncio.run(check_url(f"http://{host}:8000/", PRIVATE))


def test_what_is_no_web_address_is_refused_with_private_addresses_allowed() -> None:
    with pytest.raises(UrlRefusedError):
        asyncio.run(check_url("file:///etc/passwd", PRIVATE))


@pytest.mark.parametrize(
    "host",
    ["metadata.google.internal", "METADATA.google.internal.", "x.metadata.goog",
     "instance-data.ec2.internal"],
)  # fmt: skip
def test_names_of_metadata_are_refused_wherever_they_would_lead(host: str) -> None:
    with pytest.raises(UrlRefusedError, match="keeps a machine's keys") as caught:
        asyncio.run(check_url(f"http://{host}/", PRIVATE))
    assert not isinstance(caught.value, UrlUnresolvedError)


def test_a_listed_host_is_no_way_into_a_private_network() -> None:
    with pytest.raises(UrlRefusedError, match="inside this machine"):
        asyncio.run(check_url("http://127.0.0.1/", UrlPolicy.of(["127.0.0.1"])))


@pytest.mark.parametrize(
    "host",
    ["https://example.com", "exa mple.com", "a.*.com", "*", "*.", "", "example.com:80", "a/b"],
)
def test_what_is_not_a_host_cannot_be_listed(host: str) -> None:
    with pytest.raises(SettingsError, match="is not a host"):
        UrlPolicy.of([host])


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


def test_redirects_keep_to_the_hosts_that_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetch(url: str) -> None:
        transport = GuardedTransport(UrlPolicy.of(["page.test"]))
        async with httpx2.AsyncClient(transport=transport, follow_redirects=True) as client:
            await client.get(url)

    seen: list[str] = []
    with serving(FRIEND, seen=seen) as port:
        install(Names(page=[[FRIEND]], other=[[FRIEND]]), monkeypatch)
        with pytest.raises(UrlRefusedError, match=r"other\.test is not one of the hosts"):
            asyncio.run(fetch(f"http://page.test:{port}/to?http://other.test:{port}/"))
    assert len(seen) == 1
