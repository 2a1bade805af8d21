"""What is done about a call before the model hears of it: layers over one interface, ``Execute``.

Each layer takes the one below it: ``looping(breaking(retrying(recording(...))))``. A failure is
an exception on its way through them.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, TypeAlias

from mcp_ghost.breaker import CircuitBreaker
from mcp_ghost.errors import MCPServerDiedError, MCPToolCallError, NotExecutedError
from mcp_ghost.run.limits import RunStoppedError
from mcp_ghost.run.pausing.questions import QuestionPendingError
from mcp_ghost.servers.tools import is_read_only, may_be_repeated

if TYPE_CHECKING:
    from mcp_ghost.results import JSON
    from mcp_ghost.run.conversation import Conversation
    from mcp_ghost.run.limits import Deadline
    from mcp_ghost.run.pausing.questions import Questions
    from mcp_ghost.run.report.account import Account, CallAttempt
    from mcp_ghost.run.report.events import Events
    from mcp_ghost.run.report.tracing import Span, Tracing
    from mcp_ghost.servers.toolbox import Toolbox

BREAKER_THRESHOLD = 3
"""Consecutive failures of one tool after which it is no longer called."""

Execute: TypeAlias = "Callable[[CallAttempt], Awaitable[JSON]]"
"""attempt -> the tool's result; raises whatever went wrong"""


class ToolReportedError(MCPToolCallError):
    """Raised when the tool ran and reported an error; ``content`` is what else it said."""

    def __init__(self, message: str, content: JSON = None) -> None:
        super().__init__(message)
        self.content = content


def recording(
    conversation: Conversation,
    questions: Questions | None,
    deadline: Deadline,
    account: Account,
    events: Events,
    tracing: Tracing,
) -> Execute:
    """The call itself; each attempt is a link of the chain, whatever its outcome.

    Not so one that is given up for a question of its server: it is made again with the answer.
    """

    async def call(attempt: CallAttempt) -> JSON:
        with tracing.call(attempt) as span:
            return await traced(attempt, span)

    async def traced(attempt: CallAttempt, span: Span) -> JSON:
        call = {"tool_name": attempt.tool, "arguments": attempt.arguments}
        await events.emit(
            "tool_call", iteration=attempt.iteration, retry_attempt=attempt.number, **call
        )
        started = time.perf_counter()
        result: JSON = None
        failure: Exception | None = None
        try:
            async with deadline.bound():
                made = conversation.call(attempt.tool, attempt.arguments)
                if questions is not None:
                    server = conversation.toolbox.server_of(attempt.tool)
                    made = questions.during(server, made)
                outcome = await made
        except QuestionPendingError:
            raise
        except Exception as error:  # noqa: BLE001  raised again below
            failure = error
        else:
            result = account.clean(outcome.content)
            if outcome.is_error:
                failure = ToolReportedError(outcome.error_message or "no reason given", result)
        record = account.tried(attempt, time.perf_counter() - started, result, failure)
        tracing.returned(span, result, failure)
        await events.emit("tool_result", **asdict(record))
        if failure is not None:
            raise failure
        return result

    return call


def retrying(
    execute: Execute, toolbox: Toolbox, deadline: Deadline, account: Account, events: Events
) -> Execute:
    """A server that is gone is started once more, and the call tried again.

    Not so where the tool may have acted and does not say that a second time does no harm: that is
    for the model to decide. A timeout is never retried.
    """

    async def try_twice(attempt: CallAttempt) -> JSON:
        try:
            return await execute(attempt)
        except MCPServerDiedError as error:
            server = toolbox.server_of(attempt.tool)
            if server is None or server in toolbox.failures:
                raise
            if error.was_sent and not may_be_repeated(toolbox.annotations_of(attempt.tool)):
                raise
            died = error
        fields = {"tool_name": attempt.tool, "server": server, "error": str(died)}
        await events.emit("retry", retry_attempt=attempt.number + 1, **fields)
        recovery = "tried to restart the server, in vain"
        try:
            async with deadline.bound():
                await toolbox.restart(server)
            recovery = "restarted the server and tried again"
        finally:
            account.failed(attempt.tool, died, recovery, attempt.place)
        return await execute(replace(attempt, number=attempt.number + 1))

    return try_twice


def breaking(execute: Execute, events: Events) -> Execute:
    """A tool that failed ``BREAKER_THRESHOLD`` times in a row is no longer called."""
    breakers: dict[str, CircuitBreaker] = {}

    def breaker_for(tool: str) -> CircuitBreaker:
        return CircuitBreaker(
            BREAKER_THRESHOLD,
            math.inf,  # for the rest of the run
            is_failure=lambda exc: not isinstance(exc, RunStoppedError | QuestionPendingError),
            refusal=lambda _: NotExecutedError(
                f"not executed: '{tool}' failed {BREAKER_THRESHOLD} times in a row and is switched "
                "off for the rest of this run (circuit breaker open)"
            ),
        )

    async def call_if_closed(attempt: CallAttempt) -> JSON:
        breaker = breakers.setdefault(attempt.tool, breaker_for(attempt.tool))
        was_open = breaker.is_open
        try:
            with breaker.call():
                return await execute(attempt)
        finally:
            if breaker.is_open and not was_open:
                await events.emit("breaker_open", tool_name=attempt.tool)

    return call_if_closed


def looping(execute: Execute, toolbox: Toolbox, limit: int | None, events: Events) -> Execute:
    """A read-only tool that gave one result ``limit`` times in a row is not asked for it again.

    Counted are equal calls in replies that follow each other, as long as nothing is called that
    may change what they return.
    """
    seen: dict[str, tuple[JSON, int, int]] = {}
    """By call: its latest result, how often in a row it was that, and when it was asked for."""

    async def call_if_new(attempt: CallAttempt) -> JSON:
        if limit is None or not is_read_only(toolbox.annotations_of(attempt.tool)):
            seen.clear()
            return await execute(attempt)
        key = json.dumps([attempt.tool, attempt.arguments], sort_keys=True, default=str)
        known, times, last = seen.get(key, (None, 0, 0))
        if attempt.iteration > last + 1:
            times = 0
        if times >= limit:
            seen[key] = (known, times, attempt.iteration)
            await events.emit("loop", tool_name=attempt.tool, arguments=attempt.arguments)
            raise NotExecutedError(
                f"not executed again: this call of '{attempt.tool}' gave the same result "
                f"{times} times already (loop detected)",
                known,
            )
        result = await execute(attempt)
        seen[key] = (result, times + 1 if times and result == known else 1, attempt.iteration)
        return result

    return call_if_new
