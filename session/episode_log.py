"""The episode for reading: ``[INFO] Turn 15 Iteration 1: Agent calling tool ...``."""

from __future__ import annotations

import logging
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
