"""Episodes as tasks of a Ray cluster; the driver keeps the logs, from which any worker goes on."""

import os
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from evaluation.fleet.cluster import HERE, import_ray
from evaluation.fleet.file_sync import Piece, packed, put
from evaluation.fleet.limits import Limits
from evaluation.fleet.worker import Order, play
from evaluation.plan import Cell, Plan
from mcp_ghost.servers import reaper
from session.configuration_file import ConfigurationError
from session.record.branch import branch_off
from session.record.event_log import EVENTS_FILE

_HEAD = {"node:__internal_head__": 0.001}
"""The coordinator is lost only if the whole cluster is."""
_NEWS_SECONDS = 2.0
"""Until a worker has heard that it is to stop, and what it answers has come back."""


class Coordinator(Limits):
    """Holds the limits of all workers, and what they deliver until the driver fetches it.

    Ray keeps it as an actor. A worker that was taken for lost may still be there: only the latest
    try at an episode counts.
    """

    def __init__(
        self, requests_per_minute: int | None, dollars: float | None, spent: float
    ) -> None:
        super().__init__(requests_per_minute, dollars, spent)
        self._tries: dict[str, int] = {}
        self._stopped: set[str] = set()
        self._pieces: list[tuple[str, Piece]] = []

    def expect(self, episode: str, number: int) -> None:
        """Let only try ``number`` at the episode count from now on."""
        self._tries[episode] = number
        self._stopped.discard(episode)

    def stop(self, episode: str) -> None:
        """Let the episode end; what it still has to tell, such as what it spent, is taken in."""
        self._stopped.add(episode)

    def wanted(self, episode: str, number: int) -> bool:
        """Whether this try is to go on."""
        return self._tries.get(episode) == number and episode not in self._stopped

    def deliver(self, episode: str, number: int, pieces: list[Piece]) -> bool:
        """Take in what was added to the episode's files; False if the try no longer counts."""
        if self._tries.get(episode) != number:
            return False
        self._pieces += ((episode, piece) for piece in pieces)
        return True

    def news(self) -> tuple[list[tuple[str, Piece]], bool]:
        """Give the pieces since the last time, with their episodes, and whether money is left."""
        pieces, self._pieces = self._pieces, []
        return pieces, not self.used_up


class RayEpisode:
    """One try at an episode."""

    def __init__(self, executor: "RayExecutor", cell: Cell, order: Order) -> None:
        self.failure = ""
        """Why it did not come to its end; empty when it did."""
        self.lost = False
        """Whether its worker is gone."""
        self._ray, self._coordinator = executor.ray, executor.coordinator
        self._episode, self._errors = order.episode, executor.plan.errors(cell)
        self._ray.get(self._coordinator.expect.remote(order.episode, order.number))
        self._result = executor.task.remote(order, self._coordinator)

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
        self._ray.get(self._coordinator.stop.remote(self._episode))

    def wait(self, deadline: float) -> None:
        """Wait until it is gone; after ``deadline`` it is killed."""
        left = max(0.0, deadline + _NEWS_SECONDS - time.monotonic())
        if not self._ray.wait([self._result], timeout=left)[0]:
            self.kill()

    def kill(self) -> None:
        """End it at once."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.cancel(self._result, force=True)


class RayExecutor:
    """Plays episodes on a Ray cluster, and writes what comes back."""

    def __init__(
        self,
        ray: Any,  # noqa: ANN401  Ray has no types
        plan: Plan,
        place: str,
        limits: tuple[int | None, float | None, float],
        threads: int | None,
    ) -> None:
        self.used_up = False
        """Whether nothing more may be spent."""
        self.ray, self.plan, self._threads = ray, plan, threads
        self._databases = databases_of(plan, shared=place != HERE)
        self._tries: dict[Cell, int] = {}
        self._folders = {str(cell): plan.folder(cell) for cell in plan.cells}
        options = {"num_cpus": 0, "resources": _HEAD, "max_restarts": 0}
        self.coordinator = ray.remote(**options)(Coordinator).remote(*limits)
        # Made once: Ray takes each for another function, which it sends to every worker.
        self.task = ray.remote(num_cpus=1, max_retries=0)(_play)
        places = plan.config.mcp_config_places if plan.config.mcp_enabled else []
        self._servers = next((path.read_bytes() for path in places if path.is_file()), b"")

    def begin(self, cell: Cell) -> RayEpisode:
        """Play, or go on from what has come back."""
        self.update()
        self._tries[cell] = self._tries.get(cell, 0) + 1
        plan, folder = self.plan, self.plan.folder(cell)
        if plan.fork and not (folder / EVENTS_FILE).is_file():
            branch_off(plan.fork.trunk, plan.fork.turn, folder)
        job = plan.job(cell, self._threads)
        if database := self._databases.get(cell.row):
            job["settings"]["storage_database_url"] = database
        story = plan.stories[cell.game].path
        order = Order(
            episode=str(cell),
            number=self._tries[cell],
            place=str(folder.relative_to(plan.out)),
            job=job,
            files=packed(folder),
            story=story.read_bytes() if story.is_file() else b"",
            servers=self._servers,
            cwd=str(Path.cwd()),
        )
        return RayEpisode(self, cell, order)

    def update(self) -> None:
        """Write what has come in."""
        pieces, money_left = self.ray.get(self.coordinator.news.remote())
        self.used_up = not money_left
        for episode, piece in pieces:
            put(piece, self._folders[episode])


def databases_of(plan: Plan, *, shared: bool) -> dict[tuple[str, str, int], str]:
    """(Game, variant, seed) -> where its episodes leave what they learn; nothing if they do not.

    Each has a part of the database for itself, as it has a file of its own on one machine.

    Raises:
        ConfigurationError: The nodes of a cluster have no database in common.
    """
    if not plan.carry_over:
        return {}
    rows = {cell.row: plan.workdir(cell) for cell in plan.cells}
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


def _schema(plan: Plan, row: tuple[str, str, int], url: str) -> str:
    """The URL of a schema for one game, variant and seed; empty until an episode has begun."""
    from sqlalchemy import create_engine, make_url, text
    from sqlalchemy.exc import SQLAlchemyError

    game, variant, seed = row
    named = f"{plan.name}/{variant}/{seed}/{plan.stories[game].sha256}"
    name = f"evaluation_{sha256(named.encode()).hexdigest()[:20]}"
    begun = any(
        (plan.folder(cell) / EVENTS_FILE).is_file() for cell in plan.cells if cell.row == row
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


def _play(order: Order, coordinator: Any) -> tuple[str, str]:  # noqa: ANN401  Ray has no types
    ray = import_ray()
    os.environ.pop(reaper.MARK, None)  # or what guards the episode would end with the cluster

    def ask(name: str, *arguments: object) -> object:
        return ray.get(getattr(coordinator, name).remote(*arguments))

    return play(order, ask)
