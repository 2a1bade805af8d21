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
    """Shows runs on a screen, and writes each reply to ``output`` as it comes."""

    def __init__(self, screen: Screen, output: TextIO | None, *, quiet: bool) -> None:
        """``quiet``: only replies are shown."""
        self.screen = screen
        self._output = output
        self._quiet = quiet
        self._has_begun = False
        self._typed, self._latest = "", ""
        """What was written of the reply that is coming, and of the one before."""

    def show(self, event: Mapping[str, Any]) -> None:
        """Write or draw ``event``, for ``on_event``; ignore an unknown one."""
        match event["type"]:
            case "text" if self._output:
                self.screen.idle()
                self._typed += event["text"]
                print(harmless(event["text"]), end="", file=self._output, flush=True)
            case "reply_restart" if self._typed:
                print("\n[the connection broke; the reply starts over]", file=self._output)
                self._typed = ""
            case "model_reply" if self._typed:
                print(file=self._output, flush=True)
                self._latest, self._typed = self._typed, ""
            case kind if not self._quiet:
                self._draw(kind, event)

    def has_shown(self, answer: object) -> bool:
        """Whether ``answer`` is what was written last."""
        if self._output is None or not isinstance(answer, str):
            return False
        return answer.strip() == self._latest.strip()

    def _draw(self, kind: str, event: Mapping[str, Any]) -> None:
        if kind in _NOTICES:
            self.screen.text(one_line(_NOTICES[kind].format_map(event)), "yellow", mark="!")
        # "server_failed" is left out: the engine's warning reports it, in full.
        match kind:
            case "run_start":
                asked = " ".join(str(event[key]) for key in ("provider", "model") if event.get(key))
                if not self._has_begun:  # a chat has many runs
                    self.screen.heading("mcp_ghost", asked)
                self._has_begun = True
                self.screen.progress("Servers are starting")
            case "server_connected":
                parts = [(one_line(event["server"], 60), "green"), ("connected", "")]
                self.screen.parts(parts, mark="✓", style="green")
            case "model_reply" if event["content"] and event["tool_calls"]:
                self.screen.text(one_line(event["content"]), "dim italic", mark="…")
            case "tool_call":
                self.screen.busy(f"{event['tool_name']} {_arguments(event['arguments'])}")
            case "tool_progress":
                of_all = "" if event["total"] is None else f" of {event['total']:g}"
                done = event["message"] or f"{event['progress']:g}{of_all}"
                self.screen.busy(f"{event['tool_name']} {done}")
            case "tool_result":
                is_good = event["success"]
                mark, style = ("✓", "green") if is_good else ("✗", "red")
                more = _arguments(event["arguments"]) if is_good else one_line(event["error"])
                parts = [(one_line(event["tool_name"], 60), style)]
                parts += [(duration(event["execution_time"]), ""), (more, "dim")]
                self.screen.parts(parts, mark=mark, style=style)
            case "run_end":
                self.screen.idle()
        if kind in _NOTICES or kind in ("server_connected", "tool_result"):
            self.screen.busy("The model thinks …")

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While the block runs, warnings are shown too if not ``quiet``, and something moves."""
        handler = Warnings(lambda text: self.screen.text(text, "yellow", mark="!"))
        logger = logging.getLogger("mcp_ghost")
        if not self._quiet:
            logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            self.screen.idle()

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
        self.screen.parts(parts, mark="✓" if result["success"] else "✗")


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
