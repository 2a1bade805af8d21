"""What wakes an idle worker: PostgreSQL tells of changes, and time passes.

No worker depends on being told. A notice may be lost with its connection, so workers also look by
themselves, seldom; where nobody tells, often.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Any

from mcp_ghost.redact import redact
from mcp_ghost.text import one_line
from movie_generator.queue.database import CHANNEL, JobDatabase

POLL_SECONDS = 1.0
"""Between two looks at a database that tells nobody."""
FALLBACK_SECONDS = 30.0
"""Between two looks at one that tells."""
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0
_SOON = 0.02
"""What is due may be locked by whoever takes it just now."""
_logger = logging.getLogger("movie_generator")


class Bell:
    """Rings when the queue may have changed."""

    def __init__(self, database: JobDatabase, poll: float | None = None) -> None:
        self._database = database
        self.poll = poll or (FALLBACK_SECONDS if database.tells else POLL_SECONDS)
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake everyone who waits."""
        rung, self._rung = self._rung, asyncio.Event()
        rung.set()

    def next_ring(self) -> asyncio.Event:
        """Set at the next ring; get it before looking at the queue."""
        return self._rung

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
        while True:
            try:
                async with await self._connected() as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    self.ring()  # something may have been missed
                    wait = _FIRST_WAIT
                    async for _ in connection.notifies():
                        self.ring()
            except (psycopg.Error, OSError) as error:
                _logger.debug("cannot listen to the queue: %s", redact(one_line(error)))
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    async def _connected(self) -> Any:  # noqa: ANN401  psycopg is an extra
        import psycopg

        arguments = self._database.connection_arguments()
        return await psycopg.AsyncConnection.connect(**arguments, autocommit=True)
