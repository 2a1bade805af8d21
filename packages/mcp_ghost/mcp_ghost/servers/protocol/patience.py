"""How long an answer is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

MOST = 20
"""Times the time of a call that it may take altogether, as long as it reports progress."""


class Patience:
    """The time of one call: begins anew with each sign of progress, stops while a person is asked.

    A context manager in which TimeoutError is raised once it is up.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._limit = asyncio.timeout(seconds)
        self._clock = asyncio.get_running_loop().time
        self._last = self._clock() + seconds * MOST
        self._is_open = False
        self._has_begun_anew = False
        self._pauses = 0

    async def __aenter__(self) -> Self:
        await self._limit.__aenter__()
        self._is_open = True
        return self

    async def __aexit__(
        self,
        type_: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_open = False
        await self._limit.__aexit__(type_, value, traceback)

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
        if not self._is_open or self._limit.expired():
            return
        if seconds is None or self._pauses:
            self._limit.reschedule(None)
        else:
            self._limit.reschedule(min(self._clock() + seconds, self._last))
