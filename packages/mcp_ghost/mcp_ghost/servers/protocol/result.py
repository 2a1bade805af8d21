"""The result of a call: without secrets, cut to a limit, and read where it holds nobody up."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp_ghost.results import ToolCallResult, each_text, result_from_mcp
from mcp_ghost.text import seen

if TYPE_CHECKING:
    from mcp_ghost.redact import Redactor

SMALL_VALUES, SMALL_CHARACTERS = 200, 20_000
"""What is read within a millisecond, which is less than what handing it to a thread may take."""


async def read_result(sent: dict[str, Any], redactor: Redactor, limit: int) -> ToolCallResult:
    """What the server ``sent``; unless it is small, a thread reads it."""
    if is_small(sent):
        return _read(sent, redactor, limit)
    return await asyncio.to_thread(_read, sent, redactor, limit)


def is_small(value: object) -> bool:
    """Whether JSON has few values and little text; soon answered, however large it is."""
    values, characters, waiting = 0, 0, [value]
    while waiting:
        item = waiting.pop()
        values += 1
        if isinstance(item, str):
            characters += len(item)
        elif isinstance(item, dict | list):
            if len(item) > SMALL_VALUES:
                return False
            waiting += [*item.keys(), *item.values()] if isinstance(item, dict) else item
        if values > SMALL_VALUES or characters > SMALL_CHARACTERS:
            return False
    return True


def _read(sent: dict[str, Any], redactor: Redactor, limit: int) -> ToolCallResult:
    # Cleaned before it is cut: a part of a secret would not be known.
    result = result_from_mcp(redactor.each(each_text(sent, seen)), limit)
    result.error_message = result.error_message and redactor.words(result.error_message)
    return result
