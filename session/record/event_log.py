"""The append-only record of an episode: one JSON object a line, the single source of truth.

A finished turn is one line that is on the disk before the next turn begins, engine snapshot
included. So a crash at any instant costs at most the turn that was not finished yet.
"""

import fcntl
import json
import logging
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcp_ghost.files import open_regular
from mcp_ghost.redact import Redactor
from session.events import event_fields
from session.record.request_deltas import GrowingText, RequestDeltas
from session.record.schema import STEPS, Entry, fields_of, parse

EVENTS_FILE = "events.jsonl"
NOT_BEGUN = "the episode has not begun"


class EpisodeLockedError(RuntimeError):
    """Raised when another process is writing this episode."""


class EpisodeDamagedError(ValueError):
    """Raised when an episode's log cannot be read; the message says how to save what can be."""


def damaged(folder: Path, number: int, why: str = "") -> EpisodeDamagedError:
    """Return the error for line ``number``, counted from 1, of the episode in ``folder``."""
    reason = f" ({why})" if why else ""
    rescue = "To continue from the turn before it, delete that line and all after it."
    if number == 1 or why == NOT_BEGUN:
        rescue = "Without its beginning, the episode cannot be continued or replayed."
    return EpisodeDamagedError(
        f"Line {number} of {folder / EVENTS_FILE} is damaged{reason}. {rescue}"
    )


class EpisodeNotKeptError(RuntimeError):
    """Raised when a step of the episode cannot be written; it then does not count as played."""


class EventLog(logging.Handler):
    """A logging handler that appends every event; others and plain records pass by."""

    def __init__(self, folder: Path, secrets: Iterable[str] = ()) -> None:
        super().__init__(logging.DEBUG)
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / EVENTS_FILE
        self._redactor = Redactor(secrets)
        self._file = open_regular(self.path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise EpisodeLockedError(f"{folder} is being played by another process.") from error
        self._requests = RequestDeltas()
        self._texts: dict[str, GrowingText] = defaultdict(GrowingText)
        self._clean: dict[str, bool] = {}
        """Whether there was nothing to blank out in the latest request of each role."""
        length = 0
        with open(self._file, "rb", closefd=False) as file:
            for line in file:
                if line.endswith(b"\n"):
                    length += len(line)
                    with suppress(ValueError):  # reading will report it
                        if b'"event_type": "model_call"' in line:
                            parse(fields_of(line), self._requests)
        os.ftruncate(self._file, length)  # without a line that was cut off
        os.lseek(self._file, 0, os.SEEK_END)

    def emit(self, record: logging.LogRecord) -> None:
        """Append the event; one that ends a step of the episode is synced to the disk."""
        fields = event_fields(record)
        if "event_type" not in fields or self._file < 0:
            return
        try:
            self._append({**_head(record), **fields})
            if fields["event_type"] in STEPS:
                os.fsync(self._file)
        except OSError as error:
            # Losing any other event is no reason to stop; the next durable one will say so.
            if fields["event_type"] in STEPS:
                raise EpisodeNotKeptError(
                    f"Cannot write {self.path} ({error.strerror}). What was played before is kept: "
                    f"free some space there, then continue with --resume {self.path.parent.name}."
                ) from error

    def _append(self, event: dict[str, Any]) -> None:
        if event["event_type"] != "model_call":
            self._write(self._line(event))
            return
        role = str(event["role"])
        request = self._requests.split(role, self._texts[role](event["request"]))
        known = request.begin if self._clean.get(role) else 0
        is_clean = self._redactor.finds_nothing(request.text, known)
        if not is_clean:
            request = self._requests.split(role, self._redactor(request.text))
        self._write(self._line({**event, "request": self._requests.delta(role, request)}))
        self._requests.keep(role, request)
        self._clean[role] = is_clean

    def _line(self, event: dict[str, Any]) -> bytes:
        line = self._redactor(json.dumps(event, ensure_ascii=False, default=str))
        return (line + "\n").encode(errors="backslashreplace")

    def _write(self, data: bytes) -> None:
        begin = os.lseek(self._file, 0, os.SEEK_CUR)
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError:
            os.ftruncate(self._file, begin)  # half a line would spoil the next one
            os.lseek(self._file, begin, os.SEEK_SET)
            raise

    def close(self) -> None:
        """Release the file and its lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        super().close()


def entry_of(record: logging.LogRecord) -> Entry | None:
    """Return the event logged with ``record``, as its line would be read; None for other records.

    Raises:
        ValueError: It is not what its type says.
    """
    fields = event_fields(record)
    return parse({**_head(record), **fields}) if "event_type" in fields else None


def read(folder: Path) -> Iterator[Entry]:
    """Yield what is in the log of the episode in ``folder``; a line cut off by a crash is left out.

    Raises:
        EpisodeDamagedError: A line cannot be read.
    """
    requests = RequestDeltas()
    with os.fdopen(open_regular(folder / EVENTS_FILE), "rb") as file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                try:
                    yield parse(fields_of(line), requests)
                except ValueError as error:
                    raise damaged(folder, number) from error


def _head(record: logging.LogRecord) -> dict[str, object]:
    return {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname,
        "message": record.getMessage(),
    }
