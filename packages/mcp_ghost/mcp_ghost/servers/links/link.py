"""The way to a server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from mcp_ghost.config import ServerConfig
from mcp_ghost.redact import Redactor
from mcp_ghost.servers.links.stdio import StdioLink
from mcp_ghost.servers.oauth.browser import Send
from mcp_ghost.servers.sdk import import_with_sdk

if TYPE_CHECKING:
    from mcp_ghost.servers.links.http import HttpLink

Link: TypeAlias = "StdioLink | InProcessLink | HttpLink"
"""The way to a server; each kind has the same names."""


async def make_link(
    name: str,
    config: ServerConfig,
    redactor: Redactor,
    authorize: Send,
    *,
    is_older: bool = False,
) -> Link:
    """The link that the configuration of the server ``name`` asks for.

    ``authorize`` sends the user to the page of a sign-in; ``is_older`` is that of ``Revision``.
    """
    if config.in_process is not None:
        return InProcessLink(name, redactor)
    if config.url is None:
        return StdioLink(name, config, redactor)
    await import_with_sdk("mcp_ghost.servers.links.http")
    from mcp_ghost.servers.links.http import HttpLink

    return HttpLink(name, config, redactor, authorize, is_older)


class InProcessLink:
    """Has nothing between the SDK's client and its server; both live and end with the session."""

    fallback = None
    wants_credentials = False

    def __init__(self, name: str, redactor: Redactor) -> None:
        self.is_connected = False
        self._name = name
        self._redactor = redactor

    @asynccontextmanager
    async def connect(self, _ready: asyncio.Future[None]) -> AsyncIterator[None]:
        """There are no streams: the SDK makes them."""
        await import_with_sdk("mcp_ghost.servers.protocol.wire")
        self.is_connected = True
        try:
            yield
        finally:
            self.is_connected = False

    async def startup_message(self, seconds: float, cause: BaseException) -> str:
        """Say what ended the start."""
        words = f"it did not answer within {seconds:g} s"
        if not isinstance(cause, TimeoutError):
            words = self._redactor.words(f"{type(cause).__name__}: {cause}")
        return f"Failed to start MCP server '{self._name}', an object of this program: {words}"

    async def death_message(self) -> str:
        """Say that it cannot be called any longer."""
        return f"MCP server '{self._name}', an object of this program, has ended."
