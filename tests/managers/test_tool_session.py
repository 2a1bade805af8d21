"""A turn's tool session: what it passes on, what it offers and what it logs."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

from managers.tools.session import ToolSession
from mcp_ghost.errors import MCPError
from mcp_ghost.loop import LoopObserver
from session.game_configuration import GameConfiguration
from tests.support.fakes import THINK, FakeManager, Turn, answer, batch, schema

if TYPE_CHECKING:
    from managers.mcp_manager import MCPManager
    from mcp_ghost.messages import LLMResponse, Message, ToolSchema
    from mcp_ghost.results import ToolCallResult


class StrictManager(FakeManager):
    """Notes how long each call may take."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed: list[float] = []

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any], timeout_seconds: float = 30
    ) -> ToolCallResult:
        self.allowed.append(timeout_seconds)
        return await super().call_tool(tool_name, arguments, timeout_seconds)


class LaterManager(FakeManager):
    """One that was connected before: it knows a tool, and finds another while it connects."""

    session: ToolSession

    def __init__(self) -> None:
        super().__init__(tools=["known"])
        self.offered: list[list[ToolSchema]] = []
        """What the session offered at each call."""

    async def connect_session(self) -> None:
        self.log.append("connecting")
        for _ in range(5):
            await asyncio.sleep(0)
        self.log.append("connected")
        self._schemas = [schema("new")]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any], timeout_seconds: float = 30
    ) -> ToolCallResult:
        self.offered.append(self.session.offered)
        return await super().call_tool(tool_name, arguments, timeout_seconds)


class LostManager(FakeManager):
    """One that gives MCP up while it connects."""

    async def connect_session(self) -> None:
        await asyncio.sleep(0)
        self.is_disabled = True
        raise MCPError("the server is gone")

    async def get_tool_schemas(self) -> list[ToolSchema]:
        return [] if self.is_disabled else await super().get_tool_schemas()


class StuckManager(FakeManager):
    """One whose server never answers."""

    async def connect_session(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.log.append("interrupted")


async def answers(session: ToolSession, reply: LLMResponse) -> list[Message]:
    batch = await session.answering(LoopObserver(), with_images=False)(reply, 1)
    return batch.answers


def session_of(manager: FakeManager) -> ToolSession:
    return ToolSession(
        cast("MCPManager", manager), GameConfiguration(), logging.getLogger("nothing")
    )


def test_a_turns_log_tells_what_it_offers_and_its_calls_have_the_configured_time() -> None:
    manager = StrictManager()
    turn = Turn(
        [batch(1), answer()], manager, mcp_max_tool_iterations=3, mcp_tool_call_timeout_seconds=7
    )
    turn.play()
    (session,) = turn.of_type("mcp_session_start")
    assert (session["level"], session["max_iterations"]) == (logging.INFO, 3)
    assert session["tools"] == [THINK]
    assert session["message"] == "MCP session started (max 3 iterations)"
    assert manager.called == [(THINK, {"position": 0})]
    assert manager.allowed == [7]


async def test_a_later_session_offers_what_is_known_until_its_server_has_listed_anew() -> None:
    manager = LaterManager()
    session = session_of(manager)
    assert session.offered == []
    await session.open()
    assert session.offered == [schema("known")]
    manager.session = session
    await answers(session, batch(1))
    assert manager.offered == [[schema("known")]]
    assert session.offered == [schema("new")]
    await session.close()
    assert manager.log == ["connecting", "connected", "call", "done", "disconnect"]


def test_a_turn_in_which_mcp_is_given_up_goes_on() -> None:
    turn = Turn([answer()], LostManager())
    assert turn.play()["action"] == "open door"


async def test_the_tools_of_a_conversation_stay_known_when_mcp_is_given_up() -> None:
    session = session_of(LostManager(tools=["known"]))
    await session.open()
    await answers(session, batch(1))
    assert (session.offered, session.schemas) == ([], [schema("known")])
    await session.close()


async def test_closing_while_the_server_starts_ends_the_wait_for_it() -> None:
    manager = StuckManager()
    session = session_of(manager)
    await session.open()
    await session.close()
    assert manager.log == ["interrupted", "disconnect"]


async def test_once_mcp_is_off_a_session_neither_connects_nor_offers() -> None:
    manager = LostManager()
    manager.is_disabled = True
    session = session_of(manager)
    await session.open()
    assert session.offered == []
    await session.close()
    assert manager.log == ["disconnect"]


async def test_without_a_manager_there_is_nothing_to_open_to_offer_or_to_call() -> None:
    session = ToolSession(None, GameConfiguration(), logging.getLogger("nothing"))
    await session.open()
    assert session.offered == []
    (told,) = await answers(session, batch(1))
    assert f"Unknown tool '{THINK}'." in told["content"]
    await session.close()
