"""The append-only record of an episode: one JSON object a line, the single source of truth.

A finished turn is one line that is on the disk before the next turn begins, engine snapshot
included. So a crash at any instant costs at most the turn that was not finished yet.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from session.events import event_fields

EVENTS_FILE = "events.jsonl"
_DURABLE = frozenset(
    {"knowledge_loaded", "episode_start", "episode_resumed", "turn", "reflection", "episode_end"}
)


class EpisodeLockedError(RuntimeError):
    """Raised when another process is writing this episode."""


class EpisodeDamagedError(ValueError):
    """Raised when an episode's log cannot be read; the message says how to save what can be."""


class EpisodeNotKeptError(RuntimeError):
    """Raised when a step of the episode cannot be written; it then does not count as played."""


class EventLog(logging.Handler):
    """A logging handler that appends every event; others and plain records pass by."""

    def __init__(self, folder: Path, secrets: tuple[str, ...] = ()) -> None:
        super().__init__(logging.DEBUG)
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / EVENTS_FILE
        self._secrets = [secret for secret in secrets if secret]
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise EpisodeLockedError(f"{folder} is being played by another process.") from error
        os.ftruncate(self._file, _end_of_last_line(self.path))
        os.lseek(self._file, 0, os.SEEK_END)

    def emit(self, record: logging.LogRecord) -> None:
        """Append the event; one that ends a step of the episode is synced to the disk."""
        fields = event_fields(record)
        if "event_type" not in fields or self._file < 0:
            return
        try:
            self._append({**_head(record), **fields})
            if fields["event_type"] in _DURABLE:
                os.fsync(self._file)
        except OSError as error:
            # The loss of any other event is no reason to stop; the next durable one will tell.
            if fields["event_type"] in _DURABLE:
                raise EpisodeNotKeptError(
                    f"Cannot write {self.path} ({error.strerror}). What was played before is kept: "
                    f"make room there, then go on with --resume {self.path.parent.name}."
                ) from error

    def _append(self, event: dict[str, object]) -> None:
        line = json.dumps(event, ensure_ascii=False, default=str)
        for secret in self._secrets:
            line = line.replace(secret, "[redacted]")
        data = (line + "\n").encode("utf-8", errors="backslashreplace")
        begin = os.lseek(self._file, 0, os.SEEK_CUR)
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError:
            os.ftruncate(self._file, begin)  # half a line would spoil the next one
            os.lseek(self._file, begin, os.SEEK_SET)
            raise

    def close(self) -> None:
        """Give the file and its lock back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        super().close()


def read_events(folder: Path) -> Iterator[dict[str, object]]:
    """The events of the episode in ``folder``; a line cut off by a crash is left out.

    Raises:
        EpisodeDamagedError: A line is no event.
    """
    path = folder / EVENTS_FILE
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                yield _event(line, path, number)


def _event(line: bytes, path: Path, number: int) -> dict[str, object]:
    with suppress(ValueError, RecursionError):
        event = json.loads(line)
        if isinstance(event, dict) and "event_type" in event:
            return event
    raise EpisodeDamagedError(
        f"Line {number} of {path} is damaged. To go on from the turn before it, "
        "delete that line and all after it."
    )


def _head(record: logging.LogRecord) -> dict[str, object]:
    return {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname,
        "message": record.getMessage(),
    }


def _end_of_last_line(path: Path) -> int:
    """The length of ``path`` without a line that a crash left unfinished."""
    data = path.read_bytes()
    return data.rfind(b"\n") + 1
