"""The URL guard: what is fetched for others is a public page, and stays one while fetched.

A URL is refused for its spelling, or because its host's name leads to an address that only this
machine or this network can reach. `GuardedTransport` connects to the very addresses that it
checked, for every redirect again, so that a name cannot change its address in between.
"""

import asyncio
import re
import socket
import ssl
from contextlib import suppress
from ipaddress import ip_address

import httpx

from mcp_ghost.network import Address, is_private_use, is_public
from mcp_ghost.text import address as without_secrets
from mcp_ghost.text import one_line
from movie_generator.errors import MovieGeneratorError

LONGEST_URL = 4096
_HOST = re.compile(rb"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_AMBIGUOUS = re.compile(r"[\\\s\x00-\x1f\x7f]")
_RESOLVE_SECONDS = 10.0
_HOW_TO_ALLOW = "Set MOVIE_ALLOW_PRIVATE_URLS=1 to allow such addresses."


class UrlRefusedError(MovieGeneratorError, ValueError):
    """Raised when a URL must not be fetched; the message says why."""


class UrlUnresolvedError(UrlRefusedError):
    """Raised when a URL's host has no address, at least not now or not from here."""


def parse_url(text: str) -> httpx.URL:
    """``text`` as the HTTP client will read it.

    Raises:
        UrlRefusedError: It is not a plain http or https URL.
    """
    if len(text) > LONGEST_URL:
        raise UrlRefusedError(f"The URL is longer than {LONGEST_URL} characters.")
    shown = without_secrets(text)
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError) as error:
        raise UrlRefusedError(f"{shown} is not a URL: {one_line(error)}") from None
    if url.scheme not in ("http", "https"):
        raise UrlRefusedError(f"{shown} is not an http:// or https:// URL.")
    if url.userinfo:
        raise UrlRefusedError(f"{shown} holds a user or password, which would be stored and shown.")
    if not _HOST.fullmatch(url.raw_host) or _AMBIGUOUS.search(text):
        raise UrlRefusedError(f"{shown} names no host, or one that programs read differently.")
    if url.port is not None and not 0 < url.port < 65536:
        raise UrlRefusedError(f"{shown} has no port between 1 and 65535.")
    return url


def _host(url: httpx.URL) -> str:
    """The host as it goes to the resolver: international names in ASCII."""
    return url.raw_host.decode("ascii")


async def check_url(text: str, *, allow_private: bool = False) -> None:
    """Let a URL pass if it may be fetched.

    Raises:
        UrlRefusedError: It may not.
        UrlUnresolvedError: Its host has no address.
    """
    url = parse_url(text)
    # A name of the worker's own network may be unknown here.
    with suppress(*([UrlUnresolvedError] if allow_private else [])):
        await checked_addresses(_host(url), url.port, allow_private=allow_private)


async def checked_addresses(
    host: str, port: int | None = None, *, allow_private: bool = False
) -> list[Address]:
    """Where ``host`` leads, in the order in which to try; all of it may be fetched.

    ``allow_private`` adds this machine and private networks to what is public, but no link-local
    address and none of those that tell a machine of a cloud its keys.

    Raises:
        UrlRefusedError: Some of it is not.
        UrlUnresolvedError: It leads nowhere.
    """
    addresses = await _resolve(host, port)
    for address in addresses:
        if is_public(address):
            continue
        leads = f"{one_line(host)} {'is' if str(address) == host else f'leads to {address},'}"
        if not is_private_use(address):
            raise UrlRefusedError(
                f"{leads} an address with a special purpose, from which nothing is ever fetched."
            )
        if not allow_private:
            raise UrlRefusedError(
                f"{leads} an address inside this machine or its network, from which nothing is "
                f"fetched. {_HOW_TO_ALLOW}"
            )
    return addresses


async def _resolve(host: str, port: int | None) -> list[Address]:
    """What the system resolves ``host`` to; it also reads forms such as 127.1 and 0x7f000001."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_RESOLVE_SECONDS):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError) as error:
        reason = one_line(error) or f"no answer after {_RESOLVE_SECONDS:.0f} s"
        raise UrlUnresolvedError(f"The host {one_line(host)} was not found: {reason}") from error
    # The zone of a link-local address, such as %eth0, is of no interest here.
    texts = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found)
    return [ip_address(text) for text in texts]


class GuardedTransport(httpx.AsyncHTTPTransport):
    """Connects only where it may. Give it to ``httpx.AsyncClient(transport=...)``."""

    def __init__(
        self, *, allow_private: bool = False, verify: ssl.SSLContext | bool = True
    ) -> None:
        """``allow_private`` as for ``checked_addresses``; ``verify`` as in httpx."""
        # Connections are kept by address here: one that was opened for another name on the same
        # machine would show the wrong certificate.
        super().__init__(verify=verify, limits=httpx.Limits(max_keepalive_connections=0))
        self._allow_private = allow_private

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send ``request`` to an address of its host that was checked.

        Raises:
            UrlRefusedError: It leads into a private network, or is not plain http or https.
        """
        url = parse_url(str(request.url))
        addresses = await checked_addresses(_host(url), url.port, allow_private=self._allow_private)
        for number, address in enumerate(addresses, start=1):
            try:
                return await super().handle_async_request(_sent_to(address, request))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise AssertionError("a host that was found has an address")


def _sent_to(address: Address, request: httpx.Request) -> httpx.Request:
    """The same request to ``address``; its Host header and certificate stay those of the name."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": _host(request.url)},
    )
