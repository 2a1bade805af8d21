"""Tables of every version are brought up to date, and nothing in them is lost."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, text

from movie_generator.queue.database import VERSION, VERSION_TABLE, JobDatabaseError
from movie_generator.queue.jobs import JobQueue
from movie_generator.queue.tables import METADATA
from tests.support import PATIENCE
from tests.support.postgres import new_database

FIRST = """\
CREATE TABLE movie_jobs (
    id {key}, url TEXT NOT NULL, status VARCHAR(10) NOT NULL, progress FLOAT NOT NULL,
    progress_message TEXT, error_message TEXT, result TEXT, result_format VARCHAR(40),
    attempts INTEGER NOT NULL, worker VARCHAR(120), claim VARCHAR(32), lease_until {time},
    created_at {time} NOT NULL, started_at {time}, finished_at {time},
    CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'cancelled')),
    CHECK (progress BETWEEN 0 AND 1)
);
CREATE INDEX movie_jobs_status_id ON movie_jobs (status, id)
"""
"""As tables were made before their versions were counted."""
KINDS = {
    "sqlite": {"key": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT", "time": "DATETIME"},
    "postgresql": {"key": "SERIAL PRIMARY KEY", "time": "TIMESTAMP WITH TIME ZONE"},
}
JOBS = """\
INSERT INTO movie_jobs (url, status, progress, error_message, result, result_format, attempts,
    worker, claim, lease_until, created_at, started_at, finished_at) VALUES
('http://site.test/1', 'completed', 1, NULL, '{"a": "猫"}', 'VideoScript/1', 1, 'w', NULL, NULL,
    '2026-01-01 10:00:00.000000', '2026-01-01 10:00:01.000000', '2026-01-01 10:00:02.000000'),
('http://site.test/2', 'failed', 0.5, 'no such page', NULL, NULL, 1, 'w', NULL, NULL,
    '2026-01-01 10:00:00.000000', '2026-01-01 10:00:01.000000', '2026-01-01 10:00:02.000000'),
('http://site.test/3', 'processing', 0.25, NULL, NULL, NULL, 2, 'w', 'token',
    '2026-01-01 11:00:00.000000', '2026-01-01 10:00:00.000000', '2026-01-01 10:00:01.000000', NULL),
('http://[site.test/4', 'pending', 0, NULL, NULL, NULL, 0, NULL, NULL, NULL,
    '2026-01-01 10:00:00.000000', NULL, NULL)
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'jobs.db'}" if request.param == "sqlite" else new_database()


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    yield engine
    engine.dispose()


def make_first(engine: Engine) -> None:
    """What the first version left behind."""
    made = FIRST.format(**KINDS[engine.dialect.name])
    with engine.begin() as connection:
        for statement in [*made.split(";"), JOBS]:
            connection.exec_driver_sql(statement)


def difference(engine: Engine) -> list[object]:
    """Between the tables that are there and those of today."""
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        return list(compare_metadata(context, METADATA))


def version(engine: Engine) -> object:
    with engine.connect() as connection:
        return connection.execute(text("SELECT version_num FROM movie_jobs_version")).scalar_one()


def test_jobs_of_the_first_version_are_taken_over_and_go_on(
    database_url: str, engine: Engine
) -> None:
    make_first(engine)
    with closing(JobQueue(database_url)) as queue:
        done, failed, lapsed, waiting = queue.jobs()
        assert (done.status, done.result, done.attempts) == ("completed", '{"a": "猫"}', 1)
        assert str(done.finished_at) == "2026-01-01 10:00:02+00:00"
        assert (failed.status, failed.error_message) == ("failed", "no such page")
        assert [claim.job.id for _ in "ab" if (claim := queue.claim("new"))] == [3, 4]
        assert (lapsed.attempts, waiting.next_attempt_at) == (2, None)
        assert queue.enqueue(["http://SITE.test/2", "http://site.test/5"]) == [2, 5]
    assert difference(engine) == []
    assert version(engine) == VERSION


def test_a_migration_does_not_change_with_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def later(_url: str) -> str:
        return "made by a later version"

    monkeypatch.setattr("movie_generator.pages.urls.url_key", later)
    engine = create_engine(f"sqlite:///{tmp_path / 'jobs.db'}")
    make_first(engine)
    JobQueue(str(engine.url)).close()
    with engine.connect() as connection:
        keys = (
            connection.execute(text("SELECT url_key FROM movie_jobs ORDER BY id")).scalars().all()
        )
    engine.dispose()
    assert keys[0] == hashlib.sha256(b"http://site.test/1").hexdigest()
    assert keys[3] == hashlib.sha256(b"http://[site.test/4").hexdigest()


def test_a_new_database_has_the_tables_to_which_migrations_lead(
    database_url: str, engine: Engine
) -> None:
    JobQueue(database_url).close()
    assert difference(engine) == []
    assert version(engine) == VERSION


def test_workers_that_start_at_once_take_old_tables_over_once(
    database_url: str, engine: Engine
) -> None:
    make_first(engine)
    start = threading.Barrier(4)

    def opened(_: int) -> int:
        start.wait(PATIENCE)
        with closing(JobQueue(database_url)) as queue:
            return len(queue.jobs())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(opened, range(4))) == [4] * 4


def test_tables_of_a_later_version_are_left_alone(database_url: str, engine: Engine) -> None:
    JobQueue(database_url).close()
    with engine.begin() as connection:
        connection.execute(text("UPDATE movie_jobs_version SET version_num = '9999'"))
    with pytest.raises(JobDatabaseError, match="made by a later version of movie_generator"):
        JobQueue(database_url)
    assert version(engine) == "9999"
