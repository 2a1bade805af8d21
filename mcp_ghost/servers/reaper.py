"""No server outlives the program, however the program ends.

``guard`` and ``release`` tell a tiny helper process which process groups are ours, through a pipe.
The pipe closes when the program ends, SIGKILL included; the helper then ends the groups that are
left, and itself. It is this file, run as a script, and started with the first group.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import subprocess
import sys
import threading
import time

_TERM_GRACE = 1.0
_EXIT_WAIT = 0.2
_logger = logging.getLogger(__name__)


class _Reaper:
    """Our end of the pipe to the helper."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._helper: subprocess.Popen[bytes] | None = None

    def guard(self, pgid: int) -> None:
        """End the process group ``pgid`` if this program ends without having released it."""
        with self._lock:
            self._groups.add(pgid)
            if not self._tell(b"+%d\n" % pgid):
                self._start()

    def release(self, pgid: int) -> None:
        """Forget ``pgid``; its processes are gone."""
        with self._lock:
            self._groups.discard(pgid)
            self._tell(b"-%d\n" % pgid)

    def _tell(self, line: bytes) -> bool:
        if self._helper is None or self._helper.stdin is None:
            return False
        try:
            os.write(self._helper.stdin.fileno(), line)
        except BrokenPipeError:  # somebody killed the helper
            self._helper.stdin.close()
            self._helper.wait()
            self._helper = None
        return self._helper is not None

    def _start(self) -> None:
        # -S -I: nothing of the user's environment delays or changes it. Its own session keeps
        # Ctrl-C in the terminal from ending it before the servers.
        try:
            self._helper = subprocess.Popen(
                [sys.executable, "-S", "-I", __file__],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:  # too many processes: the servers work without it
            _logger.warning("Servers may outlive a killed program: %s", error)
        for pgid in self._groups:
            self._tell(b"+%d\n" % pgid)

    def stop(self) -> None:
        """Let the helper go at exit; only groups that were never released can keep it."""
        if self._helper is not None and self._helper.stdin is not None:
            self._helper.stdin.close()
            try:
                self._helper.wait(_EXIT_WAIT)
            except subprocess.TimeoutExpired:
                self._helper.returncode = 0  # it ends by itself; no warning about it

    def forget(self) -> None:
        """In a forked child: the groups and the helper are the parent's."""
        self._lock = threading.Lock()
        self._groups = set()
        if self._helper is not None and self._helper.stdin is not None:
            self._helper.stdin.close()
            self._helper.returncode = 0
        self._helper = None


_reaper = _Reaper()
guard, release = _reaper.guard, _reaper.release


def _help() -> None:
    """The helper: read until the program is gone, then end what it left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
    groups = {pgid for pgid in groups if signal_group(pgid, signal.SIGTERM)}
    deadline = time.monotonic() + _TERM_GRACE
    while groups and time.monotonic() < deadline:
        time.sleep(0.02)
        groups = {pgid for pgid in groups if signal_group(pgid, 0)}
    for pgid in groups:
        signal_group(pgid, signal.SIGKILL)


def signal_group(pgid: int, number: int) -> bool:
    """Send a signal to a process group; whether it had members."""
    try:
        os.killpg(pgid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    _help()
    os._exit(0)
else:
    atexit.register(_reaper.stop)
    os.register_at_fork(after_in_child=_reaper.forget)
