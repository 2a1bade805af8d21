"""What an episode is doing at the moment, as its latest event has it."""

import time
from contextlib import suppress
from datetime import datetime

from mcp_ghost.results import JSONObject
from session.game_state import Hint
from session.record.schema import Entry, LoggedEvent, ModelCall

_DOING = {
    **dict.fromkeys(("turn_start", "mcp_session_start", "mcp_iteration_start"), "thinking"),
    **dict.fromkeys(("mcp_tool_result", "mcp_tool_error", "mcp_tool_timeout"), "thinking"),
    "mcp_tool_call": "tool",
    "llm_retry": "waiting",
    "agent_action": "",
    "game_paused": "paused",
}


class Present:
    """Takes events in the order of the log."""

    def __init__(self) -> None:
        self.version = 0
        """Counts the changes."""
        self._doing = self._tool = self._since = ""
        self._turn: int | None = None

    def take(self, entry: Entry) -> None:
        """Learn from one line."""
        match entry.event:
            case LoggedEvent(event_type, fields):
                if event_type not in _DOING:
                    return
                self._doing = _DOING[event_type]
                self._tool = str(fields.get("tool_name", "")) if self._doing == "tool" else ""
            case ModelCall() | Hint():
                return
            case _:
                self._doing = self._tool = ""
        self._turn, self._since = entry.turn, entry.time
        self.version += 1

    def json(self) -> JSONObject:
        """As the page gets it; the time is in seconds, as clocks may differ."""
        return {"doing": self._doing, "tool": self._tool, "turn": self._turn, "seconds": self._age}

    @property
    def _age(self) -> float:
        with suppress(ValueError):
            return max(0.0, round(time.time() - datetime.fromisoformat(self._since).timestamp(), 1))
        return 0.0
