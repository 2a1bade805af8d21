"""What ends a run early: its deadline, or its budget of tokens and dollars."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mcp_ghost.run.report.account import Account

_logger = logging.getLogger(__name__)


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


@dataclass
class Budget:
    """The most that a run may spend; None means no limit."""

    tokens: float | None = None
    dollars: float | None = None
    """US dollars."""
    _warned: bool = False

    def check(self, account: Account) -> None:
        """Before the model is asked again.

        Raises:
            RunStoppedError: What was spent so far reaches the budget.
        """
        if not account.replies:
            return
        spent, cost = account.usage.total_tokens, account.usage.cost
        if self.tokens is not None and spent >= self.tokens:
            raise RunStoppedError(f"the budget of {self.tokens} tokens is spent ({spent})")
        if self.dollars is not None and account.is_priced and cost >= self.dollars:
            raise RunStoppedError(f"the budget of ${self.dollars:g} is spent (${cost:.4g})")
        reported = {"token_budget": account.usage.total_tokens, "cost_budget": account.is_priced}
        given = {"token_budget": self.tokens, "cost_budget": self.dollars}
        blind = [name for name in given if given[name] is not None and not reported[name]]
        if blind and not self._warned:
            self._warned = True
            _logger.warning(
                "%s cannot be enforced: the provider reports no figures", " and ".join(blind)
            )
