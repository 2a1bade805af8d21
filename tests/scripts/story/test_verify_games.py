"""Walkthroughs of known games on both engines; needs their files, and jericho."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from game_interface.catalogue import at_hand, known_games
from game_interface.errors import StoryFormatError
from game_interface.machine.profile import find_profile
from scripts.story.make_profile import main as make_profile
from tests.support.games import written
from tests.support.tiny_story import Object, build

STORIES = os.environ.get("STORIES_DIR", "")
QUICK = ("905", "acorncourt", "awaken", "detective", "night", "pentari", "zork3")
"""Inform 5 and 6, Infocom's compiler, and a game whose score is victory; a minute in all."""

needs_jericho = pytest.mark.skipif(not find_spec("jericho"), reason="jericho is not installed")


@pytest.mark.slow
@needs_jericho
@pytest.mark.skipif(not STORIES, reason="STORIES_DIR names no folder of story files")
@pytest.mark.parametrize("name", QUICK)
def test_a_walkthrough_shows_jerichos_facts_at_every_step_on_both_engines(name: str) -> None:
    from scripts.story.verify_games import verify

    path = at_hand([Path(STORIES)]).get(name)
    if path is None:
        pytest.skip(f"the file of {name} is not in {STORIES}")
    verified = verify(known_games()[name], path)
    assert verified.steps == verified.same_texts
    assert verified.is_explained
    for replay in verified.replays.values():
        assert replay.steps == verified.steps
        assert replay.score == verified.best_score
        assert {fact for fact, _ in replay.different} <= {"moves"}, "Jericho goes on after QUIT"
        assert replay.equal["moves"] >= replay.steps - 1 or "moves" in replay.unknown


@pytest.mark.slow
@needs_jericho
@pytest.mark.skipif(not STORIES, reason="STORIES_DIR names no folder of story files")
@pytest.mark.parametrize("name", QUICK)
def test_learning_a_game_again_gives_the_profile_that_is_kept(name: str) -> None:
    from scripts.story.learned_profile import learned_profile

    path = at_hand([Path(STORIES)]).get(name)
    if path is None:
        pytest.skip(f"the file of {name} is not in {STORIES}")
    learned = learned_profile(path, known_games()[name].title)
    assert learned == find_profile(learned.sha256, [])


def test_nothing_is_learned_of_a_story_that_jericho_does_not_support(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = written(tmp_path, build([Object("Hall")]))
    assert make_profile([str(story), "--learn"]) == 2
    told = capsys.readouterr().err
    assert "does not support" in told or "uv sync --extra jericho" in told
    assert StoryFormatError.__name__ not in told


def test_a_profile_is_made_in_one_of_two_ways(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        make_profile(["story.z5"])
    assert ended.value.code == 2
    assert "give gameinfo.dbg, or --learn" in capsys.readouterr().err
