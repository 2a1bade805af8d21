"""The outcome of a run: the final result, and a paragraph about how it came about."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from mcp_ghost.results import JSON, jsonable
from mcp_ghost.run.report.account import Account, ToolRecord

_FENCED = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL | re.IGNORECASE)
_STEPS = 30
"""Attempts that a summary lists; of more, the first and the last."""
_WORDS = 300
"""Characters of the answer or of an error that a summary quotes."""


def final_result(answer: str | None) -> JSON:
    """The answer; parsed when the whole of it is a JSON object or array, fenced or not."""
    if answer is None:
        return None
    text = answer.strip()
    fenced = _FENCED.fullmatch(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return text
    return jsonable(value) if isinstance(value, dict | list) else text


def summary(account: Account, answer: str | None, *, ended_by: str) -> str:
    """One paragraph: how it ended, the trail of tools, and the answer."""
    return " ".join(
        part
        for part in (
            _opening(account, ended_by if answer is None else None),
            _trail(account),
            _failures(account),
            f"The run ended early: {ended_by}." if answer is not None and ended_by else "",
            f"Answer: {_quoted(answer)}" if answer is not None else "",
        )
        if part
    )


def _opening(account: Account, failed_by: str | None) -> str:
    replies = _number(account.replies, "model reply", "model replies")
    if failed_by is None:
        return f"Answered after {replies} and {_calls(account.chain)}."
    return f"Ended without an answer: {_quoted(failed_by)}; {replies}, {_calls(account.chain)}."


def _calls(chain: Sequence[ToolRecord]) -> str:
    failed = sum(not record.success for record in chain)
    calls = _number(len(chain), "tool call", "tool calls")
    return f"{calls}, {failed} of them failed" if failed else calls


def _trail(account: Account) -> str:
    steps = [_step(record) for record in account.chain]
    if len(steps) > _STEPS:
        half = _STEPS // 2
        steps = [*steps[:half], f"({len(steps) - 2 * half} more)", *steps[-half:]]
    return f"Tools in order: {' -> '.join(steps)}." if steps else ""


def _step(record: ToolRecord) -> str:
    retry = f" (retry {record.retry_attempt})" if record.retry_attempt else ""
    return f"{record.tool_name}{retry}{'' if record.success else ' (failed)'}"


def _failures(account: Account) -> str:
    told = [
        f"{error.tool_name}: {_quoted(error.error)}"
        + (f" ({error.recovery_action})" if error.recovery_action else "")
        for error in account.errors
    ]
    more = f" and {len(told) - _STEPS} more" if len(told) > _STEPS else ""
    return f"What went wrong: {'; '.join(told[:_STEPS])}{more}." if told else ""


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WORDS else f"{line[:_WORDS]} ..."
