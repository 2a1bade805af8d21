"""Replies of the model that are not whole: cut off, empty, withheld by a filter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.testing import Reply, content_reply, error_reply, tool_reply
from tests.support.ghosts import PROVIDERS, Notes, play, said_to

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_call_in_a_reply_that_was_cut_off_is_not_executed(
    notes: Notes, provider: WireName
) -> None:
    half = ("notes.write", {"name": "a", "text": "Once upon a"})
    script: list[Reply | str] = [
        tool_reply([half, half], finish_reason="length"),
        tool_reply([("notes.write", {"name": "b", "text": "Once."})]),
        "Done.",
    ]
    result, model = play(script, {"notes": notes.config}, provider)
    assert result["success"]
    assert notes.calls == [("write", {"name": "b", "text": "Once."})]
    assert [entry["success"] for entry in result["tool_chain"]] == [False, False, True]
    assert said_to(model, 1).count("not executed: the reply was cut off") == 2
    assert ["cut off" in error["error"] for error in result["errors"]] == [True, True]


@pytest.mark.parametrize(
    ("provider", "place"),
    [
        ("openai", ("max_tokens",)),
        ("responses", ("max_output_tokens",)),
        ("anthropic", ("max_tokens",)),
        ("gemini", ("generationConfig", "maxOutputTokens")),
    ],
)
def test_the_length_of_a_reply_can_be_set(provider: WireName, place: tuple[str, ...]) -> None:
    _, model = play(["Done."], {}, provider, reply_tokens=20_000)
    said: Any = model.requests[0].body
    for key in place:
        said = said[key]
    assert said == 20_000


@pytest.mark.parametrize(
    ("provider", "as_sent"),
    [
        (
            "openai",
            {"temperature": 0.5, "reasoning_effort": "low", "stop": ["END"], "user": "somebody"},
        ),
        (
            "responses",
            {
                "temperature": None,  # which it does not take beside thinking
                "reasoning": {"effort": "low", "summary": "auto"},
                "stop": None,  # which this API does not have
                "user": "somebody",
            },
        ),
        (
            "anthropic",
            {
                "temperature": None,  # which it does not take beside thinking
                "output_config": {"effort": "low"},
                "stop_sequences": ["END"],
                "metadata": {"user_id": "somebody"},
            },
        ),
        (
            "gemini",
            {
                "generationConfig": {
                    "temperature": 0.5,
                    "thinkingConfig": {"thinkingLevel": "low"},
                    "stopSequences": ["END"],
                    "candidateCount": 1,
                }
            },
        ),
    ],
)
def test_options_of_the_model_go_out_as_each_provider_calls_them(
    provider: WireName, as_sent: dict[str, Any]
) -> None:
    more: dict[str, dict[str, Any]] = {
        "openai": {"user": "somebody"},
        "responses": {"user": "somebody"},
        "anthropic": {"metadata": {"user_id": "somebody"}},
        "gemini": {"generationConfig": {"candidateCount": 1}},
    }
    result, model = play(
        ["Done."],
        {},
        provider,
        temperature=0.5,
        reasoning_effort="low",
        stop="END",
        headers={"x-team": "tests", "x-api-token": "hush-hush-hush"},
        extra_body=more[provider],
    )
    (request,) = model.requests
    assert result["final_result"] == "Done."
    assert {key: request.body.get(key) for key in as_sent} == as_sent
    assert (request.headers["x-team"], request.headers["x-api-token"]) == (
        "tests",
        "hush-hush-hush",
    )


def test_a_key_in_a_header_of_ours_is_in_no_result() -> None:
    result, _ = play(["It is hush-hush-hush."], {}, headers={"x-api-token": "hush-hush-hush"})
    assert result["final_result"] == "It is ***."


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
def test_a_run_that_ends_by_empty_replies_names_the_finish_reason(reason: str) -> None:
    def silent(_: object) -> Reply:
        return content_reply(None, finish_reason=reason)

    result, _ = play(silent, {})
    assert result["success"] is False
    first, last = result["errors"]
    for error in (first, last):
        assert f"empty (finish reason: {reason})" in error["error"]
        assert error["tool_name"] == "openai"
    assert first["recovery_action"] == "asked for an answer without tools"
    assert last["recovery_action"] is None


THINKING = {"reasoning": "The answer is 4."}
USELESS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "only thinking": THINKING,
    "thinking that was cut off": {"finish_reason": "length", **THINKING},
    "cut off": {"finish_reason": "length"},
    "filtered": {"finish_reason": "content_filter"},
}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", USELESS)
@pytest.mark.parametrize("stream", [True, False])
def test_a_useless_reply_costs_two_requests_at_most(
    provider: WireName, kind: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_ghost.providers.transport.random.random", lambda: -1.0)
    result, model = play(lambda _: content_reply("", **USELESS[kind]), {}, provider, stream=stream)
    assert result["success"] is False
    assert len(model.requests) == 2
    if kind != "filtered":  # which Anthropic and Gemini report as errors
        assert model.requests[0].messages != model.requests[1].messages


def noted(text: str) -> str:
    """Note ``text``."""
    return text


NOTE = {"name": "noted", "arguments": '{"text": "a"}'}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_call_in_words_is_no_answer(provider: WireName) -> None:
    for last, success in (("Done.", True), (json.dumps(NOTE), False)):
        script = [f"```json\n{json.dumps(NOTE)}\n```", last]
        result, model = play(script, {}, provider, tools=[noted])
        assert (result["success"], result["tool_chain"]) == (success, [])
        assert "as text, so nothing was called" in said_to(model, 1)
        assert len(model.requests) == 2
    assert "wrote a tool call as text" in result["errors"][0]["error"]
    assert NOTE["name"] in str(result["conversation_history"][-1]["content"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_calls_within_a_call_of_a_made_up_tool_are_made(provider: WireName, stream: bool) -> None:
    def use(given: object, name: str = "functions.mcp_ghost_python_noted") -> dict[str, object]:
        return {"recipient_name": name, "parameters": given}

    several = {"tool_uses": [use({"text": "a"}), use('{"text": "b"}')]}
    nested = {"tool_uses": [use(several, "multi_tool_use.parallel"), use({"text": "c"})]}
    calls = [("multi_tool_use.parallel", nested), ("python.noted", {"text": "d"})]
    script: list[Reply | str] = [tool_reply(calls), "Done."]
    result, model = play(script, {}, provider, tools=[noted], stream=stream)
    assert result["success"], result["errors"]
    assert [step["result"] for step in result["tool_chain"]] == ["a", "b", "c", "d"]
    assert "multi_tool_use" not in json.dumps(model.requests[1].body)


@pytest.mark.parametrize("wrong", [{}, {"tool_uses": []}, {"tool_uses": "noted"}])
def test_a_made_up_tool_without_calls_within_is_unknown(wrong: dict[str, object]) -> None:
    script: list[Reply | str] = [tool_reply([("multi_tool_use.parallel", wrong)]), "Done."]
    result, model = play(script, {}, tools=[noted])
    assert result["success"]
    assert "multi_tool_use_parallel" in said_to(model, 1)


def failed_generation(status: int) -> Reply:
    """What Groq answers, with 200 where it streams."""
    error = {"message": "Failed to call a function.", "type": "invalid_request_error"}
    error |= {"code": "tool_use_failed", "failed_generation": "<function=noted>{a"}
    return Reply({"error": error}, status)


def withheld(reason: str, **more: object) -> Reply:
    choice = {"message": {"content": ""}, "finish_reason": reason, **more}
    return Reply(json.dumps({"choices": [choice]}).encode())


MALFORMED: dict[str, tuple[WireName, Reply, str]] = {
    "Groq": ("openai", failed_generation(400), "<function=noted>{a"),
    "Groq in a stream": ("openai", failed_generation(200), "<function=noted>{a"),
    "Ollama": (
        "openai",
        error_reply(500, "error parsing tool call: raw='{\"a', err=unexpected end of JSON input"),
        "unexpected end",
    ),
    "llama.cpp": ("openai", error_reply(500, "Failed to parse input at pos 12: <tool_call>"), "12"),
    "Gemini": (
        "gemini",
        Reply(b'{"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}'),
        "MALFORMED_FUNCTION_CALL",
    ),
    "Gemini with OpenAI's format": (
        "openai",
        withheld("function_call_filter: MALFORMED_FUNCTION_CALL"),
        "MALFORMED_FUNCTION_CALL",
    ),
    "Gemini behind OpenRouter": (
        "openai",
        withheld("error", native_finish_reason="MALFORMED_FUNCTION_CALL"),
        "MALFORMED_FUNCTION_CALL",
    ),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_model_is_told_of_a_call_that_its_server_cannot_read(kind: str) -> None:
    provider, reply, shown = MALFORMED[kind]
    script: list[Reply | str] = [reply, tool_reply([("python.noted", {"text": "a"})]), "Done."]
    result, model = play(script, {}, provider, tools=[noted])
    assert result["final_result"] == "Done."
    assert len(result["tool_chain"]) == 1
    assert shown in said_to(model, 1)
    (error,) = result["errors"]
    assert error["recovery_action"] == "asked the model to make the call again"
    failing, model = play(lambda _: reply, {}, provider, tools=[noted])
    assert failing["success"] is False
    asked = [json.dumps(request.body) for request in model.requests]
    assert len(asked) == len({*asked}) == 3


PER_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
USED_UP: dict[str, dict[str, Any]] = {
    "OpenAI": {"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}},
    "Google, for a day": {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota.",
            "details": [{"violations": [{"quotaId": PER_DAY}]}, {"retryDelay": "0s"}],
        }
    },
    "OpenRouter, for a day": {
        "error": {"message": "Rate limit exceeded: free-models-per-day.", "code": 429}
    },
    "Zhipu": {"error": {"code": "1113", "message": "No balance."}},
    "xAI": {"code": "exhausted", "error": "Your team has used all available credits."},
    "LiteLLM": {"error": {"message": "Budget has been exceeded!", "type": "budget_exceeded"}},
}


@pytest.mark.parametrize("kind", USED_UP)
def test_an_account_that_is_used_up_is_not_asked_again(kind: str) -> None:
    result, model = play(lambda _: Reply(USED_UP[kind], 429), {})
    assert len(model.requests) == 1
    assert "no credit or quota left" in result["errors"][0]["error"]


def test_an_account_that_is_used_up_may_be_told_of_in_a_stream() -> None:
    result, model = play(lambda _: Reply(USED_UP["OpenAI"]), {}, stream=True)
    assert len(model.requests) == 1
    assert "no credit or quota left" in result["errors"][0]["error"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_run_that_ends_by_filtered_replies_names_the_finish_reason(provider: WireName) -> None:
    def filtered(_: object) -> Reply:
        return content_reply(None, finish_reason="content_filter")

    result, _ = play(filtered, {}, provider)
    assert result["success"] is False
    their_word = {"anthropic": "refusal", "gemini": "SAFETY"}.get(provider, "content_filter")
    assert their_word in result["errors"][-1]["error"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_a_filter_left_of_a_reply_is_neither_an_answer_nor_a_call(
    notes: Notes, provider: WireName
) -> None:
    filtered = content_reply("Once upon a", finish_reason="content_filter")
    result, _ = play(lambda _: filtered, {}, provider)
    assert (result["success"], result["final_result"]) == (False, None)
    assert "filter" in result["errors"][0]["error"]
    if provider in ("openai", "anthropic"):  # the others cannot say so of a reply with calls
        call = tool_reply([("notes.write", {"name": "a"})], finish_reason="content_filter")
        result, _ = play([call, "Done."], {"notes": notes.config}, provider)
        assert notes.calls == []
        assert "refused or filtered" in result["tool_chain"][0]["error"]
