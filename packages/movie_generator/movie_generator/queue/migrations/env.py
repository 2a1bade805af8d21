"""What Alembic runs: the migrations, on the connection and in the transaction of the caller."""

from alembic import context

from movie_generator.queue.database import VERSION_TABLE
from movie_generator.queue.tables import METADATA


def run() -> None:
    """Bring the tables to the version that was asked for."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=METADATA,
        version_table=VERSION_TABLE,
    )
    context.run_migrations()


if __name__ == "env_py":  # as Alembic calls it
    run()
