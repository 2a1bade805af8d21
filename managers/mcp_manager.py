"""The game's MCP servers: one session per turn or episode, their tools as "server.tool"."""

import asyncio
import importlib.metadata
import importlib.util
import logging
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from managers.tools.server import GameServer, refusal
from managers.tools.session import GameTools
from mcp_ghost.config import ServerConfig, load_servers, redactor_of
from mcp_ghost.errors import (
    MCPConfigError,
    MCPConfigNotFoundError,
    MCPError,
    MCPServerStartupError,
    MCPToolCallError,
)
from mcp_ghost.messages import ToolSchema
from mcp_ghost.results import ToolCallResult
from mcp_ghost.text import did_you_mean
from mcp_ghost.toolset import Call, Kind, Outcome, Tool
from mcp_ghost.toolsets.union import Union
from session.events import log_event
from session.game_configuration import GameConfiguration
from session.loop import running_loop
from session.tracing import observed

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

_ONLY_WHEN_NAMED = ["-m", "notes"]
"""The server that the shipped file offers beside its first one, which is nothing to warn of."""


class MCPConfig(BaseModel):
    """The configuration file; of its servers the game uses the first, or those that are named."""

    model_config = ConfigDict(frozen=True)

    mcpServers: dict[str, MCPServerConfig]  # noqa: N815 - the file's own key

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
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

    def get_server_configs(self, names: Sequence[str]) -> dict[str, MCPServerConfig]:
        """The servers of these names; without any, the first that is not disabled.

        Raises:
            MCPConfigError: One is missing, disabled, or cannot be used.
        """
        if not names:
            return dict([self.get_server_config()])
        for name in names:
            if name not in self.mcpServers:
                hint = did_you_mean(name, [*self.mcpServers])
                hint = hint or f"known servers: {', '.join(self.mcpServers) or 'none'}."
                raise MCPConfigError(f"There is no MCP server '{name}': {hint}")
            if self.mcpServers[name].disabled:
                raise MCPConfigError(
                    f"MCP server '{name}' is disabled: enable it in its file, or do not name it."
                )
        return {name: self.mcpServers[name].checked() for name in names}


class MCPManager(GameTools):
    """Connects, lists and calls for the agent; one object serves one episode.

    Servers are used in the event loop that runs. A session outlasts the turns of one loop; that of
    a loop which has ended, as ``asyncio.run`` ends its own, is gone with it.
    """

    def __init__(
        self,
        config: GameConfiguration,
        logger: logging.Logger | None = None,
        langfuse_client: Any = None,  # noqa: ANN401 - its import costs half a second
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Read the configuration where MCP is enabled; nothing is started yet.

        Each server that is started gets ``environment`` as it is then, under what its entry says.

        Raises:
            MCPError: The configuration or this installation cannot be used.
        """
        self.config = config
        self.logger = logger or logging.getLogger(__name__)
        self.langfuse_client = langfuse_client
        self._left_out: list[str] = []
        """Configured servers that were not chosen; reported with the first connection."""
        chosen: dict[str, MCPServerConfig] = {}
        if config.mcp_enabled:
            _check_installation()
            chosen = self._load_config(config.mcp_config_places)
        self.server_names = tuple(chosen)
        self.server_name = next(iter(chosen), "")
        self.server_config = chosen.get(self.server_name)
        # One for all: a server may say what another one is configured with.
        cleaner, is_only = redactor_of(chosen, config.secrets), len(chosen) == 1
        added = {} if environment is None else environment
        self._servers = {
            name: GameServer(name, server, config, self.logger, cleaner, is_only, added)
            for name, server in chosen.items()
        }
        self._union = Union([*self._servers.values()])

    @property
    def instructions(self) -> dict[str, str]:
        """What the servers say about their use, where that is to be told."""
        told = self._usable if self.config.mcp_server_instructions else []
        return {server.name: server.own_instructions for server in told}

    @property
    def is_disabled(self) -> bool:
        """Whether MCP is off in the configuration, or was given up for the rest of the episode."""
        return not self._usable

    async def connect_session(self) -> None:
        """Start the servers, initialise, and list their tools; without effect when that is done.

        The first connection to a server fails at once. Later ones are tried a second time, and
        when that fails too, that server is off. Once all are, this method does nothing.

        Raises:
            MCPServerStartupError: A first connection failed, or no server is left.
        """
        left_out, self._left_out = self._left_out, []
        if left_out:
            used, event = self.server_name, "mcp_servers_ignored"
            message = (
                f"Only the first MCP server is used: '{used}', not {', '.join(left_out)}. "
                "List those to use under 'servers' in [tool.zorkgpt.mcp]."
            )
            log_event(self.logger, logging.WARNING, message, event, server_name=used)
        servers = self._usable
        for server in servers:
            server.begin()
        try:
            found = await asyncio.gather(*(it.session() for it in servers), return_exceptions=True)
        except asyncio.CancelledError:
            await self.disconnect_session()
            raise
        for server, outcome in zip(servers, found, strict=True):
            if isinstance(outcome, BaseException) and (not server.was_listed or self.is_disabled):
                raise outcome

    async def disconnect_session(self) -> None:
        """End the sessions and the servers, also while they are being started; may be repeated.

        Where sessions last for the episode, that is left to ``close``.
        """
        if self.config.mcp_session == "turn":
            await self._end()

    async def settle(self) -> None:
        """End the sessions of a turn that no call needed, at once.

        Those of an episode have to be open, because no start goes on between turns.
        """
        is_over = self.config.mcp_session == "turn"
        await asyncio.gather(
            *(server.let_go() if is_over else server.ready() for server in self._usable)
        )

    def close(self) -> None:
        """End what is left of all sessions; may be called more than once.

        Their event loop runs for it; where it cannot, their processes are killed.
        """
        for loop in {server.loop for server in self._servers.values() if server.loop}:
            if running_loop() is None and not loop.is_running():
                loop.run_until_complete(self._end())
        for server in self._servers.values():
            server.kill()

    async def get_tool_schemas(self) -> list[ToolSchema]:
        """The tools in OpenAI's format, named "server.tool"; none when MCP is off.

        Waits for the first connection. During a later one, the tools known from before are
        returned at once. A server that said that its tools changed is asked for them.

        Raises:
            MCPError: There was no connection yet, or the first one failed.
        """
        await self._listed()
        await asyncio.gather(*(server.refresh() for server in self._usable))
        return self.schemas

    @property
    def tools(self) -> Mapping[str, Tool]:
        """All of servers that are not off."""
        tools = self._union.tools.items()
        return {name: tool for name, tool in tools if not self._servers[tool.server].failure}

    async def wait_for(self, tool_names: Iterable[str]) -> None:
        """See :class:`GameTools`."""
        known = self.tools
        asked = {known[name].server for name in tool_names if name in known}
        await asyncio.gather(*(self._servers[server].ready() for server in asked))

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any], timeout_seconds: float = 30
    ) -> ToolCallResult:
        """Call ``tool_name`` ("server.tool"), once the connection stands.

        What is wrong with the name or the arguments is a result for the model to read.

        Raises:
            asyncio.TimeoutError: No answer in time; the session stays usable.
            MCPServerDiedError: The server is gone, and there is no other.
            MCPError: There is no connection.
        """
        return await self.result(tool_name, arguments, timeout_seconds)

    async def call(self, call: Call) -> Outcome:
        """See :class:`Toolset`; what is wrong with the name is a result for the model to read."""
        # The span is of the call alone; why there is no connection is said within it.
        await self.wait_for([call.name])
        started = time.perf_counter()
        tool = self._union.tools.get(call.name)
        limit = self.config.mcp_tool_call_timeout_seconds
        details = {
            "tool_name": call.name,
            "server_name": tool.server if tool else self.server_name,
            "timeout_seconds": limit if call.timeout is None else call.timeout,
        }
        with observed(
            self.langfuse_client,
            self.logger,
            name=f"mcp-tool-{call.name}",
            as_type="tool",
            input=call.arguments,
            metadata=details,
        ) as span:
            outcome = await self._called(call)
            failed = outcome.kind is not Kind.OK
            took = round((time.perf_counter() - started) * 1000, 1)
            fields: dict[str, Any] = {"metadata": {"is_error": failed, "duration_ms": took}}
            if outcome.kind in (Kind.OK, Kind.TOOL_ERROR) and self.langfuse_client:
                fields["output"] = outcome.result.to_dict()  # of long texts, it takes a while
            if failed:
                fields |= {"level": "ERROR", "status_message": outcome.reason}
            span.update(**fields)
        return outcome

    async def _called(self, call: Call) -> Outcome:
        if not any(server.was_listed for server in self._servers.values()):
            try:
                await self._listed()  # says if there is no connection
            except MCPError as error:
                return Outcome.of_error(error)
        tool = self._union.tools.get(call.name)
        if tool is None:
            known = ", ".join(self.tools)
            return refusal(f"Unknown tool '{call.name}'. Available tools: {known}")
        server = self._servers[tool.server]
        outcome = None if server.failure else await self._union.call(call)
        if outcome is None or (outcome.kind is Kind.FAILED and server.failure):
            what = "MCP tools are" if self.is_disabled else f"The tools of '{server.name}' are"
            return refusal(f"{what} off for the rest of the episode: {server.failure}")
        if outcome.kind is Kind.DIED and any(it is not server for it in self._usable):
            reason = f"{outcome.reason}\nIts tools cannot be used in this turn; others can."
            return refusal(reason)
        return outcome

    @property
    def _usable(self) -> list[GameServer]:
        return [server for server in self._servers.values() if not server.failure]

    async def _listed(self) -> None:
        for server in self._usable:
            if not server.was_listed:
                await server.session()

    async def _end(self) -> None:
        await asyncio.gather(*(server.end() for server in self._servers.values()))

    def _load_config(self, places: Sequence[Path]) -> dict[str, MCPServerConfig]:
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
        chosen = config.get_server_configs(self.config.mcp_servers)
        if not self.config.mcp_servers:
            usable = [name for name, server in config.mcpServers.items() if not server.disabled]
            ours = [name for name in usable if config.mcpServers[name].args == _ONLY_WHEN_NAMED]
            self._left_out = [name for name in usable if name not in (*chosen, *ours)]
        for name, server in chosen.items():
            if server.warning:
                event = "mcp_config_warning"
                log_event(self.logger, logging.WARNING, server.warning, event, server_name=name)
        return chosen


def _check_installation() -> None:
    if importlib.util.find_spec("mcp") is None:
        raise MCPError("MCP is enabled but the package 'mcp' is not installed. Run: uv sync")
    version = importlib.metadata.version("mcp")
    if not (2, 3) <= tuple(map(int, re.findall(r"\d+", version)[:2])) < (3,):
        raise MCPError(
            f"MCP needs the package mcp>=2.3,<3, but {version} is installed. Run: uv sync"
        )
