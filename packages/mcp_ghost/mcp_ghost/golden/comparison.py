"""Whether a run did what was recorded: by its calls, failures and costs, not by its words."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

from mcp_ghost.golden.file import Golden, as_golden
from mcp_ghost.golden.scrub import Scrubber, places, same
from mcp_ghost.providers.responses import is_response
from mcp_ghost.results import parsed
from mcp_ghost.text import counted, one_line

SameAnswer: TypeAlias = Callable[[Any, Any], bool | str]
"""(recorded, now) -> whether two final results mean the same, or why not"""
MAX_AGE_DAYS = 180
TIME_FACTOR = 10.0
TOKEN_FACTOR = 2.0
_TIME_SLACK = 30.0
"""Seconds: a short run on a busy machine is not slow."""
_TOKEN_SLACK = 500
_SHOWN = 200
_BEFORE = 40
"""Characters shown of what is still the same, in a long text."""
FIELDS: Mapping[str, Mapping[str, Mapping[str, list[str]]]] = json.loads(
    Path(__file__).with_name("reply_fields.json").read_text(encoding="utf-8")
)
"""By wire and place: the names that an object there has to have (needed), and those it may have."""


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
    drift = provider_drift(golden)
    if max_age_days is None:
        return drift
    try:
        recorded = datetime.fromisoformat(str(golden.get("recorded_at")))
    except ValueError:
        return ["age: recorded_at is not a date; record it again", *drift]
    recorded = recorded if recorded.tzinfo else recorded.replace(tzinfo=UTC)
    days = ((now or datetime.now(UTC)) - recorded).total_seconds() / 86400
    if days > max_age_days:
        age = f"age: recorded {days:.0f} days ago, more than {max_age_days:g}; record it again"
        return [age, *drift]
    return drift


def _differences(
    result: Mapping[str, Any],
    golden: Golden,
    time_factor: float | None,
    token_factor: float | None,
    same_answer: SameAnswer | None,
) -> list[str]:
    expected = golden["golden_output"]
    now = Scrubber((), places(golden.path)).hide(result)
    before, after = (it.get("execution_metadata", {}) for it in (expected, now))
    seconds, seconds_now = (it.get("total_execution_time") for it in (before, after))
    tokens, tokens_now = (
        (it.get("token_usage") or {}).get("total_tokens") for it in (before, after)
    )
    return [
        *getattr(result, "drift", ()),
        *_outcome(expected, now, same_answer, is_replay=hasattr(result, "drift")),
        *_calls(expected.get("tool_chain", []), now.get("tool_chain", []), golden),
        *_errors(expected, now),
        *_bound(seconds or 0, seconds_now or 0, time_factor, _TIME_SLACK, "seconds"),
        *_bound(tokens or 0, tokens_now or 0, token_factor, _TOKEN_SLACK, "tokens"),
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


def _arrows(names: list[str]) -> str:
    return " → ".join(names) or "none"


def difference(label: str, recorded: object, now: object) -> str:
    """Such as ``result.rows[2].name: recorded "a", now "b"``, for values that are not the same."""
    values = [parsed(it) if isinstance(it, str) else None for it in (recorded, now)]
    if {type(it) for it in values} in ({dict}, {list}):  # two texts that are JSON
        recorded, now = values
    if isinstance(recorded, Mapping) and isinstance(now, Mapping):
        for key in {**recorded, **now}:
            if key not in now:
                return f"{label}.{key}: recorded {_short(recorded[key])}, now missing"
            if key not in recorded:
                return f"{label}.{key}: not there when recorded, now {_short(now[key])}"
            if not same(recorded[key], now[key]):
                return difference(f"{label}.{key}", recorded[key], now[key])
    if isinstance(recorded, list) and isinstance(now, list):
        for number, (before, after) in enumerate(zip(recorded, now, strict=False)):
            if not same(before, after):
                return difference(f"{label}[{number}]", before, after)
        if len(recorded) != len(now):
            was, is_now = (counted(len(it), "item") for it in (recorded, now))
            return f"{label}: recorded {was}, now {is_now}"
    start = 0
    if isinstance(recorded, str) and isinstance(now, str):
        pairs = enumerate(zip(recorded, now, strict=False))
        shared = min(len(recorded), len(now))
        at = next((number for number, (before, after) in pairs if before != after), shared)
        start = at - _BEFORE if at > _SHOWN - _BEFORE else 0
    return f"{label}: recorded {_short(recorded, start)}, now {_short(now, start)}"


def _short(value: object, start: int = 0) -> str:
    if start and isinstance(value, str):
        value = f"…{value[start:]}"
    return one_line(json.dumps(value, ensure_ascii=False, default=str), _SHOWN)


def provider_drift(golden: Mapping[str, Any]) -> list[str]:
    """List each unexpected or missing field in the recorded replies of a known provider."""
    golden = as_golden(golden)
    provider = str(golden.get("input", {}).get("provider", "")).strip().lower()
    replies = [
        entry.get("response")
        for entry in golden.get("provider_responses") or ()
        if 200 <= entry.get("status", 200) < 300 and not entry.get("error")
    ]
    found: list[str] = []
    for reply in replies:
        on_responses = isinstance(reply, Mapping) and is_response(reply)
        found += _surprises(reply, FIELDS.get("responses" if on_responses else provider, {}), "")
    return [f"provider drift: {line}" for line in dict.fromkeys(found)]


def _surprises(
    value: object, fields: Mapping[str, Mapping[str, list[str]]], where: str
) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _surprises(item, fields, f"{where}[]")
    elif where in fields and isinstance(value, Mapping):
        dot = f"{where}." if where else ""
        needed = set(fields[where].get("needed", ()))
        known = {name for names in fields[where].values() for name in names}
        yield from (f"{dot}{name} is not known" for name in sorted(value.keys() - known))
        yield from (f"{dot}{name} is missing" for name in sorted(needed - value.keys()))
        for name in value:
            yield from _surprises(value[name], fields, f"{dot}{name}")
    elif value is not None and {where, f"{where}[]"} & fields.keys():
        yield f"{where or 'the reply'} does not have the known form"
