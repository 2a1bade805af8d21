"""The bundled story, played on the real engine and rebuilt with the real compiler."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from game_interface import open_game
from scripts.story.source import SOURCE, missing_tools
from tests.support import DATA, PATIENCE, ROOT
from workshop.story.build_story import STORY, other_versions

SCRIPT = ROOT / "workshop" / "story" / "build_story.py"
WALKTHROUGH = DATA / "weatherworks_walkthrough.txt"
TO_THE_HALL = ["north", "north", "north"]

needs_inform = pytest.mark.skipif(
    bool(missing_tools() or other_versions()), reason=str(missing_tools() or other_versions())
)


def play(commands: list[str], seed: int = 1) -> list[str]:
    """Play from the start and return the answer to each command, lines joined."""
    with open_game(STORY, seed=seed) as game:
        game.start()
        return [" ".join(game.step(command).split()) for command in commands]


@pytest.mark.parametrize(
    "seed", [1, 2, *(pytest.param(it, marks=pytest.mark.soak) for it in range(3, 11))]
)
def test_the_walkthrough_wins_with_all_hundred_points_whatever_the_dice(seed: int) -> None:
    answers = play(WALKTHROUGH.read_text().splitlines(), seed)

    assert "*** You have won ***" in answers[-1]
    assert "100 out of a possible 100" in answers[-1]
    assert not any("You have won" in answer for answer in answers[:-1])


def test_the_first_rooms_and_things_in_plain_sight_give_points() -> None:
    answers = play([*TO_THE_HALL, "west", "take lantern"])

    assert [answer.count("[The score has just gone up") for answer in answers] == [0, 1, 1, 0, 1]


def test_the_wind_walk_without_boots_warns_once_and_then_kills() -> None:
    answers = play([*TO_THE_HALL, "up", "north", "north", "north"])

    assert "That is what the boots must be for." in answers[-2]
    assert "You have died" not in answers[-2]
    assert "*** You have died ***" in answers[-1]


def test_without_a_light_the_cellar_is_dark_and_leads_nowhere_but_back() -> None:
    dark, onward, back = play([*TO_THE_HALL, "west", "down", "north", "up"])[-3:]

    assert "pitch dark" in dark
    assert "Racks of bottled fog" not in dark
    assert "Not without a light." in onward
    assert "Kitchen" in back


def test_the_jar_room_stays_locked_without_its_key() -> None:
    east, unlock, force = play([*TO_THE_HALL, "north", "east", "unlock door", "open door"])[-3:]

    assert "The narrow door is locked." in east
    assert "You have no key that would fit." in unlock
    assert "locked" in force


def run_script(script: Path, *options: str, path: str | None = None) -> tuple[int, str]:
    """Run the build script as a user does; return its exit code and its messages."""
    run = subprocess.run(
        [sys.executable, str(script), *options],
        env=None if path is None else {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return run.returncode, run.stderr


@needs_inform
def test_the_source_compiles_to_the_committed_bytes(tmp_path: Path) -> None:
    debug_info = tmp_path / "gameinfo.dbg"

    assert run_script(SCRIPT, "--check", "--debug-info", str(debug_info)) == (0, "")
    assert debug_info.read_bytes().startswith(b"<?xml")


@needs_inform
def test_the_check_fails_when_the_source_has_changed(tmp_path: Path) -> None:
    for part in ("stories", "scripts", "workshop", "game_interface"):
        shutil.copytree(ROOT / part, tmp_path / part)
    script = tmp_path / SCRIPT.relative_to(ROOT)
    source = tmp_path / "stories" / SOURCE.name
    source.write_text(source.read_text().replace("Release 1;", "Release 2;"))

    code, message = run_script(script, "--check")

    assert code == 1
    assert "run workshop/story/build_story.py and commit the result" in message


def test_a_missing_compiler_is_named_with_the_package_that_has_it(tmp_path: Path) -> None:
    code, message = run_script(SCRIPT, "--check", path=str(tmp_path))

    assert code == 2
    assert "apt install inform6-compiler inform6-library" in message
