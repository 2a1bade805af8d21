"""A turn's tools, whose servers connect while the model is already answering."""

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from dataclasses import replace
from typing import Any, Protocol

from mcp_ghost.errors import MCPError
from mcp_ghost.loop import AnswerCalls, Batch, LoopObserver, names_of
from mcp_ghost.media import Gallery
from mcp_ghost.messages import LLMResponse, Message, ToolSchema
from mcp_ghost.results import ResultBudget, ToolCallResult
from mcp_ghost.run.calls import CallPolicy, Calls
from mcp_ghost.run.prompts import of_servers
from mcp_ghost.run.search import SEARCH_ABOVE, Searching, ToolSearch
from mcp_ghost.toolset import Call, Outcome, Toolset, outcome_of
from session.events import log_event
from session.game_configuration import GameConfiguration


class StandIn(Protocol):
    """The public methods of ``MCPManager``."""

    is_disabled: bool

    def connect_session(self) -> Awaitable[None]: ...
    def disconnect_session(self) -> Awaitable[None]: ...
    def get_tool_schemas(self) -> Awaitable[list[ToolSchema]]: ...
    def call_tool(
        self, tool_name: str, arguments: dict[str, Any], timeout_seconds: float
    ) -> Awaitable[ToolCallResult]: ...


class GameTools(Toolset):
    """Tools whose servers come and go with the turns of an episode; these are none."""

    @property
    def is_disabled(self) -> bool:
        """Whether there are no tools, or they were given up for the rest of the episode."""
        return True

    async def connect_session(self) -> None:
        """Connect to the servers."""

    async def disconnect_session(self) -> None:
        """End what ``connect_session`` began."""

    async def settle(self) -> None:
        """End what a turn, now that it is decided, did not need."""

    async def get_tool_schemas(self) -> list[ToolSchema]:
        """The tools in OpenAI's format, as they are known now."""
        return []

    async def wait_for(self, tool_names: Iterable[str]) -> None:
        """Wait until the servers of these tools are connected, or known not to be."""

    def retold(self, answers: list[Message]) -> list[Message]:
        """The answers to calls as they go into the conversation."""
        return answers


class OfManager(GameTools):
    """The tools of ``manager``, which has no more than the public methods of ``MCPManager``."""

    def __init__(self, manager: StandIn, call_timeout: float) -> None:
        self._manager = manager
        self._call_timeout = call_timeout
        self._connected: asyncio.Event | None = None
        """Set once the connection stands or has failed; None before it begins."""

    @property
    def is_disabled(self) -> bool:
        return self._manager.is_disabled

    async def connect_session(self) -> None:
        self._connected = asyncio.Event()
        try:
            await self._manager.connect_session()
        finally:
            self._connected.set()

    async def disconnect_session(self) -> None:
        await self._manager.disconnect_session()

    async def get_tool_schemas(self) -> list[ToolSchema]:
        await asyncio.sleep(0)  # lets a connection that was just scheduled begin
        return await self._manager.get_tool_schemas()

    async def wait_for(self, tool_names: Iterable[str]) -> None:
        if self._connected is not None:
            await self._connected.wait()

    async def call(self, call: Call) -> Outcome:
        seconds = self._call_timeout if call.timeout is None else call.timeout
        return await outcome_of(
            self._manager.call_tool(
                tool_name=call.name, arguments=call.arguments, timeout_seconds=seconds
            )
        )


class ToolSession:
    """The tools of one turn; none without a manager or once MCP has been given up."""

    def __init__(
        self,
        manager: GameTools | StandIn | None,
        config: GameConfiguration,
        logger: logging.Logger,
        most_tools: int | None = None,
    ) -> None:
        """``most_tools`` is how many the model's provider takes; above that, they are searched."""
        if manager is not None and not isinstance(manager, GameTools):
            manager = OfManager(manager, config.mcp_tool_call_timeout_seconds)
        self._tools = manager or GameTools()
        self._config = config
        self._logger = logger
        self._search = ToolSearch(SEARCH_ABOVE, most=most_tools)
        self._connecting: asyncio.Task[None] | None = None
        self.schemas: list[ToolSchema] = []
        """As they are known: from earlier turns, and then as the servers have listed them now."""

    @property
    def are_on(self) -> bool:
        """Whether there are tools that were not given up."""
        return not self._tools.is_disabled

    @property
    def instructions(self) -> str:
        """What the agent is told of how the servers want to be used."""
        return of_servers(self._tools.instructions)

    @property
    def offered(self) -> list[ToolSchema]:
        """What can be offered now."""
        return self.known if self.are_on else []

    @property
    def known(self) -> list[ToolSchema]:
        """What a history may call: all tools, or those that were found where there are many."""
        return self._search.offered(self.schemas)

    async def open(self) -> None:
        """Begin to connect.

        The first connection of a manager is waited for; later ones run beside the model, which
        is asked with the tools as they are known from before.

        Raises:
            MCPError: The first connection failed.
        """
        if not self.are_on:
            return
        self._connecting = asyncio.create_task(self._tools.connect_session())
        # A failure is said where it happens.
        self._connecting.add_done_callback(lambda it: it.cancelled() or it.exception())
        try:
            self.schemas = await self._tools.get_tool_schemas()
        except MCPError:
            await self._connecting  # raises the reason proper
            raise
        if self.schemas:
            most = self._config.mcp_max_tool_iterations
            message = f"MCP session started (max {most} iterations)"
            fields = {"max_iterations": most, "tools": names_of(self.schemas)}
            log_event(self._logger, logging.INFO, message, "mcp_session_start", **fields)

    def answering(self, observer: LoopObserver, *, with_images: bool) -> AnswerCalls:
        """Has the calls of replies made, for the loop; ``with_images``: the model may see some.

        None is made before its server is connected or given up, so that its time does not include
        the start of the server, and the next request offers what the servers have listed.
        """
        config = self._config
        policy = CallPolicy(
            max_parallel=config.mcp_max_parallel_calls,
            budget=ResultBudget(config.mcp_max_result_tokens_per_turn),
            gallery=Gallery(is_open=with_images and config.mcp_images == "auto"),
        )
        calls = Calls(Searching(self._tools, self._search), policy, observer=observer)

        async def answer(response: LLMResponse, iteration: int) -> Batch:
            await self._tools.wait_for({it.function.name for it in response.tool_calls or ()})
            batch = await calls.answer(response, iteration)
            if self.are_on:
                self.schemas = await self._tools.get_tool_schemas()
            return replace(batch, answers=self._tools.retold(batch.answers))

        return answer

    async def settle(self) -> None:
        """End what the turn, now that it is decided, did not need."""
        await self._tools.settle()

    async def close(self) -> None:
        """End the session; nothing of it is left, whatever state it was in."""
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        await self._tools.disconnect_session()
