"""A circuit breaker: after several failures in a row, leave the failing party alone for a while."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass


@dataclass(eq=False)
class CircuitBreaker:
    """Closed, open, half-open: once open, one call at a time may probe after the recovery time.

    Counts calls, however many attempts each makes. Safe to use from several threads.
    """

    threshold: int
    recovery_seconds: float
    _: KW_ONLY
    is_failure: Callable[[Exception], bool]
    refusal: Callable[[float], Exception]
    """Makes the error for a refused call from the seconds left to wait."""
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._opened_at: float | None = None
        self._probing = False

    @property
    def is_open(self) -> bool:
        """Whether calls are refused or only probed now."""
        return self._opened_at is not None

    @contextmanager
    def call(self) -> Iterator[None]:
        """Guard one call; an error that ``is_failure`` rejects leaves the count alone."""
        with self._lock:
            is_probe = self._opened_at is not None
            if self._opened_at is not None:
                left = self._opened_at + self.recovery_seconds - self.clock()
                if left > 0 or self._probing:
                    raise self.refusal(max(left, 0.0))
                self._probing = True
        failed: bool | None = None
        try:
            yield
            failed = False
        except Exception as error:  # of foreign code; judged, and raised again
            failed = True if self.is_failure(error) else None
            raise
        finally:
            with self._lock:
                if is_probe:
                    self._probing = False
                if failed is not None:
                    self._failures = self._failures + 1 if failed else 0
                    is_over = self._failures >= self.threshold
                    self._opened_at = self.clock() if is_over else None
