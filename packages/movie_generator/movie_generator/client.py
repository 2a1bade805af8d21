"""The tools of all configured MCP servers, under their own names, while a block runs."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from mcp_ghost.config import load_servers, redactor_of
from mcp_ghost.errors import (
    MCPConfigError,
    MCPError,
    MCPServerStartupError,
    MCPToolCallError,
)
from mcp_ghost.redact import Redactor
from mcp_ghost.results import DEFAULT_LIMIT, ToolCallResult
from mcp_ghost.servers.oauth.browser import on_terminal
from mcp_ghost.toolset import Call, Kind
from mcp_ghost.toolsets.union import Bare, Toolbox

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
        self._tools = Bare(self._toolbox)

    async def __aenter__(self) -> Self:
        """Start the servers; those that fail are logged and left out.

        Raises:
            MCPError: None of them can be used.
        """
        self._was_entered = True
        await self._toolbox.__aenter__()
        for server, error in self.failures.items():
            _logger.warning("Continuing without the MCP server '%s': %s", server, error)
        if not self._toolbox.union.connected:
            await self._toolbox.union.close()
            reasons = " ".join(f"{name}: {error}" for name, error in self.failures.items())
            raise MCPServerStartupError(f"No MCP server could be started. {reasons}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._toolbox.union.close()

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
        self._check_running()
        functions = {name: it.schema["function"] for name, it in self._tools.tools.items()}
        return [
            {"name": name, "description": it["description"], "inputSchema": it["parameters"]}
            for name, it in functions.items()
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
        self._check_running()
        outcome = await self._tools.call(Call(name, dict(arguments or {}), timeout=timeout))
        if outcome.kind is Kind.DIED:
            tool = self._tools.tools.get(name) or self._toolbox.tools[name]
            raise MCPToolCallError(f"{outcome.reason} {await self._started_again(tool.server)}")
        return outcome.unwrap()

    async def _started_again(self, server: str) -> str:
        """Start a server again; what came of it."""
        try:
            await self._toolbox.restart(server)
        except MCPError as error:
            return f"It could not be started again: {error}"
        return "It was started again."

    def _check_running(self) -> None:
        if not self._was_entered:
            raise MCPToolCallError(
                "The MCP servers are not running. Use the client inside a block: "
                "async with MCPClient(...) as client: ..."
            )
