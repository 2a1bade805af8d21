"""One episode in its own process, which does not outlive this one.

A process gets its orders through a pipe once the reaper guards it. So whenever this program is
killed, an episode has either not begun or is ended by the reaper.
"""

import json
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from evaluation.fleet.line import Answer, serve
from evaluation.fleet.start import Start, start
from mcp_ghost.servers import reaper

_SIGNALS = {it.value: it.name for it in signal.Signals}  # real-time ones have no names


class EpisodeProcess:
    """One episode being played."""

    def __init__(
        self,
        job: dict[str, Any],
        errors: Path,
        answer: Answer,
        *,
        lock: int | None = None,
        cwd: Path | None = None,
        begin: Start = start,
    ) -> None:
        """Start it; ``errors`` is where it says what went wrong, ``answer`` what it may do."""
        self._errors = errors
        self._errors.parent.mkdir(parents=True, exist_ok=True)
        ours, theirs = socket.socketpair()
        inherited = [] if lock is None else [lock]  # taken until the last episode is gone
        with self._errors.open("wb") as output, theirs:
            self._process, line = begin(output, theirs, inherited, str(cwd) if cwd else None)
            job = {**job, "line": line}
        reaper.guard(self._process.pid)
        serve(ours, answer)
        self._begin(json.dumps(job))

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
        if not code:
            return ""
        lines = self.last_words().strip().splitlines()
        if code < 0:
            return f"killed by {_SIGNALS.get(-code, f'signal {-code}')}"
        if not lines:
            hint = ": is the disk full?" if code == 1 else ""
            return f"exit code {code}, without a message{hint}"
        return f"{lines[-1]} ({self._errors})"

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

    def last_words(self) -> str:
        """What it wrote to its standard error."""
        with suppress(FileNotFoundError):
            return self._errors.read_text(encoding="utf-8", errors="replace")
        return ""

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
        if not self.last_words():
            self._errors.unlink(missing_ok=True)
