"""The worker: claims jobs, generates their scripts, and stores the outcome.

While a job is worked on, its lease is renewed and its progress stored by one task, so that progress
is written in order and never after the end. A worker that is asked to stop gives its jobs back at
once; one that is killed lets its leases run out.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias

from mcp_ghost.redact import redact, secrets_in
from mcp_ghost.text import address, one_line
from movie_generator.models import VideoScript
from movie_generator.queue.database import JobDatabaseError
from movie_generator.queue.jobs import Claim, JobQueue

Progress: TypeAlias = Callable[[float, str], None]
"""Called with how much is done, from 0 to 1, and what is being done; from any thread."""
Generate: TypeAlias = Callable[[str, Progress], Awaitable[VideoScript]]
"""Makes the script of a page; an exception becomes the job's error message."""

_POLL_SECONDS = 1.0
_LONGEST_BEAT = 3.0
"""A cancelled job is abandoned after this time at the latest."""
_SHORTEST_BEAT = 0.2
"""Progress that comes faster than this is not worth writing each time."""
_STOP_SECONDS = 5.0
_SAYS_LITTLE = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError)
"""Errors whose text means nothing without their name."""
_logger = logging.getLogger("movie_generator")


class _LeaseLostError(Exception):
    """Raised when a job is no longer ours: cancelled, or given to another worker."""


@dataclass(frozen=True)
class Worker:
    """Works on the jobs of a queue, ``concurrency`` at a time."""

    queue: JobQueue
    generate: Generate
    _: KW_ONLY
    concurrency: int = 1
    job_timeout: float = 3600.0
    """Seconds; a job that lasts longer fails."""
    poll: float = _POLL_SECONDS
    name: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}")

    async def run(self, *, drain: bool = False) -> None:
        """Work until cancelled, or with ``drain`` until no job is pending or processing."""
        _logger.info("worker %s waits for jobs, %d at a time", self.name, self.concurrency)
        async with asyncio.TaskGroup() as lanes:
            for _ in range(self.concurrency):
                lanes.create_task(self._work(drain=drain))

    async def _work(self, *, drain: bool) -> None:
        while True:
            try:
                if await self._work_on_next():
                    continue
                if drain and not await asyncio.to_thread(self.queue.unfinished):
                    return
            except JobDatabaseError as error:
                _logger.warning("%s Trying again.", one_line(error))
            await asyncio.sleep(self.poll)

    async def _work_on_next(self) -> bool:
        """Do one job; False when there is none."""
        claiming = asyncio.ensure_future(asyncio.to_thread(self.queue.claim, self.name))
        try:
            claim = await asyncio.shield(claiming)
        except asyncio.CancelledError:
            await self._give_back_claimed(claiming)
            raise
        if claim:
            await _Work(claim, self.queue, self.generate, self.job_timeout).do()
        return claim is not None

    async def _give_back_claimed(self, claiming: asyncio.Future[Claim | None]) -> None:
        """The claiming thread cannot be stopped; its job must not wait until the lease ends."""
        with suppress(JobDatabaseError):
            claim = await claiming
            if claim:
                await asyncio.to_thread(self.queue.give_back, claim)


class _Work:
    """One claimed job, from its start to its end."""

    def __init__(
        self, claim: Claim, queue: JobQueue, generate: Generate, job_timeout: float
    ) -> None:
        self._claim = claim
        self._queue = queue
        self._generate = generate
        self._job_timeout = job_timeout
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._fraction = 0.0
        self._message: str | None = None
        self._renewed = time.monotonic()

    async def do(self) -> None:
        self._log(logging.INFO, "started: %s", address(self._claim.job.url))
        try:
            outcome = await self._generated()
            await _finished(self._end(outcome))  # a finished result is not thrown away
        except _LeaseLostError:
            self._log(logging.WARNING, "was cancelled or taken by another worker; left it")
        except asyncio.CancelledError:
            await _finished(self._give_back())
            raise

    async def _generated(self) -> VideoScript | Exception:
        """The script, or why there is none.

        Raises:
            _LeaseLostError: The job is no longer ours.
        """
        generation = asyncio.create_task(self._script())
        keeping = asyncio.create_task(self._keep())
        both = {generation, keeping}
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            generation.cancel()
            keeping.cancel()
            # Bounded: a generator that does not stop loses its job all the same.
            await _finished(asyncio.wait(both, timeout=_STOP_SECONDS))
        if generation not in done:
            raise _LeaseLostError
        if generation.cancelled():
            return RuntimeError("The generation ended without a result.")
        return generation.result()

    async def _script(self) -> VideoScript | Exception:
        try:
            async with asyncio.timeout(self._job_timeout) as limit:
                return await self._generate(self._claim.job.url, self._tell)
        except TimeoutError as error:
            if limit.expired():
                return TimeoutError(f"Not done after {self._job_timeout:g} s; given up.")
            return error
        except Exception as error:  # noqa: BLE001 - whatever a job raises is that job's end only
            return error

    async def _end(self, outcome: VideoScript | Exception) -> None:
        if isinstance(outcome, Exception):
            message = redact(explain(outcome), secrets_in(os.environ))
            _logger.debug("job %s", self._claim.job.id, exc_info=outcome)
            await self._store(lambda: self._queue.fail(self._claim, message))
            self._log(logging.WARNING, "failed: %s", one_line(message))
            return
        result = outcome.model_dump_json()
        await self._store(lambda: self._queue.complete(self._claim, result))
        self._log(logging.INFO, "completed: %s", one_line(outcome.title))

    def _tell(self, fraction: float, message: str) -> None:
        self._fraction = min(1.0, max(self._fraction, fraction))
        self._message = message
        self._loop.call_soon_threadsafe(self._news.set)

    async def _keep(self) -> None:
        """Renew the lease and store the progress, until the job is lost."""
        beat = min(self._queue.lease / 3, _LONGEST_BEAT)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(beat):
                    await self._news.wait()
            self._news.clear()
            if not await self._renew():
                return
            await asyncio.sleep(min(_SHORTEST_BEAT, beat))

    async def _renew(self) -> bool:
        began = time.monotonic()
        try:
            ours = await asyncio.to_thread(
                self._queue.keep, self._claim, self._fraction, self._message
            )
        except JobDatabaseError as error:
            self._log(logging.WARNING, "cannot tell that it goes on: %s", one_line(error))
            return self._holds()
        self._renewed = began
        return ours

    def _holds(self) -> bool:
        """Whether the lease still holds as far as this process can know."""
        return time.monotonic() < self._renewed + self._queue.lease

    async def _store(self, write: Callable[[], bool]) -> None:
        """Write the end of the job, again while the database fails and the lease holds."""
        while True:
            try:
                stored = await asyncio.to_thread(write)
            except JobDatabaseError as error:
                if not self._holds():
                    raise
                self._log(logging.WARNING, "cannot store its end: %s", one_line(error))
                await asyncio.sleep(_POLL_SECONDS)
            else:
                if not stored:
                    raise _LeaseLostError
                return

    async def _give_back(self) -> None:
        try:
            if await asyncio.to_thread(self._queue.give_back, self._claim):
                self._log(logging.INFO, "given back")
        except JobDatabaseError as error:
            self._log(logging.WARNING, "could not be given back: %s", one_line(error))

    def _log(self, level: int, text: str, *values: object) -> None:
        _logger.log(level, "job %s " + text, self._claim.job.id, *values)


def explain(error: BaseException) -> str:
    """What to tell people about ``error``: of a group, the first error in it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = str(error).strip()
    if not text:
        return type(error).__name__
    return f"{type(error).__name__}: {text}" if isinstance(error, _SAYS_LITTLE) else text


async def _finished(work: Coroutine[Any, Any, object]) -> None:
    """Finish ``work`` even when this task is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise
