"""What of a long conversation the model is shown; the whole of it stays in the result.

Pure bookkeeping, without a model: the same conversation always gives the same view. An exchange is
a reply of the model with the answers to its calls. It is shown or summarised as one, so that no
call loses its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_ghost.media import TOKENS_OF_IMAGE, has_images
from mcp_ghost.messages import text_in

if TYPE_CHECKING:
    from mcp_ghost.messages import Message

Exchange: TypeAlias = "list[Message]"

DEFAULT_LIMIT = 400_000
"""Characters of conversation that are sent at most; about 100,000 tokens."""
_RECENT = 3
"""Exchanges at the end that stay whole, as long as there is room for them."""
_ROOMY = 0.7
"""Part of the limit that is left after a compaction, where that is possible."""
_IMAGE = 4 * TOKENS_OF_IMAGE
"""Characters that images in a message count for."""
_SHORT = 500
"""Characters that are kept of an older result."""
_LINE = 200
"""Characters of each thing that a summary mentions."""
_SUMMARY = (
    "Summary of the {steps} earlier steps of this conversation, shortened to save room. "
    "Call a tool again where you need the whole of its result."
)


class LatestExchange:
    """Only the system prompt, the request and the latest exchange."""

    def view(self, messages: Sequence[Message]) -> list[Message]:
        """The messages to send in place of ``messages``."""
        head, exchanges = _parts(messages)
        return [*head, *(exchanges[-1] if exchanges else [])]

    def shrink(self, _messages: Sequence[Message]) -> bool:
        """Less than that cannot be shown."""
        return False


class Compaction:
    """Everything up to ``limit`` characters; beyond, older results are shortened, then summarised.

    It compacts further than it must, so that afterwards the head of the conversation stays as it
    is for a while and providers can cache it. ``on_compaction`` is called when it does.
    """

    def __init__(
        self,
        limit: int = DEFAULT_LIMIT,
        on_compaction: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        self._limit = limit
        self._on_compaction = on_compaction
        self._shortened = 0
        self._summarised = 0

    def view(self, messages: Sequence[Message]) -> list[Message]:
        """The messages to send in place of ``messages``."""
        head, exchanges = _parts(messages)
        before = _size(self._shown(head, exchanges))
        if before > self._limit and self._compact(head, exchanges):
            shown = self._shown(head, exchanges)
            fields = {"shortened": self._shortened, "summarised": self._summarised}
            self._on_compaction({**fields, "size_before": before, "size_after": _size(shown)})
        return self._shown(head, exchanges)

    def shrink(self, messages: Sequence[Message]) -> bool:
        """Show less of ``messages``, which were too long; returns whether that is possible."""
        head, exchanges = _parts(messages)
        before = _size(self._shown(head, exchanges))
        self._limit = round(before * _ROOMY)
        return _size(self.view(messages)) < before

    def _compact(self, head: list[Message], exchanges: list[Exchange]) -> bool:
        """Compact until it fits; returns whether anything changed."""
        start = self._shortened, self._summarised
        roomy = round(self._limit * _ROOMY)
        for recent in range(_RECENT, 0, -1):
            old = len(exchanges) - recent
            while self._shortened < old and self._is_above(roomy, head, exchanges):
                self._shortened += 1
            if not self._is_above(self._limit, head, exchanges):
                break
            while self._summarised < old and self._is_above(roomy, head, exchanges):
                self._summarised += 1
            if not self._is_above(self._limit, head, exchanges):
                break
        return (self._shortened, self._summarised) != start

    def _is_above(self, size: int, head: list[Message], exchanges: list[Exchange]) -> bool:
        return _size(self._shown(head, exchanges)) > size

    def _shown(self, head: list[Message], exchanges: list[Exchange]) -> list[Message]:
        summary = _summary(exchanges[: self._summarised], self._limit // 4)
        shortened = exchanges[self._summarised : self._shortened]
        whole = exchanges[max(self._summarised, self._shortened) :]
        middle = [_shortened(message) for exchange in shortened for message in exchange]
        return [*head, *summary, *middle, *(message for exchange in whole for message in exchange)]


def _parts(messages: Sequence[Message]) -> tuple[list[Message], list[Exchange]]:
    """What comes before the first reply, and the exchanges after it."""
    head: list[Message] = []
    exchanges: list[Exchange] = []
    for message in messages:
        if message["role"] == "assistant":
            exchanges.append([])
        (exchanges[-1] if exchanges else head).append(message)
    return head, exchanges


def _size(messages: Sequence[Message]) -> int:
    """Characters, for an estimate: about four make a token."""
    return sum(
        len(text_in(message))
        + _IMAGE * has_images([message])
        + sum(len(call["function"]["arguments"]) for call in message.get("tool_calls") or ())
        for message in messages
    )


def _shortened(message: Message) -> Message:
    if message["role"] != "tool":
        return message
    left_out = " [images left out]" if has_images([message]) else ""
    return {**message, "content": _cut(text_in(message), _SHORT) + left_out}


def _summary(exchanges: Sequence[Exchange], room: int) -> list[Message]:
    """One message about ``exchanges``; the oldest steps go first when there is no room for all."""
    if not exchanges:
        return []
    lines = [line for exchange in exchanges for line in _lines(exchange)]
    kept: list[str] = []
    for line in reversed(lines):
        room -= len(line)
        if room < 0:
            kept.append(f"[{len(lines) - len(kept)} still earlier lines left out]")
            break
        kept.append(line)
    text = "\n".join([_SUMMARY.format(steps=len(exchanges)), *reversed(kept)])
    return [{"role": "user", "content": text}]


def _lines(exchange: Exchange) -> list[str]:
    reply, *answers = exchange
    said = text_in(reply).strip()
    results = {answer.get("tool_call_id"): text_in(answer) for answer in answers}
    lines = [f"- You said: {_cut(said, _LINE)}"] if said else []
    for call in reply.get("tool_calls") or ():
        asked = f"{call['function']['name']}({_cut(call['function']['arguments'], _LINE)})"
        lines.append(f"- {asked} returned: {_cut(results.get(call['id'], ''), _LINE)}")
    return lines


def _cut(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return f"{text[:length]} [shortened: {len(text) - length} more characters]"
