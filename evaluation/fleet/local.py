"""Episodes as processes on this machine."""

from evaluation.fleet.limits import Limits
from evaluation.fleet.process import EpisodeProcess
from evaluation.plan import Cell, Plan


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

    def begin(self, cell: Cell) -> EpisodeProcess:
        """Play, or go on."""
        job, errors = self._plan.job(cell, self._threads), self._plan.errors(cell)
        return EpisodeProcess(job, errors, self._limits.answer, lock=self._lock)

    def update(self) -> None:
        """Do nothing: the logs are here already."""
