"""One server process: started in its own process group, and gone with all of it after ``stop``.

The SDK's transport leaves children of the server alive and polls for its exit; this one does not.
POSIX only.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import signal
import sys
import termios
import time
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from mcp_ghost.servers import reaper

_MOST_LINE_BYTES = 65_536
"""Of a program that is not an MCP server."""
POLITE_GRACE = 2.0
"""Seconds for the exit that a closed stdin asks for."""
_TERM_GRACE = 1.0
_CLOSE_WAIT = 1.0
_KILL_WAIT = 0.1
_LAST_OUTPUT_WAIT = 0.03
"""Seconds for output that was still in a pipe when the process ended."""
_SKIPPED_LINES = 15
_MOST_SKIPPED_BYTES = 1024
"""Of a line that is kept; a part of one could hide a secret."""
STDERR_BYTES = 65_536
"""Of what a server wrote to stderr, this much of the end is kept."""


NEEDED_BY_ALL = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""What the SDK passes on, too; no process does well without."""


_OWN_KEY = re.compile(
    "(?:OPENROUTER|OPENAI|ANTHROPIC|GOOGLE|GEMINI|ZORKGPT_CLIENT)_API_KEY"
    "|LANGFUSE_(?:SECRET|PUBLIC)_KEY"
)
_OWN_ADDRESS = re.compile("(?:MOVIE_|ZORKGPT_STORAGE_)DATABASE_URL|(?i:(?:https?|all)_proxy)")


def child_environment(
    configured: Mapping[str, str] | None,
    inherit: bool | Sequence[str] = True,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """``environ`` with ``configured`` on top.

    All of it is inherited but what ``withheld`` names, or with False only ``NEEDED_BY_ALL``, or
    these and the names given.
    PATH starts with this interpreter's folder, so that "python" and tools installed beside it are
    found without an activated environment; a configured PATH is left as it is.
    """
    here = str(Path(sys.executable).parent)
    path = os.pathsep.join([here, environ.get("PATH", os.defpath)])
    every = environ.keys() - {*withheld(environ)}
    names = every if inherit is True else {*NEEDED_BY_ALL, *(inherit or ())}
    inherited = {name: value for name, value in environ.items() if name in names}
    return {**inherited, "PATH": path, **(configured or {})}


def withheld(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The variables that a server gets only if its entry names them: this program's own secrets.

    Of addresses of databases and proxies, these are the ones with a password.
    """
    return sorted(
        name
        for name, value in environ.items()
        if _OWN_KEY.fullmatch(name)
        or (_OWN_ADDRESS.fullmatch(name) and re.search(r"://[^/@]*:[^/@]+@", value))
    )


class ServerProcess(asyncio.SubprocessProtocol):
    """A running server, of whose output and end asyncio tells it; made by ``start``."""

    def __init__(self, mark: str, most_line_bytes: int) -> None:
        self.stdout = asyncio.StreamReader(limit=most_line_bytes)
        self.is_connected = True
        """Whether more output can come."""
        self.fault: str | None = None
        """What made us stop listening."""
        self.ended_by_itself = False
        """Known after ``stop``: whether there was nothing left to stop."""
        self._mark = mark
        self._sent: int | None = None
        """The pipe to its stdin, which asyncio closes when its reader is gone."""
        self._has_been_told = False
        self._had_read: bool | None = None
        """Known after ``stop``."""
        self._is_released = False
        """Whether its number may be another process's by now."""
        self._skipped: deque[bytes] = deque(maxlen=_SKIPPED_LINES)
        self._stderr = bytearray()
        """The end of it."""
        self._stderr_bytes = 0
        """How much there was altogether."""
        self._stderr_ended = asyncio.Event()
        self._exited = asyncio.Event()
        self._closed = asyncio.Event()

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        most_line_bytes: int = _MOST_LINE_BYTES,
    ) -> ServerProcess:
        """Start ``command``, looked up on the PATH of ``env``.

        ``most_line_bytes``: what a line on its stdout may have.

        Raises:
            OSError: It cannot be started; ``filename`` is ``cwd`` when that is to blame.
        """
        mark = os.urandom(8).hex()
        marked = {**env, reaper.MARK: mark}
        starting = asyncio.ensure_future(
            asyncio.get_running_loop().subprocess_exec(
                lambda: cls(mark, most_line_bytes),
                *command,
                env=marked,
                cwd=cwd,
                start_new_session=True,
            )
        )
        # If cancelled twice meanwhile, asyncio would forget the process and leave its pipes open.
        cancelled = await _done(starting)
        if cancelled and starting.exception():
            raise cancelled
        _, process = starting.result()
        reaper.guard(process.pid, mark)
        if cancelled:
            await process.stop(0.0)
            raise cancelled
        return process

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._transport.get_returncode()

    @property
    def has_read(self) -> bool:
        """Whether it took all that was sent, as far as the system can tell; also after ``stop``."""
        if self._had_read is not None:
            return self._had_read
        unread = bytes(4)
        if self._sent is not None:
            with contextlib.suppress(OSError):
                unread = fcntl.ioctl(self._sent, termios.FIONREAD, unread)
        is_sent = self._has_been_told and not self._stdin.get_write_buffer_size()
        return is_sent and not any(unread)

    def write(self, data: bytes) -> None:
        """Send ``data`` to stdin; anything sent to a dead server is dropped."""
        self._stdin.write(data)
        if not self._has_been_told and not self._stdin.is_closing():
            self._has_been_told = True
            pipe = self._stdin.get_extra_info("pipe")  # None in other loops, such as uvloop
            self._sent = None if pipe is None else os.dup(pipe.fileno())

    def stop_listening(self, fault: str) -> None:
        """Treat the server as gone because of ``fault``."""
        self.fault = fault
        self._end_output()

    def stderr_tail(self, most_bytes: int = STDERR_BYTES) -> str:
        """The end of what the server wrote to stderr; also after ``stop``."""
        tail = bytes(self._stderr[-most_bytes:])
        if self._stderr_bytes != len(tail):
            # The first line is left out: it may begin inside a secret and hide it.
            lines = tail.partition(b"\n")[2]
            tail = lines if lines.strip() else tail.partition(b" ")[2]
        return tail.decode(errors="replace")

    def skip(self, line: bytes) -> None:
        """Keep ``line`` of stdout, which is not a message, for ``stdout_tail``."""
        if len(line) <= _MOST_SKIPPED_BYTES:
            self._skipped.append(line)

    async def stdout_tail(self) -> str:
        """The last lines on stdout that were not messages or are unread; also after ``stop``."""
        if not self.is_connected:
            for line in (await self.stdout.read()).splitlines(keepends=True):
                self.skip(line)
        return b"".join(self._skipped).decode(errors="replace")

    async def last_words(self) -> None:
        """Wait until what an ended process wrote to stderr is read."""
        with contextlib.suppress(TimeoutError):  # a child of the server may hold the pipe open
            async with asyncio.timeout(_LAST_OUTPUT_WAIT):
                await self._stderr_ended.wait()

    async def exits_within(self, seconds: float) -> bool:
        """Wait for the process itself; children that it left do not count."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        return self._exited.is_set()

    def kill(self) -> None:
        """Kill the group; ``stop`` is still to come."""
        if not self._is_released:
            self._signal(signal.SIGKILL)

    async def stop(self, grace: float = POLITE_GRACE) -> None:
        """Close stdin, wait, then SIGTERM, then SIGKILL; the group is empty afterwards.

        Without ``grace``, SIGKILL comes at once. A cancelled ``stop`` skips the waiting, not the
        killing.
        """
        self.ended_by_itself = not self.is_connected
        self._had_read = self.has_read
        if self._sent is not None:  # the pipe's reader sees its end only when all writers are gone
            os.close(self._sent)
            self._sent = None
        try:
            self._stdin.close()
            if grace and not await self.exits_within(grace):
                self._signal(signal.SIGTERM)
                await self.exits_within(_TERM_GRACE)
        finally:
            leftovers = self._signal(signal.SIGKILL)  # the server, and whatever it started
            reaper.end_strays(self.pid, self._mark)
            reaper.release(self.pid)
            self._is_released = True
            if self._stdin.get_write_buffer_size():
                self._stdin.abort()  # else it would wait for a reader that may never come
            closing = asyncio.ensure_future(self._ended())
            try:
                cancelled = await _done(closing)
                closing.result()
            finally:  # not there: a loop that ends also cancels what has not begun
                self._transport.close()
            if cancelled:
                raise cancelled
            # Death by SIGKILL takes the kernel a moment. Children that nobody reaps count as
            # members for ever, so this wait is short.
            deadline = time.monotonic() + _KILL_WAIT
            while leftovers and self._signal(0) and time.monotonic() < deadline:  # noqa: ASYNC110 - no event for it
                await asyncio.sleep(0.001)

    async def _ended(self) -> None:
        # A process in uninterruptible sleep is left to the kernel.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_WAIT):
                # Closed earlier, the transport would snatch the exit status from asyncio's watcher.
                await self._exited.wait()
                await self.last_words()
                self._transport.close()
                await self._closed.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Know the process, which runs now; this method and the next four are for asyncio."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self.pid = self._transport.get_pid()
        # The group's id stays taken while any member lives, so this cannot hit a stranger.
        self._signal = partial(reaper.signal_group, self.pid)
        if output := self._transport.get_pipe_transport(1):
            self.stdout.set_transport(output)  # lets a full buffer pause the server
        self._stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what it says."""
        if fd == 2:
            self._stderr_bytes += len(data)
            self._stderr += data[-STDERR_BYTES:]
            del self._stderr[:-STDERR_BYTES]
        elif self.is_connected:
            self.stdout.feed_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """See the end of one of its pipes."""
        if fd == 1:
            self._end_output()
        elif fd == 2:
            self._stderr_ended.set()
        else:
            self._end_output_soon()  # a server that closed its stdin cannot be asked anything

    def process_exited(self) -> None:
        """See its end, though not that of its pipes."""
        self._exited.set()
        self._end_output_soon()  # a child of the server may hold the pipe open

    def connection_lost(self, exc: Exception | None) -> None:
        """See the end of it and of all its pipes."""
        self._closed.set()
        self._stderr_ended.set()
        self._end_output()

    def _end_output_soon(self) -> None:
        asyncio.get_running_loop().call_later(_LAST_OUTPUT_WAIT, self._end_output)

    def _end_output(self) -> None:
        """Let readers see the end; later output is dropped."""
        if self.is_connected:
            self.is_connected = False
            self.stdout.feed_eof()


async def _done(task: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Wait for ``task`` even if we are cancelled; return the last cancellation, if any."""
    cancelled = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled
