"""A crash at any instant loses no finished turn, and what goes on is the identical game."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import ConfigurationError, GameConfiguration
from session.knowledge import Reflection
from session.record.event_log import EVENTS_FILE
from storage.store import Store
from tests.support import DATA, PATIENCE
from tests.support.episodes import read_events
from tests.support.warm import WarmPopen
from workshop.scripted_model import ScriptedModel, read_commands

WALKTHROUGH = read_commands(DATA / "weatherworks_walkthrough.txt")
TURNS = 30
KILLED_REFLECTIONS = 3
REFLECTED_TURNS = 16
"""Of the episode that is killed while it looks back after turn 4; it looks back again later."""


def play(folder: Path, base_url: str, *, resume: bool, turns: int = TURNS) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "tests.support.processes.play_episode",
        "crash",
        base_url,
        str(turns),
    ]
    return WarmPopen(command + ["resume"] * resume, cwd=folder)


def turns_in(folder: Path) -> list[dict[str, object]]:
    return [event for event in read_events(folder) if event["event_type"] == "turn"]


def play_and_kill(folder: Path, model: ModelServer, dice: random.Random) -> None:
    """Begin or go on, and kill the process at some instant of one of its next turns."""
    episode = folder / "game_files" / "episodes" / "crash"
    process = play(folder, model.base_url, resume=(episode / EVENTS_FILE).exists())
    asked = len(model.requests) + dice.randint(0, 3)
    while len(model.requests) < asked and process.poll() is None:
        time.sleep(0.002)
    time.sleep(dice.uniform(0, 0.08))  # no waiting for anything: any instant will do
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.soak)])
def test_after_kills_the_game_is_the_one_that_was_never_killed(tmp_path: Path, kills: int) -> None:
    dice = random.Random(56)  # three kills: at the start and after two and three requests
    folder = tmp_path / "game_files" / "episodes" / "crash"
    finished = 0
    with ModelServer(ScriptedModel(WALKTHROUGH)) as model:
        for _ in range(kills):
            play_and_kill(tmp_path, model, dice)
            survived = len(turns_in(folder)) if (folder / EVENTS_FILE).exists() else 0
            assert survived >= finished
            finished = survived
        assert 0 < finished < TURNS
        assert play(tmp_path, model.base_url, resume=True).wait(PATIENCE) == 0
        prompts = last_prompts(model, folder)
    assert_same_as_never_killed(tmp_path, folder, prompts)


def assert_same_as_never_killed(
    tmp_path: Path, folder: Path, prompts: dict[object, object], turns: int = TURNS
) -> None:
    """The killed episode in ``folder`` has the turns of one that was not, and was told the same."""
    elsewhere = tmp_path / "uninterrupted"
    elsewhere.mkdir()
    with ModelServer(ScriptedModel(WALKTHROUGH)) as model:
        assert play(elsewhere, model.base_url, resume=False, turns=turns).wait(PATIENCE) == 0
        reference = elsewhere / "game_files" / "episodes" / "crash"
        assert prompts == last_prompts(model, reference)
    expected, got = turns_in(reference), turns_in(folder)
    assert [turn["turn"] for turn in got] == list(range(1, turns + 1))
    for key in ("command", "response", "after", "scored"):
        assert [turn[key] for turn in got] == [turn[key] for turn in expected]
    learned = [reflections_in(episode) for episode in (reference, folder)]
    assert learned[0] == learned[1]
    assert any(reflection["memories"] for reflection in learned[0])


def last_prompts(model: ModelServer, folder: Path) -> dict[object, object]:
    """Turn -> what the model was told, when it was asked last."""
    start, *_ = (e for e in read_events(folder) if e["event_type"] == "episode_start")
    told: dict[object, object] = {}
    for request in model.requests:
        texts = [str(message["content"]) for message in request.messages]
        found = re.search(r"^Turn (\d+) of at most", texts[-1].replace("\\n", "\n"), re.MULTILINE)
        if found:
            told[int(found[1])] = [text.replace(str(start["uid"]), "UID") for text in texts]
    return told


def reflections_in(folder: Path) -> list[dict[str, object]]:
    """What was learned, without what differs from run to run."""
    start, *_ = (e for e in read_events(folder) if e["event_type"] == "episode_start")
    texts = [json.dumps(e) for e in read_events(folder) if e["event_type"] == "reflection"]
    events = [json.loads(text.replace(str(start["uid"]), "UID")) for text in texts]
    return [
        {key: event[key] for key in Reflection.model_fields if key not in ("seconds", "usage")}
        for event in events
    ]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_kill_during_a_reflection_loses_nothing_and_it_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "game_files" / "episodes" / "crash"
    reflecting, holds = threading.Event(), [threading.Event() for _ in range(KILLED_REFLECTIONS)]
    script = ScriptedModel(WALKTHROUGH)

    def reply(request: ModelRequest) -> Reply:
        if holds and "ReflectionAnswer" in str(request.chat.get("response_format")):
            reflecting.set()
            holds[0].wait(PATIENCE)
        return script(request)

    with ModelServer(reply) as model:
        while holds:
            again = (folder / EVENTS_FILE).exists()
            process = play(tmp_path, model.base_url, resume=again, turns=REFLECTED_TURNS)
            assert reflecting.wait(PATIENCE)
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert len(turns_in(folder)) == 4
            assert reflections_in(folder) == []
            reflecting.clear()
            holds.pop(0).set()
        last = play(tmp_path, model.base_url, resume=True, turns=REFLECTED_TURNS)
        assert last.wait(PATIENCE) == 0
        prompts = last_prompts(model, folder)
    assert_same_as_never_killed(tmp_path, folder, prompts, REFLECTED_TURNS)


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
    with pytest.raises(ConfigurationError, match="not a valid episode name"):
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


def cut(folder: Path, turn: int) -> None:
    """Leave the log as a crash right after that turn would have."""
    path = folder / EVENTS_FILE
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    events = [json.loads(line) for line in lines]
    last = next(
        n for n, it in enumerate(events) if (it["event_type"], it["turn"]) == ("turn", turn)
    )
    path.write_text("".join(lines[: last + 1]), encoding="utf-8")


@pytest.mark.soak
def test_a_game_that_was_won_when_the_crash_came_is_won_when_it_is_resumed(tmp_path: Path) -> None:
    with ModelServer(ScriptedModel(WALKTHROUGH)) as model:
        config = GameConfiguration(
            client_base_url=model.base_url, story="bundled", workdir=str(tmp_path), seed=12
        )
        won = ZorkOrchestratorV2("won", config)
        score = won.play_episode()
        cut(won.folder, won.game_state.turn_count)
        resumed = ZorkOrchestratorV2("won", config, resume=True)
        assert resumed.play_episode() == score
    assert (won.game_state.end_reason, resumed.game_state.end_reason) == ("victory", "victory")
    assert len(turns_in(resumed.folder)) == won.game_state.turn_count


def test_a_crash_makes_nobody_more_patient_and_going_on_after_giving_up_does(
    tmp_path: Path,
) -> None:
    with ModelServer(ScriptedModel([])) as model:  # which only looks around
        config = GameConfiguration(
            client_base_url=model.base_url,
            story="bundled",
            workdir=str(tmp_path),
            max_turns_stuck=6,
            action_check_enabled=False,
        )
        stuck = ZorkOrchestratorV2("stuck", config)
        stuck.play_episode()
        assert (stuck.game_state.end_reason, stuck.game_state.turn_count) == ("stalled", 6)
        cut(stuck.folder, 4)
        for turns in (6, 12):  # by the crash, then by whoever goes on
            stuck = ZorkOrchestratorV2("stuck", config, resume=True)
            stuck.play_episode()
            assert (stuck.game_state.end_reason, stuck.game_state.turn_count) == ("stalled", turns)
        cut(stuck.folder, 9)
        stuck = ZorkOrchestratorV2("stuck", config, resume=True)
        stuck.play_episode()
        assert (stuck.game_state.end_reason, stuck.game_state.turn_count) == ("stalled", 12)


def test_what_a_look_back_at_the_resume_teaches_is_stored_where_the_episode_was_not(
    tmp_path: Path,
) -> None:
    with ModelServer(ScriptedModel(WALKTHROUGH)) as model:
        config = GameConfiguration(
            client_base_url=model.base_url,
            story="bundled",
            workdir=str(tmp_path),
            reflection_enabled=True,
        )
        without = config.model_copy(update={"storage_enabled": False})
        first = ZorkOrchestratorV2("e", without, max_turns_per_episode=9)
        first.play_episode()
        cut(first.folder, config.reflection_interval_turns)
        ZorkOrchestratorV2("e", config, max_turns_per_episode=9, resume=True).play_episode()
    events = list(read_events(first.folder))
    reflected = [Reflection.model_validate(it) for it in events if it["event_type"] == "reflection"]
    assert sum(len(it.memories) for it in reflected) > 0
    assert "storage_failed" not in [it["event_type"] for it in events]
    with Store(config) as store:
        (episode,) = store.episodes()
        kept = store.memories(episode.story_sha256)
    assert len(kept) == sum(len(it.memories) for it in reflected)
