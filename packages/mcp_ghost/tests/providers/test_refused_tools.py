"""A tool that a provider refuses is left out, and the request goes on without it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from mcp_ghost.errors import LLMStatusError
from mcp_ghost.providers.refusal import may_be_of_a_tool, named_tools
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, error_reply
from tests.support.provider_clients import ask, client_of
from tests.support.wires import WIRES

if TYPE_CHECKING:
    from mcp_ghost.messages import ToolSchema
    from mcp_ghost.testing.wires import WireName

NAMES = ["s_a", "s_list", "s_get_user", "s_x"]


@pytest.mark.parametrize(
    ("said", "places"),
    [
        ("Invalid schema for function 's_list': In context=(), array schema missing items", [1]),
        ("Invalid 'tools[2].function.name': string does not match pattern", [2]),
        ("Invalid 'tools[2].function.description': string too long, maximum length 1024", [2]),
        ("tools.3.custom.input_schema.properties: Property keys should match pattern", [3]),
        ("Unknown name 'x' at 'tools[0].functionDeclarations[2].parameters'", [2]),
        ("tools[0].function_declarations[1].x; tools[0].function_declarations[3].y", [1, 3]),
        ("FunctionDeclaration 's_get_user' exceeds the maximum allowed nesting depth.", [2]),
        ("request because s_list functionDeclaration parameters.x schema specified wrongly", [1]),
        ("invalid JSON schema for tool s_list, tools[1].function.parameters: no 'properties'", [1]),
        ("[{'type': 'dict_type', 'loc': ('body', 'tools', 2, 'function')}]", [2]),
        ('[{"code":"invalid_type","path":[3,"function","parameters"],"message":"Required"}]', [3]),
        ("tools[9].function.parameters is invalid", []),
        ("messages[9].tool_calls[0].function.name: 's_a' does not match", []),
        ("tools[0].function_declarations: At most 512 function declarations", []),
        ("Invalid 'tools': array too long. Expected an array with maximum length 128", []),
        ("Invalid JSON schema: regex lookaround is not supported. Found at $.properties", []),
    ],
)
def test_the_tools_that_a_refusal_names_are_found(said: str, places: list[int]) -> None:
    error = LLMStatusError("refused", 400, said=said)
    assert named_tools(error, NAMES) == places
    assert not named_tools(LLMStatusError("refused", 401, said=said), NAMES)


@pytest.mark.parametrize(
    ("said", "may_be"),
    [
        ("JSON schema conversion failed:\nUnrecognized schema: true", True),
        ("Failed to initialize samplers: failed to parse grammar", True),
        ("Request contains an invalid argument.", True),
        ("Invalid 'tools': array too long. Expected an array with maximum length 128", False),
        ("messages.1.content: the schema of the result is wrong", False),
        ("This model is overloaded.", False),
    ],
)
def test_tools_are_tried_where_a_refusal_may_be_about_one(said: str, may_be: bool) -> None:
    assert may_be_of_a_tool(LLMStatusError("refused", 400, said=said)) is may_be


def tools_of(*names: str) -> list[ToolSchema]:
    return [{"type": "function", "function": {"name": f"s.{name}"}} for name in names]


def refusing(
    bad: set[str], words: Callable[[int, str], str], status: int = 400
) -> Callable[[ModelRequest], Reply]:
    """A model that refuses the first tool that is among ``bad``."""

    def answer(request: ModelRequest) -> Reply:
        names = [tool["function"]["name"] for tool in request.chat.get("tools") or ()]
        for place, name in enumerate(names):
            if name in bad:
                return error_reply(status, words(place, name))
        return content_reply("done")

    return answer


@pytest.mark.parametrize("wire", WIRES)
def test_a_tool_that_is_named_is_left_out_once_and_for_all(
    wire: WireName, caplog: pytest.LogCaptureFixture
) -> None:
    script = refusing({"s_b", "s_d"}, lambda place, _: f"tools[{place}]: its schema is odd")
    tools = tools_of("a", "b", "c", "d")
    with ModelServer(script, wire=wire) as server:
        client = client_of(server, wire)
        assert ask(client, tools=tools).content == "done"
        assert len(server.requests) == 3
        assert ask(client, tools=tools).content == "done"
        assert len(server.requests) == 4
        assert server.requests[-1].tool_names == ["s_a", "s_c"]
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [words.partition(":")[0].partition(" ")[2] for words in said] == [
        "refuses the tool s.b, which is left out from now on",
        "refuses the tool s.d, which is left out from now on",
    ]
    assert all("its schema is odd" in words for words in said)


@pytest.mark.parametrize("wire", WIRES)
def test_a_tool_that_is_not_named_is_found_by_halving(wire: WireName) -> None:
    script = refusing({"s_t7", "s_t9"}, lambda *_: "failed to parse grammar", 500)
    with ModelServer(script, wire=wire) as server:
        response = ask(client_of(server, wire), tools=tools_of(*(f"t{i}" for i in range(16))))
        assert response.content == "done"
        left = {f"s_t{i}" for i in range(16)} - {"s_t7", "s_t9"}
        assert set(server.requests[-1].tool_names) == left
        assert len(server.requests) <= 20
        assert response.calls > 1  # what was tried is paid for


def test_a_model_that_takes_no_tools_is_asked_only_once_more() -> None:
    said = "The schema of tools is not supported."

    def answer(request: ModelRequest) -> Reply:
        return error_reply(400, said) if request.tool_names else content_reply("done")

    with ModelServer(answer) as server:
        with pytest.raises(LLMStatusError, match="not supported"):
            ask(client_of(server), tools=tools_of("a", "b", "c"))
        assert len(server.requests) == 2


def test_without_its_only_tool_the_model_answers_all_the_same() -> None:
    script = refusing({"s_a"}, lambda *_: "Invalid schema for function 's_a'")
    with ModelServer(script) as server:
        assert ask(client_of(server), tools=tools_of("a"), tool_choice="required").content == "done"
        assert "tools" not in server.requests[-1].body
