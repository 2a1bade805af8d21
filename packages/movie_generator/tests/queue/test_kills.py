"""Workers die at any instant, and no model is asked again for an answer that was stored."""

from __future__ import annotations

import json
import os
import random
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console
from rich.table import Table
from sqlalchemy import func, select

from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from movie_generator.models import VideoScript
from movie_generator.queue.database import JOBS, STEPS
from movie_generator.queue.jobs import JobQueue, Status
from tests.support import FOREVER
from tests.support.crew import PROCESSES, until
from tests.support.movie import SERVERS, script_reply, site
from tests.support.postgres import new_database
from tests.support.processes.movie_worker import work_for_real

KILLS = int(os.environ.get("SOAK_KILLS", "200"))
LEASE = 0.5
PAGE = ("text/html", b"<title>Bridges</title><main><p>A bridge crosses a river.</p></main>")
READER = 3
"""Calls of the model by the agent that reads a page; the writer makes two."""


class Call(NamedTuple):
    """A call of the model for a job: what was asked after so many replies."""

    page: str
    number: int


@dataclass
class Model:
    """A model that takes its time, and remembers when it was asked for what."""

    seconds: float
    asked: list[tuple[Call, float]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: ModelRequest) -> Reply:
        turn = sum(message["role"] == "assistant" for message in request.messages)
        found = re.search(r"/page/\d+", json.dumps(request.messages))
        assert found
        page = found[0]
        if request.tool_names:
            steps = [("search", {"query": "it"}), ("fetch", {"url": f"http://pages.invalid{page}"})]
            reply = tool_reply([steps[turn]]) if turn < len(steps) else content_reply("read")
        else:
            reply = content_reply(script_reply(title=page) if turn else "no script")
        with self.lock:
            number = turn if request.tool_names else READER + turn
            self.asked.append((Call(page, number), time.monotonic()))
        return reply.after(self.seconds)


@dataclass
class Count:
    """What the model was asked again after its first answer."""

    stored: int = 0
    """Although the answer was stored."""
    on_the_way: int = 0
    """Because the worker died between the answer and its being stored."""
    unanswered: int = 0
    """Because the worker died while it waited."""


def replies_kept(queue: JobQueue) -> dict[str, int]:
    """How many replies are stored for each page; of a finished job, all."""
    replies = func.count(STEPS.c.key).filter(STEPS.c.key.startswith("model "))
    asked = select(JOBS.c.url, JOBS.c.status, replies).join_from(JOBS, STEPS, isouter=True)
    with queue.database.transaction() as connection:
        rows = connection.execute(asked.group_by(JOBS.c.id, JOBS.c.url, JOBS.c.status))
        return {
            "/page/" + url.rpartition("/")[2]: sys.maxsize if status == "completed" else kept
            for url, status, kept in rows
        }


@contextmanager
def configured(folder: Path, model: ModelServer, *, agent: bool) -> Iterator[dict[str, str]]:
    """The environment of a worker, in which an agent reads the pages or none does."""
    environment = {"OPENROUTER_BASE_URL": model.base_url, "MOVIE_ALLOW_PRIVATE_URLS": "1"}
    if agent:
        (folder / "pages").mkdir()
        for number in range(KILLS):
            (folder / "pages" / str(number)).write_text("# Bridges\n\nA bridge crosses a river.\n")
        entry = {
            "command": sys.executable,
            "args": ["-S", str(SERVERS / "pages.py")],
            "env": {"PAGES": str(folder / "pages")},
        }
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"pages": entry}}))
        environment["MCP_CONFIG_PATH"] = str(folder / "mcp.json")
    yield environment


class Kill(NamedTuple):
    """When a worker was dead, and how many replies were stored then, by page."""

    instant: float
    kept: dict[str, int]


def asked_again(model: Model, kills: list[Kill], first: int) -> Count:
    """Each further request of a call, by what had become of the one before it.

    A worker that asks for something has stored the answer to what it asked before.
    """
    count = Count()
    latest: dict[str, tuple[int, float]] = {}
    for (page, number), instant in model.asked:
        furthest, asked = latest.get(page, (-1, instant))
        if number <= furthest:
            kill = next((it for it in kills if asked < it.instant < instant), None)
            if number < furthest or kill is None or kill.kept[page] > number - first:
                count.stored += 1
            elif kill.instant > asked + model.seconds:
                count.on_the_way += 1
            else:
                count.unanswered += 1
        latest[page] = (max(number, furthest), instant)
    return count


def killed(
    folder: Path, database_url: str, kills: int, jobs: int, *, agent: bool, seconds: float
) -> Count:
    """What was asked again while ``jobs`` were done by workers of which ``kills`` were killed."""
    model, dead, dice = Model(seconds), list[Kill](), random.Random(kills)
    pages = {f"/page/{number}": PAGE for number in range(jobs)}
    with (
        site(dict(pages)) as served,
        ModelServer(model) as server,
        configured(folder, server, agent=agent) as environment,
        closing(JobQueue(database_url)) as queue,
    ):
        queue.enqueue([served.url + page for page in pages])
        arguments = (database_url, LEASE, environment)
        for _ in range(kills):
            worker = PROCESSES.Process(target=work_for_real, args=arguments)
            asked = len(model.asked)
            worker.start()
            until(lambda asked=asked: len(model.asked) > asked)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            worker.join(dice.uniform(0, 3 * seconds))  # any instant will do
            worker.kill()
            worker.join()
            dead.append(Kill(time.monotonic(), replies_kept(queue)))
        last = PROCESSES.Process(target=work_for_real, args=arguments)
        last.start()
        last.join(FOREVER)
        assert (last.exitcode, server.refusals) == (0, [])
        done = queue.jobs()
    assert {job.status for job in done} == {Status.COMPLETED}
    titles = [VideoScript.model_validate_json(job.result or "").title for job in done]
    assert titles == [*pages]
    first = 0 if agent else READER
    assert len({call for call, _ in model.asked}) == jobs * (READER + 2 - first)
    return asked_again(model, dead, first)


@pytest.mark.soak
def test_after_a_few_kills_no_stored_answer_was_asked_for_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    count = killed(tmp_path, url, kills=4, jobs=4, agent=False, seconds=0.05)
    assert count.stored == 0


@pytest.mark.soak
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_after_hundreds_of_kills_no_stored_answer_was_asked_for_again(
    database: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'jobs.db'}" if database == "sqlite" else new_database()
    count = killed(tmp_path, url, KILLS, KILLS, agent=True, seconds=0.25)
    table = Table("database", "kills", "asked again though stored", "on its way", "unanswered")
    table.add_row(database, *map(str, (KILLS, count.stored, count.on_the_way, count.unanswered)))
    Console(width=100).print(table)
    assert count.stored == 0
