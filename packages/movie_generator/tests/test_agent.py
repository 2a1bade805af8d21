"""Tools as OpenAI wants them, the servers behind them, and the loop that calls them (A1 to A13)."""

from __future__ import annotations

import asyncio
import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import types

from mcp_ghost.errors import MCPConfigError, MCPServerStartupError, MCPToolCallError
from mcp_ghost.testing import ModelServer, Reply, content_reply, tool_reply
from movie_generator import AgentLoop, MCPClient, convert_mcp_tools_to_openai
from movie_generator.errors import AgentError, IterationLimitError, MovieGeneratorError
from tests.support.movie import SERVERS, desk
from tests.support.servers import faulty, versions
from tests.support.servers.over_http import faulty_http

if TYPE_CHECKING:
    from mcp_ghost.testing.replies import Script

pytestmark = pytest.mark.mcp

SCRAPE: dict[str, Any] = {
    "name": "firecrawl_scrape",
    "description": "Scrape content from a URL",
    "inputSchema": {
        "type": "object",
        "properties": {"url": {"type": "string", "description": "URL to scrape"}},
        "required": ["url"],
    },
}


# --- conversion


def test_a_tool_becomes_the_function_of_the_specification() -> None:  # A1
    assert convert_mcp_tools_to_openai([SCRAPE]) == [
        {
            "type": "function",
            "function": {
                "name": "firecrawl_scrape",
                "description": "Scrape content from a URL",
                "parameters": {
                    "type": "object",
                    "properties": {"url": {"type": "string", "description": "URL to scrape"}},
                    "required": ["url"],
                },
            },
        }
    ]


def test_a_list_of_tools_becomes_a_list_in_the_same_order() -> None:  # A2
    tools = [{**SCRAPE, "name": name} for name in ("zebra", "apple", "mango")]
    converted = convert_mcp_tools_to_openai(tools)
    assert [tool["function"]["name"] for tool in converted] == ["zebra", "apple", "mango"]
    assert {tool["type"] for tool in converted} == {"function"}
    assert convert_mcp_tools_to_openai([]) == []


@pytest.mark.parametrize("schema", [{}, None, "nonsense", {"type": "object"}])
def test_what_a_tool_leaves_out_becomes_what_providers_accept(schema: object) -> None:  # A3
    tools = convert_mcp_tools_to_openai([{"name": "now", "inputSchema": schema}, {"name": "then"}])
    empty = {"type": "object", "properties": {}}
    assert [tool["function"]["parameters"] for tool in tools] == [empty, empty]
    assert [tool["function"]["description"] for tool in tools] == ["", ""]


def test_objects_of_the_sdk_are_converted_like_dicts() -> None:  # A4
    schema = SCRAPE["inputSchema"]
    tool = types.Tool(name=SCRAPE["name"], description=SCRAPE["description"], input_schema=schema)
    snake = {"name": SCRAPE["name"], "description": SCRAPE["description"], "input_schema": schema}
    expected = convert_mcp_tools_to_openai([SCRAPE])
    assert convert_mcp_tools_to_openai([tool]) == expected
    assert convert_mcp_tools_to_openai([snake]) == expected


def test_the_tools_given_are_neither_changed_nor_shared() -> None:  # A4
    before = copy.deepcopy(SCRAPE)
    converted = convert_mcp_tools_to_openai([SCRAPE])
    converted[0]["function"]["parameters"]["properties"]["url"]["type"] = "integer"
    assert before == SCRAPE


def test_a_tool_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a name"):
        convert_mcp_tools_to_openai([{"description": "nameless"}])


# --- servers


def with_client(config: Any, use: Callable[[MCPClient], Any], **options: Any) -> Any:  # noqa: ANN401
    async def run() -> Any:  # noqa: ANN401
        async with MCPClient(config, **options) as client:
            return await use(client)

    return asyncio.run(run())


def test_tools_of_all_servers_are_offered_and_calls_go_to_their_own() -> None:  # A25 A26 A27
    async def use(client: MCPClient) -> tuple[list[str], Any, Any]:
        files = await client.call_tool("files_list", {})
        tables = await client.call_tool("list", {})
        return [tool["name"] for tool in client.available_tools], files.content, tables.content

    names, files, tables = with_client(desk(), use)
    assert names == ["list", "describe", "query", "files_list", "read", "write", "check"]
    assert files == ["prices.txt"]
    assert "prices.txt" not in tables


async def test_a_client_whose_servers_were_not_started_says_how() -> None:
    client = MCPClient(desk())
    with pytest.raises(MCPToolCallError, match="not running"):
        await client.call_tool("list")
    with ModelServer([content_reply("Done.")]) as server:
        with pytest.raises(MCPToolCallError, match="not running"):
            await AgentLoop(client, "key", "model", server.base_url).run("List the tables.")
        assert server.requests == []


def test_one_tool_is_not_a_list_of_them() -> None:
    with pytest.raises(TypeError, match=r"for one, write \[tool\]"):
        convert_mcp_tools_to_openai({"name": "list"})


def test_a_server_that_knows_the_newest_revision_alone_has_tools() -> None:
    async def use(client: MCPClient) -> Any:  # noqa: ANN401
        return (await client.call_tool("echo", {"text": "on"})).content

    entry = versions("2026-07-28").model_dump(exclude_defaults=True)
    assert with_client({"mcpServers": {"s": entry}}, use) == {"text": "on"}


def test_available_tools_are_listed_as_mcp_does() -> None:
    async def use(client: MCPClient) -> list[dict[str, Any]]:
        return client.available_tools

    (describe,) = [tool for tool in with_client(desk("db"), use) if tool["name"] == "describe"]
    assert describe == {
        "name": "describe",
        "description": "The columns of a table.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    }


def test_a_tool_may_be_called_by_its_full_name_and_a_wrong_one_is_told_apart() -> None:
    async def use(client: MCPClient) -> Any:  # noqa: ANN401
        with pytest.raises(MCPToolCallError, match="Did you mean 'describe'"):
            await client.call_tool("descripe", {})
        return (await client.call_tool("db.list")).content

    assert with_client(desk("db"), use)


def test_a_server_that_dies_is_started_again_for_the_next_call() -> None:
    async def use(client: MCPClient) -> Any:  # noqa: ANN401
        with pytest.raises(MCPToolCallError, match="was started again"):
            await client.call_tool("check")
        return (await client.call_tool("check")).content

    assert with_client(desk("files"), use) == "all is well"


def test_a_call_that_certainly_was_not_made_is_made_again() -> None:
    async def use(client: MCPClient) -> Any:  # noqa: ANN401
        return (await client.call_tool("write")).content

    with faulty_http("once:status:404:") as server:
        assert with_client({"mcpServers": {"s": {"url": server.url}}}, use) == "on"


def test_the_model_is_told_what_servers_say_of_their_use() -> None:
    server = faulty(INSTRUCTIONS='"Prepare first."').model_dump(exclude_defaults=True)
    _, model, _ = run(["Done."], config={"mcpServers": {"s": server}}, system_prompt="Be brief.")
    head = model.requests[0].messages[0]
    assert head["role"] == "system"
    assert head["content"].startswith("Be brief.\n\nThis is what the servers of these tools say")
    assert '<server name="s">\nPrepare first.\n</server>' in head["content"]


def test_a_server_that_cannot_start_is_left_out_while_another_can(tmp_path: Path) -> None:
    config = desk("db")
    config["mcpServers"]["broken"] = {"command": "no-such-command-here"}

    async def use(client: MCPClient) -> list[str]:
        return [*client.failures]

    assert with_client(config, use) == ["broken"]
    del config["mcpServers"]["db"]
    with pytest.raises(MCPServerStartupError, match=r"broken: .*no-such-command-here"):
        with_client(config, use)


def test_a_configuration_without_servers_is_an_error_that_says_so() -> None:
    async def use(_: MCPClient) -> None: ...

    for servers in ({}, {"off": {"command": "none", "disabled": True}}):
        with pytest.raises(MCPConfigError, match="No MCP server is configured"):
            with_client({"mcpServers": servers}, use)


def test_a_call_is_bounded_by_its_timeout() -> None:
    notes = {"command": sys.executable, "args": [str(SERVERS / "notes.py")]}
    config = {"mcpServers": {"s": {**notes, "env": {"NOTES": "notes"}}}}

    async def use(client: MCPClient) -> None:
        with pytest.raises(TimeoutError):
            await client.call_tool("sleep", {"seconds": 60}, timeout=0.2)

    with_client(config, use)


# --- the loop


def run(
    script: Script,
    task: str = "What is there?",
    config: Any = None,  # noqa: ANN401
    **options: Any,  # noqa: ANN401
) -> tuple[str, ModelServer, AgentLoop]:
    """A run against a scripted model; its answer."""
    with ModelServer(script) as model:
        loops: list[AgentLoop] = []

        async def use(client: MCPClient) -> str:
            loops.append(AgentLoop(client, "key-1", "some-model", model.base_url, **options))
            return await loops[0].run(task)

        answer = with_client(config or desk(), use)
        assert model.refusals == []
    return answer, model, loops[0]


def test_every_request_carries_task_model_key_and_the_converted_tools() -> None:  # A5 A13
    answer, model, _ = run([tool_reply([("list", {})]), "Two tables."])
    assert answer == "Two tables."
    for request in model.requests:
        assert request.headers[":path"] == "/v1/chat/completions"
        assert request.headers["authorization"] == "Bearer key-1"
        assert request.body["model"] == "some-model"
        assert request.messages[0] == {"role": "user", "content": "What is there?"}
        assert {"list", "files_list", "write"} <= set(request.tool_names)


def test_a_call_takes_effect_once_and_its_result_is_in_the_history() -> None:  # A6 A7 A8
    call = ("write", {"name": "note.txt", "text": "日本語"})
    answer, model, _ = run([tool_reply([call]), "Written."])
    assert answer == "Written."
    assert Path("note.txt").read_text(encoding="utf-8") == "日本語"
    _, asked, told = model.requests[1].messages
    (made,) = asked["tool_calls"]
    assert asked["role"] == "assistant"
    assert json.loads(made["function"]["arguments"]) == call[1]
    assert told["role"] == "tool"
    assert told["tool_call_id"] == made["id"]
    assert "wrote 3 characters" in told["content"]


def test_all_calls_of_one_and_of_several_replies_land_in_the_history_in_order() -> None:  # A9 A27
    first = tool_reply([("list", {}), ("files_list", {})])
    second = tool_reply([("write", {"name": "a", "text": "é日本"})])
    third = tool_reply([("read", {"name": "a"})])
    _, model, _ = run([first, second, third, "Done."])
    roles = [message["role"] for message in model.requests[-1].messages]
    assert roles == ["user", "assistant", "tool", "tool", *["assistant", "tool"] * 2]
    calls = [c for m in model.requests[-1].messages for c in m.get("tool_calls", ())]
    answers = [m for m in model.requests[-1].messages if m["role"] == "tool"]
    assert [answer["tool_call_id"] for answer in answers] == [call["id"] for call in calls]
    assert "é日本" in answers[-1]["content"]  # not as escapes


@pytest.mark.parametrize(("options", "limit"), [({}, 10), ({"max_iterations": 3}, 3)])
def test_at_the_limit_nothing_more_is_asked_and_the_error_names_it(
    options: dict[str, Any], limit: int
) -> None:  # A10 A11
    with ModelServer(lambda _: tool_reply([("list", {})])) as model:

        async def use(client: MCPClient) -> None:
            with pytest.raises(RuntimeError, match=rf"limit of {limit} iterations") as caught:
                await AgentLoop(client, "k", "m", model.base_url, **options).run("Go.")
            assert isinstance(caught.value, IterationLimitError | MovieGeneratorError)

        with_client(desk("db"), use)
        assert len(model.requests) == limit


def test_tool_calls_count_whatever_the_finish_reason_says() -> None:  # A12
    reply = tool_reply([("write", {"name": "n", "text": "x"})])
    assert isinstance(reply.body, dict)
    reply.body["choices"][0]["finish_reason"] = "stop"
    answer, _, _ = run([reply, "Done."])
    assert answer == "Done."
    assert Path("n").exists()


def test_a_call_in_a_reply_that_was_cut_off_is_not_executed() -> None:
    half = tool_reply([("write", {"name": "n", "text": "x"})], finish_reason="length")
    answer, model, _ = run([half, "Done."])
    assert answer == "Done."
    assert not Path("n").exists()
    assert "not executed: the reply was cut off" in model.requests[1].last["content"]


def test_an_answer_that_stops_ends_the_loop() -> None:  # A12
    answer, model, loop = run(["  At once.\n"])
    assert answer == "At once."
    assert len(model.requests) == 1
    assert loop.messages[0]["content"] == "What is there?"


@pytest.mark.parametrize("finish_reason", ["stop", "length"])
def test_a_reply_of_nothing_is_a_clear_error(finish_reason: str) -> None:  # A12
    def script(_: object) -> Reply:
        return content_reply(None, finish_reason=finish_reason)

    with pytest.raises(AgentError, match=rf"empty \(finish_reason: {finish_reason}\)"):
        run(script, config=desk("db"))


def test_an_answer_cut_off_at_the_length_limit_is_gone_on_with() -> None:
    answer, model, _ = run([content_reply("One, two, ", finish_reason="length"), "three."])
    assert answer == "One, two, three."
    assert "cut off" in model.requests[1].last["content"]
    with pytest.raises(IterationLimitError, match="limit of 2 iterations"):
        run(lambda _: content_reply("More", finish_reason="length"), max_iterations=2)


def test_calls_that_cannot_be_made_are_told_to_the_model_which_goes_on() -> None:
    wrong = [
        ("list", "{not json"),
        ("no_such_tool", {}),
        ("read", {"name": "nothing"}),
        ("list", ""),
    ]
    answer, model, _ = run([tool_reply(wrong), "I see."])
    assert answer == "I see."
    told = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
    assert "error" in told[0]
    assert "Unknown tool 'no_such_tool'" in told[1]
    assert "no such file" in told[2]
    assert "error" not in told[3]


def test_a_long_result_is_cut_for_the_model_with_a_mark() -> None:
    Path("long.txt").write_text("x" * 5000)
    _, model, _ = run([tool_reply([("read", {"name": "long.txt"})]), "Ok."], result_limit=100)
    content = model.requests[1].last["content"]
    assert "[cut here: 4900 of 5000 characters left out]" in content
    assert len(content) < 300


def test_a_limit_below_one_and_a_missing_key_are_refused_at_once() -> None:
    client = MCPClient(desk("db"))
    with pytest.raises(ValueError, match="max_iterations"):
        AgentLoop(client, "k", "m", max_iterations=0)
    with pytest.raises(Exception, match="OPENROUTER_API_KEY"):
        AgentLoop(client, "", "m")
