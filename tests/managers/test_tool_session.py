"""A turn's tool session: what it passes on and what it logs."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import pytest

from managers.tools.session import ToolSession
from mcp_ghost.errors import MCPError
from session.game_configuration import GameConfiguration
from tests.support.fakes import THINK, FakeManager, Turn, answer, batch

if TYPE_CHECKING:
    from mcp_ghost.results import ToolCallResult


class SlowManager(FakeManager):
    """Connects in a minute and disconnects in two, by the clock that durations are taken from."""

    server_name = "box"

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.minutes = 0
        self.allowed: list[float] = []
        clock = time.perf_counter
        monkeypatch.setattr(time, "perf_counter", lambda: clock() + 60 * self.minutes)

    async def connect_session(self) -> None:
        self.minutes += 1

    async def disconnect_session(self) -> None:
        self.minutes += 2

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any], timeout_seconds: float = 30
    ) -> ToolCallResult:
        self.allowed.append(timeout_seconds)
        return await super().call_tool(tool_name, arguments, timeout_seconds)


def test_a_turns_log_tells_when_its_server_came_and_went(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = SlowManager(monkeypatch)
    turn = Turn(
        [batch(1), answer()], manager, mcp_max_tool_iterations=3, mcp_tool_call_timeout_seconds=7
    )
    turn.play()
    (session,) = turn.of_type("mcp_session_start")
    assert (session["level"], session["max_iterations"]) == (logging.INFO, 3)
    assert session["tools"] == [THINK]
    assert session["message"] == "MCP session started (max 3 iterations)"
    for what, minutes in (("started", 1), ("stopped", 2)):
        (event,) = turn.of_type(f"mcp_server_{what}")
        assert (event["level"], event["server_name"]) == (logging.DEBUG, "box")
        assert 60_000 * minutes <= event["duration_ms"] < 60_000 * (minutes + 1)
        assert event["duration_ms"] == round(event["duration_ms"], 3)
        assert event["message"].startswith(f"MCP server box {what} ({60 * minutes}")
    assert manager.allowed == [7]


async def test_without_a_manager_there_is_nothing_to_open_to_offer_or_to_call() -> None:
    session = ToolSession(None, GameConfiguration(), logging.getLogger("nothing"))
    await session.open()
    await session.settle()
    assert (session.offered, session.server_name) == ([], "")
    with pytest.raises(MCPError, match=r"^MCP is not enabled$"):
        await session.call(THINK, {})
    await session.close()
