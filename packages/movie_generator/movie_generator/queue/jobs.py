"""The queue: every job is done by one worker at a time, and its state changes only in legal ways.

    pending ── claim ──> processing ── complete ──> completed
       ^ │                │ │ │ └───── fail ──────> failed
       │ └── cancel ──┐   │ │ └── lease over, no attempt left ──> failed
       │              v   │ └── lease over ──> claimed again
       ├── retry ── cancelled <── cancel
       ├── retry ── failed
       ├── put off (the attempt failed; another one may do better later)
       └── give back (the worker was asked to stop)

A claim is a lease with a token of its own. A worker that lost its lease finds that its token is no
longer the job's: whatever it writes then changes nothing.
"""

import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter

from mcp_ghost.redact import redact, secrets_in
from mcp_ghost.text import one_line, plain
from movie_generator.environment import MAX_ATTEMPTS
from movie_generator.errors import MovieGeneratorError
from movie_generator.pages.urls import url_key
from movie_generator.queue.database import JOBS, STEPS, JobDatabase

RESULT_FORMAT = "VideoScript/1"
"""What a result is: the JSON of a ``VideoScript``, and the version of its shape."""
_LONGEST_ERROR = 2000
_LONGEST_MESSAGE = 200
_LONGEST_NAME = 120
_MOST_DAYS = 100_000
"""The calendar has a beginning."""


class Status(StrEnum):
    """The state of a job."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNFINISHED = (Status.PENDING, Status.PROCESSING)
FINISHED = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)
_NOBODYS: dict[str, Any] = {"worker": None, "claim": None, "lease_until": None}
_ENDED: dict[str, Any] = {"claim": None, "lease_until": None, "finished_at": timedelta()}
"""Who did it is still of interest."""
_FRESH: dict[str, Any] = {
    **_NOBODYS,
    "status": Status.PENDING,
    "progress": 0.0,
    "progress_message": None,
    "error_message": None,
    "next_attempt_at": None,
    "started_at": None,
    "finished_at": None,
}


class JobStateError(MovieGeneratorError):
    """Raised when a job does not exist, or its state does not allow what is asked."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One URL on its way to a script, as it was when it was read; times are in UTC."""

    id: int
    url: str
    status: Status
    progress: float
    """From 0 to 1."""
    progress_message: str | None
    error_message: str | None
    """Why it failed; of a job that waits for its next attempt, why the latest one did."""
    result: str | None
    result_format: str | None
    attempts: int
    next_attempt_at: datetime | None
    """Until when it waits after an attempt that failed."""
    worker: str | None
    lease_until: datetime | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


_JOB = TypeAdapter(Job)


@dataclass(frozen=True)
class Claim:
    """The right to work on a job until the lease is over or the job is somebody else's."""

    job: Job
    token: str


class JobQueue:
    """The jobs in one database; any number of processes may use it at once."""

    def __init__(
        self,
        url: str,
        *,
        lease: float = 60.0,
        max_attempts: int = MAX_ATTEMPTS,
        patience: float = 0.0,
    ) -> None:
        """Open the queue; a claim holds for ``lease`` seconds after its last sign of life.

        A job whose ``max_attempts``-th attempt fails, or loses its worker, has failed. A
        PostgreSQL server that does not answer is waited for, at most ``patience`` seconds.

        Raises:
            JobDatabaseError: The database cannot be used. So does every method.
        """
        self.lease = lease
        self.max_attempts = max_attempts
        self.database = JobDatabase(url, patience=patience)

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    # --- for people

    def enqueue(self, urls: Iterable[str], *, again: bool = False) -> list[tuple[int, bool]]:
        """Add a job for each of ``urls`` that has none yet, all or none.

        With ``again``, each of ``urls`` gets a new job. Returns the ids of their jobs, each with
        whether it is new.
        """
        with self.database.transaction() as connection:
            self.database.alone(connection)  # or two processes could add the same URL
            now = self.database.now(connection)
            jobs = []
            for url in urls:
                key = url_key(url)
                latest = sa.select(sa.func.max(JOBS.c.id)).where(JOBS.c.url_key == key)
                job_id = None if again else connection.execute(latest).scalar_one()
                if is_new := job_id is None:
                    values = {"url": url, "url_key": key, "created_at": now}
                    added = sa.insert(JOBS).values(status=Status.PENDING, **values)
                    job_id = connection.execute(added.returning(JOBS.c.id)).scalar_one()
                jobs.append((job_id, is_new))
            self.database.tell(connection)
            return jobs

    def jobs(self, status: Status | None = None, *, with_results: bool = True) -> list[Job]:
        """All jobs, or those in one state, the oldest first; each result may be megabytes long."""
        result = JOBS.c.result if with_results else sa.null().label(JOBS.c.result.name)
        columns = [*(it for it in JOBS.c if it is not JOBS.c.result), result]
        chosen = sa.select(*columns).order_by(JOBS.c.id)
        if status:
            chosen = chosen.where(JOBS.c.status == status)
        with self.database.transaction() as connection:
            return [_JOB.validate_python(row._asdict()) for row in connection.execute(chosen)]

    def job(self, job_id: int) -> Job:
        """One job.

        Raises:
            JobStateError: There is none with this id.
        """
        with self.database.transaction() as connection:
            row = connection.execute(sa.select(JOBS).where(JOBS.c.id == job_id)).one_or_none()
        if row is None:
            raise JobStateError(f"There is no job {job_id}. List them: movie-generator jobs")
        return _JOB.validate_python(row._asdict())

    def cancel(self, job_id: int) -> None:
        """Take a job off the queue; the worker that has it stops at its next sign of life.

        Raises:
            JobStateError: It is finished already.
        """
        values = {**_ENDED, "worker": None, "status": Status.CANCELLED, "next_attempt_at": None}
        self._move(job_id, UNFINISHED, values, "cancelled")

    def retry(self, job_id: int) -> None:
        """Put a failed or cancelled job back on the queue, with all its attempts.

        Raises:
            JobStateError: It is in another state.
        """
        values = {**_FRESH, "attempts": 0}
        self._move(job_id, (Status.FAILED, Status.CANCELLED), values, "retried")

    def prune(self, days: float) -> int:
        """Delete the jobs that were finished more than ``days`` ago; how many they were."""
        with self.database.transaction() as connection:
            limit = self.database.now(connection) - timedelta(days=min(days, _MOST_DAYS))
            old = sa.and_(JOBS.c.status.in_(FINISHED), JOBS.c.finished_at < limit)
            of_old = STEPS.c.job_id.in_(sa.select(JOBS.c.id).where(old))
            connection.execute(sa.delete(STEPS).where(of_old))
            return connection.execute(sa.delete(JOBS).where(old)).rowcount

    # --- for workers

    def outlook(self) -> tuple[int, float | None]:
        """How many jobs are unfinished, and the seconds until one of them can be claimed."""
        starts = sa.func.coalesce(JOBS.c.lease_until, JOBS.c.next_attempt_at, JOBS.c.created_at)
        asked = sa.select(sa.func.count(), sa.func.min(starts, type_=JOBS.c.created_at.type))
        with self.database.transaction() as connection:
            row = connection.execute(asked.where(JOBS.c.status.in_(UNFINISHED))).one()
            if row[1] is None:
                return 0, None
            seconds = (row[1] - self.database.now(connection)).total_seconds()
            return row[0], max(0.0, seconds)

    def claim(self, worker: str) -> Claim | None:
        """Take the oldest job that waits or whose worker is gone; None when there is none."""
        with self.database.transaction() as connection:
            now = self.database.now(connection)
            hopeless = sa.and_(_lapsed(now), JOBS.c.attempts >= self.max_attempts)
            message = (
                f"The worker died while working on this job, in the last of {self.max_attempts} "
                "attempts. See the workers' logs (was there enough memory?), then retry the job."
            )
            ended = {"status": Status.FAILED, "error_message": message, "finished_at": now}
            given_up = sa.update(JOBS).where(hopeless).values({**_NOBODYS, **ended})
            if connection.execute(given_up).rowcount:
                self.database.tell(connection)
            due = sa.or_(JOBS.c.next_attempt_at.is_(None), JOBS.c.next_attempt_at <= now)
            free = sa.or_(sa.and_(JOBS.c.status == Status.PENDING, due), _lapsed(now))
            # One statement: SQLite has one writer, PostgreSQL passes over what others lock.
            oldest = sa.select(JOBS.c.id).where(free).order_by(JOBS.c.id).limit(1)
            chosen = oldest.with_for_update(skip_locked=True).scalar_subquery()
            token = uuid.uuid4().hex
            values = _FRESH | {
                "status": Status.PROCESSING,
                "attempts": JOBS.c.attempts + 1,
                "worker": worker[:_LONGEST_NAME],
                "claim": token,
                "lease_until": now + timedelta(seconds=self.lease),
                "started_at": now,
            }
            claimed = sa.update(JOBS).where(JOBS.c.id == chosen).values(values).returning(JOBS)
            row = connection.execute(claimed).one_or_none()
            return Claim(_JOB.validate_python(row._asdict()), token) if row else None

    def keep(self, claim: Claim, progress: float, message: str | None) -> bool:
        """Give a sign of life and report progress; False when the job was lost."""
        values = {
            "progress": progress,
            "progress_message": message and one_line(message, _LONGEST_MESSAGE),
            "lease_until": timedelta(seconds=self.lease),
        }
        return self._change(_held_by(claim), values)

    def steps(self, claim: Claim) -> dict[str, str]:
        """What is finished of the job, by key."""
        kept = sa.select(STEPS.c.key, STEPS.c.content).where(STEPS.c.job_id == claim.job.id)
        with self.database.transaction() as connection:
            return {row.key: row.content for row in connection.execute(kept)}

    def keep_step(self, claim: Claim, key: str, content: str) -> bool:
        """Store a finished step; False when the job was lost."""
        with self.database.transaction() as connection:
            locked = sa.select(JOBS.c.id).where(_held_by(claim)).with_for_update()
            if connection.execute(locked).one_or_none() is None:
                return False
            # It may be there: a commit may succeed although its answer is lost.
            step = sa.and_(STEPS.c.job_id == claim.job.id, STEPS.c.key == key)
            connection.execute(sa.delete(STEPS).where(step))
            values = {"job_id": claim.job.id, "key": key, "content": content}
            connection.execute(sa.insert(STEPS).values(values))
            return True

    def complete(self, claim: Claim, result: str) -> bool:
        """Store the result, the JSON of a ``VideoScript``; False when the job was lost."""
        done = {"progress": 1.0, "result": result, "result_format": RESULT_FORMAT}
        values = {**_ENDED, **done, "status": Status.COMPLETED}
        return self._change(_held_by(claim), values, forget=True)

    def fail(self, claim: Claim, message: str, *, forget: bool = True) -> bool:
        """Store why there is no result; False when the job was lost.

        ``forget`` its finished steps, or a retried job goes on from them.
        """
        values = {**_ENDED, "status": Status.FAILED, "error_message": _bounded(message)}
        return self._change(_held_by(claim), values, forget=forget)

    def put_off(self, claim: Claim, message: str, pause: float, *, forget: bool = True) -> bool:
        """Let the job wait for its next attempt; False when it was lost."""
        waits = {"error_message": _bounded(message), "next_attempt_at": timedelta(seconds=pause)}
        return self._change(_held_by(claim), _FRESH | waits, forget=forget)

    def give_back(self, claim: Claim) -> bool:
        """Let another worker do the job; this was not an attempt. False when the job was lost."""
        values = _FRESH | {"attempts": JOBS.c.attempts - 1}
        return self._change(_held_by(claim), values)

    def _move(
        self, job_id: int, sources: tuple[Status, ...], values: dict[str, Any], done: str
    ) -> None:
        movable = sa.and_(JOBS.c.id == job_id, JOBS.c.status.in_(sources))
        if not self._change(movable, values, forget=values["status"] in FINISHED):
            raise JobStateError(
                f"The status of job {job_id} is {self.job(job_id).status}; only "
                f"{' and '.join(sources)} jobs can be {done}."
            )

    def _change(
        self, which: sa.ColumnElement[bool], values: dict[str, Any], *, forget: bool = False
    ) -> bool:
        """Change the job that is still so; a timedelta among ``values`` counts from now."""
        with self.database.transaction() as connection:
            now = self.database.now(connection)
            times = {key: now + it for key, it in values.items() if isinstance(it, timedelta)}
            changed = sa.update(JOBS).where(which).values(values | times).returning(JOBS.c.id)
            job_id = connection.execute(changed).scalar_one_or_none()
            if forget:
                connection.execute(sa.delete(STEPS).where(STEPS.c.job_id == job_id))
            if "status" in values:
                self.database.tell(connection)
            return job_id is not None


def _held_by(claim: Claim) -> sa.ColumnElement[bool]:
    held = sa.and_(JOBS.c.id == claim.job.id, JOBS.c.claim == claim.token)
    return sa.and_(held, JOBS.c.status == Status.PROCESSING)


def _lapsed(now: datetime) -> sa.ColumnElement[bool]:
    return sa.and_(JOBS.c.status == Status.PROCESSING, JOBS.c.lease_until < now)


def _bounded(message: str) -> str:
    text = plain(redact(message, secrets_in(os.environ)))
    return text if len(text) <= _LONGEST_ERROR else text[: _LONGEST_ERROR - 1] + "…"
