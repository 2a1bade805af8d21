"""What README.md says of MCP's switch and of its servers."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import pytest

from managers.mcp_manager import MCPManager
from session.game_configuration import GameConfiguration
from tests.support import ROOT

pytestmark = pytest.mark.mcp
(MCP,) = re.findall(
    r"```toml\n(\[tool\.zorkgpt\.mcp\]\n.*?)```", (ROOT / "README.md").read_text(), re.S
)


def test_four_lines_switch_mcp_and_name_the_file_and_its_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(MCP.splitlines()) == 4
    (tmp_path / "pyproject.toml").write_text(MCP)
    config = GameConfiguration.from_toml(tmp_path / "pyproject.toml")
    shutil.copy(ROOT / config.mcp_config_file, tmp_path)

    async def tools() -> list[str]:
        manager = MCPManager(config)
        await manager.connect_session()
        try:
            return [tool["function"]["name"] for tool in await manager.get_tool_schemas()]
        finally:
            await manager.disconnect_session()

    assert asyncio.run(tools()) == ["thoughtbox.think"]
    (tmp_path / "pyproject.toml").write_text(MCP.replace("= true", "= false"))
    assert MCPManager(GameConfiguration.from_toml(tmp_path / "pyproject.toml")).is_disabled


def test_mcp_is_off_by_default_and_on_in_this_repository() -> None:
    assert "on in this repository; off without this section" in MCP
    assert GameConfiguration.from_toml(ROOT / "pyproject.toml").mcp_enabled is True
    assert GameConfiguration().mcp_enabled is False
    told = " ".join((ROOT / "docs/mcp.md").read_text().split())
    assert "MCP is opt-in: it is off by default" in told
    assert "This repository's `pyproject.toml` opts in, on purpose" in told
