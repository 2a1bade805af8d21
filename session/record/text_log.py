"""The episode for reading: header, turns and end in full, and what was logged between them.

Tool calls and problems are lines such as ``[INFO] Turn 15 Iteration 1: Agent calling tool ...``.
"""

import io
import logging
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from mcp_ghost.cli.screen import Screen
from mcp_ghost.files import open_regular
from mcp_ghost.redact import Redactor
from mcp_ghost.text import harmless
from session.events import event_fields
from session.game_state import FailedTurn
from session.record.display import EpisodeDisplay
from session.record.event_log import entry_of
from session.record.schema import LoggedEvent
from session.record.summary import LOG_FILE, StorySoFar

_NOT_FOR_READING = {"model_call", "mcp_iteration_start"}


class EpisodeLog(logging.FileHandler):
    """A logging handler that appends what a person wants to read."""

    def __init__(self, folder: Path, secrets: Iterable[str] = ()) -> None:
        super().__init__(folder / LOG_FILE, encoding="utf-8", errors="backslashreplace")
        self._redactor = Redactor(secrets)
        self._text = io.StringIO()
        self._so_far = StorySoFar(folder)
        screen = Screen(Console(file=self._text, color_system=None, width=100), live=False)
        self._display = EpisodeDisplay(screen, self._so_far, whole=True)

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        file = open_regular(Path(self.baseFilename), flags)
        return open(file, "a", encoding=self.encoding, errors=self.errors)  # noqa: PTH123

    def filter(self, record: logging.LogRecord) -> bool:
        """Leave out progress, and what says nothing to a reader but is whole in the event log."""
        fields = event_fields(record)
        return fields.get("event_type") not in _NOT_FOR_READING and "progress" not in fields

    def format(self, record: logging.LogRecord) -> str:
        """Draw the record for reading, without any key, harmless to the terminal that shows it."""
        fields, drawn = event_fields(record), ""
        begins_turn = fields.get("event_type") == "turn_start"
        if entry := entry_of(record):
            self._so_far.take(entry)
            if begins_turn or not isinstance(entry.event, LoggedEvent | FailedTurn):
                self._text.seek(0)
                self._text.truncate()
                self._display.show(entry)
                drawn = "\n" * begins_turn + self._text.getvalue().rstrip("\n")
        if not drawn:
            iteration = f" Iteration {fields['iteration']}" if fields.get("iteration") else ""
            place = f"Turn {fields['turn']}{iteration}: " if fields.get("turn") else ""
            message = record.getMessage().replace("\n", "\n    ")
            drawn = harmless(f"[{record.levelname}] {place}{message}")
        return self._redactor(drawn)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name
        """Pass over a full disk: it costs only lines for reading, and the event log complains."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)

    def close(self) -> None:
        """Close the file; what did not fit on the disk is left out."""
        with suppress(OSError):
            super().close()
