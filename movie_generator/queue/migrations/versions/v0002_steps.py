"""Steps that are kept, pauses between attempts, and one job for one URL."""

import sqlalchemy as sa
from alembic import op

from movie_generator.queue.tables import url_key

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns and the table; the jobs that are there get their keys."""
    op.add_column("movie_jobs", sa.Column("url_key", sa.String(64)))
    op.add_column("movie_jobs", sa.Column("next_attempt_at", sa.DateTime(timezone=True)))
    op.create_index("movie_jobs_url_key", "movie_jobs", ["url_key"])
    op.create_table(
        "movie_job_steps",
        sa.Column(
            "job_id",
            sa.Integer,
            sa.ForeignKey("movie_jobs.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("key", sa.String(100), primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
    )
    jobs = sa.table("movie_jobs", sa.column("id"), sa.column("url"), sa.column("url_key"))
    connection = op.get_bind()
    for row in connection.execute(sa.select(jobs.c.id, jobs.c.url)).all():
        keyed = sa.update(jobs).where(jobs.c.id == row.id).values(url_key=url_key(row.url))
        connection.execute(keyed)
