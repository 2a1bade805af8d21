"""The outcome of a run: the final result, what its calls depend on, and a paragraph about it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from mcp_ghost.results import JSON, jsonable, parsed
from mcp_ghost.run.report.account import Account, ToolRecord
from mcp_ghost.text import counted

_FENCED = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL | re.IGNORECASE)
_STEPS = 30
"""Attempts that a summary lists; of more, the first and the last."""
_LEAST = 3
"""Characters of a value that says where it came from; shorter ones are everywhere."""
_TOKEN = re.compile(r"[\w./:@+-]*\w")
_WORDS = 300
"""Characters of the answer or of an error that a summary quotes."""


def final_result(answer: str | None) -> JSON:
    """The answer; parsed when the whole of it is a JSON object or array, fenced or not."""
    if answer is None:
        return None
    text = answer.strip()
    fenced = _FENCED.fullmatch(text)
    value = parsed(fenced[1] if fenced else text)
    return jsonable(value) if isinstance(value, dict | list) else text


def summary(account: Account, answer: str | None, *, ended_by: str) -> str:
    """One paragraph: how it ended, the trail of tools, and the answer."""
    replies = counted(account.replies, "model reply")
    calls = counted(len(account.chain), "tool call")
    if failed := sum(not record.success for record in account.chain):
        calls += f", {failed} of them failed"
    said = [f"Answered after {replies} and {calls}."]
    if answer is None:
        said = [f"Ended without an answer: {_quoted(ended_by)}; {replies}, {calls}."]
    steps = [
        record.tool_name
        + (f" (retry {record.retry_attempt})" if record.retry_attempt else "")
        + ("" if record.success else " (failed)")
        for record in account.chain
    ]
    if len(steps) > _STEPS:
        half = _STEPS // 2
        steps = [*steps[:half], f"({len(steps) - 2 * half} more)", *steps[-half:]]
    if steps:
        said.append(f"Tools in order: {' -> '.join(steps)}.")
    wrong = [
        f"{error.tool_name}: {_quoted(error.error)}"
        + (f" ({error.recovery_action})" if error.recovery_action else "")
        for error in account.errors
    ]
    if wrong:
        more = f" and {len(wrong) - _STEPS} more" if len(wrong) > _STEPS else ""
        said.append(f"What went wrong: {'; '.join(wrong[:_STEPS])}{more}.")
    if answer is not None and ended_by:
        said.append(f"The run ended early: {ended_by}.")
    if answer is not None:
        said.append(f"Answer: {_quoted(answer)}")
    return " ".join(said)


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WORDS else f"{line[:_WORDS]} ..."


def with_dependencies(chain: Sequence[ToolRecord], known: Iterable[str]) -> list[ToolRecord]:
    """``chain`` with ``depends_on`` filled in.

    An argument came from the first earlier result in which it stands, whole: as a value, a line or
    a word. Not so where it stands in ``known``, what the model was told by the user.
    """
    told = {place for text in known for place in _places(text)}
    came_from: dict[str, int] = {}
    linked: list[ToolRecord] = []
    for _, calls in groupby(enumerate(chain), key=lambda it: it[1].iteration):
        reply = [*calls]
        for _, record in reply:
            leaves = {leaf for leaf in _leaves(record.arguments) if leaf not in told}
            sources = {came_from[leaf] for leaf in leaves if leaf in came_from}
            linked.append(replace(record, depends_on=sorted(sources)))
        for position, record in reply:  # the next reply sees the results
            for leaf in _leaves(record.result):
                for value in _places(leaf):
                    came_from.setdefault(value, position)
    return linked


def _leaves(value: JSON) -> Iterator[str]:
    """The texts and numbers in ``value`` that are long enough to say something."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)
    elif value is not None and not isinstance(value, bool) and len(str(value).strip()) >= _LEAST:
        yield str(value).strip()


def _places(text: str) -> Iterator[str]:
    """All that an argument may have been taken from."""
    yield text.strip()
    for line in text.splitlines():
        yield line.strip()
        yield from (word for word in _TOKEN.findall(line) if len(word) >= _LEAST)
