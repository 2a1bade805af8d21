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
        return self._redactor(self._drawn(record) or harmless(_line(record)))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name
        """Return a full disk costs only lines for reading; the event log is what complains."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)

    def close(self) -> None:
        """Close the file; what did not fit on the disk is left out."""
        with suppress(OSError):
            super().close()

    def _drawn(self, record: logging.LogRecord) -> str:
        """Return what is not a line: the steps of the episode."""
        entry = entry_of(record)
        if entry is None:
            return ""
        self._so_far.take(entry)
        if isinstance(entry.event, LoggedEvent | FailedTurn) and not _begins_turn(record):
            return ""
        self._text.seek(0)
        self._text.truncate()
        self._display.show(entry)
        return "\n" * _begins_turn(record) + self._text.getvalue().rstrip("\n")


def _begins_turn(record: logging.LogRecord) -> bool:
    return event_fields(record).get("event_type") == "turn_start"


def _line(record: logging.LogRecord) -> str:
    fields = event_fields(record)
    place = ""
    if fields.get("turn"):
        place = f"Turn {fields['turn']}"
        if fields.get("iteration"):
            place += f" Iteration {fields['iteration']}"
        place += ": "
    message = record.getMessage().replace("\n", "\n    ")
    return f"[{record.levelname}] {place}{message}"
