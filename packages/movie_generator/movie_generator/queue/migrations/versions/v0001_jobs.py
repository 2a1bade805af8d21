"""The table of jobs, as it was before its versions were counted."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "movie_jobs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("progress", sa.Float, nullable=False),
        sa.Column("progress_message", sa.Text),
        sa.Column("error_message", sa.Text),
        sa.Column("result", sa.Text),
        sa.Column("result_format", sa.String(40)),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("worker", sa.String(120)),
        sa.Column("claim", sa.String(32)),
        sa.Column("lease_until", _TIME),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("started_at", _TIME),
        sa.Column("finished_at", _TIME),
        sa.CheckConstraint(
            "status IN ('pending', 'processing', 'completed', 'failed', 'cancelled')"
        ),
        sa.CheckConstraint("progress BETWEEN 0 AND 1"),
        sa.Index("movie_jobs_status_id", "status", "id"),
        sqlite_autoincrement=True,
    )
