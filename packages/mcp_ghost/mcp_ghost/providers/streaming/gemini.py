"""Gemini's chunks: each is a reply of its own, with the next parts in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcp_ghost.providers.common import at, blocks_in
from mcp_ghost.results import JSONObject

if TYPE_CHECKING:
    from mcp_ghost.providers.streaming.events import Delta


class GeminiAssembler:
    """See :class:`mcp_ghost.providers.streaming.events.Assembler`."""

    def __init__(self) -> None:
        self._body: JSONObject = {}
        self._candidate: JSONObject = {}
        self._parts: list[JSONObject] = []
        self._index: object = None
        """Of the candidate that is read; of others, nothing is."""

    @property
    def is_complete(self) -> bool:
        """Whether the reply has come to its end, or to an error."""
        is_blocked = at(self._body, "promptFeedback", "blockReason")
        return bool(self._candidate.get("finishReason") or is_blocked or self._body.get("error"))

    def add(self, piece: JSONObject) -> Iterator[Delta]:
        """What a piece adds."""
        self._body |= {
            key: it for key, it in piece.items() if key != "candidates" and it is not None
        }
        candidates = blocks_in(piece.get("candidates"))
        if self._index is None and candidates:
            self._index = candidates[0].get("index") or 0
        first = next((it for it in candidates if (it.get("index") or 0) == self._index), None)
        if first is None:
            return
        said = {key: it for key, it in first.items() if key != "content" and it is not None}
        self._candidate |= said
        for part in blocks_in(at(first, "content", "parts")):
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
        call = part.get("functionCall")
        if isinstance(call, dict) and call.get("id") and part in self._parts:
            return  # sent twice
        last = self._parts[-1] if self._parts else {}
        is_plain = part.keys() <= {"text", "thought"} and last.keys() <= {"text", "thought"}
        is_of_kind = bool(part.get("thought")) == bool(last.get("thought"))
        if "text" in part and "text" in last and is_plain and is_of_kind:
            self._parts[-1] = {**last, "text": last["text"] + part["text"]}
        else:
            self._parts.append(part)
