"""What the command line does with the queue: add, work, list, cancel, retry, show."""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial

from mcp_ghost.cli.program import DONE, FAILED, complain
from mcp_ghost.cli.screen import Screen, standard_screen
from mcp_ghost.text import address, counted, duration
from movie_generator.cli.flags import PROGRAM, Flags
from movie_generator.cli.listing import as_json_text, print_table, watch
from movie_generator.cli.scripts import check_writable, save_or_print
from movie_generator.environment import Environment
from movie_generator.errors import SettingsError
from movie_generator.models import VideoScript
from movie_generator.queue.jobs import JobQueue, JobStateError, Status


def the_queue(*, waits: bool = False) -> closing[JobQueue]:
    """The queue that the environment names; if it ``waits``, the server may still be starting."""
    environment = Environment.read()
    queue = JobQueue(
        environment.database_url,
        lease=environment.job_lease,
        max_attempts=environment.max_attempts,
        patience=environment.database_wait if waits else 0.0,
    )
    return closing(queue)


def enqueue(flags: Flags) -> None:
    """Print the id of the job of each of ``urls``, one a line; those that have none get one."""
    from mcp_ghost.errors import UrlUnresolvedError
    from mcp_ghost.guard import check_url
    from movie_generator.pages.urls import UrlPolicy

    environment = Environment.read()
    policy = UrlPolicy.of(environment.allowed_hosts, allow_private=environment.allow_private_urls)
    with asyncio.Runner() as runner:
        for url in dict.fromkeys(flags.urls):
            try:
                runner.run(check_url(url, policy))
            except UrlUnresolvedError as error:
                # The workers may run on a machine that can resolve the name; they check again.
                print(f"warning: {error}", file=sys.stderr)
    with the_queue() as queue:
        for job_id, is_new in queue.enqueue(flags.urls, again=flags.again):
            print(job_id)
            if not is_new:
                status = queue.job(job_id).status
                ended = status in (Status.FAILED, Status.CANCELLED)
                way = f"retry {job_id} does it again" if ended else "--again makes a new one"
                print(f"job {job_id} ({status}) already has this URL; {way}", file=sys.stderr)


def worker(flags: Flags) -> None:
    """Process queued jobs until stopped, or until all are finished.

    Shows the log, and below it, where lines can change, a line for each running job; elsewhere,
    every step is in the log.
    """
    from movie_generator.generate import generate_as_configured
    from movie_generator.llm import model_client
    from movie_generator.queue.work import STEPS_LOG
    from movie_generator.queue.worker import Worker

    model_client(None)  # a worker without a key would only fail its jobs
    screen = standard_screen(sys.stderr)
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    date_format = None
    if screen.is_live:
        handler, date_format = _OnScreen(screen), "%H:%M:%S"
        logging.getLogger(STEPS_LOG).setLevel(logging.WARNING)
    log = "%(asctime)s %(message)s"
    logging.basicConfig(
        handlers=[handler], format=log, datefmt=date_format, level=logging.WARNING, force=True
    )
    logging.getLogger("movie_generator").setLevel(logging.INFO)
    with the_queue(waits=True) as queue:
        working = Worker(
            queue,
            generate_as_configured,
            concurrency=flags.concurrency,
            job_timeout=flags.job_timeout,
            keep_days=Environment.read().keep_days,
        )

        def running() -> Iterator[list[tuple[str, str]]]:
            works = [*working.running.values()]
            for it in works:
                yield [
                    (f"job {it.claim.job.id}", "bold"),
                    (duration(it.seconds), ""),
                    (f"{it.fraction:.0%}", "cyan"),
                    (it.step or "starting", ""),
                    (address(it.claim.job.url), "dim"),
                ]
            if not works:
                yield [("waiting for jobs", "dim")]

        screen.follow(running)
        try:
            asyncio.run(working.run(drain=flags.drain))
        finally:
            screen.idle()


class _OnScreen(logging.Handler):
    """Writes the log above what is shown of the running jobs."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        style = "yellow" if record.levelno >= logging.WARNING else ""
        self._screen.text(self.format(record), style)


def jobs(flags: Flags) -> None:
    """Print the jobs, the oldest first, or show them as they go on, until all are finished."""
    status = Status(flags.status) if flags.status else None
    with the_queue() as queue:
        look = partial(queue.jobs, status, with_results=flags.json)
        if flags.watch:
            watch(look, lambda: queue.outlook()[0] == 0)
        elif flags.json:
            print(as_json_text(look()))
        else:
            print_table(look(), f"There are no {f'{status} ' if status else ''}jobs.")


def cancel(flags: Flags) -> int:
    """Cancel each of the jobs that can be; returns the exit code."""
    return _move(flags.ids, JobQueue.cancel, "cancelled")


def retry(flags: Flags) -> int:
    """Put each of the jobs that can be back on the queue; returns the exit code."""
    return _move(flags.ids, JobQueue.retry, "pending")


def _move(ids: Iterable[int], move: Callable[[JobQueue, int], None], status: str) -> int:
    code = DONE
    with the_queue() as queue:
        for job_id in ids:
            try:
                move(queue, job_id)
            except JobStateError as error:
                complain(PROGRAM, str(error))
                code = FAILED
            else:
                print(f"job {job_id} {status}")
    return code


def prune(flags: Flags) -> None:
    """Delete the jobs that were finished so many days ago."""
    kept = Environment.read().keep_days if flags.days is None else flags.days
    if kept is None:
        raise SettingsError("Say how old the jobs must be: --days N, or set MOVIE_KEEP_DAYS.")
    with the_queue() as queue:
        print(f"{counted(queue.prune(kept), 'job')} deleted")


def result(flags: Flags) -> None:
    """Print the script of a job, or save it in the file that the flags name."""
    if flags.output:
        check_writable(flags.output, "-o")
    with the_queue() as queue:
        job = queue.job(flags.id)
    if job.result is None:
        reason = f": {job.error_message}" if job.error_message else "."
        raise JobStateError(f"Job {job.id} has no script; its status is {job.status}{reason}")
    save_or_print(VideoScript.model_validate_json(job.result), flags.output)
