"""An event log by offset: each line is read once, and only what was appended since the last look.

Nothing is written, and nothing is locked for longer than it takes to see whether anybody plays.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mcp_ghost.files import open_regular
from session.record.schema import Entry, fields_of, parse

_REMEMBERED = 64
"""Bytes before the position, which tell a rewritten file from one that grew."""


class Span(NamedTuple):
    """Where a line stands in the log."""

    offset: int
    length: int


class Line(NamedTuple):
    """One finished line of the log."""

    number: int
    """Counted from 1."""
    span: Span
    entry: Entry | None
    """None where the line is damaged."""


class LogReplacedError(Exception):
    """Raised when the log is no longer the one that was read: everything must be read again."""


class LogIndex:
    """Reads one event log, further with every look."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position = 0
        self._lines = 0
        self._before = b""
        """The last bytes that were read."""
        self.state: tuple[int, ...] = ()
        """The file's (device, inode, size, time) at the last look."""

    def has_news(self) -> bool:
        """Tell whether the file differs from the last look; as cheap as it gets."""
        return self.present_state() != self.state

    def present_state(self) -> tuple[int, ...]:
        """Return what `state` would be after a look now.

        Raises:
            OSError: The file cannot be seen.
        """
        return _state(self.path.stat())

    def read_new(self) -> Iterator[Line]:
        """Yield the lines finished since the last look; one that is still being written waits.

        Raises:
            LogReplacedError: The file was replaced, cut or rewritten.
            OSError: It cannot be read.
        """
        with os.fdopen(open_regular(self.path), "rb") as file:
            state = _state(os.fstat(file.fileno()))
            file.seek(self._position - len(self._before))
            replaced = self.state[:2] not in ((), state[:2])
            if replaced or file.read(len(self._before)) != self._before:
                raise LogReplacedError
            for raw in file:
                if not raw.endswith(b"\n"):
                    break
                span = Span(self._position, len(raw))
                self._position += len(raw)
                self._lines += 1
                self._before = (self._before + raw[-_REMEMBERED:])[-_REMEMBERED:]
                yield Line(self._lines, span, _parsed(raw))
            self.state = state

    def read(self, span: Span) -> Entry | None:
        """Return what is at ``span``; None if it is gone."""
        return _parsed(self._raw(span))

    def text(self, span: Span) -> str:
        """Return the line at ``span`` as it was written."""
        return self._raw(span).decode(errors="replace")

    def _raw(self, span: Span) -> bytes:
        with os.fdopen(open_regular(self.path), "rb") as file:
            return os.pread(file.fileno(), span.length, span.offset)


def is_being_written(path: Path) -> bool:
    """Tell whether a process holds the log's lock, as the one that plays the episode does."""
    with suppress(OSError):
        file = open_regular(path)
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)  # and with it the lock
    return False


def _state(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _parsed(raw: bytes) -> Entry | None:
    with suppress(ValueError):
        return parse(fields_of(raw))
    return None
