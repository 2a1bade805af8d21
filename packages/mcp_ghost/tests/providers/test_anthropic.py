from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from mcp_ghost.errors import LLMReplyError, LLMStatusError
from mcp_ghost.messages import LLMResponse, assistant_message, tool_message
from mcp_ghost.providers.anthropic import DEFAULT_MAX_TOKENS, Anthropic
from mcp_ghost.providers.common import OPENING, tool_names
from mcp_ghost.testing.anthropic import refusal
from tests.support.conversations import (
    READ,
    SYSTEM,
    TOOLS,
    USER,
    asked,
    call,
    conversations,
    exchange,
    tool,
)
from tests.support.provider_requests import request_for

if TYPE_CHECKING:
    from mcp_ghost.messages import Message
    from mcp_ghost.providers.common import WireRequest

CACHE = {"type": "ephemeral"}
HEADERS = {"anthropic-version": "2023-06-01"}
THINKING = {"type": "thinking", "thinking": "Which file?", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "b3BhcXVl"}
USE = {"type": "tool_use", "id": "t1", "name": "files_list_all", "input": {"path": "ä"}}


def encode(
    messages: list[Message],
    base_url: str = Anthropic.base_url,
    **options: Any,  # noqa: ANN401  any option
) -> WireRequest:
    given = {"model": "claude-sonnet-4-6", "api_key": "key", "base_url": base_url, **options}
    return Anthropic().encode(request_for(messages, **given))


def payload(messages: list[Message], **options: Any) -> dict[str, Any]:  # noqa: ANN401  any option
    return encode(messages, **options).payload


def turns(messages: list[Message], **options: Any) -> list[dict[str, Any]]:  # noqa: ANN401  any option
    listed: list[dict[str, Any]] = payload(messages, **options)["messages"]
    return listed


def decode(
    *blocks: dict[str, Any],
    stop_reason: str | None = "end_turn",
    **body: Any,  # noqa: ANN401  any field
) -> LLMResponse:
    reply = {"content": list(blocks), "stop_reason": stop_reason, "model": "claude-x", **body}
    return Anthropic().decode(reply, tool_names([], TOOLS), model="asked-for")


def text(said: str, **fields: object) -> dict[str, Any]:
    return {"type": "text", "text": said, **fields}


# --- requests


@given(messages=conversations())
def test_no_conversation_is_refused(messages: list[Message]) -> None:
    for options in ({"tools": TOOLS}, {"known_tools": TOOLS}, {}):
        assert refusal(payload(messages, **options), HEADERS) is None


def test_the_whole_request_of_an_exchange() -> None:
    request = encode(exchange(), tools=[READ], namespace="ns")
    names = tool_names(exchange(), [READ], "ns")
    first, second = names.encode("fs.read"), names.encode("fs_read")
    assert first.startswith("ns_fs_read")
    assert first != second
    assert request.path == "/v1/messages"
    assert request.headers == {**HEADERS, "x-api-key": "key"}
    assert request.payload == {
        "model": "claude-sonnet-4-6",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "system": [text("Be brief.")],
        "messages": [
            {"role": "user", "content": [text("What is in the file?")]},
            {
                "role": "assistant",
                "content": [
                    text("Let me see."),
                    {
                        "type": "tool_use",
                        "id": "c1",
                        "name": first,
                        "input": {"path": "a"},
                    },
                    {"type": "tool_use", "id": "c2", "name": second, "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": '{"text": "A"}'},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "content": "no such tool",
                        "is_error": True,
                    },
                    text("What is in the file?"),
                ],
            },
        ],
        "tools": [
            {
                "name": first,
                "description": "Read a file.",
                "input_schema": READ["function"]["parameters"],
            }
        ],
        "tool_choice": {"type": "auto"},
    }


def test_an_address_may_hold_the_version() -> None:
    assert encode([USER], "http://127.0.0.1:1/v1").path == "/messages"
    assert encode([USER], "http://127.0.0.1:1/", api_key=None).headers == HEADERS


def test_system_messages_after_the_start_stay_in_their_place() -> None:
    late: Message = {"role": "system", "content": "Now be verbose."}
    sent = payload([SYSTEM, SYSTEM, USER, late])
    assert sent["system"] == [text("Be brief.")] * 2
    said = [text("What is in the file?"), text("Now be verbose.")]
    assert sent["messages"] == [{"role": "user", "content": said}]


@pytest.mark.parametrize(
    "messages", [[SYSTEM], [SYSTEM, {"role": "assistant", "content": "Hello."}]]
)
def test_the_user_opens_where_the_history_does_not_let_him(messages: list[Message]) -> None:
    sent = payload(messages)
    assert sent["messages"][0] == {"role": "user", "content": [text(OPENING)]}
    assert refusal(sent, HEADERS) is None


def test_images_are_blocks_of_their_own() -> None:
    urls = ["data:image/png;base64,aGk=", "https://example.org/a.png"]
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    sources = [
        {"type": "base64", "media_type": "image/png", "data": "aGk="},
        {"type": "url", "url": urls[1]},
    ]
    sent = turns([{"role": "user", "content": [*parts, {"type": "text", "text": "?"}]}])
    assert sent[0]["content"] == [*({"type": "image", "source": s} for s in sources), text("?")]


def test_results_may_be_blocks() -> None:
    listed = {**tool_message("c1", ""), "content": [{"type": "text", "text": "A"}]}
    (result,) = turns([USER, asked(call("a.b")), listed])[2]["content"]
    assert result["content"] == [text("A")]
    empty = turns([USER, asked(call("a.b")), tool_message("c1", "")])[2]["content"]
    assert empty == [{"type": "tool_result", "tool_use_id": "c1"}]


def test_ids_of_other_providers_are_spelled_as_anthropic_wants_them() -> None:
    sent = turns(
        [USER, asked(call("a.b", call_id="functions.x:0")), tool_message("functions.x:0", "1")]
    )
    sent_id = sent[1]["content"][0]["id"]
    assert sent_id == sent[2]["content"][0]["tool_use_id"]
    assert re.fullmatch("[a-zA-Z0-9_-]+", sent_id)


def test_arguments_that_are_not_objects_are_kept_under_a_name() -> None:
    sent = turns([USER, asked(call("a.b", "{oops")), tool_message("c1", "no")])
    assert sent[1]["content"][0]["input"] == {"invalid_arguments": "{oops"}


# --- tools


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (None, {"type": "auto"}),
        ("auto", {"type": "auto"}),
        ("required", {"type": "any"}),
        ("none", {"type": "none"}),
        (
            {"type": "function", "function": {"name": "files.list.all"}},
            {"type": "tool", "name": "files_list_all"},
        ),
    ],
)
def test_choices_are_translated(choice: Any, sent: dict[str, str]) -> None:  # noqa: ANN401  as given
    request = payload([USER], tools=TOOLS, tool_choice=choice)
    assert request["tool_choice"] == sent
    sequential = payload([USER], tools=TOOLS, tool_choice=choice, parallel_tool_calls=False)
    more = {} if choice == "none" else {"disable_parallel_tool_use": True}
    assert sequential["tool_choice"] == {**sent, **more}
    assert refusal(sequential, HEADERS) is None


def test_the_forced_final_request_defines_what_the_history_calls() -> None:
    known = payload(exchange(), known_tools=TOOLS)
    unknown = payload(exchange())
    assert known["tool_choice"] == unknown["tool_choice"] == {"type": "none"}
    assert len(known["tools"]) == len(TOOLS)
    assert len(unknown["tools"]) == 2
    assert refusal(known, HEADERS) is refusal(unknown, HEADERS) is None
    assert "tools" not in payload([USER], known_tools=TOOLS)


def test_alternatives_at_the_top_of_a_schema_are_left_out() -> None:
    sent = payload([USER], tools=[tool("a.b", {"anyOf": [{"type": "object"}]})])
    assert sent["tools"][0]["input_schema"] == {"type": "object", "properties": {}}


# --- options


def test_a_reply_may_be_as_long_as_asked_for_and_by_default_long() -> None:
    assert payload([USER])["max_tokens"] == DEFAULT_MAX_TOKENS
    assert payload([USER], max_tokens=7)["max_tokens"] == 7


def test_options_are_translated() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    named = {"type": "json_schema", "json_schema": {"name": "A", "schema": schema}}
    sent = payload(
        [USER], stop="END", max_tokens=7, temperature=0, top_p=0.5, response_format=named, seed=None
    )
    assert sent["stop_sequences"] == ["END"]
    assert sent["max_tokens"] == 7
    assert sent["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert refusal(sent, HEADERS) is None
    assert "output_config" not in payload([USER], response_format={"type": "json_object"})


@pytest.mark.parametrize(
    ("model", "samples"),
    [("claude-haiku-4-5", True), ("claude-opus-4-7", False), ("claude-sonnet-5-5", False)],
)
def test_models_that_refuse_to_be_told_how_to_sample_are_not_told(
    model: str, samples: bool
) -> None:
    sent = payload([USER], model=model, temperature=0.5, top_k=3)
    assert ("temperature" in sent, "top_k" in sent) == (samples, samples)


def test_at_most_four_places_are_marked_for_caching() -> None:
    marked: list[Message] = [{**SYSTEM, "cache_control": CACHE}]
    for step in range(4):
        marked += [
            {**USER, "cache_control": CACHE},
            asked(call("fs.read", call_id=f"c{step}")),
            {**tool_message(f"c{step}", "ok"), "cache_control": CACHE},
        ]
    sent = payload(marked, tools=TOOLS)
    blocks = [block for turn in sent["messages"] for block in turn["content"]]
    places = [block["type"] for block in blocks if "cache_control" in block]
    assert sent["system"][0]["cache_control"] == CACHE
    assert places == ["tool_result", "text", "tool_result"]
    assert blocks[-1]["cache_control"] == CACHE
    assert refusal(sent, HEADERS) is None


# --- replies


def test_an_answer_is_read() -> None:
    response = decode(text("It is "), text("noon."))
    assert response == LLMResponse("It is noon.", "claude-x", finish_reason="stop")


def test_calls_are_read_with_the_text_beside_them() -> None:
    response = decode(
        text("One moment."), USE, {**USE, "id": "t2", "input": {}}, stop_reason="tool_use"
    )
    assert response.content is None
    assert response.text == "One moment."
    assert response.finish_reason == "tool_calls"
    assert response.provider_state is None
    assert [(c.id, c.function.name, c.function.arguments) for c in response.tool_calls or ()] == [
        ("t1", "files.list.all", '{"path": "ä"}'),
        ("t2", "files.list.all", "{}"),
    ]


def test_the_prompt_counts_what_was_read_from_and_written_to_the_cache() -> None:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 5,
    }
    assert decode(text("x"), usage=usage).usage == {
        "prompt_tokens": 123,
        "completion_tokens": 5,
        "total_tokens": 128,
        "cached_tokens": 100,
    }
    assert decode(text("x")).usage is None


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("something_new", "something_new"),
        (None, None),
    ],
)
def test_reasons_to_stop_are_translated(theirs: str | None, ours: str | None) -> None:
    assert decode(text("x"), stop_reason=theirs).finish_reason == ours


def test_a_block_that_stands_in_no_list_is_read() -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "a_b", "input": {"x": 1}}
    assert [it.id for it in decode(content=block).tool_calls or ()] == ["toolu_1"]


def test_a_refusal_without_words_is_an_error() -> None:
    with pytest.raises(LLMReplyError, match="refused"):
        decode(stop_reason="refusal")


def test_errors_with_status_200_keep_their_meaning() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(LLMStatusError, match="Overloaded") as caught:
        Anthropic().decode(overloaded, tool_names([], []), model="m")
    assert caught.value.status == 529
    with pytest.raises(LLMReplyError, match="odd"):
        Anthropic().decode({"error": {"message": "odd"}}, tool_names([], []), model="m")
    with pytest.raises(LLMReplyError, match="without any content"):
        Anthropic().decode({}, tool_names([], []), model="m")


# --- thinking


def answered(response: LLMResponse) -> list[Message]:
    answers = [tool_message(each.id, "ok") for each in response.tool_calls or ()]
    return [USER, assistant_message(response), *answers]


def test_thinking_comes_back_in_its_place_and_unchanged() -> None:
    blocks = [THINKING, text("One "), REDACTED, USE, text("moment. "), {**USE, "id": "t2"}]
    response = decode(*blocks)
    assert response.reasoning == "Which file?"
    assert response.text == "One moment. "
    sent = payload(answered(response), tools=TOOLS)
    assert sent["messages"][1]["content"] == blocks
    assert refusal(sent, HEADERS) is None


def test_thinking_is_kept_before_an_edited_message() -> None:
    history = answered(decode(THINKING, text("One moment."), USE))
    history[1] = {**history[1], "content": "Shorter."}
    content = turns(history, tools=TOOLS)[1]["content"]
    assert content == [THINKING, text("Shorter."), USE]


def test_thinking_is_kept_where_a_call_was_taken_out() -> None:
    history = answered(decode(THINKING, USE, {**USE, "id": "t2"}))
    history = [USER, {**history[1], "tool_calls": history[1]["tool_calls"][:1]}, history[2]]
    assert turns(history, tools=TOOLS)[1]["content"] == [THINKING, USE]


def test_what_other_providers_attached_is_left_out() -> None:
    state = {"gemini": [{"call": "c1", "thoughtSignature": "x"}]}
    for foreign in (state, "text", {"anthropic": 3}):
        said = asked(call("fs.read"), provider_state=foreign)
        (use,) = turns([USER, said, tool_message("c1", "ok")], tools=TOOLS)[1]["content"]
        assert set(use) == {"type", "id", "name", "input"}
