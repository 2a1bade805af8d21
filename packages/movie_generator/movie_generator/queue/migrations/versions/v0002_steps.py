"""Steps that are kept, pauses between attempts, and one job for one URL."""

import hashlib
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = None  # what was there before had no version


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
        keyed = sa.update(jobs).where(jobs.c.id == row.id).values(url_key=_key(row.url))
        connection.execute(keyed)


def _key(url: str) -> str:
    """The key as this version made it: a later way to make keys needs a migration of its own."""
    plain = url.strip()
    with suppress(ValueError):  # what is not an address has one spelling
        parts = urlsplit(plain)
        parts = parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower())
        plain = urlunsplit(parts._replace(path=parts.path or "/"))
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()
