"""Where a run stands: kept in its checkpoint, given out when it pauses, and gone on from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_ghost.files import PRIVATE, write_whole
from mcp_ghost.run.limits import RunStoppedError
from mcp_ghost.run.pausing.approval import checked_decisions
from mcp_ghost.run.pausing.ledger import Ledger
from mcp_ghost.run.pausing.state import State

if TYPE_CHECKING:
    from mcp_ghost.run.conversation import Conversation
    from mcp_ghost.run.report.account import Account


class Standing:
    """That of the run of ``user_prompt``; ``checkpoint`` is the file that always holds it."""

    def __init__(
        self,
        user_prompt: str,
        conversation: Conversation,
        account: Account,
        checkpoint: str | Path | None,
    ) -> None:
        self.finish_reason: str | None = None
        """Of the latest reply."""
        self.ledger = Ledger(self.keep, account.clean)
        self._user_prompt = user_prompt
        self._messages = conversation.messages
        self._memory = conversation.memory
        self._account = account
        self._questions = conversation.questions
        self._checkpoint = Path(checkpoint) if checkpoint else None
        self._questions.begin([])

    def restore(self, state: State, decisions: Mapping[str, Any]) -> None:
        """Go on from ``state``, with what was decided meanwhile.

        Raises:
            ValueError: A decision does not fit what was pending.
        """
        decided = checked_decisions(decisions, state.pending)
        self.finish_reason = state.finish_reason
        self._memory.restore(state.memory)
        self._account.restore(state.account)
        self.ledger.restore(state.calls)
        self._questions.begin(state.answers)
        for entry in state.pending:
            if entry["id"] in decided and entry["kind"] == "question":
                self._questions.answer(entry, decided[entry["id"]])
            elif entry["id"] in decided:
                self.ledger.decide(entry, decided[entry["id"]])

    def state(self, pending: Sequence[dict[str, Any]] = ()) -> State:
        """As plain values; ``pending`` is what the run waits for."""
        return State(
            user_prompt=self._user_prompt,
            messages=[it for it in self._messages if it["role"] != "system"],
            finish_reason=self.finish_reason,
            calls=self.ledger.to_dict(),
            answers=self._questions.answers,
            account=self._account.to_dict(),
            memory=self._memory.to_dict(),
            pending=[*pending],
        )

    async def keep(self, pending: Sequence[dict[str, Any]] = ()) -> None:
        """Write it down, if that is wished.

        Raises:
            RunStoppedError: It cannot be written, so the run must not act further.
        """
        if self._checkpoint is None:
            return
        text = json.dumps(self.state(pending).to_dict(), ensure_ascii=False)
        try:
            await asyncio.to_thread(write_whole, self._checkpoint, text, mode=PRIVATE)
        except OSError as error:
            why = f"{self._checkpoint}: {error.strerror}"
            raise RunStoppedError(f"the checkpoint cannot be written: {why}") from error
