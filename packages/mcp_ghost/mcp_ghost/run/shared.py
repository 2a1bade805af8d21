"""One run: what its parts share, its deadline, and its state, to go on in another process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mcp_ghost.files import PRIVATE, read_regular, write_whole
from mcp_ghost.messages import FunctionCall, LLMResponse, Message, ToolCall
from mcp_ghost.run.conversation import Conversation, checked_messages
from mcp_ghost.run.ledger import Ledger
from mcp_ghost.run.report.account import Account
from mcp_ghost.run.report.events import Events
from mcp_ghost.run.report.tracing import Tracing
from mcp_ghost.run.settings import Settings

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

    @classmethod
    def of(cls, given: Mapping[str, Any] | str | Path) -> State:
        """What ``Run.state`` gave, or the path of a checkpoint with it; else a ValueError."""
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
        last: Message = self.messages[-1] if self.messages else {"role": "user"}
        if last["role"] != "assistant":
            return None
        content, calls = last.get("content"), []
        for call in last.get("tool_calls") or ():
            function = FunctionCall(call["function"]["name"], call["function"]["arguments"])
            calls.append(ToolCall(call["id"], "function", function))
        return LLMResponse(
            content=None if calls else content,
            model="",
            tool_calls=calls or None,
            finish_reason=self.finish_reason,
            text=content if calls else None,
            provider_state=last.get("provider_state"),
        )


class RunStoppedError(Exception):
    """Raised within a run that must end now; the message says why. Users get a result."""


class Run:
    """One run of ``mcp_ghost()``, or one request to a ``Ghost``."""

    def __init__(self, settings: Settings, conversation: Conversation, user_prompt: str) -> None:
        self.settings = settings
        self.conversation = conversation
        self.user_prompt = user_prompt
        self.form = conversation.form
        self.account = account = Account(conversation.redactor)
        self.events = Events(settings["on_event"], account, lambda: self.left)
        self.tracing = Tracing(settings, conversation, account)
        self.ledger = Ledger(self.keep, account.clean)
        seconds, loop = settings["deadline"], asyncio.get_running_loop()
        self._ends_at = None if seconds is None else loop.time() + seconds
        conversation.questions.begin([])

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        if self._ends_at is None:
            return float("inf")
        return self._ends_at - asyncio.get_running_loop().time()

    @asynccontextmanager
    async def bound(self) -> AsyncIterator[None]:
        """Cut off at the deadline what the block waits for.

        Raises:
            RunStoppedError: The time is up, or was before the block began.
        """
        seconds = self.settings["deadline"] or 0.0  # none never passes
        over = RunStoppedError(f"the deadline of {seconds:g} s for the whole run has passed")
        if self.left <= 0:
            raise over
        scope = asyncio.timeout_at(self._ends_at)
        try:
            async with scope:
                yield
        except TimeoutError:
            if scope.expired():
                raise over from None
            raise

    def restore(self, state: State, decisions: Mapping[str, Any]) -> None:
        """Go on from ``state`` with what was decided meanwhile; a ValueError if either is wrong."""
        questions = self.conversation.questions
        try:
            pending = {entry["id"]: entry for entry in state.pending}
            self.account.restore(state.account)
            self.account.finish_reason = state.finish_reason
            self.ledger.restore(state.calls)
            questions.begin(state.answers)
            for key, said in decisions.items():
                if key not in pending:
                    known = ", ".join(pending) or "none"
                    raise ValueError(
                        f"decisions: nothing is pending under '{key}'. Pending: {known}."
                    )
                if pending[key]["kind"] == "question":
                    if not isinstance(said, Mapping | None):
                        raise ValueError(
                            f"decisions: '{key}' must be a dict of answers, or None to decline."
                        )
                    questions.answer(pending[key], said)
                elif not isinstance(said, bool | str):
                    raise ValueError(f"decisions: '{key}' must be True, False or a reason why not.")
                else:
                    self.ledger.decide(pending[key], said)
            self.conversation.memory.restore(state.memory)
        except (AttributeError, KeyError, TypeError) as error:
            name = type(error).__name__
            raise ValueError(f"The state cannot be read: {name}: {error}") from error
        self.conversation.replace(state.messages)

    def state(self, pending: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        """As plain JSON, for ``restore``; ``pending`` is what the run waits for."""
        state = State(
            user_prompt=self.user_prompt,
            messages=[it for it in self.conversation.messages if it["role"] != "system"],
            finish_reason=self.account.finish_reason,
            calls=self.ledger.to_dict(),
            answers=self.conversation.questions.answers,
            account=self.account.to_dict(),
            memory=self.conversation.memory.to_dict(),
            pending=[*pending],
        )
        return asdict(state)

    async def keep(self, pending: Sequence[dict[str, Any]] = ()) -> None:
        """Write it down, if that is wished.

        Raises:
            RunStoppedError: It cannot be written, so the run must not act further.
        """
        checkpoint = self.settings["checkpoint"]
        if not checkpoint:
            return
        text = json.dumps(self.state(pending), ensure_ascii=False)
        try:
            await asyncio.to_thread(write_whole, Path(checkpoint), text, mode=PRIVATE)
        except OSError as error:
            why = f"{checkpoint}: {error.strerror}"
            raise RunStoppedError(f"the checkpoint cannot be written: {why}") from error
