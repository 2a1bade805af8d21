"""One episode on a node that may share no disk with the driver: its files come and go as bytes."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

from evaluation import ROOT
from evaluation.fleet.channel import KEPT
from evaluation.fleet.file_sync import Growth, unpack
from evaluation.fleet.folder import own_folder
from evaluation.fleet.process import EpisodeProcess
from mcp_ghost.servers import reaper

_POLL = 0.1
_LOOK_SECONDS = 0.5
"""Between two looks whether the episode is still wanted."""
_STOP_WAIT = 8.0
_PREFIX = "zorkgpt-fleet-"
Ask = Callable[..., Any]
"""Name of a method of the coordinator and its arguments -> what it answers."""


class Order(NamedTuple):
    """What a worker is given; no keys, but for a database's."""

    episode: str
    number: int
    """Which try it is, from 1."""
    place: str
    """Of its folder, below a folder of the node's own."""
    job: dict[str, Any]
    files: dict[str, bytes]
    """What was played of it."""
    story: bytes
    """The story file, where there is one."""
    servers: bytes
    """The file of the tool servers, where there is one."""
    cwd: str
    """Of the driver; a node that has no such folder takes that of the program."""


def play(order: Order, ask: Ask) -> tuple[str, str]:
    """Play the episode, or go on with it; why it did not come to its end, and its last words."""
    for left in multiprocessing.active_children():  # an episode whose task was cancelled
        reaper.signal_group(cast("int", left.pid), signal.SIGKILL)
    if not ask("wanted", order.episode, order.number):  # it had to wait for a worker
        return "it was stopped before it began", ""
    with own_folder(_PREFIX) as own:
        folder = own / order.place
        unpack(order.files, folder)
        growth, lock = Growth(folder), threading.Lock()

        def ship() -> bool:
            with lock:  # a piece must not overtake another
                pieces = list(growth.pieces())
                return not pieces or bool(ask("deliver", order.episode, order.number, pieces))

        def answer(what: str, number: float) -> float | None:
            if what == KEPT and not ship():
                raise ConnectionError("another process is already playing it")
            return 0.0 if what == KEPT else ask("answer", what, number)

        cwd = Path(order.cwd) if Path(order.cwd).is_dir() else ROOT
        job = _at_home(order, own, folder)
        # Of what Ray tells its workers, an episode needs nothing; the token opens the cluster.
        environment = {name: it for name, it in os.environ.items() if not name.startswith("RAY_")}
        process = EpisodeProcess(job, own / "errors", answer, cwd=cwd, environment=environment)
        looked = time.monotonic()
        try:
            while not process.ended():
                time.sleep(_POLL)
                if time.monotonic() - looked > _LOOK_SECONDS:
                    looked = time.monotonic()
                    if not (ship() and ask("wanted", order.episode, order.number)):
                        break
        finally:
            process.stop()
            process.wait(time.monotonic() + _STOP_WAIT)
        ship()
        return process.failure, process.last_words()


def _at_home(order: Order, own: Path, folder: Path) -> dict[str, Any]:
    """The job with the paths of this node."""
    settings = {**order.job["settings"], "workdir": str(folder.parents[1])}
    story = Path(settings["story"])
    if order.story and not (story.is_file() and story.read_bytes() == order.story):
        settings["story"] = str(own / story.name)
        (own / story.name).write_bytes(order.story)
    if order.servers:
        servers = own / Path(settings["mcp_config_file"]).name
        servers.write_bytes(order.servers)
        settings["mcp_config_file"] = str(servers)
    return {**order.job, "settings": settings}
