"""What a worker shows: on a terminal, a line for each running job; elsewhere, every step."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mcp_ghost.cli.screen import Screen, standard_screen
from mcp_ghost.text import address, duration
from movie_generator.queue.work import STEPS_LOG, Work
from movie_generator.queue.worker import Worker


class WorkerView:
    """Shows the log from its creation on, and the running jobs below it where lines can change."""

    def __init__(self, on_closed: Callable[[], None]) -> None:
        """Call ``on_closed`` when nobody reads standard error any longer."""
        self._screen = standard_screen(on_closed, sys.stderr)
        handler: logging.Handler = logging.StreamHandler(sys.stderr)
        date_format = None
        if self._screen.is_live:
            handler, date_format = _OnScreen(self._screen), "%H:%M:%S"
            logging.getLogger(STEPS_LOG).setLevel(logging.WARNING)
        log = "%(asctime)s %(message)s"
        logging.basicConfig(
            handlers=[handler], format=log, datefmt=date_format, level=logging.WARNING, force=True
        )
        logging.getLogger("movie_generator").setLevel(logging.INFO)

    @contextmanager
    def of(self, worker: Worker) -> Iterator[None]:
        """Show the jobs of ``worker``."""
        self._screen.follow(
            lambda: (
                [_row(work) for work in [*worker.running.values()]]
                or [[("waiting for jobs", "dim")]]
            )
        )
        try:
            yield
        finally:
            self._screen.idle()


def _row(work: Work) -> list[tuple[str, str]]:
    return [
        (f"job {work.job.id}", "bold"),
        (duration(work.seconds), ""),
        (f"{work.fraction:.0%}", "cyan"),
        (work.step or "starting", ""),
        (address(work.job.url), "dim"),
    ]


class _OnScreen(logging.Handler):
    """Writes the log above what is shown of the running jobs."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """Show one line."""
        style = "yellow" if record.levelno >= logging.WARNING else ""
        self._screen.text(self.format(record), style)
