"""Events: log records with an ``event_type`` and fields, stamped with their episode and turn."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_context: ContextVar[Mapping[str, object]] = ContextVar(
    "event_context", default=MappingProxyType({})
)
_RECORD_ATTRIBUTES = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}


@contextmanager
def event_context(**fields: object) -> Iterator[None]:
    """Add ``fields`` (episode_id, turn, iteration) to every event logged inside.

    The context follows ``asyncio.run`` and ``asyncio.to_thread``.
    """
    token = _context.set({**_context.get(), **fields})
    try:
        yield
    finally:
        _context.reset(token)


def current_turn() -> int | None:
    """The turn of the surrounding event context."""
    turn = _context.get().get("turn")
    return turn if isinstance(turn, int) else None


def log_event(
    logger: logging.Logger, level: int, message: str, event_type: str, **fields: object
) -> None:
    """Log ``message`` with the event's fields as attributes of the record."""
    if logger.isEnabledFor(level):
        logger.log(level, message, extra={"event_type": event_type, **_context.get(), **fields})


def log_line(logger: logging.Logger, level: int, message: str) -> None:
    """Log ``message`` for reading only: it is no event and not in the JSON log."""
    if logger.isEnabledFor(level):
        logger.log(level, message, extra=dict(_context.get()))


def event_fields(record: logging.LogRecord) -> dict[str, object]:
    """The fields that were logged with ``record``, ``event_type`` included."""
    return {key: value for key, value in record.__dict__.items() if key not in _RECORD_ATTRIBUTES}
