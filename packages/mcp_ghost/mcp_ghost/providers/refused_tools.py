"""Which tools a provider refuses: as its refusal names them, or found by trying halves of them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_ghost.errors import LLMStatusError
    from mcp_ghost.messages import ToolSchema

HARMLESS: ToolSchema = {
    "type": "function",
    "function": {"name": "nothing", "description": "Do it."},
}
"""What every provider takes that takes tools at all."""
_REFUSALS = frozenset({400, 422, 500})
"""llama.cpp said 500 where it cannot make a grammar."""
# Something else than the definition of a tool: "messages[3].tool_calls[0].function.name".
_ELSEWHERE = re.compile(
    r"\b(?:messages?|contents|input)\W{0,3}\d|tool_choice|response.?format", re.I
)
_TOO_MANY = re.compile(
    r"array too long|too many (?:tools|functions)|number of items|at most \d+ (?:tool|function)",
    re.I,
)
# "tools[3]", "tools.3.custom", "('body', 'tools', 3, ...)"; LM Studio: "path":[3,"function", ...];
# Gemini: "tools[0].function_declarations[3]", where the first number says nothing.
_PLACE = re.compile(
    r"\btools\W{1,4}(?:0\W{1,3}function_?declarations\W{1,4})?(\d{1,4})\b(?!\W{1,3}function_?decl)"
    r"|\bpath\W{1,4}(\d{1,4})\W{1,3}function\b",
    re.I,
)
_NAME = (
    r"\b(?:function|tool|functiondeclaration)(?: name)?[\s:'\"`(]{1,3}NAME(?![\w-])"
    r"|[\"'`]NAME[\"'`]|(?<![\w-])NAME[\s'\"`]{1,2}(?:function|tool)"
)
_OF_DEFINITIONS = re.compile(
    r"schema|grammar|declaration|propert|regex|parameters|invalid.{0,40}\b(?:tool|function|argument)"
    r"|\b(?:tool|function)s?\b.{0,40}invalid",
    re.I | re.DOTALL,
)


def named_tools(error: LLMStatusError, names: Sequence[str]) -> list[int]:
    """The places of those among ``names``, which are on the wire, that ``error`` refuses."""
    if error.status not in _REFUSALS or _ELSEWHERE.search(error.said):
        return []
    patterns = [_NAME.replace("NAME", re.escape(name)) for name in names]
    found = [place for place, it in enumerate(patterns) if re.search(it, error.said, re.I)]
    places = {int(one or other) for one, other in _PLACE.findall(error.said)}
    return found or sorted(place for place in places if place < len(names))


def may_be_of_a_tool(error: LLMStatusError) -> bool:
    """Whether ``error`` may be about the definition of some tool that it does not name."""
    is_of_one = _OF_DEFINITIONS.search(error.said) and not _TOO_MANY.search(error.said)
    return error.status in _REFUSALS and bool(is_of_one) and not _ELSEWHERE.search(error.said)


async def found_by_halving(
    tools: Sequence[ToolSchema], takes: Callable[[Sequence[ToolSchema]], Awaitable[bool]]
) -> list[ToolSchema]:
    """Those of ``tools``, which are refused together, that are refused alone."""
    if len(tools) == 1:
        return [*tools]
    found: list[ToolSchema] = []
    for half in (tools[: len(tools) // 2], tools[len(tools) // 2 :]):
        if not await takes(half):
            found += await found_by_halving(half, takes)
    return found
