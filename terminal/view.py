"""The live view of an episode: a logging handler that draws the episode's events."""

import logging

from mcp_ghost.cli.screen import Screen
from session.events import event_fields
from session.record.display import EpisodeDisplay
from session.record.event_log import entry_of
from session.record.schema import Entry, LoggedEvent
from session.record.summary import StorySoFar
from terminal.thoughts import Thoughts

_THINKS = "Turn {turn}: the {who} thinks …"
_WAITED_FOR = {
    "turn_start": _THINKS,
    "mcp_session_start": _THINKS,
    "mcp_iteration_start": _THINKS,
    "mcp_tool_call": "Turn {turn}: {tool_name} …",
    "mcp_tool_result": _THINKS,
    "mcp_tool_error": _THINKS,
    "mcp_tool_timeout": _THINKS,
    "llm_retry": "Waiting before asking the model again …",
    "agent_action": "> {action}",
    "game_paused": "Paused before turn {turn} …",
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
        self._waited_for = ""
        """What the latest event says."""
        self._under_way: dict[str, float | None] = {}
        """What takes long and is not over: its label, and how far it has come."""

    def emit(self, record: logging.LogRecord) -> None:
        """Draw the event; whatever happens here, the game goes on."""
        if self._so_far.end:
            return  # the thread of a request that was cut off may still complain
        try:
            entry = entry_of(record)
            progress = event_fields(record).get("progress")
            if isinstance(progress, tuple):
                self._advance(*progress)
            elif entry is not None:
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
            self._waited_for = ""
            self._screen.idle()
        self._display.show(entry)
        if isinstance(entry.event, LoggedEvent) and entry.event.event_type in _WAITED_FOR:
            known = {"turn": "?", "action": "", "who": self._who, **entry.event.fields}
            self._waited_for = _WAITED_FOR[entry.event.event_type].format(**known)
            self._thoughts.begin()
            self._wait()

    @property
    def _who(self) -> str:
        start = self._so_far.start
        return "model" if start is None or start.asks_a_model else "player"

    def _advance(self, label: str, share: float | None) -> None:
        if share == 1:
            self._under_way.pop(label, None)
        else:
            self._under_way[label] = share
        self._wait()

    def _wait(self) -> None:
        """Show what is under way, the earliest first, and then what the game waits for."""
        if self._under_way:
            self._screen.progress(*next(iter(self._under_way.items())))
        elif self._waited_for:
            self._screen.busy(self._waited_for, self._thoughts)
        else:
            self._screen.idle()
