"""The tables brought up to date, with all that is in them, whichever version made them."""

from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, String, Table, insert, inspect, select

from movie_generator.queue.tables import JOBS, METADATA

VERSION = "0002"
"""The latest of ``migrations/versions``."""
VERSION_TABLE = "movie_jobs_version"
_FIRST = "0001"
"""What made tables before there were versions."""
_MIGRATIONS = Path(__file__).parent / "migrations"
_VERSIONS = Table(
    VERSION_TABLE, MetaData(), Column("version_num", String(32), primary_key=True)
)  # as Alembic makes it


class NewerSchemaError(Exception):
    """Raised when a later version of this program has changed the tables."""


def bring_up_to_date(connection: Connection) -> None:
    """Create the tables, or change those of an earlier version, within this transaction.

    Raises:
        NewerSchemaError: They are of a later version.
    """
    tables = inspect(connection)
    found = _found(connection) if tables.has_table(VERSION_TABLE) else None
    if found == VERSION:
        return
    if found is None and not tables.has_table(JOBS.name):
        METADATA.create_all(connection)
        _VERSIONS.create(connection)
        connection.execute(insert(_VERSIONS).values(version_num=VERSION))
        return
    _upgrade(connection, found)


def _found(connection: Connection) -> str | None:
    return connection.execute(select(_VERSIONS.c.version_num)).scalar_one_or_none()


def _upgrade(connection: Connection, found: str | None) -> None:
    from alembic import command  # rarely needed, and slow to import
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    try:
        if found is None:
            command.stamp(config, _FIRST)
        command.upgrade(config, "head")
    except CommandError as error:
        raise NewerSchemaError from error
