"""The game's MCP server: one connection per turn, its tools as "server.tool", retry and giving up.

Every turn runs in its own event loop, so what belongs to one loop is never used in another.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from mcp_ghost.config import ServerConfig, load_servers
from mcp_ghost.errors import (
    MCPConfigError,
    MCPConfigNotFoundError,
    MCPError,
    MCPServerStartupError,
    MCPToolCallError,
)
from mcp_ghost.results import ToolCallResult
from mcp_ghost.servers.oauth.browser import on_terminal
from mcp_ghost.servers.session import ServerSession
from mcp_ghost.servers.tools import prefixed
from session.events import log_event
from session.tracing import observed

if TYPE_CHECKING:
    from mcp_ghost.messages import ToolSchema
    from session.game_configuration import GameConfiguration
    from session.tracing import Span

__all__ = [
    "MCPConfig",
    "MCPError",
    "MCPManager",
    "MCPServerConfig",
    "MCPServerStartupError",
    "MCPToolCallError",
    "ToolCallResult",
]

MCPServerConfig = ServerConfig

_MCP_MAJOR_VERSION = 2


class MCPConfig(BaseModel):
    """The configuration file; of its servers the game uses one."""

    model_config = ConfigDict(frozen=True)

    mcpServers: dict[str, MCPServerConfig]  # noqa: N815 - the file's own key

    @classmethod
    def from_file(cls, path: str | Path) -> MCPConfig:
        """Read a file of this form, or that of another program.

        Raises:
            MCPConfigError: It is missing or cannot be read; the message says where. What is wrong
                with an entry is said when it is used.
        """
        return cls(mcpServers=load_servers(path, check=False))

    def get_server_config(self) -> tuple[str, MCPServerConfig]:
        """The first server that is not disabled, with its name.

        Raises:
            MCPConfigError: There is none, or it cannot be used; it is a ValueError, too.
        """
        for name, server in self.mcpServers.items():
            if not server.disabled:
                return name, server.checked()
        disabled = f" (disabled: {', '.join(self.mcpServers)})" if self.mcpServers else ""
        raise MCPConfigError(f"No MCP servers configured in mcp_config.json{disabled}")


class MCPManager:
    """Connects, lists and calls for the agent; one object serves one episode."""

    def __init__(
        self,
        config: GameConfiguration,
        logger: logging.Logger | None = None,
        langfuse_client: Any = None,  # noqa: ANN401 - its import costs half a second
    ) -> None:
        """Read the configuration where MCP is enabled; nothing is started yet.

        Raises:
            MCPError: The configuration or this installation cannot be used.
        """
        self.config = config
        self.logger = logger or logging.getLogger(__name__)
        self.langfuse_client = langfuse_client
        self.server_config: MCPServerConfig | None
        self.server_name, self.server_config = "", None
        if config.mcp_enabled:
            _check_installation()
            self.server_name, self.server_config = self._load_config(config.mcp_config_places)
        self._connection: asyncio.Task[ServerSession] | None = None
        """The way to an open session, and then the session."""
        self._schemas: list[ToolSchema] | None = None
        """As of the latest connection; None before the first."""
        self._disabled = not config.mcp_enabled

    @property
    def is_disabled(self) -> bool:
        """Whether MCP is off in the configuration, or was given up for the rest of the episode."""
        return self._disabled

    async def connect_session(self) -> None:
        """Start the server, initialise, and list its tools; without effect when that is done.

        The first connection fails at once. Later ones are tried a second time, and when that
        fails too, MCP is off: further calls of this method return without an attempt.

        Raises:
            MCPServerStartupError: The connection failed.
        """
        if self._disabled:
            return
        connection = self._current()
        if connection is None:
            connection = self._connection = asyncio.create_task(self._connect())
        try:
            await self._result_of(connection)
        except asyncio.CancelledError:
            connection.cancel()
            await asyncio.wait([connection])
            raise
        except MCPError:
            if self._connection is connection:
                self._connection = None
            raise

    async def disconnect_session(self) -> None:
        """End the session and the server, also while it is being started; may be repeated."""
        connection = self._current()
        self._connection = None
        if connection is None:
            return
        if not connection.done():
            connection.cancel()
            await asyncio.wait([connection])
        if not connection.cancelled() and connection.exception() is None:
            await connection.result().close()

    async def get_tool_schemas(self) -> list[ToolSchema]:
        """The tools in OpenAI's format, named "server.tool"; none when MCP is off.

        Waits for the first connection. During a later one, the tools known from before are
        returned at once.

        Raises:
            MCPError: There was no connection yet, or the first one failed.
        """
        if self._disabled:
            return []
        if self._schemas is None:
            await self._session()
        return list(self._schemas or [])

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any], timeout_seconds: float = 30
    ) -> ToolCallResult:
        """Call ``tool_name`` ("server.tool"), once the connection stands.

        What is wrong with the name or the arguments is a result for the model to read.

        Raises:
            asyncio.TimeoutError: No answer in time; the session stays usable.
            MCPServerDiedError: The server is gone.
            MCPError: There is no connection.
        """
        # The span is of the call alone; why there is no connection is said within it.
        with suppress(MCPError):
            await self._session()
        started = time.perf_counter()
        details = {
            "tool_name": tool_name,
            "server_name": self.server_name,
            "timeout_seconds": timeout_seconds,
        }
        with observed(
            self.langfuse_client,
            self.logger,
            name=f"mcp-tool-{tool_name}",
            as_type="tool",
            input=arguments,
            metadata=details,
        ) as span:
            try:
                result = await self._call(tool_name, arguments, timeout_seconds)
            except (TimeoutError, MCPError) as error:
                _report(span, started, str(error))
                raise
            failure = (result.error_message or "error") if result.is_error else None
            output = self.langfuse_client and result.to_dict()  # of long texts, it takes a while
            _report(span, started, failure, output=output)
        return result

    async def _call(
        self, tool_name: str, arguments: dict[str, Any], seconds: float
    ) -> ToolCallResult:
        try:
            session = await self._session()
        except MCPError as error:
            if self._disabled:
                return _refusal(f"MCP tools are off for the rest of the episode: {error}")
            raise
        known = [schema["function"]["name"] for schema in self._schemas or []]
        if tool_name not in known:
            return _refusal(f"Unknown tool '{tool_name}'. Available tools: {', '.join(known)}")
        return await session.call(
            tool_name.removeprefix(f"{self.server_name}."), arguments, seconds
        )

    async def _session(self) -> ServerSession:
        """The open session, waiting for a connection that is under way."""
        if self._current() is None:
            await asyncio.sleep(0)  # lets a connect_session() that was just scheduled begin
        connection = self._current()
        if connection is None:
            raise MCPToolCallError(
                f"There is no connection to MCP server '{self.server_name}': "
                "await connect_session() first."
            )
        return await self._result_of(connection)

    async def _result_of(self, connection: asyncio.Task[ServerSession]) -> ServerSession:
        try:
            return await asyncio.shield(connection)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if connection.cancelled() and not (task and task.cancelling()):
                raise MCPServerStartupError(
                    f"The connection to MCP server '{self.server_name}' was closed "
                    "while it was being opened."
                ) from None
            raise

    def _current(self) -> asyncio.Task[ServerSession] | None:
        """The connection, if it belongs to the running loop: another one took it along."""
        connection = self._connection
        if connection is None or connection.get_loop() is not asyncio.get_running_loop():
            return None
        return connection

    async def _connect(self) -> ServerSession:
        try:
            session = await self._open()
        except MCPError as error:
            if self._schemas is None:  # the first connection: the configuration must be wrong
                raise
            session = await self._retry(error)
        self._schemas = [prefixed(tool, f"{self.server_name}.") for tool in session.tools]
        return session

    async def _retry(self, first: MCPError) -> ServerSession:
        self._warn(f"MCP session connect failed, retrying: {first}", "mcp_connect_retry", first)
        try:
            session = await self._open()
        except MCPError as error:
            self._disabled = True
            message = f"MCP retry failed, disabling MCP for episode: {error}"
            self._warn(message, "mcp_disabled", error)
            raise
        self._warn("MCP session retry successful", "mcp_connect_retry_successful")
        return session

    async def _open(self) -> ServerSession:
        if self.server_config is None:
            raise MCPError("MCP is not enabled")
        session = ServerSession(self.server_name, self.server_config, authorize=on_terminal())
        await session.open(self.config.mcp_server_startup_timeout_seconds)
        return session

    def _load_config(self, places: Sequence[Path]) -> tuple[str, MCPServerConfig]:
        path = next((place for place in places if place.exists()), places[0])
        try:
            config = MCPConfig.from_file(path)
        except MCPConfigNotFoundError as error:
            looked_for = "\nLooked for: " + ", ".join(str(it.absolute()) for it in places)
            raise MCPConfigNotFoundError(
                f"MCP is enabled but config file not found: {path}\n"
                "Please either:\n"
                "  1. Create mcp_config.json in project root, or\n"
                "  2. Set mcp.enabled = false in pyproject.toml"
                + ("" if path.is_absolute() else looked_for)
            ) from error
        name, server = config.get_server_config()
        if server.warning:
            self._warn(server.warning, "mcp_config_warning")
        others = [other for other in config.mcpServers if other != name]
        if others:
            self._warn(
                f"Only the first MCP server is used: '{name}', not {', '.join(others)}",
                "mcp_servers_ignored",
            )
        return name, server

    def _warn(self, message: str, event_type: str, error: MCPError | None = None) -> None:
        fields = {"server_name": self.server_name} | ({"error": str(error)} if error else {})
        log_event(self.logger, logging.WARNING, message, event_type, **fields)


def _report(span: Span, started: float, failure: str | None, **fields: Any) -> None:  # noqa: ANN401 - Langfuse's own
    """How the call of ``span`` went."""
    duration = round((time.perf_counter() - started) * 1000, 1)
    if failure is not None:
        fields |= {"level": "ERROR", "status_message": failure}
    span.update(**fields, metadata={"is_error": failure is not None, "duration_ms": duration})


def _refusal(message: str) -> ToolCallResult:
    return ToolCallResult(content=None, is_error=True, error_message=message)


def _check_installation() -> None:
    if importlib.util.find_spec("mcp") is None:
        raise MCPError("MCP is enabled but the package 'mcp' is not installed. Run: uv sync")
    version = importlib.metadata.version("mcp")
    if int(version.partition(".")[0]) < _MCP_MAJOR_VERSION:
        raise MCPError(f"MCP needs the package mcp>=2.3, but {version} is installed. Run: uv sync")
