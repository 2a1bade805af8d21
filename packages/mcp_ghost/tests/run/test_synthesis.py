"""What a run comes to: the answer, and the paragraph about how it came about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_ghost.testing import Reply, content_reply, tool_reply
from tests.support.ghosts import PROVIDERS, Notes, play, said_to
from tests.support.servers import faulty

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('{"total": 3}', {"total": 3}),
        ("```json\n[1, 2]\n```", [1, 2]),
        ("  The total is 3.\n", "The total is 3."),
        ("42", "42"),
        ('[NaN, "\\ud800"]', ["nan", "\ufffd"]),  # Python reads what strict JSON does not hold
        ('{"total": 3', '{"total": 3'),
    ],
)
def test_an_answer_that_is_a_json_document_comes_parsed(text: str, result: object) -> None:  # B33
    assert play([text], {})[0]["final_result"] == result


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_model_is_told_to_bring_results_together_and_what_to_do_where_they_differ(
    provider: WireName,
) -> None:
    calls = [("a.echo", {"text": "It is noon."}), ("b.echo", {"text": "It is midnight."})]
    _, model = play([tool_reply(calls), "Noon."], {"a": faulty(), "b": faulty()}, provider)
    (head, *_) = model.requests[1].messages
    told = " ".join(str(head["content"]).split())
    assert "Bring the results together; where they contradict each other, say so" in told
    assert "say which one you trust" in told
    assert "It is noon." in said_to(model, 1)
    assert "It is midnight." in said_to(model, 1)


def test_the_summary_tells_the_trail(notes: Notes) -> None:  # B33
    script: list[Reply | str] = [
        tool_reply([("notes.read", {"name": "a"})]),
        tool_reply([("notes.write", {"name": "a", "text": "x"})]),
        "All\nis well.",
    ]
    summary = play(script, {"notes": notes.config})[0]["summary"]
    assert summary.startswith("Answered after 3 model replies and 2 tool calls, 1 of them failed.")
    assert "notes.read (failed) -> notes.write" in summary
    assert "there is no note 'a' (asked the model for another way)" in summary
    assert summary.endswith("Answer: All is well.")


def test_the_summary_of_a_long_run_stays_a_paragraph() -> None:  # B33
    script: list[Reply | str] = [
        *[tool_reply([("s.echo", {"text": str(n)})]) for n in range(50)],
        content_reply("word " * 500),
    ]
    result, _ = play(script, {"s": faulty()}, max_iterations=60)
    assert "(20 more)" in result["summary"]
    assert len(result["summary"]) < 1000
