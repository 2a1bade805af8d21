"""Profiles that were learned from a walkthrough: they know less, and say so."""

from __future__ import annotations

import json
from pathlib import Path

from game_interface import Game
from stories.memory import StoryImage
from tests.support.games import started, written
from tests.support.tiny_story import READ_KEYS, Object, build, increment, loop, say

PLACES, HALL, YOU, CHAIR, PILLOW = range(1, 6)


def learned(folder: Path, code: bytes, version: int = 3, **profile: object) -> Game:
    """A story whose rooms are all in one object; the player sits on a chair."""
    image = build(
        [
            Object("places"),
            Object("Hall", parent=PLACES),
            Object("you", parent=CHAIR),
            Object("chair", parent=HALL),
            Object("pillow", parent=YOU),
        ],
        global_values={0: HALL, 1: 4},
        version=version,
        code=code,
    )
    known = {"sha256": StoryImage(image).sha256, "title": "Tiny", "player": YOU, "rooms": PLACES}
    file = folder / "tiny.profile.json"
    file.write_text(json.dumps({**known, "deaths_are_final": False, **profile}))
    return started(written(folder, image, f"tiny.z{version}"))


def test_the_room_is_what_is_in_nothing_but_the_object_of_all_rooms(tmp_path: Path) -> None:
    with learned(tmp_path, say("Hi.\n") + READ_KEYS, version=5) as game:
        facts = game.facts()
    assert (facts.room_id, facts.room_name) == (HALL, "Hall")
    assert [thing.name for thing in facts.inventory or ()] == ["pillow"]
    assert facts.unknown == ("score", "moves", "deaths")


def test_where_the_score_is_victory_it_is_one_point_for_winning(tmp_path: Path) -> None:
    ending = {"index": 3, "victory": [2]}
    code = say("Hi.\n") + loop(increment(3) + say("On.\n"))
    with learned(tmp_path, code, score_is_victory=True, ending=ending) as game:
        game.step("wait")
        assert (game.facts().score, game.is_over) == (0, True), "1 is a death"
    with learned(tmp_path, code, score_is_victory=True, ending={**ending, "death": []}) as game:
        game.step("wait")
        assert (game.facts().score, game.is_over) == (0, False), "what 1 means is not known"
        game.step("wait")
        assert (game.facts().score, game.facts().won, game.is_over) == (1, True, True)


def test_deaths_that_may_not_be_final_are_not_counted(tmp_path: Path) -> None:
    code = say("Hi.\n") + loop(say("*** You have died ***\nNo matter.\n"))
    with learned(tmp_path, code, globals={"score": 1}) as game:
        assert game.facts().deaths is None
        game.step("jump")
        assert (game.died_in_last_step, game.is_over) == (True, False)
        assert (game.facts().score, game.facts().deaths) == (4, None)
    with learned(tmp_path, say("Hi.\n") + loop(say("Fine.\n"))) as game:
        game.step("jump")
        assert game.died_in_last_step is None


def test_the_customary_end_is_known_without_a_variable(tmp_path: Path) -> None:
    end = "*** You have won ***\nWould you like to RESTART, RESTORE or QUIT?\n"
    with learned(tmp_path, say("Hi.\n") + loop(say(end))) as game:
        game.step("win")
        assert (game.facts().won, game.is_over) == (True, True)


def test_what_is_carried_is_unknown_where_the_story_also_lists_what_nothing_holds(
    tmp_path: Path,
) -> None:
    with learned(tmp_path, say("No tea.\n") + READ_KEYS, 5, lists_more=True) as game:
        facts = game.facts()
    assert (facts.room_id, facts.inventory) == (HALL, None)
