"""The events of OpenAI's Responses API: items that grow, and the whole reply at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcp_ghost.providers.common import at
from mcp_ghost.providers.streaming.openai import OpenAIAssembler
from mcp_ghost.results import JSONObject

if TYPE_CHECKING:
    from mcp_ghost.providers.streaming.events import Assembler, Delta

# "response.done" is what ChatGPT's address for Codex says.
_LAST = ("response.completed", "response.done", "response.incomplete", "response.failed")
_TEXTS = {
    "response.output_text": ("content", "output_text", "text"),
    "response.refusal": ("content", "refusal", "refusal"),
    "response.reasoning_text": ("content", "reasoning_text", "text"),
    "response.reasoning_summary_text": ("summary", "summary_text", "text"),
}
"""Of each text that grows: the list of an item where it is a part, its type, its field."""


class ResponsesAssembler:
    """See :class:`mcp_ghost.providers.streaming.events.Assembler`."""

    def __init__(self) -> None:
        self.is_complete = False
        self._response: JSONObject = {}
        self._items: dict[int, JSONObject] = {}

    def add(self, piece: JSONObject) -> Iterator[Delta]:
        """What a piece adds."""
        kind = str(piece.get("type"))
        if isinstance(response := piece.get("response"), dict):
            self._response |= response
            self.is_complete = kind in _LAST
        elif kind == "error" or piece.get("error"):
            self._response["error"] = piece.get("error") or {**piece, "type": None}
            self.is_complete = True
        elif "output" in piece:  # all of it in one piece
            self._response, self.is_complete = dict(piece), True
        elif kind in ("response.output_item.added", "response.output_item.done"):
            if isinstance(item := piece.get("item"), dict):
                self._items[self._place(piece)] = dict(item)
        elif kind.startswith("response.function_call_arguments."):
            call = self._item(piece, "function_call")
            more = str(piece.get("delta") or "")
            call["arguments"] = piece.get("arguments") or str(call.get("arguments") or "") + more
            call |= {key: piece[key] for key in ("name", "call_id") if piece.get(key)}
        elif kind == "response.reasoning_summary_part.added" and piece.get("summary_index"):
            yield "thinking", "\n"
        elif (known := kind.rpartition(".")[0]) in _TEXTS:
            yield from self._grow(known, piece)

    def body(self) -> JSONObject:
        """The reply as it would have come at once; some servers send its items only before it.

        Others send a call twice, at two places.
        """
        items = {
            (item.get("call_id", place), item.get("name"), str(item.get("arguments"))): item
            for place, item in sorted(self._items.items())
        }
        output = self._response.get("output") or [*items.values()]
        return {**self._response, "object": "response", "output": output}

    def _item(self, piece: JSONObject, kind: str) -> JSONObject:
        return self._items.setdefault(self._place(piece), {"type": kind})

    def _place(self, piece: JSONObject) -> int:
        """Where the item of ``piece`` is in the reply; some servers say only which it is."""
        known = at(piece, "item", "id") or piece.get("item_id")
        if known is None or "output_index" in piece:
            return _number(piece, "output_index")
        same = [place for place, item in self._items.items() if item.get("id") == known]
        return same[0] if same else len(self._items)

    def _grow(self, kind: str, piece: JSONObject) -> Iterator[Delta]:
        """Add to a part of an item, or take the whole of it."""
        place, type_, field = _TEXTS[kind]
        thinks = "reasoning" in kind
        item = self._item(piece, "reasoning" if thinks else "message")
        parts = item[place] = [*(item.get(place) or ())]
        number = _number(piece, "summary_index" if place == "summary" else "content_index")
        while len(parts) <= number:
            parts.append({"type": type_, field: ""})
        part = parts[number] = dict(parts[number])
        before, more = str(part.get(field) or ""), str(piece.get("delta") or "")
        part[field] = piece.get(field) or before + more
        if more:
            yield "thinking" if thinks else "text", more


class EitherAssembler:
    """Takes a reply on either of OpenAI's wires: the first piece shows which."""

    def __init__(self) -> None:
        self._chosen: Assembler | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the reply has come to its end, or to an error."""
        return self._chosen is not None and self._chosen.is_complete

    def add(self, piece: JSONObject) -> Iterator[Delta]:
        """What a piece adds."""
        kind = str(piece.get("type") or "")
        if self._chosen is None and (kind.startswith(("response.", "error")) or "output" in piece):
            self._chosen = ResponsesAssembler()
        elif self._chosen is None and ("choices" in piece or (piece and not kind)):
            # What has another type only keeps the connection alive.
            self._chosen = OpenAIAssembler()
        if self._chosen is not None:
            yield from self._chosen.add(piece)

    def body(self) -> JSONObject:
        """The reply as it would have come at once."""
        return self._chosen.body() if self._chosen is not None else {}


def _number(piece: JSONObject, field: str) -> int:
    value = piece.get(field)
    return value if isinstance(value, int) else 0
