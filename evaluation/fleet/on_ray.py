"""Episodes as tasks of a Ray cluster; the driver keeps the logs, from which any worker goes on."""

import os
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from evaluation.figures import LogTail
from evaluation.fleet.cluster import HERE, import_ray
from evaluation.fleet.desk import Desk, News
from evaluation.fleet.parcel import packed, put
from evaluation.fleet.worker import Order, play
from evaluation.plan import Cell, Plan
from mcp_ghost.servers import reaper
from session.configuration_file import ConfigurationError
from session.record.branch import branch_off
from session.record.event_log import EVENTS_FILE

_HEAD = {"node:__internal_head__": 0.001}
"""The desk is lost only if the whole cluster is."""
_NEWS_SECONDS = 2.0
"""Until a worker has heard that it is to stop, and what it answers has come back."""


class RayEpisode:
    """One try at an episode."""

    def __init__(
        self,
        ray: ModuleType,
        task: Any,  # noqa: ANN401  Ray has no types
        desk: Any,  # noqa: ANN401  likewise
        cell: Cell,
        order: Order,
        plan: Plan,
    ) -> None:
        self.cell = cell
        self.tail = LogTail(plan.folder(cell) / EVENTS_FILE)
        self.failure = ""
        """Why it did not come to its end; empty when it did."""
        self.lost = False
        """Whether its worker is gone."""
        self._ray, self._desk, self._order = ray, desk, order
        self._errors = plan.errors(cell)
        ray.get(desk.expect.remote(order.episode, order.number))
        self._result = task.remote(order, desk)

    def ended(self) -> bool:
        """Whether it is over; then ``failure`` says how."""
        if not self._ray.wait([self._result], timeout=0)[0]:
            return False
        try:
            self.failure, words = self._ray.get(self._result)
            if words:
                self._errors.parent.mkdir(parents=True, exist_ok=True)
                self._errors.write_text(words, encoding="utf-8")
            else:
                self._errors.unlink(missing_ok=True)
        except self._ray.exceptions.RayTaskError as error:  # a fault of the node, or ours
            self.failure = f"the worker failed: {str(error).strip().splitlines()[-1]}"
        except self._ray.exceptions.RayError as error:
            self.lost, self.failure = True, f"the worker was lost ({type(error).__name__})"
        return True

    def stop(self) -> None:
        """Ask it to end."""
        self._ray.get(self._desk.stop.remote(self._order.episode))

    def wait(self, deadline: float) -> None:
        """Wait until it is gone; after ``deadline`` it is killed."""
        left = max(0.0, deadline + _NEWS_SECONDS - time.monotonic())
        if not self._ray.wait([self._result], timeout=left)[0]:
            self.kill()

    def kill(self) -> None:
        """End it at once."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.cancel(self._result, force=True)


class RayCrew:
    """Begins them, and writes what comes back."""

    def __init__(
        self,
        ray: ModuleType,
        plan: Plan,
        place: str,
        limits: tuple[int | None, float | None, float],
        threads: int | None,
    ) -> None:
        self.used_up = False
        """Whether nothing more may be spent."""
        self._ray, self._plan, self._threads = ray, plan, threads
        self._databases = databases_of(plan, shared=place != HERE)
        self._tries: dict[Cell, int] = {}
        self._folders = {str(cell): plan.folder(cell) for cell in plan.cells}
        options = {"num_cpus": 0, "resources": _HEAD, "max_restarts": 0}
        self._desk = ray.remote(**options)(Desk).remote(limits)
        # Made once: Ray takes each for another function, which it sends to every worker.
        self._task = ray.remote(num_cpus=1, max_retries=0)(_play)
        self._story = plan.story.path.read_bytes() if plan.story.path.is_file() else b""
        self._servers = _servers(plan)

    def begin(self, cell: Cell) -> RayEpisode:
        """Play, or go on from what has come back."""
        self.update()
        self._tries[cell] = self._tries.get(cell, 0) + 1
        plan, folder = self._plan, self._plan.folder(cell)
        if plan.fork and not (folder / EVENTS_FILE).is_file():
            branch_off(plan.fork.trunk, plan.fork.turn, folder)
        job = plan.job(cell, self._threads)
        if database := self._databases.get((cell.variant.name, cell.seed)):
            job["settings"] = {**_settings(job), "storage_database_url": database}
        order = Order(
            episode=str(cell),
            number=self._tries[cell],
            place=str(folder.relative_to(plan.out)),
            job=job,
            files=packed(folder),
            story=self._story,
            servers=self._servers,
            cwd=str(Path.cwd()),
        )
        return RayEpisode(self._ray, self._task, self._desk, cell, order, plan)

    def update(self) -> None:
        """Write what has come in."""
        news: News = self._ray.get(self._desk.news.remote())
        self.used_up = news.used_up
        for episode, piece in news.pieces:
            put(piece, self._folders[episode])


def databases_of(plan: Plan, *, shared: bool) -> dict[tuple[str, int], str]:
    """(Variant, seed) -> where its episodes leave what they learn; nothing if they pass on nothing.

    Each has a part of the database for itself, as it has a file of its own on one machine.

    Raises:
        ConfigurationError: The nodes of a cluster have no database in common.
    """
    if not plan.carry_over:
        return {}
    rows = {(cell.variant.name, cell.seed): plan.workdir(cell) for cell in plan.cells}
    url = plan.config.storage_database_url or ""
    if url.startswith("postgres"):
        return {row: _schema(plan, row, url) for row in rows}
    if shared:
        raise ConfigurationError(
            "--carry-over on several machines needs a PostgreSQL that all of them reach: set "
            "ZORKGPT_STORAGE_DATABASE_URL=postgresql://... (and `uv sync --extra postgres` on "
            "each), or play on one machine."
        )
    for workdir in rows.values():
        workdir.mkdir(parents=True, exist_ok=True)
    return {row: f"sqlite:///{it.resolve()}/knowledge.db" for row, it in rows.items()}


def _schema(plan: Plan, row: tuple[str, int], url: str) -> str:
    """The URL of a schema for one variant and seed; empty until one of its episodes has begun."""
    from sqlalchemy import create_engine, make_url, text
    from sqlalchemy.exc import SQLAlchemyError

    variant, seed = row
    named = f"{plan.name}/{variant}/{seed}/{plan.story.sha256}"
    name = f"evaluation_{sha256(named.encode()).hexdigest()[:20]}"
    begun = any(
        (plan.folder(cell) / EVENTS_FILE).is_file()
        for cell in plan.cells
        if (cell.variant.name, cell.seed) == row
    )
    parsed = make_url(url).set(drivername="postgresql+psycopg")
    try:
        engine = create_engine(parsed)
        with engine.begin() as connection:
            if not begun:
                connection.execute(text(f"DROP SCHEMA IF EXISTS {name} CASCADE"))
            connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {name}"))
        engine.dispose()
    except (SQLAlchemyError, ImportError) as error:
        raise ConfigurationError(
            f"The database of --carry-over cannot be used ({type(error).__name__}): check "
            "ZORKGPT_STORAGE_DATABASE_URL, and that the extra postgres is installed."
        ) from error
    own = make_url(url).update_query_dict({"options": f"-csearch_path={name}"})
    return own.render_as_string(hide_password=False)


def _play(order: Order, desk: Any) -> tuple[str, str]:  # noqa: ANN401  Ray has no types
    """The task."""
    ray = import_ray()
    os.environ.pop(reaper.MARK, None)  # or what guards the episode would end with the cluster

    def ask(name: str, *arguments: object) -> object:
        return ray.get(getattr(desk, name).remote(*arguments))

    return play(order, ask)


def _settings(job: dict[str, Any]) -> dict[str, Any]:
    return dict(job["settings"])


def _servers(plan: Plan) -> bytes:
    """The file of the tool servers, if any are used."""
    places = plan.config.mcp_config_places if plan.config.mcp_enabled else []
    return next((path.read_bytes() for path in places if path.is_file()), b"")
