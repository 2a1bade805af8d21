"""Episodes that are forks play what processes of their own play, and nothing of one is left."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evaluation.fleet.desk import Desk
from evaluation.fleet.process import EpisodeProcess
from evaluation.fleet.start import Start, start
from evaluation.fleet.warm import Warm
from evaluation.fleet.worker import play
from session.record.event_log import EVENTS_FILE
from tests.evaluation.test_fleet import CELL, FREE, Node, order_of, plan_of
from tests.support import PATIENCE

pytestmark = pytest.mark.mcp
TIMES = {"time", "seconds", "uid"}


@pytest.fixture
def warm() -> Iterator[Warm]:
    with closing(Warm()) as it:
        yield it


def played(folder: Path, begin: Start) -> Node:
    node = Node(plan_of(folder), Desk(FREE))
    node.desk.expect("e", 1)
    assert play(order_of(node.plan, 1), node.ask, begin) == ("", "")
    return node


def test_forks_play_what_a_process_of_its_own_plays(tmp_path: Path, warm: Warm) -> None:
    """One after the other: nothing of the first is left for the second."""
    plain, *forks = (
        played(tmp_path / name, begin)
        for name, begin in (("plain", start), ("first", warm), ("second", warm))
    )
    for fork in forks:
        assert fork.turns() == [1, 2, 3, 4, 5, 6]
        assert told(fork) == told(plain)


def test_a_guest_gets_neither_the_clusters_token_nor_our_modules(
    tmp_path: Path, warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "opens-the-cluster")
    monkeypatch.setenv("PYTHONPATH", "/modules/of/the/user")
    for name, begin in (("plain", start), ("fork", warm)):
        node, seen = Node(plan_of(tmp_path / name), Desk(FREE)), tmp_path / f"{name}.seen"
        node.desk.expect("e", 1)
        order = order_of(node.plan, 1)
        order.job["guest"] = f"sh -c 'env > {seen}'"
        play(order, node.ask, begin)
        variables = dict(line.partition("=")[::2] for line in seen.read_text().splitlines())
        assert variables["PYTHONPATH"] == "/modules/of/the/user"
    assert "RAY_AUTH_TOKEN" not in variables  # on Ray, episodes are forks


def told(node: Node) -> list[dict[str, Any]]:
    """What happened, without times."""
    log = (node.plan.folder(CELL) / EVENTS_FILE).read_text(encoding="utf-8")
    events = [json.loads(line) for line in log.splitlines()]
    kept = [it for it in events if it["event_type"] in ("turn", "episode_end")]
    return [{key: it for key, it in event.items() if key not in TIMES} for event in kept]


def waiting(folder: Path, warm: Warm) -> EpisodeProcess:
    """An episode that plays until somebody ends it."""
    plan = plan_of(folder, max_turns_per_episode=100000)
    episode = EpisodeProcess(plan.job(CELL, None), folder / "errors", lambda *_: 0.0, begin=warm)
    log = plan.folder(CELL) / "episode.log"
    until(log.is_file)
    assert not episode.ended()
    return episode


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_fork_is_stopped_and_killed_as_a_process_is(tmp_path: Path, warm: Warm) -> None:
    stopped = waiting(tmp_path / "stopped", warm)
    stopped.stop()
    stopped.wait(time.monotonic() + PATIENCE)
    assert stopped.failure == "exit code 143, without a message"
    killed = waiting(tmp_path / "killed", warm)
    killed.kill()
    assert killed.ended()
    assert killed.failure == "killed by SIGKILL"


def test_without_the_warm_process_its_episode_ends_and_the_next_has_another(
    tmp_path: Path, warm: Warm
) -> None:
    episode = waiting(tmp_path / "first", warm)
    child = episode._process.pid
    os.kill(int(_stat(child)[1]), signal.SIGKILL)
    until(episode.ended)
    assert episode.failure == "killed by SIGKILL"
    until(lambda: not Path(f"/proc/{child}").exists() or _stat(child)[0] == "Z")
    assert played(tmp_path / "second", warm).turns() == [1, 2, 3, 4, 5, 6]


def _stat(pid: int) -> list[str]:
    """Its state, and its parent."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]


def test_an_episode_that_nobody_waits_for_ends_before_the_next_begins(
    tmp_path: Path, warm: Warm
) -> None:
    left = waiting(tmp_path / "first", warm)
    assert played(tmp_path / "second", warm).turns() == [1, 2, 3, 4, 5, 6]
    assert left.ended()
    assert left.failure == "killed by SIGKILL"
