"""Tables of every version are brought up to date, and nothing in them is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, inspect, text

from movie_generator.queue.database import METADATA, VERSION, JobDatabaseError
from movie_generator.queue.jobs import JobQueue
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


def shape(engine: Engine) -> dict[str, object]:
    """Which columns, keys and indexes the tables have; their columns in any order."""
    tables = inspect(engine)
    return {
        name: (
            sorted(
                (it["name"], str(it["type"]), it["nullable"]) for it in tables.get_columns(name)
            ),
            tables.get_pk_constraint(name)["constrained_columns"],
            [(it["referred_table"], it["options"]) for it in tables.get_foreign_keys(name)],
            sorted((it["name"] or "", it["column_names"]) for it in tables.get_indexes(name)),
        )
        for name in sorted(tables.get_table_names())
    }


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
        assert queue.enqueue(["http://SITE.test/2", "http://site.test/5"]) == [
            (2, False),
            (5, True),
        ]
    assert version(engine) == VERSION


def test_old_tables_become_what_new_ones_are(database_url: str, engine: Engine) -> None:
    JobQueue(database_url).close()
    new = shape(engine)
    assert [*new] == sorted(METADATA.tables)
    METADATA.drop_all(engine)
    make_first(engine)
    JobQueue(database_url).close()
    assert shape(engine) == new


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
