"""What ends a run early: its deadline, and the error that says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class RunStoppedError(Exception):
    """Raised within a run that must end now; the message says why. Users get a result."""


class Deadline:
    """``seconds`` from now on for the run of this event loop; None means no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._at = None if seconds is None else asyncio.get_running_loop().time() + seconds

    @asynccontextmanager
    async def bound(self) -> AsyncIterator[None]:
        """Cut off what the block waits for.

        Raises:
            RunStoppedError: The time is up, or was before the block began.
        """
        if self.left <= 0:
            raise self._error()
        scope = asyncio.timeout_at(self._at)
        try:
            async with scope:
                yield
        except TimeoutError:
            if scope.expired():
                raise self._error() from None
            raise

    @property
    def left(self) -> float:
        """Seconds."""
        if self._at is None:
            return float("inf")
        return self._at - asyncio.get_running_loop().time()

    def _error(self) -> RunStoppedError:
        return RunStoppedError(f"the deadline of {self._seconds:g} s for the whole run has passed")
