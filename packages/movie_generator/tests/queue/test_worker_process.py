"""Workers as processes, on SQLite and on PostgreSQL: each job is done, and none is done twice."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.context import ForkServerProcess as Process
from pathlib import Path

import pytest

from movie_generator.environment import MAX_ATTEMPTS
from movie_generator.models import VideoScript
from movie_generator.queue.jobs import Job, Status
from tests.support import PATIENCE
from tests.support.crew import SITE, Crew, pages, until
from tests.support.postgres import new_database


# Processes of their own, which need not import everything anew.
@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'jobs.db'}" if request.param == "sqlite" else new_database()


@pytest.fixture
def crew(database_url: str, tmp_path: Path) -> Iterator[Crew]:
    crew = Crew(database_url, tmp_path)
    yield crew
    crew.close()


def exit_codes(*workers: Process) -> list[int | None]:
    for worker in workers:
        worker.join(PATIENCE)
    return [worker.exitcode for worker in workers]


def titles(jobs: list[Job]) -> list[str]:
    """The titles of the stored scripts."""
    return [VideoScript.model_validate_json(job.result or "").title for job in jobs]


def test_two_workers_do_each_of_fifty_jobs_once(crew: Crew) -> None:
    crew.queue.enqueue(pages(50))
    workers = [crew.start(concurrency=2, lease=PATIENCE) for _ in range(2)]
    assert exit_codes(*workers) == [0, 0]
    assert crew.ended() == dict.fromkeys(pages(50), 1)
    jobs = crew.queue.jobs()
    assert {(job.status, job.attempts, job.progress) for job in jobs} == {("completed", 1, 1)}
    assert [title.split()[0] for title in titles(jobs)] == pages(50)
    assert {process for process, _ in crew.did("end")} <= {worker.pid for worker in workers}


def test_when_a_worker_is_killed_all_fifty_jobs_are_done_and_none_twice(crew: Crew) -> None:
    urls = [*pages(20), f"{SITE}/20/hang", *pages(50)[21:]]
    crew.queue.enqueue(urls)
    victim = crew.start(lease=5)
    until(lambda: any(url.endswith("hang") for _, url in crew.did("begin")))
    other = crew.start(lease=5)
    until(lambda: other.pid in {process for process, _ in crew.did("end")})
    victim.kill()
    assert exit_codes(other) == [0]
    assert crew.ended() == dict.fromkeys(urls, 1)
    jobs = crew.queue.jobs()
    assert {job.status for job in jobs} == {"completed"}
    assert {job.url: job.attempts for job in jobs} == {
        url: 2 if url.endswith("hang") else 1 for url in urls
    }
    assert sum(str(victim.pid) in title.split() for title in titles(jobs)) == 20


def test_kills_at_any_instant_lose_no_job(crew: Crew) -> None:
    crew.queue.enqueue(pages(50))
    for _ in range(MAX_ATTEMPTS - 1):
        begun = len(crew.did("begin"))
        victim = crew.start(concurrency=2)
        until(lambda begun=begun: len(crew.did("begin")) > begun)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        time.sleep(random.uniform(0, 0.03))  # no waiting for anything: any instant will do
        victim.kill()
    assert exit_codes(crew.start()) == [0]
    jobs = crew.queue.jobs()
    assert {job.status for job in jobs} == {"completed"}
    begun_by = Counter(url for _, url in crew.did("begin"))
    assert all(begun_by[job.url] <= job.attempts for job in jobs)
    assert set(crew.ended()) == set(pages(50))


def test_a_job_longer_than_its_lease_stays_with_its_worker(crew: Crew) -> None:
    crew.queue.enqueue([f"{SITE}/slow"])
    workers = [crew.start(lease=4), crew.start(lease=4)]
    assert exit_codes(*workers) == [0, 0]
    (job,) = crew.queue.jobs()
    assert (job.status, job.attempts, len(crew.did("begin"))) == ("completed", 1, 1)


def test_a_worker_that_lost_its_job_while_it_slept_stores_nothing(crew: Crew) -> None:
    block = crew.doings.with_suffix(".block")
    block.touch()
    crew.queue.enqueue([f"{SITE}/deaf"])
    sleeper = crew.start()
    until(lambda: crew.did("begin"))
    other = crew.start()
    assert exit_codes(other) == [0]
    (job,) = crew.queue.jobs()
    block.unlink()
    assert exit_codes(sleeper) == [0]
    assert len(crew.did("end")) == 2
    assert crew.queue.jobs() == [job]
    assert titles([job]) == [f"{SITE}/deaf by {other.pid}"]


def test_a_worker_that_is_asked_to_stop_gives_its_jobs_back_at_once(crew: Crew) -> None:
    crew.queue.enqueue(pages(2, "hang"))
    worker = crew.start(lease=3600, concurrency=2)
    until(lambda: len(crew.did("begin")) == 2)
    worker.terminate()
    assert exit_codes(worker) == [0]
    assert len(crew.did("stop")) == 2
    assert [(job.status, job.attempts) for job in crew.queue.jobs()] == [("pending", 0)] * 2
    assert exit_codes(crew.start(lease=3600)) == [0]
    assert crew.ended() == dict.fromkeys(pages(2, "hang"), 1)


def test_a_job_that_kills_its_workers_ends_as_failed(crew: Crew) -> None:
    crew.queue.enqueue([f"{SITE}/deadly", f"{SITE}/quick"])
    codes = exit_codes(*(crew.start(lease=0.3) for _ in range(MAX_ATTEMPTS + 1)))
    assert Counter(codes) == {-signal.SIGKILL: MAX_ATTEMPTS, 0: 1}
    deadly, quick = crew.queue.jobs()
    assert (deadly.status, deadly.attempts, quick.status) == ("failed", MAX_ATTEMPTS, "completed")
    assert "died while working on this job" in str(deadly.error_message)


def test_a_cancelled_job_is_left_by_its_worker(crew: Crew) -> None:
    crew.queue.enqueue([f"{SITE}/hang", f"{SITE}/quick"])
    worker = crew.start()
    until(lambda: crew.did("begin"))
    crew.queue.cancel(1)
    assert exit_codes(worker) == [0]
    assert [url for _, url in crew.did("stop")] == [f"{SITE}/hang"]
    assert [job.status for job in crew.queue.jobs()] == [Status.CANCELLED, Status.COMPLETED]
