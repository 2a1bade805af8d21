"""The log events of a turn's tool calls, and the account of them for its record."""

import json
import logging
from collections.abc import Sequence

from mcp_ghost.loop import LoopObserver
from mcp_ghost.messages import LLMResponse
from mcp_ghost.results import ToolCallResult, cap, jsonable
from mcp_ghost.text import counted
from mcp_ghost.toolset import Call, Outcome
from session.events import event_context, log_event, log_line
from session.game_state import ToolUse

RECORDED_CHARACTERS = 100_000
"""Of a tool's result; the whole of it went to the model."""
_SHOWN_CHARACTERS = 2_000
"""The same in the log for reading."""


class ToolEvents(LoopObserver):
    """Logs each step of the loop while it happens; ``used`` holds what has been called."""

    def __init__(
        self, logger: logging.Logger, max_iterations: int, server_names: Sequence[str] = ()
    ) -> None:
        self.iteration = 0
        self._uses: dict[tuple[int, int, int], ToolUse] = {}
        """By the place of the call; those that run side by side end in another order."""
        self._logger = logger
        self._max_iterations = max_iterations
        self._server_names = server_names

    @property
    def used(self) -> tuple[ToolUse, ...]:
        """What has been called, in order."""
        return tuple(self._uses[place] for place in sorted(self._uses))

    def iteration_started(self, iteration: int) -> None:
        """Remember the iteration and log it."""
        self.iteration = iteration
        most = self._max_iterations
        message = f"Agent tool-calling iteration {iteration}/{most}"
        self._event("mcp_iteration_start", message, max_iterations=most)

    def tool_called(self, call: Call) -> None:
        """Log the call and its arguments."""
        message = f"Agent calling tool {call.name}"
        self._event("mcp_tool_call", message, call, arguments=call.arguments)
        self._line(f"Tool arguments: {json.dumps(call.arguments, ensure_ascii=False)}")

    def tool_finished(self, call: Call, result: ToolCallResult, seconds: float) -> None:
        """Log type, length and duration of what came back."""
        text = result.text
        self._event(
            "mcp_tool_result",
            f"Tool result received ({seconds:.1f}s)",
            call,
            result_type=type(result.content).__name__,
            result_length=len(str(result.content)),
            is_error=result.is_error,
            duration_ms=round(seconds * 1000, 3),
        )
        if result.is_error:
            self._error(call, text)
        else:
            self._line(f"Tool result: {cap(text, _SHOWN_CHARACTERS)}")
        self._use(call, text, is_error=result.is_error, seconds=seconds)

    def tool_failed(self, call: Call, outcome: Outcome) -> None:
        """Log a call that no tool answered."""
        self._error(call, outcome.reason)
        self._use(call, outcome.reason, is_error=True, seconds=outcome.seconds)

    def tool_timed_out(self, call: Call, seconds: float) -> None:
        """Log a call whose time was up."""
        message, took = f"Tool call timeout: {call.name}", round(seconds * 1000, 3)
        self._event("mcp_tool_timeout", message, call, logging.WARNING, duration_ms=took)
        self._use(call, f"timed out after {seconds:.3g}s", is_error=True, seconds=seconds)

    def tools_skipped(self, calls: Sequence[Call], reason: str) -> None:
        """Log that the rest of the batch is left out."""
        message = f"Skipping remaining tools in batch ({len(calls)}): {reason}"
        self._event("mcp_batch_aborted", message, skipped=[call.name for call in calls])

    def reply_was_empty(self, response: LLMResponse) -> None:
        """Log a reply that neither answers nor calls."""
        reason = response.finish_reason
        message = f"LLM returned no content and no tool_calls, finish_reason={reason}"
        self._event("mcp_unexpected_state", message, level=logging.WARNING, finish_reason=reason)

    def session_ended(self, final_action: str) -> None:
        """Log what came of the turn's tool calls."""
        iterations, calls = self.iteration, len(self.used)
        took = f"{counted(iterations, 'iteration')}, {counted(calls, 'tool call')}"
        log_event(
            self._logger,
            logging.INFO,
            f"MCP session complete ({took})",
            "mcp_session_complete",
            iterations=iterations,
            tool_calls_count=calls,
            tools_used=sorted({tool.name for tool in self.used}),
            final_action=final_action,
        )

    def _error(self, call: Call, error: str) -> None:
        message = f"Tool call failed: {call.name} - {error}"
        self._event("mcp_tool_error", message, call, logging.WARNING, error=error)

    def _line(self, text: str) -> None:
        with event_context(iteration=self.iteration):
            log_line(self._logger, logging.DEBUG, text)

    def _event(
        self,
        event_type: str,
        message: str,
        call: Call | None = None,
        level: int = logging.INFO,
        **fields: object,
    ) -> None:
        """Log an event of this iteration, and of ``call`` if it is one's."""
        if call:
            name = call.name
            known = [it for it in self._server_names if name.startswith(f"{it}.")]  # may hold dots
            server = max(known, key=len, default=name.split(".")[0])
            fields |= {"tool_name": name, "server_name": server, "call_id": call.id}
        log_event(self._logger, level, message, event_type, iteration=self.iteration, **fields)

    def _use(self, call: Call, text: str, *, is_error: bool, seconds: float) -> None:
        if (left_out := len(text) - RECORDED_CHARACTERS) > 0:
            text = f"{text[:RECORDED_CHARACTERS]}\n[{left_out:,} more characters were not recorded]"
        self._uses[call.place] = ToolUse(
            name=call.name,
            arguments=jsonable(call.arguments),
            result=text,
            is_error=is_error,
            duration_ms=round(seconds * 1000, 3),
        )
