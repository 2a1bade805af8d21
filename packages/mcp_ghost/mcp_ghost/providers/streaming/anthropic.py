"""Anthropic's events: a message that begins, blocks that grow, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_ghost.providers.streaming.events import Delta
    from mcp_ghost.results import JSONObject

_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""The field of a block that a delta adds to, which has the same name in both."""


class AnthropicAssembler:
    """See :class:`mcp_ghost.providers.streaming.events.Assembler`."""

    def __init__(self) -> None:
        self.is_complete = False
        self._message: JSONObject = {}
        self._blocks: dict[int, JSONObject] = {}
        self._inputs: dict[int, str] = {}
        """The arguments of calls, as JSON that grows."""
        self._error: JSONObject | None = None

    def add(self, piece: JSONObject) -> Iterator[Delta]:
        """What a piece adds."""
        match piece.get("type"):
            case "message_start":
                self._message = dict(_dict(piece.get("message")))
            case "content_block_start":
                block = dict(_dict(piece.get("content_block")))
                self._blocks[piece.get("index", 0)] = block
                yield from _said(str(block.get("type")), block)
            case "content_block_delta":
                yield from self._grow(piece.get("index", 0), _dict(piece.get("delta")))
            case "message_delta":
                self._message |= _dict(piece.get("delta"))
                usage = {**_dict(self._message.get("usage")), **_dict(piece.get("usage"))}
                self._message["usage"] = usage
            case "message_stop":
                self.is_complete = True
            case "error":
                self._error, self.is_complete = piece, True

    def body(self) -> JSONObject:
        """The reply as it would have come at once."""
        if self._error is not None:
            return self._error
        for index, text in self._inputs.items():
            self._blocks[index]["input"] = _parsed(text)
        return {**self._message, "content": [block for _, block in sorted(self._blocks.items())]}

    def _grow(self, index: int, delta: JSONObject) -> Iterator[Delta]:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        kind = str(delta.get("type"))
        if kind == "input_json_delta":
            more = str(delta.get("partial_json") or "")
            self._inputs[index] = self._inputs.get(index, "") + more
        elif field := _GROWS.get(kind):
            block[field] = str(block.get(field) or "") + str(delta.get(field) or "")
            yield from _said(field, delta)


def _said(kind: str, block: JSONObject) -> Iterator[Delta]:
    if kind == "text" and block.get("text"):
        yield "text", str(block["text"])
    elif kind == "thinking" and block.get("thinking"):
        yield "thinking", str(block["thinking"])


def _parsed(text: str) -> Any:  # noqa: ANN401  any JSON; text where it was cut off
    try:
        return json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return text


def _dict(value: object) -> JSONObject:
    return value if isinstance(value, dict) else {}
