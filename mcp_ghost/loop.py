"""The tool-calling loop: ask, call, append, stop."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from typing import Any, TypeAlias, TypeVar

from mcp_ghost.errors import MCPServerDiedError, NotExecutedError
from mcp_ghost.media import Gallery, in_words
from mcp_ghost.messages import (
    LLMResponse,
    Message,
    ToolCall,
    assistant_message,
    tool_message,
    was_cut_off,
)
from mcp_ghost.results import ResultBudget, ToolCallResult

T = TypeVar("T")
Ask: TypeAlias = Callable[[list[Message], int], Awaitable[LLMResponse]]
"""(conversation, iteration) -> reply"""
CallTool: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[ToolCallResult]]
"""("server.tool", arguments) -> result; TimeoutError when the time is up"""

MAY_HAVE_ACTED = "It may have taken effect nonetheless; find out before you repeat it"
"""What the model is told of a call that went out and was not answered."""
_CUT_OFF = "the reply was cut off at its length limit; write less in one reply"


class LoopEnd(StrEnum):
    """What ended a loop."""

    ANSWER = "answer"
    EMPTY_REPLY = "empty reply"
    LIMIT = "iteration limit"
    TOOLS_LOST = "loss of the tools"
    FAILED_CALL = "failed call"


@dataclass(frozen=True)
class Batch:
    """The answers to all calls of one reply, in their order, and whether they end the loop."""

    answers: list[Message]
    end: LoopEnd | None = None


AnswerCalls: TypeAlias = Callable[[LLMResponse, int], Awaitable[Batch]]
"""(reply with calls, iteration) -> answers; ``in_order`` makes the simplest"""


@dataclass(frozen=True)
class LoopResult:
    """The last reply, and why there was no further one."""

    response: LLMResponse
    end: LoopEnd
    iterations: int


class LoopObserver:
    """Told what happens; every method may be left as it is."""

    def iteration_started(self, iteration: int) -> None:
        """The model is about to be asked."""

    def tool_called(self, call: ToolCall, arguments: dict[str, Any]) -> None:
        """A call is about to go out."""

    def tool_finished(self, call: ToolCall, result: ToolCallResult, seconds: float) -> None:
        """The server answered, perhaps with an error."""

    def tool_failed(self, call: ToolCall, error: str, seconds: float) -> None:
        """The call did not reach a tool or got no answer."""

    def tool_timed_out(self, call: ToolCall, seconds: float) -> None:
        """The call's time was up."""

    def tools_skipped(self, calls: Sequence[ToolCall], reason: str) -> None:
        """The rest of a batch is not executed."""


async def run_loop(
    messages: list[Message],
    *,
    ask: Ask,
    answer_calls: AnswerCalls,
    max_iterations: int,
    observer: LoopObserver | None = None,
) -> LoopResult:
    """Ask until the model answers without tool calls; ``messages`` grows by what was said.

    Raises:
        Whatever ``ask`` raises; the model is told what a tool does wrong.
    """
    for iteration in range(1, max_iterations + 1):
        if observer is not None:
            observer.iteration_started(iteration)
        response = await ask(messages, iteration)
        if not response.tool_calls:
            end = LoopEnd.ANSWER if (response.content or "").strip() else LoopEnd.EMPTY_REPLY
            return LoopResult(response, end, iteration)
        messages.append(assistant_message(response))
        batch = await answer_calls(response, iteration)
        messages += batch.answers
        if batch.end is not None:
            return LoopResult(response, batch.end, iteration)
    return LoopResult(response, LoopEnd.LIMIT, max_iterations)


def in_order(
    call_tool: CallTool,
    observer: LoopObserver,
    *,
    is_read_only: Callable[[str], bool] = lambda _: False,
    max_parallel: int = 1,
    budget: ResultBudget | None = None,
    gallery: Gallery | None = None,
) -> AnswerCalls:
    """Calls one after the other, until one times out or loses the server.

    Those of tools that only read run side by side, at most ``max_parallel`` of them. ``budget`` is
    for all results that the model is told, also in later replies, and ``gallery`` for the images
    in them; without one, it is told of images in words.
    """
    room = budget or ResultBudget(None)

    async def answer_calls(response: LLMResponse, _iteration: int) -> Batch:
        calls = response.tool_calls or []
        answers: list[Message] = []
        for step in steps(calls, lambda call: is_read_only(call.function.name), max_parallel):
            outcomes = await asyncio.gather(
                *(
                    _execute(response, call, call_tool, observer, is_read_only(call.function.name))
                    for call in step
                )
            )
            shown = [_shown(result, gallery, room) for result, _ in outcomes]
            results = _fitted([result for result, _ in shown], room)
            answers += [
                _result_message(call, result, images)
                for call, result, (_, images) in zip(step, results, shown, strict=True)
            ]
            then = max(then for _, then in outcomes)
            if then is _Then.GO_ON:
                continue
            # Providers refuse a history in which a call has no answer.
            left = calls[len(answers) :]
            cause = step[[each for _, each in outcomes].index(then)].function.name
            reason = f"Skipped: the call of {cause} before it {_BECAME[then]}"
            answers += [_result_message(call, _failure(reason)) for call in left]
            observer.tools_skipped(left, reason)
            return Batch(answers, LoopEnd.TOOLS_LOST if then is _Then.STOP_TOOLS else None)
        return Batch(answers)

    return answer_calls


def steps(
    calls: Sequence[T], may_run_together: Callable[[T], bool], at_most: int
) -> Iterator[Sequence[T]]:
    """``calls`` in steps to take one after the other; the calls of one step may run together."""
    step: list[T] = []
    for call in calls:
        together = may_run_together(call)
        if step and (len(step) == at_most or not together or not may_run_together(step[-1])):
            yield step
            step = []
        step.append(call)
    if step:
        yield step


class _Then(IntEnum):
    """How a batch goes on after a call; of several, the greatest counts."""

    GO_ON = 0
    SKIP_REST = 1
    STOP_TOOLS = 2


_BECAME = {_Then.SKIP_REST: "timed out", _Then.STOP_TOOLS: "lost the server"}


async def _execute(
    response: LLMResponse,
    call: ToolCall,
    call_tool: CallTool,
    observer: LoopObserver,
    is_read_only: bool,
) -> tuple[ToolCallResult, _Then]:
    """The result of one call; where nobody knows whether it acted, the model is told so."""
    doubt = "" if is_read_only else f". {MAY_HAVE_ACTED}"
    started = time.perf_counter()
    then = _Then.GO_ON
    try:
        arguments = arguments_of(response, call)
        observer.tool_called(call, arguments)
        result = await call_tool(call.function.name, arguments)
    except TimeoutError:
        seconds = time.perf_counter() - started
        observer.tool_timed_out(call, seconds)
        return _failure(f"Tool call timed out after {seconds:.3g}s{doubt}"), _Then.SKIP_REST
    except MCPServerDiedError as error:
        reason, then = str(error), _Then.STOP_TOOLS
        doubt = doubt if error.was_sent else ""
    except Exception as error:  # noqa: BLE001  a tool is foreign code: its failure is the call's
        reason, doubt = str(error) or type(error).__name__, ""
    else:
        observer.tool_finished(call, result, time.perf_counter() - started)
        return result, then
    observer.tool_failed(call, reason, time.perf_counter() - started)
    return _failure(f"Tool call failed: {reason}{doubt}"), then


def _shown(
    result: ToolCallResult, gallery: Gallery | None, budget: ResultBudget
) -> tuple[ToolCallResult, list[dict[str, Any]]]:
    """``result`` with its images in words, and those that the model is shown beside it."""
    if gallery is None or result.is_error:
        return result, []
    notes, images = gallery.attach(result.content, budget.take)
    return replace(result, content=in_words(result.content, notes)), images


def _fitted(results: Sequence[ToolCallResult], budget: ResultBudget) -> list[ToolCallResult]:
    """``results`` with as much of them as ``budget`` allows."""
    texts = [result.text for result in results]
    return [
        result if fitted == text else _saying(result, fitted)
        for result, text, fitted in zip(results, texts, budget.fit(texts), strict=True)
    ]


def _saying(result: ToolCallResult, text: str) -> ToolCallResult:
    if result.is_error:
        return replace(result, error_message=text)
    return replace(result, content=text)


def _failure(reason: str) -> ToolCallResult:
    return ToolCallResult(content=None, is_error=True, error_message=reason)


def _result_message(
    call: ToolCall, result: ToolCallResult, images: Sequence[dict[str, Any]] = ()
) -> Message:
    text = json.dumps(result.to_dict(), ensure_ascii=False)
    return tool_message(call.id, text, images=images, is_error=result.is_error)


def arguments_of(response: LLMResponse, call: ToolCall) -> dict[str, Any]:
    """The arguments of a call of ``response``; an empty text means none.

    Raises:
        NotExecutedError: They cannot be read, or cannot be trusted to be whole: what a reply that
            was cut off holds may be valid and yet only half of what the model meant.
    """
    if was_cut_off(response):
        raise NotExecutedError(f"not executed: {_CUT_OFF}")
    try:
        arguments = json.loads(call.function.arguments.strip() or "{}")
        if not isinstance(arguments, dict):
            raise TypeError(f"they must be a JSON object, not {type(arguments).__name__}")  # noqa: TRY301
    except (ValueError, TypeError, RecursionError) as error:
        raise NotExecutedError(f"not executed: the arguments cannot be read: {error}") from error
    return arguments
