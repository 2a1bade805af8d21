"""What only a real Ray cluster can show; by hand, with the extra fleet."""

from __future__ import annotations

import itertools
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from mcp_ghost.servers import reaper
from mcp_ghost.testing import ModelServer
from tests.evaluation.evaluations import KEY, Evaluation
from tests.support import PATIENCE, free_port
from tests.support.games import WALKTHROUGH
from tests.support.postgres import new_database
from tests.support.servers import eventually, is_running
from workshop.scripted_model import ScriptedModel, is_reflection

pytest.importorskip("ray", reason="Ray is not installed: uv sync --extra fleet")
pytestmark = [pytest.mark.soak, pytest.mark.mcp]
PASSWORD = "made-up-password-of-a-database"
RAYLET = b"/raylet/raylet"


@contextmanager
def head(folder: Path, **environment: str) -> Iterator[str]:
    """A cluster of one node as its user starts it, with its logs in ``folder``; its address."""
    port = free_port()
    mark = secrets.token_hex(8)
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block"]
    command += ["--port", "0", "--ray-client-server-port", str(port), "--num-cpus", "2"]
    command += ["--include-dashboard", "false", "--disable-usage-stats", "--temp-dir", str(folder)]
    own = {**os.environ, **environment, reaper.MARK: mark, "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    with subprocess.Popen(
        command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            end = time.monotonic() + PATIENCE
            while not answers(port):
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.2)
            yield f"ray://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(PATIENCE)
            reaper.end_strays(process.pid, mark)


def answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def test_what_an_episode_learned_reaches_the_next_through_postgresql_and_no_key_goes_anywhere(
    tmp_path: Path,
) -> None:
    """Only the driver has the database's address, and only the nodes have the model's key."""
    database = new_database().replace("tester@", f"tester:{PASSWORD}@")
    with (
        tempfile.TemporaryDirectory(prefix="ray-") as name,  # a socket's path has to be short
        ModelServer(ScriptedModel(WALKTHROUGH)) as server,
        head(Path(name), ZORKGPT_CLIENT_API_KEY=KEY) as place,
    ):
        evaluation = Evaluation(tmp_path, server.base_url)
        evaluation.program.env |= {
            "ZORKGPT_STORAGE_DATABASE_URL": database,
            "ZORKGPT_REFLECTION_ENABLED": "true",
            "ZORKGPT_REFLECTION_INTERVAL_TURNS": "3",
        }
        flags = ["--seeds", "1,2", "--episodes", "2", "--turns", "6", "--carry-over"]
        done = evaluation.run(*flags, "--on", place)
        assert done.returncode == 0, done.stderr
        (tmp_path / "said").write_text(done.stdout + done.stderr)
        for seed in (1, 2):
            first, second = (
                evaluation.episodes()[f"whole/seed-{seed}/episodes/episode-{number}"]
                for number in (1, 2)
            )
            assert not first[0]["carried"]["memories"]
            known = [it["text"] for it in second[0]["carried"]["memories"]]
            learned = [
                memory["text"]
                for event in first
                if event["event_type"] == "reflection"
                for memory in event["memories"]
            ]
            assert known
            assert set(known) <= set(learned)
            assert first[-1]["time"] <= second[0]["time"]
        told = [it for it in server.requests if not is_reflection(it) and known[0] in str(it.chat)]
        assert told  # and the model hears of it
        assert all(it.headers["authorization"] == f"Bearer {KEY}" for it in server.requests)
        assert holding(tmp_path, KEY, PASSWORD) == []
        assert holding(Path(name), KEY, PASSWORD) == []
        assert list(Path(name).rglob("worker-*.err"))  # Ray's logs were among what was read


def holding(folder: Path, *secret: str) -> list[str]:
    """The files that hold one of them."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [
        str(path)
        for path, it in itertools.product(files, secret)
        if it.encode() in path.read_bytes()
    ]


def test_a_start_of_ray_that_fails_is_said_and_tried_again_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    """Ray's first node is killed while it starts."""
    evaluation = Evaluation(tmp_path, "http://127.0.0.1:9/v1")
    mark = f"TEST_RUN={evaluation.program.mark}".encode()
    flags = ("--player", "random", "--turns", "40", "--seeds", "1", "--on", "ray")
    with first_killed(lambda: running(mark, RAYLET)) as killed, evaluation.start(*flags) as process:
        seen = 0
        while process.poll() is None:
            if evaluation.children():
                seen = max(seen, len(running(mark, b"/gcs/gcs_server")))
            time.sleep(0.05)
        _, errors = process.communicate()
    assert len(killed) == 1
    assert process.returncode == 0, errors
    assert errors.count("Ray did not start (") == 1
    assert "trying again" in errors
    assert seen == 1  # of the first try nothing is left beside the second
    assert evaluation.program.leftovers() == []


def test_a_cluster_that_does_not_let_us_in_at_first_is_asked_again(tmp_path: Path) -> None:
    """Its server for this program is killed while it starts."""
    evaluation = Evaluation(tmp_path, "http://127.0.0.1:9/v1")
    flags = ("--player", "random", "--turns", "3", "--seeds", "1", "--on")
    with (
        tempfile.TemporaryDirectory(prefix="ray-") as name,
        head(Path(name), TEST_RUN=evaluation.program.mark) as place,
        first_killed(lambda: serving(f"TEST_RUN={evaluation.program.mark}".encode())) as killed,
    ):
        done = evaluation.run(*flags, place)
    assert len(killed) == 1
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("refused the connection (") == 1


def serving(mark: bytes) -> list[int]:
    """What the head of a cluster starts for each program that comes."""
    return [pid for pid, command in marked(mark) if b"--mode=specific-server" in command]


@contextmanager
def first_killed(found: Callable[[], list[int]]) -> Iterator[list[int]]:
    """Kill the first process that is found; its id."""
    killed: list[int] = []
    over = threading.Event()

    def kill_the_first() -> None:
        while not killed and not over.wait(0.002):
            for pid in found()[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    killer = threading.Thread(target=kill_the_first, daemon=True)
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()


def test_a_killed_evaluation_leaves_no_process_of_its_cluster(tmp_path: Path) -> None:
    """Its agents too, whose new titles wipe out what shows whose they are."""
    evaluation = Evaluation(tmp_path, "http://127.0.0.1:9/v1")
    flags = ("--player", "random", "--turns", "100000", "--seeds", "1", "--on", "ray")
    with evaluation.start(*flags) as process:
        assert eventually(lambda: bool(evaluation.episodes()))
        cluster = descendants(process.pid)
        process.kill()
    assert sum(b"Agent" in command for command in cluster.values()) >= 2
    assert eventually(lambda: not [pid for pid in cluster if is_running(pid)], 10)


def descendants(pid: int) -> dict[int, bytes]:
    """The processes that a process and its own have started, with their commands."""
    found: dict[int, bytes] = {}
    children = Path(f"/proc/{pid}/task").glob("*/children")
    for child in [int(it) for file in children for it in file.read_text().split()]:
        found |= {child: Path(f"/proc/{child}/cmdline").read_bytes(), **descendants(child)}
    return found


def running(mark: bytes, word: bytes) -> list[int]:
    """Processes with ``mark`` in their environment whose program ends so."""
    return [pid for pid, command in marked(mark) if command.split(b"\0")[0].endswith(word)]


def marked(mark: bytes) -> Iterator[tuple[int, bytes]]:
    """Processes with ``mark`` in their environment, and how they were started."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                yield int(process.name), (process / "cmdline").read_bytes()
