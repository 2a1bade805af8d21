"""The tool-calling loop: ask, call, append, stop."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from mcp_ghost.errors import LLMMalformedCallError
from mcp_ghost.messages import LLMResponse, Message, ToolSchema, assistant_message, was_paused
from mcp_ghost.results import ToolCallResult
from mcp_ghost.spoken import is_spoken_call
from mcp_ghost.toolset import Call, Outcome

Ask: TypeAlias = Callable[[list[Message], int], Awaitable[LLMResponse]]
"""(conversation, iteration) -> reply"""

_MOST_MALFORMED = 2
"""Calls that nobody could read for which a model is asked again, before that is an error."""
_MALFORMED = (
    "The tool call that you just wrote could not be read, so nothing was called. {said}\nMake it "
    "again: the name of a tool on offer, and arguments that are one JSON object of its parameters."
)
_SPOKEN = (
    "You wrote a tool call as text, so nothing was called. Make it as a tool call, or answer "
    "without one."
)


class LoopEnd(StrEnum):
    """What ended a loop."""

    ANSWER = "answer"
    EMPTY_REPLY = "empty reply"
    SPOKEN_CALL = "call in words"
    LIMIT = "iteration limit"
    TOOLS_LOST = "loss of the tools"
    FAILED_CALL = "failed call"


@dataclass(frozen=True)
class Batch:
    """The answers to all calls of one reply, in their order, and whether they end the loop."""

    answers: list[Message]
    end: LoopEnd | None = None


AnswerCalls: TypeAlias = Callable[[LLMResponse, int], Awaitable[Batch]]
"""(reply with calls, iteration) -> answers; ``mcp_ghost.run.calls`` has them made"""


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

    def tool_called(self, call: Call) -> None:
        """A call is about to go out."""

    def tool_finished(self, call: Call, result: ToolCallResult, seconds: float) -> None:
        """The server answered, perhaps with an error."""

    def tool_failed(self, call: Call, outcome: Outcome) -> None:
        """The call did not reach a tool or got no answer."""

    def tool_timed_out(self, call: Call, seconds: float) -> None:
        """The call's time was up."""

    def tools_skipped(self, calls: Sequence[Call], reason: str) -> None:
        """The rest of a batch is not executed."""


async def run_loop(
    messages: list[Message],
    *,
    ask: Ask,
    answer_calls: AnswerCalls,
    max_iterations: int,
    observer: LoopObserver | None = None,
    tools: Callable[[], Collection[str]] = tuple,
) -> LoopResult:
    """Ask until the model answers without tool calls; ``messages`` grows by what was said.

    It is told of a call of one of ``tools`` that it made wrongly, and asked for it again.

    Raises:
        Whatever ``ask`` raises; the model is told what a tool does wrong.
    """
    response, malformed, was_spoken = LLMResponse(None, ""), 0, False
    for iteration in range(1, max_iterations + 1):
        if observer is not None:
            observer.iteration_started(iteration)
        try:
            response = await ask(messages, iteration)
        except LLMMalformedCallError as error:
            malformed += 1
            if malformed > _MOST_MALFORMED:
                raise
            messages.append({"role": "user", "content": _MALFORMED.format(said=error)})
            continue
        if was_paused(response) and not response.tool_calls:
            messages.append(assistant_message(response))
            continue
        if not response.tool_calls and is_spoken_call(response.content or "", tools()):
            if was_spoken:
                return LoopResult(response, LoopEnd.SPOKEN_CALL, iteration)
            was_spoken = True
            messages += [assistant_message(response), {"role": "user", "content": _SPOKEN}]
            continue
        if not response.tool_calls:
            end = LoopEnd.ANSWER if (response.content or "").strip() else LoopEnd.EMPTY_REPLY
            return LoopResult(response, end, iteration)
        messages.append(assistant_message(response))
        batch = await answer_calls(response, iteration)
        messages += batch.answers
        if batch.end is not None:
            return LoopResult(response, batch.end, iteration)
    return LoopResult(response, LoopEnd.LIMIT, max_iterations)


def names_of(tools: Iterable[ToolSchema]) -> list[str]:
    """The names of ``tools``."""
    return [tool["function"]["name"] for tool in tools]
