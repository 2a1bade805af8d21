"""Toolboxes over real servers: opening, naming, allowing, routing."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import MCPError, MCPServerStartupError, MCPToolCallError
from mcp_ghost.toolsets.union import Bare, Toolbox
from tests.support.ghosts import Bank
from tests.support.servers import faulty, listing, seen

pytestmark = pytest.mark.mcp


def names(toolbox: Toolbox) -> list[str]:
    return [schema["function"]["name"] for schema in toolbox.schemas]


def listed(
    servers: dict[str, ServerConfig],
    *,
    allow: list[str] | None = None,
    deny: list[str] | None = None,
) -> tuple[list[str], Toolbox]:
    """The names that a toolbox offers, and the toolbox, which is closed again."""

    async def look() -> tuple[list[str], Toolbox]:
        async with Toolbox(servers, allow=allow, deny=deny) as toolbox:
            return names(toolbox), toolbox

    return asyncio.run(look())


def methods(log: Path) -> list[str]:
    return [entry["method"] for entry in seen(log) if entry["event"] == "message"]


# --- opening ----------------------------------------------------------------------------------


def test_servers_open_side_by_side(tmp_path: Path) -> None:
    folder = tmp_path / "meeting"
    folder.mkdir()
    # Each server starts only while all three do.
    server = faulty("meet", MEETING=str(folder), MEETING_SIZE="3")
    offered, toolbox = listed({"a": server, "b": server, "c": server})
    assert toolbox.failures == {}
    assert {name.partition(".")[0] for name in offered} == {"a", "b", "c"}


async def test_a_server_that_fails_is_recorded_and_the_others_go_on() -> None:
    servers = {"a": faulty(), "b": faulty("exit3"), "c": faulty(), "off": faulty("exit3")}
    servers["off"] = servers["off"].model_copy(update={"disabled": True})
    async with Toolbox(servers) as toolbox:
        assert [it.name for it in toolbox.alive] == ["a", "c"]
        assert list(toolbox.failures) == ["b"]
        assert isinstance(toolbox.failures["b"], MCPServerStartupError)
        assert "fatal: missing API key" in str(toolbox.failures["b"])
        assert (await toolbox.result("c.echo", {"text": "on"})).content == "on"
        with pytest.raises(MCPToolCallError, match=r"Unknown tool 'b\.echo'"):
            await toolbox.result("b.echo", {})
    assert [it.name for it in toolbox.alive] == []


def test_a_configuration_error_of_one_server_is_recorded_too() -> None:
    offered, toolbox = listed({"a": faulty(KEY="{env:NO_SUCH_VARIABLE}"), "b": faulty()})
    assert "needs the environment variable NO_SUCH_VARIABLE" in str(toolbox.failures["a"])
    assert "b.echo" in offered


def test_an_error_that_nobody_expects_is_its_own_servers_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As where the package for HTTP is broken: not an MCPError, and not of the server's making.
    monkeypatch.setitem(sys.modules, "mcp_ghost.servers.links.http", None)
    offered, toolbox = listed({"a": ServerConfig(url="http://127.0.0.1:9/mcp"), "b": faulty()})
    assert "b.echo" in offered
    assert isinstance(toolbox.failures["a"], MCPServerStartupError)
    assert "Failed to start MCP server 'a': ModuleNotFoundError" in str(toolbox.failures["a"])


def test_a_variable_that_no_process_can_have_is_its_own_servers_failure() -> None:
    ill = ServerConfig(command="npx", args=["x"], env={"NOTE": "a\0b"})
    offered, toolbox = listed({"a": ill, "b": faulty()})
    assert "b.echo" in offered
    assert "embedded null byte" in str(toolbox.failures["a"])


def test_a_toolbox_of_no_servers_has_no_tools() -> None:
    assert listed({})[0] == []


async def test_a_toolbox_can_be_used_once() -> None:
    toolbox = Toolbox({"a": faulty()})
    with pytest.raises(MCPToolCallError, match="not open"):
        await toolbox.result("a.echo", {})
    async with toolbox:
        with pytest.raises(MCPError, match="opened before"):
            await toolbox.__aenter__()
    await toolbox.close()
    with pytest.raises(MCPToolCallError, match="not open"):
        await toolbox.result("a.echo", {})
    with pytest.raises(MCPToolCallError, match="not open"):
        await toolbox.restart("a")


# --- names ------------------------------------------------------------------------------------


def test_tools_come_in_the_order_of_servers_and_lists_whoever_is_first(tmp_path: Path) -> None:
    servers = {
        "z": listing(tmp_path, "z", ["second", "first"]),
        "a": listing(tmp_path, "a", ["first"]),
    }
    assert listed(servers)[0] == ["z.second", "z.first", "a.first"]


def test_equal_tool_names_and_names_with_dots_reach_their_own_server(tmp_path: Path) -> None:
    tools = {"a": ["c", "b.c", "t"], "a.b": ["c", "t"], "x": ["a.t"]}
    servers = {name: listing(tmp_path, name, tools) for name, tools in tools.items()}

    async def answers() -> dict[str, tuple[str | None, Any]]:
        async with Toolbox(servers) as toolbox:
            return {
                name: (toolbox.tools[name].server, (await toolbox.result(name, {})).content)
                for name in names(toolbox)
            }

    assert asyncio.run(answers()) == {
        "a.c": ("a", "c"),
        "a.b.c": ("a", "b.c"),
        "a.t": ("a", "t"),
        "a.b.c_": ("a.b", "c"),  # would be a second "a.b.c"
        "a.b.t": ("a.b", "t"),
        "x.a.t": ("x", "a.t"),
    }


async def test_two_hundred_tools_are_all_there_and_an_error_does_not_name_them_all(
    tmp_path: Path,
) -> None:
    tools = [f"tool{number:03}" for number in range(200)]
    async with Toolbox({"many": listing(tmp_path, "many", tools)}) as toolbox:
        assert names(toolbox) == [f"many.{tool}" for tool in tools]
        assert (await toolbox.result("many.tool199", {})).content == "tool199"
        with pytest.raises(MCPToolCallError) as refusal:
            await toolbox.result("many.tool1999", {})
        assert "Did you mean 'many.tool199'?" in str(refusal.value)
        assert str(refusal.value).endswith("many.tool049 and 150 more")


def test_bare_names_stay_callable_on_every_server(tmp_path: Path) -> None:
    tools = {"a": ["fetch", "b_fetch"], "b": ["fetch", "read"], "c": ["fetch"]}
    servers = {name: listing(tmp_path, name, tools) for name, tools in tools.items()}
    _, toolbox = listed(servers)
    tools_of = Bare(toolbox).tools.items()
    assert {name: f"{tool.server}.{tool.own_name}" for name, tool in tools_of} == {
        "fetch": "a.fetch",
        "b_fetch": "a.b_fetch",
        "b_fetch_": "b.fetch",
        "read": "b.read",
        "c_fetch": "c.fetch",
    }


# --- allowed and forbidden tools --------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "offered"),
    [
        ({"allow": ["a.*"]}, ["a.read", "a.delete_all"]),
        ({"allow": ["read"]}, ["a.read", "b.read"]),
        ({"allow": ["b.read"]}, ["b.read"]),
        ({"allow": []}, []),
        ({"deny": ["*.delete_*"]}, ["a.read", "b.read", "b.x[1]"]),
        ({"deny": ["delete_*", "b.*"]}, ["a.read"]),
        ({"allow": ["*.read", "b.x[1]"], "deny": ["a.read"]}, ["b.read", "b.x[1]"]),
    ],
)
def test_only_allowed_tools_are_offered(
    tmp_path: Path, options: dict[str, list[str]], offered: list[str]
) -> None:
    tools = {"a": ["read", "delete_all"], "b": ["read", "delete_one", "x[1]"]}
    servers = {name: listing(tmp_path, name, tools) for name, tools in tools.items()}
    result, toolbox = listed(servers, **options)
    assert result == offered
    assert toolbox.unmatched == ()


async def test_a_forbidden_tool_cannot_be_called(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with Toolbox(
        {"a": faulty(SERVER_LOG=str(log))}, allow=["echo", "where"], deny=["a.where"]
    ) as toolbox:
        with pytest.raises(
            MCPToolCallError, match=r"^'a\.where' is not allowed\. Available tools: a\.echo$"
        ):
            await toolbox.result("a.where", {})
    assert "tools/call" not in methods(log)


def test_patterns_that_fit_nothing_are_reported() -> None:
    patterns = {"allow": ["a.*", "b.*"], "deny": ["a.echo", "delete_*", "b.*"]}
    assert listed({"a": faulty()}, **patterns)[1].unmatched == ("b.*", "delete_*")


# --- calls ------------------------------------------------------------------------------------


async def test_calls_to_different_servers_run_side_by_side(tmp_path: Path) -> None:
    async with Toolbox({"a": faulty(), "b": faulty()}) as toolbox:
        # Each answers only while the other is at work too.
        meeting = {"folder": str(tmp_path), "size": 2}
        calls = [toolbox.result(f"{server}.meet", meeting) for server in "ab"]
        assert [result.content for result in await asyncio.gather(*calls)] == ["met", "met"]


async def test_calls_to_one_server_run_side_by_side_and_one_that_hangs_holds_up_none(
    tmp_path: Path,
) -> None:
    bank = Bank(tmp_path).config
    async with Toolbox({"bank": bank, "a": faulty()}) as toolbox:
        hanging = asyncio.create_task(toolbox.result("a.hang", {}))
        assert (await toolbox.result("a.echo", {"text": "on"})).content == "on"
        hanging.cancel()
        calls = [toolbox.result("bank.meet", {"size": 2}) for _ in range(2)]
        assert [result.content for result in await asyncio.gather(*calls)] == ["2 met", "2 met"]


async def test_what_tools_say_of_their_effects_is_known_by_their_names(tmp_path: Path) -> None:
    async with Toolbox({"bank": Bank(tmp_path).config}) as toolbox:
        names = ("balance", "put", "insert")
        assert [toolbox.tools[f"bank.{name}"].hints for name in names] == [
            {"readOnlyHint": True},
            {"idempotentHint": True},
            {},
        ]


async def test_the_result_limit_reaches_every_server() -> None:
    async with Toolbox({"a": faulty()}, result_limit=10) as toolbox:
        assert (await toolbox.result("a.huge", {"size": 11})).content.startswith(
            "x" * 10 + "\n[cut here"
        )
