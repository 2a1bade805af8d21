"""Requests to whoever issues tokens; nothing of the server's entry goes along.

The MCP server names these addresses, and may name any. So they are public ones, or of the range of
the server itself: one on the internet leads nowhere inside, one of a private network not to this
machine.
"""

import ipaddress
from contextlib import suppress
from typing import NamedTuple

import httpx2

from mcp_ghost.errors import UrlRefusedError, UrlUnresolvedError
from mcp_ghost.guard import (
    AddressPolicy,
    GuardedTransport,
    Range,
    check_url,
    host_of,
    resolve,
)
from mcp_ghost.network import content_of, is_loopback, proxy_of, tls_context
from mcp_ghost.text import address

ELSEWHERE = "mcp_ghost_elsewhere"
"""The extension of a request that is not for the MCP server."""
FAILED = "mcp_ghost_failed"
"""The extension of a request that cannot be made: the ``Failure``."""
FAULT = "mcp_ghost_fault"
"""The extension of a response that is not one: what kept it from being received."""
_SECONDS = 30.0
_MOST_BYTES = 1_048_576
_KEPT = frozenset({"content-type", "location", "www-authenticate"})


class Failure(NamedTuple):
    """Why somebody is not signed in, and what to do about it."""

    words: str
    advice: str


class IssuerPolicy(AddressPolicy):
    """Lets requests go to public addresses, and to those of the MCP server's own range."""

    advice = "If you trust this host, name it as 'issuer' in 'auth'."

    def __init__(self, url: str, issuer: str | None = None) -> None:
        """``url`` is that of the MCP server; its user trusts the host of ``issuer``, too."""
        self._url = httpx2.URL(url)
        self._issuer = httpx2.URL(issuer).host if issuer else None
        self._is_proxied = proxy_of(url) is not None
        self._own: Range | None = None

    def allows(self, host: str, found: Range) -> bool:
        """See :class:`AddressPolicy`."""
        return found in (Range.PUBLIC, self._own) or host == self._issuer

    def note_peer(self, response: httpx2.Response) -> None:
        """Learn the server's range from the address that ``response`` came from."""
        stream = response.extensions.get("network_stream")
        peer = stream.get_extra_info("server_addr") if stream else None
        if peer and not self._is_proxied:
            self._own = Range.of(ipaddress.ip_address(str(peer[0])))

    async def find_own_range(self) -> None:
        """Learn it from the server's name, as long as it has not answered.

        A proxy resolves names for its own network, which says nothing about ours.
        """
        host = host_of(self._url)
        with suppress(ValueError):
            self._own = Range.of(ipaddress.ip_address(host))
        if self._own is None and not self._is_proxied:
            with suppress(UrlUnresolvedError):
                (found, *others) = {*map(Range.of, await resolve(host))}
                self._own = Range.PUBLIC if others else found

    def is_named(self, host: str) -> bool:
        """Whether the user named ``host``, so that a proxy may look it up."""
        return host in (self._url.host, self._issuer)

    async def check_page(self, url: str) -> None:
        """Raise a UrlRefusedError for a page to which a person's browser is not sent."""
        await self.find_own_range()
        with suppress(UrlUnresolvedError):  # the browser may have a proxy
            await check_url(url.partition("?")[0], self)


async def ask(request: httpx2.Request, policy: IssuerPolicy) -> httpx2.Response:
    """The whole response to ``request``, if ``policy`` lets it go out.

    What goes wrong is a response too, so that the SDK tries the next address, or says what for.
    """
    url = str(request.url)
    if request.method == "POST" and request.url.scheme != "https" and not is_loopback(url):
        return _fault(f"{address(url)} is not https, so nothing secret is sent to it")
    await policy.find_own_range()
    copy = httpx2.Request(
        request.method,
        request.url,
        headers=[*request.headers.multi_items(), ("Accept-Encoding", "identity")],
        stream=request.stream,
        extensions={"timeout": httpx2.Timeout(_SECONDS).as_dict()},
    )
    verify = tls_context() if request.url.scheme == "https" else False
    proxy = proxy_of(url)
    way = (
        httpx2.AsyncHTTPTransport(verify=verify, proxy=proxy)
        if proxy and policy.is_named(request.url.host)
        else GuardedTransport(policy, verify=verify, proxy=proxy)
    )
    try:
        async with way as network:
            response = await network.handle_async_request(copy)
            content = await content_of(response, _MOST_BYTES)
            if len(content) > _MOST_BYTES:
                raise httpx2.DecodingError("its answer is too long")
    except UrlRefusedError as error:
        return _fault(f"{address(url)} is not asked: {error}")
    except httpx2.HTTPError as error:
        return _fault(f"{address(url)} does not answer ({error or type(error).__name__})")
    kept = {name: value for name, value in response.headers.items() if name in _KEPT}
    return httpx2.Response(response.status_code, headers=kept, content=content)


def _fault(words: str) -> httpx2.Response:
    return httpx2.Response(503, text=words, extensions={FAULT: words})
