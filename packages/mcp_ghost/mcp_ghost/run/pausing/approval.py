"""Which calls wait for a person's word, and what follows from it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from mcp_ghost.redact import redact
from mcp_ghost.run.pausing.ledger import Ledger, PausedError
from mcp_ghost.toolset import Allowed, Call, Kind, Outcome, Toolset, Wrapper

Approve: TypeAlias = Callable[
    [str, dict[str, Any], dict[str, Any]], Awaitable[bool | str | Allowed]
]
"""("server.tool", arguments, what the tool says of itself) -> whether to make the call; a text is
the reason why not"""
ApproveWhen: TypeAlias = Literal["destructive", "always"] | Sequence[str]
"""Before calls that may destroy something, before all, or before those that patterns name."""

_logger = logging.getLogger(__name__)


class Approved(Wrapper):
    """Makes calls that ``when`` names only with a person's word, one question at a time.

    Without ``approve``, nobody is asked, or the run ends until somebody has decided (``pauses``).
    """

    def __init__(
        self,
        inner: Toolset,
        approve: Approve | None,
        when: ApproveWhen,
        ledger: Ledger,
        always: set[tuple[str, str, str]],
        *,
        pauses: bool,
    ) -> None:
        """``always`` has the definitions of tools that need no further word, and gets more."""
        super().__init__(inner)
        self._approve = approve
        self._when = when if approve or pauses else ()
        self._ledger = ledger
        self._always = always
        self._pauses = pauses and approve is None
        self._turn = asyncio.Lock()

    def check(self, calls: Sequence[Call]) -> None:
        """Look at all calls of a reply before the first is made.

        Raises:
            PausedError: Some of them wait for a decision.
        """
        ledger, pending = self._ledger, []
        for call in calls if self._pauses else ():
            tool = self.tools.get(call.name)
            is_repeated = tool is not None and tool.may_be_repeated
            is_over = call.id in ledger.outcomes or (call.id in ledger.started and not is_repeated)
            is_decided = ledger.decision(call) is not None or not self._is_wanted(call)
            if not (is_over or is_decided or call.flaw):
                about = {"tool_name": call.name, "arguments": ledger.clean(call.arguments)}
                about |= {"annotations": self._hints(call), "reasoning": call.reasoning}
                pending.append({"id": call.id, "kind": "approval", **about})
        if pending:
            raise PausedError(pending)

    async def call(self, call: Call) -> Outcome:
        """See :class:`Toolset`."""
        decision: object = self._ledger.decision(call)
        if decision is None and self._approve is not None and self._is_wanted(call):
            async with self._turn:
                decision = await self._asked(self._approve, call)
        elif decision is None and call.id in self._ledger.decisions:
            decision = "the decision was about another call"
        if decision is None or decision is True:
            return await self.inner.call(call)
        reason = f": {decision}" if isinstance(decision, str) and decision.strip() else ""
        text = f"not executed: the user refused this call{reason}"
        return Outcome.without_result(Kind.REFUSED, text)

    def _is_wanted(self, call: Call) -> bool:
        """Whether ``call`` waits for a person's word."""
        tool = self.tools.get(call.name)
        if tool is None:
            return False
        if isinstance(self._when, str):
            return self._when == "always" or not tool.is_harmless
        return tool.fits(self._when)

    def _hints(self, call: Call) -> dict[str, Any]:
        return dict(self.tools[call.name].hints)

    async def _asked(self, approve: Approve, call: Call) -> bool | str:
        """What ``approve`` says; where it fails, the call is not made."""
        definition = self.tools[call.name].definition
        if definition in self._always:
            return True
        try:
            said = await approve(call.name, dict(call.arguments), self._hints(call))
        except Exception as error:  # noqa: BLE001  foreign code; nobody has agreed
            said = redact(f"{type(error).__name__}: {error}")
            _logger.warning("approve failed, so the call is not made: %s", said)
            return "nobody could be asked"
        if said is Allowed.ALWAYS:
            self._always.add(definition)
            return True
        return said if isinstance(said, bool | str) else False


def checked_decisions(
    decisions: Mapping[str, Any], waiting: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, Any]:
    """``decisions``, by the ids of what is ``waiting`` for them.

    Raises:
        ValueError: One of them is for something else, or of the wrong type.
    """
    for key, decision in decisions.items():
        if key not in waiting:
            known = ", ".join(waiting) or "none"
            raise ValueError(f"decisions: nothing is pending under '{key}'. Pending: {known}.")
        if waiting[key]["kind"] == "approval" and not isinstance(decision, bool | str):
            raise ValueError(f"decisions: '{key}' must be True, False or a reason why not.")
        if waiting[key]["kind"] == "question" and not isinstance(decision, Mapping | None):
            raise ValueError(f"decisions: '{key}' must be a dict of answers, or None to decline.")
    return decisions
