"""Whatever JSON a model's server sends, whole or in pieces, is read, or an error says why not."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_ghost.errors import LLMReplyError, LLMStatusError
from mcp_ghost.messages import LLMResponse, assistant_message, tool_message
from mcp_ghost.names import ToolNames
from mcp_ghost.providers.common import (
    MOST_DOLLARS,
    MOST_TOKENS,
    LLMRequest,
    StreamingProvider,
    doubtful,
)
from mcp_ghost.providers.streaming import EventReader
from mcp_ghost.providers.transport import encode_json
from mcp_ghost.testing import streams
from tests.support.wires import chosen, provider_of

BODIES: dict[str, list[dict[str, Any]]] = {
    "openai": [
        {
            "model": "m",
            "choices": [
                {
                    "finish_reason": "tool_calls",
                    "message": {
                        "content": "<think>Why?</think>Well.",
                        "refusal": None,
                        "reasoning": "Hm.",
                        "reasoning_details": [{"type": "text", "text": "Hm."}],
                        "tool_calls": [
                            {
                                "id": "call_1",
                                "type": "function",
                                "extra_content": {"google": {"thought_signature": "abc"}},
                                "function": {"name": "s_t", "arguments": '{"a": 1}'},
                            },
                            {"id": "call_1", "function": {"name": "x_y", "arguments": "{}"}},
                        ],
                    },
                }
            ],
            "usage": {
                "prompt_tokens": 3,
                "completion_tokens": 2,
                "total_tokens": 5,
                "cost": 0.5,
                "prompt_tokens_details": {"cached_tokens": 1},
            },
        },
        {"choices": [{"message": {"content": [{"type": "text", "text": "Hi."}]}}]},
        {"error": {"code": 429, "message": "slowly", "metadata": {"raw": "why"}}},
    ],
    "responses": [
        {
            "object": "response",
            "model": "m",
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
            "output": [
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "Hm."}],
                    "encrypted_content": "abc",
                },
                {
                    "type": "message",
                    "id": "msg_1",
                    "phase": "commentary",
                    "content": [{"type": "output_text", "text": "Well."}],
                },
                {
                    "type": "function_call",
                    "id": "fc_1",
                    "call_id": "1",
                    "name": "s_t",
                    "arguments": "{}",
                },
                {
                    "type": "function_call",
                    "id": "fc_2",
                    "call_id": "1",
                    "name": "x_y",
                    "arguments": "{}",
                },
            ],
            "usage": {
                "input_tokens": 3,
                "input_tokens_details": {"cached_tokens": 1},
                "output_tokens": 2,
                "total_tokens": 5,
            },
        },
        {"object": "response", "output": [], "error": {"code": "server_error", "message": "busy"}},
        {"object": "response", "status": "failed", "output": []},
    ],
    "anthropic": [
        {
            "model": "m",
            "stop_reason": "tool_use",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "abc"},
                {"type": "text", "text": "Well."},
                {"type": "tool_use", "id": "toolu_1", "name": "s_t", "input": {"a": 1}},
                {"type": "tool_use", "id": "toolu_1", "name": "x_y", "input": {}},
            ],
            "usage": {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 1},
        },
        {"stop_reason": "refusal", "content": [], "usage": {"input_tokens": 3}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
    ],
    "gemini": [
        {
            "modelVersion": "m",
            "candidates": [
                {
                    "finishReason": "STOP",
                    "finishMessage": "done",
                    "content": {
                        "parts": [
                            {"text": "Hm.", "thought": True},
                            {"text": "Well.", "thoughtSignature": "abc"},
                            {"functionCall": {"id": "1", "name": "s_t", "args": {"a": 1}}},
                            {"functionCall": {"id": "1", "name": "x_y"}},
                        ]
                    },
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 3,
                "candidatesTokenCount": 2,
                "thoughtsTokenCount": 1,
                "totalTokenCount": 6,
                "cachedContentTokenCount": 1,
            },
        },
        {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "no"}},
        {"error": {"code": 503, "message": "busy", "details": [{"retryDelay": "1s"}]}},
    ],
}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([-1, 10**300, float("nan"), float("inf"), -0.0, 1e300])
    | st.text(max_size=8)
    | st.sampled_from(["text", "tool_use", "thinking", "SAFETY", "MAX_TOKENS", "{", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value: object) -> list[tuple[Any, Any]]:
    """Every (container, key) in ``value``."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = [*value.items()]
    elif isinstance(value, list):
        items = [*enumerate(value)]
    inner = (place for _, item in items for place in places(item))
    return [*((value, key) for key, _ in items), *inner]


@st.composite
def damaged(draw: st.DrawFn, wholes: list[Any]) -> Any:  # noqa: ANN401  any JSON
    """One of ``wholes`` in which a few things are something else, gone, or there twice."""
    whole = copy.deepcopy(draw(st.sampled_from(wholes)))
    for _ in range(draw(st.integers(0, 4))):
        if not (found := places(whole)):
            break
        container, key = draw(st.sampled_from(found))
        how = draw(st.sampled_from(["replace", "remove", "repeat"]))
        if how == "replace":
            container[key] = draw(JSON)
        elif how == "remove":
            del container[key]
        elif isinstance(container, list):
            container.append(copy.deepcopy(container[key]))
    return whole


@pytest.mark.fuzz
@pytest.mark.parametrize("wire", BODIES)
@given(data=st.data())
def test_a_decoder_reads_a_reply_or_says_what_is_wrong(wire: str, data: st.DataObject) -> None:
    body = data.draw(damaged(BODIES[wire]))
    doubtful(body)
    read(wire, body)


def pieces_of(wire: str) -> list[dict[str, Any]]:
    """The first reply of the wire as it would come piece by piece."""
    body = {"id": "1", "created": 1, "responseId": "1", "stop_sequence": None, **BODIES[wire][0]}
    events = {
        "openai": streams.openai_events,
        "responses": streams.responses_events,
        "anthropic": streams.anthropic_events,
        "gemini": streams.gemini_events,
    }[wire]
    sent = b"".join(events(body, {"stream_options": {"include_usage": True}}))
    return [*EventReader().feed(sent, is_last=True)]


@pytest.mark.fuzz
@pytest.mark.parametrize("wire", BODIES)
@given(data=st.data())
def test_pieces_are_put_together_whatever_they_say(wire: str, data: st.DataObject) -> None:
    provider = provider_of(wire)
    assert isinstance(provider, StreamingProvider)
    assembler = provider.assembler()
    for piece in data.draw(damaged([pieces_of(wire)])):
        if isinstance(piece, dict):
            assert all(isinstance(said, str) and said for _, said in assembler.add(piece))
    assert assembler.is_complete in (True, False)
    read(wire, assembler.body())


def read(wire: str, body: dict[str, Any]) -> None:
    try:
        reply = provider_of(wire).decode(body, ToolNames(["s.t", "x.y"]), model="m")
    except (LLMStatusError, LLMReplyError) as error:
        check_figures(error.usage.prompt_tokens, error.usage.completion_tokens, error.usage.cost)
        return
    check(reply)
    check_history(reply)


def check(reply: LLMResponse) -> None:
    assert reply.content is None or reply.tool_calls is None
    for said in (reply.content, reply.text, reply.reasoning, reply.finish_reason):
        assert said is None or (isinstance(said, str) and said)
    for figure in (reply.usage or {}).values():
        check_figures(figure)
    check_figures(reply.spent.prompt_tokens, reply.spent.completion_tokens, reply.spent.cost)
    for call in reply.tool_calls or ():
        assert call.id
        assert isinstance(call.function.name, str)
        assert isinstance(call.function.arguments, str)


def check_figures(*figures: float) -> None:
    for figure in figures:
        assert 0 <= figure <= max(3 * MOST_TOKENS, MOST_DOLLARS)


def check_history(reply: LLMResponse) -> None:
    """It can be recorded, and sent back over any wire."""
    calls = reply.tool_calls or ()
    assert len({call.id for call in calls}) == len(calls)
    said = assistant_message(reply)
    json.dumps(said)
    answers = [tool_message(call.id, "done") for call in calls]
    history = [{"role": "user", "content": "?"}, said, *answers, {"role": "user", "content": "!"}]
    for wire in BODIES:
        provider = provider_of(wire)
        request = LLMRequest(
            messages=history, model="m", base_url=provider.base_url, **chosen(wire)
        )
        encode_json(provider.encode(request).payload)
