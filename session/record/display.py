"""An episode for reading, drawn event by event: on a terminal, in its text log, by the viewer."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from mcp_ghost.cli.screen import Screen
from mcp_ghost.text import duration, one_line
from session.game_state import FailedTurn, Hint, TurnRecord
from session.knowledge import Reflection
from session.record.schema import (
    Entry,
    EpisodeEnd,
    EpisodeResumed,
    EpisodeStart,
    KnowledgeLoaded,
    LoggedEvent,
)
from session.record.summary import StorySoFar, show_header, show_summary, used

Fields: TypeAlias = Mapping[str, Any]
_THINKING, _ARGUMENTS = 300, 120
"""Characters shown of the model's thoughts, and of a call's arguments."""
_WARNINGS = [
    "mcp_disabled_fallback",
    "mcp_no_tools",
    "mcp_server_restarted",
    "mcp_servers_ignored",
    "tracing_failed",
    "tracing_off",
    "llm_retry",
    "storage_failed",
    "critic_failed",
]


class EpisodeDisplay:
    """Draws an episode on a screen."""

    def __init__(self, screen: Screen, so_far: StorySoFar, *, whole: bool = False) -> None:
        """With ``whole``, thoughts are shown in full, otherwise their beginning."""
        self._screen = screen
        self._so_far = so_far
        self._whole = whole
        self._calls: dict[object, str] = {}
        """The arguments of the calls under way."""
        self._failed_after: float | None = None
        """Milliseconds of a call whose error is still to come."""

    def show(self, entry: Entry) -> None:
        """Draw one event, which the story so far already includes."""
        match entry.event:
            case EpisodeStart() as start:
                show_header(self._screen, self._so_far)
                self._screen.text("")
                self._screen.text(start.opening)
                self._screen.text("")
            case EpisodeResumed():
                show_header(self._screen, self._so_far)
                self.notice({"message": f"Episode continues after turn {self._so_far.turns}"})
                self._screen.text("")
            case KnowledgeLoaded() as known:
                if headline := known.carried.headline:
                    self._screen.text(f"{headline}.", "yellow", mark="·")
            case TurnRecord() as record:
                self._turn(record)
            case FailedTurn() as failed:
                text = one_line(f"Not played: {failed.failure}", _THINKING)
                self._screen.text(text, "red", mark="!")
                self._screen.text(_cost(failed), "dim")
            case Reflection() as reflection:
                self._reflection(reflection)
            case Hint() as hint:
                said = f"Hint for turn {hint.turn}, by the person watching: {hint.text}"
                self._screen.text(one_line(said), "bold magenta", mark="?")
            case EpisodeEnd():
                show_summary(self._screen, self._so_far)
            case LoggedEvent(event_type, fields):
                self._logged(event_type, fields)

    def notice(self, fields: Fields) -> None:
        """Show what a plain log record says."""
        self._screen.text(fields["message"], "yellow", mark="·")

    def _logged(self, event_type: str, fields: Fields) -> None:
        so_far, call = self._so_far, fields.get("call_id")
        match event_type:
            case "notice" | "game_paused":
                self.notice(fields)
            case "turn_start":
                place = f" · {so_far.now.room_name}" if so_far.now else ""
                self._screen.heading(f"Turn {so_far.turn}{place}", so_far.score_line)
            case "mcp_tool_call":
                given = fields.get("arguments") or ""
                if isinstance(given, dict):
                    given = ", ".join(f"{key}: {it}" for key, it in given.items())
                self._calls[call] = one_line(given, _ARGUMENTS)
            case "mcp_tool_result" if fields.get("is_error"):
                self._failed_after = fields.get("duration_ms")
            case "mcp_tool_result":
                self._tool_line(fields, "✓", "green", self._calls.pop(call, ""))
            case "mcp_tool_error":
                self._calls.pop(call, None)
                took, self._failed_after = self._failed_after, None
                self._tool_line({"duration_ms": took, **fields}, "✗", "red", str(fields["error"]))
            case "mcp_tool_timeout":
                self._calls.pop(call, None)
                self._tool_line(fields, "✗", "red", "no answer in time")
            case _ if event_type in _WARNINGS:
                self._screen.text(one_line(fields["message"]), "yellow", mark="!")

    def _tool_line(self, fields: Fields, mark: str, style: str, more: str) -> None:
        took = fields.get("duration_ms")
        parts = [
            (one_line(fields["tool_name"], 60), style),
            ("" if took is None else duration(took / 1000), ""),
            (more, "dim"),
        ]
        self._screen.parts(parts, mark=mark, style=style)

    def _turn(self, record: TurnRecord) -> None:
        thinking = record.thinking if self._whole else one_line(record.thinking, _THINKING)
        if record.failure:
            self._screen.text(thinking, "red", mark="!")
        elif thinking:
            self._screen.text(thinking, "dim italic", mark="…")
        if record.new_objective:
            self._screen.text(one_line(f"Objective: {record.new_objective}"), "dim italic")
        for refused in record.refused:
            line = one_line(f"{refused.command}: {refused.reason}", _THINKING)
            self._screen.text(line, "red", mark="✗")
        self._screen.text(one_line(record.command), "bold yellow", mark=">")
        self._screen.text(record.response)
        outcome = []
        if record.scored:
            style = "bold green" if record.scored > 0 else "bold red"
            outcome.append((record.score_change, style))
        if record.died:
            outcome.append(("died", "bold red"))
        if record.won:
            outcome.append(("won", "bold green"))
        self._screen.parts([*outcome, (_cost(record), "dim")])

    def _reflection(self, reflection: Reflection) -> None:
        learned = [f"{it.room.name}: {it.text}" for it in reflection.memories]
        learned += [it.text for it in reflection.objectives]
        learned += [it.text for it in reflection.claims]
        style = "yellow" if reflection.failure else "magenta"
        self._screen.text(one_line(reflection.headline, _THINKING), style, mark="*")
        for text in learned:
            self._screen.text(one_line(text, _THINKING), "dim")


def _cost(record: TurnRecord | FailedTurn) -> str:
    return " · ".join([*used(record.usage), duration(record.seconds)])
