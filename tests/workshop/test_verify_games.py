"""Stories played as players do; the walkthroughs of known games need their files, and jericho."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from game_interface.catalogue import at_hand, known_games
from game_interface.errors import StoryFormatError
from stories.profile import STORIES as OURS
from stories.profile import find_profile
from tests.support.games import written
from tests.support.tiny_story import Object, build, loop, say
from workshop.story.learned_profile import learned_profile
from workshop.story.learned_profile import main as learn

BUNDLED = OURS / "weatherworks.z5"
STORIES = os.environ.get("STORIES_DIR", "")
QUICK = ("905", "acorncourt", "awaken", "detective", "night", "pentari", "zork3")
"""Inform 5 and 6, Infocom's compiler, and a game whose score is victory; a minute in all."""

needs_jericho = pytest.mark.skipif(not find_spec("jericho"), reason="jericho is not installed")


@pytest.mark.slow
@needs_jericho
@pytest.mark.skipif(not STORIES, reason="STORIES_DIR names no folder of story files")
@pytest.mark.parametrize("name", QUICK)
def test_a_walkthrough_played_through_the_front_door_shows_jerichos_facts(name: str) -> None:
    from workshop.story.verify_games import replay

    replayed = replay(known_games()[name], file_of(name))
    assert replayed.is_explained
    assert replayed.steps == replayed.of
    assert replayed.on_bocfel == replayed.best


def file_of(name: str) -> Path:
    path = at_hand([Path(STORIES)]).get(name)
    if path is None:
        pytest.skip(f"the file of {name} is not in {STORIES}")
    return path


@pytest.mark.slow
@needs_jericho
@pytest.mark.skipif(not STORIES, reason="STORIES_DIR names no folder of story files")
@pytest.mark.parametrize("name", QUICK)
def test_learning_a_game_again_gives_the_profile_that_is_kept(name: str) -> None:
    path = file_of(name)
    learned = learned_profile(path, known_games()[name].title)
    assert learned == find_profile(learned.sha256, [])


def test_nothing_is_learned_of_a_story_that_jericho_does_not_support(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = written(tmp_path, build([Object("Hall")]))
    assert learn([str(story)]) == 2
    told = capsys.readouterr().err
    assert "does not support" in told or "uv sync --extra jericho" in told
    assert StoryFormatError.__name__ not in told


def test_a_story_is_tried_out_as_players_play_it_and_written_down() -> None:
    from workshop.story.verify_games import page_of, try_out

    tried = try_out("weatherworks.z5", BUNDLED)
    assert (tried.begins, tried.helps, tried.stopped, tried.wrong) == (True, "yes", "", [])
    assert tried.engine == "bocfel"
    assert "| weatherworks.z5 | bocfel |" in page_of([], [tried])


def test_a_story_that_cannot_be_begun_is_not_written_down(tmp_path: Path) -> None:
    from workshop.story.verify_games import page_of, try_out

    broken = try_out("broken.z3", written(tmp_path, build(code=b"\0\0"), "broken.z3"))
    assert "illegal opcode" in broken.stopped
    assert "broken.z3 |" not in page_of([], [broken])


def test_a_list_that_the_words_do_not_bear_out_is_written_down(tmp_path: Path) -> None:
    from workshop.story.verify_games import try_out

    objects = [Object("Hall"), Object("yourself", 1), Object("hat", 2)]
    code = say("Hall\n") + loop(say("You are carrying a lamp. "))
    image = build(objects, code=code, global_values={7: 2})
    tried = try_out("liar.z3", written(tmp_path, image))
    assert tried.wrong == ["carries 'hat', by its facts alone"]


def test_a_score_that_the_words_do_not_bear_out_is_written_down(tmp_path: Path) -> None:
    from workshop.story.verify_games import try_out

    code = say("Hall\n") + loop(say("Your score is 10 out of 250. "))
    image = build([Object("Hall")], code=code, global_values={0: 1, 1: 9})
    tried = try_out("liar.z3", written(tmp_path, image))
    assert tried.wrong == ["has 9 points, by its facts alone"]
