"""The configuration that the game's MCP manager accepts, and what it says about others."""

import logging
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managers.mcp_manager import (
    MCPConfig,
    MCPError,
    MCPManager,
    MCPServerConfig,
    MCPServerStartupError,
)
from mcp_ghost.errors import MCPConfigError
from mcp_ghost.messages import ToolSchema
from session.game_configuration import GameConfiguration
from tests.support import PATIENCE
from tests.support.servers import faulty, write_config

pytestmark = pytest.mark.mcp

LOGGER = logging.getLogger("test.mcp")


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().splitlines()[0] for record in caplog.records]


def enabled(path: Path) -> GameConfiguration:
    return GameConfiguration(mcp_enabled=True, mcp_config_file=str(path))


def test_a_missing_file_says_how_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    with pytest.raises(MCPError) as error:
        MCPManager(config=enabled(path), logger=LOGGER)
    assert str(error.value) == (
        f"MCP is enabled but config file not found: {path}\n"
        "Please either:\n"
        "  1. Create mcp_config.json in project root, or\n"
        "  2. Set mcp.enabled = false in pyproject.toml"
    )


def test_a_relative_file_is_looked_for_here_and_beside_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    monkeypatch.chdir(here)
    (there / "settings.toml").write_text("[tool.zorkgpt.mcp]\nenabled = true\n")

    def used() -> str:
        config = GameConfiguration.from_toml("../there/settings.toml").model_copy()
        return MCPManager(config=config, logger=LOGGER).server_name

    with pytest.raises(MCPError) as error:
        used()
    places = f"{here / 'mcp_config.json'}, {here / '../there/mcp_config.json'}"
    assert str(error.value).endswith(f"\nLooked for: {places}")
    write_config(there / "mcp_config.json", beside=faulty())
    assert used() == "beside"
    write_config(here / "mcp_config.json", here=faulty())
    assert used() == "here"


@given(st.text(st.characters(codec="utf-8")))
def test_a_file_of_any_text_is_a_configuration_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(MCPError, match=r"any\.json"):
        MCPManager(config=enabled(path), logger=LOGGER)


@pytest.mark.parametrize("text", [None, "not JSON at all"])
async def test_without_mcp_no_file_is_read_and_nothing_is_started(
    tmp_path: Path, text: str | None
) -> None:
    path = tmp_path / "mcp.json"
    if text:
        path.write_text(text)
    config = GameConfiguration(mcp_enabled=False, mcp_config_file=str(path))
    manager = MCPManager(config=config, logger=LOGGER)

    async def tools() -> list[ToolSchema]:
        await manager.connect_session()
        return await manager.get_tool_schemas()

    assert await tools() == []
    assert manager.is_disabled
    assert (manager.server_name, manager.server_config) == ("", None)


async def test_only_the_first_enabled_server_is_used_and_the_others_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    servers = {
        "off": MCPServerConfig(command="a", disabled=True),
        "first": MCPServerConfig(command="no-such-program"),
        "second": MCPServerConfig(command="c"),
    }
    path = write_config(tmp_path / "mcp.json", **servers)
    manager = MCPManager(config=enabled(path), logger=LOGGER)
    assert (manager.server_name, manager.server_config) == ("first", servers["first"])
    for _ in range(2):
        with pytest.raises(MCPServerStartupError):
            await manager.connect_session()
    manager.close()
    told = [it for it in caplog.records if vars(it).get("event_type") == "mcp_servers_ignored"]
    (said,) = (record.getMessage() for record in told)
    assert said.startswith("Only the first MCP server is used: 'first', not second. List those")
    assert MCPConfig.from_file(str(path)).get_server_config() == ("first", servers["first"])


def test_a_manager_without_a_logger_tells_that_of_its_module(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"a": {"command": "x", "colour": 1}}}')
    MCPManager(config=enabled(path))
    assert [it.name for it in caplog.records if "event_type" in vars(it)] == [
        "managers.mcp_manager"
    ]


def test_an_unknown_key_of_the_used_server_is_told_with_the_episode(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(
        '{"mcpServers": {"a": {"command": "x", "colour": 1}, "b": {"command": "x", "size": 1}}}'
    )
    for _ in range(2):  # each episode has its own log
        MCPManager(config=enabled(path), logger=LOGGER)
    told = [it for it in caplog.records if it.__dict__.get("event_type") == "mcp_config_warning"]
    assert len(told) == 2
    assert all("server 'a': unknown key 'colour'" in it.getMessage() for it in told)
    assert {vars(it)["server_name"] for it in told} == {"a"}
    assert "size" not in caplog.text


def test_a_configuration_without_a_usable_server_is_an_error() -> None:
    none = "No MCP servers configured in mcp_config.json"
    with pytest.raises(ValueError, match=f"^{none}$") as error:
        MCPConfig(mcpServers={}).get_server_config()
    assert isinstance(error.value, MCPConfigError)
    off = MCPServerConfig(command="a", disabled=True)
    with pytest.raises(MCPError, match=rf"^{none} \(disabled: x, y\)$"):
        MCPConfig(mcpServers={"x": off, "y": off}).get_server_config()


def test_a_missing_mcp_package_is_named(tmp_path: Path) -> None:
    path = write_config(tmp_path / "mcp.json", demo=faulty())
    code = f"""
        import sys
        sys.modules["mcp"] = None  # what an import of a missing package finds
        from managers.mcp_manager import MCPManager
        from session.game_configuration import GameConfiguration
        MCPManager(GameConfiguration(mcp_enabled=True, mcp_config_file={str(path)!r}))
    """
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    said = "MCP is enabled but the package 'mcp' is not installed. Run: uv sync"
    assert finished.stderr.splitlines()[-1].partition(": ")[2] == said
