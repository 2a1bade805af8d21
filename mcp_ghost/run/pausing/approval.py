"""Which calls wait for a person's word, and what follows from it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mcp_ghost.errors import NotExecutedError
from mcp_ghost.redact import redact
from mcp_ghost.servers.tools import may_destroy

if TYPE_CHECKING:
    from mcp_ghost.run.report.account import CallAttempt
    from mcp_ghost.servers.toolbox import Toolbox

Approve: TypeAlias = Callable[[str, dict[str, Any], dict[str, Any]], Awaitable[bool | str]]
"""("server.tool", arguments, what the tool says of itself) -> whether to make the call; a text is
the reason why not"""
ApproveWhen: TypeAlias = Literal["destructive", "always"] | Sequence[str]
"""Before calls that may destroy something, before all, or before those that patterns name."""
Decision: TypeAlias = bool | str

_logger = logging.getLogger(__name__)


class CallRefusedError(NotExecutedError):
    """Raised instead of executing a call that the user does not want; the message says why."""


class Approval:
    """Asks ``approve`` before calls, one question at a time; None where nobody is to be asked."""

    def __init__(self, approve: Approve | None, when: ApproveWhen, toolbox: Toolbox) -> None:
        self._approve = approve
        self._when = when
        self._toolbox = toolbox
        self._turn = asyncio.Lock()

    @property
    def has_somebody(self) -> bool:
        """Whether the question can be asked at once."""
        return self._approve is not None

    def is_wanted(self, tool: str) -> bool:
        """Whether a call of ``tool`` waits for a person's word."""
        if self._toolbox.server_of(tool) is None:
            return False
        if isinstance(self._when, str):
            return self._when == "always" or may_destroy(self._toolbox.annotations_of(tool))
        return self._toolbox.fits(self._when, tool)

    async def check(self, attempt: CallAttempt, decided: Decision | None) -> None:
        """Go on with a call, as was ``decided`` before or as is decided now.

        Raises:
            CallRefusedError: The user does not want it.
        """
        decision: object = decided
        if decision is None and self._approve is not None and self.is_wanted(attempt.tool):
            hints = dict(self._toolbox.annotations_of(attempt.tool))
            async with self._turn:
                decision = await self._asked(self._approve, attempt, hints)
        if decision is None or decision is True:
            return
        reason = f": {decision}" if isinstance(decision, str) and decision.strip() else ""
        raise CallRefusedError(f"not executed: the user refused this call{reason}")

    async def _asked(
        self, approve: Approve, attempt: CallAttempt, hints: dict[str, Any]
    ) -> bool | str:
        """What ``approve`` says; where it fails, the call is not made."""
        try:
            said = await approve(attempt.tool, dict(attempt.arguments), hints)
        except Exception as error:  # noqa: BLE001  foreign code; nobody has agreed
            said = redact(f"{type(error).__name__}: {error}")
            _logger.warning("approve failed, so the call is not made: %s", said)
            return "nobody could be asked"
        return said if isinstance(said, bool | str) else False


def checked_decisions(
    decisions: Mapping[str, Any], pending: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """``decisions``, by the ids of ``pending``.

    Raises:
        ValueError: One of them is for something else, or of the wrong type.
    """
    waiting = {entry["id"]: entry for entry in pending}
    for key, decision in decisions.items():
        if key not in waiting:
            known = ", ".join(waiting) or "none"
            raise ValueError(f"decisions: nothing is pending under '{key}'. Pending: {known}.")
        if waiting[key]["kind"] == "approval" and not isinstance(decision, bool | str):
            raise ValueError(f"decisions: '{key}' must be True, False or a reason why not.")
        if waiting[key]["kind"] == "question" and not isinstance(decision, Mapping | None):
            raise ValueError(f"decisions: '{key}' must be a dict of answers, or None to decline.")
    return dict(decisions)
