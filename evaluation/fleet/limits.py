"""Requests a minute and US dollars for a whole evaluation, however many episodes play at once."""

import threading
import time
from collections import deque
from collections.abc import Callable

WINDOW_SECONDS = 61.0
"""A minute, and a second more: not all requests take equally long to arrive."""


class Limits:
    """Says when a request may be sent; safe to be used by several threads."""

    def __init__(
        self,
        requests_per_minute: int | None = None,
        dollars: float | None = None,
        *,
        spent: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``spent`` is what earlier runs of the evaluation cost; None stands for no limit."""
        self.dollars = dollars
        self.spent = spent
        self._sent: deque[float] = deque(maxlen=requests_per_minute or 0)
        self._clock = clock
        self._lock = threading.Lock()

    @property
    def used_up(self) -> bool:
        """Whether no further request may be paid for."""
        return self.dollars is not None and self.spent >= self.dollars

    def ask(self) -> float | None:
        """Seconds until one more request may be sent, which then counts; None where none may."""
        with self._lock:
            if self.used_up:
                return None
            if not self._sent.maxlen:
                return 0.0
            now = self._clock()
            full = len(self._sent) == self._sent.maxlen
            at = max(now, self._sent[0] + WINDOW_SECONDS) if full else now
            self._sent.append(at)
            return at - now

    def again(self) -> float | None:
        """After that time: 0, or None where what others were paid for meanwhile left nothing."""
        return None if self.used_up else 0.0

    def spend(self, dollars: float) -> None:
        """Count what was paid."""
        with self._lock:
            self.spent += dollars
