"""The tools of all configured MCP servers, under their own names, while a block runs."""

import difflib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from mcp_ghost.config import load_servers, redactor_of
from mcp_ghost.errors import (
    MCPConfigError,
    MCPError,
    MCPServerDiedError,
    MCPServerStartupError,
    MCPToolCallError,
)
from mcp_ghost.redact import Redactor
from mcp_ghost.results import DEFAULT_LIMIT, ToolCallResult
from mcp_ghost.servers.oauth.browser import on_terminal
from mcp_ghost.servers.toolbox import Toolbox, bare_names

DEFAULT_STARTUP_TIMEOUT = 60.0
"""Seconds; the first start of a server by ``uvx`` or ``npx`` downloads it."""
_logger = logging.getLogger("movie_generator")


class MCPClient:
    """All servers of ``config`` that are not disabled; an async context manager.

    Args:
        config: The path of a configuration, which may be another program's, or its content.
        startup_timeout: Seconds for all servers to come up, side by side.
        result_limit: Characters of one result that are kept.

    Raises:
        MCPConfigError: The configuration cannot be used, or all its servers are disabled.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | str | Path,
        *,
        startup_timeout: float = DEFAULT_STARTUP_TIMEOUT,
        result_limit: int = DEFAULT_LIMIT,
    ) -> None:
        self._servers = load_servers(config, lenient=True)
        if all(server.disabled for server in self._servers.values()):
            raise MCPConfigError(
                "No MCP server is configured, or all of them are disabled. "
                'Add one to "mcpServers", or remove its "disabled".'
            )
        self._was_entered = False
        self._toolbox = Toolbox(
            self._servers,
            startup_timeout=startup_timeout,
            result_limit=result_limit,
            authorize=on_terminal(),
        )

    async def __aenter__(self) -> Self:
        """Start the servers; those that fail are logged and left out.

        Raises:
            MCPError: None of them can be used.
        """
        self._was_entered = True
        await self._toolbox.__aenter__()
        for server, error in self.failures.items():
            _logger.warning("Continuing without the MCP server '%s': %s", server, error)
        if not self._toolbox.connected:
            await self._toolbox.close()
            raise self._nothing_to_use()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._toolbox.close()

    @property
    def warnings(self) -> list[str]:
        """What is odd about the configuration, though it can be used."""
        used = (server for server in self._servers.values() if not server.disabled)
        return [server.warning for server in used if server.warning]

    def redactor(self, *secrets: str | None) -> Redactor:
        """What takes ``secrets``, and those of the servers and of our environment, out of texts."""
        return redactor_of(self._servers, secrets)

    @property
    def failures(self) -> Mapping[str, MCPError]:
        """The servers that could not be started, with the reason."""
        return self._toolbox.failures

    @property
    def available_tools(self) -> list[dict[str, Any]]:
        """The tools as MCP lists them: ``name``, ``description``, ``inputSchema``.

        Of two tools with the same name, the second is called "server_tool".

        Raises:
            MCPToolCallError: The servers were not started yet.
        """
        functions = {schema["function"]["name"]: schema for schema in self._toolbox.schemas}
        return [
            {
                "name": name,
                "description": functions[full]["function"]["description"],
                "inputSchema": functions[full]["function"]["parameters"],
            }
            for name, full in self._names().items()
        ]

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        timeout: float = 30.0,  # noqa: ASYNC109  part of the interface
    ) -> ToolCallResult:
        """Call a tool on its server; what the server reports as an error is a result too.

        A server that dies in a call is started again for later ones.

        Raises:
            TimeoutError: No answer within ``timeout`` seconds; the server stays usable.
            MCPToolCallError: There is no such tool, or its server is gone.
        """
        full = self._full_name(name)
        try:
            return await self._toolbox.call(full, dict(arguments or {}), timeout)
        except MCPServerDiedError as error:
            raise MCPToolCallError(f"{error} {await self._started_again(full)}") from error

    async def _started_again(self, full: str) -> str:
        """Start the server of a tool again; what came of it."""
        server = self._toolbox.server_of(full) or ""
        try:
            await self._toolbox.restart(server)
        except MCPError as error:
            return f"It could not be started again: {error}"
        return "It was started again."

    def _names(self) -> dict[str, str]:
        if not self._was_entered:
            raise MCPToolCallError(
                "The MCP servers are not running. Use the client inside a block: "
                "async with MCPClient(...) as client: ..."
            )
        return bare_names(self._toolbox.routes)

    def _full_name(self, name: str) -> str:
        """The "server.tool" of ``name``, which may be that itself."""
        names = self._names()
        if name in names or name in names.values():
            return names.get(name, name)
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise MCPToolCallError(
            f"Unknown tool '{name}'.{hint} Available tools: {', '.join(names) or 'none'}"
        )

    def _nothing_to_use(self) -> MCPError:
        reasons = " ".join(f"{name}: {error}" for name, error in self.failures.items())
        return MCPServerStartupError(f"No MCP server could be started. {reasons}")
