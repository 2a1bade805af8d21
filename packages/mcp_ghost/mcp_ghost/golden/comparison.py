"""Whether a run did what was recorded: by its calls, failures and costs, not by its words.

Of a request matters the same for every provider: model, tools on offer, roles, results. Prompts may
be reworded without a golden becoming wrong.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from mcp_ghost.golden.file import Golden, as_golden
from mcp_ghost.golden.scrub import Scrubber, places, same
from mcp_ghost.providers.common import at, dicts_in
from mcp_ghost.providers.responses import is_response
from mcp_ghost.results import as_text, parsed
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


_HEADS = ("system", "systemInstruction", "system_instruction", "instructions")
"""Where the system prompt stands beside the messages."""
_SAME_ROLE = {"developer": "system", "model": "assistant", "function": "tool"}
_ROLE_OF_ITEM = {
    "reasoning": "assistant",
    "function_call": "assistant",
    "function_call_output": "tool",
}
"""Of OpenAI's Responses API, where calls and their results are no messages."""
_RESULTS = {
    "tool": ("tool_call_id", "content"),
    "function_call_output": ("call_id", "output"),
    "tool_result": ("tool_use_id", "content"),
}
"""By the role or type of a result: the fields of its call's id and of its text."""


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
    if lines := "".join(f"\n- {line}" for line in differences):
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
) -> Iterator[str]:
    expected = golden["golden_output"]
    now = Scrubber((), places(golden.path)).hide(result)
    yield from getattr(result, "drift", ())
    success, success_now = expected.get("success"), now.get("success")
    if success != success_now:
        why = "" if success_now else f" ({one_line(now.get('summary') or '', 200)})"
        yield f"success: recorded {success}, now {success_now}{why}"
    answer, answer_now = (it.get("final_result") for it in (expected, now))
    if bool(answer) != bool(answer_now):
        yield f"final_result: {'recorded, but missing now' if answer else 'new, none was recorded'}"
    elif same_answer is not None and answer:
        verdict = same_answer(answer, answer_now)
        if verdict is not True:
            why = f" ({one_line(verdict, 200)})" if isinstance(verdict, str) else ""
            yield difference("final_result", answer, answer_now) + why
    elif hasattr(result, "drift") and not same(answer, answer_now):
        yield difference("final_result", answer, answer_now)
    yield from _calls(expected.get("tool_chain", []), now.get("tool_chain", []), golden)
    failed, failed_now = (
        [
            f"{error['tool_name']} ({'recovered' if error.get('recovery_action') else 'given up'})"
            for error in output.get("errors", [])
        ]
        for output in (expected, now)
    )
    if failed != failed_now:
        yield f"errors: recorded {_arrows(failed)}, now {_arrows(failed_now)}"
    for unit, factor, slack, *path in (
        ("seconds", time_factor, _TIME_SLACK, "total_execution_time"),
        ("tokens", token_factor, _TOKEN_SLACK, "token_usage", "total_tokens"),
    ):
        before, after = (at(it, "execution_metadata", *path) or 0 for it in (expected, now))
        if factor is not None and after > (limit := before * factor + slack):
            yield f"{unit}: {after:.6g}, more than the limit of {limit:.6g} (recorded {before:.6g})"


def _calls(expected: list[Any], now: list[Any], golden: Golden) -> Iterator[str]:
    names, names_now = ([call["tool_name"] for call in chain] for chain in (expected, now))
    if names != names_now:
        yield f"tool sequence: recorded {_arrows(names)}, now {_arrows(names_now)}"
    for number, (before, after) in enumerate(zip(expected, now, strict=False), start=1):
        tool = before["tool_name"]
        if tool != after["tool_name"]:
            return  # what follows belongs to another way
        which = f"call {number} ({tool})"
        again, again_now = before.get("retry_attempt"), after.get("retry_attempt")
        if again != again_now:
            yield difference(f"{which}: retry_attempt", again, again_now)
        is_volatile = any(fnmatchcase(tool, it) for it in golden.get("volatile") or ())
        is_compared = before["success"] and after["success"] and not is_volatile
        if before["success"] and not after["success"]:
            error = one_line(after.get("error"), 200)
            yield f"{which}: succeeded when recorded, failed now: {error}"
        elif after["success"] and not before["success"]:
            yield f"{which}: failed when recorded, succeeded now"
        if not same(before["arguments"], after["arguments"]):
            yield difference(f"{which}: arguments", before["arguments"], after["arguments"])
        elif is_compared and not same(before["result"], after["result"]):
            yield difference(f"{which}: result", before["result"], after["result"])


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


class Shape(NamedTuple):
    """What of a request matters."""

    model: str
    tools: list[str]
    """Those that may be called, by their names on the wire."""
    roles: list[str]
    results: list[tuple[int, str, str]]
    """What the model is told of its calls: message, from 1; name on the wire; text."""


def request_differences(
    recorded: Mapping[str, Any], now: Mapping[str, Any], volatile: Iterable[str] = ()
) -> Iterator[str]:
    """How two entries of ``provider_responses`` differ in what they ask, in words.

    ``volatile`` are patterns of tools whose results may be anything.
    """
    if not isinstance(recorded.get("request"), Mapping):
        return
    before, after = request_shape(recorded), request_shape(now)
    if before.model != after.model:
        yield f"model: recorded {before.model}, now {after.model}"
    if gone := [name for name in before.tools if name not in after.tools]:
        yield f"tools: no longer offered: {', '.join(gone)}"
    if new := [name for name in after.tools if name not in before.tools]:
        yield f"tools: not offered when recorded: {', '.join(new)}"
    if before.roles != after.roles:
        pairs = enumerate(zip_longest(before.roles, after.roles, fillvalue="nothing"), start=1)
        number, (role, role_now) = next(it for it in pairs if it[1][0] != it[1][1])
        lengths = f"{counted(len(before.roles), 'message')} recorded, {len(after.roles)} now"
        yield f"message {number}, role: recorded {role}, now {role_now} ({lengths})"
        return  # what follows belongs to another conversation
    # Names on the wire, where a namespace leads and dots are underscores.
    any_of = ["*" + pattern.replace(".", "_") for pattern in volatile]
    for (number, name, text), (_, _, text_now) in zip(before.results, after.results, strict=False):
        if not (same(text, text_now) or any(fnmatchcase(name, it) for it in any_of)):
            yield difference(f"message {number}, result of {name}", text, text_now)


def request_shape(exchange: Mapping[str, Any]) -> Shape:
    """What matters of a request in any wire format."""
    body = exchange["request"] if isinstance(exchange["request"], Mapping) else {}
    # Gemini names the model in the address.
    in_address = re.search(r"/models/([^:/]+)", str(exchange.get("path") or ""))
    model = body.get("model") or (in_address[1] if in_address else "none")
    tools = [
        str(function.get("name"))
        for tool in dicts_in(body.get("tools"))
        for function in dicts_in(tool.get("functionDeclarations"))
        or dicts_in(tool.get("function_declarations"))
        or [tool.get("function") or tool]
    ]
    config = body.get("toolConfig") or body.get("tool_config")
    calling = at(config, "functionCallingConfig") or at(config, "function_calling_config")
    # They may be defined only for calls in the history, where none may be called.
    is_none = body.get("tool_choice") in ("none", {"type": "none"}) or at(calling, "mode") == "NONE"
    roles = ["system"] if any(body.get(name) for name in _HEADS) else []
    results: list[tuple[int, str, str]] = []
    names: dict[object, str] = {}
    for message in dicts_in(body.get("messages") or body.get("contents") or body.get("input")):
        kind = message.get("type")
        known = str(message.get("role") or _ROLE_OF_ITEM.get(str(kind), kind))
        role = _SAME_ROLE.get(known, known)
        if not (kind and role == "assistant" and roles[-1:] == [role]):  # an item of one reply
            roles.append(role)
        for item in (message, *dicts_in(message.get("parts") or message.get("content"))):
            for call in dicts_in(item.get("tool_calls")):
                names[call.get("id")] = str(at(call, "function", "name"))
            kind = "tool" if item.get("role") == "tool" else str(item.get("type"))
            if kind in ("function_call", "tool_use"):
                names[item.get("call_id", item.get("id"))] = str(item.get("name"))
            elif kind in _RESULTS:
                identifier, text = (item.get(field) for field in _RESULTS[kind])
                results.append((len(roles), names.get(identifier, str(identifier)), as_text(text)))
            elif isinstance(answer := item.get("functionResponse"), dict):
                told = as_text(answer.get("response"))
                results.append((len(roles), str(answer.get("name")), told))
    return Shape(str(model), [] if is_none else sorted(tools), roles, results)


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
