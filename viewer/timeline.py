"""Where the time of each turn went: models, tools and their servers, the game."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from session.game_state import TurnRecord
from session.record.schema import Entry, LoggedEvent

_FIELDS = {
    "turn_start": (),
    "model_call": ("role", "milliseconds"),
    "mcp_server_started": ("server_name", "duration_ms"),
    "mcp_tool_call": ("tool_name", "call_id"),
    "mcp_tool_result": ("tool_name", "call_id"),
    "mcp_tool_error": ("tool_name", "call_id"),
    "mcp_tool_timeout": ("tool_name", "call_id"),
    "agent_action": (),
}
"""What is kept of lines that bound a step: a name, and how long it took or which call it was."""


class Step(NamedTuple):
    """A stretch of a turn's time."""

    kind: str
    """``model``, ``tool``, ``server`` or ``game``."""
    name: str
    """The model's role, the tool, or its server."""
    start: float
    """Seconds since the turn, or its latest attempt, began."""
    seconds: float


class Timeline:
    """The steps of every turn; takes events in the order of the log.

    Lines are written when something has ended, so a step's beginning is that of a line before it,
    or follows from how long it took.
    """

    def __init__(self) -> None:
        self._turns: dict[int, tuple[_Line, ...]] = {}
        self._lines: list[_Line] = []

    def take(self, entry: Entry) -> None:
        """Learn from one line."""
        event = entry.event
        if isinstance(event, TurnRecord):
            self._turns[event.turn] = (*self._lines, _Line("turn", entry.time))
            self._lines = []
        elif isinstance(event, LoggedEvent) and event.event_type in _FIELDS:
            if event.event_type == "turn_start":
                self._lines = []
            with suppress(KeyError):
                kept = [event.fields[name] for name in _FIELDS[event.event_type]]
                self._lines.append(_Line(event.event_type, entry.time, *kept))

    def of_turn(self, turn: int) -> tuple[Step, ...]:
        """Return a turn's steps, by their beginning."""
        return tuple(sorted(_steps(self._turns.get(turn, ())), key=lambda it: it.start))


class _Line(NamedTuple):
    event_type: str
    time: str
    name: Any = None
    detail: Any = None


def _steps(lines: Iterable[_Line]) -> Iterator[Step]:
    """Yield a turn's steps as they ended; a time or a number that is none is left out."""
    began: float | None = None
    decided = 0.0
    calls: dict[str, float] = {}
    for event_type, time, name, detail in lines:
        with suppress(ValueError, TypeError, KeyError):
            at = datetime.fromisoformat(time).timestamp()
            match event_type:
                case "turn_start":
                    began = decided = at
                    continue
                case "mcp_tool_call":
                    calls[detail] = at
                    continue
                case "agent_action":
                    decided = at
                    continue
                case "model_call":
                    kind, start = "model", at - detail / 1000
                case "mcp_server_started":
                    kind, start = "server", at - detail / 1000
                case "turn":
                    kind, name, start = "game", "", decided
                case _:
                    kind, start = "tool", calls.pop(detail)
            if began is not None:
                start = max(start, began)  # a server may have been started before the turn
                seconds = round(max(0.0, at - start), 4)
                yield Step(kind, str(name), round(start - began, 4), seconds)
