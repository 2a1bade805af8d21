import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_client import FunctionCall, LLMClient, LLMResponse, ToolCall, supports_tool_calling
from mcp_ghost.errors import LLMStatusError, MCPError
from mcp_ghost.messages import Message, assistant_message, tool_message
from mcp_ghost.testing import (
    ModelRequest,
    ModelServer,
    Reply,
    content_reply,
    error_reply,
    tool_reply,
)
from mcp_ghost.testing.refusals import ServerDialect
from session.game_configuration import GameConfiguration

THINK = {
    "type": "function",
    "function": {
        "name": "thoughtbox.think",
        "description": "Structured reasoning",
        "parameters": {"type": "object", "properties": {"thought": {"type": "string"}}},
    },
}
ANSWER_FORMAT = {"type": "json_object"}
URLS: dict[ServerDialect, str] = {
    "generic": "http://models.example/v1",
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "ZORKGPT_CLIENT_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def provider(server: ModelServer, dialect: ServerDialect, **options: Any) -> LLMClient:  # noqa: ANN401  any setting
    """A client that takes ``server`` for the provider of ``dialect``."""
    config = GameConfiguration(**{"retry_max_attempts": 1, **options})
    return LLMClient(config=config, base_url=URLS[dialect], transport=server.async_transport())


def start() -> list[Message]:
    return [{"role": "system", "content": "Play."}, {"role": "user", "content": "A dark room."}]


# --- the shapes (requirement 4)


def test_a_response_can_stand_for_tool_calls() -> None:
    call = ToolCall(id="call_1", type="function", function=FunctionCall("thoughtbox.think", "{}"))
    response = LLMResponse(
        content=None, model="gpt-4", tool_calls=[call], finish_reason="tool_calls"
    )
    assert response.tool_calls == [call]
    assert response.usage is None


def test_a_plain_response_needs_content_and_model_only() -> None:
    response = LLMResponse(content="north", model="gpt-4")
    assert (response.tool_calls, response.finish_reason) == (None, None)


@pytest.mark.parametrize("dialect", list(URLS))
def test_tools_go_out_in_openai_format_and_calls_come_back_decoded(
    dialect: ServerDialect,
) -> None:
    script = [tool_reply([("thoughtbox.think", {"thought": "é"})], "I wonder.")]
    with ModelServer(script, dialect=dialect) as server:
        response = provider(server, dialect).chat_completions_create(
            "gpt-4.1", start(), tools=[THINK], tool_choice="auto"
        )
    sent = server.requests[0].body
    assert sent["tools"] == [
        {"type": "function", "function": {**THINK["function"], "name": "thoughtbox_think"}}  # type: ignore[dict-item]  # a literal
    ]
    assert sent["tool_choice"] == "auto"
    assert response.content is None
    assert response.text == "I wonder."
    assert response.finish_reason == "tool_calls"
    (call,) = response.tool_calls or []
    assert call.type == "function"
    assert call.function.name == "thoughtbox.think"
    assert json.loads(call.function.arguments) == {"thought": "é"}


def test_an_answer_has_no_tool_calls() -> None:
    with ModelServer(["go north"]) as server:
        response = provider(server, "generic").chat_completions_create(
            "gpt-4.1", start(), tools=[THINK]
        )
    assert (response.content, response.tool_calls) == ("go north", None)


@pytest.mark.parametrize("dialect", list(URLS))
def test_a_conversation_with_two_calls_at_once_suits_every_provider(
    dialect: ServerDialect,
) -> None:
    def script(request: ModelRequest) -> Reply:
        if request.last["role"] == "tool":
            return content_reply("go north")
        return tool_reply([("thoughtbox.think", {"thought": each}) for each in "ab"])

    with ModelServer(script, dialect=dialect) as server:
        client = provider(server, dialect)
        messages = start()
        response = client.chat_completions_create("gpt-4.1", messages, tools=[THINK])
        messages.append(assistant_message(response))
        messages += [tool_message(call.id, "{}") for call in response.tool_calls or []]
        assert client.chat_completions_create("gpt-4.1", messages, tools=[THINK]).content
    history = server.requests[1].messages
    assert [message["role"] for message in history[2:]] == ["assistant", "tool", "tool"]
    names = {call["function"]["name"] for call in history[2]["tool_calls"]}
    assert names == {"thoughtbox_think"}
    assert server.refusals == []


@pytest.mark.parametrize("dialect", list(URLS))
def test_the_forced_final_request_suits_every_provider(dialect: ServerDialect) -> None:
    messages = start()
    asked = LLMResponse(None, "m", tool_calls=[_call("thoughtbox.think", "broken {")])
    messages += [assistant_message(asked), tool_message("c1", "{}")]
    messages += [{"role": "user", "content": "Give your final action."}]
    for options in ({"known_tools": [THINK]}, {}):
        with ModelServer(["{}"], dialect=dialect) as server:
            provider(server, dialect).chat_completions_create(
                "gpt-4.1",
                messages,
                tools=None,
                tool_choice=None,
                response_format=ANSWER_FORMAT,
                **options,  # type: ignore[arg-type]  # known_tools only
            )
        sent = server.requests[0]
        assert sent.tool_names == []
        assert sent.body["response_format"] == ANSWER_FORMAT
        assert ("tools" in sent.body) == (dialect == "openrouter")


def test_no_answer_format_is_sent_while_tools_are_on_offer() -> None:
    with ModelServer(["1", "2", "3"], dialect="openrouter") as server:
        client = provider(server, "openrouter")
        for options in ({"tools": [THINK]}, {"tools": [THINK], "tool_choice": "none"}, {}):
            client.chat_completions_create(
                "gpt-4.1",
                start(),
                response_format=ANSWER_FORMAT,
                **options,
            )
    formats = [request.body.get("response_format") for request in server.requests]
    assert formats == [None, ANSWER_FORMAT, ANSWER_FORMAT]


def _call(name: str, arguments: str) -> ToolCall:
    return ToolCall("c1", "function", FunctionCall(name, arguments))


# Property 15: Cache Control Metadata
@given(
    roles=st.lists(st.sampled_from(["system", "user"]), min_size=1, max_size=6),
    text=st.text(min_size=1, max_size=20).filter(str.strip),
)
def test_system_and_user_messages_ask_to_be_cached_without_being_told(
    roles: list[str], text: str
) -> None:
    messages = [{"role": role, "content": text} for role in roles]
    with ModelServer(lambda _: "ok", dialect="openrouter") as server:
        client = provider(server, "openrouter")
        client.chat_completions_create("anthropic/claude-sonnet-4.5", messages)
        client.close()
    listed = [m["content"] for m in server.requests[0].messages if isinstance(m["content"], list)]
    marked = [part for parts in listed for part in parts if "cache_control" in part]
    part = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
    assert marked == [part] * min(len(roles), 4)


def test_a_message_can_say_that_it_is_not_to_be_cached() -> None:
    messages = start()
    messages[1]["cache_control"] = None
    with ModelServer(["ok"], dialect="openrouter") as server:
        provider(server, "openrouter").chat_completions_create("m", messages)
    kinds = [type(message["content"]) for message in server.requests[0].messages]
    assert kinds == [list, str]


# --- which models take tools (requirement 12)


@pytest.mark.parametrize(
    "model",
    [
        "o1",
        "o1-preview",
        "openai/o1-mini",
        "openai/o1:online",
        "o3",
        "O3-Mini",
        "qwen/QwQ-32b",
        "deepseek/deepseek-r1",
        "deepseek-reasoner",
        "microsoft/phi-4-reasoning",
        "r1-1776",
        "gpt-4-reasoning",
    ],
)
def test_reasoning_models_take_no_tools(model: str) -> None:
    assert supports_tool_calling(model) is False


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4",
        "gpt-4o",
        "openai/gpt-3.5-turbo",
        "anthropic/claude-3.5-sonnet",
        "claude-opus-4",
        "claude-haiku-4.5",
        "google/gemini-2.5-pro",
        "mistralai/mixtral-8x7b",
        "meta-llama/llama-3.1-70b",
        "cohere/command-r-plus",
        "deepseek/deepseek-v3.2",
        "x-ai/grok-4-fast-non-reasoning",
        "Grok-4.20-0309-Non-Reasoning",
        "turbo1",
        "made-up-model",
    ],
)
def test_other_models_are_taken_to_take_tools(model: str) -> None:
    assert supports_tool_calling(model) is True


REASONING = ["o1-", "o3-", "qwq", "deepseek-r1", "deepseek-reasoner", "-reasoning", "r1-"]
model_text = st.text(alphabet="abcdefghijklmnpstuvwxyz2456789./", max_size=12)


# Property 13: Model Compatibility Detection
@given(before=model_text, pattern=st.sampled_from(REASONING), after=model_text, upper=st.booleans())
def test_a_reasoning_pattern_anywhere_in_the_name_decides(
    before: str, pattern: str, after: str, upper: bool
) -> None:
    model = f"{before}{pattern}{after}"
    model = model.upper() if upper else model
    assert supports_tool_calling(model) is False
    assert supports_tool_calling(model, force=True) is True
    assert supports_tool_calling(f"{before}gpt-4{after}") is True


def test_the_configuration_can_force_tools() -> None:
    with ModelServer(["ok"]) as server:
        forced = GameConfiguration(mcp_force_tool_support=True)
        client = provider(server, "generic")
        assert client._supports_tool_calling("o1-mini", client.config) is False
        assert client._supports_tool_calling("o1-mini", forced) is True
        assert client._supports_tool_calling("gpt-4") is True
        able = provider(server, "generic", mcp_force_tool_support=True)
        able.chat_completions_create("o1-mini", start(), tools=[THINK])
    assert server.requests[0].tool_names == ["thoughtbox_think"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (404, "No endpoints found that support tool use."),
        (404, "No endpoints found that support the provided 'tool_choice' value."),
        (400, "`tool calling` is not supported with this model"),
        (400, "`tools` is not supported with this model"),
        (400, "deepseek-reasoner does not support Function Calling"),
        (400, "Function calling is not enabled for models/gemma-3-12b-it"),
        (400, "Unsupported parameter: 'tools' is not supported with this model."),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
        (501, "tools param requires --jinja flag"),
    ],
)
def test_a_server_that_refuses_tools_is_an_error_that_says_how_to_go_on(
    status: int, said: str
) -> None:
    with ModelServer([error_reply(status, said), "ok"]) as server:
        client = provider(server, "generic")
        with pytest.raises(MCPError) as caught:
            client.chat_completions_create("gemma:2b", start(), tools=[THINK])
        assert client.chat_completions_create("gemma:2b", start()).content == "ok"
    for words in ("'gemma:2b' does not support tool calling.", said.strip("."), "mcp.enabled"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "'parallel_tool_calls' is not supported with this model"),
        (400, "temperature is not supported with this model"),
        (400, "tools.0.function.name: string does not match pattern"),
        (404, "The model `gpt-9` does not exist"),
        (401, "Incorrect API key provided"),
    ],
)
def test_another_refusal_of_a_request_with_tools_stays_what_it_is(status: int, said: str) -> None:
    refused = pytest.raises(LLMStatusError, match=re.escape(said[:20]))
    with ModelServer([error_reply(status, said)] * 4) as server, refused:
        provider(server, "generic").chat_completions_create("m", start(), tools=[THINK])


def test_tools_for_a_model_that_takes_none_are_an_error_before_anything_is_sent() -> None:
    with ModelServer() as server, pytest.raises(MCPError) as caught:
        provider(server, "generic").chat_completions_create("deepseek-r1", start(), tools=[THINK])
    assert str(caught.value) == (
        "Model 'deepseek-r1' does not support tool calling.\n"
        "Please either:\n"
        "  1. Set mcp.enabled = false in pyproject.toml, or\n"
        "  2. Use a compatible model (gpt-4, claude-3, etc.)"
    )
    assert server.requests == []
