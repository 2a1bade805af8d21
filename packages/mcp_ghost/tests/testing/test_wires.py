"""One script plays in the format of every provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from mcp_ghost.providers.common import tool_names
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, error_reply, tool_reply
from tests.support.conversations import READ, SYSTEM, USER, exchange
from tests.support.provider_requests import request_for
from tests.support.wires import WIRES, chosen, provider_of

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse, Message
    from mcp_ghost.testing.wires import WireName


def post(server: ModelServer, wire: WireName, messages: list[Message], **options: Any) -> Any:  # noqa: ANN401  any JSON
    provider = provider_of(wire)
    request = provider.encode(
        request_for(
            messages, provider.default_model, base_url=server.base_url, **chosen(wire), **options
        )
    )
    url = server.base_url + request.path
    return httpx2.post(url, json=request.payload, headers=request.headers, trust_env=False)


def read(wire: WireName, answer: httpx2.Response) -> LLMResponse:
    return provider_of(wire).decode(answer.json(), tool_names([], [READ]), model="?")


@pytest.mark.parametrize("wire", WIRES)
def test_a_script_sees_and_says_the_same_on_every_wire(wire: WireName) -> None:
    seen: list[ModelRequest] = []

    def script(request: ModelRequest) -> Reply | str:
        seen.append(request)
        if request.last["role"] == "user" and len(request.messages) == 2:
            return tool_reply([("fs.read", {"path": "a"})], "One moment.")
        return f"{request.last['content']}, {len(request.messages)} messages"

    with ModelServer(script, wire=wire) as server:
        first = read(wire, post(server, wire, [SYSTEM, USER], tools=[READ]))
        second = read(wire, post(server, wire, exchange(), tools=[READ]))
    assert server.refusals == []
    assert first.text == "One moment."
    assert first.tool_calls
    assert first.tool_calls[0].function.name == "fs.read"
    assert second.content == "What is in the file?, 6 messages"
    assert seen[0].tool_names == ["fs_read"]
    assert [message["role"] for message in seen[1].messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    assistant, result, failure = seen[1].messages[2:5]
    assert assistant["content"] == "Let me see."
    assert result["tool_call_id"] == assistant["tool_calls"][0]["id"]
    assert result["content"] == '{"text": "A"}'
    assert failure["content"] == "no such tool"


@pytest.mark.parametrize("wire", WIRES)
def test_no_tool_is_on_offer_where_none_may_be_chosen(wire: WireName) -> None:
    with ModelServer(["Fine."], wire=wire) as server:
        post(server, wire, exchange(), known_tools=[READ])
    assert server.refusals == []
    assert server.requests[0].tool_names == []


@pytest.mark.parametrize("wire", WIRES)
def test_names_in_a_script_follow_the_namespace_of_the_client(wire: WireName) -> None:
    script = [tool_reply([("fs.read", {})])]
    with ModelServer(script, wire=wire, namespace="my ghost") as server:
        answer = post(server, wire, [USER], tools=[READ]).json()
    names = tool_names([], [READ], "my ghost")
    response = provider_of(wire).decode(answer, names, model="?")
    assert response.tool_calls
    assert response.tool_calls[0].function.name == "fs.read"


@pytest.mark.parametrize("wire", WIRES)
def test_failures_have_the_shape_of_the_provider(wire: WireName) -> None:
    with ModelServer([error_reply(429, "slow down")], wire=wire) as server:
        failed = post(server, wire, [USER])
        missing = httpx2.post(f"{server.base_url}/elsewhere", json={}, trust_env=False)
    shapes: dict[str, set[str]] = {
        "openai": {"message", "type", "param", "code"},
        "responses": {"message", "type", "param", "code"},
        "anthropic": {"message", "type"},
        "gemini": {"message", "code", "status"},
    }
    assert failed.status_code == 429
    assert failed.json()["error"]["message"] == "slow down"
    assert set(failed.json()["error"]) == shapes[wire]
    assert missing.status_code == 404
    assert set(missing.json()["error"]) == shapes[wire]


@pytest.mark.parametrize("wire", WIRES)
def test_a_reply_in_the_providers_own_words_is_sent_as_it_is(wire: WireName) -> None:
    with ModelServer([Reply({"odd": True})], wire=wire) as server:
        assert post(server, wire, [USER]).json() == {"odd": True}


@pytest.mark.parametrize("wire", WIRES)
def test_broken_arguments_reach_the_client(wire: WireName) -> None:
    with ModelServer([tool_reply([("fs.read", "x")])], wire=wire) as server:
        response = read(wire, post(server, wire, [USER], tools=[READ]))
    assert response.tool_calls
    assert response.tool_calls[0].function.arguments == "x"


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_of_the_wrong_shape_is_refused_not_dropped(wire: WireName) -> None:
    with ModelServer(wire=wire) as server:
        path = (
            provider_of(wire)
            .encode(request_for([USER], base_url=server.base_url, **chosen(wire)))
            .path
        )
        shapes: list[Any] = [
            {"messages": 3},
            {"contents": [3]},
            {"messages": [{"content": [3]}]},
            [],
        ]
        for body in shapes:
            answer = httpx2.post(server.base_url + path, json=body, trust_env=False)
            assert answer.status_code == 400
