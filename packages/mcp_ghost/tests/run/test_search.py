"""Many tools: what is searched for is found, offered and called, and the rest costs nothing."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from mcp.server import Server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool

from mcp_ghost import Ghost
from mcp_ghost.providers.client import get_llm_client
from mcp_ghost.run.search import FIND_TOOLS, FOUND_AT_MOST, ToolSearch
from mcp_ghost.testing import ModelServer, Reply, tool_reply
from tests.support.ghosts import PROVIDERS, play, tools

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

VERBS = {
    "create": "Creates a new {noun} and returns it with its identifier.",
    "get": "Returns one {noun} with all of its fields.",
    "list": "Lists every {noun} that fits the filters, page by page.",
    "update": "Changes fields of a {noun}; those left out stay as they are.",
    "delete": "Deletes a {noun} for good.",
    "search": "Searches the text of each {noun} and returns the best hits.",
    "export": "Exports every {noun} as CSV, JSON or PDF.",
    "share": "Shares a {noun} with other people or teams, by their addresses.",
}
NOUNS = [
    *("issue", "pull_request", "branch", "release", "milestone", "label", "invoice", "customer"),
    *("payment", "refund", "subscription", "calendar_event", "meeting", "reminder", "document"),
    *("spreadsheet", "slide", "folder", "mailbox", "message", "channel", "thread", "contact"),
]


def real_looking(count: int) -> list[Tool]:
    """Tools with parameters as servers of the trade have them."""
    pairs = itertools.product(NOUNS, VERBS.items())
    return [tool(noun, verb, text) for noun, (verb, text) in itertools.islice(pairs, count)]


def tool(noun: str, verb: str, text: str) -> Tool:
    words = noun.replace("_", " ")
    fields = {
        f"{noun}_id": {"type": "string", "description": f"Identifier of the {words}."},
        "workspace": {"type": "string", "description": "Workspace or organisation to act in."},
        "fields": {
            "type": "object",
            "description": f"Fields of the {words} by name, with the values that they are to have.",
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        },
        "page_size": {"type": "integer", "minimum": 1, "maximum": 100, "default": 30},
        "cursor": {"type": "string", "description": "Where the last page ended."},
        "dry_run": {"type": "boolean", "description": "Only say what would happen."},
    }
    schema = {"type": "object", "properties": fields, "required": ["workspace"]}
    described = text.format(noun=words)
    return Tool(name=f"{verb}_{noun}", description=described, input_schema=schema)


def office(listed: list[Tool]) -> tuple[Server[Any], list[str]]:
    """A server with these tools, and the names of those that were called."""
    called: list[str] = []

    async def on_list(*_: object) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def on_call(_: object, params: CallToolRequestParams) -> CallToolResult:
        called.append(params.name)
        return CallToolResult(content=[TextContent(type="text", text=f"{params.name}: done")])

    return Server("office", on_list_tools=on_list, on_call_tool=on_call), called


def run(
    listed: list[Tool],
    script: list[Reply | str],
    provider: WireName = "openai",
    **options: Any,  # noqa: ANN401
) -> tuple[dict[str, Any], ModelServer, list[str]]:
    server, called = office(listed)
    result, model = play(script, server, provider, user_prompt="Go.", **options)
    return result, model, called


def find(query: object) -> Reply:
    return tool_reply([(FIND_TOOLS, {"query": query})])


TASKS = [
    ("refund a customer's payment", "office.create_refund"),
    ("search messages in a channel", "office.search_message"),
    ("move a meeting", "office.update_meeting"),
    ("export invoices as PDF", "office.export_invoice"),
]


# OpenAI's own wire does not take so many tools at once.
@pytest.mark.parametrize("provider", [it for it in PROVIDERS if it != "responses"])
def test_tasks_succeed_as_with_all_schemas_at_a_fraction_of_the_tokens(provider: WireName) -> None:
    listed = real_looking(178)
    searched: list[Reply | str] = []
    for query, name in TASKS:
        searched += [find(query), tool_reply([(name, {"workspace": "w"})])]
    result, model, called = run(listed, [*searched, "All done."], provider)
    direct: list[Reply | str] = [tool_reply([(name, {"workspace": "w"})]) for _, name in TASKS]
    whole, all_at_once, called_directly = run(
        listed, [*direct, "All done."], provider, tool_search_above=None
    )
    assert result["success"]
    assert whole["success"]
    assert called == called_directly == [name.partition(".")[2] for _, name in TASKS]
    sizes = [len(json.dumps(it.requests[0].body)) // 4 for it in (model, all_at_once)]
    assert sizes[0] < 1_000 < 20_000 < sizes[1]
    assert result["execution_metadata"]["tools_discovered"] == 178
    assert tools(result).count(FIND_TOOLS) == len(TASKS)


async def test_what_was_found_stays_on_offer_in_its_order_and_in_the_next_request() -> None:
    server, _ = office(real_looking(178))
    call = tool_reply([("office.create_refund", {})])
    script: list[Reply | str] = [find("refund"), call, "One.", find("meeting"), "Two.", "Three."]
    with ModelServer(script, namespace="mcp_ghost") as model:
        at: Any = {"provider": "openai", "base_url": model.base_url}
        async with Ghost(server_config=server, **at) as ghost:
            await ghost.run("Go.")
            await ghost.run("Go on.")
            kept = ghost.messages
        async with Ghost(server_config=server, messages=kept, **at) as ghost:
            await ghost.run("And now?")
    offers = [request.tool_names for request in model.requests]
    assert offers[0] == ["mcp_ghost_find_tools"]
    assert "mcp_ghost_office_create_refund" in offers[1]
    assert len(offers[1]) == FOUND_AT_MOST + 1
    assert offers[3] == offers[1]
    assert offers[4][: len(offers[1])] == offers[1]
    assert "mcp_ghost_office_update_meeting" in offers[4]
    assert offers[5] == ["mcp_ghost_find_tools", "mcp_ghost_office_create_refund"]


@pytest.mark.parametrize("query", ["", 3, None, "xyzzy"])
def test_a_search_that_finds_nothing_says_what_to_do(query: object) -> None:
    result, model, _ = run(real_looking(178), [find(query), "Well."])
    said = json.dumps(model.requests[1].messages)
    assert ("Try others." if query == "xyzzy" else "Give 'query'") in said
    assert result["success"]


def test_few_tools_are_all_offered() -> None:
    _, model, _ = run(real_looking(20), ["Well."])
    assert len(model.requests[0].tool_names) == 20


def schema(name: str, description: str = "", **properties: Any) -> dict[str, Any]:  # noqa: ANN401
    parameters = {"type": "object", "properties": properties}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("weather forecast", "sky.getForecast"),
        ("forecasts", "sky.getForecast"),
        ("send an e-mail to somebody", "post.mail_send"),
        ("HTTP request", "net.HTTPRequest"),
        ("latitude", "map.here"),
        ("größe", "text.größe"),
    ],
)
def test_the_words_of_names_descriptions_and_parameters_are_found(query: str, first: str) -> None:
    search = ToolSearch(1)
    search.offered(
        [
            schema("sky.getForecast", "Tells what the weather will be like."),
            schema("post.mail_send", "Sends it to somebody."),
            schema("net.HTTPRequest", "Asks a server."),
            schema("map.here", latitude={"type": "number"}),
            schema("text.größe", "Wie groß etwas ist."),
            *(schema(f"x.tool_{number}", "Does this and that.") for number in range(30)),
        ]
    )
    found = search.find({"query": query}).content["found"]
    assert next(iter(found)) == first


@pytest.mark.parametrize(("provider", "most"), [("openai", 128), ("gemini", 512)])
def test_more_tools_than_the_provider_takes_are_searched_however_small(
    provider: str, most: int
) -> None:
    client = get_llm_client(provider, "key")
    small = [
        {"type": "function", "function": {"name": f"s.t{number}"}} for number in range(most + 1)
    ]
    search = ToolSearch(20_000, [f"s.t{number}" for number in range(most + 1)], client.most_tools)
    assert search.offered(small[:most]) == small[:most]
    finder, *found = search.offered(small)
    assert finder["function"]["name"] == FIND_TOOLS
    assert found == small[2:]
    assert ToolSearch(None, most=client.most_tools).offered(small) == small
