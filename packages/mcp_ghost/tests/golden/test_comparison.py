from __future__ import annotations

import copy
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcp_ghost.golden import (
    Golden,
    GoldenWarning,
    assert_matches_golden,
    compare_golden,
    load_golden,
    provider_drift,
)
from tests.support.golden_cases import GOLDENS

RECOVERY = GOLDENS / "openai" / "file_not_found.json"


def recorded() -> Golden:
    golden = load_golden(RECOVERY)
    golden["recorded_at"] = datetime.now(UTC).isoformat()
    return golden


def changed(change: Callable[[Any], object]) -> list[str]:
    """The lines for the recorded run after ``change``."""
    golden = recorded()
    result = copy.deepcopy(golden["golden_output"])
    change(result)
    return compare_golden(result, golden)


def test_the_recorded_run_matches_itself() -> None:
    assert changed(lambda result: None) == []


def reword(result: Any) -> None:  # noqa: ANN401  a result
    result["final_result"] = "Thirty and forty-five."
    result["summary"] = "Done."
    result["tool_chain"][0]["error"] = "there is no file of that name"
    result["tool_chain"][0]["reasoning"] = "Let me see."
    for message in result["conversation_history"]:
        message["content"] = "..."


def test_words_do_not_matter() -> None:
    assert changed(reword) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            lambda it: it["tool_chain"].pop(1),
            (
                "tool sequence: recorded files.read → files.list → files.read, "
                "now files.read → files.read"
            ),
        ),
        (
            lambda it: it["tool_chain"][2]["arguments"].update(name="x"),
            'call 3 (files.read): arguments.name: recorded "prices.txt", now "x"',
        ),
        (
            lambda it: it["tool_chain"][1].update(result=["a", "b"]),
            'call 2 (files.list): result[0]: recorded "prices.txt", now "a"',
        ),
        (
            lambda it: it["tool_chain"][1]["result"].append("more.txt"),
            "call 2 (files.list): result: recorded 1 item, now 2 items",
        ),
        (
            lambda it: it["tool_chain"][2]["arguments"].update(lines=2),
            "call 3 (files.read): arguments.lines: not there when recorded, now 2",
        ),
        (
            lambda it: it["tool_chain"][2]["arguments"].pop("name"),
            'call 3 (files.read): arguments.name: recorded "prices.txt", now missing',
        ),
        (
            lambda it: it["tool_chain"][1].update(success=False, result=None, error="gone"),
            "call 2 (files.list): succeeded when recorded, failed now: gone",
        ),
        (
            lambda it: it["tool_chain"][0].update(success=True),
            "call 1 (files.read): failed when recorded, succeeded now",
        ),
        (
            lambda it: it["tool_chain"][1].update(retry_attempt=1),
            "call 2 (files.list): retry_attempt: recorded 0, now 1",
        ),
        (
            lambda it: it["errors"].clear(),
            "errors: recorded files.read (recovered), now none",
        ),
        (
            lambda it: it.update(success=False, summary="The model is away."),
            "success: recorded True, now False (The model is away.)",
        ),
        (
            lambda it: it.update(final_result=None),
            "final_result: recorded, but missing now",
        ),
    ],
)
def test_what_a_run_does_differently_is_told(change: Callable[[Any], object], line: str) -> None:
    assert changed(change) == [line]


def test_time_and_tokens_have_bounds_that_can_be_set() -> None:
    golden = recorded()
    result = copy.deepcopy(golden["golden_output"])
    result["execution_metadata"]["total_execution_time"] += 40
    result["execution_metadata"]["token_usage"]["total_tokens"] += 5000
    seconds, tokens = compare_golden(result, golden)
    assert re.fullmatch(
        r"seconds: 40[\d.]*, more than the limit of 3[\d.]+ \(recorded 0.+\)", seconds
    )
    assert tokens.startswith("tokens: ")
    assert compare_golden(result, golden, time_factor=None, token_factor=None) == []
    assert compare_golden(result, golden, time_factor=10_000, token_factor=20) == []


def test_an_old_recording_is_flagged_after_a_time_that_can_be_set() -> None:
    golden = recorded()
    now = datetime.now(UTC) + timedelta(days=181)
    result = golden["golden_output"]
    expected = "age: recorded 181 days ago, more than 180; record it again"
    assert compare_golden(result, golden, now=now) == [expected]
    assert compare_golden(result, golden, now=now, max_age_days=365) == []
    assert compare_golden(result, golden, now=now, max_age_days=None) == []
    golden["recorded_at"] = "long ago"
    assert "recorded_at is not a date" in compare_golden(result, golden)[0]


def test_replies_that_changed_their_shape_are_flagged() -> None:
    golden = recorded()
    reply = golden["provider_responses"][0]["response"]
    reply["mood"] = "good"
    reply["choices"][0]["message"]["tool_calls"][0]["function"]["kwargs"] = {}
    del reply["choices"][0]["finish_reason"]
    lines = [
        "provider drift: mood is not known",
        "provider drift: choices[].finish_reason is missing",
        "provider drift: choices[].message.tool_calls[].function.kwargs is not known",
    ]
    assert provider_drift(golden) == lines
    assert compare_golden(golden["golden_output"], golden) == lines


def test_an_assertion_names_every_difference() -> None:
    golden = recorded()
    result = {**golden["golden_output"], "success": False, "final_result": None}
    with pytest.raises(AssertionError) as caught:
        assert_matches_golden(result, golden)
    assert str(caught.value).count("\n- ") == 2
    assert_matches_golden(golden["golden_output"], golden)


def test_a_golden_that_should_be_recorded_again_is_a_warning_and_no_failure() -> None:
    golden = recorded()
    golden["recorded_at"] = "2020-01-01T00:00:00Z"
    with pytest.warns(GoldenWarning, match="file_not_found: age: recorded"):
        assert_matches_golden(golden["golden_output"], golden)


def test_what_was_filtered_out_stands_for_anything() -> None:
    golden = recorded()
    result = copy.deepcopy(golden["golden_output"])
    golden["golden_output"]["tool_chain"][1]["result"] = ["the key is *** now"]
    result["tool_chain"][1]["result"] = ["the key is open sesame now"]
    assert compare_golden(result, golden) == []
    result["tool_chain"][1]["result"] = ["the lock is open sesame now"]
    assert len(compare_golden(result, golden)) == 1
