"""What a worker shows of its jobs while they run."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from mcp_ghost.testing import ModelRequest, ModelServer
from movie_generator.queue.jobs import JobQueue
from tests.support import PATIENCE
from tests.support.movie import script_reply, site
from tests.support.program import Program, killed_at_last
from tests.terminal.test_view import kept_by_terminal

PAGE = ("text/html", b"<title>Bridges</title><p>Bridges cross rivers.</p>")
PAGES: dict[str, Any] = {"/one": PAGE, "/two": PAGE}
ROWS = r"job 1 · [\d.]+ m?s · 55% · .* is writing the script.*\s+job 2 · [\d.]+ m?s · 55% · "


def worker(folder: Path, model: ModelServer) -> Program:
    program = Program(folder, "-m", "movie_generator", "worker", "--drain", "--concurrency", "2")
    program.env |= {"MOVIE_ALLOW_PRIVATE_URLS": "1", "OPENROUTER_BASE_URL": model.base_url}
    return program


def enqueue(folder: Path, site_url: str) -> None:
    with closing(JobQueue(f"sqlite:///{folder / 'movie_jobs.db'}")) as queue:
        queue.enqueue([f"{site_url}/one", f"{site_url}/two"])


def pieces(terminal: int) -> Iterator[str]:
    """What is written to a terminal, as it comes, until it is closed."""
    while select.select([terminal], [], [], PATIENCE)[0]:
        try:
            yield os.read(terminal, 65536).decode()
        except OSError:  # Linux's way to say that the other end is closed
            return


@pytest.mark.parametrize(("number", "code"), [(None, 0), (signal.SIGINT, 130)])
def test_on_a_terminal_each_running_job_has_a_line_that_is_gone_in_the_end(
    tmp_path: Path, number: signal.Signals | None, code: int
) -> None:
    answers = Event()

    def reply(_: ModelRequest) -> str:
        answers.wait(PATIENCE)
        return script_reply()

    ours, theirs = pty.openpty()
    shown, seen = "", False
    with site(PAGES) as served, ModelServer(reply) as model:
        enqueue(tmp_path, served.url)
        process = worker(tmp_path, model).start(stderr=theirs)
        os.close(theirs)
        with killed_at_last(process):
            for piece in pieces(ours):
                shown += piece
                plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown)
                if not seen and re.search(ROWS, plain):
                    seen = True
                    process.send_signal(number) if number else answers.set()
            assert process.wait(PATIENCE) == code
        answers.set()
        os.close(ours)
    assert seen, shown
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")  # the cursor is back
    kept = kept_by_terminal(shown.replace("\r\n", "\n"))
    assert "is writing" not in kept
    assert "waiting for jobs" not in kept
    for job in (1, 2):
        assert re.search(rf"\d\d:\d\d:\d\d job {job} started: {served.url}", kept)
        assert f"job {job} {'given back' if number else 'completed: Bridges'}" in kept


def test_elsewhere_every_step_is_a_line_of_its_own(tmp_path: Path) -> None:
    with site(PAGES) as served, ModelServer(lambda _: script_reply()) as model:
        enqueue(tmp_path, served.url)
        done = worker(tmp_path, model).run()
    assert done.returncode == 0
    assert "\x1b" not in done.stderr
    lines = done.stderr.splitlines()
    for job in (1, 2):
        told = [line for line in lines if f" job {job} " in line]
        assert re.search(rf" job {job} 55% after .*: .* is writing the script", "\n".join(told))
        assert told[-1].endswith(f"job {job} completed: Bridges")
