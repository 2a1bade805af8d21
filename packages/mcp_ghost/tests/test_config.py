"""Server configuration from dicts and files, and errors that say where and what."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_ghost.config import ServerConfig, load_servers
from mcp_ghost.errors import MCPConfigError, MCPConfigNotFoundError

JSONC = """{
  // the servers
  "mcpServers": {
    "web": {"command": "uvx", "args": ["mcp-server-fetch", "https://x/*y*/"],}, /* keyless */
    "off": {"command": "npx", "disabled": true}
  },
}
"""


def refusal(source: object, tmp_path: Path, name: str = "mcp.json") -> str:
    path = tmp_path / name
    path.write_text(source if isinstance(source, str) else json.dumps(source))
    with pytest.raises(MCPConfigError) as error:
        load_servers(path)
    assert str(path) in str(error.value)
    return str(error.value)


def test_a_dict_a_json_and_a_jsonc_file_give_the_same_servers_in_order(tmp_path: Path) -> None:
    args = ["mcp-server-fetch", "https://x/*y*/"]
    data = {
        "mcpServers": {
            "web": {"command": "uvx", "args": args},
            "off": {"command": "npx", "disabled": True},
        }
    }
    (tmp_path / "a.json").write_text(json.dumps(data), encoding="utf-8-sig")
    (tmp_path / "b.jsonc").write_text(JSONC)
    servers = load_servers(data)
    assert list(servers) == ["web", "off"]
    assert servers["web"] == ServerConfig(command="uvx", args=args)
    assert load_servers(tmp_path / "a.json") == servers
    assert load_servers(str(tmp_path / "b.jsonc")) == servers


def test_keys_of_other_clients_are_tolerated() -> None:
    entry = {"type": "stdio", "command": "x", "cwd": "/", "autoApprove": ["a"], "timeout": 60}
    assert load_servers({"mcpServers": {"s": entry}})["s"].cwd == "/"
    remote = {"type": "http", "url": "https://x/mcp", "headers": {"A": "b"}}
    assert load_servers({"mcpServers": {"s": remote}})["s"].url == "https://x/mcp"


def test_a_missing_file_is_a_configuration_error_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MCPConfigNotFoundError, match=r"none\.json") as error:
        load_servers(tmp_path / "none.json")
    assert isinstance(error.value, FileNotFoundError)
    assert isinstance(error.value, MCPConfigError)


def test_a_directory_and_bytes_that_are_not_text_are_errors(tmp_path: Path) -> None:
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    for path, why in ((tmp_path, "cannot be read"), (tmp_path / "binary.json", "is not UTF-8")):
        with pytest.raises(MCPConfigError, match=why):
            load_servers(path)


def test_invalid_json_is_placed(tmp_path: Path) -> None:
    assert "line 2, column 18" in refusal('{\n  "mcpServers": {,}\n}', tmp_path)


def test_invalid_jsonc_is_placed(tmp_path: Path) -> None:
    assert "line 3, column 6" in refusal('{\n "a": 1,\n "b" 2}', tmp_path, "mcp.jsonc")
    assert "empty" in refusal("", tmp_path, "mcp.jsonc").lower()


@pytest.mark.parametrize("name", ["mcp.json", "mcp.jsonc"])
def test_a_name_that_appears_twice_is_refused(name: str, tmp_path: Path) -> None:
    text = '{"mcpServers": {"s": {"command": "a"}, "s": {"command": "b"}}}'
    assert "s" in refusal(text, tmp_path, name).partition(", ")[2]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"command": "x", "args": "y"}, "server 's': 'args'"),
        ({"command": "x", "args": [1]}, "server 's': 'args.0'"),
        ({"command": 5}, "server 's': 'command'"),
        ({"command": " "}, "server 's': 'command' is empty"),
        ({"command": "x", "env": {"PORT": [80]}}, "server 's': 'env.PORT'"),
        ("python server.py", "server 's': must be an object with 'command' or 'url'"),
        ({}, "server 's': needs either 'command' (a program to start) or 'url'"),
        ({"command": "x", "url": "http://y"}, "needs either"),
        ({"comand": "x"}, "unknown key 'comand' (did you mean 'command'?)"),
        ("x", "server 's'"),
    ],
)
def test_what_is_wrong_with_an_entry_is_named(entry: object, problem: str, tmp_path: Path) -> None:
    assert problem in refusal({"mcpServers": {"s": entry}}, tmp_path)


@pytest.mark.parametrize("data", [{}, [], {"mcpServers": []}, {"servers": {}}, 3])
def test_a_file_without_servers_shows_the_expected_shape(data: object, tmp_path: Path) -> None:
    assert '{"mcpServers": {"NAME": {"command"' in refusal(data, tmp_path)


def test_variables_are_resolved_in_every_string_when_the_server_is_used() -> None:
    config = ServerConfig(
        command="{env:BIN}/server", args=["--key={env:KEY}"], env={"A": "{env:KEY}{env:KEY}"}
    )
    assert config.resolved({"BIN": "/opt", "KEY": "k"}) == ServerConfig(
        command="/opt/server", args=["--key=k"], env={"A": "kk"}
    )
    with pytest.raises(MCPConfigError, match=r"MCP server 'web' needs .* KEY"):
        config.resolved({"BIN": "/opt"}, server="web")


@given(st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), st.text(), min_size=1))
def test_resolving_replaces_exactly_the_variables(environ: dict[str, str]) -> None:
    args = [f"a{{env:{name}}}b" for name in environ]
    resolved = ServerConfig(command="x", args=args).resolved(environ)
    assert resolved.args == [f"a{value}b" for value in environ.values()]


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        setattr(ServerConfig(command="x"), "command", "y")  # noqa: B010 - mypy refuses it, too
