"""The live view of an episode: a logging handler that draws the episode's events."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_ghost.text import counted, dollars, duration, one_line, tokens
from session.events import event_fields
from terminal.summary import show_header, show_summary

if TYPE_CHECKING:
    from mcp_ghost.screen import Screen
    from terminal.story_so_far import StorySoFar

Event: TypeAlias = dict[str, Any]
_THINKING, _ARGUMENTS = 300, 120
"""Characters shown of the model's thoughts, and of a call's arguments."""


class EpisodeView(logging.Handler):
    """Shows one episode on a screen."""

    def __init__(self, screen: Screen, so_far: StorySoFar) -> None:
        super().__init__(logging.DEBUG)
        self._screen = screen
        self._so_far = so_far
        self._call = ""
        """The arguments of the tool call under way."""
        self._failed_after: float | None = None
        """Milliseconds of a call whose error is still to come."""
        self._draw: dict[str, Callable[[Event], None]] = {
            "notice": self._notice,
            "episode_start": self._start,
            "episode_resumed": self._start,
            "turn_start": self._turn_start,
            "mcp_session_start": self._thinking,
            "mcp_iteration_start": self._thinking,
            "mcp_tool_call": self._tool_call,
            "mcp_tool_result": self._tool_result,
            "mcp_tool_error": self._tool_error,
            "mcp_tool_timeout": self._tool_timeout,
            "mcp_disabled_fallback": self._warning,
            "tracing_failed": self._warning,
            "tracing_off": self._warning,
            "llm_retry": self._retry,
            "agent_action": self._action,
            "turn": self._turn,
            "knowledge_loaded": self._knowledge,
            "reflection": self._reflection,
            "storage_failed": self._warning,
            "critic_failed": self._warning,
            "episode_end": self._end,
        }

    def emit(self, record: logging.LogRecord) -> None:
        """Draw the event; whatever happens here, the game goes on."""
        if self._so_far.end:
            return  # the thread of a request that was cut off may still complain
        event: Event = {"message": record.getMessage(), **event_fields(record)}
        try:
            self._so_far.take(event)
            if "event_type" in event:
                self._draw.get(event["event_type"], _ignore)(event)
            elif record.levelno >= logging.INFO:
                self._notice(event)
        except OSError:
            self._screen.abandon()  # such as a terminal that was closed
        except Exception:  # noqa: BLE001  the standard library's rule for handlers
            self.handleError(record)

    def close(self) -> None:
        """Take the status line away."""
        self._screen.idle()
        super().close()

    def _notice(self, event: Event) -> None:
        self._screen.text(event["message"], "yellow", mark="·")

    def _warning(self, event: Event) -> None:
        self._screen.text(one_line(event["message"]), "yellow", mark="!")

    def _start(self, event: Event) -> None:
        show_header(self._screen, self._so_far)
        if event["event_type"] == "episode_resumed":
            self._screen.text(event["message"], "yellow", mark="·")
        else:
            self._screen.text("")
            self._screen.text(event.get("opening", ""))
        self._screen.text("")

    def _turn_start(self, event: Event) -> None:
        so_far = self._so_far
        place = f" · {so_far.place}" if so_far.place else ""
        self._screen.heading(f"Turn {so_far.turn}{place}", so_far.score_line)
        self._thinking(event)

    def _thinking(self, event: Event) -> None:
        self._screen.busy(f"Turn {event.get('turn', '?')}: the model thinks …")

    def _tool_call(self, event: Event) -> None:
        self._call = _arguments(event.get("arguments"))
        self._screen.busy(f"Turn {event.get('turn', '?')}: {event['tool_name']} …")

    def _tool_result(self, event: Event) -> None:
        if event.get("is_error"):
            self._failed_after = event.get("duration_ms")
            return
        self._tool_line(event, "✓", "green", self._call)

    def _tool_error(self, event: Event) -> None:
        failed_after, self._failed_after = self._failed_after, None
        self._tool_line({"duration_ms": failed_after, **event}, "✗", "red", str(event["error"]))

    def _tool_timeout(self, event: Event) -> None:
        self._tool_line(event, "✗", "red", "no answer in time")

    def _tool_line(self, event: Event, mark: str, style: str, more: str) -> None:
        took = event.get("duration_ms")
        parts = [
            (one_line(event["tool_name"], 60), style),
            ("" if took is None else duration(took / 1000), ""),
            (more, "dim"),
        ]
        self._screen.parts([part for part in parts if part[0]], mark=mark, style=style)
        self._thinking(event)

    def _retry(self, event: Event) -> None:
        self._warning(event)
        self._screen.busy("Waiting before the model is asked again …")

    def _action(self, event: Event) -> None:
        self._screen.busy(f"> {event.get('action', '')}")

    def _turn(self, event: Event) -> None:
        self._screen.idle()
        if event.get("failure"):
            self._screen.text(one_line(event["thinking"], _THINKING), "red", mark="!")
        elif event["thinking"]:
            self._screen.text(one_line(event["thinking"], _THINKING), "dim italic", mark="…")
        if event.get("new_objective"):
            self._screen.text(one_line(f"Objective: {event['new_objective']}"), "dim italic")
        for refused in event.get("refused", ()):
            line = one_line(f"{refused['command']}: {refused['reason']}", _THINKING)
            self._screen.text(line, "red", mark="✗")
        self._screen.text(one_line(event["command"]), "bold yellow", mark=">")
        self._screen.text(event["response"])
        self._screen.parts([*_outcome(event), (_cost(event), "dim")])

    def _knowledge(self, event: Event) -> None:
        carried = event["carried"]
        kinds = ("memories", "claims", "passages")
        known = [f"{len(carried[kind])} {kind}" for kind in kinds if carried[kind]]
        if known:
            earlier = counted(carried["episodes"], "earlier episode")
            self._screen.text(f"From {earlier}: {', '.join(known)}.", "yellow", mark="·")

    def _reflection(self, event: Event) -> None:
        self._screen.idle()
        learned = [f"{it['room']['name']}: {it['text']}" for it in event["memories"]]
        learned += [it["text"] for it in (*event["objectives"], *event["claims"])]
        style = "yellow" if event.get("failure") else "magenta"
        self._screen.text(one_line(event["message"], _THINKING), style, mark="*")
        for text in learned:
            self._screen.text(one_line(text, _THINKING), "dim")

    def _end(self, _event: Event) -> None:
        self._screen.idle()
        if self._so_far.start:
            show_summary(self._screen, self._so_far)


def _ignore(_event: Event) -> None:
    """Not for the screen."""


def _arguments(arguments: object) -> str:
    if not isinstance(arguments, dict):
        return one_line(arguments or "", _ARGUMENTS)
    return one_line(", ".join(f"{key}: {it}" for key, it in arguments.items()), _ARGUMENTS)


def _outcome(event: Event) -> list[tuple[str, str]]:
    """What the turn changed, each with its style."""
    scored, after = event.get("scored", 0), event["after"]["score"]
    outcome = []
    if scored:
        style = "bold green" if scored > 0 else "bold red"
        outcome.append(
            (f"{'+' if scored > 0 else '-'}{counted(abs(scored), 'point')}, now {after}", style)
        )
    if event.get("died"):
        outcome.append(("died", "bold red"))
    if event.get("won"):
        outcome.append(("won", "bold green"))
    return outcome


def _cost(event: Event) -> str:
    """What the turn took."""
    usage = event.get("usage", {})
    took = []
    if usage.get("prompt_tokens"):
        took.append(
            tokens(
                usage["prompt_tokens"], usage.get("cached_tokens", 0), usage["completion_tokens"]
            )
        )
    if usage.get("cost"):
        took.append(dollars(usage["cost"]))
    return " · ".join([*took, duration(event["seconds"])])
