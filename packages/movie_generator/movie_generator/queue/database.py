"""The database of jobs: SQLite in a file, or PostgreSQL for workers on several machines.

Everything that differs between the two is here: how to connect, whose clock counts, how news
spreads, and how the tables are made when several processes start at once.
"""

import logging
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from mcp_ghost.redact import redact
from movie_generator.errors import MovieGeneratorError
from movie_generator.pages.urls import url_key

_WAIT_FOR_LOCK = 30.0
_CONNECT_SECONDS = 10
_FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds between two looks for a server; each pause is twice the one before."""
_PING_SECONDS = 2
_LOCK = 0x6D6F7669  # any number that means these tables to all of their users
CHANNEL = "movie_jobs"
"""Where PostgreSQL tells of changes."""
_logger = logging.getLogger("movie_generator")


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


class JobDatabaseError(MovieGeneratorError, RuntimeError):
    """Raised when the database cannot be reached or used."""


class JobDatabase:
    """Short transactions on the tables, which are created or migrated as needed."""

    def __init__(self, url: str, *, patience: float = 0.0) -> None:
        """Connect to ``url``; a PostgreSQL server that does not answer gets ``patience`` seconds.

        Raises:
            JobDatabaseError: It is not an SQLite or PostgreSQL URL, or leads to no database.
        """
        self._engine, self._name = _connect(url)
        self.tells = self._engine.dialect.name == "postgresql"
        """Whether other processes can hear of changes."""
        if self.tells:
            _wait_for_server(self._name, self.connection_arguments(), patience)
        try:
            with self.transaction() as connection:
                self.alone(connection)
                self._bring_up_to_date(connection)
        except JobDatabaseError:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """All or nothing; on SQLite it waits until no other process writes.

        Raises:
            JobDatabaseError: The database failed, and nothing was changed.
        """
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            # What went wrong, without the statement and its values.
            text = " ".join(redact(str(cause)).split())[:400]
            said = f"refused: {text}"
            if "file is not a database" in text:
                said = "is a file of another kind. Name another one in MOVIE_DATABASE_URL."
            elif "readonly database" in text:
                said = "cannot be written: the file, or the folder that it is in, is read-only."
            elif isinstance(error, OperationalError):
                end = "" if text.endswith((".", "?")) else "."
                said = f"cannot be used: {text}{end} Check MOVIE_DATABASE_URL."
            raise JobDatabaseError(f"The job database {self._name} {said}") from error

    def now(self, connection: sa.Connection) -> datetime:
        """The one clock of all workers: the server's, or that of the machine all of them are on."""
        if not self.tells:
            return datetime.now(UTC)
        return connection.execute(sa.select(sa.func.clock_timestamp(type_=UtcTime))).scalar_one()

    def alone(self, connection: sa.Connection) -> None:
        """Let no other transaction that asks for the same run before this one ends."""
        if self.tells:  # on SQLite, none does
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))

    def tell(self, connection: sa.Connection) -> None:
        """Tell listeners of this transaction's changes once it is committed."""
        if self.tells:
            connection.execute(sa.select(sa.func.pg_notify(CHANNEL, "")))

    def connection_arguments(self) -> dict[str, Any]:
        """What psycopg connects with, for those who listen."""
        _, arguments = self._engine.dialect.create_connect_args(self._engine.url)
        return dict(arguments)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _bring_up_to_date(self, connection: sa.Connection) -> None:
        """Create the tables, or what those of an earlier version lack, within this transaction."""
        tables = sa.inspect(connection)
        if tables.has_table(VERSIONS.name):
            found = connection.execute(sa.select(VERSIONS.c.version_num)).scalar_one()
            if found != VERSION:
                raise JobDatabaseError(
                    f"The job database {self._name} was made by a later version of "
                    "movie_generator. Use that version, or another database (MOVIE_DATABASE_URL)."
                )
            return
        if tables.has_table(JOBS.name):  # as they were before their versions were counted
            known = {it["name"] for it in tables.get_columns(JOBS.name)}
            for column in (it for it in JOBS.c if it.name not in known):
                added = sa.schema.CreateColumn(column).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {JOBS.name} ADD COLUMN {added}")
            for index in JOBS.indexes:
                index.create(connection, checkfirst=True)
            for job_id, url in connection.execute(sa.select(JOBS.c.id, JOBS.c.url)).all():
                keyed = sa.update(JOBS).where(JOBS.c.id == job_id).values(url_key=url_key(url))
                connection.execute(keyed)
        METADATA.create_all(connection)
        connection.execute(sa.insert(VERSIONS).values(version_num=VERSION))


def _connect(address: str) -> tuple[sa.Engine, str]:
    """The engine and its name for people, which holds no password."""
    try:
        url = sa.make_url(address)
    except (SQLAlchemyError, ValueError):  # the latter of a port
        raise JobDatabaseError(
            "MOVIE_DATABASE_URL is not a database URL. Write sqlite:///movie_jobs.db or "
            "postgresql://user:password@host/database."
        ) from None
    if "@" in (url.host or ""):  # and a part of the password before it
        raise JobDatabaseError(
            "The password in MOVIE_DATABASE_URL contains an @. Write %40 instead of it."
        )
    name = redact(url.set(query={}).render_as_string(hide_password=True))
    match url.get_backend_name():
        case "sqlite" if url.drivername not in ("sqlite", "sqlite+pysqlite"):
            raise JobDatabaseError(
                f"MOVIE_DATABASE_URL names a driver that cannot be used here: write sqlite:// "
                f"instead of {url.drivername}://."
            )
        case "sqlite" if Path(url.database or "").is_symlink():
            raise JobDatabaseError(
                f"{url.database} is a link, which is not followed: name its target in "
                "MOVIE_DATABASE_URL."
            )
        case "sqlite" if url.database and url.database != ":memory:":
            return _sqlite(url.render_as_string(hide_password=False)), name
        case "sqlite":
            raise JobDatabaseError(
                "Only one process can see an in-memory database; name a file in the URL, such as "
                "sqlite:///movie_jobs.db."
            )
        case "postgresql" | "postgres":
            url = url.set(drivername="postgresql+psycopg")
            options = {"connect_timeout": _CONNECT_SECONDS}
            try:
                return sa.create_engine(url, pool_pre_ping=True, connect_args=options), name
            except ImportError as error:
                raise JobDatabaseError(
                    "PostgreSQL needs the package psycopg; install it with: "
                    "pip install 'psycopg[binary]'"
                ) from error
    raise JobDatabaseError(f"Jobs are kept in SQLite or PostgreSQL, not in {name}.")


def _sqlite(url: str) -> sa.Engine:
    # With a level of its own, the driver would begin transactions by itself.
    options = {"timeout": _WAIT_FOR_LOCK, "isolation_level": None}
    engine = sa.create_engine(url, connect_args=options)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
        # Readers need not wait for writers then. SQLite does not queue for this one change itself:
        # whoever has the lock is another of us, and makes it.
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode=WAL")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        # A transaction that reads first and asks for the write lock later may be refused it.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _wait_for_server(name: str, arguments: Mapping[str, Any], seconds: float) -> None:
    """Return when the server takes connections, waiting will not help, or ``seconds`` are over.

    What waiting cannot cure, such as a wrong password or a database that does not exist, is found
    by connecting, which follows in any case. A host that nobody knows may be one that is starting.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import make_conninfo
    from psycopg.pq import PGconn, Ping

    told = {key: value for key, value in arguments.items() if key != "context"}  # SQLAlchemy's own
    try:
        asked = make_conninfo(**{**told, "connect_timeout": _PING_SECONDS}).encode()
    except ProgrammingError:  # an option that does not exist
        return
    end = time.monotonic() + seconds
    pause = _FIRST_PAUSE
    while (left := end - time.monotonic()) > 0:
        if Ping(PGconn.ping(asked)) not in (Ping.REJECT, Ping.NO_RESPONSE):
            return
        if pause == _FIRST_PAUSE:
            _logger.warning(
                "The job database %s does not answer; waiting for it, at most %g s", name, seconds
            )
        time.sleep(min(pause, left))
        pause = min(2 * pause, LONGEST_PAUSE)
