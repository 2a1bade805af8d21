"""Servers that are objects of this program."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import types
from mcp.server import MCPServer, Server
from mcp.server.mcpserver import Context

from mcp_ghost import Ghost
from mcp_ghost.errors import MCPConfigError
from mcp_ghost.golden import compare_golden, record_golden, replay_golden
from mcp_ghost.testing import ModelServer, Reply, tool_reply
from tests.support.ghosts import PROVIDERS, Notes, play, tools

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

ADD = tool_reply([("sums.add", {"a": 2, "b": 3})])


@pytest.fixture
def sums() -> MCPServer:
    server = MCPServer("sums")

    @server.tool()
    def add(a: int, b: int) -> int:
        """The sum."""
        return a + b

    @server.tool()
    async def slow(ctx: Context[Any]) -> str:
        """Waits, and tells of it."""
        await ctx.report_progress(1, 2, "half")
        await asyncio.sleep(60)
        return "done"

    @server.tool()
    def fail() -> str:
        """Fails."""
        raise LookupError("no such number")

    return server


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_of_this_program_is_called_like_any_other(
    sums: MCPServer, provider: WireName
) -> None:
    for config in (sums, {"mcpServers": {"sums": sums}}):
        result, _ = play([ADD, "Five."], config, provider)
        assert result["tool_chain"][0]["result"] == {"result": 5}
        assert result["final_result"] == "Five."


@pytest.mark.mcp
def test_it_stands_beside_processes(sums: MCPServer, tmp_path: Path) -> None:
    both = tool_reply([("sums.add", {"a": 1, "b": 1}), ("notes.count", {})])
    config = {"mcpServers": {"sums": sums, "notes": Notes(tmp_path).config}}
    result, _ = play([both, "Done."], config)
    assert tools(result) == ["sums.add", "notes.count"]
    assert all(entry["success"] for entry in result["tool_chain"])


def test_its_errors_and_timeouts_are_those_of_any_server(sums: MCPServer) -> None:
    events: list[dict[str, Any]] = []
    script: list[Reply | str] = [
        tool_reply([("sums.fail", {})]),
        tool_reply([("sums.slow", {})]),
        ADD,
        "Five.",
    ]
    result, _ = play(script, sums, timeout=2, on_event=events.append)
    failed, slow, added = result["tool_chain"]
    assert "fail" in failed["error"]
    assert "did not answer 'slow' within 2 s" in slow["error"]
    assert added["success"]
    assert [it["message"] for it in events if it["type"] == "tool_progress"] == ["half"]


async def test_it_lives_from_request_to_request_and_may_be_used_again(sums: MCPServer) -> None:
    script: list[Reply | str] = [ADD, "One.", ADD, "Two.", ADD, "Three.", "Four."]
    with ModelServer(script, namespace="mcp_ghost") as model:
        answers: list[Any] = []
        for _ in range(2):
            at: Any = {"provider": "openai", "base_url": model.base_url}
            async with Ghost(server_config=sums, **at) as ghost:
                answers += [(await ghost.run("Go."))["final_result"] for _ in range(2)]
        assert answers == ["One.", "Two.", "Three.", "Four."]


def test_a_golden_of_it_is_replayed_with_the_object(sums: MCPServer, tmp_path: Path) -> None:
    golden = tmp_path / "sums.json"
    with ModelServer([ADD, "Five."], namespace="mcp_ghost") as model:
        at: Any = {"provider": "openai", "base_url": model.base_url, "user_prompt": "Go."}
        asyncio.run(record_golden(golden, server_config=sums, system_prompt="", **at))
    replayed = asyncio.run(replay_golden(golden, server_config=sums))
    assert compare_golden(replayed, golden) == []


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(ValueError, match="or an MCPServer"):
        play([], 3)
    with pytest.raises(MCPConfigError):
        play([], {"mcpServers": {"sums": 3}})


def test_structured_content_need_not_be_an_object() -> None:
    async def listed(*_: object) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name="rooms", input_schema={"type": "object"})]
        )

    async def rooms(*_: object) -> types.CallToolResult:
        return types.CallToolResult(content=[], structured_content=["Attic", "Cellar"])

    server = Server("house", on_list_tools=listed, on_call_tool=rooms)
    result, model = play([tool_reply([("house.rooms", {})]), "Two."], server)
    assert result["tool_chain"][0]["result"] == ["Attic", "Cellar"]
    assert "Cellar" in model.requests[1].last["content"]
