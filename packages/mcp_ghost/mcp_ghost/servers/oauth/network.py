"""Requests to whoever issues tokens; nothing of the server's entry goes along."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address
from typing import NamedTuple

import httpx2

from mcp_ghost.network import is_loopback, is_private_use, is_public, proxy_of, tls_context
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


async def ask(request: httpx2.Request) -> httpx2.Response:
    """The whole response to ``request``.

    What goes wrong is a response too, so that the SDK tries the next address, or says what for.
    """
    url = str(request.url)
    if request.method == "POST" and request.url.scheme != "https" and not is_loopback(url):
        return _fault(f"{address(url)} is not https, so nothing secret is sent to it")
    if await _leads_to_keys(request.url):
        return _fault(f"{address(url)} leads to a special-purpose address")
    bounds = dict.fromkeys(("connect", "read", "write", "pool"), _SECONDS)
    copy = httpx2.Request(
        request.method,
        request.url,
        headers=[*request.headers.multi_items(), ("Accept-Encoding", "identity")],
        stream=request.stream,
        extensions={"timeout": bounds},
    )
    verify = tls_context() if request.url.scheme == "https" else False
    try:
        async with httpx2.AsyncHTTPTransport(verify=verify, proxy=proxy_of(url)) as network:
            response = await network.handle_async_request(copy)
            content = await _content(response)
    except httpx2.HTTPError as error:
        return _fault(f"{address(url)} does not answer ({error or type(error).__name__})")
    kept = {name: value for name, value in response.headers.items() if name in _KEPT}
    return httpx2.Response(response.status_code, headers=kept, content=content)


async def _content(response: httpx2.Response) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > _MOST_BYTES:
            raise httpx2.DecodingError("its answer is too long")
    return bytes(content)


async def _leads_to_keys(url: httpx2.URL) -> bool:
    """Whether the host is where a cloud tells a machine its keys, or the like.

    The MCP server says which addresses these are, and may name any.
    """
    if proxy_of(str(url)) is not None:
        return False  # the proxy's network is not ours
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_SECONDS):
            found = await loop.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return False  # the request will say so
    hosts = {ip_address(str(entry[4][0]).partition("%")[0]) for entry in found}
    return not all(is_public(host) or is_private_use(host) for host in hosts)


def _fault(words: str) -> httpx2.Response:
    return httpx2.Response(503, text=words, extensions={FAULT: words})
