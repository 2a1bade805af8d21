"""Anthropic's events: a message that begins, blocks that grow, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from mcp_ghost.providers.common import blocks_in
from mcp_ghost.results import JSONObject

if TYPE_CHECKING:
    from mcp_ghost.providers.streaming.events import Delta

_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""The field of a block that a delta adds to, which has the same name in both."""


class AnthropicAssembler:
    """See :class:`mcp_ghost.providers.streaming.events.Assembler`."""

    def __init__(self) -> None:
        self.is_complete = False
        self._message: JSONObject = {}
        self._blocks: list[JSONObject] = []
        self._at: dict[str, int] = {}
        """The place of the block that grows at each index."""
        self._inputs: dict[int, str] = {}
        """The arguments of calls, as JSON that grows."""
        self._error: JSONObject | None = None

    def add(self, piece: JSONObject) -> Iterator[Delta]:
        """What a piece adds."""
        index = piece.get("index")
        match piece.get("type"):
            case "message_start":
                self._message = dict(_dict(piece.get("message")))
                self._blocks += blocks_in(self._message.get("content"))  # of one sent all at once
            case "content_block_start":
                block = self._begun(index, _dict(piece.get("content_block")))
                yield from _said(str(block.get("type")), block)
            case "content_block_delta":
                yield from self._grow(index, _dict(piece.get("delta")))
            case "message_delta":
                delta = _dict(piece.get("delta"))
                self._message |= {key: it for key, it in delta.items() if it is not None}
                usage = {**_dict(self._message.get("usage")), **_dict(piece.get("usage"))}
                self._message["usage"] = usage
                self.is_complete = bool(self._message.get("stop_reason"))
            case "message_stop":
                self.is_complete = True
            case "message":  # as it would have come at once
                self._message, self._blocks = piece, blocks_in(piece.get("content"))
                self.is_complete = True
            case _ if piece.get("error"):  # proxies leave the type out
                self._error, self.is_complete = piece, True

    def body(self) -> JSONObject:
        """The reply as it would have come at once."""
        if self._error is not None:
            return self._error
        for place, text in self._inputs.items():
            self._blocks[place]["input"] = text  # where it was cut off
            with suppress(ValueError, RecursionError):
                self._blocks[place]["input"] = json.loads(text) if text.strip() else {}
        sent: list[JSONObject] = []
        for block in self._blocks:  # some send a call twice, under one id
            sent += [] if block.get("id") and block in sent else [block]
        return {**self._message, "content": sent}

    def _begun(self, index: object, block: JSONObject) -> JSONObject:
        self._at[str(index)] = len(self._blocks)
        self._blocks.append(dict(block))
        return block

    def _grow(self, index: object, delta: JSONObject) -> Iterator[Delta]:
        kind, latest = str(delta.get("type")), len(self._blocks) - 1
        place = self._at.get(str(index), latest if index is None else -1)
        if place < 0:  # begun without saying so
            place = latest + 1
            self._begun(index, {"type": "text", "text": ""})
        block = self._blocks[place]
        if kind == "input_json_delta":
            said = delta.get("partial_json") or ""
            more = said if isinstance(said, str) else json.dumps(said)
            self._inputs[place] = self._inputs.get(place, "") + more
        elif field := _GROWS.get(kind):
            block[field] = str(block.get(field) or "") + str(delta.get(field) or "")
            yield from _said(field, delta)


def _said(kind: str, block: JSONObject) -> Iterator[Delta]:
    if kind == "text" and block.get("text"):
        yield "text", str(block["text"])
    elif kind == "thinking" and block.get("thinking"):
        yield "thinking", str(block["thinking"])


def _dict(value: object) -> JSONObject:
    return value if isinstance(value, dict) else {}
