"""Episodes as processes on this machine."""

from evaluation.figures import LogTail
from evaluation.fleet.limits import Limits
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
        super().__init__(plan.job(cell, threads), plan.errors(cell), limits.answer, lock=lock)


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
