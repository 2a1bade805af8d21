"""Whether a run did what was recorded: by its calls, failures and costs, not by its words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

from mcp_ghost.golden.difference import difference
from mcp_ghost.golden.drift import provider_drift
from mcp_ghost.golden.file import Golden, as_golden
from mcp_ghost.golden.scrub import Scrubber, places, same
from mcp_ghost.text import one_line

SameAnswer: TypeAlias = Callable[[Any, Any], bool | str]
"""(recorded, now) -> whether two final results mean the same, or why not"""
MAX_AGE_DAYS = 180
TIME_FACTOR = 10.0
TOKEN_FACTOR = 2.0
_TIME_SLACK = 30.0
"""Seconds: a short run on a busy machine is not slow."""
_TOKEN_SLACK = 500


class GoldenWarning(UserWarning):
    """Issued for a golden that should be recorded again although the run matches it."""


def compare_golden(
    result: Mapping[str, Any],
    golden: Mapping[str, Any] | str | Path,
    *,
    time_factor: float | None = TIME_FACTOR,
    token_factor: float | None = TOKEN_FACTOR,
    max_age_days: float | None = MAX_AGE_DAYS,
    same_answer: SameAnswer | None = None,
    now: datetime | None = None,
) -> list[str]:
    """List how ``result`` differs from ``golden``, one line for each difference.

    It compares the sequence of tools, their arguments, results and failures, whether there is a
    final result, the time (at most ``time_factor`` times the recorded one, plus half a minute) and
    the tokens. If ``result`` comes from :func:`replay_golden`, it also compares the requests, with
    what they say about the tools' results, and the final result itself, since the model's words are
    the recorded ones. Tools that the golden calls volatile may return anything. ``same_answer`` is
    called with the recorded final result and the present one, and returns whether they mean the
    same, or why not. The lines of :func:`golden_notices` come last.
    """
    golden = as_golden(golden)
    differences = _differences(result, golden, time_factor, token_factor, same_answer)
    return [*differences, *golden_notices(golden, max_age_days=max_age_days, now=now)]


def assert_matches_golden(
    result: Mapping[str, Any],
    golden: Mapping[str, Any] | str | Path,
    *,
    time_factor: float | None = TIME_FACTOR,
    token_factor: float | None = TOKEN_FACTOR,
    max_age_days: float | None = MAX_AGE_DAYS,
    same_answer: SameAnswer | None = None,
) -> None:
    """Raise AssertionError with all differences, in the order in which they arose.

    An outdated golden is reported by a GoldenWarning.
    """
    golden = as_golden(golden)
    for notice in golden_notices(golden, max_age_days=max_age_days):
        warnings.warn(f"{golden.get('test_name')}: {notice}", GoldenWarning, stacklevel=2)
    differences = _differences(result, golden, time_factor, token_factor, same_answer)
    if differences:
        lines = "".join(f"\n- {line}" for line in differences)
        raise AssertionError(f"The run differs from the golden {golden.get('test_name')}:{lines}")


def golden_notices(
    golden: Mapping[str, Any] | str | Path,
    *,
    max_age_days: float | None = MAX_AGE_DAYS,
    now: datetime | None = None,
) -> list[str]:
    """Why ``golden`` should be recorded again: its age, and the provider's drift."""
    golden = as_golden(golden)
    return [*_age(golden, max_age_days, now), *provider_drift(golden)]


def _differences(
    result: Mapping[str, Any],
    golden: Golden,
    time_factor: float | None,
    token_factor: float | None,
    same_answer: SameAnswer | None,
) -> list[str]:
    expected = golden["golden_output"]
    now = Scrubber((), places(golden.path)).hide(result)
    return [
        *getattr(result, "drift", ()),
        *_outcome(expected, now, same_answer, is_replay=hasattr(result, "drift")),
        *_calls(expected.get("tool_chain", []), now.get("tool_chain", []), golden),
        *_errors(expected, now),
        *_bound(_seconds(expected), _seconds(now), time_factor, _TIME_SLACK, "seconds"),
        *_bound(_tokens(expected), _tokens(now), token_factor, _TOKEN_SLACK, "tokens"),
    ]


def _outcome(
    expected: Mapping[str, Any],
    now: Mapping[str, Any],
    same_answer: SameAnswer | None,
    *,
    is_replay: bool,
) -> Iterator[str]:
    if expected.get("success") != now.get("success"):
        why = f" ({one_line(now.get('summary') or '', 200)})" if not now.get("success") else ""
        yield f"success: recorded {expected.get('success')}, now {now.get('success')}{why}"
    if bool(expected.get("final_result")) != bool(now.get("final_result")):
        yield "final_result: " + (
            "recorded, but missing now"
            if expected.get("final_result")
            else "new, none was recorded"
        )
    elif same_answer is not None and expected.get("final_result"):
        verdict = same_answer(expected.get("final_result"), now.get("final_result"))
        if verdict is not True:
            why = f" ({one_line(verdict, 200)})" if isinstance(verdict, str) else ""
            before, after = expected["final_result"], now["final_result"]
            yield difference("final_result", before, after) + why
    elif is_replay and not same(expected.get("final_result"), now.get("final_result")):
        yield difference("final_result", expected.get("final_result"), now.get("final_result"))


def _calls(expected: list[Any], now: list[Any], golden: Golden) -> Iterator[str]:
    names, names_now = ([call["tool_name"] for call in chain] for chain in (expected, now))
    if names != names_now:
        yield f"tool sequence: recorded {_arrows(names)}, now {_arrows(names_now)}"
    for number, (before, after) in enumerate(zip(expected, now, strict=False), start=1):
        if before["tool_name"] != after["tool_name"]:
            return  # what follows belongs to another way
        for line in _call(before, after, golden):
            yield f"call {number} ({before['tool_name']}): {line}"


def _call(before: Mapping[str, Any], after: Mapping[str, Any], golden: Golden) -> Iterator[str]:
    volatile = any(fnmatchcase(before["tool_name"], it) for it in golden.get("volatile") or ())
    is_compared = before["success"] and after["success"] and not volatile
    if before.get("retry_attempt") != after.get("retry_attempt"):
        yield difference("retry_attempt", before.get("retry_attempt"), after.get("retry_attempt"))
    if before["success"] != after["success"]:
        yield (
            "succeeded when recorded, failed now: " + one_line(after.get("error"), 200)
            if before["success"]
            else "failed when recorded, succeeded now"
        )
    if not same(before["arguments"], after["arguments"]):
        yield difference("arguments", before["arguments"], after["arguments"])
    elif is_compared and not same(before["result"], after["result"]):
        yield difference("result", before["result"], after["result"])


def _errors(expected: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Which tools failed and whether something was done about it, in order."""
    before, after = (
        [
            f"{error['tool_name']} ({'recovered' if error.get('recovery_action') else 'given up'})"
            for error in output.get("errors", [])
        ]
        for output in (expected, now)
    )
    if before != after:
        yield f"errors: recorded {_arrows(before)}, now {_arrows(after)}"


def _bound(
    recorded: float, now: float, factor: float | None, slack: float, unit: str
) -> Iterator[str]:
    if factor is not None and now > (limit := recorded * factor + slack):
        yield f"{unit}: {now:.6g}, more than the limit of {limit:.6g} (recorded {recorded:.6g})"


def _age(golden: Golden, max_days: float | None, now: datetime | None) -> Iterator[str]:
    if max_days is None:
        return
    try:
        recorded = datetime.fromisoformat(str(golden.get("recorded_at")))
    except ValueError:
        yield "age: recorded_at is not a date; record it again"
        return
    recorded = recorded if recorded.tzinfo else recorded.replace(tzinfo=UTC)
    days = ((now or datetime.now(UTC)) - recorded).total_seconds() / 86400
    if days > max_days:
        yield f"age: recorded {days:.0f} days ago, more than {max_days:g}; record it again"


def _seconds(output: Mapping[str, Any]) -> float:
    return float(output.get("execution_metadata", {}).get("total_execution_time") or 0)


def _tokens(output: Mapping[str, Any]) -> float:
    usage = output.get("execution_metadata", {}).get("token_usage") or {}
    return float(usage.get("total_tokens") or 0)


def _arrows(names: list[str]) -> str:
    return " → ".join(names) or "none"
