"""Episodes as forks of a process that has imported what they need, as takes most of a short one.

The warm process has one thread and does nothing but fork, so a fork is what a process of its own
would be after its imports. It has one fork at a time, and ends when its worker does.
"""

import gc
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from evaluation import episode
from evaluation.fleet.start import ROOT, Started, environment
from mcp_ghost.servers import reaper

_IMPORTED = (
    "dotenv",
    "orchestration.zork_orchestrator_v2",
    "evaluation.agreement",
    "evaluation.fleet.line",
)
_BYTES = 1 << 16


class Fork:
    """One episode, as ``subprocess.Popen`` would show it."""

    def __init__(self, control: "_Control", pid: int, stdin: IO[bytes]) -> None:
        self.pid, self.stdin = pid, stdin
        self.returncode: int | None = None
        self._control = control

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        if self.returncode is None:
            try:
                line = self._control.line(0.0)
                self.returncode = None if line is None else int(line)
            except ConnectionError:  # somebody killed the warm process, who alone would know
                self.end()
        return self.returncode

    def end(self) -> None:
        """End it at once, if it has not ended."""
        if self.returncode is None:
            reaper.signal_group(self.pid, signal.SIGKILL)
            self.returncode = -signal.SIGKILL

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises:
            subprocess.TimeoutExpired: It plays on.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired("an episode", timeout or 0.0)
            self._control.ready(left)
        return code


class _Control:
    """The worker's end of the line to its warm process."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._left = b""

    def ready(self, seconds: float | None) -> bool:
        """Whether there is something to read, within so many seconds."""
        return b"\n" in self._left or bool(select.select([self.connection], [], [], seconds)[0])

    def line(self, seconds: float | None = None) -> bytes | None:
        """What was said; None if nothing was within so many seconds.

        Raises:
            ConnectionError: There is nobody any more.
        """
        while b"\n" not in self._left:
            if not self.ready(seconds):
                return None
            if not (data := self.connection.recv(_BYTES)):
                raise ConnectionError("The process that episodes are forked from is gone.")
            self._left += data
        line, _, self._left = self._left.partition(b"\n")
        return line


class Warm:
    """Starts the episodes of a worker, one after the other."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._control: _Control | None = None
        self._environment: dict[str, str] = {}
        self._last: Fork | None = None

    def __call__(
        self, errors: IO[bytes], line: socket.socket, _inherited: list[int], cwd: str | None
    ) -> Started:
        """Fork one; what a plain process would inherit besides, a worker has none of."""
        control = self._ready()
        reading, writing = os.pipe()
        stdin = os.fdopen(writing, "wb")
        try:
            given = [reading, errors.fileno(), line.fileno()]
            socket.send_fds(control.connection, [os.fsencode(cwd or Path.cwd())], given)
            pid, number = (int(word) for word in (control.line() or b"").split())
        except OSError:
            stdin.close()
            self.close()
            raise
        finally:
            os.close(reading)
        self._last = Fork(control, pid, stdin)
        return Started(self._last, number)

    def close(self) -> None:
        """End it, and its episode, which nobody waits for any more."""
        if self._last:
            self._last.end()
        if self._process and self._control:
            self._control.connection.close()  # at which it ends
            self._process.kill()
            self._process.wait()
            reaper.release(self._process.pid)
        self._process = self._control = self._last = None

    def _ready(self) -> _Control:
        """The line to one that is alive and has the environment of today."""
        # Of what Ray tells its workers, an episode needs nothing; the token opens the cluster.
        now = {name: it for name, it in environment().items() if not name.startswith("RAY_")}
        idle = self._last is None or self._last.returncode is not None
        alive = self._process is not None and self._process.poll() is None
        if self._control and alive and idle and self._environment == now:
            return self._control
        self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
                env=now,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        reaper.guard(self._process.pid)
        self._control, self._environment = _Control(ours), now
        return self._control


def main(connection: socket.socket) -> int:
    """Fork whenever told to; returns the exit code of the episode, in each fork."""
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # or each collection would copy what the forks share
    while True:
        where, given, _, _ = socket.recv_fds(connection, _BYTES, 3)
        if not where:
            return 0
        if not (pid := os.fork()):
            _become(connection, given, where)
            return episode.main()
        for descriptor in given:
            os.close(descriptor)
        _, status = os.waitpid(pid, 0)
        try:
            connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
        except BrokenPipeError:  # the worker is gone
            return 0


def _become(connection: socket.socket, given: list[int], where: bytes) -> None:
    """Have a session, files and a folder of our own; only then does the worker hear of us."""
    os.setsid()
    orders, errors, line = given
    os.dup2(orders, 0)
    os.dup2(errors, 2)
    os.close(orders)
    os.close(errors)
    os.chdir(where)
    connection.sendall(b"%d %d\n" % (os.getpid(), line))
    connection.close()


if __name__ == "__main__":
    sys.exit(main(socket.socket(fileno=int(sys.argv[1]))))
