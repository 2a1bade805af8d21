"""A job: its states, what is known of it, and the right to work on it."""

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Row

from movie_generator.errors import MovieGeneratorError


class Status(StrEnum):
    """The state of a job."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNFINISHED = (Status.PENDING, Status.PROCESSING)
FINISHED = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)


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

    @classmethod
    def of(cls, row: Row[Any]) -> "Job":
        """The job in a row of the table."""
        values = row._asdict()
        values["status"] = Status(values["status"])
        return cls(**{field.name: values[field.name] for field in fields(cls)})


@dataclass(frozen=True)
class Claim:
    """The right to work on a job until the lease is over or the job is somebody else's."""

    job: Job
    token: str
