"""A game from its start to its end, through the public interface."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from game_interface import open_game
from game_interface.engines.engine import EngineName
from game_interface.errors import GameError, GameOverError, InvalidCommandError
from stories.memory import StoryImage
from tests.support import ROOT
from tests.support.games import ENGINES, started, written
from tests.support.tiny_story import QUIT, READ_KEY, build, endlessly, increment, loop, say


def test_a_game_must_be_started_before_it_is_played() -> None:
    with open_game("bundled") as game:
        for use in (game.facts, game.snapshot, lambda: game.step("look"), lambda: game.is_over):
            with pytest.raises(GameError, match=r"call start\(\) or restore\(\) first"):
                use()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_closed_game_says_so(engine: EngineName) -> None:
    game = started(engine=engine)
    snapshot = game.snapshot()
    game.close()

    for use in (game.start, game.facts, game.snapshot, lambda: game.restore(snapshot)):
        with pytest.raises(GameError, match="the game is closed"):
            use()


def test_starting_again_begins_again() -> None:
    with open_game("bundled", seed=1) as game:
        opening, first = game.start(), game.facts()
        game.step("north")

        assert game.start() == opening
        assert game.facts() == first


def test_the_same_seed_gives_the_same_game_and_an_own_one_is_told() -> None:
    with open_game("bundled", seed=99) as game:
        assert game.seed == 99
    with open_game("bundled") as one, open_game("bundled") as other:
        assert one.seed != other.seed
        assert 1 <= one.seed < 2**31


@pytest.mark.parametrize("seed", [-1, 2**31])
def test_a_seed_that_engines_treat_differently_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="the seed must be between 0 and 2147483647"):
        open_game("bundled", seed=seed)


@pytest.mark.parametrize(
    "command",
    ["save", "restore", "quit", "restart", "script", "north. save", "oops quit", "n\nsouth"],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_refused_command_never_reaches_the_game(
    engine: EngineName, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with started(engine=engine) as game:
        before = game.facts()
        with pytest.raises(InvalidCommandError):
            game.step(command)

        assert game.facts() == before
        assert "Cliff Path" in game.step("north")
    assert list(tmp_path.iterdir()) == []


def test_a_command_is_cleaned_before_the_game_sees_it() -> None:
    with started() as game:
        assert "Cliff Path" in game.step("  > NORTH \n")


def test_the_dictionary_is_the_parsers() -> None:
    with open_game("bundled") as game:
        assert {"north", "letter", "kettle"} <= game.vocabulary.words
        assert all(len(word) <= 9 for word in game.vocabulary.words)


ANNOUNCED = {
    "    *** You have died ***": (True, True, False),
    "  ****  You have died  ****": (True, True, False),
    "*** You have won ***": (True, False, True),
    "*** The End ***": (True, False, False),
}
QUESTION = "\n\nWould you like to RESTART, RESTORE a saved game or QUIT?\n> "


HINTS = "\n\nWould you like to RESTART, RESTORE, QUIT, or look at your inventory of HINTS?\n> "


@pytest.mark.parametrize("question", [QUESTION, HINTS])
@pytest.mark.parametrize("line", ANNOUNCED)
def test_without_a_profile_an_end_is_known_by_its_words_where_all_commands_are_answered_alike(
    line: str, question: str, tmp_path: Path
) -> None:
    with started(written(tmp_path, build(code=loop(say(line + question))))) as game:
        game.step("jump")
        facts = game.facts()

        assert (game.is_over, facts.dead, facts.won) == ANNOUNCED[line]
        with pytest.raises(GameOverError):
            game.step("restart")


@pytest.mark.parametrize("engine", ENGINES)
def test_words_alone_never_end_a_game(engine: EngineName, tmp_path: Path) -> None:
    """As in a help text; the moves count on, so the story still does what it is told."""
    count = increment(2) + b"\xe6\xbf\x12"  # print_num g2
    code = say("Hall\n") + loop(count + say(" moves. You can always RESTART, RESTORE or QUIT.\n"))
    with started(written(tmp_path, build(code=code)), engine=engine) as game:
        for number in range(1, 4):
            assert game.step("help").startswith(f"{number} moves.")
            assert not game.is_over


def test_a_page_of_help_that_waits_for_a_key_does_not_end_a_game(tmp_path: Path) -> None:
    page = say("Commands are SAVE, RESTORE, RESTART and QUIT. Press any key.\n") + READ_KEY
    code = endlessly(b"\xe4\x0f\x02\xe0\x03\x60\x00" + page + say("Done.\n"))
    with started(written(tmp_path, build(version=5, code=code), "help.z5")) as game:
        game.step("help")
        assert (game.is_over, game.facts().waits_for) == (False, "key")
        assert game.step("space") == "Done."


def test_a_known_variable_is_not_overruled_by_words(tmp_path: Path) -> None:
    image = build(code=loop(say("*** You have died ***" + QUESTION)))
    story = written(tmp_path, image)
    profile = {"sha256": StoryImage(image).sha256, "title": "Tiny", "ending": {"index": 9}}
    (tmp_path / "tiny.profile.json").write_text(json.dumps(profile))
    with started(story) as game:
        game.step("jump")
        assert (game.is_over, game.died_in_last_step) == (False, False)


@pytest.mark.parametrize(
    ("words", "dead", "won"),
    [
        ("*** You have died ***", True, False),
        ("*** You have won ***", False, True),
        ("Goodbye.", False, False),
    ],
)
def test_a_story_that_quits_with_its_last_command_tells_its_end_by_its_words(
    words: str,
    dead: bool,
    won: bool,
    tmp_path: Path,
) -> None:
    """For the memory is then that from before the command."""
    image = build(code=loop(b"\x0d\x19\x01" + say(words + "\n") + QUIT))  # store g9 1
    profile = {"sha256": StoryImage(image).sha256, "title": "Tiny", "ending": {"index": 9}}
    (tmp_path / "tiny.profile.json").write_text(json.dumps(profile))
    with started(written(tmp_path, image)) as game:
        game.step("jump")
        facts = game.facts()
        assert (game.is_over, facts.dead, facts.won) == (True, dead, won)
        snapshot = game.snapshot()
        game.start()
        game.restore(snapshot)
        assert (game.is_over, game.facts()) == (True, facts)


def test_without_a_profile_a_death_without_an_end_is_a_death_all_the_same(tmp_path: Path) -> None:
    image = build(code=loop(say("  ****  You have died  ****\n\nTry again.\n")))
    with started(written(tmp_path, image)) as game:
        game.step("jump")

        assert game.died_in_last_step
        assert not game.is_over


def test_a_story_that_quits_at_once_is_over_after_its_opening(tmp_path: Path) -> None:
    with open_game(written(tmp_path, build(code=say("Bye.\n") + QUIT))) as game:
        assert game.start() == "Bye."
        assert game.is_over


def test_two_games_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    story = written(tmp_path, build(code=loop(increment(2) + say("Done.\n"))))
    with started(story) as one, started(story) as other:
        for _ in range(3):
            one.step("wait")
        other.step("wait")

        assert (one.facts().moves, other.facts().moves) == (3, 1)


def test_importing_the_package_loads_no_engine_and_no_pydantic() -> None:
    code = "import sys, game_interface; print([m for m in sys.modules if '.' not in m])"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )

    assert not {"jericho", "pydantic", "httpx2", "numpy"} & set(eval(run.stdout))  # noqa: S307 - our own list
