"""Jobs as JSON, as a table, and as a table that follows what happens."""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import chain

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mcp_ghost.text import duration, one_line
from movie_generator.queue.jobs import UNFINISHED, Job, Status

_NO_LIMIT = 10_000
_REFRESH_SECONDS = 1.0
_STYLES = {
    Status.PENDING: "",
    Status.PROCESSING: "cyan",
    Status.COMPLETED: "green",
    Status.FAILED: "red",
    Status.CANCELLED: "dim",
}


def as_json_text(jobs: list[Job]) -> str:
    """Everything: ids are text, times ISO 8601 in UTC, results objects."""
    entries = [
        asdict(job) | {"id": str(job.id), "result": json.loads(job.result) if job.result else None}
        for job in jobs
    ]
    return json.dumps(entries, indent=2, default=datetime.isoformat)


def print_table(jobs: list[Job], otherwise: str) -> None:
    """Print a line for each of ``jobs``; ``otherwise`` where there are none."""
    # A reader at the other end of a pipe wants whole lines.
    width = None if sys.stdout.isatty() else _NO_LIMIT
    console = Console(highlight=False, width=width)
    with console.capture() as shown:  # of a closed pipe rich would make an exit code of its own
        console.print(_table(jobs) if jobs else otherwise)
    print(shown.get(), end="")


def watch(look: Callable[[], list[Job]], is_over: Callable[[], bool]) -> None:
    """Show what ``look`` finds as it changes, until ``is_over``.

    On a terminal that is a table of the jobs of most interest; elsewhere, a line for each change.
    """
    if not sys.stdout.isatty():
        known: dict[int, str] = {}
        for job in chain.from_iterable(_looks(look, is_over)):
            said = (job.status, one_line(job.url), one_line(_news(job, brief=True)))
            line = f"job {job.id} " + " ".join(filter(None, said))
            if known.get(job.id) != line:
                known[job.id] = line
                print(line, flush=True)
        return
    console = Console(highlight=False)
    with Live(console=console, auto_refresh=False) as live:
        for jobs in _looks(look, is_over):
            counts = Counter(job.status for job in jobs)
            head = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
            shown = sorted(jobs, key=_interest)[: max(1, console.height - 4)]
            table = _table(sorted(shown, key=lambda job: job.id))
            live.update(Group(Text(head or "no jobs"), table), refresh=True)


def _looks(look: Callable[[], list[Job]], is_over: Callable[[], bool]) -> Iterator[list[Job]]:
    while True:
        over = is_over()  # before the look, which then shows the end
        yield look()
        if over:
            return
        time.sleep(_REFRESH_SECONDS)


def _interest(job: Job) -> tuple[bool, float]:
    """What is worked on comes first, then what ended last."""
    latest = job.finished_at or job.started_at or job.created_at
    return job.status not in UNFINISHED or job.started_at is None, -latest.timestamp()


def _table(jobs: list[Job]) -> Table:
    table = Table("id", "status", "done", "url", "what", box=None, header_style="bold")
    for job in jobs:
        state = Text(job.status, _STYLES[job.status])
        cells = (f"{job.progress:.0%}", one_line(job.url), one_line(_news(job)))
        table.add_row(str(job.id), state, *(Text(cell) for cell in cells))
    return table


def _news(job: Job, *, brief: bool = False) -> str:
    """The most interesting thing about a job; when ``brief``, without what time alone changes."""
    if job.status is Status.COMPLETED and job.started_at and job.finished_at:
        return f"in {duration((job.finished_at - job.started_at).total_seconds())}"
    if job.status is Status.PENDING and job.next_attempt_at:
        left = (job.next_attempt_at - datetime.now(UTC)).total_seconds()
        when = "" if brief or left <= 0 else f" in {duration(left)}"
        return f"attempt {job.attempts + 1}{when}: {job.error_message}"
    if job.status is Status.PENDING:
        waited = (datetime.now(UTC) - job.created_at).total_seconds()
        return "" if brief else f"for {duration(max(0.0, waited))}"
    return job.error_message or job.progress_message or ""
