"""The games as Gymnasium environments, and one trajectory through every door."""

from __future__ import annotations

import copy
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector.utils import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

from game_interface.errors import StoryNotFoundError
from game_server.environment import PrintedText, TextGame
from mcp_ghost.testing import ModelServer
from session.configuration_file import ConfigurationError
from session.game_state import TurnRecord
from session.record.event_log import read
from stories.memory import StoryImage
from tests.game_server.guests import guest, offered
from tests.support import ROOT
from tests.support.games import BUNDLED_COMMANDS, needs_zork1, written
from tests.support.program import Program
from tests.support.tiny_story import READ_KEY, READ_KEYS, Object, build, loop, say
from workshop.scripted_model import ScriptedModel

TRAJECTORY = BUNDLED_COMMANDS[:4]
"""Up to the first points, and one more."""
SEED = 7
Steps = list[tuple[str, int | None, float | None]]
"""Text, score and reward of each step."""


@pytest.fixture
def env() -> Iterator[gymnasium.Env[str, str]]:
    it: gymnasium.Env[str, str] = gymnasium.make("zorkgpt/bundled-v0", level="facts+exits")
    yield it
    it.close()


def test_gymnasiums_own_check_passes() -> None:
    it = gymnasium.make("zorkgpt/bundled-v0", render_mode="ansi").unwrapped
    check_env(it)
    it.close()


def test_info_tells_what_the_level_tells(env: gymnasium.Env[str, str]) -> None:
    text, info = env.reset(seed=SEED)
    assert "Landing Stage" in text
    assert info["exits"] == ["north"]
    assert info["inventory"] == ["letter"]
    quiet = TextGame("bundled", level="text")
    told = quiet.reset(seed=SEED)[1]
    assert told == {"waits_for": "line", "turn": 0, "ended": None, "refused": None}
    quiet.close()


def test_an_agent_is_told_that_a_key_is_wanted(tmp_path: Path) -> None:
    image = build(
        [Object("x")], version=5, code=say("Press a key.\n") + READ_KEY + loop(say("On."))
    )
    profile = {"sha256": StoryImage(image).sha256, "title": "Keys", "globals": {"score": 1}}
    (tmp_path / "keys.profile.json").write_text(json.dumps(profile))
    it = TextGame(str(written(tmp_path, image, "keys.z5")))
    assert it.reset(seed=SEED)[1]["waits_for"] == "key"
    refused = it.step("look around")[4]
    assert refused["waits_for"] == "key"
    assert refused["turn"] == 0
    assert "waits for a key" in refused["refused"]
    assert it.step("space")[4]["waits_for"] == "line"
    it.close()


@pytest.mark.parametrize("is_recorded", [False, True])
def test_a_command_at_which_the_engine_fails_is_undone_and_three_in_a_row_are_too_many(
    tmp_path: Path, *, is_recorded: bool
) -> None:
    story = written(tmp_path, build(code=say("Hall\n") + loop(b"\0")))
    it = TextGame(str(story), workdir=str(tmp_path) if is_recorded else None)
    it.reset(seed=SEED)
    for turn, is_last in ((1, False), (2, False), (3, True)):
        text, reward, terminated, truncated, info = it.step("wait")
        assert "illegal opcode" in text
        assert (reward, terminated, truncated) == (0.0, False, is_last)
        assert (info["turn"], info["refused"]) == (turn, None)
    assert info["ended"] == "engine_refused"
    it.close()


def test_a_game_that_is_not_recorded_writes_nothing_and_plays_like_one_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path / "temporary")
    played = []
    for workdir in (None, str(tmp_path / "recorded")):
        it = TextGame("bundled", level="facts+exits", workdir=workdir)
        commands = [*TRAJECTORY, "quit", "north. north", *TRAJECTORY]
        played.append([it.reset(seed=SEED), *map(it.step, commands)])
        it.close()
    assert played[0] == played[1]
    assert list((tmp_path / "temporary").iterdir()) == []
    assert len(list((tmp_path / "recorded").glob("episodes/*/events.jsonl"))) == 1


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_vector_gives_each_games_own_words(mode: str) -> None:
    how: dict[str, Any] = {"context": "spawn"} if mode == "async" else {}
    both: Any = gymnasium.make_vec(
        "zorkgpt/bundled-v0", num_envs=2, vectorization_mode=mode, vector_kwargs=how
    )
    first, _ = both.reset(seed=[SEED, SEED])
    second, *_ = both.step(["north", "read letter"])
    assert ["Cliff Path" in text for text in second] == [True, False]
    assert first[0] == first[1], "what was given before does not change"
    assert "Landing Stage" in first[0]
    workers = [process.pid for process in getattr(both, "processes", ())]
    assert len(workers) == (2 if mode == "async" else 0)
    both.close()
    assert not any(Path("/proc", str(pid)).exists() for pid in workers)


def test_a_games_words_may_be_in_any_script() -> None:
    space = PrintedText(10)
    memory = create_shared_memory(space, n=2)
    texts = read_from_shared_memory(space, memory, n=2)
    for told in ("Ζορκ ⟦∞⟧", "x" * 10, "\U00010348" * 10, ""):
        assert space.contains(told)
        write_to_shared_memory(space, 1, told, memory)  # type: ignore[arg-type]  # says arrays
        assert copy.deepcopy(texts) == ("", told)
    assert not space.contains("x" * 11)


def test_games_of_a_vector_need_not_begin_together() -> None:
    both: Any = gymnasium.make_vec("zorkgpt/bundled-v0", num_envs=2, max_turns=2)
    both.reset(seed=SEED)
    for said in ("north", "save", "save"):  # by the first, while the second begins anew
        info = both.step([said, "look"])[-1]
    assert list(info["turn"]) == [1, 0]
    assert list(info["_scored"]) == [True, False]
    both.close()


def test_the_readmes_example_needs_no_import_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (name,) = re.findall(r'gymnasium\.make\("(.+?)"\)', (ROOT / "README.md").read_text())
    for story in ("bundled", "zork1"):
        monkeypatch.delitem(gymnasium.registry, f"zorkgpt/{story}-v0")
    monkeypatch.delitem(sys.modules, TextGame.__module__)
    gymnasium.make(name).close()


def test_a_refused_command_costs_no_turn_and_says_why(env: gymnasium.Env[str, str]) -> None:
    env.reset(seed=SEED)
    _, reward, terminated, truncated, info = env.step("quit")
    assert (reward, terminated, truncated, info["turn"]) == (0.0, False, False, 0)
    assert "interpreter" in info["refused"]
    assert env.step("north")[4]["turn"] == 1


@pytest.mark.parametrize("action", [5, None, b"north"])
def test_an_action_that_is_no_text_is_refused_by_name_and_costs_nothing(action: Any) -> None:  # noqa: ANN401  anything
    it = TextGame("bundled")
    it.reset(seed=SEED)
    with pytest.raises(gymnasium.error.InvalidAction, match="A command must be text"):
        it.step(action)
    assert it.step("north")[4]["turn"] == 1
    it.close()


def test_a_game_of_no_turns_is_not_taken_for_one_of_the_usual_length() -> None:
    with pytest.raises(ConfigurationError, match="max_turns_per_episode: must be 1 or more"):
        TextGame("bundled", max_turns=0)


def test_a_game_is_cut_off_at_its_last_turn_and_then_needs_a_reset(tmp_path: Path) -> None:
    it = TextGame("bundled", max_turns=2, workdir=str(tmp_path))
    with pytest.raises(gymnasium.error.ResetNeeded):
        it.step("look")
    it.reset(seed=SEED)
    assert it.step("north")[2:4] == (False, False)
    assert it.step("north")[2:4] == (False, True)
    with pytest.raises(gymnasium.error.ResetNeeded):
        it.step("look")
    it.close()
    (log,) = tmp_path.glob("episodes/*/events.jsonl")
    assert "max_turns" in log.read_text()


def test_without_a_known_score_there_is_no_reward_and_so_no_environment(tmp_path: Path) -> None:
    image = build([Object("x")], version=5, code=say("Hi.\n") + READ_KEYS)
    it = TextGame(str(written(tmp_path, image, "silent.z5")))
    with pytest.raises(ConfigurationError, match="there is no reward"):
        it.reset(seed=SEED)
    it.close()


@needs_zork1
def test_zork_1_is_an_environment_with_its_points() -> None:
    env: gymnasium.Env[str, str] = gymnasium.make("zorkgpt/zork1-v0")
    text, _ = env.reset(seed=SEED)
    assert "West of House" in text
    steps = [env.step(command) for command in ("north", "east", "open window", "enter house")]
    env.close()
    assert [reward for _, reward, *_ in steps] == [0, 0, 0, 10]
    assert steps[-1][4]["score"] == 10


def test_without_a_copy_of_zork_1_its_environment_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZORK1_STORY", str(tmp_path / "gone.z3"))
    env: gymnasium.Env[str, str] = gymnasium.make("zorkgpt/zork1-v0")
    with pytest.raises(StoryNotFoundError, match=r"ZORK1_STORY names .*gone\.z3"):
        env.reset()
    env.close()


async def test_one_trajectory_is_the_same_through_every_door(tmp_path: Path) -> None:
    ours = through_main(tmp_path)
    assert sum(reward or 0 for *_, reward in ours) > 0
    assert ours == await through_mcp(tmp_path) == through_gymnasium()


def through_main(folder: Path) -> Steps:
    program = Program(folder)
    with ModelServer(ScriptedModel(TRAJECTORY)) as model:
        flags = program.flags(model.base_url, turns=len(TRAJECTORY))
        done = program.run(*flags, "--no-mcp")
    assert done.returncode == 0, done.stderr
    (episode,) = program.episodes()
    turns = [it.event for it in read(episode) if isinstance(it.event, TurnRecord)]
    assert [turn.command for turn in turns] == TRAJECTORY
    return [(turn.response, turn.after.score, turn.scored) for turn in turns]


async def through_mcp(folder: Path) -> Steps:
    games, steps = offered(folder), []
    async with guest(games) as call:
        await call("new_game", seed=SEED)
        for command in TRAJECTORY:
            values: dict[str, Any] = (await call("command", text=command)).values
            steps.append((values["text"], values["facts"]["score"], values["facts"]["scored"]))
    games.close()
    return steps


def through_gymnasium() -> Steps:
    env: gymnasium.Env[str, str] = gymnasium.make("zorkgpt/bundled-v0")
    env.reset(seed=SEED)
    steps: Steps = []
    for command in TRAJECTORY:
        text, reward, _, _, info = env.step(command)
        steps.append((text, info["score"], float(reward)))
    env.close()
    return steps
