"""Gemini's chunks: each is a reply of its own, with the next parts in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcp_ghost.providers.common import blocks_in

if TYPE_CHECKING:
    from mcp_ghost.providers.streaming.events import Delta
    from mcp_ghost.results import JSONObject


class GeminiAssembler:
    """See :class:`mcp_ghost.providers.streaming.events.Assembler`."""

    def __init__(self) -> None:
        self._body: JSONObject = {}
        self._candidate: JSONObject = {}
        self._parts: list[JSONObject] = []

    @property
    def is_complete(self) -> bool:
        """Whether the reply has come to its end, or to an error."""
        is_blocked = (self._body.get("promptFeedback") or {}).get("blockReason")
        return bool(self._candidate.get("finishReason") or is_blocked or "error" in self._body)

    def add(self, piece: JSONObject) -> Iterator[Delta]:
        """What a piece adds."""
        self._body |= {key: value for key, value in piece.items() if key != "candidates"}
        candidates = piece.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        if not isinstance(first, dict):
            return
        self._candidate |= {key: value for key, value in first.items() if key != "content"}
        content = first.get("content")
        for part in blocks_in(content.get("parts") if isinstance(content, dict) else None):
            self._take(part)
            if part.get("text"):
                yield "thinking" if part.get("thought") else "text", part["text"]

    def body(self) -> JSONObject:
        """The reply as it would have come at once."""
        if not self._candidate and not self._parts:
            return self._body
        content = {"role": "model", "parts": self._parts}
        return {**self._body, "candidates": [{**self._candidate, "content": content}]}

    def _take(self, part: JSONObject) -> None:
        """Add ``part``, to the one before it where both are words of the same kind."""
        if part.keys() <= {"text", "thought"} and not part.get("text"):
            return  # it only carries the reason of the end
        last = self._parts[-1] if self._parts else {}
        is_plain = part.keys() <= {"text", "thought"} and last.keys() <= {"text", "thought"}
        if "text" in part and "text" in last and is_plain and _thought(part) == _thought(last):
            self._parts[-1] = {**last, "text": last["text"] + part["text"]}
        else:
            self._parts.append(part)


def _thought(part: JSONObject) -> bool:
    return bool(part.get("thought"))
