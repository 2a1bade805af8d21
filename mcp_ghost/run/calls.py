"""The calls of one reply: in parallel where their servers differ, and each of them answered."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeAlias

from mcp_ghost.errors import NotExecutedError
from mcp_ghost.loop import Batch, LoopEnd, arguments_of
from mcp_ghost.messages import LLMResponse, Message, ToolCall, tool_message
from mcp_ghost.providers.common import object_of
from mcp_ghost.results import format_tool_response
from mcp_ghost.run import prompts
from mcp_ghost.run.account import Account, CallAttempt
from mcp_ghost.run.limits import RunStoppedError
from mcp_ghost.run.recovery import Execute, ToolReportedError

if TYPE_CHECKING:
    from mcp_ghost.run.events import Events

_Asked: TypeAlias = tuple[ToolCall, CallAttempt]
_Answers: TypeAlias = dict[int, Message]
"""By the position of the call in the reply."""


class Calls:
    """Has calls executed and turns the outcomes into answers.

    With ``backtracking``, the model learns of a failure and is asked for another way. Without,
    calls go one after the other, and the first failure ends the run.
    """

    def __init__(
        self,
        execute: Execute,
        server_of: Callable[[str], str | None],
        account: Account,
        events: Events,
        *,
        backtracking: bool,
    ) -> None:
        self._execute = execute
        self._server_of = server_of
        self._account = account
        self._events = events
        self._backtracking = backtracking

    async def answer(self, response: LLMResponse, iteration: int) -> Batch:
        """The answers to all calls of ``response``."""
        answers: _Answers = {}
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._answer_in_order(response, asked, answers))
                for asked in self._groups(response, iteration)
            ]
        end = LoopEnd.FAILED_CALL if any(task.result() for task in tasks) else None
        return Batch([message for _, message in sorted(answers.items())], end)

    def _groups(self, response: LLMResponse, iteration: int) -> list[list[_Asked]]:
        """The calls, grouped by server; in a single group where a failure stops the rest."""
        groups: defaultdict[str | None, list[_Asked]] = defaultdict(list)
        reasoning = response.text or response.reasoning or ""
        for position, call in enumerate(response.tool_calls or ()):
            name, arguments = call.function.name, object_of(call.function.arguments)
            attempt = CallAttempt(iteration, position, name, arguments, reasoning)
            server = self._server_of(name) if self._backtracking else None
            groups[server].append((call, attempt))
        return [*groups.values()]

    async def _answer_in_order(
        self, response: LLMResponse, asked: list[_Asked], answers: _Answers
    ) -> bool:
        """Whether a failure ends the run."""
        stopped: str | None = None
        is_end = False
        for call, attempt in asked:
            is_error = True
            if stopped is not None:
                text = prompts.skipped(stopped)
            else:
                try:
                    arguments_of(response, call)  # raises where there are none to trust
                    text = format_tool_response(await self._execute(attempt))
                    is_error = False
                except RunStoppedError as error:
                    stopped = str(error)
                    text = prompts.failure(attempt.tool, stopped)
                except Exception as error:  # noqa: BLE001  a tool is foreign code: its failure is the call's
                    text = await self._failed(attempt, error)
                    if not self._backtracking:
                        is_end, stopped = True, f"{attempt.tool} failed before it"
            answers[attempt.position] = tool_message(call.id, text, is_error=is_error)
        return is_end

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
        if isinstance(exc, TimeoutError):
            message += ". It may have taken effect nonetheless"
        recovery = "asked the model for another way" if self._backtracking else None
        self._account.failed(attempt.tool, exc, recovery, attempt.place)
        if not self._backtracking:
            return prompts.failure(attempt.tool, message)
        self._account.backtracks += 1
        await self._events.emit("backtrack", tool_name=attempt.tool, error=message)
        return prompts.another_way(attempt.tool, message, result)
