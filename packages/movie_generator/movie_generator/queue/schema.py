"""The tables brought up to date, with all that is in them, whichever version made them."""

import hashlib
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    MetaData,
    String,
    Table,
    delete,
    insert,
    inspect,
    select,
)

from movie_generator.queue.tables import JOBS, METADATA

VERSION = "0002"
"""Of these tables; "0001" are those that were made before there were versions."""
_VERSIONS = Table(
    "movie_jobs_version", MetaData(), Column("version_num", String(32), primary_key=True)
)
_STEPS_ADDED = """\
ALTER TABLE movie_jobs ADD COLUMN url_key VARCHAR(64);
ALTER TABLE movie_jobs ADD COLUMN next_attempt_at {time};
CREATE INDEX movie_jobs_url_key ON movie_jobs (url_key);
CREATE TABLE movie_job_steps (
    job_id INTEGER NOT NULL, key VARCHAR(100) NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (job_id, key), FOREIGN KEY (job_id) REFERENCES movie_jobs (id) ON DELETE CASCADE
)"""
"""From "0001" to "0002"; like the keys, it stays as it is when the tables change again."""


class NewerSchemaError(Exception):
    """Raised when a later version of this program has changed the tables."""


def bring_up_to_date(connection: Connection) -> None:
    """Create the tables, or change those of an earlier version, within this transaction.

    Raises:
        NewerSchemaError: They are of a later version.
    """
    tables = inspect(connection)
    _VERSIONS.create(connection, checkfirst=True)
    found = connection.execute(select(_VERSIONS.c.version_num)).scalar_one_or_none()
    if found == VERSION:
        return
    if found not in (None, "0001"):
        raise NewerSchemaError
    if tables.has_table(JOBS.name):
        _add_steps(connection)
    else:
        METADATA.create_all(connection)
    connection.execute(delete(_VERSIONS))
    connection.execute(insert(_VERSIONS).values(version_num=VERSION))


def _add_steps(connection: Connection) -> None:
    """Add steps that are kept, pauses between attempts, and one job for one URL."""
    time = DateTime(timezone=True).compile(connection.dialect)
    for statement in _STEPS_ADDED.format(time=time).split(";"):
        connection.exec_driver_sql(statement)
    for row in connection.execute(select(JOBS.c.id, JOBS.c.url)).all():
        keyed = JOBS.update().where(JOBS.c.id == row.id).values(url_key=_first_key(row.url))
        connection.execute(keyed)


def _first_key(url: str) -> str:
    """The key of a URL as version "0002" made it."""
    plain = url.strip()
    with suppress(ValueError):  # what is not an address has one spelling
        parts = urlsplit(plain)
        parts = parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower())
        plain = urlunsplit(parts._replace(path=parts.path or "/"))
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()
