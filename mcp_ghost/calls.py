"""The calls of one reply: side by side where their servers differ, and each of them answered."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from mcp_ghost import prompts
from mcp_ghost.account import Account, Attempt
from mcp_ghost.limits import RunStoppedError
from mcp_ghost.loop import Batch, LoopEnd, parse_arguments
from mcp_ghost.messages import LLMResponse, Message, ToolCall, tool_message
from mcp_ghost.providers.common import object_of
from mcp_ghost.recovery import Execute, NotExecutedError, ToolReportedError
from mcp_ghost.results import format_tool_response

if TYPE_CHECKING:
    from mcp_ghost.events import Events

_Asked: TypeAlias = tuple[ToolCall, Attempt]


@dataclass
class _Answers:
    """What has been answered of one reply."""

    by_position: dict[int, Message] = field(default_factory=dict)
    end: LoopEnd | None = None

    def add(self, call: ToolCall, attempt: Attempt, text: str) -> None:
        self.by_position[attempt.position] = tool_message(call.id, text)

    def add_failure(self, call: ToolCall, attempt: Attempt, text: str) -> None:
        self.by_position[attempt.position] = tool_message(call.id, text, is_error=True)


class Calls:
    """Has calls executed and turns what comes of them into answers.

    With ``backtracking``, the model is told of a failure and asked for another way. Without, calls
    go one after the other, and the first failure ends the run.
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
        answers = _Answers()
        async with asyncio.TaskGroup() as group:
            for asked in self._groups(response, iteration):
                group.create_task(self._answer_in_order(asked, answers))
        return Batch([message for _, message in sorted(answers.by_position.items())], answers.end)

    def _groups(self, response: LLMResponse, iteration: int) -> list[list[_Asked]]:
        """The calls, parted by server; in one group where a failure is to stop the rest."""
        groups: defaultdict[str | None, list[_Asked]] = defaultdict(list)
        reasoning = response.text or response.reasoning or ""
        for position, call in enumerate(response.tool_calls or ()):
            name, arguments = call.function.name, object_of(call.function.arguments)
            attempt = Attempt(iteration, position, name, arguments, reasoning)
            server = self._server_of(name) if self._backtracking else None
            groups[server].append((call, attempt))
        return [*groups.values()]

    async def _answer_in_order(self, asked: list[_Asked], answers: _Answers) -> None:
        stopped: str | None = None
        for call, attempt in asked:
            if stopped is not None:
                answers.add_failure(call, attempt, prompts.skipped(stopped))
                continue
            try:
                answers.add(call, attempt, format_tool_response(await self._checked(call, attempt)))
            except RunStoppedError as exc:
                stopped = str(exc)
                answers.add_failure(call, attempt, prompts.failure(attempt.tool, stopped))
            except Exception as exc:  # noqa: BLE001  a tool is foreign code: its failure is the call's
                answers.add_failure(call, attempt, await self._failed(attempt, exc))
                if not self._backtracking:
                    answers.end, stopped = LoopEnd.FAILED_CALL, f"{attempt.tool} failed before it"

    async def _checked(self, call: ToolCall, attempt: Attempt) -> object:
        """Execute a call that can be executed."""
        try:
            parse_arguments(call.function.arguments)
        except (ValueError, TypeError, RecursionError) as exc:
            raise NotExecutedError(f"not executed: the arguments cannot be read: {exc}") from exc
        return await self._execute(attempt)

    async def _failed(self, attempt: Attempt, exc: Exception) -> str:
        """Note a failure; what the model is told."""
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
