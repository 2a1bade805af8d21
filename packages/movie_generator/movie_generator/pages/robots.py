"""What sites ask of programs in their robots.txt (RFC 9309), asked for once in a run.

A site that has none, or refuses to show it, allows everything; one that fails to answer allows
nothing until it does.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2

from mcp_ghost.guard import GuardedTransport, parse_url
from mcp_ghost.network import content_of
from mcp_ghost.text import address
from movie_generator.errors import PageError, reason_of
from movie_generator.pages.urls import UrlPolicy

if TYPE_CHECKING:
    from protego import Protego

PRODUCT = "movie-generator"
"""The name by which a robots.txt may speak to us."""
USER_AGENT = f"Mozilla/5.0 (compatible; {PRODUCT})"
MOST_REDIRECTS = 5
MOST_BYTES = 512_000
"""What RFC 9309 asks for at least; rules behind it are not read."""
_HOW_TO_READ = "'obey_robots: false' in config.yaml reads it anyway."


class RobotsRefusedError(PageError):
    """Raised when a page is not read because of its site's robots.txt."""


class RobotsUnknownError(RobotsRefusedError):
    """Raised when a site's robots.txt cannot be read for the moment."""


class Robots:
    """Keeps programs from pages as their sites wish; the answers are kept."""

    def __init__(self, policy: UrlPolicy, *, timeout: float, obey: bool = True) -> None:
        """``policy`` holds for pages and files; no file is asked for if not to ``obey``."""
        self.policy = policy
        self._timeout = timeout
        self._obey = obey
        self._sites: dict[str, Protego | RobotsUnknownError] = {}

    def client(self, accept: str, most_redirects: int, **options: Any) -> httpx2.AsyncClient:  # noqa: ANN401
        """Return a client that says who asks, and reads only what the policy allows."""
        return httpx2.AsyncClient(
            transport=GuardedTransport(self.policy),
            headers={"User-Agent": USER_AGENT, "Accept": accept},
            follow_redirects=True,
            max_redirects=most_redirects,
            timeout=self._timeout,
            **options,
        )

    async def check(self, url: str) -> None:
        """Let a URL pass if its site lets programs read it.

        Raises:
            RobotsRefusedError: It does not.
            RobotsUnknownError: It does not say just now.
            UrlRefusedError: The site is one from which nothing may be fetched.
        """
        if not self._obey:
            return
        parts = urlsplit(str(parse_url(url)))
        if parts.path == "/robots.txt":
            return
        site = f"{parts.scheme}://{parts.netloc}"
        if site not in self._sites:
            self._sites[site] = await self._rules(f"{site}/robots.txt")
        rules = self._sites[site]
        if isinstance(rules, RobotsUnknownError):
            said = f"{address(url)} cannot be read: {rules}"
            raise RobotsUnknownError(said, passes=rules.passes)
        if not rules.can_fetch(url, PRODUCT):
            asks = "the site's robots.txt asks programs not to read it."
            raise RobotsRefusedError(f"{address(url)} is not read: {asks} {_HOW_TO_READ}")

    async def _rules(self, url: str) -> Protego | RobotsUnknownError:
        """What the file says; an empty one allows everything."""
        try:
            async with (
                asyncio.timeout(self._timeout),
                self.client("text/plain", MOST_REDIRECTS) as client,
                client.stream("GET", url) as response,
            ):
                if response.is_server_error:
                    return _no_file(url, f"answered {response.status_code}")
                body = await content_of(response, MOST_BYTES) if response.is_success else b""
        except httpx2.TooManyRedirects:
            body = b""
        except (TimeoutError, httpx2.TimeoutException):
            return _no_file(url, f"did not arrive within {self._timeout:g} s")
        except httpx2.ConnectError as error:  # nor would the page come
            return RobotsUnknownError(reason_of(error), passes="CERTIFICATE" not in str(error))
        except httpx2.HTTPError as error:
            return _no_file(url, f"cannot be fetched ({reason_of(error)})")
        from protego import Protego

        if len(body) > MOST_BYTES:
            body = body[: body.rfind(b"\n", 0, MOST_BYTES) + 1]
        return Protego.parse(body.decode("utf-8-sig", "replace"))


def _no_file(url: str, why: str) -> RobotsUnknownError:
    said = f"{address(url)}, which says what programs may read, {why}. Try again later; "
    return RobotsUnknownError(said + _HOW_TO_READ, passes=True)
