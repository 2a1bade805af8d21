"""Worker processes of the movie generator on one queue."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess as Process
from pathlib import Path

from movie_generator.queue.jobs import JobQueue
from tests.support import PATIENCE
from tests.support.processes.movie_worker import work

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(  # nothing of ours: where it starts, "tests" is somebody else's
    ["pytest", "psycopg", "movie_generator.generate", "movie_generator.queue.worker"]
)
SITE = "http://site.test"


class Crew:
    """Worker processes on one queue, and what they did."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self.queue = JobQueue(database_url)
        self.doings = folder / "doings.txt"
        self._database_url = database_url
        self._workers: list[Process] = []

    def start(self, *, lease: float = 1.0, concurrency: int = 1) -> Process:
        worker = PROCESSES.Process(
            target=work, args=(self._database_url, lease, self.doings, concurrency)
        )
        worker.start()
        self._workers.append(worker)
        return worker

    def did(self, what: str) -> list[tuple[int, str]]:
        """The process and the URL of everything that began, ended or was stopped."""
        text = self.doings.read_text() if self.doings.exists() else ""
        whole = text.rpartition("\n")[0]  # a worker may be writing the next line just now
        lines = [line.split() for line in whole.splitlines()]
        return [(int(process), url) for kind, process, url in lines if kind == what]

    def ended(self) -> Counter[str]:
        return Counter(url for _, url in self.did("end"))

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
            worker.join()
            worker.close()
        self.queue.close()


def until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def pages(number: int, kind: str = "quick") -> list[str]:
    return [f"{SITE}/{index}/{kind}" for index in range(number)]
