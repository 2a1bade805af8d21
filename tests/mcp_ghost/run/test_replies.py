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
    their_word = {"openai": "content_filter", "anthropic": "refusal", "gemini": "SAFETY"}[provider]
    assert their_word in result["errors"][-1]["error"]


def test_an_answer_that_a_filter_stopped_says_so() -> None:
    result, _ = play([content_reply("Once upon a", finish_reason="content_filter")], {})
    assert result["success"]
    (error,) = result["errors"]
    assert "content_filter" in error["error"]
