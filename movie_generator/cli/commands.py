"""What the command line does with the queue: add, work, list, cancel, retry, show."""

import asyncio
import json
import logging
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcp_ghost.text import duration, harmless, one_line
from movie_generator.environment import Environment
from movie_generator.queue.jobs import Job, JobQueue, JobStateError, Status

_NO_LIMIT = 10_000
_STYLES = {
    Status.PENDING: "",
    Status.PROCESSING: "cyan",
    Status.COMPLETED: "green",
    Status.FAILED: "red",
    Status.CANCELLED: "dim",
}


def the_queue() -> closing[JobQueue]:
    """The queue that the environment names."""
    environment = Environment.read()
    return closing(JobQueue(environment.database_url, lease=environment.job_lease))


def enqueue(urls: list[str]) -> None:
    """Add a job for each of ``urls`` and print the ids, one a line; all of them or none."""
    asyncio.run(_check_all(urls, Environment.read()))
    with the_queue() as queue:
        for job_id in queue.enqueue(urls):
            print(job_id)


async def _check_all(urls: Iterable[str], environment: Environment) -> None:
    from movie_generator.pages.urls import UrlPolicy, UrlUnresolvedError, check_url

    policy = UrlPolicy.of(environment.allowed_hosts, allow_private=environment.allow_private_urls)
    for url in urls:
        try:
            await check_url(url, policy)
        except UrlUnresolvedError as error:
            # The workers may run on a machine that can resolve the name; they check again.
            print(f"warning: {error}", file=sys.stderr)


def work(*, drain: bool, concurrency: int, job_timeout: float) -> None:
    """Work on the jobs of the queue until stopped, or until all are finished."""
    from movie_generator.generate import generate_as_configured
    from movie_generator.queue.worker import Worker

    log = "%(asctime)s %(message)s"
    logging.basicConfig(stream=sys.stderr, format=log, level=logging.WARNING, force=True)
    logging.getLogger("movie_generator").setLevel(logging.INFO)
    with the_queue() as queue:
        worker = Worker(
            queue, generate_as_configured, concurrency=concurrency, job_timeout=job_timeout
        )
        asyncio.run(worker.run(drain=drain))


def list_jobs(*, as_json: bool, status: str | None) -> None:
    """Print the jobs, the oldest first."""
    with the_queue() as queue:
        jobs = queue.jobs(Status(status) if status else None)
    if as_json:
        print(json.dumps([_wire(job) for job in jobs], indent=2, default=datetime.isoformat))
    else:
        _print_table(jobs, f"There are no {status + ' ' if status else ''}jobs.")


def cancel(ids: Iterable[int]) -> None:
    """Cancel each of the jobs."""
    with the_queue() as queue:
        for job_id in ids:
            queue.cancel(job_id)
            print(f"job {job_id} cancelled")


def retry(ids: Iterable[int]) -> None:
    """Put each of the jobs back on the queue."""
    with the_queue() as queue:
        for job_id in ids:
            queue.retry(job_id)
            print(f"job {job_id} pending")


def show_result(job_id: int, output: str | None) -> None:
    """Print the script of a job, or save it in the file ``output``."""
    from movie_generator.models import VideoScript

    with the_queue() as queue:
        job = queue.job(job_id)
    if job.result is None:
        reason = f": {job.error_message}" if job.error_message else ""
        raise JobStateError(f"Job {job_id} has no script; it is {job.status}{reason}")
    script = VideoScript.model_validate_json(job.result)
    if output:
        script.save(Path(output))
    else:
        print(harmless(script.to_yaml()), end="")


def _wire(job: Job) -> dict[str, Any]:
    """A job as JSON: ids are text, times ISO 8601 in UTC, the result an object."""
    result = json.loads(job.result) if job.result else None
    return asdict(job) | {"id": str(job.id), "result": result}


def _print_table(jobs: list[Job], otherwise: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("id", "status", "done", "url", "what", box=None, header_style="bold")
    for job in jobs:
        state = Text(job.status, _STYLES[job.status])
        cells = (f"{job.progress:.0%}", one_line(job.url), one_line(_news(job)))
        table.add_row(str(job.id), state, *(Text(cell) for cell in cells))
    # A reader at the other end of a pipe wants whole lines.
    width = None if sys.stdout.isatty() else _NO_LIMIT
    console = Console(highlight=False, width=width)
    with console.capture() as shown:  # of a closed pipe rich would make an exit code of its own
        console.print(table if jobs else otherwise)
    print(shown.get(), end="")


def _news(job: Job) -> str:
    """The most interesting thing about a job."""
    if job.status is Status.COMPLETED and job.started_at and job.finished_at:
        return f"in {duration((job.finished_at - job.started_at).total_seconds())}"
    if job.status is Status.PENDING:
        return f"for {duration((datetime.now(UTC) - job.created_at).total_seconds())}"
    return job.error_message or job.progress_message or ""
