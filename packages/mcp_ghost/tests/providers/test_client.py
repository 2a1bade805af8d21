from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.errors import LLMError, LLMStatusError
from mcp_ghost.messages import Usage, assistant_message, tool_message
from mcp_ghost.providers import registry
from mcp_ghost.providers.client import get_llm_client
from mcp_ghost.providers.openai import OpenAI
from mcp_ghost.providers.refusal import Accepted
from mcp_ghost.providers.registry import UnknownProviderError, get_provider, register_provider
from mcp_ghost.testing import (
    ModelRequest,
    ModelServer,
    Reply,
    content_reply,
    error_reply,
    tool_reply,
)
from tests.support.conversations import READ, SYSTEM, USER
from tests.support.provider_clients import HEADER, KEY, ask, client_of
from tests.support.wires import WIRES, llm_client, provider_of

if TYPE_CHECKING:
    from mcp_ghost.messages import Message
    from mcp_ghost.testing.wires import WireName


# --- choosing


def test_an_unknown_provider_is_an_error_that_lists_the_known_ones() -> None:
    for name in ("mistral", "", None):
        with pytest.raises(UnknownProviderError, match="openai, anthropic, gemini") as caught:
            get_llm_client(name, "key")  # type: ignore[arg-type]  # as users may
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, LLMError)


def test_names_of_providers_may_be_written_large() -> None:
    assert get_provider(" Anthropic ").name == "anthropic"


def test_an_address_chooses_the_provider_that_speaks_there() -> None:
    home, default = "https://generativelanguage.googleapis.com", get_provider("anthropic")
    assert registry.provider_at(home, default).name == "gemini"
    assert type(registry.provider_at(f"{home}/v1beta/openai", default)) is OpenAI
    for elsewhere in ("http://127.0.0.1:8080/v1", "http://[::1"):
        assert registry.provider_at(elsewhere, default) is default


@pytest.mark.parametrize("wire", WIRES)
def test_without_a_model_the_providers_default_is_asked(wire: WireName) -> None:
    with ModelServer(["Fine.", "Fine."], wire=wire) as server:
        client = client_of(server, wire)
        assert ask(client).model == client.model == provider_of(wire).default_model
        assert ask(client_of(server, wire, model="another")).model == "another"


def test_users_can_add_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_PROVIDERS", dict(registry._PROVIDERS))

    class Mine(OpenAI):
        name = "Mine"
        default_model = "mine-1"

    register_provider(Mine())
    with ModelServer(["Fine."]) as server:
        assert ask(get_llm_client("mine", base_url=server.base_url)).content == "Fine."
    assert server.requests[0].body["model"] == "mine-1"
    with pytest.raises(UnknownProviderError, match="mine"):
        get_provider("other")


# --- keys and addresses


@pytest.mark.parametrize("wire", WIRES)
def test_a_missing_key_is_an_error_that_names_the_variable(wire: WireName) -> None:
    variables = provider_of(wire).key_variables
    with pytest.raises(LLMError, match=" or ".join(variables)):
        llm_client(wire)


@pytest.mark.parametrize("wire", WIRES)
def test_the_key_goes_into_its_header_and_nowhere_else(wire: WireName) -> None:
    with ModelServer(["Fine."], wire=wire) as server:
        ask(client_of(server, wire))
    (request,) = server.requests
    assert KEY in request.headers.pop(HEADER[wire])
    assert KEY not in json.dumps([request.body, request.headers])


@pytest.mark.parametrize("wire", WIRES)
def test_on_loopback_no_key_is_needed(wire: WireName) -> None:
    with ModelServer(["Fine."], wire=wire) as server:
        assert ask(client_of(server, wire, api_key=None)).content == "Fine."
    assert HEADER[wire] not in server.requests[0].headers


def key_used(wire: WireName = "gemini", **arguments: str) -> str:
    with ModelServer(["Fine."], wire=wire) as server:
        ask(llm_client(wire, base_url=server.base_url, **arguments))
    return server.requests[0].headers[HEADER[wire]]


def test_an_argument_beats_the_environment_which_beats_the_dotenv_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(".env").write_text("GEMINI_API_KEY=of-dotenv\nOTHER=1\n", encoding="utf-8")
    before = dict(os.environ)
    assert key_used() == "of-dotenv"
    assert dict(os.environ) == before
    monkeypatch.setenv("GOOGLE_API_KEY", "")
    assert key_used() == "of-dotenv"
    monkeypatch.setenv("GEMINI_API_KEY", "of-gemini")
    assert key_used() == "of-gemini"
    monkeypatch.setenv("GOOGLE_API_KEY", "of-google")
    assert key_used() == "of-google"
    assert key_used(api_key="of-argument") == "of-argument"


def test_a_dotenv_file_that_cannot_be_read_is_named() -> None:
    Path(".env").write_bytes(b"GEMINI_API_KEY=\xe4\n")
    with pytest.raises(LLMError, match=r"^Cannot read \.env: it is not UTF-8\."):
        key_used()


@pytest.mark.parametrize("wire", WIRES)
def test_the_address_may_come_from_the_environment(
    wire: WireName, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = provider_of(wire).base_url_variable
    with ModelServer(["one", "two"], wire=wire) as server:
        monkeypatch.setenv(variable, server.base_url)
        assert ask(llm_client(wire, KEY)).content == "one"
        monkeypatch.delenv(variable)
        Path(".env").write_text(f"{variable}={server.base_url}/\n", encoding="utf-8")
        assert ask(llm_client(wire, KEY)).content == "two"


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    with pytest.raises(LLMError, match="in api_key") as caught:
        get_llm_client("openai", "secret-key\n")
    assert "secret-key" not in str(caught.value)


# --- replies


@pytest.mark.parametrize("wire", WIRES)
async def test_create_completion_gives_the_same_for_every_provider(wire: WireName) -> None:
    usage = {
        "prompt_tokens": 50,
        "completion_tokens": 7,
        "total_tokens": 57,
        "prompt_tokens_details": {"cached_tokens": 40},
    }
    script: list[Reply | str] = [
        tool_reply([("fs.read", {"path": "a"})], "One moment.", usage=usage, reasoning="Hm."),
        content_reply("Fine.", usage=usage),
    ]
    with ModelServer(script, wire=wire) as server:

        async def both() -> list[dict[str, Any]]:
            async with client_of(server, wire, model="m") as client:
                return [await client.create_completion([SYSTEM, USER], [READ]) for _ in range(2)]

        called, answered = await both()
    counted = {
        "prompt_tokens": 50,
        "completion_tokens": 7,
        "total_tokens": 57,
        "cached_tokens": 40,
    }
    (call,) = called.pop("tool_calls")
    called.pop("provider_state")
    assert call.pop("id")
    assert call == {
        "type": "function",
        "function": {"name": "fs.read", "arguments": '{"path": "a"}'},
    }
    assert called == {
        "content": "One moment.",
        "finish_reason": "tool_calls",
        "model": "m",
        "usage": counted,
        "reasoning": "Hm.",
    }
    assert answered == {
        "content": "Fine.",
        "tool_calls": None,
        "finish_reason": "stop",
        "model": "m",
        "usage": counted,
        "reasoning": None,
        "provider_state": None,
    }


@pytest.mark.parametrize("wire", WIRES)
def test_a_whole_conversation_with_a_namespace_is_accepted(wire: WireName) -> None:
    calls = [("fs.read", {"path": "a"}), ("fs.read", {"path": "b"})]
    script: list[Reply | str] = [
        tool_reply(calls, "Both.", reasoning="Two."),
        tool_reply(calls[:1]),
        "Done.",
    ]
    with ModelServer(script, wire=wire, namespace="mcp_ghost") as server:

        async def converse() -> str | None:
            messages: list[Message] = [SYSTEM, USER]
            async with client_of(server, wire) as client:
                for _ in range(2):
                    response = await client.complete(messages, tools=[READ], namespace="mcp_ghost")
                    assert response.tool_calls
                    assert {c.function.name for c in response.tool_calls} == {"fs.read"}
                    messages.append(assistant_message(response))
                    messages += [tool_message(c.id, "ok") for c in response.tool_calls]
                last = await client.complete(messages, known_tools=[READ], namespace="mcp_ghost")
                return last.content

        assert asyncio.run(converse()) == "Done."
    assert server.refusals == []
    assert server.requests[1].tool_names == ["mcp_ghost_fs_read"]
    names = [call["function"]["name"] for call in server.requests[2].messages[2]["tool_calls"]]
    assert names == ["mcp_ghost_fs_read"] * 2


def test_an_empty_reply_is_asked_for_once_more_and_both_are_counted() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6, "cost": 0.25}
    for last in ("Fine.", ""):
        with ModelServer(
            [content_reply("", usage=usage), content_reply(last, usage=usage)]
        ) as server:
            response = ask(client_of(server))
        assert response.content == (last or None)
        assert response.usage
        assert response.usage["total_tokens"] == 12
        assert response.cost == 0.5
        assert response.spent == Usage(2, 10, 0, 2, 0.5)


def test_defaults_of_the_client_give_way_to_what_a_call_says() -> None:
    with ModelServer(["1", "2"]) as server:
        client = client_of(server, max_tokens=9, temperature=0.5)
        ask(client)
        ask(client, max_tokens=3)
    assert [request.body["max_tokens"] for request in server.requests] == [9, 3]
    assert [request.body["temperature"] for request in server.requests] == [0.5, 0.5]


def test_a_model_that_writes_less_is_asked_for_as_much_as_it_says() -> None:
    with ModelServer(["ok", "ok", "ok"], wire="anthropic") as server:  # which refuses as they do
        client = client_of(server, "anthropic", model="claude-3-haiku-20240307")
        assert [ask(client).content, ask(client).content] == ["ok", "ok"]
        assert ask(client, max_tokens=7).content == "ok"
    longest = [request.body["max_tokens"] for request in server.requests]
    assert longest == [64_000, 4096, 4096, 7]


@pytest.mark.parametrize(
    ("said", "next_limit"),
    [
        (
            "max_tokens is too large: 64000. This model supports at most 16384 completion tokens",
            16384,
        ),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
        ("input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000", 50_000),
        ("input length and `max_tokens` exceed context limit: 199500 + 64000 > 200000", None),
        ("This model supports at most 99999 completion tokens", None),
        ("messages: at least one message is required", None),
    ],
)
def test_however_it_says_so(said: str, next_limit: int | None) -> None:
    accepted, payload = Accepted(), {"max_tokens": 64_000}
    learned = accepted.learn(payload, LLMStatusError(said, status=400))
    assert learned == (
        {"max_tokens": f"with max_tokens of at most {next_limit}"} if next_limit else {}
    )
    assert accepted.of(payload) == {"max_tokens": next_limit or 64_000}


def test_what_a_model_refuses_is_left_out_from_then_on() -> None:
    def script(request: ModelRequest) -> Reply | str:
        refused = "temperature" in request.body
        return error_reply(400, "`temperature` is deprecated for this model.") if refused else "ok"

    with ModelServer(script, wire="anthropic") as server:
        client = client_of(server, "anthropic", model="claude-haiku-4-5", temperature=0.5)
        assert [ask(client).content for _ in range(2)] == ["ok", "ok"]
    assert [("temperature" in request.body) for request in server.requests] == [True, False, False]
