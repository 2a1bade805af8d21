"""The tables of the queue, as they are now; ``migrations`` knows how they came to be."""

from datetime import UTC, datetime

from sqlalchemy import (
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)


class UtcTime(TypeDecorator[datetime]):
    """Instants in UTC, also where the database knows no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Store in UTC: SQLite compares the text."""
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Read with the time zone that SQLite drops."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


METADATA = MetaData()

JOBS = Table(
    "movie_jobs",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("url", Text, nullable=False),
    Column("url_key", String(64)),
    Column("status", String(10), nullable=False),
    Column("progress", Float, nullable=False, default=0.0),
    Column("progress_message", Text),
    Column("error_message", Text),
    Column("result", Text),
    Column("result_format", String(40)),
    Column("attempts", Integer, nullable=False, default=0),
    Column("next_attempt_at", UtcTime),
    Column("worker", String(120)),
    Column("claim", String(32)),
    Column("lease_until", UtcTime),
    Column("created_at", UtcTime, nullable=False),
    Column("started_at", UtcTime),
    Column("finished_at", UtcTime),
    CheckConstraint("status IN ('pending', 'processing', 'completed', 'failed', 'cancelled')"),
    CheckConstraint("progress BETWEEN 0 AND 1"),
    Index("movie_jobs_status_id", "status", "id"),
    Index("movie_jobs_url_key", "url_key"),
    sqlite_autoincrement=True,  # ids are never used again
)

STEPS = Table(
    "movie_job_steps",
    METADATA,
    Column("job_id", Integer, ForeignKey(JOBS.c.id, ondelete="CASCADE"), primary_key=True),
    Column("key", String(100), primary_key=True),
    Column("content", Text, nullable=False),
)
"""What is finished of the jobs that are not."""
