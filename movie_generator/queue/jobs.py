"""The queue: every job is done by one worker at a time, and its state changes only in legal ways.

    pending ── claim ──> processing ── complete ──> completed
       ^ │                │ │ │ └───── fail ──────> failed
       │ └── cancel ──┐   │ │ └── lease over, no attempt left ──> failed
       │              v   │ └── lease over ──> claimed again
       ├── retry ── cancelled <── cancel
       ├── retry ── failed
       └── give back (the worker was asked to stop)

A claim is a lease with a token of its own. A worker that lost its lease finds that its token is no
longer the job's: whatever it writes then changes nothing.
"""

import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, insert, or_, select, update

from mcp_ghost.redact import redact, secrets_in
from mcp_ghost.text import one_line, plain
from movie_generator.errors import MovieGeneratorError
from movie_generator.queue.database import JOBS, JobDatabase

MAX_ATTEMPTS = 3
RESULT_FORMAT = "VideoScript/1"
"""What a result is: the JSON of a ``VideoScript``, and the version of its shape."""
_LONGEST_ERROR = 2000
_LONGEST_MESSAGE = 200
_LONGEST_NAME = 120


class Status(StrEnum):
    """The state of a job."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


_UNFINISHED = (Status.PENDING, Status.PROCESSING)
_NOBODYS: dict[str, None] = {"worker": None, "claim": None, "lease_until": None}
_FRESH: dict[str, Any] = {
    **_NOBODYS,
    "status": Status.PENDING,
    "progress": 0.0,
    "progress_message": None,
    "error_message": None,
    "started_at": None,
    "finished_at": None,
}


class JobStateError(MovieGeneratorError, ValueError):
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
    result: str | None
    result_format: str | None
    attempts: int
    worker: str | None
    lease_until: datetime | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True)
class Claim:
    """The right to work on a job until the lease is over or the job is somebody else's."""

    job: Job
    token: str


class JobQueue:
    """The jobs in one database; any number of processes may use it at once."""

    def __init__(self, url: str, *, lease: float = 60.0) -> None:
        """Open the queue; a claim holds for ``lease`` seconds after its last sign of life.

        Raises:
            JobDatabaseError: The database cannot be used. So does every method.
        """
        self.lease = lease
        self._database = JobDatabase(url)

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def enqueue(self, urls: Iterable[str]) -> list[int]:
        """Add a job for each of ``urls``, all or none; their ids."""
        with self._database.transaction() as connection:
            now = self._database.now(connection)
            one = insert(JOBS).returning(JOBS.c.id)
            return [
                connection.execute(
                    one.values(url=url, status=Status.PENDING, created_at=now)
                ).scalar_one()
                for url in urls
            ]

    def jobs(self, status: Status | None = None) -> list[Job]:
        """All jobs, or those in one state, the oldest first."""
        chosen = select(JOBS).order_by(JOBS.c.id)
        if status:
            chosen = chosen.where(JOBS.c.status == status)
        with self._database.transaction() as connection:
            return [_job(row) for row in connection.execute(chosen)]

    def job(self, job_id: int) -> Job:
        """One job.

        Raises:
            JobStateError: There is none with this id.
        """
        with self._database.transaction() as connection:
            return _existing(connection, job_id)

    def unfinished(self) -> int:
        """How many jobs are waiting or being worked on."""
        counted = select(func.count()).where(JOBS.c.status.in_(_UNFINISHED))
        with self._database.transaction() as connection:
            return connection.execute(counted).scalar_one()

    def cancel(self, job_id: int) -> None:
        """Take a job off the queue; the worker that has it stops at its next sign of life.

        Raises:
            JobStateError: It is finished already.
        """
        with self._database.transaction() as connection:
            values = {
                **_NOBODYS,
                "status": Status.CANCELLED,
                "finished_at": self._database.now(connection),
            }
            self._move(connection, job_id, _UNFINISHED, values, "cancelled")

    def retry(self, job_id: int) -> None:
        """Put a failed or cancelled job back on the queue, as if it had never been tried.

        Raises:
            JobStateError: It is in another state.
        """
        ended = (Status.FAILED, Status.CANCELLED)
        with self._database.transaction() as connection:
            self._move(connection, job_id, ended, {**_FRESH, "attempts": 0}, "retried")

    def claim(self, worker: str) -> Claim | None:
        """Take the oldest job that waits or whose worker is gone; None when there is none."""
        with self._database.transaction() as connection:
            now = self._database.now(connection)
            self._give_up(connection, now)
            free = or_(JOBS.c.status == Status.PENDING, _lapsed(now))
            # One statement: SQLite has one writer, PostgreSQL passes over what others lock.
            oldest = select(JOBS.c.id).where(free).order_by(JOBS.c.id).limit(1)
            chosen = oldest.with_for_update(skip_locked=True).scalar_subquery()
            token = uuid.uuid4().hex
            values = _FRESH | {
                "status": Status.PROCESSING,
                "attempts": JOBS.c.attempts + 1,
                "worker": worker[:_LONGEST_NAME],
                "claim": token,
                "lease_until": self._lease_from(now),
                "started_at": now,
            }
            claimed = update(JOBS).where(JOBS.c.id == chosen).values(values).returning(JOBS)
            row = connection.execute(claimed).one_or_none()
            return Claim(_job(row), token) if row else None

    def keep(self, claim: Claim, progress: float, message: str | None) -> bool:
        """Give a sign of life and report progress; False when the job was lost."""
        with self._database.transaction() as connection:
            values = {
                "progress": progress,
                "progress_message": message and one_line(message, _LONGEST_MESSAGE),
                "lease_until": self._lease_from(self._database.now(connection)),
            }
            return self._write(connection, claim, values)

    def complete(self, claim: Claim, result: str) -> bool:
        """Store the result, the JSON of a ``VideoScript``; False when the job was lost."""
        with self._database.transaction() as connection:
            values = {"progress": 1.0, "result": result, "result_format": RESULT_FORMAT}
            return self._finish(connection, claim, Status.COMPLETED, values)

    def fail(self, claim: Claim, message: str) -> bool:
        """Store why there is no result; False when the job was lost."""
        with self._database.transaction() as connection:
            values = {"error_message": _bounded(message)}
            return self._finish(connection, claim, Status.FAILED, values)

    def give_back(self, claim: Claim) -> bool:
        """Let another worker do the job; this was not an attempt. False when the job was lost."""
        with self._database.transaction() as connection:
            return self._write(connection, claim, _FRESH | {"attempts": JOBS.c.attempts - 1})

    def _lease_from(self, now: datetime) -> datetime:
        return now + timedelta(seconds=self.lease)

    def _finish(
        self, connection: Connection, claim: Claim, status: Status, values: dict[str, Any]
    ) -> bool:
        ended = {"status": status, "finished_at": self._database.now(connection)}
        nobodys = {"claim": None, "lease_until": None}  # who did it is still of interest
        return self._write(connection, claim, values | ended | nobodys)

    def _write(self, connection: Connection, claim: Claim, values: dict[str, Any]) -> bool:
        """Change the job if it is still this claim's."""
        ours = and_(
            JOBS.c.id == claim.job.id,
            JOBS.c.claim == claim.token,
            JOBS.c.status == Status.PROCESSING,
        )
        return connection.execute(update(JOBS).where(ours).values(values)).rowcount == 1

    def _move(
        self,
        connection: Connection,
        job_id: int,
        sources: tuple[Status, ...],
        values: dict[str, Any],
        done: str,
    ) -> None:
        movable = and_(JOBS.c.id == job_id, JOBS.c.status.in_(sources))
        if connection.execute(update(JOBS).where(movable).values(values)).rowcount == 0:
            job = _existing(connection, job_id)
            raise JobStateError(
                f"Job {job_id} is {job.status}; only {' and '.join(sources)} jobs can be {done}."
            )

    def _give_up(self, connection: Connection, now: datetime) -> None:
        """End the jobs that took every worker down with them."""
        hopeless = and_(_lapsed(now), JOBS.c.attempts >= MAX_ATTEMPTS)
        message = (
            f"{MAX_ATTEMPTS} workers died while working on this job, so it "
            "is not tried again. See their logs (was there enough memory?), then retry the job."
        )
        ended = {**_NOBODYS, "status": Status.FAILED, "error_message": message, "finished_at": now}
        connection.execute(update(JOBS).where(hopeless).values(ended))


def _lapsed(now: datetime) -> ColumnElement[bool]:
    return and_(JOBS.c.status == Status.PROCESSING, JOBS.c.lease_until < now)


def _existing(connection: Connection, job_id: int) -> Job:
    row = connection.execute(select(JOBS).where(JOBS.c.id == job_id)).one_or_none()
    if row is None:
        raise JobStateError(f"There is no job {job_id}. List them: movie-generator jobs")
    return _job(row)


def _job(row: Row[Any]) -> Job:
    values = row._asdict()
    values["status"] = Status(values["status"])
    return Job(**{field.name: values[field.name] for field in fields(Job)})


def _bounded(message: str) -> str:
    text = plain(redact(message, secrets_in(os.environ)))
    return text if len(text) <= _LONGEST_ERROR else text[: _LONGEST_ERROR - 1] + "…"
