"""One reply of the model at a time: within deadline and budget, and within what it can read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcp_ghost.errors import LLMError, LLMStatusError
from mcp_ghost.run.limits import Budget

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse, Message, ToolSchema
    from mcp_ghost.providers.streaming.events import Delta, OnDelta
    from mcp_ghost.run.conversation import Conversation
    from mcp_ghost.run.limits import Deadline
    from mcp_ghost.run.report.account import Account
    from mcp_ghost.run.report.events import Events
    from mcp_ghost.run.report.tracing import Tracing
    from mcp_ghost.run.settings import Settings

_TOO_LONG = re.compile(
    r"context.(length|size|window|limit)|too long|exceeds? the .*(token|context)", re.IGNORECASE
)
"""How providers say that a request is more than the model can read."""
_CACHED = {"type": "ephemeral"}


class Asking:
    """Asks for one run; what it hears is in the account and in the events."""

    def __init__(
        self,
        settings: Settings,
        conversation: Conversation,
        account: Account,
        events: Events,
        deadline: Deadline,
        tracing: Tracing,
    ) -> None:
        self._settings = settings
        self._conversation = conversation
        self._account = account
        self._events = events
        self._deadline = deadline
        self._tracing = tracing
        self._budget = Budget(settings["token_budget"], settings["cost_budget"])

    async def complete(
        self, messages: Sequence[Message], iteration: int, tools: list[ToolSchema]
    ) -> LLMResponse:
        """The reply to as much of ``messages`` as the model can read.

        Raises:
            RunStoppedError: The deadline has passed, or the budget is spent.
            LLMError: There is none.
        """
        self._budget.check(self._account)
        conversation = self._conversation
        known = tools or conversation.known_tools
        view = await conversation.memory.view(messages, known, self._summary)
        view[-1] = {**view[-1], "cache_control": _CACHED}
        while conversation.compactions:
            await self._events.emit("compaction", **conversation.compactions.pop(0))
        self._budget.check(self._account)  # a summary was paid for, too
        try:
            response = await self._reply(view, iteration, tools)
        except LLMError as error:
            self._account.usage += error.usage
            too_long = isinstance(error, LLMStatusError) and _TOO_LONG.search(str(error))
            shrink = conversation.memory.shrink
            if not (too_long and await shrink(messages, known, self._summary)):
                raise
            return await self.complete(messages, iteration, tools)
        conversation.memory.answered(response)
        self._account.replied(response)
        await self._events.emit(
            "model_reply",
            iteration=iteration,
            content=response.content or response.text or "",
            tool_calls=[call.function.name for call in response.tool_calls or ()],
            usage=response.usage,
        )
        return response

    async def _reply(
        self, view: Sequence[Message], iteration: int, tools: list[ToolSchema]
    ) -> LLMResponse:
        conversation, settings = self._conversation, self._settings
        form, stop = conversation.wanted, settings["stop"]
        return await self._traced(
            view,
            tools=tools or None,
            known_tools=conversation.known_tools or None,  # a lost server's, for example
            namespace=settings["namespace"],
            response_format=form.response_format if form and not tools else None,
            on_delta=self._on_delta(iteration),
            retry_empty=False,  # the model is asked in other words instead
            max_tokens=settings["reply_tokens"],
            temperature=settings["temperature"],
            reasoning_effort=settings["reasoning_effort"],
            stop=[stop] if isinstance(stop, str) else stop,
            extra_body=settings["extra_body"],
        )

    async def _traced(self, view: Sequence[Message], **options: Any) -> LLMResponse:  # noqa: ANN401
        """One request, in a span of its own."""
        client, headers = self._conversation.client, self._settings["headers"]
        with self._tracing.request(view, options) as span:
            async with self._deadline.bound():
                response = await client.complete(view, headers=headers, **options)
            self._tracing.replied(span, response)
            return response

    async def _summary(self, request: list[Message]) -> str | None:
        """The model's summary of older exchanges; None where it has to be made without it."""
        self._budget.check(self._account)
        client = self._conversation.client
        try:
            response = await self._traced(request, extra_body=self._settings["extra_body"])
        except LLMError as error:
            self._account.usage += error.usage
            self._account.failed(client.provider_name, error, "summarised by rule")
            return None
        self._account.paid(response)
        return response.content

    def _on_delta(self, iteration: int) -> OnDelta | None:
        if not self._settings["stream"]:
            return None

        async def tell(delta: Delta) -> None:
            kind, text = delta
            if kind == "restart":
                await self._events.emit("reply_restart", iteration=iteration)
            else:
                await self._events.emit(kind, iteration=iteration, text=text)

        return tell
