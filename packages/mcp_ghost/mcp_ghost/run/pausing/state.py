"""A run as plain JSON: what it takes to go on with it in another process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mcp_ghost.files import PRIVATE, read_regular, write_whole
from mcp_ghost.messages import FunctionCall, LLMResponse, Message, ToolCall
from mcp_ghost.run.conversation import Conversation, checked_messages
from mcp_ghost.run.limits import RunStoppedError
from mcp_ghost.run.pausing.approval import checked_decisions
from mcp_ghost.run.pausing.ledger import Ledger
from mcp_ghost.run.report.account import Account

VERSION = 1


@dataclass
class State:
    """Where a run stands."""

    user_prompt: str
    messages: list[Message]
    """Without the system prompt."""
    finish_reason: str | None = None
    """Of the latest reply."""
    calls: dict[str, Any] = field(default_factory=dict)
    """The ledger of its calls."""
    answers: list[dict[str, Any]] = field(default_factory=list)
    """What servers asked, and what somebody said to it."""
    account: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    """What of the conversation the model is shown."""
    pending: list[dict[str, Any]] = field(default_factory=list)
    """What the run waits for."""
    version: int = VERSION

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)

    @classmethod
    def of(cls, given: Mapping[str, Any] | str | Path) -> State:
        """What ``to_dict`` gave, or the path of a checkpoint with it.

        Raises:
            ValueError: It is neither.
        """
        kept: object = given
        if isinstance(given, str | Path):
            try:
                kept = json.loads(read_regular(Path(given)))
            except FileNotFoundError as error:
                raise ValueError(
                    f"There is no checkpoint at {given}: no run has begun there."
                ) from error
            except (OSError, ValueError) as error:
                raise ValueError(f"The checkpoint {given} cannot be read: {error}") from error
        if not isinstance(kept, Mapping) or kept.get("version") != VERSION:
            raise ValueError(
                "state must be what a paused result has under 'state', or the path of a checkpoint."
            )
        try:
            state = cls(**json.loads(json.dumps(kept)))
            checked_messages(state.messages)
        except (TypeError, ValueError) as error:
            raise ValueError(f"The state cannot be read: {error}") from error
        return state

    @property
    def latest_reply(self) -> LLMResponse | None:
        """The reply that the run goes on from: its calls are open, or it is the answer."""
        index = max((i for i, it in enumerate(self.messages) if it["role"] != "tool"), default=-1)
        if index < 0 or self.messages[index]["role"] != "assistant":
            return None
        last, answered = self.messages[index], self.messages[index + 1 :]
        calls = last.get("tool_calls") or []
        if answered:
            return None
        content = last.get("content")
        return LLMResponse(
            content=None if calls else content,
            model="",
            tool_calls=[_call(call) for call in calls] or None,
            finish_reason=self.finish_reason,
            text=content if calls else None,
            provider_state=last.get("provider_state"),
        )


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(call["id"], "function", FunctionCall(function["name"], function["arguments"]))


@dataclass
class Standing:
    """That of the run of ``user_prompt``."""

    user_prompt: str
    conversation: Conversation
    account: Account
    checkpoint: str | Path | None
    """The file that always holds it."""

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.keep, self.account.clean)
        self.conversation.questions.begin([])

    def restore(self, state: State, decisions: Mapping[str, Any]) -> None:
        """Go on from ``state``, with what was decided meanwhile.

        Raises:
            ValueError: The state is damaged, or a decision does not fit what was pending.
        """
        questions = self.conversation.questions
        try:
            pending = {entry["id"]: entry for entry in state.pending}
            self.account.restore(state.account)
            self.account.finish_reason = state.finish_reason
            self.ledger.restore(state.calls)
            decided = checked_decisions(decisions, pending)
            self.conversation.memory.restore(state.memory)
        except (AttributeError, KeyError, TypeError) as error:
            name = type(error).__name__
            raise ValueError(f"The state cannot be read: {name}: {error}") from error
        self.conversation.replace(state.messages)
        questions.begin(state.answers)
        for key, said in decided.items():
            if pending[key]["kind"] == "question":
                questions.answer(pending[key], said)
            else:
                self.ledger.decide(pending[key], said)

    def state(self, pending: Sequence[dict[str, Any]] = ()) -> State:
        """As plain values; ``pending`` is what the run waits for."""
        return State(
            user_prompt=self.user_prompt,
            messages=[it for it in self.conversation.messages if it["role"] != "system"],
            finish_reason=self.account.finish_reason,
            calls=self.ledger.to_dict(),
            answers=self.conversation.questions.answers,
            account=self.account.to_dict(),
            memory=self.conversation.memory.to_dict(),
            pending=[*pending],
        )

    async def keep(self, pending: Sequence[dict[str, Any]] = ()) -> None:
        """Write it down, if that is wished.

        Raises:
            RunStoppedError: It cannot be written, so the run must not act further.
        """
        if not self.checkpoint:
            return
        text = json.dumps(self.state(pending).to_dict(), ensure_ascii=False)
        try:
            await asyncio.to_thread(write_whole, Path(self.checkpoint), text, mode=PRIVATE)
        except OSError as error:
            why = f"{self.checkpoint}: {error.strerror}"
            raise RunStoppedError(f"the checkpoint cannot be written: {why}") from error
