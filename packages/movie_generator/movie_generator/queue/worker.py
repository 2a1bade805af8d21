"""The worker: claims jobs, and waits where there are none.

A worker that is asked to stop gives its jobs back at once; one that is killed lets its leases run
out.
"""

import asyncio
import logging
import os
import socket
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field

from mcp_ghost.redact import redact
from mcp_ghost.text import counted, one_line
from movie_generator.queue.database import CHANNEL, JobDatabase, JobDatabaseError
from movie_generator.queue.jobs import JobQueue
from movie_generator.queue.work import DATABASE_PAUSE, Generate, Work

_PRUNE_SECONDS = 3600.0
POLL_SECONDS = 1.0
"""Between two looks at a database that tells nobody."""
FALLBACK_SECONDS = 30.0
"""Between two looks at one that tells."""
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0
_SOON = 0.02
"""What is due may be locked by whoever takes it just now."""
_logger = logging.getLogger("movie_generator")


class Bell:
    """Wakes an idle worker when the queue may have changed: PostgreSQL tells so, and time passes.

    No worker depends on being told. A notice may be lost with its connection, so workers also look
    by themselves, seldom; where nobody tells, often.
    """

    def __init__(self, database: JobDatabase, poll: float | None = None) -> None:
        self._database = database
        self.poll = poll or (FALLBACK_SECONDS if database.tells else POLL_SECONDS)
        self.next_ring = asyncio.Event()
        """Set at the next ring; get it before looking at the queue."""

    def ring(self) -> None:
        """Wake everyone who waits."""
        rung, self.next_ring = self.next_ring, asyncio.Event()
        rung.set()

    async def wait(self, ring: asyncio.Event, seconds: float | None) -> None:
        """Wait for ``ring``, at most ``seconds``, and no longer than is safe."""
        longest = self.poll if seconds is None else min(self.poll, max(_SOON, seconds))
        with suppress(TimeoutError):
            async with asyncio.timeout(longest):
                await ring.wait()

    async def listen(self) -> None:
        """Ring whenever the database tells of a change, until cancelled."""
        if not self._database.tells:
            return
        import psycopg

        wait = _FIRST_WAIT
        arguments = self._database.connection_arguments()
        while True:
            try:
                connecting = psycopg.AsyncConnection.connect(**arguments, autocommit=True)
                async with await connecting as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    self.ring()  # something may have been missed
                    wait = _FIRST_WAIT
                    async for _ in connection.notifies():
                        self.ring()
            except (psycopg.Error, OSError) as error:
                _logger.debug("cannot listen to the queue: %s", redact(one_line(error)))
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)


@dataclass(frozen=True)
class Worker:
    """Works on the jobs of a queue, ``concurrency`` at a time."""

    queue: JobQueue
    generate: Generate
    _: KW_ONLY
    concurrency: int = 1
    job_timeout: float = 3600.0
    """Seconds; a job that lasts longer fails."""
    poll: float | None = None
    """Seconds between two looks while nothing is heard of the queue; by default the database's."""
    keep_days: float | None = None
    """For how long jobs are kept once they are finished; by default for ever."""
    running: dict[int, Work] = field(default_factory=dict, init=False)
    """What is being worked on, by the job's id."""
    name: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}")

    async def run(self, *, drain: bool = False) -> None:
        """Work until cancelled, or with ``drain`` until no job is pending or processing."""
        _logger.info("worker %s waits for jobs, %d at a time", self.name, self.concurrency)
        bell = Bell(self.queue.database, self.poll)
        async with asyncio.TaskGroup() as beside:
            others = [beside.create_task(work) for work in (bell.listen(), self._prune())]
            async with asyncio.TaskGroup() as lanes:
                for _ in range(self.concurrency):
                    lanes.create_task(self._work(bell, drain=drain))
            for other in others:
                other.cancel()

    async def _work(self, bell: Bell, *, drain: bool) -> None:
        while True:
            ring = bell.next_ring
            try:
                if await self._work_on_next():
                    continue
                unfinished, seconds = await asyncio.to_thread(self.queue.outlook)
                if drain and not unfinished:
                    return
                await bell.wait(ring, seconds)
            except JobDatabaseError as error:
                _logger.warning("%s Trying again.", one_line(error))
                await asyncio.sleep(DATABASE_PAUSE)

    async def _prune(self) -> None:
        """Delete what is finished for too long, now and then."""
        while self.keep_days is not None:
            try:
                if pruned := await asyncio.to_thread(self.queue.prune, self.keep_days):
                    _logger.info("%s deleted", counted(pruned, "old job"))
            except JobDatabaseError as error:
                _logger.warning("%s Old jobs will be deleted later.", one_line(error))
            await asyncio.sleep(_PRUNE_SECONDS)

    async def _work_on_next(self) -> bool:
        """Do one job; False when there is none."""
        claiming = asyncio.ensure_future(asyncio.to_thread(self.queue.claim, self.name))
        try:
            claim = await asyncio.shield(claiming)
        except asyncio.CancelledError:
            # The claiming thread cannot be stopped; its job must not wait until the lease ends.
            with suppress(JobDatabaseError):
                if claim := await claiming:
                    await asyncio.to_thread(self.queue.give_back, claim)
            raise
        if claim:
            work = Work(claim, self.queue, self.generate, self.job_timeout)
            self.running[claim.job.id] = work
            try:
                await work.do()
            finally:
                self.running.pop(claim.job.id, None)
        return claim is not None
