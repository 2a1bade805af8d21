"""A thousand jobs are each done once while eight workers are killed and their database restarts."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from movie_generator.queue.jobs import Status
from tests.support import FOREVER, postgres
from tests.support.crew import Crew, pages, until

JOBS = int(os.environ.get("SOAK_JOBS", "1000"))
KILLS = JOBS // 20
RESTARTS = 3
WORKERS = 8
LEASE = 5.0

pytestmark = pytest.mark.soak


def test_a_thousand_jobs_are_done_once_whatever_is_killed_or_restarted(tmp_path: Path) -> None:
    dice = random.Random(50)
    undisturbed = drained(tmp_path / "undisturbed", [], [])
    kills = sorted(dice.uniform(0, JOBS) for _ in range(KILLS))
    restarts = [JOBS * (number + 1) / (RESTARTS + 1) for number in range(RESTARTS)]
    disturbed = drained(tmp_path / "disturbed", kills, restarts)
    table = Table(
        "jobs", "workers", "kills", "restarts", "seconds undisturbed", "disturbed", "ratio"
    )
    seconds = (f"{undisturbed:.1f}", f"{disturbed:.1f}", f"{disturbed / undisturbed:.2f}")
    table.add_row(*map(str, (JOBS, WORKERS, KILLS, RESTARTS)), *seconds)
    Console(width=100).print(table)


def drained(folder: Path, kills: list[float], restarts: list[float]) -> float:
    """The seconds that the workers need for all jobs; each that is killed is replaced.

    ``kills`` and ``restarts``: after how many jobs.
    """
    folder.mkdir()
    crew = Crew(postgres.new_database(), folder)
    try:
        crew.queue.enqueue(pages(JOBS, "steady"))
        started = time.monotonic()
        workers = [crew.start(lease=LEASE) for _ in range(WORKERS)]
        with restarting(crew, restarts):
            for after in kills:
                until(lambda after=after: len(crew.did("end")) >= after, FOREVER)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
                time.sleep(random.uniform(0, 0.1))  # any instant of a job
                number = random.randrange(WORKERS)
                workers[number].kill()
                workers[number] = crew.start(lease=LEASE)
            for worker in workers:
                worker.join(FOREVER)
        seconds = time.monotonic() - started
        assert {worker.exitcode for worker in workers} == {0}
        assert_done_once(crew, len(kills))
    finally:
        crew.close()
    return seconds


@contextmanager
def restarting(crew: Crew, after: list[float]) -> Iterator[None]:
    """Restart the database after so many jobs, beside what else happens."""

    def restart() -> None:
        for number in after:
            until(lambda number=number: len(crew.did("end")) >= number, FOREVER)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            postgres.restart()

    with ThreadPoolExecutor() as thread:
        done = thread.submit(restart)
        yield
        done.result()


def assert_done_once(crew: Crew, kills: int) -> None:
    """Every job has its result, and no work was done again but that of the killed workers."""
    begun = Counter(url for _, url in crew.did("begin"))
    ended = crew.ended()
    for job in crew.queue.jobs():
        assert job.status == Status.COMPLETED, job
        assert 1 <= ended[job.url] <= begun[job.url] <= job.attempts, job
    assert sum(begun.values()) - JOBS <= kills
