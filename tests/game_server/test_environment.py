"""The games as Gymnasium environments, and one trajectory through every door."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from game_interface.errors import StoryNotFoundError
from game_server.environment import TextGame
from mcp_ghost.testing import ModelServer
from scripts.scripted_model import ScriptedModel
from session.configuration_file import ConfigurationError
from session.game_state import TurnRecord
from session.record.event_log import read
from tests.game_server.guests import guest, offered
from tests.support import ROOT
from tests.support.games import BUNDLED_COMMANDS, needs_zork1, written
from tests.support.program import Program
from tests.support.tiny_story import READ_KEYS, Object, build, say

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
    assert quiet.reset(seed=SEED)[1] == {"turn": 0, "ended": None, "refused": None}
    quiet.close()


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
