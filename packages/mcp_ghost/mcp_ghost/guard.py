"""The address guard: what others have us ask for is public, and stays so while it is asked for.

A URL is refused for its spelling, for the name of its host, or because that name leads to an
address that the policy does not allow. `GuardedTransport` connects to the very addresses that it
checked, through a proxy too, and checks every redirect anew, so that a name cannot change its
address in between.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

import httpx2

from mcp_ghost.errors import UrlRefusedError, UrlUnresolvedError
from mcp_ghost.network import tls_context
from mcp_ghost.text import address as without_secrets
from mcp_ghost.text import one_line

Address: TypeAlias = IPv4Address | IPv6Address

LONGEST_URL = 4096
_HOST = re.compile(rb"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_AMBIGUOUS = re.compile(r"[\\\s\x00-\x1f\x7f]")
_RESOLVE_SECONDS = 10.0
_METADATA_NAMES = ("metadata.google.internal", "metadata.goog", "instance-data.ec2.internal")
"""Where clouds tell a machine its keys. These names mean nothing here, but perhaps to a tool that
runs elsewhere."""


def _networks(texts: str) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(map(ipaddress.ip_network, texts.split()))


_GLOBAL_UNICAST = IPv6Network("2000::/3")
_SPECIAL = _networks("192.0.0.0/24 192.88.99.0/24 2001::/23 2620:4f:8000::/48 3fff::/20")
"""Of the IANA's special-purpose registries, what not every Python counts among them."""
_MACHINE = _networks("0.0.0.0/32 127.0.0.0/8 ::/127")
_NETWORK = _networks("10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7")
_METADATA = _networks("168.63.129.16 100.100.100.200 192.0.0.192 fd00:ec2::254 fd20:ce::254")
"""Where clouds (Azure, Alibaba, Oracle, AWS, Google) tell a machine its keys, other than at
link-local addresses."""
_HOLD_IPV4 = _networks("::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96")
"""Compatible, mapped and translated addresses, and NAT64."""


class Range(Enum):
    """Whose an address is."""

    PUBLIC = "public"
    """Everybody on the internet reaches the same machine by it."""
    NETWORK = "network"
    """A private network's."""
    MACHINE = "machine"
    """This machine's."""
    SPECIAL = "special"
    """Anything else: link-local, multicast, reserved, or where a cloud tells a machine its keys."""

    @classmethod
    def of(cls, address: Address) -> Range:
        """The range of ``address``; of one that holds an IPv4 address, the range of that."""

        def is_in(networks: Iterable[IPv4Network | IPv6Network]) -> bool:
            return any(address in network for network in networks)

        if is_in(_METADATA):
            return cls.SPECIAL
        if is_in(_MACHINE):
            return cls.MACHINE
        if is_in(_NETWORK):
            return cls.NETWORK
        if isinstance(address, IPv6Address):
            if address.sixtofour:
                return cls.of(address.sixtofour)
            if is_in(_HOLD_IPV4):
                return cls.of(IPv4Address(int(address) & 0xFFFFFFFF))
        is_public = (
            address.is_global
            and not (address.is_multicast or address.is_reserved or is_in(_SPECIAL))
            and (address.version == 4 or address in _GLOBAL_UNICAST)
        )
        return cls.PUBLIC if is_public else cls.SPECIAL


class AddressPolicy:
    """Lets requests go to public addresses only; subclasses allow more, or less."""

    advice = ""
    """How to have a private address allowed."""

    def check_host(self, host: str) -> None:
        """Let a host pass by its name.

        Raises:
            UrlRefusedError: It may not.
        """
        if any(it in _METADATA_NAMES for it in domains(host)):
            raise UrlRefusedError(
                f"{one_line(host)} is where a cloud keeps a machine's keys; nothing is ever "
                "fetched from there."
            )

    def allows(self, host: str, found: Range) -> bool:
        """Whether ``host`` may be asked at an address of this range, which is not special."""
        return found is Range.PUBLIC


def domains(host: str) -> list[str]:
    """``host`` in lower case and every domain that it lies in, the nearest first."""
    labels = host.lower().rstrip(".").split(".")
    return [".".join(labels[start:]) for start in range(len(labels))]


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
        raise UrlRefusedError(f"{shown} has no host, or one that programs interpret differently.")
    if _AMBIGUOUS.search(text):
        raise UrlRefusedError(
            f"{shown} contains a space or a backslash, which programs interpret differently: "
            "write %20 or %5C instead."
        )
    if url.port is not None and not 0 < url.port < 65536:
        raise UrlRefusedError(f"The port of {shown} is not between 1 and 65535.")
    return url


def host_of(url: httpx2.URL) -> str:
    """The host as it goes to the resolver: international names in ASCII."""
    return url.raw_host.decode("ascii")


async def check_url(text: str, policy: AddressPolicy) -> None:
    """Let a URL pass if it may be asked for.

    Raises:
        UrlRefusedError: It may not.
        UrlUnresolvedError: Its host has no address.
    """
    url = parse_url(text)
    host = host_of(url)
    # A name of a private network that may be asked may be unknown here.
    with suppress(*([UrlUnresolvedError] if policy.allows(host, Range.NETWORK) else [])):
        await checked_addresses(host, url.port, policy)


async def checked_addresses(host: str, port: int | None, policy: AddressPolicy) -> list[Address]:
    """Where ``host`` leads, in the order in which to try; all of it may be asked.

    No policy allows a link-local address, or one that tells a machine of a cloud its keys.

    Raises:
        UrlRefusedError: Some of it may not.
        UrlUnresolvedError: It leads nowhere.
    """
    policy.check_host(host)
    addresses = await resolve(host, port)
    for address in addresses:
        found = Range.of(address)
        leads = f"{one_line(host)} {'is' if str(address) == host else f'leads to {address},'}"
        if found is Range.SPECIAL:
            raise UrlRefusedError(
                f"{leads} a special-purpose address, from which nothing is ever fetched."
            )
        if not policy.allows(host, found):
            raise UrlRefusedError(
                f"{leads} an address inside this machine or its network, from which nothing is "
                f"fetched. {policy.advice}".rstrip()
            )
    return addresses


async def resolve(host: str, port: int | None = None) -> list[Address]:
    """What the system resolves ``host`` to; it also reads forms such as 127.1 and 0x7f000001.

    Raises:
        UrlUnresolvedError: It leads nowhere.
    """
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
    # A link-local address may have a zone.
    texts = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found)
    return [*map(ipaddress.ip_address, texts)]


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """Connects only where it may. Give it to ``httpx2.AsyncClient(transport=...)``."""

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        verify: ssl.SSLContext | bool = True,
        proxy: str | None = None,
    ) -> None:
        """What is asked for keeps to ``policy``; ``verify`` and ``proxy`` as in httpx2."""
        # Connections are kept by address here: one that was opened for another name on the same
        # machine would show the wrong certificate.
        super().__init__(
            verify=tls_context() if verify is True else verify,
            limits=httpx2.Limits(max_keepalive_connections=0),
            proxy=proxy,
        )
        self._policy = policy

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send ``request`` to an address of its host that was checked.

        Raises:
            UrlRefusedError: It leads where nothing may be asked for, or is not http or https.
        """
        url = parse_url(str(request.url))
        addresses = await checked_addresses(host_of(url), url.port, self._policy)
        for number, address in enumerate(addresses, start=1):
            try:
                # The Host header and the certificate stay those of the name.
                return await super().handle_async_request(
                    httpx2.Request(
                        request.method,
                        request.url.copy_with(host=str(address)),
                        headers=request.headers,
                        stream=request.stream,
                        extensions={**request.extensions, "sni_hostname": host_of(request.url)},
                    )
                )
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise AssertionError("a host that was found has an address")
