import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_client import (
    FunctionCall,
    LLMClient,
    LLMResponse,
    ToolCall,
    refuses_tools,
    supports_tool_calling,
)
from mcp_ghost.errors import LLMStatusError, MCPError
from mcp_ghost.messages import Message, assistant_message, tool_message
from mcp_ghost.providers.common import WireChoice
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
from tests.support.work import growth

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
        response = provider(server, dialect, llm_wire="chat").chat_completions_create(
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


@pytest.mark.parametrize(
    ("wire", "field"), [("chat", "messages"), ("responses", "input"), ("auto", "input")]
)
def test_requests_go_out_on_the_wire_that_is_set(wire: WireChoice, field: str) -> None:
    with ModelServer(["go north"], dialect="openai") as server:
        client = provider(server, "openai", llm_wire=wire)
        assert client.chat_completions_create("gpt-4.1", start()).content == "go north"
    assert field in server.requests[0].body


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
            provider(server, dialect, llm_wire="chat").chat_completions_create(
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
@settings(max_examples=100)
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
@settings(max_examples=100)
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


# In the words of servers, routers and proxies, and in some that they might use.
REFUSES_TOOLS = [
    "registry.ollama.ai/library/gemma:2b does not support tools",
    "No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs",
    "No endpoints found that support the provided 'tool_choice' value.",
    "`tool calling` is not supported with this model",
    "`tools` is not supported with this model",
    "deepseek-reasoner does not support Function Calling",
    "deepseek-reasoner does not support this tool_choice",
    "Function calling is not enabled for models/gemma-3-12b-it",
    "Unsupported parameter: 'tools' is not supported with this model.",
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser',
    "tools param requires --jinja flag",
    "m does not support 'tools'",
    "together_ai does not support parameters: tools",
    "litellm: together_ai does not support parameters: {'tools': [{'type': 'function'}]}, for m",
    "bedrock does not support parameters: ['tools', 'tool_choice'], for model=m",
    "Tool use is not available",
    "tools is not supported in this model. For a list of supported models, refer to https://platform.openai.com/docs",
    "Tools is not supported in this model.",
    "400 Function call is not supported for this model.",
    "<400> InternalError.Algo.InvalidParameter: The tool call is not supported.",
    '{"code":400, "message":"model features function calling not support", "metadata":{}}',
    "This model doesn't support tool use.",
    "This model does not support the 'tools' parameter.",
    "Tool calling is currently not supported for this model",
    "tools not supported",
    "Unrecognized request argument supplied: tools",
    "Unrecognized request arguments supplied: tool_choice, tools",
    "Unknown parameter: 'tools'.",
    '{"code":"invalid argument","error":"Argument not supported on this model: tools"}',
    "The model lacks support for function calling.",
    "This model has no tool support",
    "This model cannot use tools",
    "model m is not capable of tool calling",
    "Tool use is disabled for this model",
    "Tools are unavailable for m",
    "Tool use isn't supported by m.",
    "Invalid request: this model doesn't yet support native tool calling",
    "Support for tools is not available in this model",
    '{"error":{"message":"stablelm2:latest does not support tools","type":"api_error"}}',
    "Sorry, tools are not supported by this endpoint",
    "Model x doesn't support function calls.",
    "This endpoint does not accept tools",
    "Functions are not supported",
    "tool calling not supported by provider",
    "No tool support for model x",
    "the requested model does not support tool_choice",
    "Provider returned error: tool use not enabled",
    "model does not have tool calling enabled",
    "this model is not compatible with tools",
    "Extra inputs are not permitted: tools",
]
REFUSES_ELSE = [
    "parameter 'format' in function is not supported",
    "'parallel_tool_calls' is not supported with this model",
    "temperature is not supported with this model",
    "tools.0.function.name: string does not match pattern",
    "The model `gpt-9` does not exist",
    "Incorrect API key provided",
    "Unknown parameter: 'tools[0].function.strict'.",
    "Unsupported parameter: 'tools[0].strict' is not supported with this model.",
    "Invalid schema for function 'think': In context=('properties',), 'oneOf' is not permitted.",
    "Invalid schema for function 'think': 'default' is not supported",
    "`tool_use` ids were found without `tool_result` blocks immediately after",
    "Function name 'a.b' is not supported",
    "Function calling with a response mime type: 'application/json' is unsupported",
    "json mode cannot be combined with tool/function calling",
    "Tool use with response_format is not supported",
    "This model does not support parallel tool calls",
    "Parallel tool calls are not supported for this model",
    "Strict tools are not supported for this model",
    "'tool_choice' does not support 'required' with this model",
    "tool_choice is not supported with thinking",
    "Thinking may not be enabled when tool_choice forces tool use.",
    "More than 128 tools are not supported",
    "Tool type 'custom' is not supported",
    "Function parameters of type 'null' are not supported",
    "The tool 'thoughtbox_think' does not support the argument x",
    "Tool call validation failed: attempted to call tool 'x' which was not in request.tools",
    "Unknown name \"$schema\" at 'request.tools[0].function_declarations[0]': Cannot find field.",
    "Unknown name \"title\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
    "response_format and tools are not supported together",
    "This model does not support tools and response_format at the same time",
    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    "An assistant message with 'tool_calls' must be followed by tool messages",
    "model does not support image input",
    "tools: Input should be a valid list",
    "tools: too many items",
    "Duplicate tool names are not allowed",
    "Tool descriptions longer than 1024 characters are not supported",
    "Cannot use tool think: it was not provided",
    "The tool is not available",
    "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
    "Function with name think is not supported",
    "Extra inputs are not permitted: tools.0.strict",
    "tool call arguments that are not JSON are not supported",
    "Tools with images are not supported",
    "Streaming with tools is not supported",
    "stop is not supported when using tools",
    "The format of a tool's parameters is not supported",
    "Unsupported parameter: 'parallel_tool_calls' is not supported without tools",
    "No tool output found for function call call_1",
    "Rate limit reached for tools requests",
]


@pytest.mark.parametrize("said", REFUSES_TOOLS)
def test_a_refusal_of_tools_is_known_by_what_it_says_of_them(said: str) -> None:
    assert refuses_tools(said)
    assert refuses_tools(f"The provider answered 400: {said}")


@pytest.mark.parametrize("said", REFUSES_ELSE)
def test_a_refusal_of_something_in_or_beside_tools_is_none_of_tools(said: str) -> None:
    assert not refuses_tools(said)
    assert not refuses_tools(f"The provider answered 400: {said}")


@pytest.mark.parametrize("words", ["no ", "tools ", "unknown tools, ", "not support the "])
def test_a_refusal_is_searched_in_linear_time(words: str) -> None:
    assert growth(lambda size: refuses_tools(words * (size // len(words))), 16_000) < 9


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (404, "No endpoints found that support tool use."),
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
        (400, "parameter 'format' in function is not supported"),
        (404, "The model `gpt-9` does not exist"),
        (401, "Incorrect API key provided"),
    ],
)
def test_another_refusal_of_a_request_with_tools_stays_what_it_is(status: int, said: str) -> None:
    refused = pytest.raises(LLMStatusError, match=re.escape(said[:20]))
    with ModelServer([error_reply(status, said)] * 4) as server, refused:
        provider(server, "generic").chat_completions_create("m", start(), tools=[THINK])
