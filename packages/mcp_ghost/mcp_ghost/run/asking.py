"""One reply of the model at a time: within deadline and budget, and within what it can read."""

import logging
from collections.abc import Sequence
from typing import Any

from mcp_ghost.errors import LLMError, LLMStatusError
from mcp_ghost.messages import LLMResponse, Message, ToolSchema
from mcp_ghost.providers.refusal import is_too_long
from mcp_ghost.providers.streaming import Delta
from mcp_ghost.run.shared import Run, RunStoppedError

_logger = logging.getLogger(__name__)


class Asking:
    """Asks for one run; what it hears is in the account and in the events."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._has_warned = False

    async def complete(self, iteration: int, tools: list[ToolSchema]) -> LLMResponse:
        """The reply to as much of the conversation as the model can read.

        Raises:
            RunStoppedError: The deadline has passed, or the budget is spent.
            LLMError: There is none.
        """
        run, conversation, settings = self._run, self._run.conversation, self._run.settings
        memory = conversation.memory
        self._check_budget()
        known = tools or conversation.known_tools
        view = await memory.view(conversation.messages, known, self._summary)
        view[-1] = {**view[-1], "cache_control": {"type": "ephemeral"}}
        while memory.compactions:
            await run.events.emit("compaction", **memory.compactions.pop(0))
        self._check_budget()  # a summary was paid for, too
        form, stop = run.form, settings["stop"]

        async def tell(delta: Delta) -> None:
            kind, text = delta
            if kind == "restart":
                await run.events.emit("reply_restart", iteration=iteration)
            else:
                await run.events.emit(kind, iteration=iteration, text=text)

        try:
            response = await self._traced(
                view,
                tools=tools or None,
                known_tools=conversation.known_tools or None,  # a lost server's, for example
                namespace=settings["namespace"],
                response_format=form.response_format if form and not tools else None,
                on_delta=tell if settings["stream"] else None,
                retry_empty=False,  # the model is asked in other words instead
                max_tokens=settings["reply_tokens"],
                temperature=settings["temperature"],
                reasoning_effort=settings["reasoning_effort"],
                stop=[stop] if isinstance(stop, str) else stop,
            )
        except LLMError as error:
            run.account.usage += error.usage
            too_long = isinstance(error, LLMStatusError) and is_too_long(error)
            if not (too_long and await memory.shrink(conversation.messages, known, self._summary)):
                raise
            return await self.complete(iteration, tools)
        memory.answered(response)
        run.account.replied(response)
        await run.events.emit(
            "model_reply",
            iteration=iteration,
            content=response.content or response.text or "",
            tool_calls=[call.function.name for call in response.tool_calls or ()],
            usage=response.usage,
        )
        return response

    def _check_budget(self) -> None:
        """Raise a RunStoppedError where what was spent so far reaches the budget."""
        account, settings = self._run.account, self._run.settings
        if not account.replies:
            return
        tokens, spent = settings["token_budget"], account.usage.total_tokens
        dollars, cost = settings["cost_budget"], account.usage.cost
        if tokens is not None and spent >= tokens:
            raise RunStoppedError(f"the budget of {tokens} tokens is spent ({spent})")
        if dollars is not None and account.is_priced and cost >= dollars:
            raise RunStoppedError(f"the budget of ${dollars:g} is spent (${cost:.4g})")
        reported = {"token_budget": spent, "cost_budget": account.is_priced}
        given = {"token_budget": tokens, "cost_budget": dollars}
        blind = " and ".join(it for it in given if given[it] is not None and not reported[it])
        if blind and not self._has_warned:
            self._has_warned = True
            _logger.warning("%s cannot be enforced: the provider reports no figures", blind)

    async def _traced(self, view: Sequence[Message], **options: Any) -> LLMResponse:  # noqa: ANN401
        """One request, in a span of its own."""
        run, settings = self._run, self._run.settings
        with run.tracing.request(view, options) as span:
            async with run.bound():
                response = await run.conversation.client.complete(
                    view, headers=settings["headers"], extra_body=settings["extra_body"], **options
                )
            run.tracing.replied(span, response)
            return response

    async def _summary(self, request: list[Message]) -> str | None:
        """The model's summary of older exchanges; None where it has to be made without it."""
        account = self._run.account
        self._check_budget()
        try:
            response = await self._traced(request)
        except LLMError as error:
            account.usage += error.usage
            account.failed(self._run.conversation.client.provider_name, error, "summarised by rule")
            return None
        account.paid(response)
        return response.content
