"""The database: SQLite in a file, or PostgreSQL for several machines. Transactions are short.

Writers of one episode take turns, and on SQLite all writers do: a transaction that has begun is
never refused a lock later.
"""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
    func,
    inspect,
    make_url,
    select,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.schema import CreateColumn
from tenacity import Retrying, retry_if_exception_message, stop_after_delay, wait_fixed

from mcp_ghost.redact import redact
from session.game_configuration import GameConfiguration
from storage.errors import StorageError
from storage.tables import METADATA

SQLITE_FILE = "knowledge.db"
_BUSY_SECONDS = 20.0
_SCHEMA_LOCK = zlib.crc32(b"zorkgpt schema")
_READING = "reading"


class KnowledgeDatabase:
    """Where rows are kept; the tables are made where they are missing."""

    def __init__(self, config: GameConfiguration) -> None:
        """Open the configured database.

        Raises:
            StorageError: It cannot be reached, or its URL is not valid.
        """
        url = _url(config)
        self._name = redact(url.set(query={}).render_as_string(hide_password=True))
        try:
            self._engine = _engine(url)
        except ImportError as error:
            raise StorageError(
                "A PostgreSQL database needs the package psycopg: uv sync --extra postgres"
            ) from error
        try:
            with self.writing() as connection:
                if self._engine.name == "postgresql":
                    connection.execute(select(func.pg_advisory_xact_lock(_SCHEMA_LOCK)))
                METADATA.create_all(connection)
                _add_missing_columns(connection)
        except StorageError:
            self.close()
            raise

    @contextmanager
    def writing(self, uid: str | None = None) -> Iterator[Connection]:
        """Begin a transaction; until its end no other one writes about the episode ``uid``.

        Raises:
            StorageError: The database failed, and nothing was changed.
        """
        with self._translated(), self._engine.begin() as connection:
            if uid is not None and self._engine.name == "postgresql":
                lock = zlib.crc32(uid.encode())
                connection.execute(select(func.pg_advisory_xact_lock(lock)))
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Begin a transaction that reads one instant, and waits for no writer on SQLite.

        Raises:
            StorageError: The database failed.
        """
        reading = self._engine.execution_options(**{_READING: True})
        with self._translated(), reading.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        with suppress(SQLAlchemyError, sqlite3.Error):
            self._engine.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            why = " ".join(redact(str(cause)).split())[:400]
            raise StorageError(
                f"The knowledge database {self._name} cannot be used: {why}. Nothing is lost: the "
                "logs have it all. Repair it, or name another with storage_database_url; then "
                "run: uv run python -m storage rebuild"
            ) from error


def _add_missing_columns(connection: Connection) -> None:
    for table in METADATA.sorted_tables:
        there = {column["name"] for column in inspect(connection).get_columns(table.name)}
        for column in table.columns:
            if column.name not in there:
                made = CreateColumn(column).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {made}")


def sqlite_path(config: GameConfiguration) -> Path | None:
    """Return the file that is used when no URL is configured."""
    return None if config.storage_database_url else Path(config.workdir) / SQLITE_FILE


def _url(config: GameConfiguration) -> URL:
    if path := sqlite_path(config):
        if path.is_symlink():
            raise StorageError(
                f"{path} is a link, which is not followed: name its target in storage_database_url."
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"Cannot create {path.parent} for the knowledge database: {error.strerror}"
            ) from error
        return URL.create("sqlite", database=str(path))
    try:
        url = make_url(str(config.storage_database_url))
        kind = url.get_backend_name()
    except (ArgumentError, ValueError):
        kind = ""
    if kind in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+psycopg")
    if kind == "sqlite" and url.database and url.database != ":memory:":
        return url
    raise StorageError(
        "storage_database_url does not name a usable database. Write sqlite:///knowledge.db "
        "or postgresql://user:password@host/database, or leave it unset."
    )


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS, "isolation_level": None})

    @event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=NORMAL")  # the logs are what must outlive a crash
        # For this one change SQLite does not wait in its own queue.
        retrying = Retrying(
            retry=retry_if_exception_message(match=".*locked"),
            stop=stop_after_delay(_BUSY_SECONDS),
            wait=wait_fixed(0.02),
            reraise=True,
        )
        retrying(connection.execute, "PRAGMA journal_mode=WAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        reads = connection.get_execution_options().get(_READING)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine
