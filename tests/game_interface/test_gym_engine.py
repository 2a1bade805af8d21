"""A Gymnasium environment of text is played like a story; what it does not tell is unknown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from game_interface import Game, check_story, open_game
from game_interface.errors import (
    EngineStoppedError,
    EngineUnavailableError,
    GameOverError,
    InvalidCommandError,
    StoryFormatError,
    StoryNotFoundError,
)
from orchestration.replay import replay
from session.configuration_file import ConfigurationError
from session.game_state import Observation, ThingSeen
from tests.game_interface.text_environment import BROKEN, NUMBERED, SILENT, TELLING, UNDECLARED
from tests.support.episodes import Played as Episode
from tests.support.episodes import all_text, answer, played

WAY = ["look", "take lamp", "east", "east", "east"]


def opened(name: str) -> Game:
    return open_game(name, seed=7, engine="auto")


def episode(folder: Path, name: str, commands: list[str], **settings: Any) -> Episode:  # noqa: ANN401  fields of the configuration
    return played(folder, [answer(word) for word in commands], story=name, **settings)


def facts_of(seen: Observation) -> tuple[object, ...]:
    return seen.room, seen.score, seen.moves, seen.inventory


def test_the_agent_plays_an_environment_that_tells_nothing_and_nothing_becomes_0(
    tmp_path: Path,
) -> None:
    whole = episode(tmp_path, SILENT, WAY)
    assert whole.given == WAY
    assert whole.start["unknown"] == ["room", "score", "moves", "inventory", "deaths"]
    assert {facts_of(turn.after) for turn in whole.turns} == {(None, None, None, None)}
    assert {(turn.scored, turn.died, turn.snapshot) for turn in whole.turns} == {(None, None, "")}
    end = whole.end
    assert (end["reason"], end["score"], end["deaths"]) == ("game_over", None, None)
    with pytest.raises(ConfigurationError, match="whose module would be imported"):
        replay(whole.folder)
    assert replay(whole.folder, story=SILENT).turns == len(WAY)


def test_what_an_environment_tells_is_known(tmp_path: Path) -> None:
    whole = episode(tmp_path, TELLING, WAY, observation_level="facts")
    assert whole.start["unknown"] == ["moves", "deaths"]
    last = whole.turns[-1]
    carried = (ThingSeen("lamp"),)
    assert (last.after.room_name, last.after.inventory, last.scored) == ("Step 3", carried, 1)
    assert (whole.end["reason"], whole.end["score"]) == ("victory", 3)
    told = all_text(whole.requests[-1:])
    assert "Score: 2" in told
    assert "You carry: lamp" in told
    assert "Step 1" in told


def test_an_environment_goes_on_by_its_commands(tmp_path: Path) -> None:
    episode(tmp_path, TELLING, WAY[:3], max_turns_per_episode=3)
    rest = episode(tmp_path, TELLING, WAY[3:], resume=True)
    assert rest.given == WAY[3:]
    assert [turn.command for turn in rest.turns] == WAY
    assert rest.end["reason"] == "victory"


def test_an_environment_that_answers_otherwise_is_not_continued(tmp_path: Path) -> None:
    first = episode(tmp_path, SILENT, WAY[:3], max_turns_per_episode=3)
    log = first.folder / "events.jsonl"
    log.write_text(log.read_text().replace("You are 1 steps in", "You are 9 steps in"))
    with pytest.raises(Exception, match="does not answer 'east' as it did in turn 3"):
        episode(tmp_path, SILENT, WAY[3:], resume=True)


def test_the_same_seed_begins_the_same_game_and_another_does_not() -> None:
    texts = [open_game(SILENT, seed=seed, engine="auto").start() for seed in (0, 0, 8)]
    assert texts[0] == texts[1] != texts[2]


def test_errors_say_what_to_do() -> None:
    game = opened(SILENT)
    game.start()
    with pytest.raises(InvalidCommandError, match="interpreter"):
        game.step("save")
    with pytest.raises(InvalidCommandError, match="takes commands of 1 to 200 characters"):
        game.step("EAST!")
    for _ in range(3):
        game.step("east")
    with pytest.raises(GameOverError):
        game.step("east")
    game.start()
    with pytest.raises(
        EngineStoppedError, match=r"failed at 'break': .* RuntimeError: the corridor"
    ):
        game.step("break")
    game.close()
    with pytest.raises(StoryNotFoundError, match="there is no environment 'Nowhere-v9'"):
        opened("gym:Nowhere-v9")
    with pytest.raises(StoryFormatError, match="Broken-v0 cannot be created: KeyError: 'lamp'"):
        opened(BROKEN)


def test_an_environment_that_is_not_of_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="not text"):
        episode(tmp_path, "gym:CartPole-v1", WAY)


def test_an_environment_whose_actions_are_not_text_is_refused_before_anything_is_played(
    tmp_path: Path,
) -> None:
    with pytest.raises(StoryFormatError, match=r"its actions are not text, but Discrete\(4\)"):
        check_story(NUMBERED)
    check_story(UNDECLARED)  # as older environments of text are
    assert episode(tmp_path, UNDECLARED, WAY).given == WAY


def test_without_gymnasium_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(EngineUnavailableError, match="uv sync --extra gym"):
        opened(SILENT)


def test_an_evaluation_refuses_an_environment_without_a_score(tmp_path: Path) -> None:
    from evaluation.commands.play import _story
    from tests.support.episodes import configured

    with pytest.raises(ConfigurationError, match="nothing to measure"):
        _story(configured(tmp_path, "http://127.0.0.1:1", story=SILENT))
    assert _story(configured(tmp_path, "http://127.0.0.1:1", story=TELLING)).place == TELLING
