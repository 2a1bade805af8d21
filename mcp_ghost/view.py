"""The live view of a run: draws its events, and what the engine logs as a warning."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_ghost.text import counted, duration, one_line, tokens

if TYPE_CHECKING:
    from mcp_ghost.screen import Screen

Event: TypeAlias = dict[str, Any]
_SHOWN = 120
"""Characters of a call's arguments, and of an error."""


class RunView:
    """Shows one run on a screen; ``show`` is for ``on_event``."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        # A server that failed is told by the engine's warning, in full.
        self._draw: dict[str, Callable[[Event], None]] = {
            "run_start": self._start,
            "server_connected": self._connected,
            "model_reply": self._reply,
            "tool_call": self._call,
            "tool_result": self._result,
            "retry": self._retry,
            "backtrack": self._backtrack,
            "breaker_open": self._breaker_open,
            "loop": self._loop,
            "compaction": self._compaction,
            "run_end": self._end,
        }

    def show(self, event: Event) -> None:
        """Draw ``event``; an unknown one is no matter."""
        draw = self._draw.get(event["type"])
        if draw is not None:
            draw(event)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While the block runs, warnings are shown too, and something moves."""
        handler = _Warnings(self._screen)
        logger = logging.getLogger("mcp_ghost")
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            self._screen.idle()

    def summary(self, result: Event) -> None:
        """The figures of a run that is over."""
        metadata = result["execution_metadata"]
        usage = metadata["token_usage"]
        calls = len(result["tool_chain"])
        failed = sum(not call["success"] for call in result["tool_chain"])
        parts = [
            ("success", "bold green") if result["success"] else ("no success", "bold red"),
            (counted(calls, "call") + (f" ({failed} failed)" if failed else ""), ""),
            (tokens(usage["prompt_tokens"], 0, usage["completion_tokens"]), ""),
            (duration(metadata["total_execution_time"]), ""),
        ]
        self._screen.parts(parts, mark="✓" if result["success"] else "✗")

    def _start(self, event: Event) -> None:
        asked = " ".join(str(event[key]) for key in ("provider", "model") if event.get(key))
        self._screen.heading("mcp_ghost", asked)
        self._screen.busy("Servers are starting …")

    def _connected(self, event: Event) -> None:
        parts = [(one_line(event["server"], 60), "green"), ("connected", "")]
        self._screen.parts(parts, mark="✓", style="green")
        self._think()

    def _reply(self, event: Event) -> None:
        if event["content"] and event["tool_calls"]:
            self._screen.text(one_line(event["content"]), "dim italic", mark="…")

    def _call(self, event: Event) -> None:
        self._screen.busy(f"{event['tool_name']} {_arguments(event['arguments'])}")

    def _result(self, event: Event) -> None:
        if event["success"]:
            mark, style, more = "✓", "green", _arguments(event["arguments"])
        else:
            mark, style, more = "✗", "red", one_line(event["error"])
        parts = [(one_line(event["tool_name"], 60), style)]
        parts += [(duration(event["execution_time"]), ""), (more, "dim")]
        self._screen.parts([part for part in parts if part[0]], mark=mark, style=style)
        self._think()

    def _retry(self, event: Event) -> None:
        self._notice(f"trying {event['tool_name']} again (attempt {event['retry_attempt'] + 1})")

    def _backtrack(self, event: Event) -> None:
        self._notice(f"{event['tool_name']} failed: another way is asked for")

    def _breaker_open(self, event: Event) -> None:
        self._notice(f"{event['tool_name']} fails again and again: switched off for this run")

    def _loop(self, event: Event) -> None:
        self._notice(f"{event['tool_name']} was called with the same result again: not executed")

    def _compaction(self, _event: Event) -> None:
        self._notice("the conversation is long: older turns are summarised")

    def _end(self, _event: Event) -> None:
        self._screen.idle()

    def _notice(self, text: str) -> None:
        self._screen.text(one_line(text), "yellow", mark="!")
        self._think()

    def _think(self) -> None:
        self._screen.busy("The model thinks …")


class _Warnings(logging.Handler):
    def __init__(self, screen: Screen) -> None:
        super().__init__(logging.WARNING)
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        self._screen.text(one_line(record.getMessage()), "yellow", mark="!")


def _arguments(arguments: dict[str, Any]) -> str:
    shown = (f"{key}: {_value(value)}" for key, value in arguments.items())
    return one_line(", ".join(shown), _SHOWN)


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
