"""What is done about a call before the model hears of it, and what it then hears."""

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from mcp_ghost.errors import MCPError
from mcp_ghost.loop import AnswerCalls, LoopEnd
from mcp_ghost.media import Gallery, media_in
from mcp_ghost.redact import redact
from mcp_ghost.results import JSON, ResultBudget, ToolCallResult, failure, format_tool_response
from mcp_ghost.run import prompts
from mcp_ghost.run.calls import CallPolicy, Calls
from mcp_ghost.run.ledger import Approve, PausedError, Told
from mcp_ghost.run.search import FIND_TOOLS, Searching
from mcp_ghost.run.shared import Run, RunStoppedError
from mcp_ghost.toolset import MAY_HAVE_ACTED, Allowed, Call, Kind, Outcome, Toolset, Wrapper

BREAKER_THRESHOLD = 3
"""Consecutive failures of one tool after which it is no longer called."""
_logger = logging.getLogger(__name__)


class RunWrapper(Wrapper):
    """A wrapper that knows the run whose calls it makes."""

    def __init__(self, inner: Toolset, run: Run) -> None:
        super().__init__(inner)
        self._run = run


class Bounded(RunWrapper):
    """Notes in the ledger that a call goes out, and cuts it off at the deadline of the run."""

    async def call(self, call: Call) -> Outcome:
        ledger = self._run.ledger
        try:
            ledger.started.add(call.id)
            await ledger.keep()
            async with self._run.bound():
                return await self.inner.call(call)
        except RunStoppedError as error:
            return Outcome.without_result(Kind.STOPPED, str(error))


class Reported(RunWrapper):
    """Makes each attempt a link of the chain, an event and a span, whatever its outcome.

    Not so one that is given up for a question of its server: it is made again with the answer.
    """

    async def call(self, call: Call) -> Outcome:
        account, events, tracing = self._run.account, self._run.events, self._run.tracing
        with tracing.call(call) as span:
            await events.emit(
                "tool_call",
                iteration=call.iteration,
                retry_attempt=call.number,
                tool_name=call.name,
                arguments=call.arguments,
            )
            started = time.perf_counter()
            outcome = await self.inner.call(call)
            if outcome.kind is Kind.QUESTION:
                return outcome
            seconds = time.perf_counter() - started
            result = replace(outcome.result, content=account.clean(outcome.result.content))
            outcome = replace(outcome, result=result, seconds=seconds)
            record = account.tried(call, outcome)
            tracing.returned(span, outcome)
            await events.emit("tool_result", **vars(record))
        return outcome


class Restarting(RunWrapper):
    """Starts a server that is gone once more, and makes the call again.

    Not so where the tool may have acted and does not say that a second time does no harm: that is
    for the model to decide. A timeout is never retried.
    """

    async def call(self, call: Call) -> Outcome:
        outcome = await self.inner.call(call)
        tool = self.tools.get(call.name)
        if outcome.kind is not Kind.DIED or tool is None or tool.server in self.failures:
            return outcome
        if outcome.was_sent and not tool.may_be_repeated:
            return outcome
        about = {"tool_name": call.name, "server": tool.server, "error": outcome.reason}
        await self._run.events.emit("retry", retry_attempt=call.number + 1, **about)
        recovery = "tried to restart the server, which failed"
        try:
            async with self._run.bound():
                await self.inner.restart(tool.server)
            recovery = "restarted the server and tried again"
        except RunStoppedError as error:
            return Outcome.without_result(Kind.STOPPED, str(error))
        except MCPError as error:
            return Outcome.of_error(error)
        finally:
            self._run.account.failed(call, outcome.reason, recovery)
        return await self.inner.call(replace(call, number=call.number + 1))


class Broken(RunWrapper):
    """Calls a tool no longer that failed ``BREAKER_THRESHOLD`` times in a row."""

    def __init__(self, inner: Toolset, run: Run) -> None:
        super().__init__(inner, run)
        self._failures: Counter[str] = Counter()

    async def call(self, call: Call) -> Outcome:
        if self._failures[call.name] >= BREAKER_THRESHOLD:
            return Outcome.without_result(
                Kind.SWITCHED_OFF,
                f"not executed: '{call.name}' failed {BREAKER_THRESHOLD} times in a row and is "
                "switched off for the rest of this run (circuit breaker open)",
            )
        outcome = await self.inner.call(call)
        if outcome.kind is Kind.OK:
            self._failures[call.name] = 0
        elif outcome.kind not in (Kind.STOPPED, Kind.QUESTION):
            self._failures[call.name] += 1
            if self._failures[call.name] == BREAKER_THRESHOLD:
                await self._run.events.emit("breaker_open", tool_name=call.name)
        return outcome


class Unrepeated(RunWrapper):
    """Asks a read-only tool that gave one result ``loop_limit`` times in a row not for it again.

    Counted are equal calls in replies that follow each other, as long as nothing is called that
    may change what they return.
    """

    def __init__(self, inner: Toolset, run: Run) -> None:
        super().__init__(inner, run)
        self._seen: dict[str, tuple[JSON, int, int]] = {}
        """By call: its latest result, how often in a row it was that, and when it was asked for."""

    async def call(self, call: Call) -> Outcome:
        tool, limit = self.tools.get(call.name), self._run.settings["loop_limit"]
        if limit is None or tool is None or not tool.is_read_only:
            self._seen.clear()
            return await self.inner.call(call)
        key = json.dumps([call.name, call.arguments], sort_keys=True, default=str)
        known, times, last = self._seen.get(key, (None, 0, 0))
        if call.iteration > last + 1:
            times = 0
        if times >= limit:
            self._seen[key] = (known, times, call.iteration)
            await self._run.events.emit("loop", tool_name=call.name, arguments=call.arguments)
            return Outcome.without_result(
                Kind.REPEATED,
                f"not executed again: this call of '{call.name}' gave the same result {times} "
                "times already (loop detected)",
                known,
            )
        outcome = await self.inner.call(call)
        if outcome.kind is Kind.OK:
            result = outcome.result.content
            again = times + 1 if times and result == known else 1
            self._seen[key] = (result, again, call.iteration)
        return outcome


class Approved(RunWrapper):
    """Makes calls that ``approve_when`` names only with a person's word, one question at a time.

    Without ``approve``, nobody is asked, or the run ends until somebody has decided (``pause``).
    """

    def __init__(self, inner: Toolset, run: Run) -> None:
        super().__init__(inner, run)
        self._turn = asyncio.Lock()

    def check(self, calls: Sequence[Call]) -> None:
        """Look at all calls of a reply first, and raise PausedError if some wait for a decision."""
        ledger, settings, pending = self._run.ledger, self._run.settings, []
        pauses = settings["pause"] and settings["approve"] is None
        for call in calls if pauses else ():
            if call.flaw or call.id in ledger.outcomes or not self._is_wanted(call):
                continue
            tool = self.tools[call.name]
            is_over = call.id in ledger.started and not tool.may_be_repeated
            if not is_over and ledger.decision(call) is None:
                about = {"tool_name": call.name, "arguments": ledger.clean(call.arguments)}
                about |= {"annotations": dict(tool.hints), "reasoning": call.reasoning}
                pending.append({"id": call.id, "kind": "approval", **about})
        if pending:
            self._run.conversation.questions.pending = pending
            raise PausedError

    async def call(self, call: Call) -> Outcome:
        ledger, approve = self._run.ledger, self._run.settings["approve"]
        decision: object = ledger.decision(call)
        if decision is None and approve is not None and self._is_wanted(call):
            async with self._turn:
                decision = await self._asked(approve, call)
        elif decision is None and call.id in ledger.decisions:
            decision = "the decision was about another call"
        if decision is None or decision is True:
            return await self.inner.call(call)
        reason = f": {decision}" if isinstance(decision, str) and decision.strip() else ""
        text = f"not executed: the user refused this call{reason}"
        return Outcome.without_result(Kind.REFUSED, text)

    def _is_wanted(self, call: Call) -> bool:
        """Whether ``call`` waits for a person's word."""
        tool, when = self.tools.get(call.name), self._run.settings["approve_when"]
        if tool is None:
            return False
        if isinstance(when, str):
            return when == "always" or not tool.is_harmless
        return tool.fits(when)

    async def _asked(self, approve: Approve, call: Call) -> bool | str:
        """What ``approve`` says; where it fails, the call is not made."""
        tool, always = self.tools[call.name], self._run.conversation.always
        if tool.definition in always:
            return True
        try:
            said = await approve(call.name, dict(call.arguments), dict(tool.hints))
        except Exception as error:  # noqa: BLE001  foreign code; nobody has agreed
            said = redact(f"{type(error).__name__}: {error}")
            _logger.warning("approve failed, so the call is not made: %s", said)
            return "nobody could be asked"
        if said is Allowed.ALWAYS:
            always.add(tool.definition)
            return True
        return said if isinstance(said, bool | str) else False


class Interruptible(RunWrapper):
    """Gives calls up whose server asks something that nobody has answered yet."""

    async def call(self, call: Call) -> Outcome:
        tool, questions = self.tools.get(call.name), self._run.conversation.questions
        under_way = questions.under_way[tool.server if tool else ""]
        task = asyncio.create_task(self.inner.call(call))
        under_way.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if task in questions.dropped:
                return Outcome.without_result(Kind.QUESTION, "its server asks something")
            task.cancel()
            raise
        finally:
            under_way.discard(task)
            questions.dropped.discard(task)


class GhostPolicy(CallPolicy):
    """Tells the model of each call in plain text.

    With ``enable_backtracking``, the model learns of a failure and is asked for another way, and
    calls go side by side: those of different servers, and on one server up to
    ``max_parallel_calls`` of tools that only read. Without, they go one after the other, and the
    first failure ends the run.
    """

    end = LoopEnd.FAILED_CALL

    def __init__(self, run: Run, approved: Approved) -> None:
        settings = run.settings
        self.by_server = settings["enable_backtracking"]
        super().__init__(
            max_parallel=settings["max_parallel_calls"] if self.by_server else 1,
            gallery=Gallery(is_open=settings["images"] == "auto"),
        )
        self._run = run
        self._approved = approved
        self._as_seen = run.conversation.as_seen

    async def before(self, calls: Sequence[Call]) -> None:
        """Pause where a person has to be asked: earlier calls may depend on what is decided."""
        self.budget = ResultBudget(self._run.settings["max_result_tokens_per_turn"])
        self._approved.check(calls)

    async def told(self, call: Call, outcome: Outcome, *, may_have_acted: bool) -> Told:
        """What the model is told of an outcome; a failure is noted."""
        kind, result, tool = outcome.kind, outcome.result, self._as_seen(call.name)
        if kind is Kind.OK and not media_in(result.content):
            text = format_tool_response(result.content)
            result = ToolCallResult(self._as_seen(text) if call.name == FIND_TOOLS else text)
        if kind is Kind.OK:
            return Told(kind, result)
        if kind is Kind.STOPPED:
            text = prompts.failure(tool, outcome.reason)
            return Told(kind, failure(text), stopped=f"{outcome.reason}.")
        account, events, reason = self._run.account, self._run.events, outcome.reason
        if call.place not in account.attempts:  # it was not even tried
            record = account.tried(call, replace(outcome, seconds=0.0))
            await events.emit("tool_result", **vars(record))
        message = account.words(reason)
        if may_have_acted:
            message = f"{message.rstrip('.')}. {MAY_HAVE_ACTED}"
        said = message if kind is Kind.TOOL_ERROR else self._as_seen(message)
        if not self.by_server:
            account.failed(call, reason)
            text, stopped = prompts.failure(tool, said), f"{tool} failed before it."
            return Told(kind, failure(text), stopped, is_end=True)
        if kind is Kind.REFUSED:
            account.failed(call, reason, "told the model")
            return Told(kind, failure(prompts.refused(tool, said)))
        account.failed(call, reason, "asked the model for another way")
        account.backtracks += 1
        await events.emit("backtrack", tool_name=call.name, error=message)
        return Told(kind, failure(prompts.another_way(tool, said, result.content)))

    def content(self, result: ToolCallResult) -> str:
        """All that the model is told of a result."""
        return result.text


def answering(run: Run) -> AnswerCalls:
    """Has the calls of the run's replies made, each within the wrappers above."""
    toolset: Toolset = Searching(run.conversation.toolbox, run.conversation.search)
    if run.settings["pause"]:
        toolset = Interruptible(toolset, run)
    for wrapper in (Bounded, Reported, Restarting, Broken, Unrepeated):
        toolset = wrapper(toolset, run)
    approved = Approved(toolset, run)
    return Calls(approved, GhostPolicy(run, approved), ledger=run.ledger).answer
