"""A worker process for tests: the real one, with a generator whose doings are left in a file.

The last part of a job's URL says how it goes: ``quick`` is done soon, ``steady`` takes half a
second, as a model's shortest reply may, ``slow`` one and a half leases, ``hang`` never ends on the
first worker, ``deaf`` blocks the first worker as long as a file named like the doings' with
``.block`` exists, ``deadly`` kills its worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from mcp_ghost.cli import interruption
from movie_generator.checkpoints import Store
from movie_generator.generate import generate_as_configured
from movie_generator.models import Narration, ScriptSection, VideoScript
from movie_generator.queue.jobs import JobQueue
from movie_generator.queue.work import Generate, Progress
from movie_generator.queue.worker import Worker


class Generator:
    """Appends ``begin``, ``end`` or ``stop``, the process and the URL to a file, a line each."""

    def __init__(self, doings: Path, lease: float) -> None:
        self._doings = doings
        self._lease = lease

    async def __call__(self, url: str, on_progress: Progress, store: Store) -> VideoScript:
        first = not self._doings.exists() or f" {url}\n" not in self._doings.read_text()
        self._note("begin", url)
        on_progress(0.5, "half of it")
        try:
            await self._work(url.rpartition("/")[2], first=first)
        except asyncio.CancelledError:
            self._note("stop", url)
            raise
        self._note("end", url)
        return script(f"{url} by {os.getpid()}")

    async def _work(self, kind: str, *, first: bool) -> None:
        if kind == "steady":
            await asyncio.sleep(0.5)
        elif kind == "slow":
            await asyncio.sleep(1.5 * self._lease)
        elif kind == "hang" and first:
            await asyncio.Event().wait()
        elif kind == "deaf" and first:
            while self._doings.with_suffix(".block").exists():
                time.sleep(0.01)  # noqa: ASYNC251 - that is what makes it deaf
        elif kind == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            await asyncio.sleep(0.01)

    def _note(self, what: str, url: str) -> None:
        with self._doings.open("a") as file:  # one short write is never mixed with another
            file.write(f"{what} {os.getpid()} {url}\n")


def script(title: str) -> VideoScript:
    narration = Narration(text="Hello.", reading="Hello.")
    section = ScriptSection(title="Beginning", narrations=[narration])
    return VideoScript(title=title, description="", sections=[section])


def work(database_url: str, lease: float, doings: Path, concurrency: int) -> None:
    """Work until no job is pending or processing."""
    queue = JobQueue(database_url, lease=lease)
    _drain(queue, Generator(doings, lease), concurrency)


def work_for_real(database_url: str, lease: float, environment: dict[str, str]) -> None:
    """The same with the generator that is used in earnest, as ``environment`` configures it.

    However many workers die, the next one tries again.
    """
    os.environ.update(environment)
    queue = JobQueue(database_url, lease=lease, max_attempts=sys.maxsize >> 32)
    _drain(queue, generate_as_configured, concurrency=1)


def _drain(queue: JobQueue, generate: Generate, concurrency: int) -> None:
    interruption.install()
    worker = Worker(queue, generate, concurrency=concurrency, poll=0.05)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(worker.run(drain=True))
