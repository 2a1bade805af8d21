"""The live view of a run: draws its events, and what the engine logs as a warning."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from mcp_ghost.results import as_text
from mcp_ghost.text import counted, duration, harmless, one_line, tokens

if TYPE_CHECKING:
    from mcp_ghost.cli.screen import Screen

_SHOWN = 120
"""Characters of a call's arguments, and of an error."""
_NOTICES = {
    "retry": "trying {tool_name} again (retry {retry_attempt})",
    "backtrack": "{tool_name} failed: asking for another way",
    "breaker_open": "{tool_name} keeps failing: turned off for this run",
    "loop": "{tool_name} kept giving the same result: not executed again",
    "tools_changed": "{server} has changed its tools ({tools})",
    "compaction": "the conversation is long: summarising older turns",
}
"""What is said of an event, in the words of its fields."""


class RunView:
    """Shows one run on a screen; ``show`` is for ``on_event``."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._has_begun = False

    def show(self, event: Mapping[str, Any]) -> None:
        """Draw ``event``; ignore an unknown one."""
        kind = event["type"]
        if kind in _NOTICES:
            self._screen.text(one_line(_NOTICES[kind].format_map(event)), "yellow", mark="!")
        # "server_failed" is left out: the engine's warning reports it, in full.
        match kind:
            case "run_start":
                asked = " ".join(str(event[key]) for key in ("provider", "model") if event.get(key))
                if not self._has_begun:  # a chat has many runs
                    self._screen.heading("mcp_ghost", asked)
                self._has_begun = True
                self._screen.progress("Servers are starting")
            case "server_connected":
                parts = [(one_line(event["server"], 60), "green"), ("connected", "")]
                self._screen.parts(parts, mark="✓", style="green")
            case "model_reply" if event["content"] and event["tool_calls"]:
                self._screen.text(one_line(event["content"]), "dim italic", mark="…")
            case "tool_call":
                self._screen.busy(f"{event['tool_name']} {_arguments(event['arguments'])}")
            case "tool_progress":
                of_all = "" if event["total"] is None else f" of {event['total']:g}"
                done = event["message"] or f"{event['progress']:g}{of_all}"
                self._screen.busy(f"{event['tool_name']} {done}")
            case "tool_result":
                is_good = event["success"]
                mark, style = ("✓", "green") if is_good else ("✗", "red")
                more = _arguments(event["arguments"]) if is_good else one_line(event["error"])
                parts = [(one_line(event["tool_name"], 60), style)]
                parts += [(duration(event["execution_time"]), ""), (more, "dim")]
                self._screen.parts([part for part in parts if part[0]], mark=mark, style=style)
            case "run_end":
                self._screen.idle()
        if kind in _NOTICES or kind in ("server_connected", "tool_result"):
            self._screen.busy("The model thinks …")

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While the block runs, warnings are shown too, and something moves."""
        handler = Warnings(lambda text: self._screen.text(text, "yellow", mark="!"))
        logger = logging.getLogger("mcp_ghost")
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            self._screen.idle()

    def summary(self, result: dict[str, Any]) -> None:
        """The figures of a run that is over."""
        metadata, calls = result["execution_metadata"], len(result["tool_chain"])
        usage = metadata["token_usage"]
        failed = sum(not call["success"] for call in result["tool_chain"])
        parts = [
            ("success", "bold green") if result["success"] else ("failed", "bold red"),
            (counted(calls, "call") + (f" ({failed} failed)" if failed else ""), ""),
            (tokens(usage["prompt_tokens"], 0, usage["completion_tokens"]), ""),
            (duration(metadata["total_execution_time"]), ""),
        ]
        self._screen.parts(parts, mark="✓" if result["success"] else "✗")


class Warnings(logging.Handler):
    """Gives each warning to ``show``, on one line."""

    def __init__(self, show: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        """See :class:`logging.Handler`."""
        self._show(one_line(record.getMessage()))


def _arguments(arguments: dict[str, Any]) -> str:
    shown = (f"{key}: {as_text(value)}" for key, value in arguments.items())
    return one_line(", ".join(shown), _SHOWN)


class Typist:
    """Writes the text of each reply to ``output`` as it comes; told of every event of a run."""

    def __init__(self, output: TextIO, screen: Screen) -> None:
        self._output = output
        self._screen = screen
        self._typed = ""
        self._latest = ""

    def has_shown(self, answer: object) -> bool:
        """Whether ``answer`` is what was written last."""
        return isinstance(answer, str) and answer.strip() == self._latest.strip()

    def hear(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Write what ``event`` says; returns what of it is left for others to show."""
        match event["type"]:
            case "text":
                self._screen.idle()
                self._typed += event["text"]
                self._output.write(harmless(event["text"]))
                self._output.flush()
            case "reply_restart" if self._typed:
                self._output.write("\n[the connection broke; the reply starts over]\n")
                self._typed = ""
            case "model_reply" if self._typed:
                self._output.write("\n")
                self._output.flush()
                self._latest, self._typed = self._typed, ""
                return {**event, "content": ""}
        return event
