"""The model's words on the terminal while it says them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from mcp_ghost.text import harmless

if TYPE_CHECKING:
    from mcp_ghost.cli.screen import Screen
    from mcp_ghost.cli.view import RunView


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

    def hear(self, event: Mapping[str, Any]) -> dict[str, Any]:
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
        return dict(event)


def watched_by(view: RunView | None, typist: Typist | None) -> dict[str, Any]:
    """The options by which a run is watched."""
    if typist is None:
        return {"on_event": view.show if view else None}
    show = view.show if view else lambda _: None
    return {"stream": True, "on_event": lambda event: show(typist.hear(event))}
