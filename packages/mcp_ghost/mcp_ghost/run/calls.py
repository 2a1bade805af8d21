"""The calls of one reply, executed in their order or side by side, and each answered."""

import asyncio
import json
import logging
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, ClassVar

from mcp_ghost.loop import Batch, LoopEnd, LoopObserver
from mcp_ghost.media import Gallery, in_words, media_in
from mcp_ghost.messages import LLMResponse, Message, tool_message, was_cut_off
from mcp_ghost.redact import redact
from mcp_ghost.results import ResultBudget, ToolCallResult, failure, strict_json
from mcp_ghost.run.ledger import Ledger, PausedError, Told
from mcp_ghost.toolset import MAY_HAVE_ACTED, Call, Kind, Outcome, Tool, Toolset

_IN_DOUBT = (
    "not executed again: the program was ended after it made this call, and before it got the "
    f"result. {MAY_HAVE_ACTED}"
)
_CUT_OFF = "not executed: the reply was cut off at its length limit; write less in one reply"
_FILTERED = "not executed: the reply was refused or filtered"
_logger = logging.getLogger(__name__)


class CallPolicy:
    """How calls are made, what follows from their outcomes, and what the model is told of them.

    This one makes them one after the other, those of tools that only read up to ``max_parallel``
    at once, and tells the model of each as JSON. A timeout skips the rest of the reply's calls,
    and the loss of the server ends the loop.
    """

    by_server = False
    """Whether calls of different servers run side by side."""
    end = LoopEnd.TOOLS_LOST
    """What ends the loop where an outcome does."""
    _CAUSES: ClassVar = {Kind.TIMEOUT: "timed out", Kind.DIED: "lost the server"}

    def __init__(
        self,
        *,
        max_parallel: int = 1,
        budget: ResultBudget | None = None,
        gallery: Gallery | None = None,
    ) -> None:
        """``budget`` is for all results together, and ``gallery`` for the images in them.

        Without a gallery, the model is told of images in words.
        """
        self.max_parallel = max_parallel
        self.gallery = gallery
        self.budget = budget or ResultBudget(None)

    async def before(self, calls: Sequence[Call]) -> None:
        """Do what has to be done before any call of a reply is made."""

    async def told(self, call: Call, outcome: Outcome, *, may_have_acted: bool) -> Told:
        """What the model is told of an outcome, and what follows from it."""
        kind = outcome.kind
        if kind in (Kind.OK, Kind.TOOL_ERROR):
            return Told(kind, outcome.result)
        text = f"Tool call failed: {outcome.reason}"
        if kind is Kind.TIMEOUT:
            text = f"Tool call timed out after {outcome.seconds:.3g}s"
        if may_have_acted:
            text = f"{text.rstrip('.')}. {MAY_HAVE_ACTED}"
        cause = self._CAUSES.get(kind)
        stopped = f"the call of {call.name} before it {cause}" if cause else None
        return Told(kind, failure(text), stopped, is_end=kind is Kind.DIED)

    def content(self, result: ToolCallResult) -> str:
        """The whole of what the model is told of a result."""
        return json.dumps(result.to_dict(), ensure_ascii=False)


@dataclass
class Calls:
    """Has the calls of replies made by ``toolset``, as ``policy`` says."""

    toolset: Toolset
    policy: CallPolicy = field(default_factory=CallPolicy)
    observer: LoopObserver = field(default_factory=LoopObserver, kw_only=True)
    ledger: Ledger = field(default_factory=Ledger, kw_only=True)
    """Remembers what became of calls, for a process that goes on with the run."""

    async def answer(self, response: LLMResponse, iteration: int) -> Batch:
        """The answers to all calls of ``response``: providers refuse a history that lacks one.

        Raises:
            PausedError: Somebody has to decide first; what was executed is in the ledger.
        """
        calls = [*calls_of(response, iteration, self.toolset.tools)]
        await self.ledger.keep()
        await self.policy.before(calls)
        told: dict[int, Told] = {}
        lanes: defaultdict[str | None, list[Call]] = defaultdict(list)
        for call in calls:
            tool = self.toolset.tools.get(call.name) if self.policy.by_server else None
            lanes[tool.server if tool else None].append(call)
        try:
            async with asyncio.TaskGroup() as group:
                asked = [self._answer_in_order(lane, told) for lane in lanes.values()]
                tasks = [*map(group.create_task, asked)]
        except BaseExceptionGroup as errors:  # what is raised in a lane leaves as it is
            raise errors.exceptions[0] from None
        for task in tasks:
            task.result()  # raises CancelledError where a tool did, of which a group says nothing
        if len(told) < len(calls):
            raise PausedError
        self.ledger.end()
        in_order = [told[call.position] for call in calls]
        answers = self._messages(calls, in_order)
        return Batch(answers, self.policy.end if any(it.is_end for it in in_order) else None)

    async def _answer_in_order(self, lane: Sequence[Call], told: dict[int, Told]) -> None:
        """Add to ``told`` what becomes of each call, by its position in the reply."""
        for step in self._steps(lane):
            ended = await asyncio.gather(*(self._answered(call) for call in step))
            known = [it for it in ended if it is not None]
            told |= {call.position: it for call, it in zip(step, ended, strict=True) if it}
            if len(known) < len(step):
                return  # what follows waits, too
            cause = max(known, key=lambda it: (it.stopped is not None, it.is_end))
            if cause.stopped is not None:
                reason = f"Skipped: {cause.stopped}"
                skipped = Told(Kind.SKIPPED, failure(reason))
                left = [call for call in lane if call.position not in told]
                told |= {call.position: skipped for call in left}
                self.observer.tools_skipped(left, reason)
                return

    def _steps(self, lane: Sequence[Call]) -> Iterator[list[Call]]:
        """The calls in steps to take one after the other; what only reads shares a step."""
        for only_read, calls in groupby(lane, self._is_read_only):
            size = self.policy.max_parallel if only_read else 1
            waiting = [*calls]
            while waiting:
                yield waiting[:size]
                del waiting[:size]

    async def _answered(self, call: Call) -> Told | None:
        """What the model is told of a call, made now or before a pause; None if it has to wait."""
        known = self.ledger.outcomes.get(call.id)
        if known is not None:
            return known
        started, outcome = time.perf_counter(), call.flaw
        tool = self.toolset.tools.get(call.name)
        may_be_made = call.id not in self.ledger.in_doubt or (tool and tool.may_be_repeated)
        if outcome is None and not may_be_made:
            outcome = Outcome.without_result(Kind.IN_DOUBT, _IN_DOUBT)
        elif outcome is None:
            self.observer.tool_called(call)
            try:
                outcome = await self.toolset.call(call)
            except Exception as error:  # noqa: BLE001  a fault of ours costs this call only
                trace = redact("".join(traceback.format_exception(error)))
                _logger.error("An error in a toolset:\n%s", trace)  # noqa: TRY400  the trace may hold a key
                outcome = Outcome.of_error(error)
        if outcome.kind is Kind.QUESTION:
            self.ledger.started.discard(call.id)  # it is made again later
            return None
        outcome = replace(outcome, seconds=time.perf_counter() - started)
        if outcome.kind in (Kind.OK, Kind.TOOL_ERROR):
            self.observer.tool_finished(call, outcome.result, outcome.seconds)
        elif outcome.kind is Kind.TIMEOUT:
            self.observer.tool_timed_out(call, outcome.seconds)
        else:
            self.observer.tool_failed(call, outcome)
        may_have_acted = outcome.was_sent and not self._is_read_only(call)
        told = await self.policy.told(call, outcome, may_have_acted=may_have_acted)
        self.ledger.outcomes[call.id] = told
        await self.ledger.keep()
        return told

    def _messages(self, calls: Sequence[Call], told: Sequence[Told]) -> list[Message]:
        """The messages for the model, as long as they may be, with images where it takes them."""
        policy, budget = self.policy, self.policy.budget
        results = [it.result for it in told]
        images: list[list[dict[str, Any]]] = [[] for _ in told]
        for index, it in enumerate(results):
            if policy.gallery is not None and not it.is_error and media_in(it.content):
                notes, images[index] = policy.gallery.attach(it.content, budget.take)
                results[index] = replace(it, content=in_words(it.content, notes))
        for index, text in enumerate(budget.fit([it.text for it in results])):
            it = results[index]
            if text != it.text:
                results[index] = failure(text, it.content) if it.is_error else ToolCallResult(text)
        return [
            tool_message(
                call.id,
                policy.content(result),
                images=attached,
                is_error=result.is_error,
                kind=str(it.kind),
            )
            for call, it, result, attached in zip(calls, told, results, images, strict=True)
        ]

    def _is_read_only(self, call: Call) -> bool:
        tool = self.toolset.tools.get(call.name)
        return tool is not None and tool.is_read_only


def calls_of(response: LLMResponse, iteration: int, tools: Mapping[str, Tool]) -> Iterator[Call]:
    """The calls of a reply, as ``tools`` want them, with what is wrong with them."""
    for position, asked in enumerate(response.tool_calls or ()):
        name, flaw = asked.function.name, None
        try:
            arguments = strict_json(asked.function.arguments.strip() or "{}")
            if not isinstance(arguments, dict):
                kind = type(arguments).__name__
                raise TypeError(f"they must be a JSON object, not {kind}")  # noqa: TRY301
            arguments = tools[name].fitted(arguments) if name in tools else arguments
        except (ValueError, TypeError, RecursionError) as error:
            arguments = {"invalid_arguments": asked.function.arguments}
            reason = f"not executed: the arguments cannot be read: {error}"
            flaw = Outcome.without_result(Kind.UNREADABLE, reason)
        if was_cut_off(response):
            # What it holds may be valid and yet only half of what the model meant.
            flaw = Outcome.without_result(Kind.CUT_OFF, _CUT_OFF)
        elif response.finish_reason == "content_filter":
            flaw = Outcome.without_result(Kind.CUT_OFF, _FILTERED)
        yield Call(
            name,
            arguments,
            id=asked.id,
            iteration=iteration,
            position=position,
            reasoning=response.text or response.reasoning or "",
            flaw=flaw,
        )
