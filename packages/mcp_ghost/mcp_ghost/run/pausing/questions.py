"""What servers ask the user for in the middle of a call, where nobody can be asked at once."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from mcp_ghost.run.pausing.ledger import fits, seal
from mcp_ghost.servers.protocol.elicitation import LaterError
from mcp_ghost.toolset import Call, Kind, Outcome, Toolset, Wrapper


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


class Interruptible(Wrapper):
    """Gives calls up whose server asks something that only ``questions`` could know."""

    def __init__(self, inner: Toolset, questions: Questions) -> None:
        super().__init__(inner)
        self._questions = questions

    async def call(self, call: Call) -> Outcome:
        """See :class:`Toolset`."""
        tool, dropped = self.tools.get(call.name), self._questions.dropped
        under_way = self._questions.under_way[tool.server if tool else ""]
        task = asyncio.create_task(self.inner.call(call))
        under_way.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if task in dropped:
                return Outcome.without_result(Kind.QUESTION, "its server asks something")
            task.cancel()
            raise
        finally:
            under_way.discard(task)
            dropped.discard(task)
