"""The link to a server that is a process of ours and talks over stdin and stdout."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from mcp_ghost.diagnosis import obituary, startup_error
from mcp_ghost.process import POLITE_GRACE, ServerProcess, child_environment

if TYPE_CHECKING:
    from mcp_ghost.config import ServerConfig
    from mcp_ghost.wire import Incoming, Outgoing

_UNREADY_GRACE: Final = 0.2
"""Seconds for the exit of a server that never answered; it has nothing to finish."""


class StdioLink:
    """Starts and ends the process of the server ``name``."""

    def __init__(self, name: str, config: ServerConfig) -> None:
        self.process: ServerProcess | None = None
        self._name = name
        self._config = config
        self._environment: dict[str, str] = {}

    @property
    def is_connected(self) -> bool:
        """Whether more answers can come."""
        return self.process is not None and self.process.is_connected

    @asynccontextmanager
    async def connect(
        self, ready: asyncio.Future[None]
    ) -> AsyncIterator[tuple[Incoming, Outgoing]]:
        """Run the process for as long as the context; once ``ready`` it may end politely."""
        config = self._config.resolved(server=self._name)
        self._environment = child_environment(config.env)
        command = [config.command or "", *config.args]
        self.process = await ServerProcess.start(command, self._environment, config.cwd)
        try:
            if "mcp_ghost.wire" not in sys.modules:
                # The SDK takes half a second to import: only once a server is really wanted,
                # while that server is starting, and without holding up the event loop.
                await asyncio.to_thread(importlib.import_module, "mcp_ghost.wire")
            from mcp_ghost.wire import Incoming, Outgoing

            yield Incoming(self.process), Outgoing(self.process)
        finally:
            await self.process.stop(POLITE_GRACE if ready.done() else _UNREADY_GRACE)

    async def startup_error(self, seconds: float, cause: BaseException) -> Exception:
        """The error for ``cause``, which ended a start within ``seconds`` of trying."""
        return await startup_error(
            self._name, self._config, self._environment, self.process, seconds, cause
        )

    async def obituary(self) -> str:
        """What to tell callers once the server is gone."""
        assert self.process is not None  # noqa: S101 - only what was connected can be gone
        return await obituary(self._name, self._environment, self.process)
