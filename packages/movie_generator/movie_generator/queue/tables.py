"""The tables of the queue."""

from datetime import UTC, datetime

import sqlalchemy as sa


class UtcTime(sa.TypeDecorator[datetime]):
    """Instants in UTC, also where the database knows no time zones."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Store in UTC: SQLite compares the text."""
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Read with the time zone that SQLite drops."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


METADATA = sa.MetaData()

JOBS = sa.Table(
    "movie_jobs",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("url_key", sa.String(64)),
    sa.Column("status", sa.String(10), nullable=False),
    sa.Column("progress", sa.Float, nullable=False, default=0.0),
    sa.Column("progress_message", sa.Text),
    sa.Column("error_message", sa.Text),
    sa.Column("result", sa.Text),
    sa.Column("result_format", sa.String(40)),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),
    sa.Column("next_attempt_at", UtcTime),
    sa.Column("worker", sa.String(120)),
    sa.Column("claim", sa.String(32)),
    sa.Column("lease_until", UtcTime),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("started_at", UtcTime),
    sa.Column("finished_at", UtcTime),
    sa.CheckConstraint("status IN ('pending', 'processing', 'completed', 'failed', 'cancelled')"),
    sa.CheckConstraint("progress BETWEEN 0 AND 1"),
    sa.Index("movie_jobs_status_id", "status", "id"),
    sa.Index("movie_jobs_url_key", "url_key"),
    sqlite_autoincrement=True,  # ids are never used again
)

STEPS = sa.Table(
    "movie_job_steps",
    METADATA,
    sa.Column("job_id", sa.Integer, sa.ForeignKey(JOBS.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("key", sa.String(100), primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
)
"""What is finished of the jobs that are not."""

VERSIONS = sa.Table(
    "movie_jobs_version", METADATA, sa.Column("version_num", sa.String(32), primary_key=True)
)
VERSION = "0002"
"""Of the tables; the first had no number."""
