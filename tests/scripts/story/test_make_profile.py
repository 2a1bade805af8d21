"""A profile is made from what the compiler says about a story, and fits it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from game_interface import Exit, open_game
from scripts.story import make_profile
from scripts.story.source import missing_tools
from stories.profile import STORIES, read_profile

needs_inform = pytest.mark.skipif(bool(missing_tools()), reason=str(missing_tools()))
LIBRARY = "/usr/share/inform6/library"

SOURCE = """
Constant Story "Two Rooms";
Constant Headline "^A test^";
Constant MAX_SCORE 9;
Include "Parser";
Include "VerbLib";
Global bell_rung;
Object hall "Hall"
  with description "A hall.", n_to oak_door, s_to "A wall is there.", e_to [; return 0; ],
       d_to cellar,
  has light;
Object cellar "Cellar" with description "A cellar.", u_to hall;
Object study "Study" with description "A study.", s_to oak_door, has light;
Object oak_door "oak door"
  with name 'oak' 'door', found_in hall study,
       door_to [; if (location == hall) return study; return hall; ],
       door_dir [; if (location == hall) return n_to; return s_to; ],
  has door openable static;
Object bell "bell" hall with name 'bell', before [; Push: bell_rung = 1; "Ding."; ], has scenery;
Object cat "cat" hall
  with name 'cat', daemon [; if (cat in hall) move cat to study; else move cat to hall; ],
  has animate;
Object fuse "fuse" hall with name 'fuse', time_left 0, time_out [; deadflag = 1; ];
Object key "key" hall with name 'key', has concealed;
[ Initialise; location = hall; StartDaemon(cat); StartTimer(fuse, 9); ];
Include "Grammar";
"""


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    (tmp_path / "rooms.inf").write_text(SOURCE)
    compiler = shutil.which("inform6")
    assert compiler
    subprocess.run(
        [compiler, "-k", f"+include_path={LIBRARY}", "rooms.inf", "rooms.z5"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    return tmp_path / "rooms.z5"


def made(story: Path, *options: str) -> int:
    return make_profile.main([str(story), str(story.with_name("gameinfo.dbg")), *options])


@needs_inform
def test_a_story_is_known_through_the_profile_beside_it(compiled: Path) -> None:
    assert made(compiled) == 0
    with open_game(compiled) as game:
        game.start()
        facts = game.facts()
        assert (game.story.title, facts.max_score) == ("Two Rooms", 9)
        assert (facts.room_name, facts.dark) == ("Hall", False)
        assert {thing.name for thing in facts.visible} >= {"oak door", "bell", "fuse"}
        assert "key" not in {thing.name for thing in facts.visible}
        assert set(facts.exits) == {
            Exit("north", facts.exits[0].room_id, "Study", "door", "oak door (closed)"),
            Exit("east", None, None, "conditional"),
            Exit("south", None, None, "blocked", "A wall is there."),
            Exit("down", facts.exits[-1].room_id, "Cellar", "open"),
        }
        game.step("down")
        facts = game.facts()
        assert (facts.room_name, facts.dark, facts.visible) == ("Cellar", True, ())


@needs_inform
def test_clocks_do_not_change_the_world_and_named_creatures_and_globals_are_heeded(
    compiled: Path,
) -> None:
    assert made(compiled, "--wanderer", "cat", "--state-global", "bell_rung") == 0
    with open_game(compiled) as game:
        game.start()
        game.step("wait")
        before = game.facts().world_hash
        game.step("wait")
        assert game.facts().world_hash == before
        game.step("push bell")
        assert game.facts().world_hash != before


@needs_inform
def test_a_creature_that_is_not_named_changes_the_world_as_it_wanders(compiled: Path) -> None:
    made(compiled)
    with open_game(compiled) as game:
        game.start()
        before = game.facts().world_hash
        game.step("wait")

        assert game.facts().world_hash != before


@needs_inform
def test_the_fuse_ends_the_game_by_a_death(compiled: Path) -> None:
    made(compiled)
    with open_game(compiled) as game:
        game.start()
        for _ in range(20):
            game.step("wait")
            if game.is_over:
                break

        assert game.facts().dead
        assert game.died_in_last_step


@needs_inform
def test_the_output_can_be_named(compiled: Path, tmp_path: Path) -> None:
    output = tmp_path / "else.profile.json"

    assert made(compiled, "-o", str(output)) == 0
    assert read_profile(output).title == "Two Rooms"


@needs_inform
@pytest.mark.parametrize("option", ["--wanderer", "--state-global"])
def test_a_name_that_the_story_does_not_have_is_an_error(
    compiled: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert made(compiled, option, "dragon") == 2
    assert "'dragon'" in capsys.readouterr().err


def test_files_that_are_not_there_or_not_right_are_errors_that_name_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = tmp_path / "x.z5"
    assert made(story) == 2
    assert "x.z5" in capsys.readouterr().err

    shutil.copyfile(STORIES / "weatherworks.z5", story)
    (tmp_path / "gameinfo.dbg").write_text("<broken")
    assert made(story) == 2
    assert "gameinfo.dbg is not debug information" in capsys.readouterr().err
    (tmp_path / "gameinfo.dbg").write_text("<inform-story-file/>")
    assert made(story) == 2
    assert "has no constant 'Story'" in capsys.readouterr().err


def test_the_help_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        make_profile.main(["--help"])

    assert "inform6 -k" in capsys.readouterr().out
