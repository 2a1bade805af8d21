"""OpenAI's Responses API: what is sent and read, and how the right one of two wires is found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.errors import LLMReplyError, LLMStatusError
from mcp_ghost.messages import Message, assistant_message, tool_message
from mcp_ghost.providers.client import get_llm_client
from mcp_ghost.providers.common import tool_names
from mcp_ghost.providers.registry import get_provider
from mcp_ghost.providers.transport import RetryPolicy
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, error_reply
from mcp_ghost.testing.rules import signature
from tests.support.conversations import READ, SYSTEM, USER, asked, call, exchange
from tests.support.provider_clients import KEY, ask, client_of
from tests.support.provider_requests import payload

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse

OPENAI = get_provider("openai")
ONCE = RetryPolicy(max_attempts=1)
PNG = "data:image/png;base64,iVBORw0KGgo="
SHOWN = {"type": "image_url", "image_url": {"url": PNG}}
SENT_IMAGE = {"type": "input_image", "image_url": PNG, "detail": "auto"}


def sent(messages: list[Message], **options: Any) -> dict[str, Any]:  # noqa: ANN401  any option
    return payload("responses", messages, **options)


def read(*items: dict[str, Any], **body: Any) -> LLMResponse:  # noqa: ANN401  any JSON
    whole = {"object": "response", "status": "completed", "output": list(items), **body}
    return OPENAI.decode(whole, tool_names([], [READ]), model="m")


def text(said: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    part = {"type": "output_text", "text": said, "annotations": []}
    return {"type": "message", "id": "msg_a", "role": "assistant", "content": [part], **fields}


def thought(**fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    summary = [{"type": "summary_text", "text": "Hm."}]
    return {"type": "reasoning", "id": "rs_a", "summary": summary, **fields}


SEALED = thought(encrypted_content="abc")
USE = {"type": "function_call", "id": "fc_a", "call_id": "c1", "name": "fs_read", "arguments": "{}"}


# --- encoding


def test_a_conversation_is_items_with_the_system_prompt_before_them() -> None:
    body = sent(exchange(), tools=[READ])
    assert body["instructions"] == "Be brief."
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert [(it["type"], it.get("role")) for it in body["input"]] == [
        ("message", "user"),
        ("message", "assistant"),
        ("function_call", None),
        ("function_call", None),
        ("function_call_output", None),
        ("function_call_output", None),
        ("message", "user"),
    ]
    assert body["input"][1]["content"][0]["text"] == "Let me see."
    assert [it["call_id"] for it in body["input"][2:6]] == ["c1", "c2", "c1", "c2"]
    assert body["tools"][0]["name"] == body["input"][2]["name"]
    assert body["tools"][0]["strict"] is False


def test_a_system_message_in_the_middle_is_one_of_the_developer() -> None:
    assert sent([USER, SYSTEM])["input"][1]["role"] == "developer"


def test_without_a_user_the_model_is_asked_to_go_on() -> None:
    assert sent([SYSTEM])["input"] == [{"type": "message", "role": "user", "content": "Go on."}]


def test_images_of_users_and_of_results_are_shown_where_they_belong() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, SHOWN]},
        asked(call("fs.read")),
        tool_message("c1", "A picture.", images=[SHOWN]),
    ]
    said, _, result = sent(messages, tools=[READ])["input"]
    assert said["content"] == [{"type": "input_text", "text": "Look:"}, SENT_IMAGE]
    assert result["output"] == [{"type": "input_text", "text": "A picture."}, SENT_IMAGE]


FORM = {"type": "json_schema", "json_schema": {"name": "A", "strict": True, "schema": {}}}
CHOICE = {"type": "function", "function": {"name": "fs.read"}}


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        ("gpt-6-luna", {}, {"reasoning": {"summary": "auto"}}),
        (
            "gpt-6-luna",
            {"reasoning_effort": "low"},
            {"reasoning": {"effort": "low", "summary": "auto"}},
        ),
        ("gpt-6-luna", {"reasoning_effort": "none"}, {"reasoning": {"effort": "none"}}),
        ("gpt-4.1", {}, {"reasoning": None, "include": None}),
        ("gpt-6-luna", {"temperature": 0.5, "top_p": 0.9}, {"temperature": None, "top_p": None}),
        ("gpt-4.1", {"temperature": 0.5}, {"temperature": 0.5}),
        ("gpt-4.1", {"stop": ["END"], "seed": 7}, {"stop": None, "seed": None}),
        ("gpt-4.1", {"max_tokens": 99}, {"max_output_tokens": 99, "max_tokens": None}),
        ("gpt-6-luna", {"max_tokens": 5}, {"max_output_tokens": 16}),
        ("gpt-4.1", {"parallel_tool_calls": False}, {"parallel_tool_calls": False}),
        (
            "gpt-4.1",
            {"response_format": FORM},
            {
                "text": {
                    "format": {"type": "json_schema", "name": "A", "strict": True, "schema": {}}
                },
                "response_format": None,
            },
        ),
        (
            "gpt-4.1",
            {"response_format": {"type": "json_object"}},
            {"text": {"format": {"type": "json_object"}}},
        ),
        (
            "gpt-4.1",
            {"tools": [READ], "tool_choice": CHOICE},
            {"tool_choice": {"type": "function", "name": "fs_read"}},
        ),
        ("gpt-4.1", {"tools": [READ], "tool_choice": "required"}, {"tool_choice": "required"}),
        ("gpt-4.1", {"known_tools": [READ], "tool_choice": "none"}, {"tool_choice": None}),
    ],
)
def test_options_have_the_names_and_limits_of_the_api(
    model: str, options: dict[str, Any], expected: dict[str, Any]
) -> None:
    body = sent([USER], model=model, **options)
    assert {key: body.get(key) for key in expected} == expected


# --- what comes back


def test_a_reply_goes_back_item_by_item_as_it_came() -> None:
    items = [SEALED, text("Well.", phase="commentary", status="completed"), USE]
    response = read(*items)
    assert (response.text, response.reasoning) == ("Well.", "Hm.")
    history = [USER, assistant_message(response), tool_message("c1", "A")]
    assert sent(history, tools=[READ])["input"][1:4] == items


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ((text("Well."), USE), ["message", "function_call"]),
        ((thought(), text("Well."), USE), ["message", "function_call"]),
        ((thought(content=[{"type": "reasoning_text", "text": "Hm."}]), USE), ["reasoning"]),
        ((SEALED, text("Fine.")), ["reasoning", "message"]),
    ],
    ids=["without reasoning", "unsealed reasoning", "open reasoning", "an answer"],
)
def test_reasoning_goes_back_where_the_server_can_read_it(
    items: tuple[dict[str, Any], ...], expected: list[str]
) -> None:
    message = assistant_message(read(*items))
    answers = [tool_message("c1", "A")] if message.get("tool_calls") else []
    again = sent([USER, message, *answers], tools=[READ])["input"][1:]
    assert [it["type"] for it in again][: len(expected)] == expected
    if "reasoning" not in expected:  # or what followed it would be refused under its id
        assert "fc_a" not in json.dumps(again)


def test_nothing_of_an_edited_reply_is_tied_to_its_reasoning() -> None:
    message = {**assistant_message(read(SEALED, text("Well."), USE)), "content": "Better."}
    again = sent([USER, message, tool_message("c1", "A")], tools=[READ])["input"][1:3]
    assert [it["type"] for it in again] == ["message", "function_call"]
    assert again[0]["content"][0]["text"] == "Better."
    assert "fc_a" not in json.dumps(again)


@pytest.mark.parametrize(
    "words",
    [
        "The encrypted content abc could not be verified. Reason: it could not be parsed.",
        "Item 'rs_a' of type 'reasoning' was provided without its required following item.",
        "Item with id 'rs_a' not found. Items are not persisted when `store` is set to false.",
    ],
)
def test_reasoning_that_this_server_did_not_write_is_left_out(words: str) -> None:
    def script(request: ModelRequest) -> Reply:
        refused = any(item["type"] == "reasoning" for item in request.body["input"])
        return error_reply(400, words) if refused else content_reply("Fine.")

    history = [USER, assistant_message(read(SEALED, USE)), tool_message("c1", "A")]
    history[1]["provider_state"]["responses"][0]["encrypted_content"] = signature("Hm.")
    with ModelServer(script, wire="responses") as server:
        client = client_of(server, "responses")
        for _ in range(2):
            assert ask(client, history, tools=[READ]).content == "Fine."
    assert len(server.requests) == 3


@pytest.mark.parametrize("given", ["item_1", "1", "msg-é", "msg_" + "x" * 61, 7])
def test_ids_that_openai_would_refuse_are_left_out(given: object) -> None:
    message = assistant_message(read(SEALED, text("Well.", id=given), USE))
    again = sent([USER, message, tool_message("c1", "A")], tools=[READ])["input"]
    assert "id" not in again[2]
    assert again[3]["id"] == "fc_a"


# --- decoding


def test_only_the_final_answer_is_the_answer() -> None:
    response = read(text("I look.", phase="commentary"), text("{}", phase="final_answer"))
    assert response.content == "{}"


@pytest.mark.parametrize(
    ("reason", "finish_reason"),
    [("max_output_tokens", "length"), ("content_filter", "content_filter")],
)
def test_a_reply_that_was_cut_says_why(reason: str, finish_reason: str) -> None:
    cut = {"status": "incomplete", "incomplete_details": {"reason": reason}}
    assert read(text("Once"), **cut).finish_reason == finish_reason


def test_a_refusal_is_what_the_model_says() -> None:
    refused = {"type": "refusal", "refusal": "I can't."}
    assert read({"type": "message", "content": [refused]}).content == "I can't."


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": "server_error", "message": "busy"}, 500),
        ({"code": "rate_limit_exceeded", "message": "slow"}, 429),
        ({"code": "context_length_exceeded", "message": "too long"}, 400),
        ({"code": "invalid_image", "message": "what?"}, 400),
    ],
)
def test_a_failed_response_has_the_status_of_its_code(error: dict[str, str], status: int) -> None:
    with pytest.raises(LLMStatusError, match=error["message"]) as caught:
        read(status="failed", error=error, usage={"input_tokens": 5, "output_tokens": 1})
    assert (caught.value.status, caught.value.usage.prompt_tokens) == (status, 5)


def test_what_a_failed_response_took_is_told() -> None:
    failed: dict[str, Any] = {"object": "response", "status": "failed", "output": []}
    failed |= {"error": {"code": "invalid_image", "message": "what?"}}
    failed |= {"usage": {"input_tokens": 5, "output_tokens": 1}}
    with (
        ModelServer([Reply(failed)], wire="responses") as server,
        pytest.raises(LLMStatusError) as caught,
    ):
        ask(client_of(server, "responses", retry=ONCE))
    assert caught.value.usage.total_tokens == 6


@pytest.mark.parametrize(
    "body", [{"status": "failed"}, {"error": "no"}, {"error": {"message": "no"}}]
)
def test_a_failure_without_a_code_is_no_usable_reply(body: dict[str, Any]) -> None:
    with pytest.raises(LLMReplyError):
        read(**body)


# --- which of the two


REASONS = {
    "tools": (
        "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. "
        "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    ),
    "please": "Please use /v1/responses instead.",
    "only": "This model is only supported in v1/responses and not in v1/chat/completions.",
    "no chat": (
        "This is not a chat model and thus not supported in the v1/chat/completions endpoint. "
        "Did you mean to use v1/completions?"
    ),
    "copilot": 'model "m" is not accessible via the /chat/completions endpoint',
    "azure": "The chatCompletion operation does not work with the specified model, m.",
    "gateway": "/v1/chat/completions is not supported. Please use /v1/responses.",
}
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


class OneWire(ModelServer):
    """Refuses all requests on one wire in the given words, or has no such address."""

    def __init__(self, refused: str, words: str | None, status: int = 400) -> None:
        self.paths: list[str] = []
        self._refusal = refused, words, status
        super().__init__(self._reply, dialect="openai")

    def serves(self, path: str) -> bool:
        if is_missing := self._refusal[:2] == (path, None):
            self.paths.append(path)
        return not is_missing and super().serves(path)

    def _reply(self, request: ModelRequest) -> Reply:
        path = request.headers[":path"]
        self.paths.append(path)
        refused, words, status = self._refusal
        return error_reply(status, str(words)) if path == refused else content_reply("Fine.")


def asked_of(server: OneWire, *, at_home: bool, **options: Any) -> list[str]:  # noqa: ANN401
    """The addresses that two calls asked at."""
    where = {"transport": server.async_transport()} if at_home else {"base_url": server.base_url}
    given = {"wire": "auto", "model": "m", **where, **options}
    client = get_llm_client("openai", KEY, **given)
    for _ in range(2):
        assert ask(client, tools=[READ]).content == "Fine."
    return server.paths


def test_openai_itself_is_asked_on_the_responses_wire_and_others_by_chat() -> None:
    for at_home, path in ((True, RESPONSES), (False, CHAT)):
        with OneWire("", "") as server:
            assert asked_of(server, at_home=at_home) == [path, path]


@pytest.mark.parametrize("words", REASONS.values(), ids=REASONS)
@pytest.mark.parametrize("status", [400, 404])
def test_a_refusal_that_names_the_responses_wire_is_followed_once(words: str, status: int) -> None:
    with OneWire(CHAT, words, status) as server:
        assert asked_of(server, at_home=False) == [CHAT, RESPONSES, RESPONSES]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (None, 404),
        ("Method Not Allowed", 405),
        ("Not Implemented", 501),
        ("The requested model 'm' is not supported with the Responses API.", 400),
        ('model "m" does not support Responses API', 400),
        ("The Responses API is not supported here, use /v1/chat/completions instead.", 400),
        ("Unknown request URL: POST /v1/responses. Please check the URL for typos.", 404),
    ],
)
def test_a_refusal_that_names_the_chat_wire_is_followed_once(words: str, status: int) -> None:
    with OneWire(RESPONSES, words, status) as server:
        assert asked_of(server, at_home=True) == [RESPONSES, CHAT, CHAT]


def test_where_only_chat_is_spoken_tools_come_without_thinking() -> None:
    def script(request: ModelRequest) -> Reply:
        is_offered = bool(request.body.get("tools")) and not request.body.get("reasoning_effort")
        return error_reply(400, REASONS["tools"]) if is_offered else content_reply("Fine.")

    for wire in ("auto", "chat"):
        with ModelServer(script) as server:
            client = get_llm_client("openai", KEY, "m", server.base_url, wire=wire)
            for _ in range(2):
                assert ask(client, tools=[READ]).content == "Fine."
            assert ask(client).content == "Fine."
        efforts = [request.body.get("reasoning_effort") for request in server.requests]
        assert efforts == [None, "none", "none", None]


@pytest.mark.parametrize(
    ("refused", "words", "status", "at_home"),
    [
        (CHAT, "The model `m` does not exist or you do not have access to it.", 404, False),
        (RESPONSES, "The model `m` does not exist or you do not have access to it.", 404, True),
        (RESPONSES, "Your prompt is not to our liking.", 400, True),
        (CHAT, REASONS["only"], 401, False),
    ],
)
def test_another_refusal_is_not_followed(
    refused: str, words: str, status: int, at_home: bool
) -> None:
    with OneWire(refused, words, status) as server, pytest.raises(LLMStatusError):
        asked_of(server, at_home=at_home)
    assert server.paths == [refused]


def test_a_stand_in_that_hangs_up_on_responses_is_asked_by_chat() -> None:
    def script(request: ModelRequest) -> Reply:
        return Reply(drop=True) if "input" in request.body else content_reply("Fine.")

    with ModelServer(script, dialect="openai") as server:
        given: dict[str, Any] = {"transport": server.async_transport(), "retry": ONCE}
        client = get_llm_client("openai", KEY, "m", **given)
        assert [ask(client).content for _ in range(2)] == ["Fine."] * 2
    assert ["input" in request.body for request in server.requests] == [True, False, False]


def test_the_wire_that_was_chosen_is_not_left() -> None:
    for refused, wire in ((CHAT, "chat"), (RESPONSES, "responses")):
        with OneWire(refused, None, 404) as server, pytest.raises(LLMStatusError, match="404"):
            asked_of(server, at_home=True, wire=wire)
        assert server.paths == [refused]


def test_where_neither_wire_is_spoken_the_server_that_says_why_is_quoted() -> None:
    for at_home in (True, False):
        with ModelServer([error_reply(404, REASONS["no chat"])] * 2) as server:
            where = {"transport": server.async_transport()} if at_home else {}
            address = None if at_home else server.base_url
            client = get_llm_client("openai", KEY, "m", address, **where)
            for _ in range(2):
                with pytest.raises(LLMStatusError, match="not a chat model"):
                    ask(client)


def test_what_was_refused_beside_the_wire_is_left_out() -> None:
    words = (
        "Your organization must be verified to generate reasoning summaries.",
        "Encrypted content is not supported with this model.",
    )
    script = [*(error_reply(400, it) for it in words), content_reply("Fine.")]
    with ModelServer(script, wire="responses") as server:
        assert ask(client_of(server, "responses", model="gpt-6-luna")).content == "Fine."
    first, _, last = (request.body for request in server.requests)
    assert first["reasoning"] == {"summary": "auto"}
    assert (last.get("reasoning"), last.get("include")) == ({}, None)
