"""What both sides need of the network: which addresses can be used, and one TLS context."""

from __future__ import annotations

import functools
import ipaddress
import ssl
from base64 import b64encode
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass


def is_web_address(url: str) -> bool:
    """Whether ``url`` is http:// or https:// with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_ip_address(text: str) -> bool:
    """Whether ``text`` is an IP address and nothing else."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(url: str) -> bool:
    """Whether the server at ``url`` runs on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".invalid"))


def proxy_of(url: str) -> str | None:
    """The proxy of the environment for ``url``; none for what runs on this machine."""
    parts = urlsplit(url)
    if is_loopback(url) or proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def basic_authorization(url: str) -> dict[str, str]:
    """The user and password of ``url`` as the header that they stand for."""
    parts = urlsplit(url)
    if not parts.username and not parts.password:
        return {}
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}


@functools.cache
def tls_context() -> ssl.SSLContext:
    """The TLS context of the process: reading the certificates takes tens of milliseconds."""
    import httpx  # only those who need a context pay for it

    return httpx.create_ssl_context()
