"""Programs that are killed again and again, at any instant: their next run puts all right."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import pytest

from mcp_ghost.testing import ModelServer
from session.record.event_log import EVENTS_FILE
from tests.evaluation.evaluations import Evaluation
from tests.support import DATA, FOREVER, PATIENCE
from tests.support.episodes import read_events
from tests.support.program import Program
from workshop.scripted_model import ScriptedModel, read_commands

KILLS = int(os.environ.get("SOAK_KILLS", "30"))
TURNS = 30
WALKTHROUGH = read_commands(DATA / "weatherworks_walkthrough.txt")

pytestmark = pytest.mark.soak


@pytest.fixture
def played(tmp_path: Path) -> Program:
    """A folder with one episode that learned something."""
    program = Program(tmp_path)
    program.env["ZORKGPT_REFLECTION_ENABLED"] = "true"
    with ModelServer(ScriptedModel(WALKTHROUGH)) as model:
        done = program.run(*program.flags(model.base_url, TURNS), "--no-mcp")
    assert done.returncode == 0
    return program


@pytest.mark.parametrize(
    "command",
    [("-m", "viewer", "export", "site"), ("-m", "storage", "export"), ("-m", "storage", "rebuild")],
    ids=lambda it: " ".join(it[1:3]),
)
def test_what_is_made_from_the_logs_is_the_same_after_a_storm(
    played: Program, command: tuple[str, ...]
) -> None:
    logs = contents(played.folder, "game_files/episodes")
    program = sibling(played, *command)
    seconds = lasts(program)
    expected = contents(played.folder, "site", "game_files/knowledge")
    storm(program, (), seconds)
    assert program.run().returncode == 0
    assert contents(played.folder, "site", "game_files/knowledge") == expected
    assert contents(played.folder, "game_files/episodes") == logs


def test_a_replay_changes_nothing_however_often_it_is_killed(played: Program) -> None:
    logs = contents(played.folder, "game_files")
    flags = ("--replay", "latest")
    started = time.monotonic()
    assert played.run(*flags).returncode == 0
    storm(played, flags, time.monotonic() - started)
    assert "replays identically" in played.run(*flags).stdout
    assert contents(played.folder, "game_files") == logs


def test_an_evaluation_is_the_same_after_a_storm(tmp_path: Path) -> None:
    flags = ("--seeds", "1,2,3,4")
    with ModelServer(ScriptedModel(["north", "north", "examine me"])) as model:
        calm = evaluation(tmp_path / "calm", model)
        started = time.monotonic()
        assert calm.run(*flags).returncode == 0
        seconds = time.monotonic() - started
        stormy = evaluation(tmp_path / "stormy", model)
        for _ in range(KILLS):
            kill_within(stormy.start(*flags), seconds / 4)
            assert stormy.program.leftovers() == []
        assert stormy.run(*flags).returncode == 0
    assert set(map(tuple, stormy.turns().values())) == {(1, 2, 3)}
    assert stormy.turns() == calm.turns()
    assert commands(stormy) == commands(calm)


def test_an_episode_of_the_embedded_model_goes_on_whenever_its_process_is_killed(
    tmp_path: Path,
) -> None:
    program = Program(tmp_path)
    flags = ("--max-turns", str(TURNS), "--no-mcp")
    with killing(program) as kills:
        done = program.run("--story", "bundled", "--seed", "7", *flags, patience=FOREVER)
        while done.returncode:  # it was killed while it started
            assert "--resume" in done.stdout + done.stderr
            done = program.run("--resume", "latest", *flags, patience=FOREVER)
    assert kills
    assert turns(program) == [*range(1, TURNS + 1)]
    assert program.run("--replay", "latest").returncode == 0
    assert program.leftovers() == []
    print(f"{len(kills)} kills of the embedded model's process in {TURNS} turns")


def storm(program: Program, flags: Sequence[str], seconds: float) -> None:
    """Start ``program``, which takes ``seconds``, and kill it, ``KILLS`` times."""
    for _ in range(KILLS):
        kill_within(program.start(*flags), seconds)
    assert program.leftovers() == []


def kill_within(process: subprocess.Popen[str], seconds: float) -> None:
    with process:
        time.sleep(random.uniform(0, seconds))  # no waiting for anything: any instant will do
        process.kill()
        process.communicate(timeout=PATIENCE)


@contextmanager
def killing(program: Program) -> Iterator[list[int]]:
    """Kill the embedded model, every now and then; the processes that were killed."""
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        survived = -1
        while not over.wait(random.uniform(1, 10)):
            if (played := len(turns(program))) == survived:
                continue  # on a busy machine no turn would ever be played between two kills
            for process in embedded_models(program):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
                    survived = played

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def turns(program: Program) -> list[int]:
    """The turns that were played."""
    logs = program.folder.glob(f"game_files/episodes/*/{EVENTS_FILE}")
    events = (it for log in logs for it in read_events(log.parent))
    return [it["turn"] for it in events if it["event_type"] == "turn"]


def embedded_models(program: Program) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = program.mark.encode() in (process / "environ").read_bytes()
            if is_ours and b"local_model" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue  # gone, or somebody else's
    return found


def evaluation(folder: Path, model: ModelServer) -> Evaluation:
    folder.mkdir()
    return Evaluation(folder, model.base_url)


def commands(evaluation: Evaluation) -> list[list[tuple[str, str]]]:
    """What was said to the game and what it answered, episode by episode."""
    return [
        [(it["command"], it["response"]) for it in events if it["event_type"] == "turn"]
        for events in evaluation.episodes().values()
    ]


def sibling(program: Program, *command: str) -> Program:
    """Another program in the same folder."""
    other = Program(program.folder, *command)
    other.env |= {"ZORKGPT_STORY": "bundled"}
    return other


def lasts(program: Program) -> float:
    """The seconds that ``program`` takes."""
    started = time.monotonic()
    assert program.run().returncode == 0
    return time.monotonic() - started


def contents(folder: Path, *below: str) -> dict[str, str]:
    """The files below ``folder`` with what is in them; databases and locks are left out."""
    files = (it for name in below for it in sorted((folder / name).rglob("*")) if it.is_file())
    return {
        str(it.relative_to(folder)): sha256(it.read_bytes()).hexdigest()
        for it in files
        if not re.search(r"\.db(-\w+)?$|\.lock$", it.name)
    }
