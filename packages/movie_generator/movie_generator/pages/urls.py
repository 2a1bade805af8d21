"""The URL guard: what is fetched for others is a public page, and stays one while fetched.

A URL is refused for its spelling, or because its host's name leads to an address that only this
machine or this network can reach. `GuardedTransport` connects to the very addresses that it
checked, for every redirect again, so that a name cannot change its address in between.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self

import httpx2

from mcp_ghost.network import Address, is_private_use, is_public, tls_context
from mcp_ghost.text import address as without_secrets
from mcp_ghost.text import one_line
from movie_generator.errors import MovieGeneratorError, SettingsError

LONGEST_URL = 4096
_HOST = re.compile(rb"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_AMBIGUOUS = re.compile(r"[\\\s\x00-\x1f\x7f]")
_RESOLVE_SECONDS = 10.0
_HOW_TO_ALLOW = "Set MOVIE_ALLOW_PRIVATE_URLS=1 to allow such addresses."
_METADATA_NAMES = ("metadata.google.internal", "metadata.goog", "instance-data.ec2.internal")
"""Where clouds tell a machine its keys. These names mean nothing here, but perhaps to a tool that
runs elsewhere."""
_PORT_OR_PATH = re.compile(r"[:/?#@]")
_HOST_PATTERN = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|[0-9a-f:.]+")


class UrlRefusedError(MovieGeneratorError, ValueError):
    """Raised when a URL must not be fetched; the message says why."""


class UrlUnresolvedError(UrlRefusedError):
    """Raised when a URL's host has no address, at least not now or not from here."""


@dataclass(frozen=True)
class UrlPolicy:
    """Which hosts may be fetched from, apart from those that never may."""

    allow_private: bool = False
    """This machine and private networks, too."""
    hosts: frozenset[str] | None = None
    """Only these, in ASCII: a host, or "*.example.com" for all below one; None stands for all."""

    @classmethod
    def of(cls, hosts: Iterable[str] | None, *, allow_private: bool = False) -> Self:
        """The policy that lets nothing but ``hosts`` pass, or all if there are none.

        Raises:
            SettingsError: One of them is not a host.
        """
        allowed = frozenset(map(_host_pattern, hosts or ()))
        return cls(allow_private, allowed or None)

    def check_host(self, host: str) -> None:
        """Let a host pass by its name.

        Raises:
            UrlRefusedError: It may not.
        """
        name = host.lower().rstrip(".")
        above = [".".join(name.split(".")[start:]) for start in range(1, name.count(".") + 1)]
        if any(it in _METADATA_NAMES for it in (name, *above)):
            raise UrlRefusedError(
                f"{one_line(host)} is where a cloud keeps a machine's keys; nothing is ever "
                "fetched from there."
            )
        if self.hosts is not None and not self.hosts & {name, *(f"*.{it}" for it in above)}:
            raise UrlRefusedError(
                f"{one_line(host)} is not one of the hosts from which pages may be fetched. "
                "Add it to MOVIE_ALLOWED_HOSTS to allow it."
            )


PUBLIC = UrlPolicy()
"""Any public host."""


def _host_pattern(text: str) -> str:
    """A host as it is compared: lower case, international names in ASCII."""
    star, host = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    name = host.strip("[]")
    if not _PORT_OR_PATH.search(host):
        try:
            name = httpx2.URL(f"http://{host}/").raw_host.decode("ascii")
        except (httpx2.InvalidURL, ValueError):
            name = ""
    pattern = f"{star}{name.lower().rstrip('.')}"
    if not _HOST_PATTERN.fullmatch(pattern):
        raise SettingsError(
            f"MOVIE_ALLOWED_HOSTS: {text!r} is not a host. Write names such as example.com, or "
            "*.example.com for all below it, with commas between them."
        )
    return pattern


def parse_url(text: str) -> httpx2.URL:
    """``text`` as the HTTP client will read it.

    Raises:
        UrlRefusedError: It is not a plain http or https URL.
    """
    if len(text) > LONGEST_URL:
        raise UrlRefusedError(f"The URL is longer than {LONGEST_URL} characters.")
    shown = without_secrets(text)
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError) as error:
        raise UrlRefusedError(f"{shown} is not a URL: {one_line(error)}") from None
    if url.scheme not in ("http", "https"):
        raise UrlRefusedError(
            f"'{shown}' is not an http:// or https:// URL: it must begin with one of these."
        )
    if url.userinfo:
        raise UrlRefusedError(
            f"{shown} contains a user name or password, which would be stored and shown: remove it."
        )
    if not _HOST.fullmatch(url.raw_host):
        raise UrlRefusedError(f"{shown} has no host, or one that programs read differently.")
    if _AMBIGUOUS.search(text):
        raise UrlRefusedError(
            f"{shown} contains a space or a backslash, which programs read differently: write %20 "
            "or %5C instead."
        )
    if url.port is not None and not 0 < url.port < 65536:
        raise UrlRefusedError(f"The port of {shown} is not between 1 and 65535.")
    return url


def _host(url: httpx2.URL) -> str:
    """The host as it goes to the resolver: international names in ASCII."""
    return url.raw_host.decode("ascii")


async def check_url(text: str, policy: UrlPolicy = PUBLIC) -> None:
    """Let a URL pass if it may be fetched.

    Raises:
        UrlRefusedError: It may not.
        UrlUnresolvedError: Its host has no address.
    """
    url = parse_url(text)
    # A name of the worker's own network may be unknown here.
    with suppress(*([UrlUnresolvedError] if policy.allow_private else [])):
        await checked_addresses(_host(url), url.port, policy)


async def checked_addresses(
    host: str, port: int | None = None, policy: UrlPolicy = PUBLIC
) -> list[Address]:
    """Where ``host`` leads, in the order in which to try; all of it may be fetched.

    No policy allows a link-local address, or one that tells a machine of a cloud its keys.

    Raises:
        UrlRefusedError: Some of it is not.
        UrlUnresolvedError: It leads nowhere.
    """
    policy.check_host(host)
    addresses = await _resolve(host, port)
    for address in addresses:
        if is_public(address):
            continue
        leads = f"{one_line(host)} {'is' if str(address) == host else f'leads to {address},'}"
        if not is_private_use(address):
            raise UrlRefusedError(
                f"{leads} a special-purpose address, from which nothing is ever fetched."
            )
        if not policy.allow_private:
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
        reason = (
            one_line(getattr(error, "strerror", "") or error)
            or f"no answer after {_RESOLVE_SECONDS:.0f} s"
        )
        unresolved = UrlUnresolvedError(f"The host {one_line(host)} was not found: {reason}")
        unresolved.passes = isinstance(error, TimeoutError) or (
            isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN
        )
        raise unresolved from error
    # The zone of a link-local address, such as %eth0, is of no interest here.
    texts = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found)
    return [ip_address(text) for text in texts]


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """Connects only where it may. Give it to ``httpx2.AsyncClient(transport=...)``."""

    def __init__(self, policy: UrlPolicy = PUBLIC, *, verify: ssl.SSLContext | bool = True) -> None:
        """What is fetched keeps to ``policy``; ``verify`` as in httpx2."""
        # Connections are kept by address here: one that was opened for another name on the same
        # machine would show the wrong certificate.
        super().__init__(
            verify=tls_context() if verify is True else verify,
            limits=httpx2.Limits(max_keepalive_connections=0),
        )
        self._policy = policy

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send ``request`` to an address of its host that was checked.

        Raises:
            UrlRefusedError: It leads where nothing may be fetched, or is not plain http or https.
        """
        url = parse_url(str(request.url))
        addresses = await checked_addresses(_host(url), url.port, self._policy)
        for number, address in enumerate(addresses, start=1):
            try:
                return await super().handle_async_request(_sent_to(address, request))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise AssertionError("a host that was found has an address")


def _sent_to(address: Address, request: httpx2.Request) -> httpx2.Request:
    """The same request to ``address``; its Host header and certificate stay those of the name."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": _host(request.url)},
    )
