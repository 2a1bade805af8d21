"""What of a long conversation the model is shown; the whole of it stays in the result.

An exchange is shown or summarised as one, so that no call loses its result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_ghost.messages import assistant_message
from mcp_ghost.run.memory.counting import Meter
from mcp_ghost.run.memory.summary import (
    Exchange,
    by_rule,
    fitted,
    request,
    shortened,
    summary_message,
)

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse, Message, ToolSchema

Write: TypeAlias = "Callable[[list[Message]], Awaitable[str | None]]"
"""what a model is asked -> its summary; None where it wrote none"""

_RECENT = 3
"""Exchanges at the end that stay whole, as long as there is room for them."""
_ROOMY = 0.7
"""Part of the limit that is left after a compaction, where that is possible."""
SUMMARY_TOKENS = 4_000
"""The longest summary, as estimated."""
_OF_SUMMARY = 4
"""One part in so many of a limit may be the summary, where that is less."""


async def _nobody(_request: list[Message]) -> None:
    return None


class LatestExchange:
    """Only the system prompt, the request and the latest exchange."""

    async def view(
        self, messages: Sequence[Message], _tools: Sequence[ToolSchema] = (), _: Write = _nobody
    ) -> list[Message]:
        """The messages to send in place of ``messages``."""
        head, exchanges = _parts(messages)
        return [*head, *(exchanges[-1] if exchanges else [])]

    async def shrink(
        self, _messages: Sequence[Message], _tools: Sequence[ToolSchema] = (), _: Write = _nobody
    ) -> bool:
        """Less than that cannot be shown."""
        return False

    def answered(self, response: LLMResponse) -> None:
        """Nothing depends on it."""

    def to_dict(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Nothing."""


class Compaction:
    """Everything up to ``limit`` tokens; beyond, older results are shortened, then summarised.

    It compacts further than it must, so that afterwards the head of the conversation stays as it
    is for a while and providers can cache it. ``on_compaction`` is called when it does.
    """

    def __init__(
        self, limit: float, on_compaction: Callable[[dict[str, Any]], None] = lambda _: None
    ) -> None:
        self._limit = limit
        self._on_compaction = on_compaction
        self._meter = Meter()
        self._sent = 0
        """The latest view, as estimated."""
        self._shortened = 0
        self._summarised = 0
        self._summary = ""
        """Of the exchanges that are summarised."""

    async def view(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema] = (),
        write: Write = _nobody,
    ) -> list[Message]:
        """The messages to send, with ``tools``, in place of ``messages``.

        ``write`` asks a model for the summary, at most once; without one it is made by rule.
        """
        head, exchanges = _parts(messages)
        shown = self._shown(head, exchanges)
        before = self._tokens(shown, tools)
        start = self._shortened, self._summarised
        if before > self._limit and (reached := self._plan(head, exchanges, tools)) != start:
            self._shortened = reached[0]
            told = await self._summarise(exchanges, reached[1], write)
            shown = self._shown(head, exchanges)
            told |= {"shortened": self._shortened, "summarised": self._summarised}
            after = self._tokens(shown, tools)
            self._on_compaction({**told, "size_before": before, "size_after": after})
        self._sent = self._meter.estimate(shown, tools)
        return shown

    async def shrink(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema] = (),
        write: Write = _nobody,
    ) -> bool:
        """Show less of ``messages``, which were too long; returns whether that is possible."""
        before = self._sent
        head, exchanges = _parts(messages)
        self._limit = round(self._tokens(self._shown(head, exchanges), tools) * _ROOMY)
        await self.view(messages, tools, write)
        return self._sent < before

    def answered(self, response: LLMResponse) -> None:
        """Learn from the reply to the latest view how many tokens it took."""
        self._meter.answered(self._sent, assistant_message(response), response)

    def to_dict(self) -> dict[str, Any]:
        """What it takes to go on with the same views, as plain JSON."""
        return {
            "limit": self._limit,
            "shortened": self._shortened,
            "summarised": self._summarised,
            "summary": self._summary,
            "counted": self._meter.counted,
            "estimated": self._meter.estimated,
        }

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Go on from what ``to_dict`` gave; without anything, from the beginning."""
        self._limit = min(self._limit, kept.get("limit", self._limit))
        self._shortened = kept.get("shortened", 0)
        self._summarised = kept.get("summarised", 0)
        self._summary = kept.get("summary", "")
        self._meter = Meter(kept.get("counted", 0), kept.get("estimated", 0))

    def _plan(
        self, head: list[Message], exchanges: list[Exchange], tools: Sequence[ToolSchema]
    ) -> tuple[int, int]:
        """How many exchanges to shorten, and how many to summarise, so that it fits."""
        cut, summed = self._shortened, self._summarised

        def is_above(size: float) -> bool:
            text = self._by_rule(exchanges, summed) if summed else ""
            return self._tokens(_joined(head, exchanges, cut, summed, text), tools) > size

        roomy = self._limit * _ROOMY
        for recent in range(_RECENT, 0, -1):
            old = len(exchanges) - recent
            while cut < old and is_above(roomy):
                cut += 1
            if not is_above(self._limit):
                break
            while summed < old and is_above(roomy):
                summed += 1
            if not is_above(self._limit):
                break
        return cut, summed

    async def _summarise(
        self, exchanges: list[Exchange], until: int, write: Write
    ) -> dict[str, Any]:
        """Have a summary of the exchanges ``until`` there; returns what to tell of it."""
        if until == self._summarised:
            return {"summary": None, "summary_by": None}
        asked = request(self._summary, exchanges[self._summarised : until], self._room)
        text = fitted(await write(asked) or "", self._room)
        by = "model" if text else "rule"
        self._summary, self._summarised = text or self._by_rule(exchanges, until), until
        return {"summary": self._summary, "summary_by": by}

    @property
    def _room(self) -> int:
        """Tokens that the summary may have."""
        return max(min(int(self._limit) // _OF_SUMMARY, SUMMARY_TOKENS), 1)

    def _by_rule(self, exchanges: list[Exchange], until: int) -> str:
        return by_rule(self._summary, exchanges[self._summarised : until], self._room)

    def _tokens(self, shown: Sequence[Message], tools: Sequence[ToolSchema]) -> int:
        return self._meter.tokens(self._meter.estimate(shown, tools))

    def _shown(self, head: list[Message], exchanges: list[Exchange]) -> list[Message]:
        return _joined(head, exchanges, self._shortened, self._summarised, self._summary)


def _joined(
    head: list[Message], exchanges: list[Exchange], cut: int, summed: int, summary: str
) -> list[Message]:
    """The view in which ``summed`` exchanges are one message and, of ``cut``, results are short."""
    summaries = [summary_message(summed, summary)] if summed else []
    middle = [shortened(message) for each in exchanges[summed:cut] for message in each]
    whole = [message for each in exchanges[max(summed, cut) :] for message in each]
    return [*head, *summaries, *middle, *whole]


def _parts(messages: Sequence[Message]) -> tuple[list[Message], list[Exchange]]:
    """What comes before the first reply, and the exchanges after it."""
    head: list[Message] = []
    exchanges: list[Exchange] = []
    for message in messages:
        if message["role"] == "assistant":
            exchanges.append([])
        (exchanges[-1] if exchanges else head).append(message)
    return head, exchanges
