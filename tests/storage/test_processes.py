from __future__ import annotations

import os
import random
import resource
import select
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from storage.errors import StorageError
from storage.store import Store
from tests.support import PATIENCE, ROOT, postgres
from tests.support.program import Program
from tests.support.stored import STORY, LoggedEpisode, configuration, dump, memory, reflection
from tests.support.warm import WarmPopen

UIDS = [f"learn{letter}" for letter in "abcdefgh"]
Rows = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "sqlite" else postgres.new_database()


postgresql_by_hand = pytest.mark.parametrize(
    "url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True
)


class Learners:
    """Processes that learn side by side, one for each of ``uids``; none is left over."""

    def __init__(
        self, workdir: Path, url: str | None, count: int, uids: Sequence[str] = UIDS
    ) -> None:
        workdir.mkdir()
        program = [
            sys.executable,
            "-m",
            "tests.support.processes.learner",
            str(workdir),
            str(count),
            url or "-",
        ]
        self.parent = WarmPopen(
            [*program, *uids],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.parent.stdout is not None
        lines = [self.parent.stdout.readline() for _ in range(2 * len(uids))]
        self.pids = [int(line) for line in lines if line != "begins\n"]  # all of them began

    def __enter__(self) -> Learners:
        return self

    def __exit__(self, *_exc: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.parent.pid, signal.SIGKILL)
        self.parent.communicate(timeout=PATIENCE)

    def wait(self) -> None:
        _, errors = self.parent.communicate(timeout=100)
        assert (self.parent.returncode, errors) == (0, "")


def rebuilt(workdir: Path, url: str | None) -> Rows:
    """What a database holds that is made from the logs alone."""
    config = configuration(workdir, url)
    with Store(config) as store:
        for folder in sorted((workdir / "episodes").iterdir()):
            store.take_in_log(folder)
    return dump(config)


def from_scratch(workdir: Path, tmp_path: Path) -> Rows:
    return rebuilt(workdir, f"sqlite:///{tmp_path}/scratch.db")


@pytest.mark.soak
def test_eight_processes_at_once_lose_nothing(tmp_path: Path, url: str | None) -> None:
    workdir = tmp_path / "game_files"
    with Learners(workdir, url, 12) as learners:
        learners.wait()
    stored = dump(configuration(workdir, url))
    assert len(stored["zorkgpt_memories"]) == 8 * 12
    assert len(stored["zorkgpt_claim_changes"]) == 8 * 12
    assert stored == from_scratch(workdir, tmp_path)


@postgresql_by_hand
def test_processes_killed_at_any_instant_leave_every_stored_reflection_there_once(
    tmp_path: Path, url: str | None
) -> None:
    workdir = tmp_path / "game_files"
    dice = random.Random(7)
    with Learners(workdir, url, 100_000) as learners:
        for pid in dice.sample(learners.pids, len(learners.pids)):
            select.select([], [], [], dice.uniform(0, 0.1))  # the instant is what is random
            os.kill(pid, signal.SIGKILL)
        learners.parent.wait(PATIENCE)
    # A line that was cut off was not said.
    said = {uid: (workdir / uid).read_text().count("\n") for uid in UIDS}
    assert sum(said.values()) > 0
    before = dump(configuration(workdir, url))
    for uid, last in said.items():
        numbers = [row[1] for row in before["zorkgpt_memories"] if row[0] == uid]
        assert numbers[:last] == list(range(1, last + 1))
        assert len(numbers) <= last + 1  # stored, and killed before it said so
    scratch = from_scratch(workdir, tmp_path)
    for table, rows in before.items():
        if table not in {"zorkgpt_episodes", "zorkgpt_passages"}:
            assert set(rows) <= set(scratch[table])
    assert rebuilt(workdir, url) == scratch
    if url is None:
        with closing(sqlite3.connect(workdir / "knowledge.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.soak
@postgresql_by_hand
def test_a_rebuild_beside_running_episodes_undoes_nothing(tmp_path: Path, url: str | None) -> None:
    workdir = tmp_path / "game_files"
    with Learners(workdir, url, 15) as learners:
        config = configuration(workdir, url)
        with Store(config) as store:
            while learners.parent.poll() is None:
                for uid in UIDS:
                    store.take_in_log(workdir / "episodes" / f"episode-{uid}")
        learners.wait()
    assert dump(config) == from_scratch(workdir, tmp_path)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else is writing."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")


def test_a_locked_database_is_waited_for(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    episode = LoggedEpisode(tmp_path, "aaaaaa").add(reflection("aaaaaa", 1))
    with Store(config) as store:
        writer = threading.Thread(target=store.take_in_log, args=(episode.folder,))
        with locked(tmp_path / "knowledge.db"):
            writer.start()
            writer.join(0.3)
            assert writer.is_alive()
            assert store.carried_over(STORY).episodes == 0  # readers do not wait
        writer.join(PATIENCE)
        assert [it.id for it in store.carried_over(STORY).memories] == ["aaaaaa-m1"]


def test_a_database_that_stays_locked_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.database._BUSY_SECONDS", 0.1)
    with Store(configuration(tmp_path)) as store, locked(tmp_path / "knowledge.db"):
        episode = LoggedEpisode(tmp_path, "aaaaaa")
        with pytest.raises(StorageError, match="database is locked"):
            store.take_in_log(episode.folder)


def test_a_full_disk_is_a_clear_error_and_what_was_stored_stays(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    small, large = LoggedEpisode(tmp_path, "aaaaaa"), LoggedEpisode(tmp_path, "bbbbbb")
    small.add(reflection("aaaaaa", 1))
    with Store(config) as store:
        store.take_in_log(small.folder)
    before = dump(config)
    text = memory("bbbbbb", 1, "x" * 1_000_000)
    large.add(reflection("bbbbbb", 1, memories=(text,)))
    program = Program(ROOT, "-m", "storage")
    done = program.run("rebuild", "--workdir", str(tmp_path), limit=_no_large_files)
    assert done.returncode == 1
    assert "cannot be used" in done.stderr
    assert "storage_database_url" in done.stderr
    assert dump(config) == before


def _no_large_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))


def test_a_database_that_may_only_be_read_is_read(tmp_path: Path) -> None:
    episode = LoggedEpisode(tmp_path, "aaaaaa").add(reflection("aaaaaa", 1))
    with Store(configuration(tmp_path)) as store:
        store.take_in_log(episode.folder)
    read_only = f"sqlite:///file:{tmp_path}/knowledge.db?mode=ro&uri=true"
    with Store(configuration(tmp_path, read_only)) as store:
        assert len(store.carried_over(STORY).memories) == 1
        with pytest.raises(StorageError, match=r"readonly.*python -m storage rebuild"):
            store.take_in_log(episode.folder)
        with pytest.raises(StorageError, match="readonly"):
            store.take_in("aaaaaa", reflection("aaaaaa", 2))


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:////dev/null/knowledge.db",
        "mysql://host/base",
        "nonsense",
        "postgresql://me:secret-word@127.0.0.1:1/base",
    ],
)
def test_a_database_that_cannot_be_used_is_a_clear_error_without_its_password(
    tmp_path: Path, url: str
) -> None:
    with pytest.raises(StorageError, match="storage_database_url") as raised:
        Store(configuration(tmp_path, url))
    assert "secret-word" not in str(raised.value)


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="Cannot create"):
        Store(configuration(tmp_path / "file" / "game_files"))


def test_the_database_is_imported_only_when_it_is_used() -> None:
    program = (
        "import sys, session.knowledge, storage.errors, storage.__main__, storage.files.edits\n"
        "print('sqlalchemy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
