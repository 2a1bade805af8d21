"""How long an answer is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

MOST = 20
"""Times the time of a call that it may take altogether, as long as it reports progress."""


class Patience:
    """The time of one call: begins anew with each sign of progress, stops while a person is asked.

    A context manager in which TimeoutError is raised once it is up.
    """

    def __init__(self, seconds: float, waits: set[Patience]) -> None:
        """It is one of ``waits`` for as long as it runs."""
        self._seconds = seconds
        self._waits = waits
        self._limit = asyncio.timeout(seconds)
        self._clock = asyncio.get_running_loop().time
        self._last = self._clock() + seconds * MOST
        self._has_begun_anew = False
        self._pauses = 0

    async def __aenter__(self) -> Self:
        await self._limit.__aenter__()
        self._waits.add(self)
        return self

    async def __aexit__(self, *raised: Any) -> None:  # noqa: ANN401 - as it is passed on
        self._waits.discard(self)
        await self._limit.__aexit__(*raised)

    def begin_anew(self) -> None:
        """There was a sign of progress."""
        self._has_begun_anew = True
        self._run(self._seconds)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No time passes in this context."""
        since, due = self._clock(), self._limit.when()
        self._pauses += 1
        self._run(None)
        try:
            yield
        finally:
            self._pauses -= 1
            self._last += self._clock() - since
            self._run(self._seconds if due is None else due - since)

    def complaint(self, tool: str) -> str:
        """What to say when the time is up."""
        if not self._has_begun_anew:
            return f"did not answer '{tool}' within {self._seconds:g} s"
        if self._clock() >= self._last:
            return f"did not finish '{tool}' within {self._seconds * MOST:g} s"
        return f"reported no progress with '{tool}' for {self._seconds:g} s"

    def _run(self, seconds: float | None) -> None:
        due = None if seconds is None else min(self._clock() + seconds, self._last)
        with suppress(RuntimeError):  # it is over
            self._limit.reschedule(None if self._pauses else due)
