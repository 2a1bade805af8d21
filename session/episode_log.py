"""The episode for reading: ``[INFO] Turn 15 Iteration 1: Agent calling tool ...``."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from pathlib import Path

from session.events import event_fields

LOG_FILE = "episode.log"


class EpisodeLog(logging.FileHandler):
    """A logging handler that appends readable lines."""

    def __init__(self, folder: Path, secrets: tuple[str, ...] = ()) -> None:
        super().__init__(folder / LOG_FILE, encoding="utf-8", errors="backslashreplace")
        self.setFormatter(_TurnFormatter())
        self._secrets = [secret for secret in secrets if secret]

    def format(self, record: logging.LogRecord) -> str:
        """The line, without any key."""
        line = super().format(record)
        for secret in self._secrets:
            line = line.replace(secret, "[redacted]")
        return line

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name
        """A full disk costs lines for reading only; the event log is the one to complain."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)

    def close(self) -> None:
        """Close the file; what did not fit on the disk is left out."""
        with suppress(OSError):
            super().close()


class _TurnFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = event_fields(record)
        place = ""
        if fields.get("turn"):
            place = f"Turn {fields['turn']}"
            if fields.get("iteration"):
                place += f" Iteration {fields['iteration']}"
            place += ": "
        message = record.getMessage().replace("\n", "\n    ")
        return f"[{record.levelname}] {place}{message}"
