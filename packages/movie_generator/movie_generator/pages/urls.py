"""Which pages may be fetched, and which addresses are one page's.

`mcp_ghost.guard` holds every request to the policy.
"""

import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, unquote_to_bytes, urljoin, urlsplit

import httpx2

from mcp_ghost.errors import UrlRefusedError
from mcp_ghost.guard import AddressPolicy, Range, domains
from mcp_ghost.text import one_line
from movie_generator.errors import SettingsError


@dataclass(frozen=True)
class UrlPolicy(AddressPolicy):
    """Which hosts may be fetched from, apart from those that never may."""

    allow_private: bool = False
    """This machine and private networks, too."""
    hosts: frozenset[str] | None = None
    """Only these, in ASCII: a host, or "*.example.com" for all below one; None stands for all."""

    advice = "Set MOVIE_ALLOW_PRIVATE_URLS=1 to allow such addresses."

    @classmethod
    def of(cls, hosts: Iterable[str] | None, *, allow_private: bool = False) -> Self:
        """The policy that lets nothing but ``hosts`` pass, or all if there are none.

        Raises:
            SettingsError: One of them is not a host.
        """
        allowed: set[str] = set()
        for text in hosts or ():
            star, host = ("*.", text[2:]) if text.startswith("*.") else ("", text)
            name = host.strip("[]")
            if not re.search(r"[:/?#@]", host):
                try:  # international names go to the resolver in ASCII
                    name = httpx2.URL(f"http://{host}/").raw_host.decode("ascii")
                except (httpx2.InvalidURL, ValueError):
                    name = ""
            pattern = f"{star}{name.lower().rstrip('.')}"
            if not re.fullmatch(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|[0-9a-f:.]+", pattern):
                raise SettingsError(
                    f"MOVIE_ALLOWED_HOSTS: {text!r} is not a host. Write names such as "
                    "example.com, or *.example.com for all below it, with commas between them."
                )
            allowed.add(pattern)
        return cls(allow_private, frozenset(allowed) or None)

    def check_host(self, host: str) -> None:
        """See :class:`AddressPolicy`."""
        super().check_host(host)
        name, *above = domains(host)
        if self.hosts is not None and not self.hosts & {name, *(f"*.{it}" for it in above)}:
            raise UrlRefusedError(
                f"{one_line(host)} is not one of the hosts from which pages may be fetched. "
                "Add it to MOVIE_ALLOWED_HOSTS to allow it."
            )

    def allows(self, host: str, found: Range) -> bool:
        """See :class:`AddressPolicy`."""
        return self.allow_private or found is Range.PUBLIC


def url_key(url: str) -> str:
    """The same for every way to write an address; of one length, so that it can be indexed."""
    plain = re.sub(r"[\t\r\n]", "", url.strip())  # as browsers do
    plain = re.sub(r"^[A-Za-z]+:", lambda it: it[0].lower(), plain)
    with suppress(ValueError, httpx2.InvalidURL):  # what is not an address has one spelling
        read = httpx2.URL(plain)  # which knows default ports and international names
        path, _, query = read.raw_path.decode("ascii").partition("?")
        if "/." in path:
            path = urlsplit(urljoin("http://host/", path)).path
        host = read.raw_host.decode("ascii").lower().rstrip(".")
        port = f":{read.port}" if read.port else ""
        # Of most addresses, this is how earlier versions wrote them, too.
        plain = f"{read.scheme}://{host}{port}{path or '/'}{'?' if query else ''}{query}"
        # Unreserved characters may be escaped (RFC 3986, section 6.2.2.2).
        plain = re.sub("%[0-9A-Fa-f]{2}", lambda it: quote(unquote_to_bytes(it[0]), ""), plain)
        if read.fragment.startswith(("!", "/")):  # a page of its own, which a script shows
            plain += f"#{read.fragment}"
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()
