"""One worker inside the test: what becomes of a job, however its generation goes."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from movie_generator.checkpoints import Store
from movie_generator.models import VideoScript
from movie_generator.queue import work as work_module
from movie_generator.queue.jobs import Job, JobQueue, Status
from movie_generator.queue.work import Generate, Progress
from movie_generator.queue.worker import Worker
from tests.support import PATIENCE
from tests.support.processes.movie_worker import script

URL = "http://site.test/page"


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[JobQueue]:
    queue = JobQueue(f"sqlite:///{tmp_path / 'jobs.db'}", lease=1.0)
    yield queue
    queue.close()


def drain(
    queue: JobQueue,
    generate: Generate,
    *,
    concurrency: int = 1,
    job_timeout: float = 30,
) -> list[Job]:
    """All jobs after a worker went through them."""
    worker = Worker(queue, generate, concurrency=concurrency, job_timeout=job_timeout, poll=0.01)

    async def run() -> None:
        async with asyncio.timeout(30):
            await worker.run(drain=True)

    asyncio.run(run())
    return queue.jobs()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # the database tells nobody
        await asyncio.sleep(0.01)


def test_a_job_that_fails_says_why_and_the_next_one_is_done(queue: JobQueue) -> None:
    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        on_progress(0.25, "reading")
        if url.endswith("bad"):
            raise ValueError("The page has no text.")
        return script(url)

    queue.enqueue([f"{URL}/bad", f"{URL}/good"])
    bad, good = drain(queue, generate)
    assert (bad.status, bad.error_message) == ("failed", "The page has no text.")
    assert bad.result is None
    assert VideoScript.model_validate_json(good.result or "") == script(f"{URL}/good")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("The limit of 10 was reached."), "The limit of 10 was reached."),
        (KeyError("title"), "KeyError: 'title'"),
        (ExceptionGroup("several", [OSError("no such host")]), "no such host"),
        (TimeoutError(), "TimeoutError"),
        (asyncio.CancelledError(), "The generation ended without a result."),
        (ValueError("key sk-abcdefgh12345678 was refused"), "key *** was refused"),
    ],
)
def test_whatever_is_raised_becomes_the_error_message(
    queue: JobQueue, error: BaseException, message: str
) -> None:
    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        raise error

    queue.enqueue([URL])
    (job,) = drain(queue, generate)
    assert (job.status, job.error_message, job.attempts) == ("failed", message, 1)


def test_secrets_reach_the_log_as_little_as_the_database(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PAGE_TOKEN", "correct horse battery")

    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        raise ValueError("correct horse battery is not a valid token")

    queue.enqueue([URL])
    with caplog.at_level("INFO", "movie_generator"):
        (job,) = drain(queue, generate)
    assert job.error_message == "*** is not a valid token"
    assert "failed: *** is not a valid token" in caplog.text
    assert "horse" not in caplog.text


def test_a_job_that_lasts_too_long_fails(queue: JobQueue) -> None:
    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        await asyncio.Event().wait()
        raise AssertionError

    queue.enqueue([URL])
    (job,) = drain(queue, generate, job_timeout=0.05)
    assert (job.status, job.error_message) == ("failed", "Not done after 0.05 s; given up.")


def test_progress_is_stored_while_the_job_goes_on_and_never_goes_back(queue: JobQueue) -> None:
    seen: list[tuple[float, str | None]] = []

    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        for fraction, message in ((0.5, "half"), (0.2, "behind"), (7.0, "too much")):
            on_progress(fraction, message)
            await until(lambda message=message: queue.job(1).progress_message == message)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            seen.append((queue.job(1).progress, queue.job(1).progress_message))
        return script(url)

    queue.enqueue([URL])
    (job,) = drain(queue, generate)
    assert seen == [(0.5, "half"), (0.5, "behind"), (1.0, "too much")]
    assert (job.status, job.progress) == ("completed", 1.0)


def test_progress_is_stored_without_secrets(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGE_TOKEN", "correct horse battery")
    stored: list[str | None] = []

    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        on_progress(0.5, "fetch with correct horse battery")
        await until(lambda: queue.job(1).progress_message is not None)
        stored.append(queue.job(1).progress_message)
        return script(url)

    queue.enqueue([URL])
    drain(queue, generate)
    assert stored == ["fetch with ***"]


def test_progress_that_comes_late_and_from_a_thread_changes_nothing(queue: JobQueue) -> None:
    tell: list[Progress] = []

    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        tell.append(on_progress)
        if len(tell) == 2:  # the first job is over
            done = queue.job(1)
            thread = threading.Thread(target=tell[0], args=(0.1, "late"))
            thread.start()
            thread.join()
            await asyncio.sleep(0.05)  # time in which it would be written
            assert queue.job(1) == done
        return script(url)

    queue.enqueue([URL, URL], again=True)
    assert [job.status for job in drain(queue, generate)] == ["completed"] * 2


def test_as_many_jobs_as_allowed_are_done_at_a_time(queue: JobQueue) -> None:
    now, most = 0, 0

    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await until(lambda: most == 3)  # the first three wait for each other
        now -= 1
        return script(url)

    queue.enqueue([URL] * 9, again=True)
    assert {job.status for job in drain(queue, generate, concurrency=3)} == {"completed"}
    assert most == 3


def test_a_cancelled_job_whose_generation_does_not_hear_is_left_all_the_same(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_module, "_STOP_SECONDS", 0.1)
    left = asyncio.Event()

    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        queue.cancel(1)
        while not left.is_set():
            with suppress(asyncio.CancelledError):
                await left.wait()
        return script(url)

    queue.enqueue([URL])
    worker = Worker(queue, generate, poll=0.01)

    async def run() -> None:
        await worker.run(drain=True)
        left.set()

    asyncio.run(run())
    assert queue.job(1).status is Status.CANCELLED


def test_a_result_survives_a_database_that_fails_for_a_while(
    queue: JobQueue, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "movie_generator")
    admin = create_engine(f"sqlite:///{tmp_path / 'jobs.db'}")

    def rename(old: str, new: str) -> None:
        with admin.begin() as connection:
            connection.execute(text(f"ALTER TABLE {old} RENAME TO {new}"))

    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        await asyncio.to_thread(rename, "movie_jobs", "away")
        asyncio.get_running_loop().call_later(0.3, rename, "away", "movie_jobs")
        return script(url)

    queue.enqueue([URL])
    (job,) = drain(queue, generate)
    admin.dispose()
    assert job.status is Status.COMPLETED
    assert "waits for the database" in caplog.text


def test_a_worker_that_is_stopped_while_it_claims_gives_the_job_back(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    claiming, go_on = threading.Event(), threading.Event()
    claim = queue.claim

    def slow_claim(name: str) -> object:
        claiming.set()
        go_on.wait(PATIENCE)
        return claim(name)

    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        raise AssertionError("nothing is to be generated any more")

    async def run() -> None:
        running = asyncio.create_task(Worker(queue, generate).run())
        await asyncio.to_thread(claiming.wait, 10)
        running.cancel()
        asyncio.get_running_loop().call_later(0.05, go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await running

    monkeypatch.setattr(queue, "claim", slow_claim)
    queue.enqueue([URL])
    asyncio.run(run())
    assert (queue.job(1).status, queue.job(1).attempts) == ("pending", 0)


def test_a_result_that_is_there_when_the_worker_is_stopped_is_stored(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    storing, go_on = threading.Event(), threading.Event()
    complete = queue.complete

    def slow_complete(*arguments: object) -> bool:
        storing.set()
        go_on.wait(PATIENCE)
        return complete(*arguments)  # type: ignore[arg-type]  # handed on as they came

    async def generate(url: str, on_progress: Progress, store: Store) -> VideoScript:
        return script(url)

    async def run() -> None:
        running = asyncio.create_task(Worker(queue, generate).run())
        await asyncio.to_thread(storing.wait, 10)
        running.cancel()
        asyncio.get_running_loop().call_later(0.05, go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await running

    monkeypatch.setattr(queue, "complete", slow_complete)
    queue.enqueue([URL])
    asyncio.run(run())
    assert queue.job(1).status is Status.COMPLETED
