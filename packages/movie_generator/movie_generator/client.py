"""The tools of all configured MCP servers, under their own names, while a block runs."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from mcp_ghost.config import load_servers, redactor_of
from mcp_ghost.errors import MCPConfigError, MCPError, MCPServerStartupError, MCPToolCallError
from mcp_ghost.redact import Redactor
from mcp_ghost.results import DEFAULT_LIMIT, ToolCallResult
from mcp_ghost.servers.oauth.browser import on_terminal
from mcp_ghost.toolset import Call, Kind, Outcome, Tool, Wrapper
from mcp_ghost.toolsets.union import Bare, Toolbox

DEFAULT_STARTUP_TIMEOUT = 60.0
"""Seconds; the first start of a server by ``uvx`` or ``npx`` downloads it."""
_logger = logging.getLogger("movie_generator")


class MCPClient(Wrapper):
    """All servers of ``config`` that are not disabled; an async context manager.

    Args:
        config: The path of a configuration, which may be another program's, or its content.
        startup_timeout: Seconds for all servers to start, in parallel.
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
        self._toolbox = Toolbox(
            self._servers,
            startup_timeout=startup_timeout,
            result_limit=result_limit,
            authorize=on_terminal(),
        )
        super().__init__(Bare(_Revived(self._toolbox)))

    async def __aenter__(self) -> Self:
        """Start the servers; those that fail are logged and left out.

        Raises:
            MCPError: None of them can be used.
        """
        await self._toolbox.__aenter__()
        for server, error in self.failures.items():
            _logger.warning("Continuing without the MCP server '%s': %s", server, error)
        if not self._toolbox.alive:
            await self._toolbox.close()
            reasons = " ".join(f"{name}: {error}" for name, error in self.failures.items())
            raise MCPServerStartupError(f"No MCP server could be started. {reasons}")
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the servers."""
        await self._toolbox.close()

    @property
    def warnings(self) -> list[str]:
        """What is odd about the configuration, though it can be used."""
        used = (server for server in self._servers.values() if not server.disabled)
        return [server.warning for server in used if server.warning]

    def redactor(self, *secrets: str | None) -> Redactor:
        """Return what masks ``secrets``, the servers' and the environment's in texts."""
        return redactor_of(self._servers, secrets)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """See :class:`Toolset`.

        Raises:
            MCPToolCallError: The servers were not started yet.
        """
        self._check_running()
        return super().tools

    @property
    def available_tools(self) -> list[dict[str, Any]]:
        """The tools as MCP lists them: ``name``, ``description``, ``inputSchema``.

        Of two tools with the same name, the second is called "server_tool".
        """
        functions = [schema["function"] for schema in self.schemas]
        about = {"name": "name", "description": "description", "inputSchema": "parameters"}
        return [{name: it[known] for name, known in about.items()} for it in functions]

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
        return await self.result(name, dict(arguments or {}), timeout)

    def _check_running(self) -> None:
        if not self._toolbox.was_open:
            raise MCPToolCallError(
                "The MCP servers are not running. Use the client inside a block: "
                "async with MCPClient(...) as client: ..."
            )


class _Revived(Wrapper):
    """Starts a server that dies in a call again, for later ones.

    A call that certainly was not made is made again at once.
    """

    async def call(self, call: Call) -> Outcome:
        outcome = await self.inner.call(call)
        if outcome.kind is not Kind.DIED:
            return outcome
        what = "It was started again."
        try:
            await self.inner.restart(self.tools[call.name].server)
        except MCPError as error:
            what = f"It could not be started again: {error}"
        else:
            if not outcome.was_sent:
                return await self.inner.call(call)
        return Outcome.without_result(Kind.FAILED, f"{outcome.reason} {what}")
