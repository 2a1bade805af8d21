"""Events: log records with an ``event_type`` and fields, stamped with their episode and turn."""

import logging
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

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
        with suppress(ValueError):  # a coroutine that was given up is closed in another context
            _context.reset(token)


def context_value(name: str) -> object:
    """Return a field of the surrounding event context; None where it has none."""
    return _context.get().get(name)


def current_turn() -> int | None:
    """Return the turn of the surrounding event context."""
    turn = context_value("turn")
    return turn if isinstance(turn, int) else None


def log_event(
    logger: logging.Logger, level: int, message: str, event_type: str, **fields: object
) -> None:
    """Log ``message`` with the event's fields as attributes of the record."""
    if logger.isEnabledFor(level):
        logger.log(level, message, extra={"event_type": event_type, **_context.get(), **fields})


def log_line(logger: logging.Logger, level: int, message: str) -> None:
    """Log ``message`` for reading only: it is not an event, and is not in the JSON log."""
    if logger.isEnabledFor(level):
        logger.log(level, message, extra=dict(_context.get()))


def log_progress(logger: logging.Logger, label: str, share: float | None = None) -> None:
    """Tell whoever watches how far something has come; no log keeps it.

    ``share`` is 1 at the end, and None where nobody can know it.
    """
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug(label, extra={"progress": (label, share)})


class EventLogger(logging.LoggerAdapter[logging.Logger]):
    """``logger`` for those who know nothing of events: their records get the context, too."""

    def process(
        self, msg: object, kwargs: MutableMapping[str, Any]
    ) -> tuple[object, MutableMapping[str, Any]]:
        """Add the surrounding context to the record's fields."""
        return msg, {**kwargs, "extra": {**_context.get(), **(kwargs.get("extra") or {})}}


def event_fields(record: logging.LogRecord) -> dict[str, object]:
    """Return the fields that were logged with ``record``, ``event_type`` included."""
    return {key: value for key, value in record.__dict__.items() if key not in _RECORD_ATTRIBUTES}
