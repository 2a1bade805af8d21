"""How many tokens a request takes.

As many as the provider counted for the one before, and an estimate of what was added since.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_ghost.media import TOKENS_OF_IMAGE
from mcp_ghost.messages import text_in

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse, Message, ToolSchema

_BYTES_OF_TOKEN = 4
"""About, in English; letters of other scripts take more of both."""


@dataclass
class Meter:
    """Counts requests of one conversation."""

    counted: int = 0
    """Tokens of the latest request and its reply, by the provider's count; 0: it gave none."""
    estimated: int = 0
    """The same as we estimate it."""

    def __post_init__(self) -> None:
        self._tools: list[ToolSchema] = []
        self._size_of_tools = 0

    def estimate(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> int:
        """Tokens of a request, by its length."""
        if [*tools] != self._tools:
            self._tools = [*tools]
            self._size_of_tools = _tokens(json.dumps(self._tools)) if tools else 0
        return self._size_of_tools + sum(map(_size, messages))

    def tokens(self, estimated: int) -> int:
        """Tokens of a request that we estimate so.

        What was added since the provider's count is estimated; what was left out counts for its
        share of it.
        """
        if not self.counted or not self.estimated:
            return estimated
        if estimated >= self.estimated:
            return self.counted + estimated - self.estimated
        return self.counted * estimated // self.estimated

    def answered(self, estimated: int, reply: Message, response: LLMResponse) -> None:
        """Take in what the provider says of a request that we estimated so, and of its reply."""
        spent = response.spent
        if not spent.prompt_tokens:
            self.counted = 0
            return
        # Empty replies before it were paid for, each with the same prompt.
        self.counted = spent.prompt_tokens // max(spent.calls, 1) + spent.completion_tokens
        self.estimated = estimated + _size(reply)


def _size(message: Message) -> int:
    calls: Sequence[dict[str, Any]] = message.get("tool_calls") or ()
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    images = len([part for part in parts if part.get("type") == "image_url"])
    size = _tokens(text_in(message)) + TOKENS_OF_IMAGE * images
    for call in calls:
        size += _tokens(call["function"]["arguments"])
    return size


def _tokens(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return -(-size // _BYTES_OF_TOKEN)
