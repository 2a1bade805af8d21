"""The game's connection to its MCP server, with real servers throughout."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from managers.mcp_manager import (
    MCPError,
    MCPManager,
    MCPServerConfig,
    MCPServerStartupError,
    MCPToolCallError,
    ToolCallResult,
)
from mcp_ghost.errors import MCPServerDiedError
from session.game_configuration import GameConfiguration
from tests.support import ROOT
from tests.support.servers import eventually, faulty, is_running, pids, seen, versions, write_config

if TYPE_CHECKING:
    from langfuse import Langfuse

    from tests.support.fakes import RecordingLangfuse

pytestmark = pytest.mark.mcp

LOGGER = logging.getLogger("test.mcp")
THOUGHT = {"thought": "why", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False}


def manager_for(
    tmp_path: Path,
    mode: str = "ok",
    *,
    failing_starts: str = "",
    langfuse: Langfuse | RecordingLangfuse | None = None,
) -> MCPManager:
    """A manager whose server, "demo", notes what it sees in ``tmp_path / "log"``."""
    server = faulty(
        mode,
        SERVER_LOG=str(tmp_path / "log"),
        START_COUNTER=str(tmp_path / "starts"),
        FAILING_STARTS=failing_starts,
    )
    config = GameConfiguration(
        mcp_enabled=True,
        mcp_config_file=str(write_config(tmp_path / "mcp.json", demo=server)),
    )
    return MCPManager(config=config, logger=LOGGER, langfuse_client=langfuse)


async def turn(manager: MCPManager, tool: str = "demo.echo", **arguments: object) -> ToolCallResult:
    await manager.connect_session()
    try:
        return await manager.call_tool(tool, arguments, timeout_seconds=10)
    finally:
        await manager.disconnect_session()


def messages_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().splitlines()[0] for record in caplog.records]


def events_in(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str | None]]:
    """(type, server, first line of the error) of each event."""
    return [
        (
            it["event_type"],
            it["server_name"],
            it["error"].splitlines()[0] if "error" in it else None,
        )
        for it in map(vars, caplog.records)
    ]


# --- a turn -----------------------------------------------------------------------------------


def test_the_shipped_configuration_names_the_bundled_server_and_it_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    manager = MCPManager(config=GameConfiguration(mcp_enabled=True), logger=LOGGER)
    assert manager.server_name == "thoughtbox"
    assert manager.server_config == MCPServerConfig(command="python", args=["-m", "thoughtbox"])
    result = asyncio.run(turn(manager, "thoughtbox.think", **THOUGHT))
    assert result.content["thoughtHistoryLength"] == 1


def test_every_turn_has_a_server_of_its_own_that_ends_with_it(tmp_path: Path) -> None:
    manager = manager_for(tmp_path)
    for number in range(3):
        assert asyncio.run(turn(manager, text=str(number))).content == str(number)
        started = pids(tmp_path / "log")
        assert len(started) == number + 1
        assert not is_running(started[-1])
    events = [e.get("method", e["event"]) for e in seen(tmp_path / "log")]
    once = ["initialize", "notifications/initialized", "tools/list", "tools/call", "end of input"]
    assert events == ["start", "server/discover", *once, *["start", *once] * 2]


def test_a_server_that_knows_the_newest_revision_alone_has_its_turns_too(tmp_path: Path) -> None:
    server = versions("2026-07-28", SERVER_LOG=str(tmp_path / "log"))
    path = write_config(tmp_path / "mcp.json", demo=server)
    config = GameConfiguration(mcp_enabled=True, mcp_config_file=str(path))
    manager = MCPManager(config=config, logger=LOGGER)
    for _ in range(2):
        assert asyncio.run(turn(manager, text="on")).content == {"text": "on"}
    asked = [entry["method"] for entry in seen(tmp_path / "log") if entry.get("method")]
    assert asked.count("server/discover") == 1
    assert "initialize" not in asked


def test_tools_are_listed_in_openai_format_under_the_name_of_their_server(tmp_path: Path) -> None:
    manager = manager_for(tmp_path, "badtools")

    async def listed() -> list[dict[str, Any]]:
        await manager.connect_session()
        try:
            return await manager.get_tool_schemas()
        finally:
            await manager.disconnect_session()

    schemas = asyncio.run(listed())
    assert {schema["type"] for schema in schemas} == {"function"}
    assert schemas[-1]["function"] == {
        "name": "demo.echo",
        "description": "echo it",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    }
    names = [schema["function"]["name"] for schema in schemas]
    assert names == ["demo.noschema", "demo.badschema", "demo.emptyschema", "demo.echo"]


def test_the_first_schemas_are_waited_for_and_later_ones_are_there_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Which is why the first start is shown to whoever watches, and the others are not."""
    caplog.set_level(logging.DEBUG, LOGGER.name)
    manager = manager_for(tmp_path)

    async def beside_the_model() -> tuple[int, int]:
        connecting = asyncio.create_task(manager.connect_session())
        schemas = await manager.get_tool_schemas()
        known_at = len(pids(tmp_path / "log"))
        assert (await manager.call_tool("demo.echo", {"text": "x"})).content == "x"
        await connecting
        await manager.disconnect_session()
        return len(schemas), known_at

    first, after_first = asyncio.run(beside_the_model())
    told = [getattr(record, "progress", None) for record in caplog.records]
    label = "Starting MCP server 'demo'"
    assert [it for it in told if it] == [(label, None), (label, 1.0)]
    caplog.clear()
    second, before_second = asyncio.run(beside_the_model())
    assert not any(hasattr(record, "progress") for record in caplog.records)
    assert first == second > 10
    assert after_first == before_second == 1  # the second answer came before its server started


@pytest.mark.parametrize("rounds", [0, 2])
async def test_a_call_waits_for_a_connection_that_was_only_scheduled(
    tmp_path: Path, rounds: int
) -> None:
    """However far it has come, and also right after a session that was let go."""
    manager = manager_for(tmp_path)

    async def hurried() -> str:
        connecting = asyncio.create_task(manager.connect_session())
        for _ in range(rounds):
            await asyncio.sleep(0)
        result = await manager.call_tool("demo.echo", {"text": "x"})
        await connecting
        return str(result.content)

    for _ in (1, 2):
        assert await hurried() == "x"
        await manager.disconnect_session()
    assert not any(map(is_running, pids(tmp_path / "log")))


def test_without_a_connection_schemas_and_calls_are_errors(tmp_path: Path) -> None:
    manager = manager_for(tmp_path)
    message = r"^There is no connection to MCP server 'demo': await connect_session\(\) first\.$"
    with pytest.raises(MCPError, match=message):
        asyncio.run(manager.get_tool_schemas())
    with pytest.raises(MCPToolCallError, match=message):
        asyncio.run(manager.call_tool("demo.echo", {}))


@pytest.mark.parametrize("name", ["echo", "demo.nothing", "other.echo", "demo.", ".echo", ""])
def test_a_name_that_is_not_a_tool_is_a_result_that_lists_the_tools(
    name: str, tmp_path: Path
) -> None:
    result = asyncio.run(turn(manager_for(tmp_path), name))
    assert result.is_error
    assert f"Unknown tool '{name}'. Available tools: demo.echo, demo." in str(result.error_message)


def test_a_key_that_a_server_repeats_is_masked(tmp_path: Path) -> None:
    key, token = "the-key-of-the-model", "the-token-of-the-server"
    server = faulty("ok", SERVER_LOG=str(tmp_path / "log"), API_TOKEN=token)
    config = GameConfiguration(
        client_api_key=key,
        mcp_enabled=True,
        mcp_config_file=str(write_config(tmp_path / "mcp.json", demo=server)),
    )
    result = asyncio.run(turn(MCPManager(config=config, logger=LOGGER), text=f"{key} {token}"))
    assert result.content == "*** ***"


async def test_a_call_that_takes_too_long_raises_and_the_turn_goes_on(tmp_path: Path) -> None:
    manager = manager_for(tmp_path)
    await manager.connect_session()
    with pytest.raises(asyncio.TimeoutError):
        await manager.call_tool("demo.hang", {}, timeout_seconds=0.1)
    result = await manager.call_tool("demo.echo", {"text": "on"})
    await manager.disconnect_session()
    assert result.content == "on"


def test_a_server_that_dies_is_an_error_of_that_turn_only(tmp_path: Path) -> None:
    manager = manager_for(tmp_path)
    with pytest.raises(MCPServerDiedError, match="status 7"):
        asyncio.run(turn(manager, "demo.die"))
    assert not manager.is_disabled
    assert asyncio.run(turn(manager, text="again")).content == "again"


def test_a_missing_package_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    message = "^MCP is enabled but the package 'mcp' is not installed. Run: uv sync$"
    with pytest.raises(MCPError, match=message):
        manager_for(tmp_path)


@pytest.mark.parametrize("version", ["1.22.0", "2.0", "2.2.9", "3.0", "3.0.0rc1"])
def test_an_mcp_package_that_is_too_old_or_too_new_is_named(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", {"mcp": version}.__getitem__)
    needs = re.escape(f"MCP needs the package mcp>=2.3,<3, but {version} is installed.")
    with pytest.raises(MCPError, match=rf"^{needs} Run: uv sync$"):
        manager_for(tmp_path)


@pytest.mark.parametrize("version", ["2.3", "2.3.0rc1", "2.10.1"])
def test_an_mcp_package_that_will_do_is_taken(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", {"mcp": version}.__getitem__)
    assert manager_for(tmp_path).server_name == "demo"


# --- retry and giving up ----------------------------------------------------------------------


async def test_the_first_connection_fails_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manager = manager_for(tmp_path, failing_starts="1")
    connecting = asyncio.create_task(manager.connect_session())
    with pytest.raises(MCPServerStartupError, match="start 1 fails as told"):
        await manager.get_tool_schemas()
    with pytest.raises(MCPServerStartupError, match="Failed to start MCP server 'demo'"):
        await connecting
    await manager.disconnect_session()
    assert len(pids(tmp_path / "log")) == 1
    assert not manager.is_disabled
    assert messages_in(caplog) == []


async def test_what_an_entry_configures_counts_more_than_what_this_program_adds(
    tmp_path: Path,
) -> None:
    path = write_config(tmp_path / "mcp.json", demo=faulty(NOTES_FILE="theirs"))
    config = GameConfiguration(mcp_enabled=True, mcp_config_file=str(path))
    added = {"NOTES_FILE": "ours", "NOTES_STORY_FILE": "ours"}
    seen_there = (
        await turn(MCPManager(config, LOGGER, environment=added), "demo.environment")
    ).content
    assert isinstance(seen_there, dict)
    assert [seen_there[name] for name in added] == ["theirs", "ours"]


def test_a_later_failure_is_retried_once_and_a_success_is_forgotten(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    manager = manager_for(tmp_path, failing_starts="2,4")
    for number in range(3):
        assert asyncio.run(turn(manager, text=str(number))).content == str(number)
    assert len(pids(tmp_path / "log")) == 5
    assert not manager.is_disabled
    first_line = "Failed to start MCP server 'demo': it exited with status 1 before it was ready"
    told = [f"MCP session connect failed, retrying: {first_line}", "MCP session retry successful"]
    assert messages_in(caplog) == told * 2
    assert [it.levelname for it in caplog.records] == ["WARNING", "INFO"] * 2
    retry = ("mcp_connect_retry", "demo", first_line)
    assert events_in(caplog) == [retry, ("mcp_connect_retry_successful", "demo", None)] * 2
    assert "error" not in vars(caplog.records[1])


def test_a_failed_retry_turns_mcp_off_for_good(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manager = manager_for(tmp_path, failing_starts="2,3")
    asyncio.run(turn(manager, text="1"))

    async def failing() -> ToolCallResult:
        connecting = asyncio.create_task(manager.connect_session())
        assert await manager.get_tool_schemas()  # the model was asked with what was known
        result = await manager.call_tool("demo.echo", {"text": "2"})
        with pytest.raises(MCPServerStartupError):
            await connecting
        await manager.disconnect_session()
        return result

    result = asyncio.run(failing())
    assert result.is_error
    said = "MCP tools are off for the rest of the episode: Failed to start MCP server 'demo'"
    assert str(result.error_message).startswith(said)
    assert manager.is_disabled
    *_, given_up, fallback = messages_in(caplog)
    assert given_up.startswith("MCP retry failed, disabling MCP for episode: Failed")
    first_line = "Failed to start MCP server 'demo': it exited with status 1 before it was ready"
    assert fallback == f"Continuing without MCP tools: {first_line}"
    assert events_in(caplog)[-2] == ("mcp_disabled", "demo", first_line)
    assert "start 3 fails" in vars(caplog.records[-2])["error"]

    async def afterwards() -> list[dict[str, Any]]:
        await manager.connect_session()
        assert (await manager.call_tool("demo.echo", {})).is_error
        return await manager.get_tool_schemas()

    assert asyncio.run(afterwards()) == []
    assert len(pids(tmp_path / "log")) == 3


# --- cancelling and forgetting ----------------------------------------------------------------


async def test_disconnecting_while_connecting_ends_the_server(tmp_path: Path) -> None:
    manager = manager_for(tmp_path, "mute")
    connecting = asyncio.create_task(manager.connect_session())
    await asyncio.to_thread(eventually, lambda: bool(pids(tmp_path / "log")))
    await manager.disconnect_session()
    with pytest.raises(MCPServerStartupError, match="closed while it was being opened"):
        await connecting
    await manager.disconnect_session()
    assert not is_running(pids(tmp_path / "log")[0])


async def test_a_cancelled_connect_ends_the_server(tmp_path: Path) -> None:
    manager = manager_for(tmp_path, "mute")
    connecting = asyncio.create_task(manager.connect_session())
    await asyncio.to_thread(eventually, lambda: bool(pids(tmp_path / "log")))
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    assert not is_running(pids(tmp_path / "log")[0])


def test_a_turn_that_forgot_to_disconnect_does_not_disturb_the_next(tmp_path: Path) -> None:
    manager = manager_for(tmp_path)
    asyncio.run(manager.connect_session())
    assert asyncio.run(turn(manager, text="next")).content == "next"
    assert not any(map(is_running, pids(tmp_path / "log")))
    asyncio.run(manager.connect_session())
    manager.close()
    assert len(pids(tmp_path / "log")) == 3
    assert not any(map(is_running, pids(tmp_path / "log")))


async def test_connecting_twice_in_a_turn_is_one_connection(tmp_path: Path) -> None:
    manager = manager_for(tmp_path)
    await asyncio.gather(manager.connect_session(), manager.connect_session())
    await manager.connect_session()
    await manager.disconnect_session()
    assert len(pids(tmp_path / "log")) == 1
