from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from mcp_ghost.errors import LLMReplyError, LLMStatusError
from mcp_ghost.messages import LLMResponse, assistant_message, tool_message
from mcp_ghost.providers.common import OPENING, tool_names
from mcp_ghost.providers.gemini import Gemini
from mcp_ghost.testing.gemini import refusal
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
from tests.support.provider_requests import request_for

if TYPE_CHECKING:
    from mcp_ghost.messages import Message
    from mcp_ghost.providers.common import WireRequest

NEW, OLD = "gemini-3.5-flash", "gemini-2.5-flash"
SKIP = "skip_thought_signature_validator"
CALL = {"functionCall": {"id": "g1", "name": "files_list_all", "args": {"path": "ä"}}}
SCHEMA = {"type": "object", "properties": {}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "A", "schema": SCHEMA}}


def encode(
    messages: list[Message],
    base_url: str = Gemini.base_url,
    **options: Any,  # noqa: ANN401  any option
) -> WireRequest:
    given = {"model": NEW, "api_key": "key", "base_url": base_url, **options}
    return Gemini().encode(request_for(messages, **given))


def payload(messages: list[Message], **options: Any) -> dict[str, Any]:  # noqa: ANN401  any option
    return encode(messages, **options).payload


def contents(messages: list[Message], **options: Any) -> list[dict[str, Any]]:  # noqa: ANN401  any option
    listed: list[dict[str, Any]] = payload(messages, **options)["contents"]
    return listed


def decode(
    *parts: dict[str, Any],
    reason: str | None = "STOP",
    candidate: dict[str, Any] | None = None,
    **body: Any,  # noqa: ANN401  any field
) -> LLMResponse:
    content = {"role": "model", "parts": list(parts)} if parts else {}
    first = {"content": content, "finishReason": reason, **(candidate or {})}
    reply = {"candidates": [first], "modelVersion": "gemini-x", **body}
    return Gemini().decode(reply, tool_names([], TOOLS), model="asked-for")


# --- requests


@given(messages=conversations())
def test_no_conversation_is_refused(messages: list[Message]) -> None:
    for model in (NEW, OLD):
        for options in ({"tools": TOOLS}, {"known_tools": TOOLS}, {}):
            assert refusal(payload(messages, model=model, **options), model, {}) is None


def test_the_whole_request_of_an_exchange() -> None:
    request = encode(exchange(), tools=[READ], model=OLD, max_tokens=9)
    names = tool_names(exchange(), [READ])
    first, second = names.encode("fs.read"), names.encode("fs_read")
    assert request.path == f"/v1beta/models/{OLD}:generateContent"
    assert request.headers == {"x-goog-api-key": "key"}
    parameters = {
        "type": "OBJECT",
        "properties": {"path": {"type": "STRING"}, "lines": {"type": "INTEGER"}},
        "required": ["path"],
    }
    declaration = {"name": first, "description": "Read a file.", "parameters": parameters}
    failed = {"name": second, "response": {"error": "no such tool"}}
    assert request.payload == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "What is in the file?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "Let me see."},
                    {"functionCall": {"name": first, "args": {"path": "a"}}},
                    {"functionCall": {"name": second, "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": first, "response": {"output": {"text": "A"}}}},
                    {"functionResponse": failed},
                    {"text": "What is in the file?"},
                ],
            },
        ],
        "tools": [{"functionDeclarations": [declaration]}],
        "generationConfig": {"maxOutputTokens": 9},
    }


@pytest.mark.parametrize(
    ("model", "base_url", "path"),
    [
        ("gemini-x", "http://h", "/v1beta/models/gemini-x:generateContent"),
        ("models/gemini-x", "http://h/", "/v1beta/models/gemini-x:generateContent"),
        ("tunedModels/mine", "http://h/v1", "/tunedModels/mine:generateContent"),
        ("gemini-x", "http://h/v1beta/", "/models/gemini-x:generateContent"),
        (
            "gemini-x",
            "http://h/v1/projects/p/locations/l/publishers/google",
            "/models/gemini-x:generateContent",
        ),
        ("odd name?key=1", "http://h", "/v1beta/models/odd%20name%3Fkey%3D1:generateContent"),
    ],
)
def test_the_model_is_in_the_path_and_the_key_is_not(model: str, base_url: str, path: str) -> None:
    request = encode([USER], base_url, model=model, api_key="my-key")
    assert request.path == path
    assert "my-key" not in request.path + json.dumps(request.payload)
    assert "my-key" not in repr(request)


@pytest.mark.parametrize(
    "messages", [[SYSTEM], [SYSTEM, {"role": "assistant", "content": "Hello."}]]
)
def test_the_user_opens_where_the_history_does_not_let_him(messages: list[Message]) -> None:
    sent = payload(messages)
    assert sent["contents"][0] == {"role": "user", "parts": [{"text": OPENING}]}
    assert refusal(sent, NEW, {}) is None


def test_images_are_parts_of_their_own() -> None:
    urls = ["data:image/png;base64,aGk=", "https://example.org/a.png"]
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    assert contents([{"role": "user", "content": parts}])[0]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"fileUri": urls[1]}},
    ]


def test_before_version_3_images_of_a_result_stand_beside_it() -> None:
    shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    result = tool_message("c1", "Here.", images=[shown])
    history = [USER, asked(call("fs_read")), result, {"role": "user", "content": "And now?"}]
    parts = contents(history, model=OLD)[-1]["parts"]
    assert [next(iter(part)) for part in parts] == ["functionResponse", "inlineData", "text"]


@pytest.mark.parametrize(("effort", "tokens"), [("none", 0), ("low", 1024), ("max", 24576)])
def test_an_effort_is_a_budget_of_tokens_before_version_3(effort: str, tokens: int) -> None:
    sent = payload([USER], model=OLD, reasoning_effort=effort)
    assert sent["generationConfig"] == {"thinkingConfig": {"thinkingBudget": tokens}}
    assert refusal(sent, OLD, {}) is None


def test_a_tool_without_parameters_is_declared_without() -> None:
    (declaration,) = payload([USER], tools=TOOLS[1:2])["tools"][0]["functionDeclarations"]
    assert declaration == {"name": "fs_read", "description": "fs_read"}


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (
            {"type": "function", "function": {"name": "files.list.all"}},
            {"mode": "ANY", "allowedFunctionNames": ["files_list_all"]},
        ),
    ],
)
def test_choices_are_translated(choice: Any, config: dict[str, Any]) -> None:  # noqa: ANN401  as given
    sent = payload([USER], tools=TOOLS, tool_choice=choice, parallel_tool_calls=False)
    assert sent["toolConfig"] == {"functionCallingConfig": config}
    assert refusal(sent, NEW, {}) is None


def test_the_forced_final_request_defines_what_the_history_calls() -> None:
    for sent in (payload(exchange(), known_tools=TOOLS), payload(exchange())):
        assert sent["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}
        assert refusal(sent, NEW, {}) is None
    assert "tools" not in payload([USER], known_tools=TOOLS)


def test_a_schema_for_the_answer_stands_without_tools() -> None:
    sent = payload(exchange(), known_tools=TOOLS, response_format=FORMAT, model=OLD)
    assert sent["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }
    assert "tools" not in sent
    assert refusal(sent, OLD, {}) is None


def test_options_are_translated() -> None:
    sent = payload(
        [USER],
        temperature=0,
        top_p=0.5,
        top_k=3,
        max_tokens=7,
        stop="END",
        seed=None,
        user="me",
        response_format={"type": "json_object"},
        generationConfig={"thinkingConfig": {"includeThoughts": True}},
        candidateCount=1,
        safetySettings=[],
    )
    assert sent["safetySettings"] == []
    assert sent["generationConfig"] == {
        "temperature": 0,
        "topP": 0.5,
        "topK": 3,
        "maxOutputTokens": 7,
        "stopSequences": ["END"],
        "responseMimeType": "application/json",
        "thinkingConfig": {"includeThoughts": True},
        "candidateCount": 1,
    }
    assert refusal(sent, NEW, {}) is None


# --- replies


def test_an_answer_is_read_without_its_thoughts() -> None:
    response = decode({"text": "Noon?", "thought": True}, {"text": "It is "}, {"text": "noon."})
    assert response == LLMResponse(
        "It is noon.", "gemini-x", finish_reason="stop", reasoning="Noon?"
    )


def test_calls_are_read_with_the_text_beside_them() -> None:
    without_id = {"functionCall": {"name": "files_list_all"}}
    response = decode({"text": "One moment."}, CALL, without_id, without_id)
    calls = response.tool_calls or []
    assert response.content is None
    assert response.text == "One moment."
    assert response.finish_reason == "tool_calls"
    assert [(c.function.name, c.function.arguments) for c in calls] == [
        ("files.list.all", '{"path": "ä"}'),
        *[("files.list.all", "{}")] * 2,
    ]
    assert calls[0].id == "g1"
    assert len({each.id for each in calls}) == 3


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_reply_in_the_spelling_of_the_python_sdk_is_read(wrapped: bool) -> None:
    args = {"some_path": {"of_here": 1}}
    part = {
        "function_call": {"name": "files_list_all", "args": args},
        "thought_signature": "c2ln",
    }
    reply: dict[str, Any] = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finish_reason": "STOP"}],
        "usage_metadata": {"prompt_token_count": 2, "candidates_token_count": 3},
        "model_version": "gemini-y",
    }
    body = {"response": reply, "traceId": "t"} if wrapped else reply
    assembler = Gemini().assembler()
    assert not [*assembler.add(body)]
    assert assembler.is_complete
    for sent in (body, assembler.body()):
        response = Gemini().decode(sent, tool_names([], TOOLS), model="m")
        (call,) = response.tool_calls or []
        assert json.loads(call.function.arguments) == args
        assert (response.model, response.finish_reason) == ("gemini-y", "tool_calls")
        assert response.usage
        assert response.usage["completion_tokens"] == 3
        assert json.dumps(response.provider_state).count("c2ln") == 1


def test_thoughts_count_as_output() -> None:
    usage = {
        "promptTokenCount": 100,
        "toolUsePromptTokenCount": 5,
        "cachedContentTokenCount": 64,
        "candidatesTokenCount": 10,
        "thoughtsTokenCount": 20,
        "totalTokenCount": 135,
    }
    assert decode({"text": "x"}, usageMetadata=usage).usage == {
        "prompt_tokens": 105,
        "completion_tokens": 30,
        "total_tokens": 135,
        "cached_tokens": 64,
    }
    assert decode({"text": "x"}).usage is None


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("STOP", "stop"), ("MAX_TOKENS", "length"), (None, None), ("SOMETHING_NEW", "something_new")],
)
def test_reasons_to_stop_are_translated(theirs: str | None, ours: str | None) -> None:
    assert decode({"text": "x"}, reason=theirs).finish_reason == ours


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("MALFORMED_FUNCTION_CALL", "cannot be read"),
        ("UNEXPECTED_TOOL_CALL", "none was on offer"),
        ("MISSING_THOUGHT_SIGNATURE", "lost its thought signature"),
        ("SAFETY", "filters withheld"),
        ("PROHIBITED_CONTENT", "filters withheld"),
        ("RECITATION", "repeat a source"),
    ],
)
def test_replies_that_cannot_be_used_say_why(reason: str, why: str) -> None:
    for parts in ([], [{"text": "half a sen"}]):
        with pytest.raises(LLMReplyError, match=f"{reason}.*{why}.*It says: because"):
            decode(*parts, reason=reason, candidate={"finishMessage": "because"})


def test_a_reply_that_was_cut_before_its_first_word_is_empty() -> None:
    response = decode(reason="MAX_TOKENS")
    assert (response.content, response.tool_calls, response.finish_reason) == (None, None, "length")
    with pytest.raises(LLMReplyError, match="SOMETHING_NEW"):
        decode(reason="SOMETHING_NEW")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            {"promptFeedback": {"blockReason": "SAFETY"}},
            r"blocked the prompt \(SAFETY\)\. Rephrase",
        ),
        (
            {"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "a word"}},
            r"\(OTHER\): a word\.",
        ),
        ({"prompt_feedback": {"block_reason": "SAFETY"}}, r"blocked the prompt \(SAFETY\)"),
        ({}, "without any candidate"),
        ({"success": False, "message": "no such tenant"}, "any candidates: no such tenant"),
        ({"candidates": [3]}, "without any candidate"),
        ({"error": {"message": "odd"}}, "odd"),
    ],
)
def test_what_holds_no_reply_is_an_error(body: dict[str, Any], why: str) -> None:
    with pytest.raises(LLMReplyError, match=why):
        Gemini().decode(body, tool_names([], []), model="m")


def test_errors_with_status_200_keep_their_meaning() -> None:
    body = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    with pytest.raises(LLMStatusError, match="overloaded") as caught:
        Gemini().decode(body, tool_names([], []), model="m")
    assert caught.value.status == 503


# --- signatures


def answered(response: LLMResponse) -> list[Message]:
    answers = [tool_message(each.id, "ok") for each in response.tool_calls or ()]
    return [USER, assistant_message(response), *answers]


def test_signatures_and_ids_come_back_in_their_places() -> None:
    second = {"functionCall": {"id": "g2", "name": "files_list_all", "args": {}}}
    parts: list[dict[str, Any]] = [
        {"text": "One moment.", "thoughtSignature": "dGV4dA=="},
        {**CALL, "thoughtSignature": "Y2FsbA=="},
        second,
        {"text": "", "thoughtSignature": "ZW5k"},
    ]
    sent = contents(answered(decode({"text": "Hm.", "thought": True}, *parts)), tools=TOOLS)
    assert sent[1]["parts"] == parts
    responses = [part["functionResponse"] for part in sent[2]["parts"]]
    assert [(each["id"], each["name"]) for each in responses] == [
        ("g1", "files_list_all"),
        ("g2", "files_list_all"),
    ]


def test_an_edited_message_keeps_the_signatures_of_its_calls() -> None:
    history = answered(decode({"text": "One moment."}, {**CALL, "thoughtSignature": "Y2FsbA=="}))
    history[1] = {**history[1], "content": "Shorter."}
    parts = contents(history, tools=TOOLS)[1]["parts"]
    assert parts == [{"text": "Shorter."}, {**CALL, "thoughtSignature": "Y2FsbA=="}]


def test_calls_of_other_models_go_without_a_check() -> None:
    state = {"anthropic": [{"type": "thinking"}]}
    said = asked(call("fs.read"), call("fs.read", call_id="c2"), provider_state=state)
    history = [USER, said, tool_message("c1", "1"), tool_message("c2", "2")]
    first, second = contents(history, tools=TOOLS)[1]["parts"]
    assert first["thoughtSignature"] == SKIP
    assert set(first["functionCall"]) == {"name", "args"}
    assert "thoughtSignature" not in second
    assert SKIP not in json.dumps(contents(history, tools=TOOLS, model=OLD))
