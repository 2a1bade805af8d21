"""Server-sent events as model servers send them, and what is made of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse
    from mcp_ghost.results import JSONObject

Delta: TypeAlias = tuple[Literal["text", "thinking", "restart"], str]
"""What the model says or thinks next; "restart": what came of this reply so far is void."""
OnDelta: TypeAlias = Callable[[Delta], Awaitable[None]]
_END = "[DONE]"


class Assembler(Protocol):
    """Takes the pieces of one reply."""

    @property
    def is_complete(self) -> bool:
        """Whether the reply has come to its end, or to an error."""

    def add(self, piece: JSONObject) -> Iterable[Delta]:
        """What a piece adds."""

    def body(self) -> JSONObject:
        """The reply as it would have come at once."""


class Told:
    """An ``on_delta`` that knows what was told of one try."""

    def __init__(self, on_delta: OnDelta) -> None:
        self._on_delta = on_delta
        self._kinds: set[str] = set()

    async def __call__(self, delta: Delta) -> None:
        """Pass it on."""
        self._kinds.add(delta[0])
        await self._on_delta(delta)

    async def void(self) -> None:
        """The try failed; whatever comes is another reply."""
        if self._kinds:
            await self._on_delta(("restart", ""))

    async def rest_of(self, response: LLMResponse) -> None:
        """Tell of a reply that came at once."""
        if self._kinds:
            return
        if response.reasoning:
            await self._on_delta(("thinking", response.reasoning))
        if said := response.content or response.text:
            await self._on_delta(("text", said))


async def pieces(chunks: AsyncIterator[bytes]) -> AsyncIterator[JSONObject]:
    """The JSON objects in a stream of events, as they come."""
    reader = EventReader()
    async for chunk in chunks:
        for piece in reader.feed(chunk):
            yield piece
    for piece in reader.feed(b"\n\n"):
        yield piece


class EventReader:
    """Takes a stream of events; comments, and the names of events, say nothing more."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[JSONObject]:
        """The objects that are complete with ``chunk``."""
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for raw in whole:
            line = raw.rstrip(b"\r").decode("utf-8", errors="replace")
            if line.startswith("data:"):
                self._data.append(line[5:].removeprefix(" "))
            elif not line and self._data:
                said, self._data = "\n".join(self._data), []
                if (piece := _object(said)) is not None:
                    yield piece


def _object(said: str) -> dict[str, Any] | None:
    if said.strip() == _END:
        return None
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
