"""What an entry may say, when it is checked, and what is said of one that cannot be used."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS

from managers.mcp_manager import MCPConfig
from mcp_ghost.config import OAuth, ServerConfig, load_servers
from mcp_ghost.config.dialects import HOLDERS, KEYS, servers_in
from mcp_ghost.errors import MCPConfigError
from mcp_ghost.servers.process import NEEDED_BY_ALL
from mcp_ghost.servers.reaper import MARK
from mcp_ghost.servers.session import ServerSession
from tests.support.servers import call_in, faulty

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
SOME_KEYS = st.sampled_from(["command", "url", "env", "args", *ServerConfig.model_fields, *KEYS])


def read(entry: object) -> ServerConfig:
    return load_servers({"mcpServers": {"s": entry}})["s"]


def config_of(folder: Path, **servers: object) -> MCPConfig:
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return MCPConfig.from_file(folder / "mcp.json")


# --- who is checked


def test_an_entry_that_nobody_uses_may_be_broken(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        off={"transportType": ["pigeon"], "disabled": True},
        used={"command": "x", "transportType": "stdio"},
        broken={"command": 5, "tranport": 1},
        missing="not even an object",
    )
    assert config.get_server_config() == ("used", ServerConfig(command="x", type="stdio"))
    assert list(config.mcpServers) == ["off", "used", "broken", "missing"]
    for name, problem in {
        "broken": "'command': .*unknown key 'tranport'",
        "missing": "must be an object",
    }.items():
        with pytest.raises(MCPConfigError, match=rf"mcp\.json: server '{name}': .*{problem}"):
            config.mcpServers[name].checked()
        with pytest.raises(MCPConfigError, match=f"server '{name}'"):
            config.mcpServers[name].resolved()


def test_the_first_server_that_is_not_disabled_is_used_even_if_it_is_broken(tmp_path: Path) -> None:
    config = config_of(
        tmp_path, off={"disabled": True}, first={"httpUrl": 5}, second={"command": "x"}
    )
    with pytest.raises(
        MCPConfigError, match="server 'first': 'httpUrl': Input should be a valid string"
    ):
        config.get_server_config()


def test_who_uses_all_servers_hears_of_every_broken_one_that_is_not_disabled() -> None:
    servers: dict[str, Any] = {"a": {"command": "x"}, "b": {"comand": "x", "disabled": True}}
    assert load_servers({"mcpServers": servers})["b"].disabled
    servers["b"]["disabled"] = False
    with pytest.raises(
        MCPConfigError, match=r"'b': needs either .*; unknown key 'comand' \(did you"
    ):
        load_servers({"mcpServers": servers})


def test_unknown_keys_are_named_once_and_only_where_they_matter(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entries = {
        "s": {
            "command": "x",
            "sandboxEnabled": True,
            "headersHelper": "./t",
            "_note": "",
            "trust": 1,
        },
        "unused": {"command": "x", "color": "red"},
    }
    for _ in range(2):
        config_of(tmp_path, **entries).get_server_config()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith(f"{tmp_path}/mcp.json: server 's': unknown key 'sandbox")
    assert record.getMessage().endswith(" Ignored.")
    for name, is_named in {
        "headersHelper": 1,
        "_note": 0,
        "trust": 0,
        "color": 0,
        "red": 0,
    }.items():
        assert (f"'{name}'" in record.getMessage()) == bool(is_named)


def test_a_flood_of_unknown_keys_is_not_listed_whole(caplog: pytest.LogCaptureFixture) -> None:
    read({"command": "flood", **{f"key{number}": number for number in range(500)}})
    (record,) = caplog.records
    assert "and 490 more" in record.getMessage()
    assert len(record.getMessage()) < 6000


@given(st.dictionaries(SOME_KEYS | st.text(max_size=5), JSON | st.text(), max_size=5))
def test_any_entry_can_be_used_or_says_why_not(entry: dict[str, Any]) -> None:
    config = ServerConfig.of_entry("s", entry, "here")
    said = ""
    try:
        config.resolved({}, server="s")
    except MCPConfigError as error:
        said = str(error)
    assert not said or "'s'" in said
    assert isinstance(config.disabled, bool)


def test_servers_are_read_while_another_thread_imports_the_sdk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", ModuleType("mcp.server"))
    assert read({"command": "x"}).command == "x"


@pytest.mark.parametrize("key", sorted(KEYS))
def test_a_key_of_any_program_may_hold_anything(key: str) -> None:
    """Property tests come upon one key with one kind of value too seldom."""
    odd: list[Any] = [
        None,
        True,
        0,
        -1.5,
        "",
        "*",
        [],
        [None],
        [[]],
        [{"name": []}],
        {},
        {"a": None},
    ]
    for value in odd:
        for entry in ({key: value, "command": "x"}, {"url": "https://a.example", key: value}):
            config = ServerConfig.of_entry("s", entry, "here")
            with suppress(MCPConfigError):
                config.resolved({}, server="s")


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("given", [None, 1, "s", [None], [{"name": []}], [[]], {"s": None}])
def test_what_should_hold_servers_may_hold_anything(holder: str, given: object) -> None:
    assert all(isinstance(name, str) for name in servers_in({holder: given}) or {})


def test_values_do_not_enter_messages(caplog: pytest.LogCaptureFixture) -> None:
    secret = "hunter2"
    wrong: dict[str, Any] = {
        "command": "x",
        "url": secret,
        "env": {"A": [secret]},
        "secert": secret,
    }
    wrong |= {"auth": {"client_secret": [secret]}, "headers": [secret], "type": secret}
    with pytest.raises(MCPConfigError) as error:
        read(wrong)
    read({"command": "x", "passwort": secret})
    assert secret not in str(error.value) + caplog.text


# --- signing in


@pytest.mark.parametrize(
    "given",
    [
        {"auth": {"type": "oauth", "client_id": "id", "client_secret": "s", "scopes": ["a", "b"]}},
        {"auth": {"CLIENT_ID": "id", "CLIENT_SECRET": "s", "scopes": ["a", "b"]}},
        {"oauth": {"enabled": True, "clientId": "id", "clientSecret": "s", "scopes": ["a", "b"]}},
        {"oauth": {"clientId": "id", "clientSecret": "s", "scopes": "a b", "callbackPort": 8080}},
    ],
)
def test_every_way_to_write_oauth_down_means_the_same(given: dict[str, Any]) -> None:
    server = read({"url": "https://x/mcp", **given})
    assert server.auth == OAuth(type="oauth", client_id="id", client_secret="s", scopes=["a", "b"])
    assert "client_secret" not in repr(server)


def test_of_oauth_all_but_the_type_may_be_left_out_and_values_may_be_variables() -> None:
    assert read({"url": "https://x/mcp", "auth": {"type": "oauth"}}).auth == OAuth(type="oauth")
    assert read({"url": "https://x/mcp", "oauth": {"enabled": False}}).auth is None
    auth = {
        "type": "oauth",
        "client_id": "${ID}",
        "client_secret": "${env:WORD}",
        "scopes": ["${ID}"],
    }
    there = read({"url": "https://x/mcp", "auth": auth}).resolved({"ID": "i", "WORD": "w"}).auth
    assert there == OAuth(type="oauth", client_id="i", client_secret="w", scopes=["i"])


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"auth": {"type": "basic"}}, "'auth.type': Input should be 'oauth'"),
        ({"auth": {"type": "oauth", "client_secret": "s"}}, "'auth': 'client_secret' needs"),
        ({"auth": {"type": "oauth", "scopes": 5}}, "'auth.scopes'"),
        ({"auth": {"type": "oauth", "client": "x"}}, "unknown key 'auth.client'"),
        ({"auth": "basic"}, "'auth'"),
        ({"oauth": []}, "'oauth'"),
        (
            {"auth": {"type": "oauth"}, "command": "x", "url": None},
            "'auth' needs a 'url'",
        ),
    ],
)
def test_what_is_wrong_with_oauth_is_named(entry: dict[str, Any], problem: str) -> None:
    with pytest.raises(MCPConfigError, match=f"server 's': .*{problem}"):
        read({"url": "https://x/mcp", **entry})


# --- what a server inherits


def test_what_any_process_needs_is_what_the_sdk_says() -> None:
    assert sorted(NEEDED_BY_ALL) == sorted(DEFAULT_INHERITED_ENV_VARS)


@pytest.mark.parametrize(
    ("inherit", "inherited"),
    [(True, {"MY_TOKEN", "OTHER"}), (False, set()), (["OTHER", "NOT_SET"], {"OTHER"})],
)
async def test_a_server_inherits_what_its_entry_says(
    inherit: bool | list[str], inherited: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "seen")
    monkeypatch.setenv("OTHER", "too")
    entry = faulty(OWN="own").model_dump(exclude_defaults=True)
    result = await call_in(read({**entry, "inherit_env": inherit}), "environment")
    theirs = result.content
    assert isinstance(theirs, dict)
    assert {"MY_TOKEN", "OTHER"} & {*theirs} == inherited
    assert {"PATH", "HOME"} <= {*theirs}
    assert theirs["OWN"] == "own"
    if inherit is not True:
        ours = {"OWN", *inherited, *NEEDED_BY_ALL}
        added = {MARK, "LC_CTYPE", "PWD", "SHLVL", "_"}
        assert {*theirs} - ours <= added, "our guard, Python and shells add these"


@pytest.mark.parametrize("value", ["no", 1, [1], {"A": 1}])
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(MCPConfigError, match="'inherit_env': must be true, false, or a list"):
        read({"command": "x", "inherit_env": value})


# --- which tools are offered


async def test_only_the_tools_that_the_entry_includes_are_listed_and_called() -> None:
    entry = faulty().model_dump(exclude_defaults=True)
    tools = {"includeTools": ["echo", "die", "nothing"], "excludeTools": ["die"]}
    async with ServerSession("s", read({**entry, **tools})) as session:
        assert [tool["function"]["name"] for tool in session.tools] == ["echo"]
        refused = await session.call("die", {})
        assert refused.is_error
        assert "does not offer its tool 'die'" in str(refused.error_message)
        assert (await session.call("echo", {"text": "still here"})).content == "still here"
