"""A turn's MCP session, which connects while the model is already answering."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

from mcp_ghost.errors import MCPError
from session.events import log_event

if TYPE_CHECKING:
    from managers.mcp_manager import MCPManager
    from mcp_ghost.loop import AnswerCalls, Batch
    from mcp_ghost.messages import LLMResponse, ToolSchema
    from mcp_ghost.results import ToolCallResult
    from session.game_configuration import GameConfiguration


class ToolSession:
    """The tools of one turn; none without a manager or once MCP has been given up."""

    def __init__(
        self, manager: MCPManager | None, config: GameConfiguration, logger: logging.Logger
    ) -> None:
        self._manager = manager
        # A stand-in for the manager needs no more than its calls and is_disabled.
        self.server_name: str = getattr(manager, "server_name", "")
        self._config = config
        self._logger = logger
        self._connecting: asyncio.Task[None] | None = None
        self._is_up = False
        self._are_fresh = False
        self.schemas: list[ToolSchema] = []
        """As they are known: from earlier turns, and then as the server has listed them now."""

    @property
    def are_on(self) -> bool:
        """Whether there is a manager that has not given up."""
        return self._manager is not None and not self._manager.is_disabled

    @property
    def offered(self) -> list[ToolSchema]:
        """What can be offered now."""
        return self.schemas if self.are_on else []

    async def open(self) -> None:
        """Begin to connect.

        The first connection of a manager is waited for; later ones run beside the model, which
        is asked with the tools as they are known from before.

        Raises:
            MCPError: The first connection failed.
        """
        if self._manager is None or self._manager.is_disabled:
            return
        self._connecting = asyncio.create_task(self._connect(self._manager))
        await asyncio.sleep(0)  # lets the connection begin
        try:
            await self._list(self._manager)
        except MCPError:
            await self.settle()  # raises the reason proper
            raise
        if self.schemas:
            limit = self._config.mcp_max_tool_iterations
            log_event(
                self._logger,
                logging.INFO,
                f"MCP session started (max {limit} iterations)",
                "mcp_session_start",
                max_iterations=limit,
                tools=[schema["function"]["name"] for schema in self.schemas],
            )

    def once_connected(self, answer_calls: AnswerCalls) -> AnswerCalls:
        """The same, but not before the connection stands or is given up.

        So a call's time does not include the server's start, and the next request offers what the
        server has listed.
        """

        async def answer(response: LLMResponse, iteration: int) -> Batch:
            if self._connecting is not None:
                await asyncio.wait([self._connecting])
            if self._manager is not None and self._is_up and not self._are_fresh:
                await self._list(self._manager)
            return await answer_calls(response, iteration)

        return answer

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolCallResult:
        """Call one tool."""
        if self._manager is None:
            raise MCPError("MCP is not enabled")
        return await self._manager.call_tool(
            tool_name=name,
            arguments=arguments,
            timeout_seconds=self._config.mcp_tool_call_timeout_seconds,
        )

    async def settle(self) -> None:
        """Wait until the connection stands or is given up.

        Raises:
            MCPError: It failed, and the episode must not go on without tools.
        """
        connecting, self._connecting = self._connecting, None
        if connecting is None or self._manager is None:
            return
        try:
            await connecting
        except MCPError:
            if not self._manager.is_disabled:
                raise
            log_event(
                self._logger,
                logging.WARNING,
                "Continuing without MCP tools",
                "mcp_disabled_fallback",
            )

    async def close(self) -> None:
        """End the session; nothing of it is left, whatever state it was in."""
        if self._manager is None:
            return
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        started = time.perf_counter()
        await self._manager.disconnect_session()
        if self._is_up:
            self._log_server("stopped", started)

    async def _list(self, manager: MCPManager) -> None:
        self._are_fresh = self._is_up
        self.schemas = await manager.get_tool_schemas()

    async def _connect(self, manager: MCPManager) -> None:
        started = time.perf_counter()
        await manager.connect_session()
        self._is_up = True
        self._log_server("started", started)

    def _log_server(self, what: str, since: float) -> None:
        seconds = time.perf_counter() - since
        log_event(
            self._logger,
            logging.DEBUG,
            f"MCP server {self.server_name} {what} ({seconds:.2f}s)",
            f"mcp_server_{what}",
            server_name=self.server_name,
            duration_ms=round(seconds * 1000, 3),
        )
