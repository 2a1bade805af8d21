"""Replies of the model that are not whole: cut off, empty, withheld by a filter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.testing import Reply, content_reply, tool_reply
from tests.support.ghosts import PROVIDERS, Notes, play, said_to

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path)


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


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_run_that_ends_by_filtered_replies_names_the_finish_reason(provider: WireName) -> None:
    def filtered(_: object) -> Reply:
        return content_reply(None, finish_reason="content_filter")

    result, _ = play(filtered, {}, provider)
    assert result["success"] is False
    their_word = {"anthropic": "refusal", "gemini": "SAFETY"}.get(provider, "content_filter")
    assert their_word in result["errors"][-1]["error"]


def test_an_answer_that_a_filter_stopped_says_so() -> None:
    result, _ = play([content_reply("Once upon a", finish_reason="content_filter")], {})
    assert result["success"]
    (error,) = result["errors"]
    assert "content_filter" in error["error"]
