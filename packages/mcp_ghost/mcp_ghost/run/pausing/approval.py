"""What a person is asked: before calls, and by servers in the middle of them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from mcp_ghost.run.pausing.ledger import fits, seal
from mcp_ghost.servers.protocol.elicitation import LaterError
from mcp_ghost.toolset import Allowed

Approve: TypeAlias = Callable[
    [str, dict[str, Any], dict[str, Any]], Awaitable[bool | str | Allowed]
]
"""("server.tool", arguments, what the tool says of itself) -> whether to make the call; a text is
the reason why not"""
ApproveWhen: TypeAlias = Literal["destructive", "always"] | Sequence[str]
"""Before calls that may destroy something, before all, or before those that patterns name."""


class Questions:
    """An ``elicit`` that knows some answers; at any other question, it drops the calls under way.

    A server does not say which call its question is for: those that run on it at the time are
    dropped, and made again once the answer is known. Tools that may write never run side by side
    on one server.
    """

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []
        """Known ones: {"server", "message", "schema", "answer", "seal"}."""
        self.pending: list[dict[str, Any]] = []
        """Those without an answer: {"id", "kind", "server", "message", "schema"}."""
        self.under_way: defaultdict[str, set[asyncio.Task[Any]]] = defaultdict(set)
        """By server."""
        self.dropped: set[asyncio.Task[Any]] = set()

    def begin(self, answers: list[dict[str, Any]]) -> None:
        """A run begins, with what is known."""
        self.answers, self.pending = answers, []

    def answer(self, entry: Mapping[str, Any], answer: Mapping[str, Any] | None) -> None:
        """Keep what somebody said to an entry of ``pending``."""
        asked = {key: entry[key] for key in ("server", "message", "schema")}
        said = None if answer is None else dict(answer)
        self.answers.append({**asked, "answer": said, "seal": seal(asked, said)})

    async def elicit(
        self, server: str, message: str, schema: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The answer, if it is known; else the calls under way there are dropped.

        Raises:
            LaterError: It is not known.
        """
        asked = {"server": server, "message": message, "schema": schema}
        for known in self.answers:
            answer: dict[str, Any] | None = known["answer"]
            if fits(known.get("seal"), asked, answer):
                return answer
        number = f"question_{len(self.pending) + 1}"
        self.pending.append({"id": number, "kind": "question", **asked})
        dropped = [*self.under_way[server]]
        self.dropped |= {*dropped}
        for task in dropped:
            task.cancel()
        if dropped:
            await asyncio.wait(dropped)  # the server hears of that before it hears that we cancel
        raise LaterError
