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
from pathlib import Path
from typing import Any

import pytest

from tests.support import PATIENCE

_numbers = itertools.count(1)
_INITDB_OPTIONS = ("-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
_OPTIONS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "listen_addresses=")


def new_database() -> str:
    """The URL of an empty schema; the test is skipped where PostgreSQL is not installed."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    folder = _running_cluster(programs)
    name = f"test_{next(_numbers)}"
    _sql(folder, f"CREATE SCHEMA {name}")  # much faster than a database
    return f"postgresql://tester@/postgres?host={folder}&options=-csearch_path%3D{name}"


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


@functools.cache
def _running_cluster(programs: Path) -> Path:
    """A folder with a cluster's data and its socket; both are gone when the tests end."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a socket's path has to be short
    user = _unprivileged()
    if user:
        os.chown(folder, user["user"], user["group"])
    data = str(folder / "data")
    subprocess.run(
        [str(programs / "initdb"), "-D", data, *_INITDB_OPTIONS],
        check=True,
        capture_output=True,
        timeout=PATIENCE,
        cwd=folder,
        **user,
    )
    options = [part for option in _OPTIONS for part in ("-c", option)]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-k", folder, *options],
            stdout=log,
            stderr=log,
            cwd=folder,
            **user,
        )
    atexit.register(_stop, server, folder)
    _wait_until_ready(server, folder)
    return folder


def _unprivileged() -> dict[str, Any]:
    """PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _wait_until_ready(server: subprocess.Popen[bytes], folder: Path) -> None:
    import psycopg

    end = time.monotonic() + PATIENCE
    while True:
        try:
            return _sql(folder, "SELECT 1")
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > end:
                pytest.fail(f"PostgreSQL did not start: {(folder / 'log').read_text()}")
            time.sleep(0.02)


def _sql(folder: Path, statement: str) -> None:
    import psycopg

    with psycopg.connect(f"postgresql://tester@/postgres?host={folder}", autocommit=True) as it:
        it.execute(statement.encode())


def _stop(server: subprocess.Popen[bytes], folder: Path) -> None:
    server.send_signal(signal.SIGINT)  # which ends all connections first
    try:
        server.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        server.send_signal(signal.SIGQUIT)
        server.wait(PATIENCE)
    shutil.rmtree(folder, ignore_errors=True)
