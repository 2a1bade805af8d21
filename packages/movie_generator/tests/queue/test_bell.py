"""Idle workers hear of what happens; where they cannot, they look by themselves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from sqlalchemy import text

from movie_generator.checkpoints import Store
from movie_generator.models import VideoScript
from movie_generator.queue.jobs import JobQueue
from movie_generator.queue.work import Progress
from movie_generator.queue.worker import FALLBACK_SECONDS, POLL_SECONDS, Bell, Worker
from tests.support import PATIENCE
from tests.support.postgres import new_database
from tests.support.processes.movie_worker import script

NEVER = 3600.0


class Done:
    """A generator that says which pages it got."""

    def __init__(self) -> None:
        self.urls: asyncio.Queue[str] = asyncio.Queue()

    async def __call__(self, url: str, on_progress: Progress, store: Store) -> VideoScript:
        self.urls.put_nowait(url)
        return script(url)

    async def next(self) -> str:
        async with asyncio.timeout(PATIENCE):
            return await self.urls.get()


@asynccontextmanager
async def waiting(queue: JobQueue, done: Done) -> AsyncIterator[None]:
    """A worker that hardly ever looks by itself."""
    running = asyncio.create_task(Worker(queue, done, poll=NEVER).run())
    yield
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_worker_on_postgresql_hears_of_new_jobs_also_after_its_connection_was_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
    done, idle = Done(), threading.Semaphore(0)
    with closing(JobQueue(new_database())) as queue:
        looked = queue.outlook

        def outlook() -> tuple[int, float | None]:
            found = looked()
            if not found[0]:
                idle.release()
            return found

        monkeypatch.setattr(queue, "outlook", outlook)
        async with waiting(queue, done):
            # It looks when it starts and when it begins to listen; then it has to be told.
            for page in ("first", "second", "third"):
                assert await asyncio.to_thread(idle.acquire, timeout=PATIENCE)
                await asyncio.to_thread(queue.enqueue, [page])
                assert await done.next() == page
            with queue.database.transaction() as connection:
                assert connection.execute(text(cut)).all() == [(True,)]
            await asyncio.to_thread(queue.enqueue, ["fourth"])
            assert await done.next() == "fourth"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_a_worker_wakes_when_a_pause_ends_or_a_lease(kind: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'jobs.db'}" if kind == "sqlite" else new_database()
    done = Done()
    with closing(JobQueue(url, lease=0.3)) as queue:
        queue.enqueue(["put off", "left alone"])
        first, second = queue.claim("gone"), queue.claim("gone")
        assert first
        assert second
        queue.put_off(first, "busy", 0.2)
        async with waiting(queue, done):
            assert {await done.next(), await done.next()} == {"put off", "left alone"}


def test_a_database_that_tells_is_looked_at_seldom(tmp_path: Path) -> None:
    async def polls() -> list[float]:
        urls = (f"sqlite:///{tmp_path / 'jobs.db'}", new_database())
        bells = []
        for url in urls:
            with closing(JobQueue(url)) as queue:
                bells.append(Bell(queue.database))
        return [bell.poll for bell in bells]

    assert asyncio.run(polls()) == [POLL_SECONDS, FALLBACK_SECONDS]
