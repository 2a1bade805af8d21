"""Episodes as processes on this machine."""

from evaluation.figures import LogTail
from evaluation.fleet.limits import USED_UP, Limits
from evaluation.fleet.process import EpisodeProcess
from evaluation.plan import Cell, Plan
from session.record.event_log import EVENTS_FILE


class LocalEpisode(EpisodeProcess):
    """An episode of this machine, within the limits of all."""

    lost = False

    def __init__(
        self, plan: Plan, cell: Cell, limits: Limits, lock: int, threads: int | None
    ) -> None:
        self.cell = cell
        self.tail = LogTail(plan.folder(cell) / EVENTS_FILE)
        self._refused = False

        def answer(what: str, number: float) -> float | None:
            wait = limits.answer(what, number)
            self._refused |= wait is None
            return wait

        super().__init__(plan.job(cell, threads), plan.errors(cell), answer, lock=lock)

    @property
    def failure(self) -> str:
        """Why it could not be played to its end; empty when it could."""
        return USED_UP if self._refused else super().failure


class LocalExecutor:
    """Plays episodes as processes of this machine."""

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
        """Do nothing: the logs are here already."""
