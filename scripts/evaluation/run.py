"""The episodes of a plan, each in its own process; none of them outlives this one.

A process gets its orders through a pipe once the reaper guards it. So whenever this program is
killed, an episode has either not begun or is ended by the reaper.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_ghost.servers import reaper
from scripts.evaluation.figures import EpisodeFigures, LogTail
from scripts.evaluation.plan import Cell, Plan
from scripts.evaluation.progress import Progress
from session.configuration_file import ConfigurationError
from session.record.event_log import EVENTS_FILE

ROOT = Path(__file__).parents[2]
_POLL = 0.1
_SIGNALS = {it.value: it.name for it in signal.Signals}  # real-time ones have no names
_STOP_WAIT = 8.0
"""Seconds for an episode to release what it opened: twice what an MCP server may take."""
_LOCK_WAIT = 5.0
"""Seconds for the episodes of a killed evaluation to be gone."""


class EpisodeProcess:
    """One episode being played."""

    def __init__(self, plan: Plan, cell: Cell, lock: int, threads: int | None) -> None:
        self.cell = cell
        self.tail = LogTail(plan.folder(cell) / EVENTS_FILE)
        self._errors = plan.errors(cell)
        self._errors.parent.mkdir(parents=True, exist_ok=True)
        job = json.dumps(plan.job(cell, threads))
        paths = [str(ROOT), os.environ.get("PYTHONPATH")]
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                # -P: a file in the working directory must not replace a module.
                [sys.executable, "-P", "-m", "scripts.evaluation.episode"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
                pass_fds=(lock,),  # the folder is taken until the last episode is gone
                start_new_session=True,  # Ctrl-C is for this program, which then stops them all
            )
        reaper.guard(self._process.pid)
        self._begin(job)

    def ended(self) -> bool:
        """Whether it is over; then ``failure`` says how."""
        if self._process.poll() is None:
            return False
        self._let_go()
        return True

    @property
    def failure(self) -> str:
        """Why the process could not play the episode; empty when it could."""
        code = self._process.returncode
        if code == 0:
            return ""
        lines = self._last_words().strip().splitlines()
        if code < 0:
            return f"killed by {_SIGNALS.get(-code, f'signal {-code}')}"
        return f"{lines[-1] if lines else f'exit code {code}'} ({self._errors})"

    def stop(self) -> None:
        """Ask it to end."""
        self._signal(signal.SIGTERM)

    def wait(self, deadline: float) -> None:
        """Wait until it is gone; after ``deadline`` it is killed."""
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
        self._let_go()

    def kill(self) -> None:
        """End it at once; what it started ends with it."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _begin(self, job: str) -> None:
        if self._process.stdin is None:
            raise RuntimeError("The episode has no standard input.")
        with (
            suppress(BrokenPipeError),
            self._process.stdin as stdin,
        ):  # it says why, or its code
            stdin.write(job.encode() + b"\n")

    def _signal(self, number: int) -> None:
        if self._process.poll() is None:  # else the id may be somebody else's by now
            reaper.signal_group(self._process.pid, number)

    def _let_go(self) -> None:
        reaper.release(self._process.pid)
        if not self._last_words():
            self._errors.unlink(missing_ok=True)

    def _last_words(self) -> str:
        with suppress(FileNotFoundError):
            return self._errors.read_text(encoding="utf-8", errors="replace")
        return ""


def play(
    plan: Plan, lines: Sequence[Sequence[Cell]], progress: Progress, *, jobs: int, lock: int
) -> dict[Cell, str]:
    """Play ``lines`` to their ends, ``jobs`` episodes at once; why some did not get there."""
    failures: dict[Cell, str] = {}
    waiting = deque(deque(line) for line in lines)
    running: dict[EpisodeProcess, deque[Cell]] = {}
    threads = max(1, cores() // jobs) if plan.config.uses_embedded_model else None
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                line = waiting.popleft()
                running[EpisodeProcess(plan, line.popleft(), lock, threads)] = line
            time.sleep(_POLL)
            progress.show([(process.cell, process.tail.update()) for process in running])
            for process in [process for process in running if process.ended()]:
                line = running.pop(process)
                played = EpisodeFigures.read(plan.folder(process.cell))
                progress.ended(process.cell, played, process.failure)
                if not played.finished:
                    failures[process.cell] = process.failure or played.end_reason
                elif line:
                    waiting.appendleft(line)
    finally:
        _stop_all(list(running))
    return failures


def unfinished(plan: Plan) -> list[list[Cell]]:
    """What of each line is still to be played."""
    rest = (
        [cell for cell in line if not EpisodeFigures.read(plan.folder(cell)).finished]
        for line in plan.lines()
    )
    return [line for line in rest if line]


def cores() -> int:
    """Processors that this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def taken(folder: Path) -> Iterator[int]:
    """The folder for us alone; gives the descriptor that holds it for whoever inherits it.

    Raises:
        ConfigurationError: Another evaluation has it, or it cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write to {folder} ({error.strerror}): choose another --out."
        ) from error
    try:
        _lock(lock, folder)
        yield lock
    finally:
        os.close(lock)


def _lock(lock: int, folder: Path) -> None:
    deadline = time.monotonic() + _LOCK_WAIT
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if time.monotonic() > deadline:
                raise ConfigurationError(
                    f"Another evaluation is playing into {folder}: wait until it ends, "
                    "or choose another --out."
                ) from error
            time.sleep(_POLL)


def _stop_all(running: Sequence[EpisodeProcess]) -> None:
    try:
        for process in running:
            process.stop()
        deadline = time.monotonic() + _STOP_WAIT
        for process in running:
            process.wait(deadline)
    except BaseException:  # a second Ctrl-C
        for process in running:
            process.kill()
        raise
