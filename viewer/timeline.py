"""Where the time of each turn went: models, tools and their servers, the game."""

from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from session.game_state import TurnRecord
from session.record.schema import Entry, LoggedEvent


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
        self._turns: dict[int, tuple[Step, ...]] = {}
        self._steps: list[Step] = []
        self._began: float | None = None
        self._decided = 0.0
        self._calls: dict[str, float] = {}

    def take(self, entry: Entry) -> None:
        """Learn from one line; a time or a number that is none is left out."""
        with suppress(ValueError, TypeError, KeyError):
            match entry.event:
                case LoggedEvent("turn_start"):
                    self._began = self._decided = _seconds(entry)
                    self._steps = []
                    self._calls = {}
                case LoggedEvent("model_call", fields):
                    self._add_ended("model", fields["role"], entry, fields["milliseconds"])
                case LoggedEvent("mcp_server_started", fields):
                    self._add_ended("server", fields["server_name"], entry, fields["duration_ms"])
                case LoggedEvent("mcp_tool_call", fields):
                    self._calls[fields["call_id"]] = _seconds(entry)
                case LoggedEvent("mcp_tool_result" | "mcp_tool_error" | "mcp_tool_timeout", fields):
                    start = self._calls.pop(fields["call_id"])
                    self._add("tool", fields["tool_name"], start, _seconds(entry))
                case LoggedEvent("agent_action"):
                    self._decided = _seconds(entry)
                case TurnRecord(turn=turn) if self._began is not None:
                    self._add("game", "", self._decided, _seconds(entry))
                    self._turns[turn] = tuple(sorted(self._steps, key=lambda it: it.start))
                    self._began = None  # what comes before the next turn belongs to neither

    def of_turn(self, turn: int) -> tuple[Step, ...]:
        """Return a turn's steps, by their beginning."""
        return self._turns.get(turn, ())

    def _add_ended(self, kind: str, name: object, entry: Entry, milliseconds: float) -> None:
        end = _seconds(entry)
        self._add(kind, name, end - milliseconds / 1000, end)

    def _add(self, kind: str, name: object, start: float, end: float) -> None:
        if self._began is not None:
            start = max(start, self._began)  # a server may have been started before the turn
            seconds = round(max(0.0, end - start), 4)
            self._steps.append(Step(kind, str(name), round(start - self._began, 4), seconds))


def _seconds(entry: Entry) -> float:
    return datetime.fromisoformat(entry.time).timestamp()
