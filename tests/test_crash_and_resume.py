"""A crash at any instant loses no finished turn, and what goes on is the identical game."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from scripts.scripted_model import ScriptedModel, read_commands
from session.event_log import EVENTS_FILE, read_events
from session.game_configuration import ConfigurationError, GameConfiguration

WALKTHROUGH = read_commands(Path(__file__).parent / "data" / "weatherworks_walkthrough.txt")
TURNS = len(WALKTHROUGH) - 1
KILLS = 20


def play(folder: Path, base_url: str, *, resume: bool) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.play_episode", "crash", base_url, str(TURNS)]
    return subprocess.Popen(command + ["resume"] * resume, cwd=folder)


def turns_in(folder: Path) -> list[dict[str, object]]:
    return [event for event in read_events(folder) if event["event_type"] == "turn"]


def play_and_kill(folder: Path, model: ModelServer, dice: random.Random) -> None:
    """Begin or go on, and kill the process at some instant of one of its next turns."""
    episode = folder / "game_files" / "episodes" / "crash"
    process = play(folder, model.base_url, resume=(episode / EVENTS_FILE).exists())
    asked = len(model.requests) + dice.randint(0, 3)
    while len(model.requests) < asked and process.poll() is None:
        time.sleep(0.002)
    time.sleep(dice.uniform(0, 0.15))  # no waiting for anything: any instant will do
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_after_twenty_kills_the_game_is_the_one_that_was_never_killed(tmp_path: Path) -> None:
    dice = random.Random(20)
    folder = tmp_path / "game_files" / "episodes" / "crash"
    finished = 0
    with ModelServer(ScriptedModel(WALKTHROUGH)) as model:
        for _ in range(KILLS):
            play_and_kill(tmp_path, model, dice)
            survived = len(turns_in(folder)) if folder.exists() else 0
            assert survived >= finished
            finished = survived
        assert 0 < finished < TURNS
        assert play(tmp_path, model.base_url, resume=True).wait(120) == 0
        reference = GameConfiguration(
            client_base_url=model.base_url,
            story="bundled",
            seed=7,
            engine="fernz",
            workdir=str(tmp_path / "uninterrupted"),
            max_turns_per_episode=TURNS,
        )
        orchestrator = ZorkOrchestratorV2("reference", reference)
        orchestrator.play_episode()
    expected, got = turns_in(orchestrator.folder), turns_in(folder)
    assert [turn["turn"] for turn in got] == list(range(1, TURNS + 1))
    for key in ("command", "response", "after", "scored"):
        assert [turn[key] for turn in got] == [turn[key] for turn in expected]


def test_a_finished_turn_is_on_the_disk_before_the_next_begins(tmp_path: Path) -> None:
    seen: list[int] = []
    script = ScriptedModel(["look"] * 3)
    config = GameConfiguration(story="bundled", workdir=str(tmp_path), max_turns_per_episode=3)

    def reply(request: ModelRequest) -> Reply:
        seen.append(len(turns_in(tmp_path / "episodes" / "durable")))
        return script(request)

    with ModelServer(reply) as model:
        config.client_base_url = model.base_url
        ZorkOrchestratorV2("durable", config).play_episode()
    assert seen == [0, 1, 2]


def test_an_episode_that_reached_its_limit_can_go_on(tmp_path: Path) -> None:
    with ModelServer(ScriptedModel(WALKTHROUGH)) as model:
        config = GameConfiguration(
            client_base_url=model.base_url, story="bundled", workdir=str(tmp_path)
        )
        ZorkOrchestratorV2("long", config, max_turns_per_episode=2).play_episode()
        with ZorkOrchestratorV2("long", config, max_turns_per_episode=4, resume=True) as resumed:
            resumed.play_episode()
            assert resumed.game_state.turn_count == 4
            assert [record.command for record in resumed.game_state.history] == WALKTHROUGH[:4]
    assert [turn["turn"] for turn in turns_in(resumed.folder)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("limit", "reason"),
    [({"max_turns_per_episode": 3}, "max_turns"), ({"max_tokens_per_episode": 1}, "budget")],
)
def test_an_episode_resumed_at_its_limit_plays_no_further_turn(
    tmp_path: Path, limit: dict[str, int], reason: str
) -> None:
    with ModelServer(ScriptedModel(WALKTHROUGH)) as model:
        config = GameConfiguration(
            client_base_url=model.base_url, story="bundled", workdir=str(tmp_path)
        )
        first = ZorkOrchestratorV2("long", config, max_turns_per_episode=3)
        score = first.play_episode()
        resumed = ZorkOrchestratorV2("long", config.model_copy(update=limit), resume=True)
        assert resumed.play_episode() == score
    assert resumed.game_state.end_reason == reason
    assert len(turns_in(resumed.folder)) == len(model.requests) == 3


def test_an_unknown_episode_cannot_be_resumed(tmp_path: Path) -> None:
    config = GameConfiguration(workdir=str(tmp_path))
    with pytest.raises(ConfigurationError, match="no episode to resume"):
        ZorkOrchestratorV2("never", config, resume=True)
    assert not (tmp_path / "episodes" / "never").exists()


@pytest.mark.parametrize("name", ["../outside", "a/b", "", ".", "x" * 200])
def test_an_episode_cannot_leave_its_folder(tmp_path: Path, name: str) -> None:
    config = GameConfiguration(workdir=str(tmp_path))
    if name == "":
        with ZorkOrchestratorV2(name, config) as orchestrator:
            assert orchestrator.folder.parent == tmp_path / "episodes"
        return
    with pytest.raises(ConfigurationError, match="no name for an episode"):
        ZorkOrchestratorV2(name, config)


def test_a_second_episode_of_the_same_name_overwrites_nothing(tmp_path: Path) -> None:
    with ModelServer(ScriptedModel(["look"])) as model:
        config = GameConfiguration(
            client_base_url=model.base_url,
            story="bundled",
            workdir=str(tmp_path),
            max_turns_per_episode=1,
        )
        first = ZorkOrchestratorV2("same", config)
        first.play_episode()
        kept = (first.folder / EVENTS_FILE).read_bytes()
        second = ZorkOrchestratorV2("same", config)
        second.play_episode()
    assert second.folder.name == "same-2"
    assert (first.folder / EVENTS_FILE).read_bytes() == kept
    assert os.fspath(second.folder) != os.fspath(first.folder)
