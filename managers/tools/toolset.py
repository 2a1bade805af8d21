"""What the agent needs of its tools, also where a stand-in takes the place of their manager."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any, Protocol

from mcp_ghost.messages import Message, ToolSchema
from mcp_ghost.results import ToolCallResult
from mcp_ghost.toolset import Call, Outcome, Toolset, outcome_of


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

    def begin(self) -> None:
        """Begin to connect in the running event loop; ``connect_session`` waits for that."""

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
