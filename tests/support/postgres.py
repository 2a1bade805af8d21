"""A throw-away PostgreSQL from the system's packages, started when a test first asks for it."""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import PATIENCE

GUARDED = "guarded"
"""A user who would have to give a password."""
_numbers = itertools.count(1)
_INITDB_OPTIONS = ("-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
_OPTIONS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "listen_addresses=")


def new_database() -> str:
    """The URL of an empty schema; the test is skipped where PostgreSQL is not installed."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    folder = _running_cluster(programs).folder
    name = f"test_{next(_numbers)}"
    _sql(folder, f"CREATE SCHEMA {name}")  # much faster than a database
    return f"postgresql://tester@/postgres?host={folder}&options=-csearch_path%3D{name}"


def restart() -> None:
    """Let the server end its connections at once, and start it again."""
    programs = _programs()
    assert programs is not None
    cluster = _running_cluster(programs)
    cluster.stop()
    cluster.start()


@contextmanager
def stopped() -> Iterator[Callable[[], None]]:
    """No server until the function given is called, or to the end of the block."""
    programs = _programs()
    assert programs is not None
    cluster = _running_cluster(programs)
    cluster.stop()
    try:
        yield cluster.start
    finally:
        if not cluster.is_running:
            cluster.start()


def _programs() -> Path | None:
    """Where initdb and postgres are."""
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    if on_path:
        candidates.insert(0, Path(on_path).resolve().parent)
    for folder in candidates:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    return None


class _Cluster:
    """A server with its data and its socket in one folder."""

    def __init__(self, programs: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a socket's path has to be short
        self._programs = programs
        self._user = _unprivileged()
        if self._user:
            os.chown(self.folder, self._user["user"], self._user["group"])
        self._data = str(self.folder / "data")
        subprocess.run(
            [str(programs / "initdb"), "-D", self._data, *_INITDB_OPTIONS],
            check=True,
            capture_output=True,
            timeout=PATIENCE,
            cwd=self.folder,
            **self._user,
        )
        rules = self.folder / "data/pg_hba.conf"
        rules.write_text(f"local all {GUARDED} scram-sha-256\n{rules.read_text()}")

    def start(self) -> None:
        options = [part for option in _OPTIONS for part in ("-c", option)]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, "-k", self.folder, *options],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **self._user,
            )
        self._wait_until_ready()

    @property
    def is_running(self) -> bool:
        return self._server.poll() is None

    def stop(self) -> None:
        self._server.send_signal(signal.SIGINT)  # which ends all connections first
        try:
            self._server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._server.send_signal(signal.SIGQUIT)
            self._server.wait(PATIENCE)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_until_ready(self) -> None:
        import psycopg

        end = time.monotonic() + PATIENCE
        while True:
            try:
                return _sql(self.folder, "SELECT 1")
            except psycopg.OperationalError:
                if self._server.poll() is not None or time.monotonic() > end:
                    said = (self.folder / "log").read_text()
                    pytest.fail(f"PostgreSQL did not start: {said}")
                time.sleep(0.02)


@functools.cache
def _running_cluster(programs: Path) -> _Cluster:
    """Both the server and its folder are gone when the tests end."""
    cluster = _Cluster(programs)
    atexit.register(cluster.remove)
    cluster.start()
    return cluster


def _unprivileged() -> dict[str, Any]:
    """PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _sql(folder: Path, statement: str) -> None:
    import psycopg

    with psycopg.connect(f"postgresql://tester@/postgres?host={folder}", autocommit=True) as it:
        it.execute(statement.encode())
