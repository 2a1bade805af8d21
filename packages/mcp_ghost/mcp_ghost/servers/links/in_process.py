"""The link to a server that is an object of this program."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp_ghost.servers.sdk import import_with_sdk

if TYPE_CHECKING:
    from mcp_ghost.redact import Redactor


class InProcessLink:
    """Has nothing between the SDK's client and its server; both live and end with the session."""

    has_read = True
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

    def kill(self) -> None:
        """There is no process."""

    async def startup_message(self, seconds: float, cause: BaseException) -> str:
        """Say what ended the start."""
        words = f"it did not answer within {seconds:g} s"
        if not isinstance(cause, TimeoutError):
            words = self._redactor.words(f"{type(cause).__name__}: {cause}")
        return f"Failed to start MCP server '{self._name}', an object of this program: {words}"

    async def death_message(self) -> str:
        """Say that it cannot be called any longer."""
        return f"MCP server '{self._name}', an object of this program, has ended."
