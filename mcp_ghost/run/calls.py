"""The calls of one reply: side by side where their order does not matter, and each answered."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_ghost.errors import MCPServerDiedError, NotExecutedError
from mcp_ghost.loop import MAY_HAVE_ACTED, Batch, LoopEnd, arguments_of, steps
from mcp_ghost.media import Gallery, in_words, media_in
from mcp_ghost.messages import LLMResponse, Message, ToolCall, tool_message
from mcp_ghost.providers.common import object_of
from mcp_ghost.results import ResultBudget, format_tool_response
from mcp_ghost.run import prompts
from mcp_ghost.run.limits import RunStoppedError
from mcp_ghost.run.pausing.approval import Approval, CallRefusedError
from mcp_ghost.run.pausing.ledger import Ledger, Outcome, PausedError
from mcp_ghost.run.pausing.questions import QuestionPendingError
from mcp_ghost.run.recovery import Execute, ToolReportedError
from mcp_ghost.run.report.account import Account, CallAttempt
from mcp_ghost.run.search import FIND_TOOLS
from mcp_ghost.servers.tools import is_read_only, may_be_repeated

if TYPE_CHECKING:
    from mcp_ghost.run.report.events import Events
    from mcp_ghost.servers.toolbox import Toolbox

_Asked: TypeAlias = tuple[ToolCall, CallAttempt]


_Outcomes: TypeAlias = dict[int, Outcome]
"""By the position of the call in the reply."""


class Calls:
    """Has calls executed and turns the outcomes into answers.

    With ``backtracking``, the model learns of a failure and is asked for another way, and calls go
    side by side: those of different servers, and on one server up to ``max_parallel`` of tools
    that only read. Without, they go one after the other, and the first failure ends the run.
    """

    def __init__(
        self,
        execute: Execute,
        toolbox: Toolbox,
        account: Account,
        events: Events,
        *,
        backtracking: bool,
        max_parallel: int,
        max_result_tokens: int | None,
        gallery: Gallery,
        approval: Approval,
        ledger: Ledger,
        pauses: bool,
        as_seen: Callable[[str], str],
    ) -> None:
        """``pauses``: a run that needs a person ends for the time being.

        ``as_seen`` puts the model's names of tools in the place of ours.
        """
        self._as_seen = as_seen
        self._execute = execute
        self._approval = approval
        self._ledger = ledger
        self._pauses = pauses
        self._toolbox = toolbox
        self._account = account
        self._events = events
        self._backtracking = backtracking
        self._max_parallel = max_parallel if backtracking else 1
        self._max_result_tokens = max_result_tokens
        self._gallery = gallery

    async def answer(self, response: LLMResponse, iteration: int) -> Batch:
        """The answers to all calls of ``response``.

        Raises:
            PausedError: Somebody has to decide first; what was executed is in the ledger.
        """
        await self._ledger.begin()
        self._pause_for_approval(response, iteration)
        outcomes: _Outcomes = {}
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._answer_in_order(response, asked, outcomes))
                for asked in self._groups(response, iteration)
            ]
        if len(outcomes) < len(response.tool_calls or ()):
            raise PausedError([])  # the questions know for what
        self._ledger.end()
        end = LoopEnd.FAILED_CALL if any(task.result() for task in tasks) else None
        in_order = [outcome for _, outcome in sorted(outcomes.items())]
        return Batch(self._told(response.tool_calls or [], in_order), end)

    def _told(self, calls: Sequence[ToolCall], outcomes: Sequence[Outcome]) -> list[Message]:
        """The messages for the model, as long as they may be, with images where it takes them."""
        budget = ResultBudget(self._max_result_tokens)
        shown = [self._shown(outcome, budget) for outcome in outcomes]
        texts = budget.fit([text for text, _ in shown])
        return [
            tool_message(call.id, text, images=images, is_error=outcome.is_error)
            for call, outcome, text, (_, images) in zip(calls, outcomes, texts, shown, strict=True)
        ]

    def _shown(self, outcome: Outcome, budget: ResultBudget) -> tuple[str, list[dict[str, Any]]]:
        """The text of a result, and the images to attach to it."""
        if not media_in(outcome.media):
            return outcome.text, []
        notes, images = self._gallery.attach(outcome.media, budget.take)
        return format_tool_response(in_words(outcome.media, notes)), images

    def _groups(self, response: LLMResponse, iteration: int) -> list[list[_Asked]]:
        """The calls, grouped by server; in a single group where a failure stops the rest."""
        groups: defaultdict[str | None, list[_Asked]] = defaultdict(list)
        reasoning = response.text or response.reasoning or ""
        for position, call in enumerate(response.tool_calls or ()):
            name, arguments = call.function.name, object_of(call.function.arguments)
            attempt = CallAttempt(iteration, position, name, arguments, reasoning, call_id=call.id)
            server = self._toolbox.server_of(name) if self._backtracking else None
            groups[server].append((call, attempt))
        return [*groups.values()]

    async def _answer_in_order(
        self, response: LLMResponse, asked: list[_Asked], outcomes: _Outcomes
    ) -> bool:
        """Whether a failure ends the run."""
        stopped: str | None = None
        is_end = False
        for step in steps(asked, lambda it: self._is_read_only(it[1].tool), self._max_parallel):
            if stopped:
                ended: list[Outcome | None] = [Outcome(prompts.skipped(stopped)) for _ in step]
            else:
                ended = await asyncio.gather(*(self._answered_once(response, *it) for it in step))
            for (_, attempt), outcome in zip(step, ended, strict=True):
                if outcome is not None:
                    stopped = stopped or outcome.stopped
                    is_end |= outcome.is_end
                    outcomes[attempt.position] = outcome
            if None in ended:
                break  # what follows waits, too
        return is_end

    async def _answered_once(
        self, response: LLMResponse, call: ToolCall, attempt: CallAttempt
    ) -> Outcome | None:
        """What became of a call, now or before a pause; None where its server asks something."""
        known = self._ledger.outcomes.get(call.id)
        if known is not None:
            return known
        try:
            outcome = await self._answered(response, call, attempt)
        except QuestionPendingError:
            self._ledger.dropped(call.id)
            return None
        return await self._ledger.came_back(call.id, outcome)

    async def _answered(
        self, response: LLMResponse, call: ToolCall, attempt: CallAttempt
    ) -> Outcome:
        """Execute one call."""
        try:
            arguments_of(response, call)  # raises where there are none to trust
            self._check_doubt(call, attempt)
            await self._approval.check(attempt, self._ledger.decisions.get(call.id))
            await self._ledger.going_out(call.id)
            result = await self._execute(attempt)
            media = result if media_in(result) else None
            text = format_tool_response(result)
            if attempt.tool == FIND_TOOLS:
                text = self._as_seen(text)
            return Outcome(text, is_error=False, media=media)
        except QuestionPendingError:
            raise
        except RunStoppedError as error:
            tool = self._as_seen(attempt.tool)
            return Outcome(prompts.failure(tool, str(error)), stopped=str(error))
        except Exception as error:  # noqa: BLE001  a tool is foreign code: its failure is the call's
            text = await self._failed(attempt, error)
            tool = self._as_seen(attempt.tool)
            stopped = None if self._backtracking else f"{tool} failed before it"
            return Outcome(text, stopped=stopped, is_end=not self._backtracking)

    def _check_doubt(self, call: ToolCall, attempt: CallAttempt) -> None:
        """Do not repeat what may have been done already in a process that was ended."""
        hints = self._toolbox.annotations_of(attempt.tool)
        if call.id in self._ledger.in_doubt and not may_be_repeated(hints):
            raise NotExecutedError(
                "not executed again: the program was ended after it made this call, and before "
                f"it got the result. {MAY_HAVE_ACTED}"
            )

    def _pause_for_approval(self, response: LLMResponse, iteration: int) -> None:
        """Before any call is made: the ones before it may depend on what is decided."""
        if not self._pauses or self._approval.has_somebody:
            return
        pending = []
        asked = [it for group in self._groups(response, iteration) for it in group]
        for call, attempt in sorted(asked, key=lambda it: it[1].position):
            is_over = call.id in self._ledger.outcomes or call.id in self._ledger.started
            is_decided = call.id in self._ledger.decisions or not self._approval.is_wanted(
                attempt.tool
            )
            if is_over or is_decided or not _is_readable(response, call):
                continue
            hints = dict(self._toolbox.annotations_of(attempt.tool))
            about = {"tool_name": attempt.tool, "arguments": attempt.arguments}
            about |= {"annotations": hints, "reasoning": attempt.reasoning}
            pending.append({"id": call.id, "kind": "approval", **about})
        if pending:
            raise PausedError(pending)

    async def _failed(self, attempt: CallAttempt, exc: Exception) -> str:
        """Note a failure; returns what the model is told."""
        result = None
        if isinstance(exc, NotExecutedError):
            record = self._account.tried(attempt, 0.0, exc.result, exc)
            await self._events.emit("tool_result", **asdict(record))
            result = exc.result
        elif isinstance(exc, ToolReportedError):
            result = exc.content
        message = self._account.words(exc)
        if self._may_have_acted(attempt.tool, exc):
            message = f"{message.rstrip('.')}. {MAY_HAVE_ACTED}"
        recovery = "asked the model for another way" if self._backtracking else None
        if isinstance(exc, CallRefusedError) and recovery:
            recovery = "told the model"
        self._account.failed(attempt.tool, exc, recovery, attempt.place)
        tool = self._as_seen(attempt.tool)
        said = message if isinstance(exc, ToolReportedError) else self._as_seen(message)
        if not self._backtracking:
            return prompts.failure(tool, said)
        if isinstance(exc, CallRefusedError):
            return prompts.refused(tool, said)
        self._account.backtracks += 1
        await self._events.emit("backtrack", tool_name=attempt.tool, error=message)
        return prompts.another_way(tool, said, result)

    def _may_have_acted(self, tool: str, exc: Exception) -> bool:
        """Whether ``exc`` leaves open what the tool did."""
        is_open = isinstance(exc, TimeoutError) or (
            isinstance(exc, MCPServerDiedError) and exc.was_sent
        )
        return is_open and not self._is_read_only(tool)

    def _is_read_only(self, tool: str) -> bool:
        return is_read_only(self._toolbox.annotations_of(tool))


def _is_readable(response: LLMResponse, call: ToolCall) -> bool:
    try:
        arguments_of(response, call)
    except NotExecutedError:
        return False
    return True
