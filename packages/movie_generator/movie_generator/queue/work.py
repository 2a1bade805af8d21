"""The work on one job: its lease is kept, its steps, its progress and its end are stored.

Lease and progress are written by one task, in order and never after the end.
"""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, TypeVar

from mcp_ghost.redact import redact, secrets_in
from mcp_ghost.text import address, duration, one_line
from movie_generator.checkpoints import Store, finished
from movie_generator.models import VideoScript
from movie_generator.queue.database import JobDatabaseError
from movie_generator.queue.failures import Failure, JobTimeoutError
from movie_generator.queue.jobs import Claim, JobQueue

T = TypeVar("T")
Progress: TypeAlias = Callable[[float, str], None]
"""Called with how much is done, from 0 to 1, and what is being done; from any thread."""
Generate: TypeAlias = Callable[[str, Progress, Store], Awaitable[VideoScript]]
"""Makes the script of a page from what the store holds; an exception ends the attempt."""

STEPS_LOG = "movie_generator.steps"
"""The logger of the steps of jobs, which are too many where they are shown as they go on."""
_LONGEST_BEAT = 3.0
"""A cancelled job is abandoned after this time at the latest."""
_SHORTEST_BEAT = 0.2
"""Progress that comes faster than this is not worth writing each time."""
_STOP_SECONDS = 5.0
DATABASE_PAUSE = 0.5
"""Seconds after which a database that failed is asked again."""
_logger = logging.getLogger("movie_generator")
_steps = logging.getLogger(STEPS_LOG)


class LeaseLostError(Exception):
    """Raised when a job is no longer ours: cancelled, or given to another worker."""


@dataclass(eq=False)
class Work:
    """One claimed job, from its start to its end."""

    claim: Claim
    queue: JobQueue
    generate: Generate
    job_timeout: float
    fraction: float = 0.0
    """How much is done, from 0 to 1; may be read from any thread, as the step."""
    step: str = ""
    """What is being done; empty at the beginning."""
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _started: float = field(default_factory=time.monotonic)
    _renewed: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """For how long it is worked on."""
        return time.monotonic() - self._started

    async def do(self) -> None:
        """Work on the job until it is done, put off, failed, lost or given back."""
        self._log(logging.INFO, "started: %s", address(self.claim.job.url))
        try:
            outcome = await self._generated()
            if isinstance(outcome, LeaseLostError):
                raise outcome
            await finished(self._end(outcome))  # a finished result is not thrown away
        except LeaseLostError:
            self._log(logging.WARNING, "was cancelled or taken by another worker; leaving it")
        except asyncio.CancelledError:
            await finished(self._give_back())
            raise

    async def _generated(self) -> VideoScript | Exception:
        """The script, or why there is none; raises LeaseLostError if the job is not ours."""
        generation = asyncio.create_task(self._script())
        keeping = asyncio.create_task(self._keep())
        both = {generation, keeping}
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            generation.cancel()
            keeping.cancel()
            # Bounded: a generator that does not stop loses its job all the same.
            await finished(asyncio.wait(both, timeout=_STOP_SECONDS))
        if generation not in done:
            raise LeaseLostError
        if generation.cancelled():
            return RuntimeError("The generation ended without a result.")
        return generation.result()

    async def _script(self) -> VideoScript | Exception:
        try:
            async with asyncio.timeout(self.job_timeout) as limit:
                return await self.generate(self.claim.job.url, self._tell, self)
        except Exception as error:  # noqa: BLE001 - whatever a job raises is that job's end only
            if isinstance(error, TimeoutError) and limit.expired():
                return JobTimeoutError(f"Not done after {self.job_timeout:g} s; given up.")
            return error

    async def load(self) -> dict[str, str]:
        """The steps that are finished, whoever made them."""
        return await self._insist(lambda: self.queue.steps(self.claim))

    async def save(self, key: str, content: str) -> None:
        """Keep a step; nothing goes on before it is stored.

        Raises:
            LeaseLostError: The job is no longer ours.
        """
        await self._store(lambda: self.queue.keep_step(self.claim, key, content))

    async def _end(self, outcome: VideoScript | Exception) -> None:
        """Store the script, or why there is none; then the job goes on if that may pass."""
        if not isinstance(outcome, Exception):
            result = outcome.model_dump_json()
            await self._store(lambda: self.queue.complete(self.claim, result))
            self._log(logging.INFO, "completed: %s", one_line(outcome.title))
            return
        _logger.debug("job %s", self.claim.job.id, exc_info=outcome)
        failure = Failure.of(outcome)
        job, forget = self.claim.job, failure.starts_over
        reason = redact(failure.reason, secrets_in(os.environ))
        if failure.passes and job.attempts < self.queue.max_attempts:
            pause = failure.pause(job.attempts)
            put_off = partial(self.queue.put_off, self.claim, reason, pause, forget=forget)
            await self._store(put_off)
            attempt = f"attempt {job.attempts} of {self.queue.max_attempts} failed"
            self._log(logging.WARNING, "%s, next in %.1f s: %s", attempt, pause, reason)
            return
        if failure.passes:
            whole = reason if reason.endswith((".", "!", "?", "…")) else f"{reason}."
            reason = f"{whole} Given up after {job.attempts} attempts."
        await self._store(partial(self.queue.fail, self.claim, reason, forget=forget))
        self._log(logging.WARNING, "failed: %s", reason)

    def _tell(self, fraction: float, message: str) -> None:
        self.fraction = min(1.0, max(self.fraction, fraction))
        step = one_line(redact(message, secrets_in(os.environ)))
        if step != self.step:
            self.step = step
            after = duration(self.seconds)
            _steps.info(
                "job %s %.0f%% after %s: %s", self.claim.job.id, fraction * 100, after, step
            )
        self._loop.call_soon_threadsafe(self._news.set)

    async def _keep(self) -> None:
        """Renew the lease and store the progress, until the job is lost."""
        beat = min(self.queue.lease / 3, _LONGEST_BEAT)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(beat):
                    await self._news.wait()
            self._news.clear()
            began, told = time.monotonic(), (self.fraction, self.step or None)
            try:
                ours = await asyncio.to_thread(self.queue.keep, self.claim, *told)
                self._renewed = began
            except JobDatabaseError as error:
                text = "cannot report that it is still running: %s"
                self._log(logging.WARNING, text, one_line(error))
                ours = self._holds()
            if not ours:
                return
            await asyncio.sleep(min(_SHORTEST_BEAT, beat))

    def _holds(self) -> bool:
        """Whether the lease still holds as far as this process can know."""
        return time.monotonic() < self._renewed + self.queue.lease

    async def _store(self, write: Callable[[], bool]) -> None:
        """Write something of the job; raises LeaseLostError if it is no longer ours."""
        if not await self._insist(write):
            raise LeaseLostError

    async def _insist(self, act: Callable[[], T]) -> T:
        """Do it, again while the database fails and the lease holds."""
        while True:
            try:
                return await asyncio.to_thread(act)
            except JobDatabaseError as error:
                if not self._holds():
                    raise
                self._log(logging.WARNING, "waits for the database: %s", one_line(error))
                await asyncio.sleep(DATABASE_PAUSE)

    async def _give_back(self) -> None:
        try:
            if await asyncio.to_thread(self.queue.give_back, self.claim):
                self._log(logging.INFO, "given back")
        except JobDatabaseError as error:
            self._log(logging.WARNING, "could not be returned to the queue: %s", one_line(error))

    def _log(self, level: int, text: str, *values: object) -> None:
        _logger.log(level, "job %s " + text, self.claim.job.id, *values)
