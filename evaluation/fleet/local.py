"""Episodes as processes on this machine."""

from evaluation.figures import LogTail
from evaluation.fleet.limits import Limits
from evaluation.fleet.line import AGAIN, ASK, SPEND
from evaluation.fleet.process import EpisodeProcess
from evaluation.plan import Cell, Plan
from session.record.event_log import EVENTS_FILE

USED_UP = "the budget of the evaluation is used up (raise --max-cost to continue)"


class LocalEpisode(EpisodeProcess):
    """One of them."""

    lost = False

    def __init__(
        self, plan: Plan, cell: Cell, limits: Limits, lock: int, threads: int | None
    ) -> None:
        self.cell = cell
        self.tail = LogTail(plan.folder(cell) / EVENTS_FILE)
        self._limits = limits
        self._refused = False
        super().__init__(plan.job(cell, threads), plan.errors(cell), self._answer, lock=lock)

    @property
    def failure(self) -> str:
        """Why it could not be played to its end; empty when it could."""
        return USED_UP if self._refused else super().failure

    def _answer(self, what: str, number: float) -> float | None:
        if what in (ASK, AGAIN):
            wait = self._limits.ask() if what == ASK else self._limits.again()
            self._refused = wait is None
            return wait
        if what == SPEND:
            self._limits.spend(number)
        return 0.0


class LocalCrew:
    """Begins them."""

    def __init__(
        self, plan: Plan, limits: Limits, *, lock: int, threads: int | None = None
    ) -> None:
        self._plan, self._limits = plan, limits
        self._lock, self._threads = lock, threads

    @property
    def used_up(self) -> bool:
        """Whether nothing more may be spent."""
        return self._limits.used_up

    def begin(self, cell: Cell) -> LocalEpisode:
        """Play, or go on."""
        return LocalEpisode(self._plan, cell, self._limits, self._lock, self._threads)

    def update(self) -> None:
        """Their logs are here already."""
