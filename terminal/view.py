"""The live view of an episode: a logging handler that draws the episode's events."""

import logging

from mcp_ghost.cli.screen import Screen
from session.record.display import EpisodeDisplay
from session.record.event_log import entry_of
from session.record.schema import Entry, LoggedEvent
from session.record.summary import StorySoFar
from terminal.thoughts import Thoughts

_THINKS = "Turn {turn}: the model thinks …"
_WAITED_FOR = {
    "turn_start": _THINKS,
    "mcp_session_start": _THINKS,
    "mcp_iteration_start": _THINKS,
    "mcp_tool_call": "Turn {turn}: {tool_name} …",
    "mcp_tool_result": _THINKS,
    "mcp_tool_error": _THINKS,
    "mcp_tool_timeout": _THINKS,
    "llm_retry": "Waiting before the model is asked again …",
    "agent_action": "> {action}",
}
"""What an event says is waited for next."""


class TerminalView(logging.Handler):
    """Shows one episode on a screen."""

    def __init__(
        self, screen: Screen, so_far: StorySoFar, thoughts: Thoughts | None = None
    ) -> None:
        super().__init__(logging.DEBUG)
        self._thoughts = thoughts or Thoughts()
        self._screen = screen
        self._so_far = so_far
        self._display = EpisodeDisplay(screen, so_far)

    def emit(self, record: logging.LogRecord) -> None:
        """Draw the event; whatever happens here, the game goes on."""
        if self._so_far.end:
            return  # the thread of a request that was cut off may still complain
        try:
            entry = entry_of(record)
            if entry is not None:
                self._show(entry)
            elif record.levelno >= logging.INFO:
                self._display.notice({"message": record.getMessage()})
        except OSError:
            self._screen.abandon()  # such as a terminal that was closed
        except Exception:  # noqa: BLE001  the standard library's rule for handlers
            self.handleError(record)

    def close(self) -> None:
        """Remove the status line."""
        self._screen.idle()
        super().close()

    def _show(self, entry: Entry) -> None:
        self._so_far.take(entry)
        if not isinstance(entry.event, LoggedEvent):
            self._screen.idle()
        self._display.show(entry)
        if isinstance(entry.event, LoggedEvent) and entry.event.event_type in _WAITED_FOR:
            known = {"turn": "?", "action": "", **entry.event.fields}
            waited_for = _WAITED_FOR[entry.event.event_type]
            self._thoughts.begin()
            self._screen.busy(waited_for.format(**known), self._thoughts)
