"""The text of a configuration file: JSON with comments, JSON with trailing commas, TOML."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_ghost.config import load_servers
from mcp_ghost.errors import MCPConfigError
from tests.support.work import growth


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ('{"mcpServers": {"s": {"command": "x"}} /* all */ } // end', True),
        ('{"mcpServers": {"s": {"command": "x",}}}', False),
        ('{"servers": {"s": {"command": "x",},},}', True),
        ('{"context_servers": {"s": {"command": "x",}}}', True),
        ('{"mcpServers": {"s": {"command": "x"}}, "servers": {"s": {"command": "x",}}}', True),
        ('{"servers": {"s": {"command": "x",,}}}', False),
        ('{"servers": {,}}', False),
        ('{"servers": {"s": [,]}}', False),
        ('{"mcpServers": {"s": {"command": "x"}}} /* open', True),
        ('{"mcpServers": {"s": {"command": "x}}', False),
        ("", False),
        (" // nothing\n", False),
    ],
)
def test_comments_are_read_everywhere_and_trailing_commas_where_programs_take_them(
    text: str, is_read: bool, tmp_path: Path
) -> None:
    (tmp_path / "mcp.json").write_text(text)
    if is_read:
        assert load_servers(tmp_path / "mcp.json")["s"].command == "x"
    else:
        with pytest.raises(MCPConfigError, match=r"Invalid JSON in .*mcp\.json, "):
            load_servers(tmp_path / "mcp.json")


@given(st.lists(st.sampled_from(['"', "//", "/*", "*/", ",", "\\", "\n", "a", "}", "]"])))
def test_a_string_stays_as_it_is_whatever_it_holds(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    held = "".join(parts)
    text = json.dumps({"servers": {"s": {"command": "x", "args": [held]}}})
    file = tmp_path_factory.getbasetemp() / "held.json"
    file.write_text(text[:-1] + ",} // end")
    assert load_servers(file)["s"].args == [held]


@pytest.mark.parametrize("part", ["/*", '"', '"\\', ", ", "//", "1 ", "[,]", "*/ /*"])
def test_a_hostile_file_is_refused_in_linear_time(part: str, tmp_path: Path) -> None:
    def refuse(size: int) -> None:
        (tmp_path / "mcp.json").write_text('{"servers": ' + part * size)
        with pytest.raises(MCPConfigError):
            load_servers(tmp_path / "mcp.json")

    refuse(100_000)
    assert growth(refuse, 20_000) < 9


@pytest.mark.parametrize(
    "text",
    [
        "[mcp_servers",
        "mcp_servers = 5",
        "",
        "a = " + "[" * 10_000,
        "[mcp_servers.s]\nurl = 1979-05-27",
    ],
)
def test_toml_that_holds_no_servers_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(MCPConfigError, match=r"config\.toml"):
        load_servers(tmp_path / "config.toml")


@pytest.mark.parametrize("depth", [200, 900, 100_000])
def test_a_file_as_deep_as_a_well_is_refused(depth: int, tmp_path: Path) -> None:
    deep = "[" * depth + "]" * depth
    (tmp_path / "mcp.json").write_text(f'{{"servers": {{"s": {{"command": {deep}}}}}}}')
    with pytest.raises(MCPConfigError, match=r"mcp\.json"):
        load_servers(tmp_path / "mcp.json")
