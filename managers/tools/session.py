"""A turn's tools, whose servers connect while the model is already answering."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp_ghost.errors import MCPError
from mcp_ghost.media import Gallery
from mcp_ghost.results import ResultBudget
from mcp_ghost.run.calls import CallPolicy, Calls
from mcp_ghost.toolset import Tool, Toolset, outcome_of
from session.events import log_event

if TYPE_CHECKING:
    from managers.mcp_manager import MCPManager
    from mcp_ghost.loop import AnswerCalls, Batch, LoopObserver
    from mcp_ghost.messages import LLMResponse, ToolSchema
    from mcp_ghost.results import ToolCallResult
    from mcp_ghost.toolset import Call, Outcome
    from session.game_configuration import GameConfiguration


class ToolSession:
    """The tools of one turn; none without a manager or once MCP has been given up."""

    def __init__(
        self, manager: MCPManager | None, config: GameConfiguration, logger: logging.Logger
    ) -> None:
        self._manager = manager
        self._config = config
        self._logger = logger
        self._connecting: asyncio.Task[None] | None = None
        self.schemas: list[ToolSchema] = []
        """As they are known: from earlier turns, and then as the servers have listed them now."""

    @property
    def server_names(self) -> tuple[str, ...]:
        """The servers; none with a stand-in, which needs no more than calls and is_disabled."""
        return getattr(self._manager, "server_names", ())

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
        if self._manager is None or not self.are_on:
            return
        if begin := _own(self._manager, "begin"):
            begin()
        self._connecting = asyncio.create_task(self._manager.connect_session())
        # A failure is said where it happens.
        self._connecting.add_done_callback(lambda it: it.cancelled() or it.exception())
        if not begin:
            await asyncio.sleep(0)  # lets the connection begin
        try:
            self.schemas = await self._manager.get_tool_schemas()
        except MCPError:
            await self._connecting  # raises the reason proper
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

    def answering(self, observer: LoopObserver, *, with_images: bool) -> AnswerCalls:
        """Has the calls of replies made, for the loop; ``with_images``: the model may see some."""
        config = self._config
        gallery = Gallery(is_open=with_images and config.mcp_images == "auto")
        policy = CallPolicy(
            max_parallel=config.mcp_max_parallel_calls,
            budget=ResultBudget(config.mcp_max_result_tokens_per_turn),
            gallery=gallery,
        )
        return self.once_connected(Calls(_Called(self), policy, observer=observer).answer)

    def once_connected(self, answer_calls: AnswerCalls) -> AnswerCalls:
        """The same, but not before the servers that are called are connected or given up.

        So a call's time does not include the start of its server, and the next request offers
        what the servers have listed.
        """

        async def answer(response: LLMResponse, iteration: int) -> Batch:
            await self._wait_for({call.function.name for call in response.tool_calls or ()})
            batch = await answer_calls(response, iteration)
            if retold := _own(self._manager, "retold"):
                batch = replace(batch, answers=retold(batch.answers))
            if self._manager is not None and self.are_on:
                self.schemas = await self._manager.get_tool_schemas()
            return batch

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
        """End what the turn, now that it is decided, did not need."""
        if settle := _own(self._manager, "settle"):
            await settle()

    async def close(self) -> None:
        """End the session; nothing of it is left, whatever state it was in."""
        if self._manager is None:
            return
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        await self._manager.disconnect_session()

    def is_read_only(self, name: str) -> bool:
        """Whether the server of a tool says that it changes nothing."""
        known = _own(self._manager, "is_read_only")
        return bool(known and known(name))

    async def _wait_for(self, tool_names: set[str]) -> None:
        if wait_for := _own(self._manager, "wait_for"):
            await wait_for(tool_names)
        elif self._connecting is not None:
            await asyncio.wait([self._connecting])


class _Called(Toolset):
    """The tools of a session, which raises where a call fails."""

    def __init__(self, session: ToolSession) -> None:
        self._session = session

    @property
    def tools(self) -> Mapping[str, Tool]:
        """As they are known now."""
        named = {schema["function"]["name"]: schema for schema in self._session.schemas}
        read_only = {name: self._session.is_read_only(name) for name in named}
        return {
            name: Tool(name, it, {"readOnlyHint": read_only[name]}) for name, it in named.items()
        }

    async def call(self, call: Call) -> Outcome:
        """See :class:`Toolset`."""
        return await outcome_of(self._session.call(call.name, call.arguments))


def _own(manager: MCPManager | None, name: str) -> Any:  # noqa: ANN401 - a method
    """A method that a manager has beyond those which a stand-in needs."""
    return getattr(manager, name) if hasattr(type(manager), name) else None
