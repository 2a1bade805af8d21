"""What happens in a run, reported to the caller's ``on_event`` while it happens."""

import asyncio
import inspect
import logging
import traceback
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from mcp_ghost.run.report.account import Account

OnEvent: TypeAlias = Callable[[dict[str, Any]], object]
"""A function or a coroutine function of one event, a dict with "type" and further fields."""
EventType: TypeAlias = Literal[
    "run_start", "server_connected", "server_failed", "text", "thinking", "reply_restart",
    "model_reply", "tool_call", "tool_progress", "tool_result", "tools_changed", "retry",
    "backtrack", "breaker_open", "loop", "compaction", "paused", "run_end",
]  # fmt: skip
_PATIENCE = 5.0
"""Seconds for one call of a coroutine function."""
_LEAST = 0.1
"""The same when the run's deadline is about to pass."""

_logger = logging.getLogger(__name__)


class Events:
    """Calls ``on_event``; whatever goes wrong there is logged once and never stops the run."""

    def __init__(
        self, on_event: OnEvent | None, account: Account, left: Callable[[], float]
    ) -> None:
        """``left``: the seconds until the deadline."""
        self._on_event = on_event
        self._account = account
        self._left = left
        self._failed = False

    async def emit(self, type_: EventType, **fields: object) -> None:
        """Report that something of ``type_`` happened."""
        if self._on_event is None:
            return
        event = {"type": type_, **{name: self._account.clean(v) for name, v in fields.items()}}
        limit = asyncio.timeout(max(_LEAST, min(_PATIENCE, self._left())))
        try:
            outcome = self._on_event(event)
            if inspect.isawaitable(outcome):
                async with limit:
                    await outcome
        except Exception as error:  # noqa: BLE001  foreign code; the run is worth more
            if isinstance(error, TimeoutError) and limit.expired():  # else it is one of its own
                self._on_event = None
                _logger.warning("on_event took too long and is not called again")
            elif not self._failed:
                self._failed = True
                trace = self._account.clean_text("".join(traceback.format_exception(error)))
                _logger.error("on_event failed; later failures are not logged:\n%s", trace)  # noqa: TRY400  the trace may hold the key
