"""A worker that starts before its PostgreSQL server: it waits where that may help."""

from __future__ import annotations

from pathlib import Path

import pytest

from movie_generator.queue.database import JobDatabase, JobDatabaseError
from tests.support import PATIENCE
from tests.support.postgres import GUARDED, new_database, stopped
from tests.support.program import Program, killed_at_last

WAITS = "does not answer; waiting for it, at most"


def worker(folder: Path, url: str, **variables: str) -> Program:
    program = Program(folder, "-m", "movie_generator", "worker", "--drain")
    program.env |= {"MOVIE_DATABASE_URL": url, "OPENROUTER_API_KEY": "none", **variables}
    return program


def test_a_worker_waits_for_a_server_that_starts_late_and_says_so_in_one_line(
    tmp_path: Path,
) -> None:
    url = new_database()
    with stopped() as start_server:
        process = worker(tmp_path, url).start()
        with killed_at_last(process):
            assert process.stderr
            first = process.stderr.readline()
            start_server()
            _, errors = process.communicate(timeout=PATIENCE)
    assert WAITS in first
    assert "60 s" in first
    assert process.returncode == 0
    (then,) = errors.splitlines()
    assert "waits for jobs" in then


@pytest.mark.parametrize(
    ("place", "reason"), [("/postgres?host={}", "No such file"), ("no such host/", "no such host")]
)
def test_a_server_that_does_not_come_ends_the_wait_with_the_reason(
    tmp_path: Path, place: str, reason: str
) -> None:
    url = f"postgresql://tester:secret@{place.format(tmp_path)}"
    done = worker(tmp_path, url, MOVIE_DATABASE_WAIT="0.3").run()
    assert done.returncode == 2
    waits, error = done.stderr.strip().split("\n", 1)
    assert f"{WAITS} 0.3 s" in waits
    assert "cannot be used" in error
    assert reason in error
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("tester@/postgres", "tester@/nowhere"), 'database "nowhere" does not exist'),
        (("tester@", "nobody@"), 'role "nobody" does not exist'),
        (("tester@", f"{GUARDED}:wrong@"), "password authentication failed"),
        (("options=", "sslmode=bogus&options="), "sslmode"),
    ],
)
def test_what_waiting_cannot_cure_fails_at_once(
    change: tuple[str, str], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    url = new_database().replace(*change)
    with pytest.raises(JobDatabaseError, match=reason):
        JobDatabase(url, patience=PATIENCE)
    assert WAITS not in caplog.text
