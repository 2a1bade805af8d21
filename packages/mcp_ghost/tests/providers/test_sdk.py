"""The providers' own SDKs: they send what we send, and read from replies what we read.

They are imported where they are used: importing them takes seconds, in every worker that collects.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from pydantic import TypeAdapter

from mcp_ghost.golden.comparison import FIELDS
from mcp_ghost.providers.common import tool_names
from mcp_ghost.providers.registry import get_provider
from mcp_ghost.testing import ModelServer, Reply, tool_reply
from tests.support.conversations import (
    READ,
    SYSTEM,
    TOOLS,
    USER,
    asked,
    call,
    conversations,
    exchange,
)
from tests.support.provider_requests import KEY, REPLIES, payload, request_for
from tests.support.wires import WIRES, chosen, provider_of

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse, Message
    from mcp_ghost.names import ToolNames
    from mcp_ghost.testing.wires import WireName

# --- the request types of the SDKs


def consumed(value: Any) -> Any:  # noqa: ANN401  any JSON
    """Validated data with the lazy iterators in it run to their ends."""
    if isinstance(value, dict):
        return {key: consumed(each) for key, each in value.items()}
    if isinstance(value, list) or hasattr(value, "__next__"):
        return [consumed(each) for each in value]
    return value


@cache
def request_type(wire: str) -> TypeAdapter[Any]:
    if wire == "openai":
        from openai.types.chat import completion_create_params

        return TypeAdapter(completion_create_params.CompletionCreateParamsNonStreaming)
    if wire == "responses":
        from openai.types.responses import response_create_params

        return TypeAdapter(response_create_params.ResponseCreateParamsNonStreaming)
    from anthropic.types import message_create_params

    return TypeAdapter(message_create_params.MessageCreateParamsNonStreaming)


def typed(wire: str, sent: dict[str, Any]) -> dict[str, Any]:
    """``sent`` as the SDK's request types understand it; what they do not know is missing."""
    if wire != "gemini":
        understood: dict[str, Any] = consumed(request_type(wire).validate_python(sent))
        return understood
    from google.genai import types

    parts: dict[str, Any] = {
        "contents": types.Content,
        "systemInstruction": types.Content,
        "tools": types.Tool,
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
    }

    def understood_as(model: Any, value: Any) -> Any:  # noqa: ANN401  any model
        parsed = model.model_validate_json(json.dumps(value))
        return parsed.model_dump(mode="json", by_alias=True, exclude_none=True)

    return {
        key: [understood_as(parts[key], each) for each in value]
        if isinstance(value, list)
        else understood_as(parts[key], value)
        for key, value in sent.items()
    }


@pytest.mark.parametrize("wire", WIRES)
@given(messages=conversations())
def test_every_conversation_is_of_the_sdks_request_type(wire: str, messages: list[Message]) -> None:
    for options in ({"tools": TOOLS}, {"known_tools": TOOLS}, {"tools": TOOLS, "stop": "END"}):
        sent = payload(wire, messages, **options)
        assert typed(wire, sent) == sent


OPTIONS: list[dict[str, Any]] = [
    {"tools": TOOLS, "tool_choice": "auto", "max_tokens": 100},
    {"tools": TOOLS, "tool_choice": "required", "stop": ["a", "b"]},
    {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "fs_read"}}},
    {"tools": TOOLS, "tool_choice": "none", "parallel_tool_calls": False},
    {"tools": TOOLS, "parallel_tool_calls": False},
    {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "A", "schema": {"type": "object", "properties": {}}},
        }
    },
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("options", OPTIONS)
def test_every_option_is_of_the_sdks_request_type(wire: str, options: dict[str, Any]) -> None:
    sent = payload(wire, exchange(), **options)
    assert typed(wire, sent) == sent


def test_the_check_of_types_finds_what_a_type_does_not_know() -> None:
    for wire in ("openai", "responses", "anthropic"):
        sent = payload(wire, exchange(), tools=TOOLS)
        sent["input" if wire == "responses" else "messages"][0]["surprise"] = 1
        assert typed(wire, sent) != sent
    sent = payload("gemini", exchange(), tools=TOOLS)
    sent["contents"][0]["surprise"] = 1
    with pytest.raises(ValueError, match="surprise"):
        typed("gemini", sent)


# --- the clients of the SDKs, in front of the same server


def ask_openai(server: ModelServer, sent: dict[str, Any]) -> dict[str, Any]:
    import openai

    with openai.OpenAI(api_key=KEY, base_url=server.base_url, max_retries=0) as client:
        reply = client.chat.completions.create(**sent)
    message, usage = reply.choices[0].message, reply.usage
    assert usage is not None
    details = usage.prompt_tokens_details
    calls = [each for each in message.tool_calls or () if each.type == "function"]
    return {
        "text": message.content,
        "calls": [(each.id, each.function.name, each.function.arguments) for each in calls],
        "prompt": usage.prompt_tokens,
        "completion": usage.completion_tokens,
        "cached": details.cached_tokens if details else 0,
        "model": reply.model,
    }


def ask_responses(server: ModelServer, sent: dict[str, Any]) -> dict[str, Any]:
    import openai

    with openai.OpenAI(api_key=KEY, base_url=server.base_url, max_retries=0) as client:
        reply = client.responses.create(**sent)
    usage = reply.usage
    assert usage is not None
    calls = [each for each in reply.output if each.type == "function_call"]
    return {
        "text": reply.output_text or None,
        "calls": [(each.call_id, each.name, each.arguments) for each in calls],
        "prompt": usage.input_tokens,
        "completion": usage.output_tokens,
        "cached": usage.input_tokens_details.cached_tokens,
        "model": reply.model,
    }


def ask_anthropic(server: ModelServer, sent: dict[str, Any]) -> dict[str, Any]:
    import anthropic

    # Without a timeout of ours, it refuses by itself to wait for a reply that may be long.
    options: dict[str, Any] = {"base_url": server.base_url, "max_retries": 0, "timeout": 30}
    with anthropic.Anthropic(api_key=KEY, **options) as client:
        reply = client.messages.create(**sent)
    uses = [block for block in reply.content if block.type == "tool_use"]
    cached = reply.usage.cache_read_input_tokens or 0
    return {
        "text": "".join(block.text for block in reply.content if block.type == "text") or None,
        "calls": [(each.id, each.name, json.dumps(each.input)) for each in uses],
        "prompt": reply.usage.input_tokens + cached,
        "completion": reply.usage.output_tokens,
        "cached": cached,
        "model": reply.model,
    }


def ask_gemini(server: ModelServer, sent: dict[str, Any]) -> dict[str, Any]:
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=server.base_url, api_version="v1beta")
    with genai.Client(api_key=KEY, http_options=options) as client:
        reply = client.models.generate_content(
            model=get_provider("gemini").default_model,
            contents=[types.Content.model_validate_json(json.dumps(c)) for c in sent["contents"]],
            config=types.GenerateContentConfig(
                system_instruction=sent.get("systemInstruction"),
                tools=sent.get("tools"),
                tool_config=sent.get("toolConfig"),
                **sent.get("generationConfig", {}),
            ),
        )
    assert reply.candidates
    content, usage = reply.candidates[0].content, reply.usage_metadata
    assert content is not None
    assert usage is not None
    parts = content.parts or []
    calls = [part.function_call for part in parts if part.function_call]
    thoughts = usage.thoughts_token_count or 0
    return {
        "text": "".join(p.text for p in parts if p.text and not p.thought) or None,
        "calls": [(each.id, each.name, json.dumps(each.args)) for each in calls],
        "prompt": usage.prompt_token_count,
        "completion": (usage.candidates_token_count or 0) + thoughts,
        "cached": usage.cached_content_token_count,
        "model": reply.model_version,
    }


ASK: dict[str, Callable[[ModelServer, dict[str, Any]], dict[str, Any]]] = {
    "openai": ask_openai,
    "responses": ask_responses,
    "anthropic": ask_anthropic,
    "gemini": ask_gemini,
}


def read_by_us(wire: str, body: dict[str, Any], names: ToolNames) -> dict[str, Any]:
    response: LLMResponse = provider_of(wire).decode(body, names, model="?")
    assert response.usage is not None
    return {
        "text": response.content or response.text,
        "calls": [
            (each.id, names.encode(each.function.name), json.loads(each.function.arguments))
            for each in response.tool_calls or ()
        ],
        "prompt": response.usage["prompt_tokens"],
        "completion": response.usage["completion_tokens"],
        "cached": response.usage["cached_tokens"],
        "model": response.model,
    }


class Recording(ModelServer):
    """Keeps what it sent."""

    def answer(self, body: object, headers: dict[str, str]) -> Reply:
        self.sent = super().answer(body, headers)
        return self.sent


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("reply", REPLIES)
def test_the_sdk_reads_from_a_reply_what_we_read(wire: WireName, reply: Reply) -> None:
    messages = [SYSTEM, USER]
    with Recording([reply], wire=wire) as server:
        theirs = ASK[wire](server, payload(wire, messages, tools=[READ]))
        assert isinstance(server.sent.body, dict)
        ours = read_by_us(wire, server.sent.body, tool_names(messages, [READ]))
    theirs["calls"] = [(*each[:2], json.loads(each[2])) for each in theirs["calls"]]
    assert ours == theirs
    assert (ours["prompt"], ours["completion"], ours["cached"]) == (90, 30, 64)


@pytest.mark.parametrize("wire", WIRES)
def test_the_sdk_sends_the_bytes_that_we_send(wire: WireName) -> None:
    sent = payload(wire, exchange(), tools=TOOLS, max_tokens=50)
    with ModelServer(["Fine."], wire=wire) as server:
        ASK[wire](server, sent)
    assert server.refusals == []
    assert server.requests[0].body == sent
    given = {"api_key": KEY, "base_url": server.base_url, **chosen(wire)}
    path = provider_of(wire).encode(request_for([USER], provider_of(wire).default_model, **given))
    assert server.requests[0].headers[":path"].endswith(path.path)
    theirs = {name: value for name, value in server.requests[0].headers.items() if KEY in value}
    assert theirs == {name.lower(): value for name, value in path.headers.items() if KEY in value}


@pytest.mark.parametrize("wire", WIRES)
def test_what_the_provider_wants_back_is_sent_back_as_the_sdk_would(wire: WireName) -> None:
    first = tool_reply(
        [("files.list.all", {"path": "a"}), ("files.list.all", {})], "Hm.", reasoning="Deep."
    )
    names = tool_names([], TOOLS)
    with Recording([first, "Done."], wire=wire) as server:
        ASK[wire](server, payload(wire, [USER], tools=TOOLS))
        assert isinstance(server.sent.body, dict)
        reply = server.sent.body
        response = provider_of(wire).decode(reply, names, model="?")
        calls = [
            call(each.function.name, each.function.arguments, each.id)
            for each in response.tool_calls or ()
        ]
        said = asked(*calls, text=response.text, provider_state=response.provider_state)
        answers: list[Message] = [
            {"role": "tool", "tool_call_id": each["id"], "content": "ok"} for each in calls
        ]
        ASK[wire](server, payload(wire, [USER, said, *answers], tools=TOOLS))
    assert server.refusals == []
    returned = server.requests[1].body
    if wire == "anthropic":
        assert returned["messages"][1]["content"] == reply["content"]
    elif wire == "responses":
        assert [it["type"] for it in returned["input"][1:4]] == [
            "reasoning",
            "message",
            "function_call",
        ]
        unsaid = {"status": "completed"}
        assert [unsaid | it for it in returned["input"][1:5]] == reply["output"]
    elif wire == "gemini":
        parts = reply["candidates"][0]["content"]["parts"]
        assert returned["contents"][1]["parts"] == [each for each in parts if "thought" not in each]


# --- the fields of the SDKs' replies


def aliases(model: Any) -> set[str]:  # noqa: ANN401  a pydantic class
    return {field.alias or name for name, field in model.model_fields.items()}


def known(provider: str, place: str = "") -> set[str]:
    return {name for names in FIELDS[provider][place].values() for name in names}


def test_every_field_of_the_official_sdks_is_known() -> None:
    import anthropic.types
    import google.genai.types
    import openai.types.chat
    import openai.types.responses
    from openai.types.chat.chat_completion import Choice

    chat = openai.types.chat
    assert set(chat.ChatCompletion.model_fields) <= known("openai")
    assert set(Choice.model_fields) <= known("openai", "choices[]")
    assert set(chat.ChatCompletionMessage.model_fields) <= known("openai", "choices[].message")
    assert set(openai.types.CompletionUsage.model_fields) <= known("openai", "usage")

    types_ = openai.types.responses
    assert set(types_.Response.model_fields) <= known("responses")
    assert set(types_.ResponseUsage.model_fields) <= known("responses", "usage")
    for item in (
        types_.ResponseOutputMessage,
        types_.ResponseReasoningItem,
        types_.ResponseFunctionToolCall,
    ):
        assert aliases(item) <= known("responses", "output[]")

    assert set(anthropic.types.Message.model_fields) <= known("anthropic")
    assert set(anthropic.types.Usage.model_fields) <= known("anthropic", "usage")
    for block in (
        anthropic.types.TextBlock,
        anthropic.types.ThinkingBlock,
        anthropic.types.RedactedThinkingBlock,
        anthropic.types.ToolUseBlock,
    ):
        assert set(block.model_fields) <= known("anthropic", "content[]")

    types = google.genai.types
    of_the_sdk_itself = {"sdkHttpResponse", "automaticFunctionCallingHistory", "parsed"}
    assert aliases(types.GenerateContentResponse) - of_the_sdk_itself <= known("gemini")
    assert aliases(types.Candidate) <= known("gemini", "candidates[]")
    part = "candidates[].content.parts[]"
    assert aliases(types.Part) <= known("gemini", part)
    assert aliases(types.FunctionCall) <= known("gemini", f"{part}.functionCall")
    usage = types.GenerateContentResponseUsageMetadata
    assert aliases(usage) <= known("gemini", "usageMetadata")
