"""What both sides need of the network: proxies, one TLS context."""

from __future__ import annotations

import functools
import ipaddress
import os
import socket
import ssl
import sys
from base64 import b64encode
from contextlib import aclosing
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    import httpx2


def is_web_address(url: str) -> bool:
    """Whether ``url`` is http:// or https:// with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_loopback(url: str) -> bool:
    """Whether the server at ``url`` runs on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".invalid"))


def unfound(error: BaseException, url: str) -> str | None:
    """Say that there is no host of that name, if ``error`` of a request to ``url`` means that."""
    causes = (error, *(error.__cause__ or error).args)
    is_that = any(isinstance(it, socket.gaierror) for it in causes)
    if not is_that or not is_web_address(url):
        return None
    host = urlsplit(proxy_of(url) or url).hostname
    return f"cannot find the host {host}: check the address or the network"


class ProxyError(OSError):
    """Raised when the environment names a proxy that cannot be used; the message says which."""


def proxy_of(url: str) -> str | None:
    """The proxy of the environment for ``url``; none for what runs on this machine.

    Raises:
        ProxyError: It cannot be used.
    """
    parts = urlsplit(url)
    if is_loopback(url) or proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    used = parts.scheme if proxies.get(parts.scheme) else "all"
    proxy = proxies.get(used)
    proxy = f"http://{proxy}" if proxy and "://" not in proxy else proxy
    kind = urlsplit(proxy).scheme if proxy else ""
    if kind.startswith("socks") and find_spec("socksio") is None:
        variable = next(
            (it for it in (f"{used}_proxy", f"{used}_PROXY".upper()) if os.environ.get(it)), used
        )
        raise ProxyError(
            f"{variable} names a proxy of kind {kind}://, which needs a package that is not "
            f"installed: run 'pip install socksio', set {parts.scheme.upper()}_PROXY to an http:// "
            f"proxy, or add {parts.hostname} to NO_PROXY."
        )
    return proxy


def basic_authorization(url: str) -> dict[str, str]:
    """The user and password of ``url`` as the header that they stand for."""
    parts = urlsplit(url)
    if not parts.username and not parts.password:
        return {}
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}


@functools.cache
def tls_context() -> ssl.SSLContext:
    """The TLS context of the process, because reading the certificates takes tens of milliseconds.

    It trusts what the system does, or ``SSL_CERT_FILE`` or ``SSL_CERT_DIR`` where one is set, and
    certifi's certificates on a system that has none, as bare containers do.

    Raises:
        OSError: They cannot be read; the message says where they were looked for.
    """
    import httpx2  # only those who need a context pay for it

    given = [it for it in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(it)]
    try:
        context = httpx2.create_ssl_context()
    except OSError as error:
        where = f"{given[0]} ({os.environ[given[0]]})" if given else "the system's store"
        why = error.strerror or error
        raise OSError(f"The certificates in {where} cannot be read: {why}.") from error
    has_own_store = given or sys.platform in ("win32", "darwin")
    if not has_own_store and not context.cert_store_stats()["x509_ca"]:
        import certifi

        context.load_verify_locations(certifi.where())
    return context


async def content_of(response: httpx2.Response, limit: int) -> bytes:
    """The body, unpacked; what is longer than ``limit`` is cut somewhere after it."""
    content = bytearray()
    async with aclosing(response):
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > limit:
                break
    return bytes(content)
