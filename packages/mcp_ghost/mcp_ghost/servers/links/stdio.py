"""The link to a server that is our own process and talks over stdin and stdout."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_ghost.servers.diagnosis import details, ending, hint, last_lines
from mcp_ghost.servers.process import POLITE_GRACE, ServerProcess, child_environment, withheld
from mcp_ghost.servers.protocol.revision import HANDSHAKE, Revision
from mcp_ghost.servers.sdk import import_with_sdk

if TYPE_CHECKING:
    from mcp_ghost.config import ServerConfig
    from mcp_ghost.redact import Redactor
    from mcp_ghost.servers.protocol.wire import Streams

_warn_once = cache(logging.getLogger(__name__).warning)
_UNREADY_GRACE = 0.2
"""Seconds for the exit of a server that never answered; it has nothing to finish."""
_EXIT_STATUS_WAIT = 0.25
"""Seconds for the exit status, which may come after the end of the output."""
_SHOWN_BYTES = 4096


class StdioLink:
    """Starts and ends the process of the server ``name``."""

    def __init__(self, name: str, config: ServerConfig, redactor: Redactor) -> None:
        self.process: ServerProcess | None = None
        self._name = name
        self._config = config
        self._redactor = redactor
        self._environment: dict[str, str] = {}

    @property
    def is_connected(self) -> bool:
        """Whether more answers can come."""
        return self.process is not None and self.process.is_connected

    wants_credentials = False

    @property
    def fallback(self) -> Revision | None:
        """The handshake, where it ended by itself after it had read something.

        Servers on the Python SDK before 1.7 do not survive being asked what they speak.
        """
        process = self.process
        hung_up = process is not None and process.ended_by_itself and process.has_read
        return HANDSHAKE if hung_up else None

    @asynccontextmanager
    async def connect(self, ready: asyncio.Future[None]) -> AsyncIterator[Streams]:
        """Run the process for as long as the context; once ``ready`` it may end politely."""
        config = self._config.resolved(server=self._name)
        environ = dict(os.environ)  # which decodes each variable every time that it is asked
        self._environment = child_environment(config.env, config.inherit_env, environ)
        kept = [name for name in withheld(environ) if name not in self._environment]
        if kept and config.inherit_env is True:
            words = "MCP servers do not get %s, unless their entry names it in 'env'."
            _warn_once(words, ", ".join(kept))
        command = [config.command or "", *config.args]
        most_bytes = config.max_message_bytes
        process = await ServerProcess.start(command, self._environment, config.cwd, most_bytes)
        self.process = process
        try:
            # While the server is starting.
            await import_with_sdk("mcp_ghost.servers.links.stdio_streams")
            from mcp_ghost.servers.links.stdio_streams import Incoming, send

            receive = Incoming(process, most_bytes).receive
            yield receive, partial(send, process), lambda: process.has_read
        finally:
            await process.stop(POLITE_GRACE if ready.done() else _UNREADY_GRACE)

    async def startup_message(self, seconds: float, cause: BaseException) -> str:
        """What to say of ``cause``, which ended a start within ``seconds`` of trying."""
        config, process = self._config, self.process
        said = last_lines("stderr", process.stderr_tail(_SHOWN_BYTES)) if process else []
        if process is not None and not said:
            # What it printed instead of messages, such as how the program is to be called.
            said = last_lines("stdout", await process.stdout_tail())
        if isinstance(cause, OSError) and config.cwd is not None and cause.filename == config.cwd:
            why = f"the working directory {config.cwd} cannot be entered: {cause.strerror}"
            advice = f"this folder exists; a relative one is looked for in {Path.cwd()}."
        else:
            why = details(config, process, seconds, cause)
            advice = await hint(config, self._environment, process, cause)
        lines = [
            f"Failed to start MCP server '{self._name}': {why}",
            f"Command: {config.command_line()}",
            f"Check that {advice}",
            *said,
        ]
        return self._redactor.words("\n".join(lines))

    async def death_message(self) -> str:
        """What to tell callers once the server is gone."""
        process = self.process
        assert process is not None  # noqa: S101 - only what was connected can be gone
        await process.exits_within(_EXIT_STATUS_WAIT)
        await process.last_words()
        said = last_lines("stderr", process.stderr_tail(_SHOWN_BYTES))
        lines = [f"MCP server '{self._name}' is gone: it {ending(process)}.", *said]
        return self._redactor.words("\n".join(lines))
