"""Requests a minute and US dollars for a whole evaluation, however many episodes play at once."""

import threading
import time
from collections import deque
from collections.abc import Callable

from evaluation.fleet.channel import AGAIN, ASK, SPEND

USED_UP = "the budget of the evaluation is used up (raise --max-cost to continue)"
WINDOW_SECONDS = 61.0
"""A minute, and a second more: not all requests take equally long to arrive."""


class Limits:
    """Decides when a request may be sent; safe to be used by several threads."""

    def __init__(
        self,
        requests_per_minute: int | None = None,
        dollars: float | None = None,
        spent: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``spent`` is what earlier runs of the evaluation cost; None stands for no limit."""
        self._dollars, self._spent = dollars, spent
        self._sent: deque[float] = deque(maxlen=requests_per_minute or 0)
        self._clock = clock
        self._lock = threading.Lock()

    @property
    def used_up(self) -> bool:
        """Whether no further request may be paid for."""
        return self._dollars is not None and self._spent >= self._dollars

    def answer(self, what: str, number: float = 0.0) -> float | None:
        """Answer an episode: the seconds that it has to wait, or None where it may send nothing.

        A request counts as soon as it was asked for. ``AGAIN`` is asked once it has waited: others
        may have used up the budget meanwhile.
        """
        with self._lock:
            if what == SPEND:
                self._spent += number
            elif what in (ASK, AGAIN) and self.used_up:
                return None
            elif what == ASK and self._sent.maxlen:
                now = self._clock()
                full = len(self._sent) == self._sent.maxlen
                at = max(now, self._sent[0] + WINDOW_SECONDS) if full else now
                self._sent.append(at)
                return at - now
            return 0.0
