"""What a model that works for ``mcp_ghost()`` is told of its calls, and what becomes of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from mcp_ghost.loop import LoopEnd
from mcp_ghost.media import Gallery, media_in
from mcp_ghost.results import ResultBudget, ToolCallResult, format_tool_response
from mcp_ghost.run import prompts
from mcp_ghost.run.calls import CallPolicy, failure
from mcp_ghost.run.pausing.ledger import Told
from mcp_ghost.run.recovery import Approved
from mcp_ghost.run.search import FIND_TOOLS
from mcp_ghost.run.shared import Run
from mcp_ghost.toolset import MAY_HAVE_ACTED, Call, Kind, Outcome


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
            return Told(kind, failure(text), stopped=outcome.reason)
        account, events = self._run.account, self._run.events
        error = outcome.error or outcome.reason
        if not account.knows(call):  # it was not even tried
            record = account.tried(call, 0.0, result.content, error)
            await events.emit("tool_result", **asdict(record))
        message = account.words(error)
        if may_have_acted:
            message = f"{message.rstrip('.')}. {MAY_HAVE_ACTED}"
        said = message if kind is Kind.TOOL_ERROR else self._as_seen(message)
        if not self.by_server:
            account.failed(call.name, error, place=call.place)
            text, stopped = prompts.failure(tool, said), f"{tool} failed before it"
            return Told(kind, failure(text), stopped, is_end=True)
        if kind is Kind.REFUSED:
            account.failed(call.name, error, "told the model", call.place)
            return Told(kind, failure(prompts.refused(tool, said)))
        account.failed(call.name, error, "asked the model for another way", call.place)
        account.backtracks += 1
        await events.emit("backtrack", tool_name=call.name, error=message)
        return Told(kind, failure(prompts.another_way(tool, said, result.content)))

    def skipped(self, why: str) -> str:
        """What the model is told of a call that is left out."""
        return prompts.skipped(why)

    def content(self, result: ToolCallResult) -> str:
        """All that the model is told of a result."""
        return result.text if result.is_error else format_tool_response(result.content)

    text = content
