"""The queue, on SQLite and on PostgreSQL."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from movie_generator.environment import MAX_ATTEMPTS
from movie_generator.queue import database
from movie_generator.queue.database import JobDatabaseError
from movie_generator.queue.jobs import Claim, Job, JobQueue, JobStateError, Status
from tests.support import PATIENCE
from tests.support.postgres import new_database

URL = "https://example.com/blog"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'jobs.db'}" if request.param == "sqlite" else new_database()


@pytest.fixture
def queue(database_url: str) -> Iterator[JobQueue]:
    queue = JobQueue(database_url)
    yield queue
    queue.close()


@pytest.fixture
def hasty(database_url: str) -> Iterator[JobQueue]:
    """The same queue with leases that are over at once."""
    queue = JobQueue(database_url, lease=0)
    yield queue
    queue.close()


def claim(queue: JobQueue, worker: str = "worker") -> Claim:
    """The next job, as soon as the database's clock has moved on."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        claimed = queue.claim(worker)
        if claimed:
            return claimed
    raise AssertionError("no job was to be had")


def only(queue: JobQueue) -> Job:
    (job,) = queue.jobs()
    return job


def brought_to(queue: JobQueue, status: Status) -> int:
    """A new job in this state."""
    ((job_id, _),) = queue.enqueue([URL], again=True)
    if status is Status.CANCELLED:
        queue.cancel(job_id)
    elif status is not Status.PENDING:
        claimed = claim(queue)
        if status is Status.COMPLETED:
            assert queue.complete(claimed, "{}")
        elif status is Status.FAILED:
            assert queue.fail(claimed, "no such page")
    assert queue.job(job_id).status is status
    return job_id


def test_jobs_are_claimed_in_the_order_in_which_they_came(queue: JobQueue) -> None:
    ids = [it for it, _ in queue.enqueue([f"{URL}/{number}" for number in range(3)])]
    assert [claim(queue).job.id for _ in ids] == ids
    assert queue.claim("worker") is None


def test_a_new_job_waits_and_a_claimed_one_says_who_has_it_and_until_when(queue: JobQueue) -> None:
    before = datetime.now(UTC) - timedelta(seconds=5)
    queue.enqueue([URL])
    new = only(queue)
    assert (new.status, new.progress, new.attempts, new.worker) == ("pending", 0, 0, None)
    assert before < new.created_at < before + timedelta(seconds=60)
    job = claim(queue, "here:1").job
    assert job == only(queue)
    assert (job.status, job.attempts, job.worker) == ("processing", 1, "here:1")
    assert job.started_at is not None
    assert job.lease_until == job.started_at + timedelta(seconds=queue.lease)


def test_a_completed_job_keeps_its_result_and_its_times(queue: JobQueue) -> None:
    queue.enqueue([URL])
    result = '{"title": "猫の動画 🎬\\u0000"}'
    assert queue.complete(claim(queue), result)
    job = only(queue)
    assert (job.status, job.progress, job.result) == ("completed", 1, result)
    assert job.result_format == "VideoScript/1"
    assert job.lease_until is None
    assert job.started_at is not None
    assert job.finished_at is not None
    assert job.created_at <= job.started_at <= job.finished_at
    assert job.finished_at.tzinfo is UTC


def test_no_job_is_claimed_twice_by_workers_that_claim_at_once(database_url: str) -> None:
    workers, jobs = 8, 64
    opened = JobQueue(database_url)
    opened.enqueue([URL] * jobs, again=True)
    start = threading.Barrier(workers)

    def claim_all(number: int) -> list[int]:
        queue = JobQueue(database_url)
        start.wait(PATIENCE)
        claimed = [it.job.id for it in iter(lambda: queue.claim(str(number)), None)]
        queue.close()
        return claimed

    with ThreadPoolExecutor(workers) as pool:
        claimed = Counter(job for jobs in pool.map(claim_all, range(workers)) for job in jobs)
    assert claimed == dict.fromkeys((job.id for job in opened.jobs()), 1)
    assert len(claimed) == jobs
    opened.close()


def test_workers_that_start_at_once_create_the_table_once(database_url: str) -> None:
    start = threading.Barrier(8)

    def open_queue(_: int) -> int:
        start.wait(PATIENCE)
        queue = JobQueue(database_url)
        ((job_id, _),) = queue.enqueue([URL], again=True)
        queue.close()
        return job_id

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(open_queue, range(8))) == list(range(1, 9))


LEGAL = {
    ("cancel", Status.PENDING): Status.CANCELLED,
    ("cancel", Status.PROCESSING): Status.CANCELLED,
    ("retry", Status.FAILED): Status.PENDING,
    ("retry", Status.CANCELLED): Status.PENDING,
}


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("action", ["cancel", "retry"])
def test_people_move_jobs_in_legal_ways_only(queue: JobQueue, action: str, status: Status) -> None:
    job_id = brought_to(queue, status)
    before = queue.job(job_id)
    move: Callable[[int], None] = getattr(queue, action)
    if (action, status) in LEGAL:
        move(job_id)
        assert queue.job(job_id).status is LEGAL[action, status]
    else:
        with pytest.raises(JobStateError, match=f"job {job_id} is {status}; only"):
            move(job_id)
        assert queue.job(job_id) == before


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.CANCELLED])
def test_finished_jobs_are_not_claimed(queue: JobQueue, status: Status) -> None:
    brought_to(queue, status)
    assert queue.claim("worker") is None
    assert queue.outlook()[0] == 0


def test_a_job_that_is_not_there_is_named(queue: JobQueue) -> None:
    for act in (queue.cancel, queue.retry, queue.job):
        with pytest.raises(JobStateError, match="no job 7"):
            act(7)


def test_a_retried_job_is_as_if_never_tried(queue: JobQueue) -> None:
    brought_to(queue, Status.FAILED)
    queue.retry(1)
    assert (only(queue).error_message, only(queue).finished_at) == (None, None)
    assert claim(queue).job.attempts == 1


def write_all(queue: JobQueue, claimed: Claim) -> list[bool]:
    """Whatever a worker may write, tried with this claim."""
    return [
        queue.keep(claimed, 0.9, "late"),
        queue.complete(claimed, '{"title": "late"}'),
        queue.fail(claimed, "late"),
        queue.give_back(claimed),
    ]


def test_who_lost_the_lease_changes_nothing_any_more(queue: JobQueue, hasty: JobQueue) -> None:
    queue.enqueue([URL])
    lost = claim(hasty, "slow")
    held = claim(queue, "quick")
    assert held.job.id == lost.job.id
    assert held.job.attempts == 2
    assert write_all(queue, lost) == [False] * 4
    assert only(queue) == held.job
    assert queue.complete(held, '{"title": "ours"}')
    assert write_all(queue, lost) == write_all(queue, held) == [False] * 4
    assert (only(queue).result, only(queue).progress) == ('{"title": "ours"}', 1)


@pytest.mark.parametrize("move", ["cancel", "cancel and retry"])
def test_whose_job_was_cancelled_changes_nothing_any_more(queue: JobQueue, move: str) -> None:
    queue.enqueue([URL])
    lost = claim(queue)
    queue.cancel(1)
    if move == "cancel and retry":
        queue.retry(1)
        claim(queue)
    before = only(queue)
    assert write_all(queue, lost) == [False] * 4
    assert only(queue) == before


def test_a_sign_of_life_prolongs_the_lease(queue: JobQueue) -> None:
    queue.enqueue([URL])
    claimed = claim(queue)
    assert queue.keep(claimed, 0.25, "reading\n\x1b[31mthe page")
    job = only(queue)
    assert (job.progress, job.progress_message) == (0.25, "reading the page")
    assert job.lease_until is not None
    assert claimed.job.lease_until is not None
    assert job.lease_until > claimed.job.lease_until


def test_a_job_that_takes_its_workers_down_fails_after_some_attempts(hasty: JobQueue) -> None:
    hasty.enqueue([URL])
    assert [claim(hasty).job.attempts for _ in range(MAX_ATTEMPTS)] == [1, 2, 3, 4, 5]
    end = time.monotonic() + PATIENCE
    while only(hasty).status is Status.PROCESSING and time.monotonic() < end:
        assert hasty.claim("worker") is None
    assert only(hasty).status is Status.FAILED
    assert "died while working on this job, in the last of 5" in str(only(hasty).error_message)


def test_a_job_that_is_given_back_was_not_tried_and_comes_first(queue: JobQueue) -> None:
    (first, _), _ = queue.enqueue([URL, URL], again=True)
    claimed = claim(queue)
    queue.keep(claimed, 0.5, "reading")
    assert queue.give_back(claimed)
    job = queue.job(first)
    assert (job.status, job.attempts, job.progress, job.worker) == ("pending", 0, 0, None)
    assert claim(queue).job.id == first


def test_error_messages_are_bounded_and_hold_no_secrets(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGE_TOKEN", "correct horse battery")
    queue.enqueue([URL])
    queue.fail(claim(queue), "correct horse battery\0\ud800 sk-abcdefgh12345678 " + "long " * 1000)
    message = str(only(queue).error_message)
    assert message.startswith("*** ***")
    assert message.endswith("…")
    assert len(message) == 2000


def test_urls_are_added_all_or_none(queue: JobQueue) -> None:
    def urls() -> Iterator[str]:
        yield URL
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        queue.enqueue(urls())
    assert queue.jobs() == []


def test_jobs_of_one_state_are_listed(queue: JobQueue) -> None:
    for status in reversed(Status):
        brought_to(queue, status)
    assert [job.status for job in queue.jobs(Status.FAILED)] == ["failed"]
    assert queue.outlook()[0] == 2


def test_leases_on_postgresql_are_measured_by_its_own_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class WrongClock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> WrongClock:
            raise AssertionError("the worker's machine was asked for the time")

    monkeypatch.setattr(database, "datetime", WrongClock)
    queue = JobQueue(new_database())
    queue.enqueue([URL])
    claimed = claim(queue)
    assert queue.keep(claimed, 0.5, None)
    assert queue.complete(claimed, "{}")
    queue.close()


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("jobs.db", "is not a database URL"),
        ("postgresql://user:hunter22@host:1x/name", "is not a database URL"),
        ("postgresql://user:p@hunter22@host/name", "contains an @. Write %40 instead"),
        ("sqlite+aiosqlite:///jobs.db", r"write sqlite:// instead of sqlite\+aiosqlite://\."),
        ("sqlite://", "in-memory"),
        ("sqlite:///:memory:", "in-memory"),
        ("sqlite:////nowhere/at/all.db", "unable to open database file"),
        ("mysql://user:hunter22@host/name", r"SQLite or PostgreSQL, not in mysql"),
        ("postgresql://user:hunter22@127.0.0.1:1/name", r"cannot be used: .*\? Check MOVIE_"),
        ("postgres://user:hunter22@127.0.0.1:1/name", "cannot be used: connection failed"),
        ("postgresql://user@127.0.0.1:1/name?passfile=hunter22", "cannot be used: connection"),
    ],
)
def test_a_database_that_cannot_be_used_is_explained(url: str, complaint: str) -> None:
    with pytest.raises(JobDatabaseError, match=complaint) as caught:
        JobQueue(url)
    assert "hunter22" not in str(caught.value)


def test_a_link_in_the_place_of_the_database_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "jobs.db").symlink_to(tmp_path / "another.db")
    with pytest.raises(JobDatabaseError, match="is a link, which is not followed"):
        JobQueue(f"sqlite:///{tmp_path}/jobs.db")
    assert not (tmp_path / "another.db").exists()


def test_a_file_that_is_not_a_database_is_explained(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("not a database " * 100)
    said = r"notes\.db is a file of another kind\. Name another one in MOVIE_DATABASE_URL\.$"
    with pytest.raises(JobDatabaseError, match=said):
        JobQueue(f"sqlite:///{tmp_path / 'notes.db'}")


def test_a_file_that_cannot_be_written_is_called_that(tmp_path: Path) -> None:
    file = tmp_path / "jobs.db"
    JobQueue(f"sqlite:///{file}").close()
    queue = JobQueue(f"sqlite:///file:{file}?mode=ro&uri=true")
    with pytest.raises(JobDatabaseError, match=r"cannot be written: the file, .* is read-only\.$"):
        queue.enqueue(["https://example.com"])
    queue.close()


@pytest.mark.parametrize(
    "spelling",
    [
        "https://bücher.example/straße/a~b?q=ä#part",
        "HTTPS://BÜCHER.example/stra%C3%9Fe/a~b?q=ä",
        "HTTPS://bücher.example:443/stra%C3%9Fe/a~b\t?q=ä",
        "https://xn--bcher-kva.example/stra%c3%9fe/%61%7Eb?q=%C3%A4",
        "https://bücher.example:443/straße/a~b?q=ä",
        "https://bücher.example./straße/x/../a~b?q=ä",
        " https://bücher.example/./straße/a~b?q=ä#",
    ],
)
def test_a_page_is_one_job_under_all_spellings_of_its_address(
    queue: JobQueue, spelling: str
) -> None:
    ((first, _),) = queue.enqueue(["https://bücher.example/straße/a~b?q=ä"])
    assert queue.enqueue([spelling]) == [(first, False)]


def test_addresses_of_different_pages_are_different_jobs(queue: JobQueue) -> None:
    urls = [
        "https://x.example/a",
        "http://x.example/a",
        "https://x.example/A",
        "https://x.example/a/",
        "https://x.example/a%2Fb",
        "https://x.example/a/b",
        "https://x.example:8443/a",
        "https://x.example/a?b",
        "https://x.example/#!/a",
        "https://x.example/#/b",
        "https://x.example/",
        "https://x.example/a?b=1%262",
        "https://x.example/a?b=1&2",
    ]
    assert len({*queue.enqueue(urls)}) == len(urls)
