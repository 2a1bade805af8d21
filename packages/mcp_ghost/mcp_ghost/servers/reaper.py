"""No server outlives the program, however the program ends, and nothing outlives its server.

``guard`` and ``release`` tell a tiny helper process which process groups are ours, through a pipe.
The pipe closes when the program ends, SIGKILL included; the helper then ends the groups that are
left, and itself. It is this file, run as a script, and started with the first group.

What leaves its group with ``setsid`` and forks twice has neither group nor parent of ours. Linux
shows the environment that a process was started with, so each server gets a variable of its own,
and what has it is a stray. A child subreaper would need a process more for each server, or make
the whole program one, and would know nothing after a SIGKILL.
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
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TERM_GRACE = 1.0
_EXIT_WAIT = 0.2
MARK = "MCP_GHOST_SERVER"
"""The variable that tells a server's processes from all others."""
NO_MARK = "-"
_ENVIRONMENT_BYTES = 1 << 21
_ROUNDS = 50
_PAUSE = 0.01
"""Seconds between looks for strays: one may have forked, and dying takes a moment."""
_FEW = 64
"""Up to so many numbers are tried one by one; for more, listing the processes is faster."""
_HURRIED = 16
"""Numbers tried beyond the newest: processes may start meanwhile."""
_EXEC = 0.5
"""Seconds until the last look: a process shows no environment while it becomes another program."""
_logger = logging.getLogger(__name__)


class _Reaper:
    """Our end of the pipe to the helper."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: dict[int, str] = {}
        self._helper: subprocess.Popen[bytes] | None = None

    def guard(self, pgid: int, mark: str = NO_MARK) -> None:
        """End the process group ``pgid`` if this program ends without having released it.

        ``mark`` is the value of ``MARK`` in its environment, if what leaves the group goes too.
        """
        with self._lock:
            self._groups[pgid] = mark
            if self._tell(b"+%d %s\n" % (pgid, mark.encode())):
                return
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
            for guarded, its_mark in self._groups.items():
                self._tell(b"+%d %s\n" % (guarded, its_mark.encode()))

    def release(self, pgid: int) -> None:
        """Forget ``pgid``; its processes are gone."""
        with self._lock:
            self._groups.pop(pgid, None)
            self._tell(b"-%d -\n" % pgid)

    def _tell(self, line: bytes) -> bool:
        if self._helper is None or self._helper.stdin is None:
            return False
        try:
            os.write(self._helper.stdin.fileno(), line)
        except BrokenPipeError:  # somebody killed the helper
            self._helper.communicate()
            self._helper = None
        return self._helper is not None

    def stop(self) -> None:
        """Let the helper go at exit; only groups that were never released can keep it."""
        if self._helper is not None:
            with suppress(subprocess.TimeoutExpired):
                self._helper.communicate(timeout=_EXIT_WAIT)
            self._helper.returncode = 0  # it ends by itself; no warning about it

    def forget(self) -> None:
        """In a forked child: the groups and the helper are the parent's."""
        self._lock = threading.Lock()
        self._groups = {}
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
    guarded: dict[int, str] = {}
    for line in sys.stdin:
        pgid, mark = line[1:].split()
        guarded.pop(int(pgid), None)
        if line[0] == "+":
            guarded[int(pgid)] = mark
    groups = {pgid for pgid in guarded if signal_group(pgid, signal.SIGTERM)}
    deadline = time.monotonic() + _TERM_GRACE
    while groups and time.monotonic() < deadline:
        time.sleep(0.02)
        groups = {pgid for pgid in groups if signal_group(pgid, 0)}
    for pgid in groups:
        signal_group(pgid, signal.SIGKILL)
    strays = {pgid: mark for pgid, mark in guarded.items() if mark != NO_MARK}
    for pause in (_EXEC, 0) if strays else ():
        for pgid, mark in strays.items():
            end_strays(pgid, mark)
        time.sleep(pause)


def end_strays(pid: int, mark: str) -> None:
    """Kill what the server ``pid`` started, wherever it went; on Linux only."""
    killed: set[int] = set()
    for _ in range(_ROUNDS):
        strays = [*_marked(pid, f"{MARK}={mark}\0".encode())]
        for stray in strays:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(stray, signal.SIGKILL)
        killed.update(strays)
        if not strays and not any(map(_is_dying, killed)):
            return
        time.sleep(_PAUSE)


def _is_dying(pid: int) -> bool:
    """Whether a killed process is still exiting: without its memory, it shows no environment."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def _marked(first: int, variable: bytes) -> Iterator[int]:
    """The processes that were started since ``first`` with ``variable`` in their environment."""
    try:
        with open("/proc/loadavg", "rb") as file:  # noqa: PTH123 - pathlib would be an import
            newest = int(file.read().split()[-1])
        numbers: Iterable[int] = range(first, newest + _HURRIED)
        if not 0 <= newest - first < _FEW:
            # Numbers are given out in turn; when they have begun anew, any of them may be ours.
            least = first if newest >= first else 0
            names = os.listdir("/proc")  # noqa: PTH208 - likewise
            numbers = [int(it) for it in names if it.isdigit() and int(it) >= least]
    except OSError:  # not Linux
        return
    for number in numbers:
        try:
            with open(f"/proc/{number}/environ", "rb") as file:  # noqa: PTH123
                if variable in b"\0" + file.read(_ENVIRONMENT_BYTES) + b"\0":
                    yield number
        except OSError:  # gone, or somebody else's
            continue


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


def exit_reason(code: int) -> str:
    """Name the signal that ended a process, or say its exit code."""
    with suppress(ValueError):  # real-time signals have no names
        return signal.Signals(-code).name
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
